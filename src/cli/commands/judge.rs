//! `truespd judge`: stored results judged again.

use std::path::PathBuf;

use clap::Args;

use crate::cli::commands::diskspd::{ExitCode, print};
use crate::cli::commands::render::read;
use crate::cli::console::tell;
use crate::cli::show::verdict::{Extent, Style, rules, text};
use crate::fault::Outcome;
use crate::result::Grade;
use crate::session::required::grade;
use crate::verdict::judge;

/// Judge stored results by the rules of this version: certified, suspect or invalid, and why
#[derive(Debug, Args)]
pub(crate) struct JudgeArguments {
    /// Results written with --json; - for standard input
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
        let document = match read(path) {
            Ok(document) => document,
            Err(refusal) => {
                refused = Some(tell(refusal));
                continue;
            }
        };
        let verdict = judge(&document);
        worst = worst.max(verdict.grade);
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&text(&verdict, &path.display().to_string(), Extent::All, Style::of_stdout()));
    }
    let outcome = match arguments.require {
        Some(required) if worst > required => Outcome::Unmet,
        _ => Outcome::Done,
    };
    print(&out, refused.unwrap_or(ExitCode::of(outcome)))
}
