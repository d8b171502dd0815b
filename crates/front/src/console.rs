//! What a run shows on standard error while it runs: progress, dots, verbose lines. Where that is the file or pipe of
//! a text result, messages wait until the result stands there, and are written below it ([`Waiting`]).

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

use crate::show::{self, Filling, Words, readable};
use crate::{config, viewer};
use truespd_core::load::Event;
use truespd_platform::fault::{ExitCode, Failure, Fault};
use truespd_platform::sys::program;
use truespd_platform::text::{folded, printable, printable_text, size};

/// How often the line of a file changes, which is told of more often.
const FILL_EVERY: Duration = Duration::from_millis(250);
/// How often the line of a run changes.
const CHANGES_EVERY: Duration = Duration::from_secs(1);

/// Pause between plain progress lines, where standard error is no terminal.
const PLAIN_EVERY: Duration = Duration::from_secs(10);

/// Writes to standard error. An error of that is ignored: a full disk or a closed pipe behind standard error must not
/// end a run. What is said this way while messages wait for the result is about the end of the run, and stands last.
pub fn say(text: &str) {
    if !waiting().takes(Turn::Last, text) {
        say_now(text);
    }
}

fn say_now(text: &str) {
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

/// Whether both streams are the same file or pipe. A terminal does not count.
static IS_ONE_PLACE: LazyLock<bool> =
    LazyLock::new(|| program::are_merged(std::io::stdout(), std::io::stderr()));

fn put(text: &str) {
    if is_silent() || viewer::hold(text) {
        return;
    }
    if *IS_ONE_PLACE {
        // A file that was opened twice (`>log 2>log`) has two positions: what one stream writes, the other writes over.
        let _ = put_out(text);
        return;
    }
    let mut err = std::io::stderr().lock();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}

fn put_out(text: &str) -> std::io::Result<()> {
    if let Some(last) = text.chars().last() {
        waiting().is_line_open = last != '\n';
    }
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush())
}

/// Writes to standard output, whole or with the system's error.
pub fn write_out(text: &str) -> std::io::Result<()> {
    if is_silent() {
        return Ok(());
    }
    waiting().has_result |= !text.is_empty();
    put_out(&printable_text(text))
}

/// The order of messages below a text result: what matters most stands at the end, where people look first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    Note,
    Warning,
    Verdict,
    /// Errors, and what is said with them.
    Last,
}

/// Messages that wait for a text result, because it goes to the same file or pipe: programs read that from DiskSpd's
/// first line on, and nothing may stand inside.
#[derive(Debug, Default)]
struct Waiting {
    /// Whether messages wait: from the beginning of a run with a text result to the end of the program.
    is_on: bool,
    messages: Vec<(Turn, String)>,
    has_result: bool,
    /// What was written last does not end with a line end.
    is_line_open: bool,
}

static WAITING: Mutex<Waiting> =
    Mutex::new(Waiting { is_on: false, messages: Vec::new(), has_result: false, is_line_open: false });

fn waiting() -> MutexGuard<'static, Waiting> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Waiting {
    /// Takes a message; false where none has to wait.
    fn takes(&mut self, turn: Turn, text: &str) -> bool {
        if self.is_on && !text.is_empty() {
            self.messages.push((turn, text.to_string()));
        }
        self.is_on
    }

    /// All that waited, in order, as it is written behind what was written last. From here on, nothing waits.
    fn release(&mut self) -> String {
        self.is_on = false;
        let mut messages = std::mem::take(&mut self.messages);
        messages.sort_by_key(|(turn, _)| *turn);
        let mut text = String::new();
        if !messages.is_empty() {
            text.push_str(if self.is_line_open { "\n" } else { "" });
            text.push_str(if self.has_result { "\n" } else { "" });
        }
        messages.iter().for_each(|(_, message)| text.push_str(message));
        text
    }
}

/// Writes the messages that wait for the result. Called at the end of the program.
pub fn write_waiting() {
    let text = waiting().release();
    if !text.is_empty() {
        say_now(&text);
    }
}

/// How long the end of the process may wait for a reader of what is still to be written.
const LAST_PATIENCE: Duration = Duration::from_secs(1);

/// Ends the process before its time. Messages that wait are written, if somebody takes them.
pub fn end(exit_code: i32) -> ! {
    if waiting().is_on {
        let (sender, is_written) = mpsc::channel();
        // Another thread may be inside of a write to a pipe that nobody reads.
        let _ = viewer::spawn("last-words", move || {
            write_waiting();
            let _ = sender.send(());
        });
        let _ = is_written.recv_timeout(LAST_PATIENCE);
    }
    std::process::exit(exit_code)
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
    let code = tell(failure);
    end(code as i32)
}

/// Writes one line to standard error. Line ends inside would make several of it, which look like this program's own.
pub fn say_line(words: std::fmt::Arguments<'_>) {
    say(&format!("{}\n", printable(&words.to_string())));
}

/// A line beside the result, if such words are told.
pub fn say_message(stderr: StandardError, told: Message, words: &str) {
    if stderr.shows(told) {
        say_lines(told, &format!("{}{}\n", told.lead(), printable(words)));
    }
}

/// Complete lines beside the result, in their turn where messages wait for it.
pub fn say_lines(told: Message, text: &str) {
    let waits = told.turn().is_some_and(|turn| waiting().takes(turn, text));
    if !waits {
        say_now(text);
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
                say_now(".");
            }
            Event::Verbose(words) => {
                // None is sent while a file is made, so the file is done.
                state.waits_for = None;
                if self.verbose {
                    let words = format!("{}: {words}", truespd_platform::machine::host::local_time_now());
                    self.line(&mut state, Message::Requested, &words);
                }
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
            Event::Counted(_) => {}
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
            say_now("\n");
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
        self.line(&mut state, Message::Stopping, &words);
    }

    /// Clears what is still shown and ends a row of dots.
    pub fn finish(&self) {
        let Ok(mut state) = self.state.lock() else { return };
        state.line.clear();
        // Where both streams are one, the result itself ends the row, as DiskSpd's does.
        if std::mem::take(&mut state.dots) && !*IS_ONE_PLACE {
            say_now("\n");
        }
    }
}

/// A kind of message beside a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message {
    /// What an option asks for as it goes on: `-v`, `-P`.
    Requested,
    Progress,
    /// What the end of a run that is stopped waits for. It is of use at once only.
    Stopping,
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

/// Standard error during one run: which messages it shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StandardError {
    All,
    /// What DiskSpd itself would print (`--quiet`).
    AsDiskSpd,
    /// It goes to the file or pipe of a result that programs read: nothing but why a run failed.
    Closed,
}

impl StandardError {
    /// For the streams, the environment and the configuration of this process. `is_quiet`: `--quiet` was
    /// given. `is_text`: standard output gets the result as text. Where both streams are one, messages wait for
    /// that text from here on.
    pub fn of_process(is_quiet: bool, is_text: bool) -> Self {
        if *IS_ONE_PLACE && !is_text {
            return StandardError::Closed;
        }
        if *IS_ONE_PLACE && !std::mem::replace(&mut waiting().is_on, true) {
            viewer::leave_at_panic(write_waiting);
        }
        let is_quiet = is_quiet || config::in_force().is_quiet();
        if is_quiet { StandardError::AsDiskSpd } else { StandardError::All }
    }

    /// Whether it shows such messages.
    pub fn shows(self, message: Message) -> bool {
        match self {
            StandardError::All => true,
            StandardError::AsDiskSpd => matches!(message, Message::Requested | Message::WarningOfDiskSpd),
            StandardError::Closed => false,
        }
    }
}

/// Whether messages wait for a text result.
pub fn is_waiting() -> bool {
    waiting().is_on
}

impl Message {
    /// How a line of such words begins.
    pub fn lead(self) -> &'static str {
        match self {
            Message::Note | Message::Stopping => "note: ",
            Message::Warning | Message::WarningOfDiskSpd => "WARNING: ",
            Message::Requested | Message::Progress | Message::Verdict | Message::Kept => "",
        }
    }

    /// Its place below a text result; none for what is written at once, in front of it.
    fn turn(self) -> Option<Turn> {
        match self {
            Message::Requested | Message::Progress | Message::Stopping => None,
            Message::Note | Message::Kept => Some(Turn::Note),
            Message::Warning | Message::WarningOfDiskSpd => Some(Turn::Warning),
            Message::Verdict => Some(Turn::Verdict),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERYTHING: [Message; 8] = [
        Message::Requested,
        Message::Progress,
        Message::Stopping,
        Message::Note,
        Message::Warning,
        Message::WarningOfDiskSpd,
        Message::Verdict,
        Message::Kept,
    ];

    fn told(stderr: StandardError) -> Vec<Message> {
        EVERYTHING.into_iter().filter(|told| stderr.shows(*told)).collect()
    }

    #[test]
    fn each_extent_tells_what_it_says() {
        assert_eq!(told(StandardError::All), EVERYTHING);
        assert_eq!(told(StandardError::AsDiskSpd), [Message::Requested, Message::WarningOfDiskSpd]);
        assert_eq!(told(StandardError::Closed), []);
    }

    #[test]
    fn what_waited_stands_below_the_result_with_the_verdict_and_errors_last() {
        let mut waiting = Waiting { is_on: true, has_result: true, is_line_open: true, ..Waiting::default() };
        for (message, words) in [
            (Message::Verdict, "verdict\n"),
            (Message::Warning, "warning\n"),
            (Message::Note, "note\n"),
            (Message::WarningOfDiskSpd, "warning of DiskSpd\n"),
            (Message::Kept, "kept\n"),
        ] {
            assert!(waiting.takes(message.turn().expect("it waits"), words));
        }
        assert!(waiting.takes(Turn::Last, "ERROR\n"));
        let below = "\n\nnote\nkept\nwarning\nwarning of DiskSpd\nverdict\nERROR\n";
        assert_eq!(waiting.release(), below);
        assert!(!waiting.takes(Turn::Note, "later\n"), "nothing waits any more");
        assert_eq!(waiting.release(), "", "and nothing is written twice");
    }

    #[test]
    fn without_a_result_nothing_stands_above_what_waited() {
        for (is_line_open, lead) in [(false, ""), (true, "\n")] {
            let mut waiting = Waiting { is_on: true, is_line_open, ..Waiting::default() };
            assert!(waiting.takes(Turn::Last, "ERROR\n"));
            assert_eq!(waiting.release(), format!("{lead}ERROR\n"));
        }
    }
}
