//! Completions over the measured time, for every run and at no cost per I/O: at the end of each interval, a worker
//! notes its counts so far.

use crate::result::{FineSeries, Processors, ThreadProcessors, Timeline};
use crate::sys::thread::current_processor;

const NS_PER_S: u64 = 1_000_000_000;
/// More intervals would make the documents of long runs larger and tell nothing more of how a rate holds.
const INTERVALS_MAX: u64 = 600;
/// An interval of a second or more is counted in this many parts, in which a stall shows that is shorter than it.
const PARTS: u64 = 10;

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

/// Into how many parts an interval of the series is divided.
fn parts(interval_ns: u64) -> u64 {
    if interval_ns >= NS_PER_S { PARTS } else { 1 }
}

/// Whole seconds, of which a run has at most 600.
pub fn whole_seconds_ns(duration_ns: u64) -> u64 {
    duration_ns.div_ceil(INTERVALS_MAX * NS_PER_S).max(1) * NS_PER_S
}

/// One worker's completions per interval. All memory is taken when it is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Buckets {
    interval_ns: u64,
    /// How many of these make an interval of the series.
    parts: u64,
    /// How many whole intervals are planned.
    planned: usize,
    /// End of the present interval.
    end_ns: u64,
    /// Reads and writes counted from the start to the end of each interval.
    counted: Vec<[u64; 2]>,
    /// Whether the thread may run on any processor, so that it matters on which it does.
    is_free: bool,
    /// Where it ran at the end of each interval, when it is free.
    processors: Vec<u32>,
}

impl Buckets {
    /// `planned` intervals of this length; without length or number nothing is noted.
    pub fn new(interval_ns: u64, planned: usize) -> Self {
        let counted = Vec::with_capacity(planned);
        let (end_ns, is_free, processors) = (u64::MAX, false, Vec::new());
        Buckets { interval_ns, parts: 1, planned, end_ns, counted, is_free, processors }
    }

    /// Notes on which processor the thread runs, too.
    pub fn noting_processors(mut self) -> Self {
        self.is_free = true;
        self.processors.reserve_exact(self.planned);
        self
    }

    /// Intervals for a planned measured time.
    pub fn for_duration(duration_ns: u64) -> Self {
        let series_ns = interval_ns(duration_ns);
        let parts = parts(series_ns);
        let interval_ns = series_ns / parts;
        let planned = duration_ns.checked_div(interval_ns).unwrap_or(0) as usize;
        Buckets { parts, ..Buckets::new(interval_ns, planned) }
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
            if self.is_free {
                self.processors.push(current_processor());
            }
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

/// The timeline of all workers, and the same in the parts of its intervals when it has any: whole ones of the
/// time really measured.
pub fn timeline<'a>(
    workers: impl Iterator<Item = &'a Buckets>,
    measured_ns: u64,
) -> Option<(Timeline, Option<FineSeries>)> {
    let (mut sum, mut parts): (Option<Timeline>, usize) = (None, 1);
    for buckets in workers.filter(|buckets| buckets.planned > 0) {
        let whole = buckets.planned.min((measured_ns / buckets.interval_ns) as usize);
        parts = buckets.parts as usize;
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
    let fine = sum.filter(|timeline| !timeline.reads.is_empty())?;
    if parts == 1 {
        return Some((fine, None));
    }
    let whole = |list: &[u64]| list.chunks_exact(parts).map(|part| part.iter().sum()).collect::<Vec<u64>>();
    let interval_ns = fine.interval_ns * parts as u64;
    let series = Timeline { interval_ns, reads: whole(&fine.reads), writes: whole(&fine.writes) };
    let completed = fine.reads.iter().zip(&fine.writes).map(|(reads, writes)| reads + writes).collect();
    let fine = FineSeries { interval_ns: fine.interval_ns, completed };
    (!series.reads.is_empty()).then_some((series, Some(fine)))
}

/// More threads than this are spread over the processors all the time, and their places would fill the document.
const THREADS_TOLD: usize = 64;

/// On which processors the free threads ran, in the intervals of the series; the thread's number stands before its
/// buckets. `None` when no thread is free, or too many are.
pub fn processors<'a>(
    workers: impl Iterator<Item = (u32, &'a Buckets)>,
    measured_ns: u64,
) -> Option<Processors> {
    let free: Vec<(u32, &Buckets)> = workers.filter(|(_, buckets)| buckets.is_free).collect();
    let parts = free.first()?.1.parts;
    let interval_ns = free.first()?.1.interval_ns * parts;
    let whole = measured_ns.checked_div(interval_ns)? as usize;
    if free.len() > THREADS_TOLD || whole == 0 {
        return None;
    }
    Some(Processors {
        interval_ns,
        threads: free
            .into_iter()
            .map(|(id, buckets): (u32, &Buckets)| {
                let points = buckets.processors.chunks_exact(parts as usize);
                ThreadProcessors { id, processors: points.take(whole).map(most_frequent).collect() }
            })
            .collect(),
    })
}

/// What occurs most often; of equals the one that came first.
fn most_frequent(of: &[u32]) -> u32 {
    let count = |value: u32| of.iter().filter(|&&other| other == value).count();
    of.iter().rev().copied().max_by_key(|&value| count(value)).unwrap_or_default()
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
        assert_eq!(timeline([buckets.clone()].iter(), 40), Some((wanted, None)));
        // Stopped after 25: the third interval is no whole one.
        let wanted = Timeline { interval_ns: 10, reads: vec![10, 4], writes: vec![2, 0] };
        assert_eq!(timeline([buckets.clone(), buckets.clone()].iter(), 25), Some((wanted, None)));
        assert_eq!(timeline([buckets].iter(), 9), None);
    }

    #[test]
    fn a_stall_shows_in_the_parts_of_a_second() {
        const MS: u64 = 1_000_000;
        let mut buckets = Buckets::for_duration(20 * NS_PER_S);
        buckets.begin(0);
        for tenth in 1..=200u64 {
            // 100 in each tenth of a second, but for 1.2 s to 1.5 s.
            let stalled = tenth.saturating_sub(12).min(3);
            buckets.close(tenth * 100 * MS, [(tenth - stalled) * 60, (tenth - stalled) * 40]);
        }
        let (series, fine) = timeline([buckets.clone()].iter(), 20 * NS_PER_S).expect("a series");
        assert_eq!((series.interval_ns, series.reads.len()), (NS_PER_S, 20));
        assert_eq!((&series.reads[..3], &series.writes[..3]), (&[600, 420, 600][..], &[400, 280, 400][..]));
        let fine = fine.expect("parts");
        assert_eq!((fine.interval_ns, fine.completed.len()), (100 * MS, 200));
        assert_eq!(fine.completed[11..16], [100, 0, 0, 0, 100]);
        // Whole seconds, and whole tenths.
        let (series, fine) = timeline([buckets.clone()].iter(), 2550 * MS).expect("a series");
        assert_eq!((series.reads.len(), fine.map(|fine| fine.completed.len())), (2, Some(25)));
        assert_eq!(timeline([buckets].iter(), 900 * MS), None);
    }

    #[test]
    fn processors_of_free_threads_are_told_in_the_intervals_of_the_series() {
        const MS: u64 = 1_000_000;
        let bound = Buckets::for_duration(20 * NS_PER_S);
        let mut free = bound.clone().noting_processors();
        free.begin(0);
        free.close(20 * NS_PER_S, [0, 0]);
        assert_eq!(free.processors.len(), 200);
        // Two seconds on 3, most of one on 0, the rest on 1.
        for (tenth, processor) in free.processors.iter_mut().enumerate() {
            *processor = if tenth < 24 {
                3
            } else if tenth < 30 {
                0
            } else {
                1
            };
        }
        let found = processors([(0, &bound), (7, &free)].into_iter(), 4550 * MS).expect("a free thread");
        assert_eq!((found.interval_ns, found.threads.len()), (NS_PER_S, 1));
        assert_eq!(found.threads[0], ThreadProcessors { id: 7, processors: vec![3, 3, 0, 1] });
        assert_eq!(processors([(0, &bound)].into_iter(), 4550 * MS), None, "no thread is free");
        assert_eq!(processors([(7, &free)].into_iter(), 900 * MS), None, "no whole interval");
        assert_eq!(processors((0..65).map(|id| (id, &free)), 4550 * MS), None, "too many");
    }

    #[test]
    fn a_free_thread_notes_where_it_runs() {
        let mut free = Buckets::new(10, 2).noting_processors();
        free.begin(0);
        free.close(10, [1, 0]);
        let allowed = crate::sys::thread::allowed_processors().unwrap();
        assert!(free.processors.len() == 1 && allowed.contains(&free.processors[0]), "{free:?}");
    }

    #[test]
    fn nothing_is_noted_after_the_last_interval() {
        let mut buckets = Buckets::new(10, 2);
        buckets.begin(0);
        buckets.close(1000, [3, 0]);
        assert!(!buckets.is_over(u64::MAX - 1), "cool-down costs nothing");
        buckets.end([3, 0]);
        assert_eq!(timeline([buckets].iter(), 20).map(|s| s.0.reads), Some(vec![3, 0]));
    }
}
