//! How an assessment is made: the runs of a plan, and what they say.

use super::plan::{Plan, RANDOM_BYTES, SEQUENTIAL_BYTES, Test, TestRun};
use super::report::{Assessment, Figure, Requirement, WinsatUnit};
use crate::answer::{Advice, SeriesVerdict};
use crate::ask::{Common, VOLATILE_CACHE, counting_cached_writes};
use crate::runner::{Ahead, Draft, Ended, Runner, run_steps};
use truespd_core::profile;
use truespd_core::result::metrics::{Metric, Since};
use truespd_core::result::{Document, Grade, Summary};

/// Rules that say nothing about reads beside flushes.
const BESIDE_FLUSHES: [&str; 2] = [VOLATILE_CACHE, "working-set"];

/// Advice in options of this suite.
const ADVICE: Advice = &[
    (&["too-short", "not-steady", "step-down", "warm-up-short"], "use -d 60"),
    (&["working-set"], "use --size 20G, or another size much larger than the caches"),
];

impl Plan {
    /// Runs the parts. What is done when it ends early is in the assessment.
    pub fn run(&self, parts: &[TestRun], runner: &mut dyn Runner) -> (Assessment, Result<(), Ended>) {
        let steps: Vec<Draft> = parts.iter().map(|part| part.step.clone()).collect();
        let mut assessment = Assessment::begin(self);
        let result = run_steps(&steps, runner, Ahead::exactly, |place, document| {
            assessment.take(parts[place].test, document);
            None
        });
        (assessment, result)
    }
}

impl Assessment {
    /// With gaps for everything that the plan measures.
    fn begin(plan: &Plan) -> Self {
        Assessment {
            common: Common::default(),
            size_bytes: plan.size_bytes,
            random_bytes: plan.random_bytes,
            sequential_bytes: plan.sequential_bytes,
            seconds: plan.seconds,
            figures: plan.tests.iter().flat_map(|&test| figures(plan, test)).collect(),
            verdict: SeriesVerdict::default(),
            run_time_s: 0.0,
        }
    }

    /// Puts what a run measured where its figures stand.
    fn take(&mut self, test: Test, document: &Document) {
        let mut findings = counting_cached_writes(document);
        // Whether the writes are durable does not matter for the latency of the reads, and only the small writes
        // use the page cache.
        findings.retain(|finding| !test.is_flush() || !BESIDE_FLUSHES.contains(&finding.rule.as_str()));
        let grade = document.verdict.as_ref().map(|_| Grade::of(&findings));
        let Some(measured) = document.measured().next().map(Summary::of) else { return };
        let mut has_value = false;
        for figure in self.figures.iter_mut().filter(|figure| figure.test == test.words()) {
            figure.value = figure.metric.and_then(|metric| value(metric, test, &measured));
            figure.profile = figure.value.map(|_| profile::hash(&document.profile));
            figure.grade = figure.value.and(grade);
            has_value |= figure.value.is_some();
        }
        if has_value {
            self.verdict.take(&test.name(), grade, &findings);
            self.verdict.advise(ADVICE);
        }
    }
}

/// In the unit of winsat: millions of bytes per second, or milliseconds.
fn value(metric: Metric, test: Test, summary: &Summary) -> Option<f64> {
    let direction = if test.writes() && !test.is_flush() { &summary.write } else { &summary.read };
    if direction.ios == 0 {
        return None;
    }
    Some(metric.of_sum(direction, Since::Issued)? / 1e6)
}

/// Figures of a test. Limits count for winsat's own block sizes.
fn figures(plan: &Plan, test: Test) -> Vec<Figure> {
    use Requirement::{Above, Below};
    let pattern = if test.is_random() { "Random" } else { "Sequential" };
    let kib = plan.block_bytes(test) as f64 / 1024.0;
    let [read, write] = ["Read", "Write"].map(|way| format!("Disk  {pattern} {kib:.1} {way}"));
    let rows: Vec<(&str, Metric, bool, Option<Requirement>)> = match test {
        Test::RandomRead => vec![(&read, Metric::BYTES, true, Some(Above(0.5)))],
        Test::SequentialRead => vec![(&read, Metric::BYTES, true, Some(Above(25.0)))],
        Test::RandomWrite => vec![(&write, Metric::BYTES, true, None)],
        Test::SequentialWrite => vec![(&write, Metric::BYTES, true, Some(Above(20.0)))],
        Test::FlushSequential => vec![
            ("Average Read Time with Sequential Writes", Metric::MEAN, true, Some(Below(25.0))),
            ("Latency: 95th Percentile", Metric::P95, true, Some(Below(120.0))),
            ("Latency: Maximum", Metric::MAX, true, Some(Below(700.0))),
        ],
        Test::FlushRandom => vec![
            ("Average Read Time with Random Writes", Metric::MEAN, true, Some(Below(40.0))),
            ("95th Percentile with Random Writes", Metric::P95, false, None),
            ("Maximum with Random Writes", Metric::MAX, false, None),
        ],
    };
    let is_random_standard = plan.random_bytes == RANDOM_BYTES;
    let is_sequential_standard = plan.sequential_bytes == SEQUENTIAL_BYTES;
    let is_standard = match test {
        Test::RandomRead | Test::RandomWrite | Test::FlushRandom => is_random_standard,
        Test::SequentialRead | Test::SequentialWrite => is_sequential_standard,
        Test::FlushSequential => is_random_standard && is_sequential_standard,
    };
    let mut figures = Vec::new();
    for (label, metric, is_winsats, limit) in rows {
        figures.push(Figure {
            label: label.to_string(),
            test: test.words().to_string(),
            metric: Some(metric),
            profile: None,
            value: None,
            unit: if metric.is_rate() { WinsatUnit::MbPerS } else { WinsatUnit::Ms },
            is_winsats,
            grade: None,
            limit: if is_standard { limit } else { None },
        });
    }
    figures
}
