//! Facts about the machine and every system call outside the engines.

pub mod buffer;
pub mod device;
pub mod guard;
pub mod mounts;
pub mod roots;
pub mod target;
pub mod topology;
pub mod words;
