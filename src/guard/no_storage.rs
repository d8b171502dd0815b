//! Paths that look like files and are no storage: controls of the kernel, and device nodes.

use std::path::Path;

use crate::fault::Refusal;
use crate::machine::mounts::read_mounts;
use crate::machine::roots::Roots;
use crate::machine::storage::type_of_folder;
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

/// A typing error in a device's name must not create a file in `/dev` that fills the memory.
pub(super) fn check_place_of_new(typed: &str, path: &Path) -> Result<(), Refusal> {
    // `-c` makes missing directories too, below the nearest one that exists.
    let above = path.ancestors().skip(1).map(|p| if p.as_os_str().is_empty() { Path::new(".") } else { p });
    let Some(parent) = above.into_iter().find_map(|p| std::fs::canonicalize(p).ok()) else { return Ok(()) };
    let is_in = |dir: &str| parent.starts_with(dir);
    if ["/proc", "/sys"].into_iter().any(is_in) {
        return Err(of_the_kernel(typed, if is_in("/proc") { "proc" } else { "sysfs" }));
    }
    if is_in("/dev") && !is_in("/dev/shm") {
        let words =
            format!("there is no device '{typed}', and -c would create an ordinary file there, in memory");
        return Err(Refusal::guard(typed, words)
            .hint("check the name of the device (lsblk lists them); a device is tested without -c"));
    }
    Ok(())
}

/// May a suite make its files in the directory? To be called before a folder is made there.
///
/// # Errors
/// What is there instead of storage.
pub fn check_directory(directory: &Path, roots: &Roots) -> Result<(), Refusal> {
    let path = std::fs::canonicalize(directory).unwrap_or_else(|_| directory.to_path_buf());
    let typed = printable_path(&path);
    // Without a list of mounts the folder itself tells.
    let mounts = read_mounts(roots).unwrap_or_default();
    let above = mounts.iter().filter(|mount| path.starts_with(&mount.mount_point));
    // Of several mounts at one path the last one hides the others.
    let mount = above.max_by_key(|mount| mount.mount_point.components().count());
    let types = mount.map(|mount| mount.fs_type.clone()).into_iter().chain(type_of_folder(&path));
    if let Some(filesystem) = types.into_iter().find(|name| is_of_the_kernel(name)) {
        return Err(of_the_kernel(&typed, &filesystem));
    }
    if path.starts_with("/dev") && !path.starts_with("/dev/shm") {
        let words =
            format!("'{typed}' holds device nodes: a test file there would be in memory, not on storage");
        return Err(Refusal::guard(&typed, words)
            .hint("choose a directory on the storage to be tested, or a device (lsblk lists them)"));
    }
    check_place_of_new(&typed, &path.join("file"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_files_do_not_go_where_no_storage_is() {
        let refused = |path: &str| check_place_of_new(path, Path::new(path)).err().map(|r| r.message.clone());
        assert!(refused("/dev/nvme9n9").unwrap().contains("ordinary file there, in memory"));
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
