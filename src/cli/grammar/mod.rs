//! DiskSpd's command line (`command-line.md`): rows, parsing, refusals, help. No rule about the machine.

pub(crate) mod arguments;
pub(crate) mod draft;
pub mod help;
pub(crate) mod hints;
pub(crate) mod lines;
pub(crate) mod options;
pub mod parse;
pub(crate) mod rows;
pub mod value;

pub(crate) use help::help_for;
pub use help::{help, version};
pub use parse::{parse, parse_os};
