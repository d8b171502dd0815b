//! `mmap`: the whole file is mapped; a read copies from the map to the buffer, a write from the buffer to
//! the map and then flushes (`io-semantics.md` §16). Everything happens in `submit`.
//!
//! Where a mapped page cannot be had (the file was truncated meanwhile, the device failed) the processor's
//! access ends in SIGBUS; `BusWatch` turns that into the result of the I/O.

use std::collections::VecDeque;
use std::time::Duration;

use rustix::mm::{MapFlags, MsyncFlags, ProtFlags};

use super::transfer::{Regions, check_setup, hand_out};
use super::{
    AnyEngine, Completion, Engine, EngineError, EngineFile, Handle, Io, IoError, MapFlush, MapMode, Op,
    Opened, Setup, persist,
};

mod bus;
use bus::BusWatch;

pub(super) use bus::NAME;

/// A mapped file.
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
struct Mmap {
    /// Nothing for files of size 0, and for files that another engine serves.
    maps: Vec<Option<Map>>,
    regions: Regions,
    ready: VecDeque<Completion>,
    watch: BusWatch,
}

/// Maps every file.
pub(super) fn open(setup: Setup) -> Result<Opened, EngineError> {
    open_some(setup, |_| true)
}

/// Maps the files that ask for it and leaves the others to another engine.
pub(super) fn open_mapped(setup: Setup) -> Result<Opened, EngineError> {
    open_some(setup, |file| file.map.is_some())
}

fn open_some(setup: Setup, wanted: impl Fn(&EngineFile) -> bool) -> Result<Opened, EngineError> {
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
    Ok(Opened { engine: AnyEngine::new(engine), notes: Vec::new() })
}

impl Map {
    fn new(file: &EngineFile) -> Result<Self, EngineError> {
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
        if (mode.non_temporal || dax) && !persist::AVAILABLE {
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
                    persist::copy_non_temporal(from, to, len)
                } else {
                    std::ptr::copy_nonoverlapping(from, to, len)
                }
            }
        });
        if !whole {
            return self.after_bus_error(offset, len);
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
        unsafe { persist::write_back(place, len, fence) };
        Ok(())
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
    format!("{errno}: {why}")
}

impl Engine for Mmap {
    fn submit(&mut self, ios: &[Io]) -> Result<(), EngineError> {
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
    ) -> Result<(), EngineError> {
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
