//! One time span, phase by phase: files, open targets, lanes, looks, threads, evidence. Each phase takes what the one
//! before it left.

use std::time::Duration;

use super::activity::Sources;
use super::beside::{self, Beside};
use super::calibrate::self_cost;
use super::companions::{CalledOff, Maker};
use super::content::{Look, look_before};
use super::context::{Event, Failures, Note, Options, Run, Tools};
use super::controller::{Control, SpanOutcome, Start, run_threads};
use super::counters::Wanted;
use super::fill::Content;
use super::fits;
use super::keeper::{Watch, keeping};
use super::latencies::Tables;
use super::loop_caches;
use super::marks;
use super::nodes;
use super::phases::Lengths;
use super::prepare::{self, Checked, Creation};
use super::standing::Standing;
use super::start::StartContext;
use super::targets::{self, TargetState};
use super::teller::Place;
use super::{document, facts, verbose};
use crate::fault::{Failure, FailureKind};
use crate::guard::{Guard, OtherRun};
use crate::machine::roots::Roots;
use crate::machine::storage::resolve;
use crate::measure::clock::MachineClock;
use crate::measure::process::{ProcessUsage, process_usage};
use crate::plan::{Lane, LaneInputs, ThreadWork, assign, lanes};
use crate::profile::TimeSpan;
use crate::result::{LoopCache, Loss, Measured, OwnCost, SelfCost};
use crate::sys::error::system_text;
use crate::sys::identity::Identity;
use crate::sys::wake::Latch;

/// A time span whose targets are open and whose threads' work is laid out.
struct Planned<'a> {
    /// Index into the time spans of the profile.
    index: usize,
    span: &'a TimeSpan,
    targets: Vec<TargetState>,
    works: Vec<ThreadWork>,
    lanes: Vec<Lane>,
    clock: MachineClock,
    /// The engine simulates time: nothing of it reaches the machine.
    is_virtual: bool,
}

/// What was seen before the threads start.
struct Before {
    /// Whose counters are read during the run.
    sources: Sources,
    self_cost: Option<SelfCost>,
    looks: Vec<Look>,
    /// What the loop devices below each target stand on.
    loop_caches: Vec<Vec<loop_caches::Seen>>,
    standings: Vec<Standing>,
    used: ProcessUsage,
    /// Other runs on the targets.
    beside: Beside,
}

/// Results of the threads, and what was seen after them.
struct After {
    outcome: SpanOutcome,
    self_cost: Option<SelfCost>,
    looks: Vec<Look>,
    loop_caches: Vec<Vec<LoopCache>>,
    /// What others did to each target.
    losses: Vec<Vec<Loss>>,
    own_cost: OwnCost,
    beside: Beside,
}

impl<'p> Run<'p> {
    /// Runs one time span of the profile; `None` when nothing was measured.
    pub fn run_span(
        &mut self,
        index: usize,
        checked: &Checked,
        tools: &Tools,
    ) -> Result<Option<Measured>, Failures> {
        let span = &self.profile.time_spans[index];
        self.create_files(span)?;
        if self.stop.is_set() {
            return Ok(None);
        }
        let targets = self.open_targets(span, checked)?;
        let planned = self.plan(index, targets, checked, tools)?;
        let before = self.look_before(&planned);
        let after = self.run_threads(&planned, before, tools)?;
        self.conclude(&planned, after)
    }

    /// Makes the files of `-c`.
    fn create_files(&mut self, span: &TimeSpan) -> Result<(), Failures> {
        for target in &span.targets {
            if self.stop.is_set() {
                break;
            }
            let Some(size_bytes) = target.create_bytes.filter(|&s| s > 0) else { continue };
            if self.precreated.contains(&target.path) {
                continue;
            }
            let content = prepare::content_of(target, span.random_write_data, span.rand_seed);
            self.create(&Creation { typed: &target.path, size_bytes, content, writes: target.writes() })?;
        }
        Ok(())
    }

    /// Makes the files of `PrecreateFiles`, which time spans then do not create again.
    pub fn precreate(&mut self) -> Result<(), Failures> {
        let mut spans = self.profile.time_spans.iter();
        let writes = spans.any(|span| span.targets.iter().any(|target| target.writes()));
        for file in crate::plan::precreate_sizes(self.profile) {
            if self.stop.is_set() {
                break;
            }
            let content = if file.zero { Content::Zero } else { Content::Pattern0to255 };
            self.create(&Creation { typed: &file.path, size_bytes: file.size_bytes, content, writes })?;
            self.precreated.push(file.path);
        }
        Ok(())
    }

    fn create(&mut self, creation: &Creation<'_>) -> Result<(), Failures> {
        let companions = self.options.companions.as_deref();
        let options = match companions.map(|companions| companions.turn_to_make(creation.typed)) {
            Some(Err(CalledOff)) => {
                self.stop.set();
                return Ok(());
            }
            // It was made a moment ago, so it is not made anew.
            Some(Ok(Maker::Another)) => &Options { recreate: false, ..self.options.clone() },
            Some(Ok(Maker::This)) | None => self.options,
        };
        match prepare::create(creation, options, self.on_event, self.stop) {
            Ok(made) => {
                made.iter().for_each(|made| self.custody.add(made));
                companions.into_iter().for_each(|companions| companions.has_made(creation.typed));
            }
            // Whoever stops the run does not wait for the file.
            Err(_) if self.stop.is_set() => {}
            Err(failure) => return Err(vec![failure]),
        }
        Ok(())
    }

    /// Opens the targets, and says what about them changes the meaning of the numbers.
    fn open_targets(&mut self, span: &TimeSpan, checked: &Checked) -> Result<Vec<TargetState>, Failures> {
        let guard = Guard { consent: self.options.word(), marks: &self.marks, roots: &self.roots };
        let targets = targets::open_all(span, &guard, &checked.identities, &mut self.custody)?;
        for (target, state) in span.targets.iter().zip(&targets) {
            let (path, size) = (&target.path, state.facts.size_bytes);
            let by_id = resolve(path, &self.roots).ok().and_then(|r| r.by_id);
            let by_id = by_id.map(|p| p.display().to_string());
            self.say(verbose::target(target, state, by_id.as_deref()));
            verbose::priority(target, state).into_iter().for_each(|words| self.say(words));
            if let Some(unseen) = state.unseen() {
                self.note(format!("'{path}': {unseen}"));
            }
            if state.ranges.range.is_limit_beyond_size() {
                self.warn(&format!(
                    "'{path}': the tested range should end at {} bytes, but the target has {size} bytes; the range \
                     ends there",
                    target.max_bytes
                ));
            }
            let filesystem = state.facts.filesystem.as_ref().filter(|f| target.is_direct() && f.is_memory);
            if let Some(filesystem) = filesystem {
                self.warn(&format!(
                    "'{path}' is on {}, which keeps files in memory: direct I/O is accepted there but bypasses nothing",
                    filesystem.name
                ));
            }
        }
        Ok(targets)
    }

    /// Lays out what every thread does.
    fn plan(
        &self,
        index: usize,
        targets: Vec<TargetState>,
        checked: &Checked,
        tools: &Tools,
    ) -> Result<Planned<'p>, Failures> {
        let span = &self.profile.time_spans[index];
        let engine = self.options.engine.as_ref().map(|(row, parameters)| (*row, parameters.as_str()));
        let planned: Vec<_> = targets.iter().map(TargetState::planned).collect();
        let inputs = LaneInputs {
            span,
            targets: &planned,
            engine,
            huge_page_bytes: fits::huge_page_bytes(&self.roots),
        };
        let works = assign(span, &checked.cpus);
        let lanes = lanes(&works, &inputs).map_err(|failure| vec![failure])?;
        let is_virtual = engine.is_some_and(|(row, _)| row.simulates_time);
        let planned =
            Planned { index, span, works, lanes, clock: tools.clock.refined(), is_virtual, targets };
        self.say_threads(&planned);
        Ok(planned)
    }

    /// What the threads are about to do, when somebody wants to know.
    fn say_threads(&self, planned: &Planned<'_>) {
        if !self.profile.verbose {
            return;
        }
        self.say(verbose::clock(&planned.clock));
        for lane in &planned.lanes {
            self.say(verbose::thread(&lane.work));
            for (target, duty) in lane.targets.iter().zip(&lane.work.duties) {
                let asked = &planned.span.targets[target.index];
                self.say(verbose::share(lane, target, duty.weight, asked));
            }
        }
    }

    /// Measures what the program itself costs, and looks at what is to be tested.
    fn look_before(&mut self, planned: &Planned<'_>) -> Before {
        let Planned { span, targets, works, lanes, clock, is_virtual, .. } = planned;
        if *is_virtual {
            let (sources, used) = (Sources::none(), process_usage());
            let (looks, loop_caches) = (Vec::new(), Vec::new());
            let (standings, beside) = (Vec::new(), Vec::new());
            return Before { sources, self_cost: None, looks, loop_caches, standings, used, beside };
        }
        let sources = Sources::open(targets.iter().map(|t| &t.chain[..]), &self.roots);
        let facts: Vec<_> = targets.iter().map(TargetState::planned).collect();
        let self_cost = self_cost(span, works, &facts, clock);
        self_cost.iter().for_each(|cost| self.say(verbose::self_cost(cost)));
        let looks = look_before(span, targets, lanes);
        let loop_caches = targets.iter().map(|t| loop_caches::look_before(&t.chain, &self.roots)).collect();
        let standings = targets.iter().map(|state| Standing::of(state, &self.roots)).collect();
        let beside = self.look_beside(targets);
        Before { sources, self_cost, looks, loop_caches, standings, used: process_usage(), beside }
    }

    /// Runs the threads. Meanwhile the marks of our files say that a run writes them, and devices are kept from others.
    fn run_threads(
        &mut self,
        planned: &Planned<'_>,
        before: Before,
        tools: &Tools,
    ) -> Result<After, Failures> {
        let Planned { span, targets, clock, .. } = planned;
        let Before { sources, self_cost, mut looks, loop_caches, standings, used, mut beside } = before;
        let topology = &self.report.document.system.topology;
        let has_several_nodes = topology.nodes > 1 && !planned.is_virtual;
        let (wanted, duration_ns) = (Wanted::of(span), Lengths::of(span).duration_ns);
        let latencies = if wanted.latency {
            Tables::new(duration_ns, planned.lanes.len(), topology.processors.len())
        } else {
            Tables::none()
        };
        let context = StartContext {
            targets,
            wanted,
            duration_ns,
            latencies: &latencies,
            progress_ios: self.profile.progress_ios,
            is_virtual: planned.is_virtual,
            several_nodes: has_several_nodes.then_some(topology),
        };
        let (options, stop) = (self.options, self.stop);
        let control = Control {
            lengths: Lengths::of(span),
            stop: self.stop,
            wait_for_start: &|| wait_for_start(planned.index, options, tools, stop),
            signals: &tools.handles,
            on_event: self.on_event,
            progress_every: self.options.progress_every.filter(|_| !planned.is_virtual),
            place: self.place(planned.index),
            patience: self.options.patience.unwrap_or(PATIENCE),
            clock,
            interrupter: tools.interrupter,
            sources: &sources,
        };
        let (written, taken_as_empty) = marks::begin(targets, &self.marks, longest(span));
        taken_as_empty.into_iter().for_each(|words| (self.on_event)(Event::Note(words)));
        let run = || run_threads(&planned.lanes, &context, &control);
        let on_event = self.on_event;
        let tell = |index: usize, other: &OtherRun| {
            if other.writes {
                on_event(Event::Warning(beside::words(&targets[index], other)));
            }
        };
        let watched = if planned.is_virtual { &[][..] } else { &targets[..] };
        let watched: Vec<Identity> = watched.iter().map(TargetState::identity).collect();
        let watch = Watch { targets: &watched, roots: &self.roots, tell: &tell };
        let (outcome, kept) = keeping(&mut self.custody, &watch, self.stop, run);
        if !planned.is_virtual {
            self.keep_beside(targets, &kept.beside);
            beside::add(&mut beside, kept.beside);
            beside::add(&mut beside, self.look_beside(targets));
        }
        self.custody.devices_are_written();
        targets.iter().for_each(TargetState::drop_stale_pages);
        looks.iter_mut().zip(targets).for_each(|(look, state)| look.look_after(state.file()));
        let again =
            |seen: Vec<loop_caches::Seen>| seen.into_iter().filter_map(|one| one.look_after()).collect();
        let loop_caches = loop_caches.into_iter().map(again).collect();
        written.end(&self.marks, &self.roots).iter().for_each(|words| self.warn(words));
        let losses = losses(&standings, targets, &self.roots);
        if let Some(identity) = kept.lost {
            return Err(vec![taken(planned, identity)]);
        }
        let outcome = outcome.map_err(|e| {
            let failure = Failure::new(FailureKind::Thread, "could not start the threads");
            vec![failure.because(system_text(&e)).hint("raise the limit of processes or open files")]
        })?;
        let own_cost = document::own_cost(&used);
        Ok(After { outcome, self_cost, looks, loop_caches, losses, own_cost, beside })
    }

    /// Where a time span stands in the profile.
    fn place(&self, index: usize) -> Place {
        let spans = &self.profile.time_spans;
        let later_ns = spans[index + 1..].iter().map(|span| Lengths::of(span).all_ns()).sum();
        Place { span: index + 1, spans: spans.len(), later_ns }
    }

    /// Failures, or the numbers with their evidence and what should be said about them.
    fn conclude(&mut self, planned: &Planned<'_>, after: After) -> Result<Option<Measured>, Failures> {
        let Planned { span, targets, lanes, clock, is_virtual, .. } = planned;
        let After { outcome, self_cost, looks, loop_caches, losses, own_cost, beside } = after;
        for (state, losses) in targets.iter().zip(&losses) {
            let told = losses.iter().map(|loss| loss.sentence(&state.typed));
            self.report.document.warnings.extend(told);
        }
        let mut failures: Failures = outcome.start_failures.iter().cloned().map(Failure::from).collect();
        for (thread, outcome) in &outcome.outcomes {
            failures.extend(outcome.failures.iter().map(|f| document::failure_of(*thread, f, span)));
            // Those of the measured time are told by their targets.
            let never: u64 = outcome.late.iter().map(|late| late.never).sum();
            if u64::from(outcome.stuck) > never {
                self.report.notes.push(Note::worth_telling(format!(
                    "thread {thread}: {} I/Os neither completed nor could be cancelled",
                    outcome.stuck
                )));
            }
        }
        if !failures.is_empty() {
            return Err(failures);
        }
        if outcome.measured_ns == 0 {
            return Ok(None);
        }
        let drift_ppm = outcome.drift_ppm;
        let common_start = outcome.common_start;
        if drift_ppm.abs() > DRIFT_PPM_NOTABLE {
            self.report.document.warnings.push(format!(
                "the clock drifted by {drift_ppm:.0} parts per million from CLOCK_MONOTONIC during the run: rates and \
                 times are wrong by the same amount"
            ));
        }
        let topology = &self.report.document.system.topology;
        let apart = if outcome.placed.is_empty() {
            None
        } else {
            nodes::note(&outcome.placed, &nodes::Rules::read(&self.roots))
        };
        let (mut measured, notes) =
            document::measured(span, Wanted::of(span), lanes, targets, outcome, topology);
        // The engine is news where a better one could not be had.
        let is_usual = measured.engine_notes.is_empty();
        let engine =
            [format!("engine: {}", measured.engine)].into_iter().chain(measured.engine_notes.clone());
        self.report.notes.extend(engine.map(|words| Note { words, is_detail: is_usual }));
        self.report.notes.extend(notes.into_iter().chain(apart));
        self.report.document.warnings.extend(document::short_transfer_words(span, &measured.threads));
        self.report.document.warnings.extend(document::stall_words(&measured));
        let evidence = &mut measured.evidence;
        evidence.clock = Some(document::clock_facts(clock, *is_virtual, drift_ppm));
        evidence.own_cost = Some(own_cost);
        evidence.common_start = common_start;
        evidence.self_cost = self_cost;
        if *is_virtual {
            // No simulated I/O reaches what lies below a target.
            evidence.targets.iter_mut().for_each(|t| t.layers.clear());
        } else {
            evidence.limits = facts::limits(targets.iter().map(|t| &t.chain[..]), &self.roots);
        }
        evidence.targets.iter_mut().zip(looks).for_each(|(facts, look)| look.tell(facts));
        evidence.targets.iter_mut().zip(loop_caches).for_each(|(facts, seen)| facts.loop_caches = seen);
        evidence.targets.iter_mut().zip(losses).for_each(|(facts, losses)| facts.losses = Some(losses));
        for (facts, runs) in evidence.targets.iter_mut().zip(beside) {
            facts.other_runs = runs.into_iter().map(beside::shown).collect();
        }
        Ok(Some(measured))
    }
}

/// Waits for the event of `-yr` and for the other processes; none when the run is stopped or called off.
fn wait_for_start(time_span: usize, options: &Options, tools: &Tools, stop: &Latch) -> Option<Start> {
    if !tools.handles.wait_for_start(stop) {
        return None;
    }
    match &options.companions {
        None => Some(Start::Now),
        Some(companions) => companions.start(time_span).ok().map(Start::At),
    }
}

/// What others did to each target since `before`.
fn losses(before: &[Standing], targets: &[TargetState], roots: &Roots) -> Vec<Vec<Loss>> {
    let lost = |(before, state): (&Standing, &TargetState)| before.lost_until(&Standing::of(state, roots));
    before.iter().zip(targets).map(lost).collect()
}

/// Why a run ends whose device somebody else has taken.
fn taken(planned: &Planned<'_>, identity: Identity) -> Failure {
    let state = planned.targets.iter().find(|state| state.identity() == identity);
    let path = state.map_or("a device", |state| &state.typed);
    let words = format!(
        "another program took '{path}' when an earlier run on it ended, so this run was stopped; lsblk shows who uses it"
    );
    Failure::new(FailureKind::Lost, words).on(path)
}

/// A disk that hangs is reset after half a minute (NVMe, SCSI), and answers then.
const PATIENCE: Duration = Duration::from_secs(60);

/// More drift of the clock than this is worth a warning: it is a tenth of the error that measured times may have.
/// Less of it is usual, after a calibration of a few milliseconds on a busy machine or from time synchronisation.
const DRIFT_PPM_NOTABLE: f64 = 100.0;

/// Threads may end late, so the mark of a file allows writes this much longer than the run should take. A later
/// write counts as somebody else's.
const LATE: Duration = Duration::from_secs(60);

/// How long a time span can write at most.
fn longest(span: &TimeSpan) -> Duration {
    let phases = [span.warmup_s, span.duration_s, span.cooldown_s];
    phases.iter().map(|&s| Duration::from_secs(u64::from(s))).sum::<Duration>() + LATE
}
