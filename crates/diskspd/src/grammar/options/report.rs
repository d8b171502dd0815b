//! Timing, statistics and output: `-d -W -C -z -: -L -D -P -v -R -X -?` (`command-line.md` §5.7).

use super::{alone, nothing, read32, read32_or_0};
use crate::grammar::draft::{Draft, Stop};
use crate::grammar::value::{Slip, Unit, Value, length, whole32};
use crate::render;
use crate::request::seed_of_moment;
use truespd_core::profile::{IO_BUCKET_MS_DEFAULT, ResultFormat};

/// I/Os per progress dot when `-P` gives none.
const PROGRESS_IOS: u32 = 65536;
/// The experiment bits that mean something.
const EXPERIMENT_BITS: u32 = 1;

pub fn duration(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    let seconds = read32(d, v, "-d", Unit::Seconds, 0)
        .map_err(|slip| slip.legal("the measured time in whole seconds: -d60"))?;
    if seconds == 0 {
        d.taken("-d0", "a run that makes the files of -c and measures nothing");
    }
    d.overrides.duration_s = Some(seconds);
    Ok(())
}

pub fn warmup(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    d.overrides.warmup_s = Some(read32_or_0(d, v, "-W", Unit::Seconds)?);
    Ok(())
}

pub fn cooldown(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    d.overrides.cooldown_s = Some(read32_or_0(d, v, "-C", Unit::Seconds)?);
    Ok(())
}

pub fn seed(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    d.is_seed_of_moment = v.text.is_empty();
    d.overrides.seed = Some(match v.text {
        "" => seed_of_moment((d.boot_ms)()),
        text => seed_of(d, text)?,
    });
    Ok(())
}

/// A seed beyond 32 bits, such as a time in nanoseconds, is the largest one in DiskSpd (`command-line.md` §3.3).
fn seed_of(d: &mut Draft, text: &str) -> Result<u32, Slip> {
    if text.chars().all(|c| c.is_ascii_digit()) && text.parse::<u32>().is_err() {
        d.taken(&format!("-z{text}"), &format!("-z{}", u32::MAX));
        return Ok(u32::MAX);
    }
    whole32(text, 0)
}

pub fn experiment_flags(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    let flags = read32_or_0(d, v, "-:", Unit::Count)?;
    if flags & !EXPERIMENT_BITS != 0 {
        d.note(&format!("-:{flags} has unknown bits, which are only kept in the profile (bit 1 is known)"));
    }
    d.overrides.experiment_flags = Some(flags);
    Ok(())
}

pub fn latency(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    alone(d, v, "-L");
    d.span.measure_latency = true;
    Ok(())
}

pub fn intervals(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    let interval_ms = match v.text {
        "" => 0,
        _ => read32(d, v, "-D", Unit::Milliseconds, 0)?,
    };
    d.span.calculate_iops_std_dev = true;
    d.span.io_bucket_ms = if interval_ms == 0 { IO_BUCKET_MS_DEFAULT } else { interval_ms };
    Ok(())
}

pub fn progress(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    let ios = match v.text {
        "" => 0,
        _ => read32(d, v, "-P", Unit::Count, 0)?,
    };
    d.progress_ios = if ios == 0 { PROGRESS_IOS } else { ios };
    Ok(())
}

pub fn verbose(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    nothing(v).map_err(|slip| slip.legal("-v or -vs"))?;
    d.overrides.verbose = true;
    Ok(())
}

pub fn verbose_stats(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    nothing(v).map_err(|slip| slip.legal("-v or -vs"))?;
    d.overrides.verbose_stats = true;
    Ok(())
}

fn format(v: &Value, legal: &str) -> Result<ResultFormat, Slip> {
    match v.text {
        "text" => Ok(ResultFormat::Text),
        "xml" => Ok(ResultFormat::Xml),
        text => {
            let what =
                if text.is_empty() { "the result format is missing" } else { "this is not a result format" };
            Err(Slip::new(what).at(0..length(text)).legal(legal))
        }
    }
}

pub fn result_format(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    const LEGAL: &str = "-Rtext, -Rxml, -Rjson, -Rcsv or -Rintervals; -Rp[text|xml] to print the profile; -Rs[text|xml] \
                         for the system";
    // A profile knows DiskSpd's formats only.
    let own = render::format(v.text).filter(|format| !matches!(format.name, "text" | "xml"));
    d.long.stdout = own.map(|format| format.name);
    if own.is_none() {
        d.overrides.result_format = Some(format(v, LEGAL)?);
    }
    Ok(())
}

pub fn profile_only(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    if !v.text.is_empty() {
        d.overrides.result_format = Some(format(v, "-Rp, -Rptext or -Rpxml")?);
    }
    d.profile_only = true;
    Ok(())
}

pub fn system_information(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    d.system_information = Some(match v.text {
        "" => ResultFormat::Text,
        _ => format(v, "-Rs, -Rstext or -Rsxml")?,
    });
    Ok(())
}

pub fn profile_file(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    if let Some(earlier) = d.profile_file {
        return Err(Slip::new("two XML profiles are given").with(earlier).legal("one -X<file>"));
    }
    if v.text.is_empty() {
        return Err(Slip::new("the file of the XML profile is missing").at(0..0));
    }
    d.profile_file = Some(v.word);
    d.overrides.path = v.text.to_string();
    Ok(())
}

/// `-?`: DiskSpd ignores what follows.
pub fn usage(d: &mut Draft, _: &Value) -> Result<(), Slip> {
    d.stop = Some(Stop::Help);
    Ok(())
}

pub fn help(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    nothing(v)?;
    d.stop = Some(Stop::Help);
    Ok(())
}

pub fn version(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    nothing(v)?;
    d.stop = Some(Stop::Version);
    Ok(())
}
