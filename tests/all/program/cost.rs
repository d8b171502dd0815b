//! What a run costs: time around the measured time, and memory. Bounds leave room for a busy machine; the
//! figures are printed.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::devices;
use crate::support::gate;
use crate::support::program::{Lab, Running};

fn lab_with_file() -> Lab {
    let lab = Lab::new();
    lab.run("-c4M -b4K -d1 -W0 -g1 f").expect_code(0);
    lab
}

/// The first of several that is within a bound, or the last: others use the machine too.
fn within<T>(limit: Duration, mut measure: impl FnMut() -> (Duration, T)) -> (Duration, T) {
    let mut measured = measure();
    for _ in 1..20 {
        if measured.0 < limit {
            break;
        }
        measured = measure();
    }
    measured
}

const SOON: Duration = Duration::from_millis(300);

/// Start, files, threads, rendering: all of it, beyond the measured second.
#[test]
fn start_and_end_take_no_time() {
    let lab = lab_with_file();
    for words in ["-o32 -r", "-o1", "-t16 -o8 -r -L -D", "-Su -o32 -r -w50", "-Sm -r"] {
        let (extra, ()) = within(SOON, || {
            let ran = lab.run(&format!("-d1 -W0 -b4K {words} f")).expect_code(0);
            let result = ran.text().results.remove(0).expect("measured");
            assert_eq!(result.time_s, 1.0, "{ran}");
            (ran.wall.checked_sub(Duration::from_secs(1)).unwrap_or_else(|| panic!("too early\n{ran}")), ())
        });
        println!("-d1 -W0 {words}: {extra:?} beyond the measured second");
        assert!(extra < SOON, "{words}: {extra:?}");
    }
}

/// From the start of the process to the arrival of the first read at a file that tells when.
#[test]
fn the_first_io_comes_at_once() {
    if !rustix::process::geteuid().is_root() || !std::path::Path::new("/dev/fuse").exists() {
        return devices::skip("a file that holds I/O back needs root and /dev/fuse");
    }
    let lab = Lab::new();
    for words in ["-o32 -r -L -D", "-o1", "-t16 -o8"] {
        let (first, ()) = within(SOON, || {
            let gate = gate::Gate::direct().expect("a file of known behaviour");
            gate.close();
            let line = format!("-d1 -W0 -b4K -B9M:2M {words}");
            let mut command = lab.command(&line);
            command.arg(gate.path());
            let since = Instant::now();
            let running = Running::new(command, &line);
            gate.wait_parked(1);
            let first = since.elapsed();
            gate.open_up();
            running.finish().expect_code(0);
            (first, ())
        });
        println!("{words}: first I/O after {first:?}");
        assert!(first < SOON, "{words}: {first:?}");
    }
}

#[test]
fn the_phases_take_what_they_are_given() {
    let lab = lab_with_file();
    for (words, seconds, measured) in [("-W1 -d2 -C1", 4, 2.0), ("-W0 -d3", 3, 3.0), ("-W2 -d1 -C0", 3, 1.0)]
    {
        let (extra, ran) = within(SOON, || {
            let ran = lab.run(&format!("-b4K -r -o8 -L {words} f")).expect_code(0);
            let extra = ran.wall.checked_sub(Duration::from_secs(seconds));
            (extra.unwrap_or_else(|| panic!("{words}: too early\n{ran}")), ran)
        });
        // Two decimals of exactly the asked time are within 0.1 % of it.
        assert_eq!(ran.text().results[0].as_ref().map(|r| r.time_s), Some(measured), "{ran}");
        assert!(extra < SOON, "{words}: {extra:?}\n{ran}");
    }
}

/// Largest resident memory of a finished run, in bytes.
fn resident_bytes_max(lab: &Lab, line: &str) -> u64 {
    let mut child = lab.command(line).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let pid = i32::try_from(child.id()).expect("a process id");
    let mut status = 0;
    // SAFETY: plain numbers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: a child of ours that nobody else waits for, and room for what the kernel writes.
    let waited = unsafe { libc::wait4(pid, &mut status, 0, &mut usage) };
    assert!(waited == pid && libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "{line}: {status}");
    // Reaped above.
    let _ = child.try_wait();
    u64::try_from(usage.ru_maxrss).expect("not negative") * 1024
}

/// What a process has spent so far.
fn processor_seconds(running: &Running) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", running.id())).expect("it runs");
    let (_, fields) = stat.rsplit_once(')').expect("a name in brackets");
    // User and system time: fields 14 and 15 of all, of which the first two are cut off.
    let ticks: u64 =
        fields.split_whitespace().skip(11).take(2).map(|n| n.parse::<u64>().expect("a number")).sum();
    ticks as f64 / rustix::param::clock_ticks_per_second() as f64
}

/// Memory of a process that belongs to no file, now.
fn anonymous_bytes(running: &Running) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", running.id())).expect("it runs");
    let size = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("Linux 4.5 or later");
    let kib = size.trim().strip_suffix(" kB").and_then(|kib| kib.parse::<u64>().ok());
    kib.unwrap_or_else(|| panic!("{size}")) * 1024
}

const MIB: u64 = 1 << 20;

#[test]
fn memory_is_small_and_does_not_grow() {
    let lab = lab_with_file();
    let words = "--engine null -W0 -b4K -r -o32 -w30 -L -D f";
    let all = resident_bytes_max(&lab, &format!("-d1 {words}"));
    println!("resident: {} KiB after 1 s", all / 1024);
    assert!(all < 32 * MIB, "{all} bytes");

    // Twice in one run, after so much work. Without what is mapped from files: how much of that comes in with a page
    // depends on the page cache.
    let running = lab.start(&format!("-v -d120 {words}"));
    let [short, long] = [1, 4].map(|seconds| {
        running.wait_until("it has worked", || processor_seconds(&running) >= f64::from(seconds));
        anonymous_bytes(&running)
    });
    running.signal(rustix::process::Signal::INT);
    running.finish().expect_code(0);
    println!("anonymous: {} KiB after 1 s of work, {} KiB after 4 s", short / 1024, long / 1024);
    assert!(long < short + MIB, "{short} bytes after 1 s of work, {long} after 4 s");

    // Beyond buffers: reads and writes have their own.
    let buffers = 4 * 32 * 2 * 64 * 1024;
    let many = resident_bytes_max(&lab, "-d1 -W0 -b64K -r -t4 -o32 -w30 -L -D f");
    println!("resident: {} KiB with {} KiB of buffers", many / 1024, buffers / 1024);
    assert!(many < 32 * MIB + buffers, "{many} bytes");
}
