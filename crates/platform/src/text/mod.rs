//! Words and numbers that people read: made safe to print, wrapped, grouped, and pasted into a shell.
//!
//! Every form of a number stands here once. What another program's format asks for does not: DiskSpd's sizes
//! (`profile`), CrystalDiskMark's and winsat's lines (`suite`), and result text (`render`).
//!
//! Tables are laid out with `format!` widths where they stand. `comfy-table` and `tabled` measure columns by their
//! contents; our tables have fixed columns, which scripts cut by position.
//!
//! ```
//! use truespd_platform::text::{grouped, nearest, printable, shell_line, size, split_line};
//!
//! assert_eq!(grouped(1_234_567), "1,234,567");
//! assert_eq!(size(3 << 30), "3 GiB");
//! // What stands in a file name cannot move a terminal's cursor.
//! assert!(!printable("a\u{1b}[2Jb").contains('\u{1b}'));
//! // Words survive the way into a shell and back.
//! let words = ["diskspd".to_string(), "my file".to_string()];
//! assert_eq!(split_line(&shell_line(&words)), Ok(words.to_vec()));
//! assert_eq!(nearest("io_urin", ["psync", "io_uring"].into_iter()), Some("io_uring"));
//! ```

pub mod foreign;
mod lines;
pub mod table;

pub use lines::{
    COLOURS, as_ascii, columns_of, end_of, folded, hanging, hides, nearest, printable, printable_json,
    printable_path, printable_text, program_line, shell_line, shell_word, split_line, start_of, visible_json,
    with_micro, wrap,
};

/// `1,234,567`: the digits before the point of a number as it is written, in groups of three.
pub fn grouped(number: impl ToString) -> String {
    let written = number.to_string();
    let (whole, rest) = written.split_at(written.find('.').unwrap_or(written.len()));
    let (sign, digits) = whole.split_at(usize::from(whole.starts_with('-')));
    let mut out = String::with_capacity(written.len() + digits.len() / 3);
    out.push_str(sign);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + rest
}

/// `215,000`, `39`, `3.42`, `0`: three digits where there are fewer before the point; never below 0.
pub fn number(value: f64) -> String {
    let value = at_least_zero(value);
    three_digits(if value >= 99.95 { value.round() } else { value })
}

/// As [`number`], with a sign, and small ones with four decimals: `82,310`, `-3.42`, `0.0512`.
pub fn precise(value: f64) -> String {
    match value.abs() {
        size if size != 0.0 && size < 0.0995 => format!("{value:.4}"),
        size => format!("{}{}", if value < 0.0 { "-" } else { "" }, three_digits(size)),
    }
}

fn three_digits(value: f64) -> String {
    match value {
        v if v >= 99.95 || v.fract() == 0.0 => grouped(format!("{v:.0}")),
        v if v >= 9.995 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

fn at_least_zero(value: f64) -> f64 {
    if value.is_finite() { value.max(0.0) } else { 0.0 }
}

/// A share as a percentage: `0 %`, `<0.1 %`, `3.4 %`, `97 %`.
pub fn percent(share: f64) -> String {
    match at_least_zero(share) * 100.0 {
        0.0 => "0 %".to_string(),
        v if v < 0.1 => "<0.1 %".to_string(),
        v if v < 9.95 => format!("{} %", format!("{v:.1}").trim_end_matches(".0")),
        v => format!("{} %", grouped(v.round())),
    }
}

/// A part of a whole: as [`percent`], and never all of it unless it is (`>99 %`).
pub fn part_percent(share: f64) -> String {
    match share * 100.0 {
        p if (99.5..100.0).contains(&p) => ">99 %".to_string(),
        p if p >= 9.95 => format!("{p:.0} %"),
        _ => percent(share),
    }
}

/// A signed change: `-75 %`, `+12 %`.
pub fn change(share: f64) -> String {
    let value = if share.is_finite() { share * 100.0 } else { 0.0 };
    format!("{value:+.0} %")
}

/// A latency: `16.6 ms`, `94 us`.
pub fn duration_ns(ns: f64) -> String {
    match ns {
        n if n >= 1e9 => format!("{} s", number(n / 1e9)),
        n if n >= 1e6 => format!("{} ms", number(n / 1e6)),
        n => format!("{} us", number(n / 1e3)),
    }
}

/// Minutes and seconds, with hours where there are some: `1:01`, `2:02:05`. A begun second counts.
pub fn clock(seconds: f64) -> String {
    let whole = seconds.ceil().max(0.0) as u64;
    match whole / 3600 {
        0 => format!("{}:{:02}", whole / 60, whole % 60),
        hours => format!("{hours}:{:02}:{:02}", whole / 60 % 60, whole % 60),
    }
}

const UNITS: [(u64, &str); 4] = [(1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];

/// A measured amount, to three digits: `8 KiB`, `1.5 GiB`, `512 bytes`.
pub fn bytes(value: f64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    let value = if value.is_finite() { value.max(0.0) } else { 0.0 };
    if value < 1024.0 {
        return format!("{} bytes", grouped(value.round()));
    }
    let mut scaled = value / 1024.0;
    let mut unit = 0;
    // What would be shown as 1024 belongs to the next unit.
    while scaled >= 1023.95 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    let text = if scaled >= 99.95 { format!("{scaled:.0}") } else { format!("{scaled:.1}") };
    format!("{} {}", text.strip_suffix(".0").unwrap_or(&text), UNITS[unit])
}

/// The size of something: `931.5 GiB`, `1 GiB`, `512 bytes`; without decimals only where it is exact.
pub fn size(bytes: u64) -> String {
    match UNITS.iter().find(|(unit, _)| bytes >= *unit) {
        None => format!("{bytes} bytes"),
        Some((unit, name)) if bytes.is_multiple_of(*unit) => format!("{} {name}", grouped(bytes / unit)),
        Some((unit, name)) => format!("{:.1} {name}", bytes as f64 / *unit as f64),
    }
}

/// A size to recognise something by, rounded down, without a blank: `476.9GiB`, `1GiB`, `512 bytes`.
pub fn coarse_size(bytes: u64) -> String {
    let Some((unit, name)) = UNITS.iter().find(|(unit, _)| bytes >= *unit) else {
        return format!("{bytes} bytes");
    };
    let tenths = u128::from(bytes) * 10 / u128::from(*unit);
    match tenths % 10 {
        0 => format!("{}{name}", tenths / 10),
        part => format!("{}.{part}{name}", tenths / 10),
    }
}

/// Bytes per second: `12 MiB/s`, `193 KiB/s`.
pub fn rate(bytes_per_s: f64) -> String {
    let unit = if bytes_per_s >= 1024.0 * 1024.0 { 1024.0 * 1024.0 } else { 1024.0 };
    let (scaled, name) = (bytes_per_s / unit, if unit > 1024.0 { "MiB" } else { "KiB" });
    let text = if scaled >= 99.95 { grouped(scaled.round() as u64) } else { format!("{scaled:.1}") };
    format!("{} {name}/s", text.strip_suffix(".0").unwrap_or(&text))
}

/// The same in units of 1000, as CrystalDiskMark and winsat count: `12.6 MB/s`, `193 kB/s`.
pub fn decimal_rate(bytes_per_s: f64) -> String {
    let (unit, name) = if bytes_per_s >= 1e6 { (1e6, "MB") } else { (1e3, "kB") };
    let scaled = bytes_per_s / unit;
    let text = if scaled >= 99.95 { grouped(scaled.round() as u64) } else { format!("{scaled:.1}") };
    format!("{} {name}/s", text.strip_suffix(".0").unwrap_or(&text))
}

/// A size as it can be typed: `64K`, `1G`, `4097`.
pub fn typed_size(bytes: u64) -> String {
    match UNITS.iter().find(|(unit, _)| bytes > 0 && bytes.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{}{}", bytes / unit, &name[..1]),
        None => bytes.to_string(),
    }
}

/// The size in DiskSpd's spelling (`1G`), of a word such as `1GB`, `64KiB` or `4k`; none of other words, and
/// of plain numbers.
pub fn meant_size(word: &str) -> Option<String> {
    let end = word.find(|c: char| !c.is_ascii_digit())?;
    let (digits, unit) = word.split_at(end);
    let mut letters = unit.chars().map(|c| c.to_ascii_uppercase());
    let first = letters.next().filter(|c| "KMGT".contains(*c))?;
    let rest: String = letters.collect();
    let is_size = !digits.is_empty() && matches!(rest.as_str(), "" | "B" | "IB");
    is_size.then(|| format!("{digits}{first}"))
}

#[cfg(test)]
mod tests_of_number {
    use super::*;

    #[test]
    fn digits_are_grouped_before_the_point() {
        for (written, text) in [
            ("0", "0"),
            ("999", "999"),
            ("1000", "1,000"),
            ("12345678", "12,345,678"),
            ("-123456", "-123,456"),
            ("1234.5678", "1,234.5678"),
        ] {
            assert_eq!(grouped(written), text);
        }
        assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
    }

    #[test]
    fn numbers_read_well() {
        let cases = [
            (0.0, "0"),
            (3.4196, "3.42"),
            (9.996, "10.0"),
            (39.4, "39.4"),
            (99.96, "100"),
            (999.6, "1,000"),
            (215_000.4, "215,000"),
            (1_234_567.0, "1,234,567"),
            (f64::NAN, "0"),
            (f64::INFINITY, "0"),
            (-3.0, "0"),
        ];
        for (value, text) in cases {
            assert_eq!(number(value), text, "{value}");
        }
        for (value, text) in
            [(0.0512, "0.0512"), (-3.4196, "-3.42"), (-82_310.4, "-82,310"), (0.25, "0.25"), (0.0, "0")]
        {
            assert_eq!(precise(value), text, "{value}");
        }
    }

    #[test]
    fn shares_and_times_read_well() {
        for (share, text) in [
            (0.0, "0 %"),
            (0.0004, "<0.1 %"),
            (0.008, "0.8 %"),
            (0.01, "1 %"),
            (0.968, "97 %"),
            (12.0, "1,200 %"),
        ] {
            assert_eq!(percent(share), text, "{share}");
        }
        for (share, text) in [
            (0.0, "0 %"),
            (-1.0, "0 %"),
            (0.0004, "<0.1 %"),
            (0.004, "0.4 %"),
            (0.05, "5 %"),
            (0.875, "88 %"),
            (0.999, ">99 %"),
            (1.0, "100 %"),
        ] {
            assert_eq!(part_percent(share), text, "{share}");
        }
        assert_eq!((change(-0.75), change(0.2)), ("-75 %".to_string(), "+20 %".to_string()));
        assert_eq!((duration_ns(16_640_000.0), duration_ns(94_000.0)), ("16.6 ms".into(), "94 us".into()));
        assert_eq!(
            [0.0, 59.2, 61.0, 3599.5, 7325.0].map(clock),
            ["0:00", "1:00", "1:01", "1:00:00", "2:02:05"]
        );
    }
}

#[cfg(test)]
mod tests_of_size {
    use super::*;

    #[test]
    fn measured_amounts_have_three_digits() {
        for (value, text) in [
            (512.0, "512 bytes"),
            (8192.0, "8 KiB"),
            (1536.0, "1.5 KiB"),
            (249_856.0, "244 KiB"),
            (1_048_575.0, "1 MiB"),
            (1_073_741_824.0, "1 GiB"),
            (f64::NAN, "0 bytes"),
        ] {
            assert_eq!(bytes(value), text, "{value}");
        }
        let rates = [0.0, 500.0, 197_000.0, 12_582_912.0, 3e9].map(rate);
        assert_eq!(rates.join(" "), "0 KiB/s 0.5 KiB/s 192 KiB/s 12 MiB/s 2,861 MiB/s");
        let rates = [0.0, 500.0, 197_000.0, 12_582_912.0, 3e9].map(decimal_rate);
        assert_eq!(rates.join(" "), "0 kB/s 0.5 kB/s 197 kB/s 12.6 MB/s 3,000 MB/s");
    }

    #[test]
    fn sizes_are_exact_coarse_or_typed() {
        for (bytes, exact, coarse, typed) in [
            (0, "0 bytes", "0 bytes", "0"),
            (512, "512 bytes", "512 bytes", "512"),
            (4097, "4.0 KiB", "4KiB", "4097"),
            (1 << 30, "1 GiB", "1GiB", "1G"),
            (3 << 29, "1.5 GiB", "1.5GiB", "1536M"),
            (1_000_204_886_016, "931.5 GiB", "931.5GiB", "976762584K"),
            (512 << 20, "512 MiB", "512MiB", "512M"),
            (1536 << 30, "1.5 TiB", "1.5TiB", "1536G"),
            (2048 << 40, "2,048 TiB", "2048TiB", "2048T"),
        ] {
            assert_eq!(size(bytes), exact);
            assert_eq!(coarse_size(bytes), coarse);
            assert_eq!(typed_size(bytes), typed);
        }
    }
}

#[cfg(test)]
mod tests_of_size_word {
    use super::*;

    #[test]
    fn sizes_are_known_in_all_spellings() {
        for (word, size) in [
            ("1GB", Some("1G")),
            ("64KiB", Some("64K")),
            ("4k", Some("4K")),
            ("10tb", Some("10T")),
            ("16", None),
            ("GB", None),
            ("1GBx", None),
            ("1.5G", None),
            ("x1G", None),
            ("", None),
        ] {
            assert_eq!(meant_size(word).as_deref(), size, "{word}");
        }
    }
}
