//! The loads, as words of the command line, and what came of them.

use super::counted;
use super::report::{Load, Spread};
use truespd_core::fault::Failure;
use truespd_core::load::bare::{Bare, Turn};
use truespd_core::profile::TimeSpan;
use truespd_core::sys::thread::allowed_processors;

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
    pub(super) block_bytes: u64,
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
