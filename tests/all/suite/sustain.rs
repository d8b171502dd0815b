//! `truespd sustain` on a simulated drive with a fast area, on a real file, and what it refuses.

use crate::support::devices::{Loop, text};
use crate::support::killed::{assert_renders, truespd};
use crate::support::needs::{Need, has};
use crate::support::program::{Lab, Ran, Running};
use serde_json::Value;

/// 100 MiB/s until 300 MiB are written, then 25 MiB/s; a rest empties 10 MiB in each second after its third.
const DRIVE: &str = "--engine sim:write_latency=10ms,channels=1,slc=40ms+300M+1M";
const MIB: f64 = 1_048_576.0;

fn sustain(lab: &Lab, words: &str) -> Ran {
    let mut command = truespd(lab, "sustain");
    command.args(words.split(' '));
    Running::new(command, &format!("sustain {words}")).finish()
}

fn stored(lab: &Lab) -> Value {
    serde_json::from_slice::<Value>(&lab.read("out.json")).expect("JSON")["sustain"].clone()
}

/// What a phase wrote, in MiB.
fn written(phase: &Value) -> f64 {
    let runs = phase["runs"].as_array().expect("runs");
    runs.iter().map(|run| run["written_bytes"].as_f64().expect("a number")).sum::<f64>() / MIB
}

#[test]
fn the_fast_area_its_rates_and_what_a_rest_brings_back() {
    let lab = Lab::new();
    let words = ". --size 1G --seconds 1 --rests 12 --json out.json --csv out.csv";
    let ran = sustain(&lab, &format!("{words} {DRIVE} --require steady")).expect_code(0);
    assert_renders(&lab, &ran, "out.json");
    let told = stored(&lab);
    assert_eq!(told["ended"], "steady", "{told}");
    let phases = told["phases"].as_array().expect("phases");
    assert_eq!(phases.len(), 2, "{told}");
    // 300 MiB fast, less what is in flight at the end of each run, and five runs of 25 MiB. A little more where the
    // machine was too busy to go on, because the drive rests meanwhile.
    let first = written(&phases[0]);
    assert!(first > 390.0, "{first} MiB");
    let row = |begins: &str| ran.stdout.lines().find(|line| line.trim_start().starts_with(begins));
    let fast = row("0 bytes").expect("the first stretch");
    assert!(fast.contains("MiB/s"), "{fast}");
    assert!(ran.stdout.contains("The last 5 runs of 1 s before the first rest are steady."), "{ran}");
    let fell = ran.stdout.split("The rate fell after ").nth(1).expect("it fell");
    let area: f64 = fell.split(' ').next().expect("a number").parse().expect("a number");
    assert!((270.0..400.0).contains(&area), "{ran}");
    // What the rest emptied, and a part of a run behind it.
    let after = written(&phases[1]);
    assert!((30.0..410.0).contains(&after), "{after} MiB after the rest");
    let told = ran.stdout.split("After a rest of 12 s, ").nth(1).expect("told");
    let again: f64 = told.split(' ').next().expect("a number").parse().expect("a number");
    // 12 MiB in the rest, and a little between runs: the more, the busier the machine.
    assert!((8.0..310.0).contains(&again) && again < after, "{ran}");
    let csv = String::from_utf8(lab.read("out.csv")).expect("text");
    let slices: usize = phases.iter().flat_map(|it| it["runs"].as_array().expect("runs")).count() * 20;
    assert_eq!(csv.lines().count(), slices + 1, "{csv}");
    assert_eq!(lab.names(), ["out.csv", "out.json"], "the file is gone");
}

#[test]
fn a_file_in_free_space_is_written_once_and_removed() {
    let lab = Lab::new();
    let words = ". --size 64M --json out.json --rests 1";
    let ran = sustain(&lab, words).expect_code(0);
    assert_renders(&lab, &ran, "out.json");
    let told = stored(&lab);
    assert!(written(&told["phases"][0]) >= 64.0, "{told}");
    assert!(told["room"]["free_bytes"].as_u64() > Some(0), "{told}");
    // Whether the rate falls is the disk's affair, which other tests use.
    if told["ended"] == "full" {
        assert!(ran.stdout.contains("Writing ended as the range was full."), "{ran}");
    }
    assert_eq!(lab.names(), ["out.json"], "the file is gone");
}

#[test]
fn a_device_is_written_only_with_consent() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(64 << 20);
    let node = text(&device.node);
    let ran = sustain(&lab, node).expect_code(4);
    assert!(ran.stdout.is_empty() && ran.stderr.contains(&format!("--overwrite {node}")), "{ran}");
    let ran = sustain(&lab, &format!("{node} --size 32M")).expect_code(3);
    assert!(ran.stderr.contains("a device is written whole"), "{ran}");
    let words = format!("{node} --overwrite {node} --no-rests --json out.json");
    let ran = sustain(&lab, &words).expect_code(0);
    assert_renders(&lab, &ran, "out.json");
    assert_eq!(stored(&lab)["range_bytes"], 64 << 20);
    assert!(stored(&lab)["room"].is_null(), "no file was made");
}

#[test]
fn what_cannot_be_is_refused_and_nothing_is_made() {
    let lab = Lab::new();
    lab.write("f", &[7; 1 << 20]);
    for (words, says) in [
        (". --size 900T", "do not fit into 50 % of the"),
        (". --max-share 91", "a whole number from 1 to 90"),
        (". --rests 0", "a whole number from 1 to 3600"),
        (". --rests 5 --no-rests", "--no-rests"),
        (". --until-steady", "--until-steady does not go with sustain"),
        (". --precondition 2x", "--precondition does not go with sustain"),
        (". --keep kept --resume", "--resume does not go with sustain"),
        (". --overwrite f", "is a directory"),
        ("f", "/f' is a file"),
        ("none", "none"),
    ] {
        let ran = sustain(&lab, words).expect_code(3);
        assert!(ran.stdout.is_empty() && ran.stderr.replace('\n', " ").contains(says), "{words}: {ran}");
    }
    let printed = sustain(&lab, ". --size 64M --print").expect_code(0);
    assert!(printed.stdout.contains("\ndiskspd -b1M -s -w100 -t1 -o8 "), "{printed}");
    assert!(printed.stdout.contains("then rests of 5, 30, 120, 300 s"), "{printed}");
    assert_eq!((lab.names(), lab.read("f")), (vec!["f".to_string()], vec![7; 1 << 20]));
}
