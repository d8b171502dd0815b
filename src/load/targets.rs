//! The opened targets of one time span: what every thread shares about them.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::access::{DataRng, SharedOffset, SourceWindow, data};
use crate::engine::Handle;
use crate::fault::{Failure, FailureKind};
use crate::guard::mark::Marks;
use crate::guard::{Guard, Hold, Identity};
use crate::machine::device::DeviceNumber;
use crate::machine::storage::{
    Access, AccessHint, OpenFlags, OpenedTarget, TargetFacts, TargetKind, probe_direct_read, resolve,
};
use crate::machine::{chain, storage};
use crate::plan::{TargetRanges, ranges_of};
use crate::profile::{CacheMode, Target, TimeSpan};
use crate::sys::buffer::IoBuffer;
use crate::sys::error::system_text;

/// One opened target.
#[derive(Debug)]
pub struct TargetState {
    /// Path to open.
    pub path: PathBuf,
    /// What it is.
    pub facts: TargetFacts,
    /// It and everything below it down to the disks.
    pub chain: Vec<chain::Layer>,
    /// Where threads may go, and how fast.
    pub ranges: TargetRanges,
    /// Source of write data that all threads share (`-Z<size>`).
    pub write_source: Option<Arc<IoBuffer>>,
    /// The offset that interlocked threads share.
    pub shared: Arc<SharedOffset>,
    identity: Identity,
    /// TrueSpd made it and this run writes it.
    is_ours: bool,
    /// Keeps the target open, so that the identity cannot be taken over by another file.
    file: File,
}

/// How DiskSpd's words for a target translate to `open(2)`.
pub fn open_flags(target: &Target) -> OpenFlags {
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

/// Files that are known before targets are opened.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// What each target was when it was checked.
    pub checked: &'a [Option<Identity>],
    /// Files that this run created, and devices that it has written and kept since.
    pub made: &'a [Identity],
}

/// Devices and files that the run keeps until its end, each once.
pub type Holds = Vec<(Identity, Hold)>;

/// Opens all targets of a time span and works out their ranges; says everything that is wrong.
pub fn open_all(
    span: &TimeSpan,
    guard: &Guard<'_>,
    known: Known<'_>,
    holds: &mut Holds,
) -> Result<Vec<TargetState>, Vec<Failure>> {
    let mut rng = DataRng::for_sources();
    let mut states = Vec::new();
    let mut failures = Vec::new();
    for (target, identity) in span.targets.iter().zip(known.checked) {
        match open_one(span, target, guard, *identity, known.made, holds, &mut rng) {
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
    made: &[Identity],
    holds: &mut Holds,
    rng: &mut DataRng,
) -> Result<TargetState, Failure> {
    let path = resolve(&target.path, guard.roots)?.path;
    let opened = storage::open(&path, open_flags(target), guard.roots)?;
    let identity = Identity::of(&opened.file).map_err(|e| nameless(target, &e))?;
    if checked.is_some_and(|c| c != identity) {
        let words = format!(
            "'{}' came to mean another file or device while the test was being prepared",
            target.path
        );
        return Err(Failure::new(FailureKind::Lost, words).on(&target.path).hint("try again"));
    }
    let mut is_ours = false;
    if target.writes() {
        check_and_hold(target, &path, &opened, guard, identity, made, holds)?;
        is_ours = guard.marks.is_ours(&opened.file);
        holds.iter().filter(|(kept, _)| *kept == identity).for_each(|(_, hold)| hold.says_it_writes());
    }
    check_kind(target, &opened.facts)?;
    let ranges = ranges_of(span, target, opened.facts.size_bytes)?;
    if target.is_direct() {
        check_direct(target, &opened, &ranges)?;
    }
    Ok(TargetState {
        path,
        write_source: write_source(target, rng)?,
        shared: Arc::default(),
        identity,
        is_ours,
        ranges,
        chain: chain::of(&opened.file, &opened.facts, guard.roots),
        facts: opened.facts,
        file: opened.file,
    })
}

/// A target that does not say which file it is.
fn nameless(target: &Target, error: &std::io::Error) -> Failure {
    Failure::new(FailureKind::Open, format!("'{}'", target.path)).on(&target.path).because(system_text(error))
}

/// Asks the guard again, on the very descriptor: files may have been made for a long time since the check, and earlier
/// time spans may have run. From here on nobody else can take a device.
fn check_and_hold(
    target: &Target,
    path: &Path,
    opened: &OpenedTarget,
    guard: &Guard<'_>,
    identity: Identity,
    made: &[Identity],
    holds: &mut Holds,
) -> Result<(), Failure> {
    let typed = &target.path;
    let is_kept = holds.iter().any(|(kept, _)| *kept == identity);
    let mut hold = || {
        if is_kept {
            return Ok(());
        }
        let taken = Hold::take(&opened.file);
        taken.map(|hold| holds.push((identity, hold)))
    };
    // Held first: what is checked then stays so, and two runs that ask at the same time know each other. Who has
    // it instead is said by the check.
    let held = hold();
    let is_device = opened.facts.kind == TargetKind::Block;
    match (is_device, made.contains(&identity)) {
        (true, true) => guard.check_again(typed, path, &opened.file),
        (false, true) => Ok(()),
        (_, false) => guard.check(typed, path, &opened.file, &opened.facts),
    }
    .map_err(Failure::from)?;
    // A file's lock only tells other runs who writes.
    held.or_else(|e| if is_device { Err(e) } else { Ok(()) }).map_err(|e| {
        let words = format!("'{typed}': could not be kept from others while it is written");
        Failure::new(FailureKind::Open, words).on(typed).because(system_text(&e))
    })
}

fn check_kind(target: &Target, facts: &TargetFacts) -> Result<(), Failure> {
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

/// Ranges of a distribution may start anywhere; and some file systems refuse only the first transfer.
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
            let mut file = File::open(path).map_err(|e| {
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
    /// A target that nobody opens, for the engine that moves no data: where threads would go, on a path
    /// that leads to no storage.
    ///
    /// # Errors
    /// When the system does not open even that.
    pub fn imagined(ranges: TargetRanges, size_bytes: u64) -> std::io::Result<Self> {
        const NOWHERE: &str = "/dev/null";
        let file = File::open(NOWHERE)?;
        Ok(TargetState {
            path: NOWHERE.into(),
            write_source: None,
            shared: Arc::default(),
            identity: Identity::of(&file)?,
            is_ours: false,
            ranges,
            chain: Vec::new(),
            facts: TargetFacts {
                path: NOWHERE.into(),
                kind: TargetKind::Regular,
                size_bytes,
                device: DeviceNumber { major: 0, minor: 0 },
                inode: 0,
                device_name: None,
                sectors: None,
                direct: None,
                filesystem: None,
                scheduler: None,
                write_cache: None,
            },
            file,
        })
    }

    /// The target opened once more for a thread of its own, with the hints applied.
    pub fn open_again(&self, target: &Target) -> Result<Handle, Failure> {
        let file = storage::open_file(&self.path, open_flags(target))?;
        let identity = Identity::of(&file).map_err(|e| nameless(target, &e))?;
        if identity != self.identity {
            let words = format!("'{}' came to mean another file or device during the run", target.path);
            return Err(Failure::new(FailureKind::Lost, words).on(&target.path));
        }
        // Reads leave the file as it was, and none pays for its time of last access.
        storage::keep_access_time(&file);
        // Linux keeps the last advice only: with both, random wins. A hint is not worth a failure.
        if target.sequential_scan {
            let _ = storage::advise(&file, AccessHint::Sequential);
        }
        if target.random_access {
            let _ = storage::advise(&file, AccessHint::Random);
        }
        Ok(file.into())
    }

    /// The open target, for questions.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// What it is.
    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// Says in the mark of a file of ours that a run writes it, for at most so long, before the first write.
    pub fn begin_writing(&self, marks: &Marks, longest: Duration) {
        if self.is_ours {
            marks.begin_writing(&self.file, longest);
        }
    }

    /// Renews the mark of a file of ours after it was written.
    pub fn end_writing(&self, marks: &Marks) {
        if self.is_ours {
            // Without it a later write test will ask for -c or --overwrite; nothing is lost.
            let _ = marks.end_writing(&self.file);
        }
    }

    /// What addresses of buffers must be multiples of.
    pub fn memory_alignment_bytes(&self, target: &Target) -> u64 {
        if target.is_direct() { self.facts.direct.map_or(1, |d| d.memory_bytes.max(1)) } else { 1 }
    }

    /// What windows of the source of write data must start at multiples of.
    pub fn window_granularity_bytes(&self, target: &Target) -> u64 {
        SourceWindow::granularity_bytes(target.is_direct(), self.memory_alignment_bytes(target))
    }
}
