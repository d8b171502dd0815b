//! Words to profiles and subcommands: DiskSpd's command line (`command-line.md`).
//!
//! Every option is a row of one table (`rows`); the parser, the help and the refusals come from the
//! rows. [`parse()`] is pure: it opens nothing, sets no event, asks no machine. What it returns says what
//! is to be done; what it refuses touches nothing (a deliberate difference: DiskSpd 2.2 sets events
//! while it is still reading).

mod commands;
mod console;
mod grammar;
mod show;
mod words;

pub use commands::diskspd::{ExitCode, Program, diskspd};
pub use commands::truespd;
pub use grammar::parse::{Invocation, refuse_findings};
pub use grammar::{help, parse, parse_os, version};
