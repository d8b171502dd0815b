//! What rank 0 does (it hears everybody, decides, and says when), and what every other rank does (it says how far it
//! is, and waits for the word of rank 0).

use super::agreement::{Decision, by_host, decide, hosts_in_words, standings};
use super::message::{Checked, Hello, Left, Letter, Message, Welcome};
use super::post::{Arrival, Command, Leaving, Link, Next, wall_ns};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};
use truespd_core::load::ranks::{AgreedStart, CalledOff, Maker};
use truespd_core::result::{ClockOffset, CommonStart, LostHow, LostRank};
use truespd_platform::fault::{ExitCode, Outcome, Refusal, RefusalKind, Refusals};
use truespd_verdict::ranks::{DoneOnDisks, add_done};

/// How long all ranks may take to say who they are, beyond the patience.
const HELLO_PATIENCE: Duration = Duration::from_secs(20);
/// From the decision to start to the start: what a letter may take.
const START_AHEAD: Duration = Duration::from_millis(100);
/// The same for each rank, because letters leave one after the other.
const START_AHEAD_PER_RANK: Duration = Duration::from_micros(200);
/// How long after its own end a rank may wait for an I/O before it ends without a result.
const LOAD_PATIENCE: Duration = Duration::from_secs(70);
/// How long the ranks may take to leave.
const LEAVE_PATIENCE: Duration = Duration::from_secs(5);

/// What a rank handed in.
#[derive(Debug)]
pub struct HandedIn {
    /// Its document, as it wrote it; none when its run did not begin.
    pub document: Option<Vec<u8>>,
    pub has_measured: bool,
    /// Why it failed, one sentence each.
    pub failures: Vec<String>,
}

#[derive(Debug)]
pub struct Hub {
    link: Link,
    hellos: BTreeMap<u32, Hello>,
    is_sharing_meant: bool,
    /// Other ranks that are there and have not handed in anything.
    awaited: BTreeSet<u32>,
    /// What other ranks handed in.
    handed_in: BTreeMap<u32, HandedIn>,
    lost: Vec<LostRank>,
    ready: BTreeMap<usize, BTreeSet<u32>>,
    checked: BTreeMap<u32, Checked>,
    decision: Decision,
    /// What ranks of hosts with several ranks did on their disks.
    done: BTreeMap<u32, Vec<DoneOnDisks>>,
    /// Those of them that were told what the others did.
    answered: BTreeSet<u32>,
    /// Rank 0 has asked all. Who says it later is answered at once.
    has_exchanged: bool,
    /// The ranks of each host, by each of its ranks.
    ranks_of_host: BTreeMap<u32, Arc<[u32]>>,
}

impl Hub {
    /// Waits until all ranks have said who they are, and tells them where they stand.
    ///
    /// # Errors
    /// Why the run does not begin; the other ranks know it.
    pub fn gather(
        link: Link,
        own: Hello,
        ranks: u32,
        is_sharing_meant: bool,
        ranks_per_host: Option<u32>,
        run: &str,
    ) -> Result<(Hub, Welcome), Vec<Refusal>> {
        let mut hub = Hub {
            link,
            hellos: BTreeMap::from([(0, own)]),
            is_sharing_meant,
            awaited: (1..ranks).collect(),
            handed_in: BTreeMap::new(),
            lost: Vec::new(),
            ready: BTreeMap::new(),
            checked: BTreeMap::new(),
            decision: Decision::default(),
            done: BTreeMap::new(),
            answered: BTreeSet::new(),
            has_exchanged: false,
            ranks_of_host: BTreeMap::new(),
        };
        let standings = match hub.hear_all(ranks).map(|()| standings(&hub.hellos, ranks_per_host)) {
            Ok(Ok(standings)) => standings,
            Ok(Err(refusals)) | Err(refusals) => {
                hub.refuse(&refusals);
                return Err(refusals);
            }
        };
        hub.ranks_of_host = ranks_by_rank(&hub.hellos);
        let mut standings = standings;
        let own = standings.remove(&0).expect("rank 0 has said who it is");
        for (rank, standing) in standings {
            hub.link.send(rank, Message::Welcome(Welcome { run: run.to_string(), standing }));
        }
        Ok((hub, Welcome { run: run.to_string(), standing: own }))
    }

    fn hear_all(&mut self, ranks: u32) -> Result<(), Vec<Refusal>> {
        let deadline = Instant::now() + HELLO_PATIENCE;
        while self.hellos.len() < ranks as usize {
            match self.link.next(Some(deadline), true) {
                Next::Arrival(Arrival::Letter {
                    from,
                    letter: Letter { message: Message::Hello(hello), .. },
                }) => {
                    self.hellos.insert(from, hello);
                }
                Next::Arrival(Arrival::Unreadable { from }) => {
                    let message = format!("rank {from} runs another version of truespd");
                    let refusal = Refusal::new(RefusalKind::Machine, message);
                    return Err(vec![refusal.hint("install the same version on every host")]);
                }
                Next::Arrival(Arrival::Broken(error)) => return Err(vec![broken(&error.to_string())]),
                Next::Arrival(Arrival::Lost { .. }) | Next::Late => {
                    let silent: Vec<String> = (0..ranks)
                        .filter(|rank| !self.hellos.contains_key(rank))
                        .map(|r| r.to_string())
                        .collect();
                    let message = format!("these ranks do not answer: {}", silent.join(", "));
                    let refusal = Refusal::new(RefusalKind::Machine, message);
                    return Err(vec![
                        refusal.hint("look whether their hosts and the network between them are up"),
                    ]);
                }
                Next::Stopped => {
                    return Err(vec![Refusal::new(RefusalKind::Machine, "stopped before the run began")]);
                }
                Next::Arrival(_) => {}
            }
        }
        Ok(())
    }

    /// Tells all ranks that they do not fit together, and ends the run.
    fn refuse(&mut self, refusals: &[Refusal]) {
        let kind = Refusals::from(refusals.to_vec()).kind();
        let exit_code = ExitCode::of(Outcome::Refused(kind)) as u8;
        self.link.broadcast(Message::Refused { exit_code });
        self.end(exit_code);
    }

    /// Names of the hosts, by rank.
    pub fn hosts(&self) -> Vec<String> {
        self.hellos.values().map(|hello| hello.host.clone()).collect()
    }

    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    pub fn lost(&self) -> &[LostRank] {
        &self.lost
    }

    /// Waits for the checks of all ranks, and decides.
    ///
    /// # Errors
    /// Somebody refuses or has left; the other ranks know it. [`Hub::decision`] has what is not rank 0's own.
    pub fn agree(&mut self, own: Checked) -> Result<(), CalledOff> {
        let has_own = !own.refusals.is_empty();
        self.checked.insert(0, own);
        while !are_all(&self.awaited, self.checked.len(), |rank| self.checked.contains_key(rank)) {
            match self.link.next(None, true) {
                Next::Stopped => return Err(self.call_off()),
                Next::Late => {}
                Next::Arrival(arrival) => self.take(arrival),
            }
        }
        self.decision = decide(&self.hellos, &self.checked, self.is_sharing_meant);
        let lost = self.lost.iter().map(|lost| (lost.rank, "it does not answer any more".to_string()));
        let mut gone: Vec<(u32, String)> = lost.collect();
        for (rank, HandedIn { failures, .. }) in &self.handed_in {
            let has_failed = !failures.is_empty();
            gone.push((*rank, if has_failed { failures.join("; ") } else { "it has ended".to_string() }));
        }
        for (rank, message) in gone {
            let host = hosts_in_words(&self.hellos, &[rank]);
            self.decision.refusals.push(Refusal::new(RefusalKind::Machine, message).behind(host));
        }
        if has_own || !self.decision.refusals.is_empty() {
            return Err(self.call_off());
        }
        for rank in self.awaited.clone() {
            let left = self.decision.left.remove(&rank).unwrap_or_default();
            self.link.send(rank, Message::Go { left });
        }
        Ok(())
    }

    /// A file of `-c` was made here.
    pub fn has_made(&self, typed: &str) {
        self.link.broadcast(Message::Made { rank: 0, typed: typed.to_string() });
    }

    /// Waits until the threads of all ranks stand ready, and agrees with them on the start.
    ///
    /// # Errors
    /// A rank failed or was lost before anything was measured, or the run is stopped.
    pub fn start(&mut self, time_span: usize) -> Result<AgreedStart, CalledOff> {
        loop {
            let ready = self.ready.entry(time_span).or_default();
            if are_all(&self.awaited, ready.len(), |rank| ready.contains(rank)) {
                break;
            }
            // A rank that tells what it did has ended: it failed, and does not wait for the others.
            self.answer_all();
            match self.link.next(None, true) {
                Next::Stopped => return Err(self.call_off()),
                Next::Late => {}
                Next::Arrival(arrival) => self.take(arrival),
            }
            // Later, what the others measure still counts without it.
            if time_span == 0 && !(self.handed_in.is_empty() && self.lost.is_empty()) {
                return Err(self.call_off());
            }
        }
        let clocks = self.compare();
        let agreed_unix_ns = wall_ns() + self.ahead_ns(clocks.values());
        for (rank, clock) in &clocks {
            self.link.send(*rank, Message::Start { time_span, agreed_unix_ns, clock: *clock });
        }
        let clock_before = ClockOffset { ahead_ns: 0, uncertainty_ns: 0, at_unix_ns: wall_ns() };
        let common = CommonStart { agreed_unix_ns, late_ns: 0, clock_before, clock_after: None };
        Ok(AgreedStart { unix_ns: agreed_unix_ns, common })
    }

    /// How far ahead the start is: every rank must hear of it in time.
    fn ahead_ns<'c>(&self, clocks: impl Iterator<Item = &'c ClockOffset>) -> u64 {
        let slowest_ns = clocks.map(|clock| clock.uncertainty_ns).max().unwrap_or(0);
        let ranks = u32::try_from(self.hellos.len()).unwrap_or(u32::MAX);
        let ahead = START_AHEAD + START_AHEAD_PER_RANK * ranks;
        u64::try_from(ahead.as_nanos()).unwrap_or(u64::MAX) + 8 * slowest_ns
    }

    /// The clocks of all ranks that are to start. One that does not answer is lost.
    fn compare(&mut self) -> BTreeMap<u32, ClockOffset> {
        if self.awaited.is_empty() {
            return BTreeMap::new();
        }
        self.link.command(Command::Compare(self.awaited.iter().copied().collect()));
        let compared = loop {
            match self.link.next(None, false) {
                Next::Arrival(Arrival::Compared(all)) => break all,
                Next::Arrival(Arrival::Broken(error)) => {
                    self.take(Arrival::Broken(error));
                    break Vec::new();
                }
                Next::Arrival(arrival) => self.take(arrival),
                Next::Late | Next::Stopped => {}
            }
        };
        let mut clocks = BTreeMap::new();
        for (rank, clock) in compared {
            match clock {
                Some(clock) => drop(clocks.insert(rank, clock)),
                None => self.lose(rank, wall_ns()),
            }
        }
        clocks.retain(|rank, _| self.awaited.contains(rank));
        clocks
    }

    /// Hears what the ranks of hosts with several ranks did on their disks, and tells each what the others did; the
    /// answer for rank 0. Who says it too late gets the answer then.
    pub fn exchange(&mut self, own: Vec<DoneOnDisks>) -> Vec<DoneOnDisks> {
        let mut waiting: Vec<u32> = self.hellos.keys().copied().collect();
        waiting.retain(|rank| self.on_host_of(*rank).count() > 0);
        let deadline = Instant::now() + DONE_PATIENCE;
        self.done.insert(0, own);
        while let Some(rank) = waiting.last() {
            if self.done.contains_key(rank) || !self.awaited.contains(rank) {
                waiting.pop();
                continue;
            }
            match self.link.next(Some(deadline), false) {
                Next::Arrival(arrival) => self.take(arrival),
                Next::Late => break,
                Next::Stopped => {}
            }
        }
        self.has_exchanged = true;
        self.answer_all();
        self.done_beside(0)
    }

    /// Tells each rank that has said what it did what the others on its host did, once.
    fn answer_all(&mut self) {
        for rank in self.done.keys().copied().collect::<Vec<_>>() {
            if self.awaited.contains(&rank) && self.answered.insert(rank) {
                self.link.send(rank, Message::OthersDone(self.done_beside(rank)));
            }
        }
    }

    /// Other ranks on the host of a rank.
    fn on_host_of(&self, rank: u32) -> impl Iterator<Item = u32> {
        let others = self.ranks_of_host.get(&rank).into_iter().flat_map(|host| host.iter().copied());
        others.filter(move |other| *other != rank)
    }

    /// What the other ranks on the host of a rank did, as far as they have said.
    fn done_beside(&self, rank: u32) -> Vec<DoneOnDisks> {
        let mut others = Vec::new();
        for other in self.on_host_of(rank) {
            add_done(&mut others, self.done.get(&other).map_or(&[][..], Vec::as_slice));
        }
        others
    }

    fn call_off(&self) -> CalledOff {
        self.link.broadcast(Message::Off);
        CalledOff
    }

    fn take(&mut self, arrival: Arrival) {
        match arrival {
            Arrival::Letter { from, letter: Letter { message, tail } } => match message {
                Message::Checked(checked) => drop(self.checked.insert(from, checked)),
                Message::Ready { time_span } => {
                    self.ready.entry(time_span).or_default().insert(from);
                }
                Message::Done(done) => {
                    self.done.insert(from, done);
                    if self.has_exchanged {
                        self.answer_all();
                    }
                }
                Message::Ended { has_measured, failures } => {
                    let document = (!tail.is_empty()).then_some(tail);
                    if self.awaited.remove(&from) {
                        self.handed_in.insert(from, HandedIn { document, has_measured, failures });
                    }
                }
                _ => {}
            },
            Arrival::Lost { rank, last_heard_unix_ns } => self.lose(rank, last_heard_unix_ns),
            Arrival::Broken(_) => {
                for rank in self.awaited.clone() {
                    self.lose(rank, wall_ns());
                }
            }
            Arrival::Unreadable { .. } | Arrival::Compared(_) | Arrival::Left => {}
        }
    }

    fn lose(&mut self, rank: u32, last_heard_unix_ns: u64) {
        self.link.command(Command::Forget(rank));
        if self.awaited.remove(&rank) {
            self.push_lost(rank, last_heard_unix_ns, LostHow::Silent, Vec::new());
        }
    }

    fn push_lost(&mut self, rank: u32, last_heard_unix_ns: u64, how: LostHow, failures: Vec<String>) {
        let host = self.hellos.get(&rank).map_or_else(String::new, |hello| hello.host.clone());
        self.lost.push(LostRank { rank, host, last_heard_unix_ns, how, failures });
    }

    /// Waits until all ranks have handed in their results; what each of them handed in. A rank that does not is lost.
    pub fn collect(&mut self) -> BTreeMap<u32, HandedIn> {
        // Where the load of rank 0 did not begin, the others still wait for it.
        self.link.broadcast(Message::Off);
        if !self.has_exchanged {
            // Rank 0 has nothing to add, and the others on a host may have.
            self.exchange(Vec::new());
        }
        let deadline = Instant::now() + LOAD_PATIENCE;
        while !self.awaited.is_empty() {
            match self.link.next(Some(deadline), false) {
                Next::Arrival(arrival) => self.take(arrival),
                Next::Late => {
                    for rank in self.awaited.clone() {
                        self.lose(rank, wall_ns());
                    }
                }
                Next::Stopped => {}
            }
        }
        let handed_in = std::mem::take(&mut self.handed_in);
        // Who has neither was stopped before anything was measured.
        for (rank, of_rank) in &handed_in {
            if of_rank.document.is_some() || of_rank.failures.is_empty() {
                continue;
            }
            self.push_lost(*rank, wall_ns(), LostHow::Failed, of_rank.failures.clone());
        }
        self.lost.sort();
        // The next run of a series begins with all that are left.
        let lost: BTreeSet<u32> = self.lost.iter().map(|lost| lost.rank).collect();
        self.awaited =
            self.hellos.keys().copied().filter(|rank| *rank != 0 && !lost.contains(rank)).collect();
        self.checked.clear();
        self.ready.clear();
        self.done.clear();
        self.answered.clear();
        self.has_exchanged = false;
        handed_in
    }

    /// Tells all ranks the sum of their results; none where there is no sum.
    pub fn tell_sum(&self, sum: Option<&[u8]>) {
        for rank in &self.awaited {
            let tail = sum.unwrap_or_default().to_vec();
            self.link.send_letter(*rank, Letter { message: Message::Sum, tail });
        }
    }

    /// Lets all ranks end, with the exit code of the run.
    pub fn dismiss(&mut self, exit_code: ExitCode) {
        let in_order = !self.lost.iter().any(|lost| lost.how == LostHow::Silent);
        self.link.broadcast(Message::Bye { exit_code: exit_code as u8, in_order });
        self.end(exit_code as u8);
    }

    /// Waits until all have said that they leave, and leaves.
    fn end(&mut self, exit_code: u8) {
        let silent = self.lost.iter().filter(|lost| lost.how == LostHow::Silent).map(|lost| lost.rank);
        let silent: BTreeSet<u32> = silent.collect();
        let mut there: BTreeSet<u32> =
            self.hellos.keys().copied().filter(|rank| *rank != 0 && !silent.contains(rank)).collect();
        self.wait_until_gone(&mut there);
        self.link.leave(if there.is_empty() && silent.is_empty() {
            Leaving::InOrder
        } else {
            Leaving::EndAll(exit_code)
        });
    }

    fn wait_until_gone(&mut self, there: &mut BTreeSet<u32>) {
        let deadline = Instant::now() + LEAVE_PATIENCE;
        while !there.is_empty() {
            match self.link.next(Some(deadline), false) {
                Next::Arrival(Arrival::Letter { from, letter: Letter { message: Message::Gone, .. } })
                | Next::Arrival(Arrival::Lost { rank: from, .. }) => drop(there.remove(&from)),
                Next::Arrival(Arrival::Broken(_) | Arrival::Left) | Next::Late => return,
                Next::Arrival(_) | Next::Stopped => {}
            }
        }
    }
}

/// The ranks of each host, by each of its ranks.
fn ranks_by_rank(hellos: &BTreeMap<u32, Hello>) -> BTreeMap<u32, Arc<[u32]>> {
    let mut by_rank = BTreeMap::new();
    for ranks in by_host(hellos).into_values() {
        let ranks: Arc<[u32]> = ranks.into();
        for rank in ranks.iter() {
            by_rank.insert(*rank, Arc::clone(&ranks));
        }
    }
    by_rank
}

/// The transport does not work.
pub fn broken(words: &str) -> Refusal {
    Refusal::new(RefusalKind::Machine, format!("the ranks cannot reach each other: {words}"))
}

/// How long the comparison of the clocks after the load may take.
const CLOCK_PATIENCE: Duration = Duration::from_secs(3);
/// How long the ranks of one host may take to say what they did on its disks: some still wait for their last I/Os.
const DONE_PATIENCE: Duration = Duration::from_secs(10);
/// How long rank 0 may take to end this rank.
const ENDED_BY_RANK_0: Duration = Duration::from_secs(3);
/// How long rank 0 may take for the sum of all results, after this rank handed in its own: other ranks may
/// still wait for their last I/Os.
const SUM_PATIENCE: Duration = Duration::from_secs(300);

/// Whether so many ranks that have said something are all that are awaited. It is asked with each letter, so it looks
/// at single ranks only when there are enough.
fn are_all(awaited: &BTreeSet<u32>, said: usize, has_said: impl Fn(&u32) -> bool) -> bool {
    said >= awaited.len() && awaited.iter().all(has_said)
}

/// A rank that is not rank 0.
#[derive(Debug)]
pub struct Spoke {
    link: Link,
    welcome: Option<Welcome>,
    /// The decision to start, with the files of `-c` that another rank makes.
    go: Option<Vec<Left>>,
    clock_after: Option<ClockOffset>,
    /// What the other ranks of this host did.
    others_done: Option<Vec<DoneOnDisks>>,
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
            others_done: None,
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

    /// Says what this rank did on its disks; what the others of its host did, or nothing where rank 0 does not answer.
    pub fn exchange(&mut self, own: Vec<DoneOnDisks>) -> Vec<DoneOnDisks> {
        self.others_done = None;
        self.link.send(0, Message::Done(own));
        let deadline = Instant::now() + 2 * DONE_PATIENCE;
        self.wait_for(Some(deadline), false, |spoke| spoke.others_done.take()).unwrap_or_default()
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
                Message::OthersDone(done) => self.others_done = Some(done),
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
