//! Words from outside (names of files, documents, hosts) that would act on a terminal or look like other text.

use std::os::unix::ffi::OsStrExt;

use crate::support::killed;
use crate::support::program::{Lab, Ran};

/// Clears a screen, in 7 and in 8 bits; turns the direction of writing; takes no room; ends a line for some programs.
const BAD: &str = "\u{1b}[2J\u{9b}2J\u{202e}\u{2066}\u{200b}\u{200f}\u{61c}\u{2028}\u{2029}\u{85}\u{feff}";

/// What may be in a text for people beside what is seen.
fn acts(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\t'))
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[track_caller]
fn assert_harmless(ran: &Ran) {
    for (name, text) in [("standard output", &ran.stdout), ("standard error", &ran.stderr)] {
        if let Some(at) = text.find(acts) {
            let from = text[..at].char_indices().rev().nth(40).map_or(0, |(at, _)| at);
            panic!("{}: {name}: {:?}", ran.line.escape_debug(), &text[from..at + 4]);
        }
    }
}

#[test]
fn whatever_is_printed_acts_on_nothing() {
    let lab = Lab::new();
    let name = format!("f{BAD}\nERROR: no");
    let other = format!("{BAD}.json");
    let mut command =
        lab.command("-v -c1M -d1 -W0 -b4K -w50 -r -g100i -L -t2 --json r.json --csv r.csv --xml r.xml");
    command.arg(&name);
    let ran =
        crate::support::program::Running::new(command, "on a file with such a name").finish().expect_code(0);
    assert_harmless(&ran);
    assert!(ran.stdout.contains("\\u{1b}[2J\\u{9b}2J\\u{202e}"), "{ran}");
    assert!(!ran.stderr.contains("\nERROR") && !ran.stdout.contains("\nERROR"), "no line of its own\n{ran}");
    // Readers get the name as it is.
    let json = String::from_utf8(lab.read("r.json")).expect("text");
    let document: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(document["result"]["profile"]["time_spans"][0]["targets"][0]["path"], name.as_str());
    let xml = String::from_utf8(lab.read("r.xml")).expect("text");
    let csv = String::from_utf8(lab.read("r.csv")).expect("text");
    for (what, text) in [("json", &json), ("xml", &xml), ("csv", &csv)] {
        assert!(!text.contains(acts), "{what}: {:?}", &text[text.find(acts).unwrap_or(0)..][..20]);
    }
    roxmltree::Document::parse(&xml).expect("XML");
    assert_eq!(csv.lines().count(), 5, "a head, two threads, two directions\n{csv}");
    std::fs::copy(lab.path("r.json"), lab.path(&other)).expect("a copy");
    for line in [
        "render",
        "render -Rxml",
        "render -Rjson",
        "render -Rcsv",
        "judge",
        "merge --force r.json",
        "inspect",
    ] {
        let mut command = killed::truespd(&lab, line);
        command.arg(if line == "inspect" { &name } else { &other });
        let ran = crate::support::program::Running::new(command, line).finish().expect_code(0);
        assert_harmless(&ran);
    }
}

/// Refusals repeat what was typed.
#[test]
fn whatever_is_refused_acts_on_nothing() {
    let lab = Lab::new();
    lab.write("f", &[0; 65536]);
    let bad = std::ffi::OsStr::from_bytes(BAD.as_bytes());
    let with = |prefix: &str| {
        let mut word = std::ffi::OsString::from(prefix);
        word.push(bad);
        word
    };
    for words in [
        vec![with("-q")],
        vec![with("-b")],
        vec![with("-X")],
        vec![with("--json=none/"), "f".into()],
        vec![with("--engine="), "f".into()],
        vec![with("-ye")],
        vec!["-Z1M,none".into(), with("none")],
        vec![with("--overwrite="), "f".into()],
        vec!["-w100".into(), with("f")],
    ] {
        let mut command = lab.command("");
        command.args(&words);
        let ran = crate::support::program::Running::new(command, "refused").finish();
        assert_ne!(ran.status.code(), Some(0), "{words:?} {ran}");
        assert_harmless(&ran);
    }
    for line in [
        "",
        "render",
        "judge",
        "merge",
        "mark",
        "assess",
        "inspect",
        "schema",
        "workload",
        "workload beside",
        "find-max",
        "sweep",
        "sustain",
        "ab",
        "study",
    ] {
        let mut command = killed::truespd(&lab, line);
        command.arg(bad);
        let ran = crate::support::program::Running::new(command, line).finish();
        assert_ne!(ran.status.code(), Some(0), "{line} {ran}");
        assert_harmless(&ran);
    }
}
