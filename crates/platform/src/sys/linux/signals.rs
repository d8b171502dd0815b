//! Signals that ask this process to end, and those by which the kernel would end it for a failed write.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rustix::process::{Pid, Signal, getppid, kill_process, set_parent_process_death_signal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH};
use signal_hook::iterator::Signals;

/// A request to end the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndWish {
    /// The exit code of a process that it ends.
    pub exit_code: i32,
    /// The terminal is gone (SIGHUP). The kernel and the shell each send one, so a second one is no second wish.
    pub is_hangup: bool,
}

/// Gives the wish to a child of this process.
pub fn pass_on(wish: EndWish, child: u32) {
    let signal = Signal::from_named_raw(wish.exit_code - 128);
    let pid = i32::try_from(child).ok().and_then(Pid::from_raw);
    if let Some((signal, pid)) = signal.zip(pid) {
        // It fails only when the child has ended.
        let _ = kill_process(pid, signal);
    }
}

/// From now on this process is killed when its parent ends. False when that is not `parent` any more.
pub fn die_with(parent: u32) -> bool {
    // It cannot fail: the signal exists.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    let now = getppid().map(|pid| pid.as_raw_nonzero().get().cast_unsigned());
    now == Some(parent)
}

/// Requests of a person or a service to end the program (SIGINT, SIGTERM), or the end of its terminal (SIGHUP).
#[derive(Debug)]
pub struct EndWishes {
    signals: Signals,
}

impl EndWishes {
    /// From now on such a signal no longer ends the process; it is received by [`EndWishes::forever`]. A
    /// SIGHUP that the starter of this process had ignored (`nohup`) stays ignored.
    ///
    /// # Errors
    /// What the system says.
    pub fn receive() -> io::Result<EndWishes> {
        let hangup = (!is_ignored(SIGHUP)).then_some(SIGHUP);
        Ok(EndWishes { signals: Signals::new([SIGINT, SIGTERM].into_iter().chain(hangup))? })
    }

    /// Waits for each signal; ends never.
    pub fn forever(&mut self) -> impl Iterator<Item = EndWish> {
        self.signals.forever().map(|signal| EndWish { exit_code: 128 + signal, is_hangup: signal == SIGHUP })
    }
}

fn is_ignored(signal: libc::c_int) -> bool {
    // SAFETY: a plain C structure, for which zero is a value.
    let mut now: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: asks only; the structure outlives the call.
    let answer = unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut now) };
    answer == 0 && now.sa_sigaction == libc::SIG_IGN
}

/// What a program that fills the screen has to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScreenSignal {
    /// Somebody wants it to stop for a while (Ctrl+Z).
    Suspend,
    /// Somebody wants it to end.
    End,
    /// The terminal has another size.
    Resize,
}

/// Signals for a program that fills the screen.
#[derive(Debug)]
pub struct ScreenSignals {
    signals: Signals,
}

impl ScreenSignals {
    /// From now on they are received by [`ScreenSignals::forever`] only. In the background it may still restore the
    /// terminal.
    ///
    /// # Errors
    /// What the system says.
    pub fn receive() -> io::Result<ScreenSignals> {
        // SAFETY: no handler is installed, so nothing of this program runs in one.
        unsafe { libc::signal(libc::SIGTTOU, libc::SIG_IGN) };
        Ok(ScreenSignals { signals: Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGWINCH])? })
    }

    /// Waits for each signal; ends never.
    pub fn forever(&mut self) -> impl Iterator<Item = ScreenSignal> {
        self.signals.forever().map(|signal| match signal {
            SIGTSTP => ScreenSignal::Suspend,
            SIGWINCH => ScreenSignal::Resize,
            _ => ScreenSignal::End,
        })
    }
}

/// Wishes to stop this process for a while (Ctrl+Z), for who has something to do before.
#[derive(Debug)]
pub struct SuspendWishes {
    signals: Signals,
}

impl SuspendWishes {
    /// From now on such a signal does nothing but come out of [`SuspendWishes::forever`]. None where the
    /// starter of this process had them ignored.
    ///
    /// # Errors
    /// What the system says.
    pub fn receive() -> io::Result<Option<SuspendWishes>> {
        if is_ignored(SIGTSTP) {
            return Ok(None);
        }
        Ok(Some(SuspendWishes { signals: Signals::new([SIGTSTP])? }))
    }

    /// Waits for each signal; ends never.
    pub fn forever(&mut self) -> impl Iterator<Item = ()> {
        self.signals.forever().map(|_| ())
    }
}

/// Stops this process, as Ctrl+Z does without a handler; returns when it is continued. The kernel does not
/// stop a process that nobody could continue.
pub fn suspend_this_process() {
    // SAFETY: plain C structures, for which zero is a value; SIG_DFL runs nothing of this program; the handler that was
    // there is put back as it was.
    unsafe {
        let mut handled: libc::sigaction = std::mem::zeroed();
        let default: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(SIGTSTP, &raw const default, &raw mut handled) == 0 {
            libc::raise(SIGTSTP);
            libc::sigaction(SIGTSTP, &raw const handled, std::ptr::null_mut());
        }
    }
}

/// Asks a child of this process to leave the terminal to others for a while.
pub fn ask_to_suspend(child: u32) {
    if let Some(pid) = i32::try_from(child).ok().and_then(Pid::from_raw) {
        // It fails only when the child has ended.
        let _ = kill_process(pid, Signal::TSTP);
    }
}

/// A write beyond the limit of file sizes (`ulimit -f`) fails with an error instead of ending this process by SIGXFSZ.
pub fn survive_file_size_limit() {
    // SAFETY: no handler is installed, so nothing of this program runs in one. It cannot fail: the signal
    // exists and may be ignored.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// Makes this process ignore the signals by which a terminal or a service ends programs.
///
/// # Errors
/// What the system says.
pub fn ignore_ends() -> io::Result<()> {
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        // A flag that nobody reads: the signal has no effect.
        signal_hook::flag::register(signal, Arc::<AtomicBool>::default())?;
    }
    Ok(())
}

/// Leaves the session of the terminal, whose signals then do not arrive.
pub fn leave_session() {
    // Refused only for the leader of a process group, which a child is not by itself.
    let _ = rustix::process::setsid();
}

/// Waits until a signal handler has run.
pub fn wait_for_any() {
    // SAFETY: takes nothing; returns after a signal handler has run.
    unsafe { libc::pause() };
}
