//! `truespd assess`: the tests of winsat disk, its labels, and Microsoft's limits.
//!
//! What is public of winsat: block sizes, order, labels, units and what the flush tests are for. The number
//! of I/Os, the queue depth, the file's size and how often it flushes are not; they are chosen here and told
//! under the table.

mod plan;
mod report;

pub use plan::{FLUSHES_PER_S, Plan, RANDOM_BYTES, SEQUENTIAL_BYTES, Test, TestRun};
pub use report::{Assessment, Check, Figure, Requirement, SOURCE, WinsatUnit};

use std::time::Duration;

use truespd_core::profile::{self, CacheMode, Profile, Target, Throughput, TimeSpan, xml};
use truespd_core::result::metrics::{Metric, Since};
use truespd_core::result::{Document, Finding, Summary};

use super::findings::judged;
use super::{Ahead, Draft, Ended, Kind, Runner, run_steps};
use plan::FLUSHED_WRITE_BYTES;

/// Size of the file unless told otherwise: at the 20 MB/s that Microsoft asked for, writing it takes 54 of the 120 s.
pub const FILE_BYTES: u64 = 1 << 30;
/// The smallest file or device.
pub const SIZE_MIN_BYTES: u64 = 16 << 20;
/// Region of those writes.
const FLUSH_REGION_BYTES: u64 = 1 << 20;
/// Before every measurement, in seconds.
const WARMUP_S: u32 = 1;
/// Starting and ending a run, roughly, in seconds.
const AROUND_S: f64 = 0.5;

impl Plan {
    /// The runs. `profile_path` tells where the profile for a test is going to be.
    pub fn parts(&self, profile_path: impl Fn(Test) -> String) -> Vec<TestRun> {
        let part = |&test: &Test| {
            if test.is_flush() {
                self.flush_part(test, &profile_path(test))
            } else {
                self.throughput_part(test)
            }
        };
        self.tests.iter().map(part).collect()
    }

    fn step(&self, test: Test, words: Vec<String>) -> Draft {
        let seconds = f64::from(WARMUP_S + self.seconds_of(test)) + AROUND_S;
        Draft { name: test.name(), words, seconds, kind: Kind::Counts }
    }

    fn seconds_of(&self, test: Test) -> u32 {
        if test.is_flush() { self.seconds.saturating_mul(2) } else { self.seconds }
    }

    fn block_bytes(&self, test: Test) -> u64 {
        if test.is_random() { self.random_bytes } else { self.sequential_bytes }
    }

    fn throughput_part(&self, test: Test) -> TestRun {
        let size =
            if self.is_made { format!("-c{}", self.size_bytes) } else { format!("-f{}", self.size_bytes) };
        let pattern = if test.is_random() { "-r" } else { "-s" };
        let write = if test.writes() { "-w100" } else { "-w0" };
        let block = format!("-b{}", self.block_bytes(test));
        let (warmup, measured) = (format!("-W{WARMUP_S}"), format!("-d{}", self.seconds_of(test)));
        // Not pinned: at one I/O at a time the processor that takes the interrupt is the best one.
        let words = [
            &size,
            &block,
            pattern,
            write,
            "-o1",
            "-t1",
            "-n",
            "-Su",
            "-Zr",
            "-L",
            &warmup,
            &measured,
            &self.target,
        ];
        let step = self.step(test, words.iter().map(ToString::to_string).collect());
        TestRun { test, step, profile: None }
    }

    fn flush_part(&self, test: Test, path: &str) -> TestRun {
        let words = vec![format!("-X{path}"), self.target.clone()];
        TestRun {
            test,
            step: self.step(test, words),
            profile: Some(xml::write(&self.flush_profile(test), 0)),
        }
    }

    /// A reader in the first half, whose reads are timed; a writer in the rest, as fast as the drive takes
    /// it; and small writes at the end, each of which the page cache takes, writes out and follows with a
    /// flush of the drive's cache (`O_DSYNC` without `O_DIRECT`: what `fdatasync` does, and unlike a direct
    /// write never FUA alone).
    fn flush_profile(&self, test: Test) -> Profile {
        let half = self.size_bytes / 2 / FLUSH_REGION_BYTES * FLUSH_REGION_BYTES;
        let flushed = (self.size_bytes - FLUSH_REGION_BYTES) / FLUSH_REGION_BYTES * FLUSH_REGION_BYTES;
        let common = Target {
            path: "*1".into(),
            request_count: 1,
            create_bytes: self.is_made.then_some(self.size_bytes),
            ..Target::default()
        };
        let reader = Target {
            block_bytes: self.random_bytes,
            random_percent: 100,
            cache: CacheMode::DisableOsCache,
            max_bytes: half,
            ..common.clone()
        };
        let writer = Target {
            block_bytes: self.block_bytes(test),
            random_percent: if test.is_random() { 100 } else { 0 },
            cache: CacheMode::DisableOsCache,
            base_bytes: half,
            max_bytes: flushed,
            write_percent: 100,
            ..common.clone()
        };
        let flusher = Target {
            block_bytes: FLUSHED_WRITE_BYTES,
            cache: CacheMode::Cached,
            write_through: true,
            base_bytes: flushed,
            max_bytes: flushed + FLUSH_REGION_BYTES,
            write_percent: 100,
            throughput: Some(Throughput::Iops(FLUSHES_PER_S)),
            ..common
        };
        let span = TimeSpan {
            measure_latency: true,
            disable_affinity: true,
            random_write_data: true,
            warmup_s: WARMUP_S,
            duration_s: self.seconds_of(test),
            targets: vec![reader, writer, flusher],
            ..TimeSpan::default()
        };
        Profile { time_spans: vec![span], ..Profile::default() }
    }

    /// Runs the parts. What is done when it ends early is in the assessment.
    pub fn run(&self, parts: &[TestRun], runner: &mut dyn Runner) -> (Assessment, Result<(), Ended>) {
        let steps: Vec<Draft> = parts.iter().map(|part| part.step.clone()).collect();
        let mut assessment = Assessment::begin(self);
        let take =
            |place: usize, document: &Document| self.take(&mut assessment, parts[place].test, document);
        let result = run_steps(&steps, runner, |rest| Ahead::of(rest, Duration::ZERO), take);
        (assessment, result)
    }

    /// Puts what a run measured where its figures stand.
    fn take(&self, assessment: &mut Assessment, test: Test, document: &Document) {
        // Whether the writes are durable does not matter for the latency of the reads, and only the small
        // writes use the page cache.
        let is_beside = |finding: &Finding| {
            test.is_flush() && ["volatile-cache", "working-set"].contains(&finding.rule.as_str())
        };
        let (grade, findings) = judged(document, is_beside);
        let measured = document.measured().next().map(Summary::of);
        let mut has_value = false;
        for figure in assessment.figures.iter_mut().filter(|figure| figure.test == test.words()) {
            figure.value = measured
                .as_ref()
                .zip(figure.metric)
                .and_then(|(summary, metric)| value(metric, test, summary));
            figure.profile = figure.value.map(|_| profile::hash(&document.profile));
            figure.grade = figure.value.and(grade);
            has_value |= figure.value.is_some();
        }
        if has_value {
            assessment.verdict.take(&test.name(), grade, findings);
            assessment.verdict.advise(report::advice);
        }
    }
}

/// In the unit of winsat: millions of bytes per second, or milliseconds.
fn value(metric: Metric, test: Test, summary: &Summary) -> Option<f64> {
    let direction = if test.writes() && !test.is_flush() { &summary.write } else { &summary.read };
    let value = metric.of_sum(direction, Since::Issued).filter(|_| direction.ios > 0)?;
    Some(value / 1e6)
}

#[cfg(test)]
mod tests;
