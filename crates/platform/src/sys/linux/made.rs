//! Things that tests make or ask and the program does not: links, pipes, sockets, owners.

use std::fs::{File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;

#[allow(unused_imports, reason = "each crate needs some of it")]
pub(crate) use std::os::unix::fs::{FileExt, symlink};

/// A named pipe.
pub(crate) fn pipe(path: &Path) -> io::Result<()> {
    Ok(rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::from_raw_mode(0o600))?)
}

/// A socket, for as long as what is returned lives.
pub(crate) fn socket(path: &Path) -> io::Result<UnixListener> {
    UnixListener::bind(path)
}

/// Sets the permissions of a file to a number.
pub(crate) fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    std::fs::set_permissions(path, Permissions::from_mode(mode))
}

/// What the kernel tells of an open file: flags, position, locks.
pub(crate) fn open_file_info(file: &File) -> String {
    std::fs::read_to_string(format!("/proc/self/fdinfo/{}", file.as_raw_fd())).expect("it is open")
}

/// The number of a device as `stat(2)` reports it.
pub(crate) fn device_number(major: u32, minor: u32) -> u64 {
    libc::makedev(major, minor)
}

/// Gives a file to another user.
pub(crate) fn give_to(path: &Path, user: u32) -> io::Result<()> {
    std::os::unix::fs::chown(path, Some(user), None)
}

/// Whether it comes to hold within 20 seconds: a child that another test starts just then holds copies of our open files
/// until its exec, which may be a while on a busy machine.
pub(crate) fn comes_to_hold(mut is_so: impl FnMut() -> bool) -> bool {
    let limit = std::time::Instant::now() + std::time::Duration::from_secs(20);
    loop {
        if is_so() {
            return true;
        }
        if std::time::Instant::now() > limit {
            return false;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}
