//! The decision: what may be written, by the facts about the opened descriptor.
//!
//! A device in use is never written. Data that TrueSpd did not make are overwritten only when the person gives the path
//! with `--overwrite`.
//!
//! The person's word for a target, with its path: `--overwrite` (it may hold data), `--unchecked` (it may be in use).

use std::fs::File;
use std::path::Path;

use super::contents::contents;
use super::devices::{claim, users};
use super::facts::{Candidate, Fact, GuardError, Missing, Unseen};
use super::files::{locks_of_file, uses_of_file};
use super::mark::{Marks, Whose};
use super::openers::Opener;
use super::path::{check_way, is_of_the_kernel, is_without_paths, memory_of_programs, of_the_kernel};
use super::sample::{Depth, Looked};
use super::signatures::Range;
use truespd_platform::fault::Refusal;
use truespd_platform::machine::device::{BlockDevice, DeviceNumber};
use truespd_platform::machine::host::Sight;
use truespd_platform::machine::namespace::Namespace;
use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::storage::{
    Filesystem, ReadFlags, TargetFacts, TargetKind, open_file, resolve,
};
use truespd_platform::sys::error::system_text;
use truespd_platform::sys::identity::{Identity, block_device_at, names};
use truespd_platform::text::{printable, printable_path, shell_word};

/// What the person allowed, each with paths as typed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Consent<'a> {
    /// `--overwrite`: what the target holds may be lost.
    pub overwrite: &'a [String],
    /// `--unchecked`: nobody uses the target, although nothing tells that here.
    pub unchecked: &'a [String],
    /// `--exclusive`: no other run may have a target of this one.
    pub exclusive: bool,
    /// `--quick-check`: samples of a device are enough.
    pub quick_check: bool,
}

/// What is to be told of a target that may be written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Passed {
    /// Whose writing could not be looked for with the rights of this process.
    pub unseen: Option<Unseen>,
    /// Which data could have been missed.
    pub looked: Option<Looked>,
}

/// What the guard knows besides the target.
#[allow(missing_docs)]
#[derive(Debug, Clone, Copy)]
pub struct Guard<'a> {
    pub consent: Consent<'a>,
    pub marks: &'a Marks,
    /// Where the system tells about itself.
    pub roots: &'a Roots,
}

/// What a file is asked about for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Test,
    /// `-c` makes it again, because it holds only what a killed run of the same command line wrote into it.
    Repetition,
    /// Its owner gives it to tests, by a word of his own.
    Adoption,
}

impl Guard<'_> {
    fn overrides(&self) -> Overrides<'_> {
        Overrides { paths: self.consent.overwrite, option: "-overwrite", roots: self.roots }
    }

    fn unchecked(&self) -> Overrides<'_> {
        Overrides { paths: self.consent.unchecked, option: "-unchecked", roots: self.roots }
    }

    /// The person gave this file or device with `--overwrite`: as typed, as the path it stands for, or by another
    /// path that leads to it now.
    pub fn is_let_through(&self, typed: &str, path: &Path, file: Option<&File>) -> bool {
        self.overrides().let_through(typed, path, file)
    }

    /// Which of the targets (as typed) a path of `--overwrite` names.
    pub fn named_by<'t>(&self, given: &str, targets: &[&'t str]) -> Option<&'t str> {
        self.overrides().named_by(given, targets)
    }

    /// Paths of `--overwrite` and `--unchecked` that name no target of the run: a typing error, perhaps in the name of
    /// the target.
    ///
    /// `targets` are the targets as typed.
    pub fn refuse_unused_overrides(&self, targets: &[&str]) -> Vec<Refusal> {
        let mut refusals = self.overrides().refuse_unused(targets);
        refusals.extend(self.unchecked().refuse_unused(targets));
        refusals
    }

    /// Nothing that has to be known of the target's users is missing, or the person gave it with `--unchecked`.
    fn is_known(&self, found: &Findings, typed: &str, path: &Path, file: &File) -> bool {
        found.missing.is_empty() || self.unchecked().let_through(typed, path, Some(file))
    }

    /// May the open target be written? Decided on the descriptor; one refusal says everything. `range` is what the run
    /// is going to write of it.
    ///
    /// # Errors
    /// What it holds and who uses it, and what allows the test.
    pub fn check(
        &self,
        typed: &str,
        path: &Path,
        file: &File,
        facts: &TargetFacts,
        range: Range,
    ) -> Result<Passed, Refusal> {
        let look = if self.consent.quick_check { Depth::Quick } else { Depth::THOROUGH };
        self.check_candidate(Candidate { typed, path, file, facts }, range, look)
    }

    pub(super) fn check_candidate(
        &self,
        target: Candidate<'_>,
        range: Range,
        look: Depth,
    ) -> Result<Passed, Refusal> {
        check_way(target, self.roots)?;
        match target.facts.kind {
            TargetKind::Block => self.check_device(target, range, look),
            TargetKind::Regular => Ok(Passed { unseen: self.check_file(target)?, looked: None }),
        }
    }

    fn check_device(&self, target: Candidate<'_>, range: Range, thorough: Depth) -> Result<Passed, Refusal> {
        let Candidate { typed, path, file, facts } = target;
        let mut found = Findings::default();
        found.claims_of(file, path, self.roots).map_err(|e| Refusal::guard(typed, e.to_string()))?;
        let is_known = self.is_known(&found, typed, path, file);
        let is_let_through = self.is_let_through(typed, path, Some(file));
        let is_free = found.in_use.is_empty() && is_known;
        // With `--overwrite` a device need not be readable: a failing one is worth a test too.
        if is_free && is_let_through {
            return Ok(Passed { unseen: found.unseen, looked: None });
        }
        // What is refused all the same is not looked through.
        let look = if is_free { thorough } else { Depth::Quick };
        let mut looked = None;
        match contents(file, path, Some(facts.device), (range, look), self.roots) {
            Ok(contents) => {
                found.holds = contents.holds;
                looked = contents.looked;
            }
            Err(e @ GuardError::Read { .. }) => found.holds.push(e.to_string()),
            Err(e) => return Err(Refusal::guard(typed, e.to_string())),
        }
        let mut title = format!("'{typed}'");
        if let Some(what) = BlockDevice::find(facts.device, self.roots).map(|device| device.describe())
            && (!path.ends_with(&what) || facts.namespace.is_some())
        {
            title = format!("{title} ({})", printable(&what));
        }
        if !found.in_use.is_empty() {
            return Err(found.in_use_refusal(typed, &title));
        }
        let word = self.overrides().word_for(typed);
        if !is_known {
            let needs_overwrite = !found.holds.is_empty() && !is_let_through;
            return Err(found.not_known_refusal(typed, &word, &title, needs_overwrite));
        }
        if found.holds.is_empty() {
            return Ok(Passed { unseen: found.unseen, looked });
        }
        found.besides.extend(self.file_below(facts));
        let words = format!("{title} may hold data, which a write test would destroy");
        Err(found.holds_refusal(typed, &word, words))
    }

    /// The file behind a loop device, and whose it is.
    fn file_below(&self, facts: &TargetFacts) -> Option<String> {
        let own = BlockDevice::find(facts.device, self.roots)?;
        let path = own.whole_disk().unwrap_or(own).loop_backing_file()?;
        let file = open_file(&path, ReadFlags::CACHED).ok();
        let file = file.filter(|f| f.metadata().is_ok_and(|m| m.is_file()))?;
        let whose = self.marks.whose(&file);
        Some(format!("it is built on the file {}, which {whose}", printable_path(&path)))
    }

    /// May a device that this run has written and reserved since be written by its next time span?
    ///
    /// # Errors
    /// Who uses it now.
    pub(super) fn check_again(&self, typed: &str, path: &Path, file: &File) -> Result<(), Refusal> {
        let mut found = Findings::default();
        found.claims_of(file, path, self.roots).map_err(|e| Refusal::guard(typed, e.to_string()))?;
        let title = format!("'{typed}'");
        if !found.in_use.is_empty() {
            Err(found.in_use_refusal(typed, &title))
        } else if !self.is_known(&found, typed, path, file) {
            Err(found.not_known_refusal(typed, &self.overrides().word_for(typed), &title, false))
        } else {
            Ok(())
        }
    }

    fn check_file(&self, target: Candidate<'_>) -> Result<Option<Unseen>, Refusal> {
        let Candidate { typed, path, file, facts } = target;
        let found = self.findings(target, Purpose::Test)?;
        let unseen = found.unseen;
        if facts.size_bytes == 0 || self.is_let_through(typed, path, Some(file)) {
            return Ok(unseen);
        }
        let whose = self.marks.whose(file);
        if !whose.may_be_written() {
            return Err(found.foreign(typed, whose, "a write test would destroy what it holds"));
        }
        found.kept(typed).map(|()| unseen)
    }

    /// What speaks against writing a file, whoever made it. A use that no option overrides is an error.
    pub(super) fn findings(&self, target: Candidate<'_>, purpose: Purpose) -> Result<Findings, Refusal> {
        let Candidate { typed, path, file, facts } = target;
        let filesystem = facts.filesystem.as_ref();
        if let Some(filesystem) = filesystem.filter(|f| is_of_the_kernel(&f.name)) {
            return Err(of_the_kernel(typed, &filesystem.name));
        }
        if filesystem.is_some_and(|filesystem| is_without_paths(&filesystem.name)) {
            return Err(memory_of_programs(typed));
        }
        let mut found = Findings { is_file: true, ..Findings::default() };
        if filesystem.is_some_and(Filesystem::is_served) {
            found.unseen = Some(Unseen::Elsewhere);
        }
        found.uses_of(file, filesystem, typed, self.roots)?;
        let is_never_known = found.missing.iter().any(|missing| !missing.fact.is_needed_of_ours());
        if is_never_known && (purpose != Purpose::Test || self.marks.whose(file) == Whose::Ours) {
            found.excuse_what_is_never_known();
        }
        match contents(file, path, None, (Range::ALL, Depth::Quick), self.roots) {
            Ok(contents) => found.holds = contents.holds,
            // `--overwrite` allows to write an unreadable file, as it does a device.
            Err(e) => found.holds.push(e.to_string()),
        }
        found.besides.extend(self.marks.ignored(file));
        let is_in_use = !found.in_use.is_empty();
        if !is_in_use && self.is_known(&found, typed, path, file) {
            return Ok(found);
        }
        let whose = self.marks.whose(file);
        if !whose.may_be_written() && facts.size_bytes > 0 {
            found.holds.insert(0, format!("it {whose}"));
        }
        let title = format!("'{typed}'");
        if is_in_use {
            return Err(found.in_use_refusal(typed, &title));
        }
        let needs_overwrite = !found.holds.is_empty() && !self.is_let_through(typed, path, Some(file));
        Err(found.not_known_refusal(typed, &shell_word(typed), &title, needs_overwrite))
    }
}

/// Why a device is refused that this user cannot open, where the kernel lists who uses it.
pub fn refuse_listed(typed: &str, path: &Path, roots: &Roots) -> Option<Refusal> {
    let users = users(DeviceNumber::from_raw(block_device_at(path)?), roots);
    if users.is_empty() {
        return None;
    }
    let found = Findings {
        is_system: users.iter().any(|user| user.is_system),
        in_use: users.into_iter().map(|user| user.words).collect(),
        ..Findings::default()
    };
    Some(found.in_use_refusal(typed, &format!("'{typed}'")))
}

/// Everything that speaks against writing a target.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// Who uses it, or what else no option overrides.
    pub in_use: Vec<String>,
    /// The running system is on it.
    pub is_system: bool,
    /// It is a regular file.
    pub is_file: bool,
    /// What it holds: `--overwrite` allows to write it all the same.
    pub holds: Vec<String>,
    /// What should be known besides, but speaks against nothing by itself.
    pub besides: Vec<String>,
    /// What would have to be known about its users and nothing tells: `--unchecked` allows to write it all the same.
    pub missing: Vec<Missing>,
    /// Whose writing is not visible with the rights of this process.
    pub unseen: Option<Unseen>,
}

impl Findings {
    pub fn claims_of(&mut self, file: &File, path: &Path, roots: &Roots) -> Result<(), GuardError> {
        let claim = claim(file, path, roots)?;
        self.is_system |= claim.is_system;
        self.in_use.extend(claim.by.into_iter().map(|by| by.words));
        self.missing.extend(claim.missing);
        self.unseen = self.unseen.or(claim.unseen);
        Ok(())
    }

    /// Uses and locks of a regular file.
    pub fn uses_of(
        &mut self,
        file: &File,
        filesystem: Option<&Filesystem>,
        typed: &str,
        roots: &Roots,
    ) -> Result<(), Refusal> {
        let found = uses_of_file(file, filesystem, roots).map_err(|e| {
            Refusal::guard(typed, format!("'{typed}': its facts could not be read: {}", system_text(&e)))
        })?;
        self.missing.extend(found.missing);
        self.unseen = found.unseen.or(self.unseen);
        for user in found.uses {
            self.in_use.push(format!("it {}", user.words));
            let Some(name) = user.loop_device else { continue };
            let node = roots.dev.join(&name);
            // A node that cannot be opened changes nothing: the file is in use already.
            let Ok(device) = open_file(&node, ReadFlags::CACHED) else { continue };
            let above = claim(&device, &node, roots).map_err(|e| Refusal::guard(typed, e.to_string()))?;
            self.is_system |= above.is_system;
            self.in_use.extend(above.by.iter().map(|by| format!("as {name}, {}", by.words)));
        }
        self.in_use.extend(found.writers.iter().map(Opener::to_string));
        if let Some(sight) = found.hidden_writer {
            let who = match sight {
                Sight::OwnUser => "only root can see which one",
                Sight::Container => "from inside this container it cannot be seen which one",
                Sight::Nothing => "without /proc it cannot be seen which one",
                Sight::All => {
                    "no process shows it, so it may be a memory map whose file was closed, a server in the kernel, a \
                     file system over it, or a killed process whose I/O has not ended"
                }
            };
            self.in_use.push(format!("another program has it open for writing; {who}"));
        }
        self.in_use.extend(locks_of_file(file).into_iter().map(|lock| format!("it is {lock}")));
        let names = file.metadata().map_or(1, |about| names(&about));
        if names > 1 {
            self.besides.push(format!("it has {names} names (hard links), and each of them is this data"));
        }
        Ok(())
    }

    /// The file was written by TrueSpd last, also by a run that was killed, or its owner gives it to tests: what no
    /// program can ask of any file of such a file system is not asked for each time. It is told.
    pub fn excuse_what_is_never_known(&mut self) {
        if self.missing.iter().any(|missing| missing.fact == Fact::Beneath) {
            self.unseen = self.unseen.or(Some(Unseen::Beneath));
        }
        self.missing.retain(|missing| missing.fact.is_needed_of_ours());
    }

    pub fn in_use_refusal(self, typed: &str, title: &str) -> Refusal {
        let words = format!("{title} is in use and will not be written");
        let (hint, switch_hint) = match (self.is_system, self.is_file) {
            (true, _) => (
                "the running system is on that disk, and no option allows a write test of it: test another disk",
                "or test a file on that disk (-c<size>), or test reads only (-w0)",
            ),
            (false, true) => (
                "no option allows a write test of a file in use: release it first (end the program, umount, losetup \
                 -d, swapoff, chattr -i)",
                "or test reads only (-w0)",
            ),
            (false, false) => (
                "no option allows a write test of a device in use: release it first (umount, swapoff, vgchange -an, \
                 mdadm --stop)",
                "or test reads only (-w0)",
            ),
        };
        let mut refusal = Refusal::guard(typed, words).hint(hint).switch_hint(switch_hint);
        refusal.reasons = [self.in_use, self.holds, self.besides].concat();
        refusal
    }

    /// `again` is the path for `--unchecked`; `needs_overwrite`: what it holds needs the person's word as well.
    pub fn not_known_refusal(self, typed: &str, again: &str, title: &str, needs_overwrite: bool) -> Refusal {
        let words = format!("{title} may be in use, and this cannot be checked here");
        let also = if needs_overwrite { format!(" --overwrite {again}") } else { String::new() };
        let mut refusal = Refusal::guard(typed, words);
        for way in Fact::ways_to_know(&self.missing) {
            refusal = refusal.hint(way);
        }
        refusal = refusal
            .hint(format!("if you are sure that nothing else uses it, add --unchecked {again}{also}"))
            .switch_hint("or test reads only (-w0)");
        let missing = self.missing.iter().map(Missing::to_string).collect();
        refusal.reasons = [missing, self.holds, self.besides].concat();
        refusal
    }

    /// `again` is the path for `--overwrite`.
    pub fn holds_refusal(self, typed: &str, again: &str, words: String) -> Refusal {
        let mut refusal = Refusal::guard(typed, words)
            .hint(format!("if this data is no longer needed, add --overwrite {again}"))
            .switch_hint("or test reads only (-w0)");
        refusal.reasons = [self.holds, self.besides].concat();
        refusal
    }

    /// A file of ours is kept when somebody has put something into it that is known.
    pub fn kept(self, typed: &str) -> Result<(), Refusal> {
        if self.holds.is_empty() {
            return Ok(());
        }
        let words = format!("TrueSpd made '{typed}', but it now holds data that a write test would destroy");
        Err(self.holds_refusal(typed, &shell_word(typed), words))
    }

    pub fn foreign(self, typed: &str, whose: Whose, why: &str) -> Refusal {
        let word = shell_word(typed);
        let mut refusal = Refusal::guard(typed, format!("'{typed}' {whose}, and {why}"))
            .hint(format!("if its content is no longer needed, add --overwrite {word}"));
        // There a mark does not tell next time either.
        if whose != Whose::Untold {
            refusal = refusal
                .hint(format!("or let all write tests overwrite it from now on: truespd adopt {word}"));
        }
        refusal = match whose {
            Whose::Unfinished => refusal.switch_hint(
                "or repeat the command line that made it: -c<size> creates the file again if it holds only what that \
                 run wrote",
            ),
            Whose::Interrupted => refusal.hint(
                "random write data (-Zr, -Z<size>) looks like any other data; without these options the file of \
                 a killed run is recognised as test data",
            ),
            _ => refusal.switch_hint("or give another path with -c<size>, which creates a test file"),
        };
        refusal.reasons = [self.holds, self.besides].concat();
        refusal
    }
}

/// Paths that the person gave with one of these options.
#[derive(Debug, Clone, Copy)]
pub(super) struct Overrides<'a> {
    pub paths: &'a [String],
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
        self.paths.iter().any(|given| self.names(given, typed, path, opened))
    }

    fn names(&self, given: &str, typed: &str, path: &Path, opened: Option<Identity>) -> bool {
        let resolution = resolve(given, self.roots);
        if resolution.as_ref().is_ok_and(|resolved| resolved.disk_number.is_some()) {
            return false;
        }
        let resolved = resolution.map_or_else(|_| given.into(), |r| r.path);
        given == typed || resolved == path || (opened.is_some() && self.identity_at(&resolved) == opened)
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
    pub fn named_by<'t>(&self, given: &str, targets: &[&'t str]) -> Option<&'t str> {
        targets.iter().copied().find(|typed| {
            let path = resolve(typed, self.roots).map_or_else(|_| (*typed).into(), |r| r.path);
            self.names(given, typed, &path, self.identity_at(&path))
        })
    }

    /// Paths of the option that name no target of the run: a typing error, perhaps in the name of the target.
    ///
    /// `targets` are the targets as typed.
    pub fn refuse_unused(&self, targets: &[&str]) -> Vec<Refusal> {
        let mut refusals: Vec<Refusal> = Vec::new();
        for given in self.paths.iter().filter(|given| self.named_by(given, targets).is_none()) {
            if let Some(refusal) = self.refuse_number(given) {
                refusals.extend((!refusals.contains(&refusal)).then_some(refusal));
                continue;
            }
            let words = format!("-{} names '{given}', which is not a target of this run", self.option);
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

    fn refuse_number(&self, given: &str) -> Option<Refusal> {
        let path = resolve(given, self.roots).ok().filter(|r| r.disk_number.is_some())?.path;
        let word = shell_word(&path.to_string_lossy());
        let option = self.option;
        let words = format!("-{option} {given}: give the device by its name, not by a number");
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
    use crate::guard::make::{Wish, Wished};
    use crate::guard::mark::MarkState;
    use truespd_platform::machine::storage::facts_of;

    #[test]
    fn where_nothing_tells_who_uses_a_file_the_refusal_asks_for_as_much_as_is_needed() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let marks = Marks::with_registry(&at("state"));
        // None of the trees is there.
        let roots = Roots { proc: at("proc"), sys: at("sys"), dev: at("dev") };
        for (name, bytes) in [("ours", 4096), ("theirs", 4096), ("empty", 0)] {
            let path = at(name);
            std::fs::write(&path, vec![7; bytes]).unwrap();
            let file = open_file(&path, ReadFlags::CACHED).unwrap();
            let facts = facts_of(&file, &path, &Roots::default()).unwrap();
            if name == "ours" {
                marks.mark(&File::options().write(true).open(&path).unwrap(), MarkState::Complete).unwrap();
            }
            let _somebody = File::open(&path).unwrap();
            let typed = path.to_str().unwrap().to_string();
            let word = shell_word(&typed);
            let told = |overwrite: &[String]| {
                let word = Consent { overwrite, ..Consent::default() };
                let guard = Guard { consent: word, marks: &marks, roots: &roots };
                guard.check(&typed, &path, &file, &facts, Range::ALL).unwrap_err()
            };
            let (bare, named) = (told(&[]), told(std::slice::from_ref(&typed)));
            let foreign = "it was not made by TrueSpd".to_string();
            for refusal in [&bare, &named] {
                assert!(refusal.message.contains("may be in use, and this cannot be checked"), "{refusal}");
                assert_eq!(refusal.reasons.contains(&foreign), name == "theirs", "{refusal}");
            }
            let asks = |refusal: &Refusal, words: String| refusal.hints.iter().any(|h| h.ends_with(&words));
            assert!(asks(&named, format!("--unchecked {word}")), "{named}");
            let needs = if name == "theirs" { format!(" --overwrite {word}") } else { String::new() };
            assert!(asks(&bare, format!("--unchecked {word}{needs}")), "{bare}");
        }
    }

    #[test]
    fn a_file_of_ours_that_holds_an_encrypted_volume_is_kept_until_it_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ours");
        let mut bytes = vec![7; 8192];
        bytes[..8].copy_from_slice(b"LUKS\xba\xbe\0\x01");
        std::fs::write(&path, &bytes).unwrap();
        let marks = Marks::with_registry(&dir.path().join("state"));
        marks.mark(&File::options().write(true).open(&path).unwrap(), MarkState::Complete).unwrap();
        let typed = path.to_str().unwrap().to_string();
        let roots = Roots::default();
        for (size_bytes, writes, recreate) in
            [(8192, true, false), (8192, false, true), (4096, true, false), (4096, false, false)]
        {
            let wish =
                Wish { typed: &typed, path: &path, size_bytes, writes, recreate, is_left_over: &|_| false };
            let kept = Guard { consent: Consent::default(), marks: &marks, roots: &roots };
            let refusal = kept.permit_to_make(wish).unwrap_err();
            assert!(refusal.message.contains("but it now holds data"), "{refusal}");
            assert_eq!(refusal.reasons, ["it holds a LUKS encrypted volume"]);
            let overwrite = std::slice::from_ref(&typed);
            let named = Guard { consent: Consent { overwrite, ..Consent::default() }, ..kept };
            assert!(named.permit_to_make(wish).is_ok(), "{size_bytes} {writes} {recreate}");
        }
        // A test that only reads harms nothing.
        let wish = Wish {
            typed: &typed,
            path: &path,
            size_bytes: 8192,
            writes: false,
            recreate: false,
            is_left_over: &|_| false,
        };
        let reads = Guard { consent: Consent::default(), marks: &marks, roots: &roots };
        assert!(matches!(reads.permit_to_make(wish), Ok(Wished::Taken { .. })));
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
    }

    #[test]
    fn a_refusal_says_what_can_be_done_about_a_file_in_use_and_a_folder() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "data").unwrap();
        let (marks, roots) = (Marks::with_registry(&dir.path().join("state")), Roots::default());
        let guard = Guard { consent: Consent::default(), marks: &marks, roots: &roots };
        let writer = File::options().write(true).open(&path).unwrap();
        let mut child = std::process::Command::new("sleep").arg("60").stdout(writer).spawn().unwrap();
        let file = open_file(&path, ReadFlags::CACHED).unwrap();
        let facts = facts_of(&file, &path, &roots).unwrap();
        let refusal = guard.check("file", &path, &file, &facts, Range::ALL).unwrap_err();
        child.kill().and_then(|()| child.wait()).unwrap();
        let told = format!("process {} (sleep) has it open for writing", child.id());
        assert!(refusal.reasons.contains(&told), "{refusal}");
        assert!(refusal.hints[0].contains("no option allows a write test of a file in use"), "{refusal}");
        let wish = Wish {
            typed: "folder",
            path: dir.path(),
            size_bytes: 4096,
            writes: true,
            recreate: false,
            is_left_over: &|_| false,
        };
        let refusal = guard.permit_to_make(wish).unwrap_err();
        assert!(refusal.message.ends_with("cannot be created with -c: it is a directory"), "{refusal}");
    }

    #[test]
    fn a_number_names_no_device() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let roots = Roots { proc: at("proc"), sys: at("sys"), dev: at("dev") };
        for disk in ["sda", "sdb"] {
            std::fs::create_dir_all(roots.sys.join("block").join(disk)).unwrap();
        }
        let marks = Marks::with_registry(&at("state"));
        let path = roots.dev.join("sdb");
        let name = path.to_str().unwrap().to_string();
        for (word, is_named) in [(name.clone(), true), ("#1".to_string(), false)] {
            let overwrite = [word];
            let word = Consent { overwrite: &overwrite, ..Consent::default() };
            let guard = Guard { consent: word, marks: &marks, roots: &roots };
            assert_eq!(guard.is_let_through("#1", &path, None), is_named, "{overwrite:?}");
            assert_eq!(guard.overrides().word_for("#1"), name, "what the refusal says to type");
            let refusals = guard.refuse_unused_overrides(&["#1"]);
            assert_eq!(refusals.is_empty(), is_named, "{refusals:?}");
            assert!(is_named || refusals[0].to_string().contains(&name), "{refusals:?}");
        }
    }
}

#[cfg(test)]
mod tests_findings {
    use super::*;

    #[test]
    fn names_of_a_file_are_told_when_it_has_several() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        std::fs::write(&path, "data").unwrap();
        let besides = || {
            let mut found = Findings::default();
            found.uses_of(&File::open(&path).unwrap(), None, "a", &Roots::default()).unwrap();
            found.besides
        };
        assert_eq!(besides(), [""; 0]);
        std::fs::hard_link(&path, dir.path().join("b")).unwrap();
        assert_eq!(besides(), ["it has 2 names (hard links), and each of them is this data"]);
    }
}

#[cfg(test)]
mod tests_overrides {
    use super::*;

    #[test]
    fn paths_can_be_pasted() {
        assert_eq!(shell_word("/a/b-1.dat"), "/a/b-1.dat");
        assert_eq!(shell_word("#1"), "'#1'");
        assert_eq!(shell_word("a b'c"), "'a b'\\''c'");
        assert_eq!(shell_word(""), "''");
    }
}
