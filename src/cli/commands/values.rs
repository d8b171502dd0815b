//! Values of options that several commands take.

use crate::cli::grammar::value::size_above_zero;
use crate::session::place::FILE_BYTES_MIN;
use crate::text::typed_size;

/// Reads a size as DiskSpd writes them (`4096`, `64K`, `1G`).
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    size_above_zero(text, 1).map_err(|slip| format!("{}; write digits and a unit: 4096, 64K, 1G", slip.what))
}

/// Reads the size of a test file.
pub(crate) fn file_bytes(text: &str) -> Result<u64, String> {
    match bytes(text)? {
        bytes if bytes < FILE_BYTES_MIN => {
            Err(format!("at least {}, e.g. 512M or 4G", typed_size(FILE_BYTES_MIN)))
        }
        bytes => Ok(bytes),
    }
}

/// Reads a whole number from `LEAST` to `MOST`.
pub(crate) fn between<const LEAST: u32, const MOST: u32>(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| (LEAST..=MOST).contains(number));
    number.ok_or_else(|| match MOST {
        u32::MAX => format!("legal is a whole number from {LEAST} on"),
        _ => format!("legal is a whole number from {LEAST} to {MOST}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_what_is_legal() {
        assert_eq!((between::<1, 9>("9"), between::<0, { u32::MAX }>("0")), (Ok(9), Ok(0)));
        for text in ["0", "10", "", "x", "-1", "1.5", "99999999999"] {
            assert_eq!(between::<1, 9>(text), Err("legal is a whole number from 1 to 9".into()), "{text}");
        }
        assert!(between::<1, { u32::MAX }>("0").is_err_and(|words| words.ends_with("from 1 on")));
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
            assert!(bytes(text).is_err_and(|words| words.contains("64K")), "{text}");
        }
    }
}
