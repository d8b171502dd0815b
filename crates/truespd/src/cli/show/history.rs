//! Kept documents as people see them.

use super::aligned;
use crate::history::{Entry, Environment, Group, Rank};
use crate::suite::word;
use diskspd::show::{Style, plural};
use jiff::Timestamp;
use truespd_core::result::metrics::{Better, Metric};
use truespd_core::result::{Document, Grade, Verdict};
use truespd_core::text::{columns_of, hanging, printable};

/// Columns of the words before a value in [`head`].
const LEAD: usize = 10;
/// Digits of a profile's hash that tables show.
const HASH_SHOWN: usize = 8;
/// What a list shows of a run.
const FIGURES: [Metric; 3] = [Metric::IOPS, Metric::BYTES, Metric::MEAN];

/// A moment as people read it, UTC; a dash for what no calendar has.
fn moment(unix_s: i64, format: &str) -> String {
    Timestamp::from_second(unix_s).map_or("-".to_string(), |moment| moment.strftime(format).to_string())
}

/// A list of documents; empty without any.
pub(crate) fn table(entries: &[Entry], style: Style) -> String {
    if entries.is_empty() {
        return String::new();
    }
    let head = [
        "id",
        "time (UTC)",
        "kind",
        "verdict",
        "IOPS",
        "throughput",
        "mean",
        "host",
        "target",
        "label, tags",
    ];
    let mut rows = vec![head.map(String::from).to_vec()];
    rows.extend(entries.iter().map(row));
    let text = aligned(rows, &[false, false, false, false, true, true, true, false, false, false]);
    // Colours take no room, so they come after the widths.
    let coloured = text.lines().skip(1).zip(entries).map(|(line, entry)| match entry.facts.grade {
        Some(grade) => line.replacen(grade.word(), &style.paint(grade, grade.word()), 1),
        None => line.to_string(),
    });
    let lines: Vec<String> = text.lines().take(1).map(String::from).chain(coloured).collect();
    lines.join("\n") + "\n"
}

fn row(entry: &Entry) -> Vec<String> {
    let facts = &entry.facts;
    let [iops, bytes, mean] =
        FIGURES.map(|metric| facts.figures.get(metric.id()).map_or("-".into(), |value| metric.show(*value)));
    let target = match facts.targets.as_slice() {
        [] => "-".to_string(),
        [only] => only.clone(),
        [first, others @ ..] => format!("{first} +{}", others.len()),
    };
    let label = entry.given.label.iter().cloned();
    let tags = entry.given.tags.iter().map(|tag| format!("+{tag}"));
    vec![
        entry.id.clone(),
        moment(entry.time_s(), "%Y-%m-%d %H:%M"),
        facts.kind.clone(),
        word(facts.grade).to_string(),
        iops,
        bytes,
        mean,
        facts.host.clone(),
        target,
        label.chain(tags).collect::<Vec<_>>().join(" "),
    ]
}

/// What is known of a document, above it.
pub(crate) fn head(entry: &Entry, style: Style) -> String {
    let (facts, given) = (&entry.facts, &entry.given);
    let mut devices = Vec::new();
    for device in &facts.devices {
        let firmware = device.firmware.as_ref().map(|revision| format!("firmware {revision}"));
        let words = [Some(device.name.clone()), device.model.clone(), firmware];
        devices.push(words.into_iter().flatten().collect::<Vec<_>>().join(" "));
    }
    let rows = [
        ("id", Some(entry.id.clone())),
        ("kind", Some(facts.kind.clone())),
        ("time", Some(moment(entry.time_s(), "%Y-%m-%d %H:%M:%S UTC"))),
        ("host", Some(facts.host.clone())),
        ("command", Some(facts.command.clone())),
        ("devices", Some(devices.join(", "))),
        ("profile", facts.profile.clone()),
        ("label", given.label.clone()),
        ("tags", Some(given.tags.join(" "))),
        ("revision", given.revision.clone()),
        ("note", given.note.clone()),
    ];
    let told =
        rows.into_iter().filter_map(|(name, value)| Some((name, value.filter(|value| !value.is_empty())?)));
    told.map(|(name, value)| hanging(&format!("{name:<LEAD$}"), &printable(&value), style.columns)).collect()
}

/// Distributions of a metric; each ends with a line end.
pub(crate) fn statistics(groups: &[Group], by: &[Environment], metric: Metric) -> String {
    let better = match metric.better() {
        Better::Higher => "more is better",
        Better::Lower => "less is better",
    };
    let title = format!("{}, {better}\n", metric.words(false));
    if groups.is_empty() {
        return format!("{title}no kept result has this figure\n");
    }
    let has_parts = groups.iter().any(|group| group.part.is_some());
    let test = has_parts.then_some("test");
    let rest =
        ["profile", "results", "min", "25 %", "median", "75 %", "max", "command of the newest"].into_iter();
    let heads = by.iter().map(|one| one.name()).chain(test).chain(rest);
    let mut rows = vec![heads.map(String::from).collect::<Vec<_>>()];
    rows.extend(groups.iter().map(|group| {
        let spread = &group.spread;
        let environment = group.environment.iter().map(|value| value.clone().unwrap_or("-".into()));
        let test = has_parts.then(|| match &group.part {
            Some(part) => format!("{} {part}", group.kind),
            None => "run".to_string(),
        });
        let figures = [spread.min, spread.lower_quartile, spread.median, spread.upper_quartile, spread.max];
        let profile: String = group.profile.chars().take(HASH_SHOWN).collect();
        let mut row: Vec<String> =
            environment.chain(test).chain([profile, spread.runs.to_string()]).collect();
        row.extend(figures.map(|value| metric.show(value)));
        row.push(group.command.clone());
        row
    }));
    let names = by.len() + usize::from(has_parts);
    let is_number: Vec<bool> =
        (0..names).map(|_| false).chain([false, true, true, true, true, true, true, false]).collect();
    title + &aligned(rows, &is_number)
}

/// Where a result stands, a line for each of its tests.
pub(crate) fn standing(ranks: &[Rank], metric: Metric) -> String {
    let mut lines = String::new();
    for rank in ranks {
        let part = rank.part.iter().map(|part| format!(", {part}"));
        let id = printable(&format!("{}{}", rank.id, part.collect::<String>()));
        let value = metric.show(rank.value);
        lines += &match (&rank.others, rank.better_than_percent) {
            (Some(others), Some(percent)) => format!(
                "\n{id}: {value}, better than {percent:.0} % of {} with the same profile in the same environment \
                 (median {})",
                plural(others.runs, "other result"),
                metric.show(others.median)
            ),
            _ => format!("\n{id}: {value}; no other result has the same profile in the same environment"),
        };
    }
    if lines.is_empty() { lines } else { lines + "\n" }
}

pub(crate) struct JudgedRow {
    document: String,
    grade: Option<Grade>,
    figures: [String; 3],
    /// The finding that gives the grade, or what the document is.
    about: String,
}

impl JudgedRow {
    /// A run: its figures, and the finding that leads.
    pub fn of_run(document: &str, run: &Document, verdict: &Verdict) -> Self {
        let leads = verdict.findings.iter().filter(|finding| !finding.grade.is_remark());
        let rules: Vec<&str> = leads.map(|finding| finding.rule.as_str()).collect();
        let about = match rules.as_slice() {
            [] => String::new(),
            [only] => (*only).to_string(),
            [first, others @ ..] => format!("{first} and {} more", others.len()),
        };
        JudgedRow {
            document: document.to_string(),
            grade: Some(verdict.grade),
            figures: FIGURES.map(|metric| metric.of(run).map_or("-".to_string(), |value| metric.show(value))),
            about,
        }
    }

    /// The document of a suite.
    pub fn of_suite(document: &str, kind: &str, grade: Option<Grade>) -> Self {
        let none = FIGURES.map(|_| "-".to_string());
        JudgedRow { document: document.to_string(), grade, figures: none, about: format!("runs of a {kind}") }
    }
}

/// The documents with their grades, figures and findings; ends with a line end.
pub(crate) fn judged_table<'r>(rows: impl Iterator<Item = &'r JudgedRow>, style: Style) -> String {
    let rows: Vec<&JudgedRow> = rows.collect();
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
            JudgedRow::of_run("a\u{1b}b.json", &Document::default(), &verdict),
            JudgedRow::of_run("b.json", &Document::default(), &Verdict::default()),
            JudgedRow::of_suite("mark.json", "mark", None),
        ];
        assert_eq!(
            judged_table(rows.iter(), PLAIN),
            "grade             IOPS      throughput  mean latency  document       finding\n\
             invalid              -               -             -  a\\u{1b}b.json  served-from-cache and 1 more\n\
             certified            -               -             -  b.json\n\
             not judged           -               -             -  mark.json      runs of a mark\n\n\
             3 documents: 1 certified, 0 suspect, 1 invalid, 1 not judged. truespd judge DOCUMENT tells \
             all findings of one.\n"
        );
    }
}
