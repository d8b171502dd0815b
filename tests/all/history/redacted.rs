//! Results without names: nothing that a person, a host or a file is called comes through, and everything else does.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;
use truespd::ask::{ab, assess, beside, find_max, mark, pts, study, sustain, sweep, workload};
use truespd_core::profile;
use truespd_core::result::envelope::{self, DocumentKind};
use truespd_core::result::{Document, json};
use truespd_verdict::judge;

use super::tools::Place;
use crate::support::planted::{PLANT, Schema, documents};

/// Members that hold words of the program, the kernel or a device, behind the member around them. Whoever adds one here has
/// looked at what it may hold.
const MAY_STAY: &[&str] = &[
    "alone/profile",
    "caches/mode",
    "cells/block",
    "cells/name",
    "cells/profile",
    "clock/name",
    "data_profile",
    "details/cache_mode",
    "figures/label",
    "figures/name",
    "figures/profile",
    "figures/test",
    "find_max/profile",
    "findings/rule",
    "head/engine",
    "head/firmware",
    "head/interface",
    "head/kernel",
    "head/machine",
    "head/model",
    "head/processor",
    "head/write_cache",
    "host/architecture",
    "host/governors",
    "host/kernel_release",
    "host/local_time",
    "host/system",
    "kernel_release",
    "layers/compression",
    "layers/firmware",
    "layers/model",
    "layers/scheduler",
    "layers/transport",
    "layers/write_cache",
    "limits/by",
    "of/what",
    "outcome/about",
    "outcome/source",
    "outcome/workload",
    "parts/name",
    "paths/state",
    "peers/connection",
    "peers/disk",
    "peers/role",
    "place/models",
    "pts/deviations",
    "pts/source",
    "pts/test",
    "pts/title",
    "ran_on/models",
    "replica/disk",
    "replica/protocol",
    "replica/role",
    "rows/direction",
    "points/profile",
    "rows/profile",
    "rows/what",
    "runs/name",
    "runs/profile",
    "time_spans/engine",
    "measured/engine",
    "system/kernel_release",
    "system/power_scheme",
    "system/machine_model",
    "system/processor_name",
    "targets/scheduler",
    "targets/write_cache",
    "served_mounts/version",
    "server/version",
    "stages/name",
    "tool_version",
    "tracked/name",
    "unchecked/rule",
    "usual/metric",
    "verdict/rules",
    "sustain/profile",
    "a/profile",
    "b/profile",
    "gone/by",
    "new/by",
];
/// Members of what a layer is; they stand at three places.
const OF_LAYERS: &[&str] = &[
    "cache_mode",
    "consistency",
    "data_profile",
    "driver",
    "format",
    "level",
    "mapped_as",
    "partition",
    "path_policy",
    "sync_action",
];

fn value(path: &str) -> Value {
    let text = fs::read_to_string(Path::new(crate::support::ROOT).join(path)).expect("a file of data");
    serde_json::from_str(&text).expect("JSON")
}

fn is_read<T: DocumentKind>(document: &Value) -> bool {
    envelope::read::<T>(document.to_string().as_bytes()).is_ok()
}

/// Places where a text stands, by the names of the last two members.
fn found(value: &Value, text: &str, around: &str, member: &str, places: &mut BTreeSet<String>) {
    match value {
        Value::String(one) if one.contains(text) => {
            places.insert(format!("{around}/{member}"));
        }
        Value::Array(items) => items.iter().for_each(|item| found(item, text, around, member, places)),
        Value::Object(members) => {
            for (name, inside) in members {
                if name.contains(text) {
                    places.insert(format!("{member}/a name"));
                }
                found(inside, text, member, name, places);
            }
        }
        _ => {}
    }
}

fn may_stay(place: &str) -> bool {
    let member = place.rsplit('/').next().expect("a name");
    MAY_STAY.contains(&place) || MAY_STAY.contains(&member) || OF_LAYERS.contains(&member)
}

/// The exported line of a document without names, and the document.
#[track_caller]
fn redacted(document: &Value) -> (Value, Value) {
    let home = Place::new();
    home.write("d.json", document.to_string());
    home.out("history import d.json");
    let text = home.out("history export --redact");
    assert_eq!(text, home.out("history export --redact"), "the same each time");
    let line: Value = serde_json::from_str(&text).expect("a line");
    let document = serde_json::from_str(line["document"].as_str().expect("text")).expect("JSON");
    // Whoever gets it can read it.
    let other = Place::new();
    other.write("lines", &text);
    assert_eq!(other.out("history import lines"), "1 result imported\n");
    other.out("history show --verdict");
    (line, document)
}

/// What stands at every place where a schema has a string is one of the words that may stay, or is gone.
#[test]
fn strings_of_every_kind_of_document() {
    let mut seeds = ["merged-two-processes", "real-paced-reads", "sim-failed"]
        .map(|name| value(&format!("tests/data/documents/v1/{name}.json")));
    let rank = serde_json::json!({ "run": "x", "rank": 0, "ranks": 4, "local": 0 });
    seeds[0]["result"]["rank"] = rank.clone();
    seeds[0]["result"]["sources"][0]["rank"] = rank;
    let of_run = |document: &Value| json::read(document.to_string().as_bytes()).is_ok();
    let mut all = vec![("result", seeds.to_vec(), &of_run as &dyn Fn(&Value) -> bool)];
    let suite = |kind: &str| vec![value(&format!("tests/data/documents/suites/{kind}.json"))];
    all.push(("ab", suite("ab"), &is_read::<ab::Comparison>));
    all.push(("study", suite("study"), &is_read::<study::StudyReport>));
    all.push(("assess", suite("assess"), &is_read::<assess::Assessment>));
    all.push(("workload", suite("workload"), &is_read::<workload::Outcome>));
    all.push(("find-max", suite("find-max"), &is_read::<find_max::HighestRate>));
    all.push(("beside", suite("beside"), &is_read::<beside::BesideReport>));
    all.push(("sustain", suite("sustain"), &is_read::<sustain::SustainReport>));
    all.push(("sweep", suite("sweep"), &is_read::<sweep::SweepReport>));
    all.push(("mark", suite("mark"), &is_read::<mark::MarkReport>));
    all.push(("pts", suite("pts"), &is_read::<pts::PtsReport>));
    for (kind, seeds, is_read) in all {
        let schema = Schema(value(&format!("schema/{kind}-v1.json")));
        let (documents, _) = documents(&schema, &seeds, is_read);
        assert!(!documents.is_empty(), "{kind}");
        for document in documents {
            let (line, document) = redacted(&document);
            assert!(is_read(&document), "{kind}");
            let mut places = BTreeSet::new();
            found(&document, &PLANT[..20], "", "", &mut places);
            places.retain(|place| !may_stay(place));
            assert!(places.is_empty(), "{kind}: these come through: {places:#?}");
            let mut facts = BTreeSet::new();
            found(&line["facts"], &PLANT[..20], "facts", "", &mut facts);
            facts.retain(|place| {
                !["tool_version", "model", "firmware", "profile", "name"]
                    .iter()
                    .any(|one| place.ends_with(one))
            });
            assert!(facts.is_empty(), "{kind}: these facts come through: {facts:#?}");
        }
    }
}

/// A result of a machine with names everywhere, as one that was kept.
fn named() -> Value {
    let text = fs::read_to_string(
        Path::new(crate::support::ROOT).join("tests/data/documents/v1/layers-in-words.json"),
    );
    let text = text.expect("a file of data").replace("/data/test.dat", "/home/alice/payroll.dat");
    let mut document: Value = serde_json::from_str(&text).expect("JSON");
    document["result"]["system"]["computer_name"] = "payroll-db".into();
    document["result"]["warnings"] = serde_json::json!(["'/home/alice/payroll.dat' is on payroll-db"]);
    let judged = judge(&read(&document));
    document["result"]["verdict"] = serde_json::to_value(judged).expect("JSON");
    document
}

fn read(document: &Value) -> Document {
    json::read(document.to_string().as_bytes()).expect("a result")
}

#[test]
fn what_matters_stays() {
    let before = named();
    let (line, after) = redacted(&before);
    for name in ["alice", "payroll"] {
        assert!(!line.to_string().contains(name), "{name}: {line}");
    }
    assert_eq!((&line["redacted"], &line["given"]), (&true.into(), &serde_json::json!({})));
    let (before, after) = (read(&before), read(&after));
    assert_eq!(profile::hash(&before.profile), profile::hash(&after.profile));
    let grades = [&before, &after].map(|document| judge(document).grade);
    assert_eq!(grades[0], grades[1]);
    let (was, is) = (before.verdict.expect("judged"), after.verdict.expect("judged"));
    let rules = |verdict: &truespd_core::result::Verdict| {
        verdict.findings.iter().map(|finding| (finding.rule.clone(), finding.grade)).collect::<Vec<_>>()
    };
    assert_eq!((was.grade, rules(&was)), (is.grade, rules(&is)));
    assert!(is.findings.iter().all(|finding| !finding.says.contains("left out")), "{is:#?}");
    assert_eq!(after.profile.time_spans[0].targets[0].path, "target-1.dat");
    assert!(after.system.computer_name.starts_with("host-"), "{}", after.system.computer_name);
    assert_eq!(before.system.processor_name, after.system.processor_name);
    assert!(after.notes[0].starts_with("Names of hosts"), "{:?}", after.notes);
}

#[test]
fn a_host_keeps_its_pseudonym_and_others_cannot_guess_it() {
    let (mine, yours) = (Place::new(), Place::new());
    let hosts = |home: &Place| {
        home.run("");
        home.run("-w50 --label secret");
        let lines = home.out("history export --redact");
        assert!(!lines.contains("secret"), "{lines}");
        let hosts = lines.lines().map(|line| {
            serde_json::from_str::<Value>(line).expect("JSON")["facts"]["host"]
                .as_str()
                .expect("text")
                .to_string()
        });
        hosts.collect::<Vec<_>>()
    };
    let (mine_are, yours_are) = (hosts(&mine), hosts(&yours));
    assert_eq!(mine_are[0], mine_are[1]);
    assert_ne!(mine_are[0], yours_are[0]);
    assert!(mine.out("history export --redact --keep-notes").contains("\"label\":\"secret\""));
    mine.said("history export --keep-notes").refused(&["--redact"]);
}

/// Paths are in no hash of a profile, also not that of a file with write data.
#[test]
fn a_source_of_data_does_not_change_the_hash() {
    let home = Place::new();
    home.write("alice.bin", "data of alice");
    home.run("-w100 -Z64K,alice.bin");
    let profile =
        |lines: String| serde_json::from_str::<Value>(&lines).expect("JSON")["facts"]["profile"].clone();
    let redacted = home.out("history export --redact");
    assert!(!redacted.contains("alice"), "{redacted}");
    assert_eq!(profile(redacted), profile(home.out("history export")));
}
