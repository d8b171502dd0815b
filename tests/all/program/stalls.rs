//! A target that stops answering: what was out when the measured time ended is told.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::gate::Gate;
use crate::support::program::{Lab, Ran, Running};

/// A closed gate holds reads of this range only; the others fail or are cut short.
const WORDS: &str = "-v -b4K -r -B9M:2M -Su";

/// Starts a run on the gate, which closes when the measurement has started.
fn start_and_close(lab: &Lab, gate: &Gate, words: &str, depth: usize) -> Running {
    let path = gate.path().display();
    let running = lab.start(&format!("{WORDS} {words} --json result.json {path}"));
    running.wait_for_stderr("starting measurements");
    // Some I/Os have come back by then.
    running.wait_until("an I/O was answered", || gate.answered() > 0);
    gate.close();
    gate.wait_parked(depth);
    running
}

/// The document, and its only entry of I/Os that were out.
fn outstanding(lab: &Lab, ran: &Ran) -> (Value, Value) {
    let whole: Value = serde_json::from_slice(&lab.read("result.json")).expect("JSON");
    let measured = &whole["result"]["time_spans"][0]["measured"];
    let all = measured["evidence"]["outstanding"].as_array().unwrap_or_else(|| panic!("{ran}"));
    assert_eq!(all.len(), 1, "{ran}");
    (whole["result"]["verdict"].clone(), all[0].clone())
}

fn rules(verdict: &Value) -> Vec<&str> {
    let findings = verdict["findings"].as_array().expect("a list");
    findings.iter().map(|finding| finding["rule"].as_str().expect("a name")).collect()
}

/// The gate opens again in the cool-down.
#[test]
fn ios_that_come_late_are_told() {
    for (engine, depth, words) in [
        ("io_uring", 4, "-L"),
        ("threads", 4, ""),
        ("libaio", 4, "-L"),
        ("psync", 1, "-L"),
        ("io_uring", 4, ""),
    ] {
        let Some(gate) = Gate::direct() else { return };
        let lab = Lab::new();
        let line = format!("--engine={engine} -o{depth} {words} -W0 -d5 -C600");
        let since = Instant::now();
        let running = start_and_close(&lab, &gate, &line, depth);
        // A busy machine may be late.
        let least_ns = Duration::from_millis(4500).saturating_sub(since.elapsed()).as_nanos();
        running.wait_for_stderr("starting cool down");
        gate.open_up();
        running.wait_until("an I/O was answered", || gate.parked() == 0);
        running.signal(rustix::process::Signal::INT);
        let ran = running.finish().expect_code(0);
        let (verdict, out) = outstanding(&lab, &ran);
        assert_eq!((out["ios"].as_u64(), out["never"].as_u64()), (Some(depth as u64), Some(0)), "{ran}");
        assert_eq!(out["broken_off"], 0, "{ran}");
        assert!(out["age_ns_max"].as_u64().map(u128::from) > Some(least_ns), "{ran}");
        let ios = if depth == 1 { "1 I/O was".to_string() } else { format!("{depth} I/Os were") };
        let ran = ran.says(&["WARNING: ", &format!("{ios} still out when the measured time ended")]);
        let rules = rules(&verdict);
        assert!(rules.contains(&"stalled") && !rules.contains(&"queue-depth"), "{rules:?}\n{ran}");
    }
}

/// The end of the run breaks off what can be broken off.
#[test]
fn ios_that_the_end_breaks_off_are_told() {
    let Some(gate) = Gate::direct() else { return };
    let lab = Lab::new();
    let running = start_and_close(&lab, &gate, "--engine=psync -o1 -t2 -L -W0 -d5", 2);
    let ran = running.finish().expect_code(0);
    let (verdict, out) = outstanding(&lab, &ran);
    assert_eq!((out["ios"].as_u64(), out["broken_off"].as_u64()), (Some(2), Some(2)), "{ran}");
    assert!(rules(&verdict).contains(&"stalled"), "{ran}");
    ran.says(&["the end of the run broke 2 off"]);
}

/// The run ends although the target never answers. Its process may have to wait for the kernel, so the gate opens when
/// all of the result is there.
#[test]
fn ios_that_never_come_back_end_the_run_all_the_same() {
    for (engine, depth) in [("io_uring", 4), ("threads", 4)] {
        let Some(gate) = Gate::deaf() else { return };
        let lab = Lab::new();
        let line = format!("--engine={engine} -o{depth} -L -W0 -d5");
        let running = start_and_close(&lab, &gate, &line, depth);
        running.wait_for_stderr("verdict: ");
        gate.open_up();
        let ran = running.finish().expect_code(0);
        let (verdict, out) = outstanding(&lab, &ran);
        assert_eq!(
            (out["ios"].as_u64(), out["never"].as_u64()),
            (Some(depth as u64), Some(depth as u64)),
            "{ran}"
        );
        assert!(out["late_ns_max"].as_u64() >= Some(9_000_000_000), "{ran}");
        assert_eq!((verdict["grade"].as_str(), rules(&verdict)[0]), (Some("invalid"), "stalled"), "{ran}");
        ran.says(&["; 4 did not end within 1", "verdict: invalid: stalled: "]);
    }
}

/// A thread that waits in the kernel itself, where no signal reaches it: after a minute the program says so and ends.
#[test]
fn a_thread_that_nothing_can_end_does_not_hold_the_program() {
    let Some(gate) = Gate::deaf() else { return };
    let lab = Lab::new();
    let running = start_and_close(&lab, &gate, "--engine=psync -o1 -W0 -d5", 1);
    running.wait_for_stderr("1 thread does not end");
    // The kernel keeps the process for as long as the server has the read.
    gate.open_up();
    let ran = running.finish().expect_code(1);
    ran.says(&["ERROR: '", "1 thread does not end: an I/O has been out", "does not answer"]);
}
