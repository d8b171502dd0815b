//! Was a limit measured, instead of the medium? Limits of cgroups are known. That of a cloud's volume, of a
//! hypervisor or of an array is not visible here and shows by the shape of the rate alone.
//!
//! A medium scatters: each I/O takes its own time, so the sums of a second vary by chance. A limit lets through what it
//! allows, keeps account, and makes up for what it let through too much.

use super::even::{LIMIT_IOPS_MAX, LINK_BYTES_PER_S, is_serial};
use super::rhythm::{added, mean, variation};
use super::{even, limits};
use crate::cases;
use crate::cause::RuleFn::RealSpan;
use crate::cause::{Case, Cause, Missing, RuleResult, Sentence, found, ratio, rule};
use crate::doctor::Purpose::Every;
use crate::doctor::each_disk;
use crate::view::{Direction, Flow, flow, too_few_in_run};
use truespd_core::result::FindingGrade::Suspect;
use truespd_core::result::Meaning::HeldBack;
use truespd_core::result::{Finding, FindingGrade, Theme};
use truespd_platform::text::{duration_ns, number, percent};

pub(super) const CAUSES: &[Cause] = &[Cause::new("provisioned-limit", Theme::Limit)
    .inspected(Sentence::Layer(200, limits::of_a_cloud))
    .inspected(Sentence::Limit(300, limits::limited))
    .checked(
        each_disk(40, "disk-limit", Every, limits::disk_limit),
        "limits of control groups on the disk (io.max, blkio.throttle)",
        "There is one.",
        "At the limit the result is the limit's rate, and more queue depth only adds latency.",
        "cgroup-v2.rst (io.max), cgroup-v1/blkio-controller.rst",
    )
    .judged(
        rule(260, Suspect, HeldBack, RealSpan(provisioned)),
        "The rate is that of a cgroup limit. Or it keeps account: over 3 s the sum of all I/Os strays from \
         an even line by no more than a tenth of the root of their number, which no medium's does. Or, at a \
         depth of 2 and less, most I/Os are quick and some take 10 ms and more, and the seconds vary by less than a \
         quarter of what that makes them. Or it varies less than any medium's (below 1 %) while I/Os \
         wait in a queue. Below 3 % it is a limit when its shape is that of one: most seconds at one \
         highest rate, bursts that each second makes up for, latencies that are all alike, or the same \
         rate with half as many in flight (another time span). Above 20,000 IOPS or 100 MiB/s, where it may \
         be a device or a link that is full, it is a remark at most.",
        "raise or remove the limit to measure the disk; more queue depth only adds latency here",
    )];

/// A coefficient of variation of the rate below that of any medium.
pub(super) const FLAT: f64 = 0.01;

/// With a shape that only limits have, this is flat, too.
const FLAT_WITH_SHAPE: f64 = 0.03;

/// Seconds that a flat rate needs.
const FLAT_INTERVALS: usize = 5;

/// Seconds that a shape needs.
const SHAPE_INTERVALS: usize = 10;

/// Requests in flight that a flat rate needs to be one of waiting in line.
const FLAT_DEPTH: f64 = 4.0;

/// A device that takes this long per I/O is a rotating disk, whose rate is never flat, or it waits for a limit.
const FLAT_LATENCY_NS: f64 = 2e6;

/// I/Os of this size or more fill a link.
const LINK_BYTES: f64 = 64.0 * 1024.0;

/// Seconds this near to the highest one are at the ceiling.
const CEILING_WITHIN: f64 = 0.005;

/// So much of the seconds at the ceiling is one.
const CEILING_PART: f64 = 0.6;

/// Tenths of a second that vary by this much come in bursts ...
const BURSTS: f64 = 0.10;

/// ... and bursts whose sums vary by less than this part of what chance leaves are made up for.
const MADE_UP_FOR: f64 = 0.2;

/// Parts of a second that bursts are looked for in.
const PARTS: usize = 10;

/// Latencies that vary by less than this are those of a line in which each waits for its turn.
const SAME_LATENCY: f64 = 0.10;

/// With so many times the I/Os in flight ...
const DEEPER: f64 = 2.0;

/// ... the rate stayed the same.
const SAME_RATE: f64 = 0.02;

/// Limits in force at the measured rate, and rates that have the shape of one.
fn provisioned(case: &Case<'_>) -> RuleResult {
    if let Some(few) = too_few_in_run(case) {
        return Err(few);
    }
    let findings = limits::in_force(case);
    if !findings.is_empty() || case.is_paced() {
        return Ok(findings);
    }
    let depth = case
        .evidence()
        .queue_depth
        .filter(|depth| depth.reached.is_finite())
        .ok_or_else(|| Missing::new("the mean number of I/Os in flight"))?;
    if turns_and_writes(case) {
        return Ok(Vec::new());
    }
    if let Some(kept) = even::kept(case).or_else(|| even::in_bursts(case, latencies(case).as_ref())) {
        return Ok(vec![kept]);
    }
    let Some(seconds) = seconds(case)? else { return Ok(Vec::new()) };
    Ok(hidden(case, &seconds, depth.reached).into_iter().collect())
}

/// Whether so many in flight at such a rate wait in a queue for longer than a fast device takes.
pub(super) fn waits_in_line(in_flight: f64, ios_per_s: f64) -> bool {
    in_flight >= FLAT_DEPTH && ratio(in_flight * 1e9, ios_per_s) >= FLAT_LATENCY_NS
}

/// Rates per second and whose they are.
struct Seconds {
    rates: Vec<f64>,
    of: String,
}

impl Seconds {
    fn rate(&self) -> f64 {
        mean(&self.rates)
    }
}

fn hidden(case: &Case<'_>, seconds: &Seconds, in_flight: f64) -> Option<Finding> {
    let done = everything(case);
    let latency_ns = ratio(in_flight * 1e9, done.ios);
    let waits = waits_in_line(in_flight, done.ios);
    let variation = variation(&seconds.rates);
    let may_be_a_link = done.size() >= LINK_BYTES && done.bytes >= LINK_BYTES_PER_S;
    if !waits || may_be_a_link {
        return None;
    }
    let shape = match variation {
        v if v < FLAT => String::new(),
        v if v < FLAT_WITH_SHAPE => format!(" {}", shape(case, seconds)?),
        _ => return None,
    };
    let rate = seconds.rate();
    let (grade, what) = if rate > LIMIT_IOPS_MAX || is_serial(case) {
        (FindingGrade::Remark, "this is a provisioned limit, or the most that the device can do")
    } else if shape.is_empty() {
        (FindingGrade::Suspect, "this is a provisioned limit, not the medium")
    } else {
        (FindingGrade::Suspect, "this is probably a provisioned limit, not the medium")
    };
    let says = format!(
        "{} delivered {} IOPS with a variation of {} while {} I/Os waited {} each: {what}.{shape}",
        seconds.of,
        number(rate),
        percent(variation),
        number(in_flight),
        duration_ns(latency_ns)
    );
    let finding = found(grade, says).figure("iops", rate).figure("variation_percent", variation * 100.0);
    Some(finding.figure("latency_ns", latency_ns).figure("queue_depth", in_flight))
}

fn everything(case: &Case<'_>) -> Flow {
    let trims = case.views().iter().fold(Flow::default(), |sum, view| sum.plus(view.trim));
    case.done(Direction::Read).plus(case.done(Direction::Write)).plus(trims)
}

/// What of the shape is that of a limit, as a sentence.
fn shape(case: &Case<'_>, seconds: &Seconds) -> Option<String> {
    same_at_less_depth(case)
        .or_else(|| ceiling(&seconds.rates))
        .or_else(|| bursts(case))
        .or_else(|| same_latency(case))
}

/// Many seconds at the highest rate, and none above it.
fn ceiling(rates: &[f64]) -> Option<String> {
    let highest = rates.iter().copied().fold(0.0, f64::max);
    let at_top = rates.iter().filter(|&&rate| rate >= highest * (1.0 - CEILING_WITHIN)).count();
    let part = ratio(at_top as f64, rates.len() as f64);
    let is_one = rates.len() >= SHAPE_INTERVALS && part >= CEILING_PART;
    is_one.then(|| {
        format!(
            "For {} of the time the rate was within 0.5 % of the highest, and never above it.",
            percent(part)
        )
    })
}

/// Bursts within a second that even out over it.
fn bursts(case: &Case<'_>) -> Option<String> {
    let (series, interval_s) = case.fine_series();
    let is_tenths = interval_s > 0.0 && (interval_s * PARTS as f64 - 1.0).abs() < 1e-6;
    let seconds = added(&series, PARTS);
    if !is_tenths || seconds.len() < SHAPE_INTERVALS {
        return None;
    }
    let (within, over) = (variation(&series), variation(&seconds));
    // Independent parts: the variance of sums is the sum of variances.
    let by_chance = within / (PARTS as f64).sqrt();
    let is_made_up_for = within >= BURSTS && over * over < MADE_UP_FOR * by_chance * by_chance;
    is_made_up_for.then(|| {
        format!(
            "From one tenth of a second to the next the rate varies by {}, and each second makes up for it.",
            percent(within)
        )
    })
}

/// How disks with a plate are connected.
const TURNING_TRANSPORTS: [&str; 4] = ["sata", "sas", "fc", "usb"];

/// Whether a disk writes in sequence that has a plate: it writes once per turn, or as fast as the plate turns.
fn turns_and_writes(case: &Case<'_>) -> bool {
    let is_sequential = case.span.targets.iter().all(|target| target.random_percent == 0);
    is_sequential
        && case.views().iter().flat_map(|view| view.lowest()).any(|layer| {
            let transport = layer.transport.as_deref().unwrap_or_default();
            layer.rotational == Some(true) && TURNING_TRANSPORTS.contains(&transport)
        })
}

/// The latencies of all I/Os; `None` without them.
fn latencies(case: &Case<'_>) -> Option<truespd_core::measure::Histogram> {
    let targets = case.measured.threads.iter().flat_map(|thread| &thread.targets);
    let directions = targets.flat_map(|target| [&target.read, &target.write]).filter(|way| way.ios > 0);
    let mut all: Option<truespd_core::measure::Histogram> = None;
    for direction in directions {
        let latency = direction.latency.as_ref().filter(|latency| latency.count() > 0)?;
        all.get_or_insert_default().merge(latency);
    }
    all
}

/// Every I/O waited for about as long.
fn same_latency(case: &Case<'_>) -> Option<String> {
    let all = latencies(case)?;
    let varies = ratio(all.std_dev_ns(), all.mean_ns());
    (varies < SAME_LATENCY).then(|| {
        format!(
            "Every I/O waited for about as long (the latencies vary by {}), as in a line.",
            percent(varies)
        )
    })
}

/// Another time span of the document reached the same rate with less in flight.
fn same_at_less_depth(case: &Case<'_>) -> Option<String> {
    let ours = everything(case);
    let depth = case.evidence().queue_depth?;
    let others = cases(case.document).into_iter().map(|(_, other)| other);
    let other = others
        .filter(|other| {
            let theirs = everything(other);
            let figures = [(ours.ios, theirs.ios), (ours.size(), theirs.size())];
            asks_the_same(case, other)
                && !other.is_paced()
                && figures.iter().all(|&(a, b)| (a - b).abs() <= SAME_RATE * a.max(b))
        })
        .filter_map(|other| other.measured.evidence.queue_depth);
    let less = other.map(|other| other.reached).filter(|&other| other * DEEPER <= depth.reached);
    // With less than one in flight that run was idle at times, and its rate is no rate of the target.
    let less = less.filter(|&other| other >= 1.0).min_by(f64::total_cmp)?;
    Some(format!("With {} in flight the rate was the same: more in flight only wait longer.", number(less)))
}

/// The same I/O on the same targets, but for its depth.
fn asks_the_same(case: &Case<'_>, other: &Case<'_>) -> bool {
    let [ours, theirs] = [case, other].map(|case| {
        let entries = case.span.targets.iter();
        entries.map(|t| (&t.path, t.block_bytes, t.random_percent, t.write_percent, t.trim_percent))
    });
    ours.eq(theirs)
}

/// Of the only disk, or the run's own; `None` when there are too few.
fn seconds(case: &Case<'_>) -> Result<Option<Seconds>, Missing> {
    if let [disk] = case.evidence().disks.as_slice()
        && disk.intervals.len() >= FLAT_INTERVALS
        && disk.interval_ns > 0
    {
        let seconds = disk.interval_ns as f64 / 1e9;
        let rates = disk
            .intervals
            .iter()
            .map(|counts| {
                flow(counts, Direction::Read, seconds).ios + flow(counts, Direction::Write, seconds).ios
            })
            .collect();
        return Ok(Some(Seconds { rates, of: disk.name.clone() }));
    }
    let (series, interval_s) = case.series();
    match series.len() {
        0 => Err(Missing::new("the number of completions over time")),
        n if n < FLAT_INTERVALS => Ok(None),
        _ => {
            let count = (1.0 / interval_s).round().max(1.0);
            let seconds = added(&series, count as usize);
            let rates: Vec<f64> = seconds.iter().map(|sum| ratio(*sum, interval_s * count)).collect();
            Ok((rates.len() >= FLAT_INTERVALS).then(|| Seconds { rates, of: "The storage".to_string() }))
        }
    }
}
