//! Which parts of a block device can hold something, where what is below it keeps account: the file of a loop
//! device has holes, and zram counts its pages. Everything else reads as zeros.
//!
//! Source: `lseek(2)` (`SEEK_DATA`); the kernel's `Documentation/admin-guide/blockdev/zram.rst` (`mm_stat`, `bd_stat`).

use std::fs::File;
use std::path::Path;

use super::device::{BlockDevice, DeviceNumber};
use super::loops::{Ground, backing_file};
use super::roots::{Roots, read_number, read_word};
use super::storage::{ReadFlags, filesystem_of, open_file};
use crate::sys::extents::{cached, data_parts};
use crate::sys::identity::{Identity, block_device};

/// A file or device that can hold something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Allocated {
    /// These parts (first byte, length), and nothing else.
    Parts(Vec<(u64, u64)>),
    /// So many bytes somewhere are no zeros, in the driver's own, packed form.
    Holds(u64),
}

/// More parts than this are not told one by one.
const PARTS_MAX: usize = 100_000;
/// Devices on devices are looked through so deep.
const DEVICES_DEEP_MAX: usize = 4;
/// Pages that wait to be written are looked for in parts of this size, in bytes.
const WAITING_BYTES: u64 = 1 << 20;

/// What can hold something of `length` bytes from `start` on of an open device. `None` where nothing tells.
pub fn allocated(
    file: &File,
    device: &BlockDevice,
    start: u64,
    length: u64,
    roots: &Roots,
) -> Option<Allocated> {
    of_device(file, device, Piece { start, length }, roots, 0)
}

/// A piece of a device or of what it stands on.
#[derive(Debug, Clone, Copy)]
struct Piece {
    start: u64,
    length: u64,
}

/// The parts are told by their place on this device.
fn of_device(
    file: &File,
    device: &BlockDevice,
    piece: Piece,
    roots: &Roots,
    depth: usize,
) -> Option<Allocated> {
    let (disk, first) = match device.whole_disk() {
        Some(disk) => (disk, device.extent_bytes()?.0),
        None => (device.clone(), 0),
    };
    let on_disk = Piece { start: piece.start.checked_add(first)?, ..piece };
    let mut parts = match of_disk(&disk, on_disk, roots, depth)? {
        Allocated::Parts(parts) => moved(parts, on_disk.start, piece.start),
        told @ Allocated::Holds(_) => return Some(told),
    };
    // What a program wrote to the device and waits in the page cache has not reached the account below.
    add_waiting(file, piece, &mut parts)?;
    parts.sort_unstable();
    Some(Allocated::Parts(parts))
}

/// Parts that are told from one place on, told from another one on.
fn moved(mut parts: Vec<(u64, u64)>, from: u64, to: u64) -> Vec<(u64, u64)> {
    for part in &mut parts {
        part.0 = part.0 - from + to;
    }
    parts
}

fn of_disk(disk: &BlockDevice, piece: Piece, roots: &Roots, depth: usize) -> Option<Allocated> {
    if disk.name.starts_with("zram") {
        return of_zram(disk);
    }
    let path = backing_file(disk).ok()??;
    of_loop(disk, &path, piece, roots, depth)
}

/// zram keeps no page that is the same word throughout, and counts those that it keeps.
fn of_zram(disk: &BlockDevice) -> Option<Allocated> {
    let memory = columns(disk, "mm_stat")?;
    let (pages, packed, same) = (*memory.first()?, *memory.get(1)?, *memory.get(5)?);
    // Pages that it has moved to a device of its own; a kernel without that has no such file.
    let moved = columns(disk, "bd_stat").map_or(0, |moved| moved.first().copied().unwrap_or(0));
    if packed > 0 || moved > 0 {
        return Some(Allocated::Holds(packed));
    }
    // Pages of one word may be zeros.
    (pages == 0 && same == 0).then(|| Allocated::Parts(Vec::new()))
}

/// The numbers of a file of counters.
fn columns(disk: &BlockDevice, name: &str) -> Option<Vec<u64>> {
    let text = read_word(&disk.dir().join(name))?;
    text.split_whitespace().map(|number| number.parse().ok()).collect()
}

fn of_loop(disk: &BlockDevice, path: &Path, piece: Piece, roots: &Roots, depth: usize) -> Option<Allocated> {
    if depth >= DEVICES_DEEP_MAX {
        return None;
    }
    let (file, below) = opened_below(disk, path, piece, roots)?;
    let told = match block_device(&file).ok()? {
        Some(number) => {
            let device = BlockDevice::find(DeviceNumber::from_raw(number), roots)?;
            of_device(&file, &device, below, roots, depth + 1)?
        }
        // A program or another machine may tell what it likes of holes.
        None if !keeps_own_data(&file, roots) => return None,
        None => Allocated::Parts(data_parts(&file, below.start, below.length, PARTS_MAX)?),
    };
    match told {
        Allocated::Parts(parts) => Some(Allocated::Parts(moved(parts, below.start, piece.start))),
        // Somewhere below, perhaps not in this piece.
        Allocated::Holds(_) => None,
    }
}

/// What a loop device stands on, open, and where in it a piece of the device lies. `None` where the path leads to
/// something else.
fn opened_below(disk: &BlockDevice, path: &Path, piece: Piece, roots: &Roots) -> Option<(File, Piece)> {
    let file = open_file(path, ReadFlags::CACHED).ok()?;
    if Ground::of(disk, path, roots)?.own() != Identity::of(&file).ok()? {
        return None;
    }
    let offset: u64 = read_number(&disk.dir().join("loop/offset")).unwrap_or(0);
    Some((file, Piece { start: piece.start.checked_add(offset)?, ..piece }))
}

fn keeps_own_data(file: &File, roots: &Roots) -> bool {
    filesystem_of(file, roots).is_some_and(|filesystem| filesystem.keeps_own_data())
}

/// The file of a loop device, and the part of it that holds a piece of a device.
#[derive(Debug)]
pub struct LoopFile {
    /// Kernel name of the loop device.
    pub device: String,
    /// The file, open for reading only.
    pub file: File,
    /// First byte of the part.
    pub start: u64,
    /// Length of the file in bytes.
    pub length: u64,
}

/// What holds a piece of a device that is a loop device on a file, or a partition of one, also by way of other such
/// devices. `None` where it is something else, or where nothing tells.
pub fn loop_file(device: &BlockDevice, start: u64, length: u64, roots: &Roots) -> Option<LoopFile> {
    let (mut device, mut piece) = (device.clone(), Piece { start, length });
    for _ in 0..DEVICES_DEEP_MAX {
        if let Some(disk) = device.whole_disk() {
            piece.start = piece.start.checked_add(device.extent_bytes()?.0)?;
            device = disk;
        }
        let path = backing_file(&device).ok()??;
        let (file, below) = opened_below(&device, &path, piece, roots)?;
        let Some(number) = block_device(&file).ok()? else {
            let Piece { start, length } = below;
            let is_told = keeps_own_data(&file, roots);
            return is_told.then_some(LoopFile { device: device.name, file, start, length });
        };
        (device, piece) = (BlockDevice::find(DeviceNumber::from_raw(number), roots)?, below);
    }
    None
}

/// Adds what waits in the page cache of the device to be written.
fn add_waiting(file: &File, piece: Piece, parts: &mut Vec<(u64, u64)>) -> Option<()> {
    let Piece { start, length } = piece;
    if length == 0 || cached(file, &[(start, length)])?.dirty_bytes? == 0 {
        return Some(());
    }
    if length <= WAITING_BYTES {
        parts.push((start, length));
        return (parts.len() <= PARTS_MAX).then_some(());
    }
    let half = (length / 2).next_multiple_of(4096);
    add_waiting(file, Piece { start, length: half }, parts)?;
    add_waiting(file, Piece { start: start + half, length: length - half }, parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn zram(memory: &str, moved: Option<&str>) -> Option<Allocated> {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let roots = Roots { proc: at("proc"), sys: at("sys"), dev: at("dev") };
        let device = roots.sys.join("block/zram0");
        fs::create_dir_all(&device).unwrap();
        fs::write(device.join("dev"), "252:0").unwrap();
        fs::write(device.join("mm_stat"), memory).unwrap();
        if let Some(moved) = moved {
            fs::write(device.join("bd_stat"), moved).unwrap();
        }
        let disk = BlockDevice::named("zram0", &roots).unwrap();
        of_zram(&disk)
    }

    #[test]
    fn what_zram_counts() {
        assert_eq!(zram("0 0 0 0 0 0 0 0 0\n", None), Some(Allocated::Parts(Vec::new())));
        assert_eq!(zram("0 0 0 0 0 0 0 0 0\n", Some("0 0 0")), Some(Allocated::Parts(Vec::new())));
        assert_eq!(zram("8192 74 4096 0 4096 0 0 0 0\n", None), Some(Allocated::Holds(74)));
        assert_eq!(
            zram("4096 0 0 0 0 0 0 0 0\n", Some("1 0 1")),
            Some(Allocated::Holds(0)),
            "all moved away"
        );
        assert_eq!(zram("4096 0 0 0 0 1 0 0 0\n", None), None, "a page of one word, perhaps zero");
        assert_eq!(zram("", None), None);
    }

    #[test]
    fn parts_keep_their_place_through_offsets() {
        assert_eq!(moved(vec![(1024, 5), (2048, 7)], 1024, 0), [(0, 5), (1024, 7)]);
    }
}
