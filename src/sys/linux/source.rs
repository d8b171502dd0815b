//! Files that are read whole: documents, profiles, write data. A pipe that nobody writes into is an error after a while
//! instead of a wait for ever.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, ErrorKind, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::OFlags;

use super::file::{FileKind, Stat};

/// How long a pipe is given until somebody writes into it: the shell starts its writer at the same time as this program.
const WRITER_PATIENCE: Duration = Duration::from_secs(3);
/// How often it is looked whether somebody does.
const WRITER_LOOK: Duration = Duration::from_millis(20);

/// Most bytes that are read of a document, or of a line of a file of lines. What is larger is usually none, but a disk, or the
/// file of a test.
pub const BYTES_MAX: u64 = 1 << 30;

/// Adds the rest of a line, with its end if it has one, to what was read of it; returns how many bytes came.
///
/// # Errors
/// What the system says, and [`ErrorKind::FileTooLarge`] when it has more than so many bytes.
pub fn read_line(lines: &mut dyn BufRead, line: &mut Vec<u8>, bytes_max: u64) -> io::Result<usize> {
    let left = (bytes_max + 1).saturating_sub(line.len() as u64);
    let count = lines.take(left).read_until(b'\n', line)?;
    if line.len() as u64 > bytes_max {
        let what = format!("it has a line of more than {} MiB, the most that is read", bytes_max >> 20);
        return Err(io::Error::new(ErrorKind::FileTooLarge, what));
    }
    Ok(count)
}

/// Nobody opened a named pipe for writing.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("nobody writes into this pipe; start its writer first, or give the path of a file")]
struct NoWriter;

/// An open file, to be read from its beginning.
#[derive(Debug)]
pub struct Source {
    file: File,
    /// It is a pipe into which nobody was seen to write, opened then.
    unwritten_since: Option<Instant>,
}

impl Source {
    /// Opens a file for reading.
    ///
    /// # Errors
    /// What `open(2)` says; it never waits.
    pub fn open(path: &Path) -> io::Result<Source> {
        let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32;
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        let is_pipe = Stat::of_open(&file)?.kind == FileKind::Pipe;
        Ok(Source { file, unwritten_since: is_pipe.then(Instant::now) })
    }

    /// Its size, if it is a file.
    pub fn size_bytes(&self) -> Option<u64> {
        self.file.metadata().ok().filter(|about| about.is_file()).map(|about| about.len())
    }

    fn wait_for_more(&self) {
        let mut wait = [PollFd::from_borrowed_fd(self.file.as_fd(), PollFlags::IN)];
        // An interrupted wait is looked at again by the caller.
        let _ = poll(&mut wait, None);
    }
}

impl Read for Source {
    /// Waits for whoever writes into a pipe, as long as there is somebody.
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.file.read(bytes) {
                // Of a pipe that nobody has open for writing.
                Ok(0) if !bytes.is_empty() => match self.unwritten_since {
                    Some(since) if since.elapsed() < WRITER_PATIENCE => std::thread::sleep(WRITER_LOOK),
                    Some(_) => return Err(io::Error::new(ErrorKind::TimedOut, NoWriter)),
                    None => return Ok(0),
                },
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.unwritten_since = None;
                    self.wait_for_more();
                }
                other => {
                    self.unwritten_since = None;
                    return other;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_line_has_an_end() {
        let mut lines: &[u8] = b"one\ntwo\nrest";
        let mut line = Vec::new();
        assert_eq!(read_line(&mut lines, &mut line, 4).unwrap(), 4);
        // What was read before counts.
        let error = read_line(&mut lines, &mut line, 7).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
        line.clear();
        let mut endless = io::BufReader::new(io::repeat(0));
        let error = read_line(&mut endless, &mut line, 1 << 20).unwrap_err();
        assert_eq!(error.to_string(), "it has a line of more than 1 MiB, the most that is read");
        assert!(line.capacity() <= 4 << 20);
    }

    #[test]
    fn pipes_are_waited_for_as_long_as_somebody_writes() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let mut text = String::new();
        let error = Source::open(&pipe).unwrap().read_to_string(&mut text).unwrap_err();
        assert!(error.to_string().starts_with("nobody writes into this pipe"), "{error}");
        let path = pipe.clone();
        let writer = std::thread::spawn(move || {
            let mut pipe = OpenOptions::new().write(true).open(path).unwrap();
            pipe.write_all(b"one ").unwrap();
            std::thread::sleep(Duration::from_millis(50));
            pipe.write_all(b"two").unwrap();
        });
        Source::open(&pipe).unwrap().read_to_string(&mut text).unwrap();
        writer.join().unwrap();
        assert_eq!(text, "one two");
        let plain = dir.path().join("plain");
        std::fs::write(&plain, "").unwrap();
        assert_eq!(Source::open(&plain).unwrap().read_to_end(&mut Vec::new()).unwrap(), 0, "at once");
    }
}
