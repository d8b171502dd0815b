//! Figures of the text result against values computed by hand from small documents.

use crate::support::documents::{Mix, Ranges, Recipe, document};
use crate::support::strict_text::{Parsed, ResultText, parse};
use diskspd::render::text;
use truespd_core::measure::{Histogram, Intervals};
use truespd_core::result::{CpuUse, Direction, DistributionPart, Document, Measured, TimeSpanResult};

const MS: u64 = 1_000_000;

const RECIPE: Recipe = Recipe { latency: true, iops: true, threads: 2, mix: Mix::Nothing, ..Recipe::PLAIN };

fn measured(document: &mut Document) -> &mut Measured {
    match &mut document.time_spans[0] {
        TimeSpanResult::Measured(measured) => measured,
        TimeSpanResult::NotMeasured => panic!("the recipe measures"),
    }
}

/// I/Os of 4 KiB: completion time after the start of measurement and latency, both in milliseconds.
fn direction(ios: &[(u64, u64)], interval_ms: u64, duration_ms: u64) -> Direction {
    let mut latency = Histogram::new();
    let mut intervals = Intervals::new(interval_ms * MS, duration_ms * MS);
    for &(at_ms, latency_ms) in ios {
        latency.record(latency_ms * MS);
        intervals.record(at_ms * MS, latency_ms * MS);
    }
    let count = ios.len() as u64;
    let (latency, intervals) = (Some(Box::new(latency)), Some(intervals));
    Direction { bytes: 4096 * count, ios: count, latency, intervals, ..Direction::default() }
}

/// Sets the reads of both threads and gives every series the same intervals.
fn set_reads(document: &mut Document, reads: [&[(u64, u64)]; 2], interval_ms: u64, duration_ms: u64) {
    for (thread, ios) in measured(document).threads.iter_mut().zip(reads) {
        thread.targets[0].read = direction(ios, interval_ms, duration_ms);
        thread.targets[0].write = direction(&[], interval_ms, duration_ms);
    }
}

fn read_back(document: &Document) -> Parsed {
    let text = text(document);
    parse(&text).unwrap_or_else(|fault| panic!("{fault}\n{text}"))
}

fn first(document: &Document) -> ResultText {
    read_back(document).results.remove(0).expect("measured")
}

#[test]
fn latency_figures_are_those_of_all_ios_together() {
    let mut document = document(&RECIPE, 1);
    let run = measured(&mut document);
    run.test_time_s = 2.0;
    // Thread 0: 1, 3 ms read, 8 ms written; thread 1: 5 ms read.
    run.threads[0].targets[0].read = direction(&[(0, 1), (0, 3)], 300, 2000);
    run.threads[0].targets[0].write = direction(&[(0, 8)], 300, 2000);
    run.threads[1].targets[0].read = direction(&[(0, 5)], 300, 2000);
    let [total, read, write] = first(&document).tables;
    assert_eq!((read.rows[0].latency_mean, read.rows[0].latency_dev), (Some(2.0), Some(Some(1.0))));
    assert_eq!((read.total.latency_mean, read.total.latency_dev), (Some(3.0), Some(Some(1.633))));
    // 1, 3, 8: mean 4, squares 9 + 1 + 16 over 3.
    assert_eq!((total.rows[0].latency_mean, total.rows[0].latency_dev), (Some(4.0), Some(Some(2.944))));
    // 1, 3, 8, 5: mean 4.25, deviation sqrt(24.75 - 18.0625) = 2.586.
    assert_eq!((total.total.latency_mean, total.total.latency_dev), (Some(4.25), Some(Some(2.586))));
    assert_eq!((write.rows[1].latency_mean, write.rows[1].latency_dev), (Some(0.0), Some(None)));
    assert_eq!((total.total.ios_per_s, total.total.mib_per_s), (2.0, 0.01));
}

#[test]
fn iops_deviation_of_the_total_comes_from_the_summed_series() {
    let mut document = document(&RECIPE, 2);
    let span = &mut document.profile.time_spans[0];
    (span.io_bucket_ms, span.duration_s) = (500, 1);
    // 1 and 3 per half second in one thread, 3 and 1 in the other: together always 4.
    let reads = [&[(0, 1), (500, 1), (600, 1), (700, 1)][..], &[(0, 1), (1, 1), (2, 1), (900, 1)]];
    set_reads(&mut document, reads, 500, 1000);
    let [total, read, _] = first(&document).tables;
    // Deviation 1 per half second is 2 per second.
    assert_eq!([read.rows[0].iops_dev, read.rows[1].iops_dev], [Some(2.0), Some(2.0)]);
    assert_eq!([read.total.iops_dev, total.total.iops_dev], [Some(0.0), Some(0.0)]);
}

#[test]
fn intervals_count_up_to_the_last_completion_and_only_whole_ones() {
    let deviation = |ios: &[(u64, u64)], interval_ms, duration_ms| {
        let mut document = document(&RECIPE, 3);
        set_reads(&mut document, [ios, &[]], interval_ms, duration_ms);
        first(&document).tables[1].rows[0].iops_dev.expect("-D")
    };
    // Counts 1 and 2, one more beyond the end: 0.5 per interval of a second.
    assert_eq!(deviation(&[(500, 1), (1100, 1), (1200, 1), (2500, 1)], 1000, 2000), 0.5);
    // Leading and inner empty intervals count: 0, 3, 0, 1 -> sqrt(10/4 - 1) = 1.22.
    assert_eq!(deviation(&[(1000, 1), (1001, 1), (1002, 1), (3000, 1)], 1000, 9000), 1.22);
    // Trailing ones do not: 2 alone has no deviation.
    assert_eq!(deviation(&[(0, 1), (1, 1)], 1000, 9000), 0.0);
    // The last interval is half as long: 2, 2, (1) -> 0.
    assert_eq!(deviation(&[(0, 1), (1, 1), (1000, 1), (1001, 1), (2000, 1)], 1000, 2500), 0.0);
    // Nothing but a part of an interval: no deviation, and certainly no NaN.
    assert_eq!(deviation(&[(0, 1)], 1000, 500), 0.0);
}

#[test]
fn percentiles_take_the_smallest_latency_that_reaches_the_share() {
    let mut document = document(&RECIPE, 4);
    let run = measured(&mut document);
    let ios: Vec<(u64, u64)> = (1..=100).map(|latency_ms| (0, latency_ms)).collect();
    run.threads[1].targets[0].read = direction(&ios, 300, 2000);
    let chart = &first(&document).charts[0];
    let read: Vec<f64> = chart.cells.iter().map(|row| row[0].expect("reads")).collect();
    let expected = [1.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0];
    for (figure, expected) in read.iter().zip(expected) {
        assert!((figure - expected).abs() <= 0.0005 * expected, "{figure} for {expected}");
    }
    assert!(read[7..].iter().all(|&figure| figure == 100.0));
    assert!(chart.cells.iter().all(|row| row[1].is_none() && row[2] == row[0]));
}

#[test]
fn high_percentiles_minimum_and_maximum_are_told_apart() {
    let mut document = document(&RECIPE, 9);
    let mut ios = vec![(0, 1000); 100_000];
    ios.extend([(0, 3), (0, 7001), (0, 9001)]);
    set_reads(&mut document, [&ios, &[]], 300, 2000);
    let cells = &first(&document).charts[0].cells;
    let near = |row: usize, expected: f64| {
        let figure = cells[row][2].expect("total");
        assert!((figure - expected).abs() <= 0.0005 * expected, "row {row}: {figure} for {expected}");
    };
    assert_eq!(cells[0], [Some(3.0), None, Some(3.0)]);
    near(1, 1000.0);
    near(8, 1000.0); // 4-nines of 100003: the 99993rd
    near(9, 7001.0); // 5-nines: the 100002nd
    assert_eq!([cells[10][2], cells[14][2]], [Some(9001.0); 2]);
}

#[test]
fn rates_divide_by_the_exact_time() {
    let mut document = document(&Recipe { latency: false, iops: false, ..RECIPE }, 5);
    let run = measured(&mut document);
    run.test_time_s = 1.0049;
    run.threads[0].targets[0].write = Direction { bytes: 1 << 40, ios: 1_000_000, ..Direction::default() };
    let result = first(&document);
    // 1000000 / 1.0049, while the time shows as 1.00.
    assert_eq!((result.time_s, result.tables[2].total.ios_per_s), (1.0, 995_123.89));
    assert_eq!(result.tables[0].total.mib_per_s, 1_043_463.03);
}

#[test]
fn processors_and_their_plain_mean() {
    let mut document = document(&RECIPE, 6);
    measured(&mut document).cpu =
        vec![CpuUse { user: 30.0, kernel: 25.0, idle: 45.0 }, CpuUse { user: 0.0, kernel: 0.0, idle: 100.0 }];
    let result = first(&document);
    assert_eq!(result.cpu[0].percent, [55.0, 30.0, 25.0, 45.0]);
    assert_eq!(result.cpu_mean, [27.5, 15.0, 12.5, 72.5]);
}

#[test]
fn totals_leave_interrupted_time_spans_out() {
    let recipe = Recipe { mix: Mix::Both, spans: &[true, false, true], ..RECIPE };
    let mut document = document(&recipe, 7);
    let times = document.time_spans.iter_mut().enumerate().map(|(index, result)| match result {
        TimeSpanResult::Measured(run) => {
            run.test_time_s = 2.0 + index as f64;
            run.test_time_s
        }
        TimeSpanResult::NotMeasured => 0.0,
    });
    let time_s: f64 = times.sum();
    assert_eq!(time_s, 6.0);
    let parsed = read_back(&document);
    let totals = parsed.totals.expect("several time spans");
    let ios: u64 = parsed.results.iter().flatten().map(|result| result.tables[0].total.ios).sum();
    assert_eq!((totals.time_s, totals.rows[2].1), (6.0, ios));
    assert!((totals.rows[2].3 - ios as f64 / 6.0).abs() < 0.0051);
    // A measured time of nothing is no measurement.
    let [TimeSpanResult::Measured(run), ..] = &mut document.time_spans[..] else { panic!("measured") };
    run.test_time_s = 0.0;
    let parsed = read_back(&document);
    assert!(parsed.results[0].is_none() && parsed.totals.expect("totals").time_s == 4.0);
}

/// Three threads on one target; the second one has another distribution.
#[test]
fn distributions_are_shared_by_who_has_the_same() {
    let recipe = Recipe { threads: 3, ranges: Ranges::Absolute, ..RECIPE };
    let mut document = document(&recipe, 8);
    let part = |io_start, io_percent, offset_bytes, length_bytes| DistributionPart {
        io_start,
        io_percent,
        offset_bytes,
        length_bytes,
    };
    let mib = 1 << 20;
    let run = measured(&mut document);
    run.threads[1].targets[0].distribution = Some(vec![part(0, 50, 0, mib), part(50, 50, 2 * mib, mib / 2)]);
    let text = text(&document);
    let expected = "\n\nEffective IO Distributions\n--------------------------\n\
                    target: data1.bin [thread: 1]\n\
                    \x20   50% of IO => [     0    -      1MiB)\n\
                    \x20   50% of IO => [     2MiB -   2.50MiB)\n\
                    target: data1.bin [thread: 0 2]\n\
                    \x20   60% of IO => [     0    -      1MiB)\n\
                    \x20   40% of IO => [  2.50MiB -     64MiB)\n\nTotal IO\n";
    assert!(text.contains(expected), "{text}");
    parse(&text).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
}
