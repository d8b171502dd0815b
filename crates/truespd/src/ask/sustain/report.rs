//! What sustained writes measured, and what follows from it.

use super::course::{Fall, fall, fast_bytes, last_level, levels};
use crate::answer::SeriesVerdict;
use crate::ask::Common;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use truespd_core::profile::SteadyRule;
use truespd_core::result::Grade;
use truespd_core::result::rounds::Tracked;

/// How a storage writes when it goes on and on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SustainReport")]
pub struct SustainReport {
    /// What it has in common with the documents of all suites.
    #[serde(flatten)]
    pub common: Common,
    /// DiskSpd's words of the first run, with the target; empty until it has run.
    pub line: Vec<String>,
    /// Hash of the profile of the first run, by which the history knows the same test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Bytes of the file or device that is written.
    pub range_bytes: u64,
    /// The range is full when it has been written so often; the run in which that happens is the last one before the
    /// first rest.
    pub passes: u32,
    /// Minutes of writing at most, before the first rest.
    pub minutes: u32,
    /// Free bytes and size of the file system in which the file was made; none of a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room: Option<RoomBefore>,
    /// Length of a run in seconds.
    pub run_s: u32,
    /// Length of a slice in seconds.
    pub slice_s: f64,
    /// The rule by which the last runs before the first rest are steady.
    pub rule: SteadyRule,
    /// Why writing ended before the first rest; none where the series was stopped before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<End>,
    /// What was written: first without a rest, then after each rest.
    pub phases: Vec<Phase>,
    /// What the verdicts of all runs say.
    pub verdict: SeriesVerdict,
}

/// A file system before a file was made in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RoomBefore {
    /// Bytes that this user could still write to it.
    pub free_bytes: u64,
    /// Size of the whole file system in bytes.
    pub size_bytes: u64,
}

/// Why writing ended before the first rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// The rate had fallen and was steady.
    Steady,
    /// The range had been written as often as was asked for.
    Full,
    /// The minutes that were asked for were over.
    Time,
}

/// Runs one after the other, after a rest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Phase {
    /// Seconds without I/O before it; 0 of the first one.
    pub rest_s: u32,
    /// Its runs in the order of time.
    pub runs: Vec<Run>,
}

/// A run of sequential writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Where in the target it began, in bytes.
    pub from_bytes: u64,
    /// What it wrote, in bytes.
    pub written_bytes: u64,
    /// How long it wrote, in seconds.
    pub measured_s: f64,
    /// Bytes per second of each slice.
    pub bytes_per_s: Vec<f64>,
    /// The longest latency of a write, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_ns: Option<f64>,
    /// The highest temperature that a drive below the target told after it, in degrees Celsius; none where none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature_c: Option<i32>,
    /// Its verdict; none when it was not judged.
    pub grade: Option<Grade>,
}

impl Run {
    /// Bytes per second over its measured time.
    pub fn rate(&self) -> f64 {
        if self.measured_s > 0.0 { self.written_bytes as f64 / self.measured_s } else { 0.0 }
    }
}

impl Phase {
    /// Bytes per second of all its slices.
    pub fn rates(&self) -> Vec<f64> {
        self.runs.iter().flat_map(|run| run.bytes_per_s.iter().copied()).collect()
    }

    /// What it wrote, in bytes.
    pub fn written_bytes(&self) -> u64 {
        self.runs.iter().map(|run| run.written_bytes).fold(0, u64::saturating_add)
    }

    /// The worst verdict of its runs.
    pub fn grade(&self) -> Option<Grade> {
        self.runs.iter().filter_map(|run| run.grade).max()
    }
}

/// A stretch that was written at about the same rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stretch {
    /// What had been written when it began, in bytes.
    pub from_bytes: f64,
    /// What it wrote, in bytes.
    pub bytes: f64,
    pub bytes_per_s: f64,
}

/// What was fast again after a rest.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recovery {
    pub rest_s: u32,
    /// Bytes that were written fast; none where less was than the scatter of the rate alone makes.
    pub bytes: Option<f64>,
    /// What the scatter of the rate alone makes, in bytes.
    pub least_bytes: f64,
    /// It was still fast when its runs ended.
    pub is_more: bool,
    pub grade: Option<Grade>,
}

impl SustainReport {
    /// What was written before the first rest.
    pub fn first(&self) -> Option<&Phase> {
        self.phases.first()
    }

    fn first_rates(&self) -> Vec<f64> {
        self.first().map(Phase::rates).unwrap_or_default()
    }

    /// Where the rate fell before the first rest.
    pub fn fall(&self) -> Option<Fall> {
        fall(&self.first_rates())
    }

    /// Bytes of the fast area, and what a slice may add or take.
    pub fn fast_area_bytes(&self) -> Option<(f64, f64)> {
        let fall = self.fall()?;
        let rates = self.first_rates();
        let bytes = rates[..fall.slices].iter().sum::<f64>() * self.slice_s;
        Some((bytes, fall.before * self.slice_s))
    }

    /// The stretches before the first rest.
    pub fn stretches(&self) -> Vec<Stretch> {
        let rates = self.first_rates();
        let mut all = Vec::new();
        let mut from_bytes = 0.0;
        for level in levels(&rates) {
            let bytes = rates[level.first..level.end].iter().sum::<f64>() * self.slice_s;
            all.push(Stretch { from_bytes, bytes, bytes_per_s: level.mean });
            from_bytes += bytes;
        }
        all
    }

    /// Whether the last runs before the first rest are steady; none where they are too few, or began before the last
    /// level of the rate.
    pub fn is_steady(&self) -> Option<bool> {
        let runs = &self.first()?.runs;
        let first = runs.len().checked_sub(self.rule.window as usize)?;
        let before: usize = runs[..first].iter().map(|run| run.bytes_per_s.len()).sum();
        if before < last_level(&self.first_rates()) {
            return None;
        }
        let values: Vec<f64> = runs[first..].iter().map(Run::rate).collect();
        Some(Tracked::of("rate", &values).is_steady(&self.rule))
    }

    /// What the scatter of the steady rate alone makes, in bytes: what is fast after a rest is more.
    fn scatter_bytes(&self, fall: &Fall) -> f64 {
        let rates = self.first_rates();
        let behind = &rates[last_level(&rates)..];
        let mut most = 0.0_f64;
        // As long as the courses after rests are, of which the scatter adds up over the same time.
        let slices = self.run_s as f64 / self.slice_s;
        for part in behind.chunks(slices.round().max(1.0) as usize) {
            most = most.max(fast_bytes(part, fall, self.slice_s));
        }
        most
    }

    /// Whether a course is slow again at its end.
    pub fn is_slow_again(&self, phase: &Phase, fall: &Fall) -> bool {
        let Some(run) = phase.runs.last() else { return false };
        let half = &run.bytes_per_s[run.bytes_per_s.len() / 2..];
        let mean = half.iter().sum::<f64>() / half.len().max(1) as f64;
        mean < fall.threshold()
    }

    /// What was fast again after each rest; empty where the rate never fell.
    pub fn recoveries(&self) -> Vec<Recovery> {
        let Some(fall) = self.fall() else { return Vec::new() };
        let least_bytes = self.scatter_bytes(&fall);
        let mut all = Vec::new();
        for phase in self.phases.iter().skip(1).filter(|phase| !phase.runs.is_empty()) {
            let bytes = fast_bytes(&phase.rates(), &fall, self.slice_s);
            all.push(Recovery {
                rest_s: phase.rest_s,
                bytes: Some(bytes).filter(|&bytes| bytes > least_bytes),
                least_bytes,
                is_more: !self.is_slow_again(phase, &fall),
                grade: phase.grade(),
            });
        }
        all
    }

    /// The highest temperature of each run, over the seconds of writing until its end; empty where no drive tells.
    pub fn temperatures(&self) -> Vec<[f64; 2]> {
        let mut all = Vec::new();
        let mut written_s = 0.0;
        for run in self.phases.iter().flat_map(|phase| &phase.runs) {
            written_s += run.measured_s;
            all.extend(run.temperature_c.map(|degrees| [written_s, f64::from(degrees)]));
        }
        all
    }

    /// The longest latency of a write in all runs, in nanoseconds.
    pub fn longest_ns(&self) -> Option<f64> {
        let runs = self.phases.iter().flat_map(|phase| &phase.runs);
        runs.filter_map(|run| run.longest_ns).reduce(f64::max)
    }

    /// All that was written, in bytes.
    pub fn written_bytes(&self) -> u64 {
        self.phases.iter().map(Phase::written_bytes).fold(0, u64::saturating_add)
    }

    /// Why the first phase is not steady in the words of `--require`; none where it is.
    pub fn lacks_steady(&self) -> Option<String> {
        match self.is_steady() {
            Some(true) => None,
            Some(false) => Some("the rate was not steady at the end of writing".to_string()),
            None => Some(format!("the rate was not followed over {} runs", self.rule.window)),
        }
    }
}
