//! `truespd inspect`: what a run's evidence would say of its targets, told before the run.
//!
//! Opens read-only and for a moment; writes nothing, anywhere.

mod advice;
mod show;

use std::path::Path;

use clap::Args;
use serde::Serialize;

use super::command::{ExitCode, print};
use super::console::say_line;
use super::refusal::printable;
use crate::load::facts;
use crate::os::chain;
use crate::os::mark::Marks;
use crate::os::memory::memory_facts;
use crate::os::roots::Roots;
use crate::os::target::{self, Access, OpenFlags, OpenedTarget, resolve};
use crate::plan::Guard;
use crate::result::{Limit, TargetFacts};

/// Tell what is known of files and devices before a run: the layers down to the disks, caches, limits,
/// whether a write test may run, and what that means for the numbers
///
/// Opens read-only and changes nothing.
#[derive(Debug, Args)]
pub(super) struct InspectArguments {
    /// Files or block devices, as for a run; #<n> is the n-th whole disk
    #[arg(required = true, value_name = "TARGET")]
    targets: Vec<String>,
    /// Print the facts as JSON
    #[arg(long)]
    json: bool,
}

/// Everything there is to tell.
#[derive(Debug, Serialize)]
struct Report {
    targets: Vec<Inspected>,
    /// As a run's evidence would hold them.
    limits: Vec<Limit>,
    /// Memory of the machine in bytes.
    memory_bytes: Option<u64>,
}

/// One target.
#[derive(Debug, Serialize)]
struct Inspected {
    /// As a run's evidence would hold them.
    #[serde(flatten)]
    facts: TargetFacts,
    write_test: WriteTest,
    /// What a person should know, in whole sentences.
    know: Vec<String>,
    /// A command line to begin with; reads only.
    suggested: String,
}

/// What the write guard would say.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct WriteTest {
    /// Whether a run with writes may start, as far as the guard is concerned.
    allowed: bool,
    /// Why not, in words; empty when allowed.
    refusal: String,
    /// What can be done about it.
    hints: Vec<String>,
}

/// `truespd inspect`.
pub(super) fn run(arguments: &InspectArguments) -> ExitCode {
    let roots = Roots::default();
    let mut found = Vec::new();
    let mut is_refused = false;
    for typed in &arguments.targets {
        match open(typed, &roots) {
            Ok(opened) => found.push((typed.as_str(), opened)),
            Err(words) => {
                is_refused = true;
                say_line(format_args!("ERROR: {}", printable(&words)));
            }
        }
    }
    if is_refused {
        return ExitCode::Refused;
    }
    let report = report(&found, &roots);
    let text = if arguments.json { json(&report) } else { show::report(&report) };
    print(&text, ExitCode::Done)
}

fn open(typed: &str, roots: &Roots) -> Result<OpenedTarget, String> {
    let path = resolve(typed, roots).map_err(|e| e.to_string())?.path;
    let read = OpenFlags { access: Access::Read, direct: false, dsync: false };
    target::open(&path, read, roots).map_err(|e| e.to_string())
}

fn report(found: &[(&str, OpenedTarget)], roots: &Roots) -> Report {
    let memory_bytes = memory_facts(roots).ok().and_then(|m| m.total_bytes);
    let chains: Vec<_> = found.iter().map(|(_, t)| chain::of(&t.file, &t.facts, roots)).collect();
    let limits = facts::limits(chains.iter().map(|c| &c[..]), roots);
    let targets = found.iter().zip(&chains).map(|((typed, opened), chain)| {
        let facts = facts::of_target(typed, &opened.facts.path, &opened.facts, chain);
        Inspected {
            write_test: write_test(typed, opened, roots),
            know: advice::know(&facts, memory_bytes),
            suggested: advice::suggested(&facts),
            facts,
        }
    });
    Report { targets: targets.collect(), limits, memory_bytes }
}

fn write_test(typed: &str, opened: &OpenedTarget, roots: &Roots) -> WriteTest {
    let marks = Marks::of_this_user();
    let guard = Guard { overwrite: &[], marks: &marks, roots };
    let path: &Path = &opened.facts.path;
    match guard.check(typed, path, &opened.file, &opened.facts) {
        Ok(()) => WriteTest { allowed: true, refusal: String::new(), hints: Vec::new() },
        Err(refusal) => {
            // All of it but the hints, which are shown one by one.
            let all = refusal.to_string();
            let hints: String = refusal.hints.iter().map(|hint| format!("; {hint}")).collect();
            let refusal_words = all.strip_suffix(&hints).unwrap_or(&all).to_string();
            WriteTest { allowed: false, refusal: refusal_words, hints: refusal.hints }
        }
    }
}

fn json(report: &Report) -> String {
    let mut text = serde_json::to_string_pretty(report).expect("facts are text, numbers and lists");
    text.push('\n');
    text
}
