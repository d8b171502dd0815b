//! Memory that a run takes; the figures are printed. A program of its own: what the system reports of a child begins
//! with the memory of the process that started it, and that of all other tests' is large.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use rustix::process::{Pid, Signal, kill_process};

const MIB: u64 = 1 << 20;

/// Starts the program in a folder, with events and marks of its own there.
fn start(folder: &Path, line: &str) -> Child {
    let diskspd = Path::new(env!("CARGO_BIN_EXE_truespd")).with_file_name("diskspd");
    start_program(diskspd.to_str().expect("text"), folder, line)
}

fn start_program(program: &str, folder: &Path, line: &str) -> Child {
    let mut command = Command::new(program);
    command.env("TRUESPD_HISTORY", "0").env("XDG_CONFIG_HOME", folder).env("XDG_DATA_HOME", folder);
    command.args(line.split(' ')).current_dir(folder);
    command.env("XDG_STATE_HOME", folder).env("XDG_RUNTIME_DIR", folder);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("it starts")
}

/// Largest resident memory of a finished run, in bytes.
fn resident_bytes_max(folder: &Path, line: &str) -> u64 {
    resident_bytes_max_with(0, folder, line)
}

fn resident_bytes_max_with(code: i32, folder: &Path, line: &str) -> u64 {
    resident_bytes_max_of(start(folder, line), code, line)
}

fn resident_bytes_max_of(mut child: Child, code: i32, line: &str) -> u64 {
    let pid = i32::try_from(child.id()).expect("a process id");
    let mut status = 0;
    // SAFETY: plain numbers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: a child of ours that nobody else waits for, and room for what the kernel writes.
    let waited = unsafe { libc::wait4(pid, &mut status, 0, &mut usage) };
    assert!(
        waited == pid && libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == code,
        "{line}: {status}"
    );
    // Reaped above.
    let _ = child.try_wait();
    u64::try_from(usage.ru_maxrss).expect("not negative") * 1024
}

/// What a process has spent so far.
fn processor_seconds(child: &Child) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).expect("it runs");
    let (_, fields) = stat.rsplit_once(')').expect("a name in brackets");
    // User and system time: fields 14 and 15 of all, of which the first two are cut off.
    let ticks: u64 =
        fields.split_whitespace().skip(11).take(2).map(|n| n.parse::<u64>().expect("a number")).sum();
    ticks as f64 / rustix::param::clock_ticks_per_second() as f64
}

/// Memory of a process that belongs to no file, now.
fn anonymous_bytes(child: &Child) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).expect("it runs");
    let size = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("Linux 4.5 or later");
    let kib = size.trim().strip_suffix(" kB").and_then(|kib| kib.parse::<u64>().ok());
    kib.unwrap_or_else(|| panic!("{size}")) * 1024
}

#[test]
fn memory_is_small_and_does_not_grow() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let folder = dir.path();
    assert!(start(folder, "-c4M -b4K -d1 -W0 -g1 f").wait().expect("it ends").success());
    let words = "--engine null -W0 -b4K -r -o32 -w30 -L -D f";
    let all = resident_bytes_max(folder, &format!("-d1 {words}"));
    println!("resident: {} KiB after 1 s", all / 1024);
    assert!(all < 32 * MIB, "{all} bytes");

    // Twice in one run, after so much work. Without what is mapped from files: how much of that comes in with a page
    // depends on the page cache.
    let mut child = start(folder, &format!("-v -d120 {words}"));
    let [short, long] = [1, 4].map(|seconds| {
        while processor_seconds(&child) < f64::from(seconds) {
            assert!(child.try_wait().expect("it can be asked").is_none(), "it has ended");
            std::thread::sleep(Duration::from_millis(2));
        }
        anonymous_bytes(&child)
    });
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process id");
    kill_process(id, Signal::INT).expect("a child can be signalled");
    assert!(child.wait().expect("it ends").success());
    println!("anonymous: {} KiB after 1 s of work, {} KiB after 4 s", short / 1024, long / 1024);
    assert!(long < short + MIB, "{short} bytes after 1 s of work, {long} after 4 s");

    // Beyond buffers: reads and writes have their own.
    let buffers = 4 * 32 * 2 * 64 * 1024;
    let many = resident_bytes_max(folder, "-d1 -W0 -b64K -r -t4 -o32 -w30 -L -D f");
    println!("resident: {} KiB with {} KiB of buffers", many / 1024, buffers / 1024);
    assert!(many < 32 * MIB + buffers, "{many} bytes");
}

/// A limit that is checked after the buffers were taken costs all of them: here 15 GiB.
#[test]
fn what_is_refused_takes_no_memory() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let folder = dir.path();
    assert!(start(folder, "-c4M -b4K -d1 -W0 -g1 f").wait().expect("it ends").success());
    for line in [
        "-d1 -W0 -b4K -o1000000 -t4 f",
        "-d1 -W0 -b512 -o32769 f",
        "-d1 -W0 -b4K -t1000000000 f",
        "-d1 -W0 -b4K -F4000000 -O2 f",
        "-d4000000 -D1 -b4K -t64 -L f",
        "-d1 -W0 -b2G -o4000 f",
        "-d1 -W0 -b4K -w100 -Z900G f",
    ] {
        let bytes = resident_bytes_max_with(3, folder, line);
        assert!(bytes < 64 * MIB, "{line}: {bytes} bytes");
    }
}

/// A histogram as documents hold it, whose head says anything.
fn histogram(length: u32, digits: u32, payload: &[u8]) -> String {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    let head = [0x1c84_9313, length, 0, digits].map(u32::to_be_bytes).concat();
    let bounds = [1, u64::MAX / 2, 1f64.to_bits()].map(u64::to_be_bytes).concat();
    for part in [&head[..], &bounds, payload] {
        encoder.write_all(part).expect("memory takes it");
    }
    let packed = encoder.finish().expect("memory takes it");
    let mut bytes = [0x1c84_9314, packed.len() as u32].map(u32::to_be_bytes).concat();
    bytes.extend(packed);
    STANDARD.encode(bytes)
}

/// A document of a few KB takes a few MB, whatever its numbers say of what is in it.
#[test]
fn a_document_takes_memory_for_what_is_there() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let folder = dir.path();
    let seed = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/documents/v1/sim-random-mix-L-D.json");
    let seed = std::fs::read_to_string(seed).expect("a document");
    let seed: serde_json::Value = serde_json::from_str(&seed).expect("JSON");
    let reads = "/result/time_spans/0/measured/threads/0/targets/0/read/latency/hdr_v2_base64";
    let with = |histogram: String| {
        let mut document = seed.clone();
        *document.pointer_mut(reads).expect("a histogram") = histogram.into();
        document
    };
    // One latency in each power of two: buckets for all of them would take 450 KiB.
    let one_and_none: &[u8] = &[2, 0xfd, 0x0f];
    let mut wide = seed.clone();
    let latency = serde_json::json!({ "count": 55, "min_ns": 0, "max_ns": 1u64 << 63, "sum_ns": "18446744073709550592",
        "sum_squares_ns2": (0..=63).filter(|power| *power >= 10).map(|power| 1u128 << (2 * power)).sum::<u128>().to_string(),
        "hdr_v2_base64": histogram(165, 3, &one_and_none.repeat(55)) });
    let target = serde_json::json!({ "path": "f", "size_bytes": 1, "short_transfers": 0, "read": { "bytes": 55, "ios": 55, "latency": latency.clone() },
        "write": { "bytes": 55, "ios": 55, "latency": latency } });
    let threads = wide.pointer_mut("/result/time_spans/0/measured/threads").expect("threads");
    threads[0]["targets"] = vec![target; 400].into();
    wide["result"]["profile"]["time_spans"][0]["calculate_iops_std_dev"] = false.into();
    let documents = [
        ("length", 3, with(histogram(u32::MAX, 3, &[2]))),
        ("shorter", 3, with(histogram(1 << 30, 3, &vec![0; 1 << 20]))),
        ("digits", 3, with(histogram(1, 5, &[2]))),
        ("bomb", 3, with(histogram(128 << 20, 3, &vec![0; 128 << 20]))),
        ("ones", 3, with(histogram(56_320, 3, &[2; 56_320]))),
        ("wide", 0, wide),
    ];
    for (name, code, document) in documents {
        std::fs::write(folder.join(name), document.to_string()).expect("written");
        for words in [
            "show",
            "judge",
            "render -Rxml",
            "render -Rtext",
            "render -Rcsv",
            "merge",
            "report -o page.html",
            "history import",
        ] {
            let line = format!("{words} {name}");
            let child = start_program(env!("CARGO_BIN_EXE_truespd"), folder, &line);
            let bytes = resident_bytes_max_of(child, code, &line);
            assert!(bytes < 64 * MIB, "{line}: {bytes} bytes for {}", document.to_string().len());
        }
    }
}

/// What has no end is not read to its end.
#[test]
fn what_has_no_end_takes_no_memory() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let folder = dir.path();
    let sparse = std::fs::File::create(folder.join("sparse")).expect("a file");
    sparse.set_len(1 << 40).expect("a sparse file");
    for line in [
        "history import /dev/zero",
        "watch /dev/zero",
        "show /dev/zero",
        "judge /dev/zero",
        "merge /dev/zero",
        "compare /dev/zero /dev/zero",
        "report /dev/zero -o p.html",
        "history import sparse",
        "watch sparse",
    ] {
        let child = start_program(env!("CARGO_BIN_EXE_truespd"), folder, line);
        let bytes = resident_bytes_max_of(child, 3, line);
        assert!(bytes < 64 * MIB, "{line}: {bytes} bytes");
    }
}
