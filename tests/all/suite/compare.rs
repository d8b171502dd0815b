//! `truespd compare` as a program: stored results of simulated devices.

use std::fs;

use truespd_core::profile::{Profile, Target, TimeSpan};
use truespd_core::result::json::write;
use truespd_core::result::{
    Direction, Document, Measured, System, TargetResult, ThreadResult, TimeSpanResult, Timeline,
    WaitStatistics,
};

use crate::support::killed;
use crate::support::program::Lab;
use crate::support::words::in_one_line;

/// Ten seconds of reads of 4 KiB at about this rate; what is random is so in the same way each time.
fn result(rate: f64, change: impl FnOnce(&mut Document)) -> String {
    let mut state = rate as u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / (1u64 << 24) as f64 - 0.5
    };
    let reads: Vec<u64> = (0..100).map(|_| (rate / 10.0 * (1.0 + 0.1 * next())) as u64).collect();
    let ios: u64 = reads.iter().sum();
    let target = TargetResult {
        path: "t.dat".into(),
        size_bytes: 1 << 30,
        read: Direction { bytes: ios * 4096, ios, ..Direction::default() },
        write: Direction::default(),
        distribution: None,
        short_transfers: 0,
        ..TargetResult::default()
    };
    let threads =
        vec![ThreadResult { id: 0, source: None, targets: vec![target], waits: WaitStatistics::default() }];
    let mut measured =
        Measured { test_time_s: 10.0, threads, engine: "io_uring".into(), ..Measured::default() };
    measured.evidence.series = Some(Timeline { interval_ns: 100_000_000, reads, writes: Vec::new() });
    let target = Target { path: "t.dat".into(), block_bytes: 4096, ..Target::default() };
    let span = TimeSpan { targets: vec![target], ..TimeSpan::default() };
    let mut document = Document {
        profile: Profile { time_spans: vec![span], ..Profile::default() },
        system: System { kernel_release: "6.1".into(), ..System::default() },
        time_spans: vec![TimeSpanResult::Measured(Box::new(measured))],
        tool_version: "0.1.0".into(),
        ..Document::default()
    };
    change(&mut document);
    write(&document)
}

/// Two folders of three runs each, and one run of each side by itself.
fn lab() -> Lab {
    let lab = Lab::new();
    for (folder, rate) in [("before", 20_000.0), ("after", 17_000.0)] {
        fs::create_dir(lab.path(folder)).expect("made");
        for number in 0..3 {
            let text = result(rate + f64::from(number) * 50.0, |document| {
                if folder == "after" {
                    document.system.kernel_release = "6.8".into();
                }
            });
            lab.write(&format!("{folder}/{number}.json"), text.as_bytes());
        }
    }
    lab.write("a.json", result(20_001.0, |_| ()).as_bytes());
    lab.write("b.json", result(15_001.0, |_| ()).as_bytes());
    lab
}

#[test]
fn two_folders_are_compared_and_gates_decide_the_exit_code() {
    let lab = lab();
    let names = lab.names();
    let ran = killed::run(&lab, "compare before after").expect_code(0);
    for words in ["A: 3 runs: ", "B: 3 runs: ", "\niops ", "-15.0 %", "  worse\n", "\n  kernel: 6.1 and 6.8"]
    {
        assert!(ran.stdout.contains(words), "{words}: {ran}");
    }
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 80), "{ran}");
    for (gates, code, said) in [
        ("--fail-if iops<-5%", 5, "gate iops < -5% failed: the difference is within -1"),
        ("--fail-if iops<-30%", 0, ""),
        ("--fail-if iops<-15%", 0, ""),
        ("--fail-if iops<-15% --markdown", 0, ""),
        ("--fail-if iops<-15% --strict", 5, "cannot be excluded (--strict)"),
        ("--fail-if cpu>5%", 0, ""),
        ("--fail-if cpu>5% --strict", 5, "gate cpu > +5% failed: "),
    ] {
        let ran = killed::run(&lab, &format!("compare before after {gates}")).expect_code(code);
        assert!(ran.stderr.contains(said) && ran.stderr.is_empty() == said.is_empty(), "{gates}: {ran}");
    }
    assert_eq!(lab.names(), names, "nothing is made");
}

#[test]
fn one_run_on_each_side_tells_what_it_cannot_see() {
    let ran = killed::run(&lab(), "compare a.json b.json").expect_code(0);
    for words in ["cannot show how equal runs differ", "the course of each run", "worse", "(--between-runs)"]
    {
        assert!(ran.stdout.contains(words), "{words}: {ran}");
    }
}

#[test]
fn ci_gets_json_junit_and_markdown() {
    let lab = lab();
    let line = "compare --a before --b after/0.json after/1.json --fail-if iops<-5% --fail-if cpu>5% --fail-if bytes<-90%";
    let ran = killed::run(&lab, &format!("{line} --json c.json --junit j.xml --markdown")).expect_code(5);
    for words in ["| metric | A | B |", "| iops | ", "| kernel | 6.1 | 6.8 |", "- iops \\< -5%: failed: "] {
        assert!(ran.stdout.contains(words), "{words}: {ran}");
    }
    let json: serde_json::Value = serde_json::from_slice(&lab.read("c.json")).expect("JSON");
    assert_eq!(json["format"], "truespd-compare");
    let comparison = &json["comparison"];
    assert_eq!(
        (&comparison["metrics"][0]["metric"], &comparison["metrics"][0]["outcome"]),
        (&"iops".into(), &"worse".into())
    );
    assert_eq!(comparison["gates"][1]["held"], "not_tested");
    // The shape that CI systems read: suites > suite with counts > cases with failure or skipped.
    let text = String::from_utf8(lab.read("j.xml")).expect("text");
    let tree = roxmltree::Document::parse(&text).expect("XML");
    let suite = tree.root_element().first_element_child().expect("a suite");
    let names = (tree.root_element().tag_name().name(), suite.tag_name().name());
    assert_eq!(names, ("testsuites", "testsuite"));
    let counts =
        ["tests", "failures", "errors", "skipped"].map(|name| suite.attribute(name).expect("a count"));
    assert_eq!(counts, ["3", "1", "0", "1"]);
    let cases: Vec<_> = suite.children().filter(|node| node.has_tag_name("testcase")).collect();
    let inside = |case: &roxmltree::Node<'_, '_>| {
        case.first_element_child().map(|node| node.tag_name().name().to_string())
    };
    assert_eq!(
        cases.iter().map(inside).collect::<Vec<_>>(),
        [Some("failure".into()), Some("skipped".into()), None]
    );
    assert_eq!(cases[0].attribute("name"), Some("iops < -5%"));
    let ran = killed::run(&lab, &format!("{line} --json -")).expect_code(5);
    assert!(ran.stdout.starts_with("{\n  \"format\": \"truespd-compare\""), "{ran}");
}

/// A gate that is neither shown nor excluded did not pass because all is well.
#[test]
fn what_passes_for_lack_of_proof_says_so_in_every_form() {
    let lab = lab();
    let line = "compare before after --fail-if iops<-15%";
    let says =
        "passed for lack of proof: a loss of 15 % is neither shown nor excluded: the difference is within";
    let ran = killed::run(&lab, &format!("{line} --junit j.xml --json c.json")).expect_code(0);
    let text = in_one_line(&ran.stdout);
    assert!(text.contains(says) && !text.contains("passed, not excluded"), "{ran}");
    let junit = String::from_utf8(lab.read("j.xml")).expect("text");
    assert!(junit.contains(says) && junit.contains("<system-out>"), "{junit}");
    let json: serde_json::Value = serde_json::from_slice(&lab.read("c.json")).expect("JSON");
    let why = json["comparison"]["gates"][0]["why"].as_str().expect("a reason");
    assert!(why.starts_with("a loss of 15 % is neither shown nor excluded"), "{why}");
    let ran = killed::run(&lab, &format!("{line} --markdown")).expect_code(0);
    assert!(ran.stdout.contains(says), "{ran}");
}

/// The cause is told: the word behind `--markdown` was taken for results.
#[test]
fn markdown_takes_no_file() {
    let lab = lab();
    for line in [
        "compare --markdown out.md a.json b.json",
        "compare a.json b.json --markdown out.md",
        "compare --markdown out.md",
        "compare --a a.json --b b.json --markdown out.md",
        "compare --markdown out.md --a a.json --b b.json",
    ] {
        let ran = killed::run(&lab, line).refused(3, &["--markdown takes no file", "> FILE keeps that"]);
        drop(ran.says_not(&["cannot be used with"]));
    }
    assert!(!lab.path("out.md").exists());
}

/// What programs and CI systems read, word by word.
#[test]
fn forms_of_a_comparison() {
    let lab = lab();
    let recorded = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/documents/v1");
    for name in ["sim-random-mix-L-D.json", "real-paced-reads.json"] {
        lab.write(name, &fs::read(format!("{recorded}/{name}")).expect("kept with the tests"));
    }
    let groups = "before after --fail-if iops<-5% --fail-if bytes<-90% --fail-if cpu>5%";
    let recorded = "sim-random-mix-L-D.json real-paced-reads.json --unlike --fail-if p99>10%";
    for (name, words, code) in [("groups", groups, 5), ("recorded", recorded, 0)] {
        let line = format!("compare {words} --json {name}.out --junit {name}.xml --markdown");
        let markdown = killed::run(&lab, &line).expect_code(code).stdout;
        let text = |file: String| {
            let text = String::from_utf8(lab.read(&file)).expect("text");
            text.replace(
                &format!("\"tool_version\": \"{}\"", env!("CARGO_PKG_VERSION")),
                "\"tool_version\": VERSION",
            )
        };
        insta::assert_snapshot!(format!("{name}_markdown"), markdown);
        insta::assert_snapshot!(format!("{name}_json"), text(format!("{name}.out")));
        insta::assert_snapshot!(format!("{name}_junit"), text(format!("{name}.xml")));
    }
}

/// A stored comparison is shown as it was printed. Commands that want runs say what it is, and what to name instead.
#[test]
fn a_stored_comparison_is_shown_and_not_judged() {
    let lab = lab();
    let printed = killed::run(&lab, "compare before after --json c.json").expect_code(0).stdout;
    for line in ["render c.json", "render -Rtext c.json", "show c.json"] {
        assert_eq!(killed::run(&lab, line).expect_code(0).stdout, printed, "{line}");
    }
    let stored = killed::run(&lab, "render -Rjson c.json").expect_code(0).stdout;
    assert!(stored.as_bytes() == lab.read("c.json"), "byte for byte");
    let page = killed::run(&lab, "report c.json -o -").expect_code(0).stdout;
    assert!(page.contains("Comparison of results by TrueSpd") && page.contains("A: 3 runs"), "on a page");
    let what = "'c.json' is a comparison of results by TrueSpd";
    let instead = "name the results that it compares; truespd render shows the comparison itself";
    for line in ["judge c.json", "compare c.json before", "history import c.json"] {
        killed::run(&lab, line).refused(3, &[what, instead]);
    }
    killed::run(&lab, "render -Rxml c.json")
        .refused(3, &[what, "which has no such form", "-Rtext or -Rjson"]);
    lab.write("cut.json", &lab.read("c.json")[..200]);
    killed::run(&lab, "render cut.json").refused(3, &["'cut.json' is "]);
    let damaged =
        String::from_utf8(lab.read("c.json")).expect("text").replace("\"margin_percent\"", "\"margin\"");
    lab.write("damaged.json", damaged.as_bytes());
    killed::run(&lab, "render damaged.json")
        .refused(3, &["is no comparison of results by TrueSpd, or not a whole one", "margin_percent"]);
}

#[test]
fn what_cannot_be_compared_is_refused_and_nothing_is_made() {
    let lab = lab();
    lab.write("damaged.json", &lab.read("a.json")[..300]);
    lab.write(
        "other.json",
        result(20_500.0, |of| of.profile.time_spans[0].targets[0].block_bytes = 8192).as_bytes(),
    );
    let suite = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/documents/suites/mark.json");
    lab.write("mark.json", &fs::read(suite).expect("kept with the tests"));
    fs::create_dir(lab.path("empty")).expect("made");
    let names = lab.names();
    for (line, says) in [
        ("a.json damaged.json", &["'damaged.json' is not a TrueSpd result, or is incomplete"][..]),
        ("a.json none.json", &["'none.json' cannot be read: No such file"]),
        (
            "a.json mark.json",
            &["'mark.json' is a result of truespd mark, not the result of a run", "--keep FOLDER"],
        ),
        ("a.json empty", &["'empty' has no .json file"]),
        ("a.json a.json", &["'a.json' is the same run as 'a.json'"]),
        ("before before/0.json", &["'before/0.json' is the same run as 'before/0.json'"]),
        (
            "a.json other.json",
            &[
                "A and B ran different profiles",
                "block size in bytes (-b): 4096 and 8192",
                "--unlike=profile",
            ],
        ),
        ("a.json", &["two sides are compared, and 1 is given"]),
        ("a.json b.json other.json", &["two sides are compared, and 3 are given", "--a FILE... --b FILE..."]),
        ("--a a.json", &["--b"]),
        ("a.json b.json --fail-if speed<5%", &["'speed' is no metric; legal: iops, bytes, latency"]),
        ("a.json b.json --fail-if iops<5", &["'5' is no percentage"]),
        ("a.json b.json --fail-if iops", &["METRIC < PERCENT%"]),
        ("a.json b.json --strict", &["--fail-if"]),
        ("a.json b.json --junit j.xml", &["--fail-if"]),
        ("a.json b.json --margin 0", &["more than 0"]),
        ("a.json b.json --json a.json", &["--json a.json", "tested or read"]),
        ("a.json b.json --json no/x.json", &["no file can be made", "No such file"]),
        ("a.json b.json --time-span 2", &["'a.json' has no time span 2"]),
    ] {
        killed::run(&lab, &format!("compare {line}")).refused(3, says);
    }
    assert_eq!(lab.names(), names);
    killed::run(&lab, "compare a.json other.json --unlike=targets").refused(3, &["different profiles"]);
    for allowed in ["--unlike", "--unlike=profile"] {
        let ran = killed::run(&lab, &format!("compare a.json other.json {allowed}")).expect_code(0);
        assert!(ran.stdout.contains("block size in bytes (-b): 4096 and 8192"), "{ran}");
    }
}
