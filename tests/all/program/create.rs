//! `-c`: what is made, what is taken as it is, what is refused, and what is left when it breaks off.

use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::time::Instant;

use crate::support::devices;
use crate::support::needs::{Need, has, not_run};
use crate::support::program::{Lab, Running};
use rustix::process::Signal;

/// A short run that reads little.
fn create(lab: &Lab, words: &str, name: &str) -> crate::support::program::Ran {
    lab.run(&format!("-d1 -W0 -b4K -g4 {words} {name}"))
}

/// Every byte is on the device: as many blocks as the size asks for, and no hole.
fn assert_written_throughout(lab: &Lab, name: &str, bytes: u64) {
    let metadata = fs::metadata(lab.path(name)).expect("the file is there");
    assert_eq!(metadata.len(), bytes);
    let found = truespd_platform::sys::extents::examine(&fs::File::open(lab.path(name)).expect("readable"));
    let found = found.expect("extents can be asked");
    assert_eq!(found, truespd_platform::sys::extents::Extents::AllWritten, "{name}");
    let file = fs::File::open(lab.path(name)).expect("readable");
    if let Ok(hole) = rustix::fs::seek(&file, rustix::fs::SeekFrom::Hole(0)) {
        assert_eq!(hole, bytes, "{name} has a hole");
    }
    assert!(metadata.blocks() * 512 >= bytes / 4096 * 4096, "{name}: {} blocks", metadata.blocks());
}

#[test]
fn made_in_full_with_the_content_that_is_asked_for() {
    let lab = Lab::new();
    for (words, name, bytes) in
        [("-c1M", "even", 1 << 20), ("-c1000001", "odd", 1_000_001), ("-c3M", "missing/parents/f", 3 << 20)]
    {
        create(&lab, words, name).expect_code(0);
        assert_written_throughout(&lab, name, bytes);
        let content = lab.read(name);
        assert!(content.iter().enumerate().all(|(j, &b)| b == j as u8), "{name}: j mod 256");
    }
    create(&lab, "-c1M -Z", "zeros").expect_code(0);
    assert_written_throughout(&lab, "zeros", 1 << 20);
    assert!(lab.read("zeros").iter().all(|&b| b == 0));
    for (words, name) in [("-c1M -Zr", "random"), ("-c1M -Z64K", "source")] {
        create(&lab, words, name).expect_code(0);
        assert_written_throughout(&lab, name, 1 << 20);
        let content = lab.read(name);
        let zeros = content.iter().filter(|&&b| b == 0).count();
        assert!((2048..8192).contains(&zeros), "{name}: 1 of 256 bytes is zero, found {zeros}");
    }
}

#[test]
fn taken_as_it_is_or_made_anew() {
    let Some(lab) = Lab::visible() else { return };
    create(&lab, "-c1M", "f").expect_code(0).says_not(&["used as it is"]);
    let inode = || fs::metadata(lab.path("f")).expect("there").ino();
    let first = inode();
    create(&lab, "-c1M -w100", "f")
        .expect_code(0)
        .says(&["is used as it is: made by an earlier run, exactly 1048576 bytes"]);
    assert_eq!(inode(), first);
    // What lies there stays when the file is taken and goes when it is made anew, with the person's word.
    crate::support::program::set_bytes(&lab.path("f"), 500_000, b"written");
    create(&lab, "-c1M", "f").expect_code(0);
    assert_eq!(&lab.read("f")[500_000..500_007], b"written");
    create(&lab, "-c1M --recreate", "f")
        .refused(4, &["something else wrote to it", "--recreate would replace it"]);
    create(&lab, "-c1M --recreate --overwrite f", "f").expect_code(0).says_not(&["used as it is"]);
    assert!(lab.read("f").iter().enumerate().all(|(j, &b)| b == j as u8));
    for bytes in [2 << 20, 512 << 10] {
        create(&lab, &format!("-v -c{bytes}"), "f").expect_code(0).says(&["is created again"]);
        assert_written_throughout(&lab, "f", bytes);
    }
}

#[test]
fn a_sparse_file_is_no_test_file() {
    let Some(lab) = Lab::visible() else { return };
    create(&lab, "-c1M", "ours").expect_code(0);
    // Made by us, but somebody cut it since: what it holds is theirs.
    let file = fs::File::options().write(true).open(lab.path("ours")).expect("writable");
    file.set_len(0).and_then(|()| file.set_len(1 << 20)).expect("cut and grown");
    crate::support::program::set_bytes(&lab.path("ours"), 500_000, b"thesis");
    drop(file);
    create(&lab, "-v -c1M", "ours").refused(4, &["something else wrote to it", "has a hole at byte 0"]);
    create(&lab, "-v -c1M --overwrite ours", "ours").expect_code(0).says(&["has a hole at byte 0"]);
    assert_written_throughout(&lab, "ours", 1 << 20);
    // Not ours: replacing it needs the person's word.
    let sparse = fs::File::create(lab.path("sparse")).expect("a file");
    sparse.set_len(1 << 20).expect("grown");
    drop(sparse);
    // Reads of a hole are answered by nobody.
    lab.run("-d1 -W0 -b4K -g4 sparse").expect_code(0).says(&["WARNING: ", "has a hole at byte 0"]);
    crate::support::program::set_bytes(&lab.path("sparse"), 500_000, b"thesis");
    let blocks = || fs::metadata(lab.path("sparse")).expect("there").blocks();
    let before = blocks();
    create(&lab, "-c1M", "sparse")
        .refused(4, &["was not made by TrueSpd", "has a hole", "--overwrite sparse"]);
    assert_eq!(blocks(), before, "still sparse");
    create(&lab, "-c1M --overwrite sparse", "sparse").expect_code(0);
    assert_written_throughout(&lab, "sparse", 1 << 20);
    // One that holds nothing is nobody's.
    fs::File::create(lab.path("hole")).and_then(|file| file.set_len(1 << 20)).expect("grown");
    create(&lab, "-v -c1M", "hole").expect_code(0).says(&["has a hole at byte 0"]);
    assert_written_throughout(&lab, "hole", 1 << 20);
}

#[test]
fn foreign_files_are_kept() {
    let Some(lab) = Lab::visible() else { return };
    let content = b"somebody's thesis ".repeat(5000);
    lab.write("thesis", &content);
    let same = |line: &str, code: i32, words: &[&str]| {
        lab.run(line).refused(code, words);
        assert_eq!(lab.read("thesis"), content, "{line}");
    };
    let guard = ["was not made by TrueSpd", "--overwrite thesis"];
    same("-d1 -W0 -w10 thesis", 4, &guard);
    same("-d1 -W0 -w100 -Rxml thesis", 4, &guard);
    same("-d1 -W0 -c1M thesis", 4, &guard);
    same("-d1 -W0 -c90000 -w50 thesis", 4, &guard);
    same("-d1 -W0 -c90000 --recreate thesis", 4, &guard);
    // Naming another file does not help.
    same("-d1 -W0 -w10 --overwrite other thesis", 4, &guard);
    // A link leads to the same file.
    std::os::unix::fs::symlink("thesis", lab.path("link")).expect("a link");
    same("-d1 -W0 -w10 link", 4, &["was not made by TrueSpd"]);
    // Whole, of that size and only read: no harm.
    lab.run("-d1 -W0 -g64 -b4K -c90000 thesis").expect_code(0).says(&["not made by TrueSpd"]);
    assert_eq!(lab.read("thesis"), content);
    lab.result("-d1 -W0 -b4K -w100 -s -o1 --overwrite thesis thesis");
    assert_ne!(lab.read("thesis"), content, "let through");
    lab.run("-d1 -W0 -b4K -c1M --overwrite thesis thesis").expect_code(0);
    assert_written_throughout(&lab, "thesis", 1 << 20);
}

#[test]
fn no_room() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let lab = Lab::new();
    let tmpfs = devices::Mount::new(&["-t", "tmpfs", "-o", "size=4m", "tmpfs"]);
    let path = tmpfs.point.join("full");
    let mut command = lab.command("-d1 -W0 -c64M");
    command.arg(&path);
    let ran = Running::new(command, "-d1 -W0 -c64M full").finish();
    ran.refused(3, &["there is no room for", "it needs 64MiB", "make room"]);
    assert!(!path.exists(), "nothing is made");

    if !has(&[Need::Tool("mkfs.ext4")]) {
        return;
    }
    let device = devices::Loop::new(32 << 20);
    devices::run("mkfs.ext4", &["-q", devices::text(&device.node)]);
    let ext4 = devices::Mount::new(&[devices::text(&device.node)]);
    let path = ext4.point.join("deep/er/full");
    let mut command = lab.command("-d1 -W0 -c64M");
    command.arg(&path);
    let ran = Running::new(command, "-d1 -W0 -c64M full").finish();
    ran.refused(3, &["there is no room for"]);
    assert!(!path.exists(), "nothing half-made is left");
}

/// Room in the file system and none below it, as with thin provisioning: the fill itself fails.
#[test]
fn storage_that_is_full_below_the_file_system() {
    if !has(&[Need::LoopDevices, Need::Tool("mkfs.ext4")]) {
        return;
    }
    let lab = Lab::new();
    let tmpfs = devices::Mount::new(&["-t", "tmpfs", "-o", "size=12m", "tmpfs"]);
    let image = tmpfs.point.join("image");
    fs::File::create(&image).and_then(|f| f.set_len(64 << 20)).expect("a sparse image");
    let device = devices::Loop::over(&image);
    devices::run("mkfs.ext4", &["-q", "-J", "size=4", "-E", "nodiscard", devices::text(&device.node)]);
    let ext4 = devices::Mount::new(&[devices::text(&device.node)]);
    let path = ext4.point.join("thin");
    let mut command = lab.command("-d1 -W0 -c32M");
    command.arg(&path);
    let ran = Running::new(command, "-d1 -W0 -c32M thin").finish();
    ran.failed(&["could not be created", "No space left on device: the file system has the room"])
        .says_not(&["os error"]);
    assert!(!path.exists(), "nothing half-made is left");
}

/// Bytes that take a disk a second or more, and that fit it.
const LARGE_BYTES: u64 = 2 << 30;

/// Starts a fill and waits for its first writes; `None` when the disk has no room for it.
fn filling(lab: &Lab) -> Option<Running> {
    let room = rustix::fs::statvfs(lab.work()).expect("the file system can be asked");
    if room.f_bavail * room.f_frsize < LARGE_BYTES * 3 {
        not_run(Need::FreeGib(6));
        return None;
    }
    let running = lab.start(&format!("-d1 -W0 -c{LARGE_BYTES} big"));
    // The file itself is not asked: a read of it waits behind the queue of the fill.
    running.wait_until("the fill has written something", || running.bytes_written() > 16 << 20);
    Some(running)
}

#[test]
fn stopped_while_filling() {
    for signal in [Signal::INT, Signal::TERM] {
        let Some(lab) = Lab::on_disk() else { return };
        let Some(running) = filling(&lab) else { return };
        let since = Instant::now();
        running.signal(signal);
        let ran = running.finish().expect_code(1);
        assert!(since.elapsed() < crate::support::HANG, "{ran}");
        let ran = ran.says(&[
            "note: removing the unfinished file 'big' (2 GiB)\n",
            "stopped before anything was measured\n",
        ]);
        assert_eq!(ran.stdout, "", "{ran}");
        assert_eq!(lab.names(), [""; 0], "nothing half-made is left");
    }
}

#[test]
fn killed_while_filling() {
    let Some(lab) = Lab::on_disk() else { return };
    let Some(running) = filling(&lab) else { return };
    running.signal(Signal::KILL);
    running.finish().expect_signal(9);
    assert_eq!(
        fs::metadata(lab.path("big")).expect("left behind").len(),
        LARGE_BYTES,
        "the full size already"
    );
    // Reads of what was never written cost nothing: that must not go unsaid.
    lab.run("-d1 -W0 -b4K -r -Su big")
        .expect_code(0)
        .says(&["WARNING: ", "the system answers reads of it with zeros"]);
    // Cut to a size that is quickly written, all of it there, and still not whole: the mark says so.
    let file = fs::File::options().write(true).open(lab.path("big")).expect("writable");
    file.set_len(1 << 20).expect("cut");
    let pattern: Vec<u8> = (0..1 << 20).map(|j: u32| j as u8).collect();
    file.write_all_at(&pattern, 0).and_then(|()| file.sync_all()).expect("written");
    drop(file);
    create(&lab, "-v -c1M", "big")
        .expect_code(0)
        .says(&["an earlier run left it unfinished"])
        .says_not(&["is used as it is"]);
    assert_written_throughout(&lab, "big", 1 << 20);
    assert!(lab.read("big").iter().enumerate().all(|(j, &b)| b == j as u8));
}

#[test]
fn several_files() {
    let lab = Lab::new();
    let parsed = lab.text("-c1M -d1 -W0 -b4K -g40 -w50 a b c");
    assert_eq!(parsed.profile.spans[0].targets.len(), 3);
    for name in ["a", "b", "c"] {
        assert_written_throughout(&lab, name, 1 << 20);
    }
    create(&lab, "-c1M", "dir/").refused(3, &["Could not create the file (error code: ", "'dir/'"]);
    assert_eq!(lab.names(), ["a", "b", "c"]);
}
