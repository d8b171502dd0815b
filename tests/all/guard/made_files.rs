//! The situations whose target is a file.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use super::made::{BLIND, ELSEWHERE, NOBODY, Situation, WITHOUT_ROOT, row};
use super::makers::{
    Killed, MIB, Made, Mapped, TWO, adopted, disk, file, foreign, formatted, half_made, half_made_at,
    in_front, killed, locked, locked_by_a_reader, mounted_image, moved, noise, on_overlay, ours,
    ours_in_container, write, written_by_map, written_in_the_same_second,
};
use crate::support::devices::{Loop, Mount, Swap, run, text};
use crate::support::killed::registry;
use crate::support::needs::{Need, has, not_run};
use crate::support::program::{Lab, copy_to_run};
use crate::support::words::in_one_line;
use truespd_core::guard::mark::{MarkPlace, MarkState, Marks};

pub const SITUATIONS: &[Situation] = &[
    row("file of somebody else", &["was not made by TrueSpd"], |lab| Some(file(&foreign(lab)))),
    row("symbolic link to it", &["was not made by TrueSpd"], |lab| {
        symlink(foreign(lab), lab.path("link")).expect("a link");
        Some(Made { target: "link".into(), ..file(&foreign(lab)) })
    }),
    row(
        "symbolic link of another user to a file of zeros",
        &[
            "links of other users are not followed where something is to be written",
            "if you mean the file where it leads, name that path",
        ],
        |lab| Some(of_another(lab, "link", "")),
    ),
    row(
        "symbolic link of another user to an empty file, with -c1M",
        &["links of other users are not followed where something is to be written"],
        |lab| Some(of_another(lab, "link", "-c1M")),
    ),
    row(
        "file of zeros behind a folder link of another user",
        &["links of other users are not followed where something is to be written"],
        |lab| {
            let path = lab.write("zeros", &vec![0; MIB as usize]);
            symlink(".", lab.path("folder")).expect("a link");
            lchown(lab.path("folder"), Some(NOBODY), None).expect("root may");
            Some(Made { target: "folder/zeros".into(), ..file(&path) })
        },
    ),
    row(
        "hard link to a file of zeros, in a folder where others may add names",
        &["has 2 names (hard links)", "may have put somebody else's file there"],
        |lab| {
            let path = lab.write("zeros", &vec![0; MIB as usize]);
            fs::create_dir(lab.path("open")).expect("a folder");
            fs::set_permissions(lab.path("open"), fs::Permissions::from_mode(0o1777)).expect("its owner may");
            fs::hard_link(&path, lab.path("open/hard")).expect("a link");
            Some(Made { target: "open/hard".into(), ..file(&path) })
        },
    ),
    row(
        "chain of links to a device, named by the device after --overwrite",
        &["it holds a swap area"],
        |lab| {
            let made = formatted("mkswap", &[], 8 * MIB)?;
            symlink(&made.target, lab.path("first")).expect("a link");
            symlink("first", lab.path("second")).expect("a link");
            Some(Made { again: Some(made.target.clone()), ..moved(made, Path::new("second")) })
        },
    ),
    row("hard link to it", &["was not made by TrueSpd", "it has 2 names (hard links)"], |lab| {
        fs::hard_link(foreign(lab), lab.path("hard")).expect("a link");
        Some(Made { target: "hard".into(), again: Some("./precious".into()), ..file(&foreign(lab)) })
    }),
    row("it through a bind mount", &["was not made by TrueSpd"], |lab| {
        let path = foreign(lab);
        let mount = Mount::new(&["--bind", text(&lab.work())]);
        // Words are split at blanks, and the mount point has one.
        symlink(mount.point.join("precious"), lab.path("bound")).expect("a link");
        Some(Made { target: "bound".into(), again: Some(path.clone()), ..file(&path) }.keeping(mount))
    }),
    row("it as /dev/fd/7", &["was not made by TrueSpd"], |lab| {
        let path = foreign(lab);
        Some(Made { target: "/dev/fd/7".into(), inherited: Some(path.clone()), ..file(&path) })
    }),
    row("memory of a program (memfd), by /proc/PID/fd/N", &["is memory of a program, not storage"], |_| {
        let memory = memory();
        Some(file(&open_path(&memory)).keeping(memory))
    }),
    row("the same by its map (map_files)", &["is memory of a program, not storage"], |_| {
        let memory = memory();
        let map = Mapped::new(&open_path(&memory));
        let folder = format!("/proc/{}/map_files", std::process::id());
        let name = format!("{:x}-{:x}", map.address(), map.address() + 4096);
        Some(file(&Path::new(&folder).join(name)).keeping(map).keeping(memory))
    }),
    row("deleted file that a program has open", &["has no name (it was deleted)"], |lab| {
        let path = lab.write("zeros", &vec![0; MIB as usize]);
        let open = File::open(&path).expect("readable");
        fs::remove_file(&path).expect("removed");
        Some(file(&open_path(&open)).keeping(open))
    }),
    row(
        "disk image with a table",
        &["was not made by TrueSpd", "it holds a GPT partition table", "its partition 2"],
        |_| {
            let (made, _) = disk(TWO, false)?;
            let image = made.bytes.clone()?;
            let copy = image.with_file_name("copy");
            fs::copy(&image, &copy).expect("a copy");
            Some(Made { target: copy.clone(), bytes: Some(copy), ..made })
        },
    ),
    row("empty file of somebody else, with -c1M", &[], |lab| {
        Some(Made { options: "-c1M", ..file(&lab.write("empty", b"")) })
    }),
    row("file of ours", &[], |lab| Some(file(&ours(lab)))),
    row("file of ours that a killed run was writing", &[], |lab| Some(file(&killed(lab, "")))),
    row(
        "file of ours that a killed run was writing, then another file copied over it",
        &["was being written by a run of TrueSpd that was killed", "may hold data other than test data"],
        |lab| {
            let path = killed(lab, "");
            write(&path, 0, &noise(MIB as usize));
            Some(file(&path))
        },
    ),
    row(
        "the same, locked as by a run by a user who may only read it",
        &["was being written by a run of TrueSpd that was killed"],
        |lab| {
            let path = killed(lab, "");
            write(&path, 0, &noise(MIB as usize));
            let reader = locked_by_a_reader(&path, &[0, 2])?;
            Some(file(&path).keeping(reader))
        },
    ),
    row("file of ours that such a user has locked for himself", &[], |lab| {
        let path = ours(lab);
        let reader = locked_by_a_reader(&path, &[0, 2, 4])?;
        Some(file(&path).keeping(reader))
    }),
    row("the same with --exclusive, and all places of runs locked", &[], |lab| {
        let path = ours(lab);
        let reader = locked_by_a_reader(&path, &(0..400).collect::<Vec<_>>())?;
        Some(Made { options: "--exclusive", ..file(&path) }.keeping(reader))
    }),
    row(
        "file that a killed run was writing, another copied over it, with -c, as in a script that is started again",
        &["was being written by a run"],
        |lab| {
            let path = killed(lab, "");
            write(&path, 0, &noise(MIB as usize));
            Some(Made { options: "-c1M", ..file(&path) })
        },
    ),
    row(
        "file of ours that a killed run was writing with random data",
        &["random write data (-Zr, -Z<size>) looks like any other data"],
        |lab| Some(file(&killed(lab, "-Zr -r -o32"))),
    ),
    row(
        "file that a killed -c left unfinished",
        &["was being made by a run of TrueSpd that was killed", "repeat the command line that made it"],
        |lab| Some(file(&half_made(lab, b""))),
    ),
    row("the same with that -c again", &[], |lab| {
        Some(Made { options: "-c1M", ..file(&half_made(lab, b"")) })
    }),
    row(
        "the same with another file copied into it",
        &["was being made by a run of TrueSpd that was killed", "-c would replace it"],
        |lab| Some(Made { options: "-c1M", ..file(&half_made(lab, b"somebody's thesis")) }),
    ),
    row("file of ours with another file copied into it", &["something else wrote to it since"], |lab| {
        let path = ours(lab);
        fs::write(&path, vec![3; MIB as usize]).expect("writable");
        Some(file(&path))
    }),
    row("the same, its old times restored", &["something else wrote to it since"], |lab| {
        let path = ours(lab);
        fs::write(&path, vec![3; MIB as usize]).expect("writable");
        let then = std::time::SystemTime::now() - std::time::Duration::from_secs(86_400);
        File::options().write(true).open(&path).and_then(|f| f.set_modified(then)).expect("its owner may");
        Some(file(&path))
    }),
    row(
        "file of ours, written in place and its time set back (touch -r)",
        &["something else wrote to it since"],
        |lab| {
            let path = ours(lab);
            let reference = lab.write("reference", b"");
            run("touch", &["-r", text(&path), text(&reference)]);
            write(&path, 500_000, b"somebody's thesis");
            run("touch", &["-r", text(&reference), text(&path)]);
            Some(file(&path))
        },
    ),
    row(
        "file of ours on ext4 with small inodes, written in the second in which its run ended",
        &["something else wrote to it since"],
        |lab| written_in_the_same_second(lab, "mkfs.ext4", &["-q", "-I", "128"]),
    ),
    row("the same on ext2", &["something else wrote to it since"], |lab| {
        written_in_the_same_second(lab, "mkfs.ext2", &["-q"])
    }),
    row(
        "file of ours on tmpfs, a page of it written through a memory map",
        &["something else wrote to it since"],
        |lab| Some(written_by_map(lab, Mount::new(&["-t", "tmpfs", "none"]))),
    ),
    row("the same on overlayfs over tmpfs", &["something else wrote to it since"], |lab| {
        let below = Mount::new(&["-t", "tmpfs", "none"]);
        symlink(&below.point, lab.path("below")).expect("a link");
        for name in ["lower", "upper", "work"] {
            fs::create_dir(below.point.join(name)).expect("room");
        }
        let at = |name: &str| lab.path("below").join(name).display().to_string();
        let places = format!("lowerdir={},upperdir={},workdir={}", at("lower"), at("upper"), at("work"));
        let mount = Mount::new(&["-t", "overlay", "none", "-o", &places]);
        Some(written_by_map(lab, mount).keeping(below))
    }),
    row("file of ours with random data, after chmod and mv", &[], |lab| {
        lab.run("-c1M -Zr -w100 -d1 -W0 -b4K -g64 ours").expect_code(0);
        let (path, moved) = (lab.path("ours"), lab.path("moved"));
        run("chmod", &["640", text(&path)]);
        run("mv", &[text(&path), text(&moved)]);
        Some(file(&moved))
    }),
    row("copy of a file of ours with its mark (cp -a)", &[], |lab| Some(file(&copied(lab)))),
    row("the same, changed since", &["something else wrote to it since"], |lab| {
        let path = copied(lab);
        write(&path, 500_000, b"somebody's thesis");
        Some(file(&path))
    }),
    row(
        "file of ours with a mark in the state folder that another user may have put there",
        &["its mark", "is ignored: it belongs to another user"],
        |lab| {
            let mount = Mount::new(&["-t", "ramfs", "none"]);
            let path = mount.point.join("data");
            fs::write(&path, vec![7; MIB as usize]).expect("room");
            let marks = Marks::with_registry(&registry(lab));
            let place = marks.mark(&File::open(&path).expect("it is there"), MarkState::Complete);
            let Ok(MarkPlace::Registry(entry)) = place else {
                not_run(Need::NoAttributes);
                return None;
            };
            std::os::unix::fs::chown(&entry, Some(65_534), None).expect("root may");
            // Words are split at blanks, and the mount point has one.
            symlink(&path, lab.path("marked")).expect("a link");
            Some(Made { target: "marked".into(), ..file(&path) }.keeping(mount))
        },
    ),
    row(
        "file of ours, when another program wrote to another part of it during a run",
        &["something else wrote to it since"],
        |lab| {
            let path = ours(lab);
            let mut running = lab.start("-d600 -W0 -b4K -w100 -B512K -v -P1 ours");
            running.wait_for_ios();
            write(&path, 100_000, b"somebody's thesis");
            assert!(running.is_running());
            running.signal(rustix::process::Signal::INT);
            let ran = running.finish();
            let says = in_one_line(&ran.stderr);
            assert!(says.contains("wrote to it during the run, outside of the tested range"), "{ran}");
            Some(file(&path))
        },
    ),
    row(
        "file of ours, when another program wrote to a third part while two runs wrote theirs",
        &["something else wrote to it since"],
        |lab| {
            let path = ours(lab);
            let runs = ["-f256K", "-B768K"].map(|part| {
                let run = lab.start(&format!("-d600 -W0 -b4K -w100 -v -P1 {part} ours"));
                run.wait_for_ios();
                run
            });
            write(&path, 500_000, b"somebody's thesis");
            for run in runs {
                run.signal(rustix::process::Signal::INT);
                run.finish().expect_code(0).says(&["outside of the tested range"]);
            }
            Some(file(&path))
        },
    ),
    row(
        "part of a file of ours that another program wrote while a run still writes another part",
        &["something else wrote to it since"],
        |lab| {
            let path = ours(lab);
            let first = lab.start("-d600 -W0 -b4K -w100 -f256K -v -P1 ours");
            first.wait_for_ios();
            write(&path, 800_000, b"somebody's thesis");
            Some(Made { options: "-B512K", ..Made::at(&path) }.keeping(first))
        },
    ),
    row("file that truncate made", &["holds nothing, so it is taken without --overwrite"], |lab| {
        run("truncate", &["-s", "1G", text(&lab.path("hole"))]);
        Some(Made::at(&lab.path("hole")))
    }),
    row("file that fallocate made", &["holds nothing, so it is taken without --overwrite"], |lab| {
        run("fallocate", &["-l", "8M", text(&lab.path("unwritten"))]);
        Some(Made::at(&lab.path("unwritten")))
    }),
    row("file of zeros", &["holds nothing, so it is taken without --overwrite"], |lab| {
        Some(file(&lab.write("zeros", &vec![0; 8 * MIB as usize])))
    }),
    row("the same with one byte in it", &["was not made by TrueSpd", "truespd adopt"], |lab| {
        let path = lab.write("zeros", &vec![0; 8 * MIB as usize]);
        write(&path, 5_000_000, b"x");
        Some(file(&path))
    }),
    row("file of truncate that is the disk of a loop device", &["it is the file behind loop device"], |_| {
        let device = Loop::new(8 * MIB);
        Some(Made { target: device.image.clone(), ..Made::at(&device.node) }.keeping(device))
    }),
    row("file of somebody else that was adopted (truespd adopt)", &[], |lab| Some(file(&adopted(lab)))),
    row("the same, written by its owner since", &["something else wrote to it since"], |lab| {
        let path = adopted(lab);
        write(&path, 0, b"somebody's thesis");
        Some(file(&path))
    }),
    row("file of ours that grew", &["something else changed its size since"], |lab| {
        let path = ours(lab);
        write(&path, MIB, b"appended");
        Some(file(&path))
    }),
    row("file that another program has open for writing", &["has it open for writing"], |lab| {
        let path = foreign(lab);
        let writer = File::options().write(true).open(&path).expect("writable");
        Some(file(&path).keeping(writer))
    }),
    row("file of ours that another program has open for writing", &["has it open for writing"], |lab| {
        let path = ours(lab);
        let writer = File::options().write(true).open(&path).expect("writable");
        Some(file(&path).keeping(writer))
    }),
    row(
        "file of ours that a program of another user has open for writing",
        &["another program has it open for writing; only root can see which one"],
        |lab| {
            let path = ours(lab);
            lab.give_to(NOBODY);
            let writer = File::options().write(true).open(&path).expect("root may");
            Some(Made { behind: WITHOUT_ROOT.to_vec(), ..file(&path) }.keeping(writer))
        },
    ),
    row(
        "the same where processes of others are hidden (hidepid)",
        &["another program has it open for writing; only root can see which one"],
        |lab| {
            let path = ours(lab);
            lab.give_to(NOBODY);
            let writer = File::options().write(true).open(&path).expect("root may");
            Some(Made { behind: HIDDEN.to_vec(), ..file(&path) }.keeping(writer))
        },
    ),
    row(
        "file of zeros of another user that anybody may write, open for writing, by a user without root",
        &[OTHERS_SAY, "run the test as root or as the owner of the file", "add --unchecked"],
        |lab| {
            let path = for_all(lab, &vec![0; MIB as usize]);
            let writer = File::options().write(true).open(&path).expect("writable");
            Some(Made { behind: WITHOUT_ROOT.to_vec(), ..file(&path) }.keeping(writer))
        },
    ),
    row("the same with --unchecked", &[], |lab| {
        let path = for_all(lab, &vec![0; MIB as usize]);
        let behind = WITHOUT_ROOT.to_vec();
        Some(Made { target: "shared".into(), options: "--unchecked shared", behind, ..file(&path) })
    }),
    row("file of another user, tested without root, mapped", &[OTHERS_SAY, "add --unchecked"], |lab| {
        let path = for_all(lab, &vec![0; MIB as usize]);
        let mapped = Mapped::new(&path);
        Some(Made { behind: WITHOUT_ROOT.to_vec(), ..file(&path) }.keeping(mapped))
    }),
    row("file of ours that belongs to another user, by a user without root", &[OTHERS_SAY], |lab| {
        let path = ours(lab);
        lab.give_to(NOBODY);
        std::os::unix::fs::chown(&path, Some(0), Some(0)).expect("root may");
        run("chmod", &["666", text(&path)]);
        Some(Made { behind: WITHOUT_ROOT.to_vec(), ..file(&path) })
    }),
    row(
        "file of ours, its processes in another container",
        &["from inside this container it cannot be seen"],
        |lab| {
            let path = ours(lab);
            let writer = File::options().write(true).open(&path).expect("writable");
            Some(Made { behind: CONTAINER.to_vec(), ..file(&path) }.keeping(writer))
        },
    ),
    row(
        "file of ours that is mapped for writing, its descriptor closed",
        &["it may be a memory map whose file was closed"],
        |lab| {
            let path = ours(lab);
            Some(file(&path).keeping(Mapped::new(&path)))
        },
    ),
    row("file of ours, without /proc and /sys", &[], |lab| {
        Some(Made { behind: BLIND.to_vec(), ..file(&ours(lab)) })
    }),
    row(
        "file behind a mounted loop device, without /proc and /sys",
        &["it is the file behind loop device"],
        |_| {
            let made = formatted("mkfs.ext4", &["-q"], 8 * MIB)?;
            let image = made.bytes.clone()?;
            let mount = Mount::new(&["-o", "ro", text(&made.target)]);
            Some(Made { behind: BLIND.to_vec(), ..moved(in_front(made, mount), &image) })
        },
    ),
    row(
        "file of ours whose descriptor is on its way through a socket",
        &["another program has it open for writing; no process shows it"],
        |lab| {
            let path = ours(lab);
            let sender = sends_descriptor(&path)?;
            Some(file(&path).keeping(sender))
        },
    ),
    row("file behind a loop device", &["it is the file behind loop device"], |_| {
        let device = Loop::new(8 * MIB);
        Some(Made { target: device.image.clone(), ..Made::at(&device.node) }.keeping(device))
    }),
    row(
        "file behind a loop device that is mounted",
        &["it is the file behind loop device", "is mounted at"],
        |_| {
            let made = formatted("mkfs.ext4", &["-q"], 8 * MIB)?;
            let image = made.bytes.clone()?;
            let mount = Mount::new(&[text(&made.target)]);
            Some(moved(in_front(made, mount), &image))
        },
    ),
    row(
        "file behind a loop device that is mounted, by its path through overlayfs",
        &["it is the file behind loop device", "is mounted at"],
        |lab| {
            let (overlay, upper) = on_overlay(lab, true)?;
            let (mount, device) = mounted_image(&upper, &[])?;
            let target = overlay.point.join("data");
            Some(file(&target).keeping(mount).keeping(device).keeping(overlay))
        },
    ),
    row(
        "the same by a second overlayfs over the same layer",
        &["it is the file behind loop device", "is mounted at"],
        |lab| {
            let (first, upper) = on_overlay(lab, true)?;
            fs::create_dir(lab.path("second")).expect("a folder");
            for layer in ["lower", "upper"] {
                symlink(lab.path(layer), lab.path("second").join(layer)).expect("a link");
            }
            let second = Mount::by_overlay(&lab.path("second"), true)?;
            File::create(&upper).expect("a file");
            let (mount, device) = mounted_image(&first.point.join("data"), &[])?;
            let target = second.point.join("data");
            Some(file(&target).keeping(mount).keeping(device).keeping(second).keeping(first))
        },
    ),
    row(
        "file of the layer, its path through overlayfs behind a read-only loop device",
        &["it is the file behind loop device", "(read-only)", "is mounted at"],
        |lab| {
            let (overlay, upper) = on_overlay(lab, true)?;
            File::create(&upper).expect("a file");
            let (mount, device) = mounted_image(&overlay.point.join("data"), &["--read-only"])?;
            Some(file(&upper).keeping(mount).keeping(device).keeping(overlay))
        },
    ),
    row(
        "loop device over it, another one over its path through overlayfs mounted",
        &["has the same file behind it and is in use"],
        |lab| {
            let (overlay, upper) = on_overlay(lab, true)?;
            File::create(&upper).expect("a file");
            let (mount, device) = mounted_image(&overlay.point.join("data"), &["--read-only"])?;
            let second = Loop::over(&upper);
            let made = Made::at(&second.node).with_bytes(&upper).keeping(second);
            Some(made.keeping(mount).keeping(device).keeping(overlay))
        },
    ),
    row(
        "file of zeros on overlayfs, its file in the layer open for writing",
        &["has it open for writing"],
        |lab| {
            let (overlay, upper) = on_overlay(lab, true)?;
            fs::write(&upper, vec![0; MIB as usize]).expect("room");
            let writer = File::options().write(true).open(&upper).expect("writable");
            Some(file(&overlay.point.join("data")).keeping(writer).keeping(overlay))
        },
    ),
    row("the same, its file in the layer mapped", &["it may be a memory map whose file was closed"], |lab| {
        let (overlay, upper) = on_overlay(lab, true)?;
        fs::write(&upper, vec![0; MIB as usize]).expect("room");
        let mapped = Mapped::new(&upper);
        Some(file(&overlay.point.join("data")).keeping(mapped).keeping(overlay))
    }),
    row("file of somebody else on overlayfs", &["was not made by TrueSpd"], |lab| {
        let (overlay, upper) = on_overlay(lab, true)?;
        fs::write(&upper, vec![7; MIB as usize]).expect("room");
        Some(file(&overlay.point.join("data")).keeping(overlay))
    }),
    row("file of a lower layer, which a write copies", &["was not made by TrueSpd"], |lab| {
        let (overlay, _) = on_overlay(lab, true)?;
        drop(overlay);
        fs::write(lab.path("lower/data"), vec![7; MIB as usize]).expect("room");
        let (overlay, _) = on_overlay(lab, true)?;
        Some(file(&overlay.point.join("data")).keeping(overlay))
    }),
    row(
        "file of somebody else on overlayfs, its layer not to be found from here",
        &["who else uses its data is not known: overlayfs keeps it in", "add --unchecked"],
        |lab| {
            let (overlay, upper) = on_overlay(lab, false)?;
            fs::write(&upper, vec![7; MIB as usize]).expect("room");
            Some(file(&overlay.point.join("data")).keeping(overlay))
        },
    ),
    row("file of zeros there", &[ELSEWHERE, "add --unchecked"], |lab| {
        let (overlay, upper) = on_overlay(lab, false)?;
        fs::write(&upper, vec![0; MIB as usize]).expect("room");
        Some(file(&overlay.point.join("data")).keeping(overlay))
    }),
    row("empty file there, with -c1M", &[ELSEWHERE, "add --unchecked"], |lab| {
        let (overlay, upper) = on_overlay(lab, false)?;
        fs::write(&upper, "").expect("room");
        Some(Made { options: "-c1M", ..file(&overlay.point.join("data")) }.keeping(overlay))
    }),
    row("file of ours there", &[BELOW_SAYS], |lab| {
        let (overlay, _) = ours_in_container(lab, "")?;
        Some(file(&overlay.point.join("data")).keeping(overlay))
    }),
    row("the same with random data, after the container was started again", &[BELOW_SAYS], |lab| {
        let (overlay, _) = ours_in_container(lab, "-Zr -w100")?;
        drop(overlay);
        let (overlay, _) = on_overlay(lab, false)?;
        Some(file(&overlay.point.join("data")).keeping(overlay))
    }),
    row("file that a killed -c left unfinished there, with that -c again", &[], |lab| {
        let (overlay, _) = on_overlay(lab, false)?;
        let target = half_made_at(lab, overlay.point.join("data"), b"");
        Some(Made { options: "-c1M", ..file(&target) }.keeping(overlay))
    }),
    row(
        "the same with another file copied into it",
        &["was being made by a run of TrueSpd that was killed", ELSEWHERE],
        |lab| {
            let (overlay, _) = on_overlay(lab, false)?;
            let target = half_made_at(lab, overlay.point.join("data"), b"somebody's thesis");
            Some(Made { options: "-c1M", ..file(&target) }.keeping(overlay))
        },
    ),
    row(
        "file of ours there, its file in the layer written since",
        &["something else wrote to it since", ELSEWHERE],
        |lab| {
            let (overlay, upper) = ours_in_container(lab, "")?;
            write(&upper, 500_000, b"somebody's thesis");
            Some(file(&overlay.point.join("data")).keeping(overlay))
        },
    ),
    row(
        "the same through a loop device that is gone again",
        &["something else wrote to it since", ELSEWHERE],
        |lab| {
            let (overlay, upper) = ours_in_container(lab, "")?;
            let device = Loop::over(&upper);
            write(&device.node, 500_000, b"somebody's thesis");
            drop(device);
            Some(file(&overlay.point.join("data")).keeping(overlay))
        },
    ),
    row("the same by a memory map", &["something else wrote to it since", ELSEWHERE], |lab| {
        let (overlay, upper) = ours_in_container(lab, "")?;
        Mapped::new(&upper).write(b"somebody's thesis");
        Some(file(&overlay.point.join("data")).keeping(overlay))
    }),
    row("active swap file", &["it is in use as swap"], |_| {
        let made = formatted("mkfs.ext4", &["-q"], 32 * MIB)?;
        let mount = Mount::new(&[text(&made.target)]);
        let path = mount.point.join("swapfile");
        fs::write(&path, vec![0; 8 * MIB as usize]).expect("room");
        run("chmod", &["600", text(&path)]);
        run("mkswap", &[text(&path)]);
        let swap = Swap::new(&path);
        // Dropped in this order.
        Some(moved(in_front(in_front(Made { bytes: None, ..made }, mount), swap), &path))
    }),
    row("immutable file", &["it is marked immutable (chattr +i)"], |lab| locked(lab, "+i")),
    row("append-only file", &["it is marked append-only (chattr +a)"], |lab| locked(lab, "+a")),
    row("running program", &["was not made by TrueSpd"], |lab| {
        let path = lab.path("program");
        copy_to_run(Path::new("/bin/sleep"), &path);
        let child = Command::new(&path).arg("100").stdin(Stdio::null()).spawn().expect("it starts");
        Some(file(&path).keeping(Killed(child)))
    }),
    row("control of the kernel", &["where files are controls of the kernel"], |_| {
        Some(Made::at(Path::new("/proc/self/comm")))
    }),
];

/// Memory with a descriptor, as virtual machines and browsers share it.
fn memory() -> File {
    let memory = rustix::fs::memfd_create("guest", rustix::fs::MemfdFlags::CLOEXEC).expect("memory");
    let memory = File::from(memory);
    memory.set_len(MIB).expect("room");
    memory
}

/// The path of what this process has open.
fn open_path(file: &File) -> std::path::PathBuf {
    let number = std::os::fd::AsRawFd::as_raw_fd(file);
    format!("/proc/{}/fd/{number}", std::process::id()).into()
}

/// A link of another user to a file of zeros; with `-c` to an empty one.
fn of_another(lab: &Lab, name: &str, options: &'static str) -> Made {
    let bytes = if options.is_empty() { MIB as usize } else { 0 };
    let path = lab.write("meant", &vec![0; bytes]);
    symlink("meant", lab.path(name)).expect("a link");
    lchown(lab.path(name), Some(NOBODY), None).expect("root may");
    Made { target: name.into(), options, ..file(&path) }
}

pub const BELOW_SAYS: &str = "programs that use the file in the layer below may write it";

const OTHERS_SAY: &str =
    "whether a program of another user or container has it open for writing is not known";

/// A file of root in a folder of another user, which everybody may write.
fn for_all(lab: &Lab, bytes: &[u8]) -> std::path::PathBuf {
    lab.give_to(NOBODY);
    let path = lab.write("shared", bytes);
    run("chmod", &["666", text(&path)]);
    path
}

const CONTAINER: &[&str] = &["unshare", "--mount", "--pid", "--fork", "--mount-proc"];

const HIDDEN: &[&str] = &[
    "unshare",
    "--mount",
    "--pid",
    "--fork",
    "sh",
    "-c",
    "mount -t proc -o hidepid=2 proc /proc && exec setpriv --reuid=65534 --regid=65534 --clear-groups \"$@\"",
    "sh",
];

fn copied(lab: &Lab) -> std::path::PathBuf {
    lab.run("-c1M -Zr -w100 -d1 -W0 -b4K -g64 ours").expect_code(0);
    run("cp", &["-a", text(&lab.path("ours")), text(&lab.path("copy"))]);
    lab.path("copy")
}

/// A program that has the file open for writing by a descriptor that nobody has received yet.
fn sends_descriptor(path: &Path) -> Option<Killed> {
    const SEND: &str = "import os, socket, sys, time
file = os.open(sys.argv[1], os.O_WRONLY)
here, there = socket.socketpair()
socket.send_fds(here, [b'x'], [file])
os.close(file)
print(flush=True)
time.sleep(600)";
    has(&[Need::Tool("python3")]).then_some(())?;
    let mut sender =
        Command::new("python3").args(["-c", SEND]).arg(path).stdout(Stdio::piped()).spawn().expect("python3");
    let said = sender.stdout.take().expect("a pipe");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(said), &mut String::new())
        .expect("it has sent it");
    Some(Killed(sender))
}
