//! Words to profiles and subcommands: DiskSpd's command line (`command-line.md`).
//!
//! Every option is a row of one table (`rows`); the parser, the help and the refusals come from the
//! rows. [`parse()`] is pure: it opens nothing, sets no event, asks no machine. What it returns says what
//! is to be done; what it refuses touches nothing (a deliberate difference: DiskSpd 2.2 sets events
//! while it is still reading).

pub(crate) mod commands;
pub(crate) mod console;
pub(crate) mod grammar;
pub(crate) mod show;
pub(crate) mod words;

pub use commands::diskspd::{ExitCode, Program, diskspd};
pub use commands::truespd;
pub use grammar::parse::refuse_findings;
pub use grammar::{help, parse, parse_os, version};

use crate::profile::{Profile, ResultFormat};
use crate::result::Grade;

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
    Run(Box<RunRequest>),
}

/// A profile to run and what comes with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRequest {
    /// The profile; empty when [`RunRequest::profile_file`] names one.
    pub profile: Profile,
    /// Only print the profile (`-Rp`); nothing runs.
    pub profile_only: bool,
    /// Events to wait for and to signal.
    pub events: Events,
    /// Additions that DiskSpd does not have.
    pub options: LongOptions,
    /// An XML profile to read, with what overrides it (`-X`).
    pub profile_file: Option<ProfileFile>,
    /// Warnings of the profile's rules, without the leading `WARNING: `.
    pub findings_warnings: Vec<String>,
    /// What the person should know about how options were taken, one sentence each.
    pub notes: Vec<String>,
}

/// Named events (`-y`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Events {
    /// `-ys`: signalled when the measurement starts.
    pub start: Option<String>,
    /// `-yf`: signalled when the measurement ends.
    pub finish: Option<String>,
    /// `-yr`: waited for before the warm-up.
    pub wait: Option<String>,
    /// `-yp`: stops the run when set; Ctrl+C sets it.
    pub stop: Option<String>,
}

/// TrueSpd's own long options.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LongOptions {
    /// `--engine`: the engine to use instead of the best one available.
    pub engine: Option<EngineChoice>,
    /// `--overwrite`: targets that may be written although they carry data TrueSpd did not make.
    pub overwrite: Vec<String>,
    /// `--recreate`: create `-c` files anew even when they could be reused.
    pub recreate: bool,
    /// `--json`, `--xml`, `--text`, `--csv`: files that the result is written to as well.
    pub outputs: Vec<Output>,
    /// `--verdict`: show all of the verdict.
    pub verdict: bool,
    /// `--require`: the worst grade that is a success.
    pub require: Option<Grade>,
}

/// A file for the result in one format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Name of the format in the table of `render`.
    pub format: &'static str,
    /// Path as given.
    pub path: String,
}

/// `NAME[:parameters]` of `--engine`. Which names exist is checked against the table of engines later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineChoice {
    /// Name of the engine.
    pub name: String,
    /// What follows the colon, empty without one.
    pub parameters: String,
}

/// An XML profile and what the command line overrides in it (`command-line.md` §8).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProfileFile {
    /// Path of the file.
    pub path: String,
    /// `-d`, seconds, for every time span.
    pub duration_s: Option<u32>,
    /// `-W`, seconds, for every time span.
    pub warmup_s: Option<u32>,
    /// `-C`, seconds, for every time span.
    pub cooldown_s: Option<u32>,
    /// `-z`, for every time span.
    pub seed: Option<u32>,
    /// `-v`; can only switch on.
    pub verbose: bool,
    /// `-vs`; can only switch on.
    pub verbose_stats: bool,
    /// `-R` with a format.
    pub result_format: Option<ResultFormat>,
    /// `-:`.
    pub experiment_flags: Option<u32>,
    /// Targets that replace the templates `*1`, `*2`, ... in order.
    pub targets: Vec<String>,
}
