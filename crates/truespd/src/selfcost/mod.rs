//! What the tool itself costs: the null engine under many loads, and the parts of the loop by themselves.
//!
//! Everything is measured in rounds that take turns, so that what changes on the machine meanwhile meets all
//! alike, and told as medians with the smallest and the largest. Touches no storage.

mod callgrind;
mod loads;
mod parts;
mod report;

use std::ffi::OsString;

use truespd_core::load::bare::Turn;
use truespd_core::measure::clock::MachineClock;
use truespd_platform::fault::Failure;
use truespd_platform::sys::thread::Instructions;

pub use callgrind::count_here;
pub use loads::{Case, WORDS};
pub use report::{CostReport, CountedBy, Counting, Load, LoopPart, Machine, PerUnit, Spread};

use loads::{counted, instructions_of_thread, load, piece_turn};
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
            let probe = &instructions_of_thread;
            turns.push(case.bare.turn_with(1, &clock, effort.round_ns, probe, &mut || Ok(()))?);
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
