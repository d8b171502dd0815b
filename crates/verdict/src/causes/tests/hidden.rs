use super::*;
use truespd_core::result::FineSeries;

/// A rate that never changes, at a depth.
fn flat(rate: u64, reached: f64, wobble: u64) -> Doc {
    doc(|d| {
        d.reads_per_s = rate;
        d.refresh();
        let counts = |i: u64| DiskCounts { reads: rate + i % 2 * wobble, ..DiskCounts::default() };
        d.measured.evidence.disks[0].intervals = (0..60).map(counts).collect();
        d.measured.evidence.queue_depth = Some(QueueDepth { asked: 32, reached, from_latency: true });
    })
}

#[test]
fn rates_that_no_medium_has() {
    let finding = flat(1920, 31.9, 2).fires("provisioned-limit");
    let words = ["vda delivered 1,921 IOPS with a variation of <0.1 %", "31.9 I/Os waited 16.6 ms each"];
    says(&finding, FindingGrade::Suspect, &words);
    // A disk that scatters, a fast one, and one with nothing in line.
    flat(1920, 31.9, 80).silent("provisioned-limit");
    flat(90_000, 31.9, 2).silent("provisioned-limit");
    // A fast device at its end is as flat; so is a card that takes one at a time.
    let fast = flat(100_000, 256.0, 20).fires("provisioned-limit");
    says(&fast, FindingGrade::Remark, &["this is a provisioned limit, or the most that the device can do."]);
    let mut card = flat(1920, 31.9, 2);
    card.facts()[0].layers[2].transport = Some("mmc".to_string());
    says(&card.fires("provisioned-limit"), FindingGrade::Remark, &["or the most that the device can do."]);
    let mut link = flat(8400, 31.9, 2);
    link.asked.block_bytes = 64 * 1024;
    link.silent("provisioned-limit");
    flat(1000, 2.5, 1).silent("provisioned-limit");
    let mut paced = flat(1920, 31.9, 2);
    paced.asked.throughput = Some(truespd_core::profile::Throughput::Iops(1920));
    paced.silent("provisioned-limit");
    // A full link with large I/Os, and a limit below any link.
    let large = |rate: u64| {
        let mut large = flat(rate, 31.9, 0);
        large.asked.block_bytes = 1 << 20;
        large
    };
    large(500).silent("provisioned-limit");
    large(20).fires("provisioned-limit");
    let mut unknown = flat(1920, 31.9, 2);
    unknown.measured.evidence.queue_depth = None;
    unknown.missing("provisioned-limit", "I/Os in flight");
    let mut short = flat(1920, 31.9, 2);
    short.measured.evidence.disks[0].intervals.clear();
    short.measured.evidence.series = None;
    short.missing("provisioned-limit", "completions over time");
    // Without intervals of the disk the run's own tell the same.
    let mut own = flat(1920, 31.9, 2);
    own.measured.evidence.disks[0].intervals.clear();
    own.measured.evidence.series =
        Some(Timeline { interval_ns: NS_PER_S, reads: vec![1920; 20], writes: vec![] });
    says(&own.fires("provisioned-limit"), FindingGrade::Suspect, &["The storage delivered 1,920 IOPS"]);
}

/// Rates of seconds, at depth 32.
fn seconds(rates: impl IntoIterator<Item = u64>) -> Doc {
    doc(|d| {
        d.series(rates);
        d.measured.evidence.queue_depth = Some(QueueDepth { asked: 32, reached: 31.9, from_latency: false });
    })
}

/// A rotating disk: 200 I/Os per second scatter by 2 % at least, and nothing makes up for it.
fn scattered(length: u64, rate: u64, by: u64) -> Vec<u64> {
    (0..length).map(|i| rate - by + i * 7919 % (2 * by + 1)).collect()
}

#[test]
fn a_ceiling_is_a_limit() {
    // The HCI guide's own run: 0.9 % of variation, by a few seconds below the limit.
    let dips = || seconds((0..60).map(|i| if i % 7 == 3 { 2800 } else { 3000 + i % 2 }));
    let finding = dips().fires("provisioned-limit");
    let words = [
        "vda delivered 2,970 IOPS with a variation of 2.4 %",
        "probably a provisioned limit",
        "For 85 % of the time",
    ];
    says(&finding, FindingGrade::Suspect, &words);
    // Few seconds at the top, or a longer way down.
    seconds(scattered(60, 3000, 60)).silent("provisioned-limit");
    seconds((0..60).map(|i| if i % 7 == 3 { 2000 } else { 3000 })).silent("provisioned-limit");
    seconds((0..60).map(|i| if i % 2 == 0 { 2900 } else { 3000 })).silent("provisioned-limit");
    let mut shallow = dips();
    shallow.measured.evidence.queue_depth = Some(QueueDepth { asked: 4, reached: 3.0, from_latency: false });
    shallow.silent("provisioned-limit");
}

#[test]
fn bursts_that_each_second_makes_up_for_are_a_limit() {
    let rates = scattered(60, 2000, 50);
    // 100 ms of each 200 ms have nearly all of it, or each tenth is by chance what it is.
    let of = |part: &dyn Fn(usize, u64) -> u64| {
        let mut made = seconds(rates.iter().copied());
        let completed = rates.iter().flat_map(|&rate| (0..10).map(move |at| (at, rate)));
        let completed = completed.map(|(at, rate)| part(at, rate)).collect();
        made.measured.evidence.fine_series = Some(FineSeries { interval_ns: NS_PER_S / 10, completed });
        made
    };
    let bursts = of(&|at, rate| rate / 5 * if at % 2 == 0 { 9 } else { 1 } / 10);
    says(&bursts.fires("provisioned-limit"), FindingGrade::Suspect, &["and each second makes up for it."]);
    of(&|_, rate| rate / 10).silent("provisioned-limit");
}

#[test]
fn latencies_all_alike_are_a_line() {
    let waited = |spread: u64| {
        let mut document = seconds(scattered(60, 2000, 50)).build();
        let mut histogram = Histogram::new();
        (0..1000).for_each(|i| histogram.record(16_000_000 + i % 100 * spread));
        let TimeSpanResult::Measured(measured) = &mut document.time_spans[0] else { panic!("measured") };
        measured.threads[0].targets[0].read.latency = Some(Box::new(histogram));
        said(&document, 1)
    };
    let words = waited(10_000);
    assert!(words.len() == 1 && words[0].contains("Every I/O waited for about as long"), "{words:?}");
    assert_eq!(waited(200_000), [""; 0]);
}

/// What the rule says of a time span.
fn said(document: &Document, time_span: u32) -> Vec<String> {
    let findings = judge(document).findings.into_iter();
    let of = findings.filter(|f| f.rule == "provisioned-limit" && f.time_span == time_span);
    of.map(|finding| finding.says).collect()
}

#[test]
fn more_in_flight_that_only_waits_longer_is_a_limit() {
    let of = |reads: u64, in_flight: f64| {
        let mut one = seconds(scattered(60, reads, 50));
        one.measured.evidence.queue_depth =
            Some(QueueDepth { asked: 32, reached: in_flight, from_latency: false });
        one.build()
    };
    let told = |first: Document| {
        let mut both = of(2000, 31.9);
        both.profile.time_spans.splice(0..0, first.profile.time_spans);
        both.time_spans.splice(0..0, first.time_spans);
        said(&both, 2)
    };
    let with = told(of(2010, 8.0));
    assert!(with.len() == 1 && with[0].contains("With 8 in flight the rate was the same"), "{with:?}");
    assert_eq!((told(of(1500, 8.0)), told(of(2000, 20.0))), (vec![], vec![]));
}

/// Completions in tenths of a second, at a depth.
fn tenths_at(depth: f64, block_bytes: u64, count: impl Fn(u64) -> u64) -> Doc {
    doc(|d| {
        let completed: Vec<u64> = (0..600).map(count).collect();
        d.asked.block_bytes = block_bytes;
        d.reads_per_s = completed.iter().sum::<u64>() / SECONDS;
        d.refresh();
        // The disk scatters: it is the run's own series that is looked at.
        d.measured.evidence.fine_series = Some(FineSeries { interval_ns: NS_PER_S / 10, completed });
        d.measured.evidence.queue_depth =
            Some(QueueDepth { asked: depth.ceil() as u64, reached: depth, from_latency: true });
    })
}

/// 20 MiB/s, 1,500 IOPS at depth 1 and 2, and burst credit that is used up: at any depth and block size.
#[test]
fn a_rate_that_keeps_account_is_that_of_a_limit() {
    let limit = tenths_at(1.0, 4096, |i| 150 + i % 2).fires("provisioned-limit");
    let words = "The storage kept to 1,505 IOPS (5.9 MiB/s): over 2.40 s the sum of all I/Os was never more than 1 away from \
        an even line. Media scatter more, so this is the rate of a limit, or of a device that takes the same time";
    says(&limit, FindingGrade::Suspect, &[words]);
    // What a limit had saved goes through at once.
    let mut saved = tenths_at(8.0, 4096, |i| if i == 0 { 381 } else { 192 + i % 2 });
    saved.measured.evidence.fine_series.as_mut().expect("it has one").completed.truncate(30);
    saved.fires("provisioned-limit");
    // It lets through eight at a time, which every second tenth of a second has once more.
    let mut eights = tenths_at(8.0, 4096, |i| if i == 0 { 195 } else { 96 + 8 * (i % 2) });
    eights.measured.evidence.fine_series.as_mut().expect("it has one").completed.truncate(60);
    eights.fires("provisioned-limit");
    // So it does here, with one group a moment late.
    let counts = [105, 96, 96, 104];
    let late = tenths_at(8.0, 4096, |i| if i % 24 < 4 { counts[i as usize % 24] } else { 96 + 8 * (i % 2) });
    late.fires("provisioned-limit");
    let mut fours = tenths_at(4.0, 1 << 20, |i| 4 * ((i + 1) % 2));
    fours.measured.evidence.fine_series.as_mut().expect("it has one").completed.truncate(60);
    fours.fires("provisioned-limit");
    // One moment late, made up for at once.
    tenths_at(1.0, 4096, |i| [94, 106, 100][(i as usize % 24).min(2)]).fires("provisioned-limit");
    let bytes = tenths_at(4.0, 1 << 20, |_| 2).fires("provisioned-limit");
    says(&bytes, FindingGrade::Suspect, &["The storage kept to 20 IOPS (20 MiB/s): over"]);
    let burst = tenths_at(2.0, 4096, |i| if i < 250 { 300 } else { 100 }).fires("provisioned-limit");
    let words = "kept to 3,000 IOPS (11.7 MiB/s), then to 1,000 IOPS (3.9 MiB/s): over";
    says(&burst, FindingGrade::Suspect, &[words]);
    // A link that is full, and a fast device.
    let link = tenths_at(4.0, 1 << 20, |_| 11).fires("provisioned-limit");
    says(
        &link,
        FindingGrade::Remark,
        &["this is the rate of a limit, or the most that a link or device can do."],
    );
    let fast = tenths_at(32.0, 4096, |_| 9000).fires("provisioned-limit");
    says(&fast, FindingGrade::Remark, &["or the most that a link or device can do."]);
    // A drive whose I/Os vary by 30 % strays by more, however even its seconds look.
    let drive = tenths_at(1.0, 4096, |i| [150, 156, 145, 149, 153, 141, 158][i as usize * i as usize % 7]);
    drive.silent("provisioned-limit");
    // A disk that writes once per turn.
    let mut turning = tenths_at(1.0, 4096, |_| 12);
    turning.asked.random_percent = 0;
    let disk = turning.facts()[0].layers.last_mut().expect("a disk");
    (disk.rotational, disk.transport) = (Some(true), Some("sata".to_string()));
    turning.silent("provisioned-limit");
}
