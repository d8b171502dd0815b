//! What a run costs: time around the measured time. Bounds leave room for a busy machine; the figures are printed.
//! Memory: `tests/program_memory.rs`.

use std::time::{Duration, Instant};

use crate::support::gate;
use crate::support::needs::{Need, has};
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
    if !has(&[Need::Fuse]) {
        return;
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
