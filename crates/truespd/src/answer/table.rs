//! A table: aligned on a terminal, HTML on a page, and rows of comma-separated values.

use super::html::{escaped, grade_word};
use super::shown::{Shown, bar};
use super::verdict::{doubt, word};
use truespd_core::result::Grade;
use truespd_platform::text::table::{self, Room, fitted};
use truespd_platform::text::{printable, with_micro};

/// Longer tables of a page scroll, and say how many rows they have.
const ROWS_MAX: usize = 32;
/// Columns of a terminal that the longest bar takes.
const BAR: usize = 20;

/// What stands in a table.
#[derive(Debug, Clone)]
pub enum Cell {
    /// Words, or a figure with its unit.
    Text(String),
    /// A whole number, which is shown digit by digit.
    Whole(u64),
    /// A figure, and how it is shown to people.
    Figure(f64, fn(f64) -> String),
    /// No value: people see a dash, and programs read an empty cell.
    Missing,
    /// A verdict; none where nothing was judged.
    Grade(Option<Grade>),
    /// A bar of this share of the column, from 0 to 1. It repeats a figure beside it, and screen readers skip it.
    Bar(f64),
    /// Where a difference lies; likewise. Pages only.
    Gap(Gap),
}

/// A difference with its interval, on an axis that has "no difference" in its middle. A value of 1 is the right end of
/// the axis, and -1 the left one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gap {
    pub at: f64,
    pub ends: [f64; 2],
    /// Up to here on both sides, it does not matter.
    pub margin: f64,
    /// Class of the style sheet.
    pub class: &'static str,
}

/// A column, and where it stands.
#[derive(Debug, Clone)]
pub struct Column {
    /// What people read above it.
    pub name: String,
    /// Its name among comma-separated values; empty where it is not one of them.
    key: String,
    /// What becomes of it where a terminal is narrow; none: it stands only among comma-separated values.
    room: Option<Room>,
    /// Its cells begin at one place; those of numbers end there.
    is_words: bool,
    /// A terminal shows the verdicts in it as signs.
    has_signs: bool,
}

impl Column {
    pub fn numbers(name: impl Into<String>, room: Room) -> Self {
        Column { name: name.into(), key: String::new(), room: Some(room), is_words: false, has_signs: false }
    }

    pub fn words(name: impl Into<String>, room: Room) -> Self {
        Column { is_words: true, ..Column::numbers(name, room) }
    }

    /// Verdicts of the rows, for which a terminal has only room for signs.
    pub fn doubts(name: impl Into<String>) -> Self {
        Column { has_signs: true, ..Column::words(name, Room::Stays) }
    }

    /// It stands only among comma-separated values.
    pub fn value(key: impl Into<String>) -> Self {
        Column { room: None, ..Column::words("", Room::Stays).key(key) }
    }

    /// It stands among comma-separated values too, by this name, which ends with the unit: `latency_mean_ns`.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = key.into();
        self
    }
}

#[derive(Debug, Clone, Default)]
pub struct Table {
    /// What it is a table of; may be empty on a terminal.
    pub caption: String,
    /// The first holds the headings of the rows.
    pub columns: Vec<Column>,
    /// Each with a cell for each column.
    pub rows: Vec<Vec<Cell>>,
    /// It is too long for a terminal.
    is_of_pages: bool,
}

impl Table {
    /// With these columns, all of which stay at any width, and no row yet.
    pub fn new<const N: usize>(caption: impl Into<String>, head: [&str; N]) -> Self {
        let mut table = Table::of(caption, Vec::new());
        table.add_columns(head);
        table
    }

    pub fn of(caption: impl Into<String>, columns: Vec<Column>) -> Self {
        Table { caption: caption.into(), columns, ..Table::default() }
    }

    /// Pages show it, and no terminal.
    pub fn on_pages(mut self) -> Self {
        self.is_of_pages = true;
        self
    }

    /// Adds columns at the right, all of which stay at any width.
    pub fn add_columns<const N: usize>(&mut self, names: [&str; N]) {
        for name in names {
            let is_first = self.columns.is_empty();
            self.columns.push(Column { is_words: is_first, ..Column::numbers(name, Room::Stays) });
        }
    }

    /// Adds a row: its heading, and the other cells.
    pub fn push(&mut self, heading: impl Into<String>, cells: Vec<Cell>) {
        self.rows.push([vec![Cell::Text(heading.into())], cells].concat());
    }

    /// Whether people see it: a table may hold only comma-separated values.
    fn is_shown(&self) -> bool {
        !self.rows.is_empty() && self.columns.iter().any(|column| column.room.is_some())
    }

    /// For a terminal; nothing where people do not see it.
    pub fn text(&self, shown: Shown) -> String {
        if self.is_of_pages || !self.is_shown() {
            return String::new();
        }
        let mut columns = Vec::new();
        for (place, column) in self.columns.iter().enumerate() {
            let Some(room) = column.room else { continue };
            let mut cells = Vec::new();
            for row in &self.rows {
                cells.push(match row.get(place) {
                    Some(cell) if column.has_signs => cell.grade().map_or("", doubt).to_string(),
                    Some(cell) => cell.text(shown),
                    None => String::new(),
                });
            }
            columns.push(table::Column {
                head: if column.has_signs { String::new() } else { column.name.clone() },
                cells,
                is_number: !column.is_words,
                room,
            });
        }
        let caption =
            if self.caption.is_empty() { String::new() } else { format!("{}\n", printable(&self.caption)) };
        let has_names = columns.iter().any(|column| !column.head.is_empty());
        // A file or a pipe has everything.
        let all = fitted(columns, if shown.has_bars { Some(shown.style.columns) } else { None });
        // Columns without names need no line of them.
        let (_, rows) = if has_names { ("", &all[..]) } else { all.split_once('\n').unwrap_or_default() };
        caption + rows
    }

    /// The verdicts that a terminal shows as signs.
    pub fn doubts(&self) -> Vec<Grade> {
        let mut grades = Vec::new();
        for (place, _) in self.columns.iter().enumerate().filter(|(_, column)| column.has_signs) {
            grades.extend(self.rows.iter().filter_map(|row| row.get(place)?.grade()));
        }
        grades
    }

    /// Whether it has comma-separated values.
    pub fn has_values(&self) -> bool {
        self.columns.iter().any(|column| !column.key.is_empty())
    }

    /// Its rows as comma-separated values.
    pub fn csv(&self) -> String {
        let mut kept = Vec::new();
        let mut line = Vec::new();
        for (place, column) in self.columns.iter().enumerate().filter(|(_, column)| !column.key.is_empty()) {
            kept.push(place);
            line.push(quoted(&column.key));
        }
        let mut out = line.join(",") + "\n";
        for row in &self.rows {
            let cells = kept.iter().map(|&place| row.get(place).map_or(String::new(), Cell::csv));
            out += &(cells.collect::<Vec<_>>().join(",") + "\n");
        }
        out
    }

    /// As HTML; nothing where people do not see it. The roles keep it a table for screen readers where it is shown as
    /// cards.
    pub fn html(&self) -> String {
        if !self.is_shown() {
            return String::new();
        }
        let mut places = Vec::new();
        let mut head = String::new();
        for (place, column) in self.columns.iter().enumerate().filter(|(place, _)| self.is_told(*place)) {
            places.push(place);
            head += &match escaped(&column.name).as_str() {
                "" => "<td role=\"cell\"></td>".to_string(),
                name => format!("<th scope=\"col\" role=\"columnheader\">{name}</th>"),
            };
        }
        let (cards, head) = if places.iter().all(|&place| self.columns[place].name.is_empty()) {
            ("", String::new())
        } else {
            (" cards", format!("<thead role=\"rowgroup\"><tr role=\"row\">{head}</tr></thead>"))
        };
        let mut body = String::new();
        for row in &self.rows {
            body += "<tr role=\"row\">";
            for (number, &place) in places.iter().enumerate() {
                let Some(cell) = row.get(place) else { continue };
                body += &if number == 0 {
                    format!(
                        "<th scope=\"row\" role=\"rowheader\">{}</th>",
                        escaped(&with_micro(&cell.words()))
                    )
                } else {
                    cell.html(&self.columns[place].name)
                };
            }
            body += "</tr>";
        }
        let count = self.rows.len();
        let (long, rows) =
            if count > ROWS_MAX { (" long", format!(" ({count} rows)")) } else { ("", String::new()) };
        format!(
            "<div class=\"scroll{cards}{long}\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\">\
             <table role=\"table\"><caption>{0}{rows}</caption>{head}<tbody role=\"rowgroup\">{body}</tbody></table>\
             </div>\n",
            escaped(&self.caption)
        )
    }

    /// Whether a page shows a column: one that says nothing in any row is left out. The first holds the headings.
    fn is_told(&self, place: usize) -> bool {
        let mut cells = self.rows.iter().filter_map(|row| row.get(place));
        self.columns[place].room.is_some() && (place == 0 || cells.any(|cell| !cell.is_missing()))
    }
}

/// A cell of comma-separated values (RFC 4180).
fn quoted(value: &str) -> String {
    if value.contains([',', '"', '\n']) {
        format!("\"{}\"", value.replace('"', "\"\""))
    } else {
        value.to_string()
    }
}

impl Cell {
    /// A figure, or that there is none.
    pub fn figure(value: Option<f64>, show: fn(f64) -> String) -> Self {
        value.map_or(Cell::Missing, |value| Cell::Figure(value, show))
    }

    fn grade(&self) -> Option<Grade> {
        match self {
            Cell::Grade(grade) => *grade,
            _ => None,
        }
    }

    fn is_missing(&self) -> bool {
        match self {
            Cell::Missing => true,
            Cell::Text(text) => text == "-",
            _ => false,
        }
    }

    /// What people read in it; nothing of pictures.
    fn words(&self) -> String {
        match self {
            Cell::Text(text) => text.clone(),
            Cell::Whole(count) => count.to_string(),
            Cell::Figure(value, show) => show(*value),
            Cell::Missing => "-".to_string(),
            Cell::Grade(grade) => word(*grade).to_string(),
            Cell::Bar(_) | Cell::Gap(_) => String::new(),
        }
    }

    fn text(&self, shown: Shown) -> String {
        match self {
            Cell::Bar(share) if shown.has_bars => bar(*share, BAR),
            Cell::Grade(Some(grade)) => grade.loud_word().to_string(),
            cell => cell.words(),
        }
    }

    fn csv(&self) -> String {
        match self {
            Cell::Missing => String::new(),
            Cell::Figure(value, _) => format!("{value:.3}"),
            cell => quoted(&cell.words()),
        }
    }

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
            cell => {
                let text = cell.words();
                let class = if text.is_empty() || cell.is_missing() { " class=\"none\"" } else { "" };
                (class, escaped(&with_micro(&text)).replace(" %", "&nbsp;%"))
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
    use super::super::shown::tests::shown;
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
    fn columns_without_names_have_no_line_of_them() {
        let columns = vec![Column::words("", Room::Stays), Column::words("", Room::Stays)];
        let mut table = Table::of("Head", columns);
        table.push("drive", vec![Cell::Text("a".into())]);
        table.push("host", vec![Cell::Text("b".into())]);
        assert_eq!(table.text(shown(80, true)), "Head\ndrive  a\nhost   b\n");
        assert!(!table.html().contains("<thead") && !table.html().contains("cards"), "{}", table.html());
    }

    #[test]
    fn a_gap_stays_in_its_cell() {
        let gap = Gap { at: 0.5, ends: [-9.0, 9.0], margin: 0.25, class: "better" };
        let svg = gap.svg();
        assert!(svg.contains("x1=\"2.0%\" x2=\"98.0%\"") && svg.contains("cx=\"74.0%\""), "{svg}");
    }

    #[test]
    fn programs_get_numbers_and_people_words() {
        let columns = vec![
            Column::words("mix", Room::Stays).key("mix"),
            Column::value("threads"),
            Column::numbers("rate", Room::Stays).key("iops"),
            Column::numbers("of it", Room::Stays),
        ];
        let mut table = Table::of("Rates", columns);
        let row = |mix: &str, rate| {
            vec![
                Cell::Text(mix.into()),
                Cell::Whole(2),
                Cell::figure(rate, |it| format!("{it} IOPS")),
                Cell::Bar(0.5),
            ]
        };
        table.rows = vec![row("4K:50,8K:50", Some(7.0)), row("4K", None)];
        assert_eq!(table.csv(), "mix,threads,iops\n\"4K:50,8K:50\",2,7.000\n4K,2,\n");
        assert_eq!(
            table.text(shown(80, false)),
            "Rates\nmix            rate\n4K:50,8K:50  7 IOPS\n4K                -\n"
        );
        assert!(table.text(shown(80, true)).contains("7 IOPS  ██████████\n"));
        let mut graded = Table::new("", ["test", "verdict"]);
        graded.push("4K", vec![Cell::Grade(Some(Grade::Invalid))]);
        assert_eq!(graded.text(shown(80, false)), "test  verdict\n4K    INVALID\n", "not to be overlooked");
        table.columns.retain(|column| column.room.is_none());
        assert_eq!(table.text(shown(80, true)) + &table.html(), "", "values only");
    }

    #[test]
    fn a_terminal_shows_verdicts_as_signs_where_words_have_no_room() {
        let columns = vec![Column::words("test", Room::Stays), Column::doubts("verdict")];
        let mut table = Table::of("", columns);
        table.push("a", vec![Cell::Grade(Some(Grade::Certified))]);
        assert_eq!(table.text(shown(80, false)), "test\na\n");
        table.push("b", vec![Cell::Grade(Some(Grade::Suspect))]);
        assert_eq!(table.text(shown(80, false)), "test\na\nb     ?\n");
        assert_eq!(table.doubts(), [Grade::Certified, Grade::Suspect]);
        assert!(table.html().contains("verdict</th>") && table.html().contains("</span> suspect</strong>"));
    }
}
