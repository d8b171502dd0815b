//! Targets of studies: directories in which files are made, files and devices that are there.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::cli::commands::ab::fill;
use crate::cli::commands::study::{Common, failed, refused, same};
use crate::cli::commands::suite::say_read_only;
use crate::series::Series;
use crate::series::place::{self, Place, absolute};
use crate::suite::Ended;
use crate::suite::study::{Study, StudyTarget};
use diskspd::console::say_line;
use truespd_core::machine::roots::Roots;
use truespd_core::machine::storage::{OpenedTarget, ReadFlags, TargetKind, resolve};
use truespd_core::machine::write_cache::disks;
use truespd_core::machine::{chain, storage};
use truespd_core::sys::error::system_text;
use truespd_core::text::{printable, printable_path};

/// A target with what else is known of it.
pub struct Found {
    /// For the study.
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
    made.map(|made| &made.place.word).try_for_each(|word| fill(series, word, size_bytes))
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
        if let Some(unsure) = same::check(&opened)? {
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
            "'{}' has {has_bytes} bytes, but one I/O of study {} needs {block_bytes} bytes; name a larger file, or a directory for a \
         test file",
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
    let file = series.scratch(&there.folder(), study.name(), &["data"])?.file("data");
    fs::write(&file, "").map_err(|error| {
        refused(format!("'{}': no file can be created: {}", there.word(), system_text(&error)))
    })?;
    Ok(file)
}

fn open(typed: &str) -> Result<OpenedTarget, Ended> {
    let roots = Roots::default();
    let path = resolve(typed, &roots).map_err(|e| refused(e.to_string()))?.path;
    storage::open(&path, ReadFlags::CACHED, &roots).map_err(|e| refused(e.to_string()))
}
