//! What a study leaves: its comparisons, and what they mean.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Study;
use super::nodes::{self, Node};
use crate::suite::SuiteDocument;
use crate::suite::ab::{self, Variant};
use crate::suite::findings::SeriesVerdict;
use truespd_core::result::envelope::DocumentKind;
use truespd_core::result::{Grade, Part};
use truespd_core::text::{printable, shell_line};

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

    fn grade(&self) -> Option<Grade> {
        let parts = self.parts.iter().map(|part| part.comparison.verdict.grade);
        parts.chain(self.nodes.iter().map(|node| node.grade)).max().flatten()
    }

    fn verdicts(&self) -> Vec<(&str, &SeriesVerdict)> {
        self.parts.iter().map(|part| (part.title.as_str(), &part.comparison.verdict)).collect()
    }

    /// Without the titles, which name targets. Runs of other nodes are kept there.
    fn parts(&self) -> Vec<Part> {
        let of = |part: &ComparedPair| {
            let names = part.names.each_ref().map(|name| format!("{} {name}", self.study.name()));
            part.comparison.parts_of(names.each_ref().map(String::as_str))
        };
        Part::apart(self.parts.iter().flat_map(of))
    }
}

/// The whole study: a table of each comparison with its `verdict`, the answers, what they mean.
pub fn text(report: &StudyReport, verdict: impl Fn(&SeriesVerdict) -> String) -> String {
    let mut out = String::new();
    for part in &report.parts {
        out.push_str(&part_text(part));
        out.push_str(&verdict(&part.comparison.verdict));
        out.push('\n');
    }
    if !report.nodes.is_empty() {
        out.push_str(&format!("{}\n", printable_lines(&nodes::text(&report.nodes))));
    }
    for sentence in &report.says {
        out.push_str(&format!("{sentence}\n"));
    }
    out
}

/// Escapes control characters but line ends.
fn printable_lines(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", printable(line))).collect()
}

fn part_text(part: &ComparedPair) -> String {
    let comparison = &part.comparison;
    let sides = [("A", &comparison.a), ("B", &comparison.b)];
    let mut out = format!("== {}\n", printable(&part.title));
    for (letter, variant) in sides {
        out.push_str(&format!("{letter}: {}\n", printable(&shell_line(&variant.words))));
    }
    out.push_str(&format!(
        "{:<22}{:>14}{:>14}{:>14}{:>14}{:>6}  verdict\n",
        "", "median", "smallest", "largest", "disks' IOPS", "runs"
    ));
    for ((letter, variant), name) in sides.iter().zip(&part.names) {
        out.push_str(&row(&format!("{letter} {}", printable(name)), comparison.metric, variant));
    }
    if sides.iter().any(|(_, variant)| variant.disk_iops.is_some()) {
        out.push_str(
            "disks' IOPS: of all programs, as the kernel counted them on the disks below the target\n",
        );
    }
    out.push_str(&format!("{}\n", ab::sentence(comparison)));
    for remark in &comparison.remarks {
        out.push_str(&format!("note: {remark}\n"));
    }
    out
}

fn row(name: &str, metric: ab::Metric, variant: &Variant) -> String {
    let Some(figures) = variant.figures else { return format!("{name:<22}{:>14}\n", "-") };
    let grade = variant.grade.loud_word();
    let disks = variant.disk_iops.map_or("-".to_string(), |iops| ab::Metric::IOPS.show(iops.round()));
    format!("{name:<22}{}{disks:>14}{:>6}  {grade}\n", ab::columns(metric, &figures), figures.count)
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
