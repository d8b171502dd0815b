//! Run a profile: prepare files, start threads together, pace, issue, record, stop.

pub mod fill;
