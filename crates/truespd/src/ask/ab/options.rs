//! `truespd ab`: do two variants of a run differ?

use crate::ask::ab;
use crate::ask::ab::{Metric, Outcome, Plan, Surroundings};
use crate::ask::command::{Asked, Measured, SeriesArguments, Suite};
use crate::ask::own_line::{has_number, with_release};
use crate::ask::values::{file_bytes, number, one_of};
use crate::runner::place::{FILE_BYTES_MIN, Place, absolute, names_no_target, target_named};
use crate::runner::{Length, Runner, Series};
use clap::Args;
use diskspd::grammar::parse;
use diskspd::grammar::parse::{Invocation, Lines, not_in_suites, refuse_findings};
use diskspd::request::{Grammar, Line};
use diskspd::run::{Required, UnknownWord, required};
use std::time::{Duration, Instant};
use truespd_platform::fault::{Fault, Refusal, Refusals};
use truespd_platform::text::split_line;

/// Compare two variants of a run in turns, until a difference is shown or ruled out
///
/// Runs blocks of four (A B B A or B A A B), so that a drift of the machine affects both variants alike, and
/// checks the result after 4, 5, 7, 9, 12, ... of 100 blocks. The answer is "different" (the effect with an
/// interval and a p value), "no difference larger than the margin", or "undecided" when the blocks or the
/// time run out. The interval has the confidence that --significance asks for (99 %); that of "no difference"
/// has 95 %. Interval and p value are corrected for the repeated checks. A block with a run that completes no
/// I/O does not count.
#[derive(Debug, Args)]
#[command(mut_arg("require", |arg| arg.value_parser(required_of_ab).help(
    "Exit with code 5 unless B is shown to be better (better), unless B is shown to be better or equal within the \
     margin (not-worse), or unless the verdict is at least this (certified or suspect); may be repeated"
)))]
pub(crate) struct AbArguments {
    /// diskspd options and targets of variant A, as one quoted argument: '-b4K -r -o32 -Su FILE'
    #[arg(long, value_name = "WORDS", allow_hyphen_values = true)]
    a: String,

    /// The same for variant B
    #[arg(long, value_name = "WORDS", allow_hyphen_values = true)]
    b: String,

    /// Create one test file in this directory for both variants, which then name no target; it is removed at the end
    #[arg(long, value_name = "DIR")]
    file: Option<String>,

    /// Size of that file [default: 1G]
    #[arg(long = "size", value_name = "SIZE", value_parser = file_bytes)]
    size_bytes: Option<u64>,

    #[command(flatten)]
    comparing: Comparing,

    #[command(flatten)]
    series: SeriesArguments,
}

fn required_of_ab(text: &str) -> Result<Required, UnknownWord> {
    required(text, &[Required::NotWorse, Required::Better])
}

/// Size of the file of `--file` unless told otherwise.
const FILE_BYTES: u64 = 1 << 30;
const FILE: &str = "data";

/// What is to be compared.
pub(crate) struct Work {
    variants: [Variant; 2],
    place: Option<Place>,
}

impl Suite for AbArguments {
    const NAME: &'static str = "ab";
    type Work = Work;
    type Document = ab::Comparison;

    fn series(&self) -> &SeriesArguments {
        &self.series
    }

    fn ask(&self) -> Result<Asked<Work>, Fault> {
        if self.file.is_none() && self.size_bytes.is_some() {
            let message =
                "--size is for the file that --file creates; targets in --a and --b keep their size";
            return Err(Refusal::command_line(message).into());
        }
        // Whether both can run, before a file is made for them.
        let mut variants = self.variants(self.file.as_ref().map(|_| FILE))?;
        self.comparing.plan("", variants.clone())?;
        let place = self.file.as_deref().map(|typed| self.directory(typed)).transpose()?;
        let mut targets: Vec<String> = place.iter().map(Place::word).collect();
        let mut read = Vec::new();
        for variant in &variants {
            for target in variant.targets.iter().map(|target| absolute(target.clone())) {
                if place.is_none() && !targets.contains(&target) {
                    targets.push(target);
                }
            }
            read.extend(variant.profile_file.clone());
        }
        allow_each(&mut variants, &self.series.overwrite)?;
        Ok(Asked::Work { work: Work { variants, place }, targets, read })
    }

    fn measure(&self, work: Work, series: &mut Series) -> Measured<ab::Comparison> {
        let Work { variants, place } = work;
        let plan = if let Some(place) = place {
            let file = series.scratch(&place.folder(), Self::NAME, &[FILE])?.file(FILE);
            let plan = self.comparing.plan("", self.variants(Some(&file))?)?;
            series.ahead(plan.ahead());
            series.fill(&file, self.file_bytes())?;
            plan
        } else {
            // The write guard is asked of all targets, before the first run takes its time.
            for path in variants.iter().flat_map(|variant| &variant.written) {
                series.check_write(path)?;
            }
            // From here on, --overwrite stands in the lines of the variants.
            series.allow(Vec::new());
            self.comparing.plan("", variants)?
        };
        let begin = Instant::now();
        let mut surroundings = Surroundings { arrange: &mut |_| Ok(()), elapsed: &|| begin.elapsed() };
        Ok(ab::compare(&plan, series, &mut surroundings))
    }

    fn lacks(report: &ab::Comparison, required: Required) -> Option<String> {
        lacks(report.outcome, report.is_b_better(), required)
    }
}

impl AbArguments {
    /// Size of the file that is made.
    fn file_bytes(&self) -> u64 {
        self.size_bytes.unwrap_or(FILE_BYTES)
    }

    /// Both lines, on `target` when there is one.
    fn variants(&self, target: Option<&str>) -> Result<[Variant; 2], Fault> {
        let mut variants = Vec::new();
        for (option, typed) in [("--a", &self.a), ("--b", &self.b)] {
            let words = split_line(typed)
                .map_err(|open| Refusal::command_line(format!("{option}: the quote {open} is not closed")))?;
            variants.push(self.comparing.variant(option, with_release(words)?, target)?);
        }
        Ok(variants.try_into().expect("two"))
    }

    /// The directory of `--file`, where there is room for the file.
    fn directory(&self, typed: &str) -> Result<Place, Refusal> {
        let place = Place::find(typed)?;
        if !place.is_directory() {
            let message = format!("--file {typed}: this is not a directory");
            return Err(Refusal::command_line(message).hint("name one, or name the target in --a and --b"));
        }
        place.check_overwrite(&self.series.overwrite)?;
        place.check_room(self.file_bytes(), 1, FILE_BYTES_MIN)?;
        Ok(place)
    }
}

/// Why the answer does not meet the requirement; none when it does.
fn lacks(outcome: Outcome, is_b_better: Option<bool>, required: Required) -> Option<String> {
    let lack = match (outcome, is_b_better) {
        (Outcome::Different, Some(true)) => return None,
        (Outcome::Different, _) => "B is worse",
        (Outcome::Equivalent, _) if required == Required::NotWorse => return None,
        (Outcome::Equivalent, _) => "there is no difference that matters",
        (Outcome::Undecided, _) => "it is undecided",
    };
    Some(lack.to_string())
}

/// Adds to each variant --overwrite of its own targets.
fn allow_each(variants: &mut [Variant], overwrite: &[String]) -> Result<(), Refusal> {
    for path in overwrite {
        let mut is_named = false;
        for variant in variants.iter_mut() {
            let targets: Vec<&str> = variant.targets.iter().map(String::as_str).collect();
            if target_named(path, &targets).is_some() {
                variant.line = std::mem::take(&mut variant.line).allowing(std::slice::from_ref(path));
                is_named = true;
            }
        }
        if !is_named {
            return Err(names_no_target(path));
        }
    }
    Ok(())
}

const PROGRAM: &str = "diskspd";

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
        let run: Length = variants.iter().map(|v| v.length.times(0.5)).sum();
        let plan = Plan {
            title: title.to_string(),
            lines: variants.map(|v| v.line),
            metric: self.metric,
            margin_percent: self.margin,
            significance: self.significance,
            blocks_max: self.blocks as usize,
            time_max: Duration::from_secs_f64(self.max_minutes * 60.0),
            run,
        };
        Ok(plan.fitted()?)
    }

    /// The command line of a variant: the words typed after `option`, on `target` when there is one. The length of a
    /// run and what the metric needs are added where the words do not have them.
    ///
    /// # Errors
    /// Why it cannot be run; each reason follows the option.
    pub fn variant(
        &self,
        option: &str,
        typed: Vec<String>,
        target: Option<&str>,
    ) -> Result<Variant, Refusals> {
        let mut words = Vec::new();
        if !typed.iter().any(|word| word.starts_with("-X")) {
            if !has_number(&typed, 'd') {
                words.push(format!("-d{}", self.seconds));
            }
            if !has_number(&typed, 'W') {
                words.push(format!("-W{}", self.warm_up));
            }
            if self.metric.needs_latency() && !typed.iter().any(|word| word == "-L") {
                words.push("-L".to_string());
            }
        }
        words.extend(typed);
        words.extend(target.map(str::to_string));
        variant(words, target.is_some()).map_err(|refusals| refusals.behind(option))
    }
}

/// A variant of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    pub line: Line,
    /// Warm-up, measured time and cool-down.
    pub length: Length,
    /// Paths of its targets, also of those in a profile.
    pub targets: Vec<String>,
    /// Those of them that it writes.
    pub written: Vec<String>,
    pub profile_file: Option<String>,
}

/// Reads the words of a variant, the last of which is the file of `--file` when there is one.
fn variant(mut words: Vec<String>, has_file: bool) -> Result<Variant, Refusals> {
    let Invocation::Run(mut request) = parse(&words, PROGRAM, &|| 0)? else {
        return refused("these options run nothing");
    };
    if let Some(why) = not_in_suites(&words) {
        return refused(&why);
    }
    request.load_profile().map_err(|error| {
        error.refusals(|profile, findings| refuse_findings(&words, PROGRAM, profile, findings))
    })?;
    let [span] = &request.profile.time_spans[..] else {
        return refused("the profile has several time spans; compare one at a time");
    };
    if has_file && span.targets.len() != 1 {
        return refused("a target is given already; leave it out, or leave out --file");
    }
    if has_file && span.targets.iter().any(|target| target.create_bytes.is_some()) {
        return refused(
            "-c (FileSize in a profile) would create the file of --file again, so one variant would test the file \
             that the other one made; leave it out, and give --size",
        );
    }
    let written = span.targets.iter().filter(|target| target.writes());
    // Targets come last.
    let last = request.profile_file.as_ref().map_or(span.targets.len(), |file| file.targets.len());
    let options = words.len().saturating_sub(last);
    for word in &mut words[options..] {
        *word = absolute(std::mem::take(word));
    }
    Ok(Variant {
        length: Length::of(span),
        targets: span.targets.iter().map(|target| target.path.clone()).collect(),
        written: written.map(|target| target.path.clone()).collect(),
        profile_file: request.profile_file.as_ref().map(|file| file.path.clone()),
        // Again, now that its targets have absolute paths.
        line: Lines { program: PROGRAM.into() }.line(words)?,
    })
}

fn refused(why: &str) -> Result<Variant, Refusals> {
    Err(Refusal::command_line(why).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use diskspd::request::{Line, Request};

    #[test]
    fn what_is_required_has_to_be_shown() {
        use Outcome::{Different, Equivalent, Undecided};
        use Required::{Better, NotWorse};
        for (outcome, is_b_better, required, lack) in [
            (Different, Some(true), Better, None),
            (Different, Some(true), NotWorse, None),
            (Different, Some(false), Better, Some("B is worse")),
            (Different, Some(false), NotWorse, Some("B is worse")),
            (Equivalent, None, Better, Some("there is no difference that matters")),
            (Equivalent, None, NotWorse, None),
            (Undecided, None, Better, Some("it is undecided")),
            (Undecided, None, NotWorse, Some("it is undecided")),
        ] {
            assert_eq!(lacks(outcome, is_b_better, required).as_deref(), lack, "{outcome:?} {required:?}");
        }
    }

    #[test]
    fn the_persons_word_goes_to_the_variant_that_names_the_target() {
        let variant = |target: &str| Variant {
            line: Line::new(vec!["-w100".into(), target.into()], Request::default()),
            length: Length::exactly(1.0),
            targets: vec![target.into()],
            written: vec![target.into()],
            profile_file: None,
        };
        let shown = |variant: &Variant| variant.line.words().join(" ");
        let mut variants = [variant("/dev/x"), variant("/dev/y")];
        allow_each(&mut variants, &["/dev/y".to_string()]).unwrap();
        assert_eq!(variants.each_ref().map(shown), ["-w100 /dev/x", "--overwrite /dev/y -w100 /dev/y"]);
        for (path, says) in [("/dev/z", "none of the targets"), ("#1", "by its name")] {
            let words = allow_each(&mut variants, &[path.to_string()]).unwrap_err().to_string();
            assert!(words.contains(says), "{path}: {words}");
        }
        // However it is spelt.
        let mut variants = [variant("/dev/null"), variant("/dev/full")];
        allow_each(&mut variants, &["/dev/../dev/null".to_string()]).unwrap();
        assert_eq!(
            variants.each_ref().map(shown),
            ["--overwrite /dev/../dev/null -w100 /dev/null", "-w100 /dev/full"]
        );
    }
}

#[cfg(test)]
mod tests_comparing {
    use super::*;

    fn comparing(metric: Metric) -> Comparing {
        let (margin, significance) = (2.0, 0.01);
        Comparing { metric, margin, significance, blocks: 100, max_minutes: 30.0, seconds: 3, warm_up: 1 }
    }

    fn words(line: &str) -> Vec<String> {
        truespd_platform::text::split_line(line).unwrap()
    }

    #[test]
    fn runs_are_short_unless_the_words_say_otherwise() {
        let variant = |line: &str, needs_latency, target| {
            comparing(if needs_latency { Metric::P99 } else { Metric::IOPS }).variant(
                "--a",
                words(line),
                target,
            )
        };
        let plain = variant("-b4K -r", false, Some("/m/f")).unwrap();
        assert_eq!(
            (plain.line.words().join(" ").as_str(), plain.length.least_s),
            ("-d3 -W1 -b4K -r /m/f", 4.0)
        );
        let own = variant("-d7 -W2 -C1 /f", true, None).unwrap();
        assert_eq!((own.line.words().join(" ").as_str(), own.length.least_s), ("-L -d7 -W2 -C1 /f", 10.0));
        assert_eq!(variant("-L /f", true, None).unwrap().line.words().join(" "), "-d3 -W1 -L /f");
        // The file below /d1 sets no time.
        assert_eq!(variant("-r /d1", false, None).unwrap().line.words().join(" "), "-d3 -W1 -r /d1");
    }

    #[test]
    fn targets_are_named_as_from_anywhere() {
        let variant = |line: &str| comparing(Metric::IOPS).variant("--a", words(line), None).unwrap();
        let line = variant("-w30 --engine psync f #1 g");
        let here = std::env::current_dir().unwrap();
        let shown = |name: &str| here.join(name).to_string_lossy().into_owned();
        assert_eq!(
            line.line.words(),
            ["-d3", "-W1", "-w30", "--engine", "psync", &shown("f"), "#1", &shown("g")].map(str::to_string)
        );
        assert_eq!((line.targets.len(), line.written.len(), line.profile_file), (3, 3, None));
    }

    #[test]
    fn what_cannot_be_compared_is_refused_in_words() {
        let refused = |line: &str, target| {
            comparing(Metric::IOPS).variant("--b", words(line), target).unwrap_err().to_string()
        };
        for (line, target, says) in [
            ("-b4K other", Some("f"), "leave out --file"),
            ("-b4K -c1G", Some("f"), "-c (FileSize in a profile) would create the file of --file again"),
            ("-b4K", None, "--b"),
            ("-Rp f", None, "runs nothing"),
            ("--json x f", None, "--keep"),
            ("--overwrite f f", None, "give it to the command itself"),
            ("--unchecked f f", None, "it is for single runs"),
            ("--require certified f", None, "single runs"),
            ("-bX f", None, "-bX"),
            ("-?", None, "run nothing"),
        ] {
            let words = refused(line, target);
            assert!(words.contains(says) && words.starts_with("ERROR: --b:"), "{line}: {words}");
        }
    }
}
