//! The allocator of the programs: the system's, and words instead of an abort when there is no memory left.
//!
//! What a run needs is checked before it begins, but limits can be lower than anything that is checked, and
//! other programs can take the memory meanwhile. The standard library would end the process by SIGABRT, with
//! a core dump.
//!
//! Room on the stack for the main thread, whatever the limit of the shell says (`ulimit -s`).
//!
//! The standard streams as the starter of this process left them.
//!
//! Terminals and other streams.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::Write;
use std::os::fd::AsFd;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fmt, io, thread};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::sys::linux::error::Code;

/// The system's allocator. Where it has no memory left, the program says so and ends with exit code 1.
#[derive(Debug, Clone, Copy)]
pub struct EndsInWords;

// SAFETY: all promises are those of the system's allocator, which does the work; no call returns a null pointer.
unsafe impl GlobalAlloc for EndsInWords {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        checked(unsafe { System.alloc(layout) }, layout.size())
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        checked(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    #[inline]
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        checked(unsafe { System.realloc(at, layout, size) }, size)
    }

    #[inline]
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(at, layout) }
    }
}

#[inline]
fn checked(at: *mut u8, bytes: usize) -> *mut u8 {
    if at.is_null() {
        end(bytes);
    }
    at
}

#[cold]
fn end(bytes: usize) -> ! {
    let mut words = Words { text: [0; 256], len: 0 };
    // Too long for its place, it is cut.
    let _ = writeln!(
        words,
        "ERROR: the system has no {bytes} bytes of memory left for this program; raise its limit (ulimit -v, \
         ulimit -d), or use fewer threads (-t, -F) and outstanding I/Os (-o)"
    );
    // SAFETY: the bytes are there, and nothing of this process runs after the second call. An error of the
    // first changes nothing about the end.
    unsafe {
        libc::write(libc::STDERR_FILENO, words.text.as_ptr().cast(), words.len);
        libc::_exit(1)
    }
}

/// A thread that begins takes memory for its signal stack, and the standard library panics where there is none: this is
/// the end of the memory, as everywhere else.
fn end_where_no_thread_can_begin() {
    const SIGNAL_STACK: &str = "stack_overflow.rs";
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if panic.location().is_some_and(|place| place.file().ends_with(SIGNAL_STACK)) {
            end(libc::SIGSTKSZ);
        }
        usual(panic);
    }));
}

/// Text without memory from an allocator.
struct Words {
    text: [u8; 256],
    len: usize,
}

impl Write for Words {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        let place = self.text.get_mut(self.len..self.len + part.len()).ok_or(fmt::Error)?;
        place.copy_from_slice(part.as_bytes());
        self.len += part.len();
        Ok(())
    }
}

const STACK_BYTES: u64 = 8 << 20;
/// Sets the stacks of threads that name none: far too little or far too much of it would end the program.
const THREAD_STACKS: &str = "RUST_MIN_STACK";

/// Runs the main function with room for it: the limit of the stack is raised where this user may, and else
/// `body` runs in a thread whose stack is memory like any other. Beyond the limit, the kernel would end the
/// program with a signal and no word. To be called first.
///
/// # Errors
/// There is no memory for the thread; `body` did not run.
pub fn with_room<R: Send>(body: impl FnOnce() -> R + Send) -> io::Result<R> {
    end_where_no_thread_can_begin();
    if std::env::var_os(THREAD_STACKS).is_some() {
        // SAFETY: nothing else runs yet that could look at the environment.
        unsafe { std::env::remove_var(THREAD_STACKS) };
    }
    if has_room() || is_raised() {
        return Ok(body());
    }
    thread::scope(|scope| {
        let builder = thread::Builder::new().name("program".into()).stack_size(STACK_BYTES as usize);
        let program = builder.spawn_scoped(scope, body)?;
        program.join().map_err(|panic| resume_unwind(panic))
    })
}

fn has_room() -> bool {
    getrlimit(Resource::Stack).current.is_none_or(|bytes| bytes >= STACK_BYTES)
}

/// The kernel looks at the limit when the stack grows, so raising it is enough. Above the hard limit only root may.
fn is_raised() -> bool {
    let hard = getrlimit(Resource::Stack).maximum.map(|bytes| bytes.max(STACK_BYTES));
    setrlimit(Resource::Stack, Rlimit { current: Some(STACK_BYTES), maximum: hard }).is_ok()
}

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

/// Columns of the terminal behind a stream; `None` when it is none, or does not tell.
pub fn terminal_columns(stream: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// Whether two streams lead to the same file, pipe or socket (`2>&1`) and that is no terminal, where people
/// can tell one from the other.
pub fn are_merged(a: impl AsFd, b: impl AsFd) -> bool {
    let (Ok(one), Ok(other)) = (rustix::fs::fstat(&a), rustix::fs::fstat(b)) else { return false };
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino) && !rustix::termios::isatty(a)
}

/// Whether this process may draw on the terminal behind a stream: its job is the one in the foreground.
pub fn is_ours(stream: impl AsFd) -> bool {
    rustix::termios::tcgetpgrp(stream).is_ok_and(|group| group == rustix::process::getpgrp())
}

/// How a terminal treats keys, to be put back later.
#[derive(Debug, Clone)]
pub struct Modes(Termios);

impl Modes {
    /// Those of the terminal behind a stream.
    ///
    /// # Errors
    /// What the system says, e.g. that it is no terminal.
    pub fn of(stream: impl AsFd) -> io::Result<Modes> {
        Ok(Modes(tcgetattr(stream)?))
    }

    /// Puts them back.
    ///
    /// # Errors
    /// What the system says.
    pub fn restore(&self, stream: impl AsFd) -> io::Result<()> {
        Ok(tcsetattr(stream, OptionalActions::Now, &self.0)?)
    }

    /// The same, but keys that are typed are not shown. Ctrl+C, Ctrl+Z and the like do what they do otherwise.
    pub fn without_echo(&self) -> Modes {
        let mut modes = self.0.clone();
        modes.local_modes.remove(LocalModes::ECHO | LocalModes::ECHONL);
        Modes(modes)
    }
}

#[cfg(test)]
mod tests_terminal {
    use super::{Modes, are_merged, is_ours};

    #[test]
    fn streams_are_merged_where_they_end_in_one_place() {
        let dir = tempfile::tempdir().expect("a folder can be made");
        let open = |name: &str| std::fs::File::create(dir.path().join(name)).expect("a file can be made");
        let (a, again, b) = (open("a"), open("a"), open("b"));
        assert!(are_merged(&a, &again) && are_merged(&a, a.try_clone().expect("a descriptor is left")));
        assert!(!are_merged(&a, &b));
        let ((_read, write), (_other_read, other)) = (pipe(), pipe());
        assert!(are_merged(&write, &write) && !are_merged(&write, &other));
    }

    fn pipe() -> (std::io::PipeReader, std::io::PipeWriter) {
        std::io::pipe().expect("a pipe can be made")
    }

    #[test]
    fn a_file_has_no_columns() {
        let file = tempfile::tempfile().expect("a file can be made");
        assert_eq!(super::terminal_columns(&file), None);
        assert!(Modes::of(&file).is_err() && !is_ours(&file));
    }
}
