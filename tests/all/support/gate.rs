//! A file of known behaviour: a FUSE file system of one file, served by a thread of the test itself.
//!
//! Reads and writes wait while the gate is closed, or for a time that a law gives, which the server takes down
//! by its own clock; ranges fail or are cut short, or what is written is stored, with the faults of
//! `support::faulty`. Needs root and /dev/fuse. The mount is made in a mount namespace of the test's own thread, so that nothing is left
//! behind even when the test is killed. Source: the kernel's `include/uapi/linux/fuse.h`.

use std::ffi::{CString, OsString};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::faulty::Disk;
use super::needs::{Need, has};

pub const FILE_BYTES: u64 = 16 << 20;
/// Reads and writes that touch this range fail with EIO.
pub const EIO_RANGE: std::ops::Range<u64> = (4 << 20)..(4 << 20) + 65536;
/// Reads that begin here return half.
pub const SHORT_OFFSET: u64 = 8 << 20;
/// Writes that begin here fail with ENOSPC.
pub const FULL_OFFSET: u64 = 12 << 20;

/// A mounted file; unmounted when dropped.
pub struct Gate {
    shared: Arc<Shared>,
    server: Option<JoinHandle<()>>,
    path: PathBuf,
    _dir: tempfile::TempDir,
}

struct Shared {
    device: OwnedFd,
    end: AtomicBool,
    state: Mutex<State>,
    page_cache: bool,
    /// Requests that wait stay when their callers are interrupted, as on a disk that hangs.
    is_deaf: bool,
    /// How long the n-th read or write takes, from 0; none: no time.
    law: Option<Law>,
    /// What keeps what is written, and which of its files this is; none: nothing is kept.
    disk: Option<(Arc<Mutex<Disk>>, usize)>,
}

/// How long the n-th read or write takes, from 0.
pub type Law = fn(u64) -> Duration;

#[derive(Default)]
struct State {
    closed: bool,
    holds_flushes: bool,
    /// Flushes that wait.
    flushes: Vec<u64>,
    parked: Vec<Request>,
    /// Arrived and answered at.
    timed: Vec<(Instant, Instant, Request)>,
    arrived: u64,
    /// Reads and writes that were answered at once.
    answered: u64,
    served: Vec<Served>,
}

/// A read or write of a slow gate, by the server's clock: within its arrival and its answer lies less than the
/// client can see of it.
#[derive(Debug, Clone, Copy)]
pub struct Served {
    /// The server had read it.
    pub arrived: Instant,
    /// The server was about to write the answer.
    pub answered: Instant,
}

/// The server stops sleeping this long before an answer is due, and looks at the clock.
const WATCH: Duration = Duration::from_micros(200);

/// A read or write to be answered.
#[derive(Clone, Copy)]
struct Request {
    unique: u64,
    is_read: bool,
    offset: u64,
    len: u32,
}

impl Gate {
    /// Mounts a file that is served directly, for direct I/O.
    pub fn direct() -> Option<Self> {
        Self::made(false, false, None, None)
    }

    /// The same, and what waits cannot be interrupted.
    pub fn deaf() -> Option<Self> {
        Self::made(false, true, None, None)
    }

    /// Mounts a file of a disk for direct I/O.
    pub fn of_disk(disk: &Arc<Mutex<Disk>>, file: usize) -> Option<Self> {
        Self::made(false, false, None, Some((Arc::clone(disk), file)))
    }

    /// Mounts a file that the page cache sits on, for mapping.
    pub fn mappable() -> Option<Self> {
        Self::made(true, false, None, None)
    }

    /// Mounts a file for direct I/O whose reads and writes take the time that `law` gives.
    pub fn slow(law: Law) -> Option<Self> {
        Self::made(false, false, Some(law), None)
    }

    /// `None` where there is no FUSE.
    fn made(
        page_cache: bool,
        is_deaf: bool,
        law: Option<Law>,
        disk: Option<(Arc<Mutex<Disk>>, usize)>,
    ) -> Option<Self> {
        let is_here = has(&[Need::Fuse]);
        is_here.then(|| Self::mount(page_cache, is_deaf, law, disk).expect("a file of known behaviour"))
    }

    fn mount(
        page_cache: bool,
        is_deaf: bool,
        law: Option<Law>,
        disk: Option<(Arc<Mutex<Disk>>, usize)>,
    ) -> io::Result<Self> {
        own_namespace()?;
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("gate");
        File::create(&path)?;
        let device = OpenOptions::new().read(true).write(true).open("/dev/fuse")?;
        let options = format!("fd={},rootmode=100644,user_id=0,group_id=0", device.as_raw_fd());
        let target = CString::new(path.as_os_str().as_bytes()).expect("no zero byte");
        let options = CString::new(options).expect("no zero byte");
        let kind = c"fuse".as_ptr();
        // SAFETY: strings that outlive the call.
        check(unsafe { libc::mount(kind, target.as_ptr(), kind, 0, options.as_ptr().cast()) })?;
        let shared = Arc::new(Shared {
            device: device.into(),
            end: AtomicBool::new(false),
            state: Mutex::new(State::default()),
            page_cache,
            is_deaf,
            law,
            disk,
        });
        let served = Arc::clone(&shared);
        let server = std::thread::spawn(move || served.serve());
        Ok(Gate { shared, server: Some(server), path, _dir: dir })
    }

    /// Where it is, for this thread and the processes it starts.
    pub fn path(&self) -> &std::path::Path {
        &self.path
    }

    /// Opens the file.
    pub fn open(&self, direct: bool) -> OwnedFd {
        let flags = if direct { libc::O_DIRECT } else { 0 };
        let opened = OpenOptions::new().read(true).write(true).custom_flags(flags).open(&self.path);
        let file = opened.expect("the gate can be opened");
        // Until the kernel knows the size, it takes every write for one that makes the file longer, and
        // those are never asynchronous.
        assert_eq!(file.metadata().expect("attributes").len(), self.shared.file_bytes());
        file.into()
    }

    /// From now on reads and writes wait.
    pub fn close(&self) {
        self.shared.state().closed = true;
    }

    /// Answers everything that waits, and what comes.
    pub fn open_up(&self) {
        let mut state = self.shared.state();
        state.closed = false;
        for request in std::mem::take(&mut state.parked) {
            self.shared.answer(request);
        }
    }

    /// From now on no flush is answered, unless its caller is interrupted.
    pub fn hold_flushes(&self) {
        self.shared.state().holds_flushes = true;
    }

    /// Reads and writes that have arrived and wait.
    pub fn parked(&self) -> usize {
        self.shared.state().parked.len()
    }

    /// Reads and writes that were answered because the gate was open.
    pub fn answered(&self) -> u64 {
        self.shared.state().answered
    }

    /// What a slow gate has answered, in the order of the answers.
    pub fn served(&self) -> Vec<Served> {
        self.shared.state().served.clone()
    }

    /// Waits until `count` reads and writes have arrived and wait.
    pub fn wait_parked(&self, count: usize) {
        let limit = std::time::Instant::now() + super::HANG;
        while self.shared.state().parked.len() < count {
            let parked = self.parked();
            assert!(std::time::Instant::now() < limit, "only {parked} of {count} I/Os arrived");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.open_up();
        let path = CString::new(self.path.as_os_str().as_bytes()).expect("no zero byte");
        // SAFETY: a string that outlives the call.
        unsafe { libc::umount2(path.as_ptr(), libc::MNT_DETACH) };
        self.shared.end.store(true, Ordering::SeqCst);
        if let Some(server) = self.server.take() {
            let _ = server.join();
        }
    }
}

/// Mounts of this thread are nobody else's.
fn own_namespace() -> io::Result<()> {
    // SAFETY: takes numbers and strings that outlive the calls; affects this thread only.
    unsafe {
        check(libc::unshare(libc::CLONE_NEWNS))?;
        let private = libc::MS_REC | libc::MS_PRIVATE;
        check(libc::mount(std::ptr::null(), c"/".as_ptr(), std::ptr::null(), private, std::ptr::null()))?;
    }
    // What other tests have mounted at this moment came along, and would keep their devices busy for as long as
    // this thread lives. Another gate of this thread stays.
    let mounts = std::fs::read_to_string("/proc/thread-self/mountinfo")?;
    let points = mounts.lines().filter_map(|line| line.split(' ').nth(4)).map(unescaped);
    let of_tests = std::env::temp_dir();
    let is_anothers =
        |point: &PathBuf| point.starts_with(&of_tests) && *point != of_tests && !point.ends_with("gate");
    for point in points.filter(is_anothers) {
        let point = CString::new(point.into_os_string().into_vec()).expect("no zero byte");
        // SAFETY: a string that outlives the call. It may be gone already with the one that it stood on.
        unsafe { libc::umount2(point.as_ptr(), libc::MNT_DETACH) };
    }
    Ok(())
}

/// A path of mountinfo, where blanks are `\040`.
fn unescaped(field: &str) -> PathBuf {
    let mut parts = field.split('\\');
    let mut path = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (code, rest) = part.split_at_checked(3).unwrap_or((part, ""));
        path.extend(u8::from_str_radix(code, 8));
        path.extend(rest.as_bytes());
    }
    PathBuf::from(OsString::from_vec(path))
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Closing says nothing to the server (Linux 5.16). Every program that another test starts closes copies of our
/// descriptors when it begins, and waits for the answer where nobody can end it: if the tests are killed meanwhile, it
/// waits for ever, and with it everybody who looks at it in `/proc`.
const NOFLUSH: u32 = 1 << 5;

const GETATTR: u32 = 3;
const SETATTR: u32 = 4;
const OPEN: u32 = 14;
const READ: u32 = 15;
const WRITE: u32 = 16;
const STATFS: u32 = 17;
const RELEASE: u32 = 18;
const FSYNC: u32 = 20;
const FLUSH: u32 = 25;
const INIT: u32 = 26;
const INTERRUPT: u32 = 36;
const FORGET: u32 = 2;
const BATCH_FORGET: u32 = 42;

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn disk(&self) -> MutexGuard<'_, Disk> {
        let (disk, _) = self.disk.as_ref().expect("a file of a disk");
        disk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn file_bytes(&self) -> u64 {
        if self.disk.is_some() { self.disk().file_bytes() } else { FILE_BYTES }
    }

    fn serve(&self) {
        let mut message = vec![0u8; (1 << 20) + 8192];
        while !self.end.load(Ordering::SeqCst) {
            let mut poll = libc::pollfd { fd: self.device.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            let limit = self.answer_due().min(Duration::from_millis(20));
            let limit = libc::timespec { tv_sec: 0, tv_nsec: limit.subsec_nanos().into() };
            // SAFETY: two structures, and a buffer of the length given.
            let len = unsafe {
                if libc::ppoll(&mut poll, 1, &limit, std::ptr::null()) <= 0 {
                    continue;
                }
                libc::read(self.device.as_raw_fd(), message.as_mut_ptr().cast(), message.len())
            };
            match usize::try_from(len) {
                Ok(len) => self.handle(&message[..len]),
                Err(_) if io::Error::last_os_error().raw_os_error() == Some(libc::ENODEV) => return,
                Err(_) => {}
            }
        }
    }

    fn handle(&self, message: &[u8]) {
        let (opcode, unique, body) = (u32_at(message, 4), u64_at(message, 8), &message[40..]);
        match opcode {
            INIT => self.reply(unique, 0, &init_reply()),
            GETATTR | SETATTR => self.reply(unique, 0, &attributes(self.file_bytes())),
            OPEN => {
                // DIRECT_IO and PARALLEL_DIRECT_WRITES, or neither.
                let flags: u32 = if self.page_cache { NOFLUSH } else { NOFLUSH | 1 | 1 << 6 };
                let mut reply = [0; 16];
                reply[8..12].copy_from_slice(&flags.to_ne_bytes());
                self.reply(unique, 0, &reply);
            }
            READ | WRITE => {
                let (offset, len) = (u64_at(body, 8), u32_at(body, 16));
                let request = Request { unique, is_read: opcode == READ, offset, len };
                let arrived = Instant::now();
                let mut state = self.state();
                if let Some(law) = self.law {
                    let due = arrived + law(state.arrived);
                    state.arrived += 1;
                    state.timed.push((due, arrived, request));
                } else if state.closed || self.disk.is_some() && !request.is_read && self.disk().is_over() {
                    state.parked.push(request);
                } else if let Some((_, file)) = self.disk {
                    match opcode {
                        READ => self.reply(unique, 0, &self.disk().read(file, offset, len)),
                        _ => {
                            self.disk().write(file, offset, &body[40..40 + len as usize]);
                            self.reply(unique, 0, &u64::from(len).to_ne_bytes());
                        }
                    }
                } else {
                    state.answered += 1;
                    self.answer(request);
                }
            }
            INTERRUPT if self.is_deaf => {}
            INTERRUPT => {
                let mut state = self.state();
                let wanted = u64_at(body, 0);
                if let Some(at) = state.flushes.iter().position(|flush| *flush == wanted) {
                    state.flushes.swap_remove(at);
                    self.reply(wanted, libc::EINTR, &[]);
                }
                if let Some(at) = state.parked.iter().position(|r| r.unique == wanted) {
                    state.parked.swap_remove(at);
                    self.reply(wanted, libc::EINTR, &[]);
                }
                if let Some(at) = state.timed.iter().position(|(.., r)| r.unique == wanted) {
                    state.timed.swap_remove(at);
                    self.reply(wanted, libc::EINTR, &[]);
                }
            }
            STATFS => self.reply(unique, 0, &[0; 80]),
            FSYNC if self.disk.is_some() => {
                let errno = self.disk().flush();
                self.reply(unique, errno, &[]);
            }
            FSYNC if self.state().holds_flushes => self.state().flushes.push(unique),
            RELEASE | FSYNC => self.reply(unique, 0, &[]),
            FORGET | BATCH_FORGET => {}
            // Not to be asked again: see NOFLUSH.
            FLUSH => self.reply(unique, libc::ENOSYS, &[]),
            _ => self.reply(unique, libc::ENOSYS, &[]),
        }
    }

    /// Answers what is due; how long the server may sleep.
    fn answer_due(&self) -> Duration {
        let mut state = self.state();
        loop {
            let next = state.timed.iter().enumerate().min_by_key(|(_, (due, ..))| *due);
            let Some((at, &(due, arrived, request))) = next else { return Duration::MAX };
            let answered = Instant::now();
            if due > answered {
                return (due - answered).saturating_sub(WATCH);
            }
            state.timed.swap_remove(at);
            state.served.push(Served { arrived, answered });
            self.answer(request);
        }
    }

    /// Reads give the number of their 4 KiB block in every byte.
    fn answer(&self, Request { unique, is_read, offset, len }: Request) {
        let end = offset + u64::from(len);
        if self.disk.is_some() {
            // What it was to write is gone.
            return self.reply(unique, libc::EIO, &[]);
        }
        if offset < EIO_RANGE.end && EIO_RANGE.start < end {
            return self.reply(unique, libc::EIO, &[]);
        }
        if !is_read {
            if offset == FULL_OFFSET {
                return self.reply(unique, libc::ENOSPC, &[]);
            }
            return self.reply(unique, 0, &u64::from(len).to_ne_bytes());
        }
        let mut end = end.min(FILE_BYTES);
        if offset == SHORT_OFFSET {
            end = offset + u64::from(len) / 2;
        }
        let data: Vec<u8> = (offset..end).map(|at| (at / 4096) as u8).collect();
        self.reply(unique, 0, &data);
    }

    fn reply(&self, unique: u64, errno: i32, body: &[u8]) {
        let mut reply = Vec::with_capacity(16 + body.len());
        reply.extend_from_slice(&(16 + body.len() as u32).to_ne_bytes());
        reply.extend_from_slice(&(-errno).to_ne_bytes());
        reply.extend_from_slice(&unique.to_ne_bytes());
        reply.extend_from_slice(body);
        // A request that was given up meanwhile has no answer: the kernel says so, and that is fine.
        // SAFETY: a buffer of the length given.
        unsafe { libc::write(self.device.as_raw_fd(), reply.as_ptr().cast(), reply.len()) };
    }
}

fn init_reply() -> Vec<u8> {
    const ASYNC_READ: u32 = 1;
    const BIG_WRITES: u32 = 1 << 5;
    const ASYNC_DIO: u32 = 1 << 15;
    const MAX_PAGES: u32 = 1 << 22;
    let mut reply = Vec::new();
    let flags = ASYNC_READ | BIG_WRITES | ASYNC_DIO | MAX_PAGES;
    for word in [7u32, 31, 0, flags, 64 << 16 | 64, 1 << 20, 1, 256] {
        reply.extend_from_slice(&word.to_ne_bytes());
    }
    reply.resize(64, 0);
    reply
}

fn attributes(file_bytes: u64) -> Vec<u8> {
    let mut reply = Vec::new();
    for word in [0u64, 0, 1, file_bytes, file_bytes / 512, 0, 0, 0] {
        reply.extend_from_slice(&word.to_ne_bytes());
    }
    for word in [0u32, 0, 0, libc::S_IFREG | 0o644, 1, 0, 0, 0, 4096, 0] {
        reply.extend_from_slice(&word.to_ne_bytes());
    }
    reply
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// An empty pipe, read end first: reads wait until something is written.
pub fn pipe() -> (OwnedFd, OwnedFd) {
    let mut fds = [0; 2];
    // SAFETY: room for two descriptors, which are ours afterwards.
    unsafe {
        check(libc::pipe2(fds.as_mut_ptr(), libc::O_CLOEXEC)).expect("a pipe");
        (OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1]))
    }
}
