//! Processor topology from sysfs, in DiskSpd's terms.
//!
//! Files that are missing (containers, kernels without NUMA or topology) are replaced by the plainest
//! machine that fits: one node, one socket, every processor a core of its own.
//!
//! A set of processors or of memory nodes, written as the kernel writes one.
//!
//! Processor time from `/proc/stat`: what each processor did since boot, in clock ticks.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::sys::error::{Code, system_text};
use crate::sys::thread::{allowed_processors, ranges};

/// Highest CPU id believed; the largest kernels are built for 8192.
const CPU_MAX: u32 = 65_535;
const GROUP_LEN: u32 = 64;

/// Processors of the machine, in DiskSpd's terms (`text-output.md` §5 and §7).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[allow(missing_docs, reason = "the text of each error says what its members are")]
pub enum TopologyError {
    /// A file is there but cannot be read.
    #[error("cannot read the processor topology from {path}: {}", system_text(error))]
    Read { path: String, error: std::io::Error },
    /// A file does not hold what it should.
    #[error("cannot read the processor topology: {path} holds {text:?}, expected {expected}")]
    Malformed { path: String, text: String, expected: &'static str },
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
            Err(missing @ TopologyError::NoProcessors { .. }) => match processor_times() {
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

    /// Physical cores that have an online processor.
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
    // Firmware may call its sockets 0 and 36, or -1 when it does not know.
    let packages = distinct(all.iter().map(|f| f.package));
    let nodes = distinct(all.iter().map(|f| f.node.into()));
    let cores = distinct(all.iter().map(|f| f.first_sibling.into()));
    let groups = all.last().map_or(0, |last| last.cpu / GROUP_LEN) + 1;
    let cores_of_group: Vec<Vec<i64>> = (0..groups)
        .map(|group| all.iter().filter(move |f| f.cpu / GROUP_LEN == group).map(|f| f.first_sibling.into()))
        .map(distinct)
        .collect();
    let processors = all.iter().map(|f| Processor {
        cpu: f.cpu,
        group: f.cpu / GROUP_LEN,
        number: f.cpu % GROUP_LEN,
        core: rank(&cores_of_group[(f.cpu / GROUP_LEN) as usize], f.first_sibling.into()),
        physical_core: rank(&cores, f.first_sibling.into()),
        socket: rank(&packages, f.package),
        node: f.node,
        efficiency_class: f.efficiency_class,
    });
    Topology {
        processors: processors.collect(),
        nodes: nodes.len().max(1) as u32,
        sockets: packages.len().max(1) as u32,
        groups,
        cpus_possible: None,
    }
}

fn rank(sorted: &[i64], value: i64) -> u32 {
    sorted.partition_point(|&v| v < value) as u32
}

fn distinct(values: impl Iterator<Item = i64>) -> Vec<i64> {
    let mut values: Vec<i64> = values.collect();
    values.sort_unstable();
    values.dedup();
    values
}

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
    let classes = capacities
        .iter()
        .map(|(&cpu, capacity)| (cpu, class_floors.partition_point(|floor| floor <= capacity) as u32 - 1));
    classes.collect()
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
        if first > last || last > CPU_MAX || cpus.len() + (last - first) as usize > CPU_MAX as usize {
            return None;
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus)
}

/// Kernel ids of processors (or of memory nodes), ascending, each once. In documents the kernel's list format: `0-3,8`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(into = "String", try_from = "String")]
#[cfg_attr(feature = "schema", schemars(with = "String"))]
pub struct CpuSet(Vec<u32>);

impl CpuSet {
    /// The set of these processors.
    pub fn new(mut cpus: Vec<u32>) -> Self {
        cpus.sort_unstable();
        cpus.dedup();
        CpuSet(cpus)
    }

    /// Whether it holds no processor at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the processor belongs to it.
    pub fn contains(&self, cpu: u32) -> bool {
        self.0.binary_search(&cpu).is_ok()
    }

    /// Whether all of `other` belong to it.
    pub fn holds(&self, other: &CpuSet) -> bool {
        other.0.iter().all(|&cpu| self.contains(cpu))
    }

    /// Those that belong to both.
    #[must_use]
    pub fn within(&self, other: &CpuSet) -> Self {
        CpuSet(self.0.iter().copied().filter(|&cpu| other.contains(cpu)).collect())
    }

    /// Kernel ids of the processors, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.0.iter().copied()
    }

    /// `processor 1`, `processors 0-3,8`.
    pub fn words(&self) -> String {
        let s = if self.0.len() == 1 { "" } else { "s" };
        format!("processor{s} {}", ranges(&self.0))
    }
}

impl From<CpuSet> for String {
    fn from(set: CpuSet) -> String {
        ranges(&set.0)
    }
}

impl TryFrom<String> for CpuSet {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let cpus = parse_cpu_list(&text);
        cpus.map(CpuSet).ok_or_else(|| format!("{text:?} is no list of processors such as 0-3,8"))
    }
}

/// Where the kernel keeps the counters.
const PATH: &str = "/proc/stat";
/// `USER_HZ` is 100 on every common kernel.
pub(super) const NS_PER_TICK: u64 = 10_000_000;

/// What one processor did since boot, in clock ticks (1/100 s on every common kernel).
///
/// Time spent running guests is inside `user` and `nice`, as the kernel counts it (proc_stat(5)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuTicks {
    /// Kernel id of the processor, from 0.
    pub cpu: u32,
    /// Time in programs of usual priority, in clock ticks.
    pub user: u64,
    /// User programs of low priority.
    pub nice: u64,
    /// Kernel on behalf of programs.
    pub system: u64,
    /// Nothing to do, and nothing waited for.
    pub idle: u64,
    /// Nothing to do, with a thread waiting for I/O.
    pub iowait: u64,
    /// Time in interrupt handlers, in clock ticks.
    pub irq: u64,
    /// Work that interrupts put off.
    pub softirq: u64,
    /// Taken by the hypervisor for others.
    pub steal: u64,
}

/// Share of all processor time since boot that the hypervisor gave to others, in percent.
pub fn steal_percent_since_boot(all: &[CpuTicks]) -> f64 {
    let stolen: u64 = all.iter().map(|t| t.steal).sum();
    let used = all.iter().map(|t| t.user + t.nice + t.system + t.idle + t.iowait + t.irq + t.softirq);
    let total = stolen + used.sum::<u64>();
    if total == 0 { 0.0 } else { stolen as f64 * 100.0 / total as f64 }
}

/// Processor time since boot that the hypervisor gave to others, of all processors, in nanoseconds.
pub fn stolen_ns(all: &[CpuTicks]) -> u64 {
    all.iter().map(|ticks| ticks.steal).sum::<u64>() * NS_PER_TICK
}

/// Why the counters could not be read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the text of each error says what its members are")]
pub enum CpuStatError {
    /// The file could not be read.
    #[error("cannot read processor times from {path}: {}; is /proc mounted?", system_text(error))]
    Read { path: String, error: std::io::Error },
    /// A line is not what proc_stat(5) promises.
    #[error("cannot read processor times: {line:?} is not a line \"cpuN user nice system idle ...\"")]
    Malformed { line: String },
}

/// The counters of all online processors, ascending by CPU id.
///
/// # Errors
/// [`CpuStatError`] when the file is not there or not understood.
pub fn processor_times() -> Result<Vec<CpuTicks>, CpuStatError> {
    processor_times_in(Path::new(PATH))
}

/// `read` from another file of that format.
///
/// # Errors
/// [`CpuStatError`] when the file is not there or not understood.
pub fn processor_times_in(path: &Path) -> Result<Vec<CpuTicks>, CpuStatError> {
    let text = fs::read_to_string(path)
        .map_err(|error| CpuStatError::Read { path: path.display().to_string(), error })?;
    parse_processor_times(&text)
}

/// The `cpuN` lines of a `/proc/stat` text. Columns that an old kernel does not have are 0.
///
/// # Errors
/// [`CpuStatError::Malformed`] with the first line that is not understood.
pub fn parse_processor_times(text: &str) -> Result<Vec<CpuTicks>, CpuStatError> {
    let mut all = Vec::new();
    for line in text.lines() {
        // The line `cpu` is the sum of all.
        if !line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
            continue;
        }
        all.push(parse_line(line).ok_or_else(|| CpuStatError::Malformed { line: line.to_string() })?);
    }
    all.sort_unstable_by_key(|ticks| ticks.cpu);
    Ok(all)
}

fn parse_line(line: &str) -> Option<CpuTicks> {
    let mut words = line.strip_prefix("cpu")?.split_ascii_whitespace();
    let cpu = words.next()?.parse().ok()?;
    let mut columns = [0u64; 8];
    // Beyond the eighth come guest and guest_nice, already part of the first two.
    let mut present = 0;
    for (column, word) in columns.iter_mut().zip(words) {
        *column = word.parse().ok()?;
        present += 1;
    }
    let [user, nice, system, idle, iowait, irq, softirq, steal] = columns;
    (present >= 4).then_some(CpuTicks { cpu, user, nice, system, idle, iowait, irq, softirq, steal })
}

#[cfg(test)]
mod tests_cpu_set {
    use super::*;

    #[test]
    fn a_set_is_written_as_the_kernel_writes_it() {
        let set = CpuSet::new(vec![8, 1, 0, 2, 1]);
        let text = serde_json::to_string(&set).expect("a string");
        assert_eq!(text, r#""0-2,8""#);
        assert_eq!(serde_json::from_str::<CpuSet>(&text).expect("is read"), set);
        assert!(serde_json::from_str::<CpuSet>(r#""1-x""#).is_err());
        assert_eq!(set.words(), "processors 0-2,8");
        assert_eq!(CpuSet::new(vec![3]).words(), "processor 3");
        assert!(set.contains(8) && !set.contains(3));
        assert!(set.holds(&CpuSet::new(vec![0, 8])) && !set.holds(&CpuSet::new(vec![0, 3])));
        assert_eq!(set.within(&CpuSet::new(vec![2, 3, 8])), CpuSet::new(vec![2, 8]));
    }
}

#[cfg(test)]
mod tests_cpustat {
    use super::*;

    const RECORDED: &str = "cpu  6147 0 2717 236665 405 0 47 10 0 0\n\
                            cpu1 3485 2 1709 117384 375 3 32 8 5 1\n\
                            cpu0 2662 0 1008 119280 30 0 14 1 0 0\n\
                            intr 200910 0 0 1\nctxt 363094\nbtime 1763688000\n";

    #[test]
    fn lines_of_processors_are_taken_and_sorted() {
        let all = parse_processor_times(RECORDED).expect("as recorded");
        assert_eq!(all.iter().map(|t| t.cpu).collect::<Vec<_>>(), [0, 1]);
        let wanted = CpuTicks {
            cpu: 1,
            user: 3485,
            nice: 2,
            system: 1709,
            idle: 117_384,
            iowait: 375,
            irq: 3,
            softirq: 32,
            steal: 8,
        };
        assert_eq!(all[1], wanted);
        let percent = steal_percent_since_boot(&all);
        assert!((percent - 900.0 / 245_117.0).abs() < 1e-3, "{percent}");
        assert_eq!(steal_percent_since_boot(&[]), 0.0);
    }

    #[test]
    fn old_kernels_have_fewer_columns() {
        let all = parse_processor_times("cpu 1 2 3 4\ncpu0 1 2 3 4\n").expect("Linux 2.4");
        assert_eq!(all, [CpuTicks { user: 1, nice: 2, system: 3, idle: 4, ..CpuTicks::default() }]);
    }

    #[test]
    fn strange_lines_are_named() {
        for line in ["cpu0 1 2 3", "cpu0", "cpu0 1 2 x 4", "cpu99999999999 1 2 3 4", "cpu0 1 -2 3 4"] {
            let error = parse_processor_times(&format!("cpu 1 2 3 4\n{line}\n")).expect_err(line);
            assert!(error.to_string().contains(line), "{error}");
        }
    }

    #[test]
    fn a_missing_file_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = processor_times_in(&folder.path().join("stat")).expect_err("not there").to_string();
        assert!(error.contains("/stat: No such file"), "{error}");
    }

    #[test]
    fn this_machine_has_processors() {
        let all = processor_times().expect("Linux has it");
        assert!(all.iter().any(|t| t.idle + t.user > 0));
        assert!(all.windows(2).all(|pair| pair[0].cpu < pair[1].cpu));
    }
}
