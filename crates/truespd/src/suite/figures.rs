//! Figures of repeated runs.

/// Middle, smallest and largest of some figures.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct Spread {
    /// Half of the figures are above and half below.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// How many there are.
    pub count: usize,
}

impl Spread {
    /// Of at least one figure.
    pub fn of(figures: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = figures.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let upper = sorted.len() / 2;
        let lower = (sorted.len() - 1) / 2;
        Some(Spread { median: (sorted[lower] + sorted[upper]) / 2.0, min, max, count: sorted.len() })
    }

    /// Half the distance between the extremes, in percent of the median; 0 when the median is.
    pub fn percent(&self) -> f64 {
        if self.median == 0.0 { 0.0 } else { (self.max - self.min) / 2.0 / self.median * 100.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn middle_and_extremes() {
        assert_eq!(Spread::of([]), None);
        assert_eq!(Spread::of([3.0]), Some(Spread { median: 3.0, min: 3.0, max: 3.0, count: 1 }));
        assert_eq!(Spread::of([9.0, 1.0, 2.0]).map(|s| s.median), Some(2.0));
        let even = Spread::of([4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!((even.median, even.min, even.max, even.count), (2.5, 1.0, 4.0, 4));
        assert_eq!(even.percent(), 60.0);
        assert_eq!(Spread::of([0.0, 0.0]).map(|s| s.percent()), Some(0.0));
    }
}
