//! Instructions by callgrind: one run of this program under valgrind, which dumps its counts before and after every
//! load and part. Counts are of the program's own instructions, all libraries included, none of the kernel's.

use std::ffi::{OsStr, OsString};
use std::hint::black_box;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use super::loads::{Case, piece_turn};
use super::parts::pieces;
use truespd_core::measure::clock::MachineClock;
use truespd_platform::fault::{Failure, FailureKind};
use truespd_platform::sys::error::system_text;

/// Calls of a part that are counted.
const CALLS: u32 = 20_000;
/// I/Os of a load that are enough for a figure: what a turn takes beside them is little then.
const IOS_MIN: u64 = 500;

/// Where callgrind dumps what it has counted and begins anew. Found by its name, which a stripped program lacks.
#[inline(never)]
fn callgrind_mark() {
    black_box(());
}

fn mark() -> Option<u64> {
    callgrind_mark();
    None
}

/// Under callgrind: every load of a single thread and every part for `length_ns`, with a mark before and after, and one
/// line with the number of I/Os or calls for each. A load that did too few I/Os has its line with 0 and is repeated.
///
/// # Errors
/// A thread could not be started, a load did no I/O however often, or the counts could not be written.
pub fn count_here(cases: &[Case], length_ns: u64, out: &mut dyn Write) -> Result<(), Failure> {
    let clock = MachineClock::start();
    for case in cases.iter().filter(|case| case.bare.threads() == 1) {
        let turn = case.bare.turn_with(IOS_MIN, &clock, length_ns, &mark, &mut || say(out, 0))?;
        if turn.ios == 0 {
            return Err(failed(format!("{} did no I/O", case.words)));
        }
        say(out, turn.ios)?;
    }
    for piece in &mut pieces(&clock) {
        say(out, piece_turn(piece, CALLS, &mark).ios)?;
    }
    Ok(())
}

fn say(out: &mut dyn Write, amount: u64) -> Result<(), Failure> {
    writeln!(out, "{amount}").map_err(|error| Failure::new(FailureKind::Output, system_text(&error)))
}

fn failed(words: impl Into<String>) -> Failure {
    Failure::new(FailureKind::Figure, words)
}

/// Runs `command` under callgrind and returns instructions per I/O or call, in the order of [`count_here`].
///
/// # Errors
/// Why there are none.
pub(super) fn count(command: &[OsString]) -> Result<Vec<f64>, Failure> {
    // In memory if possible, so that no disk is disturbed.
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let folder = folder.map_err(|e| {
        failed("no directory could be created for callgrind's counts").because(system_text(&e))
    })?;
    let dumps = folder.path().join("counts");
    let mut file = OsString::from("--callgrind-out-file=");
    file.push(&dumps);
    let mut valgrind = Command::new("valgrind");
    valgrind.args(
        ["--tool=callgrind", "--dump-before=*callgrind_mark*", "--dump-line=no", "--quiet"].map(OsStr::new),
    );
    valgrind.arg(&file).args(command).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ran = valgrind.output().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => failed("callgrind (package valgrind) is not installed"),
        _ => failed("valgrind could not be started").because(system_text(&error)),
    })?;
    if !ran.status.success() {
        let words = String::from_utf8_lossy(&ran.stderr);
        let last = words.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        return Err(failed(format!("callgrind failed ({})", ran.status)).because(last));
    }
    let amounts = String::from_utf8_lossy(&ran.stdout);
    let amounts: Vec<u64> = amounts.lines().filter_map(|line| line.parse().ok()).collect();
    // Dumps are numbered from 1; the odd ones hold what lies between two of what is counted.
    let counts = (1..).zip(&amounts).filter(|(_, amount)| **amount > 0).map(|(number, &amount)| {
        let counted = total(&dumps, 2 * number)?;
        Some(counted as f64 / amount as f64)
    });
    let counts: Option<Vec<f64>> = counts.collect();
    counts.filter(|counts| !counts.is_empty()).ok_or_else(|| {
        failed("callgrind did not find the function that marks what to count (the program may be stripped)")
    })
}

fn total(dumps: &Path, number: usize) -> Option<u64> {
    let mut path = dumps.as_os_str().to_owned();
    path.push(format!(".{number}"));
    total_of(&std::fs::read_to_string(path).ok()?)
}

fn total_of(dump: &str) -> Option<u64> {
    dump.lines().rev().find_map(|line| line.strip_prefix("totals: "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dump_tells_its_total() {
        let dump =
            "# callgrind format\nversion: 1\nevents: Ir\nsummary: 17\n\nfn=(1) main\n0 17\n\ntotals: 4711\n";
        assert_eq!(total_of(dump), Some(4711));
        assert_eq!(total_of("events: Ir\n"), None);
    }

    #[test]
    fn a_program_that_fails_or_says_nothing_gives_no_counts() {
        let of = |words: &[&str]| count(&words.iter().map(OsString::from).collect::<Vec<_>>());
        // With valgrind installed or not, never a figure.
        for words in [&["/nonexistent/program"][..], &["true"], &["echo", "5"]] {
            let why = of(words).expect_err("nothing was counted").to_string();
            assert!(why.contains("callgrind") || why.contains("valgrind"), "{why}");
        }
    }
}
