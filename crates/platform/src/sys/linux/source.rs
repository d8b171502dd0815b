//! Files that are read whole: documents, profiles, write data. A pipe that nobody writes into is an error after a while
//! instead of a wait for ever.
//!
//! Lists that the kernel writes while they are read: `/proc/swaps`, `/proc/self/mountinfo`.
//!
//! The kernel holds such a list still during one `read(2)` only, and goes on by counting lines. Read in small
//! pieces, as [`std::fs::read`] does, a list that gets shorter in between loses a line that was there all the
//! time. A swap area that is overlooked is one that gets overwritten.

use std::fs::{File, OpenOptions};
use std::io;
use std::io::{BufRead, ErrorKind, Read, Seek};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;

use super::error::Code;
use super::file::{FileKind, Stat};
use super::lock::patiently;

/// How long a pipe is given until somebody writes into it: the shell starts its writer at the same time as
/// this program. As long is a file given that the kernel makes up and that has nothing to say (`/proc/kmsg`).
const WRITER_PATIENCE: Duration = Duration::from_secs(3);
/// How often it is looked whether somebody does.
const WRITER_LOOK: Duration = Duration::from_millis(20);

/// Most bytes that are read of a document, or of a line of a file of lines. What is larger is usually none,
/// but a disk, or the file of a test.
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

const NO_WRITER: &str = "nobody writes into this pipe; start its writer first, or give the path of a file";
const LEASED: &str = "another program holds a lease on this file, as Samba does for its clients, \
     and does not give it up; try again later";
const SILENT: &str = "it gives no data and does not end; give the path of an ordinary file";
const EMPTY: &str = "it is empty, or the kernel makes it up when it is read (a file of procfs)";

/// Major number of the devices that are memory and nothing else, and the minor numbers of zero, random and urandom
/// (`Documentation/admin-guide/devices.txt` of Linux).
const MEMORY_DEVICES: (u32, [u32; 3]) = (1, [5, 8, 9]);

/// An open file, to be read from its beginning.
#[derive(Debug)]
pub struct Source {
    file: File,
    /// Whoever reads an ordinary file waits for no writer.
    is_ordinary: bool,
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
        let opened = patiently(|| {
            let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
            opened.map_err(|error| Code::of(&error).unwrap_or(Code::IO))
        });
        let file = opened.map_err(|code| match code {
            Code::AGAIN => io::Error::new(ErrorKind::WouldBlock, LEASED),
            code => io::Error::from_raw_os_error(code.number()),
        })?;
        let kind = Stat::of_open(&file)?.kind;
        let unwritten_since = (kind == FileKind::Pipe).then(Instant::now);
        Ok(Source { file, is_ordinary: kind == FileKind::Regular, unwritten_since })
    }

    /// Whether a file can be read as often as one likes. Opens it only when that has no effect, and reads one byte.
    ///
    /// # Errors
    /// What it is instead, or what the system says.
    pub fn check_again_and_again(path: &Path) -> io::Result<()> {
        let about = std::fs::metadata(path)?;
        let why = match FileKind::of(&about) {
            FileKind::Pipe => {
                "it is a pipe, which can be read only once, and each time span reads the source; \
                 write it to a file first"
            }
            FileKind::Directory => "it is a directory",
            FileKind::Socket => "it is a socket",
            FileKind::Character if !is_endless_memory(about.rdev()) => {
                "it is a character device; of these only /dev/zero, /dev/random and /dev/urandom are \
                 sources of write data"
            }
            FileKind::Regular if about.len() == 0 => EMPTY,
            _ if Source::open(path)?.read(&mut [0])? == 0 => EMPTY,
            _ => return Ok(()),
        };
        Err(io::Error::new(ErrorKind::InvalidInput, why))
    }

    /// Its size, if it is a file.
    pub fn size_bytes(&self) -> Option<u64> {
        self.file.metadata().ok().filter(|about| about.is_file()).map(|about| about.len())
    }

    /// Waits until there is more: of an ordinary file not for ever.
    fn wait_for_more(&self) -> io::Result<()> {
        let mut wait = [PollFd::from_borrowed_fd(self.file.as_fd(), PollFlags::IN)];
        let patience = Timespec { tv_sec: WRITER_PATIENCE.as_secs() as i64, tv_nsec: 0 };
        // An interrupted wait is looked at again by the caller.
        match poll(&mut wait, self.is_ordinary.then_some(&patience)) {
            Ok(0) => Err(io::Error::new(ErrorKind::TimedOut, SILENT)),
            _ => Ok(()),
        }
    }
}

fn is_endless_memory(device: u64) -> bool {
    let (major, minors) = MEMORY_DEVICES;
    rustix::fs::major(device) == major && minors.contains(&rustix::fs::minor(device))
}

impl Read for Source {
    /// Waits for whoever writes into a pipe, as long as there is somebody.
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.file.read(bytes) {
                // Of a pipe that nobody has open for writing.
                Ok(0) if !bytes.is_empty() => match self.unwritten_since {
                    Some(since) if since.elapsed() < WRITER_PATIENCE => std::thread::sleep(WRITER_LOOK),
                    Some(_) => return Err(io::Error::new(ErrorKind::TimedOut, NO_WRITER)),
                    None => return Ok(0),
                },
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.unwritten_since = None;
                    self.wait_for_more()?;
                }
                other => {
                    self.unwritten_since = None;
                    return other;
                }
            }
        }
    }
}

/// More than the kernel hands out in one call, so each call takes all that it has ready.
const PIECE: usize = 64 << 10;

/// A machine whose mounts change all the time is taken as it is after so many readings.
const READINGS: usize = 50;

/// The text of such a list, of one moment: it is read again when the kernel says that it has changed meanwhile
/// (`POLLPRI`, see `proc_pid_mounts(5)` and `proc_swaps` in `proc(5)`). Plain files are read as they are.
///
/// # Errors
/// What opening or reading it says.
pub fn read_table(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let mut text = read_once(&mut file)?;
    for _ in 1..READINGS {
        if !has_changed(&file) {
            break;
        }
        file.rewind()?;
        text = read_once(&mut file)?;
    }
    Ok(text)
}

fn read_once(file: &mut File) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let mut piece = vec![0; PIECE];
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok(text),
            Ok(length) => text.extend_from_slice(&piece[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Since it was opened, or since this was asked last.
fn has_changed(file: &File) -> bool {
    let mut asked = [PollFd::new(file, PollFlags::PRI)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut asked, Some(&now)).is_ok() && asked[0].revents().contains(PollFlags::PRI)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn what_can_be_read_again_and_again_has_data() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("data"), "x").unwrap();
        std::fs::write(at("empty"), "").unwrap();
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        let why = |path: &Path| Source::check_again_and_again(path).unwrap_err().to_string();
        for fine in [at("data"), "/dev/zero".into(), "/dev/urandom".into()] {
            assert!(Source::check_again_and_again(&fine).is_ok(), "{fine:?}");
        }
        for (path, says) in [
            (at("none"), "No such file"),
            (at("empty"), "it is empty"),
            (at("pipe"), "a pipe"),
            (at("socket"), "a socket"),
            (dir.path().into(), "a directory"),
            ("/dev/null".into(), "a character device"),
            ("/dev/tty".into(), "a character device"),
            ("/proc/kmsg".into(), "the kernel makes it up"),
            ("/proc/self/mounts".into(), "the kernel makes it up"),
        ] {
            assert!(why(&path).contains(says), "{path:?}: {}", why(&path));
        }
    }

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

#[cfg(test)]
mod tests_kernel_table {
    use super::*;
    use crate::sys::comes_to_hold;

    #[test]
    fn plain_files_are_read_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("list");
        let text: Vec<u8> = (0..3 * PIECE + 7).map(|n| n as u8).collect();
        std::fs::write(&path, &text).unwrap();
        assert!(read_table(&path).unwrap() == text);
        assert_eq!(read_table(&dir.path().join("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(read_table(dir.path()).is_err(), "a folder");
    }

    #[test]
    fn what_the_kernel_writes_is_read_whole() {
        let kernel = Path::new("/proc/self/mountinfo");
        // Other tests mount meanwhile.
        assert!(comes_to_hold(|| read_table(kernel).unwrap() == std::fs::read(kernel).unwrap()));
    }
}
