//! TrueSpd: DiskSpd's load generator for Linux, whose numbers come with evidence.
//!
//! The rooms and who may use whom are in ARCHITECTURE.md; `tests/all/house.rs` keeps them.

pub mod access;
pub mod cli;
pub mod cluster;
pub mod compare;
pub mod doctor;
pub mod engine;
pub mod fault;
pub mod guard;
pub mod history;
pub mod import;
pub mod load;
pub mod machine;
pub mod measure;
pub mod plan;
pub mod profile;
pub mod render;
pub mod report;
pub mod request;
pub mod result;
pub mod selfcost;
pub mod session;
pub mod suite;
pub mod sys;
pub mod text;
pub mod verdict;
