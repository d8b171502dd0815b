//! The document as JSON: one versioned, self-describing record.
//!
//! Compatibility: within a version of the format members are only added, and every member that was added
//! may be missing. A change of any other kind makes a new version, and this module then reads both.

use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::summary::Summary;
use super::{Direction, Document, Measured, RANKS_MAX, TimeSpanResult, legacy};
use crate::measure::{Histogram, LatencySlices};
use truespd_platform::sys::error::system_text;
use truespd_platform::sys::source::Source;
use truespd_platform::text::visible_json;

pub use truespd_platform::sys::source::BYTES_MAX;

/// What the member `format` says.
pub const FORMAT: &str = "truespd-result";
/// The version this program writes.
pub const FORMAT_VERSION: u32 = 1;

/// Most bytes that are read of what does not begin as a document or a report: enough to tell what it is.
const OTHER_BYTES_MAX: u64 = 64 << 10;

/// Unpacks a document of this packed size. One that unpacks to far more than others is damaged, or made to fill the
/// memory.
///
/// # Errors
/// [`ReadError::Io`], [`ReadError::TooLarge`].
pub fn unpacked(packed_bytes: u64, unpacking: impl Read) -> Result<Vec<u8>, ReadError> {
    const LEAST: u64 = 64 << 20;
    const FOR_EACH_BYTE: u64 = 256;
    let bytes_max = packed_bytes.saturating_mul(FOR_EACH_BYTE).clamp(LEAST, BYTES_MAX);
    let mut text = Vec::new();
    unpacking.take(bytes_max + 1).read_to_end(&mut text)?;
    if text.len() as u64 > bytes_max { Err(ReadError::TooLarge) } else { Ok(text) }
}

/// Processor groups at most: a renderer has a line for each, and a damaged document may name any number.
const GROUPS_MAX: u32 = 1024;

/// Totals beyond this are no measurement, and sums of several would not fit 64 bits.
const TOTAL_MAX: u128 = 1 << 60;

/// A result document of TrueSpd, version 1. Units are at the end of names: `_ns`, `_s`, `_bytes`,
/// `_percent`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(title = "TrueSpd result, version 1"))]
pub(super) struct Envelope<'a> {
    /// Always `truespd-result`.
    #[cfg_attr(feature = "schema", schemars(extend("const" = FORMAT)))]
    format: &'static str,
    /// Version of this layout: 1.
    #[cfg_attr(feature = "schema", schemars(extend("const" = FORMAT_VERSION)))]
    format_version: u32,
    /// Totals per time span, `null` where nothing was measured. They follow from `result` and are never
    /// read back.
    summary: Vec<Option<Summary>>,
    /// The run.
    result: &'a Document,
}

#[derive(Deserialize)]
struct Stored {
    format: String,
    format_version: u32,
    result: Document,
}

/// The first look at something that could not be read whole.
#[derive(Deserialize)]
struct Head {
    format: Option<String>,
    format_version: Option<u32>,
}

/// Why a document could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file could not be read.
    #[error("cannot be read: {}", system_text(.0))]
    Io(#[from] std::io::Error),
    /// More than 1 GiB.
    #[error(
        "is larger than 1 GiB, the most that is read of a result; give a file that was written with --json"
    )]
    TooLarge,
    /// Not JSON, or not all of it.
    #[error("is not a TrueSpd result, or is incomplete: {0}")]
    NoJson(serde_json::Error),
    /// Members that do not fit.
    #[error("is damaged or was changed: {0}")]
    Malformed(#[from] serde_json::Error),
    /// DiskSpd's XML or text, which do not hold everything.
    #[error("is {0}; results are read from JSON, which --json FILE of the run writes")]
    OtherForm(&'static str),
    /// JSON of another kind, with its format.
    #[error("is not the result of a run: {}; results are written with --json FILE", of_format(.0))]
    Foreign(Option<String>),
    /// A version that came later.
    #[error(
        "has format version {0}, but this program reads versions up to {FORMAT_VERSION}; use a newer truespd"
    )]
    Newer(u32),
}

/// What the member `format` says of something that is no result.
fn of_format(format: &Option<String>) -> String {
    match format {
        Some(format) => format!("its member \"format\" is \"{format}\", not \"{FORMAT}\""),
        None => "it has no member \"format\"".to_string(),
    }
}

/// Writes a document on one line, with a line end.
pub fn write(document: &Document) -> String {
    let summary = document.time_spans.iter().map(|span| match span {
        TimeSpanResult::NotMeasured => None,
        TimeSpanResult::Measured(measured) => Some(Summary::with_nodes(measured, &document.system.topology)),
    });
    let envelope = Envelope {
        format: FORMAT,
        format_version: FORMAT_VERSION,
        summary: summary.collect(),
        result: document,
    };
    // All keys are text and no type refuses, so that writing to memory cannot fail.
    let mut text = visible_json(serde_json::to_string(&envelope).expect("a document is always JSON"));
    text.push('\n');
    text
}

/// Reads a document of any version released so far.
///
/// # Errors
/// [`ReadError`]; it completes a sentence that begins with the file's name.
// Compiled where it is called: the drop-in reads no document, and an eighth of this crate is made for reading them.
#[inline]
pub fn read(text: &[u8]) -> Result<Document, ReadError> {
    let mut stored = match serde_json::from_slice::<Stored>(text) {
        Ok(stored) if stored.format == FORMAT && stored.format_version == FORMAT_VERSION => stored,
        other => return Err(why_not(text, other.err())),
    };
    check(&stored.result).map_err(<serde_json::Error as serde::de::Error>::custom::<String>)?;
    legacy::complete(&mut stored.result);
    Ok(stored.result)
}

/// [`read`] from an open file, of which no more than 1 GiB is taken, whatever it is.
///
/// # Errors
/// As [`read`].
#[inline]
pub fn read_from(source: impl Read) -> Result<Document, ReadError> {
    read(&text_from(source)?)
}

/// The bytes of a document of any kind; no more than 1 GiB is taken, whatever the source is. Of what does not
/// begin as one (a disk, zeros without end) only the beginning comes, and its reader tells what it is.
///
/// # Errors
/// [`ReadError::Io`], [`ReadError::TooLarge`].
pub fn text_from(mut source: impl Read) -> Result<Vec<u8>, ReadError> {
    let mut text = Vec::new();
    source.by_ref().take(OTHER_BYTES_MAX).read_to_end(&mut text)?;
    if !text.trim_ascii_start().starts_with(b"{") && !text.starts_with(b"<") {
        return Ok(text);
    }
    source.take(BYTES_MAX + 1 - text.len() as u64).read_to_end(&mut text)?;
    if text.len() as u64 > BYTES_MAX { Err(ReadError::TooLarge) } else { Ok(text) }
}

/// [`text_from`] a file, a pipe, or whatever else the path leads to.
///
/// # Errors
/// As [`text_from`].
pub fn text_of_file(path: &Path) -> Result<Vec<u8>, ReadError> {
    let source = Source::open(path)?;
    match source.size_bytes() {
        Some(size) if size > BYTES_MAX => Err(ReadError::TooLarge),
        _ => text_from(source),
    }
}

/// What is wrong with something that is not a document of this version.
fn why_not(text: &[u8], error: Option<serde_json::Error>) -> ReadError {
    let head = match serde_json::from_slice::<Head>(text) {
        Ok(head) => head,
        Err(no_json) => return other_form(text).map_or(ReadError::NoJson(no_json), ReadError::OtherForm),
    };
    match (head.format.as_deref(), head.format_version) {
        (Some(FORMAT), Some(version)) if version > FORMAT_VERSION => ReadError::Newer(version),
        (Some(FORMAT), _) => error.map_or(ReadError::Foreign(head.format), ReadError::Malformed),
        _ => ReadError::Foreign(head.format),
    }
}

/// The form of something that is no JSON, if it is one of ours.
fn other_form(text: &[u8]) -> Option<&'static str> {
    let text = text.trim_ascii_start();
    [("<", "XML"), ("Command Line:", "a text result"), ("time_span,", "a table (CSV)")]
        .into_iter()
        .find_map(|(words, form)| text.starts_with(words.as_bytes()).then_some(form))
}

/// What the threads of some results counted: bytes, I/Os, and those that have a latency, a response time or
/// an interval. They are added to each other later, as numbers of 64 bits.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counted([u128; 7]);

impl Counted {
    /// Adds those of a time span.
    pub fn add(&mut self, measured: &Measured) {
        for direction in measured.targets().flat_map(|target| [&target.read, &target.write]) {
            let intervals = direction.intervals.iter().flat_map(|series| series.series());
            let of_series = intervals.fold(0, |sum: u64, interval| sum.saturating_add(interval.count));
            let Direction { bytes, ios, latency, response, .. } = direction;
            let [latency, response] =
                [latency, response].map(|histogram| histogram.as_deref().map_or(0, Histogram::count));
            for (sum, count) in self.0.iter_mut().zip([*bytes, *ios, latency, response, of_series]) {
                *sum += u128::from(count);
            }
        }
        self.0[5] += u128::from(measured.latency_over_time.as_ref().map_or(0, LatencySlices::count));
        self.0[6] += u128::from(measured.response_over_time.as_ref().map_or(0, LatencySlices::count));
    }

    /// No measurement comes to so much.
    pub fn is_too_much(&self) -> bool {
        self.0.iter().any(|sum| *sum > TOTAL_MAX)
    }
}

/// What the renderers rely on beyond the types.
fn check(document: &Document) -> Result<(), String> {
    let (spans, results) = (document.profile.time_spans.len(), document.time_spans.len());
    if spans != results {
        return Err(format!("the profile has {spans} time spans, but there are {results} results"));
    }
    let groups = document.system.topology.groups;
    if groups > GROUPS_MAX {
        return Err(format!(
            "{groups} processor groups are more than a machine has, which is {GROUPS_MAX} at most"
        ));
    }
    let ranks = document.rank.iter().chain(document.sources.iter().filter_map(|source| source.rank.as_ref()));
    if let Some(rank) = ranks.into_iter().find(|rank| rank.ranks > RANKS_MAX || rank.rank >= rank.ranks) {
        return Err(format!("it is of rank {} of a run of {} ranks", rank.rank, rank.ranks));
    }
    let processors = document.system.topology.processors.len();
    let mut counted = Counted::default();
    for (i, span) in document.time_spans.iter().enumerate() {
        let TimeSpanResult::Measured(measured) = span else { continue };
        if measured.cpu.len() != processors {
            let uses = measured.cpu.len();
            return Err(format!(
                "time span {}: it holds the use of {uses} processors, but the machine has {processors}",
                i + 1
            ));
        }
        if measured
            .threads
            .iter()
            .filter_map(|thread| thread.source)
            .any(|source| source as usize >= document.sources.len())
        {
            return Err(format!(
                "time span {} has threads of a result that is not in its list 'sources'",
                i + 1
            ));
        }
        counted.add(measured);
        if counted.is_too_much() {
            return Err(format!("time span {}: its counts of bytes or I/Os are too large", i + 1));
        }
        let interval_ns = u64::from(document.profile.time_spans[i].io_bucket_ms) * 1_000_000;
        let directions = measured.targets().flat_map(|target| [&target.read, &target.write]);
        let mut series = directions.filter_map(|direction| direction.intervals.as_ref());
        if series.any(|series| series.interval_ns() != interval_ns) {
            return Err(format!("time span {}: the interval of a series is not that of -D", i + 1));
        }
    }
    Ok(())
}

/// Something of another kind (a document of a suite, a list), indented: people compare them line by line.
pub fn indented<T: Serialize + ?Sized>(document: &T) -> String {
    let text = serde_json::to_string_pretty(document).expect("figures, text and lists are always JSON");
    let mut text = visible_json(text);
    text.push('\n');
    text
}
