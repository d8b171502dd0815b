//! What studies ask: the comparisons of each, and what a person should know who reads their figures.

use super::nodes::{Node, copies_words};
use crate::ask::ab::Side;

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
    /// Its name on the command line, its question, and the bytes of an I/O in its lines.
    fn facts(self) -> (&'static str, &'static str, u64) {
        match self {
            Study::Cache => ("cache", "What does the operating system's cache change?", 8 << 10),
            Study::WriteCache => ("write-cache", "What do the write caches of the drives change?", 4 << 10),
            Study::Locality => ("locality", "From where is the same storage faster?", 4 << 10),
        }
    }

    pub fn name(self) -> &'static str {
        self.facts().0
    }

    pub fn question(self) -> &'static str {
        self.facts().1
    }

    pub fn block_bytes(self) -> u64 {
        self.facts().2
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
pub fn about_locality(nodes: &[Node]) -> Vec<String> {
    let mut says = vec![
        "The node that owns the data answers without the network, and so with more IOPS and lower latency; mirrored \
         writes cross the network from every node. A larger queue depth hides the network in IOPS, never in latency."
            .into(),
    ];
    says.extend(copies_words(nodes));
    if !nodes.is_empty() {
        says.push(
            "The nodes did not run in turns: whatever else changed between their runs counts as a difference. Repeat \
             the runs on each node, one node after the other and back again."
                .into(),
        );
    }
    says
}
