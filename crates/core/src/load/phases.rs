//! The instants at which phases begin and end. The controller publishes them, the workers obey them.
//!
//! Where a worker's time comes from: the machine, or an engine that simulates it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::rounds::RoundLengths;
use crate::engine::Engine;
use crate::measure::clock::{Clock, MachineClock};
use crate::profile::TimeSpan;
use crate::result::{LateTick, Ticks};

/// Instants of one clock in nanoseconds. Workers read them once per turn; only an interruption
/// changes them after the start.
#[derive(Debug)]
pub struct Phases {
    start_ns: AtomicU64,
    measure_start_ns: AtomicU64,
    measure_end_ns: AtomicU64,
    stop_ns: AtomicU64,
}

/// Lengths of the phases in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lengths {
    /// Warm-up (`-W`).
    pub warmup_ns: u64,
    /// Measured (`-d`), at most.
    pub duration_ns: u64,
    /// Cool-down (`-C`).
    pub cooldown_ns: u64,
    /// How the measured time is divided, where it may end before that (`--until-steady`).
    pub rounds: Option<RoundLengths>,
}

impl Lengths {
    /// Those of a time span.
    pub fn of(span: &TimeSpan) -> Self {
        let [warmup_ns, duration_ns, cooldown_ns] =
            [u64::from(span.warmup_s), span.measured_s_max(), u64::from(span.cooldown_s)]
                .map(|s| s.saturating_mul(1_000_000_000));
        Lengths { warmup_ns, duration_ns, cooldown_ns, rounds: RoundLengths::of(span) }
    }

    /// Measured time of the result, unless the run ends early.
    pub fn result_ns(&self) -> u64 {
        self.rounds.map_or(self.duration_ns, |rounds| rounds.window_ns())
    }

    /// The longest of some whole seconds up to `wanted_ns` that divides the rounds, where there are any.
    pub fn dividing_rounds(&self, wanted_ns: u64) -> u64 {
        self.rounds.map_or(wanted_ns, |rounds| rounds.dividing(wanted_ns))
    }

    /// Measured time and nothing else.
    pub fn only(duration_ns: u64) -> Self {
        Lengths { warmup_ns: 0, duration_ns, cooldown_ns: 0, rounds: None }
    }

    pub fn all_ns(&self) -> u64 {
        self.warmup_ns.saturating_add(self.duration_ns).saturating_add(self.cooldown_ns)
    }
}

impl Phases {
    /// Nothing is counted and nothing stops until [`Phases::begin`].
    pub fn new() -> Self {
        Phases {
            start_ns: AtomicU64::new(u64::MAX),
            measure_start_ns: AtomicU64::new(u64::MAX),
            measure_end_ns: AtomicU64::new(u64::MAX),
            stop_ns: AtomicU64::new(u64::MAX),
        }
    }

    /// Publishes the instants for a start at `now_ns`. Call before the workers are let go.
    pub fn begin(&self, now_ns: u64, lengths: Lengths) {
        let start = now_ns.saturating_add(lengths.warmup_ns);
        let end = start.saturating_add(lengths.duration_ns);
        self.start_ns.store(now_ns, Ordering::Relaxed);
        self.measure_start_ns.store(start, Ordering::Relaxed);
        self.measure_end_ns.store(end, Ordering::Relaxed);
        self.stop_ns.store(end.saturating_add(lengths.cooldown_ns), Ordering::Release);
    }

    /// Ends the run at `now_ns`. In the warm-up nothing is measured, in the measured time what was measured so far
    /// counts, in the cool-down everything counts.
    pub fn interrupt(&self, now_ns: u64) {
        self.measure_start_ns.fetch_min(now_ns, Ordering::Relaxed);
        self.measure_end_ns.fetch_min(now_ns, Ordering::Relaxed);
        self.stop_ns.store(0, Ordering::Release);
    }

    /// Ends the measured time at `end_ns`, which may have passed, and with it the run after the cool-down.
    pub fn end_at(&self, end_ns: u64, cooldown_ns: u64) {
        self.measure_end_ns.store(end_ns, Ordering::Relaxed);
        self.stop_ns.store(end_ns.saturating_add(cooldown_ns), Ordering::Release);
    }

    /// The start signal, from which rate limits count (`io-semantics.md` §11).
    pub fn start_ns(&self) -> u64 {
        self.start_ns.load(Ordering::Relaxed)
    }

    #[inline]
    pub fn measure_start_ns(&self) -> u64 {
        self.measure_start_ns.load(Ordering::Relaxed)
    }

    #[inline]
    pub fn measure_end_ns(&self) -> u64 {
        self.measure_end_ns.load(Ordering::Relaxed)
    }

    /// When workers leave their loop.
    #[inline]
    pub fn stop_ns(&self) -> u64 {
        self.stop_ns.load(Ordering::Relaxed)
    }

    /// A completion with this stamp counts (`io-semantics.md` §12).
    #[inline]
    pub fn counts(&self, stamp_ns: u64) -> bool {
        stamp_ns >= self.measure_start_ns() && stamp_ns < self.measure_end_ns()
    }

    /// The first instant after `now_ns` at which a phase begins or the run ends; the end of time after that.
    pub fn next_edge_ns(&self, now_ns: u64) -> u64 {
        let edges = [self.measure_start_ns(), self.measure_end_ns(), self.stop_ns()];
        edges.into_iter().filter(|&edge| edge > now_ns).min().unwrap_or(u64::MAX)
    }

    /// How much of the time between two instants is measured.
    #[inline]
    pub fn measured_part_ns(&self, from_ns: u64, to_ns: u64) -> u64 {
        to_ns.min(self.measure_end_ns()).saturating_sub(from_ns.max(self.measure_start_ns()))
    }

    /// Measured time so far planned or reached, in nanoseconds; 0 when interrupted in warm-up.
    pub fn measured_ns(&self) -> u64 {
        self.measure_end_ns().saturating_sub(self.measure_start_ns())
    }
}

/// Holds ready workers back until all are ready, or lets them end without a run.
#[derive(Debug)]
pub struct StartGate {
    state: Mutex<Option<bool>>,
    changed: Condvar,
}

impl StartGate {
    pub fn new() -> Self {
        StartGate { state: Mutex::new(None), changed: Condvar::new() }
    }

    /// Starts all workers (`true`) or ends them (`false`). The first call decides.
    pub fn open(&self, go: bool) {
        let mut state = self.state.lock().expect("nobody panics while holding the gate");
        state.get_or_insert(go);
        self.changed.notify_all();
    }

    pub fn wait(&self) -> bool {
        let state = self.state.lock().expect("nobody panics while holding the gate");
        let state =
            self.changed.wait_while(state, |s| s.is_none()).expect("nobody panics while holding the gate");
        *state == Some(true)
    }
}

/// Lets workers through one after the other, in the order of their numbers.
#[derive(Debug)]
pub struct Turnstile {
    next: Mutex<u32>,
    moved: Condvar,
}

/// The right to be inside. When it is dropped, the next worker may enter.
#[derive(Debug)]
pub struct Inside<'a>(&'a Turnstile);

impl Turnstile {
    /// Number 0 is the first.
    pub fn new() -> Self {
        Turnstile { next: Mutex::new(0), moved: Condvar::new() }
    }

    /// Waits until all smaller numbers have been inside.
    pub fn enter(&self, number: u32) -> Inside<'_> {
        let next = self.next.lock().expect("nobody panics while holding the turnstile");
        let _turn = self
            .moved
            .wait_while(next, |next| *next != number)
            .expect("nobody panics while holding the turnstile");
        Inside(self)
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        // Also when a worker panics, so that the others can enter.
        *self.0.next.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.moved.notify_all();
    }
}

/// From tick to tick: short enough to see what a person sees in a latency, long enough to cost nothing.
const EVERY_NS: u64 = 25_000_000;
/// A tick that is less late than this was kept waiting by other threads.
const LATE_NS: u64 = 50_000_000;
/// Late ticks that are kept.
const KEPT: usize = 1000;

/// The clock. Instants are of the run's clock.
#[derive(Debug)]
pub struct Monitor {
    start_ns: u64,
    due_ns: u64,
    waiting_ns: Option<u64>,
    late: Vec<LateTick>,
}

impl Monitor {
    /// Ticks from the start of the measured time on. `waiting_ns` is for how long this thread has had no
    /// processor so far.
    pub fn begin(measure_start_ns: u64, waiting_ns: Option<u64>) -> Self {
        let due_ns = measure_start_ns.saturating_add(EVERY_NS);
        Monitor { start_ns: measure_start_ns, due_ns, waiting_ns, late: Vec::new() }
    }

    /// When the next tick is due.
    pub fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// Looks at the clock; `now_ns` lies in the measured time, or at its end.
    pub fn look(&mut self, now_ns: u64, waiting_ns: impl FnOnce() -> Option<u64>) {
        let Some(late_ns) = now_ns.checked_sub(self.due_ns) else { return };
        let waiting_ns = waiting_ns();
        if late_ns >= LATE_NS {
            let waited = waiting_ns.zip(self.waiting_ns).map(|(now, then)| now.saturating_sub(then));
            let due_ns = self.due_ns - self.start_ns;
            self.keep(LateTick { due_ns, late_ns, waiting_for_cpu_ns: waited });
        }
        self.waiting_ns = waiting_ns;
        self.due_ns = now_ns.saturating_add(EVERY_NS);
    }

    fn keep(&mut self, tick: LateTick) {
        if self.late.len() == KEPT {
            let Some(least) = (0..KEPT).min_by_key(|&place| self.late[place].late_ns) else { return };
            if self.late[least].late_ns >= tick.late_ns {
                return;
            }
            self.late.remove(least);
        }
        self.late.push(tick);
    }

    pub fn finish(self) -> Ticks {
        Ticks { every_ns: EVERY_NS, late: self.late }
    }
}

/// The clock of a loop, which the loop is compiled for.
pub trait Time {
    /// It passes while the loop runs round, and a wait may end late.
    const PASSES: bool;
    /// Now, in nanoseconds of one clock per run.
    fn now_ns(&self, engine: &dyn Engine) -> u64;
    /// Now, and not before the copies that this thread made are complete.
    fn now_after_copies_ns(&self, engine: &dyn Engine) -> u64 {
        self.now_ns(engine)
    }
    /// Lets `ns` pass, or less when interrupted. `is_exact`: not more, at the cost of processor time.
    fn sleep(&self, ns: u64, is_exact: bool, engine: &mut dyn Engine);
    /// Longest single wait for completions; `None` when the controller interrupts waits.
    fn wait_limit(&self, stop_ns: u64, now_ns: u64) -> Option<Duration>;
}

/// Waits up to this long are spent reading the clock. Sleeping would take about as much processor time and would end
/// too late by more than the wait, so that I/Os would be issued in clumps.
const SPIN_NS: u64 = 10_000;
/// A thread that sleeps wakes up to so much late, in virtual machines and on idle processors. Where instants matter,
/// the rest of a wait is spent reading the clock.
pub const WOKEN_LATE_NS: u64 = 100_000;

#[derive(Debug, Clone)]
pub struct MachineTime(pub MachineClock);

impl Time for MachineTime {
    const PASSES: bool = true;

    #[inline]
    fn now_ns(&self, _: &dyn Engine) -> u64 {
        self.0.now_unfenced_ns()
    }

    #[inline]
    fn now_after_copies_ns(&self, _: &dyn Engine) -> u64 {
        self.0.now_ns()
    }

    fn sleep(&self, ns: u64, is_exact: bool, _: &mut dyn Engine) {
        let end_ns = self.0.now_ns().saturating_add(ns);
        if is_exact && ns > WOKEN_LATE_NS {
            truespd_platform::sys::thread::sleep_once(Duration::from_nanos(ns - WOKEN_LATE_NS));
            // What ended the sleep may have been a signal, which wants to be seen now.
            if self.0.now_ns().saturating_add(2 * WOKEN_LATE_NS) < end_ns {
                return;
            }
        } else if !is_exact && ns > SPIN_NS {
            return truespd_platform::sys::thread::sleep_once(Duration::from_nanos(ns));
        }
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
    const PASSES: bool = false;

    fn now_ns(&self, engine: &dyn Engine) -> u64 {
        engine.virtual_now_ns().unwrap_or(0)
    }

    fn sleep(&self, ns: u64, _: bool, engine: &mut dyn Engine) {
        let now = engine.virtual_now_ns().unwrap_or(0);
        engine.advance_virtual(now.saturating_add(ns));
    }

    fn wait_limit(&self, stop_ns: u64, now_ns: u64) -> Option<Duration> {
        Some(Duration::from_nanos(stop_ns.saturating_sub(now_ns)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine;

    const LENGTHS: Lengths = Lengths { warmup_ns: 10, duration_ns: 100, cooldown_ns: 5, rounds: None };

    #[test]
    fn an_exact_wait_is_never_too_short() {
        let time = MachineTime(MachineClock::start());
        let setup = engine::Setup {
            depth: 1,
            files: Vec::new(),
            regions: Vec::new(),
            registered_buffers: false,
            trims: false,
            parameters: String::new(),
        };
        let null = engine::find("null").expect("an engine");
        let (_, engine::Opened { mut engine, .. }) = engine::open(null, setup).expect("it needs nothing");
        let engine = &mut engine;
        for ns in [0, 5_000, 50_000, 150_000, 1_000_000] {
            let before = time.now_after_copies_ns(engine);
            time.sleep(ns, true, engine);
            assert!(time.now_after_copies_ns(engine) - before >= ns, "{ns}");
        }
    }

    #[test]
    fn a_completion_counts_from_the_start_up_to_the_end() {
        let phases = Phases::new();
        assert!(!phases.counts(0), "nothing counts before the start");
        phases.begin(1000, LENGTHS);
        let counted: Vec<u64> =
            [1009, 1010, 1109, 1110, 1115].into_iter().filter(|&t| phases.counts(t)).collect();
        assert_eq!(counted, [1010, 1109]);
        let edges = [0, 1009, 1010, 1109, 1110, 1114, 1115].map(|now| phases.next_edge_ns(now));
        assert_eq!(edges, [1010, 1010, 1110, 1110, 1115, 1115, u64::MAX]);
        assert_eq!(phases.stop_ns(), 1115);
        assert_eq!(phases.measured_ns(), 100);
    }

    #[test]
    fn an_interruption_ends_the_phase_it_falls_into() {
        for (at, measured) in [(1005, 0), (1050, 40), (1112, 100)] {
            let phases = Phases::new();
            phases.begin(1000, LENGTHS);
            phases.interrupt(at);
            assert_eq!(phases.measured_ns(), measured, "interrupted at {at}");
            assert_eq!(phases.stop_ns(), 0);
            assert!(!phases.counts(at));
        }
    }

    #[test]
    fn only_the_measured_part_of_a_wait_is_measured() {
        let phases = Phases::new();
        assert_eq!(phases.measured_part_ns(0, u64::MAX), 0, "nothing is measured before the start");
        phases.begin(1000, LENGTHS);
        assert_eq!(phases.start_ns(), 1000);
        for (from, to, part) in [
            (900, 1010, 0),
            (900, 1011, 1),
            (1005, 1050, 40),
            (1020, 1030, 10),
            (1100, 1200, 10),
            (1110, 1200, 0),
            (1000, 1200, 100),
        ] {
            assert_eq!(phases.measured_part_ns(from, to), part, "{from}..{to}");
        }
    }

    #[test]
    fn the_turnstile_keeps_the_order_and_survives_a_panic_inside() {
        let turnstile = Turnstile::new();
        let order = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for number in (0..8).rev() {
                let (turnstile, order) = (&turnstile, &order);
                scope.spawn(move || {
                    let inside = || {
                        let _inside = turnstile.enter(number);
                        order.lock().unwrap().push(number);
                        // Unwinds without the words of a panic.
                        if number == 3 {
                            std::panic::resume_unwind(Box::new(()));
                        }
                    };
                    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(inside));
                    assert_eq!(ended.is_err(), number == 3);
                });
            }
        });
        assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn the_first_word_at_the_gate_stands() {
        let gate = StartGate::new();
        gate.open(false);
        gate.open(true);
        assert!(!gate.wait());
    }
}

#[cfg(test)]
mod tests_of_monitor {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn what_comes_in_time_is_nothing_and_what_comes_late_is_kept() {
        let mut monitor = Monitor::begin(1000 * MS, Some(5));
        monitor.look(1010 * MS, || panic!("not due"));
        monitor.look(1026 * MS, || Some(6));
        assert_eq!(monitor.due_ns(), 1051 * MS);
        // A busy machine.
        monitor.look(1100 * MS, || Some(40 * MS));
        // Stopped for about 0.3 s, and then without a processor for a moment.
        monitor.look(1425 * MS, || Some(45 * MS));
        let ticks = monitor.finish();
        let stopped = LateTick { due_ns: 125 * MS, late_ns: 300 * MS, waiting_for_cpu_ns: Some(5 * MS) };
        assert_eq!((ticks.every_ns, ticks.late), (EVERY_NS, vec![stopped]));
    }

    #[test]
    fn a_stop_at_the_start_is_seen() {
        let mut monitor = Monitor::begin(1000 * MS, None);
        monitor.look(1325 * MS, || None);
        let ticks = monitor.finish();
        assert_eq!(ticks.late, [LateTick { due_ns: 25 * MS, late_ns: 300 * MS, waiting_for_cpu_ns: None }]);
    }

    #[test]
    fn the_longest_are_kept() {
        let mut monitor = Monitor::begin(0, None);
        for turn in 0..KEPT as u64 + 10 {
            let late_ns = if turn == 3 { LATE_NS } else { LATE_NS + turn };
            monitor.look(monitor.due_ns() + late_ns, || None);
        }
        let late = monitor.finish().late;
        assert_eq!(late.len(), KEPT);
        assert!(late.iter().all(|tick| tick.late_ns > LATE_NS));
        assert!(late.is_sorted_by_key(|tick| tick.due_ns));
    }
}
