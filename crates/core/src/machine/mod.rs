//! Facts about the machine: readers of procfs, sysfs, cgroups and mounts over [`roots::Roots`].

pub mod beneath;
pub mod chain;
pub mod device;
pub mod diskstat;
pub mod drive;
pub mod fileserver;
pub mod host;
pub mod interrupts;
pub mod limits;
pub mod mounts;
pub(crate) mod namespace;
pub mod roots;
pub mod storage;
pub mod topology;
