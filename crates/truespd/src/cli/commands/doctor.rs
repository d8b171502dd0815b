//! `truespd doctor`: what on this machine will spoil a measurement, and how it is set otherwise.
//!
//! Opens targets read-only and for a moment; changes nothing, anywhere.

use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::cli::show::doctor as show;
use truespd_core::guard::{programs_with, users};
use truespd_core::result::envelope;
use truespd_front::console::tell;
use truespd_front::program::{ExitCode, print};
use truespd_front::show::Style;
use truespd_platform::fault::{Outcome, Refusal};
use truespd_platform::machine::device::DeviceNumber;
use truespd_platform::machine::host::{Sight, sight};
use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::storage::{self, ReadFlags, TargetError, resolve};
use truespd_verdict::doctor::{HostView, Neighbours, Process, Scope, Trees, examine};

/// Find what on this machine will spoil a measurement, with the commands that set it and set it back
///
/// Changes nothing itself. Watches the machine for a second. Without a target: the machine and every whole disk.
/// docs/doctor.md tells what each check means.
#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// Files, folders or block devices; `#n` is the n-th whole disk. Without any, all disks
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    /// Look also at what matters only beyond about a million IOPS per processor
    #[arg(long)]
    peak: bool,
    /// Show also what is good, and what this machine does not have
    #[arg(long)]
    all: bool,
    /// Print the findings as JSON (`truespd schema doctor`)
    #[arg(long)]
    json: bool,
    /// Print the commands as a script for a shell of root: those that set, or those that set back to what is now
    #[arg(long, value_name = "WHICH", num_args = 0..=1, default_missing_value = "set", conflicts_with = "json")]
    script: Option<Script>,
    /// Exit code 5 when something will spoil a measurement
    #[arg(long, value_name = "WORD")]
    require: Option<Required>,
    /// Print all checks: what each looks at, when it complains, what difference it makes
    #[arg(long, conflicts_with_all = ["targets", "peak", "all", "json", "script", "require"])]
    checks: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Script {
    /// What sets everything that may or will spoil a measurement
    Set,
    /// What sets it back to what it is now: print it before the other one runs
    Undo,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Required {
    /// Nothing spoils
    Good,
}

/// Long enough to see who uses the disks, short enough to wait for.
const WATCH: Duration = Duration::from_secs(1);

/// `truespd doctor`.
pub(crate) fn run(arguments: &DoctorArguments) -> ExitCode {
    if arguments.checks {
        return print(&show::page(), ExitCode::Done);
    }
    let trees = Trees::default();
    let (scope, refused) = scope(&arguments.targets, &trees.roots);
    if let Some(code) = refused {
        return code;
    }
    let process = Process::here(&trees.roots);
    let roots = trees.roots.clone();
    let view = HostView::of(trees, process, &scope, &|number| neighbours(number, &roots), WATCH);
    let report = examine(&view, arguments.peak);
    let text = match arguments.script {
        Some(Script::Set) => show::script(&report),
        Some(Script::Undo) => show::script_back(&report),
        None if arguments.json => envelope::write(&report),
        None => envelope::shown(&report, |report| show::text(report, arguments.all, Style::of_stdout())),
    };
    let outcome = match arguments.require {
        Some(Required::Good) if report.counts.spoils > 0 => Outcome::Unmet,
        _ => Outcome::Done,
    };
    print(&text, ExitCode::of(outcome))
}

/// What is to be looked at; an exit code when a target cannot be opened.
fn scope(targets: &[String], roots: &Roots) -> (Scope, Option<ExitCode>) {
    if targets.is_empty() {
        return (Scope::of_machine(roots), None);
    }
    let (mut scope, mut refused) = (Scope::default(), None);
    for typed in targets {
        match of_target(typed, roots) {
            Ok(one) => scope = scope.and(one),
            Err(refusal) => refused = Some(tell(refusal)),
        }
    }
    (scope, refused)
}

fn of_target(typed: &str, roots: &Roots) -> Result<Scope, Refusal> {
    let path = resolve(typed, roots)?.path;
    // Before a run its file may not be there yet: the folder tells the same of the disks.
    let opened = if path.is_dir() {
        storage::open_folder(&path, roots)?
    } else {
        storage::open(&path, ReadFlags::CACHED, roots).map_err(TargetError::wanting_to_look)?
    };
    Ok(Scope::of_target(&opened, roots))
}

/// Who else uses a device, as the write guard finds them.
fn neighbours(number: DeviceNumber, roots: &Roots) -> Neighbours {
    let users = users(number, roots);
    let system = users.iter().filter(|user| user.is_system).map(|user| user.words.clone()).collect();
    let programs: Result<Vec<String>, String> = programs_with(number, roots)
        .map(|programs| programs.iter().map(ToString::to_string).collect())
        .map_err(|missing| missing.why);
    let unseen = match sight(roots) {
        Sight::All => None,
        Sight::OwnUser => Some("programs of other users are visible to root only"),
        Sight::Container => Some("programs outside this container are not visible from it"),
        Sight::Nothing => Some("/proc does not show the programs"),
    };
    let programs = match (programs, unseen) {
        (Ok(found), Some(unseen)) if found.is_empty() => Err(unseen.to_string()),
        (programs, _) => programs,
    };
    Neighbours { system, programs }
}

#[cfg(test)]
mod tests {
    use super::*;
    use truespd_verdict::doctor::Report;

    #[test]
    fn the_published_schema_is_the_one_of_the_code() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schema/doctor-v1.json");
        let published = std::fs::read_to_string(path).expect("it is published");
        assert_eq!(
            published,
            truespd_core::result::schema::of_kind::<Report>(),
            "publish it anew: truespd schema doctor > schema/doctor-v1.json"
        );
    }

    #[test]
    fn a_document_is_read_back() {
        let report = Report { is_root: true, disks: vec!["vda".into()], ..Report::default() };
        let text = envelope::write(&report);
        assert_eq!(envelope::read::<Report>(text.as_bytes()).expect("its own"), report);
    }
}
