//! What each host of a sum did, and how far apart they are.

use super::chart::{Chart, Point, Series};
use super::course::{Course, over_time};
use super::figures::strings;
use super::html::escaped;
use super::parts::bar;
use super::table::{Cell, Table};
use truespd_core::result::LatencySummary;
use truespd_core::result::hosts::{HostFigure, HostRow, Outlier, ROWS_MAX, Spread, folded, outliers, rows};
use truespd_core::text::{duration_ns, number, rate};

/// Hosts that are named as far from the others.
const OFF_MAX: usize = 8;
/// Lines of a chart, at most: it has so many colours.
const LINES_MAX: usize = 8;

/// A table and a sentence for each time span of a sum, and what is missing; nothing for results of one run.
pub(super) fn of_all(courses: &[Course]) -> String {
    let of = |course: &Course| {
        let missing = if course.place == 0 { missing(course) } else { String::new() };
        of_course(course, courses.len() == 1) + &missing
    };
    courses.iter().map(of).collect()
}

/// Ranks of a cluster run that left no result.
fn missing(course: &Course) -> String {
    let missing = &course.document.missing;
    if missing.is_empty() {
        return String::new();
    }
    let named = missing.iter().take(ROWS_MAX).map(|rank| rank.words());
    let more = missing.len().checked_sub(ROWS_MAX).filter(|more| *more > 0);
    let words: Vec<String> = named.chain(more.map(|more| format!("{more} more"))).collect();
    format!("<p>{}</p>\n", escaped(&format!("Missing: {}.", words.join("; "))))
}

fn of_course(course: &Course, is_only: bool) -> String {
    let document = course.document;
    let rows = rows(document, course.place);
    let Some(spread) = Spread::of(rows.iter().map(|row| row.iops)).filter(|_| rows.len() > 1) else {
        return String::new();
    };
    let name = if is_only { String::new() } else { format!("{}: ", course.name) };
    let ratio = spread.ratio().map_or(String::new(), |ratio| format!(" ({} times)", number(ratio)));
    let mut words = vec![format!(
        "{name}{} results of {}, from {} to {} IOPS{ratio}; the median is {}.",
        rows.len(),
        document.host_words(),
        number(spread.least),
        number(spread.most),
        number(spread.median)
    )];
    let off = outliers(&rows);
    let told: Vec<String> = off.iter().take(OFF_MAX).map(|outlier| off_words(outlier, &rows)).collect();
    if !told.is_empty() {
        words.push(format!("Far from the others: {}.", told.join("; ")));
    }
    let chart = chart(&format!("{name}IOPS over time by host"), course, &rows).html();
    let table = table(&format!("{name}hosts"), &rows, spread.most);
    let words: String = words.iter().map(|words| format!("<p>{}</p>\n", escaped(words))).collect();
    format!("{words}{chart}{table}")
}

/// A line for each host; of many, the slowest and the fastest. Empty where fewer than two results hold I/Os over time.
fn chart(title: &str, course: &Course, rows: &[HostRow]) -> Chart {
    let mut chart = over_time(title, "I/Os completed per second", number, std::slice::from_ref(course));
    let points = |row: &HostRow| -> Option<Vec<Point>> {
        let span = course.document.sources[row.source].time_spans.get(course.place)?.as_ref()?;
        Some(span.series.as_ref()?.rates().into_iter().map(|[at_s, rate]| Point::at(at_s, rate)).collect())
    };
    let line = |row| points(row).filter(|points| !points.is_empty()).map(|points| (row, points));
    let mut lines: Vec<(&HostRow, Vec<Point>)> = rows.iter().filter_map(line).collect();
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

fn off_words(outlier: &Outlier, rows: &[HostRow]) -> String {
    let name = &rows[outlier.row].name;
    match outlier.figure {
        HostFigure::Iops => format!("{name} ({} IOPS)", number(outlier.value)),
        HostFigure::Latency => format!("{name} (mean latency {})", duration_ns(outlier.value)),
    }
}

fn table(caption: &str, rows: &[HostRow], most: f64) -> String {
    let folded = folded(rows);
    let mut table = Table::new(caption, [""; 0]);
    table.head =
        strings(["host", "", "IOPS", "throughput", "mean", "p50", "p99", "longest", "late start", "verdict"]);
    for row in folded.shown.iter().map(|&place| &rows[place]) {
        let words = |ns: Option<f64>| ns.map_or("-".to_string(), duration_ns);
        let all = row.times().and_then(|times| times.all.as_ref());
        let of = |figure: fn(&LatencySummary) -> u64| words(all.map(|all| figure(all) as f64));
        let texts = [
            number(row.iops),
            rate(row.bytes_per_s),
            words(row.times().map(|times| times.mean_ns)),
            of(|all| all.p50_ns),
            of(|all| all.p99_ns),
            of(|all| all.max_ns),
            words(row.late_ns.map(|ns| ns as f64)),
        ];
        let cells = std::iter::once(bar(row.iops, most)).chain(texts.map(Cell::Text));
        table.push(row.name.clone(), cells.chain([Cell::Grade(row.grade)]).collect());
    }
    let more = folded.left_out.map_or(String::new(), |(count, [least, most])| {
        let words = format!(
            "Not shown: {count} more hosts between {} and {} IOPS. The slowest, the fastest and those far from the others are \
             shown.",
            number(least),
            number(most)
        );
        format!("<p class=\"note\">{}</p>\n", escaped(&words))
    });
    format!("{}{more}", table.html())
}
