//! What the checks found, as data: the document of `truespd doctor`.

use serde::{Deserialize, Serialize};
use truespd_core::result::envelope::DocumentKind;

/// What a check says of its subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// A measurement would be wrong, or not of the disk.
    Spoils,
    /// Some measurements would be: those that it matters for.
    MaySpoil,
    /// This process cannot tell.
    #[default]
    Unknown,
    /// Nothing to do.
    Good,
    /// The machine or the disk has no such thing.
    DoesNotApply,
}

impl State {
    /// Whether something could be better.
    pub fn is_complaint(self) -> bool {
        matches!(self, State::Spoils | State::MaySpoil)
    }
}

/// Which measurements it matters for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// All that a run measures.
    #[default]
    Every,
    /// Those of latencies, and all with few outstanding I/Os.
    Latency,
    /// Those through the page cache.
    Cached,
    /// Those of more than about a million IOPS per processor.
    Peak,
}

impl Purpose {
    /// Completes "matters for".
    pub fn words(self) -> &'static str {
        match self {
            Purpose::Every => "every measurement",
            Purpose::Latency => "latencies, and few outstanding I/Os",
            Purpose::Cached => "measurements through the page cache",
            Purpose::Peak => "peak IOPS only (about a million per processor)",
        }
    }
}

/// How long a command holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Lasts {
    /// Until the machine or the device starts again.
    UntilRestart,
    /// In this shell and what it starts.
    InThisShell,
    /// Until the file system is mounted again.
    UntilMountedAgain,
}

impl Lasts {
    /// As people say it.
    pub fn words(self) -> &'static str {
        match self {
            Lasts::UntilRestart => "until the next boot",
            Lasts::InThisShell => "in this shell only",
            Lasts::UntilMountedAgain => "until the file system is mounted again",
        }
    }
}

/// Kinds of what a finding is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SubjectKind {
    /// The machine, its processors, its kernel.
    #[default]
    Machine,
    /// A block device.
    Disk,
    /// A mounted file system.
    FileSystem,
}

/// What a finding is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Subject {
    /// What kind of thing.
    pub kind: SubjectKind,
    /// Kernel name of a disk, mount point of a file system; empty for the machine.
    pub name: String,
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Finding {
    /// Name of the check.
    pub check: String,
    /// What it looks at.
    pub about: String,
    /// The rule of the verdict that judges runs by the same thing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Which measurements it matters for.
    pub matters_for: Purpose,
    /// It is on the list that people go through for the highest IOPS of one processor (fio's `t/one-core-peak.sh`).
    pub one_core_peak: bool,
    /// What was found.
    pub state: State,
    /// Of what.
    pub subject: Subject,
    /// Why, or why not known, in sentences.
    pub says: String,
    /// How it is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub now: Option<String>,
    /// How it should be for the measurements that it matters for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wanted: Option<String>,
    /// Commands for a shell of root that set it so.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<String>,
    /// Commands that set it back to what it is now.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub set_back: Vec<String>,
    /// How long the commands hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lasts: Option<Lasts>,
    /// How to keep it so, or to have what no command can change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permanent: Option<String>,
    /// What difference it makes, and to whom.
    pub difference: String,
    /// What the measurement is no longer like when it is set so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub production: Option<String>,
    /// Where this is from.
    pub source: String,
}

/// Findings of each state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Counts {
    /// Things that spoil a measurement.
    pub spoils: u32,
    /// Things that may.
    pub may_spoil: u32,
    /// Things that cannot be told.
    pub unknown: u32,
    /// Things that are as they should be.
    pub good: u32,
    /// Things that are not there.
    pub does_not_apply: u32,
}

impl Counts {
    /// Counts them.
    pub fn of(findings: &[Finding]) -> Self {
        let mut counts = Counts::default();
        for finding in findings {
            *match finding.state {
                State::Spoils => &mut counts.spoils,
                State::MaySpoil => &mut counts.may_spoil,
                State::Unknown => &mut counts.unknown,
                State::Good => &mut counts.good,
                State::DoesNotApply => &mut counts.does_not_apply,
            } += 1;
        }
        counts
    }
}

/// All that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Report {
    /// This process is root's: what it cannot read, nobody can here.
    pub is_root: bool,
    /// It runs in a container: most settings are the host's.
    pub is_container: bool,
    /// What matters to peak rates only was looked at, too.
    pub for_peak: bool,
    /// Things that may spoil a measurement of peak rates and no other, which were left out.
    pub for_peak_only: u32,
    /// The block devices that were looked at.
    pub disks: Vec<String>,
    /// What could not be looked at from here, in sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub beyond: Vec<String>,
    /// How many findings of each state there are.
    pub counts: Counts,
    /// The worst first.
    pub findings: Vec<Finding>,
}

impl DocumentKind for Report {
    const FORMAT: &'static str = "truespd-doctor";
    const MEMBER: &'static str = "doctor";
    const MEMBER_ABOUT: &'static str = "What was looked at and found.";
    const TITLE: &'static str = "TrueSpd doctor, version 1";
    const ABOUT: &'static str =
        "What on a machine will spoil a measurement, as `truespd doctor --json` prints it, version 1.";
    const NAME: &'static str = "answer of truespd doctor";
}
