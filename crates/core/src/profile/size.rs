//! Sizes as DiskSpd writes them.

use std::fmt;

const UNITS: [(u64, &str); 4] = [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];

fn unit_of(bytes: u64) -> Option<(u64, &'static str)> {
    UNITS.into_iter().find(|&(unit, _)| bytes >= unit)
}

/// Writes bytes in the largest fitting unit: `64KiB`, `1.50GiB`, `512`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size(pub u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match unit_of(self.0) {
            None => write!(f, "{}", self.0),
            Some((unit, name)) if self.0.is_multiple_of(unit) => {
                write!(f, "{}{name}", self.0 / unit)
            }
            Some((unit, name)) => write!(f, "{:.2}{name}", self.0 as f64 / unit as f64),
        }
    }
}

/// [`Size`] with the number at least six characters wide, as in distribution ranges; values below
/// 1024 are not padded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizeColumn(pub u64);

impl fmt::Display for SizeColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match unit_of(self.0) {
            None => write!(f, "{}", self.0),
            Some((unit, name)) if self.0.is_multiple_of(unit) => {
                write!(f, "{:6}{name}", self.0 / unit)
            }
            Some((unit, name)) => write!(f, "{:6.2}{name}", self.0 as f64 / unit as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_the_spec() {
        for (bytes, text) in [
            (0, "0"),
            (512, "512"),
            (64 << 10, "64KiB"),
            (1 << 20, "1MiB"),
            (1000 << 30, "1000GiB"),
            (1500 << 30, "1.46TiB"), // the rule, and 2.2 itself; the spec's example row slips here
            (1 << 50, "1024TiB"),
            (3 << 29, "1.50GiB"),
            (1000 * 1024 + 512, "1000.50KiB"),
            (1024 * 1024 - 1, "1024.00KiB"),
        ] {
            assert_eq!(Size(bytes).to_string(), text);
        }
    }

    #[test]
    fn columns_pad_numbers_with_a_unit_only() {
        assert_eq!(SizeColumn(1 << 20).to_string(), "     1MiB");
        assert_eq!(SizeColumn(3 << 19).to_string(), "  1.50MiB");
        assert_eq!(SizeColumn(512).to_string(), "512");
    }
}
