//! How runs that write the same file know of each other: each takes a place of its own (`told`), which only
//! who may write the file can take, and which ends with the process, however it ends.
//!
//! Not over SMB, where a lock is asked for by taking it: of two runs there the first to end marks the file as
//! ours, and what the other one leaves decides. Source: the kernel's `fs/smb/client/file.c` (`cifs_getlk`).

use std::fs::File;
use std::time::{Duration, Instant};

use crate::guard::told::{Seat, close_gate, is_gate_closed, is_written_by_a_run, open_gate, take_seat};
use crate::sys::file::filesystem;

/// SMB's numbers in `linux/magic.h`: CIFS, SMB 2 and the client before them.
const SMB: [u64; 3] = [0xff53_4d42, 0xfe53_4d42, 0x517b];
/// A run that begins or ends is waited for so long: it may have to read what lies outside of its part.
const PATIENCE: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(5);

/// What other runs see of this one on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sharing {
    has_locks: bool,
    seat: Option<Seat>,
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
            seat.leave(file);
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
            match close_gate(file) {
                Ok(true) => return Gate(Some(file)),
                // A lock that no run can have is not waited for: who may only read the file can take it.
                Ok(false) if is_gate_closed(file) && begun.elapsed() < PATIENCE => std::thread::sleep(PAUSE),
                _ => return Gate(None),
            }
        }
    }
}

impl Drop for Gate<'_> {
    fn drop(&mut self) {
        if let Some(file) = self.0 {
            open_gate(file);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::within_a_second;

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
        assert!(within_a_second(|| two.is_with_others(&second) == Some(false)), "it ended without a word");
        assert_eq!(Sharing { has_locks: false, seat: None }.is_with_others(&second), None);
    }

    #[test]
    fn one_run_at_a_time_goes_through_the_gate_and_a_reader_does_not_keep_it_shut() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let [first, second] = [(); 2].map(|()| file.reopen().unwrap());
        let gate = Gate::close(&first);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(PAUSE * 10);
                drop(gate);
            });
            let begun = Instant::now();
            assert!(Gate::close(&second).0.is_some() && begun.elapsed() >= PAUSE * 5);
        });
        let reader = File::open(file.path()).unwrap();
        crate::guard::told::tests::share_gate(&reader);
        let begun = Instant::now();
        assert!(Gate::close(&second).0.is_none() && begun.elapsed() < PATIENCE);
    }
}
