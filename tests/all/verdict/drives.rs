//! What drives say of themselves is in the document, with the reason where they say nothing. None of the machines that
//! this runs on needs a drive that can be asked; `ci/guest` has such ones.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::devices::{self, Loop, Mount, text};
use crate::support::needs::{Need, has};
use crate::support::program::{Lab, Running};

/// `drives` of a run of these words, and what it said on both streams.
fn drives(lab: &Lab, words: &str, target: &Path) -> (Value, String) {
    let mut command = lab.command(&format!("-W0 -d1 -b4K -r --verdict --json out.json {words}"));
    command.arg(target);
    let seen = Running::new(command, words).finish().expect_code(0);
    let document: Value = serde_json::from_slice(&lab.read("out.json")).expect("JSON");
    fs::remove_file(lab.path("out.json")).expect("was written");
    let measured = &document["result"]["time_spans"][0]["measured"];
    (measured["evidence"]["drives"].clone(), seen.stdout + &seen.stderr)
}

#[test]
fn a_file_in_memory_stands_on_no_drive() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let lab = Lab::new();
    let memory = Mount::new(&["-t", "tmpfs", "none"]);
    let file = memory.point.join("file");
    fs::write(&file, vec![7; 8 << 20]).expect("room");
    let (found, _) = drives(&lab, "-o1", &file);
    assert_eq!(found, json!([]));
    drop(memory);
}

#[test]
fn each_drive_below_tells_or_says_why_not_and_the_text_is_silent_then() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let (lab, device) = (Lab::new(), Loop::new(64 << 20));
    devices::run("mkfs.ext4", &["-q", text(&device.node)]);
    let mount = Mount::new(&[text(&device.node)]);
    let file = mount.point.join("file");
    fs::write(&file, vec![7; 8 << 20]).expect("room");
    let (found, said) = drives(&lab, "-o1", &file);
    for drive in found.as_array().expect("somebody looked") {
        assert!(!drive["name"].as_str().expect("a name").starts_with("loop"), "{drive}");
        let has_both = drive["before"].is_object() && drive["after"].is_object();
        assert_eq!(has_both, drive["untold"].is_null(), "{drive}");
        assert_eq!(has_both, drive["change"].is_object(), "{drive}");
        if !has_both {
            let line = format!("drive   {}:", drive["name"].as_str().unwrap_or_default());
            assert!(!said.contains(&line) && !said.contains("drive-errors"), "{said}");
        }
    }
    drop(mount);
}

/// Engines that move no data ask nobody.
#[test]
fn without_io_nobody_is_asked() {
    let lab = Lab::new();
    fs::write(lab.path("f"), vec![7; 1 << 20]).expect("room");
    for engine in ["null", "sim"] {
        let (found, _) = drives(&lab, &format!("-o1 --engine={engine}"), &lab.path("f"));
        assert_eq!(found, Value::Null, "{engine}");
    }
}
