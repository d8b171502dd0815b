//! A latch that can be waited for with a deadline: stop requests, failures.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

/// Set once, never cleared; cheap to ask, precise to wait for. Clones share the latch.
#[derive(Debug, Clone)]
pub struct Latch {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    set: AtomicBool,
    event: OwnedFd,
}

impl Latch {
    /// A latch that is not set.
    ///
    /// # Errors
    /// When the process has no file descriptor left.
    pub fn new() -> std::io::Result<Self> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Latch { inner: Arc::new(Inner { set: AtomicBool::new(false), event }) })
    }

    /// Sets the latch and wakes everyone who waits.
    pub fn set(&self) {
        self.inner.set.store(true, Ordering::Release);
        // The counter cannot overflow in practice; if it did, the waiters are awake already.
        let _ = rustix::io::write(&self.inner.event, &1u64.to_ne_bytes());
    }

    /// Whether it is set.
    pub fn is_set(&self) -> bool {
        self.inner.set.load(Ordering::Acquire)
    }

    /// The latch as a plain flag, for loops that look now and then. Wait with [`Latch::wait_any`].
    pub fn flag(&self) -> &AtomicBool {
        &self.inner.set
    }

    /// Waits until one of `latches` is set, at most `limit`; tells whether one is.
    pub fn wait_any(latches: &[&Latch], limit: Option<Duration>) -> bool {
        let deadline = limit.map(|l| std::time::Instant::now() + l);
        loop {
            if latches.iter().any(|l| l.is_set()) {
                return true;
            }
            let left = deadline.map(|d| d.saturating_duration_since(std::time::Instant::now()));
            if left.is_some_and(|l| l.is_zero()) {
                return false;
            }
            let mut fds: Vec<PollFd<'_>> = latches
                .iter()
                .map(|l| PollFd::from_borrowed_fd(l.inner.event.as_fd(), PollFlags::IN))
                .collect();
            let timeout = left.map(|l| Timespec {
                tv_sec: i64::try_from(l.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: i64::from(l.subsec_nanos()),
            });
            // An interrupted wait is looked at again above.
            let _ = poll(&mut fds, timeout.as_ref());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_for_any_and_gives_up_in_time() {
        let (a, b) = (Latch::new().unwrap(), Latch::new().unwrap());
        assert!(!Latch::wait_any(&[&a, &b], Some(Duration::from_millis(5))));
        let setter = b.clone();
        let thread = std::thread::spawn(move || setter.set());
        assert!(Latch::wait_any(&[&a, &b], None));
        assert!(b.is_set() && !a.is_set());
        thread.join().unwrap();
        assert!(Latch::wait_any(&[&b], None), "stays set");
    }
}
