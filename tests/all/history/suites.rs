//! Figures of suites in the history: those of each test, where one stands, and on which disks.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};

use super::tools::Place;

/// A stored document of a suite, as it would be written today: with the hashes of its profiles and the
/// metrics of its figures.
fn stored(suite: &str) -> Value {
    let path = format!("{}/tests/data/documents/suites/{suite}.json", crate::support::ROOT);
    let mut document = serde_json::from_slice(&fs::read(path).expect("kept with the tests")).expect("JSON");
    note(&mut document);
    document
}

/// Adds what documents from before it was noted do not have.
fn note(value: &mut Value) {
    if let Value::Array(all) = value {
        all.iter_mut().for_each(note);
    }
    let Value::Object(members) = value else { return };
    members.values_mut().for_each(note);
    let words = ["words", "line", "test"].iter().find_map(|name| members.get(*name));
    let words = words.filter(|words| words.is_array() || words.is_string()).map(Value::to_string);
    let hash = words.map(|words| words.bytes().fold(0u64, |sum, byte| sum.rotate_left(5) ^ u64::from(byte)));
    if let Some(hash) = hash {
        members.insert("profile".into(), json!(format!("{hash:016x}")));
    }
    let metric = members.get("label").and_then(Value::as_str).map(|label| match label {
        label if label.starts_with("Disk") => "bytes",
        label if label.starts_with("Average") => "mean_latency",
        label if label.contains("95th") => "p95",
        _ => "max_latency",
    });
    if let Some(metric) = metric {
        members.insert("metric".into(), json!(metric));
    }
}

fn keep(place: &Place, name: &str, document: &Value) {
    place.write(name, serde_json::to_string_pretty(document).expect("keys are text"));
    assert_eq!(place.out(&format!("history import {name}")), "1 result imported\n");
}

/// The medians of `history stats`, by kind and test.
fn medians(place: &Place, options: &str) -> BTreeMap<String, f64> {
    let told: Value =
        serde_json::from_str(&place.out(&format!("history stats --json --by host {options}"))).expect("JSON");
    let group = |group: &Value| {
        let name =
            format!("{} {}", group["kind"].as_str().expect("a kind"), group["part"].as_str().unwrap_or("-"));
        (name, group["spread"]["median"].as_f64().expect("a number"))
    };
    told["groups"].as_array().expect("a list").iter().map(group).collect()
}

#[test]
fn each_suite_has_figures_by_the_same_table() {
    let place = Place::new();
    for suite in
        ["mark", "assess", "ab", "study", "workload", "find-max", "sweep", "beside", "sustain", "pts"]
    {
        keep(&place, suite, &stored(suite));
    }
    place.kept("");
    let iops = medians(&place, "");
    for (test, median) in [
        ("mark read SEQ1M-Q8T1", 2576.0),
        ("ab A", 11566.0),
        ("ab B", 16886.5),
        ("study cache past the cache", 60776.5),
        ("workload oltp without a limit, 8KiB random, read", 31569.0),
        ("workload oltp, highest rate with p99 up to 10 ms", 13520.0),
        ("find-max find-max, highest rate with p99 up to 2 ms", 7549.0),
        ("sweep sweep -o4", 40_012.0),
        ("pts pts latency response times RND 4 KiB 0/100", 47.5),
        ("beside beside, the foreground at 50 %", 5080.0),
    ] {
        assert!(iops.get(test).is_some_and(|told| *told == median), "{test}: {iops:?}");
    }
    assert!(iops.contains_key("result -"), "runs are there as before: {iops:?}");
    let bytes = medians(&place, "--metric bytes --kind assess");
    assert_eq!(bytes.get("assess -ran -read"), Some(&173_428_736.0), "in bytes, not in winsat's unit");
    let latency = medians(&place, "--metric latency --kind assess");
    assert!(latency.keys().any(|test| test.starts_with("assess -flush")), "{latency:?}");
    assert!(latency.values().all(|ns| (1e3..1e9).contains(ns)), "in nanoseconds: {latency:?}");
    let text = place.out("history stats --kind mark --metric bytes --by host");
    assert!(text.contains("test") && text.contains("mark read SEQ1M-Q1T1"), "{text}");
    assert!(text.contains("-c64M"), "with the line of each test: {text}");
    let runs = place.out("history stats --kind result --by host");
    assert!(!runs.contains("test "), "runs need no such column: {runs}");
    // The hash of one test names it in all kinds.
    let listed: Value = serde_json::from_str(&place.out("history list --kind mark --json")).expect("JSON");
    let parts = listed[0]["parts"].as_array().expect("a list");
    assert_eq!((parts.len(), parts[0]["name"].as_str()), (2, Some("read SEQ1M-Q8T1")));
    let hash = parts[0]["profile"].as_str().expect("a hash");
    assert_eq!(place.ids(&format!("--profile {hash}")).len(), 1);
    assert_eq!(
        medians(&place, &format!("--profile {}", hash.to_uppercase())).len(),
        1,
        "its other tests are others"
    );
}

#[test]
fn where_a_suite_stands_is_told_for_each_of_its_tests() {
    let place = Place::new();
    let mut faster = stored("mark");
    for run in faster["mark"]["rows"][0]["loops"].as_array_mut().expect("loops") {
        run["bytes_per_s"] = json!(9e9);
    }
    keep(&place, "first", &stored("mark"));
    keep(&place, "faster", &faster);
    let ids = place.ids("");
    let of = |id: &str| -> Vec<(String, f64)> {
        let line = format!("history stats --by host --metric bytes --of {id} --json");
        let told: Value = serde_json::from_str(&place.out(&line)).expect("JSON");
        let ranks = told["of"].as_array().expect("a list").iter();
        let rank = |rank: &Value| {
            let part = rank["part"].as_str().expect("a test").to_string();
            (part, rank["better_than_percent"].as_f64().expect("a number"))
        };
        ranks.map(rank).collect()
    };
    let mut at_first: Vec<f64> = Vec::new();
    for id in &ids {
        let ranks = of(id);
        assert_eq!(ranks.len(), 2, "{ranks:?}");
        for (part, percent) in ranks {
            match part.as_str() {
                "read SEQ1M-Q8T1" => at_first.push(percent),
                _ => assert_eq!(percent, 50.0, "equal: {part}"),
            }
        }
    }
    at_first.sort_by(f64::total_cmp);
    assert_eq!(at_first, [0.0, 100.0]);
    let text = place.out(&format!("history stats --by host --metric bytes --of {}", ids[0]));
    let line = format!("{}, read SEQ1M-Q1T1: ", ids[0]);
    assert!(text.contains(&line) && text.contains("better than 50 % of 1 other result with"), "{text}");
    place
        .said(&format!("history stats --by host --metric p95 --of {}", ids[0]))
        .failed(&["has no figure for latency at the 95th percentile"]);
}

#[test]
fn figures_of_suites_travel_with_exported_documents() {
    let place = Place::new();
    keep(&place, "mark", &stored("mark"));
    let lines = place.out("history export");
    let other = Place::new();
    other.write("all.jsonl", &lines);
    other.out("history import all.jsonl");
    assert_eq!(other.out("history list --json"), place.out("history list --json"));
    assert_eq!(medians(&other, "--metric bytes"), medians(&place, "--metric bytes"));
    assert_eq!(medians(&place, "--metric bytes").len(), 2);
    assert_eq!(other.out("history export"), lines);
    // Removed with their document.
    let id = other.ids("").remove(0);
    other.out(&format!("history rm {id}"));
    let db = rusqlite::Connection::open(other.store()).expect("it opens");
    let left = "SELECT (SELECT count(*) FROM part) + (SELECT count(*) FROM part_figure)";
    assert_eq!(db.query_row(left, [], |row| row.get::<_, i64>(0)), Ok(0));
}

/// Documents that were made before suites noted their profiles are kept, and have no figures.
#[test]
fn an_older_document_of_a_suite_has_no_figures() {
    let place = Place::new();
    for suite in ["mark", "assess", "ab", "study", "workload"] {
        let path = format!("{}/tests/data/documents/suites/{suite}.json", crate::support::ROOT);
        place.out(&format!("history import {path}"));
    }
    assert_eq!(place.ids("").len(), 5);
    assert_eq!(medians(&place, ""), BTreeMap::new());
}

/// A result of a run on one disk.
fn run_on(place: &Place, host: &str, firmware: Option<&str>, seed: u32) {
    place.run(&format!("--no-history -z{seed} --json run.json"));
    let text = fs::read(place.path("run.json")).expect("written");
    let mut document: Value = serde_json::from_slice(&text).expect("JSON");
    let result = &mut document["result"];
    result["system"]["computer_name"] = json!(host);
    let mut disk = json!({"kind": "disk", "name": "nvme0n1", "below": [], "model": "A disk"});
    if let Some(revision) = firmware {
        disk["firmware"] = json!(revision);
    }
    result["time_spans"][0]["measured"]["evidence"]["targets"][0]["layers"] = json!([disk]);
    keep(place, "run.json", &document);
}

#[test]
fn results_are_found_and_counted_by_firmware() {
    let place = Place::new();
    for (host, firmware, seed) in
        [("a", Some("F1"), 1), ("a", Some("F2"), 2), ("a", Some("F2"), 3), ("b", None, 4)]
    {
        run_on(&place, host, firmware, seed);
    }
    let counts =
        ["--firmware F1", "--firmware F2", "--firmware F", "--firmware f2", "--firmware F2 --host b"]
            .map(|filter| place.ids(filter).len());
    assert_eq!(counts, [1, 2, 0, 0, 0], "the whole revision");
    let id = place.ids("--firmware F1").remove(0);
    let shown = place.out(&format!("history show {id}"));
    assert!(shown.contains("devices   nvme0n1 A disk firmware F1\n"), "{shown}");
    let told: Value =
        serde_json::from_str(&place.out("history stats --by host,model,firmware --json")).expect("JSON");
    let groups: Vec<(Value, u64)> = told["groups"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|group| (group["environment"].clone(), group["spread"]["runs"].as_u64().expect("a number")))
        .collect();
    assert_eq!(
        groups,
        [
            (json!(["a", "A disk", "F1"]), 1),
            (json!(["a", "A disk", "F2"]), 2),
            (json!(["b", "A disk", null]), 1)
        ]
    );
    let text = place.out("history stats --by host,model,firmware");
    assert!(text.contains("host  model   firmware  profile"), "{text}");
    place.out(&format!("report {id} -o page.html"));
    let page = fs::read_to_string(place.path("page.html")).expect("written");
    assert!(page.contains("A disk, firmware F1"), "the page names it");
    // Firmware is told where it differs.
    let ids = [place.ids("--firmware F1").remove(0), place.ids("--firmware F2").remove(0)];
    let compared = place.out(&format!("compare {} {}", ids[0], ids[1]));
    assert!(compared.contains("storage: firmware: F1 and F2"), "{compared}");
}
