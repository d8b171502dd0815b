//! The files below a file: overlayfs keeps what is written to one of its files in a file of its upper layer,
//! and whoever uses that one uses the same bytes.
//!
//! The kernel keeps its users apart: a lease, an inode number, a loop device of the one say nothing of the other. Where
//! the layer is, is told by the options of the mount; that the file found there is the right one, by its times, which
//! overlayfs passes on. Source: the kernel's `Documentation/filesystems/overlayfs.rst` and `fs/overlayfs/params.c`.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::mounts::{Mount, mount_of};
use super::roots::Roots;
use super::storage::{Filesystem, filesystem_of};
use crate::sys::error::system_text;
use crate::sys::file::{ReadOptions, attribute, bytes_of_name, name_of_bytes, own_path, read, report};
use crate::sys::identity::{Identity, Stamp};
use crate::text::printable_path;

/// Layers on layers are looked through as deep as the kernel stacks them, and one more.
const DEPTH_MAX: usize = 4;
/// A file that is being written has other times a moment later.
const LOOKS: usize = 5;

/// By which mergerfs tells where a file is (its manual, "RUNTIME INTERFACE").
const MERGERFS_PATH: &str = "user.mergerfs.fullpath";
/// Linux's `PATH_MAX`: no path that a program tells is longer.
const PATH_BYTES_MAX: usize = 4096;

/// What lies below a file.
#[derive(Debug, Default)]
pub struct Beneath {
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
        return served_file(file, &filesystem, roots);
    }
    if filesystem.is_stacked() {
        return Err(format!("it is on {name}, which keeps it in a file of another file system"));
    }
    Ok(None)
}

/// Programs that show folders of this machine, and may name them by a part of their paths only.
const SHOW_FOLDERS: [&str; 6] = [
    "fuse.bindfs",
    "fuse.mergerfs",
    "fuse.fuse-overlayfs",
    "fuse.mhddfs",
    "fuse.unionfs",
    "fuse.unionfs-fuse",
];

/// The file of which a program makes one of its own file system. bindfs names the folder that it shows as what is
/// mounted, mergerfs tells of each file where it is. `None` where nothing tells whether there is such a file.
fn served_file(file: &File, filesystem: &Filesystem, roots: &Roots) -> Result<Option<File>, String> {
    let name = filesystem.name.as_str();
    if !name.starts_with("fuse") {
        return Ok(None);
    }
    if let Some(path) = attribute(file, MERGERFS_PATH, PATH_BYTES_MAX) {
        let path = PathBuf::from(name_of_bytes(path));
        return match open_plain(&path) {
            Ok(below) if is_same(file, &below) => Ok(Some(below)),
            _ => Err(format!(
                "the file should be in '{}' below {name}, but it is not there",
                printable_path(&path)
            )),
        };
    }
    let Ok(Some((mount, _))) = mount_of(report(file).mount_id, "", roots) else {
        return Err("the list of mounts does not show the file system that it is on".to_string());
    };
    let named = printable_path(&mount.source);
    let Some(folders) = folders_in(&mount.source) else {
        // What else a program is given is the name of a server, of a device, or nothing.
        if SHOW_FOLDERS.contains(&name) {
            return Err(format!(
                "the file is on another file system below {name}, which names only '{named}', not where that is"
            ));
        }
        return Ok(None);
    };
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
    Err(format!("the program that serves it shows '{named}', and the file is not to be found there"))
}

/// The folders that a program shows, by what is mounted: one, or several with colons between them. `None` where it is
/// something else: a device, a server, a word. A folder that is gone counts: it may have another name now.
fn folders_in(source: &Path) -> Option<Vec<PathBuf>> {
    let all: Vec<PathBuf> = if source.is_dir() {
        vec![source.to_path_buf()]
    } else {
        let parts = bytes_of_name(source.as_os_str()).split(|&byte| byte == b':');
        parts.map(|part| PathBuf::from(name_of_bytes(part.to_vec()))).collect()
    };
    all.iter().all(|part| part.is_absolute() && (part.is_dir() || !part.exists())).then_some(all)
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
