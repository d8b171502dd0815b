//! One run on many hosts: the ranks of a cluster run find each other, agree, start together, and hand in their results.
//!
//! A rank is one process, rank 0 is the hub: every message goes to it or comes from it. [`Cluster`] is what a
//! rank's own threads use; a thread of its own, the `post`, has the [`transport`] alone, answers what needs
//! no thought (whether this rank is alive, what its clock says) and notices who has fallen silent. So no wait
//! on another host is without end, whatever the transport does.
//!
//! Nothing here prints, parses a line of DiskSpd or knows a suite.

mod agreement;
mod message;
pub mod per_rank;
#[cfg(test)]
#[path = "../../../tests/all/support/place.rs"]
mod place;
mod post;
mod progress;
mod roles;
#[cfg(test)]
mod tests;
pub mod transport;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use message::{Checked, Hello, Message, RefusalNote, Standing, Welcome};
use per_rank::Values;
use post::{Arrival, Command, Link, Post, Shared, wall_ns};
use progress::RankProgress;
use roles::{HandedIn, Hub, Spoke, broken};
use transport::{Open, TransportError};
use truespd_core::load::live::{Counted, Phase, Progress};
use truespd_core::load::ranks::{AgreedStart, CalledOff, Maker, Place, Ranks};
use truespd_core::result::{ClockOffset, Document, LostRank, Rank, TimeSpanResult, json};
use truespd_platform::fault::{ExitCode, Refusal};
use truespd_platform::machine::host::{boot_id, host_name, unix_time_s};
use truespd_platform::machine::roots::Roots;
use truespd_platform::sys::error::system_text;
use truespd_platform::sys::events::Latch;
use truespd_platform::sys::thread::allowed_processors;
use truespd_verdict::ranks::{DoneOnDisks, done_on_disks, note_other_ranks};

/// What a rank needs to join.
pub struct Joining {
    pub open: Open,
    /// The words of the command line, before anything in braces is replaced.
    pub words: Vec<String>,
    pub version: String,
    /// Silence after which a rank is lost.
    pub patience: Duration,
    /// Ranks that each host must have (`--ranks-per-host`).
    pub ranks_per_host: Option<u32>,
    /// One and the same file for several ranks of a host is meant (`--shared`, `--shard`).
    pub is_sharing_meant: bool,
    pub stop: Latch,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThisRank {
    pub run: String,
    pub host: String,
    /// Number of this rank, from 0.
    pub rank: u32,
    pub ranks: u32,
    /// Where it stands among those of its host.
    pub standing: Standing,
}

impl ThisRank {
    /// What the words in braces stand for here.
    pub fn values(&self) -> Values<'_> {
        Values { host: &self.host, rank: self.rank, local: self.standing.local, ranks: self.ranks }
    }

    /// Rank 0 shows the result, and what goes on.
    pub fn is_hub(&self) -> bool {
        self.rank == 0
    }
}

/// Why a rank did not join.
#[derive(Debug)]
pub enum JoinError {
    /// The transport cannot be opened: every rank says so itself.
    Transport(Refusal),
    /// Rank 0: the ranks do not fit together; the others know it.
    Refused(Vec<Refusal>),
    /// Another rank than 0: it ends with this exit code, and rank 0 says why; none when rank 0 does not answer.
    Dismissed(Option<u8>),
}

/// What a rank does in the run.
#[derive(Debug)]
enum Role {
    Hub(Box<Hub>),
    Spoke(Box<Spoke>),
}

/// A rank of a cluster run.
#[derive(Debug)]
pub struct Cluster {
    me: ThisRank,
    role: Mutex<Role>,
    shared: Arc<Shared>,
    commands: Sender<Command>,
    /// Names of the hosts by rank; on rank 0.
    hosts: Vec<String>,
    /// Hash of the profile, once it is read.
    profile: Mutex<Option<String>>,
    /// Number of the time span whose progress was told last, from 1; 0 when it is over.
    time_span: AtomicUsize,
}

/// What the ranks of a run left, on rank 0.
#[derive(Debug, Default)]
pub struct Finished {
    /// What each other rank handed in.
    pub handed_in: BTreeMap<u32, HandedIn>,
    pub lost: Vec<LostRank>,
}

impl Cluster {
    /// Joins the run: all ranks find each other, and each learns where it stands.
    ///
    /// # Errors
    /// [`JoinError`]; the process has left the run.
    pub fn join(joining: Joining) -> Result<Cluster, JoinError> {
        let Joining { open, words, version, patience, ranks_per_host, is_sharing_meant, stop } = joining;
        let shared = Arc::new(Shared::new(stop));
        let (commands, to_post) = channel();
        let (to_rank, arrivals) = channel();
        let (rank, ranks) = start_post(open, to_post, to_rank, Arc::clone(&shared), patience, OPEN_PATIENCE)
            .map_err(|error| JoinError::Transport(broken(&error.to_string())))?;
        let link = Link { commands: commands.clone(), arrivals, shared: Arc::clone(&shared) };
        let host = host_name();
        let processors = allowed_processors().unwrap_or_default();
        let hello = Hello {
            version,
            host: host.clone(),
            boot: boot_id(&Roots::default()).unwrap_or_default(),
            words,
            processors,
            process: std::process::id(),
        };
        let (role, welcome, hosts) = if rank == 0 {
            let run = name_of_run();
            let (hub, welcome) = Hub::gather(link, hello, ranks, is_sharing_meant, ranks_per_host, &run)
                .map_err(JoinError::Refused)?;
            let hosts = hub.hosts();
            (Role::Hub(Box::new(hub)), welcome, hosts)
        } else {
            let (spoke, welcome) = Spoke::greet(link, Message::Hello(hello)).map_err(JoinError::Dismissed)?;
            (Role::Spoke(Box::new(spoke)), welcome, Vec::new())
        };
        let Welcome { run, standing } = welcome;
        let me = ThisRank { run, host, rank, ranks, standing };
        let (role, profile, time_span) = (Mutex::new(role), Mutex::default(), AtomicUsize::new(0));
        Ok(Cluster { me, role, shared, commands, hosts, profile, time_span })
    }

    pub fn me(&self) -> &ThisRank {
        &self.me
    }

    fn role(&self) -> MutexGuard<'_, Role> {
        self.role.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The profile was read; its hash must be the same on all ranks.
    pub fn has_profile(&self, hash: String) {
        *self.profile.lock().unwrap_or_else(PoisonError::into_inner) = Some(hash);
    }

    /// Reasons of this rank against the run, found before it was checked.
    pub fn refuse(&self, refusals: &[Refusal]) {
        // It is never agreed to.
        let _ = self.agree(&[], refusals);
    }

    /// What rank 0 answers; nothing on another rank.
    fn of_hub<T: Default>(&self, ask: impl FnOnce(&mut Hub) -> T) -> T {
        match &mut *self.role() {
            Role::Hub(hub) => ask(hub),
            Role::Spoke(_) => T::default(),
        }
    }

    /// What any rank but 0 answers; nothing on rank 0.
    fn of_spoke<T: Default>(&self, ask: impl FnOnce(&mut Spoke) -> T) -> T {
        match &mut *self.role() {
            Role::Hub(_) => T::default(),
            Role::Spoke(spoke) => ask(spoke),
        }
    }

    /// Rank 0: why the others refuse, once all were asked.
    pub fn refusals_of_others(&self) -> Vec<Refusal> {
        self.of_hub(|hub| hub.decision().refusals.clone())
    }

    /// Rank 0: what the agreement found, a sentence each.
    pub fn notes(&self) -> Vec<String> {
        self.of_hub(|hub| hub.decision().notes.clone())
    }

    /// The progress of this rank. On rank 0 that of all.
    pub fn progress(&self, own: &Progress) -> Progress {
        let is_running = !matches!(own.phase, Phase::Start | Phase::End);
        self.shared.is_running.store(is_running, Ordering::Relaxed);
        self.time_span.store(own.span, Ordering::Relaxed);
        if self.me.is_hub() {
            return progress::sum(own, &self.shared.progress(own.span), &self.hosts);
        }
        let message = Message::Progress(RankProgress::of(own));
        let _ = self.commands.send(Command::Send { to: 0, letter: message.into() });
        own.clone()
    }

    /// A time span of this rank is over, with so many I/Os. On rank 0 those of all ranks, as far as they were
    /// told: what the others did in their last second may be missing.
    pub fn counted(&self, own: Counted) -> Counted {
        match self.time_span.swap(0, Ordering::Relaxed) {
            time_span if self.me.is_hub() => progress::counted(own, &self.shared.progress(time_span)),
            _ => own,
        }
    }

    /// Says in the document which rank it is of, how its clock goes, and what the other ranks of its host did on its
    /// disks.
    pub fn sign(&self, document: &mut Document) {
        self.shared.is_running.store(false, Ordering::Relaxed);
        let ThisRank { run, rank, ranks, standing, .. } = self.me.clone();
        document.rank = Some(Rank { run, rank, ranks, local: standing.local, lost: Vec::new() });
        let others = self.exchange(done_on_disks(document));
        note_other_ranks(document, &others);
        let after = match &mut *self.role() {
            Role::Hub(_) => Some(ClockOffset { ahead_ns: 0, uncertainty_ns: 0, at_unix_ns: wall_ns() }),
            Role::Spoke(spoke) => spoke.clock_after(),
        };
        // A comparison before the next time span is also one after this one.
        let mut next = after;
        for span in document.time_spans.iter_mut().rev() {
            let TimeSpanResult::Measured(measured) = span else { continue };
            if let Some(start) = &mut measured.evidence.common_start {
                start.clock_after = next;
                next = Some(start.clock_before);
            }
        }
    }

    /// Tells what this rank did on its disks; what the other ranks of its host did on them.
    fn exchange(&self, done: Vec<DoneOnDisks>) -> Vec<DoneOnDisks> {
        match &mut *self.role() {
            Role::Hub(hub) => hub.exchange(done),
            Role::Spoke(spoke) if self.me.standing.local_ranks > 1 => spoke.exchange(done),
            Role::Spoke(_) => Vec::new(),
        }
    }

    /// Any rank but 0: hands in the document of a run, and why it failed.
    pub fn hand_in(&self, document: &Document, failures: Vec<String>) {
        let has_measured = document.measured().next().is_some();
        self.of_spoke(|spoke| {
            spoke.hand_in(Some(json::write(document).into_bytes()), has_measured, failures)
        });
    }

    /// Any rank but 0: hands in why there is no document of a run; nothing where it was stopped or called off.
    pub fn hand_in_nothing(&self, failures: Vec<String>) {
        self.of_spoke(|spoke| spoke.hand_in(None, false, failures));
    }

    /// Any rank but 0, in a series: waits for the sum of all results; none where there is none.
    pub fn await_sum(&self) -> Option<Vec<u8>> {
        self.of_spoke(Spoke::await_sum)
    }

    /// Rank 0, in a series: tells all ranks the sum of their results; none where there is none.
    pub fn tell_sum(&self, sum: Option<&[u8]>) {
        self.of_hub(|hub| hub.tell_sum(sum));
    }

    /// Any rank but 0: waits for the end of the run; its exit code, or none when rank 0 is gone.
    pub fn await_end(&self) -> Option<u8> {
        self.of_spoke(Spoke::await_end)
    }

    /// Rank 0: waits for the results of all.
    pub fn collect(&self) -> Finished {
        self.of_hub(|hub| Finished { handed_in: hub.collect(), lost: hub.lost().to_vec() })
    }

    /// Rank 0: lets all end with this exit code.
    pub fn dismiss(&self, exit_code: ExitCode) {
        self.of_hub(|hub| hub.dismiss(exit_code));
    }
}

impl std::fmt::Debug for Joining {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Joining").field("words", &self.words).finish_non_exhaustive()
    }
}

impl Ranks for Cluster {
    fn agree(&self, places: &[Place], refusals: &[Refusal]) -> Result<(), CalledOff> {
        let profile = self.profile.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let refusals = refusals.iter().map(RefusalNote::from).collect();
        let checked = Checked { refusals, places: places.to_vec(), profile };
        match &mut *self.role() {
            Role::Hub(hub) => hub.agree(checked),
            Role::Spoke(spoke) => spoke.agree(checked),
        }
    }

    fn processors(&self) -> Option<Vec<u32>> {
        self.me.standing.processors.clone()
    }

    fn processes(&self) -> Vec<u32> {
        self.me.standing.processes.clone()
    }

    fn turn_to_make(&self, typed: &str) -> Result<Maker, CalledOff> {
        match &mut *self.role() {
            // Of all ranks that have a file, the first makes it.
            Role::Hub(_) => Ok(Maker::This),
            Role::Spoke(spoke) => spoke.turn_to_make(typed),
        }
    }

    fn has_made(&self, typed: &str) {
        match &*self.role() {
            Role::Hub(hub) => hub.has_made(typed),
            Role::Spoke(spoke) => spoke.has_made(self.me.rank, typed),
        }
    }

    fn start(&self, time_span: usize) -> Result<AgreedStart, CalledOff> {
        self.shared.is_running.store(false, Ordering::Relaxed);
        match &mut *self.role() {
            Role::Hub(hub) => {
                let agreed = hub.start(time_span)?;
                // All ranks have ended the time span before, and none has begun this one.
                self.shared.reported().begin();
                Ok(agreed)
            }
            Role::Spoke(spoke) => spoke.start(time_span),
        }
    }
}

/// How long MPI may take until all ranks have begun. MPICH's waits for ever for one that ended before; the largest
/// machines start tens of thousands of ranks in less.
const OPEN_PATIENCE: Duration = Duration::from_secs(120);

/// Starts the thread that has the transport; the number of this rank, and of all.
fn start_post(
    open: Open,
    commands: Receiver<Command>,
    arrivals: Sender<Arrival>,
    shared: Arc<Shared>,
    patience: Duration,
    open_patience: Duration,
) -> Result<(u32, u32), TransportError> {
    let (opened, is_open) = channel();
    let started = std::thread::Builder::new().name("cluster-post".into()).spawn(move || match open() {
        Ok(transport) => {
            let _ = opened.send(Ok((transport.rank(), transport.ranks())));
            Post::new(transport, &commands, &arrivals, &shared, patience).serve();
        }
        Err(error) => drop(opened.send(Err(error))),
    });
    started
        .map_err(|error| TransportError(format!("no thread could be started: {}", system_text(&error))))?;
    match is_open.recv_timeout(open_patience) {
        Ok(opened) => opened,
        Err(RecvTimeoutError::Disconnected) => Err(TransportError("it ended without a word".into())),
        Err(RecvTimeoutError::Timeout) => Err(TransportError(format!(
            "MPI has waited {} s for all ranks to begin, and some have not; look above for what they said, and whether \
             every host has the package and answers",
            open_patience.as_secs()
        ))),
    }
}

/// A name for a run that no other has: when it began, and something by chance.
fn name_of_run() -> String {
    let now = jiff::Timestamp::from_second(unix_time_s().unwrap_or(0)).unwrap_or_default();
    let chance = wall_ns() ^ (u64::from(std::process::id()) << 13);
    format!("{}-{:04x}", now.strftime("%Y%m%dT%H%M%SZ"), chance % 0x10000)
}
