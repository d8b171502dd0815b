//! What the client of a file server counted while the tool measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::machine::fileserver::{FileProtocol, RequestCounts, ServerCounts};

/// A mount whose files another machine holds, over the measured time. The counters are the sums of all programs that
/// use it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ServedMount {
    /// Where it is mounted; several places when targets reach one file system by several.
    pub mount_points: Vec<String>,
    /// How the client talks to the server.
    pub protocol: FileProtocol,
    /// Version of the protocol.
    pub version: Option<String>,
    /// Address of the server.
    pub address: Option<String>,
    /// Connections to the server at the end.
    pub connections: Option<u32>,
    /// Time between the first and the last reading in nanoseconds.
    pub window_ns: u64,
    /// From the first to the last reading.
    pub total: ServerCounts,
    /// Length of an interval in nanoseconds; 0 without a series.
    pub interval_ns: u64,
    /// The same per interval, in order.
    pub intervals: Vec<ServerCounts>,
}

/// A program that serves a file system (FUSE), over the measured time.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ServingProgram {
    /// Where the file system is mounted.
    pub mount_point: String,
    /// Requests without an answer, of all programs that use the file system, on average over the readings;
    /// none without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_mean: Option<f64>,
    /// Readings, one per second, without those at both ends.
    pub readings: u64,
}
