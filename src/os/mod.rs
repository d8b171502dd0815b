//! Facts about the machine and every system call outside the engines.

pub mod buffer;
pub mod device;
pub mod extents;
pub mod guard;
pub mod mark;
pub mod mounts;
pub mod reuse;
pub mod roots;
pub mod target;
pub mod topology;
pub mod words;
