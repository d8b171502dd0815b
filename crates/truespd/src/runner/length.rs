//! How long the runs of a suite take, which is a range where they measure until they are steady.

use truespd_core::profile::{SteadyRule, TimeSpan};
use truespd_platform::text::clock;

/// How long a run takes, or several with the pauses between them. One that measures until it is steady takes any time
/// between `least_s` and `most_s`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Length {
    pub least_s: f64,
    pub most_s: f64,
    /// The part of both that the option --until-steady of a series repeats: measured time of runs that count.
    pub round_s: f64,
}

impl Length {
    /// So many seconds, which are not measured in rounds.
    pub fn exactly(seconds: f64) -> Self {
        Length { least_s: seconds, most_s: seconds, round_s: 0.0 }
    }

    /// A run of so many measured seconds, and others around them.
    pub fn measured(measured_s: f64, around_s: f64) -> Self {
        Length { round_s: measured_s, ..Length::exactly(measured_s + around_s) }
    }

    /// A run of a time span: the line may itself say that it measures until it is steady.
    pub fn of(span: &TimeSpan) -> Self {
        let around_s = f64::from(span.warmup_s) + f64::from(span.cooldown_s);
        match span.until_steady {
            None => Length::measured(f64::from(span.duration_s), around_s),
            Some(_) => Length {
                least_s: span.result_s() as f64 + around_s,
                most_s: span.all_s_max() as f64,
                round_s: 0.0,
            },
        }
    }

    /// The same of runs that do not count: they are not measured in rounds.
    pub fn uncounted(self) -> Self {
        Length { round_s: 0.0, ..self }
    }

    /// With so many seconds more that are not measured.
    pub fn and(self, seconds: f64) -> Self {
        Length { least_s: self.least_s + seconds, most_s: self.most_s + seconds, ..self }
    }

    /// So many runs one after the other.
    pub fn times(self, count: f64) -> Self {
        Length { least_s: self.least_s * count, most_s: self.most_s * count, round_s: self.round_s * count }
    }

    /// No longer than so many seconds.
    pub fn within(self, seconds: f64) -> Self {
        Length { least_s: self.least_s.min(seconds), most_s: self.most_s.min(seconds), ..self }
    }

    /// Where the series has --until-steady: each run that counts has as many rounds as SNIA's rule needs.
    pub fn until_steady(self) -> Self {
        let rule = SteadyRule::default();
        Length {
            least_s: self.least_s + self.round_s * f64::from(rule.window - 1),
            most_s: self.most_s + self.round_s * f64::from(rule.rounds - 1),
            round_s: 0.0,
        }
    }

    /// For people, before it begins: `43 s`, `25 min to 2 h 5 min`
    pub fn words(self) -> String {
        let [least, most] = [self.least_s, self.most_s].map(duration_words);
        if least == most { least } else { format!("{least} to {most}") }
    }

    /// The time left as a clock shows it: `5:00`, `5:00 to 25:00`
    pub fn clock(self) -> String {
        let [least, most] = [self.least_s, self.most_s].map(clock);
        if least == most { least } else { format!("{least} to {most}") }
    }
}

/// `13 s`, `43 min`, `2 h 5 min`; what has begun counts whole.
pub fn duration_words(seconds: f64) -> String {
    let minutes = (seconds / 60.0).ceil() as u64;
    match minutes {
        0..3 => format!("{:.0} s", seconds.ceil()),
        3..120 => format!("{minutes} min"),
        _ => format!("{} h {} min", minutes / 60, minutes % 60),
    }
}

impl std::iter::Sum for Length {
    fn sum<I: Iterator<Item = Length>>(all: I) -> Self {
        all.fold(Length::default(), |a, b| Length {
            least_s: a.least_s + b.least_s,
            most_s: a.most_s + b.most_s,
            round_s: a.round_s + b.round_s,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn until_it_is_steady_takes_five_to_25_rounds() {
        let length = Length::measured(10.0, 2.5);
        assert_eq!((length.words().as_str(), length.clock().as_str()), ("13 s", "0:13"));
        let ten = length.times(10.0).and(60.0).until_steady();
        assert_eq!((ten.least_s, ten.most_s, ten.round_s), (585.0, 2585.0, 0.0));
        assert_eq!(ten.until_steady(), ten, "once");
        assert_eq!((ten.words().as_str(), ten.clock().as_str()), ("10 min to 44 min", "9:45 to 43:05"));
        assert_eq!(ten.within(600.0).clock(), "9:45 to 10:00");
        assert_eq!([120.0, 7199.0, 7260.5].map(duration_words), ["120 s", "2 h 0 min", "2 h 2 min"]);
        // What the line itself says is not repeated by the series.
        let rule = SteadyRule { window: 3, rounds: 4, ..SteadyRule::default() };
        let span = TimeSpan { duration_s: 10, warmup_s: 2, until_steady: Some(rule), ..TimeSpan::default() };
        let own = Length::of(&span);
        assert_eq!((own.least_s, own.most_s, own.until_steady()), (32.0, 42.0, own));
    }
}
