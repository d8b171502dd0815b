//! The clock that stamps I/Os.
//!
//! Where the kernel keeps time by the processor's counter, stamps are read from the counter directly;
//! otherwise they are `CLOCK_MONOTONIC`. Either way a stamp is `CLOCK_MONOTONIC` in nanoseconds, for
//! the counter as of its calibration.
//!
//! # Calibration
//! The kernel's own figure for the counter's rate cannot be had everywhere (it needs a perf event) and
//! leaves out the corrections of time synchronisation. So the rate is measured: two readings of both
//! clocks at start, 4 ms apart, are good to a few parts per million, since a reading is good
//! to about 10 ns. [`MachineClock::refined`] does it again over all the time since then and is good to a small
//! fraction of that; it is meant to be called at the start of each time span, when files have been made
//! and threads started, and gives a clock that starts at `CLOCK_MONOTONIC` to about 10 ns.
//!
//! A clock never changes. All stamps and instants of a time span come from copies of one clock, so
//! nothing jumps and no thread shares a cache line for it. Two clocks agree with `CLOCK_MONOTONIC` but
//! not with each other to the nanosecond: their stamps must not be mixed.
//!
//! What a call costs: the same call many times.

use std::time::Duration;

use truespd_platform::sys::tsc;
use truespd_platform::sys::tsc::monotonic_ns;

/// Distance of the first two readings.
const CALIBRATION: Duration = Duration::from_millis(4);
/// A distance from which on the last calibration alone is a better base than the start: recent enough to
/// follow time synchronisation, long enough for 0.01 parts per million.
const BASE_NS_GOOD: u64 = 1_000_000_000;
/// The rate is a fixed-point number with this many bits after the point.
const RATE_BITS: u32 = 32;

/// A source of stamps. The worker is generic over it, so that simulated devices run in simulated time.
pub trait Clock {
    /// Nanoseconds from an arbitrary start; never goes back within a thread.
    fn now_ns(&self) -> u64;
}

impl<C: Clock + ?Sized> Clock for &C {
    #[inline]
    fn now_ns(&self) -> u64 {
        (**self).now_ns()
    }
}

/// What the clock is, for the document.
#[derive(Debug, Clone, PartialEq)]
pub struct ClockFacts {
    /// `TSC`, `CNTVCT` or `CLOCK_MONOTONIC`.
    pub name: &'static str,
    /// Cost of one stamp in nanoseconds.
    pub cost_ns: f64,
    /// Why it is not the processor's counter, in words.
    pub why_not_counter: Option<String>,
}

/// Both clocks at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reading {
    ticks: u64,
    monotonic_ns: u64,
}

impl Reading {
    /// The narrowest of several attempts: a reading that was interrupted is a wide one.
    fn take() -> Self {
        let mut narrowest = u64::MAX;
        let mut best = Reading { ticks: 0, monotonic_ns: 0 };
        for _ in 0..32 {
            let before = tsc::counter();
            let monotonic_ns = tsc::monotonic_ns();
            let width = tsc::counter().saturating_sub(before);
            if width < narrowest {
                (narrowest, best) = (width, Reading { ticks: before + width / 2, monotonic_ns });
            }
        }
        best
    }
}

/// Line through two readings: where it starts and how steep it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Scale {
    anchor: Reading,
    /// Nanoseconds per tick, with [`RATE_BITS`] bits after the point.
    rate: u64,
}

impl Scale {
    /// The line through both readings, starting at the second; `None` when they do not differ.
    fn through(first: Reading, second: Reading) -> Option<Self> {
        let ticks = u128::from(second.ticks.checked_sub(first.ticks)?);
        let ns = u128::from(second.monotonic_ns.checked_sub(first.monotonic_ns)?);
        let rate = (ns << RATE_BITS).checked_div(ticks)?;
        let rate = u64::try_from(rate).ok().filter(|&rate| rate > 0)?;
        Some(Scale { anchor: second, rate })
    }

    #[inline]
    fn ns(&self, ticks: u64) -> u64 {
        // Another processor's counter may be a few ticks behind the one that was calibrated.
        let since = ticks.saturating_sub(self.anchor.ticks);
        self.anchor.monotonic_ns + ((u128::from(since) * u128::from(self.rate)) >> RATE_BITS) as u64
    }
}

/// The machine's clock. See the module for how it is calibrated and what copies are for.
#[derive(Debug, Clone)]
pub struct MachineClock {
    source: Source,
}

#[derive(Debug, Clone)]
enum Source {
    Counter {
        scale: Scale,
        /// The first reading of all.
        origin: Reading,
    },
    Monotonic {
        why: String,
    },
}

impl Clock for MachineClock {
    #[inline]
    fn now_ns(&self) -> u64 {
        match &self.source {
            Source::Counter { scale, .. } => scale.ns(tsc::counter()),
            Source::Monotonic { .. } => tsc::monotonic_ns(),
        }
    }
}

impl MachineClock {
    /// [`Clock::now_ns`] without waiting for instructions before it: see [`tsc::counter_unfenced`].
    #[inline]
    pub fn now_unfenced_ns(&self) -> u64 {
        match &self.source {
            Source::Counter { scale, .. } => scale.ns(tsc::counter_unfenced()),
            Source::Monotonic { .. } => tsc::monotonic_ns(),
        }
    }

    /// Chooses the clock of this machine and calibrates it, which takes 4 ms when it is the counter.
    pub fn start() -> Self {
        if let Err(unfit) = tsc::counter_fitness() {
            return Self::monotonic(unfit.to_string());
        }
        let origin = Reading::take();
        std::thread::sleep(CALIBRATION);
        match Scale::through(origin, Reading::take()) {
            Some(scale) => MachineClock { source: Source::Counter { scale, origin } },
            None => Self::monotonic("the processor's counter does not move".to_string()),
        }
    }

    /// `CLOCK_MONOTONIC` whatever the machine offers, for the given reason.
    pub fn monotonic(why: String) -> Self {
        MachineClock { source: Source::Monotonic { why } }
    }

    /// A clock calibrated anew over the time since this one was, or since the start when that is not a
    /// second ago. It begins at `CLOCK_MONOTONIC`; use it for what starts now, and do not
    /// compare its stamps with those of this one.
    ///
    /// Looks again whether the kernel still trusts the counter: it gives it up when it sees it deviate.
    pub fn refined(&self) -> Self {
        let Source::Counter { scale, origin } = &self.source else { return self.clone() };
        if let Err(unfit) = tsc::counter_fitness() {
            return Self::monotonic(unfit.to_string());
        }
        let now = Reading::take();
        let is_good = now.monotonic_ns.saturating_sub(scale.anchor.monotonic_ns) >= BASE_NS_GOOD;
        let base = if is_good { scale.anchor } else { *origin };
        match Scale::through(base, now) {
            Some(scale) => MachineClock { source: Source::Counter { scale, origin: *origin } },
            None => Self::monotonic("the processor's counter stopped".to_string()),
        }
    }

    /// How much faster this clock ran than `CLOCK_MONOTONIC` since it was calibrated, in parts per
    /// million, negative when slower. A look after a run tells whether its times can be relied on: beyond
    /// 10 either time synchronisation was turning the kernel's clock or the counter is not steady.
    ///
    /// A reading is good to about 10 ns, so less than a few milliseconds after calibration it says
    /// nothing.
    pub fn drift_ppm(&self) -> f64 {
        let Source::Counter { scale, .. } = &self.source else { return 0.0 };
        let (clock_now, monotonic_now) = self.both_ns();
        let elapsed_ns = monotonic_now.saturating_sub(scale.anchor.monotonic_ns).max(1);
        let ahead_ns = clock_now as i128 - i128::from(monotonic_now);
        ahead_ns as f64 / elapsed_ns as f64 * 1e6
    }

    /// What this clock is and what a stamp costs; measures that, which takes a few microseconds.
    pub fn describe(&self) -> ClockFacts {
        // The fastest of several: an interrupt is no cost of the clock.
        let cost_ns = lowest_ns(4, 64, |_| {
            std::hint::black_box(self.now_ns());
        });
        let (name, why_not_counter) = match &self.source {
            Source::Counter { .. } => (tsc::COUNTER_NAME, None),
            Source::Monotonic { why } => ("CLOCK_MONOTONIC", Some(why.clone())),
        };
        ClockFacts { name, cost_ns, why_not_counter }
    }

    /// This clock and `CLOCK_MONOTONIC` at one moment.
    fn both_ns(&self) -> (u64, u64) {
        match &self.source {
            Source::Counter { scale, .. } => {
                let reading = Reading::take();
                (scale.ns(reading.ticks), reading.monotonic_ns)
            }
            Source::Monotonic { .. } => {
                let now = tsc::monotonic_ns();
                (now, now)
            }
        }
    }
}

/// Nanoseconds per call in the fastest of `rounds` rounds of `calls` calls: what disturbs only adds. The call gets its
/// number in the round.
pub fn lowest_ns(rounds: u32, calls: u32, mut call: impl FnMut(u32)) -> f64 {
    let rounds_ns = (0..rounds).map(|_| {
        let before = monotonic_ns();
        for number in 0..calls {
            call(number);
        }
        monotonic_ns() - before
    });
    let fastest_ns = rounds_ns.min().unwrap_or(0);
    fastest_ns as f64 / f64::from(calls.max(1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    fn reading(ticks: u64, monotonic_ns: u64) -> Reading {
        Reading { ticks, monotonic_ns }
    }

    #[test]
    fn a_line_goes_through_both_readings() {
        // 24 MHz and 5 GHz: ticks longer and shorter than a nanosecond.
        for hertz in [24_000_000u64, 5_000_000_000] {
            let scale = Scale::through(reading(70, 1000), reading(70 + hertz, 1000 + SECOND_NS)).unwrap();
            assert_eq!(scale.ns(70 + hertz), 1000 + SECOND_NS, "starts at the second reading");
            let later = scale.ns(70 + 2 * hertz);
            assert!(later.abs_diff(1000 + 2 * SECOND_NS) <= 1, "{later} at {hertz} Hz");
            let year_s = 365 * 24 * 3600;
            let year = scale.ns(70 + hertz + year_s * hertz);
            let error_ns = year.abs_diff(1000 + SECOND_NS + year_s * SECOND_NS);
            assert!(error_ns < year_s * 2, "below 2 ns a second: {error_ns} at {hertz} Hz");
            assert_eq!(scale.ns(0), 1000 + SECOND_NS, "never before the start");
        }
    }

    #[test]
    fn readings_that_do_not_differ_make_no_line() {
        assert_eq!(Scale::through(reading(5, 0), reading(5, 100)), None, "the counter stands still");
        assert_eq!(Scale::through(reading(5, 0), reading(4, 100)), None, "the counter goes back");
        assert_eq!(Scale::through(reading(5, 100), reading(9, 100)), None, "the other clock stands still");
        assert_eq!(Scale::through(reading(5, 100), reading(9, 99)), None, "the other clock goes back");
    }

    proptest! {
        #[test]
        fn the_line_never_goes_back(rate in 1u64..1 << 40, a in any::<u64>(), b in any::<u64>()) {
            let scale = Scale { anchor: reading(1 << 20, 1 << 30), rate };
            let (a, b) = (a.min(b) >> 10, a.max(b) >> 10);
            prop_assert!(scale.ns(a) <= scale.ns(b));
        }
    }

    #[test]
    fn follows_the_monotonic_clock() {
        let first = MachineClock::start();
        // Time synchronisation may be turning the kernel's clock just now: then a later attempt counts.
        let mut drifts = Vec::new();
        while !drifts.last().is_some_and(|drift: &f64| drift.abs() < 10.0) {
            assert!(drifts.len() < 20, "{drifts:?} parts per million");
            std::thread::sleep(Duration::from_millis(60));
            let clock = first.refined();
            std::thread::sleep(Duration::from_millis(60));
            drifts.push(clock.drift_ppm());
        }
        assert!(first.drift_ppm().abs() < 100.0, "the quick calibration: {}", first.drift_ppm());
    }

    #[test]
    fn starts_quickly() {
        let fastest = (0..5).map(|_| {
            let before = tsc::monotonic_ns();
            std::hint::black_box(MachineClock::start());
            tsc::monotonic_ns() - before
        });
        let fastest_ns = fastest.min().unwrap();
        assert!(fastest_ns < 20_000_000, "{fastest_ns} ns, of the 50 ms to the first I/O");
    }

    #[test]
    fn never_goes_back_within_a_thread_or_from_one_to_the_next() {
        let clock = MachineClock::start();
        let mut last = clock.now_ns();
        for _ in 0..200_000 {
            let now = clock.now_ns();
            assert!(now >= last);
            last = now;
        }
        for _ in 0..100 {
            let there = std::thread::spawn({
                let clock = clock.clone();
                move || clock.now_ns()
            });
            let before = last;
            last = there.join().unwrap();
            assert!(last >= before);
        }
    }

    #[test]
    fn tells_what_it_is() {
        let facts = MachineClock::start().describe();
        match tsc::counter_fitness() {
            Ok(()) => assert_eq!((facts.name, facts.why_not_counter), (tsc::COUNTER_NAME, None)),
            Err(unfit) => {
                assert_eq!(facts.name, "CLOCK_MONOTONIC");
                assert_eq!(facts.why_not_counter, Some(unfit.to_string()));
            }
        }
        assert!(facts.cost_ns > 0.0 && facts.cost_ns < 100_000.0, "{} ns", facts.cost_ns);
        let plain = MachineClock::monotonic("a test".to_string());
        assert_eq!((plain.describe().name, plain.drift_ppm()), ("CLOCK_MONOTONIC", 0.0));
    }
}

#[cfg(test)]
mod tests_repeat {
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
