//! Trims (`--trim`): their share, their figures, what they do to files and devices, and what is refused.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use crate::support::devices::{Loop, Mount, text};
use crate::support::needs::{Need, has};
use crate::support::program::Lab;
use crate::support::runner::{Place, has_engine};
use diskspd::render;
use serde_json::Value;
use truespd_core::result::Summary;

const MIB: u64 = 1 << 20;

#[test]
fn trims_are_no_reads_and_no_writes_and_have_latencies_of_their_own() {
    let place = Place::new(16 * MIB);
    let sim = "latency=100us,write_latency=200us,trim_latency=1ms";
    let outcome = place.sim(sim, "-b4K -r -w30 -o1 --trim 20 -W0 -d60 -L FILE");
    let measured = outcome.report.document.measured().next().expect("one");
    let summary = Summary::of(measured);
    let trim = summary.trim.expect("trims");
    let all = (trim.ios + summary.total.ios) as f64;
    assert!((trim.ios as f64 / all - 0.2).abs() < 0.005, "{} of {all}", trim.ios);
    let writes = summary.write.ios as f64 / summary.total.ios as f64;
    assert!((writes - 0.3).abs() < 0.01, "{writes}");
    assert_eq!(trim.bytes, trim.ios * 4096);
    assert_eq!(trim.latency.expect("-L").p50_ns / 1000, 1000);
    assert_eq!(summary.total.latency.expect("-L").max_ns / 1000, 200);
    // One at a time, so that the times of all I/Os add up to the minute.
    let ms = |ios: u64, each: f64| ios as f64 * each;
    let sum_ms = ms(summary.read.ios, 0.1) + ms(summary.write.ios, 0.2) + ms(trim.ios, 1.0);
    assert!((sum_ms - 60_000.0).abs() < 2.0, "{sum_ms}");
    let depth = measured.evidence.queue_depth.expect("counted");
    assert!((depth.reached - 1.0).abs() < 0.001, "trims are in flight, too: {depth:?}");
    let text = render::text(&outcome.report.document);
    assert!(text.contains("\t\ttrimming: 20% of the I/Os\n"), "{text}");
    assert!(text.contains("\nTrims (TrueSpd), latencies in ms\n"), "{text}");
    let usual = place.sim(sim, "-b4K -w100 -W0 -d1 FILE").report.document;
    assert!(!render::text(&usual).contains("rim"));
}

#[test]
fn trims_are_ios_of_a_rate_and_may_be_all() {
    let place = Place::new(16 * MIB);
    let rated = place.sim("latency=100us", "-b4K -r -o4 -g500i --trim 40 -W0 -d60 -L FILE");
    let summary = Summary::of(rated.report.document.measured().next().expect("one"));
    let trim = summary.trim.expect("trims");
    assert!((trim.iops + summary.total.iops - 500.0).abs() < 1.0, "{} {}", trim.iops, summary.total.iops);
    assert!(trim.response.is_some(), "from the time at which it was due");

    let only = place.sim("latency=100us", "-b64K -o1 --trim 100 -W0 -d5 -L FILE");
    assert!(only.report.failures.is_empty(), "{:?}", only.report.failures);
    let summary = Summary::of(only.report.document.measured().next().expect("one"));
    let trim = summary.trim.expect("trims");
    // The last one ends when the run does.
    assert_eq!((summary.total.ios, trim.ios, trim.bytes), (0, 49_999, 49_999 * 65_536));
    assert!(render::text(&only.report.document).contains("\t\tperforming trim test\n"));
}

/// The result of a run of the program as JSON: summary and evidence of the only time span.
fn measured(lab: &Lab, line: &str) -> (Value, Value) {
    // Options come before targets.
    lab.run(&format!("--json result.json {line}")).expect_code(0);
    let document: Value = serde_json::from_slice(&lab.read("result.json")).expect("JSON");
    fs::remove_file(lab.path("result.json")).expect("made a moment ago");
    (document["summary"][0].clone(), document["result"]["time_spans"][0]["measured"]["evidence"].clone())
}

fn taken_bytes(path: &Path) -> u64 {
    fs::metadata(path).expect("a file").blocks() * 512
}

/// Each 64 KiB of a file: whether it holds anything.
fn blocks(path: &Path) -> Vec<bool> {
    let bytes = fs::read(path).expect("a file");
    bytes.chunks(65_536).map(|block| block.iter().any(|byte| *byte != 0)).collect()
}

#[test]
fn a_file_gets_holes_where_it_was_trimmed() {
    let lab = Lab::new();
    for engine in ["", " --engine threads", " --engine psync"] {
        let line = format!("-c4M -b64K -r -o4 --trim 10 -W0 -d1 -L{engine} test.dat");
        let (summary, _) = measured(&lab, &line);
        let path = lab.path("test.dat");
        let trim = &summary["trim"];
        assert!(trim["ios"].as_u64().expect("a number") > 0, "{engine}: {summary}");
        assert!(trim["latency"]["p50_ns"].as_u64().is_some_and(|ns| ns > 0), "{engine}: {trim}");
        assert_eq!(fs::metadata(&path).expect("a file").len(), 4 * MIB, "{engine}: as long as before");
        let left = blocks(&path).iter().filter(|block| **block).count() as u64;
        assert!(left < 64, "{engine}: nothing was trimmed");
        // File systems with other units, or none, may hold more.
        assert!(taken_bytes(&path) <= left * 65_536 + MIB, "{engine}: {left} blocks, {}", taken_bytes(&path));
        // It is still a test file of ours, and -w may write it.
        lab.run("-b64K -w100 -o4 -W0 -d1 test.dat").expect_code(0);
        fs::remove_file(&path).expect("ours");
    }
}

#[test]
fn a_file_is_trimmed_only_where_it_is_tested() {
    let lab = Lab::new();
    lab.run("-c4M -b64K -o1 -W0 -d1 test.dat").expect_code(0);
    lab.run("-b64K -B1M -f2M --trim 100 -o1 -W0 -d1 test.dat").expect_code(0);
    let found = blocks(&lab.path("test.dat"));
    for (at, block) in found.iter().enumerate() {
        assert_eq!(*block, !(16..32).contains(&at), "block {at}");
    }
}

/// The write guard decides as for -w: a trim destroys as much.
#[test]
fn what_is_somebody_elses_is_not_trimmed() {
    let Some(lab) = Lab::visible() else { return };
    let before = vec![7; MIB as usize];
    lab.write("precious", &before);
    let says = ["was not made by TrueSpd", "--overwrite"];
    for line in ["-b64K -w0 --trim 1 -d1 precious", "-b64K --trim 100 -d1 precious"] {
        lab.run(line).refused(4, &says);
        assert_eq!(lab.read("precious"), before, "{line}");
    }
    lab.run("-b64K --trim 100 -o1 -W0 -d1 --overwrite precious precious").expect_code(0);
    assert!(blocks(&lab.path("precious")).iter().all(|block| !block), "with the person's word");
}

#[test]
fn engines_and_files_that_cannot_trim_are_refused_before_anything_is_made() {
    let lab = Lab::new();
    for engine in ["libaio", "io_uring_poll", "mmap"] {
        if !has_engine(engine) {
            continue;
        }
        let line = format!("-c1M -b64K -Su --trim 5 -d1 --engine {engine} new.dat");
        let says = format!("--engine {engine} cannot trim");
        lab.run(&line).refused(3, &[&says, "io_uring, threads, psync"]);
    }
    assert!(lab.names().is_empty(), "{:?}", lab.names());
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let mount = Mount::new(&["-t", "ramfs", "ramfs"]);
    std::os::unix::fs::symlink(&mount.point, lab.path("mounted")).expect("a link");
    let says = ["is on ramfs, which makes no holes in files", "a block device"];
    lab.run("-c1M -b64K --trim 5 -d1 mounted/new.dat").refused(3, &says);
    let path = mount.point.join("new.dat");
    assert!(!path.exists());
    fs::write(&path, [0; 65_536]).expect("room");
    lab.run("-b64K --trim 5 -d1 --overwrite mounted/new.dat mounted/new.dat").refused(3, &says);
    drop(mount);
}

/// The kernel counts what it discards: each trim by each engine arrives, and nothing outside of the tested range.
#[test]
fn a_device_is_discarded_where_it_is_tested() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let lab = Lab::new();
    for engine in ["io_uring", "threads", "psync"] {
        let device = Loop::new(8 * MIB);
        let image = File::options().write(true).open(&device.image).expect("an image");
        image.write_all_at(&[7; 8 << 20], 0).expect("room");
        image.sync_all().expect("a disk");
        let node = text(&device.node);
        let line = format!(
            "-b64K -B2M -f2560K -r -o1 -Su --trim 100 -W0 -d1 -L --engine {engine} --overwrite {node} {node}"
        );
        let (summary, evidence) = measured(&lab, &line);
        let trims = summary["trim"]["ios"].as_u64().expect("a number");
        let disks = ["disks", "upper_disks"].map(|list| evidence[list].as_array().expect("a list").clone());
        let ours =
            disks.concat().into_iter().find(|disk| disk["name"] == device.name()).expect("its counters");
        let discards = ours["total"]["discards"].as_u64().expect("a number");
        assert!(trims > 8 && discards.abs_diff(trims) <= trims / 20 + 8, "{engine}: {discards} of {trims}");
        // So few that each has its turn on a busy machine, too; one at a time, as the kernel joins neighbours.
        for (at, block) in blocks(&device.node).iter().enumerate() {
            assert_eq!(*block, !(32..40).contains(&at), "{engine}: block {at}");
        }
    }
}

#[test]
fn what_a_device_does_not_take_is_refused_or_told() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let (lab, device) = (Lab::new(), Loop::new(8 * MIB));
    let node = text(&device.node);
    let image = File::options().write(true).open(&device.image).expect("an image");
    image.write_all_at(b"data", MIB).expect("room");
    lab.run(&format!("-b64K -w0 --trim 1 -d1 {node}")).refused(
        4,
        &[
            "which a write test would destroy",
            "data of an unknown kind",
            "test reads only (-w0, without --trim)",
        ],
    );
    let ours = format!("-W0 -d1 --overwrite {node} {node}");
    let cached = ["that are still to be written from there", "add -Su"];
    lab.run(&format!("-b64K -w9 --trim 1 {ours}")).refused(3, &cached);
    let small = "no multiple of that: the device may free nothing of such a trim";
    lab.run(&format!("-b512 -Su --trim 50 -o1 {ours}"))
        .expect_code(0)
        .says(&["(queue/discard_granularity)", small]);
}
