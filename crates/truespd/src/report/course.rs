//! What a time span did over time: rates, latencies, disks, phases and events as charts.

use crate::answer::axis::{Point, Spread, points, points_within};
use crate::answer::cells::{BLUE, Cells, ORANGE, PERCENTILES};
use crate::answer::chart::{Chart, Guide, Phase, SecondUnit, Series, Ticks, rate_unit};
use crate::answer::html::latency_words;
use truespd_core::measure::Histogram;
use truespd_core::measure::slices::Slice;
use truespd_core::profile::TimeSpan;
use truespd_core::result::{Direction, Document, LayerRole, Limit, LimitKind, Measured, TimeSpanResult};
use truespd_core::result::{Operations, metrics::completions};
use truespd_platform::text::{bytes, number, percent, rate};

/// A program that stood still for less is not marked.
const PAUSE_MIN_NS: u64 = 50_000_000;
/// Pauses that are marked, the longest ones.
const PAUSES_MAX: usize = 12;
/// Completions that must lie above a percentile for it to be more than single I/Os.
const ABOVE_MIN: f64 = 10.0;
/// Shares of processor time below this are not drawn.
const NOTICED: f64 = 0.01;
/// From this on, the time of a run is told in minutes.
const LONG_S: f64 = 600.0;
/// Bands of more lines than this cover each other.
const BANDS_MAX: usize = 2;
/// Columns of a heat map, at most.
const COLUMNS_MAX: u64 = 240;
/// Columns that it may have with any number of I/Os.
const COLUMNS_MIN: u64 = 20;
/// I/Os that make a column worth its room.
const IOS_PER_COLUMN: u64 = 100;
/// The percentile curve ends here: nine nines.
const NINES: u32 = 9;
/// Points of the curve for each nine.
const PER_NINE: u32 = 20;

/// Name of a run on the page, and the run.
pub(super) type Run<'d> = (&'d str, &'d Document);

/// One measured time span of a document.
pub(super) struct Course<'d> {
    /// The document, and the time span where it has several.
    pub name: String,
    /// Place of the time span in the document.
    pub place: usize,
    pub document: &'d Document,
    pub span: &'d TimeSpan,
    pub measured: &'d Measured,
}

/// Something that happened while the time was measured.
pub(super) struct Event {
    /// Seconds since the measured time began.
    pub at_s: f64,
    pub says: String,
}

/// The measured time spans of a document; `name` is empty where the page has no other.
pub(super) fn courses<'d>(name: &str, document: &'d Document) -> Vec<Course<'d>> {
    let mut courses = Vec::new();
    let spans = document.profile.time_spans.iter().zip(&document.time_spans);
    for (place, (span, result)) in spans.enumerate() {
        let TimeSpanResult::Measured(measured) = result else { continue };
        let name = match (document.time_spans.len(), name) {
            (1, name) => name.to_string(),
            (_, "") => format!("Time span {}", place + 1),
            (_, name) => format!("{name}, time span {}", place + 1),
        };
        courses.push(Course { name, place, document, span, measured });
    }
    courses
}

/// Seconds: `0 s`, `2.5 s`, `3600 s`.
pub(super) fn seconds(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{} s", if text == "-0" { "0" } else { text })
}

/// The same for long runs: `10 min`, `10 min 5 s`.
fn minutes(value: f64) -> String {
    let (whole, rest) = ((value / 60.0).trunc(), value % 60.0);
    match (whole == 0.0, rest.abs() < 0.005) {
        (true, false) => seconds(rest),
        (_, true) => format!("{whole:.0} min"),
        (false, false) => format!("{whole:.0} min {}", seconds(rest.abs())),
    }
}

/// An empty chart over the measured time, with phases and events where there is one course.
pub(super) fn over_time(title: &str, y_name: &str, show_y: fn(f64) -> String, courses: &[Course]) -> Chart {
    let mut chart = Chart::new(title, "measured time", y_name, seconds, show_y);
    let end = courses.iter().map(|course| course.measured.test_time_s).fold(0.0, f64::max);
    chart.x_within = Some([0.0, end]);
    if end >= LONG_S {
        (chart.show_x, chart.x_unit) = (minutes, 60.0);
    }
    if let [course] = courses {
        chart.phases = course.phases();
        chart.marks = course.events().iter().map(|event| event.at_s).collect();
    }
    chart
}

/// The charts of rates and latencies over time, one line for each course; reads and writes apart where there
/// is one course.
pub(super) fn rates_and_latencies(courses: &[Course]) -> Vec<Chart> {
    let mut charts = rates(courses);
    charts.extend(latencies(courses));
    charts
}

/// IOPS over time, with an axis of bytes per second where all I/Os have one size; otherwise those have a chart.
pub(super) fn rates(courses: &[Course]) -> Vec<Chart> {
    let mut iops = over_time("IOPS over time", "I/Os per second", number, courses);
    let mut throughput = over_time("Throughput over time", "bytes per second", rate, courses);
    throughput.unit = rate_unit;
    for course in courses {
        for (operations, name) in course.lines(courses.len() == 1) {
            let (rates, interval_s) = course.rates(operations);
            iops.series.push(Series::new(&name, points(&rates, None, interval_s)));
            let (rates, interval_s) = course.throughput(operations);
            throughput.series.push(Series::new(&name, points(&rates, None, interval_s)));
        }
    }
    if let Some(times) = only_size(courses) {
        let name = "throughput";
        iops.second = Some(SecondUnit { name, times: times as f64, show: rate, unit: rate_unit });
        iops.title = "IOPS and throughput over time".into();
        throughput.series.clear();
    }
    for chart in [&mut iops, &mut throughput] {
        let mut points = chart.series.iter().flat_map(|series| &series.points);
        if points.any(|point| point.range[0] != point.range[1]) {
            chart.about =
                "Each point stands for several intervals; the band reaches from their smallest value to \
                           their largest."
                    .into();
        }
    }
    if let [course] = courses
        && !course.phases().is_empty()
    {
        let grey = "Nothing is recorded in the grey times: warm-up and cool-down.";
        iops.about = format!("{} {grey}", iops.about).trim_start().to_string();
    }
    for chart in [&mut iops, &mut throughput] {
        chart.series.retain(|series| !series.points.is_empty());
        chart.has_bands = chart.series.len() <= BANDS_MAX;
    }
    vec![iops, throughput]
}

/// Bytes of every I/O, where they are the same.
fn only_size(courses: &[Course]) -> Option<u64> {
    let mut sizes = courses.iter().flat_map(|course| &course.span.targets).map(|target| target.block_bytes);
    let first = sizes.next()?;
    sizes.all(|size| size == first).then_some(first)
}

/// Latency over time. Reads and writes of one course have a chart each, of one scale: their bands would cover each
/// other. Several courses share a chart, which has lines only.
fn latencies(courses: &[Course]) -> Vec<Chart> {
    let what = "mean, smallest and largest latency";
    let mut all = over_time("Latency over time", what, latency_words, courses);
    all.spread = Spread::Logarithmic;
    for course in courses {
        for (operations, name) in course.lines(courses.len() == 1) {
            let points = course.latencies(operations);
            if !points.is_empty() {
                all.series.push(Series::new(name, points));
            }
        }
    }
    if courses.len() > 1 && all.series.len() > 1 {
        all.has_bands = false;
        all.y_name = "mean latency".into();
        all.about =
            "The line is the mean of each interval. The table below has its smallest and largest latency."
                .into();
        return vec![all];
    }
    let ranges: Vec<f64> =
        all.series.iter().flat_map(|series| &series.points).flat_map(|point| point.range).collect();
    let mut charts = Vec::new();
    for (place, series) in all.series.iter().enumerate() {
        let mut chart = all.clone();
        chart.title = format!("Latency over time: {}", series.name);
        chart.first_colour = place;
        chart.series = vec![series.clone()];
        chart.y_within = ranges.clone();
        chart.about =
            "The line is the mean of each interval; the band reaches from its fastest to its slowest I/O."
                .into();
        charts.push(chart);
    }
    charts
}

/// Heat maps of latencies: one for each course, or for its reads and its writes where there is one course. Maps of
/// several courses line up.
pub(super) fn heat_maps(courses: &[Course]) -> Vec<Chart> {
    let mut charts = Vec::new();
    for (place, course) in courses.iter().enumerate() {
        for (operations, name) in course.lines(courses.len() == 1) {
            charts.extend(heat_map(courses, place, operations, &name));
        }
    }
    charts
}

/// Of the course at that place; none without latencies over time.
fn heat_map(courses: &[Course], place: usize, operations: Operations, name: &str) -> Option<Chart> {
    let course = &courses[place];
    let ios: u64 = course.directions(operations).map(|direction| direction.ios).sum();
    let columns_max = (ios / IOS_PER_COLUMN).clamp(COLUMNS_MIN, COLUMNS_MAX) as usize;
    let slices = course.measured.latency_over_time.as_ref()?.at_most(columns_max);
    let (hue, what, word) = match operations {
        Operations::Reads => (BLUE, "reads", "reads"),
        Operations::Writes => (ORANGE, "writes", "writes"),
        Operations::All => (BLUE, "I/Os", "all"),
    };
    let mut columns = Vec::new();
    for [reads, writes] in slices.slices() {
        let mut column = Slice::default();
        if operations != Operations::Writes {
            column.add(reads);
        }
        if operations != Operations::Reads {
            column.add(writes);
        }
        columns.push(column);
    }
    let cells = Cells {
        id: format!("heat-{place}-{word}"),
        what: what.into(),
        hue,
        column_s: slices.slice_ns() as f64 / 1e9,
        end_s: course.measured.test_time_s,
        columns,
    };
    if cells.most() == 0 {
        return None;
    }
    let title = format!("Latency heat map: {name}");
    let mut chart = over_time(&title, "latency", latency_words, courses);
    chart.marks = course.events().iter().map(|event| event.at_s).collect();
    chart.about = format!(
        "Each column is {}, and each cell a range of latencies: the stronger its colour, the more {what} took so long. \
         The scale stretches small counts, so that a single one is seen. The thick line is the median, the thin one \
         the 99th percentile.",
        latency_words(slices.slice_ns() as f64)
    );
    for (name, fraction) in ["p50", "p99"].into_iter().zip(PERCENTILES) {
        chart.series.push(Series::new(name, cells.percentiles(fraction, cells.columns.len())));
    }
    chart.cells = Some(cells);
    Some(chart)
}

/// The charts below those: percentiles of the whole time, and what others did meanwhile.
pub(super) fn percentiles_and_others(courses: &[Course]) -> Vec<Chart> {
    vec![percentiles(courses), beside_disks(courses), neighbours(courses)]
}

/// Where 1 - 10^-x of the I/Os lie below.
fn percentile_words(nines: f64) -> String {
    let above = 100.0 * 10f64.powf(-nines);
    let decimals = (nines.ceil() as usize).saturating_sub(1).max(1);
    let text = format!("{:.decimals$}", 100.0 - above);
    format!("{} %", if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text })
}

/// The same for a tick: nobody counts more than five nines.
fn tick_words(nines: u32) -> String {
    if nines > 5 { format!("{nines} nines") } else { percentile_words(f64::from(nines)) }
}

/// Latency against the share of I/Os below it, up to nine nines.
fn percentiles(courses: &[Course]) -> Chart {
    let mut chart = Chart::new(
        "Latency percentiles",
        "I/Os that took no longer",
        "latency",
        percentile_words,
        latency_words,
    );
    chart.spread = Spread::Logarithmic;
    chart.ticks = Ticks::Named((0..=NINES).map(|nines| (f64::from(nines), tick_words(nines))).collect());
    chart.about = format!(
        "Each step to the right leaves a tenth of the I/Os above it. The line is dashed where fewer than {ABOVE_MIN} \
         I/Os lie above, and ends where there is none: a longer run tells more."
    );
    for course in courses {
        for (operations, name) in course.lines(courses.len() == 1) {
            let mut histogram = Histogram::new();
            for direction in course.directions(operations) {
                if let Some(latency) = &direction.latency {
                    histogram.merge(latency);
                }
            }
            if histogram.count() == 0 {
                continue;
            }
            let most = (histogram.count() as f64).log10();
            let percentiles = histogram.percentiles();
            let mut points = Vec::new();
            for step in 0..=NINES * PER_NINE {
                let x = f64::from(step) / f64::from(PER_NINE);
                if x <= most {
                    points.push(Point::at(x, percentiles.ns(1.0 - 10f64.powf(-x)) as f64));
                }
            }
            chart.series.push(Series { name, points, solid_until: most - ABOVE_MIN.log10() });
        }
    }
    let limits = chart.series.iter().map(|series| series.solid_until).filter(|limit| *limit > 0.0);
    let limit = limits.reduce(f64::min).map(|at| Guide { at, name: format!("fewer than {ABOVE_MIN} above") });
    chart.guides.extend(limit);
    chart
}

/// What completed beside what the disks moved.
fn beside_disks(courses: &[Course]) -> Chart {
    let title = "The application beside the disks";
    let mut chart = over_time(title, "bytes per second", rate, courses);
    chart.unit = rate_unit;
    let [course] = courses else { return chart };
    let mut disks = Vec::new();
    for disk in course.measured.evidence.disks.iter().filter(|disk| !disk.intervals.is_empty()) {
        let interval_s = disk.interval_ns as f64 / 1e9;
        let moved = disk.intervals.iter().map(|counts| counts.read_bytes + counts.write_bytes);
        let rates: Vec<f64> = moved.map(|bytes| bytes as f64 / interval_s).collect();
        disks.push(Series::new(format!("{} (its counters)", disk.name), points(&rates, None, interval_s)));
    }
    if disks.is_empty() {
        return chart;
    }
    let (rates, interval_s) = course.throughput(Operations::All);
    // Curves of one length of interval can be compared by eye.
    let disk_s =
        course.measured.evidence.disks.iter().map(|disk| disk.interval_ns as f64 / 1e9).fold(0.0, f64::max);
    let joined = ((disk_s / interval_s).round() as usize).clamp(1, rates.len().max(1));
    let means = rates.chunks_exact(joined).map(|part| part.iter().sum::<f64>() / joined as f64);
    let (rates, interval_s) = (means.collect::<Vec<_>>(), interval_s * joined as f64);
    chart.series.push(Series::new("completed by the test", points(&rates, None, interval_s)));
    chart.series.extend(disks);
    chart.about =
        "Where the disks move less than what completed, a cache answered; where they move more, a layer \
                   between or another program adds to it."
            .into();
    chart
}

/// Processor time that the test's threads waited for, and that other virtual machines took.
fn neighbours(courses: &[Course]) -> Chart {
    let mut chart = over_time("Processor time that others took", "share of the time", percent, courses);
    let [course] = courses else { return chart };
    let Some(waits) = &course.measured.evidence.processor_waits else { return chart };
    let (threads, processors) = (course.measured.threads.len(), course.measured.cpu.len());
    for (name, times, count) in [
        ("the test's threads waited for a processor", &waits.waiting_ns, threads),
        ("taken by other virtual machines", &waits.stolen_ns, processors),
    ] {
        let whole_ns = waits.interval_ns.max(1) as f64 * count.max(1) as f64;
        let shares: Vec<f64> = times.iter().map(|ns| *ns as f64 / whole_ns).collect();
        if shares.iter().any(|share| *share >= NOTICED) {
            chart.series.push(Series::new(name, points(&shares, None, waits.interval_ns as f64 / 1e9)));
        }
    }
    chart.about = "What other programs and other virtual machines used is missing in the rates above.".into();
    chart
}

impl<'d> Course<'d> {
    /// All reads and writes in one, or each that completed I/Os on its own.
    pub fn lines(&self, apart: bool) -> Vec<(Operations, String)> {
        if !apart {
            return vec![(Operations::All, self.name.clone())];
        }
        let mut lines = Vec::new();
        for (operations, name) in [(Operations::Reads, "reads"), (Operations::Writes, "writes")] {
            if self.directions(operations).any(|direction| direction.ios > 0) {
                lines.push((operations, name.to_string()));
            }
        }
        lines
    }

    /// The reads, the writes or both of all threads and targets.
    pub fn directions(&self, operations: Operations) -> impl Iterator<Item = &'d Direction> {
        self.with_paths(operations).map(|(_, direction)| direction)
    }

    fn with_paths(&self, operations: Operations) -> impl Iterator<Item = (&'d str, &'d Direction)> {
        let targets = self.measured.threads.iter().flat_map(|thread| &thread.targets);
        targets.flat_map(move |target| {
            let read = (operations != Operations::Writes).then_some(&target.read);
            let write = (operations != Operations::Reads).then_some(&target.write);
            read.into_iter().chain(write).map(|direction| (target.path.as_str(), direction))
        })
    }

    /// Completions per second in each interval, and its length in seconds.
    fn rates(&self, operations: Operations) -> (Vec<f64>, f64) {
        let (counts, interval_s) = completions(self.measured, operations);
        (counts.into_iter().map(|count| count / interval_s).collect(), interval_s)
    }

    /// Bytes per second in each interval, and its length in seconds: completions times the block size, of
    /// each target where the intervals tell of targets. Nothing where several block sizes cannot be told
    /// apart.
    fn throughput(&self, operations: Operations) -> (Vec<f64>, f64) {
        let mut sizes: Vec<u64> = self.span.targets.iter().map(|target| target.block_bytes).collect();
        sizes.dedup();
        if let [size] = sizes[..] {
            let (rates, interval_s) = self.rates(operations);
            return (rates.into_iter().map(|rate| rate * size as f64).collect(), interval_s);
        }
        let mut sum: Vec<f64> = Vec::new();
        let mut interval_s = 1.0;
        for (path, direction) in self.with_paths(operations) {
            // Targets of other hosts of a sum are not in its profile.
            let target = self.span.targets.iter().find(|target| target.path == path);
            let size = target
                .map(|target| target.block_bytes)
                .or_else(|| direction.bytes.checked_div(direction.ios));
            let (Some(intervals), Some(size)) = (&direction.intervals, size) else {
                continue;
            };
            interval_s = intervals.interval_ns() as f64 / 1e9;
            // Without the interval that the end of the measured time cuts short.
            let whole = (self.measured.test_time_s * 1e9 / intervals.interval_ns() as f64 + 1e-6) as usize;
            sum.resize(sum.len().max(intervals.valid().min(whole)), 0.0);
            for (sum, interval) in sum.iter_mut().zip(intervals.series()) {
                *sum += interval.count as f64 * size as f64 / interval_s;
            }
        }
        (sum, interval_s)
    }

    /// Mean, smallest and largest latency over time, of `-D` with `-L`.
    fn latencies(&self, operations: Operations) -> Vec<Point> {
        if !self.span.measure_latency {
            return Vec::new();
        }
        let mut all = self.directions(operations).filter_map(|direction| direction.intervals.as_ref());
        let Some(mut sum) = all.next().cloned() else { return Vec::new() };
        all.for_each(|intervals| sum.merge(intervals));
        let (mut means, mut ranges, mut counts) = (Vec::new(), Vec::new(), Vec::new());
        for interval in &sum.series()[..sum.valid()] {
            means.push(interval.latency_mean_ns());
            ranges.push([interval.min_ns as f64, interval.max_ns as f64]);
            counts.push(interval.count);
        }
        points_within(&means, &ranges, Some(&counts), sum.interval_ns() as f64 / 1e9)
    }

    /// Warm-up, measured time and cool-down.
    fn phases(&self) -> Vec<Phase> {
        let end = self.measured.test_time_s;
        let (warmup, cooldown) = (f64::from(self.span.warmup_s), f64::from(self.span.cooldown_s));
        let all = [
            Phase { name: "warm-up", from: -warmup, to: 0.0 },
            Phase { name: "cool-down", from: end, to: end + cooldown },
        ];
        all.into_iter().filter(|phase| phase.to > phase.from).collect()
    }

    /// What happened meanwhile, in order.
    pub fn events(&self) -> Vec<Event> {
        let evidence = &self.measured.evidence;
        let mut events = Vec::new();
        for change in evidence.limit_changes.iter().flatten() {
            let mut words = Vec::new();
            words.extend(change.gone.iter().map(|limit| format!("no longer {}", limit_words(limit))));
            words.extend(change.new.iter().map(|limit| format!("from now on {}", limit_words(limit))));
            let says = format!("a limit was changed: {}", words.join("; "));
            events.push(Event { at_s: change.seen_ns as f64 / 1e9, says });
        }
        for change in evidence.way_changes.iter().flatten() {
            let what = match change.after.as_ref().map(|details| details.role) {
                None => "the device was gone",
                Some(LayerRole::Array | LayerRole::RaidVolume) => "its disks or its own work changed",
                Some(_) => "its paths or copies changed",
            };
            let says = format!("{}: {what}", change.device);
            events.push(Event { at_s: change.seen_ns as f64 / 1e9, says });
        }
        let ticks = evidence.ticks.iter().flat_map(|ticks| &ticks.late);
        let mut pauses: Vec<_> = ticks.filter(|tick| tick.late_ns >= PAUSE_MIN_NS).collect();
        pauses.sort_by_key(|tick| std::cmp::Reverse(tick.late_ns));
        for tick in pauses.into_iter().take(PAUSES_MAX) {
            let says = format!("the program stood still for {}", latency_words(tick.late_ns as f64));
            events.push(Event { at_s: tick.due_ns as f64 / 1e9, says });
        }
        events.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
        events
    }
}

/// `io.max of /a: 1,000 reads per second on vda`.
pub(super) fn limit_words(limit: &Limit) -> String {
    let value = limit.value as f64;
    let much = match limit.what {
        LimitKind::ReadIops => format!("{} reads per second", number(value)),
        LimitKind::WriteIops => format!("{} writes per second", number(value)),
        LimitKind::ReadBytesPerSecond => format!("{} read", rate(value)),
        LimitKind::WriteBytesPerSecond => format!("{} written", rate(value)),
        LimitKind::CpuMillis => format!("{} processors", number(value / 1000.0)),
        LimitKind::MemoryBytes => format!("{} of memory", bytes(value)),
    };
    let device = limit.device.as_ref().map_or(String::new(), |device| format!(" on {device}"));
    format!("{} of {}: {much}{device}", limit.by, limit.group)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_written_as_people_know_them() {
        let words: Vec<String> = [0.0, 1.0, 2.0, 3.0, 9.0].map(percentile_words).to_vec();
        assert_eq!(words, ["0 %", "90 %", "99 %", "99.9 %", "99.9999999 %"]);
        assert_eq!(percentile_words(2f64.log10()), "50 %");
    }

    #[test]
    fn long_times_are_minutes() {
        let words = [0.0, -30.0, 600.0, 605.5, -90.0].map(minutes);
        assert_eq!(words, ["0 min", "-30 s", "10 min", "10 min 5.5 s", "-1 min 30 s"]);
    }

    #[test]
    fn seconds_are_short() {
        assert_eq!([0.0, -1.0, 2.5, 3600.0, -0.001].map(seconds), ["0 s", "-1 s", "2.5 s", "3600 s", "0 s"]);
    }
}
