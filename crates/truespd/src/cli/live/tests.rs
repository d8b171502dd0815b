//! Pictures of runs on screens of several sizes.

use jiff::tz::TimeZone;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::Model;
use super::draw::{Appearance, draw};
use super::plain::Plain;
use truespd_front::telemetry::Heard;

/// The beginning of a time of an event, for second 0 of a run on.
fn line(second: u32, event: &str) -> String {
    format!(r#"{{"time":"2026-11-23T12:{:02}:{:02}.000Z",{event}}}"#, second / 60, second % 60)
}

/// The progress at a second of a run of 60 s with a rate that goes up and down.
fn progress(second: u32) -> String {
    let iops = 80_000.0 + 20_000.0 * f64::from(second * 7 % 11) / 11.0;
    let latency_s = 32.0 / iops;
    let phase = if second <= 5 { "warm-up" } else { "measurement" };
    line(
        second,
        &format!(
            r#""event":"progress","phase":"{phase}","time_span":1,"time_spans":1,"elapsed_s":{second},"left_s":{},"ios":1,"bytes":1,"iops":{iops},"bytes_per_s":{},"latency_mean_s":{latency_s},"in_flight_mean":32.0,"processors_busy_percent":54.25,"disks":[{{"name":"nvme0n1","reads_per_s":{iops},"read_bytes_per_s":{},"writes_per_s":3,"write_bytes_per_s":12288,"latency_mean_s":0.00035,"in_flight_mean":31.2}}]"#,
            65 - second,
            iops * 4096.0,
            iops * 4096.0
        ),
    )
}

/// A run of half its time, with words of each weight.
fn run() -> Vec<String> {
    let begin = line(
        0,
        r#""event":"begin","command_line":["truespd run","--live","-b4K","-r","-o32","-d60","-L","/data/a file"]"#,
    );
    let mut lines = vec![
        begin,
        line(0, r#""event":"fill","path":"/data/a file","done_bytes":1073741824,"total_bytes":4294967296"#),
    ];
    lines.extend((1..31).map(progress));
    lines.push(line(30, r#""event":"note","says":"'/data/a file' was made in 3.1 s""#));
    lines.push(line(
        31,
        r#""event":"warning","says":"another run (process 4711 on this machine) writes to '/data/a file' at the same time, so neither of them measures what it would measure alone""#,
    ));
    lines
}

/// The same on three hosts, one of which tells nothing just now.
fn run_on_hosts() -> Vec<String> {
    let hosts = r#","hosts":{"hosts":3,"told":2,"slowest":{"host":"b","iops":12345.6},"fastest":{"host":"node-a.example","iops":56789}}}"#;
    let with_hosts = |line: String| {
        if line.contains(r#""progress""#) {
            line.strip_suffix('}').expect("an object").to_string() + hosts
        } else {
            line
        }
    };
    run().into_iter().map(with_hosts).collect()
}

/// A series in its third step.
fn series() -> Vec<String> {
    let mut lines = vec![line(0, r#""event":"begin","command_line":["truespd","mark","--live","/data"]"#)];
    let result = |verdict: &str, rule: &str| {
        format!(
            r#""event":"result","verdict":"{verdict}","findings":[{{"rule":"{rule}","grade":"{verdict}","says":"The page cache answered 98 % of the reads."}}],"time_spans":[{{"test_time_s":5,"read":{{"ios":5000,"bytes":5242880000,"iops":1000,"bytes_per_s":1048576000,"latency_mean_s":0.008,"latency_p99_s":0.0123}},"write":{{"ios":0,"bytes":0,"iops":0,"bytes_per_s":0}}}}]"#
        )
    };
    lines.push(line(
        0,
        r#""event":"step","name":"SEQ1M-Q8T1 read, 1 of 5","planned_s":6,"runs_ahead":19,"ahead_s":190"#,
    ));
    lines.push(line(1, &result("suspect", "steal")));
    lines.push(line(
        1,
        r#""event":"step","name":"SEQ1M-Q8T1 read, 2 of 5","planned_s":6,"runs_ahead":18,"ahead_s":180"#,
    ));
    lines.push(line(2, &result("invalid", "served-from-cache")));
    lines.push(line(
        2,
        r#""event":"step","name":"SEQ1M-Q8T1 read, 3 of 5","planned_s":6,"runs_ahead":17,"ahead_s":170"#,
    ));
    lines.extend((3..12).map(progress));
    lines
}

/// A run of a second that trims, beside so many reads a second.
fn trims(iops: u32) -> Vec<String> {
    let at = |second: u32| {
        let progress = format!(
            r#""event":"progress","phase":"measurement","time_span":1,"time_spans":1,"elapsed_s":{second},"left_s":9,"ios":{iops},"bytes":1,"trim":{{"ios":{},"bytes":1,"iops":1500.0,"bytes_per_s":98304000}},"iops":{iops},"bytes_per_s":{},"latency_mean_s":0.002,"in_flight_mean":3.0"#,
            1500 * second,
            iops * 4096
        );
        line(second, &progress)
    };
    let sum = |iops: u32| {
        format!(r#"{{"ios":{iops},"bytes":1,"iops":{iops},"bytes_per_s":98304000,"latency_mean_s":0.002}}"#)
    };
    let result = format!(
        r#""event":"result","findings":[],"time_spans":[{{"test_time_s":5,"read":{},"write":{},"trim":{}}}]"#,
        sum(iops),
        sum(0),
        sum(1500)
    );
    let begin = r#""event":"begin","command_line":["truespd run","--live","--trim","20","a"]"#;
    vec![line(0, begin), at(1), at(2), at(3), line(3, &result)]
}

/// Nothing that only trims looks as if it did nothing.
#[test]
fn trims_stand_beside_the_others_or_alone() {
    let only = picture(&trims(0), 60, 20, &appearance(true));
    for row in ["trims/s                  1,500        1,500", "trimmed             93.8 MiB/s", "this run"] {
        assert!(only.contains(row), "{row}: {only}");
    }
    assert!(only.contains("trims/s          0 to 1,500, the last 3 s"), "{only}");
    assert!(!only.contains("\nIOPS ") && !only.contains("\nthroughput"), "{only}");
    let both = picture(&trims(800), 60, 20, &appearance(true));
    for row in
        ["IOPS                       800", "trims/s                  1,500", "IOPS             0 to 800"]
    {
        assert!(both.contains(row), "{row}: {both}");
    }
    let said = |iops| {
        let (mut model, mut plain) = (Model::default(), Plain::new(TimeZone::UTC));
        let mut text = String::new();
        for line in trims(iops) {
            let heard = Heard::read(&line).expect("an event");
            model.take(heard.clone());
            text.push_str(&plain.line(&heard, &model).unwrap_or_default());
        }
        text
    };
    let (only, both) = (said(0), said(800));
    let told = "1,500 trims/s, 93.8 MiB/s trimmed, mean latency 2 ms";
    assert!(only.contains(&format!("0:09 left, {told}")), "{only}");
    assert!(both.contains("0:09 left, 800 IOPS, ") && both.contains(&format!("/s, {told}")), "{both}");
    assert!(only.contains("result: trims 1,500 IOPS, 93.8 MiB/s, mean 2 ms"), "{only}");
    assert!(both.contains("result: reads 800 IOPS, 93.8 MiB/s, mean 2 ms, trims 1,500 IOPS"), "{both}");
}

fn appearance(is_ascii: bool) -> Appearance {
    Appearance { has_colour: false, is_ascii, zone: TimeZone::UTC, silent_s: 0, keys: "Ctrl+C ends the run" }
}

fn model(lines: &[String]) -> Model {
    let mut model = Model::default();
    lines
        .iter()
        .for_each(|line| model.take(Heard::read(line).unwrap_or_else(|error| panic!("{line}: {error}"))));
    model
}

/// The screen as text; rows without the blanks at their ends.
fn picture(lines: &[String], columns: u16, rows: u16, appearance: &Appearance) -> String {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).expect("no terminal is needed");
    let model = model(lines);
    terminal.draw(|frame| draw(frame, &model, appearance)).expect("no terminal is needed");
    let buffer = terminal.backend().buffer();
    let row = |y: u16| (0..columns).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..rows).map(|y| row(y).trim_end().to_string() + "\n").collect()
}

#[test]
fn a_run_on_80_by_24() {
    insta::assert_snapshot!(picture(&run(), 80, 24, &appearance(false)));
}

#[test]
fn a_run_on_200_by_60() {
    insta::assert_snapshot!(picture(&run(), 200, 60, &appearance(false)));
}

#[test]
fn a_run_on_three_hosts() {
    insta::assert_snapshot!(picture(&run_on_hosts(), 80, 24, &appearance(false)));
    let narrow = picture(&run_on_hosts(), 40, 24, &appearance(true));
    assert!(narrow.contains("\n2 of 3 hosts\n"), "the rest is left out whole: {narrow}");
}

#[test]
fn a_run_on_a_small_screen() {
    insta::assert_snapshot!(picture(&run(), 40, 10, &appearance(true)));
}

#[test]
fn a_series_on_80_by_24() {
    insta::assert_snapshot!(picture(&series(), 80, 24, &appearance(false)));
}

#[test]
fn plain_characters_only_where_the_terminal_knows_no_others() {
    for lines in [run(), run_on_hosts(), series()] {
        let text = picture(&lines, 100, 40, &appearance(true));
        assert!(text.is_ascii(), "{text}");
    }
}

#[test]
fn every_size_is_drawn() {
    for lines in [Vec::new(), run()[..2].to_vec(), run(), run_on_hosts(), series()] {
        for (columns, rows) in [(1, 1), (5, 3), (17, 8), (18, 9), (30, 100), (300, 2), (79, 19)] {
            picture(&lines, columns, rows, &appearance(false));
        }
    }
}

#[test]
fn a_file_that_is_written_and_a_run_that_says_nothing() {
    let text = picture(&run()[..2], 80, 12, &Appearance { silent_s: 7, ..appearance(true) });
    assert!(text.contains("writing '/data/a file', 1 GiB of 4 GiB, nothing told for 7 s  ####"), "{text}");
}

#[test]
fn lines_where_there_is_no_screen() {
    let (mut model, mut plain) = (Model::default(), Plain::new(TimeZone::UTC));
    let mut text = String::new();
    for line in run().iter().chain(&run_on_hosts()).chain(&series()) {
        let heard = Heard::read(line).expect("an event");
        model.take(heard.clone());
        text.push_str(&plain.line(&heard, &model).unwrap_or_default());
    }
    insta::assert_snapshot!(text);
}
