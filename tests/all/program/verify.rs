//! `--verify` and `truespd verify`: what was written is found, whatever is wrong with it is named, and nothing is
//! called wrong that is not.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

use crate::support::killed::truespd;
use crate::support::program::{Lab, Ran, Running};
use rustix::process::Signal;
use serde_json::Value;
use truespd_core::result::{Document, json};
use truespd_core::verify::sector::{Content, Sector, read, stamp};
use truespd_platform::text::grouped;

const BLOCK: usize = 4096;

fn verify(lab: &Lab, rest: &str) -> Ran {
    let line = format!("verify {rest}");
    Running::new(truespd(lab, &line), &line).finish()
}

fn answer(ran: &Ran) -> Value {
    let all: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(all["format"], "truespd-verify");
    all["verify"].clone()
}

fn count(answer: &Value, fault: &str) -> u64 {
    let counts = answer["wrong"].as_array().expect("counts");
    let of = counts.iter().find(|count| count["fault"] == fault);
    of.map_or(0, |count| count["blocks"].as_u64().expect("a number"))
}

/// Changes the stamps of a block, with right checksums.
fn restamp(block: &mut [u8], sectors: usize, change: impl Fn(&mut truespd_core::verify::Stamp)) {
    for sector in block.chunks_mut(512).take(sectors) {
        let sector: &mut Sector = sector.try_into().expect("a sector");
        let Content::Stamped(mut with) = read(sector, 0) else { panic!("not stamped") };
        change(&mut with);
        stamp(sector, &with);
    }
}

fn edit(path: &Path, number: u64, change: impl FnOnce(&mut [u8])) {
    let file = OpenOptions::new().read(true).write(true).open(path).expect("a file");
    let mut block = vec![0; BLOCK];
    file.read_exact_at(&mut block, number * BLOCK as u64).expect("a block");
    change(&mut block);
    file.write_all_at(&block, number * BLOCK as u64).expect("room");
}

#[test]
fn everything_that_was_written_is_there() {
    let lab = Lab::new();
    for (line, block_bytes) in [
        ("-c16M -b4K -r -w50 -o32 -t2 -Su -d1 -W0", 4096),
        ("-c16M -b64K -s -w100 -o4 -t2 -d1 -W0 -Zr", 65_536),
        ("-c16M --mix 4K:50,12K:50 -r -w70 -o8 -d1 -W0 -Su", 4096),
        ("-c16M -b4K -r -w100 -o4 -Sh -d1 -W0 --zipf 1.1 -B1M", 4096),
        ("-c16M -b4K -r -w60 -o4 -d1 -W0 --flush-every 16", 4096),
        ("-c16M -b8K -r4K -w60 -o16 -F3 -d1 -W0 --engine threads", 4096),
        ("-c64K -b4K -s -w60 -o16 -d1 -W0 -g400 --engine psync", 4096),
        ("-c16K -b4K -r -w60 -o32 -t2 -d1 -W0 -Su", 4096),
    ] {
        let ran = lab.run(&format!("{line} --verify --json r.json f")).expect_code(0);
        let document: Document = json::read(&lab.read("r.json")).expect("a document");
        let measured = document.measured().next().expect("a result");
        let [done] = &measured.verified[..] else { panic!("{line}: {ran}") };
        assert_eq!((done.wrong_blocks, done.block_bytes, done.is_flushed), (0, block_bytes, true), "{line}");
        assert!(
            done.written_blocks > 0 && (line.contains("-w100") || done.checked_blocks > 0),
            "{line}: {done:?}"
        );
        assert!(ran.stdout.contains("verifying: every sector is stamped and checked"), "{ran}");
        let found = answer(&verify(&lab, "f --json").expect_code(0));
        let names = ["written_blocks", "flushed_blocks", "newest_blocks", "older_blocks"];
        let [written, flushed, newest, older] = names.map(|name| found[name].as_u64().expect("a number"));
        // What was under way at the end may have been cancelled.
        assert!(older <= 200 && written == newest + older && written - flushed <= older, "{line}: {found}");
        assert!(newest > 0, "{line}: {found}");
        assert_eq!(
            (&found["run_ended"], found["ranges"].as_array().map(Vec::len)),
            (&Value::from(true), Some(0))
        );
        std::fs::remove_file(lab.path("f")).expect("it is there");
    }
}

/// Up to a thousand of each at places that a seed chooses: each is found and named, and nothing else.
#[test]
fn planted_faults_are_found_and_named() {
    let Some(lab) = Lab::on_disk() else { return };
    // This engine leaves no write under way at the end, which might be there or not.
    lab.run("-c64M -b4K -d1 -W0 -g1 f").expect_code(0);
    let running = lab.start("-b4K -s -w100 -d600 -W0 --engine psync --verify f");
    running.wait_until("thousands of blocks are written", || running.bytes_written() > 40 << 20);
    running.signal(Signal::INT);
    running.finish().expect_code(0);
    let whole = answer(&verify(&lab, "f --json").expect_code(0));
    let written = whole["written_blocks"].as_u64().expect("a number");
    // Two of them are exchanged.
    let each = written.min(9_000) / 18 * 2;
    assert!(each >= 900, "{written} blocks were written");
    let path = lab.path("f");
    let mut places: Vec<u64> = (0..each * 9).collect();
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    for last in (1..places.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        places.swap(last, (state >> 33) as usize % (last + 1));
    }
    let mut kinds = places.chunks(each as usize);
    let mut next = || kinds.next().expect("enough places").to_vec();
    for place in next() {
        edit(&path, place, |block| restamp(block, 8, |stamp| stamp.generation -= 1));
    }
    for place in next() {
        edit(&path, place, |block| block.fill(0));
    }
    let copied = next();
    for pair in copied.chunks(2) {
        let mut other = vec![0; BLOCK];
        edit(&path, pair[0], |block| other.copy_from_slice(block));
        edit(&path, pair[1], |block| block.swap_with_slice(&mut other));
        edit(&path, pair[0], |block| block.copy_from_slice(&other));
    }
    for place in next() {
        edit(&path, place, |block| restamp(block, 3, |stamp| stamp.generation += 1));
    }
    for place in next() {
        edit(&path, place, |block| block[(place as usize * 7) % BLOCK] ^= 1 << (place % 8));
    }
    for place in next() {
        edit(&path, place, |block| restamp(block, 8, |stamp| stamp.run ^= 1));
    }
    for place in next() {
        edit(&path, place, |block| restamp(block, 8, |stamp| stamp.target ^= 1));
    }
    let found = answer(&verify(&lab, "f --json").expect_code(1));
    let counts =
        ["missing", "misplaced", "torn", "damaged", "foreign", "unread"].map(|fault| count(&found, fault));
    assert_eq!(counts, [2 * each, each, each, each, 2 * each, 0], "{}", found["wrong"]);
    assert_eq!(found["newest_blocks"], written - 7 * each);
    let text = verify(&lab, "f").expect_code(1);
    let [all, missing, misplaced] = [7 * each, 2 * each, each].map(grouped);
    let says = format!("'f': {all} blocks are WRONG: {missing} missing, {misplaced} misplaced");
    assert!(text.stdout.starts_with(&says), "{text}");
    assert!(text.stdout.contains("more places; --json has them"), "{text}");
}

/// The map of a test that was killed says what it had told by then.
#[test]
fn a_test_that_was_killed_can_be_read_back() {
    let Some(lab) = Lab::on_disk() else { return };
    lab.run("-c32M -b4K -w100 -d1 -W0 f").expect_code(0);
    let running = lab.start("-b4K -r -w50 -o32 -t2 -Su -d600 -W0 --verify f");
    running.wait_until("it writes", || running.bytes_written() > 4 << 20);
    running.signal(Signal::KILL);
    running.finish().expect_signal(Signal::KILL.as_raw());
    let ran = verify(&lab, "f --json").expect_code(0);
    let found = answer(&ran);
    assert_eq!(found["run_ended"], false);
    // Nobody flushed: an acknowledged write may be there or not, and here it is.
    assert_eq!(found["flushed_blocks"], 0);
    assert!(found["newest_blocks"].as_u64() > Some(100), "{found}");
}

/// While it writes, what was read may be older than what the map says a moment later.
#[test]
fn a_test_that_runs_is_neither_read_back_nor_joined() {
    let Some(lab) = Lab::on_disk() else { return };
    lab.run("-c4M -b4K -w100 -d1 -W0 f").expect_code(0);
    let running = lab.start("-b4K -r -w50 -Su -d600 -W0 --verify f");
    // More than it writes before the measured time: the map, and its journal.
    running.wait_until("it writes", || running.bytes_written() > 1 << 20);
    verify(&lab, "f").refused(3, &["still runs; wait for its end"]);
    lab.run("-b4K -w50 -d1 -W0 --verify f").refused(3, &["another test with --verify writes 'f'"]);
    running.signal(Signal::INT);
    running.finish().expect_code(0);
    verify(&lab, "f").expect_code(0);
}

/// What another program does to the target meanwhile is found by the reads of the test.
#[test]
fn a_block_that_changes_during_the_test_makes_the_result_invalid() {
    let Some(lab) = Lab::on_disk() else { return };
    lab.run("-c4M -b4K -w100 -d1 -W0 f").expect_code(0);
    let running = lab.start("-b4K -r -w50 -o8 -Su -d600 -W0 --verify --json r.json f");
    running.wait_until("it writes", || running.bytes_written() > 1 << 20);
    // Past the page cache: a flush fails where direct writes of the test meet pages of another program.
    let mut dd = Command::new("dd");
    dd.args(["if=/dev/zero", "bs=1M", "count=1", "seek=1", "oflag=direct", "conv=notrunc", "status=none"]);
    assert!(dd.arg(format!("of={}", lab.path("f").display())).status().expect("dd").success());
    let before = running.bytes_written();
    running.wait_until("it goes on", || running.bytes_written() > before + (2 << 20));
    running.signal(Signal::INT);
    running.finish().expect_code(0);
    let document: Document = json::read(&lab.read("r.json")).expect("a document");
    let measured = document.measured().next().expect("a result");
    let done = &measured.verified[0];
    assert!(done.wrong_blocks > 0 && !done.wrong.is_empty(), "{done:?}");
    let findings = &document.verdict.as_ref().expect("a verdict").findings;
    assert!(findings.iter().any(|finding| finding.rule == "verify-failed"), "{findings:?}");
}

#[test]
fn what_cannot_be_verified_is_refused_before_anything_is_written() {
    let lab = Lab::new();
    lab.run("-c1M -b4K -w100 -d1 -W0 f").expect_code(0);
    lab.write("precious", b"mine");
    let before = lab.read("f");
    for (line, words) in [
        ("-b4K f", "this test writes nothing: add -w"),
        ("-b4K -w50 --trim 5 f", "--verify and --trim exclude each other"),
        ("-b4K -w50 -x f", "--verify and -x (completion routines) exclude"),
        ("-b4K -w50 -Sm f", "--verify and memory mapped I/O (-Sm) exclude each other"),
        ("-b4K -w50 -Z1M f", "--verify and -Z<size> exclude each other"),
        ("-b1000 -w50 f", "is no multiple of that"),
        ("-b4K -w50 f f", "'f' is named twice"),
        ("-b4K -w50 --engine null f", "this engine writes nothing"),
        (
            "-b4K -w50 --verify-map precious f",
            "'precious' exists and is not a map of --verify; it was not touched",
        ),
        ("-b4K -w50 --verify-map none/map f", "the folder of 'none/map' (--verify-map) does not exist"),
        ("-b4K -w50 -c1M --verify-map map f g", "and this test verifies several"),
        ("-b4K -w50 -c1M --verify-map new new", "--verify-map new: this file is also the target 'new'"),
        ("-b4K -w50 -Sh -c1M --verify-log new new", "--verify-log new: this file is also the target 'new'"),
        ("-b4K -w50 --verify-map x --json x f", "--json x: this file is also the file of --verify-map"),
        ("-b4K -w50 -Sh --verify-map x --verify-log x f", "--verify-log x: this file is also the file of"),
    ] {
        lab.run(&format!("--verify -d1 -W0 {line}")).refused(3, &[words]);
        assert!(lab.read("f") == before, "{line}");
    }
    assert_eq!((lab.read("precious"), lab.names()), (b"mine".to_vec(), vec!["f".into(), "precious".into()]));
}

#[test]
fn a_map_that_does_not_fit_is_refused() {
    let lab = Lab::new();
    verify(&lab, "f").refused(3, &["could not open the map"]);
    lab.run("-c1M -b4K -w100 -d1 -W0 g").expect_code(0);
    verify(&lab, "g").refused(3, &["a test makes it: diskspd --verify"]);
    lab.run("-c1M -b4K -w100 -d1 -W0 --verify --verify-map map f").expect_code(0);
    assert!(
        verify(&lab, "f --map map")
            .expect_code(0)
            .stdout
            .starts_with("'f': all 256 acknowledged blocks hold what they must")
    );
    verify(&lab, "f --map .").refused(3, &["'.' is not a file; give the file that the test wrote"]);
    verify(&lab, "f --log /dev/zero").refused(3, &["'/dev/zero' is not a file"]);
    verify(&lab, "g --map map").refused(3, &["the map 'map' belongs to"]);
    let whole = lab.read("map");
    let mut damaged = whole.clone();
    damaged[70_000] ^= 1;
    lab.write("map", &damaged);
    verify(&lab, "f --map map").refused(3, &["is damaged at byte 65536: its checksum is wrong"]);
    lab.write("map", &whole);
    fs::copy(lab.path("f"), lab.path("copy")).expect("a copy");
    fs::rename(lab.path("copy"), lab.path("f")).expect("another file has the name");
    verify(&lab, "f --map map").refused(3, &["'f' is another file than the one that the test wrote"]);
    OpenOptions::new()
        .write(true)
        .open(lab.path("f"))
        .and_then(|file| file.set_len(512 << 10))
        .expect("shorter");
    verify(&lab, "f --map map").refused(3, &["has 524288 bytes, and had 1048576"]);
}
