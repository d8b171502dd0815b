//! One judged run, or a series of them, on a target.
//!
//! * [`run`] runs a request once: checks that its engine is available, runs it, judges the document. `diskspd` and every
//!   step of a series use it.
//! * [`series`] runs the command lines of a suite ([`crate::suite::Runner`]): it asks the write guard first, makes a folder
//!   for test files ([`scratch`]), keeps the document of every run and resumes an earlier series (`keep`), stops at Ctrl+C
//!   ([`signals`]), and undoes its changes, whatever ends it ([`undo`], [`caretaker`]).
//! * [`crew`] are the processes that run the same series at the same time (a cluster run).
//! * [`place`] is the directory, file or device that a person chose for a test, [`outputs`] are the files for results (those
//!   that are not complete: `unfinished`), [`required`] is `--require`, and
//!   [`telemetry`] tells other programs what goes on.
//!
//! Nothing here prints or parses a command line. Progress goes to a [`watch::Watch`]; what ends a series is a
//! [`crate::fault::Fault`]; a [`crate::request::Grammar`] parses each command line once, when its step is made.

pub mod caretaker;
pub mod crew;
pub mod keep;
pub mod outputs;
pub mod place;
pub mod required;
pub mod run;
pub mod scratch;
pub mod series;
pub mod signals;
pub mod telemetry;
pub mod undo;
mod unfinished;
pub mod watch;
