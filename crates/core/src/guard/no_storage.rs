//! Paths that look like files and are no storage: controls of the kernel, and device nodes.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::way::{entry_of, known_path};
use crate::fault::{Refusal, RefusalKind};
use crate::machine::mounts::read_mounts;
use crate::machine::roots::Roots;
use crate::machine::storage::type_of_open;
use crate::sys::destination::Entry;
use crate::sys::file::Stat;
use crate::text::printable_path;

/// Whether a file system's files are the kernel's own controls and tables rather than stored data.
pub(super) fn is_of_the_kernel(filesystem: &str) -> bool {
    const NAMES: &[&str] = &[
        "proc",
        "sysfs",
        "cgroup",
        "cgroup2",
        "debugfs",
        "tracefs",
        "securityfs",
        "configfs",
        "bpf",
        "pstore",
        "efivarfs",
        "selinuxfs",
        "smackfs",
        "binfmt_misc",
        "fusectl",
        "devpts",
        "mqueue",
        "nsfs",
        "rpc_pipefs",
        "nfsd",
        "resctrl",
        "xenfs",
    ];
    NAMES.contains(&filesystem)
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
mod tests {
    use super::*;
    use crate::sys::destination::{Destination, follow_target};
    use crate::sys::made::symlink;

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
