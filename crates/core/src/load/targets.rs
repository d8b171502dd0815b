//! The opened targets of one time span: what every thread shares about them.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::access::{DataRng, data};
use crate::engine::Handle;
use crate::fault::{Failure, FailureKind};
use crate::guard::{Custody, Guard, Permit, PermitError, Range, Unseen};
use crate::machine::roots::Roots;
use crate::machine::storage::{
    Access, AccessHint, OpenFlags, OpenedTarget, ReadFlags, TargetError, TargetFacts, TargetKind,
    probe_direct_read, resolve,
};
use crate::machine::{chain, storage};
use crate::plan::{PlannedTarget, TargetRanges, ranges_of};
use crate::profile::{CacheMode, Target, TimeSpan};
use crate::sys::buffer::IoBuffer;
use crate::sys::error::system_text;
use crate::sys::identity::Identity;
use crate::sys::residency::drop_cached;
use crate::sys::source::Source;

/// One opened target.
#[derive(Debug)]
pub struct TargetState {
    /// The target as given.
    pub typed: String,
    /// Path to open; of a namespace that takes NVMe commands that of its block device.
    pub path: PathBuf,
    /// What it is.
    pub facts: TargetFacts,
    /// It and everything below it down to the disks.
    pub chain: Vec<chain::Layer>,
    /// Where threads may go, and how fast.
    pub ranges: TargetRanges,
    /// Source of write data that all threads share (`-Z<size>`).
    pub write_source: Option<Arc<IoBuffer>>,
    /// How the test opens it.
    flags: OpenFlags,
    /// What the kernel is told about the I/O to come (`-f`).
    hints: Vec<AccessHint>,
    identity: Identity,
    /// The permit to write it; `None` for a test that only reads.
    permit: Option<Permit>,
    /// It is a file that this run writes, and it is ours or nobody's.
    is_marked: bool,
    /// Stays open, so that no other file can get the same identity.
    file: File,
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
        dsync: target.write_through && target.writes() && !target.memory_mapped,
    }
}

/// Linux keeps the last one only: with both, random wins.
fn hints(target: &Target) -> Vec<AccessHint> {
    let sequential = target.sequential_scan.then_some(AccessHint::Sequential);
    sequential.into_iter().chain(target.random_access.then_some(AccessHint::Random)).collect()
}

/// Opens all targets of a time span and works out their ranges; says everything that is wrong. `checked` is what each
/// target was when it was checked.
pub fn open_all(
    span: &TimeSpan,
    guard: &Guard<'_>,
    checked: &[Option<Identity>],
    custody: &mut Custody,
) -> Result<Vec<TargetState>, Vec<Failure>> {
    let mut rng = DataRng::for_sources();
    let mut states = Vec::new();
    let mut failures = Vec::new();
    for (target, identity) in span.targets.iter().zip(checked) {
        match open_one(span, target, guard, *identity, custody, &mut rng) {
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
    checked: Option<Identity>,
    custody: &mut Custody,
    rng: &mut DataRng,
) -> Result<TargetState, Failure> {
    let path = resolve(&target.path, guard.roots)?.path;
    let Opened { opened, identity, permit } = if target.writes() {
        open_permitted(target, &path, guard, checked, custody)?
    } else {
        open_to_read(target, &path, guard, checked, custody)?
    };
    let is_file = opened.facts.kind == TargetKind::Regular;
    let is_marked = is_file && permit.is_some() && guard.marks.whose(&opened.file).may_be_written();
    check_kind(target, &opened.facts)?;
    let ranges = ranges_of(span, target, opened.facts.size_bytes)?;
    if permit.is_some() && opened.facts.namespace.is_some() {
        // What somebody wrote through the page cache before would reach the drive later, over what commands wrote.
        opened.file.sync_all().map_err(|e| {
            let words = format!("'{}': what the page cache holds of it could not be written", target.path);
            Failure::new(FailureKind::Open, words).on(&target.path).because(system_text(&e))
        })?;
    }
    if target.is_direct() {
        check_direct(target, &opened, &ranges)?;
    }
    Ok(TargetState {
        typed: target.path.clone(),
        path: opened.facts.path.clone(),
        write_source: write_source(target, rng)?,
        flags: open_flags(target),
        hints: hints(target),
        identity,
        permit,
        is_marked,
        ranges,
        chain: chain::of(&opened.file, &opened.facts, guard.roots),
        facts: opened.facts,
        file: opened.file,
    })
}

/// A target that was opened for a test.
struct Opened {
    opened: OpenedTarget,
    identity: Identity,
    permit: Option<Permit>,
}

fn open_to_read(
    target: &Target,
    path: &Path,
    guard: &Guard<'_>,
    checked: Option<Identity>,
    custody: &mut Custody,
) -> Result<Opened, Failure> {
    let flags = ReadFlags { direct: target.is_direct() };
    let opened = storage::open(path, flags, guard.roots)?;
    let identity = identity_of(target, &opened.file, checked)?;
    guard.attend(&target.path, &opened, custody)?;
    Ok(Opened { opened, identity, permit: None })
}

/// Asks the guard again, because making files and earlier time spans may have taken long since the check. From here on
/// nobody else can take a device.
fn open_permitted(
    target: &Target,
    path: &Path,
    guard: &Guard<'_>,
    checked: Option<Identity>,
    custody: &mut Custody,
) -> Result<Opened, Failure> {
    let look = storage::open(path, ReadFlags::CACHED, guard.roots);
    let look = look.map_err(TargetError::wanting_to_write)?;
    identity_of(target, &look.file, checked)?;
    let permit = guard.permit(&target.path, &look, Range::tested(target), custody)?;
    let opened = permit
        .open(open_flags(target), guard.roots)
        .map_err(|e| not_opened(&target.path, e, When::Preparing))?;
    Ok(Opened { opened, identity: permit.identity(), permit: Some(permit) })
}

fn identity_of(target: &Target, file: &File, checked: Option<Identity>) -> Result<Identity, Failure> {
    let unknown = |e| not_opened(&target.path, PermitError::Unknown(system_text(&e)), When::Preparing);
    let identity = Identity::of(file).map_err(unknown)?;
    match checked {
        Some(checked) if checked != identity => {
            Err(not_opened(&target.path, PermitError::Changed, When::Preparing))
        }
        _ => Ok(identity),
    }
}

/// When a target was opened.
#[derive(Debug, Clone, Copy)]
enum When {
    Preparing,
    Running,
}

/// Why a target was not opened.
fn not_opened(path: &str, error: PermitError, when: When) -> Failure {
    let lost = |when| {
        let words = format!("'{path}' was replaced by another file or device {when}");
        Failure::new(FailureKind::Lost, words).on(path)
    };
    match (error, when) {
        (PermitError::Changed, When::Preparing) => lost("while the test was prepared").hint("try again"),
        (PermitError::Changed, When::Running) => lost("during the run"),
        (PermitError::Unknown(text), _) => {
            Failure::new(FailureKind::Open, format!("'{path}'")).on(path).because(text)
        }
        (PermitError::Open(error), _) => error.into(),
    }
}

/// Whether the target can be tested in the way that was asked for, as far as what it is tells.
pub(super) fn check_kind(target: &Target, facts: &TargetFacts) -> Result<(), Failure> {
    let path = &target.path;
    let unfit = |words: String| Failure::new(FailureKind::Open, words).on(path);
    if target.memory_mapped && facts.kind == TargetKind::Block {
        return Err(unfit(format!(
            "'{path}' is a device: memory-mapped I/O (-Sm) works on regular files only"
        )));
    }
    let is_remote = facts.filesystem.as_ref().is_some_and(|f| f.is_remote);
    if target.cache == CacheMode::DisableLocalCache && !is_remote {
        let on = facts.filesystem.as_ref().map_or("a local device".to_string(), |f| f.name.clone());
        return Err(unfit(format!(
            "removing the local cache (-Sr) works on remote file systems only (NFS, SMB, Ceph, 9p), but '{path}' is on \
             {on}"
        ))
        .hint("use -Su to bypass the page cache"));
    }
    Ok(())
}

/// Checks what is known only now: where the ranges of a distribution start, and whether a direct read works. Some file
/// systems accept `O_DIRECT` and refuse the first transfer.
fn check_direct(target: &Target, opened: &OpenedTarget, ranges: &TargetRanges) -> Result<(), Failure> {
    let alignment = opened.facts.direct.map_or(1, |d| d.offset_bytes.max(1));
    let unaligned = ranges
        .distribution
        .iter()
        .flat_map(|d| d.ranges())
        .find(|r| !r.offset_bytes.is_multiple_of(alignment));
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

/// Fills the shared source of write data.
fn write_source(target: &Target, rng: &mut DataRng) -> Result<Option<Arc<IoBuffer>>, Failure> {
    if target.write_source_bytes == 0 || !target.writes() {
        return Ok(None);
    }
    let bytes = usize::try_from(target.write_source_bytes).unwrap_or(usize::MAX);
    let buffer = IoBuffer::new(bytes)
        .map_err(|e| Failure::new(FailureKind::Resource, format!("-Z{bytes}")).because(e))?;
    match target.write_source_path.as_deref().filter(|p| !p.is_empty()) {
        None => buffer.with_slice_mut(0, bytes, |all| rng.fill(all)),
        Some(path) => {
            let mut file = Source::open(Path::new(path)).map_err(|e| {
                let words = format!("could not open '{path}', the source of write data (-Z<size>,<file>)");
                Failure::new(FailureKind::Open, words).on(path).because(system_text(&e))
            })?;
            buffer
                .with_slice_mut(0, bytes, |all| data::fill_from(all, &mut file, path))
                .map_err(|e| Failure::new(FailureKind::Open, e.to_string()).on(path))?;
        }
    }
    Ok(Some(Arc::new(buffer)))
}

impl TargetState {
    /// The target, opened again for one thread, with the hints applied.
    pub fn open_again(&self) -> Result<Handle, Failure> {
        let file = match &self.permit {
            Some(permit) => permit.open_file(self.flags),
            None => self.open_to_read_again(),
        };
        let file = file.map_err(|e| not_opened(&self.typed, e, When::Running))?;
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

    /// What lanes are made from.
    pub fn planned(&self) -> PlannedTarget<'_> {
        let TargetFacts { size_bytes, direct, .. } = self.facts;
        let by_commands = self.facts.namespace.is_some();
        PlannedTarget { size_bytes, direct, by_commands, ranges: &self.ranges }
    }

    /// The open target, for questions.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Whose writing could not be looked for.
    pub fn unseen(&self) -> Option<Unseen> {
        self.permit.as_ref().and_then(Permit::unseen)
    }

    /// What it is.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// It is a file that this run writes and may mark as its own.
    pub fn is_marked(&self) -> bool {
        self.is_marked
    }
}
