//! What a document that is no result of a run has on a page, piece by piece.

use super::chart::Chart;
use super::html::{escaped, escaped_lines};
use super::table::Table;
use super::verdicts::of_series;
use crate::suite::findings::SeriesVerdict;
use truespd_core::text::shell_line;

/// A piece of a page. All words are plain text.
#[derive(Debug, Clone)]
pub enum Piece {
    /// A heading below that of the document.
    Heading(String),
    /// The answer, in a sentence or two.
    Answer(String),
    /// A paragraph.
    Words(String),
    /// A paragraph that not everybody reads.
    Note(String),
    /// Figures that a reader wants first, with their names.
    Tiles(Vec<(String, String)>),
    /// A table.
    Table(Table),
    /// A chart.
    Chart(Box<Chart>),
    /// What the verdicts of its runs say.
    Verdict(SeriesVerdict),
    /// Command lines that repeat it, with what each is.
    Lines(Vec<(String, Vec<String>)>),
    /// Text as it is printed on a terminal, folded up.
    Printed(String),
    /// The same, open: there is nothing else.
    Text(String),
}

impl Piece {
    /// As HTML.
    pub(super) fn html(&self) -> String {
        match self {
            Piece::Heading(words) => format!("<h3 class=\"part\">{}</h3>\n", escaped(words)),
            Piece::Answer(words) => format!("<p class=\"answer\">{}</p>\n", lines(words)),
            Piece::Words(words) => format!("<p>{}</p>\n", lines(words)),
            Piece::Note(words) => format!("<p class=\"note\">{}</p>\n", lines(words)),
            Piece::Tiles(tiles) => {
                let tile = |(name, value): &(String, String)| {
                    format!("<div><dt>{}</dt><dd>{}</dd></div>", escaped(name), escaped(value))
                };
                format!("<dl class=\"tiles\">{}</dl>\n", tiles.iter().map(tile).collect::<String>())
            }
            Piece::Table(table) => table.html(),
            Piece::Chart(chart) => chart.html(),
            Piece::Verdict(verdict) => of_series(verdict),
            Piece::Lines(all) => {
                let line = |(what, words): &(String, Vec<String>)| {
                    let lead =
                        if what.is_empty() { String::new() } else { format!("<p>{}</p>", escaped(what)) };
                    format!("{lead}<pre tabindex=\"0\">{}</pre>\n", escaped(&shell_line(words)))
                };
                all.iter().map(line).collect()
            }
            Piece::Text(text) => {
                format!("<pre class=\"table\" tabindex=\"0\">{}</pre>\n", escaped_lines(text))
            }
            Piece::Printed(text) => format!(
                "<details><summary>As it is printed on a terminal</summary><pre class=\"table\" tabindex=\"0\">{}</pre></details>\n",
                escaped_lines(text)
            ),
        }
    }
}

/// Lines of a paragraph.
fn lines(words: &str) -> String {
    words.lines().map(escaped).collect::<Vec<_>>().join("<br>")
}
