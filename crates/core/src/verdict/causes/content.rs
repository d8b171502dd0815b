//! What was read and written: data that need not be stored are fast without measuring storage.

use crate::profile::Target;
use crate::result::FindingGrade::{Invalid, Suspect};
use crate::result::Meaning::WrongNumber;
use crate::result::{
    ContentSample, Finding, FindingGrade, Layer, LayerKind, LayerRole, OpenedKind, TargetFacts, Theme,
};
use crate::text::{bytes, grouped, number, part_percent, percent, size};
use crate::verdict::cause::RuleFn::RealSpan;
use crate::verdict::cause::{Case, Cause, Missing, RuleResult, Sentence, found, ratio, rule, unless_missing};
use crate::verdict::view::{RestsOn, TargetView, never_written_share};

pub(super) const CAUSES: &[Cause] = &[
    Cause {
        name: "never-written",
        theme: Theme::Content,
        sentences: &[Sentence::Facts(10, unwritten_now)],
        rule: rule(130, Invalid, WrongNumber, RealSpan(never_written)),
        about: "The test read ranges that were never written: from 5 % of the range the result is suspect, from \
                half of it invalid.",
        advice: "write the file once before reading it: -c makes files with every byte written, and --recreate \
                 replaces a file",
        ..Cause::NONE
    },
    Cause {
        name: "zero-data",
        theme: Theme::Content,
        sentences: &[Sentence::Facts(20, zeros_now)],
        rule: rule(210, Suspect, WrongNumber, RealSpan(zero_data)),
        about: "The data that the test read are zeros: from 5 % of a sample the result is suspect. One block needs \
                a sample of 20.",
        advice: "fill the target with random data first: -c with -Zr makes such a file; a device needs a write \
                 test over all of it (-w100 -Zr), which destroys its content",
        ..Cause::NONE
    },
    Cause {
        name: "reducible-reads",
        theme: Theme::Content,
        sentences: &[Sentence::Facts(30, reducible_now)],
        rule: rule(220, Suspect, WrongNumber, RealSpan(reducible_reads)),
        about: "The data that the test read compress well or repeat: suspect where a layer is known to compress or \
                deduplicate, otherwise a remark.",
        advice: "make the file again with random data: -c with -Zr and --recreate",
        ..Cause::NONE
    },
    Cause {
        name: "reducible-writes",
        theme: Theme::Content,
        sentences: &[Sentence::Layer(100, compressed), Sentence::Layer(110, deduplicated)],
        rule: rule(230, Suspect, WrongNumber, RealSpan(reducible_writes)),
        about: "The test wrote zeros (suspect), or data that compress well or repeat (suspect where a layer is \
                known to compress or deduplicate, otherwise a remark).",
        advice: "write random data: -Zr, or -Z<size>, which takes less processor time",
        ..Cause::NONE
    },
    Cause { name: "thin", theme: Theme::Content, sentences: &[Sentence::Layer(130, thin)], ..Cause::NONE },
];

/// Above this part of the range the reads are not those of a file with data.
const UNWRITTEN_INVALID: f64 = 0.5;

pub(crate) const UNWRITTEN_SUSPECT: f64 = 0.05;

/// Below this there is no finding.
const UNWRITTEN_REMARK: f64 = 0.001;

fn reads<'a>(case: &Case<'a>) -> Vec<TargetView<'a>> {
    let reads = |view: &TargetView<'_>| view.entries.iter().any(|target| target.reads());
    case.views().into_iter().filter(reads).collect()
}

/// Reads of ranges that were never written.
fn never_written(case: &Case<'_>) -> RuleResult {
    let (mut findings, mut missing) = (Vec::new(), None);
    for target in reads(case) {
        let path = target.path();
        if target.facts.is_some() && !target.is_file() {
            continue;
        }
        let extents = target.facts.and_then(|facts| facts.extents.as_ref());
        let map = match extents {
            // What is not on the disk yet counts as never written until it is: such a map is no evidence.
            Some(map) if map.range_bytes > 0 && map.unknown.is_none() => map,
            Some(map) => {
                let why = map.unknown.clone().unwrap_or_else(|| "it was not read".to_string());
                missing.get_or_insert(Missing(format!("the layout of '{path}': {why}")));
                continue;
            }
            None if matches!(target.rests_on(), RestsOn::Disks | RestsOn::Unknown) => {
                missing.get_or_insert(Missing(format!("the layout of '{path}' on its file system")));
                continue;
            }
            None => continue,
        };
        let share = target.never_written_share();
        let grade = match share {
            s if s >= UNWRITTEN_INVALID => FindingGrade::Invalid,
            s if s >= UNWRITTEN_SUSPECT => FindingGrade::Suspect,
            s if s >= UNWRITTEN_REMARK => FindingGrade::Remark,
            _ => continue,
        };
        let says = format!(
            "{} of the tested range was never written ({} allocated but not written, {} in holes): reads there return \
             zeros without the disk.",
            percent(share),
            bytes(map.unwritten_bytes as f64),
            bytes(map.hole_bytes as f64)
        );
        findings.push(
            found(grade, says)
                .target(Some(path))
                .figure("unwritten_bytes", map.unwritten_bytes as f64)
                .figure("hole_bytes", map.hole_bytes as f64)
                .figure("range_bytes", map.range_bytes as f64),
        );
    }
    unless_missing(findings, missing)
}

/// The sample of what lay in the tested range, or what is missing.
fn sample<'a>(target: &TargetView<'a>) -> Result<&'a ContentSample, Missing> {
    let sample = target.facts.and_then(|facts| facts.content.as_ref());
    let missing = || Missing(format!("a sample of the content of '{}'", target.path()));
    sample.filter(|sample| sample.blocks > 0 && sample.block_bytes > 0).ok_or_else(missing)
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
fn zero_data(case: &Case<'_>) -> RuleResult {
    let (mut findings, mut missing) = (Vec::new(), None);
    for target in reads(case) {
        if target.rests_on() == RestsOn::MemoryFilesystem {
            continue;
        }
        let sample = match sample(&target) {
            Ok(sample) => sample,
            Err(what) => {
                missing.get_or_insert(what);
                continue;
            }
        };
        let zeros = part(sample.zero_blocks, sample);
        // What was never written reads as zeros, and has its own rule.
        if zeros < ZERO_NOTABLE + target.never_written_share() {
            continue;
        }
        if is_chance(sample, &target) {
            missing.get_or_insert(Missing(format!(
                "whether '{}' holds zeros: one of {} sampled blocks does, which is too few to tell",
                target.path(),
                number(f64::from(sample.blocks))
            )));
            continue;
        }
        let says = format!(
            "{} of {} sampled blocks hold only zeros: thin volumes, compressing storage and many solid-state disks \
             answer reads of zeros without their medium.",
            number(f64::from(sample.zero_blocks)),
            number(f64::from(sample.blocks))
        );
        findings.push(zeros_of(found(FindingGrade::Suspect, says).target(Some(target.path())), sample));
    }
    unless_missing(findings, missing)
}

/// Storage that compresses has less to do when data compress below this part of their size.
const REDUCED_SUSPECT: f64 = 0.9;

/// Where no storage is known to compress, data that compress this well are worth a remark.
const REDUCED_REMARK: f64 = 0.5;

/// Repeated blocks from this part of the sample on.
const REPEATED_NOTABLE: f64 = 0.1;

/// FindingGrade and words for data that can be made smaller; `None` for data that cannot.
fn reducible(sample: &ContentSample, target: &TargetView<'_>, what: &str) -> Option<(FindingGrade, String)> {
    let zeros = part(sample.zero_blocks, sample);
    let repeated = part(sample.repeated_blocks.saturating_sub(sample.zero_blocks), sample);
    let size = f64::from(sample.blocks) * f64::from(sample.block_bytes);
    let compressed = ratio(sample.compressed_bytes as f64, size);
    let reduced_by = target.reduced_by();
    let limit = if reduced_by.is_some() { REDUCED_SUSPECT } else { REDUCED_REMARK };
    if zeros >= 0.5 || (compressed >= limit && repeated < REPEATED_NOTABLE) {
        return None;
    }
    let words = format!(
        "The data that the test {what} compress to {} of their size, and {} of the blocks repeat another block",
        percent(compressed),
        percent(repeated)
    );
    Some(graded(&words, reduced_by))
}

/// Such data make a result suspect only where a layer is known to make them smaller.
fn graded(words: &str, reduced_by: Option<String>) -> (FindingGrade, String) {
    match reduced_by {
        Some(by) => (FindingGrade::Suspect, format!("{words}: {by}.")),
        None => (
            FindingGrade::Remark,
            format!("{words}. No layer visible here is known to compress or deduplicate."),
        ),
    }
}

fn reducible_finding(sample: &ContentSample, target: &TargetView<'_>, what: &str) -> Option<Finding> {
    let (grade, says) = reducible(sample, target, what)?;
    let finding = found(grade, says).target(Some(target.path()));
    Some(
        finding
            .figure("compressed_bytes", sample.compressed_bytes as f64)
            .figure("repeated_blocks", f64::from(sample.repeated_blocks))
            .figure("sampled_blocks", f64::from(sample.blocks)),
    )
}

/// Reads of data that compress well or repeat.
fn reducible_reads(case: &Case<'_>) -> RuleResult {
    let (mut findings, mut missing) = (Vec::new(), None);
    for target in reads(case) {
        if target.rests_on() == RestsOn::MemoryFilesystem {
            continue;
        }
        match sample(&target) {
            Ok(sample) => findings.extend(reducible_finding(sample, &target, "read")),
            Err(what) => {
                missing.get_or_insert(what);
            }
        }
    }
    unless_missing(findings, missing)
}

/// What is written unless other content is asked for repeats after so many bytes.
const PATTERN_BYTES: f64 = 256.0;

/// What the profile says that writes hold.
enum Writes {
    Zeros,
    /// Byte j is j mod 256.
    Pattern,
    Random,
    Unknown,
}

fn writes_of(case: &Case<'_>, target: &Target) -> Writes {
    if target.zero_write_buffers {
        Writes::Zeros
    } else if target.write_source_path.is_some() {
        Writes::Unknown
    } else if target.write_source_bytes > 0 || case.span.random_write_data {
        Writes::Random
    } else {
        Writes::Pattern
    }
}

/// Writes of zeros, or of data that compress well or repeat.
fn reducible_writes(case: &Case<'_>) -> RuleResult {
    let (mut findings, mut missing) = (Vec::new(), None);
    for target in case.views() {
        let Some(writing) = target.entries.iter().find(|entry| entry.writes()) else { continue };
        if target.rests_on() == RestsOn::MemoryFilesystem {
            continue;
        }
        let written =
            target.facts.and_then(|facts| facts.written.as_ref()).filter(|sample| sample.blocks > 0);
        let reduced_by = target.reduced_by();
        let holds = writes_of(case, writing);
        let zeros = written.map(|sample| part(sample.zero_blocks, sample)).unwrap_or_default() >= 0.5;
        if zeros || matches!(holds, Writes::Zeros) {
            let by = reduced_by.unwrap_or_else(|| "many devices store no zeros".to_string());
            let says = format!("The test wrote zeros: {by}.");
            let finding = found(FindingGrade::Suspect, says).target(Some(target.path()));
            findings.push(written.into_iter().fold(finding, zeros_of));
            continue;
        }
        match (written, holds) {
            (Some(sample), _) => findings.extend(reducible_finding(sample, &target, "wrote")),
            (None, Writes::Pattern) => {
                let (grade, says) = graded("The writes repeat one pattern (bytes 0 to 255)", reduced_by);
                let finding = found(grade, says).target(Some(target.path()));
                findings.push(finding.figure("pattern_bytes", PATTERN_BYTES));
            }
            (None, Writes::Unknown) => {
                missing
                    .get_or_insert(Missing(format!("a sample of what was written to '{}'", target.path())));
            }
            (None, Writes::Random | Writes::Zeros) => {}
        }
    }
    unless_missing(findings, missing)
}

fn unwritten_now(facts: &TargetFacts) -> Option<String> {
    let map = facts.extents.as_ref()?;
    let share = never_written_share(facts);
    if share < UNWRITTEN_REMARK {
        return None;
    }
    let parts = [(map.hole_bytes, "in holes"), (map.unwritten_bytes, "allocated but not written")];
    let parts = parts.iter().filter(|(bytes, _)| *bytes > 0).map(|(b, what)| format!("{} {what}", size(*b)));
    let parts: Vec<String> = parts.collect();
    let what = if map.unwritten_bytes + map.hole_bytes >= map.range_bytes {
        "The file".to_string()
    } else {
        format!("{} of the file", part_percent(share))
    };
    Some(format!(
        "{what} was never written ({}): reads there return zeros without the disk. -c makes files with every byte \
         written.",
        parts.join(", ")
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
    let reduces =
        |l: &&Layer| l.compression.is_some() || l.deduplicates == Some(true) || l.role() == LayerRole::Zram;
    let by = &facts.layers.iter().find(reduces)?.name;
    let blocks = f64::from(sample.blocks);
    let zeros = f64::from(sample.zero_blocks) / blocks;
    let repeated = f64::from(sample.repeated_blocks.saturating_sub(sample.zero_blocks)) / blocks;
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
