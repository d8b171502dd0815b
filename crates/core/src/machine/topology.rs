//! Processor topology from sysfs, in DiskSpd's terms.
//!
//! Files that are missing (containers, kernels without NUMA or topology) are replaced by the plainest
//! machine that fits: one node, one socket, every processor a core of its own.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cpustat;
use crate::sys::error::{Code, system_text};
use crate::sys::thread::allowed_processors;

/// Highest CPU id believed; the largest kernels are built for 8192.
const CPU_MAX: u32 = 65_535;
/// Processors in a group.
const GROUP_LEN: u32 = 64;

/// Processors of the machine, in DiskSpd's terms (`text-output.md` §5 and §7).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Topology {
    /// Online logical processors, ascending kernel id.
    pub processors: Vec<Processor>,
    /// NUMA nodes with processors, at least one.
    pub nodes: u32,
    /// Sockets, at least one.
    pub sockets: u32,
    /// Processor groups: sets of 64 kernel ids up to the highest online one, at least one.
    pub groups: u32,
    /// Kernel ids are below this, also those of processors that could be brought online; `None` when the
    /// document does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus_possible: Option<u32>,
}

/// One online logical processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Processor {
    /// Kernel CPU id.
    pub cpu: u32,
    /// Group: `cpu / 64`.
    pub group: u32,
    /// Number within the group: `cpu % 64`.
    pub number: u32,
    /// Physical core, numbered from 0 within its group.
    pub core: u32,
    /// Physical core, numbered from 0 over the whole machine. Linux commonly numbers second siblings
    /// after all first ones, so that on a large machine a core's siblings are in different groups.
    pub physical_core: u32,
    /// Socket, from 0.
    pub socket: u32,
    /// NUMA node, the kernel's number.
    pub node: u32,
    /// Efficiency class: 0 least performing; all 0 on machines with one kind of core.
    pub efficiency_class: u32,
}

/// Why the topology could not be had.
#[derive(Debug, thiserror::Error)]
pub enum TopologyError {
    /// A file is there but cannot be read.
    #[error("cannot read the processor topology from {path}: {}", system_text(error))]
    Read {
        /// The file.
        path: String,
        /// The system's text.
        error: std::io::Error,
    },
    /// A file does not hold what it should.
    #[error("cannot read the processor topology: {path} holds {text:?}, expected {expected}")]
    Malformed {
        /// The file.
        path: String,
        /// Its content.
        text: String,
        /// What belongs there.
        expected: &'static str,
    },
    /// Nothing names any processor.
    #[error("cannot find out which processors are online: {path} does not exist; is /sys mounted?")]
    NoProcessors {
        /// The file that should name them.
        path: String,
    },
}

impl Topology {
    /// The machine this program runs on. Without sysfs the processors of `/proc/stat`, each a core; without procfs as
    /// well, as in a chroot, those that this process may run on.
    ///
    /// # Errors
    /// [`TopologyError`] when neither tells which processors there are, or sysfs holds nonsense.
    pub fn of_this_machine() -> Result<Self, TopologyError> {
        match Self::read(Path::new("/sys")) {
            Err(missing @ TopologyError::NoProcessors { .. }) => match cpustat::read() {
                Ok(all) if !all.is_empty() => {
                    Ok(arrange(all.iter().map(|ticks| Facts::plain(ticks.cpu)).collect()))
                }
                _ => match allowed_processors() {
                    Ok(all) => Ok(arrange(all.into_iter().map(Facts::plain).collect())),
                    Err(_) => Err(missing),
                },
            },
            result => result,
        }
    }

    /// The machine that the sysfs tree below `sys_root` describes.
    ///
    /// # Errors
    /// [`TopologyError`] when the tree does not name the online processors or a file is not understood.
    pub fn read(sys_root: &Path) -> Result<Self, TopologyError> {
        let tree = Tree { root: sys_root.to_path_buf() };
        let online_path = "devices/system/cpu/online";
        let online = tree.list(online_path)?.filter(|cpus| !cpus.is_empty()).ok_or_else(|| {
            TopologyError::NoProcessors { path: sys_root.join(online_path).display().to_string() }
        })?;
        let nodes = tree.nodes()?;
        let classes = tree.efficiency_classes(&online)?;
        let mut all = Vec::new();
        for &cpu in &online {
            all.push(Facts {
                cpu,
                first_sibling: tree.first_sibling(cpu, &online)?,
                package: tree.package(cpu)?,
                node: nodes.get(&cpu).copied().unwrap_or(0),
                efficiency_class: classes.get(&cpu).copied().unwrap_or(0),
            });
        }
        let possible = tree.list("devices/system/cpu/possible")?;
        let cpus_possible = possible.and_then(|cpus| cpus.last().map(|last| last + 1));
        Ok(Topology { cpus_possible, ..arrange(all) })
    }

    /// NUMA node of a processor; `None` when it is not online.
    pub fn node_of(&self, cpu: u32) -> Option<u32> {
        let at = self.processors.binary_search_by_key(&cpu, |processor| processor.cpu).ok()?;
        Some(self.processors[at].node)
    }

    /// Physical cores.
    pub fn cores(&self) -> u32 {
        distinct(self.processors.iter().map(|p| i64::from(p.physical_core))).len() as u32
    }

    /// Processors that a group can have: as many as could be brought online, in a full group 64.
    pub fn maximum_of_group(&self, group: u32) -> u32 {
        let highest =
            self.processors.iter().filter(|p| p.group == group).map(|p| p.number.saturating_add(1)).max();
        let below = self.cpus_possible.unwrap_or(0).saturating_sub(group.saturating_mul(GROUP_LEN));
        highest.unwrap_or(0).max(below.min(GROUP_LEN))
    }

    /// Highest efficiency class; above 0 the machine has cores of several kinds.
    pub fn efficiency_class_max(&self) -> u32 {
        self.processors.iter().map(|p| p.efficiency_class).max().unwrap_or(0)
    }

    /// Some core has more than one logical processor.
    pub fn has_smt(&self) -> bool {
        (self.cores() as usize) < self.processors.len()
    }
}

/// What sysfs says about one processor, in the kernel's numbers.
#[derive(Debug, Clone, Copy)]
struct Facts {
    cpu: u32,
    /// Lowest online processor of the same core. Identifies the core: the kernel's core ids repeat in
    /// the clusters of some ARM machines.
    first_sibling: u32,
    package: i64,
    node: u32,
    efficiency_class: u32,
}

impl Facts {
    fn plain(cpu: u32) -> Self {
        Facts { cpu, first_sibling: cpu, package: 0, node: 0, efficiency_class: 0 }
    }
}

/// Numbers sockets and cores from 0.
fn arrange(mut all: Vec<Facts>) -> Topology {
    all.sort_unstable_by_key(|facts| facts.cpu);
    let rank = |sorted: &[i64], value: i64| sorted.partition_point(|&v| v < value) as u32;
    // Firmware may call its sockets 0 and 36, or -1 when it does not know.
    let packages = distinct(all.iter().map(|f| f.package));
    let nodes = distinct(all.iter().map(|f| f.node.into()));
    let cores = distinct(all.iter().map(|f| f.first_sibling.into()));
    let groups = all.last().map_or(0, |last| last.cpu / GROUP_LEN) + 1;
    let cores_of_group: Vec<Vec<i64>> = (0..groups)
        .map(|group| all.iter().filter(move |f| f.cpu / GROUP_LEN == group).map(|f| f.first_sibling.into()))
        .map(distinct)
        .collect();
    let processor = |f: &Facts| Processor {
        cpu: f.cpu,
        group: f.cpu / GROUP_LEN,
        number: f.cpu % GROUP_LEN,
        core: rank(&cores_of_group[(f.cpu / GROUP_LEN) as usize], f.first_sibling.into()),
        physical_core: rank(&cores, f.first_sibling.into()),
        socket: rank(&packages, f.package),
        node: f.node,
        efficiency_class: f.efficiency_class,
    };
    Topology {
        processors: all.iter().map(processor).collect(),
        nodes: nodes.len().max(1) as u32,
        sockets: packages.len().max(1) as u32,
        groups,
        cpus_possible: None,
    }
}

/// Each value once, ascending.
fn distinct(values: impl Iterator<Item = i64>) -> Vec<i64> {
    let mut values: Vec<i64> = values.collect();
    values.sort_unstable();
    values.dedup();
    values
}

/// A sysfs tree.
#[derive(Debug)]
struct Tree {
    root: PathBuf,
}

impl Tree {
    /// Content of a file without white space around it, `None` when it is not there for us.
    fn text(&self, path: &str) -> Result<Option<String>, TopologyError> {
        let path = self.root.join(path);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Some(text.trim().to_string())),
            Err(e) if is_absent(&e) => Ok(None),
            Err(error) => Err(TopologyError::Read { path: path.display().to_string(), error }),
        }
    }

    fn malformed(&self, path: &str, text: String, expected: &'static str) -> TopologyError {
        TopologyError::Malformed { path: self.root.join(path).display().to_string(), text, expected }
    }

    /// A file with a list of processors.
    fn list(&self, path: &str) -> Result<Option<Vec<u32>>, TopologyError> {
        let Some(text) = self.text(path)? else { return Ok(None) };
        match parse_cpu_list(&text) {
            Some(cpus) => Ok(Some(cpus)),
            None => Err(self.malformed(path, text, "processor numbers such as 0-3,8")),
        }
    }

    /// A file with a number.
    fn number(&self, path: &str) -> Result<Option<i64>, TopologyError> {
        let Some(text) = self.text(path)? else { return Ok(None) };
        match text.parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(self.malformed(path, text, "a number")),
        }
    }

    fn package(&self, cpu: u32) -> Result<i64, TopologyError> {
        let path = format!("devices/system/cpu/cpu{cpu}/topology/physical_package_id");
        Ok(self.number(&path)?.unwrap_or(0))
    }

    fn first_sibling(&self, cpu: u32, online: &[u32]) -> Result<u32, TopologyError> {
        // The second name is that of kernels before 5.4.
        for name in ["core_cpus_list", "thread_siblings_list"] {
            let path = format!("devices/system/cpu/cpu{cpu}/topology/{name}");
            if let Some(siblings) = self.list(&path)? {
                let first = siblings.into_iter().find(|sibling| online.binary_search(sibling).is_ok());
                return Ok(first.unwrap_or(cpu).min(cpu));
            }
        }
        Ok(cpu)
    }

    /// NUMA node of each processor.
    fn nodes(&self) -> Result<BTreeMap<u32, u32>, TopologyError> {
        let folder = self.root.join("devices/system/node");
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(e) if is_absent(&e) => return Ok(BTreeMap::new()),
            Err(error) => return Err(TopologyError::Read { path: folder.display().to_string(), error }),
        };
        let mut node_of = BTreeMap::new();
        for entry in entries {
            let entry =
                entry.map_err(|error| TopologyError::Read { path: folder.display().to_string(), error })?;
            let name = entry.file_name();
            let number = name.to_str().and_then(|n| n.strip_prefix("node")?.parse::<u32>().ok());
            let Some(node) = number else { continue };
            let cpus = self.list(&format!("devices/system/node/node{node}/cpulist"))?;
            node_of.extend(cpus.unwrap_or_default().into_iter().map(|cpu| (cpu, node)));
        }
        Ok(node_of)
    }

    /// Efficiency class of each processor, by what Intel's hybrid processors tell, else by the capacity
    /// that ARM's do.
    fn efficiency_classes(&self, online: &[u32]) -> Result<BTreeMap<u32, u32>, TopologyError> {
        let mut kinds = Vec::new();
        for kind in ["cpu_lowpower", "cpu_atom", "cpu_core"] {
            let mut cpus = self.list(&format!("devices/{kind}/cpus"))?.unwrap_or_default();
            cpus.retain(|cpu| online.binary_search(cpu).is_ok());
            if !cpus.is_empty() {
                kinds.push(cpus);
            }
        }
        if kinds.len() > 1 {
            let classes = (0u32..).zip(kinds);
            return Ok(classes.flat_map(|(class, cpus)| cpus.into_iter().map(move |c| (c, class))).collect());
        }
        let mut capacities = BTreeMap::new();
        for &cpu in online {
            let path = format!("devices/system/cpu/cpu{cpu}/cpu_capacity");
            if let Some(capacity) = self.number(&path)? {
                capacities.insert(cpu, capacity);
            }
        }
        Ok(classes_by_capacity(&capacities))
    }
}

/// Ranks processors by capacity. Differences below 5 % are none, as in the kernel's scheduler: equal
/// cores differ by that much where firmware reports what each chip can reach.
fn classes_by_capacity(capacities: &BTreeMap<u32, i64>) -> BTreeMap<u32, u32> {
    let mut class_floors: Vec<i64> = Vec::new();
    for capacity in distinct(capacities.values().copied()) {
        if class_floors.last().is_none_or(|&floor| capacity.saturating_mul(100) >= floor.saturating_mul(105))
        {
            class_floors.push(capacity);
        }
    }
    let class = |capacity| class_floors.partition_point(|&floor| floor <= capacity) as u32 - 1;
    capacities.iter().map(|(&cpu, &capacity)| (cpu, class(capacity))).collect()
}

/// Not there, or hidden from us by a container, or gone with a processor taken offline.
fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied | ErrorKind::NotADirectory)
        || matches!(Code::of(error), Some(Code::NO_DEVICE | Code::NO_ADDRESS))
}

/// The kernel's list format, `0-3,8`, ascending; `None` when it is something else. The empty list is legal.
pub fn parse_cpu_list(text: &str) -> Option<Vec<u32>> {
    let text = text.trim();
    if text.is_empty() {
        return Some(Vec::new());
    }
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        // Documents hold such lists, too: one that repeats itself must not take all memory.
        let is_more_than_all = || cpus.len() + (last - first) as usize > CPU_MAX as usize;
        if first > last || last > CPU_MAX || is_more_than_all() {
            return None;
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus)
}
