//! Reads events as they come and shows them, until they end; the terminal as a screen, and how it is given back.

use std::fs::File;
use std::io::{self, BufReader, IsTerminal, Read, Stderr};
use std::path::Path;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Hide;
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::EnterAlternateScreen;

use super::Model;
use super::draw::{Appearance, draw};
use super::plain::{self, Plain};
use truespd_front::console::write_out;
use truespd_front::show::{Style, can_draw, is_ascii_only};
use truespd_front::telemetry::{Happened, Heard};
use truespd_front::viewer::{LEFT, give_back, leave_at_panic, leave_screen, spawn};
use truespd_platform::machine::host::{ProcessState, state_of};
use truespd_platform::machine::roots::Roots;
use truespd_platform::sys::program::{self, Modes};
use truespd_platform::sys::signals::{ScreenSignal, ScreenSignals, suspend_this_process};
use truespd_platform::sys::source::read_line;

/// How often it looks at what no event tells.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How often the screen is drawn again although nothing happened.
const DRAW_EVERY: Duration = Duration::from_secs(1);
/// How often a file is asked whether it has grown.
const FOLLOW_EVERY: Duration = Duration::from_millis(200);
/// A file that nobody writes to for so long, and no run has locked, is not written any more.
const SILENCE: Duration = Duration::from_secs(10);
/// A run that was asked to stop for a while does so within this time.
const AWAY_LEAST: Duration = Duration::from_millis(500);

/// Bytes of a line, at most: what a run on a thousand hosts tells is a tenth of it.
const LINE_BYTES_MAX: u64 = 4 << 20;
/// Events that may wait to be shown.
const NEWS_MAX: usize = 1000;

/// Why events cannot be watched.
#[derive(Debug)]
pub(crate) enum WatchError {
    /// A line is no event.
    Foreign {
        /// Its number, from 1.
        line: usize,
        reason: String,
    },
    /// They could not be read.
    Read(io::Error),
    /// There is no event at all.
    Nothing,
    /// The run that wrote them is gone, and did not come to its end.
    CutOff,
    /// Signals, threads or the terminal.
    System(io::Error),
}

/// Where the events come from.
pub(crate) enum Events {
    /// A file, which may still grow.
    File(File),
    /// Standard input, a pipe: they end where it ends.
    Stream(Box<dyn Read + Send>),
}

impl Events {
    /// Opens a file, a pipe or standard input (`-`).
    ///
    /// # Errors
    /// What the system says.
    pub fn open(path: &Path) -> io::Result<Events> {
        if path == Path::new("-") {
            return Ok(Events::Stream(Box::new(io::stdin())));
        }
        let file = File::open(path)?;
        let kind = file.metadata()?.file_type();
        if kind.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        Ok(if kind.is_file() { Events::File(file) } else { Events::Stream(Box::new(file)) })
    }
}

enum News {
    Event(Box<Heard>),
    NoMore(Result<(), WatchError>),
    Signal(ScreenSignal),
}

/// The view of a run of this program, on its standard error, until its pipe closes. `owner` is its process.
///
/// # Errors
/// [`WatchError`]; the terminal was given back.
pub(crate) fn view(owner: u32) -> Result<(), WatchError> {
    let mut view = Watched::begin(Events::Stream(Box::new(io::stdin())), Some(owner))?;
    view.follow().map(|_| ())
}

/// Shows the events to a person, or as lines on standard output where there is no screen.
///
/// # Errors
/// [`WatchError`]; the terminal was given back.
pub(crate) fn watch(events: Events) -> Result<(), WatchError> {
    let has_screen = io::stdout().is_terminal() && can_draw();
    if !has_screen {
        return lines(events);
    }
    let model = Watched::begin(events, None)?.follow()?;
    // Nobody reads it: then it need not be told.
    let _ = write_out(&plain::summary(&model));
    Ok(())
}

/// The events as lines on standard output.
fn lines(events: Events) -> Result<(), WatchError> {
    let (sender, news) = mpsc::sync_channel(NEWS_MAX);
    spawn("events", move || read(events, &sender)).map_err(WatchError::System)?;
    let (mut model, mut plain) = (Model::default(), Plain::new(TimeZone::system()));
    loop {
        match news.recv() {
            Ok(News::Event(heard)) => {
                model.take((*heard).clone());
                let Some(line) = plain.line(&heard, &model) else { continue };
                if write_out(&line).is_err() {
                    return Ok(());
                }
            }
            Ok(News::NoMore(result)) => return result,
            Ok(News::Signal(_)) | Err(_) => return Ok(()),
        }
    }
}

/// A screen that follows events.
struct Watched {
    news: Receiver<News>,
    model: Model,
    appearance: Appearance,
    screen: Option<Screen>,
    /// The run whose view this is.
    owner: Option<u32>,
    /// Since when the screen is left to others.
    left: Option<Instant>,
    /// When the last event came, and when the screen was drawn.
    heard: Instant,
    drawn: Option<Instant>,
}

impl Watched {
    fn begin(events: Events, owner: Option<u32>) -> Result<Watched, WatchError> {
        let mut signals = ScreenSignals::receive().map_err(WatchError::System)?;
        let (sender, news) = mpsc::sync_channel(NEWS_MAX);
        let signal_sender = sender.clone();
        spawn("events", move || read(events, &sender)).map_err(WatchError::System)?;
        spawn("signals", move || {
            for signal in signals.forever() {
                if signal_sender.send(News::Signal(signal)).is_err() {
                    return;
                }
            }
        })
        .map_err(WatchError::System)?;
        leave_at_panic(leave_screen);
        let keys = match owner {
            Some(_) => "Ctrl+C ends the run, Ctrl+Z suspends it",
            None => "Ctrl+C leaves; the run goes on",
        };
        let appearance = Appearance {
            has_colour: Style::of_stderr().has_colour,
            is_ascii: is_ascii_only(),
            zone: TimeZone::system(),
            silent_s: 0,
            keys,
        };
        let heard = Instant::now();
        let (screen, left, drawn) = (None, None, None);
        Ok(Watched { news, model: Model::default(), appearance, screen, owner, left, heard, drawn })
    }

    /// Until the events end, or a person ends it.
    fn follow(&mut self) -> Result<Model, WatchError> {
        let result = self.until_over();
        drop(self.screen.take());
        result.map(|()| std::mem::take(&mut self.model))
    }

    fn until_over(&mut self) -> Result<(), WatchError> {
        loop {
            self.keep_screen()?;
            let mut next = self.news.recv_timeout(LOOK_EVERY);
            let mut has_changed = false;
            // What has piled up is drawn once.
            loop {
                match next {
                    Ok(News::Event(heard)) => {
                        self.model.take(*heard);
                        self.heard = Instant::now();
                        has_changed = true;
                    }
                    Ok(News::Signal(ScreenSignal::Suspend)) => self.suspend(),
                    Ok(News::Signal(ScreenSignal::Resize)) => has_changed = true,
                    // The run itself is told as well, and ends the view when it is ready for it.
                    Ok(News::Signal(ScreenSignal::End)) if self.owner.is_some() => {}
                    Ok(News::Signal(ScreenSignal::End)) => return Ok(()),
                    // A run may end before it has told anything.
                    Ok(News::NoMore(Err(WatchError::Nothing))) if self.owner.is_some() => return Ok(()),
                    Ok(News::NoMore(result)) => return result,
                    Err(RecvTimeoutError::Disconnected) => return Ok(()),
                    Err(RecvTimeoutError::Timeout) => break,
                }
                match self.news.try_recv() {
                    Ok(more) => next = Ok(more),
                    Err(_) => break,
                }
            }
            self.draw(has_changed)?;
        }
    }

    fn draw(&mut self, has_changed: bool) -> Result<(), WatchError> {
        let Some(screen) = &mut self.screen else { return Ok(()) };
        if has_changed || self.drawn.is_none_or(|drawn| drawn.elapsed() >= DRAW_EVERY) {
            self.appearance.silent_s = self.heard.elapsed().as_secs();
            screen.draw(&self.model, &self.appearance).map_err(WatchError::System)?;
            self.drawn = Some(Instant::now());
        }
        Ok(())
    }

    /// Takes the screen when it may, and leaves it while the run is stopped or not in the foreground.
    fn keep_screen(&mut self) -> Result<(), WatchError> {
        let is_stopped =
            self.owner.is_some_and(|owner| state_of(owner, &Roots::default()) == ProcessState::Stopped);
        let is_ours = !is_stopped && program::is_ours(io::stderr());
        match &self.screen {
            Some(_) if !is_ours => self.leave(),
            None if is_ours && self.left.is_none_or(|left| left.elapsed() >= AWAY_LEAST) => {
                self.screen = Some(Screen::take().map_err(WatchError::System)?);
                (self.left, self.drawn) = (None, None);
            }
            _ => {}
        }
        Ok(())
    }

    fn leave(&mut self) {
        drop(self.screen.take());
        self.left = Some(Instant::now());
    }

    /// Ctrl+Z. The run waits for the screen to be left before it stops.
    fn suspend(&mut self) {
        self.leave();
        if self.owner.is_none() {
            suspend_this_process();
            self.left = None;
            return;
        }
        // If nobody reads, the run is over.
        let _ = write_out(LEFT);
    }
}

/// Sends each whole line. A file is followed until it says that everything is over.
fn read(events: Events, sender: &SyncSender<News>) {
    let (mut lines, followed): (BufReader<Box<dyn Read + Send>>, Option<File>) = match events {
        Events::File(file) => {
            let followed = file.try_clone().ok();
            (BufReader::new(Box::new(file)), followed)
        }
        Events::Stream(stream) => (BufReader::new(stream), None),
    };
    let is_followed = followed.is_some();
    let (mut line, mut count, mut is_over, mut was_gone) = (Vec::new(), 0, false, false);
    let result = loop {
        match read_line(&mut lines, &mut line, LINE_BYTES_MAX) {
            Err(error) => break Err(WatchError::Read(error)),
            Ok(0) if !is_followed || is_over => {
                break if count > 0 { Ok(()) } else { Err(WatchError::Nothing) };
            }
            // Nothing came since its writer went.
            Ok(_) if line.last() != Some(&b'\n') && is_followed && was_gone => break Err(WatchError::CutOff),
            // The writer has not come to its end.
            Ok(_) if line.last() != Some(&b'\n') && is_followed => {
                std::thread::sleep(FOLLOW_EVERY);
                was_gone = count > 0 && followed.as_ref().is_some_and(is_left);
            }
            Ok(_) => {
                (count, was_gone) = (count + 1, false);
                let heard = match Heard::read(&String::from_utf8_lossy(&line)) {
                    Ok(heard) => heard,
                    Err(error) => {
                        break Err(WatchError::Foreign { line: count, reason: error.to_string() });
                    }
                };
                line.clear();
                is_over = heard.happened == Happened::End;
                if sender.send(News::Event(Box::new(heard))).is_err() {
                    return;
                }
            }
        }
    };
    // If nobody waits for it, it is not wanted.
    let _ = sender.send(News::NoMore(result));
}

/// Whether no run writes the file any more: one that does has a lock on it, and tells something every second. What
/// copies events here from elsewhere has no lock.
fn is_left(file: &File) -> bool {
    let modified = file.metadata().and_then(|about| about.modified()).ok();
    let silent = modified.and_then(|modified| modified.elapsed().ok()).unwrap_or_default();
    if silent < SILENCE || file.try_lock().is_err() {
        return false;
    }
    let _ = file.unlock();
    true
}

/// The screen, while it is ours.
struct Screen {
    terminal: Terminal<CrosstermBackend<Stderr>>,
    modes: Modes,
}

impl Screen {
    /// Takes the screen. What stood on the terminal comes back when it is dropped. Keys that are typed are
    /// not shown, but Ctrl+C and Ctrl+Z stay signals.
    fn take() -> io::Result<Screen> {
        let modes = Modes::of(io::stderr())?;
        modes.without_echo().restore(io::stderr())?;
        let taken = execute!(io::stderr(), EnterAlternateScreen, Hide)
            .and_then(|()| Terminal::new(CrosstermBackend::new(io::stderr())));
        match taken {
            Ok(terminal) => Ok(Screen { terminal, modes }),
            Err(error) => {
                give_back(&modes);
                Err(error)
            }
        }
    }

    fn draw(&mut self, model: &Model, appearance: &Appearance) -> io::Result<()> {
        self.terminal.draw(|frame| draw(frame, model, appearance)).map(|_| ())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back(&self.modes);
    }
}
