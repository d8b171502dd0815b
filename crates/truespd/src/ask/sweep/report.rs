//! What a sweep measured, and what follows from it.

use super::axis::Axis;
use super::knee::{AtPlateau, Bound, Ramp, Step};
use crate::answer::SeriesVerdict;
use crate::ask::Common;
use crate::runner::rounds::Measured;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use truespd_core::result::Grade;

/// What a sweep measured, point by point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SweepReport")]
pub struct SweepReport {
    /// What it has in common with the documents of all suites.
    #[serde(flatten)]
    pub common: Common,
    /// DiskSpd's words that all points share, without the targets.
    pub line: Vec<String>,
    /// Files or devices, as words of the line.
    pub targets: Vec<String>,
    /// What was varied, and through which values.
    pub axes: Vec<Axis>,
    /// How narrow intervals should be: half of one, in percent of its middle.
    pub precision_percent: f64,
    /// Every combination of the values, whether it was measured or not.
    pub points: Vec<Point>,
    /// The first point again, after all others; none where the sweep was stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<Again>,
    /// The budget was spent before all points were as precise as asked for.
    #[serde(default)]
    pub is_out_of_time: bool,
    /// What the verdicts of all runs say.
    pub verdict: SeriesVerdict,
}

/// A combination of values, with its runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// Its values, one for each axis.
    pub values: Vec<String>,
    /// I/Os of all threads that are out at once, at most.
    pub outstanding: u64,
    /// Threads that issue these I/Os.
    pub threads: u64,
    /// Size of its I/Os in bytes; the largest where they differ.
    pub block_bytes: u64,
    /// Hash of its profile, by which the history knows the same test; none until it has run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Its runs, in the order of time.
    pub runs: Vec<Run>,
}

/// A run of a point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Its place among all runs, from 0.
    pub place: u64,
    /// I/Os per second over the measured time.
    pub iops: f64,
    /// Bytes per second over the measured time.
    pub bytes_per_s: f64,
    /// Mean latency of all I/Os in nanoseconds.
    pub mean_ns: Option<f64>,
    /// 99th percentile of the latency in nanoseconds.
    pub p99_ns: Option<f64>,
    /// Mean use of all processors, in percent.
    pub cpu_percent: f64,
    /// I/Os that were out on average; none where it was not counted.
    pub in_flight: Option<f64>,
    /// A rule of the verdict says that the test itself is the bottleneck.
    pub is_generator_bound: bool,
    /// What another rule says holds the run back, in its words.
    pub held_back: Option<String>,
    /// Its verdict; none when it was not judged.
    pub grade: Option<Grade>,
}

/// The first point, measured again at the end.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Again {
    /// Its place among the points.
    pub point: usize,
    /// I/Os per second of its first run.
    pub first_iops: f64,
    /// I/Os per second of the run at the end.
    pub iops: f64,
    /// They differ by more than the precision, and by more than its runs scatter: the storage has changed.
    pub has_changed: bool,
}

/// Points that differ only in how much they ask for.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// The values of the other axes, with their switches: `-b64K -w30`; empty where there is no other axis.
    pub name: String,
    pub ramp: Ramp,
    pub bound: Bound,
}

/// What a ramp goes along.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Along {
    /// I/Os that are out at once: `-o`, `-t`, `-F`, `-O`.
    Outstanding,
    /// The size of an I/O: `-b`.
    BlockSize,
}

impl Run {
    /// A run that nobody judged, for tests.
    #[cfg(test)]
    pub fn made(iops: f64) -> Self {
        Run {
            place: 0,
            iops,
            bytes_per_s: 0.0,
            mean_ns: None,
            p99_ns: None,
            cpu_percent: 0.0,
            in_flight: None,
            is_generator_bound: false,
            held_back: None,
            grade: None,
        }
    }
}

/// Switches that change how many I/Os are out at once.
const LOAD: [&str; 4] = ["o", "t", "F", "O"];

impl Point {
    /// A point with one run, for tests.
    #[cfg(test)]
    pub fn made(values: Vec<String>, iops: f64, grade: Grade) -> Self {
        let run = Run { grade: Some(grade), ..Run::made(iops) };
        Point { values, outstanding: 1, threads: 1, block_bytes: 4096, profile: None, runs: vec![run] }
    }

    /// A figure of its runs with its interval; none without a run.
    fn figure(&self, of: impl Fn(&Run) -> Option<f64>) -> Option<Measured> {
        let values: Vec<f64> = self.runs.iter().filter_map(of).collect();
        Measured::of(&values)
    }

    /// I/Os per second, over its runs.
    pub fn iops(&self) -> Option<Measured> {
        self.figure(|run| Some(run.iops))
    }

    /// Bytes per second, over its runs.
    pub fn bytes_per_s(&self) -> Option<Measured> {
        self.figure(|run| Some(run.bytes_per_s))
    }

    /// Mean latency in nanoseconds, over its runs.
    pub fn mean_ns(&self) -> Option<f64> {
        self.figure(|run| run.mean_ns).map(|figure| figure.mean)
    }

    /// 99th percentile in nanoseconds: the mean of its runs.
    pub fn p99_ns(&self) -> Option<f64> {
        self.figure(|run| run.p99_ns).map(|figure| figure.mean)
    }

    pub fn cpu_percent(&self) -> Option<f64> {
        self.figure(|run| Some(run.cpu_percent)).map(|figure| figure.mean)
    }

    pub fn in_flight(&self) -> Option<f64> {
        self.figure(|run| run.in_flight).map(|figure| figure.mean)
    }

    /// The worst verdict of its runs.
    pub fn grade(&self) -> Option<Grade> {
        self.runs.iter().filter_map(|run| run.grade).max()
    }

    /// Half of its interval in percent of its middle; none with fewer runs than tell.
    pub fn error_percent(&self) -> Option<f64> {
        self.iops()?.error_percent(self.runs.len())
    }
}

impl SweepReport {
    /// What its ramps go along; none where no axis changes how much is asked for.
    pub fn along(&self) -> Option<Along> {
        if self.axes.iter().any(|axis| LOAD.contains(&axis.switch.as_str())) {
            return Some(Along::Outstanding);
        }
        self.axes.iter().any(|axis| axis.switch == "b").then_some(Along::BlockSize)
    }

    /// Whether an axis is part of the ramp.
    fn is_ramp(&self, axis: &Axis) -> bool {
        match self.along() {
            Some(Along::Outstanding) => LOAD.contains(&axis.switch.as_str()),
            Some(Along::BlockSize) => axis.switch == "b",
            None => false,
        }
    }

    /// The words of a point's values, of the axes that are chosen: `-o8 -t2`.
    fn values_words(&self, point: &Point, is_chosen: impl Fn(&Axis) -> bool) -> String {
        let mut words = Vec::new();
        for (axis, value) in self.axes.iter().zip(&point.values) {
            if is_chosen(axis) {
                words.push(axis.with(value));
            }
        }
        words.join(" ")
    }

    /// Its values with their switches: `-o8 -t2`
    pub fn name(&self, point: &Point) -> String {
        self.values_words(point, |_| true)
    }

    /// What each ramp says, in the order of its first point.
    pub fn groups(&self) -> Vec<Group> {
        let Some(along) = self.along() else { return Vec::new() };
        let mut named: Vec<(String, Vec<Step>)> = Vec::new();
        for (place, point) in self.points.iter().enumerate() {
            let (load, figure) = match along {
                Along::Outstanding => (point.outstanding, point.iops()),
                Along::BlockSize => (point.block_bytes, point.bytes_per_s()),
            };
            let Some(figure) = figure else { continue };
            let name = self.values_words(point, |axis| !self.is_ramp(axis));
            let step = Step { point: place, load, threads: point.threads, figure };
            match named.iter_mut().find(|(known, _)| *known == name) {
                Some((_, steps)) => steps.push(step),
                None => named.push((name, vec![step])),
            }
        }
        let mut groups = Vec::new();
        for (name, steps) in named {
            if let Some(ramp) = Ramp::of(&steps) {
                let bound = self.bound(&steps, &ramp);
                groups.push(Group { name, ramp, bound });
            }
        }
        groups
    }

    fn bound(&self, steps: &[Step], ramp: &Ramp) -> Bound {
        let runs = &self.points[ramp.best].runs;
        let mut at = AtPlateau {
            is_generator_bound: runs.iter().any(|run| run.is_generator_bound),
            held_back: runs.iter().find_map(|run| run.held_back.as_deref()),
            queue_beyond: None,
        };
        let last = steps.iter().max_by_key(|step| step.load);
        // Larger sizes ask for no more I/Os.
        if let (Some(Along::Outstanding), Some(last)) = (self.along(), last)
            && last.load > ramp.knee_load
        {
            let point = &self.points[last.point];
            at.queue_beyond = point.in_flight().map(|in_flight| in_flight / point.outstanding.max(1) as f64);
        }
        Bound::of(at)
    }

    /// The line of a point.
    pub fn line_of(&self, point: usize) -> Vec<String> {
        let mut words = Vec::new();
        for (axis, value) in self.axes.iter().zip(&self.points[point].values) {
            let place = axis.values.iter().position(|known| known == value);
            words.extend(place.map(|place| axis.words(place)).unwrap_or_default());
        }
        words.extend(self.line.iter().chain(&self.targets).cloned());
        words
    }
}
