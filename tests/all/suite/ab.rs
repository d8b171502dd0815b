//! `truespd ab` as a program: two variants on a real file.

use std::fs;

use crate::support::killed;
use crate::support::needs::{Need, has};
use crate::support::program::{Lab, Running};
use serde_json::Value;

/// Words with tabs between them: one argument each.
const A: &str = "-b4K\t-r\t-o4\t-t1\t-Su\t-g400i";
const B: &str = "-b4K\t-r\t-o4\t-t1\t-Su\t-g600i";
const QUICK: &str = "--size 16M --seconds 1 --warm-up 0";

/// On a device of known behaviour: two blocks forgive no stall of a real one.
#[test]
fn a_planted_difference_is_found_kept_and_told_again() {
    const SIM: &str = "--engine\tsim:latency=1ms";
    let lab = Lab::new();
    let line = format!(
        "ab --a {SIM}\t{A} --b {SIM}\t{B} --file . {QUICK} --blocks 2 --margin 5 --significance 0.05 --keep kept"
    );
    let ran = killed::run(&lab, &format!("{line} --json out.json")).expect_code(0);
    killed::assert_renders(&lab, &ran, "out.json");
    for words in ["different: IOPS", "higher with B than with A, which is better", "2 blocks of four runs"] {
        assert!(ran.stdout.contains(words), "{words}: {ran}");
    }
    assert!(ran.stdout.contains("both run at a set rate (-g)"), "{ran}");
    assert!(ran.stderr.contains(" at most] A, block 1: "), "{ran}");
    assert!(ran.stderr.starts_with("making the test file: done\n"), "it measures nothing: {ran}");
    let document = fs::read_to_string(lab.path("out.json")).expect("the comparison");
    for words in
        ["\"format\": \"truespd-ab\"", "\"outcome\": \"different\"", "\"log_ratio\"", "\"ratio_low\""]
    {
        assert!(document.contains(words), "{words}: {document}");
    }
    assert_eq!(lab.names(), ["kept", "out.json"], "nothing else stays");
    assert_eq!(fs::read_dir(lab.path("kept")).expect("kept").count(), 1 + 2 + 8);

    // Again from the documents: the same figures, without a run but the one that makes the file.
    let again = killed::run(&lab, &format!("{line} --resume --require not-worse --require better"));
    let again = again.expect_code(0);
    assert_eq!(again.stderr.matches("(kept from before)").count(), 2 + 8, "{again}");
    let answer = |text: &str| {
        text.lines().filter(|line| line.contains("IOPS")).map(str::to_string).collect::<Vec<_>>()
    };
    assert_eq!(answer(&ran.stdout), answer(&again.stdout));
    assert_eq!(lab.names(), ["kept", "out.json"]);
}

#[test]
fn what_cannot_be_compared_is_refused_before_anything_is_made() {
    for (line, says) in [
        (format!("ab --a {A} --b {B}"), "--a"),
        (format!("ab --a {A} --b {B}\tother --file ."), "leave out --file"),
        (format!("ab --a {A} --b -b4X --file ."), "-b4X"),
        (format!("ab --a {A} --b {B} --file . --metric speed"), "iops, bytes, latency, p99, p99.9, cpu"),
        (format!("ab --a {A} --b {B} --file . --margin 0"), "more than 0"),
        (format!("ab --a {A} --b {B} --file . --require pass"), "certified, suspect, not-worse, better"),
        (format!("ab --a {A} --b {B} --file . --significance 0.2"), "0.0001 to 0.05"),
        (format!("ab --a {A} --b {B} --file none"), "give a directory"),
        (format!("ab --a {A} --b {B}\t'x --file ."), "--b: the quote ' is not closed"),
        (format!("ab --a {A}"), "--b"),
        (format!("ab --a {A}\tx --b {B}\tx --size 16M"), "--size is for the file that --file creates"),
        (format!("ab --a {A} --b {B}\t-c1G --file ."), "-c (FileSize in a profile)"),
        (
            format!("ab --a {A} --b {B} --file . --size 16M --seconds 3600"),
            "--max-minutes 30 is too short: a block of four runs of 3,601 s takes 240 minutes",
        ),
        (format!("ab --a {A} --b {B} --file . --size 1M"), "at least 16M,"),
        (
            format!("ab --a {A} --b {B} --file . --overwrite /dev/null"),
            "where a new file is made and nothing is overwritten; leave it out",
        ),
        (format!("ab --a {A}\tx --b {B}\tx --overwrite /dev/null"), "none of the targets"),
        (format!("ab --a {A}\tx --b {B}\tx --overwrite #1"), "by its name"),
        (format!("ab --a {A}\tx --b {B}\tx --json ./x"), "tested or read"),
    ] {
        let lab = Lab::new();
        let ran = killed::run(&lab, &line).expect_code(3);
        assert!(ran.stdout.is_empty() && ran.stderr.contains(says), "{line}: {says}: {ran}");
        assert!(lab.names().is_empty(), "{line}: {:?}", lab.names());
    }
}

#[test]
fn what_one_variant_may_not_write_is_told_before_the_other_runs() {
    let Some(lab) = Lab::visible() else { return };
    lab.write("data", &[7; 1 << 20]);
    let line = format!("ab --a {A}\t./data --b -w100\tdata --seconds 1 --warm-up 0");
    killed::run(&lab, &line).expect_code(4).says(&["--overwrite"]).says_not(&["first run"]);
    assert!(lab.read("data").iter().all(|&byte| byte == 7));
    // The person's word counts however it is spelt, and for what it names.
    let allowed = format!("{line} --overwrite {} --blocks 2 --max-minutes 1", lab.path("data").display());
    let ran = killed::run(&lab, &allowed).expect_code(0);
    assert!(ran.stdout.contains("2 blocks of four runs"), "{ran}");
    // Profiles, too, have targets.
    lab.write(
        "p.xml",
        b"<Profile><TimeSpans><TimeSpan><Duration>1</Duration><Targets><Target><Path>data</Path>\
        <BlockSize>4096</BlockSize></Target></Targets></TimeSpan></TimeSpans></Profile>",
    );
    for taken in ["p.xml", "data"] {
        let ran = killed::run(&lab, &format!("ab --a -Xp.xml --b -Xp.xml --json {taken}")).expect_code(3);
        assert!(ran.stderr.contains("tested or read"), "{taken}: {ran}");
    }
}

#[test]
fn nothing_stays_however_it_ends() {
    // So long that the first block is not done when the signal comes, also on a busy machine, and without a disk that may
    // do no I/O in a run of 3 s, which would end it.
    const NULL: &str = "--engine\tnull";
    let line = format!(
        "ab --a {NULL}\t{A} --b {NULL}\t{B} --file . --size 16M --seconds 3 --warm-up 0 --json out.json"
    );
    let ran = killed::assert_leaves_nothing(&line, |running| running.stderr_so_far().contains("block 1"));
    assert!(ran.stdout.is_empty() && ran.stderr.contains("stopped before anything was measured"), "{ran}");
}

/// Repeats the real thing: rates planted 5 % apart, and variants that are the same on the disk below the temporary
/// directory. Takes an hour or so; `AB_ROUNDS` and `AB_MINUTES` (each comparison at most) change that.
#[test]
#[ignore = "long: cargo test --release --test all suite::ab -- --ignored --nocapture"]
fn twenty_repetitions() {
    let setting = |name: &str, default: u32| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (rounds, minutes) = (setting("AB_ROUNDS", 20), setting("AB_MINUTES", 8));
    let rest = format!("--file . --size 256M --seconds 1 --warm-up 0 --max-minutes {minutes}");
    let planted = ["-b4K\t-r\t-o8\t-t1\t-Su\t-g1000i", "-b4K\t-r\t-o8\t-t1\t-Su\t-g1050i"];
    let same = ["-b4K\t-r\t-o32\t-t2\t-Su"; 2];
    // How often "different" is the answer, and how often "no difference".
    let answers = |[a, b]: [&str; 2]| {
        let mut counts = [0, 0];
        for round in 1..=rounds {
            let lab = Lab::new();
            let line = format!("ab --a {a} --b {b} {rest}");
            let out = killed::truespd(&lab, &line).output().expect("it runs");
            let (stdout, stderr) =
                (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
            assert!(out.status.success(), "{stdout}{stderr}");
            let starts = ["different: ", "no difference"];
            let wanted = starts.iter().chain(&["undecided: ", "p  "]);
            let answer = stdout.lines().filter(|line| wanted.clone().any(|start| line.starts_with(start)));
            println!("{round}: {}", answer.collect::<Vec<_>>().join("; "));
            for (count, start) in counts.iter_mut().zip(starts) {
                *count += u32::from(stdout.lines().any(|line| line.starts_with(start)));
            }
        }
        counts
    };
    let [found, _] = answers(planted);
    let [false_alarms, no_difference] = answers(same);
    println!(
        "planted 5 %: found {found} of {rounds}; the same: no difference {no_difference}, different {false_alarms}"
    );
    assert!(found * 20 >= rounds * 19 && no_difference * 20 >= rounds * 19);
}

#[test]
fn a_comparison_stopped_before_its_first_run_has_met_nothing() {
    if !has(&[Need::FreeGib(9)]) {
        return;
    }
    let line = format!("ab --a {A} --b {B} --file . --size 8G --require not-worse --json out.json");
    let suite = killed::Suite::start(&line);
    suite.wait_for_scratch();
    let (lab, ran) = suite.end_by(rustix::process::Signal::INT);
    let ran = ran.expect_code(1).says(&["stopped before anything was measured"]);
    assert_eq!((ran.stdout.as_str(), lab.names().len()), ("", 0), "{ran}");
}

/// Variant B says for itself what it means.
#[test]
fn lines_of_a_person_follow_the_release_that_is_set() {
    let lab = Lab::new();
    let line = "ab --a --engine\tsim:latency=1ms\t-b4K --b --compat\t2.2\t--engine\tsim:latency=1ms\t-b8K --file . \
                --size 16M --seconds 1 --warm-up 0 --blocks 2 --keep kept";
    let mut command = killed::truespd(&lab, line);
    command.env("TRUESPD_COMPAT", "2.3");
    Running::new(command, line).finish().expect_code(0);
    for entry in fs::read_dir(lab.path("kept")).expect("kept") {
        let entry = entry.expect("an entry");
        let run: Value = serde_json::from_slice(&fs::read(entry.path()).expect("a document")).expect("JSON");
        let is_of_2_3 = run["result"]["profile"]["release"] == "2.3";
        assert_eq!(is_of_2_3, entry.file_name().to_string_lossy().contains("-a-"), "{entry:?}");
    }
    let mut command = killed::truespd(&lab, line);
    command.env("TRUESPD_COMPAT", "2.4");
    Running::new(command, line).finish().refused(3, &["the variable TRUESPD_COMPAT is '2.4'"]);
}
