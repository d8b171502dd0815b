//! Several documents on one page: compare's table, what else differs, names, and reasons that are told once.

use std::process::Command;

use crate::support::killed::run;
use crate::support::program::{Lab, keeps_nothing};

/// A minute in intervals of a second; a simulated run takes no time.
const RUN: &str = "-c64M -b4K -o2 -t2 -L -D1000 -r -w30 -W0 -d60";

/// A stored run of a simulated storage with this latency.
fn stored(lab: &Lab, name: &str, latency: &str, options: &str) {
    let line = format!("run --json {name} --engine sim:latency={latency},jitter=exp {RUN} {options} x.dat");
    run(lab, &line).expect_code(0);
}

fn page(lab: &Lab, words: &str) -> String {
    run(lab, &format!("report {words} -o page.html")).expect_code(0);
    String::from_utf8(lab.read("page.html")).expect("text")
}

#[track_caller]
fn assert_holds(page: &str, parts: &[&str]) {
    for part in parts {
        assert!(page.contains(part), "{part}");
    }
}

#[test]
fn two_runs_have_the_table_of_compare() {
    let lab = Lab::new();
    stored(&lab, "before.json", "2ms", "");
    stored(&lab, "after.json", "1500us", "");
    let page = page(&lab, "before.json after.json");
    assert_holds(
        &page,
        &["after (B) against before (A)", "95 % interval", ">better</td>", "svg class=\"gap better\""],
    );
    // The same words as on the terminal.
    let text = run(&lab, "compare before.json after.json").expect_code(0).stdout;
    let line = text.lines().find(|line| line.starts_with("iops")).expect("a line");
    let percent = line.split_whitespace().find(|word| word.starts_with('+')).expect("a difference");
    assert!(page.contains(&format!(">{percent}&nbsp;%</td>")), "{line}");
    assert_holds(&page, &["Nothing else differs"]);
    // What both have stands once.
    assert_eq!(page.matches("<summary>simulated</summary>").count(), 1);
    assert_holds(&page, &["invalid, in all of them"]);
}

#[test]
fn what_else_differs_is_told() {
    let lab = Lab::new();
    stored(&lab, "before.json", "2ms", "");
    let text = String::from_utf8(lab.read("before.json")).expect("text");
    let mut other: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let document = other.as_object_mut().expect("an object").values_mut().find(|member| member.is_object());
    document.expect("the result")["system"]["kernel_release"] = "9.9.9-other".into();
    lab.write("after.json", other.to_string().as_bytes());
    let page = page(&lab, "before.json after.json");
    assert_holds(&page, &["What else differs", "9.9.9-other", "settings of all"]);
}

#[test]
fn unlike_runs_are_not_compared_until_the_person_says_so() {
    let lab = Lab::new();
    stored(&lab, "a.json", "2ms", "");
    stored(&lab, "b.json", "2ms", "-b8K");
    let refused = page(&lab, "a.json b.json");
    let why = "There is no table of differences: A and B ran different profiles.";
    assert_holds(&refused, &[why, "block size in bytes (-b): 4096 and 8192", "--unlike=profile"]);
    assert!(!refused.contains("95 % interval"));
    let compared = page(&lab, "a.json b.json --unlike=profile");
    assert_holds(&compared, &["95 % interval", "What else differs"]);
    run(&lab, "report a.json b.json --unlike=nothing -o page.html")
        .refused(3, &["--unlike", "profile, targets, all"]);
    let twice = page(&lab, "a.json a.json");
    assert_holds(&twice, &["is the same run as", "a (1)", "a (2)"]);
}

#[test]
fn many_runs_are_compared_with_the_first() {
    let lab = Lab::new();
    for (name, latency) in [("a", "2ms"), ("b", "1500us"), ("c", "2500us"), ("d", "2ms"), ("e", "2ms")] {
        stored(&lab, &format!("{name}.json"), latency, "-z7");
    }
    stored(&lab, "d.json", "2ms", "-z8");
    stored(&lab, "e.json", "2ms", "-z9");
    let page = page(&lab, "a.json b.json c.json d.json e.json");
    assert_holds(
        &page,
        &["Compared with a", "Differences at a glance", "c (B) against a (A)", ", worse</td>"],
    );
    assert_eq!(page.matches("<summary>simulated</summary>").count(), 1);
}

#[test]
fn files_of_one_name_are_told_apart_by_their_folders() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("old")).expect("a folder");
    stored(&lab, "old/run.json", "2ms", "");
    stored(&lab, "run.json", "1500us", "");
    let long = lab.path("old/run.json");
    let page = page(&lab, &format!("{} run.json", long.display()));
    assert_holds(&page, &[": old/run and run</h1>"]);
    let shown = page.split("application/vnd").next().expect("a page");
    let shown: Vec<&str> = shown.split("<h2>Machine and settings").collect();
    assert!(!shown[0].contains(&lab.work().display().to_string()), "no long path");
}

#[test]
fn kept_runs_are_called_by_their_label_which_is_their_side() {
    let lab = Lab::new();
    let kept = |line: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_truespd"));
        keeps_nothing(&mut command, &lab.path("home"));
        command.env_remove("TRUESPD_HISTORY").current_dir(lab.work()).args(line.split(' '));
        let output = command.output().expect("the program starts");
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    };
    for (label, latency, seed) in
        [("before", "2ms", 1), ("before", "2ms", 2), ("after", "1500us", 1), ("after", "1500us", 2)]
    {
        kept(&format!(
            "run --label {label} --engine sim:latency={latency},jitter=exp,seed={seed} {RUN} -z{seed} x.dat"
        ));
    }
    kept("report before after -o page.html");
    let page = String::from_utf8(lab.read("page.html")).expect("text");
    assert_holds(&page, &["after (B) against before (A)", "(2 runs, at worst"]);
    assert!(!page.contains("one run on each side"), "they are groups");
    kept("report after -o page.html");
}
