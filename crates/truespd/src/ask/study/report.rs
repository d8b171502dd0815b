//! What a study leaves.

use super::nodes::Node;
use super::questions::Study;
use crate::ask::{Common, ab};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Report")]
pub struct StudyReport {
    /// What it has in common with the documents of all suites.
    #[serde(flatten)]
    pub common: Common,
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
        StudyReport { common: Common::default(), study, parts: Vec::new(), nodes, says: Vec::new() }
    }
}
