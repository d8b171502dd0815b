//! What kept results lead to expect: `truespd history expect`, and what `truespd run` says beside its verdict.

use serde_json::{Value, json};

use super::tools::{Place, Said};

/// A real run, whose document tells the layers below its file.
const LINE: &str = "-c1M -b4K -r -o1 -d1 -W0 real.dat";

/// The document of a real run.
fn measured(place: &Place) -> Value {
    place.out(&format!("run --no-history --json run.json {LINE}"));
    serde_json::from_slice(&std::fs::read(place.path("run.json")).expect("written")).expect("JSON")
}

/// Keeps results like a document, with a rate of their own (in parts of its rate) and what `change` makes of it.
fn keep(place: &Place, like: &Value, rates: &[f64], change: &dyn Fn(&mut Value)) {
    let mut names = Vec::new();
    for (number, rate) in rates.iter().enumerate() {
        let mut document = like.clone();
        let result = &mut document["result"];
        let seconds = &mut result["time_spans"][0]["measured"]["test_time_s"];
        *seconds = (seconds.as_f64().expect("a time") / rate).into();
        result["system"]["start_unix_s"] = (1_750_000_000 + number).into();
        result["verdict"]["grade"] = "certified".into();
        change(&mut document["result"]);
        names.push(format!("kept-{number}.json"));
        place.write(&names[number], document.to_string());
    }
    place.out(&format!("history import {}", names.join(" ")));
}

/// So many rates around 1, by thousandths.
fn around_one(count: usize) -> Vec<f64> {
    (0..count).map(|number| 1.0 + (number as f64 - count as f64 / 2.0) / 1000.0).collect()
}

/// So many rates around one that no disk has.
fn far_away(count: usize) -> Vec<f64> {
    around_one(count).iter().map(|rate| rate * 1000.0).collect()
}

fn expectations(place: &Place, options: &str) -> Vec<Value> {
    let known = place.out(&format!("history expect --json {options} {LINE}"));
    let known: Value = serde_json::from_str(&known).expect("JSON");
    known["expectations"].as_array().expect("a list").clone()
}

#[test]
fn a_run_says_what_is_usual_and_is_unusual() {
    let place = Place::new();
    let like = measured(&place);
    keep(&place, &like, &far_away(31), &|_| {});
    let said = place.said(&format!("run --json new.json {LINE}")).done();
    let line = said.out.lines().find(|line| line.starts_with("usual for this disk: ")).expect("a line");
    assert!(line.ends_with(" IOPS (31 runs)") && line.contains(" to "), "{line}");
    let lines: Vec<&str> = said.out.lines().collect();
    let at = lines.iter().position(|one| *one == line).expect("it is there");
    assert!(lines[at - 1].starts_with("verdict: "), "below the verdict: {lines:?}");
    assert!(said.out.contains("remark  unusual") && said.out.contains("is worse than usual"), "{}", said.out);
    // It is in the document, so whoever judges or shows it says the same.
    let judged = place.out("judge new.json");
    assert!(judged.contains("unusual"), "{judged}");
    let document: Value = serde_json::from_slice(&std::fs::read(place.path("new.json")).unwrap()).unwrap();
    assert_eq!(
        (&document["result"]["usual"]["runs"], &document["result"]["usual"]["metric"]),
        (&json!(31), &json!("iops"))
    );
    let shown = place.out("show new.json");
    assert!(shown.contains("usual") && shown.contains("(31 runs)"), "{shown}");
    // The run itself is one of the next 32 where it is certified; here it is not, or it is.
    assert!(place.ids("--limit 0").len() == 32);
    // Who keeps nothing is told nothing.
    let without = place.out(&format!("run --no-history {LINE}"));
    assert!(!without.contains("usual"), "{without}");
}

#[test]
fn too_few_results_say_nothing() {
    let place = Place::new();
    let like = measured(&place);
    keep(&place, &like, &far_away(18), &|_| {});
    let said = place.said(&format!("run {LINE}")).done();
    assert!(!said.out.contains("usual"), "{}", said.out);
    assert_eq!(expectations(&place, "")[0]["usual"], Value::Null);
    let text = place.out(&format!("history expect {LINE}"));
    assert!(text.contains("too few results for an expectation; it takes 19"), "{text}");
}

#[test]
fn results_count_by_how_like_they_are() {
    let place = Place::new();
    let like = measured(&place);
    let told = |name: &'static str, value: &'static str| {
        move |result: &mut Value| result["system"][name] = value.into()
    };
    keep(&place, &like, &around_one(20), &|_| {});
    keep(&place, &like, &around_one(3), &told("kernel_release", "1.0-other"));
    // Another machine of this name, another host, another way to the disk, and other tests.
    keep(&place, &like, &far_away(5), &told("processor_name", "another processor"));
    keep(&place, &like, &far_away(6), &told("computer_name", "other"));
    keep(&place, &like, &far_away(7), &|result| {
        result["time_spans"][0]["measured"]["evidence"]["targets"][0]["filesystem"] = "xfs".into();
    });
    keep(&place, &like, &far_away(40), &|result| {
        result["profile"]["time_spans"][0]["targets"][0]["block_bytes"] = 8192.into();
    });
    let mut counts = Vec::new();
    let mut last = Value::Null;
    for one in expectations(&place, "") {
        counts.push((one["likeness"].as_str().expect("a word").to_string(), one["runs"].clone()));
        last = one;
    }
    assert_eq!(
        counts[..2],
        [("disk_and_kernel".into(), json!(20)), ("disk".into(), json!(23))],
        "{counts:?}"
    );
    assert_eq!((&last["runs"], &last["hosts"]), (&json!(41), &json!(2)), "{counts:?}");
    let text = place.out(&format!("history expect {LINE}"));
    assert!(text.contains("known from 20 runs of this disk under this kernel"), "{text}");
    // Of two engines each has its own, where it is named.
    keep(&place, &like, &far_away(8), &|result| {
        result["time_spans"][0]["measured"]["engine"] = "libaio".into();
    });
    let [psync, libaio] =
        ["psync", "libaio"].map(|engine| expectations(&place, &format!("--engine {engine}")));
    assert_eq!((&psync[0]["runs"], &libaio[0]["runs"]), (&json!(20), &json!(8)));
    // Grades other than certified count where that is asked for.
    keep(&place, &like, &around_one(9), &|result| result["verdict"]["grade"] = "suspect".into());
    assert_eq!(expectations(&place, "--all --engine psync")[0]["runs"], json!(29));
    assert_eq!(expectations(&place, "--engine psync")[0]["runs"], json!(20));
}

#[test]
fn expect_refuses_what_cannot_run_and_writes_nothing() {
    let place = Place::new();
    place.said("history expect").refused(&["WORD"]);
    place
        .said("history expect -b4K none.dat")
        .refused(&["'none.dat' does not exist", "any file of the same file system"]);
    place.said("history expect -b0 none.dat").refused(&["-b"]);
    place.said("history expect -Rs").refused(&["these options run nothing"]);
    place.said("history expect --metric nonsense -b4K none.dat").refused(&["nonsense"]);
    place.write("real.dat", vec![1; 1 << 20]);
    let said: Said = place.said(&format!("history expect {LINE}")).done();
    assert_eq!(said.out, "nothing is known: no certified result of this test is kept\n");
    assert!(said.err.contains("4 KiB random reads") && said.err.contains("kernel "), "{}", said.err);
    assert_eq!(std::fs::read(place.path("real.dat")).unwrap(), vec![1; 1 << 20], "-c makes no file");
    assert!(!place.store().exists(), "no history is made for a question");
    place.write("data/truespd/history.sqlite", "no history");
    place.said(&format!("history expect {LINE}")).refused(&["history.sqlite"]);
    // A run tells what is wrong with the history once, and has its result.
    let said = place.said(&format!("run {LINE}")).done();
    assert_eq!(said.err.matches("history.sqlite").count(), 1, "{}", said.err);
}
