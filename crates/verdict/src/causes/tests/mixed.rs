//! Layers that mix disks: caches, parts on disks that differ, arrays that lack a disk or work for themselves; and several
//! targets.

use super::*;
use truespd_core::result::{CacheActivity, CacheCounts, CacheKind, LayerDetails, LayerRole, WayChange};

/// A device of a role on two disks, whose counters are those of `fast` and `slow`: reads per second, and nanoseconds each.
fn on_two(d: &mut Doc, kind: LayerKind, details: LayerDetails, fast: (u64, u64), slow: (u64, u64)) {
    let above = Layer { details: Some(details), ..layer(kind, "dm-0", &[1, 2]) };
    d.facts()[0].layers = vec![above, disk_layer("nvme0n1"), disk_layer("sdb")];
    let one = d.measured.evidence.disks[0].clone();
    let disks = [("nvme0n1", fast), ("sdb", slow)].map(|(name, (per_s, each_ns))| {
        let reads = per_s * SECONDS;
        let counts = DiskCounts {
            reads,
            read_bytes: reads * 4096,
            read_time_ns: reads * each_ns,
            busy_ns: (reads * each_ns).min(SECONDS * NS_PER_S),
            ..DiskCounts::default()
        };
        DiskActivity { name: name.to_string(), total: counts, ..one.clone() }
    });
    d.measured.evidence.disks = disks.to_vec();
    d.measured.evidence.caches = Some(Vec::new());
}

fn with_cache(total: Option<CacheCounts>, fast: u64, slow: u64) -> Doc {
    doc(|d| {
        let details = LayerDetails::named(LayerRole::CachedVolume, "vg/data");
        on_two(d, LayerKind::DeviceMapper, details, (fast, 100_000), (slow, 8_000_000));
        d.measured.evidence.caches = Some(vec![CacheActivity {
            layer: "dm-0".to_string(),
            kind: CacheKind::DmCache,
            mode: Some("writeback".to_string()),
            cache_disks: vec!["nvme0n1".to_string()],
            origin_disks: vec!["sdb".to_string()],
            size_bytes: Some(GIB),
            total,
            ..CacheActivity::default()
        }]);
    })
}

fn hits(read_hits: u64, read_misses: u64) -> Option<CacheCounts> {
    Some(CacheCounts { read_hits, read_misses, ..CacheCounts::default() })
}

#[test]
fn a_cache_answers_all_or_some_or_little() {
    says(
        &with_cache(hits(970_000, 30_000), 19_400, 600).fires("cache-device"),
        FindingGrade::Suspect,
        &[
            "97 % of the reads went to nvme0n1, the cache (dm-cache) of vg/data, not to sdb: the number is that of the cache.",
            "nvme0n1 19,400 reads/s, 100 us each; sdb 600 reads/s, 8 ms each",
        ],
    );
    says(
        &with_cache(hits(50_000, 50_000), 10_000, 10_000).fires("cache-device"),
        FindingGrade::Suspect,
        &["50 % of the reads went to nvme0n1", "the others to sdb: the mean is of neither."],
    );
    let little = with_cache(hits(3000, 97_000), 600, 19_400).fires("cache-device");
    says(&little, FindingGrade::Remark, &["3 % of the reads went to nvme0n1"]);
    // Who may not ask device-mapper sees what the disks did.
    says(
        &with_cache(None, 19_800, 200).fires("cache-device"),
        FindingGrade::Suspect,
        &["99 % of the reads went to nvme0n1"],
    );
    // Both on one disk, and nothing that counts.
    let mut both = with_cache(None, 19_800, 200);
    let caches = both.measured.evidence.caches.as_mut().expect("a cache");
    caches[0].origin_disks = vec!["nvme0n1".to_string()];
    both.missing("cache-device", "how many of the reads the cache of vg/data answered");
    // An older document.
    let mut old = with_cache(None, 19_800, 200);
    old.measured.evidence.caches = None;
    old.missing("cache-device", "what the cache of vg/data answered");
    // What a cache writes while it fills is of nobody else.
    let mut fills = with_cache(hits(50_000, 50_000), 10_000, 10_000);
    fills.measured.evidence.disks[0].total.write_bytes = 10 * GIB;
    fills.missing("other-io", "on nvme0n1 and sdb came from this run");
    // A volume on the same disks without a cache.
    let details = LayerDetails::named(LayerRole::LogicalVolume, "vg/data");
    let plain = doc(|d| on_two(d, LayerKind::DeviceMapper, details, (10_000, 100_000), (10_000, 100_000)));
    plain.silent("cache-device");
    // Two disks of a cache are no disks of a volume that differ.
    with_cache(hits(50_000, 50_000), 10_000, 10_000).silent("disks-apart");
}

#[test]
fn writes_through_a_cache_are_those_of_the_slow_disk() {
    let through = |mode: &str| {
        let mut cached = with_cache(
            Some(CacheCounts { write_hits: 99_000, write_misses: 1000, ..CacheCounts::default() }),
            0,
            0,
        );
        cached.asked.write_percent = 100;
        (cached.reads_per_s, cached.writes_per_s) = (0, 20_000);
        cached.measured.evidence.caches.as_mut().expect("a cache")[0].mode = Some(mode.to_string());
        cached
    };
    let back = through("writeback").fires("cache-device");
    says(&back, FindingGrade::Suspect, &["99 % of the writes went to nvme0n1"]);
    assert_eq!(through("writethrough").fires("cache-device").grade, FindingGrade::Remark);
}

#[test]
fn parts_on_disks_that_differ() {
    let linear = || LayerDetails {
        mapped_as: vec!["linear".to_string()],
        ..LayerDetails::named(LayerRole::LogicalVolume, "vg/data")
    };
    let mapped = |fast: (u64, u64), slow: (u64, u64)| {
        doc(|d| on_two(d, LayerKind::DeviceMapper, linear(), fast, slow))
    };
    says(
        &mapped((10_000, 60_000), (10_000, 3_000_000)).fires("disks-apart"),
        FindingGrade::Suspect,
        &[
            "Parts of vg/data lie on disks that differ (nvme0n1 10,000 reads/s, 60 us each; sdb 10,000 reads/s, 3 ms each)",
            "the numbers of test.dat are those of neither",
        ],
    );
    mapped((10_000, 60_000), (10_000, 100_000)).silent("disks-apart");
    // The larger part of two equal disks has the longer line, and is not longer at work for each.
    mapped((4000, 200_000), (16_000, 1_500_000)).silent("disks-apart");
    mapped((10_000, 60_000), (1, 3_000_000)).silent("disks-apart");
    // What a file system writes beside the data: less, or of another size.
    mapped((10_000, 60_000), (900, 3_000_000)).silent("disks-apart");
    let mut other_size = mapped((10_000, 60_000), (10_000, 3_000_000));
    other_size.measured.evidence.disks[1].total.read_bytes *= 4;
    other_size.silent("disks-apart");
    // Stripes, a thin pool with its metadata elsewhere.
    let array = |level: &str, each_ns: u64| {
        let details = LayerDetails {
            level: Some(level.to_string()),
            is_redundant: Some(level != "raid0" && level != "linear"),
            ..LayerDetails::of(LayerRole::Array)
        };
        doc(|d| on_two(d, LayerKind::Md, details, (10_000, 60_000), (10_000, each_ns)))
    };
    let slow = array("raid0", 3_000_000).fires("disks-apart");
    says(&slow, FindingGrade::Suspect, &["The disks of dm-0 differ", "the slow one holds the others up"]);
    assert_eq!(array("raid1", 150_000).fires("disks-apart").grade, FindingGrade::Remark);
    assert_eq!(array("linear", 150_000).fires("disks-apart").grade, FindingGrade::Suspect);
    let pool = LayerDetails::named(LayerRole::ThinPool, "vg/pool");
    doc(|d| on_two(d, LayerKind::DeviceMapper, pool, (10_000, 60_000), (10_000, 3_000_000)))
        .silent("disks-apart");
}

/// An array, as it is when the measured time begins and after changes: seconds, missing disks, what it does.
fn array(begin: (u64, &str), changes: &[(u64, u64, &str)]) -> Doc {
    let state = |missing: u64, action: &str| LayerDetails {
        level: Some("raid1".to_string()),
        is_redundant: Some(true),
        disks: Some(2),
        missing_disks: Some(missing).filter(|&missing| missing > 0),
        sync_action: Some(action.to_string()).filter(|action| !action.is_empty()),
        ..LayerDetails::of(LayerRole::Array)
    };
    doc(|d| {
        on_two(d, LayerKind::Md, state(begin.0, begin.1), (10_000, 60_000), (10_000, 60_000));
        d.facts()[0].layers[0].name = "md0".to_string();
        let (mut was, mut told) = (state(begin.0, begin.1), Vec::new());
        for &(at, missing, action) in changes {
            let is = state(missing, action);
            told.push(WayChange {
                device: "md0".to_string(),
                seen_ns: at * NS_PER_S,
                within_ns: NS_PER_S,
                before: Some(was),
                after: Some(is.clone()),
            });
            was = is;
        }
        d.measured.evidence.way_changes = Some(told);
    })
}

#[test]
fn arrays_that_work_for_themselves() {
    array((0, ""), &[]).silent("array-sync");
    says(
        &array((0, "resync"), &[]).fires("array-sync"),
        FindingGrade::Suspect,
        &["The array md0 (raid1) brought its disks in step (resync) during 100 % of the measured time"],
    );
    let some = array((1, ""), &[(24, 1, "recover"), (60, 0, "")]).fires("array-sync");
    says(&some, FindingGrade::Suspect, &["rebuilt a disk (recover) during 60 % of the measured time"]);
    let short = array((0, "check"), &[(2, 0, "")]).fires("array-sync");
    says(&short, FindingGrade::Remark, &["compared its disks (check) during 3"]);
    // Nobody else is blamed for what the array moves.
    let busy = |change: fn(&mut Doc)| {
        let mut busy = array((0, "resync"), &[]);
        change(&mut busy);
        busy.measured.evidence.disks[1].total.write_bytes = GIB * 10;
        busy
    };
    busy(|_| {}).missing("other-io", "the array md0 moved data for itself");
    let idle = busy(|d| d.facts()[0].layers[0].details.as_mut().expect("details").sync_action = None);
    says(&idle.fires("other-io"), FindingGrade::Suspect, &[]);
    // An older document followed no arrays.
    let mut old = array((0, "resync"), &[]);
    old.measured.evidence.caches = None;
    says(&old.fires("array-sync"), FindingGrade::Suspect, &["(resync) when the measured time began."]);
    let mut old = array((0, ""), &[]);
    old.measured.evidence.caches = None;
    old.missing("array-sync", "over the measured time");
}

#[test]
fn arrays_that_lack_a_disk() {
    array((0, ""), &[]).silent("array-degraded");
    let lacks = |begin: (u64, &str), changes: &[(u64, u64, &str)], words: &str| {
        says(&array(begin, changes).fires("array-degraded"), FindingGrade::Suspect, &[words]);
    };
    lacks((1, ""), &[], "The array md0 (raid1) lacked 1 of its 2 disks all the measured time.");
    lacks((0, ""), &[(20, 1, "")], "lacked 1 of its 2 disks from 20 s on.");
    lacks((1, "recover"), &[(30, 0, "")], "lacked 1 of its 2 disks for the first 30 s.");
    lacks((0, ""), &[(20, 1, ""), (40, 0, "")], "lacked 1 of its 2 disks from 20 s to 40 s.");
}

/// Two targets, of which one does so many reads per second.
fn two(change: impl FnOnce(&mut TimeSpan), other_per_s: u64) -> Verdict {
    let mut document = Doc::clean().build();
    let span = &mut document.profile.time_spans[0];
    span.targets.push(Target { path: "slow.dat".to_string(), ..span.targets[0].clone() });
    change(span);
    let TimeSpanResult::Measured(measured) = &mut document.time_spans[0] else { panic!("measured") };
    let ios = other_per_s * SECONDS;
    let mut other = measured.threads[0].targets[0].clone();
    (other.path, other.read.ios, other.read.bytes) = ("slow.dat".to_string(), ios, ios * 4096);
    measured.threads[0].targets.push(other);
    judge(&document)
}

#[test]
fn targets_that_differ() {
    says(
        &fires(&two(|_| {}, 389), "targets-apart"),
        FindingGrade::Suspect,
        &[
            "The 2 targets differ: test.dat did 20,000 IOPS, slow.dat 389. Their sum and their mean describe none of them.",
        ],
    );
    silent(&two(|_| {}, 2100), "targets-apart");
    let asked: [fn(&mut TimeSpan); 3] = [
        |span| span.targets[1].block_bytes = 1 << 20,
        |span| span.targets[1].request_count = 1,
        |span| span.targets[1].throughput = Some(truespd_core::profile::Throughput::Iops(389)),
    ];
    for change in asked {
        assert_eq!(fires(&two(change, 389), "targets-apart").grade, FindingGrade::Remark);
    }
}
