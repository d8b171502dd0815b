//! What a study is asked for.

use clap::{Args, Subcommand};

use crate::cli::commands::comparing::Comparing;
use crate::cli::commands::suite::SeriesArguments;
use crate::cli::commands::values::file_bytes;
use crate::series::place::{absolute, names_no_target, target_named};
use crate::suite::ab::{self};
use crate::suite::study::Question;
use truespd_core::fault::{Fault, Refusal};

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
    /// What `--overwrite` says.
    pub(super) path: String,
    /// The target as it stands in a line.
    pub(super) target: String,
}

impl Common {
    /// What may be written.
    pub(super) fn consents(&self) -> Result<Vec<Consent>, Refusal> {
        let targets: Vec<String> = self.targets.iter().cloned().map(absolute).collect();
        let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
        let consent = |path: &String| match target_named(path, &targets) {
            Some(target) => Ok(Consent { path: path.clone(), target: target.to_string() }),
            None => Err(names_no_target(path)),
        };
        self.series.overwrite.iter().map(consent).collect()
    }

    /// How the questions are answered, before anything is filled: time may be too short for them.
    pub(super) fn plans(&self, questions: &[Question]) -> Result<Vec<ab::Plan>, Fault> {
        let plan = |question: &Question| {
            let line = |words: &Vec<String>| self.comparing.variant(&question.title, words.clone(), None);
            let [a, b] = &question.words;
            self.comparing.plan(&format!("{}: ", question.title), [line(a)?, line(b)?])
        };
        questions.iter().map(plan).collect()
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
