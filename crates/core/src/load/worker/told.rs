//! What a thread tells while it runs, to whoever watches.

use super::{Given, Time, Worker};
use crate::load::live::{Counted, TOLD_EVERY_NS};

impl Worker {
    /// Tells the counts so far to whoever watches.
    pub(super) fn tell<T: Time>(&mut self, given: &Given<'_, T>) {
        let Some(cell) = &self.live else { return };
        let measured_ns = u64::try_from(self.in_flight_ns).unwrap_or(u64::MAX);
        let mut counted = self.aside.plus(Counted { in_flight_ns: measured_ns, ..Counted::default() });
        // Outside of the measured time a trim was counted as any I/O as well.
        counted.ios -= self.aside.trims;
        counted.bytes -= self.aside.trimmed_bytes;
        counted = counted.plus(self.rounds.as_ref().map_or_else(Counted::default, |rounds| rounds.counted()));
        for tally in &self.tallies {
            counted = counted.plus(tally.counted());
        }
        cell.say(counted);
        let start_ns = given.phases.start_ns();
        let passed = self.now_ns.saturating_sub(start_ns) / TOLD_EVERY_NS;
        self.tell_at_ns = start_ns + (passed + 1) * TOLD_EVERY_NS;
    }

    #[cold]
    #[inline(never)]
    pub(super) fn print_dot(&mut self, dot: &dyn Fn()) {
        self.to_dot = self.progress_ios;
        dot();
        // Writing to a terminal takes time, so the clock is read again.
        self.accounted = None;
    }
}
