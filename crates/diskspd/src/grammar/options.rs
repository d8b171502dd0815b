//! What an option does with its value, where that is more than a field of its row: how much load, where its threads
//! run, for how long, and what is told of it (`-o -u -g -Z -I -a -d -z -: -D -P -R -X -e`; `command-line.md` §5.3,
//! §5.4, §5.6, §5.7, §5.9, §14), and TrueSpd's own long options. The options of a target: `target`.

use std::ops::Range;

use super::row::{Draft, nothing, percentage, read, read32, read32_or_0, share};
use crate::grammar::value;
use crate::grammar::value::{
    PASSES_LEGAL, Position, Slip, Unit, Value, digits, history_label, history_tag, length, passes, shifted,
    size_until, whole, whole32,
};
use crate::render;
use crate::request::{EngineChoice, Output};
use crate::run::{STEADY, grade};
use truespd_core::engine;
use truespd_core::engine::EngineError;
use truespd_core::load::verify_log::{LogLost, LogPlace};
use truespd_core::profile::{
    Arrivals, Batch, BufferSeparation, EfficiencyOrder, Etw, FlushEvery, IO_BUCKET_MS_DEFAULT, IoPriority,
    ProcessorId, REQUESTS_MAX, Release, ResultFormat, RingOptions, SteadyRule, Throughput, WholeGroup,
};
use truespd_platform::text::foreign::{BadPathMap, PathMap};
use truespd_platform::text::printable;

pub fn buffer_separation(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    d.span.separate(match v.text {
        "n" => BufferSeparation::SystemDefault,
        "p" => BufferSeparation::Apart,
        text => {
            return Err(Slip::new("the kind of separation is missing or unknown")
                .at(0..length(text))
                .legal("-bsn (wherever the system puts them) or -bsp (far apart)"));
        }
    });
    Ok(())
}

/// `-u[n]<batch>[p]`; without a batch that of an earlier `-u`, or 25 percent, DiskSpd 2.3's default.
pub fn ring(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    let unregistered = v.text.starts_with('n');
    let start = usize::from(unregistered);
    let batch: String = v.text.chars().skip(start).collect();
    let batch = if batch.is_empty() {
        Ok(d.span.ring.map_or(Batch::Percent(25), |earlier| earlier.batch))
    } else if let Some(percent) = batch.strip_suffix('p') {
        share(percent, 1, "a batch of 1 to 100 percent: -u25p").map(Batch::Percent)
    } else {
        whole(&batch, 1..=u64::from(REQUESTS_MAX))
            .map(|n| Batch::Count(u32::try_from(n).expect("at most 65,536")))
            .map_err(|slip| slip.legal("a batch of 1 to 65,536 requests (-u8), or 1 to 100 percent (-u25p)"))
    };
    let batch = batch.map_err(|slip| shifted(slip, start))?;
    d.span.ring = Some(RingOptions { registered_buffers: !unregistered, batch });
    Ok(())
}

pub fn write_percent(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    const LEGAL: &str = "0 to 100 percent of writes: -w0 only reads, -w100 only writes";
    d.target.write_percent = percentage(d, v, "-w", 0, LEGAL).map_err(|slip| match v.text {
        "" => slip.hint("for reads only write -w0, or leave -w out"),
        _ => slip,
    })?;
    Ok(())
}

pub fn trim_percent(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    const LEGAL: &str = "1 to 100 percent of trims: --trim 20";
    d.target.trim_percent = percentage(d, v, "--trim", 1, LEGAL)?;
    Ok(())
}

pub fn flush_every(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    d.target.flush_every = FlushEvery::read(v.text);
    if d.target.flush_every.is_some() {
        return Ok(());
    }
    let what = match v.text {
        "" => "the number of writes is missing".to_string(),
        text => format!("'{text}' is not a number of writes"),
    };
    const LEGAL: &str =
        "a whole number from 1: --flush-every 10, or with :data for fdatasync: --flush-every 10:data";
    Err(Slip::new(what).at(0..length(v.text)).legal(LEGAL))
}

pub fn zero_data(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    nothing(v).map_err(|slip| slip.legal(DATA_LEGAL))?;
    d.target.zero_write_buffers = true;
    Ok(())
}

const DATA_LEGAL: &str =
    "-Z (zeros), -Zr (random for each write), -Z<size>[,<file>] (a random or file-filled source)";

pub fn random_data(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    nothing(v)
        .map_err(|slip| slip.legal(DATA_LEGAL).hint("for a random source of that size leave the r out"))?;
    d.span.random_write_data = true;
    Ok(())
}

pub fn source_data(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    let (bytes, used) = size_until(v.text, d.target.block_bytes, &[','])?;
    if bytes == 0 {
        return Err(Slip::new("the source of write data is empty").at(0..used).legal("a size above 0"));
    }
    d.target.write_source_bytes = bytes;
    // Everything behind the first comma is the name, further commas included.
    let file: String = v.text.chars().skip(used + 1).collect();
    d.target.write_source_path = Some(file).filter(|file| !file.is_empty());
    Ok(())
}

pub fn rate(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    const LEGAL: &str = "a rate above 0: -g<n> bytes per millisecond, or -g<n>i I/Os per second, digits only";
    let (number, is_iops) = match v.text.strip_suffix('i') {
        Some(number) => (number, true),
        None => (v.text, false),
    };
    let read = value::number(number, Unit::Count, 1..=u64::from(u32::MAX)).map_err(|slip| {
        let (value, count) = digits(number);
        let tail: String = number.chars().skip(count).collect();
        let slip = slip.legal(LEGAL);
        let unit = match tail.as_str() {
            "k" | "K" => 1u64 << 10,
            "m" | "M" => 1 << 20,
            "g" | "G" => 1 << 30,
            _ => return slip,
        };
        // People mean the second, and -g counts by the millisecond.
        let per_ms = value.and_then(|n| n.checked_mul(unit)).map(|bytes| bytes.div_ceil(1000));
        match per_ms.and_then(|n| u32::try_from(n).ok()) {
            Some(n) if n > 0 && !is_iops => slip.hint(format!(
                "-g is in bytes per millisecond, without a suffix: {} {}iB/s is -g{n}",
                value.unwrap_or_default(),
                tail.to_uppercase()
            )),
            _ => slip,
        }
    })?;
    let n = read.value;
    if !read.is_plain {
        d.reinterpret(&format!("-g{}", v.text), &format!("-g{n}{}", if is_iops { "i" } else { "" }));
    }
    d.target.throughput = Some(if is_iops { Throughput::Iops(n) } else { Throughput::BytesPerMs(n) });
    Ok(())
}

pub fn arrivals(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    d.target.arrivals = match v.text {
        "even" => Arrivals::Even,
        "poisson" => Arrivals::Poisson,
        other => {
            let what = match other {
                "" => "the arrival process is missing".to_string(),
                text => format!("'{text}' is not an arrival process"),
            };
            return Err(Slip::new(what).at(0..length(other)).legal("even or poisson"));
        }
    };
    Ok(())
}

pub fn priority(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    const LEGAL: &str = "1 (very low), 2 (low) or 3 (normal)";
    d.target.priority = match read(d, v, "-I", Unit::Count, 1..=3).map_err(|slip| slip.legal(LEGAL))? {
        1 => IoPriority::VeryLow,
        2 => IoPriority::Low,
        _ => IoPriority::Normal,
    };
    Ok(())
}

/// Largest processor number in a group other than 0, as in DiskSpd.
const PROCESSOR_MAX: u64 = 255;
/// Largest processor number without a group: any Linux CPU id a machine could have.
const CPU_MAX: u64 = 65535;
const GROUP_MAX: u64 = 65535;

const AFFINITY_LEGAL: &str = "-a[g<group>,]<cpu>[-<cpu>][,...]: processors and ranges of them separated by commas, \
                              such as \
                     -a0,2,8-11 or -ag0,0,1,g1,0; -ag<group> alone for a whole group";

/// An explicit list, or the default stated (`-a`, `-ag`).
pub fn affinity(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    if v.text.is_empty() || v.text == "g" {
        return Ok(());
    }
    let elements: Vec<&str> = v.text.split(',').collect();
    let mut start = 0;
    let mut group = 0;
    let mut pending: Option<Range<usize>> = None;
    for element in &elements {
        let here = start..start + length(element);
        start = here.end + 1;
        if let Some(number) = element.strip_prefix('g') {
            group = processor_number(number, here.start + 1, GROUP_MAX, "group")?;
            pending = Some(here);
        } else {
            processors(d, element, here, group)?;
            pending = None;
        }
    }
    match pending {
        None => Ok(()),
        Some(_) if elements.len() == 1 => {
            d.span.affinity_groups.push(WholeGroup { group, position: d.span.affinity.len() });
            Ok(())
        }
        Some(here) => Err(Slip::new("the list ends with a group without any processor")
            .at(here)
            .legal(AFFINITY_LEGAL)
            .hint(format!("for the whole group, give it as an option of its own: -ag{group}"))),
    }
}

fn processors(d: &mut Draft, element: &str, here: Range<usize>, group: u32) -> Result<(), Slip> {
    let max = if group == 0 { CPU_MAX } else { PROCESSOR_MAX };
    let (first, last) = match element.split_once('-') {
        None => {
            let cpu = processor_number(element, here.start, max, "processor")?;
            (cpu, cpu)
        }
        Some((low, high)) => {
            let first = processor_number(low, here.start, max, "processor")?;
            let last = processor_number(high, here.start + length(low) + 1, max, "processor")?;
            if last < first {
                return Err(Slip::new(format!("the range {element} runs backwards"))
                    .at(here)
                    .legal(AFFINITY_LEGAL));
            }
            (first, last)
        }
    };
    d.span.affinity.extend((first..=last).map(|processor| ProcessorId { group, processor }));
    Ok(())
}

fn processor_number(text: &str, start: usize, max: u64, what: &str) -> Result<u32, Slip> {
    let (value, count) = digits(text);
    if let Some(c) = text.chars().nth(count) {
        let slip = Slip::new(format!("'{c}' is not expected here"))
            .at(start + count..start + count + 1)
            .legal(AFFINITY_LEGAL);
        return Err(if c == 'g' && count > 0 { slip.hint("a comma goes before the group") } else { slip });
    }
    if count == 0 {
        return Err(Slip::new(format!("a {what} number is missing")).at(start..start).legal(AFFINITY_LEGAL));
    }
    match value.filter(|&n| n <= max).and_then(|n| u32::try_from(n).ok()) {
        Some(n) => Ok(n),
        None => Err(Slip::new(format!("{what} {text} is out of range"))
            .at(start..start + count)
            .legal(format!("{what} numbers from 0 to {max}"))),
    }
}

const PLACEMENT_LEGAL: &str = "-a and any of c, s and one of p, P, e, E: -ac, -acs, -acsE; or -aup alone";

/// `-ac -as -ap -aP -ae -aE`, whose letters may be joined, and `-aup` (DiskSpd 2.3).
pub fn placement(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    if v.text == "up" {
        return efficiency(d, v, 0..2, EfficiencyOrder::Unordered);
    }
    for (i, letter) in v.text.chars().enumerate() {
        let order = match letter {
            'c' => {
                d.span.placement.cores_first = true;
                continue;
            }
            's' => {
                d.span.placement.span_groups = true;
                continue;
            }
            'p' => EfficiencyOrder::PerformanceFirst,
            'P' => EfficiencyOrder::FillPerformanceFirst,
            'e' => EfficiencyOrder::EfficiencyFirst,
            'E' => EfficiencyOrder::FillEfficiencyFirst,
            other => {
                let slip =
                    Slip::new(format!("'{other}' is not a placement")).at(i..i + 1).legal(PLACEMENT_LEGAL);
                return Err(if other == 'u' { slip.hint("-aup is an option of its own") } else { slip });
            }
        };
        efficiency(d, v, i..i + 1, order)?;
    }
    Ok(())
}

/// Sets the order by efficiency class, which may be given once.
fn efficiency(d: &mut Draft, v: &Value, at: Range<usize>, order: EfficiencyOrder) -> Result<(), Slip> {
    let here = Position { word: v.word, char: Some(at.start) };
    if let Some(earlier) = d.efficiency_order.replace(here) {
        return Err(Slip::new("the order of the processors by core type is given twice")
            .at(at)
            .with(earlier)
            .legal(PLACEMENT_LEGAL));
    }
    d.span.placement.efficiency = order;
    Ok(())
}

/// I/Os per progress dot when `-P` gives none.
const PROGRESS_IOS: u32 = 65536;
/// The experiment bits that mean something.
const EXPERIMENT_BITS: u32 = 1;

pub fn duration(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    let seconds = read32(d, v, "-d", Unit::Seconds, 0)
        .map_err(|slip| slip.legal("the measured time in whole seconds: -d60"))?;
    if seconds == 0 {
        d.reinterpret("-d0", "a run that makes the files of -c and measures nothing");
    }
    d.overrides.duration_s = Some(seconds);
    Ok(())
}

pub fn seed(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    d.is_seed_of_moment = v.text.is_empty();
    if !d.is_seed_of_moment {
        d.overrides.rand_seed = Some(seed_of(d, v.text)?);
    }
    Ok(())
}

/// A seed beyond 32 bits, such as a time in nanoseconds, is the largest one in DiskSpd (`command-line.md` §3.3).
fn seed_of(d: &mut Draft, text: &str) -> Result<u32, Slip> {
    if text.chars().all(|c| c.is_ascii_digit()) && text.parse::<u32>().is_err() {
        d.reinterpret(&format!("-z{text}"), &format!("-z{}", u32::MAX));
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
    const LEGAL: &str = "-Rtext, -Rxml, -Rjson, -Rcsv or -Rintervals; -Rp[text|xml] to print the profile; \
                         -Rs[text|xml] \
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
    d.profile_path = v.text.to_string();
    Ok(())
}

pub fn tracing(d: &mut Draft) -> &mut Etw {
    d.note("-e asks for Windows kernel tracing: it is kept in the profile, but no trace counters will be reported");
    d.etw.get_or_insert_default()
}

pub fn trace(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    let set: fn(&mut Etw) = match v.text {
        "PROCESS" => |etw| etw.process = true,
        "THREAD" => |etw| etw.thread = true,
        "IMAGE_LOAD" => |etw| etw.image_load = true,
        "DISK_IO" => |etw| etw.disk_io = true,
        "MEMORY_PAGE_FAULTS" => |etw| etw.memory_page_faults = true,
        "MEMORY_HARD_FAULTS" => |etw| etw.memory_hard_faults = true,
        "NETWORK" => |etw| etw.network = true,
        "REGISTRY" => |etw| etw.registry = true,
        text => {
            let what = if text.is_empty() { "the name of a trace is missing" } else { "this is not a trace" };
            return Err(Slip::new(what).at(0..length(text)).legal(
                "-eq, -es, -ec, -ep, or -e and one of PROCESS, THREAD, IMAGE_LOAD, DISK_IO, MEMORY_PAGE_FAULTS, \
                 MEMORY_HARD_FAULTS, NETWORK, REGISTRY",
            ));
        }
    };
    set(tracing(d));
    Ok(())
}

pub fn completion_batch(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    d.span.completion_batch = Some(whole32(v.text, 1)?);
    Ok(())
}

pub fn compat(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    let Some(release) = Release::of_word(v.text) else {
        return Err(Slip::new(format!("'{}' is not a release of DiskSpd that is known", printable(v.text)))
            .at(0..length(v.text))
            .legal(Release::WORDS.join(" or ")));
    };
    d.long.compat = Some(release);
    Ok(())
}

pub fn engine(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    let (name, parameters) = v.text.split_once(':').unwrap_or((v.text, ""));
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    if name.is_empty() || !name.chars().all(is_name) {
        return Err(Slip::new(format!("'{name}' is not the name of an engine"))
            .at(0..length(name))
            .legal("a name in lower case, and parameters after a colon: --engine psync"));
    }
    let Some(row) = engine::find(name) else {
        let names: Vec<&str> = engine::TABLE.iter().map(|row| row.name).collect();
        return Err(Slip::new(format!("there is no engine '{name}'"))
            .at(0..length(name))
            .legal(names.join(", ")));
    };
    if let Err(error) = engine::check_parameters(row, parameters) {
        let start = length(name);
        let what = match &error {
            // What is legal is shown on a line of its own.
            EngineError::Parameter { engine, item, problem, .. } => {
                format!("{engine}: reading the parameter \"{item}\": {problem}")
            }
            other => other.to_string(),
        };
        return Err(Slip::new(what).at((start + 1).min(length(v.text))..length(v.text)).legal(
            if row.simulates_time {
                engine::SIM_PARAMETERS.to_string()
            } else {
                format!("--engine {name}, without a colon")
            },
        ));
    }
    d.long.engine = Some(EngineChoice { name: name.to_string(), parameters: parameters.to_string() });
    Ok(())
}

const MAP_LEGAL: &str = "'C:\\=/mnt/c', '\\\\server\\share=/mnt/share', '%TEMP%=/tmp', in quotes: the shell takes \\ \
                         away outside of them";

pub fn map(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    let map: PathMap = v
        .text
        .parse()
        .map_err(|why: BadPathMap| Slip::new(why.to_string()).at(0..length(v.text)).legal(MAP_LEGAL))?;
    if d.long.maps.iter().any(|known| known.prefix.eq_ignore_ascii_case(&map.prefix)) {
        return Err(Slip::new("there is a folder for this beginning already").at(0..length(&map.prefix)));
    }
    d.long.maps.push(map);
    Ok(())
}

pub fn output(d: &mut Draft, v: &Value, format: &'static str) -> Result<(), Slip> {
    if v.text.is_empty() {
        return Err(Slip::new("the path of the file is missing").at(0..0));
    }
    if v.text == "-" {
        return on_stdout(d, format);
    }
    let path = v.text.to_string();
    if d.long.outputs.iter().any(|known| known.path == path) {
        return Err(
            Slip::new("another result is already to be written to this file").legal("a file for each result")
        );
    }
    d.long.outputs.push(Output { format, path });
    Ok(())
}

/// Puts a format on standard output instead of the text.
fn on_stdout(d: &mut Draft, format: &'static str) -> Result<(), Slip> {
    if let Some(other) = d.long.stdout.replace(format).filter(|other| *other != format) {
        return Err(Slip::new(format!("standard output gets the result as {other} already"))
            .legal("one format on standard output (-), and a file for each other one"));
    }
    Ok(())
}

pub fn until_steady(d: &mut Draft) {
    d.overrides.until_steady.get_or_insert_default();
}

pub fn steady_rule(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    let rule = SteadyRule::read(v.text).map_err(|error| {
        Slip::new(error.to_string())
            .at(0..length(v.text))
            .legal(format!("parts of {}, as in rounds=50 or range=10,slope=5", SteadyRule::default()))
    })?;
    d.overrides.until_steady = Some(rule);
    Ok(())
}

pub fn precondition(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    d.long.precondition = passes(v.text);
    if d.long.precondition.is_some() {
        return Ok(());
    }
    let what = format!("'{}' is not a number of passes", v.text);
    Err(Slip::new(what).at(0..length(v.text)).legal(PASSES_LEGAL))
}

pub fn verify_map(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    d.long.verify_map = Some(v.text.into());
    Ok(())
}

pub fn verify_log(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    d.long.verify_log = Some(LogPlace::of(v.text));
    Ok(())
}

pub fn verify_log_lost(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    d.long.verify_log_lost = match v.text {
        "stop" => LogLost::Stop,
        "continue" => LogLost::Continue,
        other => {
            let what = format!("'{other}' is neither stop nor continue");
            return Err(Slip::new(what).at(0..length(v.text)).legal("stop or continue"));
        }
    };
    Ok(())
}

pub fn require(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    if v.text == STEADY {
        d.long.require_steady = true;
        return Ok(());
    }
    let grade = grade(v.text).map_err(|mut unknown| {
        unknown.legal.push(STEADY);
        let what = match v.text {
            "" => "what is required is missing".to_string(),
            text => format!("'{text}' cannot be required"),
        };
        Slip::new(what).at(0..length(v.text)).legal(unknown.legal.join(", "))
    })?;
    d.long.require = Some(grade);
    Ok(())
}

/// The path of a file that is no result.
pub fn path(v: &Value) -> Result<String, Slip> {
    match v.text {
        "" => Err(Slip::new("the path of the file is missing").at(0..0)),
        "-" => Err(Slip::new("standard output is for the result").at(0..1).legal("the path of a file")),
        path => Ok(path.to_string()),
    }
}

pub fn tag(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    let tag = words(v, history_tag)?;
    if !d.long.history.tags.contains(&tag) {
        d.long.history.tags.push(tag);
    }
    Ok(())
}

pub fn label(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    d.long.history.label = Some(words(v, history_label)?);
    Ok(())
}

pub fn revision(d: &mut Draft, v: &Value) -> Result<(), Slip> {
    d.long.history.revision = Some(words(v, history_label)?);
    Ok(())
}

/// Reads what a person says about a document.
fn words(v: &Value, read: fn(&str) -> Result<String, &'static str>) -> Result<String, Slip> {
    read(v.text).map_err(|legal| {
        let what = match v.text {
            "" => "the words are missing".to_string(),
            text => format!("'{}' cannot be kept with a result", printable(text)),
        };
        Slip::new(what).at(0..length(v.text)).legal(legal)
    })
}
