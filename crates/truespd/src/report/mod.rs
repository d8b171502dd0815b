//! Documents to one self-contained HTML page, which needs no network and no other file.
//!
//! Everything is in the page when it is written: the charts are pictures (SVG), their values are tables too, and the
//! documents lie in it byte for byte ([`document`]). The script only shows values at the pointer and the cursor keys.

mod axis;
mod chart;
mod compared;
mod course;
mod heat;
mod html;
mod parts;
mod run;
pub mod suites;
mod table;
mod verdicts;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

pub use html::{EmbedError, count, document, is_page, plain, printed};

use crate::compare::Question;
use compared::Group;
use html::{escaped, first_large, listed};
use truespd_core::result::{Document, Grade};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

pub enum Content {
    /// The result of a run.
    Run(Box<Document>),
    Other {
        /// What kind of document it is, in words.
        kind: String,
        /// The worst verdict of its runs; none when no run was judged.
        grade: Option<Grade>,
        /// What is shown of it: pieces of HTML.
        html: String,
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
    pub content: Content,
}

/// The page. Runs share their charts and are compared, as `question` asks; other documents follow, each by itself.
pub fn page(inputs: &[Input], question: &Question) -> String {
    let groups = groups(inputs);
    let is_only = inputs.len() == 1;
    let mut body = if groups.is_empty() { String::new() } else { run::sections(&groups, question, is_only) };
    let (mut names, mut documents) = (Vec::new(), String::new());
    for input in inputs {
        body += &other(input, is_only);
        documents += &html::element(&input.stored);
        names.push(input.name.as_str());
    }
    let hash = STANDARD.encode(Sha256::digest(SCRIPT));
    format!(
        "{begin}<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         img-src data:; script-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title} - TrueSpd</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n\
         <header><p class=\"brand\">TrueSpd report</p><h1>{title}</h1></header>\n{body}\
         <footer>Written by TrueSpd {version}. This page holds the documents that it shows: \
         <code>truespd render</code> reads them back.</footer>\n\
         </main>\n{documents}<script>{SCRIPT}</script>\n</body>\n</html>\n",
        begin = html::BEGIN,
        title = escaped(&listed(&names)),
        version = env!("CARGO_PKG_VERSION"),
    )
}

/// The runs in their groups. Those of a single group stand for themselves, so that they can be compared.
fn groups(inputs: &[Input]) -> Vec<Group<'_>> {
    let mut runs: Vec<(&Input, &Document)> = Vec::new();
    for input in inputs {
        if let Content::Run(document) = &input.content {
            runs.push((input, document));
        }
    }
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
    let Content::Other { kind, grade, html } = &input.content else { return String::new() };
    let badge = grade.map_or(String::new(), |grade| format!(", verdict: {}", verdicts::badge(grade)));
    let inside = format!("<p class=\"subtitle\">{}{badge}</p>\n{html}", escaped(&first_large(kind)));
    if is_only {
        format!("<section class=\"head\">\n{inside}</section>\n")
    } else {
        run::section(&input.name, &inside)
    }
}
