//! Seconds since 1970 as DiskSpd writes a moment.

use jiff::SignedDuration;
use jiff::civil::{DateTime, date};

/// `2025/03/04 05:06:07 UTC` for seconds since 1970 UTC; moments beyond the years -9999 to 9999, which only a damaged
/// document holds, become the nearest that a calendar has.
pub(super) fn utc(unix_s: i64) -> String {
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
