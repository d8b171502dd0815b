//! Processes that have a device or file open. The kernel lets several write to one device; a virtual machine's disk
//! or a database on a raw device is in use all the same.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use super::facts::{Fact, Missing};
use super::locks::RunLocks;
use truespd_platform::machine::device::{BlockDevice, DeviceNumber};
use truespd_platform::machine::namespace;
use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::roots::read_word;
use truespd_platform::sys::error::system_text;
use truespd_platform::sys::file::{FileKind, Stat};
use truespd_platform::sys::file::{is_for_writing, own_path};
use truespd_platform::sys::identity::{Identity, block_device_at};
use truespd_platform::sys::system::user;
use truespd_platform::text::{printable, printable_path, shell_line};

/// The target itself, in messages.
pub(super) const IT: &str = "it";

/// A process that has a device, or a partition of it, open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opener {
    id: u32,
    name: String,
    /// What of the device it has open.
    what: String,
    pub writes: bool,
}

impl fmt::Display for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = if self.writes { " for writing" } else { "" };
        write!(f, "process {} ({}) has {} open{how}", self.id, printable(&self.name), self.what)
    }
}

/// A search through all processes that takes longer than this is given up: a descriptor may lead to a server that does
/// not answer.
const SEARCH_MAX: Duration = Duration::from_secs(10);

/// Processes that have the device or a partition of it open, or the character device by which its disk takes
/// NVMe commands; without the rights of root only those of the same user are seen.
///
/// Runs of this program may share a device: two tests at once are a test, too.
///
/// # Errors
/// Procfs is missing, or does not answer in time.
pub fn programs_with(device: DeviceNumber, roots: &Roots) -> Result<Vec<Opener>, Missing> {
    let own = BlockDevice::find(device, roots);
    let parts = own.as_ref().map(BlockDevice::partitions).unwrap_or_default();
    let parts: Vec<_> = parts.into_iter().filter_map(|p| Some((p.number()?, p.name))).collect();
    let nodes = own.map(|own| namespace::nodes_of(&own, roots)).unwrap_or_default();
    let dev = roots.dev.clone();
    let numbers = std::iter::once(device).chain(parts.iter().map(|(number, _)| *number)).collect();
    let mut found = device_mappers(numbers, roots)?;
    let opened = openers(roots, SEARCH_MAX, move |link, fd, _| {
        // Only device nodes are examined: reading the facts of a file on a dead server hangs.
        let node = link.starts_with(&dev).then(|| Stat::at(fd).ok()).flatten()?;
        let number = DeviceNumber::from_raw(node.node_of);
        match node.kind {
            FileKind::Block if number == device => Some(IT.to_string()),
            FileKind::Block => {
                let part = parts.iter().find(|(n, _)| *n == number);
                part.map(|(_, name)| format!("its partition {name}"))
            }
            // NVMe commands go past everything that the kernel knows of the disk.
            FileKind::Character => {
                let node = nodes.iter().find(|(_, n)| *n == number);
                node.map(|(name, _)| format!("{name}, by which it takes NVMe commands,"))
            }
            _ => None,
        }
    })?;
    found.retain(|mapper| !opened.iter().any(|opener| opener.id == mapper.id));
    found.extend(opened);
    Ok(found)
}

/// Processes that have one of these devices mapped for writing: a map outlives its descriptor.
fn device_mappers(devices: Vec<DeviceNumber>, roots: &Roots) -> Result<Vec<Opener>, Missing> {
    let dev = roots.dev.clone();
    in_time(roots, SEARCH_MAX, move |proc, stop| {
        let mut found = Vec::new();
        each_process(proc, stop, &mut |id, dir| {
            let maps = fs::read_to_string(dir.join("maps")).unwrap_or_default();
            let nodes =
                maps.lines().filter_map(Map::for_writing).filter(|map| Path::new(map.path).starts_with(&dev));
            let mapped = nodes.into_iter().find_map(|map| {
                // Who may follow these links knows for sure.
                let followed = block_device_at(&dir.join("map_files").join(map.addresses));
                let number =
                    DeviceNumber::from_raw(followed.or_else(|| block_device_at(Path::new(map.path)))?);
                devices.contains(&number).then_some(number)
            });
            if mapped.is_some_and(|number| told_by(dir, number.identity()).is_empty()) {
                let name = read_word(&dir.join("comm")).unwrap_or_default();
                found.push(Opener { id, name, what: format!("{IT} mapped, and so"), writes: true });
            }
        })?;
        Ok(found)
    })
}

/// Programs other than runs of this one that have the file open for writing at this moment.
///
/// # Errors
/// As [`programs_with`].
pub(super) fn writers_now(own: Identity, roots: &Roots) -> Result<Vec<Opener>, Missing> {
    let found = openers(roots, SEARCH_MAX, move |_, fd, info| {
        // The kernel tells the inode since 5.14, so that other files need not be asked.
        let info = fs::read_to_string(info).ok()?;
        let inode = info.lines().find_map(|line| line.strip_prefix("ino:")?.trim().parse::<u64>().ok());
        if inode.is_some_and(|inode| inode != own.inode()) {
            return None;
        }
        (Identity::at(fd).ok()? == own).then(|| IT.to_string())
    })?;
    Ok(found.into_iter().filter(|opener| opener.writes).collect())
}

/// Programs other than runs of this one that have the file mapped for writing at this moment, as far as this
/// user sees into processes. A map outlives its descriptor, and a page of it that is written again changes no
/// time until the kernel has written it back.
///
/// # Errors
/// As [`programs_with`].
pub(super) fn mappers_now(file: &File, own: Identity, roots: &Roots) -> Result<Vec<Opener>, Missing> {
    let path = fs::read_link(own_path(file)).ok();
    in_time(roots, SEARCH_MAX, move |proc, stop| {
        let mut found = Vec::new();
        each_process(proc, stop, &mut |id, dir| {
            let maps = fs::read_to_string(dir.join("maps")).unwrap_or_default();
            let is_mapped = maps.lines().filter_map(Map::for_writing).any(|map| {
                // Who may follow these links knows for sure.
                Identity::at(&dir.join("map_files").join(map.addresses)).is_ok_and(|at| at == own)
                    || (map.inode == own.inode() && path.as_deref() == Some(Path::new(map.path)))
            });
            if is_mapped && told_by(dir, own).is_empty() {
                let name = read_word(&dir.join("comm")).unwrap_or_default();
                found.push(Opener { id, name, what: IT.to_string(), writes: true });
            }
        })?;
        Ok(found)
    })
}

/// A shared map of a file that can be written.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Map<'a> {
    addresses: &'a str,
    inode: u64,
    path: &'a str,
}

impl<'a> Map<'a> {
    /// Of a line of `maps`.
    fn for_writing(line: &'a str) -> Option<Self> {
        // 7f0c1a000000-7f0c1a001000 rw-s 00000000 08:01 1234      /srv/a file
        let mut words = line.splitn(6, ' ');
        let (addresses, allowed) = (words.next()?, words.next()?);
        let inode = words.nth(2)?.parse().ok()?;
        let path = words.next()?.trim_start();
        let is_shared = allowed.as_bytes().get(1) == Some(&b'w') && allowed.ends_with('s');
        is_shared.then_some(Map { addresses, inode, path })
    }
}

/// Processes that have a file open for which `named` gives a subject, without this process and other runs. `named` gets
/// where a descriptor leads, its path in `/proc` and that of its `fdinfo`.
fn openers(
    roots: &Roots,
    longest: Duration,
    named: impl Fn(&Path, &Path, &Path) -> Option<String> + Send + 'static,
) -> Result<Vec<Opener>, Missing> {
    in_time(roots, longest, move |proc, stop| {
        let mut found = Vec::new();
        each_process(proc, stop, &mut |id, dir| found.append(&mut of_process(id, dir, &named)))?;
        Ok(found)
    })
}

/// A process that says by its locks that it is a run of this program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RunSeen {
    pub process: u32,
    /// As it would be typed; `None` when it cannot be read.
    pub command_line: Option<String>,
    /// What it says of the target.
    pub told: RunLocks,
    /// What it says can be relied on: it belongs to root or to this user, or only who may write the file can say so.
    pub is_proven: bool,
}

/// Runs of this program, other than this one, that have locks on the file or device, one entry for each descriptor.
///
/// # Errors
/// As [`programs_with`].
pub(super) fn runs_on(target: Identity, roots: &Roots) -> Result<Vec<RunSeen>, Missing> {
    in_time(roots, SEARCH_MAX, move |proc, stop| {
        let mut found = Vec::new();
        each_process(proc, stop, &mut |id, dir| {
            for told in told_by(dir, target) {
                let is_proven = told.is_proven || is_of_root_or_own(dir);
                found.push(RunSeen { process: id, command_line: command_line(dir), told, is_proven });
            }
        })?;
        Ok(found)
    })
}

/// A process of root or of this user that says that it holds the device exclusively. `known` is asked first.
pub(super) fn holder_of(target: Identity, known: Option<u32>, roots: &Roots) -> Option<u32> {
    if let Some(known) = known {
        let dir = roots.proc.join(known.to_string());
        if is_of_root_or_own(&dir) && told_by(&dir, target).iter().any(|told| told.is_held) {
            return Some(known);
        }
    }
    let runs = runs_on(target, roots).ok()?;
    runs.into_iter().find(|run| run.is_proven && run.told.is_held).map(|run| run.process)
}

/// What a process says of a target, by each descriptor that says something.
fn told_by(process: &Path, target: Identity) -> Vec<RunLocks> {
    let mut found = Vec::new();
    for info in fs::read_dir(process.join("fdinfo")).into_iter().flatten().flatten() {
        let told = fs::read_to_string(info.path()).ok().and_then(|info| RunLocks::in_info(&info));
        let opened = process.join("fd").join(info.file_name());
        if let Some(told) = told
            && Identity::at(&opened).is_ok_and(|identity| identity == target)
        {
            found.push(told);
        }
    }
    found
}

/// By the user who started it: a program may have the rights of its owner for a while (`su`).
fn is_of_root_or_own(process: &Path) -> bool {
    let status = fs::read_to_string(process.join("status")).unwrap_or_default();
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    let started_by = users.and_then(|users| users.split_whitespace().next()?.parse::<u32>().ok());
    started_by.is_some_and(|started_by| started_by == 0 || started_by == user())
}

fn command_line(process: &Path) -> Option<String> {
    let text = fs::read(process.join("cmdline")).ok()?;
    let words = text.split(|&byte| byte == 0).filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    (!words.is_empty()).then(|| shell_line(&words))
}

/// Does a search on a thread of its own, because a call that hangs cannot be given up.
fn in_time<T: Send + 'static>(
    roots: &Roots,
    longest: Duration,
    job: impl FnOnce(&Path, &AtomicBool) -> io::Result<T> + Send + 'static,
) -> Result<T, Missing> {
    // The list of processes is that of a mount, and this process need not be among them.
    roots.check_procfs(&roots.proc.join("self")).map_err(|error| unknown(roots, &system_text(&error)))?;
    let (tell, told) = mpsc::channel();
    let (proc, is_over) = (roots.proc.clone(), Arc::new(AtomicBool::new(false)));
    let stop = Arc::clone(&is_over);
    let started = std::thread::Builder::new().spawn(move || {
        // Nobody listens any more when it took too long.
        let _ = tell.send(job(&proc, &stop));
    });
    started.map_err(|error| unknown(roots, &system_text(&error)))?;
    let found = told.recv_timeout(longest);
    is_over.store(true, Ordering::Relaxed);
    match found {
        Ok(found) => found.map_err(|error| unknown(roots, &system_text(&error))),
        Err(_) => Err(unknown(roots, &format!("the search was not over after {} s", longest.as_secs()))),
    }
}

fn unknown(roots: &Roots, why: &str) -> Missing {
    Missing::new(Fact::Programs, format!("{}: {why}", printable_path(&roots.proc)))
}

/// Every process but this one, until it is told to stop.
fn each_process(proc: &Path, stop: &AtomicBool, see: &mut dyn FnMut(u32, &Path)) -> io::Result<()> {
    for entry in fs::read_dir(proc)? {
        let entry = entry?;
        let Some(id) = entry.file_name().to_str().and_then(|n| n.parse::<u32>().ok()) else { continue };
        if id == std::process::id() {
            continue;
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
        see(id, &entry.path());
    }
    Ok(())
}

/// What one process has open; nothing for a run of this program, for a process that has ended and for one
/// that this user may not look into.
fn of_process(id: u32, dir: &Path, named: &dyn Fn(&Path, &Path, &Path) -> Option<String>) -> Vec<Opener> {
    let mut found: Vec<Opener> = Vec::new();
    for fd in fs::read_dir(dir.join("fd")).into_iter().flatten().flatten() {
        // Sockets, pipes and the like lead to no path.
        let Some(link) = fs::read_link(fd.path()).ok().filter(|link| link.is_absolute()) else {
            continue;
        };
        let info = dir.join("fdinfo").join(fd.file_name());
        let Some(what) = named(&link, &fd.path(), &info) else { continue };
        let info = fs::read_to_string(info).unwrap_or_default();
        if RunLocks::in_info(&info).is_some() {
            return Vec::new();
        }
        let writes = may_write(&info);
        match found.iter_mut().find(|o| o.what == what) {
            Some(known) => known.writes |= writes,
            None => {
                let name = read_word(&dir.join("comm")).unwrap_or_default();
                found.push(Opener { id, name, what, writes });
            }
        }
    }
    found
}

/// Whether the descriptor was opened for writing, by the flags in its `fdinfo`.
fn may_write(info: &str) -> bool {
    let flags = info.lines().find_map(|l| l.strip_prefix("flags:"));
    let flags = flags.and_then(|f| i32::from_str_radix(f.trim(), 8).ok());
    flags.is_some_and(is_for_writing)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made::{open_file_info, pipe, symlink};

    #[test]
    fn the_flags_of_a_descriptor() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let reader = fs::File::open(file.path()).unwrap();
        assert!(may_write(&open_file_info(file.as_file())));
        assert!(!may_write(&open_file_info(&reader)));
        assert!(!may_write(""));
    }

    #[test]
    fn shared_maps_for_writing() {
        let line = |allowed: &str| {
            format!("7f0c1a000000-7f0c1a001000 {allowed} 00001000 08:01 1234      /srv/a file")
        };
        let found = Some(Map { addresses: "7f0c1a000000-7f0c1a001000", inode: 1234, path: "/srv/a file" });
        assert_eq!(
            [Map::for_writing(&line("rw-s")), Map::for_writing(&line("-w-s"))],
            [found.clone(), found]
        );
        for other in ["r--s", "rw-p", "r-xp"] {
            assert_eq!(Map::for_writing(&line(other)), None, "{other}");
        }
        assert_eq!(Map::for_writing("7f0c1a000000-7f0c1a001000 rw-p 00000000 00:00 0"), None);
    }

    #[test]
    fn words() {
        let opener = Opener { id: 7, name: "qemu".into(), what: IT.to_string(), writes: true };
        assert_eq!(opener.to_string(), "process 7 (qemu) has it open for writing");
    }

    #[test]
    fn a_search_that_hangs_is_given_up() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let roots = Roots { proc: at("proc"), sys: at("sys"), dev: at("dev") };
        let target = tempfile::NamedTempFile::new().unwrap();
        let own = Identity::of(target.as_file()).unwrap();
        for name in ["proc/self", "proc/4194305/fd", "proc/4194305/fdinfo"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        symlink(target.path(), at("proc/4194305/fd/3")).unwrap();
        fs::write(at("proc/4194305/fdinfo/3"), "flags:\t02\n").unwrap();
        assert_eq!(writers_now(own, &roots).unwrap().len(), 1);
        fs::remove_file(at("proc/4194305/fdinfo/3")).unwrap();
        // Nobody writes into it, so that an open of it waits for ever.
        pipe(&at("proc/4194305/fdinfo/3")).unwrap();
        let reads = |_: &Path, _: &Path, info: &Path| fs::read_to_string(info).ok().map(|_| IT.to_string());
        let unknown = openers(&roots, Duration::from_millis(50), reads).unwrap_err();
        assert_eq!(unknown.fact, Fact::Programs);
        assert!(unknown.why.contains("was not over after 0 s"), "{unknown}");
        // The thread that waits comes to its end. On a busy machine it may not be there yet: to open both ends waits for nobody.
        drop(fs::File::options().read(true).write(true).open(at("proc/4194305/fdinfo/3")).unwrap());
    }

    #[test]
    fn without_processes_nothing_is_known_of_them() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots { proc: dir.path().join("none"), ..Roots::default() };
        let unknown = programs_with(DeviceNumber { major: 7, minor: 0 }, &roots).unwrap_err();
        assert!(unknown.to_string().starts_with("which programs have it open is not known: "), "{unknown}");
        let roots = Roots { proc: dir.path().to_path_buf(), ..Roots::default() };
        assert!(programs_with(DeviceNumber { major: 7, minor: 0 }, &roots).is_err(), "an empty folder");
    }
}
