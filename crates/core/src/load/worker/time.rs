//! Where a worker's time comes from: the machine, or an engine that simulates it.

use std::time::Duration;

use crate::engine::Engine;
use crate::measure::clock::{Clock, MachineClock};

/// The clock of a loop, which the loop is compiled for.
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

/// Waits up to this long are spent reading the clock. Sleeping would take about as much processor time and would end
/// too late by more than the wait, so that I/Os would be issued in clumps.
const SPIN_NS: u64 = 10_000;

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
