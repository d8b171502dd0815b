//! Rules over a document: can its numbers be trusted, and if not, why.
//!
//! A rule is a pure function over one time span of a document; it asks no machine, so documents of earlier
//! runs can be judged again. Each rule is one row of [`RULES`].

mod rules;

use crate::profile::TimeSpan;
use crate::result::{Document, Finding, Grade, Measured, TimeSpanResult, Unchecked, Verdict};

pub use rules::RULES;

/// One thing that can be wrong with a result.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Name in documents and messages, words joined by hyphens.
    pub name: &'static str,
    /// What it looks for, in one sentence.
    pub about: &'static str,
    /// Looks at one time span.
    pub look: fn(&Case<'_>) -> Look,
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

/// Judges a document by every rule.
pub fn judge(document: &Document) -> Verdict {
    let mut verdict =
        Verdict { rules: RULES.iter().map(|rule| rule.name.to_string()).collect(), ..Verdict::default() };
    for (number, (span, result)) in (1u32..).zip(document.profile.time_spans.iter().zip(&document.time_spans))
    {
        let TimeSpanResult::Measured(measured) = result else { continue };
        let case = Case { document, span, measured };
        for rule in RULES {
            match (rule.look)(&case) {
                Look::Saw(findings) => verdict.findings.extend(findings.into_iter().map(|finding| Finding {
                    rule: rule.name.to_string(),
                    time_span: number,
                    ..finding
                })),
                Look::Missing(why) => {
                    verdict.unchecked.push(Unchecked { rule: rule.name.to_string(), time_span: number, why });
                }
            }
        }
    }
    verdict.findings.sort_by_key(|finding| std::cmp::Reverse(finding.grade));
    verdict.grade = verdict.findings.iter().map(|finding| finding.grade).max().unwrap_or(Grade::Certified);
    verdict
}
