//! Documents to one self-contained HTML page, which needs no network and no other file.
//!
//! Everything is in the page when it is written: the charts are pictures (SVG), their values are tables too, and the
//! documents lie in it byte for byte ([`document`]). The script only shows values at the pointer and the cursor keys.

mod compared;
mod course;
mod embed;
pub mod history;
mod parts;
mod rounds;
mod verdicts;

use crate::answer::chart::Chart;
use crate::answer::html::{
    FIGURES, collapsed, escaped, figures, first_large, latency_words, listed, note, once, paragraph, tiles,
    times,
};
use crate::answer::picture::{Picture, Words};
use crate::answer::table::{Cell, Table};
use crate::answer::word;
use crate::ask::{RanOn, models};
use crate::compare::Question;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use compared::{Group, compared, facts};
use course::{
    Course, Run, courses as courses_of, heat_maps, limit_words, percentiles_and_others, rates,
    rates_and_latencies, seconds,
};
pub use embed::{EmbedError, count, document, is_page};
use jiff::Timestamp;
use rounds::of_rounds;
use sha2::{Digest, Sha256};
use truespd_core::profile::{Target, TimeSpan};
use truespd_core::result::hosts::ROWS_MAX;
use truespd_core::result::metrics::usual_words;
use truespd_core::result::{DirectionSummary, Document, Grade, Summary, Verdict};
use truespd_platform::text::{bytes, number, printable, program_line, rate, size};
use verdicts::verdicts;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = concat!(include_str!("unpack.js"), include_str!("page.js"));

pub enum Content {
    /// The result of a run.
    Run(Box<Document>),
    Other {
        /// What it is, and where it ran.
        title: String,
        /// What is shown of it: pieces of HTML.
        html: String,
        /// The picture that says most of it, and the words below its title.
        picture: Option<(Picture, Vec<String>)>,
    },
}

/// A document of a page.
pub struct Input {
    /// What the page calls it beside others.
    pub name: String,
    /// The name that a person gave it.
    pub label: Option<String>,
    /// What it is called together with the documents of the same group, which are one side where runs are compared.
    pub group: String,
    /// The document as it is stored.
    pub stored: Vec<u8>,
    pub content: Content,
}

/// The page. Runs share their charts and are compared, as `question` asks; other documents follow, each by itself.
pub fn page(inputs: &[Input], question: &Question) -> String {
    let groups = groups(inputs);
    let is_only = inputs.len() == 1;
    let mut body = if groups.is_empty() { String::new() } else { sections(&groups, question, is_only) };
    let mut documents = String::new();
    for input in inputs {
        body += &other(input, is_only);
        documents += &embed::element(&input.stored);
    }
    let title = title(inputs);
    // What a label does not say.
    let about = match inputs {
        [one] if one.label.is_some() => paragraph("subtitle", &one.title()),
        _ => String::new(),
    };
    format!(
        "{begin}<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n{policy}\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title} - TrueSpd</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <header><p class=\"brand\">TrueSpd report</p><h1>{title}</h1>{about}</header>\n{body}\
         <footer>Written by TrueSpd {version}. This page holds the documents that it shows: \
         <code>truespd render</code> reads them back.</footer>\n\
         </main>\n{documents}<script>{SCRIPT}</script>\n</body>\n</html>\n",
        begin = embed::BEGIN,
        policy = policy(SCRIPT),
        title = escaped(&title),
        version = env!("CARGO_PKG_VERSION"),
    )
}

/// The policy of a page: no connection, and no script but this one.
fn policy(script: &str) -> String {
    let hash = STANDARD.encode(Sha256::digest(script));
    format!(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         img-src data:; script-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'\">\n"
    )
}

/// What the page is about: the label of its only document, or what that is; of several what they are, and their names.
pub fn title(inputs: &[Input]) -> String {
    match inputs {
        [one] => one.label.clone().unwrap_or_else(|| one.title()),
        several => {
            let names: Vec<&str> = several.iter().map(|input| input.name.as_str()).collect();
            let titles = once(several.iter().map(Input::title));
            match titles.as_slice() {
                [title] => format!("{title}: {}", listed(&names)),
                [one, other] if several.len() == 2 => format!("{one}, and {other}"),
                _ => format!("{} results: {}", several.len(), listed(&names)),
            }
        }
    }
}

/// The picture that says most of the first document, or of all runs where that is one, with the words around it; none
/// where there is nothing to draw.
pub fn picture(inputs: &[Input]) -> Option<(Picture, Words)> {
    let title = title(inputs);
    if let Content::Other { picture, .. } = &inputs.first()?.content {
        let (picture, lines) = picture.clone()?;
        return Some((picture, Words { title, lines }));
    }
    let groups = groups(inputs);
    let runs: Vec<Run> = groups.iter().flat_map(|group| &group.runs).copied().collect();
    let mut courses: Vec<Course> = Vec::new();
    for (name, document) in &runs {
        courses.extend(courses_of(if runs.len() == 1 { "" } else { name }, document));
    }
    let chart = rates(&courses).into_iter().find(|chart| !chart.is_empty())?;
    let mut lines = Vec::new();
    match (runs.as_slice(), courses.as_slice()) {
        ([(_, document)], [course]) => {
            lines.extend(subtitle_lines(document));
            lines.push(figures_of(course));
            lines.extend(document.verdict.as_ref().map(verdict_words));
        }
        _ => {
            for course in courses.iter().take(RUNS_MAX) {
                let grade = course.document.verdict.as_ref().map(|verdict| verdict.grade);
                lines.push(format!("{}: {}, {}", course.name, figures_of(course), word(grade)));
            }
        }
    }
    Some((chart.into(), Words { title, lines }))
}

/// Runs whose figures stand above a picture, at most.
const RUNS_MAX: usize = 6;

/// `61,492 IOPS, 240 MiB/s, mean latency 247 µs, 99 % within 556 µs`.
fn figures_of(course: &Course) -> String {
    let total = Summary::of(course.measured).total;
    let mut figures = format!("{} IOPS, {}", number(total.iops), rate(total.bytes_per_s));
    if let Some((times, what)) = times(&total) {
        let [mean, p99] = [times.mean_ns, times.p99_ns as f64].map(latency_words);
        figures += &format!(", mean {what} {mean}, 99 % within {p99}");
    }
    figures
}

/// `verdict: suspect (steal and working-set)`.
fn verdict_words(verdict: &Verdict) -> String {
    let mut rules = Vec::new();
    for finding in verdict.findings.iter().filter(|finding| !finding.grade.is_remark()) {
        rules.push(finding.rule.as_str());
    }
    words_of_verdict(verdict.grade, &once(rules))
}

/// The same of a grade and names of rules.
pub fn words_of_verdict(grade: Grade, rules: &[&str]) -> String {
    let names = if rules.is_empty() { String::new() } else { format!(" ({})", listed(rules)) };
    format!("verdict: {}{names}", grade.word())
}

impl Input {
    /// What it is, and where it ran.
    fn title(&self) -> String {
        match &self.content {
            Content::Run(document) => title_of_run(document),
            Content::Other { title, .. } => first_large(title),
        }
    }
}

/// `4 KiB random, 30 % writes on HOST: /mnt/data/file (Samsung 990 PRO)`.
fn title_of_run(document: &Document) -> String {
    let (mut loads, mut targets) = (Vec::new(), Vec::new());
    for target in document.profile.targets() {
        loads.push(format!("{} {}", size(target.block_bytes), access(target)));
        targets.push(target.path.clone());
    }
    let load = match once(loads).as_slice() {
        [one] => one.clone(),
        _ => "Several loads".to_string(),
    };
    let evidence = document.measured().flat_map(|measured| &measured.evidence.targets);
    let disks: Vec<_> = evidence.flat_map(|target| target.lowest()).cloned().collect();
    let targets = once(targets);
    let targets =
        if targets.len() > TARGETS_MAX { vec![format!("{} targets", targets.len())] } else { targets };
    let ran_on = RanOn { computer_name: document.host_words(), ranks: 1, targets, models: models(&disks) };
    printable(&format!("{load}{}", ran_on.words())).to_string()
}

/// What a run does, without where: `4 KiB random reads, 2 threads, 8 outstanding each, 60 s`.
pub fn words_of_test(document: &Document) -> String {
    let mut spans = Vec::new();
    for span in &document.profile.time_spans {
        let loads: Vec<String> = once(span.targets.iter().map(|target| load(span, target)));
        let until = if span.until_steady.is_some() { "rounds of " } else { "" };
        spans.push(format!("{}, {until}{} s", loads.join("; "), span.duration_s));
    }
    listed(&once(spans))
}

/// Targets that a title names, at most.
const TARGETS_MAX: usize = 3;

/// `random reads`, `sequential, 30 % writes`, `20 % random writes`.
fn access(target: &Target) -> String {
    let pattern = match target.random_percent {
        0 => "sequential".to_string(),
        100 => "random".to_string(),
        percent => format!("{percent} % random"),
    };
    let trims = match target.trim_percent {
        0 => String::new(),
        100 => return format!("{pattern} trims"),
        percent => format!(" with {percent} % trims"),
    };
    match target.write_percent {
        0 => format!("{pattern} reads{trims}"),
        100 => format!("{pattern} writes{trims}"),
        percent => format!("{pattern}, {percent} % writes{trims}"),
    }
}

/// The runs in their groups. Those of a single group stand for themselves, so that they can be compared.
fn groups(inputs: &[Input]) -> Vec<Group<'_>> {
    let mut runs: Vec<(&Input, &Document)> = Vec::new();
    for input in inputs {
        if let Content::Run(document) = &input.content {
            runs.push((input, document));
        }
    }
    let is_one = runs.iter().all(|(input, _)| input.group == runs[0].0.group);
    let mut groups: Vec<Group> = Vec::new();
    for (input, document) in runs {
        let name = if is_one { &input.name } else { &input.group };
        let run = (input.name.as_str(), document);
        match groups.iter_mut().find(|group| group.name == *name) {
            Some(group) => group.runs.push(run),
            None => groups.push(Group { name: name.clone(), runs: vec![run] }),
        }
    }
    groups
}

/// The section of a document that is no result of a run; the only one needs no heading of its own.
fn other(input: &Input, is_only: bool) -> String {
    let Content::Other { title, html, .. } = &input.content else { return String::new() };
    if is_only {
        format!("<section class=\"head\">\n{html}</section>\n")
    } else {
        section(&input.name, &format!("{}{html}", paragraph("subtitle", &first_large(title))))
    }
}

/// What DiskSpd prints for what it does not know.
const UNKNOWN: &str = "<unknown>";

/// Everything the page says of runs, which stand in groups; `is_alone` where it shows nothing else.
fn sections(groups: &[Group], question: &Question, is_alone: bool) -> String {
    let runs: Vec<Run> = groups.iter().flat_map(|group| &group.runs).copied().collect();
    let is_only = runs.len() == 1;
    let mut courses: Vec<Course> = Vec::new();
    for (name, document) in &runs {
        courses.extend(courses_of(if is_only { "" } else { name }, document));
    }
    let mut charts = rates_and_latencies(&courses);
    charts.extend(of_rounds(&courses));
    charts.extend(heat_maps(&courses));
    charts.extend(percentiles_and_others(&courses));
    let mut charts = charts.iter().map(Chart::html).filter(|chart| !chart.is_empty());
    let first = charts.next().unwrap_or_default();
    let mut out = match runs.as_slice() {
        [run] => head(run, &courses, &first, is_alone),
        _ => {
            section("Side by side", &format!("{}{}{first}", side_by_side(&courses, true), unmeasured(&runs)))
        }
    };
    if runs.len() > 1 {
        out.push_str(&section(&compared::title(groups), &compared(groups, question)));
        out.push_str(&section("Verdicts", &verdicts(&runs)));
    }
    if !courses.is_empty() {
        let drawn = grid(&charts.collect::<String>());
        let below = [events(&courses), without_latency(&courses)].concat();
        out.push_str(&section("More charts", &format!("{drawn}{below}")));
    }
    out.push_str(&section(
        "Reads and writes",
        &format!("{}{}", directions(&courses), parts::about_times(&courses)),
    ));
    out.push_str(&section("Hosts", &parts::hosts(&courses)));
    out.push_str(&section("Targets, threads and processors", &parts::of_all(&courses)));
    out.push_str(&section("Little's law", &parts::in_flight(&courses)));
    let machines: Vec<_> = runs.iter().map(|run| (run.0.to_string(), machine(run))).collect();
    out.push_str(&section("Machine and settings", &facts("Machine and settings", &machines)));
    let lines = runs.iter().map(|(name, document)| (*name, program_line(&document.command_line)));
    let mut commands = String::new();
    for (names, line) in collapsed(lines) {
        if runs.len() > 1 {
            commands += &format!("<h3>{}</h3>", escaped(&listed(&names)));
        }
        commands += &format!("<pre tabindex=\"0\">{}</pre>\n", escaped(&line));
    }
    out + &section("To repeat it", &commands)
}

fn section(title: &str, inside: &str) -> String {
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
    let mut names: Vec<&str> = Vec::new();
    for (name, document) in runs {
        if courses_of(name, document).is_empty() {
            names.push(name);
        }
    }
    if names.is_empty() {
        return String::new();
    }
    paragraph("", &format!("Nothing was measured in {}.", listed(&names)))
}

/// Charts beside each other where the window has room.
fn grid(charts: &str) -> String {
    if charts.is_empty() { String::new() } else { format!("<div class=\"charts\">{charts}</div>\n") }
}

/// What a reader wants to know of a run: figures, verdict, its rate over time (`chart`).
fn head(run: &Run, spans: &[Course], chart: &str, is_alone: bool) -> String {
    let title = if is_alone { String::new() } else { format!("<h2>{}</h2>\n", escaped(run.0)) };
    let mut out = format!("<section class=\"head\">\n{title}{}<div class=\"lead\"><div>", subtitle(run.1));
    match spans {
        [] => out.push_str("<p>Nothing was measured.</p>"),
        [course] => out.push_str(&total(&Summary::of(course.measured).total)),
        several => out.push_str(&side_by_side(several, false)),
    }
    out + &format!("{}</div>{chart}</div></section>\n", verdicts(std::slice::from_ref(run)))
}

/// When and where it ran, and what it did.
fn subtitle(document: &Document) -> String {
    paragraph("subtitle", &subtitle_lines(document).join("\n"))
}

fn subtitle_lines(document: &Document) -> Vec<String> {
    let mut when = Vec::new();
    if let Some(began) = document.system.start_unix_s.and_then(|s| Timestamp::from_second(s).ok()) {
        when.push(began.strftime("%Y-%m-%d %H:%M:%S UTC").to_string());
    }
    let host = document.host_words();
    if !host.is_empty() {
        when.push(format!("on {host}"));
    }
    let mut lines = vec![when.join(" ")];
    if let [span] = document.profile.time_spans.as_slice() {
        let loads = span.targets.iter().map(|target| (target.path.as_str(), load(span, target)));
        lines.extend(collapsed(loads).iter().map(|(paths, load)| format!("{}: {load}", listed(paths))));
    }
    lines.retain(|line| !line.is_empty());
    lines.iter().map(|line| printable(line).to_string()).collect()
}

/// What the threads do with a target: `4 KiB random, 30 % writes, 2 threads, 8 outstanding each`.
fn load(span: &TimeSpan, target: &Target) -> String {
    let (threads, outstanding) = match span.thread_count {
        0 => (target.threads_per_file, target.request_count),
        threads => (threads, span.request_count),
    };
    let s = if threads == 1 { "" } else { "s" };
    format!(
        "{} {}, {threads} thread{s}, {outstanding} outstanding each",
        size(target.block_bytes),
        access(target)
    )
}

fn total(total: &DirectionSummary) -> String {
    let (mean, p99, what) = match times(total) {
        Some((times, what)) => (Some(times.mean_ns), Some(times.p99_ns as f64), what),
        None => (None, None, "latency"),
    };
    tiles(&[
        ("IOPS".to_string(), Some(number(total.iops))),
        ("throughput".to_string(), Some(rate(total.bytes_per_s))),
        (format!("mean {what}"), mean.map(latency_words)),
        ("99 % of I/Os within".to_string(), p99.map(latency_words)),
    ])
}

/// The figures of every course in a table. A verdict is of a result, not of its time spans.
fn side_by_side(courses: &[Course], has_verdicts: bool) -> String {
    let mut out = figure_table("Side by side", "result");
    if has_verdicts {
        out.add_columns(["verdict"]);
    }
    for course in courses {
        let total = Summary::of(course.measured).total;
        let mut cells = figures(&total).map(Cell::Text).to_vec();
        if has_verdicts {
            cells.push(Cell::Grade(course.document.verdict.as_ref().map(|verdict| verdict.grade)));
        }
        out.push(course.name.clone(), cells);
    }
    out.html()
}

fn figure_table(caption: &str, what: &str) -> Table {
    let mut table = Table::new(caption, [what]);
    table.add_columns(FIGURES);
    table
}

fn directions(courses: &[Course]) -> String {
    let mut out = figure_table("Reads and writes", "I/Os");
    for course in courses {
        let Summary { read, write, total, trim, .. } = Summary::of(course.measured);
        let has_both = read.ios > 0 && write.ios > 0;
        for (part, sum) in [("reads", &read), ("writes", &write), ("total", &total)] {
            if sum.ios == 0 || (part == "total" && !has_both) {
                continue;
            }
            let name = if courses.len() > 1 { format!("{}: {part}", course.name) } else { part.to_string() };
            out.push(name, figures(sum).map(Cell::Text).into());
        }
        if let Some(trims) = &trim {
            let name =
                if courses.len() > 1 { format!("{}: trims", course.name) } else { "trims".to_string() };
            out.push(name, figures(trims).map(Cell::Text).into());
        }
    }
    out.html()
}

fn events(courses: &[Course]) -> String {
    let mut out = String::new();
    for course in courses {
        let mut items = String::new();
        for event in course.events() {
            items += &format!("<li>at {}: {}</li>", seconds(event.at_s), escaped(&event.says));
        }
        let of =
            if course.name.is_empty() { String::new() } else { format!(" of {}", escaped(&course.name)) };
        if !items.is_empty() {
            out += &format!("<h3>Events{of}</h3><ol>{items}</ol>\n");
        }
    }
    out
}

/// What no chart can show, and what to do for it.
fn without_latency(courses: &[Course]) -> String {
    let (mut latency, mut intervals, mut slices) = (Vec::new(), Vec::new(), Vec::new());
    for course in courses {
        let name = course.name.as_str();
        if !course.span.measure_latency {
            latency.push(name);
            continue;
        }
        if !course.span.calculate_iops_std_dev {
            intervals.push(name);
        }
        if course.measured.latency_over_time.is_none() {
            slices.push(name);
        }
    }
    let mut out = String::new();
    for (names, what, advice) in [
        (
            latency,
            "latency over time",
            "Run with -L to have a heat map, and with -D too for mean, smallest and largest latency of each interval.",
        ),
        (intervals, "chart of mean, smallest and largest latency over time", "Run with -D to have it."),
        (
            slices,
            "latency heat map",
            "The result holds no latencies over time: it was made by an earlier version, or added up from such \
             results.",
        ),
    ] {
        if names.is_empty() {
            continue;
        }
        let of = if names.len() == courses.len() { String::new() } else { format!(" of {}", listed(&names)) };
        out += &note(&format!("There is no {what}{of}. {advice}"));
    }
    out
}

fn row(name: &str, value: String) -> [String; 2] {
    [name.to_string(), value]
}

fn machine((name, document): &Run) -> Vec<[String; 2]> {
    let system = &document.system;
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
    if !system.machine_model.is_empty() {
        rows.insert(1, row("machine", system.machine_model.clone()));
    }
    if let Some(usual) = document.usual.as_ref().and_then(usual_words) {
        rows.push(row("usual for this disk", usual));
    }
    if let Some(memory) = system.memory_bytes {
        rows.push(row("memory", bytes(memory as f64)));
    }
    let spans = courses_of(name, document);
    let mut of_spans = Vec::new();
    for (place, course) in spans.iter().enumerate() {
        of_spans.extend(settings(course).into_iter().map(|row| (format!("time span {}", place + 1), row)));
    }
    for (of, [what, value]) in collapsed(of_spans) {
        let what = if of.len() >= spans.len() { what } else { format!("{what} ({})", listed(&of)) };
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
    let rounds = span.until_steady.map_or_else(String::new, |rule| {
        format!("rounds of {} s until {} are steady, {} at most, ", span.duration_s, rule.window, rule.rounds)
    });
    let times = format!(
        "{} s warm-up, {rounds}{} s measured, {} s cool-down",
        span.warmup_s,
        number(course.measured.test_time_s.round()),
        span.cooldown_s
    );
    let mut rows = vec![row("engine", course.measured.engine.clone()), row("times", times)];
    if let Some(rounds) = &course.measured.rounds {
        let first = rounds.window_first + 1;
        let is_steady = if rounds.is_steady { "steady" } else { "not steady" };
        let words = format!("from round {first} of {}: {is_steady}, {}", rounds.rounds.len(), rounds.words());
        rows.push(row("rounds", words));
    }
    rows.extend(span.targets.iter().map(|target| row(&target.path, load(span, target))));
    // Of many hosts nobody knows whose they are.
    let targets: &[_] = if course.document.sources.len() > ROWS_MAX { &[] } else { &evidence.targets };
    for target in targets {
        let mut facts = vec![("", &target.filesystem), ("on ", &target.device_name)];
        facts.push(("scheduler ", &target.scheduler));
        facts.push(("write cache: ", &target.write_cache));
        facts.push(("mounted with ", &target.mount_options));
        for disk in target.lowest() {
            facts.extend([("model ", &disk.model), ("firmware ", &disk.firmware)]);
        }
        let mut words = vec![size(target.size_bytes)];
        for (name, value) in facts {
            if let Some(value) = value
                && !value.is_empty()
            {
                words.push(format!("{name}{value}"));
            }
        }
        rows.push(row(&format!("storage of {}", target.path), words.join(", ")));
    }
    rows.extend(evidence.limits.iter().map(|limit| row("limit", limit_words(limit))));
    rows
}
