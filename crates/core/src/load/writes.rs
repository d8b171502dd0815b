//! Where the data of the next write comes from (`io-semantics.md` §10).

use std::sync::Arc;

use crate::access::{DataRng, SourceWindow};
use crate::sys::buffer::IoBuffer;

/// Write data of one thread on one target.
#[derive(Debug)]
pub enum WriteSlots {
    /// The test does not write.
    None,
    /// Each slot's buffer was filled once.
    Fixed {
        /// Region of the write slots.
        region: u32,
        /// Distance between two slots.
        slot_stride_bytes: u64,
    },
    /// Each slot's buffer is refilled before every write (`-Zr`).
    Random {
        /// Region of the write slots.
        region: u32,
        /// Its memory.
        buffer: Arc<IoBuffer>,
        /// Distance between two slots.
        slot_stride_bytes: u64,
        /// I/O size.
        block_bytes: usize,
    },
    /// Each write takes a random window of a source that all threads share (`-Z<size>`).
    Source {
        /// Region of the source.
        region: u32,
        /// Chooses windows.
        windows: SourceWindow,
    },
}

impl WriteSlots {
    /// Region and offset of a slot's data, where it was filled once: what most tests ask for, and quickly found.
    #[inline(always)]
    pub fn fixed(&self, slot: u32) -> Option<(u32, u64)> {
        match self {
            WriteSlots::Fixed { region, slot_stride_bytes } => {
                Some((*region, u64::from(slot) * *slot_stride_bytes))
            }
            _ => None,
        }
    }

    /// Region and offset of the next write's data. Fills it first where the test asks for new data.
    #[inline(never)]
    pub fn next(&mut self, slot: u32, rng: &mut DataRng) -> (u32, u64) {
        match self {
            WriteSlots::Fixed { region, slot_stride_bytes } => {
                (*region, u64::from(slot) * *slot_stride_bytes)
            }
            WriteSlots::Random { region, buffer, slot_stride_bytes, block_bytes } => {
                let offset = u64::from(slot) * *slot_stride_bytes;
                buffer.with_slice_mut(offset as usize, *block_bytes, |block| rng.fill(block));
                (*region, offset)
            }
            WriteSlots::Source { region, windows } => (*region, windows.next(rng)),
            WriteSlots::None => unreachable!("a read test chose to write"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nth_write_has_the_same_random_data_whichever_slots_take_turns() {
        const BLOCK: usize = 4096;
        let written = |order: &[u32]| {
            let buffer = Arc::new(IoBuffer::new(8 * BLOCK).expect("memory"));
            let (memory, mut rng) = (Arc::clone(&buffer), DataRng::for_thread(7, 1));
            let mut slots =
                WriteSlots::Random { region: 3, buffer, slot_stride_bytes: BLOCK as u64, block_bytes: BLOCK };
            let mut block = |slot: u32| {
                let (region, offset) = slots.next(slot, &mut rng);
                assert_eq!((region, offset), (3, u64::from(slot) * BLOCK as u64));
                memory.with_slice_mut(offset as usize, BLOCK, |bytes| bytes.to_vec())
            };
            order.iter().map(|&slot| block(slot)).collect::<Vec<_>>()
        };
        // One in flight; a batch of eight; as a device completes them.
        let alone = written(&[0; 8]);
        assert_eq!(written(&[0, 1, 2, 3, 4, 5, 6, 7]), alone);
        assert_eq!(written(&[7, 0, 0, 5, 1, 7, 3, 2]), alone);
        assert!((1..8).all(|n| alone[n] != alone[n - 1]));
    }
}
