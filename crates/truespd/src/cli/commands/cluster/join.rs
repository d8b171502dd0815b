//! Joining a cluster run, and leaving it.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::options::Options;
use crate::cluster::transport::Open;
use crate::cluster::{Cluster, JoinError, Joining};
use diskspd::console::tell;
use diskspd::run::signals::stop_on_signals;
use truespd_core::fault::{ExitCode, Failure, FailureKind, Outcome, Refusals};
use truespd_core::machine::topology::Topology;
use truespd_core::sys::thread::allowed_processors;
use truespd_core::sys::wake::Latch;

/// A rank that has joined.
#[derive(Debug)]
pub(super) struct Joined {
    /// The run.
    pub cluster: Arc<Cluster>,
    /// Ends it.
    pub stop: Latch,
    /// What Ctrl+C says.
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
    let stop = stop_on_signals(signals.notice()).map_err(tell)?;
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
