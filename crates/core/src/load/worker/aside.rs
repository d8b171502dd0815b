//! What the loop calls aside of the usual way of an I/O.

use std::sync::Arc;

use crate::access::{Act, DataRng, Rng, VariedAccess};
use crate::engine::{Io, Op};
use crate::plan::{LaneTarget, LaneWrites};
use crate::sys::buffer::IoBuffer;

use super::tally::Tally;

/// Counts an I/O that moved no data, and out of line, as they are few: a flush, or a trim of so many bytes, which has a
/// response time as well under a rate.
#[inline(never)]
pub(super) fn record_aside(tally: &mut Tally, (op, bytes): (Op, u32), latency_ns: u64, response_ns: u64) {
    if op == Op::Trim {
        tally.trims.record(bytes, true, latency_ns, || (0, response_ns));
    } else {
        tally.flushes.record(0, false, latency_ns, || (0, 0));
    }
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

/// The next I/O of a slot on a target whose I/Os differ in size, or have flushes or trims among them; none on another.
pub(super) fn varied_io(
    target: &mut LaneTarget,
    slot: u32,
    rng: &mut Rng,
    buffers: &[Arc<IoBuffer>],
    data_rng: &mut DataRng,
) -> Option<Io> {
    let own_slot = slot - target.slot_first;
    let own_place = u64::from(own_slot) * target.slot_stride_bytes;
    let access = target.varied.as_mut()?.next(own_slot, rng, &target.shared);
    let VariedAccess { offset, bytes, act } = access;
    let (op, region, region_offset) = match (act, target.writes) {
        (Act::Read, _) => (Op::Read, target.read_region, own_place),
        (Act::Flush, _) => (target.flush, target.write_region, 0),
        // There may be no buffer at all, and no engine looks for one.
        (Act::Trim, _) => (Op::Trim, target.read_region, 0),
        (Act::Write, LaneWrites::Pattern { .. } | LaneWrites::Zero) => {
            (Op::Write, target.write_region, own_place)
        }
        (Act::Write, _) => {
            (Op::Write, target.write_region, new_data(target, (own_place, bytes), buffers, data_rng))
        }
    };
    Some(Io { slot, file: 0, region, op, len: bytes, region_offset, offset })
}
