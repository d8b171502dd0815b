use super::*;
use crate::suite::Step;
use crate::suite::SuiteDocument;
use crate::suite::workload::sweep::Of;
use diskspd::request::{Line, Request};
use truespd_core::measure::Histogram;
use truespd_core::profile::{Profile, Target, Throughput, TimeSpan};
use truespd_core::result::TimeSpanResult;
use truespd_core::result::envelope::{read, schema, write};
use truespd_core::result::{Direction, FindingGrade, Grade, Measured, TargetResult, ThreadResult, Verdict};
use truespd_core::text::grouped;

const TIMES: Times = Times { warmup_s: 1, duration_s: 10, cooldown_s: 0 };

fn plan(work: Work) -> Plan {
    Plan {
        name: "oltp".into(),
        about: "transactions".into(),
        source: "here".into(),
        create: Some("-c1M".into()),
        targets: vec!["/m/data-1".into()],
        times: TIMES,
        work,
    }
}

fn target_result(path: &str, read: Direction, write: Direction) -> TargetResult {
    TargetResult {
        path: path.into(),
        size_bytes: 1 << 20,
        read,
        write,
        distribution: None,
        short_transfers: 0,
        ..TargetResult::default()
    }
}

fn direction(ios: u64, latency_ns: u64, response_ns: Option<u64>) -> Direction {
    let histogram = |ns| {
        let mut histogram = Histogram::new();
        (0..ios.min(100)).for_each(|_| histogram.record(ns));
        histogram
    };
    Direction {
        ios,
        bytes: ios * 8192,
        latency: Some(Box::new(histogram(latency_ns))),
        response: response_ns.map(histogram).map(Box::new),
        ..Direction::default()
    }
}

fn document(span: TimeSpan, threads: Vec<Vec<TargetResult>>, verdict: Verdict) -> Document {
    let threads = threads.into_iter().zip(0..);
    let threads = threads
        .map(|(targets, id)| ThreadResult { id, source: None, targets, waits: Default::default() })
        .collect();
    let measured = Measured { test_time_s: 10.0, threads, ..Measured::default() };
    Document {
        profile: Profile { time_spans: vec![span], ..Profile::default() },
        time_spans: vec![TimeSpanResult::Measured(Box::new(measured))],
        verdict: Some(verdict),
        ..Document::default()
    }
}

/// Storage of 8,000 IOPS, quick up to `knee`, that the person leaves after `runs` runs.
struct Storage {
    knee: f64,
    runs: usize,
    lines: Vec<String>,
    ahead: Vec<usize>,
    /// Runs before each pause.
    pauses: Vec<(usize, Duration)>,
    /// The person leaves in the pause.
    leaves: bool,
    /// At rates nothing is completed.
    is_dead: bool,
}

impl Storage {
    fn new(knee: f64) -> Self {
        Storage {
            knee,
            runs: usize::MAX,
            lines: Vec::new(),
            ahead: Vec::new(),
            pauses: Vec::new(),
            leaves: false,
            is_dead: false,
        }
    }
}

impl Runner for Storage {
    fn line(&mut self, words: Vec<String>) -> Result<Line, Ended> {
        Ok(Line::new(words, Request::default()))
    }

    fn run(&mut self, step: &Step) -> Result<Document, Ended> {
        if self.lines.len() == self.runs {
            return Err(Ended::Stopped);
        }
        self.lines.push(step.line.words().join(" "));
        let rate = step
            .line
            .words()
            .iter()
            .find_map(|word| word.strip_prefix("-g")?.strip_suffix('i')?.parse::<u64>().ok());
        let target = Target { write_percent: 30, request_count: 8, threads_per_file: 4, ..Target::default() };
        let span = TimeSpan { targets: vec![target], ..TimeSpan::default() };
        let (iops, response) = match rate {
            None => (8000.0, None),
            Some(rate) => {
                let offered = rate as f64 * 4.0;
                (offered.min(8000.0), Some(if offered <= self.knee { 2_000_000 } else { 30_000_000 }))
            }
        };
        let ios = if self.is_dead && rate.is_some() { 0 } else { (iops * 10.0 / 4.0) as u64 };
        let thread =
            || vec![target_result("/m/data-1", direction(ios, 1_000_000, response), Direction::default())];
        Ok(document(span, vec![thread(), thread(), thread(), thread()], Verdict::default()))
    }

    fn pause(&mut self, length: Duration) -> Result<(), Ended> {
        self.pauses.push((self.lines.len(), length));
        if self.leaves { Err(Ended::Stopped) } else { Ok(()) }
    }

    fn ahead(&mut self, ahead: Ahead) {
        self.ahead.push(ahead.steps);
    }

    fn tell(&mut self, _: &str) {}
}

fn search() -> Plan {
    let line = ["-b8K", "-r", "-t4", "-L"].map(str::to_string).to_vec();
    plan(Work::Search { line, limit: LatencyLimit::new(Of::P99, 10.0).unwrap(), streams: 4, outstanding: 32 })
}

#[test]
fn the_highest_rate_under_the_limit_is_found_and_shown() {
    let mut storage = Storage::new(5000.0);
    let (outcome, result) = search().run(&mut storage);
    assert_eq!(result, Ok(()));
    assert_eq!(storage.lines[0], "-c1M -b8K -r -t4 -L -W1 -d10 -C0 /m/data-1");
    assert_eq!(storage.lines[1], "-c1M -b8K -r -t4 -L -g200i -W1 -d10 -C0 /m/data-1");
    assert!(storage.ahead.iter().all(|&steps| steps >= 1), "{:?}", storage.ahead);
    let found = outcome.search.as_ref().unwrap();
    let Some(SearchEnd::Found(rate)) = found.end else { panic!("{found:?}") };
    assert!(rate * 4 <= 5000 && rate * 4 + 200 >= 5000, "{rate}");
    let text = outcome.tables(120);
    assert!(
        text.contains(&format!("highest rate within the limit: {} IOPS (p99 2", grouped(rate * 4))),
        "{text}"
    );
    assert!(text.contains("% of the 8,000 IOPS without a limit"), "{text}");
    // Rates that break the limit go beyond the bar's end.
    assert!(text.lines().any(|line| line.contains(" no ") && line.ends_with('>')), "{text}");
    let judged = storage.lines.len();
    assert_eq!((outcome.verdict.grade, outcome.verdict.runs), (Some(Grade::Certified), judged));
    let stored: Outcome = read(write(&outcome).as_bytes()).unwrap();
    let parts = outcome.parts();
    assert_eq!(stored.parts(), parts, "also of the stored one");
    let highest = parts.last().unwrap();
    assert!(highest.name.contains(", highest rate with p99 up to 10 ms"), "{parts:?}");
    assert_eq!(highest.figures.get("iops"), Some(&((rate * 4) as f64)));
    assert!(parts.len() > 1 && parts.iter().all(|part| part.profile == highest.profile), "{parts:?}");
    assert_eq!(stored.search.unwrap().points.len(), found.points.len());
}

#[test]
fn storage_that_is_never_quick_enough_is_told() {
    let (outcome, _) = search().run(&mut Storage::new(0.0));
    let text = outcome.tables(120);
    assert!(text.contains("no rate keeps p99 within 10 ms: at "), "{text}");
}

#[test]
fn where_every_rate_keeps_the_limit_what_is_outstanding_is_named() {
    let (outcome, _) = search().run(&mut Storage::new(1e9));
    let found = outcome.search.as_ref().unwrap();
    let Some(SearchEnd::AllKeepIt(rate)) = found.end else { panic!("{found:?}") };
    assert!(rate * 4 >= 7700, "{rate}");
    let text = outcome.tables(120);
    assert!(text.contains(&format!("highest rate within the limit: {} IOPS", grouped(rate * 4))), "{text}");
    assert!(
        text.contains(
            "the 32 outstanding I/Os are what ends the search, not the limit; a preset of \
        your own with a larger -o"
        ),
        "{text}"
    );
    assert!(text.contains("the limit was kept at every rate tried: the 32"), "{text}");
    assert!(write(&outcome).contains("\"all_keep_it\": "), "{}", write(&outcome));
    // The table says "no" of a rate that was not reached.
    let mut missed = outcome.clone();
    missed.search.as_mut().unwrap().points[0].is_reached = false;
    assert!(
        missed.tables(120).contains("broke the limit, but some were not reached: the 32"),
        "{}",
        missed.tables(120)
    );
    // A rate that is missed, though its answers come in time, broke no limit; one whose answers are late did.
    let point = |per_stream, is_within, held_ms| Point { per_stream, is_within, held_ms, ..found.points[0] };
    let end = |points: &[Point]| SearchEnd::of(Next::Found(5), found.limit, points);
    assert_eq!(end(&[point(5, true, 2.0), point(6, false, 3.0)]), SearchEnd::AllKeepIt(5));
    assert_eq!(end(&[point(5, true, 2.0), point(6, false, 30.0)]), SearchEnd::Found(5));
}

#[test]
fn the_storage_settles_before_the_first_rate() {
    let mut storage = Storage::new(5000.0);
    let _ = search().run(&mut storage);
    assert_eq!(storage.pauses, [(1, Duration::from_secs(5))]);
    let (outcome, result) = search().run(&mut Storage { leaves: true, ..Storage::new(5000.0) });
    assert_eq!(result, Err(Ended::Stopped));
    assert!(outcome.tables(120).ends_with("stopped before it was decided\n"), "{}", outcome.tables(120));
}

#[test]
fn what_has_no_answer_says_why_and_how_far_it_came() {
    let (outcome, result) = search().run(&mut Storage { is_dead: true, ..Storage::new(5000.0) });
    assert_eq!((result, outcome.search.as_ref().unwrap().end), (Ok(()), Some(SearchEnd::NoIo(200))));
    let text = outcome.tables(120);
    assert!(text.contains("undecided: no I/O was completed in the run at 800 IOPS"), "{text}");
    assert!(!text.contains("stopped"), "{text}");
    let (mut outcome, _) = search().run(&mut Storage::new(5000.0));
    let search = outcome.search.as_mut().unwrap();
    search.end = Some(SearchEnd::GaveUp);
    let runs = search.points.len();
    let best = search.points.iter().filter(|p| p.is_within).map(|p| p.per_stream * 4).max().unwrap();
    let text = outcome.tables(120);
    assert!(text.contains(&format!("undecided after {runs} runs: ")), "{text}");
    assert!(
        text.contains(&format!("the highest rate that kept the limit so far: {best} IOPS (in 2 of 2 runs)")),
        "{text}"
    );
}

#[test]
fn a_presets_words_are_no_terminal_commands() {
    let plan = Plan { about: "a\u{1b}[2Jb".into(), source: "c\rd".into(), ..search() };
    let text = plan.run(&mut Storage::new(5000.0)).0.tables(120);
    assert!(text.contains("a\\u{1b}[2Jb") && text.contains("c\\rd"), "{text}");
}

#[test]
fn what_is_done_is_kept() {
    let mut storage = Storage { runs: 3, ..Storage::new(5000.0) };
    let (outcome, result) = search().run(&mut storage);
    assert_eq!(result, Err(Ended::Stopped));
    let text = outcome.tables(120);
    assert_eq!(outcome.search.as_ref().unwrap().points.len(), 2);
    assert!(
        outcome.has_figures() && text.contains("stopped before it was decided; the highest rate"),
        "{text}"
    );
    let (outcome, _) = search().run(&mut Storage { runs: 0, ..Storage::new(5000.0) });
    assert!(!outcome.has_figures());
}

/// A fixed answer.
struct One(Option<Document>);

impl Runner for One {
    fn line(&mut self, words: Vec<String>) -> Result<Line, Ended> {
        Ok(Line::new(words, Request::default()))
    }

    fn run(&mut self, _: &Step) -> Result<Document, Ended> {
        self.0.take().ok_or(Ended::Stopped)
    }

    fn pause(&mut self, _: Duration) -> Result<(), Ended> {
        Ok(())
    }

    fn ahead(&mut self, _: Ahead) {}

    fn tell(&mut self, _: &str) {}
}

#[test]
fn targets_of_a_profile_stand_apart_also_on_one_file() {
    let target = |block_bytes, write_percent, threads_per_file| Target {
        path: "/m/x".into(),
        block_bytes,
        write_percent,
        threads_per_file,
        ..Target::default()
    };
    let log = Target { throughput: Some(Throughput::Iops(5)), ..target(32 << 10, 100, 1) };
    let span = TimeSpan { targets: vec![target(8 << 10, 30, 2), log], ..TimeSpan::default() };
    let none = Direction::default;
    let threads = vec![
        vec![target_result("/m/x", direction(700, 1_000_000, None), direction(300, 2_000_000, None))],
        vec![target_result("/m/x", direction(700, 1_000_000, None), direction(300, 2_000_000, None))],
        vec![target_result("/m/x", none(), direction(50, 3_000_000, Some(4_000_000)))],
    ];
    let document = document(span, threads, Verdict { grade: Grade::Invalid, ..Verdict::default() });
    let profile = Box::new(document.profile.clone());
    let plan = plan(Work::Profile { path: "/s/p.xml".into(), profile });
    assert_eq!(plan.steps()[0].words, ["-X/s/p.xml", "-W1", "-d10", "-C0", "/m/data-1"]);
    let (outcome, result) = plan.run(&mut One(Some(document)));
    assert_eq!(result, Ok(()));
    let rows: Vec<(&str, &str, f64)> =
        outcome.runs[0].rows.iter().map(|r| (r.what.as_str(), r.direction.as_str(), r.iops)).collect();
    assert_eq!(
        rows,
        [
            ("8KiB sequential", "read", 140.0),
            ("8KiB sequential", "write", 60.0),
            ("32KiB sequential, 5/s a thread", "write", 5.0),
            ("all", "total", 205.0)
        ]
    );
    let log = &outcome.runs[0].rows[2];
    assert!(log.is_response && (log.latency.as_ref().unwrap().mean_ns - 4e6).abs() < 1e4, "{log:?}");
}

#[test]
fn an_invalid_run_is_marked_in_every_line() {
    let finding = truespd_core::result::Finding {
        rule: "served-from-cache".into(),
        grade: FindingGrade::Invalid,
        says: "a cache answered".into(),
        ..Default::default()
    };
    let verdict = Verdict { grade: Grade::Invalid, findings: vec![finding], ..Verdict::default() };
    let span = TimeSpan {
        targets: vec![Target { threads_per_file: 1, ..Target::default() }],
        ..TimeSpan::default()
    };
    let threads = vec![vec![target_result("/m/x", direction(100, 1, None), Direction::default())]];
    let work = Work::Lines(vec![vec!["-r".into()]]);
    let (outcome, _) = plan(work).run(&mut One(Some(document(span, threads, verdict))));
    let text = outcome.tables(120);
    assert!(
        text.lines().any(|line| line.contains("64KiB sequential") && line.ends_with("INVALID")),
        "{text}"
    );
    let told = &outcome.verdict.findings[0];
    assert_eq!((told.grade, told.of[0].what.as_str()), (FindingGrade::Invalid, "oltp"));
}

#[test]
fn the_published_schema_is_that_of_the_types() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schema/workload-v1.json");
    let published = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        published == schema::<Outcome>(),
        "publish it anew: truespd schema workload > schema/workload-v1.json"
    );
}

#[test]
fn rows_of_a_sum_hold_what_all_ranks_did() {
    let target = |path: &str, threads_per_file, write_percent| Target {
        path: path.into(),
        threads_per_file,
        write_percent,
        ..Target::default()
    };
    let reads = |ios| direction(ios, 1_000, None);
    let thread = |source: u32, targets| ThreadResult {
        id: 0,
        source: Some(source),
        targets,
        waits: Default::default(),
    };
    let data = |ios| target_result("/m/data", reads(ios), Direction::default());
    let log = |ios| target_result("/m/log", Direction::default(), reads(ios));
    let span =
        TimeSpan { targets: vec![target("/m/data", 2, 0), target("/m/log", 1, 100)], ..TimeSpan::default() };
    let ios_of = |span: &TimeSpan, threads: Vec<ThreadResult>| {
        let measured = Measured { test_time_s: 1.0, threads, ..Measured::default() };
        rows_of(span, &measured, "").iter().map(|row| row.iops).collect::<Vec<_>>()
    };
    let apart =
        (0..2).flat_map(|rank| [data(1), data(10), log(100)].map(|of_thread| thread(rank, vec![of_thread])));
    assert_eq!(ios_of(&span, apart.collect()), [22.0, 200.0, 222.0]);
    let of_each = (0..2).map(|rank| thread(rank, vec![data(11), log(100)]));
    assert_eq!(ios_of(&span, of_each.collect()), [22.0, 200.0, 222.0], "the threads of each rank are one");
    let all = ThreadResult { source: None, ..thread(0, vec![data(22), log(200)]) };
    assert_eq!(ios_of(&span, vec![all]), [22.0, 200.0, 222.0], "all threads are one");
    let one_path = TimeSpan { targets: vec![target("/m/a", 2, 0), target("/m/a", 1, 100)], ..span };
    let mixed = target_result("/m/a", reads(11), reads(100));
    let of_each = (0..2).map(|rank| thread(rank, vec![mixed.clone()]));
    assert_eq!(ios_of(&one_path, of_each.collect()), [222.0], "no longer known apart");
}
