use super::*;

const SHAPES: [&str; 3] = ["step-down", "warm-up-short", "not-steady"];

/// A series fires one of the three and leaves the others silent.
#[track_caller]
fn only(rule: &str, rates: &[u64]) -> Finding {
    for other in SHAPES.iter().filter(|other| **other != rule) {
        doc(|d| d.series(rates.iter().copied())).silent(other);
    }
    doc(|d| d.series(rates.iter().copied())).fires(rule)
}

fn series(length: u64, rate: impl Fn(u64) -> u64) -> Vec<u64> {
    (0..length).map(rate).collect()
}

#[test]
fn a_rate_that_holds_is_nothing() {
    for rates in [
        series(60, |_| 20_000),
        // Every second another, no trend.
        series(60, |i| 20_000 + i * 7919 % 6000),
        // A pause of a second.
        series(60, |i| if i == 30 { 0 } else { 20_000 }),
        // 4 % more at the end than at the start.
        series(60, |i| 20_000 + i * 14),
        // A hard disk: so few that chance scatters them.
        series(20, |i| 80 + i * 13 % 17),
        series(9, |_| 0),
    ] {
        for rule in SHAPES {
            doc(|d| d.series(rates.iter().copied())).silent(rule);
        }
    }
}

#[test]
fn credits_that_are_used_up() {
    let finding = only("step-down", &series(60, |i| if i < 12 { 12_000 } else { 3000 }));
    says(
        &finding,
        FindingGrade::Suspect,
        &[
            "After 12 s the rate fell from 12,000 to 3,000 IOPS (-75 %) and stayed low. From then on it varied by 0 % \
             only, as no medium does: a limit held it, as it does once burst credit is used up.",
            "The mean mixes both rates.",
        ],
    );
    only("step-down", &series(60, |i| if i < 50 { 12_000 } else { 8900 }));
}

#[test]
fn a_start_unlike_the_rest() {
    let finding = only("warm-up-short", &series(60, |i| if i < 8 { 5000 } else { 12_000 }));
    says(
        &finding,
        FindingGrade::Suspect,
        &["The first 8 s ran at 5,000 IOPS, the rest at 12,000: the warm-up (-W5) was too short."],
    );
    only("warm-up-short", &series(60, |i| if i < 10 { 14_000 } else { 12_000 }));
}

#[test]
fn a_rate_that_wanders() {
    let finding = only("not-steady", &series(60, |i| 10_000 + i * 100));
    says(
        &finding,
        FindingGrade::Suspect,
        &["the fifths of the measured time differ by", "the trend is +37.1 %"],
    );
    only("not-steady", &series(60, |i| if (20..40).contains(&i) { 5000 } else { 12_000 }));
    // Less than SNIA allows.
    doc(|d| d.series(series(60, |i| 10_000 + i * 15))).silent("not-steady");
}

/// SNIA's rounds are a minute long: the drift of a shared disk over seconds is worth a remark.
#[test]
fn a_drift_is_worse_over_minutes_than_over_seconds() {
    let drift = |length: u64, percent: u64| series(length, |i| 10_000 + 100 * percent * i / length);
    for (length, percent, grade) in
        [(60, 22, FindingGrade::Remark), (60, 60, FindingGrade::Suspect), (300, 22, FindingGrade::Suspect)]
    {
        says(&only("not-steady", &drift(length, percent)), grade, &["count as steady"]);
    }
    for (first, grade) in [(12_000, FindingGrade::Remark), (20_000, FindingGrade::Suspect)] {
        let rates = series(60, |i| if i < 8 { first } else { 10_000 });
        let says = if grade == FindingGrade::Suspect { "step-down" } else { "warm-up-short" };
        assert_eq!(only(says, &rates).grade, grade);
    }
}

/// Nothing of a run is left out, however many intervals there are, and times are those of the run.
#[test]
fn every_interval_counts() {
    for length in [31, 45, 59, 100, 200, 7200] {
        let split = length * 2 / 5;
        let rates = series(length, |i| if i < split { 12_000 } else { 6000 });
        let of = |d: &mut Doc| {
            d.seconds = length;
            d.refresh();
            d.series(rates.iter().copied());
        };
        let finding = doc(of).fires("step-down");
        let words = finding.says.split_whitespace().nth(1).expect("a time").replace(',', "");
        let after: f64 = words.parse().expect("a number");
        let error = (after - split as f64).abs();
        assert!(error <= length as f64 / 30.0, "{length}: {}", finding.says);
    }
    let start = series(59, |i| if i < 8 { 15_600 } else { 12_000 });
    doc(|d| d.series(start.iter().copied())).fires("warm-up-short");
    let start = series(59, |i| if i < 8 { 13_600 } else { 12_000 });
    doc(|d| d.series(start.iter().copied())).silent("warm-up-short");
}

/// A disk that is slower on its inner tracks has no two states.
#[test]
fn a_slope_is_no_step() {
    only("not-steady", &series(60, |i| 4000 - i * 35));
}

/// Bursts are what was asked for.
#[test]
fn bursts_are_no_trend() {
    for rule in SHAPES {
        doc(|d| {
            (d.asked.think_ms, d.asked.burst_ios) = (Some(3000), Some(200));
            d.series(series(60, |i| if i % 10 < 3 { 20_000 } else { 0 }));
        })
        .silent(rule);
    }
}

#[test]
fn without_a_series_that_of_the_intervals_counts() {
    for rule in SHAPES {
        doc(|d| d.measured.evidence.series = None).missing(rule, "completions over time");
    }
    let mut document = doc(|d| d.measured.evidence.series = None).build();
    let mut intervals = truespd_core::measure::Intervals::new(NS_PER_S, SECONDS * NS_PER_S);
    for second in 0..SECONDS {
        let rate = if second < 20 { 4000 } else { 1000 };
        (0..rate).for_each(|i| intervals.record(second * NS_PER_S + i * 1000, 5000));
    }
    if let TimeSpanResult::Measured(measured) = &mut document.time_spans[0] {
        measured.threads[0].targets[0].read.intervals = Some(intervals);
    }
    let findings = judge(&document).findings;
    let finding = findings.iter().find(|f| f.rule == "step-down").expect("a step");
    says(finding, FindingGrade::Suspect, &["After 20 s", "from 4,000 to 1,000"]);
}

#[test]
fn runs_too_short_to_judge() {
    let short = |seconds: u64| {
        doc(|d| {
            d.seconds = seconds;
            d.refresh();
            // As the tool itself does it: a short run has short intervals.
            let reads = vec![2000; seconds as usize * 10];
            d.measured.evidence.series = Some(Timeline { interval_ns: NS_PER_S / 10, reads, writes: vec![] });
        })
    };
    says(
        &short(1).fires("too-short"),
        FindingGrade::Suspect,
        &["The measured time of 1 s is too short to show whether the rate is steady."],
    );
    says(&short(3).fires("too-short"), FindingGrade::Remark, &["The measured time is 3 s: "]);
    says(&short(29).fires("too-short"), FindingGrade::Remark, &["The measured time is 29 s: "]);
    short(30).silent("too-short");
    let few = doc(|d| {
        d.seconds = 4;
        d.refresh();
    });
    says(&few.fires("too-short"), FindingGrade::Suspect, &["The measured time of 4 s is too short"]);
}

/// `-n` at depth 1: the thread went from the processor that answers the disk's interrupts to another and back.
#[test]
fn a_thread_that_moved_to_another_processor() {
    let elsewhere = |i: u64| (16..40).contains(&i);
    let rates = series(60, |i| if elsewhere(i) { 20_000 } else { 80_000 });
    let places = |is_there: &dyn Fn(u64) -> bool| {
        let processors = (0..60).map(|i| u32::from(is_there(i))).collect();
        Some(Processors { interval_ns: NS_PER_S, threads: vec![ThreadProcessors { id: 0, processors }] })
    };
    let with = |processors: Option<Processors>, answered_by: &[u32], change: &dyn Fn(&mut Doc)| {
        let moved = doc(|d| {
            d.series(rates.iter().copied());
            d.measured.evidence.processors = processors;
            let disk = d.measured.evidence.targets[0].layers.last_mut().expect("a disk");
            disk.hardware_queues = vec![HardwareQueue {
                number: 0,
                processors: CpuSet::new(vec![0, 1]),
                irq: Some(27),
                answered_by: CpuSet::new(answered_by.to_vec()),
            }];
            change(d);
        });
        moved.fires("not-steady")
    };
    let finding = with(places(&elsewhere), &[0], &|_| {});
    let words = "While the rate was low, the thread ran on processor 1, which does not answer the interrupts of vda, \
        otherwise on processor 0, which does.";
    says(&finding, FindingGrade::Suspect, &[words]);
    assert!(finding.advice.contains("leave -n out"), "{finding:?}");
    assert!(finding.figures.iter().any(|f| f.name == "processor_low" && f.value == 1.0));
    // The interrupts do not explain it, or are not known: zram and loop devices have none.
    for answered_by in [&[1][..], &[0, 1], &[]] {
        let says = with(places(&elsewhere), answered_by, &|_| {}).says;
        assert!(!says.contains("processor"), "{says}");
    }
    let no_queues = |d: &mut Doc| d.facts()[0].layers.last_mut().expect("a disk").hardware_queues.clear();
    assert!(!with(places(&elsewhere), &[0], &no_queues).says.contains("processor"));
    // Other virtual machines took 30 % of the processor time throughout.
    let stolen = |d: &mut Doc| {
        let (waiting_ns, stolen_ns) = (vec![0; 60], vec![600_000_000; 60]);
        d.measured.evidence.processor_waits =
            Some(ProcessorWaits { interval_ns: NS_PER_S, waiting_ns, stolen_ns });
    };
    assert!(!with(places(&elsewhere), &[0], &stolen).says.contains("processor"));
    // It moved at other times, or was bound.
    for processors in [places(&|i| i % 2 == 0), None] {
        let says = with(processors, &[0], &|_| {}).says;
        assert!(!says.contains("processor"), "{says}");
    }
}

/// A run of up to eight rounds, and what it says of them.
fn in_rounds(iops: &[f64], is_steady: bool) -> Doc {
    doc(|d| {
        d.until_steady = Some(SteadyRule { rounds: 8, ..SteadyRule::default() });
        let mut rounds = Vec::new();
        for &read_iops in iops {
            rounds.push(Round {
                read_iops,
                write_iops: 0.0,
                trim_iops: 0.0,
                latency_mean_ns: 32e9 / read_iops,
            });
        }
        d.measured.rounds = Some(Rounds { round_s: 1.0, rounds, window_first: 3, is_steady });
    })
}

#[test]
fn rounds_that_never_became_steady() {
    let falling = [900.0, 800.0, 700.0, 640.0, 560.0, 500.0, 440.0, 360.0];
    let finding = in_rounds(&falling, false).fires("never-steady");
    says(
        &finding,
        FindingGrade::Suspect,
        &[
            "The run never became steady: 8 rounds of 1 s, and the last 5 still differ (largest range 58.4 % (mean \
             latency), largest slope +56.1 % (mean latency)",
            "up to 20 % and 10 % count as steady",
        ],
    );
    in_rounds(&[500.0; 8], true).silent("never-steady");
    // Whoever stopped it knows.
    in_rounds(&falling[..6], false).silent("never-steady");
    doc(|_| {}).silent("never-steady");
}
