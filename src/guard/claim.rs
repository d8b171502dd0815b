//! Who claims a block device.
//!
//! The kernel answers whether: a claimed device (mounted, swap, part of device-mapper, md, ...; also
//! through one of its partitions) cannot be opened with `O_EXCL`. Mountinfo, the list of swap areas and
//! sysfs answer who. Loop devices do not claim what they stand on, and neither do programs that write to a
//! device: those are looked for besides.

use std::fs;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::hold::is_held;
use crate::guard::openers::Opener;
use crate::guard::uses::{Use, Uses};
use crate::guard::{GuardError, file_in_use, openers};
use crate::machine::device::{BlockDevice, DeviceNumber, loop_devices_over};
use crate::machine::roots::Roots;
use crate::sys::error::{errno_text, system_text};
use crate::text::{printable, printable_path};

/// Something other than this test has the device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Each claimant in words, e.g. "its partition sda1 is mounted at /boot (vfat)"; never empty.
    pub by: Vec<String>,
    /// The running system stands on the device, or on the disk that it is a partition of.
    pub is_system: bool,
}

/// How often to look again when the device is claimed and nobody is seen to claim it: another test may be
/// making this same check at this moment.
const LOOKS: u32 = 12;
const LOOK_PAUSE: Duration = Duration::from_millis(100);

/// Who claims the block device that was opened as `file` by `path`; `None`: nobody.
///
/// Everything about it counts: its partitions, its disk, what is built on any of them, loop devices over
/// it, and below a loop device what that stands on. The device is held exclusively for a moment only.
///
/// # Errors
/// [`GuardError::Open`], [`GuardError::Changed`].
pub fn claim(file: &File, path: &Path, roots: &Roots) -> Result<Option<Claim>, GuardError> {
    let failed = |e: std::io::Error| GuardError::Open { path: printable_path(path), text: system_text(&e) };
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.file_type().is_block_device() {
        return Err(GuardError::Changed { path: printable_path(path) });
    }
    let device = DeviceNumber::from_raw(metadata.rdev());
    let own = format!("/proc/self/fd/{}", file.as_raw_fd());
    let mut visited = Vec::new();
    let uses = Look { roots }.at(&[Path::new(&own), path], device, &mut visited)?;
    Ok((!uses.is_empty()).then(|| Claim {
        is_system: uses.iter().any(|u| u.is_system),
        by: uses.into_iter().map(|u| u.words).collect(),
    }))
}

struct Look<'a> {
    roots: &'a Roots,
}

impl Look<'_> {
    /// Everybody who uses the device. `paths` lead to it; `visited` are the devices asked about already.
    fn at(
        &self,
        paths: &[&Path],
        device: DeviceNumber,
        visited: &mut Vec<DeviceNumber>,
    ) -> Result<Vec<Use>, GuardError> {
        visited.push(device);
        let mut writers: Option<Vec<Opener>> = None;
        for look in 1..=LOOKS {
            let is_busy = is_busy(paths, device)? && !Self::is_held_by_a_run(paths, device);
            let mut found = Uses::read(self.roots).of(device);
            let asked = visited.len();
            found.extend(self.through_loops(device, visited)?);
            found.extend(self.below(device, visited)?);
            found.extend(self.twins(device, visited)?);
            if is_busy {
                found.extend(self.runs_beside(device));
            }
            // A tool that looks at many devices may have this one open for a moment: only who stays counts.
            let now: Vec<Opener> = openers::of(device, self.roots).into_iter().filter(|o| o.writes).collect();
            let stayed = match writers.take() {
                Some(before) => now.into_iter().filter(|o| before.contains(o)).collect(),
                None => now,
            };
            if !found.is_empty() || (!is_busy && stayed.is_empty()) || (look == LOOKS && !stayed.is_empty()) {
                found.extend(stayed.iter().map(|o| Use::plain(o.to_string())));
                return Ok(found);
            }
            writers = Some(stayed);
            if look < LOOKS {
                visited.truncate(asked);
                std::thread::sleep(LOOK_PAUSE);
            }
        }
        let unknown = "it is claimed by something that the kernel does not name here: a mount of another \
                       namespace (container), a ZFS pool, or a program that opened it exclusively; lsblk, lsof and \
                       zpool status may show it";
        let mut found = vec![Use::plain(unknown.to_string())];
        found.extend(openers::of(device, self.roots).iter().map(|p| Use::plain(p.to_string())));
        Ok(found)
    }

    /// Whether a run of this program holds the device: then nobody else has claimed it, or a part of it.
    fn is_held_by_a_run(paths: &[&Path], device: DeviceNumber) -> bool {
        paths.iter().any(|path| device_at(path) == Some(device) && is_held(path))
    }

    /// Runs that hold a partition of the device, or the disk it is a partition of: they would write the same bytes,
    /// and the claims of both cannot be had.
    fn runs_beside(&self, device: DeviceNumber) -> Vec<Use> {
        let Some(own) = BlockDevice::find(device, self.roots) else { return Vec::new() };
        let involved = own.involved().into_iter().filter(|part| *part != own);
        let held = involved.filter(|part| is_held(&self.roots.dev.join(part.node_name())));
        held.map(|part| {
            let what = if part.is_partition() { "its partition" } else { "the whole disk" };
            Use::plain(format!("{what} {} is being tested, by this run of TrueSpd or another", part.name))
        })
        .collect()
    }

    /// The same storage under another name: a path of a multipath device, a LUN seen through two ports. The kernel
    /// keeps claims for each name apart.
    fn twins(&self, device: DeviceNumber, visited: &mut Vec<DeviceNumber>) -> Result<Vec<Use>, GuardError> {
        let Some(own) = BlockDevice::find(device, self.roots) else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for (disk, part) in own.twins(self.roots) {
            // A claim on the disk shows when its partition is asked; whole disks answer for their partitions.
            let by = self.ask(part.as_ref().unwrap_or(&disk), visited)?;
            let words =
                format!("{} is the same storage by another name and is in use", printable(&disk.name));
            found.extend(Use::summed(&words, by));
        }
        Ok(found)
    }

    /// The node of a device in `/dev`, when it is there and means that device.
    fn ask(&self, device: &BlockDevice, visited: &mut Vec<DeviceNumber>) -> Result<Vec<Use>, GuardError> {
        let Some(number) = device.number().filter(|n| !visited.contains(n)) else { return Ok(Vec::new()) };
        let node = self.roots.dev.join(device.node_name());
        if node.exists() {
            return self.at(&[&node], number, visited);
        }
        // No node to ask the kernel with, as in a container: what is seen must do.
        visited.push(number);
        Ok(Uses::read(self.roots).of(number))
    }

    /// Users of loop devices that stand on the device, a partition of it or its disk.
    fn through_loops(
        &self,
        device: DeviceNumber,
        visited: &mut Vec<DeviceNumber>,
    ) -> Result<Vec<Use>, GuardError> {
        let numbers = match BlockDevice::find(device, self.roots) {
            Some(own) => own.involved().iter().filter_map(BlockDevice::number).collect(),
            None => vec![device],
        };
        let mut found = Vec::new();
        for above in loop_devices_over(&numbers, self.roots) {
            let by = self.ask(&above, visited)?;
            let words = format!("{} stands on it and is itself in use", printable(&above.describe()));
            found.extend(Use::summed(&words, by));
        }
        Ok(found)
    }

    /// What a loop device stands on, or what the devices below a device stand on, may be in use by others.
    fn below(&self, device: DeviceNumber, visited: &mut Vec<DeviceNumber>) -> Result<Vec<Use>, GuardError> {
        let Some(own) = BlockDevice::find(device, self.roots) else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for part in own.whole_disk().iter().chain([&own]) {
            for slave in part.slaves() {
                if let Some(number) = slave.number().filter(|n| !visited.contains(n)) {
                    visited.push(number);
                    found.extend(self.below(number, visited)?);
                }
            }
            if let Some(file) = part.loop_backing_file() {
                found.extend(self.below_loop(part, &file, visited)?);
            }
        }
        Ok(found)
    }

    fn below_loop(
        &self,
        own: &BlockDevice,
        file: &Path,
        visited: &mut Vec<DeviceNumber>,
    ) -> Result<Vec<Use>, GuardError> {
        let Ok(metadata) = fs::metadata(file) else { return Ok(Vec::new()) };
        let shown = printable_path(file);
        if metadata.file_type().is_block_device() {
            let number = DeviceNumber::from_raw(metadata.rdev());
            let Some(below) = BlockDevice::find(number, self.roots) else { return Ok(Vec::new()) };
            let words = format!("{shown}, which it stands on, is in use");
            return Ok(Use::summed(&words, self.ask(&below, visited)?).into_iter().collect());
        }
        let mut found = Vec::new();
        for user in file_in_use(file, self.roots) {
            let Some(name) = &user.loop_device else {
                found.push(Use::plain(format!("{shown}, the file it stands on, {}", user.words)));
                continue;
            };
            let other = BlockDevice::named(name, self.roots).filter(|other| other != own);
            if let Some(other) = other {
                let words = format!("{name} stands on the same file and is in use");
                found.extend(Use::summed(&words, self.ask(&other, visited)?));
            }
        }
        Ok(found)
    }
}

/// Asks the kernel by opening exclusively, by the first of the paths that leads somewhere.
fn is_busy(paths: &[&Path], device: DeviceNumber) -> Result<bool, GuardError> {
    let name = || printable_path(paths.last().copied().unwrap_or(Path::new("")));
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
    let mut answer = Err(Errno::NOENT);
    for path in paths {
        answer = rustix::fs::open(*path, flags, Mode::empty());
        // Without procfs the path must do.
        if !matches!(answer, Err(Errno::NOENT | Errno::NOTDIR)) {
            break;
        }
    }
    match answer {
        Ok(fd) => {
            let failed = |e: std::io::Error| GuardError::Open { path: name(), text: system_text(&e) };
            let metadata = File::from(fd).metadata().map_err(failed)?;
            let same =
                metadata.file_type().is_block_device() && DeviceNumber::from_raw(metadata.rdev()) == device;
            if same { Ok(false) } else { Err(GuardError::Changed { path: name() }) }
        }
        Err(Errno::BUSY) => Ok(true),
        Err(errno) => Err(GuardError::Open { path: name(), text: errno_text(errno.raw_os_error()) }),
    }
}

/// Node of a device given by a path in `/dev` or elsewhere; `None` when it is no block device.
pub(super) fn device_at(path: &Path) -> Option<DeviceNumber> {
    let metadata = fs::metadata(path).ok().filter(|m| m.file_type().is_block_device())?;
    Some(DeviceNumber::from_raw(metadata.rdev()))
}

/// A path as the kernel lists it, without the remark that the file has no name any more.
pub(super) fn without_remark(path: &Path) -> PathBuf {
    let text = path.to_string_lossy();
    text.strip_suffix(" (deleted)").map_or_else(|| path.to_path_buf(), PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_device_is_told_apart() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = claim(file.as_file(), file.path(), &Roots::default()).unwrap_err();
        assert!(matches!(error, GuardError::Changed { .. }), "{error}");
        let sda = DeviceNumber { major: 8, minor: 0 };
        let error = is_busy(&[file.path()], sda).unwrap_err();
        assert!(matches!(error, GuardError::Changed { .. }), "{error}");
        let error = is_busy(&[Path::new("/no/such"), Path::new("/no/such/too")], sda).unwrap_err();
        assert!(error.to_string().ends_with("No such file or directory"), "{error}");
    }
}
