//! Ready-made comparisons: questions that come up again and again, each built on [`super::ab`].

#[cfg(test)]
mod tests;

use crate::answer::Shown;
use crate::answer::{SeriesVerdict, word};
use crate::suite::RanOn;
use crate::suite::ab::{Metric, Side, columns};
use crate::suite::{Spread, SuiteDocument, ab};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use truespd_core::measure::estimate::{student_beyond, student_quantile};
use truespd_core::profile::Profile;
use truespd_core::result::envelope::DocumentKind;
use truespd_core::result::metrics::NoFigure;
use truespd_core::result::{Document, Grade, Layer, Part};
use truespd_platform::text::table::{Column, Room, fitted};
use truespd_platform::text::{printable, shell_line};

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
    fn title(&self) -> String {
        let name = self.parts.first().map(|part| part.comparison.computer_name.clone());
        let ran_on = RanOn { computer_name: name.unwrap_or_default(), ..RanOn::default() };
        format!("Study {}{}", self.study.name(), ran_on.words())
    }

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
    fn text(&self, shown: Shown) -> String {
        let mut out = String::new();
        for part in &self.parts {
            let text = part.text(shown.style.columns);
            out.push_str(&format!("{text}{}\n", part.comparison.verdict.shown(shown)));
        }
        if !self.nodes.is_empty() {
            // Names of nodes may hold anything.
            for line in nodes_text(&self.nodes).lines() {
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
    /// Both sides in so many columns of a terminal, and what follows.
    fn text(&self, columns: usize) -> String {
        let comparison = &self.comparison;
        let sides = [("A", &comparison.a), ("B", &comparison.b)];
        let mut out = format!("== {}\n", printable(&self.title));
        for (letter, variant) in sides {
            out.push_str(&format!("{letter}: {}\n", printable(&shell_line(&variant.words))));
        }
        let mut names = Vec::new();
        let mut cells: [Vec<String>; 6] = Default::default();
        for ((letter, variant), name) in sides.iter().zip(&self.names) {
            names.push(format!("{letter} {name}"));
            let disks = variant.disk_iops.map(|iops| ab::Metric::IOPS.show(iops.round()));
            let row = match variant.figures {
                Some(figures) => [
                    comparison.metric.show(figures.median),
                    comparison.metric.show(figures.min),
                    comparison.metric.show(figures.max),
                    disks.unwrap_or("-".into()),
                    figures.count.to_string(),
                    variant.grade.loud_word().to_string(),
                ],
                None => ["-"; 6].map(String::from),
            };
            cells.iter_mut().zip(row).for_each(|(column, cell)| column.push(cell));
        }
        let [median, smallest, largest, disks, runs, verdict] = cells;
        let table = vec![
            Column::words("", names, Room::Start(8, 1)),
            Column::numbers("median", median, Room::Stays),
            Column::numbers("smallest", smallest, Room::Stays),
            Column::numbers("largest", largest, Room::Stays),
            Column::numbers("disks' IOPS", disks, Room::Stays),
            Column::numbers("runs", runs, Room::Stays),
            Column::words("verdict", verdict, Room::Stays),
        ];
        out.push_str(&fitted(table, Some(columns)));
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

#[derive(Debug, Clone, PartialEq)]
pub struct Runs {
    /// What the person calls it.
    pub name: String,
    /// The figure of each run.
    pub figures: Vec<f64>,
    /// The figures are of response times.
    pub is_response: bool,
    /// The worst verdict of the runs; none when no run was judged.
    pub grade: Option<Grade>,
    /// Whether the node has a copy of the data; none where the kernel did not know.
    pub has_copy: Option<bool>,
}

impl Runs {
    /// Of documents.
    ///
    /// # Errors
    /// Why a document has no such figure.
    pub fn of(name: &str, documents: &[Document], metric: Metric) -> Result<Self, NoFigure> {
        let mut figures = Vec::new();
        for document in documents {
            figures.push(metric.of(document)?);
        }
        let verdicts = documents.iter().filter_map(|document| document.verdict.as_ref());
        Ok(Runs {
            name: name.to_string(),
            figures,
            is_response: documents.iter().any(|document| metric.is_response(document)),
            grade: verdicts.map(|verdict| verdict.grade).max(),
            has_copy: has_copy(documents),
        })
    }
}

/// Whether the node of these runs has a copy of what they tested: DRBD tells it.
fn has_copy(documents: &[Document]) -> Option<bool> {
    let mut has_copy = None;
    for measured in documents.iter().flat_map(Document::measured) {
        for replica in measured.evidence.targets.iter().flat_map(|t| &t.layers).filter_map(Layer::replica) {
            if replica.disk.is_some() {
                has_copy = Some(has_copy.unwrap_or(true) && !replica.is_diskless());
            }
        }
    }
    has_copy
}

/// Which nodes have a copy of the data, in a sentence; `None` where the kernel of none of them knew.
pub fn copies_words(nodes: &[Node]) -> Option<String> {
    let [with, without] = [true, false].map(|has_copy| {
        let nodes = nodes.iter().filter(|node| node.has_copy == Some(has_copy));
        nodes.map(|node| node.name.as_str()).collect::<Vec<_>>().join(", ")
    });
    match (with.as_str(), without.as_str()) {
        ("", "") => None,
        (with, "") => Some(format!("DRBD keeps a copy of the data on these nodes: {with}.")),
        ("", without) => Some(format!("DRBD keeps no copy of the data on these nodes: {without}.")),
        (with, without) => Some(format!(
            "DRBD keeps a copy of the data on these nodes: {with}. It keeps none on these, so every I/O of theirs \
             crosses the network: {without}."
        )),
    }
}

/// What two documents that should be of the same run have different, in words for the middle of a sentence; none when
/// they are of the same. Targets' paths and sizes to make, seeds, and what is only shown may differ.
pub fn differs(one: &Document, other: &Document) -> Option<String> {
    let [one, other] =
        [one, other].map(|document| serde_json::to_value(comparable(&document.profile)).unwrap_or_default());
    let mut found = Vec::new();
    collect("", &one, &other, &mut found);
    if found.is_empty() {
        return None;
    }
    let more = found.len().saturating_sub(DIFFERENCES_SHOWN);
    found.truncate(DIFFERENCES_SHOWN);
    let words = found.join(", ");
    Some(if more == 0 { words } else { format!("{words} and {more} more") })
}

const DIFFERENCES_SHOWN: usize = 3;

/// The profile as it is the same in all runs of a line.
fn comparable(profile: &Profile) -> Profile {
    let mut profile = Profile { time_spans: profile.time_spans.clone(), ..Profile::default() };
    for span in &mut profile.time_spans {
        span.rand_seed = 0;
        for target in &mut span.targets {
            target.path.clear();
            target.create_bytes = None;
        }
    }
    profile
}

/// Members and values that differ: `targets[0].block_bytes (4096 and 8192)`.
fn collect(path: &str, one: &Value, other: &Value, found: &mut Vec<String>) {
    match (one, other) {
        (Value::Object(a), Value::Object(b)) => {
            for (name, value) in a {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                collect(&path, value, b.get(name).unwrap_or(&Value::Null), found);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (one, other)) in a.iter().zip(b).enumerate() {
                collect(&format!("{path}[{index}]"), one, other, found);
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            found.push(format!("{path} ({} and {} of them)", a.len(), b.len()));
        }
        _ if one != other => found.push(format!("{path} ({one} and {other})")),
        _ => {}
    }
}

/// A node beside the first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Node {
    /// What the person calls it.
    pub name: String,
    /// What is compared.
    pub metric: Metric,
    /// The figure in its runs.
    pub figures: Spread,
    /// Latencies are response times: they count from when the rate (-g) wanted the I/O.
    #[serde(default)]
    pub is_response: bool,
    /// The worst verdict of its runs; none when no run was judged.
    pub grade: Option<Grade>,
    /// Whether the node has a copy of the data, by DRBD; none where the kernel did not know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub has_copy: Option<bool>,
    /// How it differs from the first node; none for that one, and with fewer than two runs of each.
    pub difference: Option<Difference>,
}

/// How a node differs from the first.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// Its figure over that of the first.
    pub ratio: f64,
    /// Begin of the 95 % interval.
    pub ratio_low: f64,
    /// End of the 95 % interval.
    pub ratio_high: f64,
    /// Probability of such a difference between nodes that are the same.
    pub p: f64,
}

/// All nodes beside the first; those without runs are left out.
pub fn compare_nodes(nodes: &[Runs], metric: Metric) -> Vec<Node> {
    let mut compared = Vec::new();
    for (place, runs) in nodes.iter().enumerate() {
        let Some(figures) = Spread::of(runs.figures.iter().copied()) else { continue };
        let difference = if place > 0 { welch(&nodes[0].figures, &runs.figures) } else { None };
        let Runs { is_response, grade, has_copy, .. } = *runs;
        let name = runs.name.clone();
        compared.push(Node { name, metric, figures, is_response, grade, has_copy, difference });
    }
    compared
}

/// Welch's test of the logarithms.
fn welch(a: &[f64], b: &[f64]) -> Option<Difference> {
    let ((mean_a, a_var), (mean_b, b_var)) = (log_mean(a)?, log_mean(b)?);
    let difference = mean_b - mean_a;
    let error = (a_var + b_var).sqrt();
    let (half, p) = if error > 0.0 {
        let [a_part, b_part] =
            [(a_var, a), (b_var, b)].map(|(variance, of)| variance * variance / (of.len() as f64 - 1.0));
        let freedom = error.powi(4) / (a_part + b_part);
        let t = difference.abs() / error;
        (error * student_quantile(0.05, freedom), 2.0 * student_beyond(t, freedom))
    } else {
        (0.0, if difference == 0.0 { 1.0 } else { 0.0 })
    };
    let [ratio, ratio_low, ratio_high] = [difference, difference - half, difference + half].map(f64::exp);
    Some(Difference { ratio, ratio_low, ratio_high, p })
}

/// Mean of the logarithms and its variance; none of fewer than two figures.
fn log_mean(figures: &[f64]) -> Option<(f64, f64)> {
    let count = figures.len() as f64;
    let mean = figures.iter().map(|x| x.ln()).sum::<f64>() / count;
    let squares = figures.iter().map(|x| (x.ln() - mean).powi(2)).sum::<f64>();
    (figures.len() > 1).then(|| (mean, squares / (count - 1.0) / count))
}

/// The table of the nodes.
pub fn nodes_text(nodes: &[Node]) -> String {
    let Some(first) = nodes.first() else { return String::new() };
    let mut out = format!(
        "== {} of the nodes' runs\n{:<22}{:>14}{:>14}{:>14}{:>6}  {:<10}compared with {}\n",
        first.metric.words(nodes.iter().any(|node| node.is_response)),
        "",
        "median",
        "smallest",
        "largest",
        "runs",
        "verdict",
        first.name
    );
    for (place, node) in nodes.iter().enumerate() {
        let difference = match &node.difference {
            Some(d) if place > 0 => format!(
                "{:+.1} % (95 % interval {:+.1} % to {:+.1} %; p = {:.4})",
                (d.ratio - 1.0) * 100.0,
                (d.ratio_low - 1.0) * 100.0,
                (d.ratio_high - 1.0) * 100.0,
                d.p
            ),
            _ if place > 0 => "needs at least two runs of each".to_string(),
            _ => String::new(),
        };
        let figures = columns(node.metric, &node.figures);
        let grade = node.grade.map_or(word(None), Grade::loud_word);
        let row = format!("{:<22}{figures}{:>6}  {grade:<10}{difference}", node.name, node.figures.count);
        out.push_str(row.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests_of_nodes {
    use super::*;
    use truespd_core::profile::{Target, TimeSpan};
    use truespd_core::result::{LayerDetails, Measured, Replica, TargetFacts, TimeSpanResult};

    fn runs(name: &str, figures: &[f64]) -> Runs {
        let figures = figures.to_vec();
        Runs { name: name.into(), figures, is_response: false, grade: Some(Grade::Suspect), has_copy: None }
    }

    #[test]
    fn nodes_are_told_apart_when_their_scatter_allows() {
        let nodes = [
            runs("owner", &[1000.0, 1010.0, 990.0, 1005.0]),
            runs("other", &[800.0, 805.0, 795.0, 802.0]),
            runs("same", &[1001.0, 1012.0, 988.0]),
            runs("once", &[900.0]),
            runs("none", &[]),
        ];
        let compared = compare_nodes(&nodes, Metric::IOPS);
        assert_eq!(compared.len(), 4);
        let other = compared[1].difference.unwrap();
        assert!((other.ratio - 0.8).abs() < 0.002 && other.ratio_high < 0.82 && other.p < 1e-5, "{other:?}");
        let same = compared[2].difference.unwrap();
        assert!(same.ratio_low < 1.0 && 1.0 < same.ratio_high && same.p > 0.5, "{same:?}");
        assert_eq!((compared[0].difference, compared[3].difference), (None, None));
        let text = nodes_text(&compared);
        assert!(text.contains("-20.0 % (95 %") && text.contains("two runs of each"), "{text}");
        assert_eq!(
            welch(&[2.0, 2.0], &[3.0, 3.0]).map(|d| (d.p, d.ratio_low == d.ratio_high)),
            Some((0.0, true))
        );
    }

    #[test]
    fn who_has_a_copy_is_told_where_drbd_tells_it() {
        let document = |disk: Option<&str>| {
            let replica = disk.map(|disk| Replica { disk: Some(disk.into()), ..Replica::default() });
            let details = Some(LayerDetails { replica, ..LayerDetails::default() });
            let layers = vec![Layer::default(), Layer { details, ..Layer::default() }];
            let mut measured = Measured::default();
            measured.evidence.targets = vec![TargetFacts { layers, ..TargetFacts::default() }];
            let time_spans = vec![TimeSpanResult::Measured(Box::new(measured))];
            Document { time_spans, ..Document::default() }
        };
        let has =
            |disks: &[Option<&str>]| has_copy(&disks.iter().map(|disk| document(*disk)).collect::<Vec<_>>());
        assert_eq!(has(&[Some("UpToDate"), Some("UpToDate")]), Some(true));
        assert_eq!(has(&[Some("UpToDate"), Some("Diskless")]), Some(false), "not in all runs");
        assert_eq!(has(&[None]), None);
        let node = |name: &str, has_copy| Runs { has_copy, ..runs(name, &[1.0, 2.0]) };
        let words = |nodes: &[Runs]| copies_words(&compare_nodes(nodes, Metric::IOPS));
        assert_eq!(words(&[node("a", None)]), None);
        assert_eq!(
            words(&[node("a", Some(true)), node("b", Some(true)), node("c", Some(false))]).as_deref(),
            Some(
                "DRBD keeps a copy of the data on these nodes: a, b. It keeps none on these, so every I/O \
                 of theirs crosses the network: c."
            )
        );
    }

    #[test]
    fn who_was_not_judged_has_no_grade() {
        let node = Runs { grade: None, ..runs("node", &[1.0, 2.0]) };
        let nodes = compare_nodes(&[node, runs("other", &[1.0])], Metric::IOPS);
        assert_eq!(nodes[0].grade, None);
        assert!(nodes_text(&nodes).lines().any(|line| line.contains("not judged")), "{}", nodes_text(&nodes));
        assert_eq!(Runs::of("none", &[], Metric::IOPS).map(|runs| runs.grade), Ok(None));
    }

    #[test]
    fn what_is_of_another_run_is_named() {
        let document = |change: fn(&mut TimeSpan, &mut Target)| {
            let (mut span, mut target) =
                (TimeSpan::default(), Target { path: "a".into(), ..Target::default() });
            change(&mut span, &mut target);
            span.targets = vec![target];
            Document {
                profile: Profile { time_spans: vec![span], ..Profile::default() },
                ..Document::default()
            }
        };
        let first = document(|_, _| {});
        let same = document(|span, target| {
            span.rand_seed = 7;
            target.path = "b".into();
            target.create_bytes = Some(1 << 30);
        });
        assert_eq!(differs(&first, &same), None);
        let writes = document(|span, target| {
            span.duration_s = 3;
            target.write_percent = 100;
        });
        let words = differs(&first, &writes).unwrap();
        assert!(words.contains("duration_s (10 and 3)"), "{words}");
        assert!(words.contains("targets[0].write_percent (0 and 100)"), "{words}");
        let mut two = document(|_, _| {});
        two.profile.time_spans[0].targets.push(Target::default());
        assert!(differs(&first, &two).unwrap().contains("(1 and 2 of them)"));
    }

    /// Against a worked example: logarithms 1, 2, 3 and 2, 4, 6 have t = 1.549 with 2.94 degrees of freedom.
    #[test]
    fn welch_is_welch() {
        let e = |logs: [f64; 3]| logs.map(f64::exp);
        let d = welch(&e([1.0, 2.0, 3.0]), &e([2.0, 4.0, 6.0])).unwrap();
        assert!((d.ratio.ln() - 2.0).abs() < 1e-12);
        assert!((d.p - 2.0 * student_beyond(1.549_19, 2.941_18)).abs() < 1e-4, "{d:?}");
    }
}
