//! Before anything runs: checks that touch nothing, then the files of `-c`.

use std::collections::HashSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::context::{Event, OnEvent, Options};
use super::fill::{self, Content, FillSpec};
use super::fits::{self, Machine};
use super::targets::check_kind;
use crate::fault::{Failure, FailureKind, Refusal, RefusalKind};
use crate::guard::mark::{MarkState, Marks};
use crate::guard::{Consent, Guard, NewFile, PermitToMake, Range, Wish, Wished};
use crate::machine::roots::Roots;
use crate::machine::storage;
use crate::machine::storage::{
    DirectAlignment, OpenFailure, OpenedTarget, ReadFlags, TargetError, TargetFacts, TargetKind, facts_of,
    resolve,
};
use crate::machine::topology::Topology;
use crate::plan::{check_alignment, check_commands, check_commands_of_file, check_one_kind, ranges_of};
use crate::profile::{Profile, ResultFormat, Size, Target, TimeSpan};
use crate::sys::error::system_text;
use crate::sys::events::Latch;
use crate::sys::extents;
use crate::sys::extents::Extents;
use crate::sys::file::Stat;
use crate::sys::identity::Identity;
use crate::text::printable_path;

/// The mark of a file that TrueSpd fills allows writes this far ahead. A later write counts as somebody else's.
const FILL_AHEAD: Duration = Duration::from_secs(30);

/// What the checks found for a time span.
#[derive(Debug, Clone, Default)]
pub struct Checked {
    /// Processors to pin threads to.
    pub cpus: Vec<u32>,
    /// Identity of each target that was there and may be written.
    pub identities: Vec<Option<Identity>>,
    pub warnings: Vec<String>,
    /// What the user should know besides.
    pub notes: Vec<String>,
}

/// What the checks of targets tell, and which devices were looked through.
#[derive(Debug, Default)]
struct Findings {
    warnings: Vec<String>,
    notes: Vec<String>,
    looked_through: Vec<(Identity, Range)>,
}

/// Checks every time span against machine and targets. Touches nothing.
///
/// # Errors
/// All reasons against the run.
pub fn check_before(
    profile: &Profile,
    options: &Options,
    topology: &Topology,
) -> Result<Vec<Checked>, Vec<Refusal>> {
    let roots = Roots::default();
    let marks = Marks::of_this_user();
    let guard = Guard { consent: options.consent(), marks: &marks, roots: &roots };
    let mut spans = Vec::new();
    let mut refusals = Vec::new();
    let mut room = Room::default();
    let mut told = Findings::default();
    // What a time span makes is there in the later ones.
    let all = || profile.time_spans.iter().flat_map(|span| &span.targets);
    let made: HashSet<&str> =
        all().filter(|t| t.create_bytes.is_some_and(|s| s > 0)).map(|t| t.path.as_str()).collect();
    let as_xml = profile.result_format == ResultFormat::Xml;
    let engine = options.engine.as_ref().map(|(row, _)| *row);
    let own = options.ranks.as_ref().and_then(|companions| companions.processors());
    let machine = Machine { topology, roots: &roots, own };
    // Before any target is opened: there may be more of them than can be open.
    for span in &profile.time_spans {
        let mut checked = Checked::default();
        match fits::check_span(span, as_xml, engine, &machine) {
            Ok(cpus) => checked.cpus = cpus,
            Err(refusal) => refusals.push(refusal),
        }
        spans.push(checked);
        fits::check_descriptors(span)
            .map_err(|refusal| vec![refusals.first().cloned().unwrap_or(refusal)])?;
    }
    for (span, checked) in profile.time_spans.iter().zip(&mut spans) {
        let sources = span.targets.iter().filter(|target| !reads_what_is_made(target, &made));
        for refusal in sources.filter_map(|target| fits::check_source(target).err()) {
            if !refusals.contains(&refusal) {
                refusals.push(refusal);
            }
        }
        let mut kinds = Vec::new();
        for target in &span.targets {
            let is_made = made.contains(target.path.as_str());
            match check_target(span, target, is_made, options, &guard, &mut room, &mut told) {
                Ok(Seen { identity, takes_commands }) => {
                    checked.identities.push(identity);
                    kinds.push(takes_commands);
                }
                Err(refusal) if refusals.contains(&refusal) => {}
                Err(refusal) => refusals.push(refusal),
            }
        }
        refusals.extend(check_one_kind(&kinds, span.thread_count > 0 && options.engine.is_none()).err());
        checked.warnings.append(&mut told.warnings);
        checked.notes.append(&mut told.notes);
    }
    let targets: Vec<&str> = all().map(|t| t.path.as_str()).collect();
    refusals.extend(guard.refuse_unused_overrides(&targets));
    if refusals.is_empty() { Ok(spans) } else { Err(refusals) }
}

/// Whether the source of its write data is a file that the run makes first.
fn reads_what_is_made(target: &Target, made: &HashSet<&str>) -> bool {
    target.write_source_path.as_deref().is_some_and(|source| made.contains(source))
}

/// What a target is before a run.
#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    /// None when it is not there yet.
    identity: Option<Identity>,
    /// It is a namespace that NVMe commands are sent to.
    takes_commands: bool,
}

/// Checks one target. `is_made`: a time span makes it.
fn check_target(
    span: &TimeSpan,
    target: &Target,
    is_made: bool,
    options: &Options,
    guard: &Guard<'_>,
    room: &mut Room,
    told: &mut Findings,
) -> Result<Seen, Refusal> {
    let typed = target.path.as_str();
    let engine = options.engine.as_ref().map(|(row, _)| *row);
    let path = resolve(typed, guard.roots).map_err(|e| e.refusal(RefusalKind::Machine))?.path;
    match storage::open_file(&path, ReadFlags::CACHED) {
        Ok(file) => {
            guard.check_runs(typed, &file)?;
            if target.writes() {
                told.warnings
                    .extend(guard.marks.ignored(&file).map(|ignored| format!("'{typed}': {ignored}")));
            }
        }
        // What comes below would wait for the lease, or say less of the cause.
        Err(error)
            if matches!(error.open_failure(), Some(OpenFailure::Leased | OpenFailure::Unreachable)) =>
        {
            return Err(certain(error));
        }
        Err(_) => {}
    }
    if let Some(size) = target.create_bytes.filter(|&s| s > 0) {
        check_commands_of_file(target, engine)?;
        let content = content_of(target, span.random_write_data, span.rand_seed);
        let creation = Creation { typed, size_bytes: size, content, writes: target.writes() };
        let is_left_over = |file: &File| creation.is_left_over(file);
        let wished = guard.permit_to_make(creation.wish(&path, &is_left_over, options))?;
        if let Some(alignment) = room.take_for(&creation, &path, &wished, guard.roots)?
            && target.is_direct()
        {
            check_alignment(target, alignment)?;
        }
        return Ok(Seen::default());
    }
    let opened = match open_to_look(target, &path, guard.roots) {
        Ok(opened) => opened,
        Err(error)
            if target.writes()
                && error.open_failure() == Some(OpenFailure::Permission)
                && storage::may_write(&path).is_ok() =>
        {
            let words = format!(
                "'{typed}' cannot be read, so TrueSpd cannot check what it holds before a write test: {error}"
            );
            return Err(Refusal::guard(typed, words).hint("make it readable for this user"));
        }
        // An earlier time span may make it.
        Err(_) if is_made => return Ok(Seen::default()),
        Err(error) if target.writes() => return Err(certain(error.wanting_to_write())),
        Err(error) => return Err(certain(error)),
    };
    let OpenedTarget { file, facts } = opened;
    check_commands(target, &facts, engine, guard.roots)?;
    if target.writes() {
        told.check_write(guard, typed, Range::tested(target), &file, &facts)?;
        storage::may_write(&path).map_err(certain)?;
    } else if facts.kind == TargetKind::Regular
        && let Ok(found @ (Extents::Hole { .. } | Extents::Unwritten { .. })) = extents::examine(&file)
    {
        told.warnings.push(format!(
            "'{typed}' {found}: the system answers reads of it with zeros and does not ask the disk, so the figures \
             will be far too good; write it once first, or create it with -c<size>"
        ));
    }
    if !is_made {
        check_kind(target, &facts).map_err(certain)?;
        ranges_of(span, target, facts.size_bytes).map_err(certain)?;
    }
    if let Some(alignment) = facts.direct
        && target.is_direct()
    {
        check_alignment(target, alignment)?;
    }
    if facts.kind == TargetKind::Block && !target.is_direct() && !target.memory_mapped {
        told.warnings.push(format!(
            "'{typed}' is a device, and on Linux the page cache is used for devices as well: add -Su or -Sh to \
             measure the device itself"
        ));
    }
    Ok(Seen { identity: Identity::of(&file).ok(), takes_commands: facts.namespace.is_some() })
}

impl Findings {
    /// A device is looked through once for a range, also where several time spans write it.
    fn check_write(
        &mut self,
        guard: &Guard<'_>,
        typed: &str,
        range: Range,
        file: &File,
        facts: &TargetFacts,
    ) -> Result<(), Refusal> {
        let look = Identity::of(file).ok().map(|identity| (identity, range));
        let is_known = look.is_some_and(|look| self.looked_through.contains(&look));
        let word = Consent { quick_check: guard.consent.quick_check || is_known, ..guard.consent };
        let passed = Guard { consent: word, ..*guard }.check(typed, &facts.path, file, facts, range)?;
        self.looked_through.extend(look);
        self.notes.extend(passed.looked.map(|looked| format!("'{typed}': {looked}")));
        Ok(())
    }
}

/// Opens a target as the test would, but for reading only.
fn open_to_look(target: &Target, path: &Path, roots: &Roots) -> Result<OpenedTarget, TargetError> {
    let direct = ReadFlags { direct: target.is_direct() };
    if !target.writes() {
        return storage::open(path, direct, roots);
    }
    let opened = storage::open(path, ReadFlags::CACHED, roots)?;
    if target.is_direct() {
        storage::open(path, direct, roots)?;
    }
    Ok(opened)
}

/// A refusal for what the run would certainly fail with.
fn certain(failure: impl Into<Failure>) -> Refusal {
    let Failure { subject, message, cause, hints, .. } = failure.into();
    let words = cause.into_iter().fold(message, |message, cause| format!("{message}: {cause}"));
    let mut refusal = Refusal::new(RefusalKind::Open, words).with_hints(hints);
    refusal.subject = subject;
    refusal
}

/// Space that the files of `-c` take together, by file system.
#[derive(Debug, Default)]
struct Room {
    /// Device of the file system and what is left of it.
    left: Vec<(u64, u64)>,
    /// Files counted already, with the bytes of each: time spans may create the same file again.
    counted: Vec<(PathBuf, u64)>,
}

impl Room {
    /// Takes what a wish needs. The direct-I/O alignment of its file, or of one like it.
    fn take_for(
        &mut self,
        creation: &Creation<'_>,
        path: &Path,
        wished: &Wished<'_>,
        roots: &Roots,
    ) -> Result<Option<DirectAlignment>, Refusal> {
        let Wished::Permitted { permit, .. } = wished else {
            return Ok(File::open(path).ok().and_then(|file| facts_of(&file, path, roots).ok()?.direct));
        };
        self.take(creation, permit)?;
        // The new file never has a name, so it cannot stay behind.
        let new = match permit.existing() {
            Some(_) => None,
            None => permit.entry().folder.make_nameless().ok(),
        };
        let alike = permit.existing().or(new.as_ref());
        permit.check_size(alike)?;
        Ok(alike.and_then(|file| facts_of(file, path, roots).ok()?.direct))
    }

    /// Takes space for one file. Refuses when the file system cannot hold it, because a file that fills the file system
    /// and then fails would harm others.
    fn take(&mut self, creation: &Creation<'_>, permit: &PermitToMake<'_>) -> Result<(), Refusal> {
        let Creation { typed, size_bytes, .. } = *creation;
        let entry = permit.entry();
        let place = permit.existing().unwrap_or(entry.folder.as_file());
        let (Ok(about), Ok(room)) = (Stat::of_open(place), storage::room(place)) else { return Ok(()) };
        // Some file systems (network, FUSE) do not tell their free space.
        if room.size_bytes == 0 {
            return Ok(());
        }
        let known = self.left.iter().position(|(device, _)| *device == about.device).unwrap_or_else(|| {
            self.left.push((about.device, room.free_bytes));
            self.left.len() - 1
        });
        let left = &mut self.left[known].1;
        // The space of the existing file is freed first.
        let counted = self.counted.iter_mut().find(|(path, _)| *path == entry.path);
        let old_bytes = match &counted {
            Some((_, bytes)) => *bytes,
            None => permit.existing().map_or(0, |_| about.allocated_bytes),
        };
        let available = left.saturating_add(old_bytes);
        if size_bytes > available {
            let others = if room.free_bytes == *left { "" } else { " after the other files of -c" };
            return Err(Refusal::machine(
                &["-c"],
                Some(typed),
                format!(
                    "there is no room for '{typed}': it needs {}, and its file system has {} free{others}",
                    Size(size_bytes),
                    Size(available)
                ),
            )
            .hint("ask for a smaller file (-c), make room, or name a file on another file system"));
        }
        *left = available - size_bytes;
        match counted {
            Some((_, bytes)) => *bytes = size_bytes,
            None => self.counted.push((entry.path.clone(), size_bytes)),
        }
        Ok(())
    }
}

/// A file of `-c`, and how to make it.
#[derive(Debug)]
pub struct Creation<'a> {
    pub typed: &'a str,
    /// Size in bytes.
    pub size_bytes: u64,
    pub content: Content,
    pub writes: bool,
}

impl Creation<'_> {
    /// Whether samples of a file show that it is left over from a `-c` with this content that was killed. Files of
    /// `PrecreateFiles` hold the pattern, whatever the time spans write.
    fn is_left_over(&self, file: &File) -> bool {
        let holds = |content| fill::is_left_over(file, content);
        holds(self.content) || holds(Content::Pattern0to255)
    }

    fn wish<'w>(
        &'w self,
        path: &'w Path,
        is_left_over: &'w dyn Fn(&File) -> bool,
        options: &Options,
    ) -> Wish<'w> {
        let Creation { typed, size_bytes, writes, .. } = *self;
        Wish { typed, path, size_bytes, writes, recreate: options.recreate, is_left_over }
    }
}

/// What `-c` files hold: the pattern, zeros with `-Z`, random bytes with `-Zr` and `-Z<size>`.
pub fn content_of(target: &Target, random_write_data: bool, seed: u32) -> Content {
    if target.write_source_bytes > 0 || (random_write_data && !target.zero_write_buffers) {
        Content::Random { seed: u64::from(seed) }
    } else if target.zero_write_buffers {
        Content::Zero
    } else {
        Content::Pattern0to255
    }
}

/// Creates the file, or uses the existing one (then nothing is returned). The guard decides again, now that the file is
/// about to be made.
///
/// # Errors
/// What failed; an unfinished file is removed.
pub fn create(
    creation: &Creation<'_>,
    options: &Options,
    on_event: OnEvent<'_>,
    stop: &Latch,
) -> Result<Option<NewFile>, Failure> {
    let roots = Roots::default();
    let marks = Marks::of_this_user();
    let guard = Guard { consent: options.consent(), marks: &marks, roots: &roots };
    let typed = creation.typed;
    let path = resolve(typed, &roots)?.path;
    let is_left_over = |file: &File| creation.is_left_over(file);
    let wish = creation.wish(&path, &is_left_over, options);
    match guard.permit_to_make(wish)? {
        Wished::Taken { sentence } => {
            on_event(Event::Reused { path: path.to_string_lossy().into_owned(), words: sentence });
            Ok(None)
        }
        Wished::Permitted { sentence, permit } => {
            on_event(Event::Verbose(sentence));
            let made = permit.open()?;
            tell_new_folder(&path, &made, &roots, on_event);
            fill_new(&path, &made, creation, &marks, on_event, stop)?;
            Ok(Some(made))
        }
    }
}

/// A mistyped mount point is made as a folder, too, and then another disk is measured.
fn tell_new_folder(path: &Path, made: &NewFile, roots: &Roots, on_event: OnEvent<'_>) {
    let Some(folder) = made.folder_made() else { return };
    // As it was typed, where that is a path from here.
    let here = std::env::current_dir().unwrap_or_default();
    let typed = if path.is_relative() { folder.strip_prefix(&here).ok() } else { None };
    let filesystem = facts_of(made.file(), path, roots).ok().and_then(|facts| facts.filesystem);
    let on = filesystem.map_or(String::new(), |filesystem| {
        let shown = |path: &Option<PathBuf>| path.as_ref().map(|path| printable_path(path));
        let source = shown(&filesystem.source).map_or(String::new(), |source| format!(" of {source}"));
        let at = shown(&filesystem.mount_point).map_or(String::new(), |at| format!(", mounted at {at}"));
        format!(" on the file system {}{source}{at}", filesystem.name)
    });
    let words = format!(
        "the folder '{}' did not exist: -c made it{on}; check the path if that is not what you want to measure",
        printable_path(typed.unwrap_or(&folder))
    );
    on_event(Event::Note(words));
}

fn fill_new(
    path: &Path,
    made: &NewFile,
    creation: &Creation<'_>,
    marks: &Marks,
    on_event: OnEvent<'_>,
    stop: &Latch,
) -> Result<(), Failure> {
    let (typed, file) = (creation.typed, made.file());
    let failed = |words: String| Failure::new(FailureKind::Create, words).on(typed);
    // Marked first, so that an unfinished file never counts as finished.
    let marked = marks.mark_for(file, MarkState::Filling, FILL_AHEAD);
    file.set_len(0)
        .map_err(|e| failed(format!("'{typed}': could not be emptied")).because(system_text(&e)))?;
    let direct = facts_of(file, path, &Roots::default()).ok().and_then(|f| f.direct);
    let spec = FillSpec {
        size_bytes: creation.size_bytes,
        content: creation.content,
        direct: direct
            .map(|d| fill::DirectAlignment { offset_bytes: d.offset_bytes, memory_bytes: d.memory_bytes }),
    };
    let mut last_mark = Instant::now();
    let mut progress = |done_bytes, total_bytes| {
        if marked.is_ok() && last_mark.elapsed() > FILL_AHEAD / 3 {
            last_mark = Instant::now();
            // If this fails and the file is left over, it counts as changed by somebody else.
            let _ = marks.mark_for(file, MarkState::Filling, FILL_AHEAD);
        }
        on_event(Event::Fill { path: typed.to_string(), done_bytes, total_bytes });
    };
    match fill::fill(file, spec, &mut progress, stop.flag()) {
        Ok(report) => {
            let rate = report.bytes as f64 / 1_048_576.0 / report.elapsed.as_secs_f64().max(1e-9);
            let how = if report.direct { "direct I/O" } else { "the page cache" };
            let words = format!(
                "'{typed}' written: {} bytes through {how} with {} in {:.2} s, {rate:.0} MiB/s",
                report.bytes,
                report.engine,
                report.elapsed.as_secs_f64()
            );
            on_event(Event::Verbose(words));
        }
        Err(error) => {
            on_event(Event::Removing { path: typed.to_string(), bytes: creation.size_bytes });
            made.remove();
            return Err(failed(format!("'{typed}' could not be created")).because(error));
        }
    }
    if let Err(error) = marked.and_then(|_| marks.mark(file, MarkState::Complete)) {
        on_event(Event::Note(format!(
            "'{typed}' cannot be marked as made by TrueSpd, so a later write test without -c will refuse it: {error}"
        )));
    }
    Ok(())
}
