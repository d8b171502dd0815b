//! Which processor answers for a disk: its hardware queues, the interrupt of each, and where that arrives.
//!
//! Sources: the kernel's `block/blk-mq-sysfs.c` (`mq/N/cpuM`), `Documentation/ABI/testing/sysfs-bus-pci` (`msi_irqs`),
//! `Documentation/core-api/irq/irq-affinity.rst` (`/proc/irq`), and the names that drivers give their interrupts:
//! `virtio_blk` (`virtio1-req.0`), `nvme` (`nvme0q1`).
//!
//! An interrupt's folder in `/proc/irq` holds a folder with the name that its driver gave it.
//! `/proc/interrupts` tells the same, but is a table of all interrupts and processors: megabytes on a large
//! machine.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::device::BlockDevice;
use super::namespace::is_path_of;
use super::roots::Roots;
use super::roots::{names_in, read_number, read_word};
use super::topology::CpuSet;
use super::topology::parse_cpu_list;

/// A hardware queue of a disk: who sends I/O through it, and who is interrupted when some is done.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HardwareQueue {
    /// The block layer's number, from 0.
    pub number: u32,
    /// Online processors whose I/O goes through it.
    pub processors: CpuSet,
    /// Number of its interrupt; absent when it has none (a queue for polling), or the driver does not tell which one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub irq: Option<u32>,
    /// Processors at which that interrupt arrives, as it was set up when this was read; empty when not known.
    #[serde(default, skip_serializing_if = "CpuSet::is_empty")]
    pub answered_by: CpuSet,
}

/// The hardware queues of a whole disk, in order of their numbers; empty where the kernel tells of
/// none, as of stacked devices.
pub fn queues_of(device: &BlockDevice, roots: &Roots) -> Vec<HardwareQueue> {
    let Some(disk) = disk_with_queues(device.dir()) else { return Vec::new() };
    let mut queues = queues_in(&disk.join("mq"), online(roots).as_ref());
    // Of a disk without queues, nothing more is read.
    if !queues.is_empty() {
        let owner = owner_of(&disk);
        let interrupts = Interrupts::of(&disk, owner.as_deref(), roots);
        interrupts.give_to(&mut queues, owner.as_deref().unwrap_or_default());
    }
    queues.retain(|queue| !queue.processors.is_empty() || queue.irq.is_some());
    queues
}

/// Where the queues are: at the disk itself; or, of an NVMe namespace that could have several paths and has one, at the
/// hidden disk of that path.
fn disk_with_queues(dir: &Path) -> Option<PathBuf> {
    if dir.join("mq").is_dir() {
        return Some(dir.to_path_buf());
    }
    let name = dir.file_name()?.to_str()?;
    let subsystem = fs::canonicalize(dir.join("device")).ok()?;
    let mut found = Vec::new();
    for controller in names_in(&subsystem).into_iter().map(|name| subsystem.join(name)) {
        if !controller.join("transport").exists() {
            continue;
        }
        for path in names_in(&controller) {
            if is_path_of(&path, name) && controller.join(&path).join("mq").is_dir() {
                found.extend(fs::canonicalize(controller.join(path)));
            }
        }
    }
    let only = found.pop();
    if found.is_empty() { only } else { None }
}

/// Name of the device that the driver names its interrupts after: `virtio1`, `nvme0`.
fn owner_of(disk: &Path) -> Option<String> {
    let device = fs::canonicalize(disk.join("device")).ok()?;
    // The hidden disk of a path is below its controller, though its device may be the subsystem.
    let is_owner = device.join("transport").exists() || !is_nvme(disk);
    let owner = if is_owner { device.as_path() } else { disk.parent()? };
    Some(owner.file_name()?.to_str()?.to_string())
}

fn is_nvme(disk: &Path) -> bool {
    disk.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"nvme"))
}

fn online(roots: &Roots) -> Option<CpuSet> {
    cpus_in(&roots.sys.join("devices/system/cpu/online"))
}

fn cpus_in(file: &Path) -> Option<CpuSet> {
    parse_cpu_list(&read_word(file)?).map(CpuSet::new)
}

fn queues_in(folder: &Path, online: Option<&CpuSet>) -> Vec<HardwareQueue> {
    let mut queues = Vec::new();
    for name in names_in(folder) {
        let Ok(number) = name.parse() else { continue };
        // The file `cpu_list` ends after a page, which is less than a thousand processors.
        let inside = names_in(&folder.join(&name));
        let cpus = inside.iter().filter_map(|entry| entry.strip_prefix("cpu")?.parse().ok());
        let all = CpuSet::new(cpus.collect());
        let processors = online.map_or_else(|| all.clone(), |online| all.within(online));
        queues.push(HardwareQueue { number, processors, ..HardwareQueue::default() });
    }
    queues.sort_by_key(|queue| queue.number);
    queues
}

#[derive(Debug)]
struct Interrupt {
    names: Vec<String>,
    /// Processors that it may be sent to.
    allowed: CpuSet,
    /// Those of them that it is sent to.
    effective: CpuSet,
}

impl Interrupt {
    fn read(folder: &Path) -> Option<Self> {
        let allowed = cpus_in(&folder.join("smp_affinity_list"))?;
        // Not every processor's interrupt controller tells.
        let effective = cpus_in(&folder.join("effective_affinity_list")).filter(|set| !set.is_empty());
        // All else in the folder are files.
        let mut names = names_in(folder);
        names.retain(|name| folder.join(name).is_dir());
        Some(Interrupt { names, effective: effective.unwrap_or_else(|| allowed.clone()), allowed })
    }

    /// Whether a driver's name says that no I/O is announced by it.
    fn is_beside(&self, owner: &str) -> bool {
        !self.names.is_empty()
            && self.names.iter().all(|name| {
                matches!(name.strip_prefix(owner), Some("-config" | "-control" | "-event" | "q0"))
            })
    }
}

/// The interrupts of the device that a disk belongs to, by their numbers.
#[derive(Debug, Default)]
struct Interrupts(BTreeMap<u32, Interrupt>);

impl Interrupts {
    /// Those of the nearest device above the disk that has any; of virtio devices without a bus that lists
    /// them, those that are named after it.
    fn of(disk: &Path, owner: Option<&str>, roots: &Roots) -> Self {
        let folder = roots.proc.join("irq");
        let irqs = if let Some(irqs) = listed(disk, roots) {
            irqs
        } else if let Some(owner) = owner.filter(|owner| owner.starts_with("virtio")) {
            let own = names_in(&folder).into_iter().filter(|irq| folder.join(irq).join(owner).is_dir());
            own.filter_map(|irq| irq.parse().ok()).collect()
        } else {
            Vec::new()
        };
        let read = irqs.into_iter().map(|irq| Some((irq, Interrupt::read(&folder.join(irq.to_string()))?)));
        Interrupts(read.flatten().collect())
    }

    /// Finds the interrupt of each queue.
    fn give_to(&self, queues: &mut [HardwareQueue], owner: &str) {
        let mut is_named = false;
        for queue in queues.iter_mut() {
            // The first queue of an NVMe controller is the one for administration.
            let names = [format!("{owner}-req.{}", queue.number), format!("{owner}q{}", queue.number + 1)];
            let named = self.0.iter().find(|(_, of)| of.names.iter().any(|name| names.contains(name)));
            is_named |= named.is_some();
            queue.take(named);
        }
        if is_named {
            // A queue without a name is one for polling.
            return;
        }
        let own: Vec<_> = self.0.iter().filter(|(_, of)| !of.is_beside(owner)).collect();
        if let [only] = own.as_slice() {
            queues.iter_mut().for_each(|queue| queue.take(Some(*only)));
        } else if queues.len() > 1 {
            // Where the kernel spreads interrupts over the processors, drivers spread their queues by the same sets.
            for queue in queues {
                let mut alike = own.iter().filter(|(_, of)| of.allowed == queue.processors);
                queue.take(match (alike.next(), alike.next()) {
                    (Some(only), None) => Some(*only),
                    _ => None,
                });
            }
        }
    }
}

impl HardwareQueue {
    fn take(&mut self, of: Option<(&u32, &Interrupt)>) {
        self.irq = of.map(|(irq, _)| *irq);
        self.answered_by = of.map(|(_, of)| of.effective.clone()).unwrap_or_default();
    }

    /// Whether the interrupts for this processor's I/O arrive at it; `None` when that is not known, or it
    /// uses another queue.
    pub fn is_answered_by(&self, cpu: u32) -> Option<bool> {
        let is_known = self.processors.contains(cpu) && !self.answered_by.is_empty();
        is_known.then(|| self.answered_by.contains(cpu))
    }
}

/// Numbers of the interrupts that the nearest device above has; `None` when no device lists any.
fn listed(disk: &Path, roots: &Roots) -> Option<Vec<u32>> {
    let top = fs::canonicalize(roots.sys.join("devices")).ok()?;
    // A bridge above it has interrupts of its own: it stops at the first device that could have some.
    let mut above = disk.ancestors().skip(1).take_while(|dir| dir.starts_with(&top));
    let device = above.find(|dir| dir.join("msi_irqs").is_dir() || dir.join("irq").is_file())?;
    let messages = names_in(&device.join("msi_irqs")).into_iter().filter_map(|name| name.parse().ok());
    let messages: Vec<u32> = messages.collect();
    if !messages.is_empty() {
        return Some(messages);
    }
    let line = read_number(&device.join("irq")).filter(|&irq: &u32| irq > 0);
    Some(line.into_iter().collect())
}
