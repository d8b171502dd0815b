//! Adding results up: the parts make the whole, in any order and any grouping.

use proptest::prelude::*;

use crate::support::documents::{Machine, Ranges, Recipe, document};
use diskspd::render::text;
use truespd_core::measure::LatencySlices;
use truespd_core::result::json::{self, write};
use truespd_core::result::merge::{MergeError, Merger, without_rows};
use truespd_core::result::{
    ClockOffset, CommonStart, Document, LostHow, LostRank, Measured, Rank, Summary, TimeSpanResult, Timeline,
    Window,
};

const RECIPE: Recipe = Recipe {
    targets: 2,
    threads: 2,
    ranges: Ranges::Percent,
    machine: Machine::Smt,
    spans: &[true, true],
    ..Recipe::RICH
};

const START_NS: u64 = 1_700_000_000_000_000_000;

fn measured(document: &mut Document, span: usize) -> &mut Measured {
    match &mut document.time_spans[span] {
        TimeSpanResult::Measured(measured) => measured,
        TimeSpanResult::NotMeasured => panic!("measured"),
    }
}

fn seen(document: &Document, span: usize) -> &Measured {
    match &document.time_spans[span] {
        TimeSpanResult::Measured(measured) => measured,
        TimeSpanResult::NotMeasured => panic!("measured"),
    }
}

/// The result of one host of several, with the same profile and the same measured time.
fn host(number: u64) -> Document {
    let mut result = document(&RECIPE, number);
    result.system.computer_name = format!("host-{number}");
    for span in 0..2 {
        let measured = measured(&mut result, span);
        measured.test_time_s = 2.0;
        // A millisecond apart, as started over a network.
        let start_unix_ns = START_NS + span as u64 * 10_000_000_000 + number * 1_000_000;
        measured.evidence.window = Some(Window { start_unix_ns, end_unix_ns: start_unix_ns + 2_000_000_000 });
    }
    result
}

fn merge(documents: &[&Document], force: bool) -> Result<Document, MergeError> {
    let mut merger = Merger::new(force);
    for (i, &document) in documents.iter().enumerate() {
        merger.add(&format!("'{i}.json'"), document.clone())?;
    }
    Ok(merger.finish()?.document)
}

/// No I/Os in slices of 200 ms.
fn longer_slices() -> LatencySlices {
    LatencySlices::new(200_000_000, Vec::new())
}

/// Lets `keep` decide which threads of a result remain.
fn part(whole: &Document, start_ns: u64, keep: impl Fn(u32) -> bool) -> Document {
    let mut part = whole.clone();
    for span in 0..2 {
        let measured = measured(&mut part, span);
        measured.threads.retain(|thread| keep(thread.id));
        let window = measured.evidence.window.as_mut().expect("has one");
        window.start_unix_ns += start_ns;
    }
    part
}

#[test]
fn parts_make_the_whole() {
    let whole = host(1);
    let (even, odd) = (part(&whole, 0, |id| id % 2 == 0), part(&whole, 1, |id| id % 2 == 1));
    let sum = merge(&[&odd, &even], false).expect("parts of one run");
    assert_eq!(figures(&sum), figures(&whole));
    assert_eq!(sum.sources.len(), 2);
    // A part of nothing changes nothing.
    let nothing = part(&whole, 2, |_| false);
    let sum = merge(&[&nothing, &whole], false).expect("parts of one run");
    assert_eq!(figures(&sum), figures(&whole));
}

/// All figures of the time spans, and the lines of the text that are of all threads.
fn figures(document: &Document) -> (Vec<Summary>, Vec<String>) {
    let summaries = (0..2).map(|span| Summary::of(seen(document, span)));
    let text = text(document);
    let of_all = |line: &&str| line.starts_with("total:") || line.contains("-nines") || line.contains("th |");
    (summaries.collect(), text.lines().filter(of_all).map(str::to_string).collect())
}

#[test]
fn every_number_is_the_sum_of_the_parts() {
    let hosts: Vec<Document> = (0..5).map(host).collect();
    let sum = merge(&hosts.iter().collect::<Vec<_>>(), false).expect("the same test");
    for span in 0..2 {
        let all = &seen(&sum, span).threads;
        assert!(all.iter().zip(0..).all(|(thread, id)| thread.id == id), "numbered one after the other");
        for (number, host) in (0..).zip(&hosts) {
            let mine: Vec<_> = all.iter().filter(|thread| thread.source == Some(number)).collect();
            assert_eq!(mine.len(), seen(host, span).threads.len());
            for (mine, thread) in mine.iter().zip(&seen(host, span).threads) {
                assert_eq!(mine.waits, thread.waits);
                for (mine, target) in mine.targets.iter().zip(&thread.targets) {
                    assert_eq!((mine.read.ios, mine.write.bytes), (target.read.ios, target.write.bytes));
                    assert_eq!(mine.write.latency, target.write.latency);
                    assert_eq!(mine.read.intervals, target.read.intervals);
                }
            }
        }
        let ios = hosts.iter().map(|host| Summary::of(seen(host, span)).total.ios);
        assert_eq!(Summary::of(seen(&sum, span)).total.ios, ios.sum::<u64>());
        let slices = |of: &Document| seen(of, span).latency_over_time.clone().expect("asked for");
        let mut slices_all = slices(&hosts[0]);
        hosts[1..].iter().for_each(|host| slices_all.merge(&slices(host)));
        assert_eq!(slices(&sum), slices_all);
        let targets = || seen(&sum, span).threads.iter().flat_map(|thread| &thread.targets);
        assert_eq!(slices_all.count(), targets().map(|of| of.read.ios + of.write.ios).sum::<u64>());
        assert_eq!(seen(&sum, span).test_time_s, 2.0);
        let mean = hosts.iter().map(|h| seen(h, span).cpu[1].kernel).sum::<f64>() / 5.0;
        assert!((seen(&sum, span).cpu[1].kernel - mean).abs() < 1e-9);
        // From the last start to the first end.
        let window = seen(&sum, span).evidence.window.expect("all have one");
        assert_eq!(window.length_ns(), 2_000_000_000 - 4_000_000);
    }
    let names: Vec<&str> = sum.sources.iter().map(|s| s.system.computer_name.as_str()).collect();
    assert_eq!(names, ["host-0", "host-1", "host-2", "host-3", "host-4"]);
    assert!(sum.warnings.is_empty(), "{:?}", sum.warnings);
}

/// A sum of fewer I/Os than the other figures have would mislead.
#[test]
fn latencies_over_time_are_of_all_results_or_of_none() {
    let (one, mut older) = (host(0), host(1));
    measured(&mut older, 1).latency_over_time = None;
    let (mut paced, mut as_paced) = (host(0), host(2));
    for host in [&mut paced, &mut as_paced] {
        let span = measured(host, 0);
        span.response_over_time = span.latency_over_time.clone();
    }
    let sum = merge(&[&paced, &as_paced], false).expect("the same test");
    assert!(seen(&sum, 0).response_over_time.is_some());
    assert_eq!(seen(&sum, 0).response_over_time, seen(&sum, 0).latency_over_time, "added in the same way");
    let sum = merge(&[&paced, &older], false).expect("the same test");
    assert_eq!(seen(&sum, 0).response_over_time, None);
    for order in [[&one, &older, &one], [&older, &one, &one], [&one, &one, &older]] {
        let sum = merge(&order, true).expect("forced");
        assert!(seen(&sum, 0).latency_over_time.is_some());
        assert_eq!(seen(&sum, 1).latency_over_time, None);
    }
    let sum = merge(&[&older, &one], false).expect("the same test");
    let again = merge(&[&sum, &host(2)], false).expect("the same test");
    assert_eq!(seen(&again, 1).latency_over_time, None);
}

/// Likewise; and only in intervals that all of them have.
#[test]
fn completions_over_time_are_of_all_results_or_of_none() {
    let with = |number, interval_ns, reads: &[u64]| {
        let mut host = host(number);
        let series = Timeline { interval_ns, reads: reads.to_vec(), writes: vec![1; reads.len()] };
        measured(&mut host, 0).evidence.series = Some(series);
        host
    };
    let hosts = [with(0, 100, &[1, 2, 3]), with(1, 100, &[10, 20]), with(2, 100, &[100, 200, 300])];
    let sum = merge(&[&hosts[2], &hosts[0], &hosts[1]], false).expect("the same test");
    let series = seen(&sum, 0).evidence.series.clone().expect("all have one");
    assert_eq!((series.interval_ns, series.reads, series.writes), (100, vec![111, 222], vec![3, 3]));
    let two = merge(&[&hosts[1], &hosts[2]], false).expect("the same test");
    assert_eq!(write(&merge(&[&two, &hosts[0]], false).expect("the same test")), write(&sum));
    for other in [with(3, 200, &[1, 2, 3]), host(3)] {
        let none = merge(&[&sum, &other], false).expect("the same test");
        assert_eq!(seen(&none, 0).evidence.series, None);
        let again = merge(&[&none, &with(4, 100, &[1])], false).expect("the same test");
        assert_eq!(seen(&again, 0).evidence.series, None);
    }
}

#[test]
fn neither_order_nor_grouping_matters() {
    let mut hosts: Vec<Document> = (0..4).map(host).collect();
    // A result with longer slices.
    measured(&mut hosts[2], 0).latency_over_time.as_mut().expect("asked for").merge(&longer_slices());
    let all = |order: &[usize]| {
        let documents: Vec<&Document> = order.iter().map(|&i| &hosts[i]).collect();
        merge(&documents, false).expect("the same test")
    };
    let once = write(&all(&[0, 1, 2, 3]));
    assert_eq!(write(&all(&[3, 1, 0, 2])), once);
    assert_eq!(write(&all(&[2, 3, 1, 0])), once);
    let (left, right) = (all(&[1, 3]), all(&[2, 0]));
    assert_eq!(write(&merge(&[&right, &left], false).expect("sums of one test")), once);
    let stored = truespd_core::result::json::read(write(&left).as_bytes()).expect("a sum is a document");
    assert_eq!(write(&merge(&[&stored, &hosts[0], &hosts[2]], false).expect("sum and parts")), once);
}

#[test]
fn results_of_other_tests_are_refused_with_the_difference() {
    let (one, mut other) = (host(0), host(1));
    other.profile.time_spans[1].targets[0].block_bytes = 512;
    let refused = merge(&[&one, &other], false).expect_err("another block size").to_string();
    assert!(refused.contains("'1.json' is the result of another test than '0.json': "), "{refused}");
    assert!(
        refused.contains("time span 2, target 1, block size: 8 KiB in '0.json', 512 bytes in '1.json'"),
        "{refused}"
    );
    assert!(merge(&[&one, &other], true).is_ok(), "forced");
    let reversed = merge(&[&other, &one], true).expect("forced");
    assert_eq!(write(&reversed), write(&merge(&[&one, &other], true).expect("forced")));
}

#[test]
fn a_forced_sum_tells_what_does_not_fit() {
    let sum = |documents: &[Document]| {
        let mut merger = Merger::new(true);
        for document in documents {
            merger.add("it", document.clone()).expect("forced");
        }
        merger.finish().expect("forced").forced
    };
    let (one, mut other) = (host(0), host(1));
    assert_eq!(sum(&[one.clone(), other.clone()]), None);
    other.profile.time_spans[1].targets[0].block_bytes = 512;
    let misfit = sum(&[one.clone(), other.clone(), one.clone()]);
    assert!(matches!(misfit, Some(MergeError::OtherProfile(_))), "the first reason: {misfit:?}");
    let twice = sum(&[one.clone(), one]).expect("twice");
    assert!(matches!(twice, MergeError::Twice(_)) && twice.can_be_forced(), "{twice:?}");
}

#[test]
fn a_sum_without_its_rows_comes_to_the_same() {
    let hosts: Vec<Document> = (0..5).map(host).collect();
    let sum = merge(&hosts.iter().collect::<Vec<_>>(), false).expect("of one test");
    let bare = without_rows(sum.clone());
    assert!(
        write(&bare).len() * 3 < write(&sum).len(),
        "{} of {} bytes",
        write(&bare).len(),
        write(&sum).len()
    );
    let stored = truespd_core::result::json::read(write(&bare).as_bytes()).expect("it is a document");
    assert_eq!(write(&stored), write(&bare));
    for (whole, rest) in sum.measured().zip(stored.measured()) {
        assert_eq!(
            whole.threads.len(),
            5 * rest.threads.len() * hosts[0].measured().next().expect("one").threads.len()
        );
        let [whole, rest] = [whole, rest].map(Summary::of);
        assert_eq!((whole.total, whole.read, whole.write), (rest.total, rest.read, rest.write));
    }
}

#[test]
fn seeds_and_formats_make_no_other_test() {
    let (one, mut other) = (host(0), host(1));
    other.profile.time_spans[0].rand_seed = 99;
    other.profile.verbose = true;
    other.profile.result_format = truespd_core::profile::ResultFormat::Xml;
    assert!(merge(&[&one, &other], false).is_ok());
}

#[test]
fn statistics_without_a_sum_are_refused_even_by_force() {
    let (one, mut other) = (host(0), host(1));
    other.profile.time_spans[1].io_bucket_ms = 250;
    let refused = merge(&[&one, &other], true).expect_err("series do not fit").to_string();
    assert!(refused.contains("in time span 2 the intervals (-D) differ"), "{refused}");
    other.profile.time_spans[0].measure_latency = false;
    let refused = merge(&[&one, &other], true).expect_err("half a histogram").to_string();
    assert!(refused.contains("in time span 1 the latency measurements (-L) differ"), "{refused}");
}

#[test]
fn a_result_counts_once() {
    let one = host(0);
    let refused = merge(&[&one, &host(1), &one], false).expect_err("twice").to_string();
    assert!(refused.contains("of host-0") && refused.contains("more than once"), "{refused}");
    let sum = merge(&[&host(1), &one], false).expect("two hosts");
    assert!(matches!(merge(&[&sum, &one], false), Err(MergeError::Twice { .. })), "in a sum already");
    assert!(merge(&[&one, &one], true).is_ok(), "forced");
    assert_eq!(merge(&[], false).expect_err("nothing"), MergeError::Nothing);
}

#[test]
fn runs_one_after_the_other_are_refused_and_a_short_common_time_is_told() {
    let (one, mut late) = (host(0), host(1));
    for span in 0..2 {
        let window = measured(&mut late, span).evidence.window.as_mut().expect("has one");
        window.start_unix_ns += 1_000_000_000;
        window.end_unix_ns += 1_000_000_000;
    }
    let sum = merge(&[&one, &late], false).expect("they overlap");
    assert!(sum.warnings[0].contains("together measured for only 0.999 s"), "{:?}", sum.warnings);
    let window = measured(&mut late, 1).evidence.window.as_mut().expect("has one");
    window.start_unix_ns += 5_000_000_000;
    window.end_unix_ns += 5_000_000_000;
    let refused = merge(&[&one, &late], false).expect_err("one after the other").to_string();
    assert!(refused.contains("time span 2") && refused.contains("host-0 ended before host-1"), "{refused}");
    assert!(merge(&[&one, &late], true).is_ok(), "forced");
}

#[test]
fn machines_and_times_that_differ_are_told() {
    let (one, mut other) = (host(0), host(1));
    other.system = crate::support::documents::system(Machine::Plain);
    other.system.computer_name = "small".to_string();
    for span in 0..2 {
        measured(&mut other, span).cpu.truncate(2);
    }
    measured(&mut other, 0).test_time_s = 1.5;
    let sum = merge(&[&other, &one], false).expect("the same test");
    let told = sum.warnings.join("\n");
    assert!(told.contains("time span 1: the runs measured for 1.500 to 2.000 s"), "{told}");
    assert!(told.contains("1 results of other machines"), "{told}");
    assert_eq!(seen(&sum, 0).cpu, seen(&one, 0).cpu);
    assert_eq!(sum.sources[1].time_spans[0].as_ref().expect("measured").cpu.len(), 2);
    // The sum is a document that every format takes.
    assert!(truespd_core::result::json::read(write(&sum).as_bytes()).is_ok());
    assert!(text(&sum).contains("total:"));
}

/// Text and XML of a result have the number of its threads, those of a sum that of all threads that ran: `-t2` here and
/// `-t3` there are five.
#[test]
fn threads_of_a_sum_are_all_threads() {
    let shown = |document: &Document| {
        let of_text =
            text(document).lines().find_map(|line| line.strip_prefix("thread count:\t\t")?.parse().ok());
        let xml = diskspd::render::xml::results(document);
        let of_xml = xml.split("<TimeSpan>").find_map(|span| {
            let (_, rest) = span.split_once("<TestTimeSeconds>")?;
            rest.split_once("<ThreadCount>")?.1.split_once('<')?.0.parse::<u64>().ok()
        });
        (of_text, of_xml)
    };
    let of = |number, threads| {
        let mut result = document(&Recipe { threads, ..RECIPE }, number);
        result.system.computer_name = format!("host-{number}");
        result
    };
    let (two, three) = (of(1, 2), of(2, 3));
    let rows = |document: &Document| seen(document, 0).threads.len() as u64;
    let (few, many) = (rows(&two), rows(&three));
    assert!(few < many);
    assert_eq!((shown(&two), shown(&three)), ((Some(few), Some(few)), (Some(many), Some(many))));
    let sum = merge(&[&two, &three], true).expect("forced");
    assert_eq!((rows(&sum), shown(&sum)), (few + many, (Some(few + many), Some(few + many))));
    // Also after it was stored, and in a sum of sums.
    let stored = truespd_core::result::json::read(write(&sum).as_bytes()).expect("its own document");
    let again = merge(&[&stored, &of(3, 2)], true).expect("forced");
    assert_eq!(shown(&again).0, Some(2 * few + many));
    // A sum from before the number was kept shows its rows.
    let mut old = sum;
    for source in &mut old.sources {
        source.time_spans.iter_mut().flatten().for_each(|span| span.threads = None);
    }
    assert_eq!(shown(&old).0, Some(few + many));
}

/// The result of a rank whose targets, sizes and offsets are its own.
fn rank(number: u32, ranks: u32) -> Document {
    let mut result = host(u64::from(number));
    result.rank =
        Some(Rank { run: "run-1".into(), rank: number, ranks, local: number % 2, lost: Vec::new() });
    for span in 0..2 {
        let own = |path: &str| format!("/mnt/{number}{path}");
        for target in &mut result.profile.time_spans[span].targets {
            target.path = own(&target.path);
            target.base_bytes += u64::from(number) << 20;
        }
        let threads = &mut measured(&mut result, span).threads;
        threads
            .iter_mut()
            .flat_map(|thread| &mut thread.targets)
            .for_each(|target| target.path = own(&target.path));
    }
    result
}

#[test]
fn ranks_of_a_run_belong_together() {
    let ranks: Vec<Document> = (0..3).map(|number| rank(number, 3)).collect();
    let sum = merge(&[&ranks[2], &ranks[0], &ranks[1]], false).expect("one run");
    assert_eq!((sum.missing.as_slice(), sum.warnings.as_slice()), (&[][..], &[][..]));
    // By number, and all else is that of rank 0.
    let numbers: Vec<u32> =
        sum.sources.iter().map(|source| source.rank.as_ref().expect("a rank").rank).collect();
    assert_eq!(numbers, [0, 1, 2]);
    assert_eq!((&sum.profile, &sum.system), (&ranks[0].profile, &ranks[0].system));
    assert!(sum.rank.is_none());
    // In any grouping.
    let two = merge(&[&ranks[1], &ranks[2]], false).expect("one run");
    assert_eq!(write(&merge(&[&two, &ranks[0]], false).expect("one run")), write(&sum));
    let stored = truespd_core::result::json::read(write(&sum).as_bytes()).expect("a sum is a document");
    assert_eq!(write(&stored), write(&sum));
    // Another run is another test, and so is a run of one process.
    let mut other = rank(1, 3);
    other.rank.as_mut().expect("a rank").run = "run-2".into();
    assert!(matches!(merge(&[&ranks[0], &other], false), Err(MergeError::OtherProfile { .. })));
    other.rank = None;
    assert!(matches!(merge(&[&ranks[0], &other], false), Err(MergeError::OtherProfile { .. })));
    assert!(matches!(merge(&[&other, &ranks[0]], false), Err(MergeError::OtherProfile { .. })));
    // Statistics without a sum stay without.
    let mut series = rank(1, 3);
    series.profile.time_spans[1].io_bucket_ms = 250;
    assert!(matches!(merge(&[&ranks[0], &series], false), Err(MergeError::NoSum { .. })));
}

#[test]
fn a_rank_counts_once_and_missing_ones_are_told() {
    let mut zero = rank(0, 4);
    let lost = |rank, how, failures: &[&str]| LostRank {
        rank,
        host: format!("host-{rank}"),
        last_heard_unix_ns: START_NS,
        how,
        failures: failures.iter().map(|words| words.to_string()).collect(),
    };
    zero.rank.as_mut().expect("a rank").lost =
        vec![lost(1, LostHow::Silent, &[]), lost(2, LostHow::Failed, &["its disk is gone"])];
    let sum = merge(&[&zero, &rank(1, 4)], false).expect("a part of a run");
    // Rank 1 was lost, but left its result; of rank 3 nobody knows anything.
    let missing: Vec<(u32, bool)> = sum.missing.iter().map(|rank| (rank.rank, rank.lost.is_some())).collect();
    assert_eq!(missing, [(2, true), (3, false)]);
    let told = "2 ranks are missing in this sum of 2 of 4 results: rank 2 on host-2 (its run failed: its disk is gone); rank 3 \
                (no result was given)";
    assert_eq!(sum.warnings, [told]);
    // What comes later counts, in the sum of sums, too.
    let sum = merge(&[&sum, &rank(3, 4), &rank(2, 4)], false).expect("the whole run");
    assert!(sum.missing.is_empty() && sum.warnings.is_empty(), "{:?}", sum.warnings);
    assert_eq!(
        write(&sum),
        write(&merge(&[&rank(1, 4), &rank(2, 4), &zero, &rank(3, 4)], false).expect("the run"))
    );
    // Another result of the same rank is not another rank.
    let mut again = rank(1, 4);
    again.tool_version = "another".into();
    assert!(matches!(merge(&[&sum, &again], false), Err(MergeError::Twice { .. })));
}

#[test]
fn a_sum_repeats_some_warnings_and_counts_the_others() {
    let of = |number: u64| {
        let mut host = host(number);
        host.warnings = vec!["it is the same everywhere".into(), format!("it is on host {number:02} alone")];
        host
    };
    let hosts: Vec<Document> = (0..40).map(of).collect();
    let few = merge(&hosts[..31].iter().collect::<Vec<_>>(), false).expect("the same test");
    assert_eq!(few.warnings.len(), 32);
    let many = merge(&hosts.iter().collect::<Vec<_>>(), false).expect("the same test");
    assert_eq!(many.warnings.len(), 33);
    assert!(many.warnings.iter().any(|words| words.starts_with("9 more warnings")), "{:?}", many.warnings);
    let rest: Vec<&Document> = [&few].into_iter().chain(&hosts[31..]).collect();
    assert_eq!(merge(&rest, false).expect("the same test").warnings, many.warnings);
}

#[test]
fn windows_of_ranks_are_compared_by_the_clock_of_rank_0() {
    let start = |ahead_ns| CommonStart {
        agreed_unix_ns: START_NS,
        late_ns: 0,
        clock_before: ClockOffset { ahead_ns, uncertainty_ns: 1_000, at_unix_ns: START_NS },
        clock_after: None,
    };
    let (mut zero, mut one) = (rank(0, 2), rank(1, 2));
    for span in 0..2 {
        measured(&mut zero, span).evidence.common_start = Some(start(0));
        // A minute behind, and right by its own clock.
        let measured = measured(&mut one, span);
        measured.evidence.common_start = Some(start(-60_000_000_000));
        let window = measured.evidence.window.as_mut().expect("has one");
        window.start_unix_ns -= 60_000_000_000;
        window.end_unix_ns -= 60_000_000_000;
    }
    let sum = merge(&[&one, &zero], false).expect("together");
    let window = seen(&sum, 0).evidence.window.expect("both have one");
    assert_eq!((window.start_unix_ns, window.length_ns()), (START_NS + 1_000_000, 1_999_000_000));
    // The row keeps what the host saw.
    let row = sum.sources[1].time_spans[0].as_ref().expect("measured");
    assert_eq!(row.window.expect("has one").start_unix_ns, START_NS + 1_000_000 - 60_000_000_000);
    measured(&mut one, 0).evidence.common_start = None;
    assert!(matches!(merge(&[&one, &zero], false), Err(MergeError::NotTogether { .. })));
}

/// A result of a host with so many threads, on so many targets.
fn wide(number: u64, threads: u32, targets: usize) -> Document {
    let recipe = Recipe { threads, targets, latency: false, iops: false, waits: false, ..RECIPE };
    let mut result = document(&recipe, number);
    result.system.computer_name = format!("host-{number:04}");
    for span in 0..2 {
        let measured = measured(&mut result, span);
        measured.test_time_s = 2.0;
        measured.evidence.window = None;
    }
    result
}

/// Whatever is folded when: the sum is the same.
fn folds_alike(all: &[Document], entries: impl Fn(&Document) -> usize, expected: usize) {
    let documents: Vec<&Document> = all.iter().collect();
    let sum = merge(&documents, true).expect("the same test");
    assert_eq!(entries(&sum), expected);
    let turned: Vec<&Document> = all.iter().rev().collect();
    let once = write(&sum);
    assert!(write(&merge(&turned, true).expect("the same test")) == once, "another order");
    let parts: Vec<Document> =
        documents.chunks(all.len().div_ceil(3)).map(|part| merge(part, true).expect("a part")).collect();
    let parts: Vec<Document> = parts
        .iter()
        .map(|part| truespd_core::result::json::read(write(part).as_bytes()).expect("a sum is a document"))
        .collect();
    let parts: Vec<&Document> = parts.iter().rev().collect();
    assert!(write(&merge(&parts, true).expect("sums")) == once, "another grouping");
    for span in 0..2 {
        let ios = all.iter().map(|host| Summary::of(seen(host, span)).total.ios).sum::<u64>();
        assert_eq!(Summary::of(seen(&sum, span)).total.ios, ios);
    }
}

#[test]
fn threads_are_folded_as_the_sum_grows() {
    let entries = |sum: &Document| seen(sum, 0).threads.len();
    // 256 threads stand for themselves, more do not.
    let of = |hosts: u64| -> Vec<Document> { (0..hosts).map(|number| wide(number, 64, 1)).collect() };
    assert_eq!(seen(&of(1)[0], 0).threads.len(), 64);
    folds_alike(&of(4), entries, 256);
    folds_alike(&of(5), entries, 5);
    let sum = merge(&of(5).iter().collect::<Vec<_>>(), true).expect("the same test");
    assert!(sum.notes[1].contains("threads of each result are added up"), "{:?}", sum.notes);
    let sources: Vec<Option<u32>> = seen(&sum, 0).threads.iter().map(|thread| thread.source).collect();
    assert_eq!(sources, (0..5).map(Some).collect::<Vec<_>>());
}

#[test]
fn sums_that_would_grow_too_large_have_one_entry() {
    // Long series make each target large.
    let of = |hosts: u64| -> Vec<Document> {
        let host = |number| {
            let mut host = wide(number, 1, 2);
            for span in 0..2 {
                let asked = &mut host.profile.time_spans[span];
                (asked.calculate_iops_std_dev, asked.io_bucket_ms) = (true, 100);
                measured(&mut host, span).test_time_s = 10_000.0;
            }
            host
        };
        (0..hosts).map(host).collect()
    };
    let entries = |sum: &Document| seen(sum, 0).threads.len();
    folds_alike(&of(1), entries, 2);
    folds_alike(&of(7), entries, 1);
    let sum = merge(&of(7).iter().collect::<Vec<_>>(), true).expect("the same test");
    let all = &seen(&sum, 0).threads[0];
    assert_eq!((all.id, all.source, all.targets.len()), (0, None, 2));
    let paths: Vec<&String> = all.targets.iter().map(|target| &target.path).collect();
    assert_eq!(
        paths,
        sum.sources[0].time_spans[0].as_ref().expect("measured").targets.iter().collect::<Vec<_>>()
    );
    assert!(sum.notes[1].contains("names of the first result"), "{:?}", sum.notes);
}

/// Results of hosts that have series of so many intervals each.
fn with_series(intervals: &[usize]) -> Vec<Document> {
    let host = |(number, &intervals): (u64, &usize)| {
        let mut host = wide(number, 1, 1);
        let reads: Vec<u64> = (0..intervals as u64).map(|place| number * 1000 + place).collect();
        let series = Timeline { interval_ns: 100_000_000, reads, writes: vec![1; intervals] };
        measured(&mut host, 0).evidence.series = Some(series);
        host
    };
    (0..).zip(intervals).map(host).collect()
}

/// Rows of a sum that hold I/Os over time.
fn series_rows(sum: &Document) -> usize {
    let of = |source: &truespd_core::result::Source| source.time_spans[0].as_ref()?.series.clone();
    sum.sources.iter().filter_map(of).count()
}

#[test]
fn rows_of_few_hosts_hold_ios_over_time() {
    let hosts = with_series(&[20, 600, 0]);
    let sum = merge(&hosts.iter().collect::<Vec<_>>(), false).expect("the same test");
    let of = |place: usize| sum.sources[place].time_spans[0].as_ref().expect("measured").series.as_ref();
    let (few, many) = (of(0).expect("has intervals"), of(1).expect("has intervals"));
    assert_eq!((few.interval_ns, few.completed.len(), few.completed[3]), (100_000_000, 20, 4));
    assert_eq!((many.interval_ns, many.length_ns), (1_000_000_000, 60_000_000_000));
    let series = seen(&hosts[1], 0).evidence.series.as_ref().expect("has one");
    let ios = series.reads.iter().chain(&series.writes).sum::<u64>();
    assert_eq!((many.completed.len(), many.completed.iter().sum::<u64>()), (60, ios));
    assert_eq!(of(2), None);
    // The second time span has none, and is written without the member.
    assert_eq!(write(&sum).matches("\"length_ns\"").count(), 2);
    folds_alike(&with_series(&[50; 32]), series_rows, 32);
    folds_alike(&with_series(&[50; 33]), series_rows, 0);
}

/// A row that lost its I/Os over time in a large sum is still the row of the same result.
#[test]
fn a_result_counts_once_with_and_without_ios_over_time() {
    let hosts = with_series(&[50; 33]);
    let large = merge(&hosts.iter().collect::<Vec<_>>(), false).expect("the same test");
    assert!(matches!(merge(&[&large, &hosts[4]], false), Err(MergeError::Twice { .. })));
    let mut older = merge(&[&hosts[0], &hosts[1]], false).expect("the same test");
    let spans = older.sources.iter_mut().flat_map(|source| &mut source.time_spans).flatten();
    spans.for_each(|span| span.series = None);
    assert!(matches!(merge(&[&older, &hosts[1]], false), Err(MergeError::Twice { .. })));
    // By force both rows are there, always in the same order.
    let both = merge(&[&older, &hosts[1]], true).expect("forced");
    assert_eq!(write(&both), write(&merge(&[&hosts[1], &older], true).expect("forced")));
    assert_eq!((both.sources.len(), series_rows(&both)), (3, 1));
    // What comes later has a row as before.
    let more = merge(&[&older, &hosts[2]], false).expect("the same test");
    assert_eq!(series_rows(&more), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the lengths of the series and wherever the sum is cut in two: rows hold I/Os over time, or none does.
    #[test]
    fn ios_over_time_depend_on_neither_order_nor_grouping(
        intervals in prop::collection::vec(1..300usize, 2..40),
        cut in 1..39usize,
        turn in 0..40usize,
    ) {
        let hosts = with_series(&intervals);
        let all: Vec<&Document> = hosts.iter().collect();
        let sum = merge(&all, false).expect("the same test");
        prop_assert_eq!(series_rows(&sum), if hosts.len() <= 32 { hosts.len() } else { 0 });
        let mut turned = all.clone();
        turned.rotate_left(turn % all.len());
        let (one, other) = turned.split_at(cut.min(all.len() - 1));
        let (one, other) = (merge(one, false).expect("a part"), merge(other, false).expect("a part"));
        prop_assert!(write(&merge(&[&other, &one], false).expect("sums")) == write(&sum));
    }
}

/// Counts of made-up results do not run over, and a sum can be read again.
#[test]
fn counts_without_measure_have_no_sum() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/documents/v1/sim-random-mix-L-D.json");
    let mut stored: serde_json::Value =
        serde_json::from_slice(&std::fs::read(path).expect("a document")).expect("JSON");
    let target = stored.pointer_mut("/result/time_spans/0/measured/threads/0/targets/0").expect("a target");
    target["read"]["bytes"] = (1u64 << 59).into();
    target["short_transfers"] = u64::MAX.into();
    let document = json::read(stored.to_string().as_bytes()).expect("large, but a document");
    let mut merger = Merger::new(true);
    let added: Vec<_> = (0..40).map(|_| merger.add("it", document.clone())).collect();
    let refused = added.into_iter().find_map(Result::err).expect("too large").to_string();
    assert!(refused.starts_with("with it, the counts of bytes or I/Os are too large"), "{refused}");
}
