//! One judged run, or a series of them, on a target: what surrounds runs, and what undoes it.

pub mod caretaker;
mod keep;
pub(crate) mod outputs;
pub(crate) mod place;
mod required;
pub mod run;
pub mod scratch;
pub(crate) mod series;
pub mod signals;
pub mod undo;
