//! Whether the program itself ran all the time: a clock that should tick evenly, looked at by the thread that ends the
//! measured time anyway. Nothing of it is on the way of an I/O.

use crate::result::{LateTick, Ticks};

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

    /// The longest count.
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

    /// What was seen.
    pub fn finish(self) -> Ticks {
        Ticks { every_ns: EVERY_NS, late: self.late }
    }
}

#[cfg(test)]
mod tests {
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
