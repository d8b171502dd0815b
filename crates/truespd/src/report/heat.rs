//! Heat maps: how many I/Os took how long, over time.

use super::cells::{BLUE, Cells, ORANGE};
use super::chart::{Chart, Point, Series};
use super::course::{Course, latency_words, over_time};
use truespd_core::measure::slices::Slice;
use truespd_core::result::Operations;
use truespd_core::text::duration_ns;

/// Columns of a heat map, at most.
const COLUMNS_MAX: usize = 240;

/// A map for each course, or for its reads and its writes where there is one course. Maps of several courses line up.
pub(super) fn charts(courses: &[Course]) -> Vec<Chart> {
    let of_course = |(place, course): (usize, &Course)| {
        let lines = course.lines(courses.len() == 1).into_iter();
        lines.filter_map(|(operations, name)| chart(courses, place, operations, &name)).collect::<Vec<_>>()
    };
    courses.iter().enumerate().flat_map(of_course).collect()
}

/// Of the course at that place; none without latencies over time.
fn chart(courses: &[Course], place: usize, operations: Operations, name: &str) -> Option<Chart> {
    let course = &courses[place];
    let slices = course.measured.latency_over_time.as_ref()?.at_most(COLUMNS_MAX);
    let column = |[reads, writes]: &[Slice; 2]| {
        let mut both = Slice::default();
        let parts: &[&Slice] = match operations {
            Operations::Reads => &[reads],
            Operations::Writes => &[writes],
            Operations::All => &[reads, writes],
        };
        parts.iter().for_each(|part| both.add(part));
        both
    };
    let (hue, what, word) = match operations {
        Operations::Reads => (BLUE, "reads", "reads"),
        Operations::Writes => (ORANGE, "writes", "writes"),
        Operations::All => (BLUE, "I/Os", "all"),
    };
    let cells = Cells {
        id: format!("heat-{place}-{word}"),
        what: what.into(),
        hue,
        column_s: slices.slice_ns() as f64 / 1e9,
        end_s: course.measured.test_time_s,
        columns: slices.slices().iter().map(column).collect(),
    };
    if cells.is_empty() {
        return None;
    }
    let title = format!("Latency heat map: {name}");
    let mut chart = over_time(&title, "latency", latency_words, courses);
    chart.marks = course.events().iter().map(|event| event.at_s).collect();
    chart.about = format!(
        "Each column is {}, and each cell a range of latencies: the stronger its colour, the more {what} took so long. The \
         scale stretches small counts, so that a single one is seen. The lines are median and 99th percentile of each column.",
        duration_ns(slices.slice_ns() as f64)
    );
    chart.series = vec![percentile(&cells, "p50", 0.5), percentile(&cells, "p99", 0.99)];
    chart.cells = Some(cells);
    Some(chart)
}

/// A percentile of each column that has I/Os, in its middle.
fn percentile(cells: &Cells, name: &str, fraction: f64) -> Series {
    let point = |(column, slice): (usize, &Slice)| {
        let middle = (column as f64 + 0.5) * cells.column_s;
        Some(Point::at(middle.min(cells.end_s), slice.percentile_ns(fraction)?))
    };
    Series::new(name, cells.columns.iter().enumerate().filter_map(point).collect())
}
