use super::*;
use truespd_core::result::{Completed, Limit, LimitKind, OtherRun};

#[test]
fn other_tests_of_the_same_target() {
    let run = |process: Option<u32>, writes: bool| OtherRun {
        process,
        command_line: process.map(|_| "diskspd -w100 test.dat".to_string()),
        writes,
    };
    let beside = |runs: Vec<OtherRun>| doc(|d| d.facts()[0].other_runs = runs);
    beside(Vec::new()).silent("other-test");
    says(
        &beside(vec![run(Some(7), true)]).fires("other-test"),
        FindingGrade::Suspect,
        &["Another test writes test.dat at the same time (diskspd -w100 test.dat; process 7)."],
    );
    says(
        &beside(vec![run(None, false)]).fires("other-test"),
        FindingGrade::Remark,
        &["Another test reads test.dat at the same time."],
    );
    let several = beside(vec![run(Some(7), false), run(Some(8), true), run(None, false)]);
    says(&several.fires("other-test"), FindingGrade::Suspect, &["process 8), and 2 more."]);
}

#[test]
fn others_on_the_same_disk() {
    let others = |bytes_per_s: u64| doc(|d| d.disk().write_bytes += bytes_per_s * SECONDS);
    let ours = 20_000 * 4096;
    let finding = others(ours / 2).fires("other-io");
    says(
        &finding,
        FindingGrade::Suspect,
        &[
            "Other I/O used vda during the run: 39.1 MiB/s of writes beside the 78.1 MiB/s of this run (50 %).",
        ],
    );
    others(ours / 25).silent("other-io");
    says(&others(ours / 16).fires("other-io"), FindingGrade::Suspect, &[]);
    // Little beside little disturbs nobody.
    doc(|d| {
        d.reads_per_s = 10;
        d.refresh();
        d.disk().write_bytes += 50_000 * SECONDS;
    })
    .silent("other-io");
    // What other ranks of this run did on the disk is no stranger's, and what goes beyond it still is one's.
    let ranks = |foreign: u64| {
        doc(move |d| {
            d.reads_per_s = 20_000;
            d.refresh();
            let disk = d.disk();
            let (reads, read_bytes) = (3 * disk.reads, 3 * disk.read_bytes);
            (disk.reads, disk.read_bytes) = (4 * disk.reads, 4 * disk.read_bytes + foreign * SECONDS);
            let others = Completed { reads, read_bytes, ..Completed::default() };
            d.measured.evidence.disks[0].other_ranks = Some(others);
        })
    };
    ranks(0).silent("other-io");
    ranks(0).silent("served-from-cache");
    ranks(2 * ours).fires("other-io");
    // What reading ahead brought is our own.
    doc(|d| {
        d.asked.cache = CacheMode::Cached;
        d.disk().read_bytes *= 3;
        d.host().own_disk_read_bytes = Some(3 * ours * SECONDS);
    })
    .silent("other-io");
    // Mirrors write twice, and cached writes come late.
    let on = |d: &mut Doc, kind: LayerKind, detail: &str| {
        d.facts()[0].layers[2] = Layer { detail: Some(detail.to_string()), ..layer(kind, "x0", &[3]) };
        d.facts()[0].layers.push(disk_layer("vda"));
    };
    for (kind, detail) in [
        (LayerKind::Md, "raid1, 2 disks"),
        (LayerKind::DeviceMapper, "LVM vg/data, thin"),
        (LayerKind::DeviceMapper, "LVM vg/data, RAID"),
        (LayerKind::DeviceMapper, "integrity data"),
        (LayerKind::Loop, "/images/a"),
    ] {
        let more = |d: &mut Doc| {
            on(d, kind, detail);
            d.disk().write_bytes *= 2;
        };
        writes(more).missing("other-io", "on vda came from this run: the layers above turn");
    }
    // These hand down what they get; a name is no type.
    for (kind, detail) in [
        (LayerKind::Md, "raid0, 2 disks"),
        (LayerKind::DeviceMapper, "multipath mpatha, 2 paths"),
        (LayerKind::DeviceMapper, "LVM vg/mirrordata"),
        (LayerKind::DeviceMapper, "crypt raid (LUKS2)"),
    ] {
        let more = |d: &mut Doc| {
            on(d, kind, detail);
            d.disk().write_bytes *= 2;
        };
        says(
            &writes(more).fires("other-io"),
            FindingGrade::Suspect,
            &["Other I/O used vda during the run: "],
        );
    }
    // Reads become more, too, while an array misses a disk or a cache fills.
    for (kind, detail) in [
        (LayerKind::Md, "raid5, 3 disks, degraded by 1"),
        (LayerKind::DeviceMapper, "LVM vg/data, cached"),
        (LayerKind::Unknown, "bcache, writethrough"),
    ] {
        let more = |d: &mut Doc| {
            on(d, kind, detail);
            d.disk().read_bytes *= 2;
        };
        let seen = doc(more).see("other-io");
        assert!(seen.is_err(), "{detail}: {seen:?}");
    }
    // The path of a loop device's file is no word about the storage, whatever it says.
    for path in ["/vm/check running", "/vm/a, degraded by 1", "bcache", "/vm, cached/a", "verity usr"] {
        let more = |d: &mut Doc| {
            on(d, LayerKind::Loop, path);
            d.disk().read_bytes *= 2;
        };
        says(&doc(more).fires("other-io"), FindingGrade::Suspect, &["Other I/O used vda during the run: "]);
    }
    // Blocks that a write has to allocate come with what describes them.
    writes(|d| {
        d.disk().write_bytes *= 2;
        d.facts()[0].extents.as_mut().expect("a map").unwritten_bytes = GIB;
    })
    .missing("other-io", "on vda came from this run: the layers above turn");
    writes(|d| (d.asked.cache, d.asked.write_through) = (CacheMode::Cached, false))
        .missing("other-io", "on vda came from this run: the layers above turn");
    let read_beside = writes(|d| d.disk().read_bytes += ours * SECONDS);
    says(&read_beside.fires("other-io"), FindingGrade::Suspect, &["78.1 MiB/s of reads"]);
}

/// A test that only writes reads nothing, unless a layer below reads for its writes.
#[test]
fn reads_of_others_beside_a_test_that_writes() {
    let ours = 20_000 * 4096;
    let beside = |change: &dyn Fn(&mut Doc)| {
        writes(|d| {
            change(d);
            d.disk().read_bytes += ours * SECONDS;
        })
    };
    let new_file = |d: &mut Doc| d.facts()[0].extents.as_mut().expect("a map").unwritten_bytes = 8 * GIB;
    let cached = |d: &mut Doc| (d.asked.cache, d.asked.write_through) = (CacheMode::Cached, false);
    let on = |d: &mut Doc, kind: LayerKind, detail: &str, direct_io: Option<bool>| {
        let detail = Some(detail.to_string());
        d.facts()[0].layers[2] = Layer { detail, direct_io, ..layer(kind, "x0", &[3]) };
        d.facts()[0].layers.push(disk_layer("vda"));
    };
    let mirror = |d: &mut Doc| on(d, LayerKind::Md, "raid1, 2 disks", None);
    let looped = |d: &mut Doc| on(d, LayerKind::Loop, "/x.img", Some(true));
    for change in [&new_file as &dyn Fn(&mut Doc), &cached, &mirror, &looped] {
        says(&beside(change).fires("other-io"), FindingGrade::Suspect, &["78.1 MiB/s of reads"]);
    }
    let parity = |d: &mut Doc| on(d, LayerKind::Md, "raid5, 3 disks", None);
    let through_cache = |d: &mut Doc| on(d, LayerKind::Loop, "/x.img", Some(false));
    for change in [&parity as &dyn Fn(&mut Doc), &through_cache] {
        beside(change).missing("other-io", "which of the reads on vda came from this run");
    }
    // What the test itself reads for its writes is in its account.
    beside(&|d| {
        cached(d);
        d.host().own_disk_read_bytes = Some(ours * SECONDS);
    })
    .missing("other-io", "which of the writes on vda came from this run");
}

#[test]
fn what_the_page_cache_answers_is_not_beside_what_others_read() {
    let finding = doc(|d| {
        d.asked.cache = CacheMode::Cached;
        d.host().own_disk_read_bytes = Some(60 << 10);
    })
    .fires("other-io");
    let words =
        ["Other I/O used vda during the run: 78.1 MiB/s of reads; this run itself had it move 1 KiB/s."];
    says(&finding, FindingGrade::Suspect, &words);
}

#[test]
fn stolen_time() {
    let stolen = |percent: f64| doc(|d| d.host().steal_percent = Some(percent));
    says(
        &stolen(7.25).fires("steal"),
        FindingGrade::Suspect,
        &["Other virtual machines on this host took 7.2 % of the processor time (steal)."],
    );
    says(&stolen(3.0).fires("steal"), FindingGrade::Remark, &["3 %"]);
    stolen(2.0).silent("steal");
    // One processor of many.
    let one = doc(|d| (d.host().steal_percent, d.host().steal_worst_percent) = (Some(1.6), Some(50.0)));
    says(
        &one.fires("steal"),
        FindingGrade::Suspect,
        &["1.6 % of the processor time (steal), and 50 % of the time of one processor."],
    );
    doc(|d| d.host().steal_percent = None)
        .missing("steal", "processor time that other virtual machines took");
    doc(|d| d.measured.evidence.host = None)
        .missing("steal", "processor time that other virtual machines took");
}

#[test]
fn memory_that_is_short() {
    let pressed = |some: u64, full: u64| {
        doc(|d| {
            let pressure = d.host().pressure.as_mut().expect("a clean document has it");
            (pressure.memory_some_ns, pressure.memory_full_ns) = (some * NS_PER_S / 10, full * NS_PER_S / 10);
        })
    };
    says(
        &pressed(60, 6).fires("memory-pressure"),
        FindingGrade::Suspect,
        &["Some tasks waited for memory for 10 % of the time, all tasks for 1 %."],
    );
    pressed(29, 5).silent("memory-pressure");
    let swapped = |pages: u64| doc(|d| d.host().swap_out_pages = Some(pages));
    says(
        &swapped(5000).fires("memory-pressure"),
        FindingGrade::Suspect,
        &["The machine swapped during the run: 0 pages in, 5,000 pages out."],
    );
    swapped(255).silent("memory-pressure");
    doc(|d| *d.host() = HostActivity::default()).missing("memory-pressure", "memory pressure");
    doc(|d| d.measured.evidence.host = None).missing("memory-pressure", "memory pressure");
}

#[test]
fn clocks_that_run_off() {
    let drifted = |ppm: f64| doc(|d| d.measured.evidence.clock.as_mut().expect("a clock").drift_ppm = ppm);
    says(
        &drifted(2500.0).fires("unstable-clock"),
        FindingGrade::Suspect,
        &["TSC ran 2,500 parts per million faster"],
    );
    says(&drifted(-150.0).fires("unstable-clock"), FindingGrade::Remark, &["150 parts per million slower"]);
    drifted(100.0).silent("unstable-clock");
    drifted(f64::NAN).missing("unstable-clock", "clock");
    doc(|d| d.measured.evidence.clock = None).missing("unstable-clock", "clock");
}

#[test]
fn governors() {
    let slow = doc(|d| d.host().governors.push("powersave".to_string()));
    says(&slow.fires("governor"), FindingGrade::Remark, &["powersave"]);
    doc(|d| d.host().governors.clear()).silent("governor");
    doc(|d| d.measured.evidence.host = None).missing("governor", "governors");
}

fn capped(rate: u64, by: &str, device: Option<&str>, what: LimitKind, value: u64) -> Doc {
    doc(|d| {
        d.reads_per_s = rate;
        d.refresh();
        d.measured.evidence.limits = vec![Limit {
            by: by.to_string(),
            group: "/cap".to_string(),
            device: device.map(str::to_string),
            what,
            value,
        }];
    })
}

#[test]
fn limits_in_force() {
    let cap = |rate| capped(rate, "blkio.throttle", Some("vda"), LimitKind::ReadIops, 1920);
    let finding = cap(1919).fires("provisioned-limit");
    let words = [
        "The measured 1,919 reads/s reach the limit of 1,920 reads/s that blkio.throttle of cgroup /cap sets on vda: \
         this is",
    ];
    says(&finding, FindingGrade::Suspect, &words);
    cap(1870).silent("provisioned-limit");
    cap(2050).silent("provisioned-limit");
    let bytes = capped(2560, "io.max", Some("vda"), LimitKind::ReadBytesPerSecond, 10 << 20);
    says(
        &bytes.fires("provisioned-limit"),
        FindingGrade::Suspect,
        &["The measured 10 MiB/s of reads reach the limit of 10 MiB/s of reads that io.max"],
    );
    // Limits on other devices, other directions and of other things.
    capped(1920, "io.max", Some("sdx"), LimitKind::ReadIops, 1920).silent("provisioned-limit");
    capped(1920, "io.max", Some("vda"), LimitKind::WriteIops, 1920).silent("provisioned-limit");
    capped(1920, "memory.max", None, LimitKind::MemoryBytes, 1920).silent("provisioned-limit");
    // A layer above the disk is known by what was issued to it.
    let mut above = capped(1920, "io.max", Some("loop0"), LimitKind::ReadIops, 1920);
    above.facts()[0].layers =
        vec![layer(LayerKind::Loop, "loop0", &[1]), layer(LayerKind::File, "/x", &[2]), disk_layer("vda")];
    says(&above.fires("provisioned-limit"), FindingGrade::Suspect, &["on loop0"]);
}
