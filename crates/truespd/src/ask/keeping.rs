//! What becomes of the document of a run or a question: it is kept in the history, unless the person says otherwise.

use crate::ask::SuiteDocument;
use crate::history::{Device, Facts, Given, HistoryError, NewEntry, Problem, Store};
use clap::Args;
use diskspd::grammar::value::{history_label, history_tag};
use diskspd::request::HistoryOptions;
use std::path::{Path, PathBuf};
use truespd_core::result::{Document, Layer, Usual, json};
use truespd_front::config;
use truespd_front::config::{Force, Key, Setting, Value};
use truespd_front::console::{Message, say_line};
use truespd_front::keeping::{Keep, Keeper, NotKept, is_wanted};
use truespd_platform::fault::{Refusal, Refusals};
use truespd_platform::machine::host::{host_name, unix_time_s};
use truespd_platform::text::shell_word;

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

pub(crate) fn tag(text: &str) -> Result<String, Refusal> {
    history_tag(text).map_err(|legal| Refusal::command_line(format!("legal: {legal}")))
}

/// The file of the history: what is typed, the variable, the configuration file, the usual one.
///
/// # Errors
/// The configuration cannot be used, or this user has no folder for a history.
pub(crate) fn store_path(typed: Option<&str>) -> Result<PathBuf, Refusals> {
    config::read()?;
    Ok(place(typed, &config::in_force())?.map_err(Refusal::from)?)
}

/// The file of the history where nothing is typed; none where this user has no folder for one: nothing is kept then.
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
    pub fn of(options: &HistoryOptions) -> Result<Self, Refusals> {
        config::read()?;
        let force = config::in_force();
        let place = if is_wanted(options, &force, Key::HistoryKeep)? {
            Some(place(options.store.as_deref(), &force)?)
        } else {
            None
        };
        let given = Given {
            label: options.label.clone(),
            note: None,
            tags: options.tags.clone(),
            revision: options.revision.clone(),
        };
        Ok(Keeping { place, typed: options.store.clone(), given })
    }

    /// How the result of a run is kept; none when it is not.
    ///
    /// # Errors
    /// As [`Keeping::of`].
    pub fn of_run(options: &HistoryOptions) -> Result<Keeper, Refusals> {
        let keeping = Keeping::of(options)?;
        if !keeping.is_on() {
            return Ok(None);
        }
        Ok(Some(Box::new(keeping)))
    }

    pub fn is_on(&self) -> bool {
        self.place.is_some()
    }

    /// Keeps the document of a suite that tested `targets` on these disks, and tells where.
    pub fn keep_suite(
        &self,
        kind: &str,
        targets: &[String],
        disks: &[Layer],
        document: &dyn SuiteDocument,
        text: &str,
    ) {
        if self.place.is_none() {
            return;
        }
        // What this program has just written is JSON.
        let mut facts = Facts::of_suite(kind, document.grade(), document.kept_parts(), text.as_bytes())
            .unwrap_or_default();
        if facts.host.is_empty() {
            facts.host = host_name();
        }
        facts.targets = targets.to_vec();
        facts.devices = disks.iter().map(Device::of).collect();
        match self.kept(text.as_bytes(), &facts) {
            Ok(words) => say_line(format_args!("{words}")),
            Err(words) => say_line(format_args!("{}{words}", Message::Warning.lead())),
        }
    }

    /// Keeps a document. Both are a line for the person.
    pub fn kept(&self, document: &[u8], facts: &Facts) -> Result<String, NotKept> {
        let path: &Path = match &self.place {
            Some(Ok(path)) => path,
            Some(Err(error)) => return Err(NotKept::Because(error.to_string())),
            None => return Ok(String::new()),
        };
        let kept_unix_s = unix_time_s().unwrap_or(0);
        let entry = NewEntry { document, facts, given: &self.given, kept_unix_s };
        let added = Store::open(path).and_then(|mut store| store.add(&entry));
        let id = added.map_err(|error| NotKept::Because(error.to_string()))?.id;
        let store =
            self.typed.as_deref().map(|file| format!(" --store {}", shell_word(file))).unwrap_or_default();
        Ok(format!("kept as {id} (truespd history show{store} {id})"))
    }
}

impl Keep for Keeping {
    fn keep(&self, document: &Document) -> Result<String, NotKept> {
        self.kept(json::write(document).as_bytes(), &Facts::of_result(document))
    }

    /// A history that cannot be read tells nothing: keeping the result will say what is wrong with it.
    fn usual(&self, document: &Document) -> Option<Usual> {
        let path = self.place.as_ref()?.as_ref().ok()?;
        let store = Store::open_to_read(path).ok()??;
        store.usual(document).ok()?
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use truespd_front::config::{Config, STORE};

    #[test]
    fn a_place_is_the_nearest_one() {
        let nothing = Config::default();
        let variable = |name: &str| (name == STORE).then(|| "/v".into());
        let of = |typed| place(typed, &Force::new(&nothing, &variable)).unwrap().unwrap();
        assert_eq!(of(Some("t")), PathBuf::from("t"));
        assert_eq!(of(None), PathBuf::from("/v"));
    }
}
