//! Limits that cgroups set and that the document shows: was one reached, was one set?

use super::super::view::flow;
use crate::result::{DiskActivity, Finding, FindingGrade, Limit, LimitKind};
use crate::text::{bytes, number};
use crate::verdict::Case;
use crate::verdict::few;
use crate::verdict::figures::{Details, found, ratio};
use crate::verdict::view::{Flow, Way};

/// As near as this to a limit is at it.
const AT_LIMIT: std::ops::RangeInclusive<f64> = 0.98..=1.05;

/// Limits that are known and in force at the measured rate.
pub fn in_force(case: &Case<'_>) -> Vec<Finding> {
    case.measured.evidence.limits.iter().filter_map(|limit| reached(case, limit)).collect()
}

/// Whether the rate is that of a limit that is known.
pub fn is_reached(case: &Case<'_>) -> bool {
    let is_enough = few::of_run(case).is_none();
    is_enough && case.measured.evidence.limits.iter().any(|limit| reached(case, limit).is_some())
}

/// Whether a limit on a device was in force at any time.
pub fn was_set(case: &Case<'_>) -> bool {
    let evidence = &case.measured.evidence;
    let changes = evidence.limit_changes.iter().flatten();
    let changed = changes.flat_map(|change| change.gone.iter().chain(&change.new));
    evidence.limits.iter().chain(changed).any(|limit| limit.device.is_some())
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
    let shown = |rate: f64| {
        if is_bytes {
            format!("{}/s of {}", bytes(rate), way.plural())
        } else {
            format!("{} {}/s", number(rate), way.plural())
        }
    };
    let says = format!(
        "The measured {} reach the limit of {} that {} of cgroup {} sets on {device}: this is the rate of the limit, \
         not of the disk.",
        shown(rate),
        shown(value),
        limit.by,
        limit.group
    );
    Some(found(FindingGrade::Suspect, says).figure("limit_per_s", value).figure("measured_per_s", rate))
}
