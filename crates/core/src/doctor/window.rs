//! What the machine does while the doctor watches for a second.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::machine::device::DeviceNumber;
use crate::machine::diskstat::{DiskCounters, DiskReading};
use crate::machine::limits::swapped_pages;
use crate::machine::power::times_throttled;
use crate::machine::roots::Roots;
use crate::machine::topology;
use crate::machine::topology::CpuTicks;

/// What others did to a disk.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Traffic {
    /// Read.
    pub read_bytes_per_s: f64,
    /// Written.
    pub written_bytes_per_s: f64,
    /// Share of the time in which it had something to do.
    pub busy: f64,
}

/// What happened in it. Absent members: the kernel does not tell.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Window {
    /// Processor time that the hypervisor gave to others, in percent.
    pub stolen_percent: Option<f64>,
    /// The same since boot.
    pub stolen_percent_since_boot: Option<f64>,
    /// Pages that went to and came from swap.
    pub swapped_pages: Option<u64>,
    /// How often a processor was slowed down because it was hot.
    pub throttled: Option<u64>,
    /// By kernel name; disks that do not count are missing.
    pub disks: BTreeMap<String, Traffic>,
}

struct Reading {
    ticks: Vec<CpuTicks>,
    swapped: Option<u64>,
    throttled: Option<u64>,
    disks: Vec<Option<DiskReading>>,
}

impl Window {
    /// Watches the machine and these disks, by their kernel names, for so long.
    pub fn watch(disks: &[(String, DeviceNumber)], length: Duration, roots: &Roots) -> Self {
        let open = |(_, number): &(String, DeviceNumber)| DiskCounters::open(*number, roots);
        let counters: Vec<Option<DiskCounters>> = disks.iter().map(open).collect();
        let before = Reading::take(&counters, roots);
        let start = Instant::now();
        std::thread::sleep(length);
        let after = Reading::take(&counters, roots);
        Self::between(&before, &after, disks, start.elapsed().as_secs_f64())
    }

    fn between(before: &Reading, after: &Reading, disks: &[(String, DeviceNumber)], seconds: f64) -> Self {
        let more = |after: Option<u64>, before: Option<u64>| Some(after?.saturating_sub(before?));
        type Readings<'a> = (&'a Option<DiskReading>, &'a Option<DiskReading>);
        let traffic = |((name, _), (before, after)): (&(String, DeviceNumber), Readings<'_>)| {
            let done = after.as_ref()?.since(before.as_ref()?);
            let per_s = |amount: u64| amount as f64 / seconds;
            let traffic = Traffic {
                read_bytes_per_s: per_s(done.read_bytes),
                written_bytes_per_s: per_s(done.write_bytes),
                busy: per_s(done.busy_ns) / 1e9,
            };
            Some((name.clone(), traffic))
        };
        Window {
            stolen_percent: stolen_percent(&before.ticks, &after.ticks),
            stolen_percent_since_boot: (!after.ticks.is_empty())
                .then(|| topology::steal_percent_since_boot(&after.ticks)),
            swapped_pages: more(after.swapped, before.swapped),
            throttled: more(after.throttled, before.throttled),
            disks: disks.iter().zip(before.disks.iter().zip(&after.disks)).filter_map(traffic).collect(),
        }
    }
}

impl Reading {
    fn take(disks: &[Option<DiskCounters>], roots: &Roots) -> Self {
        Reading {
            ticks: topology::processor_times_in(&roots.proc.join("stat")).unwrap_or_default(),
            swapped: swapped_pages(roots).map(|(pages_in, pages_out)| pages_in + pages_out),
            throttled: times_throttled(roots),
            disks: disks.iter().map(|disk| disk.as_ref().and_then(|disk| disk.read().ok())).collect(),
        }
    }
}

/// Share of the processor time between two readings that the hypervisor gave to others.
fn stolen_percent(before: &[CpuTicks], after: &[CpuTicks]) -> Option<f64> {
    let of = |before: &CpuTicks, after: &CpuTicks| CpuTicks {
        cpu: after.cpu,
        user: after.user.saturating_sub(before.user),
        nice: after.nice.saturating_sub(before.nice),
        system: after.system.saturating_sub(before.system),
        idle: after.idle.saturating_sub(before.idle),
        iowait: after.iowait.saturating_sub(before.iowait),
        irq: after.irq.saturating_sub(before.irq),
        softirq: after.softirq.saturating_sub(before.softirq),
        steal: after.steal.saturating_sub(before.steal),
    };
    let find = |after: &CpuTicks| before.iter().find(|before| before.cpu == after.cpu).map(|b| of(b, after));
    let between: Vec<CpuTicks> = after.iter().filter_map(find).collect();
    (!between.is_empty()).then(|| topology::steal_percent_since_boot(&between))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_time_is_that_of_the_window() {
        let ticks = |idle, steal| vec![CpuTicks { idle, steal, ..CpuTicks::default() }];
        let stolen = stolen_percent(&ticks(1000, 500), &ticks(1090, 510)).expect("one processor");
        assert!((stolen - 10.0).abs() < 1e-9, "{stolen}");
        assert_eq!(stolen_percent(&[], &[]), None);
    }
}
