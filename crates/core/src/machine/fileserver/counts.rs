//! What is counted for a mount, whatever the protocol.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Requests of one kind that were answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RequestCounts {
    /// Requests answered.
    pub requests: u64,
    /// Times that these were sent: more than the requests when some had to be sent again.
    pub transmissions: u64,
    /// Times that one was given up as lost for the while (a major timeout).
    pub timeouts: u64,
    /// Time from being ready to being sent, of all added up, in nanoseconds.
    pub queue_ns: u64,
    /// Time from being sent to the answer, of all added up, in nanoseconds.
    pub round_trip_ns: u64,
    /// Time from being made to the end, of all added up, in nanoseconds.
    pub total_ns: u64,
    /// Requests that ended with an error, also with one after which the client asked again.
    pub errors: u64,
}

impl RequestCounts {
    fn with(&self, other: &Self, make: fn(u64, u64) -> u64) -> Self {
        RequestCounts {
            requests: make(self.requests, other.requests),
            transmissions: make(self.transmissions, other.transmissions),
            timeouts: make(self.timeouts, other.timeouts),
            queue_ns: make(self.queue_ns, other.queue_ns),
            round_trip_ns: make(self.round_trip_ns, other.round_trip_ns),
            total_ns: make(self.total_ns, other.total_ns),
            errors: make(self.errors, other.errors),
        }
    }

    /// How many of the transmissions were repetitions.
    pub fn retransmissions(&self) -> u64 {
        self.transmissions.saturating_sub(self.requests)
    }

    /// Both together.
    pub fn plus(&self, other: &Self) -> Self {
        self.with(other, u64::saturating_add)
    }
}

/// Counters of a mount: those of everybody who uses it, not of this process alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ServerCounts {
    /// Requests for data.
    pub read: RequestCounts,
    /// Requests that carried data to the server.
    pub write: RequestCounts,
    /// Requests to make durable what was written.
    pub commit: RequestCounts,
    /// Bytes that the server sent.
    pub server_read_bytes: u64,
    /// Bytes that the server took.
    pub server_write_bytes: u64,
    /// Bytes that programs read through the page cache (not by mapping the file).
    pub buffered_read_bytes: u64,
    /// Bytes that programs wrote into the page cache.
    pub buffered_write_bytes: u64,
    /// Bytes that programs read by direct I/O.
    pub direct_read_bytes: u64,
    /// Bytes that programs wrote by direct I/O.
    pub direct_write_bytes: u64,
}

impl ServerCounts {
    /// Whether this can be a later reading than `before`: nobody set the counters to 0 in between.
    pub fn can_follow(&self, before: &Self) -> bool {
        self.read.requests >= before.read.requests
            && self.write.requests >= before.write.requests
            && self.server_read_bytes >= before.server_read_bytes
            && self.server_write_bytes >= before.server_write_bytes
    }

    /// What was counted since `before`, an earlier reading of the same mount.
    pub fn since(&self, before: &Self) -> Self {
        let count = u64::saturating_sub;
        ServerCounts {
            read: self.read.with(&before.read, count),
            write: self.write.with(&before.write, count),
            commit: self.commit.with(&before.commit, count),
            server_read_bytes: count(self.server_read_bytes, before.server_read_bytes),
            server_write_bytes: count(self.server_write_bytes, before.server_write_bytes),
            buffered_read_bytes: count(self.buffered_read_bytes, before.buffered_read_bytes),
            buffered_write_bytes: count(self.buffered_write_bytes, before.buffered_write_bytes),
            direct_read_bytes: count(self.direct_read_bytes, before.direct_read_bytes),
            direct_write_bytes: count(self.direct_write_bytes, before.direct_write_bytes),
        }
    }
}
