//! What the loop calls aside of the usual way of an I/O.

use std::sync::Arc;

use crate::access::{DataRng, Rng};
use crate::load::counters::Counter;
use crate::plan::{LaneTarget, LaneWrites};
use crate::sys::buffer::IoBuffer;

/// Out of line: few I/Os are flushes.
#[inline(never)]
pub(super) fn record_flush(flushes: &mut Counter, latency_ns: u64) {
    flushes.record(0, latency_ns, || (0, 0));
}

/// The seed for the arrivals of a thread on one of its targets: apart from that of its offsets, which is its seed.
pub(super) fn arrivals_seed(thread_seed: u32, target: u64) -> u64 {
    Rng::new(u64::from(thread_seed) ^ (target + 1).rotate_left(48)).next_u64()
}

/// Where the data of a write are that are new each time: a window of the source, or random bytes that the slot's own
/// place is filled with.
#[inline(never)]
pub(super) fn new_data(
    target: &LaneTarget,
    (own_place, bytes): (u64, u32),
    buffers: &[Arc<IoBuffer>],
    rng: &mut DataRng,
) -> u64 {
    match target.writes {
        LaneWrites::Source(windows) => windows.next(rng),
        LaneWrites::Random => {
            let (buffer, len) = (&buffers[target.write_region as usize], bytes as usize);
            buffer.with_slice_mut(own_place as usize, len, |block| rng.fill(block));
            own_place
        }
        LaneWrites::Pattern { .. } | LaneWrites::Zero => own_place,
        LaneWrites::None => unreachable!("a read test chose to write"),
    }
}
