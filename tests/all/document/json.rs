//! The result document as JSON: nothing is lost, what is no document is refused in words, and documents
//! of every released version load.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::documents::{MACHINES, MIXES, POOLS, RANGES, Ranges, Recipe, document};
use diskspd::render::{FORMATS, Format, format};
use serde_json::{Value, json};
use truespd_core::result::json::{read, write};
use truespd_core::result::schema;
use truespd_core::result::{Document, TimeSpanResult};

const RICH: Recipe = Recipe { threads: 2, ranges: Ranges::Percent, ..Recipe::RICH };

fn recipes() -> Vec<Recipe> {
    let mut recipes = Vec::new();
    let spans: [&[bool]; 4] = [&[true], &[false], &[true, true], &[false, true]];
    // Latency, intervals, pools and mixes in every combination; the rest goes round beside them.
    for flags in 0..4 {
        for pool in POOLS {
            for mix in MIXES {
                let number = recipes.len();
                recipes.push(Recipe {
                    latency: flags & 1 != 0,
                    iops: flags & 2 != 0,
                    waits: number % 2 == 0,
                    targets: 1 + number % 3,
                    threads: 1 + number as u32 % 3,
                    pool,
                    ranges: RANGES[number % 4],
                    machine: MACHINES[number % 5],
                    mix,
                    spans: spans[number / 3 % 4],
                });
            }
        }
    }
    recipes
}

fn there_and_back(document: &Document) -> Document {
    read(write(document).as_bytes()).expect("what was written can be read")
}

/// Every format made from the stored document is, byte for byte, what the run would have printed.
#[test]
fn every_combination_renders_the_same_from_its_document() {
    let all = recipes();
    assert_eq!(all.len(), 48);
    for (i, recipe) in all.iter().enumerate() {
        let before = document(recipe, i as u64);
        let after = there_and_back(&before);
        for Format { name, render, .. } in FORMATS {
            assert_eq!(render(&after), render(&before), "{name} of {recipe:?}");
        }
    }
}

#[test]
fn numbers_at_their_limits_come_back() {
    let mut before = document(&RICH, 7);
    let TimeSpanResult::Measured(measured) = &mut before.time_spans[0] else { panic!("measured") };
    measured.test_time_s = 0.1 + 0.2;
    measured.cpu[0].user = f64::from_bits(0x3ff5_5555_5555_5555);
    let target = &mut measured.threads[0].targets[0];
    target.read.bytes = (1 << 53) + 1;
    target.path = "/mnt/\u{e4}\u{1f4be} \"quoted\" \\ \n tab\t".to_string();
    let latency = target.read.latency.as_mut().expect("asked for");
    (0..3).for_each(|_| latency.record(u64::MAX));
    let after = there_and_back(&before);
    let (TimeSpanResult::Measured(a), TimeSpanResult::Measured(b)) =
        (&before.time_spans[0], &after.time_spans[0])
    else {
        panic!("measured")
    };
    assert_eq!(a.test_time_s.to_bits(), b.test_time_s.to_bits());
    assert_eq!(a.cpu[0].user.to_bits(), b.cpu[0].user.to_bits());
    let (a, b) = (&a.threads[0].targets[0], &b.threads[0].targets[0]);
    assert_eq!((a.read.bytes, &a.path), (b.read.bytes, &b.path));
    assert_eq!(a.read.latency, b.read.latency);
    assert_eq!(a.read.intervals, b.read.intervals);
}

fn value(document: &Document) -> Value {
    serde_json::from_str(&write(document)).expect("is JSON")
}

fn refusal(text: &str) -> String {
    read(text.as_bytes()).expect_err("is no document").to_string()
}

#[test]
fn what_is_no_document_is_refused_in_words() {
    let good = value(&document(&RICH, 1));
    let with = |change: &dyn Fn(&mut Value)| {
        let mut changed = good.clone();
        change(&mut changed);
        refusal(&changed.to_string())
    };
    assert!(refusal("").contains("is not a TrueSpd result, or is incomplete: "));
    assert!(refusal("\nCommand Line: diskspd").contains("is a text result; results are read from JSON"));
    assert!(refusal("<Results>\n").contains("is XML; results are read from JSON"));
    assert!(refusal("time_span,thread,target\n").contains("is a table (CSV); results are read from JSON"));
    assert!(refusal("{}").contains("is not the result of a run: it has no member \"format\""));
    assert!(refusal(r#"{"format": "x"}"#).contains("its member \"format\" is \"x\", not \"truespd-result\""));
    assert!(refusal("[1, 2]").contains("is not a TrueSpd result"));
    let newer = with(&|v| v["format_version"] = json!(2));
    assert!(newer.contains("format version 2") && newer.contains("newer truespd"), "{newer}");
    let newer = refusal(r#"{"format": "truespd-result", "format_version": 3, "result": []}"#);
    assert!(newer.contains("format version 3"), "{newer}");
    let missing = with(&|v| drop(v.as_object_mut().unwrap().remove("result")));
    assert!(missing.contains("damaged or was changed") && missing.contains("result"), "{missing}");
    let spans = with(&|v| drop(v["result"]["time_spans"].as_array_mut().unwrap().pop()));
    assert!(spans.contains("3 time spans, but there are 2 results"), "{spans}");
    let huge = with(&|v| {
        v["result"]["time_spans"][0]["measured"]["threads"][0]["targets"][0]["read"]["bytes"] =
            json!(u64::MAX);
    });
    assert!(huge.contains("time span 1: its counts of bytes or I/Os are too large"), "{huge}");
    let cpu = with(&|v| drop(v["result"]["time_spans"][0]["measured"]["cpu"].as_array_mut().unwrap().pop()));
    assert!(cpu.contains("time span 1: it holds the use of 5 processors, but the machine has 6"), "{cpu}");
    // A line of the XML for each would fill the memory.
    let groups = with(&|v| v["result"]["system"]["topology"]["groups"] = json!(u32::MAX));
    assert!(groups.contains("4294967295 processor groups are more than a machine has"), "{groups}");
    let target = |v: &mut Value| v["result"]["time_spans"][2]["measured"]["threads"][0]["targets"][0].take();
    let count = with(&|v| {
        let mut changed = target(v);
        changed["write"]["latency"]["count"] = json!(1);
        v["result"]["time_spans"][2]["measured"]["threads"][0]["targets"][0] = changed;
    });
    assert!(count.contains("'count' says 1"), "{count}");
    let series = with(&|v| {
        let mut changed = target(v);
        changed["read"]["intervals"]["interval_ns"] = json!(17);
        v["result"]["time_spans"][2]["measured"]["threads"][0]["targets"][0] = changed;
    });
    assert!(series.contains("time span 3: the interval of a series is not that of -D"), "{series}");
}

#[test]
fn a_document_cut_short_anywhere_is_refused() {
    let recipe = Recipe { targets: 1, threads: 1, spans: &[true], ..RICH };
    let text = write(&document(&recipe, 3));
    for end in (0..text.len() - 2).step_by(7) {
        assert!(read(&text.as_bytes()[..end]).is_err(), "read at {end} of {} bytes", text.len());
    }
}

/// Members that came later are unknown to earlier readers, and missing in earlier documents.
#[test]
fn members_may_be_added() {
    let before = document(&RICH, 5);
    let mut changed = value(&before);
    changed["later"] = json!({"a": [1]});
    changed["result"]["later"] = json!(true);
    changed["result"]["time_spans"][0]["measured"]["later"] = json!([]);
    for member in ["notes", "failures", "tool_version", "warnings"] {
        changed["result"].as_object_mut().unwrap().remove(member).expect("was written");
    }
    changed["result"]["time_spans"][0]["measured"].as_object_mut().unwrap().remove("evidence").unwrap();
    changed["result"]["profile"].as_object_mut().unwrap().remove("etw").unwrap();
    changed["result"]["profile"]["time_spans"][0].as_object_mut().unwrap().remove("ring").unwrap();
    let after = read(changed.to_string().as_bytes()).expect("can still be read");
    for name in ["text", "xml", "csv"] {
        let render = format(name).expect("is there").render;
        assert_eq!(render(&after), render(&before), "{name}");
    }
}

fn folder(name: &str) -> PathBuf {
    Path::new(crate::support::ROOT).join(name)
}

/// Documents that released versions wrote. Files are only ever added to the folder.
#[test]
fn documents_of_every_released_version_load() {
    let mut count = 0;
    for entry in fs::read_dir(folder("tests/data/documents/v1")).expect("the folder is there") {
        let path = entry.expect("entry is readable").path();
        let text = fs::read_to_string(&path).expect("is text");
        let document = read(text.as_bytes()).unwrap_or_else(|e| panic!("{} {e}", path.display()));
        // The numbers as the version that ran understood them.
        let then: Value = serde_json::from_str(&text).expect("is JSON");
        let now: Value = value(&document);
        assert_eq!(now["summary"], then["summary"], "{}", path.display());
        for Format { name, render, .. } in FORMATS {
            assert!(!render(&document).is_empty(), "{name} of {}", path.display());
        }
        count += 1;
    }
    assert!(count >= 6, "{count} documents");
}

/// Remarks were stored with the grade of the results that they leave alone.
#[test]
fn remarks_of_before_they_had_a_grade_are_remarks() {
    let text = fs::read_to_string(folder("tests/data/documents/v1/layers-in-words.json")).expect("is text");
    let grades = |document: &Value| -> Vec<String> {
        let findings = document["result"]["verdict"]["findings"].as_array().expect("a list");
        findings.iter().map(|finding| finding["grade"].as_str().expect("a grade").to_string()).collect()
    };
    let stored = grades(&serde_json::from_str(&text).expect("is JSON"));
    assert!(stored.contains(&"certified".to_string()) && stored.contains(&"suspect".to_string()));
    let now = grades(&value(&read(text.as_bytes()).expect("can be read")));
    let expected: Vec<String> =
        stored.into_iter().map(|grade| grade.replace("certified", "remark")).collect();
    assert_eq!(now, expected);
}

#[test]
fn the_published_schema_is_that_of_the_types() {
    let path = folder("schema/result-v1.json");
    let published = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        published == schema::of_results(),
        "the types of the document have changed. When members were only added, publish the schema anew: \
         cargo run --bin truespd -- schema > {}",
        path.display()
    );
}
