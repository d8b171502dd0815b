//! Rules over a document: can its numbers be trusted, and if not, why.
//!
//! A rule is a pure function over one time span of a document; it asks no machine, so documents of earlier
//! runs can be judged again. Each rule is one row of [`RULES`].

pub mod before;
mod figures;
mod rules;
mod view;

use crate::profile::TimeSpan;
use crate::result::{Document, Finding, Grade, Measured, TimeSpanResult, Unchecked, Verdict};

pub use rules::{RULES, thresholds};

/// One thing that can be wrong with a result.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Name in documents and messages, words joined by hyphens.
    pub name: &'static str,
    /// The worst it can do to a result; [`Grade::Certified`] for a rule that only remarks.
    pub worst: Grade,
    /// What it looks for.
    pub about: &'static str,
    /// What to do about it, in one line; a finding that has no advice of its own carries this.
    pub advice: &'static str,
    /// How it looks.
    pub look: Looks,
}

/// How a rule looks.
#[derive(Debug, Clone, Copy)]
pub enum Looks {
    /// At the document as a whole; its findings name their time span.
    Document(fn(&Document) -> Look),
    /// At every measured time span.
    Span(fn(&Case<'_>) -> Look),
    /// At every measured time span whose I/O reached the targets: not at simulated ones.
    RealSpan(fn(&Case<'_>) -> Look),
}

/// What a rule looks at.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// All of the document.
    pub document: &'a Document,
    /// What was asked for in this time span.
    pub span: &'a TimeSpan,
    /// What came of it.
    pub measured: &'a Measured,
}

/// What a rule saw.
#[derive(Debug, Clone, PartialEq)]
pub enum Look {
    /// Evidence enough, and these findings (none: all is well). [`judge`] fills in rule and time span.
    Saw(Vec<Finding>),
    /// Some evidence is missing: which, in words.
    Missing(String),
}

impl Look {
    /// Evidence enough, and nothing wrong.
    fn nothing() -> Look {
        Look::Saw(Vec::new())
    }

    fn missing(what: &str) -> Look {
        Look::Missing(what.to_string())
    }
}

impl Case<'_> {
    /// Whether the I/O reached no target (`--engine null`, `--engine sim`).
    pub fn is_simulated(&self) -> bool {
        self.measured.engine_traits.is_some_and(|engine| engine.touches_no_storage)
    }
}

/// Judges a document by every rule.
pub fn judge(document: &Document) -> Verdict {
    let mut verdict =
        Verdict { rules: RULES.iter().map(|rule| rule.name.to_string()).collect(), ..Verdict::default() };
    for rule in RULES {
        match rule.look {
            Looks::Document(look) => take(&mut verdict, rule, None, look(document)),
            Looks::Span(look) => {
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
    // Stable: within a grade the order of the table, within a rule that of the time spans.
    verdict.findings.sort_by_key(|finding| std::cmp::Reverse(finding.grade));
    verdict.grade = verdict.findings.iter().map(|finding| finding.grade).max().unwrap_or(Grade::Certified);
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
        Look::Saw(findings) => verdict.findings.extend(findings.into_iter().map(|mut finding| {
            debug_assert!(finding.grade <= rule.worst, "{} promises no {:?}", rule.name, finding.grade);
            finding.rule = rule.name.to_string();
            finding.time_span = time_span.unwrap_or(finding.time_span);
            if finding.advice.is_empty() {
                finding.advice = rule.advice.to_string();
            }
            finding
        })),
        Look::Missing(why) => {
            let time_span = time_span.unwrap_or_default();
            verdict.unchecked.push(Unchecked { rule: rule.name.to_string(), time_span, why });
        }
    }
}
