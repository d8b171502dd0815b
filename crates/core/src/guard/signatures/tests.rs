//! Headers at the edges of what the formats allow, in memory.

use crate::guard::Range;
use crate::guard::signatures::{
    UBERBLOCK, ZFS_LABEL_BYTES, backup_gpt, extended, has, mbr, probe, probe_file, swap, zfs,
};

/// Zeros with these bytes at these places.
fn image(size: usize, parts: &[(usize, &[u8])]) -> Vec<u8> {
    let mut bytes = vec![0; size];
    for (at, part) in parts {
        bytes[*at..at + part.len()].copy_from_slice(part);
    }
    bytes
}

/// An ext superblock with these words of features: compatible, incompatible, read-only. Nothing follows it.
fn ext(compatible: u32, incompatible: u32, read_only: u32) -> Vec<u8> {
    let features = [compatible, incompatible, read_only].map(u32::to_le_bytes).concat();
    image(1024 + 256, &[(1024 + 0x38, b"\x53\xef"), (1024 + 0x5c, &features)])
}

#[test]
fn features_tell_the_versions_of_ext_apart() {
    let name = |compatible, incompatible, read_only| {
        let found = extended(ext(compatible, incompatible, read_only).as_slice()).unwrap().unwrap();
        assert_eq!(found.offset_bytes, Some(1024 + 0x38));
        found.name
    };
    const JOURNAL: u32 = 4;
    assert_eq!(name(0, 0, 0), "ext2");
    assert_eq!(name(0xff00_0000, 0, 0), "ext2", "other compatible features");
    assert_eq!(name(JOURNAL, 0, 0), "ext3");
    for known in [0x2, 0x4, 0x10] {
        assert_eq!(name(JOURNAL, known, 0), "ext3", "incompatible {known:#x}");
    }
    for known in [0x1, 0x2, 0x4] {
        assert_eq!(name(JOURNAL, 0, known), "ext3", "read-only {known:#x}");
    }
    for new in [0x40, 0x200, 0x2_0000, 0x100_0000] {
        assert_eq!(name(JOURNAL, new, 0), "ext4", "incompatible {new:#x}");
        assert_eq!(name(JOURNAL, 0, new), "ext4", "read-only {new:#x}");
    }
    assert_eq!(name(0, 0x8, 0), "jbd");
}

#[test]
fn a_header_that_ends_with_the_device_is_found() {
    assert!(extended(ext(0, 0, 0).as_slice()).unwrap().is_some());
    assert!(extended(&ext(0, 0, 0)[..1024 + 255]).unwrap().is_none());
    let word = image(16, &[(12, b"word")]);
    assert!(has(word.as_slice(), 12, b"word").unwrap());
    assert!(has(word.as_slice(), 13, b"ord").unwrap());
    assert!(!has(word.as_slice(), 13, b"word").unwrap() && !has(word.as_slice(), u64::MAX, b"word").unwrap());
    let table = image(512, &[(440, b"\x01\x02"), (510, b"\x55\xaa")]);
    assert!(mbr(table.as_slice()).unwrap().is_some());
}

#[test]
fn an_entry_with_a_type_and_no_sectors_makes_no_table() {
    let table = |sectors: u8| image(512, &[(446 + 4, b"\x83"), (446 + 12, &[sectors]), (510, b"\x55\xaa")]);
    assert!(mbr(table(8).as_slice()).unwrap().is_some());
    assert!(mbr(table(0).as_slice()).unwrap().is_none());
}

#[test]
fn places_are_those_of_the_magic_numbers() {
    for page in [4096, 65536] {
        let found = swap(image(1 << 17, &[(page - 10, b"SWAPSPACE2")]).as_slice()).unwrap().unwrap();
        assert_eq!(found.offset_bytes, Some(page as u64 - 10));
    }
    // The first copy of a GPT is in the second sector, and not the second copy of a tiny disk.
    assert!(backup_gpt(image(1024, &[(512, b"EFI PART")]).as_slice()).unwrap().is_none());
    let found = backup_gpt(image(1536, &[(1024, b"EFI PART")]).as_slice()).unwrap().unwrap();
    assert_eq!(found.offset_bytes, Some(1024));
}

#[test]
fn every_label_of_zfs_is_searched() {
    const LABEL: usize = ZFS_LABEL_BYTES as usize;
    let ring = LABEL / 2;
    for labels in [4, 7] {
        for label in [0, 1, labels - 2, labels - 1] {
            let at = label * LABEL + ring + 3 * 1024;
            // Behind the last label there may be less than another one.
            let found = zfs(image(labels * LABEL + 512, &[(at, UBERBLOCK[0])]).as_slice()).unwrap();
            assert_eq!(
                found.expect("it is there").offset_bytes,
                Some(at as u64),
                "label {label} of {labels}"
            );
        }
    }
    let exact = image(4 * LABEL, &[(ring, UBERBLOCK[1])]);
    assert!(zfs(exact.as_slice()).unwrap().is_some());
    let small = image(3 * LABEL, &[(ring, UBERBLOCK[1])]);
    assert!(zfs(small.as_slice()).unwrap().is_none(), "no pool has such a small member");
}

#[test]
fn what_was_probed_whole_is_told_once() {
    let found = probe(ext(4, 0x40, 0).as_slice()).unwrap();
    let names: Vec<&str> = found.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["ext4"]);
}

/// Places as the formats have them, in bytes.
#[test]
fn magic_numbers_that_stand_far_inside_are_found() {
    let bcachefs = b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef";
    for (name, at, magic) in [
        ("bcachefs", 4120, &bcachefs[..]),
        ("nilfs2", 1030, b"\x34\x34"),
        ("ocfs2", 8192, b"OCFSV2"),
        ("ufs", 9564, b"\x19\x01\x54\x19"),
        ("ufs", 66_908, b"\x19\x01\x54\x19"),
        ("VMFS_volume_member", 1_048_576, b"\x0d\xd0\x01\xc0"),
        ("LVM2_member", 24, b"LVM2 001"),
        ("LVM2_member", 536, b"LVM2 001"),
        ("LVM2_member", 1048, b"LVM2 001"),
        ("LVM2_member", 1560, b"LVM2 001"),
    ] {
        let found = probe(image(2 << 20, &[(at, magic)]).as_slice()).unwrap();
        let found: Vec<_> = found.iter().map(|one| (one.name.as_str(), one.offset_bytes)).collect();
        assert_eq!(found, [(name, Some(at as u64))]);
    }
}

#[test]
fn a_partition_that_ends_behind_the_disk_is_searched_as_far_as_that_goes() {
    let file = tempfile::tempfile().unwrap();
    file.set_len(2 << 20).unwrap();
    for (start_bytes, length_bytes) in [(1 << 20, 4 << 20), (1 << 20, u64::MAX), (4 << 20, 1 << 20)] {
        let range = Range { start_bytes, length_bytes };
        assert_eq!(probe_file(&file, Some(range)).unwrap(), [], "{range:?}");
    }
}
