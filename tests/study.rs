//! `truespd study` as a program: on files, and on loop devices whose settings it changes and sets back.

#[allow(dead_code)]
mod devices;
mod killed;
mod support;

use std::fs;
use std::path::PathBuf;

use devices::Loop;
use rustix::fs::{Mode, OFlags};
use rustix::process::Signal;
use support::program::{Lab, Running};

const QUICK: &str = "--size 16M --seconds 1 --warm-up 0 --blocks 2";

#[test]
fn the_cache_is_told_apart_from_the_disk() {
    let lab = Lab::new();
    let ran = killed::run(&lab, &format!("study cache . {QUICK} --json out.json")).expect_code(0);
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
        ("study locality .", "at least two"),
        ("study locality . sub", "does not show"),
        ("study write-cache", "TARGET"),
    ] {
        let lab = Lab::new();
        fs::create_dir(lab.path("sub")).expect("a folder");
        let ran = killed::run(&lab, &format!("{line} --size 1M")).expect_code(3);
        assert!(ran.stdout.is_empty() && ran.stderr.contains(says), "{line}: {says}: {ran}");
        assert_eq!(lab.names(), ["sub"], "{line}");
    }
}

#[test]
fn nodes_are_compared_by_their_documents() {
    let lab = Lab::new();
    for (node, depth) in [("one", 1), ("two", 4)] {
        fs::create_dir(lab.path(node)).expect("a folder");
        for run in 0..3 {
            let options = format!("--json {node}/{run}.json --engine sim:latency=100us");
            lab.run(&format!("{options} -b4K -r -c1M -o{depth} -t1 -d1 -W0 -z{run} -L test.dat"))
                .expect_code(0);
        }
    }
    let ran =
        killed::run(&lab, "study locality --node one=one --node two=two --json out.json").expect_code(0);
    for words in ["== IOPS of the nodes' runs", "beside one", "+300.0 %", "INVALID", "not taken in turns"] {
        assert!(ran.stdout.contains(words), "{words}: {ran}");
    }
    assert!(fs::read_to_string(lab.path("out.json")).expect("the study").contains("\"nodes\""));
    for (line, says) in [
        ("--node one", "NAME=PATH"),
        ("--node one=none --node two=two", "none"),
        ("--node one=one", "at least two"),
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
    if !devices::can_make_devices() {
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
    for words in ["== reads, 1 target\n", "A cache on", "B cache off", "only the kernel's part was switched"]
    {
        assert!(ran.stdout.contains(words), "{words}: {ran}");
    }
    // Writes, when the person names the device.
    let line = format!("study write-cache {node} --overwrite {node} {QUICK}");
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
    if !devices::can_make_devices() {
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
