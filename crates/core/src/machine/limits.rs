//! Limits that cgroups put on this process.
//!
//! Version 2: `Documentation/admin-guide/cgroup-v2.rst`; a limit of every ancestor counts. Version 1:
//! `cgroup-v1/blkio-controller.rst` (the throttle knows no hierarchy there: only the process's own group
//! counts), `scheduler/sched-bwc.rst`, `cgroup-v1/memory.rst` (both with ancestors).

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::device::DeviceNumber;
use super::roots::Roots;
use crate::machine::mounts::{Mount, read_mounts};
use crate::machine::read::{read_number, read_word};

/// What a limit is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    /// Reads per second.
    #[default]
    ReadIops,
    /// Writes per second.
    WriteIops,
    /// Bytes read per second.
    ReadBytesPerSecond,
    /// Bytes written per second.
    WriteBytesPerSecond,
    /// Thousandths of a processor.
    CpuMillis,
    /// Bytes of memory, page cache included.
    MemoryBytes,
}

/// One limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limit {
    /// Who keeps it: `io.max`, `blkio.throttle`, `cpu.max`, ...
    pub by: &'static str,
    /// The cgroup that carries it, as seen from here.
    pub group: String,
    /// The device it is for.
    pub device: Option<DeviceNumber>,
    /// What is limited.
    pub what: LimitKind,
    /// How much, in the unit of `what`.
    pub value: u64,
    /// The file that sets it.
    pub file: PathBuf,
}

/// Version 1 says "no limit" with the largest number of whole pages.
const MEMORY_UNLIMITED_BYTES: u64 = 1 << 62;

/// The limits in force for this process on `devices`, its processors and its memory; its own group's first.
pub fn in_force(devices: &[DeviceNumber], roots: &Roots) -> Vec<Limit> {
    Sources::find(devices, roots).in_force()
}

/// Where limits are told, to read them again and again.
#[derive(Debug)]
pub struct Sources {
    devices: Vec<DeviceNumber>,
    /// Where control groups are mounted.
    mounts: Vec<Mount>,
    roots: Roots,
}

impl Sources {
    /// Those of limits on `devices`, on processors and memory.
    pub fn find(devices: &[DeviceNumber], roots: &Roots) -> Self {
        let mut mounts = read_mounts(roots).unwrap_or_default();
        mounts.retain(|mount| mount.fs_type.starts_with("cgroup"));
        Sources { devices: devices.to_vec(), mounts, roots: roots.clone() }
    }

    /// The limits in force now; also when this process was put into another group meanwhile.
    pub fn in_force(&self) -> Vec<Limit> {
        let membership = std::fs::read_to_string(self.roots.proc.join("self/cgroup")).unwrap_or_default();
        let mut found = Vec::new();
        for group in membership.lines().filter_map(Membership::parse) {
            // The same hierarchy at a second place tells nothing new.
            let Some(mount) = self.mounts.iter().find(|m| group.is_seen_in(m)) else { continue };
            for (at, (shown, dir)) in group.with_ancestors(mount, &self.roots).iter().enumerate() {
                let cgroup = Cgroup { group: shown, dir, devices: &self.devices };
                if group.controllers.is_empty() {
                    cgroup.version_2(&mut found)
                } else {
                    cgroup.version_1(&group.controllers, at == 0, &mut found)
                }
            }
        }
        found
    }
}

/// A line of `/proc/self/cgroup`: `4:memory:/path`, for version 2 `0::/path`.
struct Membership<'a> {
    controllers: Vec<&'a str>,
    path: &'a str,
}

impl<'a> Membership<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let mut fields = line.splitn(3, ':');
        let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        Some(Membership { controllers: controllers.split(',').filter(|c| !c.is_empty()).collect(), path })
    }

    fn is_seen_in(&self, mount: &Mount) -> bool {
        let has = |name: &str| mount.options.split(',').any(|o| o == name);
        match self.controllers.first() {
            None => mount.fs_type == "cgroup2",
            Some(first) => mount.fs_type == "cgroup" && has(first),
        }
    }

    /// Directories from the process's own group up to the top of the mount, with the groups' paths. In a
    /// container the mount may show a part of the tree only, and the path may lead out of it.
    fn with_ancestors(&self, mount: &Mount, roots: &Roots) -> Vec<(String, PathBuf)> {
        let path = Path::new(self.path);
        let inside = match path.strip_prefix(&mount.root) {
            _ if self.path.starts_with("/..") => Path::new(""),
            Ok(inside) => inside,
            Err(_) => path.strip_prefix("/").unwrap_or(path),
        };
        let top = match mount.mount_point.strip_prefix("/sys") {
            Ok(inside) => roots.sys.join(inside),
            Err(_) => mount.mount_point.clone(),
        };
        let groups = inside.ancestors().map(|group| {
            let shown = Path::new("/").join(group).to_string_lossy().into_owned();
            (shown, top.join(group))
        });
        groups.collect()
    }
}

/// One cgroup's directory.
struct Cgroup<'a> {
    group: &'a str,
    dir: &'a Path,
    devices: &'a [DeviceNumber],
}

impl Cgroup<'_> {
    fn limit(&self, by: &'static str, device: Option<DeviceNumber>, what: LimitKind, value: u64) -> Limit {
        Limit { by, group: self.group.to_string(), device, what, value, file: self.dir.join(by) }
    }

    /// Lines of a file that begin with the number of one of the devices, without it.
    fn of_devices(&self, file: &str) -> Vec<(DeviceNumber, String)> {
        let text = read_word(&self.dir.join(file)).unwrap_or_default();
        let lines = text.lines().filter_map(|line| line.split_once(char::is_whitespace));
        lines
            .filter_map(|(number, rest)| Some((number.parse().ok()?, rest.to_string())))
            .filter(|(number, _)| self.devices.contains(number))
            .collect()
    }

    fn version_2(&self, found: &mut Vec<Limit>) {
        const KEYS: [(&str, LimitKind); 4] = [
            ("riops", LimitKind::ReadIops),
            ("wiops", LimitKind::WriteIops),
            ("rbps", LimitKind::ReadBytesPerSecond),
            ("wbps", LimitKind::WriteBytesPerSecond),
        ];
        for (device, rest) in self.of_devices("io.max") {
            let pairs: Vec<(&str, &str)> =
                rest.split_whitespace().filter_map(|p| p.split_once('=')).collect();
            for (key, what) in KEYS {
                let value = pairs.iter().find(|(k, _)| *k == key).and_then(|(_, v)| v.parse().ok());
                found.extend(value.map(|value| self.limit("io.max", Some(device), what, value)));
            }
        }
        if let Some(text) = read_word(&self.dir.join("cpu.max")) {
            let mut words = text.split_whitespace();
            let quota = words.next().and_then(|w| w.parse().ok());
            let period = words.next().and_then(|w| w.parse().ok());
            found.extend(self.processors("cpu.max", quota, period));
        }
        for by in ["memory.max", "memory.high"] {
            let value = read_number(&self.dir.join(by));
            found.extend(value.map(|value| self.limit(by, None, LimitKind::MemoryBytes, value)));
        }
    }

    fn version_1(&self, controllers: &[&str], is_own: bool, found: &mut Vec<Limit>) {
        const FILES: [(&str, LimitKind); 4] = [
            ("blkio.throttle.read_iops_device", LimitKind::ReadIops),
            ("blkio.throttle.write_iops_device", LimitKind::WriteIops),
            ("blkio.throttle.read_bps_device", LimitKind::ReadBytesPerSecond),
            ("blkio.throttle.write_bps_device", LimitKind::WriteBytesPerSecond),
        ];
        let has = |name| controllers.contains(&name);
        if has("blkio") && is_own {
            for (file, what) in FILES {
                for (device, rest) in self.of_devices(file) {
                    let value = rest.trim().parse().ok();
                    let limit = value.map(|v| self.limit("blkio.throttle", Some(device), what, v));
                    found.extend(limit.map(|limit| Limit { file: self.dir.join(file), ..limit }));
                }
            }
        }
        if has("cpu") {
            let number = |file: &str| read_number::<u64>(&self.dir.join(file));
            let (quota, period) = (number("cpu.cfs_quota_us"), number("cpu.cfs_period_us"));
            found.extend(self.processors("cpu.cfs_quota_us", quota, period));
        }
        if has("memory") {
            let value = read_number::<u64>(&self.dir.join("memory.limit_in_bytes"));
            let value = value.filter(|&bytes| bytes < MEMORY_UNLIMITED_BYTES);
            found.extend(value.map(|v| self.limit("memory.limit_in_bytes", None, LimitKind::MemoryBytes, v)));
        }
    }

    /// Both in microseconds; no limit shows as `max` or -1, which are no such numbers.
    fn processors(&self, by: &'static str, quota: Option<u64>, period: Option<u64>) -> Option<Limit> {
        let (quota, period) = (quota?, period.filter(|&p| p > 0)?);
        let millis = u64::try_from(u128::from(quota) * 1000 / u128::from(period)).ok()?;
        Some(self.limit(by, None, LimitKind::CpuMillis, millis))
    }
}
