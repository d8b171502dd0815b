use super::signatures::{Scan, Signature, SignatureKind, Source, probe, probe_file, scan};
use super::*;
use crate::needs::{Need, SEARCH, has, not_run};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, Stdio};

const MIB: u64 = 1024 * 1024;

fn image(bytes: u64) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(bytes).unwrap();
    file
}

/// Names with families, without places: libblkid and the table may look at different copies.
fn names(signatures: &[Signature]) -> BTreeSet<(String, SignatureKind)> {
    signatures.iter().map(|s| (s.name.clone(), s.kind)).collect()
}

/// Runs a tool of the machine; returns whether it is there.
fn run_tool(tool: &'static str, args: &[&str], path: &Path, input: &str) -> bool {
    if !has(&[Need::Tool(tool)]) {
        return false;
    }
    let mut child = Command::new(tool)
        .env("PATH", SEARCH)
        .args(args)
        .arg(path)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{tool}: {}", String::from_utf8_lossy(&output.stderr));
    true
}

/// What libblkid and the table find in a file; they must agree.
fn both(file: &tempfile::NamedTempFile) -> Vec<Signature> {
    let table = probe_file(file.as_file(), None).unwrap();
    let Scan { signatures: found, why_built_in } = scan(file.as_file(), file.path(), None).unwrap();
    assert_eq!(names(&found), names(&table));
    if why_built_in.is_some() {
        not_run(Need::Blkid);
    }
    found
}

#[test]
fn file_systems_and_swap_made_by_their_tools() {
    for (tool, args, bytes, name, kind) in [
        ("mkfs.ext4", &["-q", "-F", "-L", "two words"][..], 4 * MIB, "ext4", SignatureKind::Filesystem),
        (
            "mkfs.ext4",
            &["-q", "-F", "-O", "^has_journal,^64bit,^metadata_csum"],
            4 * MIB,
            "ext4",
            SignatureKind::Filesystem,
        ),
        ("mke2fs", &["-q", "-F", "-t", "ext2"], 4 * MIB, "ext2", SignatureKind::Filesystem),
        ("mke2fs", &["-q", "-F", "-t", "ext3"], 8 * MIB, "ext3", SignatureKind::Filesystem),
        ("mkswap", &["-L", "area"], 4 * MIB, "swap", SignatureKind::Swap),
        ("mkfs.xfs", &["-q", "-f"], 300 * MIB, "xfs", SignatureKind::Filesystem),
        ("mkfs.btrfs", &["-q", "-f"], 128 * MIB, "btrfs", SignatureKind::Filesystem),
    ] {
        let file = image(bytes);
        if run_tool(tool, args, file.path(), "") {
            let found = both(&file);
            assert_eq!(names(&found), BTreeSet::from([(name.to_string(), kind)]), "{tool} {args:?}");
        }
    }
}

#[test]
fn labels_are_told() {
    let file = image(4 * MIB);
    if run_tool("mkfs.ext4", &["-q", "-F", "-L", "two words"], file.path(), "") {
        let words = "a file system of type ext4, label \"two words\"";
        assert_eq!(both(&file)[0].to_string(), words);
        assert_eq!(probe_file(file.as_file(), None).unwrap()[0].to_string(), words);
    }
}

#[test]
fn partition_tables_made_by_sfdisk() {
    for (table, words) in [("dos", "an MBR partition table"), ("gpt", "a GPT partition table")] {
        for body in ["", ",1M\n"] {
            let file = image(8 * MIB);
            let script = format!("label: {table}\n{body}");
            if run_tool("sfdisk", &["-q"], file.path(), &script) {
                assert_eq!(both(&file)[0].to_string(), words, "{script}");
            }
        }
    }
}

#[test]
fn the_second_copy_of_a_gpt_is_found_without_the_first() {
    let file = image(8 * MIB);
    if run_tool("sfdisk", &["-q"], file.path(), "label: gpt\n") {
        use crate::made::FileExt;
        file.as_file().write_all_at(&[0; 8192], 0).unwrap();
        let expected = BTreeSet::from([("gpt".to_string(), SignatureKind::PartitionTable)]);
        assert_eq!(names(&both(&file)), expected);
    }
}

/// Offsets and the bytes there.
type Parts<'a> = &'a [(u64, &'a [u8])];

/// Images of 4 MiB with one header written by hand.
fn by_hand(parts: Parts<'_>) -> Vec<u8> {
    let mut bytes = vec![0; 4 * MIB as usize];
    for (offset, part) in parts {
        let at = *offset as usize;
        bytes[at..at + part.len()].copy_from_slice(part);
    }
    bytes
}

#[test]
fn headers_written_by_hand() {
    let mbr_entry: &[u8] = &[0x80, 0, 2, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 8, 0, 0];
    let md: &[u8] = b"\xfc\x4e\x2b\xa9\x01\0\0\0";
    let cases: &[(&str, Parts<'_>)] = &[
        ("crypto_LUKS", &[(0, b"LUKS\xba\xbe\0\x01")]),
        ("LVM2_member", &[(512, b"LABELONE"), (536, b"LVM2 001")]),
        ("linux_raid_member", &[(0, md)]),
        ("linux_raid_member", &[(4096, md)]),
        ("linux_raid_member", &[(4 * MIB - 65536, md)]),
        ("linux_raid_member", &[(4 * MIB - 8192, md)]),
        ("zfs_member", &[(128 * 1024 + 5 * 1024, b"\x0c\xb1\xba\0\0\0\0\0")]),
        ("zfs_member", &[(4 * MIB - 128 * 1024, b"\0\0\0\0\0\xba\xb1\x0c")]),
        ("bcache", &[(4120, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81")]),
        ("ntfs", &[(3, b"NTFS    "), (510, b"\x55\xaa")]),
        ("vfat", &[(82, b"FAT32   "), (510, b"\x55\xaa"), (440, b"\x01\x02\x03\x04")]),
        ("exfat", &[(3, b"EXFAT   "), (510, b"\x55\xaa")]),
        ("iso9660", &[(0x8001, b"CD001")]),
        ("f2fs", &[(1024, b"\x10\x20\xf5\xf2")]),
        ("swap", &[(16384 - 10, b"SWAPSPACE2")]),
        ("swap", &[(4096 - 10, b"SWAP-SPACE")]),
        ("dos", &[(446, mbr_entry), (510, b"\x55\xaa")]),
        ("dos", &[(440, b"\x01\x02\x03\x04"), (510, b"\x55\xaa")]),
        ("gpt", &[(4096, b"EFI PART")]),
    ];
    for (name, parts) in cases {
        let found = probe(by_hand(parts).as_slice()).unwrap();
        let found: Vec<_> = found.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(found, [*name], "{parts:?}");
    }
}

#[test]
fn test_data_and_noise_are_no_signature() {
    let pattern: Vec<u8> = (0..4 * MIB).map(|j| (j % 256) as u8).collect();
    let boot_signature_over_noise = by_hand(&[(446, b"\x37\x11"), (510, b"\x55\xaa")]);
    for bytes in [vec![0; 4 * MIB as usize], pattern, boot_signature_over_noise] {
        let mut file = image(0);
        file.write_all(&bytes).unwrap();
        assert_eq!(both(&file), []);
        assert_eq!(signatures(file.as_file(), file.path()).unwrap().signatures, []);
    }
}

#[test]
fn small_and_empty_sources_are_no_trouble() {
    for bytes in [0u64, 1, 511, 512, 4095, 4096, 65535, 65536, MIB - 1] {
        assert_eq!(probe(vec![0u8; bytes as usize].as_slice()).unwrap(), [], "{bytes}");
        let file = image(bytes);
        assert_eq!(signatures(file.as_file(), file.path()).unwrap().signatures, [], "{bytes}");
    }
}

#[test]
fn a_source_that_cannot_be_read_is_an_error_not_a_clean_bill() {
    struct Broken;
    impl Source for Broken {
        fn size(&self) -> u64 {
            MIB
        }
        fn read(&self, _: u64, _: &mut [u8]) -> io::Result<()> {
            Err(truespd_platform::sys::error::Code::IO.into())
        }
    }
    assert!(probe(&Broken).is_err());
}

#[test]
fn write_only_descriptors_are_probed_too() {
    let file = image(4 * MIB);
    if run_tool("mkswap", &[], file.path(), "") {
        let writer = File::options().write(true).open(file.path()).unwrap();
        let scan = signatures(&writer, file.path()).unwrap();
        assert_eq!(scan.signatures[0].to_string(), "a swap area");
    }
}
