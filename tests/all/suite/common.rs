//! What the documents of all suites have in common: the command as it was typed, where it ran, how it ended, and what
//! each test reached.

use serde_json::{Value, json};

use crate::support::killed::truespd;
use crate::support::program::{Lab, Running};

/// Runs a suite on a simulated device, which leaves out.json; its document.
fn document(lab: &Lab, suite: &str, member: &str, words: &[&str]) -> Value {
    let mut command = truespd(lab, "");
    command.arg(suite).args(words).args(["--json", "out.json"]);
    Running::new(command, suite).finish().expect_code(0);
    let stored: Value = serde_json::from_slice(&lab.read("out.json")).expect("JSON");
    stored[member].clone()
}

#[test]
fn every_point_of_a_sweep_has_its_coordinates_its_interval_and_its_grade() {
    let lab = Lab::new();
    lab.write("f", &[0; 1 << 20]);
    let line = "--engine sim:latency=1ms -b4K -r -d1 -W0";
    let told = document(&lab, "sweep", "sweep", &[line, "f", "--over", "o=1,2"]);
    let words = told["command_line"].as_array().expect("words");
    assert_eq!(words[1..6], ["sweep", line, "f", "--over", "o=1,2"].map(Value::from));
    assert_eq!(told["series_end"], "complete");
    let target = told["ran_on"]["targets"][0].as_str().expect("a path");
    assert!(target.ends_with("/f"), "{target}");
    let results = told["results"].as_array().expect("results");
    for (result, outstanding) in results.iter().zip(["1", "2"]) {
        assert_eq!(result["coordinates"], json!({ "o": outstanding }));
        let figure = |of: &Value| of["iops"].as_f64().expect("a number");
        let ends = result["intervals"]["iops"].as_array().expect("both ends");
        let [low, high] = [0, 1].map(|end| ends[end].as_f64().expect("a number"));
        assert!(low <= figure(&result["figures"]) && figure(&result["figures"]) <= high, "{result}");
        assert_eq!((&result["runs"], &result["grade"]), (&json!(3), &told["points"][0]["runs"][0]["grade"]));
    }
    assert_eq!(results.len(), 2);
}

#[test]
fn a_search_says_whether_its_limit_was_kept() {
    let lab = Lab::new();
    lab.write("f", &[0; 1 << 20]);
    let line = "--engine sim:latency=1ms -b4K -r -o2 -t1 -Su";
    for (limit, found) in [("2ms", "kept"), ("500us", "nothing")] {
        let told = document(&lab, "find-max", "find_max", &[line, "f", "--p95", limit]);
        let results = told["results"].as_array().expect("results");
        let [unlimited, searched] = &results[..] else { panic!("{results:?}") };
        assert_eq!(unlimited["found"], Value::Null, "it was measured");
        assert_eq!(searched["found"], found, "{searched}");
        assert_eq!(searched["figures"].as_object().map(serde_json::Map::is_empty), Some(found == "nothing"));
    }
}
