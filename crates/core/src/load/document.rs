//! From the results of the workers to the document.

use super::context::Note;
use super::controller::SpanOutcome;
use super::counters::{processors, timeline};
use super::facts;
use super::span::Span;
use super::worker::{FailureKind, IoFailure, Late, Outcome};
use crate::access::{EffectiveRange, Places, Skew};
use crate::engine::Op;
use crate::measure::cpu::{
    ProcessUsage, STEAL_PERCENT_NOTABLE, cost, process_usage, steal_percent, steal_worst_percent, usage,
};
use crate::measure::{Histogram, MachineClock};
use crate::plan::Lane;
use crate::profile::{Arrivals, Release, Throughput, TimeSpan};
use crate::result::{
    ClockFacts, CpuUse, DispatchInEffect, DistributionPart, Evidence, InEffect, Measured, Outstanding,
    OwnCost, QueueDepth, Rounds, SkewResult, TargetFacts, TargetResult, ThreadResult,
};
use truespd_platform::fault::{self, Failure};
use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::topology::Topology;
use truespd_platform::text::grouped;

/// The numbers of a time span, and sentences for standard error.
pub fn measured(span: &Span<'_>, outcome: SpanOutcome, topology: &Topology) -> (Measured, Vec<Note>) {
    let mut notes = Vec::new();
    let cut = outcome.cut;
    let test_time_s = cut.measured_ns as f64 / 1e9;
    let cpus: Vec<u32> = topology.processors.iter().map(|p| p.cpu).collect();
    let (mut stolen, mut stolen_most) = (None, None);
    let cpu = match &outcome.cpu {
        Some((before, after)) => {
            let shares = usage(before, after, &cpus);
            let steal = steal_percent(&shares);
            (stolen, stolen_most) = (Some(steal), Some(steal_worst_percent(&shares)));
            if steal > STEAL_PERCENT_NOTABLE {
                notes.push(Note::worth_telling(format!(
                    "other virtual machines on this host took {steal:.1} % of the processor time (steal)"
                )));
            }
            shares.iter().map(|s| CpuUse { user: s.user, kernel: s.kernel, idle: s.idle }).collect()
        }
        None => vec![CpuUse { user: 0.0, kernel: 0.0, idle: 100.0 }; cpus.len()],
    };
    let in_flight: u128 = outcome.outcomes.iter().map(|(_, o)| o.in_flight_ns).sum();
    let (series, fine_series) = timeline(outcome.outcomes.iter().map(|(_, o)| &o.buckets), cut).unzip();
    let processors = processors(outcome.outcomes.iter().map(|(id, o)| (*id, &o.buckets)), cut);
    let outstanding = outstanding(&outcome.outcomes, span);
    let costs = outcome.outcomes.iter().filter_map(|(_, o)| o.cost).collect();
    let mut threads = Vec::with_capacity(outcome.outcomes.len());
    for (id, of_thread) in outcome.outcomes {
        threads.push(thread(id, of_thread, cut.measured_ns, span));
    }
    let in_effect = in_effect(span, threads.len());
    let depth = queue_depth(&span.lanes, &threads, in_flight, cut.measured_ns, !outstanding.is_empty());
    notes.push(Note::detail(queue_depth_words(&depth)));
    notes.extend(rounds_words(outcome.rounds.as_ref(), span.asked).map(Note::worth_telling));
    notes.extend(arrivals_words(&threads, span, test_time_s).into_iter().map(Note::worth_telling));
    notes.extend(skew_words(&threads, span).into_iter().map(Note::worth_telling));
    notes.extend(response_words(&threads).into_iter().map(Note::worth_telling));
    let bound_threads = outcome.placed.into_iter().map(|placed| placed.thread).collect();
    let mut evidence = outcome.evidence;
    if let Some(host) = &mut evidence.host {
        (host.steal_percent, host.steal_worst_percent) = (stolen, stolen_most);
    }
    let targets = span.targets.iter();
    let targets: Vec<TargetFacts> = targets
        .map(|state| TargetFacts {
            identity: state.thing.clone(),
            ..facts::of_target(&state.typed, &state.path, &state.facts, &state.chain)
        })
        .collect();
    let is_above_disks = targets.iter().any(|target| target.last_visible().is_some());
    let evidence = Evidence {
        targets,
        kernel_devices: if is_above_disks { facts::kernel_devices(&Roots::default()) } else { None },
        queue_depth: Some(depth),
        outstanding: Some(outstanding),
        series,
        fine_series: fine_series.flatten(),
        processors,
        bound_threads,
        threads: costs,
        ..evidence
    };
    let measured = Measured {
        test_time_s,
        cpu,
        threads,
        engine: outcome.engine.to_string(),
        engine_traits: outcome.engine_traits,
        engine_notes: outcome.engine_notes,
        latency_over_time: outcome.latencies,
        response_over_time: outcome.responses,
        rounds: outcome.rounds,
        verified: Vec::new(),
        in_effect: Some(in_effect),
        evidence,
    };
    (measured, notes)
}

/// The settings as the threads had them.
fn in_effect(span: &Span<'_>, threads: usize) -> InEffect {
    let lanes = span.lanes.iter().map(|lane| DispatchInEffect {
        submit_batch: lane.dispatch.submit_batch,
        completion_depth: lane.dispatch.reap_batch,
    });
    InEffect {
        processors: span.processors.iter().copied().take(threads).collect(),
        buffer_separation_bytes: span.separation_bytes,
        dispatch: lanes.collect(),
    }
}

/// The clock that gave the stamps.
pub fn clock_facts(clock: &MachineClock, is_virtual: bool, drift_ppm: f64) -> ClockFacts {
    if is_virtual {
        let name = "virtual".to_string();
        return ClockFacts { name, stamp_cost_ns: 0.0, why_not_counter: None, drift_ppm: 0.0 };
    }
    let facts = clock.describe();
    ClockFacts {
        name: facts.name.to_string(),
        stamp_cost_ns: facts.cost_ns,
        why_not_counter: facts.why_not_counter,
        drift_ppm,
    }
}

/// What the tool itself used since `before`.
pub fn own_cost(before: &ProcessUsage) -> OwnCost {
    let used = cost(before, &process_usage());
    OwnCost {
        user_ns: used.user_ns,
        system_ns: used.system_ns,
        resident_bytes_max: used.resident_bytes_max,
        faults_minor: used.faults_minor,
        faults_major: used.faults_major,
        switches_voluntary: used.switches_voluntary,
        switches_involuntary: used.switches_involuntary,
    }
}

/// I/Os that the end of the measured time found out and that were out for long, by path.
fn outstanding(outcomes: &[(u32, Outcome)], span: &Span<'_>) -> Vec<Outstanding> {
    let mut by_path: Vec<(&str, Late)> = Vec::new();
    for (id, outcome) in outcomes {
        let targets = &span.lanes[*id as usize].targets;
        for (target, late) in targets.iter().zip(&outcome.late).filter(|(_, late)| late.ios > 0) {
            let path = span.targets[target.duty.target].typed.as_str();
            match by_path.iter_mut().find(|(known, _)| *known == path) {
                Some((_, sum)) => *sum = sum.plus(*late),
                None => by_path.push((path, *late)),
            }
        }
    }
    let told = by_path.into_iter().map(|(path, late)| {
        let Late { ios, broken_off, never, age_ns_max, measured_ns, late_ns_max } = late;
        let path = path.to_string();
        Outstanding { path, ios, broken_off, never, age_ns_max, measured_ns, late_ns_max }
    });
    told.collect()
}

/// Mean number of I/Os in flight against the number asked for: by Little's law where the latency is known,
/// unless I/Os are missing in it because they did not end in the measured time.
fn queue_depth(
    lanes: &[Lane],
    threads: &[ThreadResult],
    in_flight_ns: u128,
    measured_ns: u64,
    has_outstanding: bool,
) -> QueueDepth {
    let asked: u64 = lanes.iter().map(|lane| u64::from(lane.work.slots)).sum();
    let targets = threads.iter().flat_map(|t| &t.targets);
    let directions = targets.flat_map(|t| [&t.read, &t.write].into_iter().chain(&t.flush).chain(&t.trim));
    let latencies: Vec<_> = directions.filter_map(|d| d.latency.as_ref()).collect();
    let from_latency = !latencies.is_empty() && !has_outstanding;
    let sum_ns =
        if !from_latency { in_flight_ns as f64 } else { latencies.iter().map(|h| h.sum_ns() as f64).sum() };
    QueueDepth { asked, reached: sum_ns / measured_ns.max(1) as f64, from_latency }
}

fn queue_depth_words(depth: &QueueDepth) -> String {
    let how = if depth.from_latency { "IOPS x mean latency" } else { "I/Os in flight, counted" };
    format!("queue depth: asked for {}, reached {:.2} on average ({how})", depth.asked, depth.reached)
}

/// Which rounds are the result (`--until-steady`).
fn rounds_words(rounds: Option<&Rounds>, span: &TimeSpan) -> Option<String> {
    let (rounds, rule) = (rounds?, span.until_steady?);
    let number = rounds.rounds.len();
    let round_s = rounds.round_s;
    if rounds.is_steady {
        let first = rounds.window_first + 1;
        return Some(format!(
            "steady after {number} rounds of {round_s} s: the result is rounds {first} to {number} ({})",
            rounds.words()
        ));
    }
    if number >= rule.rounds as usize {
        return Some(format!(
            "not steady after {number} rounds of {round_s} s, which is the limit: the result is the last {} ({})",
            rule.window,
            rounds.words()
        ));
    }
    Some(format!(
        "stopped in round {}, before the rounds of {round_s} s were steady: the result is what was measured of the \
         last {}",
        number + 1,
        rule.window
    ))
}

/// Arrivals at random (`--arrivals poisson`): what was asked for, what was drawn, and what completed, of each target in
/// I/Os per second.
fn arrivals_words(threads: &[ThreadResult], span: &Span<'_>, measured_s: f64) -> Vec<String> {
    let mut words = Vec::new();
    for (number, state) in span.targets.iter().enumerate() {
        let planned = &span.asked.targets[number];
        if planned.arrivals != Arrivals::Poisson || measured_s <= 0.0 {
            continue;
        }
        let (mut offered, mut done) = (0, 0);
        for (lane, thread) in span.lanes.iter().zip(threads) {
            let results = lane.targets.iter().zip(&thread.targets);
            for (_, result) in results.filter(|(target, _)| target.duty.target == number) {
                offered += result.offered_ios.unwrap_or(0);
                done += result.ios();
            }
        }
        let asked = match planned.throughput {
            Some(Throughput::Iops(each)) => each as f64,
            Some(Throughput::BytesPerMs(each)) => each as f64 * 1000.0 / planned.mean_bytes(),
            None => continue,
        };
        let asked = asked * f64::from(span.asked.threads_on(planned));
        let [offered, done] = [offered, done].map(|ios| ios as f64 / measured_s);
        words.push(format!(
            "'{}': Poisson arrivals: {asked:.1} I/Os per second asked for, {offered:.1} offered, {done:.1} reached",
            state.typed
        ));
    }
    words
}

/// Places by Zipf's law (`--zipf`): what the hottest hundredth of each target's blocks should get, and what it got.
fn skew_words(threads: &[ThreadResult], span: &Span<'_>) -> Vec<String> {
    let mut words = Vec::new();
    for (number, state) in span.targets.iter().enumerate() {
        let mut sum: Option<SkewResult> = None;
        for (lane, thread) in span.lanes.iter().zip(threads) {
            for (target, result) in lane.targets.iter().zip(&thread.targets) {
                if target.duty.target == number
                    && let Some(skew) = result.skew
                {
                    sum = sum.map_or(Some(skew), |sum| sum.plus(&skew));
                }
            }
        }
        let Some((sum, observed)) = sum.and_then(|sum| Some((sum, sum.observed()?))) else { continue };
        words.push(format!(
            "'{}': Zipf's law: the hottest blocks ({} of {}): {:.2} % of the random I/Os expected, {:.2} % observed",
            state.typed,
            grouped(sum.hot_positions),
            grouped(sum.positions),
            sum.expected * 100.0,
            observed * 100.0
        ));
    }
    words
}

/// Under a rate limit: service times (from the issue of each I/O) and response times (from its scheduled start).
fn response_words(threads: &[ThreadResult]) -> Vec<String> {
    let (mut service, mut response) = (Histogram::new(), Histogram::new());
    let targets = threads.iter().flat_map(|t| &t.targets);
    let directions = targets.flat_map(|t| [&t.read, &t.write].into_iter().chain(&t.trim));
    for (of_direction, latency) in
        directions.filter_map(|d| Some((d.response.as_ref()?, d.latency.as_ref()?)))
    {
        response.merge(of_direction);
        service.merge(latency);
    }
    if response.count() == 0 {
        return Vec::new();
    }
    vec![
        format!(
            "service time, from the moment at which each I/O was issued (the latency in the result): {}",
            figures(&service)
        ),
        format!(
            "response time, from the moment for which the rate limit (-g) scheduled each I/O: {}",
            figures(&response)
        ),
    ]
}

fn figures(histogram: &Histogram) -> String {
    let percentiles = histogram.percentiles();
    let [p50, p99, p99_9, max] =
        [0.5, 0.99, 0.999, 1.0].map(|fraction| percentiles.ns(fraction) as f64 / 1e6);
    let mean = histogram.mean_ns() / 1e6;
    format!("mean {mean:.3}, p50 {p50:.3}, p99 {p99:.3}, p99.9 {p99_9:.3}, max {max:.3} ms")
}

fn thread(id: u32, outcome: Outcome, measured_ns: u64, span: &Span<'_>) -> ThreadResult {
    let mut targets = Vec::with_capacity(outcome.tallies.len());
    for (target, tally) in span.lanes[id as usize].targets.iter().zip(outcome.tallies) {
        let state = &span.targets[target.duty.target];
        targets.push(TargetResult {
            path: state.typed.clone(),
            size_bytes: state.facts.size_bytes,
            read: tally.reads.finish(span.wanted, measured_ns),
            write: tally.writes.finish(span.wanted, measured_ns),
            flush: target
                .flushes()
                .then(|| tally.flushes.finish(span.wanted.without_intervals(), measured_ns)),
            trim: target.trims().then(|| tally.trims.finish(span.wanted.without_intervals(), measured_ns)),
            distribution: distribution(&state.planned.places),
            short_transfers: tally.short_transfers,
            offered_ios: tally.offered_ios,
            skew: skew(&state.planned.places, tally.skew),
        });
    }
    ThreadResult { id, source: None, targets, waits: outcome.waits }
}

/// The ranges of a distribution as really used.
fn distribution(places: &Places) -> Option<Vec<DistributionPart>> {
    match places {
        Places::Ranges(distribution) => Some(distribution.ranges().iter().map(part).collect()),
        Places::Uniform | Places::Zipf(_) => None,
    }
}

/// What the law promises beside what came of it.
fn skew(places: &Places, of_thread: Option<Skew>) -> Option<SkewResult> {
    let Places::Zipf(zipf) = places else { return None };
    let Skew { drawn, hot } = of_thread.unwrap_or_default();
    Some(SkewResult {
        positions: zipf.positions(),
        hot_positions: zipf.hot_positions(),
        expected: zipf.expected_share(),
        ios: drawn,
        hot_ios: hot,
    })
}

fn part(range: &EffectiveRange) -> DistributionPart {
    let EffectiveRange { io_start, io_percent, offset_bytes, length_bytes } = *range;
    DistributionPart { io_start, io_percent, offset_bytes, length_bytes }
}

/// One line about a failed I/O, with the phrase of a release of DiskSpd, offset and the system's text.
pub fn failure_of(thread: u32, failure: &IoFailure, span: &TimeSpan, release: Release) -> Failure {
    let path = &span.targets[failure.target].path;
    let op = match failure.op {
        Op::Read => "read",
        Op::Write => "write",
        Op::Flush | Op::FlushData => "flush",
        Op::Trim => "trim",
    };
    let (code, why) = match &failure.kind {
        FailureKind::Io(error) => match error.io_cause() {
            Some(cause) => (error.number(), format!("{}: {cause}", error.text())),
            None => (error.number(), error.text()),
        },
        FailureKind::EndOfTarget => (0, nothing_transferred(failure.op).to_string()),
        FailureKind::Engine(words) => {
            let failed = Failure::new(fault::FailureKind::Io, format!("t[{thread}] '{path}'"));
            return failed.on(path).because(words);
        }
    };
    // Without an opening bracket, as in DiskSpd. The number is that of Linux in both.
    let code = match release {
        Release::V2_2 => format!("error code: {code})"),
        Release::V2_3 => format!("hresult: 0x{code:08x})"),
    };
    let since = failure.since_measure_start_ns as f64 / 1e9;
    let words = format!(
        "t[{thread}] error during {op} {code} '{path}': {} bytes at offset {}, {since:.3} s after measurement began",
        failure.bytes, failure.offset
    );
    Failure::new(fault::FailureKind::Io, words).on(path).because(why)
}

/// Why an I/O moved no byte and the system told no error. Over SMB that is also how Linux 6.12 tells of a
/// write to a file that somebody else has locked.
fn nothing_transferred(op: Op) -> &'static str {
    match op {
        Op::Read | Op::Flush | Op::FlushData | Op::Trim => "nothing was transferred: the target ends there",
        Op::Write => {
            "nothing was transferred: the target ends there, or (over SMB) another program has locked the file"
        }
    }
}

/// One sentence per target that held I/Os up so that no queue explains it.
pub fn stall_words(measured: &Measured) -> Vec<String> {
    let mean_ns = measured.mean_time_out_ns();
    let outstanding = measured.evidence.outstanding.iter().flatten();
    let stalls = outstanding.filter(|of| of.is_stall(mean_ns));
    stalls.map(|of| format!("'{}': {}", of.path, of.words())).collect()
}

/// One sentence per target with short transfers.
pub fn short_transfer_words(span: &TimeSpan, threads: &[ThreadResult]) -> Vec<String> {
    let mut sentences = Vec::new();
    let mut seen: Vec<&str> = Vec::new();
    for target in &span.targets {
        if seen.contains(&target.path.as_str()) {
            continue;
        }
        seen.push(&target.path);
        let of_path = threads.iter().flat_map(|t| &t.targets).filter(|t| t.path == target.path);
        let short: u64 = of_path.map(|t| t.short_transfers).sum();
        if short > 0 {
            sentences.push(format!(
                "'{}': {short} I/Os transferred fewer bytes than the {} asked for; they count as I/Os with the \
                 bytes they moved",
                target.path, target.block_bytes
            ));
        }
    }
    sentences
}
