//! Linux.

pub mod buffer;
pub mod device;
pub mod error;
pub mod events;
pub mod extents;
pub mod file;
pub mod folders;
pub mod instructions;
#[cfg(test)]
pub(crate) mod made;
pub mod residency;
pub mod rusage;
pub mod signals;
pub mod system;
pub mod terminal;
pub mod thread;
pub mod tsc;
pub mod wake;
