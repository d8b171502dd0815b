//! Links and hard links of other users, and links that lead to `/dev`: what is made, adopted and written is
//! what the person named.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::devices::{Loop, Mount, run, text};
use crate::support::killed;
use crate::support::needs::{Need, has};
use crate::support::program::{Lab, Ran, Running};
use crate::support::words::in_one_line;

const NOBODY: u32 = 65534;
const AS_NOBODY: [&str; 4] = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
const WRITE: &str = "-d1 -W0 -b4K -o1 -g64 -w100";
const MIB: usize = 1 << 20;

/// A folder of root with a file of zeros, an empty one and one of ours, and one for everybody with links of
/// another user into it. `None`, said on standard error: this user cannot make them.
fn planted() -> Option<Lab> {
    has(&[Need::OtherUsers]).then_some(())?;
    let lab = Lab::visible()?;
    for folder in ["private", "private/fleet", "open"] {
        fs::create_dir(lab.path(folder)).expect("a folder");
    }
    for_everybody(&lab.path("open"));
    lab.write("private/zeros", &vec![0; MIB]);
    lab.write("private/precious", &vec![7; MIB]);
    lab.write("private/empty", b"");
    lab.write("private/fleet/disk", &vec![7; MIB]);
    lab.run("-c1M -d1 -W0 -b4K -g64 private/ours").expect_code(0);
    for (name, to) in [
        ("zeros", "private/zeros"),
        ("precious", "private/precious"),
        ("empty", "private/empty"),
        ("ours", "private/ours"),
        ("nologin", "private/nologin"),
        ("folder", "private"),
        ("node", "/dev/truespd-none"),
    ] {
        foreign_link(&lab.path(to), &lab.path("open").join(name));
    }
    // A link of root over a link of somebody else.
    symlink("open/zeros", lab.path("chain")).expect("a link");
    Some(lab)
}

fn for_everybody(folder: &Path) {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o1777)).expect("its owner may");
}

fn foreign_link(to: &Path, link: &Path) {
    symlink(to, link).and_then(|()| lchown(link, Some(NOBODY), Some(NOBODY))).expect("root may");
}

/// Names and contents below the private folder.
fn contents(lab: &Lab) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for folder in ["private", "private/fleet"] {
        for entry in fs::read_dir(lab.path(folder)).expect("a folder").map(|entry| entry.expect("an entry")) {
            let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
            found.push((name, fs::read(entry.path()).unwrap_or_default()));
        }
    }
    found.sort();
    found
}

#[track_caller]
fn refused_for_the_link(ran: Ran) {
    let says = in_one_line(&ran.stderr);
    assert!(says.contains("links of other users are not followed"), "{ran}");
    assert!(
        says.contains("/private") || says.contains("/dev/truespd-none"),
        "it says where that leads: {ran}"
    );
    assert_eq!((ran.status.code(), ran.stdout.as_str()), (Some(4), ""), "{ran}");
}

#[test]
fn no_link_of_another_user_is_followed_to_write() {
    let Some(lab) = planted() else { return };
    let before = contents(&lab);
    for option in ["--verify-map", "--verify-log"] {
        let line = format!("-b4K -w50 -Sh -d1 -W0 --verify {option} open/nologin private/ours");
        lab.run(&line).refused(3, &["links of other users are not followed"]);
        assert!(contents(&lab) == before, "{line}");
    }
    for line in [
        "-c1M -d1 -W0 open/nologin",
        "-c1M -d1 -W0 open/empty",
        "-c1M -d1 -W0 open/zeros",
        "-c1M -d1 -W0 -w100 open/ours",
        "-c1M --recreate -d1 -W0 open/ours",
        "-c2M -d1 -W0 --overwrite open/precious open/precious",
        "-c1M -d1 -W0 open/folder/new",
        "-c1M -d1 -W0 open/folder/some/where/new",
        "-c1M -d1 -W0 open/folder/../private/new",
        "-c1M -d1 -W0 open/node",
        "-d1 -W0 -w100 open/zeros",
        "-d1 -W0 -w1 open/ours",
        "-d1 -W0 -w100 chain",
        "-d1 -W0 -w100 open/folder/zeros",
        "-d1 -W0 -w100 --overwrite open/precious open/precious",
        "-d1 -W0 -w100 --overwrite private/precious open/precious",
    ] {
        refused_for_the_link(lab.run(line));
        assert!(contents(&lab) == before, "{line}");
        assert!(!Path::new("/dev/truespd-none").exists(), "{line}");
    }
    for line in [
        "adopt --yes open/precious",
        "adopt --recursive --yes open/folder/fleet",
        "adopt --forget open/ours",
        "mark open/folder --size 16M",
    ] {
        refused_for_the_link(killed::run(&lab, line));
        assert!(contents(&lab) == before, "{line}");
    }
    lab.run(&format!("{WRITE} private/precious")).refused(4, &["was not made by TrueSpd"]);
    // They are no harm to a test that reads, and links of this user are followed.
    lab.run("-d1 -W0 -b4K -g64 open/precious").expect_code(0);
    symlink("private/new", lab.path("own")).expect("a link");
    lab.run("-c1M -d1 -W0 -b4K -g64 -w100 own").expect_code(0);
    assert_eq!(lab.read("private/new").len(), MIB);
}

#[test]
fn no_file_is_made_among_device_nodes_wherever_a_link_leads_there() {
    let lab = Lab::new();
    let none = "/dev/truespd-no-such-node";
    symlink(none, lab.path("link")).expect("a link");
    symlink("/dev", lab.path("nodes")).expect("a link");
    symlink("link", lab.path("second")).expect("a link");
    for target in [
        none,
        "link",
        "second",
        "nodes/truespd-no-such-node",
        "nodes/no/such/folder/truespd-no-such-node",
        "/proc/self/root/dev/truespd-no-such-node",
        "/dev/shm/../truespd-no-such-node",
    ] {
        let ran = lab.run(&format!("-c1M -d1 -W0 {target}"));
        ran.refused(4, &["an ordinary file among the device nodes"]);
        assert!(!Path::new(none).exists() && !Path::new("/dev/no").exists(), "{target}");
    }
}

#[test]
fn a_hard_link_where_others_may_add_names_is_not_written() {
    let Some(lab) = Lab::visible() else { return };
    for folder in ["private", "open"] {
        fs::create_dir(lab.path(folder)).expect("a folder");
    }
    for_everybody(&lab.path("open"));
    for (name, bytes) in [("zeros", vec![0; MIB]), ("precious", vec![7; MIB]), ("empty", Vec::new())] {
        let path = lab.write(&format!("private/{name}"), &bytes);
        fs::hard_link(path, lab.path("open").join(name)).expect("a link");
    }
    let says = ["has 2 names (hard links)", "somebody else's file"];
    let told = |ran: Ran| {
        let text = in_one_line(&ran.stderr);
        assert!(says.iter().all(|words| text.contains(words)), "{ran}");
        ran.expect_code(4);
    };
    told(lab.run(&format!("{WRITE} open/zeros")));
    told(lab.run(&format!("{WRITE} --overwrite open/precious open/precious")));
    told(lab.run("-c1M -d1 -W0 open/empty"));
    told(killed::run(&lab, "adopt --yes open/precious"));
    told(killed::run(&lab, "adopt --recursive --yes open"));
    assert_eq!(lab.read("private/empty"), b"");
    // Nobody else adds names there.
    lab.run(&format!("{WRITE} private/zeros")).expect_code(0);
    killed::run(&lab, "adopt --yes private/precious").expect_code(0);
}

/// Puts a file and something else at a place by turns while the program runs.
fn while_swapped(swap: impl Fn() + Sync, runs: impl FnOnce()) {
    struct Over<'a>(&'a AtomicBool);
    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                swap();
            }
        });
        let _over = Over(&is_over);
        runs();
    });
}

#[test]
fn what_is_listed_is_what_is_adopted() {
    let Some(lab) = planted() else { return };
    let place = lab.path("open/fleet");
    fs::create_dir(&place).expect("a folder");
    // So many files that there is time between the first and the last.
    for n in 0..40 {
        fs::write(place.join(format!("disk{n}")), [7; 4096]).expect("a file");
    }
    let (plain, next) = (place.join("zz"), lab.path("open/next"));
    let swap = || {
        foreign_link(&lab.path("private/precious"), &next);
        fs::rename(&next, &plain).expect("renamed");
        fs::write(&next, vec![7; MIB]).and_then(|()| fs::rename(&next, &plain)).expect("renamed");
    };
    while_swapped(swap, || {
        for _ in 0..15 {
            let ran = killed::run(&lab, "adopt --recursive --yes open/fleet");
            assert!(matches!(ran.status.code(), Some(0 | 1 | 3 | 4)), "{ran}");
        }
    });
    lab.run(&format!("{WRITE} private/precious")).refused(4, &["was not made by TrueSpd"]);
}

#[test]
fn a_file_is_made_in_the_folder_that_was_decided_about() {
    let Some(lab) = planted() else { return };
    let before = contents(&lab);
    let (place, other, next) = (lab.path("open/place"), lab.path("open/other"), lab.path("open/next"));
    let swap = || {
        // The program may make the folder itself in between.
        let _ = fs::create_dir(&place).and_then(|()| fs::rename(&place, &other));
        foreign_link(&lab.path("private"), &next);
        let _ = fs::rename(&next, &place).and_then(|()| fs::remove_file(&place));
        let _ = fs::remove_file(&next);
        let _ = fs::remove_dir_all(&other);
        let _ = fs::remove_dir_all(&place);
    };
    while_swapped(swap, || {
        for _ in 0..10 {
            let ran = lab.run("-c1M -d1 -W0 -b4K -g64 open/place/deep/er/new");
            assert!(matches!(ran.status.code(), Some(0 | 1 | 3 | 4)), "{ran}");
            assert!(contents(&lab) == before, "{ran}");
        }
    });
}

/// Refused before anything was made: exit code 3, and nothing is there.
#[track_caller]
fn cannot_be_made(lab: &Lab, wrapper: &[&str], line: &str, says: &[&str]) {
    let command = if wrapper.is_empty() { lab.command(line) } else { lab.command_behind(wrapper, line) };
    let ran = Running::new(command, line).finish();
    assert_eq!((ran.status.code(), ran.stdout.as_str()), (Some(3), ""), "{ran}");
    let text = in_one_line(&ran.stderr);
    assert!(says.iter().all(|words| text.contains(words)), "{says:?} {ran}");
}

#[test]
fn what_cannot_be_made_is_refused_before_anything_is_made() {
    let lab = Lab::new();
    lab.write("file", b"x");
    let long = "n".repeat(300);
    for (target, says) in [
        ("file/new".to_string(), "a part of the path is a file"),
        ("file/no/new".to_string(), "a part of the path is a file"),
        ("file/".to_string(), "a part of the path is a file"),
        ("new/".to_string(), "the path ends with '/'"),
        (long.clone(), "give a shorter name"),
        (format!("new/{long}"), "give a shorter name"),
        (format!("new/{long}/file"), "give a shorter name"),
        ("no/../new".to_string(), "nothing can be made at"),
    ] {
        let line = format!("-c1M -d1 -W0 {target}");
        cannot_be_made(&lab, &[], &line, &["Could not create the file (error code: ", says]);
        assert_eq!(lab.names(), ["file"], "{target}");
    }
    if has(&[Need::Tool("prlimit")]) {
        let says = ["Could not create the file (error code: 27)", "(ulimit -f)"];
        cannot_be_made(&lab, &["prlimit", "--fsize=1048576:1048576"], "-c2M -d1 -W0 new/large", &says);
        assert_eq!(lab.names(), ["file"]);
    }
    if !has(&[Need::OtherUsers]) {
        return;
    }
    fs::create_dir(lab.path("closed")).expect("a folder");
    fs::set_permissions(lab.path("closed"), fs::Permissions::from_mode(0o700)).expect("its owner may");
    fs::create_dir(lab.path("shown")).expect("a folder");
    lab.copy_of_program();
    fs::set_permissions(lab.work(), fs::Permissions::from_mode(0o755)).expect("its owner may");
    let above = lab.work();
    let above = above.parent().expect("a folder");
    fs::set_permissions(above, fs::Permissions::from_mode(0o755)).expect("its owner may");
    for target in ["closed/new", "closed/no/new", "shown/new", "shown/no/such/new", "new"] {
        let says = ["Could not create the file (error code: 13)", "Permission denied", "choose a directory"];
        cannot_be_made(&lab, &AS_NOBODY, &format!("-c1M -d1 -W0 {target}"), &says);
    }
    assert_eq!(lab.names(), ["closed", "file", "shown"]);
}

#[test]
fn a_file_system_that_takes_no_file_is_told_before_anything_is_made() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let lab = Lab::new();
    let at = |mount: &Mount, name: &str| {
        // Words are split at blanks, and the mount point has one.
        let _ = fs::remove_file(lab.path("there"));
        symlink(&mount.point, lab.path("there")).expect("a link");
        format!("there/{name}")
    };
    let read_only = Mount::new(&["-t", "tmpfs", "-o", "ro", "none"]);
    for name in ["new", "no/such/new"] {
        let line = format!("-c1M -d1 -W0 {}", at(&read_only, name));
        cannot_be_made(&lab, &[], &line, &["Read-only file system", "choose a path on another file system"]);
    }
    let without_inodes = Mount::new(&["-t", "tmpfs", "-o", "nr_inodes=2", "none"]);
    File::create(without_inodes.point.join("last")).expect("one more");
    let line = format!("-c1M -d1 -W0 {}", at(&without_inodes, "new"));
    cannot_be_made(&lab, &[], &line, &["takes no more files"]);
    if !has(&[Need::Tool("mkfs.ext4")]) {
        return;
    }
    // What is kept for the system is not taken by root's tests either, and `df` shows the same.
    let device = Loop::new(64 << 20);
    run("mkfs.ext4", &["-q", "-m", "40", text(&device.node)]);
    let kept = Mount::new(&[text(&device.node)]);
    let line = format!("-c40M -d1 -W0 {}", at(&kept, "new"));
    cannot_be_made(&lab, &[], &line, &["there is no room for", "it needs 40MiB", "MiB free"]);
    assert!(!kept.point.join("new").exists());
    // Time spans that make the file again, larger, need the difference.
    let span = |bytes: u64| {
        format!(
            "<TimeSpan><Duration>1</Duration><Warmup>0</Warmup><Targets><Target><Path>{}</Path>\
             <BlockSize>4096</BlockSize><FileSize>{bytes}</FileSize></Target></Targets></TimeSpan>",
            at(&kept, "new")
        )
    };
    let profile = format!("<Profile><TimeSpans>{}{}</TimeSpans></Profile>", span(8 << 20), span(40 << 20));
    fs::write(lab.path("p.xml"), profile).expect("a file");
    cannot_be_made(&lab, &[], "-Xp.xml", &["there is no room for", "it needs 40MiB"]);
    assert!(!kept.point.join("new").exists());
}
