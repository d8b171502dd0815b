//! `truespd doctor` on this machine: what it says against the kernel's files, commands that cure and lead back.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::devices::{Loop, text};
use crate::support::needs::{Need, disk_folder, has};
use crate::support::program::copy_to_run;
use crate::support::words::in_one_line;
use serde_json::Value;
use truespd_verdict::doctor::{Check, CheckFn, checks};

const MIB: u64 = 1 << 20;

fn doctor(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_truespd")).arg("doctor").args(args).output().expect("truespd runs")
}

fn told(args: &[&str]) -> String {
    let output = doctor(args);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && errors.is_empty(), "{args:?}: {errors}");
    String::from_utf8(output.stdout).expect("text")
}

fn report(args: &[&str]) -> Value {
    let all = [&["--json"], args].concat();
    let document: Value = serde_json::from_str(&told(&all)).expect("JSON");
    assert_eq!((&document["format"], &document["format_version"]), (&"truespd-doctor".into(), &1.into()));
    document["doctor"].clone()
}

/// The finding of a check about a disk.
fn of_disk(report: &Value, check: &str, disk: &str) -> Value {
    let findings = report["findings"].as_array().expect("a list");
    let is_it = |f: &&Value| f["check"] == check && f["subject"]["name"] == disk;
    findings.iter().find(is_it).unwrap_or_else(|| panic!("{check} of {disk}: {report:#}")).clone()
}

fn setting(disk: &str, file: &str) -> String {
    let text = fs::read_to_string(format!("/sys/block/{disk}/queue/{file}")).expect("the kernel has it");
    let chosen =
        text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(word, _)| word.to_string());
    chosen.unwrap_or_else(|| text.trim().to_string())
}

fn run_all(commands: &Value) {
    for command in commands.as_array().expect("commands") {
        let command = command.as_str().expect("a line");
        let done = Command::new("sh").args(["-c", command]).output().expect("a shell");
        assert!(done.status.success() && done.stderr.is_empty(), "{command}: {done:?}");
    }
}

#[test]
fn what_it_says_is_what_the_kernels_files_say() {
    let report = report(&["--peak"]);
    let disks = report["disks"].as_array().expect("a list");
    for disk in disks.iter().map(|disk| disk.as_str().expect("a name")) {
        for (check, file) in [
            ("scheduler", "scheduler"),
            ("nomerges", "nomerges"),
            ("iostats", "iostats"),
            ("rq-affinity", "rq_affinity"),
            ("write-cache", "write_cache"),
        ] {
            let path = format!("/sys/block/{disk}/queue/{file}");
            let finding = of_disk(&report, check, disk);
            if Path::new(&path).exists() && finding["state"] != "does_not_apply" {
                assert_eq!(finding["now"], setting(disk, file), "{path}");
            }
        }
    }
    let findings = report["findings"].as_array().expect("a list");
    let of_machine = |check: &Check| matches!(check.look, CheckFn::Machine(_));
    for check in checks().into_iter().map(|(_, check)| check).filter(|check| of_machine(check)) {
        assert!(findings.iter().any(|finding| finding["check"] == check.id), "{} answers", check.id);
    }
    let count = |state: &str| findings.iter().filter(|finding| finding["state"] == state).count();
    for state in ["spoils", "may_spoil", "unknown", "good", "does_not_apply"] {
        assert_eq!(report["counts"][state], count(state), "{state}");
    }
}

/// Settings of a queue as they are now, set back when it goes: a loop device keeps them for whoever gets its
/// number next.
struct Queue(Vec<(String, String)>);

impl Queue {
    fn of(name: &str) -> Queue {
        let now = |file: &str| (format!("/sys/block/{name}/queue/{file}"), setting(name, file));
        Queue(["iostats", "nomerges", "scheduler"].map(now).into())
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        for (path, value) in &self.0 {
            fs::write(path, value).unwrap_or_else(|error| eprintln!("{path}: {error}"));
        }
    }
}

/// The brief of the doctor, kept on a device that nobody else has.
#[test]
fn printed_commands_cure_a_loop_device_and_lead_back() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let device = Loop::new(8 * MIB);
    let (name, node) = (device.name(), text(&device.node));
    let _back = Queue::of(name);
    let queue = |file: &str| format!("/sys/block/{name}/queue/{file}");
    let offered = fs::read_to_string(queue("scheduler")).expect("it has a queue");
    let other =
        ["bfq", "kyber"].into_iter().find(|word| offered.split_whitespace().any(|each| each == *word));
    let mut made = vec![("iostats", "iostats", "0", "1"), ("nomerges", "nomerges", "2", "0")];
    made.extend(other.map(|word| ("scheduler", "scheduler", word, "none")));
    for (check, file, bad, good) in made {
        fs::write(queue(file), bad).expect("root may");
        let before = of_disk(&report(&[node]), check, name);
        assert_eq!((&before["state"], &before["now"]), (&"may_spoil".into(), &bad.into()), "{before:#}");
        assert_eq!(before["wanted"], good);
        run_all(&before["set"]);
        assert_eq!(setting(name, file), good);
        assert_eq!(of_disk(&report(&[node]), check, name)["state"], "good");
        run_all(&before["set_back"]);
        assert_eq!(setting(name, file), bad, "as it was");
        fs::write(queue(file), good).expect("root may");
    }
}

#[test]
fn scripts_set_all_and_set_all_back() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let device = Loop::new(8 * MIB);
    let (name, node) = (device.name(), text(&device.node));
    let _back = Queue::of(name);
    for (file, bad) in [("iostats", "0"), ("nomerges", "1")] {
        fs::write(format!("/sys/block/{name}/queue/{file}"), bad).expect("root may");
    }
    let own = |script: &str| -> String {
        // Of the machine's own settings a test changes nothing.
        script.lines().filter(|line| line.contains(&format!("/{name}/"))).collect::<Vec<_>>().join("\n")
    };
    let (undo, set) = (told(&[node, "--script", "undo"]), told(&[node, "--script"]));
    assert!(undo.starts_with("#!/bin/sh\n") && set.starts_with("#!/bin/sh\n"), "{undo}{set}");
    let sh = |script: &str| {
        let done = Command::new("sh").args(["-e", "-c", script]).output().expect("a shell");
        assert!(done.status.success(), "{script}: {done:?}");
    };
    sh(&own(&set));
    assert_eq!((setting(name, "iostats"), setting(name, "nomerges")), ("1".into(), "0".into()), "{set}");
    sh(&own(&undo));
    assert_eq!((setting(name, "iostats"), setting(name, "nomerges")), ("0".into(), "1".into()), "{undo}");
}

/// Commands of a finding are run and undone by what they do, not by what they say.
#[test]
fn what_a_loop_device_is_told_holds_for_it_and_not_for_its_node() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let device = Loop::new(8 * MIB);
    let (name, node) = (device.name(), text(&device.node));
    let _back = Queue::of(name);
    let direct = || fs::read_to_string(format!("/sys/block/{name}/loop/dio")).expect("the kernel has it");
    if direct().trim() == "0" {
        let before = of_disk(&report(&[node]), "loop-cache", name);
        assert_eq!(before["state"], "spoils", "{before:#}");
        run_all(&before["set"]);
        assert_eq!(of_disk(&report(&[node]), "loop-cache", name)["state"], "good");
        run_all(&before["set_back"]);
        assert_eq!(direct().trim(), "0", "as it was");
    }
    // Without a scheduler the driver's places are all there are.
    let requests = || setting(name, "nr_requests").parse::<u32>().expect("a number");
    let usual = requests();
    fs::write(format!("/sys/block/{name}/queue/nr_requests"), "4").expect("root may");
    let shallow = of_disk(&report(&[node]), "queue-depth", name);
    run_all(&shallow["set"]);
    assert!(requests() > 4, "{shallow:#}");
    run_all(&shallow["set_back"]);
    assert_eq!(requests(), 4);
    fs::write(format!("/sys/block/{name}/queue/nr_requests"), usual.to_string()).expect("root may");
    // The room of its file's file system, not that of /dev.
    let room = |target: &str| -> Vec<(Value, f64)> {
        let report = report(&[target]);
        let findings = report["findings"].as_array().expect("a list");
        let of = findings.iter().filter(|finding| finding["check"] == "free-space");
        let percent = |now: &Value| {
            let words = now.as_str().unwrap_or_default();
            words
                .split(' ')
                .next()
                .and_then(|number| number.trim_start_matches('<').parse().ok())
                .unwrap_or(-1.0)
        };
        of.map(|finding| (finding["subject"]["name"].clone(), percent(&finding["now"]))).collect()
    };
    let (of_device, of_file) = (room(node), room(text(&device.image)));
    assert_eq!(of_device.len(), of_file.len(), "{of_device:?} {of_file:?}");
    for ((device, used), (file, used_by_file)) in of_device.iter().zip(&of_file) {
        assert_eq!(device, file);
        assert!((used - used_by_file).abs() <= 3.0, "{of_device:?} {of_file:?}");
    }
}

#[test]
fn a_folder_tells_what_a_file_in_it_will_lie_on() {
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("file");
    fs::write(&file, [7; 4096]).expect("a file");
    assert_eq!(report(&[text(dir.path())])["disks"], report(&[text(&file)])["disks"]);
    let missing = doctor(&[text(&dir.path().join("none"))]);
    let said = String::from_utf8_lossy(&missing.stderr).into_owned();
    assert!(said.contains("name the folder") && !said.contains("-c<size>"), "{said}");
}

/// The mounts of this process, a line each.
fn mounts() -> Vec<String> {
    fs::read_to_string("/proc/self/mountinfo").expect("procfs").lines().map(String::from).collect()
}

/// Tests beside this one mount and unmount in temporary folders of theirs. What they mounted goes away again.
fn check_mounts_are_as(before: &[String]) {
    let mut new = mounts();
    assert!(before.iter().all(|mount| new.contains(mount) || mount.contains("/.tmp")), "{before:?} {new:?}");
    new.retain(|mount| !before.contains(mount));
    for _ in 0..600 {
        let now = mounts();
        new.retain(|mount| now.contains(mount));
        if new.is_empty() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    panic!("mounted, and left: {new:?}");
}

#[test]
fn it_changes_nothing_and_its_text_counts() {
    let before = mounts();
    let Some(dir) = disk_folder() else { return };
    let file = dir.path().join("file");
    fs::write(&file, [7; 4096]).expect("a file");
    let time = fs::metadata(&file).expect("a file").modified().expect("a time");
    let text_now = told(&[text(&file), "--all"]);
    let first = text_now.lines().next().expect("a line");
    assert!(first.contains("spoil a measurement, ") && first.contains(" may, "), "{first}");
    assert!(text_now.contains("Looked at the machine and at "), "{text_now}");
    assert_eq!(fs::metadata(&file).expect("a file").modified().expect("a time"), time);
    assert_eq!(fs::read(&file).expect("a file"), [7; 4096]);
    check_mounts_are_as(&before);
    let output = doctor(&["/nowhere/at/all"]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
}

#[test]
fn what_is_required_decides_the_exit_code() {
    let report = report(&[]);
    let output = doctor(&["--require", "good"]);
    let spoils =
        |output: &Output| String::from_utf8_lossy(&output.stdout).contains("\nWill spoil a measurement\n");
    // What the machine does may have changed since; the text of the same run decides.
    assert_eq!(output.status.code(), Some(if spoils(&output) { 5 } else { 0 }), "{report:#}");
}

#[test]
fn without_root_it_says_what_it_could_not_see() {
    if !has(&[Need::LoopDevices, Need::Tool("setpriv")]) {
        return;
    }
    let dir = tempfile::tempdir().expect("a folder");
    copy_to_run(Path::new(env!("CARGO_BIN_EXE_truespd")), &dir.path().join("truespd"));
    let done = Command::new("chmod").args(["755", text(dir.path())]).status().expect("chmod");
    assert!(done.success());
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(dir.path().join("truespd"));
    // Root's home is not for them to read.
    let output = command.args(["doctor", "--peak"]).env("HOME", dir.path()).output().expect("setpriv runs");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let one_line = in_one_line(&told);
    assert!(one_line.contains("programs of other users are visible to root only"), "{told}");
    let commands: Vec<&str> = told.lines().filter(|line| line.trim_start().starts_with("set  ")).collect();
    assert!(commands.iter().all(|line| line.contains("sudo ")), "{commands:?}");
}

#[test]
fn in_a_container_it_says_whose_the_settings_are() {
    if !has(&[Need::LoopDevices, Need::Tool("unshare")]) {
        return;
    }
    let program = env!("CARGO_BIN_EXE_truespd");
    let output = Command::new("unshare")
        .args(["--pid", "--fork", "--mount-proc", program, "doctor"])
        .output()
        .expect("unshare runs");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{output:?}");
    assert!(told.contains("This is a container: the settings"), "{told}");
}
