//! Facts about the machine: readers of procfs, sysfs, cgroups and mounts over [`roots::Roots`].

pub mod chain;
pub mod cpu_set;
pub mod cpustat;
pub mod device;
pub mod diskstat;
pub mod fileserver;
pub mod fuse;
pub mod host;
pub mod interrupts;
pub mod launcher;
pub mod limits;
pub mod loops;
pub mod memory;
pub mod mounts;
pub mod namespace;
pub(crate) mod nvme;
pub mod pressure;
pub mod process;
pub(crate) mod read;
pub mod roots;
pub mod sight;
pub mod storage;
pub mod topology;
pub mod write_cache;
