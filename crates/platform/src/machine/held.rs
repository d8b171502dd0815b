//! What holds I/O back until somebody lets it go on: a frozen file system (`fsfreeze`), a suspended device
//! (`dmsetup suspend`).

use std::path::{Path, PathBuf};

use super::device::DeviceNumber;
use super::roots::{Roots, names_in, read_word};

/// Where a write waits while its file system is frozen (`sb_start_write` in the kernel's `include/linux/fs.h`).
const WAITS_FOR_THAW: &str = "percpu_rwsem_wait";

/// Threads of a program that are looked at, at most: the last ones, among them those that the kernel made for io_uring.
const THREADS_MAX: usize = 64;

/// Whether a thread of this process waits for a frozen file system. `None` where the kernel does not tell.
pub fn waits_for_thaw(roots: &Roots) -> Option<bool> {
    let tasks = roots.proc.join("self/task");
    let mut threads = names_in(&tasks);
    threads.sort_by_key(|thread| thread.parse::<u32>().ok());
    let mut is_told = false;
    for thread in threads.iter().rev().take(THREADS_MAX) {
        // 0 for a thread that runs, and for all where the kernel hides it.
        let Ok(place) = std::fs::read_to_string(tasks.join(thread).join("wchan")) else { continue };
        if place == WAITS_FOR_THAW {
            return Some(true);
        }
        is_told |= place != "0";
    }
    is_told.then_some(false)
}

/// The file that says whether a mapped device is suspended; `None` for another device.
pub fn suspended_file(device: DeviceNumber, roots: &Roots) -> Option<PathBuf> {
    let file = roots.sys.join(format!("dev/block/{device}/dm/suspended"));
    file.is_file().then_some(file)
}

/// Whether such a file says so.
pub fn is_suspended(file: &Path) -> bool {
    read_word(file).is_some_and(|word| word == "1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_waits_for_a_frozen_file_system() {
        let dir = tempfile::tempdir().expect("a directory");
        let roots =
            Roots { proc: dir.path().to_path_buf(), sys: dir.path().to_path_buf(), ..Roots::default() };
        let place = |thread: u32, word: &str| {
            let folder = dir.path().join(format!("self/task/{thread}"));
            std::fs::create_dir_all(&folder).expect("a folder");
            std::fs::write(folder.join("wchan"), word).expect("a file");
        };
        assert_eq!(waits_for_thaw(&roots), None);
        place(9, "0");
        assert_eq!(waits_for_thaw(&roots), None, "hidden");
        place(10, "io_cqring_wait");
        assert_eq!(waits_for_thaw(&roots), Some(false));
        place(9, "percpu_rwsem_wait");
        assert_eq!(waits_for_thaw(&roots), Some(true));

        let device = DeviceNumber { major: 253, minor: 0 };
        assert_eq!(suspended_file(device, &roots), None);
        let folder = dir.path().join("dev/block/253:0/dm");
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join("suspended"), "1\n").expect("a file");
        let file = suspended_file(device, &roots).expect("a mapped device");
        assert!(is_suspended(&file));
        std::fs::write(&file, "0\n").expect("a file");
        assert!(!is_suspended(&file));
    }
}
