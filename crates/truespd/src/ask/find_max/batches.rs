//! The error of a share and of a mean by batch means: I/Os that follow each other have much in common, so they tell
//! less than as many independent ones would.

use truespd_core::measure::LatencySlices;
use truespd_core::measure::slices::{Slice, low_ns};

/// A trial is cut into no fewer batches than this, so that their scatter is known.
const BATCHES_MIN: usize = 10;
/// A batch is so many times as long as the longest response, where enough batches remain.
const LONGEST_TIMES: f64 = 10.0;
/// Confidence of a rate's bound at each look; several looks, and two bounds, leave the answer its 95 %.
const LEVEL: f64 = 0.01;
/// Without batches nobody knows how much I/Os have in common: as if every so many were one.
const ALIKE_UNKNOWN: f64 = 20.0;
/// Kendall's tau beyond so many of its standard deviations is no accident: one of 2,000 series without a trend.
const TREND_Z: f64 = 3.5;
/// A queue that grows makes the last third of a trial slower than the first by this factor.
const GROWTH: f64 = 1.5;

/// What is counted in one batch.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Batch {
    /// I/Os that completed in it.
    pub ios: f64,
    /// Of the I/Os, what is added up: those over the limit, or response times in nanoseconds.
    pub sum: f64,
}

/// What is added up over a batch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sum {
    /// I/Os over this many nanoseconds.
    Over(f64),
    /// All response times, in nanoseconds.
    Time,
}

/// A ratio over a trial with how sure it is.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Ratio {
    /// The sum divided by the I/Os.
    pub value: f64,
    /// The standard error of that.
    pub error: f64,
    /// Batches that tell it; 0 where there are none.
    pub batches: usize,
}

/// The slices of a trial as batches.
pub fn batches(slices: &LatencySlices, sum: Sum) -> Vec<Batch> {
    let mut all = Vec::new();
    for both in slices.slices() {
        let mut batch = Batch::default();
        for slice in both {
            batch.ios += slice.count() as f64;
            batch.sum += sum_of(slice, sum);
        }
        all.push(batch);
    }
    all
}

fn sum_of(slice: &Slice, sum: Sum) -> f64 {
    let mut total = 0.0;
    for (bucket, count) in slice.buckets() {
        let (low, high) = (low_ns(bucket) as f64, low_ns(bucket + 1) as f64);
        let each = match sum {
            // As if those of a bucket lay evenly in it.
            Sum::Over(limit_ns) => ((high - limit_ns) / (high - low)).clamp(0.0, 1.0),
            Sum::Time => (low + high) / 2.0,
        };
        total += each * count as f64;
    }
    total
}

/// Makes one batch of each `times`; what is left over at the end goes to the last one.
fn joined(batches: &[Batch], times: usize) -> Vec<Batch> {
    let mut all: Vec<Batch> = Vec::new();
    for chunk in batches.chunks(times.max(1)) {
        let mut joint = Batch::default();
        for batch in chunk {
            joint.ios += batch.ios;
            joint.sum += batch.sum;
        }
        match all.last_mut() {
            Some(last) if chunk.len() < times => {
                last.ios += joint.ios;
                last.sum += joint.sum;
            }
            _ => all.push(joint),
        }
    }
    all
}

/// How far each batch lies from the ratio of all, in sums.
fn deviations(batches: &[Batch]) -> (f64, Vec<f64>) {
    let ios: f64 = batches.iter().map(|batch| batch.ios).sum();
    let sum: f64 = batches.iter().map(|batch| batch.sum).sum();
    let ratio = if ios > 0.0 { sum / ios } else { 0.0 };
    (ratio, batches.iter().map(|batch| batch.sum - ratio * batch.ios).collect())
}

/// How much a batch tells of the next one, from -1 to 1.
fn correlation(deviations: &[f64]) -> f64 {
    let squares: f64 = deviations.iter().map(|one| one * one).sum();
    if squares <= 0.0 {
        return 0.0;
    }
    deviations.windows(2).map(|two| two[0] * two[1]).sum::<f64>() / squares
}

/// The ratio of all batches with its error: slices are joined until neighbours know nothing of each other, or few are
/// left. What is still common then makes the error larger.
pub fn ratio_of(slices: &[Batch], slice_ns: f64, longest_ns: f64) -> Ratio {
    let busy: f64 = slices.iter().map(|batch| batch.ios).sum();
    if slices.len() < BATCHES_MIN || busy <= 0.0 {
        return Ratio::default();
    }
    let times_max = slices.len() / BATCHES_MIN;
    let wanted = (LONGEST_TIMES * longest_ns / slice_ns.max(1.0)).ceil() as usize;
    let mut times = wanted.clamp(1, times_max);
    loop {
        let batches = joined(slices, times);
        let (value, deviations) = deviations(&batches);
        let count = batches.len() as f64;
        let alike = correlation(&deviations);
        if alike > 2.0 / count.sqrt() && times * 2 <= times_max {
            times *= 2;
            continue;
        }
        let squares: f64 = deviations.iter().map(|one| one * one).sum();
        let inflated = 1.0 + 2.0 * alike.max(0.0);
        let variance = squares * inflated * count / (count - 1.0);
        return Ratio { value, error: variance.sqrt() / busy, batches: batches.len() };
    }
}

/// So many independent I/Os would tell a share as well as these `ios` do.
pub fn effective_ios(ratio: &Ratio, ios: f64) -> f64 {
    if ratio.batches == 0 {
        return ios / ALIKE_UNKNOWN;
    }
    let binomial = ratio.value * (1.0 - ratio.value);
    let variance = ratio.error * ratio.error;
    if binomial <= 0.0 || variance <= 0.0 {
        return ios;
    }
    (binomial / variance).min(ios)
}

/// The t for so many batches at the confidence of a look.
fn quantile(batches: usize) -> f64 {
    truespd_core::measure::estimate::student_quantile(LEVEL, batches.max(2) as f64 - 1.0)
}

/// Where the true share lies, by Wilson's interval.
pub fn share_interval(share: f64, effective_ios: f64, batches: usize) -> [f64; 2] {
    let (n, z) = (effective_ios.max(1.0), quantile(batches));
    let middle = (share + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let spread = (share * (1.0 - share) / n + z * z / (4.0 * n * n)).max(0.0);
    let half = z * spread.sqrt() / (1.0 + z * z / n);
    [(middle - half).max(0.0), (middle + half).min(1.0)]
}

/// Where the true mean lies.
pub fn mean_interval(mean: f64, error: f64, batches: usize) -> [f64; 2] {
    let half = quantile(batches) * error;
    [mean - half, mean + half]
}

/// Whether response times grow all through the trial, beyond `least_ns`: more arrives than is answered. Kendall's tau
/// of the batches' means against time, and the last third against the first.
pub fn grows(slices: &[Batch], least_ns: f64) -> bool {
    let times = (slices.len() / (3 * BATCHES_MIN)).max(1);
    let mut means = Vec::new();
    for batch in joined(slices, times) {
        if batch.ios > 0.0 {
            means.push(batch.sum / batch.ios);
        }
    }
    let count = means.len();
    if count < BATCHES_MIN {
        return false;
    }
    let mut concordant = 0i64;
    for (at, earlier) in means.iter().enumerate() {
        for later in &means[at + 1..] {
            concordant += i64::from(later > earlier) - i64::from(later < earlier);
        }
    }
    let n = count as f64;
    let deviation = (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
    let third = count / 3;
    let first = means[..third].iter().sum::<f64>() / third as f64;
    let last = means[count - third..].iter().sum::<f64>() / third as f64;
    concordant as f64 > TREND_Z * deviation && last > GROWTH * first && last > least_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers from 0 to 1 that repeat for a seed.
    pub struct Random(pub u64);

    impl Random {
        fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 11) as f64 / (1_u64 << 53) as f64
        }
    }

    fn independent(random: &mut Random, share: f64, slices: usize, each: usize) -> Vec<Batch> {
        let mut all = Vec::new();
        for _ in 0..slices {
            let mut over = 0.0;
            for _ in 0..each {
                over += f64::from(u8::from(random.next() < share));
            }
            all.push(Batch { ios: each as f64, sum: over });
        }
        all
    }

    #[test]
    fn independent_i_os_tell_as_much_as_they_are() {
        let mut random = Random(5);
        let slices = independent(&mut random, 0.01, 200, 500);
        let ratio = ratio_of(&slices, 5e7, 1e6);
        let effective = effective_ios(&ratio, 100_000.0);
        assert!((50_000.0..=100_000.0).contains(&effective), "{effective} {ratio:?}");
    }

    #[test]
    fn a_stall_is_one_event_and_not_a_thousand() {
        let mut slices = vec![Batch { ios: 500.0, sum: 0.0 }; 200];
        for slice in &mut slices[77..79] {
            slice.sum = 500.0;
        }
        // A tenth of a second.
        let ratio = ratio_of(&slices, 5e7, 1e8);
        assert_eq!((ratio.batches, ratio.value), (10, 0.01));
        let effective = effective_ios(&ratio, 100_000.0);
        assert!(effective < 200.0, "{effective}");
        let [low, high] = share_interval(0.01, effective, ratio.batches);
        assert!(low < 0.005 && high > 0.02, "{low} {high}");
    }

    /// Of a hundred trials whose I/Os come in runs, the interval has to miss the truth in few.
    #[test]
    fn intervals_hold_what_they_promise_although_neighbours_are_alike() {
        let (mut missed, share) = (0, 0.02);
        for seed in 1..=200 {
            let mut random = Random(seed * 77);
            // Two states, each lasting some slices; over the limit only in the bad one.
            let (mut is_bad, mut slices) = (false, Vec::new());
            for _ in 0..240 {
                is_bad = if is_bad { random.next() > 0.5 } else { random.next() < 0.125 };
                let over = if is_bad { 50.0 } else { 0.0 };
                slices.push(Batch { ios: 500.0, sum: over });
            }
            let ratio = ratio_of(&slices, 5e7, 1e6);
            let [low, high] = share_interval(ratio.value, effective_ios(&ratio, 120_000.0), ratio.batches);
            missed += usize::from(share < low || share > high);
        }
        assert!(missed <= 8, "{missed} of 200 at a confidence of 99 %");
    }

    #[test]
    fn nothing_over_is_not_the_same_as_nothing_known() {
        let [low, high] = share_interval(0.0, 10_000.0, 100);
        assert!(low == 0.0 && high < 0.001, "{high}");
        let [_, high] = share_interval(0.0, 100.0, 100);
        assert!(high > 0.01, "a hundred I/Os say little of a p99: {high}");
        assert_eq!(ratio_of(&[Batch::default(); 50], 1.0, 1.0), Ratio::default());
        assert_eq!(effective_ios(&Ratio::default(), 1_000.0), 50.0);
    }

    #[test]
    fn a_queue_that_grows_is_seen_and_noise_is_none() {
        let mut random = Random(9);
        let mut flat = Vec::new();
        let mut growing = Vec::new();
        for at in 0..200 {
            let noise = 0.5 + random.next();
            flat.push(Batch { ios: 100.0, sum: 100.0 * 1e6 * noise });
            growing.push(Batch { ios: 100.0, sum: 100.0 * 1e6 * (noise + f64::from(at) / 20.0) });
        }
        assert!(!grows(&flat, 1e5) && grows(&growing, 1e5));
        assert!(!grows(&growing, 1e9), "far below the limit");
        let mut falling = growing.clone();
        falling.reverse();
        assert!(!grows(&falling, 1e5) && !grows(&[], 0.0));
    }

    #[test]
    fn shares_of_a_bucket_are_cut_at_the_limit() {
        let mut counts = [0; truespd_core::measure::slices::BUCKETS];
        counts[4] = 8; // 1,024 to 1,280 ns
        counts[6] = 2; // 1,536 to 1,792 ns
        let slices = LatencySlices::new(10, vec![[Slice::of(&counts), Slice::default()]]);
        let over = |limit_ns| batches(&slices, Sum::Over(limit_ns))[0].sum;
        assert_eq!([1_000.0, 1_152.0, 1_400.0, 2_000.0].map(over), [10.0, 6.0, 2.0, 0.0]);
        assert_eq!(batches(&slices, Sum::Time)[0], Batch { ios: 10.0, sum: 8.0 * 1152.0 + 2.0 * 1664.0 });
    }
}
