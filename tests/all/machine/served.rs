//! What clients of file servers count, on recorded machines.

use std::fs;
use std::path::{Path, PathBuf};

use truespd_platform::machine::fileserver::{FileProtocol, ServedMounts, ServerCounts};
use truespd_platform::machine::roots::Roots;

use crate::support::trees::Tree;

fn counts(served: &ServedMounts) -> ServerCounts {
    let mut readings = served.read();
    assert_eq!(readings.len(), 1);
    readings.remove(0).expect("is still mounted").counts
}

/// Puts the later record in the place of the first.
fn later(roots: &Roots) {
    let at = roots.proc.join("self");
    fs::rename(at.join("mountstats-later"), at.join("mountstats")).expect("a second record");
}

#[test]
fn an_nfs_mount_from_the_first_reading_to_the_last() {
    let tree = Tree::load("nfs");
    let layers = tree.file("/mnt/far/data");
    let points = layers.iter().filter_map(|layer| layer.mount.point.as_deref());
    let served = ServedMounts::open(points, &tree.roots);
    let [mount] = served.mounts() else { panic!("{:?}", served.mounts()) };
    assert_eq!(mount.protocol, FileProtocol::Nfs);
    assert_eq!(mount.version.as_deref(), Some("4.2"));
    assert_eq!(mount.address.as_deref(), Some("127.0.0.1"));
    assert_eq!(mount.points, [PathBuf::from("/mnt/far")]);
    assert_eq!(served.read()[0].as_ref().and_then(|reading| reading.connections), Some(2), "nconnect=2");

    let first = counts(&served);
    // Linux asks with READ_PLUS where the server can answer that.
    assert_eq!((first.read.requests, first.write.requests, first.commit.requests), (581, 64, 8));
    assert_eq!((first.server_read_bytes, first.direct_read_bytes), (10_506_240, 10_506_240));
    later(&tree.roots);
    let between = counts(&served).since(&first);
    assert_eq!((between.read.requests, between.write.requests), (2484, 466));
    assert_eq!((between.read.retransmissions(), between.read.timeouts), (0, 0));
    assert_eq!(between.read.queue_ns, (9109 - 2712) * 1_000_000);
    assert_eq!(between.read.round_trip_ns, (53_143 - 11_245) * 1_000_000);
    // Buffered reads and writes that the page cache served: programs had more than the server saw.
    assert_eq!(between.buffered_write_bytes, 83_435_520);
    assert_eq!(between.server_write_bytes, 18_436_096 - 8_388_608);
}

#[test]
fn only_mounts_that_the_kernel_counts_for() {
    let tree = Tree::load("nfs");
    let open = |points: &[&str]| ServedMounts::open(points.iter().map(Path::new), &tree.roots);
    assert!(open(&[]).mounts().is_empty() && open(&[]).read().is_empty());
    assert!(open(&["/mnt/server", "/proc", "/nowhere"]).mounts().is_empty());
    assert_eq!(open(&["/mnt/far", "/mnt/far"]).mounts().len(), 1, "each once");
    let served = open(&["/mnt/far"]);
    fs::remove_file(tree.roots.proc.join("self/mountstats")).expect("was there");
    assert_eq!(served.read(), [None], "gone");
    assert!(open(&["/mnt/far"]).mounts().is_empty(), "no counters");
}

#[test]
fn several_places_of_one_file_system_are_one() {
    let tree = Tree::load("nfs");
    let at = tree.roots.proc.join("self");
    let text = fs::read_to_string(at.join("mountinfo")).expect("a list of mounts");
    let nfs = text.lines().find(|line| line.contains(" nfs4 ")).expect("the mount");
    // A second place of the same file system, and over it at another place one of its own.
    let second = nfs.replace("30 1 0:25", "31 1 0:25").replace("/mnt/far", "/mnt/two");
    let third = nfs.replace("30 1 0:25", "32 1 0:26").replace("/mnt/far", "/mnt/three");
    fs::write(at.join("mountinfo"), format!("{text}{second}\n{third}\n")).expect("to write");
    let stats = fs::read_to_string(at.join("mountstats")).expect("counters");
    let block = &stats[stats.find("device 127").expect("the mount")..];
    let more = ["/mnt/two", "/mnt/three"].map(|place| block.replace("/mnt/far", place)).concat();
    fs::write(at.join("mountstats"), format!("{stats}{more}")).expect("to write");
    let points = ["/mnt/far", "/mnt/two", "/mnt/three"].map(Path::new);
    let served = ServedMounts::open(points.into_iter(), &tree.roots);
    let places: Vec<usize> = served.mounts().iter().map(|mount| mount.points.len()).collect();
    assert_eq!(places, [2, 1]);
    assert!(served.read().iter().all(Option::is_some));
}

#[test]
fn an_smb_share_in_two_places() {
    let tree = Tree::load("remote");
    let proc = &tree.roots.proc;
    fs::create_dir_all(proc.join("fs/cifs")).expect("a folder");
    let stats = |read_bytes: u64| {
        let text = format!(
            "0 session 0 share reconnects\n\n1) \\\\FileServer\\share\nSMBs: 15 since 2026-11-22 17:37:34 UTC\n\
             Bytes read: {read_bytes}  Bytes written: 0\nReads: 7 total 0 failed\nWrites: 0 total 0 failed\n"
        );
        fs::write(proc.join("fs/cifs/Stats"), text).expect("to write");
    };
    stats(4096);
    let at = proc.join("self/mountinfo");
    let mut mounts = fs::read_to_string(&at).expect("a list of mounts");
    mounts.push_str("99 1 0:99 / /smb2 rw - cifs //fileserver/share/folder rw,vers=3.1.1,addr=10.0.0.6\n");
    fs::write(&at, mounts).expect("to write");
    let points = ["/smb", "/smb2", "/ceph"].map(Path::new);
    let served = ServedMounts::open(points.into_iter(), &tree.roots);
    let [mount] = served.mounts() else { panic!("{:?}", served.mounts()) };
    assert_eq!((mount.protocol, mount.version.as_deref()), (FileProtocol::Smb, Some("3.1.1")));
    assert_eq!((mount.address.as_deref(), mount.points.len()), (Some("10.0.0.6"), 2));
    let first = counts(&served);
    stats(8192);
    let second = counts(&served);
    assert_eq!(second.since(&first).server_read_bytes, 4096);
    assert!(second.can_follow(&first) && !first.can_follow(&second), "somebody set the counters to 0");
}
