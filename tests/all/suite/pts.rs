//! `truespd pts` on a simulated drive with a law of flash: fresh, cliff, steady; refusals, and going on after a stop.

use crate::support::killed::{assert_renders, truespd};
use crate::support::needs::{Need, not_run};
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
    lab.run(&format!("-c{bytes} -b4K -d1 -W0 --engine sim:latency=1ms f")).expect_code(0);
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
    let bars = stages[1]["response_times"][0]["bars"].as_array().expect("bars");
    let ios: u64 = bars.iter().map(|bar| bar["ios"].as_u64().expect("a number")).sum();
    assert!(ios > 18_000, "20 s of 1,000: {ios}");
    let csv = String::from_utf8(lab.read("out.csv")).expect("text");
    assert_eq!(csv.lines().count(), samples.len() + 2, "{csv}");
    let names = "part,stage,round,cell,threads,outstanding,iops,bytes_per_s,written_bytes,latency_mean_ns,\
                 latency_p99_999_ns,latency_max_ns\n";
    let second = csv.strip_prefix(names).and_then(|rows| rows.lines().nth(1)).expect("two rows");
    assert!(second.starts_with("RND4K,samples,2,RND 4 KiB 0/100,1,4,"), "{csv}");
    // The last runs are missing, as after a kill.
    let mut kept: Vec<_> =
        std::fs::read_dir(lab.path("kept")).expect("a folder").flatten().map(|it| it.path()).collect();
    kept.sort();
    let (stay, gone) = kept.split_at(kept.len() - 2);
    for path in gone {
        std::fs::remove_file(path).expect("removed");
    }
    // Two hours ago.
    for path in stay {
        let mut document: Value = serde_json::from_slice(&std::fs::read(path).expect("kept")).expect("JSON");
        let start = &mut document["result"]["system"]["start_unix_s"];
        *start = (start.as_i64().expect("a time") - 7200).into();
        std::fs::write(path, document.to_string()).expect("written");
    }
    let again = pts(&lab, &format!("{words} --resume")).expect_code(0);
    assert_eq!(again.stderr.matches("kept from before").count(), kept.len() - 2, "{again}");
    let resumed = iops(&stored(&lab)["parts"][0]["stages"][0]);
    assert_eq!(resumed[..samples.len() - 1], samples[..samples.len() - 1]);
    let told = again.stdout.replace("\n  ", " ");
    let before = format!("min before round {} of 'samples'", samples.len());
    assert!(told.contains("No run was made for 2 h ") && told.contains(&before), "{again}");
    assert!(!ran.stdout.contains("No run was made"), "{ran}");
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
    // Where the file takes no I/Os of 512 bytes, there are fewer.
    let rounds = ["rounds: 5 to 25 x 56 runs", "rounds: 5 to 25 x 49 runs"];
    assert!(rounds.iter().any(|rounds| ran.stderr.contains(rounds)), "{ran}");
    for (words, says) in [
        ("speed f", "legal: iops, throughput, latency, wsat, hir, xsr, dirth, cbw"),
        ("throughput f --part 64K", "legal: 1024K, 128K"),
        ("iops f --part 64K", "leave --part out"),
        ("iops f --rounds 4", "a whole number from 5 to 1440"),
        ("iops f --rounds 26", "a stage of iops has 25 rounds at most"),
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
    assert_eq!(printed.stdout.matches("# all runs without preconditioning").count(), 1, "{printed}");
    let printed = pts(&lab, "iops f --print").expect_code(0);
    assert!(!printed.stdout.contains("all runs without"), "one stage tells it already: {printed}");
    for test in ["iops", "throughput", "latency", "wsat", "hir", "xsr", "dirth", "cbw"] {
        let printed = pts(&lab, &format!("{test} f --print"));
        let is_too_coarse = test == "cbw" && printed.stderr.contains("takes I/Os of 4096 bytes and more");
        assert!(is_too_coarse || printed.status.code() == Some(0), "{printed}");
    }
    assert_eq!((lab.names(), lab.read("f")), (vec!["f".to_string()], vec![7; 1 << 20]));
}

/// A drive so slow that many runs are few I/Os.
const SLOW: &str =
    "--engine sim:latency=20ms,write_latency=20ms,channels=1,ftl=80ms+2M --seconds 1 --rounds 5";

/// Runs a test whole, with all that it writes.
fn whole(test: &str, bytes: u64) -> (Lab, Ran, Value) {
    let lab = Lab::new();
    drive(&lab, bytes);
    whole_in(lab, test)
}

fn whole_in(lab: Lab, test: &str) -> (Lab, Ran, Value) {
    let ran = pts(&lab, &format!("{test} f --overwrite f {SLOW} --json out.json --csv out.csv"));
    let ran = ran.expect_code(0);
    assert_renders(&lab, &ran, "out.json");
    let told = stored(&lab);
    (lab, ran, told)
}

fn csv_lines(lab: &Lab) -> usize {
    String::from_utf8(lab.read("out.csv")).expect("text").lines().count()
}

#[test]
fn bursts_behind_waits_are_compared_with_the_rounds_before() {
    let (lab, ran, told) = whole("hir", 4 << 20);
    let stages = told["parts"][0]["stages"].as_array().expect("stages");
    let names: Vec<&str> = stages.iter().map(|stage| stage["name"].as_str().expect("a name")).collect();
    assert_eq!(names[..4], ["rounds", "wait 5 s", "baseline", "wait 10 s"]);
    assert_eq!((stages.len(), csv_lines(&lab)), (11, 56), "{names:?}");
    assert!(told["parts"][0]["preconditioned"].is_null());
    assert!((stages[9]["wait_s"].as_f64().expect("a number") - 50.0 / 60.0).abs() < 1e-9);
    // Four threads of 12.5 writes a second; a burst ends with what is out.
    let (before, burst) = (iops(&stages[0])[4], iops(&stages[1])[4]);
    assert!((40.0..60.0).contains(&before) && (burst / before - 1.0).abs() < 0.2, "{before} {burst}");
    for says in ["Bursts behind waits, of the IOPS before:", "83.3 ms", "Cells that would have been shorter"]
    {
        assert!(ran.stdout.contains(says), "{says}: {ran}");
    }
    assert!(
        !ran.stdout.replace(told["source"].as_str().expect("words"), "").contains("baseline"),
        "no table for each stage: {ran}"
    );
}

#[test]
fn another_load_is_shown_before_and_behind_each_switch() {
    let (lab, ran, told) = whole("xsr", 4 << 20);
    let stages = told["parts"][0]["stages"].as_array().expect("stages");
    assert_eq!((stages.len(), csv_lines(&lab)), (3, 16));
    let line = stages[1]["cells"][0]["line"].to_string();
    assert!(line.contains("\"-b8K\",\"-r\",\"-w100\",\"-t1\",\"-o32\""), "{line}");
    let [first, random, again] = [0, 1, 2].map(|stage| iops(&stages[stage]));
    assert!(random[4] < random[0] * 0.8, "the more mixed, the slower: {random:?}");
    assert!((again[4] / first[4] - 1.0).abs() < 0.1, "in order again: {first:?} {again:?}");
    for says in ["Before and behind each switch of the load", "The second sequential writes"] {
        assert!(ran.stdout.contains(says), "{says}: {ran}");
    }
}

#[test]
fn demands_of_writes_are_a_table_with_three_histograms() {
    assert_demands("dirth", "RND 4 KiB 0/100");
}

#[test]
fn demands_of_composite_sizes_are_a_table_with_three_histograms() {
    assert_demands("cbw", "RND composite 40/60");
}

fn assert_demands(test: &str, mix: &str) {
    let lab = Lab::new();
    drive(&lab, 4 << 20);
    if test == "cbw" && lab.run("-b512 -d1 -W0 -Su --engine sim:latency=1ms f").status.code() != Some(0) {
        return not_run(Need::SectorIo);
    }
    let (lab, ran, told) = whole_in(lab, test);
    let stages = told["parts"][0]["stages"].as_array().expect("stages");
    let cells = stages[1]["cells"].as_array().expect("cells");
    assert_eq!((cells.len(), csv_lines(&lab)), (50, 1 + 5 + 5 * 50));
    assert_eq!((&cells[0]["is_prewrite"], &cells[1]["name"]), (&true.into(), &mix.into()));
    assert!(cells[0]["line"].to_string().contains("\"-w100\",\"-t32\",\"-o32\""), "{}", cells[0]);
    let times = stages[1]["response_times"].as_array().expect("histograms");
    let of: Vec<u64> = times.iter().map(|one| one["cell"].as_u64().expect("a place")).collect();
    assert!(of.len() == 3 && of[2] == 49 && of[0] < of[1], "the most, a middle, one of one: {of:?}");
    let last = stages[1]["rounds"][4].as_array().expect("cells");
    let rate = |place: u64| last[place as usize]["iops"].as_f64().expect("a number");
    assert!(rate(of[0]) > rate(of[1]) && rate(of[1]) > rate(of[2]), "{of:?}");
    for says in [
        "Mean latency by threads and outstanding I/Os\n",
        "No demand has a mean latency below 5 ms",
        "T1 Q1 ",
        "\nT32  ",
    ] {
        assert!(ran.stdout.contains(says), "{test}, {says}: {ran}");
    }
}
