//! What the verdicts of a series of runs say together, each thing once.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use truespd_core::result::{Document, Finding, FindingGrade, Grade, Meaning, Theme, standing};

/// Kinds of runs that are named.
const LISTED: usize = 2;

/// The verdicts of a series of runs.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SeriesVerdict {
    /// The worst verdict of a run; none when no run was judged.
    pub grade: Option<Grade>,
    /// Runs that were judged.
    pub runs: usize,
    /// What rules found in them, one per rule and grade, the worst first, and within a grade what decides the
    /// meaning of the number before what slowed it.
    pub findings: Vec<Told>,
}

/// One thing that a rule found in one or more runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Told {
    /// Name of the rule.
    pub rule: String,
    /// What it does to those runs; `certified` for a remark in documents from before remarks had a grade of their own.
    pub grade: FindingGrade,
    /// What it means for the number; `seen` in documents from before findings had a meaning.
    #[serde(default)]
    pub meaning: Meaning,
    /// What the rule is about; `symptom` in documents from before rules had one.
    #[serde(default)]
    pub cause: Theme,
    /// What is so in the first of the runs, in one sentence with its numbers.
    pub says: String,
    /// What to do about it, in one line.
    pub advice: String,
    /// Number of runs it was found in.
    pub runs: usize,
    /// What they measured, each once, in order.
    pub of: Vec<Of>,
}

/// Runs of one thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Of {
    /// What they measured.
    pub what: String,
    /// How many they are.
    pub runs: usize,
}

impl SeriesVerdict {
    /// Takes a run that measured `what`, with its grade (none: it was not judged) and those of its findings
    /// that matter. Several findings of one rule in one run (of two targets) count as one, the first.
    pub fn take<'a>(
        &mut self,
        what: &str,
        grade: Option<Grade>,
        findings: impl IntoIterator<Item = &'a Finding>,
    ) {
        self.grade = self.grade.max(grade);
        self.runs += usize::from(grade.is_some());
        let mut seen: Vec<(&str, FindingGrade)> = Vec::new();
        for finding in findings {
            let key = (finding.rule.as_str(), finding.grade);
            if !seen.contains(&key) {
                seen.push(key);
                self.told(finding).add(what);
            }
        }
        // Stable: within a cause in the order they were met.
        self.findings.sort_by_key(|told| standing(told.grade, told.meaning, told.cause));
    }

    fn told(&mut self, finding: &Finding) -> &mut Told {
        let is_same = |told: &Told| told.rule == finding.rule && told.grade == finding.grade;
        let at = self.findings.iter().position(is_same).unwrap_or_else(|| {
            self.findings.push(Told {
                rule: finding.rule.clone(),
                grade: finding.grade,
                meaning: finding.meaning,
                cause: finding.cause,
                says: finding.says.clone(),
                advice: finding.advice.clone(),
                runs: 0,
                of: Vec::new(),
            });
            self.findings.len() - 1
        });
        &mut self.findings[at]
    }

    /// Runs of `what` in which the rule found something that is more than a remark.
    pub fn runs_with(&self, rule: &str, what: &str) -> usize {
        let told = self.findings.iter().filter(|told| told.rule == rule && !told.grade.is_remark());
        told.flat_map(|told| &told.of).filter(|of| of.what == what).map(|of| of.runs).sum()
    }

    /// Replaces the advice of rules, which is for single runs, by advice in options of a suite, where there is some.
    pub fn advise(&mut self, advice: impl Fn(&str) -> Option<&'static str>) {
        for told in &mut self.findings {
            if let Some(own) = advice(&told.rule) {
                told.advice = own.to_string();
            }
        }
    }
}

impl Told {
    /// The runs that have it, of so many: `all 24 runs`, `2 of 24 runs: read SEQ1M-Q8T1 x2`.
    pub fn runs_words(&self, runs: usize) -> String {
        if self.runs == runs {
            return if runs == 1 { "the only run".to_string() } else { format!("all {runs} runs") };
        }
        let is_told = |of: &Of| self.of.len() == 1 || of.runs == 1;
        let count = |of: &Of| if is_told(of) { String::new() } else { format!(" x{}", of.runs) };
        let listed = self.of.iter().take(LISTED).map(|of| format!("{}{}", of.what, count(of)));
        let listed = listed.collect::<Vec<_>>().join(", ");
        let more = match self.of.len().saturating_sub(LISTED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let s = if runs == 1 { "" } else { "s" };
        format!("{} of {runs} run{s}: {listed}{more}", self.runs)
    }

    fn add(&mut self, what: &str) {
        self.runs += 1;
        match self.of.iter_mut().find(|of| of.what == what) {
            Some(of) => of.runs += 1,
            None => self.of.push(Of { what: what.to_string(), runs: 1 }),
        }
    }
}

/// The worst grade of a run, and its findings, leaving out those that `is_beside_the_point`. A document without a
/// verdict has no grade.
pub fn judged(
    document: &Document,
    is_beside_the_point: impl Fn(&Finding) -> bool,
) -> (Option<Grade>, Vec<&Finding>) {
    let Some(verdict) = &document.verdict else { return (None, Vec::new()) };
    let findings: Vec<&Finding> = verdict.findings.iter().filter(|f| !is_beside_the_point(f)).collect();
    (Some(Grade::of(findings.iter().copied())), findings)
}

/// The word for a grade.
pub fn word(grade: Option<Grade>) -> &'static str {
    grade.map_or("not judged", Grade::word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use truespd_core::result::Verdict;

    fn finding(rule: &str, grade: FindingGrade, says: &str) -> Finding {
        Finding { rule: rule.into(), grade, says: says.into(), ..Finding::default() }
    }

    #[test]
    fn causes_of_all_runs_come_before_symptoms() {
        let of = |rule, cause| Finding { cause, ..finding(rule, FindingGrade::Suspect, "so") };
        let mut verdict = SeriesVerdict::default();
        verdict.take("a", Some(Grade::Suspect), &[of("not-steady", Theme::Symptom)]);
        let second = [of("steal", Theme::Neighbours), of("not-steady", Theme::Symptom)];
        verdict.take("b", Some(Grade::Suspect), &second);
        let rules: Vec<&str> = verdict.findings.iter().map(|told| told.rule.as_str()).collect();
        assert_eq!(rules, ["steal", "not-steady"]);
    }

    #[test]
    fn what_decides_the_meaning_comes_before_what_slowed_it() {
        let of =
            |rule, meaning, cause| Finding { meaning, cause, ..finding(rule, FindingGrade::Suspect, "so") };
        let findings = [
            of("generator-bound", Meaning::HeldBack, Theme::Processor),
            of("steal", Meaning::OtherLoad, Theme::Neighbours),
            of("served-from-cache", Meaning::WrongNumber, Theme::Cache),
        ];
        let mut verdict = SeriesVerdict::default();
        findings.iter().for_each(|one| verdict.take("a", Some(Grade::Suspect), [one]));
        let rules: Vec<&str> = verdict.findings.iter().map(|told| told.rule.as_str()).collect();
        assert_eq!(rules, ["served-from-cache", "steal", "generator-bound"]);
    }

    #[test]
    fn each_thing_once_worst_first() {
        let short = finding("too-short", FindingGrade::Remark, "5 s");
        let cache = finding("volatile-cache", FindingGrade::Suspect, "first");
        let other = finding("volatile-cache", FindingGrade::Suspect, "second target");
        let mut verdict = SeriesVerdict::default();
        verdict.take("not judged", None, []);
        assert_eq!(verdict, SeriesVerdict::default());
        verdict.take("read A", Some(Grade::Certified), [&short]);
        verdict.take("write A", Some(Grade::Suspect), [&cache, &other, &short]);
        verdict.take("write A", Some(Grade::Suspect), [&cache, &short]);
        verdict.take("write B", Some(Grade::Certified), []);
        let seen: Vec<_> =
            verdict.findings.iter().map(|t| (t.rule.as_str(), t.says.as_str(), t.runs, t.of.len())).collect();
        assert_eq!(seen, [("volatile-cache", "first", 2, 1), ("too-short", "5 s", 3, 2)]);
        let of: Vec<_> = verdict.findings[1].of.iter().map(|of| (of.what.as_str(), of.runs)).collect();
        assert_eq!(of, [("read A", 1), ("write A", 2)]);
        assert_eq!((verdict.grade, verdict.runs), (Some(Grade::Suspect), 4));
        assert_eq!(verdict.runs_with("volatile-cache", "write A"), 2);
        assert_eq!(verdict.runs_with("volatile-cache", "read A"), 0);
        assert_eq!(verdict.runs_with("too-short", "read A"), 0, "a remark");
        verdict.advise(|rule| (rule == "too-short").then_some("--measure 60"));
        let advice: Vec<_> = verdict.findings.iter().map(|told| told.advice.as_str()).collect();
        assert_eq!(advice, ["", "--measure 60"]);
    }

    #[test]
    fn grades_of_a_rule_stand_apart() {
        let mut verdict = SeriesVerdict::default();
        verdict.take("x", Some(Grade::Suspect), [&finding("cache", FindingGrade::Suspect, "some")]);
        verdict.take("x", Some(Grade::Invalid), [&finding("cache", FindingGrade::Invalid, "all")]);
        let seen: Vec<_> = verdict.findings.iter().map(|told| (told.grade, told.runs)).collect();
        assert_eq!(seen, [(FindingGrade::Invalid, 1), (FindingGrade::Suspect, 1)]);
        assert_eq!(verdict.runs_with("cache", "x"), 2);
    }

    #[test]
    fn what_is_beside_the_point_does_not_count() {
        let findings = vec![finding("a", FindingGrade::Suspect, ""), finding("b", FindingGrade::Remark, "")];
        let verdict = Verdict { grade: Grade::Suspect, findings, ..Verdict::default() };
        let document = Document { verdict: Some(verdict), ..Document::default() };
        let (grade, found) = judged(&document, |_| false);
        assert_eq!((grade, found.len()), (Some(Grade::Suspect), 2));
        assert_eq!(judged(&document, |f| f.rule == "a").0, Some(Grade::Certified));
        assert_eq!(judged(&Document::default(), |_| false).0, None);
        assert_eq!((word(None), word(grade)), ("not judged", "suspect"));
    }
}
