//! Before anything runs: checks that touch nothing, then the files of `-c`.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::context::{Event, OnEvent, Options};
use super::counters::Wanted;
use super::fill::{self, Content, FillSpec};
use super::targets::check_kind;
use crate::engine::EngineRow;
use crate::fault::{Failure, FailureKind, Refusal, RefusalKind};
use crate::guard::mark::{MarkState, Marks};
use crate::guard::{Guard, NewFile, Range, Wish, Wished};
use crate::machine::memory::{
    available_bytes, open_files_limit, raise_open_files_limit, space_left, threads_allowed,
};
use crate::machine::roots::Roots;
use crate::machine::storage;
use crate::machine::storage::{
    DirectAlignment, OpenFailure, OpenedTarget, ReadFlags, TargetError, TargetKind, facts_of, resolve,
};
use crate::machine::topology::Topology;
use crate::measure::Intervals;
use crate::plan::{
    assign, check_alignment, check_block_size, check_commands, check_commands_of_file, check_depth,
    check_memory, check_one_kind, check_space, check_threads, processor_order, ranges_of,
};
use crate::profile::{Profile, ResultFormat, Size, Target, TimeSpan};
use crate::sys::error::system_text;
use crate::sys::extents;
use crate::sys::extents::Extents;
use crate::sys::identity::Identity;
use crate::sys::open::{nameless, rename_to_free_name};
use crate::sys::space;
use crate::sys::thread::allowed_processors;
use crate::sys::wake::Latch;
use crate::text::printable_path;

/// The mark of a file that TrueSpd fills allows writes this far ahead. A later write counts as somebody else's.
const FILL_AHEAD: Duration = Duration::from_secs(30);
/// Descriptors that the process needs besides those of the workers.
const SPARE_DESCRIPTORS: u64 = 64;

/// What the checks found for a time span.
#[derive(Debug, Clone, Default)]
pub struct Checked {
    /// Processors to pin threads to.
    pub cpus: Vec<u32>,
    /// Identity of each target that was there and may be written.
    pub identities: Vec<Option<Identity>>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
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
    let guard = Guard { word: options.word(), marks: &marks, roots: &roots };
    let mut spans = Vec::new();
    let mut refusals = Vec::new();
    let mut room = Room::default();
    // What a time span makes is there in the later ones.
    let all = || profile.time_spans.iter().flat_map(|span| &span.targets);
    let made: Vec<&str> =
        all().filter(|t| t.create_bytes.is_some_and(|s| s > 0)).map(|t| t.path.as_str()).collect();
    for span in &profile.time_spans {
        let mut checked = Checked::default();
        let as_xml = profile.result_format == ResultFormat::Xml;
        let engine = options.engine.as_ref().map(|(row, _)| *row);
        let own = options.companions.as_ref().and_then(|companions| companions.processors());
        let machine = Machine { topology, roots: &roots, own };
        if let Err(refusal) = check_span(span, as_xml, engine, &machine, &mut checked) {
            refusals.push(refusal);
        }
        let mut kinds = Vec::new();
        for target in &span.targets {
            let is_made = made.contains(&target.path.as_str());
            match check_target(span, target, is_made, options, &guard, &mut room, &mut checked.warnings) {
                Ok(Seen { identity, takes_commands }) => {
                    checked.identities.push(identity);
                    kinds.push(takes_commands);
                }
                Err(refusal) if refusals.contains(&refusal) => {}
                Err(refusal) => refusals.push(refusal),
            }
        }
        refusals.extend(check_one_kind(&kinds, span.thread_count > 0 && options.engine.is_none()).err());
        spans.push(checked);
    }
    let targets: Vec<&str> = all().map(|t| t.path.as_str()).collect();
    refusals.extend(guard.refuse_unused_overrides(&targets));
    if refusals.is_empty() { Ok(spans) } else { Err(refusals) }
}

/// What a time span runs on.
struct Machine<'a> {
    topology: &'a Topology,
    roots: &'a Roots,
    /// Processors for the threads of this process, where others run on this host as well.
    own: Option<Vec<u32>>,
}

fn check_span(
    span: &TimeSpan,
    as_xml: bool,
    engine: Option<&'static EngineRow>,
    machine: &Machine<'_>,
    checked: &mut Checked,
) -> Result<(), Refusal> {
    let Machine { topology, roots, own } = machine;
    let allowed = allowed_processors().map_err(|e| {
        Refusal::machine(
            &["-a"],
            None,
            format!("could not ask which processors are allowed: {}", system_text(&e)),
        )
    })?;
    // What the person asks for (-a) is theirs to share.
    let usual = own.as_ref().filter(|_| !span.has_affinity_list()).unwrap_or(&allowed);
    checked.cpus = processor_order(span, topology, usual)?;
    for target in &span.targets {
        check_block_size(target)?;
    }
    // Checked before anything is allocated per thread: the command line may ask for billions of threads.
    let series = match Wanted::of(span).intervals {
        Some((interval_ns, duration_ns)) => Intervals::bytes_needed(interval_ns, duration_ns),
        None => 0,
    };
    if let Some(available) = available_bytes(roots) {
        check_memory(span, series, as_xml, available)?;
    }
    let of_targets: u64 = span.targets.iter().map(|t| u64::from(span.threads_on(t))).sum();
    let threads = if span.thread_count > 0 { u64::from(span.thread_count) } else { of_targets };
    check_threads(threads, threads_allowed(roots))?;
    check_space(span, series, as_xml, space_left(roots))?;
    check_depth(span, &assign(span, &checked.cpus), engine)?;
    check_descriptors(of_targets + 2 * threads + SPARE_DESCRIPTORS)
}

/// Raises the soft limit of open files as far as needed and allowed.
fn check_descriptors(wanted: u64) -> Result<(), Refusal> {
    let fits = |limit: Option<u64>| limit.is_none_or(|n| n >= wanted);
    if fits(open_files_limit().soft) {
        return Ok(());
    }
    let limit = raise_open_files_limit().unwrap_or_else(|_| open_files_limit());
    if fits(limit.soft) {
        return Ok(());
    }
    Err(Refusal::machine(
        &["-t", "-F"],
        None,
        format!("threads x targets need {wanted} open files, but the limit is {}", limit.soft.unwrap_or(0)),
    )
    .hint("use fewer threads (-t, -F), or raise the limit (ulimit -n)"))
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
    warnings: &mut Vec<String>,
) -> Result<Seen, Refusal> {
    let typed = target.path.as_str();
    let engine = options.engine.as_ref().map(|(row, _)| *row);
    let path = resolve(typed, guard.roots).map_err(|e| e.refusal(RefusalKind::Machine))?.path;
    if let Ok(file) = storage::open_file(&path, ReadFlags::CACHED) {
        guard.check_runs(typed, &file)?;
        if target.writes() {
            warnings.extend(guard.marks.ignored(&file).map(|ignored| format!("'{typed}': {ignored}")));
        }
    }
    if let Some(size) = target.create_bytes.filter(|&s| s > 0) {
        check_commands_of_file(target, engine)?;
        let content = content_of(target, span.random_write_data, span.rand_seed);
        let creation = Creation { typed, size_bytes: size, content, writes: target.writes() };
        let is_left_over = |file: &File| creation.is_left_over(file);
        if let Wished::Permitted { .. } =
            guard.permit_to_make(creation.wish(&path, &is_left_over, options))?
        {
            room.take(typed, &path, size)?;
        }
        if target.is_direct()
            && let Some(alignment) = alignment_for_new(&path, guard.roots)
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
        guard.check(typed, &facts.path, &file, &facts, Range::tested(target))?;
        storage::may_write(&path).map_err(certain)?;
    } else if facts.kind == TargetKind::Regular
        && let Ok(found @ (Extents::Hole { .. } | Extents::Unwritten { .. })) = extents::examine(&file)
    {
        warnings.push(format!(
            "'{typed}' {found}: the system answers reads of it with zeros and does not ask the disk, so the figures \
             will be far too good; write it once first, or create it with -c<size>"
        ));
    }
    if !is_made {
        check_kind(target, &facts).map_err(certain)?;
        ranges_of(span, target, facts.size_bytes).map_err(certain)?;
    }
    if let Some(alignment) = facts.direct.filter(|_| target.is_direct()) {
        check_alignment(target, alignment)?;
    }
    if facts.kind == TargetKind::Block && !target.is_direct() && !target.memory_mapped {
        warnings.push(format!(
            "'{typed}' is a device, and on Linux the page cache is used for devices as well: add -Su or -Sh to \
             measure the device itself"
        ));
    }
    Ok(Seen { identity: Identity::of(&file).ok(), takes_commands: facts.namespace.is_some() })
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
    /// Paths counted already: time spans may create the same file again.
    counted: Vec<PathBuf>,
}

impl Room {
    /// Takes space for one file. Refuses when the file system cannot hold it, because a file that fills the file system
    /// and then fails would harm others.
    fn take(&mut self, typed: &str, path: &Path, size_bytes: u64) -> Result<(), Refusal> {
        if self.counted.iter().any(|p| p == path) {
            return Ok(());
        }
        self.counted.push(path.to_path_buf());
        let old = std::fs::metadata(path).ok().filter(|m| m.is_file());
        let Some(dir) = nearest_dir(path) else { return Ok(()) };
        let place = if old.is_some() { path } else { &dir };
        let (Ok(about), Ok(free)) = (Identity::at(place), space::free_bytes(place)) else {
            return Ok(());
        };
        // Some file systems (network, FUSE) do not tell their free space.
        let Some(free_bytes) = free else { return Ok(()) };
        let device = about.device();
        let known = self.left.iter().position(|(d, _)| *d == device).unwrap_or_else(|| {
            self.left.push((device, free_bytes));
            self.left.len() - 1
        });
        let left = &mut self.left[known].1;
        // The space of the existing file is freed first.
        let available = left.saturating_add(old.map_or(0, |about| space::taken_bytes(&about)));
        if size_bytes > available {
            let others = if free_bytes == *left { "" } else { " after the other files of -c" };
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
        Ok(())
    }
}

/// The directory that a path is in, or the nearest one above it that exists.
fn nearest_dir(path: &Path) -> Option<PathBuf> {
    // A file behind a symbolic link is made where the link leads.
    let target = std::fs::read_link(path).ok().map(|link| path.parent().unwrap_or(Path::new("")).join(link));
    let path = target.as_deref().unwrap_or(path);
    let dirs = path.ancestors().skip(1).map(|p| if p.as_os_str().is_empty() { Path::new(".") } else { p });
    dirs.into_iter().find(|p| p.is_dir()).map(Path::to_path_buf)
}

/// Direct-I/O alignment of a file that does not exist yet: that of its directory's file system.
fn alignment_for_new(path: &Path, roots: &Roots) -> Option<DirectAlignment> {
    if let Ok(file) = File::open(path) {
        return facts_of(&file, path, roots).ok()?.direct;
    }
    let dir = nearest_dir(path)?;
    // The file never has a name, so it cannot stay behind.
    facts_of(&nameless(&dir).ok()?, path, roots).ok()?.direct
}

/// A file of `-c`, and how to make it.
#[derive(Debug)]
pub struct Creation<'a> {
    /// Path as typed.
    pub typed: &'a str,
    /// Size in bytes.
    pub size_bytes: u64,
    /// What it holds.
    pub content: Content,
    /// The test writes it.
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
    let guard = Guard { word: options.word(), marks: &marks, roots: &roots };
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
    let filesystem = facts_of(made.file(), path, roots).ok().and_then(|facts| facts.filesystem);
    let on = filesystem.map_or(String::new(), |filesystem| {
        let shown = |path: &Option<PathBuf>| path.as_ref().map(|path| printable_path(path));
        let source = shown(&filesystem.source).map_or(String::new(), |source| format!(" of {source}"));
        let at = shown(&filesystem.mount_point).map_or(String::new(), |at| format!(", mounted at {at}"));
        format!(" on the file system {}{source}{at}", filesystem.name)
    });
    let words = format!(
        "the folder '{}' did not exist: -c made it{on}; check the path if that is not what you want to measure",
        folder.display()
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
            remove_unfinished(path, made);
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

/// Removes an unfinished file, or empties it if the path is a symbolic link to it.
fn remove_unfinished(path: &Path, made: &NewFile) {
    // Best effort, as the mark says in any case that the file is unfinished.
    if !remove_if_same(path, made.identity()) {
        let _ = made.file().set_len(0);
    }
}

/// Removes the name if it is a name of this file. The name is changed first, because another file could replace it
/// between check and removal.
fn remove_if_same(path: &Path, own: Identity) -> bool {
    let is_same = |path: &Path| Identity::of_name(path).is_ok_and(|at| at == own);
    let Some(name) = path.file_name().filter(|_| is_same(path)) else { return false };
    let mut aside = std::ffi::OsString::from(".");
    aside.push(name);
    aside.push(format!(".{}", std::process::id()));
    let aside = path.with_file_name(aside);
    if rename_to_free_name(path, &aside).is_err() {
        return false;
    }
    if is_same(&aside) {
        return std::fs::remove_file(&aside).is_ok();
    }
    // Another file took the name meanwhile. It gets its name back, unless a third file has it now.
    let _ = rename_to_free_name(&aside, path);
    false
}
