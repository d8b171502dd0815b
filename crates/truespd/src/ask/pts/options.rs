//! `truespd pts`: the tests of SNIA's Solid State Storage Performance Test Specification 2.0.2.

use crate::ask::command::{Asked, Measured, SeriesArguments, Suite, engine_words, wears_out};
use crate::ask::own_line::Targets;
use crate::ask::pts::PtsReport;
use crate::ask::pts::report::Head;
use crate::ask::pts::run::{MINUTE_S, Pts};
use crate::ask::pts::table::{Class, Part, ROUNDS_MAX, TESTS, Test};
use crate::ask::values::{between, file_bytes, legal, one_of};
use crate::runner::place::Place;
use crate::runner::{Runner, Series};
use clap::Args;
use diskspd::run::{Required, required};
use std::path::Path;
use truespd_core::profile::SteadyRule;
use truespd_platform::fault::{Fault, Refusal};
use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::storage::{ReadFlags, open, resolve};
use truespd_platform::text::{printable, shell_line};

/// The least that its rule needs.
const ROUNDS_MIN: u32 = 5;
/// The most that a test has: those of a day of samples.
const ROUNDS_LONGEST: u32 = 24 * 60;
/// The active range ends at a multiple of this.
const RANGE_UNIT: u64 = 1 << 20;
/// What every device takes, if it takes less.
const SECTOR_BYTES: u64 = 512;

/// Test a drive after SNIA's Performance Test Specification 2.0.2 (PTS-E and PTS-C)
///
/// Writes the whole drive twice, then measures rounds of all cells until the tracking variables of the last five are
/// steady, at most 25. Destroys what the drive holds, takes hours to days, and wears the drive: what it takes is told
/// before it begins, and --overwrite DEVICE is the consent. Never purges the drive: that is told, too. With --keep it
/// goes on after a stop or a restart of the machine (--resume).
#[derive(Debug, Args)]
#[command(mut_arg("require", |arg| arg.value_parser(|text: &str| required(text, &[Required::Steady])).help(
    "Exit with code 5 unless the verdict is at least this (certified or suspect), or unless all rounds became steady \
     (steady); may be repeated"
)))]
#[command(mut_arg("precondition", |arg| arg.hide(true)), mut_arg("until_steady", |arg| arg.hide(true)))]
pub(crate) struct PtsArguments {
    /// iops, throughput, latency, wsat (write saturation), hir (host idle recovery), xsr (cross stimulus recovery),
    /// dirth (demand intensity), cbw (composite block size)
    #[arg(value_name = "TEST", value_parser = test)]
    test: &'static Test,

    /// Device; or a file, or a directory in which a test file is created and removed
    #[arg(value_name = "DEVICE")]
    target: String,

    /// enterprise (PTS-E): all of the drive, write cache off; client (PTS-C): 75 % of it, write cache on
    #[arg(long, value_name = "CLASS", default_value = "enterprise", value_parser = class)]
    class: Class,

    /// Threads, where the test does not say them [default: 4; client: 2]
    #[arg(long, value_name = "N", value_parser = between::<1, 1024>)]
    threads: Option<u32>,

    /// I/Os outstanding for each thread, where the test does not say them [default: 32; client: 16]
    #[arg(long, value_name = "N", value_parser = between::<1, 4096>)]
    outstanding: Option<u32>,

    /// Length of what the specification runs for a minute; all other times change with it
    #[arg(long, value_name = "SECONDS", default_value_t = MINUTE_S, value_parser = between::<1, 3600>)]
    seconds: u32,

    /// Rounds of each stage at most, also of waits and samples [default: those of the test, as --print tells them]
    #[arg(long, value_name = "N", value_parser = between::<ROUNDS_MIN, ROUNDS_LONGEST>)]
    rounds: Option<u32>,

    /// Only this part of the test: 1024K or 128K of throughput; RND4K, RND8K, SEQ128K, SEQ0.5K or composite of wsat
    #[arg(long, value_name = "NAME")]
    part: Option<String>,

    /// How the drive was purged before, for the report: 'nvme format --ses=1'
    #[arg(long, value_name = "WORDS")]
    purged: Option<String>,

    /// What the drive may be written in its life by its data sheet, as in 1400TB or 14PB
    #[arg(long, value_name = "BYTES", value_parser = endurance)]
    endurance: Option<u64>,

    /// Engine of the runs, as --engine of diskspd
    #[arg(long, value_name = "NAME")]
    engine: Option<String>,

    /// Size of the test file that is created in a directory [default: 1G]
    #[arg(long = "size", value_name = "SIZE", value_parser = file_bytes)]
    size_bytes: Option<u64>,

    /// Write all cells of all rounds to this file as comma-separated values; - is standard output
    #[arg(long, value_name = "FILE")]
    csv: Option<String>,

    /// Print what it takes and the diskspd commands of a round without running them
    #[arg(long)]
    print: bool,

    #[command(flatten)]
    series: SeriesArguments,
}

fn test(text: &str) -> Result<&'static Test, Refusal> {
    one_of(text, TESTS.iter().map(|test| (test, test.name)))
}

fn class(text: &str) -> Result<Class, Refusal> {
    one_of(text, Class::ALL)
}

/// Data sheets count in thousands.
fn endurance(text: &str) -> Result<u64, Refusal> {
    const LEGAL: &str = "a number above 0 with TB or PB, as in 1400TB or 1.4PB";
    let (digits, unit) = if let Some(digits) = text.strip_suffix("PB") {
        (digits, 1e15)
    } else if let Some(digits) = text.strip_suffix("TB") {
        (digits, 1e12)
    } else {
        return Err(legal(LEGAL));
    };
    let number: f64 = digits.parse().map_err(|_| legal(LEGAL))?;
    if number > 0.0 && number <= 10_000.0 { Ok((number * unit) as u64) } else { Err(legal(LEGAL)) }
}

/// What is to be run, and where.
pub(crate) struct Work {
    pts: Pts,
    targets: Targets,
    is_device: bool,
}

impl Suite for PtsArguments {
    const NAME: &'static str = "pts";
    type Work = Work;
    type Document = PtsReport;

    fn series(&self) -> &SeriesArguments {
        &self.series
    }

    fn title(&self) -> String {
        format!("pts {}", self.test.name)
    }

    fn csv(&self) -> Option<&str> {
        self.csv.as_deref()
    }

    fn ask(&self) -> Result<Asked<Work>, Fault> {
        let parts = self.parts()?;
        self.check_own_times()?;
        let targets =
            Targets::find(std::slice::from_ref(&self.target), self.size_bytes, &self.series.overwrite)?;
        let place = Place::find(&self.target)?;
        let word = targets.words().pop().unwrap_or_default();
        let mut pts = self.pts(parts, word, targets.all_bytes());
        if !place.is_directory() {
            look(&mut pts);
        }
        self.check_cells(&pts)?;
        self.note_deviations(&mut pts, &place);
        let is_device = place.is_device();
        if self.print {
            return Ok(Asked::Text(printed(&pts, is_device)));
        }
        if !place.is_directory() && self.series.overwrite.is_empty() {
            return Err(wears_out(&pts.plan_lines(is_device), &place).into());
        }
        let places = targets.places();
        Ok(Asked::on(Work { pts, targets, is_device }, places))
    }

    fn measure(&self, work: Work, series: &mut Series) -> Measured<PtsReport> {
        let Work { mut pts, targets, is_device } = work;
        for line in pts.plan_lines(is_device) {
            series.tell(&line);
        }
        let made = targets.make(series, Self::NAME, true, pts.ahead())?;
        pts.target = made.into_iter().next().unwrap_or(pts.target);
        if targets.made().0 > 0 {
            look(&mut pts);
        }
        Ok(pts.run(series))
    }

    fn lacks(document: &PtsReport, required: Required) -> Option<String> {
        if required == Required::Steady { document.lacks_steady() } else { None }
    }
}

impl PtsArguments {
    fn parts(&self) -> Result<Vec<&'static Part>, Refusal> {
        let parts = self.test.parts_of(self.class, self.part.as_deref());
        if !parts.is_empty() {
            return Ok(parts);
        }
        let names: Vec<&str> =
            self.test.parts.iter().map(|part| part.name).filter(|name| !name.is_empty()).collect();
        let message = format!(
            "--part {}: {} has no such part",
            self.part.as_deref().unwrap_or_default(),
            self.test.name
        );
        let hint = if names.is_empty() {
            "leave --part out: this test has one part".to_string()
        } else {
            format!("legal: {}", names.join(", "))
        };
        Err(Refusal::command_line(message).hint(hint))
    }

    /// Refuses a test of which the target takes no cell.
    fn check_cells(&self, pts: &Pts) -> Result<(), Refusal> {
        let mut stages = pts.parts.iter().flat_map(|part| part.stages);
        if stages.all(|stage| !pts.cells(stage).is_empty()) {
            return Ok(());
        }
        let message = format!(
            "'{}' takes I/Os of {} bytes and more, and the cells of {} have smaller ones",
            printable(&pts.target),
            pts.sector_bytes,
            self.test.name
        );
        let hint = "test a drive that is formatted with sectors of 512 bytes";
        Err(Refusal::machine(&[], Some(&pts.target), message).hint(hint))
    }

    /// Rounds of the stage that has the most.
    fn most_rounds(&self) -> u32 {
        let stages = self.test.parts.iter().flat_map(|part| part.stages);
        stages.map(|stage| stage.end.rounds_max()).max().unwrap_or_default()
    }

    /// Refuses what the test decides by itself.
    fn check_own_times(&self) -> Result<(), Refusal> {
        if let Some(rounds) = self.rounds
            && rounds > self.most_rounds()
        {
            let most = self.most_rounds();
            let message =
                format!("--rounds {rounds}: a stage of {} has {most} rounds at most", self.test.name);
            return Err(Refusal::command_line(message).hint(format!("legal: {ROUNDS_MIN} to {most}")));
        }
        for (is_given, option) in [
            (self.series.until_steady, "--until-steady"),
            (self.series.precondition.is_some(), "--precondition"),
        ] {
            if is_given {
                let message = format!(
                    "{option} does not go with pts: the specification says what is written before, and how long \
                     rounds go on"
                );
                return Err(Refusal::command_line(message).hint("leave it out"));
            }
        }
        Ok(())
    }

    fn pts(&self, parts: Vec<&'static Part>, target: String, capacity_bytes: u64) -> Pts {
        let (threads, outstanding) = self.class.load();
        let threads = self.threads.unwrap_or(threads);
        let outstanding = self.outstanding.unwrap_or(outstanding);
        let percent = self.class.active_range_percent();
        let range = if percent == 100 {
            capacity_bytes
        } else {
            capacity_bytes.saturating_mul(percent) / 100 / RANGE_UNIT * RANGE_UNIT
        };
        let head = Head {
            purge: self.purged.clone(),
            capacity_bytes,
            active_range_bytes: range,
            threads,
            outstanding,
            seconds: self.seconds,
            engine: self.engine.clone(),
            endurance_bytes: self.endurance,
            ..Head::default()
        };
        Pts {
            test: self.test,
            parts,
            class: self.class,
            threads,
            outstanding,
            seconds: self.seconds,
            rule: SteadyRule {
                rounds: self.rounds.unwrap_or(ROUNDS_MAX).min(ROUNDS_MAX),
                ..SteadyRule::default()
            },
            rounds_max: self.rounds,
            target,
            engine: engine_words(self.engine.as_deref()),
            head,
            sector_bytes: SECTOR_BYTES,
            deviations: Vec::new(),
        }
    }

    fn note_deviations(&self, pts: &mut Pts, place: &Place) {
        let mut all = Vec::new();
        if self.purged.is_none() {
            all.push(
                "Whether the drive was purged before is not known; if it was, say so with --purged."
                    .to_string(),
            );
        }
        if pts.parts.len() > 1 {
            all.push("The drive is not purged between the parts: --part runs one of them alone.".to_string());
        }
        if !place.is_device() {
            all.push("The target is a file, and not a whole device.".to_string());
        }
        if pts.is_simulated() {
            all.push("The drive is simulated: nothing was read or written.".to_string());
        }
        let wanted = self.class.write_cache();
        match pts.head.write_cache.as_deref() {
            Some(cache) if cache == wanted => {}
            Some(cache) => all.push(format!(
                "The write cache is '{cache}', and {} wants '{wanted}'; it was not switched.",
                self.class.edition()
            )),
            None => all.push(format!(
                "The state of the write cache is not known; {} wants '{wanted}'.",
                self.class.edition()
            )),
        }
        if self.seconds != MINUTE_S {
            all.push(format!(
                "A cell of a minute ran for {} s, and all other times were scaled with it.",
                self.seconds
            ));
        }
        if pts.has_rounded_up() {
            all.push("Cells that would have been shorter than a second ran for a second.".to_string());
        }
        if let Some(rounds) = self.rounds
            && rounds < self.most_rounds()
        {
            all.push(format!("A stage had {rounds} rounds at most, fewer than the test has."));
        }
        let left_out = pts.left_out();
        if !left_out.is_empty() {
            all.push(format!(
                "Cells of {} are left out: the target takes {} bytes and more.",
                left_out.join(", "),
                pts.sector_bytes
            ));
        }
        all.extend(self.test.deviation.map(str::to_string));
        all.push(
            "The specification itself is not public: figures are from what quotes it (docs/pts.md)."
                .to_string(),
        );
        pts.deviations = all;
    }
}

/// Finds out what the target takes and how its cache is. If it cannot be opened, the run says so.
fn look(pts: &mut Pts) {
    let roots = Roots::default();
    let Ok(found) = resolve(&pts.target, &roots) else { return };
    let path: &Path = &found.path;
    let Ok(opened) = open(path, ReadFlags::CACHED, &roots) else { return };
    let direct = opened.facts.direct.as_ref().map_or(SECTOR_BYTES, |direct| direct.offset_bytes);
    pts.sector_bytes = direct.max(SECTOR_BYTES);
    pts.head.write_cache = opened.facts.write_cache;
}

fn printed(pts: &Pts, is_device: bool) -> String {
    let mut out = String::new();
    for line in pts.plan_lines(is_device) {
        out.push_str(&format!("# {line}\n"));
    }
    for deviation in &pts.deviations {
        out.push_str(&format!("# deviation: {deviation}\n"));
    }
    for part in &pts.parts {
        if pts.test.is_preconditioned {
            let line = shell_line(&pts.preconditioning());
            out.push_str(&format!("# {}\ndiskspd {line}\n", part.titled("preconditioning")));
        }
        for stage in part.stages {
            out.push_str(&format!("# {}\n", part.titled(stage.name)));
            for cell in pts.cells(stage) {
                out.push_str(&format!("diskspd {}\n", shell_line(&pts.line(&cell, 0))));
            }
        }
    }
    out
}
