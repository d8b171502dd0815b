//! Facts about the machine: readers of procfs, sysfs, cgroups and mounts over [`roots::Roots`].
//!
//! ```
//! use truespd_platform::machine::mounts::parse_mountinfo;
//! use truespd_platform::machine::roots::Roots;
//! use truespd_platform::machine::topology::{Topology, parse_cpu_list};
//!
//! assert_eq!(parse_cpu_list("0-2,8"), Some(vec![0, 1, 2, 8]));
//! let mounts = parse_mountinfo(b"22 1 253:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n");
//! assert_eq!(mounts[0].fs_type, "ext4");
//!
//! // This machine. With another folder in the place of /sys it is a recorded one.
//! let topology = Topology::read(&Roots::default().sys)?;
//! assert!(topology.cores() >= 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod allocated;
pub mod beneath;
pub mod caches;
pub mod chain;
pub mod device;
pub mod diskstat;
pub mod drive;
pub mod drive_state;
pub mod fileserver;
pub mod held;
pub mod host;
pub mod interrupts;
pub mod limits;
pub mod loops;
pub mod mounts;
pub mod namespace;
pub mod places;
pub mod processor_caches;
pub mod programs;
pub mod roots;
pub mod storage;
pub mod thing;
pub mod topology;
