//! Who uses a regular file as if it were a device, who writes it, and what keeps it from being written.

use std::fs::File;
use std::io;
use std::time::{Duration, Instant};

use super::facts::{Fact, Missing, Unseen};
use super::locks::is_written_by_a_run;
use super::openers::{Opener, mappers_now, writers_now};
use truespd_platform::machine::beneath::Beneath;
use truespd_platform::machine::host::{Sight, sight};
use truespd_platform::machine::loops::{Below, by_nodes, standing_on};
use truespd_platform::machine::mounts::{read_swaps, swaps};
use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::storage::Filesystem;
use truespd_platform::sys::error::{Code, system_text};
use truespd_platform::sys::identity::Identity;
use truespd_platform::sys::identity::is_written_here;
use truespd_platform::sys::identity::write_locks;
use truespd_platform::sys::lock::{Others, others};
use truespd_platform::text::{printable, printable_path};

/// A use of a regular file as if it were a device.
#[derive(Debug)]
pub(super) struct FileUse {
    /// In words that follow the file's name: is in use as swap
    pub words: String,
    /// Kernel name of the loop device whose file it is.
    pub loop_device: Option<String>,
}

impl FileUse {
    fn by_loop(device: String, is_read_only: bool) -> Self {
        let read_only = if is_read_only { " (read-only)" } else { "" };
        let words = format!("is the file behind loop device {}{read_only}", printable(&device));
        FileUse { words, loop_device: Some(device) }
    }
}

/// Everybody who is known to use a file, and what is not known of that.
#[derive(Debug, Default)]
pub(super) struct FileUses {
    /// Uses as if it were a device.
    pub uses: Vec<FileUse>,
    /// Programs that have it open for writing.
    pub writers: Vec<Opener>,
    /// Somebody has it open for writing, and this process does not see who.
    pub hidden_writer: Option<Sight>,
    pub missing: Vec<Missing>,
    /// Whose writing is not visible with the rights of this process.
    pub unseen: Option<Unseen>,
}

/// How often it is asked who writes a file, and with which pause: only what keeps it open counts. A process that is
/// being started has the descriptors of its parent for a moment.
const CHECKS: u32 = 5;
const CHECK_PAUSE: Duration = Duration::from_millis(40);

/// How long it is asked who writes a file that no process shows: the kernel closes the files of a killed
/// process when its last I/O has ended, and until then nothing shows who has them open.
const LAST_IO: Duration = Duration::from_secs(6);

/// Who uses the open file, which must be open for reading only.
///
/// The kernel's own answer comes first (`sys::lock`): it needs neither procfs nor sysfs, and it knows of every user.
/// Where nobody has the file open, nothing else is asked. Of a file on overlayfs the file that holds its data is asked
/// as well.
///
/// # Errors
/// The system does not tell which file it is.
pub(super) fn uses_of_file(
    file: &File,
    filesystem: Option<&Filesystem>,
    roots: &Roots,
) -> io::Result<FileUses> {
    let mut found = FileUses::default();
    let asked = Asked { file, top: file, filesystem };
    found.ask(&asked, roots)?;
    let beneath = Beneath::of(file, roots);
    for below in &beneath.files {
        found.ask(&Asked { file: below, ..asked }, roots)?;
    }
    found.missing.extend(beneath.unknown.map(|why| Missing::new(Fact::Beneath, why)));
    Ok(found)
}

/// A file whose users are asked for.
#[derive(Clone, Copy)]
struct Asked<'a> {
    file: &'a File,
    /// The target: the file itself, or one whose data the file holds.
    top: &'a File,
    filesystem: Option<&'a Filesystem>,
}

impl Asked<'_> {
    /// A run of this program writes it by the path of the target, this one or another one: they may disturb each other.
    fn is_tested(&self) -> io::Result<bool> {
        Ok(is_written_by_a_run(self.top) || is_written_here(Identity::of(self.top)?))
    }

    /// The answer of the kernel, which does not tell everybody, or not on every file system.
    fn missing(&self, code: Code, roots: &Roots) -> Missing {
        let sight = sight(roots);
        let keeps_owners = self.filesystem.is_none_or(|f| !f.is_served() && !f.is_without_owners());
        if code == Code::ACCESS_DENIED && keeps_owners && sight != Sight::All {
            let why = "the kernel tells it the owner of the file and root only";
            return Missing::new(Fact::OtherPrograms, why);
        }
        let why = format!("the kernel does not tell it of this file: {}", system_text(&code.into()));
        Missing::new(Fact::Writers, why)
    }
}

/// Programs other than runs of this one that keep the file open for writing, as far as this process sees
/// them. It may be open for writing here, so that the kernel cannot be asked for a lease.
pub fn writers_of_file(file: &File, roots: &Roots) -> Vec<Opener> {
    let Ok(own) = Identity::of(file) else { return Vec::new() };
    let mut stayed: Option<Vec<Opener>> = None;
    for check in 1..=CHECKS {
        let mut now = writers_now(own, roots).unwrap_or_default();
        now.extend(mappers_now(file, own, roots).unwrap_or_default());
        let now: Vec<Opener> =
            now.into_iter().filter(|o| stayed.as_ref().is_none_or(|s| s.contains(o))).collect();
        if now.is_empty() || check == CHECKS {
            return now;
        }
        stayed = Some(now);
        std::thread::sleep(CHECK_PAUSE);
    }
    Vec::new()
}

/// Who uses the files that something stands on as if they were devices.
pub(super) fn uses_below(files: &[Below], roots: &Roots) -> FileUses {
    let mut found = FileUses::default();
    for below in files {
        found.ask_swaps(below.identity, roots);
        found.ask_loops(*below, roots);
    }
    found
}

impl FileUses {
    fn ask(&mut self, asked: &Asked<'_>, roots: &Roots) -> io::Result<()> {
        let Asked { file, .. } = *asked;
        let below = Below { identity: Identity::of(file)?, size_bytes: file.metadata()?.len() };
        let known = self.missing.len();
        match others(file) {
            Others::Nobody => return Ok(()),
            // Swap and loop devices that write would count as writers.
            Others::Readers => self.ask_loops(below, roots),
            Others::Writers | Others::Untold(_) => {
                self.ask_swaps(below.identity, roots);
                self.ask_loops(below, roots);
                self.ask_writers(asked, below.identity, roots)?;
            }
        }
        if others(file) == Others::Nobody {
            // Whoever had it open was about to close it.
            self.missing.truncate(known);
        }
        Ok(())
    }

    fn ask_swaps(&mut self, own: Identity, roots: &Roots) {
        match read_swaps(roots) {
            Ok(all) => {
                let is_swap = all.iter().any(|swap| Identity::at(swap).is_ok_and(|at| at == own));
                if is_swap {
                    self.uses.push(FileUse { words: "is in use as swap".to_string(), loop_device: None });
                }
            }
            Err(error) => {
                let why = format!("{}: {}", printable_path(&swaps(roots)), system_text(&error));
                self.missing.push(Missing::new(Fact::Swaps, why));
            }
        }
    }

    fn ask_loops(&mut self, below: Below, roots: &Roots) {
        match standing_on(&[below], roots) {
            Ok(all) => {
                for device in all {
                    self.uses.push(FileUse::by_loop(device.name.clone(), device.is_read_only()));
                }
            }
            Err(why) => {
                let told = by_nodes(below.identity, roots);
                for (device, is_read_only) in told.found {
                    self.uses.push(FileUse::by_loop(device, is_read_only));
                }
                if !told.is_complete {
                    self.missing.push(Missing::new(Fact::Loops, why));
                }
            }
        }
    }

    fn ask_writers(&mut self, asked: &Asked<'_>, own: Identity, roots: &Roots) -> io::Result<()> {
        let begin = Instant::now();
        let mut stayed: Option<Vec<Opener>> = None;
        for check in 1.. {
            let told = others(asked.file);
            if matches!(told, Others::Nobody | Others::Readers) {
                break;
            }
            let seen = writers_now(own, roots);
            let now = seen.as_deref().unwrap_or_default().iter();
            let now: Vec<Opener> =
                now.filter(|o| stayed.as_ref().is_none_or(|s| s.contains(o))).cloned().collect();
            // A use that is known has it open, too, and so has a writer of the file above.
            let is_explained = !self.uses.is_empty() || !self.writers.is_empty() || asked.is_tested()?;
            let is_hidden = told == Others::Writers && now.is_empty() && !is_explained;
            let is_last = if is_hidden { begin.elapsed() >= LAST_IO } else { check >= CHECKS };
            if is_last || (now.is_empty() && !is_hidden) {
                self.hidden_writer = self.hidden_writer.or(is_hidden.then(|| sight(roots)));
                self.writers.extend(now);
                if !is_hidden {
                    self.unseen = Unseen::beyond(sight(roots));
                    self.missing.extend(seen.err());
                }
                if let Others::Untold(code) = told {
                    let missing = asked.missing(code, roots);
                    self.missing.extend((!self.missing.contains(&missing)).then_some(missing));
                }
                break;
            }
            stayed = Some(now).filter(|now| !now.is_empty());
            std::thread::sleep(CHECK_PAUSE);
        }
        Ok(())
    }
}

/// Flags of the open file that let nobody change it, in words that follow "it is".
pub(super) fn locks_of_file(file: &File) -> Vec<&'static str> {
    let set = write_locks(file);
    let flags = [
        (set.immutable, "marked immutable (chattr +i)"),
        (set.append_only, "marked append-only (chattr +a)"),
        (set.sealed, "sealed with fs-verity"),
    ];
    flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, lock)| lock).collect()
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use super::*;
    use crate::guard::hold::Hold;
    use crate::guard::locks::take_seat;
    use truespd_platform::machine::storage::filesystem_of;

    /// A file, and a process that has it open for writing for so many seconds.
    fn written_for(seconds: &str) -> (tempfile::NamedTempFile, Child) {
        let file = tempfile::NamedTempFile::new().unwrap();
        let writer = File::options().write(true).open(file.path()).unwrap();
        let child = Command::new("sleep").arg(seconds).stdout(Stdio::from(writer)).spawn().unwrap();
        // The descriptor in `file` is for writing, too.
        let path = file.into_temp_path();
        (tempfile::NamedTempFile::from_parts(File::open(&path).unwrap(), path), child)
    }

    /// Another process that writes the file as a run does.
    fn run_that_writes(path: &std::path::Path) -> Child {
        let writer = File::options().read(true).write(true).open(path).unwrap();
        take_seat(&writer).unwrap();
        Command::new("sleep").arg("60").stdout(Stdio::from(writer)).spawn().unwrap()
    }

    #[test]
    fn only_writers_that_keep_a_file_open_are_told() {
        let told = |seconds| {
            let (file, mut child) = written_for(seconds);
            let found = writers_of_file(file.as_file(), &Roots::default()).len();
            child.kill().and_then(|()| child.wait()).unwrap();
            found
        };
        assert_eq!(told("60"), 1);
        // On a busy machine its end may come late.
        assert!((0..10).any(|_| told("0.12") == 0));
    }

    #[test]
    fn a_writer_that_is_known_is_not_looked_for_any_longer() {
        let nobody = tempfile::tempdir().unwrap();
        let hidden = Roots { proc: nobody.path().to_path_buf(), ..Roots::default() };
        let (file, mut child) = written_for("60");
        if matches!(others(file.as_file()), Others::Untold(_)) {
            return child.kill().and_then(|()| child.wait()).map(drop).unwrap();
        }
        let found = |roots: &Roots| {
            let found = uses_of_file(file.as_file(), None, roots).unwrap();
            let is_told = found.missing.iter().any(|missing| missing.fact == Fact::Programs);
            assert!(found.unseen.is_some() || !is_told, "both say that processes are not seen");
            (found.writers.len(), found.hidden_writer.is_some(), is_told)
        };
        assert_eq!(found(&Roots::default()), (1, false, false), "a process that is seen");
        assert_eq!(found(&hidden), (0, true, false), "it is known that there is one");
        let mut reader = Hold::take(&File::open(file.path()).unwrap(), file.path()).unwrap();
        reader.say(crate::guard::locks::RunLock::Writes);
        assert_eq!(found(&hidden), (0, true, false), "who may only read can say so, too");
        drop(reader);
        // In another process, because this one is asked about first.
        let mut run = run_that_writes(file.path());
        assert_eq!(found(&hidden), (0, false, true), "another run of this program");
        run.kill().and_then(|()| run.wait()).unwrap();
        let own = File::options().write(true).open(file.path()).unwrap();
        assert_eq!(found(&hidden), (0, false, true), "this process");
        drop(own);
        child.kill().and_then(|()| child.wait()).unwrap();
    }

    #[test]
    fn whom_the_kernel_does_not_tell_depends_on_the_file_system() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("self")).unwrap();
        std::fs::write(dir.path().join("self/status"), "Uid:\t7 7 7 7\nCapEff:\t0000000000000000\n").unwrap();
        let user = Roots { proc: dir.path().to_path_buf(), ..Roots::default() };
        let file = tempfile::tempfile().unwrap();
        let mut filesystem = filesystem_of(&file, &Roots::default()).unwrap();
        let mut told = |name: &str, code: Code| {
            filesystem.name = name.to_string();
            Asked { file: &file, top: &file, filesystem: Some(&filesystem) }.missing(code, &user).fact
        };
        assert_eq!(told("ext4", Code::ACCESS_DENIED), Fact::OtherPrograms);
        assert_eq!(told("ext4", Code::INVALID), Fact::Writers, "no leases there");
        // Every file there belongs to somebody else, also those that this user made.
        assert_eq!(told("vfat", Code::ACCESS_DENIED), Fact::Writers);
        assert_eq!(told("fuse.bindfs", Code::ACCESS_DENIED), Fact::Writers);
        assert!(Fact::OtherPrograms.is_needed_of_ours() && !Fact::Writers.is_needed_of_ours());
    }

    #[test]
    fn a_writer_that_no_process_shows_is_waited_for_and_then_told() {
        let nobody = tempfile::tempdir().unwrap();
        let roots = Roots { proc: nobody.path().to_path_buf(), ..Roots::default() };
        let told = |seconds| {
            let (file, mut child) = written_for(seconds);
            let says_nothing = matches!(others(file.as_file()), Others::Untold(_));
            let found = uses_of_file(file.as_file(), None, &roots).unwrap();
            child.kill().and_then(|()| child.wait()).unwrap();
            (!says_nothing).then_some(found.hidden_writer.is_some())
        };
        // A file system without leases is a place for temporary files, too.
        assert_ne!(told("1"), Some(true), "gone after a second, as what is left of a killed process");
        assert_ne!(told("60"), Some(false));
    }
}
