//! Tables of numbers over two coordinates, shaded by how large the numbers are: with colours on a page, and with signs
//! on a terminal.

use super::html::{escaped, note};
use super::shown::Shown;
use super::verdict::doubt;
use truespd_core::result::Grade;
use truespd_platform::text::table::aligned;
use truespd_platform::text::{columns_of, printable, with_micro};

/// Percent of the shade's colour in the cell of the largest number: words stay readable on light and dark pages.
const MOST_PERCENT: f64 = 50.0;
/// The shades of a terminal, from small to large, each for a fifth of the largest number.
const SHADES: [&str; 5] = [".", ":", "+", "*", "#"];
/// Columns of a terminal between two columns of a table.
const GAP: usize = 2;

/// Tables with one scale of shades.
#[derive(Debug, Clone, Default)]
pub struct Heat {
    pub tables: Vec<HeatTable>,
}

/// A table over two coordinates.
#[derive(Debug, Clone)]
pub struct HeatTable {
    pub caption: String,
    /// Names of the columns, but for that of the rows' names.
    pub head: Vec<String>,
    /// The name of each, and its cells; none where nothing was measured.
    pub rows: Vec<(String, Vec<Option<HeatCell>>)>,
}

#[derive(Debug, Clone)]
pub struct HeatCell {
    pub value: f64,
    pub words: String,
    pub grade: Option<Grade>,
}

impl HeatCell {
    /// The number with the sign of its verdict: `8,046!`
    fn shown(&self) -> String {
        format!("{}{}", self.words, self.grade.map_or("", doubt))
    }
}

impl Heat {
    fn cells(&self) -> impl Iterator<Item = &HeatCell> {
        self.tables.iter().flat_map(|table| &table.rows).flat_map(|(_, cells)| cells.iter().flatten())
    }

    /// The verdicts of its cells.
    pub fn grades(&self) -> Vec<Grade> {
        self.cells().filter_map(|cell| cell.grade).collect()
    }

    /// The largest number, which has the darkest shade.
    fn most(&self) -> f64 {
        self.cells().map(|cell| cell.value).fold(f64::MIN_POSITIVE, f64::max)
    }

    /// For a terminal; nothing without tables.
    pub fn text(&self, shown: Shown) -> String {
        let most = self.most();
        let mut out = String::new();
        for table in &self.tables {
            if !out.is_empty() {
                out.push('\n');
            }
            out += &format!("{}\n{}", printable(&table.caption), table.text(most, shown));
        }
        if shown.has_bars && !out.is_empty() {
            let mut keys = Vec::new();
            for (place, shade) in SHADES.iter().enumerate() {
                keys.push(format!("{shade} {} %", (place + 1) * 100 / SHADES.len()));
            }
            out += &format!("shades, up to these parts of the most: {}\n", keys.join(", "));
        }
        out
    }

    /// As HTML; nothing without tables.
    pub fn html(&self) -> String {
        let most = self.most();
        let tables: String = self.tables.iter().map(|table| table.html(most)).collect();
        if tables.is_empty() {
            return tables;
        }
        tables + &note("The stronger the colour of a cell, the higher its value.")
    }
}

fn shade(share: f64) -> &'static str {
    let place = (share * SHADES.len() as f64).ceil() as usize;
    SHADES[place.clamp(1, SHADES.len()) - 1]
}

impl HeatTable {
    /// As many columns beside each other as there is room for, and the others below.
    fn text(&self, most: f64, shown: Shown) -> String {
        let mut lines = vec![[vec![String::new()], self.head.clone()].concat()];
        for (name, cells) in &self.rows {
            let mut line = vec![name.clone()];
            for cell in cells {
                line.push(match cell {
                    Some(cell) if shown.has_bars => format!("{} {}", cell.shown(), shade(cell.value / most)),
                    Some(cell) => cell.shown(),
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
            out += &aligned(part, &vec![true; end - first + 1]);
            first = end;
        }
        out
    }

    fn html(&self, most: f64) -> String {
        let (mut head, mut body) = (String::new(), String::new());
        for name in &self.head {
            head += &format!("<th scope=\"col\">{}</th>", escaped(name));
        }
        for (name, cells) in &self.rows {
            body += &format!("<tr><th scope=\"row\">{}</th>", escaped(name));
            for cell in cells {
                body += &match cell {
                    Some(cell) => format!(
                        "<td style=\"--part:{:.0}%\">{}</td>",
                        (cell.value / most).clamp(0.0, 1.0) * MOST_PERCENT,
                        escaped(&with_micro(&cell.shown()))
                    ),
                    None => "<td class=\"none\">not measured</td>".to_string(),
                };
            }
            body += "</tr>";
        }
        // People who use the keyboard must reach what is scrolled.
        format!(
            "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table class=\"heat\">\
             <caption>{0}</caption><thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table></div>\n",
            escaped(&self.caption)
        )
    }
}

/// Columns of a terminal that a column of the table takes.
fn width(lines: &[Vec<String>], column: usize) -> usize {
    lines.iter().map(|line| line.get(column).map_or(0, |cell| columns_of(cell))).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::shown::tests::shown;

    fn heat(captions: &[&str]) -> Heat {
        let mut tables = Vec::new();
        for caption in captions {
            let mut rows = Vec::new();
            for (row, name) in ["-o1", "-o2", "-o4"].into_iter().enumerate() {
                let mut cells = Vec::new();
                for column in 0..2 {
                    let value = 1000.0 * (row * 2 + column) as f64;
                    let grade = if value == 1000.0 { Grade::Suspect } else { Grade::Certified };
                    let words = truespd_platform::text::number(value);
                    cells.push(Some(HeatCell { value, words, grade: Some(grade) }));
                }
                rows.push((name.to_string(), cells));
            }
            tables.push(HeatTable {
                caption: (*caption).to_string(),
                head: ["-t1", "-t2"].map(String::from).into(),
                rows,
            });
        }
        Heat { tables }
    }

    #[test]
    fn a_terminal_has_shades_for_all_tables_together() {
        let one = heat(&["IOPS over -o and -t"]);
        assert_eq!(
            one.text(shown(80, true)),
            "IOPS over -o and -t\n\
             \x20        -t1       -t2\n\
             -o1      0 .  1,000? .\n\
             -o2  2,000 :   3,000 +\n\
             -o4  4,000 *   5,000 #\n\
             shades, up to these parts of the most: . 20 %, : 40 %, + 60 %, * 80 %, # 100 %\n"
        );
        assert!(!one.text(shown(80, false)).contains('#'));
        assert_eq!(
            Heat::default().text(shown(80, true)) + &Heat::default().html(),
            "",
            "nothing of no table"
        );
    }

    #[test]
    fn narrow_terminals_break_a_table() {
        let mut two = heat(&["a", "b"]);
        two.tables[1].rows[2].1[1] = None;
        let all = two.text(shown(12, false));
        assert!(all.lines().all(|line| line.len() <= 12), "{all}");
        assert_eq!(all.matches("-o1").count(), 4, "two parts of each: {all}");
        assert!(all.ends_with("-o4       -\n"), "what was not measured: {all}");
    }
}
