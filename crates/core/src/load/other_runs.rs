//! Other runs of this program that have a target of this one, and the thread that watches for them while a time span
//! runs: it takes devices over from runs that end, and sees other runs come.

use std::time::Duration;

use super::context::Run;
use super::targets::TargetState;
use crate::guard::{Custody, OtherRun, RunLocks};
use crate::{guard, result};
use truespd_platform::machine::roots::Roots;
use truespd_platform::sys::events::Latch;
use truespd_platform::sys::identity::Identity;

/// How often the run tries to take over a device that another run holds.
const TAKE_OVER_PAUSE: Duration = Duration::from_millis(50);
/// How often it looks for other runs: a look is a few system calls for each target.
const LOOK_PAUSE: Duration = Duration::from_secs(1);

/// What happened to the targets meanwhile.
#[derive(Debug, Default)]
pub struct Kept {
    /// A device that somebody else took when another run let it go.
    pub lost: Option<Identity>,
    /// Other runs that came, of each target.
    pub runs: OtherRuns,
}

/// What is watched, and who wants to know at once of a run that came to one of the targets.
pub struct Watch<'a> {
    /// The targets; none for a simulated run.
    pub targets: &'a [Identity],
    /// Where the system tells of processes.
    pub roots: &'a Roots,
    /// Gets the number of the target.
    pub tell: &'a (dyn Fn(usize, &OtherRun) + Sync),
}

/// Calls `run`, takes over the devices that another run holds as soon as that run ends, and sees other runs
/// that come to one of the targets. If somebody else takes a device first, `stop` is set.
pub fn keeping<T>(
    custody: &mut Custody,
    watch: &Watch<'_>,
    stop: &Latch,
    run: impl FnOnce() -> T,
) -> (T, Kept) {
    if custody.is_settled() && watch.targets.is_empty() {
        return (run(), Kept::default());
    }
    let Ok(over) = Latch::new() else { return (run(), Kept::default()) };
    std::thread::scope(|scope| {
        // If the system gives no thread for this, it gives none for the run either, which then fails and tells why.
        let keeper = std::thread::Builder::new().spawn_scoped(scope, || keep(custody, watch, stop, &over));
        let ends = Ends(&over);
        let result = run();
        drop(ends);
        (result, keeper.ok().and_then(|keeper| keeper.join().ok()).unwrap_or_default())
    })
}

/// Ends the keeper, also when `run` breaks down: the scope waits for it.
struct Ends<'a>(&'a Latch);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.set();
    }
}

fn keep(custody: &mut Custody, watch: &Watch<'_>, stop: &Latch, over: &Latch) -> Kept {
    let Watch { targets, roots, tell } = *watch;
    let mut kept = Kept { lost: None, runs: vec![Vec::new(); targets.len()] };
    let mut known: Vec<RunLocks> = targets.iter().map(|target| custody.told(*target)).collect();
    loop {
        let pause = if custody.is_settled() { LOOK_PAUSE } else { TAKE_OVER_PAUSE };
        if Latch::wait_any(&[over], Some(pause)) {
            return kept;
        }
        kept.lost = custody.settle();
        if kept.lost.is_some() {
            stop.set();
            return kept;
        }
        for (index, target) in targets.iter().enumerate() {
            let told = custody.told(*target);
            // Who it is takes a search through all processes, so only when somebody came.
            if told != known[index] && told.is_tested() {
                let mut seen = vec![Vec::new(); targets.len()];
                seen[index] = custody.other_runs(*target, roots);
                seen[index].iter().for_each(|run| tell(index, run));
                add(&mut kept.runs, seen);
            }
            known[index] = told;
        }
    }
}

/// Of each target, in the order of the time span.
pub type OtherRuns = Vec<Vec<guard::OtherRun>>;

/// What a person should know of it.
pub fn words(state: &TargetState, run: &guard::OtherRun) -> String {
    let does = if run.writes { "writes" } else { "reads" };
    format!("'{}': another test {does} it at the same time: {run}; the two disturb each other", state.typed)
}

impl Run<'_> {
    /// Who has the targets at this moment. The person is warned of a run that writes, and told of one that reads.
    pub fn look_for_other_runs(&mut self, targets: &[TargetState]) -> OtherRuns {
        let found: OtherRuns =
            targets.iter().map(|state| self.custody.other_runs(state.identity, &self.roots)).collect();
        for (state, run) in pairs(targets, &found) {
            if run.writes { self.warn(&words(state, run)) } else { self.note(words(state, run)) }
        }
        found
    }

    /// Keeps for the document what the person was warned of already, and notes the rest.
    pub fn keep_other_runs(&mut self, targets: &[TargetState], runs_of_targets: &OtherRuns) {
        for (state, run) in pairs(targets, runs_of_targets) {
            let words = words(state, run);
            if !run.writes {
                self.note(words);
            } else if !self.report.document.warnings.contains(&words) {
                self.report.document.warnings.push(words);
            }
        }
    }
}

fn pairs<'a>(
    targets: &'a [TargetState],
    runs_of_targets: &'a OtherRuns,
) -> impl Iterator<Item = (&'a TargetState, &'a guard::OtherRun)> {
    targets.iter().zip(runs_of_targets).flat_map(|(state, runs)| runs.iter().map(move |run| (state, run)))
}

/// Adds what was seen later.
pub fn add(runs_of_targets: &mut OtherRuns, later: OtherRuns) {
    for (known, runs) in runs_of_targets.iter_mut().zip(later) {
        for run in runs {
            match known.iter_mut().find(|other| other.process == run.process) {
                Some(other) => other.writes |= run.writes,
                None => known.push(run),
            }
        }
    }
}

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
        let mut runs_of_targets = vec![vec![run(1, false)], vec![]];
        add(&mut runs_of_targets, vec![vec![run(1, true), run(2, false)], vec![run(3, true)]]);
        assert_eq!(runs_of_targets, [vec![run(1, true), run(2, false)], vec![run(3, true)]]);
    }
}
