//! Loads that DiskSpd cannot say, as a target asks for them: arrivals at random, sizes in shares, skewed places.
//!
//! On the command line they are long options. In XML they stand in processing instructions, which readers of DiskSpd's
//! format skip (`xml.md` §4.1).

use std::fmt;

use serde::{Deserialize, Serialize};

/// Largest I/O size DiskSpd's grammar accepts, in bytes (`-b`, `command-line.md` §5.1).
pub const BLOCK_BYTES_MAX: u64 = u32::MAX as u64 - 1;

/// When the I/Os of a rate arrive (`--arrivals`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// One after each period, as `-g` means it.
    #[default]
    Even,
    /// At random, each independent of all others: as the requests of many clients arrive. The gaps have the exponential
    /// distribution.
    Poisson,
}

impl Arrivals {
    /// Whether it is what DiskSpd does.
    pub fn is_even(&self) -> bool {
        *self == Arrivals::Even
    }
}

/// Flushes of a thread between its writes (`--flush-every`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlushEvery {
    /// Writes of a thread on the target between two flushes, at least 1.
    pub writes: u32,
    /// `fdatasync(2)`, which leaves out what nobody needs to read the data again, instead of `fsync(2)`.
    pub data_only: bool,
}

impl FlushEvery {
    /// Reads what its `Display` writes: `10` or `10:data`; none where the text is something else.
    pub fn read(text: &str) -> Option<Self> {
        let (number, data_only) = match text.strip_suffix(":data") {
            Some(number) => (number, true),
            None => (text, false),
        };
        let has_sign = number.starts_with('+');
        match number.parse() {
            Ok(writes) if writes > 0 && !has_sign => Some(FlushEvery { writes, data_only }),
            _ => None,
        }
    }
}

impl fmt::Display for FlushEvery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.writes, if self.data_only { ":data" } else { "" })
    }
}

/// Whether documents leave the answer out.
pub(super) fn is_false(answer: &bool) -> bool {
    !answer
}

/// Whether documents leave the number out.
pub(super) fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A decimal number above 0, and finite.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "f64", into = "f64")]
#[cfg_attr(feature = "schema", schemars(with = "f64"))]
pub struct Decimal(f64);

/// It is never NaN, so it equals itself.
impl Eq for Decimal {}

impl Decimal {
    /// None where the number is not above 0, or not finite.
    pub fn new(number: f64) -> Option<Self> {
        (number > 0.0 && number.is_finite()).then_some(Decimal(number))
    }

    /// Digits, with at most one point among them; none where the text is something else or the number 0.
    pub fn read(text: &str) -> Option<Self> {
        if !text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
            return None;
        }
        text.parse().ok().and_then(Decimal::new)
    }

    /// The number as a 64-bit float.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Decimal {
    type Error = &'static str;

    fn try_from(number: f64) -> Result<Self, Self::Error> {
        Decimal::new(number).ok_or("a number above 0 is needed")
    }
}

impl From<Decimal> for f64 {
    fn from(decimal: Decimal) -> f64 {
        decimal.0
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Largest exponent of Zipf's law: with 20, the first block gets 999,999 of 1,000,000 I/Os.
pub const ZIPF_MAX: f64 = 20.0;

/// A size of a mix (`--mix`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MixPart {
    /// Size of these I/Os in bytes.
    pub block_bytes: u64,
    /// Share of the I/Os in percent.
    pub percent: Decimal,
}

/// Most sizes of a mix.
pub const MIX_MAX: usize = 64;
/// Shares that sum to 100 % but for this are complete: decimal fractions are not exact.
const SUM_ERROR: f64 = 1e-6;

/// What is wrong with the sizes of a mix.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum MixError {
    /// More than there may be.
    #[error("the mix has {0} sizes: it may have {MIX_MAX} at most")]
    TooMany(usize),
    /// 0, or above what DiskSpd can express.
    #[error("a size of the mix is {0} bytes: it must be 1..{BLOCK_BYTES_MAX}")]
    Size(u64),
    /// Two shares of one size.
    #[error("the size of {0} bytes stands twice in the mix: give each size once")]
    Twice(u64),
    /// Shares that are not 100 % together.
    #[error("the shares of the mix sum to {0} %: they must sum to 100")]
    Sum(f64),
}

/// The sizes of a mix, if they can be one.
///
/// # Errors
/// [`MixError`]
pub fn check_mix(parts: &[MixPart]) -> Result<(), MixError> {
    if parts.len() > MIX_MAX {
        return Err(MixError::TooMany(parts.len()));
    }
    let mut sum = 0.0;
    for (place, part) in parts.iter().enumerate() {
        if part.block_bytes == 0 || part.block_bytes > BLOCK_BYTES_MAX {
            return Err(MixError::Size(part.block_bytes));
        }
        if parts[..place].iter().any(|other| other.block_bytes == part.block_bytes) {
            return Err(MixError::Twice(part.block_bytes));
        }
        sum += part.percent.get();
    }
    // Shown, the number has no digits that only binary fractions have.
    let shown = (sum / SUM_ERROR).round() * SUM_ERROR;
    if (sum - 100.0).abs() > SUM_ERROR { Err(MixError::Sum(shown)) } else { Ok(()) }
}

/// A mix as the processing instruction has it: `4096:60,65536:40`.
pub fn mix_words(parts: &[MixPart]) -> String {
    let words: Vec<String> =
        parts.iter().map(|part| format!("{}:{}", part.block_bytes, part.percent)).collect();
    words.join(",")
}

/// Reads what [`mix_words`] writes; none where the text is something else.
pub fn read_mix(text: &str) -> Option<Vec<MixPart>> {
    let mut parts = Vec::new();
    for part in text.split(',') {
        let (bytes, percent) = part.split_once(':')?;
        parts.push(MixPart { block_bytes: bytes.parse().ok()?, percent: Decimal::read(percent)? });
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Target;

    fn mix(parts: &[(u64, f64)]) -> Vec<MixPart> {
        let part = |&(block_bytes, percent)| MixPart { block_bytes, percent: Decimal::new(percent).unwrap() };
        parts.iter().map(part).collect()
    }

    #[test]
    fn decimals_are_above_zero_and_finite() {
        for text in ["", "0", "0.0", "-1", "1e3", "inf", "NaN", "1.2.3", "+1", "1,5", "."] {
            assert_eq!(Decimal::read(text), None, "{text}");
        }
        assert_eq!(Decimal::read("0.9").map(Decimal::get), Some(0.9));
        assert_eq!(Decimal::read("33.3333").unwrap().to_string(), "33.3333");
        assert!(
            serde_json::from_str::<Decimal>("0").is_err() && serde_json::from_str::<Decimal>("-1").is_err()
        );
    }

    #[test]
    fn flushes() {
        for (text, writes, data_only) in [("1", 1, false), ("10:data", 10, true)] {
            let flush = FlushEvery::read(text).unwrap();
            assert_eq!((flush, flush.to_string().as_str()), (FlushEvery { writes, data_only }, text));
        }
        for text in ["", "0", ":data", "0:data", "1:meta", "-1", "+1", "1.5", "4294967296"] {
            assert_eq!(FlushEvery::read(text), None, "{text}");
        }
    }

    #[test]
    fn mixes() {
        assert_eq!(check_mix(&mix(&[(4096, 60.0), (65536, 40.0)])), Ok(()));
        // Fractions that have no exact binary form.
        assert_eq!(check_mix(&mix(&[(1, 33.3), (2, 33.3), (3, 33.4)])), Ok(()));
        assert_eq!(check_mix(&mix(&[(4096, 60.0), (65536, 30.0)])), Err(MixError::Sum(90.0)));
        assert_eq!(check_mix(&mix(&[(4096, 60.0), (4096, 40.0)])), Err(MixError::Twice(4096)));
        assert_eq!(check_mix(&mix(&[(0, 100.0)])), Err(MixError::Size(0)));
        let many: Vec<(u64, f64)> = (1..=65).map(|size| (size, 100.0 / 65.0)).collect();
        assert_eq!(check_mix(&mix(&many)), Err(MixError::TooMany(65)));
        let parts = mix(&[(4096, 60.5), (65536, 39.5)]);
        assert_eq!(mix_words(&parts), "4096:60.5,65536:39.5");
        assert_eq!(read_mix(&mix_words(&parts)), Some(parts.clone()));
        for text in ["", "4096", "4096:", ":60", "4K:60", "4096:60,", "4096:60;1:40"] {
            assert_eq!(read_mix(text), None, "{text}");
        }
        let target = Target { block_bytes: 65536, mix: parts, ..Target::default() };
        assert!((target.mean_bytes() - (4096.0 * 0.605 + 65536.0 * 0.395)).abs() < 1e-9);
        assert_eq!(target.sizes(), [4096, 65536]);
        assert_eq!((Target::default().mean_bytes(), Target::default().sizes()), (65536.0, vec![65536]));
    }
}
