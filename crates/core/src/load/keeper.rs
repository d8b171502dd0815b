//! The thread beside those of a time span: it takes devices over from runs that end, and sees other runs come.

use std::time::Duration;

use super::beside::{self, Beside};
use crate::guard::{Custody, OtherRun, RunLocks};
use crate::machine::roots::Roots;
use crate::sys::identity::Identity;
use crate::sys::wake::Latch;

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
    pub beside: Beside,
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
        let keep = || keep(custody, watch, stop, &over);
        let keeper = std::thread::Builder::new().spawn_scoped(scope, keep);
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
    let mut kept = Kept { lost: None, beside: vec![Vec::new(); targets.len()] };
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
                beside::add(&mut kept.beside, seen);
            }
            known[index] = told;
        }
    }
}
