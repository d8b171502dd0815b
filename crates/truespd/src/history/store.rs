//! Keeping, finding, reading, naming and removing documents.

use std::collections::BTreeSet;
use std::io::Write;

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use rusqlite::types::{Type, Value};
use rusqlite::{Connection, OptionalExtension, Params, Row, params, params_from_iter};
use serde::de::DeserializeOwned;

use super::HistoryError;
use super::entry::{Added, Entry, ExportedLine, Facts, Given, ID_DIGITS, NewEntry, digest};
use super::open::Store;
use truespd_core::result::json;
use truespd_core::result::{Grade, Part};

/// The columns of an [`Entry`], in the order in which [`entry`] reads them. Numbers have all digits of an `f64`.
const COLUMNS: &str = include_str!("schema/entry-columns.sql");

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
    /// Begun before this time, seconds since 1970 UTC.
    pub until_s: Option<i64>,
    pub grade: Option<Grade>,
    pub kind: Option<String>,
    /// The label of the group, all of it.
    pub label: Option<String>,
    /// Tags, each of which a document must have.
    pub tags: Vec<String>,
    /// First digits of the hash of the profile, of suites that of one of their tests.
    pub profile: Option<String>,
    /// At most this many, the newest ones.
    pub limit: Option<usize>,
}

impl Filter {
    /// The condition with its values. Text compares part by part without patterns, so that no sign of a path
    /// means more.
    pub(super) fn condition(&self) -> (String, Vec<Value>) {
        let device = "EXISTS (SELECT 1 FROM device WHERE document = d.number AND \
                      (instr(lower(name), ?) OR instr(lower(coalesce(model, '')), ?)))";
        // By the index: it is asked once, not for each document.
        let firmware = "d.number IN (SELECT document FROM device WHERE firmware = ?)";
        let target = "EXISTS (SELECT 1 FROM target WHERE document = d.number AND instr(path, ?))";
        let profile = "(substr(coalesce(d.profile, ''), 1, length(?)) = ? OR EXISTS \
                       (SELECT 1 FROM part WHERE document = d.number AND substr(profile, 1, length(?)) = ?))";
        let tag = "EXISTS (SELECT 1 FROM tag WHERE document = d.number AND tag = ?)";
        let mut all: Vec<(&str, Option<Value>)> = vec![
            ("d.host = ?", self.host.clone().map(Value::Text)),
            (device, self.device.as_ref().map(|part| Value::Text(part.to_lowercase()))),
            (firmware, self.firmware.clone().map(Value::Text)),
            (target, self.target.clone().map(Value::Text)),
            ("d.time_s >= ?", self.since_s.map(Value::Integer)),
            ("d.time_s < ?", self.until_s.map(Value::Integer)),
            ("d.grade = ?", self.grade.map(|grade| Value::Text(grade.word().into()))),
            ("d.kind = ?", self.kind.clone().map(Value::Text)),
            ("d.label = ?", self.label.clone().map(Value::Text)),
            (profile, self.profile.as_ref().map(|hash| Value::Text(hash.to_lowercase()))),
        ];
        all.extend(self.tags.iter().map(|name| (tag, Some(Value::Text(name.clone())))));
        let (mut conditions, mut values) = (Vec::new(), Vec::new());
        for (condition, value) in all {
            if let Some(value) = value {
                values.push(value);
                conditions.push(condition.replace('?', &format!("?{}", values.len())));
            }
        }
        if conditions.is_empty() {
            return (String::new(), values);
        }
        (format!("WHERE {}", conditions.join(" AND ")), values)
    }
}

impl Store {
    /// The documents of a filter, the newest first.
    ///
    /// # Errors
    /// [`HistoryError`].
    pub fn list(&self, filter: &Filter) -> Result<Vec<Entry>, HistoryError> {
        let (condition, values) = filter.condition();
        self.entries(&condition, params_from_iter(values), filter.limit)
    }

    /// How many documents a filter has, without its limit.
    ///
    /// # Errors
    /// [`HistoryError`].
    pub fn count(&self, filter: &Filter) -> Result<u64, HistoryError> {
        let (condition, values) = filter.condition();
        let query = format!("SELECT count(*) FROM document d {condition}");
        let count = self.db.query_row(&query, params_from_iter(values), |row| row.get(0));
        count.map_err(|error| self.fault(error))
    }

    /// The digests of all documents.
    ///
    /// # Errors
    /// [`HistoryError`].
    pub fn digests(&self) -> Result<BTreeSet<String>, HistoryError> {
        let mut statement =
            self.db.prepare("SELECT digest FROM document").map_err(|error| self.fault(error))?;
        let rows = statement.query_map([], |row| row.get(0)).and_then(Iterator::collect);
        rows.map_err(|error| self.fault(error))
    }

    /// What only this history knows: pseudonyms come from it, so that nobody can find a name by trying all names.
    ///
    /// # Errors
    /// [`HistoryError`].
    pub fn secret(&self) -> Result<Vec<u8>, HistoryError> {
        let found = self.db.query_row("SELECT bytes FROM secret", [], |row| row.get(0));
        found.map_err(|error| self.fault(error))
    }

    pub(super) fn entries(
        &self,
        condition: &str,
        values: impl Params,
        limit: Option<usize>,
    ) -> Result<Vec<Entry>, HistoryError> {
        let limit = limit.map(|limit| format!(" LIMIT {limit}")).unwrap_or_default();
        let query = format!(
            "SELECT {COLUMNS} FROM document d {condition} ORDER BY d.time_s DESC, d.number DESC{limit}"
        );
        let mut statement = self.db.prepare(&query).map_err(|error| self.fault(error))?;
        let rows = statement.query_map(values, entry).and_then(Iterator::collect);
        rows.map_err(|error| self.fault(error))
    }
}

fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    let grade: Option<String> = row.get(8)?;
    Ok(Entry {
        number: row.get(0)?,
        id: row.get(1)?,
        kept_unix_s: row.get(2)?,
        facts: Facts {
            kind: row.get(3)?,
            start_unix_s: row.get(4)?,
            host: row.get(5)?,
            command: row.get(6)?,
            profile: row.get(7)?,
            grade: grade.and_then(|word| Grade::ALL.into_iter().find(|grade| grade.word() == word)),
            tool_version: row.get(9)?,
            targets: json_column(row, 14)?,
            devices: json_column(row, 15)?,
            figures: json_column(row, 17)?,
            parts: json_column(row, 18)?,
        },
        given: Given {
            label: row.get(10)?,
            note: row.get(11)?,
            revision: row.get(12)?,
            tags: json_column(row, 16)?,
        },
        document_bytes: row.get(13)?,
    })
}

fn json_column<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    let json: String = row.get(column)?;
    serde_json::from_str(&json)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(column, Type::Text, Box::new(error)))
}

/// Ids that the message of an ambiguous one names.
const NAMED: usize = 5;

impl Store {
    /// Keeps a document. One that is there already stays as it is, but for tags, a label and a note that it has not.
    ///
    /// # Errors
    /// [`HistoryError`]; nothing was kept.
    pub fn add(&mut self, entry: &NewEntry<'_>) -> Result<Added, HistoryError> {
        let deflated = deflated(entry.document);
        self.change(|db| insert(db, entry, &deflated))
    }

    /// Keeps those of several documents that are of the filter, as one change: all of these, or none. Tells those that
    /// are kept now; what was kept before is, whatever the filter.
    ///
    /// # Errors
    /// The first error of `entries`, or what keeps them from being written; nothing was kept.
    pub fn add_all<E: From<HistoryError>>(
        &mut self,
        entries: impl Iterator<Item = Result<ExportedLine, E>>,
        which: &Filter,
    ) -> Result<Vec<Added>, E> {
        self.check_triggers().map_err(E::from)?;
        let path = self.path.clone();
        let fault = HistoryError::of_sqlite(&path);
        let behavior = rusqlite::TransactionBehavior::Immediate;
        let mut transaction = self.db.transaction_with_behavior(behavior).map_err(&fault)?;
        let mut all = Vec::new();
        for line in entries {
            let line = line?;
            let deflated = deflated(line.document.as_bytes());
            let savepoint = transaction.savepoint().map_err(&fault)?;
            let added = insert(&savepoint, &line.entry(), &deflated).map_err(&fault)?;
            if !added.is_new || has(&savepoint, which, &added.id).map_err(&fault)? {
                savepoint.commit().map_err(&fault)?;
                all.push(added);
            }
        }
        transaction.commit().map_err(&fault)?;
        Ok(all)
    }

    /// The documents that a word names, the newest first: that with this id, those with this label, or that
    /// whose id begins so. A label names a group of documents.
    ///
    /// # Errors
    /// [`Problem::Unknown`](super::Problem), several ids, or what keeps the file from being read.
    pub fn find(&self, selector: &str) -> Result<Vec<Entry>, HistoryError> {
        let id = selector.to_ascii_lowercase();
        let known = self.entries("WHERE d.id = ?1", [&id], None)?;
        if !known.is_empty() {
            return Ok(known);
        }
        let labelled = self.entries("WHERE d.label = ?1", [selector], None)?;
        if !labelled.is_empty() {
            return Ok(labelled);
        }
        let unknown = HistoryError::unknown(&self.path, selector);
        if id.is_empty() || !id.chars().all(|c| c.is_ascii_alphanumeric()) {
            return Err(unknown);
        }
        // No digit of an id comes after `z`.
        let begins = "WHERE d.digest >= ?1 AND d.digest < ?1 || '{'";
        let mut found = self.entries(begins, [&id], Some(NAMED + 1))?;
        match found.len() {
            0 => Err(unknown),
            1 => Ok(found),
            more => {
                found.truncate(NAMED);
                let mut ids: Vec<String> = found.into_iter().map(|entry| entry.id).collect();
                if more > NAMED {
                    ids.push("...".into());
                }
                let message = format!("'{selector}' is the beginning of several ids: {}", ids.join(", "));
                Err(HistoryError::new(&self.path, message, "type more of it"))
            }
        }
    }

    /// [`Store::find`] for something that is done to one document.
    ///
    /// # Errors
    /// As there; or the label is that of several documents.
    pub fn find_one(&self, selector: &str) -> Result<Entry, HistoryError> {
        let mut found = self.find(selector)?;
        match found.len() {
            1 => Ok(found.remove(0)),
            _ => {
                let ids: Vec<String> = found.into_iter().map(|entry| entry.id).take(NAMED).collect();
                let message = format!("several documents have the label '{selector}': {}", ids.join(", "));
                Err(HistoryError::new(&self.path, message, "give the id of one of them"))
            }
        }
    }

    /// The bytes of a document, as they were kept.
    ///
    /// # Errors
    /// [`HistoryError`]: also when they are not those that were kept.
    pub fn document(&self, entry: &Entry) -> Result<Vec<u8>, HistoryError> {
        let query = "SELECT d.digest, c.deflated FROM document d JOIN content c ON c.document = d.number \
                     WHERE d.number = ?1";
        let found = self.db.query_row(query, [entry.number], |row| Ok((row.get(0)?, row.get(1)?))).optional();
        let found: Option<(String, Vec<u8>)> = found.map_err(|error| self.fault(error))?;
        let Some((kept, deflated)) = found else {
            return Err(HistoryError::unknown(&self.path, &entry.id));
        };
        match json::unpacked(deflated.len() as u64, DeflateDecoder::new(deflated.as_slice())) {
            Ok(bytes) if digest(&bytes) == kept => Ok(bytes),
            _ => {
                let how = format!("the content of {} is not what was kept", entry.id);
                Err(HistoryError::damaged(&self.path, &how))
            }
        }
    }

    /// Sets or removes the label of a document.
    ///
    /// # Errors
    /// [`HistoryError`].
    pub fn set_label(&mut self, entry: &Entry, label: Option<&str>) -> Result<(), HistoryError> {
        self.set(entry, "UPDATE document SET label = ?2 WHERE number = ?1", label)
    }

    /// Sets or removes the note of a document.
    ///
    /// # Errors
    /// [`HistoryError`].
    pub fn set_note(&mut self, entry: &Entry, note: Option<&str>) -> Result<(), HistoryError> {
        self.set(entry, "UPDATE document SET note = ?2 WHERE number = ?1", note)
    }

    fn set(&mut self, entry: &Entry, change: &str, value: Option<&str>) -> Result<(), HistoryError> {
        self.change(|db| db.execute(change, params![entry.number, value]))?;
        Ok(())
    }

    /// Adds tags to documents and removes others, as one change.
    ///
    /// # Errors
    /// [`HistoryError`]; nothing was changed.
    pub fn tag(&mut self, entries: &[Entry], add: &[String], remove: &[String]) -> Result<(), HistoryError> {
        self.change(|db| {
            for entry in entries {
                add_tags(db, entry.number, add)?;
                for tag in remove {
                    db.execute(
                        "DELETE FROM tag WHERE document = ?1 AND tag = ?2",
                        params![entry.number, tag],
                    )?;
                }
            }
            Ok(())
        })
    }

    /// Removes documents, as one change.
    ///
    /// # Errors
    /// [`HistoryError`]; nothing was removed.
    pub fn remove(&mut self, entries: &[Entry]) -> Result<(), HistoryError> {
        self.change(|db| {
            let mut remove = db.prepare("DELETE FROM document WHERE number = ?1")?;
            entries.iter().try_for_each(|entry| remove.execute([entry.number]).map(drop))
        })
    }

    /// Gives the room of removed documents back to the file system.
    ///
    /// # Errors
    /// [`HistoryError`]: it takes the room of the file once more, for a moment. Nothing is lost.
    pub fn shrink(&mut self) -> Result<(), HistoryError> {
        self.db.execute_batch("VACUUM").map_err(|error| self.fault(error))
    }

    /// What pruning would remove among the documents of `filter`: those that began before `before_s`, except the newest
    /// `keep_last` of all of them. Documents with a label or a note stay: somebody named them to have them later.
    ///
    /// # Errors
    /// [`HistoryError`].
    pub fn prunable(
        &self,
        filter: &Filter,
        before_s: Option<i64>,
        keep_last: usize,
    ) -> Result<Vec<Entry>, HistoryError> {
        let all = self.list(&Filter { limit: None, ..filter.clone() })?;
        let mut prunable = Vec::new();
        for entry in all.into_iter().skip(keep_last) {
            let is_old = before_s.is_none_or(|before_s| entry.time_s() < before_s);
            let is_named = entry.given.label.is_some() || entry.given.note.is_some();
            if is_old && !is_named {
                prunable.push(entry);
            }
        }
        Ok(prunable)
    }
}

impl Entry {
    /// When the run began, or when it was kept where the document does not tell. Seconds since 1970 UTC.
    pub fn time_s(&self) -> i64 {
        self.facts.start_unix_s.unwrap_or(self.kept_unix_s)
    }
}

fn deflated(document: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(document).and_then(|()| encoder.finish()).expect("memory takes all that is written")
}

/// Writes the rows of a document, inside a transaction.
/// Whether the document with this id is one of those of a filter.
fn has(db: &Connection, which: &Filter, id: &str) -> rusqlite::Result<bool> {
    let (condition, mut values) = which.condition();
    values.push(Value::Text(id.to_string()));
    let and = if condition.is_empty() { "WHERE" } else { "AND" };
    let query =
        format!("SELECT EXISTS (SELECT 1 FROM document d {condition} {and} d.id = ?{})", values.len());
    db.prepare_cached(&query)?.query_row(params_from_iter(values), |row| row.get(0))
}

fn insert(db: &Connection, entry: &NewEntry<'_>, deflated: &[u8]) -> rusqlite::Result<Added> {
    let digest = digest(entry.document);
    let known = db
        .prepare_cached("SELECT number, id FROM document WHERE digest = ?1")?
        .query_row([&digest], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))
        .optional()?;
    if let Some((number, id)) = known {
        complete(db, number, entry.given)?;
        return Ok(Added { id, is_new: false });
    }
    let id = free_id(db, &digest)?;
    let (facts, given) = (entry.facts, entry.given);
    db.prepare_cached(
        "INSERT INTO document (id, digest, kind, time_s, start_s, kept_s, host, command, profile, grade, tool_version, \
         label, note, revision, bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
    )?
    .execute(params![
        id,
        digest,
        facts.kind,
        facts.start_unix_s.unwrap_or(entry.kept_unix_s),
        facts.start_unix_s,
        entry.kept_unix_s,
        facts.host,
        facts.command,
        facts.profile,
        facts.grade.map(|grade| grade.word()),
        facts.tool_version,
        given.label,
        given.note,
        given.revision,
        i64::try_from(entry.document.len()).unwrap_or(i64::MAX),
    ])?;
    let number = db.last_insert_rowid();
    db.prepare_cached("INSERT INTO content VALUES (?1, ?2)")?.execute(params![number, deflated])?;
    let mut target = db.prepare_cached("INSERT INTO target VALUES (?1, ?2, ?3)")?;
    for (place, path) in facts.targets.iter().enumerate() {
        target.execute(params![number, place as i64, path])?;
    }
    let mut device = db.prepare_cached("INSERT INTO device VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for (place, one) in facts.devices.iter().enumerate() {
        device.execute(params![number, place as i64, one.name, one.model, one.firmware])?;
    }
    let mut figure = db.prepare_cached("INSERT INTO figure VALUES (?1, ?2, ?3)")?;
    for (metric, value) in facts.figures.iter().filter(|(_, value)| value.is_finite()) {
        figure.execute(params![number, metric, value])?;
    }
    insert_parts(db, number, &facts.parts)?;
    add_tags(db, number, &given.tags)?;
    // Read back before anybody is told that it is kept.
    db.prepare_cached(
        "SELECT 1 FROM document d JOIN content c ON c.document = d.number WHERE d.number = ?1 AND d.digest = ?2 \
         AND length(c.deflated) = ?3",
    )?
    .query_row(params![number, digest, deflated.len() as i64], |_| Ok(()))?;
    Ok(Added { id, is_new: true })
}

/// Writes the tests of a suite with their figures.
fn insert_parts(db: &Connection, number: i64, parts: &[Part]) -> rusqlite::Result<()> {
    let mut insert = db.prepare_cached("INSERT INTO part VALUES (?1, ?2, ?3, ?4, ?5)")?;
    let mut figure = db.prepare_cached("INSERT INTO part_figure VALUES (?1, ?2, ?3, ?4)")?;
    for (place, part) in parts.iter().enumerate() {
        insert.execute(params![number, place as i64, part.name, part.profile, part.command])?;
        for (metric, value) in part.figures.iter().filter(|(_, value)| value.is_finite()) {
            figure.execute(params![number, place as i64, metric, value])?;
        }
    }
    Ok(())
}

/// Adds what is known of a document that was there already, and changes nothing that it has.
fn complete(db: &Connection, number: i64, given: &Given) -> rusqlite::Result<()> {
    db.execute(
        "UPDATE document SET label = coalesce(label, ?2), note = coalesce(note, ?3), revision = coalesce(revision, ?4) \
         WHERE number = ?1",
        params![number, given.label, given.note, given.revision],
    )?;
    add_tags(db, number, &given.tags)
}

fn add_tags(db: &Connection, number: i64, tags: &[String]) -> rusqlite::Result<()> {
    let mut add = db.prepare_cached("INSERT OR IGNORE INTO tag VALUES (?1, ?2)")?;
    tags.iter().try_for_each(|tag| add.execute(params![number, tag]).map(drop))
}

/// The first digits of a digest with which no other document begins, at least [`ID_DIGITS`]. Ids are chosen inside the
/// transaction that writes them, so that no two processes choose the same.
fn free_id(db: &Connection, digest: &str) -> rusqlite::Result<String> {
    let mut taken = db
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM document WHERE digest >= ?1 AND digest < ?1 || '{')")?;
    for length in ID_DIGITS..digest.len() {
        let id = &digest[..length];
        if !taken.query_row([id], |row| row.get::<_, bool>(0))? {
            return Ok(id.to_string());
        }
    }
    Ok(digest.to_string())
}
