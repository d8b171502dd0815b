//! The sections of a page that tell of runs.

use jiff::Timestamp;

use super::chart::Chart;
use super::compared::{self, Group, compared, facts};
use super::course::{Course, Run, courses, limit_words, percentiles_and_others, rates_and_latencies};
use super::figures::{figure_names, figures, strings, times};
use super::heat;
use super::hosts;
use super::html::escaped;
use super::parts;
use super::table::{Cell, Table};
use super::verdicts::verdicts;
use super::words::{collapsed, listed, once};
use crate::compare::Question;
use truespd_core::profile::{Target, TimeSpan};
use truespd_core::result::hosts::ROWS_MAX;
use truespd_core::result::{DirectionSummary, Document, Summary};
use truespd_core::text::{bytes, duration_ns, number, program_line, rate, size};

/// What DiskSpd prints for what it does not know.
const UNKNOWN: &str = "<unknown>";

/// Everything the page says of runs, which stand in groups; `is_alone` where it shows nothing else.
pub(super) fn sections(groups: &[Group], question: &Question, is_alone: bool) -> String {
    let runs: Vec<Run> = groups.iter().flat_map(|group| &group.runs).copied().collect();
    let is_only = runs.len() == 1;
    let spans = runs.iter().flat_map(|run| courses(if is_only { "" } else { run.0 }, run.1));
    let courses: Vec<Course> = spans.collect();
    let mut out = match runs.as_slice() {
        [run] => head(run, &courses, is_alone),
        _ => section("Side by side", &format!("{}{}", side_by_side(&courses, true), unmeasured(&runs))),
    };
    if runs.len() > 1 {
        out.push_str(&section(&compared::title(groups), &compared(groups, question)));
        out.push_str(&section("Verdicts", &verdicts(&runs)));
    }
    if !courses.is_empty() {
        let charts =
            [rates_and_latencies(&courses), heat::charts(&courses), percentiles_and_others(&courses)];
        let drawn: String = charts.iter().flatten().map(Chart::html).collect();
        let below = [events(&courses), without_latency(&courses)].concat();
        out.push_str(&section("Charts", &format!("{drawn}{below}")));
    }
    out.push_str(&section(
        "Reads and writes",
        &format!("{}{}", directions(&courses), parts::about_times(&courses)),
    ));
    out.push_str(&section("Hosts", &hosts::of_all(&courses)));
    out.push_str(&section("Targets, threads and processors", &parts::of_all(&courses)));
    out.push_str(&section("Little's law", &parts::in_flight(&courses)));
    let machines: Vec<_> = runs.iter().map(|run| (run.0.to_string(), machine(run))).collect();
    out.push_str(&section("Machine and settings", &facts("Machine and settings", &machines)));
    let commands =
        collapsed(runs.iter().map(|(name, document)| (*name, program_line(&document.command_line))));
    let commands = commands.iter().map(|(names, line)| {
        let label =
            if runs.len() > 1 { format!("<h3>{}</h3>", escaped(&listed(names))) } else { String::new() };
        format!("{label}<pre tabindex=\"0\">{}</pre>\n", escaped(line))
    });
    out.push_str(&section("To repeat it", &commands.collect::<String>()));
    out
}

pub(super) fn section(title: &str, inside: &str) -> String {
    if inside.trim().is_empty() {
        return String::new();
    }
    let title = escaped(title);
    // A table that is called as its section is needs no second heading for the eye.
    let same = format!("<caption>{title}</caption>");
    let inside = inside.replacen(&same, &format!("<caption class=\"unseen\">{title}</caption>"), 1);
    format!("<section><h2>{title}</h2>\n{inside}</section>\n")
}

/// Runs of which nothing is shown.
fn unmeasured(runs: &[Run]) -> String {
    let names: Vec<&str> =
        runs.iter().filter(|(name, document)| courses(name, document).is_empty()).map(|run| run.0).collect();
    if names.is_empty() {
        String::new()
    } else {
        format!("<p>Nothing was measured in {}.</p>\n", escaped(&listed(&names)))
    }
}

/// What a reader wants to know of a run: figures, verdict, reasons, proof.
fn head(run: &Run, spans: &[Course], is_alone: bool) -> String {
    let title = if is_alone { String::new() } else { format!("<h2>{}</h2>\n", escaped(run.0)) };
    let mut out = format!("<section class=\"head\">\n{title}");
    out.push_str(&subtitle(run.1));
    match spans {
        [] => out.push_str("<p>Nothing was measured.</p>"),
        [course] => out.push_str(&tiles(&Summary::of(course.measured).total)),
        several => out.push_str(&side_by_side(several, false)),
    }
    out + &verdicts(std::slice::from_ref(run)) + "</section>\n"
}

/// When and where it ran, and what it did.
fn subtitle(document: &Document) -> String {
    let system = &document.system;
    let began = system.start_unix_s.and_then(|s| Timestamp::from_second(s).ok());
    let began = began.map(|at| at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string());
    let host = Some(document.host_words()).filter(|host| !host.is_empty());
    let when: Vec<String> = began.into_iter().chain(host.map(|host| format!("on {host}"))).collect();
    let mut lines = vec![when.join(" ")];
    if let [span] = document.profile.time_spans.as_slice() {
        let of = collapsed(span.targets.iter().map(|target| (target.path.as_str(), load(span, target))));
        lines.extend(of.iter().map(|(paths, load)| format!("{}: {load}", listed(paths))));
    }
    let lines = lines.iter().filter(|line| !line.is_empty()).map(|line| escaped(line));
    format!("<p class=\"subtitle\">{}</p>\n", lines.collect::<Vec<_>>().join("<br>"))
}

/// What the threads do with a target: `4 KiB, random, 30 % writes, 2 threads, 8 outstanding each`.
fn load(span: &TimeSpan, target: &Target) -> String {
    let pattern = match target.random_percent {
        0 => "sequential".to_string(),
        100 => "random".to_string(),
        percent => format!("{percent} % random"),
    };
    let share = match target.write_percent {
        0 => "reads".to_string(),
        100 => "writes".to_string(),
        percent => format!("{percent} % writes"),
    };
    let (threads, outstanding) = match span.thread_count {
        0 => (target.threads_per_file, target.request_count),
        threads => (threads, span.request_count),
    };
    let s = if threads == 1 { "" } else { "s" };
    format!(
        "{}, {pattern}, {share}, {threads} thread{s}, {outstanding} outstanding each",
        size(target.block_bytes)
    )
}

fn tiles(total: &DirectionSummary) -> String {
    let (mean, p99, what) = match times(total) {
        Some((times, what)) => (Some(times.mean_ns), Some(times.p99_ns as f64), what),
        None => (None, None, "latency"),
    };
    let figures = [
        ("IOPS".to_string(), Some(number(total.iops))),
        ("throughput".to_string(), Some(rate(total.bytes_per_s))),
        (format!("mean {what}"), mean.map(duration_ns)),
        ("99 % of I/Os within".to_string(), p99.map(duration_ns)),
    ];
    let tile = |(name, value): (String, Option<String>)| match value {
        Some(value) => format!("<div><dt>{name}</dt><dd>{}</dd></div>", escaped(&value)),
        None => format!("<div><dt>{name}</dt><dd class=\"none\">not measured (-L)</dd></div>"),
    };
    format!("<dl class=\"tiles\">{}</dl>\n", figures.map(tile).concat())
}

/// The figures of every course in a table. A verdict is of a result, not of its time spans.
fn side_by_side(courses: &[Course], has_verdicts: bool) -> String {
    let mut out = Table::new("Side by side", [""; 0]);
    out.head = [strings(["result"]), figure_names()].concat();
    if has_verdicts {
        out.head.push("verdict".to_string());
    }
    for course in courses {
        let total = Summary::of(course.measured).total;
        let mut cells: Vec<Cell> = figures(&total).into_iter().map(Cell::Text).collect();
        if has_verdicts {
            cells.push(Cell::Grade(course.document.verdict.as_ref().map(|verdict| verdict.grade)));
        }
        out.push(course.name.clone(), cells);
    }
    out.html()
}

fn directions(courses: &[Course]) -> String {
    let mut out = Table::new("Reads and writes", [""; 0]);
    out.head = [strings(["I/Os"]), figure_names()].concat();
    for course in courses {
        let Summary { read, write, total, .. } = Summary::of(course.measured);
        let has_both = read.ios > 0 && write.ios > 0;
        for (part, sum) in [("reads", &read), ("writes", &write), ("total", &total)] {
            if sum.ios > 0 && (part != "total" || has_both) {
                let name =
                    if courses.len() > 1 { format!("{}: {part}", course.name) } else { part.to_string() };
                out.push(name, figures(sum).into_iter().map(Cell::Text).collect());
            }
        }
    }
    out.html()
}

fn events(courses: &[Course]) -> String {
    let lists = courses.iter().filter_map(|course| {
        let events = course.events();
        let items = events.iter().map(|event| {
            format!("<li>at {}: {}</li>", super::course::seconds(event.at_s), escaped(&event.says))
        });
        let items: String = items.collect();
        let of =
            if course.name.is_empty() { String::new() } else { format!(" of {}", escaped(&course.name)) };
        (!items.is_empty()).then(|| format!("<h3>Events{of}</h3><ol>{items}</ol>\n"))
    });
    lists.collect()
}

/// What no chart can show, and what to do for it.
fn without_latency(courses: &[Course]) -> String {
    let without = |lacks: fn(&Course) -> bool, what: &str, advice: &str| {
        let lacking = courses.iter().filter(|course| lacks(course));
        let names: Vec<&str> = lacking.map(|course| &*course.name).collect();
        if names.is_empty() {
            return String::new();
        }
        let of = if names.len() == courses.len() { String::new() } else { format!(" of {}", listed(&names)) };
        format!("<p class=\"note\">There is no {what}{}. {advice}</p>\n", escaped(&of))
    };
    [
        without(
            |course| !course.span.measure_latency,
            "latency over time",
            "Run with -L to have a heat map, and with -D too for mean, smallest and largest latency of each interval.",
        ),
        without(
            |course| course.span.measure_latency && !course.span.calculate_iops_std_dev,
            "chart of mean, smallest and largest latency over time",
            "Run with -D to have it.",
        ),
        without(
            |course| course.span.measure_latency && course.measured.latency_over_time.is_none(),
            "latency heat map",
            "The result holds no latencies over time: it was made by an earlier version, or added up from such results.",
        ),
    ]
    .concat()
}

fn machine((name, document): &Run) -> Vec<[String; 2]> {
    let system = &document.system;
    let row = |name: &str, value: String| [name.to_string(), value];
    let mut rows = vec![
        row("host", document.host_words()),
        row("kernel", system.kernel_release.clone()),
        row(
            "processors",
            format!(
                "{} (sockets: {}, memory nodes: {})",
                system.topology.processors.len(),
                system.topology.sockets,
                system.topology.nodes
            ),
        ),
        row("frequency governor", system.power_scheme.clone()),
        row("TrueSpd", document.tool_version.clone()),
    ];
    if let Some(memory) = system.memory_bytes {
        rows.push(row("memory", bytes(memory as f64)));
    }
    let spans = courses(name, document);
    let of_spans = spans.iter().enumerate().flat_map(|(place, course)| {
        settings(course).into_iter().map(move |row| (format!("time span {}", place + 1), row))
    });
    for (of, [what, value]) in collapsed(of_spans) {
        let is_of_all = of.len() >= spans.len();
        let what = if is_of_all { what } else { format!("{what} ({})", listed(&of)) };
        rows.push([what, value]);
    }
    rows.extend(document.warnings.iter().map(|words| row("warning", words.clone())));
    rows.extend(document.notes.iter().map(|words| row("note", words.clone())));
    rows.retain(|[_, value]| !value.is_empty() && value != UNKNOWN);
    once(rows)
}

/// How a time span ran, and on what.
fn settings(course: &Course) -> Vec<[String; 2]> {
    let (span, evidence) = (course.span, &course.measured.evidence);
    let row = |name: &str, value: String| [name.to_string(), value];
    let times = format!(
        "{} s warm-up, {} s measured, {} s cool-down",
        span.warmup_s, span.duration_s, span.cooldown_s
    );
    let mut rows = vec![row("engine", course.measured.engine.clone()), row("times", times)];
    rows.extend(span.targets.iter().map(|target| row(&target.path, load(span, target))));
    // Of many hosts nobody knows whose they are.
    let is_told = course.document.sources.len() <= ROWS_MAX;
    for target in evidence.targets.iter().filter(|_| is_told) {
        let named = |name: &str, value: &Option<String>| {
            value.as_ref().filter(|value| !value.is_empty()).map(|value| format!("{name}{value}"))
        };
        let told = [
            Some(size(target.size_bytes)),
            named("", &target.filesystem),
            named("on ", &target.device_name),
            named("scheduler ", &target.scheduler),
            named("write cache: ", &target.write_cache),
            named("mounted with ", &target.mount_options),
        ];
        let disks = target
            .lowest()
            .flat_map(|layer| [named("model ", &layer.model), named("firmware ", &layer.firmware)])
            .flatten();
        let told: Vec<String> = told.into_iter().flatten().chain(disks).collect();
        rows.push(row(&format!("storage of {}", target.path), told.join(", ")));
    }
    rows.extend(evidence.limits.iter().map(|limit| row("limit", limit_words(limit))));
    rows
}
