//! What a person allowed is a thing and not a name: files and disks that get the name later, between two runs of a
//! series, before it is resumed, or before it is read back.

use std::fs;
use std::path::Path;

use crate::support::devices::{Loop, run as tool, text};
use crate::support::killed::truespd;
use crate::support::needs::{Need, has};
use crate::support::program::{Lab, Ran, Running};

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
        let lab = Lab::new();
        lab.write("f", &vec![7; 8 * MIB]);
        lab.write("other", &precious);
        let ran = while_it_runs(start(&lab, suite, "-b4K -r -w100 -d1 -W0", rest), || {
            fs::rename(lab.path("other"), lab.path("f")).expect("an atomic save");
        });
        assert_eq!(ran.status.code(), Some(1), "{ran}");
        let says =
            ["'f' is another file than when you allowed it to be overwritten", "replaced by another file"];
        let told =
            ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ").replace(text(&lab.path("")), "");
        assert!(says.iter().any(|says| told.contains(says)), "{ran}");
        assert!(lab.read("f") == precious, "{suite}: it was overwritten");
    }
}

#[test]
fn nobody_gets_a_device_between_two_runs() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let (device, lab) = (Loop::new(16 << 20), Lab::new());
    let node = text(&device.node);
    lab.write("other", &vec![5; 16 * MIB]);
    let rest = format!("{node} --overwrite {node} --over o=1..8");
    let ran = while_it_runs(start(&lab, "sweep", "-b4K -r -w100 -d1 -W0", &rest), || {
        // The kernel detaches it when the last one closes it, and until then nothing else gets its number.
        tool("losetup", &["-d", node]);
        let attached = std::process::Command::new("losetup").args([node, text(&lab.path("other"))]).status();
        assert!(!attached.expect("losetup").success(), "another image got the device");
    });
    // For the end of this test, which detaches it.
    tool("losetup", &[node, text(&device.image)]);
    assert!(matches!(ran.status.code(), Some(0 | 1)), "{ran}");
    assert!(lab.read("other") == vec![5; 16 * MIB], "it was overwritten");
}

/// Attaches an image of this size to a device that is free.
fn attach(node: &Path, image: &Path, bytes: u64) {
    fs::File::create(image).and_then(|file| file.set_len(bytes)).expect("an image");
    tool("losetup", &[text(node), text(image)]);
}

#[test]
fn a_series_is_not_resumed_on_another_disk() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let (device, lab) = (Loop::new(16 << 20), Lab::new());
    let node = text(&device.node);
    let sweep = |more: &str| {
        let rest = format!("{node} --over o=1..2 --precision 50 --keep kept{more}");
        start(&lab, "sweep", "-b4K -r -w0 -d1 -W0", &rest).finish()
    };
    sweep("").expect_code(0);
    sweep(" --resume").expect_code(0);
    for (bytes, says) in [(16 << 20, "another file or disk"), (32 << 20, "had 16 MiB")] {
        tool("losetup", &["-d", node]);
        attach(&device.node, &lab.path("other"), bytes);
        let ran = sweep(" --resume").expect_code(3);
        assert!(ran.stdout.is_empty() && ran.stderr.replace('\n', " ").contains(says), "{ran}");
        fs::remove_file(lab.path("other")).expect("it is there");
    }
}

#[test]
fn preconditioning_goes_on_only_where_it_was_stopped() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let (device, lab) = (Loop::new(512 << 20), Lab::new());
    let node = text(&device.node);
    let line = format!("--precondition 1x -b4K -r -w100 -d1 -W0 --overwrite {node} {node}");
    let goes_on = |lab: &Lab| {
        let running = lab.start(&line);
        running.wait_until("some of it is written", || running.bytes_written() > 96 << 20);
        running.signal(rustix::process::Signal::INT);
        running.finish().stderr.contains("it goes on at ")
    };
    assert!(!goes_on(&lab));
    assert!(goes_on(&lab), "the same command on the same device");
    tool("blkdiscard", &[node]);
    assert!(!goes_on(&lab), "what was written was discarded");
    assert!(goes_on(&lab));
    tool("losetup", &["-d", node]);
    attach(&device.node, &lab.path("other"), 512 << 20);
    assert!(!goes_on(&lab), "another disk has the number");
}

#[test]
fn one_file_is_not_two_verified_targets() {
    let lab = Lab::new();
    lab.run("-c1M -b4K -d1 -W0 a").expect_code(0);
    fs::hard_link(lab.path("a"), lab.path("b")).expect("a second name");
    std::os::unix::fs::symlink("a", lab.path("c")).expect("a link");
    for (targets, options) in [("a ./a", ""), ("a b", ""), ("a c", ""), ("new ./new", "-c1M")] {
        lab.run(&format!("--verify -b4K -w50 -d1 -W0 {options} {targets}"))
            .refused(3, &["are the same file or device, and --verify needs each once"]);
    }
    assert!(!lab.path("new").exists());
    lab.run("--verify -b4K -w50 -d1 -W0 a").expect_code(0);
}
