//! One chart: lines with their ranges over one axis each, marks, and the same values for a table.
//!
//! A chart is drawn twice, for wide windows and for narrow ones: text in a picture that is only made smaller cannot be
//! read on a phone. The style sheet shows one of them, so that neither needs the script.

use std::fmt::Write;

use super::axis::{Axis, Spread};
use super::html::{escaped, table};

/// Lines of tables beside charts, at most.
const TABLE_ROWS: usize = 24;
/// Room for a character of a tick, which is 12 units high.
const TICK_CHARACTER: f64 = 7.0;
/// Points of a series, at most: half a wide chart's width in pixels.
pub(super) const POINTS_MAX: usize = 360;

/// A value with its range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Where along the x axis.
    pub x: f64,
    /// The value, for several its mean.
    pub y: f64,
    /// The smallest and the largest of what is drawn here as one.
    pub range: [f64; 2],
}

impl Point {
    /// One value.
    pub fn at(x: f64, y: f64) -> Self {
        Point { x, y, range: [y, y] }
    }
}

/// A line of a chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// For the legend.
    pub name: String,
    /// In the order of x.
    pub points: Vec<Point>,
    /// Beyond this x the line is dashed: few samples.
    pub solid_until: f64,
}

impl Series {
    /// All of it solid.
    pub fn new(name: impl Into<String>, points: Vec<Point>) -> Self {
        Series { name: name.into(), points, solid_until: f64::INFINITY }
    }
}

/// A stretch of the x axis with a name: the warm-up.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Phase {
    pub name: &'static str,
    pub from: f64,
    pub to: f64,
}

/// Ticks of the x axis.
#[derive(Debug, Clone, PartialEq)]
pub enum Ticks {
    /// At round values.
    Round,
    /// At these places, with these words.
    Named(Vec<(f64, String)>),
}

/// A chart.
#[derive(Debug, Clone)]
pub struct Chart {
    /// Its heading.
    pub title: String,
    /// What it shows, in a sentence or two.
    pub about: String,
    /// What the x axis counts, with the unit.
    pub x_name: String,
    /// What the y axis counts.
    pub y_name: String,
    /// How the y axis is spread.
    pub spread: Spread,
    /// Writes an x in tables and beside the pointer.
    pub show_x: fn(f64) -> String,
    /// Writes a y.
    pub show_y: fn(f64) -> String,
    /// The unit that `show_y` shows a largest value in, in which ticks are round.
    pub unit: fn(f64) -> f64,
    /// Ticks of the x axis.
    pub ticks: Ticks,
    /// The lines.
    pub series: Vec<Series>,
    /// Points are values of their own: no line leads from one to the next.
    pub is_dots: bool,
    /// What the x axis shows at least.
    pub(super) x_within: Option<[f64; 2]>,
    pub(super) phases: Vec<Phase>,
    /// Moments with a number, which a list explains.
    pub(super) marks: Vec<f64>,
}

impl Chart {
    /// An empty one with round ticks and a linear axis.
    pub fn new(
        title: &str,
        x_name: &str,
        y_name: &str,
        show_x: fn(f64) -> String,
        show_y: fn(f64) -> String,
    ) -> Self {
        Chart {
            title: title.into(),
            about: String::new(),
            x_name: x_name.into(),
            y_name: y_name.into(),
            spread: Spread::Linear,
            show_x,
            show_y,
            unit: |_| 1.0,
            ticks: Ticks::Round,
            series: Vec::new(),
            is_dots: false,
            x_within: None,
            phases: Vec::new(),
            marks: Vec::new(),
        }
    }

    fn points(&self) -> impl Iterator<Item = &Point> {
        self.series.iter().flat_map(|series| &series.points)
    }

    fn axes(&self) -> (Axis, Axis) {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        let phases = self.phases.iter().flat_map(|phase| [phase.from, phase.to]);
        let named: &[(f64, String)] = if let Ticks::Named(named) = &self.ticks { named } else { &[] };
        for x in self
            .points()
            .map(|point| point.x)
            .chain(phases)
            .chain(self.x_within.into_iter().flatten())
            .chain(named.iter().map(|(x, _)| *x))
        {
            (low, high) = (low.min(x), high.max(x));
        }
        // Points that stand alone keep clear of the edges.
        let margin = if self.is_dots { 0.5 } else { 0.0 };
        let x = if low > high { Axis::exact(0.0, 1.0) } else { Axis::exact(low - margin, high + margin) };
        (
            x,
            Axis::holding(
                self.spread,
                self.points().flat_map(|point| [point.y, point.range[0], point.range[1]]),
                self.unit,
            ),
        )
    }

    /// The figure as HTML; nothing without a point.
    pub(super) fn html(&self) -> String {
        if self.points().next().is_none() {
            return String::new();
        }
        let legend = self.series.iter().enumerate().map(|(place, series)| {
            format!(
                "<li class=\"s{}\"><span class=\"key\"></span>{}</li>",
                colour(place),
                escaped(&series.name)
            )
        });
        let about =
            if self.about.is_empty() { String::new() } else { format!("<p>{}</p>", escaped(&self.about)) };
        format!(
            "<figure class=\"chart\"><figcaption><h3>{title}</h3>{about}</figcaption><ul class=\"legend\">{legend}</ul>\
             <div class=\"plot\" tabindex=\"0\" role=\"group\" aria-label=\"{title}: the arrow keys show the values\" \
             data-values=\"{values}\">{wide}{narrow}<div class=\"tip\" role=\"status\" hidden></div></div>\
             <details><summary>Values of this chart as a table</summary>{table}</details></figure>\n",
            title = escaped(&self.title),
            legend = legend.collect::<String>(),
            values = escaped(&self.values()),
            wide = self.svg(&WIDE),
            narrow = self.svg(&NARROW),
            table = self.table(),
        )
    }

    /// For the script, as JSON: for each series its name, colour and points, each where it lies in the plot and its words.
    fn values(&self) -> String {
        let (x, y) = self.axes();
        let thousandths = |part: f64| (part * 10_000.0).round() / 10_000.0;
        let series = self.series.iter().enumerate().map(|(place, series)| {
            let points = series.points.iter().map(|point| {
                let at = (thousandths(x.part(point.x)), thousandths(y.part(point.y)));
                serde_json::json!([at.0, at.1, (self.show_x)(point.x), self.words(point)])
            });
            serde_json::json!({ "name": series.name, "colour": colour(place), "points": points.collect::<Vec<_>>() })
        });
        serde_json::Value::from_iter(series).to_string()
    }

    /// A value, with its range where it has one.
    fn words(&self, point: &Point) -> String {
        let [low, high] = point.range.map(self.show_y);
        let value = (self.show_y)(point.y);
        if low == high { value } else { format!("{value} ({low} to {high})") }
    }

    /// So many rows at most, evenly picked.
    fn table(&self) -> String {
        let mut xs: Vec<f64> = self.points().map(|point| point.x).collect();
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        let every = xs.len().div_ceil(TABLE_ROWS).max(1);
        let value = |series: &Series, x: f64| {
            let found = series.points.iter().find(|point| point.x == x);
            found.map_or("-".to_string(), |point| self.words(point))
        };
        let name = |x: f64| match &self.ticks {
            Ticks::Named(named) if self.is_dots => {
                named.iter().find(|(at, _)| *at == x).map_or((self.show_x)(x), |(_, name)| name.clone())
            }
            _ => (self.show_x)(x),
        };
        let rows = xs.iter().step_by(every).map(|x| {
            let values = self.series.iter().map(|series| value(series, *x));
            std::iter::once(name(*x)).chain(values).collect()
        });
        let head =
            std::iter::once(self.x_name.clone()).chain(self.series.iter().map(|series| series.name.clone()));
        table(
            &format!("{}: {}", self.title, self.y_name),
            &head.collect::<Vec<_>>(),
            &rows.collect::<Vec<_>>(),
        )
    }

    fn y_tick(&self, value: f64) -> String {
        if value == 0.0 { "0".to_string() } else { (self.show_y)(value) }
    }

    fn svg(&self, frame: &Frame) -> String {
        let (x, y) = self.axes();
        let y_ticks: Vec<(f64, String)> =
            y.ticks(5).into_iter().map(|value| (value, self.y_tick(value))).collect();
        let widest = y_ticks.iter().map(|(_, words)| words.chars().count()).max().unwrap_or(0);
        // Charts below each other line up.
        let left = (widest as f64 * TICK_CHARACTER + 8.0).max(frame.left_min);
        let (right, bottom) = (frame.width - frame.right, frame.height - frame.bottom);
        let at_x = |value: f64| left + x.part(value) * (right - left);
        let at_y = |value: f64| bottom - y.part(value) * (bottom - frame.top);
        let mut out = format!(
            "<svg class=\"{}\" viewBox=\"0 0 {} {}\" data-plot=\"{} {} {right} {bottom}\" aria-hidden=\"true\">",
            frame.class, frame.width, frame.height, left, frame.top
        );
        // Writing to a string cannot fail.
        for phase in &self.phases {
            let (from, to) = (at_x(phase.from), at_x(phase.to));
            let _ = write!(
                out,
                "<rect class=\"phase\" x=\"{from:.1}\" y=\"{}\" width=\"{:.1}\" height=\"{}\"/>",
                frame.top,
                to - from,
                bottom - frame.top
            );
            if to - from >= 7.0 * phase.name.len() as f64 {
                let _ = write!(
                    out,
                    "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                    (from + to) / 2.0,
                    frame.top + 14.0,
                    phase.name
                );
            }
        }
        for (value, words) in &y_ticks {
            let at = at_y(*value);
            let _ = write!(
                out,
                "<line class=\"grid\" x1=\"{}\" x2=\"{right}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                left,
                left - 6.0,
                at + 3.0,
                escaped(words)
            );
        }
        let ticks = match &self.ticks {
            Ticks::Round => x.ticks(frame.ticks).into_iter().map(|x| (x, (self.show_x)(x))).collect(),
            Ticks::Named(named) => named.clone(),
        };
        self.push_x_ticks(&mut out, frame, &ticks, at_x, bottom);
        let _ = write!(
            out,
            "<line class=\"axis\" x1=\"{}\" x2=\"{right}\" y1=\"{bottom}\" y2=\"{bottom}\"/>",
            left
        );
        let _ = write!(
            out,
            "<text class=\"name\" x=\"{right}\" y=\"{}\" text-anchor=\"end\">{}</text><text class=\"name\" x=\"2\" y=\"11\">{}</text>",
            frame.height - 3.0,
            escaped(&self.x_name),
            escaped(&self.y_name)
        );
        for (number, mark) in self.marks.iter().enumerate() {
            let at = at_x(*mark);
            let _ = write!(
                out,
                "<line class=\"mark\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{}\" y2=\"{bottom}\"/><text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                frame.top,
                frame.top - 3.0,
                number + 1
            );
        }
        for (place, series) in self.series.iter().enumerate() {
            let _ = write!(out, "<g class=\"s{}\">", colour(place));
            match self.is_dots {
                true => push_dots(&mut out, series, at_x, at_y),
                false => push_line(&mut out, series, at_x, at_y),
            }
            out.push_str("</g>");
        }
        out.push_str("<line class=\"cursor\" y1=\"0\" y2=\"0\" visibility=\"hidden\"/></svg>");
        out
    }

    /// Words that would touch their neighbour are left out.
    fn push_x_ticks(
        &self,
        out: &mut String,
        frame: &Frame,
        ticks: &[(f64, String)],
        at_x: impl Fn(f64) -> f64,
        bottom: f64,
    ) {
        let mut free = f64::NEG_INFINITY;
        for (x, words) in ticks {
            let (at, half) = (at_x(*x), words.chars().count() as f64 * 3.4 + 4.0);
            let _ = write!(
                out,
                "<line class=\"axis\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{bottom}\" y2=\"{}\"/>",
                bottom + 4.0
            );
            let at = at.clamp(half, frame.width - half);
            if at - half >= free {
                let _ = write!(
                    out,
                    "<text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                    bottom + 19.0,
                    escaped(words)
                );
                free = at + half;
            }
        }
    }
}

/// Size and margins in the units of the picture.
struct Frame {
    class: &'static str,
    width: f64,
    height: f64,
    left_min: f64,
    right: f64,
    top: f64,
    bottom: f64,
    ticks: usize,
}

const WIDE: Frame = Frame {
    class: "wide",
    width: 940.0,
    height: 280.0,
    left_min: 85.0,
    right: 16.0,
    top: 32.0,
    bottom: 44.0,
    ticks: 10,
};
const NARROW: Frame = Frame {
    class: "narrow",
    width: 340.0,
    height: 250.0,
    left_min: 71.0,
    right: 10.0,
    top: 32.0,
    bottom: 44.0,
    ticks: 4,
};

/// There are eight; lines beyond take them again, with other dashes.
fn colour(place: usize) -> String {
    if place < 8 { place.to_string() } else { format!("{} again", place % 8) }
}

/// The band of the ranges, then the line, its end dashed from where samples are few.
fn push_line(out: &mut String, series: &Series, at_x: impl Fn(f64) -> f64, at_y: impl Fn(f64) -> f64) {
    let points = &series.points;
    if points.iter().any(|point| point.range[0] != point.range[1]) {
        out.push_str("<path class=\"band\" d=\"M");
        let upper = points.iter().map(|point| (point.x, point.range[1]));
        let lower = points.iter().rev().map(|point| (point.x, point.range[0]));
        for (x, y) in upper.chain(lower) {
            let _ = write!(out, "{:.1},{:.1} ", at_x(x), at_y(y));
        }
        out.push_str("Z\"/>");
    }
    let end = points.partition_point(|point| point.x <= series.solid_until);
    // The dashed part begins where the solid one ends.
    for (class, part) in [("line", &points[..end]), ("line few", &points[end.saturating_sub(1)..])] {
        if part.is_empty() || (class != "line" && end == points.len()) {
            continue;
        }
        let _ = write!(out, "<path class=\"{class}\" d=\"M");
        for point in part {
            let _ = write!(out, "{:.1},{:.1} ", at_x(point.x), at_y(point.y));
        }
        out.push_str("\"/>");
    }
}

fn push_dots(out: &mut String, series: &Series, at_x: impl Fn(f64) -> f64, at_y: impl Fn(f64) -> f64) {
    for point in &series.points {
        let [low, high] = point.range.map(&at_y);
        let (x, y) = (at_x(point.x), at_y(point.y));
        if low != high {
            let _ = write!(
                out,
                "<line class=\"line\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{low:.1}\" y2=\"{high:.1}\"/>"
            );
        }
        let _ = write!(out, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"/>");
    }
}
