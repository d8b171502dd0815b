//! `truespd workload`: named loads, and the highest rate that keeps a latency limit.

pub mod preset;
mod report;
pub mod sweep;
#[cfg(test)]
mod tests;

use crate::suite::{Ahead, Draft, Ended, Known, Runner, run_steps};
pub use report::{Outcome, Row, Run, Search, SearchEnd};
use std::time::Duration;
pub use sweep::Point;
use sweep::{LatencyLimit, Next, RUNS_USUAL};
use truespd_core::profile::Profile;
use truespd_core::result::metrics::{Metric, Since};
use truespd_core::result::{Document, Grade, Summary};

/// Pause between the run without a limit and the first rate, in which the storage finishes what that run wrote.
const SETTLE: Duration = Duration::from_secs(5);

impl Plan {
    /// The lines that run first: all, but those of a search that follow from what is found.
    pub fn steps(&self) -> Vec<Draft> {
        match &self.work {
            Work::Lines(lines) => {
                let mut steps = Vec::new();
                for (index, line) in lines.iter().enumerate() {
                    let name = match lines.len() {
                        1 => self.name.clone(),
                        count => format!("{}, {} of {count}", self.name, index + 1),
                    };
                    steps.push(self.line(name, line, None));
                }
                steps
            }
            Work::Profile { path, profile } => {
                let mut words = vec![format!("-X{path}")];
                words.extend(self.times.words());
                words.extend(self.targets.iter().cloned());
                let seconds = self.times.seconds() * profile.time_spans.len() as f64;
                vec![Draft { name: self.name.clone(), words, seconds, ..Draft::default() }]
            }
            Work::Search { line, .. } => {
                vec![self.line(format!("{} without a limit", self.name), line, None)]
            }
        }
    }

    fn line(&self, name: String, line: &[String], per_stream: Option<u64>) -> Draft {
        let mut words: Vec<String> = self.create.iter().cloned().collect();
        words.extend(line.iter().cloned());
        words.extend(per_stream.map(|rate| format!("-g{rate}i")));
        words.extend(self.times.words());
        words.extend(self.targets.iter().cloned());
        Draft { name, words, seconds: self.times.seconds(), ..Draft::default() }
    }

    /// Runs it. What is done when it ends early is in the outcome.
    pub fn run(&self, runner: &mut dyn Runner) -> (Outcome, Result<(), Ended>) {
        let mut outcome = Outcome::begin(&self.name, &self.about, &self.source);
        let steps = self.steps();
        let ahead = |rest: &[Draft]| match self.work {
            Work::Search { .. } => {
                let search = self.search_ahead(0);
                Ahead { seconds: search.seconds + SETTLE.as_secs_f64(), ..search }
            }
            Work::Lines(_) | Work::Profile { .. } => Ahead::exactly(rest),
        };
        let mut result = run_steps(&steps, runner, ahead, |place, document| {
            outcome.take(&steps[place], document);
            None
        });
        let unlimited = outcome.runs.first().and_then(|run| run.total_iops);
        if let (Ok(()), Work::Search { line, limit, streams, outstanding }, Some(unlimited_iops)) =
            (&result, &self.work, unlimited)
        {
            let mut search = Search {
                limit: *limit,
                streams: *streams,
                outstanding: *outstanding,
                unlimited_iops,
                points: Vec::new(),
                end: None,
            };
            result = self.search(line, &mut search, &mut outcome, runner);
            outcome.search = Some(search);
        }
        (outcome, result)
    }

    /// What a search usually still takes after `done` rates.
    fn search_ahead(&self, done: usize) -> Ahead {
        let steps = (RUNS_USUAL - 1).saturating_sub(done).max(1);
        Ahead { steps, seconds: steps as f64 * self.times.seconds(), known: Known::Usually }
    }

    fn search(
        &self,
        line: &[String],
        search: &mut Search,
        outcome: &mut Outcome,
        runner: &mut dyn Runner,
    ) -> Result<(), Ended> {
        let (limit, streams) = (search.limit, search.streams);
        let unlimited = search.unlimited_iops / streams.max(1) as f64;
        runner.ahead(self.search_ahead(0));
        runner.pause(SETTLE)?;
        loop {
            let rate = match sweep::next(unlimited, &search.points) {
                Next::Try(rate) => rate,
                end => {
                    search.end = Some(SearchEnd::of(end, limit, &search.points));
                    return Ok(());
                }
            };
            runner.ahead(self.search_ahead(search.points.len() + 1));
            let name = format!("{} at {} IOPS", self.name, rate.saturating_mul(streams));
            let step = self.line(name.clone(), line, Some(rate)).read(runner)?;
            let document = runner.run(&step)?;
            let grade = outcome.judge(&name, &document);
            let Some(point) = point(limit, rate, streams, &document, grade) else {
                search.end = Some(SearchEnd::NoIo(rate));
                return Ok(());
            };
            search.points.push(point);
        }
    }
}

/// What a run at a rate reached; none when it did no I/O at all.
fn point(
    limit: LatencyLimit,
    rate: u64,
    streams: u64,
    document: &Document,
    grade: Option<Grade>,
) -> Option<Point> {
    let total = Summary::of(document.measured().next()?).total;
    let reached = Metric::IOPS.of_sum(&total, Since::Wanted)?;
    Some(Point::of(limit, rate, streams, reached, total.response.as_ref()?, grade))
}

/// Starting and ending a run, roughly, in seconds.
pub(super) const AROUND_S: f64 = 0.5;

/// Measured times that were asked for, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    pub warmup_s: u32,
    pub duration_s: u32,
    pub cooldown_s: u32,
}

impl Times {
    pub(super) fn words(self) -> [String; 3] {
        [format!("-W{}", self.warmup_s), format!("-d{}", self.duration_s), format!("-C{}", self.cooldown_s)]
    }

    pub(super) fn seconds(self) -> f64 {
        f64::from(self.warmup_s) + f64::from(self.duration_s) + f64::from(self.cooldown_s) + AROUND_S
    }
}

/// A workload on its targets.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub name: String,
    /// What it is, in one line.
    pub about: String,
    /// Where its figures come from.
    pub source: String,
    /// Words of `-c` for lines whose files are to be made; the files of a line are equally large.
    pub create: Option<String>,
    /// Files or devices, as words of the command line.
    pub targets: Vec<String>,
    pub times: Times,
    pub work: Work,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Work {
    Lines(Vec<Vec<String>>),
    /// A profile in a file, for `-X`.
    Profile {
        path: String,
        profile: Box<Profile>,
    },
    /// A line at rates, until the highest that keeps the limit is found.
    Search {
        line: Vec<String>,
        limit: LatencyLimit,
        /// Threads times targets: what a rate per thread is multiplied with.
        streams: u64,
        /// I/Os of all threads that are outstanding at once, at most.
        outstanding: u64,
    },
}
