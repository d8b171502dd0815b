//! The caches of the processors, as sysfs tells them (`release-2.3.md` §5.3, §6).

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::roots::{number_in, read_word};
use super::topology::{CpuSet, Topology, parse_cpu_list};

/// Levels and parts that a processor can have; the kernel numbers them from 0 without a gap.
const INDEX_MAX: u32 = 16;
/// What stands for a cache in which a line may lie anywhere, as in Windows.
pub const FULLY_ASSOCIATIVE: u32 = 255;

/// A cache of one or more processors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ProcessorCache {
    /// 1 is the nearest to the core.
    pub level: u32,
    /// What it holds.
    pub kind: ProcessorCacheKind,
    /// Places for a line; 255 for any, 0 when it is not told.
    pub associativity: u32,
    /// Length of a line, 0 when it is not told.
    pub line_bytes: u64,
    #[allow(missing_docs)]
    pub size_bytes: u64,
    /// The online processors that share it.
    pub processors: CpuSet,
}

impl Default for ProcessorCache {
    fn default() -> Self {
        ProcessorCache {
            level: 0,
            kind: ProcessorCacheKind::Unknown,
            associativity: 0,
            line_bytes: 0,
            size_bytes: 0,
            processors: CpuSet::default(),
        }
    }
}

/// What a cache holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum ProcessorCacheKind {
    Unified,
    Instruction,
    Data,
    Trace,
    Unknown,
}

impl ProcessorCacheKind {
    /// The kernel's word, which is that of DiskSpd.
    fn of_word(word: &str) -> Self {
        match word {
            "Unified" => ProcessorCacheKind::Unified,
            "Instruction" => ProcessorCacheKind::Instruction,
            "Data" => ProcessorCacheKind::Data,
            "Trace" => ProcessorCacheKind::Trace,
            _ => ProcessorCacheKind::Unknown,
        }
    }
}

/// Caches of the online processors, each once: in the order of their first processors, of those the nearest first.
/// Empty where the kernel tells none, as in many virtual machines.
pub fn processor_caches(sys_root: &Path, topology: &Topology) -> Vec<ProcessorCache> {
    let mut found = Vec::new();
    for processor in &topology.processors {
        for index in 0..INDEX_MAX {
            let folder = sys_root.join(format!("devices/system/cpu/cpu{}/cache/index{index}", processor.cpu));
            let Some(shared) = read_word(&folder.join("shared_cpu_list")) else { break };
            let mut cpus = parse_cpu_list(&shared).unwrap_or_else(|| vec![processor.cpu]);
            cpus.retain(|cpu| topology.node_of(*cpu).is_some());
            // Large machines have thousands of these files: those of a cache are read once.
            if cpus.first() == Some(&processor.cpu) {
                found.push(cache(&folder, CpuSet::new(cpus)));
            }
        }
    }
    found
}

fn cache(folder: &Path, processors: CpuSet) -> ProcessorCache {
    let is_full = number_in(folder, "number_of_sets") == Some(1);
    ProcessorCache {
        level: number_in(folder, "level").unwrap_or(0),
        kind: ProcessorCacheKind::of_word(&read_word(&folder.join("type")).unwrap_or_default()),
        associativity: if is_full {
            FULLY_ASSOCIATIVE
        } else {
            number_in(folder, "ways_of_associativity").unwrap_or(0)
        },
        line_bytes: number_in(folder, "coherency_line_size").unwrap_or(0),
        size_bytes: read_word(&folder.join("size")).and_then(|word| bytes_of(&word)).unwrap_or(0),
        processors,
    }
}

/// The bytes of `32K`, as the kernel writes sizes of caches.
fn bytes_of(word: &str) -> Option<u64> {
    word.strip_suffix('K')?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &Path, cpu: u32, index: u32, values: [&str; 6]) {
        let folder = root.join(format!("devices/system/cpu/cpu{cpu}/cache/index{index}"));
        std::fs::create_dir_all(&folder).expect("a folder");
        let names =
            ["level", "type", "size", "coherency_line_size", "ways_of_associativity", "shared_cpu_list"];
        for (name, value) in names.iter().zip(values) {
            std::fs::write(folder.join(name), format!("{value}\n")).expect("a file");
        }
    }

    #[test]
    fn each_cache_is_told_once() {
        let root = tempfile::tempdir().expect("a folder");
        let online = root.path().join("devices/system/cpu");
        std::fs::create_dir_all(&online).expect("a folder");
        std::fs::write(online.join("online"), "0-1\n").expect("a file");
        for cpu in [0, 1] {
            put(root.path(), cpu, 0, ["1", "Data", "48K", "64", "12", &cpu.to_string()]);
            put(root.path(), cpu, 1, ["1", "Instruction", "32K", "64", "8", &cpu.to_string()]);
            put(root.path(), cpu, 2, ["3", "Unified", "24576K", "128", "16", "0-3"]);
        }
        std::fs::write(online.join("cpu1/cache/index1/number_of_sets"), "1").expect("a file");
        let topology = Topology::read(root.path()).expect("two processors");
        let found = processor_caches(root.path(), &topology);
        let shown: Vec<_> = found
            .iter()
            .map(|one| {
                (
                    one.level,
                    one.kind,
                    one.size_bytes >> 10,
                    one.associativity,
                    String::from(one.processors.clone()),
                )
            })
            .collect();
        let wanted = [
            (1, ProcessorCacheKind::Data, 48, 12, "0".to_string()),
            (1, ProcessorCacheKind::Instruction, 32, 8, "0".to_string()),
            (3, ProcessorCacheKind::Unified, 24576, 16, "0-1".to_string()),
            (1, ProcessorCacheKind::Data, 48, 12, "1".to_string()),
            (1, ProcessorCacheKind::Instruction, 32, FULLY_ASSOCIATIVE, "1".to_string()),
        ];
        assert_eq!(shown, wanted);
        assert_eq!(found[2].line_bytes, 128);
    }

    #[test]
    fn what_is_not_told_is_not_there() {
        let root = tempfile::tempdir().expect("a folder");
        let nothing = Topology::default();
        assert!(processor_caches(root.path(), &nothing).is_empty());
        assert_eq!([bytes_of("32K"), bytes_of("32"), bytes_of("xK")], [Some(32768), None, None]);
    }
}
