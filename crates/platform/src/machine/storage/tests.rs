use super::open_any_with_facts as open;
use super::*;
use crate::sys::made::{self, FileExt, symlink};
use std::path::PathBuf;

const READ: OpenFlags = OpenFlags { access: Access::Read, direct: false, dsync: false };
const BOTH: OpenFlags = OpenFlags { access: Access::ReadWrite, ..READ };

fn failure(path: &Path, flags: OpenFlags) -> (OpenFailure, String) {
    let error = open(path, flags, &Roots::default()).unwrap_err();
    (error.open_failure().expect("an open failure"), error.to_string())
}

#[test]
fn a_regular_file_and_a_symbolic_link_to_it_are_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data");
    std::fs::write(&path, vec![1u8; 12345]).unwrap();
    let link = dir.path().join("link");
    symlink(&path, &link).unwrap();
    let (a, b) = (open(&path, BOTH, &Roots::default()), open(&link, READ, &Roots::default()));
    let (a, b) = (a.unwrap().facts, b.unwrap().facts);
    assert_eq!((a.kind, a.size_bytes), (TargetKind::Regular, 12345));
    assert_eq!((a.device, a.inode), (b.device, b.inode));
    assert!(a.filesystem.is_some());
}

#[test]
fn things_that_are_no_targets_are_named() {
    let dir = tempfile::tempdir().unwrap();
    let (kind, words) = failure(dir.path(), READ);
    assert_eq!(kind, OpenFailure::Directory);
    assert!(words.starts_with(&format!("Error opening file: {} [21]: ", dir.path().display())), "{words}");
    assert!(words.contains("directory"));

    let (kind, words) = failure(Path::new("/dev/null"), READ);
    assert_eq!(kind, OpenFailure::NotAFile);
    assert!(words.contains("a character device"), "{words}");

    let fifo = dir.path().join("pipe");
    made::pipe(&fifo).unwrap();
    assert!(failure(&fifo, READ).1.contains("a named pipe"), "and the open did not block");

    let socket = dir.path().join("socket");
    let _listener = made::socket(&socket).unwrap();
    assert!(failure(&socket, READ).1.contains("a socket"));

    let (kind, words) = failure(&dir.path().join("missing"), READ);
    assert_eq!(kind, OpenFailure::Missing);
    assert!(words.contains("[2]: No such file or directory") && words.contains("-c<size>"), "{words}");
}

#[test]
fn read_tests_open_read_only_files() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data");
    std::fs::write(&path, "x").unwrap();
    let target = open(&path, READ, &Roots::default()).unwrap();
    assert!(target.file.write_all_at(b"y", 0).is_err(), "the descriptor takes no writes");
    let writer = open(&path, OpenFlags { access: Access::Write, ..READ }, &Roots::default()).unwrap();
    assert!(file::read_at(&writer.file, &mut [0], 0).is_err(), "the descriptor gives no reads");
}

#[test]
fn numbers_resolve_to_disks_of_the_injected_machine() {
    let (_dir, roots) = crate::machine::device::tests::recorded_sysfs();
    let resolved = resolve("#0", &roots).unwrap();
    assert_eq!(resolved.path, roots.dev.join("sda"));
    assert_eq!(resolved.disk_number, Some(0));
    let words = resolve("#1", &roots).unwrap_err().to_string();
    assert_eq!(words, "'#1' is not a disk: this machine has #0 sda");
    assert!(resolve("#99999999999999999999999", &roots).is_err());
    assert!(resolve("#1junk", &roots).unwrap_err().to_string().contains("./#1junk"));
    assert_eq!(resolve("#", &roots).unwrap().path, PathBuf::from("#"));
    assert!(resolve("C:", &roots).unwrap_err().to_string().contains("./C:"));
    assert_eq!(resolve("CC:", &roots).unwrap().path, PathBuf::from("CC:"));
    assert_eq!(resolve("/dev/sda", &roots).unwrap().disk_number, None);
}

#[test]
fn alignment_without_a_report_follows_what_is_known() {
    let sectors = Some(SectorSizes { logical_bytes: 512, physical_bytes: 4096 });
    let mut fs = facts::of_file(&tempfile::tempfile().unwrap(), None, &[]).unwrap();
    fs.name = "btrfs".into();
    fs.block_bytes = 4096;
    let of =
        |f: Option<&Filesystem>, s| direct_alignment(None, f, s).map(|d| (d.offset_bytes, d.source)).unwrap();
    assert_eq!(of(Some(&fs), sectors), (4096, AlignmentSource::FilesystemBlock));
    fs.name = "ext4".into();
    assert_eq!(of(Some(&fs), sectors), (512, AlignmentSource::LogicalSector));
    assert_eq!(of(None, None), (4096, AlignmentSource::Assumed));
}

#[test]
fn hints_are_taken() {
    let file = tempfile::tempfile().unwrap();
    advise(&file, AccessHint::Sequential).unwrap();
    advise(&file, AccessHint::Random).unwrap();
}

#[test]
fn direct_probe_reads_where_direct_io_works() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("data");
    std::fs::write(&path, vec![0u8; 65536]).unwrap();
    let direct = OpenFlags { direct: true, ..READ };
    match open(&path, direct, &Roots::default()) {
        Ok(target) => probe_direct_read(&target, 0, 65536).unwrap(),
        Err(error) => assert_eq!(error.open_failure(), Some(OpenFailure::DirectRefused), "{error}"),
    }
}
