//! Other runs of this program that have a target of this one.

use super::context::Run;
use super::targets::TargetState;
use crate::{guard, result};

/// Of each target, in the order of the time span.
pub type Beside = Vec<Vec<guard::OtherRun>>;

/// What a person should know of it.
pub fn words(state: &TargetState, run: &guard::OtherRun) -> String {
    let does = if run.writes { "writes" } else { "reads" };
    format!("'{}': another test {does} it at the same time: {run}; the two disturb each other", state.typed)
}

impl Run<'_> {
    /// Who has the targets at this moment. The person is warned of a run that writes, and told of one that reads.
    pub fn look_beside(&mut self, targets: &[TargetState]) -> Beside {
        let who = |state: &TargetState| self.custody.other_runs(state.identity(), &self.roots);
        let found: Beside = targets.iter().map(who).collect();
        for (state, run) in pairs(targets, &found) {
            if run.writes { self.warn(&words(state, run)) } else { self.note(words(state, run)) }
        }
        found
    }

    /// Keeps for the document what the person was warned of already, and notes the rest.
    pub fn keep_beside(&mut self, targets: &[TargetState], beside: &Beside) {
        for (state, run) in pairs(targets, beside) {
            let words = words(state, run);
            let warnings = &mut self.report.document.warnings;
            match run.writes {
                true if warnings.contains(&words) => {}
                true => warnings.push(words),
                false => self.note(words),
            }
        }
    }
}

fn pairs<'a>(
    targets: &'a [TargetState],
    beside: &'a Beside,
) -> impl Iterator<Item = (&'a TargetState, &'a guard::OtherRun)> {
    targets.iter().zip(beside).flat_map(|(state, runs)| runs.iter().map(move |run| (state, run)))
}

/// Adds what was seen later.
pub fn add(beside: &mut Beside, later: Beside) {
    for (known, runs) in beside.iter_mut().zip(later) {
        for run in runs {
            match known.iter_mut().find(|other| other.process == run.process) {
                Some(other) => other.writes |= run.writes,
                None => known.push(run),
            }
        }
    }
}

/// For the document.
pub fn shown(run: guard::OtherRun) -> result::OtherRun {
    let guard::OtherRun { process, command_line, writes } = run;
    result::OtherRun { process, command_line, writes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::OtherRun;

    #[test]
    fn a_run_that_is_seen_twice_counts_once() {
        let run = |process, writes| OtherRun { process: Some(process), command_line: None, writes };
        let mut beside = vec![vec![run(1, false)], vec![]];
        add(&mut beside, vec![vec![run(1, true), run(2, false)], vec![run(3, true)]]);
        assert_eq!(beside, [vec![run(1, true), run(2, false)], vec![run(3, true)]]);
    }
}
