//! Text of an element or attribute to a number or flag.

use std::ops::RangeInclusive;

use super::error::quoted;

/// Why a text is not the value wanted: what is wrong, what would be legal.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Mismatch {
    pub reason: String,
    pub legal: String,
}

/// White space that XML knows.
pub(super) fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

/// A whole number in decimal digits, white space around and a plus sign before it allowed.
pub(super) fn number(text: &str, range: RangeInclusive<u64>) -> Result<u64, Mismatch> {
    let trimmed = text.trim_matches(is_space);
    let digits = trimmed.strip_prefix('+').unwrap_or(trimmed);
    let legal = format!("a whole number from {} to {}", range.start(), range.end());
    let wrong = |what: &str| Mismatch { reason: format!("{} {what}", quoted(trimmed)), legal: legal.clone() };
    if trimmed.is_empty() {
        return Err(Mismatch { reason: "the number is missing".to_string(), legal });
    }
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(wrong(no_number(digits)));
    }
    match digits.parse::<u64>() {
        Ok(value) if range.contains(&value) => Ok(value),
        Ok(value) if value < *range.start() => Err(wrong("is too small")),
        _ => Err(wrong("is too large")),
    }
}

/// What keeps a text from being a number.
fn no_number(text: &str) -> &'static str {
    let tail = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let has_digits = tail.len() < text.len();
    match tail.chars().next() {
        Some('-') if !has_digits => "is negative",
        Some('.' | ',') if has_digits => "is not a whole number",
        Some('k' | 'K' | 'm' | 'M' | 'g' | 'G' | 't' | 'T' | 'b') if has_digits => {
            "has a suffix: profiles take plain bytes and counts, suffixes are for the command line"
        }
        _ => "is not a number",
    }
}

/// `true` or `1`, `false` or `0`.
///
/// DiskSpd 2.2 lets `1` pass and then treats it as false; here it means what it says.
pub(super) fn flag(text: &str) -> Result<bool, Mismatch> {
    match text.trim_matches(is_space) {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        "" => Err(Mismatch { reason: "the flag is missing".to_string(), legal: "true or false".to_string() }),
        other => Err(Mismatch {
            reason: format!("{} is not a flag", quoted(other)),
            legal: "true or false (or 1 or 0), in small letters".to_string(),
        }),
    }
}

/// A processor mask: hexadecimal with `0x`, or decimal.
pub(super) fn mask(text: &str) -> Result<u64, Mismatch> {
    let trimmed = text.trim_matches(is_space);
    let value = match trimmed.strip_prefix("0x").or_else(|| trimmed.strip_prefix("0X")) {
        // from_str_radix would take a sign.
        Some(digits) if digits.bytes().all(|b| b.is_ascii_hexdigit()) => u64::from_str_radix(digits, 16).ok(),
        Some(_) => None,
        None if trimmed.bytes().all(|b| b.is_ascii_digit()) => trimmed.parse().ok(),
        None => None,
    };
    value.ok_or_else(|| Mismatch {
        reason: format!("{} is not a mask of processors", quoted(trimmed)),
        legal: "0x and up to 16 hexadecimal digits, one bit per processor".to_string(),
    })
}

/// The value of one of some words.
pub(super) fn pick<V: Copy>(words: &[(&'static str, V)], text: &str) -> Result<V, Mismatch> {
    words.iter().find(|(word, _)| *word == text).map(|&(_, value)| value).ok_or_else(|| {
        let names: Vec<&str> = words.iter().map(|&(word, _)| word).collect();
        Mismatch {
            reason: format!("{} is not known here", quoted(text)),
            legal: format!("{} (letter case matters)", names.join(", ")),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const U64: RangeInclusive<u64> = 0..=u64::MAX;

    #[test]
    fn numbers() {
        assert_eq!(number("0", U64), Ok(0));
        assert_eq!(number(" \t\r\n+0042 ", U64), Ok(42));
        assert_eq!(number("18446744073709551615", U64), Ok(u64::MAX));
        assert_eq!(number("4294967295", 0..=u32::MAX.into()), Ok(u32::MAX.into()));
        for (text, range, word) in [
            ("", U64, "missing"),
            ("  ", U64, "missing"),
            ("+", U64, "not a number"),
            ("+-1", U64, "negative"),
            ("-1", U64, "negative"),
            ("1.5", U64, "whole"),
            ("64K", U64, "suffix"),
            ("0x10", U64, "not a number"),
            ("1e3", U64, "not a number"),
            ("1 2", U64, "not a number"),
            ("\u{663}", U64, "not a number"),
            ("18446744073709551616", U64, "too large"),
            ("4294967296", 0..=u32::MAX.into(), "too large"),
            ("0", 1..=99, "too small"),
            ("100", 1..=99, "too large"),
        ] {
            let mismatch = number(text, range).expect_err(text);
            assert!(mismatch.reason.contains(word), "{text}: {mismatch:?}");
        }
    }

    #[test]
    fn flags() {
        for (text, value) in [("true", true), ("1", true), (" false ", false), ("0", false)] {
            assert_eq!(flag(text), Ok(value));
        }
        for text in ["", "yes", "TRUE", "True", "2", "truefalse"] {
            assert!(flag(text).is_err(), "{text}");
        }
    }

    #[test]
    fn masks() {
        assert_eq!(mask("0xff"), Ok(255));
        assert_eq!(mask("0Xffffffffffffffff"), Ok(u64::MAX));
        assert_eq!(mask("12"), Ok(12));
        for text in ["", "0x", "ff", "0x1ffffffffffffffff", "0x+1", "-1"] {
            assert!(mask(text).is_err(), "{text}");
        }
    }
}
