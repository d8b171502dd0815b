//! The elements of `Target`.

use super::error::quoted;
use super::rows::{
    Element, Extension, Mismatch, Result, Row, flag, form, nonzero, number, number_of, optional, pick,
    read_extensions, read_fields, read_list, required, set_flag, words, write_extensions, write_fields,
    write_group,
};
use super::write::Writer;
use crate::profile::loads::{mix_words, read_mix};
use crate::profile::{
    Arrivals, BypassIo, CacheMode, Decimal, Distribution, DistributionKind, DistributionRange, FlushEvery,
    FlushMode, IoPriority, Target, ThreadTarget, Throughput, TimeSpan,
};

/// Longest path in a profile, in bytes of UTF-8.
pub const PATH_BYTES_MAX: usize = 259;

/// A target in the shape of the format, where pattern and cache mode are told by several elements.
#[derive(Debug, Default)]
pub(super) struct TargetForm {
    target: Target,
    /// Alignment of random I/O; 0 = block size.
    random: Option<u64>,
    random_ratio: Option<u32>,
    /// Stride of sequential I/O; 0 = block size.
    stride: Option<u64>,
    interlocked: Option<bool>,
    disable_all_cache: bool,
    disable_os_cache: bool,
    disable_local_cache: bool,
}

/// Children of `Target` in the order of writing.
pub(super) const TARGET: &[Row<TargetForm>] = &[
    required(form("Path", read_path, |t, name, out| out.leaf(name, &t.target.path))),
    number!("BlockSize", target.block_bytes: u64, 0, u32::MAX),
    number!("BaseFileOffset", target.base_bytes: u64),
    flag!("SequentialScan", target.sequential_scan),
    flag!("RandomAccess", target.random_access),
    flag!("TemporaryFile", target.temporary_file),
    flag!("UseLargePages", target.large_pages),
    // Of the time before 2.0.17: both of the next but one.
    form(
        "DisableAllCache",
        |t, element| {
            t.disable_all_cache = element.flag()?;
            Ok(())
        },
        |_, _, _| {},
    ),
    set_flag!("DisableLocalCache", disable_local_cache),
    set_flag!("DisableOSCache", disable_os_cache),
    set_flag!("WriteThrough", target.write_through),
    set_flag!("MemoryMappedIo", target.memory_mapped),
    words!("FlushType", target.flush, FLUSH_TYPES),
    words!("BypassIO", target.bypass_io, BYPASS_MODES),
    form("WriteBufferContent", read_write_buffer, write_write_buffer),
    flag!("ParallelAsyncIO", target.parallel),
    optional!("BurstSize", target.burst_ios: u32),
    optional!("ThinkTime", target.think_ms: u32),
    optional!("FileSize", target.create_bytes: u64),
    optional!("Random", random: u64),
    optional!("RandomRatio", random_ratio: u32, 1, 99),
    form("Distribution", read_distribution, write_distribution),
    optional!("StrideSize", stride: u64),
    form(
        "InterlockedSequential",
        |t, element| {
            t.interlocked = Some(element.flag()?);
            Ok(())
        },
        |t, name, out| {
            if let Some(interlocked) = t.interlocked {
                out.leaf(name, interlocked);
            }
        },
    ),
    number!("ThreadStride", target.thread_stride_bytes: u64),
    number!("MaxFileSize", target.max_bytes: u64),
    number!("RequestCount", target.request_count: u32),
    number!("WriteRatio", target.write_percent: u32, 0, 100),
    form("Throughput", read_throughput, write_throughput),
    number!("ThreadsPerFile", target.threads_per_file: u32),
    form(
        "IOPriority",
        |t, element| {
            // 2.2 takes any number and then does something undefined.
            t.target.priority = match element.number(1..=3, &[])? {
                1 => IoPriority::VeryLow,
                2 => IoPriority::Low,
                _ => IoPriority::Normal,
            };
            Ok(())
        },
        |t, name, out| out.leaf(name, t.target.priority as u64 + 1),
    ),
    number!("Weight", target.weight: u32),
    form("ThreadTargets", read_thread_targets, |t, name, out| {
        if !t.target.thread_targets.is_empty() {
            out.open(name, &[]);
            t.target
                .thread_targets
                .iter()
                .for_each(|entry| write_group("ThreadTarget", entry, THREAD_TARGET, out));
            out.close(name);
        }
    }),
];

/// The word for no flushing is its absence.
const BYPASS_MODES: &[(&str, Option<BypassIo>)] =
    &[("Partial", Some(BypassIo::Partial)), ("Full", Some(BypassIo::Full))];

/// What a target of DiskSpd does not have.
const EXTENSIONS: &[Extension<TargetForm>] = &[
    Extension {
        name: "arrivals",
        read: |t, text| {
            t.target.arrivals = pick(ARRIVALS, text)?;
            Ok(())
        },
        write: |t| match t.target.arrivals {
            Arrivals::Even => None,
            Arrivals::Poisson => Some("poisson".to_string()),
        },
    },
    Extension {
        name: "flush-every",
        read: |t, text| {
            let legal = "a number of writes, as in 10, or with :data for data only, as in 10:data";
            t.target.flush_every = Some(known(FlushEvery::read(text), text, legal)?);
            Ok(())
        },
        write: |t| t.target.flush_every.map(|flush| flush.to_string()),
    },
    Extension { name: "mix", read: read_sizes, write: write_sizes },
    Extension {
        name: "trim",
        read: |t, text| {
            t.target.trim_percent = number_of(text, 1..=100)? as u32;
            Ok(())
        },
        write: |t| t.target.trims().then(|| t.target.trim_percent.to_string()),
    },
    Extension {
        name: "verify",
        read: |t, text| {
            t.target.verify = known((text == "sectors").then_some(true), text, "sectors")?;
            Ok(())
        },
        write: |t| t.target.verify.then(|| "sectors".to_string()),
    },
    Extension { name: "zipf", read: read_exponent, write: |t| t.target.zipf.map(|it| it.to_string()) },
];

/// The value of an extension, or what is legal.
fn known<T>(value: Option<T>, text: &str, legal: &str) -> std::result::Result<T, Mismatch> {
    value.ok_or_else(|| Mismatch {
        reason: format!("{} is not known here", quoted(text)),
        legal: legal.to_string(),
    })
}

fn read_sizes(form: &mut TargetForm, text: &str) -> std::result::Result<(), Mismatch> {
    const LEGAL: &str = "sizes in bytes with their percentages of the I/Os, as in 4096:60,65536:40";
    form.target.mix = known(read_mix(text), text, LEGAL)?;
    Ok(())
}

fn write_sizes(form: &TargetForm) -> Option<String> {
    (!form.target.mix.is_empty()).then(|| mix_words(&form.target.mix))
}

fn read_exponent(form: &mut TargetForm, text: &str) -> std::result::Result<(), Mismatch> {
    form.target.zipf = Some(known(Decimal::read(text), text, "a decimal number above 0, as in 0.9")?);
    Ok(())
}

const ARRIVALS: &[(&str, Arrivals)] = &[("even", Arrivals::Even), ("poisson", Arrivals::Poisson)];

const FLUSH_TYPES: &[(&str, Option<FlushMode>)] = &[
    ("ViewOfFile", Some(FlushMode::ViewOfFile)),
    ("NonVolatileMemory", Some(FlushMode::NonVolatileMemory)),
    ("NonVolatileMemoryNoDrain", Some(FlushMode::NonVolatileMemoryNoDrain)),
];

pub(super) fn read_targets(span: &mut TimeSpan, element: Element<'_>) -> Result<()> {
    read_list(element, &["Target"], |element| {
        let mut form = TargetForm::default();
        read_fields(element, TARGET, &mut form)?;
        read_extensions(element, EXTENSIONS, &mut form)?;
        span.targets.push(form.into_target(element)?);
        Ok(())
    })
}

pub(super) fn write_targets(span: &TimeSpan, name: &'static str, out: &mut Writer) {
    out.open(name, &[]);
    for target in &span.targets {
        let form = TargetForm::from(target);
        out.open("Target", &[]);
        write_fields(&form, TARGET, out);
        write_extensions(&form, EXTENSIONS, out);
        out.close("Target");
    }
    out.close(name);
}

impl From<&Target> for TargetForm {
    fn from(target: &Target) -> Self {
        let is_random = target.random_percent > 0;
        // Each I/O of a mix is aligned to its own size unless an alignment was asked for.
        let stride = if target.mix.is_empty() { target.stride() } else { target.stride_bytes.unwrap_or(0) };
        TargetForm {
            target: target.clone(),
            random: is_random.then_some(stride),
            random_ratio: Some(target.random_percent).filter(|percent| (1..=99).contains(percent)),
            stride: (!is_random).then_some(stride),
            interlocked: (!is_random).then_some(target.interlocked),
            disable_all_cache: false,
            disable_os_cache: target.cache == CacheMode::DisableOsCache,
            disable_local_cache: target.cache == CacheMode::DisableLocalCache,
        }
    }
}

impl TargetForm {
    /// The target, once all its elements are known.
    fn into_target(self, element: Element<'_>) -> Result<Target> {
        let mut target = self.target;
        for (name, is_given) in
            [("Random", self.random.is_some()), ("RandomRatio", self.random_ratio.is_some())]
        {
            if is_given && let Some(stride) = element.child("StrideSize") {
                return Err(stride.error(
                    format!("StrideSize (sequential I/O) and {name} exclude each other"),
                    "one of them; Random sets the alignment of random I/O, also with RandomRatio".to_string(),
                ));
            }
        }
        if target.template().is_some() && target.template_number().is_none() {
            let place = element.child("Path").unwrap_or(element);
            return Err(place.error(
                "the path begins with * but is not a template",
                "*1, *2, ... for the targets on the command line, or ./* for a file of such a name"
                    .to_string(),
            ));
        }
        target.random_percent = match (self.random, self.random_ratio) {
            (_, Some(ratio)) => ratio,
            (Some(_), None) => 100,
            (None, None) => 0,
        };
        target.stride_bytes = self.random.or(self.stride).filter(|&bytes| bytes != 0);
        target.interlocked = self.interlocked.unwrap_or(false);
        target.write_through |= self.disable_all_cache;
        target.cache = if self.disable_local_cache {
            CacheMode::DisableLocalCache
        } else if self.disable_os_cache || self.disable_all_cache {
            CacheMode::DisableOsCache
        } else {
            CacheMode::Cached
        };
        Ok(target)
    }
}

fn read_path(form: &mut TargetForm, element: Element<'_>) -> Result<()> {
    form.target.path = element.name_text()?;
    let length = form.target.path.len();
    if length > PATH_BYTES_MAX {
        return Err(element.error(
            format!("the path has {length} bytes"),
            format!(
                "at most {PATH_BYTES_MAX} bytes; give a longer path on the command line, for a template *1"
            ),
        ));
    }
    Ok(())
}

/// What write buffers hold, in the shape of the format.
#[derive(Default)]
pub(super) struct WriteBuffer {
    pattern: Pattern,
    source: Option<RandomSource>,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Pattern {
    #[default]
    Sequential,
    Zero,
    Random,
}

#[derive(Default)]
pub(super) struct RandomSource {
    size_bytes: u64,
    path: Option<String>,
}

const PATTERNS: &[(&str, Pattern)] =
    &[("sequential", Pattern::Sequential), ("zero", Pattern::Zero), ("random", Pattern::Random)];

pub(super) const WRITE_BUFFER: &[Row<WriteBuffer>] = &[
    required(words!("Pattern", pattern, PATTERNS)),
    form(
        "RandomDataSource",
        |w, element| read_fields(element, RANDOM_SOURCE, w.source.insert(RandomSource::default())),
        |w, name, out| {
            if let Some(source) = &w.source {
                write_group(name, source, RANDOM_SOURCE, out);
            }
        },
    ),
];

pub(super) const RANDOM_SOURCE: &[Row<RandomSource>] = &[
    required(number!("SizeInBytes", size_bytes: u64)),
    form(
        "FilePath",
        |s, element| {
            s.path = Some(element.name_text()?).filter(|path| !path.is_empty());
            Ok(())
        },
        |s, name, out| {
            if let Some(path) = &s.path {
                out.leaf(name, path);
            }
        },
    ),
];

fn read_write_buffer(form: &mut TargetForm, element: Element<'_>) -> Result<()> {
    let mut content = WriteBuffer::default();
    read_fields(element, WRITE_BUFFER, &mut content)?;
    match (content.pattern, content.source) {
        (Pattern::Random, Some(source)) if source.size_bytes > 0 => {
            form.target.write_source_bytes = source.size_bytes;
            form.target.write_source_path = source.path;
        }
        // 2.2 would write the sequential pattern and not say so.
        (Pattern::Random, _) => {
            return Err(element.error(
                "the Pattern random needs a source of data",
                "a RandomDataSource with a SizeInBytes of at least the block size".to_string(),
            ));
        }
        (pattern, _) => form.target.zero_write_buffers = pattern == Pattern::Zero,
    }
    Ok(())
}

fn write_write_buffer(form: &TargetForm, name: &'static str, out: &mut Writer) {
    let target = &form.target;
    // The order in which a run decides; 2.2 writes zero for a target that has a source as well.
    let content = if target.write_source_bytes > 0 {
        let (size_bytes, path) = (target.write_source_bytes, target.write_source_path.clone());
        WriteBuffer { pattern: Pattern::Random, source: Some(RandomSource { size_bytes, path }) }
    } else if target.zero_write_buffers {
        WriteBuffer { pattern: Pattern::Zero, source: None }
    } else {
        WriteBuffer::default()
    };
    write_group(name, &content, WRITE_BUFFER, out);
}

/// Makes a limit of a number.
type NewThroughput = fn(u64) -> Throughput;

const THROUGHPUTS: &[(&str, NewThroughput)] = &[("IOPS", Throughput::Iops), ("BPMS", Throughput::BytesPerMs)];

fn read_throughput(form: &mut TargetForm, element: Element<'_>) -> Result<()> {
    let unit = element.attribute("unit", |text| pick(THROUGHPUTS, text))?;
    let limit = element.number(0..=u64::from(u32::MAX), &["unit"])?;
    form.target.throughput =
        if limit > 0 { Some(unit.unwrap_or(Throughput::BytesPerMs)(limit)) } else { None };
    Ok(())
}

fn write_throughput(form: &TargetForm, name: &'static str, out: &mut Writer) {
    match form.target.throughput {
        None => out.leaf(name, 0),
        Some(Throughput::BytesPerMs(n)) => out.leaf(name, n),
        Some(Throughput::Iops(n)) => out.leaf_with(name, &[("unit", &"IOPS")], n),
    }
}

pub(super) const THREAD_TARGET: &[Row<ThreadTarget>] =
    &[required(number!("Thread", thread: u32)), nonzero!("Weight", weight)];

fn read_thread_targets(form: &mut TargetForm, element: Element<'_>) -> Result<()> {
    read_list(element, &["ThreadTarget"], |element| {
        let mut entry = ThreadTarget { thread: 0, weight: 0 };
        read_fields(element, THREAD_TARGET, &mut entry)?;
        form.target.thread_targets.push(entry);
        Ok(())
    })
}

const DISTRIBUTIONS: &[(&str, DistributionKind)] =
    &[("Percent", DistributionKind::Percent), ("Absolute", DistributionKind::Absolute)];

/// Reads the one list of ranges and adds the tail that its shares imply.
fn read_distribution(form: &mut TargetForm, element: Element<'_>) -> Result<()> {
    const LEGAL: &str = "one list of ranges: Percent or Absolute";
    element.check_attributes(&[])?;
    let mut found = None;
    for list in element.children() {
        let list = list?;
        let Ok(kind) = pick(DISTRIBUTIONS, list.name()) else {
            let reason = format!("{} is not an element of Distribution", quoted(list.name()));
            return Err(list.error(reason, LEGAL.to_string()));
        };
        if found.is_some() {
            return Err(list.error("the distribution has a list of ranges already", LEGAL.to_string()));
        }
        found = Some(Distribution { kind, ranges: read_ranges(list, kind)? });
    }
    let mut distribution =
        found.ok_or_else(|| element.error("the list of ranges is missing", LEGAL.to_string()))?;
    distribution.add_tail();
    form.target.distribution = Some(distribution);
    Ok(())
}

fn read_ranges(list: Element<'_>, kind: DistributionKind) -> Result<Vec<DistributionRange>> {
    let spans = match kind {
        DistributionKind::Percent => 1..=100,
        DistributionKind::Absolute => 0..=u64::MAX,
    };
    let mut ranges = Vec::new();
    read_list(list, &["Range"], |range| {
        let Some(share) = range.attribute("IO", |text| number_of(text, 0..=100))? else {
            let legal = "IO, the share of the I/O in percent".to_string();
            return Err(range.error("the attribute IO is missing", legal));
        };
        let span = range.number(spans.clone(), &["IO"])?;
        ranges.push(DistributionRange { io_percent: share as u32, span });
        Ok(())
    })?;
    Ok(ranges)
}

/// Writes the ranges, the tail among them.
fn write_distribution(form: &TargetForm, name: &'static str, out: &mut Writer) {
    let (Some(distribution), Some(_)) = (&form.target.distribution, form.random) else { return };
    let list = match distribution.kind {
        DistributionKind::Percent => "Percent",
        DistributionKind::Absolute => "Absolute",
    };
    out.open(name, &[]);
    out.open(list, &[]);
    for range in &distribution.ranges {
        out.leaf_with("Range", &[("IO", &range.io_percent)], range.span);
    }
    out.close(list);
    out.close(name);
}
