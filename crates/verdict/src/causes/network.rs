//! Files that another machine holds: what its client here asked the server for, against what completed.
//!
//! Where the kernel counts the requests of a mount, a run is proven up to the server, and no further.

use super::others::{self, FOREIGN_BYTES_PER_S, FOREIGN_SUSPECT};
use super::reach::{Asked, Substitute, edge};
use crate::cause::RuleFn::RealSpan;
use crate::cause::{
    Case, Cause, Missing, RuleResult, Sentence, found, ratio, remark, rule, suspect, unless_missing,
};
use crate::doctor::Purpose::Every;
use crate::doctor::{each_disk, machine};
use crate::view::{Direction, Flow, IOS_MIN, IoCount, RestsOn, TargetView};
use truespd_core::result::FindingGrade::Suspect;
use truespd_core::result::Meaning::OtherLoad;
use truespd_core::result::{
    FileServer, Finding, FindingGrade, Layer, LayerKind, RequestCounts, ServedMount, ServerCounts, Theme,
};
use truespd_platform::text::{bytes, duration_ns, number, percent};

pub(super) const CAUSES: &[Cause] = &[
    Cause::new("other-io", Theme::Neighbours)
        .inspected(Sentence::Target(290, others::others_now))
        .checked(
            each_disk(10, "other-io", Every, others::traffic),
            "what other programs do on the disk, over a second",
            "Other programs read or write 100 KiB/s or more; it spoils when the disk is busy for 5 % of \
             the second or more.",
            "The test gets what others leave, and their I/O is in the disk's counters.",
            "the kernel's Documentation/block/stat.rst",
        )
        .checked(
            each_disk(80, "users", Every, others::users),
            "who else has the disk",
            "A program has the device open, or the running system is on it.",
            "I/O of others comes in between, mostly in bursts.",
            "/proc/PID/fd, mountinfo, /proc/swaps",
        )
        .checked(
            machine(110, "storage-waits", Every, others::io_pressure),
            "tasks that wait for storage",
            "Some waited for 10 % and more of the last 10 s.",
            "Somebody uses a disk, perhaps the one that is to be measured.",
            "the kernel's accounting/psi.rst",
        )
        .judged(
            rule(400, Suspect, OtherLoad, RealSpan(other_io)),
            "The disks, or a mount of a file server, moved more than this run can explain, by 5 % and 100 \
             KiB/s or more.",
            "stop the other programs that use the disks (iotop and pidstat -d show them), and repeat",
        ),
    Cause::new("sent-again", Theme::Target).judged(
        rule(490, Suspect, OtherLoad, RealSpan(retransmissions)),
        "The client of a file server had to send requests again: from 1 % of 100 or more, or when the \
         server did not answer within a timeout, the result is suspect; fewer are a remark.",
        "look for lost packets and broken connections between this machine and the server (ss -ti, dmesg), \
         and repeat",
    ),
];

/// As for disks (`served-from-cache`): the server may be asked for this part of the bytes less before it is
/// worth a word.
const ASKED_SUSPECT: f64 = 0.90;

/// Below this most of the bytes never were at the server.
const ASKED_INVALID: f64 = 0.50;

/// Targets on one file system of a server.
pub(crate) struct ServerGroup<'a> {
    pub targets: Vec<TargetView<'a>>,
    mount: &'a ServedMount,
    /// Length of the measured time in seconds.
    seconds: f64,
}

/// The counters of the mount that a target lies on; `None` when it lies on none, or the document has no counters.
fn mount_of<'a>(case: &Case<'a>, target: &TargetView<'_>) -> Option<&'a ServedMount> {
    if target.rests_on() != RestsOn::Remote {
        return None;
    }
    let point = target.layer(LayerKind::RemoteFilesystem)?.mount_point.as_ref()?;
    case.evidence().served_mounts.iter().find(|mount| mount.mount_points.contains(point))
}

/// Targets by their mounts, where these are counted.
pub(crate) fn server_groups<'a>(case: &Case<'a>) -> Vec<ServerGroup<'a>> {
    let mut all: Vec<ServerGroup<'a>> = Vec::new();
    for target in case.views() {
        let Some(mount) = mount_of(case, &target) else { continue };
        match all.iter_mut().find(|known| std::ptr::eq(known.mount, mount)) {
            Some(known) => known.targets.push(target),
            None => all.push(ServerGroup { targets: vec![target], mount, seconds: case.seconds() }),
        }
    }
    all
}

/// Requests that carry data in one direction.
fn requests(counts: &ServerCounts, way: Direction) -> &RequestCounts {
    way.pick(&counts.read, &counts.write)
}

impl ServerGroup<'_> {
    /// What completed on the targets.
    pub fn done(&self, way: Direction) -> Flow {
        let all = self.targets.iter().map(|target| target.done(way));
        all.fold(Flow::default(), |sum, one| Flow { ios: sum.ios + one.ios, bytes: sum.bytes + one.bytes })
    }

    fn window_s(&self) -> f64 {
        if self.mount.window_ns == 0 { self.seconds } else { self.mount.window_ns as f64 / 1e9 }
    }

    /// Requests and bytes that came to the server or from it.
    pub fn requested(&self, way: Direction) -> Flow {
        let total = &self.mount.total;
        let moved = way.pick(total.server_read_bytes, total.server_write_bytes);
        let ios = requests(total, way).requests as f64;
        Flow { ios: ratio(ios, self.window_s()), bytes: ratio(moved as f64, self.window_s()) }
    }

    /// Requests to make written data durable, per second.
    pub fn commits_per_s(&self) -> f64 {
        ratio(self.mount.total.commit.requests as f64, self.window_s())
    }

    /// Part of the completed bytes that the server can have seen, at best.
    fn share(&self, case: &Case<'_>, way: Direction) -> f64 {
        let (done, asked) = (self.done(way), self.requested(way));
        // A late reading divides the same bytes by more time, so its rate is too low.
        let in_measured = ratio(asked.bytes * self.window_s(), self.seconds);
        ratio(asked.bytes.max(in_measured) + edge(case, &self.targets, done), done.bytes)
    }

    /// Bytes per second that other programs read or wrote on the mount, when that is worth a word. Mapped
    /// files are in no count of programs.
    fn others(&self, way: Direction) -> Option<f64> {
        let total = &self.mount.total;
        let programs = way.pick(
            total.buffered_read_bytes.saturating_add(total.direct_read_bytes),
            total.buffered_write_bytes.saturating_add(total.direct_write_bytes),
        );
        let is_mapped = self.targets.iter().any(|target| target.asked.memory_mapped);
        let ours = if is_mapped { 0.0 } else { self.done(way).bytes };
        let others = ratio(programs as f64, self.window_s()) - ours;
        let all: f64 = Direction::BOTH.iter().map(|&way| self.done(way).bytes).sum();
        (others >= FOREIGN_BYTES_PER_S && others >= FOREIGN_SUSPECT * all).then_some(others)
    }

    /// Whether what came to the server may be the work of others, while the page cache served the test.
    fn is_hidden_by_others(&self, case: &Case<'_>, way: Direction) -> bool {
        let (done, asked) = (self.done(way).bytes, self.requested(way).bytes);
        if done > 0.0 && !self.is_direct() && !self.mount.protocol.counts_programs() {
            // What the server was not asked for cannot have been asked for by others.
            return self.share(case, way) >= ASKED_SUSPECT;
        }
        let Some(others) = self.others(way) else { return false };
        // Direct I/O always asks the server, and what this process had read past the page cache was its own.
        let host = case.evidence().host.as_ref();
        let own = host.and_then(|host| host.own_disk_read_bytes);
        let is_own = way == Direction::Read
            && own
                .is_some_and(|own| ratio(own as f64, case.seconds()) >= ASKED_SUSPECT * case.done(way).bytes);
        done > 0.0 && !self.is_direct() && !is_own && asked - others < ASKED_SUSPECT * done
    }

    fn is_direct(&self) -> bool {
        self.targets.iter().all(TargetView::is_direct)
    }

    fn server(&self) -> String {
        let layer = self.targets.first().and_then(|target| target.layer(LayerKind::RemoteFilesystem));
        let name = layer.and_then(|layer| layer.server.clone()).or_else(|| self.mount.address.clone());
        name.unwrap_or_else(|| "the server".to_string())
    }

    /// The server and how it is talked to.
    pub fn file_server(&self) -> FileServer {
        let ServedMount { protocol, version, .. } = self.mount;
        FileServer { name: self.server(), protocol: *protocol, version: version.clone() }
    }

    /// The path when there is one target only.
    fn path(&self) -> Option<&str> {
        if let [only] = self.targets.as_slice() { Some(only.path()) } else { None }
    }
}

/// What the protocol calls a request.
fn verb(way: Direction) -> &'static str {
    way.pick("READ", "WRITE")
}

/// Bytes completed against bytes that the server sent or took: the part of `served-from-cache` for file servers.
/// With what it lacks.
pub(super) fn served_from_cache(case: &Case<'_>) -> (Vec<Finding>, Option<Missing>) {
    let (mut findings, mut missing) = (Vec::new(), None);
    for group in server_groups(case) {
        for way in Direction::BOTH {
            let (done, asked) = (group.done(way), group.requested(way));
            let share = group.share(case, way);
            let few = IoCount::new(case, &group.targets, way).missing();
            if done.bytes <= 0.0 || few.is_some() || share >= ASKED_SUSPECT {
                missing = missing.or(few);
                continue;
            }
            let grade = if share < ASKED_INVALID { FindingGrade::Invalid } else { FindingGrade::Suspect };
            let Substitute { words: cause, advice, .. } = cause(&group, way);
            let got = match asked.bytes {
                0.0 => "none".to_string(),
                some => format!(
                    "{} {}/s, {} of the bytes",
                    number(asked.ios),
                    verb(way),
                    percent(ratio(some, done.bytes))
                ),
            };
            let says = format!(
                "The test completed {} {}/s of {}, but {} received {got}: {cause}.",
                number(done.ios),
                way.plural(),
                bytes(done.size()),
                group.server()
            );
            findings.push(
                found(grade, says)
                    .target(group.path())
                    .figure(&format!("completed_{}s_per_s", way.word()), done.ios)
                    .figure(&format!("completed_{}_bytes_per_s", way.word()), done.bytes)
                    .figure(&format!("server_{}s_per_s", way.word()), asked.ios)
                    .figure(&format!("server_{}_bytes_per_s", way.word()), asked.bytes)
                    .advise(advice),
            );
        }
    }
    (findings, missing)
}

/// Why the server was not asked.
fn cause(group: &ServerGroup<'_>, way: Direction) -> Substitute {
    if group.targets.iter().any(|target| target.asked.memory_mapped) {
        Substitute::mapped(Asked::Server)
    } else if !group.is_direct() {
        Substitute::not_bypassed(way, Asked::Server)
    } else if group.targets.iter().flat_map(TargetView::layers).any(Layer::is_cached_loop) {
        Substitute::cached_loop()
    } else {
        Substitute::something(Asked::Server)
    }
}

/// Why it cannot be seen from here what came of the I/O on a target that another machine holds; `None` when
/// the counters of its mount show it as far as the server.
pub(super) fn hidden(case: &Case<'_>, target: &TargetView<'_>) -> Option<String> {
    let Some(mount) = mount_of(case, target) else {
        return Some(format!(
            "the disks of '{}' are in another machine, and what they moved is not visible here",
            target.path()
        ));
    };
    let group = server_groups(case).into_iter().find(|group| std::ptr::eq(group.mount, mount))?;
    let way = Direction::BOTH.into_iter().find(|&way| group.is_hidden_by_others(case, way))?;
    let Some(others) = group.others(way) else {
        return Some(format!(
            "the client counts what {} was asked for, but not whether the test or another program asked, and '{}' was \
             tested through the page cache",
            group.server(),
            target.path()
        ));
    };
    Some(format!(
        "other programs moved {}/s of {} on the mount of '{}', so what {} received need not be the test's, which \
         used the page cache",
        bytes(others),
        way.plural(),
        target.path(),
        group.server()
    ))
}

/// Other programs on the disks, or on the same mount of a file server.
fn other_io(case: &Case<'_>) -> RuleResult {
    let mut findings = others_on_mounts(case);
    match others::other_io(case) {
        Ok(on_disks) => findings.extend(on_disks),
        Err(missing) => return unless_missing(findings, Some(missing)),
    }
    Ok(findings)
}

fn others_on_mounts(case: &Case<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for group in server_groups(case) {
        let others: Vec<(Direction, f64)> =
            Direction::BOTH.into_iter().filter_map(|way| Some((way, group.others(way)?))).collect();
        let foreign: f64 = others.iter().map(|(_, rate)| rate).sum();
        if others.is_empty() {
            continue;
        }
        let ours: f64 = Direction::BOTH.iter().map(|&way| group.done(way).bytes).sum();
        let parts: Vec<String> =
            others.iter().map(|(way, rate)| format!("{}/s of {}", bytes(*rate), way.plural())).collect();
        let says = format!(
            "Other programs of this machine used the mount of {} during the run: {} beside the {}/s of this run ({}).",
            group.server(),
            parts.join(" and "),
            bytes(ours),
            percent(ratio(foreign, ours))
        );
        let finding = suspect(says).target(group.path());
        findings.push(finding.figure("foreign_bytes_per_s", foreign).figure("own_bytes_per_s", ours));
    }
    findings
}

/// Whether the remark on a target is that of its mount.
pub(super) fn is_counted(case: &Case<'_>, target: &TargetView<'_>) -> bool {
    mount_of(case, target).is_some()
}

/// What the server was asked for: the proof of a run as far as it can be seen from here.
pub(super) fn proof(case: &Case<'_>) -> Vec<Finding> {
    server_groups(case)
        .iter()
        .map(|group| {
            let connections = match group.mount.connections {
                Some(many) if many > 1 => format!(" ({many} connections)"),
                _ => String::new(),
            };
            let done = Direction::BOTH.into_iter().filter(|&way| group.done(way).bytes > 0.0);
            let parts: Vec<String> = done.map(|way| asked_words(group, way)).collect();
            let says = format!(
                "Served by {} over {}{connections}: {}; what the server did is not seen.",
                group.server(),
                group.file_server().protocol_words(),
                if parts.is_empty() { "no I/O completed".to_string() } else { parts.join(", and ") }
            );
            Direction::BOTH
                .into_iter()
                .fold(remark(says).target(group.path()), |finding, way| figures(finding, group, way))
        })
        .collect()
}

/// `12,300 READ/s, 100 % of the bytes read, 0.81 ms there and back`.
fn asked_words(group: &ServerGroup<'_>, way: Direction) -> String {
    let (done, asked) = (group.done(way), group.requested(way));
    let total = &group.mount.total;
    let commits = match group.commits_per_s() {
        some if way == Direction::Write && some > 0.0 => {
            format!(" and {} {}/s", number(some), group.mount.protocol.commit_word())
        }
        _ => String::new(),
    };
    let past = way.pick("read", "written");
    let [queue_ns, trip_ns] = mean_ns(requests(total, way));
    let times = match requests(total, way).requests {
        0 => String::new(),
        // SMB keeps no times for a share.
        _ if trip_ns == 0.0 => String::new(),
        _ if queue_ns * 10.0 >= trip_ns => format!(
            ", {} there and back after {} in this machine's queue",
            duration_ns(trip_ns),
            duration_ns(queue_ns)
        ),
        _ => format!(", {} there and back", duration_ns(trip_ns)),
    };
    format!(
        "{} {}/s{commits}, {} of the bytes {past}{times}",
        number(asked.ios),
        verb(way),
        percent(ratio(asked.bytes, done.bytes))
    )
}

/// Mean time before a request was sent, and from then to its answer.
fn mean_ns(of: &RequestCounts) -> [f64; 2] {
    [of.queue_ns, of.round_trip_ns].map(|sum| ratio(sum as f64, of.requests as f64))
}

fn figures(finding: Finding, group: &ServerGroup<'_>, way: Direction) -> Finding {
    let (done, asked) = (group.done(way), group.requested(way));
    if done.bytes <= 0.0 {
        return finding;
    }
    let [queue_ns, trip_ns] = mean_ns(requests(&group.mount.total, way));
    let word = way.word();
    let mut finding = finding
        .figure(&format!("completed_{word}_bytes_per_s"), done.bytes)
        .figure(&format!("server_{word}s_per_s"), asked.ios)
        .figure(&format!("server_{word}_bytes_per_s"), asked.bytes);
    if trip_ns > 0.0 {
        finding = finding
            .figure(&format!("server_{word}_round_trip_ms"), trip_ns / 1e6)
            .figure(&format!("client_{word}_queue_ms"), queue_ns / 1e6);
    }
    match way {
        Direction::Read => finding,
        Direction::Write => finding.figure("server_commits_per_s", group.commits_per_s()),
    }
}

/// From this part of the requests on, sending them again shaped the result; one of a few requests did not.
const AGAIN_SUSPECT: f64 = 0.01;

/// Requests that had to be sent again.
fn retransmissions(case: &Case<'_>) -> RuleResult {
    let (mut findings, mut missing) = (Vec::new(), None);
    for target in case.views().iter().filter(|target| target.rests_on() == RestsOn::Remote) {
        if !mount_of(case, target).is_some_and(|mount| mount.protocol.counts_programs()) {
            missing
                .get_or_insert(Missing(format!("what was sent again to the server of '{}'", target.path())));
        }
    }
    for group in server_groups(case) {
        let total = &group.mount.total;
        let all = total.read.plus(&total.write).plus(&total.commit);
        let (again, timeouts) = (all.retransmissions(), all.timeouts);
        if again == 0 && timeouts == 0 {
            continue;
        }
        let part = ratio(again as f64, all.requests as f64);
        let is_part = part >= AGAIN_SUSPECT && all.requests as f64 >= IOS_MIN;
        let grade = if is_part || timeouts > 0 { FindingGrade::Suspect } else { FindingGrade::Remark };
        let waited = match timeouts {
            0 => String::new(),
            1 => "; once the server did not answer within the timeout".to_string(),
            many => format!("; {} times the server did not answer within the timeout", number(many as f64)),
        };
        let says = format!(
            "{} of {} requests to {} had to be sent again ({}){waited}.",
            number(again as f64),
            number(all.requests as f64),
            group.server(),
            percent(part)
        );
        findings.push(
            found(grade, says)
                .target(group.path())
                .figure("requests", all.requests as f64)
                .figure("retransmissions", again as f64)
                .figure("timeouts", timeouts as f64),
        );
    }
    unless_missing(findings, missing)
}
