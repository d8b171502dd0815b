//! The layers below targets of this machine: real files, loop devices, zram, tmpfs and btrfs made here.

use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use crate::support::devices::{Loop, Mount, Partitions, Zram, only_btrfs, run, text};
use crate::support::needs::{Need, has, not_run};
use truespd_platform::machine::chain::{Layer, LayerKind};
use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::storage::ReadFlags;
use truespd_platform::machine::{chain, limits, storage};
use truespd_platform::sys::thread::running_ns_of_this_thread;

const READ: ReadFlags = ReadFlags::CACHED;

fn chain_of(path: &Path) -> Vec<Layer> {
    let roots = Roots::default();
    let opened = storage::open(path, READ, &roots).expect("the target opens");
    chain::of(&opened.file, &opened.facts, &roots)
}

fn kinds(layers: &[Layer]) -> Vec<LayerKind> {
    layers.iter().map(|l| l.kind).collect()
}

/// Every index points further down, and each layer but the first is below another.
fn assert_is_a_chain(layers: &[Layer]) {
    for (at, layer) in layers.iter().enumerate() {
        assert!(layer.below.iter().all(|&b| b < layers.len() && b != at), "{layers:#?}");
        let is_below = layers.iter().any(|l| l.below.contains(&at));
        assert_eq!(is_below, at > 0, "{layers:#?}");
    }
}

fn file_of(dir: &Path, bytes: u64) -> std::path::PathBuf {
    let path = dir.join("data");
    File::create(&path).and_then(|f| f.set_len(bytes)).expect("a file");
    path
}

#[test]
fn a_file_reaches_the_disk_it_is_on() {
    let dir = tempfile::tempdir().unwrap();
    let path = file_of(dir.path(), 12345);
    let layers = chain_of(&path);
    assert_is_a_chain(&layers);
    assert_eq!((layers[0].kind, layers[0].size_bytes), (LayerKind::File, Some(12345)));
    let filesystem = &layers[1];
    assert!(filesystem.mount.point.as_ref().is_some_and(|p| path.starts_with(p)), "{filesystem:#?}");
    // What the kernel's tools say of the same file.
    let source = run("findmnt", &["-n", "-o", "FSTYPE", "-T", text(&path)]);
    // Of several mounts at one place it names each.
    assert_eq!(Some(filesystem.name.as_str()), source.lines().last());
    for lowest in layers.iter().filter(|l| l.kind == LayerKind::Disk) {
        let node = format!("/dev/{}", lowest.name);
        if !Path::new(&node).exists() {
            return not_run(Need::CountedDisk);
        }
        let lsblk = |column: &str| run("lsblk", &["-bdno", column, &node]).trim().to_string();
        assert_eq!(lowest.size_bytes.unwrap().to_string(), lsblk("SIZE"));
        assert_eq!(lowest.sectors.unwrap().logical_bytes.to_string(), lsblk("LOG-SEC"));
        assert_eq!(lowest.queue.rotational, Some(lsblk("ROTA") == "1"));
        assert_eq!(lowest.queue.scheduler.clone().unwrap_or_default(), lsblk("SCHED"));
        assert_eq!(lowest.queue.requests.unwrap().to_string(), lsblk("RQ-SIZE"));
        assert_eq!(lowest.queue.discard_bytes_max.unwrap().to_string(), lsblk("DISC-MAX"));
        assert!(lowest.transport.is_some() && lowest.queue.write_cache.is_some(), "{lowest:#?}");
    }
}

#[test]
fn reading_a_chain_takes_less_than_5_ms_of_processor_time() {
    let dir = tempfile::tempdir().unwrap();
    let path = file_of(dir.path(), 4096);
    let roots = Roots::default();
    let opened = storage::open(&path, READ, &roots).unwrap();
    let once = || {
        let start_ns = running_ns_of_this_thread();
        assert!(chain::of(&opened.file, &opened.facts, &roots).len() > 1);
        Duration::from_nanos(running_ns_of_this_thread() - start_ns)
    };
    let best = (0..20).map(|_| once()).min().unwrap();
    eprintln!("a chain takes {best:?}");
    assert!(best.as_millis() < 5, "{best:?}");
}

#[test]
fn memory_filesystems_end_the_chain() {
    if !has(&[Need::MemoryFilesystem]) {
        return;
    }
    let dir = tempfile::tempdir_in("/dev/shm").expect("a folder in memory");
    let layers = chain_of(&file_of(dir.path(), 4096));
    assert_eq!(kinds(&layers), [LayerKind::File, LayerKind::MemoryFilesystem]);
    assert_eq!(layers[1].name, "tmpfs");
    assert!(layers[1].below.is_empty());
}

#[test]
fn a_loop_device_leads_on_to_the_file_behind_it() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    for (options, direct) in [(&["--direct-io=on"][..], true), (&["--direct-io=off"], false)] {
        let device = Loop::with_options(8 << 20, options);
        let layers = chain_of(&device.node);
        assert_is_a_chain(&layers);
        assert_eq!(kinds(&layers)[..2], [LayerKind::Loop, LayerKind::File]);
        assert_eq!(layers[0].detail.as_deref(), device.image.to_str());
        assert_eq!((layers[0].size_bytes, layers[1].size_bytes), (Some(8 << 20), Some(8 << 20)));
        assert_eq!(layers[1].name, text(&device.image));
        assert_eq!(layers[0].direct_io, Some(direct));
        let file = chain_of(&device.image);
        assert_eq!(kinds(&layers)[1..], kinds(&file)[..], "the rest is the file's own chain");
    }
}

#[test]
fn a_loop_device_over_another_and_one_whose_file_is_gone() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let lower = Loop::new(8 << 20);
    let upper = Loop::over(&lower.node);
    let layers = chain_of(&upper.node);
    assert_is_a_chain(&layers);
    assert_eq!(kinds(&layers)[..3], [LayerKind::Loop, LayerKind::Loop, LayerKind::File]);
    assert_eq!((&*layers[0].name, &*layers[1].name), (upper.name(), lower.name()));
    drop(upper);
    fs::remove_file(&lower.image).unwrap();
    let layers = chain_of(&lower.node);
    assert_eq!(kinds(&layers), [LayerKind::Loop]);
    assert!(layers[0].detail.as_ref().unwrap().ends_with("(deleted)"));
}

#[test]
fn a_partition_of_a_loop_device() {
    if !has(&[Need::LoopDevices, Need::Tool("sfdisk"), Need::Tool("partx")]) {
        return;
    }
    let device = Loop::with_options(16 << 20, &[]);
    let table = tempfile::NamedTempFile::new().unwrap();
    fs::write(table.path(), "label: gpt\nstart=2048, size=8192\n").unwrap();
    let command = format!("sfdisk -q {} < {}", text(&device.node), text(table.path()));
    run("sh", &["-c", &command]);
    let _partitions = Partitions::new(&device.node);
    let node = format!("{}p1", text(&device.node));
    let layers = chain_of(Path::new(&node));
    assert_is_a_chain(&layers);
    assert_eq!(kinds(&layers)[..3], [LayerKind::Partition, LayerKind::Loop, LayerKind::File]);
    assert_eq!(layers[0].size_bytes, Some(8192 * 512));
    assert_eq!(layers[0].starts_at_bytes, Some(1_048_576));
    assert_eq!(layers[0].sectors, layers[1].sectors);
}

#[test]
fn zram_is_memory_and_compresses() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let Some(zram) = Zram::new(16 << 20) else { return };
    let layers = chain_of(&zram.node);
    assert_eq!(kinds(&layers), [LayerKind::Memory]);
    assert_eq!(layers[0].size_bytes, Some(16 << 20));
    let name = zram.node.file_name().unwrap().to_str().unwrap();
    let list = fs::read_to_string(format!("/sys/block/{name}/comp_algorithm")).unwrap();
    assert!(list.contains(layers[0].compression.as_deref().unwrap()), "{layers:?} {list}");
}

#[test]
fn btrfs_on_two_devices_shows_both_and_its_compression() {
    if !has(&[Need::LoopDevices, Need::Tool("mkfs.btrfs")]) {
        return;
    }
    let (a, b) = (Loop::new(128 << 20), Loop::new(128 << 20));
    let _only = only_btrfs();
    run("mkfs.btrfs", &["-q", "-d", "raid0", "-m", "raid1", text(&a.node), text(&b.node)]);
    let options = format!("device={},device={},compress=zstd:3", text(&a.node), text(&b.node));
    let mount = Mount::new(&["-t", "btrfs", "-o", &options, text(&a.node)]);
    let path = file_of(&mount.point, 1 << 20);
    let layers = chain_of(&path);
    assert_is_a_chain(&layers);
    let filesystem = &layers[1];
    assert_eq!((filesystem.kind, &*filesystem.name), (LayerKind::Filesystem, "btrfs"));
    assert_eq!(filesystem.detail.as_deref(), Some("data raid0 on 2 devices"));
    assert_eq!(filesystem.compression.as_deref(), Some("zstd:3"));
    let mut below: Vec<&str> = filesystem.below.iter().map(|&at| layers[at].name.as_str()).collect();
    let mut expected = [a.name(), b.name()];
    below.sort_unstable();
    expected.sort_unstable();
    assert_eq!(below, expected);
    // A file kept from copy-on-write is not compressed either.
    let plain = mount.point.join("plain");
    File::create(&plain).unwrap();
    run("chattr", &["+C", text(&plain)]);
    assert_eq!(chain_of(&plain)[1].compression, None);
    run("mount", &["-o", "remount,compress=no", text(&mount.point)]);
    assert_eq!(chain_of(&path)[1].compression, None);
    let marked = mount.point.join("marked");
    File::create(&marked).unwrap();
    run("chattr", &["+c", text(&marked)]);
    assert!(chain_of(&marked)[1].compression.is_some());
}

/// A cgroup of version 1, removed on drop.
struct Group(std::path::PathBuf);

impl Drop for Group {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir(&self.0) {
            eprintln!("could not remove {}: {error}", self.0.display());
        }
    }
}

#[test]
fn a_throttle_on_a_loop_device_is_seen_from_inside_its_group() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let top = Path::new("/sys/fs/cgroup/blkio");
    if !top.join("blkio.throttle.read_iops_device").exists() {
        return not_run(Need::ThrottlingCgroup);
    }
    let device = Loop::new(1 << 20);
    let numbers = chain::numbers(&chain_of(&device.node));
    let of_blkio = |roots: &Roots| -> Vec<limits::Limit> {
        let all = limits::in_force(&numbers, roots);
        all.into_iter().filter(|l| l.by == "blkio.throttle").collect()
    };
    assert_eq!(of_blkio(&Roots::default()), []);
    let group = Group(top.join(format!("truespd-chain-{}", std::process::id())));
    fs::create_dir(&group.0).expect("a cgroup");
    fs::write(group.0.join("blkio.throttle.read_iops_device"), format!("{} 1920", numbers[0])).unwrap();
    fs::write(group.0.join("blkio.throttle.write_bps_device"), format!("{} 1048576", numbers[0])).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let result = dir.path().join("result.json");
    let command = format!(
        "echo $$ > '{}/cgroup.procs' && exec '{}' -d1 -W0 -b4K -r -o4 -Su --json '{}' {} 2>&1",
        group.0.display(),
        crate::support::program::diskspd(),
        text(&result),
        text(&device.node)
    );
    run("sh", &["-c", &command]);
    let document: serde_json::Value = serde_json::from_slice(&fs::read(&result).unwrap()).unwrap();
    let evidence = document
        .pointer("/result/time_spans/0/measured/evidence")
        .unwrap_or_else(|| panic!("no evidence in {document:#}"));
    assert_eq!(evidence["targets"][0]["layers"][0]["kind"], "loop");
    assert_eq!(evidence["targets"][0]["layers"][0]["name"], device.name());
    let limits: Vec<_> = evidence["limits"].as_array().expect("limits").iter().collect();
    let of = |what: &str| limits.iter().find(|l| l["what"] == what).map(|l| (&l["value"], &l["device"]));
    assert_eq!(of("read_iops"), Some((&1920.into(), &device.name().into())), "{limits:?}");
    assert_eq!(of("write_bytes_per_second"), Some((&1_048_576.into(), &device.name().into())));
    let shown = format!("/truespd-chain-{}", std::process::id());
    assert!(limits.iter().any(|l| l["by"] == "blkio.throttle" && l["group"] == shown.as_str()), "{limits:?}");
}
