//! Flushes files in a process of its own: one that waits for a device that does not answer cannot be ended, and this
//! process would have to wait for it at its end.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::error::Code;

/// What the other process says of a file: its number among those that are flushed, and the error number or 0.
const ANSWER_BYTES: usize = 8;

/// Flushes (`fsync(2)`) that go on in another process.
#[derive(Debug)]
pub struct Flushes {
    answers: File,
    process: libc::pid_t,
    left: usize,
    part: Vec<u8>,
}

impl Flushes {
    /// Begins to flush the files, one after the other.
    ///
    /// # Errors
    /// What `pipe2(2)` and `fork(2)` say.
    pub fn begin(files: &[&File]) -> io::Result<Self> {
        let numbers: Vec<RawFd> = files.iter().map(|file| file.as_raw_fd()).collect();
        let mut ends = [0; 2];
        // SAFETY: the array has room for the two numbers that are written.
        if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: both numbers are new and belong to nobody else.
        let (answers, told) = unsafe { (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])) };
        // SAFETY: the new process calls only functions that may be called after a fork of a process with threads.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => flush_all(&numbers, told.as_raw_fd()),
            process => Ok(Flushes { answers, process, left: files.len(), part: Vec::new() }),
        }
    }

    /// The next file that was flushed, by its number, and what `fsync(2)` said; `None` when all are done, or the other
    /// process is gone. `Err` when none was within `limit`.
    ///
    /// # Errors
    /// [`io::ErrorKind::TimedOut`].
    pub fn next(&mut self, limit: Duration) -> io::Result<Option<(usize, Result<(), Code>)>> {
        let deadline = Instant::now() + limit;
        while self.left > 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = Timespec {
                tv_sec: left.as_secs().try_into().unwrap_or(i64::MAX),
                tv_nsec: left.subsec_nanos().into(),
            };
            let mut fds = [PollFd::new(&self.answers, PollFlags::IN)];
            match poll(&mut fds, Some(&timeout)) {
                Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
                Err(rustix::io::Errno::INTR) => continue,
                _ => {}
            }
            let mut bytes = [0; ANSWER_BYTES];
            let room = ANSWER_BYTES - self.part.len();
            let read = self.answers.read(&mut bytes[..room])?;
            if read == 0 {
                break;
            }
            self.part.extend_from_slice(&bytes[..read]);
            if let Ok(answer) = <[u8; ANSWER_BYTES]>::try_from(self.part.as_slice()) {
                self.part.clear();
                self.left -= 1;
                return Ok(Some(told(answer)));
            }
        }
        Ok(None)
    }
}

impl Drop for Flushes {
    /// Does not wait for a process that still flushes: it ends by itself.
    fn drop(&mut self) {
        let mut status = 0;
        // SAFETY: a process of this one, and a number that outlives the call.
        unsafe {
            libc::kill(self.process, libc::SIGKILL);
            libc::waitpid(self.process, &raw mut status, if self.left > 0 { libc::WNOHANG } else { 0 });
        }
    }
}

fn told(answer: [u8; ANSWER_BYTES]) -> (usize, Result<(), Code>) {
    let [file, error] =
        [0, 4].map(|at| u32::from_ne_bytes([answer[at], answer[at + 1], answer[at + 2], answer[at + 3]]));
    let error = i32::try_from(error).unwrap_or(libc::EIO);
    (file as usize, if error == 0 { Ok(()) } else { Err(Code::from_number(error)) })
}

/// The other process: allocates nothing and calls nothing that takes a lock.
fn flush_all(numbers: &[RawFd], told: RawFd) -> ! {
    for (file, number) in (0u32..).zip(numbers) {
        // SAFETY: a number that this process has a copy of; nothing of this program changes.
        let result = unsafe { libc::fsync(*number) };
        let error =
            if result == 0 { 0 } else { io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO) };
        let mut answer = [0; ANSWER_BYTES];
        answer[..4].copy_from_slice(&file.to_ne_bytes());
        answer[4..].copy_from_slice(&error.to_ne_bytes());
        // SAFETY: an array that outlives the call. Short parts of a pipe are written whole.
        unsafe { libc::write(told, answer.as_ptr().cast(), ANSWER_BYTES) };
    }
    // SAFETY: ends this process without anything of the other one.
    unsafe { libc::_exit(0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_flushed_one_by_one_and_what_cannot_be_says_why() {
        let (pipe, _writer) = std::io::pipe().unwrap();
        let pipe = File::from(std::os::fd::OwnedFd::from(pipe));
        let file = tempfile::tempfile().unwrap();
        let mut flushes = Flushes::begin(&[&file, &pipe, &file]).unwrap();
        let mut next = || flushes.next(Duration::from_secs(60)).unwrap();
        assert_eq!(next(), Some((0, Ok(()))));
        assert_eq!(next(), Some((1, Err(Code::INVALID))));
        assert_eq!(next(), Some((2, Ok(()))));
        assert_eq!(next(), None);
    }
}
