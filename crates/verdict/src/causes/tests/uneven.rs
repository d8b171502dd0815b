use super::*;
use truespd_core::result::{FineSeries, Limit, LimitChange, LimitKind, ProcessorWaits};

const MS: u64 = 1_000_000;

/// Completions in tenths of a second, and in the seconds that they make.
fn tenths(count: u64, in_tenth: impl Fn(u64) -> u64) -> Doc {
    let completed: Vec<u64> = (0..count).map(in_tenth).collect();
    doc(|d| {
        d.series(completed.chunks_exact(10).map(|second| second.iter().sum()));
        d.measured.evidence.fine_series = Some(FineSeries { interval_ns: 100 * MS, completed });
    })
}

fn seconds(count: u64, in_second: impl Fn(u64) -> u64) -> Doc {
    doc(|d| d.series((0..count).map(in_second)))
}

/// A little of chance in everything.
fn about(rate: u64, at: u64) -> u64 {
    rate + rate * (at * 7 % 11) / 100 - rate / 20
}

const ALL: [&str; 5] = ["pauses", "uneven", "step-down", "warm-up-short", "not-steady"];

#[track_caller]
fn only(rule: &str, make: impl Fn() -> Doc) -> Finding {
    for other in ALL.iter().filter(|other| **other != rule) {
        make().silent(other);
    }
    make().fires(rule)
}

#[test]
fn stalls_at_even_intervals() {
    // 500 ms every 3 s.
    let finding = only("pauses", || tenths(300, |i| if i % 30 < 5 { 0 } else { about(1000, i) }));
    says(
        &finding,
        FindingGrade::Suspect,
        &[
            "10 times almost nothing completed, for up to 0.50 s (from 0 s on), about every 3 s: 5.00 s or \
             17 % of the measured 30 s in all. Outside these pauses the rate was 10,0",
            "What caused it is not known",
        ],
    );
    let figure =
        |name: &str| finding.figures.iter().find(|figure| figure.name == name).map(|figure| figure.value);
    assert_eq!(figure("pauses"), Some(10.0));
    assert!(figure("period_s").is_some_and(|s| (s - 3.0).abs() < 0.1), "{finding:?}");
    // The same from seconds alone, as a document without the parts of seconds has them.
    let finding =
        only("uneven", || seconds(30, |i| if i % 3 == 1 { about(5005, i) } else { about(10_000, i) }));
    says(
        &finding,
        FindingGrade::Suspect,
        &["between two levels: about 4,99", "about every 3 s. The mean is neither."],
    );
    // A half of a second every 15 s.
    let finding = only("uneven", || seconds(60, |i| if i % 15 == 3 { 5000 } else { about(10_000, i) }));
    says(
        &finding,
        FindingGrade::Suspect,
        &["4 times, about every 15 s, which cost 3.3 % of the completions."],
    );
}

#[test]
fn a_rate_that_alternates() {
    let finding = only("uneven", || seconds(30, |i| if i % 2 == 0 { about(6000, i) } else { about(600, i) }));
    says(
        &finding,
        FindingGrade::Suspect,
        &["two levels: about 60", "for 50 % of the time and 5,9", "about every 2 s."],
    );
    let finding =
        only("uneven", || seconds(60, |i| [9000, 3000, 14_000, 5000, 11_000, 7000][(i * i % 6) as usize]));
    says(&finding, FindingGrade::Suspect, &["The rate "]);
    // Four times within each second.
    let finding = only("uneven", || tenths(200, |i| if i % 5 < 2 { 400 } else { 1000 }));
    says(
        &finding,
        FindingGrade::Suspect,
        &["about 4,000 IOPS for 40 % of the time and 10,000 IOPS for the rest"],
    );
}

#[test]
fn what_is_clean_or_told_elsewhere() {
    for rule in ["pauses", "uneven"] {
        tenths(150, |i| about(2000, i)).silent(rule);
        // One hiccup of a tenth of a second; a slow disk; a fall that stays; a ramp; bursts that were asked for.
        tenths(600, |i| if i == 77 { 3 } else { about(2000, i) }).silent(rule);
        tenths(600, |i| 8 + i * 13 % 7).silent(rule);
        seconds(60, |i| if i < 30 { 12_000 } else { 1000 }).silent(rule);
        seconds(60, |i| 10_000 + i * 300).silent(rule);
        seconds(60, |i| 20_000 + i * 7919 % 6000).silent(rule);
        let mut bursts = seconds(60, |i| if i % 2 == 0 { 6000 } else { 600 });
        (bursts.asked.think_ms, bursts.asked.burst_ios) = (Some(500), Some(300));
        bursts.silent(rule);
        seconds(9, |_| 0).silent(rule);
        doc(|d| d.measured.evidence.series = None).missing(rule, "completions over time");
    }
    // A single pause that costs little.
    let finding = tenths(300, |i| if (100..105).contains(&i) { 0 } else { about(1000, i) }).fires("pauses");
    says(&finding, FindingGrade::Remark, &["From 10 s on, almost nothing completed for 0.50 s: "]);
    // The program's own standstill is no pause of the storage.
    let mut stopped = tenths(150, |i| if (42..50).contains(&i) { 0 } else { about(1000, i) });
    stopped.late_ticks(&[(4225, 800)]);
    stopped.silent("pauses");
    let mut stopped = tenths(150, |i| if (142..150).contains(&i) { 0 } else { about(1000, i) });
    stopped.late_ticks(&[(14_225, 775)]);
    stopped.silent("step-down");
}

/// 12,000 reads/s of 4 KiB that become 3,000 after 20 of 60 s, never twice the same.
fn fallen() -> Doc {
    seconds(60, |i| about(if i < 20 { 12_000 } else { 3000 }, i))
}

fn limit(value: u64) -> Limit {
    Limit {
        by: "blkio.throttle".to_string(),
        group: "/capped".to_string(),
        device: Some("vda".to_string()),
        what: LimitKind::ReadIops,
        value,
    }
}

fn set_at(second: u64, value: u64) -> Option<Vec<LimitChange>> {
    let seen_ns = second * NS_PER_S;
    Some(vec![LimitChange {
        seen_ns,
        within_ns: NS_PER_S,
        new: vec![limit(value)],
        ..LimitChange::default()
    }])
}

#[test]
fn a_fall_is_told_with_what_changed_in_that_second() {
    let unknown = fallen().fires("step-down");
    let words = "stayed low. What caused it is not known. Ruled out: a new limit, other programs on the disk. The mean";
    says(&unknown, FindingGrade::Suspect, &[words]);
    assert!(!unknown.says.contains("cache"), "{}", unknown.says);

    let with = |change: &dyn Fn(&mut Doc)| {
        let mut doc = fallen();
        change(&mut doc);
        doc.fires("step-down")
    };
    let finding = with(&|d| d.measured.evidence.limit_changes = set_at(21, 3000));
    let words = "At that time a limit of 3,000 reads/s on vda was set: blkio.throttle of cgroup /capped.";
    says(&finding, FindingGrade::Suspect, &[words]);
    assert!(finding.advice.contains("limits"), "{}", finding.advice);
    let finding = with(&|d| {
        d.measured.evidence.limit_changes = set_at(21, 3000);
        d.measured.evidence.limit_changes.as_mut().expect("a change")[0].moved = true;
    });
    let words = "At that time this process was moved to another cgroup: blkio.throttle of /capped limits it to 3,000 \
        reads/s on vda.";
    says(&finding, FindingGrade::Suspect, &[words]);
    // Set at another time, or far above the rate.
    for (second, value) in [(40, 3000), (21, 30_000)] {
        let finding = with(&|d| d.measured.evidence.limit_changes = set_at(second, value));
        says(&finding, FindingGrade::Suspect, &["is not known"]);
    }
    let finding = with(&|d| {
        let waiting_ns = (0..60).map(|i| if i < 20 { 10 * MS } else { 600 * MS }).collect();
        d.measured.evidence.processor_waits = waits(waiting_ns);
    });
    says(
        &finding,
        FindingGrade::Suspect,
        &[
            "While the rate was low, the threads spent 60 % of their time waiting for a processor, at other times 1 %.",
        ],
    );
    // Other virtual machines took it: of two processors 0.6 s of each second.
    let finding = with(&|d| {
        let stolen_ns = (0..60).map(|i| if i < 20 { 20 * MS } else { 600 * MS }).collect();
        let waits = ProcessorWaits { interval_ns: NS_PER_S, waiting_ns: vec![0; 60], stolen_ns };
        d.measured.evidence.processor_waits = Some(waits);
    });
    let words = "other virtual machines on this host took 30 % of the processor time, at other times 1 %.";
    says(&finding, FindingGrade::Suspect, &[words]);
    let finding = with(&|d| {
        let intervals = d.measured.evidence.disks[0].intervals.iter_mut().enumerate();
        intervals.filter(|(at, _)| *at >= 20).for_each(|(_, counts)| counts.read_bytes += 32 << 20);
    });
    says(
        &finding,
        FindingGrade::Suspect,
        &["While the rate was low, other programs moved 32 MiB/s on vda, at other times 0 bytes/s."],
    );
    // Others who move as much all the time did not make it fall.
    let finding = with(&|d| {
        d.measured.evidence.disks[0].intervals.iter_mut().for_each(|counts| counts.read_bytes += 32 << 20);
    });
    says(&finding, FindingGrade::Suspect, &["is not known"]);
}

#[test]
fn a_fall_without_a_change_is_not_guessed_at() {
    // 3.3 GiB of 8 GiB, once over.
    let sequential = |no_warm_up: bool| {
        let mut doc = fallen();
        doc.asked.random_percent = 0;
        doc.no_warm_up = no_warm_up;
        doc.fires("step-down")
    };
    let words = "What caused it is not known. Ruled out: a new limit, other programs on the disk. The sequential run \
        had come to 937 MiB of 8 GiB: a run of each part (-B and -f) tells whether the place matters.";
    says(&sequential(true), FindingGrade::Suspect, &[words]);
    // A warm-up of 5 s went on at the rate before the fall.
    says(
        &sequential(false),
        FindingGrade::Suspect,
        &["The sequential run had come to about 1.1 GiB of 8 GiB"],
    );
    // A write cache may be full only where there is one that takes the writes.
    let written = |cache: &str, is_through: bool| {
        let mut written = writes(|d| {
            d.series((0..60).map(|i| about(if i < 20 { 12_000 } else { 3000 }, i)));
            let series = d.measured.evidence.series.as_mut().expect("a series");
            std::mem::swap(&mut series.reads, &mut series.writes);
            d.asked.write_through = is_through;
            d.facts()[0].layers.last_mut().expect("a disk").write_cache = Some(cache.to_string());
        });
        (written.reads_per_s, written.writes_per_s) = (0, written.reads_per_s);
        written.fires("step-down").says
    };
    let says = written("write back", false);
    let words = "Until then 937 MiB had been written, and vda has a volatile write cache: a run with -Sh tells whether";
    assert!(says.contains("is not known. Ruled out") && says.contains(words), "{says}");
    for (cache, is_through) in [("write through", false), ("write back", true)] {
        let says = written(cache, is_through);
        assert!(!says.contains("cache"), "{says}");
    }
}

/// A limit that was lowered lets nothing through until it is even again: two rates in turn, and no stall of the target.
#[test]
fn half_a_second_of_a_lowered_limit_is_no_pause() {
    let turns = |pause: u64| {
        tenths(120, move |i| match i {
            _ if (115..115 + pause).contains(&i) => 0,
            i if i / 20 % 2 == 0 => about(90, i),
            i => about(20, i),
        })
    };
    let with_limit = |mut made: Doc| {
        made.measured.evidence.limit_changes = set_at(10, 200);
        made
    };
    turns(5).fires("pauses");
    with_limit(turns(5)).silent("pauses");
    let finding = with_limit(turns(5)).fires("uneven");
    says(&finding, FindingGrade::Suspect, &["up and down between two levels"]);
    with_limit(tenths(120, |i| if (60..75).contains(&i) { 0 } else { about(90, i) })).fires("pauses");
}

fn waits(waiting_ns: Vec<u64>) -> Option<ProcessorWaits> {
    Some(ProcessorWaits { interval_ns: NS_PER_S, waiting_ns, ..ProcessorWaits::default() })
}

#[test]
fn pauses_are_told_with_what_others_did_then() {
    let paused = || tenths(600, |i| if i % 100 >= 80 { 0 } else { about(1000, i) });
    let mut busy = paused();
    let waiting_ns = (0..60).map(|i| if i % 10 >= 8 { 900 * MS } else { 0 }).collect();
    busy.measured.evidence.processor_waits = waits(waiting_ns);
    says(
        &busy.fires("pauses"),
        FindingGrade::Suspect,
        &["90 % of their time waiting for a processor, at other times 0 %."],
    );
    // Threads that wait as long at other times do not pause for it.
    for (inside, outside) in [(500, 500), (300, 520)] {
        let waiting_ns = (0..60).map(|i| if i % 10 >= 8 { inside * MS } else { outside * MS }).collect();
        let mut busy = paused();
        busy.measured.evidence.processor_waits = waits(waiting_ns);
        let words =
            "What caused it is not known. Ruled out: a new limit, waits for a processor, other programs";
        says(&busy.fires("pauses"), FindingGrade::Suspect, &[words]);
    }
    // Seen in one of the pauses, and at another time.
    let held = |device: Option<&str>, second: u64| {
        let mut held = paused();
        let (device, seen_ns) = (device.map(str::to_string), vec![second * NS_PER_S + NS_PER_S / 10]);
        held.measured.evidence.held = Some(vec![Held { device, seen_ns }]);
        held.fires("pauses").says
    };
    assert!(held(None, 9).contains("At that time the file system of the target was frozen (fsfreeze)."));
    assert!(held(Some("dm-3"), 28).contains("At that time the device dm-3 was suspended (dmsetup suspend)."));
    assert!(held(None, 4).contains("is not known. Ruled out: a frozen file system, a new limit"));
}

#[test]
fn a_rate_that_is_missed_says_why() {
    let missed = |make: &dyn Fn() -> Doc| {
        let mut doc = make();
        doc.asked.throughput = Some(truespd_core::profile::Throughput::Iops(doc.reads_per_s * 10 / 9));
        doc.fires("below-rate")
    };
    let full = missed(&|| tenths(600, |i| about(1000, i)));
    says(
        &full,
        FindingGrade::Suspect,
        &["All I/Os that -o allows were in flight: the target gives no more at this depth."],
    );
    let stalls = missed(&|| tenths(600, |i| if i % 50 < 5 { 0 } else { about(1000, i) }));
    says(&stalls, FindingGrade::Suspect, &["For 6.00 s almost nothing completed: the target stalled."]);
    assert!(!stalls.says.contains("gives no more"), "{}", stalls.says);
    let stopped = missed(&|| {
        let mut doc = tenths(600, |i| if (100..160).contains(&i) { 0 } else { about(1000, i) });
        doc.late_ticks(&[(10_000, 6000)]);
        doc
    });
    says(&stopped, FindingGrade::Suspect, &["The program itself stood still for 6 s."]);
    let limited = missed(&|| {
        let mut doc = tenths(600, |i| about(1000, i));
        doc.measured.evidence.limits = vec![limit(10_000)];
        doc
    });
    says(&limited, FindingGrade::Suspect, &["A limit of a cgroup was reached."]);
    let shallow = missed(&|| {
        let mut doc = tenths(600, |i| about(1000, i));
        doc.measured.evidence.queue_depth = Some(QueueDepth { asked: 32, reached: 10.0, from_latency: true });
        doc
    });
    says(&shallow, FindingGrade::Suspect, &["What caused it is not known"]);
}
