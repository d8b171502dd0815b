//! Whether a run or a suite is kept in the history, and keeping it.
//!
//! What the command line says counts before the variables, these before the configuration file, and that before what is
//! usual. A document that cannot be kept is a warning: the result was printed, and the exit code stays as it is.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::beside::{Beside, Told};
use crate::cli::config::{self, Force, Key, Setting, Value};
use crate::cli::console::{say_beside, say_line};
use crate::cli::grammar::value::{history_label, history_tag};
use crate::fault::{Refusal, Refusals};
use crate::history::{Device, Facts, Given, HistoryError, NewEntry, Problem, Store};
use crate::machine::host::{host_name, unix_time_s};
use crate::request::HistoryOptions;
use crate::result::{Document, Layer, envelope, json};
use crate::suite::SuiteDocument;
use crate::text::shell_word;

/// Whose documents they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keeper {
    /// `diskspd`, which keeps only when it is asked to.
    DiskSpd,
    /// `truespd`, which keeps unless it is asked not to.
    TrueSpd,
}

/// Options of suites about the history.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "History")]
pub(crate) struct HistoryArguments {
    /// Do not keep the result in the history (truespd history); the variable TRUESPD_HISTORY=0 does the same
    #[arg(long, conflicts_with_all = ["store", "label", "tag", "revision"])]
    pub no_history: bool,

    /// File of the history [default: $TRUESPD_STORE, that of the configuration file, or
    /// ~/.local/share/truespd/history.sqlite]
    #[arg(long, value_name = "FILE")]
    pub store: Option<String>,

    /// Name for the kept result, to find it by; several results may share one
    #[arg(long, value_name = "NAME", value_parser = label)]
    pub label: Option<String>,

    /// Word to find the kept result by
    #[arg(long, value_name = "NAME", value_parser = tag)]
    pub tag: Vec<String>,

    /// Revision of what is tested, kept with the result
    #[arg(long, value_name = "TEXT", value_parser = label)]
    pub revision: Option<String>,
}

impl HistoryArguments {
    /// As those of a run.
    pub fn options(&self) -> HistoryOptions {
        HistoryOptions {
            is_off: self.no_history,
            is_on: false,
            store: self.store.clone(),
            label: self.label.clone(),
            tags: self.tag.clone(),
            revision: self.revision.clone(),
        }
    }
}

/// Reads a label, a note or a revision.
pub(crate) fn label(text: &str) -> Result<String, Refusal> {
    history_label(text).map_err(|legal| Refusal::command_line(format!("legal: {legal}")))
}

/// Reads a tag.
pub(crate) fn tag(text: &str) -> Result<String, Refusal> {
    history_tag(text).map_err(|legal| Refusal::command_line(format!("legal: {legal}")))
}

/// The file of the history: what is typed, the variable, the configuration file, the usual one.
///
/// # Errors
/// The configuration cannot be used, or there is no usual place.
pub(crate) fn store_path(typed: Option<&str>) -> Result<PathBuf, Refusals> {
    config::read()?;
    Ok(place(typed, &config::in_force())?.map_err(Refusal::from)?)
}

/// The file of the history where nothing is typed; none where there is no place for one, so that nothing can be in it.
///
/// # Errors
/// The configuration cannot be used.
pub(crate) fn known_store() -> Result<Option<PathBuf>, Refusal> {
    match place(None, &config::in_force())? {
        Err(error) if error.problem == Problem::NoPlace => Ok(None),
        other => other.map(Some).map_err(Refusal::from),
    }
}

fn place(typed: Option<&str>, force: &Force<'_>) -> Result<Result<PathBuf, HistoryError>, Refusal> {
    let given = match (typed, force.setting(Key::HistoryStore)?) {
        (Some(typed), _) => Some(PathBuf::from(typed)),
        (None, Setting { value: Some(Value::Path(path)), .. }) => Some(path),
        (None, _) => None,
    };
    Ok(given.map_or_else(Store::default_path, Ok))
}

/// Whether documents of this keeper are kept.
fn is_wanted(options: &HistoryOptions, force: &Force<'_>, keeper: Keeper) -> Result<bool, Refusal> {
    if let Some(wish) = options.wish() {
        return match options.is_off {
            false => Ok(true),
            true => Err(Refusal::command_line(format!("--no-history and {wish} exclude each other"))
                .hint("give one of the two")),
        };
    }
    if options.is_off {
        return Ok(false);
    }
    force.flag(match keeper {
        Keeper::DiskSpd => Key::HistoryDiskspd,
        Keeper::TrueSpd => Key::HistoryKeep,
    })
}

/// What becomes of the document of a run or a suite.
#[derive(Debug)]
pub(crate) struct Keeping {
    /// Where it is kept; none when it is not.
    place: Option<Result<PathBuf, HistoryError>>,
    /// The file as typed, which commands of the history need, too.
    typed: Option<String>,
    given: Given,
}

impl Keeping {
    /// As the person wants it. Opens nothing.
    ///
    /// # Errors
    /// What the person says does not fit together, or cannot be read.
    pub fn of(options: &HistoryOptions, keeper: Keeper) -> Result<Self, Refusals> {
        config::read()?;
        let force = config::in_force();
        let place = match is_wanted(options, &force, keeper)? {
            true => Some(place(options.store.as_deref(), &force)?),
            false => None,
        };
        let given = Given {
            label: options.label.clone(),
            note: None,
            tags: options.tags.clone(),
            revision: options.revision.clone(),
        };
        Ok(Keeping { place, typed: options.store.clone(), given })
    }

    /// Keeps the result of a run that measured something, and tells where.
    pub fn keep_result(&self, document: &Document, beside: Beside) {
        if self.place.is_some() && document.measured().next().is_some() {
            let text = json::write(document);
            match self.kept(text.as_bytes(), &Facts::of_result(document)) {
                Ok(words) => say_beside(beside, Told::Kept, &words),
                Err(words) => say_beside(beside, Told::Warning, &words),
            }
        }
    }

    /// Keeps the document of a suite that tested or read the paths of `used` on these disks, and tells where.
    pub fn keep_suite<D: SuiteDocument>(&self, kind: &str, used: &[String], disks: &[Layer], document: &D) {
        if self.place.is_none() {
            return;
        }
        let text = envelope::write(document);
        // What this program has just written is JSON.
        let mut facts =
            Facts::of_suite(kind, document.grade(), document.parts(), text.as_bytes()).unwrap_or_default();
        if facts.host.is_empty() {
            facts.host = host_name();
        }
        facts.targets = used.to_vec();
        facts.devices = disks.iter().map(Device::of).collect();
        match self.kept(text.as_bytes(), &facts) {
            Ok(words) => say_line(format_args!("{words}")),
            Err(words) => say_line(format_args!("{}{words}", Told::Warning.lead())),
        }
    }

    /// Keeps a document. Both are a line for the person.
    fn kept(&self, document: &[u8], facts: &Facts) -> Result<String, String> {
        let lost = |error: &HistoryError| format!("the result is not kept in the history: {error}");
        let path: &Path = match &self.place {
            Some(Ok(path)) => path,
            Some(Err(error)) => return Err(lost(error)),
            None => return Ok(String::new()),
        };
        let kept_unix_s = unix_time_s().unwrap_or(0);
        let entry = NewEntry { document, facts, given: &self.given, kept_unix_s };
        let added =
            Store::open(path).and_then(|mut store| store.add(&entry)).map_err(|error| lost(&error))?;
        let id = added.id;
        let store =
            self.typed.as_deref().map(|file| format!(" --store {}", shell_word(file))).unwrap_or_default();
        Ok(format!("kept as {id} (truespd history show{store} {id})"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::config::{Config, HISTORY, STORE};

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
            let variable = |name: &str| (name == HISTORY).then(|| variable.into());
            let force = Force::new(&nothing, &variable);
            let wanted = |keeper| is_wanted(options, &force, keeper);
            assert_eq!((wanted(Keeper::TrueSpd), wanted(Keeper::DiskSpd)), (Ok(of_truespd), Ok(of_diskspd)));
        }
        let odd = |_: &str| Some("no".into());
        assert!(is_wanted(&none, &Force::new(&nothing, &odd), Keeper::TrueSpd).is_err());
        let both = HistoryOptions { is_off: true, ..labelled };
        let refusal = is_wanted(&both, &Force::new(&nothing, &|_| None), Keeper::TrueSpd).unwrap_err();
        assert_eq!(refusal.message, "--no-history and --label exclude each other");
    }

    #[test]
    fn a_place_is_the_nearest_one() {
        let nothing = Config::default();
        let variable = |name: &str| (name == STORE).then(|| "/v".into());
        let of = |typed| place(typed, &Force::new(&nothing, &variable)).unwrap().unwrap();
        assert_eq!(of(Some("t")), PathBuf::from("t"));
        assert_eq!(of(None), PathBuf::from("/v"));
    }
}
