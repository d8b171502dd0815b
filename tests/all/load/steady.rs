//! Runs that measure in rounds until they are steady (`--until-steady`).

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::support::runner::{Outcome, Place, no_stop, run, run_watched};
use diskspd::render;
use truespd_core::engine;
use truespd_core::load::Event;
use truespd_core::result::{Measured, Operations, Rounds};
use truespd_verdict::judge;

const MIB: u64 = 1 << 20;

fn seen(outcome: &Outcome) -> (&Measured, &Rounds) {
    let measured = outcome.measured();
    (measured, measured.rounds.as_ref().expect("rounds"))
}

/// I/Os of the rounds of the result, as they were counted one by one.
fn ios_of_window(rounds: &Rounds) -> u64 {
    let each = rounds.window().iter().map(|round| (round.read_iops + round.write_iops) * rounds.round_s);
    each.sum::<f64>().round() as u64
}

/// All that has a time is of the rounds of the result, and nothing else is.
fn is_of_the_window(outcome: &Outcome) {
    let (measured, rounds) = seen(outcome);
    let total = measured.sum(Operations::All, |_| true);
    assert_eq!(total.ios, ios_of_window(rounds), "{rounds:?}");
    assert_eq!(total.bytes, total.ios * 4096);
    assert_eq!(total.latency.as_ref().expect("-L").count(), total.ios);
    let intervals = total.intervals.as_ref().expect("-D");
    assert_eq!(intervals.series().iter().map(|interval| interval.count).sum::<u64>(), total.ios);
    let slices = measured.latency_over_time.as_ref().expect("-L");
    assert_eq!(slices.count(), total.ios);
    let series = measured.evidence.series.as_ref().expect("a series");
    let of_series = series.reads.iter().chain(&series.writes).sum::<u64>();
    assert_eq!(of_series, total.ios);
    let series_s = series.reads.len() as f64 * series.interval_ns as f64 / 1e9;
    assert!((series_s - measured.test_time_s).abs() < 1e-9, "{series_s} s");
    assert!((measured.test_time_s - rounds.window().len() as f64 * rounds.round_s).abs() < 1e-9);
}

#[test]
fn the_steady_rounds_are_the_result() {
    let place = Place::new(64 * MIB);
    let words = "-b4K -r -w30 -t2 -o4 -W1 -d2 -L -D500 --until-steady FILE";
    let outcome = place.sim("latency=100us,jitter=exp,seed=7", words);
    let (measured, rounds) = seen(&outcome);
    assert!(rounds.is_steady);
    assert_eq!((rounds.rounds.len(), rounds.window_first), (5, 0), "the first five are steady");
    assert!((measured.test_time_s - 10.0).abs() < 1e-9);
    is_of_the_window(&outcome);
    let mean_ns = measured.sum(Operations::All, |_| true).latency.expect("-L").mean_ns();
    for round in &rounds.rounds {
        assert!((round.latency_mean_ns / mean_ns - 1.0).abs() < 0.05, "{round:?}, {mean_ns}");
    }
    let text = render::text(&outcome.report.document);
    assert!(
        text.contains("measuring until 5 of these are steady (TrueSpd): range 20%, slope 10%, at most 25")
    );
    assert!(text.contains("Rounds of 2 s (TrueSpd), those of the result marked *"), "{text}");
    assert!(text.contains("\nsteady: largest range "), "{text}");
    let note =
        outcome.report.notes.iter().find(|note| note.words.starts_with("steady after 5 rounds of 2 s"));
    assert!(note.is_some(), "{:?}", outcome.report.notes);
    assert!(judge(&outcome.report.document).findings.iter().all(|finding| finding.rule != "never-steady"));
}

/// A scatter of a few percent does not keep a range of 1 %.
#[test]
fn what_never_becomes_steady_says_so_and_shows_its_last_rounds() {
    let place = Place::new(64 * MIB);
    let words = "-b4K -r -o1 -W0 -d1 -L -D --steady-rule rounds=8,range=1,slope=1 FILE";
    let outcome = place.sim("latency=2ms,jitter=exp,seed=7", words);
    let (measured, rounds) = seen(&outcome);
    assert!(!rounds.is_steady);
    assert_eq!((rounds.rounds.len(), rounds.window_first), (8, 3));
    assert!((measured.test_time_s - 5.0).abs() < 1e-9);
    is_of_the_window(&outcome);
    let verdict = judge(&outcome.report.document);
    let finding = verdict.findings.iter().find(|finding| finding.rule == "never-steady").expect("a finding");
    assert!(finding.says.starts_with("The run never became steady: 8 rounds of 1 s"), "{}", finding.says);
    let text = render::text(&outcome.report.document);
    assert!(text.contains("\n      3 |") && text.contains("\n*     4 |"), "{text}");
}

/// In real time, on all threads: whichever rounds are steady on a busy machine.
#[test]
fn real_rounds_hold_what_was_counted_in_them() {
    let place = Place::new(16 * MIB);
    let words =
        "-b4K -r -w30 -t2 -o4 -W0 -d1 -L -D250 --steady-rule window=3,rounds=6,range=100,slope=100 FILE";
    let null = engine::find("null").expect("in the table");
    let told = std::sync::Mutex::new(Vec::new());
    let outcome = run_watched(&place.profile(words), null, "", &no_stop(), &|event| {
        if let Event::Note(words) = event {
            told.lock().unwrap().push(words.clone());
        }
    });
    let (measured, rounds) = seen(&outcome);
    is_of_the_window(&outcome);
    let mut told = told.into_inner().unwrap();
    told.retain(|words| words.starts_with("round "));
    assert_eq!(told.len(), rounds.rounds.len(), "a sentence for each: {told:?}");
    assert!(told[0].starts_with("round 1 of 6 at most: "), "{told:?}");
    let waits = measured.evidence.processor_waits.as_ref().map(|waits| waits.waiting_ns.len());
    assert_eq!(waits, Some(3), "an interval of a second for each round");
    let window = measured.evidence.window.as_ref().expect("its time");
    assert_eq!(window.end_unix_ns - window.start_unix_ns, 3_000_000_000);
}

/// A rate: what was due in the rounds of the result.
#[test]
fn arrivals_are_those_of_the_rounds_of_the_result() {
    let place = Place::new(16 * MIB);
    let words = "-b4K -r -g1000i -o8 -W0 -d1 -L -D --steady-rule rounds=7,range=1,slope=1 FILE";
    let outcome = place.sim("latency=2ms,jitter=exp,seed=3", words);
    let (measured, rounds) = seen(&outcome);
    assert_eq!(rounds.rounds.len(), 7, "the latency scatters by more than 1 %");
    let offered: u64 = measured.targets().map(|target| target.offered_ios.expect("a rate")).sum();
    assert!(offered.abs_diff(5000) <= 5, "{offered}");
    is_of_the_window(&outcome);
}

#[test]
fn a_stop_leaves_what_was_measured_of_the_last_rounds() {
    let place = Place::new(16 * MIB);
    let words = "-b4K -r -o4 -W0 -d1 -L -D -P1000 --steady-rule window=3,rounds=500,range=1,slope=1 FILE";
    let null = engine::find("null").expect("in the table");
    let (stop, is_told, dots) = (no_stop(), AtomicBool::new(false), AtomicU32::new(0));
    let outcome = run_watched(&place.profile(words), null, "", &stop, &|event| match event {
        Event::Note(words) if words.starts_with("round 4 ") => is_told.store(true, Ordering::SeqCst),
        // Some I/Os of the fifth round have ended.
        Event::Dot if is_told.load(Ordering::SeqCst) && dots.fetch_add(1, Ordering::Relaxed) == 9 => {
            stop.set()
        }
        _ => {}
    });
    let (measured, rounds) = seen(&outcome);
    if rounds.is_steady {
        return;
    }
    assert!(measured.test_time_s > 2.0 && measured.test_time_s < 3.1, "{} s", measured.test_time_s);
    let total = measured.sum(Operations::All, |_| true);
    assert!(total.ios > ios_of_window(rounds), "the round that was not whole counts, too");
    assert!(outcome.report.notes.iter().any(|note| note.words.starts_with("stopped in round ")));
}

/// What is no data counts as well: a test of trims alone can become steady.
#[test]
fn trims_are_followed_too() {
    let place = Place::new(64 * MIB);
    let words = "-b4K -r -w0 --trim 100 -o4 -W0 -d2 -L --until-steady FILE";
    let outcome = place.sim("latency=100us,trim_latency=500us", words);
    let (measured, rounds) = seen(&outcome);
    assert!(rounds.is_steady && rounds.rounds.len() == 5, "{rounds:?}");
    let trims = measured.targets().map(|target| target.trim.as_ref().expect("trims").ios).sum::<u64>();
    let told: f64 = rounds.window().iter().map(|round| round.trim_iops * rounds.round_s).sum();
    assert_eq!(trims, told.round() as u64);
    for round in &rounds.rounds {
        assert_eq!((round.read_iops, round.write_iops), (0.0, 0.0));
        assert!((round.latency_mean_ns / 500e3 - 1.0).abs() < 0.01, "{round:?}");
    }
}

/// Without the option nothing is told of rounds.
#[test]
fn a_usual_run_has_no_rounds() {
    let place = Place::new(16 * MIB);
    let null = engine::find("null").expect("in the table");
    let outcome = run(&place.profile("-b4K -W0 -d1 FILE"), null, "", &no_stop());
    assert!(outcome.measured().rounds.is_none());
    assert!(!render::text(&outcome.report.document).contains("Rounds"));
}
