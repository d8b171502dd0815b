//! The loads, as words of the command line, and turns of them and of the parts of the loop.

use super::parts::Piece;
use super::report::{Load, Spread};
use truespd_core::load::bare::{Bare, Turn};
use truespd_core::profile::TimeSpan;
use truespd_platform::fault::Failure;
use truespd_platform::sys::thread::Instructions;
use truespd_platform::sys::thread::{allowed_processors, running_ns_of_this_thread};

/// The loads, each measured with and without `-L`. All on a target of 1 GiB that is not there.
pub const WORDS: &[&str] = &[
    "-b4K -s -o32",
    "-b4K -si -o32",
    "-b4K -p -o32",
    "-b4K -r -o1",
    "-b4K -r -o32",
    "-b4K -r -o128",
    "-b1M -r -o32",
    "-b4K -r -o32 -Su",
    "-b4K -r -o32 -D",
    "-b4K -r12K -o32",
    "-b4K -rs50 -o32",
    "-b4K -r -rdpct90/10 -o32",
    "-b4K -r -rdabs90/100M -o32",
    "-b4K -r -w30 -o32",
    "-b4K -r -w100 -o32",
    "-b4K -r -w100 -Zr -o4",
    "-b64K -r -w100 -Zr -o1",
    "-b4K -r -w100 -Z1M -o32",
    "-b4K -r -o32 -t2",
    "-b4K -si -o32 -t2",
];

/// Size of the target that is not there: offsets are drawn from all of it.
const TARGET_BYTES: u64 = 1 << 30;

/// A load that can be measured.
#[derive(Debug)]
pub struct Case {
    pub(super) words: String,
    pub(super) bare: Bare,
    block_bytes: u64,
}

impl Case {
    /// The time span that `words` stand for, on the processors this process may use.
    ///
    /// # Errors
    /// It does not fit.
    pub fn new(words: &str, span: &TimeSpan) -> Result<Self, Failure> {
        let cpus = allowed_processors().unwrap_or_default();
        let bare = Bare::new(span, TARGET_BYTES, &cpus)?;
        let block_bytes = span.targets.first().map_or(0, |target| target.block_bytes);
        Ok(Case { words: words.to_string(), bare, block_bytes })
    }
}

/// What the rounds of a load came to.
pub(super) fn load(case: &Case, turns: &[Turn]) -> Load {
    Load {
        words: case.words.clone(),
        threads: case.bare.threads(),
        depth: case.bare.depth(),
        block_bytes: case.block_bytes,
        running_ns: Spread::per(turns, |turn| turn.running_ns),
        elapsed_ns: Spread::per(turns, |turn| turn.elapsed_ns),
        instructions: counted(turns),
    }
}

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
