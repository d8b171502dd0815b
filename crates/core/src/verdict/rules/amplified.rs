//! Did the disks have to read more than the test asked for?

use crate::result::FindingGrade;
use crate::text::{bytes, number};
use crate::verdict::figures::{Details, found, ratio, unless_missing};
use crate::verdict::view::{Group, View, Way};
use crate::verdict::{Case, Look, Missing};

/// From here on the rate is that of reading ahead, not of the I/Os asked for.
const TIMES_SUSPECT: f64 = 2.0;
/// From here on it is worth a remark.
const TIMES_REMARK: f64 = 1.5;
/// What is read beyond the end of a sequential run is no more than this.
const EXCESS_BYTES: f64 = (16 << 20) as f64;

/// Bytes that this process had the disks read against those that it asked for.
pub fn reads(case: &Case<'_>) -> Look {
    let groups = case.groups()?;
    // The account is one for all targets.
    let [group] = groups.as_slice() else { return Ok(Vec::new()) };
    let done = group.done(Way::Read);
    if done.bytes <= 0.0 || group.targets.len() != case.views().len() {
        return Ok(Vec::new());
    }
    let host = case.measured.evidence.host.as_ref();
    let Some(own) = host.and_then(|host| host.own_disk_read_bytes) else {
        let missing = Missing::of("how much this process itself had the disks read");
        // Direct I/O reads nothing ahead.
        return unless_missing(Vec::new(), (!group.targets.iter().all(View::is_direct)).then_some(missing));
    };
    let own = ratio(own as f64, case.seconds());
    let times = ratio(own, done.bytes);
    if times < TIMES_REMARK || (own - done.bytes) * case.seconds() < EXCESS_BYTES {
        return Ok(Vec::new());
    }
    let grade = if times >= TIMES_SUSPECT { FindingGrade::Suspect } else { FindingGrade::Remark };
    let says = format!(
        "The test completed {}/s of reads, but had {} read {}/s for them, {} times as much: {}.",
        bytes(done.bytes),
        group.names(),
        bytes(own),
        number(times),
        why(group)
    );
    let is_direct = group.targets.iter().all(View::is_direct);
    let advice = if is_direct {
        "use larger I/Os (-b), or a file system that reads no more than it is asked for"
    } else {
        ""
    };
    let finding = found(grade, says).of(group.path()).advise(advice).figure("read_amplification", times);
    Ok(vec![
        finding.figure("completed_read_bytes_per_s", done.bytes).figure("own_disk_read_bytes_per_s", own),
    ])
}

/// Why so much was read.
fn why(group: &Group<'_>) -> String {
    let any = |holds: &dyn Fn(&View<'_>) -> bool| group.targets.iter().any(holds);
    if any(&|target| target.asked.memory_mapped) {
        return "each fault of a memory-mapped file (-Sm) reads its surroundings, too".to_string();
    }
    if any(&|target| !target.is_direct()) {
        return "the page cache reads whole pages, and ahead of what is asked for".to_string();
    }
    match group.targets.iter().find_map(View::reduced_by) {
        Some(by) => format!("{by}, and reads compressed extents as a whole"),
        None => "the file system reads more than it is asked for".to_string(),
    }
}
