use super::*;
use truespd_core::result::{LayerDetails, LayerRole, OtherProgram, OtherPrograms};

const MIB: u64 = 1 << 20;

/// What other programs moved over a minute.
fn programs(read_bytes: u64, write_bytes: u64) -> OtherPrograms {
    let dd = OtherProgram { process: 1234, name: "dd".to_string(), read_bytes, write_bytes };
    let most = if read_bytes + write_bytes > 0 { vec![dd] } else { Vec::new() };
    OtherPrograms { window_ns: SECONDS * NS_PER_S, read_bytes, write_bytes, most, ..OtherPrograms::default() }
}

/// 600 durable writes/s of 4 KiB on btrfs, which writes so many times the bytes; nobody else wrote.
fn btrfs(times: u64, change: impl FnOnce(&mut Doc)) -> Doc {
    writes(|d| {
        d.writes_per_s = 600;
        d.refresh();
        d.facts()[0].layers[1] = Layer {
            details: Some(LayerDetails::of(LayerRole::CopyOnWrite)),
            ..layer(LayerKind::Filesystem, "btrfs", &[2])
        };
        d.disk().write_bytes *= times;
        d.host().own_disk_write_bytes = Some(600 * 4096 * SECONDS);
        d.host().other_programs = Some(programs(0, 0));
        change(d);
    })
}

#[test]
fn writes_that_become_several() {
    let words = [
        "The test wrote 2.3 MiB/s, and vda wrote 86.7 MiB/s for it, 37 times as much: btrfs copies on write, and \
         writes its log with each durable write.",
    ];
    says(&btrfs(37, |_| {}).fires("write-amplified"), FindingGrade::Suspect, &words);
    says(&btrfs(2, |_| {}).fires("write-amplified"), FindingGrade::Remark, &["2 times as much"]);
    btrfs(1, |_| {}).silent("write-amplified");
    btrfs(37, |_| {}).silent("other-io");
    // Without the accounts of others nobody can tell, unless it is in that of this process.
    let unseen = |d: &mut Doc| d.host().other_programs = None;
    btrfs(37, unseen).missing("write-amplified", "other programs may have written");
    btrfs(37, unseen).missing("other-io", "which of the writes on vda came from this run");
    let logged = btrfs(37, |d| {
        unseen(d);
        d.host().own_disk_write_bytes = Some(18 * 600 * 4096 * SECONDS);
    });
    let words = ["and this process had the disks write 42.2 MiB/s for it, 18 times as much: btrfs copies"];
    says(&logged.fires("write-amplified"), FindingGrade::Suspect, &words);
    // What others wrote is taken off.
    btrfs(37, |d| d.host().other_programs = Some(programs(0, 36 * 600 * 4096 * SECONDS)))
        .silent("write-amplified");
    // Mirrors are meant to write twice.
    let mirror = |d: &mut Doc| {
        d.facts()[0].layers[2] = Layer {
            details: Some(LayerDetails {
                level: Some("raid1".to_string()),
                is_redundant: Some(true),
                ..LayerDetails::of(LayerRole::Array)
            }),
            ..layer(LayerKind::Md, "md0", &[3, 3])
        };
        d.facts()[0].layers.push(disk_layer("vda"));
        d.host().other_programs = Some(programs(0, 0));
    };
    writes(|d| {
        mirror(d);
        d.disk().write_bytes *= 2;
    })
    .silent("write-amplified");
    says(
        &writes(|d| {
            mirror(d);
            d.facts()[0].layers[2].details.as_mut().expect("one").level = Some("raid5".to_string());
            d.disk().write_bytes *= 2;
        })
        .fires("write-amplified"),
        FindingGrade::Remark,
        &[
            "2 times as much: ext4 writes its journal with each durable write; md0 writes parity with the data",
        ],
    );
}

/// The page cache reads and writes a page for a part of it.
#[test]
fn parts_of_pages() {
    let pages = writes(|d| {
        d.asked.block_bytes = 512;
        d.asked.cache = CacheMode::Cached;
        (d.writes_per_s, d.asked.request_count) = (500, 1);
        d.refresh();
        d.disk().write_bytes *= 10;
        d.disk().read_bytes = 500 * 4096 * SECONDS;
        d.host().own_disk_write_bytes = Some(8 * 500 * 512 * SECONDS);
        d.host().own_disk_read_bytes = Some(500 * 4096 * SECONDS);
    });
    let words =
        ["8 times as much, and 2 MiB/s were read for it: the page cache reads and writes whole pages"];
    says(&pages.fires("write-amplified"), FindingGrade::Suspect, &words);
}

#[test]
fn others_beyond_what_layers_can_cause() {
    // btrfs with compression reads two extents and what leads to them: 324 KiB for each read.
    let compressed = |moved: u64, change: &dyn Fn(&mut Doc)| {
        doc(|d| {
            d.reads_per_s = 100;
            d.refresh();
            d.facts()[0].layers[1] = Layer {
                details: Some(LayerDetails::of(LayerRole::CopyOnWrite)),
                compression: Some("zstd".to_string()),
                ..layer(LayerKind::Filesystem, "btrfs", &[2])
            };
            d.disk().read_bytes = moved * SECONDS;
            change(d);
        })
    };
    let named = |d: &mut Doc| d.host().other_programs = Some(programs(8 * GIB, 0));
    let words = [
        "Other I/O used vda during the run: at least ",
        " of reads beyond the 31.6 MiB/s that this run and the layers below it can have caused. By their accounts \
          dd (process 1234) read 8 GiB.",
    ];
    says(&compressed(100 * MIB, &named).fires("other-io"), FindingGrade::Suspect, &words);
    let within = 20 * MIB;
    compressed(within, &|_| {}).missing("other-io", "which of the reads on vda came from this run");
    compressed(within, &|d| d.host().other_programs = Some(programs(0, 0))).silent("other-io");
    let beside = compressed(within, &|d| d.host().other_programs = Some(programs(15 * MIB * SECONDS, 0)));
    let words = [
        "Other programs had disks read 15 MiB/s during the run. How much of that was on vda is not known, as the layers \
         of this test turn one read into several. By their accounts dd (process 1234) read 900 MiB.",
    ];
    says(&beside.fires("other-io"), FindingGrade::Suspect, &words);
    // On other disks: those of the test moved nothing more.
    compressed(600 << 10, &|d| d.host().other_programs = Some(programs(GIB, 0))).silent("other-io");
    // What a device in memory compresses is in none of its counters.
    doc(|d| {
        d.facts()[0].layers[2].name = "zram1".to_string();
        d.facts()[0].layers[2].details = Some(LayerDetails::of(LayerRole::Zram));
        d.measured.evidence.disks[0].name = "zram1".to_string();
        d.disk().read_bytes *= 30;
    })
    .fires("other-io");
}

#[test]
fn discards_and_flushes_of_others() {
    let discards = |per_s: u64, each: u64| {
        move |d: &mut Doc| {
            (d.disk().discards, d.disk().discard_bytes) = (per_s * SECONDS, per_s * each * SECONDS)
        }
    };
    let words =
        ["5/s discards of 1 GiB went to vda during the run, and this run issued none: another program"];
    says(&doc(discards(5, GIB)).fires("other-commands"), FindingGrade::Suspect, &words);
    says(&doc(discards(5, MIB)).fires("other-commands"), FindingGrade::Remark, &[]);
    says(&doc(discards(2000, 4096)).fires("other-commands"), FindingGrade::Suspect, &[]);
    doc(|d| d.disk().discards = 9).silent("other-commands");
    // btrfs discards what it replaced.
    btrfs(1, discards(50, MIB)).missing("other-commands", "who discarded blocks of vda");

    let flushes = |per_s: u64| move |d: &mut Doc| d.disk().flushes = Some(per_s * SECONDS);
    let words =
        ["vda flushed its cache 2,000/s during the run, and this run caused none: another program writes"];
    says(&doc(flushes(2000)).fires("other-commands"), FindingGrade::Suspect, &words);
    says(&doc(flushes(20)).fires("other-commands"), FindingGrade::Remark, &[]);
    doc(flushes(4)).silent("other-commands");
    // Those of the test itself (--flush-every).
    writes(|d| {
        (d.asked.write_through, d.asked.flush_every) = (false, FlushEvery::read("1:data"));
        flushes(20_000)(d);
    })
    .silent("other-commands");
    // Durable writes flush, and their file system may do it twice for each.
    btrfs(1, flushes(1200)).silent("other-commands");
    says(
        &btrfs(1, flushes(3000)).fires("other-commands"),
        FindingGrade::Suspect,
        &["and this run and its file systems cause 1,805/s at most"],
    );
}
