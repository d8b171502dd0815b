//! Reserves a target for the time of a test, and tells other runs that a test has it.
//!
//! A device is held open exclusively, so that nobody can mount it, swap to it or build on it meanwhile. Devices
//! and files get a lock on bytes far beyond their end, which no other program has a reason to lock: runs recognise each
//! other by it, whatever the program is called. Claim and lock end with the process, however that ends.

use std::fs::File;
use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::machine::device::{BlockDevice, DeviceNumber};
use crate::machine::roots::Roots;
use crate::sys::identity::block_device;
use crate::sys::lock::{is_byte_locked, share_byte};
use crate::sys::open::{Reading, own_path, read};

/// "TrueSpd" as a number: where the locks of a run begin.
const LOCK_START: u64 = 0x0054_7275_6553_7064;

/// What a lock says; the number is the byte it is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    /// A run has opened it, and may still be checking whether it may write.
    Here = 0,
    /// A run holds the device exclusively.
    Held = 1,
    /// A run writes, and was allowed to.
    Writes = 2,
    /// A run only reads.
    Reads = 3,
    /// A run wants it for itself.
    Alone = 4,
}

/// What runs say of a target by their locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Told {
    /// There is a run; it may not know yet whether it is allowed to do what it wants.
    pub is_there: bool,
    /// One writes.
    pub writes: bool,
    /// One reads only.
    pub reads: bool,
    /// One wants it for itself.
    pub is_alone: bool,
}

impl Told {
    fn of(says: impl Fn(Says) -> bool) -> Self {
        let [is_there, writes, reads, is_alone] =
            [Says::Here, Says::Writes, Says::Reads, Says::Alone].map(says);
        Told { is_there, writes, reads, is_alone }
    }

    /// A run tests the target: it does more than look.
    pub fn is_tested(self) -> bool {
        self.writes || self.reads
    }
}

/// A busy device is tried this often, with this pause between: another run may be checking it.
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_millis(20);

const SHARED: Reading = Reading { direct: false, exclusive: false, at_once: true };
const ALONE: Reading = Reading { exclusive: true, ..SHARED };

/// A target kept for a run, until it is dropped.
#[derive(Debug)]
pub struct Hold {
    file: File,
    /// Led to it.
    path: PathBuf,
    is_device: bool,
    is_exclusive: bool,
    /// What it said besides being here.
    said: Vec<Says>,
}

/// Who has a device now that another run held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// By this run.
    Here,
    /// By another run.
    ByAnother,
    /// Somebody else has it.
    Lost,
}

impl Hold {
    /// Takes the open file or device, which is open for reading. `path` led to it: without procfs nothing else does. A
    /// device that another run holds already is shared with it.
    ///
    /// # Errors
    /// When somebody else has it, or it cannot be opened for reading.
    pub fn take(file: &File, path: &Path) -> io::Result<Self> {
        if block_device(file)?.is_none() {
            // The same open file: one more reader would keep the kernel from answering who else has it open.
            let file = file.try_clone()?;
            // A file system without such locks is no problem: other runs then count as foreign programs.
            let _ = lock(&file, Says::Here);
            return Ok(Hold::of(file, path, false, false));
        }
        let usual = usual_node(file);
        let mut tries = TRIES;
        loop {
            let open = |how| match &usual {
                Some((node, at)) => open_again(node, at, how),
                None => open_again(file, path, how),
            };
            match open(ALONE) {
                Ok(file) => {
                    lock(&file, Says::Here)?;
                    lock(&file, Says::Held)?;
                    return Ok(Hold::of(file, path, true, true));
                }
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                    let file = open(SHARED)?;
                    if is_locked(&file, Says::Held) {
                        lock(&file, Says::Here)?;
                        return Ok(Hold::of(file, path, true, false));
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
        lock(&file, Says::Here)?;
        let mut hold = Hold::of(file, path, false, false);
        hold.say(Says::Reads);
        Ok(hold)
    }

    fn of(file: File, path: &Path, is_device: bool, is_exclusive: bool) -> Self {
        Hold { file, path: path.to_path_buf(), is_device, is_exclusive, said: Vec::new() }
    }

    fn say(&mut self, says: Says) {
        // Without the lock of a write, a run on the same target asks for `--overwrite`.
        let _ = lock(&self.file, says);
        self.said.push(says);
    }

    /// Says that the run may write and does.
    pub fn says_it_writes(&mut self) {
        self.say(Says::Writes);
    }

    /// Says that the run wants the target for itself.
    pub fn says_it_is_alone(&mut self) {
        self.say(Says::Alone);
    }

    /// It only takes part as a reader.
    pub fn only_reads(&self) -> bool {
        self.said.contains(&Says::Reads)
    }

    /// What other runs say of the target.
    pub fn told(&self) -> Told {
        told_by_others(&self.file)
    }

    /// It keeps a device.
    pub fn is_device(&self) -> bool {
        self.is_device
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
        match Hold::take(&self.file, &self.path) {
            Ok(mut taken) if taken.is_exclusive => {
                std::mem::take(&mut self.said).into_iter().for_each(|says| taken.say(says));
                *self = taken;
                Kept::Here
            }
            Ok(_) => Kept::ByAnother,
            Err(_) => Kept::Lost,
        }
    }
}

/// Whether a run of this program holds the device exclusively; `path` leads to it.
pub(super) fn is_held(path: &Path) -> bool {
    let is_held = |file: &File| is_locked(file, Says::Held);
    read(path, SHARED)
        .is_ok_and(|file| is_held(&file) || usual_node(&file).is_some_and(|(usual, _)| is_held(&usual)))
}

/// Opens an open device once more: itself, or without procfs what its path leads to, if that is the same.
fn open_again(file: &File, path: &Path, how: Reading) -> io::Result<File> {
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

/// Whether a run of this program is writing the file at this moment.
pub fn is_being_tested(file: &File) -> bool {
    is_locked(file, Says::Writes)
}

/// What runs say of an open file or device on which this run has no lock.
pub(super) fn told_of(file: &File) -> Told {
    usual_node(file).map_or_else(|| told_by_others(file), |(node, _)| told_by_others(&node))
}

fn told_by_others(file: &File) -> Told {
    Told::of(|says| is_locked(file, says))
}

/// What the locks in a descriptor's `fdinfo` say; `None` when it is not that of a run.
pub(super) fn told_in(info: &str) -> Option<Told> {
    let locked: Vec<_> = info.lines().filter_map(locked_bytes).collect();
    let says = |says: Says| locked.iter().any(|bytes| bytes.contains(&(LOCK_START + says as u64)));
    let told = Told::of(says);
    told.is_there.then_some(told)
}

/// The bytes of a lock of an open file. The kernel tells locks on neighbouring bytes as one.
fn locked_bytes(line: &str) -> Option<RangeInclusive<u64>> {
    // lock:  1: OFDLCK ADVISORY  READ -1 00:05:352 23768... 23768...
    let words = line.strip_prefix("lock:").filter(|line| line.contains("OFDLCK"))?;
    let mut words = words.split_whitespace().rev();
    let end = words.next()?.parse().ok()?;
    Some(words.next()?.parse().ok()?..=end)
}

/// Shared with all other runs; belongs to the open file, not to the process.
fn lock(file: &File, says: Says) -> io::Result<()> {
    share_byte(file, LOCK_START + says as u64)
}

/// Whether any other open file has that lock.
fn is_locked(file: &File, says: Says) -> bool {
    is_byte_locked(file, LOCK_START + says as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::made::open_file_info;
    use crate::sys::within_a_second;

    #[test]
    fn runs_know_each_other_by_the_lock() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(!is_being_tested(file.as_file()));
        let take = || Hold::take(&File::open(file.path()).unwrap(), file.path()).unwrap();
        let (mut first, mut second) = (take(), take());
        assert!(!is_being_tested(file.as_file()), "they may be refused yet");
        first.says_it_writes();
        second.says_it_writes();
        assert!(is_being_tested(file.as_file()) && first.is_settled() && second.is_settled());
        let info = open_file_info(&first.file);
        let told = Told { is_there: true, writes: true, ..Told::default() };
        assert_eq!(told_in(&info), Some(told), "{info}");
        assert_eq!((first.told(), told_of(file.as_file())), (told, told));
        drop(first);
        assert!(within_a_second(|| second.told() == Told::default()), "its own do not count");
        assert!(is_being_tested(file.as_file()));
        drop(second);
        assert!(within_a_second(|| !is_being_tested(file.as_file())));
        let info = open_file_info(file.as_file());
        assert_eq!(told_in(&info), None, "{info}");
    }

    #[test]
    fn readers_take_part_and_one_may_want_it_alone() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let open = || File::open(file.path()).unwrap();
        let mut reader = Hold::attend(&open(), file.path()).unwrap();
        let told = Told { is_there: true, reads: true, ..Told::default() };
        assert_eq!((told_of(&open()), reader.told()), (told, Told::default()));
        assert!(reader.only_reads() && !is_being_tested(file.as_file()));
        reader.says_it_is_alone();
        let alone = Told { is_alone: true, ..told };
        assert_eq!((told_of(&open()), told_in(&open_file_info(&reader.file))), (alone, Some(alone)));
    }

    #[test]
    fn other_locks_are_no_runs() {
        for line in [
            "lock:\t1: FLOCK  ADVISORY  WRITE 7 00:05:9 0 EOF",
            "lock:\t1: OFDLCK ADVISORY  READ -1 00:05:9 0 EOF",
            "lock:\t1: POSIX  ADVISORY  READ 7 00:05:9 23769746580402276 23769746580402276",
            "pos:\t0",
        ] {
            assert_eq!(told_in(line), None, "{line}");
        }
    }
}
