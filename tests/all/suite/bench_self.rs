//! `truespd bench-self`, and what the document of a run says of the tool's own cost.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::program::Lab;
use crate::support::words::in_one_line;
use serde_json::Value;
use truespd::selfcost::{CostReport, CountedBy, Load, Spread, WORDS};
use truespd_core::result::envelope::{read, write};
use truespd_core::result::schema;

/// A first look from a folder of its own; `path` stands for the places of programs.
fn bench(folder: &Path, path: Option<&Path>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_truespd"));
    command.args(["bench-self", "--quick", "--json", "cost.json"]).current_dir(folder);
    if let Some(path) = path {
        command.env("PATH", path);
    }
    command.output().expect("the program starts")
}

fn report(folder: &Path, output: &Output) -> (String, CostReport) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout.clone()).expect("is text");
    let json = fs::read(folder.join("cost.json")).expect("was written");
    let report = read::<CostReport>(&json).expect("its own document");
    assert_eq!(write(&report).as_bytes(), json, "nothing is lost on the way");
    (text, report)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
}

#[track_caller]
fn assert_plausible(what: &str, ns: Spread) {
    assert!(ns.min > 0.0 && ns.min <= ns.median && ns.median <= ns.max, "{what}: {ns:?}");
    assert!(ns.min < 1e9, "{what}: a second of the program's own work? {ns:?}");
}

#[test]
fn every_load_and_part_has_its_row_its_figures_and_instructions() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = bench(folder.path(), None);
    let (text, report) = report(folder.path(), &output);
    assert_eq!(names(folder.path()), ["cost.json"], "the target of the loads is nowhere");
    let rendered = Command::new(env!("CARGO_BIN_EXE_truespd"))
        .args(["render", "cost.json"])
        .current_dir(folder.path())
        .output()
        .expect("the program starts");
    assert_eq!(String::from_utf8_lossy(&rendered.stdout), text, "as it was printed");
    for words in WORDS {
        let row =
            text.lines().find(|line| line.split('|').next().is_some_and(|cell| cell.trim_end() == *words));
        let row = row.unwrap_or_else(|| panic!("{words} has no row:\n{text}"));
        assert_eq!(row.split('|').count(), 4, "{row}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let loads: Vec<String> = report.loads.iter().map(|load| load.words.clone()).collect();
    let wanted: Vec<String> =
        WORDS.iter().flat_map(|words| [words.to_string(), format!("{words} -L")]).collect();
    assert_eq!(loads, wanted);
    for Load { words, running_ns, elapsed_ns, .. } in &report.loads {
        assert_plausible(words, *running_ns);
        assert_plausible(words, *elapsed_ns);
    }
    assert!(report.parts.len() >= 15, "{}", report.parts.len());
    for part in &report.parts {
        assert!(text.contains(&format!("\n{}", part.name)), "{}:\n{text}", part.name);
        assert_plausible(&part.name, part.ns);
    }
    for word in ["stamp", "record a latency", "random number", "offset: mixed", "-Zr", "-Z1M"] {
        assert!(report.parts.iter().any(|part| part.name.contains(word)), "{word}");
    }
    // More bytes of random data cost more, on any machine and however busy it is.
    let of =
        |words: &str| report.loads.iter().find(|load| load.words == words).expect("measured").running_ns.min;
    assert!(of("-b64K -r -w100 -Zr -o1") > 3.0 * of("-b4K -r -w100 -Zr -o4"));
    assert_counted(&text, &report);
}

/// Instructions are counted, or it says why not.
fn assert_counted(text: &str, report: &CostReport) {
    let has_valgrind = Command::new("valgrind").arg("--version").output().is_ok();
    match report.counting.by {
        CountedBy::Nobody => {
            assert!(!has_valgrind, "{:?}", report.counting);
            assert!(text.contains("instructions: not available: "), "{text}");
            assert!(report.loads.iter().all(|load| load.instructions.is_none()));
            return;
        }
        CountedBy::Hardware => assert!(text.contains("processor's counter"), "{text}"),
        CountedBy::Callgrind => assert!(text.contains("by callgrind"), "{text}"),
    }
    for pair in report.loads.chunks(2).filter(|pair| pair[0].threads == 1) {
        let (without, with) = (pair[0].instructions, pair[1].instructions);
        let (without, with) = (without.expect("counted"), with.expect("counted"));
        // Random data would drown it: which I/O is the last to be counted is chance.
        if pair[0].words.contains("-Zr") {
            continue;
        }
        assert!(without > 10.0 && with > without, "{}: {without} without -L, {with} with", pair[0].words);
    }
    let of =
        |words: &str| report.loads.iter().find(|load| load.words == words).and_then(|load| load.instructions);
    let (small, large) = (of("-b4K -r -w100 -Zr -o4"), of("-b64K -r -w100 -Zr -o1"));
    assert!(small.expect("counted") * 8.0 < large.expect("counted"), "{small:?} and {large:?}");
    for part in &report.parts {
        assert!(part.instructions.is_some_and(|count| count > 1.0), "{part:?}");
    }
}

#[test]
fn a_machine_without_valgrind_is_no_failure() {
    let (folder, nothing) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let output = bench(folder.path(), Some(nothing.path()));
    let (text, report) = report(folder.path(), &output);
    if report.counting.by == CountedBy::Hardware {
        return;
    }
    assert_eq!(report.counting.by, CountedBy::Nobody);
    let words = in_one_line(&text);
    assert!(words.contains("instructions: not available: ") && words.contains("is not installed"), "{text}");
    assert!(report.loads.iter().all(|load| load.instructions.is_none() && load.running_ns.median > 0.0));
}

#[test]
fn a_file_that_cannot_be_written_is_refused_before_anything_is_measured() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("cost.json")).expect("a folder");
    let output = bench(folder.path(), None);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(3), 0));
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(words.contains("cost.json") && !words.contains("measuring"), "{words}");
}

#[test]
fn the_schema_is_printed() {
    let output = Command::new(env!("CARGO_BIN_EXE_truespd")).args(["schema", "self-cost"]).output();
    assert_eq!(
        String::from_utf8(output.expect("it starts").stdout).expect("text"),
        schema::of_kind::<CostReport>()
    );
}

/// `evidence` of the only time span of a run.
fn evidence(lab: &Lab, line: &str) -> Value {
    lab.run(&format!("--json out.json {line}")).expect_code(0);
    let document: Value = serde_json::from_slice(&lab.read("out.json")).expect("JSON");
    document["result"]["time_spans"][0]["measured"]["evidence"].clone()
}

#[test]
fn the_document_of_a_run_tells_what_the_tool_costs() {
    let lab = Lab::new();
    lab.run("-c4M -b4K -d1 -W0 -g1 f").expect_code(0);
    for (line, threads) in [
        ("-b4K -r -o8 -t2 -L -D -d1 -W0 f", 2),
        ("-b4K -rs50 -o1 -d1 -W0 f", 1),
        ("-b4K -o8 -x -d1 -W0 -L f", 1),
        ("-b4K -r -F3 -O2 -d1 -W0 f", 3),
        ("-b4K -r -g100 -o8 -d1 -W0 --engine null f", 1),
    ] {
        let cost = &evidence(&lab, line)["self_cost"];
        let ns = |value: &Value| value.as_f64().filter(|ns| (0.1..1e6).contains(ns)).is_some();
        assert!(ns(&cost["stamp_ns"]) && ns(&cost["record_ns"]), "{line}: {cost}");
        assert!(cost["fill_ns_per_kib"].is_null(), "{line}: {cost}");
        let loads = cost["loads"].as_array().expect("a list");
        assert!(
            loads.len() == 1 && ns(&loads[0]["generator_ns"]) && loads[0]["fill_ns"] == 0.0,
            "{line}: {cost}"
        );
        let numbers: Vec<u64> = (0..threads).collect();
        assert_eq!(loads[0]["threads"], serde_json::json!(numbers), "{line}");
    }
    let cost = &evidence(&lab, "-b64K -w100 -Zr -o4 -L -d1 -W0 f")["self_cost"];
    let (all, fill) = (cost["loads"][0]["generator_ns"].as_f64(), cost["loads"][0]["fill_ns"].as_f64());
    assert!(cost["fill_ns_per_kib"].as_f64() > Some(0.0) && all > fill && fill > Some(100.0), "{cost}");
}

#[test]
fn simulated_runs_stay_the_same_and_nothing_is_measured_for_a_profile() {
    let lab = Lab::new();
    lab.run("-c4M -b4K -d1 -W0 -g1 f").expect_code(0);
    let evidence = evidence(&lab, "-b4K -r -o8 -L -d1 -W0 --engine sim:latency=1ms f");
    assert!(evidence["queue_depth"].is_object() && evidence.get("self_cost").is_none(), "{evidence}");
    let verbose = |words: &str| lab.run(&format!("-v -b4K -o8 -d1 -W0 {words} f"));
    assert!(verbose("").stderr.contains("own cost: "), "{}", verbose(""));
    for words in ["-Rp", "--engine sim:latency=1ms"] {
        assert!(!verbose(words).stderr.contains("own cost: "), "{words}");
    }
}
