//! What the documents of all suites have in common.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use truespd_core::result::{Layer, Part};
use truespd_platform::machine::host;

/// What the documents of all suites have in common: who measured what, where, by which command, and how it ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Common {
    /// Version of the tool that measured.
    pub tool_version: String,
    /// The command as it was typed, word by word.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command_line: Vec<String>,
    /// Where its runs measured, and on what.
    #[serde(default, skip_serializing_if = "RanOn::is_unknown")]
    pub ran_on: RanOn,
    /// Whether the series came to its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series_end: Option<SeriesEnd>,
    /// What each of its tests reached, in a form that is the same for all suites.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<Part>,
}

/// Whether a series came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SeriesEnd {
    /// It did: nothing is missing.
    Complete,
    /// The person stopped it before.
    Stopped,
    /// A run failed, or could not be made.
    Failed,
}

impl Default for Common {
    fn default() -> Self {
        Common {
            tool_version: env!("CARGO_PKG_VERSION").to_string(),
            command_line: Vec::new(),
            ran_on: RanOn::default(),
            series_end: None,
            results: Vec::new(),
        }
    }
}

/// Where the runs of a suite ran. Documents from before it was noted lack it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RanOn {
    /// Name of the host that measured: in a cluster run, that of rank 0.
    pub computer_name: String,
    /// Ranks of a cluster run that measured together; 1 without a cluster.
    #[serde(skip_serializing_if = "is_one")]
    pub ranks: u32,
    /// Folders, files or devices that were tested.
    pub targets: Vec<String>,
    /// Models of the disks below them, as far as they are known.
    pub models: Vec<String>,
}

impl Default for RanOn {
    fn default() -> Self {
        RanOn { computer_name: String::new(), ranks: 1, targets: Vec::new(), models: Vec::new() }
    }
}

/// Whether a document need not tell how many ranks measured.
pub fn is_one(ranks: &u32) -> bool {
    *ranks == 1
}

/// What documents from before there were cluster runs of suites mean.
pub fn one_rank() -> u32 {
    1
}

impl RanOn {
    /// On the host that this program runs on; `ranks` processes measured together.
    pub fn here(ranks: u32, targets: Vec<String>, disks: &[Layer]) -> Self {
        RanOn { computer_name: host::host_name(), ranks, targets, models: models(disks) }
    }

    pub fn is_unknown(&self) -> bool {
        *self == RanOn::default()
    }

    /// ` on HOST: /mnt/data (Samsung 990 PRO)`, ` on 4 ranks, rank 0 on HOST: /mnt/data`, or nothing.
    pub fn words(&self) -> String {
        let mut words = String::new();
        if self.ranks > 1 {
            words.push_str(&format!(" on {} ranks, rank 0", self.ranks));
        }
        if !self.computer_name.is_empty() {
            words.push_str(&format!(" on {}", self.computer_name));
        }
        if !self.targets.is_empty() {
            words.push_str(&format!(": {}", self.targets.join(", ")));
        }
        if !self.models.is_empty() {
            words.push_str(&format!(" ({})", self.models.join(", ")));
        }
        words
    }
}

/// The models of disks, each once.
pub fn models(disks: &[Layer]) -> Vec<String> {
    let mut models: Vec<String> = Vec::new();
    for model in disks.iter().filter_map(|disk| disk.model.as_ref()) {
        if !models.contains(model) {
            models.push(model.clone());
        }
    }
    models
}
