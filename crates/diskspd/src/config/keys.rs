//! What can be configured: a row per key. Reading, refusals, `truespd config` and its document come from the rows.
//!
//! No key may change what a line of `diskspd` means: what it reads and writes, how, and what it prints on
//! standard output.

use std::path::PathBuf;

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
pub static KEYS: [Row; 6] = [
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
    let is_first = |(at, row): &(usize, &Row)| KEYS[..*at].iter().all(|before| before.table != row.table);
    KEYS.iter().enumerate().filter(is_first).map(|(_, row)| row.table)
}

/// Names of the keys of a table.
pub fn names(table: &str) -> impl Iterator<Item = &'static str> {
    KEYS.iter().filter(move |row| row.table == table).map(|row| row.name)
}
