//! What on this machine will spoil a measurement, and how it is set otherwise.
//!
//! One table of checks ([`CHECKS`]): each has a reader of the machine, a judgement and the commands that change it and
//! change it back. Nothing here changes anything, starts a program or opens a device for writing. Where a rule of the
//! verdict judges runs by the same thing, a check has its thresholds and names it.

mod change;
mod check;
mod checks;
mod finding;
#[cfg(test)]
mod tests;
pub mod thresholds;
mod view;
mod window;

pub use change::Change;
pub use check::{Answer, Check, Look};
pub use checks::CHECKS;
pub use finding::{Counts, Finding, Lasts, Purpose, Report, State, Subject, SubjectKind};
pub use view::{Disk, MountedFileSystem, Neighbours, Process, Scope, Trees, View};
pub use window::{Traffic, Window};

/// Asks all checks. What matters only to peak rates is left out unless `for_peak`.
pub fn examine(view: &View, for_peak: bool) -> Report {
    let mut findings = Vec::new();
    let mut for_peak_only = 0;
    for check in CHECKS {
        let answers = check.ask(view);
        let is_of_peak = |answer: &Answer| check.purpose_of(answer) == Purpose::Peak;
        for answer in &answers {
            let beside = |other: &Answer| other.subject == answer.subject && is_of_peak(other);
            match (is_of_peak(answer), for_peak) {
                (true, false) => for_peak_only += u32::from(answer.state.is_complaint()),
                // Who asks for the peak wants its answer where the two differ.
                (false, true) if answers.iter().any(beside) => {}
                _ => findings.push(check.finding(answer)),
            }
        }
    }
    // Stable: within a state the order of the table.
    findings.sort_by_key(|finding| finding.state);
    Report {
        is_root: view.process.is_root,
        is_container: view.process.is_container,
        for_peak,
        for_peak_only,
        disks: view.disks.iter().map(|disk| disk.name().to_string()).collect(),
        beyond: view.beyond.clone(),
        counts: Counts::of(&findings),
        findings,
    }
}
