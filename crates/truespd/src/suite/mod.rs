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

use diskspd::request::Line;
pub use length::{Length, duration_words};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use truespd_core::result::{Document, Finding, FindingGrade, Grade, Layer, Meaning, Part, Theme, standing};
use truespd_front::show::{INDENT, Style, plural, push_wrapped};
use truespd_platform::fault::Fault;
use truespd_platform::machine::host;
use truespd_platform::text::{columns_of, hanging, printable, printable_text};

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

    /// The tables for standard output; what answers the question comes last.
    fn text(&self, shown: Shown) -> String;

    /// Its table as comma-separated values; empty where the suite writes none.
    fn csv(&self) -> String {
        String::new()
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

/// How the text of a suite's document is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    pub style: Style,
    /// With bars, for a terminal.
    pub has_bars: bool,
    /// With what the original program prints: CrystalDiskMark's text, winsat's lines.
    pub has_original: bool,
    pub findings: Findings,
}

/// How the findings of a series are told to a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Findings {
    /// Each with its sentence and its advice.
    Whole,
    /// Their names in one line, and what shows the rest.
    Names { rest: &'static str },
}

impl Shown {
    /// All of it, as a file has it.
    pub fn whole(style: Style) -> Self {
        Shown { style, has_bars: false, has_original: true, findings: Findings::Whole }
    }
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
pub const OF_RESPONSES: &str = "* response time: begins when the rate (-g) scheduled the I/O\n";

/// What to do about a small working set, in suites whose test files have `--size`.
pub const LARGER_TARGET: &str = "test a target that is much larger than the caches, or give --size 20G";

/// Rules with the advice of a suite, which is in its own options.
pub type Advice = &'static [(&'static [&'static str], &'static str)];

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

/// Kinds of runs that are named.
const LISTED: usize = 2;
/// Findings that are named in one line.
const NAMED: usize = 4;

/// The verdicts of a series of runs.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SeriesVerdict {
    /// The worst verdict of a run; none when no run was judged.
    pub grade: Option<Grade>,
    /// Runs that were judged.
    pub runs: usize,
    /// What rules found in them, one per rule and grade, the worst first, and within a grade what decides the
    /// meaning of the number before what slowed it.
    pub findings: Vec<RuleResult>,
}

/// One thing that a rule found in one or more runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Told")]
pub struct RuleResult {
    /// Name of the rule.
    pub rule: String,
    /// What it does to those runs; `certified` for a remark in documents from before remarks had a grade of their own.
    pub grade: FindingGrade,
    /// What it means for the number; `seen` in documents from before findings had a meaning.
    #[serde(default)]
    pub meaning: Meaning,
    /// What the rule is about; `symptom` in documents from before rules had one.
    #[serde(default)]
    pub cause: Theme,
    /// What is so in the first of the runs, in one sentence with its numbers.
    pub says: String,
    /// What to do about it, in one line.
    pub advice: String,
    /// Number of runs it was found in.
    pub runs: usize,
    /// What they measured, each once, in order.
    pub of: Vec<Of>,
}

/// Runs of one thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Of {
    /// What they measured.
    pub what: String,
    /// How many they are.
    pub runs: usize,
}

impl SeriesVerdict {
    /// Takes a run that measured `what`, with its grade (none: it was not judged) and those of its findings
    /// that matter. Several findings of one rule in one run (of two targets) count as one, the first.
    pub fn take<'a>(
        &mut self,
        what: &str,
        grade: Option<Grade>,
        findings: impl IntoIterator<Item = &'a Finding>,
    ) {
        self.grade = self.grade.max(grade);
        self.runs += usize::from(grade.is_some());
        let mut seen: Vec<(&str, FindingGrade)> = Vec::new();
        for finding in findings {
            let key = (finding.rule.as_str(), finding.grade);
            if !seen.contains(&key) {
                seen.push(key);
                self.count(what, finding);
            }
        }
        // Stable: within a cause in the order they were met.
        self.findings.sort_by_key(|one| standing(one.grade, one.meaning, one.cause));
    }

    fn count(&mut self, what: &str, finding: &Finding) {
        let known =
            self.findings.iter_mut().find(|one| one.rule == finding.rule && one.grade == finding.grade);
        let Some(known) = known else {
            self.findings.push(RuleResult {
                rule: finding.rule.clone(),
                grade: finding.grade,
                meaning: finding.meaning,
                cause: finding.cause,
                says: finding.says.clone(),
                advice: finding.advice.clone(),
                runs: 1,
                of: vec![Of { what: what.to_string(), runs: 1 }],
            });
            return;
        };
        known.runs += 1;
        match known.of.iter_mut().find(|of| of.what == what) {
            Some(of) => of.runs += 1,
            None => known.of.push(Of { what: what.to_string(), runs: 1 }),
        }
    }

    /// Runs of `what` in which the rule found something that is more than a remark.
    pub fn runs_with(&self, rule: &str, what: &str) -> usize {
        let found = self.findings.iter().filter(|one| one.rule == rule && !one.grade.is_remark());
        let of = found.flat_map(|one| &one.of).filter(|of| of.what == what);
        of.fold(0, |sum, of| sum.saturating_add(of.runs))
    }

    /// Replaces the advice of rules, which is for single runs, by advice in options of a suite, where there is some.
    pub fn advise(&mut self, advice: Advice) {
        for one in &mut self.findings {
            if let Some((_, own)) = advice.iter().find(|(rules, _)| rules.contains(&one.rule.as_str())) {
                one.advice = own.to_string();
            }
        }
    }

    /// As it is asked for, without an empty line around it.
    pub fn shown(&self, shown: Shown) -> String {
        match shown.findings {
            Findings::Whole => self.text(shown.style),
            Findings::Names { rest } => self.names(rest, shown.style),
        }
    }

    /// `suspect: not-steady (1 run), steal (all runs) and 2 more; 2 remarks; REST tells why`; ends with a line end. The
    /// last part is missing where there is nothing else to tell.
    fn names(&self, rest: &str, style: Style) -> String {
        let words = word(self.grade);
        let grade = self.grade.map_or(words.to_string(), |grade| style.paint(grade, words));
        let (remarks, found): (Vec<_>, Vec<_>) =
            self.findings.iter().partition(|finding| finding.grade.is_remark());
        let mut named = Vec::new();
        for one in found.iter().take(NAMED) {
            let runs = if one.runs == self.runs { "all runs".into() } else { plural(one.runs, "run") };
            named.push(format!("{} ({runs})", one.rule));
        }
        let more = match found.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let mut parts: Vec<String> = Vec::from([named.join(", ") + &more]);
        if !remarks.is_empty() {
            parts.push(plural(remarks.len(), "remark"));
        }
        if !self.findings.is_empty() {
            parts.push(format!("{rest} tells why"));
        }
        parts.retain(|part| !part.is_empty());
        let colon = if parts.is_empty() { "" } else { ": " };
        hanging("", &format!("{grade}{colon}{}", printable_text(&parts.join("; "))), style.columns)
    }

    /// As people read it, one paragraph for each finding: rule, its runs, what was found, what to do. Remarks have no
    /// advice. Ends with a line end.
    pub fn text(&self, style: Style) -> String {
        let words = word(self.grade);
        let grade = self.grade.map_or(words.to_string(), |grade| style.paint(grade, words));
        let mut out = format!("verdict: {grade}\n");
        for one in &self.findings {
            let grade = one.grade.word();
            let gap = " ".repeat(INDENT.saturating_sub(2 + columns_of(grade)));
            let mut words = format!("{} ({}): {}", one.rule, one.runs_words(self.runs), one.says);
            if !one.grade.is_remark() {
                words.push_str(&format!(" -> {}", one.advice));
            }
            let mut paragraph = String::new();
            push_wrapped(&mut paragraph, &words, style.columns - INDENT, "");
            // The grade fills the indentation of the first line.
            let grade = style.paint(one.grade.of_result(), grade);
            out.push_str(&format!("  {grade}{gap}{}", &paragraph[INDENT..]));
        }
        out
    }
}

impl RuleResult {
    /// The runs that have it, of so many: `all 24 runs`, `2 of 24 runs: read SEQ1M-Q8T1 x2`.
    pub fn runs_words(&self, runs: usize) -> String {
        if self.runs == runs {
            return if runs == 1 { "the only run".to_string() } else { format!("all {runs} runs") };
        }
        let mut listed = Vec::new();
        for Of { what, runs } in self.of.iter().take(LISTED) {
            let is_plain = self.of.len() == 1 || *runs == 1;
            listed.push(if is_plain { what.clone() } else { format!("{what} x{runs}") });
        }
        let more = match self.of.len().saturating_sub(LISTED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let s = if runs == 1 { "" } else { "s" };
        format!("{} of {runs} run{s}: {}{more}", self.runs, listed.join(", "))
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

/// What stands behind a figure for people; nothing behind a certified one.
pub fn doubt(grade: Grade) -> &'static str {
    match grade {
        Grade::Certified => "",
        Grade::Suspect => "?",
        Grade::Invalid => "!",
    }
}

/// What the signs of [`doubt`] mean, those that are there: a line for each, with its end.
pub fn doubts_text(grades: impl Iterator<Item = Grade> + Clone, columns: usize) -> String {
    let mut out = String::new();
    for (grade, means) in [
        (Grade::Invalid, "invalid: these are not the storage's figures"),
        (Grade::Suspect, "suspect: the figure may not be the disk's own; the verdict says why"),
    ] {
        if grades.clone().any(|one| one == grade) {
            out.push_str(&hanging(&format!("{} ", doubt(grade)), means, columns));
        }
    }
    out
}

/// The word for a grade.
pub fn word(grade: Option<Grade>) -> &'static str {
    grade.map_or("not judged", Grade::word)
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

#[cfg(test)]
mod tests_of_findings {
    use super::*;
    use truespd_core::result::{FindingGrade, Grade, Meaning, Theme, Verdict};

    fn finding(rule: &str, grade: FindingGrade, says: &str) -> Finding {
        Finding { rule: rule.into(), grade, says: says.into(), ..Finding::default() }
    }

    #[test]
    fn causes_of_all_runs_come_before_symptoms() {
        let of = |rule, cause| Finding { cause, ..finding(rule, FindingGrade::Suspect, "so") };
        let mut verdict = SeriesVerdict::default();
        verdict.take("a", Some(Grade::Suspect), &[of("not-steady", Theme::Symptom)]);
        let second = [of("steal", Theme::Neighbours), of("not-steady", Theme::Symptom)];
        verdict.take("b", Some(Grade::Suspect), &second);
        let rules: Vec<&str> = verdict.findings.iter().map(|told| told.rule.as_str()).collect();
        assert_eq!(rules, ["steal", "not-steady"]);
    }

    #[test]
    fn what_decides_the_meaning_comes_before_what_slowed_it() {
        let of =
            |rule, meaning, cause| Finding { meaning, cause, ..finding(rule, FindingGrade::Suspect, "so") };
        let findings = [
            of("generator-bound", Meaning::HeldBack, Theme::Processor),
            of("steal", Meaning::OtherLoad, Theme::Neighbours),
            of("served-from-cache", Meaning::WrongNumber, Theme::Cache),
        ];
        let mut verdict = SeriesVerdict::default();
        findings.iter().for_each(|one| verdict.take("a", Some(Grade::Suspect), [one]));
        let rules: Vec<&str> = verdict.findings.iter().map(|told| told.rule.as_str()).collect();
        assert_eq!(rules, ["served-from-cache", "steal", "generator-bound"]);
    }

    #[test]
    fn each_thing_once_worst_first() {
        let short = finding("too-short", FindingGrade::Remark, "5 s");
        let cache = finding("volatile-cache", FindingGrade::Suspect, "first");
        let other = finding("volatile-cache", FindingGrade::Suspect, "second target");
        let mut verdict = SeriesVerdict::default();
        verdict.take("not judged", None, []);
        assert_eq!(verdict, SeriesVerdict::default());
        verdict.take("read A", Some(Grade::Certified), [&short]);
        verdict.take("write A", Some(Grade::Suspect), [&cache, &other, &short]);
        verdict.take("write A", Some(Grade::Suspect), [&cache, &short]);
        verdict.take("write B", Some(Grade::Certified), []);
        let seen: Vec<_> =
            verdict.findings.iter().map(|t| (t.rule.as_str(), t.says.as_str(), t.runs, t.of.len())).collect();
        assert_eq!(seen, [("volatile-cache", "first", 2, 1), ("too-short", "5 s", 3, 2)]);
        let of: Vec<_> = verdict.findings[1].of.iter().map(|of| (of.what.as_str(), of.runs)).collect();
        assert_eq!(of, [("read A", 1), ("write A", 2)]);
        assert_eq!((verdict.grade, verdict.runs), (Some(Grade::Suspect), 4));
        assert_eq!(verdict.runs_with("volatile-cache", "write A"), 2);
        assert_eq!(verdict.runs_with("volatile-cache", "read A"), 0);
        assert_eq!(verdict.runs_with("too-short", "read A"), 0, "a remark");
        verdict.advise(&[(&["too-short"], "--measure 60")]);
        let advice: Vec<_> = verdict.findings.iter().map(|told| told.advice.as_str()).collect();
        assert_eq!(advice, ["", "--measure 60"]);
    }

    #[test]
    fn grades_of_a_rule_stand_apart() {
        let mut verdict = SeriesVerdict::default();
        verdict.take("x", Some(Grade::Suspect), [&finding("cache", FindingGrade::Suspect, "some")]);
        verdict.take("x", Some(Grade::Invalid), [&finding("cache", FindingGrade::Invalid, "all")]);
        let seen: Vec<_> = verdict.findings.iter().map(|told| (told.grade, told.runs)).collect();
        assert_eq!(seen, [(FindingGrade::Invalid, 1), (FindingGrade::Suspect, 1)]);
        assert_eq!(verdict.runs_with("cache", "x"), 2);
    }

    #[test]
    fn names_of_findings_fit_into_a_line() {
        let names = |verdict: &SeriesVerdict| verdict.names("--verdict", Style { columns: 200, ..PLAIN });
        assert_eq!(names(&SeriesVerdict::default()), "not judged\n");
        let suspect = |rule| finding(rule, FindingGrade::Suspect, "");
        let mut verdict = SeriesVerdict::default();
        verdict.take("read A", Some(Grade::Certified), []);
        assert_eq!(names(&verdict), "certified\n");
        verdict.take("read A", Some(Grade::Certified), [&finding("too-short", FindingGrade::Remark, "")]);
        assert_eq!(names(&verdict), "certified: 1 remark; --verdict tells why\n");
        verdict.take("read B", Some(Grade::Suspect), &["a", "b", "c", "d", "e"].map(suspect));
        assert_eq!(
            names(&verdict),
            "suspect: a (1 run), b (1 run), c (1 run), d (1 run) and 1 more; 1 remark; --verdict tells why\n"
        );
    }

    #[test]
    fn what_is_beside_the_point_does_not_count() {
        let findings = vec![finding("a", FindingGrade::Suspect, ""), finding("b", FindingGrade::Remark, "")];
        let verdict = Verdict { grade: Grade::Suspect, findings, ..Verdict::default() };
        let document = Document { verdict: Some(verdict), ..Document::default() };
        let (grade, found) = judged(&document, |_| false);
        assert_eq!((grade, found.len()), (Some(Grade::Suspect), 2));
        assert_eq!(judged(&document, |f| f.rule == "a").0, Some(Grade::Certified));
        assert_eq!(judged(&Document::default(), |_| false).0, None);
        assert_eq!((word(None), word(grade)), ("not judged", "suspect"));
    }

    const PLAIN: Style = Style { columns: 60, has_colour: false };

    #[test]
    fn findings_of_a_series_name_their_runs() {
        let told_of = |grade, of: &[&str]| RuleResult {
            rule: "volatile-cache".into(),
            grade,
            meaning: Meaning::WrongNumber,
            cause: Theme::Cache,
            says: "vda keeps writes in a cache that a loss of power empties".into(),
            advice: "-Sh counts a write when it is durable".into(),
            runs: 12,
            of: of.iter().map(|what| Of { what: what.to_string(), runs: 12 / of.len() }).collect(),
        };
        let findings = vec![
            told_of(FindingGrade::Suspect, &["a", "b", "c", "d"]),
            told_of(FindingGrade::Remark, &["a"]),
        ];
        let mut verdict = SeriesVerdict { grade: Some(Grade::Suspect), runs: 24, findings };
        assert_eq!(
            verdict.text(PLAIN),
            "verdict: suspect\n\
             \x20 suspect volatile-cache (12 of 24 runs: a x3, b x3 and 2\n\
             \x20         more): vda keeps writes in a cache that a loss of\n\
             \x20         power empties -> -Sh counts a write when it is\n\
             \x20         durable\n\
             \x20 remark  volatile-cache (12 of 24 runs: a): vda keeps\n\
             \x20         writes in a cache that a loss of power empties\n"
        );
        verdict.runs = 12;
        assert!(verdict.text(PLAIN).contains("\n  suspect volatile-cache (all 12 runs): vda"));
        verdict.runs = 1;
        verdict.findings[0].runs = 1;
        assert!(verdict.text(PLAIN).contains("\n  suspect volatile-cache (the only run): vda"));
        assert_eq!(SeriesVerdict::default().text(PLAIN), "verdict: not judged\n");
    }
}
