//! Whether numbers can be trusted, as data. The rules are in the room `verdict`.

use std::cmp::Reverse;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Proof;

/// How far a result can be trusted. Later is worse.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// The disks were seen to do the work, and no rule found anything against it. Rules that lacked evidence
    /// beside that are listed.
    #[default]
    Certified,
    /// The numbers are right for what ran, and may well not be what the person thinks they are.
    Suspect,
    /// The numbers do not describe the target.
    Invalid,
}

impl Grade {
    /// All of them, the best first.
    pub const ALL: [Grade; 3] = [Grade::Certified, Grade::Suspect, Grade::Invalid];

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Grade::Certified => "certified",
            Grade::Suspect => "suspect",
            Grade::Invalid => "invalid",
        }
    }

    /// The grade of a result with these findings: that of the worst one.
    pub fn of<'f>(findings: impl IntoIterator<Item = &'f Finding>) -> Self {
        findings.into_iter().map(|finding| finding.grade.of_result()).max().unwrap_or_default()
    }

    /// Its word in tables, where the worst must not be overlooked.
    pub fn loud_word(self) -> &'static str {
        match self {
            Grade::Invalid => "INVALID",
            other => other.word(),
        }
    }
}

/// What a finding does to the result. Later is worse.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FindingGrade {
    /// Nothing: it is worth knowing.
    // Documents from before remarks had a grade of their own say `certified`.
    #[default]
    #[serde(alias = "certified")]
    Remark,
    /// It makes the result suspect.
    Suspect,
    /// It makes the result invalid.
    Invalid,
}

impl FindingGrade {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            FindingGrade::Remark => "remark",
            FindingGrade::Suspect => "suspect",
            FindingGrade::Invalid => "invalid",
        }
    }

    /// Whether it says nothing against the result.
    pub fn is_remark(self) -> bool {
        self == FindingGrade::Remark
    }

    /// The best grade of a result that has such a finding.
    pub fn of_result(self) -> Grade {
        match self {
            FindingGrade::Remark => Grade::Certified,
            FindingGrade::Suspect => Grade::Suspect,
            FindingGrade::Invalid => Grade::Invalid,
        }
    }
}

/// What a finding means for the number, in the order in which findings of one grade are told: what the number
/// is comes before why it is low.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Meaning {
    /// It is the number of something else: of a cache, of data that need no disk, of a part of the run.
    WrongNumber,
    /// Something else used, or changed, what was measured meanwhile.
    OtherLoad,
    /// It is right for what ran, and the test itself, the machine's settings or a limit held it back.
    HeldBack,
    /// It is seen in the numbers, or worth knowing beside them.
    #[default]
    Seen,
}

impl Meaning {
    /// Its words.
    pub fn words(self) -> &'static str {
        match self {
            Meaning::WrongNumber => "another number",
            Meaning::OtherLoad => "other load",
            Meaning::HeldBack => "held back",
            Meaning::Seen => "seen",
        }
    }
}

/// What a rule is about, in the order in which findings that mean the same are told: what comes earlier may
/// explain what comes later, and never the other way round.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Cause")]
pub enum Theme {
    /// Whether there is a result of storage at all.
    Run,
    /// The test's own threads had too little processor time, or used it up themselves.
    Processor,
    /// Other programs, or other virtual machines, used what the test needed.
    Neighbours,
    /// How the machine is set up for the threads: where they are bound, clocks, frequencies.
    Machine,
    /// A limit that somebody set.
    Limit,
    /// What the target itself did.
    Target,
    /// Caches and layers between the test and the disk, and where the target lies.
    Cache,
    /// What the target holds, and what was written to it.
    Content,
    /// What is seen in the numbers, whatever caused it.
    #[default]
    Symptom,
}

impl Theme {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Theme::Run => "the run",
            Theme::Processor => "processor",
            Theme::Neighbours => "neighbours",
            Theme::Machine => "machine",
            Theme::Limit => "limit",
            Theme::Target => "target",
            Theme::Cache => "cache",
            Theme::Content => "content",
            Theme::Symptom => "symptom",
        }
    }
}

/// What the rules say of a result.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Verdict {
    /// That of the worst finding; remarks leave a result certified.
    pub grade: Grade,
    /// What was found, worst first, and within a grade what decides the meaning of the number before what slowed it.
    pub findings: Vec<Finding>,
    /// What the disks, or file servers, did of what completed.
    pub proofs: Vec<Proof>,
    /// Rules that lacked evidence, and which.
    pub unchecked: Vec<Unchecked>,
    /// Names of the rules that looked.
    pub rules: Vec<String>,
}

/// Findings that the row of a sum holds: with the same of each of many targets, the rows would be most of the sum.
const SOURCE_FINDINGS_MAX: usize = 8;

/// What the rules said of one of the results of a sum: the grade and why, without what was only worth knowing.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SourceVerdict {
    /// That of the worst finding.
    pub grade: Grade,
    /// What was found, worst first, without remarks; eight at most.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// Findings beyond those.
    #[serde(skip_serializing_if = "is_none")]
    pub more: u32,
}

fn is_none(count: &u32) -> bool {
    *count == 0
}

impl From<&Verdict> for SourceVerdict {
    fn from(verdict: &Verdict) -> Self {
        let findings = || verdict.findings.iter().filter(|finding| !finding.grade.is_remark());
        SourceVerdict {
            grade: verdict.grade,
            findings: findings().take(SOURCE_FINDINGS_MAX).cloned().collect(),
            more: findings().skip(SOURCE_FINDINGS_MAX).count() as u32,
        }
    }
}

/// One thing a rule found.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Finding {
    /// Name of the rule, e.g. `served-from-cache`.
    pub rule: String,
    /// What it does to the result; `certified` for a remark in documents from before remarks had a grade of their own.
    pub grade: FindingGrade,
    /// What it means for the number; `seen` in documents from before findings had a meaning.
    pub meaning: Meaning,
    /// What the rule is about; `symptom` in documents from before rules had one.
    pub cause: Theme,
    /// The time span it is about, from 1.
    pub time_span: u32,
    /// The target it is about, as given; none when about the run as a whole.
    pub target: Option<String>,
    /// What is so, with the numbers, in one sentence.
    pub says: String,
    /// The numbers again, for programs.
    pub figures: Vec<Figure>,
    /// What to do about it, in one line.
    pub advice: String,
}

impl Finding {
    /// Where it stands among others, the first one first.
    pub fn standing(&self) -> Standing {
        standing(self.grade, self.meaning, self.cause)
    }
}

/// Where a finding stands among others, the first one first.
pub type Standing = (Reverse<FindingGrade>, Meaning, Theme);

/// The place of a finding of this grade, meaning and cause.
pub fn standing(grade: FindingGrade, meaning: Meaning, cause: Theme) -> Standing {
    (Reverse(grade), meaning, cause)
}

/// A number that a finding rests on.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Figure {
    /// What it is, with the unit at the end, e.g. `disk_read_bytes`.
    pub name: String,
    /// Its value; never NaN or infinite.
    pub value: f64,
}

/// A rule that could not look.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Unchecked {
    /// Name of the rule.
    pub rule: String,
    /// The time span, from 1.
    pub time_span: u32,
    /// Which evidence is missing, in words.
    pub why: String,
}
