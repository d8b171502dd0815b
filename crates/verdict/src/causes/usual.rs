//! Is the result like the earlier ones of this test on this disk?

use crate::cause::RuleFn::Document as OfDocument;
use crate::cause::{Cause, RuleResult, remark, rule};
use truespd_core::result::Document;
use truespd_core::result::FindingGrade::Remark;
use truespd_core::result::Meaning::Seen;
use truespd_core::result::Theme;
use truespd_core::result::metrics::{Better, Metric};
use truespd_platform::text::{grouped, percent};

pub(super) const CAUSES: &[Cause] = &[Cause::new("unusual", Theme::Symptom).judged(
    rule(520, Remark, Seen, OfDocument(unusual)),
    "The figure lies far outside the range of nine of ten earlier certified results of the same test on the same \
     disk, which `truespd run` finds in the history: by more than half the width of that range, and by more than \
     2 % of their median. It takes 19 earlier results. Where `-g` sets the rate, the figure is a latency.",
    "see what has changed: truespd compare with an earlier result tells the differences, and truespd report \
     --history draws all results of this disk over time",
)];

/// Beyond the range, in widths of it.
const BEYOND_WIDTHS: f64 = 0.5;

/// The same as a part of the median: the results of a rate that is kept hardly differ.
const BEYOND_PART: f64 = 0.02;

fn unusual(document: &Document) -> RuleResult {
    let Some(usual) = &document.usual else { return Ok(Vec::new()) };
    let Some(metric) = Metric::named(&usual.metric) else { return Ok(Vec::new()) };
    let Ok(value) = metric.of(document) else { return Ok(Vec::new()) };
    let beyond = (usual.low - value).max(value - usual.high);
    let allowed = ((usual.high - usual.low) * BEYOND_WIDTHS).max(usual.median * BEYOND_PART);
    if beyond <= allowed {
        return Ok(Vec::new());
    }
    let is_better = match metric.better() {
        Better::Higher => value > usual.high,
        Better::Lower => value < usual.low,
    };
    let says = format!(
        "The figure of {} {} is {} than usual for this disk, by {} of the usual median. Of {} earlier certified \
         results, nine of ten lie from {}. The cause is not known.",
        metric.show(value),
        metric.words(metric.is_response(document)),
        if is_better { "better" } else { "worse" },
        percent((value / usual.median - 1.0).abs()),
        grouped(usual.runs),
        metric.show_range(usual.low, usual.high),
    );
    let finding = remark(says)
        .figure("value", value)
        .figure("low", usual.low)
        .figure("median", usual.median)
        .figure("high", usual.high)
        .figure("runs", usual.runs as f64);
    Ok(vec![finding])
}
