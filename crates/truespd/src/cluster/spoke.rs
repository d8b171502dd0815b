//! What every rank but rank 0 does: it says how far it is, and waits for the word of rank 0.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use super::message::{Checked, Left, Letter, Message, Welcome};
use super::post::{Arrival, Leaving, Link, Next};
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
    welcome: Option<Welcome>,
    /// The decision to start, with the files of `-c` that another rank makes.
    go: Option<Vec<Left>>,
    clock_after: Option<ClockOffset>,
    /// Files of `-c` that another rank makes.
    left: Vec<Left>,
    made: BTreeSet<(u32, String)>,
    ready: BTreeMap<usize, (u64, ClockOffset)>,
    is_off: bool,
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
            welcome: None,
            go: None,
            clock_after: None,
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
        match spoke.wait_for(None, true, |spoke| spoke.welcome.take()) {
            Some(welcome) => Ok((spoke, welcome)),
            None => {
                spoke.is_alone |= spoke.exit_code.is_none();
                spoke.depart();
                Err(spoke.exit_code)
            }
        }
    }

    /// Takes what comes until `found` has what is waited for; nothing after the deadline, or when rank 0 ends this rank
    /// or is gone. What is a part of the run itself also ends when the run is stopped or called off.
    fn wait_for<T>(
        &mut self,
        deadline: Option<Instant>,
        is_of_run: bool,
        mut found: impl FnMut(&mut Self) -> Option<T>,
    ) -> Option<T> {
        loop {
            if let Some(found) = found(self) {
                return Some(found);
            }
            if self.is_alone || self.exit_code.is_some() || (is_of_run && self.is_off) {
                return None;
            }
            match self.link.next(deadline, is_of_run) {
                Next::Arrival(arrival) => self.take(arrival),
                Next::Stopped | Next::Late => return None,
            }
        }
    }

    /// Tells what the checks found, and waits for the decision.
    ///
    /// # Errors
    /// Somebody refuses.
    pub fn agree(&mut self, checked: Checked) -> Result<(), CalledOff> {
        self.link.send(0, Message::Checked(checked));
        self.left = self.wait_for(None, true, |spoke| spoke.go.take()).ok_or(CalledOff)?;
        Ok(())
    }

    /// Waits until another rank has made a file, when it does.
    ///
    /// # Errors
    /// The run is called off.
    pub fn turn_to_make(&mut self, typed: &str) -> Result<Maker, CalledOff> {
        let Some(left) = self.left.iter().find(|left| left.typed == typed).cloned() else {
            return Ok(Maker::This);
        };
        let made = (left.maker, left.typed_by_maker);
        self.wait_for(None, true, |spoke| spoke.made.contains(&made).then_some(Maker::Another))
            .ok_or(CalledOff)
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
        let start = self.wait_for(None, true, |spoke| spoke.ready.remove(&time_span)).ok_or(CalledOff)?;
        let (agreed_unix_ns, clock_before) = start;
        let common = CommonStart { agreed_unix_ns, late_ns: 0, clock_before, clock_after: None };
        let unix_ns = agreed_unix_ns.saturating_add_signed(clock_before.ahead_ns);
        Ok(AgreedStart { unix_ns, common })
    }

    /// The clock here beside that of rank 0, after the load; none when rank 0 does not answer.
    pub fn clock_after(&mut self) -> Option<ClockOffset> {
        // One that came too late for the run before says nothing of this one.
        self.clock_after = None;
        self.link.send(0, Message::LoadIsOver);
        let deadline = Instant::now() + CLOCK_PATIENCE;
        self.wait_for(Some(deadline), false, |spoke| spoke.clock_after.take())
    }

    pub fn hand_in(&self, document: Option<Vec<u8>>, has_measured: bool, failures: Vec<String>) {
        let message = Message::Ended { has_measured, failures };
        let letter = Letter { message, tail: document.unwrap_or_default() };
        self.link.send_letter(0, letter);
    }

    /// Waits for the sum of all results, after this rank handed in its own; none where there is none.
    pub fn await_sum(&mut self) -> Option<Vec<u8>> {
        let deadline = Instant::now() + SUM_PATIENCE;
        let sum = self.wait_for(Some(deadline), false, |spoke| spoke.sum.take())?;
        // From here on everything belongs to the next run.
        (self.is_off, self.left) = (false, Vec::new());
        self.made.clear();
        self.ready.clear();
        if sum.is_empty() { None } else { Some(sum) }
    }

    /// Waits for the end of the run.
    pub fn await_end(&mut self) -> Option<u8> {
        let deadline = Instant::now() + SUM_PATIENCE;
        let exit_code = self.wait_for(Some(deadline), false, |spoke| spoke.exit_code);
        self.depart();
        exit_code
    }

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

    fn take(&mut self, arrival: Arrival) {
        match arrival {
            Arrival::Letter { letter: Letter { message, tail }, .. } => match message {
                Message::Refused { exit_code } => self.exit_code = Some(exit_code),
                Message::Bye { exit_code, in_order } => {
                    (self.exit_code, self.ends_alone) = (Some(exit_code), !in_order);
                }
                Message::Welcome(welcome) => self.welcome = Some(welcome),
                Message::Go { left } => self.go = Some(left),
                Message::ClockAfter(clock) => self.clock_after = Some(clock),
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
