//! The picture of a run on a screen of any size.

use jiff::tz::TimeZone;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::bar;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Sparkline};

use super::{Doing, Message, Model, Outcome, Spread, Weight};
use super::{filling, message_lead, place, seconds, sums, trims_only};
use crate::runner::Length;
use crate::runner::view::Throughput;
use truespd_core::load::live::Phase;
use truespd_core::result::Grade;
use truespd_front::show::{hosts, phase_words};
use truespd_front::telemetry::{At, Sum};
use truespd_platform::text::{columns_of, number, printable, program_line, rate, with_micro, wrap};

/// Columns for the name of a row.
const LEAD: usize = 17;
const FIGURE: usize = 13;
/// Rows of a chart, with its heading.
const CHART_LEAST: usize = 3;
const CHART_MOST: usize = 12;
/// From so many rows on there are two charts.
const CHARTS_FROM: usize = 12;
/// Columns of a bar at most.
const BAR_MOST: usize = 4;
/// From so many rows on there are blank lines between the parts.
const ROOMY_FROM: usize = 30;
/// Columns for the number of hosts.
const HOSTS_LEAST: usize = 24;
/// A run that tells nothing for so long is said to.
const SILENT_FROM_S: u64 = 5;
/// A test of which the disks moved less is probably served by something else.
const SHARE_NOTABLE: f64 = 0.9;

#[derive(Debug, Clone)]
pub(super) struct Appearance {
    /// Weights and grades in colour.
    pub has_colour: bool,
    /// Bars of plain characters.
    pub is_ascii: bool,
    /// For the times of messages.
    pub zone: TimeZone,
    /// Seconds since the last event.
    pub silent_s: u64,
    pub keys: &'static str,
}

pub(super) fn draw(frame: &mut Frame<'_>, model: &Model, appearance: &Appearance) {
    let area = frame.area();
    let (columns, rows) = (usize::from(area.width), usize::from(area.height));
    if columns == 0 || rows == 0 {
        return;
    }
    let mut page =
        Page { frame, area, row: 0, is_roomy: rows >= ROOMY_FROM, has_micro: !appearance.is_ascii };
    page.text(head(model, appearance, columns));
    page.text(figures(model, columns));
    let disks = disks(model, columns, appearance);
    let has_footer = rows >= 12;
    // The charts take what the rest does not need.
    let gap = usize::from(page.is_roomy);
    // A small screen keeps its chart, and shows fewer messages and results.
    let [most_said, most_brought] = if page.is_roomy { [rows / 4, rows / 4] } else { [rows / 6, rows / 8] };
    let said = message_rows(model, columns, appearance).min(most_said) + gap;
    let brought =
        if model.results.is_empty() { 0 } else { (model.results.len() + 1).min(most_brought) + gap };
    let others = disks.len() + gap + said + brought + usize::from(has_footer);
    let left = rows.saturating_sub(page.row + others);
    for chart in charts(model, left) {
        page.chart(&chart, appearance);
    }
    page.text(disks);
    let left = rows.saturating_sub(page.row + usize::from(has_footer));
    // A heading and two results, where messages would take all of it.
    let results = results(model, columns, left.saturating_sub(said).max((left / 2).min(3)), appearance);
    page.text(results);
    let left = rows.saturating_sub(page.row + usize::from(has_footer));
    page.text(messages(model, columns, left, appearance));
    if has_footer {
        page.last(Line::styled(appearance.keys, Style::new().add_modifier(Modifier::DIM)));
    }
}

/// A screen that is filled from the top.
struct Page<'a, 'f> {
    frame: &'a mut Frame<'f>,
    area: Rect,
    row: usize,
    is_roomy: bool,
    has_micro: bool,
}

impl Page<'_, '_> {
    /// The next rows, as many as are left and are wanted.
    fn next(&mut self, wanted: usize) -> Rect {
        let height = wanted.min(usize::from(self.area.height) - self.row);
        let y = self.area.y + self.row as u16;
        self.row += height;
        Rect { y, height: height as u16, ..self.area }
    }

    fn gap(&mut self) {
        if self.is_roomy {
            self.next(1);
        }
    }

    fn text(&mut self, mut lines: Vec<Line<'_>>) {
        if lines.is_empty() {
            return;
        }
        if self.has_micro {
            for span in lines.iter_mut().flat_map(|line| &mut line.spans) {
                span.content = with_micro(&span.content).into();
            }
        }
        let area = self.next(lines.len());
        self.frame.render_widget(Paragraph::new(lines), area);
        self.gap();
    }

    fn chart(&mut self, chart: &Chart, appearance: &Appearance) {
        let area = self.next(chart.rows);
        if usize::from(area.height) < CHART_LEAST || usize::from(area.width) <= LEAD {
            return;
        }
        let most = chart.values.iter().copied().fold(0.0, f64::max);
        let columns = usize::from(area.width) - LEAD;
        let each = (columns / chart.planned.max(1)).clamp(1, BAR_MOST);
        let shown = &chart.values[chart.values.len().saturating_sub(columns / each)..];
        let words = format!("{:<LEAD$}0 to {}, the last {} s", chart.name, (chart.words)(most), shown.len());
        let words = if self.has_micro { with_micro(&words) } else { words };
        self.frame.render_widget(Paragraph::new(words), Rect { height: 1, ..area });
        // The widget takes whole numbers.
        let scaled = shown.iter().map(|value| (value / most.max(f64::MIN_POSITIVE) * 1e6) as u64);
        let scaled = scaled.flat_map(|value| std::iter::repeat_n(value, each));
        let bars = Sparkline::default().data(scaled).max(1_000_000).bar_set(bars(appearance.is_ascii));
        let bars =
            bars.style(if appearance.has_colour { Style::new().fg(Color::Cyan) } else { Style::new() });
        let place =
            Rect { x: area.x + LEAD as u16, y: area.y + 1, width: columns as u16, height: area.height - 1 };
        self.frame.render_widget(bars, place);
        self.gap();
    }

    /// The last row of the screen.
    fn last(&mut self, line: Line<'_>) {
        let area = Rect { y: self.area.y + self.area.height - 1, height: 1, ..self.area };
        self.frame.render_widget(Paragraph::new(line), area);
    }
}

fn bars(is_ascii: bool) -> bar::Set<'static> {
    if !is_ascii {
        bar::NINE_LEVELS
    } else {
        bar::Set {
            full: "#",
            seven_eighths: "#",
            three_quarters: "#",
            five_eighths: "=",
            half: "=",
            three_eighths: "-",
            one_quarter: "-",
            one_eighth: ".",
            empty: " ",
        }
    }
}

/// What runs, and how far it is.
fn head(model: &Model, appearance: &Appearance, columns: usize) -> Vec<Line<'static>> {
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let command = printable(&program_line(&model.command_line));
    let mut lines = vec![Line::styled(cut(&command, columns), bold)];
    if let Some(step) = &model.step {
        let passed_s = model.now.map_or(0.0, |now| now.duration_since(step.since).as_secs_f64());
        let left_s = (step.planned_s - passed_s).max(0.0) + step.ahead_s;
        let left = Length { least_s: left_s, most_s: left_s + step.longer_s, round_s: 0.0 }.clock();
        let words = match (&model.doing, step.runs_ahead) {
            (Doing::Over, _) => printable(&step.name),
            (_, 0) => format!("{}, the last run, {left} left", printable(&step.name)),
            (_, ahead) => {
                format!("{}, {ahead} more to come, {left} left", printable(&step.name))
            }
        };
        lines.push(Line::raw(cut(&words, columns)));
    }
    let (words, share) = doing(model);
    let silent = match appearance.silent_s {
        s if s >= SILENT_FROM_S && model.doing != Doing::Over => format!(", nothing told for {s} s"),
        _ => String::new(),
    };
    let words = cut(&format!("{words}{silent}"), columns);
    let room = columns.saturating_sub(columns_of(&words) + 2);
    lines.push(Line::raw(match share {
        Some(share) if room >= 10 => format!("{words}  {}", gauge(share, room, appearance)),
        _ => words,
    }));
    lines
}

/// What goes on, and which part of it is done.
fn doing(model: &Model) -> (String, Option<f64>) {
    match &model.doing {
        Doing::Preparing => (phase_words(Phase::Start).into(), None),
        Doing::Filling { path, done_bytes, total_bytes } => {
            let (words, share) = filling(path, *done_bytes, *total_bytes);
            (words, Some(share))
        }
        Doing::Running => model.at.as_ref().map_or((phase_words(Phase::Start).into(), None), running),
        Doing::Between => ("the run is over".into(), None),
        Doing::Over => ("everything is over".into(), None),
    }
}

fn running(at: &At) -> (String, Option<f64>) {
    let whole_s = at.elapsed_s + at.left_s;
    let share = (whole_s > 0.0).then(|| at.elapsed_s / whole_s);
    (place(at), share)
}

/// A bar of so many columns.
fn gauge(share: f64, columns: usize, appearance: &Appearance) -> String {
    let (full, empty) = if appearance.is_ascii { ("#", "-") } else { ("█", "░") };
    let columns = columns.min(60);
    let done = ((share.clamp(0.0, 1.0) * columns as f64) as usize).min(columns);
    full.repeat(done) + &empty.repeat(columns - done)
}

/// A figure of a run.
struct Figure {
    name: &'static str,
    of: fn(&At) -> Option<f64>,
    words: fn(f64) -> String,
}

const PROCESSORS: &str = "processors busy";
const THROUGHPUT: &str = "throughput";
const TRIMMED: &str = "trimmed";

const IOPS: Figure = Figure { name: "IOPS", of: |at| at.iops, words: number };
const TRIMS: Figure = Figure { name: "trims/s", of: |at| at.trim?.iops, words: number };
const LATENCY: Figure = Figure { name: "mean latency", of: |at| at.latency_mean_s, words: seconds };

const FIGURES: [Figure; 7] = [
    IOPS,
    Figure { name: THROUGHPUT, of: |at| at.bytes_per_s, words: rate },
    TRIMS,
    Figure { name: TRIMMED, of: |at| at.trim?.bytes_per_s, words: rate },
    LATENCY,
    Figure { name: "I/Os in flight", of: |at| at.in_flight_mean, words: tenths },
    Figure { name: PROCESSORS, of: |at| at.processors_busy_percent, words: percent },
];

fn tenths(value: f64) -> String {
    format!("{value:.1}")
}

fn percent(value: f64) -> String {
    format!("{value:.1} %")
}

/// The table of figures: now, and over the measured time so far.
fn figures(model: &Model, columns: usize) -> Vec<Line<'static>> {
    let Some(last) = model.course.back() else { return Vec::new() };
    let room = (columns.saturating_sub(LEAD) / FIGURE).clamp(1, 4);
    let names = figure_row("", &["now", "mean", "lowest", "highest"].map(String::from)[..room]);
    let mut lines = vec![Line::styled(names, Style::new().add_modifier(Modifier::DIM))];
    for figure in &FIGURES {
        if trims_only(last) && [IOPS.name, THROUGHPUT].contains(&figure.name) {
            continue;
        }
        let Some(spread) = Spread::of(model.measured().filter_map(figure.of)) else { continue };
        let is_of_bytes = [THROUGHPUT, TRIMMED].contains(&figure.name);
        let words = if is_of_bytes { model.throughput() } else { figure.words };
        let now = (figure.of)(last).map_or("-".into(), words);
        let cells = [now, words(spread.mean), words(spread.least), words(spread.most)];
        // Only rank 0 tells of its host.
        let is_of_rank_0 = last.hosts.is_some() && figure.name == PROCESSORS;
        let name = if is_of_rank_0 { "rank 0 busy" } else { figure.name };
        lines.push(Line::raw(figure_row(name, &cells[..room])));
    }
    if let Some(of) = &last.hosts {
        lines.push(Line::raw(cut(&hosts(of).fitting(columns.max(HOSTS_LEAST)), columns)));
    }
    lines
}

fn figure_row(name: &str, cells: &[String]) -> String {
    let cells: String = cells.iter().map(|cell| format!("{cell:>FIGURE$}")).collect();
    format!("{name:<LEAD$}{cells}")
}

struct Chart {
    name: &'static str,
    values: Vec<f64>,
    words: fn(f64) -> String,
    /// How many values there are going to be.
    planned: usize,
    rows: usize,
}

/// As many charts as fit into so many rows.
fn charts(model: &Model, rows: usize) -> Vec<Chart> {
    if model.course.len() < 2 {
        return Vec::new();
    }
    let (count, each) = match rows {
        ..CHART_LEAST => (0, 0),
        CHART_LEAST..CHARTS_FROM => (1, rows.saturating_sub(1).clamp(CHART_LEAST, CHART_MOST)),
        _ => (2, (rows / 2 - 1).clamp(CHART_LEAST, CHART_MOST)),
    };
    let planned_s = model.at.as_ref().map_or(0.0, |at| at.elapsed_s + at.left_s);
    let mut charts = Vec::new();
    let first = if model.course.back().is_some_and(trims_only) { TRIMS } else { IOPS };
    for figure in &[first, LATENCY][..count] {
        charts.push(Chart {
            name: figure.name,
            values: model.course.iter().map(|at| (figure.of)(at).unwrap_or(0.0)).collect(),
            words: figure.words,
            planned: planned_s as usize,
            rows: each,
        });
    }
    charts
}

/// What the disks did, beside what the test did.
fn disks(model: &Model, columns: usize, appearance: &Appearance) -> Vec<Line<'static>> {
    let Some(last) = model.course.back().filter(|last| !last.disks.is_empty()) else { return Vec::new() };
    let names = ["reads/s", "read", "writes/s", "written", "latency", "in flight"].map(String::from);
    // The name and the reads and writes of a narrow screen say what there is; the order is that of iostat.
    let heading = if last.hosts.is_some() { "disk of rank 0" } else { "disk" };
    let mut lines =
        vec![Line::styled(disk_row(heading, &names, columns), Style::new().add_modifier(Modifier::DIM))];
    let throughput = model.throughput();
    const DISKS_MAX: usize = 4;
    for disk in last.disks.iter().take(DISKS_MAX) {
        let cells = [
            number(disk.reads_per_s),
            throughput(disk.read_bytes_per_s),
            number(disk.writes_per_s),
            throughput(disk.write_bytes_per_s),
            disk.latency_mean_s.map_or("-".into(), seconds),
            tenths(disk.in_flight_mean),
        ];
        lines.push(Line::raw(disk_row(&printable(&disk.name), &cells, columns)));
    }
    if last.disks.len() > DISKS_MAX {
        lines.push(Line::raw(format!("and {} more", last.disks.len() - DISKS_MAX)));
    }
    if let Some(share) = model.share_of_disks() {
        let words = format!("the disks moved {:.0} % of the bytes of the test", share * 100.0);
        let weight = if share < SHARE_NOTABLE { Weight::Warning } else { Weight::Note };
        lines.push(Line::styled(cut(&words, columns), style_of(weight, appearance)));
    }
    lines
}

/// As many of the cells as fit.
fn disk_row(name: &str, cells: &[String; 6], columns: usize) -> String {
    let mut line = format!("{:<LEAD$}", cut(name, LEAD - 1));
    for (cell, width) in cells.iter().zip([11, 13, 11, 13, 10, 11]) {
        if columns_of(&line) + width > columns {
            break;
        }
        line.push_str(&format!("{cell:>width$}"));
    }
    line
}

/// The last results of a series.
fn results(model: &Model, columns: usize, rows: usize, appearance: &Appearance) -> Vec<Line<'static>> {
    if model.results.is_empty() || rows < 2 {
        return Vec::new();
    }
    let longest =
        model.results.iter().filter_map(|one| one.name.as_deref()).map(columns_of).max().unwrap_or(0);
    let mut widths = vec![10, FIGURE, 10, 10];
    let mut room = columns.saturating_sub(widths.iter().sum::<usize>() + 11);
    // A name that is cut says less than the last figure.
    while widths.len() > 2 && room <= longest {
        room += widths.pop().unwrap_or_default();
    }
    let name_columns = room.max(LEAD);
    let mut cells = format!("{:<name_columns$}", "result");
    for (name, width) in ["IOPS", THROUGHPUT, "mean", "p99"].iter().zip(&widths) {
        cells.push_str(&format!("{name:>width$}"));
    }
    let mut lines = vec![Line::styled(cells, Style::new().add_modifier(Modifier::DIM))];
    let throughput = model.throughput();
    let from = model.results.len().saturating_sub(rows - 1);
    for one in &model.results[from..] {
        lines.push(outcome(one, name_columns, &widths, throughput, appearance));
    }
    lines
}

fn outcome(
    one: &Outcome,
    name_columns: usize,
    widths: &[usize],
    throughput: Throughput,
    appearance: &Appearance,
) -> Line<'static> {
    let name = one.name.as_deref().unwrap_or("this run");
    let mut line = format!("{:<name_columns$}", cut(&printable(name), name_columns - 1));
    let all = shown(one);
    let cells = [
        number(all.iter().fold(0.0, |all, sum| all + sum.iops)),
        throughput(all.iter().fold(0.0, |all, sum| all + sum.bytes_per_s)),
        latency(one, |sum| sum.latency_mean_s),
        latency(one, |sum| sum.latency_p99_s),
    ];
    for (cell, width) in cells.iter().zip(widths) {
        line.push_str(&format!("{cell:>width$}"));
    }
    let grade = one.result.verdict.map_or("", |grade| grade.word());
    let weight = match one.result.verdict {
        Some(Grade::Invalid) => Weight::Bad,
        Some(Grade::Suspect) => Weight::Warning,
        _ => Weight::Note,
    };
    Line::from(vec![
        Span::raw(line),
        Span::raw("  "),
        Span::styled(grade.to_string(), style_of(weight, appearance)),
    ])
}

/// What a row tells of: reads and writes, or the trims of a run that only trimmed.
fn shown(one: &Outcome) -> Vec<&Sum> {
    let all = one.result.time_spans.last().map(sums).unwrap_or_default();
    let mut shown: Vec<&Sum> = all.iter().map(|(_, sum)| *sum).collect();
    if shown.len() > 1 && all.iter().any(|(name, _)| *name == "trims") {
        shown.pop();
    }
    shown
}

/// A latency of reads and of writes, or of the one that there is: two percentiles have no sum.
fn latency(one: &Outcome, of: fn(&Sum) -> Option<f64>) -> String {
    let all: Vec<String> = shown(one).into_iter().filter_map(of).map(seconds).collect();
    if all.is_empty() { "-".into() } else { all.join("/") }
}

/// Rows that all messages would take.
fn message_rows(model: &Model, columns: usize, appearance: &Appearance) -> usize {
    model.messages.iter().map(|message| message_lines(message, columns, appearance).len()).sum()
}

/// The last messages that fit into so many rows.
fn messages(model: &Model, columns: usize, rows: usize, appearance: &Appearance) -> Vec<Line<'static>> {
    let mut lines: Vec<Line<'static>> = Vec::new();
    for message in model.messages.iter().rev() {
        let mut next = message_lines(message, columns, appearance);
        if next.len() + lines.len() > rows {
            // The beginning of the newest one says more than nothing.
            if lines.is_empty() {
                next.truncate(rows);
                lines = next;
            }
            break;
        }
        next.append(&mut lines);
        lines = next;
    }
    lines
}

fn message_lines(message: &Message, columns: usize, appearance: &Appearance) -> Vec<Line<'static>> {
    let time = message.at.to_zoned(appearance.zone.clone()).strftime("%H:%M:%S  ").to_string();
    let lead = match message.weight {
        Weight::Note => "",
        weight => message_lead(weight),
    };
    let words =
        wrap(&format!("{lead}{}", printable(&message.says)), columns.saturating_sub(time.len()).max(10));
    let blank = " ".repeat(time.len());
    let leads = std::iter::once(time).chain(std::iter::repeat(blank));
    let style = style_of(message.weight, appearance);
    leads
        .zip(words)
        .map(|(lead, words)| Line::from(vec![Span::raw(lead), Span::styled(words, style)]))
        .collect()
}

fn style_of(weight: Weight, appearance: &Appearance) -> Style {
    match weight {
        _ if !appearance.has_colour => Style::new(),
        Weight::Note => Style::new(),
        Weight::Warning => Style::new().fg(Color::Yellow),
        Weight::Bad => Style::new().fg(Color::Red),
    }
}

/// As much of the beginning as fits.
fn cut(text: &str, columns: usize) -> String {
    if columns_of(text) <= columns {
        return text.to_string();
    }
    let mut kept = String::new();
    for c in text.chars() {
        if columns_of(&kept) + columns_of(c.encode_utf8(&mut [0; 4])) + 3 > columns {
            break;
        }
        kept.push(c);
    }
    // Between two words, where that costs little.
    if let Some((words, _)) = kept.rsplit_once(' ').filter(|(words, _)| columns_of(words) * 4 > columns * 3) {
        kept.truncate(words.len());
    }
    kept + "..."
}
