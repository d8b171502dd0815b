//! What the verdicts of a series of runs say together, and how a person reads it.

use super::shown::{Findings, Shown};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use truespd_core::result::{Finding, FindingGrade, Grade, Meaning, Theme, standing};
use truespd_front::show::{INDENT, Style, plural, push_wrapped};
use truespd_platform::text::{columns_of, hanging, printable_text};

/// Rules with the advice of a suite, which is in its own options.
pub type Advice = &'static [(&'static [&'static str], &'static str)];

/// Kinds of runs that are named.
const LISTED: usize = 2;
/// Findings that are named in one line.
const NAMED: usize = 4;

/// The verdicts of a series of runs.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SeriesVerdict {
    /// The worst verdict of a run; none when no run was judged.
    pub grade: Option<Grade>,
    /// Runs that were judged.
    pub runs: usize,
    /// What rules found in them, one per rule and grade, the worst first, and within a grade what decides the
    /// meaning of the number before what slowed it.
    pub findings: Vec<RuleResult>,
}

/// One thing that a rule found in one or more runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Told")]
pub struct RuleResult {
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
                self.count(what, finding);
            }
        }
        // Stable: within a cause in the order they were met.
        self.findings.sort_by_key(|one| standing(one.grade, one.meaning, one.cause));
    }

    fn count(&mut self, what: &str, finding: &Finding) {
        let known =
            self.findings.iter_mut().find(|one| one.rule == finding.rule && one.grade == finding.grade);
        let Some(known) = known else {
            self.findings.push(RuleResult {
                rule: finding.rule.clone(),
                grade: finding.grade,
                meaning: finding.meaning,
                cause: finding.cause,
                says: finding.says.clone(),
                advice: finding.advice.clone(),
                runs: 1,
                of: vec![Of { what: what.to_string(), runs: 1 }],
            });
            return;
        };
        known.runs += 1;
        match known.of.iter_mut().find(|of| of.what == what) {
            Some(of) => of.runs += 1,
            None => known.of.push(Of { what: what.to_string(), runs: 1 }),
        }
    }

    /// Runs of `what` in which the rule found something that is more than a remark.
    pub fn runs_with(&self, rule: &str, what: &str) -> usize {
        let found = self.findings.iter().filter(|one| one.rule == rule && !one.grade.is_remark());
        let of = found.flat_map(|one| &one.of).filter(|of| of.what == what);
        of.fold(0, |sum, of| sum.saturating_add(of.runs))
    }

    /// Replaces the advice of rules, which is for single runs, by advice in options of a suite, where there is some.
    pub fn advise(&mut self, advice: Advice) {
        for one in &mut self.findings {
            if let Some((_, own)) = advice.iter().find(|(rules, _)| rules.contains(&one.rule.as_str())) {
                one.advice = own.to_string();
            }
        }
    }

    /// As it is asked for, without an empty line around it.
    pub fn shown(&self, shown: Shown) -> String {
        match shown.findings {
            Findings::Whole => self.text(shown.style),
            Findings::Names { rest } => self.names(rest, shown.style),
        }
    }

    /// `suspect: not-steady (1 run), steal (all runs) and 2 more; 2 remarks; REST tells why`; ends with a line end. The
    /// last part is missing where there is nothing else to tell.
    fn names(&self, rest: &str, style: Style) -> String {
        let words = word(self.grade);
        let grade = self.grade.map_or(words.to_string(), |grade| style.paint(grade, words));
        let (remarks, found): (Vec<_>, Vec<_>) =
            self.findings.iter().partition(|finding| finding.grade.is_remark());
        let mut named = Vec::new();
        for one in found.iter().take(NAMED) {
            let runs = if one.runs == self.runs { "all runs".into() } else { plural(one.runs, "run") };
            named.push(format!("{} ({runs})", one.rule));
        }
        let more = match found.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let mut parts: Vec<String> = Vec::from([named.join(", ") + &more]);
        if !remarks.is_empty() {
            parts.push(plural(remarks.len(), "remark"));
        }
        if !self.findings.is_empty() {
            parts.push(format!("{rest} tells why"));
        }
        parts.retain(|part| !part.is_empty());
        let colon = if parts.is_empty() { "" } else { ": " };
        hanging("", &format!("{grade}{colon}{}", printable_text(&parts.join("; "))), style.columns)
    }

    /// As people read it, one paragraph for each finding: rule, its runs, what was found, what to do. Remarks have no
    /// advice. Ends with a line end.
    pub fn text(&self, style: Style) -> String {
        let words = word(self.grade);
        let grade = self.grade.map_or(words.to_string(), |grade| style.paint(grade, words));
        let mut out = format!("verdict: {grade}\n");
        for one in &self.findings {
            let grade = one.grade.word();
            let gap = " ".repeat(INDENT.saturating_sub(2 + columns_of(grade)));
            let mut words = format!("{} ({}): {}", one.rule, one.runs_words(self.runs), one.says);
            if !one.grade.is_remark() {
                words.push_str(&format!(" -> {}", one.advice));
            }
            let mut paragraph = String::new();
            push_wrapped(&mut paragraph, &words, style.columns - INDENT, "");
            // The grade fills the indentation of the first line.
            let grade = style.paint(one.grade.of_result(), grade);
            out.push_str(&format!("  {grade}{gap}{}", &paragraph[INDENT..]));
        }
        out
    }
}

impl RuleResult {
    /// Names the runs in which it was found, out of `runs`: `all 24 runs`, `2 of 24 runs: read SEQ1M-Q8T1 x2`.
    pub fn runs_words(&self, runs: usize) -> String {
        if self.runs == runs {
            return if runs == 1 { "the only run".to_string() } else { format!("all {runs} runs") };
        }
        let mut listed = Vec::new();
        for Of { what, runs } in self.of.iter().take(LISTED) {
            let is_plain = self.of.len() == 1 || *runs == 1;
            listed.push(if is_plain { what.clone() } else { format!("{what} x{runs}") });
        }
        let more = match self.of.len().saturating_sub(LISTED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let s = if runs == 1 { "" } else { "s" };
        format!("{} of {runs} run{s}: {}{more}", self.runs, listed.join(", "))
    }
}

/// What stands behind a figure for people; nothing behind a certified one.
pub fn doubt(grade: Grade) -> &'static str {
    match grade {
        Grade::Certified => "",
        Grade::Suspect => "?",
        Grade::Invalid => "!",
    }
}

/// What the signs of [`doubt`] mean, those that are there: a line for each, with its end.
pub fn doubts_text(grades: impl Iterator<Item = Grade> + Clone, columns: usize) -> String {
    let mut out = String::new();
    for (grade, means) in [
        (Grade::Invalid, "invalid: these are not the storage's figures"),
        (Grade::Suspect, "suspect: the figure may not be the disk's own; the verdict says why"),
    ] {
        if grades.clone().any(|one| one == grade) {
            out.push_str(&hanging(&format!("{} ", doubt(grade)), means, columns));
        }
    }
    out
}

/// The word for a grade.
pub fn word(grade: Option<Grade>) -> &'static str {
    grade.map_or("not judged", Grade::word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use truespd_core::result::{FindingGrade, Grade, Meaning, Theme};

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
        verdict.advise(&[(&["too-short"], "--measure 60")]);
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
    fn names_of_findings_fit_into_a_line() {
        let names = |verdict: &SeriesVerdict| verdict.names("--verdict", Style { columns: 200, ..PLAIN });
        assert_eq!(names(&SeriesVerdict::default()), "not judged\n");
        let suspect = |rule| finding(rule, FindingGrade::Suspect, "");
        let mut verdict = SeriesVerdict::default();
        verdict.take("read A", Some(Grade::Certified), []);
        assert_eq!(names(&verdict), "certified\n");
        verdict.take("read A", Some(Grade::Certified), [&finding("too-short", FindingGrade::Remark, "")]);
        assert_eq!(names(&verdict), "certified: 1 remark; --verdict tells why\n");
        verdict.take("read B", Some(Grade::Suspect), &["a", "b", "c", "d", "e"].map(suspect));
        assert_eq!(
            names(&verdict),
            "suspect: a (1 run), b (1 run), c (1 run), d (1 run) and 1 more; 1 remark; --verdict tells why\n"
        );
    }

    const PLAIN: Style = Style { columns: 60, has_colour: false };

    #[test]
    fn findings_of_a_series_name_their_runs() {
        let told_of = |grade, of: &[&str]| RuleResult {
            rule: "volatile-cache".into(),
            grade,
            meaning: Meaning::WrongNumber,
            cause: Theme::Cache,
            says: "vda keeps writes in a cache that a loss of power empties".into(),
            advice: "-Sh counts a write when it is durable".into(),
            runs: 12,
            of: of.iter().map(|what| Of { what: what.to_string(), runs: 12 / of.len() }).collect(),
        };
        let findings = vec![
            told_of(FindingGrade::Suspect, &["a", "b", "c", "d"]),
            told_of(FindingGrade::Remark, &["a"]),
        ];
        let mut verdict = SeriesVerdict { grade: Some(Grade::Suspect), runs: 24, findings };
        assert_eq!(
            verdict.text(PLAIN),
            "verdict: suspect\n\
             \x20 suspect volatile-cache (12 of 24 runs: a x3, b x3 and 2\n\
             \x20         more): vda keeps writes in a cache that a loss of\n\
             \x20         power empties -> -Sh counts a write when it is\n\
             \x20         durable\n\
             \x20 remark  volatile-cache (12 of 24 runs: a): vda keeps\n\
             \x20         writes in a cache that a loss of power empties\n"
        );
        verdict.runs = 12;
        assert!(verdict.text(PLAIN).contains("\n  suspect volatile-cache (all 12 runs): vda"));
        verdict.runs = 1;
        verdict.findings[0].runs = 1;
        assert!(verdict.text(PLAIN).contains("\n  suspect volatile-cache (the only run): vda"));
        assert_eq!(SeriesVerdict::default().text(PLAIN), "verdict: not judged\n");
    }
}
