//! Whose data a file holds.
//!
//! What a file's entry says besides its times: what `chmod`, `chown`, `ln` and `mv` change, and a write does not.
//!
//! Files that provably hold nothing: never written, or zeros throughout.
//!
//! Reads all of a file, if that does not take long.

use std::fs::{File, read_link};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{fmt, io};

use super::digest::{all_of, hash};
use super::text::{ByTimes, Provenance, outside_of};
use crate::guard::locks::is_written_by_a_run;
use crate::guard::sample::{PIECE_BYTES, find_odd, read_places};
use truespd_platform::sys::extents::survey;
use truespd_platform::sys::file::own_path;
use truespd_platform::sys::file::{Stat, filesystem};
use truespd_platform::sys::identity::names;
use truespd_platform::sys::identity::{Stamp, do_maps_change_times};

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
    /// TrueSpd wrote it, and nothing tells whether something else did since.
    Untold,
    /// TrueSpd wrote it before the machine was started, and not all of it could be compared since.
    Restarted,
    /// It carries no mark that this program knows.
    Foreign,
}

impl Whose {
    /// Whether a test may write it without asking.
    pub fn may_be_written(self) -> bool {
        matches!(self, Whose::Ours | Whose::Nobodys)
    }

    /// Of a file with this mark, by its times and, where they do not tell, by its content.
    pub(super) fn by_mark(mark: &Provenance, file: &File, now: &Stamp) -> Self {
        let is_of_this_boot = mark.is_of_this_boot();
        match mark.by_times(now, keeps_own_times(file) && is_of_this_boot) {
            ByTimes::Resized => Whose::Resized,
            ByTimes::Rewritten => Whose::Rewritten,
            ByTimes::Unfinished => Whose::Unfinished,
            ByTimes::Untouched => Whose::Ours,
            ByTimes::Interrupted if !is_outside_kept(mark, file, now.size_bytes) => Whose::Rewritten,
            ByTimes::Interrupted if is_written_by_a_run(file) => Whose::Ours,
            // Samples are no proof after a power cut.
            ByTimes::Interrupted if !is_of_this_boot && !is_plain_throughout(file, now.size_bytes) => {
                Whose::Interrupted
            }
            ByTimes::Interrupted if is_test_data(file) => Whose::Ours,
            ByTimes::Interrupted => Whose::Interrupted,
            ByTimes::Unknown => Whose::by_content(mark, file, now),
        }
    }

    /// Of a complete file, by its content. Without a digest (an older mark), only what tests write unless
    /// told otherwise is known as ours.
    ///
    /// Samples of a large file are enough where a write would show in the times, and nothing changed the
    /// file's entry, or something explains why it was changed, such as `chmod` or `mv`. Where nothing does, a
    /// write may have had its time set back: then every byte has to be known.
    fn by_content(mark: &Provenance, file: &File, now: &Stamp) -> Self {
        let size = now.size_bytes;
        let fits = match mark.digest {
            Some(digest) => digest.is_of(file, &all_of(size)),
            None => shows_test_data(file),
        };
        match fits {
            Ok(true) => {}
            Ok(false) => return Whose::Rewritten,
            Err(e) if e.kind() == io::ErrorKind::TimedOut => return Whose::Untold,
            Err(_) => return Whose::Unread,
        }
        let is_compared_whole = mark.digest.is_some_and(|digest| digest.is_of_all(size));
        if !mark.is_of_this_boot() {
            // What was written before a power cut can have older times, and samples are no proof.
            let is_known = is_compared_whole || is_plain_throughout(file, size);
            return if is_known { Whose::Ours } else { Whose::Restarted };
        }
        let is_explained =
            !mark.is_entry_changed(now) || mark.entry.is_none() || mark.entry != entry_of(file);
        let do_writes_show = do_writes_show(mark, file, now);
        if (do_writes_show && is_explained) || is_compared_whole || fits_throughout(file, size, &is_plain) {
            Whose::Ours
        } else if do_writes_show {
            Whose::Rewritten
        } else {
            Whose::Untold
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
            Whose::Untold => {
                "was made by TrueSpd, but nothing tells whether something else wrote to it since (times do not show \
                 every write on its file system, and it is too large to be compared)"
            }
            Whose::Restarted => {
                "was made by TrueSpd before the machine was started, and nothing tells whether something else wrote \
                 to it since (after a power cut times do not show every write, and it is too large to be compared)"
            }
            Whose::Foreign => "was not made by TrueSpd",
        })
    }
}

/// Whether a write would show in the times of the file. Those of a server are as good as the server; a
/// program that serves a file system (FUSE) may keep the files anywhere.
fn do_writes_show(mark: &Provenance, file: &File, now: &Stamp) -> bool {
    if keeps_own_times(file) {
        return mark.shows_writes(now);
    }
    !is_of_a_program(file) && Provenance { maps_show: true, ..*mark }.shows_writes(now)
}

/// Whether what no run of ours writes holds what it held when the first of them began, as far as samples show.
pub(super) fn is_outside_kept(mark: &Provenance, file: &File, size_bytes: u64) -> bool {
    let outside = outside_of(&mark.parts.ranges(), size_bytes);
    outside.is_empty() || mark.digest.is_some_and(|digest| digest.is_of(file, &outside).unwrap_or(false))
}

/// Samples that are read where nothing tells what we left.
const PATTERN_PLACES: u64 = 256;
/// In so many bytes the pattern may start again a few times, where writes of odd sizes overlap.
const PATTERN_BYTES: usize = 4096;
const BREAKS_MAX: usize = 4;

/// Samples of the file show nothing but what tests write unless told otherwise: zeros, and 0, 1, ... 255 again and
/// again. Random data (`-Zr`) look like any other data.
fn shows_test_data(file: &File) -> io::Result<bool> {
    Ok(find_odd(file, None, PATTERN_PLACES, &|_, bytes| !is_plain(bytes))?.is_none())
}

fn is_test_data(file: &File) -> bool {
    shows_test_data(file).unwrap_or(false)
}

/// Nothing but zeros and the pattern.
fn is_plain(bytes: &[u8]) -> bool {
    bytes.chunks(PATTERN_BYTES).all(is_pattern)
}

fn is_pattern(bytes: &[u8]) -> bool {
    let pairs = bytes.windows(2);
    pairs.filter(|pair| pair[1] != 0 && pair[1] != pair[0].wrapping_add(1)).count() <= BREAKS_MAX
}

/// Whether times are set by this kernel, at the write: elsewhere a server sets them, perhaps later. That is
/// known of these file systems. Source: `linux/magic.h`, and those of file systems that are not in it.
pub(super) fn keeps_own_times(file: &File) -> bool {
    const OWN: &[u64] = &[
        EXT,
        XFS,
        BTRFS,
        F2FS,
        0xca45_1a4e, // bcachefs
        0x2fc1_2fc1, // ZFS
        0x0102_1994, // tmpfs
        0x8584_58f6, // ramfs
        0x794c_7630, // overlayfs
        0x4d44,      // FAT
        0x2011_bab0, // exFAT
        0x7366_746e, // NTFS
        0x3153_464a, // JFS
        0x5265_4973, // ReiserFS
        0x3434,      // NILFS
        0x1501_3346, // UDF
        0x482b,      // HFS+
        0x4244,      // HFS
    ];
    is_one_of(file, OWN)
}

fn is_one_of(file: &File, filesystems: &[u64]) -> bool {
    filesystem(file).is_ok_and(|found| found.is_some_and(|found| filesystems.contains(&found.magic)))
}

/// Whether a program serves the file system (FUSE).
fn is_of_a_program(file: &File) -> bool {
    const FUSE: u64 = 0x6573_5546;
    filesystem(file).is_ok_and(|found| found.is_none_or(|found| found.magic == FUSE))
}

/// Whether writes through memory maps show in the times of the file: by trying it out, and where that is not
/// possible (the folder cannot be written, or there is no procfs) by what is known of these file systems.
/// Source: the kernel, where each of them has a `page_mkwrite` that sets the time.
pub(super) fn do_maps_show(file: &File) -> bool {
    const KNOWN: &[u64] = &[EXT, XFS, BTRFS, F2FS];
    keeps_own_times(file) && do_maps_change_times(file).unwrap_or_else(|| is_one_of(file, KNOWN))
}

/// Numbers of file systems, by `linux/magic.h`; ext2, ext3 and ext4 have the same.
const EXT: u64 = 0xef53;
const XFS: u64 = 0x5846_5342;
const BTRFS: u64 = 0x9123_683e;
const F2FS: u64 = 0xf2f5_2010;

/// Owner, group, permissions, number of names and path, as one number; `None` where the system does not tell them.
pub(super) fn entry_of(file: &File) -> Option<u64> {
    let about = file.metadata().ok()?;
    let (stat, path) = (Stat::of(&about), read_link(own_path(file)).ok()?);
    let numbers = format!("{} {} {:o} {} ", stat.owner, stat.group, stat.mode, names(&about));
    Some(hash(0, &[numbers.as_bytes(), path.as_os_str().as_encoded_bytes()].concat()))
}

/// Places at which a file that holds something usually shows it.
const PLACES: u64 = 64;
/// A file of very many pieces is not looked through for longer.
const LAYOUT_LIMIT: Duration = Duration::from_secs(5);

/// Whether it is proven that the file, which has a size, holds nothing: no byte of it was ever written, or
/// all of it was read and is zero. A file that cannot be read within a second is not proven, unless it is
/// small.
pub(super) fn holds_nothing(file: &File, size_bytes: u64) -> bool {
    // Read first, because asking for the layout makes the system write back what is in its cache.
    size_bytes > 0
        && find_odd(file, None, PLACES, &|_, bytes| !is_zero(bytes)).is_ok_and(|odd| odd.is_none())
        && (was_never_written(file, size_bytes) || fits_throughout(file, size_bytes, &is_zero))
}

/// Only holes and space that was set aside. Another machine or a program (FUSE) may tell what it likes, so they are not
/// asked.
fn was_never_written(file: &File, size_bytes: u64) -> bool {
    if !keeps_own_times(file) {
        return false;
    }
    let found = survey(file, 0, size_bytes, true, Instant::now() + LAYOUT_LIMIT);
    found.unknown.is_none() && found.written_bytes == 0 && found.range_bytes == size_bytes
}

fn is_zero(bytes: &[u8]) -> bool {
    static ZEROS: [u8; 4096] = [0; 4096];
    bytes.chunks(ZEROS.len()).all(|part| *part == ZEROS[..part.len()])
}

/// More than this cannot be read in time.
const READ_BYTES_MAX: u64 = 64 << 30;
/// So much is read however long it takes.
const READ_BYTES_MIN: u64 = 96 << 20;
/// A larger file is read for so long.
const READ_LIMIT: Duration = Duration::from_secs(1);

/// After a start of the machine a file is read for so long: that happens once, as the next test marks it again.
const RESTART_LIMIT: Duration = Duration::from_secs(10);

/// Whether every byte is what tests write unless told otherwise.
fn is_plain_throughout(file: &File, size_bytes: u64) -> bool {
    fits_within(RESTART_LIMIT, file, size_bytes, &is_plain)
}

/// Whether all of the file could be read and each piece fits. `false` for a file that cannot be read within a second,
/// unless it is small.
pub(super) fn fits_throughout(file: &File, size_bytes: u64, fits: &(dyn Fn(&[u8]) -> bool + Sync)) -> bool {
    fits_within(READ_LIMIT, file, size_bytes, fits)
}

fn fits_within(limit: Duration, file: &File, size_bytes: u64, fits: &(dyn Fn(&[u8]) -> bool + Sync)) -> bool {
    if size_bytes > READ_BYTES_MAX {
        return false;
    }
    let (end, is_so) = (Instant::now() + limit, AtomicBool::new(true));
    let starts = (0..size_bytes).step_by(PIECE_BYTES as usize);
    let places: Vec<_> = starts.map(|start| (start, PIECE_BYTES.min(size_bytes - start))).collect();
    let read = read_places(file, &places, &|_, bytes| {
        if bytes.is_ok_and(fits) && (size_bytes <= READ_BYTES_MIN || Instant::now() < end) {
            return ControlFlow::Continue(());
        }
        is_so.store(false, Ordering::Relaxed);
        ControlFlow::Break(())
    });
    read.is_ok_and(|read| read == places.len()) && is_so.into_inner()
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

#[cfg(test)]
mod tests_nothing {
    use super::*;
    use crate::made::FileExt;
    use truespd_platform::sys::file::set_aside;

    const MIB: u64 = 1 << 20;

    #[test]
    fn holes_unwritten_space_and_zeros_are_nothing() {
        let file = tempfile::tempfile().unwrap();
        assert!(!holds_nothing(&file, 0), "it has no size");
        file.set_len(5 * MIB + 1).unwrap();
        assert!(holds_nothing(&file, 5 * MIB + 1), "a hole");
        // Not every file system has space that is set aside.
        let _ = set_aside(&file, 5 * MIB + 1);
        assert!(holds_nothing(&file, 5 * MIB + 1), "unwritten");
        file.write_all_at(&vec![0; 3 * MIB as usize], MIB).unwrap();
        assert!(holds_nothing(&file, 5 * MIB + 1), "zeros in part of it");
        for at in [0, 2 * MIB + 70_000, 5 * MIB] {
            file.write_all_at(b"x", at).unwrap();
            assert!(!holds_nothing(&file, 5 * MIB + 1), "a byte at {at}");
            file.write_all_at(&[0], at).unwrap();
        }
    }

    #[test]
    fn a_huge_file_that_was_never_written_is_nothing_and_one_byte_in_it_is_something() {
        let file = tempfile::tempfile().unwrap();
        let size = 1 << 40;
        file.set_len(size).unwrap();
        assert!(holds_nothing(&file, size));
        file.write_all_at(b"x", size / 3 + 12_345).unwrap();
        assert!(!holds_nothing(&file, size));
    }

    #[test]
    fn every_byte_of_zeros_is_looked_at() {
        let file = tempfile::tempfile().unwrap();
        let size = 8 * MIB + 100;
        file.write_all_at(&vec![0; size as usize], 0).unwrap();
        assert!(fits_throughout(&file, size, &is_zero));
        for at in [0, MIB - 1, 3 * MIB + 500_000, size - 1] {
            file.write_all_at(&[1], at).unwrap();
            assert!(!fits_throughout(&file, size, &is_zero), "{at}");
            file.write_all_at(&[0], at).unwrap();
        }
    }
}

#[cfg(test)]
mod tests_whole {
    use super::*;
    use crate::made::FileExt;

    const MIB: u64 = 1 << 20;

    fn file_of(size_bytes: u64) -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(size_bytes).unwrap();
        file
    }

    fn is_zero(bytes: &[u8]) -> bool {
        bytes.iter().all(|&byte| byte == 0)
    }

    #[test]
    fn every_byte_has_to_fit() {
        let size = 2 * MIB + 77;
        let file = file_of(size);
        assert!(fits_throughout(&file, size, &is_zero));
        assert!(fits_throughout(&file, 0, &|_| false), "there is none");
        for at in [0, MIB - 1, MIB, 2 * MIB, size - 1] {
            file.write_all_at(b"x", at).unwrap();
            assert!(!fits_throughout(&file, size, &is_zero), "byte {at}");
            file.write_all_at(&[0], at).unwrap();
        }
        assert!(!fits_throughout(&file, size + 1, &is_zero), "the last byte cannot be read");
    }

    #[test]
    fn a_large_file_is_given_up_after_a_while_and_a_small_one_is_not() {
        let slow = |bytes: &[u8]| {
            std::thread::sleep(READ_LIMIT + Duration::from_millis(50));
            bytes.len() as u64 <= PIECE_BYTES
        };
        assert!(fits_throughout(&file_of(MIB), MIB, &slow));
        let large = READ_BYTES_MIN + 1;
        assert!(!fits_throughout(&file_of(large), large, &slow));
        // A busy machine may take longer.
        assert!((0..20).any(|_| fits_throughout(&file_of(large), large, &|_| true)));
        let huge = READ_BYTES_MAX + 1;
        assert!(!fits_throughout(&file_of(huge), huge, &|_| panic!("it is not read")));
    }
}
