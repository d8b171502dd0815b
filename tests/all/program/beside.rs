//! What stands beside a result, when programs start this one: two streams, a stream that must stay empty. Both in one
//! place: `one_place`.

use std::process::{Command, Stdio};

use crate::support::program::{Ran, Running};
use crate::support::{killed, program::Lab, strict_xml};

/// A run with a warning of DiskSpd's, notes, dots and verbose lines. Simulated, so that it takes no time.
pub(super) const TALKATIVE: &str = "-v -P100 -c1M -t2 -b4K -L -D100 -d1 -W0 --engine sim:latency=1ms";
pub(super) const OVERLAP: &str = "WARNING: target access pattern will not be sequential, consider -si\n";

/// The words without those that ask for lines in front of the result.
pub(super) fn quieter() -> &'static str {
    TALKATIVE.trim_start_matches("-v -P100 ")
}

pub(super) fn quiet_environment(command: &mut Command) {
    command.env_remove("TRUESPD_QUIET");
}

/// Standard error that goes elsewhere has everything, also when it is what standard output was (`2>&1 >file`).
#[test]
fn streams_that_end_in_two_places() {
    let lab = Lab::new();
    let words = quieter();
    let line = format!("\"$0\" {words} -Rxml f 2>&1 >out");
    let mut shell = lab.command_behind(&["sh", "-c", &line], "");
    quiet_environment(&mut shell);
    let output = shell.output().expect("it starts");
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && told.starts_with(OVERLAP), "{told}");
    assert!(told.contains("note: all threads start at the same offset; -T<size>"), "{told}");
    assert!(told.contains("\nverdict: "), "{told}");
    let text = String::from_utf8(lab.read("out")).expect("text");
    strict_xml::check(&text).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
}

fn run(lab: &Lab, line: &str, variable: Option<&str>) -> Ran {
    let mut command = lab.command(line);
    quiet_environment(&mut command);
    command.envs(variable.map(|value| ("TRUESPD_QUIET", value)));
    Running::new(command, line).finish()
}

#[test]
fn quiet_leaves_what_diskspd_prints() {
    let lab = Lab::new();
    const RUN: &str = "-c1M -b4K -d1 -W0 --engine sim:latency=1ms";
    for (words, variable) in [("--quiet", None), ("--quiet", Some("0")), ("", Some("1")), ("", Some("yes"))] {
        let run = |line: String| run(&lab, &line, variable);
        let alone = run(format!("{words} {RUN} f")).expect_code(0);
        assert_eq!(alone.stderr, "", "{alone}");
        let warned = run(format!("{words} {RUN} -t2 -g409.6 f")).expect_code(0);
        assert_eq!(warned.stderr, OVERLAP, "{warned}");
        // Errors stay, and what an exit code is for.
        run(format!("{words} -d1 missing")).not_opened(&["Error opening file: missing [2]"]);
        run(format!("{words} -b4Q f")).refused(3, &["-b4Q"]);
        let unmet = run(format!("{words} {RUN} --require certified f")).expect_code(5);
        assert!(unmet.stderr.starts_with("verdict: "), "{unmet}");
        let asked = run(format!("{words} --verdict {RUN} f")).expect_code(0);
        assert!(asked.stderr.starts_with("verdict: ") && asked.stderr.contains(" checked\n"), "{asked}");
    }
    for variable in [None, Some("0"), Some("")] {
        drop(
            run(&lab, &format!("{RUN} -g409.6 f"), variable)
                .expect_code(0)
                .says(&["WARNING: -g409.6 is taken for -g409, as DiskSpd takes it\n", "\nverdict: "]),
        );
    }
}

/// Only what is worth it without `-v`: the document and the verdict have the rest.
#[test]
fn notes_are_those_that_matter() {
    let lab = Lab::new();
    const RUN: &str = "-c1M -b4K -o4 -d1 -W0 --engine sim:latency=1ms";
    let details = ["note: engine: sim", "note: queue depth: asked for 4"];
    let plain = run(&lab, &format!("{RUN} f"), None).expect_code(0).says_not(&details);
    assert!(plain.stderr.starts_with("verdict: ") && plain.stderr.lines().count() == 1, "{plain}");
    drop(run(&lab, &format!("-v {RUN} f"), None).expect_code(0).says(&details));
    // Response times stand nowhere else.
    drop(run(&lab, &format!("{RUN} -g100i -L f"), None).expect_code(0).says(&["note: response time, "]));
}

/// A mistyped mount point is a new folder on another disk.
#[test]
fn folders_that_are_made_are_told() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("there")).expect("a folder");
    const RUN: &str = "-c1M -b4K -d1 -W0 -g4";
    let ran = lab.run(&format!("{RUN} there/mnt/disk/f")).expect_code(0);
    let said = ran.says(&["note: the folder 'there/mnt' did not exist: -c made it on the file system "]);
    drop(said.says(&["mounted at /"]));
    for target in ["there/mnt/disk/f", "there/g"] {
        drop(lab.run(&format!("{RUN} {target}")).expect_code(0).says_not(&["did not exist"]));
    }
}

#[test]
fn a_run_of_no_time_makes_its_files() {
    let lab = Lab::new();
    let ran = lab.run("-d0 -W0 -c1M f").expect_code(0).says(&["WARNING: -d0 is taken for a run that makes"]);
    assert!(ran.text().results.iter().all(Option::is_none), "{ran}");
    assert_eq!(lab.read("f").len(), 1 << 20);
    let ran = lab.run("-d0 -W0 -Rxml f").expect_code(0);
    assert!(ran.stdout.contains("<Error>The test was interrupted"), "{ran}");
    strict_xml::check(&ran.stdout).unwrap_or_else(|fault| panic!("{fault}\n{ran}"));
}

#[test]
fn a_file_whose_name_begins_with_a_dash() {
    let lab = Lab::new();
    lab.run("-c1M -b4K -d1 -W0 -g4 -- -r").expect_code(0);
    assert_eq!(lab.names(), ["-r"]);
    let ran = lab.run("-b4K -d1 -W0 -g4 -- -r").expect_code(0);
    assert!(ran.stdout.contains("path: '-r'"), "{ran}");
}

#[test]
fn the_start_time_is_that_of_the_start() {
    let lab = Lab::new();
    let ran = lab.run("-c1M -b4K -d1 -W1 -g4 -Rjson f").expect_code(0);
    let document = truespd_core::result::json::read(ran.stdout.as_bytes()).expect("a result");
    let start_s = document.system.start_unix_s.expect("known");
    let measured = document.measured().next().expect("measured");
    let window = measured.evidence.window.expect("known");
    assert!(start_s <= (window.start_unix_ns / 1_000_000_000) as i64, "the warm-up comes between");
}

/// A format on standard output stands there alone, and is what a file of it would hold.
#[test]
fn other_formats_on_standard_output() {
    let lab = Lab::new();
    const RUN: &str = "-c1M -b4K -t2 -w50 -r -L -d1 -W0 --engine sim:latency=1ms,seed=3";
    for (words, format) in [
        ("--json -", "json"),
        ("-Rjson", "json"),
        ("--csv -", "csv"),
        ("-Rcsv", "csv"),
        ("--xml=-", "xml"),
        ("--text -", "text"),
        ("--intervals -", "intervals"),
    ] {
        let ran = lab.run(&format!("{RUN} {words} --json r.json f")).expect_code(0);
        let rendered = killed::run(&lab, &format!("render r.json -R{format}")).expect_code(0);
        assert_eq!(ran.stdout, rendered.stdout, "{words}");
        assert!(ran.stdout.contains("Command Line:") == (format == "text"), "{ran}");
        assert_eq!(lab.names(), ["f", "r.json"], "no file called -");
    }
    // A failed run has its document, too, and the same phrases.
    let failed = lab.run("-Rjson -b4K -d1 -W0 --engine sim:error=eio#9 f").expect_code(1);
    let document = truespd_core::result::json::read(failed.stdout.as_bytes()).expect("a result");
    assert!(!document.failures.is_empty(), "{failed}");
    failed.says(&["Error generating I/O requests"]);
    let run = killed::truespd(&lab, &format!("run {RUN} -Rjson f")).stdin(Stdio::null()).output();
    let run = run.expect("it starts");
    assert!(truespd_core::result::json::read(&run.stdout).is_ok(), "no verdict under it: {run:?}");
}

pub(super) fn table(text: &str) -> Vec<Vec<&str>> {
    text.lines().map(|line| line.split(',').collect()).collect()
}

#[test]
fn the_course_of_a_run_as_a_table() {
    let lab = Lab::new();
    const RUN: &str = "-c1M -b4K -t2 -w50 -r -d2 -W0 --engine sim:latency=1ms";
    let ran = lab.run(&format!("{RUN} -L -D500 --intervals - --csv sums.csv f g")).expect_code(0);
    let rows = table(&ran.stdout);
    assert_eq!(rows[0].len(), 15, "{ran}");
    assert!(rows.iter().all(|row| row.len() == 15), "{ran}");
    let of = |row: &[&str]| (row[1].to_string(), row[2].to_string(), row[3].to_string(), row[4].to_string());
    let places: Vec<_> = rows[1..].iter().map(|row| of(row)).collect();
    let wanted = (0..4).flat_map(|i| {
        let at = move |i: u32| format!("{:.3}", f64::from(i) * 0.5);
        ["f", "g"].map(|target| ((i + 1).to_string(), at(i), at(i + 1), target.to_string()))
    });
    assert_eq!(places, wanted.collect::<Vec<_>>());
    // The intervals add up to the sums, for each target and direction.
    let sums = String::from_utf8(lab.read("sums.csv")).expect("text");
    let number = |cell: &str| cell.parse::<f64>().unwrap_or_else(|error| panic!("{cell}: {error}"));
    for target in ["f", "g"] {
        for (direction, at) in [("read", 5), ("write", 10)] {
            let rows = rows.iter().filter(|row| row[4] == target);
            let counted: f64 = rows.clone().map(|row| number(row[at])).sum();
            let sum = table(&sums).into_iter().filter(|row| row[2] == target && row[3] == direction);
            assert_eq!(counted, sum.map(|row| number(row[6])).sum::<f64>(), "{target} {direction}\n{ran}");
            for row in rows {
                assert_eq!(number(row[at + 1]), number(row[at]) * 2.0, "per second\n{ran}");
                assert_eq!(number(row[at + 2]), 1e6, "every I/O takes 1 ms\n{ran}");
            }
        }
    }
    // Without -D the intervals of every document, which name no target where there are several.
    for (targets, name) in [("f", "f"), ("f g", "")] {
        let ran = lab.run(&format!("{RUN} -Rintervals {targets}")).expect_code(0);
        let rows = table(&ran.stdout);
        assert!(rows.len() > 20 && rows[1..].iter().all(|row| row[4] == name && row[7].is_empty()), "{ran}");
    }
}
