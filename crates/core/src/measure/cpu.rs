//! Processor use between two moments (`io-semantics.md` §14.4), and what this process itself used.

use truespd_platform::machine::topology;
use truespd_platform::machine::topology::{CpuStatError, CpuTicks};
pub use truespd_platform::sys::system::{ProcessUsage, process_usage};

/// Share of stolen time, in percent, from which on it should be mentioned.
pub const STEAL_PERCENT_NOTABLE: f64 = 1.0;

/// The counters of all online processors at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuCounters {
    /// Ascending by CPU id.
    ticks: Vec<CpuTicks>,
}

/// What a processor did between two moments, in percent of the time it was ours; the first three add up
/// to 100.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CpuShare {
    /// User programs of any priority, including guests.
    pub user: f64,
    /// Kernel, interrupts and their deferred work.
    pub kernel: f64,
    /// Nothing to do, also while waiting for I/O.
    pub idle: f64,
    /// Taken by the hypervisor for others, in percent of all time; not part of the other three.
    pub steal: f64,
}

impl CpuShare {
    /// User plus kernel.
    pub fn usage(&self) -> f64 {
        self.user + self.kernel
    }
}

impl CpuCounters {
    /// Reads the counters. They advance in steps of 1/100 s.
    ///
    /// # Errors
    /// [`CpuStatError`] when the kernel's counters cannot be had.
    pub fn read() -> Result<Self, CpuStatError> {
        Ok(CpuCounters { ticks: topology::processor_times()? })
    }

    fn of(&self, cpu: u32) -> Option<&CpuTicks> {
        let found = self.ticks.binary_search_by_key(&cpu, |ticks| ticks.cpu).ok()?;
        Some(&self.ticks[found])
    }
}

/// Use of each processor of `cpus`, same order, from `before` to `after`.
///
/// Processors are found by id, since the set of online ones can change. One that was not online at both
/// moments, or whose counters did not move, counts as idle.
pub fn usage(before: &CpuCounters, after: &CpuCounters, cpus: &[u32]) -> Vec<CpuShare> {
    cpus.iter()
        .map(|&cpu: &u32| match (before.of(cpu), after.of(cpu)) {
            (Some(before), Some(after)) => share(before, after),
            _ => share(&CpuTicks::default(), &CpuTicks::default()),
        })
        .collect()
}

/// Stolen time over all processors, in percent of all time; mention it above [`STEAL_PERCENT_NOTABLE`].
pub fn steal_percent(shares: &[CpuShare]) -> f64 {
    if shares.is_empty() { 0.0 } else { shares.iter().map(|s| s.steal).sum::<f64>() / shares.len() as f64 }
}

/// Stolen time of the processor that lost most, in percent of its time: one that is busy among many that are idle.
pub fn steal_worst_percent(shares: &[CpuShare]) -> f64 {
    shares.iter().map(|share| share.steal).fold(0.0, f64::max)
}

/// How busy all processors were together that were online at both moments, in percent; none when no time had passed.
pub fn busy_percent(before: &CpuCounters, after: &CpuCounters) -> Option<f64> {
    let online: Vec<u32> =
        after.ticks.iter().map(|ticks| ticks.cpu).filter(|&cpu| before.of(cpu).is_some()).collect();
    let shares = usage(before, after, &online);
    (!shares.is_empty() && before != after)
        .then(|| shares.iter().map(CpuShare::usage).sum::<f64>() / shares.len() as f64)
}

fn percent(part: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { 100.0 * part as f64 / of as f64 }
}

fn share(before: &CpuTicks, after: &CpuTicks) -> CpuShare {
    // Column by column: the time waiting for I/O is known to go back now and then.
    let since = |column: fn(&CpuTicks) -> u64| column(after).saturating_sub(column(before));
    let user = since(|t| t.user) + since(|t| t.nice);
    let kernel = since(|t| t.system) + since(|t| t.irq) + since(|t| t.softirq);
    let idle = since(|t| t.idle) + since(|t| t.iowait);
    let steal = since(|t| t.steal);
    let total = user + kernel + idle;
    CpuShare {
        user: percent(user, total),
        kernel: percent(kernel, total),
        idle: if total == 0 { 100.0 } else { percent(idle, total) },
        steal: percent(steal, total + steal),
    }
}

/// What was used from `before` to `after`. The largest resident memory is that of the whole life of the
/// process up to `after`.
pub fn cost(before: &ProcessUsage, after: &ProcessUsage) -> ProcessUsage {
    // The kernel splits processor time into user and system by sampling and may correct the split.
    ProcessUsage {
        user_ns: after.user_ns.saturating_sub(before.user_ns),
        system_ns: after.system_ns.saturating_sub(before.system_ns),
        resident_bytes_max: after.resident_bytes_max,
        faults_minor: after.faults_minor.saturating_sub(before.faults_minor),
        faults_major: after.faults_major.saturating_sub(before.faults_major),
        switches_voluntary: after.switches_voluntary.saturating_sub(before.switches_voluntary),
        switches_involuntary: after.switches_involuntary.saturating_sub(before.switches_involuntary),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// user, system, idle and steal of CPU `cpu`.
    fn ticks(cpu: u32, [user, system, idle, steal]: [u64; 4]) -> CpuTicks {
        CpuTicks { cpu, user, system, idle, steal, ..CpuTicks::default() }
    }

    fn counters(ticks: &[CpuTicks]) -> CpuCounters {
        CpuCounters { ticks: ticks.to_vec() }
    }

    fn between(before: CpuTicks, after: CpuTicks) -> CpuShare {
        usage(&counters(&[before]), &counters(&[after]), &[after.cpu])[0]
    }

    #[test]
    fn all_processors_together() {
        let before = counters(&[ticks(0, [0; 4]), ticks(1, [0; 4])]);
        // The third came online in between.
        let after = counters(&[ticks(0, [50, 50, 0, 0]), ticks(1, [10, 0, 90, 0]), ticks(2, [100, 0, 0, 0])]);
        assert_eq!(busy_percent(&before, &after), Some(55.0));
        assert_eq!(busy_percent(&before, &before), None);
    }

    const IDLE: CpuShare = CpuShare { user: 0.0, kernel: 0.0, idle: 100.0, steal: 0.0 };

    #[test]
    fn upstream_example() {
        // Windows: kernel 70 including idle 45, user 30.
        let share = between(ticks(0, [100, 200, 300, 0]), ticks(0, [130, 225, 345, 0]));
        assert_eq!(share, CpuShare { user: 30.0, kernel: 25.0, idle: 45.0, steal: 0.0 });
        assert_eq!(share.usage(), 55.0);
    }

    #[test]
    fn columns_go_where_they_belong() {
        let after = CpuTicks {
            cpu: 0,
            user: 1,
            nice: 2,
            system: 4,
            idle: 16,
            iowait: 32,
            irq: 8,
            softirq: 37,
            steal: 100,
        };
        let share = between(CpuTicks::default(), after);
        assert_eq!(share, CpuShare { user: 3.0, kernel: 49.0, idle: 48.0, steal: 50.0 });
    }

    #[test]
    fn idle_only_and_no_movement_are_idle() {
        assert_eq!(between(ticks(0, [9, 9, 100, 0]), ticks(0, [9, 9, 200, 0])), IDLE);
        assert_eq!(between(ticks(0, [9, 9, 100, 0]), ticks(0, [9, 9, 100, 0])), IDLE);
    }

    #[test]
    fn counters_that_go_back_did_not_move() {
        let before = CpuTicks { iowait: 50, ..ticks(0, [100, 100, 100, 7]) };
        let after = CpuTicks { iowait: 40, ..ticks(0, [90, 130, 170, 5]) };
        assert_eq!(between(before, after), CpuShare { user: 0.0, kernel: 30.0, idle: 70.0, steal: 0.0 });
        assert_eq!(between(ticks(0, [9; 4]), ticks(0, [0; 4])), IDLE);
    }

    #[test]
    fn processors_are_found_by_id() {
        let before = counters(&[ticks(0, [0; 4]), ticks(2, [0; 4]), ticks(5, [0; 4])]);
        // 2 went offline, 3 came online.
        let after = counters(&[ticks(0, [10, 0, 10, 0]), ticks(3, [50, 0, 0, 0]), ticks(5, [0, 10, 30, 0])]);
        let shares = usage(&before, &after, &[5, 3, 2, 0, 9]);
        assert_eq!(shares.iter().map(CpuShare::usage).collect::<Vec<_>>(), [25.0, 0.0, 0.0, 50.0, 0.0]);
        assert_eq!(shares[1..3], [IDLE, IDLE]);
    }

    #[test]
    fn stolen_time_is_told_apart() {
        let before = counters(&[ticks(0, [0; 4]), ticks(1, [0; 4])]);
        let after = counters(&[ticks(0, [45, 0, 45, 10]), ticks(1, [0, 0, 100, 0])]);
        let shares = usage(&before, &after, &[0, 1]);
        assert_eq!(shares[0], CpuShare { user: 50.0, kernel: 0.0, idle: 50.0, steal: 10.0 });
        assert_eq!(steal_percent(&shares), 5.0);
        assert_eq!(steal_percent(&[]), 0.0);
        assert_eq!((steal_worst_percent(&shares), steal_worst_percent(&[])), (10.0, 0.0));
    }

    proptest! {
        #[test]
        fn shares_add_up(before in any::<[u32; 8]>(), after in any::<[u32; 8]>()) {
            let of = |columns: [u32; 8]| {
                let [user, nice, system, idle, iowait, irq, softirq, steal] = columns.map(u64::from);
                CpuTicks { cpu: 0, user, nice, system, idle, iowait, irq, softirq, steal }
            };
            let share = between(of(before), of(after));
            let parts = [share.user, share.kernel, share.idle, share.steal];
            prop_assert!(parts.iter().all(|part| (0.0..=100.0).contains(part)), "{share:?}");
            prop_assert!((share.usage() + share.idle - 100.0).abs() < 1e-9, "{share:?}");
        }
    }

    #[test]
    fn work_shows_on_this_machine() {
        let before = CpuCounters::read().expect("Linux has counters");
        let started = std::time::Instant::now();
        while started.elapsed().as_millis() < 200 {
            std::hint::spin_loop();
        }
        let after = CpuCounters::read().expect("Linux has counters");
        let cpus: Vec<u32> = after.ticks.iter().map(|t| t.cpu).collect();
        let user: f64 = usage(&before, &after, &cpus).iter().map(|s| s.user).sum();
        assert!(user > 10.0, "a busy thread was seen as {user} % of one processor");
    }
}

#[cfg(test)]
mod tests_of_process {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn work_memory_and_waiting_show() {
        let before = process_usage();
        let memory = std::hint::black_box(vec![1u8; 64 << 20]);
        let started = Instant::now();
        while process_usage().user_ns < before.user_ns + 20_000_000 {
            (0..100_000).for_each(|i| {
                std::hint::black_box(i);
            });
            assert!(started.elapsed() < Duration::from_secs(60), "a busy thread uses no processor time");
        }
        (0..5).for_each(|_| std::thread::sleep(Duration::from_millis(1)));
        let cost = cost(&before, &process_usage());
        assert!(cost.user_ns >= 20_000_000);
        assert!(cost.resident_bytes_max >= memory.len() as u64, "{cost:?}");
        assert!(cost.faults_minor > 0, "fresh memory was touched: {cost:?}");
        assert!(cost.switches_voluntary >= 5, "five sleeps: {cost:?}");
    }

    #[test]
    fn differences_are_never_negative() {
        let high = ProcessUsage { user_ns: 9, system_ns: 5, resident_bytes_max: 70, ..Default::default() };
        let low = ProcessUsage { user_ns: 4, system_ns: 8, resident_bytes_max: 90, ..Default::default() };
        let wanted = ProcessUsage { system_ns: 3, resident_bytes_max: 90, ..Default::default() };
        assert_eq!(cost(&high, &low), wanted);
        assert_eq!(cost(&low, &low).cpu_ns(), 0);
        assert_eq!(high.cpu_ns(), 14);
    }
}
