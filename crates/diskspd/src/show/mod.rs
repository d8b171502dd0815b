//! What people see of a run: the line of its progress, and its verdict.

pub mod live;
pub mod verdict;
