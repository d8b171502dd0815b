//! Where the disks below a file are not visible, as in a container: the kernel's account of the process decides, with
//! real file systems.

use std::fs;
use std::path::Path;

use super::real::{Judged, filled, judged, judged_of};
use crate::support::devices::Mount;
use crate::support::needs::{Need, has};
use crate::support::program::Lab;

const MIB: u64 = 1 << 20;

/// Short, and enough I/Os to compare them with the account.
const READS: &str = "-d1 -W0 -b4K -r -o4 -g2000i";

/// A file of random data on an overlayfs whose upper layer is not to be found; its folder is this one.
fn on_overlay(lab: &Lab, folder: &Path) -> Option<Mount> {
    let mount = Mount::by_overlay(folder, false)?;
    filled(lab, &mount.point.join("data"), 64);
    Some(mount)
}

/// The file is in the page cache.
fn read_once(path: &Path) {
    assert_eq!(fs::read(path).expect("readable").len() as u64, 64 * MIB);
}

/// The finding that says what the account proves.
fn account(judged: &Judged) -> String {
    judged.found("unproven").expect("it is said")["says"].as_str().expect("a sentence").to_string()
}

#[test]
fn the_page_cache_is_told_from_storage_below_a_hidden_layer() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let Some(lab) = Lab::on_disk() else { return };
    let Some(mount) = on_overlay(&lab, &lab.work()) else { return };
    let path = mount.point.join("data");
    // Which devices there are besides is not up to this test.
    let direct = judged(&lab, &format!("{READS} -Su"), &path);
    direct.silent(&["served-from-cache"]);
    let says = account(&direct);
    assert!(says.contains("this process had the storage read 100 % of the bytes"), "{says}");
    assert!(!says.contains("does not decide"), "{says}");
    read_once(&path);
    let cached = judged(&lab, READS, &path);
    let finding = cached.fires("served-from-cache", "invalid");
    assert!(finding["says"].to_string().contains("held 100 % of the tested range"), "{finding}");
    cached.silent(&["unproven"]);
    // Pages that are there do not matter to a test that goes past them.
    judged(&lab, &format!("{READS} -Su"), &path).silent(&["served-from-cache"]);
}

#[test]
fn memory_below_a_hidden_layer_is_neither_certified_nor_accused() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let lab = Lab::new();
    let below = Mount::new(&["-t", "tmpfs", "-o", "size=100M", "none"]);
    let Some(mount) = on_overlay(&lab, &below.point) else { return };
    let path = mount.point.join("data");
    for more in ["", " -Su"] {
        let judged = judged(&lab, &format!("{READS}{more}"), &path);
        assert_eq!(judged.grade(), "suspect", "{}", judged.0);
        assert!(account(&judged).contains("read 0 % of the bytes, which does not decide it"), "{}", judged.0);
    }
    drop(mount);
}

#[test]
fn a_cached_file_is_told_without_sysfs() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let lab = Lab::new();
    let path = lab.path("data");
    filled(&lab, &path, 64);
    let without_sysfs = |words: &str| {
        let hidden = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /sys && exec \"$@\"", "sh"];
        judged_of(|| lab.command_behind(&hidden, words), &lab, words, &path)
    };
    let direct = without_sysfs(&format!("{READS} -Su"));
    direct.silent(&["served-from-cache"]);
    read_once(&path);
    let cached = without_sysfs(READS);
    // On a file system that nobody has tried, as below a container, nothing is said.
    if direct.found("unproven").is_some_and(|found| !found["says"].to_string().contains("does not decide")) {
        cached.fires("served-from-cache", "invalid");
        cached.silent(&["unproven"]);
    } else {
        cached.silent(&["served-from-cache"]);
    }
}
