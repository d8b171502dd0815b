//! `truespd study` as a program: on files, and on loop devices whose settings it changes and sets back.

use std::fs;
use std::path::PathBuf;

use crate::support::devices::{Loop, Mount, Partitions, run, text};
use crate::support::killed;
use crate::support::needs::{Need, has};
use crate::support::program::{Lab, Running};
use rustix::fs::{Mode, OFlags};
use rustix::process::Signal;

const QUICK: &str = "--size 16M --seconds 1 --warm-up 0 --blocks 2";

#[test]
fn the_cache_is_told_apart_from_the_disk() {
    let lab = Lab::new();
    let ran = killed::run(&lab, &format!("study cache . {QUICK} --json out.json")).expect_code(0);
    killed::assert_renders(&lab, &ran, "out.json");
    for words in
        ["== reads, .\n", "== writes, .\n", "A past the cache", "B through the cache", "-Sh durable writes"]
    {
        assert!(ran.stdout.contains(words), "{words}: {ran}");
    }
    // 16 MiB are in memory from the first run on: the disks see hardly any of it.
    assert!(ran.stdout.contains("INVALID"), "{ran}");
    let document = fs::read_to_string(lab.path("out.json")).expect("the study");
    assert!(document.contains("\"format\": \"truespd-study\"") && document.contains("\"study\": \"cache\""));
    assert_eq!(lab.names(), ["out.json"], "nothing else stays");
}

#[test]
fn paths_to_one_place_are_compared() {
    let lab = Lab::new();
    std::os::unix::fs::symlink(".", lab.path("other")).expect("a link");
    let ran = killed::run(&lab, &format!("study locality . other {QUICK}")).expect_code(0);
    for words in ["== . against other\n", "the network"] {
        assert!(ran.stdout.contains(words), "{words}: {ran}");
    }
    assert_eq!(lab.names(), ["other"]);
}

#[test]
fn what_cannot_be_studied_is_refused() {
    for (line, says) in [
        ("study cache none", "none"),
        ("study cache . --overwrite /dev/null", "none of the targets"),
        ("study cache . --seconds 600", "--max-minutes"),
        ("study locality .", "at least two"),
        ("study locality . sub --overwrite .", "locality only reads"),
        ("study locality . sub", "does not show"),
        ("study write-cache", "TARGET"),
    ] {
        let lab = Lab::new();
        fs::create_dir(lab.path("sub")).expect("a folder");
        let ran = killed::run(&lab, &format!("{line} --size 16M")).expect_code(3);
        assert!(ran.stdout.is_empty() && ran.stderr.contains(says), "{line}: {says}: {ran}");
        assert_eq!(lab.names(), ["sub"], "{line}");
    }
}

#[test]
fn what_is_there_is_looked_at_before_anything_runs() {
    let lab = Lab::new();
    for (name, byte, size) in
        [("tiny", 1, 5), ("one", 1, 1 << 20), ("other", 2, 1 << 20), ("half", 1, 1 << 19)]
    {
        lab.write(name, &vec![byte; size]);
    }
    for (line, says) in [
        ("cache tiny", "'tiny' has 5 bytes, but one I/O of study cache needs 8192 bytes"),
        ("locality tiny tiny", "needs 4096 bytes"),
        ("locality one half", "they have 1 MiB and 512 KiB"),
        (
            "locality one one other",
            "'one' and 'other' are not the same storage: their contents differ at byte 0",
        ),
    ] {
        let ran = killed::run(&lab, &format!("study {line}")).expect_code(3);
        assert!(ran.stdout.is_empty() && ran.stderr.contains(says), "{line}: {says}: {ran}");
        assert!(!ran.stderr.contains("first run"), "{ran}");
    }
}

#[test]
fn nodes_are_compared_by_their_documents() {
    let lab = Lab::new();
    for (node, latency) in [("one", "100us"), ("two", "25us")] {
        fs::create_dir(lab.path(node)).expect("a folder");
        for run in 0..3 {
            let options = format!("--json {node}/{run}.json --engine sim:latency={latency}");
            lab.run(&format!("{options} -b4K -r -c1M -o1 -t1 -d1 -W0 -z{run} -L test.dat")).expect_code(0);
        }
    }
    let ran =
        killed::run(&lab, "study locality --node one=one --node two=two --json out.json").expect_code(0);
    for words in
        ["== IOPS of the nodes' runs", "compared with one", "+300.0 %", "INVALID", "did not run in turns"]
    {
        assert!(ran.stdout.contains(words), "{words}: {ran}");
    }
    assert!(fs::read_to_string(lab.path("out.json")).expect("the study").contains("\"nodes\""));
    killed::run(&lab, "study locality --node one=one --node two=two --require suspect")
        .expect_code(5)
        .says(&["--require suspect: the verdict is invalid\n"]);
    lab.run("--json other.json --engine sim:latency=100us -b8K -r -c1M -o1 -t1 -d1 -W0 -L test.dat")
        .expect_code(0);
    for (line, says) in [
        (
            "--node one=one --node other=other.json",
            "block_bytes (4096 and 8192); run the same line on all nodes",
        ),
        ("--node one=one --node two=two --json one/1.json", "tested or read"),
        ("--node one", "NAME=PATH"),
        ("--node one=none --node two=two", "none"),
        ("--node one=one", "at least two"),
        ("--node one=one --node two=two --require pass", "legal: certified, suspect"),
        ("--node one=one --node two=test.dat", "test.dat"),
    ] {
        let ran = killed::run(&lab, &format!("study locality {line}")).expect_code(3);
        assert!(ran.stdout.is_empty() && ran.stderr.contains(says), "{line}: {says}: {ran}");
    }
}

fn setting(device: &Loop) -> PathBuf {
    format!("/sys/block/{}/queue/write_cache", device.name()).into()
}

fn read(path: &PathBuf) -> String {
    fs::read_to_string(path).expect("the setting is there").trim().to_string()
}

#[test]
fn a_write_cache_is_switched_and_set_back() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let device = Loop::new(64 << 20);
    let path = setting(&device);
    let before = read(&path);
    let other = if before == "write back" { "write through" } else { "write back" };
    let node = device.node.display();
    let lab = Lab::new();
    let line = format!("study write-cache {node} {QUICK}");
    let running = Running::new(killed::truespd(&lab, &line), &line);
    running.wait_until("switched", || read(&path) == other);
    let ran = running.finish().expect_code(0);
    assert_eq!(read(&path), before);
    for words in
        ["== reads, 1 target\n", "A cache on", "B cache off", "only the kernel's setting was switched"]
    {
        assert!(ran.stdout.contains(words), "{words}: {ran}");
    }
    // Writes, when the person names the device, however it is spelt.
    let line = format!("study write-cache {node} --overwrite /dev/..{node} {QUICK}");
    let running = Running::new(killed::truespd(&lab, &line), &line);
    running.wait_for_stderr("durable writes, 1 target: A, first run");
    running.signal(Signal::INT);
    let ran = running.finish().expect_code(0);
    assert!(ran.stdout.contains("== writes, 1 target\n"), "{ran}");
    // However it ends while the setting is not what it was.
    for signal in [Signal::INT, Signal::KILL] {
        let line = format!("study write-cache {node} --seconds 2 --warm-up 0");
        let running = Running::new(killed::truespd(&lab, &line), &line);
        running.wait_until("switched", || read(&path) == other);
        running.signal(signal);
        let ran = running.finish();
        assert_eq!(read(&path), before, "{ran}");
        assert!(killed::journals(&lab).is_empty(), "{ran}");
    }
}

#[test]
fn a_disk_that_something_uses_keeps_its_flushes() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let device = Loop::new(64 << 20);
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
    let _user = rustix::fs::open(&device.node, flags, Mode::empty()).expect("nobody else has it");
    let before = read(&setting(&device));
    let lab = Lab::new();
    let ran =
        killed::run(&lab, &format!("study write-cache {} {QUICK}", device.node.display())).expect_code(3);
    assert!(ran.stderr.contains("--risk-power-loss"), "{ran}");
    assert_eq!(read(&setting(&device)), before);
}

/// A device with partitions, of which the second is mounted; nothing but the kernel's part can be switched there.
#[test]
fn a_neighbour_that_is_mounted_keeps_its_flushes() {
    if !has(&[Need::LoopDevices])
        || !["sfdisk", "partx", "mkfs.ext4"].iter().all(|tool| has(&[Need::Tool(tool)]))
    {
        return;
    }
    let device = Loop::new(64 << 20);
    let lab = Lab::new();
    lab.write("table", b"label: dos\nstart=2048, size=65536\nstart=67584\n");
    let table = lab.path("table");
    run("sh", &["-c", &format!("sfdisk -q --no-reread {} < {}", text(&device.node), text(&table))]);
    let _partitions = Partitions::new(&device.node);
    let [first, second] = [1, 2].map(|number| format!("{}p{number}", text(&device.node)));
    run("mkfs.ext4", &["-q", &second]);
    let mounted = Mount::new(&[&second]);
    let before = read(&setting(&device));
    // The free partition alone, and beside the one in use: the disk is asked about all that is on it.
    for targets in [first.clone(), format!("{first} {second}")] {
        let ran = killed::run(&lab, &format!("study write-cache {targets} {QUICK}")).expect_code(3);
        for words in ["--risk-power-loss", "p2 is mounted at"] {
            assert!(ran.stdout.is_empty() && ran.stderr.contains(words), "{words}: {ran}");
        }
        assert_eq!(read(&setting(&device)), before);
    }
    drop(mounted);
    killed::run(&lab, &format!("study write-cache {first} {QUICK}")).expect_code(0);
    assert_eq!(read(&setting(&device)), before);
}

fn sectors_written(device: &Loop) -> u64 {
    let text = fs::read_to_string(format!("/sys/block/{}/stat", device.name())).expect("is there");
    text.split_whitespace().nth(6).expect("sectors written").parse().expect("a number")
}

#[test]
fn what_is_refused_is_refused_before_a_file_is_filled() {
    if !has(&[Need::LoopDevices, Need::Tool("mkfs.ext4")]) {
        return;
    }
    let device = Loop::new(64 << 20);
    run("mkfs.ext4", &["-q", text(&device.node)]);
    let mounted = Mount::new(&[text(&device.node)]);
    let lab = Lab::new();
    std::os::unix::fs::symlink(&mounted.point, lab.path("place")).expect("a name without a space");
    let before = sectors_written(&device);
    let ran = killed::run(&lab, &format!("study write-cache place {QUICK}"))
        .expect_code(3)
        .says(&["--risk-power-loss", "is mounted at"])
        .says_not(&["making the test file"]);
    let written = sectors_written(&device) - before;
    assert!(written * 512 < 16 << 20, "{written} sectors were written");
    assert_eq!(fs::read_dir(&mounted.point).expect("is there").count(), 1, "lost+found: {ran}");
}

/// A file system that tells no size, refuses direct I/O and keeps no attributes.
#[test]
fn a_place_that_has_next_to_nothing_will_do() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let mounted = Mount::new(&["-t", "ramfs", "none"]);
    let lab = Lab::new();
    std::os::unix::fs::symlink(&mounted.point, lab.path("place")).expect("a name without a space");
    let words = ["-b4K\t-r\t-g400i", "-b4K\t-r\t-g600i"];
    let line = format!("ab --a {} --b {} --file place {QUICK} --max-minutes 1", words[0], words[1]);
    let ran = killed::run(&lab, &line).expect_code(0);
    assert!(ran.stdout.contains("2 blocks of four runs"), "{ran}");
    assert_eq!(fs::read_dir(&mounted.point).expect("is there").count(), 0);
    assert!(killed::marks(&lab).is_empty(), "{:?}", killed::marks(&lab));
}

#[test]
fn what_cannot_be_written_is_refused_before_anything_is_read() {
    let lab = Lab::new();
    lab.write("data", &vec![7; 16 << 20]);
    let _writer = fs::File::options().append(true).open(lab.path("data")).expect("is there");
    killed::run(&lab, "study cache data --overwrite data --seconds 1 --warm-up 0")
        .expect_code(4)
        .says(&["for writing"])
        .says_not(&["first run"]);
    assert!(lab.read("data").iter().all(|&byte| byte == 7));
}

#[test]
fn two_studies_do_not_switch_one_disk() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let device = Loop::new(64 << 20);
    let path = setting(&device);
    let before = read(&path);
    let lab = Lab::new();
    let line = format!("study write-cache {} --seconds 2 --warm-up 0", device.node.display());
    let running = Running::new(killed::truespd(&lab, &line), &line);
    running.wait_for_stderr("A, first run");
    let second = killed::run(&lab, &line).expect_code(3);
    assert!(second.stdout.is_empty() && second.stderr.contains("another series"), "{second}");
    // Another user's journals would not tell: the setting itself does.
    let other = Lab::new();
    let third = killed::run(&other, &line).expect_code(3);
    assert!(third.stderr.contains("another series"), "{third}");
    running.signal(Signal::INT);
    // 1: stopped before it had a figure.
    running.finish().expect_code(1);
    assert_eq!(read(&path), before);
    assert!(killed::journals(&lab).is_empty());
}

/// A worker of a run is there: everything is prepared but what it opens itself.
fn has_worker(process: u32) -> bool {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    tasks
        .into_iter()
        .any(|task| fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name.trim() == "diskspd-0"))
}

#[test]
fn what_fails_in_the_middle_is_no_refusal() {
    let lab = Lab::new();
    fs::write(lab.path("data"), vec![7; 16 << 20]).expect("a file");
    let line = "study cache data --seconds 2 --warm-up 0";
    let running = Running::new(killed::truespd(&lab, line), line);
    running.wait_for_stderr("A, first run");
    // A has ended; it is B's worker, which opens the file and reads for two seconds.
    running.wait_until("B reads", || has_worker(running.id()));
    std::thread::sleep(std::time::Duration::from_millis(300));
    fs::remove_file(lab.path("data")).expect("is there");
    let ran = running.finish().expect_code(1);
    assert!(ran.stderr.contains("could not be synced"), "{ran}");
}
