//! Turns of the loop, and of its parts.

use super::parts::Piece;
use super::report::Spread;
use truespd_core::load::bare::Turn;
use truespd_core::sys::thread::Instructions;
use truespd_core::sys::thread::running_ns_of_this_thread;

/// Instructions of the calling thread so far, where the processor counts them.
pub(super) fn instructions_of_thread() -> Option<u64> {
    thread_local! {
        static COUNTER: Option<Instructions> = Instructions::of_this_thread().ok();
    }
    COUNTER.with(|counter| counter.as_ref()?.read())
}

/// One round of a part.
pub(super) fn piece_turn(piece: &mut Piece, calls: u32, probe: &dyn Fn() -> Option<u64>) -> Turn {
    let calls = (calls / 1000 * piece.calls_per_1000).max(1);
    let (counted, running_ns) = (probe(), running_ns_of_this_thread());
    (piece.run)(calls);
    let running_ns = running_ns_of_this_thread() - running_ns;
    let counted = probe().zip(counted).map(|(after, before)| after.saturating_sub(before));
    Turn { ios: piece.amount(calls), running_ns, elapsed_ns: running_ns, counted }
}

/// Instructions per I/O by the processor's counter, which hardly differ from round to round.
pub(super) fn counted(turns: &[Turn]) -> Option<f64> {
    let each: Option<Vec<f64>> =
        turns.iter().map(|turn| Some(turn.counted? as f64 / turn.ios.max(1) as f64)).collect();
    each.map(Spread::of).map(|spread| spread.median)
}
