//! Words that several checks say.

use crate::text::part_percent;

/// 12.3 is `12 %`, 3.4 is `3.4 %`.
pub(super) fn percent_words(value: f64) -> String {
    part_percent(value / 100.0)
}

/// Why nothing is known of stalls.
pub(super) const NO_PRESSURE: &str =
    "How long tasks wait is not told here (/proc/pressure; kernel parameter psi=1).";
