//! The threads of one time span: start the workers together, keep the phases, collect the results.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::Scope;
use std::time::{Duration, Instant};

use super::activity::Recorder;
use super::context::Event;
use super::facts;
use super::live::Cell;
use super::phases::{MachineTime, Monitor, Phases, StartGate, Turnstile, VirtualTime};
use super::progress::Teller;
use super::ranks::AgreedStart;
use super::rounds::Cut;
use super::span::{Placed, Prepared, Span, Start, StartFailure, prepare};
use super::steadiness::{Watch, keep};
use super::worker::Outcome;
use crate::measure::clock::Clock;
use crate::measure::cpu::CpuCounters;
use crate::measure::slices::LatencySlices;
use crate::plan::Lane;
use crate::result::{CommonStart, EngineTraits, Evidence, Rounds, ThreadCost, Window};
use truespd_platform::fault::{Failure, FailureKind};
use truespd_platform::machine::host::unix_time_ns;
use truespd_platform::sys::events::Latch;
use truespd_platform::sys::thread::{ThreadId, raise_priority_of_this_thread, times_of_this_thread};

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
enum WorkerMessage {
    /// Ready to go, with its system thread id, engine and notes.
    Ready(Ready),
    /// Could not start, or broke down.
    Failed(StartFailure),
    Left {
        id: u32,
        outcome: Option<Box<Outcome>>,
    },
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
#[derive(Debug, Default)]
pub struct SpanOutcome {
    /// The measured time that the result is of; none of it when nothing was measured.
    pub cut: Cut,
    /// The rounds; none where the measured time was not divided.
    pub rounds: Option<Rounds>,
    /// Processor counters at both ends of the measured time.
    pub cpu: Option<(CpuCounters, CpuCounters)>,
    /// What was seen meanwhile; nothing in simulated time.
    pub evidence: Evidence,
    pub outcomes: Vec<(u32, Outcome)>,
    /// Latencies over time; none when they were not measured.
    pub latencies: Option<LatencySlices>,
    pub responses: Option<LatencySlices>,
    /// Engine that ran; all of them in the order of the threads where they differ.
    pub engine: String,
    /// What kind of engine that is.
    pub engine_traits: Option<EngineTraits>,
    /// How it was reached, without repetitions.
    pub engine_notes: Vec<String>,
    /// Where the buffers of bound threads lie; empty on machines with one memory node.
    pub placed: Vec<Placed>,
    /// Drift of the clock during the run, in parts per million.
    pub drift_ppm: f64,
    /// Threads that could not start or broke down, by number.
    pub start_failures: Vec<StartFailure>,
}

/// A disk that hangs is reset after half a minute (NVMe, SCSI), and answers then.
const PATIENCE: Duration = Duration::from_secs(60);

/// A start this late still counts from the agreed instant.
const START_LATE_NS_TAKEN: u64 = 5_000_000;

/// Runs the threads of one time span.
///
/// The controller is a thread of its own because it raises its priority. The workers of the next time span must not
/// inherit that, and the caller must not keep it.
pub fn run_threads(span: &Span<'_>) -> std::io::Result<SpanOutcome> {
    std::thread::scope(|scope| {
        let controller = std::thread::Builder::new().name("diskspd-control".into());
        let started = controller.spawn_scoped(scope, || start_and_direct(span))?;
        started.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// What the controller does: start the workers, keep the phases, wait for the workers to end.
fn start_and_direct(span: &Span<'_>) -> std::io::Result<SpanOutcome> {
    // Simulated time has no progress to watch.
    let progress_every = if span.is_virtual { None } else { span.options.progress_every };
    let watched = if progress_every.is_some() { span.lanes.len() } else { 0 };
    let shared = Shared {
        phases: Phases::new(),
        gate: StartGate::new(),
        failed: Latch::new()?,
        turnstile: Turnstile::new(),
        live: std::iter::repeat_with(Arc::default).take(watched).collect(),
    };
    let (sender, messages) = mpsc::channel();
    let over = Latch::new()?;
    Ok(std::thread::scope(|scope| {
        if let Some(every) = progress_every {
            tell_progress(scope, &shared, span, every, &over);
        }
        let mut alive = 0;
        let mut outcome = SpanOutcome::default();
        for lane in &span.lanes {
            let (sender, shared, id) = (sender.clone(), &shared, lane.work.id);
            let thread = std::thread::Builder::new().name(format!("diskspd-{id}"));
            match thread.spawn_scoped(scope, move || thread_body(lane, span, shared, &sender)) {
                Ok(_) => alive += 1,
                Err(error) => {
                    outcome.start_failures.push(StartFailure::no_thread(id, error));
                    break;
                }
            }
        }
        drop(sender);
        let watch = span.board.as_deref().map(Watch::new);
        let mut director =
            Director { shared: &shared, messages: &messages, span, tids: Vec::new(), alive, watch };
        let directed = catch_unwind(AssertUnwindSafe(|| director.direct(&mut outcome)));
        if directed.is_err() {
            // The scope waits for the workers, and the workers wait for the controller.
            shared.gate.open(false);
            shared.phases.interrupt(span.clock.now_ns());
            director.bring_home(&mut outcome);
        }
        over.set();
        directed.unwrap_or_else(|panic| resume_unwind(panic));
        outcome
    }))
}

/// Tells the progress until `over` is set.
fn tell_progress<'scope>(
    scope: &'scope Scope<'scope, '_>,
    shared: &'scope Shared,
    span: &'scope Span<'_>,
    every: Duration,
    over: &'scope Latch,
) {
    let teller = Teller {
        phases: &shared.phases,
        clock: &span.clock,
        cells: &shared.live,
        sources: &span.sources,
        place: span.place,
        every,
        on_event: span.on_event,
    };
    // If the system gives no thread for it, it gives none for the workers either, which tells why.
    let _ = std::thread::Builder::new()
        .name("diskspd-progress".into())
        .spawn_scoped(scope, move || teller.tell(over));
}

/// What a worker thread does. Its last message is always that it has left, because the controller waits for it.
fn thread_body(lane: &Lane, span: &Span<'_>, shared: &Shared, sender: &mpsc::Sender<WorkerMessage>) {
    let id = lane.work.id;
    let lived = catch_unwind(AssertUnwindSafe(|| thread_life(lane, span, shared, sender)));
    let outcome = match lived {
        Ok(Ok(outcome)) => outcome.map(Box::new),
        Ok(Err(failure)) => {
            let _ = sender.send(WorkerMessage::Failed(failure));
            None
        }
        Err(panic) => {
            let _ = sender.send(WorkerMessage::Failed(broke_down(id, panic.as_ref())));
            shared.failed.set();
            None
        }
    };
    let _ = sender.send(WorkerMessage::Left { id, outcome });
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
    span: &Span<'_>,
    shared: &Shared,
    sender: &mpsc::Sender<WorkerMessage>,
) -> Result<Option<Outcome>, StartFailure> {
    let id = lane.work.id;
    let Prepared { mut worker, engine, notes, placed } = prepare(lane, span)?;
    worker.live = shared.live.get(id as usize).cloned();
    // Read before the start signal: nothing may delay the first I/O after it.
    let times = times_of_this_thread();
    let _ = sender.send(WorkerMessage::Ready(Ready { id, tid: ThreadId::current(), engine, notes, placed }));
    if !shared.gate.wait() {
        return Ok(None);
    }
    if span.is_virtual {
        // One after the other, so that the same seed gives the same document.
        let _inside = shared.turnstile.enter(id);
        let outcome = worker.run(&VirtualTime, &shared.phases, &|| (span.on_event)(Event::Dot));
        if !outcome.failures.is_empty() {
            // The result does not count any more, so the other workers need not simulate it.
            shared.phases.interrupt(0);
            shared.failed.set();
        }
        return Ok(Some(outcome));
    }
    let mut outcome =
        worker.run(&MachineTime(span.clock.clone()), &shared.phases, &|| (span.on_event)(Event::Dot));
    let now = times_of_this_thread();
    outcome.cost = Some(ThreadCost {
        id,
        cpu: lane.work.cpu,
        elapsed_ns: span.clock.now_ns().saturating_sub(shared.phases.start_ns()),
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
    messages: &'a mpsc::Receiver<WorkerMessage>,
    span: &'a Span<'a>,
    tids: Vec<ThreadId>,
    alive: usize,
    /// Follows the rounds, where the measured time is divided.
    watch: Option<Watch<'a>>,
}

impl<'a> Director<'a> {
    fn direct(&mut self, outcome: &mut SpanOutcome) {
        self.gather(outcome);
        // After the workers were started, because they would inherit it.
        raise_priority_of_this_thread();
        let all_ready = outcome.start_failures.is_empty();
        let may_start = all_ready && !self.span.stop.is_set();
        match may_start.then(|| self.span.wait_for_start()).flatten() {
            Some(start) => self.phases(outcome, start),
            None => self.shared.gate.open(false),
        }
        self.bring_home(outcome);
        self.end_rounds(outcome);
        outcome.latencies = self.span.latencies.sum(outcome.cut);
        outcome.responses = self.span.latencies.sum_of_responses(outcome.cut);
        outcome.drift_ppm = self.span.clock.drift_ppm();
    }

    /// Waits until every thread is ready or has failed.
    fn gather(&mut self, outcome: &mut SpanOutcome) {
        let wanted = self.span.lanes.len();
        let mut answered = wanted - self.alive;
        let mut ready = Vec::new();
        while answered < wanted {
            match self.messages.recv() {
                Ok(WorkerMessage::Ready(word)) => {
                    answered += 1;
                    self.tids.push(word.tid);
                    ready.push(word);
                }
                Ok(WorkerMessage::Failed(failure)) => {
                    answered += 1;
                    outcome.start_failures.push(failure);
                }
                Ok(WorkerMessage::Left { .. }) => self.alive -= 1,
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
            outcome.placed.extend(word.placed);
            for note in word.notes {
                if !outcome.engine_notes.contains(&note) {
                    outcome.engine_notes.push(note);
                }
            }
        }
        outcome.engine = engines.join(", ");
        outcome.engine_traits = EngineTraits::common(engines.iter().map(|name| facts::of_engine(name)));
    }

    fn phases(&mut self, outcome: &mut SpanOutcome, start: Start) {
        let lengths = self.span.lengths;
        let phases = &self.shared.phases;
        if self.span.is_virtual {
            return self.phases_simulated(outcome);
        }
        // Without a warm-up, counters are first read before the first I/O, so that they miss none.
        let mut early = (lengths.warmup_ns == 0).then(|| self.start_reading());
        let (start_ns, common_start) = self.start_ns(start);
        phases.begin(start_ns, lengths);
        self.shared.gate.open(true);
        self.span.say(format!("starting warm up ({} s)", lengths.warmup_ns / 1_000_000_000));
        if !self.wait_until(phases.measure_start_ns()) {
            let (mut recorder, before) = early.take().unwrap_or_else(|| self.start_reading());
            recorder.begin(phases.measure_start_ns());
            self.span.handles.measurement_starts();
            self.span.say(format!("starting measurements ({} s)", lengths.duration_ns / 1_000_000_000));
            let mut monitor = Monitor::begin(phases.measure_start_ns(), times_of_this_thread().waiting_ns);
            let stopped = self.record_until(phases.measure_end_ns(), &mut recorder, &mut monitor);
            if stopped {
                phases.interrupt(self.span.clock.now_ns());
            }
            self.span.handles.measurement_ends();
            self.take_evidence(outcome, recorder, before);
            outcome.evidence.ticks =
                Some(monitor.finish().between(outcome.cut.skipped_ns, outcome.cut.measured_ns));
            if !stopped {
                self.span.say(format!("starting cool down ({} s)", lengths.cooldown_ns / 1_000_000_000));
                self.wait_until(phases.stop_ns());
            }
        }
        phases.interrupt(self.span.clock.now_ns());
        outcome.evidence.common_start = common_start;
    }

    /// The measured time is over: what was seen meanwhile.
    fn take_evidence(
        &mut self,
        outcome: &mut SpanOutcome,
        mut recorder: Recorder<'_>,
        before: Option<CpuCounters>,
    ) {
        let (phases, clock) = (&self.shared.phases, &self.span.clock);
        let (start_ns, end_ns) = (phases.measure_start_ns(), phases.measure_end_ns());
        let (mut before, mut end) = (before, None);
        let whole_ns = phases.measured_ns();
        outcome.cut = Cut::all(whole_ns);
        if let Some(watch) = &mut self.watch {
            outcome.cut = watch.cut(whole_ns);
            if let Some(begin) = watch.take_mark(outcome.cut.skipped_ns) {
                recorder.begin_at(begin.mark, start_ns.saturating_add(outcome.cut.skipped_ns));
                before = begin.cpu;
            }
            end = watch.take_mark(whole_ns);
        }
        let (mark, cpu) = end.map(|end| (end.mark, end.cpu)).unzip();
        outcome.evidence = recorder.finish(mark, clock.now_ns(), end_ns);
        outcome.cpu = before.zip(cpu.unwrap_or_else(|| CpuCounters::read().ok()));
        // Computed at the end, so that a step of the wall clock during the run is not hidden.
        let since_ns = clock.now_ns().saturating_sub(start_ns).saturating_sub(outcome.cut.skipped_ns);
        outcome.evidence.window = unix_time_ns().map(|now| {
            let start_unix_ns = now.saturating_sub(since_ns);
            Window { start_unix_ns, end_unix_ns: start_unix_ns.saturating_add(outcome.cut.measured_ns) }
        });
    }

    /// All threads have left: what they counted in the rounds of the result.
    fn end_rounds(&mut self, outcome: &mut SpanOutcome) {
        let Some(mut watch) = self.watch.take() else { return };
        let steady_ns = watch.look(|words| (self.span.on_event)(Event::Note(words)));
        let mut whole_ns = outcome.cut.end_ns();
        if self.span.is_virtual {
            // Its threads ran one after the other, so that none could be told to end.
            whole_ns = steady_ns.unwrap_or(whole_ns);
            outcome.cut = watch.cut(whole_ns);
        }
        let rounds = watch.finish(outcome.cut);
        for (_, of_thread) in &mut outcome.outcomes {
            keep(of_thread, &rounds, whole_ns);
        }
        outcome.rounds = Some(rounds);
    }

    /// Waits for the start; the instant from which all phases count.
    fn start_ns(&self, start: Start) -> (u64, Option<CommonStart>) {
        let clock = &self.span.clock;
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
    fn start_reading(&self) -> (Recorder<'a>, Option<CpuCounters>) {
        let Span { sources, lengths, clock, .. } = self.span;
        let recorder = Recorder::start(sources, &self.tids, lengths, || clock.now_ns());
        (recorder, CpuCounters::read().ok())
    }

    /// True when stopped or failed before the instant. Ends earlier when the rounds are steady.
    fn record_until(&mut self, end_ns: u64, recorder: &mut Recorder<'_>, monitor: &mut Monitor) -> bool {
        let start_ns = self.shared.phases.measure_start_ns();
        loop {
            let round_ns =
                self.watch.as_ref().map_or(u64::MAX, |w| start_ns.saturating_add(w.round_end_ns()));
            let due_ns = recorder.due_ns().min(monitor.due_ns()).min(round_ns).min(end_ns);
            let stopped = self.wait_until(due_ns);
            let now_ns = self.span.clock.now_ns();
            monitor.look(now_ns.min(end_ns), || times_of_this_thread().waiting_ns);
            if stopped || due_ns == end_ns {
                return stopped;
            }
            if self.has_done_its_bytes() {
                self.shared.phases.end_at(now_ns, self.span.lengths.cooldown_ns);
                return false;
            }
            if let Some(watch) = &mut self.watch {
                if now_ns >= round_ns {
                    watch.next_round(recorder.mark(now_ns), CpuCounters::read().ok());
                }
                if let Some(steady_ns) = watch.look(|words| (self.span.on_event)(Event::Note(words))) {
                    let end_ns = start_ns.saturating_add(steady_ns);
                    self.shared.phases.end_at(end_ns, self.span.lengths.cooldown_ns);
                    return false;
                }
            }
            recorder.read_if_due(now_ns);
        }
    }

    /// Whether this time span ends after so many bytes, and they are done, as far as the threads have told.
    fn has_done_its_bytes(&self) -> bool {
        let bytes = self.span.options.until_bytes.get(self.span.place.span - 1);
        bytes.is_some_and(|&bytes| {
            self.shared.live.iter().map(|cell| cell.heard().bytes).sum::<u64>() >= bytes
        })
    }

    /// Simulated time needs no timer. Only the processor counters are real.
    fn phases_simulated(&mut self, outcome: &mut SpanOutcome) {
        self.shared.phases.begin(0, self.span.lengths);
        let before = CpuCounters::read();
        self.shared.gate.open(true);
        self.span.handles.measurement_starts();
        while self.alive > 0 {
            self.take_leavers(outcome, STOP_ASKED_EVERY);
            if self.span.stop.is_set() || self.shared.failed.is_set() {
                self.shared.phases.interrupt(0);
            }
        }
        self.span.handles.measurement_ends();
        outcome.cpu = before.ok().zip(CpuCounters::read().ok());
        outcome.cut = Cut::all(self.shared.phases.measured_ns());
    }

    /// True when stopped or failed before the instant.
    fn wait_until(&self, instant_ns: u64) -> bool {
        let latches = [self.span.stop, &self.shared.failed];
        loop {
            // The latches wait by another clock, which may be a little faster. It must not end a phase early.
            let left = instant_ns.saturating_sub(self.span.clock.now_ns());
            if Latch::wait_any(&latches, Some(Duration::from_nanos(left))) {
                return true;
            }
            if left == 0 {
                return false;
            }
        }
    }

    /// Receives messages until all workers have left, or none came for `limit`.
    fn take_leavers(&mut self, outcome: &mut SpanOutcome, limit: Duration) {
        while self.alive > 0 {
            match self.messages.recv_timeout(limit) {
                Ok(WorkerMessage::Left { id, outcome: left }) => {
                    self.alive -= 1;
                    outcome.outcomes.extend(left.map(|o| (id, *o)));
                }
                Ok(WorkerMessage::Failed(failure)) => outcome.start_failures.push(failure),
                Ok(WorkerMessage::Ready(_)) => {}
                Err(RecvTimeoutError::Timeout) => return,
                // Cannot happen: every thread sends that it has left.
                Err(RecvTimeoutError::Disconnected) => self.alive = 0,
            }
        }
    }

    /// Interrupts waits until every worker has left its loop.
    fn bring_home(&mut self, outcome: &mut SpanOutcome) {
        let mut give_up_at = Instant::now().checked_add(self.patience());
        while self.alive > 0 {
            if give_up_at.is_some_and(|at| Instant::now() >= at) {
                give_up_at = None;
                (self.span.on_event)(Event::GivenUp(self.stuck(outcome)));
            }
            for tid in &self.tids {
                // An error means that the thread has left already.
                let _ = self.span.interrupter.interrupt(*tid);
            }
            self.take_leavers(outcome, INTERRUPT_EVERY);
        }
        outcome.outcomes.sort_by_key(|(id, _)| *id);
        outcome.start_failures.sort_by_key(|failure| failure.thread);
    }

    fn patience(&self) -> Duration {
        self.span.options.patience.unwrap_or(PATIENCE)
    }

    /// Why the threads that are still there do not end.
    fn stuck(&self, outcome: &SpanOutcome) -> Failure {
        let home = &outcome.outcomes;
        let mut stuck: Vec<&Lane> = self.span.lanes.iter().collect();
        stuck.retain(|lane| !home.iter().any(|(id, _)| *id == lane.work.id));
        let mut paths: Vec<&str> = Vec::new();
        for target in stuck.iter().flat_map(|lane| &lane.targets) {
            let path = self.span.targets.get(target.duty.target).map_or("", |state| &state.typed);
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        let threads = match stuck.len() {
            1 => "1 thread does".to_string(),
            many => format!("{many} threads do"),
        };
        let words = format!(
            "'{}': {threads} not end: an I/O has been out since the end of the run {} s ago, and nothing can \
             interrupt it",
            paths.join("', '"),
            self.patience().as_secs()
        );
        let failure = Failure::new(FailureKind::Io, words);
        let failure =
            failure.hint("the target does not answer: look for its errors in the kernel's log (dmesg)");
        paths.first().into_iter().fold(failure, |failure, path| failure.on(*path))
    }
}
