//! Where result files may go: links and files of other users, permissions, pipes, and what is open already.

use std::fs::{self, Permissions};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::needs::{Need, has};
use crate::support::program::{Lab, Ran, Running};

const NOBODY: u32 = 65534;
const AS_NOBODY: [&str; 6] = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"];

/// The beginning of a result, which another one may replace.
const EARLIER: &[u8] = b"{\"format\":\"truespd-result\"";

/// A run that takes no time, with a result file.
fn line(json: &str) -> String {
    format!("-d1 -W0 -b4K -r -o4 --engine sim:latency=1ms --json {json} f")
}

fn lab() -> Lab {
    let lab = Lab::new();
    lab.write("f", &[0; 65536]);
    lab
}

fn folder(lab: &Lab, name: &str, mode: u32) -> PathBuf {
    let path = lab.path(name);
    fs::create_dir(&path).expect("a folder");
    fs::set_permissions(&path, Permissions::from_mode(mode)).expect("permissions");
    path
}

fn give(path: &Path) {
    std::os::unix::fs::lchown(path, Some(NOBODY), Some(NOBODY)).expect("root may give files away");
}

fn assert_is_result(path: &Path) {
    let text = fs::read_to_string(path).expect("it was written");
    assert!(text.starts_with("{\"format\":\"truespd-result\""), "{path:?}: {text}");
}

#[test]
fn links_of_other_users_are_not_followed() {
    if !has(&[Need::OtherUsers]) {
        return;
    }
    let lab = lab();
    let victim = lab.write("victim", b"precious");
    let inner = folder(&lab, "inner", 0o755);
    fs::write(inner.join("r.json"), "precious").expect("a file");
    for (name, mode) in [("sticky", 0o1777), ("open", 0o777), ("theirs", 0o755)] {
        let shared = folder(&lab, name, mode);
        if name == "theirs" {
            give(&shared);
        }
        symlink(&victim, shared.join("link.json")).expect("a link");
        symlink(&inner, shared.join("way")).expect("a link");
        symlink(lab.path("new.json"), shared.join("new")).expect("a link");
        ["link.json", "way", "new"].iter().for_each(|link| give(&shared.join(link)));
        for path in ["link.json", "way/r.json", "new"] {
            let ran = lab.run(&line(&format!("{name}/{path}")));
            ran.refused(3, &["is a link that user 65534 made, and links of other users are not followed"]);
        }
        // A link of root that leads over theirs.
        symlink(shared.join("link.json"), lab.path(&format!("over-{name}"))).expect("a link");
        lab.run(&line(&format!("over-{name}"))).refused(3, &["links of other users are not followed"]);
        let mut left: Vec<_> =
            fs::read_dir(&shared).expect("there").map(|e| e.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["link.json", "new", "way"], "nothing was made there");
    }
    assert_eq!(fs::read(&victim).expect("there"), b"precious");
    assert_eq!(fs::read(inner.join("r.json")).expect("there"), b"precious");
    assert!(!lab.path("new.json").exists());
    // One's own, and those of root, are.
    let sticky = lab.path("sticky");
    symlink("../mine.json", sticky.join("mine")).expect("a link");
    lab.run(&line("sticky/mine")).expect_code(0);
    assert_is_result(&lab.path("mine.json"));
    assert!(
        fs::symlink_metadata(sticky.join("mine")).is_ok_and(|facts| facts.is_symlink()),
        "it stays a link"
    );
}

#[test]
fn a_file_of_another_user_in_a_shared_folder_is_not_replaced() {
    if !has(&[Need::OtherUsers]) {
        return;
    }
    let lab = lab();
    for mode in [0o1777, 0o777] {
        let shared = folder(&lab, &format!("{mode:o}"), mode);
        fs::write(shared.join("r.json"), "theirs").expect("a file");
        give(&shared.join("r.json"));
        let ran = lab.run(&line(&format!("{mode:o}/r.json")));
        ran.refused(3, &["this file belongs to user 65534, in a folder where everybody may write"]);
        assert_eq!(fs::read(shared.join("r.json")).expect("there"), b"theirs");
    }
}

/// A second name of a file is no way to change it: the result is another file.
#[test]
fn hard_links_and_permissions() {
    let lab = lab();
    lab.write("precious", EARLIER);
    fs::hard_link(lab.path("precious"), lab.path("r.json")).expect("a second name");
    fs::set_permissions(lab.path("r.json"), Permissions::from_mode(0o640)).expect("permissions");
    lab.run(&line("r.json")).expect_code(0);
    assert_is_result(&lab.path("r.json"));
    assert_eq!(lab.read("precious"), EARLIER);
    let mode = |name: &str| fs::metadata(lab.path(name)).expect("there").mode() & 0o7777;
    assert_eq!(mode("r.json"), 0o640, "a replaced file keeps its permissions");
    let line = line("new.json");
    for (umask, expected) in [("077", 0o600), ("002", 0o664)] {
        let _ = fs::remove_file(lab.path("new.json"));
        let shell = format!("umask {umask}; exec \"$0\" \"$@\"");
        Running::new(lab.command_behind(&["sh", "-c", &shell], &line), &line).finish().expect_code(0);
        assert_eq!(mode("new.json"), expected);
    }
    if !has(&[Need::OtherUsers]) {
        return;
    }
    // In a folder that is only theirs, root writes for them.
    let theirs = folder(&lab, "theirs", 0o755);
    fs::write(theirs.join("r.json"), EARLIER).expect("a file");
    fs::set_permissions(theirs.join("r.json"), Permissions::from_mode(0o4600)).expect("permissions");
    give(&theirs);
    give(&theirs.join("r.json"));
    let ran = lab.run(&self::line("theirs/r.json")).expect_code(0);
    let facts = fs::metadata(theirs.join("r.json")).expect("there");
    assert_eq!((facts.uid(), facts.gid(), facts.mode() & 0o7777), (NOBODY, NOBODY, 0o600), "{ran}");
    assert_is_result(&theirs.join("r.json"));
}

#[test]
fn a_result_that_is_write_protected_stays() {
    if !has(&[Need::OtherUsers]) {
        return;
    }
    let lab = lab();
    lab.write("r.json", b"earlier");
    fs::set_permissions(lab.path("r.json"), Permissions::from_mode(0o444)).expect("permissions");
    lab.copy_of_program();
    lab.give_to(NOBODY);
    let run = |line: &str| Running::new(lab.command_behind(&AS_NOBODY, line), line).finish();
    run(&line("r.json")).refused(3, &["Permission denied"]);
    assert_eq!(lab.read("r.json"), b"earlier");
    // What is their own they may have under a link.
    symlink("other.json", lab.path("link")).expect("a link");
    give(&lab.path("link"));
    run(&line("link")).expect_code(0);
    assert_is_result(&lab.path("other.json"));
}

#[test]
fn pipes_have_readers_or_are_refused() {
    let lab = lab();
    let made = Command::new("mkfifo").arg(lab.path("pipe")).status().expect("mkfifo starts");
    assert!(made.success());
    lab.run(&line("pipe")).refused(3, &["--json pipe: nobody reads from this pipe; start its reader first"]);
    let path = lab.path("pipe");
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        fs::File::open(path).and_then(|mut pipe| pipe.read_to_string(&mut text)).expect("it can be read");
        text
    });
    lab.run(&line("pipe")).expect_code(0);
    assert!(reader.join().expect("no panic").starts_with("{\"format\""));
    let _socket = std::os::unix::net::UnixListener::bind(lab.path("socket")).expect("a socket");
    lab.run(&line("socket")).refused(3, &["this is not a file"]);
    assert_eq!(lab.names(), ["f", "pipe", "socket"]);
}

/// `--json /dev/stdout`, and what a shell opens for a word like `>(program)`.
#[test]
fn what_is_open_already_is_written_to() {
    let lab = lab();
    lab.write("both", b"");
    let shell = |script: &str, line: &str| -> Ran {
        Running::new(lab.command_behind(&["sh", "-c", script], line), line).finish()
    };
    shell("exec \"$0\" \"$@\" > both", &line("/dev/stdout")).expect_code(0);
    let both = String::from_utf8(lab.read("both")).expect("text");
    let (text, json) = both.split_once("{\"format\"").unwrap_or_else(|| panic!("{both}"));
    assert!(text.starts_with("\nCommand Line: ") && json.ends_with("}\n"), "{both}");
    shell("exec \"$0\" \"$@\" 3> third", &line("/dev/fd/3")).expect_code(0);
    assert_is_result(&lab.path("third"));
    lab.run(&line("/dev/fd/33")).refused(3, &["--json /dev/fd/33"]);
    shell("exec \"$0\" \"$@\" 3< f", &line("/dev/fd/3")).refused(3, &["--json /dev/fd/3"]);
}
