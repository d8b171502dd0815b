//! The threads of one time span: start the workers together, keep the phases, collect the results.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::Scope;
use std::time::{Duration, Instant};

use super::activity::{Activity, Recorder, Sources};
use super::companions::AgreedStart;
use super::context::{Event, OnEvent};
use super::events::Signals;
use super::facts;
use super::live::Cell;
use super::monitor::Monitor;
use super::nodes::Placed;
use super::phases::{Lengths, Phases, StartGate, Turnstile};
use super::start::{Prepared, StartContext, StartFailure, prepare};
use super::teller::{Place, Teller};
use super::worker::{Outcome, Time};
use crate::engine::Engine;
use crate::fault::{Failure, FailureKind};
use crate::machine::host::unix_time_ns;
use crate::measure::clock::{Clock, MachineClock};
use crate::measure::cpu::CpuCounters;
use crate::measure::slices::LatencySlices;
use crate::plan::Lane;
use crate::result::{CommonStart, EngineTraits, ThreadCost, Ticks};
use crate::sys::thread::{Interrupter, ThreadId, raise_priority_of_this_thread, times_of_this_thread};
use crate::sys::wake::Latch;

/// How often a worker that has not left yet is interrupted again.
const INTERRUPT_EVERY: Duration = Duration::from_millis(2);
/// How often a simulated run checks whether it should stop.
const STOP_ASKED_EVERY: Duration = Duration::from_millis(20);

/// What the workers and the controller of one time span share.
#[derive(Debug)]
struct Shared {
    phases: Phases,
    gate: StartGate,
    failed: Latch,
    /// Simulated workers go through one after the other.
    turnstile: Turnstile,
    /// One per thread, when somebody watches.
    live: Vec<Arc<Cell>>,
}

/// A message of a worker to the controller.
enum Word {
    /// Ready to go, with its system thread id, engine and notes.
    Ready(Ready),
    /// Could not start, or broke down.
    Failed(StartFailure),
    /// Left its loop.
    Left { id: u32, outcome: Option<Box<Outcome>> },
}

/// A worker that waits at the gate.
struct Ready {
    id: u32,
    tid: ThreadId,
    engine: &'static str,
    notes: Vec<String>,
    placed: Option<Placed>,
}

/// Results of a time span.
#[derive(Debug)]
pub struct SpanOutcome {
    /// Measured time in nanoseconds; 0 when nothing was measured.
    pub measured_ns: u64,
    /// Processor counters at both ends of the measured time.
    pub cpu: Option<(CpuCounters, CpuCounters)>,
    /// Counters of disks and machine over that time; `None` for simulated time.
    pub activity: Option<Activity>,
    /// Whether the program ran all that time; `None` for simulated time.
    pub ticks: Option<Ticks>,
    /// Start of the measured time, nanoseconds since 1970 UTC; none for simulated time.
    pub measure_start_unix_ns: Option<u64>,
    /// How it started together with other processes.
    pub common_start: Option<CommonStart>,
    /// By thread number.
    pub outcomes: Vec<(u32, Outcome)>,
    /// Latencies over time; none when they were not measured.
    pub latencies: Option<LatencySlices>,
    /// Engine that ran; all of them in the order of the threads where they differ.
    pub engine: String,
    /// What kind of engine that is.
    pub engine_traits: Option<EngineTraits>,
    /// How it was reached, without repetitions.
    pub engine_notes: Vec<String>,
    /// Where the buffers of bound threads lie, by thread number; empty on machines with one memory node.
    pub placed: Vec<(u32, Placed)>,
    /// Drift of the clock during the run, in parts per million.
    pub drift_ppm: f64,
    /// Threads that could not start or broke down, by number.
    pub start_failures: Vec<StartFailure>,
}

/// Waits up to this long are spent reading the clock. Sleeping would take about as much processor time and would end
/// too late by more than the wait, so that I/Os would be issued in clumps.
const SPIN_NS: u64 = 10_000;

/// A start this late still counts from the agreed instant.
const START_LATE_NS_TAKEN: u64 = 5_000_000;

/// Time of the machine.
#[derive(Debug, Clone)]
pub struct MachineTime(pub MachineClock);

impl Time for MachineTime {
    #[inline]
    fn now_ns(&self, _: &dyn Engine) -> u64 {
        self.0.now_unfenced_ns()
    }

    #[inline]
    fn now_after_copies_ns(&self, _: &dyn Engine) -> u64 {
        self.0.now_ns()
    }

    fn sleep(&self, ns: u64, _: &mut dyn Engine) {
        if ns > SPIN_NS {
            return crate::sys::thread::sleep_once(Duration::from_nanos(ns));
        }
        let end_ns = self.0.now_ns().saturating_add(ns);
        while self.0.now_ns() < end_ns {
            std::hint::spin_loop();
        }
    }

    fn wait_limit(&self, _: u64, _: u64) -> Option<Duration> {
        None
    }
}

/// Time of a simulating engine.
#[derive(Debug, Clone, Copy)]
pub struct VirtualTime;

impl Time for VirtualTime {
    fn now_ns(&self, engine: &dyn Engine) -> u64 {
        engine.virtual_now_ns().unwrap_or(0)
    }

    fn sleep(&self, ns: u64, engine: &mut dyn Engine) {
        let now = engine.virtual_now_ns().unwrap_or(0);
        engine.advance_virtual(now.saturating_add(ns));
    }

    fn wait_limit(&self, stop_ns: u64, now_ns: u64) -> Option<Duration> {
        Some(Duration::from_nanos(stop_ns.saturating_sub(now_ns)))
    }
}

/// When the threads are let go.
#[derive(Debug, Clone, Copy)]
pub enum Start {
    /// As soon as they are ready.
    Now,
    /// At an instant that processes agreed on.
    At(AgreedStart),
}

/// Everything the controller needs besides the threads' work.
pub struct Control<'a> {
    /// Lengths of the phases.
    pub lengths: Lengths,
    /// Ends the run early (Ctrl+C, `-yp`).
    pub stop: &'a Latch,
    /// Waits for the start event (`-yr`) and for other processes; none when stopped meanwhile.
    pub wait_for_start: &'a (dyn Fn() -> Option<Start> + Sync),
    /// `-ys`, `-yf`.
    pub signals: &'a dyn Signals,
    /// Progress and words.
    pub on_event: OnEvent<'a>,
    /// How often to tell the progress.
    pub progress_every: Option<Duration>,
    /// Where the time span stands in its profile.
    pub place: Place,
    /// How long to wait for threads before that is told as a failure.
    pub patience: Duration,
    /// Real clock.
    pub clock: &'a MachineClock,
    /// Interrupts waiting workers at the end.
    pub interrupter: Interrupter,
    /// Disks and machine.
    pub sources: &'a Sources,
}

/// Runs the threads of one time span.
///
/// The controller is a thread of its own because it raises its priority. The workers of the next time span must not
/// inherit that, and the caller must not keep it.
pub fn run_threads(
    lanes: &[Lane],
    context: &StartContext<'_>,
    control: &Control<'_>,
) -> std::io::Result<SpanOutcome> {
    std::thread::scope(|scope| {
        let body = || start_and_direct(lanes, context, control);
        let controller = std::thread::Builder::new().name("diskspd-control".into());
        controller.spawn_scoped(scope, body)?.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// What the controller does: start the workers, keep the phases, wait for the workers to end.
fn start_and_direct(
    lanes: &[Lane],
    context: &StartContext<'_>,
    control: &Control<'_>,
) -> std::io::Result<SpanOutcome> {
    let shared = Arc::new(Shared {
        phases: Phases::new(),
        gate: StartGate::new(),
        failed: Latch::new()?,
        turnstile: Turnstile::new(),
        live: control
            .progress_every
            .map(|_| lanes.iter().map(|_| Arc::default()).collect())
            .unwrap_or_default(),
    });
    let (sender, words) = mpsc::channel();
    let over = Latch::new()?;
    Ok(std::thread::scope(|scope| {
        tell_progress(scope, &shared, control, &over);
        let mut spawned = 0;
        let mut span = SpanOutcome::empty();
        let clock = control.clock;
        for lane in lanes {
            let sender_of_thread = sender.clone();
            let shared = Arc::clone(&shared);
            let id = lane.work.id;
            let on_event = control.on_event;
            let body = move || {
                thread_body(lane, context, &shared, &sender_of_thread, on_event, clock);
            };
            match std::thread::Builder::new().name(format!("diskspd-{id}")).spawn_scoped(scope, body) {
                Ok(_) => spawned += 1,
                Err(error) => {
                    span.start_failures.push(StartFailure::thread(id, error));
                    break;
                }
            }
        }
        drop(sender);
        let mut director = Director {
            shared: &shared,
            words: &words,
            control,
            context,
            lanes,
            tids: Vec::new(),
            alive: spawned,
        };
        let directed = catch_unwind(AssertUnwindSafe(|| director.direct(&mut span, lanes.len())));
        if directed.is_err() {
            // The scope waits for the workers, and the workers wait for the controller.
            shared.gate.open(false);
            shared.phases.interrupt(clock.now_ns());
            director.bring_home(&mut span);
        }
        over.set();
        directed.unwrap_or_else(|panic| resume_unwind(panic));
        span
    }))
}

/// Tells the progress until `over` is set, when somebody watches. Simulated time has none.
fn tell_progress<'scope>(
    scope: &'scope Scope<'scope, '_>,
    shared: &'scope Shared,
    control: &'scope Control<'_>,
    over: &'scope Latch,
) {
    let Control { clock, place, on_event, sources, .. } = *control;
    let Some(every) = control.progress_every else { return };
    let teller =
        Teller { phases: &shared.phases, clock, cells: &shared.live, sources, place, every, on_event };
    // If the system gives no thread for it, it gives none for the workers either, which tells why.
    let _ = std::thread::Builder::new()
        .name("diskspd-progress".into())
        .spawn_scoped(scope, move || teller.tell(over));
}

impl SpanOutcome {
    fn empty() -> Self {
        SpanOutcome {
            measured_ns: 0,
            measure_start_unix_ns: None,
            common_start: None,
            cpu: None,
            activity: None,
            ticks: None,
            outcomes: Vec::new(),
            latencies: None,
            engine: String::new(),
            engine_traits: None,
            engine_notes: Vec::new(),
            placed: Vec::new(),
            drift_ppm: 0.0,
            start_failures: Vec::new(),
        }
    }
}

/// What a worker thread does. Its last message is always that it has left, because the controller waits for it.
fn thread_body(
    lane: &Lane,
    context: &StartContext<'_>,
    shared: &Shared,
    sender: &mpsc::Sender<Word>,
    on_event: OnEvent<'_>,
    clock: &MachineClock,
) {
    let life = || thread_life(lane, context, shared, sender, on_event, clock);
    let id = lane.work.id;
    let outcome = match catch_unwind(AssertUnwindSafe(life)) {
        Ok(Ok(outcome)) => outcome.map(Box::new),
        Ok(Err(failure)) => {
            let _ = sender.send(Word::Failed(failure));
            None
        }
        Err(panic) => {
            let _ = sender.send(Word::Failed(broke_down(id, panic.as_ref())));
            shared.failed.set();
            None
        }
    };
    let _ = sender.send(Word::Left { id, outcome });
}

/// A panic is a bug. The run ends with a failure instead of waiting for ever.
fn broke_down(thread: u32, panic: &(dyn Any + Send)) -> StartFailure {
    let words = panic.downcast_ref::<&str>().copied();
    let words =
        words.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("it left no message");
    let why = Failure::new(FailureKind::Thread, "a bug in TrueSpd ended it")
        .because(words)
        .hint("please report this with the command line");
    StartFailure { thread, why }
}

/// Prepares, waits for the start signal and runs; `None` when the run is called off before the start.
fn thread_life(
    lane: &Lane,
    context: &StartContext<'_>,
    shared: &Shared,
    sender: &mpsc::Sender<Word>,
    on_event: OnEvent<'_>,
    clock: &MachineClock,
) -> Result<Option<Outcome>, StartFailure> {
    let id = lane.work.id;
    let Prepared { mut worker, engine, notes, placed } = prepare(lane, context)?;
    worker.live = shared.live.get(id as usize).cloned();
    // Read before the start signal: nothing may delay the first I/O after it.
    let times = times_of_this_thread();
    let _ = sender.send(Word::Ready(Ready { id, tid: ThreadId::current(), engine, notes, placed }));
    if !shared.gate.wait() {
        return Ok(None);
    }
    let dot = || on_event(Event::Dot);
    if context.is_virtual {
        // One after the other, so that the same seed gives the same document.
        let _inside = shared.turnstile.enter(id);
        let outcome = worker.run(&VirtualTime, &shared.phases, &dot);
        if !outcome.failures.is_empty() {
            // The result does not count any more, so the other workers need not simulate it.
            shared.phases.interrupt(0);
            shared.failed.set();
        }
        return Ok(Some(outcome));
    }
    let mut outcome = worker.run(&MachineTime(clock.clone()), &shared.phases, &dot);
    let now = times_of_this_thread();
    outcome.cost = Some(ThreadCost {
        id,
        cpu: lane.work.cpu,
        elapsed_ns: clock.now_ns().saturating_sub(shared.phases.start_ns()),
        running_ns: now.running_ns.saturating_sub(times.running_ns),
        waiting_for_cpu_ns: now.waiting_ns.zip(times.waiting_ns).map(|(now, then)| now.saturating_sub(then)),
    });
    if !outcome.failures.is_empty() {
        shared.failed.set();
    }
    Ok(Some(outcome))
}

/// The controller's side of one time span.
struct Director<'a> {
    shared: &'a Shared,
    words: &'a mpsc::Receiver<Word>,
    control: &'a Control<'a>,
    context: &'a StartContext<'a>,
    lanes: &'a [Lane],
    tids: Vec<ThreadId>,
    alive: usize,
}

impl Director<'_> {
    fn direct(&mut self, span: &mut SpanOutcome, wanted: usize) {
        self.gather(span, wanted);
        // After the workers were started, because they would inherit it.
        raise_priority_of_this_thread();
        let all_ready = span.start_failures.is_empty();
        let may_start = all_ready && !self.control.stop.is_set();
        match may_start.then(|| (self.control.wait_for_start)()).flatten() {
            Some(start) => self.phases(span, start),
            None => self.shared.gate.open(false),
        }
        self.bring_home(span);
        span.latencies = self.context.latencies.sum(span.measured_ns);
        span.drift_ppm = self.control.clock.drift_ppm();
    }

    /// Waits until every thread is ready or has failed.
    fn gather(&mut self, span: &mut SpanOutcome, wanted: usize) {
        let mut answered = wanted - self.alive;
        let mut ready = Vec::new();
        while answered < wanted {
            match self.words.recv() {
                Ok(Word::Ready(word)) => {
                    answered += 1;
                    self.tids.push(word.tid);
                    ready.push(word);
                }
                Ok(Word::Failed(failure)) => {
                    answered += 1;
                    span.start_failures.push(failure);
                }
                Ok(Word::Left { .. }) => self.alive -= 1,
                Err(_) => break,
            }
        }
        // The order in which threads became ready is chance. The document must not depend on it.
        ready.sort_by_key(|word| word.id);
        let mut engines = Vec::new();
        for word in ready {
            if !engines.contains(&word.engine) {
                engines.push(word.engine);
            }
            span.placed.extend(word.placed.map(|placed| (word.id, placed)));
            for note in word.notes {
                if !span.engine_notes.contains(&note) {
                    span.engine_notes.push(note);
                }
            }
        }
        span.engine = engines.join(", ");
        span.engine_traits = EngineTraits::common(engines.iter().map(|name| facts::of_engine(name)));
    }

    fn say(&self, words: &str) {
        (self.control.on_event)(Event::Verbose(words.to_string()));
    }

    /// Warm-up, measurement, cool-down.
    fn phases(&mut self, span: &mut SpanOutcome, start: Start) {
        let lengths = self.control.lengths;
        let phases = &self.shared.phases;
        if self.context.is_virtual {
            return self.phases_simulated(span);
        }
        // Without a warm-up, counters are first read before the first I/O, so that they miss none.
        let mut early = (lengths.warmup_ns == 0).then(|| self.start_reading());
        let (start_ns, common_start) = self.start_ns(start);
        span.common_start = common_start;
        phases.begin(start_ns, lengths);
        self.shared.gate.open(true);
        self.say(&format!("starting warm up ({} s)", lengths.warmup_ns / 1_000_000_000));
        if !self.wait_until(phases.measure_start_ns()) {
            let (mut recorder, before) = early.take().unwrap_or_else(|| self.start_reading());
            recorder.begin(phases.measure_start_ns());
            self.control.signals.measurement_starts();
            self.say(&format!("starting measurements ({} s)", lengths.duration_ns / 1_000_000_000));
            let mut monitor = Monitor::begin(phases.measure_start_ns(), times_of_this_thread().waiting_ns);
            let stopped = self.record_until(phases.measure_end_ns(), &mut recorder, &mut monitor);
            if stopped {
                phases.interrupt(self.control.clock.now_ns());
            }
            span.ticks = Some(monitor.finish());
            let measure_end_ns = phases.measure_end_ns();
            span.activity = Some(recorder.finish(self.control.clock.now_ns(), measure_end_ns));
            let after = CpuCounters::read();
            self.control.signals.measurement_ends();
            span.cpu = before.zip(after.ok());
            span.measured_ns = phases.measured_ns();
            // Computed at the end, so that a step of the wall clock during the run is not hidden.
            let since_ns = self.control.clock.now_ns().saturating_sub(phases.measure_start_ns());
            span.measure_start_unix_ns = unix_time_ns().map(|now| now.saturating_sub(since_ns));
            if !stopped {
                self.say(&format!("starting cool down ({} s)", lengths.cooldown_ns / 1_000_000_000));
                self.wait_until(phases.stop_ns());
            }
        }
        phases.interrupt(self.control.clock.now_ns());
    }

    /// Waits for the start; the instant from which all phases count.
    fn start_ns(&self, start: Start) -> (u64, Option<CommonStart>) {
        let clock = self.control.clock;
        let Start::At(AgreedStart { unix_ns, common }) = start else { return (clock.now_ns(), None) };
        let left_ns = unix_ns.cast_signed().wrapping_sub(unix_time_ns().unwrap_or(unix_ns).cast_signed());
        let agreed_ns = clock.now_ns().saturating_add_signed(left_ns);
        // When stopped meanwhile, the wait for the first phase ends at once.
        self.wait_until(agreed_ns);
        let late_ns = clock.now_ns().saturating_sub(agreed_ns);
        // The phases of all processes end together. Whoever comes too late for that begins its own.
        let start_ns = if late_ns < START_LATE_NS_TAKEN { agreed_ns } else { clock.now_ns() };
        (start_ns, Some(CommonStart { late_ns, ..common }))
    }

    /// The first readings of the measured time.
    fn start_reading(&self) -> (Recorder<'_>, Option<CpuCounters>) {
        let Control { sources, lengths, clock, .. } = self.control;
        let recorder = Recorder::start(sources, &self.tids, lengths.duration_ns, || clock.now_ns());
        (recorder, CpuCounters::read().ok())
    }

    /// True when stopped or failed before the instant.
    fn record_until(&self, end_ns: u64, recorder: &mut Recorder<'_>, monitor: &mut Monitor) -> bool {
        loop {
            let due_ns = recorder.due_ns().min(monitor.due_ns()).min(end_ns);
            let stopped = self.wait_until(due_ns);
            let now_ns = self.control.clock.now_ns();
            monitor.look(now_ns.min(end_ns), || times_of_this_thread().waiting_ns);
            if stopped || due_ns == end_ns {
                return stopped;
            }
            recorder.read_if_due(now_ns);
        }
    }

    /// Simulated time needs no timer. Only the processor counters are real.
    fn phases_simulated(&mut self, span: &mut SpanOutcome) {
        self.shared.phases.begin(0, self.control.lengths);
        let before = CpuCounters::read();
        self.shared.gate.open(true);
        self.control.signals.measurement_starts();
        while self.alive > 0 {
            self.take_leavers(span, STOP_ASKED_EVERY);
            if self.control.stop.is_set() || self.shared.failed.is_set() {
                self.shared.phases.interrupt(0);
            }
        }
        self.control.signals.measurement_ends();
        span.cpu = before.ok().zip(CpuCounters::read().ok());
        span.measured_ns = self.shared.phases.measured_ns();
    }

    /// True when stopped or failed before the instant.
    fn wait_until(&self, instant_ns: u64) -> bool {
        let latches = [self.control.stop, &self.shared.failed];
        loop {
            // The latches wait by another clock, which may be a little faster. It must not end a phase early.
            let left = instant_ns.saturating_sub(self.control.clock.now_ns());
            if Latch::wait_any(&latches, Some(Duration::from_nanos(left))) {
                return true;
            }
            if left == 0 {
                return false;
            }
        }
    }

    /// Receives messages until all workers have left, or none came for `limit`.
    fn take_leavers(&mut self, span: &mut SpanOutcome, limit: Duration) {
        while self.alive > 0 {
            match self.words.recv_timeout(limit) {
                Ok(Word::Left { id, outcome }) => {
                    self.alive -= 1;
                    span.outcomes.extend(outcome.map(|o| (id, *o)));
                }
                Ok(Word::Failed(failure)) => span.start_failures.push(failure),
                Ok(Word::Ready(_)) => {}
                Err(RecvTimeoutError::Timeout) => return,
                // Cannot happen: every thread sends that it has left.
                Err(RecvTimeoutError::Disconnected) => self.alive = 0,
            }
        }
    }

    /// Interrupts waits until every worker has left its loop.
    fn bring_home(&mut self, span: &mut SpanOutcome) {
        let mut give_up_at = Instant::now().checked_add(self.control.patience);
        while self.alive > 0 {
            if give_up_at.is_some_and(|at| Instant::now() >= at) {
                give_up_at = None;
                (self.control.on_event)(Event::GivenUp(self.stuck(span)));
            }
            for tid in &self.tids {
                // An error means that the thread has left already.
                let _ = self.control.interrupter.interrupt(*tid);
            }
            self.take_leavers(span, INTERRUPT_EVERY);
        }
        span.outcomes.sort_by_key(|(id, _)| *id);
        span.start_failures.sort_by_key(|failure| failure.thread);
    }

    /// Why the threads that are still there do not end.
    fn stuck(&self, span: &SpanOutcome) -> Failure {
        let is_home = |id: u32| span.outcomes.iter().any(|(home, _)| *home == id);
        let stuck: Vec<&Lane> = self.lanes.iter().filter(|lane| !is_home(lane.work.id)).collect();
        let mut paths: Vec<&str> = Vec::new();
        for target in stuck.iter().flat_map(|lane| &lane.targets) {
            let path = self.context.targets.get(target.index).map_or("", |state| &state.typed);
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        let threads = match stuck.len() {
            1 => "1 thread does".to_string(),
            many => format!("{many} threads do"),
        };
        let words = format!(
            "'{}': {threads} not end: an I/O has been out since the end of the run {} s ago, and nothing can interrupt it",
            paths.join("', '"),
            self.control.patience.as_secs()
        );
        let failure = Failure::new(FailureKind::Io, words);
        let failure =
            failure.hint("the target does not answer: look for its errors in the kernel's log (dmesg)");
        paths.first().into_iter().fold(failure, |failure, path| failure.on(*path))
    }
}
