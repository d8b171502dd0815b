//! Loads that DiskSpd does not have, on a simulated device: sizes in shares, places by Zipf's law, flushes.

use crate::support::runner::Place;
use diskspd::render;
use truespd_core::result::{Operations, Summary};

const MIB: u64 = 1 << 20;

#[test]
fn each_size_of_a_mix_has_its_share_and_its_latencies() {
    let place = Place::new(64 * MIB);
    let words = "--mix 4K:62.5,16K:30,64K:7.5 -r -w40 -t2 -o4 -W0 -d2 -L FILE";
    let outcome = place.sim("latency=100us,write_latency=300us", words);
    let document = &outcome.report.document;
    let measured = document.measured().next().expect("one time span");
    let total = Summary::of(measured).total;
    let sizes: Vec<u64> = total.sizes.iter().map(|size| size.block_bytes).collect();
    assert_eq!(sizes, [4096, 16384, 65536]);
    for (size, percent) in total.sizes.iter().zip([62.5, 30.0, 7.5]) {
        assert!((size.ios_percent - percent).abs() < 2.0, "{} %, {percent} asked for", size.ios_percent);
        assert_eq!(size.bytes, size.ios * size.block_bytes);
        assert_eq!(size.latency.as_ref().expect("-L").max_ns / 1000, 300, "its writes");
    }
    assert_eq!(total.sizes.iter().map(|size| size.ios).sum::<u64>(), total.ios);
    assert_eq!(total.sizes.iter().map(|size| size.bytes).sum::<u64>(), total.bytes);
    let reads = measured.sum(Operations::Reads, |_| true);
    assert!(reads.sizes.iter().all(|size| size.latency.as_ref().is_some_and(|it| it.max_ns() / 1000 == 100)));

    let text = render::text(document);
    assert!(
        text.contains("sizes: 4KiB 62.5% of I/Os (20.66% of bytes), 16KiB 30% of I/Os (39.67% of bytes)")
    );
    assert!(text.contains("using random I/O (alignment: size of each I/O)"), "{text}");
    let table = text.split("I/O sizes (TrueSpd), latencies in ms\n").nth(1).expect("a table");
    let rows: Vec<&str> = table.lines().skip(2).collect();
    assert_eq!(rows.len(), 9, "{table}");
    assert!(
        rows[0].starts_with("     4KiB | total |") && rows[8].starts_with("    64KiB | write |"),
        "{table}"
    );
    // The document is read again with all of it.
    let again = serde_json::from_slice(&serde_json::to_vec(document).expect("JSON"));
    let again: truespd_core::result::Document = again.expect("the same document");
    assert_eq!(Summary::of(again.measured().next().expect("one")).total.sizes, total.sizes);

    // One direction, no latencies: fewer rows and columns.
    let text = render::text(&place.sim("latency=100us", "--mix 512:50,1K:50 -W0 -d1 FILE").report.document);
    let table = text.split("I/O sizes (TrueSpd)").nth(1).expect("a table");
    assert_eq!((table.lines().count(), table.contains("AvgLat")), (5, false), "{table}");
    let usual = place.sim("latency=100us", "-b4K -W0 -d1 FILE").report.document;
    assert!(!render::text(&usual).contains("sizes"));
}

/// `-g` in bytes: the sizes share it by their mean.
#[test]
fn a_rate_in_bytes_holds_for_a_mix() {
    let place = Place::new(64 * MIB);
    let outcome = place.sim("latency=10us", "--mix 4K:75,64K:25 -r -o8 -g10240 -W0 -d20 -L FILE");
    let total = Summary::of(outcome.report.document.measured().next().expect("one")).total;
    assert!((total.iops / 526.3 - 1.0).abs() < 0.002, "{}", total.iops);
    assert!((total.bytes_per_s / 10_240_000.0 - 1.0).abs() < 0.05, "{}", total.bytes_per_s);
}

#[test]
fn the_hottest_blocks_get_what_zipf_gives_them() {
    let place = Place::new(64 * MIB);
    let outcome = place.sim("latency=10us", "-b4K --zipf 0.9 -t2 -o2 -W0 -d1 -L FILE");
    let document = &outcome.report.document;
    let measured = document.measured().next().expect("one");
    for target in measured.targets() {
        let skew = target.skew.expect("Zipf's law");
        assert_eq!((skew.positions, skew.hot_positions), (16_384, 164));
        let observed = skew.observed().expect("I/O");
        assert!((observed - skew.expected).abs() < 0.01, "{observed}, {} expected", skew.expected);
    }
    let note = outcome.report.notes.iter().find(|note| note.words.contains("Zipf's law")).expect("a note");
    assert!(note.words.contains("the hottest blocks (164 of 16,384): "), "{}", note.words);
    assert!(render::text(document).contains("IO Distribution: Zipf, exponent 0.9"));
    let usual = place.sim("latency=10us", "-b4K -r -W0 -d1 FILE").report.document;
    assert!(usual.measured().all(|measured| measured.targets().all(|target| target.skew.is_none())));
}

#[test]
fn flushes_follow_their_writes_and_have_latencies_of_their_own() {
    let place = Place::new(MIB);
    let sim = "latency=100us,write_latency=200us,flush_latency=1ms";
    // 1 ms for 5 writes, and 1 ms for their flush; the last flush ends when the run does.
    let outcome = place.sim(sim, "-b4K -w100 -o1 --flush-every 5:data -W0 -d10 -L FILE");
    let summary = Summary::of(outcome.report.document.measured().next().expect("one"));
    let flush = summary.flush.expect("flushes");
    assert_eq!((summary.total.ios, flush.ios, flush.bytes), (25_000, 4999, 0));
    assert_eq!(flush.latency.expect("-L").p50_ns / 1000, 1000);
    assert_eq!(summary.write.latency.expect("-L").max_ns / 1000, 200);
    let depth =
        outcome.report.document.measured().next().expect("one").evidence.queue_depth.expect("counted");
    assert!((depth.reached - 1.0).abs() < 0.001, "flushes are in flight, too: {depth:?}");
    let text = render::text(&outcome.report.document);
    assert!(text.contains("flushing after every 5 writes of a thread (fdatasync)"), "{text}");
    let row = "         4999 |     499.90 |    1.000 |    1.000 |";
    assert!(text.contains("Flushes (TrueSpd), latencies in ms\n") && text.contains(row), "{text}");

    // Reads are in between, and do not count; under a rate the flush is no arrival.
    let mixed = place.sim(sim, "-b4K -r -w50 -o2 -t2 -g500i --flush-every 4 -W0 -d20 -L FILE");
    let summary = Summary::of(mixed.report.document.measured().next().expect("one"));
    let flushes = summary.flush.expect("flushes").ios;
    assert!((summary.write.ios / 4).abs_diff(flushes) <= 4, "{flushes} of {}", summary.write.ios);
    assert!((summary.total.iops - 1000.0).abs() < 1.0, "{}", summary.total.iops);
    let usual = place.sim(sim, "-b4K -w100 -W0 -d1 FILE").report.document;
    assert!(!render::text(&usual).contains("lushes"));
}
