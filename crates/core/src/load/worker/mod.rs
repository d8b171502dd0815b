//! The loop of one worker thread: choose, issue, reap, account (`io-semantics.md` §2).
//!
//! [`Worker::run`] goes round it: [`Worker::issue`] prepares a batch, [`Worker::collect`] hands it over and takes what
//! came back, [`Worker::account`] counts each completion. Nothing here allocates, locks or asks the system except
//! through the engine, the clock and a throttle sleep. Everything was prepared in `span`.
//!
//! Each kind of loop is compiled by itself ([`Mode`]): with and without a pace, over queues or inline, with completion
//! routines, with a pool. What one kind needs costs the others nothing.

mod aside;
mod checks;
mod modes;
mod rounds;
mod slots;
mod tally;
mod told;

use std::sync::Arc;
use std::time::Duration;

use super::counters::{Buckets, Present, Tables, Wanted};
use super::live::{Cell, Counted};
use super::phases::{Phases, Time, WOKEN_LATE_NS};
use crate::access::{DataRng, Meter};
use crate::engine::{AnyEngine, Completion, Engine, EngineError, Io, IoError, Op};
use crate::plan::{Lane, LaneWrites};
use crate::result::{ThreadCost, WaitStatistics};
use crate::verify::{Checker, Counts};
use aside::{arrivals_seed, new_data, record_aside};
use modes::{Inline, Mode, Queued, Routines};
pub use rounds::{RoundKeeper, RoundPart};
pub use slots::Late;
use slots::{Idle, Outstanding};
pub use tally::Tally;
use truespd_platform::sys::buffer::IoBuffer;

/// How long a stopped worker waits for I/Os that cannot be cancelled: in so many steps of this length, which is how
/// exactly it knows when they came.
const DRAIN_STEP: Duration = Duration::from_millis(50);
const DRAIN_STEPS: u32 = 200;
/// Failures stop the run, so few can come together; the first ones are kept.
const FAILURES_KEPT: usize = 8;
/// The stamp taken at the end of a wait also stamps the I/O that is issued next, if the worker only counted
/// one completion and prepared one I/O (without filling its buffer) in between. The loop's own work on an I/O
/// took 23 ns where it was measured (null engine, without the stamp), so a latency is too long by less than
/// that.
const SHARED_STAMP_WORK: usize = 2;
/// After an I/O that came back in the call that handed it over, so many are handed over one by one before the
/// next batch.
const ONE_BY_ONE: u32 = 64;
/// A verified I/O for which every block it tried is in use waits so long for another one to end.
const HELD_NS: u64 = 20_000;

/// The I/O of a slot, in flight or the last one.
///
/// Fields are read one by one and never copied together. A load that spans several recent stores waits until all of
/// them have reached the cache.
#[derive(Debug, Clone)]
struct InFlight {
    /// Index into the targets of the lane.
    target: u32,
    op: Op,
    bytes: u32,
    offset: u64,
    issued_ns: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailureKind {
    Io(IoError),
    /// Nothing was transferred: the end of the target.
    EndOfTarget,
    Engine(String),
}

/// A failed I/O, which ends the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IoFailure {
    /// Index into the time span's targets.
    pub target: usize,
    pub op: Op,
    pub offset: u64,
    pub bytes: u32,
    /// Nanoseconds since the start of measurement (negative: in warm-up).
    pub since_measure_start_ns: i64,
    pub kind: FailureKind,
}

#[derive(Debug)]
pub struct Outcome {
    /// One per target of the lane.
    pub tallies: Vec<Tally>,
    pub waits: WaitStatistics,
    /// Sum over the measured time of I/Os in flight times nanoseconds.
    pub in_flight_ns: u128,
    /// Completions over the measured time.
    pub buckets: Buckets,
    /// Processor time, for whoever ran the worker to fill in.
    pub cost: Option<ThreadCost>,
    /// Failed I/Os, first ones first.
    pub failures: Vec<IoFailure>,
    /// I/Os that were out at the end of the measured time and for long, by target of the lane.
    pub late: Vec<Late>,
    /// I/Os that could neither be cancelled nor waited for.
    pub stuck: u32,
    /// What was counted in each of the last rounds; empty where the measured time is not divided.
    pub rounds: Vec<RoundPart>,
    /// What was written and checked on verified targets, by index into the time span's targets.
    pub checked: Vec<(usize, Counts)>,
}

/// One thread of a run: its lane, its engine and the state of its loop.
#[derive(Debug)]
pub struct Worker {
    engine: AnyEngine,
    lane: Lane,
    /// The thread's buffers, by the numbers that the targets of the lane name them by. An engine that moves no data has
    /// only those that the worker fills.
    buffers: Vec<Arc<IoBuffer>>,
    /// Write data have a generator of their own, so that offsets do not depend on them.
    pub data_rng: DataRng,
    /// Completions over time, asked for or not.
    pub buckets: Buckets,
    pub latencies: Present,
    /// One dot per this many completions, 0 = none.
    pub progress_ios: u64,
    /// Waits are counted by what they find.
    pub counts_waits: bool,
    /// Where to tell the counts, when somebody watches.
    pub live: Option<Arc<Cell>>,
    /// Rounds that are over; none where the measured time is not divided.
    pub rounds: Option<Box<RoundKeeper>>,
    /// By target of the lane (`--verify`); empty where none is verified.
    pub checks: Vec<Option<Checker>>,
    /// What the flush of each slot covers, on verified targets.
    covered: Vec<u64>,
    /// One per target of the lane.
    tallies: Vec<Tally>,
    /// By target of the lane, since the start signal; none without limit.
    meters: Vec<Option<Meter>>,
    idle: Idle,
    flights: Vec<InFlight>,
    /// Intended start of each slot's I/O, where a rate limit gives one.
    due_ns: Vec<u64>,
    /// Prepared and not yet handed over.
    batch: Vec<Io>,
    done: Vec<Completion>,
    now_ns: u64,
    /// Until then no phase begins and no interval ends, unless the run is interrupted.
    calm_until_ns: u64,
    /// What completes before then counts.
    counting: bool,
    /// From when the intervals of `-D` count: the start of the measured time, or of its present round.
    series_start_ns: u64,
    /// I/Os arrive at random instants, which matter.
    is_exact: bool,
    /// Completions left until the next dot.
    to_dot: u64,
    /// Time stamps of single I/Os matter.
    stamps: bool,
    /// The engine copies by itself, without the kernel.
    copies: bool,
    /// Completions accounted for since `now_ns` was read; none when more was done than that and preparing I/Os, so
    /// that `now_ns` is no stamp for those any more.
    accounted: Option<usize>,
    /// When the last batch was stamped.
    stamped_ns: u64,
    /// I/Os to hand over one by one before the next batch.
    one_by_one: u32,
    waits: WaitStatistics,
    /// Waits by what they found, as [`WaitStatistics`] tells them.
    wait_completions: [u64; 8],
    /// Calls of a ring before the measured time.
    submits_before: u64,
    in_flight_ns: u128,
    /// What completed outside of the measured time, for whoever watches.
    aside: Counted,
    /// When to tell the counts next.
    tell_at_ns: u64,
    /// What was out when the measured time ended.
    outstanding: Outstanding,
    failures: Vec<IoFailure>,
}

/// What a loop is given from outside.
struct Given<'a, T> {
    time: &'a T,
    phases: &'a Phases,
    dot: &'a dyn Fn(),
}

impl Worker {
    /// A worker with everything that its loop needs: all memory is taken here, on the thread that runs it.
    pub fn new(lane: Lane, engine: AnyEngine, buffers: Vec<Arc<IoBuffer>>, wanted: Wanted) -> Self {
        let slot_targets = lane.slot_targets();
        let (slots, targets) = (slot_targets.len(), lane.targets.len());
        let at_rest = InFlight { target: 0, op: Op::Read, bytes: 0, offset: 0, issued_ns: 0 };
        Worker {
            data_rng: DataRng::for_thread(lane.work.seed, 0),
            buckets: Buckets::new(0, 0),
            latencies: Tables::none().of_thread(0),
            progress_ios: 0,
            counts_waits: false,
            live: None,
            rounds: None,
            checks: Vec::new(),
            covered: vec![0; slots],
            tallies: lane.targets.iter().map(|target| Tally::new(target, wanted)).collect(),
            meters: vec![None; targets],
            idle: Idle::all(slots as u32),
            flights: slot_targets.iter().map(|&target| InFlight { target, ..at_rest }).collect(),
            due_ns: vec![0; slots],
            batch: Vec::with_capacity(slots),
            done: Vec::with_capacity(slots),
            now_ns: 0,
            calm_until_ns: 0,
            counting: false,
            series_start_ns: 0,
            is_exact: lane.targets.iter().any(|target| target.pace.is_random()),
            to_dot: 0,
            stamps: wanted.stamps(),
            copies: engine.copies(),
            accounted: None,
            stamped_ns: 0,
            one_by_one: u32::from(lane.dispatch.no_batching_when_fast),
            waits: WaitStatistics::default(),
            wait_completions: [0; 8],
            submits_before: 0,
            in_flight_ns: 0,
            aside: Counted::default(),
            tell_at_ns: u64::MAX,
            outstanding: Outstanding::new(slots, targets),
            failures: Vec::with_capacity(FAILURES_KEPT),
            engine,
            lane,
            buffers,
        }
    }

    /// Runs until the phases say stop or an I/O fails. `dot` prints progress.
    pub fn run<T: Time>(mut self, time: &T, phases: &Phases, dot: &dyn Fn()) -> Outcome {
        let given = Given { time, phases, dot };
        self.now_ns = time.now_ns(&self.engine);
        self.to_dot = self.progress_ios;
        if self.live.is_some() {
            self.tell_at_ns = phases.start_ns();
        }
        self.series_start_ns = phases.measure_start_ns();
        self.buckets.begin(self.series_start_ns);
        if let Some(rounds) = &mut self.rounds {
            rounds.begin(phases.measure_start_ns());
        }
        self.latencies.begin(phases.measure_start_ns());
        let has_pool = self.lane.pool.is_some();
        if has_pool && self.counts_waits {
            self.choose_loop::<T, true, true>(&given);
        } else if has_pool {
            self.choose_loop::<T, true, false>(&given);
        } else if self.counts_waits {
            self.choose_loop::<T, false, true>(&given);
        } else {
            self.choose_loop::<T, false, false>(&given);
        }
        if self.counting {
            // It ends before the measured time does.
            self.note_submits();
        }
        if self.counts_waits && !self.engine.is_inline() {
            self.waits.wait_completions = Some(self.wait_completions);
        }
        let stuck = self.drain(&given);
        self.tell(&given);
        let totals = self.totals();
        self.buckets.end(totals);
        self.latencies.end(self.tallies.iter_mut().map(Tally::both));
        let rounds = self.take_rounds(phases);
        for (tally, meter) in self.tallies.iter_mut().zip(self.meters) {
            tally.offered_ios = meter.and_then(|meter| meter.offered(phases.measure_end_ns()));
        }
        for (tally, target) in self.tallies.iter_mut().zip(&self.lane.targets) {
            tally.skew = target.skew();
        }
        let mut checked = Vec::new();
        for (check, target) in self.checks.into_iter().zip(&self.lane.targets) {
            checked.extend(check.map(|check| (target.duty.target, check.into_counts())));
        }
        Outcome {
            buckets: self.buckets,
            cost: None,
            tallies: self.tallies,
            waits: self.waits,
            in_flight_ns: self.in_flight_ns,
            failures: self.failures,
            late: self.outstanding.give_up(self.now_ns),
            stuck,
            rounds,
            checked,
        }
    }

    fn choose_loop<T: Time, const POOL: bool, const WAITS: bool>(&mut self, given: &Given<'_, T>) {
        let is_inline = self.engine.is_inline();
        if self.lane.dispatch.reissue_own && !is_inline {
            return self.go_round::<T, Routines<POOL, WAITS>>(given);
        }
        let mut is_paced = false;
        let phases = given.phases;
        let measured_ns = phases.measure_start_ns()..phases.measure_end_ns();
        for ((meter, target), number) in self.meters.iter_mut().zip(&self.lane.targets).zip(0..) {
            if !target.pace.is_unlimited() {
                let seed = arrivals_seed(self.lane.work.seed, number);
                *meter = Some(Meter::new(target.pace, phases.start_ns(), measured_ns.clone(), seed));
                is_paced = true;
            }
            // The loop with a pace serves these, too, so that the others do not ask.
            is_paced |= target.varied.is_some();
        }
        if is_inline && is_paced {
            self.go_round::<T, Inline<true, POOL>>(given);
        } else if is_inline {
            self.go_round::<T, Inline<false, POOL>>(given);
        } else if is_paced {
            self.go_round::<T, Queued<true, POOL, WAITS>>(given);
        } else {
            self.go_round::<T, Queued<false, POOL, WAITS>>(given);
        }
    }

    fn go_round<T: Time, M: Mode>(&mut self, given: &Given<'_, T>) {
        while self.now_ns < given.phases.stop_ns() && self.failures.is_empty() {
            let throttled = self.issue::<T, M>(given);
            self.collect::<T, M>(given, throttled);
        }
    }

    #[inline(always)]
    fn now<T: Time>(&self, given: &Given<'_, T>) -> u64 {
        if self.copies {
            given.time.now_after_copies_ns(&self.engine)
        } else {
            given.time.now_ns(&self.engine)
        }
    }

    /// Prepares idle slots up to one batch, and stamps it when its buffers are ready. When every idle slot must wait:
    /// how long.
    #[inline(always)]
    fn issue<T: Time, M: Mode>(&mut self, given: &Given<'_, T>) -> Option<u64> {
        let throttled = if M::PACED {
            self.prepare_what_is_due::<M>()
        } else {
            for _ in 0..self.idle.len().min(self.batch_max::<M>()) {
                let Some(slot) = self.idle.pop() else { break };
                let target = self.target_of::<M>(slot);
                self.prepare(slot, target);
            }
            None
        };
        if self.stamps && !self.batch.is_empty() {
            self.stamp::<T, M>(given);
        }
        throttled
    }

    /// I/Os to hand over at a time now.
    #[inline(always)]
    fn batch_max<M: Mode>(&self) -> usize {
        if M::INLINE || self.one_by_one > 0 { 1 } else { self.lane.dispatch.submit_batch as usize }
    }

    /// Prepares those idle slots whose targets may be used now, up to one batch. When all were looked at and some
    /// must wait: the shortest wait.
    #[inline(never)]
    fn prepare_what_is_due<M: Mode>(&mut self) -> Option<u64> {
        let mut wait_ns = None;
        let mut to_examine = self.idle.len();
        let batch_max = self.batch_max::<M>();
        while to_examine > 0 && self.batch.len() < batch_max {
            to_examine -= 1;
            let Some(slot) = self.idle.pop() else { break };
            let target = self.target_of::<M>(slot);
            // A flush follows its writes at once.
            let varied = self.lane.targets[target as usize].varied.as_ref();
            let is_flush = varied.is_some_and(|varied| varied.owes_flush());
            if let (Some(meter), false) = (&mut self.meters[target as usize], is_flush) {
                let wait = meter.wait_ns(self.now_ns);
                if wait > 0 {
                    wait_ns = Some(wait_ns.map_or(wait, |least: u64| least.min(wait)));
                    if self.meters.len() == 1 {
                        // All others have to wait as well. They keep their order.
                        self.idle.put_back(slot);
                        to_examine = 0;
                    } else {
                        self.idle.push(slot);
                    }
                    continue;
                }
            }
            if self.lane.targets[target as usize].varied.is_none() {
                self.prepare(slot, target);
            } else if !self.prepare_varied(slot, target) {
                wait_ns = Some(wait_ns.map_or(HELD_NS, |least: u64| least.min(HELD_NS)));
                self.idle.push(slot);
                continue;
            }
            if let (Some(meter), false) = (&mut self.meters[target as usize], is_flush) {
                self.due_ns[slot as usize] = meter.due_ns();
                meter.issued(self.now_ns);
            }
        }
        if to_examine == 0 { wait_ns } else { None }
    }

    /// Which target of the lane the next I/O of a slot goes to.
    #[inline(always)]
    fn target_of<M: Mode>(&mut self, slot: u32) -> u32 {
        match &self.lane.pool {
            Some(pool) if M::POOL => pool.choose(&mut self.lane.rng) as u32,
            _ => self.flights[slot as usize].target,
        }
    }

    /// Decides offset, direction and buffer of one I/O and puts it into the batch.
    #[inline(always)]
    fn prepare(&mut self, slot: u32, target_index: u32) {
        let target = &mut self.lane.targets[target_index as usize];
        let own_slot = slot - target.slot_first;
        let access = target.pattern.next(own_slot, &mut self.lane.rng, &target.shared);
        let own_place = u64::from(own_slot) * target.slot_stride_bytes;
        let (op, region, region_offset) = match target.writes {
            _ if !access.write => (Op::Read, target.read_region, own_place),
            // Filled once, which is what most tests write.
            LaneWrites::Pattern { .. } | LaneWrites::Zero => (Op::Write, target.write_region, own_place),
            _ => {
                if matches!(target.writes, LaneWrites::Random) {
                    self.accounted = None;
                }
                let own = (own_place, target.block_bytes);
                let place = new_data(target, own, &self.buffers, &mut self.data_rng);
                (Op::Write, target.write_region, place)
            }
        };
        let (bytes, offset) = (target.block_bytes, access.offset);
        let flight = &mut self.flights[slot as usize];
        flight.target = target_index;
        flight.op = op;
        flight.bytes = bytes;
        flight.offset = offset;
        self.batch.push(Io { slot, file: target_index, region, op, len: bytes, region_offset, offset });
    }

    #[inline(always)]
    fn stamp<T: Time, M: Mode>(&mut self, given: &Given<'_, T>) {
        // Inline engines may finish an I/O within a microsecond, so an old stamp would be too far off.
        let now = match self.accounted.take() {
            Some(accounted) if !M::INLINE && accounted + self.batch.len() <= SHARED_STAMP_WORK => self.now_ns,
            _ => self.now(given),
        };
        self.stamped_ns = now;
        for io in &self.batch {
            self.flights[io.slot as usize].issued_ns = now;
        }
    }

    /// Hands the batch over without looking for completions.
    fn hand_over<T: Time>(&mut self, given: &Given<'_, T>) {
        if let Err(error) = self.engine.submit(&self.batch) {
            self.engine_broke(given.phases, &error);
        }
        self.batch.clear();
    }

    /// Hands the batch over and waits as the issue round demands, then accounts what came back.
    #[inline(always)]
    fn collect<T: Time, M: Mode>(&mut self, given: &Given<'_, T>, throttled: Option<u64>) {
        let idle = self.idle.len();
        let in_flight = self.flights.len() - idle;
        let (min, limit) = if M::INLINE && in_flight > 0 {
            // The I/O is finished, so taking it is no wait, unless a signal interrupted it. Then it continues here.
            (1, None)
        } else if idle == 0 {
            self.waits.completion_waits += 1;
            (1, given.time.wait_limit(given.phases.stop_ns(), self.now_ns))
        } else if let Some(wait_ns) = throttled {
            if in_flight == 0 {
                return self.sleep(given, wait_ns);
            }
            self.waits.throttle_waits += 1;
            // An instant that matters is waited for by looking again and again, as a wait may end late.
            if !self.is_exact || !T::PASSES {
                (1, Some(Duration::from_nanos(wait_ns)))
            } else if wait_ns > WOKEN_LATE_NS {
                (1, Some(Duration::from_nanos(wait_ns - WOKEN_LATE_NS)))
            } else {
                (0, None)
            }
        } else if self.lane.dispatch.poll_after_batch {
            (0, None)
        } else {
            return self.hand_over(given);
        };
        let found = self.reap::<T, M>(given, min, limit, in_flight);
        if min == 0 && throttled.is_none() {
            self.waits.lookasides += 1;
            self.waits.lookaside_completions[found.min(7)] += 1;
        } else if M::WAITS && idle == 0 {
            self.wait_completions[found.min(7)] += 1;
        }
    }

    /// Every slot must wait and none is in flight.
    #[inline(never)]
    fn sleep<T: Time>(&mut self, given: &Given<'_, T>, wait_ns: u64) {
        self.waits.throttle_sleeps += 1;
        let left = given.phases.stop_ns().saturating_sub(self.now_ns);
        given.time.sleep(wait_ns.min(left), self.is_exact, &mut self.engine);
        self.now_ns = self.now(given);
        self.accounted = Some(0);
    }

    /// Hands the batch over and takes completions, stamps them once and accounts each: their number.
    #[inline(always)]
    fn reap<T: Time, M: Mode>(
        &mut self,
        given: &Given<'_, T>,
        min: u32,
        timeout: Option<Duration>,
        in_flight: usize,
    ) -> usize {
        self.done.clear();
        let max = self.lane.dispatch.reap_batch;
        let exchanged = self.engine.exchange(&self.batch, min, max, timeout, &mut self.done);
        let handed_over = self.batch.len();
        self.batch.clear();
        if let Err(error) = exchanged {
            self.engine_broke(given.phases, &error);
            return 0;
        }
        let now = self.now(given);
        let before = self.now_ns;
        self.now_ns = now;
        let found = self.done.len();
        self.accounted = Some(found);
        if !M::INLINE && self.lane.dispatch.no_batching_when_fast && handed_over > 0 {
            self.see_how_fast(handed_over, min > 0);
        }
        if now >= self.calm_until_ns.min(given.phases.stop_ns()) {
            if self.pass_edge(given, before, in_flight) {
                return 0;
            }
        } else if self.counting {
            // Two readings of the counter without fences may come in the wrong order even on one processor.
            self.in_flight_ns += in_flight as u128 * u128::from(now.saturating_sub(before));
        } else {
            self.aside.in_flight_ns += in_flight as u64 * now.saturating_sub(before);
        }
        for index in 0..found {
            let slot = self.done[index].slot;
            self.account::<T, M>(given, index);
            if M::ROUTINES {
                self.reissue::<T, M>(given, slot);
            } else {
                self.idle.push(slot);
            }
        }
        found
    }

    /// After a call that handed over so many I/Os: whether the next ones may go together. Each of those that
    /// came back in the same call has waited for the rest of its batch. A call that waited may have brought
    /// back one that took its time, and tells nothing unless it brought back all of several.
    #[inline(always)]
    fn see_how_fast(&mut self, handed_over: usize, waited: bool) {
        let mut came_back = 0;
        for completion in &self.done {
            // What this call handed over has this stamp.
            came_back += usize::from(self.flights[completion.slot as usize].issued_ns == self.stamped_ns);
        }
        let at_once = if waited { came_back == handed_over && handed_over > 1 } else { came_back > 0 };
        if at_once {
            self.one_by_one = ONE_BY_ONE;
        } else if came_back == 0 {
            self.one_by_one = self.one_by_one.saturating_sub(1);
        }
    }

    /// Between the last two stamps a phase began, an interval ended or the run was interrupted. True when all is
    /// over: then nothing is accounted for, as the signal that ended the wait may have cut it short.
    #[cold]
    #[inline(never)]
    fn pass_edge<T: Time>(&mut self, given: &Given<'_, T>, before_ns: u64, in_flight: usize) -> bool {
        let (now, phases) = (self.now_ns, given.phases);
        let measured_ns = phases.measured_part_ns(before_ns, now);
        self.aside.in_flight_ns +=
            in_flight as u64 * now.saturating_sub(before_ns).saturating_sub(measured_ns);
        if self.buckets.is_over(now) {
            // The counts so far belong to the intervals that have ended.
            let totals = self.totals();
            self.buckets.close(now, totals);
        }
        if now >= self.latencies.end_ns() {
            self.latencies.close(now, self.tallies.iter_mut().map(Tally::both));
        }
        let from_ns = self.end_rounds(phases, before_ns, in_flight);
        self.in_flight_ns += in_flight as u128 * u128::from(phases.measured_part_ns(from_ns, now));
        if now >= self.tell_at_ns {
            self.tell(given);
        }
        if now >= phases.measure_end_ns() && !self.outstanding.is_noted() {
            self.note_outstanding(phases, before_ns);
        }
        let was_counting = std::mem::replace(&mut self.counting, phases.counts(now));
        if was_counting && !self.counting {
            self.note_submits();
        } else if self.counting && !was_counting && !phases.counts(before_ns) {
            self.submits_before = self.engine.submits().unwrap_or(0);
        }
        let intervals_ns = self.buckets.end_ns().min(self.latencies.end_ns()).min(self.round_end_ns());
        self.calm_until_ns = phases.next_edge_ns(now).min(intervals_ns).min(self.tell_at_ns);
        let is_over = !self.counting && now >= phases.stop_ns();
        if is_over {
            self.check_late();
            for completion in &self.done {
                self.idle.push(completion.slot);
                self.outstanding.ended(completion, now);
            }
        }
        is_over
    }

    /// The measured time ended after the stamp at `before_ns`: what was out then. Without stamps of its own, an I/O has
    /// been out since that stamp at least, when it was handed over or was out already.
    fn note_outstanding(&mut self, phases: &Phases, before_ns: u64) {
        let span_ns = (phases.measure_start_ns(), phases.measure_end_ns());
        let has_stamps = self.stamps;
        let flights = self.flights.iter();
        let since = flights.map(|f| (if has_stamps { f.issued_ns } else { before_ns }, f.target));
        self.outstanding.note(span_ns, since, self.idle.iter());
    }

    /// How often a ring was called since the measured time began.
    fn note_submits(&mut self) {
        self.waits.submits = self.engine.submits().map(|submits| submits - self.submits_before);
    }

    /// Reads and writes counted so far on all targets.
    fn totals(&self) -> [u64; 2] {
        let mut totals = self.rounds.as_ref().map_or([0, 0], |rounds| rounds.totals());
        for tally in &self.tallies {
            totals[0] += tally.reads.ios();
            totals[1] += tally.writes.ios();
        }
        totals
    }

    /// `-x`: the request goes out again from its own completion, by itself.
    #[inline(never)]
    fn reissue<T: Time, M: Mode>(&mut self, given: &Given<'_, T>, slot: u32) {
        if !self.failures.is_empty() || self.now_ns >= given.phases.stop_ns() {
            self.idle.push(slot);
            return;
        }
        let target = self.target_of::<M>(slot);
        self.prepare(slot, target);
        if self.stamps {
            self.stamp::<T, M>(given);
        }
        self.hand_over(given);
    }

    /// Counts one completion, or keeps its failure.
    #[inline(always)]
    fn account<T: Time, M: Mode>(&mut self, given: &Given<'_, T>, index: usize) {
        let slot = self.done[index].slot as usize;
        let bytes = match self.done[index].result {
            Ok(bytes) if bytes == self.flights[slot].bytes => bytes,
            _ => match self.short_transfer(given.phases, index) {
                Some(bytes) => bytes,
                None => return,
            },
        };
        if M::PACED && !self.checks.is_empty() {
            self.check(self.done[index].slot, bytes);
        }
        if self.counting {
            let flight = &self.flights[slot];
            let tally = &mut self.tallies[flight.target as usize];
            let latency = self.now_ns.saturating_sub(flight.issued_ns);
            let more = || {
                let since_start = self.now_ns.saturating_sub(self.series_start_ns);
                (since_start, self.now_ns.saturating_sub(self.due_ns[slot]))
            };
            if flight.op == Op::Read {
                tally.reads.record(bytes, M::PACED, latency, more);
            } else if M::PACED && !flight.op.moves_data() {
                let (_, response) = more();
                record_aside(tally, (flight.op, flight.bytes), latency, response);
            } else {
                tally.writes.record(bytes, M::PACED, latency, more);
            }
        } else {
            self.aside.ios += 1;
            self.aside.bytes += u64::from(bytes);
            if M::PACED && self.flights[slot].op == Op::Trim {
                self.aside.trims += 1;
                self.aside.trimmed_bytes += u64::from(bytes);
            }
            self.outstanding.ended(&self.done[index], self.now_ns);
        }
        // Without dots it starts at 0 and, counting down, never reaches 0 again.
        self.to_dot = self.to_dot.wrapping_sub(1);
        if self.to_dot == 0 {
            self.print_dot(given.dot);
        }
    }

    /// A short completion counts with its bytes. One of 0 bytes is a failed I/O, or a trim, which moves none.
    #[cold]
    #[inline(never)]
    fn short_transfer(&mut self, phases: &Phases, index: usize) -> Option<u32> {
        let Completion { slot, result } = self.done[index];
        let failed = self.flights[slot as usize].clone();
        let InFlight { target, .. } = failed;
        let kind = match result {
            Ok(0) if failed.op == Op::Trim => return Some(failed.bytes),
            Ok(0) => FailureKind::EndOfTarget,
            Ok(bytes) => {
                self.tallies[target as usize].short_transfers += u64::from(self.counting);
                return Some(bytes);
            }
            Err(error) => FailureKind::Io(error),
        };
        self.io_failed(phases, &failed, kind);
        None
    }

    fn io_failed(&mut self, phases: &Phases, failed: &InFlight, kind: FailureKind) {
        if self.failures.len() >= FAILURES_KEPT {
            return;
        }
        let target = &self.lane.targets[failed.target as usize];
        let start = i128::from(phases.measure_start_ns());
        self.failures.push(IoFailure {
            target: target.duty.target,
            op: failed.op,
            offset: failed.offset,
            bytes: failed.bytes,
            since_measure_start_ns: (i128::from(self.now_ns) - start) as i64,
            kind,
        });
    }

    #[cold]
    #[inline(never)]
    fn engine_broke(&mut self, phases: &Phases, error: &EngineError) {
        let (op, bytes) = (Op::Read, self.lane.targets[0].block_bytes);
        let nothing = InFlight { target: 0, op, bytes, offset: 0, issued_ns: 0 };
        self.io_failed(phases, &nothing, FailureKind::Engine(error.to_string()));
    }

    /// Waits for what is still out; what does not come.
    fn drain<T: Time>(&mut self, given: &Given<'_, T>) -> u32 {
        if !self.outstanding.is_noted() {
            // It was stopped before it looked again.
            self.note_outstanding(given.phases, self.now_ns);
        }
        let mut stuck = 0;
        for _ in 0..DRAIN_STEPS {
            self.done.clear();
            stuck = self.engine.drain(DRAIN_STEP, &mut self.done);
            self.now_ns = given.time.now_ns(&self.engine);
            self.check_late();
            for completion in &self.done {
                self.outstanding.ended(completion, self.now_ns);
            }
            if stuck == 0 {
                break;
            }
        }
        stuck
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_ends;
#[cfg(test)]
mod tests_lab;
