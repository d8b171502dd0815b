//! The loop of one worker thread: choose, issue, reap, account (`io-semantics.md` §2).
//!
//! Nothing here allocates, locks or asks the system except through the engine, the clock and a
//! throttle sleep. Everything was prepared by `start`.

mod idle;
mod late;

use std::sync::Arc;
use std::time::Duration;

use super::counters::{Counter, Wanted};
use super::latencies::Present;
use super::live::{Cell, Counted, TOLD_EVERY_NS};
use super::phases::Phases;
use super::timeline::Buckets;
use super::writes::WriteSlots;
use crate::access::{DataRng, Meter, Pace, Pattern, PoolChoice, Rng, SharedOffset};
use crate::engine::{AnyEngine, Completion, Engine, EngineError, Io, IoError, Op};
use crate::plan::Dispatch;
use crate::result::{ThreadCost, WaitStatistics};
use idle::Idle;
pub use late::Late;
use late::Outstanding;

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
const FRESH: u32 = 2;
/// No stamp to share.
const STALE: u32 = 1 << 30;
/// After an I/O that came back in the call that handed it over, so many are handed over one by one before the
/// next batch.
const ONE_BY_ONE: u32 = 64;

/// Where a worker's time comes from: the machine, or an engine that simulates it.
pub trait Time {
    /// Now, in nanoseconds of one clock per run.
    fn now_ns(&self, engine: &dyn Engine) -> u64;
    /// Now, and not before the copies that this thread made are complete.
    fn now_after_copies_ns(&self, engine: &dyn Engine) -> u64 {
        self.now_ns(engine)
    }
    /// Lets `ns` pass, or less when interrupted.
    fn sleep(&self, ns: u64, engine: &mut dyn Engine);
    /// Longest single wait for completions; `None` when the controller interrupts waits.
    fn wait_limit(&self, stop_ns: u64, now_ns: u64) -> Option<Duration>;
}

/// One target of the thread.
#[derive(Debug)]
pub struct DutyState {
    /// Index into the time span's targets.
    pub target: usize,
    /// Index into the engine's files.
    pub file: u32,
    /// I/O size.
    pub block_bytes: u32,
    /// Region of the read slots.
    pub read_region: u32,
    /// Distance between two slots in a region.
    pub slot_stride_bytes: u64,
    /// First request slot of this target; 0 in pool mode.
    pub slot_first: u32,
    /// Where the next I/O goes.
    pub pattern: Pattern,
    /// What writes hold.
    pub write_slots: WriteSlots,
    /// Rate limit or pauses.
    pub pace: Pace,
    /// Its state since the start signal; `None` without limit.
    pub meter: Option<Meter>,
    /// The one offset that interlocked threads share.
    pub shared: Arc<SharedOffset>,
    /// Reads counted.
    pub reads: Counter,
    /// Writes counted.
    pub writes: Counter,
    /// Transfers shorter than the block.
    pub short_transfers: u64,
}

impl DutyState {
    /// Of reads and of writes.
    fn counters(&mut self) -> [&mut Counter; 2] {
        [&mut self.reads, &mut self.writes]
    }
}

/// The I/O of a slot, in flight or the last one.
///
/// Fields are read one by one and never copied together. A load that spans several recent stores waits until all of
/// them have reached the cache.
#[derive(Debug, Clone)]
struct InFlight {
    duty: u32,
    op: Op,
    offset: u64,
    issued_ns: u64,
}

/// Why an I/O failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailureKind {
    /// The I/O failed.
    Io(IoError),
    /// Nothing was transferred: the end of the target.
    EndOfTarget,
    /// The engine broke.
    Engine(String),
}

/// A failed I/O, which ends the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IoFailure {
    /// Index into the time span's targets.
    pub target: usize,
    /// Read or write.
    pub op: Op,
    /// Offset within the target.
    pub offset: u64,
    /// Length asked for.
    pub bytes: u32,
    /// Nanoseconds since the start of measurement (negative: in warm-up).
    pub since_measure_start_ns: i64,
    /// Why.
    pub kind: FailureKind,
}

/// Results of a worker.
#[derive(Debug)]
pub struct Outcome {
    /// One per target of the thread.
    pub duties: Vec<DutyState>,
    /// How it waited.
    pub waits: WaitStatistics,
    /// Sum over the measured time of I/Os in flight times nanoseconds.
    pub in_flight_ns: u128,
    /// Completions over the measured time.
    pub buckets: Buckets,
    /// Processor time, for whoever ran the worker to fill in.
    pub cost: Option<ThreadCost>,
    /// Failed I/Os, first ones first.
    pub failures: Vec<IoFailure>,
    /// I/Os that were out at the end of the measured time and for long, by target of the thread.
    pub late: Vec<Late>,
    /// I/Os that could neither be cancelled nor waited for.
    pub stuck: u32,
}

/// A worker that is ready to go.
#[derive(Debug)]
pub struct Worker {
    /// Opened engine.
    pub engine: AnyEngine,
    /// Targets of the thread.
    pub duties: Vec<DutyState>,
    /// Target of each slot, or the choice among all in pool mode.
    pub slot_duty: Vec<u32>,
    /// Pool mode: aims each I/O at a random target.
    pub pool: Option<PoolChoice>,
    /// Offsets, directions and targets.
    pub rng: Rng,
    /// Write data, so that offsets do not depend on it.
    pub data_rng: DataRng,
    /// Batches.
    pub dispatch: Dispatch,
    /// What the engine said of itself: I/Os are finished when they are submitted.
    pub is_inline: bool,
    /// Statistics asked for.
    pub wanted: Wanted,
    /// Completions over time, asked for or not.
    pub buckets: Buckets,
    /// Latencies over time.
    pub latencies: Present,
    /// One dot per this many completions, 0 = none.
    pub progress_ios: u64,
    /// Where to tell the counts, when somebody watches.
    pub live: Option<Arc<Cell>>,
}

/// The moving parts of a run.
struct Turn<'a, T> {
    time: &'a T,
    phases: &'a Phases,
    dot: &'a dyn Fn(),
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
    /// Completions left until the next dot.
    to_dot: u64,
    /// Time stamps of single I/Os matter.
    stamps: bool,
    /// The engine copies by itself, without the kernel.
    copies: bool,
    /// Some target has a rate limit or pauses.
    is_paced: bool,
    /// Completions accounted for and I/Os prepared since `now_ns` was read.
    since_stamp: u32,
    /// When the last batch was stamped.
    stamped_ns: u64,
    /// I/Os to hand over one by one before the next batch.
    one_by_one: u32,
    waits: WaitStatistics,
    in_flight_ns: u128,
    /// What completed outside of the measured time, for whoever watches.
    aside: Counted,
    /// When to tell the counts next.
    tell_at_ns: u64,
    /// What was out when the measured time ended.
    outstanding: Outstanding,
    failures: Vec<IoFailure>,
}

impl<T: Time> Turn<'_, T> {
    /// The time.
    #[inline(always)]
    fn now(&self, engine: &dyn Engine) -> u64 {
        if self.copies { self.time.now_after_copies_ns(engine) } else { self.time.now_ns(engine) }
    }

    /// After a call that handed over so many I/Os: whether the next ones may go together. Each of those that
    /// came back in the same call has waited for the rest of its batch. A call that waited may have brought
    /// back one that took its time, and tells nothing unless it brought back all of several.
    #[inline(always)]
    fn spare(&mut self, handed_over: usize, waited: bool) {
        // What this call handed over has this stamp.
        let is_of_this_call =
            |one: &&Completion| self.flights[one.slot as usize].issued_ns == self.stamped_ns;
        let came_back = self.done.iter().filter(is_of_this_call).count();
        let at_once = if waited { came_back == handed_over && handed_over > 1 } else { came_back > 0 };
        if at_once {
            self.one_by_one = ONE_BY_ONE;
        } else if came_back == 0 {
            self.one_by_one = self.one_by_one.saturating_sub(1);
        }
    }
}

impl Worker {
    /// Runs until the phases say stop or an I/O fails. `dot` prints progress.
    pub fn run<T: Time>(mut self, time: &T, phases: &Phases, dot: &dyn Fn()) -> Outcome {
        let slots = self.slot_duty.len();
        let at_rest = |&duty: &u32| InFlight { duty, op: Op::Read, offset: 0, issued_ns: 0 };
        let mut turn = Turn {
            time,
            phases,
            dot,
            idle: Idle::all(slots as u32),
            flights: self.slot_duty.iter().map(at_rest).collect(),
            due_ns: vec![0; slots],
            batch: Vec::with_capacity(slots),
            done: Vec::with_capacity(slots),
            now_ns: time.now_ns(&self.engine),
            calm_until_ns: 0,
            counting: false,
            to_dot: self.progress_ios,
            stamps: self.wanted.stamps(),
            copies: self.engine.copies(),
            is_paced: false,
            since_stamp: STALE,
            stamped_ns: 0,
            one_by_one: u32::from(self.dispatch.spares_answered_at_once),
            waits: WaitStatistics::default(),
            in_flight_ns: 0,
            aside: Counted::default(),
            outstanding: Outstanding::new(slots, self.duties.len()),
            tell_at_ns: if self.live.is_some() { phases.start_ns() } else { u64::MAX },
            failures: Vec::with_capacity(FAILURES_KEPT),
        };
        for duty in &mut self.duties {
            // Completion routines ignore rate limits and pauses, as in DiskSpd 2.2.
            if !duty.pace.is_unlimited() && !self.dispatch.reissue_own {
                duty.meter = Some(Meter::new(duty.pace, phases.start_ns()));
                turn.is_paced = true;
            }
        }
        self.buckets.begin(phases.measure_start_ns());
        self.latencies.begin(phases.measure_start_ns());
        while turn.now_ns < phases.stop_ns() && turn.failures.is_empty() {
            let throttled = self.issue(&mut turn);
            self.collect(&mut turn, throttled);
        }
        let stuck = self.drain(&mut turn);
        self.tell(&mut turn);
        let totals = self.totals();
        self.buckets.end(totals);
        self.latencies.end(self.duties.iter_mut().map(DutyState::counters));
        Outcome {
            buckets: self.buckets,
            cost: None,
            duties: self.duties,
            waits: turn.waits,
            in_flight_ns: turn.in_flight_ns,
            failures: turn.failures,
            late: turn.outstanding.give_up(turn.now_ns),
            stuck,
        }
    }

    /// Waits for what is still out; what does not come.
    fn drain<T: Time>(&mut self, turn: &mut Turn<'_, T>) -> u32 {
        if !turn.outstanding.is_noted() {
            // It was stopped before it looked again.
            self.note_outstanding(turn, turn.now_ns);
        }
        let mut stuck = 0;
        for _ in 0..DRAIN_STEPS {
            turn.done.clear();
            stuck = self.engine.drain(DRAIN_STEP, &mut turn.done);
            turn.now_ns = turn.time.now_ns(&self.engine);
            turn.done.iter().for_each(|completion| turn.outstanding.ended(completion, turn.now_ns));
            if stuck == 0 {
                break;
            }
        }
        stuck
    }

    /// Prepares idle slots up to one batch, and stamps it when its buffers are ready. When every idle slot must wait:
    /// how long.
    #[inline(always)]
    fn issue<T: Time>(&mut self, turn: &mut Turn<'_, T>) -> Option<u64> {
        let throttled = if turn.is_paced {
            self.prepare_what_is_due(turn)
        } else {
            for _ in 0..turn.idle.len().min(self.batch_max(turn)) {
                let Some(slot) = turn.idle.pop() else { break };
                let duty = self.duty_of(slot, turn);
                self.prepare(slot, duty, turn);
            }
            None
        };
        if turn.stamps && !turn.batch.is_empty() {
            self.stamp(turn);
        }
        throttled
    }

    /// I/Os to hand over at a time now.
    #[inline(always)]
    fn batch_max<T: Time>(&self, turn: &Turn<'_, T>) -> usize {
        if turn.one_by_one > 0 { 1 } else { self.dispatch.submit_batch as usize }
    }

    /// Prepares those idle slots whose targets may be used now, up to one batch. When all were looked at and some
    /// must wait: the shortest wait.
    #[inline(never)]
    fn prepare_what_is_due<T: Time>(&mut self, turn: &mut Turn<'_, T>) -> Option<u64> {
        let mut wait_ns = None;
        let mut to_examine = turn.idle.len();
        let batch_max = self.batch_max(turn);
        while to_examine > 0 && turn.batch.len() < batch_max {
            to_examine -= 1;
            let Some(slot) = turn.idle.pop() else { break };
            let duty = self.duty_of(slot, turn);
            if let Some(meter) = &mut self.duties[duty as usize].meter {
                let wait = meter.wait_ns(turn.now_ns);
                if wait > 0 {
                    wait_ns = Some(wait_ns.map_or(wait, |least: u64| least.min(wait)));
                    if self.duties.len() == 1 {
                        // All others have to wait as well. They keep their order.
                        turn.idle.put_back(slot);
                        to_examine = 0;
                    } else {
                        turn.idle.push(slot);
                    }
                    continue;
                }
                turn.due_ns[slot as usize] = meter.due_ns();
                meter.issued(turn.now_ns);
            }
            self.prepare(slot, duty, turn);
        }
        wait_ns.filter(|_| to_examine == 0)
    }

    #[inline(always)]
    fn duty_of<T: Time>(&mut self, slot: u32, turn: &Turn<'_, T>) -> u32 {
        match &mut self.pool {
            Some(pool) => pool.choose(&mut self.rng) as u32,
            None => turn.flights[slot as usize].duty,
        }
    }

    /// Decides offset, direction and buffer of one I/O and puts it into the batch.
    #[inline(always)]
    fn prepare<T: Time>(&mut self, slot: u32, duty_index: u32, turn: &mut Turn<'_, T>) {
        let duty = &mut self.duties[duty_index as usize];
        let own_slot = slot - duty.slot_first;
        let access = duty.pattern.next(own_slot, &mut self.rng, &duty.shared);
        let (op, region, region_offset) = if access.write {
            let (region, offset) = duty.write_slots.fixed(own_slot).unwrap_or_else(|| {
                if let WriteSlots::Random { .. } = duty.write_slots {
                    turn.since_stamp = STALE;
                }
                duty.write_slots.next(own_slot, &mut self.data_rng)
            });
            (Op::Write, region, offset)
        } else {
            (Op::Read, duty.read_region, u64::from(own_slot) * duty.slot_stride_bytes)
        };
        turn.since_stamp += 1;
        let flight = &mut turn.flights[slot as usize];
        flight.duty = duty_index;
        flight.op = op;
        flight.offset = access.offset;
        turn.batch.push(Io {
            slot,
            file: duty.file,
            region,
            op,
            len: duty.block_bytes,
            region_offset,
            offset: access.offset,
        });
    }

    /// Stamps the batch.
    #[inline(always)]
    fn stamp<T: Time>(&mut self, turn: &mut Turn<'_, T>) {
        // Inline engines may finish an I/O within a microsecond, so an old stamp would be too far off.
        let is_fresh = turn.since_stamp <= FRESH && !self.is_inline;
        let now = if is_fresh { turn.now_ns } else { turn.now(&self.engine) };
        turn.since_stamp = STALE;
        turn.stamped_ns = now;
        for io in &turn.batch {
            turn.flights[io.slot as usize].issued_ns = now;
        }
    }

    /// Hands the batch over without looking for completions.
    fn hand_over<T: Time>(&mut self, turn: &mut Turn<'_, T>) {
        if let Err(error) = self.engine.submit(&turn.batch) {
            self.engine_broke(turn, &error);
        }
        turn.batch.clear();
    }

    /// Hands the batch over and waits as the issue round demands, then accounts what came back.
    #[inline(always)]
    fn collect<T: Time>(&mut self, turn: &mut Turn<'_, T>, throttled: Option<u64>) {
        let idle = turn.idle.len();
        let in_flight = turn.flights.len() - idle;
        let (min, limit) = if self.is_inline && in_flight > 0 {
            // The I/O is finished, so taking it is no wait, unless a signal interrupted it. Then it continues here.
            (1, None)
        } else if idle == 0 {
            turn.waits.completion_waits += 1;
            (1, turn.time.wait_limit(turn.phases.stop_ns(), turn.now_ns))
        } else if let Some(wait_ns) = throttled {
            if in_flight == 0 {
                return self.sleep(turn, wait_ns);
            }
            turn.waits.throttle_waits += 1;
            (1, Some(Duration::from_nanos(wait_ns)))
        } else if self.dispatch.poll_after_batch {
            (0, None)
        } else {
            return self.hand_over(turn);
        };
        let found = self.reap(turn, min, limit, in_flight);
        if min == 0 {
            turn.waits.lookasides += 1;
            turn.waits.lookaside_completions[found.min(7)] += 1;
        }
    }

    /// Every slot must wait and none is in flight.
    #[inline(never)]
    fn sleep<T: Time>(&mut self, turn: &mut Turn<'_, T>, wait_ns: u64) {
        turn.waits.throttle_sleeps += 1;
        let left = turn.phases.stop_ns().saturating_sub(turn.now_ns);
        turn.time.sleep(wait_ns.min(left), &mut self.engine);
        turn.now_ns = turn.now(&self.engine);
        turn.since_stamp = 0;
    }

    /// Hands the batch over and takes completions, stamps them once and accounts each: their number.
    #[inline(always)]
    fn reap<T: Time>(
        &mut self,
        turn: &mut Turn<'_, T>,
        min: u32,
        timeout: Option<Duration>,
        in_flight: usize,
    ) -> usize {
        turn.done.clear();
        let max = self.dispatch.reap_batch;
        let exchanged = self.engine.exchange(&turn.batch, min, max, timeout, &mut turn.done);
        let handed_over = turn.batch.len();
        turn.batch.clear();
        if let Err(error) = exchanged {
            self.engine_broke(turn, &error);
            return 0;
        }
        let now = turn.now(&self.engine);
        let before = turn.now_ns;
        turn.now_ns = now;
        let found = turn.done.len();
        turn.since_stamp = found as u32;
        if self.dispatch.spares_answered_at_once && handed_over > 0 {
            turn.spare(handed_over, min > 0);
        }
        if now >= turn.calm_until_ns.min(turn.phases.stop_ns()) {
            if self.pass_edge(turn, before, in_flight) {
                return 0;
            }
        } else if turn.counting {
            // Two readings of the counter without fences may come in the wrong order even on one processor.
            turn.in_flight_ns += in_flight as u128 * u128::from(now.saturating_sub(before));
        } else {
            turn.aside.in_flight_ns += in_flight as u64 * now.saturating_sub(before);
        }
        for index in 0..found {
            let slot = turn.done[index].slot;
            self.account(turn, index);
            if self.dispatch.reissue_own {
                self.reissue(turn, slot);
            } else {
                turn.idle.push(slot);
            }
        }
        found
    }

    /// Between the last two stamps a phase began, an interval ended or the run was interrupted. True when all is
    /// over: then nothing is accounted for, as the signal that ended the wait may have cut it short.
    #[cold]
    #[inline(never)]
    fn pass_edge<T: Time>(&mut self, turn: &mut Turn<'_, T>, before_ns: u64, in_flight: usize) -> bool {
        let (now, phases) = (turn.now_ns, turn.phases);
        let measured_ns = phases.measured_part_ns(before_ns, now);
        turn.in_flight_ns += in_flight as u128 * u128::from(measured_ns);
        turn.aside.in_flight_ns +=
            in_flight as u64 * now.saturating_sub(before_ns).saturating_sub(measured_ns);
        if self.buckets.is_over(now) {
            // The counts so far belong to the intervals that have ended.
            let totals = self.totals();
            self.buckets.close(now, totals);
        }
        if now >= self.latencies.end_ns() {
            self.latencies.close(now, self.duties.iter_mut().map(DutyState::counters));
        }
        if now >= turn.tell_at_ns {
            self.tell(turn);
        }
        if now >= phases.measure_end_ns() && !turn.outstanding.is_noted() {
            self.note_outstanding(turn, before_ns);
        }
        turn.counting = phases.counts(now);
        let intervals_ns = self.buckets.end_ns().min(self.latencies.end_ns());
        turn.calm_until_ns = phases.next_edge_ns(now).min(intervals_ns).min(turn.tell_at_ns);
        let is_over = !turn.counting && now >= phases.stop_ns();
        if is_over {
            for completion in &turn.done {
                turn.idle.push(completion.slot);
                turn.outstanding.ended(completion, now);
            }
        }
        is_over
    }

    /// The measured time ended after the stamp at `before_ns`: what was out then. Without stamps of its own, an I/O has
    /// been out since that stamp at least, when it was handed over or was out already.
    fn note_outstanding<T: Time>(&self, turn: &mut Turn<'_, T>, before_ns: u64) {
        let span_ns = (turn.phases.measure_start_ns(), turn.phases.measure_end_ns());
        let has_stamps = turn.stamps;
        let since = |flight: &InFlight| (if has_stamps { flight.issued_ns } else { before_ns }, flight.duty);
        turn.outstanding.note(span_ns, turn.flights.iter().map(since), turn.idle.iter());
    }

    /// Tells the counts so far to whoever watches.
    fn tell<T: Time>(&self, turn: &mut Turn<'_, T>) {
        let Some(cell) = &self.live else { return };
        let counters = self.duties.iter().flat_map(|duty| [&duty.reads, &duty.writes]);
        let counted = counters.map(Counter::counted).fold(turn.aside, Counted::plus);
        let measured_ns = u64::try_from(turn.in_flight_ns).unwrap_or(u64::MAX);
        cell.say(counted.plus(Counted { ios: 0, bytes: 0, in_flight_ns: measured_ns }));
        let start_ns = turn.phases.start_ns();
        let passed = turn.now_ns.saturating_sub(start_ns) / TOLD_EVERY_NS;
        turn.tell_at_ns = start_ns + (passed + 1) * TOLD_EVERY_NS;
    }

    /// Reads and writes counted so far on all targets.
    fn totals(&self) -> [u64; 2] {
        self.duties
            .iter()
            .fold([0, 0], |[reads, writes], duty| [reads + duty.reads.ios(), writes + duty.writes.ios()])
    }

    /// `-x`: the request goes out again from its own completion, by itself.
    #[inline(never)]
    fn reissue<T: Time>(&mut self, turn: &mut Turn<'_, T>, slot: u32) {
        if !turn.failures.is_empty() || turn.now_ns >= turn.phases.stop_ns() {
            turn.idle.push(slot);
            return;
        }
        let duty = self.duty_of(slot, turn);
        self.prepare(slot, duty, turn);
        if turn.stamps {
            self.stamp(turn);
        }
        self.hand_over(turn);
    }

    /// Counts one completion, or keeps its failure.
    #[inline(always)]
    fn account<T: Time>(&mut self, turn: &mut Turn<'_, T>, index: usize) {
        let slot = turn.done[index].slot as usize;
        let duty = turn.flights[slot].duty as usize;
        let bytes = match turn.done[index].result {
            Ok(bytes) if bytes == self.duties[duty].block_bytes => bytes,
            _ => match self.short_transfer(turn, index) {
                Some(bytes) => bytes,
                None => return,
            },
        };
        if turn.counting {
            let (flight, duty) = (&turn.flights[slot], &mut self.duties[duty]);
            let latency = turn.now_ns.saturating_sub(flight.issued_ns);
            let more = || {
                let since_start = turn.now_ns.saturating_sub(turn.phases.measure_start_ns());
                (since_start, turn.now_ns.saturating_sub(turn.due_ns[slot]))
            };
            match flight.op {
                Op::Read => duty.reads.record(bytes, latency, more),
                Op::Write => duty.writes.record(bytes, latency, more),
            }
        } else {
            turn.aside.ios += 1;
            turn.aside.bytes += u64::from(bytes);
            turn.outstanding.ended(&turn.done[index], turn.now_ns);
        }
        // Without dots it starts at 0 and, counting down, never reaches 0 again.
        turn.to_dot = turn.to_dot.wrapping_sub(1);
        if turn.to_dot == 0 {
            self.print_dot(turn);
        }
    }

    #[cold]
    #[inline(never)]
    fn print_dot<T: Time>(&mut self, turn: &mut Turn<'_, T>) {
        turn.to_dot = self.progress_ios;
        (turn.dot)();
        // Writing to a terminal takes time, so the clock is read again.
        turn.since_stamp = STALE;
    }

    /// A short completion counts with its bytes. One of 0 bytes is a failed I/O.
    #[cold]
    #[inline(never)]
    fn short_transfer<T: Time>(&mut self, turn: &mut Turn<'_, T>, index: usize) -> Option<u32> {
        let Completion { slot, result } = turn.done[index];
        let kind = match result {
            Ok(0) => FailureKind::EndOfTarget,
            Ok(bytes) => {
                let duty = turn.flights[slot as usize].duty;
                self.duties[duty as usize].short_transfers += u64::from(turn.counting);
                return Some(bytes);
            }
            Err(error) => FailureKind::Io(error),
        };
        let InFlight { duty, op, offset, .. } = turn.flights[slot as usize].clone();
        self.io_failed(turn, (duty, op, offset), kind);
        None
    }

    fn io_failed<T: Time>(&mut self, turn: &mut Turn<'_, T>, io: (u32, Op, u64), kind: FailureKind) {
        if turn.failures.len() >= FAILURES_KEPT {
            return;
        }
        let (duty, op, offset) = io;
        let duty = &self.duties[duty as usize];
        let start = i128::from(turn.phases.measure_start_ns());
        turn.failures.push(IoFailure {
            target: duty.target,
            op,
            offset,
            bytes: duty.block_bytes,
            since_measure_start_ns: (i128::from(turn.now_ns) - start) as i64,
            kind,
        });
    }

    #[cold]
    #[inline(never)]
    fn engine_broke<T: Time>(&mut self, turn: &mut Turn<'_, T>, error: &EngineError) {
        self.io_failed(turn, (0, Op::Read, 0), FailureKind::Engine(error.to_string()));
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_ends;
#[cfg(test)]
mod tests_lab;
