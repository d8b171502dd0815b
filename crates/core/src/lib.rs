//! A run of a storage load, from a profile to a judged document: what `diskspd` and `truespd` share.
//!
//! The rooms and who may use whom are in ARCHITECTURE.md; `tests/all/house.rs` keeps them.

#![warn(missing_docs)]

pub mod access;
pub mod engine;
pub mod fault;
pub mod guard;
pub mod load;
pub mod machine;
pub mod measure;
pub mod plan;
pub mod profile;
pub mod result;
pub mod sys;
pub mod text;
pub mod verdict;
