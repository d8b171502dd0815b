//! What a run has made and what it reserves, until its end.

use std::fs::File;
use std::io;
use std::path::Path;

use super::hold::{Hold, Kept};
use super::make::NewFile;
use super::runs::{OtherRun, named};
use super::told::Told;
use crate::machine::roots::Roots;
use crate::sys::identity::Identity;

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
    /// The same for a run to which these processes of this host belong as well.
    pub fn with(companions: Vec<u32>) -> Self {
        Custody { companions, ..Custody::default() }
    }

    /// Takes a file that the run has made.
    pub fn add(&mut self, made: &NewFile) {
        self.own.push(made.identity());
    }

    /// This run wrote what it holds.
    pub(super) fn is_of_this_run(&self, identity: Identity) -> bool {
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
        // An earlier time span only read it.
        self.holds.retain(|(kept, hold)| *kept != identity || !hold.only_reads());
        if self.holds.iter().any(|(kept, _)| *kept == identity) {
            return Ok(());
        }
        let mut hold = Hold::take(file, path)?;
        if alone {
            hold.says_it_is_alone();
        }
        self.holds.push((identity, hold));
        Ok(())
    }

    /// Tells other runs that this one writes it.
    pub(super) fn says_it_writes(&mut self, identity: Identity) {
        let own = self.holds.iter_mut().filter(|(kept, _)| *kept == identity);
        own.for_each(|(_, hold)| hold.says_it_writes());
    }

    /// Lets other runs know that this one reads the open file or device. Where the file system has no locks,
    /// they do not.
    pub(super) fn attend(&mut self, identity: Identity, file: &File, path: &Path, alone: bool) {
        if self.holds.iter().any(|(kept, _)| *kept == identity) {
            return;
        }
        if let Ok(mut hold) = Hold::attend(file, path) {
            if alone {
                hold.says_it_is_alone();
            }
            self.holds.push((identity, hold));
        }
    }

    /// What other runs say of a target of this one.
    pub fn told(&self, identity: Identity) -> Told {
        let own = self.holds.iter().find(|(kept, _)| *kept == identity);
        own.map(|(_, hold)| hold.told()).unwrap_or_default()
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
        let devices = self.holds.iter().filter(|(_, hold)| hold.is_device());
        self.own.extend(devices.map(|(identity, _)| *identity));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::hold::told_of;
    use crate::guard::mark::Marks;
    use crate::guard::{Guard, Wish, Wished, Word};
    use crate::sys::within_a_second;

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
            assert!(within_a_second(|| told() == expected), "{:?} instead of {expected:?}", told());
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
        assert_eq!([own.told(a), own.told(b)], [Told::default(); 2]);
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
        let guard = Guard { word: Word::default(), marks: &marks, roots: &roots };
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
