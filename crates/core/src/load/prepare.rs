//! Before anything runs: checks of machine and targets that touch nothing, then the files of `-c`.

use std::collections::HashSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::context::{CheckedThing, Event, OnEvent, Options};
use super::counters::Wanted;
use super::fill::{self, Content, FillSpec};
use super::rounds::KEPT_BESIDE;
use super::targets::check_kind;
use super::verified;
use crate::engine::EngineRow;
use crate::guard;
use crate::guard::mark::{MarkState, Marks};
use crate::guard::{Guard, NewFile, PermitToMake, Range, Wish, Wished};
use crate::measure::Intervals;
use crate::plan::{
    assign, check_alignment, check_block_size, check_commands, check_commands_of_file, check_depth,
    check_flushes, check_memory, check_one_kind, check_space, check_threads, check_trim_engine, check_trims,
    huge_pages_needed, processor_order, ranges_of,
};
use crate::profile::{Profile, ResultFormat, Size, Target, TimeSpan};
use truespd_platform::fault::{Failure, FailureKind, Refusal, RefusalKind};
use truespd_platform::machine::limits::{
    available_bytes, memory_facts, open_files_limit, raise_open_files_limit, space_left, threads_allowed,
};
use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::storage::{
    self, OpenFailure, OpenedTarget, ReadFlags, TargetError, TargetFacts, TargetKind, facts_of, resolve,
};
use truespd_platform::machine::thing::{Change, Thing};
use truespd_platform::machine::topology::Topology;
use truespd_platform::sys::buffer::IoBuffer;
use truespd_platform::sys::error::system_text;
use truespd_platform::sys::events::Latch;
use truespd_platform::sys::extents::{self, Extents};
use truespd_platform::sys::file::Stat;
use truespd_platform::sys::identity::Identity;
use truespd_platform::sys::source::Source;
use truespd_platform::sys::thread::allowed_processors;
use truespd_platform::text::printable_path;

/// The mark of a file that TrueSpd fills allows writes this far ahead. A later write counts as somebody else's.
const FILL_AHEAD: Duration = Duration::from_secs(30);

/// What the checks found for a time span.
#[derive(Debug, Clone, Default)]
pub struct Checked {
    /// Processors to pin threads to.
    pub cpus: Vec<u32>,
    /// Each target that was there.
    pub things: Vec<Option<CheckedThing>>,
    pub warnings: Vec<String>,
    /// What the user should know besides.
    pub notes: Vec<String>,
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
    let mut spans = Vec::new();
    let mut refusals: Vec<Refusal> = verified::check(profile, options).err().into_iter().collect();
    let all: Vec<&Target> = profile.targets().collect();
    let mut check = TargetCheck {
        guard: Guard { consent: options.consent(), marks: &marks, roots: &roots },
        options,
        engine: options.engine.as_ref().map(|(row, _)| *row),
        made: all.iter().filter(|target| made_bytes(target) > 0).map(|target| target.path.as_str()).collect(),
        room: Room::default(),
        looked_through: Vec::new(),
    };
    let as_xml = profile.result_format == ResultFormat::Xml;
    let own = options.ranks.as_ref().and_then(|companions| companions.processors());
    let machine = Machine { topology, roots: &roots, own };
    // Before any target is opened: there may be more of them than can be open.
    for span in &profile.time_spans {
        let mut checked = Checked::default();
        match check_span(span, as_xml, check.engine, &machine) {
            Ok(cpus) => checked.cpus = cpus,
            Err(refusal) => refusals.push(refusal),
        }
        spans.push(checked);
        if options.ranks.is_some() && span.until_steady.is_some() {
            let words =
                "--until-steady is for one host: ranks would not become steady at the same time".to_string();
            refusals
                .push(Refusal::machine(&["--until-steady"], None, words).hint("give all ranks a fixed -d"));
        }
        check_descriptors(span).map_err(|refusal| vec![refusals.first().cloned().unwrap_or(refusal)])?;
    }
    for (span, checked) in profile.time_spans.iter().zip(&mut spans) {
        for target in &span.targets {
            if let Err(refusal) = check.source(target)
                && !refusals.contains(&refusal)
            {
                refusals.push(refusal);
            }
        }
        let mut kinds = Vec::new();
        for target in &span.targets {
            match check.target(span, target, checked) {
                Ok((thing, takes_commands)) => {
                    checked.things.push(thing);
                    kinds.push(takes_commands);
                }
                Err(refusal) if refusals.contains(&refusal) => {}
                Err(refusal) => refusals.push(refusal),
            }
        }
        refusals.extend(check_one_kind(&kinds, span.thread_count > 0 && options.engine.is_none()).err());
    }
    let targets: Vec<&str> = all.iter().map(|target| target.path.as_str()).collect();
    refusals.extend(check.guard.refuse_unused_overrides(&targets));
    if refusals.is_empty() { Ok(spans) } else { Err(refusals) }
}

/// Size of the file that `-c` makes; 0 when it makes none.
pub fn made_bytes(target: &Target) -> u64 {
    target.create_bytes.unwrap_or(0)
}

/// Checks targets one after the other.
struct TargetCheck<'a> {
    guard: Guard<'a>,
    options: &'a Options,
    engine: Option<&'static EngineRow>,
    /// Paths of the files that time spans make: they are there in the later ones.
    made: HashSet<&'a str>,
    room: Room,
    looked_through: Vec<(Identity, Range)>,
}

impl TargetCheck<'_> {
    /// Checks that the source of a target's write data (`-Z<size>,<file>`) can be read, without reading all of it,
    /// unless the run makes it first.
    fn source(&self, target: &Target) -> Result<(), Refusal> {
        let path = target.write_source_path.as_deref().unwrap_or_default();
        if path.is_empty()
            || !target.writes_data()
            || target.write_source_bytes == 0
            || self.made.contains(path)
        {
            return Ok(());
        }
        Source::check_again_and_again(Path::new(path)).map_err(|error| {
            let words =
                format!("'{path}', the source of write data (-Z<size>,<file>): {}", system_text(&error));
            Refusal::new(RefusalKind::Machine, words)
                .about(&["Z"])
                .hint("give a file with data, or no file for random data (-Z<size>)")
        })
    }

    /// Checks one target. Returns which it is (none when it is not there yet), and whether it is a namespace that NVMe
    /// commands are sent to.
    fn target(
        &mut self,
        span: &TimeSpan,
        target: &Target,
        checked: &mut Checked,
    ) -> Result<(Option<CheckedThing>, bool), Refusal> {
        let (typed, roots, guard) = (target.path.as_str(), self.guard.roots, self.guard);
        let is_made = self.made.contains(typed);
        let path = resolve(typed, roots).map_err(|e| e.refusal(RefusalKind::Machine))?.path;
        match storage::open_file(&path, ReadFlags::CACHED) {
            Ok(file) => {
                guard.check_runs(typed, &file)?;
                if target.writes() {
                    let ignored = guard.marks.ignored(&file);
                    checked.warnings.extend(ignored.map(|ignored| format!("'{typed}': {ignored}")));
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
        if made_bytes(target) > 0 {
            check_commands_of_file(target, self.engine)?;
            if let Ok(there) = storage::open_file(&path, ReadFlags::CACHED) {
                self.check_known(target, &there)?;
            }
            let creation = Creation::of(target, span);
            let is_left_over = |file: &File| creation.is_left_over(file);
            let wished = guard
                .permit_to_make(creation.wish(&path, &is_left_over, self.options))
                .map_err(|refusal| with_trims(refusal, target))?;
            if let Some(facts) = self.room.take_for(&creation, &path, &wished, roots)? {
                if let Some(alignment) = facts.direct
                    && target.is_direct()
                {
                    check_alignment(target, alignment)?;
                }
                checked.warnings.extend(check_trims(target, &facts, self.engine, roots)?);
            }
            return Ok((None, false));
        }
        let opened = match open_to_look(target, &path, roots) {
            Ok(opened) => opened,
            Err(error) if target.writes() && error.open_failure() == Some(OpenFailure::Permission) => {
                return Err(unreadable(typed, &path, error, roots));
            }
            // An earlier time span may make it.
            Err(_) if is_made => return Ok((None, false)),
            Err(error) if target.writes() => return Err(certain(error.wanting_to_write())),
            Err(error) => return Err(certain(error)),
        };
        let OpenedTarget { file, facts } = opened;
        let thing = self.check_known(target, &file)?;
        check_commands(target, &facts, self.engine, roots)?;
        checked.warnings.extend(check_trims(target, &facts, self.engine, roots)?);
        if target.writes() {
            self.guard_check(typed, Range::tested(target), &file, &facts, checked)
                .map_err(|refusal| with_trims(refusal, target))?;
            storage::may_write(&path).map_err(certain)?;
        } else if facts.kind == TargetKind::Regular
            && let Ok(found @ (Extents::Hole { .. } | Extents::Unwritten { .. })) = extents::examine(&file)
        {
            checked.warnings.push(format!(
                "'{typed}' {found}: the system answers reads of it with zeros and does not ask the disk, so the \
                 figures will be far too good; write it once first, or create it with -c<size>"
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
            checked.warnings.push(format!(
                "'{typed}' is a device, and on Linux the page cache is used for devices as well: add -Su or -Sh to \
                 measure the device itself"
            ));
        }
        Ok((thing, facts.namespace.is_some()))
    }

    /// The open target, which must be the one that was looked at before this run, if it was.
    fn check_known(&self, target: &Target, file: &File) -> Result<Option<CheckedThing>, Refusal> {
        let (typed, roots) = (target.path.as_str(), self.guard.roots);
        let Ok(now) = Thing::of(file, roots) else { return Ok(None) };
        let known = self.options.known.iter().find(|known| known.is(typed, roots));
        let Some(change) = known.and_then(|known| known.thing.change(&now)) else {
            return Ok(Some(CheckedThing { thing: now, keeps_size: target.writes() || known.is_some() }));
        };
        let is_allowed = target.writes() && self.guard.is_let_through(typed, Path::new(typed), Some(file));
        let when = if is_allowed { "when you allowed it to be overwritten" } else { "at the first look" };
        let words = match change {
            Change::AnotherDevice => {
                format!("'{typed}' is another disk than {when}, or it was removed and came back")
            }
            Change::AnotherFile => format!("'{typed}' is another file than {when}"),
            Change::Resized { from_bytes, to_bytes } => {
                format!("'{typed}' has {to_bytes} bytes, and had {from_bytes} {when}")
            }
        };
        Err(Refusal::guard(typed, words).hint("look at what it holds, and start again"))
    }

    /// A device is looked through once for a range, also where several time spans write it.
    fn guard_check(
        &mut self,
        typed: &str,
        range: Range,
        file: &File,
        facts: &TargetFacts,
        checked: &mut Checked,
    ) -> Result<(), Refusal> {
        let look = Identity::of(file).ok().map(|identity| (identity, range));
        let mut guard = self.guard;
        guard.consent.quick_check |= look.is_some_and(|look| self.looked_through.contains(&look));
        let passed = guard.check(typed, &facts.path, file, facts, range)?;
        self.looked_through.extend(look);
        checked.notes.extend(passed.looked.map(|looked| format!("'{typed}': {looked}")));
        Ok(())
    }
}

/// A target of a write test that this user cannot read.
fn unreadable(typed: &str, path: &Path, error: TargetError, roots: &Roots) -> Refusal {
    if let Some(refusal) = guard::refuse_listed(typed, path, roots) {
        return refusal;
    }
    if storage::may_write(path).is_err() {
        return certain(error.wanting_to_write());
    }
    let words = format!(
        "'{typed}' cannot be read, so TrueSpd cannot check what it holds before a write test: {error}"
    );
    Refusal::guard(typed, words).hint("make it readable for this user")
}

/// What the write guard says of writes (`-w`), said of trims as well.
fn with_trims(refusal: Refusal, target: &Target) -> Refusal {
    if !target.trims() {
        return refusal;
    }
    let mut refusal = refusal.about(&["-w", "--trim"]);
    for hint in &mut refusal.switch_hints {
        *hint = hint.replace("(-w0)", "(-w0, without --trim)");
    }
    refusal
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
pub fn certain(failure: impl Into<Failure>) -> Refusal {
    let Failure { subject, message, cause, hints, .. } = failure.into();
    let words = cause.into_iter().fold(message, |message, cause| format!("{message}: {cause}"));
    let mut refusal = Refusal::new(RefusalKind::Open, words).with_hints(hints);
    refusal.subject = subject;
    refusal
}

/// Descriptors that the process needs besides those of its targets and workers: standard streams, result files, events,
/// counters, and those that are open for a moment.
const SPARE_DESCRIPTORS: u64 = 64;
/// Descriptors of each target besides those of the workers: the target itself, and the lock that other runs see.
const DESCRIPTORS_OF_TARGET: u64 = 2;

/// If the kernel tells no size of huge pages, it has none, and the allocation says so.
const HUGE_PAGE_BYTES_USUAL: usize = 2 << 20;

/// What a time span runs on.
struct Machine<'a> {
    topology: &'a Topology,
    roots: &'a Roots,
    /// Processors for the threads of this process, where others run on this host as well.
    own: Option<Vec<u32>>,
}

/// Checks numbers of a time span against the machine; returns the processors to pin threads to.
fn check_span(
    span: &TimeSpan,
    as_xml: bool,
    engine: Option<&'static EngineRow>,
    machine: &Machine<'_>,
) -> Result<Vec<u32>, Refusal> {
    let Machine { topology, roots, own } = machine;
    let allowed = allowed_processors().map_err(|e| {
        Refusal::machine(
            &["-a"],
            None,
            format!("could not ask which processors are allowed: {}", system_text(&e)),
        )
    })?;
    // What the person asks for (-a) is theirs to share.
    let usual = match own {
        Some(own) if !span.has_affinity_list() => own,
        _ => &allowed,
    };
    let cpus = processor_order(span, topology, usual)?;
    for target in &span.targets {
        check_block_size(target)?;
        check_flushes(target, engine)?;
        check_trim_engine(target, engine)?;
    }
    // Checked before anything is allocated per thread: the command line may ask for billions of threads.
    let kept = span.until_steady.map_or(1, |rule| u128::from(rule.window + KEPT_BESIDE));
    let series = match Wanted::of(span).intervals {
        Some((interval_ns, duration_ns)) => kept * Intervals::bytes_needed(interval_ns, duration_ns),
        None => 0,
    };
    if let Some(available) = available_bytes(roots) {
        check_memory(span, series, as_xml, available)?;
    }
    check_threads(threads(span), threads_allowed(roots))?;
    check_space(span, series, as_xml, space_left(roots))?;
    check_depth(span, &assign(span, &cpus), engine)?;
    check_huge_pages(span, roots)?;
    Ok(cpus)
}

fn threads(span: &TimeSpan) -> u64 {
    if span.thread_count > 0 { u64::from(span.thread_count) } else { opened_by_threads(span) }
}

/// How often threads open a target.
fn opened_by_threads(span: &TimeSpan) -> u64 {
    span.targets.iter().map(|target| u64::from(span.threads_on(target))).sum()
}

/// Raises the soft limit of open files as far as needed and allowed.
///
/// # Errors
/// How many are needed, and what the limit is.
fn check_descriptors(span: &TimeSpan) -> Result<(), Refusal> {
    let (targets, threads) = (span.targets.len() as u64, threads(span));
    // A thread has a ring besides its targets.
    let wanted = opened_by_threads(span) + threads + targets * DESCRIPTORS_OF_TARGET + SPARE_DESCRIPTORS;
    if open_files_limit().soft.is_none_or(|limit| limit >= wanted) {
        return Ok(());
    }
    let limit = raise_open_files_limit().unwrap_or_else(|_| open_files_limit());
    let Some(limit) = limit.soft.filter(|limit| *limit < wanted) else { return Ok(()) };
    let words = format!(
        "the run needs {wanted} open files (targets: {targets}, threads: {threads}), but the limit of this process is \
         {limit}"
    );
    Err(Refusal::machine(&["-t", "-F"], None, words)
        .hint("test fewer targets at once, use fewer threads (-t, -F), or raise the limit (ulimit -n)"))
}

/// The size of a large page (`-l`).
pub fn huge_page_bytes(roots: &Roots) -> usize {
    let known = memory_facts(roots).ok().and_then(|facts| facts.huge_page_bytes);
    known.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(HUGE_PAGE_BYTES_USUAL)
}

/// Takes the large pages of `-l` for a moment: only that tells whether the system gives them.
fn check_huge_pages(span: &TimeSpan, roots: &Roots) -> Result<(), Refusal> {
    let page_bytes = huge_page_bytes(roots);
    let pages = huge_pages_needed(span, &assign(span, &[]), page_bytes as u64);
    if pages == 0 {
        return Ok(());
    }
    let bytes = usize::try_from(pages).unwrap_or(usize::MAX).saturating_mul(page_bytes);
    let Err(error) = IoBuffer::with_large_pages(bytes, page_bytes) else { return Ok(()) };
    let free = memory_facts(roots).map_or(0, |facts| facts.huge_pages_free);
    let words = format!("{error}; {free} are free now");
    Err(Refusal::machine(&["l"], None, words))
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
    ) -> Result<Option<TargetFacts>, Refusal> {
        let Wished::Permitted { permit, .. } = wished else {
            return Ok(File::open(path).ok().and_then(|file| facts_of(&file, path, roots).ok()));
        };
        self.take(creation, permit)?;
        // The new file never has a name, so it cannot stay behind.
        let new = match permit.existing() {
            Some(_) => None,
            None => permit.entry().folder.make_nameless().ok(),
        };
        let alike = permit.existing().or(new.as_ref());
        permit.check_size(alike)?;
        Ok(alike.and_then(|file| facts_of(file, path, roots).ok()))
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
            let words = format!(
                "there is no room for '{typed}': it needs {}, and its file system has {} free{others}",
                Size(size_bytes),
                Size(available)
            );
            return Err(Refusal::machine(&["-c"], Some(typed), words)
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
    pub size_bytes: u64,
    pub content: Content,
    pub writes: bool,
}

impl<'a> Creation<'a> {
    /// The file of a target.
    pub fn of(target: &'a Target, span: &TimeSpan) -> Self {
        // The pattern, zeros with `-Z`, random bytes with `-Zr` and `-Z<size>`.
        let is_random =
            target.write_source_bytes > 0 || (span.random_write_data && !target.zero_write_buffers);
        let content = if is_random {
            Content::Random { seed: u64::from(span.rand_seed) }
        } else if target.zero_write_buffers {
            Content::Zero
        } else {
            Content::Pattern0to255
        };
        Creation { typed: &target.path, size_bytes: made_bytes(target), content, writes: target.writes() }
    }

    /// Whether samples of a file show that it is left over from a `-c` with this content that was killed. Files of
    /// `PrecreateFiles` hold the pattern, whatever the time spans write.
    fn is_left_over(&self, file: &File) -> bool {
        fill::is_left_over(file, self.content) || fill::is_left_over(file, Content::Pattern0to255)
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
    match guard.permit_to_make(creation.wish(&path, &|file| creation.is_left_over(file), options))? {
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
        let source = filesystem.source.map(|source| format!(" of {}", printable_path(&source)));
        let at = filesystem.mount_point.map(|point| format!(", mounted at {}", printable_path(&point)));
        let (source, at) = (source.unwrap_or_default(), at.unwrap_or_default());
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
    // Marked first, so that an unfinished file never counts as finished.
    let marked = marks.mark_for(file, MarkState::Filling, FILL_AHEAD);
    file.set_len(0).map_err(|e| {
        let words = format!("'{typed}': could not be emptied");
        Failure::new(FailureKind::Create, words).on(typed).because(system_text(&e))
    })?;
    let direct = facts_of(file, path, &Roots::default()).ok().and_then(|f| f.direct);
    let spec = FillSpec { size_bytes: creation.size_bytes, content: creation.content, direct };
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
            let words = format!("'{typed}' could not be created");
            return Err(Failure::new(FailureKind::Create, words).on(typed).because(error));
        }
    }
    if let Err(error) = marked.and_then(|_| marks.mark(file, MarkState::Complete)) {
        on_event(Event::Note(format!(
            "'{typed}' cannot be marked as made by TrueSpd, so a later write test without -c will refuse it: {error}"
        )));
    }
    Ok(())
}
