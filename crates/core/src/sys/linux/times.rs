//! What the times of files tell of writes: by which clock they go, and whether a write through a memory map
//! changes them.
//!
//! On file systems in memory (tmpfs, ramfs) a page that was read through a map is then written without a time being
//! changed. Nothing says so, so it is tried out.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::mm::{MapFlags, ProtFlags};
use rustix::time::{ClockId, clock_gettime};

use super::error::Code;
use super::file::Directory;
use super::open::own_path;
use super::stat::{Moment, Stamp};
use super::system::page_bytes;

/// What the clock shows by which the kernel sets the times of files. It goes on in steps.
pub fn file_clock() -> Moment {
    let now = clock_gettime(ClockId::RealtimeCoarse);
    (now.tv_sec, u32::try_from(now.tv_nsec).unwrap_or_default())
}

/// Whether a write through a memory map changes the times of files where this one lies: tried out with a
/// nameless file in its folder. `None` where none can be made there.
pub fn do_maps_change_times(file: &File) -> Option<bool> {
    let path = std::fs::read_link(own_path(file)).ok()?;
    let folder = Directory::open(path.parent()?).ok()?;
    let probe = folder.make_nameless().or_else(|_| unlinked(&folder)).ok()?;
    // A single file may lie on another file system than its folder (bind mount).
    let lies_there = probe.metadata().ok()?.dev() == file.metadata().ok()?.dev();
    if lies_there { write_by_map(&probe).ok() } else { None }
}

/// A file without a name where the file system makes none: it has one for a moment.
fn unlinked(folder: &Directory) -> Result<File, Code> {
    let name = format!(".truespd-{}-{:?}", std::process::id(), std::thread::current().id());
    let file = folder.make_entry(&name)?;
    folder.remove_entry(&name)?;
    Ok(file)
}

/// Reads and writes a page of a file of our own through a map; whether that changed its time.
fn write_by_map(probe: &File) -> io::Result<bool> {
    // No clock is as late, and every file system has this time.
    let long_ago: SystemTime = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let length = page_bytes();
    // Room for the page is there then, so that it can be written.
    std::os::unix::fs::FileExt::write_all_at(probe, &vec![1; length], 0)?;
    probe.set_modified(long_ago)?;
    let before = Stamp::of(probe)?.modified;
    let both = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new map of a file that nobody else can reach; it is as long as the file.
    let map = unsafe { rustix::mm::mmap(std::ptr::null_mut(), length, both, MapFlags::SHARED, probe, 0) }?;
    // SAFETY: mapped above, and there is a byte.
    unsafe { map.cast::<u8>().read_volatile() };
    // The kernel writes it: where a page cannot be written, a system call fails, and an instruction ends the process.
    // SAFETY: the structure is shorter than a page, and a map begins at a page.
    let told = unsafe { libc::uname(map.cast()) };
    // SAFETY: mapped above, and nothing uses it any more.
    unsafe { rustix::mm::munmap(map, length) }?;
    if told == -1 {
        return Err(io::ErrorKind::Other.into());
    }
    Ok(Stamp::of(probe)?.modified != before)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::file::filesystem;
    use std::path::Path;

    #[test]
    fn maps_change_times_on_a_disk_and_not_in_memory() {
        for (folder, magic, expected) in
            [("/dev/shm", 0x0102_1994, false), ("/tmp", 0xef53, true), ("/var/tmp", 0xef53, true)]
        {
            let Ok(file) = tempfile::NamedTempFile::new_in(folder) else { continue };
            if filesystem(file.as_file()).unwrap().is_some_and(|found| found.magic == magic) {
                assert_eq!(do_maps_change_times(file.as_file()), Some(expected), "{folder}");
            }
            assert!(write_by_map(&unlinked(&Directory::open(Path::new(folder)).unwrap()).unwrap()).is_ok());
        }
    }

    #[test]
    fn the_clock_of_files_is_not_ahead() {
        let before = file_clock();
        let made = Stamp::of(&tempfile::tempfile().unwrap()).unwrap().change;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        assert!(before.0 >= made.0 - 2 && before <= (now.as_secs() as i64, now.subsec_nanos()));
    }
}
