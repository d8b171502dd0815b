//! The sections of a page that tell of runs.

use super::chart::Chart;
use super::course::{Course, charts, courses, limit_words};
use super::html::{escaped, table};
use crate::result::{DirectionSummary, Document, Finding, Grade, Measured, Summary, Verdict};
use crate::text::{bytes, duration_ns, grouped, number, percent, rate, shell_line, size};

/// Name of a run on the page, and the run.
pub(super) type Run<'d> = (&'d str, &'d Document);

/// Everything the page says of runs.
pub(super) fn sections(runs: &[Run]) -> String {
    let courses: Vec<Course> = runs.iter().flat_map(|(name, document)| courses(name, document)).collect();
    let mut out = String::new();
    if courses.len() > 1 {
        out.push_str(&section("Side by side", &side_by_side(&courses)));
    }
    out.extend(runs.iter().map(|(name, document)| head(name, document)));
    let drawn: String = charts(&courses).iter().map(Chart::html).collect();
    out.push_str(&section("Over time", &format!("{drawn}{}{}", events(&courses), without_latency(&courses))));
    out.push_str(&section("Reads and writes", &directions(&courses)));
    let parts = courses
        .iter()
        .map(|course| format!("{}{}{}", per_target(course), per_thread(course), per_processor(course)));
    out.push_str(&section("Targets, threads and processors", &parts.collect::<String>()));
    out.push_str(&section("Little's law", &in_flight(&courses)));
    let machines: String = runs.iter().map(machine).collect();
    out.push_str(&section("Machine and settings", &machines));
    let commands = runs.iter().map(|(name, document)| {
        let label = if runs.len() > 1 { format!("<h3>{}</h3>", escaped(name)) } else { String::new() };
        format!("{label}<pre>{}</pre>\n", escaped(&shell_line(&document.command_line)))
    });
    out.push_str(&section("To repeat it", &commands.collect::<String>()));
    out
}

pub(super) fn section(title: &str, inside: &str) -> String {
    if inside.trim().is_empty() {
        String::new()
    } else {
        format!("<section><h2>{}</h2>\n{inside}</section>\n", escaped(title))
    }
}

fn strings<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_string).to_vec()
}

/// What a reader wants to know of a run: figures, verdict, reasons, proof.
fn head(name: &str, document: &Document) -> String {
    let mut out = format!("<section class=\"head\"><h2>{}</h2>\n", escaped(name));
    let spans = courses(name, document);
    if spans.is_empty() {
        out.push_str("<p>Nothing was measured.</p>");
    }
    for failure in &document.failures {
        out.push_str(&format!("<p class=\"invalid\">The run failed: {}</p>", escaped(failure)));
    }
    for course in &spans {
        if spans.len() > 1 {
            out.push_str(&format!("<h3>{}</h3>", escaped(&course.name)));
        }
        out.push_str(&tiles(&Summary::of(course.measured).total));
    }
    match &document.verdict {
        Some(verdict) => out.push_str(&judged(verdict)),
        None => out.push_str("<p>The run was not judged: <code>truespd judge</code> does that.</p>"),
    }
    out + "</section>\n"
}

fn tiles(total: &DirectionSummary) -> String {
    let latency = total.latency.as_ref();
    let figures = [
        ("IOPS", Some(number(total.iops))),
        ("throughput", Some(rate(total.bytes_per_s))),
        ("mean latency", latency.map(|times| duration_ns(times.mean_ns))),
        ("99 % of I/Os within", latency.map(|times| duration_ns(times.p99_ns as f64))),
    ];
    let tile = |(name, value): (&str, Option<String>)| match value {
        Some(value) => format!("<div><dt>{name}</dt><dd>{}</dd></div>", escaped(&value)),
        None => format!("<div><dt>{name}</dt><dd class=\"none\">not measured (-L)</dd></div>"),
    };
    format!("<dl class=\"tiles\">{}</dl>\n", figures.map(tile).concat())
}

/// The grade as an element.
pub(super) fn badge(grade: Grade) -> String {
    let sign = match grade {
        Grade::Certified => "✓",
        Grade::Suspect => "?",
        Grade::Invalid => "✗",
    };
    format!("<strong class=\"badge {0}\"><span aria-hidden=\"true\">{sign}</span> {0}</strong>", grade.word())
}

/// A finding with what to do about it.
fn item(finding: &Finding) -> String {
    let target = finding.target.as_ref().map_or(String::new(), |target| format!("'{target}': "));
    format!(
        "<li class=\"{0}\"><strong>{1}</strong> <span class=\"kind\">{0}</span><br>{2}<br><em>What to do:</em> {3}</li>",
        finding.grade.word(),
        escaped(&finding.rule),
        escaped(&format!("{target}{}", finding.says)),
        escaped(&finding.advice)
    )
}

fn judged(verdict: &Verdict) -> String {
    let mut out = format!("<p class=\"verdict\">verdict: {}</p>\n", badge(verdict.grade));
    let proofs = verdict.proofs.iter().filter(|proof| !proof.is_empty());
    let proofs = proofs
        .map(|proof| format!("<li>{}: {}</li>", escaped(&proof.targets.join(", ")), escaped(&proof.words())));
    let proofs: String = proofs.collect();
    match proofs.is_empty() {
        true => out.push_str("<p>The disks' counters prove nothing about this run.</p>\n"),
        false => out
            .push_str(&format!("<p>Proof from the counters of the disks or servers:</p><ul>{proofs}</ul>\n")),
    }
    let all = || verdict.findings.iter();
    let remarks: String = all().filter(|finding| finding.grade.is_remark()).map(item).collect();
    let reasons: String = all().filter(|finding| !finding.grade.is_remark()).map(item).collect();
    if !reasons.is_empty() {
        out.push_str(&format!("<ul class=\"findings\">{reasons}</ul>\n"));
    }
    if !remarks.is_empty() {
        out.push_str(&format!(
            "<details><summary>Remarks, which do not change the verdict</summary><ul class=\"findings\">{remarks}</ul></details>\n"
        ));
    }
    if !verdict.unchecked.is_empty() {
        let rules = verdict
            .unchecked
            .iter()
            .map(|one| format!("<li>{}: {}</li>", escaped(&one.rule), escaped(&one.why)));
        out.push_str(&format!(
            "<details><summary>Rules without evidence: {}</summary><ul>{}</ul></details>\n",
            verdict.unchecked.len(),
            rules.collect::<String>()
        ));
    }
    out
}

/// The figures of every course in a table.
fn side_by_side(courses: &[Course]) -> String {
    let rows = courses.iter().map(|course| {
        let grade = course.document.verdict.as_ref().map_or("not judged", |verdict| verdict.grade.word());
        let total = Summary::of(course.measured).total;
        [vec![course.name.clone()], figures(&total), vec![grade.to_string()]].concat()
    });
    let head = [strings(["result"]), figure_names(), strings(["verdict"])].concat();
    table("Figures of each result", &head, &rows.collect::<Vec<_>>())
}

fn figure_names() -> Vec<String> {
    strings(["IOPS", "throughput", "mean", "p50", "p99", "p99.9", "longest"])
}

fn figures(sum: &DirectionSummary) -> Vec<String> {
    let latency = |of: fn(&crate::result::LatencySummary) -> f64| {
        sum.latency.as_ref().map_or("-".to_string(), |times| duration_ns(of(times)))
    };
    vec![
        number(sum.iops),
        rate(sum.bytes_per_s),
        latency(|times| times.mean_ns),
        latency(|times| times.p50_ns as f64),
        latency(|times| times.p99_ns as f64),
        latency(|times| times.p99_9_ns as f64),
        latency(|times| times.max_ns as f64),
    ]
}

fn directions(courses: &[Course]) -> String {
    let rows = courses.iter().flat_map(|course| {
        let summary = Summary::of(course.measured);
        let parts = [("reads", summary.read), ("writes", summary.write), ("total", summary.total)];
        let name = |part: &str| {
            if courses.len() > 1 { format!("{}: {part}", course.name) } else { part.to_string() }
        };
        let rows: Vec<Vec<String>> = parts
            .into_iter()
            .filter(|(_, sum)| sum.ios > 0)
            .map(|(part, sum)| [vec![name(part)], figures(&sum)].concat())
            .collect();
        rows
    });
    table("Reads and writes", &[strings(["I/Os"]), figure_names()].concat(), &rows.collect::<Vec<_>>())
}

fn events(courses: &[Course]) -> String {
    let lists = courses.iter().filter_map(|course| {
        let events = course.events();
        let items = events.iter().map(|event| {
            format!("<li>at {}: {}</li>", super::course::seconds(event.at_s), escaped(&event.says))
        });
        let items: String = items.collect();
        (!items.is_empty()).then(|| format!("<h3>Events of {}</h3><ol>{items}</ol>\n", escaped(&course.name)))
    });
    lists.collect()
}

/// What no chart can show, and what to do for it.
fn without_latency(courses: &[Course]) -> String {
    let mut out = String::new();
    let lacks = |course: &&Course| !(course.span.measure_latency && course.span.calculate_iops_std_dev);
    let names: Vec<String> = courses.iter().filter(lacks).map(|course| course.name.clone()).collect();
    if !names.is_empty() {
        out.push_str(&format!(
            "<p class=\"note\">Without latency over time: {}. Run with -L and -D to have it.</p>\n",
            escaped(&names.join(", "))
        ));
    }
    out.push_str("<p class=\"note\">There is no latency heat map: results keep the count, mean, smallest and largest latency of each interval, and no histogram of it.</p>\n");
    out
}

/// A row of [`bars`]: its heading, the value of its bar, and its other cells.
type Row = (String, f64, Vec<String>);

/// A table with a bar in each row, whose full width is the largest value, or `whole` where that is larger. Screen readers
/// skip the bars, which repeat a figure beside them.
fn bars(caption: &str, head: &[&str], rows: &[Row], whole: f64) -> String {
    let most = rows.iter().map(|row| row.1).fold(whole, f64::max);
    let body = rows.iter().map(|(name, value, cells)| {
        let part = if most > 0.0 { value / most * 100.0 } else { 0.0 };
        let cells: String = cells.iter().map(|cell| format!("<td>{}</td>", escaped(cell))).collect();
        format!("<tr><th scope=\"row\">{}</th><td class=\"bar\" aria-hidden=\"true\"><span style=\"width:{part:.1}%\"></span></td>{cells}</tr>", escaped(name))
    });
    let mut names = head.iter().map(|name| format!("<th scope=\"col\">{}</th>", escaped(name)));
    let first = names.next().unwrap_or_default();
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table><caption>{0}</caption><thead><tr>{first}<td></td>{1}</tr></thead><tbody>{2}</tbody></table></div>\n",
        escaped(caption),
        names.collect::<String>(),
        body.collect::<String>()
    )
}

fn summed<'d>(course: &Course<'d>, keep: impl Fn(u32, &str) -> bool) -> DirectionSummary {
    let threads = course.measured.threads.iter().filter_map(|thread| {
        let targets =
            thread.targets.iter().filter(|target| keep(thread.id, &target.path)).cloned().collect::<Vec<_>>();
        (!targets.is_empty()).then(|| crate::result::ThreadResult { targets, ..thread.clone() })
    });
    let part = Measured {
        test_time_s: course.measured.test_time_s,
        threads: threads.collect(),
        ..Measured::default()
    };
    Summary::of(&part).total
}

fn row(name: String, sum: &DirectionSummary) -> Row {
    let all = figures(sum);
    (name, sum.iops, vec![all[0].clone(), all[1].clone(), all[2].clone(), all[4].clone()])
}

fn per_target(course: &Course) -> String {
    let mut paths: Vec<&str> = Vec::new();
    for target in course.measured.threads.iter().flat_map(|thread| &thread.targets) {
        if !paths.contains(&target.path.as_str()) {
            paths.push(&target.path);
        }
    }
    let rows: Vec<_> =
        paths.iter().map(|path| row(path.to_string(), &summed(course, |_, of| of == *path))).collect();
    bars(
        &format!("{}: per target", course.name),
        &["target", "IOPS", "throughput", "mean", "p99"],
        &rows,
        0.0,
    )
}

fn per_thread(course: &Course) -> String {
    let ids = course.measured.threads.iter().map(|thread| thread.id);
    let rows: Vec<_> = ids.map(|id| row(format!("thread {id}"), &summed(course, |of, _| of == id))).collect();
    bars(
        &format!("{}: per thread", course.name),
        &["thread", "IOPS", "throughput", "mean", "p99"],
        &rows,
        0.0,
    )
}

fn per_processor(course: &Course) -> String {
    let uses = course.document.system.topology.processors.iter().zip(&course.measured.cpu);
    let rows: Vec<_> = uses
        .map(|(processor, used)| {
            let cells = [used.usage(), used.user, used.kernel].map(|part| percent(part / 100.0)).to_vec();
            (format!("processor {}", processor.cpu), used.usage(), cells)
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    bars(&format!("{}: per processor", course.name), &["processor", "busy", "user", "kernel"], &rows, 100.0)
}

/// Mean requests in flight at the disks, by the kernel's account of their times, other programs' with them.
fn in_disks(measured: &Measured) -> Option<f64> {
    let disks = measured.evidence.disks.iter().filter(|disk| disk.window_ns > 0);
    disks.map(|disk| disk.total.queue_time_ns as f64 / disk.window_ns as f64).reduce(|a, b| a + b)
}

/// Mean I/Os in flight, counted, beside rate times latency.
fn in_flight(courses: &[Course]) -> String {
    let rows = courses.iter().map(|course| {
        let total = Summary::of(course.measured).total;
        let depth = course.measured.evidence.queue_depth;
        let product = total.latency.as_ref().map(|times| total.iops * times.mean_ns / 1e9);
        let counted = depth.filter(|depth| !depth.from_latency);
        let by_latency = || {
            let mean = duration_ns(total.latency.as_ref()?.mean_ns);
            Some(format!("{}/s × {mean} = {}", number(total.iops), number(product?)))
        };
        vec![
            course.name.clone(),
            depth.map_or("not known".into(), |depth| grouped(depth.asked)),
            counted.map_or("not counted".into(), |depth| number(depth.reached)),
            in_disks(course.measured).map_or("not known".into(), number),
            by_latency().unwrap_or_else(|| "no latencies (-L)".into()),
        ]
    });
    let head = strings([
        "result",
        "asked for",
        "counted in flight",
        "in flight at the disks",
        "rate × mean latency",
    ]);
    format!(
        "<p>The I/Os in flight are the rate times the mean latency. Where fewer are in flight than asked for, the test's threads \
         did not keep the queue full. Where fewer are at the disks, a layer above holds or answers the rest. With -L the test \
         counts none in flight: it takes them from the latencies.</p>{}",
        table("I/Os in flight", &head, &rows.collect::<Vec<_>>())
    )
}

fn machine((name, document): &Run) -> String {
    let system = &document.system;
    let row = |name: &str, value: String| vec![name.to_string(), value];
    let mut rows = vec![
        row("host", system.computer_name.clone()),
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
    for course in courses(name, document) {
        let (span, evidence) = (course.span, &course.measured.evidence);
        rows.push(row("engine", course.measured.engine.clone()));
        rows.push(row(
            "times",
            format!(
                "{} s warm-up, {} s measured, {} s cool-down",
                span.warmup_s, span.duration_s, span.cooldown_s
            ),
        ));
        for target in &span.targets {
            let share = format!(
                "{} % writes, {} % random, {} I/Os in flight",
                target.write_percent, target.random_percent, target.request_count
            );
            rows.push(row(&target.path, format!("blocks of {}, {share}", size(target.block_bytes))));
        }
        for target in &evidence.targets {
            let told = [
                target.filesystem.clone(),
                target.device_name.clone(),
                target.scheduler.clone(),
                target.write_cache.clone(),
                target.mount_options.clone(),
            ];
            let disks = target.lowest().flat_map(|layer| {
                let firmware = layer.firmware.as_ref().map(|revision| format!("firmware {revision}"));
                [layer.model.clone(), firmware]
            });
            let told: Vec<String> =
                told.into_iter().chain(disks).flatten().filter(|word| !word.is_empty()).collect();
            rows.push(row(
                &format!("storage of {}", target.path),
                format!("{}; {}", size(target.size_bytes), told.join(", ")),
            ));
        }
        rows.extend(evidence.limits.iter().map(|limit| row("limit", limit_words(limit))));
    }
    rows.extend(document.warnings.iter().map(|words| row("warning", words.clone())));
    rows.extend(document.notes.iter().map(|words| row("note", words.clone())));
    table(&format!("{name}: machine and settings"), &[], &rows)
}
