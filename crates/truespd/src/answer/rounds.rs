//! Charts over the rounds of a test, with the window that tells whether it is steady, as SNIA's Performance Test
//! Specification plots it.

use super::axis::Point;
use super::chart::{Chart, Phase, Series, Ticks};
use truespd_core::profile::SteadyRule;
use truespd_core::result::rounds::Tracked;

/// More numbers of rounds than this would touch each other.
const TICKS_MAX: usize = 25;

/// An empty chart whose x axis has a number for each round.
pub fn of_rounds(title: &str, y_name: &str, show_y: fn(f64) -> String, rounds: usize) -> Chart {
    let mut chart = Chart::new(title, "rounds", y_name, round_words, show_y);
    let numbers = (1..=rounds).step_by(rounds.div_ceil(TICKS_MAX).max(1));
    chart.ticks = Ticks::Named(numbers.map(|number| (number as f64, number.to_string())).collect());
    chart
}

fn round_words(number: f64) -> String {
    format!("round {number:.0}")
}

/// A line with the value of each round that has one.
pub fn line(name: &str, values: impl Iterator<Item = Option<f64>>) -> Series {
    let mut points = Vec::new();
    for (place, value) in values.enumerate() {
        points.extend(value.map(|value| Point::at((place + 1) as f64, value)));
    }
    Series::new(name, points)
}

/// The last rounds, by which a figure is judged.
#[derive(Debug, Clone, Copy)]
pub struct Window<'a> {
    pub rounds: usize,
    pub tracked: Tracked,
    pub rule: &'a SteadyRule,
    /// Whether the test is steady in it, by all of its figures.
    pub is_steady: bool,
}

/// The mean of the window with what the rule allows around it, and the best straight line through its rounds, which are
/// the last of the first line. Nothing where it has fewer than two rounds.
pub fn push_window(chart: &mut Chart, window: &Window) {
    let Some(all) = chart.series.first().map(|series| &series.points) else { return };
    let points = all[all.len().saturating_sub(window.rounds)..].to_vec();
    let [from, .., to] = points.as_slice() else { return };
    let name = if window.is_steady { "window: steady" } else { "window: not steady" };
    chart.phases.push(Phase { name, from: from.x, to: to.x });
    let (rule, excursions) = (window.rule, window.tracked.excursions);
    let mean = points.iter().map(|point| point.y).sum::<f64>() / points.len() as f64;
    let half = mean * f64::from(rule.range_percent) / 200.0;
    let last = (points.len() - 1) as f64;
    let (mut means, mut line) = (Vec::new(), Vec::new());
    for (place, point) in points.iter().enumerate() {
        means.push(Point { x: point.x, y: mean, range: [mean - half, mean + half] });
        // The line goes through the mean in the middle of the window.
        let share = place as f64 / last - 0.5;
        line.push(Point::at(point.x, mean * (1.0 + excursions.slope * share)));
    }
    let allowed = format!("mean of the window \u{b1} {:.1} %", f64::from(rule.range_percent) / 2.0);
    chart.series.push(Series::new(allowed.replace(".0 %", " %"), means));
    let line = Series { solid_until: f64::NEG_INFINITY, ..Series::new("best straight line", line) };
    chart.series.push(line);
    let keeps = if window.tracked.is_steady(rule) { "steady" } else { "not steady" };
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
