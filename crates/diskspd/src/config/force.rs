//! What is in force: variables above the files, and what is usual below them. Options of the command line are for the
//! commands that have them.

use std::ffi::{OsStr, OsString};

use super::files::{At, Config};
use super::keys::{AUTO, KEYS, Key, NEVER, Value};
use truespd_core::fault::Refusal;

/// The file of the history.
pub const STORE: &str = "TRUESPD_STORE";
/// `0` keeps nothing, `1` keeps everything, also of `diskspd`.
pub const HISTORY: &str = "TRUESPD_HISTORY";
/// Silences as `--quiet` does, for programs whose command line cannot be changed. Anything but nothing and `0`.
const QUIET: &str = "TRUESPD_QUIET";
/// No colours (<https://no-color.org>): anything but nothing.
const NO_COLOUR: &str = "NO_COLOR";

/// Where a setting comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum From {
    Usual,
    /// A line of a file.
    File(At),
    /// A variable of the environment.
    Variable(&'static str),
}

/// A setting that is in force. It has no value where the usual one depends on the machine or the moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    pub value: Option<Value>,
    pub from: From,
}

/// The files and the environment together.
pub struct Force<'a> {
    config: &'a Config,
    variable: &'a dyn Fn(&str) -> Option<OsString>,
}

impl<'a> Force<'a> {
    /// Of these files and this environment.
    pub fn new(config: &'a Config, variable: &'a dyn Fn(&str) -> Option<OsString>) -> Self {
        Force { config, variable }
    }

    /// What is in force for a key.
    ///
    /// # Errors
    /// A variable has a value that means nothing.
    pub fn setting(&self, key: Key) -> Result<Setting, Refusal> {
        if let Some((name, value)) = self.by_variable(key)? {
            return Ok(Setting { value: Some(value), from: From::Variable(name) });
        }
        Ok(match self.config.get(key) {
            Some((value, at)) => Setting { value: Some(value.clone()), from: From::File(at.clone()) },
            None => Setting { value: usual(key), from: From::Usual },
        })
    }

    /// A setting that is true or false.
    ///
    /// # Errors
    /// As [`Force::setting`].
    pub fn flag(&self, key: Key) -> Result<bool, Refusal> {
        Ok(self.setting(key)?.value == Some(Value::Flag(true)))
    }

    /// Nothing is told beside a result but what DiskSpd prints.
    pub fn is_quiet(&self) -> bool {
        // This variable has no illegal value.
        self.flag(Key::OutputQuiet).unwrap_or_default()
    }

    pub fn colour(&self) -> &'static str {
        match self.setting(Key::OutputColour) {
            Ok(Setting { value: Some(Value::Word(word)), .. }) => word,
            _ => AUTO,
        }
    }

    /// All settings, in the order of the table.
    ///
    /// # Errors
    /// As [`Force::setting`].
    pub fn all(&self) -> Result<Vec<Setting>, Refusal> {
        KEYS.iter().map(|row| self.setting(row.key)).collect()
    }

    fn by_variable(&self, key: Key) -> Result<Option<(&'static str, Value)>, Refusal> {
        let of = |name: &'static str| (self.variable)(name).filter(|value| !value.is_empty());
        let found = match key {
            Key::HistoryKeep | Key::HistoryDiskspd => match of(HISTORY) {
                Some(value) => Some((HISTORY, Value::Flag(zero_or_one(&value)?))),
                None => None,
            },
            Key::HistoryStore => of(STORE).map(|value| (STORE, Value::Path(value.into()))),
            Key::OutputQuiet => of(QUIET).map(|value| (QUIET, Value::Flag(value != "0"))),
            Key::OutputColour => of(NO_COLOUR).map(|_| (NO_COLOUR, Value::Word(NEVER))),
            Key::TargetsFolder => None,
        };
        Ok(found)
    }
}

fn zero_or_one(value: &OsStr) -> Result<bool, Refusal> {
    match value.to_string_lossy().as_ref() {
        "0" => Ok(false),
        "1" => Ok(true),
        other => Err(Refusal::command_line(format!("the variable {HISTORY} is '{other}'"))
            .hint("set it to 0 to keep nothing, or to 1 to keep every result")),
    }
}

fn usual(key: Key) -> Option<Value> {
    match key {
        Key::HistoryKeep => Some(Value::Flag(true)),
        Key::HistoryDiskspd | Key::OutputQuiet => Some(Value::Flag(false)),
        Key::OutputColour => Some(Value::Word(AUTO)),
        Key::HistoryStore | Key::TargetsFolder => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_come_above_files() {
        let mut config = Config::default();
        let text = "[history]\nkeep = false\nstore = \"/c\"\n[output]\nquiet = true\ncolour = \"always\"\n";
        config.take("/etc/c".as_ref(), text).expect("is right");
        let none = |_: &str| None;
        let by_file = Force::new(&config, &none);
        assert!(by_file.is_quiet() && by_file.colour() == "always");
        assert_eq!(by_file.flag(Key::HistoryKeep), Ok(false));
        let at = At { file: "/etc/c".into(), line: 3 };
        let store = Setting { value: Some(Value::Path("/c".into())), from: From::File(at) };
        assert_eq!(by_file.setting(Key::HistoryStore), Ok(store));
        let set = |name: &str| {
            let value = match name {
                QUIET => "0",
                NO_COLOUR | HISTORY => "1",
                STORE => "/v",
                _ => return None,
            };
            Some(OsString::from(value))
        };
        let by_variable = Force::new(&config, &set);
        assert!(!by_variable.is_quiet() && by_variable.colour() == NEVER);
        let all = by_variable.all().expect("all are legal");
        let names: Vec<&From> = all.iter().map(|setting| &setting.from).collect();
        let wanted = [
            &From::Variable(HISTORY),
            &From::Variable(HISTORY),
            &From::Variable(STORE),
            &From::Variable(QUIET),
            &From::Variable(NO_COLOUR),
            &From::Usual,
        ];
        assert_eq!(names, wanted);
        // An empty variable says nothing.
        let empty = |_: &str| Some(OsString::new());
        assert!(Force::new(&config, &empty).is_quiet());
        let odd = |_: &str| Some(OsString::from("maybe"));
        let refusal = Force::new(&config, &odd).all().expect_err("neither 0 nor 1");
        assert!(refusal.message.contains("TRUESPD_HISTORY is 'maybe'"));
    }
}
