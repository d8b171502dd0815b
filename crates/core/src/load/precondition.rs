//! Writes the tested range of every target some times over before the test (`--precondition`), so that a drive is not
//! measured while it is fresh.
//!
//! It is a run like any other, of sequential writes, so the write guard is asked of every target, and the marks of test
//! files stay right. Where it is stopped it leaves a note in the state folder, and the same command goes on from there.
//!
//! Source: SNIA's Performance Test Specification 2.0.2: twice the capacity, sequential, 128 KiB.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::context::{Event, FinishedRun, KnownTarget, OnEvent, Options};
use super::entries::entry_of;
use super::prepare::{check_before, made_bytes};
use crate::access::RangeSpec;
use crate::profile::{CacheMode, EventNames, Profile, Target, TimeSpan};
use crate::result::{LayerKind, Measured, Preconditioned, TimeSpanResult};
use truespd_platform::fault::{Failure, FailureKind, Refusal, RefusalKind};
use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::storage::{ReadFlags, TargetKind, open, open_file, resolve};
use truespd_platform::machine::thing::Thing;
use truespd_platform::machine::topology::{Topology, TopologyError};
use truespd_platform::sys::error::system_text;
use truespd_platform::sys::events::Latch;
use truespd_platform::sys::extents::drop_cached;
use truespd_platform::sys::file::read_exact_at;
use truespd_platform::sys::own::OwnFolder;
use truespd_platform::text::{bytes, clock, precise, rate};

const BLOCK_BYTES: u64 = 128 * 1024;
const OUTSTANDING: u32 = 32;
/// A run ends on its own after this many seconds: the mark of a test file must end some time.
const LONGEST_S: u32 = 14 * 24 * 3600;
/// How often the progress is told, and how far it came is noted.
const TOLD_EVERY: Duration = Duration::from_secs(1);
/// What was out when a run was stopped may be missing before the place that it had reached.
const STEP_BACK_BYTES: u64 = BLOCK_BYTES * OUTSTANDING as u64;
/// A drive that did other things meanwhile is written anew.
const NOTE_AGE_MAX: Duration = Duration::from_secs(24 * 3600);

/// Writes all of a target's range some times.
#[derive(Debug, Clone, PartialEq)]
struct Work {
    typed: String,
    /// The file or device that is written: where the links of `typed` end.
    path: PathBuf,
    /// The page cache is bypassed.
    is_direct: bool,
    /// The first byte that is written.
    base_bytes: u64,
    /// How many there are from there.
    range_bytes: u64,
    passes: u32,
    /// Bytes that were written before.
    earlier_bytes: u64,
}

/// How far an interrupted work came.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Noted {
    path: String,
    thing: Thing,
    base_bytes: u64,
    range_bytes: u64,
    passes: u32,
    written_bytes: u64,
}

/// A time span of the writing run: `work` from `from_bytes` on, counted over all passes.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Piece {
    work: usize,
    from_bytes: u64,
    bytes: u64,
}

impl Work {
    fn all_bytes(&self) -> u64 {
        self.range_bytes.saturating_mul(u64::from(self.passes))
    }

    /// What is left: first the rest of a pass that was begun, then whole passes.
    fn pieces(&self, work: usize) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut from_bytes = self.earlier_bytes;
        let within = from_bytes % self.range_bytes;
        if within > 0 {
            let bytes = self.range_bytes - within;
            pieces.push(Piece { work, from_bytes, bytes });
            from_bytes += bytes;
        }
        if from_bytes < self.all_bytes() {
            pieces.push(Piece { work, from_bytes, bytes: self.all_bytes() - from_bytes });
        }
        pieces
    }

    fn noted(&self, thing: Thing, written_bytes: u64) -> Noted {
        let path = self.typed.clone();
        let Work { base_bytes, range_bytes, passes, .. } = *self;
        Noted { path, thing, base_bytes, range_bytes, passes, written_bytes }
    }

    /// The file that tells how far it came.
    fn note_path(&self) -> Option<PathBuf> {
        entry_of(&self.path, "preconditioning", "json")
    }

    /// Notes how far it came. What cannot be noted is written anew.
    fn note(&self, written_bytes: u64) {
        let look = KnownTarget::look(&self.typed, &Roots::default());
        let (Some(path), Some(KnownTarget { thing, .. })) = (self.note_path(), look) else { return };
        let text = serde_json::to_string(&self.noted(thing, written_bytes)).unwrap_or_default();
        if let (Some(folder), Some(name)) = (path.parent(), path.file_name()) {
            let _ = OwnFolder::make(folder).map(|folder| folder.put(&name.to_string_lossy(), &text));
        }
    }

    fn forget(&self) {
        if let Some((folder, name)) = self.own_note() {
            folder.remove(&name);
        }
    }

    /// Where the note is, if this user alone can have written it.
    fn own_note(&self) -> Option<(OwnFolder, String)> {
        let path = self.note_path()?;
        let folder = OwnFolder::open(path.parent()?).ok()??;
        Some((folder, path.file_name()?.to_string_lossy().into_owned()))
    }

    /// How far an earlier run came with the same work on the same file or device, less than a day ago, if what it wrote
    /// is still there.
    fn earlier(&self) -> Option<u64> {
        /// Longer than a note about any path can be.
        const BYTES_MAX: u64 = 64 << 10;
        let (folder, name) = self.own_note()?;
        let modified = folder.open_file(&name).ok()??.metadata().ok()?.modified().ok()?;
        let age = SystemTime::now().duration_since(modified).ok()?;
        let noted: Noted = serde_json::from_str(&folder.read(&name, BYTES_MAX).ok()??).ok()?;
        let now = KnownTarget::look(&self.typed, &Roots::default())?.thing;
        let is_it = noted.thing.is_again(&now) == Some(true);
        let is_same_work = noted == self.noted(noted.thing.clone(), noted.written_bytes);
        let written_bytes = noted.written_bytes.saturating_sub(STEP_BACK_BYTES) / BLOCK_BYTES * BLOCK_BYTES;
        let is_of_use = is_it && is_same_work && age < NOTE_AGE_MAX && written_bytes < self.all_bytes();
        (is_of_use && self.is_written(written_bytes.min(self.range_bytes))).then_some(written_bytes)
    }

    /// Whether the first bytes of the range hold what was written: random data, and zeros after a discard. Read at
    /// places that are spread evenly.
    fn is_written(&self, bytes: u64) -> bool {
        const PLACES: u64 = 256;
        const PLACE_BYTES: usize = 4096;
        let Ok(file) = open_file(&self.path, ReadFlags::CACHED) else { return false };
        let mut place = vec![0; PLACE_BYTES];
        let step_bytes = (bytes / PLACES / BLOCK_BYTES).max(1) * BLOCK_BYTES;
        let mut offsets = (0..bytes / step_bytes).map(|number| self.base_bytes + number * step_bytes);
        offsets.all(|offset| {
            // Pages of an earlier look do not tell what the device holds.
            drop_cached(&file, offset, PLACE_BYTES as u64);
            read_exact_at(&file, &mut place, offset).is_ok() && place.iter().any(|&byte| byte != 0)
        })
    }
}

/// How a profile is run ([`super::run`]).
pub type RunIt = fn(&Profile, &Options, OnEvent<'_>, &Latch) -> Result<FinishedRun, Vec<Refusal>>;

/// Writes to the targets of a profile some times over, and runs it then.
///
/// # Errors
/// Refusals of either, found before anything was written.
pub fn run(
    profile: &Profile,
    options: &Options,
    on_event: OnEvent<'_>,
    stop: &Latch,
    run_it: RunIt,
) -> Result<FinishedRun, Vec<Refusal>> {
    let topology = Topology::of_this_machine();
    let topology =
        topology.map_err(|error: TopologyError| vec![Refusal::machine(&[], None, error.to_string())])?;
    let checked = check_before(profile, options, &topology)?;
    let targets = profile.targets();
    let looked_at = targets.zip(checked.iter().flat_map(|checked| &checked.things));
    let looked_at = looked_at.filter_map(|(target, thing)| {
        Some(KnownTarget { typed: target.path.clone(), thing: thing.clone()?.thing })
    });
    let known = options.known.iter().cloned().chain(looked_at).collect();
    let options = &Options { known, ..options.clone() };
    let writing = Preconditioning { profile, options, roots: Roots::default() };
    let works = writing.works(options.precondition.unwrap_or(1)).map_err(|refusal| vec![refusal])?;
    let mut written = writing.write(&works, on_event, stop, run_it)?;
    if !written.failures.is_empty() {
        written.document.profile = profile.clone();
        written.document.time_spans = vec![TimeSpanResult::NotMeasured; profile.time_spans.len()];
        return Ok(written);
    }
    // The files are there now.
    let after = Options { precondition: None, recreate: false, ..options.clone() };
    let mut report = run_it(profile, &after, on_event, stop)?;
    report.document.preconditioned = written.document.preconditioned;
    Ok(report)
}

/// What is to be written, and how.
struct Preconditioning<'a> {
    /// What is tested after the writing.
    profile: &'a Profile,
    options: &'a Options,
    roots: Roots,
}

impl Preconditioning<'_> {
    /// Every target once, over the whole of what is tested of it.
    fn works(&self, passes: u32) -> Result<Vec<Work>, Refusal> {
        if self.options.ranks.is_some() {
            return Err(refused(
                None,
                "--precondition works on one host: run it there with diskspd, then start all hosts without it",
            ));
        }
        if self.options.engine.as_ref().is_some_and(|(row, _)| !row.moves_data) {
            let words = "--precondition writes to storage, and this engine does not (--engine)";
            return Err(refused(None, words));
        }
        let mut works: Vec<Work> = Vec::new();
        for target in self.profile.targets() {
            if !works.iter().any(|work| work.typed == target.path) {
                works.push(self.work(&target.path, passes)?);
            }
        }
        Ok(works)
    }

    fn work(&self, typed: &str, passes: u32) -> Result<Work, Refusal> {
        let path = resolve(typed, &self.roots).map_err(|error| error.refusal(RefusalKind::Machine))?.path;
        let (mut base_bytes, mut end_bytes, mut is_direct) = (u64::MAX, 0u64, false);
        for target in self.profile.targets().filter(|target| target.path == typed) {
            let mut size_bytes = made_bytes(target);
            if size_bytes == 0 {
                let opened = open(&path, ReadFlags::CACHED, &self.roots);
                let facts = opened.map_err(|error| refused(Some(typed), &error.to_string()))?.facts;
                size_bytes = facts.size_bytes;
                is_direct |= facts.kind == TargetKind::Block;
            }
            is_direct |= target.is_direct();
            base_bytes = base_bytes.min(target.base_bytes);
            end_bytes = end_bytes.max(RangeSpec::of(target, size_bytes).end_bytes());
        }
        let range_bytes = end_bytes.saturating_sub(base_bytes) / BLOCK_BYTES * BLOCK_BYTES;
        if range_bytes == 0 {
            return Err(refused(
                Some(typed),
                "the tested range is smaller than 128 KiB, a block of --precondition",
            ));
        }
        let typed = typed.to_string();
        let mut work = Work { typed, path, is_direct, base_bytes, range_bytes, passes, earlier_bytes: 0 };
        work.earlier_bytes = work.earlier().unwrap_or(0);
        Ok(work)
    }

    /// Writes, flushes, and tells what came of it.
    fn write(
        &self,
        works: &[Work],
        on_event: OnEvent<'_>,
        stop: &Latch,
        run_it: RunIt,
    ) -> Result<FinishedRun, Vec<Refusal>> {
        let pieces: Vec<Piece> =
            works.iter().enumerate().flat_map(|(number, work)| work.pieces(number)).collect();
        let spans = pieces.iter().map(|piece| self.writing_span(&works[piece.work], piece));
        let profile = Profile { time_spans: spans.collect(), ..Profile::default() };
        let options = Options {
            precondition: None,
            until_bytes: pieces.iter().map(|piece| piece.bytes).collect(),
            events: EventNames::default(),
            progress_every: Some(TOLD_EVERY),
            ..self.options.clone()
        };
        let telling = Telling { works, pieces: &pieces, plan: Once::new(), on_event };
        let mut finished = run_it(&profile, &options, &|event| telling.tell(event), stop)?;
        for (number, work) in works.iter().enumerate() {
            match conclude(number, work, &pieces, &finished) {
                Ok(done) => {
                    on_event(Event::Note(done_words(&done)));
                    finished.document.preconditioned.push(done);
                }
                Err(failure) => finished.failures.push(failure),
            }
        }
        Ok(finished)
    }

    fn writing_span(&self, work: &Work, piece: &Piece) -> TimeSpan {
        let asked =
            self.profile.targets().find(|target| target.path == work.typed).cloned().unwrap_or_default();
        let base_bytes = work.base_bytes + piece.from_bytes % work.range_bytes;
        let target = Target {
            path: asked.path,
            create_bytes: asked.create_bytes,
            block_bytes: BLOCK_BYTES,
            base_bytes,
            max_bytes: work.base_bytes + work.range_bytes,
            cache: if work.is_direct { CacheMode::DisableOsCache } else { CacheMode::Cached },
            write_percent: 100,
            request_count: OUTSTANDING,
            threads_per_file: 1,
            ..Target::default()
        };
        TimeSpan {
            duration_s: LONGEST_S,
            warmup_s: 0,
            random_write_data: true,
            targets: vec![target],
            ..TimeSpan::default()
        }
    }
}

/// Tells how far the writing came, to the person and to a later run.
struct Telling<'a> {
    works: &'a [Work],
    pieces: &'a [Piece],
    /// What is going to be written is told once it may be.
    plan: Once,
    on_event: OnEvent<'a>,
}

impl Telling<'_> {
    fn tell(&self, event: Event) {
        if matches!(event, Event::Progress(_)) {
            self.plan.call_once(|| {
                self.works.iter().for_each(|work| (self.on_event)(Event::Note(plan_words(work))));
            });
        }
        match event {
            Event::Progress(progress) => {
                let Some(piece) = self.pieces.get(progress.span.saturating_sub(1)) else { return };
                let work = &self.works[piece.work];
                let done_bytes = piece.from_bytes + progress.counted.bytes.min(piece.bytes);
                let path = work.typed.clone();
                (self.on_event)(Event::Fill { path, done_bytes, total_bytes: work.all_bytes() });
                work.note(done_bytes);
            }
            // Of a run that nobody asked for.
            Event::Counted(_) | Event::Verbose(_) | Event::Dot => {}
            other => (self.on_event)(other),
        }
    }
}

/// Flushes what was written to a target; what came of it.
fn conclude(
    number: usize,
    work: &Work,
    pieces: &[Piece],
    finished: &FinishedRun,
) -> Result<Preconditioned, Failure> {
    let (mut written_bytes, mut elapsed_s, mut disk_bytes) = (0, 0.0, None);
    for (piece, span) in pieces.iter().zip(&finished.document.time_spans) {
        if let TimeSpanResult::Measured(measured) = span
            && piece.work == number
        {
            written_bytes += measured.targets().map(|target| target.write.bytes).sum::<u64>();
            elapsed_s += measured.test_time_s;
            disk_bytes = disk_below(measured);
        }
    }
    flush(&work.path).map_err(|error| {
        let words = format!("'{}': what --precondition wrote could not be flushed", work.typed);
        Failure::new(FailureKind::Io, words).on(&work.typed).because(system_text(&error))
    })?;
    let done_bytes = work.earlier_bytes + written_bytes;
    if done_bytes < work.all_bytes() {
        work.note(done_bytes);
    } else {
        work.forget();
    }
    let Work { typed, range_bytes, passes, earlier_bytes, .. } = work.clone();
    Ok(Preconditioned {
        path: typed,
        range_bytes,
        passes,
        written_bytes,
        earlier_bytes,
        elapsed_s,
        disk_bytes,
    })
}

fn refused(typed: Option<&str>, words: &str) -> Refusal {
    let words = typed.map_or_else(|| words.to_string(), |typed| format!("'{typed}': {words}"));
    Refusal::machine(&["--precondition"], typed, words)
}

fn flush(path: &Path) -> io::Result<()> {
    open_file(path, ReadFlags::CACHED).map_err(|error| io::Error::other(error.to_string()))?.sync_all()
}

/// The size of the only disk below a target.
fn disk_below(measured: &Measured) -> Option<u64> {
    let layers = measured.evidence.targets.iter().flat_map(|facts| &facts.layers);
    let mut disks = layers.filter(|layer| layer.kind == LayerKind::Disk);
    let size_bytes = disks.next()?.size_bytes;
    if disks.next().is_some() { None } else { size_bytes }
}

fn plan_words(work: &Work) -> String {
    let all = format!(
        "--precondition writes '{}' {} x {}, sequentially",
        work.typed,
        work.passes,
        bytes(work.range_bytes as f64)
    );
    if work.earlier_bytes == 0 {
        return all;
    }
    format!("{all}; it goes on at {}, where it was stopped", bytes(work.earlier_bytes as f64))
}

fn done_words(done: &Preconditioned) -> String {
    let (written, total) = (done.written_bytes as f64, done.range_bytes as f64 * f64::from(done.passes));
    let all = done.earlier_bytes as f64 + written;
    let per_s = if done.elapsed_s > 0.0 { written / done.elapsed_s } else { 0.0 };
    let mut words = format!(
        "--precondition: wrote {} to '{}' in {} ({})",
        bytes(written),
        done.path,
        clock(done.elapsed_s),
        rate(per_s)
    );
    if let Some(disk) = done.disk_bytes {
        words.push_str(&format!(", wear: {} drive writes", precise(written / disk as f64)));
    }
    if all < total {
        let rest = format!(
            "; stopped at {} of {}: the same command goes on from there within a day",
            bytes(all),
            bytes(total)
        );
        words.push_str(&rest);
    }
    words
}
