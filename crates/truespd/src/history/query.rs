//! Finding documents by what is known of them.

use std::collections::BTreeMap;

use rusqlite::types::Value;
use rusqlite::{Row, ToSql};

use super::entry::{Entry, Given};
use super::error::HistoryError;
use super::facts::{Device, Facts};
use super::open::Store;
use truespd_core::result::{Grade, Part};

/// Between the parts of a list in one column (ASCII, unit separator and record separator).
const PART: char = '\u{1f}';
const RECORD: char = '\u{1e}';

/// The columns of an [`Entry`], in the order in which [`entry`] reads them.
const COLUMNS: &str = "d.number, d.id, d.kept_s, d.kind, d.start_s, d.host, d.command, d.profile, d.grade, d.tool_version, \
     d.label, d.note, d.revision, d.bytes, \
     (SELECT group_concat(path, char(31)) FROM target WHERE document = d.number), \
     (SELECT group_concat(name || char(30) || coalesce(model, '') || char(30) || coalesce(firmware, ''), char(31)) \
      FROM device WHERE document = d.number), \
     (SELECT group_concat(tag, char(31)) FROM tag WHERE document = d.number), \
     (SELECT group_concat(metric || char(30) || format('%!.17g', value), char(31)) FROM figure WHERE document = d.number), \
     (SELECT group_concat(p.place || char(30) || p.name || char(30) || p.profile || char(30) || p.command || char(30) || \
      f.metric || char(30) || format('%!.17g', f.value), char(31)) FROM part p \
      JOIN part_figure f ON f.document = p.document AND f.place = p.place WHERE p.document = d.number)";

/// Which documents. What is `None` or empty asks nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Filter {
    /// Name of the host, all of it.
    pub host: Option<String>,
    /// Part of a device's name or model, in any case.
    pub device: Option<String>,
    /// Revision of a device's firmware, all of it.
    pub firmware: Option<String>,
    /// Part of a target's path.
    pub target: Option<String>,
    /// Begun at this time or later, seconds since 1970 UTC.
    pub since_s: Option<i64>,
    /// Begun before this time.
    pub until_s: Option<i64>,
    /// With this verdict.
    pub grade: Option<Grade>,
    /// Kind of document.
    pub kind: Option<String>,
    /// Label, all of it.
    pub label: Option<String>,
    /// Tags, each of them.
    pub tags: Vec<String>,
    /// First digits of the hash of the profile, of suites that of one of their tests.
    pub profile: Option<String>,
    /// So many at most, the newest.
    pub limit: Option<usize>,
}

impl Filter {
    /// The condition with its values. Text compares part by part without patterns, so that no sign of a path
    /// means more.
    pub(super) fn condition(&self) -> (String, Vec<Value>) {
        let mut conditions: Vec<String> = Vec::new();
        let mut values: Vec<Value> = Vec::new();
        let mut add = |condition: &str, value: Value| {
            values.push(value);
            conditions.push(condition.replace("?", &format!("?{}", values.len())));
        };
        if let Some(host) = &self.host {
            add("d.host = ?", Value::Text(host.clone()));
        }
        if let Some(device) = &self.device {
            let part = "EXISTS (SELECT 1 FROM device WHERE document = d.number AND \
                        (instr(lower(name), ?) OR instr(lower(coalesce(model, '')), ?)))";
            add(part, Value::Text(device.to_lowercase()));
        }
        if let Some(firmware) = &self.firmware {
            // By the index: it is asked once, not for each document.
            add(
                "d.number IN (SELECT document FROM device WHERE firmware = ?)",
                Value::Text(firmware.clone()),
            );
        }
        if let Some(target) = &self.target {
            add(
                "EXISTS (SELECT 1 FROM target WHERE document = d.number AND instr(path, ?))",
                Value::Text(target.clone()),
            );
        }
        if let Some(since_s) = self.since_s {
            add("d.time_s >= ?", Value::Integer(since_s));
        }
        if let Some(until_s) = self.until_s {
            add("d.time_s < ?", Value::Integer(until_s));
        }
        if let Some(grade) = self.grade {
            add("d.grade = ?", Value::Text(grade.word().into()));
        }
        if let Some(kind) = &self.kind {
            add("d.kind = ?", Value::Text(kind.clone()));
        }
        if let Some(label) = &self.label {
            add("d.label = ?", Value::Text(label.clone()));
        }
        for tag in &self.tags {
            add("EXISTS (SELECT 1 FROM tag WHERE document = d.number AND tag = ?)", Value::Text(tag.clone()));
        }
        if let Some(profile) = &self.profile {
            let begins = "(substr(coalesce(d.profile, ''), 1, length(?)) = ? OR EXISTS \
                          (SELECT 1 FROM part WHERE document = d.number AND substr(profile, 1, length(?)) = ?))";
            add(begins, Value::Text(profile.to_lowercase()));
        }
        let words =
            if conditions.is_empty() { String::new() } else { format!("WHERE {}", conditions.join(" AND ")) };
        (words, values)
    }
}

impl Store {
    /// The documents of a filter, the newest first.
    ///
    /// # Errors
    /// [`HistoryError`].
    pub fn list(&self, filter: &Filter) -> Result<Vec<Entry>, HistoryError> {
        let (condition, values) = filter.condition();
        let values: Vec<&dyn ToSql> = values.iter().map(|value| value as &dyn ToSql).collect();
        self.entries(&condition, &values, filter.limit)
    }

    /// How many documents a filter has, without its limit.
    ///
    /// # Errors
    /// [`HistoryError`].
    pub fn count(&self, filter: &Filter) -> Result<u64, HistoryError> {
        let (condition, values) = filter.condition();
        let values: Vec<&dyn ToSql> = values.iter().map(|value| value as &dyn ToSql).collect();
        let query = format!("SELECT count(*) FROM document d {condition}");
        self.db.query_row(&query, values.as_slice(), |row| row.get(0)).map_err(|error| self.fault(error))
    }

    pub(super) fn entries(
        &self,
        condition: &str,
        values: &[&dyn ToSql],
        limit: Option<usize>,
    ) -> Result<Vec<Entry>, HistoryError> {
        let limit = limit.map(|limit| format!(" LIMIT {limit}")).unwrap_or_default();
        let query = format!(
            "SELECT {COLUMNS} FROM document d {condition} ORDER BY d.time_s DESC, d.number DESC{limit}"
        );
        let all =
            || self.db.prepare(&query)?.query_map(values, entry)?.collect::<rusqlite::Result<Vec<Entry>>>();
        all().map_err(|error| self.fault(error))
    }
}

/// A row of [`COLUMNS`].
fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    let parts = |column: usize| -> rusqlite::Result<Vec<String>> {
        let joined: Option<String> = row.get(column)?;
        Ok(joined.map(|all| all.split(PART).map(String::from).collect()).unwrap_or_default())
    };
    let some = |word: Option<&str>| word.filter(|word| !word.is_empty()).map(String::from);
    let device = |record: &String| {
        let mut words = record.split(RECORD);
        let name = words.next().unwrap_or_default().to_string();
        Device { name, model: some(words.next()), firmware: some(words.next()) }
    };
    let figure = |record: &String| {
        let (metric, value) = record.split_once(RECORD)?;
        Some((metric.to_string(), value.parse().ok()?))
    };
    let grade: Option<String> = row.get(8)?;
    let facts = Facts {
        kind: row.get(3)?,
        start_unix_s: row.get(4)?,
        host: row.get(5)?,
        command: row.get(6)?,
        profile: row.get(7)?,
        grade: grade.and_then(|word| Grade::ALL.into_iter().find(|grade| grade.word() == word)),
        tool_version: row.get(9)?,
        targets: parts(14)?,
        devices: parts(15)?.iter().map(device).collect(),
        figures: parts(17)?.iter().filter_map(figure).collect(),
        parts: tests_of(&parts(18)?),
    };
    let given = Given { label: row.get(10)?, note: row.get(11)?, revision: row.get(12)?, tags: parts(16)? };
    Ok(Entry {
        number: row.get(0)?,
        id: row.get(1)?,
        kept_unix_s: row.get(2)?,
        facts,
        given,
        document_bytes: row.get(13)?,
    })
}

/// The tests of a suite from records of their figures, in their order.
fn tests_of(records: &[String]) -> Vec<Part> {
    let mut parts: BTreeMap<usize, Part> = BTreeMap::new();
    for record in records {
        let words: Vec<&str> = record.split(RECORD).collect();
        let [place, name, profile, command, metric, value] = words.as_slice() else { continue };
        let (Ok(place), Ok(value)) = (place.parse(), value.parse()) else { continue };
        let part = parts.entry(place).or_default();
        (part.name, part.profile, part.command) =
            (name.to_string(), profile.to_string(), command.to_string());
        part.figures.insert(metric.to_string(), value);
    }
    parts.into_values().collect()
}
