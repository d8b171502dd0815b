use super::*;
use crate::answer::{Findings, Shown};
use crate::ask::{SuiteDocument, VOLATILE_CACHE};
use crate::runner::{Ahead, Ended, Runner, Step};
use diskspd::request::{Line, Request};
use std::time::Duration;
use truespd_core::measure::Histogram;
use truespd_core::result::envelope::{read, write};
use truespd_core::result::schema;
use truespd_core::result::{
    Direction, Document, Finding, FindingGrade, Grade, Measured, TargetResult, ThreadResult, TimeSpanResult,
    Verdict,
};
use truespd_front::show::Style;
use truespd_platform::text::columns_of;

fn settings() -> Settings {
    Settings {
        preset: Preset::Default,
        profile: Profile::Default,
        tests: Preset::Default.tests(Profile::Default),
        parts: vec![Operation::Read, Operation::Write],
        mix_read_percent: 70,
        loops: 3,
        size_bytes: 1 << 30,
        measure_s: 5,
        interval_s: 5,
        zero_data: false,
        is_durable: false,
    }
}

fn file() -> Target {
    Target::File("/m/data".into())
}

/// A document with that many bytes per second and that mean latency, over ten seconds.
fn document(bytes_per_s: u64, latency_ns: u64, grade: FindingGrade) -> Document {
    let mut latency = Histogram::default();
    latency.record(latency_ns);
    let read = Direction {
        bytes: bytes_per_s * 10,
        ios: bytes_per_s * 10 / 4096,
        latency: Some(Box::new(latency)),
        ..Direction::default()
    };
    let target = TargetResult {
        path: "f".into(),
        size_bytes: 0,
        read,
        write: Direction::default(),
        distribution: None,
        short_transfers: 0,
        ..TargetResult::default()
    };
    let threads =
        vec![ThreadResult { id: 0, source: None, targets: vec![target], waits: Default::default() }];
    let measured = Measured { test_time_s: 10.0, threads, ..Measured::default() };
    let finding = Finding {
        rule: "served-from-cache".into(),
        grade,
        advice: "the rule's own".into(),
        ..Finding::default()
    };
    let findings = if grade.is_remark() { vec![] } else { vec![finding] };
    Document {
        time_spans: vec![TimeSpanResult::Measured(Box::new(measured))],
        verdict: Some(Verdict { grade: grade.of_result(), findings, ..Verdict::default() }),
        ..Document::default()
    }
}

/// Answers every run from a list, writes down what it was asked, and stops after as many as there are.
struct Fake {
    answers: Vec<Document>,
    asked: Vec<String>,
    lines: Vec<String>,
    ahead: Vec<Ahead>,
}

impl Fake {
    fn new(answers: Vec<Document>) -> Self {
        Fake { answers, asked: vec![], lines: vec![], ahead: vec![] }
    }
}

impl Runner for Fake {
    fn line(&mut self, words: Vec<String>) -> Result<Line, Ended> {
        Ok(Line::new(words, Request::default()))
    }

    fn run(&mut self, step: &Step) -> Result<Document, Ended> {
        if self.answers.is_empty() {
            return Err(Ended::Stopped);
        }
        self.asked.push(step.name.clone());
        self.lines.push(step.line.words().join(" "));
        Ok(self.answers.remove(0))
    }

    fn pause(&mut self, length: Duration) -> Result<(), Ended> {
        self.asked.push(format!("pause of {length:?}"));
        Ok(())
    }

    fn ahead(&mut self, ahead: Ahead) {
        self.ahead.push(ahead);
    }

    fn tell(&mut self, _words: &str) {}
}

fn same(count: usize) -> Vec<Document> {
    vec![document(4_096_000, 1_000, FindingGrade::Remark); count]
}

fn report(settings: Settings, rows: Vec<Row>, is_complete: bool) -> MarkReport {
    let host = Host {
        computer_name: "host".into(),
        ranks: 1,
        system: "Debian GNU/Linux 13 (trixie)".into(),
        kernel_release: "6.12.1".into(),
        architecture: "x86_64".into(),
        is_root: true,
        local_time: "2026-11-21T09:05:07".into(),
        unix_s: Some(1_795_000_000),
    };
    let gib = 1 << 30;
    let place = Storage {
        path: "/mnt".into(),
        is_device: false,
        size_bytes: Some(476 * gib),
        used_bytes: Some(214 * gib),
        models: vec!["Samsung SSD 990 PRO".into()],
    };
    MarkReport::new(host, place, settings, rows, is_complete)
}

#[test]
fn presets_and_profiles_are_crystaldiskmarks() {
    let names = |preset: Preset, profile| {
        preset.tests(profile).iter().map(Test::to_string).collect::<Vec<_>>().join(" ")
    };
    for (preset, profile, tests) in [
        (Preset::Default, Profile::Default, "SEQ1M-Q8T1 SEQ1M-Q1T1 RND4K-Q32T1 RND4K-Q1T1"),
        (Preset::Nvme, Profile::Default, "SEQ1M-Q8T1 SEQ128K-Q32T1 RND4K-Q32T16 RND4K-Q1T1"),
        (Preset::Flash, Profile::Default, "SEQ1M-Q8T1 SEQ1M-Q1T1 RND4K-Q32T1 RND4K-Q1T1"),
        (Preset::Default, Profile::Peak, "SEQ1M-Q8T1 RND4K-Q32T1"),
        (Preset::Nvme, Profile::Peak, "SEQ1M-Q8T1 RND4K-Q32T16"),
        (Preset::Nvme, Profile::Real, "SEQ1M-Q1T1 RND4K-Q1T1"),
        (Preset::Nvme, Profile::Demo, "SEQ1M-Q8T1"),
    ] {
        assert_eq!(names(preset, profile), tests, "{preset:?} {profile:?}");
    }
    assert_eq!((Preset::Default.measure_s(), Preset::Nvme.interval_s()), (5, 5));
    assert_eq!((Preset::Flash.measure_s(), Preset::Flash.interval_s()), (1, 30));
}

#[test]
fn lines_mean_what_crystaldiskmarks_mean() {
    let settings = settings();
    let words = |test, part, number, target: &Target| {
        settings.words(Planned { test, part }, number, target).join(" ")
    };
    let device = Target::Device("/dev/sdx".into());
    for (test, part, number, target, line) in [
        (
            Test::seq(1024, 8, 1),
            Operation::Read,
            Settings::DISCARDED,
            &file(),
            "-c1024M -Z64M -b1M -o8 -t1 -w0 -s -z1 -n -Su -L -W0 -d5 /m/data",
        ),
        (
            Test::rnd(4, 32, 16),
            Operation::Write,
            3,
            &file(),
            "-c1024M -Z64M -b4K -o32 -t16 -w100 -r -z4 -n -Su -L -W0 -d5 /m/data",
        ),
        (
            Test::seq(128, 32, 4),
            Operation::Mix,
            1,
            &file(),
            "-c1024M -Z64M -b128K -o32 -t4 -w30 -si -z2 -n -Su -L -W0 -d5 /m/data",
        ),
        (
            Test::rnd(4, 1, 1),
            Operation::Read,
            1,
            &device,
            "-f1024M -b4K -o1 -t1 -w0 -r -z2 -n -Su -L -W0 -d5 /dev/sdx",
        ),
        (
            Test::rnd(4, 1, 1),
            Operation::Write,
            1,
            &device,
            "-f1024M -Z64M -b4K -o1 -t1 -w100 -r -z2 -n -Su -L -W0 -d5 /dev/sdx",
        ),
    ] {
        assert_eq!(words(test, part, number, target), line);
    }
    let zeros = Settings { zero_data: true, ..settings.clone() };
    let planned = Planned { test: Test::rnd(4, 1, 1), part: Operation::Write };
    assert_eq!(zeros.words(planned, 1, &file())[1], "-Z");
    let durable = Settings { is_durable: true, ..settings };
    assert!(durable.words(planned, 1, &file()).join(" ").contains(" -n -Sh -L "));
}

#[test]
fn reads_then_writes_then_mixes_with_pauses_between_tests() {
    let settings = Settings {
        tests: vec![Test::seq(1024, 8, 1), Test::rnd(4, 1, 1)],
        parts: vec![Operation::Read, Operation::Write, Operation::Mix],
        loops: 1,
        ..settings()
    };
    let mut fake = Fake::new(same(12));
    let (rows, ended) = settings.run(&file(), &mut fake);
    assert_eq!((rows.len(), ended), (6, Ok(())));
    assert_eq!(
        fake.asked[..5],
        [
            "SEQ1M-Q8T1 read, discarded run",
            "SEQ1M-Q8T1 read, 1 of 1",
            "pause of 5s",
            "RND4K-Q1T1 read, discarded run",
            "RND4K-Q1T1 read, 1 of 1",
        ]
    );
    assert_eq!(fake.asked.iter().filter(|asked| asked.starts_with("pause")).count(), 5);
    assert_eq!(fake.asked[6], "SEQ1M-Q8T1 write, discarded run");
    assert_eq!(fake.asked.last().map(String::as_str), Some("RND4K-Q1T1 mix, 1 of 1"));
    // Every run of a test draws other offsets.
    assert!(fake.lines[0].contains("-z1 ") && fake.lines[1].contains("-z2 "), "{:?}", fake.lines);
    let steps: Vec<usize> = fake.ahead.iter().map(|ahead| ahead.steps).collect();
    assert_eq!(steps, [11, 10, 10, 9, 8, 8, 7, 6, 6, 5, 4, 4, 3, 2, 2, 1, 0]);
    assert_eq!(fake.ahead[0].length.least_s, 11.0 * 5.5 + 5.0 * 5.0);
    assert_eq!(fake.ahead.last().map(|ahead| ahead.length.least_s), Some(0.0));
}

#[test]
fn the_best_of_the_loops_and_what_it_hides() {
    let settings = Settings { tests: vec![Test::rnd(4, 1, 1)], parts: vec![Operation::Read], ..settings() };
    let runs = [
        (90, 1, FindingGrade::Invalid),
        (4, 300, FindingGrade::Remark),
        (8, 100, FindingGrade::Suspect),
        (6, 200, FindingGrade::Remark),
    ];
    let answers = runs.map(|(mb, us, grade)| document(mb * 1_000_000, us * 1_000, grade)).to_vec();
    let (rows, ended) = settings.run(&file(), &mut Fake::new(answers));
    assert_eq!(ended, Ok(()));
    let outcome = rows[0].outcome.as_ref().expect("measured");
    assert_eq!((outcome.best_bytes_per_s, outcome.bytes_per_s.median), (8e6, 6e6));
    assert_eq!(outcome.best_iops, 8e6 / 4096.0);
    assert!((outcome.best_latency_mean_ns / 100_000.0 - 1.0).abs() < 0.01, "{outcome:?}");
    assert!((outcome.latency_mean_ns.median / 200_000.0 - 1.0).abs() < 0.01, "{outcome:?}");
    assert!((outcome.bytes_per_s.percent() - 100.0 / 3.0).abs() < 1e-9);
    assert_eq!(outcome.grade, Grade::Suspect, "the discarded run does not count");
    assert_eq!((rows[0].loops.len(), rows[0].discarded.is_some()), (3, true));
    let report = report(settings, rows, true);
    let told: Vec<_> = report.verdict.findings.iter().map(|told| (told.rule.as_str(), told.runs)).collect();
    assert_eq!(told, [("served-from-cache", 1)]);
    assert_eq!(report.verdict.findings[0].of[0].what, "read RND4K-Q1T1");
    assert_eq!((report.verdict.grade, report.verdict.runs), (Some(Grade::Suspect), 3));
    assert_eq!(report.verdict.findings[0].advice, "the rule's own");
    let [part] = &report.parts()[..] else { panic!("one test") };
    assert_eq!(
        (part.name.as_str(), part.figures.get("bytes")),
        ("read RND4K-Q1T1", Some(&6e6)),
        "the median"
    );
    assert_eq!(part.figures.len(), 6);
    let other = document(1_000_000, 1_000, FindingGrade::Remark);
    assert_eq!(part.profile, truespd_core::profile::hash(&other.profile));
}

#[test]
fn advice_is_in_options_of_this_suite_where_it_has_one() {
    let settings =
        Settings { tests: vec![Test::rnd(4, 1, 1)], parts: vec![Operation::Read], loops: 1, ..settings() };
    let mut answers = same(2);
    let short = Finding { rule: "too-short".into(), advice: "-d60".into(), ..Finding::default() };
    answers[1].verdict = Some(Verdict { findings: vec![short], ..Verdict::default() });
    let (rows, _) = settings.run(&file(), &mut Fake::new(answers));
    assert_eq!(rows[0].loops[0].findings[0].advice, "-d60", "each run's own stays");
    assert_eq!(report(settings, rows, true).verdict.findings[0].advice, "use --measure 60");
}

#[test]
fn the_text_is_crystaldiskmarks() {
    let settings = Settings {
        preset: Preset::Nvme,
        tests: Preset::Nvme.tests(Profile::Default),
        parts: vec![Operation::Read, Operation::Mix],
        zero_data: true,
        size_bytes: 1536 << 20,
        ..settings()
    };
    let answers = [
        (3_529_941_000, 2_374_490),
        (7_429_732_000, 546_670),
        (4_094_649_000, 494_560),
        (84_503_000, 48_380),
    ];
    let answers =
        answers.iter().flat_map(|&(rate, ns)| vec![document(rate, ns, FindingGrade::Remark); 4]).collect();
    let (rows, ended) = settings.run(&file(), &mut Fake::new(answers));
    assert_eq!(ended, Err(Ended::Stopped));
    let report = report(settings, rows, false);
    let saved = text(&report, Reader::Program { comment: Some("two\nlines") });
    let version = env!("CARGO_PKG_VERSION");
    let expected = format!(
        "------------------------------------------------------------------------------\r\n\
         TrueSpd {version} x64 (tests and format of CrystalDiskMark)\r\n\
         \x20                                   CrystalDiskMark: https://crystalmark.info/\r\n\
         ------------------------------------------------------------------------------\r\n\
         * MB/s = 1,000,000 bytes/s [SATA/600 = 600,000,000 bytes/s]\r\n\
         * KB = 1000 bytes, KiB = 1024 bytes\r\n\
         \r\n\
         [Read]\r\n\
         \x20 SEQ    1MiB (Q=  8, T= 1):  3529.941 MB/s [   3366.4 IOPS] <  2374.49 us>\r\n\
         \x20 SEQ  128KiB (Q= 32, T= 1):  7429.732 MB/s [  56684.4 IOPS] <   546.67 us>\r\n\
         \x20 RND    4KiB (Q= 32, T=16):  4094.649 MB/s [ 999670.2 IOPS] <   494.56 us>\r\n\
         \x20 RND    4KiB (Q=  1, T= 1):    84.503 MB/s [  20630.6 IOPS] <    48.38 us>\r\n\
         \r\n\
         [Write]\r\n\
         \x20 SEQ    1MiB (Q=  8, T= 1):     0.000 MB/s [      0.0 IOPS] <     0.00 us>\r\n\
         \x20 SEQ  128KiB (Q= 32, T= 1):     0.000 MB/s [      0.0 IOPS] <     0.00 us>\r\n\
         \x20 RND    4KiB (Q= 32, T=16):     0.000 MB/s [      0.0 IOPS] <     0.00 us>\r\n\
         \x20 RND    4KiB (Q=  1, T= 1):     0.000 MB/s [      0.0 IOPS] <     0.00 us>\r\n\
         \r\n\
         [Mix] Read 70%/Write 30%\r\n\
         \x20 SEQ    1MiB (Q=  8, T= 1):     0.000 MB/s [      0.0 IOPS] <     0.00 us>\r\n\
         \x20 SEQ  128KiB (Q= 32, T= 1):     0.000 MB/s [      0.0 IOPS] <     0.00 us>\r\n\
         \x20 RND    4KiB (Q= 32, T=16):     0.000 MB/s [      0.0 IOPS] <     0.00 us>\r\n\
         \x20 RND    4KiB (Q=  1, T= 1):     0.000 MB/s [      0.0 IOPS] <     0.00 us>\r\n\
         \r\n\
         Profile: Default\r\n\
         \x20  Test: 1536 MiB (x3) [/mnt: 45% (214/476GiB)]\r\n\
         \x20  Mode: [Admin] <0Fill>\r\n\
         \x20  Time: Measure 5 sec / Interval 5 sec \r\n\
         \x20  Date: 2026/11/21 9:05:07\r\n\
         \x20    OS: Debian GNU/Linux 13 (trixie) [6.12.1] (x64)\r\n\
         Comment: two lines\r\n"
    );
    // Histograms keep three digits of a latency.
    let near = |text: &str| {
        let lines = text.split('\n').map(|line| line.split('<').next().unwrap_or_default().to_string());
        lines.collect::<Vec<_>>()
    };
    assert_eq!(near(&saved), near(&expected));
    let shown = text(&report, Reader::Person);
    assert!(!shown.contains("[Write]") && !shown.contains('\r') && !shown.contains(" 0.000 MB/s"), "{shown}");
    assert!(
        shown.contains("[Mix] Read 70%/Write 30%\n  SEQ    1MiB (Q=  8, T= 1):   not measured\n"),
        "{shown}"
    );
}

#[test]
fn small_volumes_are_told_in_mib() {
    let mut report = report(settings(), Vec::new(), true);
    (report.place.size_bytes, report.place.used_bytes) = (Some(4 << 30), Some(1 << 30));
    assert!(text(&report, Reader::Person).contains(" [/mnt: 25% (1024/4096MiB)]\n"));
    (report.place.size_bytes, report.place.used_bytes) = (Some(8 << 30), None);
    assert!(text(&report, Reader::Person).contains(" [/mnt: 8GiB]\n"));
}

#[test]
fn people_see_which_figures_are_not_the_storages() {
    let tests = vec![Test::seq(1024, 8, 1), Test::seq(1024, 1, 1), Test::rnd(4, 1, 1)];
    let settings = Settings { tests, parts: vec![Operation::Read], loops: 1, ..settings() };
    let grades = [FindingGrade::Remark, FindingGrade::Suspect, FindingGrade::Invalid];
    let answers = grades.iter().flat_map(|&grade| vec![document(1_000_000, 1_000, grade); 2]).collect();
    let (rows, _) = settings.run(&file(), &mut Fake::new(answers));
    let report = report(settings, rows, true);
    let marks = |reader| -> String {
        let text = text(&report, reader);
        text.lines()
            .filter(|line| line.contains(" MB/s [ "))
            .map(|line| line.chars().last().unwrap())
            .take(3)
            .collect()
    };
    assert_eq!(marks(Reader::Person), ">?!");
    assert_eq!(marks(Reader::Program { comment: None }), ">>>", "no verdicts for programs");
    assert!(text(&report, Reader::Person).lines().all(|line| line.chars().count() <= 78));
}

#[test]
fn documents_come_back_and_others_are_refused() {
    let settings = Settings { parts: vec![Operation::Read], loops: 2, ..settings() };
    let (rows, _) = settings.run(&file(), &mut Fake::new(same(7)));
    let report = report(settings, rows, false);
    let written = write(&report);
    assert_eq!(read::<MarkReport>(written.as_bytes()).expect("its own"), report);
    assert!(!report.is_complete && report.has_figures());
    assert_eq!(report.rows.iter().filter(|row| row.outcome.is_some()).count(), 2);
    let refused = |text: &str| read::<MarkReport>(text.as_bytes()).expect_err(text).to_string();
    assert!(refused("{}").contains("no result of truespd mark"));
    assert!(
        refused(&written.replace("\"format_version\": 1", "\"format_version\": 2")).contains("version 2")
    );
}

#[test]
fn the_published_schema_is_that_of_the_types() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schema/mark-v1.json");
    let published = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        published == schema::of_kind::<MarkReport>(),
        "publish it anew: truespd schema mark > schema/mark-v1.json"
    );
}

/// What a terminal of so many columns shows of two tests of reads, writes and mixed I/O.
fn on_terminal(columns: usize, parts: Vec<Operation>) -> String {
    let settings =
        Settings { tests: vec![Test::seq(1024, 8, 1), Test::rnd(4, 32, 16)], parts, loops: 1, ..settings() };
    let runs = settings.parts.len() * 2;
    let mut answers = Vec::new();
    for run in 0..runs {
        let (rate, grade) = if run % 2 == 0 {
            (12_345_678_901, FindingGrade::Remark)
        } else {
            (1_234_567_890, FindingGrade::Suspect)
        };
        answers.extend(vec![document(rate, 12_345_678, grade); 2]);
    }
    let (rows, ended) = settings.run(&file(), &mut Fake::new(answers));
    assert_eq!(ended, Ok(()));
    report(settings, rows, true).text(Shown {
        style: Style { columns, has_colour: false },
        has_bars: true,
        has_original: false,
        findings: Findings::Names { rest: "--verdict" },
    })
}

#[test]
fn reads_and_writes_stand_beside_each_other_on_a_terminal() {
    let both = vec![Operation::Read, Operation::Write];
    let text = on_terminal(80, both.clone());
    let full = "\u{2588}";
    let table = format!(
        "                      READ                              WRITE\n\
         SEQ1M-Q8T1     12,346 MB/s   {}   12,346 MB/s   {}\n\
         \x20              11,774 IOPS, 12.3 ms              11,774 IOPS, 12.3 ms\n\
         RND4K-Q32T16    1,235 MB/s ? {}\u{258a}                   1,235 MB/s ? {}\u{258a}\n\
         \x20             301,408 IOPS, 12.3 ms             301,408 IOPS, 12.3 ms\n\
         ? suspect: the figure may not be the disk's own; the verdict says why\n",
        full.repeat(17),
        full.repeat(17),
        full,
        full
    );
    assert_eq!(text.split("\n\n").nth(1).expect("a table").to_string() + "\n", table);
    assert!(text.contains("\nsuspect: served-from-cache (2 runs); --verdict tells why\n"), "{text}");
    assert!(text.starts_with("CrystalDiskMark tests on host: /mnt (Samsung SSD 990 PRO)\n"), "{text}");
    assert!(text.contains("\n2026-11-21 09:05: one run of 5 s, 1 GiB of random data\n"), "{text}");
    assert!(
        text.contains("\n45 % of 476 GiB in use, Debian GNU/Linux 13 (trixie), Linux 6.12.1\n"),
        "{text}"
    );
    assert!(text.lines().count() <= 23, "a screen of 24 lines has all of it\n{text}");
    for columns in [40, 60, 80, 120] {
        let text = on_terminal(columns, both.clone());
        assert!(text.lines().all(|line| columns_of(line) <= columns.max(48)), "{columns}\n{text}");
    }
    let all = [both, vec![Operation::Mix]].concat();
    let heads =
        |columns| on_terminal(columns, all.clone()).lines().filter(|line| line.contains("WRITE")).count();
    let mixed =
        |text: &str| text.lines().any(|line| line.contains("WRITE") && line.contains("MIX (70 % reads)"));
    assert!(mixed(&on_terminal(120, all.clone())) && !mixed(&on_terminal(80, all.clone())));
    assert_eq!(heads(80), 1);
}

#[test]
fn a_volatile_cache_is_a_remark_as_crystaldiskmark_counts_it() {
    let settings =
        Settings { tests: vec![Test::rnd(4, 1, 1)], parts: vec![Operation::Write], loops: 1, ..settings() };
    let mut answer = document(1_000_000, 1_000, FindingGrade::Suspect);
    let verdict = answer.verdict.as_mut().expect("judged");
    verdict.findings[0].rule = VOLATILE_CACHE.into();
    let (rows, _) = settings.run(&file(), &mut Fake::new(vec![answer; 2]));
    let report = report(settings, rows, true);
    assert_eq!(report.verdict.grade, Some(Grade::Certified));
    let text = report.text(Shown::whole(Style { columns: 80, has_colour: false }));
    assert!(text.contains("  remark  volatile-cache (the only run)"), "{text}");
    assert!(text.contains("--durable counts"), "{text}");
    let without = self::report(Settings { loops: 3, ..self::settings() }, Vec::new(), true);
    assert!(!without.text(Shown::whole(Style { columns: 80, has_colour: false })).contains("--durable"));
}
