//! The catalogue: a file per theme, in it a row per cause, and beside the rows their thresholds and functions.
//!
//! A new cause is a row, and a function for what is said before a run, in a result, or both.

mod amplified;
mod apart;
mod arrays;
mod behind;
mod bounds;
mod caches;
mod commands;
mod content;
mod disk;
mod drives;
mod durability;
mod even;
mod filesystem;
mod fragments;
mod hidden;
mod hosts;
mod kernel;
mod layers;
mod limits;
mod memory;
mod network;
mod others;
mod pace;
mod paths;
mod place;
mod processor;
mod range;
mod reach;
mod rhythm;
mod run;
mod served;
mod steady;
#[cfg(test)]
mod tests;
mod trimmed;
mod usual;
mod verified;
mod why;

use super::doctor::Check;
use super::{Cause, Rule};

pub(super) use content::UNWRITTEN_SUSPECT;
pub(super) use network::{ServerGroup, server_groups};
pub(super) use range::{RANGE_SMALL_BYTES, RANGE_SMALL_PART};

/// The rows of each theme.
const THEMES: &[&[Cause]] = &[
    run::CAUSES,
    hosts::CAUSES,
    served::CAUSES,
    caches::CAUSES,
    apart::CAUSES,
    reach::CAUSES,
    amplified::CAUSES,
    range::CAUSES,
    fragments::CAUSES,
    durability::CAUSES,
    content::CAUSES,
    trimmed::CAUSES,
    verified::CAUSES,
    place::CAUSES,
    paths::CAUSES,
    arrays::CAUSES,
    layers::CAUSES,
    network::CAUSES,
    limits::CAUSES,
    hidden::CAUSES,
    rhythm::CAUSES,
    steady::CAUSES,
    pace::CAUSES,
    others::CAUSES,
    commands::CAUSES,
    processor::CAUSES,
    memory::CAUSES,
    kernel::CAUSES,
    disk::CAUSES,
    drives::CAUSES,
    filesystem::CAUSES,
    usual::CAUSES,
];

/// The catalogue, theme by theme.
pub fn causes() -> impl Iterator<Item = &'static Cause> {
    THEMES.iter().copied().flatten()
}

/// What judges results, in the order of the pages. Findings of one grade are shown in the order of what they mean
/// for the
/// number, those that mean the same in the order of their themes, and those of one theme in this order.
pub fn rules() -> Vec<(&'static Cause, &'static Rule)> {
    let mut rules: Vec<_> = causes().filter_map(|cause| Some((cause, cause.rule.as_ref()?))).collect();
    rules.sort_by_key(|(_, rule)| rule.order);
    rules
}

/// What the doctor looks at: first what spoils most, within that as far as possible in the order of the way of an
/// I/O.
pub fn checks() -> Vec<(&'static Cause, &'static Check)> {
    let mut checks: Vec<_> =
        causes().flat_map(|cause| cause.checks().map(move |check| (cause, check))).collect();
    checks.sort_by_key(|(_, check)| check.order);
    checks
}
