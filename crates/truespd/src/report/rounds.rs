//! The rounds of a run with `--until-steady`: how each figure came to its steady state, as SNIA's Performance Test
//! Specification plots it. A figure has a chart of its own, because the rule looks at each by itself.

use super::course::Course;
use crate::answer::axis::Point;
use crate::answer::chart::{Chart, Phase, Series, Ticks};
use crate::answer::html::latency_words;
use truespd_core::profile::SteadyRule;
use truespd_core::result::Rounds;
use truespd_core::result::rounds::{Tracked, values};
use truespd_platform::text::number;

/// More numbers of rounds than this would touch each other.
const TICKS_MAX: usize = 25;

/// The charts of all courses that measured in rounds.
pub(super) fn of_rounds(courses: &[Course]) -> Vec<Chart> {
    let mut charts = Vec::new();
    for course in courses {
        let (rounds, rule) = (course.measured.rounds.as_ref(), course.span.until_steady.as_ref());
        let Some((rounds, rule)) = rounds.zip(rule) else { continue };
        // A single round has no course.
        if rounds.rounds.len() < 2 {
            continue;
        }
        for (name, values) in values(&rounds.rounds) {
            let mut chart = of_figure(name, &values, rounds, rule);
            if !course.name.is_empty() {
                chart.title += &format!(": {}", course.name);
            }
            charts.push(chart);
        }
    }
    charts
}

/// One figure, of which there is a value for each round.
fn of_figure(name: &'static str, values: &[f64], rounds: &Rounds, rule: &SteadyRule) -> Chart {
    let title = format!("{}{} of each round", name[..1].to_uppercase(), &name[1..]);
    let is_latency = name.contains("latency");
    let (y_name, show) =
        if is_latency { (name, latency_words as fn(f64) -> String) } else { (name, number as _) };
    let x_name = format!("rounds of {} s", number(rounds.round_s));
    let mut chart = Chart::new(&title, &x_name, y_name, round_words, show);
    let numbers = (1..=values.len()).step_by(values.len().div_ceil(TICKS_MAX));
    chart.ticks = Ticks::Named(numbers.map(|number| (number as f64, number.to_string())).collect());
    let mut points = Vec::new();
    for (place, value) in values.iter().enumerate() {
        points.push(Point::at((place + 1) as f64, *value));
    }
    let first = rounds.window_first as usize;
    let window = points.get(first..).unwrap_or_default().to_vec();
    chart.series.push(Series::new("each round", points));
    if let [from, .., to] = window.as_slice() {
        let what = if rounds.is_steady { "window: steady" } else { "window: not steady" };
        chart.phases.push(Phase { name: what, from: from.x, to: to.x });
        push_window(&mut chart, &window, Tracked::of(name, &values[first..]), rule);
    }
    chart
}

/// The mean of the window with what the rule allows around it, and the best straight line through its rounds.
pub(super) fn push_window(chart: &mut Chart, window: &[Point], tracked: Tracked, rule: &SteadyRule) {
    let excursions = tracked.excursions;
    let mean = window.iter().map(|point| point.y).sum::<f64>() / window.len() as f64;
    let half = mean * f64::from(rule.range_percent) / 200.0;
    let last = (window.len() - 1) as f64;
    let (mut means, mut line) = (Vec::new(), Vec::new());
    for (place, point) in window.iter().enumerate() {
        means.push(Point { x: point.x, y: mean, range: [mean - half, mean + half] });
        // The line goes through the mean in the middle of the window.
        let share = place as f64 / last - 0.5;
        line.push(Point::at(point.x, mean * (1.0 + excursions.slope * share)));
    }
    let allowed = format!("mean of the window \u{b1} {:.1} %", f64::from(rule.range_percent) / 2.0);
    chart.series.push(Series::new(allowed.replace(".0 %", " %"), means));
    let line = Series { solid_until: f64::NEG_INFINITY, ..Series::new("best straight line", line) };
    chart.series.push(line);
    let keeps = if tracked.is_steady(rule) { "steady" } else { "not steady" };
    chart.about = format!(
        "The mean of the window is {}. Its largest round is {:.1} % of that above the smallest ({} % at most), and the \
         best straight line changes by {:+.1} % ({} % at most): by this figure it is {keeps}.",
        (chart.show_y)(mean),
        excursions.range * 100.0,
        rule.range_percent,
        excursions.slope * 100.0,
        rule.slope_percent,
    );
}

pub(super) fn round_words(number: f64) -> String {
    format!("round {number:.0}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use truespd_core::result::Round;

    fn rounds(writes: &[f64], window_first: u32, is_steady: bool) -> Rounds {
        let round = |iops: &f64| Round {
            read_iops: 0.0,
            write_iops: *iops,
            trim_iops: 0.0,
            latency_mean_ns: 1e9 / iops,
        };
        Rounds { round_s: 60.0, rounds: writes.iter().map(round).collect(), window_first, is_steady }
    }

    fn chart_of(rounds: &Rounds) -> Chart {
        let values: Vec<f64> = rounds.rounds.iter().map(|round| round.write_iops).collect();
        of_figure("write IOPS", &values, rounds, &SteadyRule::default())
    }

    #[test]
    fn the_window_has_its_mean_what_is_allowed_and_its_line() {
        let chart = chart_of(&rounds(&[300.0, 150.0, 95.0, 97.5, 100.0, 102.5, 105.0], 2, true));
        assert_eq!(
            (chart.title.as_str(), chart.phases[0].name),
            ("Write IOPS of each round", "window: steady")
        );
        assert_eq!([chart.phases[0].from, chart.phases[0].to], [3.0, 7.0]);
        let [all, mean, line] = chart.series.as_slice() else { panic!("{:?}", chart.series) };
        assert_eq!((all.points.len(), mean.points.len(), line.points.len()), (7, 5, 5));
        assert_eq!(mean.name, "mean of the window \u{b1} 10 %");
        assert_eq!(mean.points[4], Point { x: 7.0, y: 100.0, range: [90.0, 110.0] });
        // The rounds of the window lie on a line, which is theirs.
        for (point, round) in line.points.iter().zip(&all.points[2..]) {
            assert!((point.y - round.y).abs() < 1e-9 && point.x == round.x, "{point:?} {round:?}");
        }
        assert!(
            chart
                .about
                .contains("is 100. Its largest round is 10.0 % of that above the smallest (20 % at most)"),
            "{}",
            chart.about
        );
        assert!(
            chart.about.ends_with("changes by +10.0 % (10 % at most): by this figure it is steady."),
            "{}",
            chart.about
        );
    }

    #[test]
    fn what_never_became_steady_says_so_and_a_run_that_was_stopped_early_has_no_window() {
        let never = chart_of(&rounds(&[300.0, 100.0, 300.0, 100.0, 300.0, 100.0], 1, false));
        assert_eq!(never.phases[0].name, "window: not steady");
        assert!(never.about.ends_with("it is not steady."), "{}", never.about);
        let stopped = chart_of(&rounds(&[300.0, 100.0], 2, false));
        assert_eq!((stopped.series.len(), stopped.phases.len(), stopped.about.as_str()), (1, 0, ""));
    }
}
