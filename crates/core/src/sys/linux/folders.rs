//! TrueSpd's own folders among those of a user (XDG base directory specification).
//!
//! By hand, not with `etcetera` (0.11, alive) or `dirs`: both ask the user database for a home where HOME is not set,
//! and etcetera has no folder at all where that has none, even with XDG_STATE_HOME set. Containers run like that.

use std::ffi::OsString;
use std::path::PathBuf;

/// Name of our folder in each of them.
const OWN: &str = "truespd";

/// What outlives a run: `$XDG_STATE_HOME/truespd` or `~/.local/state/truespd`; none where neither
/// XDG_STATE_HOME nor HOME is set.
pub fn state() -> Option<PathBuf> {
    own(variable, "XDG_STATE_HOME", ".local/state")
}

/// What a person would miss: `$XDG_DATA_HOME/truespd` or `~/.local/share/truespd`; none where neither is set.
pub fn data() -> Option<PathBuf> {
    own(variable, "XDG_DATA_HOME", ".local/share")
}

/// What a person writes: `$XDG_CONFIG_HOME/truespd` or `~/.config/truespd`; none where neither is set.
pub fn config() -> Option<PathBuf> {
    own(variable, "XDG_CONFIG_HOME", ".config")
}

/// What an administrator writes for all users of the machine.
pub fn machine_config() -> PathBuf {
    PathBuf::from("/etc").join(OWN)
}

/// What ends with the session: `$XDG_RUNTIME_DIR/truespd`; none where that is not set or no folder.
pub fn runtime() -> Option<PathBuf> {
    runtime_in(variable("XDG_RUNTIME_DIR"))
}

fn runtime_in(value: Option<OsString>) -> Option<PathBuf> {
    Some(absolute(value).filter(|dir| dir.is_dir())?.join(OWN))
}

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

fn own(variable: impl Fn(&str) -> Option<OsString>, name: &str, below_home: &str) -> Option<PathBuf> {
    let home = || Some(absolute(variable("HOME"))?.join(below_home));
    Some(absolute(variable(name)).or_else(home)?.join(OWN))
}

/// Relative values do not count, as the specification says.
fn absolute(value: Option<OsString>) -> Option<PathBuf> {
    value.map(PathBuf::from).filter(|path| path.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_directories() {
        let state_dir_of = |state: Option<&str>, home: Option<&str>| {
            let variable = |name: &str| if name == "HOME" { home } else { state }.map(OsString::from);
            own(variable, "XDG_STATE_HOME", ".local/state")
        };
        assert_eq!(state_dir_of(Some("/state"), Some("/home/u")), Some("/state/truespd".into()));
        assert_eq!(state_dir_of(None, Some("/home/u")), Some("/home/u/.local/state/truespd".into()));
        assert_eq!(state_dir_of(Some("relative"), Some("/h")), Some("/h/.local/state/truespd".into()));
        assert_eq!(state_dir_of(Some(""), None), None);
    }

    #[test]
    fn the_runtime_directory_is_one() {
        let temp = tempfile::tempdir().unwrap();
        assert_eq!(runtime_in(Some(temp.path().into())), Some(temp.path().join("truespd")));
        for none in [None, Some("relative".into()), Some("/no/such/directory".into())] {
            assert_eq!(runtime_in(none), None);
        }
    }
}
