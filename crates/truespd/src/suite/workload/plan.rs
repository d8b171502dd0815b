//! What a workload is asked to do.

use super::sweep::LatencyLimit;
use truespd_core::profile::Profile;

/// Starting and ending a run, roughly, in seconds.
pub(super) const AROUND_S: f64 = 0.5;

/// Measured times that were asked for, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// `-W`
    pub warmup_s: u32,
    /// `-d`
    pub duration_s: u32,
    /// `-C`
    pub cooldown_s: u32,
}

impl Times {
    pub(super) fn words(self) -> [String; 3] {
        [format!("-W{}", self.warmup_s), format!("-d{}", self.duration_s), format!("-C{}", self.cooldown_s)]
    }

    pub(super) fn seconds(self) -> f64 {
        f64::from(self.warmup_s) + f64::from(self.duration_s) + f64::from(self.cooldown_s) + AROUND_S
    }
}

/// A workload on its targets.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Its name.
    pub name: String,
    /// What it is, in one line.
    pub about: String,
    /// Where its figures come from.
    pub source: String,
    /// Words of `-c` for lines whose files are to be made; the files of a line are equally large.
    pub create: Option<String>,
    /// Files or devices, as words of the command line.
    pub targets: Vec<String>,
    /// Times of every run.
    pub times: Times,
    /// What runs.
    pub work: Work,
}

/// What a workload runs.
#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    /// These lines, without targets.
    Lines(Vec<Vec<String>>),
    /// A profile in a file, for `-X`.
    Profile {
        /// Path of the file.
        path: String,
        /// What it holds.
        profile: Box<Profile>,
    },
    /// A line at rates, until the highest that keeps the limit is found.
    Search {
        /// The line, without targets.
        line: Vec<String>,
        /// What is kept.
        limit: LatencyLimit,
        /// Threads times targets: what a rate per thread is multiplied with.
        streams: u64,
        /// I/Os of all threads that are outstanding at once, at most.
        outstanding: u64,
    },
}
