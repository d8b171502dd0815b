//! One judged run, or a series of them, on a target.
//!
//! * [`run`] runs a request once: is its engine there, run it, judge the document. `diskspd` and every step of a series go
//!   this way.
//! * [`series`] runs the lines of a suite ([`crate::suite::Runner`]): it asks the write guard first, has a folder for test files
//!   ([`scratch`]), keeps the document of every run and goes on where an earlier series ended (`keep`), ends at Ctrl+C
//!   ([`signals`]), and undoes what it changed however it ends ([`undo`], [`caretaker`]).
//! * [`place`] is what a person named for a test, [`outputs`] are the files that results go to, [`required`] is what an answer has
//!   to be.
//!
//! Nothing here prints or reads words. What goes on is told to a [`watch::Watch`], which whoever shows it implements; what ends a
//! series is a [`crate::fault::Fault`]; lines are read by a [`crate::request::Grammar`], once, when their step is made.

pub mod caretaker;
pub mod keep;
pub mod outputs;
pub mod place;
pub mod required;
pub mod run;
pub mod scratch;
pub mod series;
pub mod signals;
pub mod undo;
pub mod watch;
