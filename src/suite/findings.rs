//! What the verdicts of many runs say, each thing once.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::result::{Finding, Grade};

/// One thing that a rule found in one or more runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Told {
    /// Name of the rule.
    pub rule: String,
    /// What it does to those runs; `certified` for a remark.
    pub grade: Grade,
    /// What is so in the first of the runs, in one sentence with its numbers.
    pub says: String,
    /// What to do about it, in one line.
    pub advice: String,
    /// Number of runs it was found in.
    pub runs: usize,
    /// What they measured, each once, in order.
    pub of: Vec<String>,
}

/// The findings of runs with what these measured, one per rule and grade, worst first. A rule that found several things
/// in one run (of two targets) is told by the first.
pub fn told<'a>(runs: impl IntoIterator<Item = (&'a str, &'a [Finding])>) -> Vec<Told> {
    let mut all: Vec<Told> = Vec::new();
    for (of, findings) in runs {
        let mut seen: Vec<(&str, Grade)> = Vec::new();
        for finding in findings {
            let key = (finding.rule.as_str(), finding.grade);
            if seen.contains(&key) {
                continue;
            }
            seen.push(key);
            let known = all.iter().position(|told| (told.rule.as_str(), told.grade) == key);
            let told = match known {
                Some(at) => &mut all[at],
                None => {
                    all.push(Told {
                        rule: finding.rule.clone(),
                        grade: finding.grade,
                        says: finding.says.clone(),
                        advice: finding.advice.clone(),
                        runs: 0,
                        of: Vec::new(),
                    });
                    all.last_mut().expect("just put there")
                }
            };
            told.runs += 1;
            if told.of.last().is_none_or(|last| last != of) && !told.of.iter().any(|known| known == of) {
                told.of.push(of.to_string());
            }
        }
    }
    // Stable: within a grade in the order they were met.
    all.sort_by_key(|told| std::cmp::Reverse(told.grade));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thing_once_worst_first() {
        let finding = |rule: &str, grade, says: &str| Finding {
            rule: rule.into(),
            grade,
            says: says.into(),
            ..Finding::default()
        };
        let short = finding("too-short", Grade::Certified, "5 s");
        let cache = finding("volatile-cache", Grade::Suspect, "first");
        let other = finding("volatile-cache", Grade::Suspect, "second target");
        let runs = [
            ("read A", vec![short.clone()]),
            ("write A", vec![cache.clone(), other, short.clone()]),
            ("write A", vec![cache, short]),
            ("write B", vec![]),
        ];
        let told = told(runs.iter().map(|(of, findings)| (*of, findings.as_slice())));
        let seen: Vec<_> =
            told.iter().map(|t| (t.rule.as_str(), t.says.as_str(), t.runs, t.of.len())).collect();
        assert_eq!(seen, [("volatile-cache", "first", 2, 1), ("too-short", "5 s", 3, 2)]);
        assert_eq!(told[1].of, ["read A", "write A"]);
    }
}
