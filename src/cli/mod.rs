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
pub use grammar::parse::refuse_findings;
pub use grammar::{help, parse, parse_os, version};

use crate::profile::ResultFormat;
use crate::request::Request;

/// What a command line asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Invocation {
    /// `-?` or `--help`: print [`help()`], exit 0.
    Help,
    /// Nothing was given: print [`help()`], exit 3.
    NoArguments,
    /// `--version`.
    Version,
    /// `-Rs`: print system information only.
    SystemInformation(ResultFormat),
    /// `-ye`: set these existing events, in order, and exit 0.
    SetEvents(Vec<String>),
    /// Run a profile, or print it.
    Run(Box<Request>),
}
