//! The design on simulated machines, and the series on documents made by hand.

use super::answer::{change, sentence};
use super::noise::{Machine, Noise};
use super::*;
use crate::answer::Shown;
use crate::ask::SuiteDocument;
use crate::runner::{Ahead, Length};
use diskspd::request::{Line, Request};
use truespd_core::measure::Histogram;
use truespd_core::profile::Throughput;
use truespd_core::result::Document;
use truespd_core::result::{
    Direction, Finding, FindingGrade, Grade, Measured, TargetResult, ThreadResult, TimeSpanResult, Verdict,
};
use truespd_front::show::Style;
use truespd_platform::fault::{Failure, FailureKind};

/// What a wide terminal shows of a comparison.
fn text(report: &Comparison) -> String {
    report.text(Shown::whole(Style { columns: 1000, has_colour: false }))
}

/// Scatter of 5 %, wandering of 8 % that stays, a steady fall, and every twentieth run loses up to 30 %.
const MACHINE: Noise = Noise { scatter: 0.05, drift: (0.08, 0.9), slope: -0.002, outliers: (0.05, 0.30) };

fn plan(blocks_max: usize) -> Plan {
    Plan {
        title: String::new(),
        lines: ["-a", "-b"].map(|word| Line::new(vec![word.into()], Request::default())),
        metric: Metric::IOPS,
        margin_percent: 2.0,
        significance: 0.01,
        blocks_max,
        time_max: Duration::from_secs(100_000),
        run: Length::exactly(4.0),
    }
}

/// Repeats a whole comparison; outcomes as parts of all, and mean blocks.
fn repeat(noise: Noise, ratio: f64, blocks_max: usize, rounds: u32, seed: u64) -> [f64; 4] {
    let design = Design::new(&plan(blocks_max));
    let mut counts = [0.0; 4];
    for round in 0..rounds {
        let mut machine = Machine::new(noise, seed.wrapping_mul(1_000_003).wrapping_add(u64::from(round)));
        let mut log_ratios = Vec::new();
        let outcome = (0..blocks_max).find_map(|block| {
            let (mut a, mut b) = (Vec::new(), Vec::new());
            for side in order(block) {
                match side {
                    Side::A => a.push(machine.run(1000.0)),
                    Side::B => b.push(machine.run(1000.0 * ratio)),
                }
            }
            log_ratios.push(log_ratio([a[0], a[1]], [b[0], b[1]]));
            let view = design.is_interim(block + 1).then(|| design.view(&log_ratios)).flatten()?;
            (view.outcome != Outcome::Undecided).then_some(view.outcome)
        });
        counts[outcome.unwrap_or(Outcome::Undecided) as usize] += 1.0;
        counts[3] += log_ratios.len() as f64;
    }
    let parts = counts.map(|count| count / f64::from(rounds));
    println!(
        "{noise:?} B/A {ratio} of {blocks_max}: different {:.4}, equivalent {:.4}, undecided {:.4}, {:.1} blocks",
        parts[0], parts[1], parts[2], parts[3]
    );
    parts
}

#[test]
fn the_same_is_hardly_ever_called_different() {
    let machines = [
        (MACHINE, 100),
        (Noise { scatter: 0.10, ..MACHINE }, 100),
        (Noise { scatter: 0.02, ..MACHINE }, 100),
        (Noise { drift: (0.20, 0.98), slope: 0.01, ..MACHINE }, 60),
        (Noise { outliers: (0.15, 0.60), ..MACHINE }, 100),
        (Noise { scatter: 0.03, drift: (0.0, 0.0), slope: 0.0, outliers: (0.0, 0.0) }, 20),
        (Noise { scatter: 0.003, ..MACHINE }, 100),
    ];
    for (number, (noise, blocks_max)) in machines.into_iter().enumerate() {
        let [different, ..] = repeat(noise, 1.0, blocks_max, 4000, 11 + number as u64);
        // Promised: 0.01, and three standard errors of 4000 rounds. Asked for: 0.05.
        assert!(different <= 0.015, "{noise:?}: {different}");
    }
}

#[test]
fn five_percent_are_found() {
    for (noise, blocks_max, seed) in [
        (MACHINE, 100, 21),
        (Noise { scatter: 0.08, ..MACHINE }, 100, 22),
        (Noise { scatter: 0.10, ..MACHINE }, 150, 23),
        (Noise { outliers: (0.10, 0.40), ..MACHINE }, 150, 24),
        (Noise { scatter: 0.02, ..MACHINE }, 40, 25),
        (Noise { scatter: 0.0005, drift: (0.0, 0.0), slope: 0.0, outliers: (0.0, 0.0) }, 100, 26),
    ] {
        for ratio in [1.05, 1.0 / 1.05] {
            let [different, ..] = repeat(noise, ratio, blocks_max, 1500, seed);
            assert!(different >= 0.95, "{noise:?} {ratio}: {different}");
        }
    }
}

#[test]
fn what_is_beyond_the_margin_is_never_called_equivalent() {
    for (noise, ratio) in [
        (MACHINE, 1.021),
        (Noise { scatter: 0.02, ..MACHINE }, 1.021),
        (Noise { scatter: 0.02, ..MACHINE }, 1.0 / 1.03),
    ] {
        let [_, equivalent, ..] = repeat(noise, ratio, 100, 1500, 31);
        assert!(equivalent <= 0.025, "{noise:?} {ratio}: {equivalent}");
    }
}

#[test]
fn the_same_on_a_calm_machine_is_shown_to_be_the_same() {
    let calm = Noise { scatter: 0.02, drift: (0.05, 0.9), slope: -0.001, outliers: (0.02, 0.2) };
    let [_, equivalent, ..] = repeat(calm, 1.0, 100, 1500, 41);
    assert!(equivalent >= 0.95, "{equivalent}");
}

/// The interval that is told holds the truth whenever one looks.
#[test]
fn the_interval_holds_at_every_look() {
    let design = Design::new(&plan(60));
    let rounds = 3000;
    let missed = (0..rounds).filter(|&round| {
        let mut machine = Machine::new(MACHINE, 51 + round);
        let mut log_ratios = Vec::new();
        (0..60).any(|block| {
            let (mut a, mut b) = (Vec::new(), Vec::new());
            for side in order(block) {
                if side == Side::A { a.push(machine.run(70.0)) } else { b.push(machine.run(84.0)) }
            }
            log_ratios.push(log_ratio([a[0], a[1]], [b[0], b[1]]));
            let truth = 1.2_f64.ln();
            design.view(&log_ratios).is_some_and(|view| truth < view.low || view.high < truth)
        })
    });
    let part = missed.count() as f64 / rounds as f64;
    // Promised: 0.01 by the significance; the standard error of 3000 rounds is 0.002.
    assert!(part <= 0.015, "{part}");
}

#[test]
fn drift_cancels() {
    let steady = Noise { scatter: 0.0, drift: (0.0, 0.0), slope: 0.01, outliers: (0.0, 0.0) };
    let mut machine = Machine::new(steady, 1);
    for block in 0..8 {
        let runs: Vec<f64> = (0..BLOCK_RUNS).map(|_| machine.run(5.0)).collect();
        let of = |wanted| {
            let mine: Vec<f64> =
                order(block).iter().zip(&runs).filter(|(s, _)| **s == wanted).map(|(_, r)| *r).collect();
            [mine[0], mine[1]]
        };
        assert!(log_ratio(of(Side::A), of(Side::B)).abs() < 1e-12);
    }
    // Thue and Morse: as many of one kind as of the other, and curvature cancels over each pair.
    let firsts: Vec<Side> = (0..8).map(|block| order(block)[0]).collect();
    use Side::{A, B};
    assert_eq!(firsts, [A, B, B, A, B, A, A, B]);
}

/// Makes documents; what it has run.
struct Fake {
    machine: Machine,
    truth: [f64; 2],
    findings: [Vec<Finding>; 2],
    ran: Vec<Side>,
    ahead: Vec<usize>,
    told: usize,
    ends: Option<(usize, Ended)>,
    /// What each block shall say, in place of the machine; none after the last.
    log_ratios: Vec<f64>,
    /// Runs, by number, that complete no I/O.
    empty: Vec<usize>,
}

impl Fake {
    fn new(noise: Noise, truth: [f64; 2]) -> Self {
        let findings = [Vec::new(), Vec::new()];
        Fake {
            machine: Machine::new(noise, 3),
            truth,
            findings,
            ran: Vec::new(),
            ahead: Vec::new(),
            told: 0,
            ends: None,
            log_ratios: Vec::new(),
            empty: Vec::new(),
        }
    }
}

fn document(ios: f64, findings: &[Finding]) -> Document {
    let mut latency = Histogram::default();
    latency.record(1000);
    let read = Direction {
        ios: ios as u64,
        bytes: ios as u64 * 4096,
        latency: Some(Box::new(latency)),
        ..Direction::default()
    };
    let target = TargetResult {
        path: "f".into(),
        size_bytes: 1,
        read,
        write: Direction::default(),
        distribution: None,
        short_transfers: 0,
        ..TargetResult::default()
    };
    let thread = ThreadResult { id: 0, source: None, targets: vec![target], waits: Default::default() };
    let measured = Measured { test_time_s: 1.0, threads: vec![thread], ..Measured::default() };
    let grade = Grade::of(findings);
    Document {
        time_spans: vec![TimeSpanResult::Measured(Box::new(measured))],
        verdict: Some(Verdict { grade, findings: findings.to_vec(), ..Verdict::default() }),
        ..Document::default()
    }
}

impl Runner for Fake {
    fn line(&mut self, words: Vec<String>) -> Result<Line, Ended> {
        Ok(Line::new(words, Request::default()))
    }

    fn run(&mut self, step: &Step) -> Result<Document, Ended> {
        let side = if step.line.words() == ["-a"] { Side::A } else { Side::B };
        if let Some((after, ended)) = &self.ends
            && self.ran.len() == *after
        {
            return Err(ended.clone());
        }
        let number = self.ran.len();
        self.ran.push(side);
        let mut ios = self.machine.run(self.truth[side as usize]);
        if let Some(log_ratio) =
            number.checked_sub(2).and_then(|counted| self.log_ratios.get(counted / BLOCK_RUNS))
        {
            ios = if side == Side::A { 1e6 } else { 1e6 * log_ratio.exp() };
        }
        if self.empty.contains(&number) {
            ios = 0.0;
        }
        Ok(document(ios, &self.findings[side as usize]))
    }

    fn pause(&mut self, _: Duration) -> Result<(), Ended> {
        Ok(())
    }

    fn ahead(&mut self, ahead: Ahead) {
        self.ahead.push(ahead.steps);
    }

    fn tell(&mut self, _: &str) {
        self.told += 1;
    }
}

fn run(plan: &Plan, fake: &mut Fake) -> (Comparison, Result<(), Ended>, Vec<Side>) {
    let mut arranged = Vec::new();
    let mut arrange = |side| {
        arranged.push(side);
        Ok(())
    };
    let elapsed = || Duration::ZERO;
    let (report, result) =
        compare(plan, fake, &mut Surroundings { arrange: &mut arrange, elapsed: &elapsed });
    (report, result, arranged)
}

const CALM: Noise = Noise { scatter: 0.002, drift: (0.0, 0.0), slope: 0.0, outliers: (0.0, 0.0) };

#[test]
fn a_difference_ends_the_series_at_once() {
    let mut fake = Fake::new(CALM, [100_000.0, 105_000.0]);
    let (report, result, arranged) = run(&plan(100), &mut fake);
    assert_eq!((result, report.outcome, report.stopped), (Ok(()), Outcome::Different, Stopped::Decided));
    assert!(report.blocks.len() <= 6, "{}", report.blocks.len());
    use Side::{A, B};
    assert_eq!(fake.ran[..10], [A, B, A, B, B, A, B, A, A, B]);
    assert_eq!(arranged, fake.ran);
    let effect = report.effect.unwrap();
    assert!(effect.ratio_low < 1.05 && 1.05 < effect.ratio_high && effect.p < 0.01, "{effect:?}");
    assert!((effect.difference - 5000.0).abs() < 500.0, "{effect:?}");
    let text = text(&report);
    assert!(text.contains("different: IOPS ") && text.contains("which is better"), "{text}");
    let figure = format!("\nB / A  {:.4}  ", effect.ratio);
    assert!(text.contains(&figure) && text.contains("  (+5.0 %; 99 % interval 1.0"), "{text}");
    assert!(text.contains("\nB - A  +") && text.contains("(99 % interval +"), "{text}");
    assert_eq!(report.is_b_better(), Some(true));
    assert_eq!(
        Comparison { metric: Metric::P99, ..report.clone() }.is_b_better(),
        Some(false),
        "more is worse"
    );
    assert!(report.a.figures.unwrap().count == 2 * report.blocks.len(), "the first run does not count");
    let parts = report.parts();
    let medians = [report.a.figures, report.b.figures].map(|figures| figures.map(|spread| spread.median));
    assert_eq!(parts.iter().map(|part| part.figures.get("iops").copied()).collect::<Vec<_>>(), medians);
    assert_eq!(parts.iter().map(|part| part.name.as_str()).collect::<Vec<_>>(), ["A", "B"]);
}

#[test]
fn the_same_ends_as_no_difference() {
    let mut fake = Fake::new(CALM, [100_000.0, 100_000.0]);
    let (report, _, _) = run(&plan(100), &mut fake);
    assert_eq!((report.outcome, report.stopped), (Outcome::Equivalent, Stopped::Decided));
    assert_eq!(report.is_b_better(), None);
    assert!(text(&report).contains("no difference in IOPS larger than 2 %"), "{}", text(&report));
    // A difference too small to matter is told, and is none.
    let mut fake = Fake::new(Noise { scatter: 0.0002, ..CALM }, [100_000.0, 100_800.0]);
    let (report, _, _) = run(&plan(100), &mut fake);
    assert_eq!(report.outcome, Outcome::Equivalent);
    assert!(sentence(&report).contains("there is one of +0.8"), "{}", sentence(&report));
}

#[test]
fn limits_leave_it_undecided() {
    let mut fake = Fake::new(Noise { scatter: 0.2, ..CALM }, [100_000.0, 100_000.0]);
    let (report, _, _) = run(&plan(8), &mut fake);
    assert_eq!(
        (report.outcome, report.stopped, report.blocks.len()),
        (Outcome::Undecided, Stopped::Blocks, 8)
    );
    assert!(sentence(&report).contains("--blocks"), "{}", sentence(&report));
    assert!(fake.told > 0);
    assert!(sentence(&report).contains("is shown (99 % interval -"), "{}", sentence(&report));
}

#[test]
fn an_undecided_interval_holds_zero_and_a_likely_difference_is_named() {
    let design = Design::new(&plan(8));
    // Found by the 95 % interval, not by that of 99 %.
    let log_ratios = [0.30, 0.55, 0.42, 0.70];
    let view = design.view(&log_ratios).unwrap();
    let (low, high) = view.estimate.interval(0.05 * view.interim.share);
    assert!(low > 0.0 && view.low < 0.0 && view.high > high, "{view:?}");
    assert_eq!((view.outcome, view.confidence), (Outcome::Undecided, 0.99));
    let mut fake = Fake::new(CALM, [100_000.0, 100_000.0]);
    fake.log_ratios = log_ratios.to_vec();
    let (report, _, _) = run(&within(4.5, plan(8)), &mut fake);
    let words = sentence(&report);
    let p = report.effect.unwrap().p;
    assert!((0.01..0.05).contains(&p), "{p}");
    assert!(
        words.starts_with(
            "undecided: probably IOPS 63.6 % higher with B than with A, which is better, \
        but 4 blocks are too few to be sure (99 % interval -"
        ),
        "{words}"
    );
    assert!(
        words.contains(&format!("; p = {p:.3}, and --significance asks for less than 0.01; all")),
        "{words}"
    );
}

#[test]
fn an_interval_that_tells_nothing_is_not_shown() {
    let mut fake = Fake::new(CALM, [100_000.0, 100_000.0]);
    fake.log_ratios = vec![0.0, 9.0, 0.1, 8.0];
    let (report, _, _) = run(&plan(4), &mut fake);
    let words = text(&report);
    assert!(words.contains("; in single blocks 1 to 8,103)\n") && !words.contains("B - A"), "{words}");
    assert!(
        sentence(&report).contains("is shown (no 99 % interval: the blocks differ too much; all"),
        "{words}"
    );
    // And the ends are numbers, whatever the blocks say: JSON has no infinity.
    let view = Design::new(&plan(4)).view(&[-600.0, 600.0, -600.0, 600.0]).unwrap();
    assert!(view.low.exp() > 0.0 && (1e12 * view.high.exp()).is_finite(), "{view:?}");
}

#[test]
fn an_empty_run_does_not_end_a_series() {
    let mut fake = Fake::new(CALM, [100_000.0, 105_000.0]);
    // The first run of B, and one run each of two blocks.
    fake.empty = vec![1, 4, 9];
    let (report, result, _) = run(&plan(8), &mut fake);
    assert_eq!((result, report.outcome, report.empty_blocks), (Ok(()), Outcome::Different, 2));
    assert!(
        text(&report).contains("note: 2 blocks do not count, because a run completed no I/O"),
        "{}",
        text(&report)
    );
    assert!(fake.told > 1);
    // Three in a row do: the storage, or the line, does nothing.
    fake.empty = (fake.ran.len() + 2..).take(200).collect();
    let (report, result, _) = run(&plan(8), &mut fake);
    let Err(Ended::Failed(failure)) = result else { panic!("{result:?}") };
    assert!(failure.to_string().contains("A: no I/O was completed"), "{failure}");
    assert_eq!((report.empty_blocks, report.stopped), (3, Stopped::Failure));
}

#[test]
fn at_most_is_never_exceeded() {
    let noisy = || Fake::new(Noise { scatter: 0.2, ..CALM }, [100_000.0, 100_000.0]);
    // By blocks, and by a time that is over early, since the runs take longer than planned.
    for (plan, seconds, runs) in [(plan(8), 0, 2 + 8 * 4), (within(6.5, plan(100)), 6, 2 + 4 * 4)] {
        let (mut fake, calls) = (noisy(), std::cell::Cell::new(0));
        let elapsed = || Duration::from_secs(seconds * calls.replace(calls.get() + 1));
        let surroundings = &mut Surroundings { arrange: &mut |_| Ok(()), elapsed: &elapsed };
        let (_, result) = compare(&plan, &mut fake, surroundings);
        assert_eq!((result, fake.ran.len()), (Ok(()), runs));
        let mut most = plan.fitted().unwrap().ahead().steps;
        for (done, ahead) in fake.ahead.iter().enumerate() {
            let told = done + 1 + ahead;
            assert!((runs..=most).contains(&told), "{done} done: {told} at most, after {most}");
            most = told;
        }
    }
}

#[test]
fn the_head_of_the_table_names_the_percentile() {
    let (report, ..) = run(&plan(8), &mut Fake::new(CALM, [100_000.0, 100_000.0]));
    for (metric, is_response, head) in [
        (Metric::IOPS, false, "IOPS"),
        (Metric::MEAN, true, "Mean response time"),
        (Metric::P99, false, "Latency p99"),
        (Metric::P999, true, "Response time p99.9"),
    ] {
        let words = text(&Comparison { metric, is_response, ..report.clone() });
        assert!(words.contains(&format!("\n{head} of the runs\nvariant  ")), "{words}");
    }
}

/// Four runs of 4.3 s.
const BLOCK_S: f64 = 17.2;

fn within(blocks: f64, plan: Plan) -> Plan {
    Plan { time_max: Duration::from_secs_f64(blocks * BLOCK_S), ..plan }
}

#[test]
fn looks_are_planned_for_blocks_that_have_room() {
    assert_eq!(within(7.5, plan(100)).fitted().map(|plan| plan.blocks_max), Ok(7));
    assert_eq!(within(7.5, plan(5)).fitted().map(|plan| plan.blocks_max), Ok(5));
    let mut fake = Fake::new(Noise { scatter: 0.2, ..CALM }, [100_000.0, 100_000.0]);
    let (report, result, _) = run(&within(7.5, plan(100)), &mut fake);
    assert_eq!((result, report.stopped, report.blocks.len()), (Ok(()), Stopped::Blocks, 7));
    assert!(text(&report).contains("(7 blocks of four runs, 7 planned at most)"), "{}", text(&report));
    // All of the error for the seven: the last look has what is left of it.
    let looks = Design::new(&within(7.5, plan(100)).fitted().unwrap()).interims;
    assert_eq!(looks.iter().map(|look| look.blocks).collect::<Vec<_>>(), [4, 5, 7]);
}

#[test]
fn no_room_for_what_tells_anything_is_refused_before_a_run() {
    let long = Plan { run: Length::exactly(3600.0), time_max: Duration::from_secs(1800), ..plan(100) };
    let mut fake = Fake::new(CALM, [100_000.0, 100_000.0]);
    let (report, result, _) = run(&long, &mut fake);
    let Err(Ended::Failed(failure)) = result else { panic!("{result:?}") };
    assert_eq!((failure.exit_code() as u8, fake.ran.len(), report.blocks.len()), (3, 0, 0));
    assert!(
        failure.to_string().contains("--max-minutes 30 is too short: ")
            && failure.to_string().contains("; use --max-minutes 961, or"),
        "{failure}"
    );
    // And the minutes that it names would do, also when runs take a little longer than planned.
    let enough = Plan { time_max: Duration::from_secs(961 * 60), ..long };
    assert_eq!(enough.fitted().map(|plan| plan.blocks_max), Ok(4));
    let mut fake = Fake::new(Noise { scatter: 0.2, ..CALM }, [100_000.0, 100_000.0]);
    let calls = std::cell::Cell::new(0);
    // Five looks at the clock in a block, each 3650 s after a run.
    let elapsed = || {
        calls.set(calls.get() + 1);
        Duration::from_secs(3650 * (calls.get() - 1) * 4 / 5)
    };
    let mut surroundings = Surroundings { arrange: &mut |_| Ok(()), elapsed: &elapsed };
    let (report, _) = compare(&enough, &mut fake, &mut surroundings);
    assert_eq!((report.blocks.len(), report.effect.is_some()), (4, true));
}

#[test]
fn two_blocks_are_one_look_after_the_last() {
    let mut fake = Fake::new(Noise { scatter: 0.0005, ..CALM }, [100_000.0, 150_000.0]);
    let quick = Plan { significance: 0.05, margin_percent: 5.0, ..plan(2) };
    let (report, _, _) = run(&quick, &mut fake);
    assert_eq!((report.outcome, report.blocks.len()), (Outcome::Different, 2));
    fake.ends = Some((fake.ran.len() + 6, Ended::Stopped));
    let (report, _, _) = run(&quick, &mut fake);
    assert!(
        sentence(&report).contains("undecided: stopped after 1 block, but at least 2 are needed"),
        "{}",
        sentence(&report)
    );
}

#[test]
fn times_under_a_rate_count_from_when_it_wanted_the_io() {
    let mut document = document(5000.0, &[]);
    let TimeSpanResult::Measured(measured) = &mut document.time_spans[0] else { unreachable!() };
    let mut response = Histogram::default();
    response.record(9000);
    measured.threads[0].targets[0].read.response = Some(Box::new(response));
    let target = |throughput| truespd_core::profile::Target { throughput, ..Default::default() };
    let mut at = |rates: &[Option<Throughput>]| {
        let targets = rates.iter().copied().map(target).collect();
        document.profile.time_spans = vec![truespd_core::profile::TimeSpan { targets, ..Default::default() }];
        let metrics = [Metric::MEAN, Metric::P99, Metric::P999];
        metrics.map(|metric| (metric.of(&document).unwrap() / 1000.0).round())
    };
    let rate = Some(Throughput::Iops(100));
    assert_eq!(at(&[rate]), [9.0; 3]);
    // Those of some of the I/Os are not those of the run.
    assert_eq!(at(&[rate, None]), [1.0; 3]);
    at(&[rate]);
    assert!(Metric::P99.is_response(&document) && !Metric::IOPS.is_response(&document));
    assert_eq!(Metric::P99.words(true), "response time at the 99th percentile");
}

#[test]
fn the_title_says_from_when_times_count() {
    let mut fake = Fake::new(CALM, [100_000.0, 105_000.0]);
    let (report, _, _) = run(&Plan { metric: Metric::P99, ..plan(4) }, &mut fake);
    assert!(!report.is_response && text(&report).contains("\nLatency "), "{}", text(&report));
    let report = Comparison { is_response: true, ..report };
    assert!(text(&report).contains("\nResponse time "), "{}", text(&report));
    assert!(sentence(&report).contains("response time at the 99th percentile"), "{}", sentence(&report));
}

#[test]
fn what_was_done_before_an_early_end_is_told() {
    let failure = Ended::from(Failure::new(FailureKind::Io, "no"));
    for (ended, stopped) in [(Ended::Stopped, Stopped::Person), (failure, Stopped::Failure)] {
        let mut fake = Fake::new(Noise { scatter: 0.05, ..CALM }, [100_000.0, 100_000.0]);
        fake.ends = Some((2 + 4 * 5 + 1, ended.clone()));
        let (report, result, _) = run(&plan(100), &mut fake);
        assert_eq!((result, report.stopped, report.blocks.len()), (Err(ended), stopped, 5));
        assert!(report.effect.is_some());
    }
    let mut fake = Fake::new(CALM, [100_000.0, 0.0]);
    let (report, result, _) = run(&plan(100), &mut fake);
    let Err(Ended::Failed(failure)) = result else { panic!("{result:?}") };
    assert!(failure.to_string().contains("B: no I/O was completed"), "{failure:?}");
    assert_eq!(failure.exit_code() as u8, 1, "3 says that nothing was touched");
    assert!(text(&report).contains("undecided"));
}

fn finding(rule: &str, grade: FindingGrade) -> Finding {
    Finding { rule: rule.into(), grade, says: format!("what {rule} says"), ..Finding::default() }
}

#[test]
fn what_spoils_a_comparison_is_said() {
    let remarks = |a: Vec<Finding>, b: Vec<Finding>| {
        let mut fake = Fake::new(CALM, [100_000.0, 105_000.0]);
        fake.findings = [a, b];
        let (report, _, _) = run(&plan(10), &mut fake);
        (text(&report), report)
    };
    let cache = || finding("served-from-cache", FindingGrade::Invalid);
    let (words, report) =
        remarks(vec![], vec![cache(), cache(), finding("too-short", FindingGrade::Suspect)]);
    assert!(words.contains("some runs are invalid (0 of"), "{words}");
    assert!(words.contains("INVALID\n"), "{words}");
    assert_eq!(report.b.invalid_runs, 2 * report.blocks.len());
    let told = &report.verdict.findings[0];
    assert_eq!((told.rule.as_str(), told.of[0].what.as_str()), ("served-from-cache", "B"));
    assert_eq!(told.runs, report.b.invalid_runs, "once a run, however many targets");
    let bound = || finding("generator-bound", FindingGrade::Suspect);
    assert!(
        remarks(vec![bound()], vec![bound()]).0.contains("the processor limited both, not only the storage")
    );
    assert!(remarks(vec![bound()], vec![]).0.contains("the processor limited A, not only the storage"));
    let limit = || finding("provisioned-limit", FindingGrade::Suspect);
    assert!(remarks(vec![limit()], vec![limit()]).0.contains("both reached a provisioned limit"));
    assert!(remarks(vec![], vec![limit()]).0.contains("B reached a provisioned limit"));
    let (words, report) = remarks(vec![finding("remote", FindingGrade::Remark)], vec![]);
    assert!(report.remarks.is_empty() && report.verdict.findings.is_empty(), "{words}");
}

#[test]
fn every_metric_is_read_from_the_document() {
    let mut document = document(5000.0, &[]);
    assert_eq!(Metric::IOPS.of(&document), Ok(5000.0));
    assert_eq!(Metric::BYTES.of(&document), Ok(5000.0 * 4096.0));
    for metric in [Metric::MEAN, Metric::P99, Metric::P999] {
        assert!((metric.of(&document).unwrap() - 1000.0).abs() < 2.0, "{metric:?}");
    }
    assert!(Metric::PROCESSOR_TIME.of(&document).is_err());
    let TimeSpanResult::Measured(measured) = &mut document.time_spans[0] else { unreachable!() };
    measured.evidence.own_cost = Some(truespd_core::result::OwnCost {
        user_ns: 100_000_000,
        system_ns: 300_000_000,
        ..Default::default()
    });
    measured.evidence.threads =
        vec![truespd_core::result::ThreadCost { elapsed_ns: 2_000_000_000, ..Default::default() }];
    // 0.2 processors for a second, for 5000 I/Os.
    assert!((Metric::PROCESSOR_TIME.of(&document).unwrap() - 40_000.0).abs() < 1e-6);
    let TimeSpanResult::Measured(measured) = &mut document.time_spans[0] else { unreachable!() };
    measured.threads[0].targets[0].read.latency = None;
    assert!(Metric::P99.of(&document).unwrap_err().to_string().contains("-L"));
    document.time_spans.push(TimeSpanResult::NotMeasured);
    assert!(Metric::IOPS.of(&document).is_err());
    assert!(
        Metric::P999
            .doubt(9_000)
            .unwrap()
            .contains("a run has 9,000 I/Os, and only 9 of them are above the ")
    );
    assert_eq!((Metric::P999.doubt(10_000), Metric::IOPS.doubt(1)), (None, None));
    assert_eq!(
        [Metric::IOPS.show(82_310.4), Metric::BYTES.show(321.5 * 1_048_576.0), Metric::P99.show(1_234_567.0)],
        ["82,310", "321.50 MiB/s", "1.23 ms"].map(|s| s.replace("321.50", "322"))
    );
}

#[test]
fn changes_have_a_sign_and_few_digits() {
    assert_eq!([5.44, -0.314, 0.001, -12.0].map(change), ["+5.4 %", "-0.31 %", "0 %", "-12.0 %"]);
}

#[test]
fn the_published_schema_is_that_of_the_types() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schema/ab-v1.json");
    let published = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        published == truespd_core::result::schema::of_kind::<Comparison>(),
        "renew it: truespd schema ab > schema/ab-v1.json"
    );
}
