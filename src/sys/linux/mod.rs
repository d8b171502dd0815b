//! Linux.

pub mod buffer;
pub mod error;
pub mod events;
pub mod extents;
pub mod folders;
pub mod instructions;
pub mod residency;
pub mod rusage;
pub mod terminal;
pub mod thread;
pub mod tsc;
pub mod wake;
