//! What a run costs: time around the measured time. Bounds grow with what the start of a program takes at that moment;
//! the figures are printed.
//! Memory: `tests/program_memory.rs`.

use std::time::{Duration, Instant};

use crate::support::gate;
use crate::support::needs::{Need, has};
use crate::support::program::{Lab, Running, with_ios};
use rustix::process::Signal;

fn lab_with_file() -> Lab {
    let lab = Lab::new();
    lab.run("-c4M -b4K -d1 -W0 -g1 f").expect_code(0);
    lab
}

/// What takes longer on a quiet machine waits for something.
const SOON: Duration = Duration::from_millis(300);
/// Starts of the program that anything may take beside that: on a busy machine they take longer, too.
const STARTS: u32 = 20;

/// The first of several measurements that is within the bound of its moment.
#[track_caller]
fn within<T>(lab: &Lab, what: &str, mut measure: impl FnMut() -> (Duration, T)) -> T {
    let mut seen = Vec::new();
    for _ in 0..20 {
        let start = lab.run("-?").wall;
        let (took, measured) = measure();
        println!("{what}: {took:?}, a start {start:?}");
        if took < SOON + STARTS * start {
            return measured;
        }
        seen.push((took, start));
    }
    panic!("{what}: always longer than {SOON:?} and {STARTS} starts (time, start): {seen:?}");
}

/// Start, files, threads, rendering: all of it, beyond the measured second.
#[test]
fn start_and_end_take_no_time() {
    let lab = lab_with_file();
    for words in ["-o32 -r", "-o1", "-t16 -o8 -r -L -D", "-Su -o32 -r -w50", "-Sm -r"] {
        within(&lab, &format!("-d1 -W0 {words}, beyond the measured second"), || {
            let ran = with_ios(1, || lab.run(&format!("-d1 -W0 -b4K {words} f"))).expect_code(0);
            let result = ran.text().results.remove(0).expect("measured");
            assert_eq!(result.time_s, 1.0, "{ran}");
            (ran.wall.checked_sub(Duration::from_secs(1)).unwrap_or_else(|| panic!("too early\n{ran}")), ())
        });
    }
}

/// From the start of the process to the arrival of the first read at a file that tells when.
#[test]
fn the_first_io_comes_at_once() {
    if !has(&[Need::Fuse]) {
        return;
    }
    let lab = Lab::new();
    for words in ["-o32 -r -L -D", "-o1", "-t16 -o8"] {
        within(&lab, &format!("{words}, to the first I/O"), || {
            let gate = gate::Gate::direct().expect("a file of known behaviour");
            gate.close();
            let line = format!("-v -P1 -d600 -W0 -b4K -B9M:2M {words}");
            let mut command = lab.command(&line);
            command.arg(gate.path());
            let since = Instant::now();
            let running = Running::new(command, &line);
            gate.wait_parked(1);
            let first = since.elapsed();
            gate.open_up();
            running.wait_for_ios();
            running.signal(Signal::INT);
            running.finish().expect_code(0);
            (first, ())
        });
    }
}

#[test]
fn the_phases_take_what_they_are_given() {
    let lab = lab_with_file();
    for (words, seconds, measured) in [("-W1 -d2 -C1", 4, 2.0), ("-W0 -d3", 3, 3.0), ("-W2 -d1 -C0", 3, 1.0)]
    {
        let ran = within(&lab, words, || {
            let ran = with_ios(1, || lab.run(&format!("-b4K -r -o8 -L {words} f"))).expect_code(0);
            let extra = ran.wall.checked_sub(Duration::from_secs(seconds));
            (extra.unwrap_or_else(|| panic!("{words}: too early\n{ran}")), ran)
        });
        // Two decimals of exactly the asked time are within 0.1 % of it.
        assert_eq!(ran.text().results[0].as_ref().map(|r| r.time_s), Some(measured), "{ran}");
    }
}
