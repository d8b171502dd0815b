//! The points of a sweep over two switches as tables: a row for each value of the first switch, a column for each of
//! the second, and a table for each combination of the others.

use super::axis::Axis;
use super::report::{Point, SweepReport};
use crate::answer::{Shown, doubt, doubts_text};
use std::collections::BTreeMap;
use truespd_core::result::Grade;
use truespd_platform::text::table::aligned;
use truespd_platform::text::{columns_of, number, printable};

/// The shades of a terminal, from few IOPS to many, each for a fifth of the most.
const SHADES: [&str; 5] = [".", ":", "+", "*", "#"];
/// Columns between two columns of a table.
const GAP: usize = 2;

/// A table of points over two switches.
pub struct Heat<'a> {
    /// `IOPS over -o and -t`, with the values of the other switches behind it.
    pub title: String,
    pub rows: &'a Axis,
    pub columns: &'a Axis,
    /// Row by row; none where the point was not measured.
    pub cells: Vec<Vec<Option<&'a Point>>>,
}

impl SweepReport {
    /// Its tables over the first two switches, in the order of their first points; none with fewer switches, or where
    /// nothing was measured.
    pub fn heats(&self) -> Vec<Heat<'_>> {
        let [rows, columns, ..] = &self.axes[..] else { return Vec::new() };
        let mut heats: Vec<Heat<'_>> = Vec::new();
        let mut places: BTreeMap<&[String], usize> = BTreeMap::new();
        for point in self.points.iter().filter(|point| !point.runs.is_empty()) {
            // A changed document may name any values.
            let [of_row, of_column, others @ ..] = &point.values[..] else { continue };
            let row = rows.values.iter().position(|value| value == of_row);
            let column = columns.values.iter().position(|value| value == of_column);
            let (Some(row), Some(column)) = (row, column) else { continue };
            let place = *places.entry(others).or_insert(heats.len());
            if place == heats.len() {
                heats.push(Heat {
                    title: self.heat_title(point),
                    rows,
                    columns,
                    cells: vec![vec![None; columns.values.len()]; rows.values.len()],
                });
            }
            heats[place].cells[row][column] = Some(point);
        }
        heats
    }

    fn heat_title(&self, point: &Point) -> String {
        let mut title = format!("IOPS over {} and {}", self.axes[0].shown(), self.axes[1].shown());
        for (axis, value) in self.axes.iter().zip(&point.values).skip(2) {
            title.push_str(&format!(", {}", axis.with(value)));
        }
        title
    }
}

impl Heat<'_> {
    /// Its points that were measured, row by row.
    pub fn points(&self) -> impl Iterator<Item = &Point> {
        self.cells.iter().flatten().filter_map(|cell| *cell)
    }
}

/// The most IOPS of all tables, which has the darkest shade; 1 at least.
pub fn most(heats: &[Heat<'_>]) -> f64 {
    heats.iter().flat_map(Heat::points).map(iops).fold(1.0, f64::max)
}

pub fn iops(point: &Point) -> f64 {
    point.iops().map_or(0.0, |figure| figure.mean)
}

/// The rate of a point with the sign of its verdict: `8,046`, `8,046!`
pub fn figure(point: &Point) -> String {
    format!("{}{}", number(iops(point)), point.grade().map_or("", doubt))
}

/// All tables, on a terminal with shades; empty where there are none.
pub(super) fn text(report: &SweepReport, shown: Shown) -> String {
    let heats = report.heats();
    let most = most(&heats);
    let mut out = String::new();
    for heat in &heats {
        out.push_str(&format!("\n{}\n", printable(&heat.title)));
        out.push_str(&table(heat, most, shown));
    }
    if out.is_empty() {
        return out;
    }
    if shown.has_bars {
        let mut keys = Vec::new();
        for (place, shade) in SHADES.iter().enumerate() {
            keys.push(format!("{shade} {} %", (place + 1) * 100 / SHADES.len()));
        }
        out.push_str(&format!("shades, up to these parts of the most: {}\n", keys.join(", ")));
    }
    out + &doubts(&heats, shown.style.columns)
}

/// What the signs behind rates mean, a line for each that is there.
pub fn doubts(heats: &[Heat<'_>], columns: usize) -> String {
    let grades: Vec<Grade> = heats.iter().flat_map(Heat::points).filter_map(Point::grade).collect();
    doubts_text(grades.iter().copied(), columns)
}

fn shade(iops: f64, most: f64) -> &'static str {
    let place = (iops / most * SHADES.len() as f64).ceil() as usize;
    SHADES[place.clamp(1, SHADES.len()) - 1]
}

/// A table: as many columns beside each other as there is room for, and the others below.
fn table(heat: &Heat<'_>, most: f64, shown: Shown) -> String {
    let mut lines = vec![vec![String::new()]];
    lines[0].extend(heat.columns.values.iter().map(|value| heat.columns.with(value)));
    for (value, cells) in heat.rows.values.iter().zip(&heat.cells) {
        let mut line = vec![heat.rows.with(value)];
        for cell in cells {
            line.push(match cell {
                Some(point) if shown.has_bars => format!("{} {}", figure(point), shade(iops(point), most)),
                Some(point) => figure(point),
                None => "-".to_string(),
            });
        }
        lines.push(line);
    }
    let mut out = String::new();
    let mut first = 1;
    while first < lines[0].len() {
        let mut room = shown.style.columns.saturating_sub(width(&lines, 0));
        let mut end = first;
        while end < lines[0].len() && (end == first || GAP + width(&lines, end) <= room) {
            room = room.saturating_sub(GAP + width(&lines, end));
            end += 1;
        }
        let mut part = Vec::new();
        for line in &lines {
            part.push([&line[..1], &line[first..end]].concat());
        }
        out.push_str(&aligned(part, &vec![true; end - first + 1]));
        first = end;
    }
    out
}

/// Columns that a column of the table takes.
fn width(lines: &[Vec<String>], column: usize) -> usize {
    lines.iter().map(|line| columns_of(&line[column])).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{Findings, SeriesVerdict};
    use crate::suite::RanOn;
    use crate::suite::sweep::run::combinations;
    use truespd_front::show::Style;

    /// A point has 1,000 IOPS times its place.
    fn report(axes: &[&str]) -> SweepReport {
        let axes: Vec<Axis> = axes.iter().map(|text| Axis::read(text).expect("an axis")).collect();
        let mut points = Vec::new();
        for places in combinations(&axes) {
            let values = axes.iter().zip(&places).map(|(axis, &place)| axis.values[place].clone()).collect();
            let grade = if points.len() == 1 { Grade::Suspect } else { Grade::Certified };
            points.push(Point::made(values, 1000.0 * points.len() as f64, grade));
        }
        SweepReport {
            tool_version: String::new(),
            line: Vec::new(),
            targets: Vec::new(),
            axes,
            precision_percent: 5.0,
            points,
            again: None,
            is_out_of_time: false,
            verdict: SeriesVerdict::default(),
            ran_on: RanOn::default(),
        }
    }

    fn shown(columns: usize, has_bars: bool) -> Shown {
        let style = Style { columns, has_colour: false };
        Shown { style, has_bars, has_original: false, findings: Findings::Whole }
    }

    #[test]
    fn two_switches_are_a_table_with_shades_on_a_terminal() {
        let report = report(&["o=1,2,4", "t=1,2"]);
        assert_eq!(
            text(&report, shown(80, true)),
            "\nIOPS over -o and -t\n\
             \x20        -t1       -t2\n\
             -o1      0 .  1,000? .\n\
             -o2  2,000 :   3,000 +\n\
             -o4  4,000 *   5,000 #\n\
             shades, up to these parts of the most: . 20 %, : 40 %, + 60 %, * 80 %, # 100 %\n\
             ? suspect: the figure may not be the disk's own; the verdict says why\n"
        );
        assert!(!text(&report, shown(80, false)).contains('#'));
    }

    #[test]
    fn a_third_switch_divides_it_and_narrow_terminals_break_it() {
        let mut report = report(&["o=1,2", "t=1,2,4", "zipf=0.6,0.9"]);
        report.axes[2].switch = "-zipf".to_string();
        report.points[11].runs.clear();
        let all = text(&report, shown(24, false));
        let titles: Vec<&str> = all.lines().filter(|line| line.contains("over")).collect();
        assert_eq!(titles, ["IOPS over -o and -t, --zipf 0.6", "IOPS over -o and -t, --zipf 0.9"]);
        assert!(all.lines().all(|line| line.len() <= 31), "{all}");
        assert_eq!(all.matches("-o1").count(), 4, "two parts of each: {all}");
        assert!(all.contains('-'), "what was not measured: {all}");
        assert_eq!(text(&self::report(&["o=1,2"]), shown(80, true)), "", "one switch");
    }
}
