//! Whose data a file holds.

use std::fmt;
use std::fs::File;
use std::io;

use super::digest::all_of;
use super::entry::entry_of;
use super::text::{ByTimes, Mark};
use super::whole::fits_throughout;
use crate::guard::hold::is_being_tested;
use crate::guard::sample::find_odd;
use crate::sys::file::filesystem;
use crate::sys::stat::Stamp;

/// Whose data a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    /// TrueSpd wrote it last.
    Ours,
    /// Nobody's: it provably holds nothing.
    Nobodys,
    /// TrueSpd made it, and it has another size now.
    Resized,
    /// TrueSpd made it, and something else wrote to it since.
    Rewritten,
    /// TrueSpd made it, its times do not tell who wrote to it last, and it cannot be read.
    Unread,
    /// TrueSpd was making it and was killed; what it holds now is for the caller to compare with what should have been
    /// made.
    Unfinished,
    /// A run that wrote it was killed, and samples of it show data that may be other people's.
    Interrupted,
    /// It carries no mark that this program knows.
    Foreign,
}

impl Whose {
    /// Whether a test may write it without asking.
    pub fn may_be_written(self) -> bool {
        matches!(self, Whose::Ours | Whose::Nobodys)
    }

    /// Of a file with this mark, by its times and, where they do not tell, by its content.
    pub(super) fn by_mark(mark: &Mark, file: &File, now: &Stamp) -> Self {
        match mark.by_times(now, keeps_own_times(file)) {
            ByTimes::Resized => Whose::Resized,
            ByTimes::Rewritten => Whose::Rewritten,
            ByTimes::Unfinished => Whose::Unfinished,
            ByTimes::Untouched => Whose::Ours,
            ByTimes::Interrupted if is_being_tested(file) || is_test_data(file) => Whose::Ours,
            ByTimes::Interrupted => Whose::Interrupted,
            ByTimes::Unknown => match holds_what_we_left(mark, file, now) {
                Ok(true) => Whose::Ours,
                Ok(false) => Whose::Rewritten,
                Err(_) => Whose::Unread,
            },
        }
    }
}

impl fmt::Display for Whose {
    /// In words that follow the file's name: was not made by TrueSpd
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Whose::Ours => "was made by TrueSpd",
            Whose::Nobodys => "holds nothing",
            Whose::Resized => "was made by TrueSpd, but something else changed its size since",
            Whose::Rewritten => "was made by TrueSpd, but something else wrote to it since",
            Whose::Unread => "carries the mark of TrueSpd, but cannot be read, so nothing tells who wrote to it last",
            Whose::Unfinished => "was being made by a run of TrueSpd that was killed",
            Whose::Interrupted => {
                "was being written by a run of TrueSpd that was killed, so it may hold data other than test data"
            }
            Whose::Foreign => "was not made by TrueSpd",
        })
    }
}

/// Whether the content is what we left. Without a digest (an older mark), only what tests write unless told otherwise is
/// known as ours.
///
/// Samples of a large file are enough where something explains why its entry was changed, such as `chmod` or `mv`. Where
/// nothing does, a write may have had its time set back: then every byte has to be known.
fn holds_what_we_left(mark: &Mark, file: &File, now: &Stamp) -> io::Result<bool> {
    let size = now.size_bytes;
    let fits = match mark.digest {
        Some(digest) => digest.is_of(file, &all_of(size))?,
        None => shows_test_data(file)?,
    };
    let is_compared_whole = mark.digest.is_some_and(|digest| digest.is_of_all(size));
    let is_explained = || !mark.is_entry_changed(now) || mark.entry.is_none() || mark.entry != entry_of(file);
    Ok(fits && (is_compared_whole || is_explained() || fits_throughout(file, size, &is_plain)))
}

/// Samples that are read where nothing tells what we left.
const PLACES: u64 = 256;
/// In so many bytes the pattern may start again a few times, where writes of odd sizes overlap.
const PATTERN_BYTES: usize = 4096;
const BREAKS_MAX: usize = 4;

/// Samples of the file show nothing but what tests write unless told otherwise: zeros, and 0, 1, ... 255 again and
/// again. Random data (`-Zr`) look like any other data.
fn shows_test_data(file: &File) -> io::Result<bool> {
    let is_odd = |_, bytes: &[u8]| !is_plain(bytes);
    Ok(find_odd(file, PLACES, &is_odd)?.is_none())
}

fn is_test_data(file: &File) -> bool {
    shows_test_data(file).unwrap_or(false)
}

/// Nothing but zeros and the pattern.
fn is_plain(bytes: &[u8]) -> bool {
    bytes.chunks(PATTERN_BYTES).all(is_pattern)
}

fn is_pattern(bytes: &[u8]) -> bool {
    let is_break = |pair: &&[u8]| pair[1] != 0 && pair[1] != pair[0].wrapping_add(1);
    bytes.windows(2).filter(is_break).count() <= BREAKS_MAX
}

/// Whether times are set by this kernel, at the write: elsewhere a server sets them, perhaps later. Source:
/// `linux/magic.h`.
pub(super) fn keeps_own_times(file: &File) -> bool {
    const ELSEWHERE: &[u64] = &[
        0x6969,      // NFS
        0xff53_4d42, // CIFS
        0xfe53_4d42, // SMB 2
        0x517b,      // SMB
        0x00c3_6400, // Ceph
        0x0102_1997, // 9p
        0x6573_5546, // FUSE
        0x5346_414f, // AFS
        0x7461_636f, // OCFS2
        0x0116_1970, // GFS2
        0x0bd0_0bd0, // Lustre
        0x4750_4653, // GPFS
        0x1983_0326, // BeeGFS
    ];
    filesystem(file).is_ok_and(|found| found.is_some_and(|found| !ELSEWHERE.contains(&found.magic)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_this_kernel_sets_itself_are_trusted() {
        // ext, XFS, btrfs, tmpfs, overlayfs, by `linux/magic.h`.
        const OF_THIS_KERNEL: [u64; 5] = [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0x794c_7630];
        let file = tempfile::tempfile().unwrap();
        let magic = filesystem(&file).unwrap().unwrap().magic;
        assert!(keeps_own_times(&file) || !OF_THIS_KERNEL.contains(&magic), "{magic:x}");
    }

    #[test]
    fn only_the_pattern_and_zeros_are_test_data() {
        let pattern = |bytes: usize| (0..bytes).map(|at| at as u8).collect::<Vec<u8>>();
        let mut page = pattern(4096);
        assert!(is_pattern(&page) && is_pattern(&[0; 4096]) && is_pattern(&[]));
        page[1000..].copy_from_slice(&pattern(3096));
        page[1500..1600].copy_from_slice(&pattern(100));
        assert!(is_pattern(&page), "writes of odd sizes");
        page[2000..2010].copy_from_slice(b"a password");
        assert!(!is_pattern(&page));
        assert!(!is_pattern(&[7; 100]) && !is_pattern(&"words ".repeat(20).into_bytes()));
        let wide: Vec<u8> = "words".bytes().flat_map(|byte| [byte, 0]).collect();
        assert!(!is_pattern(&wide.repeat(20)));
    }
}
