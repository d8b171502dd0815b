//! The process that the launcher of MPI started, while the rank itself is its child.
//!
//! A launcher ends all ranks when a signal ends one of its processes: MPICH at once, Open MPI within two
//! seconds. Then rank 0 could not show what the others measured. So where a rank is killed (by the system for
//! want of memory, by a person, by a bug), its parent stays and says nothing, until rank 0 has told the
//! result and ends all.

use std::ffi::OsString;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::options::Own;
use crate::cluster::words::Values;
use diskspd::grammar::parse::Invocation;
use diskspd::grammar::parse::parse;
use truespd_core::sys::signals::{EndWishes, die_with, pass_on};

/// Number of the parent, in the environment of the rank.
const PARENT: &str = "TRUESPD_RANK_OF";
/// How long after the longest end of a run the others may take to notice the loss and to tell the result.
const AFTER_THE_RUN: Duration = Duration::from_secs(120);
/// How long, beyond the patience, the others may take to end without rank 0.
const WITHOUT_RANK_0: Duration = Duration::from_secs(15);
/// How long a run of a suite may take.
const RUN_OF_A_SUITE: Duration = Duration::from_secs(900);

/// Whether this process is the rank. Otherwise the rank was run as a child, and this is its exit code; the
/// arguments are those of this program. Where no child can be made, this process is the rank.
pub(super) fn is_rank(own: &Own, is_line: bool, is_first: bool) -> Result<(), i32> {
    if let Some(parent) = std::env::var(PARENT).ok().and_then(|number| number.parse().ok()) {
        // Nobody reads the variable any more, and no program that this one starts is a rank. A parent that is gone was
        // ended by the launcher, which wants the rank to end as well.
        return if die_with(parent) { Ok(()) } else { Err(1) };
    }
    let Ok(program) = std::env::current_exe() else { return Ok(()) };
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let Ok(wishes) = EndWishes::receive() else { return Ok(()) };
    let mut rank = Command::new(program);
    rank.args(arguments).env(PARENT, std::process::id().to_string());
    // Open MPI gives its ranks a terminal that nobody looks at: what they say goes where mpirun's output goes.
    rank.env("NO_COLOR", "1").env("TERM", "dumb");
    let started = rank.spawn();
    match started {
        Ok(child) => {
            let patience = Duration::from_secs(own.options.patience);
            // Nobody shows a result without rank 0: the others keep what they have, and end.
            let longest = match () {
                () if is_first => patience + WITHOUT_RANK_0,
                () if is_line => longest(own),
                () => patience + RUN_OF_A_SUITE,
            };
            Err(watch(child, wishes, longest))
        }
        Err(_) => Ok(()),
    }
}

/// Waits for the rank; its exit code. Signals go to the rank as long as it is there.
fn watch(child: Child, mut wishes: EndWishes, longest: Duration) -> i32 {
    let number = child.id();
    let is_over = Arc::new(AtomicBool::new(false));
    // The number of a process that was waited for may be another's.
    let child = Arc::new(Mutex::new(child));
    let (over, alive) = (Arc::clone(&is_over), Arc::clone(&child));
    let pass = move || {
        for wish in wishes.forever() {
            let _alive = alive.lock().unwrap_or_else(PoisonError::into_inner);
            if over.load(Ordering::Acquire) {
                std::process::exit(wish.exit_code)
            } else {
                pass_on(wish, number)
            }
        }
    };
    let _ = std::thread::Builder::new().name("signals".into()).spawn(pass);
    let ended = loop {
        let mut child = child.lock().unwrap_or_else(PoisonError::into_inner);
        match child.try_wait() {
            Ok(Some(status)) => {
                is_over.store(true, Ordering::Release);
                break status.code();
            }
            Ok(None) => drop(child),
            Err(_) => break Some(1),
        }
        std::thread::sleep(LOOK_EVERY);
    };
    ended.unwrap_or_else(|| {
        std::thread::sleep(longest);
        1
    })
}

/// How often it is looked whether the rank has ended.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How long the line may take from now on, as far as its words tell.
fn longest(own: &Own) -> Duration {
    let values = Values { host: "host", rank: 0, local: 0, ranks: 1 };
    let request = || {
        let Ok(Invocation::Run(mut request)) = parse(&values.replaced(&own.line).ok()?, "", &|| 0) else {
            return None;
        };
        request.load_profile().ok()?;
        Some(request)
    };
    let seconds = |span: &truespd_core::profile::TimeSpan| {
        u64::from(span.warmup_s) + u64::from(span.duration_s) + u64::from(span.cooldown_s)
    };
    let run: u64 = request().map_or(0, |request| request.profile.time_spans.iter().map(seconds).sum());
    Duration::from_secs(run) + Duration::from_secs(own.options.patience) + AFTER_THE_RUN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_waits_for_the_whole_run_and_a_while() {
        let words = |line: &str| line.split(' ').map(str::to_string).collect::<Vec<_>>();
        let longest = |line: &str| longest(&Own::split(&words(line), true).expect("legal")).as_secs();
        assert_eq!(longest("--patience 20 -W5 -d60 -C3 f{rank}"), 68 + 20 + 120);
        assert_eq!(longest("-Xnone.xml"), 10 + 120);
    }
}
