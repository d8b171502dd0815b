//! Judged documents side by side: a line each.

use crate::suite::word;
use diskspd::show::verdict::{Style, plural};
use truespd_core::result::metrics::Metric;
use truespd_core::result::{Document, Grade, Verdict};
use truespd_core::text::{columns_of, printable};

pub(crate) struct Row {
    document: String,
    grade: Option<Grade>,
    figures: [String; 3],
    /// The finding that gives the grade, or what the document is.
    about: String,
}

/// What the table shows of a run.
const FIGURES: [Metric; 3] = [Metric::IOPS, Metric::BYTES, Metric::MEAN];

impl Row {
    /// A run: its figures, and the finding that leads.
    pub fn of_run(document: &str, run: &Document, verdict: &Verdict) -> Self {
        let leads = verdict.findings.iter().filter(|finding| !finding.grade.is_remark());
        let rules: Vec<&str> = leads.map(|finding| finding.rule.as_str()).collect();
        let about = match rules.as_slice() {
            [] => String::new(),
            [only] => (*only).to_string(),
            [first, others @ ..] => format!("{first} and {} more", others.len()),
        };
        Row {
            document: document.to_string(),
            grade: Some(verdict.grade),
            figures: FIGURES.map(|metric| metric.of(run).map_or("-".to_string(), |value| metric.show(value))),
            about,
        }
    }

    /// The document of a suite.
    pub fn of_suite(document: &str, kind: &str, grade: Option<Grade>) -> Self {
        let none = FIGURES.map(|_| "-".to_string());
        Row { document: document.to_string(), grade, figures: none, about: format!("runs of a {kind}") }
    }
}

/// The documents with their grades, figures and findings; ends with a line end.
pub(crate) fn table<'r>(rows: impl Iterator<Item = &'r Row>, style: Style) -> String {
    let rows: Vec<&Row> = rows.collect();
    let names: Vec<String> = rows.iter().map(|row| printable(&row.document)).collect();
    let width = names.iter().map(|name| columns_of(name)).max().unwrap_or(0).max("document".len());
    let [iops, bytes, mean] = ["IOPS", "throughput", "mean latency"];
    let mut out =
        format!("{:<10}{iops:>12}{bytes:>16}{mean:>14}  {:<width$}  finding\n", "grade", "document");
    for (row, name) in rows.iter().zip(&names) {
        let words = word(row.grade);
        let grade = row.grade.map_or(words.to_string(), |grade| style.paint(grade, words));
        let gap = " ".repeat(10usize.saturating_sub(columns_of(words)));
        let [iops, bytes, mean] = &row.figures;
        let pad = " ".repeat(width - columns_of(name));
        let line =
            format!("{grade}{gap}{iops:>12}{bytes:>16}{mean:>14}  {name}{pad}  {}", printable(&row.about));
        out.push_str(line.trim_end());
        out.push('\n');
    }
    let mut counts = Vec::new();
    for grade in [Some(Grade::Certified), Some(Grade::Suspect), Some(Grade::Invalid), None] {
        let count = rows.iter().filter(|row| row.grade == grade).count();
        if grade.is_some() || count > 0 {
            counts.push(format!("{count} {}", word(grade)));
        }
    }
    out.push_str(&format!(
        "\n{}: {}. truespd judge DOCUMENT tells all findings of one.\n",
        plural(rows.len(), "document"),
        counts.join(", ")
    ));
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use truespd_core::result::{Finding, FindingGrade};

    const PLAIN: Style = Style { columns: 80, has_colour: false };

    #[test]
    fn every_document_has_a_line() {
        let finding = |grade, rule: &str| Finding { grade, rule: rule.into(), ..Finding::default() };
        let verdict = Verdict {
            grade: Grade::Invalid,
            findings: vec![
                finding(FindingGrade::Invalid, "served-from-cache"),
                finding(FindingGrade::Suspect, "working-set"),
                finding(FindingGrade::Remark, "percentiles"),
            ],
            ..Verdict::default()
        };
        let rows = [
            Row::of_run("a\u{1b}b.json", &Document::default(), &verdict),
            Row::of_run("b.json", &Document::default(), &Verdict::default()),
            Row::of_suite("mark.json", "mark", None),
        ];
        assert_eq!(
            table(rows.iter(), PLAIN),
            "grade             IOPS      throughput  mean latency  document       finding\n\
             invalid              -               -             -  a\\u{1b}b.json  served-from-cache and 1 more\n\
             certified            -               -             -  b.json\n\
             not judged           -               -             -  mark.json      runs of a mark\n\n\
             3 documents: 1 certified, 0 suspect, 1 invalid, 1 not judged. truespd judge DOCUMENT tells \
             all findings of one.\n"
        );
    }
}
