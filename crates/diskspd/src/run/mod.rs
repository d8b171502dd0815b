//! One judged run.
//!
//! [`judged`] runs a request: it checks that its engine is available, runs it, and judges the document.
//! `diskspd` and every step of a series use it. [`outputs`] are the files for results (those that are not
//! complete: [`unfinished`]), [`required`] is `--require`, and [`signals`] stop a run. Nothing here prints or
//! parses a command line.

pub mod judged;
pub mod outputs;
pub mod required;
pub mod signals;
pub mod unfinished;
