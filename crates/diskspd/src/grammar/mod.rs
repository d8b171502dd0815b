//! DiskSpd's command line (`command-line.md`): rows, parsing, refusals, help. No rule about the machine.

pub mod arguments;
mod draft;
pub mod fio;
pub mod help;
mod hints;
pub mod lines;
pub mod offers;
mod options;
pub mod parse;
pub mod rows;
pub mod strays;
pub mod value;

pub use help::{help, help_of, version};
pub use help::{help_for, help_of_for};
pub use parse::{parse, parse_os};
