//! Runs on a simulated device: what is reported is the law of the device, exactly.

use crate::support::runner::{Outcome, Place};
use truespd_core::measure::Histogram;
use truespd_core::result::{Document, FindingGrade, TimeSpanResult};
use truespd_verdict::judge;

const MIB: u64 = 1 << 20;

/// Reads' latencies of the only thread.
fn latency(outcome: &Outcome) -> &Histogram {
    outcome.target().read.latency.as_ref().expect("measured")
}

/// Every latency was this.
fn assert_constant(histogram: &Histogram, ns: u64) {
    assert_eq!((histogram.min_ns(), histogram.max_ns()), (ns, ns));
    assert_eq!((histogram.mean_ns(), histogram.std_dev_ns()), (ns as f64, 0.0));
    for fraction in [0.25, 0.5, 0.9, 0.99, 0.999, 0.999_999_999] {
        assert_eq!(histogram.percentile_ns(fraction), ns, "percentile {fraction}");
    }
}

#[test]
fn a_fixed_latency_gives_its_iops_and_percentiles() {
    let place = Place::new(MIB);
    for (depth, switches) in [(1, ""), (8, ""), (32, ""), (32, "-u8"), (32, "-oc4"), (32, "-x")] {
        let words = format!("-b4K -r -o{depth} -W1 -d2 -L {switches} FILE").replace("  ", " ");
        let outcome = place.sim("latency=100us", &words);
        let target = outcome.target();
        assert_eq!(target.read.ios, depth * 10_000 * 2, "{words}");
        assert_eq!(target.read.bytes, target.read.ios * 4096);
        assert_eq!(outcome.measured().test_time_s, 2.0);
        assert_constant(latency(&outcome), 100_000);
        let depth_line = format!("queue depth: asked for {depth}, reached {depth}.00");
        assert!(
            outcome.report.notes.iter().any(|n| n.words.starts_with(&depth_line)),
            "{:?}",
            outcome.report.notes
        );
    }
}

#[test]
fn without_latency_the_depth_is_still_known() {
    let outcome = Place::new(MIB).sim("latency=100us", "-b4K -r -o8 -W1 -d1 FILE");
    assert_eq!(outcome.target().read.ios, 80_000);
    assert!(outcome.target().read.latency.is_none());
    let depth = "queue depth: asked for 8, reached 8.00 on average (I/Os in flight, counted)";
    assert!(
        outcome.report.notes.iter().any(|n| n.words == depth && n.is_detail),
        "{:?}",
        outcome.report.notes
    );
}

#[test]
fn a_device_with_channels_queues_the_rest() {
    // 8 at a time, 100 us each; 32 outstanding wait four services.
    let outcome = Place::new(MIB).sim("latency=100us,channels=8", "-b4K -o32 -W1 -d1 -L FILE");
    assert_eq!(outcome.target().read.ios, 80_000);
    assert_constant(latency(&outcome), 400_000);
}

#[test]
fn a_device_with_a_rate_gives_that_rate() {
    let outcome = Place::new(MIB).sim("latency=100us,iops=2000", "-b4K -o16 -W1 -d3 -L FILE");
    assert_eq!(outcome.target().read.ios, 6000);
    // Sixteen outstanding at 2000 IOPS: eight milliseconds (Little's law).
    assert_constant(latency(&outcome), 8_000_000);
}

#[test]
fn reads_and_writes_have_their_own_latency() {
    let outcome =
        Place::new(MIB).sim("latency=100us,write_latency=300us", "-b4K -r -w50 -o1 -W0 -d20 -L FILE");
    let target = outcome.target();
    assert_constant(target.read.latency.as_ref().expect("measured"), 100_000);
    assert_constant(target.write.latency.as_ref().expect("measured"), 300_000);
    let all = target.read.ios + target.write.ios;
    let busy_ns = target.read.ios * 100_000 + target.write.ios * 300_000;
    assert!((20_000_000_000 - 300_000..=20_000_000_000).contains(&busy_ns), "one at a time: {busy_ns}");
    let share = target.write.ios as f64 / all as f64;
    // Five standard deviations of a share of 100,000 draws.
    assert!((share - 0.5).abs() < 0.008, "{share}");
}

#[test]
fn an_exponential_law_is_found_again() {
    let outcome = Place::new(MIB).sim("latency=100us,jitter=exp,seed=5", "-b4K -o1 -W1 -d20 -L FILE");
    let histogram = latency(&outcome);
    let close = |what: &str, value: f64, law: f64, within: f64| {
        assert!((value / law - 1.0).abs() < within, "{what}: {value} instead of {law}");
    };
    // 200,000 samples: the standard error of the mean is 0.22 %, that of p99 0.5 %, of p99.9 1.0 %.
    close("mean", histogram.mean_ns(), 100_000.0, 0.01);
    close("deviation", histogram.std_dev_ns(), 100_000.0, 0.02);
    for (fraction, within) in [(0.5, 0.015), (0.9, 0.015), (0.99, 0.025), (0.999, 0.05)] {
        let law = -f64::ln(1.0 - fraction) * 100_000.0;
        close("percentile", histogram.percentile_ns(fraction) as f64, law, within);
    }
    // Closed loop: the time is the sum of the latencies.
    let sum_ns = histogram.sum_ns() as f64;
    close("sum", sum_ns, 20e9, 0.0005);
}

#[test]
fn batches_bend_the_latency_by_no_more_than_their_own_submission() {
    // Handing over one I/O takes 1 us; a batch has one stamp, taken before its first.
    for batch in [1, 2, 4, 8] {
        let words = format!("-b4K -o8 -u{batch} -W0 -d1 -L FILE");
        let outcome = Place::new(MIB).sim("latency=100us,cpu=1us", &words);
        let (least_ns, most_ns) = (latency(&outcome).min_ns(), latency(&outcome).max_ns());
        assert!(least_ns >= 101_000 && most_ns <= 100_000 + batch * 1_000, "{words}: {least_ns}..{most_ns}");
    }
}

// ---- pace ---------------------------------------------------------------------------------------

#[test]
fn offered_is_achieved_in_both_units() {
    let place = Place::new(MIB);
    for (switches, threads, per_second) in [
        ("-g10i -o2", 1, 10),
        ("-g7i -o1", 1, 7),
        ("-g1000i -o2", 1, 1000),
        ("-g1000i -o2 -t3", 3, 3000),
        ("-g50000i -o32", 1, 50_000),
        ("-g200000i -o64", 1, 200_000),
        // 4096 bytes per millisecond are 1000 blocks of 4 KiB a second.
        ("-g4096 -o2", 1, 1000),
        ("-g40 -o1", 1, 0),
    ] {
        for latency in ["", "-L "] {
            let words = format!("-b4K -r {switches} -W1 -d10 {latency}FILE");
            let outcome = place.sim("latency=100us", &words);
            assert_eq!(outcome.measured().threads.len(), threads);
            if per_second > 0 {
                assert_eq!(outcome.ios(), per_second * 10, "{words}");
            } else {
                // 9.765625 a second: between 97 and 98 in ten seconds.
                assert!((97..=98).contains(&outcome.ios()), "{words}: {}", outcome.ios());
            }
        }
    }
}

#[test]
fn a_limit_is_kept_by_each_thread_on_each_target() {
    let place = Place::new(MIB);
    let second = place.file("second", MIB);
    let outcome = place.sim("latency=100us", &format!("-b4K -F2 -o2 -g100i -W1 -d2 FILE {second}"));
    let ios: Vec<u64> = outcome.targets().iter().map(|t| t.read.ios).collect();
    assert_eq!(ios, [200; 4]);
}

#[test]
fn a_limit_beyond_the_device_changes_nothing() {
    let outcome = Place::new(MIB).sim("latency=100us", "-b4K -o2 -g90000i -W1 -d1 -L FILE");
    assert_eq!(outcome.target().read.ios, 20_000);
    assert_constant(latency(&outcome), 100_000);
}

#[test]
fn a_stall_is_caught_up_with() {
    // 100 IOPS; the 50th I/O takes two seconds more. Nothing is lost at the end.
    let outcome = Place::new(MIB).sim("latency=100us,stall=2s#50", "-b4K -o1 -g100i -W0 -d10 -L FILE");
    assert_eq!(outcome.target().read.ios, 999, "the thousandth is due at the end");
    assert_eq!(latency(&outcome).max_ns(), 2_000_100_000);
}

#[test]
fn bursts_and_pauses_are_those_asked_for() {
    // Ten I/Os of 0.1 ms each, the last one issued 0.9 ms after the first; then 100 ms.
    let expected = |burst: u64| {
        let period_ns = 100_000_000 + (burst - 1) * 100_000;
        let ends = (0..200u64).flat_map(|b| (1..=burst).map(move |io| b * period_ns + io * 100_000));
        ends.filter(|end| *end < 5_000_000_000).count() as u64
    };
    let place = Place::new(MIB);
    let outcome = place.sim("latency=100us", "-b4K -o1 -i10 -j100 -W0 -d5 FILE");
    assert_eq!(outcome.ios(), expected(10));
    // Shared by the threads of the target.
    let outcome = place.sim("latency=100us", "-b4K -o1 -t2 -i10 -j100 -W0 -d5 FILE");
    assert_eq!(outcome.targets().iter().map(|t| t.read.ios).collect::<Vec<_>>(), [expected(5); 2]);
}

// ---- phases -------------------------------------------------------------------------------------

#[test]
fn warm_up_and_cool_down_are_run_and_not_counted() {
    let outcome = Place::new(MIB).sim("latency=100us", "-b4K -o1 -W2 -d1 -C3 -P1000 -L -D100 FILE");
    let target = outcome.target();
    assert_eq!((target.read.ios, outcome.measured().test_time_s), (10_000, 1.0));
    let series = target.read.intervals.as_ref().expect("gathered");
    let counts: Vec<u64> = series.series().iter().map(|i| i.count).collect();
    assert_eq!((counts, series.iops_std_dev()), (vec![1000; 10], 0.0));
    assert_eq!(outcome.dots, 59, "dots come in all phases; the 60,000th ends with the run");
}

#[test]
fn without_warm_up_counting_begins_with_the_start() {
    let outcome = Place::new(MIB).sim("latency=100us", "-b4K -o1 -W0 -d1 FILE");
    assert_eq!(outcome.target().read.ios, 9_999, "the 10,000th ends at the end, which is over");
}

#[test]
fn a_stall_shows_in_maximum_and_intervals() {
    let outcome = Place::new(MIB).sim("latency=100us,stall=2s#5000", "-b4K -o1 -W0 -d4 -D1000 -L FILE");
    let series = outcome.target().read.intervals.as_ref().expect("gathered");
    let counts: Vec<u64> = series.series().iter().map(|i| i.count).collect();
    assert_eq!(counts, [4999, 0, 5000, 10_000]);
    assert_eq!(latency(&outcome).max_ns(), 2_000_100_000);
    assert_eq!(latency(&outcome).percentile_ns(0.9999), 100_000);
}

#[test]
fn an_io_that_never_ends_does_not_hold_up_the_run() {
    let outcome = Place::new(MIB).sim("latency=100us,stall=forever#100", "-b4K -o1 -W0 -d1 -L FILE");
    assert_eq!(outcome.target().read.ios, 99);
    let outcome = Place::new(MIB).sim("latency=100us,stall=forever#100", "-b4K -o4 -W1 -d1 -L FILE");
    assert_eq!(outcome.target().read.ios, 30_000, "the other three go on");
    let warned = outcome.report.document.warnings.join(" ");
    assert!(warned.contains("1 I/O was still out when the measured time ended, for 2.00 s"), "{warned}");
    assert!(warned.contains("1 did not end within 10 s after that"), "{warned}");
}

// ---- errors -------------------------------------------------------------------------------------

#[test]
fn each_kind_of_error_fails_the_run_with_the_place_and_the_systems_words() {
    let place = Place::new(MIB);
    for (kind, code, says) in [
        ("eio", 5, "Input/output error"),
        ("enospc", 28, "No space left on device"),
        ("enodata", 61, "No data available"),
        ("erofs", 30, "Read-only file system"),
        ("etimedout", 110, "timed out"),
        ("estale", 116, "Stale file handle"),
    ] {
        for (number, since) in [(1, "-1.000 s"), (10_001, "0.000 s"), (15_000, "0.500 s")] {
            let parameters = format!("latency=100us,error={kind}#{number}");
            let outcome = place.sim(&parameters, "-b4K -s -w100 -o1 -W1 -d10 -C10 FILE");
            let [failure] = outcome.failures() else { panic!("one line: {:?}", outcome.failures()) };
            let offset = (number - 1) % 256 * 4096;
            for part in [
                "t[0] error during write".to_string(),
                format!("error code: {code})"),
                place.path(),
                format!("4096 bytes at offset {offset},"),
                format!("{since} after"),
                says.to_string(),
            ] {
                assert!(failure.contains(&part), "{part:?} in {failure}");
            }
            let spans = &outcome.report.document.time_spans;
            assert!(matches!(spans[..], [TimeSpanResult::NotMeasured]), "no numbers of a failed run");
        }
    }
}

#[test]
fn an_error_of_one_thread_stops_all_and_is_told_once() {
    for _ in 0..3 {
        let outcome =
            Place::new(MIB).sim("latency=100us,error=eio@512K+4K", "-b4K -t4 -o2 -T128K -W0 -d10 FILE");
        // The first thread walks to it from 0; the others do not run on.
        let [failure] = outcome.failures() else { panic!("one line: {:?}", outcome.failures()) };
        assert!(failure.contains("t[0]") && failure.contains("offset 524288"), "{failure}");
    }
}

#[test]
fn the_end_of_the_target_is_an_error() {
    // The file becomes shorter than it was when it was opened: the device moves nothing.
    let outcome = Place::new(MIB).sim("latency=100us,short=0#7", "-b4K -o1 -W0 -d1 FILE");
    assert!(outcome.failures()[0].contains("nothing was transferred"), "{:?}", outcome.failures());
}

#[test]
fn short_transfers_are_counted_with_their_bytes_and_told_once() {
    let outcome = Place::new(MIB).sim("latency=100us,short=512%10", "-b4K -o1 -W0 -d1 FILE");
    let target = outcome.target();
    assert_eq!((target.read.ios, target.short_transfers), (9999, 999));
    assert_eq!(target.read.bytes, 9000 * 4096 + 999 * 512);
    let told = outcome.report.document.warnings.iter().filter(|w| w.contains("999 I/Os transferred fewer"));
    assert_eq!(told.count(), 1, "{:?}", outcome.report.document.warnings);
}

// ---- threads and targets ------------------------------------------------------------------------

#[test]
fn sums_of_threads_and_targets_are_those_of_the_table() {
    let place = Place::new(MIB);
    let names: Vec<String> = (0..5).map(|i| place.file(&format!("f{i}"), MIB)).collect();
    let files = names.join(" ");
    // Each outstanding I/O is 10,000 IOPS (`io-semantics.md` §1).
    for (switches, threads, targets_each, outstanding) in
        [("-F2 -o2", 2, 5, 20), ("-t2 -o2", 10, 1, 20), ("-F2 -O4", 2, 5, 8), ("-t1 -o1", 5, 1, 5)]
    {
        let outcome = place.sim("latency=100us", &format!("-b4K -r {switches} -W1 -d1 {files}"));
        let measured = outcome.measured();
        assert_eq!(measured.threads.len(), threads, "{switches}");
        assert!(measured.threads.iter().all(|t| t.targets.len() == targets_each), "{switches}");
        assert_eq!(outcome.ios(), outstanding * 10_000, "{switches}");
        for name in &names {
            let of_path: u64 = outcome.targets().iter().filter(|t| t.path == *name).map(|t| t.read.ios).sum();
            let mean = outstanding * 2000;
            assert!(of_path.abs_diff(mean) < mean / 20, "{switches}: {of_path} on {name}");
        }
    }
}

/// What does not depend on the machine and the moment.
fn stripped(mut document: Document) -> Document {
    document.system.start_unix_s = None;
    for span in &mut document.time_spans {
        if let TimeSpanResult::Measured(measured) = span {
            measured.cpu.iter_mut().for_each(|cpu| *cpu = Default::default());
        }
    }
    document
}

#[test]
fn the_same_seed_gives_the_same_result_byte_for_byte() {
    let place = Place::new(16 * MIB);
    let second = place.file("second", 16 * MIB);
    for words in [
        "-b4K -si -t4 -o3 -w30 -z7 -W1 -d1 -L -D -vs FILE".to_string(),
        format!("-b4K -rs40 -F3 -O5 -w30 -Zr -z7 -W0 -d1 -L -D -vs FILE {second}"),
        format!("-b4K -r -F3 -o5 -w30 -g2000i -z7 -W0 -d1 -L -D -vs FILE {second}"),
    ] {
        let run = |words: &str| {
            let outcome = place.sim("latency=80us,jitter=exp,channels=2,seed=3", words);
            assert!(outcome.report.failures.is_empty());
            let document = stripped(outcome.report.document);
            // How busy other machines on the host were, and who may use the files, are no part of the simulation.
            let mut notes = outcome.report.notes;
            notes.retain(|note| {
                !note.words.contains("(steal)") && !note.words.contains("cannot be seen from here")
            });
            (diskspd::render::text(&document), diskspd::render::xml::results(&document), notes)
        };
        let first = run(&words);
        for _ in 0..2 {
            let again = run(&words);
            assert_eq!(again.2, first.2, "{words}");
            assert!(again.0 == first.0, "{words}:\n{}\n{}", first.0, again.0);
            assert!(again.1 == first.1, "{words}: XML differs");
        }
        assert!(run(&words.replace("-z7", "-z8")) != first, "another seed, another result");
    }
}

/// The device hangs: the end of the measured time finds I/Os out, and the queue was full all the time.
#[test]
fn what_never_comes_is_told() {
    for words in ["-b4K -o1 -W0 -d3 FILE", "-b4K -o1 -W0 -d3 -L FILE", "-b4K -o1 -W1 -d2 -C1 -L FILE"] {
        let outcome = Place::new(MIB).sim("latency=100us,stall=forever#11000", words);
        let evidence = &outcome.measured().evidence;
        let [out] = evidence.outstanding.as_deref().expect("looked") else { panic!("{evidence:#?}") };
        assert_eq!((out.ios, out.never, out.broken_off), (1, 1, 0));
        assert!(out.age_ns_max.abs_diff(1_900_000_000) < 200_000, "{words}: {}", out.age_ns_max);
        let depth = evidence.queue_depth.expect("counted");
        assert!(depth.reached > 0.999, "{words}: {depth:?}");
        let warned = outcome.report.document.warnings.join(" ");
        assert!(warned.contains("1 I/O was still out when the measured time ended, for 1.90 s"), "{warned}");
        let verdict = judge(&outcome.report.document);
        assert!(verdict.findings.iter().any(|f| f.rule == "stalled" && f.grade == FindingGrade::Invalid));
        assert!(!verdict.findings.iter().any(|f| f.rule == "queue-depth"), "{verdict:#?}");
    }
}

#[test]
fn what_comes_late_is_told_and_a_deep_queue_is_not() {
    let outcome = Place::new(MIB).sim("latency=100us,stall=4s#15000", "-b4K -o2 -W0 -d2 -L FILE");
    let out = outcome.measured().evidence.outstanding.as_deref().expect("looked")[0].clone();
    assert_eq!((out.ios, out.never), (1, 0));
    // Issued at 0.75 s.
    assert!(out.age_ns_max.abs_diff(1_250_000_000) < 10_000_000, "{out:?}");
    assert!(out.late_ns_max.abs_diff(2_750_000_000) < 60_000_000, "in steps of 50 ms: {out:?}");
    let deep = Place::new(MIB).sim("latency=100us,iops=100", "-b4K -o300 -W0 -d5 -L FILE");
    let evidence = &deep.measured().evidence;
    assert_eq!(evidence.outstanding.as_deref().expect("looked")[0].ios, 300, "all of the queue");
    assert!(!judge(&deep.report.document).findings.iter().any(|f| f.rule == "stalled"));
    let warned = deep.report.document.warnings.join(" ");
    assert!(!warned.contains("still out"), "{warned}");
}
