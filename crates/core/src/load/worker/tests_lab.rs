//! An engine that follows a script, writes down every call, and keeps the time.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::access::{DataRng, Pace, Pattern, PatternSpec, Places, RangeSpec, Rng, UsableRange};
use crate::engine::{AnyEngine, EngineError};
use crate::load::counters::Tables;
use crate::load::phases::Lengths;
use crate::plan::{Dispatch, Duty, LaneEngine, LaneTarget, ThreadWork};
use crate::result::Direction;
use truespd_platform::sys::thread::IoPrio;

pub const MIB: u64 = 1 << 20;
pub const NEVER: u64 = u64::MAX;

/// What the worker did, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Call {
    /// Slots handed over, at this time.
    Submit(u64, Vec<u32>),
    /// Least and most completions, time limit, what came.
    Reap(u32, u32, Option<u64>, Vec<u32>),
    /// A throttle sleep of this length.
    Sleep(u64),
    /// Looked at the clock.
    Stamp,
    /// Left.
    Drain,
}

/// How an I/O goes, by its number from 1.
type Script<R> = Box<dyn Fn(u64, &Io) -> R>;

pub struct State {
    pub now_ns: u64,
    pub calls: Vec<Call>,
    pub ios: Vec<Io>,
    /// End, number, slot, result.
    flying: Vec<(u64, u64, u32, Result<u32, IoError>)>,
    pub phases: Rc<Phases>,
    pub service_ns: Script<u64>,
    pub result: Script<Result<u32, IoError>>,
    pub submit_ns: u64,
    pub stamp_ns: u64,
    /// What the engine says of itself, and stamps that respect it.
    pub copies: bool,
    pub is_inline: bool,
    /// It counts its calls, as a ring does.
    pub has_ring: bool,
    pub stamps_after_copies: usize,
    /// The engine breaks at this submission or reaping, counted from 1.
    pub breaks_at: (usize, usize),
    /// The controller stops the run at this time, with a signal.
    pub stop_at: Option<u64>,
    /// A signal that means nothing comes at this time.
    pub signal_at: Option<u64>,
    /// Time that drains took; the clock of what was done before stays.
    pub drained_ns: u64,
}

/// Engine and clock at once; clones are the same.
#[derive(Clone)]
pub struct Lab(pub Rc<RefCell<State>>);

impl fmt::Debug for Lab {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lab")
    }
}

impl State {
    /// Lets time pass to `to_ns`, or to a signal or the stop if that comes before.
    fn pass(&mut self, to_ns: u64) {
        if self.signal_at.is_some_and(|signal| to_ns >= signal) {
            self.now_ns = self.now_ns.max(self.signal_at.take().unwrap_or(0));
            return;
        }
        match self.stop_at {
            Some(stop) if to_ns >= stop => {
                self.now_ns = self.now_ns.max(stop);
                self.phases.interrupt(self.now_ns);
                self.stop_at = None;
            }
            _ => self.now_ns = self.now_ns.max(to_ns),
        }
    }
}

fn broken(action: &'static str) -> EngineError {
    EngineError::Broken { engine: "lab", action, error: "as told".into() }
}

impl Engine for Lab {
    fn submit(&mut self, ios: &[Io]) -> Result<(), EngineError> {
        let state = &mut *self.0.borrow_mut();
        state.calls.push(Call::Submit(state.now_ns, ios.iter().map(|io| io.slot).collect()));
        let submits = state.calls.iter().filter(|c| matches!(c, Call::Submit(..))).count();
        if submits == state.breaks_at.0 {
            return Err(broken("submitting"));
        }
        for io in ios {
            assert!(state.flying.iter().all(|f| f.2 != io.slot), "slot {} is in flight", io.slot);
            state.ios.push(*io);
            let number = state.ios.len() as u64;
            let end_ns = state.now_ns.saturating_add((state.service_ns)(number, io));
            state.flying.push((end_ns, number, io.slot, (state.result)(number, io)));
        }
        state.flying.sort_unstable();
        state.pass(state.now_ns + state.submit_ns);
        Ok(())
    }

    fn reap(
        &mut self,
        min: u32,
        max: u32,
        timeout: Option<Duration>,
        done: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        let state = &mut *self.0.borrow_mut();
        assert!(min as usize <= state.flying.len(), "waits for more than is in flight");
        let limit_ns = timeout.map(|t| t.as_nanos() as u64);
        if min > 0 {
            let end_ns = state.flying[min as usize - 1].0;
            let until_ns = limit_ns.map_or(end_ns, |l| end_ns.min(state.now_ns.saturating_add(l)));
            assert!(until_ns < NEVER || state.stop_at.is_some(), "nothing would ever end this wait");
            state.pass(until_ns);
        }
        let ready = state.flying.iter().take_while(|f| f.0 <= state.now_ns).count().min(max as usize);
        let came: Vec<_> = state.flying.drain(..ready).collect();
        state.calls.push(Call::Reap(min, max, limit_ns, came.iter().map(|f| f.2).collect()));
        let reaps = state.calls.iter().filter(|c| matches!(c, Call::Reap(..))).count();
        if reaps == state.breaks_at.1 {
            return Err(broken("reaping"));
        }
        done.extend(came.into_iter().map(|(_, _, slot, result)| Completion { slot, result }));
        Ok(())
    }

    fn in_flight(&self) -> u32 {
        self.0.borrow().flying.len() as u32
    }

    fn copies(&self) -> bool {
        self.0.borrow().copies
    }

    fn submits(&self) -> Option<u64> {
        let state = self.0.borrow();
        let submits = state.calls.iter().filter(|call| matches!(call, Call::Submit(..))).count();
        state.has_ring.then_some(submits as u64)
    }

    fn is_inline(&self) -> bool {
        self.0.borrow().is_inline
    }

    fn drain(&mut self, limit: Duration, done: &mut Vec<Completion>) -> u32 {
        let state = &mut *self.0.borrow_mut();
        if state.calls.last() != Some(&Call::Drain) {
            state.calls.push(Call::Drain);
        }
        let from_ns = state.now_ns + state.drained_ns;
        let until_ns = from_ns.saturating_add(limit.as_nanos() as u64);
        state.flying.sort_unstable();
        let came = state.flying.iter().take_while(|f| f.0 <= until_ns).count();
        let end_ns = match state.flying.len() - came {
            0 => state.flying.last().map_or(from_ns, |f| f.0.max(from_ns)),
            _ => until_ns,
        };
        state.drained_ns = end_ns - state.now_ns;
        done.extend(state.flying.drain(..came).map(|(_, _, slot, result)| Completion { slot, result }));
        state.flying.len() as u32
    }
}

impl Time for Lab {
    const PASSES: bool = false;

    fn now_ns(&self, _: &dyn Engine) -> u64 {
        let state = &mut *self.0.borrow_mut();
        if state.calls.last() == Some(&Call::Drain) {
            return state.now_ns + state.drained_ns;
        }
        state.calls.push(Call::Stamp);
        state.now_ns += state.stamp_ns;
        state.now_ns
    }

    fn now_after_copies_ns(&self, engine: &dyn Engine) -> u64 {
        self.0.borrow_mut().stamps_after_copies += 1;
        self.now_ns(engine)
    }

    fn sleep(&self, ns: u64, _: bool, _: &mut dyn Engine) {
        let state = &mut *self.0.borrow_mut();
        assert!(state.flying.is_empty(), "sleeps although I/Os are in flight");
        state.calls.push(Call::Sleep(ns));
        state.pass(state.now_ns + ns);
    }

    fn wait_limit(&self, _: u64, _: u64) -> Option<Duration> {
        None
    }
}

/// What a worker did and brought home.
pub struct Seen {
    pub calls: Vec<Call>,
    pub ios: Vec<Io>,
    /// Reads and writes of each target.
    pub counted: Vec<(Direction, Direction)>,
    pub short_transfers: u64,
    pub waits: WaitStatistics,
    pub in_flight_ns: u128,
    pub buckets: Buckets,
    pub failures: Vec<IoFailure>,
    pub late: Vec<Late>,
    pub stuck: u32,
    pub dots: u32,
    pub stamps_after_copies: usize,
    pub now_ns: u64,
}

impl Seen {
    /// The calls without looks at the clock.
    pub fn moves(&self) -> Vec<Call> {
        self.calls.iter().filter(|c| **c != Call::Stamp).cloned().collect()
    }

    /// Times and slots of everything handed over.
    pub fn submits(&self) -> Vec<(u64, Vec<u32>)> {
        let submit = |call: &Call| match call {
            Call::Submit(at, slots) => Some((*at, slots.clone())),
            _ => None,
        };
        self.calls.iter().filter_map(submit).collect()
    }

    /// Reads counted on the first target.
    pub fn reads(&self) -> u64 {
        self.counted[0].0.ios
    }

    /// Latencies of the reads counted on the first target.
    pub fn latencies_ns(&self) -> Vec<u64> {
        let latency = self.counted[0].0.latency.as_ref().expect("measured");
        latency.buckets().flat_map(|b| std::iter::repeat_n(b.low_ns, b.count as usize)).collect()
    }
}

/// A worker to be set up, its engine's script, and the phases.
pub struct Bench {
    pub lab: Lab,
    pub parts: Parts,
    pub phases: Rc<Phases>,
}

/// What the worker is made of.
pub struct Parts {
    pub lane: Lane,
    pub buffers: Vec<Arc<IoBuffer>>,
    pub data_rng: DataRng,
    pub buckets: Buckets,
    pub latencies: Present,
    pub progress_ios: u64,
    pub counts_waits: bool,
    pub live: Option<Arc<Cell>>,
    wanted: Wanted,
}

impl Parts {
    /// One more target; so many slots for each then.
    pub fn add(&mut self, target: LaneTarget, requests: &[u32]) {
        self.lane.targets.push(target);
        for (target, requests) in self.lane.targets.iter_mut().zip(requests) {
            target.duty.requests = *requests;
        }
    }
}

pub fn pattern(
    block_bytes: u64,
    random_percent: u32,
    write_percent: u32,
    slots: u32,
    rng: &mut Rng,
) -> Pattern {
    let range = UsableRange::new(RangeSpec {
        size_bytes: MIB,
        base_bytes: 0,
        max_bytes: 0,
        block_bytes,
        stride_bytes: 0,
        thread_stride_bytes: 0,
    });
    let start = range.expect("legal").start_of(0).expect("fits");
    let spec = PatternSpec {
        start,
        slots,
        random_percent,
        interlocked: false,
        parallel: false,
        write_percent,
        places: Places::Uniform,
        mix: Vec::new(),
        stride_bytes: None,
        flush_every: None,
        trim_percent: 0,
        verify: false,
    };
    Pattern::new(spec, rng)
}

/// Reads of 4 KiB, one after the other.
pub fn lane_target(index: usize, slot_first: u32, pattern: Pattern) -> LaneTarget {
    let region = 2 * index as u32;
    LaneTarget {
        duty: Duty { target: index, relative_thread: 0, requests: 0, weight: 1, sharers: 1 },
        slot_first,
        block_bytes: 4096,
        sizes: Vec::new(),
        slot_stride_bytes: 4096,
        pattern,
        varied: None,
        verify: false,
        flush: Op::Flush,
        shared: Arc::default(),
        pace: Pace::UNLIMITED,
        reads: true,
        writes: LaneWrites::Zero,
        read_region: region,
        write_region: region + 1,
        huge_page_bytes: None,
        size_bytes: MIB,
        ioprio: IoPrio::NONE,
        map: None,
    }
}

pub const NO_STATISTICS: Wanted = Wanted { latency: false, intervals: None };
pub const LATENCY: Wanted = Wanted { latency: true, intervals: None };

impl Bench {
    /// One target, `slots` requests that each take 100 ns; measured for 1000 ns from the start.
    pub fn new(slots: u32, wanted: Wanted) -> Self {
        let phases = Rc::new(Phases::new());
        phases.begin(0, Lengths { warmup_ns: 0, duration_ns: 1000, cooldown_ns: 0, rounds: None });
        let lab = Lab(Rc::new(RefCell::new(State {
            now_ns: 0,
            calls: Vec::new(),
            ios: Vec::new(),
            flying: Vec::new(),
            phases: Rc::clone(&phases),
            service_ns: Box::new(|_, _| 100),
            result: Box::new(|_, io| Ok(io.len)),
            submit_ns: 0,
            stamp_ns: 0,
            copies: false,
            is_inline: false,
            has_ring: false,
            stamps_after_copies: 0,
            breaks_at: (0, 0),
            stop_at: None,
            signal_at: None,
            drained_ns: 0,
        })));
        let mut rng = Rng::new(0);
        let sequential = pattern(4096, 0, 0, slots, &mut rng);
        let stamps = wanted.stamps();
        let mut first = lane_target(0, 0, sequential);
        first.duty.requests = slots;
        let work = ThreadWork { id: 0, seed: 0, cpu: None, duties: Vec::new(), slots, is_pool: false };
        let lane = Lane {
            work,
            engine: LaneEngine { row: None, parameters: String::new(), registered_buffers: false },
            dispatch: Dispatch {
                submit_batch: if stamps { 1 } else { slots },
                no_batching_when_fast: false,
                reap_batch: slots.min(16),
                poll_after_batch: stamps,
                reissue_own: false,
            },
            pool: None,
            rng,
            targets: vec![first],
        };
        let parts = Parts {
            lane,
            buffers: Vec::new(),
            data_rng: DataRng::for_thread(0, 0),
            buckets: Buckets::new(0, 0),
            latencies: Tables::none().of_thread(0),
            progress_ios: 0,
            counts_waits: false,
            live: None,
            wanted,
        };
        Bench { lab, parts, phases }
    }

    /// Other lengths of warm-up, measurement and cool-down.
    pub fn lengths(self, warmup_ns: u64, duration_ns: u64, cooldown_ns: u64) -> Self {
        self.phases.begin(0, Lengths { warmup_ns, duration_ns, cooldown_ns, rounds: None });
        self
    }

    /// How long each I/O takes.
    pub fn service(self, service_ns: impl Fn(u64, &Io) -> u64 + 'static) -> Self {
        self.lab.0.borrow_mut().service_ns = Box::new(service_ns);
        self
    }

    /// What becomes of each I/O.
    pub fn result(self, result: impl Fn(u64, &Io) -> Result<u32, IoError> + 'static) -> Self {
        self.lab.0.borrow_mut().result = Box::new(result);
        self
    }

    /// Anything else about the script.
    pub fn script(self, edit: impl FnOnce(&mut State)) -> Self {
        edit(&mut self.lab.0.borrow_mut());
        self
    }

    /// Anything else about the worker.
    pub fn worker(mut self, edit: impl FnOnce(&mut Parts)) -> Self {
        edit(&mut self.parts);
        self
    }

    pub fn run(self) -> Seen {
        let dots = std::cell::Cell::new(0);
        let Parts { lane, buffers, data_rng, buckets, latencies, progress_ios, counts_waits, live, wanted } =
            self.parts;
        let mut worker = Worker::new(lane, AnyEngine::new(self.lab.clone()), buffers, wanted);
        (worker.data_rng, worker.buckets, worker.latencies) = (data_rng, buckets, latencies);
        (worker.progress_ios, worker.live) = (progress_ios, live);
        worker.counts_waits = counts_waits;
        let outcome = worker.run(&self.lab, &self.phases, &|| dots.set(dots.get() + 1));
        let state = &mut *self.lab.0.borrow_mut();
        let (calls, ios) = (std::mem::take(&mut state.calls), std::mem::take(&mut state.ios));
        assert_eq!(calls.last(), Some(&Call::Drain), "nothing happens after the drain");
        let duration_ns = self.phases.measured_ns();
        Seen {
            calls,
            ios,
            short_transfers: outcome.tallies.iter().map(|d| d.short_transfers).sum(),
            counted: outcome
                .tallies
                .into_iter()
                .map(|d| (d.reads.finish(wanted, duration_ns), d.writes.finish(wanted, duration_ns)))
                .collect(),
            waits: outcome.waits,
            in_flight_ns: outcome.in_flight_ns,
            buckets: outcome.buckets,
            failures: outcome.failures,
            late: outcome.late,
            stuck: outcome.stuck,
            dots: dots.get(),
            stamps_after_copies: state.stamps_after_copies,
            now_ns: state.now_ns,
        }
    }
}
