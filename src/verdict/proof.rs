//! What shows that the disks did the work: what they moved, beside what completed.

use super::Case;
use super::figures::ratio;
use super::view::{Group, Way};
use crate::result::{Proof, Served};

/// One for each group of targets that share disks; none where no disk is seen to do the work.
pub(super) fn of(case: &Case<'_>, time_span: u32) -> Vec<Proof> {
    let groups = case.groups().unwrap_or_default();
    groups.iter().map(|group| proof(group, time_span)).filter(|one| !one.is_empty()).collect()
}

fn proof(group: &Group<'_>, time_span: u32) -> Proof {
    Proof {
        time_span,
        targets: group.targets.iter().map(|target| target.path().to_string()).collect(),
        disks: group.disks.iter().map(|disk| disk.name.clone()).collect(),
        reads: served(group, Way::Read),
        writes: served(group, Way::Write),
        flushes_per_s: group.flushes(),
    }
}

fn served(group: &Group<'_>, way: Way) -> Option<Served> {
    let (done, moved) = (group.done(way), group.moved(way));
    (done.ios > 0.0).then(|| Served {
        completed_per_s: done.ios,
        completed_bytes_per_s: done.bytes,
        disk_per_s: moved.ios,
        disk_bytes_per_s: moved.bytes,
        share: ratio(moved.bytes, done.bytes),
    })
}
