//! `--precondition`: what is written before a test, to what, and what is not.

use std::path::PathBuf;

use crate::support::devices::{Loop, text};
use crate::support::needs::{Need, has};
use crate::support::program::Lab;
use rustix::process::Signal;
use truespd_core::result::{Document, json};

const MIB: usize = 1 << 20;
const BLOCK: usize = 128 << 10;

/// How many whole blocks of the file still hold the pattern that `-c` writes.
fn blocks_as_made(bytes: &[u8]) -> usize {
    bytes.chunks(BLOCK).filter(|block| block.iter().enumerate().all(|(at, byte)| *byte == at as u8)).count()
}

fn document(lab: &Lab) -> Document {
    json::read(&lab.read("r.json")).expect("a document")
}

#[test]
fn the_tested_range_is_written_before_a_test_that_only_reads() {
    let lab = Lab::new();
    lab.run("-c8M -b4K -d1 -W0 f").expect_code(0);
    assert_eq!(blocks_as_made(&lab.read("f")), 64);
    let ran = lab.run("-b4K -r -d1 -W0 -B1M -f5M --precondition 2x --json r.json f").expect_code(0);
    ran.says(&["--precondition writes 'f' 2 x 4 MiB, sequentially", "--precondition: wrote "]);
    let bytes = lab.read("f");
    assert_eq!(bytes.len(), 8 * MIB);
    assert_eq!(blocks_as_made(&bytes[..MIB]), 8, "before the range");
    assert_eq!(blocks_as_made(&bytes[MIB..5 * MIB]), 0, "the range");
    assert_eq!(blocks_as_made(&bytes[5 * MIB..]), 24, "behind the range");
    let document = document(&lab);
    let [done] = &document.preconditioned[..] else { panic!("{:?}", document.preconditioned) };
    assert_eq!((done.path.as_str(), done.range_bytes, done.passes), ("f", 4 << 20, 2));
    assert!(done.written_bytes >= 8 << 20 && done.earlier_bytes == 0, "{done:?}");
    assert!(document.measured().all(|measured| measured.targets().all(|target| target.write.ios == 0)));
    // It is still a test file of ours: nothing asks for --overwrite.
    lab.run("-w100 -b4K -d1 -W0 f").expect_code(0);
}

#[test]
fn a_file_that_is_to_be_made_is_made_first_and_stays() {
    let lab = Lab::new();
    lab.run("-c4M -b4K -d1 -W0 --recreate --precondition 1x f").expect_code(0);
    let bytes = lab.read("f");
    assert_eq!((bytes.len(), blocks_as_made(&bytes)), (4 * MIB, 0));
}

#[test]
fn what_is_not_ours_is_not_written() {
    let Some(lab) = Lab::visible() else { return };
    let before = vec![b'x'; MIB];
    lab.write("foreign", &before);
    let ran = lab.run("-b4K -d1 -W0 --precondition 1x foreign");
    ran.refused(4, &["'foreign' was not made by TrueSpd"]).says_not(&["--precondition writes"]);
    assert!(lab.read("foreign") == before);
    // Neither is one of two.
    lab.run("-c1M -b4K -d1 -W0 ours").expect_code(0);
    lab.run("-b4K -d1 -W0 --precondition 1x ours foreign").refused(4, &["'foreign'"]);
    assert_eq!(blocks_as_made(&lab.read("ours")), 8);
    assert!(lab.read("foreign") == before);
    lab.run("-b4K -d1 -W0 --precondition 1x --overwrite foreign foreign").expect_code(0);
    assert!(!lab.read("foreign").chunks(BLOCK).any(|block| block == &before[..BLOCK]));
}

#[test]
fn what_the_test_itself_cannot_do_is_told_before_anything_is_written() {
    let lab = Lab::new();
    lab.run("-c1M -b4K -d1 -W0 f").expect_code(0);
    for (line, words) in [
        ("-b4K --precondition 1x --engine null f", "this engine does not (--engine)"),
        ("-b4K -f64K --precondition 1x f", "smaller than 128 KiB, a block of --precondition"),
        ("-b2M --precondition 1x f", "too small"),
        ("-b4K --precondition 1x f missing", "missing"),
        ("-b4K --precondition 0x f", "'0x' is not a number of passes"),
        ("-b4K --precondition +1x f", "'+1x' is not a number of passes"),
        ("-b4K --precondition 2 f", "'2' is not a number of passes"),
    ] {
        let ran = lab.run(line);
        assert!(ran.stdout.is_empty() && ran.stderr.contains(words), "{line}: {ran}");
        assert_eq!(blocks_as_made(&lab.read("f")), 8, "{line}");
    }
}

#[test]
fn it_goes_on_where_it_was_stopped() {
    let lab = Lab::new();
    lab.run("-c64M -b4K -d1 -W0 f").expect_code(0);
    let line = "-b4K -d1 -W0 -Su --precondition 100x --json r.json f";
    let running = lab.start(line);
    running.wait_until("it writes", || running_bytes(&lab) > 8 << 20);
    running.signal(Signal::INT);
    running.finish().expect_code(1).says(&["the same command goes on from there within a day"]);
    let state = lab.work().with_file_name("state").join("truespd/preconditioning");
    let notes = || std::fs::read_dir(&state).map_or(0, Iterator::count);
    assert_eq!(notes(), 1);
    // Another number of passes is another work, and begins anew.
    let ran = lab.run("-b4K -d1 -W0 --precondition 1x --json r.json f").expect_code(0);
    ran.says_not(&["it goes on at"]);
    assert_eq!((notes(), document(&lab).preconditioned[0].earlier_bytes), (0, 0));
}

/// The note of how far the only target came.
fn note_of(lab: &Lab) -> Option<PathBuf> {
    let state = lab.work().with_file_name("state").join("truespd/preconditioning");
    let mut notes = std::fs::read_dir(state).ok()?.map(|note| note.expect("an entry").path());
    notes.find(|note| note.extension().is_some_and(|end| end == "json"))
}

/// How far it says that it came; 0 without one.
fn running_bytes(lab: &Lab) -> u64 {
    let text = note_of(lab).and_then(|note| std::fs::read_to_string(note).ok()).unwrap_or_default();
    let number =
        text.split("\"written_bytes\":").nth(1).and_then(|rest| rest.trim_end_matches('}').parse().ok());
    number.unwrap_or(0)
}

/// The same command, with what was left. The note says that nearly all was written, so that the rest is short on any
/// disk.
#[test]
fn the_rest_is_written_by_the_same_command() {
    let lab = Lab::new();
    lab.run("-c64M -b4K -d1 -W0 f").expect_code(0);
    let line = "-b4K -d1 -W0 -Su --precondition 100x --json r.json f";
    let running = lab.start(line);
    running.wait_until("it writes", || running_bytes(&lab) > 8 << 20);
    running.signal(Signal::INT);
    running.finish().expect_code(1);
    let (whole, told) = (100 * (64 << 20), running_bytes(&lab));
    let note = note_of(&lab).expect("it was stopped");
    let text = std::fs::read_to_string(&note).expect("a note");
    let nearly = text
        .replace(&format!("\"written_bytes\":{told}"), &format!("\"written_bytes\":{}", whole - (80 << 20)));
    std::fs::write(&note, nearly).expect("a note");
    lab.run(line).expect_code(0).says(&["it goes on at"]);
    let document = document(&lab);
    let done = &document.preconditioned[0];
    // What was out when it was stopped is written again.
    assert_eq!(done.earlier_bytes, whole - (84 << 20), "{done:?}");
    assert!(done.written_bytes >= 84 << 20 && done.written_bytes < whole, "{done:?}");
    assert_eq!((blocks_as_made(&lab.read("f")), note_of(&lab)), (0, None));
}

#[test]
fn a_device_is_written_past_the_page_cache() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(16 << 20);
    let node = text(&device.node);
    lab.run(&format!("-b4K -d1 -W0 --precondition 1x {node}")).expect_code(0);
    let bytes = std::fs::read(node).expect("root reads it");
    let zero_blocks = bytes.chunks(BLOCK).filter(|block| block.iter().all(|byte| *byte == 0)).count();
    assert_eq!(zero_blocks, 0);
}
