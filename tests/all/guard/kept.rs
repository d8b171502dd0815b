//! A device is kept for as long as a test writes it, whichever of our programs does, and for no longer.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::devices::{Loop, run, text};
use crate::support::needs::{Need, has};
use crate::support::program::{Lab, Ran, Running, keeps_nothing};
use rustix::process::Signal;

const MIB: u64 = 1 << 20;

/// Nobody has claimed it.
fn is_free(node: &Path) -> bool {
    use rustix::fs::{Mode, OFlags};
    rustix::fs::open(node, OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC, Mode::empty()).is_ok()
}

fn try_mount(node: &Path, lab: &Lab) -> bool {
    let point = lab.path("point");
    std::fs::create_dir_all(&point).expect("a directory");
    let output = Command::new("mount").args([text(node), text(&point)]).output().expect("mount starts");
    if output.status.success() {
        run("umount", &[text(&point)]);
    }
    output.status.success()
}

/// The same, asked for a while: a child of another test may hold a copy of a descriptor until its exec.
fn becomes_free(node: &Path) -> bool {
    let since = Instant::now();
    while !is_free(node) {
        if since.elapsed() > crate::support::HANG {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

/// Whether the process says by its locks that it holds the device (`src/guard/hold.rs`).
fn says_held(process: u32) -> bool {
    const HELD: u64 = 0x0054_7275_6553_7064 + 1;
    let infos = std::fs::read_dir(format!("/proc/{process}/fdinfo")).into_iter().flatten().flatten();
    let mut texts = infos.into_iter().map(|info| std::fs::read_to_string(info.path()).unwrap_or_default());
    texts.any(|text| text.lines().filter_map(locked).any(|bytes| bytes.contains(&HELD)))
}

/// The bytes of a lock of an open file; the kernel tells locks on neighbouring ones as one.
fn locked(line: &str) -> Option<std::ops::RangeInclusive<u64>> {
    let mut words =
        line.strip_prefix("lock:").filter(|line| line.contains("OFDLCK"))?.split_whitespace().rev();
    let end = words.next()?.parse().ok()?;
    Some(words.next()?.parse().ok()?..=end)
}

/// A write test of so many seconds by one of the programs.
fn start(lab: &Lab, program: &str, seconds: u32, node: &Path) -> Running {
    let words = format!("-v -P1 -d{seconds} -W0 -b4K -o1 -g64 -w100 --overwrite {0} {0}", node.display());
    if program == "diskspd" {
        return lab.start(&words);
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_truespd"));
    command.arg("run").args(words.split(' ')).current_dir(lab.work());
    keeps_nothing(&mut command, &lab.work());
    command.env("XDG_STATE_HOME", lab.path("state"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Running::new(command, &words)
}

fn finish(running: Running) -> Ran {
    running.finish().expect_code(0)
}

#[test]
fn nobody_mounts_what_is_being_written() {
    if !has(&[Need::LoopDevices, Need::Tool("mkfs.ext4")]) {
        return;
    }
    let (lab, device) = (Lab::new(), Loop::new(8 * MIB));
    run("mkfs.ext4", &["-q", text(&device.node)]);
    assert!(try_mount(&device.node, &lab), "it can be mounted before");
    // Only zeros beyond the superblock: the file system stays one that mounts.
    let words =
        format!("-v -P1 -d600 -W0 -B6M -Z -b4K -o1 -g64 -w100 --overwrite {0} {0}", device.node.display());
    let running = lab.start(&words);
    running.wait_for_ios();
    assert!(!try_mount(&device.node, &lab) && !is_free(&device.node), "claimed by the run");
    running.signal(Signal::INT);
    finish(running);
    assert!(becomes_free(&device.node), "and let go");
    // A read test keeps nobody out.
    let running = lab.start(&format!("-v -P1 -d600 -W0 -b4K -o1 -g64 {}", device.node.display()));
    running.wait_for_ios();
    assert!(becomes_free(&device.node));
    running.signal(Signal::INT);
    finish(running);
}

/// Any of our programs beside any other; the one that stays takes the device over.
#[test]
fn runs_share_a_device_and_the_last_one_lets_it_go() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    for (first, second) in [("diskspd", "truespd"), ("truespd", "diskspd"), ("diskspd", "diskspd")] {
        let (lab, device) = (Lab::new(), Loop::new(8 * MIB));
        let running = start(&lab, first, 600, &device.node);
        running.wait_for_ios();
        let mut beside = start(&lab, second, 600, &device.node);
        beside.wait_for_ios();
        assert!(says_held(running.id()) && !says_held(beside.id()), "{first}, {second}");
        running.signal(Signal::INT);
        finish(running);
        // Not asked whether it is free: who asks has it for a moment, and it is lost then.
        beside.wait_until("it has taken the device over", || says_held(beside.id()));
        assert!(beside.is_running(), "{first}, {second}");
        assert!(!is_free(&device.node));
        beside.signal(Signal::INT);
        finish(beside);
        assert!(becomes_free(&device.node));
    }
}

/// A killed run leaves nothing that keeps others out.
#[test]
fn a_killed_run_lets_the_device_go() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let (lab, device) = (Lab::new(), Loop::new(8 * MIB));
    let running = start(&lab, "diskspd", 600, &device.node);
    running.wait_for_ios();
    assert!(!is_free(&device.node));
    drop(running);
    assert!(becomes_free(&device.node));
    finish(start(&lab, "truespd", 1, &device.node));
}

/// Two of our programs on one file know each other, too.
#[test]
fn runs_share_a_file() {
    let lab = Lab::new();
    lab.run("-c1M -d1 -W0 -b4K -g64 ours").expect_code(0);
    let running = lab.start("-v -P1 -d3 -W0 -b4K -o1 -g64 -Zr -w100 ours");
    running.wait_for_ios();
    finish(lab.start("-d1 -W0 -b4K -o1 -g64 -w100 ours"));
    finish(running);
    finish(lab.start("-d1 -W0 -b4K -o1 -g64 -w100 ours"));
}
