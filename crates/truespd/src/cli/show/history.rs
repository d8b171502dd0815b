//! Kept documents as people see them.

use crate::answer::word;
use crate::history::{Entry, Environment, Group, Rank};
use jiff::Timestamp;
use std::path::Path;
use truespd_core::result::metrics::{Better, Metric};
use truespd_core::result::{Document, Grade, Verdict};
use truespd_front::show::{Style, plural};
use truespd_platform::text::table::{Column, Room, fitted};
use truespd_platform::text::{hanging, printable, start_of};

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

/// A column of a list: its head, whether it holds numbers, what becomes of it where there is no room, and its cells.
type ListColumn = (&'static str, bool, Room, fn(&Entry) -> String);

const COLUMNS: [ListColumn; 10] = [
    ("id", false, Room::Stays, |entry| entry.id.clone()),
    ("time (UTC)", false, Room::Stays, |entry| moment(entry.time_s(), "%Y-%m-%d %H:%M")),
    ("kind", false, Room::Stays, |entry| entry.facts.kind.clone()),
    ("verdict", false, Room::Stays, |entry| word(entry.facts.grade).to_string()),
    ("IOPS", true, Room::Stays, |entry| figure(entry, Metric::IOPS)),
    ("throughput", true, Room::Goes(1), |entry| figure(entry, Metric::BYTES)),
    ("mean", true, Room::Goes(3), |entry| figure(entry, Metric::MEAN)),
    ("host", false, Room::Goes(5), |entry| entry.facts.host.clone()),
    ("target", false, Room::End(10, 4), targets),
    ("label, tags", false, Room::Start(11, 2), label_and_tags),
];

/// A list of documents; empty without any. On a terminal of so many columns it is made to fit.
pub(crate) fn table(entries: &[Entry], terminal: Option<usize>, style: Style) -> String {
    if entries.is_empty() {
        return String::new();
    }
    let mut columns = Vec::new();
    for (head, is_number, room, cell) in COLUMNS {
        let cells = entries.iter().map(cell).collect();
        columns.push(Column { head: head.to_string(), cells, is_number, room });
    }
    painted(&fitted(columns, terminal), entries.iter().map(|entry| entry.facts.grade), style)
}

/// A table with the verdicts of its rows in colour. Colours take no room, so they come after the widths.
fn painted(table: &str, grades: impl Iterator<Item = Option<Grade>>, style: Style) -> String {
    let (head, rows) = table.split_once('\n').unwrap_or((table, ""));
    let mut out = format!("{head}\n");
    for (line, grade) in rows.lines().zip(grades) {
        out.push_str(&match grade {
            Some(grade) => line.replacen(grade.word(), &style.paint(grade, grade.word()), 1),
            None => line.to_string(),
        });
        out.push('\n');
    }
    out
}

/// A figure of a run, or the main one of a suite: the best of a mark's or an assessment's tests, the highest
/// rate that a workload or find-max found.
fn figure(entry: &Entry, metric: Metric) -> String {
    let facts = &entry.facts;
    let of_parts = facts.parts.iter().filter_map(|part| part.figures.get(metric.id()).copied());
    let value = match facts.kind.as_str() {
        "mark" | "assess" if metric.is_rate() => of_parts.reduce(f64::max),
        "mark" | "assess" => of_parts.reduce(f64::min),
        // The highest rate is the last of its parts.
        "workload" | "find-max" => facts.parts.last().and_then(|part| part.figures.get(metric.id()).copied()),
        _ => facts.figures.get(metric.id()).copied(),
    };
    value.map_or("-".into(), |value| metric.show(value))
}

fn targets(entry: &Entry) -> String {
    match entry.facts.targets.as_slice() {
        [] => "-".to_string(),
        [only] => only.clone(),
        [first, others @ ..] => format!("{first} +{}", others.len()),
    }
}

fn label_and_tags(entry: &Entry) -> String {
    let label = entry.given.label.iter().cloned();
    let tags = entry.given.tags.iter().map(|tag| format!("+{tag}"));
    label.chain(tags).collect::<Vec<_>>().join(" ")
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

/// Distributions of a metric; each ends with a line end. On a terminal of so many columns the table is made to fit.
pub(crate) fn statistics(
    groups: &[Group],
    by: &[Environment],
    metric: Metric,
    terminal: Option<usize>,
) -> String {
    let better = match metric.better() {
        Better::Higher => "more is better",
        Better::Lower => "less is better",
    };
    let title = format!("{}, {better}\n", metric.words(false));
    if groups.is_empty() {
        return format!("{title}no kept result has this figure\n");
    }
    let mut columns = Vec::new();
    for (place, one) in by.iter().enumerate() {
        let cells = groups.iter().map(|group| group.environment[place].clone().unwrap_or("-".into()));
        columns.push(Column {
            head: one.name().to_string(),
            cells: cells.collect(),
            is_number: false,
            room: Room::Start(8, 6),
        });
    }
    if groups.iter().any(|group| group.part.is_some()) {
        let cells = groups.iter().map(|group| match &group.part {
            Some(part) => format!("{} {part}", group.kind),
            None => load_words(&group.command),
        });
        columns.push(Column {
            head: "test".into(),
            cells: cells.collect(),
            is_number: false,
            room: Room::Start(20, 2),
        });
    }
    let profiles = groups.iter().map(|group| group.profile.chars().take(HASH_SHOWN).collect());
    columns.push(Column {
        head: "profile".into(),
        cells: profiles.collect(),
        is_number: false,
        room: Room::Goes(5),
    });
    let results = groups.iter().map(|group| group.spread.runs.to_string()).collect();
    columns.push(Column { head: "results".into(), cells: results, is_number: true, room: Room::Stays });
    for (head, room, cells) in [
        ("min", Room::Goes(3), shown_of(groups, metric, |group| group.spread.min)),
        ("25 %", Room::Goes(4), shown_of(groups, metric, |group| group.spread.lower_quartile)),
        ("median", Room::Stays, shown_of(groups, metric, |group| group.spread.median)),
        ("75 %", Room::Goes(4), shown_of(groups, metric, |group| group.spread.upper_quartile)),
        ("max", Room::Goes(3), shown_of(groups, metric, |group| group.spread.max)),
    ] {
        columns.push(Column { head: head.into(), cells, is_number: true, room });
    }
    let commands = groups.iter().map(|group| without_lost_folders(&group.command, Path::exists)).collect();
    columns.push(Column {
        head: "command of the newest".into(),
        cells: commands,
        is_number: false,
        room: Room::Start(21, 7),
    });
    title + &fitted(columns, terminal)
}

/// Columns of a command in the place of a test's name: all figures have room beside it in 80 columns.
const LOAD_COLUMNS: usize = 30;

/// `run -b4K -o8 -r`: DiskSpd's words of a command, by which runs are told apart.
fn load_words(command: &str) -> String {
    let mut words = vec!["run"];
    for word in command.split_whitespace() {
        if word.starts_with('-') && !word.starts_with("--") {
            words.push(word);
        }
    }
    start_of(&words.join(" "), LOAD_COLUMNS)
}

fn shown_of(groups: &[Group], metric: Metric, figure: fn(&Group) -> f64) -> Vec<String> {
    groups.iter().map(|group| metric.show(figure(group))).collect()
}

/// The command without the folders of files that are gone: those of temporary folders say nothing any more.
fn without_lost_folders(command: &str, exists: fn(&Path) -> bool) -> String {
    let mut words = Vec::new();
    for word in command.split(' ') {
        let folder = Path::new(word)
            .parent()
            .filter(|folder| folder.starts_with("/tmp") || folder.starts_with("/var/tmp"));
        match (folder, word.rsplit_once('/')) {
            (Some(folder), Some((_, name))) if !exists(folder) => words.push(format!("\u{2026}/{name}")),
            _ => words.push(word.to_string()),
        }
    }
    words.join(" ")
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

/// Heading, whether its cells are numbers, and what they say.
type JudgedColumn = (&'static str, bool, fn(&JudgedRow) -> String);

/// Columns of the table of judged documents.
const JUDGED: [JudgedColumn; 6] = [
    ("grade", false, |row| word(row.grade).to_string()),
    ("IOPS", true, |row| row.figures[0].clone()),
    ("throughput", true, |row| row.figures[1].clone()),
    ("mean latency", true, |row| row.figures[2].clone()),
    ("document", false, |row| row.document.clone()),
    ("finding", false, |row| row.about.clone()),
];

/// The documents with their grades, figures and findings; ends with a line end.
pub(crate) fn judged_table<'r>(rows: impl Iterator<Item = &'r JudgedRow>, style: Style) -> String {
    let rows: Vec<&JudgedRow> = rows.collect();
    let mut columns = Vec::new();
    for (head, is_number, cell) in JUDGED {
        let cells = rows.iter().map(|row| cell(row)).collect();
        columns.push(Column { head: head.to_string(), cells, is_number, room: Room::Stays });
    }
    let mut out = painted(&fitted(columns, None), rows.iter().map(|row| row.grade), style);
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
    fn a_table_fits_the_terminal() {
        let column = |head: &str, cell: &str, room| Column {
            head: head.into(),
            cells: vec![cell.into()],
            is_number: false,
            room,
        };
        let columns = || {
            vec![
                column("id", "3f7k2q1", Room::Stays),
                column("host", "server", Room::Goes(3)),
                column("target", "/srv/data/file", Room::End(8, 2)),
                column("label", "before the change", Room::Start(6, 1)),
                column("tags", "", Room::Stays),
            ]
        };
        let row = |terminal| fitted(columns(), terminal).lines().nth(1).map(String::from).unwrap_or_default();
        assert_eq!(row(None), "3f7k2q1  server  /srv/data/file  before the change");
        assert_eq!(row(Some(50)), row(None));
        assert_eq!(row(Some(49)), "3f7k2q1  /srv/data/file  before the change", "the host goes first");
        assert_eq!(row(Some(38)), "3f7k2q1  \u{2026}data/file  before the change");
        assert_eq!(row(Some(30)), "3f7k2q1  before the change");
        assert_eq!(row(Some(20)), "3f7k2q1  before the\u{2026}");
        assert_eq!(row(Some(4)), "3f7k2q1", "what stays, stays");
    }

    #[test]
    fn temporary_folders_that_are_gone_are_not_shown() {
        let shown = |exists| without_lost_folders("diskspd -b4K /tmp/.tmpX1/t.dat /srv/t.dat", exists);
        assert_eq!(shown(|_| false), "diskspd -b4K \u{2026}/t.dat /srv/t.dat");
        assert_eq!(shown(|_| true), "diskspd -b4K /tmp/.tmpX1/t.dat /srv/t.dat");
    }

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
            "grade       document       finding\n\
             invalid     a\\u{1b}b.json  served-from-cache and 1 more\n\
             certified   b.json\n\
             not judged  mark.json      runs of a mark\n\n\
             3 documents: 1 certified, 0 suspect, 1 invalid, 1 not judged. truespd judge DOCUMENT tells \
             all findings of one.\n"
        );
    }
}
