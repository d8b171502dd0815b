//! Two variants of a run in turns, until their difference is decided or shown to be too small to matter.
//!
//! Blocks of four runs, ABBA or BAAB: a steady drift of the machine meets both alike and cancels. What a
//! block says is the logarithm of the ratio B / A (of the geometric means). The order of blocks is Thue and
//! Morse's, so that curved drift cancels over the blocks and no rhythm of the machine can follow it. When to
//! stop tells [`design`].

pub(in crate::ask) mod answer;
mod design;
#[cfg(test)]
pub(crate) mod noise;
pub(crate) mod options;
mod report;
#[cfg(test)]
mod tests;

use crate::answer::{Advice, Answer, SeriesVerdict};
use crate::ask::{Common, Spread, SuiteDocument, judged};
use crate::runner::until_known::{Budget, NextRun, Until, UntilKnown, until_known};
use crate::runner::{Ahead, Ended, Kind, Runner, Step};
pub use answer::is_of_use;
pub use design::{BLOCK_RUNS, Outcome, Plan, Side};
use design::{Design, UNCOUNTED_RUNS, figure, log_ratio, order, without_figure};
pub use report::{Block, Comparison, Effect, Stopped, Variant};
use std::time::Duration;
use truespd_core::profile;
use truespd_core::result::envelope::DocumentKind;
pub use truespd_core::result::metrics::Metric;
use truespd_core::result::metrics::{NoFigure, is_paced};
use truespd_core::result::{Document, Grade, Part, Summary};

/// So many blocks with a run that completed nothing, one after the other, end the series.
const EMPTY_IN_A_ROW_MAX: usize = 3;

/// What a plan needs besides a runner.
pub struct Surroundings<'a> {
    /// Called before every run with its side: settings that belong to it.
    pub arrange: &'a mut dyn FnMut(Side) -> Result<(), Ended>,
    /// Time since the series began.
    pub elapsed: &'a dyn Fn() -> Duration,
}

/// Compares: one run of each that does not count, then blocks until it is decided, or a limit is reached. What was
/// found until then is there also when the series ended early.
pub fn compare(
    plan: &Plan,
    runner: &mut dyn Runner,
    surroundings: &mut Surroundings<'_>,
) -> (Comparison, Result<(), Ended>) {
    let fitted = plan.fitted();
    let plan = fitted.as_ref().unwrap_or(plan);
    let design = Design::new(plan);
    let mut collected = Collected::default();
    let ended = match &fitted {
        Ok(_) => blocks(plan, &design, &mut collected, runner, surroundings),
        Err(refusal) => Err(refusal.clone().into()),
    };
    let (stopped, result) = match ended {
        Ok(stopped) => (stopped, Ok(())),
        Err(Ended::Stopped) => (Stopped::Person, Err(Ended::Stopped)),
        Err(failed) => (Stopped::Failure, Err(failed)),
    };
    (report(plan, &design, collected, stopped), result)
}

fn blocks(
    plan: &Plan,
    design: &Design,
    collected: &mut Collected,
    runner: &mut dyn Runner,
    surroundings: &mut Surroundings<'_>,
) -> Result<Stopped, Ended> {
    let Surroundings { arrange, elapsed } = surroundings;
    for (done, side) in [Side::A, Side::B].into_iter().enumerate() {
        runner.ahead(plan.ahead_with(UNCOUNTED_RUNS - 1 - done));
        arrange(side)?;
        let document = runner.run(&step(plan, side, Kind::First, Kind::First.name()))?;
        collected.first(side, plan, &document)?;
    }
    let mut budget = Budget::by_clock(plan.time_max, *elapsed);
    let mut blocks = InBlocks {
        plan,
        design,
        collected,
        arrange: &mut **arrange,
        runs: 0,
        figures: Default::default(),
        empty_in_a_row: 0,
        is_decided: false,
    };
    Ok(match until_known(&mut blocks, &mut budget, runner)? {
        Until::OutOfTime => Stopped::Time,
        Until::Known if blocks.is_decided => Stopped::Decided,
        Until::Known => Stopped::Blocks,
    })
}

/// The blocks of a comparison while they are made.
struct InBlocks<'a> {
    plan: &'a Plan,
    design: &'a Design,
    collected: &'a mut Collected,
    arrange: &'a mut dyn FnMut(Side) -> Result<(), Ended>,
    /// Runs of the present block that are done.
    runs: usize,
    /// Their figures, of A and of B.
    figures: [Vec<f64>; 2],
    /// Blocks with a run that completed nothing, since the last one that counts.
    empty_in_a_row: usize,
    is_decided: bool,
}

impl InBlocks<'_> {
    fn side(&self) -> Side {
        order(self.collected.blocks.len())[self.runs]
    }

    /// A run that completed nothing: its block is repeated.
    fn repeat(&mut self, side: Side, why: NoFigure, runner: &mut dyn Runner) -> Result<(), Ended> {
        (self.runs, self.figures) = (0, Default::default());
        self.collected.empty_blocks += 1;
        self.empty_in_a_row += 1;
        if self.empty_in_a_row == EMPTY_IN_A_ROW_MAX {
            return Err(without_figure(self.plan, side, why));
        }
        runner.tell(&format!(
            "{}{}: {why}; this block of runs does not count and is repeated",
            self.plan.title,
            side.name()
        ));
        Ok(())
    }

    /// Takes a block whose runs all have a figure.
    fn end_block(&mut self, runner: &mut dyn Runner) {
        let order = order(self.collected.blocks.len()).to_vec();
        let [a, b] = std::mem::take(&mut self.figures).map(|of_side| [of_side[0], of_side[1]]);
        self.collected.blocks.push(Block { order, a, b, log_ratio: log_ratio(a, b) });
        (self.runs, self.empty_in_a_row) = (0, 0);
        let blocks = self.collected.blocks.len();
        if !self.design.is_interim(blocks) {
            return;
        }
        let Some(view) = self.design.view(&self.collected.log_ratios()) else { return };
        if view.outcome != Outcome::Undecided {
            self.is_decided = true;
            return;
        }
        let [low, ratio, high] = [view.low, view.estimate.mean, view.high].map(f64::exp);
        let interval = if is_of_use(low, high) { format!(" ({low:.3} to {high:.3})") } else { String::new() };
        runner.tell(&format!("{}{blocks} blocks: B / A {ratio:.3}{interval}", self.plan.title));
    }
}

impl UntilKnown for InBlocks<'_> {
    fn next(&mut self, _: &Budget<'_>, _: &mut dyn Runner) -> Result<Option<NextRun>, Ended> {
        let blocks = self.collected.blocks.len();
        if self.is_decided || blocks >= self.plan.blocks_max {
            return Ok(None);
        }
        let needed_s = match self.runs {
            // The least number of blocks fits by plan, and may end a little late.
            0 if blocks + self.collected.empty_blocks < self.plan.least() => Some(0.0),
            0 => Some(self.plan.block_seconds()),
            // A block that has begun is finished.
            _ => None,
        };
        let step = step(self.plan, self.side(), Kind::Counts, &format!("block {}", blocks + 1));
        Ok(Some(NextRun { step, pause: Duration::ZERO, needed_s }))
    }

    fn ahead(&self, budget: &Budget<'_>) -> Ahead {
        let elapsed = Duration::from_secs_f64(budget.spent_s().max(0.0));
        self.plan.ahead_after(self.collected.blocks.len(), self.runs + 1, elapsed)
    }

    fn prepare(&mut self) -> Result<(), Ended> {
        let side = self.side();
        (self.arrange)(side)
    }

    fn take(&mut self, _: &Step, document: &Document, runner: &mut dyn Runner) -> Result<(), Ended> {
        let side = self.side();
        match self.collected.take(side, self.plan, document)? {
            Ok(value) => self.figures[side as usize].push(value),
            Err(why) => return self.repeat(side, why, runner),
        }
        self.runs += 1;
        if self.runs == BLOCK_RUNS {
            self.end_block(runner);
        }
        Ok(())
    }
}

fn step(plan: &Plan, side: Side, kind: Kind, what: &str) -> Step {
    let name = format!("{}{}, {what}", plan.title, side.name());
    Step { name, line: plan.lines[side as usize].clone(), length: kind.lasting(plan.run_length()), kind }
}

/// What is gathered while blocks run.
#[derive(Default)]
struct Collected {
    pub blocks: Vec<Block>,
    pub empty_blocks: usize,
    sides: [Gathered; 2],
    verdict: SeriesVerdict,
    computer_name: String,
    start_unix_s: Option<i64>,
}

#[derive(Default)]
struct Gathered {
    profile: Option<String>,
    figures: Vec<f64>,
    grade: Grade,
    invalid_runs: usize,
    disk_iops: Vec<f64>,
    is_paced: bool,
    is_response: bool,
    ios: u64,
}

impl Collected {
    /// A run that does not count; its figure must be one that the next runs can have.
    pub fn first(&mut self, side: Side, plan: &Plan, document: &Document) -> Result<(), Ended> {
        let _ = figure(plan, side, document)?;
        if side == Side::A {
            self.computer_name.clone_from(&document.system.computer_name);
            self.start_unix_s = document.system.start_unix_s;
        }
        Ok(())
    }

    /// A run that counts, unless it completed nothing; its figure.
    pub fn take(
        &mut self,
        side: Side,
        plan: &Plan,
        document: &Document,
    ) -> Result<Result<f64, NoFigure>, Ended> {
        let value = figure(plan, side, document)?;
        if let Ok(value) = value {
            self.sides[side as usize].take(value, plan.metric, document);
        }
        let (grade, findings) = judged(document, |finding| finding.grade.is_remark());
        self.verdict.take(side.name(), grade, findings);
        Ok(value)
    }

    pub fn log_ratios(&self) -> Vec<f64> {
        self.blocks.iter().map(|block| block.log_ratio).collect()
    }
}

impl Gathered {
    fn take(&mut self, value: f64, metric: Metric, document: &Document) {
        self.figures.push(value);
        self.profile = Some(profile::hash(&document.profile));
        self.is_paced = is_paced(document);
        self.is_response = metric.is_response(document);
        for measured in document.measured() {
            self.ios = Summary::of(measured).total.ios;
            let disks = &measured.evidence.disks;
            if !disks.is_empty() {
                let rates = disks.iter().map(|disk| {
                    (disk.total.reads + disk.total.writes) as f64 * 1e9 / disk.window_ns.max(1) as f64
                });
                self.disk_iops.push(rates.sum());
            }
        }
        if let Some(verdict) = &document.verdict {
            self.grade = self.grade.max(verdict.grade);
            self.invalid_runs += usize::from(verdict.grade == Grade::Invalid);
        }
    }

    fn variant(self, words: &[String]) -> Variant {
        let runs = self.disk_iops.len() as f64;
        Variant {
            words: words.to_vec(),
            profile: self.profile,
            figures: Spread::of(self.figures),
            grade: self.grade,
            invalid_runs: self.invalid_runs,
            disk_iops: (runs > 0.0).then(|| self.disk_iops.iter().sum::<f64>() / runs),
        }
    }
}

impl Collected {
    /// The sides in most of whose runs the rule found something: neither, one or both.
    fn held_back(&self, rule: &str) -> Vec<&'static str> {
        let mut names = Vec::new();
        for side in [Side::A, Side::B] {
            let runs = self.verdict.runs_with(rule, side.name());
            if runs > 0 && 2 * runs >= self.sides[side as usize].figures.len() {
                names.push(side.name());
            }
        }
        names
    }

    /// What both have in common, and what spoils the comparison.
    fn remarks(&self, metric: Metric) -> Vec<String> {
        let [a, b] = &self.sides;
        let mut remarks: Vec<String> = Vec::new();
        if self.empty_blocks > 0 {
            let blocks = match self.empty_blocks {
                1 => "1 block does".to_string(),
                several => format!("{several} blocks do"),
            };
            remarks.push(format!(
                "{blocks} not count, because a run completed no I/O; the figures do not show these stalls"
            ));
        }
        if a.invalid_runs + b.invalid_runs > 0 {
            remarks.push(format!(
                "some runs are invalid ({} of {} of A, {} of {} of B): neither their figures nor the difference \
                 describe the storage",
                a.invalid_runs,
                a.figures.len(),
                b.invalid_runs,
                b.figures.len()
            ));
        }
        let are_paced = a.is_paced && b.is_paced;
        match self.held_back("generator-bound")[..] {
            // Threads that wait for their next turn do not limit anything.
            _ if are_paced => {}
            [_, _] => remarks.push(
                "the processor limited both, not only the storage: this compares what an I/O costs the processor"
                    .into(),
            ),
            [name] => remarks.push(format!(
                "the processor limited {name}, not only the storage; it may limit the other less"
            )),
            _ => {}
        }
        match self.held_back("provisioned-limit")[..] {
            [_, _] => {
                remarks.push("both reached a provisioned limit, which hides other differences".into());
            }
            [name] => {
                remarks.push(format!("{name} reached a provisioned limit, not the limit of the medium"));
            }
            _ => {}
        }
        if are_paced && metric.is_rate() {
            remarks.push("both run at a set rate (-g): this compares the two rates".into());
        }
        if a.is_response != b.is_response {
            let name = if a.is_response { "A" } else { "B" };
            remarks.push(format!(
                "the latencies of {name} count from the time for which its rate (-g) scheduled the I/O; those of the \
                 other, which has no rate, from the time of issue"
            ));
        }
        remarks.extend(a.figures.first().and(metric.doubt(a.ios.min(b.ios))));
        remarks
    }
}

/// Advice in options of the comparison.
const ADVICE: Advice = &[
    (&["too-short", "not-steady", "step-down"], "use --seconds 60, or -d60 in --a and --b"),
    (&["warm-up-short"], "use --warm-up 10, or -W10 in --a and --b"),
    (&["working-set"], "use --size 20G, or a target much larger than the caches"),
];

fn report(plan: &Plan, design: &Design, collected: Collected, stopped: Stopped) -> Comparison {
    let remarks = collected.remarks(plan.metric);
    let view = design.view(&collected.log_ratios());
    let mut verdict = collected.verdict;
    verdict.advise(ADVICE);
    let is_response = collected.sides.iter().any(|side| side.is_response);
    let [a, b] = collected.sides;
    let (a, b) = (a.variant(plan.lines[0].words()), b.variant(plan.lines[1].words()));
    let effect = view.zip(a.figures).map(|(view, figures)| {
        let logs = [view.estimate.mean, view.low, view.high];
        let [ratio, ratio_low, ratio_high] = logs.map(f64::exp);
        let [difference, difference_low, difference_high] = logs.map(|log| figures.median * log.exp_m1());
        Effect {
            ratio,
            ratio_low,
            ratio_high,
            difference,
            difference_low,
            difference_high,
            confidence: view.confidence,
            p: view.interim.p(view.estimate.level()),
            blocks: view.interim.blocks,
        }
    });
    debug_assert!(collected.blocks.iter().all(|block| block.order.len() == BLOCK_RUNS));
    Comparison {
        common: Common::default(),
        computer_name: collected.computer_name,
        start_unix_s: collected.start_unix_s,
        metric: plan.metric,
        is_response,
        margin_percent: plan.margin_percent,
        significance: design.significance,
        blocks_max: plan.blocks_max,
        a,
        b,
        blocks: collected.blocks,
        empty_blocks: collected.empty_blocks,
        effect,
        outcome: view.map_or(Outcome::Undecided, |view| view.outcome),
        stopped,
        verdict,
        remarks,
    }
}

impl SuiteDocument for Comparison {
    fn title(&self) -> String {
        format!("A and B compared by {}{}", self.metric.heading(self.is_response), self.common.ran_on.words())
    }

    fn has_figures(&self) -> bool {
        !self.blocks.is_empty()
    }

    fn verdicts(&self) -> Vec<(&str, &SeriesVerdict)> {
        vec![("", &self.verdict)]
    }

    fn common(&self) -> &Common {
        &self.common
    }

    fn common_mut(&mut self) -> &mut Common {
        &mut self.common
    }

    fn parts(&self) -> Vec<Part> {
        Part::apart(self.parts_of(["A", "B"]))
    }

    fn answer(&self) -> Answer {
        answer::of(self)
    }
}

impl DocumentKind for Comparison {
    const FORMAT: &'static str = "truespd-ab";
    const MEMBER: &'static str = "comparison";
    const MEMBER_ABOUT: &'static str = "The comparison.";
    const TITLE: &'static str = "TrueSpd comparison, version 1";
    const ABOUT: &'static str = "A comparison of two variants by TrueSpd, version 1. Latencies and processor times \
        are in nanoseconds, rates per second.";
    const NAME: &'static str = "comparison by TrueSpd";
}
