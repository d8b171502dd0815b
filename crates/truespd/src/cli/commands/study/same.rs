//! Whether several paths show the same storage, as far as reading a little of it can tell.

use std::path::Path;

use crate::cli::commands::study::refusal;
use truespd_core::fault::Refusal;
use truespd_core::machine::storage::OpenedTarget;
use truespd_core::sys::error::system_text;
use truespd_core::sys::file::read_exact_at;
use truespd_core::sys::identity::Identity;
use truespd_core::sys::residency::drop_cached;
use truespd_core::text::{printable, size};

/// Bytes that are read at a place: the block of the study.
const BLOCK_BYTES: usize = 4096;
/// Places that are read, the first and the last block among them.
const PLACES: u64 = 17;
/// A block that is being written may differ once; differing three times in a row, it is other storage.
const TRIES: usize = 3;

/// Refuses paths of different storage: their difference would be taken for one of the way to it. Where only
/// zeros are found, which tell nothing, a sentence that says so.
pub fn check(paths: &[(&str, OpenedTarget)]) -> Result<Option<String>, Refusal> {
    let Some(((first_typed, first), others)) = paths.split_first() else { return Ok(None) };
    let mut unsure = None;
    for (typed, other) in others {
        let (here, there) = (first.facts.size_bytes, other.facts.size_bytes);
        if here != there {
            return Err(differ(first_typed, typed, &format!("they have {} and {}", size(here), size(there))));
        }
        // A file by its path and by a link, a device by two of its nodes.
        if is_one(&first.facts.path, &other.facts.path) {
            continue;
        }
        let mut is_blank = true;
        for offset in offsets(here) {
            match alike(first, other, offset)? {
                Alike::Zeros => {}
                Alike::Yes => is_blank = false,
                Alike::No => {
                    let what = format!("their contents differ at byte {offset}");
                    return Err(differ(first_typed, typed, &what));
                }
            }
        }
        if is_blank && unsure.is_none() {
            unsure = Some(format!(
                "'{}' and '{}' hold only zeros where they were compared, so they may be different storage",
                printable(first_typed),
                printable(typed)
            ));
        }
    }
    Ok(unsure)
}

fn differ(first: &str, other: &str, what: &str) -> Refusal {
    refusal(format!(
        "'{}' and '{}' are not the same storage: {what}; name paths to the same file or device",
        printable(first),
        printable(other)
    ))
}

fn is_one(one: &Path, other: &Path) -> bool {
    let (Ok(one), Ok(other)) = (Identity::at(one), Identity::at(other)) else { return false };
    one == other
}

/// Where to look, spread from the first to the last block.
fn offsets(size_bytes: u64) -> Vec<u64> {
    let last = size_bytes.saturating_sub(BLOCK_BYTES as u64);
    let place = |nth: u64| (u128::from(last) * u128::from(nth) / u128::from(PLACES - 1)) as u64;
    let mut offsets: Vec<u64> = (0..PLACES).map(place).collect();
    offsets.dedup();
    offsets
}

enum Alike {
    Zeros,
    Yes,
    No,
}

fn alike(one: &OpenedTarget, other: &OpenedTarget, offset: u64) -> Result<Alike, Refusal> {
    for _ in 0..TRIES {
        let bytes = block(one, offset)?;
        if bytes == block(other, offset)? {
            return Ok(if bytes.iter().all(|&byte| byte == 0) { Alike::Zeros } else { Alike::Yes });
        }
    }
    Ok(Alike::No)
}

/// Reads a block from the storage: each path may have a cache of its own, which does not see writes by other paths.
fn block(target: &OpenedTarget, offset: u64) -> Result<Vec<u8>, Refusal> {
    // If that fails, cached data is compared.
    drop_cached(&target.file, offset, BLOCK_BYTES as u64);
    let mut bytes = vec![0; BLOCK_BYTES.min(target.facts.size_bytes as usize)];
    read_exact_at(&target.file, &mut bytes, offset).map_err(|error| {
        refusal(format!("'{}': could not be read: {}", target.facts.path.display(), system_text(&error)))
    })?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use truespd_core::machine::roots::Roots;
    use truespd_core::machine::storage::{ReadFlags, open};

    const SIZE: usize = 1 << 20;

    fn checked(contents: [&[u8]; 2]) -> Result<Option<String>, Refusal> {
        let folder = tempfile::tempdir().expect("a folder");
        let opened = |name: &str, content: &[u8]| {
            let path = folder.path().join(name);
            fs::write(&path, content).expect("a file");
            open(&path, ReadFlags::CACHED, &Roots::default()).expect("is there")
        };
        check(&[("a", opened("a", contents[0])), ("b", opened("b", contents[1]))])
    }

    #[test]
    fn other_storage_is_told_by_its_size_and_by_what_it_holds() {
        let content: Vec<u8> = (0..SIZE).map(|n| (n / 7) as u8).collect();
        assert_eq!(checked([&content, &content]), Ok(None));
        let words = checked([&content, &content[..SIZE / 2]]).unwrap_err().to_string();
        assert!(
            words.contains("'a' and 'b' are not the same storage: they have 1 MiB and 512 KiB"),
            "{words}"
        );
        for place in [0, SIZE / 2, SIZE - 1] {
            let mut other = content.clone();
            other[place] ^= 1;
            let words = checked([&content, &other]).unwrap_err().to_string();
            assert!(
                words.contains("are not the same storage: their contents differ at byte "),
                "{place}: {words}"
            );
        }
        let zeros = vec![0; SIZE];
        assert!(checked([&zeros, &zeros]).is_ok_and(|note| note.unwrap().contains("only zeros")));
    }

    #[test]
    fn the_first_and_the_last_block_are_among_what_is_read() {
        assert_eq!(offsets(4096), [0]);
        assert_eq!(offsets(8192).last(), Some(&4096));
        let many = offsets(1 << 40);
        assert_eq!((many.len(), many[0], many.last()), (PLACES as usize, 0, Some(&((1 << 40) - 4096))));
    }
}
