//! The file itself: versions, damage, other owners, full and read-only file systems.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use truespd::history::{Journal, Problem, Store};

use super::tools::{Place, assert_whole};
use crate::support::devices::{Mount, run, text};
use crate::support::needs::{Need, has};

/// Files of every version: the SQL that makes them, as that version left them.
const VERSIONS: [&str; 2] =
    [include_str!("../../data/history/version-1.sql"), include_str!("../../data/history/version-2.sql")];

#[test]
fn files_of_every_version_are_read_and_written() {
    for (version, sql) in VERSIONS.iter().enumerate() {
        let place = Place::new();
        fs::create_dir_all(place.store().parent().expect("a folder")).expect("made");
        let db = rusqlite::Connection::open(place.store()).expect("made");
        db.execute_batch(sql).expect("the SQL of that version");
        drop(db);
        assert_eq!(place.ids("--label old"), ["werc8gm"], "version {}", version + 1);
        let shown = place.out("history show --json werc8gm");
        assert_eq!(shown, "", "its document is as it was: empty");
        let listed = place.out("history list");
        for words in ["2025-11-23 10:00", "certified", "12,345", "old +x"] {
            assert!(listed.contains(words), "no '{words}' in {listed}");
        }
        // What a later version added is empty before.
        let known = usize::from(version >= 1);
        assert_eq!(place.ids("--firmware F1").len(), known, "version {}", version + 1);
        let stats = place.out("history stats --metric bytes --by firmware");
        assert_eq!(stats.lines().skip(2).count(), known, "{stats}");
        let id = place.kept("");
        assert_eq!(place.ids(""), [id, "werc8gm".into()]);
        assert_whole(&place.store());
        let db = rusqlite::Connection::open(place.store()).expect("it opens");
        let indexes: String = db
            .query_row("SELECT group_concat(name) FROM sqlite_schema WHERE type = 'index'", [], |row| {
                row.get(0)
            })
            .expect("it has some");
        assert!(indexes.contains("device_model") && indexes.contains("device_firmware"), "{indexes}");
    }
}

#[test]
fn a_file_of_a_later_version_is_left_alone() {
    let place = Place::new();
    place.kept("");
    let db = rusqlite::Connection::open(place.store()).expect("open");
    db.pragma_update(None, "user_version", 99).expect("set");
    drop(db);
    let before = fs::read(place.store()).expect("there");
    place.said("history list").refused(&["has version 99", "a newer truespd wrote it", "--store"]);
    let said = place.run("");
    assert!(
        said.err.contains("WARNING: the result is not kept in the history")
            && said.err.contains("version 99")
    );
    assert!(fs::read(place.store()).expect("there") == before);
}

#[test]
fn a_damaged_file_is_told() {
    let place = Place::new();
    let id = place.kept("");
    let whole = fs::read(place.store()).expect("there");
    // Pages of tables and indexes, all but the first, are overwritten.
    let mut damaged = whole.clone();
    damaged[4096..].fill(0x5a);
    fs::write(place.store(), &damaged).expect("written");
    place.said("history list").refused(&["is damaged", "mv "]);
    let said = place.run("");
    assert!(
        said.err.contains("WARNING: the result is not kept in the history") && said.err.contains("damaged")
    );
    assert!(said.out.contains("Total IO"));
    // A document that is not what was kept.
    fs::write(place.store(), &whole).expect("written");
    let db = rusqlite::Connection::open(place.store()).expect("open");
    db.execute("UPDATE content SET deflated = zeroblob(100)", []).expect("changed");
    drop(db);
    place.said(&format!("history show {id}")).refused(&["is damaged", "is not what was kept"]);
    assert_eq!(place.ids(""), [id]);
    fs::write(place.store(), &whole[..whole.len() / 2]).expect("written");
    place.said("history list").refused(&["is damaged"]);
}

#[test]
fn a_file_of_another_user_is_not_touched() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let place = Place::new();
    place.kept("");
    std::os::unix::fs::chown(place.store(), Some(65534), None).expect("root may");
    place.said("history list").refused(&["belongs to user 65534"]);
    let said = place.run("");
    assert!(said.err.contains("belongs to user 65534, not to you"), "{}", said.err);
}

#[test]
fn a_full_file_system_loses_neither_the_run_nor_what_is_kept() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let place = Place::new();
    let small = Mount::new(&["-t", "tmpfs", "-o", "size=320k", "history"]);
    let (store, option) = (small.point.join("history.sqlite"), "--store small/history.sqlite");
    symlink(&small.point, place.path("small")).expect("made");
    let mut kept = 0;
    let warned = loop {
        let said = place.run(option);
        assert!(said.out.contains("Total IO"));
        if said.err.contains("kept as") {
            kept += 1
        } else {
            break said.err;
        }
        assert!(kept < 500, "it never was full");
    };
    assert!(warned.contains("there is no space left for the history"), "{warned}");
    assert!(kept > 0 && place.ids(option).len() == kept, "{kept} were kept");
    assert_whole(&store);
    // There is room again.
    run("mount", &["-o", "remount,size=4m", text(&small.point)]);
    place.kept(option);
    assert_eq!(place.ids(option).len(), kept + 1);
}

#[test]
fn a_read_only_home_can_be_read() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let place = Place::new();
    let home = Mount::new(&["-t", "tmpfs", "-o", "size=4m", "history"]);
    symlink(&home.point, place.path("home")).expect("made");
    let option = "--store home/history.sqlite";
    let id = place.run(option).id();
    run("mount", &["-o", "remount,ro", text(&home.point)]);
    assert_eq!(place.ids(option), [id.as_str()]);
    place.out(&format!("history show {option} {id}"));
    let told = place.said(&format!("history stats {option}")).done().err;
    assert!(told.contains("journal: none: the file can only be read here"), "{told}");
    let said = place.run(option);
    assert!(
        said.err.contains("WARNING: the result is not kept") && said.err.contains("cannot be written here")
    );
    place.said(&format!("history rm {option} {id}")).refused(&["cannot be written here", "--store"]);
    assert!(place.run("--store home/none.sqlite").err.contains("cannot be written here"));
}

#[test]
fn a_file_system_without_shared_memory_gets_a_rollback_journal() {
    if !has(&[Need::Fuse, Need::Tool("bindfs")]) {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mount = Mount::by_fuse(folder.path());
    let path = mount.point.join("history.sqlite");
    let store = Store::open(&path).expect("it can be made");
    assert_eq!(store.journal(), Journal::RollbackOn("FUSE"));
    assert!(!Path::new(&format!("{}-shm", path.display())).exists());
    drop(store);
    // One that was made with a write-ahead log elsewhere, and left by a kill.
    let place = Place::new();
    let id = place.kept("");
    fs::copy(place.store(), &path).expect("a copy");
    let store = Store::open(&path).expect("it opens");
    assert_eq!(store.find(&id).expect("found").len(), 1);
    assert_eq!(store.journal(), Journal::RollbackOn("FUSE"));
    assert_eq!(store.find("none").expect_err("none").problem, Problem::Unknown);
}

#[test]
fn what_would_not_be_kept_is_not_called_kept() {
    for trigger in [
        "CREATE TRIGGER eats BEFORE INSERT ON document BEGIN SELECT RAISE(IGNORE); END",
        "CREATE TRIGGER eats AFTER INSERT ON content BEGIN DELETE FROM document; END",
    ] {
        let place = Place::new();
        let id = place.kept("");
        let db = rusqlite::Connection::open(place.store()).expect("open");
        db.execute_batch(trigger).expect("anybody who may write can");
        drop(db);
        let said = place.run("");
        assert!(said.err.contains("has a trigger 'eats'"), "{}", said.err);
        assert!(!said.err.contains("kept as"), "{}", said.err);
        assert_eq!(place.ids(""), [id], "what is there can be read");
    }
}

#[test]
fn reading_makes_no_history() {
    let place = Place::new();
    fs::create_dir_all(place.store().parent().expect("a folder")).expect("made");
    fs::write(place.store(), "").expect("made");
    for line in ["history list", "history stats", "history export"] {
        place.said(line);
        assert_eq!(fs::metadata(place.store()).expect("it is there").len(), 0, "{line}");
    }
    place.kept("");
    assert_eq!(place.ids("").len(), 1);
}
