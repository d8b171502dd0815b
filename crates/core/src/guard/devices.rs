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

use super::facts::{Fact, GuardError, Missing, Unseen};
use super::files::uses_below;
use super::hold::is_held;
use super::openers::{self, IT, Opener};
use truespd_platform::machine::device::{BlockDevice, DeviceNumber};
use truespd_platform::machine::host::sight;
use truespd_platform::machine::loops::{Below, Ground, backing_file, standing_on};
use truespd_platform::machine::mounts::{Mount, mountinfo, parse_mountinfo, read_mounts, read_swaps, swaps};
use truespd_platform::machine::roots::Roots;
use truespd_platform::sys::error::{Code, system_text};
use truespd_platform::sys::file::{ReadOptions, own_path, read};
use truespd_platform::sys::identity::{block_device, block_device_at};
use truespd_platform::sys::source;
use truespd_platform::text::{printable, printable_path};

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
        f.write_str(&listed(&self.by))
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
    let number = block_device(file).map_err(|e| GuardError::open(path, &e))?;
    let Some(number) = number else { return Err(GuardError::changed(path)) };
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
                found.extend(stayed.iter().map(Use::plain));
                return Ok(found);
            }
            writers = Some(stayed);
            if check < CLAIM_CHECKS {
                self.visited.truncate(asked);
                std::thread::sleep(CLAIM_CHECK_PAUSE);
            }
        }
        let mut found = vec![Use::plain(
            "it is in exclusive use, and the kernel does not tell by what: perhaps a mount in another namespace \
             (container), a ZFS pool, or a program that opened it exclusively; lsblk, lsof or zpool status may show it",
        )];
        found.extend(self.openers(device).iter().map(Use::plain));
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

    /// What was found; nothing, and a note, where that is not known.
    fn known<T>(&mut self, fact: Fact, found: Result<Vec<T>, impl fmt::Display>) -> Vec<T> {
        found.unwrap_or_else(|why| {
            self.miss([Missing::new(fact, why)]);
            Vec::new()
        })
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
        openers::programs_with(device, self.roots).unwrap_or_else(|missing| {
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
        held.map(|part| {
            let what = subject_of(&part, &own);
            Use::plain(format!("{what} is being tested by this or another run of TrueSpd"))
        })
        .collect()
    }

    /// The same storage under another name: a path of a multipath device, a LUN seen through two ports. The kernel
    /// keeps claims for each name apart.
    fn twins(&mut self, device: DeviceNumber) -> Result<Vec<Use>, GuardError> {
        let Some(own) = self.shown(device) else { return Ok(Vec::new()) };
        let twins = self.known(Fact::Layers, own.twins(self.roots));
        let mut found = Vec::new();
        for (disk, part) in twins {
            // A claim on the disk shows when its partition is asked; whole disks answer for their partitions.
            let by = self.ask(part.as_ref().unwrap_or(&disk))?;
            let disk = printable(&disk.name);
            found.extend(Use::summed(
                &by,
                format!("{disk} is the same storage under another name and is in use"),
            ));
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
        let mut parts = Vec::new();
        for part in own.involved() {
            let size_bytes = part.size_bytes().unwrap_or(u64::MAX);
            parts.extend(part.number().map(|number| Below { identity: number.identity(), size_bytes }));
        }
        let loops = self.known(Fact::Loops, standing_on(&parts, self.roots));
        let mut found = Vec::new();
        for above in loops {
            let by = self.ask(&above)?;
            let above = printable(&above.describe());
            found.extend(Use::summed(&by, format!("{above} is built on it and is in use")));
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
            let words = format!("{}, which it is built on, is in use", printable_path(file));
            return Ok(Use::summed(&by, words).into_iter().collect());
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
            let Some(name) = &user.loop_device else {
                let file = printable_path(file);
                found.push(Use::plain(format!("{file}, the file behind it, {}", user.words)));
                continue;
            };
            let other = BlockDevice::named(name, self.roots).filter(|other| other != own);
            if let Some(other) = other {
                let by = self.ask(&other)?;
                found.extend(Use::summed(&by, format!("{name} has the same file behind it and is in use")));
            }
        }
        Ok(found)
    }
}

/// Asks the kernel by opening exclusively, by the first of the paths that leads somewhere.
fn is_busy(paths: &[&Path], device: DeviceNumber) -> Result<bool, GuardError> {
    let named = paths.last().copied().unwrap_or(Path::new(""));
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
            let found = block_device(&file).map_err(|e| GuardError::open(named, &e))?;
            let is_it = found.map(DeviceNumber::from_raw) == Some(device);
            if is_it { Ok(false) } else { Err(GuardError::changed(named)) }
        }
        Err(e) if e.kind() == io::ErrorKind::ResourceBusy => Ok(true),
        Err(e) => Err(GuardError::open(named, &e)),
    }
}

/// One user of a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Use {
    /// The running system is on it.
    pub is_system: bool,
    /// Who uses what of it, and how: it is mounted at /boot (vfat)
    pub words: String,
}

impl Use {
    /// A use that the running system does not depend on.
    fn plain(words: impl fmt::Display) -> Self {
        Use { is_system: false, words: words.to_string() }
    }

    /// By a file system that is mounted there.
    fn by_mount(mount: &Mount, words: String) -> Self {
        Use { is_system: is_system_place(&mount.mount_point), words }
    }

    /// Several uses of another device as one of this; `None` when there are none.
    fn summed(by: &[Use], words: impl fmt::Display) -> Option<Self> {
        let is_system = by.iter().any(|u| u.is_system);
        (!by.is_empty()).then(|| Use { is_system, words: format!("{words}: {}", listed(by)) })
    }
}

fn listed(uses: &[Use]) -> String {
    uses.iter().map(|by| by.words.as_str()).collect::<Vec<_>>().join("; ")
}

/// What `part` is to the person who named `own`.
fn subject_of(part: &BlockDevice, own: &BlockDevice) -> String {
    if part == own {
        IT.to_string()
    } else if part.is_partition() && own.is_partition() {
        format!("the partition {}, which shares bytes with it,", part.name)
    } else if part.is_partition() {
        format!("its partition {}", part.name)
    } else {
        format!("the whole disk {}", part.name)
    }
}

/// What the kernel lists, read once for a question.
struct Uses<'a> {
    mounts: Vec<Mount>,
    swaps: Vec<PathBuf>,
    /// Lists that could not be read.
    missing: Vec<Missing>,
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
    fn read(roots: &'a Roots) -> Self {
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
    fn of(&self, device: DeviceNumber) -> Vec<Use> {
        let Some(own) = BlockDevice::find(device, self.roots) else {
            let mounts = self.mounts.iter().filter(|mount| mount.device == device);
            return mounts.map(|mount| mounted(IT, mount)).collect();
        };
        let mut found = Vec::new();
        for part in &own.involved() {
            found.extend(self.of_part(part, &subject_of(part, &own)));
        }
        found.extend(self.system_beside(&own));
        found
    }

    /// Uses of one device and of what is stacked on it.
    fn of_part(&self, part: &BlockDevice, subject: &str) -> Vec<Use> {
        let mut found = self.direct(part, subject);
        for holder in part.holders() {
            let above = self.above(&holder, &mut vec![holder.name.clone()]);
            let holder = holder.describe();
            found.push(Use::plain(format!("{subject} is part of {}", printable(&holder))));
            found.extend(above);
        }
        found
    }

    /// A partition whose neighbour carries the running system.
    fn system_beside(&self, own: &BlockDevice) -> Option<Use> {
        let disk = own.whole_disk()?;
        let neighbours = disk.partitions().into_iter().filter(|part| part != own);
        let by: Vec<Use> = neighbours
            .flat_map(|part| self.of_part(&part, &printable(&part.name)))
            .filter(|use_of| use_of.is_system)
            .collect();
        Use::summed(&by, format!("the running system is on the same disk, {}", disk.name))
    }

    /// Direct uses of one device: mounts and swap.
    fn direct(&self, device: &BlockDevice, subject: &str) -> Vec<Use> {
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
            let (point, filesystem) = (printable_path(&m.mount_point), printable(&m.fs_type));
            Use::by_mount(
                m,
                format!("{subject} is used by the file system mounted at {point} ({filesystem})"),
            )
        }));
        if self.swaps.iter().any(|swap| self.is_node_of(swap, device)) {
            found.push(Use { is_system: true, words: format!("{subject} is in use as swap") });
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
    fn in_btrfs(&self, device: &BlockDevice, subject: &str) -> Vec<Use> {
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
        let mut found = Vec::new();
        for m in self.mounts.iter().filter(|m| m.fs_type == "btrfs") {
            if members.iter().any(|member| self.is_from(m, member)) {
                let point = printable_path(&m.mount_point);
                let words = format!("{subject} is part of the btrfs file system mounted at {point}");
                found.push(Use::by_mount(m, words));
            }
        }
        if found.is_empty() {
            // Mounted where this process does not see it, or named by something that is no device here.
            let root = self.mounts.iter().any(|m| {
                m.fs_type == "btrfs" && m.mount_point == Path::new("/") && device_at(&m.source).is_none()
            });
            let words = format!("{subject} is part of a mounted btrfs file system");
            found.push(Use { is_system: root, words });
        }
        found
    }

    /// Uses of a stacked device and of what is stacked on it.
    fn above(&self, device: &BlockDevice, seen: &mut Vec<String>) -> Vec<Use> {
        let mut found = self.direct(device, &printable(&device.describe()));
        for part in device.partitions().into_iter().chain(device.holders()) {
            if !seen.contains(&part.name) {
                seen.push(part.name.clone());
                found.extend(self.above(&part, seen));
            }
        }
        found
    }
}

fn mounted(subject: &str, mount: &Mount) -> Use {
    let (point, filesystem) = (printable_path(&mount.mount_point), printable(&mount.fs_type));
    Use::by_mount(mount, format!("{subject} is mounted at {point} ({filesystem})"))
}

/// Number of the block device whose node the path leads to; `None` when it is something else.
fn device_at(path: &Path) -> Option<DeviceNumber> {
    block_device_at(path).map(DeviceNumber::from_raw)
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod tests_uses;
