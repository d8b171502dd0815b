//! Documents to one self-contained HTML page, which needs no network and no other file.
//!
//! Everything is in the page when it is written: the charts are pictures (SVG), their values are tables too, and the
//! documents lie in it byte for byte ([`documents`]). The script only shows values at the pointer and the cursor keys.

mod axis;
mod buckets;
mod chart;
mod course;
mod embed;
mod html;
mod run;
pub mod suites;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

pub use axis::Spread;
pub use chart::{Chart, Point, Series, Ticks};
pub use embed::{EmbedError, documents, is_page};

use crate::result::{Document, Grade};
use html::{escaped, escaped_lines};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// What a document is.
pub enum Content {
    /// The result of a run.
    Run(Box<Document>),
    /// Anything else: its text, its verdict and its charts.
    Other {
        /// What kind of document it is, in words.
        kind: String,
        /// Its tables, as they are printed.
        text: String,
        /// The worst verdict of its runs; none when no run was judged.
        grade: Option<Grade>,
        /// Its charts.
        charts: Vec<Chart>,
    },
}

/// A document of a page.
pub struct Input {
    /// What the page calls it.
    pub name: String,
    /// The document as it is stored.
    pub stored: Vec<u8>,
    /// What it is.
    pub content: Content,
}

/// The page. Runs share their charts; other documents follow, each with its own.
pub fn page(inputs: &[Input]) -> String {
    let runs: Vec<run::Run> = inputs
        .iter()
        .filter_map(|input| match &input.content {
            Content::Run(document) => Some((input.name.as_str(), &**document)),
            Content::Other { .. } => None,
        })
        .collect();
    let mut body = if runs.is_empty() { String::new() } else { run::sections(&runs) };
    body.extend(inputs.iter().map(other));
    let names: Vec<&str> = inputs.iter().map(|input| input.name.as_str()).collect();
    let hash = STANDARD.encode(Sha256::digest(SCRIPT));
    let embedded: String = inputs.iter().map(|input| embed::element(&input.stored)).collect();
    format!(
        "{begin}<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title} - TrueSpd</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <header><h1>Storage measured with TrueSpd</h1></header>\n{body}\
         <footer>Written by TrueSpd {version}. This page holds the documents that it shows: <code>truespd render</code> reads them back.</footer>\n\
         </main>\n{embedded}<script>{SCRIPT}</script>\n</body>\n</html>\n",
        begin = embed::BEGIN,
        title = escaped(&names.join(", ")),
        version = env!("CARGO_PKG_VERSION"),
    )
}

/// The section of a document that is no result of a run.
fn other(input: &Input) -> String {
    let Content::Other { kind, text, grade, charts } = &input.content else { return String::new() };
    let badge = grade.map_or("not judged".to_string(), run::badge);
    let drawn: String = charts.iter().map(Chart::html).collect();
    let inside = format!(
        "<p>{}</p><p class=\"verdict\">verdict: {badge}</p>{drawn}<pre class=\"table\" tabindex=\"0\">{}</pre>",
        escaped(kind),
        escaped_lines(text)
    );
    run::section(&input.name, &inside)
}
