//! Evidence of what happened during a run and of what was read and written, on real files and devices.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use super::real::{file_system, own_loop};
use crate::support::HANG;
use crate::support::devices::{self, Mount, Zram, text};
use crate::support::documents::is_counted;
use crate::support::gate::Gate;
use crate::support::needs::{Need, has, not_run};
use crate::support::program::{Lab, Running, with_ios};
use serde_json::Value;

const MIB: u64 = 1 << 20;

/// The only measured time span of a run of these words on a target.
fn measured(lab: &Lab, words: &str, target: &Path) -> Value {
    let run = || {
        let mut command = lab.command(&format!("-W0 --json {} {words}", text(&lab.path("out.json"))));
        command.arg(target);
        Running::new(command, words).finish()
    };
    with_ios(1, run).expect_code(0);
    let document: Value = serde_json::from_slice(&lab.read("out.json")).expect("JSON");
    fs::remove_file(lab.path("out.json")).expect("was written");
    document["result"]["time_spans"][0]["measured"].clone()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("no number: {value}"))
}

/// Bytes that the result counts, of all threads and targets.
fn completed(measured: &Value, direction: &str, what: &str) -> u64 {
    let threads = measured["threads"].as_array().expect("threads");
    let targets = threads.iter().flat_map(|thread| thread["targets"].as_array().expect("targets"));
    targets.map(|target| number(&target[direction][what])).sum()
}

/// What the disks counted, all of them together.
fn disks(measured: &Value, what: &str) -> u64 {
    let disks = measured["evidence"]["disks"].as_array().expect("disks");
    assert!(!disks.is_empty(), "no disks: {}", measured["evidence"]);
    disks.iter().map(|disk| number(&disk["total"][what])).sum()
}

fn target(measured: &Value) -> &Value {
    &measured["evidence"]["targets"][0]
}

/// A file of incompressible data, on the disk and not in the page cache.
fn written_file(path: &Path, bytes: u64) {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let data: Vec<u8> = (0..bytes / 8)
        .flat_map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()
        })
        .collect();
    fs::write(path, data).expect("room for a file");
    cold(path);
}

fn cold(path: &Path) {
    let file = File::open(path).expect("readable");
    file.sync_all().expect("can be synced");
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).expect("a hint");
}

/// The first of several runs that saw all: each looks at its target for a moment only, in which the disk may stand
/// still or the processor be taken away.
#[track_caller]
fn seen_whole(is_whole: impl Fn(&Value) -> bool, measure: impl Fn() -> Value) -> Value {
    let mut seen = measure();
    for _ in 1..20 {
        if is_whole(target(&seen)) {
            return seen;
        }
        seen = measure();
    }
    panic!("no run of 20 saw all: {}", target(&seen))
}

/// Whether a sample has so many blocks.
fn has_blocks(sample: &Value, blocks: u64) -> bool {
    sample["blocks"].as_u64() == Some(blocks)
}

/// Blocks of a sample, of zeros, repeated; and how small it becomes.
fn sample(value: &Value) -> (u64, u64, u64, f64) {
    let of = |name: &str| number(&value[name]);
    let ratio = of("compressed_bytes") as f64 / (of("blocks") * of("block_bytes")) as f64;
    (of("blocks"), of("zero_blocks"), of("repeated_blocks"), ratio)
}

/// The page cache answers, the disk does nothing; with direct I/O the disk does it all.
#[test]
fn cached_and_direct_reads_of_a_loop_device() {
    let Some((_disk, device)) = own_loop(64) else { return };
    if !has(&[Need::Tool("mkfs.ext4")]) {
        return;
    }
    let lab = Lab::new();
    devices::run("mkfs.ext4", &["-q", text(&device.node)]);
    let mount = Mount::new(&[text(&device.node)]);
    let file = mount.point.join("file");
    written_file(&file, 16 * MIB);

    // The lowest device is shared with everybody; the loop device is ours alone.
    let own = |measured: &Value, what: &str| -> u64 {
        let evidence = &measured["evidence"];
        let all = ["disks", "upper_disks"].map(|list| evidence[list].as_array().expect("a list").clone());
        let ours = all.concat().into_iter().find(|disk| disk["name"] == device.name());
        number(&ours.unwrap_or_else(|| panic!("no {}: {evidence}", device.name()))["total"][what])
    };
    let direct = measured(&lab, "-d1 -b4K -r -o8 -Su -L", &file);
    let (bytes, at_disk) = (completed(&direct, "read", "bytes"), own(&direct, "read_bytes"));
    assert!(bytes > 0 && at_disk.abs_diff(bytes) <= bytes / 100 + 65_536, "{at_disk} of {bytes}");
    assert_eq!(target(&direct)["residency"]["cached_before_bytes"], 0, "{}", target(&direct));
    assert_eq!(target(&direct)["residency"]["cached_after_bytes"], 0);

    // Nobody reads ahead of a random read: cold at first, warm at the end.
    let cold_run = measured(&lab, "-d1 -b4K -r -o1 -fr", &file);
    let residency = &target(&cold_run)["residency"];
    assert_eq!(number(&residency["range_bytes"]), 16 * MIB);
    assert_eq!(residency["cached_before_bytes"], 0, "the samples are not left in the cache: {residency}");
    assert!(number(&residency["cached_after_bytes"]) > 0, "{residency}");

    // The kernel may take some of it back on its own (DAMON) before the run looks: then once more.
    let cached_before = |seen: &Value| number(&target(seen)["residency"]["cached_before_bytes"]);
    let read_before = || {
        fs::read(&file).expect("readable");
        measured(&lab, "-d1 -b4K -r -o8", &file)
    };
    let warm = (0..2).map(|_| read_before()).find(|seen| cached_before(seen) > 15 * MIB);
    let warm = warm.unwrap_or_else(read_before);
    assert!(completed(&warm, "read", "bytes") > MIB);
    // Not all of it: what the kernel took since is read once more.
    let (done, at_disk) = (completed(&warm, "read", "bytes"), own(&warm, "read_bytes"));
    assert!(at_disk <= done / 50, "{at_disk} of {done} did not come from the cache");
    assert!(cached_before(&warm) > 15 * MIB, "{}", target(&warm));
    let (blocks, zero, repeated, ratio) = sample(&target(&warm)["content"]);
    assert!(blocks > 0 && (zero, repeated) == (0, 0) && ratio > 0.99, "{}", target(&warm));
    drop(mount);
}

/// On the disk of the temporary directory, which others use as well: at least what was completed.
#[test]
fn direct_writes_and_reads_reach_the_lowest_disk() {
    let lab = Lab::new();
    let line = "-c32M -d2 -b64K -r -o4 -w50 -Su -L -t2";
    let seen = measured(&lab, line, &lab.path("file"));
    let evidence = &seen["evidence"];
    if !is_counted(&seen) {
        return not_run(Need::CountedDisk);
    }
    for (direction, bytes) in [("read", "read_bytes"), ("write", "write_bytes")] {
        let (done, at_disk) = (completed(&seen, direction, "bytes"), disks(&seen, bytes));
        assert!(done > 0 && at_disk >= done, "{direction}: {at_disk} of {done}: {evidence}");
        let host = number(&evidence["host"][format!("own_disk_{bytes}")]);
        assert!(host >= done, "{direction}: the process {host} of {done}");
    }
    for disk in evidence["disks"].as_array().expect("a list") {
        let intervals = disk["intervals"].as_array().expect("a list");
        assert_eq!((intervals.len(), number(&disk["interval_ns"])), (2, 1_000_000_000), "{disk}");
        let sum: u64 = intervals.iter().map(|interval| number(&interval["read_bytes"])).sum();
        assert_eq!(sum, number(&disk["total"]["read_bytes"]), "{disk}");
        let window_s = number(&disk["window_ns"]) as f64 / 1e9;
        assert!((2.0..2.0 + HANG.as_secs_f64()).contains(&window_s), "{window_s}");
    }
    // One of two threads each.
    let threads = evidence["threads"].as_array().expect("a list");
    assert_eq!(threads.iter().map(|t| number(&t["id"])).collect::<Vec<_>>(), [0, 1]);
    for thread in threads {
        let elapsed = number(&thread["elapsed_ns"]);
        assert!(
            elapsed >= 2_000_000_000 && number(&thread["running_ns"]) <= elapsed + 20_000_000,
            "{thread}"
        );
        assert!(thread["cpu"].is_u64(), "bound to a processor: {thread}");
    }
    let depth = &evidence["queue_depth"];
    assert_eq!((number(&depth["asked"]), &depth["from_latency"]), (8, &Value::Bool(true)), "{depth}");
    let reached = depth["reached"].as_f64().expect("a number");
    assert!(reached > 0.0 && reached <= 8.5, "{depth}");
    assert!(evidence["host"]["memory_available_bytes"].is_u64(), "{evidence}");
    assert!(evidence["host"]["steal_percent"].is_number(), "{evidence}");
}

/// Every I/O is in the series, with and without time stamps of single I/Os.
#[test]
fn completions_over_time_add_up() {
    let lab = Lab::new();
    let file = lab.write("file", &vec![7; 4 << 20]);
    for (words, intervals) in
        [("-d1", 20), ("-d2 -L", 20), ("-d2 -D500 -t2 -o4", 20), ("-d1 -g200i -b4K", 20), ("-d3", 30)]
    {
        for engine in ["", "--engine null "] {
            let seen = measured(&lab, &format!("{engine}-b4K -r {words}"), &file);
            let series = &seen["evidence"]["series"];
            let reads: Vec<u64> = series["reads"].as_array().expect("a list").iter().map(number).collect();
            let writes: Vec<u64> = series["writes"].as_array().expect("a list").iter().map(number).collect();
            assert_eq!((reads.len(), writes.len()), (intervals, intervals), "{engine}{words}");
            assert_eq!(
                reads.iter().sum::<u64>(),
                completed(&seen, "read", "ios"),
                "{engine}{words}: {series}"
            );
            assert_eq!(writes.iter().sum::<u64>(), 0);
        }
    }
    // 200 per second by the pace: in simulated time as many in every interval of 50 ms.
    let seen = measured(&lab, "--engine sim -b4K -d1 -g200i", &file);
    let reads: Vec<u64> =
        seen["evidence"]["series"]["reads"].as_array().expect("a list").iter().map(number).collect();
    assert!(reads.iter().all(|count| (9..=11).contains(count)), "{reads:?}");
}

/// Ctrl+C: what was measured so far, in whole intervals.
#[test]
fn a_stopped_run_has_its_evidence() {
    let lab = Lab::new();
    let file = lab.path("file");
    written_file(&file, 8 * MIB);
    let running = lab.start("-d600 -W0 -v -P1 -b4K -r -o4 -Su --json out.json file");
    // The first I/O is in a second that is whole at the end.
    running.wait_for_ios();
    std::thread::sleep(std::time::Duration::from_millis(1300));
    running.signal(rustix::process::Signal::INT);
    running.finish().expect_code(0);
    let document: Value = serde_json::from_slice(&lab.read("out.json")).expect("JSON");
    let seen = &document["result"]["time_spans"][0]["measured"];
    let (evidence, seconds) = (&seen["evidence"], seen["test_time_s"].as_f64().expect("a number"));
    assert!((1.0..600.0).contains(&seconds), "{seconds}");
    let reads: Vec<u64> =
        evidence["series"]["reads"].as_array().expect("a list").iter().map(number).collect();
    assert_eq!(reads.len(), seconds as usize, "whole seconds of {seconds}");
    assert!((1..=completed(seen, "read", "ios")).contains(&reads.iter().sum::<u64>()), "{reads:?}");
    if !is_counted(seen) {
        return not_run(Need::CountedDisk);
    }
    for disk in evidence["disks"].as_array().expect("a list") {
        let window_s = number(&disk["window_ns"]) as f64 / 1e9;
        assert!(
            (seconds - 0.001..seconds + HANG.as_secs_f64()).contains(&window_s),
            "{window_s} of {seconds}"
        );
        assert!(number(&disk["total"]["read_bytes"]) >= completed(seen, "read", "bytes"), "{disk}");
        assert!(disk["intervals"].as_array().is_some_and(|list| !list.is_empty()), "{disk}");
    }
}

/// The null engine does nothing, and the evidence shows that; simulated disks are none of this machine's.
#[test]
fn engines_without_disks() {
    let lab = Lab::new();
    let file = lab.path("file");
    written_file(&file, 4 * MIB);
    let null = measured(&lab, "--engine null -b4K -r -o32 -d1", &file);
    if !null["evidence"]["disks"].as_array().expect("a list").is_empty() {
        let own = number(&null["evidence"]["host"]["own_disk_read_bytes"]);
        // Its own code, where the kernel has taken that back, is read from the disk as well.
        let program = fs::metadata(crate::support::program::diskspd()).expect("it runs").len();
        assert!(own < program, "{own} of at most {program}: {}", null["evidence"]["host"]);
    }
    let simulated = measured(&lab, "--engine sim -b4K -r -o4 -d1", &file);
    let evidence = &simulated["evidence"];
    assert!(evidence["disks"].as_array().is_some_and(Vec::is_empty), "{evidence}");
    assert!(evidence["host"].is_null() && target(&simulated)["residency"].is_null(), "{evidence}");
    let series = evidence["series"]["reads"].as_array().expect("a list");
    assert_eq!(series.iter().map(number).sum::<u64>(), completed(&simulated, "read", "ios"));
}

#[test]
fn never_written_sparse_and_zero_files() {
    let lab = Lab::new();
    // A disk that others use may take longer than a run looks.
    let (_disk, mount) = file_system(300).unzip();
    let folder = mount.as_ref().map_or_else(|| lab.work(), |mount| mount.point.clone());
    let make = |name: &str| {
        let path = folder.join(name);
        let file = File::options().create_new(true).read(true).write(true).open(&path).expect("a file");
        (path, file)
    };
    let (sparse, file) = make("sparse");
    file.write_all_at(&vec![7; MIB as usize], 3 * MIB).expect("room");
    file.set_len(8 * MIB).expect("room");
    file.sync_all().expect("synced");
    let is_whole = |facts: &Value| has_blocks(&facts["content"], 64) && facts["extents"]["unknown"].is_null();
    let seen = seen_whole(is_whole, || measured(&lab, "-d1 -b4K -r -Su", &sparse));
    let extents = &target(&seen)["extents"];
    assert_eq!(number(&extents["range_bytes"]), 8 * MIB);
    assert_eq!(number(&extents["hole_bytes"]), 7 * MIB, "{extents}");
    assert_eq!(number(&extents["written_bytes"]), MIB, "{extents}");
    let (blocks, zero, repeated, ratio) = sample(&target(&seen)["content"]);
    assert_eq!((blocks, zero, repeated), (64, 56, 62), "{}", target(&seen));
    assert!(ratio < 0.05, "{ratio}");

    let seen = measured(&lab, "-d1 -b4K -r -B3M:1M", &sparse);
    assert_eq!(
        number(&target(&seen)["extents"]["hole_bytes"]),
        0,
        "only the tested range: {}",
        target(&seen)
    );

    let (reserved, file) = make("reserved");
    let flags = rustix::fs::FallocateFlags::empty();
    if rustix::fs::fallocate(&file, flags, 0, 8 * MIB).is_ok() {
        let seen = seen_whole(is_whole, || measured(&lab, "-d1 -b4K -r -Su", &reserved));
        let extents = &target(&seen)["extents"];
        let tells = ["ext4", "xfs", "btrfs"].iter().any(|name| target(&seen)["filesystem"] == *name);
        if !tells {
            return not_run(Need::Layout);
        }
        assert_eq!(number(&extents["unwritten_bytes"]), 8 * MIB, "{extents}");
        let (blocks, zero, ..) = sample(&target(&seen)["content"]);
        assert_eq!(zero, blocks, "all zeros: {}", target(&seen));
        // Written, and not on the disk yet.
        file.write_all_at(&vec![1; 8 << 20], 0).expect("room");
        let is_known = |facts: &Value| facts["extents"]["unknown"].is_null();
        let seen = seen_whole(is_known, || measured(&lab, "-d1 -b4K -r", &reserved));
        let extents = &target(&seen)["extents"];
        assert_eq!(number(&extents["written_bytes"]), 8 * MIB, "{extents}");
        // So much of it that it is not written back for a look.
        let much = vec![1; 96 << 20];
        rustix::fs::fallocate(&file, flags, 0, 96 * MIB).expect("room");
        file.sync_all().expect("synced");
        file.write_all_at(&much, 0).expect("room");
        let seen = measured(&lab, "-d1 -b4K -r", &reserved);
        let extents = &target(&seen)["extents"];
        let is_open = extents["unknown"].is_string();
        assert!(is_open || number(&extents["written_bytes"]) == 96 * MIB, "{extents}");
    }
    let (zeros, file) = make("zeros");
    file.write_all_at(&vec![0; 8 << 20], 0).expect("room");
    file.sync_all().expect("synced");
    let is_whole = |facts: &Value| has_blocks(&facts["content"], 32) && facts["extents"]["unknown"].is_null();
    let seen = seen_whole(is_whole, || measured(&lab, "-d1 -b64K -r -Su", &zeros));
    assert_eq!(number(&target(&seen)["extents"]["written_bytes"]), 8 * MIB);
    let (blocks, zero, ..) = sample(&target(&seen)["content"]);
    assert_eq!(zero, blocks, "{}", target(&seen));
    assert!(target(&seen)["written"].is_null(), "a read test writes nothing");
}

#[test]
fn what_is_written_is_what_the_options_say() {
    let lab = Lab::new();
    for (words, zero, repeated, ratio) in [
        ("", 0..=0, 63..=63, 0.0..0.2),
        ("-Z", 64..=64, 63..=63, 0.0..0.05),
        ("-Zr", 0..=0, 0..=0, 0.99..1.1),
        // Where direct I/O goes by 4 KiB, the source has 256 blocks.
        ("-Z1M", 0..=0, 0..=24, 0.99..1.1),
        ("-Z8K", 0..=0, 30..=63, 0.99..1.1),
    ] {
        // So small that a slow disk, too, is written all over.
        let line = format!("-c1M -d1 -b4K -r -w100 -Su {words}");
        let is_whole = |facts: &Value| has_blocks(&facts["written"], 64);
        let seen = seen_whole(is_whole, || measured(&lab, &line, &lab.path("file")));
        let (_, zeros, repeats, packed) = sample(&target(&seen)["written"]);
        assert!(
            zero.contains(&zeros) && repeated.contains(&repeats),
            "{words}: {}",
            target(&seen)["written"]
        );
        assert!(ratio.contains(&packed), "{words}: {packed}");
        assert!(target(&seen)["content"].is_null(), "{words}: nothing is read");
    }
}

#[test]
fn compressed_files_of_btrfs() {
    if !has(&[Need::LoopDevices, Need::Tool("mkfs.btrfs")]) {
        return;
    }
    let Some((_disk, device)) = own_loop(256) else { return };
    let lab = Lab::new();
    let _only = devices::only_btrfs();
    devices::run("mkfs.btrfs", &["-q", text(&device.node)]);
    let mount = Mount::new(&["-o", "compress-force=zstd", text(&device.node)]);
    let file = mount.point.join("file");
    fs::write(&file, vec![7; 8 << 20]).expect("room");
    cold(&file);
    let is_whole = |facts: &Value| !facts["content"].is_null() && facts["extents"]["unknown"].is_null();
    let seen = seen_whole(is_whole, || {
        cold(&file);
        measured(&lab, "-d1 -b4K -r", &file)
    });
    let facts = target(&seen);
    assert_eq!(number(&facts["extents"]["encoded_bytes"]), 8 * MIB, "{facts}");
    assert_eq!(number(&facts["extents"]["written_bytes"]), 8 * MIB, "{facts}");
    assert!(sample(&facts["content"]).3 < 0.05, "{facts}");
    assert_eq!(facts["residency"]["cached_before_bytes"], 0, "{facts}");
    // The device number of btrfs is its own: the disk is found all the same.
    let names: Vec<&Value> = ["disks", "upper_disks"]
        .iter()
        .flat_map(|list| seen["evidence"][list].as_array().expect("a list"))
        .map(|disk| &disk["name"])
        .collect();
    assert!(names.iter().any(|name| *name == device.name()), "{names:?}");
    drop(mount);
}

/// A device in memory is the lowest one, and only ours.
#[test]
fn every_byte_of_a_zram_device_is_counted() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let Some(zram) = Zram::new(32 * MIB) else { return };
    let lab = Lab::new();
    written_file(&lab.path("data"), 32 * MIB);
    devices::run(
        "dd",
        &[
            &format!("if={}", text(&lab.path("data"))),
            &format!("of={}", text(&zram.node)),
            "bs=1M",
            "oflag=direct",
            "status=none",
        ],
    );
    let seen = measured(&lab, "-d1 -b4K -r -o4 -Su", &zram.node);
    let evidence = &seen["evidence"];
    assert_eq!(evidence["disks"].as_array().map(Vec::len), Some(1), "{evidence}");
    assert_eq!(evidence["upper_disks"].as_array().map(Vec::len), Some(0), "{evidence}");
    let (ios, at_disk) = (completed(&seen, "read", "ios"), disks(&seen, "reads"));
    assert!((ios..=ios + 4).contains(&at_disk), "{at_disk} of {ios}");
    assert_eq!(disks(&seen, "writes"), 0);
}

#[test]
fn a_device_itself() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let Some((_disk, device)) = own_loop(32) else { return };
    let lab = Lab::new();
    written_file(&lab.path("data"), 32 * MIB);
    fs::write(&device.node, lab.read("data")).expect("room");
    for node in [&device.node, &device.image] {
        devices::run("blockdev", &["--flushbufs", text(node)]);
    }
    let is_whole = |facts: &Value| has_blocks(&facts["content"], 64);
    let seen = seen_whole(is_whole, || measured(&lab, "-d1 -b4K -r -o4 -Su", &device.node));
    let facts = target(&seen);
    assert!(facts["extents"].is_null(), "a device has no layout");
    assert_eq!(facts["residency"]["cached_before_bytes"], 0, "{facts}");
    let (blocks, zero, _, ratio) = sample(&facts["content"]);
    assert!(blocks > 0 && zero == 0 && ratio > 0.99, "{facts}");
    let warm = measured(&lab, "-d1 -b64K -s -o4", &device.node);
    assert!(number(&target(&warm)["residency"]["cached_after_bytes"]) > MIB, "{}", target(&warm));
}

/// Eight I/Os in flight at a program that takes 20 ms for each: the kernel knows of eight without an answer.
#[test]
fn requests_that_wait_in_a_serving_program() {
    if !has(&[Need::Fuse, Need::Tool("bindfs"), Need::Tool("unshare")]) {
        return;
    }
    let lab = Lab::new();
    let gate = Gate::slow(|_| Duration::from_millis(20)).expect("a file of known latency");
    // The kernel tells it in a tree of its own, which is not mounted everywhere.
    let script = "mount -t fusectl fusectl /sys/fs/fuse/connections && exec \"$@\"";
    let line = "-W0 -d10 -b4K -r -B9M:2M -o8 -Su --json out.json";
    let mut command = lab.command_behind(&["unshare", "--mount", "sh", "-c", script, "sh"], line);
    command.arg(gate.path());
    Running::new(command, line).finish().expect_code(0);
    let document: Value = serde_json::from_slice(&lab.read("out.json")).expect("JSON");
    let result = &document["result"];
    let program = &result["time_spans"][0]["measured"]["evidence"]["programs"][0];
    let waiting = program["waiting_mean"].as_f64().unwrap_or_else(|| panic!("not known: {program}"));
    // Where the test gets no processor it asks for less.
    assert!((0.5..=9.0).contains(&waiting), "{program}");
    let findings = result["verdict"]["findings"].as_array().expect("a list");
    let words = |finding: &Value| finding["says"].as_str().unwrap_or_default().to_string();
    let told = findings.iter().map(words).find(|says| says.contains("requests waited in it on average"));
    assert!(told.is_some(), "{findings:?}");
}
