//! The person's word: paths given again after `--overwrite`.

use std::fs::File;
use std::path::Path;

use crate::fault::Refusal;
use crate::machine::roots::Roots;
use crate::machine::storage::resolve;
use crate::sys::identity::Identity;
use crate::text::shell_word;

/// Paths that the person let through.
#[derive(Debug, Clone, Copy)]
pub(super) struct Overrides<'a> {
    /// As typed.
    pub again: &'a [String],
    pub roots: &'a Roots,
}

impl Overrides<'_> {
    /// The person named this very file or device again: as typed, as the path it stands for, or by another
    /// path that leads to it now. A whole disk and its partition, or a device and the file behind it, are two. A
    /// number (`#3`) names nothing: which disk it means can change with the next one that is plugged in.
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
        again == typed || resolved == path || (opened.is_some() && Identity::at(&resolved).ok() == opened)
    }

    /// Which of the targets (as typed) a path names that was given to let one through.
    pub fn named_by<'t>(&self, again: &str, targets: &[&'t str]) -> Option<&'t str> {
        targets.iter().copied().find(|typed| {
            let path = resolve(typed, self.roots).map_or_else(|_| (*typed).into(), |r| r.path);
            self.names(again, typed, &path, Identity::at(&path).ok())
        })
    }

    /// Overrides that name no target of the run: a slip, and with it perhaps the wrong target.
    ///
    /// `targets` are the targets as typed.
    pub fn refuse_unused(&self, targets: &[&str]) -> Vec<Refusal> {
        let mut refusals: Vec<Refusal> = Vec::new();
        for again in self.again.iter().filter(|again| self.named_by(again, targets).is_none()) {
            if let Some(refusal) = self.refuse_number(again) {
                refusals.extend((!refusals.contains(&refusal)).then_some(refusal));
                continue;
            }
            let words = format!("--overwrite names '{again}', which is no target of this run");
            let names: Vec<String> = targets.iter().map(|t| format!("'{t}'")).collect();
            let refusal = Refusal::machine(&["-overwrite"], None, words).hint(format!(
                "it names the target itself again, and lets nothing else through: neither the disk of a \
                 partition nor its partitions; the run has {}",
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
        let words = format!("--overwrite wants the device by its name, and '{again}' is a number");
        Some(Refusal::machine(&["-overwrite"], None, words).hint(format!(
            "which disk a number means changes when disks come and go; if you mean this one: --overwrite {word}"
        )))
    }

    /// What to type after `--overwrite` for a target.
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
