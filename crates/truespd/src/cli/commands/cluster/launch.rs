//! What starts a rank: the launcher of MPI, which says how the ranks reach each other; the process that it started,
//! while the rank itself is its child; and joining the run.
//!
//! A launcher ends all ranks when a signal ends one of its processes: MPICH at once, Open MPI within two
//! seconds. Then rank 0 could not show what the others measured. So where a rank is killed (by the system for
//! want of memory, by a person, by a bug), its parent stays and says nothing, until rank 0 has told the
//! result and ends all.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use super::options::{Options, Own};
use diskspd::grammar::parse::{Invocation, parse};
use diskspd::run::stop_on_signals;
use truespd_bus::{Kind, Loaded, Object};
use truespd_cluster::per_rank::Values;
use truespd_cluster::transport::{Mpi, Open, Threads, Transport};
use truespd_cluster::{Cluster, JoinError, Joining};
use truespd_front::console::{end, tell};
use truespd_platform::fault::{ExitCode, Failure, FailureKind, Outcome, Refusal, RefusalKind, Refusals};
use truespd_platform::machine::host::{Launched, Launcher, Meeting};
use truespd_platform::machine::topology::Topology;
use truespd_platform::sys::events::Latch;
use truespd_platform::sys::signals::{EndWishes, die_with, pass_on};
use truespd_platform::sys::thread::allowed_processors;

/// Number of the parent, in the environment of the rank.
const PARENT: &str = "TRUESPD_RANK_OF";
/// How long after the longest end of a run the others may take to notice the loss and to tell the result.
const AFTER_THE_RUN: Duration = Duration::from_secs(120);
/// How long, beyond the patience, the others may take to end without rank 0.
const WITHOUT_RANK_0: Duration = Duration::from_secs(15);
/// How long a run of a suite may take.
const RUN_OF_A_SUITE: Duration = Duration::from_secs(900);

/// Whether this process is the rank. Otherwise the rank was run as a child, and this is its exit code; the
/// arguments are those of this program. Where no child can be made, this process is the rank.
pub(super) fn is_rank(own: &Own, is_line: bool, is_first: bool) -> Result<(), i32> {
    if let Some(parent) = std::env::var(PARENT).ok().and_then(|number| number.parse().ok()) {
        // Nobody reads the variable any more, and no program that this one starts is a rank. A parent that is gone was
        // ended by the launcher, which wants the rank to end as well.
        return if die_with(parent) { Ok(()) } else { Err(1) };
    }
    let Ok(program) = std::env::current_exe() else { return Ok(()) };
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let Ok(wishes) = EndWishes::receive() else { return Ok(()) };
    let mut rank = Command::new(program);
    rank.args(arguments).env(PARENT, std::process::id().to_string());
    // Open MPI gives its ranks a terminal that nobody looks at: what they say goes where mpirun's output goes.
    rank.env("NO_COLOR", "1").env("TERM", "dumb");
    let started = rank.spawn();
    match started {
        Ok(child) => {
            let patience = Duration::from_secs(own.options.patience);
            // Nobody shows a result without rank 0: the others keep what they have, and end.
            let longest = if is_first {
                patience + WITHOUT_RANK_0
            } else if is_line {
                longest(own)
            } else {
                patience + RUN_OF_A_SUITE
            };
            Err(watch(child, wishes, longest))
        }
        Err(_) => Ok(()),
    }
}

/// Waits for the rank; its exit code. Signals go to the rank as long as it is there.
fn watch(child: Child, mut wishes: EndWishes, longest: Duration) -> i32 {
    let number = child.id();
    let is_over = Arc::new(AtomicBool::new(false));
    // The number of a process that was waited for may be another's.
    let child = Arc::new(Mutex::new(child));
    let (over, alive) = (Arc::clone(&is_over), Arc::clone(&child));
    let _ = std::thread::Builder::new().name("signals".into()).spawn(move || {
        for wish in wishes.forever() {
            let _alive = alive.lock().unwrap_or_else(PoisonError::into_inner);
            if over.load(Ordering::Acquire) {
                std::process::exit(wish.exit_code)
            } else {
                pass_on(wish, number)
            }
        }
    });
    let ended = loop {
        let mut child = child.lock().unwrap_or_else(PoisonError::into_inner);
        match child.try_wait() {
            Ok(Some(status)) => {
                is_over.store(true, Ordering::Release);
                break status.code();
            }
            Ok(None) => drop(child),
            Err(_) => break Some(1),
        }
        std::thread::sleep(LOOK_EVERY);
    };
    ended.unwrap_or_else(|| {
        std::thread::sleep(longest);
        1
    })
}

/// How often it is looked whether the rank has ended.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How long the line may take from now on, as far as its words tell.
fn longest(own: &Own) -> Duration {
    let values = Values { host: "host", rank: 0, local: 0, ranks: 1 };
    let mut run_s = 0;
    if let Ok(words) = values.replaced(&own.line)
        && let Ok(Invocation::Run(mut request)) = parse(&words, "", &|| 0)
        && request.load_profile().is_ok()
    {
        for span in &request.profile.time_spans {
            run_s += span.all_s_max();
        }
    }
    Duration::from_secs(run_s) + Duration::from_secs(own.options.patience) + AFTER_THE_RUN
}

/// What can be loaded for the MPI library of what started this process; nothing for one rank, which needs none.
///
/// # Errors
/// Nothing started it by MPI, or there are several ranks and nothing to load for their MPI library.
pub(super) fn objects(launched: Option<Launched>) -> Result<Vec<Object>, Refusal> {
    let Some(Launched { by, ranks, .. }) = launched else {
        return Err(Refusal::new(
            RefusalKind::Machine,
            "a cluster run must be started by MPI, once for each rank",
        )
        .hint("mpirun -np 3 --host a,b,c truespd cluster run ...; or srun -N 3 truespd cluster run ...")
        .hint("for this host alone: mpirun -np 1 truespd cluster run ..., or simply truespd run ..."));
    };
    if ranks == Some(1) {
        return Ok(Vec::new());
    }
    let programs = std::env::current_exe().ok().and_then(|program| program.parent().map(Path::to_path_buf));
    let objects = programs.map_or(Vec::new(), |folder| Object::of(families(by), &folder));
    if objects.is_empty() { Err(no_object(by, ranks)) } else { Ok(objects) }
}

/// The transport of the rank, with the MPI library loaded: not in its parent, which waits for signals by itself.
///
/// # Errors
/// The library is not on this host, or cannot be loaded.
pub(super) fn transport(objects: &[Object], launched: Option<Launched>) -> Result<Open, Refusal> {
    if objects.is_empty() {
        return Ok(Box::new(|| Ok(Box::new(Threads::alone()) as Box<dyn Transport>)));
    }
    let loaded = Loaded::first_of(objects).map_err(|error| {
        Refusal::new(RefusalKind::Machine, format!("the ranks cannot reach each other: {error}"))
    })?;
    let ranks = launched.and_then(|launched| launched.ranks);
    Ok(Box::new(move || Ok(Box::new(Mpi::join(loaded, ranks)?) as Box<dyn Transport>)))
}

/// Families of MPI libraries that find each other by what the launcher offers, the likeliest first. A library with the
/// ABI of MPI 5 is the last: nothing tells whose it is.
fn families(by: Launcher) -> &'static [Kind] {
    match by {
        Launcher::OpenMpi => &[Kind::OpenMpi, Kind::Abi],
        Launcher::Srun(Meeting::Pmix) | Launcher::Other(Meeting::Pmix) => {
            &[Kind::OpenMpi, Kind::Mpich, Kind::Abi]
        }
        Launcher::Mpich | Launcher::Srun(Meeting::Pmi) | Launcher::Other(_) => &[Kind::Mpich, Kind::Abi],
        // None of them will find the others, and says so.
        Launcher::Srun(Meeting::None) => &Kind::ALL,
    }
}

/// The package that is missing, and how it is installed.
fn no_object(by: Launcher, ranks: Option<u32>) -> Refusal {
    let ranks = ranks.map_or_else(|| "several".to_string(), |ranks| ranks.to_string());
    let package = families(by)[0].package();
    let message =
        format!("{by} started {ranks} ranks, but truespd cannot reach them: {package} is not installed");
    let refusal = Refusal::new(RefusalKind::Machine, message);
    if cfg!(target_feature = "crt-static") {
        return refusal
            .hint(format!(
                "this static program loads no MPI library: install the packages truespd and {package} on every host"
            ))
            .hint("or measure on each host with --json FILE, and add up the files: truespd merge a.json b.json");
    }
    refusal
        .hint(format!(
            "install {package} on every host, from where truespd came: apt install ./{package}_*.deb, or dnf install \
             ./{package}-*.rpm"
        ))
        .hint(format!(
            "or {} instead, where the MPI library has libmpi_abi.so.1, as MPICH 5.0.2 and later do",
            Kind::Abi.package()
        ))
        .hint("to build it from source, see docs/clusters.md")
}

/// A rank that has joined.
#[derive(Debug)]
pub(super) struct Joined {
    pub cluster: Arc<Cluster>,
    pub stop: Latch,
    pub signals: Signals,
    /// Processors that this process could use when it was started, and those of the machine.
    pub processors: (usize, usize),
    /// The folder of --documents was there before any rank could make it.
    pub has_folder: bool,
}

/// Joins the run. `words` are all words after `truespd`, as typed; `is_first`: the launcher calls this process rank 0.
///
/// # Errors
/// The exit code; what is to be said was said.
pub(super) fn join(
    words: &[String],
    options: &Options,
    open: Open,
    is_first: bool,
) -> Result<Joined, ExitCode> {
    let signals = Signals::default();
    let stop = stop_on_signals(signals.notice(), end).map_err(tell)?;
    let has_folder = options.documents.as_ref().is_some_and(|folder| folder.exists());
    let processors = (allowed_processors().map_or(0, |allowed| allowed.len()), online());
    let joining = Joining {
        open,
        words: words.to_vec(),
        version: env!("CARGO_PKG_VERSION").to_string(),
        patience: Duration::from_secs(options.patience),
        ranks_per_host: options.ranks_per_host,
        is_sharing_meant: options.shared || options.shard,
        stop: stop.clone(),
    };
    let cluster = Cluster::join(joining).map_err(|error| match error {
        JoinError::Transport(refusal) if is_first => tell(refusal),
        JoinError::Transport(refusal) => ExitCode::of(Outcome::Refused(refusal.kind)),
        JoinError::Refused(refusals) => tell(Refusals::from(refusals)),
        JoinError::Dismissed(code) => end_as(code),
    })?;
    Ok(Joined { cluster: Arc::new(cluster), stop, signals, processors, has_folder })
}

/// Processors of this machine; 0 where that is not known.
fn online() -> usize {
    Topology::of_this_machine().map_or(0, |topology| topology.processors.len())
}

/// The exit code that rank 0 told, or that of a run without rank 0.
pub(super) fn end_as(code: Option<u8>) -> ExitCode {
    match code.and_then(ExitCode::of_number) {
        Some(code) => code,
        None => tell(Failure::new(FailureKind::Lost, "rank 0 does not answer any more")),
    }
}

/// What Ctrl+C says, once there is something to say it with.
#[derive(Default, Clone)]
pub(super) struct Signals(Arc<OnceLock<Box<dyn Fn() + Send + Sync>>>);

impl Signals {
    fn notice(&self) -> impl Fn() + Send + 'static {
        let notice = Arc::clone(&self.0);
        move || {
            if let Some(notice) = notice.get() {
                notice();
            }
        }
    }

    /// From here on that is said.
    pub(super) fn say_by(&self, notice: impl Fn() + Send + Sync + 'static) {
        let _ = self.0.set(Box::new(notice));
    }
}

impl std::fmt::Debug for Signals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Signals").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_waits_for_the_whole_run_and_a_while() {
        let words = |line: &str| line.split(' ').map(str::to_string).collect::<Vec<_>>();
        let longest = |line: &str| longest(&Own::split(&words(line), true).expect("legal")).as_secs();
        assert_eq!(longest("--patience 20 -W5 -d60 -C3 f{rank}"), 68 + 20 + 120);
        assert_eq!(longest("-Xnone.xml"), 10 + 120);
    }

    #[test]
    fn without_a_launcher_it_says_how_to_start() {
        let refusal = objects(None).expect_err("refused");
        assert!(refusal.hints[0].contains("mpirun -np 3"), "{refusal}");
    }

    #[test]
    fn one_rank_needs_no_mpi() {
        let one = Launched { by: Launcher::OpenMpi, ranks: Some(1), rank: Some(0) };
        let needed = objects(Some(one)).expect("found");
        let transport = transport(&needed, Some(one)).expect("a transport")().expect("opened");
        assert_eq!((transport.rank(), transport.ranks()), (0, 1));
    }

    #[test]
    fn what_is_missing_is_named_by_its_package() {
        let many = |by| no_object(by, Some(3));
        let refusal = many(Launcher::Mpich);
        assert!(refusal.message.contains("mpirun of MPICH started 3 ranks"), "{refusal}");
        assert!(refusal.hints[0].contains("apt install ./truespd-mpi-mpich_*"), "{refusal}");
        let refusal = many(Launcher::Srun(Meeting::Pmix));
        assert!(refusal.hints[0].contains("truespd-mpi-openmpi"), "{refusal}");
        assert!(refusal.hints[1].contains("truespd-mpi-abi"), "{refusal}");
    }

    #[test]
    fn the_abi_of_mpi_5_comes_after_the_launchers_own_family() {
        assert_eq!(families(Launcher::Mpich), [Kind::Mpich, Kind::Abi]);
        assert_eq!(families(Launcher::OpenMpi), [Kind::OpenMpi, Kind::Abi]);
        for by in [Launcher::Srun(Meeting::Pmix), Launcher::Srun(Meeting::Pmi), Launcher::Other(Meeting::Pmi)]
        {
            assert_eq!(families(by).last(), Some(&Kind::Abi), "{by}");
        }
    }
}
