//! Figures and names as DiskSpd prints them.

use std::fmt;

use truespd_core::text::hides;

/// A name within a line: what [`hides`] is written escaped, so that no name can look like another line of the
/// result, or act on a terminal. Every other name is written as given.
pub(super) struct OneLine<'a>(pub(super) &'a str);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some(at) = rest.find(hides) {
            let (plain, tail) = rest.split_at(at);
            let control = tail.chars().next().unwrap_or_default();
            write!(f, "{plain}{}", control.escape_default())?;
            rest = &tail[control.len_utf8()..];
        }
        f.write_str(rest)
    }
}

/// A figure as it may be shown: no figure here is ever negative, and neither NaN nor infinity nor a
/// negative zero gets into a result.
pub(super) fn shown(value: f64) -> f64 {
    if value.is_finite() && value > 0.0 { value } else { 0.0 }
}
