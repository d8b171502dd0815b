//! The write guard against paths that change their meaning while the program runs: what it decides is decided on
//! opened descriptors, so that nothing is ever written that it did not decide about.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::support::devices::{Loop, run, text};
use crate::support::needs::{Need, has, not_run};
use crate::support::program::{Lab, Ran};

const MIB: usize = 1 << 20;

/// How often the program runs at least, and at most.
const RUNS: std::ops::RangeInclusive<usize> = 12..=100;

/// Does something over and over while the program runs, until one of the runs met the swap; returns what the runs came
/// to.
fn during(lab: &Lab, line: &str, swap: impl Fn() + Send + Sync) -> Vec<Ran> {
    let (is_over, swaps) = (AtomicBool::new(false), AtomicU32::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                swap();
                swaps.fetch_add(1, Ordering::Relaxed);
            }
        });
        let mut ran = Vec::new();
        let has_met = |ran: &[Ran]| {
            swaps.load(Ordering::Relaxed) as usize > 2 * RUNS.start()
                && ran.iter().any(|ran: &Ran| ran.status.code() != Some(0))
        };
        while ran.len() < *RUNS.start() || (ran.len() < *RUNS.end() && !has_met(&ran)) {
            ran.push(lab.run(line));
        }
        is_over.store(true, Ordering::Relaxed);
        assert!(has_met(&ran), "no run met the swap: {} runs, {swaps:?} swaps", ran.len());
        ran
    })
}

/// Each run was refused, failed or measured.
fn assert_orderly(ran: &[Ran]) {
    for ran in ran {
        assert!(matches!(ran.status.code(), Some(0 | 1 | 3 | 4)), "{ran}");
    }
}

/// A directory with a file of ours and one of somebody else, which must stay as it is.
fn lab_with_both() -> (Lab, Vec<u8>) {
    let lab = Lab::new();
    lab.run("-c1M -d1 -W0 -b4K -g64 ours").expect_code(0);
    let precious = b"somebody's thesis ".repeat(MIB / 18);
    lab.write("precious", &precious);
    (lab, precious)
}

const WRITES: &str = "-d1 -W0 -b4K -o4 -t4 -w100";

#[test]
fn a_symbolic_link_that_is_swapped() {
    let (lab, precious) = lab_with_both();
    symlink("ours", lab.path("path")).expect("a link");
    let turn = |to: &str| {
        // Renamed over: the path always leads somewhere.
        symlink(to, lab.path("next")).and_then(|()| fs::rename(lab.path("next"), lab.path("path")))
    };
    for line in [WRITES.to_string() + " path", WRITES.to_string() + " -c1M path", "-c2M -d1 -W0 path".into()]
    {
        let ran = during(&lab, &line, || {
            turn("precious").and_then(|()| turn("ours")).expect("links can be renamed");
        });
        assert_orderly(&ran);
        assert!(lab.read("precious") == precious, "{line}: written");
    }
}

#[test]
fn a_file_that_is_renamed_over() {
    let (lab, precious) = lab_with_both();
    fs::hard_link(lab.path("ours"), lab.path("path")).expect("a link");
    let put = |name: &str| {
        fs::hard_link(lab.path(name), lab.path("next")).and_then(|()| {
            // Two names of one file stay two: rename(2) does nothing then.
            fs::rename(lab.path("next"), lab.path("path"))
        })
    };
    for line in [WRITES.to_string() + " path", WRITES.to_string() + " -c1M --recreate path"] {
        let ran = during(&lab, &line, || {
            put("precious").expect("it can be renamed");
            put("ours").expect("it can be renamed");
        });
        assert_orderly(&ran);
        assert!(lab.read("precious") == precious, "{line}: written");
        assert_eq!(fs::metadata(lab.path("precious")).expect("there").len(), precious.len() as u64);
    }
}

/// The override names what is opened, whatever its own path means by then.
#[test]
fn an_override_whose_path_is_swapped() {
    let (lab, precious) = lab_with_both();
    lab.write("waste", &vec![1; MIB]);
    symlink("waste", lab.path("path")).expect("a link");
    let turn = |to: &str| {
        symlink(to, lab.path("next")).and_then(|()| fs::rename(lab.path("next"), lab.path("path")))
    };
    let line = format!("{WRITES} --overwrite waste path");
    let ran = during(&lab, &line, || {
        turn("precious").and_then(|()| turn("waste")).expect("links can be renamed");
    });
    assert_orderly(&ran);
    assert!(lab.read("precious") == precious, "written");
}

#[test]
fn a_device_node_that_is_replaced() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let (lab, blank, other) = (Lab::new(), Loop::new(4 << 20), Loop::new(4 << 20));
    run("mkswap", &[text(&other.node)]);
    let before = fs::read(&other.image).expect("readable");
    let number = |node: &Path| {
        let device = fs::metadata(node).expect("a node").rdev();
        (rustix::fs::major(device), rustix::fs::minor(device))
    };
    let make = |(major, minor): (u32, u32)| {
        use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
        let next = lab.path("next");
        mknodat(CWD, &next, FileType::BlockDevice, Mode::RUSR | Mode::WUSR, makedev(major, minor))
            .map_err(std::io::Error::from)
            .and_then(|()| fs::rename(&next, lab.path("node")))
    };
    let (blank_number, other_number) = (number(&blank.node), number(&other.node));
    if make(blank_number).and_then(|()| fs::File::open(lab.path("node"))).is_err() {
        return not_run(Need::DeviceNodes);
    }
    // Zeros, so that the device stays blank.
    let ran = during(&lab, &format!("{WRITES} -Z node"), || {
        make(other_number).and_then(|()| make(blank_number)).expect("nodes can be renamed");
    });
    assert_orderly(&ran);
    assert!(fs::read(&other.image).expect("readable") == before, "written");
}
