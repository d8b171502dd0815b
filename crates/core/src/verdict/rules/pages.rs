//! What of the targets was in the page cache before and after the run, and who put it there.

use crate::profile::Target;
use crate::result::{FindingGrade, LayerKind, LayerRole};
use crate::text::bytes;
use crate::verdict::figures::{Details, found, ratio, unless_missing};
use crate::verdict::view::{RestsOn, View, Way};
use crate::verdict::{Case, Look, Missing};

/// Direct I/O was asked for and something cached all the same.
pub fn direct_not_honoured(case: &Case<'_>) -> Look {
    let (mut findings, mut missing) = (Vec::new(), None);
    for target in case.views().iter().filter(|target| target.is_direct()) {
        if let Some(layer) = target.layer(LayerKind::MemoryFilesystem) {
            let says =
                format!("The test asked for direct I/O, but {} keeps its files in memory.", layer.name);
            findings.push(found(FindingGrade::Invalid, says).of(Some(target.path())));
            continue;
        }
        match residency_growth(target) {
            // Whoever put them there, it was not this test.
            Some((_, true)) if pages_of_others(case, target).is_some() => {}
            Some((grew, true)) => {
                let says = format!(
                    "The test asked for direct I/O, but {} of the file entered the page cache during the run.",
                    bytes(grew as f64)
                );
                let finding = found(FindingGrade::Suspect, says).of(Some(target.path()));
                findings.push(finding.figure("page_cache_growth_bytes", grew as f64));
            }
            Some(_) => {}
            None if target.is_file() || target.facts.is_none() => {
                missing.get_or_insert(Missing(format!(
                    "how much of '{}' was in the page cache before and after the run",
                    target.path()
                )));
            }
            // A device opened for direct I/O has no pages of its own here.
            None => {}
        }
    }
    unless_missing(findings, missing)
}

/// Reads that bypassed the page cache leave as many bytes in the account of the process as completed; this
/// part is enough.
const BYPASSED: f64 = 0.98;
/// Pages of this test would be so many times those that came.
const PAGES_TIMES: f64 = 2.0;

/// Bytes of a target of direct I/O that somebody else put into the page cache during the run; `None` where
/// nothing came, or where it may have been this test.
pub fn pages_of_others(case: &Case<'_>, target: &View<'_>) -> Option<f64> {
    let (grew, is_notable) = residency_growth(target)?;
    let grew = grew as f64;
    let writes = target.done(Way::Write).bytes > 0.0;
    // Some file systems take direct writes through the page cache where they honour direct reads.
    let may_differ = target.layers().iter().any(|layer| layer.role() == LayerRole::CopyOnWrite);
    if !is_notable || !target.is_direct() || (writes && may_differ) {
        return None;
    }
    let is_ours = || !reads_bypassed(case, grew) && touched_once(case, target) < PAGES_TIMES * grew;
    (!is_ours()).then_some(grew)
}

/// Whether the reads of the test bypassed the page cache, of which `grew` bytes came during the run: each
/// byte completed was read from the disks, and far more than came.
fn reads_bypassed(case: &Case<'_>, grew: f64) -> bool {
    let views = case.views();
    let is_all_direct = views.iter().all(|view| view.is_direct() && view.rests_on() == RestsOn::Disks);
    let own = case.measured.evidence.host.as_ref().and_then(|host| host.own_disk_read_bytes);
    let done = case.done(Way::Read).bytes * case.seconds();
    own.is_some_and(|own| {
        let own = own as f64;
        is_all_direct && done > 0.0 && own >= BYPASSED * done && own >= PAGES_TIMES * grew
    })
}

/// How many bytes of a target the test would have brought into the page cache, each once; 0 where its
/// accesses do not tell.
fn touched_once(case: &Case<'_>, target: &View<'_>) -> f64 {
    let range = target.range_bytes() as f64;
    let done = (target.done(Way::Read).bytes + target.done(Way::Write).bytes) * case.seconds();
    let is_all = |holds: &dyn Fn(&Target) -> bool| target.entries.iter().all(|entry| holds(entry));
    let touched = if is_all(&|entry| entry.random_percent == 100 && entry.distribution.is_none()) {
        // Random accesses meet some places again.
        range * (1.0 - (-ratio(done, range)).exp())
    } else if is_all(&|entry| entry.random_percent == 0) {
        // Threads may take the same stretch.
        let threads: u32 = target.entries.iter().map(|entry| case.span.threads_on(entry)).sum();
        ratio(done, f64::from(threads.max(1))).min(range)
    } else {
        0.0
    };
    let before = target.facts.and_then(|facts| facts.residency).map_or(0, |seen| seen.cached_before_bytes);
    (touched - before as f64).max(0.0)
}

/// By how many bytes the target's part of the page cache grew, and whether that is notable: more than 1 MiB
/// and more than 1 % of the range. `None` when the document does not tell.
pub fn residency_growth(target: &View<'_>) -> Option<(u64, bool)> {
    let residency = target.facts?.residency?;
    let grew = residency.cached_after_bytes.saturating_sub(residency.cached_before_bytes);
    Some((grew, grew > 1 << 20 && grew as f64 > 0.01 * residency.range_bytes as f64))
}
