//! Looking again and again at growing data without being wrong more often than promised.
//!
//! Looks are few: after each, the next comes when there are 30 % more blocks. Of the promised error each look may spend its
//! part of the planned blocks, and all parts add up to one (error spending, Lan and DeMets 1983, with the union bound in
//! place of the joint distribution of the looks: that holds whatever their dependence, and t tests need no other
//! justification than each by itself). The interval at each look, with that level of confidence, so holds at all looks
//! together, whatever ends the series (repeated confidence intervals, Jennison and Turnbull 1989).

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Blocks before the first look: three degrees of freedom.
pub const BLOCKS_MIN: usize = 4;
/// From one look to the next.
const GROWTH: f64 = 1.3;
/// Smallest p value that is told.
pub const P_MIN: f64 = 1e-6;

/// A look at the data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Look {
    /// After so many blocks.
    pub blocks: usize,
    /// Part of the promised error that it may spend.
    pub share: f64,
}

impl Look {
    /// A p value that repeated looking does not spoil, from that of the test at this look by itself.
    pub fn p(&self, level: f64) -> f64 {
        (level / self.share).clamp(P_MIN, 1.0)
    }
}

/// The looks at up to `max` blocks; the last is after `max`.
pub fn looks(max: usize) -> Vec<Look> {
    // From the end, so that no look has a part too small to be of use.
    let before = |&blocks: &usize| {
        let fewer = ((blocks as f64 / GROWTH).round() as usize).min(blocks - 1);
        (fewer >= BLOCKS_MIN).then_some(fewer)
    };
    let mut counts: Vec<usize> = std::iter::successors((max > 0).then_some(max), before).collect();
    counts.reverse();
    let earlier = std::iter::once(0).chain(counts.iter().copied());
    let share = |(&blocks, before): (&usize, usize)| (blocks - before) as f64 / max as f64;
    counts.iter().zip(earlier).map(|pair| Look { blocks: *pair.0, share: share(pair) }).collect()
}

/// Middle and its uncertainty, from numbers that scatter and have outliers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The middle: mean without the outer fifths.
    pub mean: f64,
    /// Its standard error.
    pub error: f64,
    /// Degrees of freedom.
    pub freedom: f64,
}

/// Part left out at each end, of all but the first three numbers: few numbers need their degrees of freedom more.
const TRIMMED: f64 = 0.2;
const UNTRIMMED: usize = 3;

impl Estimate {
    /// Of at least two numbers: trimmed mean with the Winsorised variance (Tukey and McLaughlin 1963; Yuen 1974).
    pub fn of(numbers: &[f64]) -> Option<Self> {
        let count = numbers.len();
        if count < 2 {
            return None;
        }
        let mut sorted = numbers.to_vec();
        sorted.sort_by(f64::total_cmp);
        let out = (TRIMMED * count.saturating_sub(UNTRIMMED) as f64).floor() as usize;
        let kept = &sorted[out..count - out];
        let mean = kept.iter().sum::<f64>() / kept.len() as f64;
        let drawn_in = sorted.iter().map(|x| x.clamp(kept[0], kept[kept.len() - 1]));
        let drawn_in: Vec<f64> = drawn_in.collect();
        let middle = drawn_in.iter().sum::<f64>() / count as f64;
        let variance = drawn_in.iter().map(|x| (x - middle).powi(2)).sum::<f64>() / (count - 1) as f64;
        let error = variance.sqrt() * (count as f64).sqrt() / kept.len() as f64;
        Some(Estimate { mean, error, freedom: (kept.len() - 1) as f64 })
    }

    /// Two-sided level at which a t test says that the middle is not 0.
    pub fn level(&self) -> f64 {
        match (self.error > 0.0, self.mean == 0.0) {
            (true, _) => 2.0 * student_beyond((self.mean / self.error).abs(), self.freedom),
            (false, true) => 1.0,
            (false, false) => 0.0,
        }
    }

    /// Where the middle lies, with confidence 1 - `level`.
    pub fn interval(&self, level: f64) -> (f64, f64) {
        let half = self.error * student_quantile(level, self.freedom);
        (self.mean - half, self.mean + half)
    }
}

/// P(T > t) of Student's distribution.
pub fn student_beyond(t: f64, freedom: f64) -> f64 {
    // Fails for parameters that are no distribution only: freedom is at least 1.
    StudentsT::new(0.0, 1.0, freedom.max(1.0)).map_or(0.5, |student| student.sf(t))
}

/// The t that |T| exceeds with probability `level`.
pub fn student_quantile(level: f64, freedom: f64) -> f64 {
    let beyond = |t: f64| 2.0 * student_beyond(t, freedom);
    let mut high = 4.0;
    while beyond(high) > level && high < 1e12 {
        high *= 2.0;
    }
    falling_root(&beyond, level, high)
}

/// Where a falling function of [0, high] has the value `wanted`.
fn falling_root(function: &dyn Fn(f64) -> f64, wanted: f64, mut high: f64) -> f64 {
    let mut low = 0.0;
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if function(middle) > wanted { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64, by: f64) {
        assert!((a - b).abs() <= by, "{a} and {b}");
    }

    #[test]
    fn student_is_that_of_the_tables() {
        for (level, freedom, t) in [
            (0.05, 1.0, 12.706),
            (0.05, 3.0, 3.182),
            (0.01, 10.0, 3.169),
            (0.001, 30.0, 3.646),
            (1e-4, 3.0, 28.000),
        ] {
            near(student_quantile(level, freedom), t, 1e-3);
            near(2.0 * student_beyond(t, freedom), level, level * 1e-2);
        }
        near(student_quantile(0.05, 1e6), 1.96, 1e-3);
    }

    #[test]
    fn looks_share_the_error_and_end_with_the_last() {
        let blocks = |max| looks(max).iter().map(|look| look.blocks).collect::<Vec<_>>();
        assert_eq!(blocks(6), [4, 5, 6]);
        assert_eq!(blocks(100), [4, 5, 7, 9, 12, 16, 21, 27, 35, 45, 59, 77, 100]);
        assert_eq!((blocks(2), blocks(0)), (vec![2], vec![]));
        for max in 1..600 {
            let looks = looks(max);
            near(looks.iter().map(|look| look.share).sum::<f64>(), 1.0, 1e-12);
            assert!(looks.windows(2).all(|w| w[0].blocks < w[1].blocks), "{looks:?}");
            assert_eq!(looks[0].blocks, if max < BLOCKS_MIN { max } else { BLOCKS_MIN });
        }
    }

    #[test]
    fn a_p_value_pays_for_its_looks() {
        let look = Look { blocks: 20, share: 0.25 };
        assert_eq!((look.p(0.01), look.p(0.5), look.p(0.0)), (0.04, 1.0, P_MIN));
    }

    #[test]
    fn outliers_hardly_move_the_estimate() {
        let calm: Vec<f64> = (0..20).map(|i| f64::from(i % 5) - 2.0).collect();
        let plain = Estimate::of(&calm).unwrap();
        near(plain.mean, 0.0, 1e-12);
        let mut wild = calm.clone();
        wild[3] = 500.0;
        let moved = Estimate::of(&wild).unwrap();
        assert!(moved.mean.abs() < 0.2 && moved.error < 2.0 * plain.error, "{moved:?}");
        assert_eq!(Estimate::of(&[1.0]), None);
        // Without outer tenths it is Student's.
        let few = Estimate::of(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        near(few.mean, 2.5, 1e-12);
        near(few.error, (5.0_f64 / 3.0).sqrt() / 2.0, 1e-12);
        let same = Estimate::of(&[0.3; 5]).unwrap();
        assert_eq!((same.level(), same.interval(0.01)), (0.0, (0.3, 0.3)));
        assert_eq!(Estimate::of(&[0.0; 5]).unwrap().level(), 1.0);
    }
}
