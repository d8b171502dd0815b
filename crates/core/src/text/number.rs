//! Numbers, shares and times in sentences and tables.

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

#[cfg(test)]
mod tests {
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
