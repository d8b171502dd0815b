//! Standard output that nobody reads, that is full, or that is closed; for all that prints.

use std::fs::File;
use std::process::{Command, Output, Stdio};

use crate::support::killed::truespd;
use crate::support::program::Lab;

/// One of each kind of what commands print, and whether it is long.
const LINES: &[&str] = &[
    "schema",
    "schema mark",
    "judge --rules",
    "judge r.json",
    "render r.json",
    "render r.json -Rxml",
    "render r.json -Rjson",
    "merge r.json -Rcsv",
    "workload --list",
    "inspect f",
    "--help",
    "--version",
    "mark --help",
    "run -?",
    "run -d1 -W0 -b4K -r -g100i f",
    "run -Rpxml f",
];

fn lab_with_result() -> Lab {
    let lab = Lab::new();
    lab.run("-c1M -b4K -d1 -W0 -r -g100i --json r.json f").expect_code(0);
    lab
}

fn output_to(lab: &Lab, line: &str, stdout: impl Into<Stdio>) -> Output {
    truespd(lab, line).stdout(stdout).output().expect("it starts")
}

/// As `| head -1` does it, after its line.
#[test]
fn a_reader_that_has_left_is_no_error() {
    let lab = lab_with_result();
    for line in LINES {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = output_to(&lab, line, writer);
        let stderr = String::from_utf8_lossy(&output.stderr);
        if output.status.code() == Some(3) {
            panic!("{line}: refused\n{stderr}");
        }
        assert_eq!(output.status.code(), Some(141), "{line}\n{stderr}");
        assert!(!stderr.contains("ERROR") && !stderr.contains("panicked"), "{line}\n{stderr}");
    }
    let line = ["-c", "\"$0\" schema | head -n 1", env!("CARGO_BIN_EXE_truespd")];
    let output = Command::new("sh").args(line).output().expect("a shell");
    assert_eq!((output.stdout, output.stderr.len()), (b"{\n".to_vec(), 0));
}

#[test]
fn a_full_disk_behind_standard_output_is_told() {
    let lab = lab_with_result();
    for line in LINES {
        let full = File::options().write(true).open("/dev/full").expect("/dev/full is there");
        let output = output_to(&lab, line, full);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{line}\n{stderr}");
        assert!(
            stderr.contains("ERROR: could not write to standard output: No space left on device"),
            "{line}\n{stderr}"
        );
    }
}

/// `/dev/null` takes its place when a program begins, so that writing to it would succeed.
#[test]
fn closed_standard_output_is_refused_before_anything_runs() {
    let lab = lab_with_result();
    for (program, line) in
        LINES.iter().map(|line| ("truespd", *line)).chain([("diskspd", "-c1M -d1 -W0 --json new.json new")])
    {
        let path = if program == "truespd" {
            env!("CARGO_BIN_EXE_truespd")
        } else {
            crate::support::program::diskspd()
        };
        let mut command = Command::new("sh");
        command.args(["-c", "exec \"$0\" \"$@\" >&-", path]).args(line.split(' ')).current_dir(lab.work());
        let output = command.output().expect("a shell");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{line}\n{stderr}");
        assert!(stderr.starts_with("ERROR: standard output is closed"), "{line}\n{stderr}");
    }
    assert_eq!(lab.names(), ["f", "r.json"], "nothing was made");
}
