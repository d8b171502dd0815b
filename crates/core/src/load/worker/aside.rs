//! What the loop calls aside of the usual way of an I/O.

use std::sync::Arc;

use crate::access::{Act, DataRng, Rng, SharedOffset, Varied, VariedAccess};
use crate::engine::{Io, Op};
use crate::plan::{LaneTarget, LaneWrites};
use crate::verify::Checker;
use crate::verify::checker::TRIES;
use truespd_platform::sys::buffer::IoBuffer;

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

/// The next I/O of a slot on a target whose I/Os differ in size, have flushes or trims among them, or are verified;
/// none where it has to wait for others to end.
pub(super) fn varied_io(
    target: &mut LaneTarget,
    slot: u32,
    rng: &mut Rng,
    buffers: &[Arc<IoBuffer>],
    data_rng: &mut DataRng,
    check: Option<&mut Checker>,
) -> Option<Io> {
    let own_slot = slot - target.slot_first;
    let own_place = u64::from(own_slot) * target.slot_stride_bytes;
    let varied = target.varied.as_mut()?;
    let access = match check {
        None => varied.next(own_slot, rng, &target.shared),
        Some(check) => claimed(varied, own_slot, rng, &target.shared, check)?,
    };
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

/// The next I/O whose blocks are free, and taken now; none where one is under way everywhere it tried.
fn claimed(
    varied: &mut Varied,
    slot: u32,
    rng: &mut Rng,
    shared: &SharedOffset,
    check: &mut Checker,
) -> Option<VariedAccess> {
    for _ in 0..TRIES {
        let access = varied.next(slot, rng, shared);
        if access.act == Act::Flush || check.claim(access.offset, access.bytes) {
            return Some(access);
        }
    }
    check.hold();
    None
}

/// What becomes of the buffer of a verified I/O before it is issued, at `now_ns`.
pub(super) fn stamp(check: &Checker, io: &Io, buffers: &[Arc<IoBuffer>], now_ns: u64) {
    if io.op == Op::Write {
        let (buffer, place) = (&buffers[io.region as usize], io.region_offset as usize);
        buffer.with_slice_mut(place, io.len as usize, |data| check.stamp(data, io.offset, now_ns));
    }
}
