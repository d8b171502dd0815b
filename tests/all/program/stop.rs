//! Ctrl+C and SIGTERM in each phase, and events between processes (`-y`).

use std::time::{Duration, Instant};

use crate::support::HANG;
use crate::support::gate;
use crate::support::needs::{Need, has};
use crate::support::program::{INTERRUPTED, Lab, Ran, Running};
use crate::support::strict_text::{Parsed, parse};
use rustix::process::Signal;

fn lab_with_file() -> Lab {
    let lab = Lab::new();
    lab.run("-c1M -b4K -d1 -W0 -g1 f").expect_code(0);
    lab
}

/// The document behind the notice.
fn parsed_after_notice(ran: &Ran) -> Parsed {
    let rest = ran.stdout.strip_prefix(INTERRUPTED).unwrap_or_else(|| panic!("no notice\n{ran}"));
    parse(rest).unwrap_or_else(|fault| panic!("{fault}\n{ran}"))
}

fn assert_ends_soon(running: Running, signal: Signal) -> Ran {
    assert_ends_soon_with(0, running, signal)
}

/// With nothing measured, which no script may take for a success.
fn assert_ends_unmeasured(running: Running, signal: Signal) -> Ran {
    let ran = assert_ends_soon_with(1, running, signal).says(&["stopped before anything was measured\n"]);
    assert_eq!(ran.stdout, "", "{ran}");
    ran
}

fn assert_ends_soon_with(code: i32, running: Running, signal: Signal) -> Ran {
    let since = Instant::now();
    running.signal(signal);
    let ran = running.finish().expect_code(code);
    assert!(since.elapsed() < HANG, "{ran}");
    // It waited for no I/O that does not come back.
    ran.says_not(&["neither completed nor could be cancelled", " did not end within "])
}

#[test]
fn waiting_for_the_storage_after_a_test_of_buffered_writes() {
    let Some(gate) = gate::Gate::mappable() else { return };
    gate.hold_flushes();
    let path = gate.path().to_str().expect("UTF-8").to_string();
    for signal in [Signal::INT, Signal::TERM] {
        let lab = Lab::new();
        let running = lab.start(&format!("-b4K -w100 -f1M -d1 -W0 -g64 --overwrite {path} {path}"));
        running.wait_for_stderr("waiting until the storage has what it wrote to the page cache");
        assert_ends_soon(running, signal).says(&[
            "whether all that the test wrote to the page cache reaches the storage is not known",
            "the wait for the storage was stopped",
        ]);
    }
}

#[test]
fn waiting_for_the_start_event() {
    let lab = lab_with_file();
    for signal in [Signal::INT, Signal::TERM] {
        let mut running = lab.start("-d600 -W0 -yrnever f");
        running.wait_until("the workers are there", || threads(&running) >= 3);
        std::thread::sleep(Duration::from_millis(50));
        assert!(running.is_running(), "it waits");
        assert_ends_unmeasured(running, signal);
    }
}

fn threads(running: &Running) -> usize {
    std::fs::read_dir(format!("/proc/{}/task", running.id())).map_or(0, Iterator::count)
}

#[test]
fn during_warm_up() {
    let lab = lab_with_file();
    for (signal, words) in
        [(Signal::INT, ""), (Signal::TERM, ""), (Signal::INT, "-o1 -g1"), (Signal::INT, "-F2 -O4 -L -D")]
    {
        let running = lab.start(&format!("-v -d600 -W600 -b4K -r {words} f"));
        running.wait_for_stderr("starting warm up");
        let ran = assert_ends_unmeasured(running, signal);
        assert!(!ran.stderr.contains("ERROR"), "{ran}");
    }
}

/// In every format, with results in files, and of a profile with many time spans.
#[test]
fn nothing_measured_is_no_result() {
    let lab = lab_with_file();
    let span = "<TimeSpan><Duration>9</Duration><Warmup>600</Warmup><Targets><Target><Path>f</Path></Target></Targets>\
                </TimeSpan>";
    let profile = format!("<Profile><TimeSpans>{}</TimeSpans></Profile>", span.repeat(300));
    lab.write("many.xml", profile.as_bytes());
    for words in ["-Rxml f", "-Rjson f", "--json - f", "--json j --csv c --text t f", "-P1 f", "-Xmany.xml"] {
        let running =
            lab.start(&format!("-v {}{words}", if words.starts_with("-X") { "" } else { "-d9 -W600 " }));
        running.wait_for_stderr("starting warm up");
        assert_ends_unmeasured(running, Signal::INT).says_not(&["ERROR"]);
    }
    assert_eq!(lab.names(), ["f", "many.xml"], "no result was written");
}

/// Results with the time that was really measured.
#[test]
fn during_measurement() {
    let lab = lab_with_file();
    for (signal, words) in [
        (Signal::INT, "-L -D100"),
        (Signal::TERM, "-t2 -L"),
        (Signal::INT, "-o1"),
        (Signal::INT, "-g100i -D200 -L"),
        (Signal::INT, "-F2 -O4 -w0"),
        (Signal::TERM, "-Sm"),
        (Signal::INT, "-i1 -j20000 -o1"),
    ] {
        let running = lab.start(&format!("-v -P1 -d600 -W0 -b4K -r {words} f"));
        running.wait_for_ios();
        std::thread::sleep(Duration::from_millis(600));
        let ran = assert_ends_soon(running, signal);
        let parsed = parsed_after_notice(&ran);
        let result = parsed.results[0].as_ref().unwrap_or_else(|| panic!("measured\n{ran}"));
        let upper = ran.wall.as_secs_f64();
        assert!(result.time_s >= 0.59 && result.time_s < upper, "{words}: {} s\n{ran}", result.time_s);
        assert!(result.tables[0].total.ios > 0, "{words}\n{ran}");
        assert!(!ran.stderr.contains("ERROR"), "{ran}");
    }
}

/// The cool-down counts for nothing, so cutting it short changes nothing.
#[test]
fn during_cool_down() {
    let lab = lab_with_file();
    for signal in [Signal::INT, Signal::TERM] {
        let running = lab.start("-v -d1 -W0 -C600 -b4K -r -L f");
        running.wait_for_stderr("starting cool down");
        let ran = assert_ends_soon(running, signal);
        let parsed = parsed_after_notice(&ran);
        let result = parsed.results[0].as_ref().unwrap_or_else(|| panic!("measured\n{ran}"));
        assert_eq!(result.time_s, 1.0, "the full time\n{ran}");
    }
}

/// The notice must not spoil the XML.
#[test]
fn xml_stays_whole() {
    let lab = lab_with_file();
    let running = lab.start("-v -P1 -d600 -W0 -Rxml f");
    running.wait_for_ios();
    std::thread::sleep(Duration::from_millis(200));
    let ran = assert_ends_soon(running, Signal::INT);
    let document = roxmltree::Document::parse(&ran.stdout).unwrap_or_else(|e| panic!("{e}\n{ran}"));
    let time = document.descendants().find(|n| n.tag_name().name() == "TestTimeSeconds");
    let seconds: f64 =
        time.and_then(|n| n.text()).and_then(|t| t.parse().ok()).unwrap_or_else(|| panic!("{ran}"));
    assert!((0.1..600.0).contains(&seconds), "{ran}");
    assert!(ran.stderr.contains("*** Interrupted by Ctrl-C."), "{ran}");
}

/// Time spans that were not reached are reported as interrupted.
#[test]
fn between_time_spans() {
    let lab = lab_with_file();
    let target = "<Target><Path>f</Path><BlockSize>4096</BlockSize></Target>";
    let span = |duration: u32| {
        format!(
            "<TimeSpan><Duration>{duration}</Duration><Warmup>0</Warmup><Targets>{target}</Targets></TimeSpan>"
        )
    };
    let profile = format!("<Profile><TimeSpans>{}{}{}</TimeSpans></Profile>", span(1), span(600), span(600));
    lab.write("three.xml", profile.as_bytes());
    let running = lab.start("-Xthree.xml -v");
    running.wait_until("the second time span", || {
        running.stderr_so_far().matches("starting measurements").count() == 2
    });
    std::thread::sleep(Duration::from_millis(300));
    let ran = assert_ends_soon(running, Signal::INT);
    let parsed = parsed_after_notice(&ran);
    let times: Vec<Option<f64>> = parsed.results.iter().map(|r| r.as_ref().map(|r| r.time_s)).collect();
    assert!(matches!(times[..], [Some(1.0), Some(second), None] if second < 600.0), "{times:?}\n{ran}");
    assert!(parsed.totals.is_some());
}

/// The second Ctrl+C ends the process, whatever it is doing: here it waits for I/Os that do not come back.
#[test]
fn twice() {
    if !has(&[Need::Fuse]) {
        return;
    }
    let gate = gate::Gate::direct().expect("a file of known behaviour");
    let lab = Lab::new();
    // As XML: its notice is on standard error, and can be waited for.
    let line = "-v -Rxml -d600 -W0 -b4K -r -o8 -Su -B9M:2M";
    let mut command = lab.command(line);
    command.arg(gate.path());
    let running = Running::new(command, line);
    running.wait_for_stderr("starting measurements");
    gate.close();
    gate.wait_parked(8);
    running.signal(Signal::INT);
    running.wait_for_stderr("*** Interrupted by Ctrl-C.");
    // That comes later than a hand, or `timeout`, that means the same wish.
    running.wait_for_stderr(
        "note: stopping; waiting for this: I/Os that have not come back; press Ctrl+C again",
    );
    running.signal(Signal::TERM);
    // What the kernel holds of it can only end when the file answers.
    running.wait_until("its first thread is gone", || is_zombie(&running));
    gate.open_up();
    let ran = running.finish();
    assert_eq!(ran.status.code(), Some(128 + 15), "{ran}");
}

/// Its first thread has ended; others may be held by the kernel.
fn is_zombie(running: &Running) -> bool {
    let status =
        std::fs::read_to_string(format!("/proc/{}/status", running.id())).expect("it was not waited for");
    status.lines().any(|line| line.starts_with("State:\tZ"))
}

#[test]
fn start_event() {
    let lab = lab_with_file();
    let mut waiting = lab.start("-d1 -W0 -b4K -r -yrgo f");
    waiting.wait_until("the workers are there", || threads(&waiting) >= 3);
    std::thread::sleep(Duration::from_millis(100));
    assert!(waiting.is_running(), "it waits");
    lab.run("-yego").expect_code(0);
    let ran = waiting.finish().expect_code(0);
    let parsed = ran.text();
    assert_eq!(parsed.results[0].as_ref().map(|r| r.time_s), Some(1.0), "{ran}");
    // Nobody holds it any more.
    lab.run("-yego").expect_code(1).says(&["ERROR: -yego"]);
}

/// A run that starts when another has begun to measure, and one that starts when it has ended.
#[test]
fn started_and_finished_events() {
    let lab = lab_with_file();
    let on_start = lab.start("-v -d1 -W0 -b4K -r -yrbegun --json on_start f");
    let on_finish = lab.start("-v -d1 -W0 -b4K -r -yrended --json on_finish f");
    for waiting in [&on_start, &on_finish] {
        waiting.wait_until("the workers are there", || threads(waiting) >= 3);
    }
    std::thread::sleep(Duration::from_millis(100));
    let leader = lab.run("-d5 -W1 -b4K -r -ysbegun -yfended --json leader f").expect_code(0);
    assert_eq!(leader.text().results[0].as_ref().map(|r| r.time_s), Some(5.0));
    on_start.finish().expect_code(0);
    on_finish.finish().expect_code(0);
    // Each tells when it measured, by its own reading of the clock.
    let window = |name: &str, edge: &str| -> f64 {
        let document: serde_json::Value = serde_json::from_slice(&lab.read(name)).expect("JSON");
        let window = &document["result"]["time_spans"][0]["measured"]["evidence"]["window"];
        window[edge].as_u64().unwrap_or_else(|| panic!("no {edge} of {name}: {window}")) as f64 / 1e9
    };
    let (start, end) = (window("leader", "start_unix_ns"), window("leader", "end_unix_ns"));
    let readings_differ_s = 0.05;
    let on_start = window("on_start", "start_unix_ns");
    assert!(on_start > start - readings_differ_s, "{on_start}: not before the leader measures, at {start}");
    assert!(on_start < end, "{on_start}: not only when it has measured, at {end}");
    let on_finish = window("on_finish", "start_unix_ns");
    assert!(on_finish > end - readings_differ_s, "{on_finish}: not before the leader has measured, at {end}");
}

/// The stop event ends a run, and Ctrl+C sets it for all that share it.
#[test]
fn stop_event() {
    let lab = lab_with_file();
    let running = lab.start("-v -P1 -d600 -W0 -b4K -r -ypenough f");
    running.wait_for_ios();
    lab.run("-yeenough").expect_code(0);
    let ran = running.finish().expect_code(0);
    let time = ran.text().results[0].as_ref().map(|r| r.time_s);
    assert!(time.is_some_and(|s| s < 600.0), "{ran}");

    let first = lab.start("-v -P1 -d600 -W0 -b4K -r -ypenough f");
    let second = lab.start("-v -P1 -d600 -W0 -b4K -r -ypenough f");
    for running in [&first, &second] {
        running.wait_for_ios();
    }
    first.signal(Signal::INT);
    parsed_after_notice(&first.finish().expect_code(0));
    let ran = second.finish().expect_code(0);
    let time = ran.text().results[0].as_ref().map(|r| r.time_s);
    assert!(time.is_some_and(|s| s < 600.0), "stopped by the other's Ctrl+C\n{ran}");
}

/// Set stays set for whoever comes, and is gone with the last one that held it.
#[test]
fn events_last_as_long_as_their_holders() {
    let lab = lab_with_file();
    let waits = |name: &str| {
        let running = lab.start(&format!("-v -P1 -d600 -W0 -b4K -r -yr{name} f"));
        running.wait_until("the workers are there", || threads(&running) >= 3);
        std::thread::sleep(Duration::from_millis(100));
        assert!(!running.stderr_so_far().contains("starting"), "it waits");
        running
    };
    let first = waits("go");
    lab.run("-yego").expect_code(0);
    first.wait_for_ios();
    let second = lab.start("-v -d1 -W0 -b4K -r -yrgo f");
    second.wait_for_stderr("starting measurements");
    assert_ends_soon(first, Signal::INT);
    second.finish().expect_code(0);
    let third = waits("go");
    // Killed, it holds nothing any more.
    third.signal(Signal::KILL);
    third.finish().expect_signal(9);
    lab.run("-yego").expect_code(1);
    let fourth = waits("go");
    assert_ends_unmeasured(fourth, Signal::INT);
}

#[test]
fn events_that_nobody_holds() {
    let lab = Lab::new();
    let ran = lab.run("-yenobody").expect_code(1).says(&["ERROR: -yenobody", "nobody"]);
    assert_eq!(ran.stdout, "");
    // A refused line sets nothing.
    lab.run("-yenobody -q").refused(3, &["-q"]);
}
