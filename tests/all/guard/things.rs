//! What a person allowed is a thing and not a name: files and disks that get the name later, between two runs of a
//! series, before it is resumed, or before it is read back.

use std::fs;
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::Path;

use crate::support::devices::{Loop, run as tool, text};
use crate::support::killed::truespd;
use crate::support::needs::{Need, has};
use crate::support::program::{Lab, Ran, Running};
use crate::support::words::in_one_line;

const MIB: usize = 1 << 20;

/// Starts `suite LINE REST`.
fn start(lab: &Lab, suite: &str, line: &str, rest: &str) -> Running {
    let mut command = truespd(lab, suite);
    command.arg(line).args(rest.split(' '));
    Running::new(command, &format!("{suite} '{line}' {rest}"))
}

/// Does something as soon as the first run of a suite is over, and returns what came of it.
fn while_it_runs(running: Running, act: impl FnOnce()) -> Ran {
    running.wait_until("the first run is over", || running.stderr_so_far().contains("[1/"));
    act();
    running.finish()
}

#[test]
fn a_file_that_is_renamed_to_the_name_between_two_runs_is_not_overwritten() {
    let precious = b"somebody's thesis ".repeat(MIB / 18);
    for (suite, rest) in
        [("sweep", "f --overwrite f --over o=1..8"), ("find-max", "f --overwrite f --mean 5s")]
    {
        let Some(lab) = Lab::visible() else { return };
        lab.write("f", &vec![7; 8 * MIB]);
        lab.write("other", &precious);
        let ran = while_it_runs(start(&lab, suite, "-b4K -r -w100 -d1 -W0", rest), || {
            fs::rename(lab.path("other"), lab.path("f")).expect("an atomic save");
        });
        assert_eq!(ran.status.code(), Some(1), "{ran}");
        // Which of them sees it depends on when the file gets the name: before the next run opens it, while it is checked
        // (then the consent is for another file than the one that was opened), or behind that.
        let says = [
            "'f' is another file than when you allowed it to be overwritten",
            "'f' was not made by TrueSpd, and a write test would destroy what it holds",
            "replaced by another file",
        ];
        let told = in_one_line(&ran.stderr).replace(text(&lab.path("")), "");
        assert!(says.iter().any(|says| told.contains(says)), "{ran}");
        assert!(lab.read("f") == precious, "{suite}: it was overwritten");
    }
}

#[test]
fn a_file_that_gets_another_size_between_two_runs_ends_the_suite() {
    let Some(lab) = Lab::visible() else { return };
    lab.write("f", &vec![7; 8 * MIB]);
    let rest = "f --overwrite f --over o=1..8";
    let ran = while_it_runs(start(&lab, "sweep", "-b4K -r -w100 -d1 -W0", rest), || {
        let file = fs::File::options().write(true).open(lab.path("f")).expect("writable");
        file.set_len(16 << 20).expect("room");
    });
    // "when you allowed it to be overwritten", or "when it was checked" where the next run had checked it already.
    ran.expect_code(1).says(&["has 16777216 bytes, and had 8388608 when"]);
}

/// Whether nobody has the device for itself.
fn is_free(node: &Path) -> bool {
    let opened =
        fs::File::options().read(true).custom_flags(rustix::fs::OFlags::EXCL.bits() as i32).open(node);
    opened.is_ok()
}

#[test]
fn nobody_gets_a_device_between_two_runs() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let (device, lab) = (Loop::new(16 << 20), Lab::new());
    let node = text(&device.node);
    let mut running =
        start(&lab, "sweep", "-b4K -r -w100 -d1 -W0", &format!("{node} --overwrite {node} --over o=1..4"));
    running.wait_until("the first run is over", || running.stderr_so_far().contains("[1/"));
    let mut looks = 0;
    while running.is_running() && !is_free(&device.node) {
        looks += 1;
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    // The last run was over by then.
    let steps = |stderr: &str| stderr.matches("usually]").count();
    let told = steps(&running.stderr_so_far());
    let ran = running.finish().expect_code(0);
    assert!(looks > 100 && told > 2 && steps(&ran.stderr) == told, "{looks} looks, {told} steps: {ran}");
}

#[test]
fn a_series_is_not_resumed_on_another_disk() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let (first, same_size, larger) = (Loop::new(16 << 20), Loop::new(16 << 20), Loop::new(32 << 20));
    let lab = Lab::new();
    let name = |device: &Loop| {
        let _ = fs::remove_file(lab.path("disk"));
        symlink(&device.node, lab.path("disk")).expect("a name");
    };
    let sweep = |more: &str| {
        let rest = format!("disk --over o=1..2 --precision 50 --keep kept{more}");
        start(&lab, "sweep", "-b4K -r -w0 -d1 -W0", &rest).finish()
    };
    name(&first);
    sweep("").expect_code(0);
    sweep(" --resume").expect_code(0);
    for (device, says) in [(&same_size, "another file or disk"), (&larger, "had 16 MiB")] {
        name(device);
        let ran = sweep(" --resume").expect_code(3);
        let told = in_one_line(&ran.stderr);
        assert!(ran.stdout.is_empty() && told.contains(says), "{ran}");
    }
}

#[test]
fn another_disk_that_gets_the_name_is_not_overwritten() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let (first, other, lab) = (Loop::new(16 << 20), Loop::new(16 << 20), Lab::new());
    fs::write(&other.image, vec![5; 16 * MIB]).expect("an image");
    symlink(&first.node, lab.path("disk")).expect("a name");
    let rest = "disk --overwrite disk --over o=1..8";
    let ran = while_it_runs(start(&lab, "sweep", "-b4K -r -w100 -d1 -W0", rest), || {
        symlink(&other.node, lab.path("next")).expect("a name");
        fs::rename(lab.path("next"), lab.path("disk")).expect("the name of another disk");
    });
    assert_eq!(ran.status.code(), Some(1), "{ran}");
    assert!(fs::read(&other.image).expect("the image") == vec![5; 16 * MIB], "it was overwritten");
}

#[test]
fn preconditioning_goes_on_only_where_what_it_wrote_still_is() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let (device, lab) = (Loop::new(512 << 20), Lab::new());
    let node = text(&device.node);
    symlink(node, lab.path("disk")).expect("a link");
    let goes_on = || {
        let running = lab.start("--precondition 1x -b4K -r -w100 -d1 -W0 --overwrite disk disk");
        running.wait_until("some of it is written", || running.bytes_written() > 96 << 20);
        running.signal(rustix::process::Signal::INT);
        running.finish().stderr.contains("it goes on at ")
    };
    assert!(!goes_on());
    assert!(goes_on(), "the same command on the same device");
    tool("blkdiscard", &[node]);
    assert!(!goes_on(), "what was written was discarded");
    let other = Loop::new(512 << 20);
    fs::remove_file(lab.path("disk")).expect("a link");
    symlink(&other.node, lab.path("disk")).expect("a link");
    assert!(!goes_on(), "another disk has the name");
}

#[test]
fn one_file_is_not_two_verified_targets() {
    let lab = Lab::new();
    lab.run("-c1M -b4K -d1 -W0 a").expect_code(0);
    fs::hard_link(lab.path("a"), lab.path("b")).expect("a second name");
    symlink("a", lab.path("c")).expect("a link");
    for (targets, options) in [("a ./a", ""), ("a b", ""), ("a c", ""), ("new ./new", "-c1M")] {
        lab.run(&format!("--verify -b4K -w50 -d1 -W0 {options} {targets}"))
            .refused(3, &["are the same file or device, and --verify needs each once"]);
    }
    assert!(!lab.path("new").exists());
    lab.run("--verify -b4K -w50 -d1 -W0 a").expect_code(0);
}
