//! System calls behind one narrow API. Every platform has a folder with the same modules; the rest of the program
//! names `sys::...` and never the platform.

#[cfg(target_os = "linux")]
mod linux;
// Of the processor, not of the system.
pub mod vector;

#[cfg(target_os = "linux")]
pub use linux::{
    aside, buffer, destination, device, directory, error, events, extents, file, identity, lock, own,
    program, signals, source, system, thread, tsc, words,
};
#[cfg(target_os = "linux")]
pub(crate) use linux::{drive, mapper};

/// Things that tests make and the program does not.
#[cfg(all(test, target_os = "linux"))]
pub(crate) use linux::made;
#[cfg(test)]
pub(crate) use linux::made::comes_to_hold;
