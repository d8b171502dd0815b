//! What is known where the disks of a target are not visible, as in a container: the kernel's account of this process
//! tells whether storage moved the bytes, but not which.

use super::reach::{self, MOVED_SUSPECT, edge, gives_its_account, moved_by_own};
use crate::cause::{Case, ratio, remark, suspect};
use crate::view::{Direction, DiskGroup, IoCount, RestsOn, TargetView};
use truespd_core::result::{Finding, KernelDevice, LayerRole};
use truespd_platform::text::percent;

/// How the names of devices begin that can answer from memory: RAM, loop devices and those that a program serves, over
/// the page cache, and volumes of ZFS.
const FROM_MEMORY: [&str; 8] = ["zram", "ram", "nullb", "loop", "nbd", "ublkb", "rbd", "zd"];

/// Reading ahead takes a little more than was asked for; with much more, what memory gave is not known.
const READ_AHEAD: f64 = 1.1;

/// A direction with a smaller part of the I/Os is not what the result is about.
const SMALL_PART: f64 = 0.1;

/// What the account shows of one direction.
struct Told {
    way: Direction,
    /// The part of the bytes that this process had the storage move; `None` where the account does not tell it.
    share: Option<f64>,
    known: Known,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    /// By the account storage moved the bytes.
    Moved,
    /// It did not, which another rule says.
    Answered,
    Nothing,
}

/// What the result proves of targets without visible disks: `what` is missing besides the account.
pub(super) fn finding(case: &Case<'_>, group: &DiskGroup<'_>, what: &str) -> Option<Finding> {
    let all = group.done(Direction::Read).ios + group.done(Direction::Write).ios;
    let ways = Direction::BOTH.into_iter().filter(|way| group.done(*way).ios > SMALL_PART * all);
    let told: Vec<Told> = ways.map(|way| told(case, group, way)).collect();
    let shares: Vec<String> = told.iter().filter_map(Told::words).collect();
    let account = match shares.as_slice() {
        [] => String::new(),
        shares => format!(
            "by the kernel's account this process had the storage {} of the bytes",
            shares.join(" and ")
        ),
    };
    if told.is_empty() || told.iter().any(|one| one.known == Known::Nothing) {
        let account =
            if account.is_empty() { account } else { format!("; {account}, which does not decide it") };
        let says = format!("The result cannot be proven: it does not show {what}{account}.");
        return Some(with_shares(suspect(says), &told));
    }
    let moved: Vec<&Told> = told.iter().filter(|one| one.known == Known::Moved).collect();
    if moved.is_empty() {
        return None;
    }
    let is_written = moved.iter().any(|one| one.way == Direction::Write);
    let kept = if is_written { ", nor whether they outlive a power failure" } else { "" };
    let found = match from_memory(case, group) {
        Ok(()) => remark(format!(
            "{}. Which disk that is, is not visible here, nor a cache below it, nor what others did with it{kept}.",
            capital(&account)
        )),
        Err(why) => suspect(format!("The result cannot be proven: {account}, but {why}.")),
    };
    Some(with_shares(found, &told))
}

/// A finding with the share of each direction as a figure.
fn with_shares(mut finding: Finding, told: &[Told]) -> Finding {
    for one in told {
        if let Some(share) = one.share {
            finding = finding.figure(&format!("own_disk_{}_percent", one.way.word()), share * 100.0);
        }
    }
    finding
}

fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// Whether the account shows that storage moved the bytes of one direction.
pub(super) fn is_moved(case: &Case<'_>, group: &DiskGroup<'_>, way: Direction) -> bool {
    told(case, group, way).known == Known::Moved
}

impl Told {
    /// In words, as in `read 100 %`.
    fn words(&self) -> Option<String> {
        Some(format!("{} {}", self.way.pick("read", "write"), percent(self.share?)))
    }
}

fn told(case: &Case<'_>, group: &DiskGroup<'_>, way: Direction) -> Told {
    let is_few = IoCount::new(case, &group.targets, way).is_too_few();
    let Some(own) = (if is_few { None } else { moved_by_own(case, way) }) else {
        return Told { way, share: None, known: Known::Nothing };
    };
    let reached = reach::share(case, group, way, own);
    let known = if reached < MOVED_SUSPECT && reach::own(case, group, way).is_some() {
        Known::Answered
    } else if reached >= MOVED_SUSPECT && moves(case, group, way, own) {
        Known::Moved
    } else {
        Known::Nothing
    };
    // Of buffered writes the account says only which pages were changed.
    let is_of_storage = way == Direction::Read || group.targets.iter().all(TargetView::is_direct);
    let share = is_of_storage.then(|| ratio(own, group.done(way).bytes));
    Told { way, share, known }
}

/// Whether so many bytes in the account of this process mean that storage moved those of all its targets.
fn moves(case: &Case<'_>, group: &DiskGroup<'_>, way: Direction, own: f64) -> bool {
    let views = case.views();
    let all: f64 = views.iter().map(|view| view.done(way).bytes).sum();
    let may_hold_others =
        views.iter().any(|view| !matches!(view.rests_on(), RestsOn::Disks | RestsOn::Unknown));
    // What the other targets of the run moved is in the account as well.
    let is_all_of_it = group.targets.len() == views.len() || own >= MOVED_SUSPECT * all;
    let is_direct = views.iter().all(TargetView::is_direct);
    let is_own = match way {
        Direction::Read => is_direct || own <= READ_AHEAD * all + edge(case, &views, case.done(way)),
        Direction::Write => is_direct && group.targets.iter().all(is_written_at_once),
    };
    !may_hold_others && is_all_of_it && is_own && group.targets.iter().all(gives_its_account)
}

/// Whether direct writes are not left in the page cache, as by a file system with all data in its journal.
fn is_written_at_once(target: &TargetView<'_>) -> bool {
    let is_told = !target.lowest().any(|layer| layer.role() == LayerRole::Overlay);
    let journals =
        target.layers().iter().any(|layer| layer.details.as_ref().is_some_and(|d| d.journals_data));
    target.is_write_through() || (is_told && !journals)
}

/// Whether no device that answers from memory can hold the targets.
///
/// # Errors
/// Why one can, as a part of a sentence.
fn from_memory(case: &Case<'_>, group: &DiskGroup<'_>) -> Result<(), String> {
    let Some(devices) = &case.evidence().kernel_devices else {
        return Err(could_be("zram or a loop device over the page cache"));
    };
    let least_bytes = group.targets.iter().map(own_bytes).max().unwrap_or(0);
    let can_hold = devices
        .iter()
        .filter(|device| answers_from_memory(device) && !device.is_swap && device.size_bytes >= least_bytes);
    let names: Vec<&str> = can_hold.map(|device| device.name.as_str()).take(NAMES_MAX + 1).collect();
    match names.as_slice() {
        [] => Ok(()),
        [one] => Err(could_be(one)),
        names if names.len() <= NAMES_MAX => Err(could_be(&names.join(" or "))),
        names => Err(could_be(&format!("{} or others", names[..NAMES_MAX].join(", ")))),
    }
}

/// Bytes of a target that a device below it holds. What copies share lies there once.
fn own_bytes(target: &TargetView<'_>) -> u64 {
    let map = target.facts.and_then(|facts| facts.extents.as_ref());
    map.map_or(0, |map| map.placed_bytes.saturating_sub(map.shared_bytes))
}

fn answers_from_memory(device: &KernelDevice) -> bool {
    let mut numbers = FROM_MEMORY.iter().filter_map(|name| device.name.strip_prefix(name));
    numbers.any(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn could_be(names: &str) -> String {
    format!("which device that is, is not visible here, and {names} can answer from memory")
}

/// Devices that are named, at most.
const NAMES_MAX: usize = 3;
