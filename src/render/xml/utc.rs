//! Seconds since 1970 as DiskSpd writes a moment.

const DAY_S: i64 = 86_400;

/// `2025/03/04 05:06:07 UTC` for seconds since 1970 UTC.
pub(super) fn utc(unix_s: i64) -> String {
    let (mut year, mut day) = (1970, unix_s.div_euclid(DAY_S));
    // Whole cycles of the calendar first, so that no value takes long.
    let cycles = day.div_euclid(146_097);
    year += 400 * cycles;
    day -= 146_097 * cycles;
    while day >= year_days(year) {
        day -= year_days(year);
        year += 1;
    }
    let mut month = 1;
    while day >= month_days(year, month) {
        day -= month_days(year, month);
        month += 1;
    }
    let second = unix_s.rem_euclid(DAY_S);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year}/{month:02}/{:02} {hour:02}:{minute:02}:{second:02} UTC", day + 1)
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn year_days(year: i64) -> i64 {
    365 + i64::from(is_leap(year))
}

fn month_days(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments() {
        for (unix_s, text) in [
            (0, "1970/01/01 00:00:00 UTC"),
            (-1, "1969/12/31 23:59:59 UTC"),
            (951_782_400, "2000/02/29 00:00:00 UTC"),
            (1_741_064_767, "2025/03/04 05:06:07 UTC"),
            (4_107_542_400, "2100/03/01 00:00:00 UTC"),
            (253_402_300_799, "9999/12/31 23:59:59 UTC"),
        ] {
            assert_eq!(utc(unix_s), text);
        }
        assert!(utc(i64::MAX).ends_with("UTC"));
        assert!(utc(i64::MIN).ends_with("UTC"));
    }
}
