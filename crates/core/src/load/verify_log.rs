//! The log of a verified test (`--verify-log`): a file on another disk, or one on another host that `ssh` writes.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::{self, JoinHandle};

use crate::verify::checker::Entry;
use crate::verify::log::{self, Durable, FIRST_LINE};
use crate::verify::{self, BlockMap, Fits, MapError, MapHeader, PlaceError};
use truespd_platform::fault::{Failure, FailureKind};
use truespd_platform::sys::error::system_text;
use truespd_platform::sys::events::Latch;

/// Where a log is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogPlace {
    /// A file of this machine.
    File(PathBuf),
    /// A file of another host, as `ssh` knows that.
    Host {
        /// The host, with the user before it where that is needed.
        host: String,
        /// The path of the file there, as a shell of that host finds it.
        file: String,
    },
}

/// What is done when the log goes away while the test runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogLost {
    /// The run ends, and fails.
    #[default]
    Stop,
    /// The run goes on without it.
    Continue,
}

/// Entries that wait for a log before threads wait for it.
const WAITING: usize = 1024;
/// So many blocks are told at once after the test.
const PART_BLOCKS: usize = 4096;
/// Ends a connection that says nothing for so long: 3 times 5 s.
const SSH_OPTIONS: [&str; 4] =
    ["BatchMode=yes", "ConnectTimeout=10", "ServerAliveInterval=5", "ServerAliveCountMax=3"];
/// What the other host says when the file is open.
const READY: &str = "ready";
/// Why a file is not written.
const TAKEN: &str = "the file exists and is not a log; it was not touched";

impl LogPlace {
    /// `HOST:FILE` names another host where no `/` stands before the colon, as for `scp`.
    pub fn of(typed: &str) -> Self {
        match typed.split_once(':') {
            Some((host, file)) if !host.is_empty() && !host.contains('/') && !file.is_empty() => {
                LogPlace::Host { host: host.to_string(), file: file.to_string() }
            }
            _ => LogPlace::File(PathBuf::from(typed)),
        }
    }

    /// As the person calls it.
    pub fn typed(&self) -> String {
        match self {
            LogPlace::File(path) => path.display().to_string(),
            LogPlace::Host { host, file } => format!("{host}:{file}"),
        }
    }

    /// What must be there by this log. `fits` is asked first whether its header belongs to the target.
    ///
    /// # Errors
    /// [`MapError`] when it cannot be read, is none, or is damaged; what `fits` says.
    pub fn read(&self, fits: Fits<'_>) -> Result<BlockMap, MapError> {
        let place = PathBuf::from(self.typed());
        match self {
            LogPlace::File(path) => {
                let about = fs::metadata(path).map_err(|error| log::unread(&place, error))?;
                // A pipe would wait for somebody who writes, and a device may never end.
                if !about.is_file() {
                    return Err(MapError::NoFile { path: place });
                }
                let file = File::open(path).map_err(|error| log::unread(&place, error))?;
                log::read(&place, &mut BufReader::new(file), fits)
            }
            LogPlace::Host { host, file } => {
                let mut ssh = ssh(host, &format!("cat -- {}", quoted(file)));
                ssh.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
                let mut child = ssh.spawn().map_err(|error| log::unread(&place, error))?;
                let output = child.stdout.take().expect("it is piped");
                let map = log::read(&place, &mut BufReader::new(output), fits);
                if let Err(MapError::DamagedLog { .. } | MapError::Unlike(_)) = map {
                    // It was not read to its end, so ssh was cut off.
                    let _ = child.wait();
                    return map;
                }
                // What ssh did not bring whole is no log, whatever it looks like.
                ended(child).map_err(|error| log::unread(&place, error))?;
                map
            }
        }
    }
}

/// Waits until ssh has ended; an error with what it said where it failed.
fn ended(child: Child) -> io::Result<()> {
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().rev().find(|line| !line.trim().is_empty());
    Err(io::Error::other(match last {
        Some(line) => format!("ssh says: {}", line.trim()),
        None => format!("ssh ended with {}", output.status),
    }))
}

fn ssh(host: &str, command: &str) -> Command {
    let mut ssh = Command::new("ssh");
    for option in SSH_OPTIONS {
        ssh.args(["-o", option]);
    }
    ssh.args(["--", host, command]);
    ssh
}

/// A word of the shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

enum Sink {
    File(File),
    Ssh { child: Child, lines: ChildStdin },
}

impl Sink {
    fn open(place: &LogPlace) -> io::Result<Self> {
        match place {
            LogPlace::File(path) => {
                let made = verify::make(path, FIRST_LINE);
                Ok(Sink::File(made.map_err(|why| match why {
                    PlaceError::Taken => io::Error::other(TAKEN),
                    PlaceError::InUse => io::Error::other("the test that writes it still runs"),
                    PlaceError::Lost(lost) => io::Error::other(lost),
                })?))
            }
            LogPlace::Host { host, file } => Sink::open_there(host, file),
        }
    }

    fn open_there(host: &str, file: &str) -> io::Result<Self> {
        let (file, first_line, taken) = (quoted(file), quoted(FIRST_LINE.trim_end()), quoted(TAKEN));
        let command = format!(
            "if [ -e {file} ] && [ \"$(head -n 1 -- {file})\" != {first_line} ]; then echo {taken} >&2; exit 1; fi; \
             : >{file} || exit 1; echo {READY}; exec cat >{file}"
        );
        let mut ssh = ssh(host, &command);
        let mut child = ssh.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("it is piped")).read_line(&mut line)?;
        if line.trim_end() == READY {
            let lines = child.stdin.take().expect("it is piped");
            return Ok(Sink::Ssh { child, lines });
        }
        ended(child)?;
        Err(io::Error::other("ssh ended without a word"))
    }

    /// Writes with `write`, and waits until it is stored where that is this machine's to say.
    fn put(&mut self, write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        match self {
            Sink::File(file) => {
                write(file)?;
                file.sync_data()
            }
            Sink::Ssh { lines, .. } => write(lines),
        }
    }

    /// Why a write failed: ssh knows it, and its pipe says only that ssh has gone.
    fn why(self, error: io::Error) -> io::Error {
        match self.close() {
            Err(said) => said,
            Ok(()) => error,
        }
    }

    fn close(self) -> io::Result<()> {
        let Sink::Ssh { child, lines } = self else { return Ok(()) };
        drop(lines);
        ended(child)
    }
}

/// A log that a run writes.
#[derive(Debug)]
pub struct Log {
    entries: SyncSender<Entry>,
    thread: JoinHandle<io::Result<()>>,
    typed: String,
    lost: LogLost,
}

impl Log {
    /// Opens it, and writes its begin. `stop` is set when it is lost and that ends the run.
    ///
    /// # Errors
    /// A place that cannot be written.
    pub fn open(place: &LogPlace, lost: LogLost, header: &MapHeader, stop: Latch) -> Result<Self, Failure> {
        let typed = place.typed();
        let opened = Sink::open(place).and_then(|mut sink| {
            sink.put(&mut |out| log::begin(out, header))?;
            let (entries, told) = sync_channel(WAITING);
            let name = thread::Builder::new().name("verify-log".to_string());
            let thread = name.spawn(move || {
                let written = write_all(sink, &told);
                if written.is_err() && lost == LogLost::Stop {
                    stop.set();
                }
                written
            })?;
            Ok((entries, thread))
        });
        let (entries, thread) = opened.map_err(|error| {
            Failure::new(FailureKind::Open, format!("could not write the log '{typed}' (--verify-log)"))
                .because(system_text(&error))
                .hint("the test did not begin; name another place")
        })?;
        Ok(Log { entries, thread, typed, lost })
    }

    /// Where threads tell it what is durable.
    pub fn entries(&self) -> SyncSender<Entry> {
        self.entries.clone()
    }

    /// Tells it that all of this is durable.
    pub fn tell_all(&self, durable: impl Iterator<Item = Durable>) {
        let mut durable = durable.peekable();
        while durable.peek().is_some() {
            let part = durable.by_ref().take(PART_BLOCKS).collect();
            if self.entries.send(Entry::Durable(part)).is_err() {
                return;
            }
        }
    }

    /// Writes what is still to be written, and closes it. The words tell what was lost where the run went on.
    ///
    /// # Errors
    /// The log was lost, and that ended the run.
    pub fn close(self) -> Result<Option<String>, Failure> {
        // Where the other end is gone, the thread has ended as well.
        let _ = self.entries.send(Entry::End);
        let written = self.thread.join().unwrap_or_else(|_| Err(io::Error::other("its thread panicked")));
        let Err(error) = written else { return Ok(None) };
        let words = format!("the log '{}' (--verify-log) was lost while the test ran", self.typed);
        match self.lost {
            LogLost::Stop => {
                let failure = Failure::new(FailureKind::Lost, format!("{words}, so the test was stopped"));
                Err(failure
                    .because(system_text(&error))
                    .hint("--verify-log-lost continue goes on without it"))
            }
            LogLost::Continue => {
                Ok(Some(format!("{words} ({}); it knows nothing of later writes", system_text(&error))))
            }
        }
    }
}

/// Writes entries until the end of them.
fn write_all(mut sink: Sink, told: &Receiver<Entry>) -> io::Result<()> {
    while let Ok(Entry::Durable(mut durable)) = told.recv() {
        // What has come meanwhile is one part, so that a slow place is asked seldom.
        let mut last = told.try_recv();
        while let Ok(Entry::Durable(more)) = last {
            durable.extend(more);
            if durable.len() > log::PART_BLOCKS_MAX / 2 {
                last = Err(TryRecvError::Empty);
                break;
            }
            last = told.try_recv();
        }
        if let Err(error) = sink.put(&mut |out| log::tell(out, &durable)) {
            return Err(sink.why(error));
        }
        if !matches!(last, Err(TryRecvError::Empty)) {
            break;
        }
    }
    sink.close()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_stands_before_a_colon() {
        for (typed, host) in [
            ("box:/var/log/f", Some("box")),
            ("root@box:f", Some("root@box")),
            ("./box:f", None),
            ("/a/b:c", None),
            ("f", None),
            (":f", None),
            ("box:", None),
        ] {
            let place = LogPlace::of(typed);
            let found = match &place {
                LogPlace::Host { host, .. } => Some(host.as_str()),
                LogPlace::File(_) => None,
            };
            assert_eq!((found, place.typed().as_str()), (host, typed));
        }
    }

    #[test]
    fn a_shell_takes_any_name_as_one_word() {
        let name = "it's a $(touch x) \"log\"";
        let said = Command::new("sh").args(["-c", &format!("printf %s {}", quoted(name))]).output().unwrap();
        assert_eq!(String::from_utf8(said.stdout).unwrap(), name);
    }
}
