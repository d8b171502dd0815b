//! `truespd inspect`: what a run's evidence would say of its targets, told before the run.
//!
//! Opens read-only and for a moment; writes nothing, anywhere.

pub(crate) mod advice;
pub(crate) mod beginning;
pub(crate) mod machine;

use std::path::Path;

use clap::Args;
use serde::Serialize;

use crate::cli::commands::diskspd::{ExitCode, print};
use crate::cli::console::tell;
use crate::cli::show;
use crate::fault::Refusal;
use crate::guard::Guard;
use crate::guard::mark::Marks;
use crate::load::before::{self, Machine};
use crate::load::facts;
use crate::machine::roots::Roots;
use crate::machine::storage;
use crate::machine::storage::{OpenedTarget, ReadFlags, resolve};
use crate::result::{Limit, TargetFacts};

/// Tell what is known of files and devices before a run: the layers down to the disks, what the target
/// holds, caches, limits, who else uses the disks, whether a write test may run, and what that means
/// for the numbers
///
/// Opens read-only and changes nothing. Watches disks and machine for 0.2 s.
#[derive(Debug, Args)]
pub(crate) struct InspectArguments {
    /// Files or block devices, as for a run; `#n` is the n-th whole disk
    #[arg(required = true, value_name = "TARGET")]
    targets: Vec<String>,
    /// Print the facts as JSON
    #[arg(long)]
    json: bool,
}

/// Everything there is to tell.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// [`FORMAT`].
    pub(crate) format: &'static str,
    /// Within a version members are only added.
    pub(crate) format_version: u32,
    pub(crate) targets: Vec<Inspected>,
    /// As a run's evidence would hold them.
    pub(crate) limits: Vec<Limit>,
    pub(crate) machine: Machine,
    /// What a person should know of the machine, in whole sentences.
    pub(crate) know: Vec<String>,
}

const FORMAT: &str = "truespd-inspect";
const FORMAT_VERSION: u32 = 1;

/// One target.
#[derive(Debug, Serialize)]
pub(crate) struct Inspected {
    /// As a run's evidence would hold them.
    #[serde(flatten)]
    pub(crate) facts: TargetFacts,
    /// Bytes that new files beside a file may take.
    pub(crate) free_bytes: Option<u64>,
    pub(crate) write_test: WriteTest,
    /// What a person should know, in whole sentences.
    pub(crate) know: Vec<String>,
    /// A command line to begin with; reads only, and may make a new file. `None` when nothing useful fits.
    pub(crate) suggested: Option<String>,
}

/// What the write guard would say.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct WriteTest {
    /// Whether a run with writes may start, as far as the guard is concerned.
    pub(crate) allowed: bool,
    /// Why not, in words; empty when allowed.
    pub(crate) refusal: String,
    /// What can be done about it.
    pub(crate) hints: Vec<String>,
}

/// `truespd inspect`.
pub(crate) fn run(arguments: &InspectArguments) -> ExitCode {
    let roots = Roots::default();
    let mut found = Vec::new();
    let mut refused = None;
    for typed in &arguments.targets {
        match open(typed, &roots) {
            Ok(opened) => found.push((typed.as_str(), opened)),
            Err(refusal) => refused = Some(tell(refusal)),
        }
    }
    if let Some(code) = refused {
        return code;
    }
    let report = report(&found, &roots);
    let text = if arguments.json { json(&report) } else { show::inspect::report(&report) };
    print(&text, ExitCode::Done)
}

fn open(typed: &str, roots: &Roots) -> Result<OpenedTarget, Refusal> {
    let path = resolve(typed, roots)?.path;
    storage::open(&path, ReadFlags::CACHED, roots).map_err(Refusal::from)
}

fn report(found: &[(&str, OpenedTarget)], roots: &Roots) -> Report {
    let mut targets: Vec<before::Inspected<'_>> =
        found.iter().map(|(typed, opened)| before::Inspected::new(typed, opened, roots)).collect();
    // First of all, before anything that is done here shows.
    let machine = before::watch(&targets, roots);
    before::look(&mut targets);
    let limits = facts::limits(targets.iter().map(before::Inspected::chain), roots);
    let memory_bytes = machine::memory_for_cache(&machine, &limits);
    let about = |((typed, opened), target): (&(&str, OpenedTarget), &before::Inspected<'_>)| {
        let write_test = write_test(typed, opened, roots);
        let facts = target.facts();
        let room = target.room();
        let beginning = beginning::of(&facts, room, machine.host.memory_available_bytes);
        let mut know = advice::know(&facts, memory_bytes);
        know.extend(machine::other_io(&facts, &machine));
        know.extend(machine::limited(&facts, &limits));
        know.extend(beginning.why_not);
        Inspected {
            facts,
            free_bytes: room.map(|r| r.free_bytes),
            write_test,
            know,
            suggested: beginning.line,
        }
    };
    let targets = found.iter().zip(&targets).map(about).collect();
    let know = machine::know(&machine, &limits);
    Report { format: FORMAT, format_version: FORMAT_VERSION, targets, limits, machine, know }
}

fn write_test(typed: &str, opened: &OpenedTarget, roots: &Roots) -> WriteTest {
    let marks = Marks::of_this_user();
    let guard = Guard { overwrite: &[], marks: &marks, roots };
    let path: &Path = &opened.facts.path;
    match guard.check(typed, path, &opened.file, &opened.facts) {
        Ok(()) => WriteTest { allowed: true, refusal: String::new(), hints: Vec::new() },
        Err(refusal) => {
            // The hints are shown one by one.
            WriteTest { allowed: false, refusal: refusal.without_hints(), hints: refusal.hints.clone() }
        }
    }
}

fn json(report: &Report) -> String {
    let mut text = serde_json::to_string_pretty(report).expect("facts are text, numbers and lists");
    text.push('\n');
    text
}
