//! Commands for a shell of root: what sets something, and what sets it back to what it is now.

use std::path::Path;

use super::finding::Lasts;
use crate::machine::setting::Setting;
use crate::text::shell_word;

/// A change with its way back. Without commands it is only told how to keep it so.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Change {
    /// Commands that make it.
    pub set: Vec<String>,
    /// Commands that undo it.
    pub back: Vec<String>,
    /// How long it holds.
    pub lasts: Option<Lasts>,
    /// How to keep it.
    pub permanent: Option<String>,
}

impl Change {
    /// Writes a value into the file of a setting.
    pub fn of(setting: &Setting, to: &str) -> Self {
        Self::between(&setting.path, setting.chosen().unwrap_or_default(), to)
    }

    /// Writes a value into a file that says `now`.
    pub fn between(path: &Path, now: &str, to: &str) -> Self {
        Change {
            set: vec![written(path, to)],
            back: vec![written(path, now)],
            lasts: Some(Lasts::UntilRestart),
            permanent: None,
        }
    }

    /// Writes one value into the files of several processors.
    pub fn of_processors(settings: &[Setting], to: &str) -> Self {
        let different: Vec<&Setting> = settings.iter().filter(|s| s.chosen() != Some(to)).collect();
        let [first, .., _] = settings else {
            return different.first().map(|only| Self::of(only, to)).unwrap_or_default();
        };
        let now = first.chosen().unwrap_or_default();
        let back = match settings.iter().all(|setting| setting.chosen() == Some(now)) {
            true => vec![written_to_all(&first.path, now)],
            false => different.iter().map(|s| written(&s.path, s.chosen().unwrap_or_default())).collect(),
        };
        Change { set: vec![written_to_all(&first.path, to)], back, ..Self::of(first, to) }
    }

    /// By these commands.
    pub fn by(set: impl Into<String>, back: impl Into<String>, lasts: Lasts) -> Self {
        Change { set: vec![set.into()], back: vec![back.into()], lasts: Some(lasts), permanent: None }
    }

    /// What no command changes now.
    pub fn only_kept(permanent: impl Into<String>) -> Self {
        Change { permanent: Some(permanent.into()), ..Change::default() }
    }

    /// How to keep it over a restart.
    #[must_use]
    pub fn keep(self, permanent: impl Into<String>) -> Self {
        Change { permanent: Some(permanent.into()), ..self }
    }

    /// And this one after it.
    #[must_use]
    pub fn and(mut self, other: Change) -> Self {
        self.set.extend(other.set);
        self.back.extend(other.back);
        self
    }
}

fn written(path: &Path, value: &str) -> String {
    format!("echo {} > {}", shell_word(value), shell_word(&path.display().to_string()))
}

/// The same file of all processors: the part `cpu7` of its path becomes `cpu*`.
fn written_to_all(path: &Path, value: &str) -> String {
    let is_processor =
        |part: &str| part.strip_prefix("cpu").is_some_and(|number| number.parse::<u32>().is_ok());
    let parts = path.to_str().unwrap_or_default().split('/');
    let parts: Vec<String> = parts
        .map(|part| if is_processor(part) { "cpu[0-9]*".to_string() } else { shell_word_or_nothing(part) })
        .collect();
    format!("for file in {}; do echo {} > \"$file\"; done", parts.join("/"), shell_word(value))
}

fn shell_word_or_nothing(part: &str) -> String {
    if part.is_empty() { String::new() } else { shell_word(part) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::setting::Value;

    fn setting(path: &str, text: &str) -> Setting {
        Setting { path: path.into(), value: Value::Is(text.into()) }
    }

    #[test]
    fn a_setting_and_its_way_back() {
        let change = Change::of(&setting("/sys/block/cciss!c0d0/queue/scheduler", "none [bfq]"), "none");
        assert_eq!(change.set, ["echo none > '/sys/block/cciss!c0d0/queue/scheduler'"]);
        assert_eq!(change.back, ["echo bfq > '/sys/block/cciss!c0d0/queue/scheduler'"]);
        let cache = Change::of(&setting("/sys/x", "write through"), "write back");
        assert_eq!(cache.set, ["echo 'write back' > /sys/x"]);
    }

    #[test]
    fn all_processors_at_once_and_each_back_to_its_own() {
        let governor = |cpu: u32, word| setting(&format!("/sys/cpu/cpu{cpu}/governor"), word);
        let alike = [governor(0, "powersave"), governor(1, "powersave")];
        let change = Change::of_processors(&alike, "performance");
        assert_eq!(
            change.set,
            ["for file in /sys/cpu/cpu[0-9]*/governor; do echo performance > \"$file\"; done"]
        );
        assert_eq!(
            change.back,
            ["for file in /sys/cpu/cpu[0-9]*/governor; do echo powersave > \"$file\"; done"]
        );
        let mixed = [governor(0, "performance"), governor(1, "powersave"), governor(2, "schedutil")];
        let change = Change::of_processors(&mixed, "performance");
        assert_eq!(
            change.back,
            ["echo powersave > /sys/cpu/cpu1/governor", "echo schedutil > /sys/cpu/cpu2/governor"]
        );
        let one = Change::of_processors(&alike[..1], "performance");
        assert_eq!(one.set, ["echo performance > /sys/cpu/cpu0/governor"]);
    }
}
