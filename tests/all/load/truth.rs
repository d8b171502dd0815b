//! Latency truth on a simulated device: the reported figures are those of the device's law, whatever the
//! batches, and response times under a rate limit are those of the schedule.

use crate::support::runner::{Outcome, Place};
use diskspd::render;
use truespd_core::measure::Histogram;
use truespd_core::result::merge::Merger;
use truespd_core::result::{Document, Summary, TimeSpanResult};

const MIB: u64 = 1 << 20;
const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;

fn latency(outcome: &Outcome) -> &Histogram {
    outcome.target().read.latency.as_ref().expect("measured")
}

fn response(outcome: &Outcome) -> &Histogram {
    outcome.target().read.response.as_ref().expect("a rate was set")
}

fn assert_close(what: &str, value: f64, law: f64, within: f64) {
    assert!((value / law - 1.0).abs() <= within, "{what}: {value} instead of {law}");
}

// ---- the law is found again ---------------------------------------------------------------------

/// A law of service times with a mean of about 100 us: parameters, I/Os that pin p99.9 down to well below 1 %,
/// mean, and percentiles.
struct Law {
    parameters: &'static str,
    ios: u64,
    mean_ns: f64,
    percentile_ns: fn(f64) -> f64,
}

const FRACTIONS: [f64; 3] = [0.5, 0.99, 0.999];

/// Mean, p50, p99 and p99.9 within 1 % at depths 1 and 32, with every kind of batch; without `-L` what it
/// reports of the law: the rate and the depth.
fn assert_found_again(law: &Law) {
    let place = Place::new(MIB);
    for (depth, batch) in [(1, ""), (1, "-u1 "), (32, ""), (32, "-u1 "), (32, "-u4 "), (32, "-u32 ")] {
        let seconds_of = |ios: u64| (ios as f64 * law.mean_ns / f64::from(depth) / 1e9).ceil();
        let seconds = seconds_of(law.ios);
        let words = format!("-b4K -r -o{depth} {batch}-W1 -d{seconds} -L FILE");
        let what = |figure: &str| format!("{}: {words}: {figure}", law.parameters);
        let outcome = place.sim(law.parameters, &words);
        let histogram = latency(&outcome);
        assert_close(&what("mean"), histogram.mean_ns(), law.mean_ns, 0.01);
        for fraction in FRACTIONS {
            let reported_ns = histogram.percentile_ns(fraction) as f64;
            assert_close(&what(&fraction.to_string()), reported_ns, (law.percentile_ns)(fraction), 0.01);
        }
        // A mean needs fewer I/Os than a high percentile.
        let seconds = seconds_of(law.ios.min(1_000_000));
        let words = format!("-b4K -r -o{depth} {batch}-W1 -d{seconds} FILE");
        let outcome = place.sim(law.parameters, &words);
        let per_second = outcome.ios() as f64 / seconds;
        assert_close(&what("IOPS"), per_second, f64::from(depth) * 1e9 / law.mean_ns, 0.01);
        let reached = outcome.measured().evidence.queue_depth.expect("counted").reached;
        assert_close(&what("depth"), reached, f64::from(depth), 0.001);
    }
}

#[test]
fn a_constant_law_is_found_again() {
    let percentile_ns = |_| 100e3;
    assert_found_again(&Law { parameters: "latency=100us", ios: 50_000, mean_ns: 100e3, percentile_ns });
}

#[test]
fn a_uniform_law_is_found_again() {
    let parameters = "latency=100us,jitter=uniform";
    let percentile_ns = |fraction: f64| 100e3 * (0.5 + fraction);
    assert_found_again(&Law { parameters, ios: 400_000, mean_ns: 100e3, percentile_ns });
}

#[test]
fn an_exponential_law_is_found_again() {
    let parameters = "latency=100us,jitter=exp,seed=1";
    let percentile_ns = |fraction: f64| -100e3 * (1.0 - fraction).ln();
    assert_found_again(&Law { parameters, ios: 2_000_000, mean_ns: 100e3, percentile_ns });
}

#[test]
fn a_long_tail_is_found_again() {
    let parameters = "latency=100us,jitter=pareto,seed=2";
    let percentile_ns = |fraction: f64| 100e3 / 1.5 / (1.0 - fraction).cbrt();
    assert_found_again(&Law { parameters, ios: 4_000_000, mean_ns: 100e3, percentile_ns });
}

#[test]
fn a_law_of_two_humps_is_found_again() {
    // One in 200 takes 5 ms instead of 0.1 ms: between p99 and p99.9.
    let parameters = "latency=100us,stall=4900us~200,seed=3";
    let percentile_ns = |fraction: f64| if fraction > 0.995 { 5e6 } else { 100e3 };
    assert_found_again(&Law { parameters, ios: 1_000_000, mean_ns: 124.5e3, percentile_ns });
}

// ---- batches bend nothing beyond the stated bound -----------------------------------------------

/// What a latency may be too long by (`docs/design/hot-path.md`, "Stamps"): handing over the I/O's own batch, and
/// the batches handed over between its end and the look that finds it.
fn bound_ns(depth: u64, batch: u64, cpu_ns: u64) -> u64 {
    let batch = batch.min(depth);
    batch * cpu_ns + depth.div_ceil(16) * batch * cpu_ns
}

#[test]
fn no_latency_is_too_short_or_too_long_by_more_than_the_bound() {
    let place = Place::new(MIB);
    for (depth, cpu_ns) in [(1, 1000), (8, 1000), (32, 200), (32, 1000), (32, 2500)] {
        for (switch, batch) in [("", 4), ("-u1 ", 1), ("-u4 ", 4), ("-u32 ", 32)] {
            let words = format!("-b4K -r -o{depth} {switch}-W0 -d1 -L FILE");
            let outcome = place.sim(&format!("latency=100us,cpu={cpu_ns}ns"), &words);
            let (least, most) = (latency(&outcome).min_ns(), latency(&outcome).max_ns());
            let bound = bound_ns(depth, batch, cpu_ns);
            assert!(least >= 100 * US, "{words}, {cpu_ns} ns: {least}");
            assert!(most <= 100 * US + bound, "{words}, {cpu_ns} ns: {most} exceeds the bound of {bound}");
        }
    }
}

#[test]
fn percentiles_of_a_law_move_by_no_more_than_the_bound() {
    let place = Place::new(MIB);
    for (switch, batch) in [("", 4), ("-u4 ", 4), ("-u32 ", 32)] {
        let words = format!("-b4K -r -o32 {switch}-W0 -d10 -L FILE");
        let run = |cpu| place.sim(&format!("latency=200us,jitter=exp,seed=4,cpu={cpu}"), &words);
        let (free, costly) = (run("0ns"), run("500ns"));
        for fraction in FRACTIONS {
            let true_ns = latency(&free).percentile_ns(fraction);
            let reported_ns = latency(&costly).percentile_ns(fraction);
            // The two runs see different numbers of I/Os of the same law: 2 %, four standard errors of p99.9.
            let (least, most) = (true_ns * 98 / 100, true_ns * 102 / 100 + bound_ns(32, batch, 500));
            assert!((least..=most).contains(&reported_ns), "{words}: {fraction}: {reported_ns} of {true_ns}");
        }
    }
}

// ---- response time ------------------------------------------------------------------------------

/// One place in the queue, I/Os due every `period_ns`: latencies and response times of those that end before
/// `end_ns`.
fn schedule(period_ns: u64, end_ns: u64, service_ns: impl Fn(u64) -> u64) -> (Histogram, Histogram) {
    let (mut service, mut response, mut free_ns) = (Histogram::new(), Histogram::new(), 0);
    for io in 1.. {
        let due_ns = io * period_ns;
        let issued_ns = due_ns.max(free_ns);
        free_ns = issued_ns + service_ns(io);
        if free_ns >= end_ns {
            break;
        }
        service.record(free_ns - issued_ns);
        response.record(free_ns - due_ns);
    }
    (service, response)
}

#[test]
fn a_stall_shows_in_every_response_that_it_held_up() {
    // 100 IOPS at depth 1, and the 50th I/O takes two seconds more.
    let outcome = Place::new(MIB).sim("latency=100us,stall=2s#50", "-b4K -o1 -g100i -W0 -d10 -L FILE");
    let (service_law, response_law) =
        schedule(10 * MS, 10 * S, |io| 100 * US + if io == 50 { 2 * S } else { 0 });
    assert_eq!((latency(&outcome), response(&outcome)), (&service_law, &response_law));
    // The latency hides it from all percentiles but the last: one I/O in 999.
    assert_eq!(latency(&outcome).percentile_ns(0.99), 100 * US);
    assert!(response(&outcome).percentile_ns(0.9) > S, "two seconds of ten were lost");
    let note = "response time, from the moment for which the rate limit (-g) scheduled each I/O: mean 203.";
    assert!(
        outcome.report.notes.iter().any(|n| n.words.starts_with(note) && !n.is_detail),
        "{:?}",
        outcome.report.notes
    );
    assert!(!render::text(&outcome.report.document).contains("response time"));
}

#[test]
fn a_rate_beyond_the_device_shows_the_growing_backlog() {
    let outcome = Place::new(MIB).sim("latency=100us", "-b4K -o1 -g20000i -W0 -d2 -L FILE");
    let (service_law, response_law) = schedule(50 * US, 2 * S, |_| 100 * US);
    assert_eq!((latency(&outcome), response(&outcome)), (&service_law, &response_law));
}

#[test]
fn what_was_due_in_warm_up_and_ends_in_the_measured_time_counts_from_then() {
    // The stall begins at 0.9 s and ends at 1.9001 s; 100 I/Os more were due by then.
    let outcome = Place::new(MIB).sim("latency=100us,stall=1s#90", "-b4K -o1 -g100i -W1 -d2 -L FILE");
    assert_eq!(
        (response(&outcome).count(), response(&outcome).max_ns()),
        (latency(&outcome).count(), S + 100 * US)
    );
    assert_eq!(response(&outcome).count(), 210, "those due at 0.90 s to 2.99 s");
}

#[test]
fn in_time_is_in_time_in_both_units_for_reads_and_writes() {
    let place = Place::new(MIB);
    for words in [
        "-b4K -o2 -g1000i -W0 -d5 -L FILE",
        "-b4K -o2 -g4096 -W0 -d5 -L FILE",
        "-b4K -r -o32 -w40 -g50000i -W1 -d2 -L FILE",
        "-b4K -r -o32 -u32 -w40 -g200000i -W1 -d1 -L -D FILE",
        "-b4K -r -t3 -o8 -w100 -g7i -W0 -d5 -L FILE",
        "-b4K -r -F2 -o8 -g300i -W0 -d5 -L FILE",
    ] {
        let outcome = place.sim("latency=100us", words);
        for target in outcome.targets() {
            for direction in [&target.read, &target.write] {
                let latencies = direction.latency.as_ref().expect("measured");
                match &direction.response {
                    Some(response) => assert_eq!(response, latencies, "{words}"),
                    None => assert_eq!(latencies.count(), 0, "{words}: a direction that is not used"),
                }
            }
        }
    }
}

#[test]
fn without_an_intended_start_there_is_no_response_time() {
    let place = Place::new(MIB);
    for words in [
        "-b4K -o2 -W0 -d1 -L FILE",
        "-b4K -o2 -g1000i -W0 -d1 FILE",
        "-b4K -o2 -g1000i -W0 -d1 -D FILE",
        "-b4K -o2 -i4 -j10 -W0 -d1 -L FILE",
    ] {
        let outcome = place.sim("latency=100us", words);
        assert!(outcome.target().read.response.is_none(), "{words}");
        assert!(!outcome.report.notes.iter().any(|n| n.words.contains("response time")), "{words}");
    }
}

fn reads(document: &mut Document) -> &mut truespd_core::result::Direction {
    match &mut document.time_spans[..] {
        [TimeSpanResult::Measured(measured)] => &mut measured.threads[0].targets[0].read,
        other => panic!("one measured time span: {other:?}"),
    }
}

#[test]
fn response_times_are_stored_and_summed_and_change_no_result() {
    let outcome = Place::new(MIB).sim("latency=100us,stall=2s#50", "-b4K -o1 -g100i -W0 -d10 -L FILE");
    let mut document = outcome.report.document;
    let stored = truespd_core::result::json::write(&document);
    let mut read_again = truespd_core::result::json::read(stored.as_bytes()).expect("a document");
    assert_eq!(reads(&mut read_again).response, reads(&mut document).response);
    assert!(stored.contains("\"response\""));

    let mut merger = Merger::new(true);
    (0..2).for_each(|_| merger.add("it", document.clone()).expect("the same test"));
    let sum = merger.finish().expect("a sum").document;
    let mut twice = reads(&mut document).response.clone().expect("a rate was set");
    twice.merge(&twice.clone());
    let mut responses = Histogram::new();
    for target in sum.measured().flat_map(|measured| &measured.threads).flat_map(|thread| &thread.targets) {
        responses.merge(target.read.response.as_ref().expect("of each"));
    }
    assert_eq!(responses, *twice);
    let row = sum.sources[0].time_spans[0].as_ref().expect("measured");
    assert_eq!(row.read.response.as_ref().expect("summed").max_ns, 2_000_100_000);

    let mut without = document.clone();
    reads(&mut without).response = None;
    for format in render::FORMATS.iter().filter(|format| format.name != "json") {
        assert_eq!((format.render)(&document), (format.render)(&without), "{}", format.name);
    }
}

#[test]
fn the_verdict_tells_of_a_stall_that_latencies_hide() {
    let judged = |parameters: &str, words: &str| {
        let outcome = Place::new(MIB).sim(parameters, words);
        let verdict = truespd_verdict::judge(&outcome.report.document);
        verdict.findings.into_iter().find(|finding| finding.rule == "coordinated-omission")
    };
    let words = "-b4K -o1 -g100i -W0 -d30 -L FILE";
    let finding = judged("latency=100us,stall=2s#50", words).expect("200 of 3000 were late");
    assert!(finding.says.contains("The p99 latency of reads is 100 us, but 1.7"), "{}", finding.says);
    assert_eq!(judged("latency=100us", words), None);
    // Slow is not late.
    assert_eq!(judged("latency=9ms,jitter=uniform", &words.replace("-o1", "-o8")), None);
    // A rate that was not reached is another finding.
    assert_eq!(judged("latency=20ms", words), None);
}

/// What was drawn for a Poisson process of `mean` I/Os.
fn offered(document: &Document) -> f64 {
    let threads = document.measured().flat_map(|measured| &measured.threads);
    threads.flat_map(|thread| &thread.targets).map(|target| target.offered_ios.expect("a rate")).sum::<u64>()
        as f64
}

#[test]
fn poisson_arrivals_are_offered_and_reached() {
    let place = Place::new(MIB);
    let outcome = place.sim("latency=100us", "-b4K -o64 -t2 -g1000i --arrivals poisson -W1 -d10 -L FILE");
    let document = &outcome.report.document;
    let drawn = offered(document);
    assert!((drawn - 20_000.0).abs() < 5.0 * 20_000f64.sqrt(), "{drawn} of 20,000");
    assert_ne!(drawn, 20_000.0);
    let own =
        document.measured().next().expect("one").threads.iter().map(|thread| thread.targets[0].offered_ios);
    assert_eq!(own.collect::<std::collections::BTreeSet<_>>().len(), 2, "each thread has its own");
    let done = document.measured().map(|measured| Summary::of(measured).total.ios).sum::<u64>();
    assert!((done as f64 - drawn).abs() < 5.0, "{done} of {drawn}");
    let note =
        outcome.report.notes.iter().find(|note| note.words.contains("Poisson arrivals")).expect("a note");
    let words = format!("2000.0 I/Os per second asked for, {:.1} offered", drawn / 10.0);
    assert!(note.words.contains(&words), "{} lacks {words}", note.words);
    let even = place.sim("latency=100us", "-b4K -o4 -g1000i -W1 -d10 -L FILE");
    assert_eq!(offered(&even.report.document), 10_000.0);
    assert!(!even.report.notes.iter().any(|note| note.words.contains("offered")));
}
