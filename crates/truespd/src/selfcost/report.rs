//! The document of `truespd bench-self`: one versioned record, as JSON in and out.
//!
//! Within a version members are only added, and each of those may be missing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use truespd_core::load::bare::Turn;
use truespd_core::measure::clock::MachineClock;
use truespd_core::result::envelope::DocumentKind;
use truespd_platform::machine::host::{host_name, kernel_release, processor_model, unix_time_s};
use truespd_platform::machine::roots::Roots;
use truespd_platform::sys::thread::allowed_processors;

/// What the tool itself cost on a machine, without storage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Report")]
pub struct CostReport {
    /// Version of the tool.
    pub tool_version: String,
    /// Where and when.
    pub machine: Machine,
    /// Rounds, in which all loads and parts took turns.
    pub rounds: u32,
    /// Length of a load's round in nanoseconds.
    pub round_ns: u64,
    /// Who counted instructions.
    pub counting: Counting,
    /// The null engine under loads.
    pub loads: Vec<Load>,
    /// Parts of the loop by themselves.
    pub parts: Vec<LoopPart>,
}

/// The machine and the moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// Host name.
    pub computer_name: String,
    /// Release of the kernel.
    pub kernel_release: String,
    /// The processor's name, when it tells one.
    pub processor: Option<String>,
    /// Processors this process may use.
    pub processors: u32,
    /// Clock of the stamps: `TSC`, `CNTVCT` or `CLOCK_MONOTONIC`.
    pub clock: String,
    /// Why that is not the processor's counter, in words.
    pub why_not_counter: Option<String>,
    /// When, in seconds since 1970 UTC.
    pub unix_s: Option<i64>,
}

/// Who counted instructions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counting {
    /// By what.
    pub by: CountedBy,
    /// Why nobody did, in words.
    pub why_not: Option<String>,
}

/// What counted instructions; always those in user mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CountedBy {
    /// The processor, in the measured rounds.
    Hardware,
    /// Callgrind, in one run more.
    Callgrind,
    /// Nothing.
    Nobody,
}

/// Median over the rounds, with the smallest and the largest.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub struct Spread {
    pub median: f64,
    pub min: f64,
    pub max: f64,
}

/// A load on the null engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Load {
    /// As words of the command line.
    pub words: String,
    /// Threads.
    pub threads: u32,
    /// I/Os outstanding per thread.
    pub depth: u32,
    /// I/O size in bytes.
    pub block_bytes: u64,
    /// Processor time per I/O in nanoseconds.
    pub running_ns: Spread,
    /// Time of a thread by the clock per I/O of its own, in nanoseconds.
    pub elapsed_ns: Spread,
    /// Instructions per I/O, where they were counted.
    pub instructions: Option<f64>,
}

/// A part of the loop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Part")]
pub struct LoopPart {
    /// What it is.
    pub name: String,
    /// What the figures are per.
    pub unit: PerUnit,
    /// Processor time per unit in nanoseconds.
    pub ns: Spread,
    /// Instructions per unit, where they were counted.
    pub instructions: Option<f64>,
}

/// What a part's figures are per.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Unit")]
pub enum PerUnit {
    /// One call, which is once per I/O at most.
    Call,
    /// 1024 bytes.
    Kib,
}

impl Spread {
    /// Of some figures; all zero without any.
    pub fn of(mut figures: Vec<f64>) -> Self {
        figures.sort_by(f64::total_cmp);
        let (Some(&min), Some(&max)) = (figures.first(), figures.last()) else { return Spread::default() };
        let middle = figures.len() / 2;
        let median = match figures.len() % 2 {
            1 => figures[middle],
            _ => (figures[middle - 1] + figures[middle]) / 2.0,
        };
        Spread { median, min, max }
    }

    /// Of a time of each turn, per I/O; turns without I/O tell nothing.
    pub(super) fn per(turns: &[Turn], ns: impl Fn(&Turn) -> u64) -> Self {
        let with_io = turns.iter().filter(|turn| turn.ios > 0);
        Self::of(with_io.map(|turn| ns(turn) as f64 / turn.ios as f64).collect())
    }

    /// Largest less smallest, as a part of the median; 0 without a median.
    pub fn relative(&self) -> f64 {
        if self.median > 0.0 { (self.max - self.min) / self.median } else { 0.0 }
    }
}

impl Machine {
    /// The one this runs on.
    pub(super) fn this(clock: &MachineClock) -> Self {
        let clock = clock.describe();
        Machine {
            computer_name: host_name(),
            kernel_release: kernel_release(),
            processor: processor_model(&Roots::default()),
            processors: allowed_processors().map_or(0, |cpus| cpus.len() as u32),
            clock: clock.name.to_string(),
            why_not_counter: clock.why_not_counter,
            unix_s: unix_time_s(),
        }
    }
}

impl DocumentKind for CostReport {
    const FORMAT: &'static str = "truespd-self-cost";
    const MEMBER: &'static str = "self_cost";
    const MEMBER_ABOUT: &'static str = "The figures.";
    const TITLE: &'static str = "TrueSpd self-cost, version 1";
    const ABOUT: &'static str = "The self-cost of TrueSpd on a machine, version 1. Units are at the end of names: \
        `_ns`, `_bytes`, `_s`.";
    const NAME: &'static str = "self-cost of TrueSpd";
}

#[cfg(test)]
mod tests {
    use super::*;
    use truespd_core::result::envelope::{read, write};
    use truespd_core::result::schema;

    #[test]
    fn medians_and_spread() {
        let spread = |figures: &[f64]| Spread::of(figures.to_vec());
        assert_eq!(spread(&[]), Spread::default());
        assert_eq!(spread(&[3.0, 1.0, 2.0]), Spread { median: 2.0, min: 1.0, max: 3.0 });
        assert_eq!(spread(&[4.0, 1.0, 2.0, 3.0]).median, 2.5);
        assert_eq!((spread(&[4.0, 2.0, 3.0]).relative(), spread(&[0.0]).relative()), (2.0 / 3.0, 0.0));
        let turn = |ios, running_ns| Turn { ios, running_ns, ..Turn::default() };
        let turns = [turn(10, 300), turn(0, 50), turn(10, 100)];
        assert_eq!(Spread::per(&turns, |t| t.running_ns), Spread { median: 20.0, min: 10.0, max: 30.0 });
    }

    #[test]
    fn what_is_no_such_document_is_refused() {
        let refused = |text: &str| read::<CostReport>(text.as_bytes()).expect_err(text).to_string();
        assert!(refused("{}").contains("no self-cost"), "{}", refused("{}"));
        let report = CostReport {
            tool_version: "1".into(),
            machine: Machine::this(&MachineClock::monotonic("a test".into())),
            rounds: 1,
            round_ns: 1,
            counting: Counting { by: CountedBy::Nobody, why_not: None },
            loads: Vec::new(),
            parts: Vec::new(),
        };
        let text = write(&report);
        assert_eq!(read::<CostReport>(text.as_bytes()).expect("its own"), report);
        let newer = text.replace("\"format_version\": 1", "\"format_version\": 2");
        assert!(refused(&newer).contains("version 2"), "{}", refused(&newer));
        assert!(refused(&text.replace(CostReport::FORMAT, "truespd-result")).contains("truespd-result"));
    }

    #[test]
    fn the_published_schema_is_that_of_the_types() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schema/self-cost-v1.json");
        let published = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            published == schema::of_kind::<CostReport>(),
            "publish it anew: truespd schema self-cost > schema/self-cost-v1.json"
        );
    }
}
