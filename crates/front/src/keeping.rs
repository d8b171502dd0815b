//! Whether a run is kept in the history, and handing its result to `truespd`, which keeps it.
//!
//! What the command line says counts before the variables, these before the configuration file, and that before what is
//! usual. A document that cannot be kept is a warning: the result was printed, and the exit code stays as it is.

use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use truespd_core::result::{Document, Usual, json};
use truespd_platform::fault::{Refusal, Refusals};
use truespd_platform::sys::error::system_text;

use crate::config::{self, Force, Key};
use diskspd::request::HistoryOptions;

/// Why a result is not kept.
#[derive(Debug, thiserror::Error)]
pub enum NotKept {
    /// In words, without what happened.
    #[error("the result is not kept in the history: {0}")]
    Because(String),
    /// The whole line, from `truespd`.
    #[error("{0}")]
    Answered(String),
}

/// Where the results of a run are kept.
pub trait Keep {
    /// Keeps a document, and returns the line about it.
    ///
    /// # Errors
    /// Why it is not kept.
    fn keep(&self, document: &Document) -> Result<String, NotKept>;

    /// What the results that are kept lead to expect of this one, which is not kept yet; none where nothing is known.
    fn usual(&self, _document: &Document) -> Option<Usual> {
        None
    }
}

/// Who keeps the result of a run; none where it is not kept.
pub type Keeper = Option<Box<dyn Keep>>;

struct Handing {
    /// The words of `truespd` that keep one.
    words: Vec<String>,
}

impl Keep for Handing {
    fn keep(&self, document: &Document) -> Result<String, NotKept> {
        hand_over(&self.words, &json::write(document))
    }
}

/// The program that keeps results.
const KEEPER: &str = "truespd";
/// Option of `truespd history import`: it takes the result of one run and answers with the line about it.
pub const HANDED_OVER: &str = "handed-over";

/// Whether results are kept: `usual` is the key of the configuration for those of this program.
///
/// # Errors
/// The options contradict each other, or the configuration cannot be read.
pub fn is_wanted(options: &HistoryOptions, force: &Force<'_>, usual: Key) -> Result<bool, Refusal> {
    if let Some(wish) = options.wish() {
        if options.is_off {
            let refusal = Refusal::command_line(format!("--no-history and {wish} exclude each other"));
            return Err(refusal.hint("give one of the two"));
        }
        return Ok(true);
    }
    if options.is_off {
        return Ok(false);
    }
    force.flag(usual)
}

/// How `diskspd` keeps a result: it hands it to `truespd`. None when it is not kept.
///
/// # Errors
/// As [`is_wanted`].
pub fn by_truespd(options: &HistoryOptions) -> Result<Keeper, Refusals> {
    config::read()?;
    if !is_wanted(options, &config::in_force(), Key::HistoryDiskspd)? {
        return Ok(None);
    }
    Ok(Some(Box::new(Handing { words: words(options) })))
}

/// The words of `truespd` that keep a document with these options.
fn words(options: &HistoryOptions) -> Vec<String> {
    let mut words = vec!["history".to_string(), "import".into(), format!("--{HANDED_OVER}")];
    let given = [("--store", &options.store), ("--label", &options.label), ("--revision", &options.revision)];
    for (option, value) in given {
        words.extend(value.iter().map(|value| format!("{option}={value}")));
    }
    words.extend(options.tags.iter().map(|tag| format!("--tag={tag}")));
    words.push("-".into());
    words
}

/// Starts `truespd` with the document on its standard input. Returns its answer.
fn hand_over(words: &[String], document: &str) -> Result<String, NotKept> {
    let mut child = start(words).map_err(NotKept::Because)?;
    let written = child.stdin.take().expect("piped").write_all(document.as_bytes());
    let output = child.wait_with_output().map_err(|error| NotKept::Because(system_text(&error)))?;
    let answer = String::from_utf8_lossy(&output.stdout).trim_end().to_string();
    if answer.is_empty() {
        return Err(NotKept::Because("truespd ended without an answer".into()));
    }
    if output.status.success() && written.is_ok() { Ok(answer) } else { Err(NotKept::Answered(answer)) }
}

/// The `truespd` beside this program, or else the one in the search path.
fn start(words: &[String]) -> Result<Child, String> {
    let own = std::env::current_exe().unwrap_or_default();
    let beside = own.with_file_name(KEEPER);
    let program = if beside.exists() { beside } else { PathBuf::from(KEEPER) };
    let started = Command::new(program)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    started.map_err(|error| {
        if error.kind() == ErrorKind::NotFound {
            "the program truespd keeps it and is not installed; install the package truespd".to_string()
        } else {
            format!("truespd could not be started: {}", system_text(&error))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, HISTORY};

    #[test]
    fn the_nearest_word_counts() {
        let nothing = Config::default();
        let off = HistoryOptions { is_off: true, ..HistoryOptions::default() };
        let on = HistoryOptions { is_on: true, ..HistoryOptions::default() };
        let labelled = HistoryOptions { label: Some("x".into()), ..HistoryOptions::default() };
        let none = HistoryOptions::default();
        for (options, variable, of_truespd, of_diskspd) in [
            (&none, "", true, false),
            (&none, "0", false, false),
            (&none, "1", true, true),
            (&off, "1", false, false),
            (&on, "0", true, true),
            (&labelled, "0", true, true),
        ] {
            let variable = |name: &str| if name == HISTORY { Some(variable.into()) } else { None };
            let force = Force::new(&nothing, &variable);
            assert_eq!(is_wanted(options, &force, Key::HistoryKeep), Ok(of_truespd));
            assert_eq!(is_wanted(options, &force, Key::HistoryDiskspd), Ok(of_diskspd));
        }
        let odd = |_: &str| Some("no".into());
        assert!(is_wanted(&none, &Force::new(&nothing, &odd), Key::HistoryKeep).is_err());
        let both = HistoryOptions { is_off: true, ..labelled };
        let refusal = is_wanted(&both, &Force::new(&nothing, &|_| None), Key::HistoryKeep).unwrap_err();
        assert_eq!(refusal.message, "--no-history and --label exclude each other");
    }

    #[test]
    fn what_is_said_of_a_result_is_handed_over() {
        let options = HistoryOptions {
            is_on: true,
            store: Some("-s".into()),
            label: Some("a b".into()),
            tags: vec!["x".into(), "y".into()],
            ..HistoryOptions::default()
        };
        let words = words(&options).join("|");
        assert_eq!(words, "history|import|--handed-over|--store=-s|--label=a b|--tag=x|--tag=y|-");
    }
}
