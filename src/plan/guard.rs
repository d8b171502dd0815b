//! The write guard: what may be written, decided on the opened descriptor.
//!
//! A device that something uses is never written. Data that TrueSpd did not make is written only when the
//! person names its path again (`--overwrite`).

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::Refusal;
use crate::os::device::{BlockDevice, DeviceNumber, loop_devices_of};
use crate::os::guard::{GuardError, Scan, claim, signatures};
use crate::os::mark::Marks;
use crate::os::reuse::Reuse;
use crate::os::roots::Roots;
use crate::os::target::{TargetFacts, TargetKind};

/// Tells whether two descriptors are the same file or device, whatever the path means now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    /// Identity of an open file; of a device its number, so that two nodes of one device are the same.
    ///
    /// # Errors
    /// When the system does not answer.
    pub fn of(file: &File) -> std::io::Result<Self> {
        let m = file.metadata()?;
        Ok(match m.rdev() {
            0 => Identity { device: m.dev(), inode: m.ino() },
            device => Identity { device, inode: 0 },
        })
    }
}

/// What the guard knows besides the target.
#[derive(Debug, Clone, Copy)]
pub struct Guard<'a> {
    /// Paths that the person let through, as typed.
    pub overwrite: &'a [String],
    /// Which files TrueSpd made.
    pub marks: &'a Marks,
    /// Where the system tells about itself.
    pub roots: &'a Roots,
}

impl Guard<'_> {
    /// The person named this target again, as typed or as the path it stands for.
    pub fn is_let_through(&self, typed: &str, path: &Path) -> bool {
        self.overwrite.iter().any(|o| o == typed || Path::new(o) == path)
    }

    /// May the open target be written?
    ///
    /// # Errors
    /// What it holds or who uses it, and what lets the test through.
    pub fn check(&self, typed: &str, path: &Path, file: &File, facts: &TargetFacts) -> Result<(), Refusal> {
        match facts.kind {
            TargetKind::Block => self.check_device(typed, path, file, facts),
            TargetKind::Regular => self.check_file(typed, path, file, facts),
        }
    }

    fn check_device(
        &self,
        typed: &str,
        path: &Path,
        file: &File,
        facts: &TargetFacts,
    ) -> Result<(), Refusal> {
        self.check_unclaimed(typed, path, facts.device, false)?;
        // Whoever names a device again need not be able to read it: a failing one is worth a test too.
        if self.is_let_through(typed, path) {
            return Ok(());
        }
        let scan = signatures(file, path).map_err(|e| match e {
            GuardError::Read { .. } => Refusal::guard(typed, e.to_string())
                .hint(format!("if its content does not matter, name it again: --overwrite {typed}")),
            _ => Refusal::guard(typed, e.to_string()),
        })?;
        self.check_blank(typed, path, &scan)
    }

    /// In use by a mount, swap, LVM, md or a partition of it: no option lets that through. `is_behind`: the
    /// target is the file that the device stands on.
    fn check_unclaimed(
        &self,
        typed: &str,
        path: &Path,
        device: DeviceNumber,
        is_behind: bool,
    ) -> Result<(), Refusal> {
        let claim = claim(path, device, self.roots).map_err(|e| Refusal::guard(typed, e.to_string()))?;
        let Some(claim) = claim else { return Ok(()) };
        let by = claim.by.join("; ");
        let words = match BlockDevice::find(device, self.roots).map(|d| d.describe()) {
            _ if is_behind => {
                let node = path.display();
                format!("'{typed}' is the file behind {node}, which is in use; it will not be written: {by}")
            }
            Some(what) if !path.ends_with(&what) => {
                format!("'{typed}' ({what}) is in use and will not be written: {by}")
            }
            _ => format!("'{typed}' is in use and will not be written: {by}"),
        };
        Err(Refusal::guard(typed, words).hint(
            "no option lets a device in use through; release it first (umount, swapoff, vgchange -an, mdadm \
             --stop), or test reads only (-w0)",
        ))
    }

    fn check_blank(&self, typed: &str, path: &Path, scan: &Scan) -> Result<(), Refusal> {
        if scan.signatures.is_empty() || self.is_let_through(typed, path) {
            return Ok(());
        }
        let found: Vec<String> = scan.signatures.iter().map(ToString::to_string).collect();
        let found = found.join(" and ");
        Err(Refusal::guard(typed, format!("'{typed}' holds {found}, which a write test would destroy"))
            .hint(format!("if nobody needs that any more, name it again: --overwrite {}", shell_word(typed)))
            .hint("or test reads only (-w0)"))
    }

    fn check_file(&self, typed: &str, path: &Path, file: &File, facts: &TargetFacts) -> Result<(), Refusal> {
        self.check_not_in_use(typed, path, facts)?;
        if facts.size_bytes == 0 || self.is_let_through(typed, path) {
            return Ok(());
        }
        if !self.marks.is_ours(file) {
            return Err(foreign(typed, "and a write test would destroy what it holds"));
        }
        self.check_still_ours(typed, path, file)
    }

    /// Made by us, but somebody may have put a file system into it since.
    fn check_still_ours(&self, typed: &str, path: &Path, file: &File) -> Result<(), Refusal> {
        let scan = signatures(file, path).map_err(|e| Refusal::guard(typed, e.to_string()))?;
        self.check_blank(typed, path, &scan)
    }

    /// A file of the kernel's own, or one that a loop device in use stands on.
    fn check_not_in_use(&self, typed: &str, path: &Path, facts: &TargetFacts) -> Result<(), Refusal> {
        if let Some(filesystem) = facts.filesystem.as_ref().filter(|f| is_of_the_kernel(&f.name)) {
            return Err(of_the_kernel(typed, &filesystem.name));
        }
        for name in loop_devices_of(path, self.roots) {
            let device_path = self.roots.dev.join(&name);
            if let Ok(metadata) = std::fs::metadata(&device_path) {
                let device = DeviceNumber::from_raw(metadata.rdev());
                self.check_unclaimed(typed, &device_path, device, true)?;
            }
        }
        Ok(())
    }

    /// May `-c` do what was decided? Replacing or writing a foreign file needs the person's word, and so
    /// does one of ours that holds a file system now. `existing` is the file that is there already.
    ///
    /// # Errors
    /// As [`Guard::check`].
    pub fn check_creation(
        &self,
        typed: &str,
        path: &Path,
        existing: Option<(&File, &TargetFacts)>,
        decision: &Reuse,
        writes: bool,
        recreate: bool,
    ) -> Result<(), Refusal> {
        let let_through = self.is_let_through(typed, path);
        let touches = writes || recreate || matches!(decision, Reuse::Create { .. });
        match existing {
            Some((_, facts)) if touches => self.check_not_in_use(typed, path, facts)?,
            None if matches!(decision, Reuse::Create { .. }) => check_place_of_new(typed, path)?,
            _ => {}
        }
        match decision {
            Reuse::Refuse { sentence } => Err(Refusal::machine(&["-c"], Some(typed), sentence.clone())),
            Reuse::Create { replaces_foreign_data: true, sentence } if !let_through => {
                Err(foreign(typed, &format!("and -c would replace it ({sentence})")))
            }
            Reuse::Reuse { ours: false, .. } if recreate && !let_through => {
                Err(foreign(typed, "and --recreate would replace it"))
            }
            Reuse::Reuse { ours: false, .. } if writes && !let_through => {
                Err(foreign(typed, "and a write test would destroy what it holds"))
            }
            _ => match existing {
                Some((file, facts)) if touches && facts.size_bytes > 0 => {
                    self.check_still_ours(typed, path, file)
                }
                _ => Ok(()),
            },
        }
        .map_err(|refusal| match writes {
            true => refusal,
            false => Refusal { switches: vec!["-c"], ..refusal },
        })
    }
}

/// Whether a file system's files are the kernel's own controls and tables rather than stored data.
fn is_of_the_kernel(filesystem: &str) -> bool {
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

fn of_the_kernel(typed: &str, filesystem: &str) -> Refusal {
    Refusal::guard(
        typed,
        format!("'{typed}' is on {filesystem}, where files are controls of the kernel and not storage"),
    )
    .hint("writing there can change or stop the machine; name a file on a real file system, or a device")
}

/// A slip in a device's name must not become a file in `/dev` that fills the memory.
fn check_place_of_new(typed: &str, path: &Path) -> Result<(), Refusal> {
    // Missing directories are made too, below the nearest one that is there.
    let above = path.ancestors().skip(1).map(|p| if p.as_os_str().is_empty() { Path::new(".") } else { p });
    let Some(parent) = above.into_iter().find_map(|p| std::fs::canonicalize(p).ok()) else { return Ok(()) };
    let is_in = |dir: &str| parent.starts_with(dir);
    if ["/proc", "/sys"].into_iter().any(is_in) {
        return Err(of_the_kernel(typed, if is_in("/proc") { "proc" } else { "sysfs" }));
    }
    if is_in("/dev") && !is_in("/dev/shm") {
        let words = format!("'{typed}' does not exist, and -c would make an ordinary file in memory of it");
        return Err(Refusal::guard(typed, words)
            .hint("check the name of the device (lsblk lists them); a device is tested without -c"));
    }
    Ok(())
}

/// A path as it can be pasted into a shell.
fn shell_word(path: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:,@%=".contains(c);
    match path.chars().all(is_plain) && !path.is_empty() {
        true => path.to_string(),
        false => format!("'{}'", path.replace('\'', "'\\''")),
    }
}

fn foreign(typed: &str, why: &str) -> Refusal {
    Refusal::guard(typed, format!("'{typed}' was not made by TrueSpd, {why}"))
        .hint(format!("if its content does not matter, name it again: --overwrite {}", shell_word(typed)))
        .hint("or give another path with -c<size>, which creates a test file")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_can_be_pasted() {
        assert_eq!(shell_word("/a/b-1.dat"), "/a/b-1.dat");
        assert_eq!(shell_word("#1"), "'#1'");
        assert_eq!(shell_word("a b'c"), "'a b'\\''c'");
        assert_eq!(shell_word(""), "''");
    }

    #[test]
    fn new_files_do_not_go_where_no_storage_is() {
        let refused = |path: &str| check_place_of_new(path, Path::new(path)).err().map(|r| r.message);
        assert!(refused("/dev/nvme9n9").unwrap().contains("ordinary file in memory"));
        assert!(refused("/dev/../dev/nvme9n9").is_some());
        assert!(refused("/dev/nosuch/disk").is_some());
        assert!(refused("/proc/sys/new").unwrap().contains("on proc"));
        assert_eq!(refused("/dev/shm/test.dat"), None);
        assert_eq!(refused("test.dat"), None);
        assert_eq!(refused("/no/such/place/test.dat"), None);
    }
}
