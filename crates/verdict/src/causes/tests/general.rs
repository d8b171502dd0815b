use super::*;
use truespd_core::result::{LayerDetails, LayerRole, Loss, Meaning, NvmeCommands, Theme, Verdict};

#[test]
fn failed_runs_describe_nothing() {
    let mut document = Doc::clean().build();
    document.failures = vec!["disk on fire".to_string(), "again".to_string()];
    document.time_spans = vec![TimeSpanResult::NotMeasured];
    let verdict = judge(&document);
    assert_eq!(verdict.grade, Grade::Invalid);
    says(
        &verdict.findings[0],
        FindingGrade::Invalid,
        &["The run failed: disk on fire (and 1 more failures)"],
    );
    assert_eq!(fires(&verdict, "run-failed").time_span, 1);
    document.failures.clear();
    says(
        &judge(&document).findings[0],
        FindingGrade::Invalid,
        &["The run ended before its measured time: nothing was measured."],
    );
    says(
        &judge(&Document::default()).findings[0],
        FindingGrade::Invalid,
        &["The run ended before its measured time: nothing was measured."],
    );
    doc(|_| {}).silent("run-failed");
}

#[test]
fn the_second_time_span_is_named() {
    let mut document = Doc::clean().build();
    document.profile.time_spans.push(document.profile.time_spans[0].clone());
    document.time_spans.push(TimeSpanResult::NotMeasured);
    let verdict = judge(&document);
    assert_eq!(verdict.findings[0].time_span, 2, "{:#?}", verdict.findings);
}

/// A cause is told before what it may explain, and leads the one line.
#[test]
fn causes_come_before_symptoms() {
    let verdict = judge(
        &doc(|d| {
            let evidence = &mut d.measured.evidence;
            evidence.queue_depth = Some(QueueDepth { asked: 32, reached: 11.0, from_latency: false });
            evidence.host.as_mut().expect("clean").steal_percent = Some(20.0);
            evidence.threads[0].waiting_for_cpu_ns = Some(evidence.threads[0].elapsed_ns / 3);
            let range = &mut d.facts()[0];
            (range.size_bytes, range.layers[2].write_cache) = (64 << 20, None);
        })
        .build(),
    );
    let told: Vec<(&str, FindingGrade)> =
        verdict.findings.iter().map(|f| (f.rule.as_str(), f.grade)).collect();
    let suspect: Vec<&str> =
        told.iter().filter(|(_, grade)| *grade == FindingGrade::Suspect).map(|(rule, _)| *rule).collect();
    assert_eq!(suspect, ["working-set", "steal", "generator-bound", "queue-depth"], "{told:?}");
    assert!(verdict.findings.is_sorted_by_key(|finding| finding.standing()));
    for finding in &verdict.findings {
        let all = rules();
        let (cause, rule) = all.iter().find(|(cause, _)| cause.name == finding.rule).expect("of the table");
        assert_eq!((finding.meaning, finding.cause), (rule.meaning, cause.theme), "{}", cause.name);
    }
    // What is no result is worse than what explains it.
    let failed = judge(
        &doc(|d| {
            d.reads_per_s = 0;
            d.refresh();
            let evidence = &mut d.measured.evidence;
            evidence.threads[0].waiting_for_cpu_ns = Some(evidence.threads[0].elapsed_ns / 3);
        })
        .build(),
    );
    let rules: Vec<&str> = failed.findings.iter().map(|f| f.rule.as_str()).collect();
    assert_eq!(rules[..2], ["nothing-completed", "generator-bound"]);
}

/// A rule says what its findings mean, so a cache leads also where the processor was busy beside it.
#[test]
fn what_decides_the_meaning_of_the_number_leads() {
    let verdict = judge(
        &doc(|d| {
            let evidence = &mut d.measured.evidence;
            evidence.threads[0].waiting_for_cpu_ns = Some(evidence.threads[0].elapsed_ns / 3);
            evidence.host.as_mut().expect("clean").steal_percent = Some(20.0);
            d.disk().read_bytes = d.disk().read_bytes * 58 / 100;
            d.disk().reads = d.disk().reads * 58 / 100;
        })
        .build(),
    );
    let suspect = verdict.findings.iter().filter(|one| one.grade == FindingGrade::Suspect);
    let told: Vec<&str> = suspect.map(|one| one.rule.as_str()).collect();
    assert_eq!(told, ["served-from-cache", "steal", "generator-bound"], "{verdict:?}");
    // What can only slow a run, or is only worth a remark, never claims to be another number.
    for (cause, rule) in rules() {
        let is_other = rule.meaning == Meaning::WrongNumber;
        assert!(!(is_other && rule.worst == FindingGrade::Remark), "{}", cause.name);
        assert!(!is_other || cause.theme != Theme::Limit, "{}", cause.name);
    }
}

#[test]
fn engines_that_pretend() {
    for engine in ["null", "sim"] {
        let pretended = || doc(|d| d.measured.engine = engine.to_string());
        says(
            &pretended().fires("simulated"),
            FindingGrade::Invalid,
            &[&format!("The engine {engine} only simulates I/O: nothing")],
        );
        // Evidence of disks would only add noise.
        let bare = doc(|d| {
            d.measured.engine = engine.to_string();
            d.measured.evidence = truespd_core::result::Evidence::default();
        });
        let verdict = judge(&bare.build());
        assert_eq!((verdict.findings.len(), verdict.unchecked.len()), (1, 0), "{verdict:#?}");
    }
    doc(|_| {}).silent("simulated");
}

#[test]
fn nothing_completed_is_no_result() {
    let idle = doc(|d| {
        d.reads_per_s = 0;
        d.refresh();
    });
    says(
        &idle.fires("nothing-completed"),
        FindingGrade::Invalid,
        &["No I/O completed in the measured 60.00 s."],
    );
    doc(|_| {}).silent("nothing-completed");
}

#[test]
fn ios_that_the_end_found_out() {
    let held = |change: fn(&mut Outstanding)| {
        doc(|d| {
            let mut out = Outstanding {
                path: PATH.to_string(),
                ios: 32,
                age_ns_max: 4 * NS_PER_S,
                measured_ns: 128 * NS_PER_S,
                late_ns_max: 7 * NS_PER_S,
                ..Outstanding::default()
            };
            change(&mut out);
            d.measured.evidence.outstanding = Some(vec![out]);
        })
    };
    let finding = held(|_| ()).fires("stalled");
    let words = "32 I/Os were still out when the measured time ended, the oldest for 4 s; 32 ended up to 7 s later. No \
                 count and no latency holds them.";
    says(&finding, FindingGrade::Suspect, &[words]);
    assert_eq!(finding.target.as_deref(), Some(PATH));
    says(&held(|out| out.never = 2).fires("stalled"), FindingGrade::Invalid, &["2 did not end within 7 s"]);
    // 20,000 per second at a depth of 32 take 1.6 ms; a queue of a minute explains it.
    doc(|d| {
        let evidence = &mut d.measured.evidence;
        evidence.queue_depth = Some(QueueDepth { asked: 30_000, reached: 30_000.0, from_latency: false });
        let out = Outstanding { ios: 30_000, age_ns_max: 14 * NS_PER_S, ..Outstanding::default() };
        evidence.outstanding = Some(vec![out]);
    })
    .silent("stalled");
    doc(|_| {}).silent("stalled");
    doc(|d| d.measured.evidence.outstanding = None).missing("stalled", "the I/Os that were out");
    // It explains that nothing completed.
    let mut nothing = held(|_| ());
    nothing.reads_per_s = 0;
    nothing.refresh();
    let verdict = judge(&nothing.build());
    let rules: Vec<&str> = verdict.findings.iter().map(|finding| finding.rule.as_str()).collect();
    assert_eq!(rules[..2], ["stalled", "nothing-completed"], "{verdict:#?}");
}

#[test]
fn commands_that_nobody_counted_are_no_proof_and_no_accusation() {
    let by_commands = |counted| {
        let mut doc = Doc::clean();
        let commands = NvmeCommands { device: PATH.to_string(), counted, ..NvmeCommands::default() };
        doc.facts()[0].layers = vec![disk_layer("vda")];
        doc.facts()[0].nvme_commands = Some(commands);
        if !counted {
            let disk = &mut doc.measured.evidence.disks[0];
            (disk.total, disk.intervals) = (DiskCounts::default(), Vec::new());
        }
        doc
    };
    let verdict = judge(&by_commands(false).build());
    let found: Vec<&str> = verdict.findings.iter().map(|finding| finding.rule.as_str()).collect();
    assert_eq!((verdict.grade, found), (Grade::Suspect, vec!["unproven"]), "{:#?}", verdict.findings);
    assert!(verdict.proofs.is_empty());
    let finding = &verdict.findings[0];
    assert!(finding.says.contains("what vda moved for"), "{}", finding.says);
    assert!(finding.says.contains("the kernel did not count them"), "{}", finding.says);
    assert!(finding.advice.contains("queue/iostats_passthrough"), "{}", finding.advice);
    let verdict = judge(&by_commands(true).build());
    assert_eq!((verdict.grade, verdict.proofs.len()), (Grade::Certified, 1), "{:#?}", verdict.findings);
}

#[test]
fn what_is_not_proven_is_suspect() {
    let finding = doc(|d| d.measured.evidence.disks.clear()).fires("unproven");
    says(
        &finding,
        FindingGrade::Suspect,
        &["The result cannot be proven: it does not show the counters of vda over the measured time."],
    );
    doc(|_| {}).silent("unproven");
    // Another rule speaks of memory.
    doc(|d| d.facts()[0].layers = vec![layer(LayerKind::MemoryFilesystem, "x", &[])]).silent("unproven");
    for (kind, words) in [
        (LayerKind::RemoteFilesystem, "are in another machine, and what they moved is not visible here."),
        (LayerKind::UserFilesystem, "a program serves"),
        // A loop device over a deleted file.
        (LayerKind::Loop, "layers below"),
    ] {
        let finding = doc(|d| d.facts()[0].layers = vec![layer(kind, "x", &[])]).fires("unproven");
        says(&finding, FindingGrade::Suspect, &["The result cannot be proven: ", words]);
    }
}

#[test]
fn percentiles_of_few() {
    let with = |per_s: u64, seconds: u64| {
        doc(|d| {
            (d.latency, d.seconds, d.reads_per_s) = (true, seconds, per_s);
            d.refresh();
        })
        .fires("percentiles")
    };
    says(
        &with(153, 10),
        FindingGrade::Remark,
        &["With 1,530 reads, the percentiles from 4-nines on show a single I/O."],
    );
    says(&with(100, 10), FindingGrade::Remark, &["from 4-nines"]);
    says(&with(99, 10), FindingGrade::Remark, &["from 3-nines"]);
    says(&with(9, 10), FindingGrade::Remark, &["from the 99th percentile on"]);
    doc(|_| {}).silent("percentiles");
}

#[test]
fn a_run_that_was_stopped() {
    let mut document = Doc::clean().build();
    document.profile.time_spans[0].duration_s = 90;
    let finding = fires(&judge(&document), "stopped-early");
    says(&finding, FindingGrade::Remark, &["The run was stopped after 60 s of the 90 s asked for."]);
    doc(|d| d.seconds = 60).silent("stopped-early");
}

#[test]
fn targets_that_are_no_disks() {
    let tmpfs = || {
        doc(|d| {
            d.facts()[0].layers =
                vec![layer(LayerKind::File, PATH, &[1]), layer(LayerKind::MemoryFilesystem, "tmpfs", &[])];
        })
    };
    says(
        &tmpfs().fires("memory-target"),
        FindingGrade::Suspect,
        &["tmpfs keeps files in memory: no disk is involved."],
    );
    let zram = doc(|d| d.facts()[0].layers = vec![layer(LayerKind::Memory, "zram1", &[])]);
    says(&zram.fires("memory-target"), FindingGrade::Remark, &["zram1 is a device in memory"]);
    let null_blk = doc(|d| {
        let details = Some(LayerDetails::of(LayerRole::NullBlock));
        d.facts()[0].layers = vec![Layer { details, ..layer(LayerKind::Memory, "nullb0", &[]) }];
    });
    let words = "nullb0 is a device of null_blk, which does no I/O and stores nothing";
    says(&null_blk.fires("memory-target"), FindingGrade::Suspect, &[words]);
    doc(|_| {}).silent("memory-target");
    doc(|d| d.facts()[0].layers.clear()).missing("memory-target", "layers");
    let nfs = doc(|d| {
        d.facts()[0].layers = vec![
            layer(LayerKind::File, PATH, &[1]),
            Layer { server: Some("filer1".to_string()), ..layer(LayerKind::RemoteFilesystem, "nfs4", &[]) },
        ];
    });
    says(
        &nfs.fires("remote"),
        FindingGrade::Remark,
        &["nfs4 is on another machine (filer1): every I/O crosses the network."],
    );
    let fuse = doc(|d| d.facts()[0].layers = vec![layer(LayerKind::UserFilesystem, "fuse.sshfs", &[])]);
    says(
        &fuse.fires("remote"),
        FindingGrade::Remark,
        &["A program serves fuse.sshfs: its caches are not visible here."],
    );
    let busy = |read_bytes: u64| {
        doc(|d| {
            let mount_point = Some("/far".to_string());
            d.facts()[0].layers =
                vec![Layer { mount_point, ..layer(LayerKind::UserFilesystem, "fuse.x", &[]) }];
            let evidence = &mut d.measured.evidence;
            evidence.programs = vec![ServingProgram {
                mount_point: "/far".to_string(),
                waiting_mean: Some(3.5),
                readings: 59,
            }];
            let mut disk = evidence.disks.remove(0);
            disk.total.read_bytes = read_bytes;
            evidence.beside_disks = vec![disk];
        })
        .fires("remote")
    };
    let all = 20_000 * 4096 * SECONDS;
    says(
        &busy(all),
        FindingGrade::Remark,
        &["not visible here. 3.50 requests waited in it on average. The disks of this machine moved 78.1 \
             MiB/s of reads (100 % of the bytes) meanwhile."],
    );
    let idle = "on average. No disk of this machine was read during the run, so the data came from a cache \
        or from another machine.";
    says(&busy(all / 30), FindingGrade::Remark, &[idle]);
    doc(|_| {}).silent("remote");
}

#[test]
fn what_others_do_to_a_target_is_told() {
    let with = |losses: Option<Vec<Loss>>| writes(move |d| d.facts()[0].losses = losses);
    with(Some(Vec::new())).silent("target-lost");
    with(None).missing("target-lost", "whether 'test.dat' was there to the end");
    for (loss, words) in [
        (Loss::Removed, "'test.dat' was removed while it was tested"),
        (Loss::Replaced, "leads to another file or device"),
        (Loss::Moved, "is not there any more"),
        (Loss::Cut { from_bytes: 8 * GIB, to_bytes: GIB }, "was cut from 8 GiB to 1 GiB"),
        (Loss::Emptied { from_bytes: 8 * GIB, to_bytes: GIB }, "of 8 GiB that were stored 1 GiB are left"),
        (Loss::Unmounted, "was unmounted while it was tested (umount -l)"),
        (Loss::ReadOnly, "became read-only while it was tested"),
    ] {
        says(&with(Some(vec![loss])).fires("target-lost"), FindingGrade::Suspect, &[words]);
        let json = serde_json::to_string(&loss).unwrap();
        assert_eq!(serde_json::from_str::<Loss>(&json).unwrap(), loss, "{json}");
    }
}

/// A document as the version before members wrote it, with that version's verdict: layers of every kind, and engines,
/// in words. The last two time spans are on a loop device whose file has a path that looked like words about storage.
/// Rules, grades and targets are those of that version; the sentences have been rewritten since.
#[test]
fn layers_and_engines_told_in_words_are_judged_as_before() {
    let text = include_bytes!("../../../../../tests/data/documents/v1/layers-in-words.json");
    let mut document = truespd_core::result::json::read(text).expect("it can be read");
    // The disks and rates of these time spans were written for a minute, the account of the process is of a
    // real second.
    for span in &mut document.time_spans {
        let TimeSpanResult::Measured(measured) = span else { continue };
        measured.evidence.host.iter_mut().for_each(|host| host.own_disk_read_bytes = None);
    }
    let before = document.verdict.as_ref().expect("what the version before said");
    let mut now = judge(&document);
    // Rules that came later miss evidence that the version before did not gather.
    const SINCE: &[&str] = &["target-lost"];
    now.unchecked.retain(|unchecked| !SINCE.contains(&unchecked.rule.as_str()));
    let findings = |verdict: &Verdict, spans: std::ops::RangeInclusive<u32>| -> Vec<String> {
        let in_spans = |span: u32| spans.contains(&span);
        // Later rules find something, or miss evidence, in documents of that version.
        let found = verdict.findings.iter().filter(|finding| before.rules.contains(&finding.rule));
        let found = found.filter(|finding| in_spans(finding.time_span));
        let missed = verdict.unchecked.iter().filter(|unchecked| before.rules.contains(&unchecked.rule));
        let missed = missed.filter(|unchecked| in_spans(unchecked.time_span));
        let found = found.map(|f| format!("{} {} {:?} {:?}", f.time_span, f.rule, f.grade, f.target));
        let mut all: Vec<String> =
            found.chain(missed.map(|u| format!("{} {}", u.time_span, u.rule))).collect();
        // That version did not put causes before symptoms.
        all.sort();
        all
    };
    assert_eq!(document.time_spans.len(), 24);
    for span in 1..=22 {
        assert_eq!(findings(&now, span..=span), findings(before, span..=span), "time span {span}");
    }
    let found = now.findings.iter().map(|f| (format!("{}: {} -> {}", f.rule, f.says, f.advice), f.time_span));
    let missed = now.unchecked.iter().map(|u| (format!("{}: not known: {}", u.rule, u.why), u.time_span));
    let mut spans_of = std::collections::BTreeMap::<String, Vec<u32>>::new();
    found.chain(missed).for_each(|(sentence, span)| spans_of.entry(sentence).or_default().push(span));
    let sentences: Vec<_> =
        spans_of.iter().map(|(sentence, spans)| format!("{sentence} {spans:?}")).collect();
    insta::assert_snapshot!("sentences", sentences.join("\n"));
    let of = |verdict: &Verdict, span: u32, rule: &str| {
        let found = verdict.findings.iter().find(|f| f.time_span == span && f.rule == rule);
        found.map(|finding| finding.says.clone())
    };
    assert_eq!(of(before, 23, "other-io"), None, "' running' in the path");
    assert_eq!(of(&now, 23, "other-io"), of(&now, 19, "other-io"));
    assert!(of(&now, 23, "other-io").is_some());
    assert!(
        of(before, 24, "served-from-cache").is_some_and(|says| says.contains("blocks never provisioned"))
    );
    assert!(
        of(&now, 24, "served-from-cache")
            .is_some_and(|says| says.ends_with("something between the test and the disk answered."))
    );
}

/// Whatever a document holds, judging it ends with finite numbers and plain words.
#[test]
fn odd_numbers_never_break_a_rule() {
    let odd: [fn(&mut Doc); 9] = [
        |d| {
            d.measured.evidence.queue_depth =
                Some(QueueDepth { asked: 0, reached: f64::NAN, from_latency: true })
        },
        |d| {
            d.measured.evidence.queue_depth =
                Some(QueueDepth { asked: 9, reached: f64::INFINITY, from_latency: true })
        },
        |d| d.measured.evidence.series = Some(Timeline { interval_ns: 0, reads: vec![1; 9], writes: vec![] }),
        |d| {
            d.measured.evidence.series = Some(Timeline { interval_ns: 1, reads: vec![0; 9], writes: vec![7] })
        },
        |d| d.measured.evidence.disks[0].window_ns = 0,
        |d| {
            *d.disk() = DiskCounts {
                reads: u64::MAX,
                read_bytes: 1,
                flushes: Some(u64::MAX),
                ..DiskCounts::default()
            }
        },
        |d| d.host().steal_percent = Some(f64::NAN),
        |d| d.seconds = 0,
        |d| d.facts()[0].size_bytes = 0,
    ];
    for (place, change) in odd.into_iter().enumerate() {
        for base in [Doc::clean(), Doc::clean_writes()] {
            let mut doc = base;
            change(&mut doc);
            let mut document = doc.build();
            for time in [60.0, 0.0, f64::NAN, f64::INFINITY, -1.0] {
                if let TimeSpanResult::Measured(measured) = &mut document.time_spans[0] {
                    measured.test_time_s = time;
                }
                for finding in judge(&document).findings {
                    assert!(finding.figures.iter().all(|f| f.value.is_finite()), "{place}: {finding:#?}");
                    let words = format!("{} {}", finding.says, finding.advice);
                    assert!(!words.contains("NaN") && !words.contains("inf "), "{place}: {words}");
                    assert!(words.is_ascii() && !words.contains('\n'), "{place}: {words}");
                }
            }
        }
    }
}

#[test]
fn documents_of_released_versions_are_judged() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/documents/v1");
    let mut judged = 0;
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("an entry").path();
        let file = std::fs::File::open(&path).expect("it can be opened");
        let document = truespd_core::result::json::read_from(file).expect("it can be read");
        let verdict = judge(&document);
        assert!(verdict.grade >= Grade::Suspect, "{}: {verdict:#?}", path.display());
        judged += 1;
    }
    assert!(judged >= 7, "{judged}");
}
