//! `truespd judge`: stored results judged again.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::commands::diskspd::{ExitCode, print};
use crate::cli::commands::render::{Read, read_any};
use crate::cli::console::tell;
use crate::cli::show::verdict::{Extent, Style, rules, text};
use crate::fault::{Outcome, Refusal, RefusalKind};
use crate::result::Grade;
use crate::result::envelope::DocumentKind;
use crate::selfcost::CostReport;
use crate::session::required::grade;
use crate::text::{printable, wrap};
use crate::verdict::judge;

/// Judge stored results by the rules of this version: certified, suspect or invalid, and why
#[derive(Debug, Args)]
pub(crate) struct JudgeArguments {
    /// Results written with --json, of runs or suites; - for standard input
    #[arg(required_unless_present = "rules")]
    documents: Vec<PathBuf>,
    /// Exit code 5 when a result has a worse grade than this: certified, or suspect
    #[arg(long, value_name = "GRADE", value_parser = grade)]
    require: Option<Grade>,
    /// Print all rules: what they check, and what to do when they find something
    #[arg(long, conflicts_with = "documents")]
    rules: bool,
}

/// `truespd judge`.
pub(crate) fn run(arguments: &JudgeArguments) -> ExitCode {
    if arguments.rules {
        return print(&rules(), ExitCode::Done);
    }
    let (mut out, mut worst, mut refused) = (String::new(), Grade::Certified, None);
    for path in &arguments.documents {
        let judged = match read_any(path).and_then(|read| judged(path, &read)) {
            Ok(judged) => judged,
            Err(refusal) => {
                refused = Some(tell(refusal));
                continue;
            }
        };
        // What was not judged is nothing to rely on.
        worst = worst.max(judged.grade.unwrap_or(Grade::Invalid));
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&judged.text);
    }
    let outcome = match arguments.require {
        Some(required) if worst > required => Outcome::Unmet,
        _ => Outcome::Done,
    };
    print(&out, refused.unwrap_or(ExitCode::of(outcome)))
}

/// A document with its verdict.
struct Judged {
    grade: Option<Grade>,
    text: String,
}

fn judged(path: &Path, read: &Read) -> Result<Judged, Refusal> {
    let (shown, style) = (path.display().to_string(), Style::of_stdout());
    match read {
        Read::Result(document) => {
            let verdict = judge(document);
            let text = text(&verdict, &shown, Extent::All, style);
            Ok(Judged { grade: Some(verdict.grade), text })
        }
        // The runs themselves are not in it.
        Read::OfSuite(stored) => {
            let head = format!(
                "{}: {}; its runs were judged when it was made (--keep keeps them, to be judged again)",
                printable(&shown),
                stored.kind()
            );
            let head = wrap(&head, style.columns).join("\n");
            Ok(Judged { grade: stored.grade(), text: format!("{head}\n{}", stored.verdicts(style)) })
        }
        Read::SelfCost(_) => {
            let message = format!("'{shown}' is a {}: it has no runs to judge", CostReport::NAME);
            Err(Refusal::new(RefusalKind::Input, message).on(shown))
        }
    }
}
