//! Linux.

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
pub mod lock;
#[cfg(test)]
pub(crate) mod made;
pub mod open;
pub mod program;
pub mod residency;
pub mod signals;
pub mod source;
pub mod system;
pub mod terminal;
pub mod thread;
pub mod times;
pub mod tsc;
pub mod wake;
