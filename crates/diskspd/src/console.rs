//! What a run shows on standard error while it runs: progress, dots, verbose lines.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::show::{self, Filling, Words, readable};
use crate::{config, viewer};
use truespd_core::fault::{ExitCode, Failure, Fault};
use truespd_core::load::Event;
use truespd_core::sys::program;
use truespd_core::text::{folded, printable, printable_text, size};

/// How often the line of a file changes, which is told of more often.
const FILL_EVERY: Duration = Duration::from_millis(250);
/// How often the line of a run changes.
const CHANGES_EVERY: Duration = Duration::from_secs(1);

/// Pause between plain progress lines, where standard error is no terminal.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// Writes to standard error. An error of that is ignored: a full disk or a closed pipe behind standard error must not
/// end a run.
pub fn say(text: &str) {
    let text = printable_text(text);
    match columns() {
        Some(columns) => put(&folded(&text, columns)),
        None => put(&text),
    }
}

/// Width for text on standard error; `None` where that is no terminal and every message is a line.
pub fn columns() -> Option<usize> {
    program::terminal_columns(std::io::stderr()).map(readable)
}

/// Puts words in the place of the line that the terminal of standard error is in.
fn draw_over(words: &str) {
    put(&format!("\r{}\u{1b}[K", printable(words)));
}

/// Nothing is shown any more: another process speaks for this one (a cluster run).
static IS_SILENT: AtomicBool = AtomicBool::new(false);
/// Faults that it would have told, one sentence each.
static UNTOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Shows nothing from here on, neither on standard error nor on standard output.
pub fn fall_silent() {
    IS_SILENT.store(true, Ordering::Relaxed);
}

fn is_silent() -> bool {
    IS_SILENT.load(Ordering::Relaxed)
}

/// The faults that were to be told since then, for the process that speaks for this one.
pub fn untold_faults() -> Vec<String> {
    std::mem::take(&mut *UNTOLD.lock().unwrap_or_else(PoisonError::into_inner))
}

fn put(text: &str) {
    if is_silent() || viewer::hold(text) {
        return;
    }
    let mut err = std::io::stderr().lock();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}

/// Writes to standard output, whole or with the system's error.
pub fn write_out(text: &str) -> std::io::Result<()> {
    if is_silent() {
        return Ok(());
    }
    let mut out = std::io::stdout().lock();
    out.write_all(printable_text(text).as_bytes()).and_then(|()| out.flush())
}

/// Shows the fault that ends a command, and returns its exit code.
pub fn tell(fault: impl Into<Fault>) -> ExitCode {
    let fault = fault.into();
    if is_silent() {
        UNTOLD.lock().unwrap_or_else(PoisonError::into_inner).extend(fault.sentences());
    }
    say(&fault.shown(columns()));
    fault.exit_code()
}

/// Ends the process: a thread that never ends keeps the run from ending.
pub fn end_without_result(failure: Failure) -> ! {
    viewer::leave();
    std::process::exit(tell(failure) as i32)
}

/// Writes one line to standard error. Line ends inside would make several of it, which look like this program's own.
pub fn say_line(words: std::fmt::Arguments<'_>) {
    say(&format!("{}\n", printable(&words.to_string())));
}

/// A line beside the result, if such words are told.
pub fn say_message(stderr: StandardError, told: Message, words: &str) {
    if stderr.shows(told) {
        say_line(format_args!("{}{}", told.lead(), printable(words)));
    }
}

/// How the progress of a run is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressAs {
    /// A line that changes, on a terminal.
    ChangingLine,
    /// A line now and then (`--progress`).
    Lines,
    Nothing,
}

impl ProgressAs {
    /// On standard error. A row of dots (`-P`) leaves no room for a line that changes.
    pub fn of_stderr(wants_lines: bool, has_dots: bool) -> Self {
        match (show::can_draw() && !has_dots, wants_lines) {
            (true, _) => ProgressAs::ChangingLine,
            (false, true) => ProgressAs::Lines,
            (false, false) => ProgressAs::Nothing,
        }
    }

    /// How often a run has to tell it.
    pub fn every(self) -> Option<Duration> {
        match self {
            ProgressAs::ChangingLine => Some(CHANGES_EVERY),
            ProgressAs::Lines => Some(PLAIN_EVERY),
            ProgressAs::Nothing => None,
        }
    }
}

/// Shows events of a run.
#[derive(Debug)]
pub struct Console {
    stderr: StandardError,
    verbose: bool,
    progress_as: ProgressAs,
    state: Mutex<State>,
}

/// Width where the terminal does not tell its own.
const COLUMNS: usize = 80;

/// A line that is drawn over itself, while standard error is a terminal. By hand, not with `indicatif`: whole
/// figures are left out where the terminal is narrow, and no error of the terminal may end a run.
#[derive(Debug, Default)]
struct ChangingLine {
    is_shown: bool,
    drawn: Option<Instant>,
}

impl ChangingLine {
    /// Shows the words instead of those before: as much of them as fits.
    fn draw(&mut self, words: &Words) {
        // The last column stays free: some terminals begin a new line once it is filled.
        let columns = program::terminal_columns(std::io::stderr()).unwrap_or(COLUMNS).saturating_sub(1);
        draw_over(&words.fitting(columns));
        self.is_shown = true;
        self.drawn = Some(Instant::now());
    }

    /// Whether it was not drawn for so long.
    fn is_older_than(&self, age: Duration) -> bool {
        !self.is_shown || self.drawn.is_none_or(|drawn| drawn.elapsed() >= age)
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            draw_over("");
        }
    }
}

/// Decides when the next plain progress line is due, where standard error is no terminal.
#[derive(Debug, Default)]
pub struct PlainPace {
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
    line: ChangingLine,
    filling: Option<Filling>,
    pace: PlainPace,
    dots: bool,
    warned: Vec<String>,
    /// What the end of a run that is stopped waits for; `None` for I/Os of the test.
    waits_for: Option<String>,
    /// The run is being stopped: the line that changes is gone for good.
    is_stopping: bool,
}

impl Console {
    /// A console on standard error; `verbose` prints what `-v` asks for.
    pub fn new(verbose: bool, progress_as: ProgressAs, stderr: StandardError) -> Self {
        Console { stderr, verbose, progress_as, state: Mutex::new(State::default()) }
    }

    /// Shows that the run begins, until it tells more.
    pub fn begin(&self) {
        if let Ok(mut state) = self.state.lock()
            && self.progress_as == ProgressAs::ChangingLine
        {
            state.line.draw(&Words::new("preparing"));
        }
    }

    /// Shows one event. Called from worker threads for dots only.
    pub fn show(&self, event: Event) {
        let Ok(mut state) = self.state.lock() else { return };
        match event {
            Event::Dot if !self.stderr.shows(Message::Requested) => {}
            Event::Dot => {
                state.dots = true;
                say(".");
            }
            Event::Verbose(words) if self.verbose => {
                let words = format!("{}: {words}", truespd_core::machine::host::local_time_now());
                self.line(&mut state, Message::Requested, &words);
            }
            Event::Removing { path, bytes } => {
                let words = format!("removing the unfinished file '{path}' ({})", size(bytes));
                self.line(&mut state, Message::Note, &words);
                state.waits_for = Some(words);
            }
            Event::GivenUp(failure) => {
                state.line.clear();
                end_without_result(failure);
            }
            Event::Verbose(_) | Event::Counted(_) => {}
            Event::Progress(progress) => self.progress(&mut state, &show::progress(&progress)),
            Event::Warning(words) => {
                self.line(&mut state, Message::Warning, &words);
                state.warned.push(words);
            }
            Event::Note(words) | Event::Reused { words, .. } => {
                self.line(&mut state, Message::Note, &words);
            }
            Event::Fill { path, done_bytes, total_bytes } => {
                self.fill(&mut state, &path, done_bytes, total_bytes);
            }
        }
    }

    /// A line by itself: ends a row of dots first, and takes the place of the line that changes until that is drawn
    /// again.
    fn line(&self, state: &mut State, told: Message, words: &str) {
        if !self.stderr.shows(told) {
            return;
        }
        state.line.clear();
        if std::mem::take(&mut state.dots) {
            say("\n");
        }
        say_message(self.stderr, told, words);
    }

    fn progress(&self, state: &mut State, words: &Words) {
        state.waits_for = None;
        match self.progress_as {
            ProgressAs::ChangingLine if !state.is_stopping => state.line.draw(words),
            ProgressAs::Lines => self.line(state, Message::Progress, &format!("progress: {}", words.whole())),
            ProgressAs::ChangingLine | ProgressAs::Nothing => {}
        }
    }

    fn fill(&self, state: &mut State, path: &str, done_bytes: u64, total_bytes: u64) {
        // After its last byte it is flushed, which can take as long.
        state.waits_for = Some(format!("'{path}' is being written to the device"));
        let is_new = !state.filling.as_ref().is_some_and(|filling| filling.is_of(path));
        if is_new {
            state.filling = Some(Filling::of(path));
        }
        let Some(filling) = &state.filling else { return };
        match self.progress_as {
            ProgressAs::ChangingLine if state.is_stopping => {}
            // A fast disk makes a file before the second line is due.
            ProgressAs::ChangingLine if !is_new && !state.line.is_older_than(FILL_EVERY) => {}
            ProgressAs::ChangingLine => {
                let words =
                    filling.words(done_bytes, total_bytes, program::terminal_columns(std::io::stderr()));
                state.line.draw(&words);
            }
            ProgressAs::Lines if state.pace.is_due() => {
                let words = filling.words(done_bytes, total_bytes, None).whole();
                self.line(state, Message::Progress, &format!("progress: {words}"));
            }
            _ => {}
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
        state.line.clear();
    }

    pub fn is_interrupted(&self) -> bool {
        self.state.lock().is_ok_and(|state| state.is_stopping)
    }

    /// Tells what the end of a run that is being stopped waits for.
    pub fn tell_wait(&self) {
        let Ok(mut state) = self.state.lock() else { return };
        let waits_for = state.waits_for.clone().unwrap_or_else(|| "I/Os that have not come back".into());
        let words = format!("stopping; waiting for this: {waits_for}; press Ctrl+C again to end at once");
        self.line(&mut state, Message::Note, &words);
    }

    /// Clears what is still shown and ends a row of dots.
    pub fn finish(&self) {
        let Ok(mut state) = self.state.lock() else { return };
        state.line.clear();
        // Where both streams are one, the result itself ends the row, as DiskSpd's does.
        if std::mem::take(&mut state.dots) && !self.stderr.is_merged() {
            say("\n");
        }
    }
}

/// A kind of message beside a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message {
    /// What an option asks for as it goes on: `-v`, `-P`.
    Requested,
    Progress,
    Note,
    /// A warning that DiskSpd does not have.
    Warning,
    /// A warning that DiskSpd 2.2 prints in the same case, in its words (`text-output.md` §13.2).
    WarningOfDiskSpd,
    /// The verdict in a line.
    Verdict,
    /// Where the result is kept.
    Kept,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    All,
    /// What DiskSpd itself would print.
    AsDiskSpd,
    /// Standard error goes where the result goes: in front of a text what options ask for, where DiskSpd
    /// prints it; beside a format that programs read, nothing.
    Merged {
        is_text: bool,
    },
}

/// Standard error during one run: which messages it shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StandardError(Extent);

impl StandardError {
    /// For the streams, the environment and the configuration of this process. `is_quiet`: `--quiet` was
    /// given. `is_text`: standard output gets the result as text.
    pub fn of_process(is_quiet: bool, is_text: bool) -> Self {
        let is_merged = program::are_merged(std::io::stdout(), std::io::stderr());
        let is_quiet = is_quiet || config::in_force().is_quiet();
        StandardError(if is_merged {
            Extent::Merged { is_text }
        } else if is_quiet {
            Extent::AsDiskSpd
        } else {
            Extent::All
        })
    }

    /// Whether it shows such messages.
    pub fn shows(self, message: Message) -> bool {
        match self.0 {
            Extent::All => true,
            Extent::AsDiskSpd => matches!(message, Message::Requested | Message::WarningOfDiskSpd),
            Extent::Merged { is_text } => is_text && message == Message::Requested,
        }
    }

    /// The result and these words end in one place, which is no terminal.
    pub fn is_merged(self) -> bool {
        matches!(self.0, Extent::Merged { .. })
    }
}

impl Message {
    /// How a line of such words begins.
    pub fn lead(self) -> &'static str {
        match self {
            Message::Note => "note: ",
            Message::Warning | Message::WarningOfDiskSpd => "WARNING: ",
            Message::Requested | Message::Progress | Message::Verdict | Message::Kept => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERYTHING: [Message; 7] = [
        Message::Requested,
        Message::Progress,
        Message::Note,
        Message::Warning,
        Message::WarningOfDiskSpd,
        Message::Verdict,
        Message::Kept,
    ];

    fn told(extent: Extent) -> Vec<Message> {
        EVERYTHING.into_iter().filter(|told| StandardError(extent).shows(*told)).collect()
    }

    #[test]
    fn each_extent_tells_what_it_says() {
        assert_eq!(told(Extent::All), EVERYTHING);
        assert_eq!(told(Extent::AsDiskSpd), [Message::Requested, Message::WarningOfDiskSpd]);
        assert_eq!(told(Extent::Merged { is_text: true }), [Message::Requested]);
        assert_eq!(told(Extent::Merged { is_text: false }), []);
    }
}
