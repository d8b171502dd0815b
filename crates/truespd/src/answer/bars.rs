//! Tests below each other, with a bar for each column: reads and writes of a mark in CrystalDiskMark's order, figures
//! of an assessment against their limits. The figures stand on the bars of a page, so they need no axis and no script,
//! and beside those of a terminal.

use super::html::escaped;
use super::shown::{Shown, bar};
use super::verdict::doubt;
use truespd_core::result::Grade;
use truespd_platform::text::table::aligned;
use truespd_platform::text::{columns_of, printable, start_of, with_micro};

/// A test in one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct Bar {
    pub value: f64,
    /// The smallest and the largest of its runs.
    pub range: [f64; 2],
    /// Number of its colour, as those of lines.
    pub colour: usize,
    /// The value with its unit.
    pub words: String,
    /// What else is known, in small letters.
    pub more: String,
    /// The verdict; none where nothing was judged.
    pub grade: Option<Grade>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Bars {
    pub title: String,
    pub about: String,
    pub heads: Vec<String>,
    /// A table says the same on a terminal.
    pub is_of_pages: bool,
    /// Where a bar is full; none for the largest value.
    pub full: Option<f64>,
    /// Name of each test, and its bars in the order of the columns.
    pub rows: Vec<(String, Vec<Option<Bar>>)>,
}

const TRACK: f64 = 32.0;
/// Height of a bar with the small words below it, and the gap to the next.
const BLOCK: f64 = 66.0;
/// Where the figure stands on its bar, from the bar's top and left.
const FIGURE: [f64; 2] = [20.0, 10.0];
/// How far below its bar the line of small words stands.
const MORE: f64 = 16.0;
/// Height of the line of the columns' names.
const HEADS: f64 = 24.0;

/// Width of the picture with columns beside each other.
pub const WIDE: f64 = 940.0;
/// Room of the tests' names there, at least.
const NAMES_MIN: f64 = 130.0;
/// Columns of a test's name, at most: a document may hold anything.
const NAME_COLUMNS: usize = 42;
/// Room for a character of a test's name.
const CHARACTER: f64 = 8.4;
const GAP: f64 = 22.0;

/// Width of the picture with columns below each other.
const NARROW: f64 = 340.0;
/// Room of the columns' names there.
const SIDE: f64 = 54.0;
/// Height of a test's name there.
const NAME: f64 = 26.0;

/// Tests of a picture, at most: a document may have any number.
const TESTS_MAX: usize = 40;

/// Columns of a terminal that the longest bar takes, where there is room for it.
const LONG: usize = 24;
/// Columns of a terminal that the longest bar takes where several columns of bars stand beside each other.
const SHORT: usize = 8;
/// Columns of a terminal between two columns of bars.
const BETWEEN: usize = 2;

impl Bars {
    /// The verdicts of its bars.
    pub fn grades(&self) -> Vec<Grade> {
        self.bars().filter_map(|bar| bar.grade).collect()
    }

    /// For a terminal: as many columns beside each other as there is room for, and the others below. Nothing without a
    /// bar.
    pub fn text(&self, shown: Shown) -> String {
        let words: Vec<&str> = self.bars().flat_map(|bar| [bar.words.as_str(), &bar.more]).collect();
        let Some(lead) = words.iter().map(|words| columns_of(first_word(words))).max() else {
            return String::new();
        };
        let heads: Vec<String> = self.heads.iter().map(|head| format!("{:lead$} {head}", "")).collect();
        let figure = widest(self.bars().map(|bar| behind(lead, &bar.words))) + 2;
        let more = widest(self.bars().map(|bar| behind(lead, &bar.more)).chain(heads.iter().cloned()));
        let names = widest(self.rows.iter().map(|(name, _)| start_of(name, NAME_COLUMNS)));
        let room = shown.style.columns.saturating_sub(names);
        let beside = (room / (more.max(figure + 1 + SHORT) + BETWEEN)).clamp(1, heads.len().max(1));
        let long = (room / beside).saturating_sub(BETWEEN + figure + 1).min(LONG);
        let mut parts = Vec::new();
        for (part, heads) in heads.chunks(beside).enumerate() {
            let mut lines = Vec::new();
            // The names of several columns tell what these are.
            if self.heads.len() > 1 {
                lines.push([&[String::new()], heads].concat());
            }
            for (name, bars) in &self.rows {
                let mut above = vec![start_of(name, NAME_COLUMNS)];
                let mut below = vec![String::new()];
                for place in part * beside..part * beside + heads.len() {
                    let Some(bar) = bars.get(place).and_then(Option::as_ref) else {
                        above.push(format!("{:lead$} not measured", ""));
                        below.push(String::new());
                        continue;
                    };
                    above.push(self.line(bar, lead, figure, if shown.has_bars { long } else { 0 }));
                    below.push(behind(lead, &bar.more));
                }
                lines.push(above);
                if below.iter().any(|cell| !cell.is_empty()) {
                    lines.push(below);
                }
            }
            parts.push(aligned(lines, &vec![false; heads.len() + 1]));
        }
        let title =
            if self.heads.len() > 1 { String::new() } else { format!("{}\n", printable(&self.title)) };
        title + &parts.join("\n")
    }

    /// The figure with the sign of its verdict, and a bar in as many columns as are left for it.
    fn line(&self, of: &Bar, lead: usize, figure: usize, long: usize) -> String {
        let mut line = behind(lead, &of.words);
        line.push_str(&" ".repeat((figure - 1).saturating_sub(columns_of(&line))));
        line.push_str(of.grade.map_or("", doubt));
        if long > 0 && of.value > 0.0 {
            line.push_str(&" ".repeat((figure + 1).saturating_sub(columns_of(&line))));
            line.push_str(&bar(of.value / self.most(), long));
        }
        line
    }

    /// The figure as HTML; nothing without a bar.
    pub fn html(&self) -> String {
        if self.is_empty() {
            return String::new();
        }
        let (title, about) = (escaped(&self.title), escaped(&self.about));
        let mut out = format!("<figure class=\"bars\"><figcaption><h3>{title}</h3></figcaption>");
        for (class, width, (height, inside)) in
            [("wide", WIDE, self.wide()), ("narrow", NARROW, self.narrow())]
        {
            out += &format!(
                "<svg class=\"{class}\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{title}\">\
                 {inside}</svg>"
            );
        }
        out + &format!("<p class=\"note\">{about}</p></figure>\n")
    }

    fn bars(&self) -> impl Iterator<Item = &Bar> {
        self.rows.iter().flat_map(|(_, bars)| bars.iter().flatten())
    }

    /// There is nothing to draw.
    pub fn is_empty(&self) -> bool {
        self.bars().all(|bar| bar.value <= 0.0)
    }

    /// The tests of a picture.
    fn drawn(&self) -> impl ExactSizeIterator<Item = &(String, Vec<Option<Bar>>)> {
        self.rows.iter().take(TESTS_MAX)
    }

    /// The value that fills a track.
    fn most(&self) -> f64 {
        let largest = self.bars().map(|bar| bar.value.max(bar.range[1])).fold(f64::MIN_POSITIVE, f64::max);
        self.full.unwrap_or(largest)
    }

    /// Room of the tests' names beside their bars.
    fn names(&self) -> f64 {
        let longest = self.rows.iter().map(|(name, _)| columns_of(name)).max().unwrap_or(0);
        (longest.min(NAME_COLUMNS) as f64 * CHARACTER + GAP).max(NAMES_MIN)
    }

    /// Its height and its picture, with columns beside each other.
    pub fn wide(&self) -> (f64, String) {
        let (count, names) = (self.heads.len().max(1) as f64, self.names());
        let width = (WIDE - names + GAP) / count - GAP;
        let heads = if self.heads.len() > 1 { HEADS } else { 0.0 };
        let mut out = String::new();
        for (place, head) in self.heads.iter().enumerate() {
            let x = names + place as f64 * (width + GAP);
            out += &format!("<text class=\"head\" x=\"{x:.1}\" y=\"14\">{}</text>", escaped(head));
        }
        for (row, (name, bars)) in self.drawn().enumerate() {
            let top = heads + row as f64 * BLOCK;
            let y = top + FIGURE[0] + 2.0;
            let name = escaped(&start_of(name, NAME_COLUMNS));
            out += &format!("<text class=\"test\" x=\"0\" y=\"{y:.1}\">{name}</text>");
            for (place, bar) in bars.iter().enumerate() {
                let left = names + place as f64 * (width + GAP);
                self.push(&mut out, bar.as_ref(), [left, top], width);
            }
        }
        (heads + self.drawn().len() as f64 * BLOCK, out)
    }

    /// The same with columns below each other, each with its name beside its bar.
    fn narrow(&self) -> (f64, String) {
        let (mut out, mut top) = (String::new(), 0.0);
        // A single column needs no name beside each bar.
        let side = if self.heads.len() > 1 { SIDE } else { 0.0 };
        for (name, bars) in self.drawn() {
            let (y, name) = (top + 16.0, escaped(&start_of(name, NAME_COLUMNS)));
            out += &format!("<text class=\"test\" x=\"0\" y=\"{y:.1}\">{name}</text>");
            top += NAME;
            for (place, bar) in bars.iter().enumerate() {
                let (y, head) = (top + FIGURE[0] - 1.0, self.heads.get(place).map_or("", String::as_str));
                // `MIX (70 % reads)` has no room.
                let head = head.split(' ').next().unwrap_or_default();
                if side > 0.0 {
                    out += &format!("<text class=\"head\" x=\"0\" y=\"{y:.1}\">{}</text>", escaped(head));
                }
                self.push(&mut out, bar.as_ref(), [side, top], NARROW - side);
                top += BLOCK - 8.0;
            }
        }
        (top, out)
    }

    /// One bar on its track, with its figure, and the range of its runs as a line.
    fn push(&self, out: &mut String, bar: Option<&Bar>, [left, top]: [f64; 2], width: f64) {
        let Some(bar) = bar else {
            let (x, y) = (left + FIGURE[1], top + FIGURE[0]);
            *out += &format!("<text x=\"{x:.1}\" y=\"{y:.1}\">not measured</text>");
            return;
        };
        let (scale, colour) = (width / self.most(), bar.colour);
        let long = (bar.value * scale).clamp(2.0, width);
        *out += &format!(
            "<rect class=\"track\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{TRACK}\" rx=\"4\"/>\
             <g class=\"s{colour}\"><rect class=\"bar\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{long:.1}\" \
             height=\"{TRACK}\" rx=\"4\"/>"
        );
        let [low, high] = bar.range.map(|value| left + (value * scale).clamp(0.0, width));
        if high - low >= 1.0 {
            let (y, above, below) = (top + TRACK - 4.0, top + TRACK - 7.0, top + TRACK - 1.0);
            *out += &format!(
                "<path class=\"line\" d=\"M{low:.1},{above:.1}V{below:.1}M{low:.1},{y:.1}H{high:.1}\
                 M{high:.1},{above:.1}V{below:.1}\"/>"
            );
        }
        let (x, y, more_y) = (left + FIGURE[1], top + FIGURE[0] - 1.0, top + TRACK + MORE);
        *out += &format!(
            "</g><text class=\"figure\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>\
             <text x=\"{x:.1}\" y=\"{more_y:.1}\">{}",
            escaped(&with_micro(&bar.words)),
            escaped(&with_micro(&bar.more))
        );
        if let Some(grade) = bar.grade.filter(|grade| *grade != Grade::Certified) {
            *out += &format!(" <tspan class=\"doubt\">{} {}</tspan>", doubt(grade), grade.word());
        }
        *out += "</text>";
    }
}

fn first_word(words: &str) -> &str {
    words.split(' ').next().unwrap_or_default()
}

/// Words whose first, a number, ends at this column, so that numbers stand below each other.
fn behind(column: usize, words: &str) -> String {
    let gap = column.saturating_sub(columns_of(first_word(words)));
    format!("{:gap$}{words}", "")
}

fn widest(cells: impl Iterator<Item = String>) -> usize {
    cells.map(|cell| columns_of(&cell)).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::shown::tests::shown;
    use super::*;

    fn bars(value: f64) -> Bars {
        let bar = Bar {
            value,
            range: [value / 2.0, value],
            colour: 0,
            words: "1 MB/s".into(),
            more: "2 IOPS".into(),
            grade: Some(Grade::Suspect),
        };
        let rows = vec![("<SEQ>".to_string(), vec![Some(bar), None])];
        let heads = vec!["READ".into(), "WRITE".into()];
        Bars { title: "Rates".into(), about: String::new(), heads, is_of_pages: false, full: None, rows }
    }

    #[test]
    fn the_largest_fills_its_track_and_nothing_is_told_of_what_was_not_measured() {
        let html = bars(10.0).html();
        let width = (WIDE - NAMES_MIN + GAP) / 2.0 - GAP;
        for part in [
            format!("class=\"track\" x=\"130.0\" y=\"24.0\" width=\"{width:.1}\""),
            format!("class=\"bar\" x=\"130.0\" y=\"24.0\" width=\"{width:.1}\""),
            "&lt;SEQ&gt;".into(),
            "not measured".into(),
            "<tspan class=\"doubt\">? suspect</tspan>".into(),
        ] {
            assert!(html.contains(&part), "{part}: {html}");
        }
        assert_eq!(html.matches("class=\"figure\"").count(), 2, "wide and narrow");
    }

    #[test]
    fn a_long_name_leaves_room_for_its_bar() {
        let mut bars = bars(10.0);
        bars.rows[0].0 = "x".repeat(500);
        let html = bars.html();
        assert!(!html.contains("width=\"-") && html.contains("x\u{2026}</text>"), "{html}");
    }

    #[test]
    fn without_a_rate_there_is_no_picture() {
        assert_eq!(bars(0.0).html(), "");
    }

    #[test]
    fn a_terminal_has_columns_beside_each_other_where_there_is_room() {
        let mut bars = bars(10.0);
        let slow =
            Bar { value: 5.0, words: "0.5 MB/s".into(), more: "12 IOPS".into(), grade: None, ..first(&bars) };
        bars.rows.push(("RND".into(), vec![None, Some(slow)]));
        assert_eq!(
            bars.text(shown(60, true)),
            "           READ                       WRITE\n\
             <SEQ>    1 MB/s ? ██████████████      not measured\n\
             \x20        2 IOPS\n\
             RND        not measured           0.5 MB/s   ███████\n\
             \x20                                  12 IOPS\n"
        );
        let narrow = bars.text(shown(20, false));
        assert!(!narrow.contains('█') && narrow.lines().all(|line| line.len() <= 23), "{narrow}");
        assert!(narrow.find("WRITE") > narrow.find("RND"), "the second below the first: {narrow}");
        assert_eq!(bars.grades(), [Grade::Suspect]);
        bars.heads.truncate(1);
        assert!(bars.text(shown(60, true)).starts_with("Rates\n<SEQ>"), "a single column needs a title");
        bars.rows.clear();
        assert_eq!(bars.text(shown(60, true)), "", "nothing without a bar");
    }

    fn first(bars: &Bars) -> Bar {
        bars.rows[0].1[0].clone().expect("it was measured")
    }

    #[test]
    fn a_picture_has_no_more_tests_than_can_be_read() {
        let mut many = bars(10.0);
        many.rows = vec![many.rows[0].clone(); 100];
        assert_eq!(many.html().matches("&lt;SEQ&gt;").count(), 2 * TESTS_MAX, "wide and narrow");
        assert_eq!(many.text(shown(80, true)).matches("<SEQ>").count(), 100, "a terminal has them all");
    }
}
