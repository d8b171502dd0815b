//! The accepted lines of the contract (`command-line.md` §10), each with the whole profile that it
//! stands for. Numbers are the rows of that table.

use crate::support::words::{BOOT_MS, read, run};
use diskspd::grammar::parse::Invocation;
use diskspd::request::EngineChoice;
use truespd_core::profile::{
    AffinityItem, Arrivals, Batch, CacheMode, Decimal, Distribution, DistributionKind, DistributionRange,
    EfficiencyOrder, Etw, FlushEvery, FlushMode, IoPriority, MixPart, Placement, ProcessorId, Profile,
    Release, ResultFormat, RingOptions, SteadyRule, Target, Throughput, TimeSpan,
};
use truespd_core::result::Grade;

/// What a line stands for: defaults with changes.
#[derive(Default)]
struct Expected {
    profile: Profile,
    span: TimeSpan,
    target: Target,
}

const OVERLAP: &str = "target access pattern will not be sequential, consider -si";
const ALONE: &str = "single-threaded test, -si ignored";
const ONE_REQUEST: &str = "-p does not have effect unless outstanding I/O count (-o) is > 1";

/// All `lines` stand for the same profile over `targets`, with these warnings.
#[track_caller]
fn accept(lines: &[&str], targets: &[&str], warnings: &[&str], change: impl Fn(&mut Expected)) {
    let mut expected = Expected::default();
    change(&mut expected);
    let Expected { mut profile, mut span, target } = expected;
    span.targets = targets.iter().map(|path| Target { path: path.to_string(), ..target.clone() }).collect();
    profile.time_spans = vec![span];
    for line in lines {
        let request = run(line);
        assert_eq!(request.profile, profile, "{line}");
        assert!(request.profile_file.is_none(), "{line}");
        assert_eq!(
            request.findings_warnings.len(),
            warnings.len(),
            "{line}: {:?}",
            request.findings_warnings
        );
        for (found, wanted) in request.findings_warnings.iter().zip(warnings) {
            assert_eq!(found, wanted, "{line}: to the letter");
        }
    }
}

/// [`accept`] for the target `f` and no warning.
#[track_caller]
fn f(lines: &[&str], change: impl Fn(&mut Expected)) {
    accept(lines, &["f"], &[], change);
}

fn cpus(pairs: &[(u32, u32)]) -> Vec<ProcessorId> {
    pairs.iter().map(|&(group, processor)| ProcessorId { group, processor }).collect()
}

fn random(x: &mut Expected, alignment: Option<u64>) {
    x.target.random_percent = 100;
    x.target.stride_bytes = alignment;
}

fn distribution(x: &mut Expected, kind: DistributionKind, ranges: &[(u32, u64)]) {
    let ranges = ranges.iter().map(|&(io_percent, span)| DistributionRange { io_percent, span }).collect();
    x.target.distribution = Some(Distribution { kind, ranges });
}

use DistributionKind::{Absolute, Percent};

const G: u64 = 1 << 30;

#[test]
fn sizes_1_to_7() {
    f(&["f"], |_| {});
    accept(&["-b4K -w84 -a1,4,6 f g"], &["f", "g"], &[], |x| {
        x.target.block_bytes = 4096;
        x.target.write_percent = 84;
        x.span.affinity = cpus(&[(0, 1), (0, 4), (0, 6)]);
    });
    f(&["-b4b f"], |x| x.target.block_bytes = 262144);
    f(&["-b4k -b2b f"], |x| x.target.block_bytes = 8192);
    f(&["-r8b -b4k f", "-b4k -r8b f"], |x| {
        x.target.block_bytes = 4096;
        random(x, Some(32768));
    });
    f(&["-b4294967294 f"], |x| x.target.block_bytes = 4294967294);
}

#[test]
fn patterns_8_to_19() {
    f(&["-r f"], |x| random(x, None));
    f(&["-r8k f"], |x| random(x, Some(8192)));
    f(&["-s8k f"], |x| x.target.stride_bytes = Some(8192));
    f(&["-s0 f", "-s f"], |_| {});
    f(&["-si -t2 f"], |x| {
        x.target.threads_per_file = 2;
        x.target.interlocked = true;
    });
    f(&["-si1M -t4 -b1M -o8 f"], |x| {
        x.target.block_bytes = 1 << 20;
        x.target.threads_per_file = 4;
        x.target.request_count = 8;
        x.target.interlocked = true;
        x.target.stride_bytes = Some(1 << 20);
    });
    accept(&["-si f"], &["f"], &[ALONE], |x| x.target.interlocked = true);
    f(&["-rs50 f"], |x| x.target.random_percent = 50);
    f(&["-rs50 -r8k f", "-r8k -rs50 f"], |x| {
        x.target.random_percent = 50;
        x.target.stride_bytes = Some(8192);
    });
    f(&["-rs100 -r f", "-r -rs100 f"], |x| random(x, None));
    f(&["-rs100 -rs50 f"], |x| x.target.random_percent = 50);
    f(&["-rs80 -r4k -b4k -w30 f"], |x| {
        x.target.block_bytes = 4096;
        x.target.random_percent = 80;
        x.target.stride_bytes = Some(4096);
        x.target.write_percent = 30;
    });
}

#[test]
fn distributions_20_to_29() {
    let on_random = |line: &str, kind, ranges: &[(u32, u64)]| {
        f(&[line], |x| {
            random(x, None);
            distribution(x, kind, ranges);
        });
    };
    on_random("-rdpct10/10:10/10:0/10 -r f", Percent, &[(10, 10), (10, 10), (0, 10), (80, 70)]);
    on_random("-rdpct90/10 -r f", Percent, &[(90, 10), (10, 90)]);
    f(&["-rdpct90/10:0/10:5/20 -r -b8k f"], |x| {
        x.target.block_bytes = 8192;
        random(x, None);
        distribution(x, Percent, &[(90, 10), (0, 10), (5, 20), (5, 60)]);
    });
    on_random("-rdpct100/10:0/90 -r f", Percent, &[(100, 10), (0, 90)]);
    on_random("-rdpct0/10 -r f", Percent, &[(0, 10), (100, 90)]);
    let hole = [(10, G), (10, G), (0, 100 * G), (80, 0)];
    on_random("-rdabs10/1G:10/1G:0/100G -r f", Absolute, &hole);
    f(&["-rdabs60/1G:40/9G -r -b4k f"], |x| {
        x.target.block_bytes = 4096;
        random(x, None);
        distribution(x, Absolute, &[(60, G), (40, 9 * G)]);
    });
    on_random("-rdabs10/10b -r f", Absolute, &[(10, 655360), (90, 0)]);
    f(&["-rdpct90/10 -rs50 -r8k f"], |x| {
        x.target.random_percent = 50;
        x.target.stride_bytes = Some(8192);
        distribution(x, Percent, &[(90, 10), (10, 90)]);
    });
    on_random("-r -rdpct90/10 -rdpct80/20 f", Percent, &[(80, 20), (20, 80)]);
    on_random("-r -rdabs90/1G -rdpct80/20 f", Percent, &[(80, 20), (20, 80)]);
}

#[test]
fn threads_30_to_40() {
    f(&["-p -o4 f"], |x| {
        x.target.parallel = true;
        x.target.request_count = 4;
    });
    accept(&["-p -o1 f"], &["f"], &[ONE_REQUEST], |x| {
        x.target.parallel = true;
        x.target.request_count = 1;
    });
    f(&["-T1M -t2 f"], |x| {
        x.target.threads_per_file = 2;
        x.target.thread_stride_bytes = 1 << 20;
    });
    f(&["-c3G -t3 -T1G -b4K -s f"], |x| {
        x.target.create_bytes = Some(3 * G);
        x.target.threads_per_file = 3;
        x.target.block_bytes = 4096;
        x.target.thread_stride_bytes = G;
    });
    f(&["-T1b -t3 -s3b -b4k f"], |x| {
        x.target.threads_per_file = 3;
        x.target.block_bytes = 4096;
        x.target.stride_bytes = Some(12288);
        x.target.thread_stride_bytes = 4096;
    });
    f(&["-F8 -T1b -s8b -b4K f"], |x| {
        x.span.thread_count = 8;
        x.target.block_bytes = 4096;
        x.target.stride_bytes = Some(32768);
        x.target.thread_stride_bytes = 4096;
    });
    accept(&["-t2 f"], &["f"], &[OVERLAP], |x| x.target.threads_per_file = 2);
    accept(&["-t1 -F2 f"], &["f"], &[OVERLAP], |x| x.span.thread_count = 2);
    accept(&["-F2 -O4 a b c d e"], &["a", "b", "c", "d", "e"], &[OVERLAP], |x| {
        x.span.thread_count = 2;
        x.span.request_count = 4;
    });
    // 39 is in tests/data/deliberate-differences.md
    f(&["-F8 -r -o32 f"], |x| {
        x.span.thread_count = 8;
        x.target.request_count = 32;
        random(x, None);
    });
}

#[test]
fn ranges_41_to_49() {
    f(&["-B5m f"], |x| x.target.base_bytes = 5242880);
    f(&["-B5m:1m f", "-B5m -f6m f", "-f6m -B5m f"], |x| {
        x.target.base_bytes = 5242880;
        x.target.max_bytes = 6291456;
    });
    f(&["-B1b:4b -b4k f"], |x| {
        x.target.block_bytes = 4096;
        x.target.base_bytes = 4096;
        x.target.max_bytes = 20480;
    });
    f(&["-f64M -fs f"], |x| {
        x.target.max_bytes = 67108864;
        x.target.sequential_scan = true;
    });
    f(&["-frst f", "-fr -ft -fs f", "-ftrsr f"], |x| {
        x.target.random_access = true;
        x.target.sequential_scan = true;
        x.target.temporary_file = true;
    });
    f(&["-f16777215T f"], |x| x.target.max_bytes = 18446742974197923840);
    f(&["-c100b -b4K f"], |x| {
        x.target.create_bytes = Some(409600);
        x.target.block_bytes = 4096;
    });
    // 48 is in tests/data/deliberate-differences.md
    accept(&["-b4K -B10b '#1'"], &["#1"], &[], |x| {
        x.target.block_bytes = 4096;
        x.target.base_bytes = 40960;
    });
}

#[test]
fn caching_50_to_58() {
    let cached = |lines: &[&str], mode, write_through, mapped, flush| {
        f(lines, |x| {
            x.target.cache = mode;
            x.target.write_through = write_through;
            x.target.memory_mapped = mapped;
            x.target.flush = flush;
        });
    };
    use CacheMode::{Cached, DisableLocalCache, DisableOsCache};
    cached(&["-S f", "-Su f"], DisableOsCache, false, false, None);
    cached(&["-Sh f", "-h f", "-Suw f", "-Swu f", "-S -Sw f"], DisableOsCache, true, false, None);
    cached(&["-Sw f", "-Sbw f"], Cached, true, false, None);
    cached(&["-Sr f"], DisableLocalCache, false, false, None);
    cached(&["-Srw f"], DisableLocalCache, true, false, None);
    cached(&["-Sm f", "-Sbm f"], Cached, false, true, None);
    cached(&["-Smw f", "-Sbmw f"], Cached, true, true, None);
    cached(&["-Smrw f"], DisableLocalCache, true, true, None);
    let view = Some(FlushMode::ViewOfFile);
    cached(&["-Sm -Nv f", "-Nv -Sm f", "-NV -Sm f"], Cached, false, true, view);
    cached(&["-Sm -Nv -Nn f"], Cached, false, true, Some(FlushMode::NonVolatileMemory));
    cached(&["-Sm -Ni f"], Cached, false, true, Some(FlushMode::NonVolatileMemoryNoDrain));
}

#[test]
fn rates_59_to_64() {
    f(&["-g1024 -b128K f"], |x| {
        x.target.throughput = Some(Throughput::BytesPerMs(1024));
        x.target.block_bytes = 131072;
    });
    f(&["-b128K -g10i f"], |x| {
        x.target.throughput = Some(Throughput::Iops(10));
        x.target.block_bytes = 131072;
    });
    f(&["-g100i f", "-g100i --arrivals even f"], |x| x.target.throughput = Some(Throughput::Iops(100)));
    f(&["-g100i --arrivals poisson f", "--arrivals poisson -g100i f"], |x| {
        x.target.throughput = Some(Throughput::Iops(100));
        x.target.arrivals = Arrivals::Poisson;
    });
    let mix = |parts: &[(u64, f64)]| -> Vec<MixPart> {
        let part =
            |&(block_bytes, percent)| MixPart { block_bytes, percent: Decimal::new(percent).expect("legal") };
        parts.iter().map(part).collect()
    };
    f(&["--mix 4K:60.5,64k:39.5 f", "--mix=4096:60.5,65536:39.5 f"], |x| {
        x.target.mix = mix(&[(4096, 60.5), (65536, 39.5)]);
        x.target.block_bytes = 65536;
    });
    // The largest size is the unit of the suffix b.
    f(&["-c10b --mix 8k:70,4k:30 f"], |x| {
        x.target.mix = mix(&[(8192, 70.0), (4096, 30.0)]);
        (x.target.block_bytes, x.target.create_bytes) = (8192, Some(81920));
    });
    f(&["-w100 --flush-every 8 f"], |x| {
        x.target.write_percent = 100;
        x.target.flush_every = Some(FlushEvery { writes: 8, data_only: false });
    });
    f(&["--trim 20 f", "--trim=20 -w0 f"], |x| x.target.trim_percent = 20);
    f(&["-w100 --trim 99 f"], |x| (x.target.write_percent, x.target.trim_percent) = (100, 99));
    f(&["--trim 100 f"], |x| x.target.trim_percent = 100);
    f(&["-w30 --flush-every=1:data f"], |x| {
        x.target.write_percent = 30;
        x.target.flush_every = Some(FlushEvery { writes: 1, data_only: true });
    });
    f(&["--until-steady f", "--steady-rule=window=5,rounds=25,range=20,slope=10 f"], |x| {
        x.span.until_steady = Some(SteadyRule::default());
    });
    f(
        &[
            "--until-steady --steady-rule rounds=50,range=5 f",
            "--steady-rule range=5,rounds=50 --until-steady f",
        ],
        |x| {
            x.span.until_steady = Some(SteadyRule { rounds: 50, range_percent: 5, ..SteadyRule::default() });
        },
    );
    f(&["--zipf 0.9 f", "--zipf .9 -r f", "-r --zipf 0.90 f"], |x| {
        (x.target.zipf, x.target.random_percent) = (Decimal::new(0.9), 100);
    });
    f(&["--zipf 1.2 -rs20 -r4k f"], |x| {
        (x.target.zipf, x.target.random_percent) = (Decimal::new(1.2), 20);
        x.target.stride_bytes = Some(4096);
    });
    accept(&["-b8k -g80 -o1 -s8k -Sh -w100 a b"], &["a", "b"], &[], |x| {
        x.target.block_bytes = 8192;
        x.target.throughput = Some(Throughput::BytesPerMs(80));
        x.target.request_count = 1;
        x.target.stride_bytes = Some(8192);
        x.target.cache = CacheMode::DisableOsCache;
        x.target.write_through = true;
        x.target.write_percent = 100;
    });
    f(&["-i100 -j10 -o8 f"], |x| {
        x.target.burst_ios = Some(100);
        x.target.think_ms = Some(10);
        x.target.request_count = 8;
    });
    // 64 is in tests/data/deliberate-differences.md
}

#[test]
fn affinity_65_to_68() {
    f(&["-a f", "-ag f"], |_| {});
    f(&["-n -ag f", "-a -n f"], |x| x.span.disable_affinity = true);
    f(&["-ag0,0,1,2 f", "-a0,1,2 f"], |x| x.span.affinity = cpus(&[(0, 0), (0, 1), (0, 2)]));
    f(&["-a1,4,6 -a2 f"], |x| x.span.affinity = cpus(&[(0, 1), (0, 4), (0, 6), (0, 2)]));
    f(&["-ag0,1,4,6,g1,2,5,7 f", "-ag0,1,4,6 -ag1,2,5,7 f"], |x| {
        x.span.affinity = cpus(&[(0, 1), (0, 4), (0, 6), (1, 2), (1, 5), (1, 7)]);
    });
    f(&["-ag1,3 -a3,3 f"], |x| x.span.affinity = cpus(&[(1, 3), (0, 3), (0, 3)]));
}

#[test]
fn reports_69_70_74_75_76() {
    f(&["-L -D -Rxml f", "-Rtext -D0 -Rxml -L f"], |x| {
        x.span.measure_latency = true;
        x.span.calculate_iops_std_dev = true;
        x.profile.result_format = ResultFormat::Xml;
    });
    f(&["-D250 f"], |x| {
        x.span.calculate_iops_std_dev = true;
        x.span.io_bucket_ms = 250;
    });
    f(&["-D0 f", "-D f", "-D250 -D f"], |x| x.span.calculate_iops_std_dev = true);
    f(&["-P f", "-P0 f"], |x| x.profile.progress_ios = 65536);
    f(&["-P100 f"], |x| x.profile.progress_ios = 100);
    f(&["-z f"], |x| x.span.rand_seed = BOOT_MS as u32);
    f(&["-z42 f", "-z -z42 f"], |x| x.span.rand_seed = 42);
    f(&["-z4294967295 f"], |x| x.span.rand_seed = u32::MAX);
    f(&["-v -vs f"], |x| {
        x.profile.verbose = true;
        x.profile.verbose_stats = true;
    });
    f(&["-vs f"], |x| x.profile.verbose_stats = true);
}

#[test]
fn profile_output_75() {
    for line in ["-Rp f", "-Rptext f", "-Rp -Rtext f"] {
        f(&[line], |_| {});
        assert!(run(line).profile_only, "{line}");
    }
    f(&["-Rpxml -b4k -r f", "-Rxml -b4k -Rp -r f", "-Rp -Rxml -r -b4k f"], |x| {
        x.profile.result_format = ResultFormat::Xml;
        x.target.block_bytes = 4096;
        random(x, None);
    });
    accept(&["-Rp '*1'"], &["*1"], &[], |_| {});
    f(&["-Rp -a63 f"], |x| x.span.affinity = cpus(&[(0, 63)]));
    assert!(run("-Rpxml -Rtext f").profile_only, "the p sticks");
    assert!(!run("-Rxml f").profile_only);
}

#[test]
fn write_data_71_to_73() {
    f(&["-Z f"], |x| x.target.zero_write_buffers = true);
    f(&["-Zr f"], |x| x.span.random_write_data = true);
    for (line, file) in [
        ("-Z1M f", None),
        ("-Z1M,seed.bin f", Some("seed.bin")),
        ("-Z1M,a,b f", Some("a,b")),
        ("-Z1M, f", None),
        ("-Z4M,x -Z1M f", None),
    ] {
        f(&[line], |x| {
            x.target.write_source_bytes = 1 << 20;
            x.target.write_source_path = file.map(String::from);
        });
    }
    f(&["-Z1b -b4k f"], |x| {
        x.target.write_source_bytes = 4096;
        x.target.block_bytes = 4096;
    });
    f(&["-Z -Zr -Z1M f"], |x| {
        x.target.zero_write_buffers = true;
        x.span.random_write_data = true;
        x.target.write_source_bytes = 1 << 20;
    });
}

#[test]
fn the_rest_77_to_86() {
    f(&["-x -o8 -r f"], |x| {
        x.span.completion_routines = true;
        x.target.request_count = 8;
        random(x, None);
    });
    f(&["-n -l -I1 f"], |x| {
        x.span.disable_affinity = true;
        x.target.large_pages = true;
        x.target.priority = IoPriority::VeryLow;
    });
    accept(&["-yrGo -ypStop -o1 -t2 -a0,1 f"], &["f"], &[OVERLAP], |x| {
        x.target.request_count = 1;
        x.target.threads_per_file = 2;
        x.span.affinity = cpus(&[(0, 0), (0, 1)]);
    });
    let events = run("-yrGo -ypStop -o1 -t2 -a0,1 f").events;
    assert_eq!((events.wait.as_deref(), events.stop.as_deref()), (Some("Go"), Some("Stop")));
    assert_eq!((events.start, events.finish), (None, None));
    f(&["-eDISK_IO -ep f"], |x| {
        x.profile.etw = Some(Etw { disk_io: true, use_paged_memory: true, ..Etw::default() });
    });
    f(&["-W0 -d1 -C0 f"], |x| {
        x.span.warmup_s = 0;
        x.span.duration_s = 1;
    });
    f(&["-b4K -r -o32 -t4 -d30 -Sh -L f"], |x| {
        x.target.block_bytes = 4096;
        random(x, None);
        x.target.request_count = 32;
        x.target.threads_per_file = 4;
        x.span.duration_s = 30;
        x.target.cache = CacheMode::DisableOsCache;
        x.target.write_through = true;
        x.span.measure_latency = true;
    });
    f(&["-b8K -d30 -o4 -t8 -h -r -w25 -L -Z1G -c20G f"], |x| {
        x.target.block_bytes = 8192;
        x.span.duration_s = 30;
        x.target.request_count = 4;
        x.target.threads_per_file = 8;
        x.target.cache = CacheMode::DisableOsCache;
        x.target.write_through = true;
        random(x, None);
        x.target.write_percent = 25;
        x.span.measure_latency = true;
        x.target.write_source_bytes = G;
        x.target.create_bytes = Some(20 * G);
    });
    // 85 is for Windows: on Linux these are paths
    accept(&["/b4k /r f"], &["/b4k", "/r", "f"], &[], |_| {});
    assert!(run("-c1M /b4k f").notes[0].contains("-b4k"), "the note names the option");
    assert!(run("/b4k f").notes.is_empty(), "the refusal has the hint");
    assert_eq!(read("-yeGo"), Ok(Invocation::SetEvents(vec!["Go".into()])));
    assert_eq!(read("-yeGo -yeOn -b4k f"), Ok(Invocation::SetEvents(vec!["Go".into(), "On".into()])));
}

#[test]
fn an_xml_profile_84() {
    let request = run("-d60 -Xp.xml f g");
    let file = request.profile_file.expect("names a profile");
    assert_eq!(file.path, "p.xml");
    assert_eq!(file.overrides.duration_s, Some(60));
    assert_eq!(
        (
            file.overrides.warmup_s,
            file.overrides.cooldown_s,
            file.overrides.rand_seed,
            file.overrides.experiment_flags
        ),
        (None, None, None, None)
    );
    assert_eq!(
        (file.overrides.verbose, file.overrides.verbose_stats, file.overrides.result_format),
        (false, false, None)
    );
    assert_eq!(file.targets, ["f", "g"]);

    let request = run("-W1 -C2 -z -v -vs -:1 -Rpxml --engine psync -Xp.xml");
    assert!(request.profile_only);
    assert_eq!(request.options.engine.map(|engine| engine.name).as_deref(), Some("psync"));
    let file = request.profile_file.expect("names a profile");
    assert_eq!((file.overrides.warmup_s, file.overrides.cooldown_s), (Some(1), Some(2)));
    assert_eq!((file.overrides.rand_seed, file.overrides.experiment_flags), (Some(BOOT_MS as u32), Some(1)));
    assert_eq!((file.overrides.verbose, file.overrides.verbose_stats), (true, true));
    assert_eq!(file.overrides.result_format, Some(ResultFormat::Xml));
    assert!(file.targets.is_empty());
    assert_eq!(
        run("-Rp -Xp.xml").profile_file.map(|file| file.overrides.result_format),
        Some(None),
        "-Rp keeps the format"
    );
}

#[test]
fn every_trace_name_and_clock() {
    f(
        &[
            "-ePROCESS -eTHREAD -eIMAGE_LOAD -eDISK_IO -eMEMORY_PAGE_FAULTS -eMEMORY_HARD_FAULTS -eNETWORK -eREGISTRY f",
        ],
        |x| {
            x.profile.etw = Some(Etw {
                process: true,
                thread: true,
                image_load: true,
                disk_io: true,
                memory_page_faults: true,
                memory_hard_faults: true,
                network: true,
                registry: true,
                ..Etw::default()
            });
        },
    );
    f(&["-eq -es -ec f"], |x| {
        x.profile.etw = Some(Etw {
            use_perf_timer: true,
            use_system_timer: true,
            use_cycles_counter: true,
            ..Etw::default()
        });
    });
}

#[test]
fn what_linux_has_no_use_for_is_accepted_with_a_note() {
    for (line, word) in [
        ("-eDISK_IO f", "-e"),
        ("-ft f", "-ft"),
        ("-frs f", "-fr"),
        ("-Su -Sy f", "-Sy"),
        ("-SuY f", "-SY"),
        ("-:3 f", "-:3"),
        ("-r 4k f", "-r4k"),
    ] {
        let notes = run(line).notes;
        assert!(notes.len() == 1 && notes[0].contains(word), "{line}: {notes:?}");
    }
    for line in ["-fr f", "-:1 f", "-Su f", "-r f", "-o4 4k"] {
        assert_eq!(run(line).notes, [""; 0], "{line}");
    }
    assert_eq!(run("-eDISK_IO -eNETWORK -ep f").notes.len(), 1, "said once");
}

/// Lines that scripts use and that say something else than DiskSpd takes them for: taken as there, and told.
#[test]
fn what_diskspd_takes_for_something_else_is_told() {
    for (line, same, told) in [
        ("-g409.6 f", "-g409 f", "-g409.6 is taken for -g409,"),
        ("-g409,6i f", "-g409i f", "-g409,6i is taken for -g409i,"),
        ("-d10s f", "-d10 f", "-d10s is taken for -d10,"),
        ("-d2.5 f", "-d2 f", "-d2.5 is taken for -d2,"),
        ("'-d 10' f", "-d10 f", "-d 10 is taken for -d10,"),
        ("-d+10 f", "-d10 f", "-d+10 is taken for -d10,"),
        ("-w33.3 f", "-w33 f", "-w33.3 is taken for -w33,"),
        ("-w50% f", "-w50 f", "-w50% is taken for -w50,"),
        ("-rs12.5% f", "-rs12 f", "-rs12.5% is taken for -rs12,"),
        ("-D500ms f", "-D500 f", "-D500ms is taken for -D500,"),
        ("-t2.0 -si f", "-t2 -si f", "-t2.0 is taken for -t2,"),
        ("-o7.9 f", "-o7 f", "-o7.9 is taken for -o7,"),
        ("-W f", "-W0 f", "-W is taken for -W0,"),
        ("-C f", "f", "-C is taken for -C0,"),
        ("-: f", "f", "-: is taken for -:0,"),
        ("-n953 f", "-n f", "-n953 is taken for -n,"),
        ("-xp f", "-x f", "-xp is taken for -x,"),
        ("-L,file.bin f", "-L f", "-L,file.bin is taken for -L,"),
        (
            "-LD f",
            "-L f",
            "-LD is taken for -L, as DiskSpd takes it; every option is an argument of its own: -L -D",
        ),
        (
            "-nLv f",
            "-n f",
            "-nLv is taken for -n, as DiskSpd takes it; every option is an argument of its own: -n -L -v",
        ),
        ("-hx f", "-h f", "-hx is taken for -h,"),
        ("-lx f", "-l f", "-lx is taken for -l,"),
        ("-pX -o4 f", "-p -o4 f", "-pX is taken for -p,"),
        ("-f0 f", "f", "-f0 is taken for no limit,"),
        ("-B0:0 f", "f", "-B0:0 is taken for the whole target,"),
        ("-c0 f", "f", "-c0 is taken for nothing to create,"),
        ("-z1790000000000 f", "-z4294967295 f", "-z1790000000000 is taken for -z4294967295,"),
    ] {
        let (here, there) = (run(line), run(same));
        assert_eq!(here.profile, there.profile, "{line}");
        assert!(
            there.reinterpreted.is_empty() && here.reinterpreted.len() == 1,
            "{line}: {:?}",
            here.reinterpreted
        );
        assert!(here.reinterpreted[0].starts_with(told), "{line}: {:?}", here.reinterpreted);
    }
    for (line, told) in [
        ("-d0 f", "-d0 is taken for a run that makes the files of -c and measures nothing"),
        ("-O4 f", "-O (requests per thread over all targets) is ignored without -F"),
        ("-g100 -i10 -j10 f", "-i and -j (bursts) are ignored beside -g"),
        ("-i3 -j10 -t4 -si f", "4 threads share a burst of 3 I/Os"),
        ("-i3 -j10 -F4 -si f", "4 threads share a burst of 3 I/Os"),
    ] {
        let taken = run(line).reinterpreted;
        assert!(taken.len() == 1 && taken[0].starts_with(told), "{line}: {taken:?}");
    }
    assert_eq!(run("-O4 a b c").reinterpreted.len(), 1, "said once");
    assert_eq!(read("-?foo"), Ok(Invocation::Help));
}

#[test]
fn warnings_of_diskspd_keep_its_words_and_ours_stand_apart() {
    let request = run("-t2 f");
    assert_eq!(request.findings_warnings, [OVERLAP]);
    assert_eq!(request.notes.len(), 1);
    assert!(request.notes[0].contains("-T<size>"), "{:?}", request.notes);
}

#[test]
fn formats_on_standard_output() {
    for (line, stdout) in [
        ("--json - f", Some("json")),
        ("--csv=- f", Some("csv")),
        ("--intervals - f", Some("intervals")),
        ("-Rjson f", Some("json")),
        ("-Rcsv f", Some("csv")),
        ("-Rjson --json - f", Some("json")),
        ("-Rjson -Rxml f", None),
        ("-Rxml f", None),
        ("--json ./- f", None),
    ] {
        let request = run(line);
        assert_eq!(request.options.stdout, stdout, "{line}");
        assert_eq!(request.options.outputs.len(), usize::from(line.contains("./-")), "{line}");
    }
    let told = run("--metrics m.prom --events=e f").options;
    assert_eq!((told.metrics.as_deref(), told.events.as_deref()), (Some("m.prom"), Some("e")));
    assert!(run("--quiet f").options.quiet && !run("f").options.quiet);
    for version in ["-V", "--version"] {
        assert_eq!(read(version), Ok(Invocation::Version));
    }
}

#[test]
fn help_of_one_option() {
    for word in ["-b", "b", "overwrite", "--overwrite", "-rdpct", "b4k", "engine", "json"] {
        assert_eq!(read(&format!("--help {word}")), Ok(Invocation::HelpOf(word.into())));
        assert!(diskspd::grammar::help_of(word).is_some(), "{word}");
    }
    let of = |word: &str| diskspd::grammar::help_of(word).expect("an option");
    assert!(of("b").starts_with("  -b<size>") && of("b").contains("  -bs<n|p>"), "all forms of a letter");
    assert!(of("-b4k").starts_with("  -b<size>") && !of("-b4k").contains("-bs"));
    assert!(of("overwrite").starts_with("  --overwrite PATH") && of("engine").contains("io_uring"));
    assert_eq!(read("--help -b4k f"), Ok(Invocation::ShortHelp), "with more words no single option");
    assert_eq!(read("--help all"), Ok(Invocation::Help));
}

#[test]
fn a_release_brings_its_defaults() {
    let request = run("--compat 2.3 f");
    assert_eq!(request.options.compat, Some(Release::V2_3));
    let span = &request.profile.time_spans[0];
    assert_eq!(span.placement.efficiency, EfficiencyOrder::PerformanceFirst);
    assert!(span.separate_buffers && request.profile.release == Release::V2_3);
    // What is asked for stays.
    let span = run("--compat=2.3 -aup -bsn f").profile.time_spans.remove(0);
    assert_eq!(span.placement.efficiency, EfficiencyOrder::Unordered);
    assert!(span.pack_buffers && !span.separate_buffers);
    assert!(!run("--compat 2.3 -n f").profile.time_spans[0].placement.is_asked());
    let usual = run("--compat 2.2 f");
    assert_eq!(usual.profile, run("f").profile);
    assert_eq!((usual.options.compat, run("f").options.compat), (Some(Release::V2_2), None));
    assert!(run("-bsp -l f").notes.iter().any(|note| note.contains("count more than -bsp")));
    assert!(run("--compat 2.3 -l f").notes.is_empty(), "nobody typed it");
}

#[test]
fn additions_of_diskspd_2_3() {
    f(&["-a0-3 f"], |x| x.span.affinity = cpus(&[(0, 0), (0, 1), (0, 2), (0, 3)]));
    f(&["-a7,1-2,g2,0-1 f"], |x| x.span.affinity = cpus(&[(0, 7), (0, 1), (0, 2), (2, 0), (2, 1)]));
    f(&["-a70,300 f"], |x| x.span.affinity = cpus(&[(0, 70), (0, 300)]));
    let whole = run("-a3 -ag1 -a4-5 -ag0 f").profile.time_spans.remove(0);
    let [cpu3, cpu4, cpu5] =
        [3, 4, 5].map(|processor| AffinityItem::Processor(ProcessorId { group: 0, processor }));
    assert_eq!(
        whole.affinity_items(),
        [cpu3, AffinityItem::WholeGroup(1), cpu4, cpu5, AffinityItem::WholeGroup(0)]
    );
    for (line, cores_first, span_groups, efficiency) in [
        ("-ac f", true, false, EfficiencyOrder::Unset),
        ("-as f", false, true, EfficiencyOrder::Unset),
        ("-ap f", false, false, EfficiencyOrder::PerformanceFirst),
        ("-aP f", false, false, EfficiencyOrder::FillPerformanceFirst),
        ("-ae f", false, false, EfficiencyOrder::EfficiencyFirst),
        ("-aE f", false, false, EfficiencyOrder::FillEfficiencyFirst),
        ("-acsE f", true, true, EfficiencyOrder::FillEfficiencyFirst),
        ("-ac -as -aE f", true, true, EfficiencyOrder::FillEfficiencyFirst),
        ("-aup f", false, false, EfficiencyOrder::Unordered),
    ] {
        f(&[line], |x| x.span.placement = Placement { cores_first, span_groups, efficiency });
    }
    f(&["-bsn f", "-bsp -bsn f"], |x| x.span.pack_buffers = true);
    f(&["-bsp f", "-bsn -bsp f"], |x| x.span.separate_buffers = true);
    f(&["-oc12 f"], |x| x.span.completion_batch = Some(12));
    for (line, registered_buffers, batch) in [
        ("-u8 f", true, Batch::Count(8)),
        ("-u65535 f", true, Batch::Count(65535)),
        ("-un8 f", false, Batch::Count(8)),
        ("-u50p f", true, Batch::Percent(50)),
        ("-un100p f", false, Batch::Percent(100)),
        ("-u f", true, Batch::Percent(25)),
        ("-un f", false, Batch::Percent(25)),
    ] {
        f(&[line], |x| x.span.ring = Some(RingOptions { registered_buffers, batch }));
    }
    assert_eq!(read("-Rs"), Ok(Invocation::SystemInformation(ResultFormat::Text, None)));
    assert_eq!(read("-Rstext"), Ok(Invocation::SystemInformation(ResultFormat::Text, None)));
    assert_eq!(read("-Rsxml"), Ok(Invocation::SystemInformation(ResultFormat::Xml, None)));
    let of_2_3 = Invocation::SystemInformation(ResultFormat::Text, Some(Release::V2_3));
    assert_eq!((read("--compat 2.3 -Rs"), read("-Rs --compat=2.3")), (Ok(of_2_3.clone()), Ok(of_2_3)));
}

#[test]
fn long_options() {
    assert_eq!(read(""), Ok(Invocation::NoArguments));
    for line in ["-?", "--help all", "-b4k '-?'", "-? --version -L"] {
        assert_eq!(read(line), Ok(Invocation::Help), "{line}");
    }
    assert_eq!(read("-Xp.xml --help"), Ok(Invocation::ShortHelp));
    assert_eq!(read("--version"), Ok(Invocation::Version));
    for line in [
        "--engine sim:seed=1,cpu=5us --overwrite /dev/x --overwrite=-y --recreate f",
        "--engine=sim:seed=1,cpu=5us --overwrite=/dev/x --overwrite=-y --recreate f",
    ] {
        let request = run(line);
        let engine = EngineChoice { name: "sim".into(), parameters: "seed=1,cpu=5us".into() };
        assert_eq!(request.options.engine, Some(engine), "{line}");
        assert_eq!(request.options.overwrite, ["/dev/x", "-y"], "{line}");
        assert!(request.options.recreate, "{line}");
        assert_eq!(request.profile.time_spans[0].targets.len(), 1, "{line}");
    }
    let options = run("--unchecked /dev/x --unchecked=-y f").options;
    assert_eq!(options.unchecked, ["/dev/x", "-y"]);
    assert!(run("--exclusive f").options.exclusive && !options.exclusive);
    assert!(run("--quick-check f").options.quick_check && !options.quick_check);
    let options = run("f").options;
    assert!(options.unchecked.is_empty());
    assert!(options.engine.is_none() && options.overwrite.is_empty() && !options.recreate);
    assert!(!options.verdict && options.require.is_none() && !options.progress);
    assert!(run("--progress f").options.progress);
    let options = run("--verdict --require certified f").options;
    assert!(options.verdict && options.require == Some(Grade::Certified));
    assert_eq!(run("--require=suspect -Xp.xml").options.require, Some(Grade::Suspect));
}

#[test]
fn every_option_of_the_limits() {
    f(&["-t4294967295 -F1 -t1 f", "-F1 f"], |x| x.span.thread_count = 1);
    f(&["-d4294967295 -W4294967295 -C4294967295 f"], |x| {
        x.span.duration_s = u32::MAX;
        x.span.warmup_s = u32::MAX;
        x.span.cooldown_s = u32::MAX;
    });
    f(&["-I2 f", "-I1 -I2 f"], |x| x.target.priority = IoPriority::Low);
    f(&["-I3 f"], |_| {});
    f(&["-w100 -w0 f", "-w0 f"], |_| {});
    f(&["-:3 f"], |x| x.profile.experiment_flags = 3);
}
