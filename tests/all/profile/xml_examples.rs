//! Profiles as XML: every example of the contract with its verdict, the messages of the refused ones, and
//! profiles that the original wrote.

use std::fs;
use std::path::{Path, PathBuf};

use diskspd::grammar::parse::{Invocation, parse};
use truespd_core::profile::xml::{Overrides, XmlError, apply_overrides, read, read_bytes, read_from, write};
use truespd_core::profile::{
    Arrivals, CacheMode, Decimal, DistributionKind, DistributionRange, IoPriority, Profile, Severity,
    SteadyRule, Target, ThreadTarget, Throughput, TimeSpan, WholeGroup, validate,
};

fn data(folder: &str) -> PathBuf {
    Path::new(crate::support::ROOT).join("tests/data").join(folder)
}

/// Name, verdict and stage of every example.
fn verdicts() -> Vec<(String, String, String)> {
    let list = fs::read_to_string(data("profiles/verdicts.txt")).expect("the list is there");
    let row = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let [name, verdict, stage] = words[..] else { panic!("{line}") };
        (name.to_string(), verdict.to_string(), stage.to_string())
    };
    list.lines().map(row).collect()
}

fn example(name: &str) -> Result<Profile, XmlError> {
    read_bytes(&fs::read(data("profiles").join(name)).expect("the example is there"))
}

fn accepted(name: &str) -> Profile {
    example(name).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The single target of an example with one time span.
fn targets(name: &str) -> Vec<Target> {
    accepted(name).time_spans.remove(0).targets
}

/// What the rules across elements find, as with `-Rp`.
fn errors(profile: &Profile) -> Vec<String> {
    let findings = validate(profile, false).into_iter();
    findings.filter(|finding| finding.severity == Severity::Error).map(|finding| finding.message).collect()
}

#[test]
fn every_example_gets_its_verdict() {
    let verdicts = verdicts();
    assert_eq!(verdicts.len(), 114);
    for (name, verdict, stage) in verdicts {
        match (example(&name), verdict.as_str(), stage.as_str()) {
            (Ok(profile), "accept", "-") => assert_eq!(errors(&profile), [""; 0], "{name}"),
            // Rules across elements are not the reader's: it must understand these.
            (Ok(profile), "reject", "validate") => assert!(!errors(&profile).is_empty(), "{name}"),
            (Err(error), "reject", "xml" | "schema" | "parse") => {
                assert!(error.line > 0 && error.column > 0, "{name}: {error}");
                assert_eq!(error.element.is_empty(), stage == "xml", "{name}");
                assert!(error.legal.is_some(), "{name}: {error}");
                let first = format!("ERROR: failed to load profile, line {}, line position ", error.line);
                assert!(error.to_string().starts_with(&first), "{name}: {error}");
            }
            (outcome, verdict, stage) => panic!("{name}: wanted {verdict} at {stage}, got {outcome:?}"),
        }
    }
}

#[test]
fn the_messages_of_the_refused() {
    let mut all = String::new();
    for (name, _, _) in verdicts() {
        if let Err(error) = example(&name) {
            all.push_str(&format!("{name}\n{error}\n\n"));
        }
    }
    insta::assert_snapshot!(all);
}

#[test]
fn what_was_read_survives_writing() {
    for (name, _, stage) in verdicts() {
        let Ok(profile) = example(&name) else { continue };
        let written = write(&profile, 0);
        let again = read(&written).unwrap_or_else(|error| panic!("{name}: {error}\n{written}"));
        assert_eq!(write(&again, 0), written, "{name} ({stage})");
    }
}

#[test]
fn the_emitted_form_is_written_as_it_stands() {
    let text = fs::read_to_string(data("profiles/emitted-form.xml")).expect("the example is there");
    let (_, profile) = text.split_once("-->\n").expect("begins with a comment");
    assert_eq!(write(&read(&text).expect("is read"), 0), profile);
}

/// The original's own profiles, byte for byte.
#[test]
fn profiles_of_the_original_are_written_as_it_wrote_them() {
    let mut count = 0;
    for entry in fs::read_dir(data("xml/genuine")).expect("the recorded runs are there") {
        let path = entry.expect("entry is readable").path();
        // The recording machine ended lines its own way.
        let text = fs::read_to_string(&path).expect("is text").replace("\r\n", "\n");
        let (start, indent) = match text.find("  <Profile>\n") {
            Some(at) => (at, 1),
            None => (text.find("<Profile>\n").expect("has a profile"), 0),
        };
        let end = text.find("</Profile>\n").expect("has an end") + "</Profile>\n".len();
        let genuine = &text[start..end];
        let profile = read(genuine).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(write(&profile, indent), genuine, "{}", path.display());
        count += 1;
    }
    assert_eq!(count, 44);
}

/// The same from the command lines that the original was given.
#[test]
fn command_lines_print_the_profile_of_the_original() {
    let list = fs::read_to_string(data("xml/command-lines.txt")).expect("the list is there");
    let mut count = 0;
    for line in list.lines() {
        let (file, words) = line.split_once(' ').expect("a file and a command line");
        let words: Vec<String> = words.split(' ').map(str::to_string).collect();
        let invocation =
            parse(&words, "diskspd", &|| 1).unwrap_or_else(|refusal| panic!("{line}: {refusal}"));
        let Invocation::Run(request) = invocation else { panic!("{line} is no run") };
        let genuine = fs::read_to_string(data("xml/genuine").join(file)).expect("is recorded");
        let mut ours = write(&request.profile, 0);
        if words.iter().any(|word| word == "-Zr") {
            // The deliberate difference.
            assert!(ours.contains("<RandomWriteData>true</RandomWriteData>\n"));
            ours = ours.replace("      <RandomWriteData>true</RandomWriteData>\n", "");
        }
        assert_eq!(ours, genuine, "{line}");
        count += 1;
    }
    assert_eq!(count, 19);
}

/// The deliberate difference: 2.2 forgets `-Zr`.
#[test]
fn random_write_data_is_written() {
    let span = TimeSpan { random_write_data: true, ..TimeSpan::default() };
    let with = write(&Profile { time_spans: vec![span], ..Profile::default() }, 0);
    let without = write(&Profile { time_spans: vec![TimeSpan::default()], ..Profile::default() }, 0);
    assert_eq!(with.replace("      <RandomWriteData>true</RandomWriteData>\n", ""), without);
    assert_ne!(with, without);
}

#[test]
fn defaults_are_those_of_the_contract() {
    let profile = accepted("minimal.xml");
    let target = Target { path: "data1.bin".to_string(), ..Target::default() };
    let span = TimeSpan { targets: vec![target], ..TimeSpan::default() };
    assert_eq!(profile, Profile { time_spans: vec![span], ..Profile::default() });
}

#[test]
fn elements_set_what_they_say() {
    let both = targets("per-target-options.xml");
    assert_eq!(
        (both[0].base_bytes, both[0].max_bytes, both[0].priority),
        (1 << 20, 16 << 20, IoPriority::Low)
    );
    assert_eq!((both[0].random_percent, both[0].stride_bytes), (100, Some(512)));
    assert!(both[0].temporary_file && both[0].random_access && !both[0].sequential_scan);
    assert_eq!((both[1].stride_bytes, both[1].cache), (Some(262_144), CacheMode::DisableLocalCache));
    assert!(both[1].parallel && both[1].zero_write_buffers && both[1].random_percent == 0);

    let compat = &targets("disable-all-cache-compat.xml")[0];
    assert!(compat.cache == CacheMode::DisableOsCache && compat.write_through);

    let pool = targets("thread-targets-weights.xml");
    let entries = [ThreadTarget { thread: 0, weight: 0 }, ThreadTarget { thread: 2, weight: 5 }];
    assert_eq!((pool[0].weight, &pool[0].thread_targets[..]), (70, &entries[..]));

    let limits: Vec<_> = targets("throughput-iops-and-bpms.xml").iter().map(|t| t.throughput).collect();
    let named = |limit: &Option<Throughput>| matches!(limit, Some(Throughput::Iops(_)));
    assert_eq!(limits.iter().map(named).collect::<Vec<_>>(), [true, false, false]);
    assert!(limits.iter().all(Option::is_some));

    let ratio = &targets("random-ratio-alone.xml")[0];
    assert!((1..100).contains(&ratio.random_percent) && ratio.stride_bytes.is_none());
}

#[test]
fn the_tail_of_a_distribution_is_implied() {
    let ranges = |name: &str| {
        let distribution = targets(name).remove(0).distribution.expect("has one");
        let pairs: Vec<_> = distribution.ranges.iter().map(|r| (r.io_percent, r.span)).collect();
        (distribution.kind, pairs)
    };
    assert_eq!(ranges("distribution-percent.xml"), (DistributionKind::Percent, vec![(90, 10), (10, 90)]));
    let (kind, list) = ranges("distribution-absolute.xml");
    assert_eq!((kind, list.last()), (DistributionKind::Absolute, Some(&(10, 0))));
    assert_eq!(list.iter().map(|range| range.0).sum::<u32>(), 100);
    // No room for a tail: left as it is for the rules across elements.
    let (_, list) = ranges("invalid-distribution-io-left.xml");
    assert_eq!(list.iter().map(|range| range.0).sum::<u32>(), 80);
}

/// A profile with the given elements inside the time span and the target.
fn profile_with(span: &str, target: &str) -> String {
    format!(
        "<Profile><TimeSpans><TimeSpan>{span}<Targets><Target><Path>a</Path>{target}</Target></Targets>\
         </TimeSpan></TimeSpans></Profile>"
    )
}

fn span_of(text: &str) -> TimeSpan {
    read(text).unwrap_or_else(|error| panic!("{text}: {error}")).time_spans.remove(0)
}

fn refusal(text: &str) -> String {
    match read(text) {
        Ok(_) => panic!("{text} is read"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn numbers_have_their_full_range() {
    let span = span_of(&profile_with(
        "<RandSeed>4294967295</RandSeed>",
        "<FileSize>18446744073709551615</FileSize><BlockSize>4294967295</BlockSize>",
    ));
    assert_eq!(span.rand_seed, u32::MAX);
    assert_eq!(span.targets[0].create_bytes, Some(u64::MAX));
    assert_eq!(span.targets[0].block_bytes, u64::from(u32::MAX));
}

#[test]
fn flags_mean_what_they_say() {
    let span = span_of(&profile_with("<MeasureLatency>1</MeasureLatency>", "<WriteThrough>0</WriteThrough>"));
    assert!(span.measure_latency && !span.targets[0].write_through);
}

#[test]
fn tracing_is_on_when_anything_is_said_about_it() {
    let profile =
        |etw: &str| read(&profile_with("", "").replace("<TimeSpans>", &format!("{etw}<TimeSpans>")));
    assert_eq!(profile("<ETW/>").expect("is read").etw, None);
    assert_eq!(profile("<ETW> <!-- --> </ETW>").expect("is read").etw, None);
    let off = profile("<ETW><DiskIO>false</DiskIO></ETW>").expect("is read").etw.expect("is on");
    assert!(!off.disk_io);
    let on = profile("<ETW><DiskIO>true</DiskIO></ETW>").expect("is read").etw.expect("is on");
    assert!(on.disk_io && !on.process);
}

#[test]
fn local_cache_wins_over_os_cache() {
    let all = "<DisableAllCache>true</DisableAllCache><DisableOSCache>true</DisableOSCache>";
    let local = format!("{all}<DisableLocalCache>true</DisableLocalCache>");
    assert_eq!(span_of(&profile_with("", all)).targets[0].cache, CacheMode::DisableOsCache);
    let target = &span_of(&profile_with("", &local)).targets[0];
    assert!(target.cache == CacheMode::DisableLocalCache && target.write_through);
    let undone = "<DisableAllCache>true</DisableAllCache><DisableOSCache>false</DisableOSCache>";
    assert_eq!(span_of(&profile_with("", undone)).targets[0].cache, CacheMode::DisableOsCache);
}

#[test]
fn what_the_reader_refuses_on_its_own() {
    for (span, target, word) in [
        ("<IoBucketDuration>0</IoBucketDuration><CalculateIopsStdDev>true</CalculateIopsStdDev>", "", "0 ms"),
        (
            "",
            "<WriteBufferContent><Pattern>random</Pattern></WriteBufferContent>",
            "the Pattern random needs a source of data",
        ),
        ("", "<IOPriority>4</IOPriority>", "too large"),
        ("", "<BypassIO>Some</BypassIO>", "Partial, Full"),
        (
            "",
            "<Distribution><Percent><Range IO='1'>1</Range></Percent><Percent><Range IO='1'>1</Range></Percent></Distribution>",
            "already",
        ),
        ("", "stray", "between elements"),
        ("<Duration><b/>1</Duration>", "", "is inside a value"),
        ("<Affinity><AffinityGroupAssignment>7</AffinityGroupAssignment></Affinity>", "", "has content"),
        ("<Duration xsi:nil='1'>1</Duration>", "", "not declared"),
        ("<Duration>1</Duration ><duration>2</duration>", "", "letter case matters"),
        ("<ResultFormat>xml</ResultFormat>", "", "belongs in Profile"),
    ] {
        let text = refusal(&profile_with(span, target));
        assert!(text.contains(word), "{span}{target}: {text}");
    }
    // Nothing to measure, so nothing is wrong with it.
    span_of(&profile_with("<IoBucketDuration>0</IoBucketDuration>", ""));
}

#[test]
fn places_are_named() {
    let text = "<Profile>\n  <TimeSpans>\n    <TimeSpan>\n      <Targets><Target><Path>a</Path></Target></Targets>\n    \
                </TimeSpan>\n    <TimeSpan>\n      <Targets>\n        <Target><Path>a</Path>\u{20}<Random>x</Random></Target>\n      \
                </Targets>\n    </TimeSpan>\n  </TimeSpans>\n</Profile>";
    let error = read(text).expect_err("is refused");
    assert_eq!(error.element, "TimeSpans/TimeSpan[2]/Targets/Target/Random");
    assert_eq!((error.line, error.column), (8, 32));
    assert_eq!(
        error.to_string(),
        "ERROR: failed to load profile, line 8, line position 32\n\
         ERROR: reason: TimeSpans/TimeSpan[2]/Targets/Target/Random: \"x\" is not a number\n  \
         legal: a whole number from 0 to 18446744073709551615"
    );
}

#[test]
fn paths_keep_every_character_and_lose_only_indentation() {
    let read_path = |inside: &str| {
        span_of(&profile_with("", "").replace("<Path>a</Path>", inside)).targets.remove(0).path
    };
    assert_eq!(read_path("<Path>\n  data 1.bin\n  </Path>"), "data 1.bin");
    assert_eq!(read_path("<Path> a </Path>"), " a ");
    assert_eq!(read_path("<Path><![CDATA[a&b<c>]]></Path>"), "a&b<c>");
    assert_eq!(read_path("<Path>a<!-- c -->b</Path>"), "ab");
    assert_eq!(read_path("<Path>&#10;a&amp;&#x1F600;</Path>"), "\na&\u{1f600}");
}

#[test]
fn editors_may_add_schema_hints_and_declarations() {
    let hints = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<!-- c --><?pi x?>\n\
                 <Profile xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" \
                 xmlns:xsd=\"http://www.w3.org/2001/XMLSchema\" xsi:noNamespaceSchemaLocation=\"d.xsd\">";
    read(&profile_with("", "").replacen("<Profile>", hints, 1)).expect("is read");
    let odd = hints.replace("noNamespaceSchemaLocation", "type");
    assert!(refusal(&profile_with("", "").replacen("<Profile>", &odd, 1)).contains("attribute"));
}

#[test]
fn settings_that_came_with_2_3() {
    use truespd_core::profile::{Batch, EfficiencyOrder, Placement, ProcessorId, RingOptions};
    let elements = "<IoRing><IoRingBatchSize Percent=\"false\">8</IoRingBatchSize>\
                    <UseRegBuffer>false</UseRegBuffer></IoRing>\
                    <AffinityTraversal Group=\"Span\" Efficiency=\"EFirst\">CoreAware</AffinityTraversal>\
                    <BufferSeparation>SystemDefault</BufferSeparation><CompletionDepth>4</CompletionDepth>";
    let span = span_of(&profile_with(elements, ""));
    assert_eq!(span.ring, Some(RingOptions { registered_buffers: false, batch: Batch::Count(8) }));
    let placement =
        Placement { cores_first: true, span_groups: true, efficiency: EfficiencyOrder::EfficiencyFirst };
    assert_eq!((span.placement, span.pack_buffers, span.completion_batch), (placement, true, Some(4)));
    let again = write(&Profile { time_spans: vec![span.clone()], ..Profile::default() }, 0);
    assert_eq!(span_of(&again).ring, span.ring);
    assert_eq!(span_of(&again).placement, placement);

    // What 2.3 writes for a plain list of processors, which it sorts.
    let plain = span_of(&profile_with(
        "<AffinityTraversal Group=\"Fill\" Efficiency=\"PFirst\">Cpu</AffinityTraversal>\
         <Affinity><Group Group=\"0\" Mask=\"0x5\"/><Group Group=\"1\" Mask=\"0x8000000000000000\"/></Affinity>\
         <BufferSeparation>PDECacheLine</BufferSeparation>",
        "",
    ));
    let ids = [(0, 0), (0, 2), (1, 63)].map(|(group, processor)| ProcessorId { group, processor });
    assert_eq!(plain.affinity, ids);
    assert_eq!(plain.placement.efficiency, EfficiencyOrder::PerformanceFirst);

    let whole = span_of(&profile_with(
        "<Affinity><Group Group='2' Mask='0x0'/><Group Group='0' Mask='0x2'/></Affinity>",
        "",
    ));
    assert_eq!(whole.affinity_groups, [WholeGroup { group: 2, position: 0 }]);
    assert_eq!(whole.affinity, [ProcessorId { group: 0, processor: 1 }]);
    span_of(&profile_with("", "<BypassIO>Partial</BypassIO>"));
}

#[test]
fn processors_beyond_a_windows_group_are_written_by_their_group() {
    use truespd_core::profile::ProcessorId;
    let affinity: Vec<_> = [255, 300, 1000].map(|processor| ProcessorId { group: 0, processor }).to_vec();
    let span =
        TimeSpan { affinity: affinity.clone(), targets: vec![Target::default()], ..TimeSpan::default() };
    let text = write(&Profile { time_spans: vec![span], ..Profile::default() }, 0);
    let cpus: Vec<_> = span_of(&text).affinity.iter().map(|id| id.cpu()).collect();
    assert_eq!(cpus, affinity.iter().map(|id| id.cpu()).collect::<Vec<_>>());
}

#[test]
fn overrides_and_templates_meet_an_example() {
    let mut profile = accepted("template-targets.xml");
    apply_overrides(&mut profile, &Overrides { duration_s: Some(1), ..Overrides::default() });
    let given = ["x".to_string(), "y".to_string()];
    truespd_core::profile::xml::substitute_templates(&mut profile, &given).expect("two templates");
    assert!(profile.time_spans.iter().all(|span| span.duration_s == 1));
    assert!(profile.time_spans.iter().flat_map(|span| &span.targets).all(|t| t.template().is_none()));
    let mut one = accepted("template-targets.xml");
    assert!(truespd_core::profile::xml::substitute_templates(&mut one, &given[..1]).is_err());
}

#[test]
fn files_are_read_whole_or_not_at_all() {
    let profile = profile_with("", "");
    let read = read_from(profile.as_bytes()).expect("memory is readable").expect("is a profile");
    assert_eq!(read.time_spans.len(), 1);
    let endless = std::io::repeat(b' ');
    let error = read_from(endless).expect("is readable").expect_err("is refused");
    assert!(error.to_string().contains("larger than 16 MiB"), "{error}");
}

#[test]
fn ranges_of_a_distribution_are_kept_as_stated() {
    let ranges = "<Random>0</Random><Distribution><Absolute><Range IO=' 60 '>+8192</Range>\
                  <Range IO='40'>18446744073709551615</Range></Absolute></Distribution>";
    let target = span_of(&profile_with("", ranges)).targets.remove(0);
    let list = [(60, 8192), (40, u64::MAX)].map(|(io_percent, span)| DistributionRange { io_percent, span });
    assert_eq!(target.distribution.expect("has one").ranges, list);
}

#[test]
fn what_diskspd_has_not_stands_in_processing_instructions() {
    let mut profile = Profile::default();
    let target = Target {
        path: "f".into(),
        stride_bytes: Some(64 << 10),
        throughput: Some(Throughput::Iops(9)),
        arrivals: Arrivals::Poisson,
        ..Target::default()
    };
    profile.time_spans = vec![TimeSpan { targets: vec![target], ..TimeSpan::default() }];
    let text = write(&profile, 0);
    assert!(text.contains("      <?truespd-arrivals poisson?>\n"), "{text}");
    assert_eq!(read(&text).expect("as written").time_spans, profile.time_spans);
    profile.time_spans[0].targets[0].arrivals = Arrivals::Even;
    assert!(!write(&profile, 0).contains("<?truespd"), "what is usual is not said");
    let with = |instructions: &str| read(&text.replace("<?truespd-arrivals poisson?>", instructions));
    let others = with("<?xml-stylesheet href=\"a.xsl\"?><?other?>").expect("those of others mean nothing");
    assert_eq!(others.time_spans, profile.time_spans);
    let loads =
        with("<?truespd-zipf 0.9?><?truespd-flush-every 1:data?><?truespd-mix 65536:39.5,4096:60.5?><?truespd-trim 7?>")
            .expect("legal");
    let target = &loads.time_spans[0].targets[0];
    assert_eq!((target.zipf, target.mix.len(), target.mix[1].block_bytes), (Decimal::new(0.9), 2, 4096));
    assert_eq!(target.trim_percent, 7);
    let written = write(&loads, 0);
    for instruction in [
        "<?truespd-flush-every 1:data?>",
        "<?truespd-mix 65536:39.5,4096:60.5?>",
        "<?truespd-trim 7?>",
        "<?truespd-zipf 0.9?>",
    ] {
        assert!(written.contains(instruction), "{written}");
    }
    // One of the time span.
    let steady = text.replace("</TimeSpan>", "<?truespd-until-steady range=5?></TimeSpan>");
    let steady = read(&steady).expect("legal");
    let rule = SteadyRule { range_percent: 5, ..SteadyRule::default() };
    assert_eq!(steady.time_spans[0].until_steady, Some(rule));
    assert!(write(&steady, 0).contains("<?truespd-until-steady window=5,rounds=25,range=5,slope=10?>"));
    let misplaced = with("<?truespd-until-steady range=5?>").expect_err("of a target").to_string();
    assert!(misplaced.contains("is not known here"), "{misplaced}");
    let wrong = text.replace("</TimeSpan>", "<?truespd-until-steady range=0?></TimeSpan>");
    assert!(read(&wrong).expect_err("no rule").to_string().contains("it must be from 1 to 100"));
    for (instructions, words) in [
        ("<?truespd-trim 101?>", "too large"),
        ("<?truespd-trim 0?>", "too small"),
        ("<?truespd-flush-every often?>", "\"often\" is not known here"),
        ("<?truespd-zipf 0?>", "\"0\" is not known here"),
        ("<?truespd-mix 4K:60,8K:40?>", "\"4K:60,8K:40\" is not known here"),
        ("<?truespd-arrivals often?>", "\"often\" is not known here"),
        ("<?truespd-arrivals?>", "is not known here"),
        ("<?truespd-arrivals even?><?truespd-arrivals even?>", "appears a second time"),
        ("<?truespd-arrival poisson?>", "\"truespd-arrival\" is not known here"),
    ] {
        let error = with(instructions).expect_err(instructions).to_string();
        assert!(error.contains(words) && error.contains("Target"), "{instructions}: {error}");
    }
}
