//! Limits of engines, of processes and of what is read: in words, before anything is taken, and never by
//! waiting for ever.

use std::fs::{self, File};
use std::io::Write;
use std::process::Command;

use crate::support::killed;
use crate::support::needs::{Need, has};
use crate::support::program::{Lab, Ran, Running};

fn lab_with_file() -> Lab {
    let lab = Lab::new();
    lab.run("-c1M -b4K -d1 -W0 -g1 f").expect_code(0);
    lab
}

fn behind(lab: &Lab, wrapper: &[&str], line: &str) -> Ran {
    Running::new(lab.command_behind(wrapper, line), line).finish()
}

/// Before a file is made, and before the buffers are taken.
#[test]
fn more_than_an_engine_takes() {
    let lab = Lab::new();
    for (words, says) in [
        ("-o65536 -t4", "65536 outstanding I/Os for one thread are more than the engine"),
        ("-o4097 --engine threads", "more than the engine threads takes, which is 1 to 4096"),
        ("-F2 -O65536", "outstanding I/Os for one thread are more than the engine"),
    ] {
        let ran = lab.run(&format!("-c1M -d1 -W0 -b4K -r {words} new"));
        ran.refused(3, &[says, "use fewer outstanding I/Os per thread (-o, -O) and more threads"]);
    }
    for (words, says) in [
        ("-o65537", "per-target outstanding request count (-o) of 65537 exceeds maximum of 65536"),
        ("-F2 -O2000000", "outstanding request count (-O) of 2000000 exceeds maximum of 65536"),
    ] {
        lab.run(&format!("-c1M -d1 -W0 -b4K -r {words} new")).refused(3, &[says]);
    }
    let ran = lab.run("-c1M -d1 -W0 -b512 -r -t99999999 new");
    assert!(ran.stderr.contains(" threads "), "{ran}");
    ran.refused(3, &["-t"]);
    assert_eq!(lab.names(), [""; 0], "nothing was made");
}

#[test]
fn few_open_files() {
    if !has(&[Need::Tool("prlimit")]) {
        return;
    }
    let lab = lab_with_file();
    // With fewer, the loader finds no libraries.
    for limit in 5..=16 {
        let ran =
            behind(&lab, &["prlimit", &format!("--nofile={limit}:{limit}")], "-d1 -W0 -b4K -r -g10i -t2 f");
        ran.says_not(&["panicked"]).refused(3, &["open files"]);
    }
}

/// From what the program needs to begin at all up to what suffices.
#[test]
fn little_address_space() {
    if !has(&[Need::Tool("prlimit")]) {
        return;
    }
    let lab = lab_with_file();
    let mut codes = Vec::new();
    for limit in ["as", "data"] {
        for mib in (4..48).step_by(6) {
            let wrapper = format!("--{limit}={}", mib << 20);
            let ran = behind(&lab, &["prlimit", &wrapper], "-d1 -W0 -b4K -g10i -t4 -o8 -L -D f");
            // The kernel or the loader had no room for the program itself: none of it has run.
            let is_begun = ran.status.code().is_some_and(|code| code != 127);
            if !is_begun {
                assert!(limit == "as" && ran.stdout.is_empty(), "{ran}");
                continue;
            }
            codes.push(ran.status.code());
            // Where the standard library allocates for itself, past the program's allocator, it says so before our error.
            let mut ran = ran.says_not(&["panicked"]);
            if ran.status.code() == Some(0) {
                ran = ran.says_not(&["memory allocation of"]);
            } else {
                assert!(ran.stderr.contains("ERROR: "), "{ran}");
                assert!(matches!(ran.status.code(), Some(1 | 3)), "{ran}");
            }
        }
    }
    assert!(codes.contains(&Some(0)) && codes.contains(&Some(3)), "{codes:?}");
    // Beyond what is checked beforehand: a document that is larger than the memory left.
    let mut result = String::from("{\"format\": \"truespd-result\", \"format_version\": 1, \"result\": [");
    result.push_str(&"0,".repeat(40 << 20));
    lab.write("large.json", result.as_bytes());
    let mut command = Command::new("prlimit");
    command.args(["--data=67108864", env!("CARGO_BIN_EXE_truespd"), "render"]).arg(lab.path("large.json"));
    let output = command.output().expect("prlimit starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.starts_with("ERROR: the system has no ") && stderr.contains("ulimit -d"), "{stderr}");
}

fn pipe(lab: &Lab) {
    assert!(Command::new("mkfifo").arg(lab.path("pipe")).status().expect("mkfifo starts").success());
}

#[test]
fn pipes_that_nobody_writes_into() {
    let lab = lab_with_file();
    pipe(&lab);
    lab.run("-Xpipe").refused(3, &["nobody writes into this pipe; start its writer first"]);
    for line in ["render pipe", "judge pipe", "merge f pipe"] {
        let ran = killed::run(&lab, line);
        assert_eq!(ran.status.code(), Some(3), "{ran}");
        assert!(line.starts_with("merge") || ran.stderr.contains("nobody writes into this pipe"), "{ran}");
    }
    // With a writer they are files like any other.
    let profile = "<Profile><TimeSpans><TimeSpan><Duration>1</Duration><Warmup>0</Warmup><Targets><Target>\
        <Path>f</Path><BlockSize>4096</BlockSize></Target></Targets></TimeSpan></TimeSpans></Profile>";
    let path = lab.path("pipe");
    let writer = std::thread::spawn(move || {
        let mut pipe = File::options().write(true).open(path).expect("a pipe");
        pipe.write_all(profile.as_bytes()).expect("it is read");
    });
    lab.run("-Xpipe").expect_code(0);
    writer.join().expect("no panic");
}

#[test]
fn documents_have_a_largest_size() {
    let lab = Lab::new();
    let file = File::create(lab.path("large.json")).expect("a file");
    file.set_len((1 << 30) + 1).expect("a sparse file");
    drop(file);
    for line in ["render large.json", "judge large.json", "merge large.json"] {
        let ran = killed::run(&lab, line);
        assert_eq!(ran.status.code(), Some(3), "{ran}");
        assert!(ran.stderr.contains("'large.json' is larger than 1 GiB, the most that is read"), "{ran}");
    }
    lab.run("-Xlarge.json").refused(3, &["failed to load profile"]);
    fs::remove_file(lab.path("large.json")).expect("there");
}

/// A stack of a few pages is none, and a size that others set for the stacks of threads says nothing here.
#[test]
fn the_limit_of_the_stack_changes_nothing() {
    let lab = Lab::new();
    lab.run("-c1M -b4K -d1 -W0 -g1 --json r.json f").expect_code(0);
    let (diskspd, truespd) = (crate::support::program::diskspd(), env!("CARGO_BIN_EXE_truespd"));
    let lines = [
        format!("{diskspd} -?"),
        format!("{diskspd} -b4K -d1 -W0 -t4 -o4 -L f"),
        format!("{truespd} run -b4K -d1 -W0 f"),
        format!("{truespd} --help"),
        format!("{truespd} show r.json"),
        format!("{truespd} report r.json -o p.html"),
        format!("{truespd} history list"),
        format!("{truespd} inspect f"),
        format!("{truespd} manual diskspd"),
    ];
    for line in lines {
        for limit in [
            "ulimit -s 64",
            "ulimit -S -s 64",
            "export RUST_MIN_STACK=1",
            "export RUST_MIN_STACK=99999999999999",
        ] {
            let words = format!("{limit}; exec {line}");
            let mut command = lab.command_behind(&["sh", "-c", &words], "");
            let ran = command.output().expect("sh starts");
            let said = String::from_utf8_lossy(&ran.stderr).into_owned();
            assert_eq!(ran.status.code(), Some(0), "{words}\n{said}");
        }
    }
    // Root raises the limit; who may not gets a thread.
    if has(&[Need::OtherUsers]) {
        lab.give_to(65534);
        let words = format!("ulimit -s 64; exec {} -b4K -d1 -W0 f", lab.copy_of_program().display());
        let wrapper = ["setpriv", "--reuid=65534", "--clear-groups", "sh", "-c", &words];
        let ran = lab.command_behind(&wrapper, "").output().expect("setpriv starts");
        assert_eq!(ran.status.code(), Some(0), "{words}\n{}", String::from_utf8_lossy(&ran.stderr));
    }
}
