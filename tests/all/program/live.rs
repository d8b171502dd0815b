//! `--live` and `truespd watch`: a run on a full screen, and how the terminal is given back.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::killed::{run, truespd};
use crate::support::program::Lab;
use crate::support::pty::{Ended, On, OnTerminal};

/// A run that cannot be over before something is done to it.
const LONG: &str = "run --live -b4K -r -o4 -W0 -d600 -L --engine=null f";
const SHORT: &str = "run --live -b4K -r -o4 -W0 -d3 -L --engine=null f";

fn lab_with_file() -> Lab {
    let lab = Lab::new();
    lab.run("-c1M -b4K -d1 -W0 -g1 f").expect_code(0);
    lab
}

fn start(lab: &Lab, line: &str) -> OnTerminal {
    let terminal = OnTerminal::start(truespd(lab, line), 80, On::Stderr);
    terminal.wait_until("a full screen with figures", |screen| {
        screen.is_taken() && screen.text().contains("IOPS")
    });
    assert!(!terminal.has_echo(), "keys would be typed into the picture");
    terminal
}

/// The terminal is as it was: nothing of the picture, the cursor, keys that are shown.
#[track_caller]
fn assert_given_back(terminal: &OnTerminal) {
    terminal.wait_until("the screen given back", |screen| !screen.is_taken() && screen.has_cursor);
    let limit = Instant::now() + crate::support::HANG;
    while !terminal.has_echo() {
        assert!(Instant::now() < limit, "keys are not shown");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[track_caller]
fn assert_clean(ended: &Ended) {
    let text = ended.screen.text();
    assert!(!ended.screen.is_taken() && ended.screen.has_cursor, "{text}");
    // A row of the picture; a note may speak of I/Os in flight, too.
    let is_drawn = text.lines().any(|row| row.starts_with("I/Os in flight"));
    assert!(!is_drawn && !text.contains("Ctrl+C ends"), "{text}");
}

fn signal(process: u32, signal: Signal) {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw).expect("a process");
    kill_process(pid, signal).expect("it runs");
}

/// The process that draws for this one.
fn view_of(run: u32) -> u32 {
    let children = fs::read_to_string(format!("/proc/{run}/task/{run}/children")).expect("it runs");
    children.split_whitespace().next().expect("it has a child").parse().expect("a number")
}

#[test]
fn a_run_fills_the_screen_and_gives_it_back_before_the_result() {
    let lab = lab_with_file();
    let mut terminal = start(&lab, LONG);
    terminal.wait_until("measuring", |screen| {
        let text = screen.text();
        [
            "measuring, 0:0",
            "throughput",
            "mean latency",
            "I/Os in flight",
            "processors busy",
            "Ctrl+C ends the run",
        ]
        .iter()
        .all(|words| text.contains(words))
    });
    terminal.type_in("\u{3}");
    let ended = terminal.finish();
    assert!(ended.status.success(), "{}", ended.screen.text());
    assert_clean(&ended);
    assert!(ended.stdout.contains("Total IO") && ended.stdout.contains("verdict: "), "{}", ended.stdout);
    assert!(!ended.stdout.contains('\u{1b}'), "the picture is on standard error only");
}

/// Words for standard error wait until the screen is given back, and none is lost.
#[test]
fn words_beside_the_picture_come_after_it() {
    let lab = lab_with_file();
    let line = SHORT.replace("-L", "-L -v");
    let ended = start(&lab, &line).finish();
    assert_clean(&ended);
    let text = ended.screen.text();
    // Lines of -v come while the screen is taken.
    assert!(text.contains("starting measurements") && text.contains("starting cool down"), "{text}");
}

#[test]
fn signals_end_the_run_in_order() {
    for wish in [Signal::INT, Signal::TERM] {
        let lab = lab_with_file();
        let mut terminal = start(&lab, LONG);
        match wish {
            // To the view as well, as a terminal does it.
            Signal::INT => terminal.type_in("\u{3}"),
            wish => signal(terminal.id(), wish),
        }
        assert_given_back(&terminal);
        let ended = terminal.finish();
        assert!(ended.status.success(), "{wish:?}: {}", ended.screen.text());
        assert_clean(&ended);
        assert!(ended.stdout.contains("*** Interrupted by Ctrl-C."), "{}", ended.stdout);
        assert!(ended.stdout.contains("Total IO"), "{}", ended.stdout);
    }
}

#[test]
fn a_killed_run_leaves_the_terminal_as_it_was() {
    let lab = lab_with_file();
    let terminal = start(&lab, LONG);
    signal(terminal.id(), Signal::KILL);
    assert_given_back(&terminal);
    assert_clean(&terminal.finish());
}

#[test]
fn a_killed_view_does_not_end_the_run() {
    let lab = lab_with_file();
    let terminal = start(&lab, SHORT);
    signal(view_of(terminal.id()), Signal::KILL);
    assert_given_back(&terminal);
    let ended = terminal.finish();
    assert!(ended.status.success(), "{}", ended.screen.text());
    assert_clean(&ended);
    // A view that is killed at the very end is not missed.
    assert!(ended.stdout.contains("Total IO"), "{}", ended.stdout);
}

#[test]
fn a_stopped_run_lends_the_terminal() {
    let lab = lab_with_file();
    let mut terminal = start(&lab, LONG);
    signal(terminal.id(), Signal::STOP);
    assert_given_back(&terminal);
    signal(terminal.id(), Signal::CONT);
    terminal
        .wait_until("the screen taken again", |screen| screen.is_taken() && screen.text().contains("IOPS"));
    terminal.type_in("\u{3}");
    let ended = terminal.finish();
    assert!(ended.status.success(), "{}", ended.screen.text());
    assert_clean(&ended);
}

/// As a person does it, in a shell with jobs.
#[test]
fn ctrl_z_and_fg() {
    let lab = lab_with_file();
    let run = truespd(&lab, LONG);
    let line: Vec<String> = std::iter::once(run.get_program())
        .chain(run.get_args())
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let mut shell = Command::new("bash");
    shell.args([
        "--norc",
        "-mc",
        &format!("{}; echo it waits >&2; fg >/dev/null; echo it is over >&2", line.join(" ")),
    ]);
    shell.current_dir(lab.work());
    shell.envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut terminal = OnTerminal::start(shell, 80, On::Stderr);
    terminal.wait_until("a full screen", |screen| screen.is_taken() && screen.text().contains("IOPS"));
    terminal.type_in("\u{1a}");
    // The shell's words come after the screen was given back: they would be lost in the picture.
    terminal.wait_until("the shell's words", |screen| {
        screen.pictures == 2 || (!screen.is_taken() && screen.text().contains("it waits"))
    });
    terminal.wait_until("the screen taken again", |screen| screen.is_taken() && screen.pictures == 2);
    terminal.type_in("\u{3}");
    let ended = terminal.finish();
    let text = ended.screen.text();
    assert!(text.contains("it waits") && text.contains("it is over"), "{text}");
    assert_clean(&ended);
}

#[test]
fn a_suite_shows_its_steps_and_results() {
    let lab = Lab::new();
    let line = "mark --live --size 16M --loops 1 --profile demo --only read .";
    let terminal = OnTerminal::start(truespd(&lab, line), 80, On::Stderr);
    terminal.wait_until("a step", |screen| {
        screen.is_taken() && screen.text().contains("SEQ1M-Q8T1 read") && screen.text().contains("IOPS")
    });
    let ended = terminal.finish();
    assert!(ended.status.success(), "{}", ended.screen.text());
    assert_clean(&ended);
    assert!(ended.stdout.contains("SEQ1M"), "{}", ended.stdout);
    // A refusal comes after the view has begun, and is seen.
    let ended = OnTerminal::start(truespd(&lab, "mark --live --size 16M missing"), 80, On::Stderr).finish();
    assert_eq!(ended.status.code(), Some(3), "{}", ended.screen.text());
    assert!(ended.screen.text().contains("'missing'"), "{}", ended.screen.text());
}

/// The file of the program is gone, as after an update.
#[test]
fn a_suite_without_its_view_shows_its_steps_as_lines() {
    let lab = Lab::new();
    let suite = truespd(&lab, "mark --live --size 16M --loops 1 --profile demo --only read .");
    let mut shell = Command::new("bash");
    let script = "cp \"$1\" ../gone && exec 9<../gone && rm ../gone && shift && exec /proc/self/fd/9 \"$@\"";
    shell.args(["--norc", "-c", script, "bash"]).arg(suite.get_program()).args(suite.get_args());
    shell.current_dir(lab.work());
    shell.envs(suite.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ended = OnTerminal::start(shell, 80, On::Stderr).finish();
    let text = ended.screen.text();
    assert!(ended.status.success(), "{text}");
    assert!(text.contains("the live view could not be started"), "{text}");
    assert_eq!(ended.screen.pictures, 0, "{text}");
    let has_step = ended.screen.drawn.iter().any(|row| row.contains("SEQ1M-Q8T1 read"));
    assert!(has_step, "{:?}", ended.screen.drawn);
}

#[test]
fn lines_where_there_is_no_terminal() {
    let lab = lab_with_file();
    let ran = run(&lab, "run --live -b4K -W0 -d1 --engine=null f").expect_code(0);
    assert!(!ran.stderr.contains('\u{1b}') && ran.stdout.contains("Total IO"), "{ran}");
    let mut command = truespd(&lab, "run --live -b4K -W0 -d1 --engine=null f");
    command.env("TERM", "dumb");
    let (out, err) =
        (fs::File::create(lab.path("out")).expect("new"), fs::File::create(lab.path("err")).expect("new"));
    let status = command.stdout(out).stderr(err).status().expect("it starts");
    assert!(status.success() && !lab.read("err").contains(&0x1b));
}

#[test]
fn diskspd_has_no_view() {
    let lab = lab_with_file();
    lab.run("-d1 -W0 --live f").refused(3, &["--live", "truespd run"]);
}

#[test]
fn a_file_of_events_is_watched_while_it_grows() {
    let lab = lab_with_file();
    let events = lab.path("events");
    run(&lab, "run -b4K -r -o4 -W0 -d3 -L --engine=null --events events f").expect_code(0);
    let text = fs::read_to_string(&events).expect("events");
    // Up to the middle of a line.
    let (first, second) = text.split_at(text.rfind("\"event\":\"result\"").expect("a result"));
    fs::write(&events, first).expect("ours");
    let terminal = OnTerminal::start(truespd(&lab, "watch events"), 80, On::Both);
    terminal.wait_until("figures", |screen| screen.is_taken() && screen.text().contains("IOPS"));
    let mut file = OpenOptions::new().append(true).open(&events).expect("ours");
    file.write_all(second.as_bytes()).expect("ours");
    let ended = terminal.finish();
    assert!(ended.status.success(), "{}", ended.screen.text());
    assert_clean(&ended);
    assert!(ended.screen.text().contains("result: "), "what came of it stays: {}", ended.screen.text());
    // As lines.
    let ran = run(&lab, "watch events").expect_code(0);
    for words in ["run -b4K", "measuring, 0:0", " IOPS", "result: ", "over"] {
        assert!(ran.stdout.contains(words), "{words}\n{ran}");
    }
}

#[test]
fn what_cannot_be_watched_is_refused() {
    let lab = lab_with_file();
    lab.write("foreign", b"{\"time\":\"2026-11-23T12:00:00Z\",\"event\":\"end\"}\n{\"event\":1}\n");
    lab.write("text", b"Total IO\n");
    fs::create_dir(lab.path("folder")).expect("new");
    let hint = "--events";
    run(&lab, "watch missing").refused(3, &["'missing' cannot be read", hint]);
    run(&lab, "watch folder").refused(3, &["'folder' cannot be read", hint]);
    run(&lab, "watch text").refused(3, &["'text': line 1 is not one that --events writes", hint]);
    let ran = run(&lab, "watch foreign").expect_code(3);
    assert!(ran.stderr.contains("line 2 is not one"), "{ran}");
    run(&lab, "watch -").refused(3, &["holds nothing", hint]);
    // On a screen as well, and it is given back first.
    let ended = OnTerminal::start(truespd(&lab, "watch text"), 80, On::Both).finish();
    assert_clean(&ended);
    assert!(ended.screen.text().contains("line 1 is not one"), "{}", ended.screen.text());
}

#[test]
fn a_file_of_a_killed_run_is_not_followed_for_ever() {
    let lab = lab_with_file();
    let running = lab.start("-b4K -d600 -W0 --engine=null --events events f");
    running.wait_until("it tells its progress", || {
        fs::read_to_string(lab.path("events")).is_ok_and(|text| text.contains("\"progress\""))
    });
    running.signal(Signal::KILL);
    drop(running.finish());
    let ran = run(&lab, "watch events").expect_code(1);
    assert!(ran.stdout.contains("measuring") && ran.stderr.contains("it was killed"), "{ran}");
}
