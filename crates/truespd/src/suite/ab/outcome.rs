//! How a comparison ends.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// They differ.
    Different,
    /// They do not differ by more than the margin.
    Equivalent,
    /// Neither is shown.
    Undecided,
}
