//! One time span, step by step: files, open targets, lanes, looks, threads, evidence; and what `-v` tells of it before
//! it starts.

use std::sync::Arc;
use std::time::Duration;

use super::activity::Sources;
use super::bare::self_cost;
use super::content::{self, LoopCacheSeen, look_before};
use super::context::{Event, Failures, Note, Options, Run};
use super::controller::{SpanOutcome, run_threads};
use super::counters::{Tables, Wanted};
use super::drives::Drives;
use super::fill::Content;
use super::other_runs::{self, Watch, keeping};
use super::phases::Lengths;
use super::prepare::{self, Checked, Creation};
use super::progress::Place;
use super::ranks::{CalledOff, Maker};
use super::rounds::Board;
use super::span::{MemoryRules, Span, node_note};
use super::targets::{self, Standing, TargetState};
use super::verify_log::Log;
use super::{document, facts, verified};
use crate::guard::{Guard, OtherRun};
use crate::measure::clock::{Clock, MachineClock};
use crate::measure::cpu::process_usage;
use crate::plan::{Lane, LaneInputs, LaneTarget, LaneWrites, PlannedTarget, ThreadWork, assign, lanes};
use crate::profile::{BufferSeparation, IoPriority, Size, Target, TimeSpan};
use crate::result::{Loss, Measured, SelfCost};
use truespd_platform::fault::{Failure, FailureKind};
use truespd_platform::machine::chain;
use truespd_platform::machine::storage::{TargetKind, resolve};
use truespd_platform::sys::error::system_text;
use truespd_platform::sys::identity::Identity;
use truespd_platform::sys::thread::{Interrupter, ranges};

impl<'p> Run<'p> {
    /// Runs one time span of the profile; `None` when nothing was measured.
    pub fn run_span(
        &mut self,
        index: usize,
        checked: &Checked,
        interrupter: Interrupter,
    ) -> Result<Option<Measured>, Failures> {
        let asked = &self.profile.time_spans[index];
        self.create_files(asked)?;
        if self.stop.is_set() {
            return Ok(None);
        }
        let targets = self.open_targets(asked, checked)?;
        let mut span = self.plan(index, targets, checked, interrupter)?;
        span.maps = verified::maps(asked, &span.targets, self.options, self.clock.now_ns())
            .map_err(|failure| vec![failure])?;
        span.log = verified::log(&span.maps, self.options, self.stop).map_err(|failure| vec![failure])?;
        self.look_before(&mut span);
        let (outcome, losses) = self.run_threads(&mut span)?;
        let written_back = if span.is_virtual { Ok(()) } else { self.write_back(asked, &span.targets) };
        let maps = std::mem::take(&mut span.maps);
        let log = span.log.take();
        let proven = verified::conclude(&span.targets, maps, log.as_ref(), &outcome);
        // The log is whole also where the last flush failed: it has what was durable by then.
        let closed = log.map_or(Ok(None), Log::close);
        let proven = proven?;
        if let Some(words) = closed.map_err(|failure| vec![failure])? {
            self.warn(&words);
        }
        for done in &proven {
            verified::words(done).into_iter().for_each(|words| self.note(words));
        }
        let mut measured = self.conclude(span, outcome, losses)?;
        if let Some(measured) = &mut measured {
            measured.verified = proven;
        }
        self.report.failures.extend(written_back.err().unwrap_or_default());
        Ok(measured)
    }

    /// Makes the files of `-c`.
    fn create_files(&mut self, span: &TimeSpan) -> Result<(), Failures> {
        for target in &span.targets {
            if self.stop.is_set() {
                break;
            }
            if prepare::made_bytes(target) > 0 && !self.precreated.contains(&target.path) {
                self.create(&Creation::of(target, span))?;
            }
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
        let companions = self.options.ranks.as_deref();
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
                if let Some(made) = &made {
                    self.custody.add(made);
                    self.made.extend(made.made_anew(&self.roots));
                }
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
        let guard = Guard { consent: self.options.consent(), marks: &self.marks, roots: &self.roots };
        let separation_bytes = self.separation_bytes(span);
        let checked = &checked.things;
        let targets = targets::open_all(span, &guard, checked, separation_bytes, &mut self.custody)?;
        for (target, state) in span.targets.iter().zip(&targets) {
            let (path, size) = (&target.path, state.facts.size_bytes);
            let by_id = resolve(path, &self.roots).ok().and_then(|r| r.by_id);
            let by_id = by_id.map(|p| p.display().to_string());
            self.say(target_words(target, state, by_id.as_deref()));
            priority_words(target, state).into_iter().for_each(|words| self.say(words));
            if let Some(unseen) = state.unseen() {
                self.note(format!("'{path}': {unseen}"));
            }
            if state.planned.range.is_limit_beyond_size() {
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
        interrupter: Interrupter,
    ) -> Result<Span<'p>, Failures> {
        let spans = &self.profile.time_spans;
        let asked = &spans[index];
        let engine = self.options.engine.as_ref().map(|(row, parameters)| (*row, parameters.as_str()));
        let huge_page_bytes = prepare::huge_page_bytes(&self.roots);
        let planned = planned(&targets);
        let inputs = LaneInputs { span: asked, targets: &planned, engine, huge_page_bytes };
        let lanes = lanes(assign(asked, &checked.cpus), &inputs).map_err(|failure| vec![failure])?;
        let is_virtual = engine.is_some_and(|(row, _)| row.simulates_time);
        let topology = &self.report.document.system.topology;
        let (lengths, wanted) = (Lengths::of(asked), Wanted::of(asked));
        let latencies = if wanted.latency {
            let has_schedule = asked.targets.iter().any(Target::is_rate_limited);
            Tables::new(&lengths, lanes.len(), topology.processors.len(), has_schedule)
        } else {
            Tables::none()
        };
        let board = lengths.rounds.map(|rounds| Arc::new(Board::new(rounds, lanes.len(), is_virtual)));
        let later_ns = spans[index + 1..].iter().map(|span| Lengths::of(span).all_ns()).sum();
        let span = Span {
            asked,
            place: Place { span: index + 1, spans: spans.len(), later_ns },
            lengths,
            wanted,
            progress_ios: self.profile.progress_ios,
            verbose_stats: self.profile.verbose_stats,
            targets,
            lanes,
            processors: checked.cpus.clone(),
            separation_bytes: self.separation_bytes(asked),
            is_virtual,
            several_nodes: (topology.nodes > 1 && !is_virtual).then(|| topology.clone()),
            latencies,
            maps: Vec::new(),
            log: None,
            board,
            options: self.options,
            on_event: self.on_event,
            stop: self.stop,
            handles: self.handles,
            clock: self.clock.refined(),
            interrupter,
            sources: Sources::default(),
            self_cost: None,
            looks: Vec::new(),
            loop_caches: Vec::new(),
            standings: Vec::new(),
            drives: None,
            other_runs: Vec::new(),
            used: process_usage(),
        };
        self.say_threads(&span);
        Ok(span)
    }

    /// How far apart the buffers of a time span lie on this machine.
    fn separation_bytes(&self, span: &TimeSpan) -> u64 {
        let wanted = span.buffer_separation().unwrap_or(BufferSeparation::SystemDefault);
        self.report.document.system.separation_bytes(wanted).unwrap_or(0)
    }

    /// What the threads are about to do, when somebody wants to know.
    fn say_threads(&self, span: &Span<'_>) {
        if !self.profile.verbose {
            return;
        }
        span.say(clock_words(&span.clock));
        // Large pages win (`release-2.3.md` §1.4).
        if span.separation_bytes > 0 && span.asked.targets.iter().any(|target| !target.large_pages) {
            span.say(format!("buffers begin at multiples of {}", Size(span.separation_bytes)));
        }
        for lane in &span.lanes {
            span.say(thread_words(&lane.work));
            for target in &lane.targets {
                span.say(share_words(lane, target, &span.asked.targets[target.duty.target]));
            }
        }
    }

    /// Measures what the program itself costs, and looks at what is to be tested.
    fn look_before(&mut self, span: &mut Span<'_>) {
        if !span.is_virtual {
            let (roots, targets) = (&self.roots, &span.targets);
            span.sources = Sources::open(targets.iter().map(|t| &t.chain[..]), roots);
            let ranks = self.options.ranks.as_ref();
            span.sources.share_with(ranks.map(|ranks| ranks.processes()).unwrap_or_default());
            span.self_cost = self_cost(span.asked, &span.lanes, &planned(targets), &span.clock);
            if let Some(cost) = &span.self_cost {
                span.say(cost_words(cost));
            }
            span.looks = look_before(span.asked, targets, &span.lanes);
            let chains: Vec<&[chain::Layer]> = targets.iter().map(|state| &state.chain[..]).collect();
            span.loop_caches = content::look_at_loops(&chains, roots);
            span.standings = targets.iter().map(|state| Standing::of(state, roots)).collect();
            let engine = self.options.engine.as_ref();
            if engine.is_none_or(|(row, _)| row.moves_data) {
                span.drives = Some(Drives::look_before(targets.iter().map(|t| &t.chain[..]), roots));
            }
            span.other_runs = self.look_for_other_runs(&span.targets);
        }
        span.used = process_usage();
    }

    /// Runs the threads. Meanwhile the marks of our files say that a run writes them, and devices are kept from others.
    /// Also what others did to each target.
    fn run_threads(&mut self, span: &mut Span<'_>) -> Result<(SpanOutcome, Vec<Vec<Loss>>), Failures> {
        let targets = &span.targets;
        let on_event = self.on_event;
        let written = targets::begin_marks(targets, &self.marks, longest(span.asked), on_event);
        let tell = |index: usize, other: &OtherRun| {
            if other.writes {
                on_event(Event::Warning(other_runs::words(&targets[index], other)));
            }
        };
        let watched = if span.is_virtual { &[][..] } else { &targets[..] };
        let watched: Vec<Identity> = watched.iter().map(|state| state.identity).collect();
        let watch = Watch { targets: &watched, roots: &self.roots, tell: &tell };
        let (outcome, kept) = keeping(&mut self.custody, &watch, self.stop, || run_threads(span));
        if !span.is_virtual {
            self.keep_other_runs(targets, &kept.runs);
            other_runs::add(&mut span.other_runs, kept.runs);
            other_runs::add(&mut span.other_runs, self.look_for_other_runs(targets));
        }
        span.drives.iter_mut().for_each(Drives::look_after);
        self.custody.devices_are_written();
        targets.iter().for_each(TargetState::drop_stale_pages);
        for (look, state) in span.looks.iter_mut().zip(targets) {
            look.look_after(&state.file);
        }
        for seen in &mut span.loop_caches {
            seen.retain_mut(LoopCacheSeen::look_after);
        }
        for (state, writing) in &written {
            if let Some(words) = targets::end_mark(state, writing, &self.marks, &self.roots) {
                self.warn(&words);
            }
        }
        let mut losses = Vec::new();
        for (before, state) in span.standings.iter().zip(targets) {
            losses.push(before.lost_until(&Standing::of(state, &self.roots)));
        }
        if let Some(identity) = kept.lost {
            return Err(vec![taken(targets, identity)]);
        }
        let outcome = outcome.map_err(|e| {
            let failure = Failure::new(FailureKind::Thread, "could not start the threads");
            vec![
                failure
                    .because(system_text(&e))
                    .hint("raise the limits of processes and open files (ulimit -u, ulimit -n)"),
            ]
        })?;
        self.has_begun |= outcome.start_failures.is_empty();
        Ok((outcome, losses))
    }

    /// Failures, or the numbers with their evidence and what should be said about them.
    fn conclude(
        &mut self,
        span: Span<'_>,
        outcome: SpanOutcome,
        losses: Vec<Vec<Loss>>,
    ) -> Result<Option<Measured>, Failures> {
        let own_cost = document::own_cost(&span.used);
        for (state, losses) in span.targets.iter().zip(&losses) {
            let sentences = losses.iter().map(|loss| loss.sentence(&state.typed));
            self.report.document.warnings.extend(sentences);
        }
        let mut failures: Failures = outcome.start_failures.iter().cloned().map(Failure::from).collect();
        for (thread, outcome) in &outcome.outcomes {
            for failure in &outcome.failures {
                failures.push(document::failure_of(*thread, failure, span.asked, self.profile.release));
            }
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
        if outcome.cut.measured_ns == 0 {
            return Ok(None);
        }
        let drift_ppm = outcome.drift_ppm;
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
            node_note(&outcome.placed, &MemoryRules::read(&self.roots))
        };
        let (mut measured, notes) = document::measured(&span, outcome, topology);
        // The engine is news where a better one could not be had.
        let is_usual = measured.engine_notes.is_empty();
        let engine =
            [format!("engine: {}", measured.engine)].into_iter().chain(measured.engine_notes.clone());
        self.report.notes.extend(engine.map(|words| Note { words, is_detail: is_usual }));
        self.report.notes.extend(notes.into_iter().chain(apart));
        self.report.document.warnings.extend(document::short_transfer_words(span.asked, &measured.threads));
        self.report.document.warnings.extend(document::stall_words(&measured));
        let evidence = &mut measured.evidence;
        evidence.clock = Some(document::clock_facts(&span.clock, span.is_virtual, drift_ppm));
        evidence.own_cost = Some(own_cost);
        evidence.self_cost = span.self_cost;
        if span.is_virtual {
            // No simulated I/O reaches what lies below a target.
            evidence.targets.iter_mut().for_each(|t| t.layers.clear());
            return Ok(Some(measured));
        }
        evidence.drives = span.drives.map(Drives::tell);
        evidence.limits = facts::limits(span.targets.iter().map(|t| &t.chain[..]), &self.roots);
        let seen = span.looks.into_iter().zip(span.loop_caches).zip(span.other_runs).zip(losses);
        for (facts, (((look, loop_caches), other_runs), losses)) in evidence.targets.iter_mut().zip(seen) {
            look.tell(facts);
            facts.loop_caches = loop_caches.into_iter().map(|seen| seen.cache).collect();
            facts.losses = Some(losses);
            facts.other_runs = other_runs.into_iter().map(other_runs::shown).collect();
        }
        Ok(Some(measured))
    }
}

/// What the targets are to lanes.
fn planned(targets: &[TargetState]) -> Vec<&PlannedTarget> {
    targets.iter().map(|state| &state.planned).collect()
}

/// Why a run ends whose device somebody else has taken.
fn taken(targets: &[TargetState], identity: Identity) -> Failure {
    let state = targets.iter().find(|state| state.identity == identity);
    let path = state.map_or("a device", |state| &state.typed);
    let words = format!(
        "another program took '{path}' when an earlier run on it ended, so this run was stopped; lsblk shows who \
         uses it"
    );
    Failure::new(FailureKind::Lost, words).on(path)
}

/// More drift of the clock than this is worth a warning: it is a tenth of the error that measured times may have.
/// Less of it is usual, after a calibration of a few milliseconds on a busy machine or from time synchronisation.
const DRIFT_PPM_NOTABLE: f64 = 100.0;

/// Threads may end late, so the mark of a file allows writes this much longer than the run should take. A later
/// write counts as somebody else's.
const LATE: Duration = Duration::from_secs(60);

/// How long a time span can write at most.
fn longest(span: &TimeSpan) -> Duration {
    Duration::from_secs(span.all_s_max()) + LATE
}

/// What the target turned out to be; `by_id` is the lasting name of `#n`.
fn target_words(target: &Target, state: &TargetState, by_id: Option<&str>) -> String {
    let facts = &state.facts;
    let mut words = format!("target '{}'", target.path);
    let path = state.path.display().to_string();
    if path != target.path {
        words.push_str(&format!(" is {path}"));
    }
    if let Some(by_id) = by_id {
        words.push_str(&format!(" ({by_id})"));
    }
    words.push_str(match facts.kind {
        TargetKind::Regular => ": file",
        TargetKind::Block => ": block device",
    });
    words.push_str(&format!(", {} ({} bytes)", Size(facts.size_bytes), facts.size_bytes));
    match (&facts.filesystem, &facts.device_name) {
        (Some(filesystem), Some(device)) => words.push_str(&format!(", {} on {device}", filesystem.name)),
        (Some(filesystem), None) => words.push_str(&format!(", {}", filesystem.name)),
        (None, Some(device)) if !path.ends_with(device.as_str()) => words.push_str(&format!(", {device}")),
        _ => {}
    }
    if let Some(direct) = facts.direct
        && target.is_direct()
    {
        words.push_str(&format!(", direct I/O in multiples of {} bytes", direct.offset_bytes));
    }
    if let Some(scheduler) = &facts.scheduler {
        words.push_str(&format!(", scheduler {scheduler}"));
    }
    words
}

/// A note if the priority of `-I` has no effect on the target.
fn priority_words(target: &Target, state: &TargetState) -> Option<String> {
    let name = state.facts.scheduler.as_deref().unwrap_or("none");
    let ignored = target.priority != IoPriority::Normal && !matches!(name, "bfq" | "mq-deadline");
    ignored.then(|| {
        format!("'{}': the scheduler '{name}' of its device ignores the I/O priority (-I)", target.path)
    })
}

/// The clock that stamps I/Os.
fn clock_words(clock: &MachineClock) -> String {
    let facts = clock.describe();
    let why =
        facts.why_not_counter.map(|why| format!("; not the processor's counter: {why}")).unwrap_or_default();
    format!("clock: {}, {:.0} ns a stamp{why}", facts.name, facts.cost_ns)
}

/// What the program itself costs here.
fn cost_words(cost: &SelfCost) -> String {
    let each = cost.loads.iter().map(|load| {
        let threads = ranges(&load.threads);
        format!("; {:.0} ns per I/O of thread {threads}", load.generator_ns)
    });
    let (stamp, record) = (cost.stamp_ns, cost.record_ns);
    format!("own cost: {stamp:.0} ns a stamp, {record:.0} ns to record a latency{}", each.collect::<String>())
}

/// What a thread is about to do, without its targets.
fn thread_words(work: &ThreadWork) -> String {
    let place = work.cpu.map_or("not pinned".to_string(), |cpu| format!("on processor {cpu}"));
    let pool = if work.is_pool { " over all its targets" } else { "" };
    format!("thread {}: {place}, seed {}, {} outstanding{pool}", work.id, work.seed, work.slots)
}

/// What a thread does on one of its targets, which is `asked` in the profile.
fn share_words(lane: &Lane, target: &LaneTarget, asked: &Target) -> String {
    let first = asked.thread_stride_bytes.saturating_mul(u64::from(target.duty.relative_thread));
    let start = first.saturating_add(asked.base_bytes);
    let requests = match (lane.work.is_pool, lane.targets.len()) {
        (true, _) => format!(", weight {}", target.duty.weight),
        (false, 1) => String::new(),
        (false, _) => format!(", {} outstanding", target.duty.requests),
    };
    format!(
        "thread {}: '{}' {}, {}{requests}{}",
        lane.work.id,
        asked.path,
        mix_words(asked),
        pattern_words(asked, start),
        content_words(target.writes, asked)
    )
}

fn mix_words(target: &Target) -> String {
    let block = Size(target.block_bytes);
    let trims = target.trim_percent;
    match target.write_percent {
        _ if trims >= 100 => format!("trims of {block}"),
        0 if trims > 0 => format!("I/Os of {block}, {trims} % trims, the others reads"),
        percent if trims > 0 => {
            format!("I/Os of {block}, {trims} % trims, of the others {percent} % writes")
        }
        0 => format!("reads of {block}"),
        100 => format!("writes of {block}"),
        percent => format!("I/Os of {block}, {percent} % writes"),
    }
}

fn pattern_words(target: &Target, start_bytes: u64) -> String {
    let stride = Size(target.stride());
    let distribution = if target.distribution.is_some() { " by a distribution" } else { "" };
    match target.random_percent {
        100 => format!("random{distribution} at multiples of {stride}"),
        0 if target.interlocked => format!("sequential in steps of {stride} shared by all threads"),
        0 if target.parallel => {
            format!("sequential from {start_bytes} in steps of {stride}, each request by itself")
        }
        0 => format!("sequential from {start_bytes} in steps of {stride}"),
        percent => {
            format!("{percent} % random{distribution} at multiples of {stride}, sequential otherwise")
        }
    }
}

fn content_words(writes: LaneWrites, target: &Target) -> String {
    match writes {
        LaneWrites::None => String::new(),
        LaneWrites::Pattern { .. } => ", writes the bytes 0 to 255 in turn".to_string(),
        LaneWrites::Zero => ", writes zeros".to_string(),
        LaneWrites::Random => ", writes new random bytes each time".to_string(),
        LaneWrites::Source(_) => {
            let from = target.write_source_path.as_deref().filter(|p| !p.is_empty());
            let from = from.map_or("of random bytes".to_string(), |path| format!("from '{path}'"));
            format!(", writes windows of {} {from}", Size(target.write_source_bytes))
        }
    }
}

#[cfg(test)]
mod tests_verbose {
    use super::*;
    use crate::access::SourceWindow;

    #[test]
    fn patterns_in_words() {
        let target = |edit: &dyn Fn(&mut Target)| {
            let mut target = Target { block_bytes: 4096, ..Target::default() };
            edit(&mut target);
            target
        };
        let of = |edit: &dyn Fn(&mut Target)| pattern_words(&target(edit), 8192);
        assert_eq!(of(&|_| ()), "sequential from 8192 in steps of 4KiB");
        assert_eq!(of(&|t| t.interlocked = true), "sequential in steps of 4KiB shared by all threads");
        assert_eq!(of(&|t| t.random_percent = 100), "random at multiples of 4KiB");
        assert_eq!(of(&|t| t.random_percent = 30), "30 % random at multiples of 4KiB, sequential otherwise");
        assert_eq!(mix_words(&target(&|t| t.write_percent = 30)), "I/Os of 4KiB, 30 % writes");
    }

    #[test]
    fn contents_in_words() {
        let mut target = Target { write_source_bytes: 1 << 20, ..Target::default() };
        assert_eq!(content_words(LaneWrites::None, &target), "");
        let pattern = LaneWrites::Pattern { first: 0 };
        assert_eq!(content_words(pattern, &target), ", writes the bytes 0 to 255 in turn");
        assert_eq!(content_words(LaneWrites::Random, &target), ", writes new random bytes each time");
        let source = LaneWrites::Source(SourceWindow::new(1 << 20, 4096, 1).expect("it fits"));
        assert_eq!(content_words(source, &target), ", writes windows of 1MiB of random bytes");
        target.write_source_path = Some("seed".into());
        assert_eq!(content_words(source, &target), ", writes windows of 1MiB from 'seed'");
    }
}
