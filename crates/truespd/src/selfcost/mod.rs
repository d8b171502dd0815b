//! What the tool itself costs: the null engine under many loads, and the parts of the loop by themselves.
//!
//! Everything is measured in rounds that take turns, so that what changes on the machine meanwhile meets all
//! alike, and told as medians with the smallest and the largest. Touches no storage.

mod callgrind;
mod parts;
mod report;

use std::ffi::OsString;

use truespd_core::fault::Failure;
use truespd_core::load::bare::{Bare, Turn};
use truespd_core::measure::clock::MachineClock;
use truespd_core::profile::TimeSpan;
use truespd_core::sys::instructions::Instructions;
use truespd_core::sys::thread::{allowed_processors, running_ns_of_this_thread};

pub use callgrind::count_here;
pub use report::{CostReport, CountedBy, Counting, Load, LoopPart, Machine, PerUnit, Spread};

use parts::{Piece, pieces};

/// How long and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    pub rounds: u32,
    /// Length of a load's round in nanoseconds.
    pub round_ns: u64,
    /// Calls of a part in a round.
    pub calls: u32,
    /// Time for each load and part under callgrind, which is some fifty times slower, in nanoseconds.
    pub counted_ns: u64,
}

impl Effort {
    /// Good to a few percent on a quiet machine; takes ten seconds or so.
    pub const FULL: Effort =
        Effort { rounds: 11, round_ns: 10_000_000, calls: 200_000, counted_ns: 100_000_000 };
    /// A first look, within some seconds.
    pub const QUICK: Effort =
        Effort { rounds: 5, round_ns: 2_000_000, calls: 20_000, counted_ns: 30_000_000 };
}

/// Measures all cases and parts. `counted` is a command that does [`count_here`] for the same cases.
///
/// # Errors
/// A load could not be measured at all.
pub fn measure(
    cases: &[Case],
    effort: Effort,
    counted: &[OsString],
    tell: &dyn Fn(&str),
) -> Result<CostReport, Failure> {
    let clock = MachineClock::start();
    let mut pieces = pieces(&clock);
    let no_counter = Instructions::of_this_thread().err();
    tell(&format!("measuring {} loads and {} parts, {} rounds", cases.len(), pieces.len(), effort.rounds));
    let mut turns: Vec<Vec<Turn>> = vec![Vec::new(); cases.len()];
    let mut costs: Vec<Vec<Turn>> = vec![Vec::new(); pieces.len()];
    // One extra round: the first runs with cold caches and is discarded.
    for round in 0..=effort.rounds {
        for (case, turns) in cases.iter().zip(&mut turns) {
            turns.push(case.bare.turn(&clock, effort.round_ns, &instructions_of_thread)?);
        }
        for (piece, costs) in pieces.iter_mut().zip(&mut costs) {
            costs.push(piece_turn(piece, effort.calls, &instructions_of_thread));
        }
        if round == 0 {
            turns.iter_mut().chain(&mut costs).for_each(Vec::clear);
        }
    }
    let mut report = CostReport {
        tool_version: env!("CARGO_PKG_VERSION").to_string(),
        machine: Machine::this(&clock),
        rounds: effort.rounds,
        round_ns: effort.round_ns,
        counting: Counting { by: CountedBy::Hardware, why_not: None },
        loads: cases.iter().zip(&turns).map(|(case, turns)| load(case, turns)).collect(),
        parts: pieces.iter().zip(&costs).map(|(piece, costs)| part(piece, costs)).collect(),
    };
    if let Some(no_counter) = no_counter {
        tell("counting instructions under callgrind");
        report.counting = match callgrind::count(counted) {
            Ok(counts) => put(&mut report, &counts),
            Err(why) => Counting { by: CountedBy::Nobody, why_not: Some(format!("{no_counter}; {why}")) },
        };
    }
    Ok(report)
}

/// Puts what callgrind counted to what it was counted for.
fn put(report: &mut CostReport, counts: &[f64]) -> Counting {
    // callgrind runs one thread at a time, so loads of several threads are not counted.
    let loads = report.loads.iter_mut().filter(|load| load.threads == 1).map(|load| &mut load.instructions);
    let parts = report.parts.iter_mut().map(|part| &mut part.instructions);
    let mut counts = counts.iter();
    loads.chain(parts).for_each(|place| *place = counts.next().copied());
    Counting { by: CountedBy::Callgrind, why_not: None }
}

fn part(piece: &Piece, turns: &[Turn]) -> LoopPart {
    LoopPart {
        name: piece.name.clone(),
        unit: piece.unit,
        ns: Spread::per(turns, |turn| turn.running_ns),
        instructions: counted(turns),
    }
}

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
    words: String,
    bare: Bare,
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
fn load(case: &Case, turns: &[Turn]) -> Load {
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
fn instructions_of_thread() -> Option<u64> {
    thread_local! {
        static COUNTER: Option<Instructions> = Instructions::of_this_thread().ok();
    }
    COUNTER.with(|counter| counter.as_ref()?.read())
}

/// One round of a part.
fn piece_turn(piece: &mut Piece, calls: u32, probe: &dyn Fn() -> Option<u64>) -> Turn {
    let calls = (calls / 1000 * piece.calls_per_1000).max(1);
    let (counted, running_ns) = (probe(), running_ns_of_this_thread());
    (piece.run)(calls);
    let running_ns = running_ns_of_this_thread() - running_ns;
    let counted = probe().zip(counted).map(|(after, before)| after.saturating_sub(before));
    Turn { ios: piece.amount(calls), running_ns, elapsed_ns: running_ns, counted }
}

/// Instructions per I/O by the processor's counter, which hardly differ from round to round.
fn counted(turns: &[Turn]) -> Option<f64> {
    let each: Option<Vec<f64>> =
        turns.iter().map(|turn| Some(turn.counted? as f64 / turn.ios.max(1) as f64)).collect();
    each.map(Spread::of).map(|spread| spread.median)
}
