//! A terminal that goes away, limits of file sizes, and programs that are killed: what becomes of the result files.

use std::io::{BufRead, BufReader, Read};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::support::HANG;
use crate::support::killed::as_in_a_terminal;
use crate::support::needs::{Need, has};
use crate::support::program::{INTERRUPTED, Lab, Running};
use crate::support::runner::has_engine;
use crate::support::strict_text::parse;

fn lab_with_file() -> Lab {
    let lab = Lab::new();
    lab.run("-c4M -b4K -d1 -W0 -g1 f").expect_code(0);
    lab
}

/// The measured seconds in a result file.
fn measured_s(lab: &Lab, name: &str) -> f64 {
    let document: serde_json::Value = serde_json::from_slice(&lab.read(name)).expect("a whole document");
    document["result"]["time_spans"][0]["measured"]["test_time_s"].as_f64().expect("something was measured")
}

#[test]
fn a_hangup_ends_a_run_as_sigterm_does() {
    let lab = lab_with_file();
    let line = "-v -P1 -d600 -W0 -b4K -r -g200i --json r.json f";
    let running = Running::new(as_in_a_terminal(&lab.command(line)), line);
    running.wait_for_ios();
    running.signal(Signal::HUP);
    let ran = running.finish().expect_code(0);
    let text = ran.stdout.strip_prefix(INTERRUPTED).unwrap_or_else(|| panic!("{ran}"));
    assert!(parse(text).is_ok_and(|parsed| parsed.results[0].is_some()), "{ran}");
    assert!(measured_s(&lab, "r.json") < 600.0);
}

/// As a lost connection does it: nobody reads the streams any more, and the kernel and then the shell send
/// their signal.
#[test]
fn without_its_terminal_a_run_still_writes_its_results() {
    let lab = lab_with_file();
    let command = lab.command("-v -P1 -d600 -W0 -b4K -r -g200i --json r.json f");
    let mut child = as_in_a_terminal(&command).spawn().expect("it starts");
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process id");
    drop(child.stdout.take());
    let mut stderr = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    while !line.contains("starting measurements") {
        line.clear();
        assert!(stderr.read_line(&mut line).expect("a pipe can be read") > 0, "it ended too early");
    }
    // The dot of the first I/O, without which there is no result.
    stderr.read_exact(&mut [0]).expect("a pipe can be read");
    drop(stderr);
    kill_process(pid, Signal::HUP).expect("the child can be signalled");
    // Later than what counts as the same wish. It may have ended before.
    std::thread::sleep(Duration::from_millis(700));
    let _ = kill_process(pid, Signal::HUP);
    let status = child.wait().expect("the child can be waited for");
    assert_eq!(status.code(), Some(141), "nobody read its standard output");
    assert!(measured_s(&lab, "r.json") < 600.0);
    assert_eq!(lab.names(), ["f", "r.json"]);
}

#[test]
fn what_nohup_ignores_stays_ignored() {
    let lab = lab_with_file();
    let line = "-v -d2 -W0 -b4K -r -g200i f";
    let running = Running::new(lab.command_behind(&["nohup"], line), line);
    running.wait_for_stderr("starting measurements");
    running.signal(Signal::HUP);
    let ran = running.finish().expect_code(0);
    assert_eq!(ran.text().results[0].as_ref().map(|r| r.time_s), Some(2.0), "{ran}");
}

/// Beyond the limit the kernel sends SIGXFSZ, which would end the program with code 153.
#[test]
fn writes_beyond_the_limit_of_file_sizes_fail_in_words() {
    if !has(&[Need::Tool("prlimit")]) {
        return;
    }
    let lab = lab_with_file();
    let limited =
        |limit: &str, line: &str| Running::new(lab.command_behind(&["prlimit", limit], line), line).finish();
    for words in [
        "-o4 -Su",
        "-o4",
        "-o1",
        "--engine io_uring -o4 -Su",
        "--engine libaio -o4 -Su",
        "--engine psync -o1",
        "--engine threads -o4",
    ] {
        let needs_engine = ["io_uring", "libaio"].into_iter().find(|name| words.contains(name));
        if needs_engine.is_some_and(|name| !has_engine(name)) {
            continue;
        }
        let ran = limited("--fsize=1048576", &format!("-d600 -W0 -b64K -w100 -B2M {words} f"));
        assert!(ran.wall < HANG, "{ran}");
        ran.failed(&["error during write error code: 27)", "File too large", "ulimit -f"]);
    }
    // A mapping does not make the file larger, so the limit does not concern it.
    limited("--fsize=1048576", "-d1 -W0 -b64K -w100 -B2M -Sm f").expect_code(0);
    let ran = limited("--fsize=1024", "-d1 -W0 -b4K -r -g100i --json r.json f").expect_code(1);
    let ran = ran.says(&["ERROR: --json r.json: the result could not be written: File too large"]);
    assert!(ran.text().results[0].is_some(), "the text is there all the same\n{ran}");
    limited("--fsize=1048576", "-d1 -W0 -c2M -b4K g").expect_code(3).says(&["File too large", "ulimit -f"]);
    assert_eq!(lab.names(), ["f"], "nothing half-made is left");
}

fn unfinished(lab: &Lab) -> Vec<String> {
    lab.names().into_iter().filter(|name| name.starts_with(".truespd-") && name.ends_with(".part")).collect()
}

#[test]
fn what_a_killed_run_left_is_removed_by_the_next() {
    let lab = lab_with_file();
    let start = |name: &str| {
        let running = lab.start(&format!("-v -P1 -d600 -W0 -b4K -r -g200i --json {name} f"));
        running.wait_for_ios();
        running
    };
    let killed = start("killed.json");
    killed.signal(Signal::KILL);
    killed.finish().expect_signal(9);
    let left = unfinished(&lab);
    assert_eq!(left.len(), 1, "{left:?}");
    let other = start("other.json");
    let now = unfinished(&lab);
    assert!(
        now.len() == 1 && now != left,
        "that of the killed run is gone, that of the next is there: {now:?}"
    );
    // What a run that goes on needs stays.
    lab.run("-d1 -W0 -b4K -r -g100i --json third.json f").expect_code(0);
    assert_eq!(unfinished(&lab), now);
    other.signal(Signal::INT);
    other.finish().expect_code(0);
    assert_eq!(lab.names(), ["f", "other.json", "third.json"]);
}
