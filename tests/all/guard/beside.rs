//! Two tests of one target at a time know of each other, and `--exclusive` keeps the second one away.

use std::path::Path;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::devices::{Loop, text};
use crate::support::needs::{Need, has};
use crate::support::program::{Lab, Ran, Running};
use crate::support::words::in_one_line;

const MIB: u64 = 1 << 20;

const GENTLE: &str = "-W0 -b4K -o1 -g64";

/// A test that goes on until it is ended.
fn start(lab: &Lab, words: &str) -> Running {
    let run = lab.start(&format!("-v -P1 {GENTLE} -d600 {words}"));
    run.wait_for_ios();
    run
}

fn end(run: Running) -> Ran {
    run.signal(Signal::INT);
    run.finish().expect_code(0)
}

/// Two tests at a time, and their documents. The first one ends while the second one goes on.
fn pair(lab: &Lab, target: &Path, [first, second]: [&str; 2]) -> [(Ran, Value); 2] {
    let line =
        |name: &str, words: &str| format!("{words} --json {name}.json --overwrite {0} {0}", text(target));
    let line = |name: &str, words: &str| match words {
        "-w0" => format!("{words} --json {name}.json {}", text(target)),
        _ => line(name, words),
    };
    let earlier = start(lab, &line("first", first));
    let later = start(lab, &line("second", second));
    if second != "-w0" {
        // At once, not only at its end.
        earlier.wait_for_stderr("another test writes it");
    }
    let (earlier, later) = (end(earlier), end(later));
    let document = |name: &str| serde_json::from_slice(&lab.read(&format!("{name}.json"))).expect("JSON");
    [(earlier, document("first")), (later, document("second"))]
}

fn finding(document: &Value) -> Option<&Value> {
    let findings = document["result"]["verdict"]["findings"].as_array().expect("findings");
    findings.iter().find(|finding| finding["rule"] == "other-test")
}

#[test]
fn two_tests_of_one_file_name_each_other() {
    let lab = Lab::new();
    lab.run(&format!("{GENTLE} -d1 -c1M f")).expect_code(0);
    let file = lab.path("f");
    for (words, grades, does) in [
        (["-w100", "-w100"], ["suspect", "suspect"], ["writes", "writes"]),
        (["-w100", "-w0"], ["remark", "suspect"], ["reads", "writes"]),
    ] {
        let pair = pair(&lab, &file, words);
        for (((ran, document), grade), does) in pair.iter().zip(grades).zip(does) {
            let told = in_one_line(&ran.stderr);
            let says = format!("another test {does} it at the same time: process ");
            assert!(told.contains(&says) && told.contains("-W0 -b4K -o1 -g64 -d600"), "no '{says}' in {ran}");
            let found = finding(document).unwrap_or_else(|| panic!("no finding: {ran}"));
            assert_eq!(found["grade"], grade, "{found}");
            let runs =
                &document["result"]["time_spans"][0]["measured"]["evidence"]["targets"][0]["other_runs"];
            assert_eq!(runs.as_array().map(Vec::len), Some(1), "{document}");
            assert_eq!(runs[0]["writes"], does == "writes", "{runs}");
        }
        let first =
            &pair[1].1["result"]["time_spans"][0]["measured"]["evidence"]["targets"][0]["other_runs"][0];
        assert!(first["command_line"].as_str().is_some_and(|line| line.contains("first.json")), "{first}");
    }
    let alone = lab.run(&format!("{GENTLE} -d1 -w100 --json alone.json f")).expect_code(0);
    assert!(!alone.stderr.contains("another test"), "{alone}");
}

#[test]
fn a_run_that_wants_a_target_for_itself_gets_it_or_is_refused() {
    let lab = Lab::new();
    lab.run(&format!("{GENTLE} -d1 -c1M f")).expect_code(0);
    let refused = |line: &str, says: &str| {
        let ran = lab.run(line);
        assert_eq!((ran.status.code(), ran.stdout.as_str()), (Some(4), ""), "{ran}");
        assert!(in_one_line(&ran.stderr).contains(says), "no '{says}' in {ran}");
    };
    for first in ["-w100", "-w0"] {
        let plain = start(&lab, &format!("{first} f"));
        for words in ["-w0", "-w100", "-w100 -c1M", "-c1M --recreate"] {
            refused(
                &format!("{GENTLE} -d1 {words} --exclusive f"),
                "is being tested by another run of TrueSpd: process",
            );
        }
        end(plain);
        let alone = start(&lab, &format!("{first} --exclusive f"));
        for words in ["-w0", "-w100"] {
            refused(&format!("{GENTLE} -d1 {words} f"), "that run has it for itself (--exclusive)");
        }
        end(alone);
    }
    lab.run(&format!("{GENTLE} -d1 -w100 --exclusive f f")).expect_code(0);
}

#[test]
fn two_tests_of_one_device_name_each_other() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(8 * MIB);
    for (ran, document) in pair(&lab, &device.node, ["-w100", "-w100"]) {
        assert!(
            in_one_line(&ran.stderr).contains("another test writes it at the same time: process "),
            "{ran}"
        );
        assert_eq!(finding(&document).map(|found| &found["grade"]), Some(&Value::from("suspect")), "{ran}");
    }
}

#[test]
fn a_run_of_another_user_is_told_without_a_name() {
    if !has(&[Need::LoopDevices, Need::Tool("setpriv")]) {
        return;
    }
    let lab = Lab::new();
    lab.run(&format!("{GENTLE} -d1 -c1M f")).expect_code(0);
    lab.give_to(65534);
    let root = start(&lab, "-w100 --overwrite f f");
    let other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let line = format!("{GENTLE} -d1 f");
    let ran = Running::new(lab.command_behind(&other, &line), &line).finish().expect_code(0);
    assert!(
        in_one_line(&ran.stderr)
            .contains("writes it at the same time: a process that is not visible to this user"),
        "{ran}"
    );
    let alone = line.replace(" f", " --exclusive f");
    Running::new(lab.command_behind(&other, &alone), &alone).finish().refused(
        4,
        &["is being tested by another run of TrueSpd: a process that is not visible to this user"],
    );
    end(root);
}
