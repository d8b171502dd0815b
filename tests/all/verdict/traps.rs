//! Documents that `ci/traps` recorded of traps and of honest runs, judged again: what was found then is found now, for the
//! same cause, and honest runs are not complained of.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;
use truespd_core::result::json::read;
use truespd_core::result::{Finding, FindingGrade};
use truespd_verdict::judge;

/// One line of the index: what the bench expects of a kept document.
struct Row<'a> {
    trap: bool,
    name: &'a str,
    grade: &'a str,
    /// Of a trap, one of these speaks; in an honest run, no others may.
    rules: Vec<&'a str>,
    /// Parts of what is said; with ! before them they may be said nowhere.
    words: Vec<&'a str>,
}

impl<'a> Row<'a> {
    fn of(line: &'a str) -> Self {
        let fields: Vec<&str> = line.split('\t').collect();
        let [kind, name, grade, rules, words] = fields[..] else { panic!("five columns: {line}") };
        let parts = words.split('&').filter(|word| !word.is_empty()).collect();
        Row { trap: kind == "trap", name, grade, rules: rules.split('|').collect(), words: parts }
    }

    /// What is wrong with the verdict of today.
    fn wrong(&self, text: &[u8]) -> Option<String> {
        let verdict = judge(&read(text).expect("a document that can be read"));
        let of_rules = |rule: &str| self.rules.contains(&rule);
        if !self.trap {
            let mut others = verdict
                .findings
                .iter()
                .filter(|finding| finding.grade > FindingGrade::Remark && !of_rules(&finding.rule));
            return others.next().map(|finding| format!("complains: {}: {}", finding.rule, finding.says));
        }
        let found: Vec<_> = verdict.findings.iter().filter(|finding| of_rules(&finding.rule)).collect();
        let Some(worst) = found.iter().map(|finding| finding.grade).max() else {
            return Some(format!("none of {:?} speaks", self.rules));
        };
        let grade_is_right = match self.grade {
            "any" => true,
            "remark" => worst == FindingGrade::Remark,
            "suspect" => worst == FindingGrade::Suspect,
            "worse" => worst > FindingGrade::Remark,
            "invalid" => worst == FindingGrade::Invalid,
            other => panic!("no grade {other}"),
        };
        if !grade_is_right {
            return Some(format!("{worst:?} instead of {}", self.grade));
        }
        for word in &self.words {
            let wrong = match word.strip_prefix('!') {
                Some(word) => verdict.findings.iter().any(|finding| holds(finding, word)),
                None => !found.iter().any(|finding| holds(finding, word)),
            };
            if wrong {
                return Some(format!("words: {word}: {}", found[0].says));
            }
        }
        None
    }
}

/// As in the bench, capitals do not count.
fn holds(finding: &Finding, word: &str) -> bool {
    finding.says.to_lowercase().contains(&word.to_lowercase())
}

#[test]
fn recorded_traps_are_found_and_honest_runs_left_alone() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/traps");
    let index = fs::read_to_string(folder.join("index.tsv")).expect("the index");
    let mut wrong = Vec::new();
    for line in index.lines() {
        let row = Row::of(line);
        let kind = if row.trap { "trap" } else { "honest" };
        let path = folder.join(format!("{kind}-{}.json.gz", row.name));
        let mut text = Vec::new();
        GzDecoder::new(File::open(&path).expect("a document")).read_to_end(&mut text).expect("packed");
        wrong.extend(row.wrong(&text).map(|why| format!("{kind} {}: {why}", row.name)));
    }
    assert!(index.lines().count() > 20, "the index is short");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
