//! Command lines: DiskSpd's (`command-line.md`) and the subcommands of `truespd`.
//!
//! Every option is a row of one table (`rows`); the parser, the help and the refusals come from the
//! rows. [`parse()`] is pure: it opens nothing, sets no event, reads nothing of the machine. It only returns
//! what is to be done, so a refusal changes nothing (a deliberate difference: DiskSpd 2.2 sets events
//! while it is still reading).

mod ask;
mod beside;
mod commands;
mod completions;
mod config;
mod console;
mod grammar;
mod kept;
mod live;
mod manual;
mod operands;
mod show;
mod text_file;
mod words;

pub use commands::diskspd::{ExitCode, Program, diskspd, main};
pub use commands::truespd;
pub use grammar::parse::{Invocation, refuse_findings};
pub use grammar::{help, help_of, parse, parse_os, version};
