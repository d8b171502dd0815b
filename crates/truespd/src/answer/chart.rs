//! One chart: lines with their ranges over one axis each, marks, and the same values for a table.
//!
//! A chart is drawn twice, for wide windows and for narrow ones: text in a picture that is only made smaller cannot be
//! read on a phone. The style sheet shows one of them, so that neither needs the script.

use super::axis::{Axis, Point, Spread};
use super::cells::{Cells, PERCENTILES};
use super::html::{data, escaped, table};
use super::shown::sparkline;
use truespd_platform::text::table::aligned;
use truespd_platform::text::{number, rate};

/// Lines of tables beside charts, at most.
const TABLE_ROWS: usize = 24;
/// Columns of a terminal for the heights of a line, at most.
const SPARKS: usize = 44;
/// Room for a character of a tick, which is 12 units high.
const TICK_CHARACTER: f64 = 7.0;
/// Height of a line of ticks.
const LINE: f64 = 14.0;
/// How far apart dots at one place stand.
const ASIDE: f64 = 11.0;
/// Room above the plot for the name of the y axis and the numbers of marks.
const TOP: f64 = 32.0;
/// Room below it for a line of ticks and the name of the x axis.
const BOTTOM: f64 = 44.0;
/// Numbers of marks nearer than this would touch.
const MARK_ROOM: f64 = 44.0;
/// Charts with cells are so much higher.
const CELLS_HEIGHT: f64 = 60.0;

/// A line of a chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    pub name: String,
    /// In the order of x.
    pub points: Vec<Point>,
    /// Beyond this x the line is dashed: few samples.
    pub solid_until: f64,
}

impl Series {
    pub fn new(name: impl Into<String>, points: Vec<Point>) -> Self {
        Series { name: name.into(), points, solid_until: f64::INFINITY }
    }
}

/// A value with a name that lines are drawn at.
#[derive(Debug, Clone, PartialEq)]
pub struct Guide {
    pub at: f64,
    /// What it is, in a few words.
    pub name: String,
}

/// A stretch of the x axis with a name: the warm-up.
#[derive(Debug, Clone, PartialEq)]
pub struct Phase {
    pub name: &'static str,
    pub from: f64,
    pub to: f64,
}

/// A unit that is so many times that of the y axis: bytes of an I/O.
#[derive(Debug, Clone, Copy)]
pub struct SecondUnit {
    pub name: &'static str,
    pub times: f64,
    pub show: fn(f64) -> String,
    /// In which its ticks are round, as [`Chart::unit`].
    pub unit: fn(f64) -> f64,
}

/// Ticks of the x axis.
#[derive(Debug, Clone, PartialEq)]
pub enum Ticks {
    Round,
    /// At these places, with these words, of two lines at most.
    Named(Vec<(f64, String)>),
}

#[derive(Debug, Clone)]
pub struct Chart {
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
    pub show_y: fn(f64) -> String,
    /// The unit that `show_y` shows a largest value in, in which ticks are round.
    pub unit: fn(f64) -> f64,
    /// What the same lines are in another unit, on an axis at the right.
    pub second: Option<SecondUnit>,
    /// The unit of the x axis in which ticks are round.
    pub x_unit: f64,
    /// Ticks of the x axis.
    pub ticks: Ticks,
    pub series: Vec<Series>,
    /// Points are values of their own: no line leads from one to the next.
    pub is_dots: bool,
    /// A terminal shows its lines as heights.
    pub has_sparkline: bool,
    /// Lines have the ranges of their points around them.
    pub has_bands: bool,
    /// Values of the y axis that matter: a limit.
    pub levels: Vec<Guide>,
    /// Places of the x axis that matter.
    pub guides: Vec<Guide>,
    /// Stretches of the y axis that are shaded.
    pub strips: Vec<[f64; 2]>,
    /// What the x axis shows at least.
    pub x_within: Option<[f64; 2]>,
    /// What the y axis shows at least.
    pub y_within: Vec<f64>,
    /// The colour of the first line.
    pub first_colour: usize,
    pub phases: Vec<Phase>,
    /// Moments with a number, which a list explains.
    pub marks: Vec<f64>,
    /// What lies below the lines; it decides the y axis.
    pub cells: Option<Cells>,
}

/// The unit that [`rate`] writes a largest value in.
pub fn rate_unit(largest: f64) -> f64 {
    if largest >= 1_048_576.0 { 1_048_576.0 } else { 1024.0 }
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
            second: None,
            x_unit: 1.0,
            ticks: Ticks::Round,
            series: Vec::new(),
            is_dots: false,
            has_sparkline: false,
            has_bands: true,
            levels: Vec::new(),
            guides: Vec::new(),
            strips: Vec::new(),
            x_within: None,
            y_within: Vec::new(),
            first_colour: 0,
            phases: Vec::new(),
            marks: Vec::new(),
            cells: None,
        }
    }

    /// An empty one whose lines are rates in bytes per second.
    pub fn of_rates(title: &str, x_name: &str, show_x: fn(f64) -> String) -> Self {
        Chart { unit: rate_unit, ..Chart::new(title, x_name, "throughput", show_x, rate) }
    }

    fn points(&self) -> impl Iterator<Item = &Point> {
        self.series.iter().flat_map(|series| &series.points)
    }

    fn axes(&self) -> (Axis, Axis) {
        let mut xs: Vec<f64> = self.points().map(|point| point.x).collect();
        xs.extend(self.phases.iter().flat_map(|phase| [phase.from, phase.to]));
        xs.extend(self.x_within.into_iter().flatten());
        xs.extend(self.guides.iter().map(|guide| guide.at));
        if let Ticks::Named(named) = &self.ticks {
            xs.extend(named.iter().map(|(x, _)| *x));
        }
        let (low, high) = (min(&xs), max(&xs));
        // Points that stand alone keep clear of the edges.
        let margin = match &self.ticks {
            _ if !self.is_dots => 0.0,
            Ticks::Named(_) => 0.5,
            Ticks::Round => (high - low) * 0.03,
        };
        let (low, high) = if low > high { (0.0, 1.0) } else { (low - margin, high + margin) };
        let x = Axis::exact(low, high, self.x_unit);
        if let Some(cells) = &self.cells {
            return (x, cells.axis());
        }
        let mut ys: Vec<f64> = self.levels.iter().map(|level| level.at).collect();
        ys.extend(&self.y_within);
        // What is shaded around 0 is seen where 0 is.
        if !self.strips.is_empty() {
            ys.push(0.0);
        }
        for point in self.points() {
            ys.push(point.y);
            if self.has_bands || self.is_dots {
                ys.extend(point.range);
            }
        }
        (x, Axis::holding(self.spread, &ys, self.unit))
    }

    /// The class of a line, without its first letter: there are eight colours, and lines beyond take them
    /// again, with other dashes. Above cells, lines have colours that none of these has.
    fn colour(&self, place: usize) -> String {
        match place + self.first_colour {
            _ if self.cells.is_some() => ["mid", "tail"][place.min(1)].to_string(),
            place @ 0..8 => place.to_string(),
            place => format!("{} again", place % 8),
        }
    }

    /// The figure as HTML; nothing without a point.
    pub fn html(&self) -> String {
        if self.is_empty() {
            return String::new();
        }
        let mut legend = String::new();
        for (place, series) in self.series.iter().enumerate() {
            let (colour, name) = (self.colour(place), escaped(&series.name));
            legend += &format!("<li class=\"s{colour}\"><span class=\"key\"></span>{name}</li>");
        }
        let (mut keys, mut of_cells, mut symbol) =
            ("the arrow keys show the values", String::new(), String::new());
        if let Some(cells) = &self.cells {
            keys = "the arrow keys show the values, left and right over time, up and down from latency to latency";
            legend += &cells.scale();
            of_cells = cells.attributes(&self.axes().0, self.show_x, self.show_y);
            symbol = cells.symbol();
        }
        let about =
            if self.about.is_empty() { String::new() } else { format!("<p>{}</p>", escaped(&self.about)) };
        format!(
            "<figure class=\"chart\"><figcaption><h3>{title}</h3>{about}</figcaption><ul class=\"legend\">{legend}</ul>\
             <div class=\"plot\" tabindex=\"0\" role=\"group\" aria-label=\"{title}: {keys}\"\
             {values}{of_cells}>{symbol}{wide}{narrow}<div class=\"tip\" role=\"status\" hidden></div></div>\
             <details><summary>Values of this chart as a table</summary>{table}</details></figure>\n",
            title = escaped(&self.title),
            values = data("values", &self.values()),
            wide = self.svg(&WIDE),
            narrow = self.svg(&NARROW),
            table = self.table(),
        )
    }

    /// For the script, as JSON: for each series its name, colour and points, each where it lies in the plot
    /// and its words.
    fn values(&self) -> String {
        let (x, y) = self.axes();
        let mut all = Vec::new();
        for (place, series) in self.series.iter().enumerate() {
            let mut points = Vec::new();
            for point in &series.points {
                let [x, y] =
                    [x.part(point.x), y.part(point.y)].map(|part| (part * 10_000.0).round() / 10_000.0);
                points.push(serde_json::json!([x, y, self.x_words(point.x), self.words(point)]));
            }
            let colour = self.colour(place);
            all.push(serde_json::json!({ "name": series.name, "colour": colour, "points": points }));
        }
        serde_json::Value::Array(all).to_string()
    }

    /// An x; things that stand beside each other by their names.
    fn x_words(&self, x: f64) -> String {
        if let Ticks::Named(named) = &self.ticks
            && self.is_dots
            && let Some((_, name)) = named.iter().find(|(at, _)| *at == x)
        {
            return name.replace('\n', " ");
        }
        (self.show_x)(x)
    }

    /// A value, with its range where it has one.
    fn words(&self, point: &Point) -> String {
        let [low, high] = point.range.map(self.show_y);
        let value = (self.show_y)(point.y);
        let value = if low == high { value } else { format!("{value} ({low} to {high})") };
        match &self.second {
            Some(second) => format!("{value}, {}", (second.show)(point.y * second.times)),
            None => value,
        }
    }

    /// All x of points, in order.
    fn sorted_xs(&self) -> Vec<f64> {
        let mut xs: Vec<f64> = self.points().map(|point| point.x).collect();
        xs.sort_by(f64::total_cmp);
        xs
    }

    /// So many rows at most, evenly picked.
    fn table(&self) -> String {
        let mut xs = self.sorted_xs();
        xs.dedup();
        let mut head = vec![self.x_name.clone()];
        head.extend(self.series.iter().map(|series| series.name.clone()));
        head.extend(self.cells.iter().flat_map(Cells::table_head));
        let mut rows = Vec::new();
        for x in xs.iter().copied().step_by(xs.len().div_ceil(TABLE_ROWS).max(1)) {
            let mut row = vec![self.x_words(x)];
            for series in &self.series {
                let found = series.points.iter().find(|point| point.x == x);
                row.push(found.map_or("-".to_string(), |point| self.words(point)));
            }
            row.extend(self.cells.iter().flat_map(|cells| cells.table_row(x, self.show_y)));
            rows.push(row);
        }
        table(&format!("{}: {}", self.title, self.y_name), &head, &rows)
    }

    fn y_tick(&self, value: f64) -> String {
        // Ticks are round.
        if value == 0.0 { "0".to_string() } else { (self.show_y)(value).replace(".0 %", " %") }
    }

    fn svg(&self, frame: &Frame) -> String {
        let Drawn { width, height, plot: [left, top, right, bottom], inside } = self.drawn(frame);
        format!(
            "<svg class=\"{}\" viewBox=\"0 0 {width} {height}\" data-plot=\"{left} {top} {right} {bottom}\" \
             aria-hidden=\"true\">{inside}</svg>",
            frame.class
        )
    }

    /// The picture for wide windows.
    pub fn wide(&self) -> Drawn {
        self.drawn(&WIDE)
    }

    /// The names of its lines, each with the class of its colour.
    pub fn legend(&self) -> Vec<(String, &str)> {
        let names = self.series.iter().enumerate();
        names.map(|(place, series)| (format!("s{}", self.colour(place)), series.name.as_str())).collect()
    }

    /// Of things that stand beside each other, each with its name.
    pub fn of_names(
        title: &str,
        x_name: &str,
        y_name: &str,
        show_y: fn(f64) -> String,
        names: Vec<String>,
    ) -> Self {
        let mut chart = Chart::new(title, x_name, y_name, number, show_y);
        let ticks = names.into_iter().enumerate();
        chart.ticks = Ticks::Named(ticks.map(|(at, name)| (at as f64, name)).collect());
        chart.is_dots = true;
        chart
    }

    /// Its lines on a terminal, as far as they have values above 0.
    pub fn sparklines(&self, columns: usize) -> String {
        let mut rows = Vec::new();
        for series in &self.series {
            let values: Vec<f64> = series.points.iter().map(|point| point.y).collect();
            if let Some((heights, [least, most])) = sparkline(&values, (columns / 2).min(SPARKS)) {
                let range = format!("{} to {}", (self.show_y)(least), (self.show_y)(most));
                rows.push(vec![series.name.clone(), heights, range]);
            }
        }
        if rows.is_empty() {
            return String::new();
        }
        format!("{}\n{}", self.title, aligned(rows, &[false; 3]))
    }

    pub fn is_empty(&self) -> bool {
        self.points().next().is_none()
    }

    fn drawn(&self, frame: &Frame) -> Drawn {
        let (x, y) = self.axes();
        let y_ticks: Vec<(f64, String)> =
            y.ticks(5).into_iter().map(|value| (value, self.y_tick(value))).collect();
        let widest = y_ticks.iter().map(|(_, words)| words.chars().count()).max().unwrap_or(0);
        let x_ticks = match &self.ticks {
            Ticks::Round => x.ticks(frame.ticks).into_iter().map(|x| (x, (self.show_x)(x))).collect(),
            Ticks::Named(named) => named.clone(),
        };
        let lines = match &self.ticks {
            Ticks::Round => 1,
            Ticks::Named(named) => named.iter().map(|(_, words)| words.lines().count()).max().unwrap_or(1),
        };
        let below = (lines - 1) as f64 * LINE;
        let more = if self.cells.is_some() { CELLS_HEIGHT } else { 0.0 };
        let (width, height) = (frame.width, frame.height + below + more);
        let second_ticks = self.second_ticks(&y);
        let widest_second = second_ticks.iter().map(|(_, words)| words.chars().count()).max().unwrap_or(0);
        let plot = Plot {
            x,
            y,
            // Charts below each other line up.
            left: (widest as f64 * TICK_CHARACTER + 8.0).max(frame.left_min),
            right: width - (widest_second as f64 * TICK_CHARACTER + 8.0).max(frame.right),
            top: TOP,
            bottom: height - BOTTOM - below,
        };
        let Plot { left, right, top, bottom, .. } = plot;
        let mut out = String::new();
        self.push_behind(&mut out, &plot);
        for (value, words) in &y_ticks {
            let (y, x, words) = (plot.at_y(*value), left - 6.0, escaped(words));
            let words_y = y + 3.0;
            out += &format!(
                "<line class=\"grid\" x1=\"{left}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                 <text x=\"{x}\" y=\"{words_y:.1}\" text-anchor=\"end\">{words}</text>"
            );
        }
        for (value, words) in &second_ticks {
            let (y, end, x, words) = (plot.at_y(*value), right + 4.0, right + 7.0, escaped(words));
            let words_y = y + 3.0;
            out += &format!(
                "<line class=\"axis\" x1=\"{right}\" x2=\"{end}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                 <text x=\"{x}\" y=\"{words_y:.1}\">{words}</text>"
            );
        }
        if let Some(cells) = &self.cells {
            out += &cells.draw(|x| plot.at_x(x), top, bottom);
        }
        push_x_ticks(&mut out, &plot, width, &x_ticks);
        let (x_name, y_name, y) = (escaped(&self.x_name), escaped(&self.y_name), height - 6.0);
        out += &format!(
            "<line class=\"axis\" x1=\"{left}\" x2=\"{right}\" y1=\"{bottom}\" y2=\"{bottom}\"/>\
             <text class=\"name\" x=\"{right}\" y=\"{y}\" text-anchor=\"end\">{x_name}</text>\
             <text class=\"name\" x=\"2\" y=\"11\">{y_name}</text>"
        );
        if let Some(second) = &self.second {
            let (x, name) = (width - 2.0, escaped(second.name));
            out += &format!("<text class=\"name\" x=\"{x}\" y=\"11\" text-anchor=\"end\">{name}</text>");
        }
        push_marks(&mut out, &plot, &self.marks);
        match &self.cells {
            Some(cells) => self.push_over_cells(&mut out, &plot, cells, frame.points_over_cells),
            None => self.push_series(&mut out, &plot),
        }
        self.push_names(&mut out, &plot);
        out += "<line class=\"cursor\" y1=\"0\" y2=\"0\" visibility=\"hidden\"/>";
        if self.cells.is_some() {
            out += "<rect class=\"cell\" visibility=\"hidden\"/>";
        }
        Drawn { width, height, plot: [left, top, right, bottom], inside: out }
    }

    /// Round values of the second unit, where they lie on the y axis, with their words.
    fn second_ticks(&self, y: &Axis) -> Vec<(f64, String)> {
        let Some(SecondUnit { times, show, unit, .. }) = self.second else { return Vec::new() };
        let high = y.high() * times;
        let ticks = Axis::exact(0.0, high, unit(high)).ticks(5).into_iter();
        ticks.map(|tick| (tick / times, if tick == 0.0 { "0".to_string() } else { show(tick) })).collect()
    }

    /// Percentiles over the cells, each with an edge that parts it from those. A point stands for as many columns as
    /// leave the line calm, and no line leads over a stretch without I/Os.
    fn push_over_cells(&self, out: &mut String, plot: &Plot, cells: &Cells, points_max: usize) {
        let gap = 1.5 * cells.column_s * cells.joined(points_max) as f64;
        for (place, fraction) in PERCENTILES.into_iter().enumerate() {
            let line = Series::new("", cells.percentiles(fraction, points_max));
            for class in [format!("edge {}", self.colour(place)), format!("s{}", self.colour(place))] {
                *out += &format!("<g class=\"{class}\">");
                push_line(out, &line, plot, false, gap);
                *out += "</g>";
            }
        }
    }

    fn push_series(&self, out: &mut String, plot: &Plot) {
        // Dots of several series at one place stand beside each other.
        let has_neighbours = matches!(self.ticks, Ticks::Named(_))
            && self.sorted_xs().windows(2).any(|pair| pair[0] == pair[1]);
        let apart = if has_neighbours { ASIDE } else { 0.0 };
        let middle = (self.series.len() as f64 - 1.0) / 2.0;
        for (place, series) in self.series.iter().enumerate() {
            *out += &format!("<g class=\"s{}\">", self.colour(place));
            if self.is_dots {
                push_dots(out, series, plot, (place as f64 - middle) * apart);
            } else {
                push_line(out, series, plot, self.has_bands, f64::INFINITY);
            }
            *out += "</g>";
        }
    }

    /// What lies behind the lines: phases with their names, and strips.
    fn push_behind(&self, out: &mut String, plot: &Plot) {
        let &Plot { left, right, top, bottom, .. } = plot;
        for strip in &self.strips {
            let [low, high] = strip.map(|value| plot.at_y(value));
            let (width, height) = (right - left, low - high);
            *out += &format!(
                "<rect class=\"phase\" x=\"{left}\" y=\"{high:.1}\" width=\"{width}\" height=\"{height:.1}\"/>"
            );
        }
        for Phase { name, from, to } in &self.phases {
            let (from, to) = (plot.at_x(*from), plot.at_x(*to));
            let (width, height) = (to - from, bottom - top);
            *out += &format!(
                "<rect class=\"phase\" x=\"{from:.1}\" y=\"{top}\" width=\"{width:.1}\" height=\"{height}\"/>"
            );
            if width >= 7.0 * name.len() as f64 {
                let (x, y) = ((from + to) / 2.0, top + 14.0);
                *out += &format!("<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{name}</text>");
            }
        }
    }

    /// Values that matter, with their names: those of the x axis stand at the bottom, where rising lines left.
    fn push_names(&self, out: &mut String, plot: &Plot) {
        let &Plot { left, right, top, bottom, .. } = plot;
        for level in &self.levels {
            let (at, name, x) = (plot.at_y(level.at), escaped(&level.name), left + 6.0);
            let y = if at - top < 20.0 { at + 14.0 } else { at - 5.0 };
            *out += &format!(
                "<line class=\"level\" x1=\"{left}\" x2=\"{right}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
                 <text class=\"over\" x=\"{x}\" y=\"{y:.1}\">{name}</text>"
            );
        }
        for guide in &self.guides {
            let (at, name, y) = (plot.at_x(guide.at), escaped(&guide.name), bottom - 8.0);
            let width = guide.name.chars().count() as f64 * TICK_CHARACTER;
            let (anchor, x) = if at + width < right { ("start", at + 5.0) } else { ("end", at - 5.0) };
            *out += &format!(
                "<line class=\"level\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{top}\" y2=\"{bottom}\"/>\
                 <text class=\"over\" x=\"{x:.1}\" y=\"{y}\" text-anchor=\"{anchor}\">{name}</text>"
            );
        }
    }
}

fn min(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

fn max(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

/// A picture without the element around it.
pub struct Drawn {
    pub width: f64,
    pub height: f64,
    /// Left, top, right and bottom of what lies between the axes.
    pub plot: [f64; 4],
    pub inside: String,
}

/// Where the values of a chart lie in its picture.
struct Plot {
    x: Axis,
    y: Axis,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Plot {
    fn at_x(&self, value: f64) -> f64 {
        self.left + self.x.part(value) * (self.right - self.left)
    }

    fn at_y(&self, value: f64) -> f64 {
        self.bottom - self.y.part(value) * (self.bottom - self.top)
    }
}

/// Moments with their numbers; those too near to each other share a word: `3 to 5`.
fn push_marks(out: &mut String, plot: &Plot, marks: &[f64]) {
    let &Plot { top, bottom, .. } = plot;
    let mut words: Vec<(f64, usize, usize)> = Vec::new();
    for (place, mark) in marks.iter().enumerate() {
        let at = plot.at_x(*mark);
        *out += &format!("<line class=\"mark\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{top}\" y2=\"{bottom}\"/>");
        match words.last_mut() {
            Some((from, _, last)) if at - *from < MARK_ROOM => *last = place + 1,
            _ => words.push((at, place + 1, place + 1)),
        }
    }
    let y = top - 3.0;
    for (at, first, last) in words {
        let number = match last - first {
            0 => first.to_string(),
            1 => format!("{first}, {last}"),
            _ => format!("{first} to {last}"),
        };
        *out += &format!("<text x=\"{at:.1}\" y=\"{y}\" text-anchor=\"middle\">{number}</text>");
    }
}

/// Words that would touch their neighbour are left out.
fn push_x_ticks(out: &mut String, plot: &Plot, width: f64, ticks: &[(f64, String)]) {
    let (bottom, below) = (plot.bottom, plot.bottom + 4.0);
    let mut free = f64::NEG_INFINITY;
    for (x, words) in ticks {
        let longest = words.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        let (at, half) = (plot.at_x(*x), longest as f64 * 3.4 + 4.0);
        *out +=
            &format!("<line class=\"axis\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{bottom}\" y2=\"{below}\"/>");
        // Words that are wider than the chart begin at its edge.
        let at = at.min(width - half).max(half);
        if at - half < free {
            continue;
        }
        free = at + half;
        for (place, line) in words.lines().enumerate() {
            let (y, line) = (bottom + 19.0 + place as f64 * LINE, escaped(line));
            *out += &format!("<text x=\"{at:.1}\" y=\"{y}\" text-anchor=\"middle\">{line}</text>");
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
    ticks: usize,
    /// Points of a line over cells, at most.
    points_over_cells: usize,
}

const WIDE: Frame = Frame {
    class: "wide",
    width: 940.0,
    height: 280.0,
    left_min: 85.0,
    right: 16.0,
    ticks: 10,
    points_over_cells: 80,
};
const NARROW: Frame = Frame {
    class: "narrow",
    width: 340.0,
    height: 250.0,
    left_min: 71.0,
    right: 10.0,
    ticks: 4,
    points_over_cells: 24,
};

/// The band of the ranges, then the line, its end dashed from where samples are few. It is broken where
/// points lie further apart than `gap`.
fn push_line(out: &mut String, series: &Series, plot: &Plot, has_bands: bool, gap: f64) {
    let points = &series.points;
    if let [point] = points.as_slice() {
        let (x, y) = (plot.at_x(point.x), plot.at_y(point.y));
        *out += &format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"/>");
        return;
    }
    if has_bands && points.iter().any(|point| point.range[0] != point.range[1]) {
        *out += "<path class=\"band\" d=\"M";
        for point in points {
            push_point(out, plot, point.x, point.range[1]);
        }
        for point in points.iter().rev() {
            push_point(out, plot, point.x, point.range[0]);
        }
        *out += "Z\"/>";
    }
    let end = points.partition_point(|point| point.x <= series.solid_until);
    // The dashed part begins where the solid one ends.
    for (class, part) in [("line", &points[..end]), ("line few", &points[end.saturating_sub(1)..])] {
        if part.is_empty() || (class != "line" && end == points.len()) {
            continue;
        }
        *out += &format!("<path class=\"{class}\" d=\"");
        for run in part.chunk_by(|one, next| next.x - one.x <= gap) {
            out.push('M');
            for point in run {
                push_point(out, plot, point.x, point.y);
            }
            // A point that stands alone is drawn as a line of no length with round ends.
            *out += if run.len() == 1 { "h0" } else { "" };
        }
        *out += "\"/>";
    }
}

fn push_point(out: &mut String, plot: &Plot, x: f64, y: f64) {
    *out += &format!("{:.1},{:.1} ", plot.at_x(x), plot.at_y(y));
}

fn push_dots(out: &mut String, series: &Series, plot: &Plot, aside: f64) {
    for point in &series.points {
        let [low, high] = point.range.map(|value| plot.at_y(value));
        let (x, y) = (plot.at_x(point.x) + aside, plot.at_y(point.y));
        if low != high {
            *out += &format!(
                "<line class=\"line\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{low:.1}\" y2=\"{high:.1}\"/>"
            );
        }
        *out += &format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"/>");
    }
}
