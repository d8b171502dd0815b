//! Figures that are of neither: of a target on disks that differ, and of several targets that differ.

use crate::cause::RuleFn::RealSpan;
use crate::cause::{Case, Cause, RuleResult, found, ratio, rule};
use crate::view::{Direction, IOS_MIN, TargetView};
use truespd_core::profile::{Target, ThreadTarget};
use truespd_core::result::FindingGrade::{Remark, Suspect};
use truespd_core::result::Meaning::WrongNumber;
use truespd_core::result::{DiskActivity, Finding, Layer, LayerKind, LayerRole, Theme};
use truespd_platform::text::{duration_ns, number};

pub(super) const CAUSES: &[Cause] = &[
    Cause::new("disks-apart", Theme::Cache).judged(
        rule(122, Suspect, WrongNumber, RealSpan(disks_apart)),
        "The parts of a target lie on disks of which one needs twice as long per read or write as another, \
         or longer, though it had no more to do. Of stripes, mirrors and arrays with parity, where every \
         disk takes part in everything, that is a remark, and suspect from four times on.",
        "measure each disk by itself, or a range that lies on one of them (-f and -B; lsblk and dmsetup table show \
         where each begins)",
    ),
    Cause::new("targets-apart", Theme::Run).judged(
        rule(124, Suspect, WrongNumber, RealSpan(targets_apart)),
        "Of several targets one did ten times the I/Os per second of another, or more: sums and means over \
         them are figures of neither. A remark where they were asked for different things, or at a rate.",
        "look at the rows of each target, or measure each in a run of its own",
    ),
];

/// Disks that differ by less are told of by nobody: they have fuller and emptier moments.
const TIMES_REMARK: f64 = 2.0;

/// A slow member of an array holds the others up.
const TIMES_MEMBER_SUSPECT: f64 = 4.0;

/// A disk with less than this part of the other's I/O is no part of the number.
const LITTLE: f64 = 0.1;

/// Targets this far apart have no common figure.
const TARGETS_TIMES: f64 = 10.0;

/// How parts of a target lie on several disks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Joint {
    /// Parts that lie one after the other.
    Parts,
    /// Each takes part in everything.
    Members,
}

/// Levels of md and profiles of btrfs that put one part after the other.
const ONE_AFTER_ANOTHER: [&str; 2] = ["linear", "single"];

fn joint(layer: &Layer) -> Option<Joint> {
    let details = layer.details.as_ref();
    let level = details.and_then(|details| details.level.as_deref().or(details.data_profile.as_deref()));
    let is_one_after_another = level.is_some_and(|level| ONE_AFTER_ANOTHER.contains(&level));
    let is_striped = details.is_some_and(|details| details.mapped_as.iter().any(|kind| kind == "striped"));
    match (layer.role(), layer.kind) {
        // Its journal is no part of it.
        (LayerRole::Array, _) if details?.consistency.as_deref() == Some("journal") => None,
        (LayerRole::Array | LayerRole::CopyOnWrite, _) if is_one_after_another => Some(Joint::Parts),
        (LayerRole::Array | LayerRole::CopyOnWrite, _) => level.map(|_| Joint::Members),
        (LayerRole::RaidVolume, _) => Some(Joint::Members),
        (LayerRole::LogicalVolume | LayerRole::OtherMapped, LayerKind::DeviceMapper) => {
            Some(if is_striped { Joint::Members } else { Joint::Parts })
        }
        _ => None,
    }
}

fn reaches(layers: &[Layer], from: usize, disk: &str) -> bool {
    let Some(layer) = layers.get(from) else { return false };
    layer.name == disk || layer.below.iter().any(|&below| reaches(layers, below as usize, disk))
}

/// The layer where the ways to two disks part, with how they lie there.
fn parting<'a>(layers: &'a [Layer], one: &str, other: &str) -> Option<(&'a Layer, Joint)> {
    let layer = layers.iter().find(|layer| {
        let [one, other] = [one, other].map(|disk| -> Vec<u32> {
            layer.below.iter().copied().filter(|&below| reaches(layers, below as usize, disk)).collect()
        });
        !one.is_empty() && !other.is_empty() && one != other
    })?;
    Some((layer, joint(layer)?))
}

/// What a disk did in one direction: how many, per second, and how long each took.
#[derive(Debug, Clone, Copy)]
pub(super) struct PerIo<'a> {
    pub disk: &'a DiskActivity,
    pub ios: f64,
    pub per_s: f64,
    pub time_ns: f64,
    /// Mean size of one I/O.
    bytes: f64,
    /// How long the disk was at work for each.
    busy_ns: f64,
}

impl<'a> PerIo<'a> {
    pub fn of(disk: &'a DiskActivity, way: Direction, measured_s: f64) -> Self {
        let total = &disk.total;
        let (ios, time_ns) = way.pick((total.reads, total.read_time_ns), (total.writes, total.write_time_ns));
        let bytes = way.pick(total.read_bytes, total.write_bytes);
        PerIo {
            disk,
            ios: ios as f64,
            per_s: ratio(ios as f64, disk.window_s(measured_s)),
            time_ns: ratio(time_ns as f64, ios as f64),
            bytes: ratio(bytes as f64, ios as f64),
            busy_ns: ratio(total.busy_ns as f64, (total.reads + total.writes) as f64),
        }
    }

    /// `sda 389 reads/s, 2.5 ms each`.
    pub fn words(&self, way: Direction) -> String {
        let each = duration_ns(self.time_ns);
        format!("{} {} {}/s, {each} each", self.disk.name, number(self.per_s), way.plural())
    }
}

/// Two disks below a target of which one is slower.
struct Apart<'a> {
    way: Direction,
    layer: &'a Layer,
    joint: Joint,
    fast: PerIo<'a>,
    slow: PerIo<'a>,
}

impl Apart<'_> {
    fn times(&self) -> f64 {
        ratio(self.slow.time_ns, self.fast.time_ns)
    }

    /// What a file system writes beside the data, to one of the disks, is no comparison: it is less, or of another
    /// size.
    fn is_same_work(&self) -> bool {
        let larger = self.slow.bytes.max(self.fast.bytes);
        self.slow.ios >= LITTLE * self.fast.ios
            && self.fast.ios >= LITTLE * self.slow.ios
            && larger <= 2.0 * self.slow.bytes.min(self.fast.bytes)
    }

    /// A disk that gets more of the I/O has the longer line, and needs longer per I/O for that alone. Where it was also
    /// longer at work for each, the line is not all.
    fn is_no_line(&self, in_flight: f64) -> bool {
        let chance = 1.0 + 1.0 / in_flight.max(50.0);
        self.slow.ios <= chance * self.fast.ios || self.slow.busy_ns >= TIMES_REMARK * self.fast.busy_ns
    }
}

/// The two disks below a target that differ most.
fn furthest<'a>(case: &Case<'a>, target: &TargetView<'a>) -> Option<Apart<'a>> {
    let layers = target.layers();
    let activity = &case.evidence().disks;
    let disks: Vec<&DiskActivity> =
        target.lowest().filter_map(|layer| activity.iter().find(|disk| disk.name == layer.name)).collect();
    let in_flight = case.in_flight(std::slice::from_ref(target));
    let mut found: Option<Apart<'a>> = None;
    for way in Direction::BOTH.into_iter().filter(|&way| target.done(way).ios > 0.0) {
        let all: Vec<PerIo<'a>> = disks.iter().map(|disk| PerIo::of(disk, way, case.seconds())).collect();
        let told: Vec<PerIo<'a>> =
            all.into_iter().filter(|one| one.ios >= IOS_MIN && one.time_ns > 0.0).collect();
        for (slow, fast) in told.iter().flat_map(|slow| told.iter().map(move |fast| (*slow, *fast))) {
            let known = found.as_ref().map_or(TIMES_REMARK, Apart::times);
            if ratio(slow.time_ns, fast.time_ns) < known {
                continue;
            }
            let Some((layer, joint)) = parting(layers, &slow.disk.name, &fast.disk.name) else { continue };
            let apart = Apart { way, layer, joint, fast, slow };
            if apart.is_same_work() && apart.is_no_line(in_flight) {
                found = Some(apart);
            }
        }
    }
    found
}

/// Targets on disks that differ.
fn disks_apart(case: &Case<'_>) -> RuleResult {
    let (mut findings, mut told): (Vec<Finding>, Vec<&str>) = (Vec::new(), Vec::new());
    for target in case.views() {
        let Some(apart) = furthest(case, &target) else { continue };
        if told.contains(&apart.layer.name.as_str()) {
            continue;
        }
        told.push(&apart.layer.name);
        let figures = format!("{}; {}", apart.fast.words(apart.way), apart.slow.words(apart.way));
        let name = apart.layer.known_name();
        let (grade, says) = match apart.joint {
            Joint::Parts => (
                Suspect,
                format!(
                    "Parts of {name} lie on disks that differ ({figures}): the numbers of {} are those of neither.",
                    target.path()
                ),
            ),
            Joint::Members => (
                if apart.times() >= TIMES_MEMBER_SUSPECT { Suspect } else { Remark },
                format!("The disks of {name} differ ({figures}): the slow one holds the others up."),
            ),
        };
        findings.push(
            found(grade, says)
                .target(Some(target.path()))
                .figure("fast_time_ns", apart.fast.time_ns)
                .figure("slow_time_ns", apart.slow.time_ns)
                .figure("fast_ios_per_s", apart.fast.per_s)
                .figure("slow_ios_per_s", apart.slow.per_s),
        );
    }
    Ok(findings)
}

/// What a target was asked for, as far as it decides how many I/Os it does.
fn asked(target: &Target) -> Target {
    Target {
        path: String::new(),
        base_bytes: 0,
        max_bytes: 0,
        create_bytes: None,
        thread_targets: target.thread_targets.iter().map(|one| ThreadTarget { thread: 0, ..*one }).collect(),
        ..target.clone()
    }
}

/// Several targets that differ tenfold or more.
fn targets_apart(case: &Case<'_>) -> RuleResult {
    let views = case.views();
    let rates: Vec<(&TargetView<'_>, f64)> =
        views.iter().map(|view| (view, view.read.ios + view.write.ios)).collect();
    let fast = rates.iter().max_by(|a, b| a.1.total_cmp(&b.1));
    let slow = rates.iter().min_by(|a, b| a.1.total_cmp(&b.1));
    let (Some((fast, most)), Some((slow, least))) = (fast, slow) else { return Ok(Vec::new()) };
    if most * case.seconds() < IOS_MIN || *most < TARGETS_TIMES * least {
        return Ok(Vec::new());
    }
    let same = views.iter().all(|view| {
        view.entries.len() == fast.entries.len()
            && asked(view.asked) == asked(fast.asked)
            && case.span.threads_on(view.asked) == case.span.threads_on(fast.asked)
    });
    let all = views.len();
    let figures = format!("{} did {} IOPS, {} {}", fast.path(), number(*most), slow.path(), number(*least));
    let (grade, says) = if same && !case.is_paced() {
        let says =
            format!("The {all} targets differ: {figures}. Their sum and their mean describe none of them.");
        (Suspect, says)
    } else {
        let says = format!(
            "The {all} targets differ: {figures}. They were asked for different things, or at a set rate."
        );
        (Remark, says)
    };
    let finding = found(grade, says).figure("targets", all as f64).figure("most_iops", *most);
    Ok(vec![finding.figure("least_iops", *least)])
}
