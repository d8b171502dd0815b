//! The standard streams as the starter of this process left them.

use std::sync::atomic::{AtomicBool, Ordering};

use super::error::Code;

/// Whether standard output was closed when the process began.
static IS_OUTPUT_CLOSED: AtomicBool = AtomicBool::new(false);

/// Run by the loader before `main`: the standard library opens `/dev/null` in place of what is closed, and
/// what is written there would be lost without an error.
#[used]
// SAFETY: the section holds pointers to functions that the loader calls once each, before any thread is started.
#[unsafe(link_section = ".init_array")]
static AT_START: extern "C" fn() = look;

extern "C" fn look() {
    // SAFETY: asks for the flags of a number that need not be open; nothing else of this program has begun.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    // Any other error says nothing about it: a filter of system calls may forbid to ask (seccomp).
    IS_OUTPUT_CLOSED.store(flags == -1 && Code::last() == Code::BAD_FILE, Ordering::Relaxed);
}

/// Whether standard output was closed when the process began (`>&-`). Whatever is written to it then is lost.
pub fn is_output_closed() -> bool {
    IS_OUTPUT_CLOSED.load(Ordering::Relaxed)
}
