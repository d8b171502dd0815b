//! What runs tell of a target by locks on bytes far beyond any end, which no other program has a reason to lock.
//!
//! Who may only read a file can take shared locks on any of its bytes. So they tell, and permit nothing: what
//! permits something is told by [`is_written_by_a_run`], by a lock that only who may write the file can take,
//! or by a process of root or of this user (`openers`).
//!
//! How runs that write the same file know of each other: each takes a place of its own (`told`), which only
//! who may write the file can take, and which ends with the process, however it ends.
//!
//! Not over SMB, where a lock is asked for by taking it: of two runs there the first to end marks the file as
//! ours, and what the other one leaves decides. Source: the kernel's `fs/smb/client/file.c` (`cifs_getlk`).

use std::fs::File;
use std::io;
use std::ops::Range;
use std::time::{Duration, Instant};

use truespd_platform::sys::file::filesystem;
use truespd_platform::sys::lock::{find_lock, release_byte, share_byte, take_byte};

/// "TrueSpd" as a number: where the locks of a run begin.
const LOCK_START: u64 = 0x0054_7275_6553_7064;
/// Behind the locks that are shared: one byte for each run that writes a file.
const SEATS: Range<u64> = LOCK_START + 64..LOCK_START + 320;
/// For a run that begins to write a file, or ends, while others may do so, too.
const GATE: u64 = SEATS.end;

/// What a shared lock says; the number is the byte it is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunLock {
    /// A run has opened it, and may still be checking whether it may write.
    Here = 0,
    /// A run holds the device exclusively.
    Held = 1,
    /// A run writes, and was allowed to.
    Writes = 2,
    Reads = 3,
    /// A run wants it for itself.
    Alone = 4,
}

impl RunLock {
    fn byte(self) -> u64 {
        LOCK_START + self as u64
    }
}

/// What runs say of a target by their locks.
#[allow(missing_docs)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunLocks {
    /// There is a run; it may not know yet whether it is allowed to do what it wants.
    pub is_there: bool,
    pub writes: bool,
    pub reads: bool,
    /// One wants it for itself.
    pub is_alone: bool,
    /// One holds the device exclusively.
    pub is_held: bool,
    /// One has a lock on the file that only who may write it can take.
    pub is_proven: bool,
    /// A lock of another program lies over those of runs, so that they may not be seen.
    pub is_covered: bool,
}

impl RunLocks {
    fn of(says: impl Fn(RunLock) -> bool, is_proven: bool, is_covered: bool) -> Self {
        let [is_there, writes, reads, is_alone, is_held] =
            [RunLock::Here, RunLock::Writes, RunLock::Reads, RunLock::Alone, RunLock::Held].map(says);
        RunLocks { is_there, writes, reads, is_alone, is_held, is_proven, is_covered }
    }

    /// What other open files say of this one.
    pub(super) fn by_others(file: &File) -> Self {
        let is_covered =
            find_lock(file, LOCK_START..SEATS.start, false).is_some_and(|lock| !is_ours(&lock.bytes));
        RunLocks::of(|says| is_locked(file, says), is_written_by_a_run(file), is_covered)
    }

    /// What the locks in a descriptor's `fdinfo` say; `None` when it is not that of a run.
    pub(super) fn in_info(info: &str) -> Option<Self> {
        let locks: Vec<_> = info.lines().filter_map(locked_bytes).collect();
        let is_proven = locks.iter().any(|(bytes, is_exclusive)| *is_exclusive && is_seat(bytes));
        let told = RunLocks::of(
            |says| locks.iter().any(|(bytes, _)| is_ours(bytes) && bytes.contains(&says.byte())),
            is_proven,
            false,
        );
        (told.is_there || told.is_proven).then_some(told)
    }

    /// A run tests the target: it does more than look.
    pub fn is_tested(self) -> bool {
        self.writes || self.reads
    }
}

/// The bytes of the locks that are shared. The kernel tells locks on neighbouring bytes as one.
fn is_ours(bytes: &Range<u64>) -> bool {
    LOCK_START <= bytes.start && bytes.end <= LOCK_START + 5
}

fn is_seat(bytes: &Range<u64>) -> bool {
    SEATS.contains(&bytes.start) && bytes.end == bytes.start + 1
}

/// The bytes of a lock of an open file, as `fdinfo` tells it, and whether it is exclusive.
fn locked_bytes(line: &str) -> Option<(Range<u64>, bool)> {
    // lock:  1: OFDLCK ADVISORY  READ -1 00:05:352 23768... 23768...
    let words = line.strip_prefix("lock:").filter(|line| line.contains("OFDLCK"))?;
    let is_exclusive = words.split_whitespace().any(|word| word == "WRITE");
    let mut words = words.split_whitespace().rev();
    let last: u64 = words.next()?.parse().ok()?;
    let start = words.next()?.parse().ok()?;
    Some((start..last.checked_add(1)?, is_exclusive))
}

/// Shared with all other runs; belongs to the open file, not to the process.
pub(super) fn say(file: &File, says: RunLock) -> io::Result<()> {
    share_byte(file, says.byte())
}

/// Takes back what was said by this open file.
pub(super) fn unsay(file: &File, says: RunLock) {
    release_byte(file, says.byte());
}

/// Whether a run says so of the file by another open file. A lock of another program on the whole file says nothing.
pub(super) fn is_locked(file: &File, says: RunLock) -> bool {
    let found = find_lock(file, says.byte()..says.byte() + 1, false);
    found.is_some_and(|lock| lock.is_of_open_file && is_ours(&lock.bytes))
}

/// Whether a run of this program is writing the file at this moment. Only who may write the file can make it look so.
pub fn is_written_by_a_run(file: &File) -> bool {
    let mut at = SEATS.start;
    while at < SEATS.end {
        let Some(found) = find_lock(file, at..SEATS.end, true) else { return false };
        if found.is_of_open_file && is_seat(&found.bytes) {
            return true;
        }
        at = found.bytes.end.max(at + 1);
    }
    false
}

/// Takes a place of its own among the runs that write the file, which must be open for writing. `None` where
/// that is not possible: other runs do not know of this one then. The place is kept as long as the file is
/// open.
pub fn take_seat(file: &File) -> Option<u64> {
    for seat in SEATS {
        match take_byte(file, seat) {
            Ok(true) => return Some(seat),
            Ok(false) => {}
            Err(_) => return None,
        }
    }
    None
}

/// SMB's numbers in `linux/magic.h`: CIFS, SMB 2 and the client before them.
const SMB: [u64; 3] = [0xff53_4d42, 0xfe53_4d42, 0x517b];
/// A run that begins or ends is waited for so long: it may have to read what lies outside of its part.
const PATIENCE: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(5);

/// What other runs see of this one on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sharing {
    has_locks: bool,
    seat: Option<u64>,
}

impl Sharing {
    /// Lets other runs know. The file is open for writing.
    pub fn begin(file: &File) -> Self {
        let is_smb =
            filesystem(file).is_ok_and(|found| found.is_some_and(|found| SMB.contains(&found.magic)));
        Sharing { has_locks: !is_smb, seat: if is_smb { None } else { take_seat(file) } }
    }

    /// Whether another run writes the file, too; `None` where that is not known.
    pub fn is_with_others(self, file: &File) -> Option<bool> {
        self.has_locks.then(|| is_written_by_a_run(file))
    }

    /// Other runs do not count this one any more.
    pub fn end(self, file: &File) {
        if let Some(seat) = self.seat {
            release_byte(file, seat);
        }
    }
}

/// Keeps runs apart that read the mark of a file and put another one, until it is dropped.
pub(super) struct Gate<'f>(Option<&'f File>);

impl<'f> Gate<'f> {
    /// Waits for another run that does so. Where there are no such locks, nobody is kept out.
    pub fn close(file: &'f File) -> Self {
        let begun = Instant::now();
        loop {
            match take_byte(file, GATE) {
                Ok(true) => return Gate(Some(file)),
                // A lock that no run can have is not waited for: who may only read the file can take it.
                Ok(false) if is_shut(file) && begun.elapsed() < PATIENCE => std::thread::sleep(PAUSE),
                _ => return Gate(None),
            }
        }
    }
}

/// Whether somebody who may write the file keeps the others out.
fn is_shut(file: &File) -> bool {
    find_lock(file, GATE..GATE + 1, true).is_some()
}

impl Drop for Gate<'_> {
    fn drop(&mut self) {
        if let Some(file) = self.0 {
            release_byte(file, GATE);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::made::open_file_info;

    /// What who may only read the file can do to the gate.
    pub fn share_gate(file: &File) {
        share_byte(file, GATE).unwrap();
    }

    #[test]
    fn other_locks_are_no_runs() {
        for line in [
            "lock:\t1: FLOCK  ADVISORY  WRITE 7 00:05:9 0 EOF",
            "lock:\t1: OFDLCK ADVISORY  READ -1 00:05:9 0 EOF",
            "lock:\t1: OFDLCK ADVISORY  READ -1 00:05:9 23769746580402276 EOF",
            "lock:\t1: OFDLCK ADVISORY  READ -1 00:05:9 0 23769746580402280",
            "lock:\t1: OFDLCK ADVISORY  READ -1 00:05:9 23769746580402276 23769746580402376",
            "lock:\t1: OFDLCK ADVISORY  READ -1 00:05:9 23769746580402340 23769746580402340",
            "lock:\t1: OFDLCK ADVISORY  WRITE -1 00:05:9 23769746580402340 23769746580402341",
            "lock:\t1: POSIX  ADVISORY  READ 7 00:05:9 23769746580402276 23769746580402276",
            "pos:\t0",
        ] {
            assert_eq!(RunLocks::in_info(line), None, "{line}");
        }
        assert_eq!(LOCK_START, 23_769_746_580_402_276);
    }

    #[test]
    fn a_seat_is_of_one_run_and_a_reader_has_none() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let open = || File::options().read(true).write(true).open(file.path()).unwrap();
        let reader = File::open(file.path()).unwrap();
        let [first, second] = [open(), open()];
        assert_eq!(take_seat(&reader), None);
        let seats = [&first, &second].map(|file| take_seat(file).unwrap());
        assert_ne!(seats[0], seats[1]);
        assert!(is_written_by_a_run(&reader) && is_written_by_a_run(&first));
        assert!(RunLocks::by_others(&reader).is_proven && !RunLocks::by_others(&reader).is_there);
        assert!(RunLocks::in_info(&open_file_info(&first)).unwrap().is_proven);
        release_byte(&second, seats[1]);
        assert!(is_written_by_a_run(&second) && !is_written_by_a_run(&first));
        assert!(take_byte(&first, GATE).unwrap() && !take_byte(&second, GATE).unwrap());
        release_byte(&first, GATE);
        assert!(take_byte(&second, GATE).unwrap() && take_byte(&reader, GATE).is_err());
    }

    #[test]
    fn whatever_a_reader_locks_he_writes_nothing_and_keeps_no_run_out() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let writer = File::options().read(true).write(true).open(file.path()).unwrap();
        let reader = File::open(file.path()).unwrap();
        for at in (LOCK_START..LOCK_START + 5).chain(SEATS).chain([GATE]) {
            share_byte(&reader, at).unwrap();
        }
        let told = RunLocks::by_others(&writer);
        assert!(!is_written_by_a_run(&writer) && !told.is_proven);
        // Locks on more bytes than those of a run, as on the whole file, are another program's.
        let told_of_far = RunLocks::in_info(&open_file_info(&reader)).is_some();
        assert!(told_of_far && told.is_there, "the bytes themselves look alike");
        assert_eq!(take_seat(&writer), None, "and nobody sits where he is");
        share_byte(&reader, LOCK_START + 5).unwrap();
        let told = RunLocks::by_others(&writer);
        assert_eq!(told, RunLocks { is_covered: true, ..RunLocks::default() });
        assert_eq!(RunLocks::in_info(&open_file_info(&reader)), None);
    }
}

#[cfg(test)]
mod tests_sharing {
    use super::*;
    use crate::made::comes_to_hold;

    #[test]
    fn runs_see_each_other() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let [first, second] = [(); 2].map(|()| file.reopen().unwrap());
        let one = Sharing::begin(&first);
        assert_eq!(one.is_with_others(&first), Some(false));
        let two = Sharing::begin(&second);
        assert_eq!((one.is_with_others(&first), two.is_with_others(&second)), (Some(true), Some(true)));
        two.end(&second);
        assert_eq!(one.is_with_others(&first), Some(false));
        drop(first);
        assert!(comes_to_hold(|| two.is_with_others(&second) == Some(false)), "it ended without a word");
        assert_eq!(Sharing { has_locks: false, seat: None }.is_with_others(&second), None);
    }

    #[test]
    fn one_run_at_a_time_goes_through_the_gate_and_a_reader_does_not_keep_it_shut() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let [first, second] = [(); 2].map(|()| file.reopen().unwrap());
        let gate = Gate::close(&first);
        std::thread::scope(|scope| {
            let begun = Instant::now();
            scope.spawn(|| {
                std::thread::sleep(PAUSE * 10);
                drop(gate);
            });
            assert!(Gate::close(&second).0.is_some() && begun.elapsed() >= PAUSE * 5);
        });
        let reader = File::open(file.path()).unwrap();
        super::tests::share_gate(&reader);
        // A busy machine may take longer.
        assert!((0..10).any(|_| {
            let begun = Instant::now();
            Gate::close(&second).0.is_none() && begun.elapsed() < PATIENCE
        }));
    }
}
