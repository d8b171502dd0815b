//! A comparison as people read it.

use super::outcome::Outcome;
use super::report::{Comparison, Effect, Stopped, Variant};
use crate::suite::figures::Spread;
use truespd_core::result::Grade;
use truespd_core::result::metrics::{Better, Metric};
use truespd_core::text::{precise, printable, shell_line};

/// The comparison: both lines, their figures, the effect, the answer, what to know.
pub fn text(report: &Comparison) -> String {
    let mut out = String::new();
    for (name, variant) in [("A", &report.a), ("B", &report.b)] {
        out.push_str(&format!("{name}: {}\n", line(variant)));
    }
    out.push_str(&format!(
        "\n{:<26}{:>6}{:>14}{:>14}{:>6}  verdict\n",
        report.metric.heading(report.is_response),
        "median",
        "smallest",
        "largest",
        "runs"
    ));
    for (name, variant) in [("A", &report.a), ("B", &report.b)] {
        out.push_str(&row(report, name, variant));
    }
    out.push('\n');
    if let Some(effect) = &report.effect {
        out.push_str(&effect_lines(report, effect));
    }
    out.push_str(&format!("{}\n", sentence(report)));
    for remark in &report.remarks {
        out.push_str(&format!("note: {remark}\n"));
    }
    out
}

fn line(variant: &Variant) -> String {
    printable(&shell_line(&variant.words))
}

fn row(report: &Comparison, name: &str, variant: &Variant) -> String {
    let Some(figures) = variant.figures else {
        return format!("{name:<18}{:>14}{:>14}{:>14}{:>6}\n", "-", "-", "-", 0);
    };
    let grade = match (variant.grade, variant.invalid_runs) {
        (Grade::Invalid, runs) if runs != figures.count => {
            format!("{} ({runs} of {})", Grade::Invalid.loud_word(), figures.count)
        }
        (grade, _) => grade.loud_word().to_string(),
    };
    format!("{name:<18}{}{:>6}  {grade}\n", columns(report.metric, &figures), figures.count)
}

/// Median, smallest and largest.
pub(in crate::suite) fn columns(metric: Metric, figures: &Spread) -> String {
    [figures.median, figures.min, figures.max].map(|value| format!("{:>14}", metric.show(value))).concat()
}

fn effect_lines(report: &Comparison, effect: &Effect) -> String {
    let show = |value: f64| {
        let sign = if value < 0.0 { "-" } else { "+" };
        format!("{sign}{}", report.metric.show(value.abs()))
    };
    let confidence = confidence(effect);
    let p = format!(
        "p      {}  ({} blocks of four runs, {} planned at most)\n\n",
        p_words(effect.p),
        effect.blocks,
        report.blocks_max
    );
    if !is_of_use(effect.ratio_low, effect.ratio_high) {
        let ratios = Spread::of(report.blocks.iter().map(|block| block.log_ratio.exp()));
        let ratios =
            ratios.map_or(String::new(), |of| format!(": {} to {}", precise(of.min), precise(of.max)));
        return format!(
            "B / A  {}  (no {confidence} interval: the blocks differ too much{ratios})\n{p}",
            precise(effect.ratio)
        );
    }
    format!(
        "B / A  {:.4}  ({confidence} interval {:.4} to {:.4})\n\
         B - A  {}  ({confidence} interval {} to {})\n{p}",
        effect.ratio,
        effect.ratio_low,
        effect.ratio_high,
        show(effect.difference),
        show(effect.difference_low),
        show(effect.difference_high),
    )
}

/// 95 %
fn confidence(effect: &Effect) -> String {
    // Without what is left of the subtraction.
    format!("{} %", (effect.confidence * 1e6).round() / 1e4)
}

/// The largest interval that tells anything, as the ratio of its ends.
const WIDEST: f64 = 100.0;

/// Whether an interval tells anything. The ends of a wider one are artefacts of the few blocks behind it.
pub fn is_of_use(ratio_low: f64, ratio_high: f64) -> bool {
    ratio_high <= ratio_low * WIDEST
}

fn p_words(p: f64) -> String {
    match p {
        p if p <= super::sequential::P_MIN => "< 0.000001".into(),
        p if p < 0.001 => format!("{p:.6}"),
        p => format!("{p:.3}"),
    }
}

/// A ratio as a signed change in percent.
fn percent(ratio: f64) -> String {
    let value = (ratio - 1.0) * 100.0;
    let digits = if value.abs() < 1.0 { 2 } else { 1 };
    match format!("{value:+.digits$} %") {
        zero if zero == "+0.00 %" || zero == "-0.00 %" => "0 %".into(),
        other => other,
    }
}

/// An undecided comparison with a smaller p looks like a difference.
const LOOKS_DIFFERENT_P: f64 = 0.05;

/// The answer in a sentence or two, without a line end.
pub fn sentence(report: &Comparison) -> String {
    let what = report.what();
    let margin = precise(report.margin_percent);
    let Some(effect) = &report.effect else {
        let why = match report.stopped {
            Stopped::Person => "stopped",
            Stopped::Failure => "a run failed",
            Stopped::Decided | Stopped::Blocks | Stopped::Time => "the limits are reached",
        };
        return format!(
            "undecided: {why} after {}, but at least {} are needed",
            match report.blocks.len() {
                1 => "1 block".to_string(),
                blocks => format!("{blocks} blocks"),
            },
            super::sequential::BLOCKS_MIN.min(report.blocks_max)
        );
    };
    let range = if is_of_use(effect.ratio_low, effect.ratio_high) {
        format!(
            "{} interval {} to {}",
            confidence(effect),
            percent(effect.ratio_low),
            percent(effect.ratio_high)
        )
    } else {
        format!("no {} interval: the blocks differ too much", confidence(effect))
    };
    match report.outcome {
        Outcome::Different => {
            let p = if effect.p <= super::sequential::P_MIN {
                p_words(effect.p)
            } else {
                format!("= {}", p_words(effect.p))
            };
            format!("different: {} ({range}; p {p})", b_is(report, effect))
        }
        Outcome::Equivalent => {
            let but = if effect.p < report.significance {
                format!("; there is one of {}, which is too small to matter", percent(effect.ratio))
            } else {
                String::new()
            };
            format!("no difference in {what} larger than {margin} % ({range}){but}")
        }
        Outcome::Undecided => undecided(report, effect, &range),
    }
}

/// In the middle of a sentence: IOPS 5.0 % higher with B than with A, which is better
fn b_is(report: &Comparison, effect: &Effect) -> String {
    let is_higher = effect.ratio > 1.0;
    let is_better = is_higher == (report.metric.better() == Better::Higher);
    format!(
        "{} {} {} with B than with A, which is {}",
        report.what(),
        percent(effect.ratio).trim_start_matches(['+', '-']),
        if is_higher { "higher" } else { "lower" },
        if is_better { "better" } else { "worse" }
    )
}

fn undecided(report: &Comparison, effect: &Effect, range: &str) -> String {
    let by = match report.stopped {
        Stopped::Time => "the time ran out; raise --max-minutes",
        Stopped::Person => "stopped",
        Stopped::Failure => "a run failed",
        Stopped::Decided | Stopped::Blocks => "all blocks are done; raise --blocks",
    };
    // Enough to suspect a difference, too little to promise one.
    let asked = if effect.p < LOOKS_DIFFERENT_P && effect.p >= report.significance {
        format!("; p = {}, and --significance asks for less than {}", p_words(effect.p), report.significance)
    } else {
        String::new()
    };
    let why = if asked.is_empty() {
        format!(
            "neither a difference in {} nor its absence within {} % is shown",
            report.what(),
            precise(report.margin_percent)
        )
    } else {
        format!("probably {}, but {} blocks are too few to be sure", b_is(report, effect), effect.blocks)
    };
    format!("undecided: {why} ({range}{asked}; {by})")
}
