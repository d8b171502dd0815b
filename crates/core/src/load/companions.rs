//! Other processes that run the same test at the same time, on this host or on others (a cluster run).
//!
//! A run asks them three times: before it writes anything, before it makes a file that another process may
//! make, and before each start. How they are reached is not known here.

use std::fmt::Debug;

use serde::{Deserialize, Serialize};

use crate::fault::Refusal;
use crate::result::CommonStart;
use crate::sys::identity::Identity;

/// The other processes.
pub trait Companions: Debug + Send + Sync {
    /// All checks of this process are done, and nothing was written. Waits until all processes have done theirs.
    ///
    /// # Errors
    /// At least one process refuses. The reasons of the others are not told here.
    fn agree(&self, places: &[Place], refusals: &[Refusal]) -> Result<(), CalledOff>;

    /// Processors for the threads of this process alone, where those of others on this host may use the same ones.
    fn processors(&self) -> Option<Vec<u32>>;

    /// Those on this host, by the numbers of their processes.
    fn processes(&self) -> Vec<u32>;

    /// Asks who makes the file of `-c` with this path, as typed, and waits until the other process has made it.
    ///
    /// # Errors
    /// The run is called off.
    fn turn_to_make(&self, typed: &str) -> Result<Maker, CalledOff>;

    /// This process has made that file.
    fn has_made(&self, typed: &str);

    /// The threads of this time span (from 0) stand ready. Waits until those of all processes do.
    ///
    /// # Errors
    /// The run is called off.
    fn start(&self, time_span: usize) -> Result<AgreedStart, CalledOff>;
}

/// The run does not begin, or does not go on: another process refuses, failed or is lost, or somebody wants it to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CalledOff;

/// Who makes a file that several processes would make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Maker {
    /// This process, which tells the others.
    This,
    /// Another one, which has made it.
    Another,
}

/// Where a target of this process is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// As given.
    pub typed: String,
    /// Absolute, with links followed as far as the path exists.
    pub path: String,
    /// What it is now; none when it is not there yet.
    pub identity: Option<Identity>,
    /// The folder that it is or will be in; none when that is not there yet.
    pub folder: Option<Identity>,
    /// It is to be made (`-c`).
    pub is_made: bool,
    /// The test writes to it.
    pub is_written: bool,
    /// It is a disk that other hosts may have as well: what tells it from others.
    pub disk: Option<String>,
    /// It is on a file system of another machine, which other hosts may use as well: that file system, as mounted.
    pub remote: Option<String>,
}

/// An instant at which all start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AgreedStart {
    /// By the wall clock of this host, nanoseconds since 1970 UTC.
    pub unix_ns: u64,
    /// What the document says of it; how late this process starts is filled in at the start.
    pub common: CommonStart,
}
