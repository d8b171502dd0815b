//! The disks of the running system have no override: real loop devices, described to the guard as parts of
//! machines whose root is on them.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use crate::support::devices::{Loop, run, text};
use crate::support::needs::{Need, has};
use crate::support::program::{Lab, Running};
use crate::support::words::in_one_line;
use truespd_core::guard::mark::Marks;
use truespd_core::guard::{Consent, Guard, Range};
use truespd_platform::fault::Refusal;
use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::storage::facts_of;

const MIB: u64 = 1 << 20;

/// The kernel's trees of a machine with a disk `sda` of two partitions and a data disk `sdb`.
struct Machine {
    dir: tempfile::TempDir,
    roots: Roots,
}

impl Machine {
    /// `mounts` as in mountinfo, `swaps` as node names.
    fn new(mounts: &str, swaps: &[&str]) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let at = |name: &str| dir.path().join(name);
        let roots = Roots { proc: at("proc"), sys: at("sys"), dev: at("dev") };
        let machine = Machine { dir, roots };
        machine.put("proc/self/mountinfo", &format!("22 1 0:21 / /proc rw - proc proc rw\n{mounts}"));
        let swaps: Vec<String> =
            swaps.iter().map(|name| format!("{} partition 1 0 -2\n", at_dev(&machine, name))).collect();
        machine.put("proc/swaps", &format!("Filename Type\n{}", swaps.concat()));
        for (place, number) in [
            ("sda", "8:0"),
            ("sda/sda1", "8:1"),
            ("sda/sda2", "8:2"),
            ("sda/sda3", "8:3"),
            ("sdb", "8:16"),
            ("sdc", "8:32"),
            ("dm-0", "252:0"),
            ("md0", "9:0"),
        ] {
            machine.put(&format!("sys/devices/{place}/dev"), number);
            if let Some(digit) = place.strip_prefix("sda/sda") {
                machine.put(&format!("sys/devices/{place}/partition"), digit);
            }
            machine.link(&format!("sys/dev/block/{number}"), place);
            machine.link(&format!("sys/class/block/{}", place.rsplit('/').next().expect("a name")), place);
            if !place.contains('/') {
                machine.link(&format!("sys/block/{place}"), place);
            }
        }
        machine.put("sys/devices/dm-0/dm/name", "vg-root");
        machine.put("sys/devices/dm-0/dm/uuid", "LVM-x");
        machine.put("sys/devices/md0/md/level", "raid1");
        machine
    }

    fn put(&self, name: &str, words: &str) {
        let path = self.dir.path().join(name);
        fs::create_dir_all(path.parent().expect("below"))
            .and_then(|()| fs::write(path, words))
            .expect("a file");
    }

    fn link(&self, name: &str, place: &str) {
        let path = self.dir.path().join(name);
        fs::create_dir_all(path.parent().expect("below")).expect("a directory");
        symlink(self.roots.sys.join("devices").join(place), path).expect("a link");
    }

    /// Puts one device below another.
    fn holds(&self, below: &str, above: &str) {
        self.link(&format!("sys/devices/{below}/holders/{above}"), above);
        self.link(
            &format!("sys/devices/{above}/slaves/{}", below.rsplit('/').next().expect("a name")),
            below,
        );
    }

    /// What the guard says when this real device is the machine's device `place`, and is named again.
    fn write(&self, device: &Loop, place: &str) -> Result<(), Refusal> {
        self.write_with(device, place, &[text(&device.node).to_string()])
    }

    /// The same with these paths after `--overwrite`.
    fn write_with(&self, device: &Loop, place: &str, overwrite: &[String]) -> Result<(), Refusal> {
        let number = fs::metadata(&device.node).expect("a node").rdev();
        let number = format!("{}:{}", rustix::fs::major(number), rustix::fs::minor(number));
        let dev = self.roots.sys.join("devices").join(place).join("dev");
        let (recorded, mounts) =
            (fs::read_to_string(&dev).expect("there"), self.roots.proc.join("self/mountinfo"));
        let lines = fs::read_to_string(&mounts).expect("there");
        // The machine's number of the device becomes the real one.
        fs::write(&dev, &number).expect("written");
        fs::write(&mounts, lines.replace(&format!(" {recorded} "), &format!(" {number} "))).expect("written");
        let link: PathBuf = self.roots.sys.join("dev/block").join(&number);
        symlink(self.roots.sys.join("devices").join(place), &link).expect("a link");

        let typed = text(&device.node).to_string();
        let file = File::open(&device.node).expect("a device");
        let facts = facts_of(&file, &device.node, &self.roots).expect("facts");
        let marks = Marks::with_registry(&self.dir.path().join("state"));
        let word = Consent { overwrite, ..Consent::default() };
        let guard = Guard { consent: word, marks: &marks, roots: &self.roots };
        let answer = guard.check(&typed, &device.node, &file, &facts, Range::ALL).map(|_| ());

        fs::remove_file(link).expect("removed");
        fs::write(dev, recorded).and_then(|()| fs::write(mounts, lines)).expect("written");
        answer
    }

    fn refuses(&self, device: &Loop, place: &str, says: &str) {
        let Err(refusal) = self.write(device, place) else { panic!("{place} is let through") };
        let words = refusal.to_string();
        assert!(words.contains("the running system is on that disk, and no option"), "{place}: {words}");
        assert!(words.contains(says), "{place}: no '{says}' in: {words}");
        assert!(!words.contains("--overwrite"), "{place}: {words}");
    }
}

fn at_dev(machine: &Machine, name: &str) -> String {
    text(&machine.roots.dev.join(name)).to_string()
}

/// The disk of a partition is what sysfs says, and not what happens to have its name.
#[test]
fn a_node_of_another_device_tells_nothing_of_the_disk() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let (part, other) = (Loop::new(MIB), Loop::new(8 * MIB));
    run("mkswap", &[text(&other.node)]);
    let machine = Machine::new("", &[]);
    fs::create_dir_all(&machine.roots.dev).expect("a directory");
    let told = |node: &Path| {
        let _ = fs::remove_file(machine.roots.dev.join("sda"));
        symlink(node, machine.roots.dev.join("sda")).expect("a link");
        let refusal = machine.write_with(&part, "sda/sda1", &[]).err();
        refusal.map(|refusal| refusal.to_string()).unwrap_or_default()
    };
    for node in [other.node.as_path(), other.image.as_path(), Path::new("none")] {
        assert!(!told(node).contains("swap"), "{}", node.display());
    }
    // The same node, when it is the disk's.
    let number = fs::metadata(&other.node).expect("a node").rdev();
    let number = format!("{}:{}", rustix::fs::major(number), rustix::fs::minor(number));
    machine.put("sys/devices/sda/dev", &number);
    assert!(told(&other.node).contains("sda holds a swap area"), "{}", told(&other.node));
}

#[test]
fn plain_partitions() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let device = Loop::new(MIB);
    for (point, kind) in
        [("/", "ext4"), ("/boot", "ext4"), ("/boot/efi", "vfat"), ("/usr", "xfs"), ("/efi", "vfat")]
    {
        let machine = Machine::new(&format!("30 1 8:2 / {point} rw - {kind} /dev/sda2 rw\n"), &[]);
        machine.refuses(&device, "sda", &format!("its partition sda2 is mounted at {point} ({kind})"));
        machine.refuses(&device, "sda/sda2", &format!("it is mounted at {point} ({kind})"));
        machine.refuses(
            &device,
            "sda/sda1",
            "the running system is on the same disk, sda: sda2 is mounted at",
        );
        assert_eq!(machine.write(&device, "sdb"), Ok(()), "a disk beside it");
    }
}

#[test]
fn a_data_disk_is_in_use_but_no_disk_of_the_system() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let device = Loop::new(MIB);
    let machine =
        Machine::new("30 1 8:2 / /srv rw - ext4 /dev/sda2 rw\n31 1 8:16 / / rw - ext4 /dev/sdb rw\n", &[]);
    let refusal = machine.write(&device, "sda").expect_err("mounted");
    assert!(refusal.to_string().contains("no option allows a write test of a device in use"), "{refusal}");
    assert_eq!(machine.write(&device, "sda/sda1"), Ok(()), "its blank neighbour");
    machine.refuses(&device, "sdb", "it is mounted at / (ext4)");
}

#[test]
fn every_layer_below_the_root() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let device = Loop::new(MIB);
    // Root on LVM, on an md array, on a partition of one disk and all of another.
    let machine = Machine::new("30 1 252:0 / / rw - xfs /dev/mapper/vg-root rw\n", &[]);
    machine.holds("sda/sda2", "md0");
    machine.holds("sdc", "md0");
    machine.holds("md0", "dm-0");
    for (place, says) in [
        ("dm-0", "it is mounted at / (xfs)"),
        ("md0", "it is part of LVM volume vg-root (dm-0)"),
        ("sda/sda2", "LVM volume vg-root (dm-0) is mounted at / (xfs)"),
        ("sdc", "it is part of md array md0 (raid1)"),
        ("sda", "its partition sda2 is part of md array md0 (raid1)"),
        ("sda/sda3", "the running system is on the same disk, sda"),
    ] {
        machine.refuses(&device, place, says);
    }
    assert_eq!(machine.write(&device, "sdb"), Ok(()));
}

#[test]
fn active_swap() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let device = Loop::new(MIB);
    let machine = Machine::new("", &["sda3"]);
    machine.refuses(&device, "sda/sda3", "it is in use as swap");
    machine.refuses(&device, "sda", "its partition sda3 is in use as swap");
    machine.refuses(&device, "sda/sda1", "sda3 is in use as swap");
}

#[test]
fn a_root_of_several_btrfs_devices() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let device = Loop::new(MIB);
    let machine = Machine::new("", &[]);
    let node = machine.roots.dev.join("sda2");
    let line = format!("30 1 0:40 /@ / rw - btrfs {} rw\n", node.display());
    machine.put("proc/self/mountinfo", &line);
    for member in ["sda2", "sdc"] {
        machine.put(&format!("sys/fs/btrfs/uuid/devices/{member}/missing"), "0");
    }
    machine.refuses(&device, "sda/sda2", "it is mounted at / (btrfs)");
    machine.refuses(&device, "sdc", "it is part of the btrfs file system mounted at /");
    machine.refuses(&device, "sda", "its partition sda2 is mounted at / (btrfs)");
    assert_eq!(machine.write(&device, "sdb"), Ok(()));
}

/// A LUN that two ports show, without multipath: the kernel takes them for two disks.
#[test]
fn the_same_storage_by_another_name() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let device = Loop::new(MIB);
    let machine_with = |mounts: &str, ids: [&str; 2], sizes: [u32; 2]| {
        let machine = Machine::new(mounts, &[]);
        for ((place, id), size) in ["sda", "sdc"].iter().zip(ids).zip(sizes) {
            machine.put(&format!("sys/devices/{place}/device/wwid"), id);
            machine.put(&format!("sys/devices/{place}/size"), &size.to_string());
        }
        machine
    };
    const ID: &str = "naa.600140512345678";
    const DATA: &str = "30 1 8:2 / /srv rw - ext4 /dev/sda2 rw\n";
    let machine = machine_with(DATA, [ID, ID], [2048, 2048]);
    let refusal = machine.write(&device, "sdc").expect_err("mounted by another name").to_string();
    let words =
        "sda is the same storage under another name and is in use: its partition sda2 is mounted at /srv";
    assert!(refusal.contains(words), "{refusal}");
    assert_eq!(machine.write(&device, "sdb"), Ok(()), "another disk");
    let root = machine_with("30 1 8:2 / / rw - ext4 /dev/sda2 rw\n", [ID, ID], [2048, 2048]);
    root.refuses(&device, "sdc", "sda is the same storage under another name");
    for (ids, sizes) in [
        ([ID, "naa.600140587654321"], [2048, 2048]),
        // Disks that have no name, or one that their maker gave to more than one.
        (["eui.0000000000000000"; 2], [2048, 2048]),
        ([ID, ID], [2048, 4096]),
    ] {
        assert_eq!(machine_with(DATA, ids, sizes).write(&device, "sdc"), Ok(()), "{ids:?} {sizes:?}");
    }
}

/// A loop device over the file is mounted as a part of the running system, in a mount namespace of its own.
#[test]
fn the_file_behind_a_boot_file_system() {
    if !has(&[Need::LoopDevices, Need::Tool("unshare"), Need::Tool("mkfs.ext4")])
        || !Path::new("/boot").is_dir()
    {
        return;
    }
    let lab = Lab::new();
    let image = lab.write("image", &vec![0; 8 * MIB as usize]);
    run("mkfs.ext4", &["-q", text(&image)]);
    let device = Loop::over(&image);
    let before = lab.read("image");
    let line = "-d1 -W0 -b4K -o1 -g64 -w100 --overwrite image image";
    let script = format!("mount --read-only {} /boot && exec \"$@\"", text(&device.node));
    let command = lab.command_behind(&["unshare", "--mount", "sh", "-c", &script, "sh"], line);
    let ran = Running::new(command, line).finish().expect_code(4);
    let told = in_one_line(&ran.stderr);
    for says in ["is mounted at /boot (ext4)", "the running system is on that disk, and no option"] {
        assert!(told.contains(says), "no '{says}' in: {ran}");
    }
    assert!(lab.read("image") == before, "it was written");
}
