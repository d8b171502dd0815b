//! The permit: what the guard gives for a target that may be written, and the only thing that opens one for writing.
//!
//! Nobody else can make one: its fields are private to this file, and the one function that makes it holds the target
//! first and asks the decision on the very descriptor.
//!
//! What a run has made and what it reserves, until its end.
//!
//! Other runs of this program that have the same target.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::{fmt, io};

use super::decision::Guard;
use super::facts::{Candidate, Unseen};
use super::hold::{Hold, Kept, told_of};
use super::locks::{RunLock, RunLocks};
use super::make::NewFile;
use super::openers::{self, RunSeen};
use super::sample::Depth;
use super::signatures::Range;
use truespd_platform::fault::{Failure, FailureKind, Refusal};
use truespd_platform::machine::device::DeviceNumber;
use truespd_platform::machine::namespace::Namespace;
use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::storage::{
    Filesystem, OpenFlags, OpenedTarget, TargetError, TargetKind, WriteLeave, open_file_to_write,
    open_to_write,
};
use truespd_platform::sys::error::system_text;
use truespd_platform::sys::identity::Identity;
use truespd_platform::text::printable;

/// The permission to write one file or device.
#[derive(Debug, Clone)]
pub struct Permit {
    path: PathBuf,
    identity: Identity,
    unseen: Option<Unseen>,
    /// It is written by NVMe commands; `path` and `identity` are those of its block device.
    namespace: Option<Namespace>,
}

/// Why what was permitted was not opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PermitError {
    #[error(transparent)]
    Open(#[from] TargetError),
    /// What was opened is not known.
    #[error("{0}")]
    Unknown(String),
    /// The path leads to another file or device than the one that was checked.
    #[error("another file or device has this path now")]
    Changed,
}

impl Guard<'_> {
    /// Reserves the open target `look` and checks whether it may be written. `custody` knows what the run has
    /// made and reserved already, and holds the target from here on: no other program can take a device then.
    /// `range` is what the run is going to write of it.
    ///
    /// # Errors
    /// The refusal, or why it could not be held.
    pub fn permit(
        &self,
        typed: &str,
        look: &OpenedTarget,
        range: Range,
        custody: &mut Custody,
    ) -> Result<Permit, Failure> {
        let OpenedTarget { file, facts } = look;
        let identity = Identity::of(file).map_err(|e| not_kept(typed, &e))?;
        // Held first, so that the checked facts stay true, and two runs that check at the same time see each other. If
        // somebody else has it, the check names them.
        let held = custody.hold(identity, file, &facts.path, self.consent.exclusive);
        self.refuse_runs(typed, identity, custody.told(identity))?;
        let is_device = facts.kind == TargetKind::Block;
        let path = &facts.path;
        let unseen = if !custody.is_of_this_run(identity) {
            // Looked through before the run.
            self.check_candidate(Candidate { typed, path, file, facts }, range, Depth::Quick)?.unseen
        } else if is_device {
            self.check_again(typed, path, file).map(|()| None)?
        } else {
            None
        };
        // A file's lock only tells other runs who writes: it may be missing.
        if let Err(e) = held
            && is_device
        {
            return Err(not_kept(typed, &e));
        }
        custody.says_it_writes(identity);
        Ok(Permit { path: facts.path.clone(), identity, unseen, namespace: facts.namespace.clone() })
    }

    /// Lets other runs know that this one reads the open target, unless one of them wants it for itself.
    /// `custody` keeps that up.
    ///
    /// # Errors
    /// Who has it.
    pub fn attend(&self, typed: &str, opened: &OpenedTarget, custody: &mut Custody) -> Result<(), Refusal> {
        let OpenedTarget { file, facts } = opened;
        // A lock there is a question to another machine, which need not answer.
        let is_served = facts.filesystem.as_ref().is_some_and(Filesystem::is_served);
        if is_served {
            return Ok(());
        }
        let Ok(identity) = Identity::of(file) else { return Ok(()) };
        custody.attend(identity, file, &facts.path, self.consent.exclusive);
        self.refuse_runs(typed, identity, custody.told(identity))
    }
}

fn not_kept(typed: &str, error: &io::Error) -> Failure {
    let words = format!("'{typed}': could not be reserved for this run, so another program could use it");
    Failure::new(FailureKind::Open, words).on(typed).because(system_text(error))
}

impl WriteLeave for Permit {
    fn path(&self) -> &Path {
        &self.path
    }

    fn namespace(&self) -> Option<&Namespace> {
        self.namespace.as_ref()
    }
}

impl Permit {
    /// What may be written.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// Whose writing could not be looked for with the rights of this process.
    pub fn unseen(&self) -> Option<Unseen> {
        self.unseen
    }

    /// Opens it with its facts.
    ///
    /// # Errors
    /// [`PermitError`]; nothing is open then.
    pub fn open(&self, flags: OpenFlags, roots: &Roots) -> Result<OpenedTarget, PermitError> {
        self.check_path()?;
        let opened = open_to_write(self, flags, roots)?;
        self.check_file(&opened.file)?;
        Ok(opened)
    }

    /// Opens it once more, for a thread: of a namespace that is written by NVMe commands the character device.
    ///
    /// # Errors
    /// As [`Permit::open`].
    pub fn open_file(&self, flags: OpenFlags) -> Result<File, PermitError> {
        self.check_path()?;
        let file = open_file_to_write(self, flags)?;
        match &self.namespace {
            None => self.check_file(&file)?,
            // The open has checked that the node leads to this namespace.
            Some(namespace) => self.check_disk(namespace)?,
        }
        Ok(file)
    }

    /// The commands go to the device that is held, and to no other.
    fn check_disk(&self, namespace: &Namespace) -> Result<(), PermitError> {
        let disk = namespace.disk.number().map(DeviceNumber::identity);
        if disk == Some(self.identity) { Ok(()) } else { Err(PermitError::Changed) }
    }

    /// Checked before the open, because other programs notice when another device is opened for writing and closed.
    fn check_path(&self) -> Result<(), PermitError> {
        match Identity::at(&self.path) {
            Ok(there) if there != self.identity => Err(PermitError::Changed),
            // If it is not there, the open fails and says so.
            _ => Ok(()),
        }
    }

    fn check_file(&self, file: &File) -> Result<(), PermitError> {
        match Identity::of(file) {
            Ok(opened) if opened == self.identity => Ok(()),
            Ok(_) => Err(PermitError::Changed),
            Err(e) => Err(PermitError::Unknown(system_text(&e))),
        }
    }
}

/// Files that a run made, and files and devices that it reserves while it writes them, each once.
#[derive(Debug, Default)]
pub struct Custody {
    /// Files that the run made, and devices that it has written and reserved since: what they hold is its own.
    own: Vec<Identity>,
    holds: Vec<(Identity, Hold)>,
    /// Processes of this host that belong to this run (a cluster run): they are no other runs.
    companions: Vec<u32>,
}

impl Custody {
    /// For a run to which these processes of this host belong as well.
    pub fn with(self, companions: Vec<u32>) -> Self {
        Custody { companions, ..self }
    }

    /// What stays held when a run ends and the next one of its series follows: devices. A file is not held: programs
    /// that want it for themselves could not have it, and a deleted one would keep its space.
    pub fn between_runs(mut self) -> Self {
        self.holds.retain(|(_, hold)| hold.is_device);
        self.own.retain(|own| self.holds.iter().any(|(held, _)| held == own));
        Custody { companions: Vec::new(), ..self }
    }

    /// Takes a file that the run has made.
    pub fn add(&mut self, made: &NewFile) {
        self.own.push(made.identity());
    }

    /// This run wrote what it holds.
    pub fn is_of_this_run(&self, identity: Identity) -> bool {
        self.own.contains(&identity)
    }

    /// Holds the open file or device, to which `path` led, unless it is held already; with `alone` for this run only.
    pub(super) fn hold(
        &mut self,
        identity: Identity,
        file: &File,
        path: &Path,
        alone: bool,
    ) -> io::Result<()> {
        // An earlier time span, or another target of this one, only reads it.
        let reader = self.holds.iter().position(|(kept, hold)| *kept == identity && hold.only_reads());
        let reader = reader.map(|at| self.holds.remove(at));
        if self.hold_of(identity).is_none() {
            self.keep(identity, Hold::take(file, path)?, alone);
        }
        if let Some((_, reader)) = reader {
            reader.fall_silent();
        }
        Ok(())
    }

    fn hold_of(&self, identity: Identity) -> Option<&Hold> {
        self.holds.iter().find(|(kept, _)| *kept == identity).map(|(_, hold)| hold)
    }

    fn keep(&mut self, identity: Identity, mut hold: Hold, alone: bool) {
        if alone {
            hold.say(RunLock::Alone);
        }
        self.holds.push((identity, hold));
    }

    /// Tells other runs that this one writes it.
    pub(super) fn says_it_writes(&mut self, identity: Identity) {
        for (_, hold) in self.holds.iter_mut().filter(|(kept, _)| *kept == identity) {
            hold.say(RunLock::Writes);
        }
    }

    /// Lets other runs know that this one reads the open file or device. Where the file system has no locks,
    /// they do not.
    pub(super) fn attend(&mut self, identity: Identity, file: &File, path: &Path, alone: bool) {
        if self.hold_of(identity).is_none()
            && let Ok(hold) = Hold::attend(file, path)
        {
            self.keep(identity, hold, alone);
        }
    }

    /// What other runs say of a target of this one.
    pub fn told(&self, identity: Identity) -> RunLocks {
        self.hold_of(identity).map(Hold::told).unwrap_or_default()
    }

    /// Other runs that have a target of this one at this moment.
    pub fn other_runs(&self, identity: Identity, roots: &Roots) -> Vec<OtherRun> {
        let mut runs = named(self.told(identity), identity, roots);
        runs.retain(|run| run.process.is_none_or(|process| !self.companions.contains(&process)));
        runs
    }

    /// No device is still to be taken over from another run.
    pub fn is_settled(&self) -> bool {
        self.holds.iter().all(|(_, hold)| hold.is_settled())
    }

    /// Takes devices over from runs that have ended. Returns one that another program has taken instead, if any.
    pub fn settle(&mut self) -> Option<Identity> {
        let mut holds = self.holds.iter_mut();
        holds.find_map(|(identity, hold)| (hold.settle() == Kept::Lost).then_some(*identity))
    }

    /// The reserved devices were written: from here on this run wrote what they hold.
    pub fn devices_are_written(&mut self) {
        let devices = self.holds.iter().filter(|(_, hold)| hold.is_device);
        self.own.extend(devices.map(|(identity, _)| *identity));
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherRun {
    /// Number of its process; `None` when this user may not see it.
    pub process: Option<u32>,
    /// Its command line as it would be typed; `None` when it cannot be read.
    pub command_line: Option<String>,
    /// It writes the target; otherwise it reads.
    pub writes: bool,
}

impl fmt::Display for OtherRun {
    /// For example: process 4711 (diskspd -w100 f)
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.process, &self.command_line) {
            (Some(id), Some(line)) => write!(f, "process {id} ({})", printable(line)),
            (Some(id), None) => write!(f, "process {id}"),
            (None, _) => f.write_str("a process that is not visible to this user"),
        }
    }
}

/// Who the runs are that test the target, by what their locks tell.
pub(super) fn named(told: RunLocks, target: Identity, roots: &Roots) -> Vec<OtherRun> {
    if !told.is_tested() && !told.is_covered {
        return Vec::new();
    }
    // What cannot be named is told without a name.
    let mut runs = each_once(openers::runs_on(target, roots).unwrap_or_default());
    let is_writer_named = runs.iter().any(|run| run.writes);
    if told.is_tested() && (runs.is_empty() || (told.writes && !is_writer_named)) {
        runs.push(OtherRun { process: None, command_line: None, writes: told.writes });
    }
    runs
}

/// The runs that do more than look.
fn each_once(seen: Vec<RunSeen>) -> Vec<OtherRun> {
    let mut runs: Vec<OtherRun> = Vec::new();
    for RunSeen { process, command_line, told, .. } in seen.into_iter().filter(|run| run.told.is_tested()) {
        match runs.iter_mut().find(|run| run.process == Some(process)) {
            Some(known) => known.writes |= told.writes,
            None => runs.push(OtherRun { process: Some(process), command_line, writes: told.writes }),
        }
    }
    runs
}

impl Guard<'_> {
    /// May this run have the open target beside others? It may not when it, or one of them, wants it for itself
    /// (`--exclusive`).
    ///
    /// # Errors
    /// Who has it.
    pub fn check_runs(&self, typed: &str, file: &File) -> Result<(), Refusal> {
        match Identity::of(file) {
            Ok(target) => self.refuse_runs(typed, target, told_of(file)),
            // What it is, is asked again when it is opened for the test.
            Err(_) => Ok(()),
        }
    }

    pub(super) fn refuse_runs(&self, typed: &str, target: Identity, told: RunLocks) -> Result<(), Refusal> {
        let may_matter = self.consent.exclusive || told.is_alone || told.is_covered;
        if !may_matter || !(told.is_there || told.is_covered || told.is_proven) {
            return Ok(());
        }
        // A reader of the file can say anything, and shall keep nobody out.
        let mut runs = openers::runs_on(target, self.roots).unwrap_or_default();
        runs.retain(|run| run.is_proven);
        let is_hidden = runs.is_empty() && told.is_proven;
        let is_alone = runs.iter().any(|run| run.told.is_alone) || (is_hidden && told.is_alone);
        if !is_alone && !(self.consent.exclusive && (is_hidden || !runs.is_empty())) {
            return Ok(());
        }
        let hidden = OtherRun { process: None, command_line: None, writes: true };
        let mut who: Vec<String> = each_once(runs).iter().map(OtherRun::to_string).collect();
        who.extend(is_hidden.then(|| hidden.to_string()));
        let who = if who.is_empty() { "one that is just starting".to_string() } else { who.join(", ") };
        let words = format!("'{typed}' is being tested by another run of TrueSpd: {who}");
        let refusal = Refusal::guard(typed, words).about(&["-exclusive"]);
        Err(if is_alone {
            refusal.hint("that run has it for itself (--exclusive); wait until it ends")
        } else {
            refusal.hint("wait until it ends, or leave out --exclusive to test beside it")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::Consent;
    use crate::guard::mark::{MarkState, Marks};
    use crate::made::FileExt;
    use truespd_platform::machine::host::Sight;
    use truespd_platform::machine::storage::{Access, ReadFlags, open};

    #[test]
    fn a_permit_opens_what_was_checked_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let marks = Marks::with_registry(&at("state"));
        let roots = Roots::default();
        let guard = Guard { consent: Consent::default(), marks: &marks, roots: &roots };
        let flags = OpenFlags { access: Access::ReadWrite, direct: false, dsync: false };
        for name in ["ours", "theirs"] {
            std::fs::write(at(name), [7; 4096]).unwrap();
        }
        let (ours, theirs) = (at("ours"), at("theirs"));
        marks.mark(&File::options().write(true).open(&ours).unwrap(), MarkState::Complete).unwrap();
        let permit = |path: &Path| {
            let look = open(path, ReadFlags::CACHED, &roots).unwrap();
            guard.permit(path.to_str().unwrap(), &look, Range::ALL, &mut Custody::default())
        };
        let denied = permit(&theirs).unwrap_err();
        assert_eq!(denied.kind, FailureKind::Refused, "{denied}");
        let permit = permit(&ours).unwrap();
        permit.open_file(flags).unwrap().write_all_at(&[0; 10], 0).unwrap();
        assert_eq!(permit.open(flags, &roots).unwrap().facts.size_bytes, 4096);
        let (mine, other) = (File::open(&ours).unwrap(), File::open(&theirs).unwrap());
        std::fs::rename(&theirs, &ours).unwrap();
        assert_eq!(permit.open_file(flags).unwrap_err(), PermitError::Changed);
        // Each of the two checks alone, too: a path can change between them.
        assert_eq!(permit.check_path(), Err(PermitError::Changed));
        assert_eq!(permit.check_file(&mine), Ok(()));
        assert_eq!(permit.check_file(&other), Err(PermitError::Changed));
        std::fs::remove_file(&ours).unwrap();
        assert!(matches!(permit.open_file(flags), Err(PermitError::Open(_))));
    }

    #[test]
    fn runs_that_read_are_known_to_each_other_and_one_may_want_the_target_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "data").unwrap();
        let (marks, roots) = (Marks::with_registry(&dir.path().join("state")), Roots::default());
        let guard = Guard { consent: Consent::default(), marks: &marks, roots: &roots };
        let look = || open(&path, ReadFlags::CACHED, &roots).unwrap();
        let [mut first, mut second, mut third] = [(); 3].map(|()| Custody::default());
        let opened = look();
        guard.attend("file", &opened, &mut first).unwrap();
        guard.attend("file", &look(), &mut second).unwrap();
        let identity = Identity::at(&path).unwrap();
        assert!(first.told(identity).reads && second.told(identity).reads);
        // The locks are those of this process, until another one has the open file as well.
        let alone = Guard { consent: Consent { exclusive: true, ..Consent::default() }, ..guard };
        let mut other = std::process::Command::new("sleep");
        let mut other = other.arg("60").stdin(opened.file.try_clone().unwrap()).spawn().unwrap();
        let refusal = alone.attend("file", &look(), &mut third).unwrap_err();
        other.kill().and_then(|()| other.wait()).unwrap();
        assert!(refusal.message.contains("is being tested by another run"), "{refusal}");
    }

    #[test]
    fn a_permit_says_whose_writing_could_not_be_looked_for() {
        let Some(dir) = crate::needs::visible_folder() else { return };
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("ours"), [7; 4096]).unwrap();
        let marks = Marks::with_registry(&at("state"));
        // This process writes it, so that the kernel does not say that nobody does.
        let writer = File::options().write(true).open(at("ours")).unwrap();
        marks.mark(&writer, MarkState::Complete).unwrap();
        let proc = at("proc");
        std::fs::create_dir_all(proc.join("self")).unwrap();
        std::fs::write(proc.join("swaps"), "Filename\n").unwrap();
        let unseen = |status: &str| {
            std::fs::write(proc.join("self/status"), status).unwrap();
            let roots = Roots { proc: proc.clone(), ..Roots::default() };
            let guard = Guard { consent: Consent::default(), marks: &marks, roots: &roots };
            let look = open(&at("ours"), ReadFlags::CACHED, &Roots::default()).unwrap();
            guard.permit("ours", &look, Range::ALL, &mut Custody::default()).unwrap().unseen()
        };
        assert_eq!(unseen("Uid:\t0 0 0 0\nCapEff:\tffffffffffffffff\n"), None);
        let own_user = Some(Unseen::Programs(Sight::OwnUser));
        assert_eq!(unseen("Uid:\t7 7 7 7\nCapEff:\t0000000000000000\n"), own_user);
    }
}

#[cfg(test)]
mod tests_custody {
    use super::*;
    use crate::guard::hold::told_of;
    use crate::guard::mark::Marks;
    use crate::guard::{Consent, Guard, Wish, Wished};
    use crate::made::comes_to_hold;

    /// Files that can be tested.
    struct Lab {
        dir: tempfile::TempDir,
    }

    impl Lab {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            for name in ["a", "b"] {
                std::fs::write(dir.path().join(name), "data").unwrap();
            }
            Lab { dir }
        }

        fn open(&self, name: &str) -> (Identity, File) {
            let file = File::open(self.dir.path().join(name)).unwrap();
            (Identity::of(&file).unwrap(), file)
        }

        fn hold(&self, custody: &mut Custody, name: &str) {
            let (identity, file) = self.open(name);
            custody.hold(identity, &file, &self.dir.path().join(name), false).unwrap();
        }

        fn attend(&self, custody: &mut Custody, name: &str) {
            let (identity, file) = self.open(name);
            custody.attend(identity, &file, &self.dir.path().join(name), false);
        }

        /// What the kernel tells everybody of both files: a run is there, writes, reads.
        fn tells(&self, expected: [(bool, bool, bool); 2]) {
            let told = || {
                let told = ["a", "b"].map(|name| told_of(&self.open(name).1));
                told.map(|told| (told.is_there, told.writes, told.reads))
            };
            assert!(comes_to_hold(|| told() == expected), "{:?} instead of {expected:?}", told());
        }
    }

    #[test]
    fn each_target_is_held_once_and_says_only_of_itself_what_is_done() {
        let (lab, mut own) = (Lab::new(), Custody::default());
        let (a, b) = (lab.open("a").0, lab.open("b").0);
        lab.attend(&mut own, "a");
        lab.attend(&mut own, "a");
        lab.attend(&mut own, "b");
        assert_eq!(own.holds.len(), 2);
        lab.tells([(true, false, true); 2]);
        // A later time span writes one of them.
        lab.hold(&mut own, "a");
        lab.tells([(true, false, false), (true, false, true)]);
        own.says_it_writes(a);
        lab.hold(&mut own, "a");
        lab.attend(&mut own, "a");
        lab.tells([(true, true, false), (true, false, true)]);
        assert_eq!(own.holds.len(), 2);
        assert!(own.is_settled() && own.settle().is_none(), "files are not taken over");
        // Its own locks are no other run, and those on one file say nothing of another.
        assert_eq!([own.told(a), own.told(b)], [RunLocks::default(); 2]);
        let mut other = Custody::default();
        lab.hold(&mut other, "a");
        other.says_it_writes(a);
        lab.attend(&mut other, "b");
        assert_eq!(
            [own.told(a), own.told(b)].map(|told| (told.writes, told.reads)),
            [(true, false), (false, true)]
        );
        let seen = |identity| {
            own.other_runs(identity, &Roots::default()).iter().map(|run| run.writes).collect::<Vec<_>>()
        };
        assert_eq!([seen(a), seen(b)], [[true], [false]]);
    }

    #[test]
    fn what_the_run_made_is_its_own() {
        let lab = Lab::new();
        let at = |name: &str| lab.dir.path().join(name);
        let (marks, roots) = (Marks::with_registry(&at("state")), Roots::default());
        let guard = Guard { consent: Consent::default(), marks: &marks, roots: &roots };
        let path = at("new");
        let wish = Wish {
            typed: path.to_str().unwrap(),
            path: &path,
            size_bytes: 4096,
            writes: true,
            recreate: false,
            is_left_over: &|_| false,
        };
        let made = match guard.permit_to_make(wish).unwrap() {
            Wished::Permitted { permit, .. } => permit.open().unwrap(),
            taken => panic!("{taken:?}"),
        };
        let mut own = Custody::default();
        assert!(!own.is_of_this_run(made.identity()));
        own.add(&made);
        assert!(own.is_of_this_run(made.identity()) && !own.is_of_this_run(lab.open("a").0));
    }
}

#[cfg(test)]
mod tests_runs {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::guard::hold::Hold;
    use crate::made::{open_file_info, symlink};

    /// What the kernel tells of a descriptor by which a run reads or writes the file.
    fn told_by_a_run(target: &Path, writes: bool) -> String {
        let file = File::open(target).unwrap();
        let _hold = if writes {
            Hold::take(&file, target).map(|mut hold| {
                hold.say(crate::guard::locks::RunLock::Writes);
                hold
            })
        } else {
            Hold::attend(&file, target)
        };
        open_file_info(&file)
    }

    #[test]
    fn runs_are_named_once_and_one_that_is_not_seen_is_told_besides() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let target = at("target");
        fs::write(&target, "data").unwrap();
        let infos = [false, true].map(|writes| told_by_a_run(&target, writes));
        let identity = Identity::at(&target).unwrap();
        let seen = |proc: &str, told: RunLocks, processes: &[(u32, &[bool])]| {
            let roots = Roots { proc: at(proc), ..Roots::default() };
            fs::create_dir_all(roots.proc.join("self")).unwrap();
            for (id, descriptors) in processes {
                let place = |name: &str| roots.proc.join(id.to_string()).join(name);
                fs::create_dir_all(place("fd")).and_then(|()| fs::create_dir_all(place("fdinfo"))).unwrap();
                fs::write(place("cmdline"), format!("diskspd\0f{id}\0")).unwrap();
                for (number, writes) in descriptors.iter().enumerate() {
                    symlink(&target, place("fd").join(number.to_string())).unwrap();
                    fs::write(place("fdinfo").join(number.to_string()), &infos[usize::from(*writes)])
                        .unwrap();
                }
            }
            let mut runs = named(told, identity, &roots);
            runs.sort_by_key(|run| run.process.unwrap_or(u32::MAX));
            runs
        };
        // Numbers that no process has.
        let (one, two) = (4_194_305, 4_194_306);
        let run = |process: u32, writes| {
            let command_line = Some(format!("diskspd f{process}"));
            OtherRun { process: Some(process), command_line, writes }
        };
        let nobody = |writes| OtherRun { process: None, command_line: None, writes };
        let reads = RunLocks { is_there: true, reads: true, ..RunLocks::default() };
        let writes = RunLocks { writes: true, ..reads };
        let both = [(one, &[false, true, false][..]), (two, &[false][..])];
        assert_eq!(seen("a", writes, &both), [run(one, true), run(two, false)]);
        assert_eq!(seen("b", writes, &both[1..]), [run(two, false), nobody(true)]);
        assert_eq!(seen("c", reads, &both[1..]), [run(two, false)]);
        assert_eq!(seen("d", reads, &[]), [nobody(false)]);
    }

    #[test]
    fn words() {
        let run = OtherRun { process: Some(7), command_line: Some("diskspd -w100 f".into()), writes: true };
        assert_eq!(run.to_string(), "process 7 (diskspd -w100 f)");
        let hidden = OtherRun { process: None, command_line: None, writes: true };
        assert_eq!(hidden.to_string(), "a process that is not visible to this user");
    }

    #[test]
    fn a_run_that_nobody_names_is_told_all_the_same() {
        let target = Identity::from((1, 2));
        let roots = Roots { proc: "/no/such/place".into(), ..Roots::default() };
        assert_eq!(named(RunLocks::default(), target, &roots), []);
        let told = RunLocks { is_there: true, writes: true, ..RunLocks::default() };
        let nobody = OtherRun { process: None, command_line: None, writes: true };
        assert_eq!(named(told, target, &roots), [nobody]);
        let looks = RunLocks { is_there: true, ..RunLocks::default() };
        assert_eq!(named(looks, target, &roots), [], "it may be refused yet");
    }
}
