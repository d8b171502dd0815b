//! Runs that fail: said in words with the phrases that wrappers look for, at once, with the document all the
//! same. And runs without rights, which must not fail.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use rustix::process::Signal;

use crate::support::HANG;
use crate::support::devices;
use crate::support::gate::{EIO_RANGE, FULL_OFFSET, Gate, SHORT_OFFSET};
use crate::support::needs::{Need, has};
use crate::support::program::{Lab, Ran, Running};
use crate::support::runner::has_engine;
use crate::support::words::in_one_line;

#[test]
fn targets_that_cannot_be_opened() {
    let lab = Lab::new();
    lab.run("-d1 -W0 missing").not_opened(&["Error opening file: missing [2]", "No such file or directory"]);
    lab.run("-d1 -W0 no/such/dir/f").not_opened(&["Error opening file: no/such/dir/f [2]"]);
    fs::create_dir(lab.path("dir")).expect("a directory");
    lab.run("-d1 -W0 dir").not_opened(&["Error opening file: dir [21]", "Is a directory"]);
    lab.run("-d1 -W0 -w100 dir").not_opened(&["Error opening file: dir [21]"]);
    lab.write("file", &[0; 4096]);
    lab.run("-d1 -W0 file/below").not_opened(&["Error opening file: file/below [20]", "Not a directory"]);
    std::os::unix::fs::symlink("loop", lab.path("loop")).expect("a link");
    lab.run("-d1 -W0 loop").not_opened(&["Error opening file: loop [40]"]);
    lab.run("-d1 -W0 /dev/null").not_opened(&["/dev/null"]);
    let long = "n".repeat(300);
    lab.run(&format!("-d1 -W0 {long}")).not_opened(&["File name too long"]);
    // One of two is enough, and each that is wrong is named.
    let ran = lab.run("-d1 -W0 -b4K file missing gone");
    ran.not_opened(&["Error opening file: missing", "Error opening file: gone"]);
    assert_eq!(lab.names(), ["dir", "file", "loop"], "nothing was made");
}

#[test]
fn targets_that_are_too_small() {
    let lab = Lab::new();
    lab.write("small", &[0; 10000]);
    lab.write("empty", &[]);
    let phrase = "The file is too small. File: 'small'";
    lab.run("-d1 -W0 small").not_opened(&[phrase]);
    lab.run("-d1 -W0 -b4K -B10000 small").not_opened(&[phrase]);
    lab.run("-d1 -W0 -b4K -B1M small").not_opened(&[phrase]);
    lab.run("-d1 -W0 -b4K -B8K small").not_opened(&[phrase]);
    lab.run("-d1 -W0 -b4K -t2 -T8K small").not_opened(&[phrase]);
    lab.run("-d1 -W0 -b4K empty").not_opened(&["empty"]);
    lab.run("-d1 -W0 -b4K -B4K -g4 small").expect_code(0);
    lab.run("-d1 -W0 -b4K -f1M -g4 small").expect_code(0).says(&["WARNING: ", "the range ends there"]);
}

#[test]
fn standard_output_that_cannot_be_written() {
    let lab = Lab::new();
    lab.write("file", &[0; 65536]);
    let full = fs::File::options().write(true).open("/dev/full").expect("/dev/full is there");
    let mut command = lab.command("-d1 -W0 -b4K -g4 file");
    let output = command.stdout(full).output().expect("it starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("could not write to standard output: No space left on device"), "{stderr}");
}

/// A file that somebody cuts off under the run ends it, and a mapping of it is no crash.
#[test]
fn a_file_that_shrinks() {
    for words in ["-o4", "-o1", "-Su -o4", "-Sm"] {
        let lab = Lab::new();
        lab.run("-c4M -b4K -d1 -W0 -g1 f").expect_code(0);
        let running = lab.start(&format!("-v -d600 -W0 -b64K -r -g500i {words} f"));
        running.wait_for_stderr("starting measurements");
        let file = fs::File::options().write(true).open(lab.path("f")).expect("writable");
        file.set_len(65536).expect("cut");
        let ran = running.finish();
        assert!(ran.wall < HANG, "{ran}");
        let ran = ran.failed(&["error during read error code: ", "'f'"]);
        let ran = ran.says(&["WARNING: 'f' was cut from 4 MiB to 64 KiB while it was tested\n"]);
        assert_eq!(ran.stderr.matches("was cut").count(), 1, "{ran}");
        assert_eq!(fs::metadata(lab.path("f")).expect("there").len(), 65536, "it stays as it is");
    }
}

/// A run, something that is done to its file before the run is ended, and what its document says of that.
fn meanwhile(lab: &Lab, line: &str, path: &std::path::Path, act: impl FnOnce()) -> (Ran, serde_json::Value) {
    let line = format!("-v -P1 -d600 -W0 -b64K {line} --json r.json");
    let mut command = lab.command(&line);
    command.arg(path);
    let running = Running::new(command, &line);
    running.wait_for_ios();
    act();
    running.signal(Signal::INT);
    let ran = running.finish().expect_code(0);
    let document: serde_json::Value = serde_json::from_slice(&lab.read("r.json")).expect("a document");
    let verdict = &document["result"]["verdict"]["findings"];
    let findings = verdict.as_array().expect("a list").iter();
    let lost = findings.filter(|finding| finding["rule"] == "target-lost").count();
    let losses = document["result"]["time_spans"][0]["measured"]["evidence"]["targets"][0]["losses"].clone();
    assert_eq!(Some(lost), losses.as_array().map(Vec::len), "one finding for each\n{ran}");
    (ran, losses)
}

/// What is open stays there although its name is gone or means something else; that is told.
#[test]
fn a_file_that_is_removed_or_replaced() {
    let lab = Lab::new();
    lab.run("-c4M -b4K -d1 -W0 -g1 f").expect_code(0);
    let path = std::path::Path::new("f");
    let (ran, losses) = meanwhile(&lab, "-r -w50 -g500i", path, || ());
    assert_eq!(losses, serde_json::json!([]), "nobody did anything\n{ran}");
    let (ran, losses) = meanwhile(&lab, "-r -w50 -g500i", path, || {
        fs::remove_file(lab.path("f")).expect("removed");
        lab.write("f", b"a new one");
    });
    ran.says(&[
        "WARNING: 'f' was removed while it was tested",
        "WARNING: 'f' leads to another file or device",
    ]);
    assert_eq!(losses, serde_json::json!([{"what": "removed"}, {"what": "replaced"}]));
    assert_eq!(lab.read("f"), b"a new one", "the new file is none of its business");
    lab.run("-c4M -b4K -d1 -W0 -g1 g").expect_code(0);
    let (ran, losses) = meanwhile(&lab, "-r -w100 -g500i", std::path::Path::new("g"), || {
        fs::rename(lab.path("g"), lab.path("h")).expect("renamed");
    });
    ran.says(&["WARNING: 'g' is not there any more: it was renamed"]);
    assert_eq!(losses, serde_json::json!([{"what": "moved"}]));
}

/// Writes behind its end make a file as long as it was.
#[test]
fn a_file_that_is_cut_under_a_write_test() {
    let lab = Lab::new();
    lab.run("-c64M -b4K -d1 -W0 -g1 f").expect_code(0);
    let (ran, losses) = meanwhile(&lab, "-r -w100 -g50i", std::path::Path::new("f"), || {
        let file = fs::File::options().write(true).open(lab.path("f")).expect("writable");
        file.set_len(0).expect("cut");
        // The last block of the range, which the test itself would reach sooner or later.
        file.set_len(64 << 20).expect("as long as it was");
    });
    ran.says(&["WARNING: 'f' was cut, or holes were punched into it, while it was tested: of 64 MiB"]);
    assert_eq!(losses[0]["what"], "emptied", "{losses}");
}

#[test]
fn a_file_system_that_is_taken_away() {
    if !has(&[Need::LoopDevices, Need::Tool("mkfs.ext4")]) {
        return;
    }
    let lab = Lab::new();
    let disk = devices::Loop::new(128 << 20);
    devices::run("mkfs.ext4", &["-q", devices::text(&disk.node)]);
    let mount = devices::Mount::new(&[devices::text(&disk.node)]);
    let place = devices::text(&mount.point).to_string();
    let file = mount.point.join("f");
    let name = devices::text(&file).to_string();
    let mut make = lab.command("-c16M -b4K -d1 -W0 -g1");
    make.arg(&file);
    Running::new(make, "-c16M").finish().expect_code(0);
    let (ran, losses) = meanwhile(&lab, "-r -g500i", &file, || {
        devices::run("mount", &["-o", "remount,ro", &place]);
    });
    devices::run("mount", &["-o", "remount,rw", &place]);
    ran.says(&[&format!("WARNING: the file system of '{name}' became read-only while it was tested")]);
    assert_eq!(losses, serde_json::json!([{"what": "read_only"}]));
    let (ran, losses) = meanwhile(&lab, "-r -w100 -g500i", &file, || mount.detach());
    ran.says(&[&format!(
        "WARNING: the file system of '{name}' was unmounted while it was tested (umount -l)"
    )]);
    assert_eq!(losses, serde_json::json!([{"what": "unmounted"}]));
}

/// A gate, or why not.
fn gate() -> Option<Gate> {
    has(&[Need::Fuse]).then_some(())?;
    Some(Gate::direct().expect("a file of known behaviour"))
}

fn run_on(gate: &Gate, lab: &Lab, words: &str) -> Ran {
    let mut command = lab.command(words);
    command.arg(gate.path());
    Running::new(command, words).finish()
}

fn overwriting(gate: &Gate) -> String {
    format!("--overwrite {}", gate.path().display())
}

/// The first failed I/O ends the run, whatever engine and however long it was to last.
#[test]
fn io_errors_end_the_run_at_once() {
    let (Some(gate), lab) = (gate(), Lab::new()) else { return };
    // The first block is good: that one is read before anything starts.
    let base = EIO_RANGE.start - 4096;
    for words in [
        "-Su -o8",
        "-Su -o1",
        "-o4",
        "-Su -t4 -o8 -L -D",
        "-Su -F2 -O8 -r",
        "-W600 -Su",
        "-Su -g10i",
        "--engine psync -o1 -Su",
        "--engine libaio -Su -o4",
        "--engine threads -Su -o4",
    ] {
        let ran = run_on(&gate, &lab, &format!("-d600 -W0 -b4K -B{base}:64K {words}"));
        assert!(ran.wall < HANG, "{ran}");
        let ran = ran.failed(&["error during read error code: 5)", "Input/output error"]);
        assert!(ran.stderr.contains("t[0] error") || words.contains("-t4") || words.contains("-F2"), "{ran}");
    }
    // The block that failed is named.
    let ran = run_on(&gate, &lab, &format!("-d60 -W0 -b4K -B{base}:8K -o1 -Su"));
    ran.failed(&[&EIO_RANGE.start.to_string(), "Input/output error"]);
}

#[test]
fn io_errors_in_the_middle_of_a_run() {
    let (Some(gate), lab) = (gate(), Lab::new()) else { return };
    // 64 blocks of 64 KiB lie before the bad one: half a second at this rate.
    let ran = run_on(&gate, &lab, "-d600 -W0 -b64K -g128i -o2 -Su -L");
    assert!(ran.wall > Duration::from_millis(400) && ran.wall < HANG, "{ran}");
    ran.failed(&["error during read error code: 5)", &EIO_RANGE.start.to_string()]);
}

#[test]
fn failed_writes_and_their_reason() {
    let (Some(gate), lab) = (gate(), Lab::new()) else { return };
    let words = format!("-d60 -W0 -b4K -w100 -o2 -Su -B{FULL_OFFSET}:4K {}", overwriting(&gate));
    let ran = run_on(&gate, &lab, &words);
    ran.failed(&["error during write error code: 28)", "No space left on device", &FULL_OFFSET.to_string()]);
    let words =
        format!("-d60 -W0 -b4K -w100 -o2 -Su -B{}:64K {}", EIO_RANGE.start - 4096, overwriting(&gate));
    run_on(&gate, &lab, &words).failed(&["error during write error code: 5)"]);
}

/// Half transfers count with what they moved, and are told once.
#[test]
fn short_transfers() {
    let (Some(gate), lab) = (gate(), Lab::new()) else { return };
    let ran = run_on(&gate, &lab, &format!("-d1 -W0 -b8K -o2 -Su -L -B{SHORT_OFFSET}:8K")).expect_code(0);
    let parsed = ran.text();
    let total = &parsed.results[0].as_ref().unwrap_or_else(|| panic!("{ran}")).tables[0].total;
    assert_eq!(total.bytes, total.ios * 4096, "{ran}");
    assert_eq!(ran.stderr.matches("transferred fewer bytes").count(), 1, "{ran}");
    let told = ran.stderr.split(" I/Os transferred fewer").next().and_then(|head| head.rsplit(' ').next());
    // Also those before and after the measured time.
    assert!(told.and_then(|n| n.parse::<u64>().ok()).is_some_and(|n| n >= total.ios), "{ran}");
}

/// Another user's settings could have root replace files.
#[test]
fn root_does_not_read_the_configuration_of_another_user() {
    if !has(&[Need::OtherUsers]) {
        return;
    }
    let lab = Lab::new();
    let folder = lab.path("home/.config/truespd");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("config.toml"), "[output]\nquiet = true\n").expect("a file");
    let home = format!("HOME={}", lab.path("home").display());
    let line = "-c1M -b4K -d1 -W0 --engine sim:latency=1ms f";
    let run = || run_behind(&lab, &["env", "-u", "XDG_CONFIG_HOME", &home], line).expect_code(0);
    run().says_not(&["belongs to user"]);
    std::os::unix::fs::chown(folder.join("config.toml"), Some(65534), None).expect("root may");
    run().says(&["belongs to user 65534", "nothing in it counts for root"]);
}

/// A run on a file that no longer answers can still be stopped.
#[test]
fn a_device_that_hangs() {
    let (Some(gate), lab) = (gate(), Lab::new()) else { return };
    let mut command = lab.command("-v -d3 -W0 -b4K -o4 -Su -r -B8388608:1M");
    command.arg(gate.path());
    let running = Running::new(command, "on a gate that closes");
    running.wait_for_stderr("starting measurements");
    gate.close();
    gate.wait_parked(4);
    running.wait_for_stderr("starting cool down");
    // Its time is over, its I/Os are not: they are waited for a while, then given up or, as here, they come.
    gate.open_up();
    let ran = running.finish().expect_code(0);
    let parsed = ran.text();
    assert_eq!(parsed.results[0].as_ref().map(|r| r.time_s), Some(3.0), "{ran}");
}

const NOBODY: [&str; 6] = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"];

/// A laboratory that belongs to nobody; `None` without the right to become nobody.
fn lab_of_nobody() -> Option<Lab> {
    has(&[Need::OtherUsers]).then_some(())?;
    let lab = Lab::new();
    lab.copy_of_program();
    lab.give_to(65534);
    Some(lab)
}

fn run_behind(lab: &Lab, wrapper: &[&str], line: &str) -> Ran {
    Running::new(lab.command_behind(wrapper, line), line).finish()
}

#[test]
fn without_rights() {
    let Some(lab) = lab_of_nobody() else { return };
    let ran = run_behind(&lab, &NOBODY, "-v -c1M -d1 -W0 -b4K -r -o32 -w30 -Sh -L -D f").expect_code(0);
    assert!(ran.text().results[0].as_ref().is_some_and(|r| r.tables[0].total.ios > 0), "{ran}");
    let engine = ran.stderr.lines().find_map(|l| l.strip_prefix("note: engine: "));
    let engine = engine.unwrap_or_else(|| panic!("{ran}"));
    // A step down is told with its reason.
    assert!(engine == "io_uring" || ran.stderr.contains("io_uring not used: "), "{ran}");
    run_behind(&lab, &NOBODY, "-c1M -d1 -W0 -b4K -I1 -Sm -w50 f").expect_code(0);
    run_behind(&lab, &NOBODY, "-c1M -d1 -W0 -b4K -t4 -a0 f").expect_code(0);

    // Files of root.
    fs::write(lab.path("closed"), [0; 65536]).expect("a file");
    fs::set_permissions(lab.path("closed"), fs::Permissions::from_mode(0o600)).expect("permissions");
    let ran = run_behind(&lab, &NOBODY, "-d1 -W0 -b4K closed");
    ran.not_opened(&["Error opening file: closed [13]", "Permission denied"]);
    fs::write(lab.path("open"), [0; 65536]).expect("a file");
    fs::set_permissions(lab.path("open"), fs::Permissions::from_mode(0o644)).expect("permissions");
    run_behind(&lab, &NOBODY, "-d1 -W0 -b4K open").expect_code(0);
    let ran = run_behind(&lab, &NOBODY, "-d1 -W0 -b4K -w10 open");
    assert!(matches!(ran.status.code(), Some(1 | 4)) && ran.stdout.is_empty(), "{ran}");
    assert_eq!(fs::read(lab.path("open")).expect("readable"), [0; 65536], "untouched");
    // A directory that is not theirs.
    fs::create_dir(lab.path("roots")).expect("a directory");
    let ran = run_behind(&lab, &NOBODY, "-c1M -d1 -W0 roots/f");
    ran.refused(3, &["Could not create the file (error code: 13)", "Permission denied"]);
}

/// Somebody else's home says nothing about a file that cannot be seen. One that is there is told.
#[test]
fn with_the_home_of_another_user() {
    let Some(lab) = lab_of_nobody() else { return };
    let folder = lab.path("home/.config/truespd");
    fs::create_dir_all(&folder).expect("a folder");
    let home = format!("HOME={}", lab.path("home").display());
    let wrapper = [&NOBODY[..], &["env", "-u", "XDG_CONFIG_HOME", &home]].concat();
    let run = || run_behind(&lab, &wrapper, "-c1M -b4K -d1 -W0 --engine sim:latency=1ms f").expect_code(0);
    const TOLD: &str = "is not for this user to read, so nothing in it counts: Permission denied";
    for (has_file, mode, is_told) in
        [(false, 0o700, false), (false, 0o755, false), (true, 0o755, true), (true, 0o700, false)]
    {
        let file = folder.join("config.toml");
        if has_file {
            fs::write(&file, "").expect("a file");
            fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("permissions");
        }
        fs::set_permissions(lab.path("home"), fs::Permissions::from_mode(mode)).expect("permissions");
        let ran = run();
        assert_eq!(ran.stderr.contains(TOLD), is_told, "file: {has_file}, mode: {mode:o}\n{ran}");
        assert_eq!(ran.stderr.contains("configuration"), is_told, "{ran}");
    }
}

/// The kernel counts registered memory against a limit; without it the run goes on and says so.
#[test]
fn without_locked_memory() {
    if !has_engine("io_uring") {
        return;
    }
    let Some(lab) = lab_of_nobody() else { return };
    if !has(&[Need::Tool("prlimit")]) {
        return;
    }
    for limit in ["--memlock=0:0", "--memlock=65536:65536"] {
        let wrapper = [&NOBODY[..], &["prlimit", limit]].concat();
        let line = "-c4M -d1 -W0 -b64K -r -o64 -Su -L f";
        let ran = run_behind(&lab, &wrapper, line).expect_code(0);
        assert!(ran.text().results[0].as_ref().is_some_and(|r| r.tables[0].total.ios > 0), "{ran}");
        assert!(
            ran.stderr.contains("locked memory") || ran.stderr.contains("locked-memory"),
            "the reason is told\n{ran}"
        );
    }
}

#[test]
fn without_enough_open_files() {
    let Some(lab) = lab_of_nobody() else { return };
    if !has(&[Need::Tool("prlimit"), Need::OpenFiles]) {
        return;
    }
    let wrapper = [&NOBODY[..], &["prlimit", "--nofile=80:80"]].concat();
    let ran = run_behind(&lab, &wrapper, "-c1M -d1 -W0 -r -t64 f");
    ran.refused(3, &["open files", "ulimit -n"]);
    assert!(!lab.path("f").exists(), "nothing is touched");
    // The soft limit is raised as far as the hard one allows.
    let wrapper = [&NOBODY[..], &["prlimit", "--nofile=80:4096"]].concat();
    run_behind(&lab, &wrapper, "-c1M -d1 -W0 -b4K -t64 f").expect_code(0);
}

/// A limit may leave threads for a part of the program: whatever is missing is said in words.
#[test]
fn without_enough_threads() {
    let Some(lab) = lab_of_nobody() else { return };
    if !has(&[Need::Tool("prlimit")]) {
        return;
    }
    for limit in 1..=12 {
        let limit = format!("--nproc={limit}:{limit}");
        let wrapper = [&NOBODY[..], &["prlimit", &limit]].concat();
        let ran = run_behind(&lab, &wrapper, "-c1M -d1 -W0 -b4K -t2 f").says_not(&["panicked", "os error"]);
        match ran.status.code() {
            Some(0) => {}
            // Nothing was touched when the first thread of all is missing.
            code => {
                assert!(matches!(code, Some(1 | 3)), "{ran}");
                ran.says(&["ERROR: ", "(ulimit -u"]);
            }
        }
    }
}

/// The page cache takes what the device has no room for, and only a flush tells of it.
#[test]
fn buffered_writes_that_are_lost_fail_the_run() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let lab = Lab::new();
    let room = devices::Mount::new(&["-t", "tmpfs", "-o", "size=8M", "none"]);
    let image = room.point.join("image");
    fs::File::create(&image).and_then(|file| file.set_len(64 << 20)).expect("a sparse image");
    let device = devices::Loop::over(&image);
    let line =
        format!("-b1M -s -w100 -d1 -W0 --json out.json --overwrite {0} {0}", devices::text(&device.node));
    let ran =
        lab.run(&line).expect_code(1).says(&["never reached the storage", "a thin volume, a sparse image"]);
    assert!(ran.stdout.contains("Total IO"), "the figures are shown: {ran}");
    let stored: serde_json::Value = serde_json::from_slice(&lab.read("out.json")).expect("JSON");
    assert!(
        stored["result"]["failures"][0].to_string().contains("never reached"),
        "{}",
        stored["result"]["failures"]
    );
    drop(device);
    // Memory maps: the page that has no room is named as that.
    let file = room.point.join("mapped");
    fs::remove_file(&image).and_then(|()| fs::File::create(&file)?.set_len(64 << 20)).expect("a sparse file");
    let file = devices::text(&file).to_string();
    let mut command = lab.command("-b64K -s -w100 -Sm -d5 -W0 --overwrite");
    command.args([&file, &file]);
    let ran = Running::new(command, "-Sm").finish().expect_code(1);
    assert!(ran.stderr.contains("No space left on device"), "{ran}");
}

/// A device that this user may not open is told with its users, which the kernel lists.
#[test]
fn a_busy_device_that_cannot_be_read_is_told_as_busy() {
    if !has(&[Need::LoopDevices, Need::OtherUsers]) {
        return;
    }
    let lab = Lab::new();
    let device = devices::Loop::new(16 << 20);
    let node = devices::text(&device.node);
    devices::run("mkfs.ext4", &["-q", node]);
    let mount = devices::Mount::new(&[node]);
    let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    lab.give_to(65534);
    let line = format!("-b4K -w100 -d1 -W0 {node}");
    let ran = Running::new(lab.command_behind(&nobody, &line), &line).finish();
    let told = in_one_line(&ran.stderr);
    assert!(ran.status.code() == Some(4) && told.contains("it is mounted at"), "{ran}");
    drop(mount);
}

/// Nothing of a write test stays that could not begin: no result, no file, no folder.
#[test]
fn a_write_test_that_cannot_begin_leaves_nothing() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let lab = Lab::new();
    let results = "--json out.json --xml out.xml --text out.txt";
    let assert_nothing = |ran: Ran| {
        assert!(ran.stdout.is_empty() && ran.stderr.contains("ERROR: "), "{ran}");
        assert_eq!(lab.names(), [""; 0], "{ran}");
    };
    let device = devices::Loop::new(16 << 20);
    let node = devices::text(&device.node);
    devices::run("blockdev", &["--setro", node]);
    assert_nothing(
        lab.run(&format!("-b4K -w100 -d1 -W0 {results} --overwrite {node} {node}")).expect_code(1),
    );
    devices::run("blockdev", &["--setrw", node]);
    // No direct I/O there, and no room for the map of a verified test.
    let memory = devices::Mount::new(&["-t", "ramfs", "none"]);
    let target = memory.point.join("new/deep/file");
    let mut command = lab.command(&format!("-c1M -b4K -w100 -d1 -W0 -Su {results}"));
    command.arg(&target);
    assert_nothing(Running::new(command, "-Su").finish().expect_code(1));
    let small = devices::Mount::new(&["-t", "tmpfs", "-o", "size=64k", "none"]);
    let mut command = lab.command(&format!("-c1M -b512 -w100 -d1 -W0 --verify {results} new/file"));
    command.env("XDG_STATE_HOME", &small.point);
    assert_nothing(Running::new(command, "--verify").finish().expect_code(1));
    assert_eq!(fs::read_dir(&memory.point).expect("a folder").count(), 0, "the folders are gone");
}
