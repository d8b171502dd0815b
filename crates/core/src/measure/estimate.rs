//! The middle of numbers that scatter, how uncertain it is, and what Student's distribution makes of it.

use statrs::distribution::{ContinuousCDF, StudentsT};

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

    /// This middle less another one, of numbers that have nothing to do with these (Welch 1947; of trimmed
    /// means Yuen 1974).
    pub fn less(self, other: Estimate) -> Self {
        let [ours, theirs] = [self.error.powi(2), other.error.powi(2)];
        let sum = ours + theirs;
        let parts = ours.powi(2) / self.freedom + theirs.powi(2) / other.freedom;
        // Without any scatter the degrees of freedom do not matter.
        let freedom = if parts > 0.0 { sum.powi(2) / parts } else { self.freedom + other.freedom };
        Estimate { mean: self.mean - other.mean, error: sum.sqrt(), freedom }
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

    #[test]
    fn a_difference_has_the_freedom_of_welch() {
        let [a, b] = [[27.5, 21.0, 19.0], [27.1, 22.0, 20.8]].map(|numbers| Estimate::of(&numbers).unwrap());
        let less = b.less(a);
        // By hand, from the variances of the means.
        let [of_a, of_b] = [a.error.powi(2), b.error.powi(2)];
        let welch = (of_a + of_b).powi(2) / (of_a.powi(2) / 2.0 + of_b.powi(2) / 2.0);
        near(less.mean, 0.8, 1e-9);
        near(less.error, 3.2114, 1e-3);
        near(less.freedom, welch, 1e-9);
        let sure = Estimate { error: 0.0, ..a };
        near(b.less(sure).freedom, b.freedom, 1e-9);
        assert_eq!(sure.less(sure).level(), 1.0);
    }
}
