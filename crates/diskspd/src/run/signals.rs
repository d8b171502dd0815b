//! Ctrl+C, SIGTERM and the loss of the terminal: the first ends the run in an orderly way, the second at once.

use std::io;
use std::time::{Duration, Instant};

use truespd_core::fault::{Refusal, RefusalKind};
use truespd_core::sys::error::{Code, system_text};
use truespd_core::sys::events::Latch;
use truespd_core::sys::signals::{EndWish, EndWishes};

/// Signals that come this soon after the first one mean the same.
const SAME_WISH: Duration = Duration::from_millis(500);

/// A latch that is set at the first SIGINT, SIGTERM or SIGHUP, after `notice`; a second SIGINT or SIGTERM
/// ends the process.
///
/// # Errors
/// The system's reason, with what to do.
pub fn stop_on_signals(notice: impl Fn() + Send + 'static) -> Result<Latch, Refusal> {
    let latch = Latch::new().map_err(|error| refusal(&error))?;
    let mut wishes = EndWishes::receive().map_err(|error| refusal(&error))?;
    let stop = latch.clone();
    let wait = move || {
        let mut wished = Wished::default();
        for wish in wishes.forever() {
            match wished.takes(wish, Instant::now()) {
                Answer::Stop => {
                    notice();
                    stop.set();
                }
                Answer::Nothing => {}
                Answer::EndNow(exit_code) => std::process::exit(exit_code),
            }
        }
    };
    let started = std::thread::Builder::new().name("signals".into()).spawn(wait);
    started.map(|_| latch).map_err(|error| refusal(&error))
}

fn refusal(error: &io::Error) -> Refusal {
    let message = format!("could not prepare for Ctrl+C: {}", system_text(error));
    let refusal = Refusal::new(RefusalKind::Machine, message);
    match Code::of(error) {
        Some(Code::TOO_MANY_FILES) => refusal.hint("raise the limit of open files (ulimit -n)"),
        Some(Code::AGAIN) => {
            refusal.hint("raise the limit of processes (ulimit -u) or of address space (ulimit -v)")
        }
        _ => refusal,
    }
}

/// What was wished so far.
#[derive(Debug, Default)]
struct Wished {
    first: Option<Instant>,
}

#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Stop,
    Nothing,
    EndNow(i32),
}

impl Wished {
    fn takes(&mut self, wish: EndWish, now: Instant) -> Answer {
        let Some(first) = self.first else {
            self.first = Some(now);
            return Answer::Stop;
        };
        // `timeout` signals the process and then its group, which means one request to stop. When a terminal goes away,
        // the kernel and the shell tell it, and nobody is there who could have wished a second time.
        if wish.is_hangup || now.saturating_duration_since(first) < SAME_WISH {
            Answer::Nothing
        } else {
            Answer::EndNow(wish.exit_code)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_later_signal_of_a_person_ends_the_process_at_once() {
        let (interrupt, hangup) =
            (EndWish { exit_code: 130, is_hangup: false }, EndWish { exit_code: 129, is_hangup: true });
        let start = Instant::now();
        let later = start + 2 * SAME_WISH;
        for first in [interrupt, hangup] {
            let mut wished = Wished::default();
            assert_eq!(wished.takes(first, start), Answer::Stop);
            assert_eq!(wished.takes(interrupt, start + SAME_WISH / 2), Answer::Nothing, "the same wish");
            assert_eq!(wished.takes(hangup, later), Answer::Nothing, "the shell's, after the kernel's");
            assert_eq!(wished.takes(interrupt, later), Answer::EndNow(130));
        }
    }
}
