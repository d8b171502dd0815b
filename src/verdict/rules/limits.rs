//! Was a configured limit measured, instead of the medium?

use super::super::view::flow;
use crate::result::{DiskActivity, Finding, Grade, Limit, LimitKind};
use crate::text::{bytes, duration_ns, number, percent};
use crate::verdict::figures::{Details, found, ratio};
use crate::verdict::view::{Flow, Way};
use crate::verdict::{Case, Look, Missing};

/// As near as this to a limit is at it.
const AT_LIMIT: std::ops::RangeInclusive<f64> = 0.98..=1.05;
/// A coefficient of variation of the rate below that of any medium.
const FLAT: f64 = 0.01;
/// Intervals that a flat rate needs.
const FLAT_INTERVALS: usize = 5;
/// Requests in flight that a flat rate needs to be one of waiting in line.
const FLAT_DEPTH: f64 = 4.0;
/// A device that takes this long per I/O is a rotating disk, whose rate is never flat, or it waits for a limit.
const FLAT_LATENCY_NS: f64 = 2e6;
/// I/Os of this size take that long on a link that is simply full.
const LINK_BYTES: f64 = 64.0 * 1024.0;
/// A flat rate above this may as well be the most that a fast device can do; below it no device of today with a queue
/// is that slow and that even.
const LIMIT_IOPS_MAX: f64 = 20_000.0;
/// These take one I/O at a time, evenly: a flat rate is theirs.
const SERIAL_TRANSPORTS: [&str; 2] = ["mmc", "usb"];

/// Limits in force at the measured rate, and rates too flat for a medium.
pub fn provisioned(case: &Case<'_>) -> Look {
    let evidence = &case.measured.evidence;
    let mut findings: Vec<Finding> =
        evidence.limits.iter().filter_map(|limit| reached(case, limit)).collect();
    if !findings.is_empty() || case.is_paced() {
        return Ok(findings);
    }
    let Some(depth) = evidence.queue_depth.filter(|depth| depth.reached.is_finite()) else {
        return Err(Missing::of("the mean number of I/Os in flight"));
    };
    let Some((rates, of)) = flat_candidate(case)? else { return Ok(Vec::new()) };
    let rate = ratio(rates.iter().sum(), rates.len() as f64);
    let variation = ratio(deviation(&rates, rate), rate);
    let done = [Way::Read, Way::Write].map(|way| case.done(way));
    let issued = Flow { ios: done[0].ios + done[1].ios, bytes: done[0].bytes + done[1].bytes };
    let latency_ns = ratio(depth.reached * 1e9, issued.ios);
    let waits = depth.reached >= FLAT_DEPTH && latency_ns >= FLAT_LATENCY_NS;
    if variation < FLAT && waits && issued.size() < LINK_BYTES {
        let may_be_the_device = rate > LIMIT_IOPS_MAX || is_serial(case);
        let (grade, what) = match may_be_the_device {
            true => (Grade::Certified, "this is a provisioned limit, or the most that the device can do"),
            false => (Grade::Suspect, "this is a provisioned limit, not the medium"),
        };
        let says = format!(
            "{of} delivered {} IOPS with a variation of {} while {} I/Os waited {} each: {what}.",
            number(rate),
            percent(variation),
            number(depth.reached),
            duration_ns(latency_ns)
        );
        findings.push(
            found(grade, says)
                .figure("iops", rate)
                .figure("variation_percent", variation * 100.0)
                .figure("latency_ns", latency_ns),
        );
    }
    Ok(findings)
}

/// Whether the rate is that of a limit that is known.
pub fn is_reached(case: &Case<'_>) -> bool {
    case.measured.evidence.limits.iter().any(|limit| reached(case, limit).is_some())
}

/// Whether a limit on a device was in force at any time.
pub fn was_set(case: &Case<'_>) -> bool {
    let evidence = &case.measured.evidence;
    let changes = evidence.limit_changes.iter().flatten();
    let changed = changes.flat_map(|change| change.gone.iter().chain(&change.new));
    evidence.limits.iter().chain(changed).any(|limit| limit.device.is_some())
}

fn is_serial(case: &Case<'_>) -> bool {
    let views = case.views();
    let lowest = views.iter().flat_map(|view| view.lowest());
    lowest
        .filter_map(|layer| layer.transport.as_deref())
        .any(|transport| SERIAL_TRANSPORTS.contains(&transport))
}

fn deviation(values: &[f64], mean: f64) -> f64 {
    ratio(values.iter().map(|v| (v - mean) * (v - mean)).sum(), values.len() as f64).sqrt()
}

/// Rates per interval and whose they are: of the only disk, or the run's own; `None` when there are too few.
fn flat_candidate(case: &Case<'_>) -> Result<Option<(Vec<f64>, String)>, Missing> {
    if let [disk] = case.measured.evidence.disks.as_slice()
        && disk.intervals.len() >= FLAT_INTERVALS
        && disk.interval_ns > 0
    {
        let seconds = disk.interval_ns as f64 / 1e9;
        let rate = |counts| flow(counts, Way::Read, seconds).ios + flow(counts, Way::Write, seconds).ios;
        return Ok(Some((disk.intervals.iter().map(rate).collect(), disk.name.clone())));
    }
    let (series, interval_s) = case.series();
    match series.len() {
        0 => Err(Missing::of("the number of completions over time")),
        n if n < FLAT_INTERVALS => Ok(None),
        _ => {
            let rates = series.iter().map(|count| ratio(*count, interval_s)).collect();
            Ok(Some((rates, "The storage".to_string())))
        }
    }
}

/// A finding when the measured rate is the limit.
fn reached(case: &Case<'_>, limit: &Limit) -> Option<Finding> {
    let (way, is_bytes) = match limit.what {
        LimitKind::ReadIops => (Way::Read, false),
        LimitKind::WriteIops => (Way::Write, false),
        LimitKind::ReadBytesPerSecond => (Way::Read, true),
        LimitKind::WriteBytesPerSecond => (Way::Write, true),
        LimitKind::CpuMillis | LimitKind::MemoryBytes => return None,
    };
    let device = limit.device.as_deref()?;
    let pick = |flow: Flow| if is_bytes { flow.bytes } else { flow.ios };
    let counted = |disk: &DiskActivity| pick(flow(&disk.total, way, disk.window_ns as f64 / 1e9));
    let disk = case.measured.evidence.disks.iter().find(|disk| disk.name == device).map(counted);
    // A limit on a layer above the disks is met by what was issued to it.
    let above =
        |view: &crate::verdict::view::View<'_>| view.layers().iter().any(|layer| layer.name == device);
    let issued: f64 = case.views().iter().filter(|view| above(view)).map(|view| pick(view.done(way))).sum();
    let value = limit.value as f64;
    let rates = disk.into_iter().chain([issued]);
    let rate = rates.into_iter().find(|rate| AT_LIMIT.contains(&ratio(*rate, value)))?;
    let shown = |rate: f64| match is_bytes {
        true => format!("{}/s of {}", bytes(rate), way.plural()),
        false => format!("{} {}/s", number(rate), way.plural()),
    };
    let says = format!(
        "The measured {} reach the limit of {} that {} of cgroup {} sets on {device}: this is the rate of the limit, \
         not of the disk.",
        shown(rate),
        shown(value),
        limit.by,
        limit.group
    );
    Some(found(Grade::Suspect, says).figure("limit_per_s", value).figure("measured_per_s", rate))
}
