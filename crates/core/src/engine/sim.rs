//! `sim`: a simulated device with a virtual clock, for tests of everything above the engines.
//!
//! I/Os start in the order of submission, as soon as one of the channels is free and the rate limit
//! allows, and take the service time. Time passes only in `submit` (by the cost per I/O), in `reap` that
//! has to wait, and in `advance_virtual`; the same parameters and calls give the same result, bit for bit.
//! No data is moved. Reads end at the end of the file, writes do not.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use super::sim_spec::{Fault, Jitter, Spec};
use super::transfer::check_setup;
use super::{AnyEngine, Completion, Engine, EngineError, Io, IoError, Op, Opened, Setup};
use crate::sys::signals;

pub(super) use super::sim_spec::NAME;

/// Virtual time at which a hung I/O ends.
const NEVER: u64 = u64::MAX;

#[derive(Debug)]
struct Sim {
    spec: Spec,
    sizes: Vec<u64>,
    now_ns: u64,
    random: SplitMix,
    /// I/Os submitted so far.
    count: u64,
    /// When each channel that has been used is free again. Hung I/Os occupy none.
    busy_until: BinaryHeap<Reverse<u64>>,
    /// Earliest start of the next I/O under the rate limit.
    next_start_ns: u64,
    /// By end, then by order of submission.
    in_flight: BinaryHeap<Reverse<(u64, u64, Finished)>>,
}

/// A completion that can be ordered (never decides: the order of submission does).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Finished {
    slot: u32,
    result: Result<u32, IoError>,
}

/// Checks the parameters without opening anything.
pub(super) fn check_parameters(text: &str) -> Result<(), EngineError> {
    Spec::parse(text).map(|_| ())
}

pub(super) fn open(setup: Setup) -> Result<Opened, EngineError> {
    check_setup(NAME, &setup, u32::MAX)?;
    let spec = Spec::parse(&setup.parameters)?;
    let engine = Sim {
        sizes: setup.files.iter().map(|f| f.size_bytes).collect(),
        now_ns: 0,
        random: SplitMix(spec.seed),
        count: 0,
        busy_until: BinaryHeap::new(),
        next_start_ns: 0,
        in_flight: BinaryHeap::with_capacity(setup.depth as usize),
        spec,
    };
    Ok(Opened { engine: AnyEngine::new(engine), notes: Vec::new() })
}

impl Sim {
    fn issue(&mut self, io: &Io) {
        self.count += 1;
        self.now_ns += self.spec.cpu_ns;
        let mut result = Ok(self.bytes_inside(io));
        let mut service_ns = self.service_time(io.op);
        for (fault, place) in &self.spec.faults {
            if !place.hits(self.count, io.offset, io.len, || self.random.next()) {
                continue;
            }
            match *fault {
                Fault::Error(error) => result = Err(error),
                Fault::Short(len) => result = result.map(|n| n.min(len)),
                Fault::Stall(Some(more)) => service_ns = service_ns.saturating_add(more),
                Fault::Stall(None) => service_ns = NEVER,
            }
        }
        let end_ns = if service_ns == NEVER { NEVER } else { self.serve(service_ns) };
        self.in_flight.push(Reverse((end_ns, self.count, Finished { slot: io.slot, result })));
    }

    /// Gives the I/O a channel and a place under the rate limit; when it ends.
    fn serve(&mut self, service_ns: u64) -> u64 {
        let mut start_ns = self.now_ns.max(self.next_start_ns);
        if self.busy_until.len() >= self.spec.channels as usize
            && let Some(Reverse(free_ns)) = self.busy_until.pop()
        {
            start_ns = start_ns.max(free_ns);
        }
        self.next_start_ns = start_ns.saturating_add(self.spec.spacing_ns);
        let end_ns = start_ns.saturating_add(service_ns).min(NEVER - 1);
        if self.spec.channels < u32::MAX {
            self.busy_until.push(Reverse(end_ns));
        }
        end_ns
    }

    fn bytes_inside(&self, io: &Io) -> u32 {
        match io.op {
            Op::Write => io.len,
            Op::Read => {
                let left = self.sizes[io.file as usize].saturating_sub(io.offset);
                u32::try_from(left).map_or(io.len, |left| left.min(io.len))
            }
        }
    }

    fn service_time(&mut self, op: Op) -> u64 {
        let latency_ns = match op {
            Op::Read => self.spec.read_latency_ns,
            Op::Write => self.spec.write_latency_ns,
        };
        match self.spec.jitter {
            Jitter::None => latency_ns,
            // 1 - u is in (0, 1].
            Jitter::Exponential => (-(1.0 - self.random.fraction()).ln() * latency_ns as f64) as u64,
            Jitter::Uniform => ((0.5 + self.random.fraction()) * latency_ns as f64) as u64,
            // Never below two thirds of the mean.
            Jitter::Pareto => (latency_ns as f64 / 1.5 / (1.0 - self.random.fraction()).cbrt()) as u64,
        }
    }

    /// When the `n`-th of the I/Os in flight ends, counted from 1.
    fn nth_end(&self, n: usize) -> u64 {
        let mut ends: Vec<u64> = self.in_flight.iter().map(|Reverse((end_ns, ..))| *end_ns).collect();
        let n = n.min(ends.len()) - 1;
        *ends.select_nth_unstable(n).1
    }

    /// Lets time pass until `min` I/Os are finished or the time limit is over.
    fn wait(&mut self, min: u32, timeout: Option<Duration>) {
        let end_ns = match min {
            // The common case needs no sorting.
            1 => self.in_flight.peek().map_or(NEVER, |Reverse((end_ns, ..))| *end_ns),
            n => self.nth_end(n as usize),
        };
        let limit_ns =
            timeout.map(|t| self.now_ns.saturating_add(u64::try_from(t.as_nanos()).unwrap_or(NEVER)));
        match limit_ns {
            Some(limit_ns) => self.now_ns = self.now_ns.max(end_ns.min(limit_ns)),
            // A hung device: only a signal ends the wait, as with the engines that are real.
            None if end_ns == NEVER => signals::wait_for_any(),
            None => self.now_ns = self.now_ns.max(end_ns),
        }
    }
}

impl Engine for Sim {
    fn submit(&mut self, ios: &[Io]) -> Result<(), EngineError> {
        for io in ios {
            self.issue(io);
        }
        Ok(())
    }

    fn reap(
        &mut self,
        min: u32,
        max: u32,
        timeout: Option<Duration>,
        done: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        if min > 0 && !self.in_flight.is_empty() {
            self.wait(min, timeout);
        }
        for _ in 0..max {
            match self.in_flight.peek() {
                Some(Reverse((end_ns, _, finished))) if *end_ns <= self.now_ns => {
                    done.push(Completion { slot: finished.slot, result: finished.result });
                    self.in_flight.pop();
                }
                _ => break,
            }
        }
        Ok(())
    }

    fn in_flight(&self) -> u32 {
        self.in_flight.len() as u32
    }

    fn drain(&mut self, limit: Duration, done: &mut Vec<Completion>) -> u32 {
        let until_ns =
            self.now_ns.saturating_add(u64::try_from(limit.as_nanos()).unwrap_or(NEVER)).min(NEVER - 1);
        while let Some(Reverse((end_ns, _, finished))) = self.in_flight.peek() {
            if *end_ns > until_ns {
                self.now_ns = until_ns;
                break;
            }
            self.now_ns = self.now_ns.max(*end_ns);
            done.push(Completion { slot: finished.slot, result: finished.result });
            self.in_flight.pop();
        }
        self.in_flight()
    }

    fn virtual_now_ns(&self) -> Option<u64> {
        Some(self.now_ns)
    }

    fn advance_virtual(&mut self, now_ns: u64) {
        self.now_ns = self.now_ns.max(now_ns);
    }
}

/// Vigna's SplitMix64: one word of state, good enough for service times.
#[derive(Debug)]
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [0, 1).
    fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}
