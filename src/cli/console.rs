//! What a run shows on standard error while it runs: progress of files, dots, verbose lines.

use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::fault::{ExitCode, Fault};
use crate::load::Event;
use crate::profile::Size;
use crate::text::{printable, size};

/// Pause between plain progress lines, where standard error is no terminal.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// Writes to standard error. An error of that is ignored: a full disk or a closed pipe behind standard error must not
/// end a run.
pub(crate) fn say(text: &str) {
    let mut err = std::io::stderr().lock();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}

/// Shows the fault that ends a command, and returns its exit code.
pub(crate) fn tell(fault: impl Into<Fault>) -> ExitCode {
    let fault = fault.into();
    say(&fault.to_string());
    fault.exit_code()
}

/// [`say`] with a line end.
pub(crate) fn say_line(words: std::fmt::Arguments<'_>) {
    say(&format!("{words}\n"));
}

/// Shows events of a run.
#[derive(Debug)]
pub struct Console {
    verbose: bool,
    is_terminal: bool,
    state: Mutex<State>,
}

/// Decides when the next plain progress line is due, where standard error is no terminal.
#[derive(Debug, Default)]
pub(crate) struct PlainPace {
    last: Option<Instant>,
}

impl PlainPace {
    /// Whether a line is due now; the first comes when the time has passed once.
    pub fn is_due(&mut self) -> bool {
        let last = *self.last.get_or_insert_with(Instant::now);
        let is_due = last.elapsed() >= PLAIN_EVERY;
        if is_due {
            self.last = Some(Instant::now());
        }
        is_due
    }
}

#[derive(Debug, Default)]
struct State {
    bar: Option<ProgressBar>,
    pace: PlainPace,
    dots: bool,
    warned: Vec<String>,
    /// What the end of a run that is stopped waits for; `None` for I/Os of the test.
    waits_for: Option<String>,
    /// The run is being stopped: no bar is drawn any more.
    is_stopping: bool,
}

impl State {
    fn take_bar_away(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

impl Console {
    /// A console on standard error; `verbose` prints what `-v` asks for.
    pub fn new(verbose: bool) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        Console { verbose, is_terminal, state: Mutex::new(State::default()) }
    }

    /// Shows one event. Called from worker threads for dots only.
    pub fn show(&self, event: Event) {
        let Ok(mut state) = self.state.lock() else { return };
        match event {
            Event::Dot => {
                state.dots = true;
                let mut err = std::io::stderr().lock();
                let _ = err.write_all(b".").and_then(|()| err.flush());
            }
            Event::Verbose(words) if self.verbose => {
                self.line(&mut state, &format!("{}: {words}", crate::machine::host::local_time_now()));
            }
            Event::Removing { path, bytes } => {
                let words = format!("removing the unfinished file '{path}' ({})", size(bytes));
                self.line(&mut state, &format!("note: {words}"));
                state.waits_for = Some(words);
            }
            Event::Verbose(_) | Event::Progress(_) => {}
            Event::Warning(words) => {
                self.line(&mut state, &format!("WARNING: {words}"));
                state.warned.push(words);
            }
            Event::Note(words) | Event::Reused { words, .. } => {
                self.line(&mut state, &format!("note: {words}"));
            }
            Event::Fill { path, done_bytes, total_bytes } => {
                self.fill(&mut state, &path, done_bytes, total_bytes);
            }
        }
    }

    /// A line by itself: ends a row of dots first, and does not damage a progress bar.
    fn line(&self, state: &mut State, words: &str) {
        let words = printable(words);
        if std::mem::take(&mut state.dots) {
            say("\n");
        }
        match &state.bar {
            Some(bar) => bar.suspend(|| say_line(format_args!("{words}"))),
            None => say_line(format_args!("{words}")),
        }
    }

    fn fill(&self, state: &mut State, path: &str, done_bytes: u64, total_bytes: u64) {
        // After its last byte it is flushed, which can take as long.
        state.waits_for = Some(format!("'{path}' is being written to the device"));
        if state.is_stopping {
            return;
        }
        if self.is_terminal {
            let bar = state.bar.get_or_insert_with(|| new_bar(path, total_bytes));
            bar.set_position(done_bytes);
            if done_bytes >= total_bytes {
                bar.finish_and_clear();
                state.bar = None;
            }
            return;
        }
        if state.pace.is_due() {
            let percent = done_bytes * 100 / total_bytes.max(1);
            let path = printable(path);
            say_line(format_args!(
                "writing '{path}': {percent} % ({} of {})",
                Size(done_bytes),
                Size(total_bytes)
            ));
        }
    }

    /// Whether the warning was shown while the run went on.
    pub fn has_warned(&self, words: &str) -> bool {
        self.state.lock().is_ok_and(|state| state.warned.iter().any(|w| w == words))
    }

    /// The run is being stopped: nothing that is shown may stay on the terminal among what comes now.
    pub fn stop(&self) {
        let Ok(mut state) = self.state.lock() else { return };
        state.is_stopping = true;
        state.take_bar_away();
    }

    /// Tells what the end of a run that is being stopped waits for.
    pub fn tell_wait(&self) {
        let Ok(mut state) = self.state.lock() else { return };
        let waits_for = state.waits_for.clone().unwrap_or_else(|| "I/Os that have not come back".into());
        let words =
            format!("note: stopping; waiting for this: {waits_for}; press Ctrl+C again to end at once");
        self.line(&mut state, &words);
    }

    /// Clears what is still shown and ends a row of dots.
    pub fn finish(&self) {
        let Ok(mut state) = self.state.lock() else { return };
        state.take_bar_away();
        if std::mem::take(&mut state.dots) {
            say("\n");
        }
    }
}

fn new_bar(path: &str, total_bytes: u64) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total_bytes), ProgressDrawTarget::stderr());
    let style = "writing {msg} {bar:30} {bytes}/{total_bytes} {bytes_per_sec}, {eta} left";
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style);
    }
    bar.set_message(printable(path));
    bar
}
