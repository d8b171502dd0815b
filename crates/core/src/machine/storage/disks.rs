//! `#n`: whole disks in natural order.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::machine::read::read_number;
use crate::machine::roots::Roots;

/// Drivers whose devices are not disks of the machine (`command-line.md` §2).
const NOT_DISKS: &[&str] = &["loop", "ram", "zram", "dm-", "md", "sr", "fd"];
/// Drivers that number their disks with letters: sda .. sdz, sdaa ..
const LETTERED: &[&str] = &["sd", "hd", "vd", "xvd"];

/// One step of a name's natural order.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Text(String),
    Number(u64),
}

/// Kernel names of the whole disks, in natural order; `#n` means the n-th, from 0.
///
/// Left out: partitions, loop, ram, zram, device-mapper, md, optical and floppy drives, paths of
/// multipath NVMe drives that the kernel hides, and network block devices that are not connected.
pub fn whole_disks(roots: &Roots) -> Vec<String> {
    let dir = roots.sys.join("block");
    let entries = fs::read_dir(&dir).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .filter(|name| is_disk(name, &dir.join(name)))
        .collect();
    names.sort_by_cached_key(|name| natural_key(name));
    names
}

fn is_disk(name: &str, dir: &Path) -> bool {
    let other_driver = NOT_DISKS.iter().any(|driver| {
        name.strip_prefix(driver).is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_lowercase()))
    });
    let hidden = read_number(&dir.join("hidden")) == Some(1u32);
    let unconnected = name.starts_with("nbd") && read_number(&dir.join("size")) == Some(0u64);
    !other_driver && !hidden && !unconnected
}

/// Orders nvme0n1 < nvme1n1 < nvme10n1 and sda < sdb < sdaa.
fn natural_key(name: &str) -> Vec<Step> {
    for family in LETTERED {
        let Some(letters) = name.strip_prefix(family) else { continue };
        if !letters.is_empty() && letters.bytes().all(|b| b.is_ascii_lowercase()) {
            let value = letters.bytes().fold(0u64, |v, b| v.saturating_mul(26) + u64::from(b - b'a') + 1);
            return vec![Step::Text((*family).to_string()), Step::Number(value)];
        }
    }
    let mut steps = Vec::new();
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let digits = first.is_ascii_digit();
        let end = rest.find(|c: char| c.is_ascii_digit() != digits).unwrap_or(rest.len());
        let (head, tail) = rest.split_at(end);
        steps.push(match head.parse() {
            Ok(number) if digits => Step::Number(number),
            _ => Step::Text(head.to_string()),
        });
        rest = tail;
    }
    steps
}

/// The name under `/dev/disk/by-id` that stays the same over boots, preferably one with the model
/// in it; `None` when udev made none.
pub fn by_id(node: &Path, roots: &Roots) -> Option<PathBuf> {
    let node = fs::canonicalize(node).ok()?;
    let entries = fs::read_dir(roots.dev.join("disk/by-id")).ok()?.flatten();
    let mut links: Vec<PathBuf> =
        entries.map(|e| e.path()).filter(|p| fs::canonicalize(p).is_ok_and(|to| to == node)).collect();
    links.sort_by_cached_key(|path| {
        let name = path.file_name().map(OsString::from).unwrap_or_default();
        let text = name.to_string_lossy().into_owned();
        let number_only =
            ["wwn-", "nvme-eui.", "nvme-nvme.", "nvme-uuid."].iter().any(|p| text.starts_with(p));
        (number_only, text)
    });
    links.into_iter().next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::made::symlink;

    fn roots_with(names: &[&str]) -> (tempfile::TempDir, Roots) {
        let dir = tempfile::tempdir().unwrap();
        let roots =
            Roots { sys: dir.path().join("sys"), proc: dir.path().join("proc"), dev: dir.path().join("dev") };
        for name in names {
            fs::create_dir_all(roots.sys.join("block").join(name)).unwrap();
        }
        (dir, roots)
    }

    #[test]
    fn disks_in_natural_order_and_nothing_else() {
        let (_dir, roots) = roots_with(&[
            "sdaa",
            "sdb",
            "sda",
            "nvme10n1",
            "nvme1n1",
            "nvme0n1",
            "nvme0n2",
            "vda",
            "loop0",
            "ram0",
            "zram0",
            "dm-0",
            "md127",
            "md_d0",
            "sr0",
            "fd0",
            "mmcblk0",
            "nvme0c0n1",
            "nbd0",
            "nbd1",
        ]);
        fs::write(roots.sys.join("block/nvme0c0n1/hidden"), "1\n").unwrap();
        fs::write(roots.sys.join("block/nbd0/size"), "0\n").unwrap();
        fs::write(roots.sys.join("block/nbd1/size"), "2048\n").unwrap();
        assert_eq!(
            whole_disks(&roots),
            ["mmcblk0", "nbd1", "nvme0n1", "nvme0n2", "nvme1n1", "nvme10n1", "sda", "sdb", "sdaa", "vda"]
        );
    }

    #[test]
    fn no_sysfs_means_no_disks() {
        let (_dir, roots) = roots_with(&[]);
        assert!(whole_disks(&roots).is_empty());
    }

    #[test]
    fn by_id_prefers_the_name_with_the_model() {
        let (_dir, roots) = roots_with(&[]);
        let ids = roots.dev.join("disk/by-id");
        fs::create_dir_all(&ids).unwrap();
        for node in ["sda", "sdb"] {
            fs::write(roots.dev.join(node), "").unwrap();
        }
        symlink("../../sda", ids.join("wwn-0x5000")).unwrap();
        symlink("../../sda", ids.join("ata-Model_Serial")).unwrap();
        assert_eq!(by_id(&roots.dev.join("sda"), &roots), Some(ids.join("ata-Model_Serial")));
        assert_eq!(by_id(&roots.dev.join("sdb"), &roots), None);
    }
}
