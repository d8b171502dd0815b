//! A suite as a cluster run: every rank runs each of its steps, and all go on with the sum of the results.

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use clap::{FromArgMatches, Subcommand};

use super::launch::{Joined, Signals, end_as};
use super::options::Own;
use super::run::Folder;
use super::run::{leave_document, sum};
use crate::ask::table::{Chosen, Row};
use crate::runner::SeriesRanks;
use diskspd::run::outputs::Outputs;
use truespd_cluster::Cluster;
use truespd_core::load::FinishedRun;
use truespd_core::load::live::{Counted, Progress};
use truespd_core::load::ranks::Ranks;
use truespd_core::profile::{Profile, Throughput, hash};
use truespd_core::result::merge::without_rows;
use truespd_core::result::{Document, json};
use truespd_front::console::{fall_silent, say_line, tell, untold_faults};
use truespd_platform::fault::{
    ExitCode, Failure, FailureKind, Fault, Outcome, Refusal, RefusalKind, Refusals,
};
use truespd_platform::sys::events::Latch;

/// Each thread takes the seed behind that of the thread before: so far apart, ranks share none.
const SEEDS_OF_A_RANK: u32 = 1 << 20;

/// The suites that have a meaning on several hosts.
pub(super) const SUITES: [&str; 3] = ["mark", "workload", "find-max"];

/// Runs the suite as one rank that has joined.
pub(super) fn run(row: &'static Row, own: &Own, joined: &Joined) -> ExitCode {
    let cluster = &joined.cluster;
    if !cluster.me().is_hub() {
        fall_silent();
    }
    let code = match prepared(row, own, joined) {
        Ok((chosen, ranks)) => {
            if cluster.me().ranks > 1 {
                say_line(format_args!(
                    "note: every step runs on {} ranks at once, and its figures are those of all together",
                    cluster.me().ranks
                ));
            }
            let folder = ranks.folder.clone();
            let code = chosen
                .run(Some(Arc::new(ranks)))
                .unwrap_or_else(|answer| tell(Refusal::command_line(answer.to_string())));
            folder.take_back();
            if cluster.me().is_hub() && folder.is_there() {
                say_line(format_args!("{}", folder.words(cluster.me())));
            }
            code
        }
        Err(refusals) => {
            let code = ExitCode::of(Outcome::Refused(refusals.kind()));
            cluster.refuse(&refusals.all);
            refused(cluster, refusals);
            code
        }
    };
    if cluster.me().is_hub() {
        return code;
    }
    // Who ends before the others tells them why; after the last step nobody asks for it.
    cluster.hand_in_nothing(untold_faults());
    end_as(cluster.await_end())
}

/// Rank 0 says why nothing runs, for all.
fn refused(cluster: &Cluster, own: Refusals) {
    if cluster.me().is_hub() {
        let others = cluster.refusals_of_others();
        tell(own);
        if !others.is_empty() {
            tell(Refusals::from(others));
        }
    }
}

/// The suite with its options.
///
/// # Errors
/// Its help, or why the words are refused.
pub(super) fn chosen(row: &'static Row, words: &[String]) -> Result<Chosen, clap::Error> {
    let words: Vec<OsString> =
        std::iter::once(row.name).chain(words.iter().map(String::as_str)).map(OsString::from).collect();
    let command = Chosen::augment_subcommands(clap::Command::new("truespd cluster").no_binary_name(true));
    Chosen::from_arg_matches(&command.try_get_matches_from((row.words)(&words))?)
}

/// The suite with its options on this rank.
fn prepared(row: &'static Row, own: &Own, joined: &Joined) -> Result<(Chosen, ClusterSeries), Refusals> {
    let me = joined.cluster.me();
    if own.options.shard || own.options.shared {
        let message =
            "--shard and --shared are for truespd cluster run: a suite makes files of its own on each rank";
        return Err(Refusal::command_line(message).into());
    }
    // As typed they were legal.
    let chosen = chosen(row, &me.values().replaced(&own.line)?)
        .map_err(|answer| Refusal::command_line(answer.to_string()))?;
    let folder =
        Folder::make(own.options.documents.as_deref(), joined.has_folder, me).map_err(Refusal::from)?;
    let ranks = ClusterSeries {
        cluster: Arc::clone(&joined.cluster),
        folder,
        stop: joined.stop.clone(),
        signals: joined.signals.clone(),
        runs: AtomicU32::new(0),
    };
    Ok((chosen, ranks))
}

/// The ranks of a series, from one of them.
#[derive(Debug)]
struct ClusterSeries {
    cluster: Arc<Cluster>,
    folder: Folder,
    stop: Latch,
    signals: Signals,
    runs: AtomicU32,
}

impl SeriesRanks for ClusterSeries {
    fn count(&self) -> u32 {
        self.cluster.me().ranks
    }

    fn shows(&self) -> bool {
        self.cluster.me().is_hub()
    }

    fn stop(&self, notice: Box<dyn Fn() + Send + Sync>) -> Latch {
        self.signals.say_by(notice);
        self.stop.clone()
    }

    fn arrange(&self, profile: &mut Profile) {
        self.cluster.has_profile(hash(profile));
        let me = self.cluster.me();
        for span in &mut profile.time_spans {
            // With one seed, I/Os that arrive at random would arrive at the same moments on all ranks.
            if span.targets.iter().any(|target| !target.arrivals.is_even()) {
                span.rand_seed = span.rand_seed.wrapping_add(me.rank.wrapping_mul(SEEDS_OF_A_RANK));
            }
        }
        for target in profile.time_spans.iter_mut().flat_map(|span| &mut span.targets) {
            target.throughput = target.throughput.map(|rate| match rate {
                Throughput::BytesPerMs(whole) => Throughput::BytesPerMs(part(whole, me.rank, me.ranks)),
                Throughput::Iops(whole) => Throughput::Iops(part(whole, me.rank, me.ranks)),
            });
        }
    }

    fn ranks(&self) -> Arc<dyn Ranks> {
        Arc::clone(&self.cluster) as Arc<dyn Ranks>
    }

    fn progress(&self, own: &Progress) -> Progress {
        self.cluster.progress(own)
    }

    fn counted(&self, own: Counted) -> Counted {
        self.cluster.counted(own)
    }

    fn refusals(&self) -> Vec<Refusal> {
        self.cluster.refusals_of_others()
    }

    fn sum(&self, mut own: FinishedRun) -> Result<Document, Fault> {
        let number = self.runs.fetch_add(1, Ordering::Relaxed) + 1;
        let outputs = Outputs::open_without_run(&[self.folder.document_of_run(number)], std::iter::empty());
        own.failures.extend(leave_document(&self.cluster, &mut own.document, outputs));
        if self.cluster.me().is_hub() { self.sum_of_all(own) } else { self.handed_in(&own) }
    }
}

impl ClusterSeries {
    /// Rank 0 adds up, and tells the others.
    fn sum_of_all(&self, own: FinishedRun) -> Result<Document, Fault> {
        let finished = self.cluster.collect();
        let sum = sum(own, &finished, self.cluster.me());
        if sum.failures.is_empty() {
            // What the next step depends on is all that the others need.
            self.cluster.tell_sum(Some(json::write(&without_rows(sum.document.clone())).as_bytes()));
            return Ok(sum.document);
        }
        self.cluster.tell_sum(None);
        Err(sum.failures.into())
    }

    /// Any other rank hands in, and waits for the sum.
    fn handed_in(&self, own: &FinishedRun) -> Result<Document, Fault> {
        let failures = own.failures.iter().map(ToString::to_string).collect();
        self.cluster.hand_in(&own.document, failures);
        let Some(sum) = self.cluster.await_sum() else {
            let what = "there is no sum of the results of all ranks";
            return Err(Failure::new(FailureKind::Lost, what).into());
        };
        json::read(&sum)
            .map_err(|error| Failure::new(FailureKind::Lost, format!("the sum of all ranks {error}")).into())
    }
}

/// The share of a rank in a whole number; all shares add up to it.
fn part(whole: u64, rank: u32, ranks: u32) -> u64 {
    let (rank, ranks) = (u64::from(rank), u64::from(ranks.max(1)));
    whole / ranks + u64::from(rank < whole % ranks)
}

/// Why a suite does not run on several hosts.
pub(super) fn no_suite(word: &str) -> Refusal {
    let message = format!("truespd cluster {word}: there is no such cluster run");
    Refusal::new(RefusalKind::CommandLine, message)
        .hint(format!("what runs on many hosts: run, {} (truespd cluster run --help)", SUITES.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_to_the_whole_and_differ_by_one_at_most() {
        for (whole, ranks) in [(0, 3), (1, 3), (100, 3), (1_000_003, 7), (5, 1000)] {
            let parts: Vec<u64> = (0..ranks).map(|rank| part(whole, rank, ranks)).collect();
            assert_eq!(parts.iter().sum::<u64>(), whole);
            let (least, most) = (parts.iter().min().unwrap(), parts.iter().max().unwrap());
            assert!(most - least <= 1, "{whole} of {ranks}");
        }
    }

    #[test]
    fn the_suites_are_there() {
        for name in SUITES {
            assert!(Row::named(name).is_some(), "{name}");
        }
    }
}
