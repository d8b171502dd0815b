//! DiskSpd's command line (`command-line.md`): rows, parsing, refusals, help. No rule about the machine.

pub mod help;
pub mod hints;
mod options;
pub mod parse;
mod row;
pub mod rows;
mod target;
pub mod value;

pub use help::{help, help_of, version};
pub use help::{help_for, help_of_for, short_help_for};
pub use parse::{parse, parse_os};
