//! What was written to a target before the test (`--precondition`).

use serde::{Deserialize, Serialize};

/// Sequential writes over the tested range, some times over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Preconditioned {
    /// The target as it was given.
    pub path: String,
    /// Length of the range in bytes.
    pub range_bytes: u64,
    /// How often all of it was to be written.
    pub passes: u32,
    /// Bytes that this run wrote.
    pub written_bytes: u64,
    /// Bytes that an earlier run had written which was stopped.
    pub earlier_bytes: u64,
    /// How long this run wrote, in seconds.
    pub elapsed_s: f64,
    /// Size of the disk below in bytes; none where it is not known, or where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_bytes: Option<u64>,
}
