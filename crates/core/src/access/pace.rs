//! When the next I/O may be issued: rate limits (`-g`) and bursts with think time (`-i`, `-j`).
//!
//! One meter per thread and target. Times are nanoseconds of whatever clock the caller uses; the
//! meter reads none. DiskSpd waits in whole milliseconds; here due times are exact nanoseconds,
//! rounded up, so an I/O is never early and the mean rate never drifts.
//!
//! Source: `io-semantics.md` §11. Poisson arrivals (`--arrivals`) are TrueSpd's own.

use std::ops::Range;

use super::random::Rng;
use crate::profile::{Arrivals, Target, Throughput};

const NS_PER_MS: u64 = 1_000_000;
const NS_PER_S: u64 = 1_000_000_000;

/// A checked pace, the same for every thread of a target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace(Rule);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Rule {
    Unlimited,
    /// The m-th I/O, from 1, is due m periods after the start: whole and remaining ns times 1/divisor.
    Rate {
        whole_ns: u64,
        rest: u64,
        divisor: u64,
    },
    /// Each I/O is due a random time after the one before, of the exponential distribution with this mean.
    Poisson {
        mean_ns: f64,
    },
    Burst {
        ios: u32,
        think_ns: u64,
    },
}

impl Pace {
    /// No limit and no bursts: never waits.
    pub const UNLIMITED: Pace = Pace(Rule::Unlimited);

    /// The pace of each of the `threads` threads that work on `target`
    /// ([`crate::profile::TimeSpan::threads_on`]). A limit is per thread; a burst is divided by them.
    /// With a limit, bursts are ignored as in 2.2.
    ///
    /// # Errors
    /// [`PaceError`] for a rate of 0, and for a burst without think time or the reverse.
    pub fn of(target: &Target, threads: u32) -> Result<Pace, PaceError> {
        match (target.throughput, target.burst_ios, target.think_ms) {
            (Some(Throughput::BytesPerMs(rate)), _, _) => {
                // Sizes of a mix share the rate by their mean: exact over many I/Os.
                let period_ns = if target.mix.is_empty() {
                    u128::from(target.block_bytes) * u128::from(NS_PER_MS)
                } else {
                    (target.mean_bytes() * NS_PER_MS as f64) as u128
                };
                Self::rate(period_ns, rate, target.arrivals)
            }
            (Some(Throughput::Iops(rate)), _, _) => Self::rate(u128::from(NS_PER_S), rate, target.arrivals),
            (None, None, None) => Ok(Pace::UNLIMITED),
            (None, Some(burst_ios), Some(think_ms)) => {
                // Less than one I/O for each thread is a pause after every I/O, as in 2.2.
                let ios = (burst_ios / threads.max(1)).max(1);
                Ok(Pace(Rule::Burst { ios, think_ns: u64::from(think_ms) * NS_PER_MS }))
            }
            (None, Some(_), None) => Err(PaceError::BurstWithoutThinkTime),
            (None, None, Some(_)) => Err(PaceError::ThinkTimeWithoutBurst),
        }
    }

    /// One I/O per `period_ns / divisor` nanoseconds.
    fn rate(period_ns: u128, divisor: u64, arrivals: Arrivals) -> Result<Pace, PaceError> {
        if divisor == 0 {
            return Err(PaceError::NoRate);
        }
        if arrivals == Arrivals::Poisson {
            return Ok(Pace(Rule::Poisson { mean_ns: period_ns as f64 / divisor as f64 }));
        }
        let whole_ns = u64::try_from(period_ns / u128::from(divisor)).unwrap_or(u64::MAX);
        let rest = (period_ns % u128::from(divisor)) as u64;
        Ok(Pace(Rule::Rate { whole_ns, rest, divisor }))
    }

    /// Never waits: the caller may leave the meter out.
    pub fn is_unlimited(&self) -> bool {
        self.0 == Rule::Unlimited
    }

    /// Every I/O has an intended start, whatever became of those before it: a rate. Bursts have none: a pause
    /// begins when the burst was really issued, so that nothing is ever late.
    pub fn has_schedule(&self) -> bool {
        matches!(self.0, Rule::Rate { .. } | Rule::Poisson { .. })
    }

    /// I/Os arrive at random (`--arrivals poisson`).
    pub fn is_random(&self) -> bool {
        matches!(self.0, Rule::Poisson { .. })
    }
}

/// Tells one thread when it may issue its next I/O to one target.
///
/// The next due time is kept ready: asking is a subtraction, issuing a few additions.
#[derive(Debug, Clone)]
pub struct Meter {
    rule: Rule,
    /// When the next I/O may be issued.
    due_ns: u64,
    state: State,
    /// The time in which arrivals count.
    measured_ns: Range<u64>,
    /// I/Os that were due in it, of those that were issued.
    offered: u64,
    /// Draws the gaps of Poisson arrivals.
    rng: Rng,
}

/// What a rule remembers between I/Os.
#[derive(Debug, Clone, Copy)]
struct State {
    /// Rate: exact due time of the next I/O, whole nanoseconds and the rest times 1/divisor.
    exact_ns: u64,
    rest: u64,
    /// Poisson: the part of a nanosecond in place of that rest.
    part_ns: f64,
    /// Burst: I/Os left in it.
    left: u32,
}

impl Meter {
    /// A meter whose time starts at `start_ns`, the start signal; `measured_ns` is the measured time, and `seed` is for
    /// arrivals at random. Takes no memory.
    pub fn new(pace: Pace, start_ns: u64, measured_ns: Range<u64>, seed: u64) -> Self {
        let left = if let Rule::Burst { ios, .. } = pace.0 { ios } else { 0 };
        let state = State { exact_ns: start_ns, rest: 0, part_ns: 0.0, left };
        let mut meter =
            Meter { rule: pace.0, due_ns: start_ns, state, measured_ns, offered: 0, rng: Rng::new(seed) };
        if pace.has_schedule() {
            // The first I/O is due after one period, as after any other.
            meter.pass();
        }
        meter
    }

    /// When the next I/O may be issued, on the caller's clock: under a rate its intended start, also when that
    /// has passed.
    #[inline]
    pub fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// Nanoseconds to wait before the next I/O may be issued; 0 = it may be issued now.
    #[inline]
    pub fn wait_ns(&self, now_ns: u64) -> u64 {
        self.due_ns.saturating_sub(now_ns)
    }

    /// Accounts for an I/O issued at `now_ns`, whatever becomes of it.
    ///
    /// A rate does not look at `now_ns`: after a stall, I/Os are due at once until the rate is caught up
    /// with, without limit.
    #[inline]
    pub fn issued(&mut self, now_ns: u64) {
        if let Rule::Burst { ios, think_ns } = self.rule {
            self.state.left -= 1;
            if self.state.left == 0 {
                self.state.left = ios;
                self.due_ns = now_ns.saturating_add(think_ns);
            }
            return;
        }
        self.offered += u64::from(self.measured_ns.contains(&self.due_ns));
        self.pass();
    }

    /// I/Os that were due in the measured time, issued or not; none where nothing has an intended start. It ended at
    /// `end_ns`, which is earlier than was planned when the run was stopped.
    pub fn offered(mut self, end_ns: u64) -> Option<u64> {
        if !Pace(self.rule).has_schedule() {
            return None;
        }
        // Those that nobody issued any more.
        while self.due_ns < self.measured_ns.end.min(end_ns) {
            self.issued(self.due_ns);
        }
        Some(self.offered)
    }

    /// From the due time of one I/O to that of the next.
    #[inline]
    fn pass(&mut self) {
        let state = &mut self.state;
        match self.rule {
            Rule::Unlimited | Rule::Burst { .. } => {}
            Rule::Poisson { mean_ns } => {
                // Never 0, whose logarithm is no number: 53 bits, from 1 on.
                let uniform = ((self.rng.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
                let gap_ns = state.part_ns - uniform.ln() * mean_ns;
                let whole_ns = gap_ns as u64;
                state.part_ns = (gap_ns - whole_ns as f64).max(0.0);
                state.exact_ns = state.exact_ns.saturating_add(whole_ns);
                self.due_ns = state.exact_ns.saturating_add(u64::from(state.part_ns > 0.0));
            }
            Rule::Rate { whole_ns, rest, divisor } => {
                state.exact_ns = state.exact_ns.saturating_add(whole_ns);
                // rest < divisor and state.rest < divisor; their sum may not fit into 64 bits.
                let room = divisor - rest;
                if state.rest >= room {
                    state.rest -= room;
                    state.exact_ns = state.exact_ns.saturating_add(1);
                } else {
                    state.rest += rest;
                }
                self.due_ns = state.exact_ns.saturating_add(u64::from(state.rest > 0));
            }
        }
    }
}

/// Why a pace cannot be kept. The caller names the target.
#[allow(missing_docs)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PaceError {
    #[error("the rate limit is 0; it must be at least 1 byte per millisecond or 1 IOPS (-g)")]
    NoRate,
    /// `-i` alone.
    #[error("a burst size needs a think time: give -j<ms> with -i<count>")]
    BurstWithoutThinkTime,
    /// `-j` alone.
    #[error("a think time needs a burst size: give -i<count> with -j<ms>")]
    ThinkTimeWithoutBurst,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn limited(block_bytes: u64, limit: Throughput) -> Pace {
        let target = Target { block_bytes, throughput: Some(limit), ..Target::default() };
        Pace::of(&target, 1).expect("legal")
    }

    fn bursts(burst_ios: u32, think_ms: u32, threads: u32) -> Result<Pace, PaceError> {
        let target = Target { burst_ios: Some(burst_ios), think_ms: Some(think_ms), ..Target::default() };
        Pace::of(&target, threads)
    }

    /// Issue times of a thread that issues as soon as it may, on a clock that starts at `start_ns`.
    fn issue_times(pace: Pace, start_ns: u64, count: usize) -> Vec<u64> {
        let mut now_ns = start_ns;
        let mut meter = Meter::new(pace, start_ns, 0..u64::MAX, 1);
        (0..count)
            .map(|_| {
                now_ns += meter.wait_ns(now_ns);
                assert_eq!(meter.wait_ns(now_ns), 0);
                meter.issued(now_ns);
                now_ns - start_ns
            })
            .collect()
    }

    #[test]
    fn bytes_per_millisecond_as_measured() {
        let times = issue_times(limited(8192, Throughput::BytesPerMs(80)), 777, 5);
        assert_eq!(times, [102_400_000, 204_800_000, 307_200_000, 409_600_000, 512_000_000]);
        let ms: Vec<u64> = times.iter().map(|t| t.div_ceil(NS_PER_MS)).collect();
        assert_eq!(ms, [103, 205, 308, 410, 512]);
    }

    #[test]
    fn an_io_is_never_early() {
        let meter = Meter::new(limited(8192, Throughput::BytesPerMs(80)), 0, 0..u64::MAX, 1);
        assert_eq!(meter.wait_ns(0), 102_400_000);
        assert_eq!(meter.wait_ns(102_399_999), 1);
        assert_eq!(meter.wait_ns(102_400_000), 0);
        assert_eq!(meter.wait_ns(u64::MAX), 0);
        assert_eq!(meter.due_ns(), 102_400_000);
    }

    #[test]
    fn iops_do_not_drift_over_days() {
        // 3 IOPS for ten days; a third of a second has no exact nanosecond.
        let mut meter = Meter::new(limited(65536, Throughput::Iops(3)), 0, 0..u64::MAX, 1);
        for io in 1..=3 * 86_400 * 10_u64 {
            assert_eq!(meter.due_ns(), (io * NS_PER_S).div_ceil(3));
            meter.issued(0);
        }
        let times = issue_times(limited(65536, Throughput::Iops(7)), 0, 70);
        assert_eq!((times[6], times[69]), (NS_PER_S, 10 * NS_PER_S));
    }

    #[test]
    fn rates_that_break_2_2_are_exact() {
        // -b1M -g4096i and -b512 -g1i mean "no limit" there, -b64K -g100000i a third of it.
        let mib = issue_times(limited(1 << 20, Throughput::Iops(4096)), 0, 4096);
        assert_eq!((mib[0], mib[4095]), (244_141, NS_PER_S));
        let slow = issue_times(limited(512, Throughput::Iops(1)), 0, 3);
        assert_eq!(slow, [NS_PER_S, 2 * NS_PER_S, 3 * NS_PER_S]);
        let fast = issue_times(limited(65536, Throughput::Iops(100_000)), 0, 100);
        assert_eq!((fast[0], fast[99]), (10_000, 1_000_000));
    }

    fn at_random(rate: u64) -> Pace {
        let throughput = Some(Throughput::Iops(rate));
        let target = Target { throughput, arrivals: Arrivals::Poisson, ..Target::default() };
        Pace::of(&target, 1).expect("legal")
    }

    /// The statistic of Anderson and Darling of gaps, in units of the mean that was asked for, against the exponential
    /// distribution: above 3.857 for one of a hundred samples that have it (Stephens, 1974, all parameters known).
    fn anderson_darling(mut gaps: Vec<f64>) -> f64 {
        gaps.sort_by(f64::total_cmp);
        let n = gaps.len();
        let mut sum = 0.0;
        for (i, gap) in gaps.iter().enumerate() {
            // ln F(x) of this one, and ln(1 - F(x)) of its counterpart from the other end.
            let below = (-(-gap).exp_m1()).ln();
            sum += (2 * i + 1) as f64 * (below - gaps[n - 1 - i]);
        }
        -(n as f64) - sum / n as f64
    }

    #[test]
    fn gaps_at_random_are_exponential_at_every_rate() {
        for (rate, seed) in [(1_000, 1), (100_000, 2), (1_000_000, 3), (20_000_000, 4)] {
            let mut meter = Meter::new(at_random(rate), 0, 0..u64::MAX, seed);
            let (mut before, mut gaps) = (0.0, Vec::new());
            for _ in 0..100_000 {
                // Whole nanoseconds are due; the law is that of the exact instants.
                let exact = meter.state.exact_ns as f64 + meter.state.part_ns;
                gaps.push((exact - before) * rate as f64 / NS_PER_S as f64);
                before = exact;
                meter.issued(0);
            }
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            assert!((mean - 1.0).abs() < 5.0 / (gaps.len() as f64).sqrt(), "{rate}: a mean of {mean}");
            // Neighbours know nothing of each other.
            let product = gaps.windows(2).map(|two| (two[0] - mean) * (two[1] - mean)).sum::<f64>();
            assert!(
                (product / gaps.len() as f64).abs() < 5.0 / (gaps.len() as f64).sqrt(),
                "{rate}: {product}"
            );
            let statistic = anderson_darling(gaps);
            assert!(statistic < 6.0, "{rate} per second: {statistic}");
        }
        let even: Vec<f64> = (0..1_000).map(|_| 1.0).collect();
        assert!(anderson_darling(even) > 100.0, "the test sees gaps of another law");
    }

    #[test]
    fn arrivals_of_the_measured_time_count_whoever_issued_them() {
        for pace in [at_random(1_000_000), limited(4096, Throughput::Iops(1_000_000))] {
            let measured = NS_PER_MS..3 * NS_PER_MS;
            let mut all = Meter::new(pace, 0, measured.clone(), 7);
            let mut due = 0;
            while all.due_ns() < 5 * NS_PER_MS {
                due += u64::from(measured.contains(&all.due_ns()));
                all.issued(0);
            }
            assert_eq!(all.offered(u64::MAX), Some(due));
            let mut behind = Meter::new(pace, 0, measured.clone(), 7);
            (0..50).for_each(|_| behind.issued(0));
            assert_eq!(behind.clone().offered(u64::MAX), Some(due), "the rest was due all the same");
            let stopped = behind.offered(2 * NS_PER_MS).expect("a rate");
            assert!(stopped > 0 && stopped < due, "{stopped} of {due}");
        }
        assert_eq!(Meter::new(Pace::UNLIMITED, 0, 0..9, 1).offered(9), None);
    }

    #[test]
    fn threads_have_arrivals_of_their_own_and_a_seed_the_same_again() {
        let first = |seed| {
            let mut meter = Meter::new(at_random(1000), 0, 0..u64::MAX, seed);
            std::array::from_fn::<u64, 5, _>(|_| {
                meter.issued(0);
                meter.due_ns()
            })
        };
        assert_eq!(first(1), first(1));
        assert_ne!(first(1), first(2));
    }

    #[test]
    fn only_a_rate_has_a_schedule() {
        assert!(limited(4096, Throughput::Iops(1000)).has_schedule());
        assert!(!bursts(3, 10, 1).expect("legal").has_schedule());
        assert!(!Pace::of(&Target::default(), 1).expect("legal").has_schedule());
    }

    #[test]
    fn catching_up_has_no_cap() {
        let mut meter = Meter::new(limited(4096, Throughput::Iops(1000)), 0, 0..u64::MAX, 1);
        let stall_end_ns = 60 * NS_PER_S + 500_000;
        let mut at_once = 0;
        while meter.wait_ns(stall_end_ns) == 0 {
            meter.issued(stall_end_ns);
            at_once += 1;
        }
        assert_eq!(at_once, 60_000);
        assert_eq!(meter.wait_ns(stall_end_ns), 500_000, "and then goes on in step");
    }

    #[test]
    fn a_burst_is_followed_by_think_time() {
        let ms = |times: Vec<u64>| times.iter().map(|t| t / NS_PER_MS).collect::<Vec<_>>();
        let pace = bursts(3, 10, 1).expect("legal");
        assert_eq!(ms(issue_times(pace, 5, 8)), [0, 0, 0, 10, 10, 10, 20, 20]);
        let pace = bursts(1, 7, 1).expect("legal");
        assert_eq!(ms(issue_times(pace, 0, 3)), [0, 7, 14]);
        assert_eq!(issue_times(bursts(2, 0, 1).expect("legal"), 0, 5), [0; 5]);
    }

    #[test]
    fn think_time_counts_from_the_last_issue_of_the_burst() {
        let mut meter = Meter::new(bursts(2, 10, 1).expect("legal"), 0, 0..u64::MAX, 1);
        meter.issued(1_000);
        assert_eq!(meter.wait_ns(1_000), 0, "the burst may go on");
        meter.issued(4_000_000);
        assert_eq!(meter.wait_ns(4_000_000), 10 * NS_PER_MS);
        assert_eq!(meter.wait_ns(13_999_999), 1);
        // Late is late: the next pause counts from then, nothing is caught up with.
        meter.issued(100_000_000);
        assert_eq!(meter.wait_ns(100_000_000), 0);
        meter.issued(100_000_000);
        assert_eq!(meter.due_ns(), 110_000_000);
    }

    #[test]
    fn threads_share_a_burst() {
        for (burst, threads, each) in [(10, 3, 3), (9, 3, 3), (3, 3, 1), (5, 1, 5), (2, 3, 1)] {
            let times = issue_times(bursts(burst, 10, threads).expect("legal"), 0, 12);
            assert_eq!(times.iter().filter(|&&t| t == 0).count(), each, "{burst} / {threads}");
        }
    }

    #[test]
    fn what_makes_no_pace_is_refused() {
        let of = |target: Target| Pace::of(&target, 1);
        assert!(of(Target::default()).is_ok_and(|p| p.is_unlimited()));
        for limit in [Throughput::Iops(0), Throughput::BytesPerMs(0)] {
            assert_eq!(of(Target { throughput: Some(limit), ..Target::default() }), Err(PaceError::NoRate));
        }
        let burst_only = Target { burst_ios: Some(1), ..Target::default() };
        assert_eq!(of(burst_only), Err(PaceError::BurstWithoutThinkTime));
        let think_only = Target { think_ms: Some(1), ..Target::default() };
        assert_eq!(of(think_only.clone()), Err(PaceError::ThinkTimeWithoutBurst));
        // A limit switches bursts off, as in 2.2.
        let both = Target { throughput: Some(Throughput::Iops(1)), ..think_only };
        assert!(of(both).is_ok_and(|p| !p.is_unlimited()));
    }

    #[test]
    fn unlimited_never_waits() {
        let mut meter = Meter::new(Pace::UNLIMITED, 5, 0..u64::MAX, 1);
        for now_ns in [5, 5, 6, u64::MAX] {
            assert_eq!(meter.wait_ns(now_ns), 0);
            meter.issued(now_ns);
        }
    }

    proptest! {
        #[test]
        fn due_times_are_the_exact_ones_rounded_up(
            block in prop_oneof![1u64..1 << 32, Just(u64::MAX)],
            rate in prop_oneof![1u64..10_000_000, any::<u64>().prop_map(|r| r.max(1))],
            is_iops in any::<bool>(), start_ns in 0u64..1 << 62,
        ) {
            let (limit, period) = if is_iops {
                (Throughput::Iops(rate), u128::from(NS_PER_S))
            } else {
                (Throughput::BytesPerMs(rate), u128::from(block) * u128::from(NS_PER_MS))
            };
            let mut meter = Meter::new(limited(block, limit), start_ns, 0..u64::MAX, 1);
            for io in 1..200u128 {
                let exact = u128::from(start_ns) + (io * period).div_ceil(u128::from(rate));
                prop_assert_eq!(meter.due_ns(), u64::try_from(exact).unwrap_or(u64::MAX));
                meter.issued(0);
            }
        }
    }
}
