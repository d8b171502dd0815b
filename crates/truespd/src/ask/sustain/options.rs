//! `truespd sustain`: writes on and on, until the rate has fallen and is steady.

use crate::ask::command::{Asked, Measured, SeriesArguments, Suite, engine_words, wears_out};
use crate::ask::sustain::SustainReport;
use crate::ask::sustain::report::RoomBefore;
use crate::ask::sustain::run::Sustain;
use crate::ask::values::{between, file_bytes};
use crate::runner::place::{FILE_BYTES_MIN, Place};
use crate::runner::{Runner, Series};
use clap::Args;
use diskspd::run::{Required, required};
use truespd_core::profile::SteadyRule;
use truespd_platform::fault::{Fault, Refusal};
use truespd_platform::text::{printable, shell_line, size, typed_size};

const FILE: &str = "data";
/// What of the free space is written at most, in percent, unless told otherwise.
const SHARE: u32 = 50;
/// A file system that is fuller writes more slowly for that alone.
const SHARE_MAX: u32 = 90;
const UNIT_BYTES: u64 = 1 << 20;
/// Longest run in seconds, unless told otherwise.
const RUN_S_MAX: u64 = 10;
/// A second of a run for so much of the range: a fast drive then writes it in several runs.
const RANGE_PER_SECOND: u64 = 20 << 30;

/// Write on and on: how much is fast, what the rate is behind that, and what a rest brings back
///
/// Writes sequentially until the rate has fallen and is steady, or the range is full. Then rests, and writes again
/// after each rest. In a directory it writes to a file in the free space, which is removed at the end, so that no empty
/// disk is needed. A device is written as a whole, and only where --overwrite names it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  truespd sustain /mnt/fast                        half of the free space at most
  truespd sustain /mnt/fast --size 100G --no-rests
  truespd sustain /dev/nvme1n1 --overwrite /dev/nvme1n1 --passes 2")]
#[command(mut_arg("require", |arg| arg.value_parser(|text: &str| required(text, &[Required::Steady])).help(
    "Exit with code 5 unless the verdict is at least this (certified or suspect), or unless the rate was steady \
     before the first rest (steady); may be repeated"
)))]
#[command(mut_arg("precondition", |arg| arg.hide(true)), mut_arg("until_steady", |arg| arg.hide(true)),
    mut_arg("resume", |arg| arg.hide(true)))]
pub(crate) struct SustainArguments {
    /// Directory in which a file is made and removed, or a device [default: the folder of the configuration file, or
    /// the current directory]
    #[arg(value_name = "DIR|DEVICE")]
    target: Option<String>,

    /// Size of the file [default: what --max-share allows]
    #[arg(long = "size", value_name = "SIZE", value_parser = file_bytes)]
    size_bytes: Option<u64>,

    /// Share of the free space that the file takes at most, in percent [default: 50]
    #[arg(long, value_name = "PERCENT", value_parser = between::<1, SHARE_MAX>)]
    max_share: Option<u32>,

    /// The range is full when it has been written so often; the run in which that happens is the last one before the
    /// first rest
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = between::<1, 100>)]
    passes: u32,

    /// Minutes of writing at most, before the first rest
    #[arg(long, value_name = "MINUTES", default_value_t = 60, value_parser = between::<1, 1440>)]
    minutes: u32,

    /// Rests in seconds; writing goes on after each until the rate has fallen again
    #[arg(long, value_name = "SECONDS,...", value_delimiter = ',', default_value = "5,30,120,300",
        value_parser = between::<1, 3600>)]
    rests: Vec<u32>,

    /// End after the first writes, without a rest
    #[arg(long, conflicts_with = "rests")]
    no_rests: bool,

    /// Length of a run; five of them tell whether the rate is steady [default: 1 to 10, the larger the range the
    /// longer]
    #[arg(long, value_name = "SECONDS", value_parser = between::<1, 600>)]
    seconds: Option<u32>,

    /// Writes of 1 MiB that are outstanding at once
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = between::<1, 1024>)]
    outstanding: u32,

    /// Engine of the runs, as --engine of diskspd
    #[arg(long, value_name = "NAME")]
    engine: Option<String>,

    /// Write the rate of each slice to this file as comma-separated values; - is standard output
    #[arg(long, value_name = "FILE")]
    csv: Option<String>,

    /// Print what it takes and the diskspd command of the first run without running it
    #[arg(long)]
    print: bool,

    #[command(flatten)]
    series: SeriesArguments,
}

/// What is to be run, and where.
pub(crate) struct Work {
    sustain: Sustain,
    place: Place,
}

impl Suite for SustainArguments {
    const NAME: &'static str = "sustain";
    type Work = Work;
    type Document = SustainReport;

    fn series(&self) -> &SeriesArguments {
        &self.series
    }

    fn csv(&self) -> Option<&str> {
        self.csv.as_deref()
    }

    fn ask(&self) -> Result<Asked<Work>, Fault> {
        self.check_own_way()?;
        let place = self.series.place_or_usual(self.target.as_deref())?;
        let sustain = self.sustain(&place)?;
        if self.print {
            let mut out = String::new();
            for line in sustain.plan_lines() {
                out.push_str(&format!("# {line}\n"));
            }
            return Ok(Asked::Text(out + &format!("diskspd {}\n", shell_line(&sustain.line(0)))));
        }
        if place.is_device() && self.series.overwrite.is_empty() {
            return Err(wears_out(&sustain.plan_lines(), &place).into());
        }
        let targets = vec![place.word()];
        Ok(Asked::on(Work { sustain, place }, targets))
    }

    fn measure(&self, work: Work, series: &mut Series) -> Measured<SustainReport> {
        let Work { mut sustain, place } = work;
        for line in sustain.plan_lines() {
            series.tell(&line);
        }
        if place.is_device() {
            series.check_write(&place.word())?;
        } else {
            let scratch = series.scratch(&place.folder(), Self::NAME, &[FILE])?;
            // Not written: writing it would fill the fast area before the first run.
            sustain.target = scratch.make_file(FILE, sustain.range_bytes)?;
        }
        Ok(sustain.run(series))
    }

    fn lacks(document: &SustainReport, required: Required) -> Option<String> {
        if required == Required::Steady { document.lacks_steady() } else { None }
    }
}

impl SustainArguments {
    /// Refuses what it does in its own way.
    fn check_own_way(&self) -> Result<(), Refusal> {
        for (is_given, option, why) in [
            (self.series.until_steady, "--until-steady", "it writes until the rate is steady anyway"),
            (
                self.series.precondition.is_some(),
                "--precondition",
                "what is written before would not be seen",
            ),
            (self.series.resume, "--resume", "while it is interrupted, the drive rests"),
        ] {
            if is_given {
                let message = format!("{option} does not go with sustain: {why}");
                return Err(Refusal::command_line(message).hint("leave it out"));
            }
        }
        Ok(())
    }

    fn sustain(&self, place: &Place) -> Result<Sustain, Refusal> {
        let room =
            place.room().map(|room| RoomBefore { free_bytes: room.free_bytes, size_bytes: room.size_bytes });
        let range_bytes = self.range_bytes(place, room)?;
        let run_s = (range_bytes / RANGE_PER_SECOND).clamp(1, RUN_S_MAX) as u32;
        Ok(Sustain {
            target: if place.is_directory() { place.file(FILE) } else { place.word() },
            range_bytes,
            room,
            passes: self.passes,
            minutes: self.minutes,
            run_s: self.seconds.unwrap_or(run_s),
            outstanding: self.outstanding,
            rests: if self.no_rests { Vec::new() } else { self.rests.clone() },
            engine: engine_words(self.engine.as_deref()),
            rule: SteadyRule::default(),
        })
    }

    /// Size of the device, or of the file that is made.
    fn range_bytes(&self, place: &Place, room: Option<RoomBefore>) -> Result<u64, Refusal> {
        if let Some(bytes) = place.size_bytes() {
            for (is_given, option) in
                [(self.size_bytes.is_some(), "--size"), (self.max_share.is_some(), "--max-share")]
            {
                if is_given {
                    let message = format!("{option} is for a file in a directory; a device is written whole");
                    return Err(Refusal::command_line(message).hint("leave it out"));
                }
            }
            return Ok(bytes);
        }
        let path = printable(&place.word());
        let Some(room) = room else {
            return self.size_bytes.ok_or_else(|| {
                let message = format!("'{path}': its file system does not tell how much is free");
                Refusal::command_line(message).hint("say how much may be written: --size 20G")
            });
        };
        let share = self.max_share.unwrap_or(SHARE);
        let most = room.free_bytes / 100 * u64::from(share) / UNIT_BYTES * UNIT_BYTES;
        let bytes = self.size_bytes.unwrap_or(most).max(FILE_BYTES_MIN);
        if bytes > most {
            let message = format!(
                "'{path}': {} do not fit into {share} % of the {} that are free",
                size(bytes),
                size(room.free_bytes)
            );
            let hint = if most < FILE_BYTES_MIN {
                "choose another directory, or a larger --max-share".to_string()
            } else {
                format!("give --size {} or less, or a larger --max-share", typed_size(most))
            };
            return Err(Refusal::command_line(message).hint(hint));
        }
        place.check_room(bytes, 1, FILE_BYTES_MIN)?;
        Ok(bytes)
    }
}
