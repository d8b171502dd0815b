//! What a study is asked for, and how it refuses.

use crate::ask::ab;
use crate::ask::ab::options::Comparing;
use crate::ask::command::SeriesArguments;
use crate::ask::study::Question;
use crate::ask::values::file_bytes;
use crate::runner::Ended;
use crate::runner::place::{absolute, names_no_target, target_named};
use clap::{Args, Subcommand};
use truespd_platform::fault::{Failure, FailureKind, Fault, Refusal, RefusalKind};

#[derive(Debug, Subcommand)]
pub(super) enum Ask {
    /// What does the page cache change? Compares reads and writes past it and through it
    #[command(mut_arg("targets", |arg| arg.required(true)))]
    Cache(Common),
    /// What do the drives' write caches change? Compares 4 KiB random I/O with them on and off
    ///
    /// Runs on the first target and on all of them. Switches the write cache of every disk directly below the
    /// targets before each run, through sysfs, and restores it at the end, even when the program is killed.
    /// Needs root. On SCSI, SAS and SATA disks this switches the drive's own cache. On NVMe disks, and on
    /// virtio disks whose host does not allow it, it switches only whether the kernel sends flushes: "cache
    /// off" then shows what flushes cost. Such a disk is refused while something uses it, unless
    /// --risk-power-loss is given.
    #[command(mut_arg("targets", |arg| arg.required(true)))]
    WriteCache(WriteCacheArguments),
    /// Which path to the same storage is faster? Compares reads by the first path and by each other path
    ///
    /// Name the same file or device by several paths, or directories that show the same place: a test file is
    /// then created in the first. Or compare what several nodes measured: --node reads their documents.
    #[command(mut_arg("targets", |arg| arg.help(
        "Paths to the same file or device, which is only read, or directories that show the same place: a test file is \
         created in the first, and removed at the end"
    )))]
    Locality(LocalityArguments),
}

#[derive(Debug, Clone, Args)]
pub(super) struct Common {
    /// Directories, in which a test file is created and removed, files, or devices; files and devices are
    /// only read, unless --overwrite names them
    #[arg(value_name = "TARGET")]
    pub(super) targets: Vec<String>,

    /// Size of each test file
    #[arg(long = "size", value_name = "SIZE", default_value = "1G", value_parser = file_bytes)]
    pub(super) size_bytes: u64,

    #[command(flatten)]
    pub(super) comparing: Comparing,

    #[command(flatten)]
    pub(super) series: SeriesArguments,
}

/// A target that may be written.
pub(super) struct Consent {
    pub(super) path: String,
    /// The target as it stands in a line.
    pub(super) target: String,
}

impl Common {
    pub(super) fn consents(&self) -> Result<Vec<Consent>, Refusal> {
        let targets: Vec<String> = self.targets.iter().cloned().map(absolute).collect();
        let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
        let mut consents = Vec::new();
        for path in &self.series.overwrite {
            let Some(target) = target_named(path, &targets) else { return Err(names_no_target(path)) };
            consents.push(Consent { path: path.clone(), target: target.to_string() });
        }
        Ok(consents)
    }

    /// How the questions are answered, before anything is filled: time may be too short for them.
    pub(super) fn plans(&self, questions: &[Question]) -> Result<Vec<ab::Plan>, Fault> {
        let mut plans = Vec::new();
        for Question { title, words: [a, b], .. } in questions {
            let a = self.comparing.variant(title, a.clone(), None)?;
            let b = self.comparing.variant(title, b.clone(), None)?;
            plans.push(self.comparing.plan(&format!("{title}: "), [a, b])?);
        }
        Ok(plans)
    }
}

#[derive(Debug, Clone, Args)]
pub(super) struct WriteCacheArguments {
    #[command(flatten)]
    pub(super) common: Common,

    /// Run even if the disk is in use and either its cache, which is off, would be turned on, or only the
    /// kernel's flushes can be switched off. A power loss during the study can then destroy other data on the
    /// disk
    #[arg(long)]
    pub(super) risk_power_loss: bool,
}

#[derive(Debug, Clone, Args)]
pub(super) struct LocalityArguments {
    #[command(flatten)]
    pub(super) common: Common,

    /// Documents of one node's runs (from --json or --keep): a file or a directory; repeat it for each node;
    /// the first node is compared with each other
    #[arg(long = "node", value_name = "NAME=PATH")]
    pub(super) nodes: Vec<String>,
}

/// Why a study does not begin.
pub(super) fn refusal(message: impl Into<String>) -> Refusal {
    Refusal::new(RefusalKind::Target, message)
}

/// The same as the end of its series.
pub(super) fn refused(message: impl Into<String>) -> Ended {
    refusal(message).into()
}

/// The end of a study after something was done.
pub(super) fn failed(message: impl Into<String>) -> Ended {
    Failure::new(FailureKind::Open, message).into()
}
