//! The way to what is to be written: by which names a path leads to the open file.
//!
//! What the guard decides on is an open descriptor. But who chose it? A link of another user, a hard link
//! that another user made, or a path of procfs to what a program has open leads to a file that the person did
//! not mean.
//!
//! Paths that look like files and are no storage: controls of the kernel, and device nodes.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::facts::Candidate;
use super::files::writers_of_file;
use super::openers::Opener;
use truespd_platform::fault::{Refusal, RefusalKind};
use truespd_platform::machine::mounts::read_mounts;
use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::storage::{TargetKind, resolve, type_of_open};
use truespd_platform::sys::destination::{Destination, Entry, LostWay, follow_target, is_name_of_others};
use truespd_platform::sys::error::{Code, system_text};
use truespd_platform::sys::file::own_path;
use truespd_platform::sys::file::{FileKind, Stat};
use truespd_platform::sys::identity::names;
use truespd_platform::text::printable_path;

/// Why a path is refused that leads elsewhere by now.
pub(super) const ANOTHER: &str = "another file or device has this path now";

/// May what is open be written, given the names by which its path leads to it? `path` is that by which it was opened.
///
/// # Errors
/// A link of another user, a hard link that another user may have made, a file without a name.
pub(super) fn check_way(target: Candidate<'_>, roots: &Roots) -> Result<(), Refusal> {
    let Candidate { typed, path, file, facts } = target;
    let is_namespace = facts.namespace.is_some();
    // `path` is that of its block device, which nobody typed.
    let path = if is_namespace { resolve(typed, roots)?.path } else { path.to_path_buf() };
    let own = Stat::of_open(file).map_err(|error| changed(typed, &system_text(&error)))?;
    match follow_target(&path) {
        Ok(Destination::Entry(entry)) => {
            // Of a namespace its character device is named, and its block device is open.
            let is_it = entry.there.is_some_and(|there| {
                there.identity() == own.identity() || (is_namespace && there.kind == FileKind::Character)
            });
            if !is_it {
                return Err(changed(typed, ANOTHER));
            }
            if facts.kind == TargetKind::Regular { check_names(typed, &entry, file) } else { Ok(()) }
        }
        Ok(Destination::Open(seen)) => {
            if !Stat::of_open(&seen).is_ok_and(|seen| seen.identity() == own.identity()) {
                return Err(changed(typed, ANOTHER));
            }
            check_has_name(target, roots)
        }
        Err(LostWay::System { code, .. }) => Err(changed(typed, &code.text())),
        Err(LostWay::ForeignLink { link, owner, to }) => Err(foreign_link(typed, &link, owner, &to)),
    }
}

/// A file that procfs leads to may have no name: memory of a program (memfd), or a deleted file.
fn check_has_name(target: Candidate<'_>, roots: &Roots) -> Result<(), Refusal> {
    let Candidate { typed, file, facts, .. } = target;
    let has_name = file.metadata().is_ok_and(|about| names(&about) > 0);
    if has_name || facts.kind == TargetKind::Block {
        return Ok(());
    }
    let is_memory = facts.filesystem.as_ref().is_some_and(|filesystem| filesystem.is_memory);
    let mut refusal = if is_memory { memory_of_programs(typed) } else { deleted(typed) };
    refusal.reasons = writers_of_file(file, roots).iter().map(Opener::to_string).collect();
    Err(refusal)
}

pub(super) fn memory_of_programs(typed: &str) -> Refusal {
    Refusal::guard(typed, format!("'{typed}' is memory of a program, not storage, and will not be written"))
        .hint("no option allows a write test of it: give the path of a file, which -c<size> creates, or a device")
}

fn deleted(typed: &str) -> Refusal {
    let words = format!(
        "'{typed}' has no name (it was deleted): it belongs to the programs that have it open, and will not be written"
    );
    Refusal::guard(typed, words)
        .hint("no option allows a write test of it: give the path of a file, which -c<size> creates")
}

/// The refusal of a path that leads through a link of another user.
pub(super) fn foreign_link(typed: &str, link: &Path, owner: u32, to: &Path) -> Refusal {
    let words = format!(
        "'{typed}' leads through the link '{}', which user {owner} made, and links of other users are not \
         followed where something is to be written",
        printable_path(link)
    );
    Refusal::guard(typed, words)
        .hint(format!("if you mean the file where it leads, name that path: '{}'", printable_path(to)))
}

/// The refusal of a path that means something else than a moment ago.
pub(super) fn changed(typed: &str, why: &str) -> Refusal {
    Refusal::guard(typed, format!("'{typed}' changed while it was being checked: {why}"))
        .hint("another program renames it or a folder of its path; try again")
}

/// A name that another user may have given somebody else's file (a hard link) is no path to write it by.
pub(super) fn check_names(typed: &str, entry: &Entry, file: &File) -> Result<(), Refusal> {
    let facts = file.metadata().map_err(|error| changed(typed, &system_text(&error)))?;
    let folder = entry.folder.stat().map_err(|code| changed(typed, &code.text()))?;
    let (own, count) = (Stat::of(&facts), names(&facts));
    if count < 2 || !is_name_of_others(&own, &folder) {
        return Ok(());
    }
    let words = format!(
        "'{typed}' has {count} names (hard links), and other users may add names in its folder, so one of them \
         may have put somebody else's file there"
    );
    let hint = format!(
        "name it by its path in a folder that only you can write to; all its names: find MOUNTPOINT -xdev -inum {}",
        own.inode
    );
    Err(Refusal::guard(typed, words).hint(hint))
}

/// The path by which the kernel knows an open file or folder, also where links of procfs led to it.
pub(super) fn known_path(file: &File) -> Option<PathBuf> {
    std::fs::read_link(own_path(file)).ok().filter(|path| path.is_absolute())
}

/// The entry of a target that has to have a name.
///
/// # Errors
/// A link of another user, and what `otherwise` makes of what the system says.
pub(super) fn entry_of(
    typed: &str,
    path: &Path,
    otherwise: impl FnOnce(&Path, Code) -> Refusal,
) -> Result<Entry, Refusal> {
    match follow_target(path) {
        Ok(Destination::Entry(entry)) => Ok(entry),
        Ok(Destination::Open(_)) => {
            let words = format!("'{typed}' is a file that a program has open, not the path of a file");
            Err(Refusal::guard(typed, words).hint("give the path of a file"))
        }
        Err(LostWay::ForeignLink { link, owner, to }) => Err(foreign_link(typed, &link, owner, &to)),
        Err(LostWay::System { at, code }) => Err(otherwise(&at, code)),
    }
}

/// Whether a file system's files are the kernel's own controls and tables rather than stored data.
pub(super) fn is_of_the_kernel(filesystem: &str) -> bool {
    const NAMES: &str = "proc sysfs cgroup cgroup2 debugfs tracefs securityfs configfs bpf pstore efivarfs selinuxfs \
        smackfs binfmt_misc fusectl devpts mqueue nsfs rpc_pipefs nfsd resctrl xenfs";
    NAMES.split(' ').any(|name| name == filesystem)
}

pub(super) fn of_the_kernel(typed: &str, filesystem: &str) -> Refusal {
    Refusal::guard(
        typed,
        format!("'{typed}' is on {filesystem}, where files are controls of the kernel, not storage"),
    )
    .hint("writing there can change or stop the machine; choose a path on a file system that stores data, or a device")
}

/// Whether files of this type of file system are memory of programs and the like, which have no path.
pub(super) fn is_without_paths(filesystem: &str) -> bool {
    ["anon_inodefs", "dmabuf", "guest_memfd", "pidfs", "secretmem"].contains(&filesystem)
}

/// A typing error in a device's name must not create a file in `/dev` that fills the memory. Asked of the
/// folder that the path leads to, by whatever links.
pub(super) fn check_place_of_new(typed: &str, entry: &Entry) -> Result<(), Refusal> {
    let folder = entry.folder.as_file();
    if let Some(filesystem) = type_of_open(folder).filter(|name| is_of_the_kernel(name)) {
        return Err(of_the_kernel(typed, &filesystem));
    }
    let known = known_path(folder);
    let paths: Vec<&Path> = known.iter().map(PathBuf::as_path).chain(entry.path.parent()).collect();
    // A link of procfs leads out of it again.
    let place = known.as_deref().or(entry.path.parent()).unwrap_or(Path::new("/"));
    for (root, filesystem) in [("/proc", "proc"), ("/sys", "sysfs")] {
        if place.starts_with(root) {
            return Err(of_the_kernel(typed, filesystem));
        }
    }
    let is_shared_memory = paths.iter().any(|path| path.starts_with("/dev/shm"));
    let is_device_tree = paths.iter().any(|path| path.starts_with("/dev"));
    if is_shared_memory || !(is_device_tree || is_of_nodes(folder)) {
        return Ok(());
    }
    let words = format!(
        "'{typed}' would be an ordinary file among the device nodes of /dev, in memory, which -c would create"
    );
    Err(Refusal::guard(typed, words)
        .hint("check the name of the device (lsblk lists them); a device is tested without -c"))
}

/// Whether a folder is on the file system of device nodes, wherever that is mounted.
fn is_of_nodes(folder: &File) -> bool {
    let nodes = Stat::at(Path::new("/dev")).ok().map(|stat| stat.device);
    let root = Stat::at(Path::new("/")).ok().map(|stat| stat.device);
    // In some containers they are in the file system of everything else.
    nodes != root && nodes == Stat::of_open(folder).ok().map(|stat| stat.device)
}

/// May a suite make its files in the directory? To be called before a folder is made there.
///
/// # Errors
/// What is there instead of storage, or a link of another user.
pub fn check_directory(directory: &Path, roots: &Roots) -> Result<(), Refusal> {
    let typed = printable_path(directory);
    let place = entry_of(&typed, &directory.join("file"), |_, code| {
        let words = format!("no test file can be made in '{typed}': {}", code.text());
        Refusal::new(RefusalKind::Target, words).hint("choose a directory that you may write to")
    })?;
    let path = std::fs::canonicalize(directory).unwrap_or_else(|_| directory.to_path_buf());
    let typed = printable_path(&path);
    // Without a list of mounts the folder itself tells.
    let mounts = read_mounts(roots).unwrap_or_default();
    let above = mounts.iter().filter(|mount| path.starts_with(&mount.mount_point));
    // Of several mounts at one path the last one hides the others.
    let mount = above.max_by_key(|mount| mount.mount_point.components().count());
    let told = type_of_open(place.folder.as_file());
    let types = mount.map(|mount| mount.fs_type.clone()).into_iter().chain(told);
    if let Some(filesystem) = types.into_iter().find(|name| is_of_the_kernel(name)) {
        return Err(of_the_kernel(&typed, &filesystem));
    }
    if path.starts_with("/dev") && !path.starts_with("/dev/shm") {
        let words =
            format!("'{typed}' holds device nodes: a test file there would be in memory, not on storage");
        return Err(Refusal::guard(&typed, words)
            .hint("choose a directory on the storage to be tested, or a device (lsblk lists them)"));
    }
    check_place_of_new(&typed, &place)
}

#[cfg(test)]
mod tests_no_storage {
    use super::*;
    use crate::made::symlink;
    use truespd_platform::sys::destination::{Destination, follow_target};

    #[test]
    fn new_files_do_not_go_where_no_storage_is() {
        let refused = |path: &str| {
            let Ok(Destination::Entry(entry)) = follow_target(Path::new(path)) else { panic!("{path}") };
            check_place_of_new(path, &entry).err().map(|r| r.message.clone())
        };
        assert!(refused("/dev/nvme9n9").unwrap().contains("ordinary file among the device nodes"));
        assert!(refused("/proc/self/root/dev/nvme9n9").is_some(), "by a link of procfs");
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("link");
        symlink("/dev/nvme9n9", &link).unwrap();
        assert!(refused(link.to_str().unwrap()).is_some(), "where a link leads");
        assert!(refused("/dev/../dev/nvme9n9").is_some());
        assert!(refused("/dev/nosuch/disk").is_some());
        assert!(refused("/proc/sys/new").unwrap().contains("on proc"));
        assert_eq!(refused("/dev/shm/test.dat"), None);
        assert_eq!(refused("test.dat"), None);
        assert_eq!(refused("/no/such/place/test.dat"), None);
    }

    #[test]
    fn suites_make_no_folders_where_no_storage_is() {
        let refused =
            |path: &str| check_directory(Path::new(path), &Roots::default()).err().map(|r| r.message.clone());
        for (path, words) in [
            ("/proc", "on proc"),
            ("/sys", "on sysfs"),
            ("/sys/fs/cgroup", "controls of the kernel"),
            ("/dev", "device nodes"),
        ] {
            let refusal = refused(path).unwrap_or_else(|| panic!("{path} is no storage"));
            assert!(refusal.contains(words), "{path}: {refusal}");
        }
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(check_directory(dir.path(), &Roots::default()), Ok(()));
        let hidden = Roots { proc: dir.path().join("none"), ..Roots::default() };
        assert_eq!(check_directory(dir.path(), &hidden), Ok(()));
        let refusal = check_directory(Path::new("/sys/fs/cgroup"), &hidden).unwrap_err();
        assert!(refusal.message.contains("controls of the kernel"), "{refusal}");
        let roots = Roots { proc: dir.path().to_path_buf(), ..Roots::default() };
        std::fs::create_dir(dir.path().join("self")).unwrap();
        let at = dir.path().join("cg");
        std::fs::create_dir(&at).unwrap();
        let mounts =
            format!("1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 0:9 / {} rw - cgroup2 none rw\n", at.display());
        std::fs::write(dir.path().join("self/mountinfo"), mounts).unwrap();
        assert!(check_directory(&at, &roots).unwrap_err().message.contains("on cgroup2"));
        assert_eq!(check_directory(dir.path(), &roots), Ok(()));
    }
}
