//! Words that both the sentences of the rules and a report of the bare facts need.

use crate::result::{DiskActivity, Limit, LimitKind};
use crate::text::{grouped, rate, size};

/// Disks that are named, at most.
const NAMES_MAX: usize = 4;

/// Names of disks, the first of many.
pub fn names(disks: &[&DiskActivity]) -> String {
    let named: Vec<&str> = disks.iter().take(NAMES_MAX).map(|disk| disk.name.as_str()).collect();
    match disks.len().saturating_sub(NAMES_MAX) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// `read at 12 MiB/s` and the like, of all these disks together, without what does not happen.
pub fn ways(disks: &[&DiskActivity]) -> Vec<String> {
    let sum = |way: usize| disks.iter().map(|disk| disk.bytes_per_s()[way]).sum::<f64>();
    let ways = [("read", sum(0)), ("written", sum(1))];
    ways.iter()
        .filter(|(_, bytes_per_s)| *bytes_per_s > 0.0)
        .map(|(way, bytes_per_s)| format!("{way} at {}", rate(*bytes_per_s)))
        .collect()
}

/// `1,920 reads/s on loop0 (blkio.throttle of cgroup /x)`.
pub fn limit_words(limit: &Limit) -> String {
    let value = limit.value;
    let what = match limit.what {
        LimitKind::ReadIops => format!("{} reads/s", grouped(value)),
        LimitKind::WriteIops => format!("{} writes/s", grouped(value)),
        LimitKind::ReadBytesPerSecond => format!("{}/s read", size(value)),
        LimitKind::WriteBytesPerSecond => format!("{}/s written", size(value)),
        LimitKind::CpuMillis => format!("the time of {} processors", value as f64 / 1000.0),
        LimitKind::MemoryBytes => format!("{} of memory, page cache included", size(value)),
    };
    let device = limit.device.as_ref().map(|d| format!(" on {d}")).unwrap_or_default();
    format!("{what}{device} ({} of cgroup {})", limit.by, limit.group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_in_words() {
        let limit = |what, value, device: Option<&str>| {
            let device = device.map(str::to_string);
            limit_words(&Limit { by: "io.max".into(), group: "/x".into(), device, what, value })
        };
        assert_eq!(
            limit(LimitKind::ReadIops, 1920, Some("vda")),
            "1,920 reads/s on vda (io.max of cgroup /x)"
        );
        assert!(limit(LimitKind::WriteBytesPerSecond, 1 << 20, None).starts_with("1 MiB/s written ("));
        assert!(limit(LimitKind::CpuMillis, 1500, None).starts_with("the time of 1.5 processors ("));
        assert!(
            limit(LimitKind::MemoryBytes, 1 << 31, None)
                .starts_with("2 GiB of memory, page cache included (")
        );
    }
}
