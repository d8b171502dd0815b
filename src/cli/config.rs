//! The configuration file of a person: `$XDG_CONFIG_HOME/truespd/config.toml`, or `~/.config/truespd/config.toml`.
//!
//! Everything in it may be missing. What is not known is refused: a misspelt line would do nothing, and nobody would see.

use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::fault::{Refusal, RefusalKind};
use crate::sys::error::system_text;
use crate::sys::folders;
use crate::text::printable_path;

/// Name of the file.
const NAME: &str = "config.toml";
/// What may stand in it, for messages.
const LEGAL: &str =
    "[history] with keep = true or false, diskspd = true or false, store = \"/path/of/a/file\"";

/// What the file says.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    /// `[history]`.
    pub history: HistoryConfig,
}

/// What is kept, and where.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct HistoryConfig {
    /// Runs and suites of `truespd` are kept; without a word they are.
    pub keep: Option<bool>,
    /// Runs of `diskspd` are kept; without a word they are not.
    pub diskspd: Option<bool>,
    /// The file of the history, an absolute path.
    pub store: Option<PathBuf>,
}

impl Config {
    /// Reads the file; a missing one says nothing.
    ///
    /// # Errors
    /// It cannot be read, or says something that is not known.
    pub fn read() -> Result<Config, Refusal> {
        folders::config().map_or_else(|| Ok(Config::default()), |folder| Self::read_from(&folder.join(NAME)))
    }

    fn read_from(path: &Path) -> Result<Config, Refusal> {
        let refusal = |what: String| Refusal::new(RefusalKind::Input, what).on(path.display().to_string());
        let shown = printable_path(path);
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(&text).map_err(|(line, what)| {
                refusal(format!("the configuration file '{shown}', line {line}: {what}"))
                    .hint(format!("it may hold: {LEGAL}"))
            }),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                Ok(Config::default())
            }
            Err(error) => {
                let what =
                    format!("the configuration file '{shown}' cannot be read: {}", system_text(&error));
                Err(refusal(what))
            }
        }
    }

    /// The error is the number of its line, from 1, and what is wrong.
    fn parse(text: &str) -> Result<Config, (usize, String)> {
        let line_of = |span: Option<Range<usize>>| {
            let before = span.and_then(|span| text.get(..span.start)).unwrap_or_default();
            before.matches('\n').count() + 1
        };
        let config: Config = toml::from_str(text)
            .map_err(|error| (line_of(error.span()), error.message().replace('\n', ", ")))?;
        match &config.history.store {
            Some(store) if !store.is_absolute() => {
                let line =
                    text.lines().position(|line| line.trim_start().starts_with("store")).unwrap_or(0) + 1;
                Err((line, "store is not an absolute path: it would be another file in every folder".into()))
            }
            _ => Ok(config),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_read() {
        assert_eq!(Config::parse(""), Ok(Config::default()));
        let text = "# ours\n[history]\nkeep = false\ndiskspd = true\nstore = \"/srv/h.sqlite\"\n";
        let history = Config::parse(text).unwrap().history;
        assert_eq!((history.keep, history.diskspd), (Some(false), Some(true)));
        assert_eq!(history.store, Some("/srv/h.sqlite".into()));
    }

    #[test]
    fn what_is_not_known_is_told_with_its_line() {
        for (text, line, says) in [
            (
                "\n[history]\nkep = true\n",
                3,
                "unknown field `kep`, expected one of `keep`, `diskspd`, `store`",
            ),
            ("[history]\nkeep = \"no\"\n", 2, "expected a boolean"),
            ("[history]\nkeep = 1\n", 2, "expected a boolean"),
            ("[histroy]\n", 1, "unknown field `histroy`"),
            ("[history]\n\nkeep = \n", 3, ""),
            ("[history]\nstore = \"h.sqlite\"\n", 2, "not an absolute path"),
            ("[history]\nkeep = true\nkeep = true\n", 3, "duplicate key"),
        ] {
            let (at, what) = Config::parse(text).unwrap_err();
            assert!(at == line && what.contains(says) && !what.contains('\n'), "{text}: line {at}: {what}");
        }
    }

    #[test]
    fn a_missing_file_says_nothing() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Config::read_from(&dir.path().join(NAME)), Ok(Config::default()));
        let refusal = Config::read_from(dir.path()).unwrap_err();
        assert!(refusal.to_string().contains("cannot be read: Is a directory"), "{refusal}");
    }
}
