//! A set of processors or of memory nodes, written as the kernel writes one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::topology::parse_cpu_list;
use crate::sys::thread::ranges;

/// Kernel ids of processors (or of memory nodes), ascending, each once. In documents the kernel's list format: `0-3,8`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(into = "String", try_from = "String")]
#[schemars(with = "String")]
pub struct CpuSet(Vec<u32>);

impl CpuSet {
    /// The set of these processors.
    pub fn new(mut cpus: Vec<u32>) -> Self {
        cpus.sort_unstable();
        cpus.dedup();
        CpuSet(cpus)
    }

    /// Whether there is none.
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

    /// The processors, ascending.
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

#[cfg(test)]
mod tests {
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
