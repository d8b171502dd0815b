//! The opened targets of one time span: what every thread shares about them.

use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::context::{CheckedThing, Event, OnEvent};
use crate::access::{DataRng, data};
use crate::engine::Handle;
use crate::guard::mark::{Ended, Marks, Whose, Writing};
use crate::guard::{Custody, Guard, Permit, PermitError, Range, Unseen, writers_of_file};
use crate::plan::{PlannedTarget, ranges_of};
use crate::profile::{CacheMode, Target, TimeSpan};
use crate::result::Loss;
use truespd_platform::fault::{Failure, FailureKind};
use truespd_platform::machine::mounts::read_mounts;
use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::storage::{
    Access, AccessHint, OpenFlags, OpenedTarget, ReadFlags, TargetError, TargetFacts, TargetKind,
    probe_direct_read, resolve,
};
use truespd_platform::machine::thing::{Change, Thing};
use truespd_platform::machine::{chain, storage};
use truespd_platform::sys::buffer::IoBuffer;
use truespd_platform::sys::error::{Code, system_text};
use truespd_platform::sys::extents::drop_cached;
use truespd_platform::sys::file::{report, room, taken_bytes};
use truespd_platform::sys::identity::{Identity, names};
use truespd_platform::sys::source::Source;

#[derive(Debug)]
pub struct TargetState {
    pub typed: String,
    /// Path to open; of a namespace that takes NVMe commands that of its block device.
    pub path: PathBuf,
    pub facts: TargetFacts,
    /// It and everything below it down to the disks.
    pub chain: Vec<chain::Layer>,
    /// What lanes are made from.
    pub planned: PlannedTarget,
    /// Source of write data that all threads share (`-Z<size>`).
    pub write_source: Option<Arc<IoBuffer>>,
    /// How the test opens it.
    flags: OpenFlags,
    /// What the kernel is told about the I/O to come (`-f`).
    hints: Vec<AccessHint>,
    pub identity: Identity,
    /// By what it is recognised later.
    pub thing: Option<Thing>,
    /// The permit to write it; `None` for a test that only reads.
    permit: Option<Permit>,
    /// It is a file that this run writes, and it is ours or nobody's.
    is_marked: bool,
    /// The time span trims, and a file that is trimmed loses blocks.
    is_trimmed: bool,
    /// For questions. Stays open, so that no other file can get the same identity.
    pub file: File,
}

/// How DiskSpd's words for a target translate to `open(2)`.
fn open_flags(target: &Target) -> OpenFlags {
    OpenFlags {
        access: match (target.reads(), target.writes()) {
            (true, false) => Access::Read,
            // A mapping that is written must be readable too.
            (false, true) if !target.memory_mapped => Access::Write,
            _ => Access::ReadWrite,
        },
        direct: target.is_direct(),
        dsync: target.write_through && target.writes_data() && !target.memory_mapped,
    }
}

/// Linux keeps the last one only: with both, random wins.
fn hints(target: &Target) -> Vec<AccessHint> {
    let sequential = target.sequential_scan.then_some(AccessHint::Sequential);
    sequential.into_iter().chain(target.random_access.then_some(AccessHint::Random)).collect()
}

/// Opens all targets of a time span and works out their ranges; says everything that is wrong. `checked` is what each
/// target was when it was checked, and sources of write data begin at multiples of `separation_bytes` (0: anywhere).
pub fn open_all(
    span: &TimeSpan,
    guard: &Guard<'_>,
    checked: &[Option<CheckedThing>],
    separation_bytes: u64,
    custody: &mut Custody,
) -> Result<Vec<TargetState>, Vec<Failure>> {
    let mut sources = SourceMaker { rng: DataRng::for_sources(), separation_bytes };
    let mut states = Vec::new();
    let mut failures = Vec::new();
    for (target, checked) in span.targets.iter().zip(checked) {
        match open_one(span, target, guard, checked.as_ref(), custody, &mut sources) {
            Ok(state) => states.push(state),
            Err(failure) => failures.push(failure),
        }
    }
    if failures.is_empty() { Ok(states) } else { Err(failures) }
}

fn open_one(
    span: &TimeSpan,
    target: &Target,
    guard: &Guard<'_>,
    checked: Option<&CheckedThing>,
    custody: &mut Custody,
    sources: &mut SourceMaker,
) -> Result<TargetState, Failure> {
    let path = resolve(&target.path, guard.roots)?.path;
    let (opened, thing, permit);
    if target.writes() {
        // The guard is asked again, because making files and earlier time spans may have taken long since the check.
        // From here on nobody else can take a device.
        let look = storage::open(&path, ReadFlags::CACHED, guard.roots);
        let look = look.map_err(TargetError::wanting_to_write)?;
        thing = thing_of(target, &look.file, checked, custody, guard.roots)?;
        let permitted = guard.permit(&target.path, &look, Range::tested(target), custody)?;
        let written = permitted.open(open_flags(target), guard.roots);
        opened = written.map_err(|e| not_opened(&target.path, e, false))?;
        permit = Some(permitted);
    } else {
        opened = storage::open(&path, ReadFlags { direct: target.is_direct() }, guard.roots)?;
        thing = thing_of(target, &opened.file, checked, custody, guard.roots)?;
        guard.attend(&target.path, &opened, custody)?;
        permit = None;
    }
    let is_file = opened.facts.kind == TargetKind::Regular;
    let is_marked = is_file && permit.is_some() && guard.marks.whose(&opened.file).may_be_written();
    check_kind(target, &opened.facts)?;
    let (range, places) = ranges_of(span, target, opened.facts.size_bytes)?;
    let TargetFacts { size_bytes, direct, .. } = opened.facts;
    let by_commands = opened.facts.namespace.is_some();
    let planned = PlannedTarget { size_bytes, direct, by_commands, range, places };
    if permit.is_some() && by_commands {
        // What somebody wrote through the page cache before would reach the drive later, over what commands wrote.
        opened.file.sync_all().map_err(|e| {
            let words = format!("'{}': what the page cache holds of it could not be written", target.path);
            Failure::new(FailureKind::Open, words).on(&target.path).because(system_text(&e))
        })?;
    }
    if target.is_direct() {
        check_direct(target, &opened, &planned)?;
    }
    Ok(TargetState {
        typed: target.path.clone(),
        path: opened.facts.path.clone(),
        write_source: sources.source_of(target)?,
        flags: open_flags(target),
        hints: hints(target),
        identity: thing.identity(),
        thing: Some(thing),
        permit,
        is_marked,
        is_trimmed: span.targets.iter().any(|target| target.trims()),
        planned,
        chain: chain::of(&opened.file, &opened.facts, guard.roots),
        facts: opened.facts,
        file: opened.file,
    })
}

/// The open target, which must be what was checked.
fn thing_of(
    target: &Target,
    file: &File,
    checked: Option<&CheckedThing>,
    custody: &Custody,
    roots: &Roots,
) -> Result<Thing, Failure> {
    let path = &target.path;
    let now = Thing::of(file, roots).map_err(|e| PermitError::Unknown(system_text(&e)));
    let now = now.map_err(|error| not_opened(path, error, false))?;
    match checked.and_then(|checked| checked.thing.change(&now).map(|change| (change, checked.keeps_size))) {
        Some((Change::Resized { from_bytes, to_bytes }, true)) if !custody.is_of_this_run(now.identity()) => {
            let words = format!("'{path}' has {to_bytes} bytes, and had {from_bytes} when it was checked");
            Err(Failure::new(FailureKind::Lost, words).on(path).hint("look at what it holds, and try again"))
        }
        None | Some((Change::Resized { .. }, _)) => Ok(now),
        Some(_) => Err(not_opened(path, PermitError::Changed, false)),
    }
}

/// Why a target was not opened, while the run was prepared or later.
fn not_opened(path: &str, error: PermitError, is_running: bool) -> Failure {
    match error {
        PermitError::Changed => {
            let when = if is_running { "during the run" } else { "while the test was prepared" };
            let words = format!("'{path}' was replaced by another file or device {when}");
            let lost = Failure::new(FailureKind::Lost, words).on(path);
            if is_running { lost } else { lost.hint("try again") }
        }
        PermitError::Unknown(text) => {
            Failure::new(FailureKind::Open, format!("'{path}'")).on(path).because(text)
        }
        PermitError::Open(error) => error.into(),
    }
}

/// Whether the target can be tested in the way that was asked for, as far as what it is tells.
pub(super) fn check_kind(target: &Target, facts: &TargetFacts) -> Result<(), Failure> {
    let path = &target.path;
    if target.memory_mapped && facts.kind == TargetKind::Block {
        let words = format!("'{path}' is a device: memory-mapped I/O (-Sm) works on regular files only");
        return Err(Failure::new(FailureKind::Open, words).on(path));
    }
    let is_remote = facts.filesystem.as_ref().is_some_and(|f| f.is_remote);
    if target.cache == CacheMode::DisableLocalCache && !is_remote {
        let on = facts.filesystem.as_ref().map_or("a local device".to_string(), |f| f.name.clone());
        let words = format!(
            "removing the local cache (-Sr) works on remote file systems only (NFS, SMB, Ceph, 9p), but '{path}' is on \
             {on}"
        );
        return Err(Failure::new(FailureKind::Open, words).on(path).hint("use -Su to bypass the page cache"));
    }
    Ok(())
}

/// Checks what is known only now: where the ranges of a distribution start, and whether a direct read works. Some file
/// systems accept `O_DIRECT` and refuse the first transfer.
fn check_direct(target: &Target, opened: &OpenedTarget, planned: &PlannedTarget) -> Result<(), Failure> {
    let alignment = opened.facts.direct.map_or(1, |d| d.offset_bytes.max(1));
    let mut ranges = planned.places.ranges().iter();
    let unaligned = ranges.find(|r| !r.offset_bytes.is_multiple_of(alignment));
    if let Some(range) = unaligned {
        let words = format!(
            "'{}': direct I/O needs multiples of {alignment} bytes, but a range of the distribution (-rd) starts at {}",
            target.path, range.offset_bytes
        );
        return Err(Failure::new(FailureKind::Open, words).on(&target.path));
    }
    let block = usize::try_from(target.block_bytes).unwrap_or(usize::MAX);
    probe_direct_read(opened, target.base_bytes, block).map_err(Failure::from)
}

/// Makes the sources of write data of a time span.
struct SourceMaker {
    rng: DataRng,
    separation_bytes: u64,
}

impl SourceMaker {
    /// Fills the source that all threads of a target share.
    fn source_of(&mut self, target: &Target) -> Result<Option<Arc<IoBuffer>>, Failure> {
        if target.write_source_bytes == 0 || !target.writes_data() {
            return Ok(None);
        }
        let bytes = usize::try_from(target.write_source_bytes).unwrap_or(usize::MAX);
        let buffer = IoBuffer::apart(bytes, self.separation_bytes)
            .map_err(|e| Failure::new(FailureKind::Resource, format!("-Z{bytes}")).because(e))?;
        match target.write_source_path.as_deref().filter(|p| !p.is_empty()) {
            None => buffer.with_slice_mut(0, bytes, |all| self.rng.fill(all)),
            Some(path) => {
                let mut file = Source::open(Path::new(path)).map_err(|e| {
                    let words =
                        format!("could not open '{path}', the source of write data (-Z<size>,<file>)");
                    Failure::new(FailureKind::Open, words).on(path).because(system_text(&e))
                })?;
                buffer
                    .with_slice_mut(0, bytes, |all| data::fill_from(all, &mut file, path))
                    .map_err(|e| Failure::new(FailureKind::Open, e.to_string()).on(path))?;
            }
        }
        Ok(Some(Arc::new(buffer)))
    }
}

impl TargetState {
    /// The target, opened again for one thread, with the hints applied.
    pub fn open_again(&self) -> Result<Handle, Failure> {
        let file = match &self.permit {
            Some(permit) => permit.open_file(self.flags),
            None => self.open_to_read_again(),
        };
        let file = file.map_err(|e| not_opened(&self.typed, e, true))?;
        // Reads must not change the file's time of last access, nor pay for changing it.
        storage::keep_access_time(&file);
        for hint in &self.hints {
            // Without the hint the run is still right, so an error is ignored.
            let _ = storage::advise(&file, *hint);
        }
        Ok(file.into())
    }

    fn open_to_read_again(&self) -> Result<File, PermitError> {
        if let Some(namespace) = &self.facts.namespace {
            return Ok(storage::open_for_commands(namespace, &Roots::default())?);
        }
        let file = storage::open_file(&self.path, ReadFlags { direct: self.flags.direct })?;
        match Identity::of(&file).map_err(|e| PermitError::Unknown(system_text(&e)))? {
            identity if identity == self.identity => Ok(file),
            _ => Err(PermitError::Changed),
        }
    }

    /// Drops what the page cache holds of a namespace that commands have written: they went past it, so that
    /// it is older than what is there.
    pub fn drop_stale_pages(&self) {
        if self.permit.is_some() && self.facts.namespace.is_some() {
            drop_cached(&self.file, 0, self.facts.size_bytes);
        }
    }

    /// Whose writing could not be looked for.
    pub fn unseen(&self) -> Option<Unseen> {
        self.permit.as_ref().and_then(Permit::unseen)
    }
}

/// Notes in the marks of our files that a run writes them for at most `longest`: the files, each once. Tells of those
/// that are taken because they hold nothing.
pub fn begin_marks<'t>(
    targets: &'t [TargetState],
    marks: &Marks,
    longest: Duration,
    on_event: OnEvent<'_>,
) -> Vec<(&'t TargetState, Writing)> {
    let mut written: Vec<(&TargetState, Writing)> = Vec::new();
    for state in targets.iter().filter(|state| state.is_marked) {
        if written.iter().any(|(other, _)| other.identity == state.identity) {
            continue;
        }
        // What the targets that are this file may write of it, together.
        let mut tested = Vec::new();
        for same in targets.iter().filter(|same| same.identity == state.identity) {
            let range = &same.planned.range;
            tested.push(range.base_bytes()..range.base_bytes().saturating_add(range.usable_bytes()));
        }
        let Some(writing) = marks.begin_writing(&state.file, longest, &tested) else { continue };
        if writing.whose == Whose::Nobodys && writing.unmarked.is_none() {
            let words = format!(
                "'{}' holds nothing, so it is taken without --overwrite and marked as a test file of TrueSpd",
                state.typed
            );
            on_event(Event::Reused { path: state.typed.clone(), words });
        }
        written.push((state, writing));
    }
    written
}

/// Renews the mark after the last write. The sentence is a warning: why the file no longer counts as ours.
pub fn end_mark(state: &TargetState, writing: &Writing, marks: &Marks, roots: &Roots) -> Option<String> {
    let writers = writers_of_file(&state.file, roots);
    let ended = marks.end_writing(&state.file, writing, !writers.is_empty());
    // If the mark cannot be renewed, a later write test asks for -c or --overwrite. Nothing is lost.
    let why = match (ended.ok()?, writers.first()) {
        (Ended::Shared, Some(opener)) => format!("when the run ended, {opener}"),
        (Ended::Shared, None) => {
            "something else wrote to it during the run, outside of the tested range".to_string()
        }
        (Ended::Resized, _) => "something else changed its size during the run".to_string(),
        (Ended::Ours | Ended::StillWritten, _) => return None,
    };
    let typed = &state.typed;
    Some(format!(
        "'{typed}' may hold somebody else's data now: {why}; it no longer counts as a test file, so the next write \
         test \
         of it needs --overwrite"
    ))
}

/// A file system's own blocks of a file come and go.
const STORED_SLACK_BYTES: u64 = 1 << 20;

/// What was seen of a target.
#[derive(Debug, Clone, Copy)]
pub struct Standing {
    size_bytes: u64,
    /// Bytes of the file that its file system stores as they are; `None` where it compresses, or the run trims.
    stored_bytes: Option<u64>,
    /// The file has a name; always so of devices.
    has_name: bool,
    /// Its mount is one of this process's.
    is_mounted: bool,
    is_read_only: bool,
    path: Leads,
}

/// Where the path of a target leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leads {
    ToIt,
    Elsewhere,
    Nowhere,
    /// The system did not say.
    Unknown,
}

impl Standing {
    pub fn of(state: &TargetState, roots: &Roots) -> Standing {
        let file = &state.file;
        let about = file.metadata().ok();
        let is_file = state.facts.kind == TargetKind::Regular;
        let is_compressed = state.chain.iter().any(|layer| layer.compression.is_some());
        let mount = report(file).mount_id;
        let mounts = read_mounts(roots).unwrap_or_default();
        Standing {
            size_bytes: match &about {
                Some(about) if is_file => about.len(),
                _ => u64::MAX,
            },
            stored_bytes: match &about {
                Some(about) if is_file && !is_compressed && !state.is_trimmed => Some(stored_bytes(about)),
                _ => None,
            },
            has_name: about.is_none_or(|about| !is_file || names(&about) > 0),
            is_mounted: mounts.iter().any(|known| Some(known.id) == mount),
            is_read_only: room(file).is_ok_and(|room| room.is_read_only),
            path: leads(state),
        }
    }

    /// What was lost between this and `later`.
    pub fn lost_until(&self, later: &Standing) -> Vec<Loss> {
        let mut losses = Vec::new();
        let is_gone = self.has_name && !later.has_name;
        let is_unmounted = self.is_mounted && !later.is_mounted;
        if is_gone {
            losses.push(Loss::Removed);
        }
        if is_unmounted {
            losses.push(Loss::Unmounted);
        }
        match later.path {
            // Nobody can find what was unmounted.
            _ if self.path != Leads::ToIt || is_unmounted => {}
            Leads::Elsewhere => losses.push(Loss::Replaced),
            Leads::Nowhere if !is_gone => losses.push(Loss::Moved),
            _ => {}
        }
        if later.size_bytes < self.size_bytes {
            losses.push(Loss::Cut { from_bytes: self.size_bytes, to_bytes: later.size_bytes });
        }
        match (self.stored_bytes, later.stored_bytes) {
            (Some(from_bytes), Some(to_bytes))
                if later.size_bytes >= self.size_bytes && to_bytes + STORED_SLACK_BYTES < from_bytes =>
            {
                losses.push(Loss::Emptied { from_bytes, to_bytes });
            }
            _ => {}
        }
        if later.is_read_only && !self.is_read_only {
            losses.push(Loss::ReadOnly);
        }
        losses
    }
}

/// File systems also count what they set aside beyond the end of a file, and give it back later.
fn stored_bytes(about: &Metadata) -> u64 {
    taken_bytes(about).min(about.len())
}

fn leads(state: &TargetState) -> Leads {
    match Identity::at(&state.path) {
        Ok(there) if there == state.identity => Leads::ToIt,
        Ok(_) => Leads::Elsewhere,
        Err(error) if matches!(Code::of(&error), Some(Code::NOT_FOUND | Code::NOT_A_DIRECTORY)) => {
            Leads::Nowhere
        }
        Err(_) => Leads::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_as_it_was_is_no_loss() {
        let as_it_was = Standing {
            size_bytes: 100 << 20,
            stored_bytes: Some(100 << 20),
            has_name: true,
            is_mounted: true,
            is_read_only: false,
            path: Leads::ToIt,
        };
        let lost = |later: Standing| as_it_was.lost_until(&later);
        assert_eq!(lost(as_it_was), []);
        assert_eq!(lost(Standing { size_bytes: 200 << 20, path: Leads::Unknown, ..as_it_was }), []);
        let gone = Standing { has_name: false, path: Leads::Nowhere, ..as_it_was };
        assert_eq!(lost(gone), [Loss::Removed]);
        assert_eq!(lost(Standing { path: Leads::Elsewhere, ..gone }), [Loss::Removed, Loss::Replaced]);
        assert_eq!(lost(Standing { path: Leads::Nowhere, ..as_it_was }), [Loss::Moved]);
        let unmounted = Standing { is_mounted: false, path: Leads::Elsewhere, ..as_it_was };
        assert_eq!(lost(unmounted), [Loss::Unmounted]);
        let cut = Standing { size_bytes: 0, stored_bytes: Some(0), is_read_only: true, ..as_it_was };
        assert_eq!(lost(cut), [Loss::Cut { from_bytes: 100 << 20, to_bytes: 0 }, Loss::ReadOnly]);
        let filled_again = Standing { stored_bytes: Some(7 << 20), ..as_it_was };
        assert_eq!(lost(filled_again), [Loss::Emptied { from_bytes: 100 << 20, to_bytes: 7 << 20 }]);
        let compressed = Standing { stored_bytes: None, ..as_it_was };
        assert_eq!((lost(compressed), compressed.lost_until(&filled_again)), (Vec::new(), Vec::new()));
        // What was so at the beginning is no news.
        assert_eq!(gone.lost_until(&gone), []);
        assert_eq!(unmounted.lost_until(&unmounted), []);
    }

    #[test]
    fn a_target_that_is_written_keeps_its_size_from_the_check_to_the_open() {
        let (roots, file) = (Roots::default(), tempfile::tempfile().expect("a file"));
        let thing = Thing::of(&file, &roots).expect("it tells");
        file.set_len(4096).expect("room");
        let opened = |keeps_size: bool| {
            let checked = CheckedThing { thing: thing.clone(), keeps_size };
            thing_of(
                &Target { path: "f".to_string(), ..Target::default() },
                &file,
                Some(&checked),
                &Custody::default(),
                &roots,
            )
        };
        let failure = opened(true).expect_err("it grew");
        assert!(
            failure.to_string().contains("'f' has 4096 bytes, and had 0 when it was checked"),
            "{failure}"
        );
        assert!(opened(false).is_ok(), "a file that is only read may grow");
    }
}
