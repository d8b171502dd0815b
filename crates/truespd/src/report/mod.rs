//! Documents to one self-contained HTML page, which needs no network and no other file.
//!
//! Everything is in the page when it is written: the charts are pictures (SVG), their values are tables too, and the
//! documents lie in it byte for byte ([`document`]). The script only shows values at the pointer and the cursor keys.

mod axis;
mod buckets;
mod cells;
mod chart;
mod compared;
mod course;
mod embed;
mod figures;
mod heat;
mod hosts;
mod html;
mod parts;
mod piece;
mod png;
mod run;
pub mod suites;
mod table;
mod verdicts;
mod words;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

pub use axis::Spread;
pub use chart::{Chart, Guide, Point, Series, Ticks};
pub use embed::{EmbedError, count, document, is_page};
pub use piece::Piece;
pub use table::{Cell, Gap, Table};

use crate::compare::Question;
use compared::Group;
use html::escaped;
use truespd_core::result::{Document, Grade};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// What a document is.
pub enum Content {
    /// The result of a run.
    Run(Box<Document>),
    /// Anything else.
    Other {
        /// What kind of document it is, in words.
        kind: String,
        /// The worst verdict of its runs; none when no run was judged.
        grade: Option<Grade>,
        /// What is shown of it.
        pieces: Vec<Piece>,
    },
}

/// A document of a page.
pub struct Input {
    /// What the page calls it.
    pub name: String,
    /// What it is called together with the documents of the same group, which are one side where runs are compared.
    pub group: String,
    /// The document as it is stored.
    pub stored: Vec<u8>,
    /// What it is.
    pub content: Content,
}

/// The page. Runs share their charts and are compared, as `question` asks; other documents follow, each by itself.
pub fn page(inputs: &[Input], question: &Question) -> String {
    let groups = groups(inputs);
    let mut body =
        if groups.is_empty() { String::new() } else { run::sections(&groups, question, inputs.len() == 1) };
    body.extend(inputs.iter().map(|input| other(input, inputs.len() == 1)));
    let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
    let hash = STANDARD.encode(Sha256::digest(SCRIPT));
    let embedded: String = inputs.iter().map(|input| embed::element(&input.stored)).collect();
    format!(
        "{begin}<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title} - TrueSpd</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <header><p class=\"brand\">TrueSpd report</p><h1>{heading}</h1></header>\n{body}\
         <footer>Written by TrueSpd {version}. This page holds the documents that it shows: <code>truespd render</code> reads them back.</footer>\n\
         </main>\n{embedded}<script>{SCRIPT}</script>\n</body>\n</html>\n",
        begin = embed::BEGIN,
        title = escaped(&words::listed(&names)),
        heading = escaped(&words::listed(&names)),
        version = env!("CARGO_PKG_VERSION"),
    )
}

/// The runs in their groups. Those of a single group stand for themselves, so that they can be compared.
fn groups(inputs: &[Input]) -> Vec<Group<'_>> {
    let runs: Vec<(&Input, &Document)> = inputs
        .iter()
        .filter_map(|input| match &input.content {
            Content::Run(document) => Some((input, &**document)),
            Content::Other { .. } => None,
        })
        .collect();
    let is_one = runs.iter().all(|(input, _)| input.group == runs[0].0.group);
    let mut groups: Vec<Group> = Vec::new();
    for (input, document) in runs {
        let name = if is_one { &input.name } else { &input.group };
        let run = (input.name.as_str(), document);
        match groups.iter_mut().find(|group| group.name == *name) {
            Some(group) => group.runs.push(run),
            None => groups.push(Group { name: name.clone(), runs: vec![run] }),
        }
    }
    groups
}

/// The section of a document that is no result of a run; the only one needs no heading of its own.
fn other(input: &Input, is_only: bool) -> String {
    let Content::Other { kind, grade, pieces } = &input.content else { return String::new() };
    let shown: String = pieces.iter().map(Piece::html).collect();
    let badge = grade.map_or(String::new(), |grade| format!(", verdict: {}", verdicts::badge(grade)));
    let inside = format!("<p class=\"subtitle\">{}{badge}</p>\n{shown}", escaped(&words::first_large(kind)));
    if is_only {
        format!("<section class=\"head\">\n{inside}</section>\n")
    } else {
        run::section(&input.name, &inside)
    }
}
