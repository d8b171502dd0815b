//! `truespd adopt`: whose files it takes, whose not, and what write tests do with them then.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::devices::{Loop, run, text};
use crate::support::killed;
use crate::support::needs::{Need, has};
use crate::support::program::{Lab, Ran, Running};
use crate::support::words::in_one_line;

const MIB: usize = 1 << 20;
const WRITE: &str = "-d1 -W0 -b4K -o1 -g64 -w100";

fn adopt(lab: &Lab, words: &str) -> Ran {
    killed::run(lab, &format!("adopt {words}"))
}

/// A write test of the file does not ask.
fn is_free(lab: &Lab, name: &str) -> bool {
    let ran = lab.run(&format!("{WRITE} {name}"));
    match ran.status.code() {
        Some(0) => true,
        Some(4) => false,
        _ => panic!("{ran}"),
    }
}

fn foreign(lab: &Lab, name: &str) {
    let path = lab.path(name);
    fs::create_dir_all(path.parent().expect("it has one")).expect("folders");
    fs::write(path, vec![7; MIB]).expect("a file");
}

#[test]
fn a_file_is_adopted_once_for_all_tests_until_it_is_forgotten_or_written() {
    let lab = Lab::new();
    foreign(&lab, "data");
    assert!(!is_free(&lab, "data"));
    let ran = adopt(&lab, "--yes data").expect_code(0);
    assert!(ran.stdout.contains("1MiB  data\n") && ran.stdout.ends_with("1 file adopted.\n"), "{ran}");
    assert!(lab.read("data") == vec![7; MIB], "it is marked, not changed");
    assert!(is_free(&lab, "data") && is_free(&lab, "data"));
    let ran = adopt(&lab, "data").expect_code(0);
    assert_eq!(ran.stdout, "1 file already a test file of TrueSpd.\n", "nobody need be asked");
    let ran = adopt(&lab, "--forget data").expect_code(0);
    assert!(ran.stdout.contains("will ask before") && ran.stdout.contains("1MiB  data\n"), "{ran}");
    assert!(!is_free(&lab, "data"));
    assert_eq!(adopt(&lab, "--forget data").expect_code(0).stdout, "1 file without a mark.\n");
    adopt(&lab, "--yes data").expect_code(0);
    let file = File::options().write(true).open(lab.path("data")).expect("writable");
    file.write_all_at(b"somebody's thesis", 70_000).expect("room");
    drop(file);
    assert!(!is_free(&lab, "data"), "something else wrote to it");
}

#[test]
fn without_a_terminal_the_word_is_yes() {
    let lab = Lab::new();
    foreign(&lab, "data");
    let ran = adopt(&lab, "data").expect_code(3);
    assert!(ran.stdout.is_empty() && ran.stderr.contains("1MiB  data\n"), "what it would take: {ran}");
    assert!(ran.stderr.contains("no terminal") && ran.stderr.contains("--yes"), "{ran}");
    assert!(!is_free(&lab, "data"));
}

/// Runs `truespd` on a terminal of its own, where a person types this.
fn typed(lab: &Lab, words: &str, answer: &str) -> Ran {
    // The answer comes once: typed again and again, it fills the terminal before the program reads.
    const SPAWN: &str = "import os,pty,sys\n\
        typed = [b'', sys.argv[1].encode() + b'\\n']\n\
        status = pty.spawn(sys.argv[2:], stdin_read=lambda fd: typed.pop())\n\
        sys.exit(os.waitstatus_to_exitcode(status))";
    behind(lab, &["python3", "-c", SPAWN, answer], words)
}

/// Runs `truespd` by way of another program, which gets its path and words.
fn behind(lab: &Lab, wrapper: &[&str], words: &str) -> Ran {
    let inner = killed::truespd(lab, words);
    let mut command = Command::new(wrapper[0]);
    command.args(&wrapper[1..]).arg(inner.get_program()).args(inner.get_args());
    command.current_dir(lab.work());
    for (name, value) in inner.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Running::new(command, words).finish()
}

#[test]
fn a_person_on_a_terminal_is_asked() {
    if !has(&[Need::Tool("python3")]) {
        return;
    }
    let lab = Lab::new();
    foreign(&lab, "data");
    for answer in ["no", "", "yesterday"] {
        let ran = typed(&lab, "adopt data", answer).expect_code(3);
        assert!(ran.stdout.contains("Adopt this file?"), "{ran}");
        assert!(ran.stdout.contains("Nothing was changed."), "{ran}");
    }
    assert!(!is_free(&lab, "data"));
    let ran = typed(&lab, "adopt data", "yes").expect_code(0);
    assert!(ran.stdout.contains("1 file adopted."), "{ran}");
    assert!(is_free(&lab, "data"));
}

#[test]
fn other_file_systems_in_a_folder_are_left() {
    if !has(&[Need::LoopDevices, Need::Tool("unshare")]) {
        return;
    }
    let lab = Lab::new();
    for name in ["fleet/a.dat", "fleet/bound.dat", "fleet/other/below.dat"] {
        foreign(&lab, name);
    }
    // In a mount namespace of its own: a folder and a file of another file system.
    let script = "mount -t tmpfs none fleet/other && cp fleet/a.dat fleet/other/there.dat && \
                  mount --bind fleet/other/there.dat fleet/bound.dat && exec \"$@\"";
    let ran =
        behind(&lab, &["unshare", "--mount", "sh", "-c", script, "sh"], "adopt --recursive --yes fleet")
            .expect_code(0);
    assert!(ran.stdout.contains("fleet/a.dat\n") && ran.stdout.ends_with("1 file adopted.\n"), "{ran}");
    let left = ran.stdout.split_once("on another file system:\n").map(|two| two.1).unwrap_or_default();
    let left: Vec<&str> = left.lines().take(2).map(str::trim).collect();
    assert_eq!(left, ["fleet/bound.dat", "fleet/other"], "{ran}");
    assert!(is_free(&lab, "fleet/a.dat") && !is_free(&lab, "fleet/bound.dat"));
}

#[test]
fn a_folder_stands_for_its_files_and_not_for_what_links_in_it_lead_to() {
    let lab = Lab::new();
    for name in ["fleet/vm1/a.dat", "fleet/vm2/b.dat", "fleet/c.dat", "outside.dat"] {
        foreign(&lab, name);
    }
    symlink("../outside.dat", lab.path("fleet/link")).expect("a link");
    symlink("..", lab.path("fleet/up")).expect("a link");
    let ran = adopt(&lab, "--yes fleet").expect_code(3);
    assert!(ran.stderr.contains("'fleet' is a folder") && ran.stderr.contains("--recursive fleet"), "{ran}");
    assert!(!is_free(&lab, "fleet/c.dat"));
    let ran = adopt(&lab, "--recursive --yes fleet fleet/c.dat").expect_code(0);
    let listed: Vec<&str> = ran.stdout.lines().filter(|line| line.contains(".dat")).collect();
    let paths: Vec<&str> = listed.iter().filter_map(|line| line.split_whitespace().nth(1)).collect();
    assert_eq!(paths, ["fleet/c.dat", "fleet/vm1/a.dat", "fleet/vm2/b.dat"], "each once: {ran}");
    assert!(ran.stdout.contains("3MiB  3 files\n") && ran.stdout.contains("fleet/link\n"), "{ran}");
    assert!(is_free(&lab, "fleet/vm1/a.dat") && is_free(&lab, "fleet/c.dat"));
    assert!(!is_free(&lab, "outside.dat"));
    // A link that is typed is meant.
    adopt(&lab, "--yes fleet/link").expect_code(0);
    assert!(is_free(&lab, "outside.dat"));
    adopt(&lab, "--recursive --forget fleet").expect_code(0);
    assert!(!is_free(&lab, "fleet/c.dat") && is_free(&lab, "outside.dat"));
}

/// It is refused, and with it the other file that is named.
fn refuses(lab: &Lab, path: &Path, says: &str) {
    let ran = adopt(lab, &format!("--yes data {}", path.display())).expect_code(4);
    let told = in_one_line(&ran.stderr);
    assert!(told.contains(says), "{ran}");
    assert!(ran.stdout.is_empty() && !is_free(lab, "data"), "{ran}");
}

#[test]
fn what_is_in_use_or_the_systems_is_not_adopted_and_then_nothing_is() {
    let lab = Lab::new();
    foreign(&lab, "data");
    foreign(&lab, "other");
    refuses(&lab, Path::new("/etc/passwd"), "where the files of the running system are");
    refuses(&lab, Path::new("/proc/self/comm"), "the running system");
    symlink("/etc/passwd", lab.path("harmless")).expect("a link");
    refuses(&lab, &lab.path("harmless"), "is in /etc, where");
    let writer = File::options().write(true).open(lab.path("other")).expect("writable");
    refuses(&lab, &lab.path("other"), "has it open for writing");
    drop(writer);
    assert_eq!(adopt(&lab, "--yes data nowhere").status.code(), Some(3));
    assert!(!is_free(&lab, "data"));
    if !has(&[Need::LoopDevices, Need::Tool("mkfs.ext4")]) {
        return;
    }
    let device = Loop::new(8 << 20);
    refuses(&lab, &device.node, "is a device, and only files can be adopted");
    refuses(&lab, &device.image, "it is the file behind loop device");
    let image = lab.path("image");
    File::create(&image).and_then(|file| file.set_len(8 << 20)).expect("room");
    run("mkfs.ext4", &["-q", text(&image)]);
    refuses(&lab, &image, "holds data of a known kind");
}
