//! How a run on several hosts went together, as one of its ranks saw it.
//!
//! A rank is one process of a cluster run (`truespd cluster run`), in the words of MPI. Each rank writes a
//! document of its own; everything that the sum of them says of the run stands in these documents, so that
//! they can be added up later.

use serde::{Deserialize, Serialize};

/// One rank of a cluster run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Rank {
    /// Name of the cluster run: equal for all of its ranks, and for no other run.
    pub run: String,
    /// Number of this rank, from 0.
    pub rank: u32,
    /// Ranks of the run.
    pub ranks: u32,
    /// Number of this rank among those on its host, from 0.
    pub local: u32,
    /// Ranks that left no result, as far as this rank knows. Only rank 0 knows any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<LostRank>,
}

/// A rank that left no result, or none of the whole run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LostRank {
    /// Its number.
    pub rank: u32,
    /// Its host.
    pub host: String,
    /// When rank 0 heard it last, by the wall clock of rank 0, nanoseconds since 1970 UTC.
    pub last_heard_unix_ns: u64,
    /// How it was lost.
    pub how: LostHow,
    /// What it said itself, one sentence each; empty when it fell silent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
}

/// Most ranks of a cluster run; what a document says beyond is damage.
pub const RANKS_MAX: u32 = 1 << 16;

/// A rank of a cluster run whose result is not in a sum.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MissingRank {
    /// Name of the cluster run.
    pub run: String,
    /// Number of the rank.
    pub rank: u32,
    /// How it was lost; none when no result tells: its own was just not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<LostRank>,
}

impl MissingRank {
    /// `rank 3 on node-d (it fell silent)`, `rank 2 (no result was given)`.
    pub fn words(&self) -> String {
        let Some(lost) = &self.lost else {
            return format!("rank {} (no result was given)", self.rank);
        };
        let how = match (lost.how, lost.failures.first()) {
            (LostHow::Silent, _) => "it fell silent".to_string(),
            (LostHow::Failed, None) => "its run failed".to_string(),
            (LostHow::Failed, Some(failure)) => format!("its run failed: {}", failure.trim_end_matches('.')),
        };
        format!("rank {} on {} ({how})", self.rank, lost.host)
    }
}

/// How a rank was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LostHow {
    /// Nothing was heard of it any more: the process, the host or the network between them is gone or stands still.
    Silent,
    /// It said that its run failed.
    Failed,
}

/// The start of a time span at an instant that all ranks agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CommonStart {
    /// The instant, by the wall clock of rank 0, nanoseconds since 1970 UTC.
    pub agreed_unix_ns: u64,
    /// How long after that instant, by the clock of this rank, its threads were let go, in nanoseconds.
    pub late_ns: u64,
    /// The clocks compared right before the start.
    pub clock_before: ClockOffset,
    /// The clocks compared after the end; none when rank 0 was not heard any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_after: Option<ClockOffset>,
}

/// The wall clock of a rank compared with that of rank 0, by the quickest of several round trips.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockOffset {
    /// How much the clock of this rank is ahead of the clock of rank 0, in nanoseconds.
    pub ahead_ns: i64,
    /// The offset is right within this, in nanoseconds: half the round trip.
    pub uncertainty_ns: u64,
    /// When it was measured, by the clock of rank 0, nanoseconds since 1970 UTC.
    pub at_unix_ns: u64,
}

impl CommonStart {
    /// How much the clock of this rank went faster than that of rank 0 during the time span, in parts per
    /// million; none when they were compared only once.
    pub fn drift_ppm(&self) -> Option<f64> {
        let after = self.clock_after?;
        let passed_ns = after.at_unix_ns.checked_sub(self.clock_before.at_unix_ns).filter(|&ns| ns > 0)?;
        Some((after.ahead_ns - self.clock_before.ahead_ns) as f64 / passed_ns as f64 * 1e6)
    }

    /// A time of this rank's wall clock, by that of rank 0: nanoseconds since 1970 UTC.
    pub fn by_rank_0(&self, unix_ns: u64) -> u64 {
        unix_ns.saturating_add_signed(-self.clock_before.ahead_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offset(ahead_ns: i64, at_unix_ns: u64) -> ClockOffset {
        ClockOffset { ahead_ns, uncertainty_ns: 0, at_unix_ns }
    }

    #[test]
    fn drift_is_the_change_of_the_offset() {
        let start = CommonStart {
            agreed_unix_ns: 0,
            late_ns: 0,
            clock_before: offset(-1_000, 0),
            clock_after: Some(offset(1_000, 1_000_000_000)),
        };
        assert_eq!(start.drift_ppm(), Some(2.0));
        assert_eq!(start.by_rank_0(5_000), 6_000);
        assert_eq!(CommonStart { clock_after: None, ..start }.drift_ppm(), None);
    }
}
