//! Signals that ask this process to end.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Requests of a person or a service to end the program (SIGINT, SIGTERM).
#[derive(Debug)]
pub struct EndWishes {
    signals: Signals,
}

impl EndWishes {
    /// From now on such a signal no longer ends the process; it is received by [`EndWishes::forever`].
    ///
    /// # Errors
    /// What the system says.
    pub fn receive() -> io::Result<EndWishes> {
        Ok(EndWishes { signals: Signals::new([SIGINT, SIGTERM])? })
    }

    /// Waits for each signal, and gives the exit code of a process that it ends.
    pub fn forever(&mut self) -> impl Iterator<Item = i32> {
        self.signals.forever().map(|signal| 128 + signal)
    }
}

/// Makes this process ignore the signals by which a terminal or a service ends programs.
///
/// # Errors
/// What the system says.
pub fn ignore_ends() -> io::Result<()> {
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        // A flag that nobody reads: the signal has no effect.
        signal_hook::flag::register(signal, Arc::<AtomicBool>::default())?;
    }
    Ok(())
}

/// Leaves the session of the terminal, whose signals then do not arrive.
pub fn leave_session() {
    // Refused only for the leader of a process group, which a child is not by itself.
    let _ = rustix::process::setsid();
}

/// Waits until a signal handler has run.
pub fn wait_for_any() {
    // SAFETY: takes nothing; returns after a signal handler has run.
    unsafe { libc::pause() };
}
