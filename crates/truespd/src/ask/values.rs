//! Values of options that several commands take.

use crate::runner::place::FILE_BYTES_MIN;
use diskspd::grammar::value::{self, PASSES_LEGAL, size_above_zero};
use diskspd::request::Output;
use truespd_core::result::metrics::Metric;
use truespd_platform::fault::Refusal;
use truespd_platform::text::typed_size;

/// Reads a size as DiskSpd writes them (`4096`, `64K`, `1G`).
pub(crate) fn bytes(text: &str) -> Result<u64, Refusal> {
    size_above_zero(text, 1)
        .map_err(|slip| Refusal::command_line(slip.what).hint("write digits and a unit: 4096, 64K, 1G"))
}

/// Reads the size of a test file.
pub(crate) fn file_bytes(text: &str) -> Result<u64, Refusal> {
    match bytes(text)? {
        bytes if bytes >= FILE_BYTES_MIN => Ok(bytes),
        _ => {
            let least = typed_size(FILE_BYTES_MIN);
            Err(Refusal::command_line(format!("at least {least}, e.g. 512M or 4G")))
        }
    }
}

/// Reads how often something is written, as in `2x`.
pub(crate) fn passes(text: &str) -> Result<u32, Refusal> {
    value::passes(text).ok_or_else(|| Refusal::command_line(format!("write {PASSES_LEGAL}")))
}

/// The file of `--json`; and whether that is standard output (`-`), which then gets no text.
pub(crate) fn json_output(typed: Option<&str>) -> (Option<Output>, bool) {
    match typed {
        Some("-") => (None, true),
        typed => (typed.map(|path| Output { format: "json", path: path.to_string() }), false),
    }
}

/// Reads a whole number from `LEAST` to `MOST`.
pub(crate) fn between<const LEAST: u32, const MOST: u32>(text: &str) -> Result<u32, Refusal> {
    let number = text.parse().ok().filter(|number| (LEAST..=MOST).contains(number));
    number.ok_or_else(|| legal(&format!("a whole number from {LEAST} to {MOST}")))
}

/// Reads a number that is within what `words` say.
pub(crate) fn number(text: &str, words: &str, is_legal: impl Fn(f64) -> bool) -> Result<f64, Refusal> {
    let value = text.parse().ok().filter(|v: &f64| v.is_finite() && is_legal(*v));
    value.ok_or_else(|| legal(words))
}

/// Reads one of several words.
pub(crate) fn one_of<T>(text: &str, all: impl IntoIterator<Item = (T, &'static str)>) -> Result<T, Refusal> {
    let mut words = Vec::new();
    for (one, word) in all {
        if word == text {
            return Ok(one);
        }
        words.push(word);
    }
    Err(legal(&words.join(", ")))
}

/// Reads the name of any metric.
pub(crate) fn metric(text: &str) -> Result<Metric, Refusal> {
    one_of(text, Metric::all().map(|metric| (metric, metric.name())))
}

/// Refuses a value by what is legal.
pub(crate) fn legal(words: &str) -> Refusal {
    Refusal::command_line(format!("legal: {words}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_what_is_legal() {
        assert_eq!(between::<1, 9>("9"), Ok(9));
        for text in ["0", "10", "", "x", "-1", "1.5", "99999999999"] {
            let error = between::<1, 9>(text).unwrap_err();
            assert_eq!(error.to_string(), "legal: a whole number from 1 to 9", "{text}");
        }
    }

    #[test]
    fn sizes_are_diskspds() {
        for (text, size_bytes) in [("4096", 4096), ("64K", 64 << 10), ("1g", 1 << 30), ("2T", 2 << 40)] {
            assert_eq!(bytes(text), Ok(size_bytes), "{text}");
        }
        for size_bytes in [1, 512, 1536, 64 << 10, 3 << 19, 1000 << 30, 5 << 40, u64::MAX] {
            assert_eq!(bytes(&typed_size(size_bytes)), Ok(size_bytes), "{}", typed_size(size_bytes));
        }
        assert_eq!((typed_size(3 << 19), typed_size(0)), ("1536K".into(), "0".into()));
        for text in ["", "0", "G", "-1G", "1.5G", "4q", "99999999999999999999G"] {
            assert!(bytes(text).is_err_and(|error| error.to_string().contains("64K")), "{text}");
        }
    }
}
