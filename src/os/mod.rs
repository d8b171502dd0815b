//! Facts about the machine and every system call outside the engines.

pub mod buffer;
pub mod caretaker;
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
pub mod sample;
pub mod target;
pub mod terminal;
pub mod thread;
pub mod topology;
pub mod tsc;
pub mod undo;
pub mod wake;
pub mod words;
pub mod write_cache;

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
