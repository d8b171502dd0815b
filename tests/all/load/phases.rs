//! Runs in real time: phases, time spans, stops in each of them, and threads that break down or hang.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use crate::support::HANG;
use crate::support::needs::{Need, has};
use crate::support::runner::{Outcome, Place, no_stop, run, run_watched};
use truespd_core::engine::{
    self, AnyEngine, Completion, Engine, EngineError, EngineRow, Io, IoError, Opened, Setup,
};
use truespd_core::load::live::Phase;
use truespd_core::load::{self, Event, Options};
use truespd_core::profile::{Profile, TimeSpan};
use truespd_core::result::{Measured, TimeSpanResult};
use truespd_platform::sys::events::Latch;

const MIB: u64 = 1 << 20;
/// A stop takes effect within a few milliseconds on a quiet machine; what would go on here goes on for ten minutes.
const SOON: Duration = HANG;

fn null() -> &'static EngineRow {
    engine::find("null").expect("in the table")
}

/// The profile with that many copies of its time span, each edited.
fn spans(profile: &Profile, count: usize, edit: impl Fn(usize, &mut TimeSpan)) -> Profile {
    let mut profile = profile.clone();
    profile.time_spans = vec![profile.time_spans[0].clone(); count];
    profile.time_spans.iter_mut().enumerate().for_each(|(i, span)| edit(i, span));
    profile
}

/// Runs, with a stop some time after it says `state` (`starting measurements (600 s)`), but not before an I/O has ended
/// where dots tell it (`-P1`); the outcome and how long the run went on after the stop.
fn run_and_stop(
    profile: &Profile,
    row: &'static EngineRow,
    state: &str,
    after: Duration,
) -> (Outcome, Duration) {
    let stop = no_stop();
    let (tell, told) = mpsc::channel();
    let dots = Arc::new(AtomicU32::new(0));
    let stopper = std::thread::spawn({
        let (stop, dots): (Latch, _) = (stop.clone(), Arc::clone(&dots));
        let least = u32::from(profile.progress_ios > 0);
        move || {
            told.recv().expect("the state is reached");
            std::thread::sleep(after);
            let since = Instant::now();
            while dots.load(Ordering::Relaxed) < least {
                assert!(since.elapsed() < HANG, "no I/O ended");
                std::thread::sleep(Duration::from_millis(1));
            }
            stop.set();
            Instant::now()
        }
    });
    let outcome = run_watched(profile, row, "", &stop, &|event| match event {
        Event::Verbose(words) if words == state => tell.send(()).expect("somebody waits"),
        Event::Dot => drop(dots.fetch_add(1, Ordering::Relaxed)),
        _ => {}
    });
    let end = Instant::now();
    let stopped = stopper.join().expect("it only sleeps");
    assert!(outcome.report.failures.is_empty(), "{:?}", outcome.report.failures);
    (outcome, end.saturating_duration_since(stopped))
}

/// What was measured of each time span.
fn shape(outcome: &Outcome) -> Vec<Option<&Measured>> {
    fn measured(span: &TimeSpanResult) -> Option<&Measured> {
        match span {
            TimeSpanResult::Measured(measured) => Some(measured),
            TimeSpanResult::NotMeasured => None,
        }
    }
    outcome.report.document.time_spans.iter().map(measured).collect()
}

#[test]
fn the_measured_time_is_the_one_asked_for() {
    let place = Place::new(MIB);
    let start = Instant::now();
    let outcome = run(&place.profile("-b4K -r -o8 -t2 -W0 -d1 -L FILE"), null(), "", &no_stop());
    assert_eq!(outcome.measured().test_time_s, 1.0);
    assert!(outcome.ios() > 0);
    let took = start.elapsed();
    assert!(took >= Duration::from_secs(1) && took < Duration::from_secs(1) + SOON, "{took:?}");
}

#[test]
fn a_stop_counts_what_its_phase_demands_and_acts_at_once() {
    let place = Place::new(MIB);
    let stopped = |words: &str, state: &str, after_ms: u64| {
        let after = Duration::from_millis(after_ms);
        let (outcome, late) = run_and_stop(&place.profile(words), null(), state, after);
        assert!(late < SOON, "{words}: the run went on for {late:?}");
        outcome
    };
    let warm_up = stopped("-b4K -r -g1000i -t2 -W600 -d600 FILE", "starting warm up (600 s)", 100);
    assert!(matches!(shape(&warm_up)[..], [None]), "nothing is measured in warm-up");
    let measuring =
        stopped("-b4K -r -g1000i -t2 -P1 -W0 -d600 -L FILE", "starting measurements (600 s)", 700);
    let measured = measuring.measured();
    assert!(measured.test_time_s > 0.1 && measured.test_time_s < 600.0, "{}", measured.test_time_s);
    assert!(measuring.ios() > 0);
    let cool_down = stopped("-b4K -r -g1000i -t2 -W0 -d1 -C600 FILE", "starting cool down (600 s)", 300);
    assert_eq!(cool_down.measured().test_time_s, 1.0);
}

/// A terminal that is stopped (Ctrl+S) holds whoever writes to it.
#[test]
fn whoever_watches_and_hangs_keeps_nobody_waiting() {
    let place = Place::new(MIB);
    let profile = place.profile("-b4K -r -g1000i -W0 -d2 -C1 FILE");
    let (tell, told) = mpsc::channel();
    let (tell, told) = (Mutex::new(tell), Mutex::new(told));
    let seen = Mutex::new(Vec::new());
    let on_event = |event: Event| match event {
        Event::Progress(progress) => {
            // Until the controller has ended the measured time.
            let mut seen = seen.lock().expect("not poisoned");
            if seen.is_empty() {
                let came = told.lock().expect("not poisoned").recv_timeout(SOON);
                assert_eq!(came, Ok(()), "the controller waits for whoever watches");
            }
            seen.push(progress.phase);
        }
        Event::Verbose(words) if words.starts_with("starting cool down") => {
            tell.lock().expect("not poisoned").send(()).expect("somebody waits");
        }
        _ => {}
    };
    let every = Some(Duration::from_millis(100));
    let options =
        Options { engine: Some((null(), String::new())), progress_every: every, ..Options::default() };
    let report = load::run(&profile, &options, &on_event, &no_stop()).expect("not refused");
    assert!(report.failures.is_empty(), "{:?}", report.failures);
    assert!(!seen.into_inner().expect("not poisoned").is_empty());
}

/// The counts that are told while a run goes on grow to those of its result.
#[test]
fn what_is_told_while_it_runs_is_what_it_does() {
    let place = Place::new(MIB);
    let profile = place.profile("-b4K -r -g1000i -t2 -W2 -d2 -C2 FILE");
    let (seen, whole) = (Mutex::new(Vec::new()), AtomicU64::new(0));
    let on_event = |event: Event| match event {
        Event::Progress(progress) => seen.lock().expect("not poisoned").push(progress),
        Event::Counted(counted) => whole.store(counted.ios, Ordering::Relaxed),
        _ => {}
    };
    let every = Some(Duration::from_millis(250));
    let options =
        Options { engine: Some((null(), String::new())), progress_every: every, ..Options::default() };
    let report = load::run(&profile, &options, &on_event, &no_stop()).expect("not refused");
    assert!(report.failures.is_empty(), "{:?}", report.failures);
    let seen = seen.into_inner().expect("not poisoned");
    // Until the threads are ready, nothing is known of the time that is left.
    let begun = seen.iter().filter(|progress| progress.phase != Phase::Start);
    let left: Vec<u64> = begun.map(|progress| progress.left_ns).collect();
    assert!(left.is_sorted_by(|a, b| a >= b) && left[0] <= 6_000_000_000, "{left:?}");
    for phase in [Phase::WarmUp, Phase::Measurement, Phase::CoolDown] {
        let rates =
            seen.iter().filter(|progress| progress.phase == phase).filter_map(|progress| progress.rates);
        let iops: Vec<f64> = rates.map(|rates| rates.iops).collect();
        assert!(iops.iter().any(|iops| *iops > 0.0), "{phase:?}: {iops:?}");
    }
    let counted: Vec<u64> = seen.iter().map(|progress| progress.counted.ios).collect();
    let whole = whole.into_inner();
    assert!(counted.is_sorted() && counted.last() <= Some(&whole), "{counted:?} of {whole}");
    // Two threads of 1000 for six seconds, and the first I/O of each. What a busy machine owes is caught up with.
    assert!((6_000..=12_002).contains(&whole), "{whole}");
}

#[test]
fn a_stop_wakes_throttled_and_thinking_threads() {
    let place = Place::new(MIB);
    for words in ["-b4K -g1i -o4 -t4 -W0 -d600 FILE", "-b4K -i4 -j60000 -t4 -o4 -W0 -d600 FILE"] {
        let (profile, after) = (place.profile(words), Duration::from_millis(500));
        let (outcome, late) = run_and_stop(&profile, null(), "starting measurements (600 s)", after);
        assert!(late < SOON, "{words}: the run went on for {late:?}");
        assert!(outcome.measured().test_time_s > 0.1);
    }
}

#[test]
fn a_run_that_is_stopped_before_it_starts_does_nothing() {
    let place = Place::new(MIB);
    let stop = no_stop();
    stop.set();
    let outcome = run(&spans(&place.profile("-W0 -d600 FILE"), 2, |_, _| {}), null(), "", &stop);
    assert!(outcome.report.failures.is_empty());
    assert!(matches!(shape(&outcome)[..], [None, None]));
}

#[test]
fn time_spans_follow_each_other_with_their_own_threads_and_statistics() {
    let place = Place::new(MIB);
    let profile = spans(&place.profile("-b4K -r -W0 -d1 FILE"), 3, |i, span| {
        span.measure_latency = i == 1;
        span.targets[0].threads_per_file = i as u32 + 1;
        span.targets[0].write_percent = [0, 100, 50][i];
    });
    let outcome = run(&profile, null(), "", &no_stop());
    assert!(outcome.report.failures.is_empty(), "{:?}", outcome.report.failures);
    let measured: Vec<&Measured> = shape(&outcome).into_iter().map(|m| m.expect("measured")).collect();
    for (i, m) in measured.iter().enumerate() {
        assert_eq!((m.threads.len(), m.test_time_s), (i + 1, 1.0));
        for target in m.threads.iter().flat_map(|t| &t.targets) {
            assert_eq!(target.read.latency.is_some(), i == 1);
            assert_eq!((target.read.ios > 0, target.write.ios > 0), ([true, false, true][i], i > 0));
        }
    }
}

#[test]
fn a_stop_ends_its_time_span_and_skips_the_rest() {
    let place = Place::new(MIB);
    let profile = spans(&place.profile("-b4K -r -g1000i -W0 -d1 FILE"), 3, |i, span| {
        span.duration_s = if i == 0 { 1 } else { 600 };
    });
    let after = Duration::from_millis(500);
    let (outcome, late) = run_and_stop(&profile, null(), "starting measurements (600 s)", after);
    assert!(late < SOON, "the run went on for {late:?}");
    let [Some(first), Some(second), None] = shape(&outcome)[..] else { panic!("{:?}", shape(&outcome)) };
    assert_eq!(first.test_time_s, 1.0);
    assert!(second.test_time_s > 0.1 && second.test_time_s < 600.0, "{}", second.test_time_s);
}

#[test]
fn a_failure_keeps_the_time_spans_before_it_and_ends_the_others() {
    let place = Place::new(MIB);
    let missing = place.path() + ".missing";
    // It is there when everything is checked, and gone when its time span begins.
    std::fs::copy(place.path(), &missing).expect("a second file");
    let profile = spans(&place.profile("-b4K -r -W0 -d1 FILE"), 3, |i, span| {
        if i == 1 {
            span.targets[0].path.clone_from(&missing);
            span.duration_s = 600;
        }
    });
    let start = Instant::now();
    let outcome = run_watched(&profile, null(), "", &no_stop(), &|event| {
        if matches!(event, Event::Verbose(words) if words == "starting measurements (1 s)") {
            std::fs::remove_file(&missing).expect("it is there");
        }
    });
    assert!(start.elapsed() < Duration::from_secs(1) + SOON, "no phase is waited for");
    assert!(outcome.failures()[0].contains(&missing), "{:?}", outcome.failures());
    assert!(matches!(shape(&outcome)[..], [Some(_), None, None]));
}

// ---- engines that misbehave ---------------------------------------------------------------------

const fn row(name: &'static str, open: fn(Setup) -> Result<Opened, EngineError>) -> EngineRow {
    EngineRow {
        name,
        summary: "for a test",
        needs: "nothing",
        asynchronous: true,
        needs_direct: false,
        moves_data: false,
        sends_commands: false,
        simulates_time: false,
        polls: false,
        trims: true,
        depth_max: u32::MAX,
        probe: || Ok(()),
        open,
    }
}

/// Fails, panics or hangs at its `after`-th submission, in the threads whose names end so.
#[derive(Debug)]
struct Bad {
    how: How,
    after: u32,
    inner: AnyEngine,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum How {
    Panic,
    Break,
    Errno(i32),
    /// Waits for ever, until a signal.
    Hang,
}

fn bad(setup: Setup, how: How, threads: &[&str]) -> Result<Opened, EngineError> {
    let inner = (null().open)(setup)?.engine;
    let name = std::thread::current().name().unwrap_or_default().to_string();
    let after = if threads.iter().any(|t| name == format!("diskspd-{t}")) { 1000 } else { u32::MAX };
    Ok(Opened { engine: AnyEngine::new(Bad { how, after, inner }), notes: Vec::new() })
}

impl Engine for Bad {
    fn submit(&mut self, ios: &[Io]) -> Result<(), EngineError> {
        self.after -= 1;
        match self.how {
            How::Panic if self.after == 0 => panic!("out of luck"),
            How::Break if self.after == 0 => {
                Err(EngineError::Broken { engine: "bad", action: "breaking", error: "as told".into() })
            }
            _ => self.inner.submit(ios),
        }
    }

    fn reap(
        &mut self,
        min: u32,
        max: u32,
        timeout: Option<Duration>,
        done: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        if self.how == How::Hang && min > 0 {
            // As a kernel call that waits for completions which do not come: only a signal ends it.
            let (mut reader, _writer) = std::io::pipe().expect("a pipe");
            let ended = std::io::Read::read(&mut reader, &mut [0]).expect_err("nothing is ever written");
            assert_eq!(ended.kind(), std::io::ErrorKind::Interrupted);
            return Ok(());
        }
        self.inner.reap(min, max, timeout, done)?;
        if let (How::Errno(errno), 0) = (self.how, self.after) {
            done.iter_mut().for_each(|c| c.result = Err(IoError::from_number(errno)));
        }
        Ok(())
    }

    fn in_flight(&self) -> u32 {
        self.inner.in_flight()
    }

    fn drain(&mut self, limit: Duration, done: &mut Vec<Completion>) -> u32 {
        self.inner.drain(limit, done)
    }
}

static PANICS: EngineRow = row("panics", |setup| bad(setup, How::Panic, &["1"]));
static PANICS_AT_OPEN: EngineRow = row("panics-at-open", |setup| {
    if std::thread::current().name() == Some("diskspd-2") {
        panic!("no luck at all");
    }
    bad(setup, How::Panic, &[])
});
static BREAKS: EngineRow = row("breaks", |setup| bad(setup, How::Break, &["0", "2"]));
static FAILS: EngineRow = row("fails", |setup| bad(setup, How::Errno(28), &["2"]));
static HANGS: EngineRow = row("hangs", |setup| bad(setup, How::Hang, &[]));

/// Runs three threads for ten minutes that something ends at once.
fn ended_early(row: &'static EngineRow, words: &str) -> Vec<String> {
    let place = Place::new(MIB);
    let start = Instant::now();
    let outcome = run(&place.profile(&format!("-b4K -r -t3 {words} FILE")), row, "", &no_stop());
    assert!(start.elapsed() < SOON, "it went on for {:?}", start.elapsed());
    assert!(matches!(shape(&outcome)[..], [None]));
    outcome.failures().to_vec()
}

#[test]
fn a_thread_that_breaks_down_ends_the_run_instead_of_hanging_it() {
    for words in ["-W600 -d600", "-W0 -d600"] {
        let failures = ended_early(&PANICS, words);
        assert_eq!(failures.len(), 1, "{failures:?}");
        assert!(failures[0].contains("thread 1: a bug in TrueSpd ended it: out of luck"), "{failures:?}");
    }
    let failures = ended_early(&PANICS_AT_OPEN, "-W0 -d600");
    assert!(
        failures.len() == 1 && failures[0].contains("thread 2: a bug in TrueSpd ended it: no luck at all"),
        "{failures:?}"
    );
}

#[test]
fn a_caller_that_breaks_down_is_not_waited_for_either() {
    let place = Place::new(MIB);
    let profile = place.profile("-b4K -r -t3 -W0 -d600 FILE");
    for line in ["starting warm up", "starting measurements"] {
        let start = Instant::now();
        let on_event = |event: Event| {
            if matches!(&event, Event::Verbose(words) if words.starts_with(line)) {
                panic!("nobody listens");
            }
        };
        let options = Options { engine: Some((&HANGS, String::new())), ..Options::default() };
        let body = || load::run(&profile, &options, &on_event, &no_stop());
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).expect_err(line);
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"nobody listens"));
        assert!(start.elapsed() < SOON, "it went on for {:?}", start.elapsed());
    }
}

#[test]
fn an_engine_or_io_that_fails_ends_the_run_at_once_in_every_phase() {
    for words in ["-W600 -d600", "-W0 -d600 -L", "-W0 -d600 -o8"] {
        let failures = ended_early(&BREAKS, words);
        assert!(failures.iter().all(|f| f.contains("bad: breaking: as told")), "{failures:?}");
        let failures = ended_early(&FAILS, words);
        let is_full = |f: &String| {
            f.starts_with("t[2] error during read error code: 28)") && f.contains("No space left")
        };
        assert!(!failures.is_empty() && failures.iter().all(is_full), "{failures:?}");
    }
}

#[test]
fn waits_without_limit_end_with_the_run() {
    let place = Place::new(MIB);
    let start = Instant::now();
    let outcome = run(&place.profile("-b4K -r -t5 -o2 -W0 -d1 FILE"), &HANGS, "", &no_stop());
    assert_eq!((outcome.measured().test_time_s, outcome.ios()), (1.0, 0));
    assert!(start.elapsed() < Duration::from_secs(1) + SOON, "{:?}", start.elapsed());
    let (profile, after) = (place.profile("-b4K -t5 -W0 -d600 FILE"), Duration::from_millis(300));
    let (_, late) = run_and_stop(&profile, &HANGS, "starting measurements (600 s)", after);
    assert!(late < SOON, "the run went on for {late:?}");
}

// ---- threads ------------------------------------------------------------------------------------

/// Nice values of the workers, in the order they started.
static NICE: Mutex<Vec<String>> = Mutex::new(Vec::new());
static WATCHES: EngineRow = row("watches", |setup| {
    NICE.lock().expect("not poisoned").push(nice());
    (null().open)(setup)
});

/// Nice value of the calling thread (`proc_pid_stat(5)`, field 19).
fn nice() -> String {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").expect("readable");
    let after_name = stat.rsplit(") ").next().expect("has a name");
    after_name.split(' ').nth(16).expect("field 19").to_string()
}

#[test]
fn the_controllers_priority_reaches_no_worker_and_not_the_caller() {
    let place = Place::new(MIB);
    let before = nice();
    let outcome = run(&spans(&place.profile("-t2 -W0 -d1 FILE"), 2, |_, _| {}), &WATCHES, "", &no_stop());
    assert!(outcome.report.failures.is_empty());
    assert_eq!(*NICE.lock().expect("not poisoned"), vec![before.clone(); 4]);
    assert_eq!(nice(), before);
}

#[test]
fn a_thousand_threads_start_and_stop_together() {
    if !has(&[Need::OpenFiles]) {
        return;
    }
    let place = Place::new(MIB);
    let start = Instant::now();
    let outcome = run(&place.profile("-b4K -r -o1 -t1000 -g10i -W0 -d1 FILE"), null(), "", &no_stop());
    assert_eq!((outcome.measured().threads.len(), outcome.measured().test_time_s), (1000, 1.0));
    // Nine in the second each, the tenth is due at its end; a busy machine may owe any of them.
    assert!((1..=9_000).contains(&outcome.ios()), "{}", outcome.ios());
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
}

/// The same, when signals do not reach it: whoever watches is told, and the run ends when the I/O does.
#[test]
fn a_thread_that_does_not_end_is_told() {
    let Some(gate) = crate::support::gate::Gate::deaf() else { return };
    let place = Place::new(MIB);
    let path = gate.path().display().to_string();
    let profile = place.profile("-b4K -o1 -B9M:2M -Su -W0 -d1 FILE");
    let profile = spans(&profile, 1, |_, span| span.targets[0].path.clone_from(&path));
    let told = Mutex::new(Vec::new());
    let on_event = |event: Event| match event {
        Event::Verbose(words) if words.starts_with("starting measurements") => gate.close(),
        Event::GivenUp(failure) => {
            told.lock().expect("not poisoned").push(failure);
            gate.open_up();
        }
        _ => {}
    };
    let options = Options {
        engine: engine::find("psync").map(|row| (row, String::new())),
        patience: Some(Duration::from_millis(300)),
        ..Options::default()
    };
    // The mount belongs to this thread's namespace, and new threads share it.
    let report = load::run(&profile, &options, &on_event, &no_stop()).expect("not refused");
    let told = told.into_inner().expect("not poisoned");
    assert_eq!(told.len(), 1, "once: {told:?}");
    assert_eq!(told[0].subject.as_deref(), Some(path.as_str()));
    assert!(told[0].to_string().contains("1 thread does not end"), "{}", told[0]);
    assert!(report.failures.is_empty(), "{:?}", report.failures);
}
