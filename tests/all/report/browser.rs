//! Pages in a browser: nothing on its console, nothing out of the window, nothing over something else, values at the
//! pointer and the keys. The page is looked at in frames as wide as a screen and as a phone.

use std::process::{Command, Stdio};

use serde_json::Value;

use super::hosts::sum_of;
use crate::support::killed::{run, truespd};
use crate::support::needs::{Need, has};
use crate::support::program::{Lab, Running};

const CHECK: &str = include_str!("check.js");
const WIDTHS: [u32; 2] = [1280, 390];

/// What the browser printed: the page after its scripts ran, and its log.
fn browse(lab: &Lab, page: &str) -> Option<(String, String)> {
    has(&[Need::Tool("chromium")]).then_some(())?;
    let home = lab.path("browser");
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--no-proxy-server"])
        .args([
            "--enable-logging=stderr",
            "--virtual-time-budget=10000",
            "--window-size=1400,1000",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", home.display()))
        .arg(format!("file://{}", lab.path(page).display()))
        .envs([("HOME", &home), ("XDG_CONFIG_HOME", &home), ("XDG_CACHE_HOME", &home)])
        .stdin(Stdio::null())
        .output();
    let output = output.expect("chromium starts");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Some((text(output.stdout), text(output.stderr)))
}

/// The console's lines of a log.
fn console(log: &str) -> Vec<&str> {
    log.lines().filter(|line| line.contains(":CONSOLE")).collect()
}

/// Frames around pages, all that wide, as they are.
fn frames(pages: &[String], width: u32) -> String {
    let frame = |page: &String| {
        format!("<iframe src=\"{page}\" style=\"width:{width}px;height:900px;border:0\"></iframe>\n")
    };
    pages.iter().map(frame).collect()
}

/// What the check says of each page at each width.
pub(super) fn checked(lab: &Lab, pages: &[&str]) -> Option<Vec<Value>> {
    let mut copies = Vec::new();
    for page in pages {
        let text = String::from_utf8(lab.read(page)).expect("text");
        let begin = text.find("script-src '").expect("a policy");
        let end = begin + text[begin..].find(';').expect("the next rule");
        let opened = format!("{}script-src 'unsafe-inline'{}", &text[..begin], &text[end..]);
        let checked = opened.replacen("<title>", &format!("<script>{CHECK}</script><title>"), 1);
        copies.push(format!("checked-{page}"));
        lab.write(&copies[copies.len() - 1], checked.as_bytes());
    }
    let around = format!(
        "<!doctype html><title>nothing</title><script>const all = []; addEventListener('message', (event) => \
         {{ all.push(event.data); document.title = JSON.stringify(all); }});</script>{}",
        WIDTHS.map(|width| frames(&copies, width)).concat()
    );
    lab.write("around.html", around.as_bytes());
    let (dom, log) = browse(lab, "around.html")?;
    let title =
        dom.split("<title>").nth(1).and_then(|rest| rest.split("</title>").next()).unwrap_or_default();
    let title = title.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    let found: Vec<Value> =
        serde_json::from_str(&title).unwrap_or_else(|error| panic!("{error}: {title}\n{log}"));
    assert_eq!(found.len(), copies.len() * WIDTHS.len(), "every page at every width\n{found:?}\n{log}");
    Some(found)
}

/// A page, how many charts it has at least, and how many of them are heat maps.
pub(super) type Expected<'p> = (&'p str, u64, u64);

/// Looks at pages.
pub(super) fn assert_good(lab: &Lab, pages: &[Expected]) {
    let names: Vec<String> = pages.iter().map(|(page, ..)| (*page).to_string()).collect();
    lab.write("plain.html", format!("<!doctype html><title>t</title>{}", frames(&names, 1280)).as_bytes());
    let Some((dom, log)) = browse(lab, "plain.html") else { return };
    assert!(dom.contains("iframe"), "{log}");
    assert!(console(&log).is_empty(), "{:?}", console(&log));
    let names: Vec<&str> = pages.iter().map(|(page, ..)| *page).collect();
    let Some(found) = checked(lab, &names) else { return };
    for one in found {
        assert_eq!(one["wrong"], Value::Array(Vec::new()), "{one}");
        let name = one["page"].as_str().expect("a name").trim_start_matches("checked-");
        let (_, plots, heat) = pages.iter().find(|(page, ..)| *page == name).expect("the page");
        assert!(one["plots"].as_u64() >= Some(*plots) && one["shown"] == one["plots"], "{one}");
        assert_eq!(one["heat"].as_u64(), Some(*heat), "{one}");
    }
}

/// A page of stored documents of a folder of the repository.
fn page_of(lab: &Lab, page: &str, folder: &str, documents: &[&str]) {
    let folder = format!("{}/tests/data/documents/{folder}", crate::support::ROOT);
    let words: Vec<String> = documents.iter().map(|document| format!("{folder}/{document}.json")).collect();
    run(lab, &format!("report {} -o {page}", words.join(" "))).expect_code(0);
}

#[test]
fn pages_of_runs_are_good_in_a_browser() {
    let lab = Lab::new();
    run(&lab, "run --json a.json -c4M -b4K -o2 -t2 -L -D100 -r -w30 -W1 -C1 -d2 a.dat b.dat").expect_code(0);
    run(&lab, "report a.json -o a.html").expect_code(0);
    run(&lab, "run --json b.json -b64K -s -W0 -d1 a.dat").expect_code(0);
    run(&lab, "report b.json -o b.html").expect_code(0);
    let words = "-c64M -b4K -o4 -L -r -w30 -W0 -d5 --until-steady x.dat";
    run(&lab, &format!("run --engine sim:latency=2ms --json steady.json {words}")).expect_code(0);
    run(&lab, "report steady.json -o steady.html").expect_code(0);
    page_of(&lab, "spans.html", "v1", &["sim-two-time-spans"]);
    page_of(&lab, "failed.html", "v1", &["sim-failed"]);
    page_of(&lab, "layers.html", "v1", &["layers-in-words"]);
    page_of(&lab, "merged.html", "v1", &["merged-two-processes"]);
    page_of(&lab, "paced.html", "v1", &["real-paced-reads"]);
    sum_of(&lab, 10);
    run(&lab, "report sum.json -o hosts.html").expect_code(0);
    let few = ["spans.html", "paced.html"].map(|page| (page, 1, 0));
    let none = ["failed.html", "layers.html", "merged.html"].map(|page| (page, 0, 0));
    let ours = [("a.html", 6, 2), ("b.html", 1, 0), ("hosts.html", 5, 2), ("steady.html", 7, 2)];
    assert_good(&lab, &[ours.as_slice(), &few, &none].concat());
}

#[test]
fn pages_of_several_documents_are_good_in_a_browser() {
    let lab = Lab::new();
    let sim = "-c64M -b4K -o1 -t2 -L -D1000 -r -W0";
    for (name, latency) in [("one", "2ms"), ("two", "1800us"), ("three", "2100us")] {
        run(
            &lab,
            &format!("run --json {name}.json --engine sim:latency={latency},jitter=exp {sim} -d600 x.dat"),
        )
        .expect_code(0);
    }
    run(&lab, &format!("run --json unlike.json --engine sim:latency=2ms {sim} -o3 -d300 a-name-which-is-long-enough-to-break-a-line-on-a-phone.dat"))
        .expect_code(0);
    run(&lab, "report one.json two.json -o two.html").expect_code(0);
    run(&lab, "report one.json two.json three.json -o three.html").expect_code(0);
    run(&lab, "report one.json unlike.json -o unlike.html").expect_code(0);
    let suite = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/documents/suites/workload.json");
    run(&lab, &format!("report one.json two.json three.json unlike.json {suite} one.json -o all.html"))
        .expect_code(0);
    assert_good(
        &lab,
        &[("two.html", 5, 2), ("three.html", 6, 3), ("unlike.html", 5, 2), ("all.html", 10, 5)],
    );
}

#[test]
fn pages_of_suites_are_good_in_a_browser() {
    let lab = Lab::new();
    let suites = [
        ("mark", 0),
        ("assess", 0),
        ("workload", 2),
        ("find-max", 2),
        ("beside", 3),
        ("sweep", 2),
        ("sustain", 3),
        ("pts", 5),
        ("ab", 2),
        ("study", 2),
        ("self-cost", 0),
    ];
    for (suite, _) in suites {
        page_of(&lab, &format!("{suite}.html"), "suites", &[suite]);
    }
    let pages: Vec<(String, u64)> =
        suites.iter().map(|(suite, plots)| (format!("{suite}.html"), *plots)).collect();
    assert_good(&lab, &pages.iter().map(|(page, plots)| (page.as_str(), *plots, 0)).collect::<Vec<_>>());
}

#[test]
fn a_sweep_over_three_switches_is_good_in_a_browser() {
    let lab = Lab::new();
    lab.write("f", &[0; 1 << 20]);
    let mut command = truespd(&lab, "");
    command.args(["sweep", "--engine sim:latency=1ms,channels=8 -r -d1 -W0", "f"]);
    command.args(["--over", "o=1..256", "--over", "mix=4K:100;4K:50,64K:50", "--over", "t=1,2"]);
    command.args(["--budget", "1", "--json", "sweep.json"]);
    Running::new(command, "sweep").finish().expect_code(0);
    run(&lab, "report sweep.json -o sweep.html").expect_code(0);
    assert_good(&lab, &[("sweep.html", 2, 0)]);
}

#[test]
fn the_check_sees_what_is_wrong() {
    let lab = Lab::new();
    run(&lab, "run --json a.json --engine sim:latency=2ms -c4M -b4K -o1 -L -D1000 -W0 -d5 x.dat")
        .expect_code(0);
    run(&lab, "report a.json -o a.html").expect_code(0);
    let page = String::from_utf8(lab.read("a.html")).expect("text");
    let bad = page.replacen("<main>", "<main><p style=\"width:3000px;max-width:none\">wide</p>", 1);
    let bad =
        bad.replace("tip.hidden = false", "tip.hidden = true").replace("class=\"line\"", "class=\"gone\"");
    let bad = bad.replace("</style>", ".cards td { margin-left: -60px; min-width: 300px; }</style>");
    lab.write("bad.html", bad.as_bytes());
    let Some(found) = checked(&lab, &["bad.html"]) else { return };
    let narrow = found.iter().find(|one| one["width"] == WIDTHS[1]).expect("a phone");
    let wrong = narrow["wrong"].to_string();
    for sort in ["wider than the window", "values: ", "empty chart", "cells overlap", "wider than its room"] {
        assert!(wrong.contains(sort), "{sort}: {wrong}");
    }
    // The policy stops a script that is not the page's own.
    let Some((_, log)) = browse(&lab, "bad.html") else { return };
    assert!(!console(&log).is_empty(), "a changed script does not run");
}
