//! Steps of a series, and what can run them.

use crate::runner::Length;
use diskspd::request::Line;
use std::time::Duration;
use truespd_core::result::Document;
use truespd_platform::fault::Fault;

/// One run of a series.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// What it is, for people, in a few words: `RND4K Q32T1 read, 2 of 5`. Names of kept documents are made from it.
    pub name: String,
    pub line: Line,
    pub length: Length,
    pub kind: Kind,
}

/// A step whose line is still to be read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Draft {
    pub name: String,
    /// The words of the DiskSpd command line that it is, without the program's name.
    pub words: Vec<String>,
    pub length: Length,
    pub kind: Kind,
    pub pause: Option<Duration>,
}

impl Draft {
    /// With its line as `runner` reads it.
    ///
    /// # Errors
    /// As [`Runner::line`].
    pub fn read(self, runner: &mut dyn Runner) -> Result<Step, Ended> {
        let Draft { name, words, length, kind, .. } = self;
        Ok(Step { name, line: runner.line(words)?, length, kind })
    }
}

/// Runs steps one after the other: `ahead` tells what the rest takes; `take` gets the document of the step at a place
/// and returns a line for the person, where there is something to say.
///
/// # Errors
/// [`Ended`]; what was taken until then counts.
pub fn run_steps(
    steps: &[Draft],
    runner: &mut dyn Runner,
    ahead: impl Fn(&[Draft]) -> Ahead,
    mut take: impl FnMut(usize, &Document) -> Option<String>,
) -> Result<(), Ended> {
    for (place, step) in steps.iter().enumerate() {
        if let Some(pause) = step.pause {
            let here = ahead(&steps[place..]);
            runner.ahead(Ahead { length: here.length.and(-pause.as_secs_f64()), ..here });
            runner.pause(pause)?;
        }
        runner.ahead(ahead(&steps[place + 1..]));
        let step = step.clone().read(runner)?;
        if let Some(words) = take(place, &runner.run(&step)?) {
            runner.tell(&words);
        }
    }
    Ok(())
}

/// What a step is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
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

    /// How long such a step takes, of how long a run takes that counts.
    pub fn lasting(self, length: Length) -> Length {
        if self == Kind::Counts { length } else { length.uncounted() }
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
    pub steps: usize,
    pub length: Length,
    pub known: Known,
}

/// How well it is known what is still to come, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Known {
    #[default]
    Exactly,
    /// The series ends earlier when it has its answer.
    AtMost,
    /// What such a series usually takes.
    Usually,
}

impl Ahead {
    /// All of these steps, with the pauses before them.
    pub fn exactly(steps: &[Draft]) -> Self {
        let lengths = steps.iter().map(|step| step.length.and(step.pause.unwrap_or_default().as_secs_f64()));
        Ahead { steps: steps.len(), length: lengths.sum(), known: Known::Exactly }
    }
}

impl std::iter::Sum for Ahead {
    fn sum<I: Iterator<Item = Ahead>>(all: I) -> Self {
        all.fold(Ahead::default(), |a, b| Ahead {
            steps: a.steps + b.steps,
            length: [a.length, b.length].into_iter().sum(),
            known: a.known.max(b.known),
        })
    }
}

/// Reads and runs the lines of a series.
pub trait Runner {
    /// What a line means, once.
    ///
    /// # Errors
    /// [`Ended::Failed`]: the line cannot be run.
    fn line(&mut self, words: Vec<String>) -> Result<Line, Ended>;

    /// Runs one line and returns its document with its verdict.
    ///
    /// # Errors
    /// [`Ended`]; nothing of the run is left.
    fn run(&mut self, step: &Step) -> Result<Document, Ended>;

    fn pause(&mut self, length: Duration) -> Result<(), Ended>;

    /// Tells what is still to come after the present step.
    fn ahead(&mut self, ahead: Ahead);

    /// A line for the person, beside what is shown of the present step.
    fn tell(&mut self, words: &str);

    /// Where the series is, in a few words, which replace those before: they are shown when the next step begins.
    fn at(&mut self, _words: &str) {}
}
