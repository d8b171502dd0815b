//! Lists that the kernel writes while they are read: `/proc/swaps`, `/proc/self/mountinfo`.
//!
//! The kernel holds such a list still during one `read(2)` only, and goes on by counting lines. Read in small
//! pieces, as [`std::fs::read`] does, a list that gets shorter in between loses a line that was there all the
//! time. A swap area that is overlooked is one that gets overwritten.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// More than the kernel hands out in one call, so each call takes all that it has ready.
const PIECE: usize = 64 << 10;

/// A machine whose mounts change all the time is taken as it is after so many readings.
const READINGS: usize = 50;

/// The text of such a list, of one moment: it is read again when the kernel says that it has changed meanwhile
/// (`POLLPRI`, see `proc_pid_mounts(5)` and `proc_swaps` in `proc(5)`). Plain files are read as they are.
///
/// # Errors
/// What opening or reading it says.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
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
    use crate::sys::within_a_second;

    #[test]
    fn plain_files_are_read_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("list");
        let text: Vec<u8> = (0..3 * PIECE + 7).map(|n| n as u8).collect();
        std::fs::write(&path, &text).unwrap();
        assert!(read(&path).unwrap() == text);
        assert_eq!(read(&dir.path().join("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(read(dir.path()).is_err(), "a folder");
    }

    #[test]
    fn what_the_kernel_writes_is_read_whole() {
        let kernel = Path::new("/proc/self/mountinfo");
        // Other tests mount meanwhile.
        assert!(within_a_second(|| read(kernel).unwrap() == std::fs::read(kernel).unwrap()));
    }
}
