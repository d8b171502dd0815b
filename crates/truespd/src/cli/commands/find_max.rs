//! `truespd find-max`: the highest rate of a line whose response times keep limits.

use crate::cli::commands::ab::{fill, has_number, unwanted};
use crate::cli::commands::config::with_release;
use crate::cli::commands::suite::{Asked, Measured, SeriesArguments, Suite};
use crate::cli::commands::values::{file_bytes, number};
use crate::series::Series;
use crate::series::place::{FILE_BYTES_MIN, Place};
use crate::suite::RanOn;
use crate::suite::find_max::HighestRate;
use crate::suite::find_max::limits::{LatencyLimit, Of, check_together, limits_words, milliseconds};
use crate::suite::find_max::run::Searching;
use clap::Args;
use diskspd::grammar::parse;
use diskspd::grammar::parse::Invocation;
use truespd_core::fault::{Fault, Refusal, Refusals};
use truespd_core::profile::{Target, TimeSpan};
use truespd_core::text::{shell_line, split_line};

/// How I/Os arrive unless the line says otherwise. At even distances, the threads of a line would all issue at the same
/// moments, and a queue would never have more than that: many clients do not agree on when they ask.
pub(crate) const ARRIVALS: &str = "poisson";
/// How near the bounds come to each other unless told otherwise, in percent of the upper one.
pub(crate) const PRECISION_PERCENT: f64 = 5.0;
/// A search takes no more minutes unless told otherwise.
pub(crate) const MINUTES_MAX: f64 = 20.0;
/// Measured time and warm-up of a run where the line has none, in seconds.
const DURATION_S: u32 = 10;
const WARMUP_S: u32 = 2;
const ARRIVALS_OPTION: &str = "--arrivals";
const PROGRAM: &str = "diskspd";
const FILE: &str = "data";

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

/// Size of a test file unless told otherwise.
const FILE_BYTES: u64 = 1 << 30;

fn precision(text: &str) -> Result<f64, Refusal> {
    number(text, "0.5 to 50 percent; a percent sign is left out", |v| (0.5..=50.0).contains(&v))
}

fn minutes(text: &str) -> Result<f64, Refusal> {
    number(text, "more than 0 and up to 10000", |v| v > 0.0 && v <= 10_000.0)
}

/// What is to be searched, and where.
pub(crate) struct Work {
    searching: Searching,
    places: Vec<Place>,
}

impl Suite for FindMaxArguments {
    const NAME: &'static str = "find-max";
    type Work = Work;
    type Document = HighestRate;

    fn series(&self) -> &SeriesArguments {
        &self.series
    }

    fn ask(&self) -> Result<Asked<Work>, Fault> {
        let limits = self.limits()?;
        let words = self.words()?;
        // Whether the line can run at all, whatever the targets.
        self.searching(&words, limits.clone(), self.targets.clone())?;
        let mut places = Vec::new();
        for typed in &self.targets {
            places.push(Place::find(typed)?);
        }
        self.check_places(&places)?;
        let targets = places.iter().map(word_of).collect();
        let searching = self.searching(&words, limits, targets)?;
        if self.print {
            return Ok(Asked::Text(printed(&searching)));
        }
        let used = places.iter().map(Place::word).collect();
        Ok(Asked::Work { work: Work { searching, places }, used })
    }

    fn measure(&self, work: Work, series: &mut Series) -> Measured<HighestRate> {
        let Work { mut searching, places } = work;
        for place in places.iter().filter(|place| searching.writes && !place.is_directory()) {
            series.check_write(&place.word())?;
        }
        let mut made = Vec::new();
        searching.targets.clear();
        for place in &places {
            if place.is_directory() {
                let file = series.scratch(&place.folder(), Self::NAME, &[FILE])?.file(FILE);
                made.push(file.clone());
                searching.targets.push(file);
            } else {
                searching.targets.push(place.word());
            }
        }
        series.later(searching.ahead(0));
        for file in &made {
            fill(series, file, self.size_bytes.unwrap_or(FILE_BYTES))?;
        }
        series.later(Default::default());
        let (mut found, result) = searching.find(series);
        let tested = places.iter().map(Place::word).collect();
        found.ran_on = RanOn::here(series.ranks(), tested, series.disks());
        Ok((found, result))
    }
}

/// A target as a word of the line; a directory's file is still to be made.
fn word_of(place: &Place) -> String {
    if place.is_directory() { place.file(FILE) } else { place.word() }
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

    /// The words of the line.
    fn words(&self) -> Result<Vec<String>, Refusal> {
        let words = split_line(&self.line)
            .map_err(|open| Refusal::command_line(format!("LINE: the quote {open} is not closed")))?;
        with_release(words)
    }

    fn check_places(&self, places: &[Place]) -> Result<(), Refusal> {
        let made = places.iter().filter(|place| place.is_directory()).count();
        if made == 0 && self.size_bytes.is_some() {
            let message = "--size is for files that are created in a directory; existing files and devices keep their \
                size";
            return Err(Refusal::command_line(message));
        }
        for place in places {
            if place.is_directory() {
                place.check_room(self.size_bytes.unwrap_or(FILE_BYTES), made as u64, FILE_BYTES_MIN)?;
            } else if place.size_bytes() == Some(0) {
                let message =
                    "an empty file cannot be tested; name its directory, and a test file is created there";
                return Err(Refusal::command_line(message));
            }
            if made == places.len() {
                place.check_overwrite(&self.series.overwrite)?;
            }
        }
        Ok(())
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
        let (own, arrivals) = without_arrivals(typed)?;
        if own.iter().any(|word| word.starts_with("-X")) {
            return Err(refused("-X is not possible here; give the options of one load").into());
        }
        let mut line = Vec::new();
        if !own.iter().any(|word| word == "-L") {
            line.push("-L".to_string());
        }
        for (letter, seconds) in [('d', DURATION_S), ('W', WARMUP_S)] {
            if !has_number(&own, letter) {
                line.push(format!("-{letter}{seconds}"));
            }
        }
        line.extend(own);
        let span = span(&line, &[], &targets)?;
        if let Some(why) = unsearchable(&span) {
            return Err(refused(why).into());
        }
        if has_number(&line, 'z') {
            return Err(refused("every run has a seed of its own; remove -z").into());
        }
        // What cannot have a rate is told before anything is made.
        let rate = ["-g1i", ARRIVALS_OPTION, &arrivals].map(str::to_string);
        self::span(&line, &rate, &targets)?;
        Ok(Searching {
            name: "line".to_string(),
            times: Vec::new(),
            has_seed: false,
            arrivals,
            run_s: f64::from(span.duration_s) + f64::from(span.warmup_s) + f64::from(span.cooldown_s),
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

pub(crate) fn refused(why: &str) -> Refusal {
    Refusal::command_line(format!("LINE: {why}"))
}

/// The words without --arrivals, and what that says.
fn without_arrivals(typed: &[String]) -> Result<(Vec<String>, String), Refusal> {
    let (mut line, mut arrivals) = (Vec::new(), ARRIVALS.to_string());
    let mut words = typed.iter();
    while let Some(word) = words.next() {
        if word == ARRIVALS_OPTION {
            let legal = "--arrivals needs a word: even or poisson";
            arrivals = words.next().ok_or_else(|| refused(legal))?.clone();
        } else if let Some(value) = word.strip_prefix(ARRIVALS_OPTION).and_then(|rest| rest.strip_prefix('='))
        {
            arrivals = value.to_string();
        } else {
            line.push(word.clone());
        }
    }
    Ok((line, arrivals))
}

/// What a line means to `diskspd` on targets.
pub(crate) fn span(line: &[String], rate: &[String], targets: &[String]) -> Result<TimeSpan, Refusals> {
    let words: Vec<String> = line.iter().chain(rate).chain(targets).cloned().collect();
    let Invocation::Run(request) = parse(&words, PROGRAM, &|| 0).map_err(|why| why.behind("LINE"))? else {
        return Err(refused("these options run nothing").into());
    };
    if let Some(why) = unwanted(&request) {
        return Err(refused(why).into());
    }
    let [span] = &request.profile.time_spans[..] else {
        return Err(refused("this line does not run a load").into());
    };
    if span.targets.len() != targets.len() {
        return Err(
            refused("targets stand behind the line, as arguments of their own; remove them from it").into()
        );
    }
    if span.targets.iter().any(|target| target.create_bytes.is_some()) {
        let why = "-c would make the file anew in every run; name a directory as target, and give --size";
        return Err(refused(why).into());
    }
    Ok(span.clone())
}

/// Why the highest rate of a line cannot be looked for.
pub(crate) fn unsearchable(span: &TimeSpan) -> Option<&'static str> {
    if span.targets.iter().any(Target::is_rate_limited) {
        return Some("a search sets the rate itself; remove -g");
    }
    if span.targets.iter().any(|target| target.burst_ios.is_some() || target.think_ms.is_some()) {
        return Some("a search sets the pace itself; remove -i and -j");
    }
    (span.duration_s == 0).then_some("a search needs measured time; give -d10 or more")
}

/// What a rate per thread is multiplied with: threads times targets.
pub(crate) fn streams(span: &TimeSpan) -> u64 {
    match span.thread_count {
        0 => span.threads_total(),
        threads => u64::from(threads) * span.targets.len() as u64,
    }
}

/// I/Os of all threads that are outstanding at once, at most.
pub(crate) fn outstanding(span: &TimeSpan) -> u64 {
    let mut own = 0;
    let mut each = 0;
    for target in &span.targets {
        own += u64::from(target.threads_per_file) * u64::from(target.request_count);
        each += u64::from(target.request_count);
    }
    if span.thread_count == 0 { own } else { u64::from(span.thread_count) * each }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn span_of(line: &str) -> TimeSpan {
        let words: Vec<String> = line.split(' ').map(str::to_string).collect();
        match parse(&words, PROGRAM, &|| 0) {
            Ok(Invocation::Run(request)) => request.profile.time_spans[0].clone(),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn outstanding_ios_are_those_of_all_threads() {
        assert_eq!(outstanding(&span_of("-t4 -o8 a")), 32);
        assert_eq!(outstanding(&span_of("-t4 -o8 a b")), 64);
        assert_eq!(outstanding(&span_of("-F4 -o8 a b")), 64);
        assert_eq!([streams(&span_of("-t4 a b")), streams(&span_of("-F4 a b"))], [8, 8]);
    }

    #[test]
    fn arrivals_are_the_persons_choice() {
        let words = |line: &str| split_line(line).unwrap();
        let split = |line: &str| without_arrivals(&words(line)).unwrap();
        assert_eq!(split("-r --arrivals even -L"), (words("-r -L"), "even".to_string()));
        assert_eq!(split("-r --arrivals=even"), (words("-r"), "even".to_string()));
        assert_eq!(split("-r"), (words("-r"), "poisson".to_string()));
        assert!(without_arrivals(&words("--arrivals")).is_err());
    }
}
