//! The tool's own cost: what this process used between two moments.

pub use crate::sys::system::ProcessUsage;
pub use crate::sys::system::process_usage;

/// What was used from `before` to `after`. The largest resident memory is that of the whole life of the
/// process up to `after`.
pub fn cost(before: &ProcessUsage, after: &ProcessUsage) -> ProcessUsage {
    // The kernel splits processor time into user and system by sampling and may correct the split.
    let since = |column: fn(&ProcessUsage) -> u64| column(after).saturating_sub(column(before));
    ProcessUsage {
        user_ns: since(|u| u.user_ns),
        system_ns: since(|u| u.system_ns),
        resident_bytes_max: after.resident_bytes_max,
        faults_minor: since(|u| u.faults_minor),
        faults_major: since(|u| u.faults_major),
        switches_voluntary: since(|u| u.switches_voluntary),
        switches_involuntary: since(|u| u.switches_involuntary),
    }
}

#[cfg(test)]
mod tests {
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
