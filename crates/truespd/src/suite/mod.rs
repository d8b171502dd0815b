//! Named series of runs: the questions people really ask, in one command each.
//!
//! A suite says which lines of DiskSpd's command line run in which order, and what their documents mean together. How a
//! line is run, shown, kept and stopped is the business of a [`Runner`].

pub mod ab;
pub mod assess;
pub mod findings;
pub mod mark;
pub mod study;
pub mod workload;

use crate::suite::findings::SeriesVerdict;
use diskspd::request::Line;
use diskspd::show::verdict::Style;
use std::time::Duration;
use truespd_core::fault::Fault;
use truespd_core::result::{Document, Grade, Part};
use truespd_core::text::printable;

/// What a suite leaves: a versioned document.
pub trait SuiteDocument {
    fn has_figures(&self) -> bool;

    /// The verdicts of its runs, each with the title of its part, which is empty where there is only one.
    fn verdicts(&self) -> Vec<(&str, &SeriesVerdict)>;

    /// The figures of its tests: what the history keeps, finds and counts.
    fn parts(&self) -> Vec<Part>;

    /// The tables for standard output.
    fn text(&self, style: Style) -> String;

    /// The worst verdict of its runs; none when no run was judged.
    fn grade(&self) -> Option<Grade> {
        self.verdicts().iter().filter_map(|(_, verdict)| verdict.grade).max()
    }

    /// The verdicts of its runs as people read them.
    fn verdict_text(&self, style: Style) -> String {
        let mut out = String::new();
        for (title, verdict) in self.verdicts() {
            if !title.is_empty() {
                out.push_str(&format!("== {}\n", printable(title)));
            }
            out.push_str(&verdict.text(style));
        }
        out
    }
}

/// One run of a series.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// What it is, for people, in a few words: `RND4K Q32T1 read, 2 of 5`. Names of kept documents are made from it.
    pub name: String,
    pub line: Line,
    /// What it is going to take.
    pub seconds: f64,
    pub kind: Kind,
}

/// A step whose line is still to be read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Draft {
    pub name: String,
    /// The words of the DiskSpd command line that it is, without the program's name.
    pub words: Vec<String>,
    pub seconds: f64,
    pub kind: Kind,
    pub pause: Option<Duration>,
}

impl Draft {
    /// With its line as `runner` reads it.
    ///
    /// # Errors
    /// As [`Runner::line`].
    pub fn read(self, runner: &mut dyn Runner) -> Result<Step, Ended> {
        let Draft { name, words, seconds, kind, .. } = self;
        Ok(Step { name, line: runner.line(words)?, seconds, kind })
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
            runner.ahead(Ahead { seconds: here.seconds - pause.as_secs_f64(), ..here });
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
    pub seconds: f64,
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
        let seconds = steps.iter().map(|step| step.seconds + step.pause.unwrap_or_default().as_secs_f64());
        Ahead { steps: steps.len(), seconds: seconds.sum(), known: Known::Exactly }
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

    fn pause(&mut self, length: Duration) -> Result<(), Ended>;

    /// Tells what is still to come after the present step.
    fn ahead(&mut self, ahead: Ahead);

    /// A line for the person, beside what is shown of the present step.
    fn tell(&mut self, words: &str);
}

/// Middle, smallest and largest of some figures.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct Spread {
    /// Half of the figures are above and half below.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// How many there are.
    pub count: usize,
}

impl Spread {
    pub fn of(figures: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = figures.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let (lower, upper) = ((sorted.len() - 1) / 2, sorted.len() / 2);
        Some(Spread { median: (sorted[lower] + sorted[upper]) / 2.0, min, max, count: sorted.len() })
    }

    /// Half the distance between the extremes, in percent of the median; 0 when the median is.
    pub fn percent(&self) -> f64 {
        if self.median == 0.0 { 0.0 } else { (self.max - self.min) / 2.0 / self.median * 100.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn middle_and_extremes() {
        assert_eq!(Spread::of([]), None);
        assert_eq!(Spread::of([3.0]), Some(Spread { median: 3.0, min: 3.0, max: 3.0, count: 1 }));
        assert_eq!(Spread::of([9.0, 1.0, 2.0]).map(|s| s.median), Some(2.0));
        let even = Spread::of([4.0, 1.0, 3.0, 2.0]).unwrap();
        assert_eq!((even.median, even.min, even.max, even.count), (2.5, 1.0, 4.0, 4));
        assert_eq!(even.percent(), 60.0);
        assert_eq!(Spread::of([0.0, 0.0]).map(|s| s.percent()), Some(0.0));
    }
}
