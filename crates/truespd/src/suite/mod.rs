//! Named series of runs: the questions people really ask, in one command each.
//!
//! A suite says which lines of DiskSpd's command line run in which order, and what their documents mean together. How a
//! line is run, shown, kept and stopped is the business of a [`Runner`].

pub mod ab;
pub mod assess;
pub mod beside;
pub mod find_max;
mod length;
pub mod mark;
mod of_target;
pub mod pts;
pub mod rounds;
mod sequence;
pub mod study;
pub mod sustain;
pub mod sweep;
pub mod workload;

use crate::answer::{Answer, SeriesVerdict, Shown};
use diskspd::request::Line;
pub use length::{Length, duration_words};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use truespd_core::result::{Document, Finding, FindingGrade, Grade, Layer, Part};
use truespd_front::show::Style;
use truespd_platform::fault::Fault;
use truespd_platform::machine::host;
use truespd_platform::text::{duration_ns, printable};

/// What a suite leaves: a versioned document.
pub trait SuiteDocument {
    fn has_figures(&self) -> bool;

    /// What it is, and where it ran: `CrystalDiskMark tests on HOST: /mnt/data (Samsung 990 PRO)`.
    fn title(&self) -> String;

    /// The verdicts of its runs, each with the title of its part, which is empty where there is only one.
    fn verdicts(&self) -> Vec<(&str, &SeriesVerdict)>;

    /// Ranks of a cluster run that measured together; 1 without a cluster.
    fn ranks(&self) -> u32 {
        1
    }

    /// The figures of its tests.
    fn parts(&self) -> Vec<Part>;

    /// The same as the history keeps, finds and counts them: what several ranks did together is another test.
    fn kept_parts(&self) -> Vec<Part> {
        let mut parts = self.parts();
        if self.ranks() > 1 {
            for part in &mut parts {
                part.name.push_str(&format!(" ({} ranks)", self.ranks()));
            }
        }
        parts
    }

    /// What it says, for all that draws it.
    fn answer(&self) -> Answer;

    /// What standard output shows of it.
    fn text(&self, shown: Shown) -> String {
        self.answer().text(shown)
    }

    /// Its table as comma-separated values; empty where the suite writes none.
    fn csv(&self) -> String {
        self.answer().csv()
    }

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

/// Where the runs of a suite ran. Documents from before it was noted lack it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RanOn {
    /// Name of the host that measured: in a cluster run, that of rank 0.
    pub computer_name: String,
    /// Ranks of a cluster run that measured together; 1 without a cluster.
    #[serde(skip_serializing_if = "is_one")]
    pub ranks: u32,
    /// Folders, files or devices that were tested.
    pub targets: Vec<String>,
    /// Models of the disks below them, as far as they are known.
    pub models: Vec<String>,
}

impl Default for RanOn {
    fn default() -> Self {
        RanOn { computer_name: String::new(), ranks: 1, targets: Vec::new(), models: Vec::new() }
    }
}

/// Whether a document need not tell how many ranks measured.
pub fn is_one(ranks: &u32) -> bool {
    *ranks == 1
}

/// What documents from before there were cluster runs of suites mean.
pub fn one_rank() -> u32 {
    1
}

impl RanOn {
    /// On the host that this program runs on, by so many ranks.
    pub fn here(ranks: u32, targets: Vec<String>, disks: &[Layer]) -> Self {
        RanOn { computer_name: host::host_name(), ranks, targets, models: models(disks) }
    }

    pub fn is_unknown(&self) -> bool {
        *self == RanOn::default()
    }

    /// ` on HOST: /mnt/data (Samsung 990 PRO)`, ` on 4 ranks, rank 0 on HOST: /mnt/data`, or nothing.
    pub fn words(&self) -> String {
        let mut words = String::new();
        if self.ranks > 1 {
            words.push_str(&format!(" on {} ranks, rank 0", self.ranks));
        }
        if !self.computer_name.is_empty() {
            words.push_str(&format!(" on {}", self.computer_name));
        }
        if !self.targets.is_empty() {
            words.push_str(&format!(": {}", self.targets.join(", ")));
        }
        if !self.models.is_empty() {
            words.push_str(&format!(" ({})", self.models.join(", ")));
        }
        words
    }
}

/// The models of disks, each once.
pub fn models(disks: &[Layer]) -> Vec<String> {
    let mut models: Vec<String> = Vec::new();
    for model in disks.iter().filter_map(|disk| disk.model.as_ref()) {
        if !models.contains(model) {
            models.push(model.clone());
        }
    }
    models
}

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

/// Stands under a table with response times, which have a star there.
pub const OF_RESPONSES: &str = "* response time: begins when the rate (-g) scheduled the I/O";

/// Shows a latency; a response time with the star that [`OF_RESPONSES`] explains.
pub fn show_latency(is_response: bool) -> fn(f64) -> String {
    if is_response { |ns| duration_ns(ns) + "*" } else { duration_ns }
}

/// What the schema says of the version of documents that may get more members.
pub const MEMBERS_ARE_ADDED: &str =
    "Version of this layout: 1. Within a version members are only added, and each of those may be missing.";

/// What the range of a point means where points have several runs.
pub const OF_RUNS: &str = "The range of a point is its 95 % interval; with fewer than three runs, from the \
    smallest to the largest.";

/// What to do about a small working set, in suites whose test files have `--size`.
pub const LARGER_TARGET: &str = "test a target that is much larger than the caches, or give --size 20G";

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

    /// Where the series is, in a few words, which replace those before: they are shown when the next step begins.
    fn at(&mut self, _words: &str) {}
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

/// The worst grade of a run, and its findings, leaving out those that `is_beside_the_point`. A document without a
/// verdict has no grade.
pub fn judged(
    document: &Document,
    is_beside_the_point: impl Fn(&Finding) -> bool,
) -> (Option<Grade>, Vec<&Finding>) {
    let Some(verdict) = &document.verdict else { return (None, Vec::new()) };
    let findings: Vec<&Finding> = verdict.findings.iter().filter(|f| !is_beside_the_point(f)).collect();
    (Some(Grade::of(findings.iter().copied())), findings)
}

/// The rule about writes that a cache of the drive acknowledges.
const VOLATILE_CACHE: &str = "volatile-cache";

/// The findings of a run for a suite whose method counts such writes, as CrystalDiskMark's and winsat's do: that they
/// are not durable yet is a remark, and says nothing against the figure.
pub fn counting_cached_writes(document: &Document) -> Vec<Finding> {
    let mut findings = document.verdict.clone().unwrap_or_default().findings;
    for finding in &mut findings {
        if finding.rule == VOLATILE_CACHE {
            finding.grade = FindingGrade::Remark;
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use truespd_core::result::Verdict;

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

    #[test]
    fn what_is_beside_the_point_does_not_count() {
        let finding = |rule: &str, grade| Finding { rule: rule.into(), grade, ..Finding::default() };
        let findings = vec![finding("a", FindingGrade::Suspect), finding("b", FindingGrade::Remark)];
        let verdict = Verdict { grade: Grade::Suspect, findings, ..Verdict::default() };
        let document = Document { verdict: Some(verdict), ..Document::default() };
        let (grade, found) = judged(&document, |_| false);
        assert_eq!((grade, found.len()), (Some(Grade::Suspect), 2));
        assert_eq!(judged(&document, |f| f.rule == "a").0, Some(Grade::Certified));
        assert_eq!(judged(&Document::default(), |_| false).0, None);
    }
}
