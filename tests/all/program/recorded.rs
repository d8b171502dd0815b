//! Every recorded command line of the original, given to the real program: live runs under the strict
//! readers, profile output byte for byte, refusals by exit code and standard output.

use std::fs;

use crate::support::program::{Lab, Ran, data, with_ios};
use crate::support::strict_text;
use crate::support::strict_xml;

/// Runs that go on at the same time; nothing here is about speed.
const AT_ONCE: usize = 8;

struct Recorded {
    group: String,
    line: String,
    stdout: String,
}

/// The text after `"key": "` up to the next quote; the index holds no escapes.
fn field<'a>(entry: &'a str, key: &str) -> Option<&'a str> {
    let tail = &entry[entry.find(&format!("\"{key}\": \""))? + key.len() + 5..];
    tail.split('"').next()
}

fn recorded() -> Vec<Recorded> {
    let index = fs::read_to_string(data("genuine/index.json")).expect("the index is there");
    let entry = |line: &str| {
        let of = |key: &str| field(line, key).unwrap_or_else(|| panic!("{key} in {line}")).to_string();
        let stdout = fs::read_to_string(data("genuine").join(of("stdout_file"))).expect("is recorded");
        let command = of("cmd");
        Recorded {
            group: of("group"),
            line: command.strip_prefix("diskspd ").expect("the program's name").to_string(),
            stdout: stdout.replace("\r\n", "\n").replacen("diskspd.exe", "diskspd", 1),
        }
    };
    index.lines().filter(|line| line.contains("stdout_file")).map(entry).collect()
}

/// The files that the recorded lines found.
fn recorded_lab() -> Lab {
    let lab = Lab::new();
    lab.write("src.bin", &vec![0xa5; 70000]);
    lab.write("exist.dat", &vec![1; 131_072]);
    for profile in ["basic.xml", "text-result.xml"] {
        fs::copy(data("genuine/profiles").join(profile), lab.path(profile)).expect("a profile");
    }
    lab
}

/// Runs every line in a laboratory of its own, several at once.
fn run_all(lines: &[String], check: impl Fn(&Lab, &Ran) + Sync) {
    let next = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(line) = lines.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    let lab = recorded_lab();
                    check(&lab, &with_ios(1, || lab.run(line)));
                }
            });
        }
    });
}

/// A run of zero measured seconds, which measures nothing (`tests/data/deliberate-differences.md`).
fn has_no_time(line: &str) -> bool {
    line.split(' ').any(|word| word == "-d0")
}

#[test]
fn recorded_text_runs() {
    let lines: Vec<String> =
        recorded().into_iter().filter(|r| r.group == "run-text").map(|r| r.line).collect();
    assert_eq!(lines.len(), 20);
    run_all(&lines, |_, ran| {
        assert_eq!(ran.status.code(), Some(0), "{ran}");
        let parsed = ran.text();
        assert_eq!(parsed.profile.command_line, format!("diskspd {}", ran.line));
        if has_no_time(&ran.line) {
            return assert!(parsed.results[0].is_none(), "{ran}");
        }
        let result = parsed.results[0].as_ref().unwrap_or_else(|| panic!("measured\n{ran}"));
        assert!(result.tables[0].total.ios > 0, "{ran}");
        assert_eq!(result.time_s, 1.0, "{ran}");
    });
}

#[test]
fn recorded_xml_runs() {
    let list = fs::read_to_string(data("xml/command-lines.txt")).expect("the list is there");
    let mut lines: Vec<String> = list
        .lines()
        .map(|line| line.split_once(" -Rpxml ").expect("a profile's line").1)
        .map(|line| format!("-Rxml {line}"))
        .collect();
    assert_eq!(lines.len(), 19);
    lines.push("-Rxml -d0 -W0 -c1M t.dat".to_string());
    run_all(&lines, |_, ran| {
        assert_eq!(ran.status.code(), Some(0), "{ran}");
        strict_xml::check(&ran.stdout).unwrap_or_else(|fault| panic!("{fault}\n{ran}"));
        let is_measured = ran.stdout.contains("<TestTimeSeconds>1.00</TestTimeSeconds>");
        assert_ne!(is_measured, has_no_time(&ran.line), "{ran}");
    });
}

#[test]
fn recorded_profile_output_byte_for_byte() {
    let mut compared = 0;
    for Recorded { group, line, stdout } in recorded() {
        if !line.starts_with("-Rp") {
            continue;
        }
        assert!(group != "run-text", "{line}");
        let lab = recorded_lab();
        let before = lab.names();
        let ran = lab.run(&line);
        assert_eq!(ran.status.code(), Some(0), "{ran}");
        assert_eq!(ran.stdout, stdout, "{line}");
        assert_eq!(lab.names(), before, "{line}: nothing runs and nothing is made");
        compared += 1;
    }
    assert_eq!(compared, 25);
}

#[test]
fn recorded_xml_profile_output_byte_for_byte() {
    let list = fs::read_to_string(data("xml/command-lines.txt")).expect("the list is there");
    let profiles = [
        "profile-244.xml -Rpxml -Xbasic.xml",
        "profile-246.xml -Rp -Xbasic.xml",
        "profile-254.xml -Rpxml -Xtext-result.xml",
    ];
    let mut compared = 0;
    for line in list.lines().chain(profiles) {
        let (file, line) = line.split_once(' ').expect("a file and a command line");
        let genuine = fs::read_to_string(data("xml/genuine").join(file)).expect("is recorded");
        let ran = recorded_lab().run(line);
        // The original forgets -Zr: the deliberate difference.
        let ours = if line.contains(" -Zr ") {
            ran.stdout.replace("      <RandomWriteData>true</RandomWriteData>\n", "")
        } else {
            ran.stdout.clone()
        };
        assert_eq!(ran.status.code(), Some(0), "{ran}");
        assert_eq!(ours, genuine.replace("\r\n", "\n"), "{line}");
        compared += 1;
    }
    assert_eq!(compared, 22);
}

/// Live runs of the recorded profiles, in the format that line and profile ask for.
#[test]
fn recorded_profiles_run() {
    let text = ["-Rtext -Xbasic.xml", "-Xtext-result.xml", "-Rtext -Xtext-result.xml"];
    run_all(&text.map(str::to_string), |_, ran| {
        assert_eq!(ran.status.code(), Some(0), "{ran}");
        assert!(ran.text().results[0].is_some(), "{ran}");
    });
    run_all(&["-Xbasic.xml".to_string()], |_, ran| {
        assert_eq!(ran.status.code(), Some(0), "{ran}");
        strict_xml::check(&ran.stdout).unwrap_or_else(|fault| panic!("{fault}\n{ran}"));
    });
}

#[test]
fn recorded_refusals() {
    let list = fs::read_to_string(data("genuine/refusals.tsv")).expect("the list is there");
    let mut compared = 0;
    for row in list.lines().filter(|row| !row.starts_with('#')) {
        let [code, is_empty, files, line] =
            row.split('\t').collect::<Vec<_>>().try_into().unwrap_or_else(|_| panic!("{row}"));
        let lab = Lab::new();
        make_files(&lab, files);
        let before = lab.names();
        let ran = lab.run(line);
        let expected: i32 = match line {
            // Strict: no number was meant.
            "-dabc -W0 -c1M t.dat" | "-wabc -d1 -W0 -c1M t.dat" => 3,
            // A processor that a large machine has.
            "-a0,9 -c1M -d1 -W0 t.dat" if cpus() > 9 => 0,
            _ => code.parse().expect("an exit code"),
        };
        assert_eq!(ran.status.code(), Some(expected), "{ran}");
        if expected == 3 {
            assert_eq!(lab.names(), before, "{ran}: a refusal touches nothing");
            assert_eq!(ran.stdout.is_empty(), !line.is_empty(), "{ran}");
        } else {
            // A target that is not there has no result here (`tests/data/deliberate-differences.md`).
            let is_empty = is_empty == "yes" || line.ends_with(" missing.dat");
            assert_eq!(ran.stdout.is_empty(), is_empty, "{ran}");
        }
        if !line.is_empty() && expected != 0 {
            assert!(ran.stderr.starts_with("ERROR: "), "{ran}");
        }
        compared += 1;
    }
    assert_eq!(compared, 43);
}

/// What `name=content` says: a number of bytes, or a profile.
fn make_files(lab: &Lab, files: &str) {
    for file in files.split(',').filter(|f| *f != "-") {
        let (name, content) = file.split_once('=').expect("a name and a size");
        let basic = fs::read(data("genuine/profiles/basic.xml")).expect("a profile");
        match content.parse() {
            Ok(bytes) => lab.write(name, &vec![7; bytes]),
            Err(_) if name == "truncated.xml" => lab.write(name, &basic[..basic.len() / 2]),
            Err(_) => lab.write(name, &basic),
        };
    }
}

fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// A run that fails has its XML all the same; a target that is not there has none. Standard error ends alike.
#[test]
fn a_failed_run_as_xml() {
    let end = "\nThere has been an error during threads execution\n\nError generating I/O requests\n";
    let ran = Lab::new().run("-c1M -d2 -W0 -Rxml --engine sim:error=eio#9 f").expect_code(1);
    strict_xml::check(&ran.stdout).unwrap_or_else(|fault| panic!("{fault}\n{ran}"));
    assert!(ran.stderr.ends_with(end), "{ran}");
    let ran =
        Lab::new().run("-d2 -W0 -Rxml missing.dat").not_opened(&["Error opening file: missing.dat [2]"]);
    assert!(ran.stderr.ends_with(end), "{ran}");
}

/// The command of the manual's first page, smaller.
#[test]
fn the_first_command_of_the_manual() {
    let lab = Lab::new();
    let line = "-c16M -b4K -r -o32 -w30 -Sh -L -D -d1 -W0 testfile.dat";
    let result = lab.result(line);
    assert_eq!(fs::metadata(lab.path("testfile.dat")).expect("was made").len(), 16 << 20);
    assert!(result.tables[0].total.latency_mean.is_some_and(|ms| ms > 0.0));
    // Once more: the file is taken as it is.
    lab.run(line).expect_code(0).says(&["is used as it is: made by an earlier run"]);
    // The share of writes where a disk that takes them slowly cannot change it.
    let [_, reads, writes] = lab.result(&format!("--engine sim {line}")).tables;
    let share = writes.total.ios as f64 / (reads.total.ios + writes.total.ios) as f64;
    assert!((0.25..0.35).contains(&share), "30 % writes: {share}");
}

#[test]
fn system_information_alone() {
    let ran = Lab::new().run("-Rs").expect_code(0);
    let system = strict_text::parse_system(&ran.stdout).unwrap_or_else(|fault| panic!("{fault}\n{ran}"));
    assert!(system.cpus >= 1 && !system.computer_name.is_empty());
    let ran = Lab::new().run("-Rsxml").expect_code(0);
    assert!(ran.stdout.trim_start().starts_with('<') && ran.stdout.contains("<ComputerName>"), "{ran}");
}
