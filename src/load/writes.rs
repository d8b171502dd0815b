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
    /// Region and offset of the next write's data. Fills it first where the test asks for new data.
    #[inline]
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
