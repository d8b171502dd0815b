//! `truespd ab`: do two variants of a run differ?

use std::time::Instant;

use clap::Args;

use crate::cli::commands::comparing::Comparing;
use crate::cli::commands::diskspd::{ExitCode, print};
use crate::cli::commands::suite::{self, SeriesArguments, Suite, end_early, nothing_measured};
use crate::cli::commands::values::file_bytes;
use crate::cli::show::verdict::{Style, series as series_verdict};
use crate::cli::words::Variant;
use crate::session::outputs::later_json;
use crate::session::place::{FILE_BYTES_MIN, Place, names_no_target, target_named};
use crate::session::required::{Answer, Required, UnknownWord, required};
use crate::session::series::Series;
use crate::suite::ab::{self, Outcome, Surroundings};
use crate::suite::{Draft, Ended, Kind, Runner};
use crate::text::split_line;

/// Compare two variants of a run, in turns, until their difference is decided or shown not to matter
///
/// Runs blocks of four, A B B A or B A A B, so that a drift of the machine meets both alike, and looks after 4, 5, 7,
/// 9, 12, ... of 100 blocks. Ends with "different" (the effect with a 95 % interval and a p value), with "no difference
/// larger than the margin", or, when blocks or time are over, undecided. The more often one looks, the easier one is
/// fooled: interval and p value allow for that.
#[derive(Debug, Args)]
#[command(mut_arg("require", |arg| arg.value_parser(ab_required).help(
    "Exit code 5 unless B is shown to be better (better), or shown to be better or not to differ by more than the margin \
     (not-worse), or unless the verdict is this or better (certified, or suspect); may be repeated"
)))]
pub(crate) struct AbArguments {
    /// Words of the diskspd command line of A, as one quoted argument: '-b4K -r -o32 -Su FILE'
    #[arg(long, value_name = "WORDS", allow_hyphen_values = true)]
    a: String,

    /// Words of B
    #[arg(long, value_name = "WORDS", allow_hyphen_values = true)]
    b: String,

    /// Make one test file in this directory for both variants, which then name no target; removed afterwards
    #[arg(long, value_name = "DIR")]
    file: Option<String>,

    /// Size of that file, as after -c [default: 1G]
    #[arg(long = "size", value_name = "SIZE", value_parser = file_bytes)]
    size_bytes: Option<u64>,

    #[command(flatten)]
    comparing: Comparing,

    /// Write the comparison to this file as JSON (`truespd schema ab`)
    #[arg(long, value_name = "FILE")]
    json: Option<String>,

    #[command(flatten)]
    series: SeriesArguments,
}

impl AbArguments {
    /// Size of the file that is made.
    fn file_bytes(&self) -> u64 {
        self.size_bytes.unwrap_or(FILE_BYTES)
    }
}

/// Size of the file of `--file` unless told otherwise.
const FILE_BYTES: u64 = 1 << 30;

fn ab_required(text: &str) -> Result<Required, UnknownWord> {
    required(text, &[Required::NotWorse, Required::Better])
}

impl Suite for AbArguments {
    const NAME: &'static str = "ab";
    const WRITES: &'static str = "What `ab --json` writes";
    type Document = ab::Report;

    fn run(&self) -> ExitCode {
        match prepare_and_run(self) {
            Ok(code) => code,
            Err(words) => suite::refused(&words),
        }
    }
}

/// The error is for [`suite::refused`]: refused before anything was touched.
fn prepare_and_run(arguments: &AbArguments) -> Result<ExitCode, String> {
    let typed = [("--a", &arguments.a), ("--b", &arguments.b)];
    let mut split = Vec::new();
    for (option, text) in typed {
        split.push((
            option,
            split_line(text).map_err(|open| format!("{option}: a quote ({open}) has no end"))?,
        ));
    }
    if arguments.file.is_none() && arguments.size_bytes.is_some() {
        return Err(
            "--size is for the file that --file makes; the targets that the words name have theirs".into()
        );
    }
    // Whether both can run, before a file is made for them.
    let placeholder = arguments.file.as_ref().map(|_| "data");
    let mut variants = variants(&arguments.comparing, &split, placeholder)?;
    arguments.comparing.plan("", both(&variants)).fitted()?;
    let place = arguments.file.as_deref().map(|dir| directory(dir, arguments)).transpose()?;
    let output = later_json(arguments.json.as_deref(), &taken(&variants, place.is_some()))?;
    allow_each(&mut variants, &arguments.series.overwrite)?;
    let mut series = arguments.series.begin("ab", &output).map_err(|refusal| refusal.to_string())?;
    let file = match file(&mut series, place.as_ref(), &variants) {
        Ok(file) => file,
        Err(ended) => return Ok(end_early(series, ended)),
    };
    if let Some(file) = &file {
        variants = self::variants(&arguments.comparing, &split, Some(file))?;
    }
    let plan = arguments.comparing.plan("", both(&variants)).fitted()?;
    if let Some(file) = &file
        && let Err(ended) = {
            series.ahead(plan.ahead());
            fill(&mut series, file, arguments.file_bytes())
        }
    {
        return Ok(end_early(series, ended));
    }
    let begin = Instant::now();
    let mut surroundings = Surroundings { arrange: &mut |_| Ok(()), elapsed: &|| begin.elapsed() };
    let (report, result) = ab::compare(&plan, &mut series, &mut surroundings);
    let is_complete = result.is_ok();
    let is_worth_telling = is_complete || !report.blocks.is_empty();
    let ended = series.end(result);
    if !is_worth_telling {
        return Ok(nothing_measured(ended, false));
    }
    let shown = ab::text(&report) + &series_verdict(&report.verdict, Style::of_stdout());
    let printed = print(&shown, ended);
    let code = suite::write_document(&output, &report, printed);
    let lacks = |required| lacks(report.outcome, report.is_b_better(), required);
    let answer = Answer { is_complete, grade: report.verdict.grade, lacks: &lacks };
    Ok(arguments.series.held_to(&answer, code))
}

/// What keeps the answer from being what is required.
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

/// Both lines, on `target` when there is one. The error is for [`suite::refused`].
fn variants(
    comparing: &Comparing,
    split: &[(&str, Vec<String>)],
    target: Option<&str>,
) -> Result<Vec<Variant>, String> {
    split.iter().map(|(option, words)| comparing.variant(option, words.clone(), target)).collect()
}

fn both(variants: &[Variant]) -> [Variant; 2] {
    variants.to_vec().try_into().expect("two options")
}

/// What the variants read and write, without a file that is still to be made: no result may take the place of one.
fn taken(variants: &[Variant], is_made: bool) -> Vec<String> {
    let targets = |variant: &Variant| if is_made { Vec::new() } else { variant.targets.clone() };
    variants
        .iter()
        .flat_map(|variant| targets(variant).into_iter().chain(variant.profile_file.clone()))
        .collect()
}

/// The file in the directory of `--file`. Without one, the write guard is asked of all targets, before the first run takes
/// its time.
fn file(series: &mut Series, place: Option<&Place>, variants: &[Variant]) -> Result<Option<String>, Ended> {
    if let Some(place) = place {
        return Ok(Some(series.scratch(&place.folder(), "ab", &["data"])?.file("data")));
    }
    variants.iter().flat_map(|variant| &variant.written).try_for_each(|path| series.check_write(path))?;
    // The words of each variant hold what the person allowed for it.
    series.allow(Vec::new());
    Ok(None)
}

/// The directory of `--file`, where there is room for the file. The error is a sentence.
fn directory(typed: &str, arguments: &AbArguments) -> Result<Place, String> {
    let place = Place::find(typed)?;
    if !place.is_directory() {
        return Err(format!(
            "--file {typed}: this is no directory; name one, or name the target in --a and --b"
        ));
    }
    place.check_overwrite(&arguments.series.overwrite)?;
    place.check_room(arguments.file_bytes(), 1, FILE_BYTES_MIN)?;
    Ok(place)
}

/// Gives each variant the person's word for its own targets. The error is a sentence.
fn allow_each(variants: &mut [Variant], overwrite: &[String]) -> Result<(), String> {
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

/// Makes a file of random data: neither compression nor never-written places then answer for the disk.
pub(crate) fn fill(series: &mut Series, file: &str, size_bytes: u64) -> Result<(), Ended> {
    let seed = std::process::id();
    // The run after that reads one block, through the page cache: direct I/O is not everywhere.
    let words = [format!("-c{size_bytes}")].into_iter();
    let words = words.chain(["-Zr", "-b1M", "-f1M", "-o1", "-d1", "-W0"].map(String::from));
    // With another seed in every process, so that a series that goes on makes the file anew, too.
    let words = words.chain([format!("-z{seed}"), file.to_string()]).collect();
    // The fill is no write test of what the person named.
    let allowed = series.allow(Vec::new());
    let draft = Draft { name: Kind::Fill.name().into(), words, seconds: 1.5, kind: Kind::Fill };
    let filled = draft.read(series).and_then(|step| series.run(&step)).map(|_| ());
    series.allow(allowed);
    filled
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Line, Request};

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
            seconds: 1.0,
            targets: vec![target.into()],
            written: vec![target.into()],
            profile_file: None,
        };
        let shown = |variant: &Variant| variant.line.words().join(" ");
        let mut variants = [variant("/dev/x"), variant("/dev/y")];
        allow_each(&mut variants, &["/dev/y".to_string()]).unwrap();
        assert_eq!(variants.each_ref().map(shown), ["-w100 /dev/x", "--overwrite /dev/y -w100 /dev/y"]);
        for (path, says) in [("/dev/z", "none of the targets"), ("#1", "by its name")] {
            let words = allow_each(&mut variants, &[path.to_string()]).unwrap_err();
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
