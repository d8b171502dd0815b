//! Runs a sweep: all points in random order, again and again until each is known well enough.
//!
//! The order is drawn anew for each round, so that a drift of the storage does not look like the effect of a value.

use super::axis::Axis;
use super::report::{Again, Point, Run, SweepReport};
use super::written::Written;
use crate::answer::{Advice, SeriesVerdict};
use crate::ask::{Common, LARGER_TARGET, judged};
use crate::runner::rounds::{AROUND_S, LEVEL, RUNS_MIN, SEEDS_OF_A_RUN, shuffle};
use crate::runner::until_known::{Budget, NextRun, Until, UntilKnown, has_changed, make_run, until_known};
use crate::runner::{Ahead, Draft, Ended, Known, Length, Runner, Step};
use std::time::Duration;
use truespd_core::access::Rng;
use truespd_core::measure::estimate::Estimate;
use truespd_core::profile;
use truespd_core::result::metrics::{Metric, Since};
use truespd_core::result::{Document, Meaning, Summary};
use truespd_front::show::plural;
use truespd_platform::text::bytes;

/// A point is not known from fewer runs.
pub const ROUNDS_MIN: usize = RUNS_MIN;
/// A point that does not become more precise is left after so many runs.
pub const ROUNDS_MAX: usize = 10;
/// The rule about a test that is itself the bottleneck.
const GENERATOR: [&str; 2] = ["generator-bound", "generator-cost"];
const ADVICE: Advice = &[
    (
        &["generator-bound"],
        "let more threads issue (-t in the line, or --over t=...), or stop other programs",
    ),
    (&["working-set"], LARGER_TARGET),
];

/// What is to be swept.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweeping {
    /// DiskSpd's words that all points share, without the targets.
    pub line: Vec<String>,
    pub targets: Vec<String>,
    pub axes: Vec<Axis>,
    /// Every combination of the values.
    pub points: Vec<Planned>,
    /// Warm-up, measured time and cool-down of a run, in rounds where the series has --until-steady.
    pub run: Length,
    pub precision_percent: f64,
    /// All runs together take no longer, in seconds; none: as long as the precision takes.
    pub budget_s: Option<f64>,
    /// The line has a seed of its own.
    pub has_seed: bool,
}

/// A combination of values, as a line of them asks for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    /// A place in the values of each axis.
    pub places: Vec<usize>,
    pub outstanding: u64,
    pub threads: u64,
    pub block_bytes: u64,
    /// Bytes that it writes per second at most: 0 where it only reads, none where that is not known before.
    pub writes_bytes_per_s: Option<f64>,
}

/// The places of all combinations, the last axis first.
pub fn combinations(axes: &[Axis]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for axis in axes {
        let mut longer = Vec::with_capacity(all.len() * axis.values.len());
        for places in &all {
            for place in 0..axis.values.len() {
                let mut places: Vec<usize> = places.clone();
                places.push(place);
                longer.push(places);
            }
        }
        all = longer;
    }
    all
}

impl Sweeping {
    /// The words of a point, without its targets.
    pub fn words(&self, places: &[usize]) -> Vec<String> {
        let mut words = Vec::new();
        for (axis, &place) in self.axes.iter().zip(places) {
            words.extend(axis.words(place));
        }
        words.extend(self.line.iter().cloned());
        words
    }

    fn one_run(&self) -> Length {
        self.run.and(AROUND_S)
    }

    /// The run of a point, and its place among all runs.
    fn draft(&self, report: &SweepReport, point: usize, run: u64) -> Draft {
        let mut words = self.words(&self.points[point].places);
        if !self.has_seed {
            words.push(format!("-z{}", run * SEEDS_OF_A_RUN));
        }
        words.extend(self.targets.iter().cloned());
        let name =
            format!("{}, run {}", report.name(&report.points[point]), report.points[point].runs.len() + 1);
        Draft { name, words, length: self.one_run(), ..Draft::default() }
    }

    /// Runs of `rounds` rounds, and the first point again.
    fn steps(&self, rounds: usize) -> usize {
        self.points.len() * rounds + 1
    }

    /// What the whole sweep usually takes: [`ROUNDS_MIN`] rounds, and the first point again.
    pub fn ahead(&self) -> Ahead {
        let steps = self.steps(ROUNDS_MIN);
        let length = self.one_run().times(steps as f64).within(self.budget_s.unwrap_or(f64::INFINITY));
        Ahead { steps, length, known: Known::Usually }
    }

    /// What all of it takes at least and at most.
    fn length(&self) -> Length {
        let [least, most] =
            [ROUNDS_MIN, ROUNDS_MAX].map(|rounds| self.one_run().times(self.steps(rounds) as f64));
        Length { most_s: most.most_s, ..least }.within(self.budget_s.unwrap_or(f64::INFINITY))
    }

    /// Whether the budget has room for all points once.
    pub fn fits(&self) -> bool {
        self.budget_s.is_none_or(|budget_s| budget_s >= self.once_s())
    }

    /// How long one round and the first point again take at least, in seconds.
    pub fn once_s(&self) -> f64 {
        self.one_run().times(self.steps(1) as f64).least_s
    }

    fn begin(&self) -> SweepReport {
        let mut points = Vec::new();
        for planned in &self.points {
            let values =
                self.axes.iter().zip(&planned.places).map(|(axis, &place)| axis.values[place].clone());
            points.push(Point {
                values: values.collect(),
                outstanding: planned.outstanding,
                threads: planned.threads,
                block_bytes: planned.block_bytes,
                profile: None,
                runs: Vec::new(),
            });
        }
        SweepReport {
            common: Common::default(),
            line: self.line.clone(),
            targets: self.targets.clone(),
            axes: self.axes.clone(),
            precision_percent: self.precision_percent,
            points,
            again: None,
            is_out_of_time: false,
            verdict: SeriesVerdict::default(),
        }
    }

    /// Runs all of it. What is done when it ends early is in the document.
    pub fn sweep(&self, runner: &mut dyn Runner) -> (SweepReport, Result<(), Ended>) {
        let mut report = self.begin();
        let result = self.rounds(&mut report, runner);
        (report, result)
    }

    /// Points that are not known well enough yet.
    fn open(&self, report: &SweepReport) -> Vec<usize> {
        let mut open = Vec::new();
        for (place, point) in report.points.iter().enumerate() {
            let is_precise = point.error_percent().is_some_and(|error| error <= self.precision_percent);
            if point.runs.len() < ROUNDS_MIN || (!is_precise && point.runs.len() < ROUNDS_MAX) {
                open.push(place);
            }
        }
        open
    }

    fn rounds(&self, report: &mut SweepReport, runner: &mut dyn Runner) -> Result<(), Ended> {
        let mut budget = Budget::of(self.budget_s);
        let mut rounds = InRounds {
            sweeping: self,
            report,
            round: 0,
            open: Vec::new(),
            points_of_round: 0,
            point: 0,
            rng: Rng::new(0),
            runs: 0,
            written: Written::begin(self.points.len()),
            first: None,
            is_again: false,
        };
        let until = until_known(&mut rounds, &mut budget, runner)?;
        rounds.report.is_out_of_time = until == Until::OutOfTime;
        let Some(first) = rounds.first else { return Ok(()) };
        (rounds.point, rounds.is_again) = (first, true);
        runner.at(&format!("the first point again{}", self.written_words(&rounds.written, &budget)));
        let again = rounds.next_run(runner)?;
        make_run(&mut rounds, &again, &mut budget, runner)
    }

    /// What is still to come after the next run.
    fn left(&self, report: &SweepReport, budget: &Budget<'_>, next: usize) -> Ahead {
        // The first point again.
        let mut steps = 1;
        for (place, point) in report.points.iter().enumerate() {
            let done = point.runs.len() + usize::from(place == next);
            steps += ROUNDS_MIN.saturating_sub(done);
        }
        let (one, all) = (self.one_run(), self.one_run().times(steps as f64));
        // With the next run, both ends are within the budget.
        let left_s = budget.left_s();
        let least_s = all.least_s.min((left_s - one.least_s).max(0.0));
        let most_s = all.most_s.min((left_s - one.most_s).max(0.0));
        Ahead { steps, length: Length { least_s, most_s, ..all }, known: Known::Usually }
    }

    /// What is written so far, and when all points have their runs; empty where nothing is.
    fn written_words(&self, written: &Written, budget: &Budget<'_>) -> String {
        if !self.writes_data() {
            return String::new();
        }
        let Some(after) = written.after(ROUNDS_MIN) else { return String::new() };
        let so_far = written.so_far();
        let words = format!(", runs wrote {}", bytes(so_far));
        if let Some(budget_s) = self.budget_s
            && so_far / budget.spent_s() * budget_s < after
        {
            let all = bytes(so_far / budget.spent_s() * budget_s);
            return format!("{words}, about {all} within the budget");
        }
        if after <= so_far {
            return words;
        }
        format!("{words}, about {} after round {ROUNDS_MIN}", bytes(after))
    }

    /// Whether some point writes data.
    fn writes_data(&self) -> bool {
        self.points.iter().any(|point| point.writes_bytes_per_s != Some(0.0))
    }

    /// `9 points, 3 to 10 runs of 12 s each until the error is 5 %: 6 min to 19 min`, and what is written.
    pub fn plan_words(&self) -> String {
        let points = plural(self.points.len(), "point");
        let length = self.length();
        let at_most = if self.budget_s == Some(length.least_s) { " at most" } else { "" };
        let mut words = format!(
            "{points}, {ROUNDS_MIN} to {ROUNDS_MAX} runs of {} each until the error is {} %: {}{at_most}",
            self.run.words(),
            self.precision_percent,
            length.words()
        );
        if self.writes_data() {
            words.push_str(&match self.writes_at_most() {
                Some(most) => format!("; the runs write {} at most, by their rate (-g)", bytes(most)),
                None => {
                    "; how much the runs write is known after the first one, and told before each run".into()
                }
            });
        }
        words
    }

    /// Bytes that all runs write at most; none where some point has no limit of its rate.
    fn writes_at_most(&self) -> Option<f64> {
        let (mut sum, mut most) = (0.0, 0.0_f64);
        for point in &self.points {
            let of_run = point.writes_bytes_per_s? * self.run.most_s;
            sum += of_run * ROUNDS_MAX as f64;
            most = most.max(of_run);
        }
        Some(sum + most)
    }
}

/// The rounds of a sweep while they are made.
struct InRounds<'a> {
    sweeping: &'a Sweeping,
    report: &'a mut SweepReport,
    round: usize,
    /// What is left of the round, the next point last.
    open: Vec<usize>,
    points_of_round: usize,
    /// The point of the next run.
    point: usize,
    rng: Rng,
    runs: u64,
    written: Written,
    /// The point of the first run.
    first: Option<usize>,
    /// The next run is the one of the first point at the end.
    is_again: bool,
}

impl InRounds<'_> {
    fn next_run(&self, runner: &mut dyn Runner) -> Result<NextRun, Ended> {
        let step = self.sweeping.draft(self.report, self.point, self.runs).read(runner)?;
        // The first point again has its room.
        let needed_s = Some(2.0 * self.sweeping.one_run().most_s);
        Ok(NextRun { step, pause: Duration::ZERO, needed_s })
    }
}

impl UntilKnown for InRounds<'_> {
    fn next(&mut self, budget: &Budget<'_>, runner: &mut dyn Runner) -> Result<Option<NextRun>, Ended> {
        if self.open.is_empty() {
            self.open = self.sweeping.open(self.report);
            shuffle(&mut self.open, &mut self.rng);
            self.open.reverse();
            self.points_of_round = self.open.len();
            self.round += 1;
        }
        let Some(point) = self.open.pop() else { return Ok(None) };
        self.point = point;
        let (round, of) = (self.round, self.points_of_round);
        let written = self.sweeping.written_words(&self.written, budget);
        runner.at(&format!("round {round}, point {} of {of}{written}", of - self.open.len()));
        self.next_run(runner).map(Some)
    }

    fn ahead(&self, budget: &Budget<'_>) -> Ahead {
        if self.is_again { Ahead::default() } else { self.sweeping.left(self.report, budget, self.point) }
    }

    fn take(&mut self, _: &Step, document: &Document, _: &mut dyn Runner) -> Result<(), Ended> {
        let (point, place) = (self.point, self.runs);
        self.runs += 1;
        self.first.get_or_insert(point);
        self.written.take(point, document);
        let name = self.report.name(&self.report.points[point]);
        let of = &mut self.report.points[point];
        of.profile.get_or_insert_with(|| profile::hash(&document.profile));
        let (grade, findings) = judged(document, |_| false);
        self.report.verdict.take(&name, grade, findings);
        self.report.verdict.advise(ADVICE);
        let run = run_of(place, document);
        if !self.is_again {
            of.runs.extend(run);
        } else if let Some(run) = run {
            self.report.again = again(point, &of.runs, &run, self.sweeping.precision_percent);
        }
        Ok(())
    }
}

fn run_of(place: u64, document: &Document) -> Option<Run> {
    let measured = document.measured().next()?;
    let summary = Summary::of(measured);
    let iops = Metric::IOPS.of_sum(&summary.total, Since::Issued).filter(|iops| *iops > 0.0)?;
    let latency = summary.total.latency.as_ref();
    let findings = document.verdict.iter().flat_map(|verdict| &verdict.findings);
    let (mut is_generator_bound, mut held_back) = (false, None);
    for finding in
        findings.filter(|finding| finding.meaning == Meaning::HeldBack && !finding.grade.is_remark())
    {
        if GENERATOR.contains(&finding.rule.as_str()) {
            is_generator_bound = true;
        } else {
            held_back.get_or_insert(finding.says.clone());
        }
    }
    Some(Run {
        place,
        iops,
        bytes_per_s: Metric::BYTES.of_sum(&summary.total, Since::Issued).unwrap_or_default(),
        mean_ns: latency.and_then(|of| Metric::MEAN.of_latencies(of)),
        p99_ns: latency.and_then(|of| Metric::P99.of_latencies(of)),
        cpu_percent: summary.cpu_usage_percent,
        in_flight: measured.evidence.queue_depth.map(|depth| depth.reached),
        is_generator_bound,
        held_back,
        grade: document.verdict.as_ref().map(|verdict| verdict.grade),
    })
}

/// Whether the first point is what it was: its new run lies where its earlier ones let expect the next.
fn again(point: usize, runs: &[Run], new: &Run, precision_percent: f64) -> Option<Again> {
    let values: Vec<f64> = runs.iter().map(|run| run.iops).collect();
    let first_iops = *values.first()?;
    let difference = Estimate::of(&values).map_or(
        Estimate { mean: new.iops - first_iops, error: 0.0, freedom: 1.0 },
        |estimate| Estimate {
            mean: new.iops - first_iops,
            error: estimate.error * (values.len() as f64 + 1.0).sqrt(),
            ..estimate
        },
    );
    let has_changed = has_changed(first_iops, difference, precision_percent / 100.0, LEVEL);
    Some(Again { point, first_iops, iops: new.iops, has_changed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_combinations() {
        let axes = ["o=1,2,4", "t=1,2"].map(|text| Axis::read(text).unwrap());
        let all = combinations(&axes);
        assert_eq!(all, [[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [2, 1]]);
        assert_eq!(combinations(&[]), [Vec::<usize>::new()]);
    }

    #[test]
    fn a_change_is_told_from_scatter() {
        let of = |runs: &[f64], new: f64| {
            let runs: Vec<Run> = runs.iter().map(|&iops| Run::made(iops)).collect();
            again(0, &runs, &Run::made(new), 5.0).expect("a run").has_changed
        };
        assert!(!of(&[1000.0, 1010.0, 990.0], 1020.0));
        assert!(of(&[1000.0, 1010.0, 990.0], 800.0));
        assert!(!of(&[1000.0, 700.0, 1300.0], 800.0), "it scatters as much");
        assert!(of(&[1000.0], 500.0));
    }
}
