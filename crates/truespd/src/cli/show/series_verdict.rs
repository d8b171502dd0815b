//! What the verdicts of a series of runs say together.

use diskspd::show::verdict::{INDENT, Style, push_wrapped};
use truespd_core::text::columns_of;

use crate::suite::findings::{SeriesVerdict, word};

/// The verdict of a series of runs, one paragraph for each finding: rule, its runs, what was found, what to do. Remarks
/// have no advice. Ends with a line end.
pub fn series(verdict: &SeriesVerdict, style: Style) -> String {
    let words = word(verdict.grade);
    let grade = verdict.grade.map_or(words.to_string(), |grade| style.paint(grade, words));
    let mut out = format!("verdict: {grade}\n");
    for one in &verdict.findings {
        let grade = one.grade.word();
        let gap = " ".repeat(INDENT.saturating_sub(2 + columns_of(grade)));
        let mut words = format!("{} ({}): {}", one.rule, one.runs_words(verdict.runs), one.says);
        if !one.grade.is_remark() {
            words.push_str(&format!(" -> {}", one.advice));
        }
        let mut paragraph = String::new();
        push_wrapped(&mut paragraph, &words, style.columns - INDENT, "");
        // The grade fills the indentation of the first line.
        out.push_str(&format!(
            "  {}{gap}{}",
            style.paint(one.grade.of_result(), grade),
            &paragraph[INDENT..]
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::findings::{Of, Told};
    use truespd_core::result::{FindingGrade, Grade, Meaning, Theme};

    const PLAIN: Style = Style { columns: 60, has_colour: false };

    #[test]
    fn findings_of_a_series_name_their_runs() {
        let told_of = |grade, of: &[&str]| Told {
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
            series(&verdict, PLAIN),
            "verdict: suspect\n\
             \x20 suspect volatile-cache (12 of 24 runs: a x3, b x3 and 2\n\
             \x20         more): vda keeps writes in a cache that a loss of\n\
             \x20         power empties -> -Sh counts a write when it is\n\
             \x20         durable\n\
             \x20 remark  volatile-cache (12 of 24 runs: a): vda keeps\n\
             \x20         writes in a cache that a loss of power empties\n"
        );
        verdict.runs = 12;
        assert!(series(&verdict, PLAIN).contains("\n  suspect volatile-cache (all 12 runs): vda"));
        verdict.runs = 1;
        verdict.findings[0].runs = 1;
        assert!(series(&verdict, PLAIN).contains("\n  suspect volatile-cache (the only run): vda"));
        assert_eq!(series(&SeriesVerdict::default(), PLAIN), "verdict: not judged\n");
    }
}
