//! Files on file systems of programs (FUSE) that show folders of this machine: whoever uses the file below uses the
//! same bytes.

use std::fs::{self, File};

use super::made::{ELSEWHERE, Situation, row};
use super::made_files::BELOW_SAYS;
use super::makers::{
    MIB, Made, file, hide_below, in_front, mounted_image, moved, on_fuse, on_overlay, ours_in_container,
    write,
};
use crate::support::devices::{Loop, Mount, run, text};
use crate::support::needs::{Need, has};
use crate::support::program::Lab;

pub const SITUATIONS: &[Situation] = &[
    row("file of ours with random data, on FUSE", &[], |lab| on_fuse(lab, "-c80M", "-Zr")),
    row("the same, written in place", &["something else wrote to it since"], |lab| {
        let made = on_fuse(lab, "-c80M", "-Zr")?;
        run(
            "dd",
            &[
                "if=/dev/urandom",
                &format!("of={}", text(&made.target)),
                "bs=4k",
                "seek=1000",
                "count=1",
                "conv=notrunc",
            ],
        );
        Some(made)
    }),
    row("the same, written below it, its time set back", &["something else wrote to it since"], |lab| {
        let made = on_fuse(lab, "-c8M", "")?;
        let (below, reference) = (lab.path("below/data"), lab.write("reference", b""));
        run("touch", &["-r", text(&below), text(&reference)]);
        write(&below, 5_000_000, b"somebody's thesis");
        run("touch", &["-r", text(&reference), text(&below)]);
        Some(made)
    }),
    row("file of zeros on FUSE, its file below open for writing", &["has it open for writing"], |lab| {
        let made = on_fuse(lab, "-c1M", "")?;
        let below = lab.path("below/zeros");
        fs::write(&below, vec![0; MIB as usize]).expect("room");
        let writer = File::options().write(true).open(&below).expect("writable");
        let zeros = made.target.with_file_name("zeros");
        Some(Made { bytes: Some(below), ..moved(made, &zeros) }.keeping(writer))
    }),
    row(
        "loop device over a file on FUSE, another one over its file below mounted",
        &["has the same file behind it and is in use"],
        |lab| {
            let made = on_fuse(lab, "-c1M", "")?;
            let below = lab.path("below/image");
            let (mount, device) = mounted_image(&below, &[])?;
            let second = Loop::over(&made.target.with_file_name("image"));
            let target = second.node.clone();
            let made = Made { bytes: Some(below), ..moved(in_front(made, second), &target) };
            Some(in_front(in_front(made, device), mount))
        },
    ),
    row(
        "file on FUSE, its file below out of reach",
        &[ELSEWHERE, "the file is not to be found there", "add --unchecked"],
        |lab| {
            let made = on_fuse(lab, "-c1M", "")?;
            hide_below(lab);
            let zeros = made.target.with_file_name("zeros");
            fs::write(&zeros, vec![0; MIB as usize]).expect("room");
            Some(Made { bytes: Some(zeros.clone()), ..moved(made, &zeros) })
        },
    ),
    row("file below FUSE, open for writing through it", &["has it open for writing"], |lab| {
        let made = on_fuse(lab, "-c1M", "")?;
        let below = lab.path("below/zeros");
        fs::write(&below, vec![0; MIB as usize]).expect("room");
        let shown = made.target.with_file_name("zeros");
        let writer = File::options().write(true).open(shown).expect("writable");
        Some(in_front(Made { bytes: Some(below.clone()), ..moved(made, &below) }, writer))
    }),
    row("file on FUSE, the folder below renamed", &[ELSEWHERE, "add --unchecked"], |lab| {
        let made = on_fuse(lab, "-c1M", "")?;
        let zeros = made.target.with_file_name("zeros");
        fs::write(&zeros, vec![0; MIB as usize]).expect("room");
        fs::rename(lab.path("below"), lab.path("moved")).expect("a folder");
        Some(Made { bytes: Some(zeros.clone()), ..moved(made, &zeros) })
    }),
    row(
        "loop device over a file on FUSE, its file below out of reach",
        &[ELSEWHERE, "add --unchecked"],
        |lab| {
            let made = on_fuse(lab, "-c1M", "")?;
            hide_below(lab);
            let image = made.target.with_file_name("image");
            File::create(&image).and_then(|file| file.set_len(8 * MIB)).expect("room");
            let device = Loop::over(&image);
            let target = device.node.clone();
            Some(moved(in_front(made, device), &target))
        },
    ),
    row("file of ours of 60 MiB with random data, on a slow FUSE", &[], |lab| {
        has(&[Need::Fuse, Need::Tool("bindfs")]).then_some(())?;
        fs::create_dir(lab.path("below")).expect("a folder");
        let mount = Mount::by_program(&["bindfs", "--read-rate=60M", text(&lab.path("below"))]);
        let path = mount.point.join("data");
        lab.run(&format!("-c60M -d1 -W0 -b4K -g256 -r -w100 -Zr {}", text(&path))).expect_code(0);
        Some(file(&path).keeping(mount))
    }),
    row("file on mergerfs of two folders, its file below mounted", &["is mounted at"], |lab| {
        let merged = on_mergerfs(lab)?;
        let (mount, device) = mounted_image(&lab.path("first/image"), &[])?;
        Some(in_front(in_front(file(&merged.point.join("image")).keeping(merged), device), mount))
    }),
    row("file of zeros on mergerfs, its file below open for writing", &["has it open for writing"], |lab| {
        let merged = on_mergerfs(lab)?;
        let below = lab.write("second/zeros", &vec![0; MIB as usize]);
        let writer = File::options().write(true).open(&below).expect("writable");
        Some(in_front(file(&merged.point.join("zeros")).with_bytes(&below).keeping(merged), writer))
    }),
    row(
        "file of zeros on mergerfs that does not tell where its files are",
        &[ELSEWHERE, "add --unchecked"],
        |lab| {
            let merged = by_mergerfs(lab, "xattr=nosys")?;
            lab.write("second/zeros", &vec![0; MIB as usize]);
            Some(file(&merged.point.join("zeros")).keeping(merged))
        },
    ),
    row("file of ours in a container that a killed run was writing", &[BELOW_SAYS], |lab| {
        let (overlay, _) = ours_in_container(lab, "")?;
        let target = overlay.point.join("data");
        let running = lab.start(&format!("-d600 -W0 -b4K -w100 -v -P1 {}", text(&target)));
        running.wait_for_ios();
        drop(running);
        Some(file(&target).keeping(overlay))
    }),
    row("file of the layer, open for writing through overlayfs", &["has it open for writing"], |lab| {
        let (overlay, upper) = on_overlay(lab, true)?;
        fs::write(&upper, vec![0; MIB as usize]).expect("room");
        let writer = File::options().write(true).open(overlay.point.join("data")).expect("writable");
        Some(in_front(file(&upper).keeping(overlay), writer))
    }),
];

fn on_mergerfs(lab: &Lab) -> Option<Mount> {
    by_mergerfs(lab, "defaults")
}

/// The folders `first` and `second` of the laboratory as one.
fn by_mergerfs(lab: &Lab, options: &str) -> Option<Mount> {
    has(&[Need::Fuse, Need::Tool("mergerfs")]).then_some(())?;
    let folders = ["first", "second"].map(|name| lab.path(name));
    folders.iter().for_each(|folder| fs::create_dir(folder).expect("a folder"));
    let [first, second] = folders.each_ref().map(|folder| text(folder));
    Some(Mount::by_program(&["mergerfs", "-o", options, &format!("{first}:{second}")]))
}
