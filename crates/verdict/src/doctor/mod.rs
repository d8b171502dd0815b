//! What on this machine will spoil a measurement, and how it is set otherwise: runs the checks of the catalogue.
//!
//! Nothing here changes anything, starts a program or opens a device for writing.

mod change;
mod check;
mod host;
mod report;
#[cfg(test)]
mod tests;

pub use super::causes::checks;
pub use change::Change;
pub use check::{Answer, Check, CheckFn, NoAnswer};
pub(super) use check::{CheckResult, each_disk, each_filesystem, machine};
pub use host::{Disk, HostView, MountedFileSystem, Neighbours, Process, Scope, Traffic, Trees, Window};
pub use report::{Counts, Finding, Lasts, Purpose, Report, State, Subject, SubjectKind};

/// Asks all checks. What matters only to peak rates is left out unless `for_peak`.
pub fn examine(host: &HostView, for_peak: bool) -> Report {
    let mut findings = Vec::new();
    let mut for_peak_only = 0;
    for (cause, check) in checks() {
        let answers = check.ask(host);
        for answer in &answers {
            let is_of_peak = check.purpose_of(answer) == Purpose::Peak;
            if is_of_peak && !for_peak {
                for_peak_only += u32::from(answer.state.is_complaint());
                continue;
            }
            // Who asks for the peak wants its answer where the two differ.
            let has_peak_answer = answers
                .iter()
                .any(|other| other.subject == answer.subject && check.purpose_of(other) == Purpose::Peak);
            if is_of_peak || !for_peak || !has_peak_answer {
                findings.push(check.finding(answer, cause.rule_name()));
            }
        }
    }
    // Stable: within a state the order of the checks.
    findings.sort_by_key(|finding| finding.state);
    Report {
        is_root: host.process.is_root,
        is_container: host.process.is_container,
        for_peak,
        for_peak_only,
        disks: host.disks.iter().map(|disk| disk.name().to_string()).collect(),
        beyond: host.beyond.clone(),
        counts: Counts::of(&findings),
        findings,
    }
}
