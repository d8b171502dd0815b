//! `threads`: as many helper threads as I/Os in flight, each doing `pread(2)` and `pwrite(2)`. The last
//! rung of the ladder: works everywhere and for every kind of file, at the price of two thread switches
//! per I/O. Helpers inherit the worker's processor affinity.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::thread::futex;

use super::transfer::{
    DROP_LIMIT, Regions, ThreadPriority, check_setup, hand_out, not_begun, reap_all, transfer,
};
use super::{Completion, Engine, EngineError, EngineFile, Io, IoError, Result, Setup};
use truespd_platform::sys::error::system_text;

pub(super) const NAME: &str = "threads";

pub(super) const DEPTH_MAX: u32 = 4096;
/// A helper calls two functions and the kernel.
const STACK_BYTES: usize = 64 * 1024;

/// What helpers and worker share. A helper that never comes back keeps it, and with it the buffers.
#[derive(Debug)]
struct Shared {
    files: Vec<EngineFile>,
    regions: Regions,
    jobs: Mutex<Jobs>,
    /// Signalled for each job and when the helpers shall end.
    work: Condvar,
    ready: Mutex<VecDeque<Completion>>,
    /// Counts completions; the worker sleeps on it, because unlike a condition variable a futex tells
    /// of signals.
    finished: AtomicU32,
    worker_sleeps: AtomicBool,
}

#[derive(Debug)]
struct Jobs {
    queue: VecDeque<Io>,
    end: bool,
}

#[derive(Debug)]
pub(super) struct Threads {
    shared: Arc<Shared>,
    helpers: Vec<JoinHandle<()>>,
    in_flight: u32,
}

pub(super) fn open(setup: Setup) -> Result<(Threads, Vec<String>)> {
    check_setup(NAME, &setup, DEPTH_MAX)?;
    ThreadPriority::of_this_thread().check(NAME, &setup.files)?;
    let depth = setup.depth as usize;
    let shared = Arc::new(Shared {
        files: setup.files,
        regions: Regions::new(setup.regions),
        jobs: Mutex::new(Jobs { queue: VecDeque::with_capacity(depth), end: false }),
        work: Condvar::new(),
        ready: Mutex::new(VecDeque::with_capacity(depth)),
        finished: AtomicU32::new(0),
        worker_sleeps: AtomicBool::new(false),
    });
    let mut engine = Threads { shared, helpers: Vec::with_capacity(depth), in_flight: 0 };
    // Helpers inherit the mask: signals are for the worker, which must wake up from its waits.
    let mask = block_signals();
    let started = engine.start(depth);
    restore_signals(&mask);
    started?;
    Ok((engine, Vec::new()))
}

/// A panic of a helper would be a bug that its thread already reported; the data stays usable.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    fn serve(&self) {
        let mut priority = ThreadPriority::of_this_thread();
        while let Some(io) = self.next_job() {
            let file = &self.files[io.file as usize];
            priority.apply(file.ioprio);
            let result = loop {
                // SAFETY: the slot's bytes are this I/O's alone until its completion is handed out.
                let result = unsafe { transfer(&file.handle, &self.regions, &io) };
                if result != Err(IoError::INTERRUPTED) {
                    break result;
                }
            };
            self.finish(Completion { slot: io.slot, result });
        }
    }

    /// Waits for a job; none when the helpers shall end.
    fn next_job(&self) -> Option<Io> {
        let jobs = lock(&self.jobs);
        let mut jobs = self
            .work
            .wait_while(jobs, |jobs| jobs.queue.is_empty() && !jobs.end)
            .unwrap_or_else(PoisonError::into_inner);
        if jobs.end { None } else { jobs.queue.pop_front() }
    }

    fn finish(&self, completion: Completion) {
        lock(&self.ready).push_back(completion);
        // Either the worker's sleep sees the new count, or this sees that the worker sleeps.
        self.finished.fetch_add(1, Ordering::SeqCst);
        if self.worker_sleeps.load(Ordering::SeqCst) {
            let _ = futex::wake(&self.finished, futex::Flags::PRIVATE, 1);
        }
    }
}

impl Threads {
    fn start(&mut self, depth: usize) -> Result {
        for number in 0..depth {
            let shared = Arc::clone(&self.shared);
            let helper = std::thread::Builder::new()
                .name(format!("io-{number}"))
                .stack_size(STACK_BYTES)
                .spawn(move || shared.serve())
                .map_err(|error| EngineError::Setup {
                    engine: NAME,
                    action: format!("starting helper thread {} of {depth}", number + 1),
                    error: format!(
                        "{}; raise the limits on processes and threads (ulimit -u, the cgroup's \
                                    pids.max), or use fewer outstanding I/Os (-o, -O)",
                        system_text(&error)
                    ),
                })?;
            self.helpers.push(helper);
        }
        Ok(())
    }

    /// Sleeps until more than `seen` I/Os are finished; false when time is over or a signal came.
    fn sleep(&self, seen: u32, left: Option<Duration>) -> bool {
        let limit = left.map(|t| futex::Timespec {
            tv_sec: i64::try_from(t.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: t.subsec_nanos().into(),
        });
        self.shared.worker_sleeps.store(true, Ordering::SeqCst);
        let woken = futex::wait(&self.shared.finished, futex::Flags::PRIVATE, seen, limit.as_ref());
        self.shared.worker_sleeps.store(false, Ordering::SeqCst);
        // AGAIN: the count had moved on already.
        matches!(woken, Ok(()) | Err(rustix::io::Errno::AGAIN))
    }
}

impl Engine for Threads {
    fn submit(&mut self, ios: &[Io]) -> Result {
        for io in ios {
            // Wrong numbers stop the caller here, not a helper.
            let _ = &self.shared.files[io.file as usize];
            if io.op.moves_data() {
                let _ = self.shared.regions.address(io);
            }
        }
        let mut jobs = lock(&self.shared.jobs);
        for io in ios {
            jobs.queue.push_back(*io);
        }
        drop(jobs);
        self.in_flight += ios.len() as u32;
        // One each: waking all helpers for a few I/Os would cost more than the I/Os.
        for _ in ios {
            self.shared.work.notify_one();
        }
        Ok(())
    }

    fn reap(&mut self, min: u32, max: u32, timeout: Option<Duration>, done: &mut Vec<Completion>) -> Result {
        let deadline = timeout.and_then(|t| Instant::now().checked_add(t));
        let mut got = 0;
        let mut may_sleep = true;
        loop {
            let seen = self.shared.finished.load(Ordering::SeqCst);
            got += hand_out(&mut lock(&self.shared.ready), max - got, done);
            if got >= min.min(max) || !may_sleep {
                break;
            }
            let left = deadline.map(|d| d.saturating_duration_since(Instant::now()));
            may_sleep = self.sleep(seen, left);
        }
        self.in_flight -= got;
        Ok(())
    }

    fn in_flight(&self) -> u32 {
        self.in_flight
    }

    fn drain(&mut self, limit: Duration, done: &mut Vec<Completion>) -> u32 {
        let deadline = Instant::now() + limit;
        let had = done.len();
        done.extend(lock(&self.shared.jobs).queue.drain(..).map(|io| not_begun(io.slot)));
        self.in_flight -= (done.len() - had) as u32;
        reap_all(self, deadline, done);
        self.in_flight
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        let stuck = self.drain(DROP_LIMIT, &mut Vec::new());
        lock(&self.shared.jobs).end = true;
        self.shared.work.notify_all();
        // Helpers that are stuck in the kernel cannot be waited for; they keep what they use.
        if stuck == 0 {
            for helper in self.helpers.drain(..) {
                let _ = helper.join();
            }
        }
    }
}

fn block_signals() -> libc::sigset_t {
    // SAFETY: both sets are plain numbers that the calls fill; the mask is the calling thread's own.
    unsafe {
        let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        before
    }
}

fn restore_signals(mask: &libc::sigset_t) {
    // SAFETY: the set came from `block_signals` on this thread.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, mask, std::ptr::null_mut()) };
}
