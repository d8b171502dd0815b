//! `truespd inspect` on targets of this machine.

#[allow(dead_code, reason = "other tests use the rest of it")]
mod devices;

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Output};

use devices::{Loop, Mount, can_make_devices, has_tool, run, skip, text};
use serde_json::Value;
use unicode_width::UnicodeWidthStr;

fn inspect(args: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_truespd");
    Command::new(program).arg("inspect").args(args).output().expect("truespd runs")
}

/// What it prints for people.
fn told(target: &Path) -> String {
    let output = inspect(&[text(target)]);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && errors.is_empty(), "{errors}");
    let told = String::from_utf8(output.stdout).expect("text");
    assert_is_readable(&told);
    told
}

fn facts(target: &Path) -> Value {
    let output = inspect(&["--json", text(target)]);
    assert!(output.status.success(), "{output:?}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    report["targets"][0].clone()
}

/// The words of a report in one line, for looking for sentences.
fn flat(told: &str) -> String {
    told.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// 80 columns, except where a single word is longer and in the line to copy; no blanks at ends.
fn assert_is_readable(told: &str) {
    for line in told.lines() {
        let fits = line.width() <= 80 || line.trim_start().starts_with("diskspd ");
        let is_one_word = line.split_whitespace().any(|word| word.width() > 50);
        assert!(fits || is_one_word, "{} columns: {line:?}", line.width());
        assert_eq!(line, line.trim_end(), "blanks at the end");
    }
}

fn file_of(dir: &Path, bytes: usize) -> std::path::PathBuf {
    let path = dir.join("my data");
    fs::write(&path, vec![7; bytes]).expect("a file");
    path
}

#[test]
fn a_file_is_told_and_left_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let path = file_of(dir.path(), 1 << 20);
    let state = |path: &Path| {
        let m = fs::metadata(path).unwrap();
        (m.mtime_nsec(), m.ctime_nsec(), m.atime_nsec(), m.size(), m.blocks())
    };
    let before = state(&path);
    let told = told(&path);
    assert_eq!(state(&path), before);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing was made beside it");
    let head = format!("{}: file of 1 MiB (1,048,576 bytes)\n", path.display());
    assert!(flat(&told).starts_with(flat(&head).as_str()), "{told}");
    let flat = flat(&told);
    for part in ["From the target down to the disks", "Direct I/O", "Limits", "was not made by TrueSpd"] {
        assert!(flat.contains(part), "{part}: {told}");
    }
    let quoted = format!("'{}/truespd.dat'", dir.path().display());
    let plain = quoted.trim_matches('\'');
    assert!(told.trim_end().ends_with(&quoted) || told.trim_end().ends_with(plain), "{told}");
}

#[test]
fn it_tells_what_a_run_finds() {
    let dir = tempfile::tempdir().unwrap();
    let (target, result) = (dir.path().join("test.dat"), dir.path().join("result.json"));
    let run = Command::new(env!("CARGO_BIN_EXE_diskspd"))
        .args(["-c1M", "-d1", "-W0", "-b4K", "--json", text(&result), text(&target)])
        .output()
        .unwrap();
    assert!(run.status.success(), "{run:?}");
    let document: Value = serde_json::from_slice(&fs::read(&result).unwrap()).unwrap();
    let evidence = &document.pointer("/result/time_spans/0/measured/evidence/targets/0").expect("evidence");
    let inspected = facts(&target);
    for member in ["layers", "size_bytes", "filesystem", "mount_point", "direct_alignment_bytes", "kind"] {
        assert!(!evidence[member].is_null(), "{member}");
        assert_eq!(evidence[member], inspected[member], "{member}");
    }
    assert_eq!(inspected["write_test"]["allowed"], true, "a file of our own may be written");
}

#[test]
fn several_targets_and_bad_ones() {
    let dir = tempfile::tempdir().unwrap();
    let path = file_of(dir.path(), 4096);
    let both = inspect(&[text(&path), text(&path)]);
    assert_eq!(String::from_utf8_lossy(&both.stdout).matches("Write test").count(), 2);
    let missing = dir.path().join("missing");
    for bad in [text(&missing), text(dir.path()), "/dev/null", "#99"] {
        let output = inspect(&[text(&path), bad]);
        assert_eq!(output.status.code(), Some(3), "{bad}");
        assert!(output.stdout.is_empty(), "{bad}: nothing on standard output");
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(words.starts_with("ERROR: ") && words.contains(bad) && words.lines().count() == 1, "{words}");
    }
    assert_eq!(inspect(&[]).status.code(), Some(3));
}

#[test]
fn files_in_memory_are_called_so() {
    let Ok(dir) = tempfile::tempdir_in("/dev/shm") else { return skip("no tmpfs at /dev/shm") };
    let told = flat(&told(&file_of(dir.path(), 4096)));
    assert!(told.contains("filesystem in memory tmpfs at /dev/shm"), "{told}");
    assert!(told.contains("Files here live in memory (tmpfs)"), "{told}");
    assert!(!told.contains("-Su -W5"), "nothing to bypass: {told}");
}

#[test]
fn devices_free_in_use_and_behind_the_page_cache() {
    if !can_make_devices() {
        return;
    }
    let device = Loop::with_options(64 << 20, &["--direct-io=off"]);
    let words = flat(&told(&device.node));
    assert!(words.contains("Write test may run"), "{words}");
    assert!(
        words.contains("reaches its file through the page cache: even with -Su memory may answer"),
        "{words}"
    );
    run("mkfs.ext4", &["-q", text(&device.node)]);
    assert_eq!(facts(&device.node)["write_test"]["allowed"], false, "it holds a file system");
    let mount = Mount::new(&[text(&device.node)]);
    let words = flat(&told(&device.node));
    assert!(words.contains("is in use and will not be written"), "{words}");
    let inside = mount.point.join("data");
    File::create(&inside).unwrap().set_len(1 << 20).unwrap();
    let words = flat(&told(&inside));
    assert!(words.contains(&format!("loop device {}: 64 MiB", device.name())), "{words}");
}

#[test]
fn compression_is_told() {
    if !can_make_devices() || !has_tool("mkfs.btrfs") {
        return;
    }
    let device = Loop::new(128 << 20);
    run("mkfs.btrfs", &["-q", text(&device.node)]);
    let mount = Mount::new(&["-t", "btrfs", "-o", "compress=zstd:1", text(&device.node)]);
    let words = flat(&told(&file_of(&mount.point, 65536)));
    assert!(words.contains("btrfs compresses (zstd:1)") && words.contains("(-Zr)"), "{words}");
}
