//! Who claims a block device.
//!
//! The kernel tells whether it is claimed: a claimed device (mounted, swap, part of device-mapper, md, ...; also
//! through one of its partitions) cannot be opened with `O_EXCL`. Mountinfo, the list of swap areas and
//! sysfs tell by whom. Loop devices do not claim the device below them, and programs that write to a device do
//! not claim it either: both are searched for separately.

use std::fmt;
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

use super::claimant::{How, Listed, Use};
use super::error::GuardError;
use super::files::{FileUse, uses_below};
use super::hold::is_held;
use super::missing::{Fact, Missing, Unseen};
use super::openers::{self, Opener};
use super::subject::Subject;
use super::uses::{Uses, device_at};
use crate::machine::device::{BlockDevice, DeviceNumber};
use crate::machine::loops::{Below, Ground, backing_file, standing_on};
use crate::machine::roots::Roots;
use crate::machine::sight::sight;
use crate::sys::error::{Code, system_text};
use crate::sys::identity::block_device;
use crate::sys::open::{Reading, own_path, read};
use crate::text::printable_path;

/// Who has a device besides this test, and what is not known of that.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Claim {
    /// Each claimant.
    pub by: Vec<Use>,
    /// The running system is on the device, or on the disk that it is a partition of.
    pub is_system: bool,
    /// What nothing tells here.
    pub missing: Vec<Missing>,
    /// Whose writing is not visible with the rights of this process.
    pub unseen: Option<Unseen>,
}

impl fmt::Display for Claim {
    /// For example: its partition sda1 is mounted at /boot (vfat); it is in use as swap
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Listed(&self.by).fmt(f)
    }
}

/// A device that is claimed, but by nothing that can be found, is checked this often: another test may be making the
/// same check at that moment.
const CHECKS: u32 = 12;
const CHECK_PAUSE: Duration = Duration::from_millis(100);

/// Who claims the block device that was opened as `file` by `path`.
///
/// Everything about it counts: its partitions, its disk, what is built on any of them, loop devices over
/// it, and the file or device below a loop device. The device is held exclusively for a moment only.
///
/// # Errors
/// [`GuardError::Open`], [`GuardError::Changed`].
pub fn claim(file: &File, path: &Path, roots: &Roots) -> Result<Claim, GuardError> {
    let failed = |e: io::Error| GuardError::Open { path: printable_path(path), text: system_text(&e) };
    let Some(number) = block_device(file).map_err(failed)? else {
        return Err(GuardError::Changed { path: printable_path(path) });
    };
    let mut search = Search { roots, visited: Vec::new(), missing: Vec::new() };
    let by = search.at(&[&own_path(file), path], DeviceNumber::from_raw(number))?;
    Ok(Claim {
        is_system: by.iter().any(|u| u.is_system),
        by,
        missing: search.missing,
        unseen: Unseen::beyond(sight(roots)),
    })
}

struct Search<'a> {
    roots: &'a Roots,
    /// Devices that were asked about already.
    visited: Vec<DeviceNumber>,
    missing: Vec<Missing>,
}

impl Search<'_> {
    /// Everybody who uses the device. `paths` lead to it.
    fn at(&mut self, paths: &[&Path], device: DeviceNumber) -> Result<Vec<Use>, GuardError> {
        self.visited.push(device);
        let mut writers: Option<Vec<Opener>> = None;
        for check in 1..=CHECKS {
            let is_busy = is_busy(paths, device)? && !self.is_held_by_a_run(paths, device);
            let mut found = self.listed(device);
            let asked = self.visited.len();
            found.extend(self.through_loops(device)?);
            found.extend(self.below(device)?);
            found.extend(self.twins(device)?);
            if is_busy {
                found.extend(self.runs_beside(device));
            }
            // A tool that reads many devices may have this one open for a moment: only processes that keep it
            // open count.
            let now: Vec<Opener> = self.openers(device).into_iter().filter(|o| o.writes).collect();
            let stayed = match writers.take() {
                Some(before) => now.into_iter().filter(|o| before.contains(o)).collect(),
                None => now,
            };
            if !found.is_empty() || (!is_busy && stayed.is_empty()) || (check == CHECKS && !stayed.is_empty())
            {
                found.extend(stayed.into_iter().map(|opener| Use::plain(How::Open(opener))));
                return Ok(found);
            }
            writers = Some(stayed);
            if check < CHECKS {
                self.visited.truncate(asked);
                std::thread::sleep(CHECK_PAUSE);
            }
        }
        let mut found = vec![Use::plain(How::Unknown)];
        found.extend(self.openers(device).into_iter().map(|opener| Use::plain(How::Open(opener))));
        Ok(found)
    }

    /// Notes what is not known, each once.
    fn miss(&mut self, missing: impl IntoIterator<Item = Missing>) {
        for one in missing {
            if !self.missing.contains(&one) {
                self.missing.push(one);
            }
        }
    }

    /// Users that the kernel lists.
    fn listed(&mut self, device: DeviceNumber) -> Vec<Use> {
        let uses = Uses::read(self.roots);
        let found = uses.of(device);
        self.miss(uses.missing);
        found
    }

    /// Processes that have the device open. A search that failed once is not repeated: it may have taken long.
    fn openers(&mut self, device: DeviceNumber) -> Vec<Opener> {
        if self.missing.iter().any(|missing| missing.fact == Fact::Programs) {
            return Vec::new();
        }
        openers::of(device, self.roots).unwrap_or_else(|missing| {
            self.miss([missing]);
            Vec::new()
        })
    }

    /// The device in sysfs.
    fn shown(&mut self, device: DeviceNumber) -> Option<BlockDevice> {
        let shown = BlockDevice::shown(device, self.roots);
        shown.map_err(|why| self.miss([Missing::new(Fact::Layers, why)])).ok()
    }

    /// Whether a run of this program holds the device: then nobody else has claimed it, or a part of it.
    fn is_held_by_a_run(&self, paths: &[&Path], device: DeviceNumber) -> bool {
        paths.iter().any(|path| device_at(path) == Some(device) && is_held(path, self.roots))
    }

    /// Runs that hold a partition of the device, or the disk it is a partition of: they would write the same bytes,
    /// and the claims of both cannot be had.
    fn runs_beside(&self, device: DeviceNumber) -> Vec<Use> {
        let Some(own) = BlockDevice::find(device, self.roots) else { return Vec::new() };
        let involved = own.involved().into_iter().filter(|part| *part != own);
        let held = involved.filter(|part| is_held(&self.roots.dev.join(part.node_name()), self.roots));
        held.map(|part| Use::plain(How::Tested { what: Subject::of(&part, &own) })).collect()
    }

    /// The same storage under another name: a path of a multipath device, a LUN seen through two ports. The kernel
    /// keeps claims for each name apart.
    fn twins(&mut self, device: DeviceNumber) -> Result<Vec<Use>, GuardError> {
        let Some(own) = self.shown(device) else { return Ok(Vec::new()) };
        let twins = own.twins(self.roots).unwrap_or_else(|why| {
            self.miss([Missing::new(Fact::Layers, why)]);
            Vec::new()
        });
        let mut found = Vec::new();
        for (disk, part) in twins {
            // A claim on the disk shows when its partition is asked; whole disks answer for their partitions.
            let by = self.ask(part.as_ref().unwrap_or(&disk))?;
            found.extend(Use::summed(by, |by| How::Twin { disk: disk.name.clone(), by }));
        }
        Ok(found)
    }

    /// The node of a device in `/dev`, when it is there and means that device.
    fn ask(&mut self, device: &BlockDevice) -> Result<Vec<Use>, GuardError> {
        let Some(number) = device.number().filter(|n| !self.visited.contains(n)) else {
            return Ok(Vec::new());
        };
        let node = self.roots.dev.join(device.node_name());
        if node.exists() {
            return self.at(&[&node], number);
        }
        // There is no node to open, as in a container: what sysfs and mountinfo tell must do.
        self.visited.push(number);
        Ok(self.listed(number))
    }

    /// Users of loop devices over the device, a partition of it or its disk.
    fn through_loops(&mut self, device: DeviceNumber) -> Result<Vec<Use>, GuardError> {
        let Some(own) = self.shown(device) else { return Ok(Vec::new()) };
        let below = |part: BlockDevice| {
            let number = part.number()?;
            Some(Below { identity: number.identity(), size_bytes: part.size_bytes().unwrap_or(u64::MAX) })
        };
        let parts: Vec<Below> = own.involved().into_iter().filter_map(below).collect();
        let loops = standing_on(&parts, self.roots).unwrap_or_else(|why| {
            self.miss([Missing::new(Fact::Loops, why)]);
            Vec::new()
        });
        let mut found = Vec::new();
        for above in loops {
            let by = self.ask(&above)?;
            found.extend(Use::summed(by, |by| How::BelowLoop { device: above.describe(), by }));
        }
        Ok(found)
    }

    /// The file or device below a loop device, or below a device in the stack, may be in use by others.
    fn below(&mut self, device: DeviceNumber) -> Result<Vec<Use>, GuardError> {
        let Some(own) = self.shown(device) else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for part in own.whole_disk().iter().chain([&own]) {
            for slave in part.slaves() {
                if let Some(number) = slave.number().filter(|n| !self.visited.contains(n)) {
                    self.visited.push(number);
                    found.extend(self.below(number)?);
                }
            }
            match backing_file(part) {
                Ok(Some(file)) => found.extend(self.below_loop(part, &file)?),
                Ok(None) => {}
                Err(why) => self.miss([Missing::new(Fact::Loops, why)]),
            }
        }
        Ok(found)
    }

    fn below_loop(&mut self, own: &BlockDevice, file: &Path) -> Result<Vec<Use>, GuardError> {
        let Some(ground) = Ground::of(own, file, self.roots) else {
            let why = format!("{}: {}", printable_path(file), system_text(&Code::NOT_FOUND.into()));
            self.miss([Missing::new(Fact::Loops, why)]);
            return Ok(Vec::new());
        };
        if let Some(number) = DeviceNumber::of(ground.own()) {
            let Some(below) = self.shown(number) else { return Ok(Vec::new()) };
            let by = self.ask(&below)?;
            let over = Use::summed(by, |by| How::OverDevice { node: file.to_path_buf(), by });
            return Ok(over.into_iter().collect());
        }
        let unknown =
            ground.unknown.map(|why| Missing::new(Fact::Beneath, format!("{}: {why}", printable_path(file))));
        self.miss(unknown);
        let size_bytes = own.size_bytes().unwrap_or(u64::MAX);
        let files: Vec<Below> =
            ground.identities.into_iter().map(|identity| Below { identity, size_bytes }).collect();
        let below = uses_below(&files, self.roots);
        self.miss(below.missing);
        let mut found = Vec::new();
        for user in below.uses {
            let FileUse::Loop { device: name, .. } = &user else {
                found.push(Use::plain(How::OverFile { file: file.to_path_buf(), user }));
                continue;
            };
            let other = BlockDevice::named(name, self.roots).filter(|other| other != own);
            if let Some(other) = other {
                let by = self.ask(&other)?;
                found.extend(Use::summed(by, |by| How::SameFile { device: name.clone(), by }));
            }
        }
        Ok(found)
    }
}

/// Asks the kernel by opening exclusively, by the first of the paths that leads somewhere.
fn is_busy(paths: &[&Path], device: DeviceNumber) -> Result<bool, GuardError> {
    let name = || printable_path(paths.last().copied().unwrap_or(Path::new("")));
    let failed = |e: io::Error| GuardError::Open { path: name(), text: system_text(&e) };
    let exclusive = Reading { exclusive: true, ..Reading::default() };
    let mut answer = Err(io::ErrorKind::NotFound.into());
    for path in paths {
        answer = read(path, exclusive);
        // Without procfs the path must do.
        let leads_nowhere = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
        if !answer.as_ref().is_err_and(|e| leads_nowhere.contains(&e.kind())) {
            break;
        }
    }
    match answer {
        Ok(file) => {
            if block_device(&file).map_err(failed)?.map(DeviceNumber::from_raw) == Some(device) {
                Ok(false)
            } else {
                Err(GuardError::Changed { path: name() })
            }
        }
        Err(e) if e.kind() == io::ErrorKind::ResourceBusy => Ok(true),
        Err(e) => Err(failed(e)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::made::symlink;
    use std::fs;

    #[test]
    fn all_claimants_are_told_in_one_line() {
        let by = [How::Swap { what: Subject::It }, How::Unknown].map(Use::plain).to_vec();
        let words = Claim { by, ..Claim::default() }.to_string();
        assert!(words.starts_with("it is in use as swap; it is in exclusive use, "), "{words}");
    }

    #[test]
    fn programs_are_searched_for_whatever_else_is_not_known_and_once_only() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots { proc: dir.path().to_path_buf(), ..Roots::default() };
        // Any node will do: it is not opened.
        let known = BlockDevice::all(&Roots::default()).unwrap_or_default();
        let node = |device: &BlockDevice| Some((roots.dev.join(device.node_name()), device.number()?));
        let mut known = known.iter().filter_map(node);
        let Some((node, number)) = known.find(|(node, number)| device_at(node) == Some(*number)) else {
            return;
        };
        for name in ["self", "4194305/fd", "4194305/fdinfo"] {
            fs::create_dir_all(dir.path().join(name)).unwrap();
        }
        symlink(node, dir.path().join("4194305/fd/3")).unwrap();
        fs::write(dir.path().join("4194305/fdinfo/3"), "flags:\t02\n").unwrap();
        let mut search = Search { roots: &roots, visited: Vec::new(), missing: Vec::new() };
        search.miss([Missing::new(Fact::Loops, "hidden")]);
        assert_eq!(search.openers(number).len(), 1);
        search.miss([Missing::new(Fact::Programs, "it took too long")]);
        assert_eq!(search.openers(number), [], "the next search would take as long");
        assert_eq!(search.missing.len(), 2);
    }

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
