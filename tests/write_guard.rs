//! The program against its user's slips: what must not be written is not, and is as it was.

#[allow(dead_code, reason = "other tests use the rest of it")]
mod devices;

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use devices::{Mount, can_make_devices, has_tool, run, text};

const MIB: u64 = 1 << 20;

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Place { dir: tempfile::tempdir().expect("a temporary directory") }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Runs the program in the place, with a state directory of its own.
    fn diskspd(&self, words: &str) -> Output {
        Command::new(env!("CARGO_BIN_EXE_diskspd"))
            .args(words.split(' '))
            .current_dir(self.dir.path())
            .env("XDG_STATE_HOME", self.path("state"))
            .stdin(Stdio::null())
            .output()
            .expect("the program starts")
    }

    /// The line is refused with this exit code, prints no result and says these words.
    fn refuses(&self, words: &str, code: i32, says: &str) {
        let output = self.diskspd(words);
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{words}: {told}");
        assert!(told.contains(says), "{words}: no '{says}' in: {told}");
        assert!(output.stdout.is_empty(), "{words}");
    }

    fn accepts(&self, words: &str) -> String {
        let output = self.diskspd(words);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{words}: {told}");
        told
    }

    /// A file that somebody else made.
    fn foreign(&self, name: &str, bytes: u64) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, vec![7; bytes as usize]).expect("a file");
        path
    }
}

/// Everything about a file that a refused line must leave alone.
fn state(path: &Path) -> (Vec<u8>, i64, i64, i64, i64, i64) {
    let m = fs::metadata(path).expect("the file is there");
    let times = (m.atime(), m.atime_nsec(), m.mtime(), m.mtime_nsec(), m.ctime_nsec());
    (fs::read(path).expect("the file is readable"), times.0, times.1, times.2, times.3, times.4)
}

#[test]
fn files_of_others_are_neither_written_nor_replaced() {
    let place = Place::new();
    let file = place.foreign("precious", MIB);
    symlink(&file, place.path("link")).unwrap();
    fs::hard_link(&file, place.path("hard")).unwrap();
    let before = state(&file);
    for name in ["precious", "./precious", "link", "hard"] {
        for options in ["-w100", "-w1", "-c1M -w100", "-c2M", "-c1M --recreate", "-Su -w50"] {
            place.refuses(&format!("{options} -d1 -W0 {name}"), 4, "was not made by TrueSpd");
        }
    }
    place.accepts("-d1 -W0 -b4k precious");
    let after = state(&file);
    assert!(before.0 == after.0 && before.3 == after.3 && before.5 == after.5);
    let hint = "--overwrite precious";
    place.refuses("-w100 -d1 -W0 precious", 4, hint);
    place.accepts(&format!("{hint} -w100 -b4k -d1 -W0 precious"));
}

#[test]
fn a_look_leaves_no_trace() {
    let place = Place::new();
    place.accepts("-c1M -b4k -d1 -W0 ours");
    // A file system's superblock where ext4 has it.
    let file = File::options().write(true).open(place.path("ours")).unwrap();
    file.write_all_at(&[0; 4096], 0).unwrap();
    file.write_all_at(&superblock(), 1024).unwrap();
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(90_000);
    let times = fs::FileTimes::new().set_accessed(long_ago).set_modified(long_ago);
    file.set_times(times).unwrap();
    drop(file);
    let atime = |path: &Path| fs::metadata(path).unwrap().atime();
    let before = atime(&place.path("ours"));
    place.refuses("-w100 -d1 -W0 ours", 4, "ext");
    assert_eq!(atime(&place.path("ours")), before);
}

/// The least that is taken for an ext2 file system.
fn superblock() -> Vec<u8> {
    let mut block = vec![0u8; 1024];
    block[0..4].copy_from_slice(&64u32.to_le_bytes()); // inodes
    block[4..8].copy_from_slice(&1024u32.to_le_bytes()); // blocks
    block[32..36].copy_from_slice(&8192u32.to_le_bytes()); // blocks per group
    block[40..44].copy_from_slice(&64u32.to_le_bytes()); // inodes per group
    block[56..58].copy_from_slice(&0xef53u16.to_le_bytes()); // magic
    block[76..80].copy_from_slice(&1u32.to_le_bytes()); // revision
    block[88..90].copy_from_slice(&128u16.to_le_bytes()); // inode size
    block[104..120].copy_from_slice(&[5; 16]); // uuid
    block
}

#[test]
fn our_own_file_that_holds_a_file_system_now_is_kept() {
    let place = Place::new();
    place.accepts("-c1M -b4k -d1 -W0 ours");
    let file = File::options().write(true).open(place.path("ours")).unwrap();
    file.write_all_at(&[0; 4096], 0).unwrap();
    file.write_all_at(&superblock(), 1024).unwrap();
    let before = fs::read(place.path("ours")).unwrap();
    for options in ["-w100", "-c1M -w100", "-c2M", "-c1M --recreate"] {
        place.refuses(&format!("{options} -d1 -W0 ours"), 4, "file system of type ext");
    }
    place.accepts("-c1M -b4k -d1 -W0 ours");
    assert!(fs::read(place.path("ours")).unwrap() == before);
    place.accepts("--overwrite ours -c1M -w100 -b4k -d1 -W0 ours");
}

#[test]
fn our_own_file_that_is_mounted_now_is_kept() {
    if !can_make_devices() || !has_tool("mkfs.ext4") {
        return;
    }
    let place = Place::new();
    place.accepts("-c4M -b4k -d1 -W0 ours");
    run("mkfs.ext4", &["-q", "-F", text(&place.path("ours"))]);
    let _mount = Mount::new(&["-o", "loop", text(&place.path("ours"))]);
    for options in ["-w100", "-c4M -w100", "-c8M", "-c4M --recreate"] {
        // Not even with the person's word.
        place.refuses(&format!("{options} --overwrite ours -d1 -W0 ours"), 4, "is mounted at");
    }
}

#[test]
fn nothing_is_made_where_no_storage_is() {
    let place = Place::new();
    for path in ["/dev/nvme99n1", "/dev/nosuch/disk", "/proc/nosuch", "/sys/nosuch"] {
        let output = place.diskspd(&format!("-c1M -d1 -W0 {path}"));
        assert!(matches!(output.status.code(), Some(3 | 4)), "{path}: {output:?}");
        assert!(output.stdout.is_empty() && !Path::new(path).exists(), "{path}");
    }
    // A process may name itself; nothing comes of it if the guard fails.
    place.refuses("-c1M -d1 -W0 /proc/self/comm", 4, "controls of the kernel");
    place.refuses("--overwrite /proc/self/comm -w100 -d1 -W0 /proc/self/comm", 4, "controls of the kernel");
}

#[test]
fn what_cannot_fit_is_refused_before_anything_is_made() {
    let place = Place::new();
    place.refuses("-c1000T -d1 -W0 new/sub/file", 3, "no room");
    place.refuses("-c1M -b4k -F4000000000 -d1 -W0 new/file", 3, "of memory, but");
    place.refuses("-c1M -d4000000000 -D1 -W0 new/file", 3, "series of intervals");
    place.refuses("-c1M -Su -b1000 -W0 new/file", 3, "multiples of");
    assert!(!place.path("new").exists());
}

#[test]
fn time_spans_may_write_what_earlier_ones_made_and_nothing_else() {
    let place = Place::new();
    let target = |extra: &str| {
        format!(
            "<Target><Path>made</Path><BlockSize>4096</BlockSize><WriteRatio>100</WriteRatio>{extra}</Target>"
        )
    };
    let span = |extra: &str| {
        format!(
            "<TimeSpan><Duration>1</Duration><Warmup>0</Warmup><Targets>{}</Targets></TimeSpan>",
            target(extra)
        )
    };
    let profile = |spans: String| format!("<Profile><TimeSpans>{spans}</TimeSpans></Profile>");
    let first = span("<FileSize>1048576</FileSize>");
    fs::write(place.path("p.xml"), profile(first + &span(""))).unwrap();
    place.accepts("-Xp.xml");
    fs::remove_file(place.path("made")).unwrap();
    place.foreign("made", MIB);
    place.refuses("-Xp.xml", 4, "was not made by TrueSpd");
}

#[test]
fn a_standard_error_that_takes_nothing_does_not_end_a_run() {
    let place = Place::new();
    let full = File::options().write(true).open("/dev/full").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_diskspd"))
        .args(["-c1M", "-b4k", "-d1", "-W0", "-v", "-P1", "f"])
        .current_dir(place.dir.path())
        .stderr(full)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stdout).contains("Total IO"));
}
