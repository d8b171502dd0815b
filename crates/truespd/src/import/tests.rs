//! Whole job files.

use proptest::prelude::*;

use super::keys::{Flush, Key, all};
use super::{Kind, NoJobFile, Outside, Run, import};

fn read(text: &str) -> Result<Vec<Run>, NoJobFile> {
    read_with(text, false)
}

fn read_with(text: &str, is_lossy: bool) -> Result<Vec<Run>, NoJobFile> {
    let outside = Outside {
        include: &|_, _| Err("none".into()),
        variable: &|_| None,
        size: &|path| (path == "/dev/there").then_some(100 << 20),
    };
    import("job.fio", text, &outside, is_lossy)
}

/// The lines of a job file, and its remarks in words, a line each.
fn said(text: &str) -> (Vec<String>, String) {
    said_with(text, false)
}

fn said_with(text: &str, is_lossy: bool) -> (Vec<String>, String) {
    let runs = read_with(text, is_lossy).expect(text);
    let lines = runs.iter().map(|run| run.line().map_or_else(|| "none".to_string(), |words| words.join(" ")));
    let remarks = runs.iter().flat_map(|run| &run.remarks).map(|(_, remark)| {
        let line = remark.at.as_ref().map_or(0, |at| at.line);
        format!("{:?} {line} {}: {}\n", remark.kind, remark.typed, remark.why)
    });
    (lines.collect(), remarks.collect())
}

#[test]
fn jobs_become_lines() {
    for (text, line) in [
        (
            "[a]\nfilename=/dev/sdz\nrw=randread\nbs=4k\niodepth=32\nioengine=io_uring\ndirect=1\nruntime=60\ntime_based\nramp_time=5",
            "-b4K -r -w0 -Su -o32 -t1 -d60 -W5 -n -L --engine io_uring /dev/sdz",
        ),
        (
            "[a]\nfilename=/dev/sdz\nrw=randrw\nrwmixread=70\nbs=8k\nnumjobs=4\nioengine=libaio\niodepth=8\nbuffered=0\nruntime=2m\nsize=1g\noffset=1g",
            "-b8K -r -w30 -Su -Z1M -o8 -t4 -B1G -f2G -d120 -W0 -n -L --engine libaio /dev/sdz",
        ),
        (
            "[w]\nrw=write\nbs=1m\nsize=1g\nnumjobs=2\ndirectory=/mnt/x\nruntime=10\nsync=dsync\ndirect=1\nrefill_buffers",
            "-b1M -w100 -Sh -o1 -t1 -c1G -d10 -W0 -Zr -n -L --engine psync /mnt/x/w.0.0 /mnt/x/w.1.0",
        ),
        (
            "[m]\nfilename=a:b\nrw=randread\nsize=2g\nnumjobs=3\niodepth=16\nioengine=libaio\nruntime=9\ndirect=1",
            "-b4K -r -w0 -Su -c1G -F3 -O16 -d9 -W0 -n -L --engine libaio a b",
        ),
        (
            "[s]\nfilename=f\nfilesize=1g\nsize=50%\nrw=read:60k\nbs=4k\nruntime=9\nioengine=mmap",
            "-b4K -s64K -w0 -Sm -o1 -t1 -f512M -c1G -d9 -W0 -n -L f",
        ),
        (
            "[d]\nfilename=f\nsize=1g\nrw=randread\nrandom_distribution=zoned:80/10:20/\nrandseed=7\ncpus_allowed=0-3,8\ncpus_allowed_policy=split\nruntime=500ms\nblockalign=8k\nrate_iops=100\nrate_process=poisson",
            "-b4K -r8K -rdpct80/10 -w0 -g100i --arrivals poisson -o1 -t1 -c1G -d1 -W0 -z7 -a0-3,8 -L --engine psync f",
        ),
        (
            "[t]\nfilename=-f\nsize=16m\nrw=write\nzero_buffers\nthinktime=2000\nthinktime_blocks=4\nrandrepeat=0\ngtod_reduce=1\nruntime=1",
            "-b4K -w100 -Z -i4 -j2 -o1 -t1 -c16M -d1 -W0 -z -n --engine psync ./-f",
        ),
        (
            "[k]\nkb_base=1000\nfilename=f\nsize=1mib\nbs=4kib\nruntime=1\nhipri\nioengine=io_uring\ndirect=1",
            "-b4K -w0 -Su -o1 -t1 -c1M -d1 -W0 -n -L --engine io_uring_poll f",
        ),
        (
            "[/dev/sdz]\nioengine=aio\nrate=1m\nruntime=1\ndirect=1\nnumjobs=2",
            "-b4K -w0 -Su -g256i -o1 -t2 -d1 -W0 -n -L --engine libaio /dev/sdz",
        ),
        (
            "[n]\nfilename=/dev/ng0n1\nioengine=io_uring_cmd\ncmd_type=nvme\nruntime=1\nrate=0\nrate_iops=,7\nsize=100%\noffset=0%",
            "-b4K -w0 -o1 -t1 -d1 -W0 -n -L --engine nvme /dev/ng0n1",
        ),
        (
            "[s]\nfilename=/dev/shm/f\nsize=1m\nbs=4k:16k\nrw=write\nruntime=1",
            "-b16K -w100 -Z1M -o1 -t1 -c1M -d1 -W0 -n -L --engine psync /dev/shm/f",
        ),
        // The last one of both counts.
        (
            "[global]\nbuffered=0\ninvalidate=0\n[a]\ndirect=0\nfilename=f\nsize=1m\nruntime=1",
            "-b4K -w0 -o1 -t1 -c1M -d1 -W0 -n -L --engine psync f",
        ),
    ] {
        let (lines, remarks) = said(text);
        assert_eq!(lines, [line], "{text}\n{remarks}");
        assert!(!remarks.contains("Unsaid"), "{text}\n{remarks}");
    }
}

#[test]
fn groups_are_lines_of_their_own() {
    let text = "[global]\nsize=16m\nruntime=1\ntime_based\n[a]\n[b]\n[c]\nstonewall\nbs=8k\n[d]\nrw=write\n[e]\nwait_for=d\nrw=erase\n";
    let (lines, remarks) = said(text);
    assert_eq!(lines[0], "-b4K -w0 -o1 -t1 -c16M -d1 -W0 -n -L --engine psync a.0.0 b.0.0");
    assert_eq!(lines[1..], ["none", "none"]);
    assert!(remarks.contains("Unsaid 14 rw=erase: only reads, writes and trims are possible"), "{remarks}");
    let runs = read(text).expect("a job file");
    assert_eq!(
        runs[1].line_of(&runs[1].lanes[1]).join(" "),
        "-b4K -w100 -Z1M -o1 -t1 -c16M -d1 -W0 -n -L d.0.0"
    );
    assert!(runs[2].lanes.is_empty());
}

#[test]
fn trims_are_said() {
    let job = |keys: &str| said(&format!("[a]\nfilename=/dev/sdz\nbs=64k\nruntime=9\ndirect=1\n{keys}\n"));
    let (lines, remarks) = job("rw=randtrim\nioengine=io_uring\niodepth=8\nfsync=1\nrefill_buffers");
    assert_eq!(lines, ["-b64K -r -w0 --trim 100 -Su -o8 -t1 -d9 -W0 -n -L --engine io_uring /dev/sdz"]);
    assert!(!remarks.contains("Unsaid"), "{remarks}");
    let (lines, remarks) = job("rw=trimwrite\nioengine=libaio\niodepth=4");
    assert!(
        lines[0].starts_with("-b64K -w100 --trim 50 ") && lines[0].contains("--engine io_uring"),
        "{lines:?}"
    );
    assert!(remarks.contains("Differs 6 rw=trimwrite: fio trims each block and then writes that same block"));
    assert!(remarks.contains("libaio cannot trim"), "{remarks}");
    let (lines, remarks) = job("rw=trim\nioengine=mmap");
    assert_eq!(lines, ["none"]);
    assert!(remarks.contains("this engine cannot trim; the whole job is left out"), "{remarks}");
    let (_, remarks) = job("rw=randwrite\ntrim_percentage=5");
    assert!(remarks.contains("trim_percentage=5: it is about trims beside verify"), "{remarks}");
}

#[test]
fn parts_of_a_file_are_targets() {
    let text = "[a]\nfilename=f\nsize=1g\noffset_increment=1g\nnumjobs=2\nruntime=1";
    let runs = read(text).expect("a job file");
    let words: Vec<String> = runs[0].lanes.iter().map(|lane| runs[0].line_of(lane).join(" ")).collect();
    assert!(words[0].contains("-t1 -f1G -c2G") && words[1].contains("-t1 -B1G -c2G"), "{words:?}");
}

/// With a size of its files, `size` is an amount, and the places are those of the whole files.
#[test]
fn the_part_of_a_file_is_that_of_fio() {
    for (text, part) in [
        ("filesize=64m\nsize=16m", "-c64M"),
        ("filesize=16m\nsize=64m", "-c16M"),
        ("filesize=64m\nsize=25%", "-f16M -c64M"),
        ("filesize=64m\noffset=50%\nsize=75%", "-B32M -c64M"),
        ("size=64m\noffset=16m", "-B16M -c80M"),
        ("size=0", "-d10"),
        ("filename=/dev/sdz\nfilesize=64m", "-f64M"),
        ("filename=/dev/sdz\nfilesize=64m\noffset=16m", "-B16M -f64M"),
        ("filename=/dev/sdz\nsize=64m\noffset=16m", "-B16M -f80M"),
    ] {
        let (lines, remarks) = said(&format!("[a]\nrw=randread\n{text}\n"));
        assert!(
            lines[0].contains(&format!(" -o1 -t1 {part} -")) || part == "-d10",
            "{text}\n{lines:?}\n{remarks}"
        );
        assert!(!lines[0].contains("-c0"), "{lines:?}");
    }
}

/// A line that writes more of a disk than the job does would destroy data.
#[test]
fn what_writes_to_an_unknown_part_is_left_out() {
    for part in ["size=30%", "offset=4z", "filesize=1x", "size=${X}", "offset=${X}", "directory=${X}"] {
        let job = |rw: &str| said(&format!("[a]\nfilename=/dev/sdz\nrw={rw}\n{part}\n"));
        let (lines, remarks) = job("randwrite");
        assert_eq!(lines, ["none"], "{part}\n{remarks}");
        assert!(remarks.contains("the whole job is left out"), "{remarks}");
        assert!(part.contains('$') || job("randread").0 == ["none"], "{part}");
        let lossy = said_with(&format!("[a]\nfilename=/dev/sdz\nrw=randread\n{part}\n"), true).0;
        assert!(part.contains('$') || lossy[0].ends_with("/dev/sdz"), "{part}");
        assert_eq!(said_with(&format!("[a]\nfilename=/dev/sdz\nrw=write\n{part}\n"), true).0, ["none"]);
    }
}

#[test]
fn files_are_those_of_fio() {
    for (text, files) in [
        ("[a]\nfilename=x\nfilename=y", "x y"),
        ("[global]\nfilename=x\n[a]\nfilename=y", "x y"),
        ("[a]\ndirectory=p:q\nfilename=x\nnumjobs=2", "p/x"),
        ("[a]\ndirectory=p:q\nnumjobs=3", "p/a.0.0 q/a.1.0 p/a.2.0"),
        ("[global]\ndirectory=p\n[a]\nfilename=x", "p/x"),
        ("[global]\nfilename=x\n[a]\ndirectory=p", "x"),
        ("[a]\nfilename_format=$JobName-$jobnum", "a-0"),
        ("[/dev/sdz]\nnrfiles=2", "/dev/sdz.0.0 /dev/sdz.0.1"),
    ] {
        let (lines, remarks) = said(&format!("{text}\nsize=1m\n"));
        assert!(lines[0].ends_with(&format!(" --engine psync {files}")), "{text}\n{lines:?}\n{remarks}");
    }
    let (_, remarks) = said("[a]\ndirectory=p:q\nfilename=x\nsize=1m");
    assert!(remarks.contains("Differs 2 directory=p:q: with filename, fio puts all"), "{remarks}");
    let (_, remarks) = said("[a]\nioengine=net\nfilename=x\nfilename=y");
    assert!(remarks.contains("3 filename=x: the job is left out"), "{remarks}");
}

/// fio keeps no map of what it has met where blocks are aligned otherwise, or some are preferred.
#[test]
fn a_map_is_told_where_fio_keeps_one() {
    for (keys, is_kept) in [
        ("", true),
        ("blockalign=4k", true),
        ("blockalign=8k", false),
        ("random_distribution=zipf:1.1", false),
        ("random_distribution=random", true),
        ("percentage_random=0", false),
        ("norandommap", false),
    ] {
        let (_, remarks) = said(&format!("[a]\nrw=randread\nsize=1m\n{keys}\n"));
        assert_eq!(remarks.contains("fio meets every block once"), is_kept, "{keys}\n{remarks}");
    }
}

#[test]
fn what_differs_is_told() {
    for (text, says) in [
        ("[a]\nfilename=f\nsize=1m\nrw=randread", "Differs 4 rw=randread: fio meets every block once"),
        ("[a]\nfilename=f\nsize=1m\nrw=read", "Differs 0 : fio ends when it has done the whole size"),
        ("[a]\nfilename=f\nsize=1m\nruntime=3", "Differs 4 runtime=3: fio ends earlier"),
        ("[a]\nfilename=f\nsize=1m\nruntime=3", "Differs 0 : fio drops the file from the page cache"),
        ("[a]\nfilename=f\nruntime=3", "Differs 0 : the job says no size of its file"),
        (
            "[a]\nfilename=f\nsize=1m\niodepth=4\nioengine=sync",
            "Differs 4 iodepth=4: this engine of fio does one I/O at a time",
        ),
        ("[a]\nfilename=f\nsize=1m\nrw=rw", "Differs 4 rw=rw: fio reads and writes at two places"),
        ("[a]\nfilename=f\nsize=1m\ncpus_allowed=0-1", "Differs 4 cpus_allowed=0-1: fio lets every thread"),
        (
            "[a]\nfilename=f\nsize=1m\nrw=randrw\nrate_iops=5,6",
            "Lost 5 rate_iops=5,6: fio limits reads and writes each",
        ),
        ("[a]\nfilename=f\nsize=1m\nbs=${X}", "Lost 4 bs=${X}: the variable X is not set"),
        (
            "[a]\nfilename=${X}\nsize=1m",
            "Unsaid 2 filename=${X}: the variable X is not set; the whole job is left out",
        ),
        ("[a]\nfilename=/dev/sdz\nsize=50%", "Lost 3 size=50%: a share of the file wants its size"),
        (
            "[a]\nfilename=f\nsize=1m\nrw=randread\nrandom_distribution=zipf:1.2",
            "Differs 5 random_distribution=zipf:1.2: fio's law is not exact",
        ),
        (
            "[a]\nfilename=f\nsize=1m\nrw=randread\nrandom_distribution=zipf:1.2:0.5",
            "Lost 5 random_distribution=zipf:1.2:0.5",
        ),
        (
            "[a]\nfilename=f\nsize=1m\nrw=randrw\nbssplit=4k/50:8k/50,64k/100",
            "Lost 5 bssplit=4k/50:8k/50,64k/100: only sizes whose shares sum to 100 %",
        ),
        ("[a]\nfilename=f\nsize=1m\nbssplit=4k/50:8k/40", "Lost 4 bssplit=4k/50:8k/40"),
        ("[a]\nfilename=f\nsize=1m\nverify_dump=1", "Unsaid 4 verify_dump=1: it is about the check of fio"),
        ("[a]\nfilename=f\nsize=1m\nmade_up=1", "Unsaid 4 made_up=1: this is no key of fio"),
        ("[a]\nfilename=f\nsize=1m\ngroup_reporting", "Needless 4 group_reporting"),
        ("[a]\nfilename=f\nsize=1m\nverify=0", "Needless 4 verify=0: it is off here"),
        ("[a]\nfilename=f\nsize=1m\nzonemode=none", "Needless 4 zonemode=none: it is off here"),
        ("[a]\nfilename=f\nsize=1m\nrate_iops=,5", "Needless 4 rate_iops=,5: it changes nothing"),
        ("[a]\nfilename=f\nsize=1m\nrate=500", "Lost 4 rate=500: -g is in whole bytes per millisecond"),
        (
            "[a]\nfilename=f\nsize=1m\nrate=1m\nthinktime=1s",
            "Lost 5 thinktime=1s: there are pauses or a limit, not both",
        ),
        ("[a]\nfilename=f\nsize=1m\nrw=read:-8k", "Lost 4 rw=read:-8k: places only go forward"),
        ("[a]\nfilename=f\nsize=1m\nruntime=60sec", "Lost 4 runtime=60sec: this is no time"),
        ("[a]\nsize=1m\nnrfiles=400", "400 files are too many for a line"),
        ("[a]\nsize=1m\nfilename=f\nnumjobs=9999999", "too many threads"),
    ] {
        let (_, remarks) = said(text);
        assert!(remarks.contains(says), "{text}\n{remarks}");
    }
}

/// A line of a key changes what is said, or is told.
#[test]
fn no_key_is_dropped() {
    let base = "[a]\nfilename=f\nsize=64m\nrw=randrw\nioengine=io_uring\niodepth=4\n";
    let (lines, remarks) = said(base);
    for (name, key) in all() {
        let value = match name {
            "rw" | "readwrite" => "read",
            "ioengine" => "sync",
            "random_distribution" => "zipf:1.1",
            "bssplit" => "4k/50:8k/50",
            "bsrange" | "blocksize_range" => "4k-64k",
            // What is usual here.
            "buffered" | "randrepeat" | "allrandrepeat" | "invalidate" | "numjobs" | "nrfiles"
            | "nr_files" | "thinktime_blocks" => "0",
            _ => "7",
        };
        let text = format!("{base}{name}={value}\n");
        let (with, told) = said(&text);
        // With one job, one file and no time, these change nothing in fio either.
        let is_usual = matches!(
            name,
            "numjobs"
                | "nrfiles"
                | "nr_files"
                | "thinktime_blocks"
                | "kb_base"
                | "name"
                | "cpus_allowed_policy"
                | "filename_format"
                | "stonewall"
                | "wait_for_previous"
                | "time_based"
                | "offset_increment"
        );
        assert!(with != lines || told != remarks || is_usual, "{name}={value} is dropped\n{told}");
        // A line can say flushes after some writes.
        let is_flush = matches!(key, Key::Flush(Flush::AfterWrites, _)) && with != lines;
        if !matches!(key, Key::Read | Key::Aside) && !is_flush {
            assert!(told.contains(&format!(" 7 {name}={value}: ")), "{name}\n{told}");
        }
    }
}

/// What tests the disk in fio must not test the page cache here.
#[test]
fn writes_that_are_durable_are_write_through() {
    for (keys, option) in [
        ("fsync=1\nioengine=mmap", " -Smw "),
        ("sync=dsync\nfsync=8", " -Sw "),
        ("sync=dsync\nfdatasync=1\ndirect=1", " -Sh "),
        ("sync=1\nend_fsync=1\ndirect=1", " -Sh "),
        ("sync=sync\nfsync=1", " -Sw "),
        ("ioengine=io_uring_cmd\nwritefua=1", " -Sw "),
    ] {
        let text = format!("[global]\n{keys}\n[a]\nfilename=f\nsize=1m\nrw=randwrite\n");
        let (lines, remarks) = said(&text);
        assert!(lines[0].contains(option), "{text}{lines:?}\n{remarks}");
        assert!(remarks.contains("every write is durable"), "{text}{remarks}");
        assert!(!remarks.contains("Lost") && !remarks.contains("Unsaid"), "{text}{remarks}");
    }
    let (lines, remarks) = said("[a]\nfilename=f\nsize=1m\nrw=rw\nfsync=1\nioengine=libaio\niodepth=8\n");
    assert!(lines[0].contains(" --flush-every 1 ") && lines[0].contains(" -o1 "), "{lines:?}");
    assert!(remarks.contains("Differs 5 fsync=1: fio flushes after reads, too"), "{remarks}");
    assert!(
        remarks.contains("Differs 7 iodepth=8: with this engine, fio does nothing else while it flushes")
    );
    // This one goes on while it flushes.
    let (lines, _) = said("[a]\nfilename=f\nsize=1m\nrw=write\nfsync=1\nioengine=io_uring\niodepth=8\n");
    assert!(lines[0].contains(" -o8 "), "{lines:?}");
}

#[test]
fn a_flush_after_several_writes_is_said() {
    let line = |keys: &str| {
        let (lines, remarks) = said(&format!("[a]\nfilename=f\nsize=1m\nrw=write\n{keys}\n"));
        assert!(!remarks.contains("Lost") && !remarks.contains("Unsaid"), "{keys}: {remarks}");
        lines[0].clone()
    };
    assert!(line("fsync=32").contains(" --flush-every 32 "));
    for (keys, options) in [
        ("fsync=1", " --flush-every 1 "),
        ("fdatasync=1", " --flush-every 1:data "),
        ("fsync=0x1", " --flush-every 1 "),
        ("fsync=1\ndirect=1", " -Su --flush-every 1 "),
        ("fdatasync=1\nbuffered=0", " -Su --flush-every 1:data "),
        ("fsync=32\nfdatasync=1", " --flush-every 1:data "),
        ("fdatasync=1\nfsync=1", " --flush-every 1 "),
        ("fsync=1\nend_fsync=1\nsync_file_range=write:8", " --flush-every 1 "),
    ] {
        assert!(line(keys).contains(options) && !line(keys).contains("-Sw"), "{keys}: {}", line(keys));
    }
    assert!(line("fdatasync=2\ndirect=1").contains(" -Su --flush-every 2:data "));
    // What is durable with each write needs no flush beside it.
    assert!(!line("sync=dsync\nfsync=8").contains("flush"));
    let (lines, remarks) = said("[a]\nfilename=f\nsize=1m\nrw=write\nfsync=8\nfdatasync=4\n");
    assert!(lines[0] == "none" && remarks.contains("another flush is there already"), "{remarks}");
}

#[test]
fn sizes_in_shares_and_skewed_places_are_said() {
    let line =
        |rw: &str, keys: &str| said(&format!("[a]\nfilename=f\nsize=1m\nrw={rw}\n{keys}\n")).0[0].clone();
    for (rw, keys, has) in [
        ("randread", "bssplit=4k/60:64k/40", "--mix 4K:60,64K:40 -r4K "),
        ("read", "bssplit=4k/60:64k/40\nbs=8k", "--mix 4K:60,64K:40 -w0 "),
        ("randwrite", "bssplit=,4k/50:8k/", "--mix 4K:50,8K:50 -r4K "),
        ("randrw", "bssplit=512/20:1k:2k", "--mix 512:20,1K:40,2K:40 -r512 "),
        ("randread", "random_distribution=zipf:0.9", "-r --zipf 0.9 "),
    ] {
        let line = line(rw, keys);
        assert!(line.contains(has), "{keys}: {line}");
    }
}

#[test]
fn a_job_whose_durability_cannot_be_said_makes_no_line() {
    for key in [
        "fsync=1k",
        "fsync=1,2",
        "fsync=x",
        "fsync",
        "fsync=${X}",
        "sync=${X}",
        "sync=2",
        "sync=O_SYNC",
        "write_barrier=1",
        "sync_file_range=write:1",
        "end_fsync=1",
        "fsync_on_close=1",
        "end_syncfs=1",
        "writefua=x",
    ] {
        for rw in ["write", "randwrite", "rw", "randrw"] {
            let text = format!("[global]\n{key}\n[a]\nfilename=f\nsize=1m\nrw={rw}\n");
            let (lines, remarks) = said(&text);
            assert_eq!(lines, ["none"], "{text}{remarks}");
            assert!(remarks.contains(&format!("Lost 2 {key}: ")) && remarks.contains("--lossy"), "{remarks}");
            // Other keys are told as what they are.
            assert!(!remarks.contains("the job is left out"), "{remarks}");
            let (lines, remarks) = said_with(&text, true);
            assert!(lines[0].ends_with(" f") && !lines[0].contains("-S"), "{text}{lines:?}");
            assert!(remarks.contains(&format!("Unsaid 2 {key}: ")), "{remarks}");
        }
        // fio flushes nothing for reads.
        let (lines, remarks) = said(&format!("[a]\nfilename=f\nsize=1m\nrw=randread\n{key}\n"));
        assert!(lines[0].ends_with(" f") && !remarks.contains("Lost"), "{key}\n{remarks}");
    }
    for off in ["fsync=0", "fdatasync=0", "end_fsync=0", "sync=none", "sync=0", "fsync=32\nfsync=0"] {
        let (lines, remarks) = said(&format!("[a]\nfilename=f\nsize=1m\nrw=write\n{off}\n"));
        assert!(lines[0].ends_with(" f") && !lines[0].contains("-S"), "{off}: {lines:?}");
        assert!(!remarks.contains("Lost") && !remarks.contains("Unsaid"), "{off}\n{remarks}");
    }
    // It touches no disk.
    assert!(said("[a]\nfilename=f\nsize=1m\nrw=write\nioengine=null\nend_fsync=1\n").0[0].ends_with(" f"));
    let (lines, _) = said("[a]\nfilename=f\nsize=1m\nrw=write\nend_fsync=1\n[b]\nfilename=g\nsize=1m\n");
    assert!(lines[0].ends_with(" g"), "{lines:?}");
}

#[test]
fn a_remark_of_a_global_section_stands_once() {
    let (_, remarks) = said("[global]\nverify=md5\nsize=1m\n[a]\n[b]\n[c]\n");
    assert_eq!(remarks.matches("verify=md5").count(), 1, "{remarks}");
    let runs = read("[a]\nverify=md5\nsize=1m\n").expect("a job file");
    assert!(runs[0].remarks.iter().any(|(job, remark)| job == "a" && remark.kind == Kind::Unsaid));
}

/// Each changes what the job does, in a shape of its own, and no line says it.
#[test]
fn what_changes_the_load_is_never_dropped() {
    for keys in [
        "thinktime=500us",
        "thinktime=1500",
        "thinktime=1ms\nthinktime_spin=1ms",
        "thinktime=1ms\nthinktime_iotime=1s",
        "thinktime=1ms\nthinktime_blocks_type=issue",
        "thinktime=x",
        "rw=randrw\nrate_iops=90,10",
        "rw=randrw\nrate_iops=90,",
        "rw=randrw\nrwmixread=70\nrate_iops=90",
        "rw=randrw\nrwmixread=70\nrate=1m",
        "rw=rw\nrate=1m,",
        "rate=1m\nrate_iops=5",
        "rate_iops=x",
        "rate=900",
        "read_iolog=x.log",
        "io_size=4m",
        "number_ios=4",
        "loops=2",
        "startdelay=3",
        "create_only=1",
        "verify_only=1",
        "rw=read:-8k",
        "rw=randread:8",
        "rw=randread\nrw_sequencer=identical",
        "bs_unaligned",
        "bsrange=4k-64k",
        "random_distribution=pareto:0.2\nrw=randread",
        "random_distribution=normal:5\nrw=randread",
        "random_distribution=zipf:1.1:0.3\nrw=randread",
        "zonemode=strided\nzonesize=1m",
        "zoneskip=1m",
        "latency_target=1ms",
        "flow=1",
        "file_append=1",
        "pre_read=1",
        "steadystate=iops:1%",
        "filename=/dev/sdz\nsize=25%",
        "filename=/dev/sdz\noffset=25%",
        "filename=/dev/sdz\nsize=1m\noffset_increment=${X}",
        "runtime=60sec",
        "bs=${X}",
    ] {
        let text = format!("[a]\nfilename=f\nsize=1m\n{keys}\n")
            .replace("filename=f\nsize=1m\nfilename", "filename");
        let (lines, remarks) = said(&text);
        assert_eq!(lines, ["none"], "{text}{remarks}");
        if keys.contains("_increment") {
            continue;
        }
        assert!(remarks.contains("Lost ") && remarks.contains("--lossy"), "{text}{remarks}");
        let (lines, remarks) = said_with(&text, true);
        assert!(lines[0] != "none" && remarks.contains("Unsaid "), "{text}{remarks}");
    }
}

/// They say what fio does without them, or are about what it prints and keeps.
#[test]
fn what_changes_nothing_needs_no_word() {
    for key in [
        "loops=1",
        "iodepth_batch=1",
        "iodepth_batch_submit=1",
        "iodepth_batch_complete_min=0x1",
        "io_submit_mode=inline",
        "rw_sequencer=sequential",
        "file_service_type=roundrobin",
        "fallocate=native",
        "do_verify=1",
        "verify_fatal=0",
        "scramble_buffers=1",
        "rate_cycle=1000",
        "startdelay=0",
        "startdelay=0s",
        "number_ios=0",
        "zonemode=none",
        "max_open_zones=0",
        "latency_percentile=99",
        "thinktime_spin=7",
        "flow_id=3",
        "random_distribution=random",
        "percentage_random=100",
        "blockalign=4k",
        "rate=0",
        "thinktime=0",
        "name=other",
        "description=${X}",
        "write_bw_log=x",
        "log_avg_msec=500",
        "log_hist_msec=1",
        "percentile_list=50:99",
        "openfiles=4",
        "runtime=9\ntime_based\nloops=4",
    ] {
        let (lines, remarks) = said(&format!("[a]\nfilename=f\nsize=1m\n{key}\n"));
        assert!(lines[0].ends_with(" f"), "{key}: {lines:?}");
        assert!(!remarks.contains("Unsaid") && !remarks.contains("Lost"), "{key}\n{remarks}");
    }
    let (lines, remarks) = said("[a]\nfilename=f\nsize=1m\nioscheduler=none\n");
    assert!(
        lines[0].ends_with(" f") && remarks.contains("Unsaid 4 ioscheduler=none: fio switches"),
        "{remarks}"
    );
}

#[test]
fn files_are_named_after_their_sections() {
    let text = "[global]\nname=all\nsize=1m\n[a]\nname=x\n[/dev/sdz]\nname=y\n";
    let runs = read(text).expect("a job file");
    let paths: Vec<&str> = runs[0].lanes.iter().map(|lane| lane.path.as_str()).collect();
    assert_eq!(
        (paths, runs[0].jobs.clone()),
        (vec!["a.0.0", "/dev/sdz"], vec!["a".into(), "/dev/sdz".into()])
    );
}

/// Two limits in the ratio of the mix are one limit of both.
#[test]
fn limits_of_a_mix_are_one_where_they_stand_in_its_ratio() {
    let line = |keys: &str| said(&format!("[a]\nfilename=f\nsize=1m\nbs=4k\n{keys}\n")).0[0].clone();
    for (keys, option) in [
        ("rw=randrw\nrwmixread=90\nrate_iops=90,10", " -g100i "),
        ("rw=randrw\nrate_iops=50", " -g100i "),
        ("rw=rw\nrwmixwrite=25\nrate_iops=300,100,7", " -g400i "),
        ("rw=randrw\nrwmixread=75\nrate=3m,1m", " -g1024i "),
        ("rw=randread\nrate_iops=,5", ""),
        ("rw=randwrite\nrate_iops=,5", " -g5i "),
        ("rw=randread\nbssplit=4k/50:8k/50\nrate=8192000", " -g8192 "),
        ("rw=randtrim\nrate_iops=1,2,3", " -g3i "),
    ] {
        assert!(
            line(keys).contains(option) && line(keys).contains("-g") != option.is_empty(),
            "{keys}: {}",
            line(keys)
        );
    }
}

#[test]
fn zipf_without_an_exponent_is_that_of_fio() {
    let line =
        |law: &str| said(&format!("[a]\nfilename=f\nsize=1m\nrw=randread\nrandom_distribution={law}\n")).0;
    assert!(line("zipf")[0].contains(" --zipf 1.1 ") && line("zipf:0.8")[0].contains(" --zipf 0.8 "));
    for law in ["zipf:", "zipf:x", "pareto", "normal", "zipf:1.1,zipf:0.9", "odd"] {
        assert_eq!(line(law), ["none"], "{law}");
    }
}

/// Whatever the job names, null reads and writes none of it.
#[test]
fn null_lays_out_one_block() {
    for keys in
        ["size=100g", "filesize=100g", "size=1t\nnrfiles=3", "size=1g\noffset=1g", "rw=write\nsize=30%"]
    {
        let (lines, remarks) = said(&format!("[a]\nioengine=null\nbs=8k\n{keys}\n"));
        assert!(lines[0].contains(" -c8K ") && !lines[0].contains("-B"), "{keys}: {lines:?}");
        assert!(remarks.contains("null does no I/O") && !remarks.contains("Lost"), "{keys}\n{remarks}");
    }
}

/// The size of what is there makes bytes of a share.
#[test]
fn a_share_of_what_is_there_is_its_part() {
    for (keys, part) in [
        ("size=25%", " -f25M "),
        ("size=50%\noffset=25%", " -B25M -f75M "),
        ("rw=write\nsize=10%", " -f10M "),
        ("offset=50%", " -B50M -d"),
        ("size=100%", " -t1 -d"),
    ] {
        let (lines, remarks) = said(&format!("[a]\nfilename=/dev/there\n{keys}\n"));
        assert!(lines[0].contains(part) && lines[0].ends_with("/dev/there"), "{keys}: {lines:?}\n{remarks}");
    }
}

/// As AWS, Google, Azure and Ceph publish them.
#[test]
fn command_lines_of_fio_are_jobs() {
    let google = "sudo fio --name=write_throughput --directory=/mnt/x --numjobs=2 \\\n--size=1G --time_based --runtime=5m \
         --ramp_time=2s --ioengine=libaio \\\n--direct=1 --verify=0 --bs=1M --iodepth=64 --rw=write \\ \n\
         --group_reporting=1\n";
    let line = "-b1M -w100 -Su -Z4M -o64 -t1 -c1G -d300 -W2 -n -L --engine libaio /mnt/x/write_throughput.0.0 \
                /mnt/x/write_throughput.1.0";
    assert_eq!(said(google).0, [line]);
    // The name can stand last, values behind a blank, and one dash is as good.
    let ceph = "# journal\nfio -filename /dev/sdz --direct=1 -rw=randread --bs=4k -iodepth 4 --ioengine=io_uring --runtime=60 \
                --time_based --group_reporting --name=journal-test > out.txt\n";
    assert_eq!(said(ceph).0, ["-b4K -r -w0 -Su -o4 -t1 -d60 -W0 -n -L --engine io_uring /dev/sdz"]);
    // A command knows nothing of that before it, and waits for it; jobs of one run together.
    let (lines, _) =
        said("fio --size=1m --bs=8k --name=a --name=b; fio --name=c --size=2m\nfio --name=d --size=3m\n");
    assert!(lines.len() == 3 && lines[0].contains("-b8K") && lines[0].ends_with("a.0.0 b.0.0"), "{lines:?}");
    assert!(
        lines[1].contains("-b4K") && lines[1].ends_with("c.0.0") && lines[2].contains("-c3M"),
        "{lines:?}"
    );
    let (_, remarks) = said("fio --name=a --size=1m \\\n --thinktime=500us\n");
    assert!(remarks.contains("Lost 1 thinktime=500us: "), "{remarks}");
    let (_, remarks) = said("fio --name=a --filename=$DISK\n");
    assert!(remarks.contains("the variable DISK is not set"), "{remarks}");
    let (_, remarks) = said("fio --name=a --clientname admin --size=1m\n");
    assert!(remarks.contains("Unsaid 1 clientname=admin: this is no key"), "{remarks}");
    for (text, says) in [
        ("fio --size=1m\n", "there is no job in it"),
        ("fio --name\n", "--name has no value"),
        ("fio --name=a 'b\n", "the quote ' has no end"),
        ("fio --name=a\nrm -r x\n", "this is no command of fio: rm -r x"),
        ("fio --name=a none.fio\n", "'none.fio' cannot be read"),
    ] {
        let error = read(text).expect_err(text);
        assert!(error.what.contains(says), "{text}: {error:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_file_makes_it_stumble(keys in proptest::collection::vec((0..400usize, "[-0-9a-z%:/,.${}]{0,12}"), 0..12), noise in "\\PC{0,80}") {
        let names: Vec<&str> = all().map(|(name, _)| name).collect();
        let lines: String = keys.iter().map(|(at, value)| format!("{}={value}\n", names[at % names.len()])).collect();
        let _ = read(&format!("[global]\n{lines}[a]\n{lines}[b]\nstonewall\n"));
        let _ = read(&format!("[a]\n{noise}\n"));
        let _ = read(&noise);
    }
}
