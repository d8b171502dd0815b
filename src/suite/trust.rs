//! What the verdicts of the runs behind a suite's figures say together.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::result::{Document, Finding, Grade};

/// A finding, and the figures it is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    /// What it does to the figures.
    pub grade: Grade,
    /// Name of the rule (docs/verdict-rules.md).
    pub rule: String,
    /// What is so, in one sentence, as the first run said it.
    pub says: String,
    /// Figures, in their order.
    pub of: Vec<String>,
}

/// The worst grade of a run, and its findings, leaving out those that `is_beside_the_point`. A document without a
/// verdict has no grade.
pub fn judged(
    document: &Document,
    is_beside_the_point: impl Fn(&Finding) -> bool,
) -> (Option<Grade>, Vec<&Finding>) {
    let Some(verdict) = &document.verdict else { return (None, Vec::new()) };
    let findings: Vec<&Finding> = verdict.findings.iter().filter(|f| !is_beside_the_point(f)).collect();
    let grade = findings.iter().map(|finding| finding.grade).max().unwrap_or_default();
    (Some(grade), findings)
}

/// Adds findings about the figure `of` that do more than remark: one reason per rule, worst first.
pub fn add(reasons: &mut Vec<Reason>, findings: &[&Finding], of: &str) {
    for finding in findings.iter().filter(|finding| finding.grade > Grade::Certified) {
        let known = reasons.iter_mut().find(|reason| reason.rule == finding.rule);
        match known {
            Some(reason) => {
                reason.grade = reason.grade.max(finding.grade);
                if !reason.of.iter().any(|name| name == of) {
                    reason.of.push(of.to_string());
                }
            }
            None => reasons.push(Reason {
                grade: finding.grade,
                rule: finding.rule.clone(),
                says: finding.says.clone(),
                of: vec![of.to_string()],
            }),
        }
    }
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.grade));
}

/// The worst of some grades; none when nothing was judged.
pub fn worst(grades: impl IntoIterator<Item = Option<Grade>>) -> Option<Grade> {
    grades.into_iter().flatten().max()
}

/// The word for a grade.
pub fn word(grade: Option<Grade>) -> &'static str {
    grade.map_or("not judged", Grade::word)
}

/// Verdict and reasons as lines under a table.
pub fn text(grade: Option<Grade>, reasons: &[Reason]) -> String {
    let mut out = format!("verdict: {}\n", word(grade));
    for reason in reasons {
        let of = reason.of.join("; ");
        out.push_str(&wrapped(&format!(
            "  {}: {}: {} [{of}]",
            word(Some(reason.grade)),
            reason.rule,
            reason.says
        )));
    }
    out
}

/// Columns of text under a table.
const COLUMNS: usize = 100;

/// A paragraph broken at blanks; lines after the first stand four columns further in than it does.
pub fn wrapped(words: &str) -> String {
    let indent = words.len() - words.trim_start().len();
    let mut out = " ".repeat(indent);
    let mut column = indent;
    for word in words.split_whitespace() {
        let width = word.chars().count();
        if column > indent + 4 && column + 1 + width > COLUMNS {
            out.push('\n');
            out.push_str(&" ".repeat(indent + 4));
            column = indent + 4;
        } else if column > indent {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += width;
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::Verdict;

    fn finding(rule: &str, grade: Grade) -> Finding {
        Finding { rule: rule.into(), grade, says: format!("{rule} says"), ..Finding::default() }
    }

    #[test]
    fn reasons_are_told_once_and_the_worst_first() {
        let findings = vec![finding("a", Grade::Suspect), finding("b", Grade::Certified)];
        let verdict = Verdict { grade: Grade::Suspect, findings, ..Verdict::default() };
        let document = Document { verdict: Some(verdict), ..Document::default() };
        let (grade, found) = judged(&document, |_| false);
        assert_eq!(grade, Some(Grade::Suspect));
        let mut reasons = Vec::new();
        add(&mut reasons, &found, "one");
        add(&mut reasons, &found, "two");
        add(&mut reasons, &[&finding("c", Grade::Invalid)], "two");
        let told: Vec<(&str, String)> = reasons.iter().map(|r| (r.rule.as_str(), r.of.join("+"))).collect();
        assert_eq!(told, [("c", "two".to_string()), ("a", "one+two".to_string())], "remarks are none");
        assert_eq!(judged(&document, |f| f.rule == "a").0, Some(Grade::Certified));
        assert_eq!(judged(&Document::default(), |_| false).0, None);
        assert_eq!(worst([None, Some(Grade::Suspect), Some(Grade::Certified)]), Some(Grade::Suspect));
        let shown = text(worst([grade]), &reasons);
        assert!(shown.starts_with("verdict: suspect\n  invalid: c: c says [two]\n"), "{shown}");
    }

    #[test]
    fn long_lines_are_broken() {
        let words = format!("  {}", "word ".repeat(60));
        let text = wrapped(&words);
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
        assert_eq!(text.split_whitespace().count(), 60);
        assert!(text.lines().nth(1).is_some_and(|line| line.starts_with("      word")), "{text}");
    }
}
