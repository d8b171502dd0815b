//! Ctrl+C and SIGTERM: the first ends the run in an orderly way, the second at once.

use std::io;
use std::time::{Duration, Instant};

use crate::sys::error::system_text;
use crate::sys::signals::EndWishes;
use crate::sys::wake::Latch;

/// Signals that come this soon after the first one mean the same.
const SAME_WISH: Duration = Duration::from_millis(500);

/// Sets `stop` at the first SIGINT or SIGTERM, after `notice`; the second ends the process.
///
/// # Errors
/// The system's error, with what to do.
pub fn stop_on_signals(stop: &Latch, notice: impl Fn() + Send + 'static) -> io::Result<()> {
    let mut wishes = EndWishes::receive()?;
    let stop = stop.clone();
    let wait = move || {
        let mut first: Option<Instant> = None;
        for exit_code in wishes.forever() {
            match first {
                None => first = Some(Instant::now()),
                // `timeout` signals the process and then its group, which means one request to stop.
                Some(at) if at.elapsed() < SAME_WISH => continue,
                Some(_) => std::process::exit(exit_code),
            }
            notice();
            stop.set();
        }
    };
    let started = std::thread::Builder::new().name("signals".into()).spawn(wait);
    started.map(drop).map_err(|error| {
        let words = system_text(&error);
        io::Error::other(format!("{words}; raise the limit of processes (ulimit -u)"))
    })
}
