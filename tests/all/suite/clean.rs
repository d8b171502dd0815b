//! What suites leave that cannot make their folder or are killed, and how a person settles it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use truespd::runner::undo::{Journal, MadeFolder, Undo, put_token};
use truespd_platform::machine::roots::Roots;
use truespd_platform::machine::thing::Thing;
use truespd_platform::sys::directory::Directory;

use crate::support::killed::{journals, run, state, truespd};
use crate::support::needs::{Need, has};
use crate::support::program::{Lab, Ran, Running, copy_to_run};

/// Notes a folder with its file as a series does.
pub fn note_folder(journal: &mut Journal, path: &Path) {
    let planned = MadeFolder { thing: None, token: "a token".into(), files: vec!["data".into()] };
    let add = |journal: &mut Journal, made| {
        journal.add(Undo::Folder { path: path.to_path_buf(), made }).expect("noted");
    };
    add(journal, planned.clone());
    let folder = Directory::open(path).expect("it is there");
    put_token(&folder, &planned.token).expect("a token");
    let thing = Thing::of(folder.as_file(), &Roots::default()).expect("known");
    add(journal, MadeFolder { thing: Some(thing), ..planned });
}

/// What a series noted that was then killed together with its caretaker.
fn left(lab: &Lab, name: &str, files: &[&str]) -> PathBuf {
    let path = lab.path(name);
    fs::create_dir(&path).expect("a folder");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).expect("ours");
    for file in files {
        fs::write(path.join(file), "x").expect("a file");
    }
    let mut journal = Journal::begin(&state(lab).join("truespd/undo"), Roots::default()).expect("a journal");
    note_folder(&mut journal, &path);
    path
}

#[test]
fn what_is_left_is_listed_and_settled() {
    let lab = Lab::new();
    let nothing = run(&lab, "clean").expect_code(0);
    assert_eq!(nothing.stdout, "No suite that was killed has left anything.\n", "{nothing}");
    let ours = left(&lab, "truespd-mark-1-0", &["data"]);
    let theirs = left(&lab, "truespd-mark-2-0", &["data", "thesis"]);
    let listed = run(&lab, "clean --dry-run").expect_code(0);
    let lines: Vec<&str> = listed.stdout.lines().filter(|line| line.starts_with("  ")).collect();
    assert_eq!(lines.len(), 2, "each once: {listed}");
    assert!(
        listed.stdout.contains(&format!("To be removed or set back:\n  '{}'\n", ours.display())),
        "{listed}"
    );
    assert!(lines.iter().any(|line| line.contains("it holds files that TrueSpd did not make")), "{listed}");
    // Nobody can be asked.
    run(&lab, "clean").refused(3, &["standard input is no terminal", "--dry-run", "--yes"]);
    assert!(ours.join("data").exists() && theirs.join("data").exists(), "nothing was changed");
    assert_eq!(journals(&lab).len(), 2);
    let cleaned = run(&lab, "clean --yes").expect_code(0);
    assert!(cleaned.stdout.contains(&format!("removed '{}'", ours.display())), "{cleaned}");
    assert!(!ours.exists() && theirs.join("thesis").exists(), "{cleaned}");
    assert_eq!(journals(&lab).len(), 0, "{cleaned}");
    assert!(run(&lab, "clean --yes").expect_code(0).stdout.starts_with("No suite"));
}

/// Before it makes or measures anything itself.
#[test]
fn every_suite_removes_first_what_a_killed_one_left() {
    for line in [
        "mark --size 16M .",
        "assess --size 16M .",
        "workload oltp . --size 16M",
        "workload beside -b4K -b1M . --size 16M",
        "find-max -b4K . --p99 2ms --size 16M",
        "sweep -b4K . --over o=1..8 --size 16M",
        "sustain . --size 16M",
        "pts iops . --seconds 1",
        "ab --a=-b4K --b=-b8K --file .",
        "study cache . --size 16M",
    ] {
        let lab = Lab::new();
        let path = left(&lab, "truespd-mark-1-0", &["data"]);
        let running = Running::new(truespd(&lab, line), line);
        running.wait_for_stderr("left by a series that was killed: removed '");
        running.signal(rustix::process::Signal::INT);
        running.finish();
        assert!(!path.exists() && journals(&lab).is_empty(), "{line}");
    }
}

/// `truespd` as a user who is not root.
fn as_user(lab: &Lab, line: &str) -> Ran {
    let copy = lab.work().with_file_name("truespd");
    if !copy.exists() {
        copy_to_run(Path::new(env!("CARGO_BIN_EXE_truespd")), &copy);
    }
    let parent = lab.work().parent().expect("it has one").to_path_buf();
    fs::set_permissions(parent, fs::Permissions::from_mode(0o755)).expect("ours");
    let mut behind = Command::new("setpriv");
    behind.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(copy).args(line.split(' '));
    for (name, value) in truespd(lab, "").get_envs() {
        match value {
            Some(value) => behind.env(name, value),
            None => behind.env_remove(name),
        };
    }
    behind.current_dir(lab.work()).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Running::new(behind, line).finish()
}

#[test]
fn a_suite_that_may_not_make_its_folder_leaves_nothing() {
    if !has(&[Need::OtherUsers]) {
        return;
    }
    let lab = Lab::new();
    let place = lab.path("of-root");
    fs::create_dir(&place).expect("a folder");
    lab.give_to(65534);
    std::os::unix::fs::chown(&place, Some(0), Some(0)).expect("root may");
    for mode in [0o755, 0o711, 0o700] {
        fs::set_permissions(&place, fs::Permissions::from_mode(mode)).expect("root may");
        let ran = as_user(&lab, &format!("mark --size 16M {}", place.display()));
        ran.refused(3, &["Permission denied"]).says_not(&["left by a series"]);
        assert_eq!(journals(&lab).len(), 0, "{mode:o}");
    }
}

#[test]
fn what_this_user_may_not_remove_is_told_once_and_can_be_forgotten() {
    if !has(&[Need::OtherUsers]) {
        return;
    }
    let lab = Lab::new();
    let place = lab.path("of-root");
    fs::create_dir(&place).expect("a folder");
    let name = "of-root/truespd-mark-1-0";
    let path = left(&lab, name, &["data"]);
    lab.give_to(65534);
    std::os::unix::fs::chown(&place, Some(0), Some(0)).expect("root may");
    let listed = as_user(&lab, "clean --dry-run").expect_code(0);
    assert_eq!(listed.stdout.matches(name).count(), 1, "{listed}");
    assert!(listed.stdout.contains("only the owner of the folder above it, or root"), "{listed}");
    // In front of a suite, which may not make its folder: one line, which says what to do.
    let suite = as_user(&lab, &format!("mark --size 16M {}", place.display())).expect_code(3);
    assert_eq!(suite.stderr.matches(name).count(), 1, "{suite}");
    suite.says(&["left by a series that was killed", "truespd clean shows what is left"]);
    let kept = as_user(&lab, "clean --yes");
    assert_eq!(kept.stderr.matches(name).count(), 1, "{kept}");
    kept.expect_code(1).says(&["as root", "truespd clean --forget"]);
    assert_eq!(journals(&lab).len(), 1);
    as_user(&lab, "clean --yes --forget").expect_code(0);
    assert_eq!(journals(&lab).len(), 0);
    assert!(path.exists());
}
