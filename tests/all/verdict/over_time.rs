//! What happens while a run measures, made for real: the verdict names it, and nothing else as its cause.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::real::{Judged, Throttle, file_system, filled, judged, own_loop, started};
use crate::support::devices::{run, text};
use crate::support::needs::{Need, has, not_run};
use crate::support::program::{Lab, Running};
use rustix::process::{Pid, Signal};
use rustix::thread::{CpuSet, sched_setaffinity};
use serde_json::Value;
use truespd_platform::sys::thread::allowed_processors;

/// The verdict of a run, during whose measured time something is done to it.
fn judged_while(lab: &Lab, words: &str, target: &Path, act: impl FnOnce(&Running)) -> Judged {
    let document = lab.path("while.json");
    let run = started(lab, &format!("-v {words}"), &["--json", text(&document)], target);
    ended_while(lab, run, act)
}

/// The same of a run in a group with a limit.
fn judged_in(group: &Throttle, lab: &Lab, words: &str, target: &Path, act: impl FnOnce(&Running)) -> Judged {
    let line = format!("-v {words} --json {} {}", text(&lab.path("while.json")), text(target));
    let line = group.line(&line);
    let mut command = Command::new("sh");
    command.args(["-c", &line]).stdout(Stdio::piped()).stderr(Stdio::piped());
    ended_while(lab, Running::new(command, words), act)
}

fn ended_while(lab: &Lab, run: Running, act: impl FnOnce(&Running)) -> Judged {
    run.wait_for_stderr("starting measurements");
    act(&run);
    run.finish().expect_code(0);
    let whole: Value = serde_json::from_slice(&lab.read("while.json")).expect("JSON");
    Judged(whole["result"]["verdict"].clone())
}

fn wait(for_ms: u64) {
    std::thread::sleep(Duration::from_millis(for_ms));
}

/// Stops all threads of a run for a while.
fn stop(run: &Running, for_ms: u64) {
    run.signal(Signal::STOP);
    wait(for_ms);
    run.signal(Signal::CONT);
}

fn says(finding: &Value) -> &str {
    finding["says"].as_str().expect("words")
}

fn figure(finding: &Value, name: &str) -> f64 {
    let figures = finding["figures"].as_array().expect("a list");
    let figure = figures.iter().find(|figure| figure["name"] == name);
    figure.and_then(|figure| figure["value"].as_f64()).unwrap_or_else(|| panic!("no {name}: {finding}"))
}

/// 0.4 s in which nothing of the program ran are not the storage's.
#[test]
fn a_program_that_is_stopped_while_it_measures() {
    let Some((_disk, device)) = own_loop(64) else { return };
    let lab = Lab::new();
    judged(&lab, "-w100 -s -Zr -b1M -o2 -Su -W0 -d1", &device.node);
    for (words, after_ms) in [("-r -b4k -o4 -Su -W0 -d4", 1500), ("-r -b4k -o4 -Su -L -g500i -W1 -d4", 0)] {
        let verdict = judged_while(&lab, words, &device.node, |run| {
            wait(after_ms);
            stop(run, 400);
        });
        let finding = verdict.fires("standstill", "suspect");
        // The machine may have stood still as well.
        assert!(figure(finding, "longest_s") >= 0.3, "{finding}");
        assert!(says(finding).contains("stood still"), "{finding}");
        assert_eq!(finding["cause"], "processor", "{}", verdict.0);
        if let Some(late) = verdict.found("coordinated-omission") {
            assert!(!says(late).contains("earlier I/Os"), "{late}");
        }
    }
}

/// The limit is the cause, not a full cache, nor credits.
#[test]
fn a_limit_that_is_set_while_it_measures() {
    let Some((_disk, device)) = own_loop(64) else { return };
    let lab = Lab::new();
    judged(&lab, "-w100 -s -Zr -b1M -o2 -Su -W0 -d1", &device.node);
    let Some(group) = Throttle::reads_per_s(&device.node, 0) else { return };
    let verdict = judged_in(&group, &lab, "-r -b4k -o8 -g2000i -Su -W0 -d10", &device.node, |_| {
        wait(4000);
        group.set(300);
    });
    // A thread that waits for its processor makes the rate before the limit uneven; which rule tells it then is open.
    let rules = ["step-down", "uneven", "not-steady"];
    let told = rules.iter().filter_map(|rule| verdict.found(rule)).collect::<Vec<_>>();
    assert!(!told.is_empty(), "{}", verdict.0);
    if verdict.found("generator-bound").is_some() {
        return not_run(Need::QuietMachine);
    }
    for finding in told {
        assert_eq!(finding["grade"], "suspect", "{finding}");
        assert!(says(finding).contains("At that time a limit of 300 reads/s"), "{finding}");
        assert!(!says(finding).contains("credits") && !says(finding).contains("cache"), "{finding}");
    }
}

/// A file system that lets no write through; thawed when dropped, as nothing could unmount it otherwise.
struct Frozen<'a>(&'a Path);

impl<'a> Frozen<'a> {
    fn new(point: &'a Path) -> Self {
        run("fsfreeze", &["--freeze", text(point)]);
        Frozen(point)
    }
}

impl Drop for Frozen<'_> {
    fn drop(&mut self) {
        run("fsfreeze", &["--unfreeze", text(self.0)]);
    }
}

/// Nothing that the run sees explains it, and nothing is made up.
#[test]
fn a_file_system_that_stalls() {
    let Some((_disk, mount)) = file_system(64) else { return };
    if !has(&[Need::Tool("fsfreeze")]) {
        return;
    }
    let (lab, file) = (Lab::new(), mount.point.join("data"));
    filled(&lab, &file, 16);
    let verdict = judged_while(&lab, "-w100 -Zr -r -b4k -o4 -Su -W0 -d15", &file, |_| {
        for _ in 0..3 {
            wait(900);
            let frozen = Frozen::new(&mount.point);
            wait(600);
            drop(frozen);
        }
    });
    let finding = verdict.fires("pauses", "suspect");
    assert!(figure(finding, "pauses") >= 3.0 && figure(finding, "longest_s") >= 0.5, "{finding}");
    assert!(says(finding).contains("At that time the file system of the target was frozen"), "{finding}");
}

/// A program that only computes, on one processor; ended when dropped.
struct Burner(Child);

impl Burner {
    fn on(processor: u32) -> Self {
        let mut command = Command::new("taskset");
        command.args([
            "-c",
            &processor.to_string(),
            "sh",
            "-c",
            "while kill -0 $PPID 2>/dev/null; do :; done",
        ]);
        Burner(command.spawn().expect("taskset starts"))
    }
}

impl Drop for Burner {
    fn drop(&mut self) {
        self.0.kill().expect("it runs until it is killed");
        self.0.wait().expect("a child");
    }
}

/// The threads had no processor: that is why, and nothing of the disk. When the rate falls for it is told by
/// `ci/traps`, on a machine that does nothing else.
#[test]
fn a_processor_that_others_take() {
    if !has(&[Need::Tool("taskset")]) {
        return;
    }
    let lab = Lab::new();
    let processor = allowed_processors().expect("known")[0];
    lab.run("-c4M -d1 -W0 -b4k t.dat").expect_code(0);
    let words = format!("-a{processor} -r -b4k -o1 -W0 -d10");
    let verdict = judged_while(&lab, &words, Path::new("t.dat"), |_| {
        wait(5000);
        let burners = [(); 6].map(|()| Burner::on(processor));
        wait(5500);
        drop(burners);
    });
    verdict.fires("generator-bound", "suspect");
    let rules = ["step-down", "uneven", "not-steady"];
    let told = rules.iter().filter_map(|rule| verdict.found(rule)).map(says).collect::<Vec<_>>();
    assert!(told.iter().all(|says| !says.contains("cache was full")), "{told:?}");
}

/// Where a thread ran that may run anywhere is in the document; that of a bound one is no news.
#[test]
fn processors_of_a_thread_that_is_moved() {
    let lab = Lab::new();
    let allowed: Vec<u32> = allowed_processors().expect("known");
    let [first, .., last] = allowed[..] else { return };
    let words = "-c4M -r -b4k -o1 -W0 -d6";
    let of = |affinity: &str| {
        let run = lab.start(&format!("-v {affinity} {words} --json {} t.dat", text(&lab.path("moved.json"))));
        run.wait_for_stderr("starting measurements");
        for (processor, for_ms) in [(first, 2500), (last, 0)] {
            if affinity == "-n" {
                move_threads(&run, processor);
            }
            wait(for_ms);
        }
        run.finish().expect_code(0);
        let whole: Value = serde_json::from_slice(&lab.read("moved.json")).expect("JSON");
        whole["result"]["time_spans"][0]["measured"]["evidence"]["processors"].clone()
    };
    let seen = of("-n");
    let processors: Vec<u64> =
        serde_json::from_value(seen["threads"][0]["processors"].clone()).expect("numbers");
    let interval_s = seen["interval_ns"].as_u64().expect("a number") as f64 / 1e9;
    assert!((processors.len() as f64 * interval_s - 6.0).abs() < 0.2, "{seen}");
    // A busy machine delays the orders: a second of each place is enough.
    let least = (1.0 / interval_s) as usize;
    let stretches: Vec<&[u64]> = processors.chunk_by(|a, b| a == b).collect();
    let is_long = |stretch: &&[u64], at: u32| stretch[0] == u64::from(at) && stretch.len() >= least;
    let at_first = stretches.iter().position(|stretch| is_long(stretch, first));
    let at_last = stretches.iter().rposition(|stretch| is_long(stretch, last));
    assert!(at_first.is_some() && at_first < at_last, "{seen}");
    assert!(of("").is_null());
}

/// All threads of a run, from now on.
fn move_threads(run: &Running, to: u32) {
    let mut only = CpuSet::new();
    only.set(to as usize);
    for thread in std::fs::read_dir(format!("/proc/{}/task", run.id())).expect("it runs") {
        let number = thread.expect("an entry").file_name().to_str().and_then(|name| name.parse().ok());
        let _ = sched_setaffinity(Pid::from_raw(number.expect("a number")), &only);
    }
}
