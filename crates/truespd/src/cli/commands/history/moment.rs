//! Moments as people type them.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp};

use truespd_core::fault::Refusal;

const LEGAL: &str =
    "legal: a time (2026-11-23, 2026-11-23T10:00, both UTC) or how long ago (90d, 12h, 2w, 6mo)";

/// A moment in seconds since 1970 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment(pub i64);

/// Reads a moment, or how long ago it was.
pub(super) fn moment(text: &str) -> Result<Moment, Refusal> {
    read(text, Timestamp::now()).ok_or_else(|| Refusal::command_line(LEGAL))
}

/// Reads how long ago it was.
pub(super) fn ago(text: &str) -> Result<Moment, Refusal> {
    let legal = || Refusal::command_line("legal: an age: 90d, 12h, 2w, 6mo");
    before(text, Timestamp::now()).map(Moment).ok_or_else(legal)
}

fn read(text: &str, now: Timestamp) -> Option<Moment> {
    let stamp = || text.parse::<Timestamp>().ok();
    let civil = || text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp());
    let typed = stamp().or_else(civil).map(|moment| moment.as_second());
    typed.or_else(|| before(text, now)).map(Moment)
}

fn before(text: &str, now: Timestamp) -> Option<i64> {
    // jiff reads a number without a unit as nothing, and `-2d` or `2d ago` as a time to come when it is taken away.
    let span: Span = text.parse().ok().filter(|span: &Span| span.is_positive())?;
    let before = now.to_zoned(TimeZone::UTC).checked_sub(span).ok()?;
    Some(before.timestamp().as_second())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_as_people_type_them() {
        let now: Timestamp = "2026-11-23T12:00:00Z".parse().unwrap();
        for (text, meant) in [
            ("2026-11-23", "2026-11-23T00:00:00Z"),
            ("2026-11-23T10:30", "2026-11-23T10:30:00Z"),
            ("2026-11-23 10:30", "2026-11-23T10:30:00Z"),
            ("2026-11-23T10:30:00+02:00", "2026-11-23T08:30:00Z"),
            ("90d", "2026-08-25T12:00:00Z"),
            ("12h", "2026-11-23T00:00:00Z"),
            ("2w", "2026-11-09T12:00:00Z"),
            ("1mo", "2026-10-23T12:00:00Z"),
        ] {
            let meant: Timestamp = meant.parse().unwrap();
            assert_eq!(read(text, now), Some(Moment(meant.as_second())), "{text}");
        }
        for none in ["", "90", "-2d", "yesterday", "2026-13-01", "2d ago", "99999999999d"] {
            assert_eq!(read(none, now), None, "{none}");
        }
        assert!(before("2026-11-23", now).is_none());
    }
}
