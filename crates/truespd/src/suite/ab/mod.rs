//! Two variants of a run in turns, until their difference is decided or shown to be too small to matter.
//!
//! Blocks of four runs, ABBA or BAAB: a steady drift of the machine meets both alike and cancels. What a
//! block says is the logarithm of the ratio B / A (of the geometric means). The order of blocks is Thue and
//! Morse's, so that curved drift cancels over the blocks and no rhythm of the machine can follow it. When to
//! stop tells [`design`].

mod design;
#[cfg(test)]
pub(crate) mod noise;
mod report;
#[cfg(test)]
mod tests;

use crate::suite::{Ended, Kind, Runner, Step};
use std::time::Duration;

pub use design::{BLOCK_RUNS, Outcome, Plan, Side};
pub use report::{Block, Comparison, Effect, Stopped, Variant, is_of_use, sentence, text};
pub(in crate::suite) use report::{answer, columns};
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
    let fitted = plan.fitted();
    let plan = fitted.as_ref().unwrap_or(plan);
    let design = Design::new(plan);
    let mut collected = Collected::default();
    let ended = match &fitted {
        Ok(_) => blocks(plan, &design, &mut collected, runner, surroundings),
        Err(refusal) => Err(refusal.clone().into()),
    };
    let (stopped, result) = match ended {
        Ok(stopped) => (stopped, Ok(())),
        Err(Ended::Stopped) => (Stopped::Person, Err(Ended::Stopped)),
        Err(failed) => (Stopped::Failure, Err(failed)),
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
    let Surroundings { arrange, elapsed } = surroundings;
    for (done, side) in [Side::A, Side::B].into_iter().enumerate() {
        runner.ahead(plan.ahead_with(UNCOUNTED_RUNS - 1 - done));
        arrange(side)?;
        let document = runner.run(&step(plan, side, Kind::First, Kind::First.name()))?;
        collected.first(side, plan, &document)?;
    }
    let begin = elapsed();
    let mut empty_in_a_row = 0;
    while collected.blocks.len() < plan.blocks_max {
        let block = collected.blocks.len();
        // The least number of blocks fits by plan, and may end a little late.
        let needed_s = if block + collected.empty_blocks < plan.least() { 0.0 } else { plan.block_seconds() };
        if elapsed().saturating_sub(begin).as_secs_f64() + needed_s > plan.time_max.as_secs_f64() {
            return Ok(Stopped::Time);
        }
        let order = order(block);
        let mut figures: [Vec<f64>; 2] = Default::default();
        let mut empty = None;
        for (place, side) in order.into_iter().enumerate() {
            runner.ahead(plan.ahead_after(block, place + 1, elapsed().saturating_sub(begin)));
            arrange(side)?;
            let document = runner.run(&step(plan, side, Kind::Counts, &format!("block {}", block + 1)))?;
            match collected.take(side, plan, &document)? {
                Ok(value) => figures[side as usize].push(value),
                Err(why) => {
                    empty = Some((side, why));
                    break;
                }
            }
        }
        if let Some((side, why)) = empty {
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
        let [a, b] = figures.map(|of_side| [of_side[0], of_side[1]]);
        collected.blocks.push(Block { order: order.to_vec(), a, b, log_ratio: log_ratio(a, b) });
        empty_in_a_row = 0;
        if !design.is_interim(block + 1) {
            continue;
        }
        let Some(view) = design.view(&collected.log_ratios()) else { continue };
        if view.outcome != Outcome::Undecided {
            return Ok(Stopped::Decided);
        }
        let [low, ratio, high] = [view.low, view.estimate.mean, view.high].map(f64::exp);
        let interval = if is_of_use(low, high) { format!(" ({low:.3} to {high:.3})") } else { String::new() };
        runner.tell(&format!("{}{} blocks: B / A {ratio:.3}{interval}", plan.title, block + 1));
    }
    Ok(Stopped::Blocks)
}

fn step(plan: &Plan, side: Side, kind: Kind, what: &str) -> Step {
    let name = format!("{}{}, {what}", plan.title, side.name());
    Step { name, line: plan.lines[side as usize].clone(), seconds: plan.run_seconds(), kind }
}
