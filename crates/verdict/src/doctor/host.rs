//! What the checks look at: the kernel's trees, this process, the disks, the file systems, and a second of
//! what happens.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use truespd_core::engine;
use truespd_platform::machine::chain::{self, Layer, LayerKind};
use truespd_platform::machine::device::{BlockDevice, DeviceNumber};
use truespd_platform::machine::diskstat::{DiskCounters, DiskReading};
use truespd_platform::machine::host::is_in_container;
use truespd_platform::machine::host::times_throttled;
use truespd_platform::machine::host::{is_root, kernel_release};
use truespd_platform::machine::limits::swapped_pages;
use truespd_platform::machine::limits::{self, Limit};
use truespd_platform::machine::limits::{ResourceLimit, locked_memory_limit, open_files_limit};
use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::roots::{Setting, Value};
use truespd_platform::machine::storage::{OpenedTarget, Room, TargetKind, room, whole_disks};
use truespd_platform::machine::topology::{self, CpuTicks};
use truespd_platform::sys::system::timer_resolution_ns;
use truespd_platform::sys::thread::allowed_processors;

/// The kernel's trees, and where `/etc`, `/boot` and `/var` are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trees {
    /// The kernel's.
    pub roots: Roots,
    /// Normally `/`.
    pub root: PathBuf,
}

impl Default for Trees {
    fn default() -> Self {
        Trees { roots: Roots::default(), root: "/".into() }
    }
}

/// What holds for this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// It is root's.
    pub is_root: bool,
    /// It runs in a container.
    pub is_container: bool,
    /// Release of the kernel.
    pub release: String,
    /// Processors that it may run on.
    pub processors: Vec<u32>,
    /// Memory that it may lock.
    pub locked_memory: ResourceLimit,
    /// Files that it may open.
    pub open_files: ResourceLimit,
    /// Why it cannot use io_uring.
    pub io_uring: Result<(), String>,
    /// What timers are rounded to.
    pub timer_ns: Option<u64>,
    /// Whether procfs shows it the programs of others.
    pub sees_programs: bool,
    /// Trees of the kernel that are not mounted here.
    pub lacks: Vec<&'static str>,
}

impl Process {
    /// This one.
    pub fn here(roots: &Roots) -> Self {
        let io_uring = (engine::LADDER[0].probe)();
        Process {
            is_root: is_root(),
            is_container: is_in_container(roots),
            release: kernel_release(),
            processors: allowed_processors().unwrap_or_default(),
            locked_memory: locked_memory_limit(),
            open_files: open_files_limit(),
            io_uring: io_uring.map_err(|error| error.to_string()),
            timer_ns: Some(timer_resolution_ns()),
            // With hidepid not even the name of the first one.
            sees_programs: std::fs::read(roots.proc.join("1/comm")).is_ok(),
            lacks: [("/proc", roots.proc.join("self")), ("/sys", roots.sys.join("devices"))]
                .into_iter()
                .filter(|(_, inside)| !inside.exists())
                .map(|(tree, _)| tree)
                .collect(),
        }
    }
}

/// Who uses a disk, as the write guard sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Neighbours {
    /// Users that the running system depends on, in words.
    pub system: Vec<String>,
    /// Programs that have it open, in words; or why that is not known.
    pub programs: Result<Vec<String>, String>,
}

impl Default for Neighbours {
    fn default() -> Self {
        Neighbours { system: Vec::new(), programs: Ok(Vec::new()) }
    }
}

/// A block device that drives requests, or an array.
#[derive(Debug, Clone, PartialEq)]
pub struct Disk {
    /// The device.
    pub device: BlockDevice,
    /// What is known of it.
    pub layer: Layer,
    /// Who else uses it.
    pub neighbours: Neighbours,
    roots: Roots,
}

impl Disk {
    /// Kernel name.
    pub fn name(&self) -> &str {
        &self.device.name
    }

    /// Its folder in sysfs, by the short way that people know.
    pub fn folder(&self) -> PathBuf {
        self.roots.sys.join("block").join(self.name())
    }

    /// A setting of its queue.
    pub fn queue(&self, file: &str) -> Setting {
        self.setting(&format!("queue/{file}"))
    }

    /// A setting in its folder.
    pub fn setting(&self, file: &str) -> Setting {
        let short = Setting::read(self.folder().join(file));
        if short.value == Value::Absent { Setting::read(self.device.dir().join(file)) } else { short }
    }

    /// Whether it hands requests to other devices of the list and has no queue of its own to set.
    pub fn is_stacked(&self) -> bool {
        matches!(self.layer.kind, LayerKind::Md | LayerKind::DeviceMapper | LayerKind::Unknown)
    }

    /// Whether it turns, as far as it is believed: hypervisors say so of everything.
    pub fn turns(&self) -> bool {
        let is_disk = matches!(self.layer.kind, LayerKind::Disk | LayerKind::NetworkDisk);
        let is_believed = is_disk && self.layer.transport.as_deref() != Some("virtio");
        is_believed && self.layer.queue.rotational == Some(true)
    }

    /// A rule for udev that keeps a setting of the queue.
    pub fn udev(&self, file: &str, value: &str) -> String {
        format!(
            "a line in /etc/udev/rules.d/60-truespd.rules: ACTION==\"add|change\", KERNEL==\"{}\", \
             ATTR{{queue/{file}}}=\"{value}\"",
            self.name()
        )
    }
}

/// A file system that is mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountedFileSystem {
    /// Where.
    pub point: PathBuf,
    /// Type.
    pub kind: String,
    /// Options of mount and file system.
    pub options: Vec<String>,
    /// What it can still take; or why that is not known.
    pub room: Result<Room, String>,
    /// Its files lie in memory.
    pub is_memory: bool,
}

impl MountedFileSystem {
    pub(crate) fn has(&self, option: &str) -> bool {
        self.options.iter().any(|set| set == option)
    }
}

/// What is looked at: what lies below a target, or stands on all disks.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scope {
    layers: Vec<Layer>,
    /// The file systems, where somebody has one open.
    rooms: Vec<(PathBuf, Room)>,
}

impl Scope {
    /// Every whole disk and what stands on it.
    pub fn of_machine(roots: &Roots) -> Self {
        let disks = whole_disks(roots).into_iter().filter_map(|name| BlockDevice::named(&name, roots));
        // A card reader without a card.
        let disks = disks.filter(|disk| disk.size_bytes() != Some(0));
        let layers = disks.flat_map(|disk| chain::on_disk(&disk, roots)).collect();
        Scope { layers, rooms: Vec::new() }
    }

    /// A target and what lies below it.
    pub fn of_target(opened: &OpenedTarget, roots: &Roots) -> Self {
        let layers = chain::of(&opened.file, &opened.facts, roots);
        // A device node lies on a file system that has nothing to do with the device.
        let is_file = opened.facts.kind == TargetKind::Regular;
        let point = if is_file { layers.iter().find_map(|layer| layer.mount.point.clone()) } else { None };
        let rooms = point.zip(room(&opened.file).ok()).into_iter().collect();
        Scope { layers, rooms }
    }

    /// And this one.
    #[must_use]
    pub fn and(mut self, other: Scope) -> Self {
        self.layers.extend(other.layers);
        self.rooms.extend(other.rooms);
        self
    }

    fn disks(&self, neighbours: &dyn Fn(DeviceNumber) -> Neighbours, roots: &Roots) -> Vec<Disk> {
        let mut found: Vec<Disk> = Vec::new();
        for layer in self.layers.iter().filter(|layer| layer.kind != LayerKind::Partition) {
            let Some(number) = layer.number else { continue };
            let Some(device) = BlockDevice::find(number, roots) else { continue };
            if !found.iter().any(|disk| disk.device == device) {
                let neighbours = neighbours(number);
                found.push(Disk { device, layer: layer.clone(), neighbours, roots: roots.clone() });
            }
        }
        found
    }

    fn filesystems(&self) -> Vec<MountedFileSystem> {
        let mut found: Vec<MountedFileSystem> = Vec::new();
        // A file system of another machine would have to be asked there, and one of a program may not answer.
        let here = self
            .layers
            .iter()
            .filter(|layer| matches!(layer.kind, LayerKind::Filesystem | LayerKind::MemoryFilesystem));
        for layer in here {
            let Some(point) = layer.mount.point.clone() else { continue };
            if found.iter().any(|one| one.point == point) {
                continue;
            }
            let known = self.rooms.iter().find(|(at, _)| *at == point).map(|(_, room)| *room);
            let room = match known {
                Some(room) => Ok(room),
                None => std::fs::File::open(&point)
                    .and_then(|folder| room(&folder))
                    .map_err(|error| truespd_platform::sys::error::system_text(&error)),
            };
            let options = layer.mount.options.as_deref().unwrap_or_default();
            let options = options.split(',').map(str::to_string).collect();
            let is_memory = layer.kind == LayerKind::MemoryFilesystem;
            found.push(MountedFileSystem { point, kind: layer.name.clone(), options, room, is_memory });
        }
        found
    }
}

/// What nothing here can tell of a layer, in a sentence.
fn beyond(layer: &Layer) -> Option<String> {
    let name = &layer.name;
    let place = layer.mount.point.as_ref().map_or_else(|| name.clone(), |point| point.display().to_string());
    match layer.kind {
        LayerKind::RemoteFilesystem => {
            let server = layer.server.as_ref().map_or_else(String::new, |server| format!(" ({server})"));
            Some(format!("{place} ({name}) is on another machine{server}: run truespd doctor there, too."))
        }
        LayerKind::UserFilesystem => {
            Some(format!("{place} ({name}) is served by a program: what lies below it is not visible here."))
        }
        _ => None,
    }
}

/// All that the checks look at.
#[derive(Debug, Clone, PartialEq)]
pub struct HostView {
    /// The kernel's trees.
    pub trees: Trees,
    /// This process.
    pub process: Process,
    /// The disks and what is built on them.
    pub disks: Vec<Disk>,
    /// The file systems.
    pub filesystems: Vec<MountedFileSystem>,
    /// Limits of control groups on this process and these disks.
    pub limits: Vec<Limit>,
    /// What happened while it was watched.
    pub window: Window,
    /// What cannot be looked at from here, in sentences.
    pub beyond: Vec<String>,
}

impl HostView {
    /// Looks, and watches for so long. `neighbours` tells who uses a device.
    pub fn of(
        trees: Trees,
        process: Process,
        scope: &Scope,
        neighbours: &dyn Fn(DeviceNumber) -> Neighbours,
        length: Duration,
    ) -> Self {
        let roots = &trees.roots;
        let disks = scope.disks(neighbours, roots);
        let numbers: Vec<DeviceNumber> = disks.iter().filter_map(|disk| disk.device.number()).collect();
        let limits = limits::in_force(&numbers, roots);
        let named = disks.iter().filter_map(|disk| Some((disk.name().to_string(), disk.device.number()?)));
        let window = Window::watch(&named.collect::<Vec<_>>(), length, roots);
        let lacks = process.lacks.iter().map(|tree| {
            format!(
                "{tree} is not mounted here: what the kernel tells there is not known, and missing below."
            )
        });
        let mut beyond: Vec<String> = lacks.chain(scope.layers.iter().filter_map(beyond)).collect();
        beyond.dedup();
        HostView { process, filesystems: scope.filesystems(), disks, limits, window, beyond, trees }
    }

    /// The kernel's trees.
    pub fn roots(&self) -> &Roots {
        &self.trees.roots
    }

    /// A setting below `/proc/sys`, by its name for `sysctl`.
    pub fn sysctl(&self, name: &str) -> Setting {
        Setting::read(self.roots().proc.join("sys").join(name.replace('.', "/")))
    }
}

/// What others did to a disk.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Traffic {
    /// Read.
    pub read_bytes_per_s: f64,
    /// Written.
    pub written_bytes_per_s: f64,
    /// Share of the time in which it had something to do.
    pub busy: f64,
}

/// What happened in it. Absent members: the kernel does not tell.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Window {
    /// Processor time that the hypervisor gave to others, in percent.
    pub stolen_percent: Option<f64>,
    /// The same since boot.
    pub stolen_percent_since_boot: Option<f64>,
    /// Pages that went to and came from swap.
    pub swapped_pages: Option<u64>,
    /// How often a processor was slowed down because it was hot.
    pub throttled: Option<u64>,
    /// By kernel name; disks that do not count are missing.
    pub disks: BTreeMap<String, Traffic>,
}

struct Reading {
    ticks: Vec<CpuTicks>,
    swapped: Option<u64>,
    throttled: Option<u64>,
    disks: Vec<Option<DiskReading>>,
}

impl Window {
    /// Watches the machine and these disks, by their kernel names, for so long.
    pub fn watch(disks: &[(String, DeviceNumber)], length: Duration, roots: &Roots) -> Self {
        let counters: Vec<Option<DiskCounters>> =
            disks.iter().map(|(_, number)| DiskCounters::open(*number, roots)).collect();
        let before = Reading::take(&counters, roots);
        let start = Instant::now();
        std::thread::sleep(length);
        let after = Reading::take(&counters, roots);
        Self::between(&before, &after, disks, start.elapsed().as_secs_f64())
    }

    fn between(before: &Reading, after: &Reading, disks: &[(String, DeviceNumber)], seconds: f64) -> Self {
        let mut traffic = BTreeMap::new();
        for ((name, _), (before, after)) in disks.iter().zip(before.disks.iter().zip(&after.disks)) {
            let (Some(before), Some(after)) = (before, after) else { continue };
            let done = after.since(before);
            let [read_bytes_per_s, written_bytes_per_s, busy_ns_per_s] =
                [done.read_bytes, done.write_bytes, done.busy_ns].map(|amount| amount as f64 / seconds);
            let busy = busy_ns_per_s / 1e9;
            traffic.insert(name.clone(), Traffic { read_bytes_per_s, written_bytes_per_s, busy });
        }
        let [swapped_pages, throttled] =
            [(before.swapped, after.swapped), (before.throttled, after.throttled)]
                .map(|(before, after)| Some(after?.saturating_sub(before?)));
        Window {
            stolen_percent: stolen_percent(&before.ticks, &after.ticks),
            stolen_percent_since_boot: (!after.ticks.is_empty())
                .then(|| topology::steal_percent_since_boot(&after.ticks)),
            swapped_pages,
            throttled,
            disks: traffic,
        }
    }
}

impl Reading {
    fn take(disks: &[Option<DiskCounters>], roots: &Roots) -> Self {
        Reading {
            ticks: topology::processor_times_in(&roots.proc.join("stat")).unwrap_or_default(),
            swapped: swapped_pages(roots).map(|(pages_in, pages_out)| pages_in + pages_out),
            throttled: times_throttled(roots),
            disks: disks.iter().map(|disk| disk.as_ref().and_then(|disk| disk.read().ok())).collect(),
        }
    }
}

/// Share of the processor time between two readings that the hypervisor gave to others.
fn stolen_percent(before: &[CpuTicks], after: &[CpuTicks]) -> Option<f64> {
    let mut between = Vec::new();
    for after in after {
        let Some(before) = before.iter().find(|before| before.cpu == after.cpu) else { continue };
        between.push(CpuTicks {
            cpu: after.cpu,
            user: after.user.saturating_sub(before.user),
            nice: after.nice.saturating_sub(before.nice),
            system: after.system.saturating_sub(before.system),
            idle: after.idle.saturating_sub(before.idle),
            iowait: after.iowait.saturating_sub(before.iowait),
            irq: after.irq.saturating_sub(before.irq),
            softirq: after.softirq.saturating_sub(before.softirq),
            steal: after.steal.saturating_sub(before.steal),
        });
    }
    (!between.is_empty()).then(|| topology::steal_percent_since_boot(&between))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stolen_time_is_that_of_the_window() {
        let ticks = |idle, steal| vec![CpuTicks { idle, steal, ..CpuTicks::default() }];
        let stolen = stolen_percent(&ticks(1000, 500), &ticks(1090, 510)).expect("one processor");
        assert!((stolen - 10.0).abs() < 1e-9, "{stolen}");
        assert_eq!(stolen_percent(&[], &[]), None);
    }
}
