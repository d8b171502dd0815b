//! What lies on a disk and around its partitions, as the kernel and the table on the disk tell it.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::support::devices::{Loop, Partitions, run, text};
use crate::support::needs::{Need, has, not_run};
use truespd_core::guard::mark::Marks;
use truespd_core::guard::{Consent, Guard, Range};
use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::storage::facts_of;

const MIB: u64 = 1 << 20;

/// What of a device's layout keeps it from being written without a word; nothing when it may be written.
fn reasons(node: &Path) -> Vec<String> {
    let (dir, roots) = (tempfile::tempdir().expect("a temporary directory"), Roots::default());
    let marks = Marks::with_registry(dir.path());
    let guard = Guard { consent: Consent::default(), marks: &marks, roots: &roots };
    let file = File::open(node).expect("a device");
    let facts = facts_of(&file, node, &roots).expect("facts");
    let answer = guard.check(text(node), node, &file, &facts, Range::ALL);
    let mut told = answer.err().map(|refusal| refusal.reasons.clone()).unwrap_or_default();
    assert!(told.last().is_none_or(|last| last.starts_with("it is built on the file ")), "{told:?}");
    told.pop();
    told
}

/// Puts a partition table on a device. The kernel does not read it by itself.
fn put_table(device: &Loop, script: &str) {
    let file = device.image.with_file_name("script");
    std::fs::write(&file, script).expect("a file");
    run("sh", &["-c", &format!("sfdisk --quiet --no-reread {} < {}", text(&device.node), text(&file))]);
}

fn write(node: &Path, bytes: &[u8], at: u64) {
    let device = File::options().write(true).open(node).expect("a device");
    device.write_all_at(bytes, at).and_then(|()| device.sync_all()).expect("written");
}

/// A device with a table whose partitions the kernel knows, and their nodes. What comes last is dropped first.
pub fn known_to_the_kernel(script: &str, count: usize) -> Option<(Loop, Partitions, Vec<PathBuf>)> {
    if !has(&[Need::LoopDevices, Need::Tool("sfdisk")]) {
        return None;
    }
    let device = Loop::new(32 * MIB);
    put_table(&device, script);
    let partitions = Partitions::new(&device.node);
    let nodes: Vec<PathBuf> = (1..=count).map(|n| format!("{}p{n}", text(&device.node)).into()).collect();
    if !nodes.iter().all(|node| node.exists()) {
        not_run(Need::PartitionNodes);
        return None;
    }
    Some((device, partitions, nodes))
}

#[test]
fn partitions_that_only_the_kernel_knows_are_told() {
    let Some((device, _partitions, nodes)) = known_to_the_kernel("label: gpt\nsize=8192\nsize=8192\n", 2)
    else {
        return;
    };
    run("mkswap", &[text(&nodes[1])]);
    // Somebody wiped the table, both copies, while the partitions were in use.
    for at in [0, 31 * MIB] {
        write(&device.node, &vec![0; MIB as usize], at);
    }
    let name = device.name();
    let nothing = format!("its partition 1 ({name}p1, 4MiB) holds nothing known");
    let swap = format!("its partition 2 ({name}p2, 4MiB) holds a swap area");
    assert_eq!(reasons(&device.node), [nothing, swap]);
    // Another table: the first one lies elsewhere, and the second one has another number.
    put_table(
        &device,
        &format!(
            "label: gpt\n{0}p1 : start=2048, size=4096\n{0}p3 : start=10240, size=8192\n",
            text(&device.node)
        ),
    );
    let told = reasons(&device.node);
    let told: Vec<&str> = told.iter().filter_map(|reason| reason.split_once(',').map(|two| two.0)).collect();
    assert_eq!(told, [format!("its partition 1 ({name}p1").as_str(), "its partition 3 (4MiB"], "each once");
}

#[test]
fn sixteen_partitions_are_described_and_more_are_counted() {
    if !has(&[Need::LoopDevices, Need::Tool("sfdisk")]) {
        return;
    }
    for (count, more) in
        [(16, None), (17, Some("it has 1 more partitions")), (19, Some("it has 3 more partitions"))]
    {
        let device = Loop::new(32 * MIB);
        put_table(&device, &format!("label: gpt\n{}", "size=64\n".repeat(count)));
        let told = reasons(&device.node);
        assert_eq!(told.iter().filter(|reason| reason.starts_with("its partition ")).count(), 16, "{told:?}");
        assert_eq!(told.iter().find(|reason| reason.contains("more")).map(String::as_str), more, "{told:?}");
    }
}

#[test]
fn what_lies_on_the_disk_outside_of_all_partitions_counts_for_each_of_them() {
    // A member of a VMFS volume is told by these bytes there.
    let (magic, at) = (b"\x0d\xd0\x01\xc0", MIB);
    for (first, is_outside) in [
        ("start=2048, size=2048", false),
        ("start=1024, size=1025", false),
        ("start=1024, size=1024", true),
        ("start=2049, size=1024", true),
    ] {
        let script = format!("label: gpt\nfirst-lba: 64\n{first}\nstart=8192, size=2048\n");
        let Some((device, _partitions, nodes)) = known_to_the_kernel(&script, 2) else { return };
        assert_eq!(reasons(&nodes[1]), Vec::<String>::new(), "{first}");
        write(&device.node, magic, at);
        let told = reasons(&nodes[1]);
        assert_eq!(told.len(), usize::from(is_outside), "{first}: {told:?}");
        let whole = format!("the whole disk {} holds ", text(&device.node));
        assert!(told.iter().all(|reason| reason.starts_with(&whole)), "{first}: {told:?}");
    }
}

#[test]
fn the_type_of_a_partition_is_its_own() {
    let boot = "21686148-6449-6E6F-744E-656564454649";
    for raw in [1, 2] {
        let line =
            |number| if number == raw { format!("size=2048, type={boot}\n") } else { "size=2048\n".into() };
        let script = format!("label: gpt\n{}{}", line(1), line(2));
        let Some((_device, _partitions, nodes)) = known_to_the_kernel(&script, 2) else { return };
        for (number, node) in (1..).zip(&nodes) {
            let told = reasons(node);
            assert_eq!(told.len(), usize::from(number == raw), "{number}: {told:?}");
            assert!(told.iter().all(|reason| reason.starts_with("it has the type BIOS boot")), "{told:?}");
        }
    }
}
