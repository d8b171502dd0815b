//! Whether numbers can be trusted, as data. The rules are in the room `verdict`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::{bytes, number};

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

/// What a rule is about, in the order in which findings of one grade are told: what comes earlier may explain what comes
/// later, and never the other way round.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
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

impl Cause {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Cause::Run => "the run",
            Cause::Processor => "processor",
            Cause::Neighbours => "neighbours",
            Cause::Machine => "machine",
            Cause::Limit => "limit",
            Cause::Target => "target",
            Cause::Cache => "cache",
            Cause::Content => "content",
            Cause::Symptom => "symptom",
        }
    }
}

/// What the rules say of a result.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Verdict {
    /// That of the worst finding; remarks leave a result certified.
    pub grade: Grade,
    /// What was found, worst first, and within a grade causes before symptoms.
    pub findings: Vec<Finding>,
    /// What the disks did of what completed.
    pub proofs: Vec<Proof>,
    /// Rules that lacked evidence, and which.
    pub unchecked: Vec<Unchecked>,
    /// Names of the rules that looked.
    pub rules: Vec<String>,
}

/// One thing a rule found.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Finding {
    /// Name of the rule, e.g. `served-from-cache`.
    pub rule: String,
    /// What it does to the result; `certified` for a remark in documents from before remarks had a grade of their own.
    pub grade: FindingGrade,
    /// What the rule is about; `symptom` in documents from before rules had one.
    pub cause: Cause,
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

/// A number that a finding rests on.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Figure {
    /// What it is, with the unit at the end, e.g. `disk_read_bytes`.
    pub name: String,
    /// Its value; never NaN or infinite.
    pub value: f64,
}

/// What the disks below some targets did, beside what the test completed there.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Proof {
    /// The time span, from 1.
    pub time_span: u32,
    /// The targets, as given: those that share disks.
    pub targets: Vec<String>,
    /// Kernel names of the disks.
    pub disks: Vec<String>,
    /// Of the reads; none when no read completed.
    pub reads: Option<Served>,
    /// Of the writes; none when no write completed.
    pub writes: Option<Served>,
    /// Flushes of the disks' caches that completed, per second; none where the kernel does not count them.
    pub flushes_per_s: Option<f64>,
}

/// What completed in one direction, and what the disks moved, all programs together, as the kernel counted it.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Served {
    /// I/Os that completed, per second.
    pub completed_per_s: f64,
    /// Their bytes per second.
    pub completed_bytes_per_s: f64,
    /// I/Os of the disks, per second.
    pub disk_per_s: f64,
    /// Their bytes per second.
    pub disk_bytes_per_s: f64,
    /// The disks' bytes in those that completed; 1 is all of them.
    pub share: f64,
}

impl Proof {
    /// Nothing completed there.
    pub fn is_empty(&self) -> bool {
        self.reads.is_none() && self.writes.is_none()
    }

    /// `vda served 150,790 reads/s of 4 KiB, 100.0 % of the 150,806/s completed`, without a full stop.
    pub fn words(&self) -> String {
        let disks = disks_in_words(&self.disks);
        let reads = self.reads.map(|reads| reads.words("reads"));
        let mut writes = self.writes.map(|writes| writes.words("writes"));
        if let (Some(words), Some(flushes)) = (&mut writes, self.flushes_per_s.filter(|count| *count > 0.0)) {
            let flushes = number(flushes);
            let plural = if flushes == "1" { "flush" } else { "flushes" };
            words.push_str(&format!(", with {flushes} {plural}/s"));
        }
        let both: Vec<String> = reads.into_iter().chain(writes).collect();
        format!("{disks} served {}", both.join(", and "))
    }
}

/// Names of disks in a sentence: `vda`, `vda and vdb`, `the 7 disks below`.
pub fn disks_in_words(names: &[impl AsRef<str>]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.as_slice() {
        [one] => (*one).to_string(),
        [first @ .., last] if first.len() < 4 => format!("{} and {last}", first.join(", ")),
        many => format!("the {} disks below", many.len()),
    }
}

impl Served {
    /// `150,790 reads/s of 4 KiB, 100.0 % of the 150,806/s completed`: where the sizes differ, of their bytes.
    fn words(self, plural: &str) -> String {
        let size = |bytes: f64, ios: f64| if ios > 0.0 { bytes / ios } else { 0.0 };
        let asked = size(self.completed_bytes_per_s, self.completed_per_s);
        let moved = size(self.disk_bytes_per_s, self.disk_per_s);
        let share = format!("{:.1} %", self.share * 100.0);
        let of = match (moved - asked).abs() <= asked / 100.0 {
            true => format!("{share} of the {}/s completed", number(self.completed_per_s)),
            false => {
                let done = number(self.completed_per_s);
                format!("{share} of the bytes of the {done}/s of {} completed", bytes(asked))
            }
        };
        format!("{} {plural}/s of {}, {of}", number(self.disk_per_s), bytes(moved))
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn served(completed: (f64, f64), disk: (f64, f64)) -> Served {
        Served {
            completed_per_s: completed.0,
            completed_bytes_per_s: completed.0 * completed.1,
            disk_per_s: disk.0,
            disk_bytes_per_s: disk.0 * disk.1,
            share: disk.0 * disk.1 / (completed.0 * completed.1),
        }
    }

    #[test]
    fn the_proof_tells_what_the_disks_did() {
        let mut proof = Proof {
            disks: vec!["vda".into()],
            reads: Some(served((150_806.0, 4096.0), (150_790.0, 4096.0))),
            flushes_per_s: Some(1.0),
            ..Proof::default()
        };
        assert_eq!(proof.words(), "vda served 150,790 reads/s of 4 KiB, 100.0 % of the 150,806/s completed");
        proof.disks.push("vdb".into());
        proof.reads = Some(served((1000.0, 1048576.0), (2000.0, 524_288.0)));
        proof.writes = Some(served((2000.0, 4096.0), (2040.0, 4096.0)));
        assert_eq!(
            proof.words(),
            "vda and vdb served 2,000 reads/s of 512 KiB, 100.0 % of the bytes of the 1,000/s of 1 MiB completed, \
             and 2,040 writes/s of 4 KiB, 102.0 % of the 2,000/s completed, with 1 flush/s"
        );
    }
}
