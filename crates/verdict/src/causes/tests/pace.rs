use super::*;
use truespd_core::profile::Throughput;

fn reached(asked: u64, reached: f64) -> Doc {
    doc(|d| d.measured.evidence.queue_depth = Some(QueueDepth { asked, reached, from_latency: true }))
}

#[test]
fn depth_that_was_not_reached() {
    let finding = reached(32, 6.4).fires("queue-depth");
    says(
        &finding,
        FindingGrade::Suspect,
        &[
            "The test asked for a queue depth of 32 and reached 6.40 (IOPS times mean latency). Treat this as a \
             result for depth 6.40, not 32.",
        ],
    );
    says(&reached(32, 26.0).fires("queue-depth"), FindingGrade::Remark, &["and reached 26 ("]);
    reached(32, 28.8).silent("queue-depth");
    // One at a time is what was asked for.
    reached(1, 0.6).silent("queue-depth");
    doc(|d| d.measured.evidence.queue_depth = None).missing("queue-depth", "in flight");
    let mut paced = reached(32, 1.0);
    paced.asked.throughput = Some(Throughput::Iops(10));
    paced.silent("queue-depth");
    let mut pauses = reached(32, 1.0);
    (pauses.asked.burst_ios, pauses.asked.think_ms) = (Some(4), Some(10));
    pauses.silent("queue-depth");
}

fn cost(running_percent: u64, waiting_percent: u64) -> Doc {
    doc(|d| {
        d.measured.evidence.threads = vec![
            ThreadCost {
                id: 0,
                cpu: Some(0),
                elapsed_ns: 1000,
                running_ns: 300,
                waiting_for_cpu_ns: Some(5),
            },
            ThreadCost {
                id: 1,
                cpu: Some(1),
                elapsed_ns: 1000,
                running_ns: 10 * running_percent,
                waiting_for_cpu_ns: Some(10 * waiting_percent),
            },
        ];
    })
}

#[test]
fn threads_at_their_limit() {
    let finding = cost(98, 0).fires("generator-bound");
    says(
        &finding,
        FindingGrade::Suspect,
        &[
            "1 of 2 threads computed for 95 % of the time or more (thread 1: 98 %): the processor limited the rate, \
             not the storage.",
        ],
    );
    cost(94, 0).silent("generator-bound");
    let finding = cost(60, 30).fires("generator-bound");
    says(
        &finding,
        FindingGrade::Suspect,
        &[
            "1 of 2 threads waited for a processor 10 % of the time or more (thread 1: 30 %); the latencies include \
             this wait.",
        ],
    );
    cost(60, 9).silent("generator-bound");
    for (running, waiting, words) in [
        (98, 0, "The thread computed for 98 % of the time: the processor limited the rate, not the storage."),
        (60, 30, "The thread waited for a processor 30 % of the time; the latencies include this wait."),
    ] {
        let mut alone = cost(running, waiting);
        alone.measured.evidence.threads.remove(0);
        says(&alone.fires("generator-bound"), FindingGrade::Suspect, &[words]);
    }
    let mut paced = cost(99, 0);
    paced.asked.throughput = Some(Throughput::Iops(20_000));
    paced.silent("generator-bound");
    let quota = doc(|d| d.host().cpu_throttled_ns = Some(6 * NS_PER_S));
    says(
        &quota.fires("generator-bound"),
        FindingGrade::Suspect,
        &["The processor quota of the cgroup stopped threads for 6 s of the measured 60 s."],
    );
    doc(|d| d.measured.evidence.threads.clear()).missing("generator-bound", "processor time");
    // The start signal was never given.
    doc(|d| d.measured.evidence.threads = vec![ThreadCost::default()]).silent("generator-bound");
}

/// 20,000 IOPS on one thread are 50 us per I/O.
fn own_work(generator_ns: f64, fill_ns: f64, stamp_ns: f64) -> Doc {
    doc(|d| {
        let loads = vec![LoadCost { threads: vec![0], generator_ns, fill_ns }];
        d.measured.evidence.self_cost = Some(SelfCost { stamp_ns, loads, ..SelfCost::default() });
    })
}

#[test]
fn work_of_the_program_itself() {
    for (generator_ns, seen) in [(45.0, false), (12_000.0, false), (12_500.0, true), (49_000.0, true)] {
        let found = own_work(generator_ns, 0.0, 12.0).see("generator-cost").expect("it looked");
        assert_eq!(!found.is_empty(), seen, "{generator_ns} ns");
    }
    let finding = own_work(20_000.0, 19_000.0, 12.0).fires("generator-cost");
    let words = [
        "TrueSpd's own work took 20 us of a thread's 50 us per I/O (thread 0: 40 %), most of it to make random data \
         (-Zr).",
    ];
    says(&finding, FindingGrade::Remark, &words);
    assert!(finding.advice.contains("-Z<size>"), "{}", finding.advice);
    let figures: Vec<_> = finding.figures.iter().map(|f| (f.name.as_str(), f.value)).collect();
    assert_eq!(figures, [("generator_ns", 20_000.0), ("ns_per_io", 50_000.0)]);
    // More than all of the time cannot be.
    own_work(1_086_000.0, 0.0, 12.0).missing(
        "generator-cost",
        "how much of a thread's time TrueSpd's own work took: its measurement failed, as it came to more than all of it",
    );
    let plain = own_work(20_000.0, 1000.0, 9000.0).fires("generator-cost");
    assert!(
        !plain.says.contains("-Zr") && !plain.says.contains("clock"),
        "no stamps without -L: {}",
        plain.says
    );
    let mut stamps = own_work(20_000.0, 1000.0, 9000.0);
    (stamps.latency, stamps.reads_per_s, stamps.seconds) = (true, 20_000, 1);
    says(&stamps.fires("generator-cost"), FindingGrade::Remark, &["most of it to read a slow clock."]);
    let mut paced = own_work(20_000.0, 0.0, 12.0);
    paced.asked.throughput = Some(Throughput::Iops(20_000));
    paced.silent("generator-cost");
    doc(|d| d.measured.evidence.self_cost = None)
        .missing("generator-cost", "a measurement of TrueSpd's own work");
    // Threads beyond those that were calibrated, and a run without I/O.
    doc(|d| d.measured.evidence.self_cost = Some(SelfCost::default())).silent("generator-cost");
    let mut idle = own_work(20_000.0, 0.0, 12.0);
    idle.reads_per_s = 0;
    idle.silent("generator-cost");
}

#[test]
fn a_busy_thread_is_told_beside_the_work_of_the_program_itself() {
    let busy = || {
        let mut busy = own_work(20_000.0, 0.0, 12.0);
        busy.measured.evidence.threads[0].running_ns = busy.measured.evidence.threads[0].elapsed_ns;
        busy
    };
    let finding = busy().fires("generator-bound");
    says(
        &finding,
        FindingGrade::Suspect,
        &["not the storage. TrueSpd's own work took 20 us of a thread's 50 us per I/O."],
    );
    assert!(finding.figures.iter().any(|f| f.name == "generator_ns" && f.value == 20_000.0));
    // Asking the device all the time keeps a processor busy and says nothing.
    let mut polled = busy();
    polled.measured.engine = "io_uring_poll".into();
    polled.silent("generator-bound");
}

#[test]
fn rates_that_were_asked_for() {
    let asked = |throughput: Throughput| doc(|d| d.asked.throughput = Some(throughput));
    let finding = asked(Throughput::Iops(30_000)).fires("below-rate");
    says(
        &finding,
        FindingGrade::Suspect,
        &["-g set a rate of 30,000 IOPS, but the test reached 20,000 IOPS (67 %)."],
    );
    asked(Throughput::Iops(20_300)).silent("below-rate");
    let finding = asked(Throughput::BytesPerMs(104_858)).fires("below-rate");
    says(&finding, FindingGrade::Suspect, &["100 MiB/s", "78.1 MiB/s"]);
    asked(Throughput::BytesPerMs(81_920)).silent("below-rate");
    doc(|_| {}).silent("below-rate");
    asked(Throughput::Iops(0)).silent("below-rate");
    // Each thread has the rate for itself.
    let two = doc(|d| {
        d.asked.throughput = Some(Throughput::Iops(20_000));
        d.asked.threads_per_file = 2;
    });
    says(&two.fires("below-rate"), FindingGrade::Suspect, &["40,000 IOPS"]);
    // Of arrivals at random chance makes more or fewer.
    let drawn = |per_s: u64| {
        doc(|d| {
            d.asked.throughput = Some(Throughput::Iops(21_000));
            d.offered_per_s = Some(per_s);
        })
    };
    drawn(20_100).silent("below-rate");
    says(&drawn(21_100).fires("below-rate"), FindingGrade::Suspect, &["reached 20,000 IOPS"]);
    // The last I/O of a slow run fell behind its end.
    doc(|d| {
        (d.seconds, d.reads_per_s) = (10, 1);
        d.asked.throughput = Some(Throughput::Iops(1));
        d.refresh();
    })
    .silent("below-rate");
}

#[test]
fn a_thread_on_the_wrong_processor() {
    let bound = |waiting_percent: u64, cpu: Option<u32>| {
        doc(|d| {
            let processor = |cpu: u32| {
                serde_json::json!({"cpu": cpu, "group": 0, "number": cpu, "core": cpu, "physical_core": cpu, "socket": 0,
                    "node": 0, "efficiency_class": 0})
            };
            let topology = serde_json::json!({"processors": [processor(0), processor(1)], "nodes": 1, "sockets": 1, "groups": 1});
            d.document.system.topology = serde_json::from_value(topology).expect("a topology");
            let thread = &mut d.measured.evidence.threads[0];
            (thread.cpu, thread.waiting_for_cpu_ns) = (cpu, Some(thread.elapsed_ns * waiting_percent / 100));
        })
    };
    let finding = bound(4, Some(1)).fires("bound-away");
    says(
        &finding,
        FindingGrade::Remark,
        &[
            "Thread 0 was bound to processor 1 and waited for it 4 % of the time, while another processor was idle.",
        ],
    );
    bound(1, Some(1)).silent("bound-away");
    bound(4, None).silent("bound-away");
    doc(|d| d.measured.evidence.threads.clear()).missing("bound-away", "processor time");
}

#[test]
fn threads_on_cores_of_different_kinds() {
    let classes = |classes: [u32; 2]| {
        doc(|d| {
            let processors = [0, 1].map(|cpu: u32| {
                serde_json::json!({"cpu": cpu, "group": 0, "number": cpu, "core": cpu, "physical_core": cpu, "socket": 0,
                    "node": 0, "efficiency_class": classes[cpu as usize]})
            });
            let topology =
                serde_json::json!({"processors": processors, "nodes": 1, "sockets": 1, "groups": 1});
            d.document.system.topology = serde_json::from_value(topology).expect("a topology");
            let thread = d.measured.evidence.threads[0];
            d.measured.evidence.threads.push(ThreadCost { id: 1, cpu: Some(1), ..thread });
        })
    };
    says(
        &classes([1, 0]).fires("core-types"),
        FindingGrade::Remark,
        &[
            "1 of the threads ran on P-cores (20,000 IOPS each on average) and 1 on E-cores (0 IOPS each): rates and \
             latencies mix both.",
        ],
    );
    classes([1, 1]).silent("core-types");
    let mut unbound = classes([1, 0]);
    unbound.measured.evidence.threads[1].cpu = None;
    unbound.silent("core-types");
}

/// 20,000 reads per second, all of them 100 us from their issue; a part of them late by `late_ns`.
fn kept(parts_late: &[(f64, u64)]) -> Doc {
    doc(|d| {
        (d.seconds, d.latency) = (10, true);
        d.asked.throughput = Some(Throughput::Iops(20_000));
        d.late = Some(parts_late.to_vec());
        d.refresh();
    })
}

#[test]
fn stalls_that_latencies_hide() {
    let finding = kept(&[(0.03, 500_000_000)]).fires("coordinated-omission");
    says(
        &finding,
        FindingGrade::Suspect,
        &[
            "The p99 latency of reads is 100 us, but 500 ms from their intended start (-g): they waited for earlier \
             I/Os to end.",
        ],
    );
    assert_eq!(finding.figures.len(), 3);
    // Only in the tail's tail: a remark, on a machine so quiet that nothing else explains it.
    let mut tail = kept(&[(0.004, 500_000_000)]);
    tail.measured.evidence.threads[0].waiting_for_cpu_ns = Some(0);
    tail.host().steal_percent = Some(0.0);
    says(
        &tail.fires("coordinated-omission"),
        FindingGrade::Remark,
        &["The p99.9 latency of reads is 100 us", "500 ms"],
    );
    kept(&[(0.0005, 500_000_000)]).silent("coordinated-omission");
    // Everything in time; everything as late as a thread wakes up.
    kept(&[]).silent("coordinated-omission");
    kept(&[(1.0, 300_000)]).silent("coordinated-omission");
}

#[test]
fn late_for_another_reason_is_no_hidden_stall() {
    // A thread without a processor for 3 % of the time cannot have issued 3 % of the I/Os in time.
    let mut starved = kept(&[(0.03, 500_000_000)]);
    let thread = &mut starved.measured.evidence.threads[0];
    thread.waiting_for_cpu_ns = Some(thread.elapsed_ns * 3 / 100);
    starved.silent("coordinated-omission");
    // But not half of them.
    let mut both = kept(&[(0.6, 500_000_000)]);
    let thread = &mut both.measured.evidence.threads[0];
    thread.waiting_for_cpu_ns = Some(thread.elapsed_ns * 3 / 100);
    says(&both.fires("coordinated-omission"), FindingGrade::Suspect, &["The p90 latency of reads"]);
    let mut stolen = kept(&[(0.03, 500_000_000)]);
    stolen.host().steal_percent = Some(2.0);
    stolen.silent("coordinated-omission");
    // The program was stopped for half a second.
    let mut stopped = kept(&[(0.03, 500_000_000)]);
    stopped.late_ticks(&[(3000, 480)]);
    stopped.silent("coordinated-omission");
    // It took long to catch up: the cause is the same.
    let mut behind = kept(&[(0.6, 500_000_000)]);
    behind.late_ticks(&[(3000, 480)]);
    let finding = behind.fires("coordinated-omission");
    says(
        &finding,
        FindingGrade::Suspect,
        &["500 ms from their intended start (-g): they fell due while the program stood still"],
    );
    assert!(!finding.says.contains("earlier"), "{}", finding.says);
    // A stop of 0.15 s explains no half second.
    let mut both = kept(&[(0.3, 500_000_000)]);
    both.late_ticks(&[(3000, 150)]);
    says(
        &both.fires("coordinated-omission"),
        FindingGrade::Suspect,
        &["they waited for earlier I/Os to end"],
    );
    // The rate was not reached: that is told by another rule.
    let mut behind = kept(&[(0.5, 900_000_000)]);
    behind.asked.throughput = Some(Throughput::Iops(40_000));
    behind.silent("coordinated-omission");
    // No rate, or no latencies.
    let mut free = kept(&[]);
    (free.asked.throughput, free.late) = (None, None);
    free.silent("coordinated-omission");
    let mut unmeasured = kept(&[]);
    unmeasured.latency = false;
    unmeasured.silent("coordinated-omission");
    // A document from before response times were kept.
    let mut old = kept(&[]);
    old.late = None;
    old.missing("coordinated-omission", "response times");
}
