//! From a plan to runs: a series makes steps one after the other, keeps their documents, is resumed and stopped, shows
//! where it is, and undoes what it changed.

pub mod keep;
mod length;
pub mod place;
pub mod rounds;
pub mod sequence;
mod series;
mod step;
pub mod undo;
pub mod until_known;
pub mod view;
pub mod watch;

pub use length::{Length, duration_words};
pub use series::{CARETAKER, Series, SeriesRanks, Wishes};
pub use step::{Ahead, Draft, Ended, Kind, Known, Runner, Step, run_steps};
