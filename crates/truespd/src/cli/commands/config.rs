//! The configuration: reading it before a command begins, and `truespd config`, what is in force, and from where.

use crate::cli::commands::values::json_output;
use crate::history::{Device, Facts, Given, HistoryError, NewEntry, Problem, Store};
use crate::series::place::Place;
use crate::suite::SuiteDocument;
use clap::Args;
use diskspd::grammar::value::{history_label, history_tag};
use diskspd::request::HistoryOptions;
use diskspd::run::outputs::TextOutput;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use truespd_core::profile::Release;
use truespd_core::result::envelope::DocumentKind;
use truespd_core::result::{Document, Layer, Usual, envelope, json};
use truespd_front::config;
use truespd_front::config::{Config, Force, From, KEYS, Key, Row, Setting, State, Value};
use truespd_front::console::Message;
use truespd_front::console::{say_line, tell};
use truespd_front::keeping::{Keep, Keeper, NotKept, is_wanted};
use truespd_front::program::print;
use truespd_front::show::fitting_stdout;
use truespd_platform::fault::{ExitCode, Failure, Fault, Refusal, RefusalKind, Refusals};
use truespd_platform::machine::host::{host_name, unix_time_s};
use truespd_platform::text::table::aligned;
use truespd_platform::text::{printable, printable_path, shell_word};

/// Show which settings are in force, and where each comes from: configuration file and line, variable, or default
///
/// Settings are read from /etc/truespd/config.toml, for all users of this machine, and from
/// $XDG_CONFIG_HOME/truespd/config.toml (or ~/.config/truespd/config.toml), your own. Where both set the same
/// key, yours wins. Variables win over both files, and options over everything. Changes nothing.
#[derive(Debug, Args)]
#[command(after_help = "\
What a file may hold, all of it optional, with the defaults:
  [history]
  keep = true              keep runs and suites of truespd (TRUESPD_HISTORY=0 or 1)
  diskspd = false          keep runs of diskspd, too
  store = \"/path/file\"     file of the history (TRUESPD_STORE)

  [output]
  quiet = false            tell nothing beside a result but what DiskSpd prints (TRUESPD_QUIET=0 or 1)
  colour = \"auto\"          \"auto\" on a terminal, \"always\", or \"never\" (NO_COLOR=1)

  [targets]
  folder = \"/path/dir\"     where mark, assess and workload create their files when no target is named

  [diskspd]
  compat = \"2.2\"           \"2.2\" or \"2.3\": whose forms and defaults diskspd has (TRUESPD_COMPAT)

A wrong line is refused with exit code 3 before anything happens. In a file with `version = N` above the tables, \
where N is
newer than this program, unknown keys are warnings.")]
pub(crate) struct ConfigArguments {
    /// Write it to this file as JSON (`truespd schema config`); - is standard output, then without the table
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

/// What is in force on this machine, for this user and this environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ConfigReport {
    /// All settings.
    settings: Vec<InForce>,
    /// The files in the order in which they are read: the later comes above the earlier.
    files: Vec<FileRead>,
    /// What was not understood because it is of a newer version, or could not be read.
    warnings: Vec<String>,
}

/// A setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
struct InForce {
    /// Table and key, such as `history.keep`.
    key: String,
    /// What it is set to; missing where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<Set>,
    /// Where that comes from.
    from: Whence,
}

/// A value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Set {
    /// True or false.
    Flag(bool),
    /// A word or a path.
    Text(String),
}

/// Where a setting comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Whence {
    /// Nothing is set.
    Default,
    /// A configuration file.
    File {
        /// Its path.
        path: String,
        /// Number of the line, from 1.
        line: usize,
    },
    /// A variable of the environment.
    Variable(String),
}

/// A configuration file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
struct FileRead {
    /// Its path.
    path: String,
    /// What became of it.
    state: FileState,
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum FileState {
    /// It was read.
    Read,
    /// It is not there.
    Missing,
    /// This user may not read it.
    Forbidden,
}

impl DocumentKind for ConfigReport {
    const FORMAT: &'static str = "truespd-config";
    const MEMBER: &'static str = "config";
    const MEMBER_ABOUT: &'static str = "What is in force.";
    const TITLE: &'static str = "TrueSpd: configuration in force";
    const ABOUT: &'static str = "What `truespd config --json` writes.";
    const NAME: &'static str = "configuration in force";
}

pub(crate) fn run(arguments: &ConfigArguments) -> ExitCode {
    show(arguments).unwrap_or_else(tell)
}

fn show(arguments: &ConfigArguments) -> Result<ExitCode, Fault> {
    let config = config::read()?;
    let report = ConfigReport::of(config, &config::in_force())?;
    let (output, on_stdout) = json_output(arguments.json.as_deref());
    let output = output.map(|output| TextOutput::open(&output)).transpose().map_err(Refusal::from)?;
    let text = if on_stdout {
        envelope::write(&report)
    } else {
        fitting_stdout(envelope::shown(&report, ConfigReport::text))
    };
    let code = print(&text, ExitCode::Done);
    match output.map(|output| output.write(envelope::write(&report))) {
        Some(Err(error)) => Err(Failure::from(error).into()),
        _ => Ok(code),
    }
}

impl ConfigReport {
    fn of(config: &Config, force: &Force<'_>) -> Result<Self, Refusals> {
        let settings =
            KEYS.iter().zip(force.all()?).map(|(row, setting)| InForce::of(row, setting)).collect();
        let mut files = Vec::new();
        for (path, state) in &config.files {
            let state = match state {
                State::Read => FileState::Read,
                State::Missing => FileState::Missing,
                State::Forbidden => FileState::Forbidden,
            };
            files.push(FileRead { path: path_text(path), state });
        }
        Ok(ConfigReport { settings, files, warnings: config.warnings.clone() })
    }

    fn text(&self) -> String {
        let mut rows = vec![["setting", "value", "from"].map(String::from).to_vec()];
        rows.extend(self.settings.iter().map(InForce::cells));
        let mut out = aligned(rows, &[false; 3]);
        out.push_str("\nfiles (where both set a key, the later one counts)\n");
        for file in &self.files {
            let state = match file.state {
                FileState::Read => "read",
                FileState::Missing => "not there",
                FileState::Forbidden => "not for this user to read: nothing in it counts",
            };
            out.push_str(&format!("  {}: {state}\n", printable(&file.path)));
        }
        for warning in &self.warnings {
            out.push_str(&format!("WARNING: {warning}\n"));
        }
        out
    }
}

impl InForce {
    fn of(row: &Row, setting: Setting) -> Self {
        let value = setting.value.or_else(|| match row.key {
            Key::HistoryStore => Store::default_path().ok().map(Value::Path),
            _ => None,
        });
        let value = value.map(|value| match value {
            Value::Flag(flag) => Set::Flag(flag),
            Value::Path(path) => Set::Text(path_text(&path)),
            Value::Word(word) => Set::Text(word.to_string()),
        });
        let from = match setting.from {
            From::Usual => Whence::Default,
            From::File(at) => Whence::File { path: path_text(&at.file), line: at.line },
            From::Variable(name) => Whence::Variable(name.to_string()),
        };
        InForce { key: row.whole_name(), value, from }
    }

    fn cells(&self) -> Vec<String> {
        let value = match &self.value {
            Some(Set::Flag(flag)) => flag.to_string(),
            Some(Set::Text(text)) => text.clone(),
            None if self.key.starts_with("targets.") => "(the current directory)".to_string(),
            None => "(none)".to_string(),
        };
        let from = match &self.from {
            Whence::Default => "default".to_string(),
            Whence::File { path, line } => format!("{path}, line {line}"),
            Whence::Variable(name) => format!("variable {name}"),
        };
        vec![self.key.clone(), value, from]
    }
}

fn path_text(path: &Path) -> String {
    path.to_str().map_or_else(|| printable_path(path).to_string(), str::to_string)
}

/// Reads the configuration for a command of `truespd`, and tells its warnings.
///
/// # Errors
/// The exit code, when something is wrong with it.
pub(crate) fn begin() -> Result<(), ExitCode> {
    tell_warnings(config::read().map_err(tell)?);
    Ok(())
}

pub(crate) fn tell_warnings(config: &Config) {
    config.warnings.iter().for_each(|words| say_line(format_args!("{}{words}", Message::Warning.lead())));
}

/// The directory for suites whose user names no target: that of the configuration, or the current one.
///
/// # Errors
/// The configured one is no directory.
pub(crate) fn usual_folder() -> Result<String, Refusal> {
    let Setting { value: Some(Value::Path(path)), from: From::File(at) } =
        config::in_force().setting(Key::TargetsFolder)?
    else {
        return Ok(".".to_string());
    };
    let (shown, whence) = (printable_path(&path), format!("folder below [targets], {}", at.words()));
    let hint = "name a target (. is the current directory), or change that line";
    let why = match path.to_str().map(|typed| (typed, Place::find(typed))) {
        None => format!("is no UTF-8 text: '{shown}'"),
        Some((_, Err(why))) => format!("cannot be used: {}", why.without_hints()),
        Some((typed, Ok(place))) if place.is_directory() => {
            say_line(format_args!("note: no target is named: '{shown}' is used ({whence})"));
            return Ok(typed.to_string());
        }
        Some(_) => format!("is not a directory: '{shown}'"),
    };
    Err(Refusal::new(RefusalKind::Target, format!("no target is named, and {whence}, {why}")).hint(hint))
}

/// A person's own line of a suite, with the release of DiskSpd that the variable or the configuration names: a document
/// holds the line, and so it tells what was meant. Lines of our own suites are those of 2.2, whatever is set.
///
/// # Errors
/// The variable names no release.
pub(crate) fn with_release(line: Vec<String>) -> Result<Vec<String>, Refusal> {
    const OPTION: &str = "--compat";
    let release = config::in_force().release()?;
    if release == Release::default() || line.iter().any(|word| word.split('=').next() == Some(OPTION)) {
        return Ok(line);
    }
    let mut words = vec![OPTION.to_string(), release.word().to_string()];
    words.extend(line);
    Ok(words)
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

    /// Keeps the document of a suite that tested or read the paths of `used` on these disks, and tells where.
    pub fn keep_suite(
        &self,
        kind: &str,
        used: &[String],
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
        facts.targets = used.to_vec();
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
