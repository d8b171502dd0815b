//! The elements of `Target`.

use super::schema::{
    Element, Kind, Result, Row, flag, read_fields, read_list, set_flag, u32_row, u64_row, word_of,
    write_fields,
};
use super::write::Writer;
use super::{PATH_BYTES_MAX, distribution};
use crate::profile::{CacheMode, FlushMode, IoPriority, Target, ThreadTarget, Throughput, TimeSpan};

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
    Row {
        name: "Path",
        required: true,
        kind: Kind::Form {
            read: |t, element| {
                t.target.path = read_path(element)?;
                Ok(())
            },
            write: |t, name, out| out.leaf(name, &t.target.path),
        },
    },
    Row {
        name: "BlockSize",
        required: false,
        kind: Kind::U64 {
            range: 0..=u32::MAX as u64,
            get: |t| Some(t.target.block_bytes),
            set: |t, value| t.target.block_bytes = value,
        },
    },
    u64_row!("BaseFileOffset", target.base_bytes),
    flag!("SequentialScan", target.sequential_scan),
    flag!("RandomAccess", target.random_access),
    flag!("TemporaryFile", target.temporary_file),
    flag!("UseLargePages", target.large_pages),
    // Of the time before 2.0.17: both of the next but one.
    Row {
        name: "DisableAllCache",
        required: false,
        kind: Kind::Flag { get: |_| None, set: |t, value| t.disable_all_cache = value },
    },
    set_flag!("DisableLocalCache", disable_local_cache),
    set_flag!("DisableOSCache", disable_os_cache),
    set_flag!("WriteThrough", target.write_through),
    set_flag!("MemoryMappedIo", target.memory_mapped),
    Row {
        name: "FlushType",
        required: false,
        kind: Kind::Form {
            read: |t, element| {
                t.target.flush = element.one_of(FLUSH_TYPES, &[])?;
                Ok(())
            },
            write: |t, name, out| {
                if let Some(word) = word_of(FLUSH_TYPES, t.target.flush) {
                    out.leaf(name, word);
                }
            },
        },
    },
    // Of 2.3: a shorter way through Windows that Linux does not need; like -Sy it changes nothing.
    Row {
        name: "BypassIO",
        required: false,
        kind: Kind::Form {
            read: |_, element| element.one_of(&[("Partial", ()), ("Full", ())], &[]),
            write: |_, _, _| {},
        },
    },
    Row {
        name: "WriteBufferContent",
        required: false,
        kind: Kind::Form { read: read_write_buffer, write: write_write_buffer },
    },
    flag!("ParallelAsyncIO", target.parallel),
    Row {
        name: "BurstSize",
        required: false,
        kind: Kind::U32 {
            range: 0..=u32::MAX,
            get: |t| t.target.burst_ios,
            set: |t, value| t.target.burst_ios = Some(value),
        },
    },
    Row {
        name: "ThinkTime",
        required: false,
        kind: Kind::U32 {
            range: 0..=u32::MAX,
            get: |t| t.target.think_ms,
            set: |t, value| t.target.think_ms = Some(value),
        },
    },
    Row {
        name: "FileSize",
        required: false,
        kind: Kind::U64 {
            range: 0..=u64::MAX,
            get: |t| t.target.create_bytes,
            set: |t, value| t.target.create_bytes = Some(value),
        },
    },
    Row {
        name: "Random",
        required: false,
        kind: Kind::U64 { range: 0..=u64::MAX, get: |t| t.random, set: |t, value| t.random = Some(value) },
    },
    Row {
        name: "RandomRatio",
        required: false,
        kind: Kind::U32 {
            range: 1..=99,
            get: |t| t.random_ratio,
            set: |t, value| t.random_ratio = Some(value),
        },
    },
    Row {
        name: "Distribution",
        required: false,
        kind: Kind::Form {
            read: |t, element| {
                t.target.distribution = Some(distribution::read(element)?);
                Ok(())
            },
            write: |t, name, out| {
                if let Some(ranges) = t.target.distribution.as_ref().filter(|_| t.random.is_some()) {
                    distribution::write(ranges, name, out);
                }
            },
        },
    },
    Row {
        name: "StrideSize",
        required: false,
        kind: Kind::U64 { range: 0..=u64::MAX, get: |t| t.stride, set: |t, value| t.stride = Some(value) },
    },
    Row {
        name: "InterlockedSequential",
        required: false,
        kind: Kind::Flag { get: |t| t.interlocked, set: |t, value| t.interlocked = Some(value) },
    },
    u64_row!("ThreadStride", target.thread_stride_bytes),
    u64_row!("MaxFileSize", target.max_bytes),
    u32_row!("RequestCount", target.request_count),
    u32_row!("WriteRatio", target.write_percent, 0..=100),
    Row {
        name: "Throughput",
        required: false,
        kind: Kind::Form { read: read_throughput, write: write_throughput },
    },
    u32_row!("ThreadsPerFile", target.threads_per_file),
    Row {
        name: "IOPriority",
        required: false,
        // 2.2 takes any number and then does something undefined.
        kind: Kind::U32 {
            range: 1..=3,
            get: |t| {
                Some(match t.target.priority {
                    IoPriority::VeryLow => 1,
                    IoPriority::Low => 2,
                    IoPriority::Normal => 3,
                })
            },
            set: |t, value| {
                t.target.priority = match value {
                    1 => IoPriority::VeryLow,
                    2 => IoPriority::Low,
                    _ => IoPriority::Normal,
                }
            },
        },
    },
    u32_row!("Weight", target.weight),
    Row {
        name: "ThreadTargets",
        required: false,
        kind: Kind::Form { read: read_thread_targets, write: write_thread_targets },
    },
];

/// The word for no flushing is its absence.
const FLUSH_TYPES: &[(&str, Option<FlushMode>)] = &[
    ("ViewOfFile", Some(FlushMode::ViewOfFile)),
    ("NonVolatileMemory", Some(FlushMode::NonVolatileMemory)),
    ("NonVolatileMemoryNoDrain", Some(FlushMode::NonVolatileMemoryNoDrain)),
];

pub(super) fn read_targets(span: &mut TimeSpan, element: Element<'_>) -> Result<()> {
    read_list(element, &["Target"], |element| {
        let mut form = TargetForm::default();
        read_fields(element, TARGET, &mut form)?;
        span.targets.push(form.into_target(element)?);
        Ok(())
    })
}

pub(super) fn write_targets(span: &TimeSpan, name: &'static str, out: &mut Writer) {
    out.open(name, &[]);
    for target in &span.targets {
        out.open("Target", &[]);
        write_fields(&TargetForm::of(target), TARGET, out);
        out.close("Target");
    }
    out.close(name);
}

impl TargetForm {
    fn of(target: &Target) -> Self {
        let is_random = target.random_percent > 0;
        let stride = target.stride();
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

    /// The target, once all its elements are known.
    fn into_target(self, element: Element<'_>) -> Result<Target> {
        let mut target = self.target;
        for (name, given) in [("Random", self.random.is_some()), ("RandomRatio", self.random_ratio.is_some())]
        {
            if let Some(stride) = element.child("StrideSize").filter(|_| given) {
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

fn read_path(element: Element<'_>) -> Result<String> {
    let path = element.name_text()?;
    if path.len() > PATH_BYTES_MAX {
        return Err(element.error(
            format!("the path has {} bytes", path.len()),
            format!(
                "at most {PATH_BYTES_MAX} bytes; give a longer path on the command line, for a template *1"
            ),
        ));
    }
    Ok(path)
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

/// Children of `WriteBufferContent`.
pub(super) const WRITE_BUFFER: &[Row<WriteBuffer>] = &[
    Row {
        name: "Pattern",
        required: true,
        kind: Kind::Form {
            read: |w, element| {
                w.pattern = element.one_of(PATTERNS, &[])?;
                Ok(())
            },
            write: |w, name, out| {
                if let Some(word) = word_of(PATTERNS, w.pattern) {
                    out.leaf(name, word);
                }
            },
        },
    },
    Row {
        name: "RandomDataSource",
        required: false,
        kind: Kind::Form {
            read: |w, element| {
                let source = w.source.insert(RandomSource::default());
                read_fields(element, RANDOM_SOURCE, source)
            },
            write: |w, name, out| {
                if let Some(source) = &w.source {
                    out.open(name, &[]);
                    write_fields(source, RANDOM_SOURCE, out);
                    out.close(name);
                }
            },
        },
    },
];

/// Children of `RandomDataSource`.
pub(super) const RANDOM_SOURCE: &[Row<RandomSource>] = &[
    Row {
        name: "SizeInBytes",
        required: true,
        kind: Kind::U64 {
            range: 0..=u64::MAX,
            get: |s| Some(s.size_bytes),
            set: |s, value| s.size_bytes = value,
        },
    },
    Row {
        name: "FilePath",
        required: false,
        kind: Kind::Form {
            read: |s, element| {
                s.path = Some(element.name_text()?).filter(|path| !path.is_empty());
                Ok(())
            },
            write: |s, name, out| {
                if let Some(path) = &s.path {
                    out.leaf(name, path);
                }
            },
        },
    },
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
        let source =
            RandomSource { size_bytes: target.write_source_bytes, path: target.write_source_path.clone() };
        WriteBuffer { pattern: Pattern::Random, source: Some(source) }
    } else if target.zero_write_buffers {
        WriteBuffer { pattern: Pattern::Zero, source: None }
    } else {
        WriteBuffer::default()
    };
    out.open(name, &[]);
    write_fields(&content, WRITE_BUFFER, out);
    out.close(name);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Iops,
    BytesPerMs,
}

const UNITS: &[(&str, Unit)] = &[("IOPS", Unit::Iops), ("BPMS", Unit::BytesPerMs)];

fn read_throughput(form: &mut TargetForm, element: Element<'_>) -> Result<()> {
    let unit = element.attribute_one_of("unit", UNITS)?.unwrap_or(Unit::BytesPerMs);
    let limit = u64::from(element.u32(0..=u32::MAX, &["unit"])?);
    form.target.throughput = match (limit, unit) {
        (0, _) => None,
        (n, Unit::Iops) => Some(Throughput::Iops(n)),
        (n, Unit::BytesPerMs) => Some(Throughput::BytesPerMs(n)),
    };
    Ok(())
}

fn write_throughput(form: &TargetForm, name: &'static str, out: &mut Writer) {
    match form.target.throughput {
        None => out.leaf(name, 0),
        Some(Throughput::BytesPerMs(n)) => out.leaf(name, n),
        Some(Throughput::Iops(n)) => out.leaf_with(name, &[("unit", &"IOPS")], n),
    }
}

/// Children of `ThreadTarget`.
pub(super) const THREAD_TARGET: &[Row<ThreadTarget>] = &[
    Row {
        name: "Thread",
        required: true,
        kind: Kind::U32 { range: 0..=u32::MAX, get: |t| Some(t.thread), set: |t, value| t.thread = value },
    },
    Row {
        name: "Weight",
        required: false,
        kind: Kind::U32 {
            range: 0..=u32::MAX,
            get: |t| Some(t.weight).filter(|&weight| weight != 0),
            set: |t, value| t.weight = value,
        },
    },
];

fn read_thread_targets(form: &mut TargetForm, element: Element<'_>) -> Result<()> {
    read_list(element, &["ThreadTarget"], |element| {
        let mut entry = ThreadTarget { thread: 0, weight: 0 };
        read_fields(element, THREAD_TARGET, &mut entry)?;
        form.target.thread_targets.push(entry);
        Ok(())
    })
}

fn write_thread_targets(form: &TargetForm, name: &'static str, out: &mut Writer) {
    if form.target.thread_targets.is_empty() {
        return;
    }
    out.open(name, &[]);
    for entry in &form.target.thread_targets {
        out.open("ThreadTarget", &[]);
        write_fields(entry, THREAD_TARGET, out);
        out.close("ThreadTarget");
    }
    out.close(name);
}
