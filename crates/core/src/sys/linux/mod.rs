//! Linux.

pub mod allocator;
pub mod attribute;
pub mod blkid;
pub mod buffer;
pub mod destination;
pub mod device;
pub mod error;
pub mod events;
pub mod extents;
pub mod file;
pub mod folders;
pub mod identity;
pub mod instructions;
pub mod kernel_table;
pub mod lease;
pub mod lock;
#[cfg(test)]
pub(crate) mod made;
pub mod nvme;
pub mod open;
pub mod pages;
pub mod residency;
pub mod rusage;
pub mod signals;
pub mod source;
pub mod space;
pub mod stack;
pub mod standard;
pub mod stat;
pub mod system;
pub mod terminal;
pub mod thread;
pub mod times;
pub mod tsc;
pub mod wake;
