//! Where the disks are not visible: what the kernel's account of the process proves, and what not.

use super::*;
use truespd_core::result::{KernelDevice, LayerDetails, LayerRole};

/// Bytes that complete in a run of [`Doc::clean`].
const DONE: u64 = 20_000 * 4096 * SECONDS;

fn device(name: &str, size_bytes: u64) -> KernelDevice {
    KernelDevice { name: name.to_string(), size_bytes, is_swap: false }
}

/// In a container: the file is on an overlayfs whose upper layer is not visible, on a file system that tells where it
/// keeps the file; `percent` of the bytes are in the account of the process.
fn contained(doc: Doc, percent: u64, change: impl FnOnce(&mut Doc)) -> Doc {
    let mut doc = doc;
    let details = Some(LayerDetails { role: LayerRole::Overlay, ..LayerDetails::default() });
    let overlay = Layer { details, ..layer(LayerKind::Filesystem, "overlay", &[]) };
    doc.facts()[0].layers = vec![layer(LayerKind::File, PATH, &[1]), overlay];
    doc.facts()[0].extents.as_mut().expect("a map").placed_bytes = 8 * GIB;
    doc.measured.evidence.disks.clear();
    doc.measured.evidence.kernel_devices = Some(vec![device("vda", 256 * GIB), device("vda1", 255 * GIB)]);
    doc.host().own_disk_read_bytes = Some(DONE / 100 * percent);
    doc.host().own_disk_write_bytes = Some(DONE / 100 * percent);
    change(&mut doc);
    doc
}

fn reads(percent: u64, change: impl FnOnce(&mut Doc)) -> Doc {
    contained(Doc::clean(), percent, change)
}

/// Through the page cache, which held all of the file.
fn cached_reads(percent: u64, change: impl FnOnce(&mut Doc)) -> Doc {
    reads(percent, |d| {
        d.asked.cache = CacheMode::Cached;
        in_page_cache(d);
        change(d);
    })
}

fn in_page_cache(d: &mut Doc) {
    let (range_bytes, held) = (8 * GIB, 8 * GIB);
    let residency = Residency { range_bytes, cached_before_bytes: held, cached_after_bytes: held };
    d.facts()[0].residency = Some(residency);
}

#[test]
fn direct_reads_that_the_account_holds_are_certified_and_what_is_not_known_is_said() {
    let verdict = judge(&reads(100, |_| {}).build());
    assert_eq!(verdict.grade, Grade::Certified, "{:#?}", verdict.findings);
    says(
        &fires(&verdict, "unproven"),
        FindingGrade::Remark,
        &[
            "By the kernel's account this process had the storage read 100 % of the bytes. Which disk that is, is not \
           visible here, nor a cache below it, nor what others did with it.",
        ],
    );
    silent(&verdict, "served-from-cache");
    assert!(!verdict.unchecked.iter().any(|one| one.rule == "served-from-cache"), "{:?}", verdict.unchecked);
    let figure = |finding: &Finding| finding.figures.iter().any(|f| f.name == "own_disk_read_percent");
    assert!(figure(&fires(&verdict, "unproven")));
    // What waits at the ends of the measured time is in no account.
    assert_eq!(judge(&reads(91, |_| {}).build()).grade, Grade::Certified);
    says(&reads(85, |_| {}).fires("unproven"), FindingGrade::Suspect, &["which does not decide it"]);
}

#[test]
fn a_device_that_answers_from_memory_is_not_ruled_out_where_it_can_hold_the_file() {
    let beside = |devices: Vec<KernelDevice>| {
        reads(100, |d| d.measured.evidence.kernel_devices.as_mut().expect("a list").extend(devices))
    };
    for name in ["loop0", "zram1", "ram0", "nullb0", "nbd3", "ublkb0", "zd16"] {
        let finding = beside(vec![device(name, 8 * GIB)]).fires("unproven");
        let words = format!(
            "The result cannot be proven: by the kernel's account this process had the storage read 100 % of the \
             bytes, but which device that is, is not visible here, and {name} can answer from memory."
        );
        says(&finding, FindingGrade::Suspect, &[&words]);
        // Images of packages are many, and small.
        says(&beside(vec![device(name, 8 * GIB - 1)]).fires("unproven"), FindingGrade::Remark, &[]);
    }
    let shared = reads(100, |d| {
        d.measured.evidence.kernel_devices.as_mut().expect("a list").push(device("loop0", GIB));
        d.facts()[0].extents.as_mut().expect("a map").shared_bytes = 7 * GIB;
    });
    says(&shared.fires("unproven"), FindingGrade::Suspect, &["loop0 can answer from memory"]);
    let swap = KernelDevice { is_swap: true, ..device("zram0", 16 * GIB) };
    says(&beside(vec![swap]).fires("unproven"), FindingGrade::Remark, &[]);
    let many = (0..9).map(|n| device(&format!("loop{n}"), 16 * GIB)).collect();
    says(&beside(many).fires("unproven"), FindingGrade::Suspect, &["loop0, loop1, loop2 or others can"]);
    let untold = reads(100, |d| d.measured.evidence.kernel_devices = None);
    says(
        &untold.fires("unproven"),
        FindingGrade::Suspect,
        &["zram or a loop device over the page cache can"],
    );
    for name in ["sda", "nvme0n1p2", "dm-0", "md0", "vdb", "looper", "zdisk"] {
        says(&beside(vec![device(name, 16 * GIB)]).fires("unproven"), FindingGrade::Remark, &[]);
    }
}

#[test]
fn reads_that_the_page_cache_answered_are_invalid() {
    let verdict = judge(&cached_reads(0, |_| {}).build());
    assert_eq!(verdict.grade, Grade::Invalid);
    let finding = fires(&verdict, "served-from-cache");
    says(
        &finding,
        FindingGrade::Invalid,
        &[
            "but by the kernel's account this process read from the disks nothing (which these are is not visible \
           here): the page cache answered, because neither -Su nor -Sh bypassed it. It held 100 % of the tested \
           range before the run.",
        ],
    );
    assert!(!finding.figures.iter().any(|f| f.name.starts_with("disk_")), "{:?}", finding.figures);
    silent(&verdict, "unproven");
    says(&cached_reads(60, |_| {}).fires("served-from-cache"), FindingGrade::Suspect, &["60 % of the bytes"]);
    cached_reads(100, |_| {}).silent("served-from-cache");
    says(&cached_reads(100, |_| {}).fires("unproven"), FindingGrade::Remark, &["read 100 %"]);
    // A direct read as well, where the page cache holds the file.
    says(
        &reads(0, in_page_cache).fires("served-from-cache"),
        FindingGrade::Invalid,
        &["from the disks nothing"],
    );
}

#[test]
fn where_sysfs_is_hidden_the_file_system_is_known() {
    let without = |name: &'static str, percent: u64| {
        cached_reads(percent, |d| {
            d.facts()[0].layers[1] = layer(LayerKind::Filesystem, name, &[]);
            d.facts()[0].extents.as_mut().expect("a map").placed_bytes = 0;
        })
    };
    for name in ["ext4", "xfs", "btrfs"] {
        says(
            &without(name, 0).fires("served-from-cache"),
            FindingGrade::Invalid,
            &["the page cache answered"],
        );
        says(&without(name, 100).fires("unproven"), FindingGrade::Remark, &["read 100 %"]);
    }
    // What it counts as read may come from its own memory, and nobody has tried others.
    for name in ["zfs", "bcachefs", "ecryptfs"] {
        for percent in [0, 100] {
            without(name, percent).missing("served-from-cache", "the layers below");
            says(
                &without(name, percent).fires("unproven"),
                FindingGrade::Suspect,
                &["which does not decide it"],
            );
        }
    }
}

#[test]
fn an_account_of_nothing_is_no_proof_where_a_program_or_a_server_may_have_read() {
    let unplaced = |change: fn(&mut Doc)| {
        cached_reads(0, |d| {
            d.facts()[0].extents.as_mut().expect("a map").placed_bytes = 0;
            change(d);
        })
    };
    unplaced(|_| {}).missing("served-from-cache", "the layers below");
    let finding = unplaced(|_| {}).fires("unproven");
    says(
        &finding,
        FindingGrade::Suspect,
        &["had the storage read 0 % of the bytes, which does not decide it"],
    );
    unplaced(|d| d.facts()[0].extents = None).missing("served-from-cache", "the layers below");
    // As persistent memory that is mapped: no page is in the page cache, and no device is asked.
    reads(0, |d| d.facts()[0].residency.as_mut().expect("seen").cached_before_bytes = 0)
        .missing("served-from-cache", "the layers below");
    // Compressed data are read by less, and kept in the page cache although direct I/O was asked for.
    let compressed = |d: &mut Doc| {
        in_page_cache(d);
        d.facts()[0].extents.as_mut().expect("a map").encoded_bytes = 8 * GIB;
    };
    reads(3, compressed).missing("served-from-cache", "the layers below");
    says(&reads(100, compressed).fires("unproven"), FindingGrade::Suspect, &["which does not decide it"]);
    let untold = reads(0, |d| d.host().own_disk_read_bytes = None);
    says(&untold.fires("unproven"), FindingGrade::Suspect, &["down to the disks."]);
}

#[test]
fn what_was_read_ahead_hides_what_memory_gave() {
    let ahead = |percent| cached_reads(percent, |_| {}).fires("unproven");
    says(&ahead(109), FindingGrade::Remark, &[]);
    says(&ahead(300), FindingGrade::Suspect, &["300 % of the bytes, which does not decide it"]);
    // A direct read has no pages read ahead; the kernel counts twice what it tries twice.
    says(&reads(300, |_| {}).fires("unproven"), FindingGrade::Remark, &[]);
}

#[test]
fn an_account_that_was_first_read_late_lacks_what_was_done_before() {
    let late = |ms: u64| {
        reads(40, |d| {
            in_page_cache(d);
            d.seconds = 2;
            d.refresh();
            d.measured.evidence.disks.clear();
            d.host().own_disk_read_bytes = Some(20_000 * 4096 * 2 * 2 / 5);
            d.host().late_ns = ms * 1_000_000;
        })
    };
    late(0).fires("served-from-cache");
    late(1_150).silent("served-from-cache");
}

#[test]
fn only_direct_writes_that_are_not_left_in_memory_count() {
    let writes = |percent, change: fn(&mut Doc)| {
        let mut doc = Doc::clean_writes();
        doc.facts()[0].layers[2].write_cache = None;
        contained(doc, percent, change)
    };
    let verdict = judge(&writes(100, |_| {}).build());
    assert_eq!(verdict.grade, Grade::Certified, "{:#?}", verdict.findings);
    says(
        &fires(&verdict, "unproven"),
        FindingGrade::Remark,
        &["had the storage write 100 % of the bytes. ", "nor whether they outlive a power failure"],
    );
    // The options of the file system below are not visible: it may have all data in its journal.
    let back = |d: &mut Doc| d.asked.write_through = false;
    says(
        &writes(100, back).fires("unproven"),
        FindingGrade::Suspect,
        &["write 100 % of the bytes, which does"],
    );
    // Counted when a page becomes dirty.
    let buffered = |d: &mut Doc| {
        (d.asked.write_through, d.asked.cache) = (false, CacheMode::Cached);
        in_page_cache(d);
    };
    let finding = writes(100, buffered).fires("unproven");
    says(&finding, FindingGrade::Suspect, &["down to the disks."]);
    says(
        &writes(10, buffered).fires("served-from-cache"),
        FindingGrade::Invalid,
        &["wrote to the disks only"],
    );
    writes(10, buffered).silent("unproven");
    // Direct writes may be made by others, so that a small account proves nothing.
    writes(0, |_| {}).missing("served-from-cache", "the layers below");
}

#[test]
fn the_account_is_one_for_all_targets() {
    let beside = |name: &'static str, kind: LayerKind| {
        let mut document = reads(100, |_| {}).build();
        let second = |path: &str| if path == PATH { "other.dat".to_string() } else { path.to_string() };
        let span = &mut document.profile.time_spans[0];
        let target = Target { path: second(&span.targets[0].path), ..span.targets[0].clone() };
        span.targets.push(target);
        let TimeSpanResult::Measured(measured) = &mut document.time_spans[0] else { panic!("measured") };
        let facts = TargetFacts {
            path: "other.dat".to_string(),
            layers: vec![layer(LayerKind::File, "other.dat", &[1]), layer(kind, name, &[])],
            ..file(Vec::new())
        };
        measured.evidence.targets.push(facts);
        let result = TargetResult { path: "other.dat".to_string(), ..measured.threads[0].targets[0].clone() };
        measured.threads[0].targets.push(result);
        fires(&judge(&document), "unproven")
    };
    // Half of what both completed, and a client of a server may count what it sent.
    for (name, kind) in [("ext4", LayerKind::Filesystem), ("nfs4", LayerKind::RemoteFilesystem)] {
        says(&beside(name, kind), FindingGrade::Suspect, &["The result cannot be proven"]);
    }
}
