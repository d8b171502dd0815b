//! SIGBUS while copying to or from a mapped file becomes a failed I/O instead of the end of the process.
//!
//! The signal is raised by the copying thread itself, so that the handler finds in the thread's own
//! variables which range is being copied. It puts an empty page where the file's is missing; the copy goes
//! on and the engine then drops what it copied. Every other SIGBUS goes to the handler that was there
//! before.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, compiler_fence};

use super::super::transfer::numbered_text;
use super::super::{EngineError, IoError};

/// The engine, in messages.
pub(in crate::engine) const NAME: &str = "mmap";

/// The handler is installed. Not `Send`: it watches the thread that uses it.
#[derive(Debug, Clone, Copy)]
pub(super) struct BusWatch(PhantomData<Cell<()>>);

/// The range the thread is copying, and whether a page of it was missing. Atomics, because the handler
/// interrupts the thread anywhere; nothing to destroy, so that the handler may touch it at any time.
struct Watched {
    start: AtomicUsize,
    end: AtomicUsize,
    hit: AtomicBool,
}

thread_local! {
    static WATCHED: Watched = const {
        Watched { start: AtomicUsize::new(0), end: AtomicUsize::new(0), hit: AtomicBool::new(false) }
    };
}

/// What SIGBUS did before, or why it cannot be had.
static BEFORE: OnceLock<Result<libc::sigaction, IoError>> = OnceLock::new();

impl BusWatch {
    /// Installs the handler, once per process.
    pub(super) fn install() -> Result<Self, EngineError> {
        // Known before the first signal: asking for it later might not be safe in a handler.
        PAGE.store(rustix::param::page_size(), Ordering::Relaxed);
        match BEFORE.get_or_init(install_handler) {
            Ok(_) => Ok(BusWatch(PhantomData)),
            Err(error) => Err(EngineError::Setup {
                engine: NAME,
                action: "installing a handler for failing accesses to mapped files (SIGBUS)".into(),
                error: numbered_text(*error),
            }),
        }
    }

    /// Runs `copy`; true when every page of `range` was there.
    #[inline]
    pub(super) fn run(&self, range: Range<usize>, copy: impl FnOnce()) -> bool {
        WATCHED.with(|watched| {
            watched.hit.store(false, Ordering::Relaxed);
            watched.start.store(range.start, Ordering::Relaxed);
            watched.end.store(range.end, Ordering::Relaxed);
            // The handler runs on this thread: the compiler alone could reorder.
            compiler_fence(Ordering::SeqCst);
            copy();
            compiler_fence(Ordering::SeqCst);
            watched.end.store(0, Ordering::Relaxed);
            !watched.hit.load(Ordering::Relaxed)
        })
    }
}

static PAGE: AtomicUsize = AtomicUsize::new(4096);

fn install_handler() -> Result<libc::sigaction, IoError> {
    // SAFETY: both structures are plain data, valid when zero, and outlive the call; `on_bus_error` does
    // only what a handler may do.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let mut before: libc::sigaction = std::mem::zeroed();
        let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = on_bus_error;
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigemptyset(&mut action.sa_mask);
        if libc::sigaction(libc::SIGBUS, &action, &mut before) == 0 {
            Ok(before)
        } else {
            Err(IoError::last())
        }
    }
}

extern "C" fn on_bus_error(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid structure, whose address field is set for a failed access, that
    // is, when the code is positive.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr().addr()) };
    let ours = code > 0 && WATCHED.try_with(|watched| replace_page(watched, address)).unwrap_or(false);
    if !ours {
        pass_on(signal, info, context);
    }
}

/// Puts an empty page at `address`, if that is inside the range being copied.
fn replace_page(watched: &Watched, address: usize) -> bool {
    let page = PAGE.load(Ordering::Relaxed);
    let first = watched.start.load(Ordering::Relaxed) & !(page - 1);
    if address < first || address >= watched.end.load(Ordering::Relaxed) {
        return false;
    }
    let place = std::ptr::without_provenance_mut::<libc::c_void>(address & !(page - 1));
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: the page belongs to a map of the engine that is copying on this very thread; it maps the
    // file there again before the next I/O. The call is one system call and safe in a handler; errno is
    // put back.
    let replaced = unsafe {
        let errno = *libc::__errno_location();
        let at = libc::mmap(place, page, protection, flags, -1, 0);
        *libc::__errno_location() = errno;
        at == place
    };
    if replaced {
        watched.hit.store(true, Ordering::Relaxed);
    }
    replaced
}

/// Does what would have happened without us.
fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let before = BEFORE.get().and_then(|b| b.as_ref().ok());
    match before {
        Some(b) if b.sa_sigaction != libc::SIG_DFL && b.sa_sigaction != libc::SIG_IGN => {
            // SAFETY: the address is that of the handler that was installed, of the kind its flag says.
            unsafe {
                if b.sa_flags & libc::SA_SIGINFO != 0 {
                    let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
                        std::mem::transmute(b.sa_sigaction);
                    handler(signal, info, context);
                } else {
                    let handler: extern "C" fn(libc::c_int) = std::mem::transmute(b.sa_sigaction);
                    handler(signal);
                }
            }
        }
        _ => {
            // Comes again when this returns, and then ends the process as usual.
            // SAFETY: the first changes the action of one signal, the second sends it to this thread;
            // both are permitted in a handler.
            unsafe {
                libc::signal(signal, libc::SIG_DFL);
                libc::raise(signal);
            }
        }
    }
}
