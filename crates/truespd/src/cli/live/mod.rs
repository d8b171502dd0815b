//! A run on a full screen: `--live` and `truespd watch`.
//!
//! A process of its own draws it ([`watcher`], started by [`diskspd::viewer`]): whatever happens to the run,
//! even `kill -9`, the pipe between them closes and the terminal is given back. [`model`] is what is known
//! from the events, [`draw`] makes the picture, [`screen`] is the terminal, [`plain`] are the lines where
//! there is none, and [`words`] is what both say alike.

mod draw;
mod model;
pub(crate) mod plain;
mod screen;
#[cfg(test)]
mod tests;
pub(crate) mod watcher;
mod words;
