//! Processes that run the same series at the same time (a cluster run): each runs every step, and all go on
//! with the sum.

use std::fmt::Debug;
use std::sync::Arc;

use truespd_core::fault::{Fault, Refusal};
use truespd_core::load::FinishedRun;
use truespd_core::load::live::{Counted, Progress};
use truespd_core::load::ranks::Ranks;
use truespd_core::profile::Profile;
use truespd_core::result::Document;
use truespd_core::sys::wake::Latch;

/// The other processes of a series.
pub trait Crew: Debug + Send + Sync {
    /// This process shows the series, writes its results and keeps them.
    fn shows(&self) -> bool;

    /// The latch that ends the series of this process; `notice` is called when the person wants that.
    fn stop(&self, notice: Box<dyn Fn() + Send + Sync>) -> Latch;

    /// Makes the profile of a step that of this process: a rate is shared among all.
    fn arrange(&self, profile: &mut Profile);

    /// For the run of a step.
    fn companions(&self) -> Arc<dyn Ranks>;

    /// The progress of all, of that of this process.
    fn progress(&self, own: &Progress) -> Progress;

    /// What all counted over a time span, of what this process did.
    fn counted(&self, own: Counted) -> Counted;

    /// Why the others refuse a step.
    fn refusals(&self) -> Vec<Refusal>;

    /// The sum of the results of all processes, of that of this one: the same on all of them.
    ///
    /// # Errors
    /// A process failed or is lost.
    fn sum(&self, own: FinishedRun) -> Result<Document, Fault>;
}
