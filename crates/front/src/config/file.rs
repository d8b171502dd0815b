//! What a configuration file may say (a row per key: reading, refusals, `truespd config` and its document come from the
//! rows), and one file's text to what it sets, or everything that is wrong with it.
//!
//! No key may change what a line of `diskspd` means: what it reads and writes, how, and what it prints on
//! standard output. The one that says which `diskspd` is meant, that of 2.2 or that of 2.3, is there to do so.

use std::path::PathBuf;

use toml::Spanned;
use toml::de::{DeTable, DeValue};
use truespd_core::profile::Release;
use truespd_platform::text::{nearest, printable, start_of};

/// A key of the configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// Runs and suites of `truespd` are kept in the history.
    HistoryKeep,
    /// Runs of `diskspd` are kept in the history.
    HistoryDiskspd,
    /// The file of the history.
    HistoryStore,
    /// Nothing beside a result but what DiskSpd prints.
    OutputQuiet,
    OutputColour,
    /// Where a suite tests when no target is named.
    TargetsFolder,
    /// The release of DiskSpd that `diskspd` is compatible with.
    DiskspdCompat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    Flag,
    /// An absolute path, in quotes.
    Path,
    /// One of these words, in quotes.
    Word(&'static [&'static str]),
}

/// What a key is set to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    Flag(bool),
    Path(PathBuf),
    Word(&'static str),
}

/// A key in its table.
#[derive(Debug)]
pub struct Row {
    pub key: Key,
    /// The table that it stands in.
    pub table: &'static str,
    pub name: &'static str,
    pub takes: Takes,
}

pub const AUTO: &str = "auto";
/// Colours also where no terminal is.
pub const ALWAYS: &str = "always";
pub const NEVER: &str = "never";

/// All keys, in the order in which they are shown.
pub static KEYS: [Row; 7] = [
    Row { key: Key::HistoryKeep, table: "history", name: "keep", takes: Takes::Flag },
    Row { key: Key::HistoryDiskspd, table: "history", name: "diskspd", takes: Takes::Flag },
    Row { key: Key::HistoryStore, table: "history", name: "store", takes: Takes::Path },
    Row { key: Key::OutputQuiet, table: "output", name: "quiet", takes: Takes::Flag },
    Row {
        key: Key::OutputColour,
        table: "output",
        name: "colour",
        takes: Takes::Word(&[AUTO, ALWAYS, NEVER]),
    },
    Row { key: Key::TargetsFolder, table: "targets", name: "folder", takes: Takes::Path },
    Row { key: Key::DiskspdCompat, table: "diskspd", name: "compat", takes: Takes::Word(&Release::WORDS) },
];

impl Row {
    pub fn whole_name(&self) -> String {
        format!("{}.{}", self.table, self.name)
    }
}

impl Takes {
    /// What is legal, for messages.
    pub fn legal(self) -> String {
        match self {
            Takes::Flag => "true or false, without quotes".to_string(),
            Takes::Path => "an absolute path in quotes, such as \"/srv/tests\"".to_string(),
            Takes::Word(words) => {
                let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
                format!("one of {}", quoted.join(", "))
            }
        }
    }
}

/// Names of the tables, each once.
pub fn tables() -> impl Iterator<Item = &'static str> {
    KEYS.chunk_by(|one, next| one.table == next.table).map(|rows| rows[0].table)
}

/// Names of the keys of a table.
pub fn names(table: &str) -> impl Iterator<Item = &'static str> {
    KEYS.iter().filter(move |row| row.table == table).map(|row| row.name)
}

/// The version of the format that this program knows. It grows with every key or value that is added.
pub(super) const VERSION: i64 = 1;
/// The key that says which version a file is written for.
const VERSION_KEY: &str = "version";
/// So many characters of a line show which one it is.
const LINE_SHOWN_MAX: usize = 80;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Said {
    /// In the order of the lines.
    pub set: Vec<Set>,
    /// What a newer version may know, and this one does not.
    pub unknown: Vec<Wrong>,
}

/// A key that is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Set {
    pub key: Key,
    pub value: Value,
    /// Number of its line, from 1.
    pub line: usize,
}

/// Something that is not understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wrong {
    /// Number of its line, from 1.
    pub line: usize,
    pub what: String,
    pub legal: Option<String>,
    pub meant: Option<String>,
    /// Another version of this program might understand it.
    is_newer: bool,
}

impl Wrong {
    fn new(line: usize, what: String) -> Self {
        Wrong { line, what, legal: None, meant: None, is_newer: false }
    }

    fn legal(self, legal: impl Into<String>) -> Self {
        Wrong { legal: Some(legal.into()), ..self }
    }

    fn meant(self, meant: Option<String>) -> Self {
        Wrong { meant, ..self }
    }

    /// What an unknown name or word is.
    fn perhaps_newer(self) -> Self {
        Wrong { is_newer: true, ..self }
    }
}

/// Reads a file's text.
///
/// # Errors
/// What is not understood, at least one, in the order of the lines.
pub(super) fn parse(text: &str) -> Result<Said, Vec<Wrong>> {
    let table = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(text, span.start));
        let shown = start_of(text.lines().nth(line - 1).unwrap_or_default().trim(), LINE_SHOWN_MAX);
        let what = error.message().replace('\n', ", ");
        let wrong = Wrong::new(line, format!("{what}; the line is: {}", printable(&shown)));
        // Most slips are in the value, or the key stands there already.
        let name = shown.split_once('=').map(|(name, _)| name.trim());
        let row =
            KEYS.iter().find(|row| name.is_some_and(|name| [row.name, &row.whole_name()].contains(&name)));
        vec![match row {
            Some(row) => wrong.legal(format!("{}; each key once", row.takes.legal())),
            None => wrong,
        }]
    })?;
    let mut reader = Reader { text, said: Said::default(), wrong: Vec::new() };
    let version = reader.version(table.get_ref());
    reader.tables(table.get_ref());
    let Reader { mut said, wrong, .. } = reader;
    // A file that was written for a newer version may say what only that knows. In all others it is a slip, which would
    // do nothing, and nobody would see.
    let (newer, mut wrong): (Vec<Wrong>, Vec<Wrong>) =
        wrong.into_iter().partition(|wrong| wrong.is_newer && version > VERSION);
    said.unknown = newer;
    said.unknown.sort_by_key(|wrong| wrong.line);
    said.set.sort_by_key(|set| set.line);
    wrong.sort_by_key(|wrong| wrong.line);
    if wrong.is_empty() { Ok(said) } else { Err(wrong) }
}

/// Number of the line, from 1, in which this byte stands.
fn line_of(text: &str, byte: usize) -> usize {
    text.get(..byte).unwrap_or_default().matches('\n').count() + 1
}

struct Reader<'t> {
    text: &'t str,
    said: Said,
    wrong: Vec<Wrong>,
}

impl Reader<'_> {
    fn line<T>(&self, spanned: &Spanned<T>) -> usize {
        line_of(self.text, spanned.span().start)
    }

    /// The version that the file is written for.
    fn version(&mut self, table: &DeTable<'_>) -> i64 {
        let found = table.iter().find(|(name, _)| name.get_ref() == VERSION_KEY);
        let Some((name, value)) = found else { return VERSION };
        let number = match value.get_ref() {
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        if let Some(number) = number.filter(|number| *number >= 1) {
            return number;
        }
        let what = format!("{VERSION_KEY} is {}", shown(value.get_ref()));
        let wrong = Wrong::new(self.line(name), what);
        self.wrong.push(wrong.legal(format!("a whole number from 1; this program knows {VERSION}")));
        VERSION
    }

    fn tables(&mut self, table: &DeTable<'_>) {
        for (name, value) in table.iter().filter(|(name, _)| name.get_ref() != VERSION_KEY) {
            let line = self.line(name);
            let known = tables().find(|known| known == name.get_ref());
            match (known, value.get_ref()) {
                (Some(known), DeValue::Table(inner)) => self.keys(known, inner),
                (Some(known), other) => {
                    let what = format!("{known} is {}, and not a table", shown(other));
                    self.wrong
                        .push(Wrong::new(line, what).legal(format!("[{known}] with its keys below it")));
                }
                (None, value) => {
                    let is_table = matches!(value, DeValue::Table(_));
                    self.wrong.push(unknown_at_top(name.get_ref(), is_table, line));
                }
            }
        }
    }

    fn keys(&mut self, table: &'static str, inner: &DeTable<'_>) {
        for (name, value) in inner {
            let line = self.line(name);
            let row = KEYS.iter().find(|row| row.table == table && row.name == name.get_ref());
            let Some(row) = row else {
                self.wrong.push(unknown_key(table, name.get_ref(), line));
                continue;
            };
            match taken(row, value.get_ref(), line) {
                Ok(value) => self.said.set.push(Set { key: row.key, value, line }),
                Err(wrong) => self.wrong.push(wrong),
            }
        }
    }
}

fn taken(row: &Row, value: &DeValue<'_>, line: usize) -> Result<Value, Wrong> {
    let wrong = Wrong::new(line, format!("{} in [{}] is {}", row.name, row.table, shown(value)))
        .legal(row.takes.legal());
    match (row.takes, value) {
        (Takes::Flag, DeValue::Boolean(flag)) => Ok(Value::Flag(*flag)),
        (Takes::Path, DeValue::String(path)) if path.starts_with('/') => {
            Ok(Value::Path(path.as_ref().into()))
        }
        (Takes::Path, DeValue::String(path)) if path.starts_with('~') => Err(wrong
            .meant(Some("the whole path: ~ is a sign of the shell, which does not read this file".into()))),
        (Takes::Word(words), DeValue::String(typed)) => {
            let found = words.iter().find(|word| *word == typed).copied();
            let near = nearest(typed, words.iter().copied()).map(|word| format!("\"{word}\""));
            found.map(Value::Word).ok_or(wrong.meant(near).perhaps_newer())
        }
        _ => Err(wrong),
    }
}

fn unknown_at_top(name: &str, is_table: bool, line: usize) -> Wrong {
    let shown =
        if is_table { format!("table [{}]", printable(name)) } else { format!("key {}", printable(name)) };
    let home = KEYS.iter().find(|row| row.name == name && !is_table);
    let near = nearest(name, tables()).map(|table| format!("[{table}]"));
    let meant = home.map(|row| format!("{} below [{}]", row.name, row.table)).or(near);
    let all: Vec<String> = tables().map(|table| format!("[{table}]")).collect();
    let legal = format!("{}, and {VERSION_KEY} above them", all.join(", "));
    Wrong::new(line, format!("unknown {shown}")).legal(legal).meant(meant).perhaps_newer()
}

fn unknown_key(table: &'static str, name: &str, line: usize) -> Wrong {
    let home = KEYS.iter().find(|row| row.name == name);
    let meant = match home {
        Some(row) => Some(format!("{} below [{}]", row.name, row.table)),
        None if name == VERSION_KEY => Some(format!("{VERSION_KEY} above all tables")),
        None => nearest(name, names(table)).map(str::to_string),
    };
    let all: Vec<&str> = names(table).collect();
    Wrong::new(line, format!("unknown key {} in [{table}]", printable(name)))
        .legal(all.join(", "))
        .meant(meant)
        .perhaps_newer()
}

/// A value in a message.
fn shown(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("\"{}\"", printable(text)),
        DeValue::Integer(number) => number.as_str().to_string(),
        DeValue::Float(number) => number.as_str().to_string(),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Datetime(moment) => moment.to_string(),
        DeValue::Array(_) => "a list".to_string(),
        DeValue::Table(_) => "a table".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_read() {
        assert_eq!(parse(""), Ok(Said::default()));
        let text = "# ours\nversion = 1\n[history]\nkeep = false\nstore \
            = \"/srv/h.sqlite\"\n[output]\ncolour = \"never\"\n\
                    [targets]\nfolder = \"/mnt\"\n";
        let said = parse(text).expect("all of it is known");
        let set: Vec<(Key, Value, usize)> =
            said.set.into_iter().map(|set| (set.key, set.value, set.line)).collect();
        let wanted = [
            (Key::HistoryKeep, Value::Flag(false), 4),
            (Key::HistoryStore, Value::Path("/srv/h.sqlite".into()), 5),
            (Key::OutputColour, Value::Word("never"), 7),
            (Key::TargetsFolder, Value::Path("/mnt".into()), 9),
        ];
        assert_eq!(set, wanted);
        let dotted = parse("output.quiet = true\n").expect("the same in one line");
        assert_eq!(dotted.set[0].value, Value::Flag(true));
    }

    #[test]
    fn what_is_not_known_is_told_with_its_line() {
        for (text, line, says, legal, meant) in [
            ("\n[history]\nkep = true\n", 3, "unknown key kep in [history]", "keep, diskspd, store", "keep"),
            ("[output]\ncolor = \"auto\"\n", 2, "unknown key color in [output]", "quiet, colour", "colour"),
            ("[output]\nkeep = true\n", 2, "unknown key keep", "quiet", "keep below [history]"),
            ("quiet = true\n", 1, "unknown key quiet", "[output]", "quiet below [output]"),
            ("[histroy]\n", 1, "unknown table [histroy]", "[history], [output], [targets]", "[history]"),
            (
                "[output]\ncolour = \"alwas\"\n",
                2,
                "colour in [output] is \"alwas\"",
                "\"always\"",
                "\"always\"",
            ),
            ("[output]\nquiet = \"yes\"\n", 2, "quiet in [output] is \"yes\"", "true or false", ""),
            ("[history]\nkeep = 1\n", 2, "keep in [history] is 1", "true or false", ""),
            ("history = 3\n", 1, "history is 3, and not a table", "[history]", ""),
            (
                "[history]\nstore = \"h.sqlite\"\n",
                2,
                "store in [history] is \"h.sqlite\"",
                "an absolute path",
                "",
            ),
            (
                "[targets]\nfolder = \"~/t\"\n",
                2,
                "is \"~/t\"",
                "an absolute path",
                "~ is a sign of the shell",
            ),
            ("version = \"2\"\n", 1, "version is \"2\"", "a whole number", ""),
            ("version = 0\n", 1, "version is 0", "a whole number", ""),
            ("[history]\n\nkeep = \n", 3, "", "", ""),
            ("[history]\nkeep = true\nkeep = true\n", 3, "duplicate key", "each key once", ""),
            ("[output]\nquiet = yes\n", 2, "must be quoted", "true or false", ""),
            ("[output]\nversion = 2\n", 2, "unknown key version", "quiet", "version above all tables"),
        ] {
            let wrong = parse(text).expect_err(text);
            assert_eq!(wrong.len(), 1, "{text}");
            let wrong = &wrong[0];
            assert!(wrong.line == line && wrong.what.contains(says), "{text}: {wrong:?}");
            assert!(wrong.legal.as_deref().unwrap_or_default().contains(legal), "{text}: {wrong:?}");
            let has_meant = wrong.meant.as_deref().is_some_and(|words| words.contains(meant));
            assert!(has_meant || (meant.is_empty() && wrong.meant.is_none()), "{text}: {wrong:?}");
            assert!(!wrong.what.contains('\n'), "{text}");
        }
    }

    #[test]
    fn all_that_is_wrong_is_told_at_once() {
        let wrong = parse("a = 1\n[output]\nquiet = 2\n[x]\n").expect_err("three slips");
        assert_eq!(wrong.iter().map(|wrong| wrong.line).collect::<Vec<_>>(), [1, 3, 4]);
    }

    #[test]
    fn a_newer_file_may_say_more() {
        let said = parse("version = 2\n[output]\nquiet = true\nsound = 3\ncolour = \"pale\"\n[new]\n")
            .expect("newer");
        assert_eq!(said.set.len(), 1);
        assert_eq!(said.unknown.iter().map(|wrong| wrong.line).collect::<Vec<_>>(), [4, 5, 6]);
        // A value of a wrong kind is a slip in every version.
        assert!(parse("version = 2\n[output]\nquiet = 3\n").is_err());
    }
}
