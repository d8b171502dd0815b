//! Signals that ask this process to end.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// The wishes of people and services that the program shall end (SIGINT, SIGTERM).
#[derive(Debug)]
pub struct EndWishes {
    signals: Signals,
}

impl EndWishes {
    /// From now on such a signal is a wish and no longer an end.
    ///
    /// # Errors
    /// What the system says.
    pub fn receive() -> io::Result<EndWishes> {
        Ok(EndWishes { signals: Signals::new([SIGINT, SIGTERM])? })
    }

    /// Waits for each: the exit code of a process that it ends.
    pub fn forever(&mut self) -> impl Iterator<Item = i32> {
        self.signals.forever().map(|signal| 128 + signal)
    }
}

/// Signals of a terminal or a service that end do nothing to this process any more.
///
/// # Errors
/// What the system says.
pub fn ignore_ends() -> io::Result<()> {
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        // A handler that does nothing that matters: the signal is taken and forgotten.
        signal_hook::flag::register(signal, Arc::<AtomicBool>::default())?;
    }
    Ok(())
}

/// Leaves the session of the terminal, whose signals then do not arrive.
pub fn leave_session() {
    // Refused only for the leader of a group, which nobody's child is by itself.
    let _ = rustix::process::setsid();
}

/// Waits until a signal handler has run.
pub fn wait_for_any() {
    // SAFETY: takes nothing; returns after a signal handler has run.
    unsafe { libc::pause() };
}
