//! The verdict on real cases: what misleads people is made for real, and the rule that is meant for it speaks.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::devices::{self, Loop, Mount, Zram, text};
use crate::support::documents::is_counted;
use crate::support::needs::{Need, has, not_run};
use crate::support::program::{Lab, Running, with_ios};
use rustix::process::Signal;
use serde_json::Value;

const MIB: u64 = 1 << 20;

/// What was found about a run.
pub struct Judged(pub Value);

impl Judged {
    pub fn grade(&self) -> &str {
        self.0["grade"].as_str().expect("a grade")
    }

    /// The grade of the finding of a rule; `None` when it is silent.
    pub fn found(&self, rule: &str) -> Option<&Value> {
        let findings = self.0["findings"].as_array().expect("a list");
        findings.iter().find(|finding| finding["rule"] == rule)
    }

    #[track_caller]
    pub fn fires(&self, rule: &str, grade: &str) -> &Value {
        let finding = self.found(rule).unwrap_or_else(|| panic!("{rule} is silent: {}", self.0));
        assert_eq!(finding["grade"], grade, "{finding}");
        finding
    }

    #[track_caller]
    pub fn silent(&self, rules: &[&str]) {
        for rule in rules {
            assert!(self.found(rule).is_none(), "{rule} speaks: {}", self.0);
        }
    }
}

/// The verdict in a run's document; the run ends well.
pub fn judged(lab: &Lab, words: &str, target: &Path) -> Judged {
    judged_of(|| lab.command(words), lab, words, target)
}

/// The same of a line that is started in another way.
pub fn judged_of(command: impl Fn() -> Command, lab: &Lab, words: &str, target: &Path) -> Judged {
    let document = lab.path("verdict.json");
    let run = || {
        let mut command = command();
        command.args(["--json", text(&document)]).arg(target);
        Running::new(command, words).finish()
    };
    let ran = with_ios(1, run).expect_code(0);
    let whole: Value = serde_json::from_slice(&fs::read(document).expect("a document")).expect("JSON");
    let verdict = Judged(whole["result"]["verdict"].clone());
    // The one line says the same.
    ran.says(&[&format!("verdict: {}", verdict.grade())]);
    verdict
}

/// A run that goes on, of a target whose path may hold blanks.
pub fn started(lab: &Lab, words: &str, more: &[&str], target: &Path) -> Running {
    let mut command = lab.command(words);
    command.args(more).arg(target);
    Running::new(command, words)
}

/// A file of random data, not in the page cache.
pub fn filled(lab: &Lab, path: &Path, mib: u64) {
    let words = format!("-c{mib}M -Zr -w0 -b1M -o2 -Su -d1 -W0");
    let mut command = lab.command(&words);
    command.arg(path);
    Running::new(command, &words).finish().expect_code(0);
}

/// ext4 on a disk that nobody else uses: what a neighbour moves on a disk that is shared looks like our own, and keeps
/// its time.
pub fn file_system(mib: u64) -> Option<(Zram, Mount)> {
    if !has(&[Need::LoopDevices, Need::Tool("mkfs.ext4")]) {
        return None;
    }
    let device = Zram::new(mib * MIB)?;
    devices::run("mkfs.ext4", &["-q", text(&device.node)]);
    let mount = Mount::new(&[text(&device.node)]);
    Some((device, mount))
}

/// A loop device that passes direct I/O on to such a disk.
pub fn own_loop(mib: u64) -> Option<(Zram, Loop)> {
    if !has(&[Need::LoopDevices]) {
        return None;
    }
    let disk = Zram::new(mib * MIB)?;
    let device = Loop::over_with(&disk.node, &["--direct-io=on", "--sector-size=4096"]);
    Some((disk, device))
}

/// The experiments of a field report: one file, reads and writes, page cache on and off.
#[test]
fn cached_and_direct() {
    let Some((_device, mount)) = file_system(200) else { return };
    let (lab, file) = (Lab::new(), mount.point.join("data"));
    filled(&lab, &file, 64);
    let all = ["served-from-cache", "never-written", "direct-not-honoured", "unproven", "zero-data"];

    let direct = judged(&lab, "-r -b8k -o8 -Su -W0 -d1", &file);
    direct.silent(&all);
    assert_ne!(direct.grade(), "invalid", "{}", direct.0);
    let direct = judged(&lab, "-w100 -Zr -r -b8k -o8 -Su -W0 -d1", &file);
    direct.silent(&all);
    assert_ne!(direct.grade(), "invalid", "{}", direct.0);

    fs::read(&file).expect("readable");
    let cached = judged(&lab, "-r -b8k -o8 -W0 -d1", &file);
    let finding = cached.fires("served-from-cache", "invalid");
    assert!(
        finding["says"].as_str().is_some_and(|words| words.contains("the page cache answered")),
        "{finding}"
    );
    assert_eq!(cached.grade(), "invalid");
    cached.fires("working-set", "suspect");
}

/// Two I/Os that the page cache answers prove nothing, in either direction.
#[test]
fn two_ios_are_too_few() {
    let Some((_device, mount)) = file_system(200) else { return };
    let (lab, file) = (Lab::new(), mount.point.join("data"));
    filled(&lab, &file, 16);
    fs::read(&file).expect("readable");
    for words in ["-r -b4K -o1 -g1i -W0 -d2", "-r -b4K -o1 -g1i -W0 -d2 -Su"] {
        let few = judged(&lab, words, &file);
        few.silent(&["served-from-cache", "coalesced", "not-steady"]);
        let unchecked = few.0["unchecked"].as_array().expect("a list");
        let is_few = |one: &&Value| {
            let why = one["why"].as_str().expect("words");
            one["rule"] == "served-from-cache"
                && why.starts_with("too few I/Os: ")
                && why.ends_with("takes 100")
        };
        assert_eq!(unchecked.iter().filter(is_few).count(), 1, "{}", few.0);
        let unproven = few.fires("unproven", "suspect");
        let says = unproven["says"].as_str().expect("words");
        assert!(says.starts_with("Too few I/Os to prove the result: it has "), "{unproven}");
        assert_eq!(few.grade(), "suspect");
    }
}

/// What a neighbour reads from the disk is no proof that this run did.
#[test]
fn a_neighbour_hides_no_page_cache() {
    let Some((_device, mount)) = file_system(200) else { return };
    let (lab, file, other) = (Lab::new(), mount.point.join("data"), mount.point.join("other"));
    filled(&lab, &file, 32);
    filled(&lab, &other, 64);
    fs::read(&file).expect("readable");
    // A file system on a loop device that reads its image through the page cache, and the image is there already.
    let looped = Loop::over(&file);
    let words = "-Sb -r -b4K -o1 -g3000i -W0 -d2";
    let neighbour = started(&lab, "-v -r -b64k -o4 -Su -W0 -d600", &[], &other);
    neighbour.wait_for_stderr("starting measurements");
    let cached = judged(&lab, words, &file);
    // A machine that is short of memory drops pages at any time, and then nobody can tell what answered.
    let through_loop = (0..3).find_map(|_| {
        fs::read(&file).expect("readable");
        let verdict = judged(&lab, "-Su -r -b4K -o1 -g2000i -W0 -d2", &looped.node);
        kept_all_pages(&lab).then_some(verdict)
    });
    let through_loop = through_loop.expect("pages of 32 MiB that stay for two seconds");
    let cold = judged(&lab, "-Su -r -b4K -o1 -g3000i -W0 -d2", &file);
    neighbour.signal(Signal::INT);
    neighbour.finish().expect_code(0);
    let says = |verdict: &Judged| {
        let finding = verdict.fires("served-from-cache", "invalid");
        finding["says"].as_str().expect("a sentence").to_string()
    };
    let said = says(&cached);
    // Pages of the program itself may have to be read meanwhile.
    let little = ["nothing (", "only "].map(|little| format!("this process read from the disks {little}"));
    assert!(little.iter().any(|little| said.contains(little)), "{said}");
    assert!(said.contains("the page cache answered"), "{said}");
    assert!(said.ends_with(" % of the tested range before the run."), "{said}");
    let said = says(&through_loop);
    assert!(
        said.contains("was in the page cache before, and its disk can have given no more than"),
        "{said}"
    );
    assert!(said.contains("a loop device below the target uses the page cache for its file"), "{said}");
    // Direct reads of a file that is in the page cache, too, are the disk's.
    cold.silent(&["served-from-cache"]);
}

/// Whether the page cache held all of the file of the loop device, before and after the last run that was judged.
fn kept_all_pages(lab: &Lab) -> bool {
    let whole: Value =
        serde_json::from_slice(&fs::read(lab.path("verdict.json")).expect("a document")).expect("JSON");
    let evidence = &whole["result"]["time_spans"][0]["measured"]["evidence"];
    let cache = &evidence["targets"][0]["loop_caches"][0];
    let bytes = |which: &str| cache["residency"][which].as_u64().unwrap_or_else(|| panic!("{evidence}"));
    let range = bytes("range_bytes");
    bytes("cached_before_bytes") == range && bytes("cached_after_bytes") == range && {
        let evicted = |which: &str| cache[which].as_u64().unwrap_or(0);
        evicted("evicted_before_bytes") + evicted("evicted_after_bytes") == 0
    }
}

/// A process that writes the file through the page cache, beside a test that bypasses it.
#[test]
fn pages_of_another_writer() {
    let Some((_device, mount)) = file_system(200) else { return };
    let (lab, file) = (Lab::new(), mount.point.join("data"));
    filled(&lab, &file, 32);
    let cold = judged(&lab, "-Su -r -b64K -o2 -W0 -d1", &file);
    cold.silent(&["served-from-cache", "direct-not-honoured"]);
    let words = "-v -Su -r -b64K -o2 -W0 -d3";
    let document = lab.path("beside.json");
    let run = started(&lab, words, &["--json", text(&document)], &file);
    run.wait_for_stderr("starting measurements");
    let mut other = fs::OpenOptions::new().write(true).open(&file).expect("writable");
    other.write_all(&vec![9; 8 * MIB as usize]).expect("room");
    run.finish().expect_code(0);
    let whole: Value = serde_json::from_slice(&fs::read(document).expect("a document")).expect("JSON");
    let verdict = Judged(whole["result"]["verdict"].clone());
    let facts = &whole["result"]["time_spans"][0]["measured"]["evidence"]["targets"][0];
    verdict.silent(&["direct-not-honoured"]);
    // Direct reads of dirty pages have them written first, and may push them out.
    let held = facts["residency"]["cached_after_bytes"].as_u64().expect("a number");
    if held > MIB {
        let says = verdict.found("other-io").and_then(|finding| finding["says"].as_str()).unwrap_or_default();
        assert!(says.contains("through the page cache") || says.starts_with("Other I/O"), "{}", verdict.0);
    }
}

/// A memory map makes the disk read the surroundings of what is asked for.
#[test]
fn reads_that_are_amplified() {
    let Some((_device, mount)) = file_system(400) else { return };
    let (lab, file) = (Lab::new(), mount.point.join("data"));
    filled(&lab, &file, 256);
    let mapped = judged(&lab, "-Sm -r -b4K -o1 -g300i -W0 -d2", &file);
    let finding = mapped.fires("read-amplified", "suspect");
    assert!(
        finding["says"].as_str().is_some_and(|words| words.contains("memory-mapped file (-Sm)")),
        "{finding}"
    );
    assert_eq!(finding["figures"][0]["name"], "read_amplification", "{finding}");
    assert!(finding["figures"][0]["value"].as_f64().is_some_and(|times| times > 2.0), "{finding}");
    judged(&lab, "-Su -r -b4K -o1 -g300i -W0 -d1", &file).silent(&["read-amplified"]);
}

/// A loop device without direct I/O over a file that is not in the page cache: the disk gives what was asked for.
#[test]
fn a_loop_device_over_a_cold_file() {
    let Some((_device, mount)) = file_system(200) else { return };
    let (lab, file) = (Lab::new(), mount.point.join("image"));
    filled(&lab, &file, 128);
    let looped = Loop::over(&file);
    let verdict = judged(&lab, "-Su -s -b64K -o2 -g160i -W0 -d2", &looped.node);
    verdict.silent(&["served-from-cache"]);
}

/// The same with a device itself.
#[test]
fn cached_and_direct_on_a_device() {
    let Some((_disk, device)) = own_loop(64) else { return };
    let lab = Lab::new();
    let filling = judged(&lab, "-w100 -s -Zr -b1M -o2 -Su -W0 -d2", &device.node);
    filling.silent(&["served-from-cache", "reducible-writes"]);
    // All of it, which a busy machine may not have come to.
    let of = format!("of={}", text(&device.node));
    devices::run("dd", &["if=/dev/urandom", &of, "bs=1M", "count=64", "oflag=direct", "status=none"]);
    let direct = judged(&lab, "-r -b8k -o8 -Su -W0 -d1", &device.node);
    direct.silent(&["served-from-cache", "direct-not-honoured", "zero-data"]);
    // The page cache of a device goes with its last descriptor.
    let mut kept = File::open(&device.node).expect("readable");
    kept.read_to_end(&mut Vec::new()).expect("readable");
    judged(&lab, "-r -b8k -o8 -W0 -d1", &device.node).fires("served-from-cache", "invalid");
}

#[test]
fn files_never_written() {
    let Some((_device, mount)) = file_system(200) else { return };
    let lab = Lab::new();
    let (allocated, sparse) = (mount.point.join("allocated"), mount.point.join("sparse"));
    devices::run("fallocate", &["-l", "64M", text(&allocated)]);
    File::create(&sparse).and_then(|file| file.set_len(64 * MIB)).expect("a sparse file");
    for file in [allocated, sparse] {
        let verdict = judged(&lab, "-r -b4k -o8 -Su -W0 -d1", &file);
        verdict.fires("never-written", "invalid");
        verdict.fires("served-from-cache", "invalid");
        assert_eq!(verdict.grade(), "invalid");
    }
}

#[test]
fn files_in_memory() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let (lab, mount) = (Lab::new(), Mount::new(&["-t", "tmpfs", "none"]));
    let file = mount.point.join("data");
    filled(&lab, &file, 16);
    let verdict = judged(&lab, "-r -b4k -o8 -Su -W0 -d1", &file);
    verdict.fires("direct-not-honoured", "invalid");
    verdict.fires("memory-target", "suspect");
    judged(&lab, "-r -b4k -o8 -W0 -d1", &file).fires("memory-target", "suspect");
}

#[test]
fn zeros_and_repeated_data_on_storage_that_reduces() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    // So small that each run writes all of it, also on a busy machine.
    let Some(zram) = Zram::new(8 * MIB) else { return };
    let lab = Lab::new();
    judged(&lab, "-r -b4k -o8 -Su -W0 -d1", &zram.node).fires("zero-data", "suspect");
    // Every write of the default content holds the same bytes.
    judged(&lab, "-w100 -s -b64k -o2 -Su -W0 -d1", &zram.node).fires("reducible-writes", "suspect");
    judged(&lab, "-r -b4k -o8 -Su -W0 -d1", &zram.node).fires("reducible-reads", "suspect");
    let again = format!("-w100 -s -Zr -b64k -o2 -Su -W0 -d1 --overwrite {}", zram.node.display());
    judged(&lab, &again, &zram.node).silent(&["reducible-writes"]);
    judged(&lab, "-r -b4k -o8 -Su -W0 -d1", &zram.node).silent(&["zero-data", "reducible-reads"]);
}

#[test]
fn a_file_that_btrfs_compresses() {
    if !has(&[Need::LoopDevices, Need::Tool("mkfs.btrfs")]) {
        return;
    }
    let Some(device) = Zram::new(300 * MIB) else { return };
    let _only = devices::only_btrfs();
    devices::run("mkfs.btrfs", &["-q", text(&device.node)]);
    let mount = Mount::new(&["-o", "compress-force=zstd", text(&device.node)]);
    let (lab, file) = (Lab::new(), mount.point.join("data"));
    // The default content of -c compresses well.
    let mut command = lab.command("-c32M -w0 -b64K -Su -d1 -W0");
    command.arg(&file);
    Running::new(command, "-c32M").finish().expect_code(0);
    let verdict = judged(&lab, "-r -b64k -o8 -Su -W0 -d1", &file);
    let finding = verdict.fires("reducible-reads", "suspect");
    assert!(finding["says"].as_str().is_some_and(|words| words.contains("btrfs compresses")), "{finding}");
}

/// btrfs reads what it keeps compressed through the page cache, also for direct I/O. Compression is no excuse
/// for reads that never came to the disk.
#[test]
fn compression_excuses_no_page_cache() {
    if !has(&[Need::LoopDevices, Need::Tool("mkfs.btrfs")]) {
        return;
    }
    let Some(device) = Zram::new(300 * MIB) else { return };
    let _only = devices::only_btrfs();
    devices::run("mkfs.btrfs", &["-q", text(&device.node)]);
    let mount = Mount::new(&["-o", "compress-force=zstd", text(&device.node)]);
    let (lab, file) = (Lab::new(), mount.point.join("data"));
    // Direct writes are not compressed.
    let block: Vec<u8> =
        (0..65_536u32).map(|at| (at % 1024).wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
    let mut written = File::create(&file).expect("a file");
    (0..256).for_each(|_| written.write_all(&block).expect("room"));
    written.sync_all().expect("synced");
    drop(written);
    fs::read(&file).expect("readable");
    let verdict = judged(&lab, "-r -b4k -o8 -Su -W0 -d1", &file);
    let finding = verdict.fires("served-from-cache", "invalid");
    let says = finding["says"].as_str().expect("a sentence");
    assert!(says.contains("the page cache answered, although the test asked for direct I/O"), "{finding}");
    assert!(
        says.contains("; btrfs compresses (zstd") && says.contains("of the bytes but not less"),
        "{finding}"
    );
}

/// A neighbour reads the same disk.
#[test]
fn another_process_on_the_disk() {
    let Some((_disk, device)) = own_loop(128) else { return };
    let lab = Lab::new();
    judged(&lab, "-w100 -s -Zr -b1M -o2 -Su -W0 -d2", &device.node);
    // Alone it says nothing, which only a disk would show that nobody else uses: `src/verdict/rules/tests/machine.rs`.
    let neighbour = lab.start(&format!("-v -r -b64k -o4 -Su -W0 -d600 {}", text(&device.node)));
    neighbour.wait_for_stderr("starting measurements");
    let disturbed = judged(&lab, "-r -b4k -o2 -Su -g50i -W1 -d2", &device.node);
    neighbour.signal(Signal::INT);
    neighbour.finish().expect_code(0);
    disturbed.fires("other-io", "suspect");
}

/// A cgroup of version 1, removed on drop.
pub struct Throttle {
    folder: PathBuf,
    /// `major:minor` of the device it limits.
    device: String,
}

impl Throttle {
    /// `None` where no such cgroup can be made.
    pub fn reads_per_s(node: &Path, rate: u32) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        let top = Path::new("/sys/fs/cgroup/blkio");
        if !top.join("blkio.throttle.read_iops_device").exists() {
            not_run(Need::ThrottlingCgroup);
            return None;
        }
        let raw = fs::metadata(node).expect("a device").rdev();
        let device = format!("{}:{}", rustix::fs::major(raw), rustix::fs::minor(raw));
        let group = Throttle {
            folder: top.join(format!("truespd-verdict-{}-{}", std::process::id(), device.replace(':', "-"))),
            device,
        };
        fs::create_dir(&group.folder).expect("a cgroup");
        group.set(rate);
        Some(group)
    }

    /// Another limit; 0 is none.
    pub fn set(&self, rate: u32) {
        let limit = format!("{} {rate}", self.device);
        fs::write(self.folder.join("blkio.throttle.read_iops_device"), limit).expect("a limit");
    }

    /// The program in the group, by a shell.
    pub fn line(&self, words: &str) -> String {
        let program = crate::support::program::diskspd();
        format!("echo $$ > '{}/cgroup.procs' && exec '{program}' {words}", self.folder.display())
    }

    /// Reads of the device that the kernel let through so far.
    fn reads(&self) -> u64 {
        let file = fs::read_to_string(self.folder.join("blkio.throttle.io_serviced")).expect("counts");
        let start = format!("{} Read ", self.device);
        let count = file.lines().find_map(|line| line.strip_prefix(&start));
        count.map_or(0, |count| count.parse().expect("a number"))
    }
}

impl Drop for Throttle {
    fn drop(&mut self) {
        for _ in 0..40 {
            if fs::remove_dir(&self.folder).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        eprintln!("could not remove {}", self.folder.display());
    }
}

/// The limit is told from the disk, and measured within 1 %. On a busy machine the kernel hands out less, or afterwards
/// what it owed from before: such a run is repeated, and where all are so, only this is shown: no run counts more than
/// the kernel let through.
#[test]
fn a_limit_in_force() {
    const ATTEMPTS: usize = 10;
    let Some((_disk, device)) = own_loop(64) else { return };
    let lab = Lab::new();
    judged(&lab, "-w100 -s -Zr -b1M -o2 -Su -W0 -d1", &device.node);
    let Some(group) = Throttle::reads_per_s(&device.node, 500) else { return };
    let mut counted = Vec::new();
    for _ in 0..ATTEMPTS {
        let (served_before, whole) = (group.reads(), limited(&lab, &group, &device.node));
        let served = group.reads() - served_before;
        let target = &whole["result"]["time_spans"][0]["measured"]["threads"][0]["targets"][0];
        let ios = target["read"]["ios"].as_u64().expect("a number");
        assert!(ios <= served, "{ios} counted, {served} served with the second of warm-up");
        if (1980..=2020).contains(&ios) {
            let verdict = Judged(whole["result"]["verdict"].clone());
            let finding = verdict.fires("provisioned-limit", "suspect");
            assert!(finding["says"].as_str().is_some_and(|words| words.contains("500 reads/s")), "{finding}");
            verdict.silent(&["served-from-cache"]);
            // A thread that waits for the device is not what holds it up, but others may keep it from its processor, or
            // the whole machine may stand still.
            let bound = verdict.found("generator-bound");
            let is_busy = |finding: &Value| {
                let name = finding["figures"][0]["name"].as_str().expect("a figure");
                name == "waiting_for_cpu_percent"
            };
            assert!(bound.is_none_or(is_busy), "{bound:?}");
            return;
        }
        counted.push(ios);
    }
    assert!(counted.iter().all(|ios| *ios > 0), "{counted:?}");
    not_run(Need::QuietMachine);
}

/// The document of a run in a cgroup. A quarter of a second of I/Os in line, so that the limit is also
/// reached while the thread waits for a processor.
fn limited(lab: &Lab, group: &Throttle, node: &Path) -> Value {
    let document = lab.path("limited.json");
    let line = format!(
        "echo $$ > '{}/cgroup.procs' && exec '{}' -r -b4k -o128 -Su -L -W1 -d4 --json '{}' {} 2>&1",
        group.folder.display(),
        crate::support::program::diskspd(),
        text(&document),
        text(node)
    );
    let ran = Command::new("sh").args(["-c", &line]).output().expect("a shell");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
    serde_json::from_slice(&fs::read(document).expect("a document")).expect("JSON")
}

/// Busy loops on processor 0.
struct Hogs(Vec<std::process::Child>);

impl Hogs {
    fn on_processor_0(count: usize) -> Self {
        let hog = |_| {
            // They end by themselves where nothing ends them: a test that is killed drops nothing.
            Command::new("timeout")
                .args(["60", "taskset", "-c", "0", "sh", "-c", "while :; do :; done"])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("a busy loop")
        };
        Hogs((0..count).map(hog).collect())
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        for hog in &mut self.0 {
            // `timeout` passes it on; killed, it could not.
            let _ = rustix::process::kill_process(rustix::process::Pid::from_child(hog), Signal::TERM);
            let _ = hog.wait();
        }
    }
}

/// The depth asked for cannot be kept by a thread that gets no processor. The kernel prefers the loops to
/// this run only, not to the tests beside it.
#[test]
fn a_busy_processor() {
    if !has(&[Need::LoopDevices])
        || !["taskset", "timeout", "nice"].iter().all(|tool| has(&[Need::Tool(tool)]))
    {
        return;
    }
    let Some(zram) = Zram::new(32 * MIB) else { return };
    let lab = Lab::new();
    judged(&lab, "-w100 -s -Zr -b1M -o2 -Su -W0 -d1", &zram.node);
    let hogs = Hogs::on_processor_0(3);
    let words = "-r -b4k -o32 -Su -L -a0 -W1 -d3";
    let verdict = judged_of(|| lab.command_behind(&["nice", "-n", "19"], words), &lab, words, &zram.node);
    drop(hogs);
    let finding = verdict.fires("generator-bound", "suspect");
    assert!(finding["says"].as_str().is_some_and(|words| words.contains("processor")), "{finding}");
}

/// A script's question: exit code 5 and an unchanged standard output.
#[test]
fn a_grade_that_is_required() {
    let lab = Lab::new();
    lab.write("file", &vec![7; MIB as usize]);
    let line = "--engine null -b4K -d1 -W0";
    let plain = lab.run(&format!("{line} file")).expect_code(0).says(&["verdict: invalid: simulated"]);
    assert_eq!(plain.stderr.matches("verdict:").count(), 1, "{}", plain.stderr);
    for grade in ["certified", "suspect"] {
        let ran = lab.run(&format!("{line} --require {grade} file")).expect_code(5);
        assert!(ran.stdout.contains("Total IO"), "{}", ran.stdout);
        assert!(!ran.stdout.contains("verdict"), "{}", ran.stdout);
    }
    let all = lab.run(&format!("{line} --verdict file")).expect_code(0);
    all.says(&["simulated", "leave --engine out to measure"]);
}

/// Judged again the verdict is the same, from the document alone.
#[test]
fn stored_results_are_judged_again() {
    let lab = Lab::new();
    lab.write("file", &vec![7; MIB as usize]);
    let ran = lab.run("-b4K -r -d1 -W0 --json out.json file").expect_code(0);
    let line = ran.stderr.lines().find(|line| line.starts_with("verdict: ")).expect("a verdict");
    let judge = |args: &[&str]| {
        let command = Command::new(env!("CARGO_BIN_EXE_truespd")).current_dir(lab.work()).args(args).output();
        let output = command.expect("truespd");
        (output.status.code(), String::from_utf8(output.stdout).expect("text"))
    };
    let (code, said) = judge(&["judge", "out.json"]);
    assert_eq!(code, Some(0), "{said}");
    let grade = line.split_whitespace().nth(1).expect("a grade").trim_end_matches(':');
    assert!(said.contains(grade), "{grade} is not in: {said}");
    assert_ne!(grade, "certified", "the page cache served it");
    assert_eq!(judge(&["judge", "--require", "certified", "out.json"]).0, Some(5));

    let (code, table) = judge(&["judge", "out.json", "out.json"]);
    assert_eq!(code, Some(0), "{table}");
    let rows: Vec<&str> = table.lines().collect();
    assert!(rows[0].starts_with("grade ") && rows[1].starts_with(grade), "{table}");
    assert!(rows[1].contains(" MiB/s ") && rows[1].contains("out.json") && rows[1] == rows[2], "{table}");
    assert!(table.contains("\n2 documents: 0 certified, "), "{table}");

    let (code, list) = judge(&["judge", "--json", "out.json", "missing.json"]);
    assert_eq!(code, Some(3), "{list}");
    let list: Vec<Value> = serde_json::from_str(&list).expect("JSON, also beside an error");
    assert_eq!(list.len(), 1);
    assert_eq!((&list[0]["document"], &list[0]["grade"]), (&"out.json".into(), &grade.into()));
    let text = fs::read(lab.path("out.json")).expect("a document");
    let stored: Value = serde_json::from_slice(&text).expect("JSON");
    assert_eq!(list[0]["verdict"], stored["result"]["verdict"]);
}

/// The disk's own count stands beside that of the test.
#[test]
fn the_proof_of_direct_reads_is_what_the_disk_counted() {
    let lab = Lab::new();
    let file = lab.path("file");
    let verdict = judged(&lab, "-c64M -b64K -d1 -W0 -w0 -Su", &file);
    let proofs = verdict.0["proofs"].as_array().expect("a list");
    let document: Value = serde_json::from_slice(&lab.read("verdict.json")).expect("JSON");
    if !is_counted(&document["result"]["time_spans"][0]["measured"]) {
        return not_run(Need::CountedDisk);
    }
    let proof = proofs.first().expect("a proof where the disks are counted");
    let share = proof["reads"]["share"].as_f64().expect("a number");
    assert!(share > 0.8, "{proof}");
    assert!(proof["writes"].is_null() && proof["targets"][0] == text(&file), "{proof}");
}
