//! The thread that has the transport: it carries letters, answers pings, and notices who has fallen silent.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::message::{Letter, Message};
use super::progress::{RankProgress, ReportedProgress};
use super::transport::{Threads, Transport, TransportError};
use truespd_core::result::ClockOffset;
use truespd_platform::machine::host::unix_time_ns;
use truespd_platform::sys::events::Latch;

/// How often a rank says that it is alive.
const ALIVE_EVERY: Duration = Duration::from_secs(1);
/// How long a letter may lie before it is taken, outside of a run.
const PROMPT: Duration = Duration::from_millis(1);
/// The same while the load runs: the processors are the load's, and each look takes 10 to 50 us of one.
const SELDOM: Duration = Duration::from_millis(50);
/// How long letters are waited for without sleeping after a ping: the next ping comes soon.
const EAGER: Duration = Duration::from_millis(3);
/// How long an answer to a ping may take.
const PONG_PATIENCE: Duration = Duration::from_millis(500);
/// How long a rank may take to answer that it stops: less than `mpirun` takes from SIGTERM to SIGKILL.
const STOP_PATIENCE: Duration = Duration::from_millis(400);
/// What this rank has written passes the launcher, which the end of all ranks may overtake (MPICH).
const OUTPUT_ARRIVES: Duration = Duration::from_millis(500);
/// How long the last letters may take to leave.
const LEAVE_PATIENCE: Duration = Duration::from_secs(2);

/// What this rank wants of its post.
#[derive(Debug)]
pub enum Command {
    Send {
        to: u32,
        letter: Letter,
    },
    /// Send this to all others.
    Broadcast(Message),
    /// Compare the clocks of these ranks with the one here.
    Compare(Vec<u32>),
    /// No rank is to be waited for any more.
    Forget(u32),
    Leave(Leaving),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaving {
    /// Together with all others: the transport itself ends.
    InOrder,
    /// Rank 0 ends all that are left, with this exit code.
    EndAll(u8),
    /// Without a word to the transport.
    Alone,
}

/// What the post has for this rank.
#[derive(Debug)]
pub enum Arrival {
    Letter {
        from: u32,
        letter: Letter,
    },
    /// A letter that this version does not understand.
    Unreadable {
        from: u32,
    },
    /// Nothing was heard of a rank for too long.
    Lost {
        rank: u32,
        /// When it was heard last, by the wall clock here.
        last_heard_unix_ns: u64,
    },
    /// The clocks of the ranks asked for; none of a rank that did not answer.
    Compared(Vec<(u32, Option<ClockOffset>)>),
    /// The transport does not work any more.
    Broken(TransportError),
    Left,
}

/// What the post and the other threads of this rank share.
#[derive(Debug)]
pub struct Shared {
    /// Ends the run of this rank.
    pub stop: Latch,
    pub is_running: AtomicBool,
    /// What the other ranks told of their progress; on rank 0.
    progress: Mutex<ReportedProgress>,
}

impl Shared {
    pub fn new(stop: Latch) -> Self {
        Shared { stop, is_running: AtomicBool::new(false), progress: Mutex::default() }
    }

    /// What the other ranks told of their progress.
    pub fn reported(&self) -> MutexGuard<'_, ReportedProgress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last progress of the other ranks in a time span (from 1).
    pub fn progress(&self, time_span: usize) -> BTreeMap<u32, RankProgress> {
        self.reported().in_time_span(time_span, Instant::now())
    }
}

/// Another rank, as the post knows it.
#[derive(Debug, Clone, Copy)]
struct Other {
    heard: Instant,
    heard_unix_ns: u64,
    /// It said that it leaves, or is not waited for any more.
    is_done: bool,
}

/// The post of one rank.
pub struct Post<'a> {
    transport: Box<dyn Transport>,
    commands: &'a Receiver<Command>,
    arrivals: &'a Sender<Arrival>,
    shared: &'a Shared,
    patience: Duration,
    others: BTreeMap<u32, Other>,
    alive_due: Instant,
    eager_until: Instant,
    /// When rank 0 told the others to stop.
    told_stop: Option<Instant>,
}

/// The post ends because nobody is there to serve, or the transport is broken.
enum Over {
    Broken(TransportError),
    Nobody,
}

impl From<TransportError> for Over {
    fn from(error: TransportError) -> Self {
        Over::Broken(error)
    }
}

impl<'a> Post<'a> {
    /// A rank that is silent for longer than `patience` is lost.
    pub fn new(
        transport: Box<dyn Transport>,
        commands: &'a Receiver<Command>,
        arrivals: &'a Sender<Arrival>,
        shared: &'a Shared,
        patience: Duration,
    ) -> Self {
        let now = Instant::now();
        let other = Other { heard: now, heard_unix_ns: wall_ns(), is_done: false };
        // Rank 0 hears all, all hear rank 0.
        let ranks = if transport.rank() == 0 { 1..transport.ranks() } else { 0..1 };
        Post {
            others: ranks.map(|rank| (rank, other)).collect(),
            transport,
            commands,
            arrivals,
            shared,
            patience,
            alive_due: now,
            eager_until: now,
            told_stop: None,
        }
    }

    /// Serves until this rank wants to leave.
    pub fn serve(mut self) {
        let over = loop {
            match self.turn() {
                Ok(None) => {}
                Ok(Some(leaving)) => break self.leave(leaving),
                Err(over) => break Err(over),
            }
        };
        if let Err(Over::Broken(error)) = over {
            if self.transport.rank() != 0 {
                self.shared.stop.set();
            }
            let _ = self.arrivals.send(Arrival::Broken(error));
        }
        let _ = self.arrivals.send(Arrival::Left);
        // A transport that was not left in order may wait for ranks that are gone when it is dropped.
        std::mem::forget(self.transport);
    }

    /// One look at everything; whether to leave, and how.
    fn turn(&mut self) -> Result<Option<Leaving>, Over> {
        loop {
            match self.commands.try_recv() {
                Ok(Command::Leave(leaving)) => return Ok(Some(leaving)),
                Ok(command) => self.obey(command)?,
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => return Err(Over::Nobody),
            }
        }
        let is_running = self.shared.is_running.load(Ordering::Relaxed);
        let wait = if Instant::now() < self.eager_until {
            Duration::ZERO
        } else if is_running {
            SELDOM
        } else {
            PROMPT
        };
        match self.transport.receive(wait)? {
            Some((from, bytes)) => self.take(from, &bytes, wall_ns())?,
            None if wait.is_zero() => std::thread::yield_now(),
            None => {}
        }
        self.look_around()?;
        Ok(None)
    }

    fn obey(&mut self, command: Command) -> Result<(), Over> {
        match command {
            Command::Send { to, letter } => self.transport.send(to, letter.bytes())?,
            Command::Broadcast(message) => self.broadcast(message)?,
            Command::Compare(ranks) => {
                let mut all = Vec::with_capacity(ranks.len());
                for rank in ranks {
                    all.push((rank, self.compare(rank)?));
                }
                self.deliver(Arrival::Compared(all))?;
            }
            Command::Forget(rank) => {
                self.transport.give_up(rank);
                if let Some(other) = self.others.get_mut(&rank) {
                    other.is_done = true;
                }
            }
            Command::Leave(_) => {}
        }
        Ok(())
    }

    fn deliver(&self, arrival: Arrival) -> Result<(), Over> {
        self.arrivals.send(arrival).map_err(|_| Over::Nobody)
    }

    fn say(&mut self, to: u32, message: Message) -> Result<(), Over> {
        Ok(self.transport.send(to, Letter::from(message).bytes())?)
    }

    fn broadcast(&mut self, message: Message) -> Result<(), Over> {
        let bytes = Letter::from(message).bytes();
        let there = self.others.iter().filter(|(_, other)| !other.is_done);
        for rank in there.map(|(rank, _)| *rank).collect::<Vec<_>>() {
            self.transport.send(rank, bytes.clone())?;
        }
        Ok(())
    }

    /// A letter that came at `now_ns`.
    fn take(&mut self, from: u32, bytes: &[u8], now_ns: u64) -> Result<(), Over> {
        if let Some(other) = self.others.get_mut(&from) {
            (other.heard, other.heard_unix_ns) = (Instant::now(), now_ns);
        }
        let Some(letter) = Letter::read(bytes) else { return self.deliver(Arrival::Unreadable { from }) };
        let is_hub = self.transport.rank() == 0;
        match letter.message {
            Message::Alive | Message::Pong { .. } => Ok(()),
            Message::Ping { sent_unix_ns } => {
                self.eager_until = Instant::now() + EAGER;
                let answered_unix_ns = wall_ns();
                self.say(from, Message::Pong { sent_unix_ns, received_unix_ns: now_ns, answered_unix_ns })
            }
            Message::Stop => {
                self.shared.stop.set();
                self.say(from, Message::Alive)
            }
            Message::Progress(progress) => {
                self.shared.reported().take(from, progress, Instant::now());
                Ok(())
            }
            Message::LoadIsOver if is_hub => match self.compare(from)? {
                Some(offset) => self.say(from, Message::ClockAfter(offset)),
                None => Ok(()),
            },
            Message::Made { .. } if is_hub => {
                self.broadcast(letter.message.clone())?;
                self.deliver(Arrival::Letter { from, letter })
            }
            Message::Gone => {
                if let Some(other) = self.others.get_mut(&from) {
                    other.is_done = true;
                }
                self.deliver(Arrival::Letter { from, letter })
            }
            _ => self.deliver(Arrival::Letter { from, letter }),
        }
    }

    /// Says that this rank is alive, passes on the wish to stop, and notices who is silent.
    fn look_around(&mut self) -> Result<(), Over> {
        let now = Instant::now();
        if self.transport.rank() == 0 && self.shared.stop.is_set() {
            match self.told_stop {
                None => {
                    self.told_stop = Some(now);
                    self.broadcast(Message::Stop)?;
                }
                // Who stops the run, or ends it by mpirun, does not wait for ranks that are gone.
                Some(told) if now.saturating_duration_since(told) > STOP_PATIENCE => {
                    self.lose(|other| other.heard < told)?;
                }
                Some(_) => {}
            }
        }
        if now < self.alive_due {
            return Ok(());
        }
        self.alive_due = now + ALIVE_EVERY;
        self.broadcast(Message::Alive)?;
        let patience = self.patience;
        self.lose(|other| now.saturating_duration_since(other.heard) > patience)
    }

    /// Reports the ranks that are lost by this rule.
    fn lose(&mut self, is_lost: impl Fn(&Other) -> bool) -> Result<(), Over> {
        let mut lost = Vec::new();
        for (rank, other) in &mut self.others {
            if !other.is_done && is_lost(other) {
                other.is_done = true;
                // Without rank 0, nobody adds up what this rank would measure.
                if *rank == 0 {
                    self.shared.stop.set();
                }
                lost.push(Arrival::Lost { rank: *rank, last_heard_unix_ns: other.heard_unix_ns });
            }
        }
        lost.into_iter().try_for_each(|arrival| self.deliver(arrival))
    }

    /// The clock of a rank beside the one here; none when it does not answer.
    fn compare(&mut self, rank: u32) -> Result<Option<ClockOffset>, Over> {
        let mut trips = Vec::new();
        for _ in 0..ROUNDS {
            let sent_ns = wall_ns();
            self.say(rank, Message::Ping { sent_unix_ns: sent_ns })?;
            match self.pong(rank, sent_ns)? {
                Some(trip) => trips.push(trip),
                None => break,
            }
        }
        Ok(best(&trips))
    }

    /// Waits for the answer to a ping; takes what else comes meanwhile.
    fn pong(&mut self, rank: u32, sent_ns: u64) -> Result<Option<RoundTrip>, Over> {
        let deadline = Instant::now() + PONG_PATIENCE;
        let mut later = Vec::new();
        let trip = loop {
            let Some((from, bytes)) = self.transport.receive(Duration::ZERO)? else {
                if Instant::now() > deadline {
                    break None;
                }
                std::thread::yield_now();
                continue;
            };
            let returned_ns = wall_ns();
            match Letter::read(&bytes).map(|letter| letter.message) {
                Some(Message::Pong { sent_unix_ns, received_unix_ns, answered_unix_ns })
                    if from == rank && sent_unix_ns == sent_ns =>
                {
                    break Some(RoundTrip {
                        sent_ns,
                        received_ns: received_unix_ns,
                        answered_ns: answered_unix_ns,
                        returned_ns,
                    });
                }
                _ => later.push((from, bytes, returned_ns)),
            }
        };
        for (from, bytes, at_ns) in later {
            self.take(from, &bytes, at_ns)?;
        }
        Ok(trip)
    }

    /// Waits until the last letters have left.
    fn leave(&mut self, leaving: Leaving) -> Result<(), Over> {
        let deadline = Instant::now() + LEAVE_PATIENCE;
        while !self.transport.is_sent() && Instant::now() < deadline {
            // Receiving moves on what is being sent.
            let _ = self.transport.receive(PROMPT)?;
        }
        let transport = std::mem::replace(&mut self.transport, Box::new(Threads::alone()));
        match leaving {
            Leaving::InOrder => transport.leave()?,
            Leaving::EndAll(exit_code) => {
                std::thread::sleep(OUTPUT_ARRIVES);
                transport.abort(exit_code);
            }
            Leaving::Alone => std::mem::forget(transport),
        }
        Ok(())
    }
}

/// Nanoseconds since 1970 UTC.
pub fn wall_ns() -> u64 {
    unix_time_ns().unwrap_or(0)
}

/// How often a wait looks whether the run is to stop.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long the post may take to end. Everything is written by then, and MPICH before 4.2 may hang in its end.
const POST_PATIENCE: Duration = Duration::from_secs(3);

/// How a rank reaches its post.
#[derive(Debug)]
pub struct Link {
    pub commands: Sender<Command>,
    pub arrivals: Receiver<Arrival>,
    pub shared: Arc<Shared>,
}

pub enum Next {
    Arrival(Arrival),
    /// The run is to stop.
    Stopped,
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

    pub fn send(&self, to: u32, message: Message) {
        self.send_letter(to, message.into());
    }

    pub fn send_letter(&self, to: u32, letter: Letter) {
        self.command(Command::Send { to, letter });
    }

    /// Sends a message to all others.
    pub fn broadcast(&self, message: Message) {
        self.command(Command::Broadcast(message));
    }

    pub fn leave(&self, leaving: Leaving) {
        self.command(Command::Leave(leaving));
        let deadline = Instant::now() + POST_PATIENCE;
        while !matches!(self.next(Some(deadline), false), Next::Late | Next::Arrival(Arrival::Left)) {}
    }
}

/// Round trips for one comparison: the quickest counts.
const ROUNDS: u32 = 12;

/// One round trip, four instants in nanoseconds since 1970 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct RoundTrip {
    /// Sent, by the clock here.
    sent_ns: u64,
    /// Received there, by the clock there.
    received_ns: u64,
    /// Answered, by the clock there.
    answered_ns: u64,
    /// The answer came, by the clock here.
    returned_ns: u64,
}

impl RoundTrip {
    /// Time on the way, both ways together.
    fn way_ns(self) -> u64 {
        let whole = self.returned_ns.saturating_sub(self.sent_ns);
        whole.saturating_sub(self.answered_ns.saturating_sub(self.received_ns))
    }

    /// How much the clock there is ahead of the clock here. The true value is within half the way, however the way is
    /// shared between there and back (RFC 5905, section 8).
    fn offset(self) -> ClockOffset {
        let there = i128::from(self.received_ns) + i128::from(self.answered_ns);
        let twice = there - i128::from(self.sent_ns) - i128::from(self.returned_ns);
        ClockOffset {
            ahead_ns: i64::try_from(twice.div_euclid(2)).unwrap_or(i64::MAX),
            uncertainty_ns: self.way_ns().div_ceil(2),
            at_unix_ns: self.returned_ns,
        }
    }
}

/// The best of several round trips.
fn best(trips: &[RoundTrip]) -> Option<ClockOffset> {
    trips.iter().min_by_key(|trip| trip.way_ns()).map(|trip| trip.offset())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_quick_round_trip_tells_more_than_a_slow_one() {
        // The clock there is 1000 ns ahead; one trip was slow on the way back.
        let slow = RoundTrip { sent_ns: 0, received_ns: 1_100, answered_ns: 1_150, returned_ns: 5_150 };
        let quick =
            RoundTrip { sent_ns: 10_000, received_ns: 11_100, answered_ns: 11_150, returned_ns: 10_250 };
        let offset = best(&[slow, quick]).expect("two trips");
        assert_eq!((offset.ahead_ns, offset.uncertainty_ns, offset.at_unix_ns), (1_000, 100, 10_250));
        assert_eq!(best(&[]), None);
    }

    proptest! {
        #[test]
        fn the_truth_is_within_the_uncertainty(
            ahead in -2_000_000_000i64..2_000_000_000,
            there in 0u64..1_000_000,
            back in 0u64..1_000_000,
            thinks in 0u64..1_000_000,
        ) {
            let sent_ns = 1_800_000_000_000_000_000u64;
            let received_ns = (sent_ns + there).saturating_add_signed(ahead);
            let trip = RoundTrip {
                sent_ns,
                received_ns,
                answered_ns: received_ns + thinks,
                returned_ns: sent_ns + there + thinks + back,
            };
            let offset = trip.offset();
            prop_assert!(offset.ahead_ns.abs_diff(ahead) <= offset.uncertainty_ns + 1);
            prop_assert_eq!(trip.way_ns(), there + back);
        }
    }
}
