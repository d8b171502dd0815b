//! What a call costs: the same call many times.

use crate::sys::tsc::monotonic_ns;

/// Nanoseconds per call in the fastest of `rounds` rounds of `calls` calls: what disturbs only adds. The call gets its
/// number in the round.
pub fn lowest_ns(rounds: u32, calls: u32, mut call: impl FnMut(u32)) -> f64 {
    let mut round_ns = || {
        let before = monotonic_ns();
        for number in 0..calls {
            call(number);
        }
        monotonic_ns() - before
    };
    let fastest_ns = (0..rounds).map(|_| round_ns()).min().unwrap_or(0);
    fastest_ns as f64 / f64::from(calls.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_work_costs_more_and_every_call_is_made() {
        let mut calls = 0;
        let work = |number: u32| {
            let mut x = u64::from(number) | 1;
            for _ in 0..1000 {
                x = std::hint::black_box(x.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(7));
            }
            calls += 1;
        };
        let long_ns = lowest_ns(3, 500, work);
        assert_eq!(calls, 1500);
        let short_ns = lowest_ns(3, 500, |number| {
            std::hint::black_box(number);
        });
        assert!(long_ns > 10.0 * short_ns && short_ns < 1000.0, "{long_ns} and {short_ns}");
        assert_eq!(lowest_ns(3, 0, |_| ()).total_cmp(&1e9), std::cmp::Ordering::Less);
    }
}
