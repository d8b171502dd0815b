//! `truespd workload beside` on the simulated device and on real files: what the foreground feels, refusals, and that
//! nothing stays.

use crate::support::killed::{assert_renders, journals, scratch_folders, truespd};
use crate::support::program::{Lab, Ran, Running};
use serde_json::Value;

/// One server of 10,000 I/Os per second, which one thread asks for both loads (-F1): each thread has a simulated device
/// of its own.
const SERVER: &str = "--engine sim:latency=100us,channels=1,jitter=exp -F1 -b4K -r -o1 -d1 -W0";

fn beside(lab: &Lab, foreground: &str, background: &str, rest: &str) -> Ran {
    let mut command = truespd(lab, "workload");
    command.arg("beside").args([foreground, background]).args(rest.split(' '));
    Running::new(command, &format!("workload beside '{foreground}' '{background}' {rest}")).finish()
}

/// The mean over the runs of a point.
fn mean(point: &Value, load: &str, figure: &str) -> f64 {
    let runs = point["runs"].as_array().expect("runs");
    let all: Vec<f64> = runs.iter().map(|run| run[load][figure].as_f64().expect("a number")).collect();
    all.iter().sum::<f64>() / all.len() as f64
}

#[test]
fn a_background_hurts_as_much_as_it_runs() {
    let lab = Lab::new();
    lab.write("f", &[0; 1 << 20]);
    let rest = "f --shares 100,0,50 --json out.json --csv out.csv";
    let ran = beside(&lab, SERVER, "-b64K -s -o8", rest).expect_code(0);
    assert!(ran.stderr.contains("the foreground at 3 shares of it, 3 runs of 1 s each"), "{ran}");
    let flat = ran.stdout.replace('\n', " ");
    for says in [
        "background alone: 635 MiB/s, 10,156 IOPS; the shares are of this.",
        "foreground alone: p50 68.0 us, p99 453 us, 10,156 IOPS.",
        "beside 100 % of the background: p50 ",
        "p99 is 3.84 times (3.84 to 3.84) that of alone.",
        "From 50 % on, p99 is longer than alone by 5 % or more, beyond the error of the runs.",
        "At 100 %, the background was asked for 635 MiB/s and reached ",
        "beside the foreground, it got no further.",
    ] {
        assert!(flat.contains(says), "{says}\n{ran}");
    }
    assert!(!flat.contains("At 50 %, the background was asked"), "it reached it: {ran}");
    assert_renders(&lab, &ran, "out.json");
    let stored: Value = serde_json::from_slice(&lab.read("out.json")).expect("JSON");
    assert_eq!(stored["format"], "truespd-beside");
    let told = &stored["beside"];
    let points = told["points"].as_array().expect("points");
    let shares: Vec<u64> =
        points.iter().map(|point| point["share_percent"].as_u64().expect("a share")).collect();
    assert_eq!(shares, [100, 0, 50], "as given");
    let (all, alone, half) = (&points[0], &points[1], &points[2]);
    assert!(alone["asked_iops"].is_null() && alone["runs"][0]["background"].is_null(), "{alone}");
    assert_eq!(half["asked_iops"].as_f64(), Some(5078.0), "half of 10,156");
    // One server has half of its time left.
    let (background, foreground) = (mean(half, "background", "iops"), mean(half, "foreground", "iops"));
    assert!((background / 5078.0 - 1.0).abs() < 0.01 && (foreground / 5078.0 - 1.0).abs() < 0.02, "{half}");
    let p99s = [alone, half, all].map(|point| mean(point, "foreground", "p99_ns"));
    assert!(p99s.is_sorted() && p99s[1] > p99s[0] * 1.5 && p99s[2] > p99s[1] * 1.5, "{p99s:?}");
    // Asked for all of it, it takes what its eight I/Os get beside the one of the foreground.
    let part = mean(all, "background", "iops") / 10_156.0;
    assert!((part - 8.0 / 9.0).abs() < 0.01, "{part}");
    // The maximum comes first, and then nothing is in the order of the shares.
    let mut places: Vec<u64> = Vec::new();
    for runs in points.iter().chain([&told["alone"]]).map(|point| point["runs"].as_array().expect("runs")) {
        assert_eq!(runs.len(), 3);
        places.extend(runs.iter().map(|run| run["place"].as_u64().expect("a number")));
    }
    assert!(told["alone"]["runs"][0]["place"] == 0 && !places.is_sorted(), "{places:?}");
    places.sort_unstable();
    assert_eq!(places, (0..12).collect::<Vec<u64>>());
    let csv = String::from_utf8(lab.read("out.csv")).expect("text");
    let rows: Vec<&str> = csv.lines().collect();
    assert!(rows.len() == 4 && rows[0].starts_with("share_percent,asked_iops,asked_bytes_per_s,"), "{csv}");
    assert!(rows[2].starts_with("0,,,,,10156.000,41598976.000,"), "{csv}");
    assert!(rows[3].starts_with("50,5078.000,332791808.000,"), "{csv}");
    assert_eq!(lab.names(), ["f", "out.csv", "out.json"]);
}

/// Loads on ranges of their own, with threads, a mix, and a rate of the foreground's own.
#[test]
fn lines_say_what_diskspd_can_say() {
    let lab = Lab::new();
    lab.write("f", &[0; 4 << 20]);
    let foreground = "--engine sim:latency=100us,channels=4 -d1 -W0 -b4K -r -f1M -t2 -o2 -g500i --zipf 0.9";
    let background = "--mix 64K:50,128K:50 -B1M -s -t3 -o1 --arrivals poisson -d1";
    let ran = beside(&lab, foreground, background, "f --shares 0,50 --rounds 1 --json out.json --keep kept")
        .expect_code(0);
    assert!(ran.stdout.contains("* response time: begins when the rate (-g) scheduled the I/O\n"), "{ran}");
    assert!(ran.stdout.contains("Three rounds or more tell how sure a difference is: give"), "{ran}");
    let stored: Value = serde_json::from_slice(&lab.read("out.json")).expect("JSON");
    let half = &stored["beside"]["points"][1];
    assert_eq!(stored["beside"]["streams"], 3);
    assert!(half["runs"][0]["foreground"]["is_response"].as_bool() == Some(true), "{half}");
    assert!((mean(half, "foreground", "iops") / 1000.0 - 1.0).abs() < 0.02, "two threads of 500: {half}");
    let kept: Vec<String> = std::fs::read_dir(lab.path("kept"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    let both = kept.iter().find(|name| name.contains("background-at-50")).expect("the run of both");
    let both: Value = serde_json::from_slice(&lab.read(&format!("kept/{both}"))).expect("JSON");
    let targets = both["result"]["profile"]["time_spans"][0]["targets"].as_array().expect("targets");
    assert_eq!(targets.len(), 2);
    assert_eq!(targets[0]["path"], targets[1]["path"]);
    assert_eq!(
        (targets[0]["max_bytes"].as_u64(), targets[1]["base_bytes"].as_u64()),
        (Some(1 << 20), Some(1 << 20))
    );
    assert_eq!(
        (&targets[0]["throughput"]["iops"], &targets[1]["arrivals"]),
        (&Value::from(500), &Value::from("poisson"))
    );
    let asked = half["asked_iops"].as_f64().expect("a rate");
    let each = match &targets[1]["throughput"] {
        rate if rate["iops"].is_u64() => rate["iops"].as_f64().expect("a number"),
        rate => rate["bytes_per_ms"].as_f64().expect("a number") * 1000.0 / (96.0 * 1024.0),
    };
    assert!((each * 3.0 / asked - 1.0).abs() < 0.001, "-g counts for each thread: {each} of {asked}");
}

#[test]
fn what_cannot_run_beside_is_refused_before_anything_is_made() {
    let lab = Lab::new();
    lab.write("f", &[7; 1 << 20]);
    for (foreground, background, rest, says) in [
        ("-b4K", "-g5i", "f", "BACKGROUND: the shares set its rate; remove -g, and give --shares"),
        ("-b4K", "-i5 -j5", "f", "BACKGROUND: the shares set its pace; remove -i and -j"),
        (
            "-b4K",
            "-d5",
            "f",
            "BACKGROUND: -d5 counts for the whole run, and so for both loads; put it into FOREGROUND",
        ),
        ("-b4K", "--engine psync", "f", "--engine psync counts for the whole run"),
        ("-b4K -x", "-b1M", "f", "FOREGROUND: -x ignores rates"),
        ("-b4K", "-O4", "f", "BACKGROUND: -O would share its I/Os between both loads; give -o in each line"),
        ("-b4K -d0", "-b1M", "f", "FOREGROUND: measured time is needed"),
        ("-b4K x", "-b1M", "f", "FOREGROUND: targets stand behind the line"),
        ("-b4K", "-c1G", "f", "BACKGROUND: -c would make the file anew"),
        ("-Xp.xml", "-b1M", "f", "FOREGROUND: -X is not possible here"),
        ("-b4K", "-b1Q", "f", "BACKGROUND: -b1Q"),
        ("-b4K", "'-b1M", "f", "BACKGROUND: the quote ' is not closed"),
        ("-b4K", "-b1M", "f --shares 0", "--shares: 0 is the foreground alone"),
        ("-b4K", "-b1M", "f --shares 50,50", "--shares: 50 stands twice"),
        ("-b4K", "-b1M", "f --shares 150", "legal: a whole number from 0 to 100"),
        ("-b4K", "-b1M", "f --size 16M", "--size is for files that are created"),
        ("-b4K", "-b1M", "f f", "unexpected"),
    ] {
        let ran = beside(&lab, foreground, background, rest);
        let flat = ran.stderr.replace('\n', " ");
        assert!(ran.status.code() == Some(3) && ran.stdout.is_empty(), "{says}: {ran}");
        assert!(flat.contains(says) || says == "unexpected", "{says}: {ran}");
    }
    for (foreground, background) in [("-b4K -w10", "-b1M"), ("-b4K", "-b1M -w100")] {
        let guarded = beside(&lab, foreground, background, "f").expect_code(4);
        assert!(guarded.stdout.is_empty() && guarded.stderr.contains("--overwrite"), "{guarded}");
    }
    assert_eq!(lab.names(), ["f"]);
    assert_eq!(lab.read("f"), [7; 1 << 20], "nothing was written");
}

/// A folder, a real engine, writes: nothing stays, and what was kept is not run again.
#[test]
fn a_folder_is_left_as_it_was_and_it_goes_on() {
    let lab = Lab::new();
    let (foreground, background) = ("-b4K -r -d1 -W0", "-b64K -s -w100");
    let rest = ". --size 16M --shares 0,50 --rounds 1 --keep kept";
    let ran = beside(&lab, foreground, background, rest).expect_code(0);
    assert!(ran.stdout.contains("beside 50 % of the background: p50 "), "{ran}");
    assert!(scratch_folders(&lab).is_empty() && journals(&lab).is_empty(), "{ran}");
    assert!(!ran.stdout.contains("other-test"), "its two loads are no tests of others: {ran}");
    let last = std::fs::read_dir(lab.path("kept")).expect("a folder").flatten();
    let last = last.map(|entry| entry.path()).max().expect("a document");
    std::fs::remove_file(&last).expect("removed");
    let again = beside(&lab, foreground, background, &format!("{rest} --resume")).expect_code(0);
    assert_eq!(again.stderr.matches("kept from before").count(), 2, "{again}");
    assert!(last.exists(), "the missing one was made: {again}");
    // The rates follow from what is kept: the same background again.
    let asked =
        |ran: &Ran| ran.stdout.lines().find(|line| line.starts_with("background alone:")).map(str::to_string);
    assert_eq!(asked(&again), asked(&ran));
    let printed = beside(&lab, foreground, background, ". --print").expect_code(0);
    assert_eq!(printed.stdout.matches("\ndiskspd ").count(), 3, "{printed}");
    assert!(printed.stdout.contains("<Throughput unit=\"IOPS\">1</Throughput>"), "{printed}");
}

/// `workload NAME TARGET` is as it was, whatever the target is called.
#[test]
fn other_workloads_are_told_apart() {
    let lab = Lab::new();
    lab.write("beside", &[0; 1 << 20]);
    let mut command = truespd(&lab, "workload oltp");
    command.args(["beside", "--print"]);
    let ran = Running::new(command, "workload oltp beside --print").finish();
    assert!(ran.stdout.contains("/beside\n# then the same line with -g<rate>i"), "{ran}");
    let mut command = truespd(&lab, "workload olap-si");
    command.args(["beside", "--print"]);
    let ran = Running::new(command, "workload olap-si beside --print").finish().expect_code(0);
    assert!(ran.stdout.lines().next().is_some_and(|line| line.ends_with("/beside")), "{ran}");
    let mut command = truespd(&lab, "cluster workload");
    command.args(["beside", "-b4K", "-b1M", "beside"]);
    let ran = Running::new(command, "cluster workload beside").finish();
    assert!(
        ran.status.code() == Some(3) && ran.stderr.contains("workload beside: there is no such cluster run"),
        "{ran}"
    );
}
