//! Completions over the measured time, for every run and at no cost per I/O: at the end of each interval, a worker
//! notes its counts so far.

use crate::result::Timeline;

const NS_PER_S: u64 = 1_000_000_000;
/// More intervals would make the documents of long runs larger and tell nothing more.
const INTERVALS_MAX: u64 = 600;

/// Length of the intervals of a run: a round number that gives at least 20 of them. 0 without measured time.
pub fn interval_ns(duration_ns: u64) -> u64 {
    const MS: u64 = 1_000_000;
    match duration_ns {
        0 => 0,
        d if d < 2 * NS_PER_S => 50 * MS,
        d if d < 20 * NS_PER_S => 100 * MS,
        d => whole_seconds_ns(d),
    }
}

/// Whole seconds, of which a run has at most 600.
pub fn whole_seconds_ns(duration_ns: u64) -> u64 {
    duration_ns.div_ceil(INTERVALS_MAX * NS_PER_S).max(1) * NS_PER_S
}

/// One worker's completions per interval. All memory is taken when it is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Buckets {
    interval_ns: u64,
    /// How many whole intervals are planned.
    planned: usize,
    /// End of the present interval.
    end_ns: u64,
    /// Reads and writes counted from the start to the end of each interval.
    counted: Vec<[u64; 2]>,
}

impl Buckets {
    /// `planned` intervals of this length; without length or number nothing is noted.
    pub fn new(interval_ns: u64, planned: usize) -> Self {
        Buckets { interval_ns, planned, end_ns: u64::MAX, counted: Vec::with_capacity(planned) }
    }

    /// Intervals for a planned measured time.
    pub fn for_duration(duration_ns: u64) -> Self {
        let interval_ns = interval_ns(duration_ns);
        Buckets::new(interval_ns, duration_ns.checked_div(interval_ns).unwrap_or(0) as usize)
    }

    /// The first interval begins with the measured time.
    pub fn begin(&mut self, measure_start_ns: u64) {
        if self.planned > 0 {
            self.end_ns = measure_start_ns.saturating_add(self.interval_ns);
        }
    }

    /// When the present interval ends; never, when there is none.
    pub fn end_ns(&self) -> u64 {
        self.end_ns
    }

    /// Whether the present interval is over.
    pub fn is_over(&self, now_ns: u64) -> bool {
        now_ns >= self.end_ns
    }

    /// Ends all intervals that are over; `totals` are reads and writes counted before `now_ns`.
    pub fn close(&mut self, now_ns: u64, totals: [u64; 2]) {
        while self.is_over(now_ns) && self.counted.len() < self.planned {
            self.counted.push(totals);
            self.end_ns = self.end_ns.saturating_add(self.interval_ns);
        }
        if self.counted.len() == self.planned {
            self.end_ns = u64::MAX;
        }
    }

    /// Ends the counting. Intervals that have not ended get the counts so far.
    pub fn end(&mut self, totals: [u64; 2]) {
        self.counted.resize(self.planned, totals);
        self.end_ns = u64::MAX;
    }
}

/// The timeline of all workers: whole intervals of the time really measured.
pub fn timeline<'a>(workers: impl Iterator<Item = &'a Buckets>, measured_ns: u64) -> Option<Timeline> {
    let mut sum: Option<Timeline> = None;
    for buckets in workers.filter(|buckets| buckets.planned > 0) {
        let whole = buckets.planned.min((measured_ns / buckets.interval_ns) as usize);
        let timeline = sum.get_or_insert_with(|| Timeline {
            interval_ns: buckets.interval_ns,
            reads: vec![0; whole],
            writes: vec![0; whole],
        });
        let mut before = [0, 0];
        for (index, counted) in buckets.counted.iter().take(whole).enumerate() {
            timeline.reads[index] += counted[0] - before[0];
            timeline.writes[index] += counted[1] - before[1];
            before = *counted;
        }
    }
    sum.filter(|timeline| !timeline.reads.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_least_twenty_intervals_and_at_most_six_hundred() {
        for seconds in [1, 2, 3, 10, 19, 20, 60, 600, 601, 3600, 86_400] {
            let duration_ns = seconds * NS_PER_S;
            let count = duration_ns / interval_ns(duration_ns);
            assert!((20..=600).contains(&count), "{seconds} s: {count}");
        }
        assert_eq!(interval_ns(60 * NS_PER_S), NS_PER_S);
        assert_eq!(interval_ns(3600 * NS_PER_S), 6 * NS_PER_S);
        assert_eq!(timeline([Buckets::for_duration(0)].iter(), 0), None);
    }

    #[test]
    fn what_was_counted_goes_to_the_interval_it_fell_into() {
        let mut buckets = Buckets::new(10, 4);
        assert!(!buckets.is_over(u64::MAX - 1), "not before the start");
        buckets.begin(100);
        assert!(!buckets.is_over(109));
        buckets.close(110, [5, 1]);
        assert!(!buckets.is_over(119));
        // Nothing came for an interval and a half.
        buckets.close(135, [7, 1]);
        buckets.end([9, 4]);
        let wanted = Timeline { interval_ns: 10, reads: vec![5, 2, 0, 2], writes: vec![1, 0, 0, 3] };
        assert_eq!(timeline([buckets.clone()].iter(), 40), Some(wanted));
        // Stopped after 25: the third interval is no whole one.
        let wanted = Timeline { interval_ns: 10, reads: vec![10, 4], writes: vec![2, 0] };
        assert_eq!(timeline([buckets.clone(), buckets.clone()].iter(), 25), Some(wanted));
        assert_eq!(timeline([buckets].iter(), 9), None);
    }

    #[test]
    fn nothing_is_noted_after_the_last_interval() {
        let mut buckets = Buckets::new(10, 2);
        buckets.begin(0);
        buckets.close(1000, [3, 0]);
        assert!(!buckets.is_over(u64::MAX - 1), "cool-down costs nothing");
        buckets.end([3, 0]);
        assert_eq!(timeline([buckets].iter(), 20).map(|s| s.reads), Some(vec![3, 0]));
    }
}
