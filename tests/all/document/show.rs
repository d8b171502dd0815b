//! `truespd show`: a stored result in some twenty lines.

use crate::support::killed::run;
use crate::support::program::Lab;

/// A simulated device, so that the figures are the same everywhere.
const LINE: &str =
    "-b4K -r -o8 -w25 -d20 -W0 -L --engine=sim:latency=100us,channels=4,seed=7 --json r.json f";

fn lab_with_file() -> Lab {
    let lab = Lab::new();
    lab.run("-c1M -b4K -d1 -W0 --engine sim:latency=1ms f").expect_code(0);
    lab
}

#[test]
fn a_result_fits_a_small_terminal() {
    let lab = lab_with_file();
    lab.run(LINE).expect_code(0);
    let shown = run(&lab, "show r.json").expect_code(0).stdout;
    assert!(shown.lines().count() <= 24, "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    for words in [
        "r.json, 20",
        "target     f: 4K, random, 25 % writes, 1 thread, 8 outstanding each\n",
        "time       0:20 measured",
        "IOPS  throughput    mean     p50     p99   p99.9     max\n",
        "all     40,000   156 MiB/s",
        "latency       min",
        "verdict    ",
    ] {
        assert!(shown.contains(words), "{words}\n{shown}");
    }
    let course = shown.lines().find(|line| line.starts_with("over time")).expect("the course of the rate");
    // The simulated device serves 4 at a time in 100 us each: a steady rate looks steady.
    assert!(course.chars().filter(|c| *c == '█').count() >= 20, "{shown}");
}

#[test]
fn what_is_not_there_is_said() {
    let lab = lab_with_file();
    lab.run(&LINE.replace("-L ", "")).expect_code(0);
    run(&lab, "show r.json").expect_code(0).says_not(&["ERROR"]);
    let shown = run(&lab, "show r.json").stdout;
    assert!(shown.contains("latencies were not measured (-L)"), "{shown}");
    lab.write("no.json", b"{}");
    run(&lab, "show no.json").refused(3, &["'no.json' is"]);
    run(&lab, "show missing.json").refused(3, &["'missing.json' cannot be read: No such file"]);
}
