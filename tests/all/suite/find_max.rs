//! `truespd find-max` on the simulated device and on real files: bounds, refusals, and that nothing stays.

use crate::support::killed::{assert_renders, journals, scratch_folders, truespd};
use crate::support::program::{Lab, Ran, Running};

/// One server of 10,000 I/Os per second whose service times are exponential, as are the gaps between arrivals: response
/// times are exponential with what the rate leaves of the 10,000.
const SERVER: &str = "--engine sim:latency=100us,jitter=exp,channels=1 -b4K -r -o256 -t1 -Su";
/// At this rate, a hundredth of its response times is beyond 2 ms.
const P99_2MS: f64 = 10_000.0 - 4.605_170_186 / 0.002;
/// At this rate, their mean is 0.5 ms.
const MEAN_500US: f64 = 10_000.0 - 1.0 / 0.0005;

fn find(lab: &Lab, line: &str, rest: &str) -> Ran {
    let mut command = truespd(lab, "");
    command.arg("find-max").arg(line).args(rest.split(' '));
    Running::new(command, &format!("find-max '{line}' {rest}")).finish()
}

/// Both bounds of the answer, in I/Os per second, with how often each was kept or broken.
#[track_caller]
fn bounds(ran: &Ran) -> [f64; 2] {
    let answer = ran.stdout.lines().find(|line| line.starts_with("highest rate: between "));
    let answer = answer.unwrap_or_else(|| panic!("no answer with both bounds: {ran}"));
    let (rates, limits) = answer.split_once(" IOPS at ").expect("the limits");
    assert!(rates.contains(" (kept ") && rates.contains(" (broken ") && limits.contains("<="), "{answer}");
    let mut found = Vec::new();
    for word in rates.split(' ') {
        if let Ok(iops) = word.replace(',', "").parse::<f64>()
            && iops > 1_000.0
        {
            found.push(iops);
        }
    }
    let [lower, upper] = found[..] else { panic!("{answer}") };
    [lower, upper]
}

#[test]
fn the_rate_of_a_known_law_lies_between_the_bounds() {
    let lab = Lab::new();
    lab.write("f", &[0; 1 << 20]);
    let ran = find(&lab, SERVER, "f --p99 2ms --json out.json").expect_code(0);
    let [lower, upper] = bounds(&ran);
    assert!(lower <= P99_2MS && P99_2MS <= upper, "{P99_2MS}: {ran}");
    assert!(upper - lower <= upper * 0.05, "{ran}");
    assert!(ran.stdout.contains("limit of the p99 response time  2 ms\n"), "{ran}");
    assert_renders(&lab, &ran, "out.json");
    let stored: serde_json::Value = serde_json::from_slice(&lab.read("out.json")).expect("JSON");
    assert_eq!(stored["format"], "truespd-find-max");
    let search = &stored["find_max"]["search"];
    assert_eq!(search["lower"]["iops"].as_f64(), Some(lower));
    assert_eq!(search["points"][0]["trial"]["held"].as_array().map(Vec::len), Some(1));
    // Of several limits, the one that is broken first decides.
    let ran = find(&lab, SERVER, "f --p99 2s --mean 500us --precision 8").expect_code(0);
    let [lower, upper] = bounds(&ran);
    assert!(lower <= MEAN_500US && MEAN_500US <= upper, "{MEAN_500US}: {ran}");
    assert!(ran.stdout.contains(" IOPS at p99 <= 2000 ms and mean <= 0.5 ms\n"), "{ran}");
    assert_eq!(lab.names(), ["f", "out.json"]);
}

#[test]
fn what_ends_a_search_is_told() {
    let lab = Lab::new();
    lab.write("f", &[0; 1 << 20]);
    // Every I/O takes 1 ms, whatever the rate: two at a time are 2,000 per second, and none is late.
    let line = "--engine sim:latency=1ms -b4K -r -o2 -t1 -Su";
    let ran = find(&lab, line, "f --p95 2ms").expect_code(0);
    assert!(ran.stdout.contains("the 2 outstanding I/Os are what ends the search, not the limit"), "{ran}");
    let ran = find(&lab, line, "f --p99 500us").expect_code(0);
    assert!(ran.stdout.contains("no rate keeps p99 within 0.5 ms: at "), "{ran}");
    // 2,000 I/Os in a second say nothing of a thousandth.
    let ran = find(&lab, &format!("{line} -d1 -W0"), "f --p99.9 5ms").expect_code(1);
    let says = "p99.9 needs 10,000 I/Os in each run, but at 1998 IOPS a run of 1 s has 1998; measure longer, -d11 or more";
    assert!(ran.stdout.is_empty() && ran.stderr.contains(says), "{ran}");
    let ran = find(&lab, line, "f --p99 2ms --max-minutes 1").expect_code(0);
    assert!(ran.stdout.contains("the time was up; more of it (--max-minutes) may help"), "{ran}");
}

#[test]
fn a_folder_gets_a_file_that_is_removed() {
    let lab = Lab::new();
    let ran =
        find(&lab, "-b4K -r -o4 -t1 -L -d1 -W0", ". --size 16M --p50 60s --max-minutes 0.1").expect_code(0);
    let ends = ["highest rate: ", "undecided after "];
    assert!(ends.iter().any(|words| ran.stdout.contains(words)), "{ran}");
    assert!(lab.names().is_empty() && scratch_folders(&lab).is_empty() && journals(&lab).is_empty());
}

#[test]
fn what_is_kept_is_not_run_again() {
    let lab = Lab::new();
    lab.write("f", &[0; 1 << 20]);
    let rest = "f --p99 2ms --keep kept";
    let first = find(&lab, SERVER, rest).expect_code(0);
    let again = find(&lab, SERVER, &format!("{rest} --resume")).expect_code(0);
    assert_eq!(first.stdout, again.stdout, "the same decisions");
}

#[test]
fn the_first_line_is_printed_and_nothing_runs() {
    let lab = Lab::new();
    lab.write("f", &[0; 1 << 20]);
    let ran = find(&lab, "-b8K -r -t2 --arrivals even", "f --p99 2ms --print").expect_code(0);
    let mut lines = ran.stdout.lines();
    assert!(lines.next().is_some_and(|line| line.starts_with("diskspd -L -d10 -W2 -b8K -r -t2 ")), "{ran}");
    assert!(
        ran.stdout.contains("-g<rate>i --arrivals even, where rate is the IOPS to try divided by 2"),
        "{ran}"
    );
    assert_eq!(lab.names(), ["f"]);
}

#[test]
fn refusals_say_what_is_legal_and_touch_nothing() {
    let lab = Lab::new();
    lab.write("f", &[7; 1 << 20]);
    lab.write("empty", b"");
    for (line, rest, says) in [
        ("-b4K", "f", "--p99 2ms"),
        ("-b4K", "f --p99 2", "2ms, 500us, 1.5s"),
        ("-b4K", "f --p99 0.1ns", "from 0.000001 ms (a nanosecond) to 86400000 ms (a day)"),
        ("-b4K", "f --p99 0ms", "(a nanosecond)"),
        ("-b4K", "f --mean 2d", "2ms, 500us, 1.5s"),
        ("-b4K", "f --p99 2ms --p50 3ms", "--p50: a limit of 3 ms says nothing beside --p99 2ms"),
        ("-b4K", "f --p99 2ms --precision 0", "0.5 to 50 percent"),
        ("-b4K", "f --p99 2ms --precision 5%", "0.5 to 50 percent"),
        ("-b4K", "f --p99 2ms --max-minutes 0", "more than 0 and up to 10000"),
        ("-b4K", "f --p99 2ms --size 1G", "--size is for files that are created in a directory"),
        ("-b4K", "empty --p99 2ms", "an empty file cannot be tested"),
        ("-b4K", "missing --p99 2ms", "No such file"),
        ("-b4K", "f --p99 2ms --resume", "--keep"),
        ("-b4K -g100i", "f --p99 2ms", "LINE: a search sets the rate itself; remove -g"),
        ("-b4K -i5 -j5", "f --p99 2ms", "remove -i and -j"),
        ("-b4K -x", "f --p99 2ms", "-x"),
        ("-b4K -z3", "f --p99 2ms", "every run has a seed of its own; remove -z"),
        ("-b4K -c1G", "f --p99 2ms", "name a directory as target, and give --size"),
        ("-b4K -d0", "f --p99 2ms", "-d"),
        ("-b4K g", "f --p99 2ms", "targets stand behind the line"),
        ("-b4Q", "f --p99 2ms", "'Q' is not a size suffix"),
        ("-b4K --arrivals now", "f --p99 2ms", "even"),
        ("-b4K --arrivals", "f --p99 2ms", "--arrivals needs a word: even or poisson"),
        ("-Xp.xml", "f --p99 2ms", "-X is not possible here"),
        ("-b4K --json x", "f --p99 2ms", "--keep"),
        ("-b4K 'x", "f --p99 2ms", "the quote"),
        ("-?", "f --p99 2ms", "these options run nothing"),
    ] {
        let ran = find(&lab, line, rest).expect_code(3);
        assert!(ran.stdout.is_empty() && ran.stderr.contains(says), "{line} {rest}: {says}: {ran}");
    }
    assert!(
        find(&lab, "-b4K -w10", "f --p99 2ms").expect_code(4).stdout.is_empty(),
        "the file is somebody's"
    );
    assert_eq!(lab.names(), ["empty", "f"]);
    assert_eq!(lab.read("f"), [7; 1 << 20]);
}
