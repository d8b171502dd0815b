//! `truespd sweep`: a line at every combination of the values of some switches.

use crate::ask::command::{Asked, Measured, SeriesArguments, Suite};
use crate::ask::own_line::{LINE, Targets, completed, has_number, outstanding, refused, span, typed_words};
use crate::ask::sweep::SweepReport;
use crate::ask::sweep::axis::{Axis, count};
use crate::ask::sweep::run::{Planned, Sweeping, combinations};
use crate::ask::sweep::written::bytes_per_s_max;
use crate::ask::values::{file_bytes, number, one_of};
use crate::runner::{Length, Runner, Series, duration_words};
use clap::Args;
use diskspd::grammar::rows::find;
use truespd_core::profile::Target;
use truespd_front::console::say_line;
use truespd_front::show::plural;
use truespd_platform::fault::{Fault, Refusal, Refusals};
use truespd_platform::text::{shell_line, size};

/// How well a point should be known unless told otherwise, in percent.
const PRECISION_PERCENT: f64 = 5.0;

/// Switches that make a load, with a value: what a sweep can vary.
const SWEPT: [&str; 28] = [
    "o",
    "t",
    "F",
    "O",
    "b",
    "w",
    "r",
    "rs",
    "s",
    "si",
    "T",
    "g",
    "i",
    "j",
    "B",
    "f",
    "u",
    "oc",
    "Z",
    "S",
    "rdpct",
    "rdabs",
    "-mix",
    "-arrivals",
    "-engine",
    "-zipf",
    "-flush-every",
    "-trim",
];

/// Ranges with a name, for `--preset`.
const PRESETS: [(&str, &[&str]); 4] = [
    ("depth", &["o=1..256"]),
    ("threads", &["t=1..64"]),
    ("blocks", &["b=512..4M"]),
    // Start-FleetSweep's.
    ("fleet", &["b=4K,8K,16K,32K,64K", "t=1,2,4,8", "o=1..32", "w=0,10,30,100"]),
];

/// Run a line at all values of some switches: the plateau, the knee and what bounds it
///
/// Runs every combination in random order, again until each is known to --precision. Tells the highest rate (plateau),
/// the point from which more I/Os only add latency (knee) with its error, the smallest line that reaches 95 % of the
/// plateau, and what bounds it. The first point is measured again at the end: a difference is told.
#[derive(Debug, Args)]
pub(crate) struct SweepArguments {
    /// diskspd options without targets, as one quoted argument: '-b4K -r -Su'. Times of a run are -d and -W in it
    /// [default: -d10 -W2]
    #[arg(value_name = "LINE", allow_hyphen_values = true)]
    line: String,

    /// Directories, in which a test file is created and removed, files, or devices
    #[arg(value_name = "TARGET", required = true)]
    targets: Vec<String>,

    /// Switch to vary and its values: o=1..256 (doubled each time), o=1..32+1 (in steps of 1), t=1,2,4 (a list),
    /// b=4K..1M, zipf=0.6,0.9 (long options), mix='4K:100;4K:50,64K:50' (a list of values with commas). May be given
    /// several times; the first two are the rows and columns of a table
    #[arg(long, value_name = "SWITCH=VALUES", allow_hyphen_values = true)]
    over: Vec<String>,

    /// Usual values: depth (o=1..256), threads (t=1..64), blocks (b=512..4M), fleet (VM Fleet's: blocks, threads, depth
    /// and writes)
    #[arg(long, value_name = "NAME", value_parser = preset)]
    preset: Option<&'static [&'static str]>,

    /// How well each point should be known: half of its 95 % interval in percent of its IOPS
    #[arg(long, value_name = "PERCENT", default_value_t = PRECISION_PERCENT, value_parser = precision)]
    precision: f64,

    /// Maximum minutes of the sweep [default: as long as the precision takes]
    #[arg(long, value_name = "MINUTES", value_parser = minutes)]
    budget: Option<f64>,

    /// Size of each test file that is created in a directory [default: 1G]
    #[arg(long = "size", value_name = "SIZE", value_parser = file_bytes)]
    size_bytes: Option<u64>,

    /// Write the table to this file as comma-separated values; - is standard output
    #[arg(long, value_name = "FILE")]
    csv: Option<String>,

    /// Print the diskspd commands of all points without running them
    #[arg(long)]
    print: bool,

    #[command(flatten)]
    series: SeriesArguments,
}

fn preset(text: &str) -> Result<&'static [&'static str], Refusal> {
    one_of(text, PRESETS.map(|(name, axes)| (axes, name)))
}

fn precision(text: &str) -> Result<f64, Refusal> {
    number(text, "0.1 to 50 percent; a percent sign is left out", |v| (0.1..=50.0).contains(&v))
}

fn minutes(text: &str) -> Result<f64, Refusal> {
    number(text, "more than 0 and up to 100000", |v| v > 0.0 && v <= 100_000.0)
}

/// What is to be swept, and where.
pub(crate) struct Work {
    sweeping: Sweeping,
    targets: Targets,
    writes: bool,
    /// What is about to happen, in words.
    plan: String,
}

impl Suite for SweepArguments {
    const NAME: &'static str = "sweep";
    type Work = Work;
    type Document = SweepReport;

    fn series(&self) -> &SeriesArguments {
        &self.series
    }

    fn csv(&self) -> Option<&str> {
        self.csv.as_deref()
    }

    fn ask(&self) -> Result<Asked<Work>, Fault> {
        let axes = self.axes()?;
        let words = self.words(&axes)?;
        let (sweeping, _) = self.sweeping(&words, axes.clone(), self.targets.clone())?;
        if !sweeping.fits() {
            let message = format!(
                "--budget: every point once takes {}, which is more than the budget",
                duration_words(sweeping.once_s())
            );
            return Err(Refusal::command_line(message)
                .hint("give a larger --budget, fewer values, or shorter runs (-d and -W in the line)")
                .into());
        }
        let targets = Targets::find(&self.targets, self.size_bytes, &self.series.overwrite)?;
        let (mut sweeping, writes) = self.sweeping(&words, axes, targets.words())?;
        let plan = format!("{}{}", sweeping.plan_words(), self.creation_words(&targets));
        if self.print {
            say_line(format_args!("{plan}"));
            sweeping.line.extend(targets.creation());
            return Ok(Asked::Text(printed(&sweeping)));
        }
        let places = targets.places();
        let work = Work { sweeping, targets, writes, plan };
        Ok(Asked::on(work, places))
    }

    fn measure(&self, work: Work, series: &mut Series) -> Measured<SweepReport> {
        let Work { mut sweeping, targets, writes, plan } = work;
        series.tell(&plan);
        sweeping.targets = targets.make(series, Self::NAME, writes, sweeping.ahead())?;
        let (mut report, result) = sweeping.sweep(series);
        // The files that were made are gone: a line that is repeated makes them again.
        if let Some(creation) = targets.creation() {
            report.line.push(creation);
            report.targets = targets.words();
        }
        Ok((report, result))
    }
}

impl SweepArguments {
    /// What is written before the first run: the test files that are made, and --precondition.
    fn creation_words(&self, targets: &Targets) -> String {
        let mut words = String::new();
        let (made, bytes) = targets.made();
        if made > 0 {
            let files = if made == 1 { "the test file".into() } else { plural(made, "test file") };
            words.push_str(&format!("; making {files} writes {}", size(bytes)));
        }
        if let Some(passes) = self.series.precondition {
            let most = targets.all_bytes().saturating_mul(u64::from(passes));
            words.push_str(&format!("; --precondition writes {} at most", size(most)));
        }
        words
    }

    /// What is varied, by a preset and by `--over`.
    fn axes(&self) -> Result<Vec<Axis>, Refusal> {
        let presets = self.preset.unwrap_or_default().iter().map(|text| text.to_string());
        let mut axes: Vec<Axis> = Vec::new();
        for text in presets.chain(self.over.iter().cloned()) {
            let mut axis = Axis::read(&text)?;
            let long = format!("-{}", axis.switch);
            if SWEPT.contains(&long.as_str()) {
                axis.switch = long;
            }
            if !SWEPT.contains(&axis.switch.as_str()) || find(&axis.switch).is_none() {
                let typed = text.split('=').next().unwrap_or(&text);
                let message = format!("--over {text}: '{typed}' cannot be varied");
                return Err(Refusal::command_line(message)
                    .hint(format!("legal: {}", SWEPT.join(" ").replace(" -", " "))));
            }
            if axes.iter().any(|known| known.switch == axis.switch) {
                let message = format!("--over {text}: {} is varied already", axis.shown());
                return Err(Refusal::command_line(message));
            }
            axes.push(axis);
        }
        if axes.is_empty() {
            return Err(Refusal::command_line("nothing is varied")
                .hint("say which switch and which values: --over o=1..256, or --preset depth"));
        }
        count(&axes)?;
        Ok(axes)
    }

    /// The words of the line, with the times and latencies that every point has.
    fn words(&self, axes: &[Axis]) -> Result<Vec<String>, Refusal> {
        let own = typed_words(LINE, &self.line)?;
        for axis in axes {
            let is_given = own.iter().any(|word| {
                let row = word.strip_prefix('-').and_then(find);
                row.is_some_and(|row| row.name == axis.switch)
            });
            if is_given {
                return Err(refused(
                    LINE,
                    &format!("{} is varied by the sweep; remove it from the line", axis.shown()),
                ));
            }
        }
        Ok(completed(own))
    }

    /// The sweep of a line on targets, and whether some point writes.
    ///
    /// # Errors
    /// Why some point cannot run.
    fn sweeping(
        &self,
        line: &[String],
        axes: Vec<Axis>,
        targets: Vec<String>,
    ) -> Result<(Sweeping, bool), Fault> {
        let mut sweeping = Sweeping {
            line: line.to_vec(),
            targets,
            points: Vec::new(),
            run: Length::default(),
            precision_percent: self.precision,
            budget_s: self.budget.map(|minutes| minutes * 60.0),
            has_seed: has_number(line, 'z'),
            axes,
        };
        let mut writes = false;
        for places in combinations(&sweeping.axes) {
            let span = span(LINE, &sweeping.words(&places), &[], &sweeping.targets)
                .map_err(|refusals| with_separator(refusals, &sweeping.axes))?;
            if span.duration_s == 0 {
                return Err(refused(LINE, "a sweep needs measured time; give -d10 or more").into());
            }
            writes |= span.targets.iter().any(Target::writes);
            sweeping.run = self.series.lasting(Length::of(&span));
            let planned = Planned {
                places,
                outstanding: outstanding(&span),
                threads: span.threads_total(),
                block_bytes: span.targets.iter().map(|target| target.block_bytes).max().unwrap_or_default(),
                writes_bytes_per_s: bytes_per_s_max(&span),
            };
            sweeping.points.push(planned);
        }
        Ok((sweeping, writes))
    }
}

/// A mix that is refused may have been meant as a list.
fn with_separator(mut refusals: Refusals, axes: &[Axis]) -> Refusals {
    if let Some(axis) = axes.iter().find(|axis| axis.may_be_a_list())
        && let Some(last) = refusals.all.pop()
    {
        let name = axis.shown();
        let name = name.trim_start_matches('-');
        let hint =
            format!("values of {name} have commas, so a list of them is separated by ;: --over {name}='A;B'");
        refusals.all.push(last.hint(hint));
    }
    refusals
}

fn printed(sweeping: &Sweeping) -> String {
    let mut out = String::new();
    for planned in &sweeping.points {
        let mut words = sweeping.words(&planned.places);
        words.extend(sweeping.targets.iter().cloned());
        out.push_str(&format!("diskspd {}\n", shell_line(&words)));
    }
    out
}
