//! System calls behind one narrow API. Every platform has a folder with the same modules; the rest of the program
//! names `sys::...` and never the platform.

#[cfg(target_os = "linux")]
mod linux;
// Of the processor, not of the system.
pub mod vector;

#[cfg(target_os = "linux")]
pub use linux::{
    allocator, attribute, blkid, buffer, destination, device, error, events, extents, file, folders,
    identity, instructions, kernel_table, lease, lock, nvme, open, pages, residency, rusage, signals, source,
    space, stack, standard, stat, system, terminal, thread, times, tsc, wake,
};

#[cfg(all(target_os = "linux", feature = "mpi"))]
pub use linux::mpi;

/// Things that tests make and the program does not.
#[cfg(all(test, target_os = "linux"))]
pub(crate) use linux::made;

/// Whether it comes to hold within a second: a child that another test starts just then holds copies of our open files
/// until its exec.
#[cfg(test)]
pub(crate) fn within_a_second(mut is_so: impl FnMut() -> bool) -> bool {
    let limit = std::time::Instant::now() + std::time::Duration::from_secs(1);
    loop {
        if is_so() {
            return true;
        }
        if std::time::Instant::now() > limit {
            return false;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}
