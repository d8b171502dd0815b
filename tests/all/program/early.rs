//! What is known before a run is refused before anything is made: no file of `-c`, nothing on standard output.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Instant;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::support::killed;
use crate::support::needs::{Need, has};
use crate::support::program::{Lab, Ran, Running};
use crate::support::runner::has_engine;

/// Refused by exit code 3, and nothing of `-c` was made.
#[track_caller]
fn refused(lab: &Lab, ran: Ran, words: &[&str]) -> Ran {
    let ran = ran.expect_code(3).says(&["ERROR: "]).says(words);
    assert_eq!(ran.stdout, "", "{ran}");
    assert!(!lab.path("new").exists(), "{ran}");
    ran
}

#[test]
fn sources_of_write_data_that_cannot_be_read() {
    let lab = Lab::new();
    lab.write("empty", b"");
    fs::create_dir(lab.path("folder")).expect("a folder");
    mknodat(CWD, lab.path("pipe"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).expect("a pipe");
    for (source, says) in [
        ("nope", "No such file or directory"),
        ("nope/in", "No such file or directory"),
        ("empty", "it is empty"),
        ("folder", "it is a directory"),
        ("pipe", "it is a pipe"),
        ("/dev/null", "it is a character device"),
        ("/proc/kmsg", "the kernel makes it up"),
        ("/proc/self/mem", "the kernel makes it up"),
    ] {
        for words in ["-w100", "-w1", "-w100 -Su"] {
            let ran = lab.run(&format!("-c1M -b4K -d1 -W0 {words} -Z1M,{source} new"));
            refused(&lab, ran, &[says, source, "the source of write data"]);
        }
    }
    // Of a later time span, too.
    let target = "<Target><Path>new</Path><FileSize>1048576</FileSize></Target>";
    let data = "<WriteBufferContent><Pattern>random</Pattern><RandomDataSource><SizeInBytes>1048576</SizeInBytes>\
                <FilePath>nope</FilePath></RandomDataSource></WriteBufferContent>";
    let later = format!("<Target><Path>new</Path><WriteRatio>100</WriteRatio>{data}</Target>");
    let span = |target: &str| {
        format!("<TimeSpan><Duration>1</Duration><Warmup>0</Warmup><Targets>{target}</Targets></TimeSpan>")
    };
    let profile = format!("<Profile><TimeSpans>{}{}</TimeSpans></Profile>", span(target), span(&later));
    lab.write("later.xml", profile.as_bytes());
    refused(&lab, lab.run("-Xlater.xml"), &["'nope', the source of write data"]);
    // Nobody reads the source of a test that only reads; devices that are memory can be read as often as one likes.
    for words in ["-w0 -Z1M,nope", "-w100 -Z1M,/dev/zero", "-w100 -Z1M,/dev/urandom", "-w100 -Z1M,new"] {
        lab.run(&format!("-c1M -b4K -d1 -W0 -g64 {words} new")).expect_code(0);
    }
}

#[test]
fn sources_that_this_user_may_not_read() {
    if !has(&[Need::OtherUsers]) {
        return;
    }
    let lab = Lab::new();
    lab.write("secret", b"x");
    fs::set_permissions(lab.path("secret"), fs::Permissions::from_mode(0o600)).expect("ours");
    fs::set_permissions(lab.work().with_file_name("work"), fs::Permissions::from_mode(0o777)).expect("ours");
    lab.copy_of_program();
    for open in ["", "state", "runtime"] {
        let path = lab.work().with_file_name(open);
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).expect("ours");
    }
    let wrapper = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let line = "-c1M -b4K -d1 -W0 -w100 -Z1M,secret new";
    let ran = Running::new(lab.command_behind(&wrapper, line), line).finish();
    refused(&lab, ran, &["'secret', the source of write data", "Permission denied"]);
}

/// More than any machine of a test has reserved.
#[test]
fn large_pages_that_are_not_there() {
    let lab = Lab::new();
    for words in ["-o64 -b16M -t4", "-o64 -b16M -t4 -w100", "-F2 -o64 -b16M"] {
        let ran = lab.run(&format!("-c1G -d1 -W0 -l {words} new"));
        refused(&lab, ran, &["large pages", "vm.nr_hugepages", "are free now"]);
    }
}

#[test]
fn events_that_cannot_be() {
    let lab = Lab::new();
    let long = "a".repeat(300);
    for switch in ["-ys", "-yf", "-yr", "-yp"] {
        let ran = lab.run(&format!("-c1M -d1 -W0 {switch}{long} new"));
        let ran = refused(&lab, ran, &["it is too long (300 letters); 234 letters or digits fit"]);
        assert!(ran.stderr.len() < 500, "{ran}");
    }
    let ran = lab.run(&format!("-ye{long}")).refused(3, &["it is too long (300 letters)"]);
    assert!(ran.stderr.len() < 500, "{ran}");
    // What was made for the first of them goes with it.
    refused(&lab, lab.run(&format!("-c1M -d1 -W0 -ysfine -yf{long} new")), &["it is too long"]);
    let runtime = lab.work().with_file_name("runtime");
    let left = fs::read_dir(runtime.join("truespd")).map_or(0, Iterator::count);
    assert_eq!(left, 0, "an event is left");
    // The folder of the events is somebody's file.
    fs::remove_dir_all(runtime.join("truespd")).ok();
    fs::write(runtime.join("truespd"), "x").expect("a file");
    refused(&lab, lab.run("-c1M -d1 -W0 -ysx new"), &["cannot hold events: it is not a directory"]);
}

#[test]
fn more_targets_than_can_be_open() {
    // The most outstanding I/Os of one thread, which are that of others, are refused first.
    if !has_engine("io_uring") {
        return;
    }
    if !has(&[Need::OpenFiles]) {
        return;
    }
    let lab = Lab::new();
    let targets: Vec<String> = (0..3000).map(|number| format!("file{number}")).collect();
    let at_most = |limit: u64| ["prlimit".to_string(), format!("--nofile={limit}:{limit}")];
    for (words, needs) in [("-d1 -W0", 12_064), ("-c1M -d1 -W0", 12_064), ("-F1 -d1 -W0", 9065)] {
        let wrapper = at_most(2048);
        let wrapper: Vec<&str> = wrapper.iter().map(String::as_str).collect();
        let line = format!("{words} {}", targets.join(" "));
        let since = Instant::now();
        let ran = Running::new(lab.command_behind(&wrapper, &line), words).finish();
        let needs = format!("the run needs {needs} open files (targets: 3000");
        let ran = refused(&lab, ran, &[&needs, "ulimit -n"]);
        assert!(since.elapsed() < crate::support::HANG, "{:?}", since.elapsed());
        assert!(ran.stderr.len() < 1000, "{ran}");
    }
    assert_eq!(lab.names(), [""; 0], "nothing was made");
    // Few reasons are shown of many.
    let ran = lab.run(&format!("-d1 -W0 {}", targets[..400].join(" "))).not_opened(&["and 390 more reasons"]);
    assert!(ran.stderr.len() < 4000, "{}", ran.stderr.len());
}

/// As many as the check allows can really be open.
#[test]
fn as_many_targets_as_the_limit_allows() {
    if !has(&[Need::OpenFiles]) {
        return;
    }
    let lab = Lab::new();
    let targets: Vec<String> = (0..100).map(|number| format!("file{number}")).collect();
    let targets = targets.join(" ");
    lab.run(&format!("-c64K -b4K -d1 -W0 -g16 {targets}")).expect_code(0);
    for (words, needs) in [("-F1 -w0", 365), ("-F1 -w50", 365), ("-t1 -o4 -Su -w50", 464), ("-F3 -O4", 567)] {
        let line = format!("-b4K -d1 -W0 {words} {targets}");
        let with = |limit: u64| {
            let limit = format!("--nofile={limit}:{limit}");
            Running::new(lab.command_behind(&["prlimit", &limit], &line), words).finish()
        };
        with(needs).expect_code(0);
        refused(&lab, with(needs - 1), &[&format!("the run needs {needs} open files")]);
    }
}

#[test]
fn results_and_engines_that_cannot_be() {
    let lab = Lab::new();
    for (words, says) in [
        ("--json no/folder/j", "no/folder"),
        ("--xml no/folder/x", "no/folder"),
        ("--intervals no/folder/i", "no/folder"),
        ("--metrics no/folder/m", "no/folder"),
        ("--events no/folder/e", "no/folder"),
        ("-t3000000000 -b512", "-t"),
        ("-o4000000000", "-o"),
        ("-D1 -d4000000000 -t64", "-D"),
    ] {
        let ran = lab.run(&format!("-c1M -d1 -W0 -b4K {words} new"));
        refused(&lab, ran, &[says]);
    }
}

/// Each suite and command that is refused says nothing on standard output and makes nothing.
#[test]
fn suites_too() {
    let lab = Lab::new();
    for line in [
        "mark nowhere",
        "mark --json no/folder/j .",
        "mark --size 900T .",
        "assess nowhere",
        "assess --json no/folder/j .",
        "workload oltp nowhere",
        "workload nosuch .",
        "find-max -b4K nowhere --p99 2ms",
        "find-max -b4K . --p99 2",
        "find-max -b4K -c1G . --p99 2ms",
        "workload beside -b4K -b1M nowhere",
        "workload beside -b4K -g5i .",
        "workload beside -b4K -b1M . --shares 0",
        "sweep -b4K nowhere --over o=1..8",
        "sweep -b4K . --over o=8..1",
        "sweep -b4K -o2 . --over o=1..8",
        "study batching nowhere",
        "ab --a -b4K --b -b8K nowhere",
        "ab --a=-Z1M,nope --b=-b4K .",
        "adopt nowhere",
        "adopt --recursive nowhere",
        "clean --dry-run --yes",
        "inspect nowhere",
        "history show nothing",
    ] {
        let ran = killed::run(&lab, line);
        assert!(matches!(ran.status.code(), Some(1 | 3)), "{line}: {ran}");
        assert_eq!(ran.stdout, "", "{line}: {ran}");
        assert_eq!(lab.names(), Vec::<String>::new(), "{line}: {ran}");
        assert_eq!(killed::journals(&lab), Vec::<PathBuf>::new(), "{line}: {ran}");
    }
}
