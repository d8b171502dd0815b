use super::*;

#[test]
fn ranges_that_were_never_written() {
    let unwritten = |bytes: u64| {
        doc(|d| {
            let map = d.facts()[0].extents.as_mut().expect("a map");
            (map.written_bytes, map.unwritten_bytes) = (8 * GIB - bytes, bytes);
        })
    };
    let finding = unwritten(8 * GIB).fires("never-written");
    says(
        &finding,
        FindingGrade::Invalid,
        &[
            "100 % of the tested range was never written (8 GiB allocated but not written, 0 bytes in holes): reads \
             there",
        ],
    );
    says(&unwritten(4 * GIB).fires("never-written"), FindingGrade::Invalid, &["50 %"]);
    says(&unwritten(GIB).fires("never-written"), FindingGrade::Suspect, &["13 %"]);
    says(&unwritten(64 << 20).fires("never-written"), FindingGrade::Remark, &["0.8 %"]);
    unwritten(4 << 20).silent("never-written");
    let sparse = doc(|d| {
        let map = d.facts()[0].extents.as_mut().expect("a map");
        (map.written_bytes, map.hole_bytes) = (0, 8 * GIB);
    });
    says(&sparse.fires("never-written"), FindingGrade::Invalid, &["8 GiB in holes"]);
}

#[test]
fn a_layout_is_for_files_that_are_read() {
    doc(|d| d.facts()[0].extents = None).missing("never-written", "layout of 'test.dat'");
    doc(|d| {
        let unknown = Some("the file system tells no layout".to_string());
        d.facts()[0].extents = Some(ExtentMap { unknown, ..ExtentMap::default() });
    })
    .missing("never-written", "tells no layout");
    doc(|d| (d.facts()[0].extents, d.facts()[0].kind) = (None, OpenedKind::BlockDevice))
        .silent("never-written");
    writes(|d| d.facts()[0].extents = None).silent("never-written");
}

fn sample(zeros: u32, repeated: u32, compressed_percent: u64) -> ContentSample {
    ContentSample {
        zero_blocks: zeros,
        repeated_blocks: repeated,
        compressed_bytes: 256 * 4096 * compressed_percent / 100,
        ..random_sample()
    }
}

#[test]
fn zeros_that_are_read() {
    let zeros = |count: u32| doc(|d| d.facts()[0].content = Some(sample(count, count, 90)));
    says(
        &zeros(256).fires("zero-data"),
        FindingGrade::Suspect,
        &["256 of 256 sampled blocks hold only zeros: thin volumes,"],
    );
    says(&zeros(13).fires("zero-data"), FindingGrade::Suspect, &["13 of 256"]);
    zeros(12).silent("zero-data");
    // A hole is told by its own rule.
    doc(|d| {
        d.facts()[0].content = Some(sample(128, 128, 50));
        let map = d.facts()[0].extents.as_mut().expect("a map");
        (map.written_bytes, map.hole_bytes) = (4 * GIB, 4 * GIB);
    })
    .silent("zero-data");
    doc(|d| d.facts()[0].content = None).missing("zero-data", "a sample of the content of 'test.dat'");
    doc(|d| d.facts()[0].content = Some(ContentSample::default())).missing("zero-data", "a sample");
    writes(|_| {}).silent("zero-data");
}

#[test]
fn data_that_can_be_made_smaller() {
    let held = |content: ContentSample, compression: Option<&str>| {
        doc(|d| {
            d.facts()[0].content = Some(content);
            d.facts()[0].layers[1].compression = compression.map(str::to_string);
        })
    };
    // DiskSpd's own pattern: a remark as long as nothing makes use of it.
    let pattern = sample(0, 255, 1);
    let remark = held(pattern, None).fires("reducible-reads");
    says(
        &remark,
        FindingGrade::Remark,
        &[
            "The data that the test read compress to 1 % of their size, and 100 % of the blocks repeat another \
             block. No layer visible here is known to compress or deduplicate.",
        ],
    );
    let zstd = held(pattern, Some("zstd")).fires("reducible-reads");
    says(&zstd, FindingGrade::Suspect, &["ext4 compresses (zstd)"]);
    held(sample(0, 0, 51), None).silent("reducible-reads");
    says(&held(sample(0, 0, 49), None).fires("reducible-reads"), FindingGrade::Remark, &["49 %"]);
    held(sample(0, 0, 91), Some("lzo")).silent("reducible-reads");
    says(&held(sample(0, 0, 89), Some("lzo")).fires("reducible-reads"), FindingGrade::Suspect, &["89 %"]);
    let dedup = doc(|d| {
        d.facts()[0].content = Some(sample(0, 128, 100));
        d.facts()[0].layers[2].deduplicates = Some(true);
    });
    says(
        &dedup.fires("reducible-reads"),
        FindingGrade::Suspect,
        &["repeat another block: vda deduplicates."],
    );
    // Zeros have their own rule.
    held(sample(256, 256, 0), None).silent("reducible-reads");
    doc(|d| d.facts()[0].content = None).missing("reducible-reads", "a sample");
}

#[test]
fn writes_that_are_easy() {
    writes(|_| {}).silent("reducible-writes");
    doc(|_| {}).silent("reducible-writes");
    let zeros = writes(|d| (d.asked.zero_write_buffers, d.facts()[0].written) = (true, None));
    says(
        &zeros.fires("reducible-writes"),
        FindingGrade::Suspect,
        &["The test wrote zeros: many devices store no zeros."],
    );
    let pattern = |kind: LayerKind, layer_name: &'static str| {
        writes(|d| {
            d.facts()[0].written = Some(sample(0, 255, 1));
            (d.facts()[0].layers[2].kind, d.facts()[0].layers[2].name) = (kind, layer_name.to_string());
        })
    };
    let disk = pattern(LayerKind::Disk, "vda").fires("reducible-writes");
    says(&disk, FindingGrade::Remark, &["The data that the test wrote compress to 1 %"]);
    let memory = pattern(LayerKind::Memory, "zram3").fires("reducible-writes");
    says(&memory, FindingGrade::Suspect, &["zram3 compresses"]);
    // One page of random data again and again (-Z4K): each page is kept by itself.
    let mut one_page = pattern(LayerKind::Memory, "zram3");
    one_page.facts()[0].written = Some(sample(0, 255, 100));
    one_page.silent("reducible-writes");
    // The profile tells where there is no sample: here -Zr.
    writes(|d| d.facts()[0].written = None).silent("reducible-writes");
    writes(|d| {
        d.facts()[0].written = None;
        (d.asked.write_source_bytes, d.asked.write_source_path) = (4096, Some("x".to_string()));
    })
    .missing("reducible-writes", "a sample of what was written");
}

#[test]
fn writes_that_are_not_safe_when_they_count() {
    writes(|_| {}).silent("volatile-cache");
    let finding = writes(|d| d.asked.write_through = false).fires("volatile-cache");
    says(
        &finding,
        FindingGrade::Suspect,
        &["The volatile cache of vda acknowledged 20,000 writes/s before they were durable."],
    );
    // A disk that keeps what it acknowledges.
    let safe = |cache: CacheMode| {
        writes(|d| {
            (d.asked.write_through, d.asked.cache) = (false, cache);
            d.facts()[0].layers[2].write_cache = Some("write through".to_string());
        })
    };
    safe(CacheMode::DisableOsCache).silent("volatile-cache");
    says(
        &safe(CacheMode::Cached).fires("volatile-cache"),
        FindingGrade::Suspect,
        &["The page cache acknowledged "],
    );
    // Flushes of the test's own.
    let flushed = |writes: u32| FlushEvery { writes, data_only: true };
    let each = |every: u32, asked: u64, received: u64| {
        self::writes(|d| {
            (d.asked.write_through, d.asked.flush_every, d.flushes) =
                (false, Some(flushed(every)), Some(asked));
            d.disk().flushes = Some(received);
        })
    };
    each(1, 10_000, 10_000).silent("volatile-cache");
    says(
        &each(8, 10_000, 10_000).fires("volatile-cache"),
        FindingGrade::Remark,
        &["before they were durable; a flush after every 8 writes of a thread made them durable"],
    );
    each(8, 10_000, 10_000).silent("write-through-unseen");
    says(
        &each(1, 10_000, 0).fires("write-through-unseen"),
        FindingGrade::Suspect,
        &["The test flushed 10,000 times, but vda, with a volatile cache, received 0 flushes."],
    );
    each(1, 5, 0).silent("write-through-unseen");
    // Reads are not concerned.
    doc(|d| d.facts()[0].layers[2].write_cache = Some("write back".to_string())).silent("volatile-cache");
    writes(|d| {
        d.asked.write_through = false;
        d.facts()[0].layers[2].write_cache = None;
    })
    .missing("volatile-cache", "volatile cache");
    // Documents from before there were layers.
    let old = writes(|d| {
        d.asked.write_through = false;
        d.facts()[0].layers.clear();
        d.facts()[0].write_cache = Some("write back".to_string());
    });
    says(
        &old.fires("volatile-cache"),
        FindingGrade::Suspect,
        &["The volatile cache of the disk acknowledged "],
    );
}

#[test]
fn write_through_that_nothing_below_noticed() {
    writes(|_| {}).silent("write-through-unseen");
    let no_flush = |fua: Option<bool>| {
        writes(|d| {
            d.disk().flushes = Some(0);
            d.facts()[0].layers[2].forces_unit_access = fua;
        })
    };
    let finding = no_flush(Some(false)).fires("write-through-unseen");
    says(
        &finding,
        FindingGrade::Suspect,
        &[
            "The test asked for write-through and completed 1,200,000 writes, but vda, with a volatile cache, \
             received no flush.",
        ],
    );
    no_flush(Some(true)).silent("write-through-unseen");
    // Those of somebody else on the same disk are few.
    let few = writes(|d| d.disk().flushes = Some(12)).fires("write-through-unseen");
    says(&few, FindingGrade::Suspect, &["received only 12 flushes."]);
    writes(|d| d.disk().flushes = None).missing("write-through-unseen", "since 5.5");
    writes(|d| {
        d.disk().flushes = Some(0);
        d.facts()[0].layers[2].write_cache = Some("write through".to_string());
    })
    .silent("write-through-unseen");
    writes(|d| d.measured.evidence.disks.clear()).missing("write-through-unseen", "counters of vda");
    writes(|d| d.facts()[0].layers[2].write_cache = None).missing("write-through-unseen", "volatile cache");
}

/// Much that is not on the disk yet counts as never written until it is.
#[test]
fn a_layout_that_is_not_settled_is_no_evidence() {
    doc(|d| {
        let map = d.facts()[0].extents.as_mut().expect("a map");
        (map.written_bytes, map.unwritten_bytes) = (0, 8 * GIB);
        map.unknown = Some("90000000 bytes were not on the disk yet".to_string());
    })
    .missing("never-written", "not on the disk yet");
}
