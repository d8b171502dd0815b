//! Facts about the machine and every system call outside the engines.

pub mod buffer;
pub mod cpustat;
pub mod rusage;
pub mod topology;
pub mod tsc;
pub mod wake;
