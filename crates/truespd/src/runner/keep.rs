//! Documents of a series in a folder, kept and found again.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::runner::{Kind, Step};
use diskspd::request::Line;
use diskspd::run::unfinished::{Taken, Unfinished};
use truespd_core::load::KnownTarget;
use truespd_core::profile::Profile;
use truespd_core::result::{Document, json};
use truespd_platform::fault::{Failure, FailureKind, Refusal, RefusalKind};
use truespd_platform::machine::chain;
use truespd_platform::machine::device::BlockDevice;
use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::storage::{ReadFlags, open, open_folder};
use truespd_platform::machine::thing::Thing;
use truespd_platform::sys::destination::{Destination, LostWay, follow, make_folders};
use truespd_platform::sys::error::{Code, system_text};
use truespd_platform::sys::lock::try_alone;
use truespd_platform::text::{printable_path, size};

/// A folder of documents, one per run, named after number and step.
#[derive(Debug)]
pub struct Kept {
    folder: PathBuf,
    resume: bool,
    count: usize,
    /// Names of the documents that were there at the beginning, by their numbers.
    there: BTreeMap<usize, String>,
    /// The folder, locked: two series would use the same names.
    lock: Option<File>,
}

impl Kept {
    /// Checks the folder, which need not exist yet. Without `resume` it must hold no documents of a series. What is
    /// there must take new documents.
    ///
    /// # Errors
    /// Why the folder cannot be used.
    pub fn open(folder: &Path, resume: bool) -> Result<Self, Refusal> {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => Some(entries),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) if error.kind() == ErrorKind::NotADirectory => {
                return Err(
                    refusal(folder, "this is a file").hint("give a folder, which is made when it is missing")
                );
            }
            Err(error) => return Err(refusal(folder, &system_text(&error))),
        };
        let is_there = entries.is_some();
        let names = entries.into_iter().flatten().flatten().map(|entry| entry.file_name());
        let names = names.map(|name| name.to_string_lossy().into_owned());
        let there: BTreeMap<usize, String> = names.filter_map(|name| Some((number(&name)?, name))).collect();
        if !resume && !there.is_empty() {
            let already = refusal(folder, "it already holds documents of a series");
            return Err(already.hint("choose another folder, or go on with --resume"));
        }
        let mut kept = Kept { folder: folder.to_path_buf(), resume, count: 0, there, lock: None };
        if is_there {
            make(&folder.join("trial")).map_err(|lost| refusal(folder, &lost.to_string()))?;
            kept.lock()?;
        }
        Ok(kept)
    }

    /// Makes the folder when it is missing.
    ///
    /// # Errors
    /// It cannot be made, or another series has it.
    pub fn make(&mut self) -> Result<(), Refusal> {
        make_folders(&self.folder).map_err(|lost| refusal(&self.folder, &lost.to_string()))?;
        self.lock()
    }

    /// Locks the folder until this is dropped. A file system without locks is no error.
    fn lock(&mut self) -> Result<(), Refusal> {
        if self.lock.is_some() {
            return Ok(());
        }
        let Ok(folder) = File::open(&self.folder) else { return Ok(()) };
        if matches!(try_alone(&folder), Ok(false)) {
            let hint = "wait until it has ended, or choose another folder";
            return Err(refusal(&self.folder, "another series keeps its documents there now").hint(hint));
        }
        self.lock = Some(folder);
        Ok(())
    }

    /// Whether a result at `path` would take the place of a run's document.
    pub fn would_hold(&self, path: &Path) -> bool {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        name.is_some_and(|name| number(&name).is_some()) && real(folder) == real(&self.folder)
    }

    /// The kept document of the next run, of the same machine and suite, with the same command line and the
    /// same profile: the file of `-X` may have changed. After that (or after [`Kept::put`]) the run after it
    /// is the next one. A document that cannot be read counts as missing.
    ///
    /// # Errors
    /// It is the document of another run.
    pub fn found(&mut self, step: &Step, planned: &Planned<'_>) -> Result<Option<Document>, Refusal> {
        let Some(name) = self.there.get(&(self.count + 1)) else { return Ok(None) };
        let path = self.path(step);
        let differs = if path.file_name().is_some_and(|own| own.to_string_lossy() == *name) {
            let read = json::text_of_file(&path).ok().and_then(|bytes| json::read(&bytes).ok());
            let Some(document) = read else { return Ok(None) };
            let differs = planned.differs(&document).or_else(|| planned.measures_another(&document));
            let Some(what) = differs else {
                self.count += 1;
                return Ok(Some(document));
            };
            what
        } else {
            format!("this is not the run '{}'", step.name)
        };
        Err(refusal(&self.folder.join(name), &differs)
            .hint("--resume needs the options of the series that began there: repeat them, or choose another folder"))
    }

    /// Keeps the document of the next run.
    ///
    /// # Errors
    /// The system's error.
    pub fn put(&mut self, step: &Step, document: &Document) -> Result<(), Failure> {
        let path = self.path(step);
        self.count += 1;
        // With --resume it may replace one that could not be read, or one of a run that is repeated.
        let taken = if self.resume { Taken::Replaced } else { Taken::Stays };
        let text = json::write(document);
        let kept = match make(&path) {
            Ok(file) => file.finish(text.as_bytes(), taken).map_err(|error| system_text(&error)),
            Err(lost) => Err(lost.to_string()),
        };
        let words = format!("--keep '{}'", printable_path(&path));
        kept.map_err(|why| Failure::new(FailureKind::Output, words).because(why))
    }

    fn path(&self, step: &Step) -> PathBuf {
        self.folder.join(format!("{:03}-{}.json", self.count + 1, slug(&step.name)))
    }
}

fn real(folder: &Path) -> PathBuf {
    folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf())
}

/// A document, beside its place.
fn make(path: &Path) -> Result<Unfinished, LostWay> {
    let made = match follow(path)? {
        Destination::Entry(entry) => Unfinished::make(entry),
        Destination::Open(_) => Err(Code::ALREADY_EXISTS),
    };
    made.map_err(|code| LostWay::System { at: path.to_path_buf(), code })
}

/// Why the folder, or a document in it, is refused.
fn refusal(path: &Path, why: &str) -> Refusal {
    Refusal::new(RefusalKind::Output, format!("--keep '{}': {why}", printable_path(path)))
}

/// The next run of a series.
pub struct Planned<'a> {
    pub computer_name: &'a str,
    pub program: &'a str,
    pub line: &'a Line,
}

impl Planned<'_> {
    /// What shows that a document is of another run; none when it is of this one.
    fn differs(&self, document: &Document) -> Option<String> {
        let Some((suite, words)) = document.command_line.split_first() else {
            return Some("this is not a run of a suite".to_string());
        };
        if suite != self.program {
            return Some(format!("this is a run of {suite}"));
        }
        if document.system.computer_name != self.computer_name {
            return Some(format!("this is a run on the machine {}", document.system.computer_name));
        }
        let (own, other) = (comparable(self.line.words()), comparable(words));
        if own != other {
            let (there, here) = (only_in(&other, &own), only_in(&own, &other));
            return Some(format!("its command line has {there}, and that of this series has {here}"));
        }
        let is_same =
            with_comparable_paths(&document.profile) == with_comparable_paths(&self.line.request().profile);
        (!is_same).then(|| "this is a run of another profile".to_string())
    }
}

impl Planned<'_> {
    /// What shows that the run measured another file or disk than the series would now. What nothing tells apart
    /// counts as the same.
    fn measures_another(&self, document: &Document) -> Option<String> {
        let roots = Roots::default();
        let planned = self.line.request().profile.targets();
        let measured = document.measured().flat_map(|measured| &measured.evidence.targets);
        planned.zip(measured).find_map(|(target, then)| {
            let path = printable_path(Path::new(&target.path));
            // A suite makes the files of its own folder again.
            let is_own = comparable(std::slice::from_ref(&target.path)) != [target.path.clone()];
            let now = if is_own { None } else { KnownTarget::look(&target.path, &roots) };
            if let (Some(then), Some(now)) = (&then.identity, &now)
                && then.is_again(&now.thing) == Some(false)
            {
                return Some(match (then.size_bytes(), now.thing.size_bytes()) {
                    (Some(then), Some(now)) if then != now => {
                        format!("'{path}' had {} when that run was made, and has {}", size(then), size(now))
                    }
                    _ => format!("'{path}' is another file or disk than when that run was made"),
                });
            }
            let disks = disks_below(Path::new(&target.path), &roots);
            let then = then.lowest().filter_map(|layer| Some((&layer.name, layer.identity.as_ref()?)));
            let mut gone = then.filter(|(_, then)| {
                !disks.is_empty() && disks.iter().all(|now| then.is_again(now) == Some(false))
            });
            gone.next().map(|(name, _)| {
                format!("that run measured the disk {name}, and '{path}' is on another disk now")
            })
        })
    }
}

/// The lowest devices below the file or device at a path, or below the folder where it is going to be.
fn disks_below(path: &Path, roots: &Roots) -> Vec<Thing> {
    let opened = path.ancestors().find_map(|place| {
        let opened = open(place, ReadFlags::CACHED, roots);
        opened.or_else(|_| open_folder(place, roots)).ok()
    });
    let Some(opened) = opened else { return Vec::new() };
    let layers = chain::of(&opened.file, &opened.facts, roots);
    let lowest = layers.iter().filter(|layer| layer.below.is_empty());
    let devices = lowest.filter_map(|layer| BlockDevice::find(layer.number?, roots));
    devices.map(|device| Thing::of_device(&device, roots)).collect()
}

/// The words of one line that the other does not have.
fn only_in(one: &[String], other: &[String]) -> String {
    let words: Vec<&str> = one.iter().filter(|word| !other.contains(word)).map(String::as_str).collect();
    if words.is_empty() { "nothing else".to_string() } else { words.join(" ") }
}

/// Whether the document of a series at `path` is of a step whose figures do not count, by the end of its name.
pub fn is_of_uncounted(path: &Path) -> bool {
    let name = slug(&path.file_stem().unwrap_or_default().to_string_lossy());
    Kind::UNCOUNTED.iter().any(|kind| name.ends_with(&slug(kind.name())))
}

/// The number of a run in the name of its document.
fn number(name: &str) -> Option<usize> {
    let digits = name.chars().take_while(char::is_ascii_digit).count();
    let is_document = digits >= 3 && name[digits..].starts_with('-') && name.ends_with(".json");
    is_document.then(|| name[..digits].parse().ok()).flatten()
}

/// Small letters, digits and single dashes.
fn slug(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let slug = words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-");
    // ASCII. A name may have 255 bytes, and steps that name their targets can be longer; the number tells
    // them apart. The end stays: what a run is, and whether it counts.
    slug[slug.len().saturating_sub(SLUG_BYTES_MAX)..].to_string()
}

/// Longest part of a document's name that comes from its step.
const SLUG_BYTES_MAX: usize = 150;

/// The profile with [`comparable`] paths.
fn with_comparable_paths(profile: &Profile) -> Profile {
    let mut profile = profile.clone();
    for target in profile.time_spans.iter_mut().flat_map(|span| &mut span.targets) {
        target.path = comparable(std::slice::from_ref(&target.path)).concat();
    }
    profile
}

/// The command line with the same name for every folder that a suite makes for its files.
fn comparable(words: &[String]) -> Vec<String> {
    words.iter().map(|word| word.split('/').map(comparable_part).collect::<Vec<_>>().join("/")).collect()
}

/// The part of a path; of a folder `truespd-mark-1234-0` without its numbers.
fn comparable_part(part: &str) -> &str {
    let mut ends = part.rsplit('-').take(2);
    let is_made_up = part.matches('-').count() > 1
        && part.starts_with("truespd-")
        && ends.all(|end| !end.is_empty() && end.bytes().all(|byte| byte.is_ascii_digit()));
    if is_made_up { "truespd-*" } else { part }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made::comes_to_hold;
    use crate::runner::Length;
    use diskspd::request::Request;

    fn step(name: &str, words: &[&str]) -> (Step, Vec<String>) {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        let line = Line::new(words.clone(), Request::default());
        (Step { name: name.into(), line, length: Length::exactly(1.0), kind: Kind::Counts }, words)
    }

    fn document(words: &[String]) -> Document {
        let command_line = std::iter::once("truespd mark".to_string()).chain(words.iter().cloned()).collect();
        Document { command_line, ..Document::default() }
    }

    #[test]
    fn runs_are_found_again_by_place_and_words() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("kept");
        let line = |words: &[String]| Line::new(words.to_vec(), Request::default());
        let find = |kept: &mut Kept, step: &Step, words: &[String]| {
            kept.found(step, &Planned { computer_name: "", program: "truespd mark", line: &line(words) })
        };
        let (first, first_words) = step("RND4K Q32T1 read, 1 of 2", &["-r", "/m/truespd-mark-77-0/data"]);
        let (second, second_words) = step("SEQ", &["-s", "/m/truespd-mark-77-0/data"]);
        let mut kept = Kept::open(&folder, false).unwrap();
        assert!(!folder.exists(), "refusals leave nothing");
        kept.make().unwrap();
        assert!(find(&mut kept, &first, &first_words).unwrap().is_none());
        let second_series = Kept::open(&folder, true).unwrap_err();
        assert!(
            second_series.message.contains("another series keeps its documents there"),
            "{second_series}"
        );
        kept.put(&first, &document(&first_words)).unwrap();
        kept.put(&second, &document(&second_words)).unwrap();
        assert!(folder.join("001-rnd4k-q32t1-read-1-of-2.json").exists());
        assert!(Kept::open(&folder, false).unwrap_err().to_string().contains("--resume"));
        let long = step(&format!("{}: A, {}", "x".repeat(300), Kind::First.name()), &[]).0;
        kept.put(&long, &document(&[])).expect("a name that fits");
        let names = || fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
        let is_whole =
            |name: &str| name.starts_with("003-x") && name.ends_with("first-run-does-not-count.json");
        assert!(names().any(|name| is_whole(name.to_str().unwrap())), "the end tells that it does not count");
        let file = place.path().join("file");
        fs::write(&file, "x").unwrap();
        assert!(Kept::open(&file, false).unwrap_err().to_string().contains("this is a file; give a folder"));

        assert!(kept.would_hold(&folder.join("007-x.json")) && !kept.would_hold(&folder.join("x.json")));
        assert!(!kept.would_hold(&place.path().join("007-x.json")));

        drop(kept);
        // A process that another test is starting has the lock, too, for a moment.
        let mut again = None;
        let mut reopens = || {
            again = Kept::open(&folder, true).ok();
            again.is_some()
        };
        assert!(comes_to_hold(&mut reopens));
        let mut kept = again.unwrap();
        let (_, again) = step("", &["-r", "/m/truespd-mark-9123-4/data"]);
        assert!(find(&mut kept, &first, &again).unwrap().is_some(), "another process, another folder");
        let (_, other) = step("", &["-s", "-b8K", "/m/truespd-mark-77-0/data"]);
        let error = find(&mut kept, &second, &other).unwrap_err();
        assert!(
            error.message.ends_with(
                "002-seq.json': its command line has nothing else, and that of this series has -b8K"
            ),
            "{error}"
        );
        let error = find(&mut kept, &step("RND", &[]).0, &second_words).unwrap_err();
        assert!(error.message.contains("002-seq.json': this is not the run 'RND'"), "{error}");
        let profile = Profile { progress_ios: 7, ..Profile::default() };
        let same = line(&second_words);
        let other = Line::new(second_words.clone(), Request { profile, ..Request::default() });
        let planned = |line| Planned { computer_name: "", program: "truespd mark", line };
        for (planned, says) in [
            (Planned { computer_name: "other", ..planned(&same) }, "on the machine"),
            (Planned { program: "truespd ab", ..planned(&same) }, "a run of truespd mark"),
            (planned(&other), "another profile"),
        ] {
            let error = kept.found(&second, &planned).unwrap_err();
            assert!(error.message.contains(says), "{error}");
        }
        assert!(find(&mut kept, &second, &second_words).unwrap().is_some());
        let path = kept.path(&long);
        fs::write(&path, "{").unwrap();
        assert!(find(&mut kept, &long, &[]).unwrap().is_none(), "half a document is none");
        kept.put(&long, &document(&[])).expect("in its place");
        assert!(fs::read(&path).unwrap().len() > 10);
    }
}
