//! Named series of runs: the questions people really ask, in one command each.
//!
//! A suite says which lines of DiskSpd's command line run in which order, and what their documents mean together. How a
//! line is run, shown, kept and stopped is the business of a [`Runner`].

pub mod ab;
pub mod assess;
pub mod figures;
pub mod findings;
pub mod mark;
pub mod study;
pub mod workload;

use std::time::Duration;

use crate::suite::findings::SeriesVerdict;
use diskspd::request::Line;
use truespd_core::fault::Fault;
use truespd_core::result::{Document, Grade, Part, envelope};

/// What a suite leaves: a versioned document.
pub trait SuiteDocument: envelope::DocumentKind {
    /// Whether anything was measured.
    fn has_figures(&self) -> bool;

    /// The worst verdict of its runs; none when no run was judged.
    fn grade(&self) -> Option<Grade>;

    /// The verdicts of its runs, each with the title of its part, which is empty where there is only one.
    fn verdicts(&self) -> Vec<(&str, &SeriesVerdict)>;

    /// The figures of its tests: what the history keeps, finds and counts.
    fn parts(&self) -> Vec<Part>;
}

/// One run of a series.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// What it is, for people, in a few words: `RND4K Q32T1 read, 2 of 5`. Names of kept documents are made from it.
    pub name: String,
    /// What runs.
    pub line: Line,
    /// What it is going to take, in seconds.
    pub seconds: f64,
    /// What it is for.
    pub kind: Kind,
}

/// A step whose line is still to be read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Draft {
    /// As [`Step::name`].
    pub name: String,
    /// The words of the DiskSpd command line that it is, without the program's name.
    pub words: Vec<String>,
    /// As [`Step::seconds`].
    pub seconds: f64,
    /// As [`Step::kind`].
    pub kind: Kind,
}

impl Draft {
    /// With its line as `runner` reads it.
    ///
    /// # Errors
    /// As [`Runner::line`].
    pub fn read(self, runner: &mut dyn Runner) -> Result<Step, Ended> {
        let Draft { name, words, seconds, kind } = self;
        Ok(Step { name, line: runner.line(words)?, seconds, kind })
    }
}

/// Runs steps one after the other: `ahead` tells what the rest takes, `take` gets the document of the step at a place.
///
/// # Errors
/// [`Ended`]; what was taken until then counts.
pub fn run_steps(
    steps: &[Draft],
    runner: &mut dyn Runner,
    ahead: impl Fn(&[Draft]) -> Ahead,
    mut take: impl FnMut(usize, &Document),
) -> Result<(), Ended> {
    for (place, step) in steps.iter().enumerate() {
        runner.ahead(ahead(&steps[place + 1..]));
        let step = step.clone().read(runner)?;
        take(place, &runner.run(&step)?);
    }
    Ok(())
}

/// What a step is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    /// Its figures count.
    #[default]
    Counts,
    /// The first run of a variant, before those that count.
    First,
    /// A run of a test before those that count.
    Discarded,
    /// It makes the test file and measures nothing.
    Fill,
}

impl Kind {
    /// All of them whose figures do not count.
    pub const UNCOUNTED: [Kind; 3] = [Kind::First, Kind::Discarded, Kind::Fill];

    /// Ends the name of such a step; empty where it counts.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Counts => "",
            Kind::First => "first run, does not count",
            Kind::Discarded => "discarded run",
            Kind::Fill => "making the test file",
        }
    }

    /// Only the state in which it leaves the storage matters: a resumed series repeats it before the first
    /// run that it still has to make.
    pub fn prepares(self) -> bool {
        matches!(self, Kind::First | Kind::Discarded)
    }

    /// It is a run: one that makes a file is none.
    pub fn is_run(self) -> bool {
        self != Kind::Fill
    }
}

/// Why a series ends before its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// The person stopped it (Ctrl+C). What is done is kept.
    Stopped,
    /// A line was refused or failed.
    Failed(Fault),
}

impl<T: Into<Fault>> From<T> for Ended {
    fn from(fault: T) -> Self {
        Ended::Failed(fault.into())
    }
}

/// What is still to come, for the time left.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Ahead {
    /// Number of runs.
    pub steps: usize,
    /// Seconds, with pauses.
    pub seconds: f64,
    /// What the two are.
    pub known: Known,
}

/// How well it is known what is still to come, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Known {
    /// Exactly.
    #[default]
    Exactly,
    /// The series ends earlier when it has its answer.
    AtMost,
    /// What such a series usually takes.
    Usually,
}

impl Ahead {
    /// Runs with a pause between them.
    pub fn of(steps: &[Draft], pause: Duration) -> Self {
        let pauses = pause.as_secs_f64() * steps.len().saturating_sub(1) as f64;
        let seconds = steps.iter().map(|step| step.seconds).sum::<f64>() + pauses;
        Ahead { steps: steps.len(), seconds, known: Known::Exactly }
    }
}

impl std::iter::Sum for Ahead {
    fn sum<I: Iterator<Item = Ahead>>(all: I) -> Self {
        all.fold(Ahead::default(), |a, b| Ahead {
            steps: a.steps + b.steps,
            seconds: a.seconds + b.seconds,
            known: a.known.max(b.known),
        })
    }
}

/// Reads and runs the lines of a series.
pub trait Runner {
    /// What a line means, once.
    ///
    /// # Errors
    /// [`Ended::Failed`]: it is no line that can run.
    fn line(&mut self, words: Vec<String>) -> Result<Line, Ended>;

    /// Runs one line and returns its document with its verdict.
    ///
    /// # Errors
    /// [`Ended`]; nothing of the run is left.
    fn run(&mut self, step: &Step) -> Result<Document, Ended>;

    /// Lets time pass.
    ///
    /// # Errors
    /// [`Ended::Stopped`].
    fn pause(&mut self, length: Duration) -> Result<(), Ended>;

    /// Tells what is still to come after the present step.
    fn ahead(&mut self, ahead: Ahead);

    /// A line for the person, beside what is shown of the present step.
    fn tell(&mut self, words: &str);
}
