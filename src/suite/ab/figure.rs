//! What is compared: one figure of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::profile::Target;
use crate::result::{Document, LatencySummary, Measured, Summary, TimeSpanResult};
use crate::text::precise;

/// A figure of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// I/Os per second.
    #[default]
    Iops,
    /// Bytes per second.
    Bytes,
    /// Mean latency in nanoseconds.
    MeanLatency,
    /// Latency that 99 % of the I/Os stay below, in nanoseconds.
    P99,
    /// Likewise 99.9 %.
    P999,
    /// Processor time of the program per I/O, in nanoseconds.
    ProcessorTime,
}

/// I/Os that a percentile should leave above it.
const ABOVE_MIN: f64 = 10.0;
const MIB: f64 = 1_048_576.0;

impl Metric {
    /// All of them.
    pub const ALL: [Metric; 6] =
        [Metric::Iops, Metric::Bytes, Metric::MeanLatency, Metric::P99, Metric::P999, Metric::ProcessorTime];

    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Iops => "iops",
            Metric::Bytes => "bytes",
            Metric::MeanLatency => "latency",
            Metric::P99 => "p99",
            Metric::P999 => "p99.9",
            Metric::ProcessorTime => "cpu",
        }
    }

    /// For people, in the middle of a sentence; of response times when `is_response`.
    pub fn words(self, is_response: bool) -> &'static str {
        match (self, is_response) {
            (Metric::Iops, _) => "IOPS",
            (Metric::Bytes, _) => "throughput",
            (Metric::MeanLatency, false) => "mean latency",
            (Metric::MeanLatency, true) => "mean response time",
            (Metric::P99, false) => "latency at the 99th percentile",
            (Metric::P99, true) => "response time at the 99th percentile",
            (Metric::P999, false) => "latency at the 99.9th percentile",
            (Metric::P999, true) => "response time at the 99.9th percentile",
            (Metric::ProcessorTime, _) => "processor time per I/O",
        }
    }

    /// Whether the figure of this run is one of response times, from when a rate wanted the I/O: a stall that keeps I/Os from
    /// being issued is not hidden then. With rates on some targets only, response times would be those of some I/Os.
    pub fn is_response(self, document: &Document) -> bool {
        let mut measured = document.measured().peekable();
        self.needs_latency()
            && measured.peek().is_some()
            && measured.all(|measured| Summary::of(measured).total.response.is_some())
            && is_paced(document)
    }

    /// Whether more is better.
    pub fn is_better_high(self) -> bool {
        matches!(self, Metric::Iops | Metric::Bytes)
    }

    /// Whether runs have to measure latencies (`-L`).
    pub fn needs_latency(self) -> bool {
        matches!(self, Metric::MeanLatency | Metric::P99 | Metric::P999)
    }

    /// Part of the I/Os that lie above it, for a percentile.
    fn part_above(self) -> Option<f64> {
        match self {
            Metric::P99 => Some(0.01),
            Metric::P999 => Some(0.001),
            _ => None,
        }
    }

    /// A figure with its unit.
    pub fn show(self, value: f64) -> String {
        match self {
            Metric::Iops => precise(value),
            Metric::Bytes => format!("{} MiB/s", precise(value / MIB)),
            _ => {
                let (scaled, unit) = match value.abs() {
                    ns if ns >= 1e6 => (value / 1e6, "ms"),
                    ns if ns >= 1e3 => (value / 1e3, "us"),
                    _ => (value, "ns"),
                };
                format!("{} {unit}", precise(scaled))
            }
        }
    }

    /// Of a run; always above 0.
    ///
    /// # Errors
    /// Why there is none, to stand after the name of the variant.
    pub fn of(self, document: &Document) -> Result<f64, String> {
        let mut spans = document.time_spans.iter().map(|span| match span {
            TimeSpanResult::Measured(measured) => Some(measured),
            TimeSpanResult::NotMeasured => None,
        });
        let measured = match (spans.next(), spans.next()) {
            (Some(Some(measured)), None) => measured,
            (Some(Some(_)), Some(_)) => {
                return Err("the profile has several time spans; compare one at a time".into());
            }
            _ => return Err("the run ended before anything was measured".into()),
        };
        let total = Summary::of(measured).total;
        if total.ios == 0 {
            return Err("no I/O was completed in the measured time; measure longer (-d)".into());
        }
        let times = if self.is_response(document) { &total.response } else { &total.latency };
        let latency = |pick: fn(&LatencySummary) -> f64| {
            times.as_ref().map(pick).ok_or("the run measured no latencies; add -L")
        };
        let value = match self {
            Metric::Iops => total.iops,
            Metric::Bytes => total.bytes_per_s,
            Metric::MeanLatency => latency(|l| l.mean_ns)?,
            Metric::P99 => latency(|l| l.p99_ns as f64)?,
            Metric::P999 => latency(|l| l.p99_9_ns as f64)?,
            Metric::ProcessorTime => processor_time(measured, total.ios)
                .ok_or("the run says nothing of the processor time it took")?,
        };
        match value > 0.0 && value.is_finite() {
            true => Ok(value),
            false => Err(format!("the {} of the run is 0, which no ratio can be made of", self.words(false))),
        }
    }

    /// What a run of so many I/Os cannot tell.
    pub fn doubt(self, ios: u64) -> Option<String> {
        let above = self.part_above()? * ios as f64;
        (above < ABOVE_MIN).then(|| {
            format!(
                "a run has {} I/Os, of which {} lie above the {}: measure longer (--seconds)",
                precise(ios as f64),
                precise(above.floor()),
                self.words(false)
            )
        })
    }
}

/// Whether every target has a rate (`-g`).
pub(super) fn is_paced(document: &Document) -> bool {
    let mut targets = document.profile.time_spans.iter().flat_map(|span| &span.targets).peekable();
    targets.peek().is_some() && targets.all(Target::is_rate_limited)
}

/// Processor time of the program over its threads' life, shared out over the measured time.
fn processor_time(measured: &Measured, ios: u64) -> Option<f64> {
    let evidence = &measured.evidence;
    let own = evidence.own_cost?;
    let life_ns = evidence.threads.iter().map(|thread| thread.elapsed_ns).max().filter(|&ns| ns > 0)?;
    let share = (own.user_ns + own.system_ns) as f64 / life_ns as f64;
    Some(share * measured.test_time_s * 1e9 / ios as f64)
}
