//! Reserves a target for the time of a test, and tells other runs that a test has it.
//!
//! A device is held open exclusively, so that nobody can mount it, swap to it or build on it meanwhile.
//! Devices and files get a lock on bytes far beyond their end (`told`): runs recognise each other by it,
//! whatever the program is called. Claim and lock end with the process, however that ends.
//!
//! Anybody who may read a device can take such a lock. So a device counts as held by a run only where a
//! process of root or of this user has the lock.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::locks::{RunLock, RunLocks, is_locked, say, unsay};
use super::openers;
use truespd_platform::machine::device::{BlockDevice, DeviceNumber};
use truespd_platform::machine::roots::Roots;
use truespd_platform::sys::file::{ReadOptions, own_path, read};
use truespd_platform::sys::identity::block_device;

/// A busy device is tried this often, with this pause between: another run may be checking it.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(20);

const SHARED: ReadOptions = ReadOptions { direct: false, exclusive: false, at_once: true };
const ALONE: ReadOptions = ReadOptions { exclusive: true, ..SHARED };

/// A target kept for a run, until it is dropped.
#[derive(Debug)]
pub struct Hold {
    file: File,
    path: PathBuf,
    pub is_device: bool,
    is_exclusive: bool,
    /// What it said besides being here.
    said: Vec<RunLock>,
    /// The process of the run with which it shares the device.
    shared_with: Option<u32>,
}

/// Devices that this process holds exclusively: nothing else tells that where there is no procfs.
static HELD_HERE: Mutex<Vec<u64>> = Mutex::new(Vec::new());

fn held_here() -> std::sync::MutexGuard<'static, Vec<u64>> {
    HELD_HERE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Hold {
    fn drop(&mut self) {
        if !self.is_exclusive {
            return;
        }
        let device = block_device(&self.file).ok().flatten();
        let mut held = held_here();
        if let Some(at) = held.iter().position(|held| Some(*held) == device) {
            held.swap_remove(at);
        }
    }
}

/// Who has a device now that another run held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    Here,
    ByAnother,
    Lost,
}

impl Hold {
    /// Takes the open file or device, which is open for reading. `path` led to it: without procfs nothing else does. A
    /// device that another run holds already is shared with it.
    ///
    /// # Errors
    /// When somebody else has it, or it cannot be opened for reading.
    pub fn take(file: &File, path: &Path) -> io::Result<Self> {
        let Some(device) = block_device(file)? else {
            // The same open file: one more reader would keep the kernel from answering who else has it open.
            let file = file.try_clone()?;
            // A file system without such locks is no problem: other runs then count as foreign programs.
            let _ = say(&file, RunLock::Here);
            return Ok(Hold::of(file, path, false));
        };
        let usual = usual_node(file);
        let (node, at) = usual.as_ref().map_or((file, path), |(node, at)| (node, at));
        let mut tries = TRIES;
        loop {
            match open_again(node, at, ALONE) {
                Ok(file) => {
                    say(&file, RunLock::Here)?;
                    say(&file, RunLock::Held)?;
                    held_here().push(device);
                    let mut hold = Hold::of(file, path, true);
                    hold.is_exclusive = true;
                    return Ok(hold);
                }
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                    let file = open_again(node, at, SHARED)?;
                    let shared_with = holder(&file, device, None, &Roots::default());
                    if shared_with.is_some() {
                        say(&file, RunLock::Here)?;
                        let mut hold = Hold::of(file, path, true);
                        hold.shared_with = shared_with;
                        return Ok(hold);
                    }
                    tries -= 1;
                    if tries == 0 {
                        return Err(error);
                    }
                    std::thread::sleep(PAUSE);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes part in what other runs know of a target that this one only reads. Nothing is reserved.
    ///
    /// # Errors
    /// It cannot be opened once more, or the file system has no such locks.
    pub fn attend(file: &File, path: &Path) -> io::Result<Self> {
        let file = match usual_node(file) {
            Some((node, _)) => node,
            None => file.try_clone()?,
        };
        say(&file, RunLock::Here)?;
        let mut hold = Hold::of(file, path, false);
        hold.say(RunLock::Reads);
        Ok(hold)
    }

    fn of(file: File, path: &Path, is_device: bool) -> Self {
        let (path, said) = (path.to_path_buf(), Vec::new());
        Hold { file, path, is_device, is_exclusive: false, said, shared_with: None }
    }

    /// Says so to other runs, besides being here.
    pub fn say(&mut self, says: RunLock) {
        // Without the lock of a write, a run on the same target asks for `--overwrite`.
        let _ = say(&self.file, says);
        self.said.push(says);
    }

    /// Takes back what it says. The target may keep its open file, which would look like that of another run.
    pub fn fall_silent(&self) {
        for says in self.said.iter().chain([&RunLock::Here]) {
            unsay(&self.file, *says);
        }
    }

    /// It only takes part as a reader.
    pub fn only_reads(&self) -> bool {
        self.said.contains(&RunLock::Reads)
    }

    /// What other runs say of the target.
    pub fn told(&self) -> RunLocks {
        RunLocks::by_others(&self.file)
    }

    /// Nothing is left to be taken over from another run.
    pub fn is_settled(&self) -> bool {
        !self.is_device || self.is_exclusive
    }

    /// Takes a shared device over from the run that held it, once that has ended.
    pub fn settle(&mut self) -> Kept {
        if self.is_settled() {
            return Kept::Here;
        }
        if self.shared_with.is_some_and(|known| known != std::process::id())
            && let Ok(Some(device)) = block_device(&self.file)
            && holder(&self.file, device, self.shared_with, &Roots::default()).is_some()
        {
            return Kept::ByAnother;
        }
        match Hold::take(&self.file, &self.path) {
            Ok(mut taken) if taken.is_exclusive => {
                std::mem::take(&mut self.said).into_iter().for_each(|says| taken.say(says));
                *self = taken;
                Kept::Here
            }
            Ok(taken) => {
                self.shared_with = taken.shared_with;
                Kept::ByAnother
            }
            Err(_) => Kept::Lost,
        }
    }
}

/// Whether a run of this program holds the device exclusively; `path` leads to it.
pub(super) fn is_held(path: &Path, roots: &Roots) -> bool {
    let Ok(file) = read(path, SHARED) else { return false };
    let Ok(Some(device)) = block_device(&file) else { return false };
    held_here().contains(&device)
        || holder(&file, device, None, roots).is_some()
        || usual_node(&file).is_some_and(|(usual, _)| holder(&usual, device, None, roots).is_some())
}

/// The process of the run that holds the device exclusively. `known` held it a moment ago: to ask it alone
/// takes no search.
fn holder(file: &File, device: u64, known: Option<u32>, roots: &Roots) -> Option<u32> {
    if !is_locked(file, RunLock::Held) {
        return None;
    }
    if held_here().contains(&device) {
        return Some(std::process::id());
    }
    let target = DeviceNumber::from_raw(device).identity();
    openers::holder_of(target, known, roots)
}

/// Opens an open device once more: itself, or without procfs what its path leads to, if that is the same.
fn open_again(file: &File, path: &Path, how: ReadOptions) -> io::Result<File> {
    match read(&own_path(file), how) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let again = read(path, how)?;
            let is_same = block_device(&again)? == block_device(file)?;
            if is_same { Ok(again) } else { Err(io::Error::other("another device has this path now")) }
        }
        opened => opened,
    }
}

/// The node of an open device in `/dev`, when this user may open it. Locks belong to a node, not to the device: by
/// whatever name runs reach a device, they meet at this one.
fn usual_node(file: &File) -> Option<(File, PathBuf)> {
    let number = block_device(file).ok()??;
    let roots = Roots::default();
    let device = BlockDevice::find(DeviceNumber::from_raw(number), &roots)?;
    let path = roots.dev.join(device.node_name());
    let usual = read(&path, SHARED).ok()?;
    (block_device(&usual).ok()? == Some(number)).then_some((usual, path))
}

/// What runs say of an open file or device on which this run has no lock.
pub(super) fn told_of(file: &File) -> RunLocks {
    usual_node(file).map_or_else(|| RunLocks::by_others(file), |(node, _)| RunLocks::by_others(&node))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made::comes_to_hold;
    use crate::made::open_file_info;

    #[test]
    fn runs_know_each_other_by_the_lock() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let is_told = || told_of(file.as_file()).writes;
        assert!(!is_told());
        let take = || Hold::take(&File::open(file.path()).unwrap(), file.path()).unwrap();
        let (mut first, mut second) = (take(), take());
        assert!(!is_told(), "they may be refused yet");
        first.say(RunLock::Writes);
        second.say(RunLock::Writes);
        assert!(is_told() && first.is_settled() && second.is_settled());
        let info = open_file_info(&first.file);
        let told = RunLocks { is_there: true, writes: true, ..RunLocks::default() };
        assert_eq!(RunLocks::in_info(&info), Some(told), "{info}");
        assert_eq!((first.told(), told_of(file.as_file())), (told, told));
        drop(first);
        assert!(comes_to_hold(|| second.told() == RunLocks::default()), "its own do not count");
        assert!(is_told());
        drop(second);
        assert!(comes_to_hold(|| !is_told()));
        let info = open_file_info(file.as_file());
        assert_eq!(RunLocks::in_info(&info), None, "{info}");
    }

    #[test]
    fn readers_take_part_and_one_may_want_it_alone() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let open = || File::open(file.path()).unwrap();
        let mut reader = Hold::attend(&open(), file.path()).unwrap();
        let told = RunLocks { is_there: true, reads: true, ..RunLocks::default() };
        assert_eq!((told_of(&open()), reader.told()), (told, RunLocks::default()));
        assert!(reader.only_reads() && !told_of(&open()).writes);
        reader.say(RunLock::Alone);
        let alone = RunLocks { is_alone: true, ..told };
        assert_eq!(
            (told_of(&open()), RunLocks::in_info(&open_file_info(&reader.file))),
            (alone, Some(alone))
        );
        // Its target keeps the open file.
        let kept = reader.file.try_clone().unwrap();
        reader.fall_silent();
        assert_eq!(
            (told_of(&open()), RunLocks::in_info(&open_file_info(&kept))),
            (RunLocks::default(), None)
        );
    }
}
