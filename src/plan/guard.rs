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
        self.check_unclaimed(typed, path, facts.device)?;
        // Whoever names a device again need not be able to read it: a failing one is worth a test too.
        if self.is_let_through(typed, path) {
            return Ok(());
        }
        let scan = signatures(file, path).map_err(|e| match e {
            GuardError::Read { .. } => Refusal::guard(
                typed,
                format!("{e}. If its content does not matter, name it again: --overwrite {typed}"),
            ),
            _ => Refusal::guard(typed, e.to_string()),
        })?;
        self.check_blank(typed, path, &scan)
    }

    /// In use by a mount, swap, LVM, md or a partition of it: no option lets that through.
    fn check_unclaimed(&self, typed: &str, path: &Path, device: DeviceNumber) -> Result<(), Refusal> {
        let claim = claim(path, device, self.roots).map_err(|e| Refusal::guard(typed, e.to_string()))?;
        let Some(claim) = claim else { return Ok(()) };
        let what =
            BlockDevice::find(device, self.roots).map(|d| format!(" ({})", d.describe())).unwrap_or_default();
        Err(Refusal::guard(
            typed,
            format!(
                "'{typed}'{what} is in use and will not be written: {}. No option lets a device in use through; \
                 release it first (umount, swapoff, vgchange -an, mdadm --stop), or test reads only (-w0)",
                claim.by.join("; ")
            ),
        ))
    }

    fn check_blank(&self, typed: &str, path: &Path, scan: &Scan) -> Result<(), Refusal> {
        if scan.signatures.is_empty() || self.is_let_through(typed, path) {
            return Ok(());
        }
        let found: Vec<String> = scan.signatures.iter().map(ToString::to_string).collect();
        Err(Refusal::guard(
            typed,
            format!(
                "'{typed}' holds {}, which a write test would destroy. If that is what you want, name it again: \
                 --overwrite {typed}; otherwise test reads only (-w0)",
                found.join(" and ")
            ),
        ))
    }

    fn check_file(&self, typed: &str, path: &Path, file: &File, facts: &TargetFacts) -> Result<(), Refusal> {
        for name in loop_devices_of(path, self.roots) {
            let device_path = self.roots.dev.join(&name);
            if let Ok(metadata) = std::fs::metadata(&device_path) {
                let refused = |r: Refusal| Refusal {
                    message: format!("'{typed}' is the backing file of /dev/{name}: {}", r.message),
                    ..r
                };
                let device = DeviceNumber::from_raw(metadata.rdev());
                self.check_unclaimed(typed, &device_path, device).map_err(refused)?;
            }
        }
        if facts.size_bytes == 0 || self.is_let_through(typed, path) {
            return Ok(());
        }
        if !self.marks.is_ours(file) {
            return Err(foreign(typed, "and a write test would destroy what it holds"));
        }
        // Made by us, but somebody may have put a file system into it since.
        let scan = signatures(file, path).map_err(|e| Refusal::guard(typed, e.to_string()))?;
        self.check_blank(typed, path, &scan)
    }

    /// May `-c` do what was decided? Replacing or writing a foreign file needs the person's word.
    ///
    /// # Errors
    /// As [`Guard::check`].
    pub fn check_creation(
        &self,
        typed: &str,
        path: &Path,
        decision: &Reuse,
        writes: bool,
        recreate: bool,
    ) -> Result<(), Refusal> {
        let let_through = self.is_let_through(typed, path);
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
            _ => Ok(()),
        }
    }
}

fn foreign(typed: &str, why: &str) -> Refusal {
    Refusal::guard(
        typed,
        format!(
            "'{typed}' was not made by TrueSpd, {why}. If its content does not matter, name it again: \
             --overwrite {typed}; or give another path with -c<size>, which creates a test file"
        ),
    )
}
