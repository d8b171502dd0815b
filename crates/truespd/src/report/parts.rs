//! What the parts of a run did: its disks, targets, threads and processors, how much was in flight, and the hosts of a
//! sum.

use super::course::{Course, over_time};
use crate::answer::axis::Point;
use crate::answer::chart::{Chart, Series};
use crate::answer::html::{figures, first_large, folded, latency_words, note, paragraph};
use crate::answer::table::{Cell, Table};
use truespd_core::result::hosts::{
    HostFigure, HostRow, Outlier, ROWS_MAX, Spread, folded as folded_rows, names, outliers, rows,
};
use truespd_core::result::metrics::Metric;
use truespd_core::result::{DirectionSummary, Measured, Summary, ThreadResult};
use truespd_platform::text::{bytes, grouped, number, percent, rate};

/// With more time spans than this, their tables are folded up.
const OPEN_MAX: usize = 2;
/// Hosts that are named as far from the others.
const OFF_MAX: usize = 8;
/// Lines of a chart, at most: it has so many colours.
const LINES_MAX: usize = 8;

/// The tables of all time spans, those of many folded up.
pub(super) fn of_all(courses: &[Course]) -> String {
    let mut out = String::new();
    for course in courses {
        if courses.len() <= OPEN_MAX {
            out += &tables(course, courses.len() == 1);
        } else {
            out += &folded(&course.name, &tables(course, true));
        }
    }
    out
}

/// The tables of a time span; their captions name it unless it is the only one.
fn tables(course: &Course, is_only: bool) -> String {
    let mut out = String::new();
    for mut table in [
        disks(course),
        drives(course),
        per_target(course),
        per_size(course),
        per_thread(course),
        per_node(course),
        per_processor(course),
    ] {
        table.caption =
            if is_only { first_large(&table.caption) } else { format!("{}: {}", course.name, table.caption) };
        out += &table.html();
    }
    out
}

/// A row of texts behind a bar that ends where the largest of all values does.
fn push_with_bar<const N: usize>(table: &mut Table, name: String, value: f64, most: f64, texts: [String; N]) {
    let mut cells = vec![Cell::Bar(if most > 0.0 { value / most } else { 0.0 })];
    cells.extend(texts.map(Cell::Text));
    table.push(name, cells);
}

/// The sum of what one thread, or all threads on one target, did.
fn sum(course: &Course, thread_id: Option<u32>, path: Option<&str>) -> DirectionSummary {
    let mut part = Measured { test_time_s: course.measured.test_time_s, ..Measured::default() };
    for thread in &course.measured.threads {
        if thread_id.is_some_and(|id| id != thread.id) {
            continue;
        }
        let mut targets = thread.targets.clone();
        targets.retain(|target| path.is_none_or(|path| path == target.path));
        if !targets.is_empty() {
            part.threads.push(ThreadResult { targets, ..thread.clone() });
        }
    }
    Summary::of(&part).total
}

/// A table of parts by what each of them did.
fn by_part(caption: &str, what: &str, parts: Vec<(String, DirectionSummary)>) -> Table {
    let mut table = Table::new(caption, [what, "", "IOPS", "throughput", "mean", "p99", "longest"]);
    let most = parts.iter().map(|(_, sum)| sum.iops).fold(0.0, f64::max);
    for (name, sum) in parts {
        let [iops, throughput, mean, _, p99, _, longest] = figures(&sum);
        push_with_bar(&mut table, name, sum.iops, most, [iops, throughput, mean, p99, longest]);
    }
    table
}

fn per_target(course: &Course) -> Table {
    let mut paths: Vec<&str> = Vec::new();
    for target in course.measured.threads.iter().flat_map(|thread| &thread.targets) {
        if !paths.contains(&target.path.as_str()) {
            paths.push(&target.path);
        }
    }
    // Of many hosts with names of their own the hosts have rows.
    if course.document.sources.len() > ROWS_MAX && paths.len() > ROWS_MAX {
        paths.clear();
    }
    let parts = paths.iter().map(|path| (path.to_string(), sum(course, None, Some(path))));
    by_part("per target", "target", parts.collect())
}

/// Of mixes.
fn per_size(course: &Course) -> Table {
    let head = ["size", "", "% of I/Os", "% of bytes", "IOPS", "throughput", "mean", "p50", "p99", "longest"];
    let mut table = Table::new("per size", head);
    for size in Summary::of(course.measured).total.sizes {
        let times = size.latency.as_ref();
        let [mean, p50, p99, longest] = [Metric::MEAN, Metric::P50, Metric::P99, Metric::MAX].map(|metric| {
            times.and_then(|times| metric.of_latencies(times)).map_or("-".to_string(), latency_words)
        });
        let [ios, of_bytes] = [size.ios_percent, size.bytes_percent].map(|part| percent(part / 100.0));
        let texts = [ios, of_bytes, number(size.iops), rate(size.bytes_per_s), mean, p50, p99, longest];
        push_with_bar(&mut table, bytes(size.block_bytes as f64), size.ios_percent, 100.0, texts);
    }
    table
}

/// Of a sum with the host of each; nothing where all threads are one, or those of many hosts: the hosts have
/// rows of their own.
fn per_thread(course: &Course) -> Table {
    let sources = &course.document.sources;
    let threads = &course.measured.threads;
    let mut parts = Vec::new();
    if sources.len() <= 1 || (threads.len() >= 2 && sources.len() <= ROWS_MAX) {
        let hosts = if sources.len() > 1 { names(sources) } else { Vec::new() };
        for thread in threads {
            let name = match thread.source.and_then(|source| hosts.get(source as usize)) {
                Some(host) => format!("thread {} on {host}", thread.id),
                None => format!("thread {}", thread.id),
            };
            parts.push((name, sum(course, Some(thread.id), None)));
        }
    }
    by_part("per thread", "thread", parts)
}

/// Where the machine has several memory nodes.
fn per_node(course: &Course) -> Table {
    let summary = Summary::with_nodes(course.measured, &course.document.system.topology);
    let mut parts = Vec::new();
    for node in summary.nodes {
        parts.push((format!("node {} ({} threads)", node.node, node.threads), node.total));
    }
    by_part("per memory node", "node", parts)
}

fn per_processor(course: &Course) -> Table {
    let mut table = Table::new("per processor", ["processor", "", "busy", "user", "kernel"]);
    for (processor, used) in course.document.system.topology.processors.iter().zip(&course.measured.cpu) {
        let texts = [used.usage(), used.user, used.kernel].map(|part| percent(part / 100.0));
        push_with_bar(&mut table, format!("processor {}", processor.cpu), used.usage(), 100.0, texts);
    }
    table
}

/// What completed beside what the disks below did, all programs' I/Os with it.
fn disks(course: &Course) -> Table {
    let mut table = Table::new(
        "application beside the disks",
        ["who", "", "IOPS", "throughput", "mean size", "in flight"],
    );
    let total = Summary::of(course.measured).total;
    let depth = course.measured.evidence.queue_depth.map(|depth| depth.reached);
    let mut rows = vec![("the test".to_string(), total.iops, total.bytes_per_s, depth)];
    for disk in course.measured.evidence.disks.iter().filter(|disk| disk.window_ns > 0) {
        let (total, seconds) = (&disk.total, disk.window_ns as f64 / 1e9);
        let iops = (total.reads + total.writes) as f64 / seconds;
        let bytes_per_s = (total.read_bytes + total.write_bytes) as f64 / seconds;
        let depth = total.queue_time_ns as f64 / disk.window_ns as f64;
        rows.push((disk.name.clone(), iops, bytes_per_s, Some(depth)));
    }
    if rows.len() == 1 {
        return table;
    }
    let most = rows.iter().map(|row| row.2).fold(0.0, f64::max);
    for (name, iops, bytes_per_s, depth) in rows {
        let mean = if iops > 0.0 { bytes(bytes_per_s / iops) } else { "-".to_string() };
        let texts = [number(iops), rate(bytes_per_s), mean, depth.map_or("-".to_string(), number)];
        push_with_bar(&mut table, name, bytes_per_s, most, texts);
    }
    table
}

/// What the drives said of themselves before the first I/O and after the last; of those that tell.
fn drives(course: &Course) -> Table {
    let mut table = Table::new(
        "the drives by their own account, from before the first I/O until after the last",
        [
            "drive",
            "temperature",
            "written to it",
            "to its medium",
            "write amplification",
            "throttled",
            "media errors",
        ],
    );
    for drive in course.measured.evidence.drives.iter().flatten() {
        let (Some(before), Some(after), Some(change)) = (&drive.before, &drive.after, &drive.change) else {
            continue;
        };
        let temperatures = before.temperature_c.zip(after.temperature_c);
        let texts = [
            temperatures.map(|(before, after)| format!("{before} to {after} °C")),
            change.written_bytes.map(|written| bytes(written as f64)),
            change.media_written_bytes.map(|written| bytes(written as f64)),
            change.write_amplification.map(number),
            change.throttled_s.map(|seconds| format!("{} s", grouped(seconds))),
            change.media_errors.map(grouped),
        ];
        let cells = texts.map(|text| Cell::Text(text.unwrap_or("-".to_string())));
        table.push(drive.name.clone(), cells.to_vec());
    }
    table
}

/// Mean requests in flight at the disks, by the kernel's account of their times, other programs' with them.
fn in_disks(measured: &Measured) -> Option<f64> {
    let disks = measured.evidence.disks.iter().filter(|disk| disk.window_ns > 0);
    disks.map(|disk| disk.total.queue_time_ns as f64 / disk.window_ns as f64).reduce(|a, b| a + b)
}

/// Mean I/Os in flight, counted, beside rate times latency.
pub(super) fn in_flight(courses: &[Course]) -> String {
    let mut table = Table::new(
        "I/Os in flight",
        ["result", "asked for", "counted", "rate × mean latency", "at the disks"],
    );
    for course in courses {
        let total = Summary::of(course.measured).total;
        let depth = course.measured.evidence.queue_depth;
        let by_latency = total.latency.as_ref().map(|times| {
            let product = total.iops * times.mean_ns / 1e9;
            format!("{}/s × {} = {}", number(total.iops), latency_words(times.mean_ns), number(product))
        });
        let counted = depth.filter(|depth| !depth.from_latency);
        let cells = vec![
            Cell::Text(depth.map_or("not known".into(), |depth| grouped(depth.asked))),
            Cell::figure(counted.map(|depth| depth.reached), number),
            Cell::Text(by_latency.unwrap_or_else(|| "no latencies (-L)".into())),
            Cell::Text(in_disks(course.measured).map_or("not known".into(), number)),
        ];
        let name = if course.name.is_empty() { "all threads" } else { &course.name };
        table.push(name, cells);
    }
    if table.rows.is_empty() {
        return String::new();
    }
    let has_latencies = courses.iter().any(|course| course.span.measure_latency);
    let with_latency = if has_latencies { " A test with -L counts none: its latencies tell." } else { "" };
    format!(
        "<p>The I/Os in flight are the rate times the mean latency. Fewer in flight than asked for: the threads of the \
         test did not keep the queue full. Fewer at the disks than in flight: a layer above the disks holds or answers \
         the rest.{with_latency}</p>{}",
        table.html()
    )
}

/// What the latencies of these time spans count from, where one has response times.
pub(super) fn about_times(courses: &[Course]) -> String {
    if !courses.iter().any(|course| Summary::of(course.measured).total.response.is_some()) {
        return String::new();
    }
    note(
        "Latencies of a test with a rate are response times: they begin when the rate (-g) scheduled the I/O. \
         Those in the charts begin when it was issued.",
    )
}

/// What each host of a sum did, and how far apart they are: a table and a sentence for each time span, and what is
/// missing; nothing for results of one run.
pub(super) fn hosts(courses: &[Course]) -> String {
    let mut out = String::new();
    for course in courses {
        out += &hosts_of_course(course, courses.len() == 1);
        if course.place == 0 {
            out += &missing_ranks(course);
        }
    }
    out
}

/// Ranks of a cluster run that left no result.
fn missing_ranks(course: &Course) -> String {
    let missing = &course.document.missing;
    if missing.is_empty() {
        return String::new();
    }
    let mut words: Vec<String> = missing.iter().take(ROWS_MAX).map(|rank| rank.words()).collect();
    if missing.len() > ROWS_MAX {
        words.push(format!("{} more", missing.len() - ROWS_MAX));
    }
    paragraph("", &format!("Missing: {}.", words.join("; ")))
}

fn hosts_of_course(course: &Course, is_only: bool) -> String {
    let document = course.document;
    let rows = rows(document, course.place);
    let Some(spread) = Spread::of(rows.iter().map(|row| row.iops)) else { return String::new() };
    if rows.len() < 2 {
        return String::new();
    }
    let name = if is_only { String::new() } else { format!("{}: ", course.name) };
    let ratio = spread.ratio().map_or(String::new(), |ratio| format!(" ({} times)", number(ratio)));
    let words = format!(
        "{name}{} results of {}, from {} to {} IOPS{ratio}; the median is {}.",
        rows.len(),
        document.host_words(),
        number(spread.least),
        number(spread.most),
        number(spread.median)
    );
    let mut out = paragraph("", &words);
    let mut named: Vec<String> =
        outliers(&rows).iter().map(|outlier| outlier_words(outlier, &rows)).collect();
    named.truncate(OFF_MAX);
    if !named.is_empty() {
        out += &paragraph("", &format!("Far from the others: {}.", named.join("; ")));
    }
    out += &host_chart(&format!("{name}IOPS over time by host"), course, &rows).html();
    out + &host_table(&format!("{name}hosts"), &rows, spread.most)
}

fn outlier_words(outlier: &Outlier, rows: &[HostRow]) -> String {
    let name = &rows[outlier.row].name;
    match outlier.figure {
        HostFigure::Iops => format!("{name} ({} IOPS)", number(outlier.value)),
        HostFigure::Latency => format!("{name} (mean latency {})", latency_words(outlier.value)),
    }
}

/// A line for each host; of many, the slowest and the fastest. Empty where fewer than two results hold I/Os over time.
fn host_chart(title: &str, course: &Course, rows: &[HostRow]) -> Chart {
    let mut chart = over_time(title, "I/Os completed per second", number, std::slice::from_ref(course));
    let mut lines: Vec<(&HostRow, Vec<Point>)> = Vec::new();
    for row in rows {
        let points = host_points(course, row).unwrap_or_default();
        if !points.is_empty() {
            lines.push((row, points));
        }
    }
    if lines.len() < 2 {
        return chart;
    }
    let mut about = vec!["Each line begins with the measured time of its host.".to_string()];
    let (all, ends) = (lines.len(), LINES_MAX / 2);
    if all > LINES_MAX {
        lines.sort_by(|(a, _), (b, _)| a.iops.total_cmp(&b.iops));
        lines.drain(ends..all - ends);
        about.push(format!("The {ends} slowest and the {ends} fastest of {all} are shown."));
    }
    if all < rows.len() {
        about.push(format!("{} of {} results hold no I/Os over time.", rows.len() - all, rows.len()));
    }
    chart.about = about.join(" ");
    chart.series = lines.into_iter().map(|(row, points)| Series::new(&row.name, points)).collect();
    chart
}

fn host_points(course: &Course, row: &HostRow) -> Option<Vec<Point>> {
    let span = course.document.sources[row.source].time_spans.get(course.place)?.as_ref()?;
    Some(span.series.as_ref()?.rates().into_iter().map(|[at_s, rate]| Point::at(at_s, rate)).collect())
}

fn host_table(caption: &str, rows: &[HostRow], most: f64) -> String {
    let head = ["host", "", "IOPS", "throughput", "mean", "p50", "p99", "longest", "late start", "verdict"];
    let mut table = Table::new(caption, head);
    let folded = folded_rows(rows);
    for row in folded.shown.iter().map(|&place| &rows[place]) {
        let times = row.times();
        let all = times.and_then(|times| times.all.as_ref());
        let [p50, p99, max] = match all {
            Some(all) => [all.p50_ns, all.p99_ns, all.max_ns].map(|ns| latency_words(ns as f64)),
            None => [(); 3].map(|()| "-".to_string()),
        };
        let [mean, late] = [times.map(|times| times.mean_ns), row.late_ns.map(|ns| ns as f64)]
            .map(|ns| ns.map_or("-".to_string(), latency_words));
        let texts = [number(row.iops), rate(row.bytes_per_s), mean, p50, p99, max, late];
        push_with_bar(&mut table, row.name.clone(), row.iops, most, texts);
        if let Some(cells) = table.rows.last_mut() {
            cells.push(Cell::Grade(row.grade));
        }
    }
    let mut out = table.html();
    if let Some((count, [least, most])) = folded.left_out {
        out += &note(&format!(
            "Not shown: {count} more hosts between {} and {} IOPS. The slowest, the fastest and those far from the \
             others are shown.",
            number(least),
            number(most)
        ));
    }
    out
}
