//! The lines of `--events`: one JSON object each, with the time (UTC) and what happened.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use truespd_core::load::{
    self,
    live::{DiskRates, HostRates, Phase, Progress},
};
use truespd_core::machine::host::unix_time_ns;
use truespd_core::result::{DirectionSummary, Document, FindingGrade, Grade, Summary, TimeSpanResult};
use truespd_core::text::{printable_json, visible_json};

const NS_PER_S: f64 = 1e9;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Happened {
    Begin {
        /// As typed, the program first.
        command_line: Vec<String>,
    },
    /// A step of a series began.
    Step {
        name: String,
        /// How long it takes as planned, in seconds; files that are to be made are not in it.
        #[serde(default)]
        planned_s: f64,
        /// Runs after it, as far as is known.
        #[serde(default)]
        runs_ahead: usize,
        /// How long those take as planned, in seconds.
        #[serde(default)]
        ahead_s: f64,
    },
    /// A file is being written.
    Fill {
        path: String,
        done_bytes: u64,
        total_bytes: u64,
    },
    /// An unfinished file is being removed.
    Remove {
        path: String,
        /// Size that it was to have.
        bytes: u64,
    },
    /// An existing file is used as it is.
    Reuse {
        path: String,
    },
    /// Something that a person should know.
    Note {
        says: String,
    },
    /// A warning, which is also in the document.
    Warning {
        says: String,
    },
    Progress(At),
    GivenUp {
        says: String,
    },
    Result(Brought),
    End,
}

/// Where a run is. Counts are of the time span so far, rates of the last second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct At {
    pub phase: Phase,
    /// Number of the time span, from 1.
    pub time_span: usize,
    /// Time spans of the profile.
    pub time_spans: usize,
    /// Since the time span began.
    pub elapsed_s: f64,
    /// Until the last time span ends.
    pub left_s: f64,
    pub ios: u64,
    pub bytes: u64,
    /// I/Os per second; absent before the first rates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_s: Option<f64>,
    /// Mean latency; absent when no I/O completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_mean_s: Option<f64>,
    /// I/Os in flight on average, by Little's law.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight_mean: Option<f64>,
    /// How busy all processors of the machine were, in percent of their time; of rank 0's in a cluster run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processors_busy_percent: Option<f64>,
    /// The lowest disks under the targets, by the kernel's counters; under those of rank 0 in a cluster run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disks: Vec<DiskRates>,
    /// The hosts of a cluster run; absent for a run on one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosts: Option<HostRates>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Brought {
    /// Its grade; absent when it was not judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Grade>,
    #[serde(default)]
    pub findings: Vec<Found>,
    /// One for each time span that was measured.
    #[serde(default)]
    pub time_spans: Vec<Span>,
}

/// A finding of the verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Found {
    pub rule: String,
    pub grade: FindingGrade,
    pub says: String,
}

/// The figures of a time span.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Span {
    pub test_time_s: f64,
    pub read: Sum,
    pub write: Sum,
}

/// The figures of reads or of writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sum {
    pub ios: u64,
    pub bytes: u64,
    pub iops: f64,
    pub bytes_per_s: f64,
    /// Mean latency; absent when it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_mean_s: Option<f64>,
    /// 99th percentile of the latency; absent when it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_p99_s: Option<f64>,
}

/// A line that was read.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Heard {
    pub time: Timestamp,
    #[serde(flatten)]
    pub happened: Happened,
}

impl Heard {
    /// Reads a line of `--events`, whose words are to be shown.
    ///
    /// # Errors
    /// Why it is none.
    pub fn read(line: &str) -> Result<Heard, serde_json::Error> {
        serde_json::from_slice(&printable_json(line.as_bytes()))
    }
}

#[derive(Serialize)]
struct Line<'a> {
    time: String,
    #[serde(flatten)]
    happened: &'a Happened,
}

impl Happened {
    /// As a line of now.
    pub fn line(&self) -> String {
        let now_ns = unix_time_ns().map_or(0, i128::from);
        let time = Timestamp::from_nanosecond(now_ns).unwrap_or_default();
        let line = Line { time: format!("{time:.3}"), happened: self };
        let line = serde_json::to_string(&line);
        visible_json(line.expect("it has names for members, and no number that JSON lacks")) + "\n"
    }

    /// What an event of a run tells; nothing for those that are many.
    pub fn of_run(event: &load::Event) -> Option<Happened> {
        use load::Event;
        Some(match event.clone() {
            Event::Dot | Event::Verbose(_) | Event::Counted(_) => return None,
            Event::Note(says) => Happened::Note { says },
            Event::Warning(says) => Happened::Warning { says },
            Event::Reused { path, .. } => Happened::Reuse { path },
            Event::Fill { path, done_bytes, total_bytes } => Happened::Fill { path, done_bytes, total_bytes },
            Event::Removing { path, bytes } => Happened::Remove { path, bytes },
            Event::Progress(progress) => Happened::Progress(At::of(&progress)),
            Event::GivenUp(failure) => Happened::GivenUp { says: failure.message },
        })
    }

    pub fn result(document: &Document) -> Happened {
        let verdict = document.verdict.as_ref();
        let found = verdict.into_iter().flat_map(|verdict| &verdict.findings);
        let found =
            found.map(|one| Found { rule: one.rule.clone(), grade: one.grade, says: one.says.clone() });
        let spans = document.time_spans.iter().filter_map(|span| match span {
            TimeSpanResult::Measured(measured) => Some(Summary::of(measured)),
            TimeSpanResult::NotMeasured => None,
        });
        Happened::Result(Brought {
            verdict: verdict.map(|verdict| verdict.grade),
            findings: found.collect(),
            time_spans: spans.map(|summary| Span::of(&summary)).collect(),
        })
    }
}

impl At {
    fn of(progress: &Progress) -> At {
        let (rates, machine) = (progress.rates.as_ref(), progress.machine.as_ref());
        let latency_mean_s = rates.and_then(|rates| rates.latency_mean_ns).map(|ns| ns / NS_PER_S);
        At {
            phase: progress.phase,
            time_span: progress.span,
            time_spans: progress.spans,
            elapsed_s: progress.elapsed_ns as f64 / NS_PER_S,
            left_s: progress.left_ns as f64 / NS_PER_S,
            ios: progress.counted.ios,
            bytes: progress.counted.bytes,
            iops: rates.map(|rates| rates.iops),
            bytes_per_s: rates.map(|rates| rates.bytes_per_s),
            latency_mean_s,
            in_flight_mean: rates.zip(latency_mean_s).map(|(rates, latency_s)| rates.iops * latency_s),
            processors_busy_percent: machine.and_then(|machine| machine.processors_busy_percent),
            disks: machine.map(|machine| machine.disks.clone()).unwrap_or_default(),
            hosts: progress.hosts.as_deref().cloned(),
        }
    }
}

impl Span {
    fn of(summary: &Summary) -> Span {
        Span {
            test_time_s: summary.test_time_s,
            read: Sum::of(&summary.read),
            write: Sum::of(&summary.write),
        }
    }
}

impl Sum {
    fn of(sum: &DirectionSummary) -> Sum {
        let latency = sum.latency.as_ref();
        Sum {
            ios: sum.ios,
            bytes: sum.bytes,
            iops: sum.iops,
            bytes_per_s: sum.bytes_per_s,
            latency_mean_s: latency.map(|latency| latency.mean_ns / NS_PER_S),
            latency_p99_s: latency.map(|latency| latency.p99_ns as f64 / NS_PER_S),
        }
    }
}
