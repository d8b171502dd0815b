//! The text result against recorded output of the original and against the contract's samples.
//!
//! Recorded profile output must be met byte for byte, the program's name and CRLF apart. The profiles are built
//! by hand here, so that a mistake of the command line's parser cannot make up for one of the renderer.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::support::documents::{Machine, Mix, Pool, Ranges, Recipe, document, system};
use crate::support::strict_text::parse;
use diskspd::render::{FORMATS, format, profile_text, system_text, text};
use truespd_core::measure::{Histogram, Intervals};
use truespd_core::profile::*;
use truespd_core::result::*;

fn read(path: &str) -> String {
    let path = Path::new(crate::support::ROOT).join("tests/data").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_string).collect()
}

fn one_span(span: TimeSpan) -> Profile {
    Profile { time_spans: vec![span], ..Profile::default() }
}

/// `-c1M -d1 -W0` with the given target.
fn short(target: Target) -> TimeSpan {
    TimeSpan { duration_s: 1, warmup_s: 0, targets: vec![target], ..TimeSpan::default() }
}

/// A 1 MiB `t.dat` in blocks of 4 KiB.
fn small_blocks() -> Target {
    Target { path: "t.dat".to_string(), block_bytes: 4096, create_bytes: Some(1 << 20), ..Target::default() }
}

fn large_blocks() -> Target {
    Target { block_bytes: 65536, ..small_blocks() }
}

fn affine(list: &[u32], threads_per_file: u32) -> TimeSpan {
    TimeSpan {
        affinity: list.iter().map(|&processor| ProcessorId { group: 0, processor }).collect(),
        ..short(Target { threads_per_file, ..large_blocks() })
    }
}

/// The profile of each recorded command line, by the number of its file.
fn recorded_profiles() -> BTreeMap<u32, Profile> {
    let random = |percent: u32| Target { random_percent: percent, ..small_blocks() };
    let named = |path: &str, target: Target| Target { path: path.to_string(), ..target };
    let spans = [
        (
            19,
            TimeSpan {
                measure_latency: true,
                calculate_iops_std_dev: true,
                io_bucket_ms: 100,
                ..short(Target { write_percent: 50, threads_per_file: 2, ..random(100) })
            },
        ),
        (
            23,
            TimeSpan {
                measure_latency: true,
                ..short(Target {
                    cache: CacheMode::DisableOsCache,
                    write_through: true,
                    request_count: 4,
                    ..random(100)
                })
            },
        ),
        (27, short(Target { cache: CacheMode::DisableOsCache, ..large_blocks() })),
        (
            43,
            short(Target {
                memory_mapped: true,
                flush: Some(FlushMode::ViewOfFile),
                write_percent: 50,
                ..random(100)
            }),
        ),
        (47, short(Target { stride_bytes: Some(8192), ..small_blocks() })),
        (59, short(Target { thread_stride_bytes: 65536, threads_per_file: 2, ..small_blocks() })),
        (67, short(Target { stride_bytes: Some(8192), ..random(100) })),
        (
            91,
            TimeSpan {
                thread_count: 2,
                request_count: 4,
                targets: vec![small_blocks(), named("u.dat", small_blocks())],
                ..short(Target::default())
            },
        ),
        (111, TimeSpan { measure_latency: true, ..short(Target { request_count: 1, ..small_blocks() }) }),
        (123, affine(&[0, 1], 2)),
        (131, affine(&[0, 1], 3)),
        (139, short(Target { max_bytes: 512 << 10, ..small_blocks() })),
        (167, short(small_blocks())),
        (179, TimeSpan { random_write_data: true, ..short(Target { write_percent: 100, ..small_blocks() }) }),
        (183, short(Target { write_percent: 100, write_source_bytes: 1 << 20, ..small_blocks() })),
        (
            187,
            short(Target {
                write_percent: 100,
                write_source_bytes: 65536,
                write_source_path: Some("src.bin".to_string()),
                ..small_blocks()
            }),
        ),
        (211, short(Target { create_bytes: Some(10000), stride_bytes: Some(4096), ..random(100) })),
        (215, short(named("exist.dat", small_blocks()))),
        (219, TimeSpan { duration_s: 0, ..short(large_blocks()) }),
        (223, short(Target { temporary_file: true, write_through: true, ..large_blocks() })),
        (237, TimeSpan { duration_s: 1, targets: vec![large_blocks()], ..TimeSpan::default() }),
        (
            240,
            TimeSpan {
                measure_latency: true,
                targets: ["t.dat", "u.dat"]
                    .map(|path| named(path, Target { block_bytes: 8192, write_percent: 40, ..random(100) }))
                    .to_vec(),
                ..TimeSpan::default()
            },
        ),
        (
            245,
            TimeSpan {
                measure_latency: true,
                calculate_iops_std_dev: true,
                io_bucket_ms: 100,
                ..short(Target { write_percent: 30, ..random(100) })
            },
        ),
        (255, short(large_blocks())),
        (256, short(large_blocks())),
    ];
    spans.into_iter().map(|(number, span)| (number, one_span(span))).collect()
}

/// The text after `"key": "` up to the next quote; the index holds no escapes.
fn field<'a>(entry: &'a str, key: &str) -> Option<&'a str> {
    let tail = &entry[entry.find(&format!("\"{key}\": \""))? + key.len() + 5..];
    tail.split('"').next()
}

#[test]
fn recorded_profile_output_byte_for_byte() {
    let profiles = recorded_profiles();
    let index = read("genuine/index.json");
    let mut compared = 0;
    for entry in index.lines().filter(|line| line.contains("stdout_file")) {
        let (file, command) =
            (field(entry, "stdout_file").expect("file"), field(entry, "cmd").expect("command"));
        let recorded = read(&format!("genuine/{file}")).replace("\r\n", "\n");
        if recorded.contains("System information:") {
            continue;
        }
        let digits = file.trim_end_matches(".stdout").rsplit('-').next().expect("a number");
        let number: u32 = digits.parse().expect("a number");
        let profile = profiles.get(&number).unwrap_or_else(|| panic!("{file}: no profile for {command}"));
        let expected = recorded.replacen("Command Line: diskspd.exe", "Command Line: diskspd", 1);
        assert_eq!(profile_text(&words(command), profile, &System::default()), expected, "{file}: {command}");
        compared += 1;
    }
    assert_eq!(compared, profiles.len());
}

/// The parameters part of a live run is the same text as its profile output.
#[test]
fn recorded_runs_begin_with_their_profile() {
    let profiles = recorded_profiles();
    let index = read("genuine/index.json");
    let mut compared = 0;
    for entry in index.lines().filter(|line| line.contains("\"run-text\"")) {
        let (file, command) =
            (field(entry, "stdout_file").expect("file"), field(entry, "cmd").expect("command"));
        let recorded = read(&format!("genuine/{file}")).replace("\r\n", "\n");
        let recorded = recorded.trim_start_matches('.').replacen("diskspd.exe", "diskspd", 1);
        let digits: u32 =
            file.trim_end_matches(".stdout").rsplit('-').next().and_then(|n| n.parse().ok()).expect("n");
        // Each live run was recorded two numbers before its profile output.
        let profile =
            profiles.get(&(digits + 2)).unwrap_or_else(|| panic!("{file}: no profile for {command}"));
        let expected = profile_text(&words(command), profile, &System::default()) + "System information:\n";
        assert!(recorded.starts_with(&expected), "{file}: {expected}");
        compared += 1;
    }
    assert!(compared >= 20);
}

/// The machine of the samples.
fn sample_system(machine: Machine) -> System {
    let power_scheme = "Balanced (381b4222-f694-41f0-9685-ff5bb260df2e)".to_string();
    System { power_scheme, ..system(machine) }
}

fn direction(bytes: u64, ios: u64) -> Direction {
    Direction { bytes, ios, ..Direction::default() }
}

fn sample_target(path: &str) -> Target {
    Target { path: path.to_string(), ..Target::default() }
}

fn target_result(path: &str, size_bytes: u64, read: Direction, write: Direction) -> TargetResult {
    TargetResult {
        path: path.to_string(),
        size_bytes,
        read,
        write,
        distribution: None,
        short_transfers: 0,
        ..TargetResult::default()
    }
}

fn thread(id: u32, targets: Vec<TargetResult>) -> ThreadResult {
    ThreadResult { id, source: None, targets, waits: WaitStatistics::default() }
}

fn cpu(user: f64, kernel: f64) -> CpuUse {
    CpuUse { user, kernel, idle: 100.0 - user - kernel }
}

fn measured(test_time_s: f64, cpu: Vec<CpuUse>, threads: Vec<ThreadResult>) -> TimeSpanResult {
    let (engine, engine_notes) = ("psync".to_string(), Vec::new());
    TimeSpanResult::Measured(Box::new(Measured {
        test_time_s,
        cpu,
        threads,
        engine,
        engine_notes,
        ..Measured::default()
    }))
}

#[test]
fn sample_of_a_failed_run() {
    let span = TimeSpan { duration_s: 2, targets: vec![sample_target("missing.bin")], ..TimeSpan::default() };
    let document = Document {
        command_line: words("diskspd -d2 missing.bin"),
        profile: one_span(span),
        system: sample_system(Machine::Plain),
        time_spans: vec![TimeSpanResult::NotMeasured],
        warnings: vec!["not part of DiskSpd's text".to_string()],
        ..Document::default()
    };
    assert_eq!(text(&document), read("samples/failed-run.txt"));
}

#[test]
fn sample_without_options() {
    let mut system = sample_system(Machine::Plain);
    system.topology.processors[1].core = 0;
    system.topology.processors[1].physical_core = 0;
    let span = TimeSpan {
        duration_s: 2,
        warmup_s: 0,
        targets: vec![sample_target("data1.bin")],
        ..TimeSpan::default()
    };
    let results = target_result("data1.bin", 3 << 29, direction(6_356_992, 97), Direction::default());
    let document = Document {
        command_line: words("diskspd -d2 -W0 data1.bin"),
        profile: one_span(span),
        system,
        time_spans: vec![measured(
            2.0157,
            vec![cpu(7.938, 11.152), cpu(3.103, 9.119)],
            vec![thread(0, vec![results])],
        )],
        ..Document::default()
    };
    assert_eq!(text(&document), read("samples/no-options.txt"));
}

/// Latencies whose chart has the right shape; the samples' own figures are invented.
fn latencies(ios: u64) -> Option<Histogram> {
    let mut histogram = Histogram::new();
    (0..ios).for_each(|io| histogram.record(50_000 + io % 1000 * 1000));
    Some(histogram)
}

fn with_latencies(bytes: u64, ios: u64) -> Direction {
    Direction { latency: latencies(ios).map(Box::new), ..direction(bytes, ios) }
}

fn with_intervals(mut direction: Direction, interval_ms: u64, duration_s: u64) -> Direction {
    let mut intervals = Intervals::new(interval_ms * 1_000_000, duration_s * 1_000_000_000);
    (0..direction.ios).for_each(|io| intervals.record(io * io % (duration_s * 1000) * 1_000_000, 1000));
    direction.intervals = Some(intervals);
    direction
}

/// A line without the values of its fractional figures, whose places and widths remain.
fn shape(line: &str) -> String {
    let mut shape = String::new();
    let mut rest = line;
    while let Some(point) = rest.find('.') {
        let before = rest[..point].trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches(' ');
        let after = rest[point + 1..].trim_start_matches(|c: char| c.is_ascii_digit());
        let width = rest.len() - before.len() - after.len();
        let is_figure =
            width > 3 && rest[..point].ends_with(|c: char| c.is_ascii_digit()) && !line.contains("IO =>");
        shape += before;
        shape += &if is_figure {
            "#".repeat(width)
        } else {
            rest[before.len()..rest.len() - after.len()].to_string()
        };
        rest = after;
    }
    shape + rest
}

fn assert_same_shape(document: &Document, sample: &str) {
    let (ours, sample) = (text(document), read(sample));
    for (index, (ours, sample)) in ours.lines().zip(sample.lines()).enumerate() {
        assert_eq!(shape(ours), shape(sample), "line {}", index + 1);
    }
    assert_eq!(ours.lines().count(), sample.lines().count());
    parse(&ours).unwrap_or_else(|fault| panic!("{fault}\n{ours}"));
}

#[test]
fn sample_with_latency_and_series() {
    let target = Target {
        block_bytes: 4096,
        random_percent: 100,
        threads_per_file: 2,
        request_count: 4,
        write_percent: 30,
        cache: CacheMode::DisableOsCache,
        write_through: true,
        create_bytes: Some(64 << 20),
        ..sample_target("data1.bin")
    };
    let span = TimeSpan {
        duration_s: 5,
        warmup_s: 1,
        measure_latency: true,
        calculate_iops_std_dev: true,
        targets: vec![target],
        ..TimeSpan::default()
    };
    let both = |bytes: u64, ios: u64| with_intervals(with_latencies(bytes, ios), 1000, 5);
    let results = [((15_126_528, 3693), (6_549_504, 1599)), ((10_162_176, 2481), (4_288_512, 1047))];
    let threads = results.iter().enumerate().map(|(id, &(read, write))| {
        let (read, write) = (both(read.0, read.1), both(write.0, write.1));
        thread(id as u32, vec![target_result("data1.bin", 64 << 20, read, write)])
    });
    let document = Document {
        command_line: words("diskspd -c64M -b4K -d5 -W1 -r -t2 -o4 -w30 -L -D -Sh data1.bin"),
        profile: one_span(span),
        system: sample_system(Machine::Plain),
        time_spans: vec![measured(5.029, vec![cpu(1.85, 46.19), cpu(2.96, 4.36)], threads.collect())],
        ..Document::default()
    };
    assert_same_shape(&document, "samples/one-target-L-D.txt");
}

/// Eight processors, two per core, two cores per socket, one node per socket.
fn two_sockets() -> System {
    let mut system = sample_system(Machine::Plain);
    let model = system.topology.processors[0];
    let processors = (0..8).map(|cpu| truespd_platform::machine::topology::Processor {
        cpu,
        number: cpu,
        core: cpu / 2,
        physical_core: cpu / 2,
        socket: cpu / 4,
        node: cpu / 4,
        ..model
    });
    system.topology.processors = processors.collect();
    (system.topology.nodes, system.topology.sockets) = (2, 2);
    system
}

fn pool_span() -> TimeSpan {
    let ranges = [(90, 10), (10, 90)].map(|(io_percent, span)| DistributionRange { io_percent, span });
    let first = Target {
        block_bytes: 4096,
        random_percent: 100,
        weight: 70,
        distribution: Some(Distribution { kind: DistributionKind::Percent, ranges: ranges.to_vec() }),
        ..sample_target("data1.bin")
    };
    let second = Target { write_percent: 100, weight: 30, ..sample_target("data2.bin") };
    TimeSpan {
        duration_s: 3,
        warmup_s: 1,
        measure_latency: true,
        rand_seed: 9,
        thread_count: 2,
        request_count: 6,
        targets: vec![first, second],
        ..TimeSpan::default()
    }
}

fn pool_threads() -> Vec<ThreadResult> {
    let mib = 1 << 20;
    let part = |io_start, io_percent, offset_bytes, length_bytes| DistributionPart {
        io_start,
        io_percent,
        offset_bytes,
        length_bytes,
    };
    let numbers = [((2_105_344, 514), (36_175_872, 552)), ((1_843_200, 450), (24_576_000, 375))];
    let threads = numbers.iter().enumerate().map(|(id, &(read, write))| {
        let none = || with_latencies(0, 0);
        let mut first = target_result("data1.bin", 100 * mib, with_latencies(read.0, read.1), none());
        first.distribution = Some(vec![part(0, 90, 0, 10 * mib), part(90, 10, 10 * mib, 90 * mib)]);
        let second = target_result("data2.bin", 16 * mib, none(), with_latencies(write.0, write.1));
        thread(id as u32, vec![first, second])
    });
    threads.collect()
}

#[test]
fn sample_with_two_time_spans() {
    let limited = Target {
        block_bytes: 8192,
        parallel: true,
        write_percent: 100,
        throughput: Some(Throughput::Iops(400)),
        ..sample_target("data1.bin")
    };
    let second = TimeSpan {
        duration_s: 2,
        warmup_s: 0,
        calculate_iops_std_dev: true,
        io_bucket_ms: 500,
        targets: vec![limited],
        ..TimeSpan::default()
    };
    let idle = with_intervals(Direction::default(), 500, 2);
    let busy = with_intervals(direction(3_096_576, 378), 500, 2);
    let busy_cpus = || (0..8).map(|cpu_number| cpu(f64::from(cpu_number) + 1.0, 12.5)).collect::<Vec<_>>();
    let document = Document {
        command_line: words("diskspd -Xtwo.xml"),
        profile: Profile { time_spans: vec![pool_span(), second], ..Profile::default() },
        system: two_sockets(),
        time_spans: vec![
            measured(3.011, busy_cpus(), pool_threads()),
            measured(
                2.012,
                busy_cpus(),
                vec![thread(0, vec![target_result("data1.bin", 100 << 20, idle, busy)])],
            ),
        ],
        ..Document::default()
    };
    assert_same_shape(&document, "samples/two-timespans.txt");
    // Totals have no invented figures: counts and times give them all.
    let sample = read("samples/two-timespans.txt");
    let totals = &sample[sample.find("\nTotals:").expect("totals")..];
    assert!(text(&document).ends_with(totals));
}

/// Every line that no recorded run shows.
#[test]
fn lines_of_rare_options() {
    let base = || Target { write_percent: 50, request_count: 1, ..sample_target("x") };
    let lines = |target: Target, span: TimeSpan| {
        profile_text(
            &words("diskspd x"),
            &one_span(TimeSpan { targets: vec![target], ..span }),
            &System::default(),
        )
    };
    let plain = lines(base(), TimeSpan::default());
    let cases: Vec<(Target, &str)> = vec![
        (Target { path: "*1".to_string(), ..base() }, "\tpath: template target '1'\n"),
        (Target { path: "#3".to_string(), ..base() }, "\tpath: '#3'\n"),
        (Target { think_ms: Some(7), ..base() }, "\t\tthink time: 7ms\n"),
        (Target { burst_ios: Some(8), ..base() }, "\t\tburst size: 8\n"),
        (
            Target { cache: CacheMode::DisableLocalCache, write_through: true, ..base() },
            "\t\tlocal software cache disabled, remote cache enabled\n\
             \t\thardware and software write caches disabled, writethrough on\n",
        ),
        (Target { memory_mapped: true, ..base() }, "\t\tmemory mapped I/O enabled\n"),
        (
            Target { memory_mapped: true, flush: Some(FlushMode::NonVolatileMemory), ..base() },
            "\t\tmemory mapped I/O enabled, flush mode: FlushNonVolatileMemory\n",
        ),
        (
            Target { memory_mapped: true, flush: Some(FlushMode::NonVolatileMemoryNoDrain), ..base() },
            "\t\tmemory mapped I/O enabled, flush mode: FlushNonVolatileMemory with no drain\n",
        ),
        (Target { zero_write_buffers: true, ..base() }, "\t\tzeroing write buffers\n"),
        (
            Target { write_source_bytes: 1536, ..base() },
            "\t\twrite buffer size: 1.50KiB\n\t\twrite buffer source: random fill\n",
        ),
        (Target { parallel: true, ..base() }, "\t\tusing parallel async I/O\n\t\tperforming mix"),
        (
            Target { random_percent: 30, stride_bytes: Some(512), ..base() },
            "\t\tusing mixed random/sequential I/O (30% random) (alignment/stride: 512)\n",
        ),
        (Target { interlocked: true, ..base() }, "\t\tusing interlocked sequential I/O (stride: 64KiB)\n"),
        (Target { base_bytes: 1 << 30, ..base() }, "\t\tbase file offset: 1GiB\n"),
        (
            Target { sequential_scan: true, random_access: true, ..base() },
            "\t\tusing FILE_FLAG_SEQUENTIAL_SCAN hint\n\t\tusing FILE_FLAG_RANDOM_ACCESS hint\n",
        ),
        (Target { priority: IoPriority::VeryLow, ..base() }, "\t\tIO priority: very low\n"),
        (Target { priority: IoPriority::Low, ..base() }, "\t\tIO priority: low\n"),
        (
            Target { throughput: Some(Throughput::BytesPerMs(1000)), ..base() },
            "\t\tthroughput rate-limited to 1000 B/ms\n",
        ),
    ];
    for (target, expected) in cases {
        let ours = lines(target, TimeSpan::default());
        assert!(ours.contains(expected) && !plain.contains(expected), "{expected:?} in {ours}");
    }
    assert!(!plain.contains("Completion"), "one outstanding I/O needs no completion line");
    let routines = TimeSpan { completion_routines: true, ..TimeSpan::default() };
    let ours = lines(Target { request_count: 2, ..base() }, routines);
    assert!(ours.contains("\t\tusing completion routines (ReadFileEx/WriteFileEx)\n"), "{ours}");
    let unpinned = TimeSpan { disable_affinity: true, thread_count: 3, ..TimeSpan::default() };
    let ours = lines(base(), unpinned);
    let pool = "\tthread pool with 3 threads\n\tnumber of outstanding I/O operations per thread: 0\n";
    assert!(
        ours.contains("\taffinity disabled\n") && ours.contains(pool) && !ours.contains("threads per file")
    );
    let none = Target { throughput: Some(Throughput::Iops(0)), ..base() };
    assert_eq!(lines(none, TimeSpan::default()), plain, "a limit of 0 is no limit");
    let profile = Profile { verbose: true, experiment_flags: 31, ..one_span(TimeSpan::default()) };
    let ours = profile_text(&words("diskspd"), &profile, &System::default());
    let flags =
        "\n\nExperiment Flags: 0x1f (31)\n\nInput parameters:\n\n\tusing verbose mode\n\ttimespan:   1\n";
    assert!(ours.contains(flags), "{ours}");
}

#[test]
fn an_unknown_start_leaves_the_field_empty() {
    let ours = system_text(&System { start_unix_s: None, ..system(Machine::Hybrid) }, Release::V2_2);
    assert!(ours.contains("\tstart time: \n\n\tcpu count:\t\t3\n"), "{ours}");
    assert!(ours.ends_with("\theterogeneous cores:\ty\n\n\tactive power scheme:\tperformance\n"), "{ours}");
}

#[test]
fn names_cannot_forge_lines() {
    let mut document = document(&Recipe::PLAIN, 5);
    let forged = "x\ntotal:    1 | 2 | 3 | 4";
    document.profile.time_spans[0].targets[0].path = forged.to_string();
    let TimeSpanResult::Measured(measured) = &mut document.time_spans[0] else { panic!("measured") };
    measured.threads[0].targets[0].path = forged.to_string();
    document.system.computer_name = "100%s\r\n".to_string();
    document.command_line.push(forged.to_string());
    let ours = text(&document);
    assert_eq!(ours.lines().filter(|line| line.starts_with("total:")).count(), 3);
    parse(&ours).unwrap_or_else(|fault| panic!("{fault}\n{ours}"));
}

#[test]
fn totals_over_nothing_are_zero() {
    let ours = text(&document(&Recipe { spans: &[false, false], ..Recipe::PLAIN }, 6));
    let row =
        "total  |               0 |            0 |       0.00 |       0.00\n\ntotal test time:\t0.00s\n";
    assert!(ours.ends_with(row), "{ours}");
}

#[test]
fn cells_grow() {
    let results = target_result("x", u64::MAX, direction(u64::MAX / 4, 1 << 50), Direction::default());
    let mut document = document(&Recipe::PLAIN, 7);
    document.time_spans =
        vec![measured(0.001, vec![CpuUse::default(); 2], vec![thread(1_234_567, vec![results])])];
    let ours = text(&document);
    let row = "\n1234567 | 4611686018427387903 | 1125899906842624 | 4398046511104000.00 | 1125899906842624000.00 | x (";
    assert!(ours.contains(row), "{ours}");
}

#[test]
fn the_table_of_formats() {
    let text_row = format("text").expect("text is a format");
    let document = document(&Recipe::PLAIN, 8);
    assert_eq!((text_row.render)(&document), text(&document));
    assert!(format("Text").is_none() && format("").is_none());
    assert!(FORMATS.iter().all(|row| !row.name.is_empty() && !row.summary.is_empty()));
}

/// Everything at once: columns, charts per path, ranges, waits, two kinds of cores.
#[test]
fn snapshot_of_everything() {
    let recipe = Recipe {
        latency: true,
        iops: true,
        waits: true,
        targets: 2,
        threads: 2,
        ranges: Ranges::Clipped,
        machine: Machine::Everything,
        ..Recipe::PLAIN
    };
    insta::assert_snapshot!(text(&document(&recipe, 11)));
}

#[test]
fn snapshot_of_a_pool() {
    let recipe = Recipe {
        latency: true,
        targets: 3,
        threads: 2,
        pool: Pool::Requests,
        ranges: Ranges::Percent,
        machine: Machine::Smt,
        ..Recipe::PLAIN
    };
    insta::assert_snapshot!(text(&document(&recipe, 12)));
}

#[test]
fn snapshot_of_three_time_spans() {
    let recipe =
        Recipe { iops: true, threads: 3, mix: Mix::Writes, spans: &[true, false, true], ..Recipe::PLAIN };
    insta::assert_snapshot!(text(&document(&recipe, 13)));
}
