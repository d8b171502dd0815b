//! DiskSpd's command line (`command-line.md`): rows, parsing, refusals, help. No rule about the machine.

pub(crate) mod arguments;
pub(crate) mod draft;
#[cfg(test)]
mod fio;
pub mod help;
pub(crate) mod hints;
pub(crate) mod lines;
pub(crate) mod offers;
pub(crate) mod options;
pub mod parse;
pub(crate) mod rows;
pub(crate) mod strays;
pub mod value;

pub use help::{help, help_of, version};
pub(crate) use help::{help_for, help_of_for};
pub use parse::{parse, parse_os};
