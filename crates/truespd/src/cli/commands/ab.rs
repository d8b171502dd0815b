//! `truespd ab`: do two variants of a run differ?

use std::time::Instant;

use clap::Args;

use crate::cli::commands::comparing::Comparing;
use crate::cli::commands::comparing::Variant;
use crate::cli::commands::suite::{Asked, Measured, SeriesArguments, Suite};
use crate::cli::commands::values::file_bytes;
use crate::series::Series;
use crate::series::place::{FILE_BYTES_MIN, Place, names_no_target, target_named};
use crate::suite::ab::{self, Outcome, Surroundings};
use crate::suite::{Draft, Ended, Kind, Runner};
use diskspd::run::required::{Required, UnknownWord, required};
use truespd_core::fault::{Fault, Refusal};
use truespd_core::text::split_line;

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
        let mut used = Vec::new();
        for variant in &variants {
            // Without a file that is still to be made.
            if place.is_none() {
                used.extend(variant.targets.iter().cloned());
            }
            used.extend(variant.profile_file.clone());
        }
        allow_each(&mut variants, &self.series.overwrite)?;
        Ok(Asked::Work { work: Work { variants, place }, used })
    }

    fn measure(&self, work: Work, series: &mut Series) -> Measured<ab::Comparison> {
        let Work { variants, place } = work;
        let plan = if let Some(place) = place {
            let file = series.scratch(&place.folder(), Self::NAME, &[FILE])?.file(FILE);
            let plan = self.comparing.plan("", self.variants(Some(&file))?)?;
            series.ahead(plan.ahead());
            fill(series, &file, self.file_bytes())?;
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
            variants.push(self.comparing.variant(option, words, target)?);
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

/// Fills a file with random data, so that neither compression nor unwritten blocks answer instead of the disk.
pub(crate) fn fill(series: &mut Series, file: &str, size_bytes: u64) -> Result<(), Ended> {
    // After filling, the run reads one block through the page cache, as not every file system has direct I/O. Each
    // process has another seed, so that a resumed series creates the file anew as well.
    let options = format!("-c{size_bytes} -Zr -b1M -f1M -o1 -d1 -W0 -z{}", std::process::id());
    let words = options.split(' ').chain([file]).map(str::to_string).collect();
    // --overwrite is not for the file that is filled.
    let allowed = series.allow(Vec::new());
    let name = Kind::Fill.name().into();
    let draft = Draft { name, words, seconds: 1.5, kind: Kind::Fill, pause: None };
    let filled = draft.read(series).and_then(|step| series.run(&step)).map(|_| ());
    series.allow(allowed);
    filled
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
