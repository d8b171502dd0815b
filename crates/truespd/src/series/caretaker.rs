//! A process that outlives the program and undoes what a killed program left.
//!
//! It is the program's own executable with other arguments. The program holds the write end of its standard
//! input; when that closes, the program has ended. It has a session of its own, so that signals to the
//! program's group do not reach it.

use std::ffi::OsStr;
use std::io::{self, BufRead, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::series::undo::{Undone, undo_abandoned};
use truespd_core::sys::signals;

/// What the program sends when it has undone everything itself.
const DISMISSED: &[u8] = b"done\n";
/// What the caretaker sends when no signal can end it any more.
const READY: &str = "ready";

/// The program's side.
#[derive(Debug)]
pub struct Caretaker {
    child: Child,
}

impl Caretaker {
    /// Starts `program` with the arguments `words` and the path of the journal; it has to call [`live`].
    /// Returns when it is ready.
    ///
    /// # Errors
    /// The system's error, or that it ended at once.
    pub fn start(program: &Path, words: &[&str], journal: &Path) -> io::Result<Self> {
        let mut child = Command::new(program)
            .args(words.iter().map(OsStr::new))
            .arg(journal)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        let out = child.stdout.take().expect("piped");
        io::BufReader::new(out).read_line(&mut line)?;
        if line.trim() != READY {
            let _ = child.wait();
            return Err(io::Error::other("it ended at once"));
        }
        Ok(Caretaker { child })
    }

    /// Ends it: nothing is left to undo.
    pub fn dismiss(mut self) {
        if let Some(mut input) = self.child.stdin.take() {
            // If this fails, it has ended already.
            let _ = input.write_all(DISMISSED);
        }
        let _ = self.child.wait();
    }
}

/// The caretaker's side: waits until the program has ended and undoes what its journal holds.
///
/// # Errors
/// When signals cannot be ignored.
pub fn live(journal: &Path) -> io::Result<Vec<Undone>> {
    signals::ignore_ends()?;
    signals::leave_session();
    {
        let mut out = io::stdout().lock();
        // If nobody reads, the program has ended, which the read below shows.
        let _ = writeln!(out, "{READY}").and_then(|()| out.flush());
    }
    let mut said = Vec::new();
    // Interrupted reads are repeated. A failing one means the same as the end: the program is gone.
    let _ = io::stdin().lock().read_to_end(&mut said);
    Ok(if said == DISMISSED { Vec::new() } else { undo_abandoned(journal) })
}
