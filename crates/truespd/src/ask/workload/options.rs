//! `truespd workload`: named loads, the program's own and a person's.

use clap::Args;

use crate::ask::command::{Asked, Measured, SeriesArguments, Suite, usual_folder, write_profile};
use crate::ask::find_max::limits::{LatencyLimit, Of, limits_words};
use crate::ask::values::{between, bytes, one_of};
use crate::ask::workload::prepared::Prepared;
use crate::ask::workload::preset::{Load, Preset};
use crate::ask::workload::{Outcome, Plan, Times, Work, prepared};
use crate::runner::Series;
use crate::runner::place::{FILE_BYTES_MIN, Place};
use truespd_core::profile::xml;
use truespd_platform::fault::{Fault, Refusal};
use truespd_platform::text::shell_line;

/// The profile in the scratch folder.
const PROFILE: &str = "workload.xml";
/// Warm-up unless told otherwise, in seconds.
const WARMUP_S: u32 = 5;
/// Measured time unless told otherwise, in seconds.
const DURATION_S: u32 = 30;
/// The same for each rate of a search.
const RATE_WARMUP_S: u32 = 2;
const RATE_DURATION_S: u32 = 10;
/// A day: none of the times is longer.
const SECONDS_MAX: u32 = 86_400;

/// Run a named load: oltp, olap, web, vdi, sql, VM Fleet's, or one of your own
///
/// In a directory, test files are created and removed at the end. `oltp` searches for the highest rate that keeps a
/// latency limit. `--list` shows all workloads, `--print` what would run.
#[derive(Debug, Args)]
pub(crate) struct WorkloadArguments {
    /// Name of the workload
    name: Option<String>,
    /// Directory for the test files [default: the folder of the configuration file, or the current
    /// directory], or as many files or devices as the workload needs
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    /// List all workloads
    #[arg(long)]
    list: bool,
    /// Print the diskspd commands and the profile without running them
    #[arg(long)]
    print: bool,
    /// Directory with your own presets, NAME.toml or NAME.xml [default: ~/.config/truespd/workloads, or
    /// truespd/workloads in $XDG_CONFIG_HOME]
    #[arg(long, value_name = "DIR")]
    presets: Option<String>,
    /// Size of each test file; regions of a profile shrink in proportion
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    size: Option<u64>,
    /// Percentage of writes, instead of the workload's own; not for several loads at once (web, sql,
    /// fleet-vdi, fleet-sql)
    #[arg(long, short = 'w', value_name = "PERCENT", value_parser = between::<0, 100>)]
    write_ratio: Option<u32>,
    /// I/O size, instead of the workload's own; not for several loads at once
    #[arg(long, short = 'b', value_name = "SIZE", value_parser = bytes)]
    block: Option<u64>,
    /// Measured seconds of each run [default: 30; in a search: 10]
    #[arg(long, short = 'd', value_name = "SECONDS", value_parser = between::<1, SECONDS_MAX>)]
    duration: Option<u32>,
    /// Warm-up seconds before each measurement [default: 5; in a search: 2]
    #[arg(long, short = 'W', value_name = "SECONDS", value_parser = between::<0, SECONDS_MAX>)]
    warmup: Option<u32>,
    /// Cool-down seconds after each measurement
    #[arg(long, short = 'C', value_name = "SECONDS", default_value_t = 0, value_parser = between::<0, SECONDS_MAX>)]
    cooldown: u32,
    /// Search for the highest rate that keeps this latency limit, in milliseconds; 0 runs once, without a search. For
    /// workloads of one line (oltp, olap, olap-si, vdi, your own)
    #[arg(long, value_name = "MS", allow_negative_numbers = true)]
    limit: Option<f64>,
    /// Which response time the limit is for: mean, p50, p95, p99 or p99.9 [default: the preset's, or p99]
    #[arg(long, value_name = "FIGURE", value_parser = figure)]
    of: Option<Of>,
    #[command(flatten)]
    series: SeriesArguments,
}

fn figure(text: &str) -> Result<Of, Refusal> {
    one_of(text, Of::all())
}

impl Suite for WorkloadArguments {
    const NAME: &'static str = "workload";
    type Work = Prepared;
    type Document = Outcome;

    fn series(&self) -> &SeriesArguments {
        &self.series
    }

    fn ask(&self) -> Result<Asked<Prepared>, Fault> {
        let presets = self.presets.as_deref();
        if self.list {
            return Ok(Asked::Text(prepared::list(presets)?));
        }
        let Some(name) = &self.name else {
            let names = prepared::names(presets)?;
            let message = format!("name a workload: {names} (--list describes them)");
            return Err(Refusal::command_line(message).into());
        };
        let prepared = self.prepare(name)?;
        if self.print {
            let targets = match &prepared.places[..] {
                [place] if prepared.is_made => prepared.names.iter().map(|name| place.file(name)).collect(),
                places => prepared::words_of(places),
            };
            let plan = prepared.plan(targets, PROFILE.into())?;
            prepared::check_printed(&plan)?;
            return Ok(Asked::Text(lines(&plan)));
        }
        if let ([place], Some(&largest)) = (&prepared.places[..], prepared.file_bytes.iter().max())
            && prepared.is_made
        {
            let count = prepared.file_bytes.len() as u64;
            place.check_overwrite(&self.series.overwrite)?;
            place.check_room(largest, count, FILE_BYTES_MIN)?;
        }
        // What is wrong with the preset is told before anything is made.
        prepared.written()?;
        let targets = prepared::words_of(&prepared.places);
        Ok(Asked::on(prepared, targets))
    }

    fn measure(&self, prepared: Prepared, series: &mut Series) -> Measured<Outcome> {
        let Prepared { names, places, .. } = &prepared;
        // Of all that is there, before the first line takes its time.
        for path in prepared.written()? {
            series.check_write(&path)?;
        }
        let files: Vec<&str> = names.iter().map(String::as_str).chain([PROFILE]).collect();
        let folder = places.first().map_or_else(std::env::temp_dir, Place::folder);
        let scratch = series.scratch(&folder, Self::NAME, &files)?;
        let targets = if prepared.is_made {
            names.iter().map(|name| scratch.file(name)).collect()
        } else {
            prepared::words_of(places)
        };
        let plan = prepared.plan(targets, scratch.file(PROFILE))?;
        if let Work::Profile { path, profile } = &plan.work {
            write_profile(path, &xml::write(profile, 0))?;
        }
        Ok(plan.run(series))
    }
}

impl WorkloadArguments {
    fn prepare(&self, name: &str) -> Result<Prepared, Fault> {
        let mut preset = prepared::find(name, self.presets.as_deref())?;
        choose_limit(&mut preset, self)?;
        let varied = preset.vary(self.write_ratio, self.block);
        varied.map_err(|why| why.behind(format!("-w and -b: '{name}'")))?;
        if let Some(size) = self.size {
            preset.resize(size);
        }
        let places = self.places(name, &preset)?;
        let is_made = places.iter().all(Place::is_directory);
        if !is_made && self.size.is_some() {
            let message = "--size is for files that are created in a directory; existing files and devices keep \
                their size";
            return Err(Refusal::command_line(message).into());
        }
        if places.iter().any(|place| place.size_bytes() == Some(0)) {
            let message =
                "an empty file cannot be tested; name its directory, and test files are created there";
            return Err(Refusal::command_line(message).into());
        }
        let (warmup_s, duration_s) = match preset.load {
            Load::Lines { limit: Some(_), .. } => {
                self.series.check_search()?;
                (RATE_WARMUP_S, RATE_DURATION_S)
            }
            _ => (WARMUP_S, DURATION_S),
        };
        let file_bytes = if is_made {
            preset.file_bytes.clone()
        } else {
            places.iter().filter_map(Place::size_bytes).collect()
        };
        let times = Times {
            warmup_s: self.warmup.unwrap_or(warmup_s),
            duration_s: self.duration.unwrap_or(duration_s),
            cooldown_s: self.cooldown,
        };
        let names = (1..=preset.file_bytes.len()).map(|number| format!("data-{number}")).collect();
        Ok(Prepared { name: name.to_string(), preset, places, names, file_bytes, is_made, times })
    }

    /// The targets that were named, as many as the workload needs.
    fn places(&self, name: &str, preset: &Preset) -> Result<Vec<Place>, Refusal> {
        let typed = if self.targets.is_empty() { vec![usual_folder()?] } else { self.targets.clone() };
        let mut places = Vec::new();
        for typed in typed {
            places.push(Place::find(&typed)?);
        }
        let needed = preset.file_bytes.len();
        let has_folder = places.iter().any(Place::is_directory);
        if has_folder && places.len() > 1 {
            let message =
                "name either one directory, in which all files are created, or only files and devices";
            return Err(Refusal::command_line(message));
        }
        // Lines run on any number of targets.
        if has_folder || places.len() == needed || matches!(preset.load, Load::Lines { .. }) {
            return Ok(places);
        }
        let are_named = if places.len() == 1 { "is named" } else { "are named" };
        let message = format!("'{name}' needs {needed} targets, but {} {are_named}", places.len());
        Err(Refusal::command_line(message).hint(format!("name {needed} files or devices, or one directory")))
    }
}

/// What the options of the search make of the preset's.
fn choose_limit(preset: &mut Preset, arguments: &WorkloadArguments) -> Result<(), Refusal> {
    let option = match (arguments.limit, arguments.of) {
        (None, None) => return Ok(()),
        (Some(_), _) => "--limit",
        (None, Some(_)) => "--of",
    };
    let Load::Lines { lines, limit } = &mut preset.load else {
        let message = format!("{option} is for workloads of one line; this one is a DiskSpd profile");
        return Err(Refusal::command_line(message));
    };
    let Some(ms) = arguments.limit.or(limit.map(|limit| limit.ms)) else {
        let message = "--of: this workload has no limit; give one, in milliseconds: --limit MS";
        return Err(Refusal::command_line(message));
    };
    if ms == 0.0 {
        *limit = None;
        return Ok(());
    }
    if lines.len() > 1 {
        return Err(Refusal::command_line("--limit is for workloads of one line"));
    }
    let of = arguments.of.or(limit.map(|limit| limit.of)).unwrap_or(Of::P99);
    *limit = Some(LatencyLimit::new(of, ms).map_err(|why| why.behind("--limit"))?);
    Ok(())
}

fn lines(plan: &Plan) -> String {
    let mut out = String::new();
    for step in plan.steps() {
        out.push_str(&format!("diskspd {}\n", shell_line(&step.words)));
    }
    match &plan.work {
        Work::Lines(_) => {}
        Work::Profile { path, profile } => {
            out.push_str(&format!("<!-- {path} -->\n{}", xml::write(profile, 0)));
        }
        Work::Search(searching) => out.push_str(&format!(
            "# then the same line with -g<rate>i --arrivals {}, where rate is the IOPS to try divided by {} (threads x \
             targets),\n\
             # until the highest rate is known at which {}\n",
            searching.arrivals,
            searching.streams,
            limits_words(&searching.limits)
        )),
    }
    out
}
