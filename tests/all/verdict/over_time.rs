//! What happens while a run measures, made for real: the verdict names it, and nothing else as its cause.

use std::path::Path;
use std::time::Duration;

use super::real::{Judged, judged, own_loop};
use crate::support::devices::text;
use crate::support::program::{Lab, Running};
use rustix::process::Signal;
use serde_json::Value;

/// The verdict of a run, during whose measured time something is done to it.
fn judged_while(lab: &Lab, words: &str, target: &Path, act: impl FnOnce(&Running)) -> Judged {
    let document = lab.path("while.json");
    let line = format!("-v {words} --json {} {}", text(&document), text(target));
    let run = lab.start(&line);
    run.wait_for_stderr("starting measurements");
    act(&run);
    run.finish().expect_code(0);
    let whole: Value = serde_json::from_slice(&lab.read("while.json")).expect("JSON");
    Judged(whole["result"]["verdict"].clone())
}

/// Stops all threads of a run for a while.
fn stop(run: &Running, for_ms: u64) {
    run.signal(Signal::STOP);
    std::thread::sleep(Duration::from_millis(for_ms));
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
            std::thread::sleep(Duration::from_millis(after_ms));
            stop(run, 400);
        });
        let finding = verdict.fires("standstill", "suspect");
        // The machine may have stood still as well.
        assert!(figure(finding, "longest_s") >= 0.3, "{finding}");
        assert!(says(finding).contains("stood still"), "{finding}");
        let first = &verdict.0["findings"][0];
        assert_eq!(first["cause"], "processor", "{}", verdict.0);
        if let Some(late) = verdict.found("coordinated-omission") {
            assert!(!says(late).contains("earlier I/Os"), "{late}");
        }
    }
}
