//! The situations whose target is a device.

use std::fs::File;

use super::made::{BLIND, NOBODY, Situation, WITHOUT_ROOT, row};
use super::makers::{
    MIB, Made, Mapped, TWO, device, disk, foreign, formatted, in_front, locked_by_a_reader,
    mounted_partition, moved, noise, ntfs, own_node, write,
};
use crate::support::devices::{Loop, Mount, Swap, Zram, run, text};
use crate::support::needs::{Need, has};

pub const SITUATIONS: &[Situation] = &[
    // What lies on a device.
    row("blank device", &[], |_| device(8 * MIB, &[])),
    row("ext4", &["it holds a file system of type ext4, label \"backup\""], |_| {
        formatted("mkfs.ext4", &["-q", "-L", "backup"], 8 * MIB)
    }),
    row("xfs", &["it holds a file system of type xfs"], |_| formatted("mkfs.xfs", &["-q"], 300 * MIB)),
    row("btrfs", &["it holds a file system of type btrfs"], |_| formatted("mkfs.btrfs", &["-q"], 128 * MIB)),
    row("FAT", &["it holds a file system of type vfat"], |_| formatted("mkfs.vfat", &[], 8 * MIB)),
    row("NTFS", &["it holds a file system of type ntfs"], |_| device(8 * MIB, &ntfs())),
    row("ISO 9660", &["it holds a file system of type iso9660"], |_| {
        device(8 * MIB, &[(0x8000, b"\x01CD001\x01".to_vec()), (0x8800, b"\xffCD001\x01".to_vec())])
    }),
    row("swap area", &["it holds a swap area"], |_| formatted("mkswap", &[], 8 * MIB)),
    row("LUKS", &["it holds a LUKS encrypted volume"], |_| {
        device(8 * MIB, &[(0, b"LUKS\xba\xbe\0\x01".to_vec())])
    }),
    row("LVM physical volume", &["it holds an LVM physical volume"], |_| {
        let label = [&b"LABELONE"[..], &1u64.to_le_bytes(), &[0; 4], &32u32.to_le_bytes(), b"LVM2 001"];
        device(8 * MIB, &[(512, label.concat())])
    }),
    row("md member", &["it holds a member of an md array"], |_| {
        let head = b"\xfc\x4e\x2b\xa9\x01\0\0\0".to_vec();
        device(8 * MIB, &[(4096, head), (4096 + 144, 8u64.to_le_bytes().to_vec())])
    }),
    row("ZFS member", &["it holds a member of a ZFS pool"], |_| {
        let slots = (0..128).map(|n| (128 * 1024 + n * 1024, b"\x0c\xb1\xba\0\0\0\0\0".to_vec()));
        device(80 * MIB, &slots.collect::<Vec<_>>())
    }),
    row("MBR table", &["it holds an MBR partition table"], |_| {
        disk("label: dos\nsize=4096\n", false).map(|(made, _)| made)
    }),
    row(
        "GPT table with file systems in its partitions",
        &[
            "it holds a GPT partition table",
            "EFI system, \"start\") holds nothing known",
            "Linux file system, \"files\") holds a file system of type ext4, label \"inner\"",
        ],
        |_| {
            let (made, nodes) = disk(TWO, true)?;
            has(&[Need::Tool("mkfs.ext4")])
                .then(|| run("mkfs.ext4", &["-q", "-L", "inner", text(&nodes[1])]))?;
            Some(made)
        },
    ),
    row(
        "only the second copy of a GPT, behind the tested range",
        &["it holds a GPT partition table"],
        |_| {
            let (mut made, _) = disk("label: gpt\n", false)?;
            write(&made.target, 0, &[0; 34 * 512]);
            made.options = "-B0:1M";
            Some(made)
        },
    ),
    row("data without a signature, as of plain dm-crypt", UNKNOWN, |_| {
        device(16 * MIB, &[(0, noise(16 * MIB as usize))])
    }),
    row("a little of it in the middle of a large device", UNKNOWN, |_| {
        device(512 * MIB, &[(200 * MIB, noise(32 * MIB as usize))])
    }),
    row("20 MiB of it in 8 GiB", UNKNOWN, |_| {
        let made = device(8192 * MIB, &[(5003 * MIB, noise(20 * MIB as usize))])?;
        Some(Made { bytes: None, ..made })
    }),
    row("8 KiB of it in 8 GiB, through two loop devices", UNKNOWN, |_| {
        let made = device(8192 * MIB, &[(5003 * MIB, noise(8192))])?;
        let above = Loop::over_with(&made.target, &["--offset", "1048576"]);
        let target = above.node.clone();
        Some(Made { bytes: None, ..moved(in_front(made, above), &target) })
    }),
    row("the same in a device whose file has no holes", UNKNOWN, |_| {
        // All of it is read in time on a busy machine, too.
        let made = device(100 * MIB, &[])?;
        let zeros = vec![0; 4 * MIB as usize];
        for part in 0..25 {
            write(&made.target, part * 4 * MIB, &zeros);
        }
        write(&made.target, 37 * MIB + 65536, &noise(8192));
        Some(Made { bytes: None, ..made })
    }),
    row("20 MiB of it in 8 GiB of zram", &["it holds data of an unknown kind", "its driver keeps"], |_| {
        let device = Zram::new(8192 * MIB)?;
        write(&device.node, 5003 * MIB, &noise(20 * MIB as usize));
        Some(Made::at(&device.node).keeping(device))
    }),
    row("1 MiB of it in which every byte is the same, in 8 GiB of zram", UNKNOWN, |_| {
        let device = Zram::new(8192 * MIB)?;
        write(&device.node, 5003 * MIB, &vec![0xaa; MIB as usize]);
        Some(Made::at(&device.node).keeping(device))
    }),
    row("1 MiB of it that is all of the tested range", UNKNOWN, |_| {
        let made = device(512 * MIB, &[(301 * MIB, noise(MIB as usize))])?;
        Some(Made { options: "-B301M -f302M", ..made })
    }),
    row("the same where a long tested range ends", UNKNOWN, |_| {
        let made = device(512 * MIB, &[(301 * MIB, noise(MIB as usize))])?;
        Some(Made { options: "-B102M -f302M", ..made })
    }),
    row("one byte in the last sector", UNKNOWN, |_| device(64 * MIB, &[(64 * MIB - 1, vec![1])])),
    row("ext4 without its first blocks", UNKNOWN, |_| {
        let made = formatted("mkfs.ext4", &["-q"], 64 * MIB)?;
        write(&made.target, 0, &[0; 8192]);
        Some(made)
    }),
    row("device that an earlier test wrote", &["perhaps from an earlier test"], |lab| {
        let made = device(8 * MIB, &[])?;
        lab.run(&format!("-d1 -W0 -b4K -g64 -w100 {}", text(&made.target))).expect_code(0);
        Some(made)
    }),
    row(
        "loop device over a file of somebody else",
        &["it holds data of an unknown kind", "it is built on the file", "was not made by TrueSpd"],
        |lab| {
            let above = Loop::over(&foreign(lab));
            Some(Made::at(&above.node).with_bytes(&above.image).keeping(above))
        },
    ),
    row("after wipefs, which leaves all but the signature", UNKNOWN, |_| {
        let made = formatted("mkfs.ext4", &["-q"], 8 * MIB)?;
        run("wipefs", &["--all", "--quiet", text(&made.target)]);
        Some(made)
    }),
    // Partitions.
    row("blank partition", &[], |_| disk(TWO, true).map(|(made, nodes)| moved(made, &nodes[0]))),
    row(
        "blank partition that holds a boot loader by its type",
        &["it has the type BIOS boot, and such partitions hold data without a signature"],
        |_| {
            let (made, nodes) =
                disk("label: gpt\nsize=4096, type=21686148-6449-6E6F-744E-656564454649\n", true)?;
            Some(moved(made, &nodes[0]))
        },
    ),
    row("partition of a disk that is an LVM physical volume", &["holds an LVM physical volume"], |_| {
        let label = [&b"LABELONE"[..], &1u64.to_le_bytes(), &[0; 4], &32u32.to_le_bytes(), b"LVM2 001"];
        let (made, nodes) = disk("label: dos\nstart=2048, size=4096\n", true)?;
        write(&made.target, 512, &label.concat());
        Some(moved(made, &nodes[0]))
    }),
    row(
        "partition, its disk named after --overwrite",
        &["holds a file system", "is not a target of this run"],
        |_| {
            let (made, nodes) = disk(TWO, true)?;
            run("mkswap", &[text(&nodes[0])]);
            has(&[Need::Tool("mkfs.ext4")]).then(|| run("mkfs.ext4", &["-q", "-F", text(&nodes[0])]))?;
            let whole = made.target.clone();
            Some(Made { again: Some(whole), ..moved(made, &nodes[0]) })
        },
    ),
    row("mounted partition", &["it is mounted at"], |_| {
        mounted_partition().map(|(made, nodes)| moved(made, &nodes[0]))
    }),
    row("disk of a mounted partition", &["its partition", "is mounted at"], |_| {
        mounted_partition().map(|(made, _)| made)
    }),
    row("blank neighbour of a mounted partition", &[], |_| {
        mounted_partition().map(|(made, nodes)| moved(made, &nodes[1]))
    }),
    // In use.
    row("mounted device", &["it is mounted at", "it holds a file system of type ext4"], |_| {
        let made = formatted("mkfs.ext4", &["-q"], 8 * MIB)?;
        let mount = Mount::new(&[text(&made.target)]);
        Some(in_front(made, mount))
    }),
    row("device mounted in two places", &["  1. it is mounted at", "  2. it is mounted at"], |_| {
        let made = formatted("mkfs.ext4", &["-q"], 8 * MIB)?;
        let first = Mount::new(&[text(&made.target)]);
        let second = Mount::new(&["--bind", text(&first.point)]);
        Some(in_front(in_front(made, first), second))
    }),
    row("second device of a mounted btrfs", &["btrfs file system mounted at"], |_| {
        has(&[Need::Tool("mkfs.btrfs")]).then_some(())?;
        let (first, second) = (Loop::new(128 * MIB), Loop::new(128 * MIB));
        run("mkfs.btrfs", &["-q", "-d", "single", "-m", "raid1", text(&first.node), text(&second.node)]);
        let devices = format!("device={},device={}", first.node.display(), second.node.display());
        let mount = Mount::new(&["-o", &devices, text(&first.node)]);
        Some(Made::at(&second.node).keeping(mount).keeping(first).keeping(second))
    }),
    row("log device of a mounted xfs", &["it is used by the file system mounted at"], |_| {
        has(&[Need::Tool("mkfs.xfs")]).then_some(())?;
        let (data, log) = (Loop::new(300 * MIB), Loop::new(64 * MIB));
        let log_option = format!("logdev={}", log.node.display());
        run("mkfs.xfs", &["-q", "-l", &log_option, text(&data.node)]);
        let mount = Mount::new(&["-o", &log_option, text(&data.node)]);
        Some(Made::at(&log.node).keeping(mount).keeping(data).keeping(log))
    }),
    row("active swap device", &["it is in use as swap", "the running system"], |_| {
        let made = formatted("mkswap", &[], 8 * MIB)?;
        let swap = Swap::new(&made.target);
        // The kernel may swap to it.
        Some(in_front(Made { bytes: None, ..made }, swap))
    }),
    row(
        "device under a loop device that is mounted",
        &["is built on it and is in use", "is mounted at"],
        |_| {
            let made = formatted("mkfs.ext4", &["-q"], 8 * MIB)?;
            let above = Loop::over(&made.target);
            let mount = Mount::new(&[text(&above.node)]);
            Some(in_front(in_front(made, above), mount))
        },
    ),
    row(
        "loop device over a device that is mounted",
        &["which it is built on, is in use", "is mounted at"],
        |_| {
            let made = formatted("mkfs.ext4", &["-q"], 8 * MIB)?;
            let above = Loop::over(&made.target);
            let mount = Mount::new(&[text(&made.target)]);
            let target = above.node.clone();
            Some(moved(in_front(in_front(made, above), mount), &target))
        },
    ),
    row(
        "second loop device on the file of a mounted one",
        &["has the same file behind it and is in use"],
        |_| {
            let made = formatted("mkfs.ext4", &["-q"], 8 * MIB)?;
            let image = made.bytes.clone()?;
            let second = Loop::over(&image);
            let mount = Mount::new(&[text(&made.target)]);
            let target = second.node.clone();
            Some(moved(in_front(in_front(made, second), mount), &target))
        },
    ),
    row("device that a program holds for itself", &["opened it exclusively"], |_| {
        let made = device(8 * MIB, &[])?;
        let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::EXCL | rustix::fs::OFlags::CLOEXEC;
        let held = rustix::fs::open(&made.target, flags, rustix::fs::Mode::empty()).expect("free");
        Some(in_front(made, held))
    }),
    row(
        "the same, locked as by a run by a user who may only read it",
        &["it is in exclusive use, and the kernel does not tell by what"],
        |_| {
            let made = device(8 * MIB, &[])?;
            let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::EXCL | rustix::fs::OFlags::CLOEXEC;
            let held = rustix::fs::open(&made.target, flags, rustix::fs::Mode::empty()).expect("free");
            let reader = locked_by_a_reader(&made.target, &[0, 1])?;
            Some(in_front(in_front(made, held), reader))
        },
    ),
    row("device that another program writes", &["has it open for writing"], |_| {
        let made = device(8 * MIB, &[])?;
        let writer = File::options().write(true).open(&made.target).expect("a device");
        Some(in_front(made, writer))
    }),
    row(
        "device that another program has mapped, its descriptor closed",
        &["has it mapped, and so open for writing"],
        |_| {
            let made = device(8 * MIB, &[])?;
            let mapped = Mapped::new(&made.target);
            Some(in_front(made, mapped))
        },
    ),
    row("write-protected device", &["write-protected"], |_| {
        let device = Loop::with_options(8 * MIB, &["--read-only"]);
        Some(Made::at(&device.node).keeping(device))
    }),
    row("blank device, by a user without root", &["programs of other users may write it"], |lab| {
        let made = device(8 * MIB, &[])?;
        let node = own_node(&made.target, lab);
        lab.give_to(NOBODY);
        Some(Made { behind: WITHOUT_ROOT.to_vec(), ..moved(made, &node) })
    }),
    row("blank device, in a chroot without /proc and /sys", BLIND_SAYS, |_| {
        Some(Made { behind: BLIND.to_vec(), ..device(8 * MIB, &[])? })
    }),
    row("the same under a mask over /sys/block", BLIND_SAYS, |_| {
        Some(Made { behind: MASKED.to_vec(), ..device(8 * MIB, &[])? })
    }),
    row("mounted device, in a chroot without /proc and /sys", &["it is in exclusive use"], |_| {
        let made = formatted("mkfs.ext4", &["-q"], 8 * MIB)?;
        let mount = Mount::new(&["-o", "ro", text(&made.target)]);
        Some(Made { behind: BLIND.to_vec(), ..in_front(made, mount) })
    }),
];

const UNKNOWN: &[&str] = &["it holds data of an unknown kind", "perhaps from an earlier test"];

const BLIND_SAYS: &[&str] = &["may be in use, and this cannot be checked here", "add --unchecked"];

const MASKED: &[&str] =
    &["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /sys/block && exec \"$@\"", "sh"];
