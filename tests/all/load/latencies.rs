//! Latencies over time agree with the latencies of the whole run, whatever the engine and the mix.

use std::time::Duration;

use crate::support::runner::{Outcome, Place, has_engine, no_stop, run, run_watched};
use truespd_core::engine;
use truespd_core::load::Event;
use truespd_core::measure::slices::Slice;
use truespd_core::measure::slices::bucket_of;
use truespd_core::measure::{Histogram, LatencySlices};
use truespd_core::result::Direction;

const MIB: u64 = 1 << 20;

/// Coarse counts of histograms.
fn coarse<'a>(histograms: impl Iterator<Item = &'a Direction>) -> Vec<(usize, u64)> {
    let mut sum = Histogram::new();
    histograms.for_each(|direction| sum.merge(direction.latency.as_ref().expect("measured")));
    let mut counts: Vec<(usize, u64)> = Vec::new();
    for bucket in sum.buckets() {
        let place = bucket_of(bucket.low_ns);
        match counts.last_mut() {
            Some((last, count)) if *last == place => *count += bucket.count,
            _ => counts.push((place, bucket.count)),
        }
    }
    counts
}

/// The sum of all slices is the histogram of the run, bucket by bucket, for reads and for writes.
fn assert_whole(outcome: &Outcome, what: &str) -> LatencySlices {
    let slices = outcome.measured().latency_over_time.clone().expect(what);
    let targets = outcome.targets();
    let reads = coarse(targets.iter().map(|target| &target.read));
    let writes = coarse(targets.iter().map(|target| &target.write));
    for (side, whole) in [reads, writes].into_iter().enumerate() {
        let mut sum = Slice::default();
        slices.slices().iter().for_each(|both| sum.add(&both[side]));
        assert_eq!(sum.buckets().collect::<Vec<_>>(), whole, "{what}");
    }
    assert_eq!(slices.count(), outcome.ios(), "{what}");
    slices
}

#[test]
fn slices_hold_every_measured_io_once() {
    let place = Place::new(8 * MIB);
    let second = place.file("second", 8 * MIB);
    for (name, words) in [
        ("null", "-b4K -r -o8 -t3 -w30 -W1 -d1 -L FILE".to_string()),
        ("null", "-b4K -r -o32 -t1 -W0 -d2 -L -D100 -g500 FILE".to_string()),
        ("io_uring", format!("-b4K -r -o4 -t2 -w40 -W0 -C1 -d1 -L FILE {second}")),
        ("psync", format!("-b4K -r -F2 -w50 -W0 -d1 -L FILE {second}")),
        ("threads", "-b4K -r -o4 -w10 -W0 -d1 -L FILE".to_string()),
    ] {
        if !has_engine(name) {
            continue;
        }
        let row = engine::find(name).expect("in the table");
        let outcome = run(&place.profile(&words), row, "", &no_stop());
        let slices = assert_whole(&outcome, &format!("{name}: {words}"));
        assert!(outcome.ios() > 0 && !slices.slices().is_empty(), "{words}");
    }
}

#[test]
fn a_simulated_run_is_the_same_each_time_and_shows_a_stall_when_it_is() {
    let place = Place::new(64 * MIB);
    let words = "-b4K -r -o2 -t2 -w30 -W1 -d60 -L FILE";
    let parameters = "latency=1ms,jitter=exp,stall=200ms~5000,seed=5";
    let outcome = place.sim(parameters, words);
    let slices = assert_whole(&outcome, words);
    assert_eq!((slices.slice_ns(), slices.slices().len()), (500_000_000, 120));
    assert!(
        slices.slices().iter().all(|both| both.iter().all(|slice| slice.count() > 0)),
        "each has its I/Os"
    );
    assert_eq!(place.sim(parameters, words).measured().latency_over_time, Some(slices.clone()));
    let slow = |both: &[Slice; 2]| {
        let all = both.iter().flat_map(Slice::buckets);
        all.filter(|(bucket, _)| *bucket >= bucket_of(190_000_000)).map(|(_, count)| count).sum::<u64>()
    };
    let stalls: u64 = slices.slices().iter().map(slow).sum();
    assert!(stalls > 0 && slices.slices().iter().any(|both| slow(both) == 0), "{stalls} I/Os were stalled");
}

#[test]
fn without_latencies_there_are_none_over_time() {
    let place = Place::new(MIB);
    for words in ["-b4K -r -o2 -W0 -d1 FILE", "-b4K -r -o2 -W0 -d1 -D FILE"] {
        let outcome = run(&place.profile(words), engine::find("null").expect("in the table"), "", &no_stop());
        assert_eq!(outcome.measured().latency_over_time, None, "{words}");
    }
}

#[test]
fn a_run_that_is_stopped_keeps_the_slices_that_it_reached() {
    let place = Place::new(MIB);
    let stop = no_stop();
    let profile = place.profile("-b4K -r -o2 -W0 -d600 -L FILE");
    let (tell, told) = std::sync::mpsc::channel();
    let stopper = std::thread::spawn({
        let stop = stop.clone();
        move || {
            told.recv().expect("it starts");
            std::thread::sleep(Duration::from_millis(700));
            stop.set();
        }
    });
    let row = engine::find("null").expect("in the table");
    let outcome = run_watched(&profile, row, "", &stop, &|event| {
        if matches!(event, Event::Verbose(words) if words.starts_with("starting measurements")) {
            tell.send(()).expect("somebody waits");
        }
    });
    stopper.join().expect("it only sleeps");
    let slices = assert_whole(&outcome, "stopped");
    assert_eq!(slices.slices().len(), (outcome.measured().test_time_s / 5.0).ceil() as usize);
}
