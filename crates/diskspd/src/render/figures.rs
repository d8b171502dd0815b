//! Figures and moments as DiskSpd prints them, in text and in XML.

use jiff::SignedDuration;
use jiff::civil::{DateTime, date};

use truespd_core::result::{CpuUse, Measured, TimeSpanResult};

/// Adds one line to a text.
macro_rules! line {
    ($out:expr) => { $out.push('\n') };
    ($out:expr, $($argument:tt)*) => {{
        use std::fmt::Write as _;
        // Writing to a `String` cannot fail.
        let _ = writeln!($out, $($argument)*);
    }};
}
pub(super) use line;

/// What stands in place of a time span's results.
pub const INTERRUPTED: &str =
    "The test was interrupted before the measurements began. No results are displayed.";

/// Nothing is measured below this time, as in 2.2: rates would be noise.
const TEST_TIME_S_MIN: f64 = 1e-7;

/// The numbers of a time span, when it has any worth showing.
pub fn measured(result: &TimeSpanResult) -> Option<&Measured> {
    match result {
        TimeSpanResult::Measured(measured) if measured.test_time_s >= TEST_TIME_S_MIN => Some(measured),
        _ => None,
    }
}

/// A figure as it may be shown: no figure here is ever negative, and neither NaN nor infinity nor a
/// negative zero gets into a result.
pub fn shown(value: f64) -> f64 {
    if value.is_finite() && value > 0.0 { value } else { 0.0 }
}

/// `amount / time_s`, 0 when there was no time.
pub fn rate(amount: f64, time_s: f64) -> f64 {
    if time_s > 0.0 { amount / time_s } else { 0.0 }
}

/// Plain mean over the processors.
pub fn cpu_mean(cpu: &[CpuUse]) -> CpuUse {
    let (mut sum, count) = (CpuUse::default(), cpu.len().max(1) as f64);
    for used in cpu {
        sum.user += used.user;
        sum.kernel += used.kernel;
        sum.idle += used.idle;
    }
    CpuUse { user: sum.user / count, kernel: sum.kernel / count, idle: sum.idle / count }
}

/// `2025/03/04 05:06:07 UTC` for seconds since 1970 UTC; moments beyond the years -9999 to 9999, which only a damaged
/// document holds, become the nearest that a calendar has.
pub fn utc(unix_s: i64) -> String {
    let moment: DateTime = date(1970, 1, 1).at(0, 0, 0, 0).saturating_add(SignedDuration::from_secs(unix_s));
    let (year, month, day) = (moment.year(), moment.month(), moment.day());
    format!(
        "{year}/{month:02}/{day:02} {:02}:{:02}:{:02} UTC",
        moment.hour(),
        moment.minute(),
        moment.second()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_S: i64 = 86_400;
    /// Days in 400 years of the Gregorian calendar.
    const ERA_DAYS: i64 = 146_097;

    #[test]
    fn figures_are_numbers() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, -1e-9] {
            assert_eq!(format!("{:.2}", shown(bad)), "0.00");
        }
        assert_eq!(shown(1.5), 1.5);
    }

    #[test]
    fn known_moments() {
        for (unix_s, text) in [
            (0, "1970/01/01 00:00:00 UTC"),
            (-1, "1969/12/31 23:59:59 UTC"),
            (951_782_399, "2000/02/28 23:59:59 UTC"),
            (951_782_400, "2000/02/29 00:00:00 UTC"),
            (951_868_800, "2000/03/01 00:00:00 UTC"),
            (1_000_000_000, "2001/09/09 01:46:40 UTC"),
            (1_234_567_890, "2009/02/13 23:31:30 UTC"),
            (1_741_064_767, "2025/03/04 05:06:07 UTC"),
            (4_107_542_399, "2100/02/28 23:59:59 UTC"),
            (4_107_542_400, "2100/03/01 00:00:00 UTC"),
            (253_402_300_799, "9999/12/31 23:59:59 UTC"),
            (i64::MAX, "9999/12/31 23:59:59 UTC"),
            (i64::MIN, "-9999/01/01 00:00:00 UTC"),
        ] {
            assert_eq!(utc(unix_s), text);
        }
    }

    #[test]
    fn days_follow_each_other_through_a_whole_era() {
        let is_leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let mut expected = (1970, 1, 1);
        for days in 0..ERA_DAYS {
            let (year, month, day) = expected;
            assert_eq!(
                utc(days * DAY_S),
                format!("{year}/{month:02}/{day:02} 00:00:00 UTC"),
                "{days} days after 1970"
            );
            let length = match month {
                4 | 6 | 9 | 11 => 30,
                2 if is_leap(year) => 29,
                2 => 28,
                _ => 31,
            };
            expected = match (day == length, month) {
                (false, _) => (year, month, day + 1),
                (true, 12) => (year + 1, 1, 1),
                (true, _) => (year, month + 1, 1),
            };
        }
    }
}
