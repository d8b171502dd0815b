use super::*;
use crate::answer::shown::tests::shown;
use crate::ask::SuiteDocument;
use crate::ask::find_max::limits::{LatencyLimit, Of};
use crate::ask::find_max::run::Searching;
use crate::ask::find_max::search::SearchEnd;
use crate::ask::find_max::trial::Point;
use crate::runner::Step;
use diskspd::request::{Line, Request};
use std::time::Duration;
use truespd_core::measure::slices::{BUCKETS, Slice, bucket_of};
use truespd_core::measure::{Histogram, LatencySlices};
use truespd_core::profile::{Profile, Target, Throughput, TimeSpan};
use truespd_core::result::TimeSpanResult;
use truespd_core::result::envelope::{read, write};
use truespd_core::result::schema;
use truespd_core::result::{Direction, FindingGrade, Grade, Measured, TargetResult, ThreadResult, Verdict};
use truespd_platform::text::grouped;

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
        flush_p99_ms: None,
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
        (0..ios.min(5_000)).for_each(|_| histogram.record(ns));
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
        // Beyond what it carries, all of the 32 outstanding I/Os are in flight: Little's law.
        let is_full = rate.is_some_and(|rate| rate * 4 > 8000);
        let in_time = if is_full { 4_000_000 } else { 1_000_000 };
        let latency = response.filter(|response| *response > 2_000_000).unwrap_or(in_time);
        let mut thread = target_result("/m/data-1", direction(ios, latency, response), Direction::default());
        thread.offered_ios = rate.map(|rate| rate * 10);
        let threads = vec![vec![thread.clone()], vec![thread.clone()], vec![thread.clone()], vec![thread]];
        let mut document = document(span, threads, Verdict::default());
        if let (Some(response), [TimeSpanResult::Measured(measured)]) =
            (response, &mut document.time_spans[..])
        {
            let mut counts = [0; BUCKETS];
            counts[bucket_of(response)] = ios * 4 / 200;
            let slice = [Slice::of(&counts), Slice::default()];
            measured.response_over_time = Some(LatencySlices::new(50_000_000, vec![slice; 200]));
        }
        Ok(document)
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
    plan(Work::Search(Box::new(Searching {
        name: "oltp".into(),
        line: ["-c1M", "-b8K", "-r", "-t4", "-L"].map(str::to_string).to_vec(),
        times: TIMES.words().into(),
        has_seed: false,
        arrivals: "poisson".into(),
        targets: vec!["/m/data-1".into()],
        run_s: 11.0,
        measured_s: 10.0,
        limits: vec![LatencyLimit::new(Of::P99, 10.0).unwrap()],
        precision_percent: 5.0,
        time_max_s: 3600.0,
        streams: 4,
        outstanding: 32,
        writes: false,
    })))
}

#[test]
fn the_highest_rate_under_the_limit_is_found_and_shown() {
    let mut storage = Storage::new(5000.0);
    let (outcome, result) = search().run(&mut storage);
    assert_eq!(result, Ok(()));
    assert_eq!(storage.lines[0], "-c1M -b8K -r -t4 -L -W1 -d10 -C0 /m/data-1");
    assert_eq!(
        storage.lines[1],
        "-c1M -b8K -r -t4 -L -g200i --arrivals poisson -z10000 -W1 -d10 -C0 /m/data-1"
    );
    assert!(storage.lines[2].contains(" -z20000 "), "other I/Os in each run: {}", storage.lines[2]);
    assert!(storage.ahead.iter().all(|&steps| steps >= 1), "{:?}", storage.ahead);
    let found = outcome.search.as_ref().unwrap();
    let Some(SearchEnd::Found(rate)) = found.end else { panic!("{found:?}") };
    let upper = found.upper.unwrap();
    assert!(rate * 4 <= 5000 && upper.iops > 5000 && upper.iops - rate * 4 <= upper.iops / 20, "{found:?}");
    let text = text_of(&outcome);
    let answer = format!("highest rate: between {} (kept 2 of 2) and ", grouped(rate * 4));
    assert!(text.contains(&answer) && text.contains(" IOPS at p99 <= 10 ms\n"), "{text}");
    assert!(text.contains("IOPS without a limit            8,000\n"), "{text}");
    // Rates that break the limit by far fill the bar.
    let full = "█".repeat(20);
    assert!(text.lines().any(|line| line.contains(" no ") && line.ends_with(&full)), "{text}");
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

fn text_of(outcome: &Outcome) -> String {
    outcome.text(shown(400, true))
}

/// Documents of the search that workloads had before.
#[test]
fn searches_of_earlier_versions_are_read_and_shown_as_they_were() {
    let stored = include_bytes!("../../../../../tests/data/documents/suites/workload.json");
    let outcome: Outcome = read(stored).unwrap();
    let search = outcome.search.as_ref().unwrap();
    assert!(search.lower.is_none() && search.points.iter().all(|point| point.trial.is_none()));
    let text = text_of(&outcome);
    assert!(text.contains("highest rate within the limit: "), "{text}");
    assert!(text.contains(" kept in two runs or more), "), "{text}");
    let mut all = outcome.clone();
    let Some(SearchEnd::Found(rate)) = search.end else { panic!("{:?}", search.end) };
    all.search.as_mut().unwrap().end = Some(SearchEnd::AllKeepIt(rate));
    assert!(text_of(&all).contains("are what ends the search, not the limit"), "{}", text_of(&all));
    all.search.as_mut().unwrap().end = Some(SearchEnd::GaveUp);
    assert!(text_of(&all).contains("runs at the same rate disagree"), "{}", text_of(&all));
}

#[test]
fn storage_that_is_never_quick_enough_is_told() {
    let (outcome, _) = search().run(&mut Storage::new(0.0));
    let text = text_of(&outcome);
    assert!(text.contains("no rate keeps p99 within 10 ms: at "), "{text}");
}

#[test]
fn where_every_rate_keeps_the_limit_what_is_outstanding_is_named() {
    let (outcome, _) = search().run(&mut Storage::new(1e9));
    let found = outcome.search.as_ref().unwrap();
    let Some(SearchEnd::AllKeepIt(rate)) = found.end else { panic!("{found:?}") };
    assert!(rate * 4 >= 7600, "{rate}");
    let text = text_of(&outcome);
    assert!(
        text.contains(&format!("highest rate: at least {} (kept 2 of 2) IOPS", grouped(rate * 4))),
        "{text}"
    );
    assert!(
        text.contains(
            "the 32 outstanding I/Os are what ends the search, not the limit; a larger -o can reach more"
        ),
        "{text}"
    );
    assert!(text.contains(" rate missed "), "{text}");
    assert!(write(&outcome).contains("\"all_keep_it\": "), "{}", write(&outcome));
}

#[test]
fn the_storage_settles_before_the_first_rate_and_after_each_overload() {
    let mut storage = Storage::new(5000.0);
    let (outcome, _) = search().run(&mut storage);
    let mut expected = vec![1];
    for (place, point) in outcome.search.as_ref().unwrap().points.iter().enumerate() {
        if !point.is_within && place + 2 < storage.lines.len() {
            expected.push(place + 2);
        }
    }
    let after: Vec<usize> = storage.pauses.iter().map(|(after, _)| *after).collect();
    assert_eq!(after, expected);
    assert!(storage.pauses.iter().all(|(_, length)| *length == Duration::from_secs(5)));
    let (outcome, result) = search().run(&mut Storage { leaves: true, ..Storage::new(5000.0) });
    assert_eq!(result, Err(Ended::Stopped));
    assert!(text_of(&outcome).contains("stopped before it was decided\n"), "{}", text_of(&outcome));
}

#[test]
fn what_has_no_answer_says_why_and_how_far_it_came() {
    let (outcome, result) = search().run(&mut Storage { is_dead: true, ..Storage::new(5000.0) });
    assert_eq!((result, outcome.search.as_ref().unwrap().end), (Ok(()), Some(SearchEnd::NoIo(200))));
    let text = text_of(&outcome);
    assert!(text.contains("undecided: no I/O was completed in the run at 800 IOPS"), "{text}");
    assert!(!text.contains("stopped"), "{text}");
    let mut short = search();
    let Work::Search(searching) = &mut short.work else { panic!("a search") };
    searching.time_max_s = 60.0;
    let (outcome, result) = short.run(&mut Storage::new(5000.0));
    assert_eq!(result, Ok(()));
    let text = text_of(&outcome);
    assert!(
        text.contains("undecided after 3 runs: at least 4,000 (kept 1 of 1) IOPS at p99 <= 10 ms"),
        "{text}"
    );
    assert!(text.contains("the time was up; more of it (--max-minutes)"), "{text}");
}

#[test]
fn too_few_i_os_for_the_percentile_are_refused_after_the_first_run() {
    let mut plan = search();
    let Work::Search(searching) = &mut plan.work else { panic!("a search") };
    searching.limits = vec![LatencyLimit::new(Of::P999, 10.0).unwrap()];
    searching.measured_s = 1.0;
    let mut storage = Storage::new(5000.0);
    let (_, result) = plan.run(&mut storage);
    let Err(Ended::Failed(fault)) = result else { panic!("{result:?}") };
    let words = fault.to_string();
    assert!(
        words.contains("p99.9 needs 10,000 I/Os in each run, but at 8000 IOPS a run of 1 s has 8000"),
        "{words}"
    );
    assert!(words.contains("-d3 or more"), "{words}");
    assert_eq!(storage.lines.len(), 1);
}

#[test]
fn a_search_that_writes_looks_at_the_first_rate_again() {
    let mut plan = search();
    let Work::Search(searching) = &mut plan.work else { panic!("a search") };
    searching.writes = true;
    let mut storage = Storage::new(5000.0);
    let (outcome, _) = plan.run(&mut storage);
    let found = outcome.search.unwrap();
    assert!(storage.lines.last().is_some_and(|line| line.contains("-g200i")), "{:?}", storage.lines);
    assert!(found.points.last().is_some_and(Point::is_again) && found.change.is_none());
    assert!(matches!(found.end, Some(SearchEnd::Found(_))), "{:?}", found.end);
}

#[test]
fn a_presets_words_are_no_terminal_commands() {
    let plan = Plan { about: "a\u{1b}[2Jb".into(), source: "c\rd".into(), ..search() };
    let text = text_of(&plan.run(&mut Storage::new(5000.0)).0);
    assert!(text.contains("a\\u{1b}[2Jb") && text.contains("c\\rd"), "{text}");
}

#[test]
fn what_is_done_is_kept() {
    let mut storage = Storage { runs: 3, ..Storage::new(5000.0) };
    let (outcome, result) = search().run(&mut storage);
    assert_eq!(result, Err(Ended::Stopped));
    let text = text_of(&outcome);
    assert_eq!(outcome.search.as_ref().unwrap().points.len(), 2);
    assert!(
        outcome.has_figures() && text.contains("stopped before it was decided; so far at least 2,400"),
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
    let text = text_of(&outcome);
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
        published == schema::of_kind::<Outcome>(),
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
