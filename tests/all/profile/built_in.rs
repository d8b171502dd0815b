//! The profiles and presets that come with the program, held against the DiskSpd lines that they stand for.

use diskspd::grammar::parse::{Invocation, parse};
use truespd::ask::workload::preset::{BUILT_IN, Form, Load, Preset};
use truespd_core::profile::{Profile, Severity, Target, TimeSpan, validate, xml};
use truespd_platform::fault::Refusal;

/// VM Fleet 2.1's profiles as lines, one per target, and what all of them have. The XML holds seed 0, and the times of
/// its default profile.
const FLEET: &[(&str, &[&str])] = &[
    ("fleet-peak", &["-t1 -b4k -o32 -w0 -r -Suw -D -L -Z10m *1"]),
    ("fleet-general", &["-t1 -b4k -o32 -w0 -r -rdpct95/5:4/10 -Suw -D -L -Z10m *1"]),
    (
        "fleet-vdi",
        &[
            "-t1 -o8 -b32k -w100 -g6i -rs20 -rdpct95/5:4/10 -Z10m -f10g -Suw -D -L *1",
            "-t1 -o8 -b8k -w0 -g6i -rs80 -rdpct95/5:4/10 -f8g -Suw -D -L *1",
        ],
    ),
    (
        "fleet-sql",
        &[
            "-t4 -o32 -r -b8k -g1500i -w30 -rdpct95/5:4/10 -B5g -Z10m -Suw -D -L *1",
            "-t1 -o1 -s -b32k -g300i -w100 -f5g -Z10m -Suw -D -L *1",
        ],
    ),
];

fn text(name: &str) -> (Form, &'static str) {
    let row = BUILT_IN.iter().find(|(known, ..)| *known == name).unwrap_or_else(|| panic!("{name}"));
    (row.1, row.2)
}

fn profile(name: &str) -> Profile {
    let (form, text) = text(name);
    assert_eq!(form, Form::Xml, "{name}");
    xml::read(text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn span(line: &str) -> TimeSpan {
    // Templates are only shown, not run, without -X.
    let words: Vec<String> = ["-Rp"].into_iter().chain(line.split(' ')).map(str::to_string).collect();
    match parse(&words, "diskspd", &|| 0) {
        Ok(Invocation::Run(request)) => request.profile.time_spans[0].clone(),
        other => panic!("{line}: {other:?}"),
    }
}

/// What a target does, with a stride spelled out where it is the block.
fn comparable(target: &Target) -> Target {
    Target { stride_bytes: Some(target.stride()), ..target.clone() }
}

fn assert_same(name: &str, lines: &[String]) {
    let profile = profile(name);
    let [found] = &profile.time_spans[..] else { panic!("{name}: one time span") };
    let spans: Vec<TimeSpan> = lines.iter().map(|line| span(line)).collect();
    let expected: Vec<Target> = spans.iter().flat_map(|span| &span.targets).map(comparable).collect();
    let targets: Vec<Target> = found.targets.iter().map(comparable).collect();
    assert_eq!(targets, expected, "{name}");
    for span in &spans {
        assert_eq!(found.measure_latency, span.measure_latency, "{name}");
        assert_eq!(found.calculate_iops_std_dev, span.calculate_iops_std_dev, "{name}");
        assert_eq!((found.rand_seed, found.thread_count), (span.rand_seed, span.thread_count), "{name}");
    }
}

#[test]
fn fleet_profiles_are_vm_fleets_lines() {
    for (name, lines) in FLEET {
        assert_same(name, &lines.iter().map(ToString::to_string).collect::<Vec<_>>());
        let span = &profile(name).time_spans[0];
        assert_eq!((span.warmup_s, span.duration_s, span.cooldown_s), (300, 60, 30), "{name}");
    }
}

/// The lines in a profile's comment are those that it stands for.
#[test]
fn the_lines_in_comments_are_true() {
    let mut count = 0;
    for (name, form, text) in BUILT_IN {
        if *form != Form::Xml {
            continue;
        }
        let comment = text.split("-->").next().expect("a comment");
        let common = if profile(name).time_spans[0].calculate_iops_std_dev { "-Suw -D -L " } else { "" };
        let line =
            |line: &str| if line.contains(" -S") { line.to_string() } else { format!("{common}{line}") };
        let lines: Vec<String> =
            comment.lines().map(str::trim).filter(|l| l.starts_with("-t")).map(line).collect();
        assert_same(name, &lines);
        count += lines.len();
    }
    assert_eq!(count, 11);
}

#[test]
fn every_preset_is_a_run_that_diskspd_takes() {
    let size = |text: &str| {
        let (digits, unit) = text.split_at(text.len() - 1);
        let shift = match unit {
            "G" => 30,
            "M" => 20,
            _ => return Err(Refusal::command_line(format!("{text}?"))),
        };
        digits.parse::<u64>().map(|n| n << shift).map_err(|e| Refusal::command_line(e.to_string()))
    };
    let mut names = Vec::new();
    for (name, form, text) in BUILT_IN {
        let preset = Preset::read(*form, text, size).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(!preset.about.is_empty() && !preset.source.is_empty(), "{name} says what it is");
        assert!(preset.about.len() < 130, "{name}: one line");
        let profile = match &preset.load {
            Load::Profile(profile) => {
                let mut profile = (**profile).clone();
                let targets: Vec<String> = (1..=preset.file_bytes.len()).map(|n| format!("/m/{n}")).collect();
                xml::substitute_templates(&mut profile, &targets).unwrap_or_else(|e| panic!("{name}: {e:?}"));
                profile
            }
            Load::Lines { lines, .. } => {
                let spans = lines.iter().map(|line| span(&format!("{} /m/1", line.join(" "))));
                Profile { time_spans: spans.collect(), ..Profile::default() }
            }
        };
        let findings = validate(&profile, true);
        assert!(!findings.iter().any(|f| f.severity == Severity::Error), "{name}: {findings:?}");
        for span in &profile.time_spans {
            assert!(span.measure_latency, "{name} has latencies");
            // A log goes through the page cache, and each of its writes is flushed.
            let is_proper = |target: &Target| target.is_direct() || target.flush_every.is_some();
            assert!(span.targets.iter().all(is_proper), "{name} bypasses the page cache");
            // Made files hold random bytes, whatever is written later.
            assert!(
                span.targets.iter().any(|t| t.write_source_bytes > 0) || span.random_write_data,
                "{name}"
            );
        }
        names.push(*name);
    }
    assert_eq!(
        names,
        [
            "oltp",
            "olap",
            "olap-si",
            "web",
            "vdi",
            "wal",
            "sql",
            "fleet-peak",
            "fleet-general",
            "fleet-vdi",
            "fleet-sql"
        ]
    );
    let Load::Lines { lines, limit } = Preset::read(Form::Toml, text("oltp").1, size).expect("oltp").load
    else {
        panic!("a line")
    };
    let target = &span(&format!("{} /m/1", lines[0].join(" "))).targets[0];
    assert_eq!((target.block_bytes, target.random_percent, target.write_percent), (8192, 100, 30));
    assert!(limit.is_some(), "oltp is searched under a limit");
    for (name, is_shared) in [("olap", false), ("olap-si", true)] {
        let Load::Lines { lines, .. } = Preset::read(Form::Toml, text(name).1, size).expect(name).load else {
            panic!("a line")
        };
        let target = &span(&format!("{} /m/1", lines[0].join(" "))).targets[0];
        assert_eq!(
            (target.block_bytes, target.random_percent, target.interlocked),
            (512 << 10, 0, is_shared)
        );
        assert_eq!(target.threads_per_file == 1, !is_shared, "{name}");
    }
}
