//! What the parts of a run did: its disks, targets, threads and processors, and how much was in flight.

use super::course::Course;
use super::figures::figures;
use super::html::escaped;
use super::table::{Cell, Table};
use super::words::first_large;
use truespd_core::result::hosts::{ROWS_MAX, names};
use truespd_core::result::{DirectionSummary, DiskActivity, Measured, Summary, ThreadResult};
use truespd_core::text::{bytes, duration_ns, grouped, number, percent, rate};

/// With more time spans than this, their tables are folded up.
const OPEN_MAX: usize = 2;

/// The tables of all time spans, those of many folded up.
pub(super) fn of_all(courses: &[Course]) -> String {
    if courses.len() <= OPEN_MAX {
        return courses.iter().map(|course| tables(course, courses.len() == 1)).collect();
    }
    let folded = courses.iter().map(|course| {
        let (name, inside) = (escaped(&course.name), tables(course, true));
        format!("<details class=\"pair\"><summary>{name}</summary>{inside}</details>\n")
    });
    folded.collect()
}

/// The tables of a time span; their captions name it unless it is the only one.
fn tables(course: &Course, is_only: bool) -> String {
    let all =
        [disks(course), per_target(course), per_thread(course), per_node(course), per_processor(course)];
    let named = |mut table: Table| {
        table.caption =
            if is_only { first_large(&table.caption) } else { format!("{}: {}", course.name, table.caption) };
        table.html()
    };
    all.into_iter().map(named).collect()
}

/// A bar of a table that ends where the largest of all values does.
pub(super) fn bar(value: f64, most: f64) -> Cell {
    Cell::Bar(if most > 0.0 { value / most } else { 0.0 })
}

fn summed<'d>(course: &Course<'d>, keep: impl Fn(u32, &str) -> bool) -> DirectionSummary {
    let threads = course.measured.threads.iter().filter_map(|thread| {
        let targets =
            thread.targets.iter().filter(|target| keep(thread.id, &target.path)).cloned().collect::<Vec<_>>();
        (!targets.is_empty()).then(|| ThreadResult { targets, ..thread.clone() })
    });
    let part = Measured {
        test_time_s: course.measured.test_time_s,
        threads: threads.collect(),
        ..Measured::default()
    };
    Summary::of(&part).total
}

/// A table of parts by what each of them did.
fn by_part(caption: &str, what: &str, parts: Vec<(String, DirectionSummary)>) -> Table {
    let mut table = Table::new(caption, [what, "", "IOPS", "throughput", "mean", "p99", "longest"]);
    let most = parts.iter().map(|(_, sum)| sum.iops).fold(0.0, f64::max);
    for (name, sum) in parts {
        let all = figures(&sum);
        let texts = [0, 1, 2, 4, 6].map(|place| Cell::Text(all[place].clone()));
        table.push(name, std::iter::once(bar(sum.iops, most)).chain(texts).collect());
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
    let parts = paths.iter().map(|path| (path.to_string(), summed(course, |_, of| of == *path)));
    by_part("per target", "target", parts.collect())
}

/// Of a sum with the host of each; nothing where all threads are one, or those of many hosts: the hosts have
/// rows of their own.
fn per_thread(course: &Course) -> Table {
    let sources = &course.document.sources;
    let is_folded = sources.len() > 1 && course.measured.threads.len() < 2;
    if is_folded || sources.len() > ROWS_MAX {
        return by_part("per thread", "thread", Vec::new());
    }
    let hosts = if sources.len() > 1 { names(sources) } else { Vec::new() };
    let name = |thread: &ThreadResult| match thread.source.and_then(|source| hosts.get(source as usize)) {
        Some(host) => format!("thread {} on {host}", thread.id),
        None => format!("thread {}", thread.id),
    };
    let threads = course.measured.threads.iter();
    let parts = threads.map(|thread| (name(thread), summed(course, |of, _| of == thread.id)));
    by_part("per thread", "thread", parts.collect())
}

/// Where the machine has several memory nodes.
fn per_node(course: &Course) -> Table {
    let summary = Summary::with_nodes(course.measured, &course.document.system.topology);
    let parts = summary.nodes.into_iter().map(|node| {
        let name = format!("node {} ({} threads)", node.node, node.threads);
        (name, node.total)
    });
    by_part("per memory node", "node", parts.collect())
}

fn per_processor(course: &Course) -> Table {
    let mut table = Table::new("per processor", ["processor", "", "busy", "user", "kernel"]);
    let uses = course.document.system.topology.processors.iter().zip(&course.measured.cpu);
    for (processor, used) in uses {
        let cells = [used.usage(), used.user, used.kernel].map(|part| Cell::Text(percent(part / 100.0)));
        let bar = bar(used.usage(), 100.0);
        table.push(format!("processor {}", processor.cpu), std::iter::once(bar).chain(cells).collect());
    }
    table
}

/// What completed beside what the disks below did, all programs' I/Os with it.
fn disks(course: &Course) -> Table {
    let mut table = Table::new(
        "application beside the disks",
        ["who", "", "IOPS", "throughput", "mean size", "in flight"],
    );
    let disks: Vec<&DiskActivity> =
        course.measured.evidence.disks.iter().filter(|disk| disk.window_ns > 0).collect();
    if disks.is_empty() {
        return table;
    }
    let total = Summary::of(course.measured).total;
    let depth = course.measured.evidence.queue_depth.map(|depth| depth.reached);
    let mut rows = vec![("the test".to_string(), total.iops, total.bytes_per_s, depth)];
    for disk in disks {
        let seconds = disk.window_ns as f64 / 1e9;
        let requests = (disk.total.reads + disk.total.writes) as f64 / seconds;
        let moved = (disk.total.read_bytes + disk.total.write_bytes) as f64 / seconds;
        rows.push((
            disk.name.clone(),
            requests,
            moved,
            Some(disk.total.queue_time_ns as f64 / disk.window_ns as f64),
        ));
    }
    let most = rows.iter().map(|row| row.2).fold(0.0, f64::max);
    for (name, iops, bytes_per_s, depth) in rows {
        let mean = if iops > 0.0 { bytes(bytes_per_s / iops) } else { "-".to_string() };
        let texts = [number(iops), rate(bytes_per_s), mean, depth.map_or("-".to_string(), number)];
        let cells = std::iter::once(bar(bytes_per_s, most)).chain(texts.map(Cell::Text));
        table.push(name, cells.collect());
    }
    table
}

/// Mean requests in flight at the disks, by the kernel's account of their times, other programs' with them.
fn in_disks(measured: &Measured) -> Option<f64> {
    let disks = measured.evidence.disks.iter().filter(|disk| disk.window_ns > 0);
    disks.map(|disk| disk.total.queue_time_ns as f64 / disk.window_ns as f64).reduce(|a, b| a + b)
}

/// Place of what was counted among the cells of [`in_flight`].
const COUNTED: usize = 1;

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
            format!("{}/s × {} = {}", number(total.iops), duration_ns(times.mean_ns), number(product))
        });
        let counted = depth.filter(|depth| !depth.from_latency);
        let cells = [
            depth.map_or("not known".into(), |depth| grouped(depth.asked)),
            counted.map_or("not counted".into(), |depth| number(depth.reached)),
            by_latency.unwrap_or_else(|| "no latencies (-L)".into()),
            in_disks(course.measured).map_or("not known".into(), number),
        ];
        let name = if course.name.is_empty() { "all threads".to_string() } else { course.name.clone() };
        table.push(name, cells.map(Cell::Text).into());
    }
    if table.rows.is_empty() {
        return String::new();
    }
    if courses
        .iter()
        .all(|course| course.measured.evidence.queue_depth.is_none_or(|depth| depth.from_latency))
    {
        table.head.remove(COUNTED + 1);
        table.rows.iter_mut().for_each(|(_, cells)| drop(cells.remove(COUNTED)));
    }
    let counts_none = courses.iter().any(|course| course.span.measure_latency);
    let with_latency = if counts_none { " A test with -L counts none: its latencies tell." } else { "" };
    format!(
        "<p>The I/Os in flight are the rate times the mean latency. Fewer in flight than asked for: the threads of the test did \
         not keep the queue full. Fewer at the disks than in flight: a layer above the disks holds or answers the rest.{}</p>{}",
        escaped(with_latency),
        table.html()
    )
}

/// What the latencies of these time spans count from, where one has response times.
pub(super) fn about_times(courses: &[Course]) -> &'static str {
    let is_response = |course: &Course| Summary::of(course.measured).total.response.is_some();
    if courses.iter().any(is_response) {
        "<p class=\"note\">Latencies of a test with a rate are response times: they begin when the rate (-g) scheduled the I/O. \
         Those in the charts begin when it was issued.</p>\n"
    } else {
        ""
    }
}
