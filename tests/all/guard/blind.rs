//! Where procfs or sysfs is missing or hidden, as in a chroot or an odd container, the guard does not take what it
//! cannot see for free. Each run is in a mount namespace of its own.

use std::fs;
use std::path::Path;

use super::makers::hide_below;
use crate::support::devices::{Loop, Mount, run, text};
use crate::support::killed;
use crate::support::needs::{Need, has};
use crate::support::program::{Lab, Ran, Running, with_ios};
use crate::support::words::in_one_line;

const MIB: u64 = 1 << 20;
const WORDS: &str = "-d1 -W0 -b4K -o1 -g64 -w100";

/// What hides the facts: a shell's commands in a private mount namespace, before the program takes the shell's place.
const HIDES: &[&str] = &[
    "umount -l /sys && umount -l /proc",
    "umount -l /sys",
    "umount -l /proc",
    "mount -t tmpfs none /sys",
    "mount -t tmpfs none /sys/block",
    "mount -t tmpfs none /sys/dev/block",
    "mount --bind /dev/null /proc/swaps",
    "mount --bind /dev/null /proc/$$/mountinfo",
];

fn blind(lab: &Lab, hide: &str, line: &str) -> Ran {
    let script = format!("{hide} && exec \"$@\"");
    let command = lab.command_behind(&["unshare", "--mount", "sh", "-c", &script, "sh"], line);
    Running::new(command, line).finish()
}

fn refused(ran: &Ran, says: &str) {
    assert_eq!(ran.status.code(), Some(4), "{ran}");
    assert!(in_one_line(&ran.stderr).contains(says), "no '{says}' in: {ran}");
}

/// In a directory of its own for each way to hide. Runs mostly wait.
fn in_each(check: impl Fn(Lab, &str) + Sync) {
    std::thread::scope(|scope| {
        for hide in HIDES {
            let check = &check;
            scope.spawn(move || Lab::on_disk().map(|lab| check(lab, hide)));
        }
    });
}

fn can_hide() -> bool {
    has(&[Need::LoopDevices]) && has(&[Need::Tool("unshare")]) && has(&[Need::Tool("mkfs.ext4")])
}

#[test]
fn a_device_that_could_be_in_use_needs_a_word_of_its_own() {
    if !can_hide() {
        return;
    }
    in_each(|lab, hide| {
        let device = Loop::new(8 * MIB);
        let line = format!("{WORDS} {0}", text(&device.node));
        let ran = blind(&lab, hide, &line);
        refused(&ran, "may be in use, and this cannot be checked here");
        refused(&ran, &format!("add --unchecked {0}", text(&device.node)));
        refused(&blind(&lab, hide, &format!("--overwrite {0} {line}", text(&device.node))), "--unchecked");
        refused(
            &blind(&lab, hide, &format!("--unchecked /dev/null {line}")),
            "--unchecked names '/dev/null'",
        );
        let image = fs::read(&device.image).expect("readable");
        assert!(image.iter().all(|&byte| byte == 0), "{hide}: it was written");
        let allowed = format!("--unchecked {0} {line}", text(&device.node));
        with_ios(1, || blind(&lab, hide, &allowed)).expect_code(0);
        // By now it holds what that test wrote. Only what is needed is asked for.
        let both = format!("add --unchecked {0} --overwrite {0}", text(&device.node));
        assert!(!in_one_line(&ran.stderr).contains(&both), "{hide}: it was blank: {ran}");
        refused(&blind(&lab, hide, &line), &both);
        let named = blind(&lab, hide, &format!("--overwrite {0} {line}", text(&device.node)));
        refused(&named, &format!("add --unchecked {0}", text(&device.node)));
        assert!(!in_one_line(&named.stderr).contains(&both), "{hide}: it was named: {named}");
    });
}

#[test]
fn no_word_helps_against_a_use_that_the_kernel_tells() {
    if !can_hide() {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(8 * MIB);
    run("mkfs.ext4", &["-q", text(&device.node)]);
    let _mount = Mount::new(&[text(&device.node)]);
    for hide in HIDES {
        for target in [&device.node, &device.image] {
            let target = text(target);
            let line = format!("{WORDS} --unchecked {target} --overwrite {target} {target}");
            refused(&blind(&lab, hide, &line), "is in use and will not be written");
        }
    }
    // The file system itself leaves its first KiB alone.
    let image = fs::read(&device.image).expect("readable");
    assert!(image[..1024].iter().all(|&byte| byte == 0), "it was written");
}

/// A lease tells of writers; a loop device that only reads must be asked itself, or listed.
#[test]
fn a_loop_device_that_only_reads_is_found_by_its_node() {
    if !can_hide() {
        return;
    }
    let Some(lab) = Lab::on_disk() else { return };
    let image = lab.write("image", &vec![0; 8 * MIB as usize]);
    run("mkfs.ext4", &["-q", text(&image)]);
    let device = Loop::over_with(&image, &["--read-only"]);
    let _mount = Mount::new(&["-o", "ro", text(&device.node)]);
    let before = lab.read("image");
    let line = format!("{WORDS} --unchecked image --overwrite image image");
    for hide in HIDES {
        // Without both trees nothing says that all loop devices were asked; one that was is known all the same.
        refused(&blind(&lab, hide, &line), "it is the file behind loop device");
    }
    // Without the nodes as well it is not known, and the person's word counts.
    let all = "umount -l /sys && mount -t tmpfs none /dev";
    refused(&blind(&lab, all, &format!("{WORDS} --overwrite image image")), "whether a loop device uses");
    assert!(lab.read("image") == before, "it was written");
}

#[test]
fn files_that_nobody_has_open_need_no_word() {
    if !can_hide() {
        return;
    }
    // Other loop devices are listed then.
    let _other = Loop::new(8 * MIB);
    in_each(|lab, hide| {
        blind(&lab, hide, &format!("{WORDS} -c1M new")).expect_code(0);
        blind(&lab, hide, &format!("{WORDS} new")).expect_code(0);
        lab.write("theirs", &[1; 8192]);
        refused(&blind(&lab, hide, &format!("{WORDS} theirs")), "was not made by TrueSpd");
        blind(&lab, hide, &format!("{WORDS} --overwrite theirs theirs")).expect_code(0);
    });
}

/// A file system over another one, or of a program, tells nothing of who uses the file below.
#[test]
fn what_lies_over_another_file_needs_a_word_of_its_own() {
    if !has(&[Need::LoopDevices, Need::Fuse, Need::Tool("bindfs")]) {
        return;
    }
    let lab = Lab::new();
    fs::create_dir(lab.path("below")).expect("a folder");
    let fuse = Mount::by_fuse(&lab.path("below"));
    hide_below(&lab);
    let overlay = Mount::by_overlay(&lab.work(), false);
    for mount in [Some(fuse), overlay].into_iter().flatten() {
        let theirs = mount.point.join("theirs");
        fs::write(&theirs, [7; 8192]).expect("room");
        let path = text(&theirs);
        let both = format!("add --unchecked {path} --overwrite {path}");
        refused(&lab.run(&format!("{WORDS} {path}")), &both);
        refused(&lab.run(&format!("{WORDS} --overwrite {path} {path}")), &format!("add --unchecked {path}"));
        refused(&lab.run(&format!("{WORDS} --unchecked {path} {path}")), "was not made by TrueSpd");
        assert!(fs::read(&theirs).expect("readable") == [7; 8192], "it was written");
        lab.run(&format!("{WORDS} --unchecked {path} --overwrite {path} {path}")).expect_code(0);
        let given = mount.point.join("given");
        fs::write(&given, [7; 8192]).expect("room");
        killed::run(&lab, &format!("adopt --yes {}", text(&given))).expect_code(0);
        lab.run(&format!("{WORDS} {}", text(&given))).expect_code(0).says(&["may write it"]);
    }
}

/// Samples miss what the look through the device finds.
#[test]
fn who_knows_a_device_does_not_wait_for_a_look_through_it() {
    if !has(&[Need::LoopDevices]) {
        return;
    }
    let lab = Lab::new();
    let device = Loop::new(2048 * MIB);
    let file = fs::File::options().write(true).open(&device.node).expect("a device");
    std::os::unix::fs::FileExt::write_all_at(&file, b"thesis", 1003 * MIB).expect("it takes bytes");
    file.sync_all().expect("it takes bytes");
    drop(file);
    let path = text(&device.node);
    refused(&lab.run(&format!("{WORDS} {path}")), "it holds data of an unknown kind");
    lab.run(&format!("{WORDS} --quick-check {path}")).expect_code(0);
}

#[test]
fn in_a_real_chroot() {
    if !can_hide() {
        return;
    }
    let Some(lab) = Lab::on_disk() else { return };
    let device = Loop::new(8 * MIB);
    run("mkfs.ext4", &["-q", text(&device.node)]);
    let mount = Mount::new(&[text(&device.node)]);
    fs::create_dir(lab.path("root")).expect("a directory");
    let root = lab.path("root");
    let chroot = |line: &str| {
        let root = text(&root);
        let script = format!(
            "mount --rbind / {root} && umount -l {root}/sys && umount -l {root}/proc && exec chroot {root} \"$@\""
        );
        let command = lab.command_behind(&["unshare", "--mount", "sh", "-c", &script, "sh"], line);
        Running::new(command, line).finish()
    };
    let own = lab.path("file");
    let line = |target: &Path, options: &str| format!("{WORDS} {options} {}", text(target));
    let word = |target: &Path| format!("--overwrite {0} --unchecked {0}", text(target));
    chroot(&line(&own, "-c1M")).expect_code(0);
    chroot(&line(&own, "")).expect_code(0);
    refused(&chroot(&line(&device.image, &word(&device.image))), "it is the file behind loop device");
    refused(&chroot(&line(&device.node, &word(&device.node))), "it is in exclusive use");
    drop(mount);
    refused(&chroot(&line(&device.node, "")), "may be in use, and this cannot be checked here");
    chroot(&line(&device.node, &word(&device.node))).expect_code(0);
}
