//! The rounds of a run with `--until-steady`: how each figure came to its steady state, as SNIA's Performance Test
//! Specification plots it. A figure has a chart of its own, because the rule looks at each by itself.

use super::course::Course;
use crate::answer::chart::Chart;
use crate::answer::html::latency_words;
use crate::answer::rounds::{self, Window, push_window};
use truespd_core::profile::SteadyRule;
use truespd_core::result::Rounds;
use truespd_core::result::rounds::{Tracked, values};
use truespd_platform::text::number;

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
fn of_figure(name: &'static str, values: &[f64], measured: &Rounds, rule: &SteadyRule) -> Chart {
    let title = format!("{}{} of each round", name[..1].to_uppercase(), &name[1..]);
    let is_latency = name.contains("latency");
    let (y_name, show) =
        if is_latency { (name, latency_words as fn(f64) -> String) } else { (name, number as _) };
    let mut chart = rounds::of_rounds(&title, y_name, show, values.len());
    chart.x_name = format!("rounds of {} s", number(measured.round_s));
    chart.series.push(rounds::line("each round", values.iter().copied().map(Some)));
    let window = values.get(measured.window_first as usize..).unwrap_or_default();
    let (tracked, is_steady) = (Tracked::of(name, window), measured.is_steady);
    push_window(&mut chart, &Window { rounds: window.len(), tracked, rule, is_steady });
    chart
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::axis::Point;
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
