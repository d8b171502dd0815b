//! Facts about the machine: readers of procfs, sysfs, cgroups and mounts over [`roots::Roots`].

pub(crate) mod attached;
pub mod beneath;
pub mod chain;
pub mod device;
pub mod diskstat;
pub mod fileserver;
pub mod host;
pub mod interrupts;
pub mod limits;
pub mod memory;
pub mod mounts;
pub(crate) mod namespace;
pub(crate) mod power;
pub mod process;
pub mod roots;
pub mod setting;
pub mod storage;
pub mod topology;
pub mod write_cache;
