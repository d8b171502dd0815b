//! What tests need of the machine, asked in one place. A test that lacks something is not run, and the last lines of
//! the test program say of how many that is so, and why: what a test prints itself is kept from the screen when it
//! passes.
//!
//! `CI` set: this machine must have everything, and a test that lacks something fails. `TRUESPD_NOT_RUN=FILE`: the
//! numbers by reason are also written there, as lines `number<tab>reason` (`ci/container`).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};

/// Where the tools are, also for users without `sbin` in their path.
pub const SEARCH: &str = "/usr/sbin:/sbin:/usr/bin:/bin";

/// Something that not every machine or user has. Its words complete "not run: ...".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[allow(dead_code, reason = "unit tests of the core have some needs of their own")]
pub enum Need {
    Root,
    /// To start programs as another user, and to give files to one.
    OtherUsers,
    /// To mount in a namespace of one's own.
    Mounts,
    /// To make and mount loop devices.
    LoopDevices,
    /// That the kernel's partitions of a loop device get nodes.
    PartitionNodes,
    /// That nodes of devices work in the folder of temporary files.
    DeviceNodes,
    Zram,
    /// A file system in a program, served by the test itself.
    Fuse,
    /// overlayfs over the folder of temporary files.
    Overlay,
    ThrottlingCgroup,
    Tool(&'static str),
    BashCompletion,
    X86,
    /// Of the folder of temporary files: its file system tells written space from space that was only set aside.
    Layout,
    /// ... its files have pages that the kernel tells of, and are not kept in memory.
    PageCache,
    /// ... its disk is visible, and counts its I/O.
    CountedDisk,
    /// ... flags of `chattr`.
    FileFlags,
    Leases,
    DirtyPages,
    /// A file system whose files take no extended attributes.
    NoAttributes,
    /// That this user may not look into process 1.
    ClosedProcesses,
    /// So many GiB of free space for a moment.
    FreeGib(u64),
    /// That a program may open some thousand files.
    OpenFiles,
    /// An engine that moves data.
    Engine(&'static str),
    /// ... direct I/O.
    DirectIo,
    /// ... direct I/O of single sectors of 512 bytes.
    SectorIo,
    /// ... direct reads that leave nothing in the page cache.
    UncachedReads,
    Blkid,
    /// To install a filter of system calls.
    SeccompFilter,
    /// That others leave enough of the processors. Missing on a busy machine, also in CI.
    QuietMachine,
    MemoryFilesystem,
    /// A folder on a file system of a disk: the folder of temporary files, or the one where cargo builds.
    DiskFolder,
    /// Files whose times are whole seconds, and a machine that writes one within a second.
    SameSecond,
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self {
            Need::Root => "not root",
            Need::OtherUsers => "no right to become another user",
            Need::Mounts => "no right to mount",
            Need::LoopDevices => "no loop devices",
            Need::PartitionNodes => "no device nodes for partitions of loop devices",
            Need::DeviceNodes => "device nodes do not work in the folder of temporary files",
            Need::Zram => "no zram devices",
            Need::Fuse => "no FUSE",
            Need::Overlay => "no overlayfs over the folder of temporary files",
            Need::ThrottlingCgroup => "no cgroup that throttles block devices",
            Need::Tool(tool) => return write!(f, "{tool} is not installed (ci/setup installs it)"),
            Need::BashCompletion => "bash-completion is not installed (ci/setup installs it)",
            Need::X86 => "not an x86-64 processor",
            Need::Layout => "the file system of the folder of temporary files does not tell its layout",
            Need::PageCache => "the page cache of the folder of temporary files is not visible",
            Need::CountedDisk => "the disk below the folder of temporary files is not visible",
            Need::FileFlags => "the file system of the folder of temporary files has no flags of chattr",
            Need::Leases => "the file system of the folder of temporary files has no leases",
            Need::DirtyPages => "the kernel does not tell dirty pages",
            Need::NoAttributes => "ramfs has extended attributes on this kernel",
            Need::ClosedProcesses => "this user may look into process 1",
            Need::FreeGib(gib) => {
                return write!(f, "less than {gib} GiB free in the folder of temporary files");
            }
            Need::OpenFiles => "the limit of open files (ulimit -n) is below 4096",
            Need::Engine(engine) => return write!(f, "no {engine}"),
            Need::DirectIo => "the file system of a folder takes no direct I/O",
            Need::SectorIo => {
                "the file system of the folder of temporary files takes no direct I/O of 512 bytes"
            }
            Need::UncachedReads => {
                "the file system of the folder of temporary files reads through the page cache in any case"
            }
            Need::SeccompFilter => "no filter of system calls can be installed",
            Need::QuietMachine => "the machine is too busy",
            Need::Blkid => "libblkid is not installed (ci/setup installs it)",
            Need::MemoryFilesystem => "no file system in memory at /dev/shm",
            Need::DiskFolder => "the folder of temporary files is in memory",
            Need::SameSecond => "the machine is too slow to write in the same second",
        };
        f.write_str(words)
    }
}

/// A folder for temporary files whose layers are all visible: in a container, memory. There the guard can find out
/// about files that a test did not make by the program.
pub fn visible_folder() -> Option<tempfile::TempDir> {
    if is_visible(&std::env::temp_dir()) {
        return Some(tempfile::tempdir().expect("a temporary directory"));
    }
    has(&[Need::MemoryFilesystem]).then(|| tempfile::tempdir_in("/dev/shm").expect("a folder in memory"))
}

/// A folder for temporary files on a file system of a disk: there the kernel counts what is written, and the times of a
/// file show every write. Otherwise the test is counted as not run.
pub fn disk_folder() -> Option<tempfile::TempDir> {
    let built = option_env!("CARGO_TARGET_TMPDIR").map(PathBuf::from);
    let places = [Some(std::env::temp_dir()), built].into_iter().flatten().filter(|place| is_on_disk(place));
    // An overlay keeps its files on a disk that may be out of sight.
    let place = places.min_by_key(|place| !is_visible(place));
    if place.is_none() {
        not_run(Need::DiskFolder);
    }
    place.and_then(|place| tempfile::tempdir_in(place).ok())
}

fn is_on_disk(folder: &Path) -> bool {
    const IN_MEMORY: [i64; 2] = [0x0102_1994, 0x8584_58f6];
    rustix::fs::statfs(folder).is_ok_and(|stat| !IN_MEMORY.contains(&stat.f_type))
}

/// Whether what lies below a folder can be seen: the layers of an overlay may be out of sight, and often are.
fn is_visible(folder: &Path) -> bool {
    const OVERLAYFS_SUPER_MAGIC: i64 = 0x794c_7630;
    rustix::fs::statfs(folder).is_ok_and(|stat| stat.f_type != OVERLAYFS_SUPER_MAGIC)
}

/// Whether all of it is here. If not, the test that asks is counted as not run.
pub fn has(needs: &[Need]) -> bool {
    let missing = needs.iter().find(|&&need| !is_here(need));
    missing.inspect(|&&need| not_run(need)).is_none()
}

fn is_here(need: Need) -> bool {
    static SEEN: Mutex<BTreeMap<Need, bool>> = Mutex::new(BTreeMap::new());
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(&is_here) = seen.get(&need) {
        return is_here;
    }
    let is_here = look_for(need);
    seen.insert(need, is_here);
    is_here
}

fn look_for(need: Need) -> bool {
    let is_root = rustix::process::geteuid().is_root();
    match need {
        Need::Root => is_root,
        Need::OtherUsers => is_root && succeeds("setpriv", &["--reuid=65534", "--clear-groups", "true"]),
        // The namespace ends with its thread.
        Need::Mounts => is_root && std::thread::spawn(can_mount).join().is_ok_and(|mounted| mounted.is_ok()),
        Need::LoopDevices => {
            look_for(Need::Mounts) && is_installed("mkswap") && succeeds("losetup", &["--find"])
        }
        Need::Zram => may_write("/sys/class/zram-control/hot_remove"),
        Need::Fuse => {
            look_for(Need::Mounts) && File::options().read(true).write(true).open("/dev/fuse").is_ok()
        }
        Need::ThrottlingCgroup => may_write("/sys/fs/cgroup/blkio/blkio.throttle.read_iops_device"),
        Need::Tool(tool) => is_installed(tool),
        Need::BashCompletion => Path::new("/usr/share/bash-completion/bash_completion").exists(),
        Need::X86 => cfg!(target_arch = "x86_64"),
        Need::FreeGib(gib) => rustix::fs::statvfs(std::env::temp_dir().as_path())
            .is_ok_and(|room| room.f_bavail * room.f_frsize >= gib << 30),
        Need::OpenFiles => {
            let most = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum;
            most.is_none_or(|most| most >= super::place::OPEN_FILES)
        }
        // An overlay has no pages of its own: those of its files belong to the layer.
        Need::PageCache => is_visible(&std::env::temp_dir()) && is_on_disk(&std::env::temp_dir()),
        Need::DiskFolder => is_on_disk(&std::env::temp_dir()),
        Need::MemoryFilesystem => tempfile::tempdir_in("/dev/shm").is_ok(),
        Need::Engine(_)
        | Need::SeccompFilter
        | Need::QuietMachine
        | Need::Blkid
        | Need::DirectIo
        | Need::SectorIo
        | Need::UncachedReads
        | Need::SameSecond
        | Need::PartitionNodes
        | Need::DeviceNodes
        | Need::Overlay
        | Need::Layout
        | Need::CountedDisk
        | Need::FileFlags
        | Need::Leases
        | Need::DirtyPages
        | Need::NoAttributes
        | Need::ClosedProcesses => panic!("{need:?} turns up while a test runs: say `not_run`"),
    }
}

fn is_installed(tool: &str) -> bool {
    SEARCH.split(':').any(|dir| Path::new(dir).join(tool).exists())
}

fn succeeds(tool: &str, args: &[&str]) -> bool {
    let output = std::process::Command::new(tool).env("PATH", SEARCH).args(args).output();
    output.is_ok_and(|output| output.status.success())
}

fn may_write(path: &str) -> bool {
    rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok()
}

fn can_mount() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let point = std::ffi::CString::new(folder.path().as_os_str().as_encoded_bytes())?;
    let (kind, nothing) = (c"tmpfs".as_ptr(), std::ptr::null());
    let private = libc::MS_REC | libc::MS_PRIVATE;
    // SAFETY: strings that outlive the calls; the mounts are those of this thread's own namespace.
    let is_done = unsafe {
        libc::unshare(libc::CLONE_NEWNS) == 0
            && libc::mount(nothing, c"/".as_ptr(), nothing, private, nothing.cast()) == 0
            && libc::mount(kind, point.as_ptr(), kind, 0, nothing.cast()) == 0
            && libc::umount(point.as_ptr()) == 0
    };
    if is_done { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// By what is missing, the tests.
static NOT_RUN: Mutex<BTreeMap<Need, BTreeSet<String>>> = Mutex::new(BTreeMap::new());

/// Says that the test cannot run here, or not in full, for want of that. In CI this is a failure.
pub fn not_run(missing: Need) {
    let is_excused = missing == Need::QuietMachine || std::env::var_os("CI").is_none();
    assert!(is_excused, "in CI this test must run: {missing}");
    static AT_EXIT: Once = Once::new();
    AT_EXIT.call_once(|| {
        // SAFETY: `report` is a function of this program, which stays loaded until the exit, and it does not unwind.
        let refused = unsafe { libc::atexit(report) };
        assert_eq!(refused, 0, "no room for a function at exit");
    });
    let test = std::thread::current().name().unwrap_or("a thread of a test").to_string();
    let mut not_run = NOT_RUN.lock().unwrap_or_else(PoisonError::into_inner);
    not_run.entry(missing).or_default().insert(test);
}

extern "C" fn report() {
    let not_run = NOT_RUN.lock().unwrap_or_else(PoisonError::into_inner);
    // Nobody is left to hear of an error.
    let _ = io::stderr().write_all(closing_lines(&not_run).as_bytes());
    if let Some(path) = std::env::var_os("TRUESPD_NOT_RUN") {
        let lines: String = counts(&not_run).iter().map(|(n, why)| format!("{n}\t{why}\n")).collect();
        let _ = fs::write(path, lines);
    }
}

/// How many tests lack what, the most frequent first.
fn counts(not_run: &BTreeMap<Need, BTreeSet<String>>) -> Vec<(usize, String)> {
    let mut counts: Vec<_> = not_run.iter().map(|(need, tests)| (tests.len(), need.to_string())).collect();
    counts.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    counts
}

fn closing_lines(not_run: &BTreeMap<Need, BTreeSet<String>>) -> String {
    let tests: BTreeSet<&String> = not_run.values().flatten().collect();
    let reasons: Vec<String> = counts(not_run).iter().map(|(n, why)| format!("{why} ({n})")).collect();
    let mut lines = format!("{} not run, or not in full: {}\n", tests.len(), reasons.join(", "));
    if !rustix::process::geteuid().is_root() {
        lines.push_str("Tests of devices, mounts and other users run only as root.\n");
    }
    lines
}

#[test]
fn the_closing_line_counts_tests_and_reasons() {
    let tests = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<BTreeSet<_>>();
    let not_run = BTreeMap::from([
        (Need::Root, tests(&["guard::c"])),
        (Need::LoopDevices, tests(&["guard::a", "guard::b"])),
        (Need::Tool("mkfs.xfs"), tests(&["guard::b"])),
    ]);
    let lines = closing_lines(&not_run);
    let first = "3 not run, or not in full: no loop devices (2), mkfs.xfs is not installed (ci/setup installs it) (1), not root (1)\n";
    assert!(lines.starts_with(first), "{lines}");
}
