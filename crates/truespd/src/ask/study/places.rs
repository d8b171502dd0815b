//! Targets of studies: directories in which files are made, files and devices that are there.

use crate::ask::command::say_read_only;
use crate::ask::study::arguments::{Common, failed, refusal, refused};
use crate::ask::study::{Study, StudyTarget};
use crate::runner::place::{Place, absolute};
use crate::runner::undo::{Disk, Undo};
use crate::runner::{Ended, Series, place};
use std::fs::File;
use std::path::{Path, PathBuf};
use truespd_core::guard::claim;
use truespd_front::console::say_line;
use truespd_platform::fault::Refusal;
use truespd_platform::machine::device::{BlockDevice, DeviceNumber};
use truespd_platform::machine::drive::{Reach, Switch, WRITE_BACK, WRITE_THROUGH, disks};
use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::storage::{OpenedTarget, ReadFlags, TargetKind, resolve};
use truespd_platform::machine::{chain, storage};
use truespd_platform::sys::error::system_text;
use truespd_platform::sys::extents::drop_cached;
use truespd_platform::sys::file::{Stat, read_exact_at};
use truespd_platform::sys::identity::Identity;
use truespd_platform::text::{printable, printable_path, size};

/// A target with what else is known of it.
pub struct Found {
    pub place: StudyTarget,
    /// Kernel names of the disks right below it.
    pub disks: Vec<String>,
    /// Whether it is a device that nothing uses.
    pub is_unused: bool,
    /// Whether it is a file of the study's own.
    is_made: bool,
    path: PathBuf,
}

impl Found {
    /// Brings what was written through the cache to the disks.
    pub fn settle(&self) -> Result<(), Ended> {
        let synced = File::open(&self.path).and_then(|file| file.sync_all());
        synced.map_err(|error| {
            failed(format!("'{}': could not be synced: {}", self.place.shown, system_text(&error)))
        })
    }
}

/// Finds the targets, and makes the files, which are empty.
pub fn find(series: &mut Series, study: Study, common: &Common) -> Result<Vec<Found>, Ended> {
    let consents = common.consents()?;
    let mut found: Vec<Found> = Vec::new();
    for typed in &common.targets {
        let there = Place::find(typed)?;
        check_size(typed, there.size_bytes(), study)?;
        let is_made = there.is_directory();
        let word =
            if is_made { made(series, study, &there, common.size_bytes)? } else { absolute(typed.clone()) };
        let is_writable = is_made || consents.iter().any(|consent| consent.target == word);
        if !is_made && is_writable {
            series.check_write(&word)?;
        }
        let opened = open(&word)?;
        let is_device = opened.facts.kind == TargetKind::Block;
        let layers = chain::of(&opened.file, &opened.facts, &Roots::default());
        found.push(Found {
            disks: disks(&layers),
            is_unused: is_device && place::check_write(&word, std::slice::from_ref(&word)).is_ok(),
            is_made,
            path: opened.facts.path.clone(),
            place: StudyTarget { shown: typed.clone(), is_device, is_writable, word },
        });
    }
    let read_only = found.iter().filter(|found| !found.place.is_writable);
    read_only.for_each(|found| say_read_only(&found.place.shown));
    Ok(found)
}

/// Fills the files that were made.
pub fn fill_made(series: &mut Series, found: &[Found], size_bytes: u64) -> Result<(), Ended> {
    let made = found.iter().filter(|found| found.is_made);
    made.map(|made| &made.place.word).try_for_each(|word| series.fill(word, size_bytes))
}

/// The first target, and what the others show of it. In a directory an empty file is made: then the second is `true`.
pub fn other_paths(series: &mut Series, common: &Common) -> Result<(Vec<StudyTarget>, bool), Ended> {
    let [first, others @ ..] = &common.targets[..] else { return Ok((Vec::new(), false)) };
    if let Some(path) = common.series.overwrite.first() {
        return Err(refused(format!("--overwrite {path}: locality only reads; remove it")));
    }
    if others.is_empty() {
        return Err(refused("locality compares paths to the same storage; name at least two"));
    }
    let place = |word: String, shown: &String| StudyTarget {
        word: absolute(word),
        shown: shown.clone(),
        is_device: false,
        is_writable: false,
    };
    let there = Place::find(first)?;
    if !there.is_directory() {
        let mut opened = Vec::new();
        for path in &common.targets {
            let found = open(&absolute(path.clone()))?;
            check_size(path, Some(found.facts.size_bytes), Study::Locality)?;
            opened.push((path.as_str(), found));
        }
        if let Some(unsure) = check(&opened)? {
            say_line(format_args!("note: {unsure}"));
        }
        return Ok((common.targets.iter().map(|typed| place(typed.clone(), typed)).collect(), false));
    }
    let file = PathBuf::from(made(series, Study::Locality, &there, common.size_bytes)?);
    let inside: PathBuf = file.iter().rev().take(2).collect::<Vec<_>>().into_iter().rev().collect();
    let mut places = vec![place(file.to_string_lossy().into_owned(), first)];
    for other in others {
        let path = Path::new(other).join(&inside);
        if path.metadata().is_err() {
            return Err(refused(format!(
                "'{}' does not show the file that was created in '{}'; name directories that show the same place",
                printable_path(Path::new(other)),
                printable_path(Path::new(first))
            )));
        }
        places.push(place(path.to_string_lossy().into_owned(), other));
    }
    Ok((places, true))
}

/// What is there has room for an I/O of the study.
fn check_size(typed: &str, size_bytes: Option<u64>, study: Study) -> Result<(), Ended> {
    let (Some(has_bytes), block_bytes) = (size_bytes, study.block_bytes()) else { return Ok(()) };
    if has_bytes < block_bytes {
        Err(refused(format!(
            "'{}' has {has_bytes} bytes, but one I/O of study {} needs {block_bytes} bytes; name a larger file, or a \
             directory for a test file",
            printable(typed),
            study.name()
        )))
    } else {
        Ok(())
    }
}

/// An empty file in a folder that goes with the study, where there is room for it.
fn made(series: &mut Series, study: Study, there: &Place, size_bytes: u64) -> Result<String, Ended> {
    there.check_room(size_bytes, 1, place::FILE_BYTES_MIN)?;
    Ok(series.scratch(&there.folder(), study.name(), &["data"])?.make_file("data", 0)?)
}

fn open(typed: &str) -> Result<OpenedTarget, Ended> {
    let roots = Roots::default();
    let path = resolve(typed, &roots).map_err(|e| refused(e.to_string()))?.path;
    storage::open(&path, ReadFlags::CACHED, &roots).map_err(|e| refused(e.to_string()))
}

/// Bytes that are read at a place: the block of the study.
const BLOCK_BYTES: usize = 4096;
/// Places that are read, the first and the last block among them.
const PLACES: u64 = 17;
/// A block that is being written may differ once; differing three times in a row, it is other storage.
const TRIES: usize = 3;

/// Refuses paths of different storage: their difference would be taken for one of the way to it. Where only
/// zeros are found, which tell nothing, a sentence that says so.
pub fn check(paths: &[(&str, OpenedTarget)]) -> Result<Option<String>, Refusal> {
    let Some(((first_typed, first), others)) = paths.split_first() else { return Ok(None) };
    let mut unsure = None;
    for (typed, other) in others {
        let (here, there) = (first.facts.size_bytes, other.facts.size_bytes);
        if here != there {
            return Err(differ(first_typed, typed, &format!("they have {} and {}", size(here), size(there))));
        }
        // A file by its path and by a link, a device by two of its nodes.
        if is_one(&first.facts.path, &other.facts.path) {
            continue;
        }
        let mut is_blank = true;
        for offset in offsets(here) {
            match alike(first, other, offset)? {
                Alike::Zeros => {}
                Alike::Yes => is_blank = false,
                Alike::No => {
                    let what = format!("their contents differ at byte {offset}");
                    return Err(differ(first_typed, typed, &what));
                }
            }
        }
        if is_blank && unsure.is_none() {
            unsure = Some(format!(
                "'{}' and '{}' hold only zeros where they were compared, so they may be different storage",
                printable(first_typed),
                printable(typed)
            ));
        }
    }
    Ok(unsure)
}

fn differ(first: &str, other: &str, what: &str) -> Refusal {
    refusal(format!(
        "'{}' and '{}' are not the same storage: {what}; name paths to the same file or device",
        printable(first),
        printable(other)
    ))
}

fn is_one(one: &Path, other: &Path) -> bool {
    let (Ok(one), Ok(other)) = (Identity::at(one), Identity::at(other)) else { return false };
    one == other
}

/// Where to look, spread from the first to the last block.
fn offsets(size_bytes: u64) -> Vec<u64> {
    let last = size_bytes.saturating_sub(BLOCK_BYTES as u64);
    let mut offsets = Vec::new();
    for nth in 0..PLACES {
        offsets.push((u128::from(last) * u128::from(nth) / u128::from(PLACES - 1)) as u64);
    }
    offsets.dedup();
    offsets
}

enum Alike {
    Zeros,
    Yes,
    No,
}

fn alike(one: &OpenedTarget, other: &OpenedTarget, offset: u64) -> Result<Alike, Refusal> {
    for _ in 0..TRIES {
        let bytes = block(one, offset)?;
        if bytes == block(other, offset)? {
            return Ok(if bytes.iter().all(|&byte| byte == 0) { Alike::Zeros } else { Alike::Yes });
        }
    }
    Ok(Alike::No)
}

/// Reads a block from the storage: each path may have a cache of its own, which does not see writes by other paths.
fn block(target: &OpenedTarget, offset: u64) -> Result<Vec<u8>, Refusal> {
    // If that fails, cached data is compared.
    drop_cached(&target.file, offset, BLOCK_BYTES as u64);
    let mut bytes = vec![0; BLOCK_BYTES.min(target.facts.size_bytes as usize)];
    read_exact_at(&target.file, &mut bytes, offset).map_err(|error| {
        refusal(format!("'{}': could not be read: {}", target.facts.path.display(), system_text(&error)))
    })?;
    Ok(bytes)
}

/// The switches of all disks below the targets, each noted in the journal and tried.
pub fn switches(series: &mut Series, found: &[Found], risk_power_loss: bool) -> Result<Vec<Switch>, Ended> {
    let roots = Roots::default();
    let mut disks: Vec<&String> = Vec::new();
    for place in found {
        if place.disks.is_empty() {
            let shown = &place.place.shown;
            return Err(refused(format!("'{shown}' lies on no disk of this machine")));
        }
        disks.extend(&place.disks);
    }
    disks.sort();
    disks.dedup();
    let switches: Vec<Switch> =
        disks.iter().map(|disk| claimed(series, disk, &roots)).collect::<Result<_, _>>()?;
    for switch in &switches {
        let user = user_of(&switch.disk, found, &roots);
        may_switch(switch, user.as_deref(), risk_power_loss)?;
    }
    for switch in &switches {
        note(series, switch, &roots)?;
    }
    // Once and back, so that a disk whose cache cannot be switched is refused before files are filled.
    for switch in &switches {
        let tried = switch.set(other(&switch.now)).and_then(|()| switch.set(&switch.now));
        tried.map_err(|no| refused(no.to_string()))?;
    }
    Ok(switches)
}

fn other(word: &str) -> &'static str {
    if word == WRITE_BACK { WRITE_THROUGH } else { WRITE_BACK }
}

/// A switch that only this series may use, with its present setting.
fn claimed(series: &mut Series, disk: &str, roots: &Roots) -> Result<Switch, Ended> {
    let path = switch_of(disk, roots)?.path;
    let claimed = series.journal()?.claim(&path);
    for one in claimed.map_err(|words| refused(format!("{disk}: {words}")))? {
        series.tell_left(&one);
    }
    // Read again: another series may have had it switched before the claim.
    let switch = switch_of(disk, roots)?;
    switch.check().map_err(|no| refused(no.to_string()))?;
    Ok(switch)
}

fn switch_of(disk: &str, roots: &Roots) -> Result<Switch, Ended> {
    Switch::of(disk, roots).map_err(|no| refused(no.to_string()))
}

/// What uses the disk, in words: anything on it or made of it, not only the targets.
fn user_of(disk: &str, found: &[Found], roots: &Roots) -> Option<String> {
    match claims(disk, roots) {
        Err(why) => return Some(format!("it is not known whether it is in use: {why}")),
        Ok(Some(user)) => return Some(user),
        Ok(None) => {}
    }
    let mut over_it = found.iter().filter(|place| place.disks.iter().any(|name| name == disk));
    let target = over_it.find(|place| !place.is_unused)?;
    Some(format!("'{}', which lies on it, is in use", target.place.shown))
}

fn claims(disk: &str, roots: &Roots) -> Result<Option<String>, String> {
    let device = BlockDevice::named(disk, roots).ok_or("it is not in sysfs")?;
    let node = roots.dev.join(device.node_name());
    let failed = |error: std::io::Error| format!("{}: {}", node.display(), system_text(&error));
    let file = File::open(&node).map_err(failed)?;
    if device.number() != Some(DeviceNumber::from_raw(Stat::of_open(&file).map_err(failed)?.node_of)) {
        return Err(format!("{} is another device", node.display()));
    }
    let claim = claim(&file, &node, roots).map_err(|error| error.to_string())?;
    match (claim.by.is_empty(), claim.missing.first()) {
        (false, _) => Ok(Some(claim.to_string())),
        (true, Some(missing)) => Err(missing.to_string()),
        (true, None) => Ok(None),
    }
}

/// Refuses to put other data on a disk at a higher risk from a power loss than without the study.
fn may_switch(switch: &Switch, user: Option<&str>, risk_power_loss: bool) -> Result<(), Refusal> {
    let Some(user) = user else { return Ok(()) };
    if risk_power_loss {
        return Ok(());
    }
    let risk = match switch.reach {
        Reach::Kernel => {
            "only the kernel's setting (queue/write_cache) can be switched; with it off, the kernel sends no flushes"
        }
        Reach::Disk if switch.now == WRITE_THROUGH => {
            "its write cache is off, and the study would turn it on"
        }
        Reach::Disk => return Ok(()),
    };
    let message = format!("{}: {risk}, and a power loss can destroy other data on it: {user}", switch.disk);
    Err(refusal(message).hint("name a disk that nothing uses, or use --risk-power-loss"))
}

fn note(series: &mut Series, switch: &Switch, roots: &Roots) -> Result<(), Ended> {
    let Some(disk) = Disk::named(&switch.disk, roots) else {
        return Err(refused(format!("{}: the disk is no longer in sysfs; try again", switch.disk)));
    };
    let entry = Undo::Setting {
        path: switch.path.clone(),
        before: switch.now.clone(),
        during: other(&switch.now).into(),
        disk,
    };
    series.journal()?.add(entry).map_err(|error| {
        refused(format!(
            "the setting could not be saved for restoring it if the program is killed: {}",
            system_text(&error)
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use truespd_platform::machine::roots::Roots;
    use truespd_platform::machine::storage::{ReadFlags, open};

    const SIZE: usize = 1 << 20;

    fn checked(contents: [&[u8]; 2]) -> Result<Option<String>, Refusal> {
        let folder = tempfile::tempdir().expect("a folder");
        let opened = |name: &str, content: &[u8]| {
            let path = folder.path().join(name);
            fs::write(&path, content).expect("a file");
            open(&path, ReadFlags::CACHED, &Roots::default()).expect("is there")
        };
        check(&[("a", opened("a", contents[0])), ("b", opened("b", contents[1]))])
    }

    #[test]
    fn other_storage_is_told_by_its_size_and_by_what_it_holds() {
        let content: Vec<u8> = (0..SIZE).map(|n| (n / 7) as u8).collect();
        assert_eq!(checked([&content, &content]), Ok(None));
        let words = checked([&content, &content[..SIZE / 2]]).unwrap_err().to_string();
        assert!(
            words.contains("'a' and 'b' are not the same storage: they have 1 MiB and 512 KiB"),
            "{words}"
        );
        for place in [0, SIZE / 2, SIZE - 1] {
            let mut other = content.clone();
            other[place] ^= 1;
            let words = checked([&content, &other]).unwrap_err().to_string();
            assert!(
                words.contains("are not the same storage: their contents differ at byte "),
                "{place}: {words}"
            );
        }
        let zeros = vec![0; SIZE];
        assert!(checked([&zeros, &zeros]).is_ok_and(|note| note.unwrap().contains("only zeros")));
    }

    #[test]
    fn the_first_and_the_last_block_are_among_what_is_read() {
        assert_eq!(offsets(4096), [0]);
        assert_eq!(offsets(8192).last(), Some(&4096));
        let many = offsets(1 << 40);
        assert_eq!((many.len(), many[0], many.last()), (PLACES as usize, 0, Some(&((1 << 40) - 4096))));
    }

    #[test]
    fn what_is_on_a_disk_in_use_is_not_put_at_risk_without_the_word() {
        let switch = |reach, now: &str| Switch {
            disk: "sda".into(),
            path: "/sys/block/sda/queue/write_cache".into(),
            reach,
            now: now.into(),
        };
        let mounted = Some("its partition sda2 is mounted at /srv (ext4)");
        for (reach, now, user, says) in [
            (Reach::Kernel, WRITE_BACK, mounted, "sends no flushes"),
            (Reach::Kernel, WRITE_THROUGH, mounted, "sends no flushes"),
            (Reach::Disk, WRITE_THROUGH, mounted, "would turn it on"),
            (Reach::Disk, WRITE_BACK, mounted, ""),
            (Reach::Disk, WRITE_THROUGH, None, ""),
            (Reach::Kernel, WRITE_BACK, None, ""),
        ] {
            let may = may_switch(&switch(reach, now), user, false);
            match says {
                "" => assert_eq!(may, Ok(()), "{reach:?} {now}"),
                says => {
                    let words = may.unwrap_err().to_string();
                    for part in [says, "sda2 is mounted", "--risk-power-loss"] {
                        assert!(words.contains(part), "{words}");
                    }
                }
            }
            assert_eq!(may_switch(&switch(reach, now), user, true), Ok(()));
        }
    }
}
