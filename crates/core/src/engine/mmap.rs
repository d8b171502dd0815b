//! `mmap`: the whole file is mapped; a read copies from the map to the buffer, a write from the buffer to
//! the map and then flushes (`io-semantics.md` §16). Everything happens in `submit`.
//!
//! Where a mapped page cannot be had (the file was truncated meanwhile, the device failed) the processor's
//! access ends in SIGBUS; `BusWatch` turns that into the result of the I/O.

use std::cell::Cell;
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, compiler_fence};
use std::time::Duration;

use rustix::mm::{MapFlags, MsyncFlags, ProtFlags};

use super::transfer::{Regions, check_setup, hand_out};
use super::{
    Completion, Engine, EngineError, EngineFile, Handle, Io, IoError, MapFlush, MapMode, Op, Result, Setup,
};
use truespd_platform::sys::error::system_text;

#[derive(Debug)]
struct Map {
    base: *mut u8,
    /// Bytes mapped: the size of the file when it was opened.
    len: usize,
    mode: MapMode,
    handle: Handle,
    /// A page was lost to a bus error and the file could not be mapped there again.
    lost: bool,
}

#[derive(Debug)]
pub(super) struct Mmap {
    /// Nothing for files of size 0, and for files that another engine serves.
    maps: Vec<Option<Map>>,
    regions: Regions,
    ready: VecDeque<Completion>,
    watch: BusWatch,
}

pub(super) fn open(setup: Setup) -> Result<(Mmap, Vec<String>)> {
    open_some(setup, |_| true)
}

/// Maps the files that ask for it and leaves the others to another engine.
pub(super) fn open_mapped(setup: Setup) -> Result<(Mmap, Vec<String>)> {
    open_some(setup, |file| file.map.is_some())
}

fn open_some(setup: Setup, wanted: impl Fn(&EngineFile) -> bool) -> Result<(Mmap, Vec<String>)> {
    check_setup(NAME, &setup, u32::MAX)?;
    let mut maps = Vec::with_capacity(setup.files.len());
    for file in &setup.files {
        maps.push(if wanted(file) && file.size_bytes > 0 { Some(Map::new(file)?) } else { None });
    }
    let engine = Mmap {
        maps,
        regions: Regions::new(setup.regions),
        ready: VecDeque::with_capacity(setup.depth as usize),
        watch: BusWatch::install()?,
    };
    Ok((engine, Vec::new()))
}

impl Map {
    fn new(file: &EngineFile) -> Result<Self> {
        let mut mode = file.map.unwrap_or_default();
        // Without a stated mode the descriptor decides.
        if file.map.is_none() {
            let flags = rustix::fs::fcntl_getfl(file.handle.file()).unwrap_or(rustix::fs::OFlags::RDWR);
            mode.read_only = flags & rustix::fs::OFlags::ACCMODE == rustix::fs::OFlags::RDONLY;
        }
        let refuse = |error: String| EngineError::Setup {
            engine: NAME,
            action: format!("mapping {} ({} bytes) into memory", file_name(&file.handle), file.size_bytes),
            error,
        };
        let dax = !mode.non_temporal
            && matches!(mode.flush, Some(MapFlush::CacheLines | MapFlush::CacheLinesNoDrain));
        if (mode.non_temporal || dax) && !HAS_CACHE_LINE_STORES {
            return Err(refuse(format!(
                "{} need instructions that this program has only for x86-64 processors; use -Sm without w, with -Nv",
                if dax { "-Nn and -Ni" } else { "write-through mapped I/Os (-Smw)" }
            )));
        }
        let len = usize::try_from(file.size_bytes)
            .map_err(|_| refuse("the file is larger than the address space".into()))?;
        let flags = if dax { MapFlags::SHARED_VALIDATE | MapFlags::SYNC } else { MapFlags::SHARED };
        // SAFETY: a new mapping at an address the kernel chooses aliases nothing.
        let base = unsafe {
            rustix::mm::mmap(std::ptr::null_mut(), len, protection(mode), flags, file.handle.file(), 0)
        }
        .map_err(|errno| refuse(why_not(errno, dax)))?;
        Ok(Map { base: base.cast(), len, mode, handle: file.handle.clone(), lost: false })
    }

    /// Copies the bytes of an I/O that are inside the map. A map never makes a file longer, so a write
    /// past the end is short, as a read is.
    fn run(&mut self, io: &Io, buffer: *mut u8, watch: &BusWatch) -> Result<u32, IoError> {
        if self.lost {
            return Err(IoError::IO);
        }
        if !matches!(io.op, Op::Read | Op::Write) {
            // A map is read and written only. Profiles that ask for more are refused.
            return Err(IoError::NOT_SUPPORTED);
        }
        if io.op == Op::Write && self.mode.read_only {
            return Err(IoError::BAD_FILE);
        }
        if io.offset >= self.len as u64 {
            return Ok(0);
        }
        let offset = io.offset as usize;
        let len = (io.len as usize).min(self.len - offset);
        // SAFETY: `offset` is inside the map.
        let place = unsafe { self.base.add(offset) };
        let (from, to): (*const u8, *mut u8) =
            if io.op == Op::Read { (place, buffer) } else { (buffer, place) };
        let whole = watch.run(place.addr()..place.addr() + len, || {
            // SAFETY: `len` bytes are inside the map and inside the slot's part of the region; a
            // mapping and a buffer are different memory. Pages without backing are `watch`'s matter.
            unsafe {
                if self.mode.non_temporal {
                    copy_non_temporal(from, to, len)
                } else {
                    std::ptr::copy_nonoverlapping(from, to, len)
                }
            }
        });
        if !whole {
            let lost = self.after_bus_error(offset, len);
            // A page of a hole takes room when it is written.
            let is_full = io.op == Op::Write && lost == Err(IoError::IO) && self.is_full(len);
            return if is_full { Err(IoError::NO_SPACE) } else { lost };
        }
        match (io.op, self.mode.non_temporal, self.mode.flush) {
            (Op::Write, false, Some(flush)) => self.flush(place, len, flush).map(|()| len as u32),
            _ => Ok(len as u32),
        }
    }

    fn flush(&self, place: *mut u8, len: usize, flush: MapFlush) -> Result<(), IoError> {
        let fence = match flush {
            MapFlush::View => {
                let first = place.addr() & !(rustix::param::page_size() - 1);
                let start = place.with_addr(first);
                let bytes = place.addr() + len - first;
                // SAFETY: the pages are inside the map, which is a whole number of pages; flushing
                // changes no data.
                return unsafe { rustix::mm::msync(start.cast(), bytes, MsyncFlags::SYNC) }
                    .map_err(|errno| IoError::from_number(errno.raw_os_error()));
            }
            MapFlush::CacheLines => true,
            MapFlush::CacheLinesNoDrain => false,
        };
        // SAFETY: the bytes were just written, inside the map.
        unsafe { write_back(place, len, fence) };
        Ok(())
    }

    /// The file system has no room for a write of this length.
    fn is_full(&self, len: usize) -> bool {
        let room = rustix::fs::fstatvfs(self.handle.file());
        room.is_ok_and(|room| room.f_bfree.saturating_mul(room.f_frsize) < len as u64)
    }

    /// Maps the file again over the pages that `BusWatch` had to replace. The result is what a call
    /// would have given: short when the file has become shorter, otherwise an I/O error.
    fn after_bus_error(&mut self, offset: usize, len: usize) -> Result<u32, IoError> {
        let page = rustix::param::page_size();
        let first = offset & !(page - 1);
        let bytes = offset + len - first;
        let flags = MapFlags::SHARED | MapFlags::FIXED;
        // SAFETY: replaces pages of our own map, which no reference points to.
        let again = unsafe {
            let start = self.base.add(first);
            rustix::mm::mmap(
                start.cast(),
                bytes,
                protection(self.mode),
                flags,
                self.handle.file(),
                first as u64,
            )
        };
        self.lost = again.is_err();
        let size = rustix::fs::fstat(self.handle.file()).map_or(0, |stat| stat.st_size as u64);
        let inside = size.saturating_sub(offset as u64);
        if inside < len as u64 { Ok(inside as u32) } else { Err(IoError::IO) }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: this value owns the mapping, and copies are made by its methods only.
        let _ = unsafe { rustix::mm::munmap(self.base.cast(), self.len) };
    }
}

fn protection(mode: MapMode) -> ProtFlags {
    if mode.read_only { ProtFlags::READ } else { ProtFlags::READ | ProtFlags::WRITE }
}

/// The path of an open file, for messages.
fn file_name(handle: &Handle) -> String {
    use std::os::fd::AsRawFd;
    let link = format!("/proc/self/fd/{}", handle.file().as_raw_fd());
    std::fs::read_link(link).map_or_else(|_| "the file".into(), |path| path.display().to_string())
}

/// Puts the errno of `mmap(2)` into words.
fn why_not(errno: rustix::io::Errno, dax: bool) -> String {
    use rustix::io::Errno;
    let why = match errno {
        Errno::OPNOTSUPP | Errno::INVAL if dax => {
            "-Nn and -Ni flush processor caches and need a file on persistent memory, on a file system mounted \
             with -o dax; use -Nv here"
        }
        Errno::NODEV => "this file system or device cannot be mapped; leave out -Sm",
        Errno::ACCESS | Errno::PERM => {
            "mapped files have to be opened for reading, and for writing too in a write test"
        }
        Errno::NOMEM => {
            "the address space or the number of mappings is limited (ulimit -v, vm.max_map_count)"
        }
        _ => "leave out -Sm to use ordinary I/O",
    };
    format!("{}: {why}", system_text(&errno.into()))
}

impl Engine for Mmap {
    fn submit(&mut self, ios: &[Io]) -> Result {
        for io in ios {
            let buffer = self.regions.address(io);
            let result = match &mut self.maps[io.file as usize] {
                Some(map) => map.run(io, buffer, &self.watch),
                None => Ok(0),
            };
            self.ready.push_back(Completion { slot: io.slot, result });
        }
        Ok(())
    }

    fn reap(
        &mut self,
        _min: u32,
        max: u32,
        _timeout: Option<Duration>,
        done: &mut Vec<Completion>,
    ) -> Result {
        hand_out(&mut self.ready, max, done);
        Ok(())
    }

    fn in_flight(&self) -> u32 {
        self.ready.len() as u32
    }

    fn drain(&mut self, _limit: Duration, done: &mut Vec<Completion>) -> u32 {
        done.extend(self.ready.drain(..));
        0
    }

    fn is_inline(&self) -> bool {
        true
    }

    fn copies(&self) -> bool {
        true
    }
}

// SIGBUS while copying to or from a mapped file becomes a failed I/O instead of the end of the process.
//
// The signal is raised by the copying thread itself, so that the handler finds in the thread's own
// variables which range is being copied. It puts an empty page where the file's is missing; the copy goes
// on and the engine then drops what it copied. Every other SIGBUS goes to the handler that was there
// before.

pub(super) const NAME: &str = "mmap";

/// The handler is installed. Not `Send`: it watches the thread that uses it.
#[derive(Debug, Clone, Copy)]
struct BusWatch(PhantomData<Cell<()>>);

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
    fn install() -> Result<Self> {
        // Known before the first signal: asking for it later might not be safe in a handler.
        PAGE.store(rustix::param::page_size(), Ordering::Relaxed);
        match BEFORE.get_or_init(install_handler) {
            Ok(_) => Ok(BusWatch(PhantomData)),
            Err(error) => Err(EngineError::Setup {
                engine: NAME,
                action: "installing a handler for failing accesses to mapped files (SIGBUS)".into(),
                error: error.text(),
            }),
        }
    }

    /// Runs `copy`; true when every page of `range` was there.
    #[inline]
    fn run(&self, range: Range<usize>, copy: impl FnOnce()) -> bool {
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

// Stores past the caches and write-back of cache lines, for mapped files (`-Smw`, `-Nn`, `-Ni`).
// x86-64 only: elsewhere the switches are refused in words, as DiskSpd does on a system without the
// primitives.

/// Whether [`copy_non_temporal`] and [`write_back`] exist for this processor.
const HAS_CACHE_LINE_STORES: bool = cfg!(target_arch = "x86_64");

#[cfg(target_arch = "x86_64")]
use x86_64::{copy_non_temporal, write_back};

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::asm;
    use std::arch::x86_64::{
        __cpuid, __cpuid_count, __m128i, _mm_clflush, _mm_loadu_si128, _mm_sfence, _mm_stream_si128,
    };
    use std::sync::OnceLock;

    const VECTOR: usize = size_of::<__m128i>();
    const LINE: usize = 64;

    /// Copies `len` bytes with stores that bypass the caches, and waits until they are on their way
    /// (store fence). Bytes before the first and after the last aligned vector go through the caches.
    ///
    /// # Safety
    /// `len` bytes are readable at `from` and writable at `to`, and the two do not overlap.
    pub(super) unsafe fn copy_non_temporal(from: *const u8, to: *mut u8, len: usize) {
        let head = to.align_offset(VECTOR).min(len);
        let vectors = (len - head) / VECTOR;
        let tail = head + vectors * VECTOR;
        // SAFETY: all three parts together are the `len` bytes of the caller's promise; `to + head` is
        // aligned for the streaming store. SSE2 is part of x86-64.
        unsafe {
            std::ptr::copy_nonoverlapping(from, to, head);
            let (source, target) = (from.add(head).cast::<__m128i>(), to.add(head).cast::<__m128i>());
            for i in 0..vectors {
                _mm_stream_si128(target.add(i), _mm_loadu_si128(source.add(i)));
            }
            std::ptr::copy_nonoverlapping(from.add(tail), to.add(tail), len - tail);
            _mm_sfence();
        }
    }

    /// Writes the cache lines of `len` bytes back to memory; with `fence` waits until they are on
    /// their way.
    ///
    /// # Safety
    /// `len` bytes are readable at `start`.
    pub(super) unsafe fn write_back(start: *const u8, len: usize, fence: bool) {
        let first = start.addr() & !(LINE - 1);
        let end = start.addr() + len;
        let instruction = *INSTRUCTION.get_or_init(Instruction::of_this_processor);
        for line in (first..end).step_by(LINE) {
            // SAFETY: every line holds a byte of the caller's range, and flushing changes no data; the
            // processor has the instruction.
            unsafe {
                match instruction {
                    Instruction::Clwb => {
                        asm!("clwb byte ptr [{}]", in(reg) line, options(nostack, preserves_flags))
                    }
                    Instruction::Clflushopt => {
                        asm!("clflushopt byte ptr [{}]", in(reg) line, options(nostack, preserves_flags));
                    }
                    Instruction::Clflush => _mm_clflush(std::ptr::with_exposed_provenance(line)),
                }
            }
        }
        if fence {
            // SAFETY: SSE is part of x86-64.
            unsafe { _mm_sfence() };
        }
    }

    static INSTRUCTION: OnceLock<Instruction> = OnceLock::new();

    /// Ways to write a line back, cheapest first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Instruction {
        Clwb,
        Clflushopt,
        Clflush,
    }

    impl Instruction {
        fn of_this_processor() -> Self {
            const CLFLUSHOPT: u32 = 1 << 23;
            const CLWB: u32 = 1 << 24;
            // SAFETY: every processor of x86-64 has the instruction. (Newer compilers know that.)
            #[allow(unused_unsafe, reason = "older compilers want it")]
            let features = unsafe { if __cpuid(0).eax >= 7 { __cpuid_count(7, 0).ebx } else { 0 } };
            if features & CLWB != 0 {
                Instruction::Clwb
            } else if features & CLFLUSHOPT != 0 {
                Instruction::Clflushopt
            } else {
                Instruction::Clflush
            }
        }
    }
}

/// Never called: mapping with these modes is refused where they do not exist.
///
/// # Safety
/// As on x86-64.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn copy_non_temporal(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(from, to, len) };
}

/// Never called: mapping with these modes is refused where they do not exist.
///
/// # Safety
/// As on x86-64.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn write_back(_start: *const u8, _len: usize, _fence: bool) {}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    #[test]
    fn streaming_copies_every_byte_whatever_the_alignment() {
        let source: Vec<u8> = (0..1000u32).map(|i| (i * 7 + i / 256) as u8).collect();
        for start in 0..20 {
            for len in [0, 1, 15, 16, 17, 63, 64, 65, 500] {
                let mut target = vec![0xee_u8; 600];
                // SAFETY: both ranges are inside their vectors.
                unsafe { copy_non_temporal(source[3..].as_ptr(), target[start..].as_mut_ptr(), len) };
                assert_eq!(target[start..start + len], source[3..3 + len], "start {start} len {len}");
                assert!(target[..start].iter().chain(&target[start + len..]).all(|b| *b == 0xee));
            }
        }
    }

    #[test]
    fn writing_lines_back_changes_nothing() {
        let data: Vec<u8> = (0..=255).collect();
        for fence in [false, true] {
            // SAFETY: inside the vector.
            unsafe { write_back(data[5..].as_ptr(), 200, fence) };
        }
        assert!(data.iter().copied().eq(0..=255));
    }
}
