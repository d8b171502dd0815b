//! What was read and written: data that need not be stored are fast without measuring storage.

use super::cache::never_written_share;
use crate::profile::Target;
use crate::result::{ContentSample, Finding, FindingGrade};
use crate::text::{bytes, number, percent};
use crate::verdict::figures::{Details, found, ratio, unless_missing};
use crate::verdict::view::{RestsOn, View};
use crate::verdict::{Case, Look, Missing};

/// Above this part of the range the reads are not those of a file with data.
const UNWRITTEN_INVALID: f64 = 0.5;
const UNWRITTEN_SUSPECT: f64 = 0.05;
/// Below this there is no finding.
pub const UNWRITTEN_REMARK: f64 = 0.001;

fn reads<'a>(case: &Case<'a>) -> Vec<View<'a>> {
    let reads = |view: &View<'_>| view.entries.iter().any(|target| target.reads());
    case.views().into_iter().filter(reads).collect()
}

/// Reads of ranges that were never written.
pub fn never_written(case: &Case<'_>) -> Look {
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
        let share = never_written_share(&target);
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
                .of(Some(path))
                .figure("unwritten_bytes", map.unwritten_bytes as f64)
                .figure("hole_bytes", map.hole_bytes as f64)
                .figure("range_bytes", map.range_bytes as f64),
        );
    }
    unless_missing(findings, missing)
}

/// The sample of what lay in the tested range, or what is missing.
fn sample<'a>(target: &View<'a>) -> Result<&'a ContentSample, Missing> {
    let sample = target.facts.and_then(|facts| facts.content.as_ref());
    let missing = || Missing(format!("a sample of the content of '{}'", target.path()));
    sample.filter(|sample| sample.blocks > 0 && sample.block_bytes > 0).ok_or_else(missing)
}

fn part(blocks: u32, sample: &ContentSample) -> f64 {
    ratio(f64::from(blocks), f64::from(sample.blocks))
}

/// Zeros above this part of the sample are more than a file's usual gaps.
pub const ZERO_NOTABLE: f64 = 0.05;

/// In a smaller sample one block is a part that counts.
const BLOCKS_MIN: u32 = 20;

/// Whether a small sample of a large range met a single block of zeros.
fn is_chance(sample: &ContentSample, target: &View<'_>) -> bool {
    let sampled_bytes = u64::from(sample.blocks) * u64::from(sample.block_bytes);
    sample.zero_blocks == 1 && sample.blocks < BLOCKS_MIN && sampled_bytes < target.range_bytes() / 2
}

/// Adds the zeros of a sample.
fn zeros_of(finding: Finding, sample: &ContentSample) -> Finding {
    let finding = finding.figure("zero_blocks", f64::from(sample.zero_blocks));
    finding.figure("sampled_blocks", f64::from(sample.blocks))
}

/// Reads of zeros that were written or trimmed.
pub fn zero_data(case: &Case<'_>) -> Look {
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
        if zeros < ZERO_NOTABLE + never_written_share(&target) {
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
        findings.push(zeros_of(found(FindingGrade::Suspect, says).of(Some(target.path())), sample));
    }
    unless_missing(findings, missing)
}

/// Storage that compresses has less to do when data compress below this part of their size.
pub const REDUCED_SUSPECT: f64 = 0.9;
/// Where no storage is known to compress, data that compress this well are worth a remark.
const REDUCED_REMARK: f64 = 0.5;
/// Repeated blocks from this part of the sample on.
pub const REPEATED_NOTABLE: f64 = 0.1;

/// FindingGrade and words for data that can be made smaller; `None` for data that cannot.
fn reducible(sample: &ContentSample, target: &View<'_>, what: &str) -> Option<(FindingGrade, String)> {
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

fn reducible_finding(sample: &ContentSample, target: &View<'_>, what: &str) -> Option<Finding> {
    let (grade, says) = reducible(sample, target, what)?;
    let finding = found(grade, says).of(Some(target.path()));
    Some(
        finding
            .figure("compressed_bytes", sample.compressed_bytes as f64)
            .figure("repeated_blocks", f64::from(sample.repeated_blocks))
            .figure("sampled_blocks", f64::from(sample.blocks)),
    )
}

/// Reads of data that compress well or repeat.
pub fn reducible_reads(case: &Case<'_>) -> Look {
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
pub fn reducible_writes(case: &Case<'_>) -> Look {
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
            let finding = found(FindingGrade::Suspect, says).of(Some(target.path()));
            findings.push(written.into_iter().fold(finding, zeros_of));
            continue;
        }
        match (written, holds) {
            (Some(sample), _) => findings.extend(reducible_finding(sample, &target, "wrote")),
            (None, Writes::Pattern) => {
                let (grade, says) = graded("The writes repeat one pattern (bytes 0 to 255)", reduced_by);
                let finding = found(grade, says).of(Some(target.path()));
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
