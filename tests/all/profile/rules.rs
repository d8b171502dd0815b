//! Every rule that needs no machine (`command-line.md` §9 and the Strict ones): a profile that breaks it
//! and one next to it that does not.

use truespd_core::profile::{
    Arrivals, Batch, BypassIo, CacheMode, Decimal, Distribution, DistributionKind, DistributionRange,
    EfficiencyOrder, Finding, FlushEvery, FlushMode, MixPart, Placement, ProcessorId, Profile, RingOptions,
    Rule, Severity, SteadyRule, Target, ThreadTarget, Throughput, TimeSpan, WholeGroup, validate,
};

fn profile(change: impl Fn(&mut TimeSpan, &mut Target)) -> Profile {
    let mut span = TimeSpan::default();
    let mut target = Target { path: "f".into(), ..Target::default() };
    change(&mut span, &mut target);
    if target.path != "no target at all" {
        span.targets.push(target);
    }
    Profile { time_spans: vec![span], ..Profile::default() }
}

fn rules(findings: &[Finding], severity: Severity) -> Vec<u8> {
    findings.iter().filter(|finding| finding.severity == severity).map(|finding| finding.rule.0).collect()
}

type Change = fn(&mut TimeSpan, &mut Target);

/// Rule, a change that breaks exactly it, and one close by that breaks nothing.
const ERRORS: &[(Rule, Change, Change)] = &[
    (
        Rule::AFFINITY_OFF_WITH_LIST,
        |s, _| {
            s.disable_affinity = true;
            s.affinity = vec![ProcessorId { group: 0, processor: 0 }];
        },
        |s, _| s.disable_affinity = true,
    ),
    (
        Rule::AFFINITY_OFF_WITH_LIST,
        |s, _| {
            s.disable_affinity = true;
            s.affinity_groups = vec![WholeGroup { group: 1, position: 0 }];
        },
        |s, _| s.affinity_groups = vec![WholeGroup { group: 1, position: 0 }],
    ),
    (
        Rule::TOTAL_WITH_PER_TARGET,
        |s, t| (s.thread_count, t.threads_per_file, t.interlocked) = (2, 2, true),
        |s, t| (s.thread_count, t.threads_per_file, t.interlocked) = (2, 1, true),
    ),
    (
        Rule::LIMIT_WITH_ROUTINES,
        |s, t| (s.completion_routines, t.throughput) = (true, Some(Throughput::Iops(1))),
        |s, t| (s.completion_routines, t.throughput) = (true, Some(Throughput::BytesPerMs(0))),
    ),
    (
        Rule::ARRIVALS_WITHOUT_LIMIT,
        |_, t| t.arrivals = Arrivals::Poisson,
        |_, t| (t.arrivals, t.throughput) = (Arrivals::Poisson, Some(Throughput::Iops(1))),
    ),
    (
        Rule::MIX,
        |_, t| (t.mix, t.block_bytes) = (mix(&[(4096, 60.0), (8192, 30.0)]), 8192),
        |_, t| (t.mix, t.block_bytes) = (mix(&[(4096, 60.0), (8192, 40.0)]), 8192),
    ),
    (
        Rule::MIX,
        |_, t| (t.mix, t.block_bytes) = (mix(&[(4096, 60.0), (8192, 40.0)]), 4096),
        |_, t| (t.mix, t.block_bytes) = (mix(&[(4096, 60.0), (8192, 40.0)]), 8192),
    ),
    (
        Rule::FLUSH_EVERY,
        |_, t| t.flush_every = FlushEvery::read("1"),
        |_, t| (t.flush_every, t.write_percent) = (FlushEvery::read("1"), 1),
    ),
    (
        Rule::FLUSH_EVERY,
        |_, t| (t.flush_every, t.write_percent, t.memory_mapped) = (FlushEvery::read("1"), 1, true),
        |_, t| (t.flush_every, t.write_percent, t.memory_mapped) = (FlushEvery::read("1"), 1, false),
    ),
    (Rule::TRIM, |_, t| t.trim_percent = 101, |_, t| t.trim_percent = 100),
    (
        Rule::TRIM,
        |_, t| (t.trim_percent, t.write_percent) = (100, 1),
        |_, t| (t.trim_percent, t.write_percent) = (99, 1),
    ),
    (
        Rule::TRIM,
        |_, t| (t.trim_percent, t.memory_mapped) = (1, true),
        |_, t| (t.trim_percent, t.memory_mapped) = (1, false),
    ),
    (
        Rule::TRIM,
        |s, t| (t.trim_percent, s.completion_routines) = (1, true),
        |s, t| (t.trim_percent, s.completion_routines) = (1, false),
    ),
    (
        Rule::FLUSH_EVERY,
        |_, t| (t.flush_every, t.write_percent, t.trim_percent) = (FlushEvery::read("1"), 0, 50),
        |_, t| (t.flush_every, t.write_percent, t.trim_percent) = (FlushEvery::read("1"), 1, 50),
    ),
    (
        Rule::UNTIL_STEADY,
        |s, _| (s.until_steady, s.duration_s) = (Some(SteadyRule::default()), 0),
        |s, _| (s.until_steady, s.duration_s) = (Some(SteadyRule::default()), 1),
    ),
    (
        Rule::UNTIL_STEADY,
        |s, _| s.until_steady = Some(SteadyRule { window: 2, ..SteadyRule::default() }),
        |s, _| s.until_steady = Some(SteadyRule { window: 3, ..SteadyRule::default() }),
    ),
    (
        Rule::UNTIL_STEADY,
        |s, _| (s.until_steady, s.duration_s) = (Some(SteadyRule::default()), u32::MAX / 25 + 1),
        |s, _| (s.until_steady, s.duration_s) = (Some(SteadyRule::default()), u32::MAX / 25),
    ),
    (
        Rule::UNTIL_STEADY,
        |s, _| {
            (s.until_steady, s.duration_s) = (Some(SteadyRule::default()), 1);
            (s.calculate_iops_std_dev, s.io_bucket_ms) = (true, 300);
        },
        |s, _| {
            (s.until_steady, s.duration_s) = (Some(SteadyRule::default()), 3);
            (s.calculate_iops_std_dev, s.io_bucket_ms) = (true, 300);
        },
    ),
    (
        Rule::ZIPF,
        |_, t| t.zipf = Decimal::new(0.9),
        |_, t| (t.zipf, t.random_percent) = (Decimal::new(0.9), 100),
    ),
    (
        Rule::ZIPF,
        |_, t| (t.zipf, t.random_percent) = (Decimal::new(20.5), 100),
        |_, t| (t.zipf, t.random_percent) = (Decimal::new(20.0), 50),
    ),
    (
        Rule::BURST_AND_PAUSE,
        |_, t| t.burst_ios = Some(5),
        |_, t| (t.burst_ios, t.think_ms) = (Some(5), Some(5)),
    ),
    (
        Rule::BURST_AND_PAUSE,
        |_, t| (t.burst_ios, t.think_ms) = (Some(0), Some(5)),
        |_, t| (t.burst_ios, t.think_ms) = (Some(0), Some(0)),
    ),
    (
        Rule::POOL_WITH_LIMIT,
        |s, t| {
            (s.thread_count, s.request_count) = (1, 4);
            t.throughput = Some(Throughput::BytesPerMs(7));
        },
        |s, t| (s.thread_count, t.throughput) = (1, Some(Throughput::BytesPerMs(7))),
    ),
    (
        Rule::POOL_WITH_PAUSE,
        |s, t| {
            (s.thread_count, s.request_count) = (1, 4);
            (t.burst_ios, t.think_ms) = (Some(5), Some(5));
        },
        |s, t| (s.thread_count, t.burst_ios, t.think_ms) = (1, Some(5), Some(5)),
    ),
    (
        Rule::POOL_WITH_PARALLEL,
        |s, t| (s.thread_count, s.request_count, t.parallel) = (1, 4, true),
        |s, t| (s.thread_count, t.parallel) = (1, true),
    ),
    (
        Rule::POOL_WEIGHT,
        |s, t| (s.thread_count, s.request_count, t.weight) = (1, 4, 0),
        |s, t| (s.thread_count, t.weight) = (1, 0),
    ),
    (
        Rule::POOL_THREAD,
        |s, t| {
            (s.thread_count, s.request_count) = (1, 4);
            t.thread_targets = vec![ThreadTarget { thread: 1, weight: 0 }];
        },
        |s, t| {
            (s.thread_count, s.request_count) = (1, 4);
            t.thread_targets = vec![ThreadTarget { thread: 0, weight: 0 }];
        },
    ),
    (
        Rule::THREAD_TARGETS_WITHOUT_POOL,
        |s, t| {
            s.thread_count = 1;
            t.thread_targets = vec![ThreadTarget { thread: 0, weight: 1 }];
        },
        |s, _| s.thread_count = 1,
    ),
    (
        Rule::RANDOM_WITH_THREAD_STRIDE,
        |_, t| (t.random_percent, t.thread_stride_bytes, t.threads_per_file) = (1, 1, 2),
        |_, t| (t.random_percent, t.thread_stride_bytes, t.threads_per_file) = (0, 1, 2),
    ),
    (
        Rule::RANDOM_WITH_INTERLOCKED,
        |_, t| (t.random_percent, t.interlocked, t.threads_per_file) = (100, true, 2),
        |_, t| (t.random_percent, t.interlocked, t.threads_per_file) = (0, true, 2),
    ),
    (
        Rule::RANDOM_WITH_PARALLEL,
        |_, t| (t.random_percent, t.parallel) = (100, true),
        |_, t| (t.random_percent, t.parallel) = (0, true),
    ),
    (
        Rule::DISTRIBUTION_WITHOUT_RANDOM,
        |_, t| t.distribution = percent(&[(100, 100)]),
        |_, t| (t.distribution, t.random_percent) = (percent(&[(100, 100)]), 1),
    ),
    (
        Rule::INTERLOCKED_WITH_THREAD_STRIDE,
        |_, t| (t.interlocked, t.thread_stride_bytes, t.threads_per_file) = (true, 1, 2),
        |_, t| (t.interlocked, t.threads_per_file) = (true, 2),
    ),
    (
        Rule::INTERLOCKED_WITH_PARALLEL,
        |_, t| (t.interlocked, t.parallel, t.threads_per_file) = (true, true, 2),
        |_, t| (t.interlocked, t.threads_per_file) = (true, 2),
    ),
    (
        Rule::THREAD_STRIDE_WITH_ONE_THREAD,
        |s, t| (t.thread_stride_bytes, s.thread_count) = (1, 1),
        |s, t| (t.thread_stride_bytes, s.thread_count) = (1, 2),
    ),
    (
        Rule::RANGE_BELOW_BLOCK,
        |_, t| (t.random_percent, t.distribution) = (100, absolute(&[(50, 65535), (50, 0)])),
        |_, t| (t.random_percent, t.distribution) = (100, absolute(&[(50, 65536), (50, 0)])),
    ),
    (
        Rule::IO_SHARES_EXCEED,
        |_, t| (t.random_percent, t.distribution) = (100, percent(&[(60, 10), (41, 90)])),
        |_, t| (t.random_percent, t.distribution) = (100, percent(&[(60, 10), (40, 90)])),
    ),
    (
        Rule::TARGET_SHARES_EXCEED,
        |_, t| (t.random_percent, t.distribution) = (100, percent(&[(60, 10), (40, 91)])),
        |_, t| (t.random_percent, t.distribution) = (100, percent(&[(60, 10), (40, 90)])),
    ),
    (
        Rule::TARGET_SHARES_EXCEED,
        |_, t| (t.random_percent, t.distribution) = (100, absolute(&[(60, u64::MAX), (40, 65536)])),
        |_, t| (t.random_percent, t.distribution) = (100, absolute(&[(60, u64::MAX - 65536), (40, 65536)])),
    ),
    (
        Rule::IO_LEFT_OVER,
        |_, t| (t.random_percent, t.distribution) = (100, percent(&[(60, 100), (40, 0)])),
        |_, t| (t.random_percent, t.distribution) = (100, percent(&[(60, 99), (40, 1)])),
    ),
    (
        Rule::IO_LEFT_OVER,
        |_, t| (t.random_percent, t.distribution) = (100, absolute(&[(60, 1 << 20)])),
        |_, t| (t.random_percent, t.distribution) = (100, absolute(&[(100, 1 << 20)])),
    ),
    (
        Rule::TARGET_LEFT_OVER,
        |_, t| (t.random_percent, t.distribution) = (100, percent(&[(100, 50)])),
        |_, t| (t.random_percent, t.distribution) = (100, percent(&[(100, 50), (0, 50)])),
    ),
    (
        Rule::OPEN_RANGE_INSIDE,
        |_, t| (t.random_percent, t.distribution) = (100, absolute(&[(50, 0), (50, 1 << 20)])),
        |_, t| (t.random_percent, t.distribution) = (100, absolute(&[(50, 1 << 20), (50, 0)])),
    ),
    (Rule::SOURCE_BELOW_BLOCK, |_, t| t.write_source_bytes = 65535, |_, t| t.write_source_bytes = 65536),
    (
        Rule::MAPPED_WITH_ROUTINES,
        |s, t| (s.completion_routines, t.memory_mapped) = (true, true),
        |_, t| t.memory_mapped = true,
    ),
    (
        Rule::MAPPED_UNBUFFERED,
        |_, t| (t.memory_mapped, t.cache) = (true, CacheMode::DisableOsCache),
        |_, t| (t.memory_mapped, t.cache) = (true, CacheMode::DisableLocalCache),
    ),
    (
        Rule::FLUSH_WITHOUT_MAPPED,
        |_, t| t.flush = Some(FlushMode::ViewOfFile),
        |_, t| (t.flush, t.memory_mapped) = (Some(FlushMode::ViewOfFile), true),
    ),
    (Rule::TEMPLATE_LEFT, |_, t| t.path = "*1".into(), |_, t| t.path = "./*1".into()),
    (
        Rule::MAXIMUM_NOT_ABOVE_BASE,
        |_, t| (t.base_bytes, t.max_bytes) = (5, 5),
        |_, t| (t.base_bytes, t.max_bytes) = (5, 6),
    ),
    (Rule::BLOCK_SIZE, |_, t| t.block_bytes = 0, |_, t| t.block_bytes = 1),
    (Rule::BLOCK_SIZE, |_, t| t.block_bytes = 1 << 32, |_, t| t.block_bytes = (1 << 32) - 2),
    (
        Rule::PAUSE_WITH_ROUTINES,
        |s, t| (s.completion_routines, t.burst_ios, t.think_ms) = (true, Some(1), Some(1)),
        |s, _| s.completion_routines = true,
    ),
    (
        Rule::FILE_TOO_SMALL,
        |_, t| (t.create_bytes, t.base_bytes, t.block_bytes) = (Some(8191), 4096, 4096),
        |_, t| (t.create_bytes, t.base_bytes, t.block_bytes) = (Some(8192), 4096, 4096),
    ),
    (
        Rule::FILE_TOO_SMALL,
        |s, t| (t.create_bytes, t.thread_stride_bytes, s.thread_count) = (Some(65536 + 1999), 1000, 3),
        |s, t| (t.create_bytes, t.thread_stride_bytes, s.thread_count) = (Some(65536 + 2000), 1000, 3),
    ),
    (
        Rule::FILE_TOO_SMALL,
        |_, t| {
            (t.create_bytes, t.thread_stride_bytes, t.threads_per_file) = (Some(u64::MAX), u64::MAX, u32::MAX)
        },
        |_, t| t.create_bytes = Some(0),
    ),
    (
        Rule::INTERVAL_ZERO,
        |s, _| (s.calculate_iops_std_dev, s.io_bucket_ms) = (true, 0),
        |s, _| s.io_bucket_ms = 0,
    ),
    (Rule::NO_THREAD, |_, t| t.threads_per_file = 0, |s, t| (s.thread_count, t.threads_per_file) = (1, 0)),
    (
        Rule::NO_REQUEST,
        |s, t| (s.thread_count, t.request_count) = (1, 0),
        |s, t| (s.thread_count, s.request_count, t.request_count) = (1, 1, 0),
    ),
    (
        Rule::CREATE_DEVICE,
        |_, t| (t.path, t.create_bytes) = ("#1".into(), Some(1 << 20)),
        |_, t| (t.path, t.create_bytes) = ("#".into(), Some(1 << 20)),
    ),
    (Rule::PATH, |_, t| t.path.clear(), |_, t| t.path = " ".into()),
    (Rule::PATH, |_, t| t.path = "c:".into(), |_, t| t.path = "1:".into()),
    (Rule::PATH, |_, t| t.path = "#1a".into(), |_, t| t.path = "#10".into()),
    (Rule::TEMPLATE_NUMBER, |_, t| t.path = "*+1".into(), |_, t| t.path = "f*1".into()),
    (Rule::PERCENTAGE, |_, t| t.write_percent = 101, |_, t| t.write_percent = 100),
    (Rule::PERCENTAGE, |_, t| t.random_percent = 101, |_, t| t.random_percent = 100),
    (
        Rule::BATCH,
        |s, _| s.ring = Some(RingOptions { registered_buffers: true, batch: Batch::Count(65_537) }),
        |s, _| s.ring = Some(RingOptions { registered_buffers: true, batch: Batch::Count(65_536) }),
    ),
    (
        Rule::BATCH,
        |s, _| s.ring = Some(RingOptions { registered_buffers: true, batch: Batch::Percent(0) }),
        |s, _| s.ring = Some(RingOptions { registered_buffers: true, batch: Batch::Percent(100) }),
    ),
    (Rule::COMPLETION_DEPTH, |s, _| s.completion_batch = Some(0), |s, _| s.completion_batch = Some(1)),
    (Rule::COMPLETION_DEPTH, |s, _| s.completion_batch = Some(17), |s, _| s.completion_batch = Some(16)),
    (
        Rule::COMPLETION_DEPTH,
        |s, _| (s.completion_batch, s.completion_routines) = (Some(8), true),
        |s, _| s.completion_routines = true,
    ),
    (
        Rule::COMPLETION_DEPTH,
        |s, t| (s.completion_batch, t.memory_mapped) = (Some(8), true),
        |_, t| t.memory_mapped = true,
    ),
    (
        Rule::RING_ALONE,
        |s, _| {
            s.completion_routines = true;
            s.ring = Some(RingOptions { registered_buffers: true, batch: Batch::Count(8) });
        },
        |s, _| s.ring = Some(RingOptions { registered_buffers: true, batch: Batch::Count(8) }),
    ),
    (Rule::REQUESTS_MAX, |_, t| t.request_count = 65_537, |_, t| t.request_count = 65_536),
    (
        Rule::BYPASS_IO,
        |_, t| t.bypass_io = Some(BypassIo::Partial),
        |_, t| (t.bypass_io, t.cache) = (Some(BypassIo::Partial), CacheMode::DisableOsCache),
    ),
    (
        Rule::BYPASS_IO,
        |_, t| {
            (t.bypass_io, t.cache) = (Some(BypassIo::Full), CacheMode::DisableOsCache);
            t.write_percent = 1;
        },
        |_, t| (t.bypass_io, t.cache) = (Some(BypassIo::Full), CacheMode::DisableOsCache),
    ),
    (Rule::NO_TARGET, |_, t| t.path = "no target at all".into(), |_, _| {}),
    (
        Rule::PLACEMENT_WITHOUT_EFFECT,
        |s, _| {
            s.disable_affinity = true;
            s.placement =
                Placement { efficiency: EfficiencyOrder::FillEfficiencyFirst, ..Placement::default() };
        },
        |s, _| {
            s.placement =
                Placement { efficiency: EfficiencyOrder::FillEfficiencyFirst, ..Placement::default() }
        },
    ),
    (
        Rule::PLACEMENT_WITHOUT_EFFECT,
        |s, _| {
            s.disable_affinity = true;
            s.placement = Placement { efficiency: EfficiencyOrder::Unordered, ..Placement::default() };
        },
        |s, _| {
            s.affinity = vec![ProcessorId { group: 0, processor: 3 }];
            s.placement = Placement { cores_first: true, ..Placement::default() };
        },
    ),
];

fn mix(parts: &[(u64, f64)]) -> Vec<MixPart> {
    let part =
        |&(block_bytes, percent)| MixPart { block_bytes, percent: Decimal::new(percent).expect("above 0") };
    parts.iter().map(part).collect()
}

fn ranges(kind: DistributionKind, pairs: &[(u32, u64)]) -> Option<Distribution> {
    let ranges = pairs.iter().map(|&(io_percent, span)| DistributionRange { io_percent, span }).collect();
    Some(Distribution { kind, ranges })
}

fn percent(pairs: &[(u32, u64)]) -> Option<Distribution> {
    ranges(DistributionKind::Percent, pairs)
}

fn absolute(pairs: &[(u32, u64)]) -> Option<Distribution> {
    ranges(DistributionKind::Absolute, pairs)
}

#[test]
fn each_error_both_ways() {
    for (i, (rule, wrong, right)) in ERRORS.iter().enumerate() {
        let findings = validate(&profile(wrong), true);
        assert_eq!(rules(&findings, Severity::Error), [rule.0], "row {i}: {findings:#?}");
        let findings = validate(&profile(right), true);
        assert_eq!(rules(&findings, Severity::Error), [0; 0], "row {i}: {findings:#?}");
    }
}

#[test]
fn the_table_holds_every_rule() {
    let tested: Vec<u8> = ERRORS.iter().map(|(rule, ..)| rule.0).collect();
    // 1 has a test of its own, 2 to 4 ask the machine, the others are warnings.
    for rule in (5..=52).filter(|rule| ![19, 22, 23, 38, 39, 41].contains(rule)) {
        assert!(tested.contains(&rule), "rule {rule} is not in the table");
    }
}

#[test]
fn no_time_span() {
    let findings = validate(&Profile::default(), true);
    assert_eq!(rules(&findings, Severity::Error), [Rule::NO_TIME_SPAN.0]);
    assert_eq!((findings[0].time_span, findings[0].target), (None, None));
}

#[test]
fn warnings_use_the_phrases_that_consumers_know() {
    type Row = (Rule, &'static str, Change, Change);
    let table: &[Row] = &[
        (
            Rule::PARALLEL_WITH_ONE_REQUEST,
            "-p does not have effect unless outstanding I/O count (-o) is > 1",
            |_, t| (t.parallel, t.request_count) = (true, 1),
            |_, t| (t.parallel, t.request_count) = (true, 2),
        ),
        (
            Rule::INTERLOCKED_WITH_ONE_THREAD,
            "single-threaded test, -si ignored",
            |_, t| t.interlocked = true,
            |s, t| (t.interlocked, s.thread_count) = (true, 2),
        ),
        (
            Rule::OVERLAPPING_THREADS,
            "target access pattern will not be sequential, consider -si",
            |_, t| t.threads_per_file = 2,
            |_, t| (t.threads_per_file, t.thread_stride_bytes) = (2, 1),
        ),
        (
            Rule::OVERLAPPING_THREADS,
            "target access pattern will not be sequential, consider -si",
            |s, _| s.thread_count = 2,
            |s, t| (s.thread_count, t.random_percent) = (2, 1),
        ),
    ];
    for (rule, phrase, warned, silent) in table {
        let findings = validate(&profile(warned), true);
        assert_eq!(rules(&findings, Severity::Warning), [rule.0]);
        assert_eq!(rules(&findings, Severity::Error), [0; 0]);
        assert!(findings[0].message.starts_with(phrase), "{}", findings[0].message);
        assert_eq!(validate(&profile(silent), true), []);
    }
}

#[test]
fn templates_may_stay_when_nothing_runs() {
    let template = profile(|_, t| t.path = "*12".into());
    assert_eq!(validate(&template, false), []);
    assert_eq!(rules(&validate(&template, true), Severity::Error), [Rule::TEMPLATE_LEFT.0]);
    for wrong in ["*", "*0", "*x", "*1x", "**1", "*-1", "* 1", "*99999999999"] {
        let profile = profile(|_, t| t.path = wrong.into());
        for will_run in [false, true] {
            let findings = validate(&profile, will_run);
            assert_eq!(rules(&findings, Severity::Error), [Rule::TEMPLATE_NUMBER.0], "{wrong}");
        }
    }
}

#[test]
fn findings_tell_the_place() {
    let mut profile = profile(|_, _| {});
    let mut second = TimeSpan::default();
    for (path, block_bytes) in [("a", 512), ("b", 0)] {
        second.targets.push(Target { path: path.into(), block_bytes, ..Target::default() });
    }
    second.request_count = 3;
    profile.time_spans.push(second);
    let findings = validate(&profile, true);
    let places: Vec<_> = findings.iter().map(|finding| (finding.time_span, finding.target)).collect();
    assert_eq!(places, [(Some(1), None), (Some(1), Some(1))]);
    assert_eq!(findings[0].place(&profile).as_deref(), Some("time span 2"));
    assert_eq!(findings[1].place(&profile).as_deref(), Some("time span 2, target 2 'b'"));
    assert_eq!(findings[1].switches, ["-b"]);
}

#[test]
fn only_the_first_cause_of_a_distribution_is_told() {
    // The second range is too short, the third takes too much: what follows a wrong range means nothing.
    let broken = profile(|_, t| {
        t.random_percent = 100;
        t.distribution = absolute(&[(60, 1 << 20), (30, 1), (60, 1 << 20)]);
    });
    assert_eq!(rules(&validate(&broken, true), Severity::Error), [Rule::RANGE_BELOW_BLOCK.0]);
}

#[test]
fn affinity_lists_keep_their_order() {
    use truespd_core::profile::AffinityItem::{Processor, WholeGroup as Group};
    let cpu = |processor| ProcessorId { group: 0, processor };
    let whole = |group, position| WholeGroup { group, position };
    let span = TimeSpan {
        affinity: vec![cpu(4), cpu(5)],
        affinity_groups: vec![whole(9, 0), whole(1, 1), whole(2, 1), whole(3, 2)],
        ..TimeSpan::default()
    };
    let wanted = [Group(9), Processor(cpu(4)), Group(1), Group(2), Processor(cpu(5)), Group(3)];
    assert_eq!(span.affinity_items(), wanted);
}
