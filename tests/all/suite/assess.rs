//! `truespd assess` on real files: winsat's lines, documents, refusals, and that nothing stays.

use crate::support::devices::{Loop, text};
use crate::support::needs::{Need, has};
use crate::support::program::Lab;

use crate::support::killed::{assert_leaves_nothing, assert_renders, journals, run, scratch_folders};

/// The value of winsat's line with this label, as scripts take it: what follows the label, split at blanks.
fn value(stdout: &str, label: &str) -> (f64, String) {
    let line = stdout.lines().find(|line| line.starts_with(&format!("> {label}"))).unwrap_or_else(|| {
        panic!("no line of {label}:\n{stdout}");
    });
    assert_eq!(line.find(label), Some(2), "{line}");
    let mut words = line[47..].split_whitespace();
    let number = words.next().and_then(|word| word.parse().ok()).unwrap_or_else(|| panic!("{line}"));
    (number, words.next().unwrap_or_default().to_string())
}

#[test]
fn the_formal_set_on_a_file() {
    let lab = Lab::new();
    let line = "assess --size 16M -d 1 --json assess.json --keep kept --require pass";
    let ran = run(&lab, line);
    // Whether this machine's disk keeps the limits, its table says.
    let misses = ran.stdout.split_whitespace().any(|word| ["FAIL", "undecided"].contains(&word));
    assert_eq!(ran.stderr.contains("--require pass: not passed: "), misses, "{ran}");
    let code = if misses { 5 } else { 0 };
    let ran = ran.expect_code(code);
    assert_renders(&lab, &ran, "assess.json");
    let labels = [
        ("Disk  Random 16.0 Read", "MB/s"),
        ("Disk  Sequential 64.0 Read", "MB/s"),
        ("Disk  Sequential 64.0 Write", "MB/s"),
        ("Average Read Time with Sequential Writes", "ms"),
        ("Latency: 95th Percentile", "ms"),
        ("Latency: Maximum", "ms"),
        ("Average Read Time with Random Writes", "ms"),
    ];
    let mut last = 0;
    for (label, unit) in labels {
        let (number, found_unit) = value(&ran.stdout, label);
        assert!(number > 0.0 && found_unit == unit, "{label}: {number} {found_unit}");
        let at = ran.stdout.find(&format!("> {label}")).expect("is there");
        assert!(at >= last, "winsat's order\n{}", ran.stdout);
        last = at;
    }
    assert!(ran.stdout.contains("\n> Total Run Time 00:00:"), "{}", ran.stdout);
    assert!(ran.stdout.contains("\nverdict: "), "{}", ran.stdout);
    let (average, maximum) = (value(&ran.stdout, "Average Read").0, value(&ran.stdout, "Latency: Maximum").0);
    assert!(average <= maximum);

    // What stays is what was asked for.
    assert_eq!(lab.names(), ["assess.json", "kept"]);
    assert!(scratch_folders(&lab).is_empty() && journals(&lab).is_empty());
    let stored: serde_json::Value = serde_json::from_slice(&lab.read("assess.json")).expect("JSON");
    assert_eq!(stored["format"], "truespd-assess");
    assert_eq!(stored["assessment"]["figures"].as_array().map(Vec::len), Some(9));
    let kept = std::fs::read_dir(lab.path("kept")).expect("a folder").count();
    assert_eq!(kept, 5);

    // The flush test's document: reads of one thread, writes of the two others, one of them at 10 per second.
    let flush: serde_json::Value =
        serde_json::from_slice(&lab.read("kept/004-flush-seq.json")).expect("JSON");
    let threads = &flush["result"]["time_spans"][0]["measured"]["threads"];
    let ios =
        |thread: usize, way: &str| threads[thread]["targets"][0][way]["ios"].as_u64().expect("a number");
    assert!(ios(0, "read") > 0 && ios(0, "write") == 0);
    assert!(ios(1, "write") > 0 && ios(1, "read") == 0);
    // Over the second of warm-up and two measured ones, as what a slow flush held up is made up for.
    assert!((1..=31).contains(&ios(2, "write")), "{}", ios(2, "write"));

    // Nothing is measured twice.
    let again = run(&lab, &line.replace("--keep", "--resume --keep")).expect_code(code);
    assert_eq!(again.stderr.matches("(kept from before)").count(), 5, "{again}");
    for (label, _) in labels {
        assert_eq!(value(&again.stdout, label), value(&ran.stdout, label));
    }
}

#[test]
fn single_tests_by_winsats_words() {
    let lab = Lab::new();
    let ran = run(&lab, "assess -ran -write -ransize 4096 --size 16M -d 1 .").expect_code(0);
    assert_eq!(value(&ran.stdout, "Disk  Random 4.0 Write").1, "MB/s");
    assert_eq!(ran.stdout.lines().filter(|line| line.starts_with("> ")).count(), 2, "{}", ran.stdout);
    assert!(lab.names().is_empty());
}

#[test]
fn what_would_run_is_printed_and_runs_nothing() {
    let lab = Lab::new();
    let ran = run(&lab, "assess --print --size 16M").expect_code(0);
    let lines: Vec<&str> = ran.stdout.lines().filter(|line| line.starts_with("diskspd ")).collect();
    assert_eq!(lines.len(), 5, "{}", ran.stdout);
    assert!(
        lines[0].contains(" -b16384 -r -w0 -o1 -t1 ") && lines[3].starts_with("diskspd -Xflush-seq.xml ")
    );
    assert!(ran.stdout.contains("<WriteThrough>true</WriteThrough>"));
    assert!(lab.names().is_empty());
}

#[test]
fn refusals_say_what_is_legal_and_touch_nothing() {
    let lab = Lab::new();
    lab.write("mine", b"data");
    for (line, word) in [
        ("assess missing", "No such file"),
        ("assess mine", "is a file; give a directory"),
        ("assess --size 1M", "at least 16M"),
        ("assess --size 1", "--size: 1 is too small"),
        ("assess -flush -write", "cannot be used with"),
        ("assess --size 9000T", "--size 9000T does not fit"),
        ("assess --json no/where.json", "no/where.json: no file can be made in"),
        ("assess --json mine --keep new -drive c", "there are no drive letters here"),
        ("assess --json new.json --keep mine", "this is a file; give a folder"),
        ("assess --json mine", "this file does not hold a result in JSON"),
        ("assess -xml f", "use --json FILE"),
        (
            "assess -d 0",
            "ERROR: invalid value '0' for '--duration <SECONDS>': legal: a whole number from 1 to 3600",
        ),
    ] {
        let ran = run(&lab, line).expect_code(3);
        assert!(ran.stdout.is_empty() && ran.stderr.contains(word), "{line}: {ran}");
        assert_eq!(lab.names(), ["mine"], "{line}");
    }
    assert_eq!(lab.read("mine"), b"data");
}

#[test]
fn ended_in_the_middle_it_leaves_nothing_and_shows_what_is_done() {
    // So long that the second test is under way still when the signal comes, also on a busy machine.
    let ran = assert_leaves_nothing("assess --size 16M -d 6 --seqsize 4K -seq", |running| {
        running.stderr_so_far().contains("[1/2]")
    });
    assert!(ran.stdout.contains("> Disk  Sequential 4.0 Read "), "{ran}");
    assert!(ran.stdout.contains("> Disk  Sequential 4.0 Write                   not measured\n"), "{ran}");
}

#[test]
fn a_device_is_only_read_until_its_name_is_given_again() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(32 << 20);
    let before: Vec<u8> = (0..32u32 << 20).map(|i| (i % 251) as u8).collect();
    std::fs::write(&device.image, &before).expect("an image");
    let node = text(&device.node);

    let ran = run(&lab, &format!("assess {node} -d 1")).expect_code(0);
    let lines: Vec<&str> = ran.stdout.lines().filter(|line| line.starts_with("> ")).collect();
    assert_eq!(lines.len(), 3, "{ran}");
    assert!(value(&ran.stdout, "Disk  Random 16.0 Read").0 > 0.0, "{ran}");
    assert!(ran.stderr.contains(&format!("--overwrite {node}")), "{ran}");
    // Asked for writes alone, it refuses: also where the guard finds nothing, for a blank disk may be somebody's.
    let blank = Loop::new(32 << 20);
    for node in [node, text(&blank.node)] {
        for tests in ["-seq -write", "-flush"] {
            let refused = run(&lab, &format!("assess {tests} {node} -d 1")).expect_code(3);
            assert!(refused.stdout.is_empty(), "{refused}");
            assert!(refused.stderr.contains(&format!("--overwrite {node}")), "{refused}");
        }
    }
    assert!(std::fs::read(&blank.image).expect("the image").iter().all(|&byte| byte == 0));
    assert!(std::fs::read(&device.image).expect("the image") == before, "nothing was written");

    let ran = run(&lab, &format!("assess {node} -d 1 --overwrite {node}")).expect_code(0);
    assert_eq!(ran.stdout.lines().filter(|line| line.starts_with("> ")).count(), 8, "{ran}");
    assert!(value(&ran.stdout, "Average Read Time with Random Writes").0 > 0.0, "{ran}");
    assert!(!ran.stdout.contains("not measured"), "{ran}");
    assert!(lab.names().is_empty());
}
