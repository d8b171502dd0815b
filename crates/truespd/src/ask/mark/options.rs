//! `truespd mark`: CrystalDiskMark's tests on a directory or a device.

use std::ffi::OsString;

use clap::{Args, ValueEnum};

use crate::ask::command::{Asked, Measured, SeriesArguments, Suite, say_read_only, would_destroy};
use crate::ask::mark::{
    FILE, Host, MIX_READ_PERCENT, MIX_READ_PERCENT_DEFAULT, MarkReport, Operation, Preset, Profile, Reader,
    Settings, Storage, Target, Test, text,
};
use crate::ask::models;
use crate::ask::values::{between, file_bytes, legal};
use crate::runner::Series;
use crate::runner::place::{FILE_BYTES_MIN, Place};
use diskspd::request::Output;
use truespd_core::result::Layer;
use truespd_core::result::envelope;
use truespd_platform::fault::{Fault, Refusal};
use truespd_platform::text::{decimal_rate, shell_line, typed_size};

/// Run CrystalDiskMark's tests on a file in this directory, or on a device
///
/// Prints the verdict and a table of reads beside writes: the best run of each test, as CrystalDiskMark, and the
/// spread.
/// The test file is removed at the end, even when the program is killed. A device is only read, unless
/// --overwrite names it. Takes about four minutes by default.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  truespd mark                                  the four default tests in the current directory
  truespd mark --preset nvme --mix /mnt/fast    tests for NVMe, also mixed with 70 % reads
  truespd mark --profile peak --loops 5 --size 16G /mnt/fast
  truespd mark --test RND4K-Q32T1 --test SEQ128K-Q4T2 --only read --save result.txt
  truespd mark --durable                        writes count when they are durable
  truespd mark /dev/nvme1n1                     only reads, of the first GiB of a disk")]
pub(crate) struct MarkArguments {
    /// Directory for the test file, or a block device (`#n` is the nth disk) [default: the folder of the
    /// configuration file, or the current directory]
    #[arg(value_name = "DIR|DEVICE")]
    target: Option<String>,

    /// Set of tests for a kind of disk
    #[arg(long, value_enum, default_value_t = Preset::Default)]
    preset: Preset,

    /// Which tests of the preset to run
    #[arg(long, value_enum, default_value_t = Profile::Default)]
    profile: Profile,

    /// Run this test instead, e.g. RND4K-Q32T1: SEQ or RND, block size, queue depth, threads; may be repeated
    #[arg(long = "test", value_name = "TEST", conflicts_with = "profile")]
    tests: Vec<Test>,

    /// Run mixed tests as well; READ is the percentage of reads: 10, 20, ... 90 (without a number: 70)
    #[arg(long, value_name = "READ", num_args = 0..=1, require_equals = true,
          default_missing_value = "70", value_parser = mix_read_percent)]
    mix: Option<u32>,

    /// Run only reads, only writes or only mixed tests; repeat it, or use commas, for two of them
    #[arg(long, value_enum, value_name = "OPERATION", value_delimiter = ',')]
    only: Vec<Operation>,

    /// Runs per test; one extra warm-up run is discarded
    #[arg(long, value_name = "N", default_value_t = 3, visible_alias = "count",
          value_parser = between::<1, 99>)]
    loops: u32,

    /// Size of the test file; of a device, so much is used from its beginning; at least 16M
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = size_bytes)]
    size: u64,

    /// Measured seconds of each run [default: 5; with --preset flash: 1]
    #[arg(long, value_name = "SECONDS", visible_alias = "duration",
          value_parser = between::<1, 3600>)]
    measure: Option<u32>,

    /// Pause between two tests, in seconds [default: 5; with --preset flash: 30]
    #[arg(long, value_name = "SECONDS", value_parser = between::<0, 3600>)]
    interval: Option<u32>,

    /// Contents of the test file and of the writes
    #[arg(long, value_enum, default_value_t = DataWord::Random)]
    data: DataWord,

    /// Count a write when it is durable (-Sh), not when the drive's write cache has it as CrystalDiskMark does
    #[arg(long)]
    durable: bool,

    /// Print CrystalDiskMark's text above the table: a terminal has only the table otherwise
    #[arg(long)]
    text: bool,

    /// Write the result to this file in CrystalDiskMark's text format
    #[arg(long, value_name = "FILE")]
    save: Option<String>,

    /// Comment for the file of --save
    #[arg(long, value_name = "TEXT", requires = "save")]
    comment: Option<String>,

    /// Print the diskspd commands without running them
    #[arg(long)]
    print: bool,

    #[command(flatten)]
    series: SeriesArguments,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DataWord {
    /// Random bytes, which can be neither compressed nor deduplicated
    Random,
    /// Zeros
    #[value(aliases = ["zeros", "0fill", "0x00"])]
    Zero,
}

/// The words of `truespd`, with a number that stands apart from `--mix` joined to it: `--mix 50` is how
/// people write it, and a directory may follow `--mix` alone.
fn joined_words(args: &[OsString]) -> Vec<OsString> {
    let mut words: Vec<OsString> = Vec::new();
    for word in args {
        let is_share = word.to_str().is_some_and(|text| mix_read_percent(text).is_ok());
        match words.last_mut() {
            Some(mix) if is_share && mix == "--mix" => {
                mix.push("=");
                mix.push(word);
            }
            _ => words.push(word.clone()),
        }
    }
    words
}

fn mix_read_percent(typed: &str) -> Result<u32, Refusal> {
    match typed.trim_end_matches('%').parse() {
        Ok(percent) if MIX_READ_PERCENT.contains(&percent) => Ok(percent),
        _ => Err(legal("10, 20, ... 90, the percentage of reads")),
    }
}

/// `16M`, `1G`; in whole MiB.
fn size_bytes(typed: &str) -> Result<u64, Refusal> {
    Ok(file_bytes(typed)? >> 20 << 20)
}

impl Suite for MarkArguments {
    const NAME: &'static str = "mark";
    const THROUGHPUT: fn(f64) -> String = decimal_rate;
    type Work = (Settings, Place);
    type Document = MarkReport;

    fn words(args: &[OsString]) -> Vec<OsString> {
        joined_words(args)
    }

    fn series(&self) -> &SeriesArguments {
        &self.series
    }

    fn outputs(&self) -> Vec<Output> {
        let mut outputs = Vec::new();
        for (format, path) in [("save", &self.save), ("json", &self.series.json)] {
            outputs.extend(path.clone().map(|path| Output { format, path }));
        }
        outputs
    }

    fn wants_original(&self) -> bool {
        self.text
    }

    fn ask(&self) -> Result<Asked<Self::Work>, Fault> {
        let place = self.series.place_or_usual(self.target.as_deref())?;
        let settings = settings(self, &place)?;
        let largest = settings.tests.iter().map(|test| test.block_bytes).max().unwrap_or_default();
        if largest > settings.size_bytes {
            let (block, size) = (typed_size(largest), typed_size(settings.size_bytes));
            let message = format!("--test: a block of {block} does not fit into --size {size}");
            return Err(Refusal::command_line(message).into());
        }
        if self.print {
            return Ok(Asked::Text(lines(&settings, &place)));
        }
        place.check_room(settings.size_bytes, 1, FILE_BYTES_MIN)?;
        let targets = vec![place.word()];
        Ok(Asked::on((settings, place), targets))
    }

    fn measure(&self, (settings, place): Self::Work, series: &mut Series) -> Measured<MarkReport> {
        let does_write = settings.parts.iter().any(|&part| part != Operation::Read);
        let target = if place.is_device() {
            if does_write {
                series.check_write(&place.word())?;
            }
            Target::Device(place.word())
        } else {
            Target::File(series.scratch(&place.folder(), Self::NAME, &[FILE])?.file(FILE))
        };
        let (rows, result) = settings.run(&target, series);
        let tested = described(&place, series.disks());
        Ok((MarkReport::new(Host::this(series.ranks()), tested, settings, rows, result.is_ok()), result))
    }

    fn content(&self, output: &Output, report: &MarkReport) -> String {
        match output.format {
            "json" => envelope::write(report),
            _ => envelope::shown(report, |report| {
                text(report, Reader::Program { comment: self.comment.as_deref() })
            }),
        }
    }
}

fn settings(arguments: &MarkArguments, place: &Place) -> Result<Settings, Refusal> {
    let MarkArguments { preset, profile, .. } = *arguments;
    let mut tests: Vec<Test> = Vec::new();
    for &test in &arguments.tests {
        if !tests.contains(&test) {
            tests.push(test);
        }
    }
    Ok(Settings {
        preset,
        profile,
        tests: if tests.is_empty() { preset.tests(profile) } else { tests },
        parts: parts(arguments, profile, place)?,
        mix_read_percent: arguments.mix.unwrap_or(MIX_READ_PERCENT_DEFAULT),
        loops: arguments.loops,
        size_bytes: arguments.size,
        measure_s: arguments.measure.unwrap_or_else(|| preset.measure_s()),
        interval_s: arguments.interval.unwrap_or_else(|| preset.interval_s()),
        zero_data: arguments.data == DataWord::Zero,
        is_durable: arguments.durable,
    })
}

fn parts(arguments: &MarkArguments, profile: Profile, place: &Place) -> Result<Vec<Operation>, Refusal> {
    let only = &arguments.only;
    let mut wanted = Vec::new();
    for part in [Operation::Read, Operation::Write, Operation::Mix] {
        let is_mixed = part == Operation::Mix && arguments.mix.is_some();
        let is_usual = only.is_empty() && part != Operation::Mix;
        if is_mixed || is_usual || only.contains(&part) {
            wanted.push(part);
        }
    }
    if wanted.contains(&Operation::Mix) && profile == Profile::Demo {
        let option = if arguments.mix.is_some() { "--mix" } else { "--only mix" };
        let message = format!("{option}: the profile demo has no mixed test");
        return Err(Refusal::command_line(message).hint("choose another profile, or --test SEQ1M-Q8T1"));
    }
    if arguments.series.may_write(place) {
        return Ok(wanted);
    }
    if let Some(part) = only.iter().find(|&&part| part != Operation::Read) {
        return Err(would_destroy(&format!("--only {}", part.word()), place));
    }
    if !arguments.print {
        say_read_only(&place.word());
    }
    Ok(vec![Operation::Read])
}

/// The lines, each once: loops differ in the seed (`-z`).
fn lines(settings: &Settings, place: &Place) -> String {
    let target =
        if place.is_device() { Target::Device(place.word()) } else { Target::File(place.file(FILE)) };
    let mut out = String::new();
    for planned in settings.planned() {
        let words = settings.words(planned, 1, &target);
        let line = shell_line(&words);
        out.push_str(&format!("# {} {}\ndiskspd {line}\n", planned.test, planned.part.word()));
    }
    out
}

/// What the tests go to, for the document.
fn described(place: &Place, disks: &[Layer]) -> Storage {
    Storage {
        path: place.word(),
        is_device: place.is_device(),
        size_bytes: place.size_bytes().or(place.room().map(|room| room.size_bytes)),
        used_bytes: place.room().map(|room| room.used_bytes),
        models: models(disks),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_may_stand_apart() {
        let joined = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            joined_words(&words).join(std::ffi::OsStr::new(" ")).into_string().unwrap()
        };
        for (line, is) in [
            ("mark --mix 50 d", "mark --mix=50 d"),
            ("mark --mix d", "mark --mix d"),
            ("mark --mix 55", "mark --mix 55"),
            ("mark --mix=20 30", "mark --mix=20 30"),
            ("mark --size 50", "mark --size 50"),
        ] {
            assert_eq!(joined(line), is);
        }
    }

    #[test]
    fn sizes_and_shares_are_taken_as_people_write_them() {
        for (typed, bytes) in
            [("16M", 16 << 20), ("1G", 1 << 30), ("2g", 2 << 30), ("1t", 1 << 40), ("16777216", 16 << 20)]
        {
            assert_eq!(size_bytes(typed), Ok(bytes), "{typed}");
        }
        for typed in ["1", "15M", "1K"] {
            assert!(size_bytes(typed).is_err_and(|why| why.to_string().contains("at least 16M,")), "{typed}");
        }
        assert_eq!(mix_read_percent("70"), Ok(70));
        assert_eq!(mix_read_percent("30%"), Ok(30));
        for typed in ["", "0", "75", "100", "R70"] {
            assert!(mix_read_percent(typed).is_err_and(|why| why.to_string().contains("10, 20")), "{typed}");
        }
    }
}
