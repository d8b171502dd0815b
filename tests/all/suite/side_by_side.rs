//! The side-by-side harness (`bench/`) with the built program: its own tests, a quick run, and what Ctrl+C leaves.
//! Speeds are not looked at.

use crate::support::needs::{Need, has};
use crate::support::runner::has_engine;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

const ROOT: &str = crate::support::ROOT;

/// A size that hardly anybody else uses at the same time, the same test of another suite included.
fn size_bytes() -> u64 {
    (17 << 20) + 4096 * u64::from(std::process::id() % 255)
}

/// The harness in a folder of its own, without tools that it would have to install.
fn harness(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new("python3");
    command.arg(Path::new(ROOT).join("bench/side-by-side"));
    command.args(["--diskspd", crate::support::program::diskspd(), "--rounds", "1"]);
    command.args(["--size", &size_bytes().to_string()]);
    command.args(["--tools", "TrueSpd*"]);
    if has_fio() {
        command.args(["--tools", "fio io_uring", "--tools", "fio null"]);
    }
    command.arg(folder).args(words).stdin(Stdio::null());
    command
}

/// Its jobs use io_uring.
fn has_fio() -> bool {
    has(&[Need::Tool("fio")]) && has_engine("io_uring")
}

fn succeeded(output: Output) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{out}\n{err}", output.status);
    out.into_owned()
}

/// What it prints. A busy machine may leave a round of seconds without an I/O; then it is run again.
fn figures(mut command: Command) -> String {
    for _ in 0..10 {
        let output = command.output().expect("it starts");
        if output.status.success() || !String::from_utf8_lossy(&output.stderr).contains("did no I/O") {
            return succeeded(output);
        }
    }
    panic!("no I/O in ten runs: {command:?}")
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
}

/// Columns of a Markdown table by its rows' first cells.
fn cells<'a>(markdown: &'a str, heading: &str, tool: &str) -> Vec<&'a str> {
    let (_, section) = markdown.split_once(heading).unwrap_or_else(|| panic!("no {heading} in\n{markdown}"));
    let start = format!("| {tool} |");
    let row = section.lines().find(|line| line.starts_with(&start));
    row.unwrap_or_else(|| panic!("no row {tool} in\n{section}")).split('|').map(str::trim).collect()
}

#[test]
fn its_own_tests_pass() {
    if !has(&[Need::Tool("python3")]) {
        return;
    }
    let tests = ["-B", "-m", "unittest", "discover", "bench"];
    let output = Command::new("python3").args(tests).current_dir(ROOT).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("\nOK"), "{said}");
}

#[test]
fn a_quick_run_prints_figures_and_leaves_nothing() {
    if !has(&[Need::Tool("python3")]) {
        return;
    }
    let lab = tempfile::tempdir().expect("a folder");
    let (folder, saved) = (lab.path().join("files"), lab.path().join("runs.json"));
    fs::create_dir(&folder).expect("a folder");
    let cases = ["cached-4k-rand-read-d32", "null-*", "fill", "rate-100"];
    let tools: &[&str] = if has_fio() { &["TrueSpd -L", "fio io_uring"] } else { &["TrueSpd -L"] };
    let case = "### cached-4k-rand-read-d32";
    let mut table = String::new();
    // The harness has no processor time where its second look came after the end, as it does on a busy machine.
    for seconds in ["3", "12", "48"] {
        let mut command = harness(&folder, &cases);
        command.args(["--seconds", seconds, "--warmup", "0", "--save"]).arg(&saved);
        table = figures(command);
        if tools.iter().all(|tool| cells(&table, case, tool)[5] != "-") {
            break;
        }
    }
    for tool in tools {
        let row = cells(&table, case, tool);
        let number = |column: usize| row[column].replace(',', "").parse::<f64>().unwrap_or(f64::NAN);
        // IOPS and processor time; the two are bound to each other by the clock on the wall.
        let (iops, cpu_us) = (number(2), number(5));
        let processors = std::thread::available_parallelism().map_or(1, usize::from) as f64;
        assert!(iops > 0.0 && cpu_us > 0.0 && iops * cpu_us / 1e6 < processors * 1.3, "{tool}: {row:?}");
    }
    assert!(cells(&table, "### fill", "TrueSpd -L").len() > 5, "{table}");
    assert!(table.contains("### Targets") && table.contains("| rate-100 |"), "{table}");
    assert_eq!(names_in(&folder), [""; 0]);

    let saved: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&saved).expect("it was saved")).expect("JSON");
    let runs = saved["runs"].as_array().expect("runs");
    for case in ["cached-4k-rand-read-d32", "null-4k-rand-d32", "fill", "rate-100"] {
        assert!(runs.iter().any(|run| run["case"] == case && run["tool"] == "TrueSpd -L"), "{case}: {saved}");
    }
    assert_eq!(names_in(lab.path()).len(), 2, "only what was asked for: {:?}", names_in(lab.path()));
}

/// Two rounds bound to a core each, kept, and the same once more.
#[test]
fn a_second_run_tells_what_changed_since_the_first() {
    if !has(&[Need::Tool("python3")]) {
        return;
    }
    let lab = tempfile::tempdir().expect("a folder");
    let (folder, kept, saved) =
        (lab.path().join("files"), lab.path().join("history"), lab.path().join("runs.json"));
    fs::create_dir(&folder).expect("a folder");
    let run = || {
        let mut command = harness(&folder, &["null-4k-rand-d32-one-core"]);
        command.args(["--rounds", "2", "--seconds", "1", "--warmup", "0", "--save"]).arg(&saved);
        command.arg("--history-folder").arg(&kept);
        figures(command)
    };
    let first = run();
    assert!(first.contains("There are no earlier results of such a machine."), "{first}");
    let ratio = cells(&first, "### null-4k-rand-d32-one-core", "TrueSpd")[3];
    let words = ["ahead", "level", "behind"];
    assert!(ratio.contains('[') && words.iter().any(|word| ratio.ends_with(word)), "{ratio}");

    let one = names_in(&kept);
    let document: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(kept.join(&one[0])).expect("it was kept")).expect("JSON");
    let case = &document["cases"]["null-4k-rand-d32-one-core"];
    assert_eq!(case["TrueSpd -L"]["rounds"]["IOPS"].as_object().map(|rounds| rounds.len()), Some(2));
    assert!(case["TrueSpd"]["TrueSpd / it"]["IOPS"]["low"].is_number(), "{case}");
    let saved: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&saved).expect("it was saved")).expect("JSON");
    assert!(saved["runs"].as_array().expect("runs").iter().all(|run| run["core"].is_number()), "{saved}");

    // Documents of one second have one name.
    std::thread::sleep(Duration::from_secs(1));
    let second = run();
    assert!(second.contains("### Since 20") && second.contains("figures are the same"), "{second}");
    assert_eq!((names_in(&kept).len(), names_in(&folder).len()), (2, 0));
}

#[test]
fn a_refused_line_touches_nothing() {
    if !has(&[Need::Tool("python3")]) {
        return;
    }
    let lab = tempfile::tempdir().expect("a folder");
    for words in [
        &["no-such-case"][..],
        &["--seconds", "0"],
        &["--size", "much"],
        &["--save", "/nowhere/at/all"],
        &["--core", "99999"],
        &["--half-width", "0"],
    ] {
        let output = harness(lab.path(), words).output().expect("it starts");
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(output.stdout.is_empty(), "{words:?}");
        assert_eq!(names_in(lab.path()), [""; 0], "{words:?}");
    }
}

/// A running harness, its children included, is gone when the test ends.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended.
        let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
        let _ = self.0.wait();
    }
}

/// Stops a run as soon as `tool` measures `case`; returns the target it measured.
fn stopped_in(case: &str, tool: &str, seconds: &str, folder: &Path) -> String {
    // fio's jobs are processes of their own.
    let processes = if tool == "fio" { 2 } else { 1 };
    let mut command = harness(folder, &[case]);
    command.args(["--seconds", seconds, "--warmup", "0"]).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut running = Running(command.spawn().expect("it starts"));
    let mut lines = BufReader::new(running.0.stderr.take().expect("piped")).lines().map_while(Result::ok);
    let line = lines.find(|line| line.starts_with(case)).expect("it says what it measures");
    let target = line.rsplit(' ').next().expect("the target").to_string();
    let limit = Instant::now() + crate::support::HANG;
    let is_tool = |words: &String| words.split(' ').next().is_some_and(|word| word.ends_with(tool));
    while users_of(&target).iter().filter(|words| is_tool(words)).count() < processes {
        assert!(Instant::now() < limit, "{tool} did not start on {target}");
        std::thread::sleep(Duration::from_millis(20));
    }
    kill_process(Pid::from_child(&running.0), Signal::INT).expect("it still runs");
    let status = running.0.wait().expect("it ends");
    assert_eq!(status.code(), Some(130), "{:?}", lines.collect::<Vec<_>>());
    target
}

/// Processes that have the path among their words.
fn users_of(path: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("proc is there").map_while(Result::ok) {
        let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&words).replace('\0', " ");
        if words.contains(path) {
            found.push(words);
        }
    }
    found
}

#[test]
fn ctrl_c_leaves_no_file_and_no_process() {
    if !has(&[Need::Tool("python3")]) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let target = stopped_in("cached-4k-rand-read-d1", "diskspd", "60", folder.path());
    assert_eq!(names_in(folder.path()), [""; 0]);
    assert_eq!(users_of(&target), [""; 0]);
}

/// Its jobs are processes with sessions of their own.
#[test]
fn ctrl_c_ends_the_jobs_of_fio() {
    if !has(&[Need::Tool("python3")]) || !has_fio() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    // Two runs of TrueSpd come first.
    let target = stopped_in("cached-4k-rand-read-d1", "fio", "3", folder.path());
    assert_eq!(users_of(&target), [""; 0]);
    assert_eq!(names_in(folder.path()), [""; 0]);
}

#[test]
fn ctrl_c_leaves_no_device_and_no_mount() {
    if !has(&[Need::Tool("python3"), Need::Zram]) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let device = stopped_in("zram-4k-rand-read-d1", "diskspd", "60", folder.path());
    assert!(device.starts_with("/dev/zram") && users_of(&device).is_empty(), "{device}");
    // Its number may have been given to another test meanwhile, of another size.
    let size = fs::read_to_string(device.replace("/dev/", "/sys/block/") + "/disksize").unwrap_or_default();
    assert_ne!(size.trim(), size_bytes().to_string(), "{device} is still there");

    let target = stopped_in("tmpfs-4k-rand-read-d32", "diskspd", "60", folder.path());
    let mounts = fs::read_to_string("/proc/mounts").expect("readable");
    let mount = Path::new(&target).parent().expect("a folder").to_str().expect("text");
    assert!(!mounts.contains(mount), "{mount} is still mounted");
    assert_eq!(names_in(folder.path()), [""; 0]);
}
