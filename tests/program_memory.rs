//! Memory that a run takes; the figures are printed. A program of its own: what the system reports of a child begins
//! with the memory of the process that started it, and that of all other tests' is large.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

const MIB: u64 = 1 << 20;

/// Starts the program in a folder, with events and marks of its own there.
fn start(folder: &Path, line: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_diskspd"));
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
    let mut child = start(folder, line);
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
