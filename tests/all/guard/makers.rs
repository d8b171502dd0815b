//! Makes what the situations of the table are about: devices, file systems, files of ours and of others.

use std::any::Any;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use crate::support::devices::{Loop, Mount, Partitions, run, text};
use crate::support::killed::{self};
use crate::support::needs::{Need, has, not_run};
use crate::support::program::Lab;
use truespd_core::guard::mark::{MarkState, Marks};

pub const MIB: u64 = 1 << 20;

/// A target to write, and what keeps it as it is.
pub struct Made {
    /// What is typed as the target.
    pub target: PathBuf,
    /// What is typed after `--overwrite`; the target itself when there is nothing else.
    pub again: Option<PathBuf>,
    /// More words of the command line.
    pub options: &'static str,
    /// A file whose bytes a refusal must leave alone.
    pub bytes: Option<PathBuf>,
    /// A command that starts the program: another user, another view of the machine.
    pub behind: Vec<&'static str>,
    /// A file to open as descriptor 7 before the program starts.
    pub inherited: Option<PathBuf>,
    /// In order of dropping.
    pub keep: Vec<Box<dyn Any>>,
}

impl Made {
    pub fn at(target: &Path) -> Self {
        Made {
            target: target.to_path_buf(),
            again: None,
            options: "",
            bytes: None,
            behind: Vec::new(),
            inherited: None,
            keep: Vec::new(),
        }
    }

    pub fn keeping<T: Any>(mut self, thing: T) -> Self {
        self.keep.push(Box::new(thing));
        self
    }

    pub fn with_bytes(mut self, file: &Path) -> Self {
        self.bytes = Some(file.to_path_buf());
        self
    }
}

/// A node of the device that a user without root may open.
pub fn own_node(device: &Path, lab: &Lab) -> PathBuf {
    use std::os::unix::fs::MetadataExt;
    let number = fs::metadata(device).expect("a node").rdev();
    let path = lab.path("node");
    let numbers = [rustix::fs::major(number), rustix::fs::minor(number)].map(|number| number.to_string());
    run("mknod", &[text(&path), "b", &numbers[0], &numbers[1]]);
    path
}

/// A shared map of a file, the only thing that is left of it in this process.
pub struct Mapped(*mut std::ffi::c_void);

impl Mapped {
    pub fn new(path: &Path) -> Self {
        use rustix::mm::{MapFlags, ProtFlags};
        let file = File::options().read(true).write(true).open(path).expect("writable");
        let both = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new map of a file that is open, which nothing reads or writes.
        let map = unsafe { rustix::mm::mmap(std::ptr::null_mut(), 4096, both, MapFlags::SHARED, &file, 0) };
        Mapped(map.expect("a map"))
    }

    /// Where it is.
    pub fn address(&self) -> usize {
        self.0 as usize
    }
}

impl Mapped {
    /// Reads the first page and writes to it then.
    pub fn write(&self, bytes: &[u8]) {
        // SAFETY: the map is one page of a file that is as long, and no bytes go beyond it.
        unsafe {
            self.0.cast::<u8>().read_volatile();
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.0.cast::<u8>(), bytes.len().min(4096));
        }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, and nothing uses it.
        let _ = unsafe { rustix::mm::munmap(self.0, 4096) };
    }
}

/// Bytes that nothing recognises.
pub fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let words = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    });
    words.take(bytes / 8).flatten().collect()
}

/// A file of ours that a run was writing which is killed now.
pub fn killed(lab: &Lab, words: &str) -> PathBuf {
    let path = ours(lab);
    let before = fs::read(&path).expect("ours");
    let mut running = lab.start(&format!("-d600 -W0 -b4K -w100 -v -P1 {words} ours"));
    running.wait_for_ios();
    if words.contains("-Zr") {
        // So much that a look at a few places sees it.
        running.wait_until("half of the file is written", || {
            let now = fs::read(&path).expect("ours");
            let both = now.chunks(4096).zip(before.chunks(4096));
            both.filter(|(now, before)| now != before).count() > before.len() / 4096 / 2
        });
    }
    assert!(running.is_running());
    drop(running);
    path
}

/// What is left of a `-c1M` that was killed half way, and something at its start.
pub fn half_made(lab: &Lab, start: &[u8]) -> PathBuf {
    half_made_at(lab, lab.path("half"), start)
}

pub fn half_made_at(lab: &Lab, path: PathBuf, start: &[u8]) -> PathBuf {
    let pattern: Vec<u8> = (0..MIB / 2).map(|at| at as u8).collect();
    fs::write(&path, &pattern).expect("room");
    let file = File::options().write(true).open(&path).expect("ours");
    file.set_len(MIB).expect("room");
    let marks = Marks::with_registry(&lab.path("state"));
    marks.mark(&file, MarkState::Filling).expect("attributes");
    file.write_all_at(start, 0).expect("room");
    path
}

pub const TWO: &str = "label: gpt\nsize=4096, type=U, name=\"start\"\nsize=8192, name=\"files\"\n";

/// A process that ends with it.
pub struct Killed(pub Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Lets a file be changed again, so that it can be removed.
pub struct Locked(PathBuf, &'static str);

impl Drop for Locked {
    fn drop(&mut self) {
        run("chattr", &[self.1, text(&self.0)]);
    }
}

pub fn locked(lab: &Lab, flag: &'static str) -> Option<Made> {
    has(&[Need::Tool("chattr")]).then_some(())?;
    let path = ours(lab);
    let output = Command::new("chattr").arg(flag).arg(&path).output().expect("it starts");
    if !output.status.success() {
        not_run(Need::FileFlags);
        return None;
    }
    let off = if flag == "+i" { "-i" } else { "-a" };
    Some(file(&path).keeping(Locked(path.clone(), off)))
}

/// A file that this program made.
pub fn ours(lab: &Lab) -> PathBuf {
    lab.run("-c1M -d1 -W0 -b4K -g64 ours").expect_code(0);
    lab.path("ours")
}

/// A file that this program made on a file system in a program, and has written since.
pub fn on_fuse(lab: &Lab, size: &str, words: &str) -> Option<Made> {
    has(&[Need::Fuse, Need::Tool("bindfs")]).then_some(())?;
    fs::create_dir(lab.path("below")).expect("a folder");
    let mount = Mount::by_fuse(&lab.path("below"));
    let path = mount.point.join("data");
    for create in [size, ""] {
        let line = format!("{create} -d1 -W0 -b4K -g256 -r -w100 {words} {}", path.display());
        lab.run(&line).expect_code(0);
    }
    Some(file(&path).keeping(mount))
}

/// Puts another folder where a FUSE file system says that its files are. The program has the right one open.
pub fn hide_below(lab: &Lab) {
    fs::rename(lab.path("below"), lab.path("moved")).expect("a folder");
    fs::create_dir(lab.path("below")).expect("a free name");
}

/// A folder of the laboratory that a file system is mounted on, by a name without a blank.
fn reached(lab: &Lab, mount: &Mount) -> PathBuf {
    let link = lab.path("mounted");
    std::os::unix::fs::symlink(&mount.point, &link).expect("a link");
    link
}

/// A file of ours with random data on this file system, and a page of it that was read through a map and written then.
pub fn written_by_map(lab: &Lab, mount: Mount) -> Made {
    let path = reached(lab, &mount).join("ours");
    lab.run("-c1M -Zr -w100 -d1 -W0 -b4K -g64 mounted/ours").expect_code(0);
    std::thread::sleep(std::time::Duration::from_millis(100));
    Mapped::new(&path).write(b"somebody's thesis");
    file(&path).keeping(mount)
}

/// A file system of a tool on a loop device of its own.
pub fn mounted(tool: &'static str, args: &[&str]) -> Option<(Loop, Mount)> {
    has(&[Need::Tool(tool)]).then_some(())?;
    let device = Loop::new(64 * MIB);
    let mut all = args.to_vec();
    all.push(text(&device.node));
    run(tool, &all);
    let mount = Mount::new(&[text(&device.node)]);
    Some((device, mount))
}

/// A file of ours with random data where times are whole seconds, written within the second in which a run of it ended.
pub fn written_in_the_same_second(lab: &Lab, tool: &'static str, args: &[&str]) -> Option<Made> {
    use std::os::unix::fs::MetadataExt;
    let (device, mount) = mounted(tool, args)?;
    let path = reached(lab, &mount).join("ours");
    for _ in 0..20 {
        lab.run("-c1M -Zr -w100 -d1 -W0 -b4K -g64 mounted/ours").expect_code(0);
        let about = || fs::metadata(&path).expect("ours");
        let ended = about().ctime();
        write(&path, 777_216, b"somebody's thesis");
        if about().ctime() == ended {
            return Some(in_front(file(&path).keeping(device), mount));
        }
        fs::remove_file(&path).expect("ours");
    }
    not_run(Need::SameSecond);
    None
}

/// As the locks of a run on a file or device, at these places, of a user who may only read it.
pub fn locked_by_a_reader(path: &Path, places: &[u64]) -> Option<Killed> {
    has(&[Need::Tool("setpriv")]).then_some(())?;
    let reader = File::open(path).expect("readable");
    for &place in places {
        truespd_platform::sys::lock::share_byte(&reader, LOCK_START + place).expect("a lock");
    }
    let nobody = ["--reuid=65534", "--regid=65534", "--clear-groups", "sleep", "600"];
    let child = Command::new("setpriv").args(nobody).stdin(reader).spawn().expect("it starts");
    // Until then the process is root's.
    let status = format!("/proc/{}/status", child.id());
    while !fs::read_to_string(&status).expect("it runs").contains("\nUid:\t65534") {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    Some(Killed(child))
}

/// Where the locks of a run begin (`src/guard/told.rs`).
const LOCK_START: u64 = 0x0054_7275_6553_7064;

/// A folder by way of overlayfs, and the path in its upper layer of the file `data` there.
pub fn on_overlay(lab: &Lab, is_whole: bool) -> Option<(Mount, PathBuf)> {
    let mount = Mount::by_overlay(&lab.work(), is_whole)?;
    Some((mount, lab.path("upper/data")))
}

/// A file of ours on overlayfs whose upper layer is not to be found, as in a container; with its path in that layer.
pub fn ours_in_container(lab: &Lab, words: &str) -> Option<(Mount, PathBuf)> {
    let (overlay, upper) = on_overlay(lab, false)?;
    let target = overlay.point.join("data");
    lab.run(&format!("-c1M -d1 -W0 -b4K -g64 {words} {}", text(&target))).expect_code(0);
    Some((overlay, upper))
}

/// A mounted image, through a loop device with these options.
pub fn mounted_image(path: &Path, options: &[&str]) -> Option<(Mount, Loop)> {
    has(&[Need::Tool("mkfs.ext4")]).then_some(())?;
    File::create(path).and_then(|file| file.set_len(8 * MIB)).expect("room");
    run("mkfs.ext4", &["-q", text(path)]);
    let device = Loop::over_with(path, options);
    Some((Mount::new(&["-o", "ro", text(&device.node)]), device))
}

/// A file of somebody else that was given to write tests.
pub fn adopted(lab: &Lab) -> PathBuf {
    let path = foreign(lab);
    killed::run(lab, "adopt --yes precious").expect_code(0);
    path
}

pub fn foreign(lab: &Lab) -> PathBuf {
    lab.write("precious", &vec![7; MIB as usize])
}

pub fn file(path: &Path) -> Made {
    Made::at(path).with_bytes(path)
}

pub fn write(path: &Path, offset: u64, bytes: &[u8]) {
    let file = File::options().write(true).open(path).expect("it can be written");
    file.write_all_at(bytes, offset).and_then(|()| file.sync_all()).expect("it takes bytes");
}

/// A loop device with bytes at these places.
pub fn device(bytes: u64, parts: &[(u64, Vec<u8>)]) -> Option<Made> {
    let device = Loop::new(bytes);
    for (offset, part) in parts {
        write(&device.node, *offset, part);
    }
    Some(Made::at(&device.node).with_bytes(&device.image).keeping(device))
}

pub fn formatted(tool: &'static str, args: &[&str], bytes: u64) -> Option<Made> {
    has(&[Need::Tool(tool)]).then_some(())?;
    let made = device(bytes, &[])?;
    let mut all = args.to_vec();
    all.push(text(&made.target));
    run(tool, &all);
    Some(made)
}

/// A loop device with a table; with `known`, the kernel knows its partitions, whose nodes are returned.
pub fn disk(script: &str, known: bool) -> Option<(Made, Vec<PathBuf>)> {
    has(&[Need::Tool("sfdisk")]).then_some(())?;
    let made = device(32 * MIB, &[])?;
    let file = made.bytes.as_ref()?.with_file_name("script");
    fs::write(&file, script).expect("a file");
    run("sh", &["-c", &format!("sfdisk --quiet --no-reread {} < {}", made.target.display(), file.display())]);
    if !known {
        return Some((made, Vec::new()));
    }
    let partitions = Partitions::new(&made.target);
    let count = script.lines().filter(|line| line.contains("size=")).count();
    let nodes: Vec<PathBuf> =
        (1..=count).map(|n| PathBuf::from(format!("{}p{n}", made.target.display()))).collect();
    if !nodes.iter().all(|node| node.exists()) {
        not_run(Need::PartitionNodes);
        return None;
    }
    Some((in_front(made, partitions), nodes))
}

pub fn mounted_partition() -> Option<(Made, Vec<PathBuf>)> {
    has(&[Need::Tool("mkfs.ext4")]).then_some(())?;
    let (made, nodes) = disk("label: gpt\nsize=16384\nsize=8192\n", true)?;
    run("mkfs.ext4", &["-q", text(&nodes[0])]);
    let mount = Mount::new(&[text(&nodes[0])]);
    Some((in_front(made, mount), nodes))
}

/// The same things with another target.
pub fn moved(made: Made, target: &Path) -> Made {
    Made { target: target.to_path_buf(), ..made }
}

/// Something that must be dropped before what stands below it.
pub fn in_front<T: Any>(mut made: Made, thing: T) -> Made {
    made.keep.insert(0, Box::new(thing));
    made
}

/// The least that is taken for an NTFS: a boot sector and the records of its table that are looked at.
pub fn ntfs() -> Vec<(u64, Vec<u8>)> {
    let mut boot = vec![0u8; 512];
    boot[..11].copy_from_slice(b"\xeb\x52\x90NTFS    ");
    boot[11..13].copy_from_slice(&512u16.to_le_bytes());
    boot[13] = 8; // sectors per cluster
    boot[21] = 0xf8; // media
    boot[40..48].copy_from_slice(&16383u64.to_le_bytes()); // sectors
    boot[48..56].copy_from_slice(&4u64.to_le_bytes()); // cluster of the table
    boot[56..64].copy_from_slice(&1023u64.to_le_bytes()); // cluster of its copy
    boot[64] = 0xf6; // records of 1 KiB
    boot[68] = 1; // clusters per index block
    boot[72..80].copy_from_slice(&77u64.to_le_bytes()); // serial number
    boot[510..].copy_from_slice(b"\x55\xaa");
    let mut record = vec![0u8; 1024];
    record[..4].copy_from_slice(b"FILE");
    record[20..22].copy_from_slice(&56u16.to_le_bytes()); // first attribute
    record[24..28].copy_from_slice(&64u32.to_le_bytes()); // bytes in use
    record[28..32].copy_from_slice(&1024u32.to_le_bytes()); // bytes there
    record[56..60].copy_from_slice(&[0xff; 4]); // no more attributes
    let mut parts = vec![(0, boot)];
    parts.extend((0..4).map(|n| (4 * 4096 + n * 1024, record.clone())));
    parts
}
