//! What others wrote into a document is never taken for words of this program: no string of any kind of
//! documents acts on a terminal or makes a line of its own, on any way out. The strings come from the
//! schemas, so that one that is added later is tried as well.

use std::fs;
use std::path::Path;

use serde_json::Value;
use truespd::ask::{ab, assess, beside, find_max, mark, pts, study, sustain, sweep, workload};
use truespd::compare::Comparison;
use truespd::selfcost::CostReport;
use truespd_core::result::envelope::{self, DocumentKind};
use truespd_core::result::json;
use truespd_platform::text::hides;

use crate::history::tools::Place as Home;
use crate::support::planted::{PLANT, Place, Schema, Step, documents};

fn text(path: &str) -> String {
    fs::read_to_string(Path::new(crate::support::ROOT).join(path)).expect("a file of data")
}

fn value(path: &str) -> Value {
    serde_json::from_str(&text(path)).expect("JSON")
}

fn is_read<T: DocumentKind>(document: &Value) -> bool {
    envelope::read::<T>(document.to_string().as_bytes()).is_ok()
}

/// Documents of a kind with the plant everywhere.
fn planted(kind: &str, seeds: &[Value], is_read: &dyn Fn(&Value) -> bool) -> Vec<Value> {
    let schema = Schema(value(&format!("schema/{kind}-v1.json")));
    assert!(seeds.iter().all(is_read), "{kind}: the seeds are good");
    let (documents, refused) = documents(&schema, seeds, is_read);
    let all = schema.places().len();
    println!("{kind}: {all} places, {} documents, {} places refused", documents.len(), refused.len());
    let lost: Vec<&Place> = refused.iter().filter(|place| !may_be_refused(place)).collect();
    assert!(lost.is_empty(), "{kind}: nothing is planted at {lost:#?}");
    documents
}

/// Strings that are numbers, buckets or ranges of processors, for which a schema has no other form.
fn may_be_refused(place: &Place) -> bool {
    let Some(Step::Member(last)) = place.iter().rev().find(|step| matches!(step, Step::Member(_))) else {
        return false;
    };
    ["hdr_v2_base64", "sum_ns", "sum_squares_ns2", "answered_by", "processors"].contains(&last.as_str())
}

/// Nothing that was planted acts, or is a line.
#[track_caller]
fn assert_tame(what: &str, shown: &str) {
    let acting = shown.char_indices().find(|(_, c)| hides(*c) && !matches!(c, '\n' | '\t'));
    if let Some((at, c)) = acting {
        let from = shown[..at].char_indices().rev().nth(60).map_or(0, |(at, _)| at);
        panic!("{what}: {c:?} comes out behind {:?}", &shown[from..at]);
    }
    let forged = shown.lines().find(|line| line.trim_start().starts_with("verdict: certified forged"));
    assert_eq!(forged, None, "{what}: a line of the document is one of ours\n{shown}");
}

/// A command on a document; both of its streams are tame.
#[track_caller]
fn shown(home: &Home, line: &str) -> String {
    let said = home.said(line);
    assert!(said.code.is_some_and(|code| code <= 5), "{line}: {:?}\n{}", said.code, said.err);
    assert_tame(line, &said.out);
    assert_tame(&format!("{line}, standard error"), &said.err);
    said.out
}

#[test]
fn results_of_runs() {
    let mut seeds = ["merged-two-processes", "real-paced-reads", "sim-failed"]
        .map(|name| value(&format!("tests/data/documents/v1/{name}.json")));
    // Of a cluster run.
    let rank = serde_json::json!({ "run": "x", "rank": 0, "ranks": 4, "local": 0 });
    seeds[0]["result"]["rank"] = rank.clone();
    seeds[0]["result"]["sources"][0]["rank"] = rank;
    let read = |document: &Value| json::read(document.to_string().as_bytes()).is_ok();
    for (number, document) in planted("result", &seeds, &read).iter().enumerate() {
        let home = Home::new();
        fs::write(home.path("d.json"), document.to_string()).expect("written");
        fs::write(home.path("seed.json"), seeds[0].to_string()).expect("written");
        println!("document {number}");
        for line in [
            "show d.json",
            "judge d.json",
            "judge d.json d.json",
            "compare d.json d.json",
            "compare --unlike d.json seed.json",
            "compare --unlike seed.json d.json --markdown",
            "compare --unlike seed.json d.json --fail-if iops<-5% --junit j.xml --json c.json",
            "render -Rtext d.json",
            "render --compat 2.3 d.json -Rtext",
            "render -Rcsv d.json",
            "render -Rintervals d.json",
            "merge --force d.json seed.json --verdict",
            "merge --force d.json d.json -Rcsv",
            "history import d.json",
            "history list",
            "history show d.json",
            "history stats",
            "report d.json seed.json -o page.html",
        ] {
            shown(&home, line);
        }
        for file in ["page.html", "j.xml", "c.json"].iter().filter(|file| home.path(file).exists()) {
            assert_tame(file, &fs::read_to_string(home.path(file)).expect("UTF-8"));
        }
        for line in ["judge --json d.json", "history list --json", "history export"] {
            let json = shown(&home, line);
            json.lines().next().expect("it prints something");
        }
        // As it is: JSON and XML hold what was planted, by escapes.
        let again: Value = serde_json::from_str(&shown(&home, "render -Rjson d.json")).expect("JSON");
        let holds = |value: &Value| value.to_string().matches(&Value::from(PLANT).to_string()).count();
        assert!(
            holds(&again) > 0 && holds(&again["result"]) == holds(&document["result"]),
            "nothing is changed"
        );
        let xml = home.said("render -Rxml d.json").out;
        roxmltree::Document::parse(&xml).expect("XML");
        assert!(!xml.contains(['\u{1b}', '\u{9b}', '\u{202e}', '\u{0}', '\u{7}']), "{xml}");
    }
}

/// Kinds of documents that are shown.
#[test]
fn documents_of_suites_and_comparisons() {
    let home = Home::new();
    for (name, file) in [("a.json", "real-paced-reads"), ("b.json", "sim-random-mix-L-D")] {
        fs::write(home.path(name), text(&format!("tests/data/documents/v1/{file}.json"))).expect("written");
    }
    home.said("compare --unlike a.json b.json --fail-if iops<-5% --json c.json");
    let compared: Value =
        serde_json::from_slice(&fs::read(home.path("c.json")).expect("made")).expect("JSON");
    type Kind = (&'static str, fn(&Value) -> bool);
    let suites: [Kind; 11] = [
        ("ab", is_read::<ab::Comparison>),
        ("study", is_read::<study::StudyReport>),
        ("assess", is_read::<assess::Assessment>),
        ("workload", is_read::<workload::Outcome>),
        ("find-max", is_read::<find_max::HighestRate>),
        ("beside", is_read::<beside::BesideReport>),
        ("sweep", is_read::<sweep::SweepReport>),
        ("mark", is_read::<mark::MarkReport>),
        ("sustain", is_read::<sustain::SustainReport>),
        ("pts", is_read::<pts::PtsReport>),
        ("self-cost", is_read::<CostReport>),
    ];
    let mut all: Vec<(String, Vec<Value>)> = Vec::new();
    for (kind, is_read) in suites {
        let seed = value(&format!("tests/data/documents/suites/{kind}.json"));
        all.push((kind.to_string(), planted(kind, &[seed], &is_read)));
    }
    all.push(("compare".into(), planted("compare", &[compared], &is_read::<Comparison>)));
    for (kind, documents) in all {
        for document in documents {
            fs::write(home.path("d.json"), document.to_string()).expect("written");
            println!("{kind}");
            for line in [
                "show d.json",
                "judge d.json",
                "judge d.json d.json",
                "judge --json d.json",
                "render d.json",
                "report d.json -o page.html",
                "compare d.json a.json",
                "merge d.json a.json",
                "history import d.json",
                "history list",
                "history stats",
                "history export",
            ] {
                shown(&home, line);
            }
            if home.path("page.html").exists() {
                assert_tame("page.html", &fs::read_to_string(home.path("page.html")).expect("UTF-8"));
            }
            let again: Value = serde_json::from_str(&shown(&home, "render -Rjson d.json")).expect("JSON");
            let holds = |value: &Value| value.to_string().matches(&Value::from(PLANT).to_string()).count();
            assert_eq!(holds(&again), holds(&document), "{kind}: nothing is changed");
        }
    }
}

/// What is refused is told, and its words are the document's.
#[test]
fn words_of_what_cannot_be_read() {
    let home = Home::new();
    let seed = value("tests/data/documents/v1/sim-failed.json");
    let mark = value("tests/data/documents/suites/mark.json");
    let with = |document: &Value, at: &str| {
        let mut document = document.clone();
        *document.pointer_mut(at).unwrap_or_else(|| panic!("{at}")) = PLANT.into();
        document
    };
    let documents = [
        with(&seed, "/format"),
        with(&seed, "/result"),
        with(&seed, "/result/profile/time_spans"),
        with(&seed, "/result/profile/result_format"),
        with(&mark, "/format_version"),
        with(&mark, "/mark"),
        serde_json::json!({ "format": "truespd-history", "format_version": 1, "id": PLANT, "kept_unix_s": 1,
            "facts": { "profile": PLANT }, "given": { "tags": [PLANT] }, "document": PLANT }),
        serde_json::json!({ "time": PLANT, "event": PLANT }),
        serde_json::json!(PLANT),
        serde_json::json!({ PLANT: 1 }),
    ];
    for document in documents {
        // With its end: `watch` waits for that of a line.
        fs::write(home.path("d.json"), format!("{document}\n")).expect("written");
        for line in [
            "show d.json",
            "judge d.json",
            "compare d.json d.json",
            "merge d.json d.json",
            "render d.json",
            "history import d.json",
            "watch d.json",
            "report d.json -o page.html",
        ] {
            shown(&home, line);
        }
    }
}

/// Facts of an exported line and what a person says of a result need not be those of its document.
#[test]
fn words_of_a_history() {
    let home = Home::new();
    fs::write(home.path("d.json"), text("tests/data/documents/v1/sim-random-mix-L-D.json")).expect("written");
    shown(&home, "history import d.json");
    let line: Value = serde_json::from_str(&shown(&home, "history export")).expect("a line");
    shown(&home, &format!("history rm {}", line["id"].as_str().expect("an id")));
    let mut line = line;
    for member in ["kind", "host", "command", "profile", "tool_version"] {
        line["facts"][member] = PLANT.into();
    }
    line["facts"]["targets"] = serde_json::json!([PLANT, PLANT]);
    line["facts"]["devices"] = serde_json::json!([{ "name": PLANT, "model": PLANT, "firmware": PLANT }]);
    line["facts"]["parts"] = serde_json::json!([{ "name": PLANT, "profile": PLANT, "command": PLANT, "figures": { "iops": 5.0, PLANT: 1.0 } }]);
    line["facts"]["figures"][PLANT] = 5.0.into();
    line["given"] = serde_json::json!({ "label": PLANT, "note": PLANT, "revision": PLANT, "tags": [PLANT] });
    fs::write(home.path("lines"), format!("{line}\n")).expect("written");
    shown(&home, "history import lines");
    let id = line["id"].as_str().expect("an id");
    for line in [
        "history list".into(),
        "history list --json".into(),
        "history stats".into(),
        "history stats --json".into(),
        "history stats --by host,device,model,firmware".into(),
        "history export".into(),
        format!("history show {id}"),
        format!("history tag {id} +x"),
        format!("history stats --of {id}"),
        format!("compare {id} {id}"),
        format!("report {id} {id} -o page.html"),
        format!("show {id}"),
        format!("history rm {id}"),
    ] {
        shown(&home, &line);
    }
    assert_tame("page.html", &fs::read_to_string(home.path("page.html")).expect("UTF-8"));
}

/// Every word of an event.
#[test]
fn words_of_events() {
    let home = Home::new();
    let events = [
        serde_json::json!({ "event": "begin", "command_line": [PLANT, PLANT] }),
        serde_json::json!({ "event": "step", "name": PLANT }),
        serde_json::json!({ "event": "fill", "path": PLANT, "done_bytes": 1, "total_bytes": 2 }),
        serde_json::json!({ "event": "remove", "path": PLANT, "bytes": 2 }),
        serde_json::json!({ "event": "reuse", "path": PLANT }),
        serde_json::json!({ "event": "note", "says": PLANT }),
        serde_json::json!({ "event": "warning", "says": PLANT }),
        serde_json::json!({ "event": "progress", "phase": "measurement", "time_span": 1, "time_spans": 1, "elapsed_s": 11.0,
            "left_s": 1.0, "ios": 1, "bytes": 1, "iops": 1.0, "bytes_per_s": 1.0, "disks": [{ "name": PLANT, "reads_per_s": 1.0,
            "read_bytes_per_s": 1.0, "writes_per_s": 1.0, "write_bytes_per_s": 1.0, "in_flight_mean": 1.0 }] }),
        serde_json::json!({ "event": "result", "verdict": "suspect",
            "findings": [{ "rule": PLANT, "grade": "suspect", "says": PLANT }], "time_spans": [] }),
        serde_json::json!({ "event": "given-up", "says": PLANT }),
        serde_json::json!({ "event": "end" }),
    ];
    let lines = events.map(|mut event| {
        event["time"] = "2026-11-24T10:00:00Z".into();
        format!("{event}\n")
    });
    fs::write(home.path("events"), lines.concat()).expect("written");
    assert!(shown(&home, "watch events").lines().count() > 5);
}
