//! Processes that have a device open. The kernel lets several write to one device; a virtual machine's disk
//! or a database on a raw device is in use all the same.

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::claim::device_at;
use crate::os::device::{BlockDevice, DeviceNumber};
use crate::os::roots::Roots;
use crate::os::words::{printable, read_word};

/// A process that has a device, or a partition of it, open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Opener {
    id: u32,
    name: String,
    /// Which device, as a message calls it.
    what: String,
    /// It may write.
    pub writes: bool,
}

impl fmt::Display for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = if self.writes { " for writing" } else { "" };
        write!(f, "process {} ({}) has {} open{how}", self.id, printable(&self.name), self.what)
    }
}

/// Processes other than this program's own that have the device or a partition of it open; without the rights
/// of root only those of the same user are seen.
///
/// Runs of this program may share a device: two tests at once are a test, too.
pub(super) fn of(device: DeviceNumber, roots: &Roots) -> Vec<Opener> {
    let own = BlockDevice::find(device, roots);
    let parts = own.as_ref().map(BlockDevice::partitions).unwrap_or_default();
    let parts: Vec<_> = parts.into_iter().filter_map(|p| Some((p.number()?, p.name))).collect();
    let mut found: Vec<Opener> = Vec::new();
    for entry in fs::read_dir(&roots.proc).into_iter().flatten().flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|n| n.parse::<u32>().ok()) else { continue };
        if is_this_program(&entry.path(), roots) {
            continue;
        }
        for fd in fs::read_dir(entry.path().join("fd")).into_iter().flatten().flatten() {
            // Only nodes of devices are asked more closely: asking a file of a dead server hangs.
            let is_node = fs::read_link(fd.path()).is_ok_and(|to| to.starts_with(&roots.dev));
            let Some(number) = device_at(&fd.path()).filter(|_| is_node) else { continue };
            let what = if number == device {
                "it".to_string()
            } else if let Some((_, name)) = parts.iter().find(|(n, _)| *n == number) {
                format!("its partition {name}")
            } else {
                continue;
            };
            let writes = may_write(&entry.path().join("fdinfo").join(fd.file_name()));
            match found.iter_mut().find(|o| o.id == id && o.what == what) {
                Some(known) => known.writes |= writes,
                None => {
                    let name = read_word(&entry.path().join("comm")).unwrap_or_default();
                    found.push(Opener { id, name, what, writes });
                }
            }
        }
    }
    found
}

fn is_this_program(process: &Path, roots: &Roots) -> bool {
    if process.ends_with(std::process::id().to_string()) {
        return true;
    }
    let of = |path: &Path| fs::metadata(path.join("exe")).map(|m| (m.dev(), m.ino())).ok();
    of(process).is_some_and(|exe| Some(exe) == of(&roots.proc.join("self")))
}

/// Whether the descriptor was opened for writing, by the flags in its `fdinfo`.
fn may_write(fdinfo: &Path) -> bool {
    let text = fs::read_to_string(fdinfo).unwrap_or_default();
    let flags = text.lines().find_map(|l| l.strip_prefix("flags:"));
    let flags = flags.and_then(|f| i32::from_str_radix(f.trim(), 8).ok());
    flags.is_some_and(|f| f & libc::O_ACCMODE != libc::O_RDONLY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flags_of_a_descriptor() {
        use std::os::fd::AsRawFd;
        let file = tempfile::NamedTempFile::new().unwrap();
        let reader = fs::File::open(file.path()).unwrap();
        let info = |file: &fs::File| format!("/proc/self/fdinfo/{}", file.as_raw_fd());
        assert!(may_write(Path::new(&info(file.as_file()))));
        assert!(!may_write(Path::new(&info(&reader))));
        assert!(!may_write(Path::new("/no/such")));
    }

    #[test]
    fn words() {
        let opener = Opener { id: 7, name: "qemu".into(), what: "it".into(), writes: true };
        assert_eq!(opener.to_string(), "process 7 (qemu) has it open for writing");
    }
}
