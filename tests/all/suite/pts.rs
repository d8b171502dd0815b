//! `truespd pts` on a simulated drive with a law of flash: fresh, cliff, steady; refusals, and going on after a stop.

use crate::support::killed::{assert_renders, truespd};
use crate::support::program::{Lab, Ran, Running};
use serde_json::Value;

/// A drive whose writes become four times as slow.
const DRIVE: &str = "--engine sim:latency=2ms,write_latency=1ms,channels=4,ftl=4ms+2M --seconds 1";

fn pts(lab: &Lab, words: &str) -> Ran {
    let mut command = truespd(lab, "pts");
    command.args(words.split(' '));
    Running::new(command, &format!("pts {words}")).finish()
}

fn drive(lab: &Lab, bytes: u64) {
    lab.write("f", &[]);
    std::fs::File::options().write(true).open(lab.path("f")).expect("made").set_len(bytes).expect("longer");
}

fn stored(lab: &Lab) -> Value {
    serde_json::from_slice::<Value>(&lab.read("out.json")).expect("JSON")["pts"].clone()
}

/// IOPS of the only cell of a stage in each round.
fn iops(stage: &Value) -> Vec<f64> {
    let rounds = stage["rounds"].as_array().expect("rounds");
    rounds.iter().map(|round| round[0]["iops"].as_f64().expect("a number")).collect()
}

#[test]
fn a_drive_is_saturated_from_fresh_over_the_cliff_and_goes_on_after_a_stop() {
    let lab = Lab::new();
    drive(&lab, 64 << 20);
    let words = format!(
        "wsat f --overwrite f {DRIVE} --threads 1 --outstanding 4 --endurance 1TB --json out.json --csv out.csv --keep kept"
    );
    let ran = pts(&lab, &words).expect_code(0);
    assert!(ran.stderr.contains("until 4 x the capacity has been written, 256 MiB"), "{ran}");
    assert!(ran.stderr.contains("purge: a file cannot be purged"), "{ran}");
    assert_renders(&lab, &ran, "out.json");
    let told = stored(&lab);
    let stages = told["parts"][0]["stages"].as_array().expect("stages");
    let samples = iops(&stages[0]);
    // 4,000 writes of 4 KiB a second, until 66 MiB are written; four times as long in the end.
    assert!((samples[0] - 4000.0).abs() < 40.0 && (samples[2] - 4000.0).abs() < 40.0, "fresh: {samples:?}");
    let last = samples[samples.len() - 1];
    assert!(samples[5] < 2500.0 && last < 1300.0, "the cliff and the end: {samples:?}");
    let written: f64 = samples.iter().map(|iops| iops * 4096.0).sum();
    assert!((256e6..290e6).contains(&written), "four times the capacity: {written}");
    assert!(told["parts"][0]["preconditioned"].is_null(), "not before a saturation");
    let bars = stages[1]["response_times"]["bars"].as_array().expect("bars");
    let ios: u64 = bars.iter().map(|bar| bar["ios"].as_u64().expect("a number")).sum();
    assert!(ios > 18_000, "20 s of 1,000: {ios}");
    let csv = String::from_utf8(lab.read("out.csv")).expect("text");
    assert_eq!(csv.lines().count(), samples.len() + 2, "{csv}");
    // The last runs are missing, as after a kill.
    let mut kept: Vec<_> =
        std::fs::read_dir(lab.path("kept")).expect("a folder").flatten().map(|it| it.path()).collect();
    kept.sort();
    for path in &kept[kept.len() - 2..] {
        std::fs::remove_file(path).expect("removed");
    }
    let again = pts(&lab, &format!("{words} --resume")).expect_code(0);
    assert_eq!(again.stderr.matches("kept from before").count(), kept.len() - 2, "{again}");
    let resumed = iops(&stored(&lab)["parts"][0]["stages"][0]);
    assert_eq!(resumed[..samples.len() - 1], samples[..samples.len() - 1]);
}

#[test]
fn rounds_end_when_all_tracking_variables_are_steady() {
    let lab = Lab::new();
    drive(&lab, 64 << 20);
    let words = format!("throughput f --overwrite f {DRIVE} --part 128K --json out.json --require steady");
    let ran = pts(&lab, &words).expect_code(0);
    assert!(ran.stdout.contains("Steady after 5 rounds, by all tracking variables."), "{ran}");
    let told = stored(&lab);
    assert_eq!(told["parts"].as_array().expect("parts").len(), 1, "of --part");
    let before = &told["parts"][0]["preconditioned"];
    assert!(before["written_bytes"].as_u64() >= Some(128 << 20), "{before}");
    let cells = told["parts"][0]["stages"][0]["cells"].as_array().expect("cells");
    let names: Vec<&str> = cells.iter().map(|cell| cell["name"].as_str().expect("a name")).collect();
    assert_eq!(names, ["SEQ 128 KiB 100/0", "SEQ 128 KiB 0/100"]);
    let line = cells[1]["line"].to_string();
    assert!(line.contains("\"-t1\",\"-o32\"") && line.contains("\"-d1\""), "{line}");
    for says in ["was purged before is not known", "is a file, and not a whole device", "is simulated"] {
        assert!(told["deviations"].to_string().contains(says), "{says}: {told}");
    }
}

#[test]
fn nothing_is_written_without_consent_and_what_is_wrong_is_refused() {
    let lab = Lab::new();
    lab.write("f", &[7; 1 << 20]);
    let ran = pts(&lab, "iops f").expect_code(4);
    assert!(ran.stdout.is_empty() && ran.stderr.contains("--overwrite"), "{ran}");
    assert!(ran.stderr.contains("preconditioning: writes 2 x 1 MiB = 2 MiB"), "{ran}");
    assert!(ran.stderr.contains("rounds: 5 to 25 x 56 runs"), "{ran}");
    for (words, says) in [
        ("speed f", "legal: iops, throughput, latency, wsat, hir, xsr, dirth, cbw"),
        ("throughput f --part 64K", "legal: 1024K, 128K"),
        ("iops f --part 64K", "leave --part out"),
        ("iops f --rounds 4", "a whole number from 5 to 25"),
        ("iops f --endurance 3", "1400TB"),
        ("iops f --class home", "legal: enterprise, client"),
        ("iops f --until-steady", "--until-steady does not go with pts"),
        ("iops f --precondition 2x", "--precondition does not go with pts"),
    ] {
        let ran = pts(&lab, words).expect_code(3);
        assert!(ran.stdout.is_empty() && ran.stderr.replace('\n', " ").contains(says), "{words}: {ran}");
    }
    let printed = pts(&lab, "wsat f --class client --print").expect_code(0);
    assert!(printed.stdout.contains("-b4K -r -w100 -t2 -o16 -f"), "{printed}");
    for test in ["iops", "throughput", "latency", "wsat", "hir", "xsr", "dirth", "cbw"] {
        pts(&lab, &format!("{test} f --print")).expect_code(0);
    }
    assert_eq!((lab.names(), lab.read("f")), (vec!["f".to_string()], vec![7; 1 << 20]));
}
