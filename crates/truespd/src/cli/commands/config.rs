//! The configuration: reading it before a command begins, and `truespd config`, what is in force, and from where.

use crate::ask::values::json_output;
use crate::history::Store;
use clap::Args;
use diskspd::run::outputs::TextOutput;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::Path;
use truespd_core::result::envelope;
use truespd_core::result::envelope::DocumentKind;
use truespd_front::config;
use truespd_front::config::{Config, Force, From, KEYS, Key, Row, Setting, State, Value};
use truespd_front::console::Message;
use truespd_front::console::{say_line, tell};
use truespd_front::program::print;
use truespd_front::show::fitting_stdout;
use truespd_platform::fault::{ExitCode, Failure, Fault, Refusal, Refusals};
use truespd_platform::text::table::aligned;
use truespd_platform::text::{printable, printable_path};

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
