//! What a comparison leaves: one versioned record, as JSON.
//!
//! Within a version members are only added, and each of those may be missing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::design::figure;
use super::outcome::Outcome;
use super::{BLOCK_RUNS, Design, Plan, Side};
use crate::suite::figures::Spread;
use crate::suite::findings::{SeriesVerdict, judged};
use crate::suite::{Ended, SuiteDocument};
use truespd_core::profile;
use truespd_core::result::envelope::DocumentKind;
use truespd_core::result::metrics::{Better, Metric, NoFigure, is_paced};
use truespd_core::result::{Document, Grade, Part, Summary};

/// A comparison of two variants of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Report")]
pub struct Comparison {
    /// Version of the tool.
    pub tool_version: String,
    /// Host name.
    pub computer_name: String,
    /// Begin of the first run, seconds since 1970 UTC.
    pub start_unix_s: Option<i64>,
    /// What was compared.
    pub metric: Metric,
    /// Latencies are response times: they count from when the rate (-g) wanted the I/O. Of one variant at least.
    #[serde(default)]
    pub is_response: bool,
    /// A difference up to this does not matter, in percent.
    pub margin_percent: f64,
    /// The probability with which variants that are the same may be called different.
    pub significance: f64,
    /// Blocks at most, as planned before the first.
    pub blocks_max: usize,
    /// The first variant.
    pub a: Variant,
    /// The second variant.
    pub b: Variant,
    /// Every block.
    pub blocks: Vec<Block>,
    /// Blocks that do not count, since a run of them completed no I/O.
    #[serde(default)]
    pub empty_blocks: usize,
    /// The difference; none with too few blocks.
    pub effect: Option<Effect>,
    /// What is decided.
    pub outcome: Outcome,
    /// What ended the series.
    pub stopped: Stopped,
    /// What the verdicts of all runs that count say; those of A and B by these names.
    pub verdict: SeriesVerdict,
    /// What the person should know of the comparison, one sentence each.
    pub remarks: Vec<String>,
}

impl Comparison {
    /// What was compared, for people, in the middle of a sentence.
    pub fn what(&self) -> &'static str {
        self.metric.words(self.is_response)
    }

    /// The medians of A and B, by these names.
    pub(in crate::suite) fn parts_of(&self, names: [&str; 2]) -> Vec<Part> {
        let part = |(name, variant): (&str, &Variant)| {
            let median = variant.figures.map(|spread| spread.median);
            Part::of(name, variant.profile.as_deref(), &variant.words, [(self.metric, median)])
        };
        names.into_iter().zip([&self.a, &self.b]).filter_map(part).collect()
    }

    /// Whether B is better than A; none when no difference is shown.
    pub fn is_b_better(&self) -> Option<bool> {
        let effect = self.effect.filter(|_| self.outcome == Outcome::Different)?;
        Some((effect.ratio > 1.0) == (self.metric.better() == Better::Higher))
    }
}

/// One of the two.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Variant {
    /// Words of its command line.
    pub words: Vec<String>,
    /// Hash of the profile of its runs, by which the history knows the same test; none in documents from
    /// before it was noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The figure in its runs, the first one not counted.
    pub figures: Option<Spread>,
    /// The worst verdict of its runs.
    pub grade: Grade,
    /// Runs whose verdict is invalid.
    pub invalid_runs: usize,
    /// Mean rate of the disks below during its runs, in I/Os per second, as the kernel counted it: of all programs.
    pub disk_iops: Option<f64>,
}

/// Four runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Block {
    /// Whose turn it was.
    pub order: Vec<Side>,
    /// The figures of A.
    pub a: [f64; 2],
    /// The figures of B.
    pub b: [f64; 2],
    /// Natural logarithm of B / A.
    pub log_ratio: f64,
}

/// How B differs from A. The interval holds although the series was looked at again and again.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Effect {
    /// B / A: a mean of the blocks without their outer fifths.
    pub ratio: f64,
    /// Where it lies.
    pub ratio_low: f64,
    /// Where it lies.
    pub ratio_high: f64,
    /// B - A, on top of the median of A, in the unit of the figure.
    pub difference: f64,
    /// Where it lies.
    pub difference_low: f64,
    /// Where it lies.
    pub difference_high: f64,
    /// Confidence of both intervals: 0.95 where the outcome is `equivalent`, else 1 - significance.
    pub confidence: f64,
    /// Probability of such a difference between variants that are the same, also when one looks repeatedly;
    /// smaller ones than 0.000001 are told as that.
    pub p: f64,
    /// Blocks it rests on.
    pub blocks: usize,
}

/// What ended the series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stopped {
    /// It was decided.
    Decided,
    /// All blocks were done.
    Blocks,
    /// The time was over.
    Time,
    /// The person.
    Person,
    /// A run that failed.
    Failure,
}

/// What is gathered while blocks run.
#[derive(Default)]
pub(super) struct Collected {
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
            let rate = |disk: &truespd_core::result::DiskActivity| {
                (disk.total.reads + disk.total.writes) as f64 * 1e9 / disk.window_ns.max(1) as f64
            };
            if !measured.evidence.disks.is_empty() {
                self.disk_iops.push(measured.evidence.disks.iter().map(rate).sum());
            }
        }
        let Some(verdict) = &document.verdict else { return };
        self.grade = self.grade.max(verdict.grade);
        self.invalid_runs += usize::from(verdict.grade == Grade::Invalid);
    }

    fn variant(self, words: &[String]) -> Variant {
        let disks = self.disk_iops.len() as f64;
        Variant {
            words: words.to_vec(),
            profile: self.profile,
            figures: Spread::of(self.figures),
            grade: self.grade,
            invalid_runs: self.invalid_runs,
            disk_iops: (disks > 0.0).then(|| self.disk_iops.iter().sum::<f64>() / disks),
        }
    }
}

/// What both have in common, and what spoils the comparison.
fn remarks(plan: &Plan, collected: &Collected) -> Vec<String> {
    let Collected { sides, verdict, empty_blocks, .. } = collected;
    let [a, b] = sides;
    let mut remarks = Vec::new();
    if *empty_blocks > 0 {
        let blocks = match empty_blocks {
            1 => "1 block does".to_string(),
            several => format!("{several} blocks do"),
        };
        remarks.push(format!(
            "{blocks} not count, because a run completed no I/O; the figures do not show these stalls"
        ));
    }
    // In at least half of the runs.
    let mostly = |side: Side, rule: &str| {
        let runs = verdict.runs_with(rule, side.name());
        runs > 0 && 2 * runs >= sides[side as usize].figures.len()
    };
    let both = |rule: &str| mostly(Side::A, rule) && mostly(Side::B, rule);
    let one = |rule: &str| [Side::A, Side::B].into_iter().find(|&side| mostly(side, rule)).map(Side::name);
    match (a.invalid_runs, b.invalid_runs) {
        (0, 0) => {}
        (x, y) => remarks.push(format!(
            "some runs are invalid ({x} of {} of A, {y} of {} of B): neither their figures nor the difference describe the \
             storage",
            a.figures.len(),
            b.figures.len()
        )),
    }
    let are_paced = a.is_paced && b.is_paced;
    if are_paced {
        // Threads that wait for their next turn are no limit.
    } else if both("generator-bound") {
        remarks.push(
            "the processor limited both, not only the storage: this compares what an I/O costs the processor"
                .into(),
        );
    } else if let Some(name) = one("generator-bound") {
        remarks
            .push(format!("the processor limited {name}, not only the storage; it may limit the other less"));
    }
    if both("provisioned-limit") {
        remarks.push("both reached a provisioned limit, which hides other differences".into());
    } else if let Some(name) = one("provisioned-limit") {
        remarks.push(format!("{name} reached a provisioned limit, not the limit of the medium"));
    }
    if are_paced && plan.metric.is_rate() {
        remarks.push("both run at a set rate (-g): this compares the two rates".into());
    }
    if let Some(name) = [(a, b, "A"), (b, a, "B")]
        .into_iter()
        .find_map(|(one, other, name)| (one.is_response && !other.is_response).then_some(name))
    {
        remarks.push(format!(
            "the latencies of {name} count from the time for which its rate (-g) scheduled the I/O; those of the other, which has \
             no rate, from the time of issue"
        ));
    }
    remarks.extend(a.figures.first().and(plan.metric.doubt(a.ios.min(b.ios))));
    remarks
}

/// Advice in options of the comparison.
fn advice(rule: &str) -> Option<&'static str> {
    Some(match rule {
        "too-short" | "not-steady" | "step-down" => "use --seconds 60, or -d60 in --a and --b",
        "warm-up-short" => "use --warm-up 10, or -W10 in --a and --b",
        "working-set" => "use --size 20G, or a target much larger than the caches",
        _ => return None,
    })
}

pub(super) fn report(plan: &Plan, design: &Design, collected: Collected, stopped: Stopped) -> Comparison {
    let remarks = remarks(plan, &collected);
    let view = design.view(&collected.log_ratios());
    let mut verdict = collected.verdict;
    verdict.advise(advice);
    let is_response = collected.sides.iter().any(|side| side.is_response);
    let [a, b] = collected.sides;
    let (a, b) = (a.variant(plan.lines[0].words()), b.variant(plan.lines[1].words()));
    let effect = view.zip(a.figures).map(|(view, figures)| {
        let ratio = |log: f64| log.exp();
        let difference = |log: f64| figures.median * log.exp_m1();
        Effect {
            ratio: ratio(view.estimate.mean),
            ratio_low: ratio(view.low),
            ratio_high: ratio(view.high),
            difference: difference(view.estimate.mean),
            difference_low: difference(view.low),
            difference_high: difference(view.high),
            confidence: view.confidence,
            p: view.look.p(view.estimate.level()),
            blocks: view.look.blocks,
        }
    });
    debug_assert!(collected.blocks.iter().all(|block| block.order.len() == BLOCK_RUNS));
    Comparison {
        tool_version: env!("CARGO_PKG_VERSION").to_string(),
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
    fn has_figures(&self) -> bool {
        !self.blocks.is_empty()
    }

    fn grade(&self) -> Option<Grade> {
        self.verdict.grade
    }

    fn verdicts(&self) -> Vec<(&str, &SeriesVerdict)> {
        vec![("", &self.verdict)]
    }

    fn parts(&self) -> Vec<Part> {
        Part::apart(self.parts_of(["A", "B"]))
    }
}

impl DocumentKind for Comparison {
    const FORMAT: &'static str = "truespd-ab";
    const MEMBER: &'static str = "comparison";
    const MEMBER_ABOUT: &'static str = "The comparison.";
    const TITLE: &'static str = "TrueSpd comparison, version 1";
    const ABOUT: &'static str = "A comparison of two variants by TrueSpd, version 1. Latencies and processor times are in nanoseconds, rates per second.";
    const NAME: &'static str = "comparison by TrueSpd";
}
