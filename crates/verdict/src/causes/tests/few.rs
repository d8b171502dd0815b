//! From how many I/Os on rules speak: too few are unchecked, neither an accusation nor a proof.

use super::*;
use truespd_core::profile::Throughput;

/// The clean document with fewer I/Os.
fn slow(reads_per_s: u64, seconds: u64, change: impl FnOnce(&mut Doc)) -> Doc {
    doc(|d| {
        (d.reads_per_s, d.seconds) = (reads_per_s, seconds);
        change(d);
        d.refresh();
    })
}

/// The same through the page cache, which answered all of it.
fn cached(reads_per_s: u64, seconds: u64, change: impl FnOnce(&mut Doc)) -> Doc {
    let mut doc = slow(reads_per_s, seconds, |d| {
        d.asked.cache = CacheMode::Cached;
        change(d);
    });
    *doc.disk() = DiskCounts::default();
    doc
}

#[test]
fn two_ios_accuse_nobody_and_prove_nothing() {
    let two = || cached(1, 2, |_| {});
    two().missing("served-from-cache", "too few I/Os: 2 reads, it takes 100");
    two().missing("coalesced", "too few I/Os: 2 reads, it takes 100");
    let finding = two().fires("unproven");
    let words = "Too few I/Os to prove the result: it has 2 reads, and it takes 100 to compare them with \
        what the storage counted.";
    says(&finding, FindingGrade::Suspect, &[words]);
    assert!(finding.advice.contains("measure longer"), "{}", finding.advice);
    assert_eq!(judge(&two().build()).grade, Grade::Suspect);
    // Nor is it certified where the disk was seen to do all of it.
    says(&slow(1, 1, |_| {}).fires("unproven"), FindingGrade::Suspect, &["it has 1 read, "]);
}

#[test]
fn a_hundred_ios_are_enough() {
    cached(1, 99, |_| {}).missing("served-from-cache", "99 reads");
    for (per_s, seconds) in [(1, 100), (50, 10)] {
        says(
            &cached(per_s, seconds, |_| {}).fires("served-from-cache"),
            FindingGrade::Invalid,
            &["received none"],
        );
        cached(per_s, seconds, |_| {}).silent("unproven");
    }
    slow(1, 100, |_| {}).silent("unproven");
}

#[test]
fn large_ios_need_not_be_so_many() {
    let large = |seconds: u64, in_flight: u32, block_bytes: u64| {
        cached(1, seconds, |d| (d.asked.block_bytes, d.asked.request_count) = (block_bytes, in_flight))
    };
    large(9, 2, 64 << 20).missing("served-from-cache", "9 reads, it takes 10");
    says(&large(10, 2, 64 << 20).fires("served-from-cache"), FindingGrade::Invalid, &["received none"]);
    large(10, 2, 64 << 20).silent("unproven");
    large(20, 2, 1 << 20).missing("served-from-cache", "20 reads, it takes 100");
    // What is in flight has moved in part.
    large(40, 32, 64 << 20).missing("served-from-cache", "40 reads, it takes 64");
    large(64, 32, 64 << 20).fires("served-from-cache");
    large(100, 200, 64 << 20).fires("served-from-cache");
}

#[test]
fn a_direction_of_few_ios_is_not_what_the_result_is_about() {
    let mix = |reads_per_s: u64, writes_per_s: u64| slow(reads_per_s, 10, |d| d.writes_per_s = writes_per_s);
    mix(18, 2).missing("served-from-cache", "20 writes, it takes 100");
    mix(18, 2).silent("unproven");
    says(&mix(17, 2).fires("unproven"), FindingGrade::Suspect, &["it has 20 writes"]);
    says(&mix(9, 8).fires("unproven"), FindingGrade::Suspect, &["it has 90 reads"]);
}

#[test]
fn shapes_and_limits_are_those_of_many_ios() {
    let burst = || doc(|d| d.series((0..20).map(|i| if i < 5 { 8 } else { 0 })));
    for rule in ["step-down", "warm-up-short", "not-steady", "provisioned-limit"] {
        burst().missing(rule, "too few I/Os: 40, it takes 100");
    }
    for rule in ["pauses", "uneven"] {
        burst().missing(rule, "too few I/Os: 2 per second, it takes 20");
        doc(|d| d.series((0..20).map(|i| 20 + i % 3))).silent(rule);
    }
    // What scatters by chance from half second to half second.
    let halves = |times: u64| {
        doc(|d| {
            d.series((0..9).map(|_| 22 * times));
            let reads = (0..18).map(|i| times * if i % 3 == 0 { 4 } else { 14 }).collect();
            d.measured.evidence.series =
                Some(Timeline { interval_ns: NS_PER_S / 2, reads, writes: Vec::new() });
        })
    };
    halves(1).silent("uneven");
    halves(10).fires("uneven");
}

#[test]
fn a_queue_is_seen_by_many_ios() {
    let reached = |asked: u64, from_latency: bool| {
        slow(3, 40, |d| {
            d.measured.evidence.queue_depth = Some(QueueDepth { asked, reached: 5.0, from_latency });
        })
    };
    reached(32, true).fires("queue-depth");
    reached(61, true).missing("queue-depth", "too few I/Os: 120, it takes 122");
    reached(61, false).fires("queue-depth");
    let mut few = reached(32, false);
    few.seconds = 33;
    few.missing("queue-depth", "too few I/Os: 99, it takes 100");
}

#[test]
fn a_rate_is_missed_by_more_than_an_io_or_two() {
    let half = |seconds: u64| slow(1, seconds, |d| d.asked.throughput = Some(Throughput::Iops(2)));
    half(9).missing("below-rate", "too few I/Os: 9, it takes 100");
    half(10).fires("below-rate");
    let bytes = |seconds: u64| {
        slow(1, seconds, |d| {
            (d.asked.block_bytes, d.asked.throughput) = (2_000_000, Some(Throughput::BytesPerMs(4000)));
        })
    };
    bytes(9).missing("below-rate", "too few I/Os: 9, it takes 100");
    bytes(10).fires("below-rate");
    let late = |seconds: u64| {
        slow(1, seconds, |d| {
            (d.latency, d.late) = (true, Some(vec![(1.0, 10_000_000)]));
            d.asked.throughput = Some(Throughput::Iops(1));
        })
    };
    late(19).missing("coordinated-omission", "too few I/Os: 19 reads, it takes 20");
    says(&late(20).fires("coordinated-omission"), FindingGrade::Suspect, &["The p50 latency"]);
}

#[test]
fn flushes_are_missed_when_there_should_be_many() {
    let unflushed = |seconds: u64| {
        writes(|d| {
            (d.writes_per_s, d.seconds) = (1, seconds);
            d.refresh();
            d.disk().flushes = Some(0);
        })
    };
    // One flush may serve 32 writes.
    unflushed(319).missing("write-through-unseen", "too few I/Os: 319 writes, it takes 320");
    unflushed(320).fires("write-through-unseen");
}

#[test]
fn what_is_in_flight_at_the_end_is_nobody_elses() {
    let beside = |more: u64| {
        let mut doc = slow(1, 20, |d| (d.asked.block_bytes, d.asked.request_count) = (64 << 20, 2));
        doc.disk().read_bytes += more * (64 << 20);
        doc
    };
    beside(2).silent("other-io");
    beside(4).fires("other-io");
}

#[test]
fn one_block_of_zeros_is_no_share() {
    let zeros = |zero_blocks: u32, blocks: u32, range_bytes: u64| {
        doc(|d| {
            d.asked.max_bytes = range_bytes;
            d.facts()[0].content = Some(ContentSample { blocks, zero_blocks, ..random_sample() });
        })
    };
    zeros(1, 19, GIB).missing("zero-data", "one of 19 sampled blocks does, which is too few to tell");
    zeros(1, 20, GIB).fires("zero-data");
    zeros(2, 3, GIB).fires("zero-data");
    // They are all there is.
    zeros(1, 2, 8192).fires("zero-data");
}
