//! Verdicts on a page: the grade, why, and what the disks did. Of several results, each thing is told once.

use super::course::Run;
use crate::answer::findings::{Reason, finding_list, folded_item, reason};
use crate::answer::html::{badge, collapsed, escaped, listed, once, paragraph};
use truespd_core::result::{Finding, Verdict};
use truespd_platform::text::with_micro;

/// What a rule says of different runs or targets, at most.
const SAYINGS_MAX: usize = 6;

/// What is found of the runs: grades, proofs, reasons, remarks and what could not be checked.
pub(super) fn verdicts(runs: &[Run]) -> String {
    let mut out = String::new();
    for (name, document) in runs {
        let lead = if runs.len() > 1 { escaped(name) } else { "verdict".to_string() };
        out += &match &document.verdict {
            Some(verdict) => grade_and_proof(&lead, verdict),
            None => format!(
                "<p class=\"verdict\">{lead}: not judged. <code>truespd judge</code> does that.</p>\n"
            ),
        };
        for failure in &document.failures {
            out += &paragraph("invalid", &format!("The run failed: {failure}"));
        }
    }
    let reasons = rule_results(runs).iter().map(|found| reason_of(found, runs.len())).collect();
    out + &finding_list(reasons, &unchecked(runs))
}

/// The grade of a run, and what the counters of the disks or servers show.
fn grade_and_proof(lead: &str, verdict: &Verdict) -> String {
    let mut proofs = Vec::new();
    for proof in verdict.proofs.iter().filter(|proof| !proof.is_empty()) {
        proofs.push(format!(
            "{}: {}",
            escaped(&proof.targets.join(", ")),
            escaped(&with_micro(&proof.words()))
        ));
    }
    let badge = badge(verdict.grade);
    if proofs.is_empty() {
        return format!(
            "<p class=\"verdict\">{lead}: {badge} <span class=\"kind\">the counters of the disks prove nothing here\
             </span></p>\n"
        );
    }
    let proofs = match proofs.as_slice() {
        [proof] => format!("<p class=\"proof\">{proof}</p>"),
        proofs => format!("<ul class=\"proof\"><li>{}</li></ul>", proofs.join("</li><li>")),
    };
    format!("<p class=\"verdict\">{lead}: {badge}</p>\n{proofs}\n")
}

/// A finding of a run.
struct Found<'d> {
    run: &'d str,
    /// The time span and target that it is about; empty where nothing has to be told apart.
    part: String,
    finding: &'d Finding,
}

/// The findings of all runs by rule and grade: the worst first, and within a grade what decides the
/// meaning of the number before what slowed it.
fn rule_results<'d>(runs: &[Run<'d>]) -> Vec<Vec<Found<'d>>> {
    let mut all: Vec<Vec<Found>> = Vec::new();
    for (run, document) in runs {
        let targets = document.profile.targets();
        let mut paths = targets.map(|target| &target.path);
        let first = paths.next();
        let has_targets = first.is_none_or(|first| paths.any(|path| path != first));
        for finding in document.verdict.iter().flat_map(|verdict| &verdict.findings) {
            let mut parts = Vec::new();
            if document.time_spans.len() > 1 && finding.time_span > 0 {
                parts.push(format!("time span {}", finding.time_span));
            }
            if let Some(target) = &finding.target
                && has_targets
            {
                parts.push(format!("'{target}'"));
            }
            let found = Found { run, part: parts.join(", "), finding };
            let mut same = all.iter_mut().filter(|found| found[0].finding.grade == finding.grade);
            match same.find(|found| found[0].finding.rule == finding.rule) {
                Some(others) => others.push(found),
                None => all.push(vec![found]),
            }
        }
    }
    all.sort_by_key(|found| found[0].finding.standing());
    all
}

impl Found<'_> {
    fn subject(&self, has_names: bool) -> String {
        match (has_names, self.part.is_empty()) {
            (true, true) => self.run.to_string(),
            (true, false) => format!("{} ({})", self.run, self.part),
            (false, _) => self.part.clone(),
        }
    }
}

/// What a rule found in all runs: what it says and what to do, each once.
fn reason_of(found: &[Found], run_count: usize) -> Reason {
    let runs = once(found.iter().map(|one| one.run));
    let all_say = collapsed(found.iter().map(|one| (one.subject(runs.len() > 1), one.finding.says.as_str())));
    let advice = once(found.iter().map(|one| one.finding.advice.as_str()));
    let of = match runs.len() {
        _ if run_count == 1 => String::new(),
        count if count == run_count => ", in all of them".to_string(),
        _ => format!(", in {}", listed(&runs)),
    };
    let mut items = Vec::new();
    for (subjects, says) in &all_say {
        let are_runs = subjects.iter().all(|subject| runs.contains(&subject.as_str()));
        if subjects.iter().all(String::is_empty) || (all_say.len() == 1 && are_runs) {
            items.push(escaped(&with_micro(says)));
        } else {
            items.push(format!("{}: {}", escaped(&listed(subjects)), escaped(&with_micro(says))));
        }
    }
    let says = match items.as_slice() {
        [one] => format!("<p>{one}</p>"),
        several => {
            let mut list: String =
                several.iter().take(SAYINGS_MAX).map(|one| format!("<li>{one}</li>")).collect();
            if several.len() > SAYINGS_MAX {
                list += &format!("<li>and {} more</li>", several.len() - SAYINGS_MAX);
            }
            format!("<ul>{list}</ul>")
        }
    };
    let finding = found[0].finding;
    reason(finding.grade, &finding.rule, &of, &says, &advice.join("; "))
}

/// Rules that had no evidence, and why.
fn unchecked(runs: &[Run]) -> String {
    let mut all = Vec::new();
    for (name, document) in runs {
        for one in document.verdict.iter().flat_map(|verdict| &verdict.unchecked) {
            all.push((*name, (one.rule.as_str(), one.why.as_str())));
        }
    }
    let all = collapsed(all);
    if all.is_empty() {
        return String::new();
    }
    let mut items = String::new();
    for (names, (rule, why)) in &all {
        let of = if runs.len() > 1 { format!(" ({})", listed(&once(names))) } else { String::new() };
        items += &format!("<li>{}{}: {}</li>", escaped(rule), escaped(&of), escaped(why));
    }
    folded_item(&format!("rules without evidence: {}", all.len()), &items)
}

#[cfg(test)]
mod tests {
    use super::*;
    use truespd_core::result::Document;
    use truespd_core::result::{FindingGrade, Grade};

    fn document(findings: &[(&str, Option<&str>, &str)]) -> Document {
        let finding = |(rule, target, says): &(&str, Option<&str>, &str)| Finding {
            rule: (*rule).into(),
            grade: FindingGrade::Suspect,
            target: target.map(str::to_string),
            says: (*says).into(),
            advice: format!("{rule} advice"),
            ..Finding::default()
        };
        let findings = findings.iter().map(finding).collect();
        let verdict = Verdict { grade: Grade::Suspect, findings, ..Verdict::default() };
        Document { verdict: Some(verdict), ..Document::default() }
    }

    #[test]
    fn equal_reasons_of_several_runs_are_told_once() {
        let a = document(&[("too-short", None, "5 s"), ("cache", Some("x"), "12 %")]);
        let (b, c) = (document(&[("cache", Some("x"), "13 %")]), document(&[("too-short", None, "5 s")]));
        let html = verdicts(&[("a", &a), ("b", &b), ("c", &c)]);
        assert_eq!(html.matches("too-short</summary>").count(), 1, "{html}");
        assert!(html.contains("suspect, in a and c</p><p>5 s</p>"), "{html}");
        assert!(html.contains("<li>a (&#39;x&#39;): 12 %</li><li>b (&#39;x&#39;): 13 %</li>"), "{html}");
        assert_eq!(html.matches("cache advice").count(), 1);
        assert_eq!(html.matches("class=\"badge suspect\"").count(), 3);
    }

    #[test]
    fn targets_of_one_run_share_a_reason() {
        let a =
            document(&[("cache", Some("x"), "some"), ("cache", Some("y"), "some"), ("steal", None, "3 %")]);
        let html = verdicts(&[("a", &a)]);
        assert!(html.contains("&#39;x&#39; and &#39;y&#39;: some"), "{html}");
        assert!(html.contains("<p class=\"kind\">suspect</p><p>3 %</p>"), "{html}");
        assert!(html.contains("verdict: <strong class=\"badge suspect\">"), "{html}");
    }

    #[test]
    fn a_run_without_a_verdict_says_so() {
        let html = verdicts(&[("a", &Document::default())]);
        assert!(html.contains("verdict: not judged"), "{html}");
    }
}
