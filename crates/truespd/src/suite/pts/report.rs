//! What a test after SNIA's PTS measured, and what follows from it.

use super::table::{Class, Figure, Pattern};
use crate::suite::{RanOn, SeriesVerdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use truespd_core::measure::estimate::{Excursions, excursions};
use truespd_core::profile::SteadyRule;
use truespd_core::result::rounds::Tracked;
use truespd_core::result::{Grade, LatencySummary, Preconditioned};

/// What a test after SNIA's PTS measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PtsReport")]
pub struct PtsReport {
    /// Version of the tool that measured.
    pub tool_version: String,
    /// Name of the test, as in `truespd pts iops`.
    pub test: String,
    /// Title of the test as the specification has it.
    pub title: String,
    /// Which edition of the specification.
    pub class: Class,
    /// What the figures of the test are from.
    pub source: String,
    /// What the specification wants to be told beside the figures.
    pub head: Head,
    /// In what the test differs from the specification, a sentence each.
    pub deviations: Vec<String>,
    /// The rule by which rounds are steady.
    pub rule: SteadyRule,
    /// What was tested, each after a purge of its own.
    pub parts: Vec<PartReport>,
    /// What the verdicts of all runs say.
    pub verdict: SeriesVerdict,
    /// Where its runs measured, and on what.
    #[serde(default, skip_serializing_if = "RanOn::is_unknown")]
    pub ran_on: RanOn,
}

/// What the specification wants to be told beside the figures. Absent: not known.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Head {
    /// How the person purged the drive.
    pub purge: Option<String>,
    /// Model of the drive, with its maker as far as it says that.
    pub model: Option<String>,
    /// Revision of the drive's firmware as it tells it.
    pub firmware: Option<String>,
    /// How the drive is connected.
    pub interface: Option<String>,
    /// Size of the file or device in bytes.
    pub capacity_bytes: u64,
    /// Bytes of it that the cells use, from its start.
    pub active_range_bytes: u64,
    /// The drive's write cache, as the kernel drives it.
    pub write_cache: Option<String>,
    /// Threads, where the test does not say them.
    pub threads: u32,
    /// I/Os outstanding for each thread, where the test does not say them.
    pub outstanding: u32,
    /// Length of a cell of a minute, in seconds.
    pub seconds: u32,
    /// What the I/Os go through; the usual engine where it is absent.
    pub engine: Option<String>,
    /// Bytes that the drive may be written in its life, as the person says.
    pub endurance_bytes: Option<u64>,
    /// Release of the kernel of the host.
    pub kernel: Option<String>,
    /// Name of the first processor of the host.
    pub processor: Option<String>,
    /// Memory of the host in bytes.
    pub memory_bytes: Option<u64>,
    /// What the firmware calls the host.
    pub machine: Option<String>,
}

/// What was tested in one go.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PartReport {
    /// Its name; empty where the test has one part.
    pub name: String,
    /// What was written before the rounds; none where the test wants nothing, or it was not reached.
    pub preconditioned: Option<Preconditioned>,
    /// Its stages, in the order of time.
    pub stages: Vec<StageReport>,
}

/// Rounds of the same cells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageReport {
    /// What it is, in a few words.
    pub name: String,
    /// The cells of a round, in the order in which they ran.
    pub cells: Vec<CellReport>,
    /// The tracking variables, by which its rounds are judged.
    pub tracked: Vec<TrackedCell>,
    /// Rounds from one that is judged to the next.
    pub every: u32,
    /// Its rounds; of one that was stopped, the cells until then.
    pub rounds: Vec<Vec<Figures>>,
    /// Response times of its last run, where the test wants their histogram.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_times: Option<ResponseTimes>,
}

/// A cell of the test, with its load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CellReport {
    /// Pattern, size, and shares of reads and writes: `RND 4 KiB 65/35`.
    pub name: String,
    /// How it goes through the target.
    pub pattern: Pattern,
    /// Reads in percent of the I/Os.
    pub read_percent: u32,
    /// Size of its I/Os in words.
    pub block: String,
    /// Threads that issue these I/Os.
    pub threads: u32,
    /// I/Os outstanding for each thread.
    pub outstanding: u32,
    /// Length of a run in seconds.
    pub seconds: u32,
    /// DiskSpd's words of its first run, with the target; empty until it has run.
    pub line: Vec<String>,
    /// Hash of the profile of its first run, by which the history knows the same test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
}

/// A figure by which rounds are judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrackedCell {
    /// What it is, in words.
    pub name: String,
    /// Place of its cell among those of a round.
    pub cell: usize,
    /// Which figure of the cell.
    pub figure: Figure,
}

/// What a cell did in a round. Reads and writes are added.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Figures {
    /// Reads and writes that completed per second.
    pub iops: f64,
    /// Bytes of reads and writes per second.
    pub bytes_per_s: f64,
    /// Bytes that were written in the measured time.
    pub written_bytes: u64,
    /// How long was measured, in seconds.
    pub measured_s: f64,
    /// Mean latency in nanoseconds; none without an I/O, here and below.
    pub mean_ns: Option<f64>,
    /// 99.999th percentile of the latency in nanoseconds.
    pub p99_999_ns: Option<f64>,
    /// Longest latency of the run in nanoseconds.
    pub max_ns: Option<f64>,
    /// Its verdict; none when it was not judged.
    pub grade: Option<Grade>,
}

/// The response times of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResponseTimes {
    /// Mean, percentiles, smallest and largest of all I/Os.
    pub summary: LatencySummary,
    /// How many I/Os took how long, in steps of a quarter of a doubling.
    pub bars: Vec<Bar>,
}

/// I/Os whose response times lie in a step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bar {
    /// End of the step in nanoseconds.
    pub up_to_ns: f64,
    /// How many I/Os the step has.
    pub ios: u64,
}

impl Figure {
    /// Of a cell in a round; 0 without an I/O.
    pub fn of(self, figures: &Figures) -> f64 {
        match self {
            Figure::Iops => figures.iops,
            Figure::Throughput => figures.bytes_per_s,
            Figure::MeanLatency => figures.mean_ns.unwrap_or_default(),
        }
    }
}

/// A tracking variable over the rounds that are judged.
#[derive(Debug, Clone, PartialEq)]
pub struct Course<'a> {
    pub tracked: &'a TrackedCell,
    /// Its value in each round that is judged.
    pub values: Vec<f64>,
    /// How far the last rounds of the window go off their mean; none with fewer rounds.
    pub excursions: Option<Excursions>,
}

impl Course<'_> {
    /// Whether it keeps the rule; none with fewer rounds than the window has.
    pub fn is_steady(&self, rule: &SteadyRule) -> Option<bool> {
        let excursions = self.excursions?;
        let has_values = self.values.iter().rev().take(rule.window as usize).all(|value| *value > 0.0);
        Some(has_values && Tracked { name: "", excursions }.is_steady(rule))
    }
}

impl StageReport {
    /// Its rounds that have all cells.
    pub fn whole(&self) -> impl DoubleEndedIterator<Item = &Vec<Figures>> {
        self.rounds.iter().filter(|round| !round.is_empty() && round.len() == self.cells.len())
    }

    /// Each tracking variable over the rounds that are judged.
    pub fn courses(&self, rule: &SteadyRule) -> Vec<Course<'_>> {
        let window = rule.window as usize;
        let every = self.every.max(1) as usize;
        let mut all = Vec::new();
        for tracked in &self.tracked {
            let mut values = Vec::new();
            for round in self.whole().skip(every - 1).step_by(every) {
                values.extend(round.get(tracked.cell).map(|figures| tracked.figure.of(figures)));
            }
            let last = &values[values.len().saturating_sub(window)..];
            let excursions = if last.len() == window && window > 0 { Some(excursions(last)) } else { None };
            all.push(Course { tracked, values, excursions });
        }
        all
    }

    /// Whether all tracking variables are steady; none where nothing is tracked, or too few rounds were made.
    pub fn is_steady(&self, rule: &SteadyRule) -> Option<bool> {
        let mut is_steady = None;
        for course in self.courses(rule) {
            is_steady = Some(is_steady.unwrap_or(true) && course.is_steady(rule)?);
        }
        is_steady
    }

    /// Mean of a figure of a cell over the last rounds, as many as the window has where rounds are tracked.
    pub fn mean(&self, cell: usize, rule: &SteadyRule, figure: fn(&Figures) -> Option<f64>) -> Option<f64> {
        let rounds = if self.tracked.is_empty() { 1 } else { rule.window as usize };
        let mut values = Vec::new();
        for round in self.whole().rev().take(rounds) {
            values.extend(round.get(cell).and_then(figure));
        }
        if values.is_empty() { None } else { Some(values.iter().sum::<f64>() / values.len() as f64) }
    }

    /// The worst verdict of a cell over those rounds.
    pub fn grade(&self, cell: usize) -> Option<Grade> {
        self.whole().filter_map(|round| round.get(cell)?.grade).max()
    }

    pub fn written_bytes(&self) -> u64 {
        self.rounds.iter().flatten().map(|figures| figures.written_bytes).fold(0, u64::saturating_add)
    }

    /// Sizes and mixes, where its cells are a table of both with several rows and columns: each block's name with a
    /// place of a cell for each mix.
    pub fn table(&self) -> Option<CellTable> {
        let mut table = CellTable { reads: Vec::new(), rows: Vec::new() };
        for cell in &self.cells {
            if !table.reads.contains(&cell.read_percent) {
                table.reads.push(cell.read_percent);
            }
        }
        for (place, cell) in self.cells.iter().enumerate() {
            let column = table.reads.iter().position(|reads| *reads == cell.read_percent)?;
            let row = match table.rows.iter().position(|(block, _)| *block == cell.block) {
                Some(row) => row,
                None => {
                    table.rows.push((cell.block.clone(), vec![None; table.reads.len()]));
                    table.rows.len() - 1
                }
            };
            // Several cells of a size and mix differ in their load: no table of these.
            if table.rows[row].1[column].replace(place).is_some() {
                return None;
            }
        }
        if table.rows.len() > 1 && table.reads.len() > 1 { Some(table) } else { None }
    }
}

/// Cells by size and mix.
#[derive(Debug, Clone, PartialEq)]
pub struct CellTable {
    /// Reads in percent, a column each.
    pub reads: Vec<u32>,
    /// A size each, with the places of its cells.
    pub rows: Vec<(String, Vec<Option<usize>>)>,
}

impl PtsReport {
    /// All stages with the names of their parts.
    pub fn stages(&self) -> impl Iterator<Item = (&str, &StageReport)> {
        self.parts.iter().flat_map(|part| part.stages.iter().map(|stage| (part.name.as_str(), stage)))
    }

    /// Bytes that all of it wrote.
    pub fn written_bytes(&self) -> u64 {
        let mut sum: u64 = 0;
        for part in &self.parts {
            let before = part.preconditioned.as_ref();
            sum =
                sum.saturating_add(before.map_or(0, |it| it.written_bytes.saturating_add(it.earlier_bytes)));
            for stage in &part.stages {
                sum = sum.saturating_add(stage.written_bytes());
            }
        }
        sum
    }

    /// Why it is not steady, in words; none where every stage that is tracked is.
    pub fn lacks_steady(&self) -> Option<String> {
        for (part, stage) in self.stages().filter(|(_, stage)| !stage.tracked.is_empty()) {
            if stage.is_steady(&self.rule) != Some(true) {
                let of = if part.is_empty() { String::new() } else { format!(" of {part}") };
                return Some(format!("the rounds{of} did not become steady"));
            }
        }
        None
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn stage(values: &[f64], every: u32) -> StageReport {
        let mut rounds = Vec::new();
        for &iops in values {
            rounds.push(vec![Figures { iops, mean_ns: Some(1e9 / iops), ..Figures::default() }]);
        }
        let cell = CellReport {
            name: "RND 4 KiB 0/100".into(),
            pattern: Pattern::Random,
            read_percent: 0,
            block: "4 KiB".into(),
            threads: 1,
            outstanding: 1,
            seconds: 60,
            line: Vec::new(),
            profile: None,
        };
        let tracked = TrackedCell { name: "RND 4 KiB 0/100 IOPS".into(), cell: 0, figure: Figure::Iops };
        StageReport {
            name: "rounds".into(),
            cells: vec![cell],
            tracked: vec![tracked],
            every,
            rounds,
            response_times: None,
        }
    }

    #[test]
    fn all_tracking_variables_must_be_steady() {
        let rule = SteadyRule::default();
        let mut steady = stage(&[300.0, 100.0, 100.0, 100.0, 100.0, 100.0], 1);
        assert_eq!(steady.is_steady(&rule), Some(true));
        assert_eq!(steady.mean(0, &rule, |it| Some(it.iops)), Some(100.0), "of the window");
        assert_eq!(stage(&[100.0; 4], 1).is_steady(&rule), None);
        assert_eq!(stage(&[130.0, 100.0, 100.0, 100.0, 100.0], 1).is_steady(&rule), Some(false));
        assert_eq!(stage(&[f64::INFINITY, 0.0, 0.0, 0.0, 0.0, 0.0], 1).is_steady(&rule), Some(false));
        let latency = TrackedCell { name: "latency".into(), cell: 0, figure: Figure::MeanLatency };
        steady.tracked.push(latency);
        steady.rounds[5][0].mean_ns = Some(5e7);
        assert_eq!(steady.is_steady(&rule), Some(false), "one of two is not");
        // A round that was stopped is none.
        steady.rounds.push(Vec::new());
        assert_eq!(steady.whole().count(), 6);
    }

    #[test]
    fn every_so_many_th_round_is_judged() {
        let rule = SteadyRule::default();
        let values: Vec<f64> =
            (1..=155).map(|number| if number % 31 == 0 { 50.0 } else { number as f64 }).collect();
        let samples = stage(&values, 31);
        assert_eq!(samples.courses(&rule)[0].values, [50.0; 5]);
        assert_eq!(samples.is_steady(&rule), Some(true));
    }
}
