//! Verified targets of a run (`--verify`): their maps before it, and what was proven after it.

use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::context::{Failures, Options};
use super::controller::SpanOutcome;
use super::entries::{entry_of, lasting_name};
use super::ranks::{Place, places};
use super::targets::TargetState;
use super::verify_log::{Log, LogPlace};
use crate::access::RangeSpec;
use crate::profile::{Profile, Target, TimeSpan};
use crate::result::{Verified, WrongRange};
use crate::verify::{BlockMap, Counts, Found, MapHeader, PlaceError, SECTOR_BYTES, check_place, log, map};
use truespd_platform::fault::{Failure, FailureKind, Refusal};
use truespd_platform::machine::chain;
use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::storage::open_folder;
use truespd_platform::sys::destination::LostWay;
use truespd_platform::sys::error::system_text;
use truespd_platform::sys::events::Latch;
use truespd_platform::sys::file::may_write;
use truespd_platform::sys::own::OwnFolder;
use truespd_platform::text::grouped;

const NO_PLACE: &str = "there is no place for the map of --verify: HOME is not set";
const GIVE_FILE: &str = "give the map a file: --verify-map FILE";

/// What keeps the tests of a profile from being verified, as far as the run itself decides it.
pub fn check(profile: &Profile, options: &Options) -> Result<(), Refusal> {
    let verified = profile.targets();
    let mut verified = verified.filter(|target| target.verify);
    let Some(first) = verified.next() else { return Ok(()) };
    check_each_once(profile)?;
    if options.ranks.is_some() {
        let words = "--verify works on one host";
        return Err(
            Refusal::machine(&["--verify"], None, words.to_string()).hint("run it with diskspd on one host")
        );
    }
    if options.engine.as_ref().is_some_and(|(row, _)| !row.moves_data) {
        let words = "--verify reads back what was written, and this engine writes nothing (--engine)";
        return Err(Refusal::machine(&["--verify", "--engine"], None, words.to_string()));
    }
    let has_several = verified.any(|target| target.path != first.path);
    if let Some(place) = &options.verify_log {
        check_log(place, first, has_several)?;
    }
    let Some(map) = &options.verify_map else {
        let mut verified = profile.targets();
        return verified.try_for_each(|target| if target.verify { check_usual(target) } else { Ok(()) });
    };
    let typed = map.display().to_string();
    if has_several {
        let words =
            format!("'{typed}' (--verify-map) holds the map of one target, and this test verifies several");
        return Err(Refusal::machine(&["--verify-map"], None, words).hint("leave --verify-map out"));
    }
    check_file(map, "--verify-map", "map of --verify", map::FIRST_LINE)
}

/// One file or device under two names would have two maps, of which each knows half of what was written.
fn check_each_once(profile: &Profile) -> Result<(), Refusal> {
    let targets = profile.targets();
    let verified: Vec<&String> = targets.filter(|target| target.verify).map(|target| &target.path).collect();
    let mut places = places(profile, &Roots::default());
    places.retain(|place| verified.contains(&&place.typed));
    for (number, one) in places.iter().enumerate() {
        if let Some(other) = places[..number].iter().find(|other| is_same_place(one, other)) {
            let words = format!(
                "'{}' and '{}' are the same file or device, and --verify needs each once",
                other.typed, one.typed
            );
            return Err(
                Refusal::machine(&["--verify"], Some(&one.typed), words).hint("leave one of them out")
            );
        }
    }
    Ok(())
}

fn is_same_place(one: &Place, other: &Place) -> bool {
    let [own, others] = [one, other].map(|place| Path::new(&place.path).file_name());
    let is_same_entry = one.folder.is_some() && one.folder == other.folder && own == others;
    (one.identity.is_some() && one.identity == other.identity) || is_same_entry
}

fn check_log(place: &LogPlace, first: &Target, has_several: bool) -> Result<(), Refusal> {
    let typed = place.typed();
    let switch = &["--verify-log"];
    if has_several {
        let words =
            format!("'{typed}' (--verify-log) is the log of one target, and this test verifies several");
        return Err(Refusal::machine(switch, None, words).hint("verify one target at a time"));
    }
    if !first.write_through && first.flush_every.is_none() {
        let words = "--verify-log needs writes that are durable during the test, and this test has none";
        return Err(Refusal::machine(switch, None, words.to_string()).hint("add -Sh, -Sw or --flush-every"));
    }
    let LogPlace::File(path) = place else { return Ok(()) };
    check_file(path, "--verify-log", "log of --verify-log", log::FIRST_LINE)
}

/// Whether a file can be made that begins with this line.
fn check_file(path: &Path, switch: &'static str, what: &str, first_line: &str) -> Result<(), Refusal> {
    let typed = path.display().to_string();
    match check_place(path, first_line) {
        Ok(()) => {}
        Err(PlaceError::Taken) => {
            let words = format!("'{typed}' exists and is not a {what}; it was not touched");
            return Err(Refusal::machine(&[switch], Some(&typed), words).hint("name another file"));
        }
        Err(PlaceError::InUse) => {
            let words = format!("the test that writes '{typed}' ({switch}) still runs");
            return Err(Refusal::machine(&[switch], Some(&typed), words).hint("wait for its end"));
        }
        Err(PlaceError::Lost(lost @ LostWay::ForeignLink { .. })) => {
            return Err(Refusal::machine(&[switch], Some(&typed), format!("{switch} {typed}: {lost}")));
        }
        // What is missing is named below.
        Err(PlaceError::Lost(LostWay::System { .. })) => {}
    }
    let folder = folder_of(path);
    if !folder.is_dir() {
        let words = format!("the folder of '{typed}' ({switch}) does not exist");
        return Err(Refusal::machine(&[switch], Some(&typed), words).hint("make the folder first"));
    }
    check_folder(folder, switch, "name a file in a folder that you may write")
}

/// Whether the map of a target can be made where maps are usually kept.
fn check_usual(target: &Target) -> Result<(), Refusal> {
    let typed = &target.path;
    let Some(map) = usual_map(Path::new(typed)) else {
        return Err(Refusal::machine(&["--verify"], Some(typed), NO_PLACE.to_string()).hint(GIVE_FILE));
    };
    let folder = folder_of(&map);
    if let Err(why) = OwnFolder::open(folder) {
        let words = format!("the map of --verify cannot be kept in '{}': {why}", folder.display());
        return Err(Refusal::machine(&["--verify"], Some(typed), words).hint(GIVE_FILE));
    }
    if check_place(&map, map::FIRST_LINE) == Err(PlaceError::InUse) {
        let words = format!("another test with --verify writes '{typed}'");
        return Err(Refusal::machine(&["--verify"], Some(typed), words).hint("wait for its end"));
    }
    // Folders that are missing are made.
    let folder = map.ancestors().skip(1).find(|folder| folder.exists()).unwrap_or(Path::new("/"));
    check_folder(folder, "--verify", GIVE_FILE)
}

fn check_folder(folder: &Path, switch: &'static str, hint: &str) -> Result<(), Refusal> {
    may_write(folder).map_err(|code| {
        let words = format!(
            "the file of {switch} cannot be made in '{}': {}",
            folder.display(),
            system_text(&code.into())
        );
        Refusal::machine(&[switch], None, words).hint(hint)
    })
}

/// The log of a time span; none where none is asked for. `stop` ends the run.
///
/// # Errors
/// A log that cannot be written.
pub fn log(maps: &[Option<Arc<BlockMap>>], options: &Options, stop: &Latch) -> Result<Option<Log>, Failure> {
    let Some(place) = &options.verify_log else { return Ok(None) };
    let Some(map) = maps.iter().flatten().next() else { return Ok(None) };
    Log::open(place, options.verify_log_lost, map.header(), stop.clone()).map(Some)
}

fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Where the map of a target is kept. None where the user has no state folder.
pub fn usual_map(path: &Path) -> Option<PathBuf> {
    entry_of(path, "verify", "map")
}

/// The maps of a time span, one for each target that is verified; `now_ns` is the time on the clock of the run.
///
/// # Errors
/// A map that cannot be made.
pub fn maps(
    span: &TimeSpan,
    targets: &[TargetState],
    options: &Options,
    now_ns: u64,
) -> Result<Vec<Option<Arc<BlockMap>>>, Failure> {
    let mut maps = Vec::new();
    let run = drawn();
    for (target, state) in span.targets.iter().zip(targets) {
        let map =
            if target.verify { Some(Arc::new(map(target, state, options, (run, now_ns))?)) } else { None };
        maps.push(map);
    }
    Ok(maps)
}

/// A number that no other run has.
fn drawn() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

fn map(
    target: &Target,
    state: &TargetState,
    options: &Options,
    (run, start_ns): (u64, u64),
) -> Result<BlockMap, Failure> {
    let path = match &options.verify_map {
        Some(path) => path.clone(),
        None => {
            usual_map(&state.path).ok_or_else(|| not_made(state, NO_PLACE.to_string()).hint(GIVE_FILE))?
        }
    };
    if let Some(folder) = path.parent()
        && options.verify_map.is_none()
    {
        OwnFolder::make(folder).map_err(|why| {
            not_made(state, format!("could not make '{}'", folder.display())).because(why.to_string())
        })?;
    }
    let block_bytes = block_bytes(target);
    let end_bytes = RangeSpec::of(target, state.facts.size_bytes).end_bytes();
    let header = MapHeader {
        version: 0,
        name: lasting_name(&state.path).display().to_string(),
        thing: state.thing.clone(),
        size_bytes: state.facts.size_bytes,
        base_bytes: target.base_bytes,
        block_bytes,
        blocks: end_bytes.saturating_sub(target.base_bytes) / block_bytes,
        run,
        target: drawn(),
        is_write_through: target.write_through,
        start_ns,
        is_closed: false,
        is_flushed: false,
    };
    BlockMap::create(&path, header).map_err(|error| {
        not_made(state, error.to_string()).hint("keep the map on a disk with enough room: --verify-map FILE")
    })
}

fn not_made(state: &TargetState, words: String) -> Failure {
    Failure::new(FailureKind::Open, words).on(&state.typed)
}

/// The largest size that every I/O begins at a multiple of, and is a multiple of.
fn block_bytes(target: &Target) -> u64 {
    let mut sizes = target.sizes();
    sizes.extend([target.stride(), target.base_bytes, target.thread_stride_bytes]);
    sizes.into_iter().fold(0, common_divisor).max(SECTOR_BYTES as u64)
}

fn common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

/// Flushes what was written, where that was not durable by itself, and closes the maps, also where a flush fails.
///
/// # Errors
/// Flushes that failed, and maps that cannot be written.
pub fn conclude(
    targets: &[TargetState],
    maps: Vec<Option<Arc<BlockMap>>>,
    log: Option<&Log>,
    outcome: &SpanOutcome,
) -> Result<Vec<Verified>, Failures> {
    let (mut done, mut failures) = (Vec::new(), Vec::new());
    for (number, (state, map)) in targets.iter().zip(maps).enumerate() {
        let Some(map) = map else { continue };
        let mut counts = Counts::default();
        let checked = outcome.outcomes.iter().flat_map(|(_, outcome)| &outcome.checked);
        for (target, of_thread) in checked {
            if *target == number {
                counts.add(of_thread);
            }
        }
        // A thread that is stuck still has it: then nothing is known of what it wrote.
        let Ok(map) = Arc::try_unwrap(map) else { continue };
        let has_failed = outcome.outcomes.iter().any(|(_, outcome)| !outcome.failures.is_empty());
        match conclude_one(state, map, counts, has_failed, log) {
            Ok(one) => done.push(one),
            Err(failure) => failures.push(failure),
        }
    }
    if failures.is_empty() { Ok(done) } else { Err(failures) }
}

fn conclude_one(
    state: &TargetState,
    mut map: BlockMap,
    counts: Counts,
    has_failed: bool,
    log: Option<&Log>,
) -> Result<Verified, Failure> {
    let mut flushed = Ok(());
    if !map.is_write_through() && !has_failed {
        flushed = state.file.sync_all();
        if flushed.is_ok() {
            map.note_all_flushed();
            if let Some(log) = log {
                log.tell_all(map.completed());
            }
        }
    }
    let path = map.path().display().to_string();
    let map_is_on_target = is_on_target(map.path(), state);
    let block_bytes = map.header().block_bytes;
    let wrong = counts.wrong.iter().map(|(offset, found)| range_of(*offset, block_bytes, found)).collect();
    let header =
        map.close().map_err(|error| Failure::new(FailureKind::Io, error.to_string()).on(&state.typed))?;
    flushed.map_err(|error| {
        let words = format!("'{}': what --verify wrote could not be flushed", state.typed);
        Failure::new(FailureKind::Io, words).on(&state.typed).because(system_text(&error))
    })?;
    Ok(Verified {
        path: state.typed.clone(),
        map: path,
        map_is_on_target,
        block_bytes,
        blocks: header.blocks,
        written_blocks: counts.written_blocks,
        checked_blocks: counts.checked_blocks,
        unknown_blocks: counts.unknown_blocks,
        wrong_blocks: counts.wrong_blocks,
        moved_ios: counts.moved_ios,
        held_ios: counts.held_ios,
        is_flushed: header.is_flushed || header.is_write_through,
        wrong,
    })
}

/// Whether a map lies on a disk that its target lies on as well, as far as that is known.
fn is_on_target(map: &Path, state: &TargetState) -> bool {
    let roots = Roots::default();
    let Ok(folder) = open_folder(folder_of(map), &roots) else { return false };
    let disks = chain::counted(&chain::of_facts(&folder.facts, &roots)).lowest;
    chain::counted(&state.chain).lowest.iter().any(|disk| disks.contains(disk))
}

/// A wrong block as the document tells it.
pub fn range_of(offset_bytes: u64, block_bytes: u64, found: &Found) -> WrongRange {
    let stamp = found.stamp;
    WrongRange {
        offset_bytes,
        length_bytes: block_bytes,
        fault: found.fault,
        expected_generation: None,
        found_generation: stamp.map(|stamp| stamp.generation),
        found_offset_bytes: stamp.map(|stamp| stamp.address),
        found_written_s: stamp.map(|stamp| stamp.issued_ns as f64 / 1e9),
        found_thread: stamp.map(|stamp| stamp.thread),
    }
}

/// What is worth telling of it.
pub fn words(done: &Verified) -> Vec<String> {
    let Verified { path, map, written_blocks, checked_blocks, wrong_blocks, .. } = done;
    let is_usual = usual_map(Path::new(path)).is_some_and(|usual| usual == Path::new(map));
    let its_map = if is_usual { String::new() } else { format!(" --map {map}") };
    let mut words = vec![format!(
        "'{path}': --verify stamped {} blocks and checked {} that were read back, {} of them wrong; read \
         all of them back with: truespd verify {path}{its_map}",
        grouped(*written_blocks),
        grouped(*checked_blocks),
        grouped(*wrong_blocks)
    )];
    if done.moved_ios > 0 {
        words.push(format!(
            "'{path}': {} times an I/O found its block in use and went to the next place; {} times it had to wait",
            grouped(done.moved_ios),
            grouped(done.held_ios)
        ));
    }
    words
}
