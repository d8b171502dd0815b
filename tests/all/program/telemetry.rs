//! `--metrics` and `--events`: what other programs are told of a run.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use std::sync::Arc;

use serde_json::{Value, json};
use truespd_core::load::Event;
use truespd_core::load::live::{Counted, HostRate, HostRates, Phase, Progress, Rates};
use truespd_front::telemetry::{Telemetry, Wishes};

use crate::support::killed;
use crate::support::program::Lab;

fn lab_with_file() -> Lab {
    let lab = Lab::new();
    lab.run("-c1M -b4K -d1 -W0 -g1 f").expect_code(0);
    lab
}

/// The samples of a page; every one has its help and its type before it, and a name of the conventions.
#[track_caller]
fn samples(page: &str) -> BTreeMap<String, f64> {
    let (mut samples, mut family) = (BTreeMap::new(), None);
    let mut helped = String::new();
    for line in page.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, help) = help.split_once(' ').expect("a text");
            assert!(help.ends_with('.'), "{line}");
            helped = name.to_string();
            continue;
        }
        if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').expect("a type");
            assert_eq!(name, helped, "the help stands before the type");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            family = Some((name.to_string(), kind.to_string()));
            continue;
        }
        let (name, value) = line.rsplit_once(' ').expect("a value");
        let (family, kind) = family.as_ref().expect("a type before the first sample");
        let bare = name.split('{').next().expect("a name");
        let is_of = bare == family
            || (kind == "summary"
                && bare.strip_prefix(family.as_str()).is_some_and(|end| ["_sum", "_count"].contains(&end)));
        assert!(is_of && bare.starts_with("truespd_"), "{line} below {family}");
        let value = value.parse().unwrap_or_else(|_| panic!("{line}"));
        assert!(samples.insert(name.to_string(), value).is_none(), "twice: {line}");
    }
    samples
}

fn events(text: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(text).expect("text");
    assert!(text.ends_with('\n'), "whole lines");
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}")));
    let lines: Vec<Value> = lines.collect();
    let times: Vec<&str> = lines.iter().map(|line| line["time"].as_str().expect("a time")).collect();
    assert!(times.is_sorted() && times.iter().all(|time| time.ends_with('Z')), "{times:?}");
    lines
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["event"].as_str().expect("a kind")).collect()
}

/// Whoever reads the page while it is replaced finds a whole one, its counters only go up, and at the end
/// they are those of the result.
#[test]
fn a_page_for_prometheus_follows_the_run() {
    let lab = lab_with_file();
    let page = lab.path("m.prom");
    let over = AtomicBool::new(false);
    let (mut pages, mut phases) = (0, BTreeMap::new());
    std::thread::scope(|scope| {
        let line = "-b4K -r -o4 -t2 -w50 -W1 -d3 -C1 -L --engine=null --json r.json --metrics m.prom f";
        let run = lab.start(line);
        let over = &over;
        scope.spawn(move || {
            run.finish().expect_code(0);
            over.store(true, Ordering::Relaxed);
        });
        let mut last = 0.0;
        while !over.load(Ordering::Relaxed) {
            if let Ok(text) = fs::read_to_string(&page) {
                let samples = samples(&text);
                let ios = samples["truespd_ios_total"];
                assert!(ios >= last, "{ios} after {last}");
                pages += usize::from(ios > last);
                last = ios;
                for (name, value) in samples.iter().filter(|(name, _)| name.starts_with("truespd_phase{")) {
                    *phases.entry(name.clone()).or_insert(0.0) += value;
                }
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    });
    assert!(pages >= 3, "{pages} states in 5 s");
    for phase in ["warm-up", "measurement", "cool-down"] {
        let name = format!("truespd_phase{{phase=\"{phase}\"}}");
        assert!(phases.get(&name).is_some_and(|seen| *seen > 0.0), "{phases:?}");
    }
    let samples = samples(&String::from_utf8(lab.read("m.prom")).expect("text"));
    let document: Value = serde_json::from_slice(&lab.read("r.json")).expect("JSON");
    let reads: f64 = samples["truespd_result_latency_seconds_count{operation=\"read\"}"];
    let writes: f64 = samples["truespd_result_latency_seconds_count{operation=\"write\"}"];
    assert!(reads > 0.0 && writes > 0.0);
    // The measured time is 3 of 5 seconds.
    assert!(samples["truespd_ios_total"] > (reads + writes) * 1.2, "{samples:?}");
    assert_eq!(samples["truespd_transferred_bytes_total"], samples["truespd_ios_total"] * 4096.0);
    assert_eq!(samples["truespd_running"], 0.0);
    assert_eq!(samples["truespd_runs_total"], 1.0);
    let grade = document["result"]["verdict"]["grade"].as_str().expect("a grade");
    assert_eq!(samples[&format!("truespd_result_verdict{{verdict=\"{grade}\"}}")], 1.0);
    assert_eq!(samples["truespd_result_target_info{target=\"f\"}"], 1.0);
    assert_eq!(lab.names(), ["f", "m.prom", "r.json"], "nothing else is left");
}

/// Counters of a run that is over hold every I/O, also those of its last second.
#[test]
fn the_counters_hold_every_io() {
    let lab = lab_with_file();
    lab.run("-b4K -r -o4 -d1 -W0 -g40 -L --json r.json --metrics m.prom f").expect_code(0);
    let samples = samples(&String::from_utf8(lab.read("m.prom")).expect("text"));
    let measured = samples["truespd_result_latency_seconds_count{operation=\"read\"}"];
    let all = samples["truespd_ios_total"];
    // What was out at the end of the measured time comes back after it.
    assert!(measured > 0.0 && all >= measured && all <= measured + 4.0, "{all} of {measured}");
}

/// The trims of a run that only trims are counted from the warm-up to the cool-down.
#[test]
fn trims_are_told_while_the_run_goes_on() {
    let lab = lab_with_file();
    // A file system may hold up every trim of a second while its journal is written; this engine does not.
    let line = "--engine null -b64K -o1 --trim 100 -W1 -d2 -C1 --progress --json r.json --metrics m.prom \
                --events e.jsonl f";
    let ran = lab.run(line).expect_code(0);
    assert!(ran.stderr.contains(" left, ") && ran.stderr.contains(" trimmed, mean latency "), "{ran}");
    // Before the first trim ends there is nothing to show.
    assert!(!ran.stderr.replace(" 0 IOPS", "").contains("IOPS"), "{ran}");
    let document: Value = serde_json::from_slice(&lab.read("r.json")).expect("JSON");
    let measured = document["summary"][0]["trim"]["ios"].as_f64().expect("trims");
    let samples = samples(&String::from_utf8(lab.read("m.prom")).expect("text"));
    assert!(samples["truespd_trims_total"] > measured, "also those of the warm-up: {samples:?}");
    assert_eq!(samples["truespd_trimmed_bytes_total"], samples["truespd_trims_total"] * 65_536.0);
    assert_eq!((samples["truespd_ios_total"], samples["truespd_transferred_bytes_total"]), (0.0, 0.0));
    assert!(samples["truespd_result_iops{operation=\"trim\"}"] > 0.0, "{samples:?}");
    let all = events(&lab.read("e.jsonl"));
    let told: Vec<&Value> = all.iter().filter(|event| event["trim"]["iops"].is_number()).collect();
    assert!(told.iter().any(|event| event["trim"]["iops"].as_f64() > Some(0.0)), "{all:?}");
    assert!(told.iter().all(|event| event["iops"] == 0.0 && event["ios"] == 0), "{all:?}");
    let result = all.iter().find(|event| event["event"] == "result").expect("a result");
    assert_eq!(result["time_spans"][0]["trim"]["ios"].as_f64(), Some(measured));
    let usual = lab.run("-b4K -d1 -W0 -g100i --metrics u.prom --events u.jsonl f").expect_code(0);
    // The verdict may tell of other programs that trim.
    let lines = String::from_utf8(lab.read("u.prom")).expect("text");
    assert!(
        !lines.contains("trim") && !usual.stderr.contains(" trimmed, "),
        "nothing without trims: {usual}\n{lines}"
    );
    assert!(
        events(&lab.read("u.jsonl")).iter().all(|event| event.get("trim").is_none()),
        "nothing without trims"
    );
}

#[test]
fn lines_of_json_tell_everything_that_happens() {
    let lab = Lab::new();
    lab.write("e.jsonl", b"{\"time\":\"1999-01-01T00:00:00Z\",\"event\":\"mine\"}\n");
    lab.run("-c8M -b4K -r -o2 -W1 -d2 -L -w0 --events e.jsonl f").expect_code(0);
    let all = events(&lab.read("e.jsonl"));
    let kinds = kinds(&all);
    assert_eq!(
        (kinds[0], kinds[1], kinds[kinds.len() - 1]),
        ("mine", "begin", "end"),
        "an earlier log is not lost"
    );
    assert_eq!(all[1]["command_line"][1], "-c8M");
    let fills: Vec<&Value> = all.iter().filter(|event| event["event"] == "fill").collect();
    assert_eq!(fills.last().expect("the file was made")["done_bytes"], 8 << 20);
    let progress: Vec<&Value> = all.iter().filter(|event| event["event"] == "progress").collect();
    assert!((2..=6).contains(&progress.len()), "one a second: {progress:?}");
    let measuring = progress.iter().filter(|at| at["phase"] == "measurement" && at["iops"].is_number());
    assert!(measuring.count() >= 1, "{progress:?}");
    let result = &all[all.len() - 2];
    assert_eq!(result["event"], "result");
    assert!(
        result["verdict"].is_string() && result["time_spans"][0]["read"]["ios"].as_u64() > Some(0),
        "{result}"
    );
}

/// A descriptor of the caller, as shells pass it.
#[test]
fn events_go_to_a_descriptor_of_the_caller() {
    let lab = lab_with_file();
    let command = lab.command("-b4K -d1 -W0 -o1 --events /dev/fd/3 f");
    let shell = format!(
        "exec {} {} 3>&1 >/dev/null",
        command.get_program().to_str().expect("text"),
        command.get_args().map(|word| word.to_str().expect("text")).collect::<Vec<_>>().join(" ")
    );
    let mut behind = Command::new("sh");
    behind.arg("-c").arg(shell).current_dir(lab.work()).stderr(Stdio::null());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => behind.env(name, value),
            None => behind.env_remove(name),
        };
    }
    let out = behind.output().expect("sh");
    assert!(out.status.success());
    let all = events(&out.stdout);
    assert_eq!(kinds(&all).last(), Some(&"end"));
}

/// Hosts of a cluster run, in both; a run on one host has none of them.
#[test]
fn hosts_of_a_cluster_run_are_told() {
    let lab = Lab::new();
    let path = |name| Some(lab.path(name).display().to_string());
    let wishes = Wishes { metrics: path("m.prom"), events: path("e.jsonl") };
    let told = Telemetry::open(&wishes, &["truespd".into()], std::iter::empty(), None).expect("opened");
    let host = |host: &str, iops| HostRate { host: host.into(), iops };
    let hosts =
        |told| HostRates { hosts: 3, told, slowest: host("b", 1234.5), fastest: host("a \"1\"\\", 6e3) };
    for (elapsed_ns, hosts) in
        [(1_000_000_000, None), (2_000_000_000, Some(hosts(3))), (3_000_000_000, Some(hosts(2)))]
    {
        let rates = Rates { iops: 9e3, bytes_per_s: 9e6, ..Rates::default() };
        let (ios, has_hosts) = (elapsed_ns / 1_000_000, hosts.is_some());
        told.see(&Event::Progress(Progress {
            phase: if has_hosts { Phase::Measurement } else { Phase::WarmUp },
            span: 1,
            spans: 1,
            elapsed_ns,
            planned_ns: 5_000_000_000,
            left_ns: 0,
            counted: Counted { ios, bytes: ios * 4096, ..Counted::default() },
            rates: Some(rates),
            machine: None,
            hosts: hosts.map(Arc::new),
        }));
        let page = String::from_utf8(lab.read("m.prom")).expect("text");
        assert_eq!(samples(&page).keys().any(|name| name.contains("host")), has_hosts, "{page}");
    }
    let page = samples(&String::from_utf8(lab.read("m.prom")).expect("text"));
    let hosts: Vec<(&str, f64)> = page
        .iter()
        .filter(|(name, _)| name.contains("host"))
        .map(|(name, value)| (name.as_str(), *value))
        .collect();
    assert_eq!(
        hosts,
        [
            (r#"truespd_fastest_host_iops{host="a \"1\"\\"}"#, 6000.0),
            ("truespd_hosts", 3.0),
            ("truespd_hosts_told", 2.0),
            (r#"truespd_slowest_host_iops{host="b"}"#, 1234.5),
        ]
    );
    // The time span is over, and the page is of no host any more.
    told.see(&Event::Counted(Counted { ios: 4000, ..Counted::default() }));
    let page = samples(&String::from_utf8(lab.read("m.prom")).expect("text"));
    assert_eq!((page["truespd_ios_total"], page.contains_key("truespd_hosts")), (4000.0, false));
    assert!(told.end().is_empty());
    let all = events(&lab.read("e.jsonl"));
    let progress: Vec<&Value> = all.iter().filter(|event| event["event"] == "progress").collect();
    assert_eq!(progress.len(), 3);
    assert!(progress[0].get("hosts").is_none(), "{}", progress[0]);
    let wanted = json!({
        "hosts": 3, "told": 2, "slowest": {"host": "b", "iops": 1234.5}, "fastest": {"host": "a \"1\"\\", "iops": 6000.0}
    });
    assert_eq!(progress[2]["hosts"], wanted);
    // And truespd watch shows them.
    let watched = killed::run(&lab, "watch e.jsonl").expect_code(0);
    assert!(watched.stdout.contains(", 3 hosts, slowest b 1,235 IOPS, fastest a"), "{watched}");
}

/// A reader that goes away ends the telling and not the run; the exit code tells it.
#[test]
fn a_reader_that_goes_away_does_not_end_the_run() {
    let lab = lab_with_file();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        lab.path("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .expect("a pipe");
    let reader = Command::new("head").arg("-n1").arg(lab.path("pipe")).stdout(Stdio::null()).spawn();
    let ran = lab
        .run("-b4K -d3 -W0 -o1 --events pipe f")
        .expect_code(1)
        .says(&["--events pipe: the rest is missing, because writing failed during the run: Broken pipe"]);
    assert!(ran.stdout.contains("total:"), "the result is there: {}", ran.stdout);
    reader.expect("head").wait().expect("ends");
}

#[test]
fn what_must_not_be_replaced_is_refused() {
    let lab = lab_with_file();
    let before = lab.read("f");
    for (line, words) in [
        ("--metrics f f", "--metrics f: this file is also the target 'f'; give another one"),
        ("--events f f", "--events f: this file is also the target 'f'; give another one"),
        ("--json a --events a f", "--events a: this file is also the file of --json"),
        ("--metrics a --events a f", "--events a: this file is also the file of --metrics"),
        ("--metrics none/m f", "--metrics none/m: no file can be made in none"),
        ("--metrics /dev/null f", "--metrics /dev/null: this is no file that can be replaced"),
        ("--metrics . f", "--metrics .: this is a folder"),
        ("--metrics - f", "standard output is for the result"),
        ("--events= f", "the path of the file is missing"),
    ] {
        lab.run(&format!("-b4K -d1 -W0 {line}")).refused(3, &[words]);
    }
    assert_eq!((lab.read("f"), lab.names()), (before, vec!["f".to_string()]));
}

/// A series counts on from run to run, and names its steps.
#[test]
fn a_series_is_told_as_one() {
    let lab = Lab::new();
    let line = "mark --size 16M --measure 1 --interval 0 --loops 1 --test RND4K-Q4T1 --json r.json --metrics m.prom \
                --events e.jsonl";
    killed::run(&lab, line).expect_code(0);
    let all = events(&lab.read("e.jsonl"));
    let kinds = kinds(&all);
    let count = |kind: &str| kinds.iter().filter(|known| **known == kind).count();
    assert_eq!((kinds[0], kinds[kinds.len() - 1], count("begin"), count("end")), ("begin", "end", 1, 1));
    assert!(count("step") >= 2 && count("result") >= 2, "{kinds:?}");
    let steps = all.iter().filter(|event| event["event"] == "step");
    assert!(steps.clone().all(|step| step["name"].as_str().is_some_and(|name| !name.is_empty())));
    let samples = samples(&String::from_utf8(lab.read("m.prom")).expect("text"));
    assert_eq!(samples["truespd_runs_total"], count("result") as f64);
    let step = samples.iter().find(|(name, _)| name.starts_with("truespd_step{")).expect("the last step");
    assert_eq!(*step.1, count("step") as f64);
    let of_results = all.iter().filter(|event| event["event"] == "result").map(|event| {
        let span = &event["time_spans"][0];
        span["read"]["ios"].as_f64().unwrap_or(0.0) + span["write"]["ios"].as_f64().unwrap_or(0.0)
    });
    assert!(samples["truespd_ios_total"] >= of_results.sum::<f64>(), "{samples:?}");
    assert!(!lab.names().iter().any(|name| name.ends_with(".part")), "{:?}", lab.names());
}

/// Every query of the dashboard asks for metrics and labels that a page has, and its panels lie beside each other.
#[test]
fn the_dashboard_asks_for_what_there_is() {
    let text = include_str!("../../../contrib/grafana/truespd.json");
    let dashboard: Value = serde_json::from_str(text).expect("JSON");
    let lab = lab_with_file();
    let page = lab.path("m.prom");
    let mut run = lab.start("-b4K -o2 -w50 --trim 9 -W0 -d2 -L --engine=null --metrics m.prom f");
    let mut known = BTreeMap::new();
    loop {
        let is_over = !run.is_running();
        if let Ok(text) = fs::read_to_string(&page) {
            known.extend(samples(&text));
        }
        if is_over {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    run.finish().expect_code(0);
    let panels = dashboard["panels"].as_array().expect("panels");
    let mut queries = 0;
    for query in panels.iter().flat_map(|panel| panel["targets"].as_array().expect("queries")) {
        let query = query["expr"].as_str().expect("a query");
        for selector in query.split("truespd_").skip(1) {
            let (name, rest) = selector.split_once('{').expect("the host at least");
            let name = format!("truespd_{name}");
            let labels = rest.split_once('}').expect("an end of the labels").0.split(',');
            let labels: Vec<&str> = labels.filter(|label| !label.starts_with("instance=~")).collect();
            let answers = |sample: &&String| {
                let (bare, has) = sample.split_once('{').unwrap_or((sample, ""));
                bare == name && labels.iter().all(|label| has.contains(label))
            };
            assert!(known.keys().any(|sample| answers(&sample)), "{name} with {labels:?}: {known:?}");
            queries += 1;
        }
    }
    assert!(queries >= panels.len(), "{queries} of {} panels", panels.len());
    let places = panels.iter().map(|panel| {
        let of = |side: &str| panel["gridPos"][side].as_u64().expect("a place");
        (of("x"), of("y"), of("x") + of("w"), of("y") + of("h"))
    });
    let places: Vec<_> = places.collect();
    for (index, a) in places.iter().enumerate() {
        assert!(a.2 <= 24, "the grid has 24 columns: {a:?}");
        for b in &places[index + 1..] {
            let apart = a.2 <= b.0 || b.2 <= a.0 || a.3 <= b.1 || b.3 <= a.1;
            assert!(apart, "{a:?} lies over {b:?}");
        }
    }
}
