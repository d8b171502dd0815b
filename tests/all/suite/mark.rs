//! `truespd mark` on small files: its table, its files, what it refuses, and what it leaves.

use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::support::devices;
use crate::support::killed::{self, run, scratch_folders, truespd};
use crate::support::needs::{Need, has};
use crate::support::program::{Lab, Ran, Running};
use truespd::ask::mark::{MarkReport, Operation};
use truespd_core::result::envelope::read;
use truespd_core::result::schema;
use truespd_platform::text::number;

/// Small and short, and nothing of the defaults' length.
const QUICK: &str = "--size 16M --measure 1 --interval 0 --loops 2 --test RND4K-Q4T1";

fn report(lab: &Lab, name: &str) -> MarkReport {
    read::<MarkReport>(&lab.read(name)).expect("its own document")
}

/// What programs that read CrystalDiskMark's files take from a line.
#[derive(Debug, PartialEq)]
struct Line {
    kind: String,
    block: u64,
    unit: String,
    queues: u32,
    threads: u32,
    mb_per_s: f64,
    iops: f64,
    latency_us: f64,
}

fn parsed(line: &str) -> Option<Line> {
    let (name, rest) = line.trim_end().split_once("):")?;
    let (test, load) = name.split_once("(Q=")?;
    let (kind, block) = test.trim().split_once(' ')?;
    let digits = block.trim().bytes().take_while(u8::is_ascii_digit).count();
    let (block, unit) = block.trim().split_at(digits);
    let (queues, threads) = load.split_once(", T=")?;
    let (rate, rest) = rest.split_once(" MB/s [")?;
    let (iops, rest) = rest.split_once(" IOPS] <")?;
    let latency = rest.strip_suffix(" us>")?;
    Some(Line {
        kind: kind.into(),
        block: block.parse().ok()?,
        unit: unit.into(),
        queues: queues.trim().parse().ok()?,
        threads: threads.trim().parse().ok()?,
        mb_per_s: rate.trim().parse().ok()?,
        iops: iops.trim().parse().ok()?,
        latency_us: latency.trim().parse().ok()?,
    })
}

#[test]
fn the_table_the_text_and_the_document_agree() {
    let lab = Lab::new();
    let line =
        format!("mark {QUICK} --test SEQ128K-Q2T2 --mix=30 --save r.txt --json r.json --comment my-disk");
    let ran = run(&lab, &line).expect_code(0);
    assert_eq!(lab.names(), ["r.json", "r.txt"], "the file is gone\n{ran}");
    killed::assert_renders(&lab, &ran, "r.json");
    let report = report(&lab, "r.json");
    assert!(report.is_complete && report.rows.len() == 6, "{ran}");
    assert_eq!(report.settings.mix_read_percent, 30);
    let saved = String::from_utf8(lab.read("r.txt")).expect("text");
    assert!(saved.split("\r\n").count() == saved.split('\n').count(), "lines end as CrystalDiskMark's");
    let of_text: Vec<_> = saved.lines().filter_map(parsed).collect();
    let shown: Vec<_> =
        ran.stdout.lines().filter_map(|line| parsed(line.trim_end_matches([' ', '?', '!']))).collect();
    assert_eq!(of_text, shown, "{ran}");
    assert_eq!(of_text.len(), 6, "{saved}");
    for (row, line) in report.rows.iter().zip(&of_text) {
        let best = row.outcome.as_ref().expect("measured");
        assert_eq!((row.loops.len(), row.discarded.is_some()), (2, true), "{}", row.label());
        assert_eq!((line.kind.as_str(), line.block << 10), (row.test.kind(), row.test.block_bytes));
        assert_eq!(
            (line.unit.as_str(), line.queues, line.threads),
            ("KiB", row.test.queues, row.test.threads)
        );
        assert!((line.mb_per_s * 1e6 - best.best_bytes_per_s).abs() < 600.0, "{line:?}");
        let iops = best.best_bytes_per_s / row.test.block_bytes as f64;
        assert!((line.iops - iops).abs() < 0.06, "{line:?}");
        assert!((line.latency_us * 1e3 - best.best_latency_mean_ns).abs() < 6.0, "{line:?}");
        let largest = row.loops.iter().map(|run| run.bytes_per_s).fold(0.0, f64::max);
        assert_eq!(best.best_bytes_per_s, largest);
        let rate = format!("{} MB/s", number(best.best_bytes_per_s / 1e6));
        let table = ran.stdout.split_once("CrystalDiskMark tests on ").expect("a table below").1;
        assert!(table.contains(&rate) && !table.contains('\u{2588}'), "no bars in a file: {rate}\n{ran}");
    }
    for part in [Operation::Read, Operation::Write, Operation::Mix] {
        let words = report.rows.iter().filter(|row| row.part == part).map(|row| row.words.join(" "));
        let share = match part {
            Operation::Read => "-w0 ",
            Operation::Write => "-w100 ",
            Operation::Mix => "-w70 ",
        };
        assert!(words.into_iter().all(|words| words.contains(share)), "{part:?}");
    }
    assert!(
        saved.contains("[Mix] Read 30%/Write 70%\r\n") && saved.ends_with("Comment: my-disk\r\n"),
        "{saved}"
    );
    assert!(
        saved.contains("   Test: 16 MiB (x2) [")
            && saved.contains("   Time: Measure 1 sec / Interval 0 sec \r\n")
    );
    for verdict in ["suspect", "certified", "invalid", "too-short"] {
        assert!(!saved.contains(verdict), "programs know no verdicts\n{saved}");
    }
    assert!(ran.stdout.contains("too-short (all 12 runs)"), "{ran}");
    let mut figures = ran.stdout.lines().filter(|line| line.contains(" MB/s") || line.contains(" IOPS"));
    assert!(figures.all(|line| line.chars().count() <= 80), "{ran}");
    // A line per run, and none about the test file.
    assert!(ran.stderr.contains("[18/18] SEQ128K-Q2T2 mix, 2 of 2: "), "{ran}");
    assert!(!ran.stderr.contains("note:"), "{ran}");
}

#[test]
fn the_file_holds_random_data_or_zeros() {
    for (data, is_zero) in [("random", false), ("zero", true)] {
        let suite = killed::Suite::start(&format!(
            "mark --size 16M --test RND4K-Q4T1 --only write --measure 20 --data {data}"
        ));
        let folder = suite.wait_for_scratch();
        // Its space is there at once, its bytes only when it is marked as whole.
        suite
            .running()
            .wait_until("the file is whole", || killed::is_whole(suite.lab(), &folder.join("data")));
        let about = fs::metadata(&folder).expect("is there");
        assert_eq!(about.mode() & 0o777, 0o700, "nobody else's business");
        let bytes = fs::read(folder.join("data")).expect("can be read");
        assert_eq!(bytes.len(), 16 << 20);
        let mut blocks: Vec<&[u8]> = bytes.chunks(4096).collect();
        blocks.sort_unstable();
        blocks.dedup();
        if is_zero {
            assert!(blocks.len() == 1 && bytes[0] == 0)
        } else {
            assert!(blocks.len() > 4000, "{} different blocks of 4096", blocks.len())
        }
        suite.end_by(rustix::process::Signal::INT);
    }
}

#[test]
fn nothing_stays_however_it_ends() {
    let ran = killed::assert_leaves_nothing(
        "mark --size 16M --measure 1 --interval 30 --loops 1 --test RND4K-Q4T1 --test RND4K-Q1T1 --only read",
        // In the pause between two tests.
        |running| running.stderr_so_far().contains("[2/4]"),
    );
    assert!(
        ran.stdout.contains("RND    4KiB (Q=  4, T= 1): ")
            && ran.stdout.contains("(Q=  1, T= 1):   not measured"),
        "{ran}"
    );
}

#[test]
fn what_was_not_started_is_no_result() {
    let suite = killed::Suite::start("mark --size 16M --measure 30 --json r.json --save r.txt");
    suite.wait_for_scratch();
    let (lab, ran) = suite.end_by(rustix::process::Signal::INT);
    let ran = ran.expect_code(1).says(&["stopped before anything was measured"]);
    assert_eq!((ran.stdout.as_str(), lab.names().len()), ("", 0), "{ran}");
}

#[test]
fn a_killed_series_goes_on() {
    let line = "mark --size 16M --measure 1 --interval 10 --loops 1 --test RND4K-Q4T1 --test RND4K-Q1T1 --only read --keep kept";
    let suite = killed::Suite::start(line);
    suite.wait_for_scratch();
    suite.running().wait_for_stderr("[2/4]");
    let (lab, _) = suite.end_by(rustix::process::Signal::KILL);
    run(&lab, line).refused(3, &["it already holds documents of a series", "--resume"]);
    let ran = run(&lab, &format!("{line} --resume --json r.json")).expect_code(0);
    assert_eq!(ran.stderr.matches("(kept from before)").count(), 2, "{ran}");
    assert!(report(&lab, "r.json").rows.iter().all(|row| row.outcome.is_some()), "{ran}");
    let documents = || {
        let entries = fs::read_dir(lab.path("kept")).expect("a folder");
        let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
        paths.sort();
        paths
    };
    assert_eq!(documents().len(), 4);
    assert!(!ran.stderr.contains("repeated"), "the discarded run of the second test was not there: {ran}");

    // In the middle of a test: the discarded run is made once more, as a run that counts comes after it.
    fs::remove_file(&documents()[3]).expect("the run that counts");
    let ran = run(&lab, &format!("{line} --resume")).expect_code(0);
    assert_eq!(ran.stderr.matches("(kept from before)").count(), 3, "{ran}");
    let ran =
        ran.says(&["RND4K-Q1T1 read, discarded run: repeated for the runs that are still to be made\n"]);
    assert_eq!(ran.stderr.matches("repeated for the runs").count(), 1, "{ran}");
    // With other words it is another series, and nothing of this one is lost.
    let before: Vec<_> = documents().iter().map(|path| fs::read(path).expect("a document")).collect();
    for (more, says) in [
        (
            "--measure 2",
            "001-rnd4k-q4t1-read-discarded-run.json': its command line has -d1, and that of this series has -d2; --resume needs the options",
        ),
        ("--loops 2", "this is not the run 'RND4K-Q4T1 read, 1 of 2'"),
        ("--json kept/009-x.json", "--keep uses such names for the documents of runs"),
    ] {
        let line = line.replace(&format!("{} 1", more.split(' ').next().expect("a word")), "");
        let ran = run(&lab, &format!("{line} --resume {more}")).expect_code(3).says(&[says]);
        assert!(ran.stdout.is_empty(), "{ran}");
        let after: Vec<_> = documents().iter().map(|path| fs::read(path).expect("a document")).collect();
        assert!(before == after, "{more}");
    }
    // Not when nothing comes after it.
    let ran = run(&lab, &format!("{line} --resume")).expect_code(0);
    assert!(!ran.stderr.contains("repeated"), "{ran}");
    assert_eq!(documents().len(), 4);
    assert!(scratch_folders(&lab).is_empty());
}

/// A run would make the folder again, on what is there now.
#[test]
fn a_folder_that_goes_away_between_two_runs_ends_the_series() {
    let lab = Lab::new();
    fs::create_dir(lab.path("disk")).expect("a folder");
    let line = "mark --size 16M --measure 1 --interval 6 --loops 1 --test RND4K-Q1T1 --only read,write disk";
    let running = Running::new(truespd(&lab, line), line);
    running.wait_for_stderr("the best of 1");
    fs::remove_dir_all(lab.path("disk")).expect("it can be removed");
    let ran = running.finish().expect_code(1).says(&["the folder of the test file is gone"]);
    assert!(ran.stdout.contains("RND    4KiB (Q=  1, T= 1): "), "what was measured is kept: {ran}");
    assert!(lab.names().is_empty(), "{:?}", lab.names());
}

#[track_caller]
fn refused(lab: &Lab, line: &str, words: &[&str]) {
    let before = lab.names();
    let ran = run(lab, line);
    assert_eq!((ran.status.code(), ran.stdout.as_str()), (Some(3), ""), "{ran}");
    let ran = ran.says(words);
    assert_eq!(lab.names(), before, "{ran}");
}

#[test]
fn bad_input_is_refused_in_words_and_touches_nothing() {
    let lab = Lab::new();
    lab.write("file", b"mine");
    fs::create_dir(lab.path("folder")).expect("a folder");
    refused(&lab, "mark nowhere", &["'nowhere'", "No such file or directory", "give a directory"]);
    refused(&lab, "mark file", &["/file' is a file; give a directory"]);
    refused(&lab, "mark --size 900000T", &["does not fit", "would fit"]);
    refused(&lab, "mark --size 1M", &["--size", "at least 16M"]);
    refused(&lab, "mark --mix=75", &["--mix", "10, 20, ... 90"]);
    refused(&lab, "mark --test RND4K-Q0T1", &["--test", "the queue depth is not between 1 and 512"]);
    refused(&lab, "mark --loops 0", &["ERROR: ", "--loops", "from 1 to 99"]);
    refused(&lab, "mark --preset sata", &["--preset", "default, nvme, flash"]);
    refused(&lab, "mark --only reading", &["--only", "read, write, mix"]);
    refused(&lab, "mark --profile demo --mix", &["--mix", "demo has no mixed test"]);
    refused(&lab, "mark --profile demo --only mix", &["--only mix", "demo has no mixed test"]);
    refused(&lab, "mark --test SEQ64M --size 32M", &["a block of 64M does not fit into --size 32M"]);
    refused(&lab, "mark --overwrite /dev/sdx", &["--overwrite /dev/sdx", "leave it out"]);
    refused(&lab, "mark --json folder", &["--json folder", "this is a folder"]);
    refused(&lab, "mark --save none/r.txt", &["--save none/r.txt"]);
    refused(&lab, "mark --save r --json r", &["this file is also the file of --save"]);
    refused(&lab, "mark --keep new --save none/r.txt", &["no file can be made in"]);
    refused(&lab, "mark --resume", &["--keep"]);
    let ran = run(&lab, "mark --size -1").expect_code(3);
    drop(ran.says(&["-1: truespd mark has no such option"]).says_not(&["tip: "]));
    let ran = run(&lab, "mark --size 16M /proc").expect_code(4);
    drop(
        ran.says(&["'/proc' is on proc, where files are controls of the kernel"])
            .says_not(&["could not make"]),
    );
    assert!(killed::journals(&lab).is_empty());
}

/// `mark -- --runs` would test a directory of this name. One with a single dash is thinkable.
#[test]
fn an_option_that_does_not_exist_is_not_offered_as_a_directory() {
    let lab = Lab::new();
    for line in ["mark --runs 3 .", "mark --runs=3 .", "mark . --runs"] {
        let ran = run(&lab, line).expect_code(3);
        let ran = ran.says(&["ERROR: --runs", ": truespd mark has no such option", "hint:  perhaps --loops"]);
        drop(ran.says_not(&["tip: ", "Usage: "]));
    }
}

#[test]
fn the_lines_are_printed_and_are_lines() {
    let lab = Lab::new();
    let ran = run(&lab, "mark --preset nvme --mix --size 16M --print").expect_code(0);
    let lines: Vec<&str> = ran.stdout.lines().filter_map(|line| line.strip_prefix("diskspd ")).collect();
    assert_eq!((lines.len(), lab.names().len()), (12, 0), "{ran}");
    for line in lines {
        lab.run(&format!("-Rp {line}")).expect_code(0);
    }
}

#[test]
fn devices_are_only_read_unless_named() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let lab = Lab::new();
    let loop_device = devices::Loop::new(32 << 20);
    let device = devices::text(&loop_device.node);
    let line = format!("mark {QUICK} {device}");
    let ran = run(&lab, &line).expect_code(0).says(&[&format!(
        "note: '{device}' is only read. Write tests destroy its contents; to run them: --overwrite {device}\n"
    )]);
    assert!(ran.stdout.contains("[Read]") && !ran.stdout.contains("[Write]"), "{ran}");
    refused(&lab, &format!("{line} --only write"), &["--only write", "--overwrite"]);
    let ran = run(&lab, &format!("{line} --overwrite {device}")).expect_code(0);
    assert!(ran.stdout.contains("[Write]\n"), "{ran}");
    refused(&lab, &format!("mark --size 1G {device}"), &["the device has", "would fit"]);
    // Told before the reads take their time.
    let protected = devices::Loop::with_options(32 << 20, &["--read-only"]);
    let device = devices::text(&protected.node);
    let line = format!("mark {QUICK} {device} --overwrite {device}");
    refused(&lab, &line, &["is write-protected", "blockdev --setrw"]);
}

#[test]
fn the_schema_is_printed() {
    let lab = Lab::new();
    let ran: Ran = Running::new(truespd(&lab, "schema mark"), "schema mark").finish();
    assert_eq!(ran.expect_code(0).stdout, schema::of_kind::<MarkReport>());
}
