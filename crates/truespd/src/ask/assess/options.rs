//! `truespd assess`: winsat disk, without scores.

use std::ffi::OsString;
use std::time::Instant;

use clap::Args;

use crate::ask::assess::{Assessment, FILE_BYTES, Plan, SIZE_MIN_BYTES, Test};
use crate::ask::command::{
    Asked, Measured, SeriesArguments, Suite, say_read_only, would_destroy, write_profile,
};
use crate::ask::values::{between, bytes, legal};
use crate::runner::Series;
use crate::runner::place::Place;
use diskspd::run::{Required, required};
use truespd_platform::fault::{Fault, Refusal};
use truespd_platform::text::{decimal_rate, shell_line, typed_size};

/// winsat's words that are long options here.
const WINSAT_WORDS: [&str; 11] =
    ["-ran", "-seq", "-read", "-write", "-flush", "-ransize", "-seqsize", "-drive", "-n", "-xml", "-v"];
/// The largest block of a test.
const BLOCK_BYTES_MAX: u64 = 16 << 20;
/// Every device takes multiples of this, if not necessarily one of them.
const SECTOR_BYTES: u64 = 512;
/// The test file in its folder.
const DATA: &str = "data";

/// Test a disk as `winsat disk` does, with winsat's labels and Microsoft's limits, but without scores
///
/// Measures random and sequential reads, sequential writes, and the latency of reads during writes and
/// flushes. Creates a file of 1 GiB in the directory, takes about a minute and removes the file. A device is
/// only read, unless --overwrite names it. Choose single tests as in winsat, with one or two dashes: -ran
/// -write, -seq -read, -flush -seq.
#[derive(Debug, Args)]
#[command(mut_arg("require", |arg| arg.value_parser(|text: &str| required(text, &[Required::Pass])).help(
    "Exit with code 5 unless the verdict is at least this (certified or suspect), or unless every limit is met by a \
     valid figure (pass); may be repeated"
)))]
pub(crate) struct AssessArguments {
    /// Directory for the test file, or a device [default: the folder of the configuration file, or the
    /// current directory]
    #[arg(value_name = "DIR|DEVICE")]
    target: Option<String>,
    /// Only random tests
    #[arg(long)]
    ran: bool,
    /// Only sequential tests
    #[arg(long)]
    seq: bool,
    /// Only throughput of reads
    #[arg(long)]
    read: bool,
    /// Only throughput of writes
    #[arg(long)]
    write: bool,
    /// Only latency of reads during writes and flushes
    #[arg(long, conflicts_with_all = ["read", "write"])]
    flush: bool,
    /// winsat's drive letter: refused with advice
    #[arg(long, value_name = "LETTER", hide = true)]
    drive: Option<String>,
    /// winsat's number of a disk: the number in `#n`
    #[arg(long, value_name = "NUMBER", hide = true, conflicts_with = "target",
          value_parser = between::<0, 9999>)]
    n: Option<u32>,
    /// winsat's file of results: refused with advice
    #[arg(long, value_name = "FILE", hide = true)]
    xml: Option<String>,
    /// winsat's verbose output: accepted, and changes nothing
    #[arg(long, hide = true)]
    v: bool,
    /// I/O size of random tests, and of the reads during writes and flushes
    #[arg(long, value_name = "SIZE", value_parser = block, default_value = "16K")]
    ransize: u64,
    /// I/O size of sequential tests
    #[arg(long, value_name = "SIZE", value_parser = block, default_value = "64K")]
    seqsize: u64,
    /// Size of the test file [default: 1G]; of a device, so much is used [default: all]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    size: Option<u64>,
    /// Measured seconds of a throughput test; tests with flushes take twice as long
    #[arg(long, short = 'd', value_name = "SECONDS", default_value_t = 8,
          value_parser = between::<1, 3600>)]
    duration: u32,
    /// Print winsat's lines above the table: a terminal has only the table otherwise
    #[arg(long)]
    text: bool,
    /// Print the diskspd commands and profiles without running them
    #[arg(long)]
    print: bool,
    #[command(flatten)]
    series: SeriesArguments,
}

/// The words of `truespd`, with winsat's words behind `assess` as long options.
fn long_words(args: &[OsString]) -> Vec<OsString> {
    let mut words = args.to_vec();
    if args.first().is_some_and(|first| first == "assess") {
        for word in &mut words {
            let lower = word.to_string_lossy().to_ascii_lowercase();
            if WINSAT_WORDS.contains(&lower.as_str()) {
                *word = format!("-{lower}").into();
            }
        }
    }
    words
}

fn block(text: &str) -> Result<u64, Refusal> {
    match bytes(text)? {
        bytes if bytes.is_multiple_of(SECTOR_BYTES) && bytes <= BLOCK_BYTES_MAX => Ok(bytes),
        _ => Err(legal(&format!("a multiple of 512 bytes, at most {}", typed_size(BLOCK_BYTES_MAX)))),
    }
}

impl Suite for AssessArguments {
    const NAME: &'static str = "assess";
    const THROUGHPUT: fn(f64) -> String = decimal_rate;
    type Work = (Place, Plan);
    type Document = Assessment;

    fn words(args: &[OsString]) -> Vec<OsString> {
        long_words(args)
    }

    fn series(&self) -> &SeriesArguments {
        &self.series
    }

    fn wants_original(&self) -> bool {
        self.text
    }

    fn ask(&self) -> Result<Asked<Self::Work>, Fault> {
        self.winsats_own()?;
        let target = self.n.map_or(self.target.clone(), |number| Some(format!("#{number}")));
        let place = self.series.place_or_usual(target.as_deref())?;
        let plan = self.plan(&place)?;
        if self.print {
            return Ok(Asked::Text(lines(&place, &plan)));
        }
        place.check_room(plan.size_bytes, 1, self.least_bytes())?;
        let targets = vec![place.word()];
        Ok(Asked::on((place, plan), targets))
    }

    fn measure(&self, (place, mut plan): Self::Work, series: &mut Series) -> Measured<Assessment> {
        let since = Instant::now();
        if place.is_device() && plan.tests.iter().any(|test| test.writes()) {
            series.check_write(&place.word())?;
        }
        let files = [DATA, profile_name(Test::FlushSequential), profile_name(Test::FlushRandom)];
        let scratch = series.scratch(&place.folder(), Self::NAME, &files)?;
        if plan.is_made {
            plan.target = scratch.file(DATA);
        }
        let parts = plan.parts(|test| scratch.file(profile_name(test)));
        for part in &parts {
            let Some(profile) = &part.profile else { continue };
            write_profile(&scratch.file(profile_name(part.test)), profile)?;
        }
        let (mut assessment, result) = plan.run(&parts, series);
        assessment.run_time_s = since.elapsed().as_secs_f64();
        Ok((assessment, result))
    }

    fn lacks(assessment: &Assessment, _required: Required) -> Option<String> {
        let labels = assessment.not_passed();
        (!labels.is_empty()).then(|| format!("not passed: {}", labels.join("; ")))
    }
}

impl AssessArguments {
    /// Words of winsat that mean something else here.
    fn winsats_own(&self) -> Result<(), Refusal> {
        if let Some(drive) = &self.drive {
            let hint = "name a directory on the disk, or its device: truespd assess /mnt/data";
            let message = format!("-drive {drive}: there are no drive letters here");
            return Err(Refusal::command_line(message).hint(hint));
        }
        if let Some(file) = &self.xml {
            let message = format!("-xml {file}: winsat's XML results are not written");
            return Err(Refusal::command_line(message).hint("use --json FILE"));
        }
        Ok(())
    }

    /// The smallest size that its tests can use.
    fn least_bytes(&self) -> u64 {
        SIZE_MIN_BYTES.max(self.ransize.max(self.seqsize).saturating_mul(4))
    }

    fn plan(&self, place: &Place) -> Result<Plan, Refusal> {
        let mut tests = tests(self);
        if !self.series.may_write(place) {
            tests.retain(|test| !test.writes());
            if tests.is_empty() {
                return Err(would_destroy("write tests", place));
            }
            say_read_only(&place.word());
        }
        let asked_bytes = self.size.or(place.size_bytes()).unwrap_or(FILE_BYTES);
        let size_bytes = asked_bytes / SECTOR_BYTES * SECTOR_BYTES;
        if size_bytes < self.least_bytes() {
            let what = if self.size.is_some() { "--size" } else { "the size of the device" };
            let (asked, least) = (typed_size(asked_bytes), typed_size(self.least_bytes()));
            let refusal = Refusal::command_line(format!("{what}: {asked} is too small"));
            let refusal = refusal.hint(format!("at least {least}"));
            return Err(if self.size.is_some() { refusal } else { refusal.hint("choose another device") });
        }
        Ok(Plan {
            target: if place.is_directory() { DATA.to_string() } else { place.word() },
            size_bytes,
            is_made: place.is_directory(),
            tests,
            random_bytes: self.ransize,
            sequential_bytes: self.seqsize,
            seconds: self.duration,
        })
    }
}

/// The tests that the words choose; without any, winsat's formal set.
fn tests(arguments: &AssessArguments) -> Vec<Test> {
    let AssessArguments { ran, seq, read, write, flush, .. } = *arguments;
    if !(ran || seq || read || write || flush) {
        return Test::FORMAL.to_vec();
    }
    let (ran, seq) = if ran || seq { (ran, seq) } else { (true, true) };
    let (read, write) = if read || write { (read, write) } else { (true, true) };
    let rows = [
        (Test::RandomRead, !flush && ran && read),
        (Test::SequentialRead, !flush && seq && read),
        (Test::RandomWrite, !flush && ran && write),
        (Test::SequentialWrite, !flush && seq && write),
        (Test::FlushSequential, flush && seq),
        (Test::FlushRandom, flush && ran),
    ];
    rows.iter().filter(|(_, is_chosen)| *is_chosen).map(|(test, _)| *test).collect()
}

fn profile_name(test: Test) -> &'static str {
    if test == Test::FlushRandom { "flush-ran.xml" } else { "flush-seq.xml" }
}

fn lines(place: &Place, plan: &Plan) -> String {
    let mut plan = plan.clone();
    if place.is_directory() {
        plan.target = place.file(DATA);
    }
    let mut out = String::new();
    for part in plan.parts(|test| profile_name(test).to_string()) {
        out.push_str(&format!("diskspd {}\n", shell_line(&part.step.words)));
        if let Some(profile) = &part.profile {
            out.push_str(&format!("<!-- {} -->\n{profile}", profile_name(part.test)));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::assess::{RANDOM_BYTES, SEQUENTIAL_BYTES};

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        arguments: AssessArguments,
    }

    fn read(line: &str) -> Result<AssessArguments, String> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let parsed = <Line as clap::Parser>::try_parse_from(long_words(&words));
        parsed.map(|line| line.arguments).map_err(|e| e.to_string())
    }

    #[test]
    fn winsats_words_choose_tests() {
        use Test::{FlushRandom, FlushSequential, RandomRead, RandomWrite, SequentialRead, SequentialWrite};
        for (line, expected) in [
            ("assess", Test::FORMAL.to_vec()),
            ("assess -ran -write", vec![RandomWrite]),
            ("assess -seq -read /mnt", vec![SequentialRead]),
            ("assess --seq --read", vec![SequentialRead]),
            ("assess -write", vec![RandomWrite, SequentialWrite]),
            ("assess -SEQ", vec![SequentialRead, SequentialWrite]),
            ("assess -flush", vec![FlushSequential, FlushRandom]),
            ("assess -flush -ran", vec![FlushRandom]),
            ("assess -ran -read -ransize 4096", vec![RandomRead]),
        ] {
            assert_eq!(tests(&read(line).unwrap()), expected, "{line}");
        }
        let arguments = read("assess -ransize 4096 -seqsize 1M -d 3").unwrap();
        assert_eq!((arguments.ransize, arguments.seqsize, arguments.duration), (4096, 1 << 20, 3));
        let defaults = read("assess").unwrap();
        assert_eq!((defaults.ransize, defaults.seqsize), (RANDOM_BYTES, SEQUENTIAL_BYTES));
    }

    #[test]
    fn bad_words_are_refused() {
        for (line, word) in [
            ("assess -flush -read", "cannot be used with"),
            ("assess -ransize 4097", "multiple of 512"),
            ("assess -seqsize 32M", "at most 16M"),
            ("assess -ransize 0", "size of 0"),
            ("assess -ransize 4q", "is not a size suffix"),
            ("assess -d 0", "from 1 to 3600"),
            ("assess -n c", "from 0 to 9999"),
            ("assess -n 1 /mnt", "cannot be used with"),
        ] {
            let error = read(line).unwrap_err();
            assert!(error.contains(word), "{line}: {error}");
        }
    }

    #[test]
    fn other_commands_keep_their_words() {
        let words: Vec<OsString> = vec!["run".into(), "-seq".into()];
        assert_eq!(long_words(&words), words);
    }

    /// What the lines mean to `diskspd`.
    #[test]
    fn every_line_is_a_run() {
        let plan = Plan {
            target: "data".into(),
            size_bytes: 64 << 20,
            is_made: true,
            tests: vec![Test::RandomRead, Test::SequentialRead, Test::RandomWrite, Test::SequentialWrite],
            random_bytes: RANDOM_BYTES,
            sequential_bytes: SEQUENTIAL_BYTES,
            seconds: 8,
        };
        for part in plan.parts(|_| String::new()) {
            let invocation = diskspd::grammar::parse(&part.step.words, "diskspd", &|| 0).expect("a line");
            let diskspd::grammar::parse::Invocation::Run(request) = invocation else { panic!("a run") };
            let span = &request.profile.time_spans[0];
            let target = &span.targets[0];
            assert!(span.measure_latency && target.is_direct() && target.request_count == 1);
            assert_eq!(target.writes(), part.test.writes());
            assert_eq!(target.create_bytes, Some(64 << 20));
        }
    }
}
