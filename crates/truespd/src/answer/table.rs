//! A table of a page.

use super::html::{escaped, grade_word};
use truespd_core::result::Grade;

/// Longer tables scroll, and say how many rows they have.
const ROWS_MAX: usize = 32;

/// What stands in a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Words, or a figure with its unit.
    Text(String),
    /// A verdict; none where nothing was judged.
    Grade(Option<Grade>),
    /// A bar of this share of the column, from 0 to 1. It repeats a figure beside it, and screen readers skip it.
    Bar(f64),
    /// Where a difference lies; likewise.
    Gap(Gap),
}

/// A difference with its interval on an axis whose middle is no difference. All values are parts of half of its length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gap {
    pub at: f64,
    pub ends: [f64; 2],
    /// Up to here on both sides, it does not matter.
    pub margin: f64,
    /// Class of the style sheet.
    pub class: &'static str,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// What it is a table of.
    pub caption: String,
    /// Names of the columns, the first of which holds the headings of the rows.
    pub head: Vec<String>,
    /// Each with its heading and the other cells.
    pub rows: Vec<(String, Vec<Cell>)>,
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Cell::Text(text)
    }
}

impl Table {
    /// With a head and no row yet.
    pub fn new<const N: usize>(caption: impl Into<String>, head: [&str; N]) -> Self {
        Table { caption: caption.into(), head: head.map(str::to_string).to_vec(), rows: Vec::new() }
    }

    pub fn push(&mut self, heading: impl Into<String>, cells: Vec<Cell>) {
        self.rows.push((heading.into(), cells));
    }

    /// As HTML; nothing without rows. The roles keep it a table for screen readers where it is shown as cards.
    pub fn html(&self) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let (mut head, mut body) = (String::new(), String::new());
        for (place, name) in self.head.iter().enumerate() {
            if !self.is_told(place) {
                continue;
            }
            head += &match escaped(name).as_str() {
                "" => "<td role=\"cell\"></td>".to_string(),
                name => format!("<th scope=\"col\" role=\"columnheader\">{name}</th>"),
            };
        }
        for (heading, cells) in &self.rows {
            let heading = escaped(heading);
            body += &format!("<tr role=\"row\"><th scope=\"row\" role=\"rowheader\">{heading}</th>");
            for (place, cell) in (1..).zip(cells) {
                if self.is_told(place) {
                    body += &cell.html(self.head.get(place).map_or("", String::as_str));
                }
            }
            body += "</tr>";
        }
        let count = self.rows.len();
        let (long, rows) =
            if count > ROWS_MAX { (" long", format!(" ({count} rows)")) } else { ("", String::new()) };
        format!(
            "<div class=\"scroll cards{long}\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table role=\"table\">\
             <caption>{0}{rows}</caption><thead role=\"rowgroup\"><tr role=\"row\">{head}</tr></thead>\
             <tbody role=\"rowgroup\">{body}</tbody></table></div>\n",
            escaped(&self.caption)
        )
    }

    /// Whether a column is shown: one that says nothing in any row is left out. The first holds the headings.
    fn is_told(&self, column: usize) -> bool {
        if column == 0 || column >= self.head.len() {
            return true;
        }
        let mut cells = self.rows.iter().filter_map(|(_, cells)| cells.get(column - 1));
        cells.any(|cell| *cell != Cell::Text("-".into()))
    }
}

impl Cell {
    fn html(&self, name: &str) -> String {
        let (class, inside) = match self {
            Cell::Bar(part) => {
                let width = part.clamp(0.0, 1.0) * 100.0;
                return format!(
                    "<td role=\"cell\" class=\"bar\" aria-hidden=\"true\">\
                     <span style=\"width:{width:.1}%\"></span></td>"
                );
            }
            Cell::Gap(gap) => {
                return format!("<td role=\"cell\" class=\"gap\" aria-hidden=\"true\">{}</td>", gap.svg());
            }
            Cell::Grade(grade) => (" class=\"verdict\"", grade.map_or("not judged".to_string(), grade_word)),
            // A sign stays with its number where a card breaks the line.
            Cell::Text(text) => {
                let class = if text.is_empty() || text == "-" { " class=\"none\"" } else { "" };
                (class, escaped(text).replace(" %", "&nbsp;%"))
            }
        };
        format!("<td role=\"cell\"{class} data-name=\"{}\">{inside}</td>", escaped(name))
    }
}

/// Where a part of half of the axis lies, in percent of the picture's width.
fn gap_percent(part: f64) -> f64 {
    50.0 + part.clamp(-1.0, 1.0) * 48.0
}

impl Gap {
    fn svg(&self) -> String {
        let [low, high] = self.ends.map(gap_percent);
        let (left, at, class) = (gap_percent(-self.margin), gap_percent(self.at), self.class);
        let width = gap_percent(self.margin) - left;
        format!(
            "<svg class=\"gap {class}\" height=\"16\">\
             <rect class=\"phase\" x=\"{left:.1}%\" y=\"0\" width=\"{width:.1}%\" height=\"16\"/>\
             <line class=\"axis\" x1=\"50%\" x2=\"50%\" y1=\"0\" y2=\"16\"/>\
             <line class=\"range\" x1=\"{low:.1}%\" x2=\"{high:.1}%\" y1=\"8\" y2=\"8\"/>\
             <circle cx=\"{at:.1}%\" cy=\"8\" r=\"4\"/></svg>"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_have_the_names_of_their_columns() {
        let mut table = Table::new("a & b", ["thread", "", "IOPS", "verdict"]);
        assert_eq!(table.html(), "");
        let mut long = table.clone();
        (0..33).for_each(|row| long.push(row.to_string(), Vec::new()));
        assert!(long.html().contains("cards long") && long.html().contains("(33 rows)</caption>"));
        let cells = vec![Cell::Bar(2.0), Cell::Text("<1>".into()), Cell::Grade(Some(Grade::Invalid))];
        table.push("'x'", cells);
        let html = table.html();
        for part in [
            "<caption>a &amp; b</caption>",
            "<th scope=\"col\" role=\"columnheader\">IOPS</th>",
            "width:100.0%",
            "data-name=\"IOPS\">&lt;1&gt;</td>",
            "class=\"verdict\" data-name=\"verdict\"><strong class=\"grade invalid\">",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
    }

    #[test]
    fn columns_without_a_value_are_left_out() {
        let mut table = Table::new("t", ["thread", "mean", "IOPS"]);
        let dash = || Cell::Text("-".into());
        table.push("a", vec![dash(), Cell::Text("1".into())]);
        table.push("b", vec![dash(), dash()]);
        let html = table.html();
        assert!(!html.contains("mean") && html.contains("IOPS"), "{html}");
        assert_eq!((html.matches("<td").count(), html.matches("<th ").count()), (2, 4));
    }

    #[test]
    fn a_gap_stays_in_its_cell() {
        let gap = Gap { at: 0.5, ends: [-9.0, 9.0], margin: 0.25, class: "better" };
        let svg = gap.svg();
        assert!(svg.contains("x1=\"2.0%\" x2=\"98.0%\"") && svg.contains("cx=\"74.0%\""), "{svg}");
    }
}
