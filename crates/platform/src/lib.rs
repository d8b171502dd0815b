//! A system's calls and facts, in types that know nothing of a test.
//!
//! The rooms and who may use whom are in ARCHITECTURE.md; `tests/all/house.rs` keeps them.

#![warn(missing_docs)]

pub mod fault;
pub mod machine;
#[cfg(test)]
#[path = "../../../tests/all/support/needs.rs"]
#[allow(dead_code, missing_docs)]
mod needs;
#[cfg(test)]
#[path = "../../../tests/all/support/place.rs"]
mod place;
pub mod sys;
#[cfg(test)]
#[path = "../../../tests/all/support/sysfs.rs"]
mod sysfs;
pub mod text;
