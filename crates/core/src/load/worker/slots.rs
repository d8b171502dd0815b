//! What a worker knows of its slots: which have nothing to do, and which were out when the measured time ended.

use crate::engine::Completion;

/// Idle slots, the longest idle first. Takes its memory once.
#[derive(Debug)]
pub struct Idle {
    /// A power of two of places.
    ring: Box<[u32]>,
    /// Taken and put so far; both may wrap around.
    taken: u32,
    put: u32,
}

impl Idle {
    /// All of `slots` slots, in order.
    pub fn all(slots: u32) -> Self {
        let places = slots.max(1).next_power_of_two();
        Idle { ring: (0..places).collect(), taken: 0, put: slots }
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.put.wrapping_sub(self.taken) as usize
    }

    /// The slot that has been idle longest.
    #[inline]
    pub fn pop(&mut self) -> Option<u32> {
        if self.put == self.taken {
            return None;
        }
        let slot = self.ring[self.place(self.taken)];
        self.taken = self.taken.wrapping_add(1);
        Some(slot)
    }

    /// A slot that is not idle yet becomes the one that has been idle for the shortest time.
    #[inline]
    pub fn push(&mut self, slot: u32) {
        let place = self.place(self.put);
        self.ring[place] = slot;
        self.put = self.put.wrapping_add(1);
    }

    /// The slot that was popped last is idle for as long as before.
    pub fn put_back(&mut self, slot: u32) {
        self.taken = self.taken.wrapping_sub(1);
        let place = self.place(self.taken);
        self.ring[place] = slot;
    }

    pub fn iter(&self) -> impl Iterator<Item = u32> {
        (0..self.len() as u32).map(|behind| self.ring[self.place(self.taken.wrapping_add(behind))])
    }

    #[inline]
    fn place(&self, number: u32) -> usize {
        number as usize & (self.ring.len() - 1)
    }
}

/// Out for so long in all is long: no I/O takes it while the storage answers, but behind a deep queue.
const LONG_NS: u64 = 1_000_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Late {
    pub ios: u64,
    /// Of these: broken off when the run ended.
    pub broken_off: u64,
    /// Of these: had not ended when the run stopped waiting for them.
    pub never: u64,
    /// How long the oldest had been out when the measured time ended, in nanoseconds.
    pub age_ns_max: u64,
    /// How long all of them together had been out in the measured time, in nanoseconds.
    pub measured_ns: u64,
    /// How long after that the last of them ended, or was given up.
    pub late_ns_max: u64,
}

impl Late {
    pub fn plus(self, other: Late) -> Late {
        Late {
            ios: self.ios + other.ios,
            broken_off: self.broken_off + other.broken_off,
            never: self.never + other.never,
            age_ns_max: self.age_ns_max.max(other.age_ns_max),
            measured_ns: self.measured_ns.saturating_add(other.measured_ns),
            late_ns_max: self.late_ns_max.max(other.late_ns_max),
        }
    }
}

/// What became of an I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Came,
    BrokenOff,
    Never,
}

/// The I/Os that were out when the measured time ended. All memory is taken when it is made.
#[derive(Debug)]
pub(super) struct Outstanding {
    /// Measured time, once it is over.
    span_ns: Option<(u64, u64)>,
    /// By slot: since when it was out at the end, and its target; none when it was not, or is not any more.
    since: Vec<Option<(u64, u32)>>,
    left: usize,
    of_targets: Vec<Late>,
}

impl Outstanding {
    pub(super) fn new(slots: usize, targets: usize) -> Self {
        Outstanding {
            span_ns: None,
            since: vec![None; slots],
            left: 0,
            of_targets: vec![Late::default(); targets],
        }
    }

    /// Whether the end of the measured time was noted.
    pub(super) fn is_noted(&self) -> bool {
        self.span_ns.is_some()
    }

    /// Notes what was out when the measured time ended: all slots by their numbers, since when and on which target,
    /// without those that were idle.
    pub(super) fn note(
        &mut self,
        (start_ns, end_ns): (u64, u64),
        slots: impl Iterator<Item = (u64, u32)>,
        idle: impl Iterator<Item = u32>,
    ) {
        self.span_ns = Some((start_ns, end_ns));
        self.since.iter_mut().zip(slots).for_each(|(since, slot)| *since = Some(slot));
        idle.for_each(|slot| self.since[slot as usize] = None);
        self.left = self.since.iter().flatten().count();
    }

    /// An I/O ended at `now_ns`.
    #[inline]
    pub(super) fn ended(&mut self, completion: &Completion, now_ns: u64) {
        if self.left > 0 {
            let end = if completion.result.is_ok() { End::Came } else { End::BrokenOff };
            self.resolve(completion.slot as usize, now_ns, end);
        }
    }

    /// Everything that is still out is given up at `now_ns`; what there was of each target.
    pub(super) fn give_up(mut self, now_ns: u64) -> Vec<Late> {
        for slot in 0..self.since.len() {
            self.resolve(slot, now_ns, End::Never);
        }
        self.of_targets
    }

    fn resolve(&mut self, slot: usize, now_ns: u64, end: End) {
        let (Some((start_ns, end_ns)), Some((since_ns, target))) = (self.span_ns, self.since[slot].take())
        else {
            return;
        };
        self.left -= 1;
        let (age_ns, late_ns) = (end_ns.saturating_sub(since_ns), now_ns.saturating_sub(end_ns));
        if end != End::Never && age_ns.saturating_add(late_ns) < LONG_NS {
            return;
        }
        let of_target = &mut self.of_targets[target as usize];
        *of_target = of_target.plus(Late {
            ios: 1,
            broken_off: u64::from(end == End::BrokenOff),
            never: u64::from(end == End::Never),
            age_ns_max: age_ns,
            measured_ns: end_ns.saturating_sub(since_ns.max(start_ns)),
            late_ns_max: late_ns,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::IoError;

    #[test]
    fn slots_come_back_in_the_order_they_were_put() {
        for slots in [1, 2, 3, 5, 8] {
            let mut idle = Idle::all(slots);
            let first: Vec<u32> = std::iter::from_fn(|| idle.pop()).collect();
            assert_eq!((first, idle.len()), ((0..slots).collect(), 0));
            // Just before the counters wrap around.
            (idle.taken, idle.put) = (u32::MAX - 2, u32::MAX - 2);
            for round in 0..5 {
                for slot in (0..slots).rev() {
                    idle.push((slot + round) % slots);
                }
                assert_eq!(idle.len(), slots as usize);
                let first = idle.pop().expect("all are idle");
                idle.put_back(first);
                let back: Vec<u32> = std::iter::from_fn(|| idle.pop()).collect();
                assert_eq!(idle.pop(), None);
                let put: Vec<u32> = (0..slots).rev().map(|slot| (slot + round) % slots).collect();
                assert_eq!(back, put);
            }
        }
    }

    const S: u64 = 1_000_000_000;

    #[test]
    fn only_what_was_out_for_long_is_kept_by_target() {
        let mut out = Outstanding::new(6, 2);
        let came = |slot| Completion { slot, result: Ok(4096) };
        out.ended(&came(0), S);
        assert!(!out.is_noted());
        // Measured from 10 s to 20 s; slot 4 was idle.
        let slots = [(20 * S - 100, 0), (16 * S, 0), (5 * S, 1), (19 * S, 0), (S, 1), (20 * S - 1, 1)];
        out.note((10 * S, 20 * S), slots.into_iter(), [4].into_iter());
        out.ended(&came(0), 20 * S + 100);
        out.ended(&came(0), 23 * S);
        out.ended(&came(4), 23 * S);
        out.ended(&came(1), 23 * S);
        out.ended(&Completion { slot: 3, result: Err(IoError::INTERRUPTED) }, 20 * S + 1);
        out.ended(&came(5), 22 * S);
        let late = out.give_up(30 * S);
        let first = Late {
            ios: 2,
            broken_off: 1,
            age_ns_max: 4 * S,
            measured_ns: 5 * S,
            late_ns_max: 3 * S,
            never: 0,
        };
        assert_eq!(late[0], first);
        let second = Late {
            ios: 2,
            never: 1,
            age_ns_max: 15 * S,
            measured_ns: 10 * S + 1,
            late_ns_max: 10 * S,
            broken_off: 0,
        };
        assert_eq!(late[1], second, "measured time is that of the run only");
    }
}
