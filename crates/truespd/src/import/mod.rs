//! Job files of fio as lines of `diskspd`.
//!
//! Text in, words out: this room opens nothing. It makes the options of each target and of each run; the
//! command line's own parser reads them, so that a line and a profile of the same job cannot differ.
//!
//! Nothing is dropped in silence. A key of the job file becomes a word, needs none, or leaves a [`Remark`].

mod durable;
mod files;
mod group;
mod ini;
mod job;
mod lane;
mod load;
mod pattern;
mod table;
#[cfg(test)]
mod tests;
mod value;

pub use group::{Run, import};
pub use ini::{At, Included, NoJobFile, Outside};
pub use job::{Kind, Remark};
pub use lane::Lane;
