//! Verdicts on a page: the grade, why, and what the disks did. Of several results, each thing is told once.

use super::course::Run;
use super::html::escaped;
use super::words::{collapsed, listed, once};
use crate::suite::findings::SeriesVerdict;
use truespd_core::result::{Finding, FindingGrade, Grade, Meaning, Theme, Verdict, standing};

/// What a rule says of different runs or targets, at most.
const SAYINGS_MAX: usize = 6;

fn sign(grade: Grade) -> &'static str {
    match grade {
        Grade::Certified => "✓",
        Grade::Suspect => "?",
        Grade::Invalid => "✗",
    }
}

/// The grade as an element with a frame.
pub(super) fn badge(grade: Grade) -> String {
    marked("badge", grade)
}

/// The grade as a word of a table.
pub(super) fn grade_word(grade: Grade) -> String {
    marked("grade", grade)
}

fn marked(class: &str, grade: Grade) -> String {
    format!(
        "<strong class=\"{class} {0}\"><span aria-hidden=\"true\">{1}</span> {0}</strong>",
        grade.word(),
        sign(grade)
    )
}

/// What is found of the runs: grades, proofs, reasons, remarks and what could not be checked.
pub(super) fn verdicts(runs: &[Run]) -> String {
    let mut out = String::new();
    for (name, document) in runs {
        let lead = if runs.len() > 1 { escaped(name) } else { "verdict".to_string() };
        match &document.verdict {
            Some(verdict) => {
                let (proof, none) = proofs(verdict, runs.len());
                out.push_str(&format!(
                    "<p class=\"verdict\">{lead}: {}{none}</p>\n{proof}",
                    badge(verdict.grade)
                ));
            }
            None => out.push_str(&format!(
                "<p class=\"verdict\">{lead}: not judged. <code>truespd judge</code> does that.</p>\n"
            )),
        }
        for failure in &document.failures {
            out.push_str(&format!("<p class=\"invalid\">The run failed: {}</p>\n", escaped(failure)));
        }
    }
    let told = told(runs);
    let list = |is_remark: bool| -> String {
        told.iter().filter(|one| one.grade.is_remark() == is_remark).map(|one| one.html(runs.len())).collect()
    };
    let (reasons, remarks) = (list(false), list(true));
    if !reasons.is_empty() {
        out.push_str(&format!("<ul class=\"findings\">{reasons}</ul>\n"));
    }
    if !remarks.is_empty() {
        let count = told.iter().filter(|one| one.grade.is_remark()).count();
        out.push_str(&format!(
            "<details><summary>Remarks, which do not change the verdict: {count}</summary><ul class=\"findings\">{remarks}</ul></details>\n"
        ));
    }
    out + &unchecked(runs)
}

/// What the counters of the disks or servers show, as a list; where they show nothing, words behind the grade.
fn proofs(verdict: &Verdict, runs: usize) -> (String, String) {
    let shown = verdict.proofs.iter().filter(|proof| !proof.is_empty());
    let items: String = shown
        .map(|proof| format!("<li>{}: {}</li>", escaped(&proof.targets.join(", ")), escaped(&proof.words())))
        .collect();
    let lead = "<p class=\"proof\">Proof, from the counters of the disks or servers:</p>";
    match (items.is_empty(), runs) {
        (true, _) => (
            String::new(),
            " <span class=\"kind\">the counters of the disks prove nothing here</span>".into(),
        ),
        (false, 1) => (format!("{lead}<ul class=\"proof\">{items}</ul>\n"), String::new()),
        (false, _) => (format!("<ul class=\"proof\">{items}</ul>\n"), String::new()),
    }
}

/// What a rule found, in all runs.
struct Told<'d> {
    rule: &'d str,
    grade: FindingGrade,
    meaning: Meaning,
    cause: Theme,
    /// Names of the runs.
    runs: Vec<&'d str>,
    /// What it says, each once, and of what.
    says: Vec<(Vec<String>, &'d str)>,
    /// What to do, each once.
    advice: Vec<&'d str>,
}

/// A finding with its run's name, and what has to be told beside it.
struct Found<'d> {
    name: &'d str,
    has_spans: bool,
    has_targets: bool,
    finding: &'d Finding,
}

/// The findings of all runs, one per rule and grade: the worst first, and within a grade what decides the
/// meaning of the number before what slowed it.
fn told<'d>(runs: &[Run<'d>]) -> Vec<Told<'d>> {
    let found = runs.iter().flat_map(|(name, document)| {
        let has_spans = document.time_spans.len() > 1;
        let mut targets = document.profile.time_spans.iter().flat_map(|span| &span.targets);
        let first = targets.next();
        let has_targets = first.is_none_or(|first| targets.any(|target| target.path != first.path));
        let findings = document.verdict.iter().flat_map(|verdict| &verdict.findings);
        findings.map(move |finding| Found { name, has_spans, has_targets, finding })
    });
    let same_rule = collapsed(found.map(|found| {
        let key = (found.finding.rule.as_str(), found.finding.grade);
        (found, key)
    }));
    let mut all: Vec<Told<'d>> = same_rule
        .into_iter()
        .map(|(found, (rule, grade))| {
            let names = once(found.iter().map(|one| one.name));
            let has_names = names.len() > 1;
            Told {
                rule,
                grade,
                meaning: found[0].finding.meaning,
                cause: found[0].finding.cause,
                says: collapsed(found.iter().map(|one| (one.subject(has_names), one.finding.says.as_str()))),
                runs: names,
                advice: once(found.iter().map(|one| one.finding.advice.as_str())),
            }
        })
        .collect();
    all.sort_by_key(|one| standing(one.grade, one.meaning, one.cause));
    all
}

impl Found<'_> {
    /// What it is about; empty where nothing has to be told apart.
    fn subject(&self, has_names: bool) -> String {
        let Found { name, has_spans, has_targets, finding } = self;
        let span = (*has_spans && finding.time_span > 0).then(|| format!("time span {}", finding.time_span));
        let target = finding.target.as_ref().filter(|_| *has_targets).map(|target| format!("'{target}'"));
        let parts: Vec<String> = span.into_iter().chain(target).collect();
        match (has_names, parts.is_empty()) {
            (true, true) => (*name).to_string(),
            (true, false) => format!("{name} ({})", parts.join(", ")),
            (false, _) => parts.join(", "),
        }
    }
}

impl Told<'_> {
    fn html(&self, runs: usize) -> String {
        let of = match (runs, self.runs.len()) {
            (1, _) => String::new(),
            (all, of) if all == of => ", in all of them".to_string(),
            _ => format!(", in {}", listed(&self.runs)),
        };
        let saying = |(subjects, says): &(Vec<String>, &str)| {
            let are_runs = subjects.iter().all(|subject| self.runs.contains(&subject.as_str()));
            if subjects.iter().all(String::is_empty) || (self.says.len() == 1 && are_runs) {
                escaped(says)
            } else {
                format!("{}: {}", escaped(&listed(subjects)), escaped(says))
            }
        };
        let says = match self.says.as_slice() {
            [one] => format!("<br>{}<br>", saying(one)),
            several => {
                let items = several.iter().take(SAYINGS_MAX).map(|one| format!("<li>{}</li>", saying(one)));
                let more = several.len().saturating_sub(SAYINGS_MAX);
                let more = if more > 0 { format!("<li>and {more} more</li>") } else { String::new() };
                format!("<ul>{}{more}</ul>", items.collect::<String>())
            }
        };
        reason(self.grade, self.rule, &of, &says, &self.advice.join("; "))
    }
}

/// A finding; `says` is HTML.
fn reason(grade: FindingGrade, rule: &str, of: &str, says: &str, advice: &str) -> String {
    let advice = match advice {
        "" => String::new(),
        advice => format!("<em>What to do:</em> {}", escaped(advice)),
    };
    format!(
        "<li class=\"{0}\"><strong>{1}</strong> <span class=\"kind\">{0}{2}</span>{says}{advice}</li>",
        grade.word(),
        escaped(rule),
        escaped(of)
    )
}

/// Rules that had no evidence, and why.
fn unchecked(runs: &[Run]) -> String {
    let all = runs.iter().flat_map(|(name, document)| {
        let unchecked = document.verdict.iter().flat_map(|verdict| &verdict.unchecked);
        unchecked.map(move |one| (*name, (one.rule.as_str(), one.why.as_str())))
    });
    let all = collapsed(all);
    if all.is_empty() {
        return String::new();
    }
    let items = all.iter().map(|(names, (rule, why))| {
        let mut names = names.clone();
        names.dedup();
        let of = if runs.len() > 1 { format!(" ({})", listed(&names)) } else { String::new() };
        format!("<li>{}{}: {}</li>", escaped(rule), escaped(&of), escaped(why))
    });
    format!(
        "<details><summary>Rules without evidence: {}</summary><ul>{}</ul></details>\n",
        all.len(),
        items.collect::<String>()
    )
}

/// What the verdicts of a series say together.
pub(super) fn of_series(verdict: &SeriesVerdict) -> String {
    let grade = verdict.grade.map_or("not judged".to_string(), badge);
    let mut out = format!(
        "<h3>Verdict</h3>\n<p class=\"verdict\">The worst verdict of {} runs: {grade}</p>\n",
        verdict.runs
    );
    let list = |is_remark: bool| -> String {
        let found = verdict.findings.iter().filter(|told| told.grade.is_remark() == is_remark);
        let item = |told: &crate::suite::findings::Told| {
            let of = format!(", {}", told.runs_words(verdict.runs));
            reason(told.grade, &told.rule, &of, &format!("<br>{}<br>", escaped(&told.says)), &told.advice)
        };
        found.map(item).collect()
    };
    let (reasons, remarks) = (list(false), list(true));
    if !reasons.is_empty() {
        out.push_str(&format!("<ul class=\"findings\">{reasons}</ul>\n"));
    }
    if !remarks.is_empty() {
        let count = verdict.findings.iter().filter(|told| told.grade.is_remark()).count();
        out.push_str(&format!(
            "<details><summary>Remarks, which do not change the verdict: {count}</summary><ul class=\"findings\">{remarks}</ul></details>\n"
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use truespd_core::result::Document;

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
        assert_eq!(html.matches("too-short</strong>").count(), 1, "{html}");
        assert!(html.contains("suspect, in a and c</span><br>5 s<br>"), "{html}");
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
        assert!(html.contains("<span class=\"kind\">suspect</span><br>3 %<br>"), "{html}");
        assert!(html.contains("verdict: <strong class=\"badge suspect\">"), "{html}");
    }

    #[test]
    fn a_run_without_a_verdict_says_so() {
        let html = verdicts(&[("a", &Document::default())]);
        assert!(html.contains("verdict: not judged"), "{html}");
    }
}
