//! Whether numbers can be trusted, as data. The rules are in the crate `truespd-verdict`.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use super::FileProtocol;
use truespd_platform::text::{bytes, number, percent};

/// How far a result can be trusted. Later is worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", schemars(rename = "Cause"))]
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
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
        let mut findings = verdict.findings.iter().filter(|finding| !finding.grade.is_remark());
        SourceVerdict {
            grade: verdict.grade,
            findings: findings.by_ref().take(SOURCE_FINDINGS_MAX).cloned().collect(),
            more: findings.count() as u32,
        }
    }
}

/// One thing a rule found.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

    /// About a target, or about the run as a whole.
    #[must_use]
    pub fn target(mut self, target: Option<&str>) -> Self {
        self.target = target.map(str::to_string);
        self
    }

    /// With a number that it rests on; one that is not finite is left out.
    #[must_use]
    pub fn figure(mut self, name: &str, value: f64) -> Self {
        if value.is_finite() {
            self.figures.push(Figure { name: name.to_string(), value });
        }
        self
    }

    /// With advice that fits better than that of the rule.
    #[must_use]
    pub fn advise(mut self, advice: &str) -> Self {
        self.advice = advice.to_string();
        self
    }
}

/// Where a finding stands among others, the first one first.
pub type Standing = (Reverse<FindingGrade>, Meaning, Theme);

/// The place of a finding of this grade, meaning and cause.
pub fn standing(grade: FindingGrade, meaning: Meaning, cause: Theme) -> Standing {
    (Reverse(grade), meaning, cause)
}

/// A number that a finding rests on.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Figure {
    /// What it is, with the unit at the end, e.g. `disk_read_bytes`.
    pub name: String,
    /// Its value; never NaN or infinite.
    pub value: f64,
}

/// A rule that could not look.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Unchecked {
    /// Name of the rule.
    pub rule: String,
    /// The time span, from 1.
    pub time_span: u32,
    /// Which evidence is missing, in words.
    pub why: String,
}

/// What the disks below some targets did, or the file server that holds them, beside what the test completed there.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Proof {
    /// The time span, from 1.
    pub time_span: u32,
    /// The targets, as given: those that share disks, or a mount.
    pub targets: Vec<String>,
    /// Kernel names of the disks; empty where a file server holds the targets.
    pub disks: Vec<String>,
    /// The file server that holds the targets, as far as which they are proven; none where disks of this machine do.
    pub server: Option<FileServer>,
    /// Of the reads; none when no read completed.
    pub reads: Option<Served>,
    /// Of the writes; none when no write completed.
    pub writes: Option<Served>,
    /// Flushes of the disks' caches that completed, per second, or requests to the server to make written data durable;
    /// none where the kernel does not count them.
    pub flushes_per_s: Option<f64>,
}

/// A server of files, as its client on this machine knows it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct FileServer {
    /// Its name or address, as mounted.
    pub name: String,
    /// How the client talks to it.
    pub protocol: FileProtocol,
    /// Version of the protocol, e.g. `4.2`.
    pub version: Option<String>,
}

/// What completed in one direction, and what the disks moved, or the server sent or took: for all programs
/// together, as the kernel counted it.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Served {
    /// I/Os that completed, per second.
    pub completed_per_s: f64,
    /// Their bytes per second.
    pub completed_bytes_per_s: f64,
    /// I/Os of the disks, or requests to the server, per second; `disk_per_s` in documents from before there
    /// were proofs of servers.
    #[serde(alias = "disk_per_s")]
    pub moved_per_s: f64,
    /// Their bytes per second; `disk_bytes_per_s` in such documents.
    #[serde(alias = "disk_bytes_per_s")]
    pub moved_bytes_per_s: f64,
    /// The bytes moved in those that completed; 1 is all of them.
    pub share: f64,
}

impl Proof {
    /// Nothing completed there.
    pub fn is_empty(&self) -> bool {
        self.reads.is_none() && self.writes.is_none()
    }

    /// What was done, without a full stop: `vda served 150,790 reads/s of 4 KiB, 100.0 % of the 150,806/s
    /// completed`, or `filer1 served 71.4 READ/s over NFS 4.2, 97 % of the bytes read; what the server did is
    /// not seen`.
    pub fn words(&self) -> String {
        match &self.server {
            Some(server) => self.words_of_server(server),
            None => self.words_of_disks(),
        }
    }

    /// The shares alone, without a full stop: `vda itself counted 100 % of the reads and 101 % of the bytes written`,
    /// or `filer1 sent 97 % of the bytes read over NFS 4.2`.
    pub fn shares(&self) -> String {
        let mut shares = Vec::new();
        let ways =
            [(self.reads, "reads", "bytes read", "sent"), (self.writes, "writes", "bytes written", "took")];
        for (served, plural, of_bytes, does) in ways {
            let Some(served) = served else { continue };
            let of = if served.is_whole() && self.server.is_none() { plural } else { of_bytes };
            let share = served.share_words(of);
            shares.push(if self.server.is_some() { format!("{does} {share}") } else { share });
        }
        let shares = shares.join(" and ");
        match (&self.server, self.disks.as_slice()) {
            (Some(server), _) => format!("{} {shares} over {}", server.name, server.protocol_words()),
            (None, [disk]) => format!("{disk} itself counted {shares}"),
            (None, disks) => format!("{} themselves counted {shares}", disks_in_words(disks)),
        }
    }

    fn flushes(&self) -> Option<String> {
        self.flushes_per_s.filter(|count| *count > 0.0).map(number)
    }

    fn words_of_disks(&self) -> String {
        let disks = disks_in_words(&self.disks);
        let reads = self.reads.map(|reads| reads.words("reads"));
        let mut writes = self.writes.map(|writes| writes.words("writes"));
        if let (Some(words), Some(flushes)) = (&mut writes, self.flushes()) {
            let plural = if flushes == "1" { "flush" } else { "flushes" };
            words.push_str(&format!(", with {flushes} {plural}/s"));
        }
        let both: Vec<String> = reads.into_iter().chain(writes).collect();
        format!("{disks} served {}", both.join(", and "))
    }

    fn words_of_server(&self, server: &FileServer) -> String {
        let mut over = format!(" over {}", server.protocol_words());
        let mut part = |served: Served, verb: &str, with: &str, past: &str| {
            let (requests, share) = (number(served.moved_per_s), percent(served.share));
            format!("{requests} {verb}/s{}{with}, {share} of the bytes {past}", std::mem::take(&mut over))
        };
        let reads = self.reads.map(|reads| part(reads, "READ", "", "read"));
        let commit = server.protocol.commit_word();
        let with = self.flushes().map_or(String::new(), |flushes| format!(" with {flushes} {commit}/s"));
        let writes = self.writes.map(|writes| part(writes, "WRITE", &with, "written"));
        let both: Vec<String> = reads.into_iter().chain(writes).collect();
        format!("{} served {}; what the server did is not seen", server.name, both.join(", and "))
    }
}

impl FileServer {
    /// `NFS 4.2`.
    pub fn protocol_words(&self) -> String {
        let name = self.protocol.name();
        self.version.as_ref().map_or(name.to_string(), |version| format!("{name} {version}"))
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

/// From so many times the bytes on the share is told in times.
const TOLD_IN_TIMES: f64 = 2.0;

impl Served {
    /// Mean sizes of the I/Os that completed and of those that were moved, in bytes.
    fn sizes(self) -> [f64; 2] {
        [(self.completed_bytes_per_s, self.completed_per_s), (self.moved_bytes_per_s, self.moved_per_s)]
            .map(|(bytes, ios)| if ios > 0.0 { bytes / ios } else { 0.0 })
    }

    /// Whether the disks moved the I/Os as they were asked for, neither split nor merged.
    fn is_whole(self) -> bool {
        let [asked, moved] = self.sizes();
        (moved - asked).abs() <= asked / 100.0
    }

    /// `101 % of the writes`, `37 times the bytes written`.
    fn share_words(self, of: &str) -> String {
        if self.share >= TOLD_IN_TIMES {
            return format!("{} times the {of}", number(self.share));
        }
        format!("{} of the {of}", percent(self.share))
    }

    /// `150,790 reads/s of 4 KiB, 100.0 % of the 150,806/s completed`: where the sizes differ, of their bytes.
    fn words(self, plural: &str) -> String {
        let [asked, moved] = self.sizes();
        // A tenth of a percent tells whether all was served. Where others moved ten times as much it tells nothing.
        let share =
            if self.share < 10.0 { format!("{:.1} %", self.share * 100.0) } else { percent(self.share) };
        let of = if self.is_whole() {
            format!("{share} of the {}/s completed", number(self.completed_per_s))
        } else {
            let done = number(self.completed_per_s);
            format!("{share} of the bytes of the {done}/s of {} completed", bytes(asked))
        };
        format!("{} {plural}/s of {}, {of}", number(self.moved_per_s), bytes(moved))
    }
}

#[cfg(test)]
mod tests_of_proofs {
    use super::*;

    fn served(completed: (f64, f64), moved: (f64, f64)) -> Served {
        Served {
            completed_per_s: completed.0,
            completed_bytes_per_s: completed.0 * completed.1,
            moved_per_s: moved.0,
            moved_bytes_per_s: moved.0 * moved.1,
            share: moved.0 * moved.1 / (completed.0 * completed.1),
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
        assert_eq!(proof.shares(), "vda itself counted 100 % of the reads");
        proof.reads = Some(served((1.0, 4096.0), (1333.379, 4096.0)));
        assert_eq!(proof.words(), "vda served 1,333 reads/s of 4 KiB, 133,338 % of the 1/s completed");
        proof.disks.push("vdb".into());
        proof.reads = Some(served((1000.0, 1048576.0), (2000.0, 524_288.0)));
        proof.writes = Some(served((2000.0, 4096.0), (2040.0, 4096.0)));
        assert_eq!(
            proof.words(),
            "vda and vdb served 2,000 reads/s of 512 KiB, 100.0 % of the bytes of the 1,000/s of 1 MiB completed, \
             and 2,040 writes/s of 4 KiB, 102.0 % of the 2,000/s completed, with 1 flush/s"
        );
        assert_eq!(
            proof.shares(),
            "vda and vdb themselves counted 100 % of the bytes read and 102 % of the writes"
        );
        proof.writes = Some(served((100.0, 4096.0), (3700.0, 4096.0)));
        assert!(proof.shares().ends_with("and 37 times the writes"), "{}", proof.shares());
    }

    #[test]
    fn the_proof_of_a_server_ends_there() {
        let server =
            FileServer { name: "filer1".into(), protocol: FileProtocol::Nfs, version: Some("4.2".into()) };
        let mut proof = Proof {
            server: Some(server),
            reads: Some(served((73.6, 4096.0), (71.4, 4096.0))),
            flushes_per_s: Some(0.0),
            ..Proof::default()
        };
        assert_eq!(
            proof.words(),
            "filer1 served 71.4 READ/s over NFS 4.2, 97 % of the bytes read; what the server did is not seen"
        );
        (proof.writes, proof.flushes_per_s) = (Some(served((10.0, 4096.0), (5.0, 8192.0))), Some(2.0));
        assert_eq!(
            proof.words(),
            "filer1 served 71.4 READ/s over NFS 4.2, 97 % of the bytes read, and 5 WRITE/s with 2 COMMIT/s, 100 % of \
             the bytes written; what the server did is not seen"
        );
        assert_eq!(
            proof.shares(),
            "filer1 sent 97 % of the bytes read and took 100 % of the bytes written over NFS 4.2"
        );
        proof.reads = None;
        assert!(proof.words().starts_with("filer1 served 5 WRITE/s over NFS 4.2 with 2 COMMIT/s, 100 %"));
    }

    #[test]
    fn proofs_of_before_there_were_servers_are_read() {
        let stored =
            r#"{"disks": ["vda"], "reads": {"disk_per_s": 2.0, "disk_bytes_per_s": 8192.0, "share": 1.0}}"#;
        let proof: Proof = serde_json::from_str(stored).expect("a proof");
        let reads = proof.reads.expect("reads");
        assert_eq!((reads.moved_per_s, reads.moved_bytes_per_s, proof.server), (2.0, 8192.0, None));
    }
}
