//! What an option does with its value, where that is more than a field of its row.

pub mod helpers;
pub mod long;
pub mod run;
pub mod target;
