//! What became of Zipf's law (`--zipf`).

use serde::{Deserialize, Serialize};

/// How much of the I/O went to the blocks that are hottest by Zipf's law (`--zipf`).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SkewResult {
    /// Blocks of the tested range.
    pub positions: u64,
    /// The hottest hundredth of them.
    pub hot_positions: u64,
    /// The part of the I/Os that goes there by the law, 0 to 1.
    pub expected: f64,
    /// Random I/Os that were issued, those of warm-up and cool-down among them.
    pub ios: u64,
    /// Of these: to the hottest hundredth.
    pub hot_ios: u64,
}

impl SkewResult {
    /// With the I/Os of another thread; none where its range was another one: the shares are of other blocks.
    pub fn plus(&self, other: &SkewResult) -> Option<SkewResult> {
        let is_same = (self.positions, self.expected) == (other.positions, other.expected);
        let (ios, hot_ios) = (self.ios + other.ios, self.hot_ios + other.hot_ios);
        is_same.then_some(SkewResult { ios, hot_ios, ..*self })
    }

    /// The part of the I/Os that went to the hottest hundredth, 0 to 1; none without I/O.
    pub fn observed(&self) -> Option<f64> {
        (self.ios > 0).then(|| self.hot_ios as f64 / self.ios as f64)
    }
}
