//! Rules over a document: can its numbers be trusted, and if not, why.
//!
//! A rule is a pure function over one time span of a document; it asks no machine, so documents of earlier
//! runs can be judged again. Each rule is one row of [`RULES`].

pub mod before;
mod case;
mod few;
mod figures;
mod proof;
mod rules;
mod view;

use crate::result::{Document, Finding, Grade, TimeSpanResult, Unchecked, Verdict};

pub use case::{Case, Look, Looks, Missing, Rule};
pub use rules::{RULES, thresholds};

/// Judges a document by every rule that looks at such documents: results of one run, or sums of several.
pub fn judge(document: &Document) -> Verdict {
    let rules = || RULES.iter().filter(|rule| rule.look.takes(document));
    let mut verdict =
        Verdict { rules: rules().map(|rule| rule.name.to_string()).collect(), ..Verdict::default() };
    for rule in rules() {
        match rule.look {
            Looks::Document(look) | Looks::Sum(look) => take(&mut verdict, rule, None, look(document)),
            Looks::Span(look) | Looks::RunSpan(look) => {
                for (number, case) in cases(document) {
                    take(&mut verdict, rule, Some(number), look(&case));
                }
            }
            Looks::RealSpan(look) => {
                for (number, case) in cases(document).filter(|(_, case)| !case.is_simulated()) {
                    take(&mut verdict, rule, Some(number), look(&case));
                }
            }
        }
    }
    for (number, case) in cases(document).filter(|(_, case)| !case.is_simulated()) {
        verdict.proofs.extend(proof::of(&case, number));
    }
    // Stable: within a cause the order of the table, within a rule that of the time spans.
    verdict.findings.sort_by_key(Finding::standing);
    verdict.grade = Grade::of(&verdict.findings);
    verdict
}

/// The measured time spans with their numbers, from 1.
fn cases(document: &Document) -> impl Iterator<Item = (u32, Case<'_>)> {
    let spans = (1u32..).zip(document.profile.time_spans.iter().zip(&document.time_spans));
    spans.filter_map(move |(number, (span, result))| match result {
        TimeSpanResult::Measured(measured) => Some((number, Case { document, span, measured })),
        TimeSpanResult::NotMeasured => None,
    })
}

fn take(verdict: &mut Verdict, rule: &Rule, time_span: Option<u32>, look: Look) {
    match look {
        Ok(findings) => verdict.findings.extend(findings.into_iter().map(|mut finding| {
            debug_assert!(finding.grade <= rule.worst, "{} promises no {:?}", rule.name, finding.grade);
            finding.rule = rule.name.to_string();
            finding.meaning = rule.meaning;
            finding.cause = rule.cause;
            finding.time_span = time_span.unwrap_or(finding.time_span);
            if finding.advice.is_empty() {
                finding.advice = rule.advice.to_string();
            }
            finding
        })),
        Err(Missing(why)) => {
            let time_span = time_span.unwrap_or_default();
            verdict.unchecked.push(Unchecked { rule: rule.name.to_string(), time_span, why });
        }
    }
}
