//! The loop of one worker thread: choose, issue, reap, account (`io-semantics.md` §2).
//!
//! Nothing here allocates, locks or asks the system except through the engine, the clock and a
//! throttle sleep. Everything was prepared by `start`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::counters::{Counter, Wanted};
use super::phases::Phases;
use super::series::Buckets;
use super::writes::WriteSlots;
use crate::access::{DataRng, Meter, Pace, Pattern, PoolChoice, Rng, SharedOffset};
use crate::engine::{Completion, Engine, Io, Op};
use crate::result::{ThreadCost, WaitStatistics};

/// How long a stopped worker waits for I/Os that cannot be cancelled.
const DRAIN_LIMIT: Duration = Duration::from_secs(10);
/// Failures stop the run, so few can come together; the first ones are kept.
const FAILURES_KEPT: usize = 8;
/// A stamp that a wait ended with also stamps the I/O handed over next, when no more was done in between than to
/// account for one completion and to prepare one I/O without filling its buffer. All of the loop's own work on an
/// I/O took 23 ns where it was measured (null engine, without the stamp): a latency is too long by less than that.
const FRESH: u32 = 2;
/// No stamp to share.
const STALE: u32 = u32::MAX;

/// Where a worker's time comes from: the machine, or an engine that simulates it.
pub trait Time {
    /// Now, in nanoseconds of one clock per run.
    fn now_ns(&self, engine: &dyn Engine) -> u64;
    /// Lets `ns` pass, or less when interrupted.
    fn sleep(&self, ns: u64, engine: &mut dyn Engine);
    /// Longest single wait for completions; `None` when the controller interrupts waits.
    fn wait_limit(&self, stop_ns: u64, now_ns: u64) -> Option<Duration>;
}

/// How the worker hands over and takes back.
#[derive(Debug, Clone, Copy)]
pub struct Dispatch {
    /// I/Os handed over at a time.
    pub submit_batch: u32,
    /// Completions taken at a time.
    pub reap_batch: u32,
    /// Look for completions after every batch although slots are still idle.
    pub poll_after_batch: bool,
    /// Each completion reissues its own request at once (`-x`).
    pub reissue_own: bool,
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

/// An I/O in flight.
#[derive(Debug, Clone, Copy)]
struct InFlight {
    duty: u32,
    op: Op,
    offset: u64,
    issued_ns: u64,
}

/// Why an I/O failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FailureKind {
    /// The system's errno.
    Errno(i32),
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

/// What a worker brings home.
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
    /// I/Os that could neither be cancelled nor waited for.
    pub stuck: u32,
}

/// A worker that is ready to go.
#[derive(Debug)]
pub struct Worker {
    /// Opened engine.
    pub engine: Box<dyn Engine>,
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
    /// One dot per this many completions, 0 = none.
    pub progress_ios: u64,
}

/// The moving parts of a run.
struct Turn<'a, T> {
    time: &'a T,
    phases: &'a Phases,
    dot: &'a dyn Fn(),
    idle: VecDeque<u32>,
    flights: Vec<InFlight>,
    /// Intended start of each slot's I/O, where a rate limit gives one.
    due_ns: Vec<u64>,
    batch: Vec<Io>,
    done: Vec<Completion>,
    now_ns: u64,
    /// Completions accounted for and I/Os prepared since `now_ns` was read.
    since_stamp: u32,
    completed: u64,
    waits: WaitStatistics,
    in_flight_ns: u128,
    failures: Vec<IoFailure>,
}

/// What an issue round came to.
enum Issued {
    /// Every slot is in flight.
    AllBusy,
    /// The batch is full, slots are left.
    BatchFull,
    /// Every idle slot must wait this long.
    Throttled(u64),
}

impl Worker {
    /// Runs until the phases say stop or an I/O fails. `dot` prints progress.
    pub fn run<T: Time>(mut self, time: &T, phases: &Phases, dot: &dyn Fn()) -> Outcome {
        let slots = self.slot_duty.len();
        let nowhere = InFlight { duty: 0, op: Op::Read, offset: 0, issued_ns: 0 };
        let mut turn = Turn {
            time,
            phases,
            dot,
            idle: (0..slots as u32).collect(),
            flights: vec![nowhere; slots],
            due_ns: vec![0; slots],
            batch: Vec::with_capacity(slots),
            done: Vec::with_capacity(slots),
            now_ns: time.now_ns(&*self.engine),
            since_stamp: STALE,
            completed: 0,
            waits: WaitStatistics::default(),
            in_flight_ns: 0,
            failures: Vec::with_capacity(FAILURES_KEPT),
        };
        for duty in &mut self.duties {
            // Completion routines never ask for the pace, as in 2.2.
            if !duty.pace.is_unlimited() && !self.dispatch.reissue_own {
                duty.meter = Some(Meter::new(duty.pace, phases.start_ns()));
            }
        }
        self.buckets.begin(phases.measure_start_ns());
        while turn.now_ns < phases.stop_ns() && turn.failures.is_empty() {
            let issued = self.issue(&mut turn);
            if turn.failures.is_empty() {
                self.collect(&mut turn, issued);
            }
        }
        let stuck = self.engine.drain(DRAIN_LIMIT);
        let totals = self.totals();
        self.buckets.end(totals);
        Outcome {
            buckets: self.buckets,
            cost: None,
            duties: self.duties,
            waits: turn.waits,
            in_flight_ns: turn.in_flight_ns,
            failures: turn.failures,
            stuck,
        }
    }

    /// Prepares idle slots up to one batch and hands them to the engine.
    fn issue<T: Time>(&mut self, turn: &mut Turn<'_, T>) -> Issued {
        let mut wait_ns = u64::MAX;
        let mut to_examine = turn.idle.len();
        while to_examine > 0 && turn.batch.len() < self.dispatch.submit_batch as usize {
            to_examine -= 1;
            let Some(slot) = turn.idle.pop_front() else { break };
            let duty = self.duty_of(slot);
            if let Some(meter) = &mut self.duties[duty as usize].meter {
                let wait = meter.wait_ns(turn.now_ns);
                if wait > 0 {
                    wait_ns = wait_ns.min(wait);
                    if self.duties.len() == 1 {
                        // All the others would have to wait as well, and keep their order.
                        turn.idle.push_front(slot);
                        to_examine = 0;
                    } else {
                        turn.idle.push_back(slot);
                    }
                    continue;
                }
                turn.due_ns[slot as usize] = meter.due_ns();
                meter.issued(turn.now_ns);
            }
            self.prepare(slot, duty, turn);
        }
        if !turn.batch.is_empty() {
            self.hand_over(turn);
        }
        if turn.idle.is_empty() {
            Issued::AllBusy
        } else if to_examine == 0 && wait_ns != u64::MAX {
            Issued::Throttled(wait_ns)
        } else {
            Issued::BatchFull
        }
    }

    #[inline]
    fn duty_of(&mut self, slot: u32) -> u32 {
        match &mut self.pool {
            Some(pool) => pool.choose(&mut self.rng) as u32,
            None => self.slot_duty[slot as usize],
        }
    }

    /// Decides offset, direction and buffer of one I/O and puts it into the batch.
    #[inline]
    fn prepare<T: Time>(&mut self, slot: u32, duty_index: u32, turn: &mut Turn<'_, T>) {
        let duty = &mut self.duties[duty_index as usize];
        let own_slot = slot - duty.slot_first;
        let access = duty.pattern.next(own_slot, &mut self.rng, &duty.shared);
        let (op, region, region_offset) = if access.write {
            if let WriteSlots::Random { .. } = duty.write_slots {
                turn.since_stamp = STALE;
            }
            let (region, offset) = duty.write_slots.next(own_slot, &mut self.data_rng);
            (Op::Write, region, offset)
        } else {
            (Op::Read, duty.read_region, u64::from(own_slot) * duty.slot_stride_bytes)
        };
        turn.since_stamp = turn.since_stamp.saturating_add(1);
        turn.flights[slot as usize] = InFlight { duty: duty_index, op, offset: access.offset, issued_ns: 0 };
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

    /// Stamps the batch, after its buffers are ready, and submits it.
    #[inline]
    fn hand_over<T: Time>(&mut self, turn: &mut Turn<'_, T>) {
        if self.wanted.stamps() {
            // Inline engines may finish an I/O within a microsecond, of which that would be too much.
            let is_fresh = turn.since_stamp <= FRESH && !self.is_inline;
            let now = if is_fresh { turn.now_ns } else { turn.time.now_ns(&*self.engine) };
            turn.since_stamp = STALE;
            for io in &turn.batch {
                turn.flights[io.slot as usize].issued_ns = now;
            }
        }
        if let Err(error) = self.engine.submit(&turn.batch) {
            self.engine_broke(turn, error.to_string());
        }
        turn.batch.clear();
    }

    /// Waits as the issue round demands, then accounts what came back.
    fn collect<T: Time>(&mut self, turn: &mut Turn<'_, T>, issued: Issued) {
        let in_flight = turn.flights.len() - turn.idle.len();
        match issued {
            // Finished already: taking it is no wait. (Unless a signal interrupted it: then it goes on here.)
            _ if self.is_inline && in_flight > 0 => self.reap(turn, 1, None),
            Issued::AllBusy => {
                turn.waits.completion_waits += 1;
                let limit = turn.time.wait_limit(turn.phases.stop_ns(), turn.now_ns);
                self.reap(turn, 1, limit);
            }
            Issued::Throttled(wait_ns) if in_flight == 0 => {
                turn.waits.throttle_sleeps += 1;
                let left = turn.phases.stop_ns().saturating_sub(turn.now_ns);
                turn.time.sleep(wait_ns.min(left), &mut *self.engine);
                turn.now_ns = turn.time.now_ns(&*self.engine);
                turn.since_stamp = 0;
            }
            Issued::Throttled(wait_ns) => {
                turn.waits.throttle_waits += 1;
                self.reap(turn, 1, Some(Duration::from_nanos(wait_ns)));
            }
            Issued::BatchFull if self.dispatch.poll_after_batch => {
                let before = turn.completed;
                self.reap(turn, 0, None);
                turn.waits.lookasides += 1;
                let found = (turn.completed - before).min(7) as usize;
                turn.waits.lookaside_completions[found] += 1;
            }
            Issued::BatchFull => {}
        }
    }

    /// Takes completions, stamps them once and accounts each.
    fn reap<T: Time>(&mut self, turn: &mut Turn<'_, T>, min: u32, timeout: Option<Duration>) {
        let in_flight = (turn.flights.len() - turn.idle.len()) as u128;
        turn.done.clear();
        if let Err(error) = self.engine.reap(min, self.dispatch.reap_batch, timeout, &mut turn.done) {
            self.engine_broke(turn, error.to_string());
            return;
        }
        let now = turn.time.now_ns(&*self.engine);
        turn.in_flight_ns += in_flight * u128::from(turn.phases.measured_part_ns(turn.now_ns, now));
        turn.now_ns = now;
        turn.since_stamp = turn.done.len() as u32;
        if self.buckets.is_over(now) {
            self.close_buckets(now);
        }
        let counted = turn.phases.counts(now);
        // After the stop nothing is accounted for: the signal that ended the wait may have cut it short.
        let is_over = !counted && now >= turn.phases.stop_ns();
        for i in 0..turn.done.len() {
            let completion = turn.done[i];
            if is_over {
                turn.idle.push_back(completion.slot);
                continue;
            }
            self.account(turn, completion, counted);
            if self.dispatch.reissue_own {
                self.reissue(turn, completion.slot);
            } else {
                turn.idle.push_back(completion.slot);
            }
        }
    }

    /// What was counted until here belongs to the intervals that have passed. Comes a few times per second.
    #[cold]
    fn close_buckets(&mut self, now_ns: u64) {
        let totals = self.totals();
        self.buckets.close(now_ns, totals);
    }

    /// Reads and writes counted so far on all targets.
    fn totals(&self) -> [u64; 2] {
        self.duties
            .iter()
            .fold([0, 0], |[reads, writes], duty| [reads + duty.reads.ios(), writes + duty.writes.ios()])
    }

    /// `-x`: the request goes out again from its own completion, by itself.
    fn reissue<T: Time>(&mut self, turn: &mut Turn<'_, T>, slot: u32) {
        if !turn.failures.is_empty() || turn.now_ns >= turn.phases.stop_ns() {
            turn.idle.push_back(slot);
            return;
        }
        let duty = self.duty_of(slot);
        self.prepare(slot, duty, turn);
        self.hand_over(turn);
    }

    /// Counts one completion, or keeps its failure.
    #[inline]
    fn account<T: Time>(&mut self, turn: &mut Turn<'_, T>, completion: Completion, counted: bool) {
        let flight = turn.flights[completion.slot as usize];
        let duty = &mut self.duties[flight.duty as usize];
        let bytes = match completion.result {
            Ok(bytes) if bytes == duty.block_bytes => bytes,
            Ok(0) => return self.io_failed(turn, flight, FailureKind::EndOfTarget),
            Ok(bytes) => {
                duty.short_transfers += u64::from(counted);
                bytes
            }
            Err(errno) => return self.io_failed(turn, flight, FailureKind::Errno(errno)),
        };
        turn.completed += 1;
        if self.progress_ios > 0 && turn.completed.is_multiple_of(self.progress_ios) {
            (turn.dot)();
            // Writing to a terminal takes its time.
            turn.since_stamp = STALE;
        }
        if counted {
            let latency = turn.now_ns.saturating_sub(flight.issued_ns);
            let since_start = turn.now_ns - turn.phases.measure_start_ns();
            let response = || turn.now_ns.saturating_sub(turn.due_ns[completion.slot as usize]);
            match flight.op {
                Op::Read => duty.reads.record(bytes, latency, since_start, response),
                Op::Write => duty.writes.record(bytes, latency, since_start, response),
            }
        }
    }

    #[cold]
    fn io_failed<T: Time>(&mut self, turn: &mut Turn<'_, T>, flight: InFlight, kind: FailureKind) {
        if turn.failures.len() >= FAILURES_KEPT {
            return;
        }
        let duty = &self.duties[flight.duty as usize];
        let start = i128::from(turn.phases.measure_start_ns());
        turn.failures.push(IoFailure {
            target: duty.target,
            op: flight.op,
            offset: flight.offset,
            bytes: duty.block_bytes,
            since_measure_start_ns: (i128::from(turn.now_ns) - start) as i64,
            kind,
        });
    }

    #[cold]
    fn engine_broke<T: Time>(&mut self, turn: &mut Turn<'_, T>, words: String) {
        let flight = InFlight { duty: 0, op: Op::Read, offset: 0, issued_ns: 0 };
        self.io_failed(turn, flight, FailureKind::Engine(words));
    }
}

#[cfg(test)]
mod ends;
#[cfg(test)]
mod lab;
#[cfg(test)]
mod tests;
