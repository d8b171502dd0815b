//! Commands for a shell of root: what sets something, and what sets it back to what it is now.

use std::path::Path;

use super::report::Lasts;
use truespd_platform::machine::roots::Setting;
use truespd_platform::text::shell_word;

/// A change with its way back. Without commands it is only told how to keep it so.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Change {
    /// Commands for a shell of root that make it.
    pub set: Vec<String>,
    /// Commands that set it back to what it is now.
    pub back: Vec<String>,
    /// How long the commands hold.
    pub lasts: Option<Lasts>,
    /// How to keep it over a restart, in words.
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
        let to_all = |value: &str| written_to_all(settings, value);
        let back = if settings.iter().all(|setting| setting.chosen() == Some(now)) {
            vec![to_all(now)]
        } else {
            different.iter().map(|s| written(&s.path, s.chosen().unwrap_or_default())).collect()
        };
        Change { set: vec![to_all(to)], back, ..Self::of(first, to) }
    }

    /// One command that makes it, and one that undoes it.
    pub fn by(set: impl Into<String>, back: impl Into<String>, lasts: Lasts) -> Self {
        Change { set: vec![set.into()], back: vec![back.into()], lasts: Some(lasts), permanent: None }
    }

    /// What no command changes now.
    pub fn only_kept(permanent: impl Into<String>) -> Self {
        Change { permanent: Some(permanent.into()), ..Change::default() }
    }

    /// How to keep it over a restart, in words.over a restart.
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

/// The same file of several processors, each of which is one more path: `cpu[0-9]*` when these are all that have it,
/// otherwise their numbers.
fn written_to_all(settings: &[Setting], value: &str) -> String {
    let Some(OfProcessor { folder, file, .. }) = settings.first().and_then(|one| OfProcessor::of(&one.path))
    else {
        return settings.iter().map(|one| written(&one.path, value)).collect::<Vec<_>>().join("; ");
    };
    let numbers: Vec<u32> =
        settings.iter().filter_map(|one| OfProcessor::of(&one.path)).map(|of| of.cpu).collect();
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut all = entries
        .filter_map(|entry| number_of(entry.file_name().to_str()?))
        .filter(|cpu| folder.join(format!("cpu{cpu}")).join(file).exists());
    let [folder, file] = [folder, file].map(|path| shell_word(&path.display().to_string()));
    let value = shell_word(value);
    // Files of processors that are offline refuse what is written.
    if all.all(|cpu| numbers.contains(&cpu)) {
        format!("for file in {folder}/cpu[0-9]*/{file}; do echo {value} > \"$file\"; done")
    } else {
        let numbers = in_sequences(&numbers);
        format!("for cpu in {numbers}; do echo {value} > {folder}/cpu$cpu/{file}; done")
    }
}

/// A path that has a processor in it: `/sys/devices/system/cpu`, 7, `cpufreq/scaling_governor`.
struct OfProcessor<'a> {
    folder: &'a Path,
    cpu: u32,
    file: &'a Path,
}

impl<'a> OfProcessor<'a> {
    fn of(path: &'a Path) -> Option<Self> {
        let own = path.ancestors().find(|dir| cpu_of(dir).is_some())?;
        Some(OfProcessor { folder: own.parent()?, cpu: cpu_of(own)?, file: path.strip_prefix(own).ok()? })
    }
}

fn cpu_of(dir: &Path) -> Option<u32> {
    number_of(dir.file_name()?.to_str()?)
}

fn number_of(name: &str) -> Option<u32> {
    name.strip_prefix("cpu")?.parse().ok()
}

/// `$(seq 0 3) 6` for a shell.
fn in_sequences(numbers: &[u32]) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    runs.into_iter()
        .map(|(first, last)| match last - first {
            0 => first.to_string(),
            1 => format!("{first} {last}"),
            _ => format!("$(seq {first} {last})"),
        })
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use truespd_platform::machine::roots::Value;

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
        assert_eq!(in_sequences(&[0, 1, 2, 3, 6, 8, 9]), "$(seq 0 3) 6 8 9");
        let one = Change::of_processors(&alike[..1], "performance");
        assert_eq!(one.set, ["echo performance > /sys/cpu/cpu0/governor"]);
    }
}
