//! What is promised, on simulated runs: equal sides are seldom called different, and differences are found.

use super::metrics::rows;
use super::*;
use crate::ask::ab::noise::Random;
use truespd_core::measure::Histogram;
use truespd_core::profile::{Profile, Target, TimeSpan};
use truespd_core::result::Document;
use truespd_core::result::envelope;
use truespd_core::result::{
    Direction, Measured, TargetResult, ThreadResult, TimeSpanResult, Timeline, WaitStatistics,
};

const INTERVAL_S: f64 = 0.1;
const BLOCK_BYTES: u64 = 4096;

fn question() -> Question {
    Question {
        headline: Vec::new(),
        margin_percent: 2.0,
        between_runs_percent: 2.0,
        gates: Vec::new(),
        is_strict: false,
        time_span: None,
        may_differ_in_profile: false,
        may_differ_in_target: false,
    }
}

/// A run whose reads completed at these rates, with these latencies.
fn named(name: &str, rates: &[f64], latencies_ns: &[f64]) -> Named {
    let reads: Vec<u64> = rates.iter().map(|rate| (rate * INTERVAL_S) as u64).collect();
    let ios: u64 = reads.iter().sum();
    let mut latency = Histogram::default();
    latencies_ns.iter().for_each(|ns| latency.record(*ns as u64));
    let latency = (!latencies_ns.is_empty()).then_some(latency);
    let read =
        Direction { bytes: ios * BLOCK_BYTES, ios, latency: latency.map(Box::new), ..Direction::default() };
    let target = TargetResult {
        path: "f".into(),
        size_bytes: 1 << 30,
        read,
        write: Direction::default(),
        distribution: None,
        short_transfers: 0,
        ..TargetResult::default()
    };
    let threads =
        vec![ThreadResult { id: 0, source: None, targets: vec![target], waits: WaitStatistics::default() }];
    let test_time_s = rates.len() as f64 * INTERVAL_S;
    let mut measured = Measured { test_time_s, threads, ..Measured::default() };
    measured.evidence.series = Some(Timeline { interval_ns: 100_000_000, reads, writes: Vec::new() });
    let target = Target { path: "f".into(), block_bytes: BLOCK_BYTES, ..Target::default() };
    let span = TimeSpan { targets: vec![target], ..TimeSpan::default() };
    let document = Document {
        profile: Profile { time_spans: vec![span], ..Profile::default() },
        time_spans: vec![TimeSpanResult::Measured(Box::new(measured))],
        ..Document::default()
    };
    Named { name: name.into(), document }
}

/// What disturbs the rate within a run.
#[derive(Clone, Copy)]
struct Within {
    /// Standard deviation of an interval, as part of the rate.
    scatter: f64,
    /// How much of a deviation stays to the next interval (AR(1)).
    stays: f64,
    /// At some time, the rate falls by this part and stays there.
    step: f64,
    /// Over the run, the rate rises by this part.
    drift: f64,
}

fn rates(random: &mut Random, within: Within, count: usize, mean: f64) -> Vec<f64> {
    let mut wave = random.normal();
    let falls_at = random.uniform() * count as f64;
    let mut next = |place: usize| {
        wave = within.stays * wave + (1.0 - within.stays * within.stays).sqrt() * random.normal();
        let step = if place as f64 >= falls_at { within.step } else { 0.0 };
        let drift = within.drift * (place as f64 / count as f64 - 0.5);
        mean * (1.0 + within.scatter * wave - step + drift).max(0.01)
    };
    (0..count).map(&mut next).collect()
}

/// In which part of many pairs B, whose true rate is that of A times `ratio`, is called better or worse in any metric.
fn called_different(within: Within, count: usize, ratio: f64) -> f64 {
    const PAIRS: usize = 600;
    let mut random = Random::new(11);
    let mut different = 0;
    for _ in 0..PAIRS {
        let [a, b] = [1.0, ratio].map(|ratio| rates(&mut random, within, count, 20_000.0 * ratio));
        let sides = [vec![named("a", &a, &[])], vec![named("b", &b, &[])]];
        different += usize::from(has_difference(&sides));
    }
    different as f64 / PAIRS as f64
}

fn has_difference(sides: &[Vec<Named>; 2]) -> bool {
    let rows = rows(&question(), sides, false);
    rows.iter().any(|row| matches!(row.outcome, Outcome::Better | Outcome::Worse))
}

const CALM: Within = Within { scatter: 0.05, stays: 0.5, step: 0.0, drift: 0.0 };

#[test]
fn equal_single_runs_are_seldom_called_different() {
    for (count, within) in [
        (50, CALM),
        (100, Within { scatter: 0.1, ..CALM }),
        (100, Within { scatter: 0.2, ..CALM }),
        (100, Within { stays: 0.8, scatter: 0.1, ..CALM }),
        (100, Within { stays: 0.8, scatter: 0.2, ..CALM }),
        (600, Within { stays: 0.8, scatter: 0.2, ..CALM }),
        (100, Within { step: 0.1, ..CALM }),
        (100, Within { step: 0.2, ..CALM }),
        (100, Within { drift: 0.2, ..CALM }),
    ] {
        let part = called_different(within, count, 1.0);
        let Within { scatter, stays, step, drift } = within;
        println!(
            "equal: {count} intervals, scatter {scatter}, stays {stays}, step {step}, drift {drift}: {part}"
        );
        assert!(part <= 0.05, "{count} intervals, {scatter} {stays} {step} {drift}: {part}");
    }
}

#[test]
fn a_tenth_between_single_runs_is_found() {
    for (count, within) in
        [(200, CALM), (600, Within { scatter: 0.1, ..CALM }), (600, Within { stays: 0.8, ..CALM })]
    {
        let part = called_different(within, count, 1.1);
        let Within { scatter, stays, .. } = within;
        println!("10 %: {count} intervals, scatter {scatter}, stays {stays}: {part}");
        assert!(part >= 0.95, "{count} intervals, {scatter} {stays}: {part}");
    }
}

/// Runs that scatter by this part from one to the next, all metrics with a scatter of their own.
fn group(random: &mut Random, count: usize, scatter: f64, ratio: f64) -> Vec<Named> {
    let mut run = |number: usize| {
        let rate = 20_000.0 * ratio * (scatter * random.normal()).exp();
        let mean_ns = 400_000.0 / ratio * (scatter * random.normal()).exp();
        let latencies: Vec<f64> = (0..40).map(|_| mean_ns * (0.5 * random.normal()).exp()).collect();
        named(&format!("run {number}"), &[rate; 20], &latencies)
    };
    (0..count).map(&mut run).collect()
}

fn groups_called_different(counts: [usize; 2], scatter: f64, ratio: f64) -> f64 {
    const TIMES: usize = 100;
    let mut random = Random::new(5);
    let mut different = 0;
    for _ in 0..TIMES {
        let a = group(&mut random, counts[0], scatter, 1.0);
        let b = group(&mut random, counts[1], scatter, ratio);
        different += usize::from(has_difference(&[a, b]));
    }
    different as f64 / TIMES as f64
}

#[test]
fn groups_of_equal_runs_are_seldom_called_different_and_a_tenth_is_found() {
    for (counts, scatter) in [([2, 2], 0.05), ([3, 3], 0.05), ([8, 1], 0.05)] {
        let part = groups_called_different(counts, scatter, 1.0);
        println!("equal: {counts:?} runs, scatter {scatter}: {part}");
        assert!(part <= 0.05, "{counts:?} {scatter}: {part}");
    }
    let part = groups_called_different([4, 4], 0.01, 1.1);
    println!("10 %: 4 runs a side, scatter 0.01: {part}");
    assert!(part >= 0.95, "{part}");
}

fn steady(name: &str, rate: f64) -> Named {
    let rates: Vec<f64> = (0..100).map(|place| rate + f64::from(place % 7) * 10.0).collect();
    named(name, &rates, &[])
}

#[test]
fn words_follow_from_the_interval() {
    for (rate, outcome) in [
        (20_000.0, Outcome::NoDifference),
        (24_000.0, Outcome::Better),
        (16_000.0, Outcome::Worse),
        (20_310.0, Outcome::Undecided),
    ] {
        let question = Question { margin_percent: 3.0, ..question() };
        let sides = [vec![steady("a", 20_010.0)], vec![steady("b", rate)]];
        let comparison = compare(&question, sides).unwrap();
        let iops = &comparison.metrics[0];
        assert_eq!((iops.metric, iops.outcome), (Metric::IOPS, outcome), "{rate}: {iops:?}");
        let bytes = &comparison.metrics[1];
        let [of_bytes, of_ios] = [bytes, iops].map(|row| row.effect.expect("it was tested").percent_low);
        assert!(
            bytes.metric == Metric::BYTES && (of_bytes - of_ios).abs() < 1e-6,
            "one block size, one test"
        );
    }
}

#[test]
fn what_cannot_be_compared_is_refused() {
    let refused = |a: Vec<Named>, b: Vec<Named>| compare(&question(), [a, b]).unwrap_err().to_string();
    let (a, b) = (steady("a", 20_000.0), steady("b", 21_000.0));
    let again = refused(vec![a.clone(), a.clone()], vec![b.clone()]);
    assert!(again.contains("is the same run as 'a'"), "{again}");
    let itself = refused(vec![a.clone()], vec![a.clone()]);
    assert!(itself.contains("is the same run as 'a'"), "{itself}");
    let nothing = refused(vec![named("n", &[0.0; 30], &[])], vec![b.clone()]);
    assert!(nothing.contains("'n' cannot be compared: no I/O was completed"), "{nothing}");
    let mut other = b.clone();
    other.document.profile.time_spans[0].targets[0].path = "g".into();
    let unlike = refused(vec![a.clone()], vec![other.clone()]);
    assert!(unlike.contains("A and B used different targets: path: f and g"), "{unlike}");
    let allowed = Question { may_differ_in_target: true, ..question() };
    let told = compare(&allowed, [vec![a.clone()], vec![other]]).unwrap();
    assert_eq!(told.differences[0].sentence(), "path: f and g");
    let mut two = b.clone();
    two.document.profile.time_spans.push(b.document.profile.time_spans[0].clone());
    two.document.time_spans.push(b.document.time_spans[0].clone());
    let spans = refused(vec![two.clone()], vec![b.clone()]);
    assert!(
        spans.contains("has 2 time spans") && spans.contains("--time-span 1 to --time-span 2"),
        "{spans}"
    );
    let third = Question { time_span: Some(3), ..question() };
    let third = compare(&third, [vec![two], vec![b]]).unwrap_err().to_string();
    assert!(third.contains("has no time span 3; the last one is 2"), "{third}");
}

#[test]
fn one_run_is_compared_with_several_by_their_scatter() {
    let several = |rate: f64| {
        (0..6).map(|i| steady(&format!("run {i}"), rate * (1.0 + f64::from(i) / 500.0))).collect::<Vec<_>>()
    };
    let alone = vec![steady("alone", 15_000.0)];
    for sides in [[several(20_000.0), alone.clone()], [alone, several(20_000.0)]] {
        let is_b_alone = sides[1].len() == 1;
        let comparison = compare(&question(), sides).unwrap();
        assert_eq!(comparison.kind, Kind::OneRunAndSeveral);
        let expected = if is_b_alone { Outcome::Worse } else { Outcome::Better };
        assert_eq!(comparison.metrics[0].outcome, expected, "{:?}", comparison.metrics[0]);
    }
}

#[test]
fn the_document_is_read_back() {
    let sides = [vec![steady("a", 20_000.0)], vec![steady("b", 16_000.0)]];
    let gates = vec!["iops < -5%".parse().unwrap(), "p99 > 5%".parse().unwrap()];
    let comparison = compare(&Question { gates, ..question() }, sides).unwrap();
    let failed: Vec<&str> = comparison.failed().map(|gate| gate.gate.as_str()).collect();
    assert_eq!(failed, ["iops < -5%"]);
    let read: Comparison = envelope::read(envelope::write(&comparison).as_bytes()).unwrap();
    assert_eq!(envelope::write(&read), envelope::write(&comparison));
}

#[test]
fn the_published_schema_is_that_of_the_types() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schema/compare-v1.json");
    let published = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        published == truespd_core::result::schema::of_kind::<Comparison>(),
        "publish it anew: truespd schema compare > schema/compare-v1.json"
    );
}
