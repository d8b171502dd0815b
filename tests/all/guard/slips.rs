//! The program against its user's slips: what must not be written is not, and is as it was.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::{FileExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::support::devices::{self, Mount, run, text};
use crate::support::needs::{Need, has, not_run};
use truespd_core::guard::mark::{MarkState, Marks};

const MIB: u64 = 1 << 20;

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        Place { dir: tempfile::tempdir().expect("a temporary directory") }
    }

    /// Where the guard can find out about files of others.
    fn visible() -> Option<Self> {
        crate::support::needs::visible_folder().map(|dir| Place { dir })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Runs the program in the place, with a state directory of its own.
    fn diskspd(&self, words: &str) -> Output {
        self.command(words).output().expect("the program starts")
    }

    fn command(&self, words: &str) -> Command {
        let mut command = Command::new(crate::support::program::diskspd());
        command.args(words.split(' ')).current_dir(self.dir.path());
        command.env("XDG_STATE_HOME", self.path("state")).stdin(Stdio::null());
        command
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
    let Some(place) = Place::visible() else { return };
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
    let long_ago = std::time::SystemTime::now() - Duration::from_secs(90_000);
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
    let Some(place) = Place::visible() else { return };
    place.accepts("-c1M -b4k -d1 -W0 ours");
    let file = File::options().write(true).open(place.path("ours")).unwrap();
    file.write_all_at(&[0; 4096], 0).unwrap();
    file.write_all_at(&superblock(), 1024).unwrap();
    drop(file);
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
    if !has(&[Need::LoopDevices, Need::Tool("mkfs.ext4")]) {
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

/// The first bytes of a file; none when it is not there.
fn first_bytes(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    let file = File::open(path).ok();
    let _ = file.map(|file| file.take(4096).read_to_end(&mut bytes));
    bytes
}

/// A run that is killed while it makes its file, at whatever point: the same line goes on, whatever it writes, and a
/// copy into what it left is kept.
#[test]
fn a_killed_line_is_repeated_but_not_over_other_data() {
    const BYTES: u64 = 96 * MIB;
    for content in ["", " -Zr", " -Z"] {
        let Some(place) = Place::visible() else { return };
        let marks = Marks::with_registry(&place.path("state"));
        let line = format!("-c96M{content} -w100 -b4k -d1 -W0 f");
        let kill_while_made = || {
            for _ in 0..20 {
                let mut child =
                    place.command(&line).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
                // Laid out, and begun; what holds nothing but zeros is nobody's.
                let has_begun = || match content {
                    " -Z" => fs::metadata(place.path("f")).is_ok_and(|m| m.len() > 0),
                    _ => first_bytes(&place.path("f")).iter().any(|&byte| byte != 0),
                };
                while !has_begun() {
                    assert!(child.try_wait().unwrap().is_none(), "{line}: ended before it began");
                    std::thread::sleep(Duration::from_millis(1));
                }
                child.kill().and_then(|()| child.wait()).unwrap();
                let mark = marks.read(&File::open(place.path("f")).unwrap());
                if mark.is_some_and(|mark| mark.state == MarkState::Filling) {
                    return;
                }
                // It was faster.
                fs::remove_file(place.path("f")).unwrap();
            }
            panic!("{line}: never met while it made its file");
        };
        kill_while_made();
        // Zeros are nobody's data, if they are read in time: a busy machine may take too long for this many.
        if content != " -Z" {
            place.refuses("-w100 -b4k -d1 -W0 f", 4, "was being made by a run of TrueSpd that was killed");
        }
        place.accepts(&line);
        fs::remove_file(place.path("f")).unwrap();
        kill_while_made();
        // In place and of the same size: the mark stays on the file.
        fs::write(place.path("f"), b"somebody's thesis. ".repeat(BYTES as usize / 19 + 1)).unwrap();
        File::options().write(true).open(place.path("f")).and_then(|f| f.set_len(BYTES)).unwrap();
        let before = fs::read(place.path("f")).unwrap();
        for words in [&line, "-w100 -b4k -d1 -W0 f", "-c96M --recreate -d1 -W0 f"] {
            place.refuses(words, 4, "was being made by a run of TrueSpd that was killed");
        }
        assert!(fs::read(place.path("f")).unwrap() == before, "{line}: written");
        place.accepts(&format!("--overwrite f {line}"));
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
    place.refuses("-c1M -d4000000000 -D1 -W0 new/file", 3, "the statistics per interval would take");
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
fn the_range_of_every_time_span_is_looked_at_before_the_first_one_writes() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let place = Place::new();
    let device = devices::Loop::new(512 * MIB);
    let span = |start: u64| {
        format!(
            "<TimeSpan><Duration>1</Duration><Warmup>0</Warmup><Targets><Target><Path>{}</Path><BlockSize>4096\
             </BlockSize><WriteRatio>100</WriteRatio><BaseFileOffset>{}</BaseFileOffset><MaxFileSize>{}\
             </MaxFileSize></Target></Targets></TimeSpan>",
            device.node.display(),
            start * MIB,
            (start + 1) * MIB
        )
    };
    let profile = format!("<Profile><TimeSpans>{}{}</TimeSpans></Profile>", span(100), span(301));
    fs::write(place.path("p.xml"), profile).unwrap();
    let data = File::options().write(true).open(&device.node).unwrap();
    data.write_all_at(&vec![7; MIB as usize], 301 * MIB).and_then(|()| data.sync_all()).unwrap();
    drop(data);
    place.refuses("-Xp.xml", 4, "it holds data of an unknown kind");
    let mut first = vec![0; MIB as usize];
    File::open(&device.image).unwrap().read_exact_at(&mut first, 100 * MIB).unwrap();
    assert!(first.iter().all(|&byte| byte == 0), "the first time span wrote");
}

#[test]
fn a_script_that_makes_its_file_runs_again_where_files_cannot_be_marked() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let place = Place::new();
    // Neither extended attributes nor birth times, as over NFS 3.
    let mount = Mount::new(&["-t", "ramfs", "none"]);
    // Words are split at blanks here, and the mount point has one.
    symlink(mount.point.join("f"), place.path("f")).unwrap();
    for _ in 0..3 {
        place.accepts("-c1M -b4k -w50 -d1 -W0 f");
    }
    place.accepts("-b4k -w50 -d1 -W0 f");
    fs::remove_file(mount.point.join("f")).unwrap();
    fs::write(mount.point.join("f"), vec![7; MIB as usize]).unwrap();
    place.refuses("-b4k -w50 -d1 -W0 f", 4, "was not made by TrueSpd");
}

#[test]
fn a_standard_error_that_takes_nothing_does_not_end_a_run() {
    let place = Place::new();
    let full = File::options().write(true).open("/dev/full").unwrap();
    let output = Command::new(crate::support::program::diskspd())
        .args(["-c1M", "-b4k", "-d1", "-W0", "-v", "-P1", "f"])
        .current_dir(place.dir.path())
        .stderr(full)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&output.stdout).contains("Total IO"));
}

#[test]
fn a_signal_that_comes_twice_at_once_stops_in_an_orderly_way() {
    let place = Place::new();
    place.accepts("-c1M -b4k -d1 -W0 f");
    let stopped = || {
        let mut child = place.command("-v -P1 -W0 -d600 f");
        let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // By then it listens to signals.
        let mut told = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("starting measurements") {
            line.clear();
            assert!(told.read_line(&mut line).unwrap() > 0, "it ended before it measured");
        }
        // The dot of the first I/O, without which there is no result.
        told.read_exact(&mut [0]).unwrap();
        let pid = rustix::process::Pid::from_child(&child);
        for _ in 0..2 {
            rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
            // Apart enough not to become one on the way, as with timeout(1).
            std::thread::sleep(Duration::from_millis(20));
        }
        let mut rest = String::new();
        told.read_to_string(&mut rest).unwrap();
        (child.wait_with_output().unwrap(), rest)
    };
    // Half a second apart they are two wishes: a machine that stands still so long is tried again.
    let ends_orderly = |(output, _): &(Output, String)| output.status.code() == Some(0);
    let (output, told) = (0..20).map(|_| stopped()).find(ends_orderly).unwrap_or_else(stopped);
    assert_eq!(output.status.code(), Some(0), "{output:?} {told}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("Total IO"));
}

#[test]
fn a_warning_is_given_once_and_before_the_run() {
    let place = Place::new();
    File::create(place.path("sparse")).unwrap().set_len(MIB).unwrap();
    let told = place.accepts("-v -f1G -b4k -d1 -W0 sparse sparse");
    for words in ["has a hole at byte 0", "the range ends there"] {
        assert_eq!(told.matches(words).count(), 1, "{told}");
        assert!(told.find(words) < told.find("starting measurements"), "{told}");
    }
}

/// Nodes of one device are one device, for a run itself and for a second one.
#[test]
fn a_device_may_be_named_twice() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let device = devices::Loop::new(4 * MIB);
    let place = Place::new();
    let number = fs::metadata(&device.node).expect("the node is there").rdev();
    let node = place.path("node");
    mknodat(CWD, &node, FileType::BlockDevice, Mode::RUSR | Mode::WUSR, number).expect("a node");
    if File::open(&node).is_err() {
        return not_run(Need::DeviceNodes);
    }
    let (usual, other) = (text(&device.node), text(&node));
    let options = "-w100 -b4K -d1 -W0";
    let allowed = format!("{options} --overwrite {usual} --overwrite {other}");
    place.accepts(&format!("{allowed} {usual} {other}"));
    place.accepts(&format!("{allowed} {other} {usual}"));
    let mut first = place.command(&format!("{options} -d3 --overwrite {other} {other}"));
    let mut first = first.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program starts");
    std::thread::sleep(Duration::from_millis(1200));
    place.accepts(&format!("{options} --overwrite {usual} {usual}"));
    assert!(first.wait().expect("it ends").success());
}
