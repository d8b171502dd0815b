//! What the system sees of a run: where its threads may run, and how many I/Os are under way.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use crate::support::HANG;
use crate::support::gate::Gate;
use crate::support::needs::{Need, has};
use crate::support::program::{Lab, Running};
use rustix::process::Signal;

/// Processors of each worker, by its name.
fn processors_of_workers(running: &Running) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for task in fs::read_dir(format!("/proc/{}/task", running.id())).expect("it runs").flatten() {
        let read = |name: &str| fs::read_to_string(task.path().join(name)).unwrap_or_default();
        let name = read("comm").trim().to_string();
        if name.strip_prefix("diskspd-").is_some_and(|number| number.parse::<u32>().is_ok()) {
            let status = read("status");
            let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
            found.insert(name, list.unwrap_or("").trim().to_string());
        }
    }
    found
}

fn cpus() -> Vec<usize> {
    let mine = fs::read_to_string("/proc/self/status").expect("/proc is there");
    let list = mine.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("the list");
    let mut all = Vec::new();
    for part in list.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| text.parse::<usize>().expect("a number");
        all.extend(number(first)..=number(last));
    }
    all
}

#[test]
fn threads_run_where_they_should() {
    let lab = Lab::new();
    lab.run("-c1M -b4K -d1 -W0 -g1 f").expect_code(0);
    let cpus = cpus();
    let (first, last) = (cpus[0], cpus[cpus.len() - 1]);
    let own = fs::read_to_string("/proc/self/status").expect("/proc is there");
    let all = own.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("the list").trim();
    let round_robin: Vec<String> = (0..3).map(|i| cpus[i % cpus.len()].to_string()).collect();
    let cases: Vec<(String, Vec<String>)> = vec![
        (String::new(), round_robin.clone()),
        ("-a".into(), round_robin.clone()),
        (format!("-a{last}"), vec![last.to_string(); 3]),
        (format!("-a{last},{first}"), vec![last.to_string(), first.to_string(), last.to_string()]),
        (format!("-a{first} -a{last},{last}"), vec![first.to_string(), last.to_string(), last.to_string()]),
        ("-n".into(), vec![all.to_string(); 3]),
    ];
    for (words, expected) in cases {
        let line = format!("-v -P1 -d600 -W0 -b4K -g10i -r -t3 {words} f");
        let running = lab.start(&line);
        running.wait_for_ios();
        let found: Vec<String> = processors_of_workers(&running).into_values().collect();
        running.signal(rustix::process::Signal::INT);
        running.finish().expect_code(0);
        assert_eq!(found, expected, "{line}");
    }
}

/// With the device holding everything back, as many I/Os have arrived as were asked for, and not one more.
#[test]
fn the_device_sees_the_depth_that_was_asked_for() {
    if !has(&[Need::Fuse]) {
        return;
    }
    let gate = Gate::direct().expect("a file of known behaviour");
    let lab = Lab::new();
    for (words, depth) in [
        ("-o1", 1),
        ("-o8", 8),
        ("-o4 -t2", 8),
        ("-o8 -L -D", 8),
        ("-o3 -F2", 6),
        ("-O5 -F2", 10),
        ("-o16 -x", 16),
        ("-o6 --engine libaio", 6),
        ("-o6 --engine threads", 6),
        ("-o6 --engine psync", 1),
    ] {
        let line = format!("-v -P1 -d600 -W0 -b4K -r -Su -B9M:2M {words}");
        let mut command = lab.command(&line);
        command.arg(gate.path());
        let running = Running::new(command, &line);
        running.wait_for_ios();
        gate.close();
        gate.wait_parked(depth);
        std::thread::sleep(Duration::from_millis(100));
        let parked = gate.parked();
        gate.open_up();
        running.signal(Signal::INT);
        running.finish().expect_code(0);
        assert_eq!(parked, depth, "{line}");
    }
}

/// A device that never answers again: the run ends all the same, with what was measured before.
#[test]
fn a_device_that_never_answers() {
    if !has(&[Need::Fuse]) {
        return;
    }
    let gate = Gate::direct().expect("a file of known behaviour");
    let lab = Lab::new();
    for words in ["-o8", "-o1", "-o4 -L -D"] {
        let line = format!("-v -d3 -W0 -b4K -r -Su -B9M:2M {words}");
        let mut command = lab.command(&line);
        command.arg(gate.path());
        let running = Running::new(command, &line);
        // On a busy machine the first I/Os come late: only when some were answered has the run something to tell.
        let answered_before = gate.answered();
        running.wait_for_stderr("starting measurements");
        running.wait_until("I/Os were answered", || gate.answered() > answered_before + 16);
        gate.close();
        running.wait_for_stderr("starting cool down");
        let since = Instant::now();
        let ran = running.finish().expect_code(0);
        assert!(since.elapsed() < HANG, "{ran}");
        gate.open_up();
        let parsed = ran.text();
        let result = parsed.results[0].as_ref().unwrap_or_else(|| panic!("measured\n{ran}"));
        assert!(result.time_s == 3.0 && result.tables[0].total.ios > 0, "{ran}");
    }
}
