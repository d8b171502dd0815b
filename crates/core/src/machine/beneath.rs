//! The files below a file: overlayfs keeps what is written to one of its files in a file of its upper layer,
//! and whoever uses that one uses the same bytes.
//!
//! The kernel keeps its users apart: a lease, an inode number, a loop device of the one say nothing of the other. Where
//! the layer is, is told by the options of the mount; that the file found there is the right one, by its times, which
//! overlayfs passes on. Source: the kernel's `Documentation/filesystems/overlayfs.rst` and `fs/overlayfs/params.c`.
//!
//! Loop devices: what they stand on, and which stand on a file or device.
//!
//! A loop device neither claims what it stands on nor locks it, so that nothing but a look at each of them tells.
//!
//! Which parts of a block device can hold something, where what is below it keeps account: the file of a loop
//! device has holes, and zram counts its pages. Everything else reads as zeros.
//!
//! Source: `lseek(2)` (`SEEK_DATA`); the kernel's `Documentation/admin-guide/blockdev/zram.rst` (`mm_stat`, `bd_stat`).

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::device::{BlockDevice, DeviceNumber, DevicesUnknown, with_size};
use super::mounts::{Mount, mount_of};
use super::roots::Roots;
use super::roots::{is_number, number_in, read_number, read_word};
use super::storage::{ReadFlags, filesystem_of, open_file};
use crate::sys::device::{is_write_protected, stands_on};
use crate::sys::error::{Code, system_text};
use crate::sys::extents::cached;
use crate::sys::extents::data_parts;
use crate::sys::file::{ReadOptions, own_path, read};
use crate::sys::file::{bytes_of_name, name_of_bytes, report};
use crate::sys::identity::Stamp;
use crate::sys::identity::{Identity, block_device};
use crate::text::printable_path;

/// Layers on layers are looked through as deep as the kernel stacks them, and one more.
const DEPTH_MAX: usize = 4;
/// A file that is being written has other times a moment later.
const LOOKS: usize = 5;

/// What lies below a file.
#[derive(Debug, Default)]
pub(crate) struct Beneath {
    /// The files that hold what is written to it, from the upper one down. None: it holds its data itself, or a write
    /// makes a copy of its own first.
    pub files: Vec<File>,
    /// Why it is not known what holds its data, or who uses that.
    pub unknown: Option<String>,
}

impl Beneath {
    /// Of an open regular file.
    pub fn of(file: &File, roots: &Roots) -> Self {
        let mut found = Beneath::default();
        while found.files.len() < DEPTH_MAX {
            match next_below(found.files.last().unwrap_or(file), roots) {
                Ok(Some(below)) => found.files.push(below),
                Ok(None) => return found,
                Err(why) => {
                    found.unknown = Some(why);
                    return found;
                }
            }
        }
        found.unknown = Some(format!("there are more than {DEPTH_MAX} layers below it"));
        found
    }

    pub(crate) fn identities(&self) -> Vec<Identity> {
        self.files.iter().filter_map(|file| Identity::of(file).ok()).collect()
    }
}

/// The file that takes the writes to a file; `None` where that is the file itself, or one that is not there yet.
fn next_below(file: &File, roots: &Roots) -> Result<Option<File>, String> {
    let Some(filesystem) = filesystem_of(file, roots) else {
        return Err("the system does not tell on which file system it is".to_string());
    };
    let name = &filesystem.name;
    if name == "overlay" {
        return upper_file(file, roots);
    }
    if filesystem.is_served() {
        return served_file(file, roots);
    }
    if filesystem.is_stacked() {
        return Err(format!("it is on {name}, which keeps it in a file of another file system"));
    }
    Ok(None)
}

/// The file of which a program makes one of its own file system: bindfs and mergerfs name the folders that
/// they show as what is mounted. `None` where that is no folder here: then nothing tells whether there is
/// such a file.
fn served_file(file: &File, roots: &Roots) -> Result<Option<File>, String> {
    let Ok(Some((mount, _))) = mount_of(report(file).mount_id, "", roots) else { return Ok(None) };
    let source = bytes_of_name(mount.source.as_os_str());
    let parts = source.split(|&byte| byte == b':').map(|part| PathBuf::from(name_of_bytes(part.to_vec())));
    let folders: Vec<PathBuf> = parts.filter(|part| part.is_absolute() && part.is_dir()).collect();
    if folders.is_empty() {
        return Ok(None);
    }
    let path = std::fs::read_link(own_path(file)).map_err(|error| untold(&error))?;
    if let Some(inside) = inside(&mount, &path) {
        for folder in &folders {
            if let Ok(below) = open_plain(&folder.join(&inside))
                && is_same(file, &below)
            {
                return Ok(Some(below));
            }
        }
    }
    let named = printable_path(&mount.source);
    Err(format!("the program that serves it shows '{named}', and the file is not to be found there"))
}

/// The file of the upper layer.
fn upper_file(file: &File, roots: &Roots) -> Result<Option<File>, String> {
    let id = report(file).mount_id;
    let Some((mount, upper)) = mount_of(id, "upperdir", roots).map_err(|error| untold(&error))? else {
        return Err("the list of mounts does not show the overlayfs that it is on".to_string());
    };
    // Without an upper layer nothing there can be written.
    let Some(upper) = upper else { return Ok(None) };
    let path = std::fs::read_link(own_path(file)).map_err(|error| untold(&error))?;
    let is_there = Identity::at(&path).is_ok_and(|there| Identity::of(file).is_ok_and(|own| own == there));
    let Some(inside) = is_there.then(|| inside(&mount, &path)).flatten() else {
        return Err("it has no path any more by which overlayfs keeps it".to_string());
    };
    let mut why = String::new();
    for layer in spellings(&upper) {
        match in_layer(file, &mount, &layer, &inside) {
            Ok(found) => return Ok(found),
            Err(words) => why = words,
        }
    }
    Err(why)
}

fn untold(error: &io::Error) -> String {
    format!("where its file system keeps it: {}", system_text(error))
}

/// The path within a mounted file system of a file that this path leads to.
fn inside(mount: &Mount, path: &Path) -> Option<PathBuf> {
    let below = path.strip_prefix(&mount.mount_point).ok()?;
    let root = mount.root.strip_prefix("/").ok()?;
    // A mount can be of a single file.
    Some(if below == Path::new("") { root.to_path_buf() } else { root.join(below) })
}

/// The folder of a layer as the option says it, and without the backslashes that keep colons and commas from
/// parting it.
fn spellings(option: &OsStr) -> Vec<PathBuf> {
    let mut plain = Vec::new();
    let mut is_kept = false;
    for &byte in bytes_of_name(option) {
        if byte == b'\\' && !is_kept {
            is_kept = true;
            continue;
        }
        plain.push(byte);
        is_kept = false;
    }
    let mut found = vec![PathBuf::from(option)];
    let plain = PathBuf::from(name_of_bytes(plain));
    if !found.contains(&plain) {
        found.push(plain);
    }
    found
}

/// The file in the upper layer; `None` when it is known that it is not there.
fn in_layer(file: &File, mount: &Mount, layer: &Path, inside: &Path) -> Result<Option<File>, String> {
    let named = printable_path(layer);
    if !layer.is_absolute() {
        return Err(format!("overlayfs keeps it in '{named}', which is no whole path"));
    }
    let path = layer.join(inside);
    match open_plain(&path) {
        Ok(below) if is_same(file, &below) => Ok(Some(below)),
        Ok(_) => Err(format!("overlayfs keeps it in {named}, and another file is there")),
        Err(error) if error.kind() == io::ErrorKind::NotFound && is_layer_of(mount, layer, inside) => {
            Ok(None)
        }
        Err(error) => Err(format!("overlayfs keeps it in {named}: {}", system_text(&error))),
    }
}

/// Opens a regular file, and nothing else.
fn open_plain(path: &Path) -> io::Result<File> {
    if !std::fs::symlink_metadata(path)?.is_file() {
        return Err(io::Error::other("it is no file there"));
    }
    read(path, ReadOptions { at_once: true, ..ReadOptions::default() })
}

/// Whether the folder is that layer: a folder above the file is the same there and as overlayfs shows it.
fn is_layer_of(mount: &Mount, layer: &Path, inside: &Path) -> bool {
    let root = mount.root.strip_prefix("/").unwrap_or(&mount.root);
    for folder in inside.ancestors().skip(1).filter(|folder| folder.starts_with(root)) {
        let below = folder.strip_prefix(root).unwrap_or(folder);
        let (Ok(there), Ok(shown)) =
            (File::open(layer.join(folder)), File::open(mount.mount_point.join(below)))
        else {
            continue;
        };
        return is_same(&shown, &there);
    }
    false
}

/// Whether `below` is shown as `shown`: overlayfs passes size and times on, and so do programs, but for the
/// time of birth.
fn is_same(shown: &File, below: &File) -> bool {
    for _ in 0..LOOKS {
        if let (Ok(shown), Ok(below)) = (Stamp::of(shown), Stamp::of(below)) {
            let birth = shown.birth.and(below.birth);
            if (Stamp { identity: below.identity, birth, ..shown }) == (Stamp { birth, ..below }) {
                return true;
            }
        }
    }
    false
}

/// What the kernel writes after the path of a file that has no name any more.
const DELETED: &str = " (deleted)";

/// What a loop device is asked to stand on.
#[derive(Debug, Clone, Copy)]
pub struct Below {
    /// Device and inode number of the file or device.
    pub identity: Identity,
    /// Length of the file, capacity of the device.
    pub size_bytes: u64,
}

/// Loop devices that stand on one of these files or devices.
///
/// # Errors
/// Sysfs is missing, or a loop device that could stand on one of them does not tell on what it does.
pub fn standing_on(any: &[Below], roots: &Roots) -> Result<Vec<BlockDevice>, DevicesUnknown> {
    let mut found = Vec::new();
    for device in BlockDevice::all(roots)? {
        let Some(file) = backing_file(&device)? else { continue };
        let ground = Ground::of(&device, &file, roots);
        let known = ground.iter().flat_map(|ground| &ground.identities);
        if known.into_iter().any(|below| any.iter().any(|one| one.identity == *below)) {
            found.push(device);
            continue;
        }
        let mut could_be = any.iter().filter(|one| could_stand_on(&device, one.size_bytes));
        match ground {
            None if could_be.next().is_some() => {
                return Err(DevicesUnknown::new(&file, &Code::NOT_FOUND.into()));
            }
            // A file below a file is no device.
            Some(Ground { unknown: Some(why), .. })
                if could_be.any(|one| DeviceNumber::of(one.identity).is_none()) =>
            {
                return Err(DevicesUnknown::new(&file, &io::Error::other(why)));
            }
            _ => {}
        }
    }
    Ok(found)
}

/// What the nodes of loop devices tell where sysfs does not.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ByNodes {
    /// Names of those that stand on it, and whether each is write-protected.
    pub found: Vec<(String, bool)>,
    /// All loop devices that stand on anything were asked.
    pub is_complete: bool,
}

/// Loop devices that stand on the file or device, without sysfs: the nodes in `/dev` are asked. The kernel's
/// list of devices with a capacity tells whether these are all.
pub(crate) fn by_nodes(below: Identity, roots: &Roots) -> ByNodes {
    let listed = listed(roots);
    let names = listed.clone().unwrap_or_else(|| named_as_loops(roots));
    let mut told = ByNodes { found: Vec::new(), is_complete: listed.is_some() };
    for name in names {
        let node = open_file(&roots.dev.join(&name), ReadFlags::CACHED).ok();
        match node.and_then(|node| Some((stands_on(&node).ok()?, is_write_protected(&node)))) {
            Some((identity, is_read_only)) if identity == below => told.found.push((name, is_read_only)),
            // On the same file system as the file it is another one.
            Some((identity, _)) if has_one_file(identity) || identity.device() == below.device() => {}
            Some(_) => told.is_complete = false,
            None => told.is_complete = false,
        }
    }
    told
}

/// Loop devices with a capacity; `None` without the kernel's list.
fn listed(roots: &Roots) -> Option<Vec<String>> {
    /// Major number of loop devices.
    const LOOP: u32 = 7;
    let devices = with_size(roots)?.into_iter();
    Some(devices.filter(|device| device.major == LOOP).map(|device| device.name).collect())
}

/// Nodes that are called as loop devices are.
fn named_as_loops(roots: &Roots) -> Vec<String> {
    let entries = fs::read_dir(&roots.dev).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.strip_prefix("loop").is_some_and(is_number)).collect()
}

/// What a loop device stands on.
#[derive(Debug)]
pub(crate) struct Ground {
    /// The file or device, and the files below that file: whoever uses one of them uses the same bytes.
    pub identities: Vec<Identity>,
    /// Why not all of them are known.
    pub unknown: Option<String>,
}

impl Ground {
    /// For the kernel and for this process; `None` where neither the node of the loop device nor the path that sysfs
    /// tells leads there.
    pub fn of(device: &BlockDevice, file: &Path, roots: &Roots) -> Option<Self> {
        let path = file.to_string_lossy();
        let path = path.strip_suffix(DELETED).map_or(file, Path::new);
        // The path is that of another mount namespace, or of before a chroot; it may lead to another file here.
        let own = by_node(device, roots).or_else(|| Identity::at(path).ok())?;
        let mut ground = Ground { identities: vec![own], unknown: None };
        if has_one_file(own) {
            return Some(ground);
        }
        let is_file = fs::metadata(path).is_ok_and(|about| about.is_file());
        match is_file.then(|| open_file(path, ReadFlags::CACHED)) {
            Some(Ok(opened)) if Identity::of(&opened).is_ok_and(|there| there == own) => {
                let beneath = Beneath::of(&opened, roots);
                ground.identities.extend(beneath.identities());
                ground.unknown = beneath.unknown;
            }
            Some(Err(error)) => ground.unknown = Some(error.to_string()),
            _ => ground.unknown = Some("its path does not lead there from here".to_string()),
        }
        Some(ground)
    }

    /// The file or device itself.
    pub fn own(&self) -> Identity {
        self.identities[0]
    }
}

/// Whether a file with this identity holds its data itself: a device, or a file on a file system that has one.
fn has_one_file(identity: Identity) -> bool {
    DeviceNumber::of(identity).is_some() || DeviceNumber::from_raw(identity.device()).major != 0
}

fn by_node(device: &BlockDevice, roots: &Roots) -> Option<Identity> {
    let node = open_file(&roots.dev.join(device.node_name()), ReadFlags::CACHED).ok()?;
    let number = block_device(&node).ok()?.map(DeviceNumber::from_raw);
    (number.is_some() && number == device.number()).then(|| stands_on(&node).ok())?
}

/// The path of the file behind a loop device as sysfs tells it; `None` when it is none, or stands on nothing.
///
/// # Errors
/// It cannot be read.
pub(crate) fn backing_file(device: &BlockDevice) -> Result<Option<PathBuf>, DevicesUnknown> {
    let path = device.dir().join("loop/backing_file");
    match fs::read_to_string(&path) {
        Ok(text) => Ok(Some(PathBuf::from(text.trim_end_matches('\n')))),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        // It is being released.
        Err(_) if read_word(&device.dir().join("size")).as_deref() == Some("0") => Ok(None),
        Err(error) => Err(DevicesUnknown::new(&path, &error)),
    }
}

/// Whether the capacity of a loop device is that of a part of such a file.
fn could_stand_on(device: &BlockDevice, size_bytes: u64) -> bool {
    let dir = device.dir().join("loop");
    let rest = size_bytes.saturating_sub(number_in(&dir, "offset").unwrap_or(0));
    let part = match number_in(&dir, "sizelimit") {
        None | Some(0) => rest,
        Some(limit) => rest.min(limit),
    };
    device.size_bytes().is_none_or(|capacity| capacity == part / 512 * 512)
}

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
/// What waits to be written is told to so many bytes.
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
    use crate::machine::device::DeviceNumber;
    use std::fs;

    fn mount(root: &str, point: &Path) -> Mount {
        Mount {
            id: 1,
            device: DeviceNumber { major: 0, minor: 9 },
            root: root.into(),
            mount_point: point.to_path_buf(),
            fs_type: "overlay".into(),
            source: "overlay".into(),
            options: String::new(),
        }
    }

    #[test]
    fn the_place_in_a_layer_follows_from_the_mount() {
        let at =
            |root: &str, point: &str, path: &str| inside(&mount(root, Path::new(point)), Path::new(path));
        assert_eq!(at("/", "/m", "/m/a/b"), Some("a/b".into()));
        assert_eq!(at("/a", "/bound", "/bound/b"), Some("a/b".into()), "a folder of it");
        assert_eq!(at("/a/b", "/bound", "/bound"), Some("a/b".into()), "a single file of it");
        assert_eq!(at("/", "/", "/etc/x"), Some("etc/x".into()));
        assert_eq!(at("/", "/m", "/elsewhere/b"), None);
    }

    #[test]
    fn a_layer_is_looked_for_with_and_without_backslashes() {
        assert_eq!(spellings(OsStr::new("/a")), [PathBuf::from("/a")]);
        assert_eq!(spellings(OsStr::new("/a\\:b\\\\")), [PathBuf::from("/a\\:b\\\\"), "/a:b\\".into()]);
    }

    #[test]
    fn the_file_in_the_layer_is_known_by_its_times_and_its_absence_by_those_of_a_folder() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for folder in ["layer", "other"] {
            fs::create_dir_all(at(folder).join("a")).unwrap();
            fs::write(at(folder).join("a/data"), "x").unwrap();
            // The clock of a file system has ticks.
            std::thread::sleep(std::time::Duration::from_millis(30));
        }
        fs::create_dir(at("shown")).unwrap();
        let file = File::open(at("layer/a/data")).unwrap();
        // What overlayfs shows of a folder has the times of the folder in the layer: here it is that folder.
        let all = mount("/", &at("layer"));
        let found = |layer: &Path, name: &str| in_layer(&file, &all, layer, Path::new(name));
        let below = found(&at("layer"), "a/data").unwrap().expect("it is there");
        assert_eq!(Identity::of(&below).unwrap(), Identity::of(&file).unwrap());
        assert!(found(&at("layer"), "a/gone").unwrap().is_none(), "a write makes it");
        let told = found(&at("other"), "a/data").unwrap_err();
        assert!(told.ends_with("and another file is there"), "{told}");
        let told = found(&at("other"), "a/gone").unwrap_err();
        assert!(
            told.ends_with("No such file or directory"),
            "the layer was renamed, and another folder took its name: {told}"
        );
        let told = found(Path::new("layer"), "a/data").unwrap_err();
        assert!(told.ends_with("'layer', which is no whole path"), "{told}");
        // Of a part of it no folder may be there to compare.
        assert!(in_layer(&file, &mount("/b", &at("shown")), &at("layer"), Path::new("b/gone")).is_err());
    }

    #[test]
    fn a_file_on_a_file_system_of_its_own_holds_its_data() {
        let file = tempfile::tempfile().unwrap();
        let roots = Roots::default();
        let filesystem = filesystem_of(&file, &roots).unwrap();
        if filesystem.name != "overlay" && !filesystem.is_served() {
            let beneath = Beneath::of(&file, &roots);
            assert!(beneath.files.is_empty() && beneath.unknown.is_none(), "{beneath:?}");
        }
    }
}

#[cfg(test)]
mod tests_loops {
    use super::*;

    struct Machine {
        dir: tempfile::TempDir,
        roots: Roots,
    }

    impl Machine {
        fn new() -> Self {
            Self::within(tempfile::tempdir().unwrap())
        }

        fn within(dir: tempfile::TempDir) -> Self {
            let at = |name: &str| dir.path().join(name);
            let roots = Roots { proc: at("proc"), sys: at("sys"), dev: at("dev") };
            fs::create_dir_all(roots.sys.join("block")).unwrap();
            Machine { dir, roots }
        }

        fn device(&self, name: &str, sectors: u64, file: Option<&str>) {
            let dir = self.roots.sys.join("block").join(name);
            fs::create_dir_all(dir.join("loop")).unwrap();
            fs::write(dir.join("dev"), "7:0").unwrap();
            fs::write(dir.join("size"), sectors.to_string()).unwrap();
            file.iter()
                .for_each(|file| fs::write(dir.join("loop/backing_file"), format!("{file}\n")).unwrap());
        }

        fn file(&self, name: &str) -> (String, Below) {
            let path = self.dir.path().join(name);
            fs::write(&path, [0; 8192]).unwrap();
            (
                path.to_str().unwrap().to_string(),
                Below { identity: Identity::at(&path).unwrap(), size_bytes: 8192 },
            )
        }

        fn names(&self, below: Below) -> Result<Vec<String>, DevicesUnknown> {
            let found = standing_on(&[below], &self.roots)?;
            Ok(found.into_iter().map(|device| device.name).collect())
        }
    }

    #[test]
    fn a_file_is_known_by_any_name() {
        let Some(dir) = crate::needs::visible_folder() else { return };
        let machine = Machine::within(dir);
        let ((path, one), (other, _)) = (machine.file("a b"), machine.file("other"));
        machine.device("sda", 16, None);
        machine.device("loop0", 16, None);
        assert_eq!(machine.names(one).unwrap(), [""; 0]);
        machine.device("loop1", 16, Some(&path));
        machine.device("loop2", 16, Some(&other));
        machine.device("loop3", 16, Some(&format!("{path}{DELETED}")));
        assert_eq!(machine.names(one).unwrap(), ["loop1", "loop3"]);
    }

    #[test]
    fn without_sysfs_the_list_of_devices_tells_that_there_is_none() {
        let machine = Machine::new();
        let put = |text: &str| {
            fs::create_dir_all(&machine.roots.proc).unwrap();
            fs::write(machine.roots.proc.join("partitions"), text).unwrap();
            by_nodes(machine.file("file").1.identity, &machine.roots).is_complete
        };
        assert_eq!(by_nodes(machine.file("file").1.identity, &machine.roots), ByNodes::default());
        assert!(!put(""), "/dev/null in its place");
        assert!(put("major minor  #blocks  name\n\n 254        0  268435456 vda\n"));
        assert!(!put("major minor  #blocks  name\n\n   7        0       8192 loop0\n"), "it cannot be asked");
    }

    #[test]
    fn a_path_of_another_namespace_makes_it_unknown_where_the_size_fits() {
        let machine = Machine::new();
        let (_, below) = machine.file("file");
        machine.device("loop0", 32, Some("/no/such/image"));
        assert_eq!(machine.names(below).unwrap(), [""; 0]);
        machine.device("loop1", 16, Some("/no/such/image"));
        let unknown = machine.names(below).unwrap_err();
        assert_eq!(unknown.to_string(), "/no/such/image: No such file or directory");
        fs::write(machine.roots.sys.join("block/loop1/loop/offset"), "4096").unwrap();
        assert_eq!(machine.names(below).unwrap(), [""; 0]);
        fs::write(machine.roots.sys.join("block/loop1/size"), "8").unwrap();
        assert!(machine.names(below).is_err());
        fs::write(machine.roots.sys.join("block/loop1/loop/sizelimit"), "512").unwrap();
        assert_eq!(machine.names(below).unwrap(), [""; 0]);
    }
}

#[cfg(test)]
mod tests_allocated {
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
