//! Block devices: what is measured, what is refused and in which words. Only devices made here are written.

use std::fs;
use std::path::Path;

use crate::support::devices::{self, Loop, Mount, Zram, text};
use crate::support::needs::{Need, has};
use crate::support::program::{Lab, Ran, Running, with_ios};

const BYTES: u64 = 32 << 20;

fn run_on(lab: &Lab, words: &str, device: &Path) -> Ran {
    with_ios(1, || {
        let mut command = lab.command(words);
        command.arg(device);
        Running::new(command, words).finish()
    })
}

fn assert_measured(ran: Ran) {
    let ran = ran.expect_code(0);
    let parsed = ran.text();
    let result = parsed.results[0].as_ref().unwrap_or_else(|| panic!("measured\n{ran}"));
    assert!(result.tables[0].total.ios > 0, "{ran}");
    let sizes: Vec<f64> = result.tables[0].rows.iter().filter_map(|row| row.size).map(|s| s.bytes).collect();
    assert!(!sizes.is_empty() && sizes.iter().all(|&s| s == BYTES as f64), "{sizes:?}\n{ran}");
}

/// Every way to read and write a blank device, and the word of warning where the page cache is in between.
fn measure_blank(device: &Path) {
    let lab = Lab::new();
    const CACHED: &str = "the page cache is used for devices as well";
    for words in [
        "-Su -r -b4K -o32 -L",
        "-Sh -s -b64K -o4",
        "-Su -b4K -o1 -D100",
        "-Su -t2 -si -b4K",
        "-Su -F2 -O8 -r -b4K",
    ] {
        assert_measured(run_on(&lab, &format!("-d1 -W0 {words}"), device).says_not(&[CACHED]));
    }
    assert_measured(run_on(&lab, "-d1 -W0 -r -b4K -o8", device).says(&["WARNING: ", CACHED, "-Su"]));
    // A blank device holds nothing to lose, but what a test has put there could be anybody's.
    assert_measured(run_on(&lab, "-d1 -W0 -Su -r -b4K -o32 -Z -w100", device));
    assert_measured(run_on(&lab, "-d1 -W0 -Su -r -b4K -o32 -w100", device));
    for words in ["-Sh -r -b4K -o4 -w50", "-b64K -w30"] {
        let words = format!("-d1 -W0 {words}");
        run_on(&lab, &words, device).refused(4, &["perhaps from an earlier test", "--overwrite"]);
        assert_measured(run_on(&lab, &format!("{words} --overwrite {}", device.display()), device));
    }
    // Alignment is checked before anything runs.
    run_on(&lab, "-d1 -W0 -b1000 -Su", device).refused(3, &["-b1000"]);
    run_on(&lab, "-d1 -W0 -b4K -B100 -Su", device).refused(3, &["-B100"]);
    run_on(&lab, "-d1 -W0 -Sm", device).not_opened(&["is a device", "-Sm"]);
    run_on(&lab, &format!("-d1 -W0 -b4K -B{BYTES}"), device).not_opened(&["The file is too small. File: "]);
    run_on(&lab, "-c1M -d1 -W0", device).refused(3, &["a block device", "leave out -c"]);
    assert_eq!(lab.names(), [""; 0]);
}

#[test]
fn a_loop_device() {
    if has(&[Need::LoopDevices]) {
        measure_blank(&Loop::new(BYTES).node);
    }
}

#[test]
fn a_zram_device() {
    if has(&[Need::LoopDevices])
        && let Some(zram) = Zram::new(BYTES)
    {
        measure_blank(&zram.node);
    }
}

/// A device that begins with a sentinel keeps it below -B and beyond the length.
#[test]
fn writes_stay_in_their_range_of_a_device() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let (lab, device) = (Lab::new(), Loop::new(BYTES));
    fs::write(&device.image, vec![0xee; BYTES as usize]).expect("the image can be filled");
    devices::run("blockdev", &["--flushbufs", text(&device.node)]);
    assert_measured(run_on(
        &lab,
        &format!("-d1 -W0 -b64K -r -o8 -w100 -Su -B8M:8M --overwrite {}", device.node.display()),
        &device.node,
    ));
    let bytes = fs::read(&device.image).expect("readable");
    let is_kept = |part: &[u8]| part.iter().all(|&b| b == 0xee);
    assert!(is_kept(&bytes[..8 << 20]) && is_kept(&bytes[16 << 20..]), "written outside");
    assert!(!is_kept(&bytes[8 << 20..16 << 20]), "nothing was written");
}

#[test]
fn a_file_system_is_not_overwritten() {
    if !has(&[Need::LoopDevices, Need::Tool("mkfs.ext4")]) {
        return;
    }
    let (lab, device) = (Lab::new(), Loop::new(BYTES));
    let node = text(&device.node);
    devices::run("mkfs.ext4", &["-q", node]);
    let before = fs::read(&device.image).expect("readable");
    let overwrite = format!("--overwrite {node}");
    for words in
        ["-d1 -W0 -w1 -b4K", "-d1 -W0 -w100 -Su -b4K", "-d1 -W0 -w100 -Su -B16M -b4K", "-d1 -W0 -w1 -Rxml"]
    {
        run_on(&lab, words, &device.node).refused(4, &["ext4", node, "--overwrite"]);
    }
    // A file on its image is the same data.
    run_on(&lab, "-d1 -W0 -w10 -b4K", &device.image).refused(4, &["was not made by TrueSpd"]);
    assert_measured(run_on(&lab, "-d1 -W0 -b4K -r -Su", &device.node));
    {
        let _mount = Mount::new(&[node]);
        run_on(&lab, "-d1 -W0 -w10 -b4K", &device.node).refused(4, &["in use", "mounted"]);
        // In use is in use: no option changes that.
        let ran = run_on(&lab, &format!("-d1 -W0 -w10 -b4K {overwrite}"), &device.node);
        ran.refused(4, &["in use", "no option allows a write test of a device in use"]);
        assert_measured(run_on(&lab, "-d1 -W0 -b4K -r -Su", &device.node));
    }
    let superblock = |bytes: &[u8]| bytes[1024 + 56..1024 + 58].to_vec();
    let after = fs::read(&device.image).expect("readable");
    assert_eq!(superblock(&after), superblock(&before));
    // The last mounting changes a few counters, a test would have changed everything.
    let differ = before.iter().zip(&after).filter(|(a, b)| a != b).count();
    assert!(differ < before.len() / 100, "{differ} bytes differ");
    assert_measured(run_on(&lab, &format!("-d1 -W0 -w100 -s -b64K -o8 -Su {overwrite}"), &device.node));
    // The file system is gone, and what is there now is known to nobody.
    run_on(&lab, "-d1 -W0 -w100 -b4K -Su", &device.node).refused(4, &["data of an unknown kind"]);
}

/// A run keeps what it writes: its next time span need not ask again.
#[test]
fn time_spans_of_one_run_write_a_device_one_after_the_other() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let (lab, device) = (Lab::new(), Loop::new(BYTES));
    let target = format!(
        "<Target><Path>{}</Path><BlockSize>4096</BlockSize><WriteRatio>100</WriteRatio></Target>",
        device.node.display()
    );
    let span = format!(
        "<TimeSpan><Duration>1</Duration><Warmup>0</Warmup><Targets>{target}{target}</Targets></TimeSpan>"
    );
    lab.write("p.xml", format!("<Profile><TimeSpans>{span}{span}</TimeSpans></Profile>").as_bytes());
    lab.run("-Xp.xml").expect_code(0);
    lab.run("-Xp.xml").refused(4, &["data of an unknown kind"]);
}

/// Scripts measure and unmount: the kernel takes a ring apart later, and must not hold the file till then.
#[test]
fn a_file_system_can_be_unmounted_right_after_a_run() {
    if !has(&[Need::LoopDevices, Need::Tool("mkfs.ext4")]) {
        return;
    }
    let (lab, device) = (Lab::new(), Loop::new(BYTES));
    devices::run("mkfs.ext4", &["-q", text(&device.node)]);
    for words in ["-c8M -d1 -W0 -b4K -r -o8 -w50 -Sh -t2", "-c8M -d1 -W0 -b4K -o4 -n"] {
        let mount = Mount::new(&[text(&device.node)]);
        run_on(&lab, words, &mount.point.join("file")).expect_code(0);
        assert_eq!(mount.unmount_now(), Ok(()));
    }
}

#[test]
fn swap_space_is_not_overwritten() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let (lab, device) = (Lab::new(), Loop::new(BYTES));
    devices::run("mkswap", &[text(&device.node)]);
    run_on(&lab, "-d1 -W0 -w10 -b4K", &device.node).refused(4, &["swap", "--overwrite"]);
    let overwrite = format!("--overwrite {}", device.node.display());
    assert_measured(run_on(&lab, &format!("-d1 -W0 -w100 -b4K -Su -s -o4 {overwrite}"), &device.node));
}

/// `#n` counts whole disks; loop devices are none. Only read, and only when there is one.
#[test]
fn numbered_disks() {
    let lab = Lab::new();
    let ran = lab.run("-d1 -W0 -b4K #4711").expect_code(3);
    assert!(ran.stderr.contains("#4711") && ran.stdout.is_empty(), "{ran}");
    lab.run("-c1M -d1 #0").refused(3, &["#0"]);
    lab.run("-d1 #x").refused(3, &["#x"]);
    if !has(&[Need::OtherUsers]) {
        return;
    }
    let ran = lab.run("-d1 -W0 -w0 -b4K -r -o1 -g64 -Su #0");
    match ran.status.code() {
        Some(0) => assert!(ran.text().results[0].is_some(), "{ran}"),
        // A machine without disks, or one that keeps its users from them.
        Some(3) => assert!(ran.stderr.contains("#0"), "{ran}"),
        _ => drop(ran.not_opened(&["Error opening file: "])),
    }
}
