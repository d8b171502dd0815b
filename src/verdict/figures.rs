//! Numbers in sentences: the same form in every finding.

use crate::result::{Figure, Finding, Grade};

/// A finding about the run as a whole, with what is so. [`super::judge`] fills in the rest.
pub fn found(grade: Grade, says: String) -> Finding {
    Finding { grade, says, ..Finding::default() }
}

/// What can be added to a finding.
pub trait Details {
    /// The target it is about.
    fn of(self, target: Option<&str>) -> Self;
    /// A number that it rests on; one that is not finite is left out.
    fn figure(self, name: &str, value: f64) -> Self;
    /// Advice that fits better than that of the rule.
    fn advise(self, advice: &str) -> Self;
}

impl Details for Finding {
    fn of(mut self, target: Option<&str>) -> Self {
        self.target = target.map(str::to_string);
        self
    }

    fn figure(mut self, name: &str, value: f64) -> Self {
        if value.is_finite() {
            self.figures.push(Figure { name: name.to_string(), value });
        }
        self
    }

    fn advise(mut self, advice: &str) -> Self {
        self.advice = advice.to_string();
        self
    }
}

/// `part / whole`; 0 when there is no whole.
pub fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 && part.is_finite() && whole.is_finite() { part / whole } else { 0.0 }
}

/// `215,000`, `39`, `3.42`, `0`: three digits where there are fewer before the point.
pub fn number(value: f64) -> String {
    let value = if value.is_finite() { value.max(0.0) } else { 0.0 };
    match value {
        v if v >= 99.95 || v.fract() == 0.0 => grouped(v.round()),
        v if v >= 9.995 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `8 KiB`, `1.5 GiB`, `512 bytes`.
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

/// A share as a percentage: `0 %`, `<0.1 %`, `3.4 %`, `97 %`.
pub fn percent(share: f64) -> String {
    let value = if share.is_finite() { share.max(0.0) * 100.0 } else { 0.0 };
    match value {
        0.0 => "0 %".to_string(),
        v if v < 0.1 => "<0.1 %".to_string(),
        v if v < 9.95 => format!("{} %", format!("{v:.1}").trim_end_matches(".0")),
        v => format!("{} %", grouped(v.round())),
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

#[cfg(test)]
mod tests {
    use super::*;

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
    }

    #[test]
    fn sizes_and_shares_read_well() {
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
        assert_eq!((change(-0.75), change(0.2)), ("-75 %".to_string(), "+20 %".to_string()));
        assert_eq!((duration_ns(16_640_000.0), duration_ns(94_000.0)), ("16.6 ms".into(), "94 us".into()));
    }

    #[test]
    fn figures_are_finite() {
        let finding = found(Grade::Suspect, String::new()).figure("a", f64::NAN).figure("b", 1.0);
        assert_eq!(finding.figures.len(), 1);
        assert_eq!((ratio(1.0, 0.0), ratio(f64::NAN, 1.0), ratio(1.0, 4.0)), (0.0, 0.0, 0.25));
    }
}
