//! A comparison as people read it.

use super::outcome::Outcome;
use super::report::{Comparison, Effect, Stopped, Variant};
use crate::result::Grade;
use crate::result::metrics::Metric;
use crate::suite::figures::Spread;
use crate::text::{precise, printable, shell_line};

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
    let confidence = effect.confidence * 100.0;
    format!(
        "B / A  {:.4}  ({confidence:.0} % interval {:.4} to {:.4})\n\
         B - A  {}  ({confidence:.0} % interval {} to {})\n\
         p      {}  ({} blocks of four runs, {} planned at most)\n\n",
        effect.ratio,
        effect.ratio_low,
        effect.ratio_high,
        show(effect.difference),
        show(effect.difference_low),
        show(effect.difference_high),
        p_words(effect.p),
        effect.blocks,
        report.blocks_max
    )
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
    let range = format!("{} to {}", percent(effect.ratio_low), percent(effect.ratio_high));
    match report.outcome {
        Outcome::Different => {
            let higher = effect.ratio > 1.0;
            let p = match effect.p <= super::sequential::P_MIN {
                true => p_words(effect.p),
                false => format!("= {}", p_words(effect.p)),
            };
            format!(
                "different: {what} {} {} with B than with A, which is {} (95 % interval {range}; p {p})",
                percent(effect.ratio).trim_start_matches(['+', '-']),
                if higher { "higher" } else { "lower" },
                if report.is_b_better() == Some(true) { "better" } else { "worse" }
            )
        }
        Outcome::Equivalent => {
            let but = match effect.p < report.significance {
                true => format!("; there is one of {}, which is too small to matter", percent(effect.ratio)),
                false => String::new(),
            };
            format!("no difference in {what} larger than {margin} % (95 % interval {range}){but}")
        }
        Outcome::Undecided => {
            let by = match report.stopped {
                Stopped::Time => "the time ran out; raise --max-minutes",
                Stopped::Person => "stopped",
                Stopped::Failure => "a run failed",
                Stopped::Decided | Stopped::Blocks => "all blocks are done; raise --blocks",
            };
            // The interval alone would look like an answer.
            let but = match effect.ratio_low > 1.0 || effect.ratio_high < 1.0 {
                true => format!(
                    "; p = {}, and --significance asks for less than {}",
                    p_words(effect.p),
                    report.significance
                ),
                false => String::new(),
            };
            format!(
                "undecided: neither a difference in {what} nor its absence within {margin} % is shown (95 % interval \
                 {range}{but}; {by})"
            )
        }
    }
}
