//! Figures as DiskSpd prints them in XML.

use std::fmt;

/// A figure with this many decimals. What is no number, or below zero, is written as zero.
pub(super) struct Fixed(pub(super) f64, pub(super) usize);

impl fmt::Display for Fixed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = if self.0.is_finite() && self.0 > 0.0 { self.0 } else { 0.0 };
        write!(f, "{value:.*}", self.1)
    }
}

/// Nanoseconds as milliseconds with three decimals.
pub(super) fn milliseconds(latency_ns: f64) -> Fixed {
    Fixed(latency_ns / 1e6, 3)
}
