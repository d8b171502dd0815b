use super::*;

#[test]
fn reads_from_the_page_cache() {
    let finding = doc(|d| {
        d.asked.cache = CacheMode::Cached;
        d.asked.block_bytes = 8192;
        d.reads_per_s = 215_000;
        *d.disk() = DiskCounts::default();
    })
    .fires("served-from-cache");
    says(
        &finding,
        FindingGrade::Invalid,
        &[
            "The test completed 215,000 reads/s of 8 KiB, but vda received none: the page cache answered, because \
             neither -Su nor -Sh bypassed it.",
        ],
    );
    assert_eq!(finding.target.as_deref(), Some(PATH));
    assert!(finding.figures.iter().any(|f| f.name == "completed_reads_per_s" && f.value == 215_000.0));
}

#[test]
fn writes_that_reach_the_disk_later_and_larger() {
    let finding = writes(|d| {
        d.asked.cache = CacheMode::Cached;
        d.asked.block_bytes = 8192;
        d.writes_per_s = 158_000;
        *d.disk() =
            DiskCounts { writes: 39 * 60, write_bytes: 39 * 60 * 244 * 1024, ..DiskCounts::default() };
    })
    .fires("served-from-cache");
    let words = [
        "The test completed 158,000 writes/s of 8 KiB, but vda received 39/s of 244 KiB (0.8 % of the bytes): the \
         page cache took them, because",
    ];
    says(&finding, FindingGrade::Invalid, &words);
}

#[test]
fn a_little_less_is_nothing_and_half_is_the_border() {
    let moved = |percent: u64| {
        doc(|d| {
            d.disk().read_bytes = d.disk().read_bytes * percent / 100;
            d.disk().reads = d.disk().reads * percent / 100;
        })
    };
    moved(91).silent("served-from-cache");
    says(
        &moved(89).fires("served-from-cache"),
        FindingGrade::Suspect,
        &["89 % of the bytes", "something between the test and the disk answered."],
    );
    says(&moved(51).fires("served-from-cache"), FindingGrade::Suspect, &[]);
    says(&moved(49).fires("served-from-cache"), FindingGrade::Invalid, &["49 %"]);
}

#[test]
fn the_ends_of_a_slow_run_are_no_cache() {
    // 200 reads, of which the disk counted 164 inside its window.
    doc(|d| {
        d.seconds = 10;
        d.reads_per_s = 20;
        d.asked.request_count = 20;
        d.refresh();
        *d.disk() = DiskCounts { reads: 164, read_bytes: 164 * 4096, ..DiskCounts::default() };
    })
    .silent("served-from-cache");
}

#[test]
fn a_reading_that_came_late_is_no_cache() {
    let late = |percent: u64| {
        doc(|d| {
            let disk = &mut d.measured.evidence.disks[0];
            (disk.window_ns, disk.total.reads, disk.total.read_bytes) =
                (disk.window_ns * 3, disk.total.reads * percent / 100, disk.total.read_bytes * percent / 100);
        })
    };
    late(100).silent("served-from-cache");
    late(80).fires("served-from-cache");
    late(1).fires("served-from-cache");
}

#[test]
fn a_first_reading_that_came_late_is_no_cache() {
    // Both readings came late: what was done before the first one is in no count, and after the end nothing was done.
    let late = |late_s: u64, moved_percent: u64| {
        doc(|d| {
            let disk = &mut d.measured.evidence.disks[0];
            (disk.late_ns, disk.window_ns) = (late_s * NS_PER_S, disk.window_ns + NS_PER_S / 10);
            disk.total.reads = disk.total.reads * moved_percent / 100;
            disk.total.read_bytes = disk.total.read_bytes * moved_percent / 100;
        })
    };
    late(12, 80).silent("served-from-cache");
    late(0, 80).fires("served-from-cache");
    says(&late(12, 20).fires("served-from-cache"), FindingGrade::Invalid, &["(20 % of the bytes)"]);
}

/// Through the page cache, a neighbour on the disk, and what the process itself had read.
fn beside_a_neighbour(own: Option<u64>, change: impl FnOnce(&mut Doc)) -> Doc {
    doc(|d| {
        d.asked.cache = CacheMode::Cached;
        d.reads_per_s = 3000;
        d.refresh();
        d.disk().read_bytes += (78 << 20) * SECONDS;
        d.host().own_disk_read_bytes = own;
        let residency = d.facts()[0].residency.as_mut().expect("a residency");
        (residency.cached_before_bytes, residency.cached_after_bytes) = (8 * GIB, 8 * GIB);
        change(d);
    })
}

#[test]
fn a_neighbour_hides_no_page_cache() {
    let finding = beside_a_neighbour(Some(32 << 10), |_| {}).fires("served-from-cache");
    says(
        &finding,
        FindingGrade::Invalid,
        &["The test completed 3,000 reads/s of 4 KiB, but by the kernel's account this process read from \
             the disks only 546 bytes/s (<0.1 % of the bytes; vda moved 89.7 MiB/s with the reads of \
             others): the page cache answered, because neither -Su nor -Sh bypassed it. It held 100 % of \
             the tested range before the run."],
    );
    assert!(finding.figures.iter().any(|f| f.name == "own_disk_read_bytes_per_s" && f.value < 1000.0));
    let ours = 3000 * 4096 * SECONDS;
    says(
        &beside_a_neighbour(Some(ours * 6 / 10), |_| {}).fires("served-from-cache"),
        FindingGrade::Suspect,
        &["(60 % of"],
    );
    beside_a_neighbour(Some(ours), |_| {}).silent("served-from-cache");
    // What reading ahead brings is more than what was asked for.
    beside_a_neighbour(Some(9 * ours), |_| {}).silent("served-from-cache");
    beside_a_neighbour(None, |_| {}).silent("served-from-cache");
    // A cache that held nothing answered nothing: the account is not complete.
    let empty = |d: &mut Doc| {
        let residency = d.facts()[0].residency.as_mut().expect("a residency");
        (residency.cached_before_bytes, residency.cached_after_bytes) = (0, 0);
    };
    beside_a_neighbour(Some(0), empty).silent("served-from-cache");
    // ZFS reads in threads of the kernel.
    let zfs = |d: &mut Doc| d.facts()[0].layers[1] = layer(LayerKind::Filesystem, "zfs", &[2]);
    beside_a_neighbour(Some(0), zfs).silent("served-from-cache");
    // Without a neighbour the disk tells as much.
    let alone =
        |d: &mut Doc| *d.disk() = DiskCounts { reads: 8, read_bytes: 32 << 10, ..DiskCounts::default() };
    let finding = beside_a_neighbour(Some(32 << 10), alone).fires("served-from-cache");
    says(
        &finding,
        FindingGrade::Invalid,
        &["but vda received ", "It held 100 % of the tested range before the run."],
    );
}

#[test]
fn direct_reads_that_the_cache_answered_beside_a_neighbour() {
    let direct = |own: u64, cached: u64| {
        beside_a_neighbour(Some(own), |d| {
            d.asked.cache = CacheMode::DisableOsCache;
            d.facts()[0].residency.as_mut().expect("a residency").cached_before_bytes = cached;
            d.facts()[0].residency.as_mut().expect("a residency").cached_after_bytes = cached;
        })
    };
    says(
        &direct(4096, 8 * GIB).fires("served-from-cache"),
        FindingGrade::Invalid,
        &["the page cache answered, although the test asked for direct I/O"],
    );
    // Pages that were there before are no proof by themselves: direct I/O goes by them.
    let there = doc(|d| {
        d.facts()[0].residency.as_mut().expect("a residency").cached_before_bytes = 8 * GIB;
        *d.disk() = DiskCounts::default();
    });
    says(
        &there.fires("served-from-cache"),
        FindingGrade::Invalid,
        &["something between the test and the disk answered."],
    );
    // Nothing in memory can have answered.
    direct(4096, 0).silent("served-from-cache");
}

#[test]
fn writes_to_the_same_pages_beside_a_neighbour() {
    let written = |own_percent: u64, change: &dyn Fn(&mut Doc)| {
        writes(|d| {
            (d.asked.cache, d.asked.write_through) = (CacheMode::Cached, false);
            d.disk().write_bytes *= 3;
            d.host().own_disk_write_bytes = Some(20_000 * 4096 * SECONDS * own_percent / 100);
            change(d);
        })
    };
    let finding = written(4, &|_| {}).fires("served-from-cache");
    let words =
        ["this process wrote to the disks only 3.1 MiB/s (4 % of the bytes; ", "the page cache took them"];
    says(&finding, FindingGrade::Invalid, &words);
    written(100, &|_| {}).silent("served-from-cache");
    // Durable writes reach the disk as often as they are made, and journals write in a thread of their own.
    written(4, &|d| d.asked.write_through = true).silent("served-from-cache");
    written(4, &|d| {
        let details = truespd_core::result::LayerDetails { journals_data: true, ..Default::default() };
        d.facts()[0].layers[1].details = Some(details);
    })
    .silent("served-from-cache");
}

#[test]
fn the_page_cache_below_a_loop_device() {
    let looped = |before: u64, after: u64, evicted: Option<u64>| {
        doc(|d| {
            d.facts()[0].layers = vec![
                layer(LayerKind::File, PATH, &[1]),
                layer(LayerKind::Filesystem, "ext4", &[2]),
                layer(LayerKind::Loop, "loop0", &[3]),
                layer(LayerKind::File, "/x.img", &[4]),
                disk_layer("vda"),
            ];
            d.host().own_disk_read_bytes = Some(20_000 * 4096 * SECONDS);
            d.facts()[0].loop_caches = vec![LoopCache {
                device: "loop0".to_string(),
                path: "/x.img".to_string(),
                residency: Residency {
                    range_bytes: GIB,
                    cached_before_bytes: before,
                    cached_after_bytes: after,
                },
                evicted_before_bytes: evicted,
                evicted_after_bytes: evicted,
            }];
        })
    };
    // 4.6 GiB were read.
    let finding = looped(GIB / 2, GIB / 2 + (10 << 20), Some(0)).fires("served-from-cache");
    says(
        &finding,
        FindingGrade::Invalid,
        &["but 50 % of '/x.img', on which loop0 stands, was in the page cache before, and its disk can \
             have given no more than 171 KiB/s (0.2 % of the bytes): a loop device below the target uses \
             the page cache for its file."],
    );
    // A cache that is too small reads the same again.
    looped(GIB / 2, GIB / 2, Some(GIB / 4)).silent("served-from-cache");
    looped(GIB / 2, GIB / 2, None).silent("served-from-cache");
    says(&looped(GIB, GIB, None).fires("served-from-cache"), FindingGrade::Invalid, &["100 % of '/x.img'"]);
    says(
        &looped(GIB, GIB, Some(0)).fires("served-from-cache"),
        FindingGrade::Invalid,
        &["than 0 bytes/s (0 % of the bytes)"],
    );
    // A large file that was not in memory before.
    let mut cold = looped(0, 5 * GIB, Some(0));
    cold.facts()[0].loop_caches[0].residency.range_bytes = 8 * GIB;
    cold.silent("served-from-cache");
}

/// Compression excuses as much as the data let it, and no more.
#[test]
fn compression_excuses_what_it_explains() {
    let compressed = |moved_per_mille: u64, sampled_percent: u64, change: &dyn Fn(&mut Doc)| {
        doc(|d| {
            let facts = &mut d.facts()[0];
            facts.layers[1] = Layer {
                compression: Some("zstd".to_string()),
                ..layer(LayerKind::Filesystem, "btrfs", &[2])
            };
            facts.extents.as_mut().expect("a map").encoded_bytes = 8 * GIB;
            facts.content.as_mut().expect("a sample").compressed_bytes = 256 * 4096 * sampled_percent / 100;
            d.disk().read_bytes = d.disk().read_bytes * moved_per_mille / 1000;
            change(d);
        })
    };
    let excused = compressed(100, 12, &|_| {}).fires("served-from-cache");
    let words =
        ["btrfs compresses (zstd), so the disk moved less (a sample of the data compresses to 12 %)."];
    says(&excused, FindingGrade::Suspect, &words);
    // btrfs keeps at least 4 KiB of 128 KiB.
    says(
        &compressed(32, 1, &|_| {}).fires("served-from-cache"),
        FindingGrade::Suspect,
        &["so the disk moved less"],
    );
    let too_little = compressed(1, 1, &|_| {}).fires("served-from-cache");
    says(
        &too_little,
        FindingGrade::Invalid,
        &["something between the test and the disk answered; btrfs compresses (zstd), which explains 3.1 \
             % of the bytes but not less (a sample of the data compresses to 1 %)."],
    );
    assert!(too_little.figures.iter().any(|f| f.name == "compressed_least_percent" && f.value == 3.125));
    let cached = compressed(1, 1, &|d| {
        d.facts()[0].residency.as_mut().expect("a residency").cached_before_bytes = 8 * GIB;
    });
    let finding = cached.fires("served-from-cache");
    says(
        &finding,
        FindingGrade::Invalid,
        &["the page cache answered, although the test asked for direct I/O; btrfs", "It held 100 %"],
    );
    assert!(finding.advice.contains("without compression"), "{}", finding.advice);
    // Repetitions over longer stretches than the sampled blocks, read once; read again, the page cache answered.
    let stretch = |cached_after: u64| {
        compressed(35, 27, &move |d: &mut Doc| {
            d.facts()[0].residency.as_mut().expect("a residency").cached_after_bytes = cached_after;
        })
        .fires("served-from-cache")
    };
    says(&stretch(4 * GIB), FindingGrade::Suspect, &["so the disk moved less"]);
    says(
        &stretch(GIB),
        FindingGrade::Invalid,
        &["the page cache answered", "explains 13 % of the bytes but not less"],
    );
    // Data that do not compress, and a file that is not stored compressed.
    says(
        &compressed(100, 90, &|_| {}).fires("served-from-cache"),
        FindingGrade::Invalid,
        &["which explains 45 %"],
    );
    let plain = compressed(100, 12, &|d| d.facts()[0].extents.as_mut().expect("a map").encoded_bytes = 0);
    says(
        &plain.fires("served-from-cache"),
        FindingGrade::Invalid,
        &["which explains 100 % of the bytes but not less"],
    );
    // Nobody looked at the data.
    let unknown = |moved_per_mille| compressed(moved_per_mille, 12, &|d| d.facts()[0].content = None);
    says(
        &unknown(40).fires("served-from-cache"),
        FindingGrade::Suspect,
        &["so the disk moved less (the data were not sampled)."],
    );
    says(&unknown(4).fires("served-from-cache"), FindingGrade::Invalid, &["which explains 3.1 %"]);
    // A disk counts what it is sent, whatever it makes of it.
    let zram = doc(|d| {
        d.facts()[0].layers = vec![
            layer(LayerKind::File, PATH, &[1]),
            layer(LayerKind::Filesystem, "ext4", &[2]),
            Layer { compression: Some("lzo".to_string()), ..layer(LayerKind::Memory, "vda", &[]) },
        ];
        d.disk().read_bytes /= 5;
    });
    says(
        &zram.fires("served-from-cache"),
        FindingGrade::Invalid,
        &["something between the test and the disk answered."],
    );
}

#[test]
fn the_cause_is_the_one_that_the_evidence_shows() {
    let unmoved = |change: &dyn Fn(&mut Doc)| {
        doc(|d| {
            *d.disk() = DiskCounts::default();
            change(d);
        })
        .fires("served-from-cache")
    };
    let holes = unmoved(&|d| {
        let extents = d.facts()[0].extents.as_mut().expect("a map");
        (extents.written_bytes, extents.hole_bytes) = (0, 8 * GIB);
    });
    says(&holes, FindingGrade::Invalid, &["was never written, so reads there need no disk"]);
    let mapped = unmoved(&|d| d.asked.memory_mapped = true);
    says(&mapped, FindingGrade::Invalid, &["-Sm"]);
    let looped = unmoved(&|d| {
        d.facts()[0].layers = vec![
            layer(LayerKind::File, PATH, &[1]),
            layer(LayerKind::Filesystem, "ext4", &[2]),
            layer(LayerKind::Loop, "loop0", &[3]),
            layer(LayerKind::File, "/x.img", &[4]),
            disk_layer("vda"),
        ];
    });
    says(
        &looped,
        FindingGrade::Invalid,
        &["a loop device below the target uses the page cache for its file."],
    );
    let grown = unmoved(&|d| {
        d.facts()[0].residency.as_mut().expect("a residency").cached_after_bytes = GIB;
    });
    says(
        &grown,
        FindingGrade::Invalid,
        &["the page cache answered, although the test asked for direct I/O."],
    );
}

#[test]
fn mirrors_move_more_and_targets_share_their_disks() {
    let mirrored = |reads: [u64; 2]| {
        doc(|d| {
            d.facts()[0].layers = vec![
                layer(LayerKind::File, PATH, &[1]),
                layer(LayerKind::Filesystem, "ext4", &[2]),
                layer(LayerKind::Md, "md0", &[3, 4]),
                disk_layer("sda"),
                disk_layer("sdb"),
            ];
            let disk = |name: &str, reads: u64| DiskActivity {
                name: name.to_string(),
                window_ns: SECONDS * NS_PER_S,
                total: DiskCounts {
                    reads: reads * 60,
                    read_bytes: reads * 60 * 4096,
                    ..DiskCounts::default()
                },
                ..DiskActivity::default()
            };
            d.measured.evidence.disks = vec![disk("sda", reads[0]), disk("sdb", reads[1])];
        })
    };
    mirrored([12_000, 8000]).silent("served-from-cache");
    says(
        &mirrored([1000, 500]).fires("served-from-cache"),
        FindingGrade::Invalid,
        &["sda and sdb received 1,500/s"],
    );
}

#[test]
fn without_counters_or_layers_it_cannot_look() {
    for rule in ["served-from-cache", "coalesced", "other-io"] {
        doc(|d| d.measured.evidence.disks.clear()).missing(rule, "counters of vda");
        doc(|d| d.facts()[0].layers.clear()).missing(rule, "layers below 'test.dat'");
    }
    // Nothing to look at is not nothing known.
    doc(|d| d.facts()[0].layers = vec![layer(LayerKind::RemoteFilesystem, "nfs4", &[])])
        .silent("served-from-cache");
}

#[test]
fn a_path_does_not_make_a_volume_thin() {
    let less = |kind: LayerKind, detail: &str| {
        doc(|d| {
            let upper = Layer { detail: Some(detail.to_string()), ..layer(kind, "x0", &[3]) };
            d.facts()[0].layers[2] = Layer { direct_io: Some(true), ..upper };
            d.facts()[0].layers.push(disk_layer("vda"));
            d.disk().read_bytes /= 4;
        })
        .fires("served-from-cache")
    };
    let thin = less(LayerKind::DeviceMapper, "LVM vg/data, thin");
    says(&thin, FindingGrade::Invalid, &["reads of zeros need no disk"]);
    says(
        &less(LayerKind::Loop, "/vm/a, thin"),
        FindingGrade::Invalid,
        &["something between the test and the disk answered."],
    );
}

#[test]
fn fewer_and_larger_at_the_disk() {
    let merged = |factor_percent: u64| {
        doc(|d| {
            d.asked.random_percent = 0;
            d.disk().reads = d.disk().reads * 100 / factor_percent;
        })
    };
    let finding = merged(800).fires("coalesced");
    says(
        &finding,
        FindingGrade::Suspect,
        &[
            "The test issued 20,000 reads/s of 4 KiB, but vda received 2,500/s of 32 KiB: neighbouring I/Os were \
             merged.",
        ],
    );
    assert!(finding.advice.contains("use random I/O (-r)"), "{}", finding.advice);
    // What the line has is no advice.
    for (percent, cache, wanted) in [
        (100, CacheMode::Cached, "bypass the page cache, which joins neighbouring blocks (-Su or -Sh)"),
        (100, CacheMode::DisableOsCache, "test a larger range"),
        (60, CacheMode::DisableOsCache, "(-r instead of -rs)"),
    ] {
        let finding = doc(|d| {
            (d.asked.random_percent, d.asked.cache) = (percent, cache);
            d.disk().reads /= 8;
        })
        .fires("coalesced");
        assert!(finding.advice.contains(wanted) && !finding.advice.contains("(-r)"), "{}", finding.advice);
    }
    says(&merged(120).fires("coalesced"), FindingGrade::Remark, &["4.8 KiB"]);
    merged(109).silent("coalesced");
    // Split ones are not coalesced.
    doc(|d| d.disk().reads *= 4).silent("coalesced");
    // What hardly reached the disk is told by another rule.
    doc(|d| (d.disk().reads, d.disk().read_bytes) = (60, 60 * 1_000_000)).silent("coalesced");
}

#[test]
fn direct_io_that_is_none() {
    let tmpfs = doc(|d| {
        d.facts()[0].layers =
            vec![layer(LayerKind::File, PATH, &[1]), layer(LayerKind::MemoryFilesystem, "tmpfs", &[])];
    });
    says(
        &tmpfs.fires("direct-not-honoured"),
        FindingGrade::Invalid,
        &["The test asked for direct I/O, but tmpfs keeps its files in memory."],
    );
    let grown = |bytes: u64| {
        doc(|d| {
            let residency = d.facts()[0].residency.as_mut().expect("a residency");
            residency.cached_after_bytes = residency.cached_before_bytes + bytes;
        })
    };
    says(
        &grown(3 * GIB).fires("direct-not-honoured"),
        FindingGrade::Suspect,
        &["The test asked for direct I/O, but 3 GiB of the file entered the page cache during the run."],
    );
    grown(1 << 20).silent("direct-not-honoured");
    grown(80 << 20).silent("direct-not-honoured");
    doc(|d| d.facts()[0].residency = None).missing(
        "direct-not-honoured",
        "how much of 'test.dat' was in the page cache before and after the run",
    );
    doc(|d| (d.facts()[0].residency, d.facts()[0].kind) = (None, OpenedKind::BlockDevice))
        .silent("direct-not-honoured");
    doc(|d| (d.facts()[0].residency, d.asked.cache) = (None, CacheMode::Cached))
        .silent("direct-not-honoured");
}

/// Pages that came while every byte of the test was read from the disk are another program's.
#[test]
fn pages_that_others_brought_into_the_cache() {
    let (grown, done) = (2 * GIB, 20_000 * 4096 * SECONDS);
    let beside = |d: &mut Doc| {
        let residency = d.facts()[0].residency.as_mut().expect("a residency");
        residency.cached_after_bytes = residency.cached_before_bytes + grown;
    };
    let reads = |own: Option<u64>, change: &dyn Fn(&mut Doc)| {
        doc(|d| {
            beside(d);
            // Most places are met several times.
            d.facts()[0].size_bytes = 4 * GIB;
            d.host().own_disk_read_bytes = own;
            change(d);
        })
    };
    reads(Some(done), &|_| {}).silent("direct-not-honoured");
    let remark = reads(Some(done), &|_| {}).fires("other-io");
    let words = [
        "Another program uses test.dat through the page cache: 2 GiB of it came there during the run, and the I/O \
                  of this run bypassed it.",
    ];
    says(&remark, FindingGrade::Remark, &words);
    // Reads that the page cache answered were not read from the disk.
    reads(Some(done * 9 / 10), &|_| {}).fires("direct-not-honoured");
    reads(None, &|_| {}).fires("direct-not-honoured");
    reads(Some(done), &|d| d.facts()[0].residency.as_mut().expect("one").cached_after_bytes = 3 * GIB)
        .fires("direct-not-honoured");
    // Writes would have brought far more places there than came.
    let written = |grew: u64, change: &dyn Fn(&mut Doc)| {
        writes(|d| {
            d.facts()[0].residency.as_mut().expect("one").cached_after_bytes = grew;
            change(d);
        })
    };
    written(GIB, &|_| {}).silent("direct-not-honoured");
    written(GIB, &|_| {}).fires("other-io");
    written(3 * GIB, &|_| {}).fires("direct-not-honoured");
    // Of eight threads that take the same stretch each has an eighth.
    let in_line =
        |threads: u32| move |d: &mut Doc| (d.asked.random_percent, d.asked.threads_per_file) = (0, threads);
    written(GIB, &in_line(1)).silent("direct-not-honoured");
    written(GIB, &in_line(8)).fires("direct-not-honoured");
    let btrfs = Layer {
        details: Some(truespd_core::result::LayerDetails::of(truespd_core::result::LayerRole::CopyOnWrite)),
        ..layer(LayerKind::Filesystem, "btrfs", &[2])
    };
    written(GIB, &|d| d.facts()[0].layers[1] = btrfs.clone()).fires("direct-not-honoured");
}

#[test]
fn reads_that_make_the_disk_read_more() {
    let ours = 20_000 * 4096 * SECONDS;
    let amplified = |own: u64, change: &dyn Fn(&mut Doc)| {
        doc(|d| {
            d.asked.cache = CacheMode::Cached;
            d.host().own_disk_read_bytes = Some(own);
            d.disk().read_bytes = own.max(ours);
            change(d);
        })
    };
    let mapped = amplified(617 * ours, &|d| d.asked.memory_mapped = true).fires("read-amplified");
    says(
        &mapped,
        FindingGrade::Suspect,
        &["The test completed 78.1 MiB/s of reads, but had vda read 47.1 GiB/s for them, 617 times as \
             much: each fault of a memory-mapped file (-Sm) reads its surroundings, too."],
    );
    assert!(mapped.figures.iter().any(|f| f.name == "read_amplification" && f.value == 617.0));
    says(
        &amplified(2 * ours, &|_| {}).fires("read-amplified"),
        FindingGrade::Suspect,
        &["2 times as much: the page cache reads"],
    );
    says(&amplified(ours * 8 / 5, &|_| {}).fires("read-amplified"), FindingGrade::Remark, &["1.60 times"]);
    amplified(ours * 7 / 5, &|_| {}).silent("read-amplified");
    // Reading ahead of the end of a short run.
    amplified(3 << 20, &|d| {
        d.reads_per_s = 5;
        d.refresh();
    })
    .silent("read-amplified");
    let whole_extents = amplified(3 * ours, &|d| {
        d.asked.cache = CacheMode::DisableOsCache;
        d.facts()[0].layers[1].compression = Some("zstd".to_string());
    });
    let words = ["ext4 compresses (zstd), and reads compressed extents as a whole"];
    says(&whole_extents.fires("read-amplified"), FindingGrade::Suspect, &words);
    amplified(0, &|d| d.host().own_disk_read_bytes = None)
        .missing("read-amplified", "how much this process itself had the disks read");
    // What the kernel tries twice is twice in the account, and once at the disk.
    amplified(2 * ours, &|d| d.disk().read_bytes = ours).silent("read-amplified");
    // Another target's reads are in the same account.
    let mut document = amplified(617 * ours, &|_| {}).build();
    let other = Target { path: "other".to_string(), ..document.profile.time_spans[0].targets[0].clone() };
    document.profile.time_spans[0].targets.push(other.clone());
    let TimeSpanResult::Measured(measured) = &mut document.time_spans[0] else { panic!("measured") };
    let layers = vec![layer(LayerKind::RemoteFilesystem, "nfs4", &[])];
    measured.evidence.targets.push(TargetFacts { path: "other".to_string(), ..file(layers) });
    assert!(!judge(&document).findings.iter().any(|finding| finding.rule == "read-amplified"));
}

#[test]
fn ranges_that_fit_into_caches() {
    let small = |bytes: u64| doc(|d| d.facts()[0].size_bytes = bytes);
    let finding = small(10 << 20).fires("working-set");
    says(
        &finding,
        FindingGrade::Suspect,
        &[
            "The tested range is 10 MiB (<0.1 % of a disk of 932 GiB): a cache of the drive, the controller or the \
             host can",
        ],
    );
    small(GIB).silent("working-set");
    says(&small(GIB - 4096).fires("working-set"), FindingGrade::Suspect, &[]);
    // A small disk has small caches.
    doc(|d| {
        d.facts()[0].size_bytes = 512 << 20;
        d.facts()[0].layers[2].size_bytes = Some(40 * GIB);
    })
    .silent("working-set");
    // A part of a large file is small, too.
    let part = doc(|d| (d.asked.base_bytes, d.asked.max_bytes) = (GIB, GIB + (64 << 20)));
    says(&part.fires("working-set"), FindingGrade::Suspect, &["64 MiB"]);
    // A device in memory has no cache to defeat.
    doc(|d| {
        d.facts()[0].size_bytes = 1 << 20;
        d.facts()[0].layers = vec![layer(LayerKind::Memory, "zram1", &[])];
    })
    .silent("working-set");
    let cached = |size: u64| {
        doc(|d| {
            d.asked.cache = CacheMode::Cached;
            d.facts()[0].size_bytes = size;
        })
    };
    let finding = cached(8 * GIB).fires("working-set");
    says(
        &finding,
        FindingGrade::Suspect,
        &["The test used the page cache for 8 GiB of its range, which fits into 16 GiB of memory."],
    );
    cached(16 * GIB).silent("working-set");
    doc(|d| {
        d.asked.cache = CacheMode::Cached;
        d.document.system.memory_bytes = None;
    })
    .missing("working-set", "memory of the machine");
}

/// One of several entries for a path that goes through the page cache makes that part cached, and no other.
#[test]
fn what_the_cache_can_answer_for_is_told_by_entries() {
    let found = |second: &dyn Fn(&mut Target)| {
        let mut document = doc(|d| {
            (d.asked.base_bytes, d.asked.max_bytes) = (0, 4 * GIB);
            d.facts()[0].size_bytes = 8 * GIB;
            d.refresh();
        })
        .build();
        let targets = &mut document.profile.time_spans[0].targets;
        let mut other = Target { base_bytes: 3 * GIB, max_bytes: 5 * GIB, ..targets[0].clone() };
        other.cache = CacheMode::Cached;
        second(&mut other);
        targets.push(other);
        let TimeSpanResult::Measured(measured) = &mut document.time_spans[0] else { panic!("measured") };
        let result = measured.threads[0].targets[0].clone();
        measured.threads[0].targets.push(result);
        let says = |finding: Finding| finding.says;
        judge(&document).findings.into_iter().filter(|f| f.rule == "working-set").map(says).next()
    };
    assert!(found(&|_| {}).is_some_and(|says| says.contains(" for 2 GiB of its range, which fits")));
    assert_eq!(found(&|other| other.cache = CacheMode::DisableOsCache), None);
    // The cache answers no write that returns when it is durable.
    assert_eq!(found(&|other| (other.write_percent, other.write_through) = (100, true)), None);
    assert!(found(&|other| other.write_through = true).is_some(), "reads");
}

/// What lies on the same disk is one working set.
#[test]
fn ranges_on_one_disk_add_up() {
    let files = |count: usize| {
        let mut document = doc(|d| {
            d.facts()[0].size_bytes = 512 << 20;
            d.refresh();
        })
        .build();
        let TimeSpanResult::Measured(measured) = &mut document.time_spans[0] else { panic!("measured") };
        for number in 1..count {
            let path = format!("test{number}.dat");
            let asked = Target { path: path.clone(), ..document.profile.time_spans[0].targets[0].clone() };
            document.profile.time_spans[0].targets.push(asked);
            let facts = TargetFacts { path: path.clone(), ..measured.evidence.targets[0].clone() };
            measured.evidence.targets.push(facts);
            let result = TargetResult { path, ..measured.threads[0].targets[0].clone() };
            measured.threads[0].targets.push(result);
        }
        judge(&document).findings.into_iter().filter(|f| f.rule == "working-set").collect::<Vec<_>>()
    };
    assert_eq!(files(1).len(), 1);
    assert_eq!(files(1)[0].target.as_deref(), Some(PATH));
    assert_eq!(files(2), []);
    assert_eq!(files(20), []);
}

#[test]
fn hot_blocks_that_get_another_share_than_zipf_gives_them() {
    let skewed = |hot_ios: u64, ios: u64| {
        doc(|d| {
            d.asked.zipf = Decimal::new(0.9);
            d.skew =
                Some(SkewResult { positions: 1 << 20, hot_positions: 10_486, expected: 0.5, ios, hot_ios });
        })
    };
    says(
        &skewed(450_000, 1_000_000).fires("skew-missed"),
        FindingGrade::Suspect,
        &["50 % of the random I/Os", "it got 45 %"],
    );
    skewed(499_000, 1_000_000).silent("skew-missed");
    // Chance explains what few I/Os do.
    skewed(40, 100).silent("skew-missed");
    skewed(0, 0).silent("skew-missed");
    doc(|_| {}).silent("skew-missed");
}

#[test]
fn threads_that_walk_through_the_same_data() {
    let walk = |change: &dyn Fn(&mut Doc)| {
        doc(|d| {
            (d.asked.random_percent, d.asked.threads_per_file) = (0, 2);
            change(d);
        })
    };
    let same = walk(&|_| {}).fires("threads-overlap");
    says(
        &same,
        FindingGrade::Suspect,
        &["2 threads", "at the same place (-s without -si or -T)", "read up to 2 times"],
    );
    // 20,000 blocks/s of 4 KiB for a minute: 4.6 GiB.
    let near = walk(&|d| d.asked.thread_stride_bytes = 1 << 20).fires("threads-overlap");
    says(&near, FindingGrade::Suspect, &["only 1 MiB apart (-T)"]);
    walk(&|d| d.asked.thread_stride_bytes = 4 * GIB).silent("threads-overlap");
    walk(&|d| (d.asked.thread_stride_bytes, d.seconds) = (GIB / 2, 60)).fires("threads-overlap");
    let slow = walk(&|d| {
        (d.asked.thread_stride_bytes, d.reads_per_s) = (GIB / 2, 10);
        d.refresh();
    });
    slow.silent("threads-overlap");
    walk(&|d| d.asked.interlocked = true).silent("threads-overlap");
    walk(&|d| d.asked.threads_per_file = 1).silent("threads-overlap");
    walk(&|d| d.asked.random_percent = 50).silent("threads-overlap");
    walk(&|d| d.asked.cache = CacheMode::Cached).silent("threads-overlap");
    let requests = walk(&|d| {
        (d.asked.threads_per_file, d.asked.parallel, d.asked.request_count) = (1, true, 8);
    });
    says(&requests.fires("threads-overlap"), FindingGrade::Suspect, &["8 sequential requests", "(-p)"]);
}
