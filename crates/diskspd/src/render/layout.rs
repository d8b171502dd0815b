//! What the text forms of the releases do differently where their lines are the same: indents and sizes
//! (`release-2.3.md` §5.1, §5.2).

use truespd_core::profile::{Release, Size, SizeColumn};

/// The layout of a release.
#[derive(Debug, Clone, Copy)]
pub(super) struct Layout {
    pub release: Release,
    /// Before the lines that head time spans.
    pub head: &'static str,
    /// Before the lines of a time span.
    pub span: &'static str,
    /// Before the lines of a target.
    pub target: &'static str,
}

impl Layout {
    pub fn of(release: Release) -> Self {
        match release {
            Release::V2_2 => Layout { release, head: "\t", span: "\t", target: "\t\t" },
            Release::V2_3 => Layout { release, head: "  ", span: "    ", target: "      " },
        }
    }

    /// Bytes in the largest fitting unit.
    pub fn size(self, bytes: u64) -> String {
        match self.release {
            Release::V2_2 => Size(bytes).to_string(),
            Release::V2_3 => size(bytes),
        }
    }

    /// The same as a bound of a range.
    pub fn bound(self, bytes: u64) -> String {
        match self.release {
            Release::V2_2 => SizeColumn(bytes).to_string(),
            Release::V2_3 => format!("{:>9}", size(bytes)),
        }
    }
}

const UNITS: [(u64, &str); 5] =
    [(1 << 50, "PiB"), (1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];

/// `64KiB`, `1.5GiB`, `512B`: at most two decimals, none that say nothing.
pub(super) fn size(bytes: u64) -> String {
    let Some((unit, name)) = UNITS.into_iter().find(|(unit, _)| bytes >= *unit) else {
        return format!("{bytes}B");
    };
    if bytes.is_multiple_of(unit) {
        return format!("{}{name}", bytes / unit);
    }
    let number = format!("{:.2}", bytes as f64 / unit as f64);
    format!("{}{name}", number.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (bytes, text) in [
            (0, "0B"),
            (1, "1B"),
            (1023, "1023B"),
            (1 << 10, "1KiB"),
            (3 << 29, "1.5GiB"),
            (2000 << 10, "1.95MiB"),
            ((1 << 20) - 1, "1024KiB"),
            (100 << 10, "100KiB"),
            (u64::MAX, "16384PiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
        assert_eq!(Layout::of(Release::V2_3).bound(512), "     512B");
        assert_eq!(Layout::of(Release::V2_2).bound(512), "512");
    }
}
