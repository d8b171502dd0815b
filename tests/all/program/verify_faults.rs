//! `--verify` and `truespd verify` on a disk that lies: each fault is found and has its name, and nothing else is called
//! wrong. The disk counts for itself what it answers wrongly.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::program::verify_log::{path_with_ssh, with_ssh};
use crate::support::faulty::{BLOCK, Disk, Kind, PLANTED};
use crate::support::gate::Gate;
use crate::support::killed::truespd;
use crate::support::needs::{Need, has};
use crate::support::program::{Lab, Ran, Running};
use rustix::process::Signal;
use serde_json::Value;

/// I/Os of 16 blocks: the target begins behind the first one.
const WORDS: &str = "-B4K -b64K -W0 -d600 -Su --verify";

/// A disk with its two files, and a place to run.
struct Bench {
    disk: Arc<Mutex<Disk>>,
    gates: [Gate; 2],
    lab: Lab,
}

impl Bench {
    /// None where there is no FUSE.
    fn new(disk: Disk) -> Option<Self> {
        if !has(&[Need::Fuse, Need::Tool("bindfs")]) {
            return None;
        }
        let disk = Arc::new(Mutex::new(disk));
        let gates = [0, 1].map(|file| Gate::of_disk(&disk, file).expect("a file of the disk"));
        Some(Bench { disk, gates, lab: Lab::new() })
    }

    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path(&self, file: usize) -> String {
        self.gates[file].path().display().to_string()
    }

    /// Starts a verified test of these files.
    fn start(&self, words: &str, files: &[usize]) -> Running {
        let paths: Vec<String> = files.iter().map(|file| self.path(*file)).collect();
        let allowed: Vec<String> = paths.iter().map(|path| format!("--overwrite {path}")).collect();
        self.lab.start(&format!("{WORDS} {words} {} {}", allowed.join(" "), paths.join(" ")))
    }

    /// Writes or reads back a file with fio: the files and blocks that it calls wrong.
    fn fio(&self, file: usize, words: &str) -> BTreeSet<(usize, usize)> {
        let line = format!(
            "--name=job --filename={} --size=8M --offset=4k --rw=write --bs=4k --direct=1 --ioengine=psync \
             --verify=crc32c --verify_state_save=0 --continue_on_error=verify {words}",
            self.path(file)
        );
        let mut fio = Command::new("fio");
        fio.args(line.split_whitespace()).current_dir(self.lab.work());
        let said = fio.output().expect("fio starts").stderr;
        let mut found = BTreeSet::new();
        for line in String::from_utf8_lossy(&said).lines() {
            let place = line.rsplit_once(" offset ").and_then(|(_, rest)| rest.split(',').next());
            let place: Option<usize> = place.and_then(|place| place.parse().ok());
            found.extend(place.map(|place| (file, place / BLOCK)));
        }
        found
    }

    /// How many of these blocks were written over by others.
    fn victims(&self, found: &BTreeSet<(usize, usize)>, kind: Kind) -> usize {
        let Some((_, victim)) = kind.victim() else { return 0 };
        let words = found.iter().map(|&(file, block)| self.disk().word(file, block));
        words.filter(|word| *word == Some(victim)).count()
    }

    /// Reads a file back: what it says, and the blocks of each fault.
    fn read_back(&self, file: usize, code: i32) -> (Value, BTreeMap<String, u64>) {
        let line = format!("verify {} --json", self.path(file));
        let ran = Running::new(truespd(&self.lab, &line), &line).finish().expect_code(code);
        let all: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran}"));
        let found = all["verify"].clone();
        let counts = found["wrong"].as_array().expect("a list").iter();
        let counts = counts.map(|row| (text(&row["fault"]), row["blocks"].as_u64().expect("a number")));
        (found.clone(), counts.collect())
    }
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_string()
}

fn counts(rows: &[(&str, u64)]) -> BTreeMap<String, u64> {
    rows.iter().map(|(fault, blocks)| (fault.to_string(), *blocks)).collect()
}

/// What a run found in each of its files: how many blocks, and the first ones with their faults.
fn found_meanwhile(lab: &Lab, ran: &Ran) -> Vec<(u64, Vec<(usize, String)>)> {
    let document: Value = serde_json::from_slice(&lab.read("r.json")).unwrap_or_else(|_| panic!("{ran}"));
    let verified = &document["result"]["time_spans"][0]["measured"]["verified"];
    let files = verified.as_array().unwrap_or_else(|| panic!("{ran}")).iter();
    let mut all = Vec::new();
    for file in files {
        let first = file["wrong"].as_array().into_iter().flatten();
        let first = first.map(|row| {
            (row["offset_bytes"].as_u64().expect("a place") as usize / BLOCK, text(&row["fault"]))
        });
        all.push((file["wrong_blocks"].as_u64().expect("a number"), first.collect()));
    }
    all
}

/// Each kind by itself, until each of a thousand places has been read: the test counts as many wrong blocks as the disk
/// answered.
#[test]
fn faults_are_found_while_the_test_runs() {
    for (seed, kind) in Kind::ALL.into_iter().enumerate() {
        let blocks = if kind.victim().is_some() { 2048 } else { 1024 };
        let Some(bench) = Bench::new(Disk::new(1 + blocks, &[kind], seed as u64)) else { return };
        let files: &[usize] =
            if matches!(kind, Kind::OtherFile | Kind::OtherFileRead) { &[0, 1] } else { &[0] };
        let running = bench.start("-r -w50 -o4 --json r.json", files);
        running.wait_until("each fault was read", || {
            let (found, planted) = bench.disk().found();
            assert!(planted >= PLANTED);
            found == planted
        });
        running.signal(Signal::INT);
        let ran = running.finish().expect_code(0);
        let disk = bench.disk();
        let mut words = BTreeSet::new();
        for (file, (wrong_blocks, first)) in found_meanwhile(&bench.lab, &ran).into_iter().enumerate() {
            let mut answered = disk.wrong_reads[file]..=disk.wrong_reads[file];
            if kind == Kind::Short {
                // What is cut short when the test is over may have been broken off by that.
                answered = disk.wrong_reads[file] - 4 * 16..=disk.wrong_reads[file];
            }
            assert!(answered.contains(&wrong_blocks), "{kind:?}: {answered:?}\n{ran}");
            for (block, fault) in first {
                // What follows a read that was cut short was not read either.
                let word = disk.word(file, block).or((kind == Kind::Short).then_some("unread"));
                assert_eq!(word, Some(fault.as_str()), "{kind:?}: block {block} of file {file}");
                words.insert(fault);
            }
        }
        let victim = kind.victim().map(|(_, word)| word);
        assert_eq!(words, kind.word().into_iter().chain(victim).map(String::from).collect(), "{kind:?}");
    }
}

/// A thousand of each kind on one disk, each at the second write of its block, which is the last one.
#[test]
fn faults_are_found_afterwards() {
    let blocks = 16 * 800;
    let Some(bench) = Bench::new(Disk::new(1 + blocks, &Kind::ALL, 36).until(2)) else { return };
    let words = "-s -w100 -o1 --engine psync";
    for file in [1, 0] {
        let running = bench.start(words, &[file]);
        running.wait_until("all is written", || {
            let disk = bench.disk();
            if file == 0 { disk.is_over() } else { disk.is_written(1) }
        });
        running.signal(Signal::INT);
        running.finish().expect_code(0);
    }
    let (found, wrong) = bench.read_back(0, 1);
    let planted = PLANTED as u64;
    let expected = counts(&[
        ("missing", 4 * planted),
        ("misplaced", 2 * planted),
        ("torn", planted),
        ("damaged", 2 * planted),
        ("foreign", planted),
        ("unread", planted),
    ]);
    assert_eq!(wrong, expected, "{found}");
    assert_eq!(
        (found["written_blocks"].as_u64(), &found["is_direct"]),
        (Some(blocks as u64), &Value::from(true))
    );
    let (found, wrong) = bench.read_back(1, 1);
    assert_eq!(wrong, counts(&[("foreign", planted)]), "{found}");
    let disk = bench.disk();
    let (found, places) = disk.found();
    assert_eq!((found, places), (places, 12 * PLANTED), "the disk answered each of them wrongly");
}

/// A disk without a fault, served in the same way.
#[test]
fn nothing_is_wrong_on_a_disk_that_keeps_its_promises() {
    let Some(bench) = Bench::new(Disk::new(1 + 2048, &[], 0)) else { return };
    let running = bench.start("-r -w50 -o4 --json r.json", &[0, 1]);
    running.wait_until("all is written", || bench.disk().is_written(0) && bench.disk().is_written(1));
    running.signal(Signal::INT);
    let ran = running.finish().expect_code(0);
    assert_eq!(found_meanwhile(&bench.lab, &ran), vec![(0, vec![]), (0, vec![])], "{ran}");
    for file in [0, 1] {
        assert_eq!(bench.read_back(file, 0).1, counts(&[]));
    }
    assert_eq!(bench.disk().wrong_reads, [0, 0]);
}

/// The flush at the end fails: the test fails, and its log has what flushes had made durable before, however slowly that
/// is taken down.
#[test]
fn a_flush_that_fails_at_the_end_leaves_a_whole_log() {
    let Some(bench) = Bench::new(Disk::new(1 + 2048, &[], 0).until(8)) else { return };
    with_ssh(&bench.lab, "echo ready; sleep 3; exec cat > there");
    let path = bench.path(0);
    let line = format!("{WORDS} -s -w100 -o1 --engine psync --flush-every 1 --verify-log box:there {path}");
    let mut command = bench.lab.command(&line);
    command.env("PATH", path_with_ssh(&bench.lab));
    let running = Running::new(command, &line);
    running.wait_until("all is written", || bench.disk().is_over());
    bench.gates[0].wait_parked(1);
    let flushed_blocks = bench.disk().flushed_blocks();
    bench.disk().fail_flushes();
    running.signal(Signal::INT);
    running
        .finish()
        .expect_code(1)
        .says(&[&format!("'{path}': what --verify wrote could not be flushed"), "Input/output error"]);
    let line = format!("verify {path} --log there --json");
    let ran = Running::new(truespd(&bench.lab, &line), &line).finish().expect_code(0);
    let found: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran}"));
    assert_eq!(found["verify"]["flushed_blocks"].as_u64(), Some(flushed_blocks as u64), "{ran}");
    assert_eq!(flushed_blocks, 2048);
    let (by_map, _) = bench.read_back(0, 0);
    assert_eq!((&by_map["run_ended"], by_map["flushed_blocks"].as_u64()), (&Value::from(true), Some(2048)));
}

/// The same faults, read back by fio: in the job that wrote, and by a job afterwards.
#[test]
#[ignore = "prints a table: cargo test --test all what_fio_finds -- --ignored --nocapture"]
fn what_fio_finds() {
    println!("kind            in the job: block, victim   afterwards: block, victim");
    for (seed, kind) in Kind::ALL.into_iter().enumerate() {
        let Some(bench) = Bench::new(Disk::new(1 + 2048, &[kind], seed as u64)) else { return };
        bench.fio(1, "--do_verify=0");
        let meanwhile = bench.fio(0, "--loops=2");
        let mut afterwards = bench.fio(0, "--verify_only=1");
        afterwards.extend(bench.fio(1, "--verify_only=1"));
        let [first, second] = [&meanwhile, &afterwards].map(|found| bench.victims(found, kind));
        println!(
            "{:15} {:5} {first:5} {:5} {second:5}   {:?}",
            format!("{kind:?}"),
            meanwhile.len() - first,
            afterwards.len() - second,
            bench.disk().found()
        );
    }
}
