//! What is kept, what is not, and that a run is never lost for the history.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::tools::{Place, Said};
use crate::support::program::{copy_to_run, diskspd};

#[test]
fn a_run_is_kept_and_told_in_one_line() {
    let place = Place::new();
    let said = place.run("--label base --tag night --tag cold --revision 1a2b3c --json run.json");
    let id = said.id();
    assert!(said.err.contains(&format!("kept as {id} (truespd history show {id})\n")), "{}", said.err);
    let mode = |path: &str| fs::metadata(place.path(path)).expect("there").permissions().mode() & 0o777;
    assert_eq!((mode("data/truespd"), mode("data/truespd/history.sqlite")), (0o700, 0o600));
    let shown = place.out(&format!("history show --json {id}"));
    assert!(shown.as_bytes() == fs::read(place.path("run.json")).expect("written"), "byte for byte");
    let shown = place.out("history show base");
    for words in ["label     base", "tags      cold night", "revision  1a2b3c", "Total IO", "verdict: "] {
        assert!(shown.contains(words), "no '{words}' in:\n{shown}");
    }
    let quiet = place.run("--quiet");
    assert!(!quiet.err.contains("kept as"), "{}", quiet.err);
    assert_eq!(place.ids("").len(), 2, "a quiet run is kept, too");
}

#[test]
fn nothing_is_kept_where_the_person_says_so() {
    let place = Place::new();
    assert!(!place.run("--no-history").err.contains("kept"));
    let with = |value: &str| {
        let mut command = place.command(&Place::line(""));
        Said::by(command.env("TRUESPD_HISTORY", value)).done().err
    };
    assert!(!with("0").contains("kept"));
    place.write("config/truespd/config.toml", "[history]\nkeep = false\n");
    assert!(!place.run("").err.contains("kept"));
    assert!(!place.path("data").exists(), "and no folder is made");
    // What is nearer counts.
    assert!(with("1").contains("kept as"));
    place.kept("--keep-history");
    place.kept("--label x");
    place.said(&Place::line("--no-history --tag x")).refused(&["--no-history and --tag exclude each other"]);
    Said::by(place.command(&Place::line("")).env("TRUESPD_HISTORY", "maybe"))
        .refused(&["TRUESPD_HISTORY is 'maybe'", "0"]);
}

#[test]
fn diskspd_keeps_only_when_it_is_asked() {
    let place = Place::new();
    let run = |options: &str| {
        let line = Place::line(options);
        let words = line.strip_prefix("run ").expect("a run");
        Said::by(&mut place.program(crate::support::program::diskspd(), words)).done()
    };
    assert!(!run("").err.contains("kept"));
    assert!(!place.path("data").exists());
    let id = run("--keep-history").id();
    place.write("config/truespd/config.toml", "[history]\ndiskspd = true\n");
    let second = run("").id();
    assert_eq!(place.ids(""), [second, id]);
}

#[test]
fn diskspd_without_truespd_says_which_package_keeps_results() {
    let place = Place::new();
    let alone = place.path("alone");
    fs::create_dir(&alone).expect("a folder");
    let copy = alone.join("diskspd");
    copy_to_run(diskspd().as_ref(), &copy);
    let line = Place::line("--keep-history --label x");
    let words = line.strip_prefix("run ").expect("a run");
    let mut command = place.program(copy.to_str().expect("text"), words);
    let said = Said::by(command.env("PATH", &alone)).done();
    assert!(said.out.contains("Total IO"), "the result is there: {}", said.out);
    let warning = "WARNING: the result is not kept in the history: the program truespd keeps it and is not installed; install the \
                   package truespd\n";
    assert!(said.err.contains(warning), "{}", said.err);
    assert!(!place.path("data").exists());
    // With truespd in the search path it is kept,
    let beside = Path::new(env!("CARGO_BIN_EXE_truespd")).parent().expect("a folder");
    let mut command = place.program(copy.to_str().expect("text"), words);
    let id = Said::by(command.env("PATH", beside)).done().id();
    assert_eq!(place.ids("--label x"), [id]);
}

#[test]
fn a_suite_is_kept_as_one_document() {
    let place = Place::new();
    let options = "--only read --size 64M --test RND4K-Q1T1 --count 1 --measure 1 --interval 0 --label disk --json mark.json .";
    let said = place.said(&format!("mark {options}")).done();
    let id = said.id();
    assert_eq!(place.ids("--kind mark"), [id.as_str()]);
    assert_eq!(place.ids("").len(), 1, "its runs are in its document");
    let shown = place.out(&format!("history show --json {id}"));
    assert!(shown.as_bytes() == fs::read(place.path("mark.json")).expect("written"));
    assert!(place.out("history show disk").contains("kind      mark"));
    let stands = place.out(&format!("history stats --by host,model --metric bytes --of {id}"));
    assert!(stands.contains("mark read RND4K-Q1T1") && stands.contains("no other result"), "{stands}");
    let listed = place.out("history list --json");
    let listed: serde_json::Value = serde_json::from_str(&listed).expect("JSON");
    let disk = listed[0]["devices"][0]["name"].as_str().expect("what its runs met");
    assert!(shown.contains("\"profile\": \"") && !disk.is_empty(), "{disk}");
    place.said("mark --no-history --label x .").refused(&["--no-history"]);
}

#[test]
fn the_file_is_where_the_person_says() {
    let place = Place::new();
    place.write(
        "config/truespd/config.toml",
        format!("[history]\nstore = \"{}\"\n", place.path("c.sqlite").display()),
    );
    let by_config = place.kept("");
    let mut command = place.command(&Place::line(""));
    let by_variable = Said::by(command.env("TRUESPD_STORE", place.path("v.sqlite"))).done().id();
    let said = place.run("--store o.sqlite");
    let by_option = said.id();
    assert!(said.err.contains(&format!("history show --store o.sqlite {by_option}")), "{}", said.err);
    for (file, id) in [("c.sqlite", by_config), ("v.sqlite", by_variable), ("o.sqlite", by_option)] {
        assert_eq!(place.ids(&format!("--store {file}")), [id], "{file}");
    }
    assert!(!place.path("data").exists());
}

#[test]
fn a_configuration_that_is_not_understood_is_refused_before_anything_runs() {
    let place = Place::new();
    place.write("config/truespd/config.toml", "[history]\nkeeep = true\n");
    let words = ["config.toml', line 2: unknown key keeep in [history]", "keep, diskspd, store"];
    place.said(&Place::line("")).refused(&words);
    place.said("history list").refused(&words);
    assert!(!place.path("t.dat").exists());
}

#[test]
fn a_run_that_cannot_be_kept_is_a_run_all_the_same() {
    let place = Place::new();
    let warned = |store: &str, words: &str| {
        let said = place.run(&format!("--store {store}"));
        assert!(said.out.contains("Total IO"), "{}", said.out);
        let line = said
            .err
            .lines()
            .find(|line| line.starts_with("WARNING: the result is not kept in the history: "));
        assert!(line.is_some_and(|line| line.contains(words)), "no '{words}': {}", said.err);
    };
    place.write("text", "This is no database, but a text that is longer than the head of one. ".repeat(20));
    warned("text", "it is not a SQLite file");
    warned(".", "is no regular file");
    warned("/proc/none/history.sqlite", "cannot be used: No such file or directory");
    warned("/sys/kernel/history.sqlite", "cannot be");
    let said =
        Said::by(place.command(&Place::line("")).env_remove("XDG_DATA_HOME").env_remove("HOME")).done();
    assert!(said.err.contains("neither XDG_DATA_HOME nor HOME is set"), "{}", said.err);
}
