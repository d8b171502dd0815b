//! The slots that have nothing to do.

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

    /// Number of idle slots.
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

    /// All idle slots.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        (0..self.len() as u32).map(|behind| self.ring[self.place(self.taken.wrapping_add(behind))])
    }

    #[inline]
    fn place(&self, number: u32) -> usize {
        number as usize & (self.ring.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
