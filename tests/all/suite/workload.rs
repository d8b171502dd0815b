//! `truespd workload` on real files: tables, a person's presets, `diskspd -X`, refusals, and that nothing stays.

use crate::support::devices::{Loop, text};
use crate::support::needs::{Need, has};
use crate::support::program::{Lab, Running};

use crate::support::killed::{
    assert_leaves_nothing, assert_renders, journals, run, scratch_folders, truespd,
};
use crate::support::words::in_one_line;

/// The numbers of a row that begins with these words, whatever the gaps between them.
fn row(stdout: &str, words: &str) -> Vec<f64> {
    for line in stdout.lines() {
        let line = in_one_line(line);
        if let Some(rest) = line.strip_prefix(words) {
            return rest.split(' ').filter_map(|word| word.replace(',', "").parse().ok()).collect();
        }
    }
    panic!("{words}\n{stdout}")
}

#[test]
fn data_and_log_on_two_files() {
    let lab = Lab::new();
    let ran = run(&lab, "workload sql . --size 16M -d 1 -W 0 --json out.json --keep kept").expect_code(0);
    assert_renders(&lab, &ran, "out.json");
    let data = row(&ran.stdout, "8KiB random read");
    let log = row(&ran.stdout, "32KiB sequential write");
    let all = row(&ran.stdout, "all total");
    assert!(data[0] > 0.0 && log[0] > 0.0 && all[0] > data[0] + log[0], "{ran}");
    assert!(ran.stdout.contains("\nverdict: "), "{ran}");
    assert_eq!(lab.names(), ["kept", "out.json"]);
    assert!(scratch_folders(&lab).is_empty() && journals(&lab).is_empty());
    let stored: serde_json::Value = serde_json::from_slice(&lab.read("out.json")).expect("JSON");
    assert_eq!(stored["format"], "truespd-workload");
    assert_eq!(stored["outcome"]["runs"][0]["rows"].as_array().map(Vec::len), Some(4));
}

#[test]
fn a_search_under_a_limit_ends_with_an_answer() {
    let lab = Lab::new();
    // Nothing takes a minute, so every rate keeps it and the search goes to the top. Durable writes leave time for other tests.
    let line = "workload oltp . --size 16M -w100 -d 1 -W 0 --limit 60000 --of mean";
    let ran = run(&lab, line).expect_code(0);
    assert!(ran.stdout.contains("limit of the mean response time  60 s\n"), "{ran}");
    // Other tests may have changed the disk from the first run of the search to its last, which is the answer then.
    const DISK_CHANGED: &str = "no answer: the storage changed";
    let answered = ["highest rate: ", "undecided after", "no rate keeps", DISK_CHANGED];
    assert_eq!(answered.iter().filter(|words| ran.stdout.contains(*words)).count(), 1, "{ran}");
    let is_found = ran.stdout.contains("highest rate: at least ");
    assert_eq!(
        ran.stdout.contains(" outstanding I/Os are what ends the search, not the limit")
            || ran.stdout.contains("this program ends the search, not the storage"),
        is_found,
        "{ran}"
    );
    // Where no rate could be kept, none is within the limit.
    assert!(!is_found || ran.stdout.contains(" yes "), "{ran}");
    // Nothing answers within a nanosecond.
    let ran = run(&lab, "workload oltp . --size 16M -d 1 -W 0 --limit 0.000001 --of mean").expect_code(0);
    let answers = ["no rate keeps mean within 0.000001 ms: at ", "undecided after", DISK_CHANGED];
    assert!(answers.iter().any(|words| ran.stdout.contains(words)), "{ran}");
    assert!(lab.names().is_empty());
}

#[test]
fn a_profile_that_is_printed_runs_with_diskspd() {
    let lab = Lab::new();
    let peak = run(&lab, "workload fleet-peak . -w30 -b8K --size 16M --print").expect_code(0);
    for element in ["<WriteRatio>30<", "<BlockSize>8192<", "<Random>8192<"] {
        assert!(peak.stdout.contains(element), "{element}: {peak}");
    }
    let printed = run(&lab, "workload fleet-vdi . --size 16M -d 1 -W 0 --print").expect_code(0);
    let (line, profile) = printed.stdout.split_once('\n').expect("a line and a profile");
    assert!(line.starts_with("diskspd -Xworkload.xml -W0 -d1 -C0 ") && line.ends_with("data-1"), "{line}");
    assert!(printed.stderr.contains("shrunk in proportion"), "{printed}");
    assert!(lab.names().is_empty(), "nothing ran");
    lab.write("workload.xml", profile.as_bytes());
    let ran = lab.run("-Xworkload.xml -W0 -d1 data").expect_code(0);
    assert!(ran.stdout.contains("data"), "{ran}");
    // And what comes with the program, as it is: nothing but the targets is missing.
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/../../profiles/fleet-peak.xml");
    lab.run("-c16M -d1 -W0 other").expect_code(0);
    lab.run(&format!("-X{own} -W0 -d1 -C0 other")).expect_code(0);
}

#[test]
fn a_persons_presets() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("mine")).expect("a folder");
    lab.write(
        "mine/ours.toml",
        b"about = \"our database\"\nlines = [\"-b8K -r -w0 -o2 -L -Su\", \"-b64K -s -w0 -o2 -L -Su\"]\nsize = \"16M\"\n",
    );
    lab.write("mine/loud.toml", b"about = \"a\\u001b[2Jb\\tc\"\nlines = [\"-b8K -L\"]\n");
    lab.write("mine/broken.toml", b"about = 3");
    lab.write("mine/wrong.toml", b"about = \"x\"\nlines = [\"-b8Q\"]\nsize = \"16M\"\n");
    lab.write("mine/twice.toml", b"about = \"x\"\nlines = [\"-r\"]\n");
    lab.write("mine/twice.xml", b"<Profile/>");
    let list = run(&lab, "workload --list --presets mine").expect_code(0);
    assert!(
        list.stdout.contains("fleet-vdi ")
            && list.stdout.contains("ours            our database [creates 16 MiB]"),
        "{list}"
    );
    assert!(list.stdout.contains("broken          cannot be used"), "{list}");
    assert!(list.stdout.contains("loud            a\\u{1b}[2Jb\\tc"), "{list}");
    let broken = run(&lab, "workload broken . --presets mine").expect_code(3);
    let says = "ERROR: 'mine/broken.toml': line 1, column 9: invalid type: integer `3`, expected a string\n";
    assert_eq!(broken.stderr, says, "{broken}");
    let ran = run(&lab, "workload ours . --presets mine -d 1 -W 0").expect_code(0);
    assert!(row(&ran.stdout, "8KiB random")[0] > 0.0 && row(&ran.stdout, "64KiB sequential")[0] > 0.0);
    for (line, word) in [
        ("workload broken . --presets mine", "broken.toml"),
        ("workload wrong . --presets mine", "'Q' is not a size suffix"),
        ("workload twice . --presets mine", "there are two presets 'twice': "),
        ("workload ours . --presets none", "'none'"),
    ] {
        let ran = run(&lab, line).expect_code(3);
        assert!(ran.stdout.is_empty() && ran.stderr.contains(word), "{line}: {ran}");
    }
    assert_eq!(lab.names(), ["mine"]);
}

#[test]
fn refusals_say_what_is_legal_and_touch_nothing() {
    let lab = Lab::new();
    lab.write("mine", b"data");
    lab.write("empty", b"");
    for (line, word) in [
        ("workload", "name a workload: oltp, olap, "),
        ("workload oltp empty", "an empty file"),
        ("workload sql empty empty", "an empty file"),
        ("workload olap . --of mean", "--limit MS"),
        ("workload sql . --of mean", "--of is for workloads of one line"),
        ("workload oltq .", "there is no workload 'oltq'; legal: oltp, olap"),
        ("workload oltp missing", "No such file"),
        ("workload sql mine", "needs 2 targets"),
        (
            "workload oltp . mine",
            "name either one directory, in which all files are created, or only files and devices",
        ),
        ("workload oltp mine --size 1G", "--size"),
        ("workload sql . --limit 5", "--limit is for workloads of one line; this one is a DiskSpd profile"),
        ("workload oltp . --limit -5", "--limit"),
        ("workload sql . -w 30", "each with its own percentage of writes and block size"),
        ("workload oltp . -w 101", "0 to 100"),
        ("workload oltp . -b 8Q", "'Q' is not a size suffix"),
        ("workload oltp . --limit 5 --of p42", "mean, p50, p95, p99, p99.9"),
        ("workload oltp . --json no/where.json", "no/where.json"),
        ("workload oltp . --limit 1e308", "86400000 ms (a day)"),
        ("workload oltp . -d 4294967295", "from 1 to 86400"),
        ("workload oltp . -W 86401", "from 0 to 86400"),
        // What is printed is to run.
        ("workload oltp . --size 4K --print", "one I/O of each thread needs 8192"),
        ("workload web . --size 4K --print", "one I/O of each thread needs 8192"),
        ("workload oltp . -b 3 --print", "needs multiples of 512 bytes"),
    ] {
        let ran = run(&lab, line).expect_code(3);
        assert!(ran.stdout.is_empty() && ran.stderr.contains(word), "{line}: {ran}");
        assert_eq!(lab.names(), ["empty", "mine"], "{line}");
    }
    // The figure alone, where the preset has a limit.
    let printed = run(&lab, "workload oltp . --of mean --print").expect_code(0);
    assert!(printed.stdout.contains("at which mean <= 10 ms"), "{printed}");
    // A file that somebody else made is not written.
    let ran = run(&lab, "workload vdi mine -d 1 -W 0").expect_code(4);
    assert!(ran.stdout.is_empty() && ran.stderr.contains("--overwrite"), "{ran}");
    assert_eq!(lab.read("mine"), b"data");
}

#[test]
fn a_preset_cannot_say_what_is_for_the_person_to_say() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("mine")).expect("a folder");
    let presets = [
        ("overwrite", "--overwrite data", "give it to the command itself"),
        ("json", "--json out.json", "--keep FOLDER"),
        ("xml", "--xml out.xml", "--keep FOLDER"),
        ("text", "--text out.txt", "--keep FOLDER"),
        ("csv", "--csv out.csv", "--keep FOLDER"),
        ("require", "--require certified", "single runs"),
        ("time", "-d5", "-d is not allowed in a preset"),
        ("warmup", "-W5", "-W is not allowed in a preset"),
        ("cooldown", "-C5", "-C is not allowed in a preset"),
        ("profile", "-Rp", "runs nothing"),
    ];
    for (name, words, says) in presets {
        let preset = format!("about = \"x\"\nlines = [\"-b8K -L {words}\"]\nsize = \"16M\"\n");
        lab.write(&format!("mine/{name}.toml"), preset.as_bytes());
        let ran = run(&lab, &format!("workload {name} . --presets mine -d 1 -W 0")).expect_code(3);
        assert!(ran.stdout.is_empty() && ran.stderr.contains(says), "{name}: {ran}");
    }
    // Of fixed threads each is on every target.
    let fixed = b"about = \"x\"\nlines = [\"-b8K -F4 -o2 -L\"]\nfiles = 2\nsize = \"16M\"\n[sweep]\nof = \"p99\"\nlimit_ms = 1\n";
    lab.write("mine/fixed.toml", fixed);
    let printed = run(&lab, "workload fixed . --presets mine --print").expect_code(0);
    assert!(printed.stdout.contains("divided by 8 (threads x targets)"), "{printed}");
    assert_eq!(lab.names(), ["mine"]);
}

#[test]
fn ended_in_the_middle_it_leaves_nothing_and_shows_what_is_done() {
    let ran =
        assert_leaves_nothing("workload oltp . --size 16M -d 1 -W 0 --limit 60000 --of mean", |running| {
            running.stderr_so_far().contains("[1/")
        });
    assert!(ran.stdout.contains("oltp without a limit, processors "), "{ran}");
}

#[test]
fn devices_are_read_and_written_only_when_named_again() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(32 << 20);
    std::fs::write(&device.image, vec![7u8; 32 << 20]).expect("an image");
    let node = text(&device.node);
    let ran = run(&lab, &format!("workload olap-si {node} -d 1 -W 0")).expect_code(0);
    assert!(row(&ran.stdout, "512KiB sequential, shared")[0] > 0.0, "{ran}");
    let refused = run(&lab, &format!("workload fleet-vdi {node} -d 1 -W 0")).expect_code(4);
    assert!(refused.stdout.is_empty() && refused.stderr.contains("--overwrite"), "{refused}");
    assert!(std::fs::read(&device.image).expect("the image") == vec![7u8; 32 << 20], "nothing was written");
    let ran = run(&lab, &format!("workload fleet-vdi {node} -d 1 -W 0 --overwrite {node}")).expect_code(0);
    assert!(ran.stderr.contains("shrunk in proportion") && ran.stdout.contains("32KiB 20 % random"), "{ran}");
}

#[test]
fn presets_of_a_person_follow_the_release_that_is_set_and_ours_do_not() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("mine")).expect("a folder");
    lab.write(
        "mine/lines.toml",
        b"about = \"x\"\nlines = [\"-b8K -L\", \"--compat 2.2 -b4K\"]\nsize = \"16M\"\n",
    );
    let printed = lab.run("-Rpxml -b4K *1").expect_code(0).stdout;
    lab.write("mine/whole.xml", printed.as_bytes());
    let print = |name: &str, release: &str| {
        let line = format!("workload {name} . --presets mine --print");
        let mut command = truespd(&lab, &line);
        command.env("TRUESPD_COMPAT", release);
        Running::new(command, &line).finish()
    };
    let lines = print("lines", "2.3").expect_code(0).stdout;
    assert!(lines.contains(" --compat 2.3 -b8K -L ") && lines.contains(" --compat 2.2 -b4K "), "{lines}");
    let whole = print("whole", "2.3").expect_code(0).stdout;
    assert!(whole.starts_with("diskspd --compat 2.3 -Xworkload.xml "), "{whole}");
    assert!(whole.contains("<BufferSeparation>PDECacheLine</BufferSeparation>"), "{whole}");
    for (name, release) in [("lines", "2.2"), ("whole", "2.2"), ("fleet-peak", "2.3"), ("oltp", "2.3")] {
        let ran = print(name, release).expect_code(0);
        assert!(!ran.stdout.contains("--compat 2.3") && !ran.stdout.contains("BufferSeparation"), "{ran}");
    }
    print("lines", "2.4").refused(3, &["the variable TRUESPD_COMPAT is '2.4'"]);
}

/// etcd's question: how long a flush takes, beside the 10 ms that it asks for.
#[test]
fn a_log_is_judged_by_its_flushes() {
    let lab = Lab::new();
    let ran = run(&lab, "workload wal . --size 16M -d1 -W0 --json out.json").expect_code(0);
    let answer = ran.stdout.lines().find(|line| line.starts_with("p99 of the flushes: "));
    let answer = answer.unwrap_or_else(|| panic!("no answer: {ran}"));
    assert!(answer.ends_with(" the 10 ms that are asked for"), "{answer}");
    assert!(ran.stdout.contains(" flush "), "{ran}");
    let stored: serde_json::Value = serde_json::from_slice(&lab.read("out.json")).expect("JSON");
    let rows = stored["outcome"]["runs"][0]["rows"].as_array().expect("rows");
    let directions: Vec<&str> = rows.iter().filter_map(|row| row["direction"].as_str()).collect();
    assert_eq!(directions, ["write", "flush"]);
    assert_eq!(
        (rows[0]["iops"].as_f64() > Some(0.0), stored["outcome"]["flush_p99_ms"].as_f64()),
        (true, Some(10.0))
    );
    assert!(!ran.stdout.contains("volatile-cache"), "each write is durable: {ran}");
}
