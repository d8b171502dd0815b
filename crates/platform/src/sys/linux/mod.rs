//! Linux.

pub mod aside;
pub mod buffer;
pub mod destination;
pub mod device;
pub mod directory;
pub mod drive;
pub mod error;
pub mod events;
pub mod extents;
pub mod file;
pub mod identity;
mod libm;
pub mod lock;
#[cfg(test)]
#[allow(dead_code, reason = "each crate needs some of it")]
pub(crate) mod made;
pub mod mapper;
pub mod own;
pub mod program;
pub mod signals;
pub mod source;
pub mod system;
pub mod thread;
pub mod tsc;
pub mod words;
