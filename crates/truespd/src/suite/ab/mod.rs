//! Two variants of a run in turns, until their difference is decided or shown to be too small to matter.
//!
//! Blocks of four runs, ABBA or BAAB: a steady drift of the machine meets both alike and cancels. What a
//! block says is the logarithm of the ratio B / A (of the geometric means). The order of blocks is Thue and
//! Morse's, so that curved drift cancels over the blocks and no rhythm of the machine can follow it. When to
//! stop tells [`sequential`].

mod design;
#[cfg(test)]
pub(crate) mod noise;
mod outcome;
mod report;
pub mod sequential;
mod table;
#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::suite::{Ended, Kind, Runner, Step};
use truespd_core::result::metrics::NoFigure;

pub use design::{BLOCK_RUNS, Plan, Side};
pub use outcome::Outcome;
pub use report::{Block, Comparison, Effect, Stopped, Variant};
pub(in crate::suite) use table::columns;
pub use table::{is_of_use, sentence, text};
pub use truespd_core::result::metrics::Metric;

use design::{Design, UNCOUNTED_RUNS, log_ratio, order, without_figure};
use report::Collected;

/// So many blocks with a run that completed nothing, one after the other, end the series.
const EMPTY_IN_A_ROW_MAX: usize = 3;

/// What a plan needs besides a runner.
pub struct Surroundings<'a> {
    /// Called before every run with its side: settings that belong to it.
    pub arrange: &'a mut dyn FnMut(Side) -> Result<(), Ended>,
    /// Time since the series began.
    pub elapsed: &'a dyn Fn() -> Duration,
}

/// Compares: one run of each that does not count, then blocks until it is decided, or a limit is reached. What was
/// found until then is there also when the series ended early.
pub fn compare(
    plan: &Plan,
    runner: &mut dyn Runner,
    surroundings: &mut Surroundings<'_>,
) -> (Comparison, Result<(), Ended>) {
    let (plan, fits) = match plan.fitted() {
        Ok(fitted) => (fitted, Ok(())),
        Err(refusal) => (plan.clone(), Err(refusal.into())),
    };
    let plan = &plan;
    let design = Design::of(plan);
    let mut collected = Collected::default();
    let ended = fits.and_then(|()| blocks(plan, &design, &mut collected, runner, surroundings));
    let (stopped, result) = match ended {
        Ok(stopped) => (stopped, Ok(())),
        Err(ended) => (if ended == Ended::Stopped { Stopped::Person } else { Stopped::Failure }, Err(ended)),
    };
    (report::report(plan, &design, collected, stopped), result)
}

fn blocks(
    plan: &Plan,
    design: &Design,
    collected: &mut Collected,
    runner: &mut dyn Runner,
    surroundings: &mut Surroundings<'_>,
) -> Result<Stopped, Ended> {
    for (done, side) in [Side::A, Side::B].into_iter().enumerate() {
        let step = step(plan, side, Kind::First, Kind::First.name());
        runner.ahead(plan.ahead_with(UNCOUNTED_RUNS - 1 - done));
        (surroundings.arrange)(side)?;
        let document = runner.run(&step)?;
        collected.first(side, plan, &document)?;
    }
    let begin = (surroundings.elapsed)();
    let mut empty_in_a_row = 0;
    while collected.blocks.len() < plan.blocks_max {
        let block = collected.blocks.len();
        let elapsed = (surroundings.elapsed)().saturating_sub(begin);
        // The least number of blocks fits by plan, and may end a little late.
        let needed_s = if block + collected.empty_blocks < plan.least() { 0.0 } else { plan.block_seconds() };
        if elapsed.as_secs_f64() + needed_s > plan.time_max.as_secs_f64() {
            return Ok(Stopped::Time);
        }
        let elapsed = || (surroundings.elapsed)().saturating_sub(begin);
        let figures = one_block(plan, block, collected, runner, surroundings.arrange, &elapsed)?;
        match figures {
            Ok([a, b]) => {
                let order = order(block).to_vec();
                collected.blocks.push(Block { order, a, b, log_ratio: log_ratio(a, b) });
                empty_in_a_row = 0;
            }
            Err((side, why)) => {
                collected.empty_blocks += 1;
                empty_in_a_row += 1;
                if empty_in_a_row == EMPTY_IN_A_ROW_MAX {
                    return Err(without_figure(plan, side, why));
                }
                runner.tell(&format!(
                    "{}{}: {why}; this block of runs does not count and is repeated",
                    plan.title,
                    side.name()
                ));
                continue;
            }
        }
        if !design.is_look(block + 1) {
            continue;
        }
        let Some(view) = design.view(&collected.log_ratios()) else { continue };
        if view.outcome != Outcome::Undecided {
            return Ok(Stopped::Decided);
        }
        let interval = if table::is_of_use(view.low.exp(), view.high.exp()) {
            format!(" ({:.3} to {:.3})", view.low.exp(), view.high.exp())
        } else {
            String::new()
        };
        runner.tell(&format!(
            "{}{} blocks: B / A {:.3}{interval}",
            plan.title,
            block + 1,
            view.estimate.mean.exp()
        ));
    }
    Ok(Stopped::Blocks)
}

/// Those of A and those of B.
type Figures = [[f64; 2]; 2];
/// Whose run has none, and why.
type NoFigureOf = (Side, NoFigure);

/// The four runs of a block: their figures; or why a run has none, which ends the block.
fn one_block(
    plan: &Plan,
    block: usize,
    collected: &mut Collected,
    runner: &mut dyn Runner,
    arrange: &mut dyn FnMut(Side) -> Result<(), Ended>,
    elapsed: &dyn Fn() -> Duration,
) -> Result<Result<Figures, NoFigureOf>, Ended> {
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for (place, side) in order(block).into_iter().enumerate() {
        runner.ahead(plan.ahead_after(block, place + 1, elapsed()));
        arrange(side)?;
        let document = runner.run(&step(plan, side, Kind::Counts, &format!("block {}", block + 1)))?;
        match collected.take(side, plan, &document)? {
            Ok(value) if side == Side::A => a.push(value),
            Ok(value) => b.push(value),
            Err(why) => return Ok(Err((side, why))),
        }
    }
    Ok(Ok([[a[0], a[1]], [b[0], b[1]]]))
}

fn step(plan: &Plan, side: Side, kind: Kind, what: &str) -> Step {
    let name = format!("{}{}, {what}", plan.title, side.name());
    Step { name, line: plan.lines[side as usize].clone(), seconds: plan.run_seconds(), kind }
}
