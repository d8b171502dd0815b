//! What can be asked of storage with the runs of `diskspd`: suites, comparisons, a history, reports.

pub mod answer;
pub mod ask;
pub mod cli;
pub mod compare;
pub mod history;
pub mod import;
#[cfg(test)]
#[path = "../../platform/src/sys/linux/made.rs"]
#[allow(dead_code, reason = "each crate needs some of it")]
mod made;
#[cfg(test)]
#[path = "../../../tests/all/support/place.rs"]
mod place;
pub mod report;
pub mod runner;
pub mod selfcost;
