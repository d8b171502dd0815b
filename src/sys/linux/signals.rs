//! Signals that ask this process to end, and those by which the kernel would end it for a failed write.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// A request to end the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndWish {
    /// The exit code of a process that it ends.
    pub exit_code: i32,
    /// The terminal is gone (SIGHUP). The kernel and the shell each send one, so a second one is no second wish.
    pub is_hangup: bool,
}

/// Requests of a person or a service to end the program (SIGINT, SIGTERM), or the end of its terminal (SIGHUP).
#[derive(Debug)]
pub struct EndWishes {
    signals: Signals,
}

impl EndWishes {
    /// From now on such a signal no longer ends the process; it is received by [`EndWishes::forever`]. A SIGHUP that the
    /// starter of this process had ignored (`nohup`) stays ignored.
    ///
    /// # Errors
    /// What the system says.
    pub fn receive() -> io::Result<EndWishes> {
        let hangup = (!is_ignored(SIGHUP)).then_some(SIGHUP);
        Ok(EndWishes { signals: Signals::new([SIGINT, SIGTERM].into_iter().chain(hangup))? })
    }

    /// Waits for each signal.
    pub fn forever(&mut self) -> impl Iterator<Item = EndWish> {
        let wish = |signal| EndWish { exit_code: 128 + signal, is_hangup: signal == SIGHUP };
        self.signals.forever().map(wish)
    }
}

fn is_ignored(signal: libc::c_int) -> bool {
    // SAFETY: a plain C structure, for which zero is a value.
    let mut now: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: asks only; the structure outlives the call.
    let answer = unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut now) };
    answer == 0 && now.sa_sigaction == libc::SIG_IGN
}

/// A write beyond the limit of file sizes (`ulimit -f`) fails with an error instead of ending this process by SIGXFSZ.
pub fn survive_file_size_limit() {
    // SAFETY: no handler is installed, so nothing of this program runs in one. It cannot fail: the signal exists and may
    // be ignored.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
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
