//! `--verify-log` and `truespd verify --log`: what was durable is known elsewhere, also when the map is lost.

use std::fs::{self, OpenOptions, Permissions};
use std::os::unix::fs::{FileExt, PermissionsExt};

use crate::support::killed::truespd;
use crate::support::program::{Lab, Ran, Running};
use rustix::process::Signal;
use serde_json::Value;

fn verify(lab: &Lab, rest: &str) -> Ran {
    let line = format!("verify {rest}");
    let mut command = truespd(lab, &line);
    command.env("PATH", path_with_ssh(lab));
    Running::new(command, &line).finish()
}

/// Where programs are looked for, with that ssh.
pub fn path_with_ssh(lab: &Lab) -> String {
    let usual = std::env::var("PATH").expect("a search path");
    format!("{}:{usual}", lab.path("").display())
}

/// Puts a program in the place of ssh that runs the command here. `$command` is the command of the other host.
pub fn with_ssh(lab: &Lab, script: &str) {
    let words = format!("#!/bin/sh\nfor command; do :; done\n{script}\n");
    let ssh = lab.write("ssh", words.as_bytes());
    fs::set_permissions(ssh, Permissions::from_mode(0o755)).expect("it is ours");
}

fn start(lab: &Lab, line: &str) -> Running {
    let mut command = lab.command(line);
    command.env("PATH", path_with_ssh(lab));
    Running::new(command, line)
}

fn found(ran: &Ran) -> Value {
    let all: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    all["verify"].clone()
}

#[test]
fn a_log_knows_what_was_durable_and_finds_what_was_lost() {
    let lab = Lab::new();
    for (line, log) in [("-b4K -r -w100 -o8 -t2 -Sh", "log"), ("-b4K -r -w50 -o4 --flush-every 16", "other")]
    {
        let running = start(&lab, &format!("-c4M {line} -d600 -W0 --verify --verify-log {log} f"));
        running.wait_until("the log has parts", || lab.path(log).exists() && lab.read(log).len() > 16 << 10);
        running.signal(Signal::INT);
        running.finish().expect_code(0);
        let whole = found(&verify(&lab, &format!("f --log {log} --json")).expect_code(0));
        let by_map = found(&verify(&lab, "f --json").expect_code(0));
        // Writes that were cancelled at the end stand in the map only.
        let [known, written] =
            [&whole, &by_map].map(|found| found["flushed_blocks"].as_u64().expect("a number"));
        assert!(known > 50 && known >= written.saturating_sub(16), "{whole}\n{by_map}");
        assert_eq!((&whole["is_by_log"], &whole["newest_blocks"]), (&Value::from(true), &Value::from(known)));
        let text = verify(&lab, &format!("f --log {log}")).expect_code(0);
        assert!(text.stdout.contains("blocks that the log knows as durable hold what they must"), "{text}");
        let file = OpenOptions::new().write(true).open(lab.path("f")).expect("a file");
        file.write_all_at(&vec![0; 2 << 20], 0).expect("room");
        let lost = found(&verify(&lab, &format!("f --log {log} --json")).expect_code(1));
        assert_eq!(lost["wrong"][0]["fault"], "missing");
        assert!(lost["wrong"][0]["blocks"].as_u64() > Some(50), "{lost}");
        fs::remove_file(lab.path("f")).expect("it is there");
    }
}

#[test]
fn a_log_outlives_its_test_on_another_host() {
    let lab = Lab::new();
    with_ssh(&lab, "exec sh -c \"$command\"");
    lab.run("-c4M -b4K -w100 -d1 -W0 f").expect_code(0);
    let running = start(&lab, "-b4K -r -w100 -o8 -Sh -d600 -W0 --verify --verify-log box:there f");
    running.wait_until("the log has parts", || lab.path("there").exists() && lab.read("there").len() > 4096);
    running.signal(Signal::KILL);
    running.finish().expect_signal(Signal::KILL.as_raw());
    let by_log = found(&verify(&lab, "f --log box:there --json").expect_code(0));
    assert!(by_log["flushed_blocks"].as_u64() > Some(50), "{by_log}");
    assert_eq!(by_log["map"], "box:there");
    verify(&lab, "f --log box:nothing")
        .refused(3, &["could not read the log 'box:nothing': ssh says: cat: nothing: No such file"]);
}

#[test]
fn a_log_that_goes_away_stops_the_test_or_not() {
    let Some(lab) = Lab::on_disk() else { return };
    lab.run("-c4M -b4K -w100 -d1 -W0 f").expect_code(0);
    with_ssh(&lab, "echo ready\nexec head -c 20000 > there");
    let line = "-b4K -r -w100 -o8 -Sh -d600 -W0 --verify --verify-log box:there";
    let ran = start(&lab, &format!("{line} f")).finish();
    ran.expect_code(1).says(&[
        "the log 'box:there' (--verify-log) was lost while the test ran, so the test was stopped",
        "--verify-log-lost continue goes on without it",
    ]);
    // What it knows by then is cut off somewhere, and right.
    verify(&lab, "f --log there").expect_code(0);
    with_ssh(&lab, "echo ready\nhead -c 20000 > there\necho 'Connection closed by box' >&2\nexit 255");
    let ran = start(&lab, &format!("{line} f")).finish();
    ran.expect_code(1).says(&["so the test was stopped: ssh says: Connection closed by box"]);
    let running = start(&lab, &format!("{line} --verify-log-lost continue f"));
    // The other end has gone by then, and more was to be told.
    running.wait_until("the log is cut off", || lab.read("there").len() == 20_000);
    let before = running.bytes_written();
    running.wait_until("it goes on", || running.bytes_written() > before + (1 << 20));
    running.signal(Signal::INT);
    running
        .finish()
        .expect_code(0)
        .says(&["was lost while the test ran", "it knows nothing of later writes"]);
}

#[test]
fn what_cannot_be_logged_is_refused() {
    let lab = Lab::new();
    lab.run("-c1M -b4K -w100 -d1 -W0 f").expect_code(0);
    lab.write("precious", b"mine");
    let before = lab.read("f");
    for (line, words) in [
        ("-b4K -w50 --verify-log log f", "writes that are durable during the test, and this test has none"),
        ("-b4K -w50 -Sh -c1M --verify-log log f g", "and this test verifies several"),
        (
            "-b4K -w50 -Sh --verify-log precious f",
            "'precious' exists and is not a log of --verify-log; it was not touched",
        ),
        ("-b4K -w50 -Sh --verify-log none/log f", "the folder of 'none/log' (--verify-log) does not exist"),
        ("-b4K -w50 -Sh --verify-log log --verify-log-lost wait f", "'wait' is neither stop nor continue"),
    ] {
        let ran = lab.run(&format!("--verify -d1 -W0 {line}"));
        ran.refused(3, &[words]);
        assert!(lab.read("f") == before, "{line}");
    }
    for (script, words) in [
        ("echo 'no such host' >&2; exit 255", "ssh says: no such host"),
        ("exec sh -c \"$command\"", "the file exists and is not a log; it was not touched"),
    ] {
        with_ssh(&lab, script);
        let ran = start(&lab, "-b4K -w50 -Sh -d1 -W0 --verify --verify-log box:precious f").finish();
        ran.expect_code(1).says(&["could not write the log 'box:precious'", words]);
        assert!(lab.read("f") == before, "{script}");
    }
    assert_eq!(lab.read("precious"), b"mine");
    verify(&lab, "f --log precious").refused(3, &["'precious' is not a log of --verify-log"]);
}
