//! `truespd find-max`: the highest rate of a line whose response times keep limits.

use crate::ask::command::{Asked, Measured, SeriesArguments, Suite};
use crate::ask::find_max::HighestRate;
use crate::ask::find_max::limits::{LatencyLimit, Of, check_together, limits_words, milliseconds};
use crate::ask::find_max::run::Searching;
use crate::ask::own_line::{
    LINE, Targets, completed, has_number, outstanding, refused, smallest_rate, span, streams, typed_words,
    without_arrivals,
};
use crate::ask::values::{file_bytes, number};
use crate::runner::Series;
use clap::Args;
use truespd_core::profile::{Target, TimeSpan};
use truespd_platform::fault::{Fault, Refusal};
use truespd_platform::text::shell_line;

/// How I/Os arrive unless the line says otherwise. At even distances, the threads of a line would all issue at the same
/// moments, and a queue would never have more than that: many clients do not agree on when they ask.
pub(crate) const ARRIVALS: &str = "poisson";
/// How near the bounds come to each other unless told otherwise, in percent of the upper one.
pub(crate) const PRECISION_PERCENT: f64 = 5.0;
/// A search takes no more minutes unless told otherwise.
pub(crate) const MINUTES_MAX: f64 = 20.0;

/// Find the highest rate of a line whose response times keep limits: between two bounds
///
/// Runs the line once without a limit, then at rates (-g) at which I/Os arrive at random and wait for nobody, from a
/// tenth of the first rate upwards. Response times count from the moment for which the rate scheduled each I/O. A rate
/// is kept or broken when the share of late I/Os says so beyond its error; otherwise it gets more time. The answer is
/// the highest rate that is kept, below the lowest that is broken. A line that writes repeats its first rate at the
/// end: where the storage has changed, that is said instead of an answer.
#[derive(Debug, Args)]
pub(crate) struct FindMaxArguments {
    /// diskspd options without targets, as one quoted argument: '-b8K -r -w30 -t4 -o16 -Sh'. Times of a run are -d
    /// and -W in it [default: -d10 -W2]; -o is how many I/Os may be out at once
    #[arg(value_name = "LINE", allow_hyphen_values = true)]
    line: String,

    /// Directories, in which a test file is created and removed, files, or devices
    #[arg(value_name = "TARGET", required = true)]
    targets: Vec<String>,

    /// Longest mean response time, with its unit: 2ms, 500us, 1.5s
    #[arg(long, value_name = "TIME", value_parser = milliseconds, help_heading = "Limits, one or more")]
    mean: Option<f64>,

    /// Longest 50th percentile of response times
    #[arg(long, value_name = "TIME", value_parser = milliseconds, help_heading = "Limits, one or more")]
    p50: Option<f64>,

    /// Longest 95th percentile of response times
    #[arg(long, value_name = "TIME", value_parser = milliseconds, help_heading = "Limits, one or more")]
    p95: Option<f64>,

    /// Longest 99th percentile of response times
    #[arg(long, value_name = "TIME", value_parser = milliseconds, help_heading = "Limits, one or more")]
    p99: Option<f64>,

    /// Longest 99.9th percentile of response times; needs 10,000 I/Os in each run
    #[arg(
        id = "p99.9",
        long = "p99.9",
        value_name = "TIME",
        value_parser = milliseconds,
        help_heading = "Limits, one or more"
    )]
    p99_9: Option<f64>,

    /// How far apart the bounds may be, in percent of the upper one
    #[arg(long, value_name = "PERCENT", default_value_t = PRECISION_PERCENT, value_parser = precision)]
    precision: f64,

    /// Maximum minutes of the search
    #[arg(long, value_name = "MINUTES", default_value_t = MINUTES_MAX, value_parser = minutes)]
    max_minutes: f64,

    /// Size of each test file that is created in a directory [default: 1G]
    #[arg(long = "size", value_name = "SIZE", value_parser = file_bytes)]
    size_bytes: Option<u64>,

    /// Print the first diskspd command without running it
    #[arg(long)]
    print: bool,

    #[command(flatten)]
    series: SeriesArguments,
}

fn precision(text: &str) -> Result<f64, Refusal> {
    number(text, "0.5 to 50 percent; a percent sign is left out", |v| (0.5..=50.0).contains(&v))
}

fn minutes(text: &str) -> Result<f64, Refusal> {
    number(text, "more than 0 and up to 10000", |v| v > 0.0 && v <= 10_000.0)
}

/// What is to be searched, and where.
pub(crate) struct Work {
    searching: Searching,
    targets: Targets,
}

impl Suite for FindMaxArguments {
    const NAME: &'static str = "find-max";
    type Work = Work;
    type Document = HighestRate;

    fn series(&self) -> &SeriesArguments {
        &self.series
    }

    fn ask(&self) -> Result<Asked<Work>, Fault> {
        self.series.check_search()?;
        let limits = self.limits()?;
        let words = typed_words(LINE, &self.line)?;
        // Whether the line can run at all, whatever the targets.
        self.searching(&words, limits.clone(), self.targets.clone())?;
        let targets = Targets::find(&self.targets, self.size_bytes, &self.series.overwrite)?;
        let searching = self.searching(&words, limits, targets.words())?;
        if self.print {
            return Ok(Asked::Text(printed(&searching)));
        }
        let places = targets.places();
        Ok(Asked::on(Work { searching, targets }, places))
    }

    fn measure(&self, work: Work, series: &mut Series) -> Measured<HighestRate> {
        let Work { mut searching, targets } = work;
        searching.targets = targets.make(series, Self::NAME, searching.writes, searching.ahead(0))?;
        Ok(searching.find(series))
    }
}

impl FindMaxArguments {
    /// The limits that were given, one at least.
    fn limits(&self) -> Result<Vec<LatencyLimit>, Refusal> {
        let given = [self.p99, self.p99_9, self.p95, self.p50, self.mean];
        let mut limits = Vec::new();
        for (of, ms) in [Of::P99, Of::P999, Of::P95, Of::P50, Of::Mean].into_iter().zip(given) {
            limits.extend(ms.map(|ms| LatencyLimit { of, ms }));
        }
        if limits.is_empty() {
            return Err(Refusal::command_line("a limit of the response time is missing")
                .hint("give one or more: --p99 2ms, --mean 500us, --p50, --p95, --p99.9"));
        }
        check_together(&limits)?;
        Ok(limits)
    }

    /// The search for a line on targets.
    ///
    /// # Errors
    /// Why the line cannot be searched.
    fn searching(
        &self,
        typed: &[String],
        limits: Vec<LatencyLimit>,
        targets: Vec<String>,
    ) -> Result<Searching, Fault> {
        let (own, arrivals) = without_arrivals(LINE, typed, ARRIVALS)?;
        let line = completed(own);
        let span = span(LINE, &line, &[], &targets)?;
        if let Some(why) = unsearchable(&span) {
            return Err(refused(LINE, why).into());
        }
        if has_number(&line, 'z') {
            return Err(refused(LINE, "every run has a seed of its own; remove -z").into());
        }
        // What cannot have a rate is told before anything is made.
        self::span(LINE, &line, &smallest_rate(&arrivals), &targets)?;
        Ok(Searching {
            name: "line".to_string(),
            times: Vec::new(),
            has_seed: false,
            arrivals,
            run_s: span.all_s_max() as f64,
            measured_s: f64::from(span.duration_s),
            limits,
            precision_percent: self.precision,
            time_max_s: self.max_minutes * 60.0,
            streams: streams(&span),
            outstanding: outstanding(&span),
            writes: span.targets.iter().any(Target::writes),
            line,
            targets,
        })
    }
}

/// Why the highest rate of a line cannot be looked for.
pub(crate) fn unsearchable(span: &TimeSpan) -> Option<&'static str> {
    if span.targets.iter().any(Target::is_rate_limited) {
        return Some("a search sets the rate itself; remove -g");
    }
    if span.targets.iter().any(|target| target.burst_ios.is_some() || target.think_ms.is_some()) {
        return Some("a search sets the pace itself; remove -i and -j");
    }
    if span.until_steady.is_some() {
        return Some("a search decides itself how long a rate is run; remove --until-steady");
    }
    (span.duration_s == 0).then_some("a search needs measured time; give -d10 or more")
}

fn printed(searching: &Searching) -> String {
    format!(
        "diskspd {}\n# then the same line with -g<rate>i --arrivals {}, where rate is the IOPS to try divided by {} \
         (threads x targets),\n# until the highest rate is known at which {}\n",
        shell_line(&searching.unlimited().words),
        searching.arrivals,
        searching.streams,
        limits_words(&searching.limits)
    )
}
