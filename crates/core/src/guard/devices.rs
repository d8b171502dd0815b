//! Who claims a block device.
//!
//! The kernel tells whether it is claimed: a claimed device (mounted, swap, part of device-mapper, md, ...; also
//! through one of its partitions) cannot be opened with `O_EXCL`. Mountinfo, the list of swap areas and
//! sysfs tell by whom. Loop devices do not claim the device below them, and programs that write to a device do
//! not claim it either: both are searched for separately.
//!
//! Who uses a block device, as data, and how a message says it.
//!
//! The known users of a block device: mounts, swap areas, holders, and whether the running system is among
//! them. Read from mountinfo, the list of swap areas and sysfs; nothing is opened.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, fs, io};

use super::facts::{Fact, GuardError, Missing, Subject, Unseen};
use super::files::{FileUse, uses_below};
use super::hold::is_held;
use super::openers;
use super::openers::Opener;
use crate::machine::beneath::{Below, Ground, backing_file, standing_on};
use crate::machine::device::{BlockDevice, DeviceNumber};
use crate::machine::host::sight;
use crate::machine::mounts::{Mount, mountinfo, parse_mountinfo, read_mounts, read_swaps, swaps};
use crate::machine::roots::Roots;
use crate::sys::error::{Code, system_text};
use crate::sys::file::{ReadOptions, own_path, read};
use crate::sys::identity::{block_device, block_device_at};
use crate::sys::source;
use crate::text::{printable, printable_path};

/// Who has a device besides this test, and what is not known of that.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Claim {
    pub by: Vec<Use>,
    /// The running system is on the device, or on the disk that it is a partition of.
    pub is_system: bool,
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
const CLAIM_CHECKS: u32 = 12;
const CLAIM_CHECK_PAUSE: Duration = Duration::from_millis(100);

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
        for check in 1..=CLAIM_CHECKS {
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
            if !found.is_empty()
                || (!is_busy && stayed.is_empty())
                || (check == CLAIM_CHECKS && !stayed.is_empty())
            {
                found.extend(stayed.into_iter().map(|opener| Use::plain(UseKind::Open(opener))));
                return Ok(found);
            }
            writers = Some(stayed);
            if check < CLAIM_CHECKS {
                self.visited.truncate(asked);
                std::thread::sleep(CLAIM_CHECK_PAUSE);
            }
        }
        let mut found = vec![Use::plain(UseKind::Unknown)];
        found.extend(self.openers(device).into_iter().map(|opener| Use::plain(UseKind::Open(opener))));
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
        held.map(|part| Use::plain(UseKind::Tested { what: Subject::of(&part, &own) })).collect()
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
            found.extend(Use::summed(by, |by| UseKind::Twin { disk: disk.name.clone(), by }));
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
            found.extend(Use::summed(by, |by| UseKind::BelowLoop { device: above.describe(), by }));
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
            let over = Use::summed(by, |by| UseKind::OverDevice { node: file.to_path_buf(), by });
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
                found.push(Use::plain(UseKind::OverFile { file: file.to_path_buf(), user }));
                continue;
            };
            let other = BlockDevice::named(name, self.roots).filter(|other| other != own);
            if let Some(other) = other {
                let by = self.ask(&other)?;
                found.extend(Use::summed(by, |by| UseKind::SameFile { device: name.clone(), by }));
            }
        }
        Ok(found)
    }
}

/// Asks the kernel by opening exclusively, by the first of the paths that leads somewhere.
fn is_busy(paths: &[&Path], device: DeviceNumber) -> Result<bool, GuardError> {
    let name = || printable_path(paths.last().copied().unwrap_or(Path::new("")));
    let failed = |e: io::Error| GuardError::Open { path: name(), text: system_text(&e) };
    let exclusive = ReadOptions { exclusive: true, ..ReadOptions::default() };
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

/// One user of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    /// The running system is on it.
    pub is_system: bool,
    /// Who uses what of it, and how.
    pub how: UseKind,
}

/// How something is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UseKind {
    /// Its file system is mounted.
    Mounted {
        /// What is mounted.
        what: Subject,
        /// Where.
        point: PathBuf,
        /// Type of the file system.
        filesystem: String,
    },
    /// It holds a part of a file system that is mounted from another device: a log, a journal.
    Serves {
        /// What holds it.
        what: Subject,
        /// Where the file system is mounted.
        point: PathBuf,
        /// Type of the file system.
        filesystem: String,
    },
    /// It is one of the devices of a mounted btrfs.
    InBtrfs {
        /// What is.
        what: Subject,
        /// Where that is mounted, when this process sees it.
        point: Option<PathBuf>,
    },
    /// Swap.
    Swap {
        /// What is swapped to.
        what: Subject,
    },
    /// Another device is made of it.
    PartOf {
        /// What it is made of.
        what: Subject,
        /// Description of that device.
        holder: String,
    },
    /// A neighbour on the same disk carries the running system.
    BesideSystem {
        /// Kernel name of the disk.
        disk: String,
        /// Uses of the neighbours.
        by: Vec<Use>,
    },
    /// A loop device over it is in use.
    BelowLoop {
        /// Description of the loop device.
        device: String,
        /// Uses of that.
        by: Vec<Use>,
    },
    /// It is a loop device over another device that is in use.
    OverDevice {
        /// Node of the other device.
        node: PathBuf,
        /// Uses of that.
        by: Vec<Use>,
    },
    /// It is a loop device over a file that is in use.
    OverFile {
        /// The file.
        file: PathBuf,
        /// Its use.
        user: FileUse,
    },
    /// Another loop device over the same file is in use.
    SameFile {
        /// Kernel name of the other one.
        device: String,
        /// Uses of that.
        by: Vec<Use>,
    },
    /// The same storage is in use by another name: a path of a multipath device.
    Twin {
        /// Kernel name of the disk by that name.
        disk: String,
        /// Uses of that.
        by: Vec<Use>,
    },
    /// A run of this program tests a part of it, or the disk it is a part of.
    Tested {
        /// [`Subject::Partition`] or [`Subject::WholeDisk`].
        what: Subject,
    },
    /// A process has it open.
    Open(Opener),
    /// The kernel says that it is claimed, and nobody is seen to claim it.
    Unknown,
}

impl Use {
    /// A use that the running system does not depend on.
    pub(super) fn plain(how: UseKind) -> Self {
        Use { is_system: false, how }
    }

    /// Several uses of another device as one of this; `None` when there are none.
    pub(super) fn summed(by: Vec<Use>, how: impl FnOnce(Vec<Use>) -> UseKind) -> Option<Self> {
        let is_system = by.iter().any(|u| u.is_system);
        (!by.is_empty()).then(|| Use { is_system, how: how(by) })
    }
}

impl fmt::Display for Use {
    /// For example: it is mounted at /boot (vfat)
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.how {
            UseKind::Mounted { what, point, filesystem } => {
                write!(f, "{what} is mounted at {} ({})", printable_path(point), printable(filesystem))
            }
            UseKind::Serves { what, point, filesystem } => {
                let (point, filesystem) = (printable_path(point), printable(filesystem));
                write!(f, "{what} is used by the file system mounted at {point} ({filesystem})")
            }
            UseKind::InBtrfs { what, point: Some(point) } => {
                write!(f, "{what} is part of the btrfs file system mounted at {}", printable_path(point))
            }
            UseKind::InBtrfs { what, point: None } => write!(f, "{what} is part of a mounted btrfs file system"),
            UseKind::Swap { what } => write!(f, "{what} is in use as swap"),
            UseKind::PartOf { what, holder } => write!(f, "{what} is part of {}", printable(holder)),
            UseKind::BesideSystem { disk, by } => {
                write!(f, "the running system is on the same disk, {disk}: {}", Listed(by))
            }
            UseKind::BelowLoop { device, by } => {
                write!(f, "{} is built on it and is in use: {}", printable(device), Listed(by))
            }
            UseKind::OverDevice { node, by } => {
                write!(f, "{}, which it is built on, is in use: {}", printable_path(node), Listed(by))
            }
            UseKind::OverFile { file, user } => {
                write!(f, "{}, the file behind it, {user}", printable_path(file))
            }
            UseKind::SameFile { device, by } => {
                write!(f, "{device} has the same file behind it and is in use: {}", Listed(by))
            }
            UseKind::Twin { disk, by } => {
                let disk = printable(disk);
                write!(f, "{disk} is the same storage under another name and is in use: {}", Listed(by))
            }
            UseKind::Tested { what } => {
                write!(f, "{what} is being tested by this or another run of TrueSpd")
            }
            UseKind::Open(opener) => opener.fmt(f),
            UseKind::Unknown => f.write_str(
                "it is in exclusive use, and the kernel does not tell by what: perhaps a mount in another namespace \
                 (container), a ZFS pool, or a program that opened it exclusively; lsblk, lsof or zpool status may \
                 show it",
            ),
        }
    }
}

/// Uses one after the other.
pub(super) struct Listed<'a>(pub &'a [Use]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().enumerate().try_for_each(|(i, by)| match i {
            0 => by.fmt(f),
            _ => write!(f, "; {by}"),
        })
    }
}

/// What the kernel lists, read once for a question.
pub(super) struct Uses<'a> {
    mounts: Vec<Mount>,
    swaps: Vec<PathBuf>,
    /// Lists that could not be read.
    pub missing: Vec<Missing>,
    roots: &'a Roots,
}

/// Everybody who is seen to use a device, its partitions or what is built on them, without opening it.
pub fn users(device: DeviceNumber, roots: &Roots) -> Vec<Use> {
    Uses::read(roots).of(device)
}

/// Where the files are that the running system cannot do without.
const SYSTEM_PLACES: &[&str] = &["/boot", "/efi", "/usr", "/etc"];

fn is_system_place(point: &Path) -> bool {
    point == Path::new("/") || SYSTEM_PLACES.iter().any(|place| point.starts_with(place))
}

impl<'a> Uses<'a> {
    pub fn read(roots: &'a Roots) -> Self {
        let mut missing = Vec::new();
        let mut mounts = read_mounts(roots).unwrap_or_else(|error| {
            let why = format!("{}: {}", printable_path(&mountinfo(roots)), system_text(&error));
            missing.push(Missing::new(Fact::Mounts, why));
            Vec::new()
        });
        // The first process sees the machine's own mounts, also when this one is shut into a part of them.
        let first = source::read_table(&roots.proc.join("1/mountinfo")).map(|text| parse_mountinfo(&text));
        for mount in first.unwrap_or_default() {
            if !mounts.iter().any(|m| m.device == mount.device && m.mount_point == mount.mount_point) {
                mounts.push(mount);
            }
        }
        let swaps = read_swaps(roots).unwrap_or_else(|error| {
            let why = format!("{}: {}", printable_path(&swaps(roots)), system_text(&error));
            missing.push(Missing::new(Fact::Swaps, why));
            Vec::new()
        });
        Uses { mounts, swaps, missing, roots }
    }

    /// Everybody who is seen to use the device, its partitions, its disk, or what is built on them.
    pub fn of(&self, device: DeviceNumber) -> Vec<Use> {
        let Some(own) = BlockDevice::find(device, self.roots) else {
            return self
                .mounts
                .iter()
                .filter(|m| m.device == device)
                .map(|m| mounted(&Subject::It, m))
                .collect();
        };
        let mut found = Vec::new();
        for part in &own.involved() {
            found.extend(self.of_part(part, &Subject::of(part, &own)));
        }
        found.extend(self.system_beside(&own));
        found
    }

    /// Uses of one device and of what is stacked on it.
    fn of_part(&self, part: &BlockDevice, subject: &Subject) -> Vec<Use> {
        let mut found = self.direct(part, subject);
        for holder in part.holders() {
            let mut seen = vec![holder.name.clone()];
            let above = self.above(&holder, &mut seen);
            found.push(Use::plain(UseKind::PartOf { what: subject.clone(), holder: holder.describe() }));
            found.extend(above);
        }
        found
    }

    /// A partition whose neighbour carries the running system.
    fn system_beside(&self, own: &BlockDevice) -> Option<Use> {
        let disk = own.whole_disk()?;
        let neighbours = disk.partitions().into_iter().filter(|part| part != own);
        let by: Vec<Use> = neighbours
            .flat_map(|part| self.of_part(&part, &Subject::Other(part.name.clone())))
            .filter(|use_of| use_of.is_system)
            .collect();
        Use::summed(by, |by| UseKind::BesideSystem { disk: disk.name.clone(), by })
    }

    /// Direct uses of one device: mounts and swap.
    fn direct(&self, device: &BlockDevice, subject: &Subject) -> Vec<Use> {
        let mut found: Vec<Use> =
            self.mounts.iter().filter(|m| self.is_from(m, device)).map(|m| mounted(subject, m)).collect();
        if found.is_empty() {
            found.extend(self.in_btrfs(device, subject));
        }
        let serves = self.mounts.iter().filter(|m| {
            m.options.split(',').filter_map(|o| o.split_once("=/")).any(|(_, path)| {
                // logdev=, rtdev=, journal_path=: parts of a file system on devices of their own.
                self.is_node_of(Path::new(&format!("/{path}")), device)
            })
        });
        found.extend(serves.map(|m| {
            let (what, point, filesystem) = (subject.clone(), m.mount_point.clone(), m.fs_type.clone());
            Use {
                is_system: is_system_place(&m.mount_point),
                how: UseKind::Serves { what, point, filesystem },
            }
        }));
        if self.swaps.iter().any(|swap| self.is_node_of(swap, device)) {
            found.push(Use { is_system: true, how: UseKind::Swap { what: subject.clone() } });
        }
        found
    }

    fn is_node_of(&self, path: &Path, device: &BlockDevice) -> bool {
        path == self.roots.dev.join(device.node_name())
            || device.number().is_some_and(|number| device_at(path) == Some(number))
    }

    fn is_from(&self, mount: &Mount, device: &BlockDevice) -> bool {
        if Some(mount.device) == device.number() {
            return true;
        }
        // Filesystems over several devices have a number of their own and name one device, or all (bcachefs).
        let source = mount.source.to_string_lossy();
        mount.device.major == 0
            && source.starts_with('/')
            && (self.is_node_of(&mount.source, device)
                || source.split(':').any(|one| self.is_node_of(Path::new(one), device)))
    }

    /// The devices of mounted btrfs filesystems are listed in sysfs; the mount names one of them.
    fn in_btrfs(&self, device: &BlockDevice, subject: &Subject) -> Vec<Use> {
        let filesystems = fs::read_dir(self.roots.sys.join("fs/btrfs")).into_iter().flatten().flatten();
        let dirs = filesystems.into_iter().map(|f| f.path().join("devices"));
        let Some(members) = dirs.into_iter().find(|dir| dir.join(&device.name).exists()) else {
            return Vec::new();
        };
        let names = fs::read_dir(members).into_iter().flatten().flatten().map(|entry| entry.file_name());
        let members: Vec<BlockDevice> = names
            .filter_map(|name| BlockDevice::named(&name.to_string_lossy(), self.roots))
            .filter(|member| member != device)
            .collect();
        let of = |m: &&Mount| m.fs_type == "btrfs" && members.iter().any(|member| self.is_from(m, member));
        let found: Vec<Use> = self
            .mounts
            .iter()
            .filter(of)
            .map(|m| {
                let how = UseKind::InBtrfs { what: subject.clone(), point: Some(m.mount_point.clone()) };
                Use { is_system: is_system_place(&m.mount_point), how }
            })
            .collect();
        if found.is_empty() {
            // Mounted where this process does not see it, or named by something that is no device here.
            let root = self.mounts.iter().any(|m| {
                m.fs_type == "btrfs" && m.mount_point == Path::new("/") && device_at(&m.source).is_none()
            });
            return vec![Use {
                is_system: root,
                how: UseKind::InBtrfs { what: subject.clone(), point: None },
            }];
        }
        found
    }

    /// Uses of a stacked device and of what is stacked on it.
    fn above(&self, device: &BlockDevice, seen: &mut Vec<String>) -> Vec<Use> {
        let subject = Subject::Other(device.describe());
        let mut found = self.direct(device, &subject);
        for part in device.partitions().into_iter().chain(device.holders()) {
            if !seen.contains(&part.name) {
                seen.push(part.name.clone());
                found.extend(self.above(&part, seen));
            }
        }
        found
    }
}

fn mounted(subject: &Subject, mount: &Mount) -> Use {
    let (point, filesystem) = (mount.mount_point.clone(), mount.fs_type.clone());
    Use {
        is_system: is_system_place(&mount.mount_point),
        how: UseKind::Mounted { what: subject.clone(), point, filesystem },
    }
}

/// Number of the block device whose node the path leads to; `None` when it is something else.
pub(super) fn device_at(path: &Path) -> Option<DeviceNumber> {
    block_device_at(path).map(DeviceNumber::from_raw)
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod tests_uses;
