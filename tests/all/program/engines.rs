//! `--engine`: each of the table on a real file, and the simulated device, which answers alike each time.

use crate::support::program::{Lab, Ran, with_ios};
use crate::support::runner::has_engine;
use truespd_core::engine::{TABLE, find};

fn lab_with_file() -> Lab {
    let lab = Lab::new();
    lab.run("-c4M -b4K -d1 -W0 -g1 f").expect_code(0);
    lab
}

fn assert_measured(ran: &Ran, engine: &str) {
    let parsed = ran.text();
    let result = parsed.results[0].as_ref().unwrap_or_else(|| panic!("measured\n{ran}"));
    assert!(result.tables[0].total.ios > 0, "{ran}");
    assert!(ran.stderr.contains(&format!("note: engine: {engine}\n")), "{ran}");
}

#[test]
fn every_engine_runs() {
    let lab = lab_with_file();
    // Polling needs a device with queues for it: its own test below.
    for row in TABLE.iter().filter(|row| row.name != "io_uring_poll" && !row.sends_commands) {
        if let Err(error) = (row.probe)() {
            lab.run(&format!("--engine {} -d1 -W0 f", row.name)).refused(3, &[row.name]);
            eprintln!("{} is not available: {error}", row.name);
            continue;
        }
        let before = lab.read("f");
        for words in ["-b4K -r -o8 -w30 -L -D100 -t2 -Su", "-b4K -s -o1 -Su", "-b4K -F2 -O6 -r -w50 -L -Su"] {
            let ran = with_ios(1, || lab.run(&format!("--engine {} -v -d1 -W0 {words} f", row.name)));
            assert_measured(&ran.expect_code(0), row.name);
        }
        if !row.moves_data {
            assert_eq!(lab.read("f"), before, "{} touches nothing", row.name);
        }
    }
}

/// Nothing but a namespace takes commands, and no file is made on the way to that answer.
#[test]
fn commands_need_a_namespace() {
    if !has_engine("nvme") {
        return;
    }
    let lab = lab_with_file();
    for row in TABLE.iter().filter(|row| row.sends_commands) {
        let line = format!("--engine {} -d1 -W0 -b4K -Su", row.name);
        lab.run(&format!("{line} f")).refused(3, &["/dev/ngXnY", "'f' is none", "leave out --engine nvme"]);
        lab.run(&format!("{line} -c1M new")).refused(3, &["/dev/ngXnY", "'new' is none"]);
        assert!(!lab.path("new").exists());
    }
}

#[test]
fn polling_runs_or_says_why_not() {
    let lab = lab_with_file();
    let (line, row) =
        ("--engine io_uring_poll -v -d1 -W0 -b4K -r -o8", find("io_uring").expect("in the table"));
    if let Err(error) = (row.probe)() {
        eprintln!("io_uring is not available: {error}");
        return;
    }
    let ran = lab.run(&format!("{line} f")).expect_code(1);
    assert!(ran.stderr.contains("only direct I/O can be polled; add -Su or -Sh"), "{ran}");
    let ran = with_ios(1, || lab.run(&format!("{line} -Su f")));
    match ran.status.code() {
        Some(0) => assert_measured(&ran, "io_uring_poll"),
        _ => {
            let ran = ran.expect_code(1);
            // A file system over several devices does not tell which one would be polled.
            let reasons =
                ["has no poll queues (queue/io_poll is 0)", "the file system, has no such operation"];
            assert!(reasons.iter().any(|reason| ran.stderr.contains(reason)), "{ran}");
        }
    }
}

#[test]
fn what_serves_without_being_asked() {
    let lab = lab_with_file();
    for (line, engine) in [("-v -d1 -W0 -b4K -o1 f", "psync"), ("-v -d1 -W0 -b4K -o8 -Sm f", "mmap")] {
        assert_measured(&with_ios(1, || lab.run(line)).expect_code(0), engine);
    }
    let ran = lab.run("-d1 -W0 -b4K -o8 f").expect_code(0);
    let all = lab.run("-v -d1 -W0 -b4K -o8 f").expect_code(0);
    if all.stderr.contains("note: engine: io_uring\n") {
        drop(ran.says_not(&["note: engine: "]));
    } else {
        // A step down has its reason, also without -v.
        drop(ran.says(&["note: engine: ", "io_uring"]));
    }
}

#[test]
fn engines_that_are_refused() {
    let lab = lab_with_file();
    let names: Vec<&str> = TABLE.iter().map(|row| row.name).collect();
    lab.run("--engine warp -d1 f").refused(3, &["--engine warp", &names.join(", ")]);
    lab.run("--engine psync:fast -d1 f").refused(3, &["this engine has no parameters"]);
    lab.run("--engine sim:speed=9 -d1 f").refused(3, &["speed"]);
    lab.run("--engine -d1 f").expect_code(3);
}

/// The result without what comes from the machine: time of day and processor use.
fn masked(ran: &Ran) -> String {
    let is_cpu = |line: &str| line.contains("%|") || line.starts_with("avg.|");
    let is_time = |line: &str| line.starts_with("\tstart time:");
    ran.stdout
        .lines()
        .filter(|line| !is_cpu(line) && !is_time(line))
        .map(|line| format!("{line}\n"))
        .collect()
}

#[test]
fn a_simulated_device_gives_the_same_result_each_time() {
    let lab = lab_with_file();
    for words in [
        "--engine sim:latency=100us,channels=8,jitter=exp,seed=7 -b4K -r -o8 -w30 -L -D100 -t3 -z5",
        "--engine sim:latency=1ms,channels=4 -b8K -rs50 -F2 -O6 -w50 -L -z1",
        "--engine sim:latency=100us,iops=5000 -b4K -s -o4 -g1000i -L -D",
    ] {
        let runs: Vec<String> = (0..3)
            .map(|_| {
                let ran = lab.run(&format!("{words} -d2 -W1 -C1 f")).expect_code(0);
                assert_eq!(ran.text().results[0].as_ref().map(|r| r.time_s), Some(2.0), "{ran}");
                masked(&ran)
            })
            .collect();
        assert!(runs.windows(2).all(|pair| pair[0] == pair[1]), "{words}: {runs:#?}");
        assert!(runs[0].contains("total:"), "{}", runs[0]);
    }
    // Another seed is another run.
    let of_seed = |seed: u32| {
        let line = format!("--engine sim:latency=100us,jitter=exp,seed={seed} -b4K -r -o8 -d1 -W0 -L f");
        masked(&lab.run(&line).expect_code(0)).replace(&format!("seed={seed}"), "")
    };
    assert_ne!(of_seed(1), of_seed(2));
}

/// Known latency and known rate, by the figures of the result.
#[test]
fn a_simulated_device_is_measured_as_it_is() {
    let lab = lab_with_file();
    let result = lab.result("--engine sim:latency=2ms,channels=4 -b4K -r -o4 -d2 -W0 -L f");
    let total = &result.tables[0].total;
    assert!(total.latency_mean.is_some_and(|ms| (ms - 2.0).abs() < 0.02), "{total:?}");
    assert!((total.ios_per_s - 2000.0).abs() < 20.0, "{total:?}");
    // Eight requests at four places wait as long as they are served.
    let result = lab.result("--engine sim:latency=2ms,channels=4 -b4K -r -o8 -d2 -W0 -L f");
    let total = &result.tables[0].total;
    assert!(total.latency_mean.is_some_and(|ms| (ms - 4.0).abs() < 0.04), "{total:?}");
    assert!((total.ios_per_s - 2000.0).abs() < 20.0, "{total:?}");
}

#[test]
fn simulated_faults_end_the_run() {
    let lab = lab_with_file();
    lab.run("--engine sim:latency=1ms,error=eio#100 -b4K -s -o1 -d60 -W0 f").failed(&[
        "error during read error code: 5)",
        "Input/output error",
        &(99 * 4096).to_string(),
    ]);
    let ran = lab.run("--engine sim:latency=1ms,short=512%10 -b4K -s -o1 -d1 -W0 f").expect_code(0);
    assert_eq!(ran.stderr.matches("transferred fewer bytes").count(), 1, "{ran}");
}
