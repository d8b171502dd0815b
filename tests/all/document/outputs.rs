//! `--json --xml --text --csv` beside standard output, `truespd render` and `truespd merge`, as commands.
//!
//! The runs are simulated, so that they take no time; files are real and in folders of their own.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::support::program::keeps_nothing;

const SIM: &[&str] = &["-c64K", "-b4K", "-r", "-o4", "-w30", "-L", "-D100", "-d1", "-W0", "--engine"];
const ENGINE: &str = "sim:latency=1ms,jitter=exp,cpu=2us";
/// The beginning of a result, which another one may replace.
const EARLIER: &str = "{\"format\":\"truespd-result\"";

fn command(program: &str, folder: &Path, words: &[&str]) -> Output {
    let path = match program {
        "diskspd" => crate::support::program::diskspd(),
        _ => env!("CARGO_BIN_EXE_truespd"),
    };
    let mut command = Command::new(path);
    keeps_nothing(&mut command, folder);
    command.args(words).current_dir(folder).output().expect("the program starts")
}

fn truespd(folder: &Path, words: &[&str]) -> Output {
    command("truespd", folder, words)
}

/// A simulated run with `extra` options on `t.dat`.
fn run(folder: &Path, extra: &[&str]) -> Output {
    run_on(folder, ENGINE, extra)
}

fn run_on(folder: &Path, engine: &str, extra: &[&str]) -> Output {
    let words: Vec<&str> = SIM.iter().chain(&[engine]).chain(extra).chain(&["t.dat"]).copied().collect();
    command("diskspd", folder, &words)
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder can be made")
}

fn code(output: &Output) -> i32 {
    output.status.code().expect("the program ended by itself")
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let name = |entry: std::io::Result<fs::DirEntry>| {
        entry.expect("entry is readable").file_name().to_string_lossy().into_owned()
    };
    let mut names: Vec<String> = entries.map(name).collect();
    names.sort();
    names
}

#[test]
fn one_run_writes_every_format_and_render_makes_the_same() {
    let dir = folder();
    let at = dir.path();
    let all = ["--json", "r.json", "--xml=r.xml", "--text", "r.txt", "--csv", "r.csv"];
    let ran = run(at, &all);
    assert_eq!(code(&ran), 0, "{}", errors(&ran));
    assert_eq!(names(at), ["r.csv", "r.json", "r.txt", "r.xml", "t.dat"]);
    let file = |name: &str| fs::read(at.join(name)).expect("was written");
    assert!(ran.stdout == file("r.txt"), "standard output and --text are one text");
    for (words, name) in [
        (&["render", "r.json"][..], "r.txt"),
        (&["render", "r.json", "-Rtext"], "r.txt"),
        (&["render", "r.json", "-Rxml"], "r.xml"),
        (&["render", "-Rjson", "r.json"], "r.json"),
        (&["render", "r.json", "-R", "csv"], "r.csv"),
    ] {
        let rendered = truespd(at, words);
        assert_eq!(code(&rendered), 0, "{}", errors(&rendered));
        assert!(rendered.stdout == file(name), "{words:?}");
    }
    let csv = String::from_utf8(file("r.csv")).expect("is text");
    let columns: Vec<usize> = csv.lines().map(|line| line.split(',').count()).collect();
    assert_eq!(columns, [20, 20, 20], "a head, reads and writes:\n{csv}");
    let permissions = fs::metadata(at.join("r.json")).expect("is there").permissions().mode() & 0o777;
    fs::write(at.join("plain"), "").expect("a file can be made");
    let usual = fs::metadata(at.join("plain")).expect("is there").permissions().mode() & 0o777;
    assert_eq!(permissions, usual, "as any file of this person");
}

#[test]
fn an_xml_run_is_rendered_as_xml_when_nothing_else_is_asked() {
    let dir = folder();
    let ran = run(dir.path(), &["-Rxml", "--json", "r.json"]);
    assert_eq!(code(&ran), 0, "{}", errors(&ran));
    let rendered = truespd(dir.path(), &["render", "r.json"]);
    assert!(rendered.stdout.starts_with(b"<Results>") && rendered.stdout == ran.stdout);
}

#[test]
fn bad_paths_are_refused_before_anything_happens() {
    let dir = folder();
    let at = dir.path();
    fs::create_dir(at.join("sub")).expect("a folder can be made");
    fs::write(at.join("file"), "x").expect("a file can be made");
    for (words, reason) in [
        (&["--json", "none/r.json"][..], "No such file or directory"),
        (&["--xml", "file/r.xml"], "Not a directory"),
        (&["--text", "sub"], "this is a folder"),
        (&["--text", "new/"], "this names a folder"),
        (&["--csv", "t.dat"], "this file is also the target 't.dat'"),
        (&["--csv", "./t.dat"], "this file is also the target 't.dat'"),
        (&["--json", "a", "--xml", "./a"], "this file is also the file of --json"),
        (&["--json", "a", "--xml", "a"], "another result is already to be written to this file"),
        (&["--json="], "the path of the file is missing"),
    ] {
        let refused = run(at, words);
        assert_eq!(code(&refused), 3, "{words:?}: {}", errors(&refused));
        assert!(refused.stdout.is_empty(), "{words:?}");
        assert!(errors(&refused).contains(reason), "{words:?}: {}", errors(&refused));
        assert_eq!(names(at), ["file", "sub"], "{words:?}: nothing was made");
    }
}

#[test]
fn a_refused_run_leaves_earlier_results_alone() {
    let dir = folder();
    let at = dir.path();
    fs::write(at.join("r.json"), EARLIER).expect("a file can be made");
    for engine in ["sim:latency=never", "none"] {
        let refused = run_on(at, engine, &["--json", "r.json"]);
        assert_eq!(code(&refused), 3, "{}", errors(&refused));
    }
    // Refused by the write guard, after the file was made.
    fs::write(at.join("foreign.dat"), [7; 8192]).expect("a file can be made");
    let words = ["-d1", "-W0", "-w100", "-b4K", "--json", "r.json", "foreign.dat"];
    let refused = command("diskspd", at, &words);
    assert_eq!(code(&refused), 4, "{}", errors(&refused));
    assert_eq!(fs::read_to_string(at.join("r.json")).expect("is there"), EARLIER);
    assert_eq!(names(at), ["foreign.dat", "r.json"]);
}

#[test]
fn a_failed_run_still_has_its_document() {
    let dir = folder();
    let failed = run_on(dir.path(), "sim:error=eio#9", &["--json", "r.json"]);
    assert_eq!(code(&failed), 1, "{}", errors(&failed));
    let text = fs::read_to_string(dir.path().join("r.json")).expect("was written");
    let document: serde_json::Value = serde_json::from_str(&text).expect("is JSON");
    let failure = document["result"]["failures"][0].as_str().expect("says why");
    assert!(errors(&failed).contains(failure) && failure.contains("t.dat"), "{failure}");
    let rendered = truespd(dir.path(), &["render", "r.json"]);
    assert!(rendered.stdout == failed.stdout);
}

#[test]
fn links_stay_links_and_streams_are_written_to() {
    let dir = folder();
    let at = dir.path();
    fs::write(at.join("real.json"), EARLIER).expect("a file can be made");
    symlink("real.json", at.join("link.json")).expect("a link can be made");
    let ran = run(at, &["--json", "link.json", "--xml", "/dev/null", "--csv", "/dev/stderr"]);
    assert_eq!(code(&ran), 0, "{}", errors(&ran));
    assert!(fs::symlink_metadata(at.join("link.json")).expect("is there").is_symlink());
    assert!(fs::read_to_string(at.join("real.json")).expect("is there").starts_with("{\"format\""));
    assert!(fs::metadata("/dev/null").is_ok_and(|facts| !facts.is_file()), "still a device");
}

fn contents(folder: &Path) -> Vec<(Vec<u8>, String)> {
    names(folder).into_iter().map(|name| (fs::read(folder.join(&name)).expect("is there"), name)).collect()
}

/// Each output replaces a file of its own kind, and refuses all others before anything runs.
#[test]
fn an_output_replaces_only_its_own_kind() {
    let dir = folder();
    let at = dir.path();
    let files = ["--json", "--xml", "--text", "--csv", "--intervals", "--metrics", "--events"];
    let of_run = files.map(|option| [option.to_string(), format!("run{option}")]);
    let all: Vec<&str> = of_run.iter().flatten().map(String::as_str).collect();
    assert_eq!(code(&run(at, &all)), 0);
    assert_eq!(code(&run(at, &all)), 0, "again over its own files");
    assert_eq!(code(&run(at, &["--json", "second"])), 0);
    for (words, file) in [
        (&["report", "run--json", "-o"][..], "page"),
        (&["report", "run--json", "--svg"], "svg"),
        (&["report", "run--json", "--png"], "png"),
        (&["compare", "run--json", "second", "--fail-if", "iops<-99%", "--junit"], "junit"),
        (&["merge", "run--json", "second", "--json"], "sum"),
    ] {
        for _ in 0..2 {
            let written = truespd(at, &[words, &[file]].concat());
            assert_eq!(code(&written), 0, "{words:?}: {}", errors(&written));
        }
    }
    fs::write(at.join("notes"), "mine").expect("a file can be made");
    let before = contents(at);
    let of_report = ["-o", "--svg", "--png"];
    for option in files.iter().chain(&of_report) {
        let own = match *option {
            "-o" => "page",
            option if of_report.contains(&option) => option.trim_start_matches('-'),
            option => &format!("run{option}"),
        };
        for (_, name) in
            before.iter().filter(|(_, name)| name != own && name != "run--json" && name != "t.dat")
        {
            // Tables are of one kind, and so are documents.
            if ["--csv", "--intervals"].contains(option)
                && ["run--csv", "run--intervals"].contains(&name.as_str())
                || *option == "--json" && ["second", "sum"].contains(&name.as_str())
            {
                continue;
            }
            let refused = if of_report.contains(option) {
                truespd(at, &["report", "run--json", option, name])
            } else {
                run(at, &[option, name])
            };
            assert_eq!(code(&refused), 3, "{option} {name}: {}", errors(&refused));
            assert!(
                errors(&refused).contains("this file does not hold "),
                "{option} {name}: {}",
                errors(&refused)
            );
            assert!(refused.stdout.is_empty(), "{option} {name}");
        }
    }
    assert!(contents(at) == before, "nothing was changed");
    fs::write(at.join("job.fio"), "[a]\nsize=1m\n").expect("a file can be made");
    assert_eq!(code(&truespd(at, &["history", "--store", "h.sqlite", "import", "run--json"])), 0);
    let before = contents(at);
    for words in [
        &["compare", "run--json", "second", "--fail-if", "iops<-99%", "--junit"][..],
        &["merge", "run--json", "second", "--json"],
        &["mark", "--size", "16M", ".", "--save"],
        &["import", "job.fio", "--profile"],
        &["history", "--store", "h.sqlite", "export", "-o"],
    ] {
        let refused = truespd(at, &[words, &["notes"]].concat());
        assert_eq!(code(&refused), 3, "{words:?}: {}", errors(&refused));
        assert!(errors(&refused).contains("this file does not hold "), "{words:?}: {}", errors(&refused));
    }
    assert!(contents(at) == before, "nothing was changed");
    for option in files.iter().filter(|option| **option != "--events") {
        fs::write(at.join("notes"), "").expect("a file can be made");
        assert_eq!(code(&run(at, &[option, "notes"])), 0, "{option}: an empty file, as of mktemp");
    }
}

#[test]
fn truespd_run_is_diskspd() {
    let dir = folder();
    let words: Vec<&str> =
        ["run"].iter().chain(SIM).chain(&[ENGINE, "--csv", "r.csv", "t.dat"]).copied().collect();
    let ran = truespd(dir.path(), &words);
    assert_eq!(code(&ran), 0, "{}", errors(&ran));
    let text = String::from_utf8(ran.stdout).expect("is text");
    assert!(text.contains("Results for timespan 1:") && text.contains("truespd run -c64K"), "{text}");
    assert!(dir.path().join("r.csv").exists());
    let help = truespd(dir.path(), &["run", "-?"]);
    assert!(code(&help) == 0 && String::from_utf8_lossy(&help.stdout).contains("--json FILE"));
}

#[test]
fn results_of_several_processes_are_added_up() {
    let dir = folder();
    let at = dir.path();
    for name in ["a.json", "b.json"] {
        let ran = run(at, &["--json", name]);
        assert_eq!(code(&ran), 0, "{}", errors(&ran));
    }
    let merged = truespd(at, &["merge", "a.json", "b.json", "--json", "sum.json"]);
    assert_eq!(code(&merged), 0, "{}", errors(&merged));
    assert!(merged.stdout.is_empty());
    let value = |name: &str| -> serde_json::Value {
        serde_json::from_str(&fs::read_to_string(at.join(name)).expect("is there")).expect("is JSON")
    };
    let ios = |name: &str| value(name)["summary"][0]["total"]["ios"].as_u64().expect("a number");
    assert_eq!(ios("sum.json"), ios("a.json") + ios("b.json"));
    assert_eq!(value("sum.json")["result"]["sources"].as_array().expect("a table").len(), 2);
    let rendered = truespd(at, &["render", "sum.json"]);
    assert!(String::from_utf8_lossy(&rendered.stdout).contains("Results for timespan 1:"));
    let refused = truespd(at, &["merge", "a.json", "nothing.json"]);
    assert_eq!(code(&refused), 3);
    assert!(errors(&refused).contains("'nothing.json' cannot be read: No such file"), "{}", errors(&refused));
    let unwritable = truespd(at, &["merge", "a.json", "b.json", "--json", "none/sum.json"]);
    assert_eq!(code(&unwritable), 3, "{}", errors(&unwritable));
    let clash = truespd(at, &["merge", "a.json", "b.json", "--json", "./b.json"]);
    assert!(code(&clash) == 3 && errors(&clash).contains("one of the results to add"), "{}", errors(&clash));
}

#[test]
fn wrong_words_are_refused_with_the_contracts_exit_code() {
    let dir = folder();
    for words in [&["render"][..], &["render", "x", "-Rpdf"], &["merge"], &["mergee"], &[]] {
        let refused = truespd(dir.path(), words);
        assert_eq!(code(&refused), 3, "{words:?}");
        assert!(refused.stdout.is_empty() && !refused.stderr.is_empty(), "{words:?}");
    }
    assert_eq!(code(&truespd(dir.path(), &["--version"])), 0);
    let schema = truespd(dir.path(), &["schema"]);
    let schema: serde_json::Value = serde_json::from_slice(&schema.stdout).expect("is JSON");
    assert_eq!(schema["properties"]["format"]["const"], "truespd-result");
}
