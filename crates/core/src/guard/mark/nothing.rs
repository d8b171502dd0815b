//! Files that provably hold nothing: never written, or zeros throughout.

use std::fs::File;
use std::time::{Duration, Instant};

use super::whole::fits_throughout;
use super::whose::keeps_own_times;
use crate::guard::sample::find_odd;
use crate::sys::extents::survey;

/// Places at which a file that holds something usually shows it.
const PLACES: u64 = 64;
/// A file of very many pieces is not looked through for longer.
const LAYOUT_LIMIT: Duration = Duration::from_secs(5);

/// Whether it is proven that the file, which has a size, holds nothing: no byte of it was ever written, or
/// all of it was read and is zero. A file that cannot be read within a second is not proven, unless it is
/// small.
pub(super) fn holds_nothing(file: &File, size_bytes: u64) -> bool {
    let is_odd = |_, bytes: &[u8]| !is_zero(bytes);
    // Read first, because asking for the layout makes the system write back what is in its cache.
    let shows_nothing = || find_odd(file, PLACES, &is_odd).is_ok_and(|odd| odd.is_none());
    size_bytes > 0
        && shows_nothing()
        && (was_never_written(file, size_bytes) || is_zero_throughout(file, size_bytes))
}

/// Only holes and space that was set aside. Another machine or a program (FUSE) may tell what it likes, so they are not
/// asked.
fn was_never_written(file: &File, size_bytes: u64) -> bool {
    let end = Instant::now() + LAYOUT_LIMIT;
    let is_so = || {
        let found = survey(file, 0, size_bytes, true, end);
        found.unknown.is_none() && found.written_bytes == 0 && found.range_bytes == size_bytes
    };
    keeps_own_times(file) && is_so()
}

fn is_zero_throughout(file: &File, size_bytes: u64) -> bool {
    fits_throughout(file, size_bytes, &is_zero)
}

fn is_zero(bytes: &[u8]) -> bool {
    // By many at once, which a processor does faster.
    bytes.chunks(64).all(|part| part.iter().fold(0, |all, byte| all | byte) == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::file::set_aside;
    use crate::sys::made::FileExt;

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
        assert!(is_zero_throughout(&file, size));
        for at in [0, MIB - 1, 3 * MIB + 500_000, size - 1] {
            file.write_all_at(&[1], at).unwrap();
            assert!(!is_zero_throughout(&file, size), "{at}");
            file.write_all_at(&[0], at).unwrap();
        }
    }
}
