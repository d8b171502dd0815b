//! What a run has made and what it reserves, until its end.

use std::fs::File;
use std::io;
use std::path::Path;

use super::hold::{Hold, Kept, Told};
use super::make::NewFile;
use super::runs::{OtherRun, named};
use crate::machine::roots::Roots;
use crate::sys::identity::Identity;

/// Files that a run made, and files and devices that it reserves while it writes them, each once.
#[derive(Debug, Default)]
pub struct Custody {
    /// Files that the run made, and devices that it has written and reserved since: what they hold is its own.
    own: Vec<Identity>,
    holds: Vec<(Identity, Hold)>,
}

impl Custody {
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

    /// Lets other runs know that this one reads the open file or device. Where the file system has no locks, they do not.
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
        named(self.told(identity), identity, roots)
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
