//! The results of all ranks in one.

use crate::cluster::{Finished, Me};
use truespd_core::fault::{Failure, FailureKind};
use truespd_core::load::{FinishedRun, Note};
use truespd_core::result::merge::Merger;
use truespd_core::result::{Document, LostHow, LostRank, json};
use truespd_core::verdict::judge;

/// The results of all ranks in one, with what is missing.
pub(super) fn sum(own: FinishedRun, finished: &Finished, me: &Me) -> FinishedRun {
    if me.ranks == 1 {
        return own;
    }
    let FinishedRun { document, mut failures, mut notes } = own;
    let mut merged = merge(document.clone(), finished, false);
    if let Err(failure) = &merged {
        // Better all numbers with a warning than none.
        failures.push(failure.clone());
        merged = merge(document.clone(), finished, true);
    }
    let mut sum = match merged {
        Ok(sum) => sum,
        Err(failure) => {
            failures.push(failure);
            document
        }
    };
    sum.verdict = Some(judge(&sum));
    failures.extend(finished.lost.iter().map(lost));
    for (rank, of_rank) in &finished.handed_in {
        let is_told = of_rank.document.is_none();
        let told = of_rank.failures.iter().filter(|_| !is_told);
        failures.extend(told.map(|words| Failure::new(FailureKind::Io, format!("rank {rank}: {words}"))));
    }
    notes.retain(|note| !note.is_detail);
    notes.push(Note::detail(format!("the sum of {} of {} ranks", sum.sources.len().max(1), me.ranks)));
    FinishedRun { document: sum, failures, notes }
}

fn merge(own: Document, finished: &Finished, force: bool) -> Result<Document, Failure> {
    let failed = |what: String| {
        Failure::new(FailureKind::Figure, "the results of the ranks cannot be added up").because(what)
    };
    let mut merger = Merger::new(force);
    merger.add("the result of rank 0", own).map_err(|error| failed(error.to_string()))?;
    for (rank, of_rank) in &finished.handed_in {
        let Some(bytes) = &of_rank.document else { continue };
        let document =
            json::read(bytes).map_err(|error| failed(format!("the result of rank {rank} {error}")))?;
        merger
            .add(&format!("the result of rank {rank}"), document)
            .map_err(|error| failed(error.to_string()))?;
    }
    merger.finish().map_err(|error| failed(error.to_string()))
}

/// What is said of a rank that is missing.
fn lost(lost: &LostRank) -> Failure {
    let who = format!("rank {} on host {}", lost.rank, lost.host);
    match lost.how {
        LostHow::Silent => Failure::new(FailureKind::Lost, format!("{who} does not answer any more; its result is missing"))
            .hint("look whether the host and the network are up; a result that the rank left there can be added by truespd merge"),
        LostHow::Failed => {
            let failure = Failure::new(FailureKind::Io, format!("{who} has no result"));
            if lost.failures.is_empty() { failure } else { failure.because(lost.failures.join("; ")) }
        }
    }
}
