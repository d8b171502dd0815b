//! What earlier results of the same test on the same disk lead to expect.

use serde::{Deserialize, Serialize};

/// Where a figure lies in earlier certified results of the same test on the same disk.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Usual {
    /// Which figure: the id of a metric ([`super::metrics::Metric::id`]).
    pub metric: String,
    /// How many results there are.
    pub runs: u64,
    /// At least nine of ten results lie between `low` and `high`, in the unit of the metric.
    pub low: f64,
    /// Half of the results are below.
    pub median: f64,
    /// The other end of the range that begins at `low`.
    pub high: f64,
}
