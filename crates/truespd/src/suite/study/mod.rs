//! Ready-made comparisons: questions that come up again and again, each built on [`super::ab`].

pub mod nodes;
#[cfg(test)]
mod tests;

use crate::suite::ab::Side;
use crate::suite::findings::SeriesVerdict;
use crate::suite::study::nodes::Node;
use crate::suite::{SuiteDocument, ab};
use diskspd::show::verdict::Style;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use truespd_core::result::envelope::DocumentKind;
use truespd_core::result::{Grade, Part};
use truespd_core::text::{printable, shell_line};

/// Which question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Study {
    /// What does the operating system's cache change?
    Cache,
    /// What does the drive's write cache change?
    WriteCache,
    /// From where is the same storage faster?
    Locality,
}

impl Study {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Study::Cache => "cache",
            Study::WriteCache => "write-cache",
            Study::Locality => "locality",
        }
    }

    pub fn question(self) -> &'static str {
        match self {
            Study::Cache => "What does the operating system's cache change?",
            Study::WriteCache => "What do the write caches of the drives change?",
            Study::Locality => "From where is the same storage faster?",
        }
    }

    /// Bytes of an I/O in its lines.
    pub fn block_bytes(self) -> u64 {
        match self {
            Study::Cache => 8 << 10,
            Study::WriteCache | Study::Locality => 4 << 10,
        }
    }
}

/// One comparison of a study, to be run.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// What is compared, in a few words: `reads, /dev/sdb`.
    pub title: String,
    /// What A and B are, in a word or two.
    pub names: [String; 2],
    /// Words of A and B, targets included.
    pub words: [Vec<String>; 2],
}

impl Question {
    fn new(title: String, names: [&str; 2], words: [&str; 2], targets: [&[String]; 2]) -> Self {
        let [a, b] = [0, 1].map(|side| {
            words[side].split(' ').map(str::to_string).chain(targets[side].iter().cloned()).collect()
        });
        Question { title, names: names.map(str::to_string), words: [a, b] }
    }
}

/// A target of a study.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StudyTarget {
    /// As a word of the command line.
    pub word: String,
    /// For people: what the person named.
    pub shown: String,
    /// Whether it is a device.
    pub is_device: bool,
    /// Whether it may be written.
    pub is_writable: bool,
}

/// Reads and writes, past the page cache (A) and through it (B).
pub fn cache(places: &[StudyTarget]) -> Vec<Question> {
    const NAMES: [&str; 2] = ["past the cache", "through the cache"];
    let mut questions = Vec::new();
    for place in places {
        let targets = [place.word.clone()];
        let reads = ["-b8K -r -o32 -t1 -w0 -Su", "-b8K -r -o32 -t1 -w0"];
        let writes = ["-b8K -r -o32 -t1 -w100 -Z1M -Su", "-b8K -r -o32 -t1 -w100 -Z1M"];
        for (what, words) in [("reads", reads), ("writes", writes)] {
            if what == "reads" || place.is_writable {
                let title = format!("{what}, {}", place.shown);
                questions.push(Question::new(title, NAMES, words, [&targets, &targets]));
            }
        }
    }
    questions
}

/// 4 KiB random I/O with the drives' write caches on (A) and off (B), on the first target and on all of them.
pub fn write_cache(places: &[StudyTarget]) -> Vec<Question> {
    let sets = match places.len() {
        0 => vec![],
        1 => vec![(places, "1 target".to_string())],
        count => vec![(&places[..1], "1 target".to_string()), (places, format!("{count} targets"))],
    };
    let mut questions = Vec::new();
    for (set, count) in sets {
        let targets: Vec<String> = set.iter().map(|place| place.word.clone()).collect();
        for (what, words) in
            [("writes", "-w100 -Z1M -Su"), ("durable writes", "-w100 -Z1M -Sh"), ("reads", "-w0 -Su")]
        {
            if what == "reads" || set.iter().all(|place| place.is_writable) {
                let words = format!("-b4K -r -t8 -o40 -L {words}");
                let names = ["cache on", "cache off"];
                let title = format!("{what}, {count}");
                questions.push(Question::new(title, names, [&words, &words], [&targets, &targets]));
            }
        }
    }
    questions
}

/// The first path (A) against each of the others (B), reads.
pub fn locality(paths: &[StudyTarget]) -> Vec<Question> {
    const LOAD: &str = "-b4K -r4K -t4 -o32 -w0 -Sh -L";
    let Some((first, others)) = paths.split_first() else { return Vec::new() };
    let mut questions = Vec::new();
    for other in others {
        let title = format!("{} against {}", first.shown, other.shown);
        let targets = [[first.word.clone()], [other.word.clone()]];
        let names = [first.shown.as_str(), &other.shown];
        questions.push(Question::new(title, names, [LOAD, LOAD], [&targets[0], &targets[1]]));
    }
    questions
}

/// The write cache that belongs to a side.
pub fn is_cache_on(side: Side) -> bool {
    side == Side::A
}

/// What a person should know who reads the page cache's figures.
pub fn about_cache(places: &[StudyTarget]) -> Vec<String> {
    let mut says = vec![
        "Through the page cache, reads of cached data never reach the disks, and a write is complete once it is in \
         memory, where a power loss destroys it. Such figures are marked INVALID: they do not describe the storage. \
         -Su measures the storage, -Sh durable writes."
            .to_string(),
    ];
    if places.iter().any(|place| place.is_device) {
        says.push(
            "On Linux the page cache serves devices as well as files, unless it is bypassed; on Windows it never \
             serves a raw disk."
                .into(),
        );
    }
    says
}

/// What a person should know of write caches. `kernel_only` names the disks where only the kernel's part was switched.
pub fn about_write_cache(kernel_only: &[String]) -> Vec<String> {
    let mut says = vec![
        "A write cache acknowledges writes before they are durable: a power loss destroys them, unless the program \
         has flushed them or the cache is protected. Writes that wait until they are durable (-Sh, as databases do) \
         gain little from the cache; plain direct writes (-Su) gain the most, and reads hardly anything."
            .to_string(),
    ];
    if !kernel_only.is_empty() {
        says.push(format!(
            "On {} only the kernel's setting was switched (queue/write_cache): with it off, the kernel sends no \
             flushes, and the disk's own cache stays in use. \"Cache off\" there shows what flushes cost, not what a \
             disk without a cache would do.",
            kernel_only.join(", ")
        ));
    }
    says
}

/// What a person should know of paths to the same storage.
pub fn about_locality(nodes: &[nodes::Node]) -> Vec<String> {
    let mut says = vec![
        "The node that owns the data answers without the network, and so with more IOPS and lower latency; mirrored \
         writes cross the network from every node. A larger queue depth hides the network in IOPS, never in latency."
            .into(),
    ];
    says.extend(nodes::copies_words(nodes));
    if !nodes.is_empty() {
        says.push(
            "The nodes did not run in turns: whatever else changed between their runs counts as a difference. Repeat \
             the runs on each node, one node after the other and back again."
                .into(),
        );
    }
    says
}

/// A study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Report")]
pub struct StudyReport {
    /// Version of the tool.
    pub tool_version: String,
    /// Which.
    pub study: Study,
    /// Its comparisons.
    pub parts: Vec<ComparedPair>,
    /// Runs that were made elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<Node>,
    /// What they mean, in sentences.
    pub says: Vec<String>,
}

/// One comparison of a study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Part")]
pub struct ComparedPair {
    /// What is compared.
    pub title: String,
    /// What A and B are.
    pub names: [String; 2],
    /// The comparison.
    pub comparison: ab::Comparison,
}

impl StudyReport {
    /// Before anything is compared here.
    pub fn new(study: Study, nodes: Vec<Node>) -> Self {
        let tool_version = env!("CARGO_PKG_VERSION").to_string();
        StudyReport { tool_version, study, parts: Vec::new(), nodes, says: Vec::new() }
    }
}

impl SuiteDocument for StudyReport {
    fn has_figures(&self) -> bool {
        !(self.parts.is_empty() && self.nodes.is_empty())
    }

    /// Runs of other nodes have a verdict, too.
    fn grade(&self) -> Option<Grade> {
        let parts = self.parts.iter().map(|part| part.comparison.verdict.grade);
        parts.chain(self.nodes.iter().map(|node| node.grade)).max().flatten()
    }

    fn verdicts(&self) -> Vec<(&str, &SeriesVerdict)> {
        self.parts.iter().map(|part| (part.title.as_str(), &part.comparison.verdict)).collect()
    }

    /// Without the titles, which name targets. Runs of other nodes are kept there.
    fn parts(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        for part in &self.parts {
            let [a, b] = part.names.each_ref().map(|name| format!("{} {name}", self.study.name()));
            parts.extend(part.comparison.parts_of([&a, &b]));
        }
        Part::apart(parts)
    }

    /// A table of each comparison with its verdict, the answers, what they mean.
    fn text(&self, style: Style) -> String {
        let mut out = String::new();
        for part in &self.parts {
            out.push_str(&format!("{}{}\n", part.text(), part.comparison.verdict.text(style)));
        }
        if !self.nodes.is_empty() {
            // Names of nodes may hold anything.
            for line in nodes::text(&self.nodes).lines() {
                out.push_str(&format!("{}\n", printable(line)));
            }
            out.push('\n');
        }
        for sentence in &self.says {
            out.push_str(&format!("{sentence}\n"));
        }
        out
    }
}

impl ComparedPair {
    fn text(&self) -> String {
        let comparison = &self.comparison;
        let sides = [("A", &comparison.a), ("B", &comparison.b)];
        let mut out = format!("== {}\n", printable(&self.title));
        for (letter, variant) in sides {
            out.push_str(&format!("{letter}: {}\n", printable(&shell_line(&variant.words))));
        }
        out.push_str(&format!(
            "{:<22}{:>14}{:>14}{:>14}{:>14}{:>6}  verdict\n",
            "", "median", "smallest", "largest", "disks' IOPS", "runs"
        ));
        for ((letter, variant), name) in sides.iter().zip(&self.names) {
            let name = format!("{letter} {}", printable(name));
            let Some(figures) = variant.figures else {
                out.push_str(&format!("{name:<22}{:>14}\n", "-"));
                continue;
            };
            let disks = variant.disk_iops.map_or("-".to_string(), |iops| ab::Metric::IOPS.show(iops.round()));
            out.push_str(&format!(
                "{name:<22}{}{disks:>14}{:>6}  {}\n",
                ab::columns(comparison.metric, &figures),
                figures.count,
                variant.grade.loud_word()
            ));
        }
        if sides.iter().any(|(_, variant)| variant.disk_iops.is_some()) {
            out.push_str(
                "disks' IOPS: of all programs, as the kernel counted them on the disks below the target\n",
            );
        }
        out + &ab::answer(comparison)
    }
}

impl DocumentKind for StudyReport {
    const FORMAT: &'static str = "truespd-study";
    const MEMBER: &'static str = "study";
    const MEMBER_ABOUT: &'static str = "The study.";
    const TITLE: &'static str = "TrueSpd study, version 1";
    const ABOUT: &'static str =
        "A study by TrueSpd, version 1. Latencies and processor times are in nanoseconds, rates per second.";
    const NAME: &'static str = "study by TrueSpd";
}
