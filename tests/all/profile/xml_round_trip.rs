//! Any profile that the format can carry: written, read, the same again.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use truespd_core::profile::xml::{read, read_bytes, write};
use truespd_core::profile::{
    Arrivals, Batch, CacheMode, Decimal, Distribution, DistributionKind, DistributionRange, EfficiencyOrder,
    Etw, FlushEvery, FlushMode, IoPriority, MixPart, Placement, Precreate, ProcessorId, Profile, Release,
    ResultFormat, RingOptions, SteadyRule, Target, ThreadTarget, Throughput, TimeSpan, WholeGroup,
};

/// Numbers with the ends of their range among them.
fn number() -> impl Strategy<Value = u32> {
    prop_oneof![Just(0), Just(1), Just(u32::MAX), any::<u32>()]
}

fn bytes() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(4096), Just(u64::MAX), any::<u64>()]
}

/// Names with everything in them that XML can carry, and templates.
fn path() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z/ .&<>\"'\t\n\r\u{e9}\u{1f600}]{1,40}",
        "\\*[1-9][0-9]{0,3}",
        "[^\\*\\x00-\\x1f\u{fffe}\u{ffff}][^\\x00-\\x1f\u{fffe}\u{ffff}]{0,60}"
    ]
}

fn distribution() -> impl Strategy<Value = Distribution> {
    // Shares that add up to 100, so that no tail is implied.
    let percent = (0..=100u32, 1..=99u64).prop_map(|(io, span)| Distribution {
        kind: DistributionKind::Percent,
        ranges: vec![
            DistributionRange { io_percent: io, span },
            DistributionRange { io_percent: 100 - io, span: 100 - span },
        ],
    });
    let absolute = (0..=50u32, vec(bytes(), 1..5)).prop_map(|(io, spans)| {
        let mut ranges: Vec<_> =
            spans.iter().map(|&span| DistributionRange { io_percent: 0, span }).collect();
        ranges[0].io_percent = io;
        ranges.push(DistributionRange { io_percent: 100 - io, span: 0 });
        Distribution { kind: DistributionKind::Absolute, ranges }
    });
    prop_oneof![percent, absolute]
}

fn part((block_bytes, hundredths): (u64, u32)) -> MixPart {
    MixPart { block_bytes, percent: Decimal::new(f64::from(hundredths) / 100.0).expect("above 0") }
}

prop_compose! {
    fn pattern()(
        random_percent in prop_oneof![Just(0), Just(100), 1..100u32],
        stride in prop_oneof![Just(1), Just(u64::MAX), 1..u64::MAX],
        interlocked: bool,
        distribution in option::of(distribution()),
        parallel: bool,
        thread_stride_bytes in bytes(),
    ) -> Target {
        let is_random = random_percent > 0;
        Target {
            random_percent,
            stride_bytes: Some(stride),
            interlocked: interlocked && !is_random,
            distribution: distribution.filter(|_| is_random),
            parallel,
            thread_stride_bytes,
            ..Target::default()
        }
    }
}

prop_compose! {
    fn handling()(
        flags in any::<[bool; 6]>(),
        cache in prop_oneof![
            Just(CacheMode::Cached), Just(CacheMode::DisableLocalCache), Just(CacheMode::DisableOsCache)
        ],
        flush in option::of(prop_oneof![
            Just(FlushMode::ViewOfFile),
            Just(FlushMode::NonVolatileMemory),
            Just(FlushMode::NonVolatileMemoryNoDrain)
        ]),
        source in option::of((1..u64::MAX, option::of("[a-z ,&\u{e9}]{1,20}"))),
        zero: bool,
        priority in prop_oneof![Just(IoPriority::VeryLow), Just(IoPriority::Low), Just(IoPriority::Normal)],
    ) -> Target {
        let [sequential_scan, random_access, temporary_file, large_pages, write_through, memory_mapped] = flags;
        let (write_source_bytes, write_source_path) = source.unwrap_or_default();
        Target {
            sequential_scan, random_access, temporary_file, large_pages, write_through, memory_mapped,
            cache,
            flush,
            // With a source the pattern is not told.
            zero_write_buffers: zero && write_source_bytes == 0,
            write_source_bytes,
            write_source_path,
            priority,
            ..Target::default()
        }
    }
}

prop_compose! {
    fn target()(
        path in path(),
        pattern in pattern(),
        handling in handling(),
        (block, base_bytes, max_bytes) in (number(), bytes(), bytes()),
        (write_percent, request_count, threads_per_file) in (0..=100u32, number(), number()),
        throughput in option::of((any::<bool>(), 1..=u32::MAX)),
        arrivals in prop_oneof![Just(Arrivals::Even), Just(Arrivals::Poisson)],
        zipf in option::of((1..=2000u32).prop_map(|n| Decimal::new(f64::from(n) / 100.0).expect("above 0"))),
        (flush_every, trim_percent) in (option::of((1..=u32::MAX, any::<bool>())), 0..=100u32),
        mix in vec((1..=u64::from(u32::MAX), 1..=10_000u32), 0..4),
        (burst_ios, think_ms, create_bytes) in (option::of(number()), option::of(number()), option::of(bytes())),
        weight in number(),
        thread_targets in vec((number(), number()), 0..4),
    ) -> Target {
        let limit = |(is_iops, n): (bool, u32)| if is_iops { Throughput::Iops(n.into()) } else { Throughput::BytesPerMs(n.into()) };
        Target {
            path,
            block_bytes: block.into(),
            base_bytes, max_bytes, write_percent, request_count, threads_per_file,
            burst_ios, think_ms, create_bytes, weight,
            throughput: throughput.map(limit),
            arrivals,
            zipf,
            flush_every: flush_every.map(|(writes, data_only)| FlushEvery { writes, data_only }),
            trim_percent,
            mix: mix.into_iter().map(part).collect(),
            thread_targets: thread_targets.into_iter().map(|(thread, weight)| ThreadTarget { thread, weight }).collect(),
            random_percent: pattern.random_percent,
            stride_bytes: pattern.stride_bytes,
            interlocked: pattern.interlocked,
            distribution: pattern.distribution,
            parallel: pattern.parallel,
            thread_stride_bytes: pattern.thread_stride_bytes,
            ..handling
        }
    }
}

fn placement() -> impl Strategy<Value = Placement> {
    let efficiency = prop_oneof![
        Just(EfficiencyOrder::Unordered),
        Just(EfficiencyOrder::PerformanceFirst),
        Just(EfficiencyOrder::FillPerformanceFirst),
        Just(EfficiencyOrder::EfficiencyFirst),
        Just(EfficiencyOrder::FillEfficiencyFirst),
    ];
    (any::<bool>(), any::<bool>(), efficiency).prop_map(|(cores_first, span_groups, efficiency)| Placement {
        cores_first,
        span_groups,
        efficiency,
    })
}

fn ring() -> impl Strategy<Value = RingOptions> {
    let batch = prop_oneof![(1..=65_535u32).prop_map(Batch::Count), (1..=100u32).prop_map(Batch::Percent)];
    (any::<bool>(), batch).prop_map(|(registered_buffers, batch)| RingOptions { registered_buffers, batch })
}

prop_compose! {
    fn time_span()(
        flags in any::<[bool; 7]>(),
        (duration_s, warmup_s, cooldown_s) in (number(), number(), number()),
        (thread_count, request_count, rand_seed) in (number(), number(), number()),
        io_bucket_ms in 1..=u32::MAX,
        affinity in vec((0..=65_535u32, 0..=255u32), 0..4),
        groups in vec((0..=65_535u32, 0..4usize), 0..3),
        placement in placement(),
        ring in option::of(ring()),
        completion_batch in option::of(1..=u32::MAX),
        until_steady in option::of((3..50u32, 0..900u32, 1..=100u32, 1..=100u32)),
        targets in vec(target(), 1..4),
    ) -> TimeSpan {
        let [completion_routines, measure_latency, calculate_iops_std_dev, disable_affinity, random_write_data,
            pack_buffers, separate_buffers] = flags;
        // A list with whole groups is written as masks, which name a processor by its own group only.
        let numbers = if groups.is_empty() { 256 } else { 64 };
        let affinity: Vec<_> = affinity.into_iter().map(|(group, number)| (group, number % numbers)).collect();
        let mut affinity_groups: Vec<_> = groups
            .into_iter()
            .map(|(group, position)| WholeGroup { group, position: position.min(affinity.len()) })
            .collect();
        affinity_groups.sort_by_key(|whole| whole.position);
        let affinity: Vec<_> =
            affinity.into_iter().map(|(group, processor)| ProcessorId { group, processor }).collect();
        TimeSpan {
            completion_routines, measure_latency, calculate_iops_std_dev, disable_affinity, random_write_data,
            pack_buffers, separate_buffers: separate_buffers && !pack_buffers, duration_s, warmup_s, cooldown_s, thread_count, request_count, rand_seed, io_bucket_ms,
            // Beside a list a placement has no effect.
            placement: if affinity.is_empty() && affinity_groups.is_empty() { placement } else { Placement::default() },
            affinity, affinity_groups, affinity_mask_starts: Vec::new(), ring, completion_batch, targets,
            until_steady: until_steady.map(|(window, more, range_percent, slope_percent)|
                SteadyRule { window, rounds: window + more, range_percent, slope_percent }),
        }
    }
}

fn etw() -> impl Strategy<Value = Etw> {
    any::<[bool; 12]>().prop_map(|f| Etw {
        process: f[0],
        thread: f[1],
        image_load: f[2],
        disk_io: f[3],
        memory_page_faults: f[4],
        memory_hard_faults: f[5],
        network: f[6],
        registry: f[7],
        use_paged_memory: f[8],
        use_perf_timer: f[9],
        use_system_timer: f[10],
        use_cycles_counter: f[11],
    })
}

prop_compose! {
    fn profile()(
        (progress_ios, experiment_flags) in (number(), number()),
        (is_xml, verbose, verbose_stats) in any::<(bool, bool, bool)>(),
        precreate in prop_oneof![
            Just(Precreate::None),
            Just(Precreate::UseMaxSize),
            Just(Precreate::OnlyConstantSizes),
            Just(Precreate::OnlyConstantOrZeroSizes)
        ],
        etw in option::of(etw()),
        time_spans in vec(time_span(), 1..3),
    ) -> Profile {
        let result_format = if is_xml { ResultFormat::Xml } else { ResultFormat::Text };
        let release = Release::V2_2;
        Profile { release, progress_ios, result_format, verbose, verbose_stats, experiment_flags, precreate, etw, time_spans }
    }
}

/// The same bytes in UTF-16.
fn utf16(text: &str) -> Vec<u8> {
    [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_be_bytes).collect()
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(profile in profile(), indent in 0..3usize) {
        let text = write(&profile, indent);
        let again = read(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        prop_assert_eq!(&again, &profile);
        prop_assert_eq!(write(&again, indent), text.clone());
        prop_assert_eq!(&read_bytes(&utf16(&text)).expect("in any encoding"), &profile);
    }

    /// The form of 2.3 holds as much, and its defaults.
    #[test]
    fn what_is_written_in_the_form_of_2_3_is_read_again(profile in profile()) {
        let mut profile = profile;
        for span in &mut profile.time_spans {
            // Masks name a processor by its own group only.
            span.affinity.iter_mut().for_each(|id| id.processor %= 64);
            if span.disable_affinity {
                span.placement = Placement::default();
            }
        }
        profile.take_release(Release::V2_3);
        let text = write(&profile, 0);
        let mut again = read(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        again.take_release(Release::V2_3);
        prop_assert_eq!(&again, &profile);
        prop_assert_eq!(write(&again, 0), text);
    }

    /// The order of elements has no meaning, nor has white space between them.
    #[test]
    fn lines_of_a_target_may_be_shuffled(profile in profile(), seed: u64) {
        let text = write(&profile, 0);
        let shuffled = shuffle_leaves(&text, seed);
        prop_assert_eq!(read(&shuffled).unwrap_or_else(|error| panic!("{error}\n{shuffled}")), profile);
    }

    /// Whatever stands in a file, reading ends with a profile or an error that has a place within it.
    #[test]
    fn damaged_profiles_do_no_harm(profile in profile(), cuts in vec((any::<usize>(), any::<u8>()), 1..4)) {
        let mut bytes = write(&profile, 0).into_bytes();
        for (at, byte) in cuts {
            // The cuts before may have left nothing.
            let Some(at) = at.checked_rem(bytes.len()) else { break };
            match byte % 3 {
                0 => bytes[at] = byte,
                1 => { bytes.remove(at); }
                _ => bytes.truncate(at.max(1)),
            }
        }
        if let Err(error) = read_bytes(&bytes) {
            prop_assert!(error.line as usize <= bytes.split(|&b| b == b'\n').count(), "{}", error);
            prop_assert!(!error.to_string().chars().any(|c| c.is_control() && c != '\n'), "{}", error);
        }
    }
}

/// Exchanges neighbouring plain elements of the same depth at random.
fn shuffle_leaves(text: &str, mut seed: u64) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let plain = |line: &str| {
        let name = line.trim_start().trim_start_matches('<').split(['>', ' ']).next().unwrap_or("");
        line.ends_with(&format!("</{name}>")) && !matches!(name, "" | "Range")
    };
    let depth = |line: &str| line.len() - line.trim_start().len();
    for i in 1..lines.len() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let together = plain(lines[i]) && plain(lines[i - 1]) && depth(lines[i]) == depth(lines[i - 1]);
        if together && seed >> 63 == 1 {
            lines.swap(i, i - 1);
        }
    }
    lines.join(" \r\n")
}

/// Names that XML cannot hold do not break the document.
#[test]
fn control_characters_in_names_become_replacements() {
    let target = Target { path: "a\u{1}\u{1b}[2Jb\u{ffff}".to_string(), ..Target::default() };
    let span = TimeSpan { targets: vec![target], ..TimeSpan::default() };
    let text = write(&Profile { time_spans: vec![span], ..Profile::default() }, 0);
    let again = read(&text).expect("is well-formed");
    assert_eq!(again.time_spans[0].targets[0].path, "a\u{fffd}\u{fffd}[2Jb\u{fffd}");
}
