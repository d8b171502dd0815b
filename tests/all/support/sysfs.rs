//! A small machine's /sys and /proc, for the unit tests of two crates.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Makes `sys` and `proc` in a folder: the disk `sda` with two partitions, LVM on the second, and `md0` over `sda1`.
pub fn make(folder: &Path) {
    let (sys, proc) = (folder.join("sys"), folder.join("proc"));
    let put = |path: &str, text: &str| {
        let path = sys.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let link = |at: &str, to: &str| {
        let at = sys.join(at);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        symlink(sys.join(to), at).unwrap();
    };
    put("devices/sda/dev", "8:0\n");
    put("devices/sda/queue/logical_block_size", "512\n");
    put("devices/sda/queue/physical_block_size", "4096\n");
    put("devices/sda/queue/scheduler", "none [mq-deadline] kyber bfq\n");
    for (n, name) in ["sda1", "sda2"].iter().enumerate() {
        put(&format!("devices/sda/{name}/dev"), &format!("8:{}\n", n + 1));
        put(&format!("devices/sda/{name}/partition"), &format!("{}\n", n + 1));
        link(&format!("dev/block/8:{}", n + 1), &format!("devices/sda/{name}"));
    }
    put("devices/dm-0/dev", "252:0\n");
    put("devices/dm-0/dm/name", "vg-root\n");
    put("devices/dm-0/dm/uuid", "LVM-abc\n");
    put("devices/md0/dev", "9:0\n");
    put("devices/md0/md/level", "raid1\n");
    link("dev/block/8:0", "devices/sda");
    link("dev/block/252:0", "devices/dm-0");
    link("dev/block/9:0", "devices/md0");
    link("block/sda", "devices/sda");
    link("block/dm-0", "devices/dm-0");
    link("devices/sda/sda2/holders/dm-0", "devices/dm-0");
    link("devices/sda/sda1/holders/md0", "devices/md0");
    fs::create_dir_all(proc.join("self")).unwrap();
    fs::write(proc.join("self/mountinfo"), "22 1 0:21 / /proc rw - proc proc rw\n").unwrap();
    fs::write(proc.join("swaps"), "Filename\n").unwrap();
}
