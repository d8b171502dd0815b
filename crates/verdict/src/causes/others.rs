//! What else the machine did.

use super::reach::{self, pages_of_others};
use super::{arrays, bounds, caches, memory};
use crate::cause::RuleFn::RealTarget;
use crate::cause::{
    Case, Cause, Missing, OneResult, RuleResult, TargetNow, found, ratio, remark, rule, suspect,
    unless_missing,
};
use crate::doctor::Purpose::Every;
use crate::doctor::{Answer, CheckResult, Disk, HostView, NoAnswer, machine};
use crate::view::{Direction, DiskGroup, TargetView, names, rates};
use truespd_core::result::FindingGrade::Suspect;
use truespd_core::result::Meaning::OtherLoad;
use truespd_core::result::{FindingGrade, LayerKind, OtherProgram, Theme};
use truespd_platform::machine::host::of_programs;
use truespd_platform::machine::limits::averages;
use truespd_platform::text::{bytes, part_percent, percent, rate};

pub(super) const CAUSES: &[Cause] = &[
    Cause::new("other-test", Theme::Neighbours).judged(
        rule(390, Suspect, OtherLoad, RealTarget(other_test)),
        "Another run of TrueSpd had the same target when this one began or ended: one that writes makes \
         the result suspect, one that only reads is a remark.",
        "run one test after the other; --exclusive refuses to run beside another test",
    ),
    Cause::new("jobs", Theme::Neighbours).checked(
        machine(130, "jobs", Every, jobs),
        "programs that keep disks busy (fstrim, updatedb, rsync, dpkg, another test)",
        "One is running.",
        "What such a program does is in the result.",
        "/proc/PID/comm",
    ),
];

/// Foreign bytes from this part of our own on.
pub(super) const FOREIGN_SUSPECT: f64 = 0.05;

/// And from this rate on: a few log lines disturb no test.
pub(super) const FOREIGN_BYTES_PER_S: f64 = 100.0 * 1024.0;

/// Less than this part of what others moved is not worth a comparison.
const OWN_LITTLE: f64 = 0.01;

/// Another run of this program that had the same target.
fn other_test(_: &Case<'_>, target: &TargetView<'_>) -> OneResult {
    let runs = target.facts.map_or(&[][..], |facts| &facts.other_runs);
    let writers = runs.iter().filter(|run| run.writes).count();
    let Some(first) = runs.iter().find(|run| run.writes).or(runs.first()) else { return Ok(None) };
    let who = match (&first.command_line, first.process) {
        (Some(line), Some(id)) => format!(" ({line}; process {id})"),
        (None, Some(id)) => format!(" (process {id})"),
        _ => String::new(),
    };
    let more = if runs.len() > 1 { format!(", and {} more", runs.len() - 1) } else { String::new() };
    let (does, grade) =
        if first.writes { ("writes", FindingGrade::Suspect) } else { ("reads", FindingGrade::Remark) };
    let says = format!("Another test {does} {} at the same time{who}{more}.", target.path());
    let finding = found(grade, says).figure("other_tests", runs.len() as f64);
    Ok(Some(finding.figure("other_writers", writers as f64)))
}

/// Disks that moved more than the run did.
pub(super) fn other_io(case: &Case<'_>) -> RuleResult {
    let groups = case.groups()?;
    let (mut findings, mut missing) = (Vec::new(), None);
    for target in case.views() {
        let Some(grew) = pages_of_others(case, &target) else { continue };
        let says = format!(
            "Another program uses {} through the page cache: {} of it came there during the run, and the I/O of this \
             run bypassed it.",
            target.path(),
            bytes(grew)
        );
        findings.push(remark(says).target(Some(target.path())).figure("foreign_page_cache_bytes", grew));
    }
    for group in &groups {
        let (mut ours, mut foreign, mut parts, mut is_least) = (0.0, 0.0, Vec::new(), false);
        for way in Direction::BOTH {
            let moved = group.moved(way).bytes;
            let own = match share(case, group, way, groups.len() == 1) {
                Share::Exact(own) => own,
                Share::AtMost(most) if moved > most => {
                    is_least = true;
                    most
                }
                Share::AtMost(_) if moves_no_more(group, way) => group.done(way).bytes,
                Share::AtMost(_) | Share::Unknown => {
                    ours += group.done(way).bytes;
                    match beside(case, group, way) {
                        Ok(finding) => findings.extend(finding),
                        Err(lacks) => missing = missing.or(Some(lacks)),
                    }
                    continue;
                }
            };
            ours += own;
            let others = (moved - own).max(0.0);
            if others > 0.0 {
                parts.push(format!("{}/s of {}", bytes(others), way.plural()));
            }
            foreign += others;
        }
        // The disks also count parts of what had not ended.
        let size = Direction::BOTH.iter().map(|&way| group.done(way).size()).fold(0.0, f64::max);
        let in_flight = ratio(case.in_flight(&group.targets) * size, case.seconds());
        let beyond = foreign - in_flight;
        if beyond < FOREIGN_BYTES_PER_S || beyond < FOREIGN_SUSPECT * ours {
            continue;
        }
        let parts = parts.join(" and ");
        // The page cache answers most, and what the run itself has the disks move is nothing to compare with.
        let says = if is_least {
            format!(
                "Other I/O used {} during the run: at least {parts} beyond the {}/s that this run and the layers below \
                 it can have caused.",
                group.names(),
                bytes(ours)
            )
        } else if ours < OWN_LITTLE * foreign {
            format!(
                "Other I/O used {} during the run: {parts}; this run itself had it move {}/s.",
                group.names(),
                bytes(ours)
            )
        } else {
            format!(
                "Other I/O used {} during the run: {parts} beside the {}/s of this run ({}).",
                group.names(),
                bytes(ours),
                percent(ratio(foreign, ours))
            )
        };
        let finding = suspect(says + &who(case)).target(group.path());
        findings.push(finding.figure("foreign_bytes_per_s", foreign).figure("own_bytes_per_s", ours));
    }
    unless_missing(findings, missing)
}

/// Whether the disks moved hardly more than completed, where nothing makes data smaller on the way.
fn moves_no_more(group: &DiskGroup<'_>, way: Direction) -> bool {
    let done = group.done(way).bytes;
    let more = group.moved(way).bytes - done;
    let is_little = more < FOREIGN_BYTES_PER_S || more < FOREIGN_SUSPECT * done;
    is_little && !group.targets.iter().any(TargetView::is_reduced_above_disks)
}

/// What other programs moved, where the layers of the test turn one I/O into several, so that the disks do not tell.
fn beside(case: &Case<'_>, group: &DiskGroup<'_>, way: Direction) -> OneResult {
    let done = group.done(way).bytes;
    let told = programs_per_s(case, way);
    let Some(programs) = told.filter(|rate| *rate >= 0.0 && !group.is_rebuilding()) else {
        let array = group.targets.iter().find_map(|target| arrays::worked(case, target));
        let why = array.map_or_else(
            || format!("the layers above turn one {} into several, or delay it", way.word()),
            |array| format!("the array {} moved data for itself", array.name),
        );
        return Err(Missing(format!(
            "which of the {} on {} came from this run: {why}",
            way.plural(),
            group.names()
        )));
    };
    let more = group.moved(way).bytes - done;
    // What they moved on other disks would be missing here.
    if programs < FOREIGN_BYTES_PER_S || programs < FOREIGN_SUSPECT * done || more < programs / 2.0 {
        return Ok(None);
    }
    let says = format!(
        "Other programs had disks {} {}/s during the run. How much of that was on {} is not known, as the layers of \
         this test turn one {} into several.{}",
        way.word(),
        bytes(programs),
        group.names(),
        way.word(),
        who(case)
    );
    // What they moved is most of what the disks did beside the test.
    let grade =
        if 2.0 * programs >= more && programs >= done { FindingGrade::Suspect } else { FindingGrade::Remark };
    Ok(Some(found(grade, says).target(group.path()).figure("programs_bytes_per_s", programs)))
}

/// What other programs had disks move of a way, in bytes per second; `None` where their accounts are not seen.
pub(super) fn programs_per_s(case: &Case<'_>, way: Direction) -> Option<f64> {
    let told = case.evidence().host.as_ref()?.other_programs.as_ref()?;
    let moved = way.pick(told.read_bytes, told.write_bytes);
    Some(ratio(moved as f64, told.window_ns as f64 / 1e9))
}

/// Programs that are named, at most.
const PROGRAMS_NAMED: usize = 2;

/// Those that had disks move most meanwhile, as a sentence.
fn who(case: &Case<'_>) -> String {
    let told = case.evidence().host.as_ref().and_then(|host| host.other_programs.as_ref());
    let most = told.map_or(&[][..], |told| &told.most);
    let named: Vec<String> = most.iter().take(PROGRAMS_NAMED).map(did).collect();
    if named.is_empty() { String::new() } else { format!(" By their accounts {}.", named.join("; ")) }
}

/// `dd (process 1234) read 8 GiB`.
fn did(program: &OtherProgram) -> String {
    let ways = [("read", program.read_bytes), ("wrote", program.write_bytes)];
    // The smaller of two is left out where it is nothing beside the other.
    let most = program.read_bytes.max(program.write_bytes);
    let ways: Vec<String> = ways
        .iter()
        .filter(|(_, moved)| *moved > 0 && *moved >= most / 20)
        .map(|(does, moved)| format!("{does} {}", bytes(*moved as f64)))
        .collect();
    format!("{} (process {}) {}", program.name, program.process, ways.join(" and "))
}

/// What the run itself had the disks move, in bytes per second.
#[derive(Debug, Clone, Copy)]
pub(super) enum Share {
    Exact(f64),
    /// The layers make several I/Os of one, and no more than this.
    AtMost(f64),
    /// A layer has no known limit, or delays what is written.
    Unknown,
}

/// What the run itself had the disks move where that can be told; a journal beside larger writes does not matter.
pub(super) fn own(case: &Case<'_>, group: &DiskGroup<'_>, way: Direction, is_only: bool) -> Option<f64> {
    let done = group.done(way).bytes;
    match share(case, group, way, is_only) {
        Share::Exact(own) => Some(own),
        Share::AtMost(most) if most < 2.0 * done => Some(done),
        Share::AtMost(_) | Share::Unknown => None,
    }
}

/// What the run itself had the disks move of a way.
pub(super) fn share(case: &Case<'_>, group: &DiskGroup<'_>, way: Direction, is_only: bool) -> Share {
    let done = group.done(way).bytes;
    // A check reads, a resync and a recovery also write, whatever the test does; a cache fills by reads, and writes
    // back what came before.
    if group.targets.iter().any(|target| arrays::worked(case, target).is_some() || caches::has_one(target)) {
        return Share::Unknown;
    }
    let is_direct = group.targets.iter().all(TargetView::is_direct);
    let writes = group.done(Direction::Write).bytes > 0.0;
    let multiplies = group.targets.iter().any(TargetView::multiplies_writes);
    // Parity is read back, compressed extents are read whole.
    let reads_more = (writes && group.targets.iter().any(TargetView::reads_to_write))
        || group.targets.iter().any(|target| target.is_reduced_above_disks() || target.multiplies_reads());
    let most = bounds::most(group, way);
    let is_several = match way {
        Direction::Read => reads_more,
        // Cached writes reach the disk later, also those from before the measured time.
        Direction::Write => writes && (multiplies || !is_direct || most.is_some_and(|most| most > done)),
    };
    if is_several {
        return most.map_or(Share::Unknown, Share::AtMost);
    }
    // The account of the process is one for all groups.
    if !is_only {
        return Share::Exact(done);
    }
    // It knows what reading ahead brought, and what the page cache answered.
    if !is_direct && let Some(own) = reach::own(case, group, way) {
        return Share::Exact(own);
    }
    let host = case.evidence().host.as_ref();
    let counted = host.and_then(|host| way.pick(host.own_disk_read_bytes, host.own_disk_write_bytes));
    Share::Exact(done.max(ratio(counted.unwrap_or(0) as f64, case.seconds())))
}

/// Busy for this share of a second, the disk makes a test wait.
const BUSY_MUCH: f64 = 0.05;

const NAMED_MAX: usize = 3;

pub(super) fn traffic(view: &HostView, disk: &Disk) -> CheckResult {
    if matches!(disk.layer.kind, LayerKind::Md | LayerKind::DeviceMapper) {
        return Err(NoAnswer::absent("Its I/O is that of the disks below it."));
    }
    let Some(seen) = view.window.disks.get(disk.name()) else {
        let why = "The kernel does not count its I/O, so that nobody can tell (queue/iostats; a loop device or a \
             drive without use shows nothing before its first I/O).";
        return Err(NoAnswer::unknown(why));
    };
    let ways = [("read", seen.read_bytes_per_s), ("written", seen.written_bytes_per_s)];
    let ways: Vec<String> = ways
        .iter()
        .filter(|(_, rate)| *rate > 0.0)
        .map(|(way, bytes)| format!("{way} at {}", rate(*bytes)))
        .collect();
    let now = if ways.is_empty() { "idle".to_string() } else { ways.join(" and ") };
    if seen.read_bytes_per_s + seen.written_bytes_per_s < FOREIGN_BYTES_PER_S {
        return Ok(Answer::good("Nobody uses it to speak of just now.").now(now));
    }
    let says = format!(
        "Other programs use {} now: stop the other programs that use the disks (iotop and pidstat -d show them) \
         before measuring.",
        disk.name()
    );
    let answer = if seen.busy >= BUSY_MUCH { Answer::spoils(says) } else { Answer::may_spoil(says) };
    Ok(answer.now(now).wanted("idle"))
}

fn named(words: &[String]) -> String {
    match words.len() {
        0..=NAMED_MAX => words.join("; "),
        all => format!("{}; and {} more", words[..NAMED_MAX].join("; "), all - NAMED_MAX),
    }
}

pub(super) fn users(_: &HostView, disk: &Disk) -> CheckResult {
    let neighbours = &disk.neighbours;
    if let Ok(programs) = &neighbours.programs
        && !programs.is_empty()
    {
        let says = "Programs have the device itself open: their I/O shares it with the test, and a test that writes \
             would destroy their data.";
        return Ok(Answer::may_spoil(says).now(named(programs)).wanted("nobody"));
    }
    let why = neighbours.programs.as_ref().err();
    let unseen = why.map(|why| format!("Which programs have it open is not known: {why}."));
    // Of what is built on a disk, the disk tells it.
    if !neighbours.system.is_empty() && !disk.is_stacked() {
        let says = "The operating system is on this disk: its logs, updates and swap disturb a test at times. Test \
             on a disk without it.";
        let says = unseen.map_or_else(|| says.to_string(), |unseen| format!("{says} {unseen}"));
        let now = named(&neighbours.system);
        return Ok(Answer::may_spoil(says).now(now).wanted("a disk without the system"));
    }
    if let Some(unseen) = unseen {
        return Err(NoAnswer::unknown(unseen));
    }
    Ok(Answer::good("Neither the running system nor a program that has the device open is on it.")
        .now("nobody"))
}

/// Others on the disks of a target.
pub(super) fn others_now(now: &TargetNow<'_>) -> Option<String> {
    let used: Vec<_> = now
        .machine
        .disks
        .iter()
        .filter(|disk| now.facts.layers.iter().any(|layer| layer.name == disk.name))
        .filter(|disk| !disk.is_idle())
        .collect();
    let rate: f64 = used.iter().flat_map(|disk| disk.bytes_per_s()).sum();
    (rate >= FOREIGN_BYTES_PER_S).then(|| {
        format!(
            "Other programs use {} now ({}): stop the other programs that use the disks (iotop and pidstat -d show \
             them) before measuring.",
            names(&used),
            rates(&used).join(" and ")
        )
    })
}

pub(super) fn io_pressure(view: &HostView) -> CheckResult {
    let stalled = averages("io", view.roots()).ok_or_else(|| NoAnswer::unknown(memory::NO_PRESSURE))?;
    let now = format!("{} of the last 10 s", part_percent(stalled.some / 100.0));
    if stalled.some < 10.0 {
        return Ok(Answer::good("Tasks hardly wait for storage.").now(now));
    }
    let says = "Tasks of this machine wait for storage, so somebody uses it: iotop and pidstat -d show who.";
    Ok(Answer::may_spoil(says).now(now).wanted("less than 10 %"))
}

/// Programs that use disks heavily, and mostly for a while only.
const JOBS: &[&str] = &[
    "fstrim",
    "updatedb",
    "updatedb.plocat",
    "updatedb.mlocat",
    "e4defrag",
    "xfs_fsr",
    "xfs_scrub",
    "btrfs",
    "duperemove",
    "restic",
    "borg",
    "rsync",
    "dpkg",
    "rpm",
    "dnf",
    "apt-get",
    "aptitude",
    "unattended-upgr",
    "packagekitd",
    "dnf5",
    "yum",
    "zypper",
    "pacman",
    "fio",
    "diskspd",
    "elbencho",
    "iozone",
    "bonnie++",
    "stress-ng",
    "blktrace",
    "dd",
    "badblocks",
    "ddrescue",
    "fsck.ext4",
    "e2fsck",
    "xfs_repair",
    "clamscan",
    "freshclam",
    "mandb",
];

/// Whether a program that is not seen does not run.
pub(super) fn sees_programs(view: &HostView, in_container: &str) -> Result<(), NoAnswer> {
    if view.process.is_container {
        return Err(NoAnswer::unknown(in_container));
    }
    if !view.process.sees_programs {
        let why = "/proc does not show the programs of others (it is not mounted, or mounted with hidepid).";
        return Err(NoAnswer::unknown(why));
    }
    Ok(())
}

fn jobs(view: &HostView) -> CheckResult {
    let found = of_programs(JOBS, view.roots());
    if found.is_empty() {
        let in_container =
            "Programs of the host and of other containers are not visible from this container.";
        sees_programs(view, in_container)?;
        return Ok(Answer::good("No program that is known to keep disks busy is running."));
    }
    let named: Vec<String> =
        found.iter().take(5).map(|(pid, name)| format!("{name} (process {pid})")).collect();
    let more = if found.len() > 5 { format!(" and {} more", found.len() - 5) } else { String::new() };
    let says = "Programs that keep disks busy are running: wait for their end, or stop them.";
    Ok(Answer::may_spoil(says).now(format!("{}{more}", named.join(", "))).wanted("none"))
}
