//! What a test after SNIA's PTS measured, and what follows from it.

use super::table::{Class, Figure, Pattern, mix};
use crate::answer::SeriesVerdict;
use crate::ask::Common;
use crate::runner::duration_words;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use truespd_core::measure::estimate::{Excursions, excursions};
use truespd_core::profile::SteadyRule;
use truespd_core::result::rounds::Tracked;
use truespd_core::result::{Grade, LatencySummary, Preconditioned};

/// A pause that is so many seconds longer than the test wants is one of a stop.
const STOP_S: f64 = 60.0;
/// The largest demands count as long as their mean latency is below this, in nanoseconds.
pub const QUICK_NS: f64 = 5e6;

/// What a test after SNIA's PTS measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PtsReport")]
pub struct PtsReport {
    /// What it has in common with the documents of all suites.
    #[serde(flatten)]
    pub common: Common,
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
}

/// What the specification wants to be told beside the figures. Absent: not known.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Head {
    /// How the person purged the drive.
    pub purge: Option<String>,
    /// Model of the drive, with its maker as far as it says that.
    pub model: Option<String>,
    /// Serial number of the drive as the kernel tells it; left out where results are shared without names.
    pub serial: Option<String>,
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
    /// When that had been written, in seconds since 1970 UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preconditioned_until_unix_s: Option<i64>,
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
    /// Pause behind each round that the test wants, in seconds.
    #[serde(default)]
    pub wait_s: f64,
    /// Its rounds; of one that was stopped, the cells until then.
    pub rounds: Vec<Vec<Figures>>,
    /// Response times in its last round, where the test wants their histogram: of its cell, or of the cells with the
    /// most, a middle and the fewest IOPS.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub response_times: Vec<ResponseTimes>,
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
    /// It only writes before the other cells of a round.
    #[serde(default)]
    pub is_prewrite: bool,
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
    /// When its run started, in seconds since 1970 UTC.
    pub start_unix_s: Option<i64>,
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
    /// Place of its cell among those of a round.
    #[serde(default)]
    pub cell: usize,
    /// The round that they are of, counted from 1.
    #[serde(default)]
    pub round: u32,
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

    /// Sizes and mixes, where its cells differ in both.
    pub fn table(&self) -> Option<CellTable> {
        self.cell_table(|cell| (cell.block.clone(), mix(cell.read_percent)))
    }

    /// Threads and I/Os outstanding for each, where its cells differ in both.
    pub fn demands(&self) -> Option<CellTable> {
        self.cell_table(|cell| (format!("T{}", cell.threads), format!("Q{}", cell.outstanding)))
    }

    /// A table where no two cells have the same names of row and column.
    fn cell_table(&self, names: fn(&CellReport) -> (String, String)) -> Option<CellTable> {
        let mut table = CellTable { columns: Vec::new(), rows: Vec::new() };
        for cell in self.cells.iter().filter(|cell| !cell.is_prewrite) {
            let (_, column) = names(cell);
            if !table.columns.contains(&column) {
                table.columns.push(column);
            }
        }
        for (place, cell) in self.cells.iter().enumerate().filter(|(_, cell)| !cell.is_prewrite) {
            let (name, column) = names(cell);
            let column = table.columns.iter().position(|other| *other == column)?;
            let row = match table.rows.iter().position(|(other, _)| *other == name) {
                Some(row) => row,
                None => {
                    table.rows.push((name, vec![None; table.columns.len()]));
                    table.rows.len() - 1
                }
            };
            if table.rows[row].1[column].replace(place).is_some() {
                return None;
            }
        }
        if table.rows.len() > 1 && table.columns.len() > 1 { Some(table) } else { None }
    }

    /// What a cell did in a round from 1.
    fn figures(&self, round: u32, cell: usize) -> Option<&Figures> {
        self.rounds.get((round as usize).checked_sub(1)?)?.get(cell)
    }

    /// Of the response times of many cells, keeps those of the most, a middle and the fewest IOPS. The most and the
    /// middle are of cells with mean latencies below 5 ms, where there are some; the fewest is the last cell.
    pub fn keep_three(&mut self) {
        let all = std::mem::take(&mut self.response_times);
        let (Some(last), true) = (all.last().cloned(), all.len() > 3) else {
            self.response_times = all;
            return;
        };
        let mut quick: Vec<(f64, &ResponseTimes)> = Vec::new();
        let mut slow = Vec::new();
        for times in &all {
            let Some(figures) = self.figures(times.round, times.cell) else { continue };
            if figures.mean_ns.is_some_and(|mean_ns| mean_ns < QUICK_NS) {
                quick.push((figures.iops, times));
            } else {
                slow.push((figures.iops, times));
            }
        }
        if quick.is_empty() {
            quick = slow;
        }
        quick.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (Some(most), Some(fewest)) = (quick.last(), quick.first()) else { return };
        let middle = (most.0 + fewest.0) / 2.0;
        let nearest = quick.iter().min_by(|a, b| (a.0 - middle).abs().total_cmp(&(b.0 - middle).abs()));
        for times in [Some(most), nearest].into_iter().flatten().map(|it| it.1.clone()).chain([last]) {
            if !self.response_times.contains(&times) {
                self.response_times.push(times);
            }
        }
    }

    /// Pauses between its rounds in seconds, from the end of a run to the start of the next; those of a stop are
    /// among them.
    fn pauses_s(&self) -> Vec<f64> {
        let mut all = Vec::new();
        let mut until = None;
        for round in self.whole() {
            let start = round.first().and_then(|figures| figures.start_unix_s);
            if let (Some(until), Some(start)) = (until, start) {
                all.push(start as f64 - until);
            }
            until = round.last().and_then(Figures::end_unix_s);
        }
        all
    }

    /// Mean of the pauses between its rounds in seconds, without those of a stop; none with one round.
    pub fn pause_s(&self) -> Option<f64> {
        let mut kept = self.pauses_s();
        kept.retain(|pause| pause - self.wait_s <= STOP_S);
        if kept.is_empty() { None } else { Some(kept.iter().sum::<f64>() / kept.len() as f64) }
    }
}

impl Figures {
    /// When its run ended; runs tell their start in whole seconds.
    fn end_unix_s(&self) -> Option<f64> {
        Some(self.start_unix_s? as f64 + self.measured_s)
    }
}

/// Cells by the names of row and column.
#[derive(Debug, Clone, PartialEq)]
pub struct CellTable {
    pub columns: Vec<String>,
    /// A name each, with the places of its cells.
    pub rows: Vec<(String, Vec<Option<usize>>)>,
}

impl PtsReport {
    /// All stages with the names of their parts.
    pub fn stages(&self) -> impl Iterator<Item = (&str, &StageReport)> {
        self.parts.iter().flat_map(|part| part.stages.iter().map(|stage| (part.name.as_str(), stage)))
    }

    /// Longer pauses than between two runs, a sentence each. The specification has none.
    pub fn pauses(&self) -> Vec<String> {
        let mut all = Vec::new();
        let mut until: Option<f64> = None;
        for part in &self.parts {
            if let Some(before) = &part.preconditioned {
                until = part.preconditioned_until_unix_s.map(|end| end as f64);
                if before.earlier_bytes > 0 {
                    all.push("The preconditioning was stopped, and went on later.".to_string());
                }
            }
            for stage in &part.stages {
                for (round, cells) in stage.rounds.iter().enumerate() {
                    for (figures, cell) in cells.iter().zip(&stage.cells) {
                        let start = figures.start_unix_s.map(|start| start as f64);
                        let pause = start.zip(until).map_or(0.0, |(start, until)| start - until);
                        if pause > STOP_S {
                            all.push(format!(
                                "No run was made for {} before round {} of '{}' ({}): the specification has no such \
                                 pause.",
                                duration_words(pause),
                                round + 1,
                                stage.name,
                                cell.name
                            ));
                        }
                        until = figures.end_unix_s();
                    }
                    until = until.map(|end| end + stage.wait_s);
                }
            }
        }
        all
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
    use truespd_core::measure::histogram::Histogram;

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
            is_prewrite: false,
            line: Vec::new(),
            profile: None,
        };
        let tracked = TrackedCell { name: "RND 4 KiB 0/100 IOPS".into(), cell: 0, figure: Figure::Iops };
        StageReport {
            name: "rounds".into(),
            cells: vec![cell],
            tracked: vec![tracked],
            every,
            wait_s: 0.0,
            rounds,
            response_times: Vec::new(),
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

    fn report(stage: StageReport) -> PtsReport {
        let part = PartReport {
            name: String::new(),
            preconditioned: None,
            preconditioned_until_unix_s: None,
            stages: vec![stage],
        };
        PtsReport {
            common: Common::default(),
            test: "hir".into(),
            title: String::new(),
            class: Class::Enterprise,
            source: String::new(),
            head: Head::default(),
            deviations: Vec::new(),
            rule: SteadyRule::default(),
            parts: vec![part],
            verdict: SeriesVerdict::default(),
        }
    }

    #[test]
    fn a_pause_of_a_stop_is_told_and_no_part_of_waits() {
        let mut stage = stage(&[100.0; 4], 1);
        stage.wait_s = 5.0;
        for (round, start) in stage.rounds.iter_mut().zip([0, 7, 13, 3619]) {
            round[0].start_unix_s = Some(1_000_000 + start);
            round[0].measured_s = 1.0;
        }
        assert_eq!(stage.pause_s(), Some(5.5), "of 6 s and 5 s");
        let told = report(stage.clone()).pauses();
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].starts_with("No run was made for 60 min before round 4 of 'rounds'"), "{told:?}");
        stage.rounds[3][0].start_unix_s = Some(1_000_019);
        assert!(report(stage).pauses().is_empty());
    }

    #[test]
    fn three_demands_keep_their_response_times() {
        let mut stage = stage(&[1.0], 1);
        stage.cells = vec![stage.cells[0].clone(); 5];
        stage.rounds[0] = Vec::new();
        for (iops, mean_ns) in [(900.0, 9e6), (800.0, 4e6), (460.0, 1e6), (300.0, 1e6), (100.0, 1e6)] {
            stage.rounds[0].push(Figures { iops, mean_ns: Some(mean_ns), ..Figures::default() });
        }
        let mut histogram = Histogram::new();
        histogram.record(1000);
        let summary = LatencySummary::of(&histogram).expect("an I/O");
        for cell in 0..5 {
            stage.response_times.push(ResponseTimes {
                cell,
                round: 1,
                summary: summary.clone(),
                bars: Vec::new(),
            });
        }
        stage.keep_three();
        let cells: Vec<usize> = stage.response_times.iter().map(|times| times.cell).collect();
        assert_eq!(cells, [1, 2, 4], "900 IOPS are too slow, and 460 are the nearest to 450");
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
