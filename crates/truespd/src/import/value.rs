//! Values of fio: sizes, times, numbers.

/// A size, or a share of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// So many bytes.
    Bytes(u64),
    /// So many percent of it.
    Percent(u64),
}

/// A number of bytes, with fio's units: by default `k`, `kb` and `ki` are 1024 and `kib` is 1000; with
/// `kb_base=1000` it is the other way round. fio's own pages say that `ki` is `kib`; fio does not read it so.
pub(super) fn bytes(text: &str, is_si: bool) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok();
    }
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let number: u64 = digits.parse().ok()?;
    let (letter, is_i) = match unit.strip_suffix("ib") {
        Some(letter) => (letter, true),
        None => {
            let unit = unit.strip_suffix('b').unwrap_or(unit);
            (unit.strip_suffix('i').filter(|letter| !letter.is_empty()).unwrap_or(unit), false)
        }
    };
    let power = match letter {
        "" if !is_i => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => return None,
    };
    let base: u64 = if is_i == is_si { 1024 } else { 1000 };
    number.checked_mul(base.checked_pow(power)?)
}

/// Bytes or percent.
pub(super) fn extent(text: &str, is_si: bool) -> Option<Extent> {
    match text.trim().strip_suffix('%') {
        Some(percent) => percent.parse().ok().filter(|percent| *percent <= 100).map(Extent::Percent),
        None => bytes(text, is_si).map(Extent::Bytes),
    }
}

/// A time in microseconds; `unit_us` is that of a number without one.
pub(super) fn time_us(text: &str, unit_us: u64) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let unit_us = match unit.trim() {
        "" => unit_us,
        "d" => 86_400_000_000,
        "h" => 3_600_000_000,
        "m" => 60_000_000,
        "s" => 1_000_000,
        "ms" | "msec" => 1000,
        "us" | "usec" => 1,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit_us)
}

/// The parts for reads and for writes of a value such as `4k`, `4k,8k` or `,8k`: one that is empty says nothing.
pub(super) fn for_reads_and_writes(text: &str) -> (Option<&str>, Option<&str>) {
    let mut parts = text.split(',').map(str::trim);
    let reads = parts.next().unwrap_or_default();
    let writes = parts.next().unwrap_or(reads);
    (Some(reads).filter(|part| !part.is_empty()), Some(writes).filter(|part| !part.is_empty()))
}

/// Whether a value is a yes: nothing, or a number other than 0.
pub(super) fn is_yes(value: Option<&str>) -> Option<bool> {
    match value {
        None => Some(true),
        Some(text) => text.trim().parse::<i64>().ok().map(|number| number != 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_units_of_fio() {
        for (text, by_default, with_si) in [
            ("4k", 4096, 4000),
            ("4ki", 4096, 4000),
            ("4kb", 4096, 4000),
            ("4KiB", 4000, 4096),
            ("4096", 4096, 4096),
            ("4096B", 4096, 4096),
            ("1m", 1 << 20, 1_000_000),
            ("2G", 2 << 30, 2_000_000_000),
            ("1tib", 1_000_000_000_000, 1 << 40),
            ("0x1000", 4096, 4096),
        ] {
            assert_eq!((bytes(text, false), bytes(text, true)), (Some(by_default), Some(with_si)), "{text}");
        }
        // fio reads "16 k" as 16, and "4ib" as 4.
        for text in ["", "k", "4x", "i4", "4i", "4ib", "16 k", "1.5k", "-1", "99999999p", "(4*1024)"] {
            assert_eq!(bytes(text, false), None, "{text}");
        }
        assert_eq!(extent("50%", false), Some(Extent::Percent(50)));
        assert_eq!(extent("101%", false), None);
        assert_eq!(extent("1k", false), Some(Extent::Bytes(1024)));
    }

    #[test]
    fn times_have_the_units_of_fio() {
        for (text, us) in
            [("60", 60_000_000), ("2m", 120_000_000), ("1H", 3_600_000_000), ("500ms", 500_000), ("3usec", 3)]
        {
            assert_eq!(time_us(text, 1_000_000), Some(us), "{text}");
        }
        assert_eq!((time_us("7", 1), time_us("7x", 1), time_us("", 1)), (Some(7), None, None));
        // Of what it does not know, fio makes microseconds.
        assert_eq!((time_us("60sec", 1), time_us("1h30m", 1)), (None, None));
    }

    #[test]
    fn a_value_can_have_parts() {
        assert_eq!(for_reads_and_writes("4k"), (Some("4k"), Some("4k")));
        assert_eq!(for_reads_and_writes("4k,8k,16k"), (Some("4k"), Some("8k")));
        assert_eq!(for_reads_and_writes(",8k"), (None, Some("8k")));
        assert_eq!(for_reads_and_writes("4k,"), (Some("4k"), None));
        assert_eq!(
            (is_yes(None), is_yes(Some("0")), is_yes(Some("1")), is_yes(Some("x"))),
            (Some(true), Some(false), Some(true), None)
        );
    }
}
