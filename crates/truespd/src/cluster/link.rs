//! How the threads of a rank reach its post.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use super::message::{Letter, Message};
use super::post::{Arrival, Command, Leaving, Shared};

/// How often a wait looks whether the run is to stop.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long the post may take to end. Everything is written by then, and MPICH before 4.2 may hang in its end.
const POST_PATIENCE: Duration = Duration::from_secs(3);

/// How a rank reaches its post.
#[derive(Debug)]
pub struct Link {
    /// To the post.
    pub commands: Sender<Command>,
    /// From the post.
    pub arrivals: Receiver<Arrival>,
    /// What both see.
    pub shared: Arc<Shared>,
}

/// How a wait ended.
pub enum Next {
    /// Something came.
    Arrival(Arrival),
    /// The run is to stop.
    Stopped,
    /// Nothing came in time.
    Late,
}

impl Link {
    /// The next arrival, until the deadline, and until the run is to stop if that is heeded.
    pub fn next(&self, deadline: Option<Instant>, heeds_stop: bool) -> Next {
        loop {
            match self.arrivals.recv_timeout(LOOK_EVERY) {
                Ok(arrival) => return Next::Arrival(arrival),
                Err(RecvTimeoutError::Disconnected) => return Next::Arrival(Arrival::Left),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if heeds_stop && self.shared.stop.is_set() {
                return Next::Stopped;
            }
            if deadline.is_some_and(|deadline| Instant::now() > deadline) {
                return Next::Late;
            }
        }
    }

    /// For the post. One that has ended needs no command.
    pub fn command(&self, command: Command) {
        let _ = self.commands.send(command);
    }

    /// Sends a message.
    pub fn send(&self, to: u32, message: Message) {
        self.send_letter(to, message.into());
    }

    /// Sends a letter.
    pub fn send_letter(&self, to: u32, letter: Letter) {
        self.command(Command::Send { to, letter });
    }

    /// Sends a message to all others.
    pub fn broadcast(&self, message: Message) {
        self.command(Command::Broadcast(message));
    }

    /// Ends the post.
    pub fn leave(&self, leaving: Leaving) {
        self.command(Command::Leave(leaving));
        let deadline = Instant::now() + POST_PATIENCE;
        while !matches!(self.next(Some(deadline), false), Next::Late | Next::Arrival(Arrival::Left)) {}
    }
}
