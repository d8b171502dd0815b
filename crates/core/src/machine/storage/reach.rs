//! Why a path cannot be reached where neither the file's own permissions nor the user explain it.

use std::path::{Component, Path};

use crate::machine::mounts::{Mount, read_mounts};
use crate::machine::roots::Roots;
use crate::sys::error::Code;
use crate::sys::system::user;

/// The cause and what to do, where the way to the file explains the error.
pub(super) fn cause(path: &Path, code: Code, roots: &Roots) -> Option<String> {
    let is_denied = matches!(code, Code::ACCESS_DENIED | Code::NOT_PERMITTED);
    if is_denied && is_of_a_process(path) {
        return Some(
            "The path leads through /proc of another process, and this process may not look into that one, even as root of a \
             container: name the file by a path of its own, or look as the user of that process, in its namespaces (nsenter)"
                .into(),
        );
    }
    if !is_denied && code != Code::NOT_CONNECTED {
        return None;
    }
    let absolute = std::path::absolute(path).ok()?;
    let mounts = read_mounts(roots).ok()?;
    of_mount(mount_above(&mounts, &absolute)?, code, user())
}

/// `/proc/N/root/...`, `cwd`, `fd`, `exe`, `map_files`: ways into another process.
fn is_of_a_process(path: &Path) -> bool {
    let names: Vec<_> = path
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    let is_number = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    matches!(names[..], ["proc", process, "root" | "cwd" | "fd" | "exe" | "map_files" | "task", ..] if is_number(process))
}

/// The mount that a path lies in, by its name: the file itself cannot be asked. The last one covers those before it.
fn mount_above<'m>(mounts: &'m [Mount], path: &Path) -> Option<&'m Mount> {
    let above = mounts.iter().filter(|mount| path.starts_with(&mount.mount_point));
    above.max_by_key(|mount| mount.mount_point.components().count())
}

/// Of a FUSE file system: whose it is, and whether its program runs.
fn of_mount(mount: &Mount, code: Code, user: u32) -> Option<String> {
    if !(mount.fs_type == "fuse" || mount.fs_type == "fuseblk" || mount.fs_type.starts_with("fuse.")) {
        return None;
    }
    let at = crate::text::printable_path(&mount.mount_point);
    if code == Code::NOT_CONNECTED {
        return Some(format!(
            "The program behind the FUSE mount {at} has ended: unmount it (fusermount -u {at}) and start the program again"
        ));
    }
    let owner =
        mount.options.split(',').find_map(|option| option.strip_prefix("user_id=")?.parse::<u32>().ok())?;
    let is_shared = mount.options.split(',').any(|option| option == "allow_other");
    (owner != user && !is_shared).then(|| {
        format!(
            "The FUSE mount {at} belongs to user {owner} and lets nobody else in, not even root: test as that user, or \
             mount it with allow_other"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::mounts::parse_mountinfo;

    #[test]
    fn ways_into_other_processes_are_known() {
        for path in ["/proc/1/root/tmp/f", "/proc/17/fd/3", "/proc/1/cwd", "/proc/1/task/1/root/f"] {
            assert!(is_of_a_process(Path::new(path)), "{path}");
            assert!(cause(Path::new(path), Code::ACCESS_DENIED, &Roots::default()).is_some());
            assert!(cause(Path::new(path), Code::NOT_FOUND, &Roots::default()).is_none());
        }
        for path in ["/proc/kmsg", "/proc/self/fd/3", "/data/proc/1/root", "proc"] {
            assert!(!is_of_a_process(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn a_fuse_mount_lets_in_its_user_only() {
        let text = b"20 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
            21 20 0:40 / /m rw,relatime - fuse.sshfs host:/ rw,user_id=1000,group_id=1000\n\
            22 20 0:41 / /m/open rw,relatime - fuse x rw,user_id=1000,group_id=1000,allow_other\n";
        let mounts = parse_mountinfo(text);
        let of =
            |path: &str, code, user| of_mount(mount_above(&mounts, Path::new(path)).unwrap(), code, user);
        assert!(of("/m/f", Code::ACCESS_DENIED, 0).unwrap().contains("belongs to user 1000"));
        assert_eq!(of("/m/f", Code::ACCESS_DENIED, 1000), None);
        assert_eq!(of("/m/open/f", Code::ACCESS_DENIED, 0), None);
        assert_eq!(of("/f", Code::ACCESS_DENIED, 7), None);
        assert!(of("/m/open/f", Code::NOT_CONNECTED, 0).unwrap().contains("fusermount -u /m/open"));
        assert_eq!(of("/f", Code::NOT_CONNECTED, 0), None);
    }
}
