//! `truespd judge`: stored results judged again.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use crate::cli::commands::render::{Read, read_any};
use crate::cli::show::judged::{Row, table};
use crate::cli::show::rules::rules;
use diskspd::console::tell;
use diskspd::program::{ExitCode, print};
use diskspd::run::required::grade;
use diskspd::show::verdict::{Extent, Style, text};
use truespd_core::fault::{Outcome, Refusal, RefusalKind};
use truespd_core::result::json::indented;
use truespd_core::result::{Grade, Verdict};
use truespd_core::text::{printable, wrap};
use truespd_core::verdict::judge;

/// Judge stored results by the rules of this version: certified, suspect or invalid, and why
///
/// One document is told with all its findings, several as a table.
#[derive(Debug, Args)]
pub(crate) struct JudgeArguments {
    /// Results written with --json, of runs or suites; - for standard input
    #[arg(required_unless_present = "rules")]
    documents: Vec<PathBuf>,
    /// Exit code 5 when a result has a worse grade than this: certified, or suspect
    #[arg(long, value_name = "GRADE", value_parser = grade)]
    require: Option<Grade>,
    /// Print the grades and findings as JSON: a list with one entry for each document
    #[arg(long, conflicts_with = "rules")]
    json: bool,
    /// Print all rules: what they check, and what to do when they find something
    #[arg(long, conflicts_with = "documents")]
    rules: bool,
}

/// `truespd judge`.
pub(crate) fn run(arguments: &JudgeArguments) -> ExitCode {
    if arguments.rules {
        return print(&rules(), ExitCode::Done);
    }
    let (mut all, mut refused) = (Vec::new(), None);
    for path in &arguments.documents {
        match read_any(path).and_then(|read| judged(path, &read)) {
            Ok(judged) => all.push(judged),
            Err(refusal) => refused = Some(tell(refusal)),
        }
    }
    // What was not judged is nothing to rely on.
    let grade = |one: &Judged| one.told.grade.unwrap_or(Grade::Invalid);
    let worst = all.iter().map(grade).max().unwrap_or(Grade::Certified);
    let outcome = match arguments.require {
        Some(required) if worst > required => Outcome::Unmet,
        _ => Outcome::Done,
    };
    let code = refused.unwrap_or(ExitCode::of(outcome));
    match all.as_slice() {
        all if arguments.json => print(&json(all), code),
        [] => code,
        [one] if arguments.documents.len() == 1 => print(&one.text, code),
        all => print(&table(all.iter().map(|one| &one.row), Style::of_stdout()), code),
    }
}

fn json(all: &[Judged]) -> String {
    let told: Vec<&Told> = all.iter().map(|one| &one.told).collect();
    indented(&told)
}

/// A document with its verdict.
struct Judged {
    told: Told,
    row: Row,
    text: String,
}

/// For programs.
#[derive(Debug, Serialize)]
struct Told {
    /// The file as given.
    document: String,
    kind: &'static str,
    /// The worst grade of its runs; none when no run was judged.
    grade: Option<Grade>,
    /// By the rules of this version; none for suites, whose runs were judged when they were made.
    verdict: Option<Verdict>,
}

fn judged(path: &Path, read: &Read) -> Result<Judged, Refusal> {
    let (shown, style) = (path.display().to_string(), Style::of_stdout());
    match read {
        Read::Result(document) => {
            let verdict = judge(document);
            let text = text(&verdict, &shown, Extent::All, style);
            let row = Row::of_run(&shown, document, &verdict);
            let told =
                Told { document: shown, kind: "result", grade: Some(verdict.grade), verdict: Some(verdict) };
            Ok(Judged { told, row, text })
        }
        // The runs themselves are not in it.
        Read::OfSuite(stored) => {
            let head = format!(
                "{}: {}; its runs were judged when it was made (--keep keeps them, to be judged again)",
                printable(&shown),
                stored.kind()
            );
            let head = wrap(&head, style.columns).join("\n");
            let text = format!("{head}\n{}", stored.verdict_text(style));
            let row = Row::of_suite(&shown, stored.kind(), stored.grade());
            let told = Told { document: shown, kind: stored.kind(), grade: stored.grade(), verdict: None };
            Ok(Judged { told, row, text })
        }
        Read::Plain(plain) => {
            let message = format!("'{shown}' is a {}: it has no runs to judge", plain.kind);
            Err(Refusal::new(RefusalKind::Input, message).hint(plain.instead).on(shown))
        }
    }
}
