//! Processes that have a device or file open. The kernel lets several write to one device; a virtual machine's disk
//! or a database on a raw device is in use all the same.

use std::fmt;
use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use super::hold::is_lock_of_a_run;
use super::subject::Subject;
use crate::machine::device::{BlockDevice, DeviceNumber};
use crate::machine::read::read_word;
use crate::machine::roots::Roots;
use crate::sys::identity::{Identity, block_device_at};
use crate::sys::open::is_for_writing;
use crate::text::printable;

/// A process that has a device, or a partition of it, open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opener {
    /// Number of the process.
    id: u32,
    /// Name of its program.
    name: String,
    /// What of the device it has open.
    what: Subject,
    /// It may write.
    pub writes: bool,
}

impl fmt::Display for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = if self.writes { " for writing" } else { "" };
        write!(f, "process {} ({}) has {} open{how}", self.id, printable(&self.name), self.what)
    }
}

/// Processes that have the device or a partition of it open; without the rights of root only those of the same
/// user are seen.
///
/// Runs of this program may share a device: two tests at once are a test, too.
pub(super) fn of(device: DeviceNumber, roots: &Roots) -> Vec<Opener> {
    let own = BlockDevice::find(device, roots);
    let parts = own.as_ref().map(BlockDevice::partitions).unwrap_or_default();
    let parts: Vec<_> = parts.into_iter().filter_map(|p| Some((p.number()?, p.name))).collect();
    openers(roots, &|link, fd, _| {
        // Only device nodes are examined: reading the facts of a file on a dead server hangs.
        let number = block_device_at(fd).filter(|_| link.starts_with(&roots.dev))?;
        let number = DeviceNumber::from_raw(number);
        if number == device {
            return Some(Subject::It);
        }
        parts.iter().find(|(n, _)| *n == number).map(|(_, name)| Subject::Partition(name.clone()))
    })
}

/// How often programs that write a file are searched for, and with which pause: only processes that keep it open count.
/// A process that is being started has the descriptors of its parent for a moment.
const CHECKS: u32 = 5;
const CHECK_PAUSE: Duration = Duration::from_millis(40);

/// Programs other than runs of this one that have the file open for writing.
pub fn writers_of_file(file: &File, roots: &Roots) -> Vec<Opener> {
    let Ok(own) = Identity::of(file) else { return Vec::new() };
    let of_file = |_: &Path, fd: &Path, info: &Path| {
        // The kernel tells the inode since 5.14, so that other files need not be asked.
        let info = fs::read_to_string(info).ok()?;
        let inode = info.lines().find_map(|line| line.strip_prefix("ino:")?.trim().parse::<u64>().ok());
        if inode.is_some_and(|inode| inode != own.inode()) {
            return None;
        }
        (Identity::at(fd).ok()? == own).then_some(Subject::It)
    };
    let mut stayed: Option<Vec<Opener>> = None;
    for check in 1..=CHECKS {
        let now = openers(roots, &of_file).into_iter().filter(|o| o.writes);
        let now: Vec<Opener> = now.filter(|o| stayed.as_ref().is_none_or(|s| s.contains(o))).collect();
        if now.is_empty() || check == CHECKS {
            return now;
        }
        stayed = Some(now);
        std::thread::sleep(CHECK_PAUSE);
    }
    Vec::new()
}

/// Processes that have a file open for which `named` gives a subject, without this process and other runs. `named` gets
/// where a descriptor leads, its path in `/proc` and that of its `fdinfo`.
fn openers(roots: &Roots, named: &dyn Fn(&Path, &Path, &Path) -> Option<Subject>) -> Vec<Opener> {
    let mut found: Vec<Opener> = Vec::new();
    for entry in fs::read_dir(&roots.proc).into_iter().flatten().flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|n| n.parse::<u32>().ok()) else { continue };
        if id == std::process::id() {
            continue;
        }
        let (mut of_process, mut is_run): (Vec<Opener>, bool) = (Vec::new(), false);
        for fd in fs::read_dir(entry.path().join("fd")).into_iter().flatten().flatten() {
            // Sockets, pipes and the like lead to no path.
            let Some(link) = fs::read_link(fd.path()).ok().filter(|link| link.is_absolute()) else {
                continue;
            };
            let info = entry.path().join("fdinfo").join(fd.file_name());
            let Some(what) = named(&link, &fd.path(), &info) else { continue };
            let info = fs::read_to_string(info).unwrap_or_default();
            is_run |= info.lines().any(is_lock_of_a_run);
            let writes = may_write(&info);
            match of_process.iter_mut().find(|o| o.what == what) {
                Some(known) => known.writes |= writes,
                None => {
                    let name = read_word(&entry.path().join("comm")).unwrap_or_default();
                    of_process.push(Opener { id, name, what, writes });
                }
            }
        }
        if !is_run {
            found.append(&mut of_process);
        }
    }
    found
}

/// Whether the descriptor was opened for writing, by the flags in its `fdinfo`.
fn may_write(info: &str) -> bool {
    let flags = info.lines().find_map(|l| l.strip_prefix("flags:"));
    let flags = flags.and_then(|f| i32::from_str_radix(f.trim(), 8).ok());
    flags.is_some_and(is_for_writing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_of_a_descriptor() {
        use crate::sys::made::open_file_info;
        let file = tempfile::NamedTempFile::new().unwrap();
        let reader = fs::File::open(file.path()).unwrap();
        assert!(may_write(&open_file_info(file.as_file())));
        assert!(!may_write(&open_file_info(&reader)));
        assert!(!may_write(""));
    }

    #[test]
    fn words() {
        let opener = Opener { id: 7, name: "qemu".into(), what: Subject::It, writes: true };
        assert_eq!(opener.to_string(), "process 7 (qemu) has it open for writing");
    }
}
