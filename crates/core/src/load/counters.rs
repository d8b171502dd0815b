//! What a worker counts: on one target, and over time.
//!
//! Completions over the measured time are counted for every run and at no cost per I/O: at the end of each interval, a
//! worker notes its counts so far.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::live::Counted;
use super::phases::Lengths;
use super::rounds::Cut;
use crate::measure::slices::BUCKETS;
use crate::measure::slices::{LatencySlices, Slice, slice_ns};
use crate::measure::{Histogram, Intervals};
use crate::profile::TimeSpan;
use crate::result::{Direction, FineSeries, OfSize, Processors, ThreadProcessors, Timeline};
use truespd_platform::sys::thread::current_processor;

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
        // Of a round, where there are rounds.
        let intervals = (interval_ns, u64::from(span.duration_s) * NS_PER_S);
        Wanted { latency: span.measure_latency, intervals: span.calculate_iops_std_dev.then_some(intervals) }
    }

    /// The same without a series.
    pub fn without_intervals(self) -> Self {
        Wanted { intervals: None, ..self }
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
    /// Sizes of a mix, ascending; empty without one.
    sizes: Vec<SizeCount>,
}

/// Statistics that not every run asks for. They stand apart so that one test per I/O skips them all.
#[derive(Debug, Default)]
struct More {
    intervals: Option<Intervals>,
    /// Latencies from the intended start.
    response: Option<Histogram>,
}

/// Counts of one size of a mix.
#[derive(Debug)]
struct SizeCount {
    size: u32,
    ios: u64,
    bytes: u64,
    latency: Option<Histogram>,
}

impl SizeCount {
    fn new(size: u32, wanted: Wanted) -> Self {
        SizeCount { size, ios: 0, bytes: 0, latency: wanted.latency.then(Histogram::new) }
    }

    fn finish(self) -> OfSize {
        let (block_bytes, latency) = (u64::from(self.size), self.latency.map(Box::new));
        OfSize { block_bytes, ios: self.ios, bytes: self.bytes, latency }
    }
}

/// Adds a histogram to the one of the same kind.
fn add(sum: Option<&mut Histogram>, next: Option<&Histogram>) {
    if let (Some(sum), Some(next)) = (sum, next) {
        sum.merge(next);
    }
}

impl More {
    #[inline(never)]
    fn record(&mut self, latency_ns: u64, since_start_ns: u64, response_ns: u64) {
        if let Some(intervals) = &mut self.intervals {
            intervals.record(since_start_ns, latency_ns);
        }
        if let Some(histogram) = &mut self.response {
            histogram.record_recent(response_ns);
        }
    }
}

impl Counter {
    /// Empty counts. `used` is false for a direction that the mix never takes. `has_schedule`: a rate limit gives each
    /// I/O an intended start. `sizes` are those of a mix, ascending.
    pub fn new(wanted: Wanted, used: bool, has_schedule: bool, sizes: &[u32]) -> Self {
        let more = More {
            intervals: wanted.intervals.map(|(interval, duration)| Intervals::new(interval, duration)),
            response: (wanted.latency && has_schedule).then(Histogram::new),
        };
        let is_wanted = used && (more.intervals.is_some() || more.response.is_some());
        let sizes = if used { sizes } else { &[] };
        Counter {
            bytes: 0,
            ios: 0,
            latency: (wanted.latency && used).then(Histogram::new),
            more: is_wanted.then(|| Box::new(more)),
            sizes: sizes.iter().map(|&size| SizeCount::new(size, wanted)).collect(),
        }
    }

    /// Counts one completion; `more_ns` gives the time since measurement began and the latency from the intended
    /// start, when either is wanted. Sizes are counted by loops that serve mixes: `may_be_mix`.
    #[inline(always)]
    pub fn record(
        &mut self,
        bytes: u32,
        may_be_mix: bool,
        latency_ns: u64,
        more_ns: impl FnOnce() -> (u64, u64),
    ) {
        self.bytes += u64::from(bytes);
        self.ios += 1;
        if let Some(histogram) = &mut self.latency {
            histogram.record_recent(latency_ns);
        }
        if let Some(more) = &mut self.more {
            let (since_start_ns, response_ns) = more_ns();
            more.record(latency_ns, since_start_ns, response_ns);
        }
        if may_be_mix {
            self.count_size(bytes, latency_ns);
        }
    }

    #[inline(never)]
    fn count_size(&mut self, bytes: u32, latency_ns: u64) {
        // A short transfer counts with the size that it fell short of, as far as that can be told.
        if let Some(of_size) = self.sizes.iter_mut().find(|of_size| of_size.size >= bytes) {
            of_size.ios += 1;
            of_size.bytes += u64::from(bytes);
            if let Some(histogram) = &mut of_size.latency {
                histogram.record(latency_ns);
            }
        }
    }

    /// Adds what was counted in the round after this one's.
    pub fn append(&mut self, next: Counter) {
        self.bytes += next.bytes;
        self.ios += next.ios;
        add(self.latency.as_mut(), next.latency.as_ref());
        for (size, next) in self.sizes.iter_mut().zip(&next.sizes) {
            size.ios += next.ios;
            size.bytes += next.bytes;
            add(size.latency.as_mut(), next.latency.as_ref());
        }
        let (Some(more), Some(next)) = (&mut self.more, next.more) else { return };
        add(more.response.as_mut(), next.response.as_ref());
        if let (Some(intervals), Some(next)) = (&mut more.intervals, &next.intervals) {
            intervals.append(next);
        }
    }

    /// Hands out the latencies that were counted since the last time, by coarse bucket.
    pub fn take_recent(&mut self, into: impl FnMut(usize, u64)) {
        if let Some(histogram) = &mut self.latency {
            histogram.take_recent(into);
        }
    }

    /// The same of response times, where there is a rate.
    pub fn take_recent_responses(&mut self, into: impl FnMut(usize, u64)) {
        if let Some(histogram) = self.more.as_mut().and_then(|more| more.response.as_mut()) {
            histogram.take_recent(into);
        }
    }

    /// I/Os and bytes counted so far.
    pub fn counted(&self) -> Counted {
        Counted { ios: self.ios, bytes: self.bytes, ..Counted::default() }
    }

    pub fn ios(&self) -> u64 {
        self.ios
    }

    /// The direction for the document; `wanted` as given to `new`, `measured_ns` as it turned out.
    pub fn finish(mut self, wanted: Wanted, measured_ns: u64) -> Direction {
        // Nothing is recent any more.
        self.take_recent(|_, _| ());
        self.take_recent_responses(|_, _| ());
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
            sizes: self.sizes.into_iter().map(SizeCount::finish).collect(),
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
    /// Rows of a slice: reads and writes by latency; under a rate also reads and writes by response time.
    rows: usize,
    /// What comes after the result's last round is counted but not of it.
    is_in_rounds: bool,
    /// The buckets of the rows of the first slice, of those of the next one, and so on.
    counts: Box<[AtomicU64]>,
}

/// Rows of a slice with latencies, and of one with response times as well.
const ROWS: usize = 2;
const ROWS_WITH_RESPONSES: usize = 4;

/// The tables of a time span.
#[derive(Debug, Default)]
pub struct Tables(Vec<Arc<Table>>);

impl Tables {
    /// For so many threads, of which no more run at once than there are `processors`; with response times where
    /// there is a schedule. All memory is taken here.
    pub fn new(lengths: &Lengths, threads: usize, processors: usize, has_schedule: bool) -> Self {
        let rows = if has_schedule { ROWS_WITH_RESPONSES } else { ROWS };
        let slice_ns = lengths.dividing_rounds(slice_ns(lengths.result_ns()));
        let slices = lengths.duration_ns.div_ceil(slice_ns) as usize;
        if slices == 0 {
            return Tables::none();
        }
        let mut tables = Vec::new();
        for _ in 0..threads.min(processors).div_ceil(THREADS_PER_TABLE).max(1) {
            let counts = (0..slices * rows * BUCKETS).map(|_| AtomicU64::new(0)).collect();
            let is_in_rounds = lengths.rounds.is_some();
            tables.push(Arc::new(Table { slice_ns, slices, rows, is_in_rounds, counts }));
        }
        Tables(tables)
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

    fn row(&self, row: usize) -> Slice {
        let mut sums = vec![0; BUCKETS];
        for table in &self.0 {
            for (sum, count) in sums.iter_mut().zip(&table.counts[row * BUCKETS..]) {
                *sum += count.load(Ordering::Relaxed);
            }
        }
        Slice::of(&sums)
    }

    /// The sum of all latencies, of the time that was really measured; none without latencies or without measured time.
    pub fn sum(&self, cut: Cut) -> Option<LatencySlices> {
        self.sum_of_rows(cut, 0)
    }

    /// The sum of all response times; none without a schedule.
    pub fn sum_of_responses(&self, cut: Cut) -> Option<LatencySlices> {
        self.sum_of_rows(cut, ROWS)
    }

    /// The sum of the rows of reads and writes that begin with row `first_row` of each slice.
    fn sum_of_rows(&self, cut: Cut, first_row: usize) -> Option<LatencySlices> {
        let first = self.0.first()?;
        if cut.measured_ns == 0 || first_row >= first.rows {
            return None;
        }
        let skipped = (cut.skipped_ns / first.slice_ns) as usize;
        let begun = cut.measured_ns.div_ceil(first.slice_ns) as usize;
        let end = if first.is_in_rounds { (skipped + begun).min(first.slices) } else { first.slices };
        let mut slices: Vec<[Slice; 2]> = Vec::with_capacity(first.slices);
        for slice in skipped..end {
            let reads = slice * first.rows + first_row;
            slices.push([self.row(reads), self.row(reads + 1)]);
        }
        // A run that was stopped has fewer, but every I/O that it counted is in one.
        let used = slices.iter().rposition(|both| both.iter().any(|slice| *slice != Slice::default()));
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
            let row = (table.rows * self.slice + direction) * BUCKETS;
            counter.take_recent(|bucket, count| {
                table.counts[row + bucket].fetch_add(count, Ordering::Relaxed);
            });
            if table.rows > ROWS {
                counter.take_recent_responses(|bucket, count| {
                    table.counts[row + ROWS * BUCKETS + bucket].fetch_add(count, Ordering::Relaxed);
                });
            }
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
    pub fn for_lengths(lengths: &Lengths) -> Self {
        let series_ns = lengths.dividing_rounds(interval_ns(lengths.result_ns()));
        let parts = parts(series_ns);
        let interval_ns = series_ns / parts;
        let planned = lengths.duration_ns.checked_div(interval_ns).unwrap_or(0) as usize;
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
    cut: Cut,
) -> Option<(Timeline, Option<FineSeries>)> {
    let (mut sum, mut parts): (Option<Timeline>, usize) = (None, 1);
    for buckets in workers.filter(|buckets| buckets.planned > 0) {
        let skipped = (cut.skipped_ns / buckets.interval_ns) as usize;
        let whole = buckets.planned.min((cut.measured_ns / buckets.interval_ns) as usize);
        parts = buckets.parts as usize;
        let timeline = sum.get_or_insert_with(|| Timeline {
            interval_ns: buckets.interval_ns,
            reads: vec![0; whole],
            writes: vec![0; whole],
        });
        let mut before =
            skipped.checked_sub(1).and_then(|last| buckets.counted.get(last)).copied().unwrap_or_default();
        for (index, counted) in buckets.counted.iter().skip(skipped).take(whole).enumerate() {
            timeline.reads[index] += counted[0] - before[0];
            timeline.writes[index] += counted[1] - before[1];
            before = *counted;
        }
    }
    let fine = sum.filter(|timeline| !timeline.reads.is_empty())?;
    if parts == 1 {
        return Some((fine, None));
    }
    let interval_ns = fine.interval_ns * parts as u64;
    let [reads, writes] = [&fine.reads, &fine.writes]
        .map(|counts| counts.chunks_exact(parts).map(|part| part.iter().sum()).collect::<Vec<u64>>());
    let series = Timeline { interval_ns, reads, writes };
    let completed = fine.reads.iter().zip(&fine.writes).map(|(reads, writes)| reads + writes).collect();
    let fine = FineSeries { interval_ns: fine.interval_ns, completed };
    (!series.reads.is_empty()).then_some((series, Some(fine)))
}

/// More threads than this are spread over the processors all the time, and their places would fill the document.
const THREADS_TOLD: usize = 64;

/// On which processors the free threads ran, in the intervals of the series; the thread's number stands before its
/// buckets. `None` when no thread is free, or too many are.
pub fn processors<'a>(workers: impl Iterator<Item = (u32, &'a Buckets)>, cut: Cut) -> Option<Processors> {
    let free: Vec<(u32, &Buckets)> = workers.filter(|(_, buckets)| buckets.is_free).collect();
    let parts = free.first()?.1.parts;
    let interval_ns = free.first()?.1.interval_ns * parts;
    let whole = cut.measured_ns.checked_div(interval_ns)? as usize;
    let skipped = (cut.skipped_ns / interval_ns) as usize;
    if free.len() > THREADS_TOLD || whole == 0 {
        return None;
    }
    let mut threads = Vec::new();
    for (id, buckets) in free {
        let points = buckets.processors.chunks_exact(parts as usize);
        threads.push(ThreadProcessors {
            id,
            processors: points.skip(skipped).take(whole).map(most_frequent).collect(),
        });
    }
    Some(Processors { interval_ns, threads })
}

/// What occurs most often; of equals the one that came first.
fn most_frequent(of: &[u32]) -> u32 {
    let values = of.iter().rev().copied();
    values.max_by_key(|value| of.iter().filter(|other| *other == value).count()).unwrap_or_default()
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
            Counters([(); 2].map(|()| Counter::new(wanted, true, false, &[])))
        }

        fn count(&mut self, direction: usize, ns: u64) {
            self.0[direction].record(4096, false, ns, || (0, 0));
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
        let (tables, mut counters) = (Tables::new(&Lengths::only(10 * S), 1, 1, false), Counters::new());
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
        let sum = tables.sum(Cut::all(10 * S)).expect("slices");
        assert_eq!((sum.slice_ns(), sum.slices().len(), sum.count()), (S / 20, 200, 4));
        assert_eq!((counts(&sum, 0)[0], counts(&sum, 1)[1], counts(&sum, 0)[21]), (1, 2, 1));
        assert_eq!(sum.slices()[1][1].buckets().collect::<Vec<_>>(), [(bucket_of(90_000), 2)]);
        assert_eq!(tables.sum(Cut::all(S)).map(|sum| sum.slices().len()), Some(22), "stopped, with all I/Os");
        assert_eq!(tables.sum(Cut::all(2 * S)).map(|sum| sum.slices().len()), Some(40));
        assert_eq!(tables.sum(Cut::all(0)), None);
    }

    #[test]
    fn under_a_rate_response_times_have_slices_of_their_own() {
        let wanted = Wanted { latency: true, intervals: None };
        let mut counters = [(); 2].map(|()| Counter::new(wanted, true, true, &[]));
        let tables = Tables::new(&Lengths::only(10 * S), 1, 1, true);
        let mut present = tables.of_thread(0);
        present.begin(0);
        counters[0].record(4096, false, 5_000, || (0, 90_000));
        present.close(S / 20, std::iter::once(counters.each_mut()));
        counters[1].record(4096, false, 6_000, || (0, 70_000));
        present.end(std::iter::once(counters.each_mut()));
        let latencies = tables.sum(Cut::all(10 * S)).expect("latencies");
        let responses = tables.sum_of_responses(Cut::all(10 * S)).expect("response times");
        let buckets = |sum: &LatencySlices, slice: usize, direction: usize| {
            sum.slices()[slice][direction].buckets().collect::<Vec<_>>()
        };
        assert_eq!(buckets(&latencies, 0, 0), [(bucket_of(5_000), 1)]);
        assert_eq!(buckets(&latencies, 1, 1), [(bucket_of(6_000), 1)]);
        assert_eq!(buckets(&responses, 0, 0), [(bucket_of(90_000), 1)]);
        assert_eq!(buckets(&responses, 1, 1), [(bucket_of(70_000), 1)]);
        assert_eq!((latencies.count(), responses.count()), (2, 2));
        assert_eq!(
            Tables::new(&Lengths::only(10 * S), 1, 1, false).sum_of_responses(Cut::all(S)),
            None,
            "nothing is scheduled"
        );
    }

    #[test]
    fn what_comes_after_the_last_slice_belongs_to_it_and_costs_no_edges() {
        let (tables, mut counters) = (Tables::new(&Lengths::only(S), 1, 1, false), Counters::new());
        let mut present = tables.of_thread(0);
        present.begin(0);
        present.close(S + 5, counters.all());
        assert_eq!(present.end_ns(), u64::MAX);
        counters.count(0, 7);
        present.end(counters.all());
        assert_eq!(tables.sum(Cut::all(S)).map(|sum| counts(&sum, 0)[49]), Some(1));
    }

    #[test]
    fn threads_share_tables_by_eights_of_those_that_run_at_once() {
        let tables = |threads, processors| Tables::new(&Lengths::only(S), threads, processors, false).0.len();
        assert_eq!([tables(1, 1), tables(1000, 8), tables(9, 128), tables(1000, 128)], [1, 1, 2, 16]);
        let several = Tables::new(&Lengths::only(S), 20, 20, false);
        for id in 0..20 {
            let (mut present, mut counters) = (several.of_thread(id), Counters::new());
            present.begin(0);
            counters.count(0, 1000 * u64::from(id));
            present.end(counters.all());
        }
        assert_eq!(several.sum(Cut::all(S)).map(|sum| sum.count()), Some(20));
        let mut none = Tables::none().of_thread(3);
        none.begin(0);
        none.close(S, Counters::new().all());
        assert_eq!((none.end_ns(), Tables::none().sum(Cut::all(S))), (u64::MAX, None));
    }
}

#[cfg(test)]
mod tests_timeline {
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
        assert_eq!(timeline([Buckets::for_lengths(&Lengths::only(0))].iter(), Cut::all(0)), None);
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
        assert_eq!(timeline([buckets.clone()].iter(), Cut::all(40)), Some((wanted, None)));
        // Stopped after 25: the third interval is no whole one.
        let wanted = Timeline { interval_ns: 10, reads: vec![10, 4], writes: vec![2, 0] };
        assert_eq!(timeline([buckets.clone(), buckets.clone()].iter(), Cut::all(25)), Some((wanted, None)));
        // From the second interval on.
        let cut = Cut { skipped_ns: 10, measured_ns: 20 };
        let whole = timeline([buckets.clone()].iter(), Cut::all(40)).expect("a series").0;
        let part = timeline([buckets.clone()].iter(), cut).expect("a series").0;
        assert_eq!((&part.reads[..], &part.writes[..]), (&whole.reads[1..3], &whole.writes[1..3]));
        assert_eq!(timeline([buckets].iter(), Cut::all(9)), None);
    }

    #[test]
    fn a_stall_shows_in_the_parts_of_a_second() {
        const MS: u64 = 1_000_000;
        let mut buckets = Buckets::for_lengths(&Lengths::only(20 * NS_PER_S));
        buckets.begin(0);
        for tenth in 1..=200u64 {
            // 100 in each tenth of a second, but for 1.2 s to 1.5 s.
            let stalled = tenth.saturating_sub(12).min(3);
            buckets.close(tenth * 100 * MS, [(tenth - stalled) * 60, (tenth - stalled) * 40]);
        }
        let (series, fine) = timeline([buckets.clone()].iter(), Cut::all(20 * NS_PER_S)).expect("a series");
        assert_eq!((series.interval_ns, series.reads.len()), (NS_PER_S, 20));
        assert_eq!((&series.reads[..3], &series.writes[..3]), (&[600, 420, 600][..], &[400, 280, 400][..]));
        let fine = fine.expect("parts");
        assert_eq!((fine.interval_ns, fine.completed.len()), (100 * MS, 200));
        assert_eq!(fine.completed[11..16], [100, 0, 0, 0, 100]);
        // Whole seconds, and whole tenths.
        let (series, fine) = timeline([buckets.clone()].iter(), Cut::all(2550 * MS)).expect("a series");
        assert_eq!((series.reads.len(), fine.map(|fine| fine.completed.len())), (2, Some(25)));
        assert_eq!(timeline([buckets].iter(), Cut::all(900 * MS)), None);
    }

    #[test]
    fn processors_of_free_threads_are_told_in_the_intervals_of_the_series() {
        const MS: u64 = 1_000_000;
        let bound = Buckets::for_lengths(&Lengths::only(20 * NS_PER_S));
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
        let found =
            processors([(0, &bound), (7, &free)].into_iter(), Cut::all(4550 * MS)).expect("a free thread");
        assert_eq!((found.interval_ns, found.threads.len()), (NS_PER_S, 1));
        assert_eq!(found.threads[0], ThreadProcessors { id: 7, processors: vec![3, 3, 0, 1] });
        assert_eq!(processors([(0, &bound)].into_iter(), Cut::all(4550 * MS)), None, "no thread is free");
        assert_eq!(processors([(7, &free)].into_iter(), Cut::all(900 * MS)), None, "no whole interval");
        assert_eq!(processors((0..65).map(|id| (id, &free)), Cut::all(4550 * MS)), None, "too many");
    }

    #[test]
    fn a_free_thread_notes_where_it_runs() {
        let mut free = Buckets::new(10, 2).noting_processors();
        free.begin(0);
        free.close(10, [1, 0]);
        let allowed = truespd_platform::sys::thread::allowed_processors().unwrap();
        assert!(free.processors.len() == 1 && allowed.contains(&free.processors[0]), "{free:?}");
    }

    #[test]
    fn nothing_is_noted_after_the_last_interval() {
        let mut buckets = Buckets::new(10, 2);
        buckets.begin(0);
        buckets.close(1000, [3, 0]);
        assert!(!buckets.is_over(u64::MAX - 1), "cool-down costs nothing");
        buckets.end([3, 0]);
        assert_eq!(timeline([buckets].iter(), Cut::all(20)).map(|s| s.0.reads), Some(vec![3, 0]));
    }
}
