//! Seconds since 1970 as DiskSpd writes a moment.

const DAY_S: i64 = 86_400;
/// Days in 400 years of the Gregorian calendar.
const ERA_DAYS: i64 = 146_097;
/// Days from 0000-03-01 to 1970-01-01.
const EPOCH_DAYS: i64 = 719_468;

/// `2025/03/04 05:06:07 UTC` for seconds since 1970 UTC.
pub(super) fn utc(unix_s: i64) -> String {
    let (year, month, day) = civil(unix_s.div_euclid(DAY_S));
    let second = unix_s.rem_euclid(DAY_S);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year}/{month:02}/{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

/// Year, month and day of a number of days since 1970-01-01, in the Gregorian calendar.
///
/// Counted in years that begin on the first of March: the leap day is then the last of the year and
/// the lengths of the months before it repeat every five months (153 days).
fn civil(days_since_1970: i64) -> (i64, i64, i64) {
    let days = days_since_1970 + EPOCH_DAYS;
    let (era, day_of_era) = (days.div_euclid(ERA_DAYS), days.rem_euclid(ERA_DAYS));
    let leap_days = day_of_era / 1460 - day_of_era / 36_524 + day_of_era / (ERA_DAYS - 1);
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = 400 * era + year_of_era + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        ] {
            assert_eq!(utc(unix_s), text);
        }
    }

    #[test]
    fn days_follow_each_other_through_a_whole_era() {
        let is_leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let mut expected = (1970, 1, 1);
        for days in 0..ERA_DAYS {
            assert_eq!(civil(days), expected, "{days} days after 1970");
            let (year, month, day) = expected;
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
