//! The run's side of its live view: starts the process that draws it, hands the events over, and keeps what would be
//! written to standard error until the screen is given back.
//!
//! Nobody waits for the view: events that it is too slow for are dropped.

use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::telemetry::Listener;
use truespd_platform::sys::program::Modes;
use truespd_platform::sys::signals::{SuspendWishes, ask_to_suspend, suspend_this_process};

/// Words of the command that draws: `truespd watch --view-of PID -`.
const WATCH: &str = "watch";
pub const VIEW_OF: &str = "view-of";
/// What the view says when it has left the screen.
pub const LEFT: &str = "\n";
/// Events that may wait for a view that draws slowly.
const LINES_MAX: usize = 1000;
/// How long the view may take to give the screen back.
const PATIENCE: Duration = Duration::from_secs(2);

/// Held by who ends the view: others wait until the terminal is given back.
static LEAVING: Mutex<()> = Mutex::new(());
/// The view of this process; there is one at most.
static SHOWN: Mutex<Shown> = Mutex::new(Shown { view: None, held: String::new(), is_held: false });

struct Shown {
    view: Option<View>,
    /// Words for standard error that wait for the screen.
    held: String,
    is_held: bool,
}

struct View {
    child: Child,
    lines: SyncSender<String>,
    writer: JoinHandle<()>,
    /// Of the terminal as it was.
    modes: Modes,
}

/// Starts the view on the terminal of standard error. What it hears is shown.
///
/// # Errors
/// What the system says; then nothing is shown, and nothing is kept back.
pub fn start() -> io::Result<Listener> {
    let modes = Modes::of(io::stderr())?;
    let suspends = SuspendWishes::receive()?;
    let mut child = Command::new(std::env::current_exe()?)
        .args([WATCH, &format!("--{VIEW_OF}"), &std::process::id().to_string(), "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let pipe = child.stdin.take().expect("piped");
    let answers = child.stdout.take().expect("piped");
    let (lines, waiting) = mpsc::sync_channel(LINES_MAX);
    let writer = spawn("view", move || write(pipe, &waiting))?;
    if let Some(suspends) = suspends {
        let pid = child.id();
        spawn("suspend", move || suspend_in_order(suspends, pid, answers))?;
    }
    leave_at_panic(leave);
    let listener = lines.clone();
    let mut shown = shown();
    shown.view = Some(View { child, lines, writer, modes });
    shown.is_held = true;
    // A full queue or a view that has ended: the run goes on.
    Ok(Box::new(move |line| drop(listener.try_send(line.to_string()))))
}

/// Whether there is a view.
pub fn is_shown() -> bool {
    shown().view.is_some()
}

/// Keeps words for standard error while the screen is the view's. False when there is no view: then they can
/// be written.
pub fn hold(text: &str) -> bool {
    let mut shown = shown();
    if shown.is_held {
        shown.held.push_str(text);
    }
    shown.is_held
}

/// Ends the view, if there is one: the terminal is given back, and what was kept is written.
pub fn leave() {
    let _one = LEAVING.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(view) = shown().view.take() else { return };
    view.end();
    let mut shown = shown();
    shown.is_held = false;
    let held = std::mem::take(&mut shown.held);
    let mut err = io::stderr().lock();
    // An error of standard error must not end a run.
    let _ = err.write_all(held.as_bytes()).and_then(|()| err.flush());
}

fn shown() -> MutexGuard<'static, Shown> {
    SHOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

impl View {
    fn end(mut self) {
        // An empty line is none of the events: it ends the writer, which closes the pipe.
        let _ = self.lines.try_send(String::new());
        let limit = Instant::now() + PATIENCE;
        let has_left = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break status.success(),
                Ok(None) if Instant::now() < limit => std::thread::sleep(Duration::from_millis(5)),
                _ => break false,
            }
        };
        if !has_left {
            // It was killed, or it hangs.
            let _ = self.child.kill();
            let _ = self.child.wait();
            give_back(&self.modes);
        }
        if self.writer.is_finished() {
            let _ = self.writer.join();
        }
    }
}

/// Hands the lines over until an empty one comes or the view has ended.
fn write(mut pipe: ChildStdin, lines: &Receiver<String>) {
    for line in lines {
        if line.is_empty() {
            return;
        }
        if pipe.write_all(line.as_bytes()).and_then(|()| pipe.flush()).is_err() {
            return lost();
        }
    }
}

/// The view has ended by itself, e.g. because it was killed.
fn lost() {
    // Not while it is being ended: then it is gone already.
    if is_shown() {
        shown().held.push_str("note: the live view has ended; the run goes on\n");
        leave();
    }
}

/// Ctrl+Z: first the view leaves the screen, then this process stops.
fn suspend_in_order(mut suspends: SuspendWishes, view: u32, mut answers: impl Read + Send + 'static) {
    let (sender, left) = mpsc::channel();
    // Without a thread, Ctrl+Z waits as long as it may.
    let _ = spawn("view-answers", move || {
        let mut byte = [0];
        while answers.read_exact(&mut byte).is_ok() && byte == LEFT.as_bytes() && sender.send(()).is_ok() {}
    });
    for () in suspends.forever() {
        if is_shown() {
            while left.try_recv().is_ok() {}
            ask_to_suspend(view);
            // If it does not answer, it is gone, or it hangs.
            let _ = left.recv_timeout(PATIENCE);
        }
        suspend_this_process();
    }
}

/// Starts a thread.
///
/// # Errors
/// What the system says.
pub fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.into()).spawn(body)
}

/// Gives the terminal back as it was.
pub fn give_back(modes: &Modes) {
    leave_screen();
    // Fails only where the terminal is gone.
    let _ = modes.restore(io::stderr());
}

/// From now on, `leave` is called before the words of a panic are written: in the picture they would be lost.
pub fn leave_at_panic(leave: fn()) {
    let default_hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        leave();
        default_hook(panic);
    }));
}

/// Shows the cursor and what stood on the terminal before (xterm's control sequences).
const LEAVE_SCREEN: &str = "\u{1b}[?1049l\u{1b}[?25h";

pub fn leave_screen() {
    let mut err = io::stderr();
    // Fails only where the terminal is gone.
    let _ = err.write_all(LEAVE_SCREEN.as_bytes()).and_then(|()| err.flush());
}
