//! The person's word for a target, with its path: `--overwrite` (it may hold data), `--unchecked` (it may be in use).

use std::fs::File;
use std::path::Path;

use crate::fault::Refusal;
use crate::machine::device::DeviceNumber;
use crate::machine::namespace::Namespace;
use crate::machine::roots::Roots;
use crate::machine::storage::resolve;
use crate::sys::identity::Identity;
use crate::text::shell_word;

/// Paths that the person gave with one of these options.
#[derive(Debug, Clone, Copy)]
pub(super) struct Overrides<'a> {
    /// As typed.
    pub again: &'a [String],
    /// The option, as refusals name options: `-overwrite`.
    pub option: &'static str,
    pub roots: &'a Roots,
}

impl Overrides<'_> {
    /// The person gave this file or device with the option: as typed, as the path it stands for, or by another
    /// path that leads to it now. A whole disk and its partition, or a device and the file behind it, are two. A
    /// number (`#3`) names nothing: it can mean another disk after the next one is plugged in.
    pub fn let_through(&self, typed: &str, path: &Path, file: Option<&File>) -> bool {
        let opened = file.and_then(|f| Identity::of(f).ok());
        self.again.iter().any(|again| self.names(again, typed, path, opened))
    }

    fn names(&self, again: &str, typed: &str, path: &Path, opened: Option<Identity>) -> bool {
        let again_is = resolve(again, self.roots);
        if again_is.as_ref().is_ok_and(|resolved| resolved.disk_number.is_some()) {
            return false;
        }
        let resolved = again_is.map_or_else(|_| again.into(), |r| r.path);
        again == typed || resolved == path || (opened.is_some() && self.identity_at(&resolved) == opened)
    }

    /// The file or device to which a path leads. The character device of an NVMe namespace stands for its block device:
    /// both are the same storage.
    fn identity_at(&self, path: &Path) -> Option<Identity> {
        match Namespace::at(path, self.roots) {
            Ok(Some(namespace)) => namespace.disk.number().map(DeviceNumber::identity),
            _ => Identity::at(path).ok(),
        }
    }

    /// Which of the targets (as typed) a path of the option names.
    pub fn named_by<'t>(&self, again: &str, targets: &[&'t str]) -> Option<&'t str> {
        targets.iter().copied().find(|typed| {
            let path = resolve(typed, self.roots).map_or_else(|_| (*typed).into(), |r| r.path);
            self.names(again, typed, &path, self.identity_at(&path))
        })
    }

    /// Paths of the option that name no target of the run: a typing error, perhaps in the name of the target.
    ///
    /// `targets` are the targets as typed.
    pub fn refuse_unused(&self, targets: &[&str]) -> Vec<Refusal> {
        let mut refusals: Vec<Refusal> = Vec::new();
        for again in self.again.iter().filter(|again| self.named_by(again, targets).is_none()) {
            if let Some(refusal) = self.refuse_number(again) {
                refusals.extend((!refusals.contains(&refusal)).then_some(refusal));
                continue;
            }
            let words = format!("-{} names '{again}', which is not a target of this run", self.option);
            let names: Vec<String> = targets.iter().map(|t| format!("'{t}'")).collect();
            let refusal = Refusal::machine(&[self.option], None, words).hint(format!(
                "repeat the path of a target: its disk or a partition of it does not count; targets of this \
                 run: {}",
                names.join(", ")
            ));
            if !refusals.contains(&refusal) {
                refusals.push(refusal);
            }
        }
        refusals
    }

    fn refuse_number(&self, again: &str) -> Option<Refusal> {
        let path = resolve(again, self.roots).ok().filter(|r| r.disk_number.is_some())?.path;
        let word = shell_word(&path.to_string_lossy());
        let option = self.option;
        let words = format!("-{option} {again}: give the device by its name, not by a number");
        Some(Refusal::machine(&[option], None, words).hint(format!(
            "a number may mean another disk when disks are added or removed; for this disk: -{option} {word}"
        )))
    }

    /// What to type after the option for a target.
    pub fn word_for(&self, typed: &str) -> String {
        match resolve(typed, self.roots) {
            Ok(resolved) if resolved.disk_number.is_some() => shell_word(&resolved.path.to_string_lossy()),
            _ => shell_word(typed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_can_be_pasted() {
        assert_eq!(shell_word("/a/b-1.dat"), "/a/b-1.dat");
        assert_eq!(shell_word("#1"), "'#1'");
        assert_eq!(shell_word("a b'c"), "'a b'\\''c'");
        assert_eq!(shell_word(""), "''");
    }
}
