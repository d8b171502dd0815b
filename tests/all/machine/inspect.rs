//! `truespd inspect` on targets of this machine.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::devices::{Loop, Mount, Zram, only_btrfs, run, text};
use crate::support::needs::{Need, has, not_run};
use crate::support::program::copy_to_run;
use crate::support::words::in_one_line;
use serde_json::Value;
use truespd_platform::sys::extents::{Cached, cached, drop_cached};
use unicode_width::UnicodeWidthStr;

const MIB: u64 = 1 << 20;

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

fn report(target: &Path) -> Value {
    let output = inspect(&["--json", text(target)]);
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn facts(target: &Path) -> Value {
    report(target)["targets"][0].clone()
}

#[test]
fn what_is_not_visible_without_root_is_told() {
    if !has(&[Need::LoopDevices, Need::Tool("setpriv")]) {
        return;
    }
    let device = Loop::new(8 * MIB);
    let dir = tempfile::tempdir().expect("a temporary directory");
    let at = |name: &str| dir.path().join(name);
    copy_to_run(Path::new(env!("CARGO_BIN_EXE_truespd")), &at("truespd"));
    let number = fs::metadata(&device.node).expect("a node").rdev();
    let numbers = [rustix::fs::major(number), rustix::fs::minor(number)].map(|number| number.to_string());
    run("mknod", &[text(&at("node")), "b", &numbers[0], &numbers[1]]);
    fs::write(at("file"), [1; 4096]).expect("a file");
    run("chown", &["--recursive", "65534", text(dir.path())]);
    let root = File::options().write(true).open(at("file")).expect("root may");
    let inspect = |name: &str| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(at("truespd"));
        let output = command.args(["inspect", "--json", text(&at(name))]).output().expect("setpriv starts");
        assert!(output.status.success(), "{output:?}");
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        report["targets"][0]["write_test"].clone()
    };
    let of_device = inspect("node");
    assert_eq!(of_device["allowed"], true, "{of_device}");
    assert_eq!(of_device["unseen"], "programs of other users may write it, and only root can see them");
    let of_file = inspect("file");
    let refusal = of_file["refusal"].as_str().expect("words");
    assert!(
        refusal.contains("another program has it open for writing; only root can see which one"),
        "{refusal}"
    );
    drop(root);
    let free = inspect("file");
    let refusal = free["refusal"].as_str().expect("words");
    assert!(refusal.contains("was not made by TrueSpd") && !refusal.contains("another program"), "{free}");
    assert_eq!(report(&device.node)["targets"][0]["write_test"]["unseen"], Value::Null, "root sees all");
}

/// Bytes that neither compress nor repeat.
fn random(bytes: u64) -> Vec<u8> {
    let mut data = Vec::new();
    File::open("/dev/urandom").unwrap().take(bytes).read_to_end(&mut data).unwrap();
    data
}

/// The page cache of a file or device.
fn page_cache(file: &File) -> Cached {
    cached(file, &[(0, 1 << 30)]).expect("our own")
}

/// Of a sample, which a busy machine may cut short.
fn blocks(facts: &Value, which: &str) -> u64 {
    let sample = &facts["content"];
    assert!(sample["blocks"].as_u64().is_some_and(|blocks| blocks > 0), "no sample: {facts}");
    sample[which].as_u64().expect("a number")
}

/// The sample was cut so short that proportions say nothing.
fn is_too_small(facts: &Value) -> bool {
    blocks(facts, "blocks") < 8
}

/// Whether the file system of temporary files tells written space from space that was only allocated.
fn tells_layout(facts: &Value) -> bool {
    let tells = ["ext4", "xfs", "btrfs"].iter().any(|name| facts["filesystem"] == *name);
    if !tells {
        not_run(Need::Layout);
    }
    tells
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
        (m.mtime_nsec(), m.ctime_nsec(), m.atime_nsec(), m.size())
    };
    // Not before what was written is on the disk: with it comes the place there.
    File::open(&path).unwrap().sync_all().unwrap();
    let before = state(&path);
    let told = told(&path);
    assert_eq!(state(&path), before);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing was made beside it");
    let head = format!("{}: file of 1 MiB (1,048,576 bytes)\n", path.display());
    assert!(in_one_line(&told).starts_with(in_one_line(&head).as_str()), "{told}");
    let flat = in_one_line(&told);
    for part in [
        "From the target down to the disks",
        "Direct I/O",
        "Limits",
        "was not made by TrueSpd",
        "This machine now",
    ] {
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
    let run = Command::new(crate::support::program::diskspd())
        .args(["-c1M", "-d1", "-W0", "-b4K", "--json", text(&result), text(&target)])
        .output()
        .unwrap();
    assert!(run.status.success(), "{run:?}");
    let document: Value = serde_json::from_slice(&fs::read(&result).unwrap()).unwrap();
    let evidence = document.pointer("/result/time_spans/0/measured/evidence/targets/0").expect("evidence");
    let inspected = facts(&target);
    for member in ["layers", "size_bytes", "filesystem", "mount_point", "direct_alignment_bytes", "kind"] {
        assert!(!evidence[member].is_null(), "{member}");
        assert_eq!(evidence[member], inspected[member], "{member}");
    }
    for facts in [evidence, &inspected] {
        assert!(is_too_small(facts) || blocks(facts, "repeated_blocks") > 0, "the pattern");
    }
    assert_eq!(evidence["extents"]["written_bytes"], inspected["extents"]["written_bytes"]);
    assert_eq!(inspected["write_test"]["allowed"], true, "a file of our own may be written");
}

#[test]
fn several_targets_and_bad_ones() {
    let dir = tempfile::tempdir().unwrap();
    let path = file_of(dir.path(), 4096);
    let both = inspect(&[text(&path), text(&path)]);
    let told = String::from_utf8_lossy(&both.stdout).into_owned();
    assert_is_readable(&told);
    assert_eq!([told.matches("Write test").count(), told.matches("This machine now").count()], [2, 1]);
    let missing = dir.path().join("missing");
    for bad in [text(&missing), text(dir.path()), "/dev/null", "#99"] {
        let output = inspect(&[text(&path), bad]);
        assert_eq!(output.status.code(), Some(3), "{bad}");
        assert!(output.stdout.is_empty(), "{bad}: nothing on standard output");
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(words.starts_with("ERROR: ") && words.contains(bad) && words.lines().count() == 1, "{words}");
    }
}

#[test]
fn files_in_memory_are_called_so() {
    if !has(&[Need::MemoryFilesystem]) {
        return;
    }
    let dir = tempfile::tempdir_in("/dev/shm").expect("a folder in memory");
    let told = in_one_line(&told(&file_of(dir.path(), 4096)));
    assert!(told.contains("file system in memory tmpfs at /dev/shm"), "{told}");
    assert!(
        told.contains("Files here are in memory (tmpfs): a test measures memory and processor, not a disk."),
        "{told}"
    );
    assert!(!told.contains("-Su -W5"), "nothing to bypass: {told}");
}

#[test]
fn devices_free_in_use_and_behind_the_page_cache() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let device = Loop::with_options(64 << 20, &["--direct-io=off"]);
    let words = in_one_line(&told(&device.node));
    assert!(words.contains("Write test allowed by the write guard"), "{words}");
    assert!(words.contains("uses the page cache for its file: even with -Su memory may answer"), "{words}");
    run("mkfs.ext4", &["-q", text(&device.node)]);
    assert_eq!(facts(&device.node)["write_test"]["allowed"], false, "it holds a file system");
    let mount = Mount::new(&[text(&device.node)]);
    let words = in_one_line(&told(&device.node));
    assert!(words.contains("is in use and will not be written"), "{words}");
    let inside = mount.point.join("data");
    File::create(&inside).unwrap().set_len(1 << 20).unwrap();
    let words = in_one_line(&told(&inside));
    assert!(words.contains(&format!("loop device {}: 64 MiB", device.name())), "{words}");
}

#[test]
fn compression_is_told() {
    if !has(&[Need::LoopDevices, Need::Tool("mkfs.btrfs")]) {
        return;
    }
    let device = Loop::new(128 << 20);
    let _only = only_btrfs();
    run("mkfs.btrfs", &["-q", text(&device.node)]);
    let mount = Mount::new(&["-t", "btrfs", "-o", "compress=zstd:1", text(&device.node)]);
    let words = in_one_line(&told(&file_of(&mount.point, 65536)));
    assert!(words.contains("btrfs compresses (zstd:1)") && words.contains("(-Zr)"), "{words}");
}

#[test]
fn never_written_space_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let sparse = dir.path().join("sparse");
    File::create(&sparse).unwrap().set_len(64 * MIB).unwrap();
    let seen = facts(&sparse);
    assert_eq!(seen["extents"]["hole_bytes"], 64 * MIB, "{seen}");
    assert_eq!(blocks(&seen, "zero_blocks"), blocks(&seen, "blocks"));
    let words = in_one_line(&told(&sparse));
    for part in [
        "Layout 64 MiB in holes Page cache none of it Content sample of ",
        " blocks of 4 KiB: only zeros",
        "The file was never written (64 MiB in holes): reads there return zeros without the disk. -c makes files with \
         every byte written.",
    ] {
        assert!(words.contains(part), "{words}");
    }
    assert!(!words.contains("sampled blocks hold only zeros"), "told once: {words}");
    let file = File::options().write(true).open(&sparse).unwrap();
    if !tells_layout(&seen) {
        return;
    }
    rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, 32 * MIB).unwrap();
    file.write_all_at(&random(16 * MIB), 0).unwrap();
    file.sync_all().unwrap();
    let extents = facts(&sparse)["extents"].clone();
    for (member, bytes) in [("written_bytes", 16), ("unwritten_bytes", 16), ("hole_bytes", 32)] {
        assert_eq!(extents[member], bytes * MIB, "{member}: {extents}");
    }
    let words = in_one_line(&told(&sparse));
    assert!(
        words.contains(
            "75 % of the file was never written (32 MiB in holes, 16 MiB allocated but not written): "
        ),
        "{words}"
    );
}

#[test]
fn page_cache_is_told_and_left_alone() {
    if !has(&[Need::PageCache]) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data");
    fs::write(&path, random(16 * MIB)).unwrap();
    let file = File::open(&path).unwrap();
    file.sync_all().unwrap();
    drop_cached(&file, 0, 16 * MIB);
    if page_cache(&file).cached_bytes > 0 {
        return not_run(Need::PageCache);
    }
    // The kernel may take memory back at any time: only a look during which it did not counts.
    let undisturbed = (0..5).find_map(|_| {
        let mut first = vec![0; 4 << 20];
        file.read_exact_at(&mut first, 0).unwrap();
        drop_cached(&file, 4 * MIB, 12 * MIB);
        let before = page_cache(&file).cached_bytes;
        let (seen, words) = (facts(&path), in_one_line(&told(&path)));
        let is_there = [before, page_cache(&file).cached_bytes] == [4 * MIB; 2];
        is_there.then_some((seen, words))
    });
    let (seen, words) = undisturbed.expect("a quarter stays in the page cache while it is looked at");
    for member in ["cached_before_bytes", "cached_after_bytes"] {
        assert_eq!(seen["residency"][member], 4 * MIB, "{seen}");
    }
    assert!(words.contains("(16 MiB) fits into the memory of this machine"));
    for part in [
        "Page cache 4 MiB of 16 MiB (25 %)",
        "and 4 MiB of it are in the page cache now: without -Su",
        "do not compress",
    ] {
        assert!(words.contains(part), "{part}: {words}");
    }
    drop_cached(&file, 0, 16 * MIB);
    blocks(&facts(&path), "blocks");
    assert_eq!(page_cache(&file).cached_bytes, 0, "nothing came in");
    assert!(in_one_line(&told(&path)).contains("Page cache none of it"));
}

/// A look writes nothing back: what is in memory stays there, and shows.
#[test]
fn what_is_not_on_the_disk_yet_stays_in_memory() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data");
    let file = File::options().create_new(true).read(true).write(true).open(&path).unwrap();
    if !tells_layout(&facts(&file_of(dir.path(), 4096))) {
        return;
    }
    rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, 8 * MIB).unwrap();
    file.sync_all().unwrap();
    let data = random(8 * MIB);
    // Somebody else may have everything written back at any time: other tests do so, many times a second.
    let mut is_seen = false;
    for _ in 0..50 {
        file.write_all_at(&data, 0).unwrap();
        let before = page_cache(&file);
        let seen = facts(&path);
        is_seen = page_cache(&file) == before;
        let Some(dirty) = before.dirty_bytes else { return not_run(Need::DirtyPages) };
        assert_eq!(blocks(&seen, "zero_blocks"), 0, "what is in memory counts: {seen}");
        if is_seen && dirty == 8 * MIB && seen["extents"]["unwritten_bytes"] == 8 * MIB {
            let why = seen["extents"]["unknown"].as_str().expect("a caution");
            assert!(why.starts_with("8388608 bytes in the page cache were not on the disk yet"), "{why}");
        }
        if is_seen {
            break;
        }
    }
    assert!(is_seen, "the page cache changed with every look");
}

#[test]
fn devices_are_sampled_and_their_page_cache_is_left_alone() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let device = Loop::new(64 * MIB);
    let zeros = in_one_line(&told(&device.node));
    // The file of the loop device is a hole.
    assert!(zeros.contains("The device was never written (100 % without room in the file of"), "{zeros}");
    assert!(zeros.contains("fills it, and destroys its content."), "{zeros}");
    // Open, as a virtual machine has it: otherwise the page cache goes with the last descriptor.
    let open = File::options().read(true).write(true).open(&device.node).unwrap();
    open.write_all_at(&random(8 * MIB), 0).unwrap();
    open.sync_all().unwrap();
    drop_cached(&open, 0, 64 * MIB);
    assert_eq!(page_cache(&open).cached_bytes, 0);
    let seen = facts(&device.node);
    let (all, zero) = (blocks(&seen, "blocks"), blocks(&seen, "zero_blocks"));
    assert!(zero < all && (is_too_small(&seen) || zero * 64 >= all * 48), "an eighth is written: {seen}");
    assert!(seen["extents"].is_null() && seen["free_bytes"].is_null(), "{seen}");
    assert_eq!(page_cache(&open).cached_bytes, 0, "the signatures that were looked for are gone, too");
    drop(open);
    // Nothing is left to be initialised behind our back.
    run("mkfs.ext4", &["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", text(&device.node)]);
    let _mount = Mount::new(&[text(&device.node)]);
    let open = File::open(&device.node).unwrap();
    // The file system reads and writes some of its own pages now and then.
    let is_left_alone = || {
        let before = page_cache(&open).cached_bytes;
        told(&device.node);
        page_cache(&open).cached_bytes == before
    };
    assert!((0..5).any(|_| is_left_alone()), "of a mounted device");
}

#[test]
fn others_on_the_disk_are_told() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let Some(device) = Zram::new(16 * MIB) else { return };
    let mut options = File::options();
    let direct = options.read(true).write(true).custom_flags(rustix::fs::OFlags::DIRECT.bits() as i32);
    let file = direct.open(&device.node).unwrap();
    let quiet = report(&device.node);
    let disk = |report: &Value| report["machine"]["disks"][0].clone();
    assert_eq!(disk(&quiet)["total"]["read_bytes"], 0, "own reads do not count: {quiet}");
    let (stop, has_read) = (AtomicBool::new(false), AtomicBool::new(false));
    let words = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let layout = std::alloc::Layout::from_size_align(65_536, 4096).unwrap();
            let mut aligned = vec![0u8; 2 * layout.size()];
            let at = aligned.as_ptr().align_offset(layout.align());
            while !stop.load(Ordering::Relaxed) {
                file.read_exact_at(&mut aligned[at..at + layout.size()], 0).unwrap();
                has_read.store(true, Ordering::Relaxed);
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
        });
        // Nothing here may fail before the other thread ends.
        while !has_read.load(Ordering::Relaxed) && !reader.is_finished() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let look = || {
            let output =
                Command::new(env!("CARGO_BIN_EXE_truespd")).arg("inspect").arg(&device.node).output();
            output.map(|output| in_one_line(&String::from_utf8_lossy(&output.stdout)))
        };
        // Once more when the other thread got no processor during the look, which is a small part of the whole.
        let sees =
            |words: &Result<String, _>| words.as_ref().is_ok_and(|words| words.contains(" now (read at "));
        let words = (0..2).map(|_| look()).find(sees).unwrap_or_else(look);
        stop.store(true, Ordering::Relaxed);
        words.expect("truespd runs")
    });
    let name = device.node.file_name().unwrap().to_str().unwrap();
    assert!(words.contains(&format!("Disk {name} read at ")), "{words}");
    assert!(words.contains(&format!("Other programs use {name} now (read at ")), "{words}");
    assert!(
        words.contains(": stop the other programs that use the disks (iotop and pidstat -d show them)"),
        "{words}"
    );
}

#[test]
fn the_machine_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let report = report(&file_of(dir.path(), 4096));
    assert_eq!((&report["format"], &report["format_version"]), (&"truespd-inspect".into(), &1.into()));
    let machine = &report["machine"];
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("no number: {value} in {machine}"));
    let available = number(&machine["host"]["memory_available_bytes"]);
    assert!(available > 0.0 && available <= number(&machine["memory_bytes"]), "{machine}");
    assert!(number(&machine["processors"]) >= number(&machine["processors_allowed"]), "{machine}");
    assert!((0.0..=100.0).contains(&number(&machine["busy_percent"])), "{machine}");
    assert!((0.0..=100.0).contains(&number(&machine["steal_since_boot_percent"])), "{machine}");
    assert!(number(&machine["clock"]["stamp_cost_ns"]) > 0.0, "{machine}");
    assert!(machine["clock"]["name"] != "CLOCK_MONOTONIC" || machine["clock"]["why_not_counter"].is_string());
    let source = fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    assert_eq!(machine["clock_source"].as_str(), source.ok().as_deref().map(str::trim));
    let has_stalls = fs::read_to_string("/proc/pressure/cpu").is_ok();
    assert_eq!(machine["stalled"]["cpu_some_percent"].is_number(), has_stalls, "{machine}");
    assert!(number(&machine["window_ns"]) >= 2e8);
}

/// What is suggested fits, and is refused before it does not.
#[test]
fn suggested_files_fit() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let on = |bytes: u64, options: &[&str]| {
        let device = Loop::on_disk(bytes)?;
        run("mkfs.ext4", &["-q", text(&device.node)]);
        let mount = Mount::new(&[text(&device.node)]);
        let file = file_of(&mount.point, 4096);
        if !options.is_empty() {
            run("mount", &[options, &[text(&mount.point)]].concat());
        }
        let seen = facts(&file);
        let words = in_one_line(&told(&file));
        Some((seen, words))
    };
    let Some((seen, words)) = on(4096 * MIB, &[]) else { return };
    let line = seen["suggested"].as_str().expect("there is room");
    assert!(line.starts_with("diskspd -c1G -Zr -b4K -r "), "{line}");
    assert!(words.ends_with("/truespd.dat'") && words.contains("(makes a file and reads it)"), "{words}");
    assert!(seen["free_bytes"].as_u64().is_some_and(|free| free > 2048 * MIB && free < 4096 * MIB), "{seen}");
    let Some((seen, words)) = on(64 * MIB, &[]) else { return };
    assert!(
        words.contains(
            "MiB are free there: a test file of 1 GiB, the smallest that is worth measuring with, would take"
        ),
        "{words}"
    );
    let line = seen["suggested"].as_str().expect("the file itself, small as it is");
    assert!(line.ends_with("/my data'") && !line.contains(" -c"), "{line}");
    let Some((_, words)) = on(64 * MIB, &["-o", "remount,ro"]) else { return };
    assert!(
        words.contains("The file system is mounted read-only: a test file cannot be made there."),
        "{words}"
    );
}
