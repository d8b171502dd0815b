//! IOPS and latency per interval (`-D`).

/// Population standard deviation from exact sums; 0 without samples, never negative or NaN.
pub fn std_dev(count: u64, sum: u128, sum_squares: u128) -> f64 {
    if count == 0 {
        return 0.0;
    }
    // count * sum_squares >= sum^2 always; done in integers while they fit, so nothing cancels.
    let n = u128::from(count);
    let variance = match (n.checked_mul(sum_squares), sum.checked_mul(sum)) {
        (Some(a), Some(b)) => a.saturating_sub(b) as f64 / (count as f64 * count as f64),
        _ => {
            let mean = sum as f64 / count as f64;
            (sum_squares as f64 / count as f64 - mean * mean).max(0.0)
        }
    };
    variance.sqrt()
}

/// What completed in one interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Interval {
    /// Completions.
    pub count: u64,
    /// Smallest latency in nanoseconds, meaningless while `count` is 0.
    pub min_ns: u64,
    /// Largest latency in nanoseconds.
    pub max_ns: u64,
    /// Sum of latencies in nanoseconds.
    pub sum_ns: u128,
    /// Sum of squared latencies.
    pub sum_squares: u128,
}

/// Series of intervals from the start of measurement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intervals {
    interval_ns: u64,
    duration_ns: u64,
    series: Vec<Interval>,
    /// Index of the last interval with a completion, plus one.
    valid: usize,
}

impl Intervals {
    /// A series of `ceil(duration / interval)` intervals. All memory is taken here.
    ///
    /// # Panics
    /// When the interval is zero.
    pub fn new(interval_ns: u64, duration_ns: u64) -> Self {
        let slots = duration_ns.div_ceil(interval_ns) as usize;
        Intervals { interval_ns, duration_ns, series: vec![Interval::default(); slots], valid: 0 }
    }

    /// Records a completion `since_start_ns` after measurement began; beyond the last interval it is
    /// dropped.
    #[inline]
    pub fn record(&mut self, since_start_ns: u64, latency_ns: u64) {
        let index = (since_start_ns / self.interval_ns) as usize;
        let Some(slot) = self.series.get_mut(index) else { return };
        slot.min_ns = if slot.count == 0 { latency_ns } else { slot.min_ns.min(latency_ns) };
        slot.count += 1;
        slot.max_ns = slot.max_ns.max(latency_ns);
        slot.sum_ns += u128::from(latency_ns);
        slot.sum_squares += u128::from(latency_ns) * u128::from(latency_ns);
        // 2.2 takes the index of the last I/O; completions never go back in time.
        self.valid = self.valid.max(index + 1);
    }

    /// Length of an interval in nanoseconds.
    pub fn interval_ns(&self) -> u64 {
        self.interval_ns
    }

    /// All intervals, also the ones after the last completion.
    pub fn series(&self) -> &[Interval] {
        &self.series
    }

    /// Intervals up to the last one with a completion; empty ones before it count, later ones do not.
    pub fn valid(&self) -> usize {
        self.valid
    }

    /// Adds everything `other` holds, interval by interval. An empty interval leaves the other's
    /// minimum alone.
    pub fn merge(&mut self, other: &Intervals) {
        debug_assert_eq!(self.interval_ns, other.interval_ns, "series of one time span");
        if self.series.len() < other.series.len() {
            self.series.resize(other.series.len(), Interval::default());
            self.duration_ns = other.duration_ns;
        }
        for (mine, theirs) in self.series.iter_mut().zip(&other.series) {
            if theirs.count == 0 {
                continue;
            }
            mine.min_ns = if mine.count == 0 { theirs.min_ns } else { mine.min_ns.min(theirs.min_ns) };
            mine.count += theirs.count;
            mine.max_ns = mine.max_ns.max(theirs.max_ns);
            mine.sum_ns += theirs.sum_ns;
            mine.sum_squares += theirs.sum_squares;
        }
        self.valid = self.valid.max(other.valid);
    }

    /// Population standard deviation of the completions per interval, as I/Os per second
    /// (`io-semantics.md` §14.3). A partial last interval is left out: its count is lower for no
    /// other reason than its length.
    pub fn iops_std_dev(&self) -> f64 {
        let whole = (self.duration_ns / self.interval_ns) as usize;
        let counted = &self.series[..self.valid.min(whole)];
        let sum = counted.iter().map(|i| u128::from(i.count)).sum();
        let sum_squares = counted.iter().map(|i| u128::from(i.count) * u128::from(i.count)).sum();
        std_dev(counted.len() as u64, sum, sum_squares) * 1e9 / self.interval_ns as f64
    }
}
