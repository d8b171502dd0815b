//! What a suite leaves when it is killed: nothing. The caretaker as a process.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::clean::note_folder;
use truespd::runner::undo::Journal;
use truespd_platform::machine::roots::Roots;

fn journal(place: &Path) -> (Journal, std::path::PathBuf) {
    let made = place.join("truespd-made");
    fs::create_dir(&made).expect("a folder");
    fs::write(made.join("data"), "x").expect("a file");
    let mut journal = Journal::begin(&place.join("undo"), Roots::default()).expect("a journal");
    note_folder(&mut journal, &made);
    (journal, made)
}

fn caretaker(journal: &Path) -> Child {
    let mut child = Command::new(env!("CARGO_BIN_EXE_truespd"))
        .arg("caretaker")
        .arg(journal)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("it speaks");
    assert_eq!(line, "ready\n");
    child
}

fn wait_until_gone(path: &Path) {
    let since = Instant::now();
    while path.exists() {
        assert!(since.elapsed() < crate::support::HANG, "{} is still there", path.display());
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn the_caretaker_cleans_up_when_its_program_is_gone() {
    let place = tempfile::tempdir().expect("a place");
    let (journal, made) = journal(place.path());
    let mut child = caretaker(journal.path());
    // Signals to the group of the killed program do not reach or end it.
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("sent");
    std::thread::sleep(Duration::from_millis(50));
    assert!(made.exists(), "its program lives");
    drop(child.stdin.take());
    std::thread::sleep(Duration::from_millis(50));
    assert!(made.exists(), "it still holds the journal");
    drop(journal);
    wait_until_gone(&made);
    let out = child.wait_with_output().expect("ends");
    assert!(out.status.success());
    assert!(String::from_utf8_lossy(&out.stderr).contains("removed '"), "{out:?}");
    assert_eq!(fs::read_dir(place.path().join("undo")).expect("is there").count(), 0);
}

#[test]
fn a_caretaker_that_is_sent_home_touches_nothing() {
    let place = tempfile::tempdir().expect("a place");
    let (journal, made) = journal(place.path());
    let mut child = caretaker(journal.path());
    child.stdin.take().expect("piped").write_all(b"done\n").expect("it listens");
    let out = child.wait_with_output().expect("ends");
    assert!(out.status.success() && out.stderr.is_empty(), "{out:?}");
    assert!(made.exists());
    journal.undo();
    assert!(!made.exists());
}
