//! A folder that many histories share: writers and readers at once, kills, and what others put there.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, SystemTime};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use super::tools::{Place, Said, assert_whole};
use crate::support::words::in_one_line;

const PROCESSES: usize = 20;
/// Kills that are made.
const KILLS: u32 = 40;

/// Documents that differ, in a file of lines.
fn documents(place: &Place, names: impl Iterator<Item = String>) -> String {
    place.run("--no-history --json run.json");
    let document = fs::read_to_string(place.path("run.json")).expect("written");
    let mut files = Vec::new();
    for name in names {
        place.write(&name, document.replace("t.dat", &format!("{name}.dat")));
        files.push(name);
    }
    files.join(" ")
}

fn names_in(folder: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("text")).collect()
}

fn results_in(folder: &Path) -> Vec<PathBuf> {
    let all = names_in(folder).into_iter().filter(|name| name.ends_with(".json.gz"));
    all.map(|name| folder.join(name)).collect()
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).expect("memory");
    encoder.finish().expect("memory")
}

/// Three results in a folder, pushed by the first place.
fn pushed() -> (Place, PathBuf) {
    let place = Place::new();
    let files = documents(&place, (0..3).map(|number| format!("d{number}")));
    place.out(&format!("history import {files}"));
    assert_eq!(place.out("history push team"), "3 results pushed\n");
    let folder = place.path("team");
    (place, folder)
}

#[test]
fn what_one_pushes_another_pulls() {
    let (place, folder) = pushed();
    let id = place.ids("").remove(0);
    place.out(&format!("history label {id} before"));
    assert_eq!(place.out("history push team"), "0 results pushed, 3 there already\n");
    let other = Place::new();
    let line = format!("history pull {}", folder.display());
    assert_eq!(other.out(&line), "3 results imported\n");
    assert_eq!(other.out(&line), "0 results imported, 3 there already\n");
    let (mut mine, mut theirs) = (place.ids(""), other.ids(""));
    mine.sort();
    theirs.sort();
    assert_eq!(mine, theirs);
    assert_eq!(
        place.out(&format!("history show -Rjson {id}")),
        other.out(&format!("history show -Rjson {id}"))
    );
    assert_eq!(place.out("history push elsewhere --label before"), "1 result pushed\n");
    let mut chosen = Place::new();
    let line = format!("history pull {} --label before", place.path("elsewhere").display());
    assert_eq!(chosen.out(&line), "1 result imported\n");
    chosen = Place::new();
    let line = format!("history pull {} --host of-nobody", folder.display());
    assert_eq!(chosen.out(&line), "0 results imported, 3 not asked for\n");
    assert_eq!(chosen.ids(""), [""; 0]);
    let third = Place::new();
    third.out(&format!("history pull {}", place.path("elsewhere").display()));
    assert_eq!(third.ids("--label before"), [id]);
    // Without names it is another document; these differed by nothing else.
    assert_eq!(place.out("history push team --redact"), "1 result pushed, 2 there already\n");
    assert_eq!(place.out("history push team --redact"), "0 results pushed, 3 there already\n");
}

#[test]
fn twenty_at_once_push_and_pull() {
    let places: Vec<Place> = (0..PROCESSES).map(|_| Place::new()).collect();
    let common = tempfile::tempdir().expect("a folder");
    let folder = common.path().join("team");
    for (number, place) in places.iter().enumerate() {
        // One of their own, and one that all have.
        let files = documents(place, std::iter::once(format!("d{number}")));
        place.out(&format!("history import {files}"));
    }
    let shared = fs::read_to_string(places[0].path("run.json")).expect("written");
    for place in &places {
        place.write("same", &shared);
    }
    let imports: Vec<Child> = places.iter().map(|place| place.start("history import same")).collect();
    for child in imports {
        Said::of(child.wait_with_output().expect("it ends")).done();
    }
    // The first of them makes the folder.
    let line = format!("history push {}", folder.display());
    let started: Vec<Child> = places.iter().map(|place| place.start(&line)).collect();
    let mut new = 0;
    for child in started {
        let said = Said::of(child.wait_with_output().expect("it ends")).done();
        let number = said.out.split(' ').next().expect("a number");
        new += number.parse::<usize>().expect("a number");
        assert_eq!(said.err, "");
    }
    assert_eq!((new, results_in(&folder).len()), (PROCESSES + 1, PROCESSES + 1));
    assert_eq!(names_in(&folder).len(), PROCESSES + 2, "and the marker, nothing else");
    // While half of them push again, the others pull.
    let pull = format!("history pull {}", folder.display());
    let started = places
        .iter()
        .enumerate()
        .map(|(number, place)| place.start(if number % 2 == 0 { &line } else { &pull }));
    let started: Vec<Child> = started.collect();
    for child in started {
        Said::of(child.wait_with_output().expect("it ends")).done();
    }
    for place in places.iter().step_by(PROCESSES / 3) {
        place.out(&pull);
        assert_eq!(place.ids("--limit 0").len(), PROCESSES + 1);
        assert_whole(&place.store());
    }
}

#[test]
fn kills_leave_no_half_of_a_result() {
    let place = Place::new();
    let files = documents(&place, (0..12).map(|number| format!("d{number}")));
    place.out(&format!("history import {files}"));
    let reader = Place::new();
    for kill in 0..KILLS {
        let folder = place.path(&format!("team{}", kill % 8));
        let mut child = place.start(&format!("history push {}", folder.display()));
        std::thread::sleep(Duration::from_millis(u64::from(kill * 7 % 60)));
        child.kill().expect("a signal");
        child.wait().expect("it ends");
        if !folder.join("truespd-history.json").exists() {
            continue;
        }
        // Whatever is there under its name is whole.
        reader.out(&format!("history pull {}", folder.display()));
    }
    for number in 0..8 {
        let folder = place.path(&format!("team{number}"));
        place.out(&format!("history push {}", folder.display()));
        assert_eq!(results_in(&folder).len(), 12);
    }
}

#[test]
fn leftovers_go_when_they_are_old() {
    let (place, folder) = pushed();
    let (old, young) = (folder.join(".truespd-unfinished-1"), folder.join(".truespd-unfinished-2"));
    fs::write(&old, "half").expect("written");
    fs::write(&young, "half").expect("written");
    let then = SystemTime::now() - Duration::from_secs(25 * 60 * 60);
    fs::File::options().write(true).open(&old).and_then(|file| file.set_modified(then)).expect("set");
    place.out("history push team");
    assert_eq!((old.exists(), young.exists()), (false, true));
}

#[test]
fn other_peoples_folders_stay_as_they_are() {
    let (place, folder) = pushed();
    place.write("home/.profile", "mine");
    place.said("history push home").refused(&["not empty", ".profile"]);
    assert_eq!(names_in(&place.path("home")).len(), 1);
    place.said("history pull home").refused(&["truespd-history.json", "is missing"]);
    place.said("history push nowhere/team").refused(&["cannot be made"]);
    place.said("history push home/.profile").refused(&["cannot be opened"]);
    place.said("history pull nowhere").refused(&["cannot be opened"]);
    fs::create_dir(place.path("empty")).expect("a folder");
    fs::create_dir(place.path("empty/lost+found")).expect("a folder");
    assert_eq!(place.out("history push empty"), "3 results pushed\n");
    symlink(&folder, place.path("link")).expect("a link");
    assert_eq!(place.out("history push link"), "0 results pushed, 3 there already\n");
    for (marker, words) in [
        ("{}", "is damaged, or of another program"),
        ("", "is damaged, or of another program"),
        (r#"{"format":"truespd-history-folder","format_version":2}"#, "use a newer truespd"),
    ] {
        fs::write(folder.join("truespd-history.json"), marker).expect("written");
        place.said("history push team").refused(&[words]);
        place.said("history pull team").refused(&[words]);
    }
    // A history without results makes nothing.
    let other = Place::new();
    assert_eq!(other.out("history push team"), "");
    assert!(!other.path("team").exists());
}

/// Bad files are named one by one, and all others are imported.
#[test]
fn what_is_bad_is_named_and_the_rest_is_kept() {
    let (_place, folder) = pushed();
    let good = results_in(&folder).remove(0);
    let whole = fs::read(&good).expect("a file");
    let name = |digit: &str| folder.join(format!("{}.json.gz", digit.repeat(26)));
    fs::write(name("1"), &whole[..whole.len() / 2]).expect("written");
    fs::write(name("2"), &whole).expect("written");
    fs::write(name("3"), gzip(&[b'x'; 100])).expect("written");
    fs::write(name("4"), gzip(b"{\"format\":\"truespd-history\",\"format_version\":7}")).expect("written");
    fs::write(name("5"), gzip(b"{\"a\":")).expect("written");
    fs::write(name("6"), "no gzip, but text of somebody else").expect("written");
    symlink(&good, name("7")).expect("a link");
    fs::create_dir(name("8")).expect("a folder");
    rustix::fs::mkfifoat(rustix::fs::CWD, name("9"), rustix::fs::Mode::from_raw_mode(0o644)).expect("a pipe");
    fs::write(folder.join("notes.txt"), "of somebody").expect("written");
    fs::write(folder.join(".hidden"), "of a program").expect("written");
    let other = Place::new();
    let said = other.said(&format!("history pull {}", folder.display()));
    assert_eq!((said.code, said.out.as_str()), (Some(1), "3 results imported\n"), "{}", said.err);
    let told = in_one_line(&said.err);
    for words in [
        "111.json.gz' is cut off",
        "222.json.gz' holds another document than its name says",
        "333.json.gz' is not a document that",
        "444.json.gz' has the format version 7: a newer truespd wrote it",
        "555.json.gz' is not a document that",
        "666.json.gz' is damaged: invalid gzip header",
        "777.json.gz' is no regular file",
        "888.json.gz' is no regular file",
        "999.json.gz' is no regular file",
        "notes.txt' was not written by truespd history push",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert_whole(&other.store());
    // Of many there is a number.
    for number in 0..50 {
        fs::write(folder.join(format!("photo {number}.jpg")), "x").expect("written");
    }
    let said = other.said(&format!("history pull {}", folder.display()));
    assert_eq!((said.code, said.out.as_str()), (Some(1), "0 results imported, 3 there already\n"));
    assert!(said.err.contains("50 more like these; they were left out"), "{}", said.err);
}

#[test]
fn nothing_is_overwritten() {
    let (place, folder) = pushed();
    let damaged = results_in(&folder).remove(0);
    fs::write(&damaged, "half of it").expect("written");
    let said = place.said("history push team");
    assert_eq!((said.code, said.out.as_str()), (Some(1), "0 results pushed, 2 there already\n"));
    let told = in_one_line(&said.err);
    assert!(told.contains("is there already, and is damaged: "), "{told}");
    assert!(told.contains("it was left as it is; remove that file, and push again"), "{told}");
    assert_eq!(fs::read(&damaged).expect("a file"), b"half of it");
    fs::remove_file(&damaged).expect("removed");
    assert_eq!(place.out("history push team"), "1 result pushed, 2 there already\n");
}

/// A line that says other things than its document does: what the document tells counts.
#[test]
fn facts_beside_a_document_are_not_believed() {
    let (place, folder) = pushed();
    let id = place.ids("").remove(0);
    let exported = place.out("history export");
    for line in exported.lines() {
        let mut line: Value = serde_json::from_str(line).expect("JSON");
        line["facts"]["host"] = "forged".into();
        line["facts"]["grade"] = "certified".into();
        line["facts"]["figures"]["iops"] = 1e9.into();
        let digest = results_in(&folder).into_iter().find(|path| {
            path.file_name()
                .expect("a name")
                .to_string_lossy()
                .starts_with(line["id"].as_str().expect("an id"))
        });
        fs::write(digest.expect("pushed"), gzip(line.to_string().as_bytes())).expect("written");
    }
    let other = Place::new();
    other.out(&format!("history pull {}", folder.display()));
    let facts = |of: &Place| of.out(&format!("history export --label {id}"));
    for of in [&place, &other] {
        of.out(&format!("history label {id} {id}"));
    }
    assert_eq!(facts(&place), facts(&other));
    assert_eq!(other.ids("--host forged"), [""; 0]);
}

/// Clocks that jumped, and two machines of one name.
#[test]
fn odd_machines_are_named() {
    let place = Place::new();
    documents(&place, std::iter::empty());
    let text = fs::read_to_string(place.path("run.json")).expect("written");
    let mut document: Value = serde_json::from_str(&text).expect("JSON");
    document["result"]["system"]["computer_name"] = "node".into();
    document["result"]["system"]["processor_name"] = "one".into();
    place.write("a", document.to_string());
    document["result"]["system"]["processor_name"] = "two".into();
    document["result"]["system"]["start_unix_s"] = 5.into();
    place.write("b", document.to_string());
    document["result"]["system"]["start_unix_s"] = 9_000_000_000_i64.into();
    place.write("c", document.to_string());
    place.out("history import a b c");
    place.out("history push team");
    let other = Place::new();
    let said = other.said(&format!("history pull {}", place.path("team").display())).done();
    let told = in_one_line(&said.err);
    assert!(told.contains("machines that differ have the name 'node', or one was changed: "), "{told}");
    assert!(
        told.contains("the clock of 'node' was wrong: 2 results began in the future or before 2001"),
        "{told}"
    );
    assert_eq!(other.ids("").len(), 3);
}
