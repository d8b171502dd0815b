//! The `os` room on real devices and filesystems: loop, zram, ext4, xfs, btrfs, tmpfs, ramfs, swap.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::devices::{Loop, Mount, Partitions, Swap, Zram, run, text};
use crate::support::needs::{Need, has, not_run};
use truespd_core::guard::mark::{MarkPlace, MarkState, Marks};
use truespd_core::guard::{Reuse, claim, reuse_decision, signatures};
use truespd_platform::machine::device::BlockDevice;
use truespd_platform::machine::loops::{Below, standing_on};
use truespd_platform::machine::mounts::read_swaps;
use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::storage;
use truespd_platform::machine::storage::{
    Access, AlignmentSource, OpenFailure, OpenFlags, OpenedTarget, TargetError, TargetKind, WriteLeave,
};
use truespd_platform::sys::extents;
use truespd_platform::sys::extents::Extents;
use truespd_platform::sys::identity::Identity;

const MIB: u64 = 1024 * 1024;
const READ: OpenFlags = OpenFlags { access: Access::Read, direct: false, dsync: false };
const DIRECT: OpenFlags = OpenFlags { access: Access::ReadWrite, direct: true, dsync: true };

/// These tests write to what they made.
struct Own<'a>(&'a Path);

impl WriteLeave for Own<'_> {
    fn path(&self) -> &Path {
        self.0
    }
}

fn open(path: &Path, flags: OpenFlags) -> Result<OpenedTarget, TargetError> {
    storage::open_to_write(&Own(path), flags, &Roots::default())
}

fn claimants(node: &Path) -> Option<String> {
    let file = open(node, READ).unwrap().file;
    let claim = claim(&file, node, &Roots::default()).unwrap();
    assert_eq!(claim.missing, []);
    (!claim.by.is_empty()).then(|| claim.to_string())
}

fn found_on(node: &Path) -> Vec<String> {
    let target = open(node, READ).unwrap();
    signatures(&target.file, node).unwrap().signatures.iter().map(ToString::to_string).collect()
}

#[test]
fn a_loop_device_is_known_in_all_its_facts() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let device = Loop::with_options(8 * MIB, &["--sector-size", "4096"]);
    let target = open(&device.node, DIRECT).unwrap();
    let facts = &target.facts;
    assert_eq!((facts.kind, facts.size_bytes), (TargetKind::Block, 8 * MIB));
    assert_eq!(facts.device_name.as_deref(), Some(device.name()));
    let sectors = facts.sectors.unwrap();
    assert_eq!((sectors.logical_bytes, sectors.physical_bytes), (4096, 4096));
    let direct = facts.direct.unwrap();
    assert_eq!(direct.offset_bytes, 4096);
    assert!(facts.filesystem.is_none());
    assert!(facts.scheduler.is_some());
    storage::probe_direct_read(&target, 4096, 4096).unwrap();
    let error = storage::probe_direct_read(&target, 512, 512).unwrap_err();
    assert_eq!(error.open_failure(), Some(OpenFailure::DirectRefused), "below the sector size: {error}");

    let link = device.image.with_file_name("link to device");
    symlink(&device.node, &link).unwrap();
    assert_eq!(open(&link, READ).unwrap().facts.device, facts.device);
    let below = Below { identity: Identity::at(&device.image).unwrap(), size_bytes: 4 * MIB };
    let above = standing_on(&[below], &Roots::default()).unwrap();
    assert_eq!(above.iter().map(|found| found.name.as_str()).collect::<Vec<_>>(), [device.name()]);
    let node = BlockDevice::find(facts.device, &Roots::default()).unwrap();
    assert!(node.describe().starts_with(&format!("loop device {} of file ", device.name())));
}

#[test]
fn a_write_protected_device_takes_read_tests_only() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let device = Loop::with_options(MIB, &["--read-only"]);
    open(&device.node, READ).unwrap();
    let error = open(&device.node, DIRECT).unwrap_err();
    let kind = error.open_failure();
    assert!(matches!(kind, Some(OpenFailure::ReadOnly | OpenFailure::Permission)), "{error}");
    assert!(error.to_string().contains("-w0"), "{error}");
}

#[test]
fn a_zram_device_is_a_clean_target() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let Some(device) = Zram::new(16 * MIB) else { return };
    let target = open(&device.node, DIRECT).unwrap();
    assert_eq!((target.facts.kind, target.facts.size_bytes), (TargetKind::Block, 16 * MIB));
    assert_eq!(target.facts.sectors.unwrap().logical_bytes, 4096);
    storage::probe_direct_read(&target, 0, 65536).unwrap();
    assert_eq!(claimants(&device.node), None);
    assert_eq!(found_on(&device.node), Vec::<String>::new());
}

#[test]
fn a_mounted_device_is_claimed_and_after_that_still_signed() {
    if !has(&[Need::LoopDevices, Need::Tool("mkfs.ext4")]) {
        return;
    }
    let device = Loop::new(16 * MIB);
    assert_eq!(claimants(&device.node), None);
    assert_eq!(found_on(&device.node), Vec::<String>::new());
    run("mkfs.ext4", &["-q", "-L", "backup", text(&device.node)]);
    assert_eq!(claimants(&device.node), None);
    let mount = Mount::new(&[text(&device.node)]);
    let expected = format!("it is mounted at {} (ext4)", mount.point.display());
    assert_eq!(claimants(&device.node), Some(expected));
    drop(mount);
    assert_eq!(claimants(&device.node), None, "nothing keeps it busy after the check");
    assert_eq!(found_on(&device.node), ["a file system of type ext4, label \"backup\""]);
    run("wipefs", &["--all", "--quiet", text(&device.node)]);
    assert_eq!(found_on(&device.node), Vec::<String>::new());
}

/// The kernel lets a device under a loop device be opened exclusively.
#[test]
fn a_loop_device_in_use_claims_the_device_it_stands_on() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let below = Loop::new(16 * MIB);
    let above = Loop::over(&below.node);
    assert_eq!(claimants(&below.node), None, "attached, but used by nobody");
    run("mkswap", &[text(&above.node)]);
    let swap = Swap::new(&above.node);
    let by = claimants(&below.node).expect("in use");
    let (name, node) = (above.name(), below.node.display());
    let words =
        format!("loop device {name} of file {node} is built on it and is in use: it is in use as swap");
    assert_eq!(by, words);
    drop(swap);
    assert_eq!(claimants(&below.node), None);
}

#[test]
fn swap_claims_its_device() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let device = Loop::new(4 * MIB);
    run("mkswap", &[text(&device.node)]);
    assert_eq!(found_on(&device.node), ["a swap area"]);
    let swap = Swap::new(&device.node);
    assert_eq!(claimants(&device.node).as_deref(), Some("it is in use as swap"));
    drop(swap);
    assert_eq!(claimants(&device.node), None);
}

/// The kernel counts lines while its list is read: a line that goes away must not take the next one with it.
#[test]
fn swap_that_goes_away_hides_no_other() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let (going, staying) = (Loop::new(4 * MIB), Loop::new(4 * MIB));
    run("mkswap", &[text(&going.node)]);
    run("mkswap", &[text(&staying.node)]);
    // The first in the list is the one that goes away.
    let first = Swap::new(&going.node);
    let _second = Swap::new(&staying.node);
    drop(first);
    let is_over = AtomicBool::new(false);
    let missed = std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..100 {
                drop(Swap::new(&going.node));
            }
            is_over.store(true, Ordering::Relaxed);
        });
        let mut missed = 0;
        while !is_over.load(Ordering::Relaxed) {
            let listed = read_swaps(&Roots::default()).expect("readable");
            missed += usize::from(!listed.contains(&staying.node));
        }
        missed
    });
    assert_eq!(missed, 0, "readings without {}", staying.node.display());
}

#[test]
fn a_partitioned_disk_is_claimed_through_its_partition() {
    if !has(&[Need::LoopDevices, Need::Tool("mkfs.ext4"), Need::Tool("sfdisk")]) {
        return;
    }
    let device = Loop::new(32 * MIB);
    let script = device.image.with_file_name("script");
    fs::write(&script, "label: gpt\nstart=2048, size=32768\nstart=40960, size=8192\n").unwrap();
    let command = format!("sfdisk --quiet {} < {}", device.node.display(), script.display());
    run("sh", &["-c", &command]);
    assert_eq!(found_on(&device.node), ["a GPT partition table"]);
    let _partitions = Partitions::new(&device.node);

    let facts = open(&device.node, READ).unwrap().facts;
    let parts = BlockDevice::find(facts.device, &Roots::default()).unwrap().partitions();
    let names: Vec<_> = parts.iter().map(|p| p.name.clone()).collect();
    assert_eq!(names, [1, 2].map(|n| format!("{}p{n}", device.name())));
    let nodes: Vec<_> = names.iter().map(|n| Path::new("/dev").join(n)).collect();
    if !nodes.iter().all(|n| n.exists()) {
        not_run(Need::PartitionNodes);
        return;
    }
    run("mkfs.ext4", &["-q", text(&nodes[0])]);
    let mount = Mount::new(&[text(&nodes[0])]);
    let at = mount.point.display();
    assert_eq!(
        claimants(&device.node),
        Some(format!("its partition {} is mounted at {at} (ext4)", names[0]))
    );
    assert_eq!(claimants(&nodes[0]), Some(format!("it is mounted at {at} (ext4)")));
    assert_eq!(claimants(&nodes[1]), None, "the neighbour is free");
    assert_eq!(open(&nodes[1], DIRECT).unwrap().facts.size_bytes, 4 * MIB);
}

#[test]
fn an_exclusive_opener_that_nobody_names_is_still_a_claim() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let device = Loop::new(MIB);
    // Not for the programs that other tests start meanwhile.
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::EXCL | rustix::fs::OFlags::CLOEXEC;
    let holder = rustix::fs::open(&device.node, flags, rustix::fs::Mode::empty()).unwrap();
    assert!(claimants(&device.node).unwrap().contains("opened it exclusively"));
    drop(holder);
    assert_eq!(claimants(&device.node), None);
}

/// A filesystem on a loop device, mounted.
fn filesystem(tool: &str, args: &[&str], bytes: u64, options: &[&str]) -> (Mount, Loop) {
    let device = Loop::new(bytes);
    let mut all = args.to_vec();
    all.push(text(&device.node));
    run(tool, &all);
    let mut mount = options.to_vec();
    mount.push(text(&device.node));
    // The mount stands first, to be dropped first.
    (Mount::new(&mount), device)
}

fn create(path: &Path) -> File {
    File::options().create_new(true).read(true).write(true).open(path).unwrap()
}

#[test]
fn files_on_disk_filesystems_align_mark_and_show_their_extents() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    for (name, tool, args, bytes) in [
        ("ext4", "mkfs.ext4", &["-q"][..], 32 * MIB),
        ("xfs", "mkfs.xfs", &["-q", "-f"], 300 * MIB),
        ("btrfs", "mkfs.btrfs", &["-q", "-f"], 128 * MIB),
    ] {
        if !has(&[Need::Tool(tool)]) {
            continue;
        }
        let (mount, device) = filesystem(tool, args, bytes, &[]);
        let path = mount.point.join("test.dat");
        let file = create(&path);
        file.write_all_at(&vec![3; MIB as usize], 0).unwrap();

        let target = open(&path, DIRECT).unwrap();
        let facts = &target.facts;
        let filesystem = facts.filesystem.as_ref().unwrap();
        assert_eq!(
            (filesystem.name.as_str(), filesystem.is_remote, filesystem.is_memory),
            (name, false, false)
        );
        assert_eq!(filesystem.mount_point.as_deref(), Some(mount.point.as_path()));
        assert_eq!(facts.device_name.as_deref(), Some(device.name()), "{name}");
        let direct = facts.direct.unwrap();
        if direct.source == AlignmentSource::FilesystemBlock {
            assert_eq!((name, direct.offset_bytes), ("btrfs", 4096));
        }
        storage::probe_direct_read(&target, 0, 65536).unwrap();

        assert_eq!(extents::examine(&file).unwrap(), Extents::AllWritten, "{name}");
        rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, 2 * MIB).unwrap();
        assert_eq!(extents::examine(&file).unwrap(), Extents::Unwritten { offset_bytes: MIB }, "{name}");
        file.set_len(3 * MIB).unwrap();
        file.write_all_at(&vec![3; MIB as usize], MIB).unwrap();
        assert_eq!(extents::examine(&file).unwrap(), Extents::Hole { offset_bytes: 2 * MIB }, "{name}");
        file.set_len(2 * MIB).unwrap();

        let marks = Marks::with_registry(&device.image.with_file_name("state"));
        assert_eq!(marks.mark(&file, MarkState::Complete).unwrap(), MarkPlace::Attribute, "{name}");
        let decision = reuse_decision(&path, Some(&file), 2 * MIB, &marks).unwrap();
        assert!(matches!(decision, Reuse::Reuse { ours: true, .. }), "{name}: {decision:?}");

        let copy = mount.point.join("copy.dat");
        run("cp", &[text(&path), text(&copy)]);
        assert!(!marks.is_ours(&File::open(&copy).unwrap()), "a plain copy is not ours");
        run("cp", &["-p", "--preserve=xattr", text(&path), text(&mount.point.join("backup.dat"))]);
        assert!(
            marks.is_ours(&File::open(mount.point.join("backup.dat")).unwrap()),
            "one with attributes is"
        );
    }
}

#[test]
fn a_read_only_filesystem_takes_read_tests_only() {
    if !has(&[Need::LoopDevices, Need::Tool("mkfs.ext4")]) {
        return;
    }
    let (mount, device) = filesystem("mkfs.ext4", &["-q"], 16 * MIB, &[]);
    create(&mount.point.join("data")).write_all_at(b"x", 0).unwrap();
    drop(mount);
    let mount = Mount::new(&["-o", "ro", text(&device.node)]);
    open(&mount.point.join("data"), READ).unwrap();
    let error = open(&mount.point.join("data"), DIRECT).unwrap_err();
    assert_eq!(error.open_failure(), Some(OpenFailure::ReadOnly));
    assert!(error.to_string().contains("[30]: Read-only file system"), "{error}");
}

#[test]
fn ramfs_refuses_direct_io_and_marks_go_to_the_registry() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let mount = Mount::new(&["-t", "ramfs", "none"]);
    let path = mount.point.join("data");
    let file = create(&path);
    file.write_all_at(&[1; 8192], 0).unwrap();
    let error = open(&path, DIRECT).unwrap_err();
    assert_eq!(error.open_failure(), Some(OpenFailure::DirectRefused), "{error}");
    let words = error.to_string();
    assert!(words.starts_with(&format!("Error opening file: {} [22]: ", path.display())), "{words}");
    assert!(words.contains("(ramfs) refuses direct I/O"), "{words}");
    let facts = open(&path, READ).unwrap().facts;
    assert!(facts.filesystem.unwrap().is_memory);

    let state = tempfile::tempdir().unwrap();
    let marks = Marks::with_registry(&state.path().join("files"));
    let place = marks.mark(&file, MarkState::Complete).unwrap();
    if place == MarkPlace::Attribute {
        // Kernels from some release on may give ramfs attributes; then there is nothing to fall back from.
        assert!(marks.is_ours(&file));
        return;
    }
    assert!(marks.is_ours(&file));
    let other = create(&mount.point.join("other"));
    other.write_all_at(&[1; 8192], 0).unwrap();
    assert!(!marks.is_ours(&other));
    marks.unmark(&file).unwrap();
    assert!(!marks.is_ours(&file));
    assert_eq!(fs::read_dir(state.path().join("files")).unwrap().count(), 0);
}

#[test]
fn tmpfs_is_memory() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let mount = Mount::new(&["-t", "tmpfs", "-o", "size=8m", "none"]);
    let file = create(&mount.point.join("data"));
    file.write_all_at(&vec![1; MIB as usize], 0).unwrap();
    let facts = open(&mount.point.join("data"), READ).unwrap().facts;
    let filesystem = facts.filesystem.unwrap();
    assert_eq!((filesystem.name.as_str(), filesystem.is_memory), ("tmpfs", true));
    assert!(facts.sectors.is_none() && facts.device_name.is_none());
    assert_eq!(extents::examine(&file).unwrap(), Extents::AllWritten);
    file.set_len(2 * MIB).unwrap();
    assert_eq!(extents::examine(&file).unwrap(), Extents::Hole { offset_bytes: MIB });
    assert_eq!(file.metadata().unwrap().len(), 2 * MIB);
    assert_eq!(facts.inode, file.metadata().unwrap().ino());
}
