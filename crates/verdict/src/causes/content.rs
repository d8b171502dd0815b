//! What was read and written: data that need not be stored are fast without measuring storage.

use crate::cause::RuleFn::RealTarget;
use crate::cause::{Case, Cause, Missing, OneResult, Sentence, found, ratio, remark, rule, suspect};
use crate::room::{Lacking, even_parts, lacking, never_written_share, where_below};
use crate::view::{Direction, IoCount, RestsOn, TargetView};
use truespd_core::result::FindingGrade::{Invalid, Suspect};
use truespd_core::result::Meaning::WrongNumber;
use truespd_core::result::{
    ContentSample, Finding, FindingGrade, Layer, LayerKind, LayerRole, OpenedKind, TargetFacts, Theme,
};
use truespd_platform::text::{bytes, grouped, number, part_percent, percent, shell_word, size};

pub(super) const CAUSES: &[Cause] = &[
    Cause::new("never-written", Theme::Content).inspected(Sentence::Facts(10, unwritten_now)).judged(
        rule(130, Invalid, WrongNumber, RealTarget(never_written)),
        "The test read ranges that were never written: from 5 % of the range the result is suspect, from \
         half of it invalid.",
        "write the file once before reading it: -c makes files with every byte written, and --recreate \
         replaces a file",
    ),
    Cause::new("first-writes", Theme::Content).inspected(Sentence::Facts(15, first_writes_now)).judged(
        rule(135, Suspect, WrongNumber, RealTarget(first_writes)),
        "Writes of the test can have been the first ones to their place: in holes, in space that was set aside and \
         never written, in blocks shared with a copy or a snapshot, or without room in a layer below. Such writes \
         are slower than all later ones. From 5 % of the writes the result is suspect, from 0.5 % it is a remark. \
         File systems that never write in place are left out: there all writes are alike.",
        "run it again: what this run has written has its place now. Or write the whole range once before measuring \
         (-w100 -Zr -b1M -s); -c makes files with every byte written",
    ),
    Cause::new("zero-data", Theme::Content).inspected(Sentence::Facts(20, zeros_now)).judged(
        rule(210, Suspect, WrongNumber, RealTarget(zero_data)),
        "The data that the test read are zeros: from 5 % of a sample the result is suspect. One block \
         needs a sample of 20.",
        "fill the target with random data first: -c with -Zr makes such a file; a device needs a write \
         test over all of it (-w100 -Zr), which destroys its content",
    ),
    Cause::new("reducible-reads", Theme::Content).inspected(Sentence::Facts(30, reducible_now)).judged(
        rule(220, Suspect, WrongNumber, RealTarget(reducible_reads)),
        "The data that the test read compress well or repeat: suspect where a layer is known to compress \
         or deduplicate, otherwise a remark.",
        "make the file again with random data: -c with -Zr and --recreate",
    ),
    Cause::new("reducible-writes", Theme::Content)
        .inspected(Sentence::Layer(100, compressed))
        .inspected(Sentence::Layer(110, deduplicated))
        .judged(
            rule(230, Suspect, WrongNumber, RealTarget(reducible_writes)),
            "The test wrote zeros (suspect), or data that compress well or repeat (suspect where a layer \
             is known to compress or deduplicate, otherwise a remark).",
            "write random data: -Zr, or -Z<size>, which takes less processor time",
        ),
    Cause::new("thin", Theme::Content).inspected(Sentence::Layer(130, thin)),
];

/// Above this part of the range the reads are not those of a file with data.
const UNWRITTEN_INVALID: f64 = 0.5;

pub(crate) const UNWRITTEN_SUSPECT: f64 = 0.05;

/// Below this there is no finding.
const UNWRITTEN_REMARK: f64 = 0.001;

/// The layout of a target that is a file, and what the layers below have room for; `None` where nobody can have a say.
fn layout<'a>(target: &TargetView<'a>) -> Result<Option<&'a TargetFacts>, Missing> {
    let path = target.path();
    if let Some(facts) = target.facts.filter(|facts| facts.kind == OpenedKind::BlockDevice) {
        let unknown = facts.allocation.iter().find_map(|one| Some((&one.layer, one.unknown.as_ref()?)));
        return match unknown {
            Some((layer, why)) => Err(Missing(format!("what has room below {layer} for '{path}': {why}"))),
            None => Ok((!facts.allocation.is_empty()).then_some(facts)),
        };
    }
    let Some(map) = target.facts.and_then(|facts| facts.extents.as_ref()) else {
        if matches!(target.rests_on(), RestsOn::Disks | RestsOn::Unknown) {
            return Err(Missing(format!("the layout of '{path}' on its file system")));
        }
        return Ok(None);
    };
    // What is not on the disk yet counts as never written until it is: such a map is no evidence.
    if map.range_bytes == 0 || map.unknown.is_some() {
        let why = map.unknown.as_deref().unwrap_or("it was not read");
        return Err(Missing(format!("the layout of '{path}': {why}")));
    }
    Ok(target.facts)
}

/// Reads of ranges that were never written.
fn never_written(_: &Case<'_>, target: &TargetView<'_>) -> OneResult {
    // What the test trims has a rule of its own.
    if !target.reads() || target.trims() {
        return Ok(None);
    }
    let Some(facts) = layout(target)? else { return Ok(None) };
    let lacks = lacking(facts);
    let share = lacks.never_written();
    let grade = match share {
        s if s >= UNWRITTEN_INVALID => FindingGrade::Invalid,
        s if s >= UNWRITTEN_SUSPECT => FindingGrade::Suspect,
        s if s >= UNWRITTEN_REMARK => FindingGrade::Remark,
        _ => return Ok(None),
    };
    let map = facts.extents.clone().unwrap_or_default();
    let mut parts = Vec::new();
    if facts.extents.is_some() {
        parts.push(format!("{} allocated but not written", bytes(map.unwritten_bytes as f64)));
        parts.push(format!("{} in holes", bytes(map.hole_bytes as f64)));
    }
    if lacks.below > 0.0 {
        parts.push(format!("{} without room in {}", percent(lacks.below), where_below(facts)));
    }
    let of = if facts.parts.is_empty() {
        "of the tested range was never written"
    } else {
        "of the I/O (-rd) went where the tested range was never written"
    };
    let says =
        format!("{} {of} ({}): reads there return zeros without the disk.", percent(share), parts.join(", "));
    let finding = found(grade, says).figure("unwritten_bytes", map.unwritten_bytes as f64);
    let finding = finding.figure("hole_bytes", map.hole_bytes as f64).figure("never_written_share", share);
    Ok(Some(finding.figure("range_bytes", target.range_bytes() as f64)))
}

/// First writes take two to five times as long as later ones: this part of them moves a mean by 5 % to 20 %.
const FIRST_SUSPECT: f64 = 0.05;

/// From here on they are worth a remark.
const FIRST_REMARK: f64 = 0.005;

/// Writes to places that had no room of their own before.
fn first_writes(case: &Case<'_>, target: &TargetView<'_>) -> OneResult {
    let done = target.done(Direction::Write);
    if done.ios <= 0.0 || target.is_in_memory() || target.trims() {
        return Ok(None);
    }
    let Some(facts) = layout(target)? else { return Ok(None) };
    let lacks = lacking(facts).for_writes(facts);
    let parts = even_parts(facts);
    let each = parts.iter().map(|part| {
        let length = if parts.len() == 1 { target.range_bytes() } else { part.length_bytes };
        let passes_per_s = ratio(done.bytes * part.share, length as f64);
        let (warm_up, passes) = (passes_per_s * f64::from(case.span.warmup_s), passes_per_s * case.seconds());
        let first = part.lacking.for_writes(facts).any();
        (part.share * first * new_part(target, warm_up, passes), part.share * passes.min(1.0))
    });
    let (share, covered) = each.fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    let grade = match share {
        s if s >= FIRST_SUSPECT => FindingGrade::Suspect,
        s if s >= FIRST_REMARK => FindingGrade::Remark,
        _ => return Ok(None),
    };
    if let Some(few) = IoCount::new(case, std::slice::from_ref(target), Direction::Write).missing() {
        return Err(few);
    }
    let of = if facts.parts.is_empty() {
        "of the tested range had no place"
    } else {
        "of the I/O (-rd) goes where the tested range had no place"
    };
    let says = format!(
        "Up to {} of the writes were the first ones to their place, and first writes are slower than all later ones: \
         {} {of} of its own before the run ({}), and the run wrote as much as {} of the range.",
        percent(share),
        percent(lacks.any()),
        kinds(lacks, facts),
        percent(covered)
    );
    let finding =
        found(grade, says).figure("first_writes_share", share).figure("range_lacking_share", lacks.any());
    Ok(Some(finding.figure("range_covered_share", covered)))
}

/// Of the writes of a measured time in which the range is passed over so many times, the part that meets a place for
/// the first time; before, it was passed over `before` times.
fn new_part(target: &TargetView<'_>, before: f64, passes: f64) -> f64 {
    let is_random = target.entries.iter().any(|entry| entry.random_percent > 0);
    ratio(met(is_random, before + passes) - met(is_random, before), passes)
}

/// The part of a range that so many passes over it meet.
fn met(is_random: bool, passes: f64) -> f64 {
    if is_random { 1.0 - (-passes).exp() } else { passes.min(1.0) }
}

/// What lacked a place, in words: `40 % shared with a copy or a snapshot, 10 % in holes`.
fn kinds(lacks: Lacking, facts: &TargetFacts) -> String {
    let below = where_below(facts);
    let kinds = [
        (lacks.shared, "shared with a copy or a snapshot".to_string()),
        (lacks.unwritten, "set aside and never written".to_string()),
        (lacks.hole, "in holes".to_string()),
        (lacks.below, format!("without room in {below}")),
        (lacks.shared_below, format!("shared with a copy of {below}")),
    ];
    let told: Vec<&(f64, String)> = kinds.iter().filter(|(share, _)| *share > 0.0).collect();
    if let [(_, only)] = told.as_slice() {
        return only.clone();
    }
    let told: Vec<String> = told.iter().map(|(share, what)| format!("{} {what}", percent(*share))).collect();
    told.join(", ")
}

/// The sample of what lay in the tested range, or what is missing.
fn sample<'a>(target: &TargetView<'a>) -> Result<&'a ContentSample, Missing> {
    let sample = target.facts.and_then(|facts| facts.content.as_ref());
    sample
        .filter(|sample| sample.blocks > 0 && sample.block_bytes > 0)
        .ok_or_else(|| Missing(format!("a sample of the content of '{}'", target.path())))
}

fn part(blocks: u32, sample: &ContentSample) -> f64 {
    ratio(f64::from(blocks), f64::from(sample.blocks))
}

/// Zeros above this part of the sample are more than a file's usual gaps.
const ZERO_NOTABLE: f64 = 0.05;

/// In a smaller sample one block is a part that counts.
const BLOCKS_MIN: u32 = 20;

/// Whether a small sample of a large range met a single block of zeros.
fn is_chance(sample: &ContentSample, target: &TargetView<'_>) -> bool {
    let sampled_bytes = u64::from(sample.blocks) * u64::from(sample.block_bytes);
    sample.zero_blocks == 1 && sample.blocks < BLOCKS_MIN && sampled_bytes < target.range_bytes() / 2
}

/// Adds the zeros of a sample.
fn zeros_of(finding: Finding, sample: &ContentSample) -> Finding {
    let finding = finding.figure("zero_blocks", f64::from(sample.zero_blocks));
    finding.figure("sampled_blocks", f64::from(sample.blocks))
}

/// Reads of zeros that were written or trimmed.
fn zero_data(_: &Case<'_>, target: &TargetView<'_>) -> OneResult {
    if !target.reads() || target.is_in_memory() || target.trims() {
        return Ok(None);
    }
    let sample = sample(target)?;
    // What was never written reads as zeros, and has its own rule.
    if part(sample.zero_blocks, sample) < ZERO_NOTABLE + target.never_written_share() {
        return Ok(None);
    }
    let blocks = number(f64::from(sample.blocks));
    if is_chance(sample, target) {
        return Err(Missing(format!(
            "whether '{}' holds zeros: one of {blocks} sampled blocks does, which is too few to tell",
            target.path()
        )));
    }
    let says = format!(
        "{} of {blocks} sampled blocks hold only zeros: thin volumes, compressing storage and many solid-state disks \
         answer reads of zeros without their medium.",
        number(f64::from(sample.zero_blocks))
    );
    Ok(Some(zeros_of(suspect(says), sample)))
}

/// Storage that compresses has less to do when data compress below this part of their size.
const REDUCED_SUSPECT: f64 = 0.9;

/// Where no storage is known to compress, data that compress this well are worth a remark.
const REDUCED_REMARK: f64 = 0.5;

/// Repeated blocks from this part of the sample on.
const REPEATED_NOTABLE: f64 = 0.1;

/// Data that can be made smaller; `None` of data that cannot.
fn reducible(sample: &ContentSample, target: &TargetView<'_>, what: &str) -> Option<Finding> {
    let zeros = part(sample.zero_blocks, sample);
    let mut repeated = part(sample.repeated_blocks.saturating_sub(sample.zero_blocks), sample);
    if target.reducer().is_some_and(|(layer, _)| is_by_the_page(layer)) {
        repeated = 0.0;
    }
    let size = f64::from(sample.blocks) * f64::from(sample.block_bytes);
    let compressed = ratio(sample.compressed_bytes as f64, size);
    let reduced_by = target.reduced_by();
    let limit = if reduced_by.is_some() { REDUCED_SUSPECT } else { REDUCED_REMARK };
    if zeros >= 0.5 || (compressed >= limit && repeated < REPEATED_NOTABLE) {
        return None;
    }
    let mut words =
        format!("The data that the test {what} compress to {} of their size", percent(compressed));
    if repeated > 0.0 {
        words.push_str(&format!(", and {} of the blocks repeat another block", percent(repeated)));
    }
    let finding = graded(&words, reduced_by).figure("compressed_bytes", sample.compressed_bytes as f64);
    let finding = finding.figure("repeated_blocks", f64::from(sample.repeated_blocks));
    Some(finding.figure("sampled_blocks", f64::from(sample.blocks)))
}

/// Whether a layer makes each page smaller by itself, so that pages that repeat each other gain nothing.
fn is_by_the_page(layer: &Layer) -> bool {
    layer.role() == LayerRole::Zram && layer.deduplicates != Some(true)
}

/// Such data make a result suspect only where a layer is known to make them smaller.
fn graded(words: &str, reduced_by: Option<String>) -> Finding {
    match reduced_by {
        Some(by) => suspect(format!("{words}: {by}.")),
        None => remark(format!("{words}. No layer visible here is known to compress or deduplicate.")),
    }
}

/// Reads of data that compress well or repeat.
fn reducible_reads(_: &Case<'_>, target: &TargetView<'_>) -> OneResult {
    if !target.reads() || target.is_in_memory() {
        return Ok(None);
    }
    Ok(reducible(sample(target)?, target, "read"))
}

/// What is written unless other content is asked for repeats after so many bytes.
const PATTERN_BYTES: f64 = 256.0;

/// Writes of zeros, or of data that compress well or repeat.
fn reducible_writes(case: &Case<'_>, target: &TargetView<'_>) -> OneResult {
    let Some(writing) = target.entries.iter().find(|entry| entry.writes_data()) else { return Ok(None) };
    if target.is_in_memory() {
        return Ok(None);
    }
    let written = target.facts.and_then(|facts| facts.written.as_ref()).filter(|sample| sample.blocks > 0);
    let reduced_by = target.reduced_by();
    let has_zeros = written.is_some_and(|sample| part(sample.zero_blocks, sample) >= 0.5);
    if has_zeros || writing.zero_write_buffers {
        let by = reduced_by.unwrap_or_else(|| "many devices store no zeros".to_string());
        let finding = suspect(format!("The test wrote zeros: {by}."));
        return Ok(Some(written.into_iter().fold(finding, zeros_of)));
    }
    if let Some(sample) = written {
        return Ok(reducible(sample, target, "wrote"));
    }
    if writing.write_source_path.is_some() {
        return Err(Missing(format!("a sample of what was written to '{}'", target.path())));
    }
    if writing.write_source_bytes > 0 || case.span.random_write_data {
        return Ok(None);
    }
    // Byte j is j mod 256.
    let finding = graded("The writes repeat one pattern (bytes 0 to 255)", reduced_by);
    Ok(Some(finding.figure("pattern_bytes", PATTERN_BYTES)))
}

fn unwritten_now(facts: &TargetFacts) -> Option<String> {
    let lacks = lacking(facts);
    let share = lacks.never_written();
    if share < UNWRITTEN_REMARK {
        return None;
    }
    let map = facts.extents.clone().unwrap_or_default();
    let parts = [(map.hole_bytes, "in holes"), (map.unwritten_bytes, "allocated but not written")];
    let parts = parts.iter().filter(|(bytes, _)| *bytes > 0).map(|(b, what)| format!("{} {what}", size(*b)));
    let mut parts: Vec<String> = parts.collect();
    if lacks.below > 0.0 {
        parts.push(format!("{} without room in {}", part_percent(lacks.below), where_below(facts)));
    }
    let (the, fill) = if facts.kind == OpenedKind::BlockDevice {
        ("device", "A write test over all of it (-w100 -Zr) fills it, and destroys its content.")
    } else {
        ("file", "-c makes files with every byte written.")
    };
    let what =
        if share >= 1.0 { format!("The {the}") } else { format!("{} of the {the}", part_percent(share)) };
    Some(format!(
        "{what} was never written ({}): reads there return zeros without the disk. {fill}",
        parts.join(", ")
    ))
}

/// Parts whose first write makes a place for them.
fn first_writes_now(facts: &TargetFacts) -> Option<String> {
    let lacks = lacking(facts).for_writes(facts);
    let is_memory = facts.layers.iter().any(|layer| layer.kind == LayerKind::MemoryFilesystem);
    if lacks.any() < FIRST_REMARK || is_memory {
        return None;
    }
    let the = if facts.kind == OpenedKind::BlockDevice { "device" } else { "file" };
    let path = shell_word(&facts.path);
    Some(format!(
        "{} of the {the} has no place of its own yet ({}): the first write there is slower than all later ones. \
         Before measuring writes, write the range once, which destroys its content, and let it run until all is \
         written: diskspd -b1M -s -o4 -w100 -Zr -Su -d600 --overwrite={path} {path}",
        part_percent(lacks.any()),
        kinds(lacks, facts)
    ))
}

/// The sample of the content; none where memory keeps it, since no disk is read there.
fn sample_now(facts: &TargetFacts) -> Option<&ContentSample> {
    let is_memory = facts.layers.iter().any(|l| l.kind == LayerKind::MemoryFilesystem);
    facts.content.as_ref().filter(|sample| sample.blocks > 0 && sample.block_bytes > 0 && !is_memory)
}

fn zeros_now(facts: &TargetFacts) -> Option<String> {
    let sample = sample_now(facts)?;
    let zeros = f64::from(sample.zero_blocks) / f64::from(sample.blocks);
    // What was never written reads as zeros, which `never_written` tells.
    if zeros < ZERO_NOTABLE + never_written_share(facts) {
        return None;
    }
    let fill = if facts.kind == OpenedKind::File {
        "-c with -Zr makes a file of random data."
    } else {
        "A write test over all of it (-w100 -Zr) fills it, and destroys its content."
    };
    Some(format!(
        "{} of {} sampled blocks hold only zeros: thin volumes, compressing storage and many solid-state disks answer \
         reads of zeros without their medium. {fill}",
        grouped(sample.zero_blocks),
        grouped(sample.blocks),
    ))
}

/// Data that the storage compresses or deduplicates.
fn reducible_now(facts: &TargetFacts) -> Option<String> {
    let sample = sample_now(facts)?;
    let layer = facts
        .layers
        .iter()
        .find(|l| l.compression.is_some() || l.deduplicates == Some(true) || l.role() == LayerRole::Zram)?;
    let by = &layer.name;
    let blocks = f64::from(sample.blocks);
    let zeros = f64::from(sample.zero_blocks) / blocks;
    let mut repeated = f64::from(sample.repeated_blocks.saturating_sub(sample.zero_blocks)) / blocks;
    if is_by_the_page(layer) {
        repeated = 0.0;
    }
    let compressed = sample.compressed_bytes as f64 / (blocks * f64::from(sample.block_bytes));
    // `zeros` has told of them.
    if zeros >= 0.5 || (compressed >= REDUCED_SUSPECT && repeated < REPEATED_NOTABLE) {
        return None;
    }
    let make = if facts.kind == OpenedKind::File { " -c with -Zr makes a file of random data." } else { "" };
    Some(format!(
        "The data compress to {} of their size, and {} of the blocks repeat another block: {by} has less to read \
         than a test asks for.{make}",
        part_percent(compressed),
        part_percent(repeated)
    ))
}

fn compressed(layer: &Layer) -> Option<String> {
    let algorithm = layer.compression.as_ref()?;
    Some(format!(
        "{} compresses ({algorithm}): the disk moves less than a test reads or writes if the data compress well. Write \
         random data (-Zr), and fill the target with random data before reading it.",
        layer.name
    ))
}

fn deduplicated(layer: &Layer) -> Option<String> {
    layer.deduplicates.filter(|&d| d).map(|_| {
        format!("{} deduplicates: it stores equal data only once. Write random data (-Zr).", layer.name)
    })
}

fn thin(layer: &Layer) -> Option<String> {
    (layer.role() == LayerRole::ThinVolume).then(|| {
        format!(
            "{} is a thin volume: blocks that were never written are read as zeros without the disk, and the first \
             write to a block also allocates it. Fill the volume once before measuring.",
            layer.name
        )
    })
}
