//! Marks on real files, with extended attributes and with the registry.

use std::fs::{self, File};
use std::ops::Range;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::content::keeps_own_times;
use super::*;
use crate::guard::hold::Hold;
use crate::guard::locks::{is_written_by_a_run, take_seat};
use crate::made::{FileExt, comes_to_hold, set_mode};
use crate::needs::{Need, has};
use std::io::Write;
use truespd_platform::sys::file;
use truespd_platform::sys::identity::Stamp;
use truespd_platform::sys::own::OwnFolder;

struct Place {
    dir: tempfile::TempDir,
    marks: Marks,
}

/// With attributes where the filesystem has them, and without.
fn places() -> [Place; 2] {
    [true, false].map(|attributes| {
        let dir = tempfile::tempdir().unwrap();
        let registry = Some(dir.path().join("state"));
        Place { marks: Marks::with(registry, attributes), dir }
    })
}

fn file_of(dir: &Path, name: &str, bytes: usize) -> File {
    let mut file = File::options().create_new(true).read(true).write(true).open(dir.join(name)).unwrap();
    file.write_all(&pattern(bytes)).unwrap();
    file
}

fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| at as u8).collect()
}

const MINUTE: Duration = Duration::from_secs(60);
/// What a run writes: one range of bytes.
fn part(range: Range<u64>) -> [Range<u64>; 1] {
    std::array::from_fn(|_| range.clone())
}

/// The mark of a file that a run begins to write.
fn begin(marks: &Marks, file: &File) -> Writing {
    let writing = marks.begin_writing(file, MINUTE, &part(0..u64::MAX)).expect("ours");
    assert_eq!(writing.unmarked, None);
    writing
}

#[test]
fn marked_files_are_ours_until_unmarked() {
    for Place { dir, marks } in places() {
        let file = file_of(dir.path(), "a", 1000);
        assert!(!marks.is_ours(&file));
        marks.mark(&file, MarkState::Complete).unwrap();
        let mark = marks.read(&file).unwrap();
        assert_eq!((mark.size_bytes, mark.state), (1000, MarkState::Complete));
        let writing = begin(&marks, &file);
        file.write_all_at(&pattern(10), 0).unwrap();
        assert!(marks.is_ours(&file), "a test writes to it, or was killed");
        assert_eq!(marks.end_writing(&file, &writing, false), Ok(Ended::Ours));
        assert!(marks.is_ours(&file), "a test wrote to it");
        fs::rename(dir.path().join("a"), dir.path().join("b")).unwrap();
        let renamed = File::open(dir.path().join("b")).unwrap();
        assert!(marks.is_ours(&renamed), "renamed, and opened for reading only");
        marks.unmark(&file).unwrap();
        assert!(!marks.is_ours(&file));
        marks.unmark(&file).unwrap();
    }
}

#[test]
fn copies_and_other_files_are_not_ours() {
    for Place { dir, marks } in places() {
        let file = file_of(dir.path(), "a", 1000);
        marks.mark(&file, MarkState::Complete).unwrap();
        let copy = file_of(dir.path(), "copy", 1000);
        assert!(!marks.is_ours(&copy));
    }
}

#[test]
fn a_file_that_changed_its_size_is_not_ours() {
    for Place { dir, marks } in places() {
        let file = file_of(dir.path(), "a", 1000);
        marks.mark(&file, MarkState::Complete).unwrap();
        file.set_len(2000).unwrap();
        assert_eq!(marks.whose(&file), resized(&marks), "somebody appended data");
        marks.mark(&file, MarkState::Filling).unwrap();
        file.set_len(5000).unwrap();
        assert_eq!(marks.whose(&file), Whose::Unfinished, "left while being filled");
        assert_eq!(marks.read(&file).unwrap().state, MarkState::Filling);
    }
}

/// A registry entry is tied to the size.
fn resized(marks: &Marks) -> Whose {
    if marks.attributes { Whose::Resized } else { Whose::Foreign }
}

fn set_modified(file: &File, seconds_from_now: i64) {
    let now = std::time::SystemTime::now();
    let step = Duration::from_secs(seconds_from_now.unsigned_abs());
    let time = if seconds_from_now < 0 { now - step } else { now + step };
    file.set_modified(time).unwrap();
}

#[test]
fn a_file_that_something_else_wrote_to_is_not_ours() {
    for Place { dir, marks } in places() {
        let file = file_of(dir.path(), "a", 1000);
        set_modified(&file, -60);
        marks.mark(&file, MarkState::Complete).unwrap();
        assert_eq!(marks.whose(&file), Whose::Ours);
        file.write_all_at(&[9; 10], 0).unwrap();
        assert_eq!(marks.whose(&file), Whose::Rewritten);
        // A copy that brings its times along.
        for seconds in [-90, -3600, 3600] {
            set_modified(&file, seconds);
            assert_eq!(marks.whose(&file), Whose::Rewritten, "{seconds}");
        }
        assert!(
            marks.begin_writing(&file, MINUTE, &part(0..u64::MAX)).is_none(),
            "a run does not make it ours again"
        );
    }
}

#[test]
fn what_a_killed_run_leaves_is_ours_while_nothing_else_is_seen_in_it() {
    for Place { dir, marks } in places() {
        let file = file_of(dir.path(), "a", 3_000_000);
        marks.mark(&file, MarkState::Complete).unwrap();
        // The run itself is gone.
        begin(&marks, &file).end(&file);
        file.write_all_at(&pattern(4000), 1000).unwrap();
        file.write_all_at(&[0; 4096], 8192).unwrap();
        assert_eq!(marks.whose(&file), Whose::Ours);
        for (at, words) in [(0, "somebody's thesis"), (2_999_900, "and its end")] {
            file.write_all_at(words.as_bytes(), at).unwrap();
            assert_eq!(marks.whose(&file), Whose::Interrupted, "{words}");
            // As long as a run is alive it is the one that writes.
            let path = dir.path().join("a");
            let mut hold = Hold::take(&File::open(&path).unwrap(), &path).unwrap();
            assert_eq!(marks.whose(&file), Whose::Interrupted, "one that only asks");
            hold.say(crate::guard::locks::RunLock::Writes);
            assert_eq!(marks.whose(&file), Whose::Interrupted, "who may only read can say so, too");
            drop(hold);
            let writer = File::options().write(true).open(&path).unwrap();
            take_seat(&writer).unwrap();
            assert_eq!(marks.whose(&file), Whose::Ours);
            drop(writer);
            assert!(comes_to_hold(|| !is_written_by_a_run(&file)));
            file.write_all_at(&vec![0; words.len()], at).unwrap();
            assert_eq!(marks.whose(&file), Whose::Ours);
        }
        // Written after that run can have written.
        set_modified(&file, 30);
        assert_eq!(marks.whose(&file), Whose::Ours);
        set_modified(&file, 90);
        assert_eq!(marks.whose(&file), Whose::Rewritten);
        marks.mark_for(&file, MarkState::Filling, MINUTE).unwrap();
        assert_eq!(marks.whose(&file), Whose::Rewritten);
        set_modified(&file, 0);
        assert_eq!(marks.whose(&file), Whose::Unfinished);
    }
}

#[test]
fn the_last_of_several_runs_says_that_the_file_is_complete() {
    let dir = tempfile::tempdir().unwrap();
    let marks = Marks::with_registry(&dir.path().join("state"));
    let file = file_of(dir.path(), "a", 1000);
    marks.mark(&file, MarkState::Complete).unwrap();
    let open = || File::options().read(true).write(true).open(dir.path().join("a")).unwrap();
    let (first, second) = (open(), open());
    let end = |file: &File, writing: &Writing| marks.end_writing(file, writing, false).unwrap();
    let (one, two) = (begin(&marks, &first), begin(&marks, &second));
    first.write_all_at(&pattern(10), 0).unwrap();
    assert_eq!(end(&first, &one), Ended::StillWritten);
    assert_eq!(marks.read(&file).unwrap().state, MarkState::Running);
    second.write_all_at(&pattern(20), 0).unwrap();
    assert_eq!(end(&second, &two), Ended::Ours);
    assert_eq!(marks.read(&file).unwrap().state, MarkState::Complete);
    assert_eq!(marks.whose(&file), Whose::Ours);
    // Somebody cuts the file under a run.
    let one = begin(&marks, &first);
    first.set_len(900).unwrap();
    assert_eq!(end(&first, &one), Ended::Resized);
    assert_eq!(marks.whose(&file), Whose::Resized);
    first.set_len(1000).unwrap();
    // One that is killed lets go.
    begin(&marks, &first);
    drop(first);
    assert!(comes_to_hold(|| {
        let two = begin(&marks, &second);
        end(&second, &two);
        marks.read(&file).unwrap().state == MarkState::Complete
    }));
}

/// Does something to a file that leaves its time of last modification as it is.
fn with_times_kept(file: &File, change: impl FnOnce()) {
    let before = file.metadata().unwrap().modified().unwrap();
    change();
    file.set_modified(before).unwrap();
}

#[test]
fn a_write_whose_time_was_set_back_is_found_and_other_changes_of_the_entry_do_no_harm() {
    for Place { dir, marks } in places() {
        let file = file_of(dir.path(), "a", 300_000);
        // Random data look like any other.
        let noise: Vec<u8> = (0..300_000u64).map(|at| ((at * at * 31) >> 7) as u8).collect();
        file.write_all_at(&noise, 0).unwrap();
        marks.mark(&file, MarkState::Complete).unwrap();
        set_mode(&dir.path().join("a"), 0o640).unwrap();
        assert_eq!(marks.whose(&file), Whose::Ours, "chmod");
        fs::hard_link(dir.path().join("a"), dir.path().join("b")).unwrap();
        fs::rename(dir.path().join("a"), dir.path().join("c")).unwrap();
        with_times_kept(&file, || ());
        assert_eq!(marks.whose(&file), Whose::Ours, "ln, mv and touch -r");
        with_times_kept(&file, || file.write_all_at(b"somebody's thesis", 200_000).unwrap());
        assert_eq!(marks.whose(&file), Whose::Rewritten);
        file.write_all_at(&noise[200_000..200_020], 200_000).unwrap();
        // Times have the steps of the kernel's clock, and all this may take less than one.
        let before = file.metadata().unwrap().modified().unwrap();
        file.set_modified(before + Duration::from_secs(1)).unwrap();
        assert_eq!(marks.whose(&file), Whose::Rewritten, "and what it held, with another time");
    }
}

#[test]
fn a_change_in_a_large_file_needs_a_reason_or_every_byte() {
    if !has(&[Need::DiskFolder]) {
        return;
    }
    for Place { dir, marks } in places() {
        let file = file_of(dir.path(), "a", 1 << 20);
        file.set_len(70 << 20).unwrap();
        // The pattern and zeros: every byte is known.
        marks.mark(&file, MarkState::Complete).unwrap();
        with_times_kept(&file, || ());
        assert_eq!(marks.whose(&file), Whose::Ours, "touch -r");
        // Somewhere between the samples of any file there is room for this.
        for at in [7u64, 41].map(|at| (at << 20) + 12_345) {
            with_times_kept(&file, || file.write_all_at(b"thesis", at).unwrap());
            assert_eq!(marks.whose(&file), Whose::Rewritten, "{at}");
            with_times_kept(&file, || file.write_all_at(&[0; 6], at).unwrap());
        }
        // Any other content: the digest is of samples.
        file.write_all_at(b"random", 500).unwrap();
        marks.mark(&file, MarkState::Complete).unwrap();
        set_mode(&dir.path().join("a"), 0o640).unwrap();
        assert_eq!(marks.whose(&file), Whose::Ours, "chmod");
        fs::rename(dir.path().join("a"), dir.path().join("b")).unwrap();
        assert_eq!(marks.whose(&file), Whose::Ours, "chmod and mv");
        marks.mark(&file, MarkState::Complete).unwrap();
        with_times_kept(&file, || ());
        assert_eq!(marks.whose(&file), Whose::Rewritten, "nothing tells that no byte changed");
    }
}

#[test]
fn without_a_digest_only_what_tests_write_is_known() {
    let dir = tempfile::tempdir().unwrap();
    let marks = Marks::with_registry(&dir.path().join("state"));
    let file = file_of(dir.path(), "a", 100_000);
    // As versions before the digest put it; a change of the entry or not, nothing tells.
    let older = |file: &File| {
        let (seconds, nanoseconds) = Stamp::of(file).unwrap().modified;
        let text = format!("version=1 size=100000 state=complete written={seconds}.{nanoseconds:09}");
        file::set_attribute(file, "user.truespd.made", text.as_bytes())
    };
    if older(&file).is_err() {
        return;
    }
    assert_eq!(marks.whose(&file), Whose::Ours);
    file.write_all_at(b"somebody's thesis", 0).unwrap();
    older(&file).unwrap();
    assert_eq!(marks.whose(&file), Whose::Rewritten);
}

#[test]
fn what_something_else_writes_besides_a_run_does_not_become_ours() {
    for Place { dir, marks } in places() {
        let file = file_of(dir.path(), "a", 3_000_000);
        marks.mark(&file, MarkState::Complete).unwrap();
        let run = |change: &dyn Fn(), is_shared| {
            let writing = marks.begin_writing(&file, MINUTE, &[0..4096, 8192..10_000]).expect("ours");
            file.write_all_at(&[9; 4096], 0).unwrap();
            file.write_all_at(&[9; 1808], 8192).unwrap();
            change();
            let ended = marks.end_writing(&file, &writing, is_shared).unwrap();
            (ended, marks.whose(&file))
        };
        assert_eq!(run(&|| (), false), (Ended::Ours, Whose::Ours));
        let thesis = || file.write_all_at(b"thesis", 4096).unwrap();
        assert_eq!(run(&thesis, false), (Ended::Shared, Whose::Rewritten));
        assert!(marks.begin_writing(&file, MINUTE, &part(0..u64::MAX)).is_none());
        marks.mark(&file, MarkState::Complete).unwrap();
        assert_eq!(run(&|| (), true), (Ended::Shared, Whose::Rewritten), "a program that may have written");
    }
}

/// Two open files of one that is marked.
fn opened_twice(dir: &Path, marks: &Marks) -> [File; 2] {
    let file = file_of(dir, "a", 300_000);
    marks.mark(&file, MarkState::Complete).unwrap();
    [file, File::options().read(true).write(true).open(dir.join("a")).unwrap()]
}

#[test]
fn another_run_of_ours_may_write_outside_of_this_one() {
    for Place { dir, marks } in places() {
        let [file, second] = opened_twice(dir.path(), &marks);
        let one = marks.begin_writing(&file, MINUTE, &part(0..4096)).unwrap();
        let two = marks.begin_writing(&second, MINUTE, &part(8192..12_288)).unwrap();
        second.write_all_at(&[9; 4096], 8192).unwrap();
        assert_eq!(marks.end_writing(&second, &two, false), Ok(Ended::StillWritten));
        assert_eq!(marks.end_writing(&file, &one, false), Ok(Ended::Ours));
        assert_eq!(marks.whose(&file), Whose::Ours);
    }
}

#[test]
fn what_something_else_writes_besides_two_runs_does_not_become_ours() {
    for Place { dir, marks } in places() {
        let [file, second] = opened_twice(dir.path(), &marks);
        let thesis = |at| file.write_all_at(b"thesis", at).unwrap();
        let begin = |file, at| marks.begin_writing(file, MINUTE, &part(at..at + 4096));
        // Which of the two ends first, or is killed, does not matter, nor whether the second had begun.
        for (is_late, is_killed) in [(true, false), (false, false), (false, true)] {
            file.write_all_at(&pattern(300_000), 0).unwrap();
            marks.mark(&file, MarkState::Complete).unwrap();
            let one = begin(&file, 0).unwrap();
            if !is_late {
                thesis(100_000);
                assert_eq!(marks.whose(&second), Whose::Rewritten);
                assert!(begin(&second, 8192).is_none(), "a second run does not begin on it");
                file.write_all_at(&pattern(300_000)[100_000..100_006], 100_000).unwrap();
            }
            let two = begin(&second, 8192).unwrap();
            second.write_all_at(&[9; 4096], 8192).unwrap();
            thesis(200_000);
            if is_killed {
                one.end(&file);
            } else {
                assert_eq!(marks.end_writing(&file, &one, false), Ok(Ended::Shared));
            }
            assert_eq!(marks.end_writing(&second, &two, false), Ok(Ended::Shared));
            assert_eq!(marks.whose(&file), Whose::Rewritten);
        }
    }
}

#[test]
fn a_program_that_may_have_written_while_one_of_two_runs_did_is_not_forgotten() {
    for Place { dir, marks } in places() {
        let [file, second] = opened_twice(dir.path(), &marks);
        let (one, two) = (begin(&marks, &file), begin(&marks, &second));
        assert_eq!(marks.end_writing(&file, &one, true), Ok(Ended::Shared));
        assert_eq!(marks.end_writing(&second, &two, false), Ok(Ended::Shared));
        assert_eq!(marks.whose(&file), Whose::Rewritten);
    }
}

#[test]
fn a_run_of_many_parts_compares_all_that_lies_between() {
    for Place { dir, marks } in places() {
        let [file, second] = opened_twice(dir.path(), &marks);
        let parts: Vec<Range<u64>> = (0..9).map(|at| at * 20_000..at * 20_000 + 4096).collect();
        let run = |at: Option<u64>| {
            marks.mark(&file, MarkState::Complete).unwrap();
            let one = marks.begin_writing(&file, MINUTE, &parts).unwrap();
            assert_eq!(marks.whose(&second), Whose::Ours);
            if let Some(at) = at {
                file.write_all_at(b"thesis", at).unwrap();
            }
            marks.end_writing(&file, &one, false)
        };
        assert_eq!(run(None), Ok(Ended::Ours));
        for at in [5000, 19_990, 165_000, 299_000] {
            assert_eq!(run(Some(at)), Ok(Ended::Shared), "{at}");
        }
    }
}

#[test]
fn a_large_file_whose_times_do_not_tell_is_compared_as_a_whole_or_asked_about() {
    for Place { dir, marks } in places() {
        let file = file_of(dir.path(), "a", 1 << 20);
        file.write_all_at(b"random", 500).unwrap();
        file.set_len(70 << 20).unwrap();
        marks.mark(&file, MarkState::Complete).unwrap();
        let mark = marks.read(&file).unwrap();
        let stamp = Stamp::of(&file).unwrap();
        let says = |mark: &Provenance| Whose::by_mark(mark, &file, &stamp);
        let all = super::digest::all_of(70 << 20);
        let samples = Provenance { digest: Digest::of(&file, &all).ok(), maps_show: false, ..mark };
        let whole = Provenance { digest: Digest::of_all_within(Duration::ZERO, &file, &all).ok(), ..samples };
        assert_eq!((says(&samples), says(&whole)), (Whose::Untold, Whose::Ours));
        // Times that tell make samples good enough.
        if super::text::are_fine(stamp.change) && keeps_own_times(&file) {
            assert_eq!(says(&Provenance { maps_show: true, ..samples }), Whose::Ours);
        }
        file.write_all_at(b"thesis", (41 << 20) + 12_345).unwrap();
        assert_eq!((says(&samples), says(&whole)), (Whose::Untold, Whose::Rewritten));
    }
}

#[test]
fn what_holds_nothing_is_nobodys_and_becomes_ours_by_a_run() {
    if !has(&[Need::DiskFolder]) {
        return;
    }
    for Place { dir, marks } in places() {
        let file = file_of(dir.path(), "a", 0);
        assert_eq!(marks.whose(&file), Whose::Foreign, "an empty file has no content to be asked about");
        file.set_len(1 << 30).unwrap();
        assert_eq!(marks.whose(&file), Whose::Nobodys);
        assert!(marks.read(&file).is_none(), "a look marks nothing");
        let writing = begin(&marks, &file);
        assert_eq!(writing.whose, Whose::Nobodys);
        file.write_all_at(b"x", 5000).unwrap();
        assert_eq!(marks.end_writing(&file, &writing, false), Ok(Ended::Ours));
        assert_eq!(marks.whose(&file), Whose::Ours);
        marks.unmark(&file).unwrap();
        assert_eq!(marks.whose(&file), Whose::Foreign);
        // Also what was made by us may hold nothing.
        let empty = file_of(dir.path(), "b", 0);
        empty.set_len(1 << 20).unwrap();
        marks.mark(&empty, MarkState::Complete).unwrap();
        assert_eq!(marks.whose(&empty), Whose::Ours);
    }
}

#[test]
fn without_any_place_the_error_says_what_to_set() {
    let marks = Marks::with(None, false);
    let error = marks.mark(&tempfile::tempfile().unwrap(), MarkState::Complete).unwrap_err();
    assert!(error.to_string().contains("set XDG_STATE_HOME or HOME"), "{error}");
    let file = tempfile::NamedTempFile::new().unwrap();
    let marks = Marks::with(Some(file.path().join("below-a-file")), false);
    let error = marks.mark(file.as_file(), MarkState::Complete).unwrap_err();
    assert!(error.to_string().contains("the mark could not be written to"), "{error}");
}

#[test]
fn times_of_a_file_system_in_a_program_are_not_trusted() {
    let dir = tempfile::tempdir().unwrap();
    let [below, point] = ["below", "point"].map(|name| dir.path().join(name));
    fs::create_dir(&below).and_then(|()| fs::create_dir(&point)).unwrap();
    file_of(&below, "a", 10);
    let run = |tool: &str, args: [&Path; 2]| {
        let path = "/usr/sbin:/sbin:/usr/bin:/bin";
        Command::new(tool).env("PATH", path).args(args).stderr(Stdio::null()).status()
    };
    if !run("bindfs", [&below, &point]).is_ok_and(|status| status.success()) {
        // The tests of the program say when the tool is missing.
        return;
    }
    let is_trusted = |folder: &Path| keeps_own_times(&File::open(folder.join("a")).unwrap());
    let trusted = [is_trusted(&below), is_trusted(&point)];
    assert!(run("umount", [Path::new("-l"), &point]).unwrap().success());
    assert!(!trusted[1], "below it: {}", trusted[0]);
}

/// After a power cut what another program wrote can have the times that the file had before.
#[test]
fn after_a_boot_only_all_of_the_content_tells() {
    if !has(&[Need::DiskFolder]) {
        return;
    }
    for Place { dir, marks } in places() {
        let file = file_of(dir.path(), "a", 1 << 20);
        file.set_len(70 << 20).unwrap();
        let before_a_boot = |state| {
            marks.mark(&file, state).unwrap();
            let mark = Provenance { boot: Some(7), ..marks.read(&file).unwrap() };
            marks.put(&file, &Stamp::of(&file).unwrap(), mark).unwrap();
        };
        // Zeros and the pattern: every byte is known.
        before_a_boot(MarkState::Complete);
        assert_eq!(marks.whose(&file), Whose::Ours);
        for at in [(7u64 << 20) + 12_345, 69 << 20] {
            with_times_kept(&file, || file.write_all_at(b"thirteen bytes", at).unwrap());
            before_a_boot(MarkState::Complete);
            with_times_kept(&file, || file.write_all_at(&[0; 14], at).unwrap());
        }
        // Any other content: samples of it are the same, and prove nothing.
        file.write_all_at(b"random", 500).unwrap();
        before_a_boot(MarkState::Complete);
        assert_eq!(marks.whose(&file), Whose::Restarted);
        before_a_boot(MarkState::Running);
        assert_eq!(marks.whose(&file), Whose::Interrupted, "a power cut in the middle of a run");
        file.write_all_at(&[0; 6], 500).unwrap();
        before_a_boot(MarkState::Running);
        assert_eq!(marks.whose(&file), Whose::Ours);
        marks.mark(&file, MarkState::Complete).unwrap();
        assert_eq!(marks.whose(&file), Whose::Ours, "marked in this boot");
    }
}

/// Whoever may write a file may set its attributes.
#[test]
fn numbers_of_a_mark_lead_to_an_answer_whatever_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let registry = Registry(dir.path().join("state"));
    let marks = Marks::with(Some(registry.0.clone()), false);
    let file = file_of(dir.path(), "a", 1000);
    let numbers =
        ["0", "1", "-1", "999", "1000", "1001", "4294967295", "9223372036854775807", "18446744073709551615"];
    for state in ["complete", "filling", "running", "shared"] {
        for (key, number) in ["size", "written", "changed_by", "digest", "entry", "parts", "boot"]
            .iter()
            .flat_map(|key| numbers.map(|number| (key, number)))
        {
            let value = match *key {
                "written" | "changed_by" => format!("{number}.{number}"),
                "digest" => format!("00000000000000ff/{number}"),
                "parts" => format!("0-{:x},{number}-ffffffffffffffff", number.parse::<u64>().unwrap_or(7)),
                _ => number.to_string(),
            };
            let size = if *key == "size" { String::new() } else { "size=1000 ".into() };
            let stamp = Stamp::of(&file).unwrap();
            let entry = registry.path_of(&stamp);
            let tail = registry::entry_tail(&stamp);
            let text = format!("version=1 {size}state={state} {key}={value}{tail}\n");
            OwnFolder::make(&registry.0)
                .unwrap()
                .put(&entry.file_name().unwrap().to_string_lossy(), &text)
                .unwrap();
            if let Some(writing) = marks.begin_writing(&file, MINUTE, &part(0..10)) {
                let _ = marks.end_writing(&file, &writing, false);
            }
        }
    }
}
