//! What a page is written with: text as HTML that shows it and nothing else, lists of names, and documents inside the
//! page.
//!
//! A document lies in a page as gzip in base64 in a script element that no browser runs, so that no byte of it can be
//! markup. [`document`] reads one back.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use std::io::Write;
use truespd_core::result::json::{self, ReadError};
use truespd_core::result::{DirectionSummary, Grade, LatencySummary};
use truespd_platform::text::{duration_ns, number, printable, rate, with_micro};

/// Text for an element or a quoted attribute. Characters that hide something are shown as escapes.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in printable(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// JSON for an attribute in single quotes: those in double quotes would need an escape for each quote of the JSON.
fn escaped_json(json: &str) -> String {
    escaped(json).replace("&quot;", "\"")
}

/// JSON that is longer than this is packed.
const PLAIN_MAX: usize = 4096;

/// An attribute for the script: `data-NAME` holds the JSON, or `data-packed-NAME` holds it as gzip in base64
/// where it is long.
pub(super) fn data(name: &str, json: &str) -> String {
    match json.len() {
        ..=PLAIN_MAX => format!(" data-{name}='{}'", escaped_json(json)),
        _ => format!(" data-packed-{name}=\"{}\"", packed(json.as_bytes())),
    }
}

/// A paragraph of a class of the style sheet; usual words have none.
pub(super) fn paragraph(class: &str, words: &str) -> String {
    let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
    format!("<p{class}>{}</p>\n", words.lines().map(escaped).collect::<Vec<_>>().join("<br>"))
}

/// A paragraph that not everybody reads.
pub(super) fn note(words: &str) -> String {
    paragraph("note", words)
}

/// What is folded up; both are HTML.
pub(super) fn details(summary: &str, inside: &str) -> String {
    format!("<details><summary>{summary}</summary>{inside}</details>\n")
}

/// A pair or a part of a page, folded up.
pub(super) fn folded(name: &str, inside: &str) -> String {
    format!("<details class=\"pair\"><summary>{}</summary>{inside}</details>\n", escaped(name))
}

/// Figures that a reader wants first, with their names.
pub(super) fn tiles<N: AsRef<str>>(all: &[(N, Option<String>)]) -> String {
    let mut out = String::from("<dl class=\"tiles\">");
    for (name, value) in all {
        out += &format!("<div><dt>{}</dt>", escaped(name.as_ref()));
        out += &match value {
            Some(value) => format!("<dd>{}</dd></div>", escaped(value)),
            None => "<dd class=\"none\">not measured (-L)</dd></div>".to_string(),
        };
    }
    out + "</dl>\n"
}

/// Text as it is printed on a terminal.
pub fn plain(text: &str) -> String {
    let lines: String = with_micro(text).lines().map(|line| escaped(line) + "\n").collect();
    format!("<pre class=\"table\" tabindex=\"0\">{lines}</pre>\n")
}

/// The same, folded up: the page says it in its own way.
pub fn printed(text: &str) -> String {
    details("As it is printed on a terminal", plain(text).trim_end())
}

/// A table: its caption, its head, and rows whose first cell is their heading. All cells are text.
pub(super) fn table(caption: &str, head: &[String], rows: &[Vec<String>]) -> String {
    let mut out = String::new();
    if !head.is_empty() {
        let cells: String =
            head.iter().map(|cell| format!("<th scope=\"col\">{}</th>", escaped(cell))).collect();
        out += &format!("<thead><tr>{cells}</tr></thead>");
    }
    out += "<tbody>";
    for row in rows {
        for (place, cell) in row.iter().map(|cell| escaped(cell)).enumerate() {
            out += &match place {
                0 => format!("<tr><th scope=\"row\">{cell}</th>"),
                _ => format!("<td>{cell}</td>"),
            };
        }
        out += "</tr>";
    }
    // People who use the keyboard must reach what is scrolled.
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table><caption>{0}</caption>{out}\
         </tbody></table></div>\n",
        escaped(caption)
    )
}

/// The grade as an element with a frame.
pub(super) fn badge(grade: Grade) -> String {
    grade_element("badge", grade)
}

/// The grade as a word of a table.
pub(super) fn grade_word(grade: Grade) -> String {
    grade_element("grade", grade)
}

fn grade_element(class: &str, grade: Grade) -> String {
    let sign = match grade {
        Grade::Certified => "✓",
        Grade::Suspect => "?",
        Grade::Invalid => "✗",
    };
    let word = grade.word();
    format!("<strong class=\"{class} {word}\"><span aria-hidden=\"true\">{sign}</span> {word}</strong>")
}

/// Names of a list at most.
const NAMED_MAX: usize = 6;

/// `a`, `a and b`, `a, b and c`, `a, b, c, d, e, f and 3 more`.
pub(super) fn listed<T: AsRef<str>>(names: &[T]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => (*one).to_string(),
        [first @ .., last] if names.len() <= NAMED_MAX => format!("{} and {last}", first.join(", ")),
        all => format!("{} and {} more", all[..NAMED_MAX].join(", "), all.len() - NAMED_MAX),
    }
}

/// Equal things with the names of all that have them, in the order of the first.
pub(super) fn collapsed<T: PartialEq, N>(all: impl IntoIterator<Item = (N, T)>) -> Vec<(Vec<N>, T)> {
    let mut found: Vec<(Vec<N>, T)> = Vec::new();
    for (name, thing) in all {
        match found.iter_mut().find(|(_, other)| *other == thing) {
            Some((names, _)) => names.push(name),
            None => found.push((vec![name], thing)),
        }
    }
    found
}

/// Each of them once, in the order of the first.
pub(super) fn once<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    collapsed(all.into_iter().map(|one| ((), one))).into_iter().map(|(_, one)| one).collect()
}

/// A sentence begins with a capital letter.
pub(super) fn first_large(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// How a page begins; what begins otherwise is read as something else.
pub(super) const BEGIN: &str = "<!doctype html><!-- TrueSpd report, version 1 -->\n";
/// What only a page over a history has.
pub(super) const HISTORY: &str = "<p class=\"brand\">TrueSpd history</p>";
const OPEN: &str = "<script type=\"application/vnd.truespd.document\">";
const CLOSE: &str = "</script>\n";

/// Why a page has no document to read; completes a sentence that begins with the file's name.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// The document with this number is not there, or not whole.
    #[error("is a report, but document {0} in it is damaged; give the document that it was made from")]
    Damaged(usize),
    /// The document with this number has more bytes than are read.
    #[error(
        "is a report, but document {0} in it is far larger than a document of its size in the page can be"
    )]
    TooLarge(usize),
    /// A page over a history that was too large to be in it.
    #[error(
        "is a page over a history, and its documents are not in the page: its last line says where they are"
    )]
    Elsewhere,
}

/// The element that holds a document.
pub(super) fn element(document: &[u8]) -> String {
    packed_element(&packed(document))
}

/// The same of one that is packed already.
pub(super) fn packed_element(packed: &str) -> String {
    format!("{OPEN}{packed}{CLOSE}")
}

pub(super) fn packed(bytes: &[u8]) -> String {
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    let bytes = packed.write_all(bytes).and_then(|()| packed.finish());
    STANDARD.encode(bytes.expect("writing to memory cannot fail"))
}

/// Whether these bytes are a page of this program.
pub fn is_page(bytes: &[u8]) -> bool {
    bytes.starts_with(BEGIN.as_bytes())
}

/// How many documents a page has.
///
/// # Errors
/// [`EmbedError::Damaged`] or [`EmbedError::Elsewhere`]: there is none.
pub fn count(page: &[u8]) -> Result<usize, EmbedError> {
    let text = String::from_utf8_lossy(page);
    match text.matches(OPEN).count() {
        0 if text.contains(HISTORY) => Err(EmbedError::Elsewhere),
        0 => Err(EmbedError::Damaged(1)),
        count => Ok(count),
    }
}

/// A document of a page, byte for byte, by its number from 1.
///
/// # Errors
/// [`EmbedError`].
pub fn document(page: &[u8], number: usize) -> Result<Vec<u8>, EmbedError> {
    let text = String::from_utf8_lossy(page);
    unpacked(number, text.split(OPEN).nth(number).ok_or(EmbedError::Damaged(number))?)
}

fn unpacked(number: usize, part: &str) -> Result<Vec<u8>, EmbedError> {
    let (packed, _) = part.split_once(CLOSE).ok_or(EmbedError::Damaged(number))?;
    let packed = STANDARD.decode(packed).map_err(|_| EmbedError::Damaged(number))?;
    json::unpacked(packed.len() as u64, GzDecoder::new(&packed[..])).map_err(|error| match error {
        ReadError::TooLarge => EmbedError::TooLarge(number),
        _ => EmbedError::Damaged(number),
    })
}

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
    pub(super) fn html(&self) -> String {
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

/// A time in the unit that suits it: `10 ns`, `94 µs`, `16.6 ms`.
pub(super) fn latency_words(ns: f64) -> String {
    if ns < 1000.0 { format!("{ns:.0} ns") } else { with_micro(&duration_ns(ns)) }
}

/// The latencies that count: from when the rate (`-g`) wanted the I/O, where there is one.
pub(super) fn times(sum: &DirectionSummary) -> Option<(&LatencySummary, &'static str)> {
    let response = sum.response.as_ref().map(|times| (times, "response time"));
    response.or(sum.latency.as_ref().map(|times| (times, "latency")))
}

pub(super) const FIGURES: [&str; 7] = ["IOPS", "throughput", "mean", "p50", "p99", "p99.9", "longest"];

pub(super) fn figures(sum: &DirectionSummary) -> [String; 7] {
    let mut latencies = [(); 5].map(|()| "-".to_string());
    if let Some((times, _)) = times(sum) {
        let [p50, p99, p99_9, max] =
            [times.p50_ns, times.p99_ns, times.p99_9_ns, times.max_ns].map(|ns| ns as f64);
        latencies = [times.mean_ns, p50, p99, p99_9, max].map(latency_words);
    }
    let [mean, p50, p99, p99_9, max] = latencies;
    [number(sum.iops), rate(sum.bytes_per_s), mean, p50, p99, p99_9, max]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_name_is_markup() {
        assert_eq!(
            escaped("</script><a b='c' d=\"e\">&\u{1b}"),
            "&lt;/script&gt;&lt;a b=&#39;c&#39; d=&quot;e&quot;&gt;&amp;\\u{1b}"
        );
        assert_eq!(escaped_json("[\"<'&\"]"), "[\"&lt;&#39;&amp;\"]");
        let table = table("a<b", &["<i>".into(), "n".into()], &[vec!["<u>".into(), "&".into()]]);
        assert!(table.contains("<th scope=\"col\">&lt;i&gt;</th>"), "{table}");
        assert!(table.contains("<th scope=\"row\">&lt;u&gt;</th><td>&amp;</td>"), "{table}");
    }

    #[test]
    fn names_are_listed_as_in_speech() {
        let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
        assert_eq!(listed(&names[..0]), "");
        assert_eq!(listed(&names[..1]), "a");
        assert_eq!(listed(&names[..2]), "a and b");
        assert_eq!(listed(&names[..6]), "a, b, c, d, e and f");
        assert_eq!(listed(&names), "a, b, c, d, e, f and 2 more");
    }

    #[test]
    fn equal_things_are_told_once() {
        let found = collapsed([("a", 1), ("b", 2), ("c", 1)]);
        assert_eq!(found, [(vec!["a", "c"], 1), (vec!["b"], 2)]);
    }

    #[test]
    fn documents_come_back_byte_for_byte() {
        let hostile = "{\"a\": \"</script><script>alert(1)</script>\u{0}\"}\n".as_bytes();
        let page = format!("{BEGIN}<p>{}{}", element(hostile), element(b"{}"));
        assert!(is_page(page.as_bytes()) && !is_page(hostile));
        assert_eq!(count(page.as_bytes()).unwrap(), 2);
        assert_eq!([1, 2].map(|number| document(page.as_bytes(), number).unwrap()), [hostile, b"{}"]);
        assert_eq!(page.matches("</script>").count(), 2, "no byte of a document ends the element");
    }

    #[test]
    fn damage_is_told() {
        let page = format!("{BEGIN}{}{}", element(b"{}"), element(b"[1, 2, 3]"));
        for cut in [page.len() - 12, page.len() - 30] {
            let told = document(&page.as_bytes()[..cut], 2).unwrap_err().to_string();
            assert!(told.contains("document 2 in it is damaged"), "{told}");
        }
        assert!(count(BEGIN.as_bytes()).is_err() && document(BEGIN.as_bytes(), 1).is_err());
        let bomb = format!("{BEGIN}{}", element(&vec![b' '; 65 << 20]));
        let told = document(bomb.as_bytes(), 1).unwrap_err().to_string();
        assert!(told.contains("document 1 in it is far larger"), "{told}");
    }
}

#[cfg(test)]
mod tests_of_table {
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
