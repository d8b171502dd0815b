//! `truespd report --history`: the page over kept results in a browser, its documents, hostile results, refusals.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::{Value, json};

use super::browser::{Expected, assert_good, checked};
use crate::support::killed::run;
use crate::support::program::Lab;

const SIM: &str = "-c64K -b4K -r -o4 -L -W0 --engine sim:jitter=exp,cpu=2us";
/// When the first result began; the others follow by days.
const BEGAN_S: i64 = 1_750_000_000;
const DAY_S: i64 = 86_400;

/// Documents of runs, of which each is a little different.
struct Made {
    bases: Vec<Value>,
}

impl Made {
    fn new(lab: &Lab) -> Self {
        let mut bases = Vec::new();
        for (latency, options) in [("1ms", "-d1"), ("1100us", "-d1"), ("2ms", "-d1 -w100")] {
            run(lab, &format!("run --json base.json {SIM},latency={latency} {options} x.dat")).expect_code(0);
            bases.push(serde_json::from_slice(&lab.read("base.json")).expect("JSON"));
        }
        Made { bases }
    }

    /// A result of one of five hosts; every fifth is suspect, and a kernel comes later.
    fn document(&self, number: usize) -> Value {
        let mut document = self.bases[number % self.bases.len()].clone();
        let host = number % 5;
        let result = &mut document["result"];
        result["system"]["computer_name"] = format!("node-{host}").into();
        result["system"]["start_unix_s"] = (BEGAN_S + number as i64 * DAY_S).into();
        result["system"]["kernel_release"] = if number < 20 { "6.1.0" } else { "6.12.1" }.into();
        result["system"]["machine_model"] =
            if host < 2 { "Amazon EC2 m5.large" } else { "Dell Inc. R740" }.into();
        result["verdict"]["grade"] = if number % 5 == 4 { "suspect" } else { "certified" }.into();
        let targets = &mut result["time_spans"][0]["measured"]["evidence"]["targets"];
        targets[0]["layers"] =
            json!([{"name": "nvme0n1", "model": format!("Disk {}", host % 3), "firmware": "F1"}]);
        document
    }
}

/// Keeps documents in `h.sqlite`.
fn keep(lab: &Lab, documents: impl IntoIterator<Item = Value>) {
    let mut names = Vec::new();
    for (number, document) in documents.into_iter().enumerate() {
        names.push(format!("kept-{number}.json"));
        lab.write(&names[number], document.to_string().as_bytes());
    }
    run(lab, &format!("history --store h.sqlite import {}", names.join(" "))).expect_code(0);
    names.iter().for_each(|name| fs::remove_file(lab.path(name)).expect("it was there"));
}

/// The newest first.
fn ids(lab: &Lab) -> Vec<String> {
    let listed = run(lab, "history --store h.sqlite list --json").expect_code(0).stdout;
    let listed: Vec<Value> = serde_json::from_str(&listed).expect("JSON");
    listed.iter().map(|entry| entry["id"].as_str().expect("an id").to_string()).collect()
}

fn text(lab: &Lab, name: &str) -> String {
    String::from_utf8(lab.read(name)).expect("text")
}

#[test]
fn the_page_is_good_in_a_browser() {
    let lab = Lab::new();
    let made = Made::new(&lab);
    keep(&lab, (0..40).map(|number| made.document(number)));
    run(&lab, "report --history --store h.sqlite -o all.html").expect_code(0);
    run(&lab, "report --history --store h.sqlite -o few.html --host node-1").expect_code(0);
    let pages: [Expected; 2] = [("all.html", 2, 0), ("few.html", 2, 0)];
    // Its search looks for a host which is not the only one.
    assert_good(&lab, &pages[..1]);
    let page = text(&lab, "few.html");
    assert!(page.contains("Only results with --host node-1."), "the filters are told");
    assert!(page.contains("<h1>8 results of 1 host, "), "{}", &page[..3000]);
}

#[test]
fn without_a_script_the_medians_are_there() {
    let lab = Lab::new();
    let made = Made::new(&lab);
    keep(&lab, (0..30).map(|number| made.document(number)));
    run(&lab, "report --history --store h.sqlite -o all.html").expect_code(0);
    let page = text(&lab, "all.html");
    let summary = page.split_once("<h2>All tests at a glance</h2>").expect("a summary").1;
    assert!(summary.contains("random writes"), "{summary}");
    // Two tests: reads of two rates, and writes.
    assert_eq!(summary.matches("<tr").count(), 3, "{summary}");
    let page = page.replace("http://www.w3.org/2000/svg", "");
    assert!(!page.contains("http://") && !page.contains("https://") && !page.contains(" src="), "no network");
}

#[test]
fn every_document_comes_back() {
    let lab = Lab::new();
    let made = Made::new(&lab);
    keep(&lab, (0..3).map(|number| made.document(number)));
    let mut documents = Vec::new();
    for id in ids(&lab) {
        let shown = run(&lab, &format!("history --store h.sqlite show -Rjson {id}")).expect_code(0);
        documents.push(shown.stdout);
    }
    run(&lab, "report --history --store h.sqlite -o all.html").expect_code(0);
    for number in 1..=3 {
        let back = run(&lab, &format!("render -Rjson all.html#{number}")).expect_code(0).stdout;
        assert!(documents.contains(&back), "byte for byte");
    }
    let on_stdout = run(&lab, "report --history --store h.sqlite -o -").expect_code(0);
    assert!(on_stdout.stdout.ends_with("</html>\n") && on_stdout.stderr.is_empty(), "{}", on_stdout.stderr);
}

/// Documents that cannot be packed well, more than a page holds.
fn large(made: &Made, number: usize) -> Value {
    let mut document = made.document(number);
    let mut state = number as u64 + 1;
    let noise = (0..1_000_000).map(|_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'!' + (state >> 33) as u8 % 90)
    });
    document["result"]["notes"] = json!([noise.filter(|c| !"\\\"".contains(*c)).collect::<String>()]);
    document
}

#[test]
fn large_documents_lie_beside_the_page() {
    let lab = Lab::new();
    let made = Made::new(&lab);
    keep(&lab, (0..6).map(|number| large(&made, number)));
    let id = ids(&lab).remove(0);
    let told = run(&lab, "report --history --store h.sqlite").expect_code(0);
    assert!(told.stderr.contains("history-documents"), "{told}");
    assert_eq!(lab.names(), ["base.json", "h.sqlite", "history-documents", "history.html", "x.dat"]);
    let beside = format!("history-documents/{id}.json");
    let shown = text(&lab, &beside);
    assert_eq!(serde_json::from_str::<Value>(&shown).expect("JSON"), large(&made, 5), "the newest");
    assert!(fs::metadata(lab.path("history.html")).expect("the page").len() < 200_000);
    // What a page that was killed left is completed, and nothing else is touched.
    fs::write(lab.path(&beside), &shown[..1000]).expect("it is written");
    lab.write("history-documents/mine.txt", b"mine");
    run(&lab, "report --history --store h.sqlite").expect_code(0);
    assert!(text(&lab, &beside) == shown && text(&lab, "history-documents/mine.txt") == "mine");
    // A file of somebody else in a document's place, and a link.
    lab.write(&beside, b"not a document");
    let page = lab.read("history.html");
    run(&lab, "report --history --store h.sqlite").refused(3, &[&beside, "this is another file"]);
    assert_eq!(text(&lab, &beside), "not a document");
    fs::remove_file(lab.path(&beside)).expect("it was there");
    lab.write("elsewhere", b"");
    symlink(lab.path("elsewhere"), lab.path(&beside)).expect("a link");
    run(&lab, "report --history --store h.sqlite").refused(3, &[&beside, "this is another file"]);
    assert_eq!(text(&lab, "elsewhere"), "", "nobody wrote through the link");
    assert!(lab.read("history.html") == page, "the page is as it was");
    fs::remove_dir_all(lab.path("history-documents")).expect("it was there");
    symlink(lab.work(), lab.path("history-documents")).expect("a link");
    run(&lab, "report --history --store h.sqlite").refused(3, &["history-documents", "this is no folder"]);
}

#[test]
fn hostile_results_stay_text() {
    let lab = Lab::new();
    let made = Made::new(&lab);
    let attack =
        "</script><script>document.title='stolen'</script><img src=x onerror=alert(1)>\u{202e}\u{1b}[2J\"'";
    let mut documents: Vec<Value> = (0..12).map(|number| made.document(number)).collect();
    for document in documents.iter_mut().step_by(2) {
        let result = &mut document["result"];
        result["command_line"] = json!(["truespd", attack]);
        for name in ["computer_name", "kernel_release", "machine_model", "processor_name", "power_scheme"] {
            result["system"][name] = attack.into();
        }
        result["profile"]["time_spans"][0]["targets"][0]["path"] = attack.into();
        let evidence = &mut result["time_spans"][0]["measured"]["evidence"]["targets"][0];
        evidence["layers"] = json!([{"name": attack, "model": attack, "firmware": attack}]);
        for name in ["filesystem", "mount_options", "scheduler", "write_cache"] {
            evidence[name] = attack.into();
        }
    }
    // Clocks that jumped, and one that cannot be shown.
    documents[2]["result"]["system"]["start_unix_s"] = i64::MAX.into();
    documents[3]["result"]["system"]["start_unix_s"] = (-5).into();
    documents[5]["result"]["system"]["start_unix_s"] = 4_000_000_000_i64.into();
    keep(&lab, documents);
    run(&lab, "report --history --store h.sqlite -o all.html").expect_code(0);
    let page = text(&lab, "all.html");
    assert!(!page.contains("<script>document") && !page.contains("<img") && !page.contains('\u{202e}'));
    assert_good(&lab, &[("all.html", 2, 0)]);
}

#[test]
fn two_machines_of_one_name_are_two() {
    let lab = Lab::new();
    let made = Made::new(&lab);
    let mut documents: Vec<Value> = (0..12).map(|number| made.document(number)).collect();
    for (number, document) in documents.iter_mut().enumerate() {
        document["result"]["system"]["computer_name"] = "localhost".into();
        document["result"]["system"]["machine_model"] = if number < 6 { "A" } else { "B" }.into();
    }
    keep(&lab, documents);
    run(&lab, "report --history --store h.sqlite -o all.html").expect_code(0);
    assert!(text(&lab, "all.html").contains("12 results of 2 hosts"));
}

#[test]
fn refusals_lose_nothing() {
    let lab = Lab::new();
    run(&lab, "report --history --store h.sqlite").refused(3, &["h.sqlite"]);
    let made = Made::new(&lab);
    keep(&lab, [made.document(0)]);
    run(&lab, "report --history --store h.sqlite --host nobody")
        .refused(3, &["no kept result matches --host nobody", "truespd history list"]);
    run(&lab, "report --host node-0 base.json")
        .refused(3, &["--host node-0 is for a page over the history", "--history"]);
    run(&lab, "report --history base.json").refused(3, &["--history"]);
    run(&lab, "report --history --svg a.svg").refused(3, &["--history"]);
    run(&lab, "report --history --store h.sqlite --open -o -").refused(3, &["--open needs a file"]);
    run(&lab, "report base.json --open -o -").refused(3, &["--open needs a file"]);
    run(&lab, "report --store h.sqlite base.json").refused(3, &["--history"]);
    run(&lab, "report --history --store h.sqlite -o h.sqlite").refused(3, &["h.sqlite"]);
    assert_eq!(lab.names(), ["base.json", "h.sqlite", "x.dat"]);
    lab.write("history.html", b"mine");
    run(&lab, "report --history --store h.sqlite")
        .refused(3, &["--output history.html: this file does not hold a page of TrueSpd"]);
    assert_eq!(lab.read("history.html"), b"mine");
    // A run that failed has no figures.
    let failed = format!("{}/tests/data/documents/v1/sim-failed.json", crate::support::ROOT);
    run(&lab, &format!("history --store failed.sqlite import {failed}")).expect_code(0);
    run(&lab, "report --history --store failed.sqlite -o x.html").refused(3, &["has figures"]);
    lab.write("text.sqlite", b"no history");
    run(&lab, "report --history --store text.sqlite -o x.html").refused(3, &["text.sqlite"]);
}

#[test]
fn the_browser_of_the_person_opens_the_page() {
    let lab = Lab::new();
    let made = Made::new(&lab);
    keep(&lab, [made.document(0)]);
    lab.write("browser", b"#!/bin/sh\nprintf %s \"$1\" > \"$(dirname \"$0\")/told\"\n");
    fs::set_permissions(lab.path("browser"), fs::Permissions::from_mode(0o755)).expect("it is ours");
    let ran = run(&lab, "report --history --store h.sqlite -o a.html --open");
    let ran = ran.expect_code(0);
    // These tests run as root, who starts no browser.
    assert!(
        ran.stderr.contains("no browser is started as root") || ran.stderr.contains("no display"),
        "{ran}"
    );
}

#[test]
fn the_check_sees_what_is_wrong_with_a_history() {
    let lab = Lab::new();
    let made = Made::new(&lab);
    keep(&lab, (0..40).map(|number| made.document(number)));
    run(&lab, "report --history --store h.sqlite -o all.html").expect_code(0);
    let page = text(&lab, "all.html");
    let bad = page
        .replace("wanted.every(", "!wanted.every(")
        .replace("state.chosen = row;", "state.chosen = null;");
    assert_ne!(bad, page);
    lab.write("bad.html", bad.as_bytes());
    let Some(found) = checked(&lab, &["bad.html"]) else { return };
    let wrong = found[0]["wrong"].to_string();
    for sort in ["search: ", "chosen: "] {
        assert!(wrong.contains(sort), "{sort}: {wrong}");
    }
}
