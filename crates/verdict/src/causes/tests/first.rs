//! First writes to a place, files in pieces, and parts of a range by the I/O that they get.

use super::*;
use truespd_core::result::{AllocatedBy, Allocation, LayerDetails, LayerRole, RangePart};

/// Writes to a file of 8 GiB of which so much was set aside, in holes, or shared. In a minute the run passes over it
/// 0.57 times, with 5 s of warm-up before.
fn file_with(unwritten_bytes: u64, hole_bytes: u64, shared_bytes: u64) -> Doc {
    writes(|d| {
        let map = d.facts()[0].extents.as_mut().expect("a map");
        let written_bytes = 8 * GIB - unwritten_bytes - hole_bytes;
        (map.written_bytes, map.unwritten_bytes) = (written_bytes, unwritten_bytes);
        (map.hole_bytes, map.shared_bytes) = (hole_bytes, shared_bytes);
    })
}

#[test]
fn first_writes_to_a_place() {
    says(
        &file_with(8 * GIB, 0, 0).fires("first-writes"),
        FindingGrade::Suspect,
        &[
            "Up to 73 % of the writes were the first ones to their place",
            "100 % of the tested range had no place of its own before the run (set aside and never written), and the \
             run wrote as much as 57 % of the range.",
        ],
    );
    says(
        &file_with(0, 2 * GIB, GIB).fires("first-writes"),
        FindingGrade::Suspect,
        &["38 % of the tested range", "(13 % shared with a copy or a snapshot, 25 % in holes)"],
    );
    says(&file_with(0, 0, 8 * GIB).fires("first-writes"), FindingGrade::Suspect, &["shared with a copy"]);
    says(&file_with(GIB / 8, 0, 0).fires("first-writes"), FindingGrade::Remark, &["1.1 % of the writes"]);
    file_with(GIB / 32, 0, 0).silent("first-writes");
    // Reads have their own rule.
    doc(|d| d.facts()[0].extents.as_mut().expect("a map").shared_bytes = 8 * GIB).silent("first-writes");
    let old = writes(|d| d.facts()[0].extents = None);
    old.missing("first-writes", "layout of 'test.dat'");
}

/// What a run passes over many times meets a place for the first time only once, and warm-up may have met it before.
#[test]
fn later_writes_are_the_most_of_a_long_run() {
    let small = |warmup: bool, bytes: u64| {
        writes(|d| {
            let facts = &mut d.facts()[0];
            facts.size_bytes = bytes;
            let map = facts.extents.as_mut().expect("a map");
            (map.range_bytes, map.written_bytes, map.unwritten_bytes) = (bytes, 0, bytes);
            (d.asked.random_percent, d.no_warm_up) = (0, !warmup);
        })
    };
    // 4.6 GiB are written in a minute.
    says(&small(false, GIB).fires("first-writes"), FindingGrade::Suspect, &["Up to 22 % of the writes"]);
    says(&small(false, GIB / 8).fires("first-writes"), FindingGrade::Remark, &["Up to 2.7 %"]);
    small(true, GIB / 4).silent("first-writes");
}

#[test]
fn a_file_system_that_never_writes_in_place_has_no_first_writes() {
    let on = |role: LayerRole| {
        let mut doc = file_with(GIB, GIB, 6 * GIB);
        doc.facts()[0].layers[1].details = Some(LayerDetails::of(role));
        doc
    };
    on(LayerRole::CopyOnWrite).silent("first-writes");
    on(LayerRole::Other).fires("first-writes");
}

/// A loop device on a file of which so much was never written and so much is shared.
fn on_loop(allocated_bytes: u64, shared_bytes: u64, is_tested_range: bool) -> Doc {
    writes(|d| {
        let facts = &mut d.facts()[0];
        (facts.kind, facts.extents) = (OpenedKind::BlockDevice, None);
        facts.layers = vec![
            Layer { direct_io: Some(true), ..layer(LayerKind::Loop, "loop0", &[1]) },
            layer(LayerKind::File, "/img", &[2]),
            layer(LayerKind::Filesystem, "ext4", &[3]),
            disk_layer("vda"),
        ];
        facts.allocation = vec![Allocation {
            layer: "loop0".to_string(),
            by: AllocatedBy::LoopFile,
            range_bytes: if is_tested_range { 8 * GIB } else { 16 * GIB },
            allocated_bytes,
            shared_bytes,
            is_tested_range,
            ..Allocation::default()
        }];
    })
}

#[test]
fn room_below_a_device() {
    says(
        &on_loop(0, 0, true).fires("first-writes"),
        FindingGrade::Suspect,
        &["(without room in the file of loop0)"],
    );
    says(
        &on_loop(8 * GIB, 8 * GIB, true).fires("first-writes"),
        FindingGrade::Suspect,
        &["(shared with a copy of the file of loop0)"],
    );
    on_loop(8 * GIB, 0, true).silent("first-writes");
    // Where only all of the layer is known, its holes may lie beside the tested range.
    on_loop(8 * GIB, 0, false).silent("first-writes");
    says(&on_loop(4 * GIB, 0, false).fires("first-writes"), FindingGrade::Suspect, &["50 % of the tested"]);
    // A file that is compressed takes less of the layer than it is long.
    let mut file = on_loop(GIB, 0, false);
    file.facts()[0].kind = OpenedKind::File;
    file.facts()[0].extents = super::file(Vec::new()).extents;
    file.silent("first-writes");
    let mut unknown = on_loop(0, 0, true);
    unknown.facts()[0].allocation[0].unknown = Some("4096 bytes wait".to_string());
    unknown.missing("first-writes", "below loop0 for 'test.dat': 4096 bytes wait");
    let mut old = on_loop(0, 0, true);
    old.facts()[0].allocation.clear();
    old.silent("first-writes");
}

#[test]
fn reads_of_what_has_no_room_below_need_no_disk() {
    let reads = |allocated_bytes: u64| {
        let below = on_loop(allocated_bytes, 0, true).facts()[0].clone();
        doc(|d| {
            let facts = &mut d.facts()[0];
            (facts.kind, facts.extents) = (below.kind, below.extents);
            (facts.layers, facts.allocation) = (below.layers, below.allocation);
        })
    };
    says(
        &reads(0).fires("never-written"),
        FindingGrade::Invalid,
        &["100 % of the tested range was never written (100 % without room in the file of loop0)"],
    );
    says(&reads(7 * GIB).fires("never-written"), FindingGrade::Suspect, &["13 %"]);
    reads(8 * GIB).silent("never-written");
}

/// 90 % of the I/O go to the first 4 % of the range.
fn hot(of_the_hot: impl FnOnce(&mut ExtentMap)) -> Vec<RangePart> {
    let map = |bytes: u64| ExtentMap { range_bytes: bytes, written_bytes: bytes, ..ExtentMap::default() };
    let (small, large) = (8 * GIB / 25, 8 * GIB / 25 * 24);
    let mut first = map(small);
    of_the_hot(&mut first);
    let part = |offset_bytes, length_bytes, io_percent, map| RangePart {
        offset_bytes,
        length_bytes,
        io_percent,
        extents: Some(map),
        ..RangePart::default()
    };
    vec![part(0, small, 90, first), part(small, large, 10, map(large))]
}

#[test]
fn parts_count_by_the_io_that_they_get() {
    let unwritten = |map: &mut ExtentMap| {
        (map.written_bytes, map.unwritten_bytes) = (0, map.range_bytes);
    };
    let all = |d: &mut Doc| {
        let map = d.facts()[0].extents.as_mut().expect("a map");
        (map.written_bytes, map.unwritten_bytes) = (8 * GIB / 25 * 24, 8 * GIB / 25);
    };
    says(&doc(all).fires("never-written"), FindingGrade::Remark, &["4 % of the tested range was never"]);
    let hot_reads = doc(|d| {
        all(d);
        d.facts()[0].parts = hot(unwritten);
    });
    says(
        &hot_reads.fires("never-written"),
        FindingGrade::Invalid,
        &["90 % of the I/O (-rd) went where the tested range was never"],
    );
    // The hot part is met for the first time in the warm-up and soon after it.
    let hot_writes = writes(|d| {
        all(d);
        d.facts()[0].parts = hot(unwritten);
    });
    says(&hot_writes.fires("first-writes"), FindingGrade::Remark, &["90 % of the I/O (-rd) goes where"]);
}

/// 600 reads/s of 1 MiB of which the disk makes so many, on a file of such extents.
fn large_reads(pieces: u64, extent_bytes: u64) -> Doc {
    doc(|d| {
        (d.asked.block_bytes, d.asked.random_percent, d.reads_per_s) = (1 << 20, 0, 600);
        d.refresh();
        d.disk().reads *= pieces;
        d.facts()[0].extents.as_mut().expect("a map").extents = 8 * GIB / extent_bytes;
    })
}

#[test]
fn blocks_that_reach_the_disk_in_pieces() {
    says(
        &large_reads(128, 8 << 10).fires("fragmented"),
        FindingGrade::Suspect,
        &[
            "The test issued 600 reads/s of 1 MiB, but vda received 76,800/s of 8 KiB, 128 for each: the file lies in \
             extents of 8 KiB on average",
        ],
    );
    large_reads(1, 8 << 10).silent("fragmented");
    large_reads(1, GIB).silent("fragmented");
    // Something splits, and nothing here tells what.
    says(
        &large_reads(4, GIB).fires("fragmented"),
        FindingGrade::Remark,
        &["4 for each: a layer splits them. Neither"],
    );
    let mut read_more = large_reads(4, GIB);
    read_more.disk().read_bytes *= 2;
    read_more.silent("fragmented");
    let mut limited = large_reads(8, GIB);
    limited.facts()[0].layers[2].request_bytes_max = Some(128 << 10);
    limited.silent("fragmented");
    let mut segments = large_reads(4, GIB);
    segments.facts()[0].layers[2].segments_max = Some(64);
    segments.silent("fragmented");
    let mut striped = large_reads(16, GIB);
    striped.facts()[0].layers[1].below = vec![2, 3];
    striped.facts()[0].layers.push(disk_layer("vdb"));
    striped
        .measured
        .evidence
        .disks
        .push(DiskActivity { name: "vdb".to_string(), ..striped.measured.evidence.disks[0].clone() });
    striped.silent("fragmented");
    let mut buffered = large_reads(8, 8 << 10);
    buffered.asked.cache = CacheMode::Cached;
    buffered.silent("fragmented");
}

/// The file system's own writes beside those of the test are no pieces of them.
#[test]
fn small_writes_with_a_journal_are_no_fragments() {
    writes(|d| {
        d.disk().writes *= 2;
        d.facts()[0].extents.as_mut().expect("a map").extents = 8 * GIB / (8 << 10);
    })
    .silent("fragmented");
}
