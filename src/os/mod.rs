//! Facts about the machine and every system call outside the engines.

pub mod buffer;
pub mod chain;
pub mod cpustat;
pub mod device;
pub mod diskstat;
pub mod events;
pub mod extents;
pub mod guard;
pub mod host;
pub mod instructions;
pub mod limits;
pub mod mark;
pub mod memory;
pub mod mounts;
pub mod pressure;
pub mod residency;
pub mod reuse;
pub mod roots;
pub mod rusage;
pub mod target;
pub mod terminal;
pub mod thread;
pub mod topology;
pub mod tsc;
pub mod wake;
pub mod words;
