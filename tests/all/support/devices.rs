//! Real block devices and mounts for tests: made here, removed on drop, also when a test panics.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::needs::{Need, SEARCH, disk_folder, has, not_run};

/// Runs a tool that must succeed; returns what it printed.
pub fn run(tool: &str, args: &[&str]) -> String {
    try_run(tool, args).unwrap_or_else(|error| panic!("{tool} {args:?}: {error}"))
}

fn try_run(tool: &str, args: &[&str]) -> Result<String, String> {
    let output = Command::new(tool).env("PATH", SEARCH).args(args).output().map_err(|e| e.to_string())?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_string())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).trim().to_string())
    }
}

fn clean_up(tool: &str, args: &[&str]) {
    until_done(&format!("{tool} {args:?}"), || try_run(tool, args).map(drop));
}

/// Tries for a while: a process that another test is just starting holds our open files until it runs
/// its own program. What stays behind fails the test, unless it has failed already.
fn until_done(what: &str, mut clean: impl FnMut() -> Result<(), String>) {
    let limit = Instant::now() + super::HANG;
    while let Err(error) = clean() {
        if Instant::now() > limit {
            let words = format!("could not clean up: {what}: {error}");
            assert!(std::thread::panicking(), "{words}");
            return eprintln!("{words}");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

pub fn text(path: &Path) -> &str {
    path.to_str().expect("test paths are text")
}

/// A loop device on a file of its own.
pub struct Loop {
    pub node: PathBuf,
    pub image: PathBuf,
    _dir: tempfile::TempDir,
}

impl Loop {
    pub fn new(bytes: u64) -> Self {
        Self::with_options(bytes, &[])
    }

    pub fn with_options(bytes: u64, options: &[&str]) -> Self {
        Self::in_folder(tempfile::tempdir().expect("a temporary directory"), bytes, options)
    }

    /// Whose image is not in memory.
    pub fn on_disk(bytes: u64) -> Option<Self> {
        disk_folder().map(|dir| Self::in_folder(dir, bytes, &[]))
    }

    fn in_folder(dir: tempfile::TempDir, bytes: u64, options: &[&str]) -> Self {
        let image = dir.path().join("image");
        File::create(&image).expect("an image").set_len(bytes).expect("room for the image");
        let mut args = vec!["--find", "--show"];
        args.extend(options);
        args.push(text(&image));
        Loop { node: run("losetup", &args).into(), image, _dir: dir }
    }

    /// A loop device over a device. Declare it after that.
    pub fn over(node: &Path) -> Self {
        Self::over_with(node, &[])
    }

    /// The same with options.
    pub fn over_with(node: &Path, options: &[&str]) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let own = run("losetup", &[&["--find", "--show"], options, &[text(node)]].concat());
        Loop { node: own.into(), image: node.to_path_buf(), _dir: dir }
    }

    /// Kernel name, e.g. `loop7`.
    pub fn name(&self) -> &str {
        self.node.file_name().and_then(|n| n.to_str()).expect("a node has a name")
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        clean_up("losetup", &["--detach", text(&self.node)]);
    }
}

/// Something mounted on a directory of its own. Declare it after the device it stands on.
pub struct Mount {
    pub point: PathBuf,
    is_mounted: bool,
    _dir: tempfile::TempDir,
}

impl Mount {
    pub fn new(args: &[&str]) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let point = dir.path().join("mounted here");
        fs::create_dir(&point).expect("a mount point");
        let mut all = args.to_vec();
        all.push(text(&point));
        run("mount", &all);
        Mount { point, is_mounted: true, _dir: dir }
    }

    /// A folder once more, by way of a file system in a program (FUSE).
    pub fn by_fuse(folder: &Path) -> Self {
        Self::by_program(&["bindfs", text(folder)])
    }

    /// By a program that takes the place as its last word.
    pub fn by_program(words: &[&str]) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let point = dir.path().join("mounted-here");
        fs::create_dir(&point).expect("a mount point");
        run(words[0], &[&words[1..], &[text(&point)]].concat());
        Mount { point, is_mounted: true, _dir: dir }
    }

    /// The folders `lower` and `upper` of a folder as one, by overlayfs, which also needs its `work`. With
    /// `is_whole`, the mount tells where they are. `None`, said on standard error: not on this file system or
    /// kernel.
    pub fn by_overlay(folder: &Path, is_whole: bool) -> Option<Self> {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let point = dir.path().join("mounted-here");
        fs::create_dir(&point).expect("a mount point");
        for layer in ["lower", "upper", "work"] {
            fs::create_dir_all(folder.join(layer)).expect("a layer");
        }
        let start = if is_whole { format!("{}/", text(folder)) } else { String::new() };
        let layers = format!("lowerdir={start}lower,upperdir={start}upper,workdir={start}work");
        let script = "cd \"$0\" && exec mount -t overlay overlay -o \"$1\" \"$2\"";
        match try_run("sh", &["-c", script, text(folder), &layers, text(&point)]) {
            Ok(_) => Some(Mount { point, is_mounted: true, _dir: dir }),
            Err(error) => {
                eprintln!("{error}");
                not_run(Need::Overlay);
                None
            }
        }
    }

    /// Whether the kernel lets it go at this very moment; what it says when not.
    pub fn unmount_now(mut self) -> Result<(), String> {
        try_run("umount", &[text(&self.point)])?;
        self.is_mounted = false;
        Ok(())
    }
}

impl Mount {
    /// Takes the mount from the tree of files although somebody uses it.
    pub fn detach(mut self) {
        run("umount", &["-l", text(&self.point)]);
        self.is_mounted = false;
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        if self.is_mounted {
            clean_up("umount", &[text(&self.point)]);
        }
    }
}

/// A device in use as swap. Declare it after the device.
pub struct Swap {
    node: PathBuf,
}

impl Swap {
    pub fn new(node: &Path) -> Self {
        run("swapon", &[text(node)]);
        Swap { node: node.to_path_buf() }
    }
}

impl Drop for Swap {
    fn drop(&mut self) {
        clean_up("swapoff", &[text(&self.node)]);
    }
}

/// The partitions that a table on the device describes. Declare it after the device.
pub struct Partitions {
    node: PathBuf,
}

impl Partitions {
    /// Tells the kernel itself: not every kernel reads partition tables.
    pub fn new(node: &Path) -> Self {
        run("partx", &["--update", text(node)]);
        Partitions { node: node.to_path_buf() }
    }
}

impl Drop for Partitions {
    fn drop(&mut self) {
        // The table may be gone by now; most numbers have no partition.
        clean_up("partx", &["--delete", "--nr", "1-64", text(&self.node)]);
    }
}

/// A compressed device in memory.
pub struct Zram {
    number: String,
    pub node: PathBuf,
}

impl Zram {
    /// `None`, in words, when the kernel has no zram.
    pub fn new(bytes: u64) -> Option<Self> {
        has(&[Need::Zram]).then_some(())?;
        let number = fs::read_to_string("/sys/class/zram-control/hot_add").expect("zram gives a device");
        let number = number.trim().to_string();
        let zram = Zram { node: format!("/dev/zram{number}").into(), number };
        fs::write(zram.attribute("disksize"), bytes.to_string()).expect("a new zram device takes a size");
        Some(zram)
    }

    fn attribute(&self, name: &str) -> String {
        format!("/sys/block/zram{}/{name}", self.number)
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        until_done(text(&self.node), || {
            let reset = fs::write(self.attribute("reset"), "1");
            let removed = reset.and_then(|()| fs::write("/sys/class/zram-control/hot_remove", &self.number));
            removed.map_err(|error| error.to_string())
        });
    }
}

/// Held while a btrfs of a test is mounted whose device lies on another one: the kernel looks at all devices when
/// one is made, and then calls it by the name of the lower one, which holds the same bytes.
pub fn only_btrfs() -> std::sync::MutexGuard<'static, ()> {
    static ONLY: std::sync::Mutex<()> = std::sync::Mutex::new(());
    ONLY.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
