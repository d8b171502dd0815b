//! How to compare, for all commands that are built on comparisons.

use std::time::Duration;

use clap::Args;

use crate::cli::commands::values::{number, one_of};
use crate::cli::words::{self, Variant, Wanted};
use crate::suite::ab::{Metric, Plan};
use truespd_core::fault::{Fault, Refusal, Refusals};

/// How to compare: for all that is built on it.
#[derive(Debug, Clone, Args)]
pub(crate) struct Comparing {
    /// Figure to compare: iops, bytes, latency (mean), p99, p99.9, cpu (processor time per I/O)
    ///
    /// With a rate (-g) in --a or --b, latency, p99 and p99.9 are response times: they count from the time
    /// for which the rate scheduled the I/O.
    #[arg(long, default_value = "iops", value_parser = metric)]
    pub metric: Metric,

    /// Differences up to this percentage do not matter
    #[arg(long, value_name = "PERCENT", default_value_t = 2.0, value_parser = margin)]
    pub margin: f64,

    /// Highest accepted probability of calling two equal variants different
    #[arg(long, value_name = "P", default_value_t = 0.01, value_parser = significance)]
    pub significance: f64,

    /// Maximum number of blocks of four runs; the first check comes after 4 blocks, or after the last one of 2 or 3
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(2..=10_000))]
    pub blocks: u32,

    /// Maximum minutes for the blocks of one comparison (a study has several)
    #[arg(long, value_name = "MINUTES", default_value_t = 30.0, value_parser = minutes)]
    pub max_minutes: f64,

    /// Measured seconds of each run, where --a or --b of ab has no -d
    #[arg(long, value_name = "S", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub seconds: u32,

    /// Warm-up seconds of each run, where --a or --b of ab has no -W
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub warm_up: u32,
}

fn metric(text: &str) -> Result<Metric, Refusal> {
    one_of(text, Metric::compared().map(|metric| (metric, metric.name())))
}

fn margin(text: &str) -> Result<f64, Refusal> {
    number(text, "more than 0 and up to 100 percent", |v| v > 0.0 && v <= 100.0)
}

fn significance(text: &str) -> Result<f64, Refusal> {
    number(text, "0.0001 to 0.05", |v| (0.0001..=0.05).contains(&v))
}

fn minutes(text: &str) -> Result<f64, Refusal> {
    number(text, "more than 0 and up to 10000", |v| v > 0.0 && v <= 10_000.0)
}

impl Comparing {
    /// The plan for two lines, with as many blocks as its time has room for.
    pub fn plan(&self, title: &str, variants: [Variant; 2]) -> Result<Plan, Fault> {
        let run_s = variants.iter().map(|v| v.seconds).sum::<f64>() / 2.0;
        let plan = Plan {
            title: title.to_string(),
            lines: variants.map(|v| v.line),
            metric: self.metric,
            margin_percent: self.margin,
            significance: self.significance,
            blocks_max: self.blocks as usize,
            time_max: Duration::from_secs_f64(self.max_minutes * 60.0),
            run_s,
        };
        Ok(plan.fitted()?)
    }

    /// The words of a variant as they are run.
    pub fn variant(
        &self,
        option: &str,
        typed: Vec<String>,
        target: Option<&str>,
    ) -> Result<Variant, Refusals> {
        let needs_latency = self.metric.needs_latency();
        let wanted = Wanted { seconds: self.seconds, warm_up: self.warm_up, needs_latency };
        words::variant(option, typed, target, wanted)
    }
}
