//! What a worker counts on one target.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::live::Counted;
use super::phases::Lengths;
use crate::measure::slices::BUCKETS;
use crate::measure::slices::{LatencySlices, Slice, slice_ns, slices_of};
use crate::measure::{Histogram, Intervals};
use crate::profile::TimeSpan;
use crate::result::Direction;

/// Which statistics a time span asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// Latency (`-L`).
    pub latency: bool,
    /// Series of this interval and measured time in nanoseconds (`-D`).
    pub intervals: Option<(u64, u64)>,
}

impl Wanted {
    /// Those of a time span.
    pub fn of(span: &TimeSpan) -> Self {
        let interval_ns = u64::from(span.io_bucket_ms) * 1_000_000;
        let intervals = || (interval_ns, Lengths::of(span).duration_ns);
        Wanted { latency: span.measure_latency, intervals: span.calculate_iops_std_dev.then(intervals) }
    }

    /// Whether time stamps of single I/Os matter.
    pub fn stamps(&self) -> bool {
        self.latency || self.intervals.is_some()
    }
}

/// Counts of one direction. All memory is taken in `new`.
#[derive(Debug)]
pub struct Counter {
    bytes: u64,
    ios: u64,
    latency: Option<Histogram>,
    more: Option<Box<More>>,
}

/// Statistics that not every run asks for. They stand apart so that one test per I/O skips them all.
#[derive(Debug, Default)]
struct More {
    intervals: Option<Intervals>,
    /// Latencies from the intended start.
    response: Option<Histogram>,
}

impl More {
    #[inline(never)]
    fn record(&mut self, latency_ns: u64, since_start_ns: u64, response_ns: u64) {
        if let Some(intervals) = &mut self.intervals {
            intervals.record(since_start_ns, latency_ns);
        }
        if let Some(histogram) = &mut self.response {
            histogram.record(response_ns);
        }
    }
}

impl Counter {
    /// Empty counts. `used` is false for a direction that the mix never takes. `has_schedule`: a rate limit gives each
    /// I/O an intended start.
    pub fn new(wanted: Wanted, used: bool, has_schedule: bool) -> Self {
        let more = More {
            intervals: wanted.intervals.map(|(interval, duration)| Intervals::new(interval, duration)),
            response: (wanted.latency && has_schedule).then(Histogram::new),
        };
        let is_wanted = used && (more.intervals.is_some() || more.response.is_some());
        Counter {
            bytes: 0,
            ios: 0,
            latency: (wanted.latency && used).then(Histogram::new),
            more: is_wanted.then(|| Box::new(more)),
        }
    }

    /// Counts one completion; `more_ns` gives the time since measurement began and the latency from the intended
    /// start, when either is wanted.
    #[inline(always)]
    pub fn record(&mut self, bytes: u32, latency_ns: u64, more_ns: impl FnOnce() -> (u64, u64)) {
        self.bytes += u64::from(bytes);
        self.ios += 1;
        if let Some(histogram) = &mut self.latency {
            histogram.record_recent(latency_ns);
        }
        if let Some(more) = &mut self.more {
            let (since_start_ns, response_ns) = more_ns();
            more.record(latency_ns, since_start_ns, response_ns);
        }
    }

    /// Hands out the latencies that were counted since the last time, by coarse bucket.
    pub fn take_recent(&mut self, into: impl FnMut(usize, u64)) {
        if let Some(histogram) = &mut self.latency {
            histogram.take_recent(into);
        }
    }

    /// I/Os and bytes counted so far.
    pub fn counted(&self) -> Counted {
        Counted { ios: self.ios, bytes: self.bytes, in_flight_ns: 0 }
    }

    pub fn ios(&self) -> u64 {
        self.ios
    }

    /// The direction for the document; `wanted` as given to `new`, `measured_ns` as it turned out.
    pub fn finish(mut self, wanted: Wanted, measured_ns: u64) -> Direction {
        // Nothing is recent any more.
        self.take_recent(|_, _| ());
        let mut more = self.more.map(|more| *more).unwrap_or_default();
        if let Some(intervals) = &mut more.intervals {
            intervals.end_at(measured_ns);
        }
        Direction {
            bytes: self.bytes,
            ios: self.ios,
            latency: self.latency.or_else(|| wanted.latency.then(Histogram::new)).map(Box::new),
            response: more.response.map(Box::new),
            intervals: more.intervals,
        }
    }
}

/// All threads end their slices at the same moment, and add to the same cache lines then: so many at most.
const THREADS_PER_TABLE: usize = 8;

/// Counts of all slices, of some threads.
#[derive(Debug)]
struct Table {
    slice_ns: u64,
    slices: usize,
    /// The buckets of the first slice's reads, of its writes, of the next slice's reads, and so on.
    counts: Box<[AtomicU64]>,
}

/// The tables of a time span.
#[derive(Debug, Default)]
pub struct Tables(Vec<Arc<Table>>);

impl Tables {
    /// For so many threads, of which no more run at once than there are `processors`. All memory is taken here.
    pub fn new(duration_ns: u64, threads: usize, processors: usize) -> Self {
        let (slice_ns, slices) = (slice_ns(duration_ns), slices_of(duration_ns));
        if slices == 0 {
            return Tables::none();
        }
        let table = || Table {
            slice_ns,
            slices,
            counts: (0..slices * 2 * BUCKETS).map(|_| AtomicU64::new(0)).collect(),
        };
        let tables = threads.min(processors).div_ceil(THREADS_PER_TABLE).max(1);
        Tables((0..tables).map(|_| Arc::new(table())).collect())
    }

    /// For a run without latencies.
    pub fn none() -> Self {
        Tables::default()
    }

    /// What a thread counts with. Threads of neighbouring numbers share a table, as they share caches.
    pub fn of_thread(&self, id: u32) -> Present {
        let place = (id as usize / THREADS_PER_TABLE).checked_rem(self.0.len());
        Present::new(place.map(|place| Arc::clone(&self.0[place])))
    }

    /// The sum of all, of the time that was really measured; none without latencies or without measured time.
    pub fn sum(&self, measured_ns: u64) -> Option<LatencySlices> {
        if measured_ns == 0 {
            return None;
        }
        let first = self.0.first()?;
        let row = |row: usize| {
            let places = row * BUCKETS..(row + 1) * BUCKETS;
            Slice::of(
                &places
                    .map(|place: usize| self.0.iter().map(|t| t.counts[place].load(Ordering::Relaxed)).sum())
                    .collect::<Vec<u64>>(),
            )
        };
        let mut slices: Vec<[Slice; 2]> =
            (0..first.slices).map(|slice| [row(2 * slice), row(2 * slice + 1)]).collect();
        // A run that was stopped has fewer, but every I/O that it counted is in one.
        let used = slices.iter().rposition(|both| both.iter().any(|slice| *slice != Slice::default()));
        let begun = measured_ns.div_ceil(first.slice_ns) as usize;
        slices.truncate(begun.max(used.map_or(0, |last| last + 1)));
        Some(LatencySlices::new(first.slice_ns, slices))
    }
}

/// The present slice of a worker.
#[derive(Debug)]
pub struct Present {
    table: Option<Arc<Table>>,
    /// Start of the measured time.
    start_ns: u64,
    end_ns: u64,
    slice: usize,
}

impl Present {
    fn new(table: Option<Arc<Table>>) -> Self {
        Present { table, start_ns: 0, end_ns: u64::MAX, slice: 0 }
    }

    /// The first slice begins with the measured time.
    pub fn begin(&mut self, measure_start_ns: u64) {
        self.start_ns = measure_start_ns;
        self.enter(measure_start_ns);
    }

    /// When [`Present::close`] is due; never without latencies, and after the measured time.
    pub fn end_ns(&self) -> u64 {
        self.end_ns
    }

    /// Adds up what was counted before `now_ns`, reads and writes of each target, and goes on with the slice
    /// that `now_ns` is in.
    pub fn close<'c>(&mut self, now_ns: u64, counters: impl Iterator<Item = [&'c mut Counter; 2]>) {
        self.end(counters);
        self.enter(now_ns);
    }

    /// Adds up what was counted.
    pub fn end<'c>(&self, counters: impl Iterator<Item = [&'c mut Counter; 2]>) {
        let Some(table) = &self.table else { return };
        for (direction, counter) in counters.flat_map(|both| both.into_iter().enumerate()) {
            let row = (2 * self.slice + direction) * BUCKETS;
            counter.take_recent(|bucket, count| {
                table.counts[row + bucket].fetch_add(count, Ordering::Relaxed);
            });
        }
    }

    fn enter(&mut self, now_ns: u64) {
        self.end_ns = u64::MAX;
        let Some(table) = &self.table else { return };
        let slice = now_ns.saturating_sub(self.start_ns) / table.slice_ns;
        let last = table.slices - 1;
        // A clock may be a little behind the end that it was told: what completes after the last slice belongs to it.
        self.slice = (slice as usize).min(last);
        if slice <= last as u64 {
            self.end_ns = self.start_ns.saturating_add((slice + 1).saturating_mul(table.slice_ns));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::counters::Wanted;
    use crate::measure::slices::bucket_of;

    const S: u64 = 1_000_000_000;

    /// Counters of one target.
    struct Counters([Counter; 2]);

    impl Counters {
        fn new() -> Self {
            let wanted = Wanted { latency: true, intervals: None };
            Counters([(); 2].map(|()| Counter::new(wanted, true, false)))
        }

        fn count(&mut self, direction: usize, ns: u64) {
            self.0[direction].record(4096, ns, || (0, 0));
        }

        fn all(&mut self) -> impl Iterator<Item = [&mut Counter; 2]> {
            std::iter::once(self.0.each_mut())
        }
    }

    /// I/Os of one direction, slice by slice.
    fn counts(sum: &LatencySlices, direction: usize) -> Vec<u64> {
        sum.slices().iter().map(|both| both[direction].count()).collect()
    }

    #[test]
    fn what_was_counted_goes_to_the_slice_it_fell_into() {
        let (tables, mut counters) = (Tables::new(10 * S, 1, 1), Counters::new());
        let mut present = tables.of_thread(0);
        present.begin(100 * S);
        assert_eq!(present.end_ns(), 100 * S + S / 20);
        counters.count(0, 5000);
        present.close(100 * S + S / 20, counters.all());
        counters.count(1, 90_000);
        counters.count(1, 90_000);
        // Nothing came for a second.
        present.close(101 * S + S / 20 + 1, counters.all());
        assert_eq!(present.end_ns(), 101 * S + S / 10);
        counters.count(0, 0);
        present.end(counters.all());
        let sum = tables.sum(10 * S).expect("slices");
        assert_eq!((sum.slice_ns(), sum.slices().len(), sum.count()), (S / 20, 200, 4));
        assert_eq!((counts(&sum, 0)[0], counts(&sum, 1)[1], counts(&sum, 0)[21]), (1, 2, 1));
        assert_eq!(sum.slices()[1][1].buckets().collect::<Vec<_>>(), [(bucket_of(90_000), 2)]);
        assert_eq!(tables.sum(S).map(|sum| sum.slices().len()), Some(22), "stopped, with all I/Os");
        assert_eq!(tables.sum(2 * S).map(|sum| sum.slices().len()), Some(40));
        assert_eq!(tables.sum(0), None);
    }

    #[test]
    fn what_comes_after_the_last_slice_belongs_to_it_and_costs_no_edges() {
        let (tables, mut counters) = (Tables::new(S, 1, 1), Counters::new());
        let mut present = tables.of_thread(0);
        present.begin(0);
        present.close(S + 5, counters.all());
        assert_eq!(present.end_ns(), u64::MAX);
        counters.count(0, 7);
        present.end(counters.all());
        assert_eq!(tables.sum(S).map(|sum| counts(&sum, 0)[49]), Some(1));
    }

    #[test]
    fn threads_share_tables_by_eights_of_those_that_run_at_once() {
        let tables = |threads, processors| Tables::new(S, threads, processors).0.len();
        assert_eq!([tables(1, 1), tables(1000, 8), tables(9, 128), tables(1000, 128)], [1, 1, 2, 16]);
        let several = Tables::new(S, 20, 20);
        for id in 0..20 {
            let (mut present, mut counters) = (several.of_thread(id), Counters::new());
            present.begin(0);
            counters.count(0, 1000 * u64::from(id));
            present.end(counters.all());
        }
        assert_eq!(several.sum(S).map(|sum| sum.count()), Some(20));
        let mut none = Tables::none().of_thread(3);
        none.begin(0);
        none.close(S, Counters::new().all());
        assert_eq!((none.end_ns(), Tables::none().sum(S)), (u64::MAX, None));
    }
}
