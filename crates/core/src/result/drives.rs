//! What the drives under the targets said of themselves around a run.

use serde::{Deserialize, Serialize};

pub use truespd_platform::machine::drive_state::{DriveState, DriveUntold, DriveWarning};
use truespd_platform::text::{bytes, grouped, number};

/// A drive under the targets. Its counts are of all that reached it: warm-up and cool-down, and other programs, too.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Drive {
    /// Kernel name of the disk, as in `disks`.
    pub name: String,
    /// Why `before` or `after` is missing; none where both are there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub untold: Option<DriveUntold>,
    /// What it said before the first I/O of the time span.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<DriveState>,
    /// What it said after the last I/O.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<DriveState>,
    /// What came between them; none where one is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<DriveChange>,
}

/// What changed at a drive from before the first I/O until after the last. Absent: it does not tell, or its counter was
/// reset.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct DriveChange {
    /// By how many degrees it became warmer, or cooler.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature_c: Option<i32>,
    /// Bytes that were read from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_bytes: Option<u64>,
    /// Bytes that were written to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written_bytes: Option<u64>,
    /// Bytes that it wrote to its medium.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_written_bytes: Option<u64>,
    /// Bytes that it wrote to its medium for each byte that was written to it; none where too little was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_amplification: Option<f64>,
    /// Seconds for which it held itself back to stay cool, by thermal management.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttled_s: Option<u64>,
    /// How often it began to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttled_times: Option<u64>,
    /// Times that it throttled for its temperature, by OCP's log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttle_events: Option<u64>,
    /// Minutes that it was warmer than it should be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warm_minutes: Option<u64>,
    /// Minutes that it was hot enough to stop or be damaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub critical_minutes: Option<u64>,
    /// Errors of the medium that it could not correct.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_errors: Option<u64>,
    /// New entries in its log of errors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_log_entries: Option<u64>,
    /// Transfers on the cable that came with a wrong checksum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crc_errors: Option<u64>,
    /// Errors of the PCI Express link that the link itself corrected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_errors_corrected: Option<u64>,
    /// What it warns of now and did not before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<DriveWarning>,
}

/// Less than this written, and there is no write amplification: NVMe drives count in units of 512,000 bytes, rounded
/// up, and keep megabytes in their buffers, so that 100 units leave an error of some percent.
const AMPLIFICATION_BYTES_MIN: u64 = 100 * 512_000;

impl Drive {
    /// By what it said, or why not.
    pub fn of(
        name: String,
        before: Result<DriveState, DriveUntold>,
        after: Result<DriveState, DriveUntold>,
    ) -> Self {
        let untold = before.as_ref().err().or(after.as_ref().err()).copied();
        let (before, after) = (before.ok(), after.ok());
        let change =
            before.as_ref().zip(after.as_ref()).map(|(before, after)| DriveChange::between(before, after));
        Drive { name, untold, before, after, change }
    }

    /// `nvme0n1: 41 to 55 C, 1.2 GiB written to it, ...`; `None` where it says nothing of itself.
    pub fn words(&self) -> Option<String> {
        let (before, after) = (self.before.as_ref()?, self.after.as_ref()?);
        let words = self.change.as_ref()?.words(before, after);
        (!words.is_empty()).then(|| format!("{}: {words}", self.name))
    }
}

impl DriveChange {
    fn between(before: &DriveState, after: &DriveState) -> Self {
        let written_bytes = grown(before.written_bytes, after.written_bytes);
        let media_written_bytes = grown(before.media_written_bytes, after.media_written_bytes);
        let mut warnings = after.warnings.clone();
        warnings.retain(|warning| !before.warnings.contains(warning));
        DriveChange {
            temperature_c: before
                .temperature_c
                .zip(after.temperature_c)
                .map(|(before, after)| after - before),
            read_bytes: grown(before.read_bytes, after.read_bytes),
            written_bytes,
            media_written_bytes,
            write_amplification: amplification(written_bytes, media_written_bytes),
            throttled_s: both(
                grown(before.throttled_light_s, after.throttled_light_s),
                grown(before.throttled_heavy_s, after.throttled_heavy_s),
            ),
            throttled_times: both(
                grown(before.throttled_light_times, after.throttled_light_times),
                grown(before.throttled_heavy_times, after.throttled_heavy_times),
            ),
            throttle_events: grown(before.throttle_events, after.throttle_events),
            warm_minutes: grown(before.warm_minutes, after.warm_minutes),
            critical_minutes: grown(before.critical_minutes, after.critical_minutes),
            media_errors: grown(before.media_errors, after.media_errors),
            error_log_entries: grown(before.error_log_entries, after.error_log_entries),
            crc_errors: grown(before.crc_errors, after.crc_errors),
            link_errors_corrected: grown(before.link_errors_corrected, after.link_errors_corrected),
            warnings,
        }
    }

    fn words(&self, before: &DriveState, after: &DriveState) -> String {
        let mut parts = Vec::new();
        if let Some((from, to)) = before.temperature_c.zip(after.temperature_c) {
            parts.push(if from == to { format!("{to} C") } else { format!("{from} to {to} C") });
        }
        parts.extend(self.read_bytes.map(|read| format!("{} read from it", bytes(read as f64))));
        parts.extend(self.written_bytes.map(|written| format!("{} written to it", bytes(written as f64))));
        if let Some(media) = self.media_written_bytes {
            let amplification =
                self.write_amplification.map(|factor| format!(" (write amplification {})", number(factor)));
            parts.push(format!("{} to its medium{}", bytes(media as f64), amplification.unwrap_or_default()));
        }
        parts.extend(self.throttled_s.map(|seconds| format!("throttled for {} s", grouped(seconds))));
        parts.extend(self.media_errors.map(|errors| format!("{} media errors", grouped(errors))));
        let on_the_way = both(self.crc_errors, self.link_errors_corrected);
        parts.extend(on_the_way.map(|errors| format!("{} errors on the way to it", grouped(errors))));
        parts.join(", ")
    }
}

fn grown(before: Option<u64>, after: Option<u64>) -> Option<u64> {
    after?.checked_sub(before?)
}

/// The sum of what is known.
fn both(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
        (one, other) => one.or(other),
    }
}

fn amplification(written_bytes: Option<u64>, media_written_bytes: Option<u64>) -> Option<f64> {
    let (written, media) = (written_bytes?, media_written_bytes?);
    // A counter of the medium that stood still is one that comes late.
    (written >= AMPLIFICATION_BYTES_MIN && media > 0).then(|| media as f64 / written as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(written_units: u64, media_written_bytes: u64) -> DriveState {
        DriveState {
            temperature_c: Some(41),
            written_bytes: Some(written_units * 512_000),
            media_written_bytes: Some(media_written_bytes),
            throttled_light_s: Some(10),
            throttled_heavy_s: Some(5),
            media_errors: Some(3),
            crc_errors: Some(0),
            ..DriveState::default()
        }
    }

    #[test]
    fn write_amplification_needs_enough_of_both() {
        let of = |units: u64, media: u64| {
            let drive = Drive::of("nvme0n1".into(), Ok(state(7, 1000)), Ok(state(7 + units, 1000 + media)));
            drive.change.unwrap().write_amplification
        };
        assert_eq!(of(100, 128_000_000), Some(2.5));
        assert_eq!(of(99, 128_000_000), None);
        assert_eq!(of(1000, 0), None);
    }

    #[test]
    fn a_change_is_told_where_both_ends_are_known() {
        let after = DriveState {
            temperature_c: Some(55),
            throttled_light_s: Some(22),
            media_errors: Some(1),
            crc_errors: Some(9),
            warnings: vec![DriveWarning::Temperature],
            ..state(207, 256_001_000)
        };
        let drive = Drive::of("nvme0n1".into(), Ok(state(7, 1000)), Ok(after));
        assert_eq!(
            drive.words().as_deref(),
            Some(
                "nvme0n1: 41 to 55 C, 97.7 MiB written to it, 244 MiB to its medium (write amplification 2.50), \
                 throttled for 12 s, 9 errors on the way to it"
            )
        );
        let change = drive.change.unwrap();
        // Fewer than before: somebody reset the counter.
        assert_eq!((change.media_errors, change.crc_errors, change.throttled_s), (None, Some(9), Some(12)));
        assert_eq!((change.temperature_c, change.warnings), (Some(14), vec![DriveWarning::Temperature]));
    }

    #[test]
    fn a_drive_that_says_nothing_says_why() {
        let drive = Drive::of("sda".into(), Err(DriveUntold::Asleep), Ok(state(1, 1)));
        assert_eq!((drive.untold, drive.change.clone()), (Some(DriveUntold::Asleep), None));
        assert_eq!(drive.words(), None);
        let late = Drive::of("sda".into(), Ok(state(1, 1)), Err(DriveUntold::NoAnswer));
        assert_eq!((late.untold, late.before.is_some()), (Some(DriveUntold::NoAnswer), true));
    }
}
