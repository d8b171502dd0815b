//! What shows that the storage did the work: what the disks moved, or what a file server was asked for, beside what
//! completed.

use super::Case;
use super::figures::ratio;
use super::rules::{OnServer, on_servers};
use super::view::{Flow, Group, View, Way};
use crate::result::{Proof, Served};

/// One for each group of targets that share disks, and for each mount whose server is counted; none where
/// nothing is seen to do the work.
pub(super) fn of(case: &Case<'_>, time_span: u32) -> Vec<Proof> {
    let (groups, servers) = (case.groups().unwrap_or_default(), on_servers(case));
    let all = groups.iter().map(of_disks).chain(servers.iter().map(of_server));
    all.filter(|one| !one.is_empty()).map(|one| Proof { time_span, ..one }).collect()
}

fn of_disks(group: &Group<'_>) -> Proof {
    let [reads, writes] = Way::BOTH.map(|way| served(group.done(way), group.moved(way)));
    Proof {
        targets: paths(&group.targets),
        disks: group.disks.iter().map(|disk| disk.name.clone()).collect(),
        reads,
        writes,
        flushes_per_s: group.flushes(),
        ..Proof::default()
    }
}

fn of_server(group: &OnServer<'_>) -> Proof {
    let [reads, writes] = Way::BOTH.map(|way| served(group.done(way), group.asked(way)));
    Proof {
        targets: paths(&group.targets),
        server: Some(group.file_server()),
        reads,
        flushes_per_s: writes.map(|_| group.commits_per_s()),
        writes,
        ..Proof::default()
    }
}

fn paths(targets: &[View<'_>]) -> Vec<String> {
    targets.iter().map(|target| target.path().to_string()).collect()
}

fn served(done: Flow, moved: Flow) -> Option<Served> {
    (done.ios > 0.0).then(|| Served {
        completed_per_s: done.ios,
        completed_bytes_per_s: done.bytes,
        moved_per_s: moved.ios,
        moved_bytes_per_s: moved.bytes,
        share: ratio(moved.bytes, done.bytes),
    })
}
