//! A machine as a tree of files: one virtio disk, `vda`, and what a test puts beside it.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::doctor::{HostView, MountedFileSystem, Neighbours, Process, Scope, Trees};
use crate::made::symlink;
use truespd_platform::machine::limits::ResourceLimit;
use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::storage::Room;

pub(super) struct Tree {
    dir: tempfile::TempDir,
    pub process: Process,
    pub neighbours: Neighbours,
}

impl Tree {
    pub fn of(files: &[(&str, &str)]) -> Self {
        let unlimited = ResourceLimit { soft: None, hard: None };
        let process = Process {
            is_root: true,
            is_container: false,
            release: "6.1".into(),
            processors: vec![0, 1, 2, 3],
            locked_memory: unlimited,
            open_files: unlimited,
            io_uring: Ok(()),
            timer_ns: None,
            sees_programs: true,
            lacks: Vec::new(),
        };
        let dir = tempfile::tempdir().expect("a folder");
        let tree = Tree { dir, process, neighbours: Neighbours::default() };
        tree.device("vda", "252:0");
        files.iter().for_each(|(path, text)| tree.put(path, text));
        tree
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    /// A file; a folder, which cannot be read as one, when the text is [`UNREADABLE`].
    pub fn put(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        match text {
            UNREADABLE => fs::create_dir(&path).expect("a folder"),
            text => fs::write(&path, text).expect("a file"),
        }
    }

    /// A block device without anything.
    pub fn device(&self, name: &str, number: &str) {
        self.put(&format!("sys/block/{name}/dev"), number);
        self.put(&format!("sys/block/{name}/size"), "2048");
        fs::create_dir_all(self.path("sys/dev/block")).expect("a folder");
        let link = self.path("sys/dev/block").join(number);
        symlink(self.path("sys/block").join(name), link).expect("a link");
    }

    /// One device is built on another.
    pub fn stands_on(&self, above: &str, below: &str) {
        let holders = self.path(&format!("sys/block/{below}/holders"));
        fs::create_dir_all(&holders).expect("a folder");
        symlink(self.path("sys/block").join(above), holders.join(above)).expect("a link");
    }

    /// An NVMe drive of four lanes behind a port of four.
    pub fn nvme(&self) {
        let port = "sys/devices/pci0000:00/0000:00:1d.0";
        let function = format!("{port}/0000:01:00.0");
        for (dir, which) in [(port, "max"), (&function, "max"), (&function, "current")] {
            self.put(&format!("{dir}/{which}_link_speed"), "8.0 GT/s PCIe");
            self.put(&format!("{dir}/{which}_link_width"), "4");
        }
        let controller = format!("{function}/nvme/nvme0");
        self.put(&format!("{controller}/transport"), "pcie");
        self.put(&format!("{controller}/nvme0n1/dev"), "259:0");
        self.put(&format!("{controller}/nvme0n1/size"), "2048");
        let drive = self.path(&format!("{controller}/nvme0n1"));
        symlink(self.path(&controller), drive.join("device")).expect("a link");
        symlink(&drive, self.path("sys/block/nvme0n1")).expect("a link");
        symlink(&drive, self.path("sys/dev/block/259:0")).expect("a link");
    }

    /// A SATA disk that takes one command at a time.
    pub fn sata(&self) {
        let target = "sys/devices/pci0000:00/0000:00:17.0/ata1/host3/target3:0:0/3:0:0:0";
        let disk = format!("{target}/block/sda");
        self.put(&format!("{disk}/dev"), "8:0");
        self.put(&format!("{disk}/size"), "2048");
        self.put(&format!("{target}/queue_depth"), "1");
        symlink(self.path(target), self.path(&disk).join("device")).expect("a link");
        symlink(self.path(&disk), self.path("sys/block/sda")).expect("a link");
        symlink(self.path(&disk), self.path("sys/dev/block/8:0")).expect("a link");
    }

    pub fn view(&self) -> HostView {
        let roots = Roots { proc: self.path("proc"), sys: self.path("sys"), dev: self.path("dev") };
        let trees = Trees { roots: roots.clone(), root: self.dir.path().to_path_buf() };
        let scope = Scope::of_machine(&roots);
        HostView::of(trees, self.process.clone(), &scope, &|_| self.neighbours.clone(), Duration::ZERO)
    }
}

/// Stands for a file that is there and cannot be read, also by root.
pub(super) const UNREADABLE: &str = "\u{0}unreadable";

pub(super) fn filesystem(options: &str, room: Result<Room, String>) -> MountedFileSystem {
    MountedFileSystem {
        point: "/my data".into(),
        kind: "ext4".into(),
        options: options.split(',').map(str::to_string).collect(),
        room,
        is_memory: false,
    }
}
