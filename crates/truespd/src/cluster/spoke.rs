//! What every rank but rank 0 does: it says how far it is, and waits for the word of rank 0.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::link::{Link, Next};
use super::message::{Checked, Left, Letter, Message, Welcome};
use super::post::{Arrival, Leaving};
use truespd_core::load::ranks::{AgreedStart, CalledOff, Maker};
use truespd_core::result::{ClockOffset, CommonStart};

/// How long the comparison of the clocks after the load may take.
const CLOCK_PATIENCE: Duration = Duration::from_secs(3);
/// How long rank 0 may take to end this rank.
const ENDED_BY_RANK_0: Duration = Duration::from_secs(3);
/// How long rank 0 may take for the sum of all results, after this rank handed in its own: other ranks may
/// still wait for their last I/Os.
const SUM_PATIENCE: Duration = Duration::from_secs(300);

/// A rank that is not rank 0.
#[derive(Debug)]
pub struct Spoke {
    link: Link,
    /// Files of `-c` that another rank makes.
    left: Vec<Left>,
    made: BTreeSet<(u32, String)>,
    ready: BTreeMap<usize, (u64, ClockOffset)>,
    is_off: bool,
    /// Rank 0 is gone.
    is_alone: bool,
    exit_code: Option<u8>,
    /// Not all ranks are there to leave together.
    ends_alone: bool,
    /// The sum of the results of the present run, empty where there is none.
    sum: Option<Vec<u8>>,
}

impl Spoke {
    /// Says hello and waits for the welcome.
    ///
    /// # Errors
    /// The exit code of a refusal; none when rank 0 does not answer.
    pub fn greet(link: Link, hello: Message) -> Result<(Spoke, Welcome), Option<u8>> {
        let mut spoke = Spoke {
            link,
            left: Vec::new(),
            made: BTreeSet::new(),
            ready: BTreeMap::new(),
            is_off: false,
            is_alone: false,
            exit_code: None,
            ends_alone: false,
            sum: None,
        };
        spoke.link.send(0, hello);
        loop {
            match spoke.link.next(None, true) {
                Next::Arrival(Arrival::Letter {
                    letter: Letter { message: Message::Welcome(welcome), .. },
                    ..
                }) => {
                    return Ok((spoke, welcome));
                }
                Next::Arrival(arrival) => spoke.take(arrival),
                Next::Stopped => spoke.is_alone = true,
                Next::Late => {}
            }
            if spoke.exit_code.is_some() || spoke.is_alone {
                spoke.depart();
                return Err(spoke.exit_code);
            }
        }
    }

    /// Tells what the checks found, and waits for the decision.
    ///
    /// # Errors
    /// Somebody refuses.
    pub fn agree(&mut self, checked: Checked) -> Result<(), CalledOff> {
        self.link.send(0, Message::Checked(checked));
        loop {
            match self.link.next(None, true) {
                Next::Arrival(Arrival::Letter {
                    letter: Letter { message: Message::Go { left }, .. },
                    ..
                }) => {
                    self.left = left;
                    return Ok(());
                }
                Next::Arrival(arrival) => self.take(arrival),
                Next::Stopped => return Err(CalledOff),
                Next::Late => {}
            }
            self.check_on()?;
        }
    }

    /// Waits until another rank has made a file, when it does.
    ///
    /// # Errors
    /// The run is called off.
    pub fn turn_to_make(&mut self, typed: &str) -> Result<Maker, CalledOff> {
        let Some(left) = self.left.iter().find(|left| left.typed == typed).cloned() else {
            return Ok(Maker::This);
        };
        while !self.made.contains(&(left.maker, left.typed_by_maker.clone())) {
            match self.link.next(None, true) {
                Next::Arrival(arrival) => self.take(arrival),
                Next::Stopped => return Err(CalledOff),
                Next::Late => {}
            }
            self.check_on()?;
        }
        Ok(Maker::Another)
    }

    /// A file of `-c` was made here.
    pub fn has_made(&self, rank: u32, typed: &str) {
        self.link.send(0, Message::Made { rank, typed: typed.to_string() });
    }

    /// Says that the threads stand ready, and waits for the start.
    ///
    /// # Errors
    /// The run is called off or stopped.
    pub fn start(&mut self, time_span: usize) -> Result<AgreedStart, CalledOff> {
        self.link.send(0, Message::Ready { time_span });
        loop {
            if let Some((agreed_unix_ns, clock_before)) = self.ready.remove(&time_span) {
                let common = CommonStart { agreed_unix_ns, late_ns: 0, clock_before, clock_after: None };
                let unix_ns = agreed_unix_ns.saturating_add_signed(clock_before.ahead_ns);
                return Ok(AgreedStart { unix_ns, common });
            }
            match self.link.next(None, true) {
                Next::Arrival(arrival) => self.take(arrival),
                Next::Stopped => return Err(CalledOff),
                Next::Late => {}
            }
            self.check_on()?;
        }
    }

    /// The clock here beside that of rank 0, after the load; none when rank 0 does not answer.
    pub fn clock_after(&mut self) -> Option<ClockOffset> {
        self.link.send(0, Message::LoadIsOver);
        let deadline = Instant::now() + CLOCK_PATIENCE;
        loop {
            match self.link.next(Some(deadline), false) {
                Next::Arrival(Arrival::Letter {
                    letter: Letter { message: Message::ClockAfter(clock), .. },
                    ..
                }) => {
                    return Some(clock);
                }
                Next::Arrival(arrival) => self.take(arrival),
                Next::Late => return None,
                Next::Stopped => {}
            }
            if self.is_alone {
                return None;
            }
        }
    }

    /// Hands in the result.
    pub fn hand_in(&self, document: Option<Vec<u8>>, has_measured: bool, failures: Vec<String>) {
        let message = Message::Ended { has_measured, failures };
        let letter = Letter { message, tail: document.unwrap_or_default() };
        self.link.send_letter(0, letter);
    }

    /// Waits for the sum of all results, after this rank handed in its own; none where there is none.
    pub fn await_sum(&mut self) -> Option<Vec<u8>> {
        let deadline = Instant::now() + SUM_PATIENCE;
        loop {
            if let Some(sum) = self.sum.take() {
                // From here on everything belongs to the next run.
                (self.is_off, self.left) = (false, Vec::new());
                self.made.clear();
                self.ready.clear();
                return (!sum.is_empty()).then_some(sum);
            }
            if self.is_alone || self.exit_code.is_some() {
                return None;
            }
            match self.link.next(Some(deadline), false) {
                Next::Arrival(arrival) => self.take(arrival),
                Next::Late => return None,
                Next::Stopped => {}
            }
        }
    }

    /// Waits for the end of the run.
    pub fn await_end(&mut self) -> Option<u8> {
        let deadline = Instant::now() + SUM_PATIENCE;
        while self.exit_code.is_none() && !self.is_alone {
            match self.link.next(Some(deadline), false) {
                Next::Arrival(arrival) => self.take(arrival),
                Next::Late => break,
                Next::Stopped => {}
            }
        }
        self.depart();
        self.exit_code
    }

    /// Leaves the run.
    fn depart(&self) {
        self.link.send(0, Message::Gone);
        if self.exit_code.is_some() && !self.ends_alone {
            return self.link.leave(Leaving::InOrder);
        }
        self.link.leave(Leaving::Alone);
        // The launcher ends all ranks when the first of them goes. That is for rank 0, if it is there.
        if !self.is_alone {
            std::thread::sleep(ENDED_BY_RANK_0);
        }
    }

    fn check_on(&self) -> Result<(), CalledOff> {
        if self.is_off || self.is_alone || self.exit_code.is_some() { Err(CalledOff) } else { Ok(()) }
    }

    fn take(&mut self, arrival: Arrival) {
        match arrival {
            Arrival::Letter { letter: Letter { message, tail }, .. } => match message {
                Message::Refused { exit_code } => self.exit_code = Some(exit_code),
                Message::Bye { exit_code, in_order } => {
                    (self.exit_code, self.ends_alone) = (Some(exit_code), !in_order);
                }
                Message::Made { rank, typed } => drop(self.made.insert((rank, typed))),
                Message::Start { time_span, agreed_unix_ns, clock } => {
                    self.ready.insert(time_span, (agreed_unix_ns, clock));
                }
                Message::Off => self.is_off = true,
                Message::Sum => self.sum = Some(tail),
                _ => {}
            },
            // The post has ended the run of this rank.
            Arrival::Lost { .. } | Arrival::Broken(_) | Arrival::Left => self.is_alone = true,
            Arrival::Unreadable { .. } | Arrival::Compared(_) => {}
        }
    }
}
