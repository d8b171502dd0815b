//! Rules of sums, on sums of clean documents and others.

use super::*;
use truespd_core::result::merge::Merger;
use truespd_core::result::{ClockOffset, CommonStart, LostHow, LostRank, Rank};

const START_NS: u64 = 1_700_000_000 * NS_PER_S;

/// The result of one host, judged.
fn host(name: &str, change: impl FnOnce(&mut Doc)) -> Document {
    let mut document = doc(change).build();
    document.system.computer_name = name.to_string();
    document.verdict = Some(judge(&document));
    document
}

/// The same as a rank of a cluster run, whose clock is that of rank 0.
fn rank(number: u32, ranks: u32, change: impl FnOnce(&mut CommonStart)) -> Document {
    let clock = |at_s: u64| ClockOffset {
        ahead_ns: 0,
        uncertainty_ns: 50_000,
        at_unix_ns: START_NS + at_s * NS_PER_S,
    };
    let mut start = CommonStart {
        agreed_unix_ns: START_NS,
        late_ns: 1_000,
        clock_before: clock(0),
        clock_after: Some(clock(60)),
    };
    change(&mut start);
    let mut document = host(&format!("node-{number}"), |d| d.measured.evidence.common_start = Some(start));
    document.rank = Some(Rank { run: "r1".into(), rank: number, ranks, local: 0, lost: Vec::new() });
    document
}

fn sum(documents: impl IntoIterator<Item = Document>) -> Document {
    let mut merger = Merger::new(false);
    documents.into_iter().for_each(|document| merger.add("it", document).expect("the same test"));
    merger.finish().expect("a sum").document
}

fn see(documents: impl IntoIterator<Item = Document>) -> Verdict {
    let verdict = judge(&sum(documents));
    for finding in &verdict.findings {
        assert!(!finding.figures.is_empty(), "no figures: {finding:#?}");
    }
    verdict
}

fn cached(d: &mut Doc) {
    (d.disk().reads, d.disk().read_bytes) = (0, 0);
}

#[test]
fn a_sum_of_certified_results_is_certified() {
    let verdict = see([host("a", |_| {}), host("b", |_| {})]);
    assert_eq!((verdict.grade, verdict.findings.len()), (Grade::Certified, 0), "{verdict:#?}");
    silent(&verdict, "host-not-certified");
    // Rules that look at one run did not look, and miss nothing.
    assert!(verdict.unchecked.is_empty(), "{:#?}", verdict.unchecked);
    assert!(!verdict.rules.contains(&"served-from-cache".to_string()));
    assert!(verdict.rules.contains(&"host-apart".to_string()));
    let verdict = see((0..3).map(|number| rank(number, 3, |_| {})));
    assert_eq!((verdict.grade, verdict.findings.len()), (Grade::Certified, 0), "{verdict:#?}");
}

#[test]
fn one_cached_host_poisons_the_sum_by_name() {
    let verdict = see([host("a", |_| {}), host("b", cached), host("c", |_| {})]);
    assert_eq!(verdict.grade, Grade::Suspect);
    let finding = fires(&verdict, "host-not-certified");
    says(
        &finding,
        FindingGrade::Suspect,
        &["The result of host b is invalid: served-from-cache of 'test.dat': "],
    );
    // What mends the result of the host mends the sum.
    let of_host = judge(&host("b", cached));
    assert_eq!(finding.advice, of_host.findings[0].advice);
    assert_eq!(verdict.findings[0].rule, "host-not-certified");
}

#[test]
fn when_all_are_invalid_the_sum_is() {
    let verdict = see(["a", "b", "c"].map(|name| host(name, cached)));
    assert_eq!(verdict.grade, Grade::Invalid);
    let finding = fires(&verdict, "host-not-certified");
    says(
        &finding,
        FindingGrade::Invalid,
        &["The results of 3 of 3 hosts are invalid: a, b, c. Of a: served-from-cache"],
    );
    // Many hosts are named up to a few.
    let many = see((0..20).map(|n| host(&format!("h{n:02}"), cached)));
    says(&fires(&many, "host-not-certified"), FindingGrade::Invalid, &["h00, h01,", "h07 and 12 more."]);
}

#[test]
fn results_without_a_verdict_and_failed_ones_are_named() {
    let mut unjudged = host("b", |_| {});
    unjudged.verdict = None;
    let verdict = see([host("a", |_| {}), unjudged]);
    says(
        &fires(&verdict, "host-not-certified"),
        FindingGrade::Suspect,
        &["The result of host b is not judged"],
    );
    let failed = host("b", |d| d.document.failures = vec!["the disk is gone".to_string()]);
    let verdict = see([host("a", |_| {}), failed]);
    assert_eq!(verdict.grade, Grade::Suspect, "{:#?}", verdict.findings);
    says(
        &fires(&verdict, "host-not-certified"),
        FindingGrade::Suspect,
        &["host b is invalid: run-failed: The run failed: the disk is gone"],
    );
}

#[test]
fn of_many_findings_the_worst_are_kept_and_all_are_counted() {
    let mut b = host("b", cached);
    let verdict = b.verdict.as_mut().expect("judged");
    let one = verdict.findings[0].clone();
    assert_eq!(one.rule, "served-from-cache");
    let remark = Finding { grade: FindingGrade::Remark, ..one.clone() };
    verdict.findings = std::iter::repeat_n(one, 12).chain([remark]).collect();
    let sum = sum([host("a", |_| {}), b]);
    let kept = sum.sources[1].verdict.as_ref().expect("judged");
    assert_eq!((kept.findings.len(), kept.more), (8, 4));
    let verdict = judge(&sum);
    says(&fires(&verdict, "host-not-certified"), FindingGrade::Suspect, &["(and 11 more)"]);
}

#[test]
fn missing_ranks_are_named() {
    let mut zero = rank(0, 4, |_| {});
    let lost = LostRank {
        rank: 3,
        host: "node-3".to_string(),
        last_heard_unix_ns: START_NS,
        how: LostHow::Silent,
        failures: Vec::new(),
    };
    zero.rank.as_mut().expect("a rank").lost = vec![lost];
    let verdict = see([zero.clone(), rank(1, 4, |_| {})]);
    assert_eq!(verdict.grade, Grade::Suspect);
    let finding = fires(&verdict, "host-missing");
    let words =
        ["The sum is partial: 2 of 4 results are missing: rank 2 (no result was given), rank 3 on node-3 \
         (it fell silent)."];
    says(&finding, FindingGrade::Suspect, &words);
    let all = see((1..4).map(|number| rank(number, 4, |_| {})).chain([zero]));
    silent(&all, "host-missing");
    assert_eq!(all.grade, Grade::Certified, "what a lost rank left counts");
}

/// Lets the window of a host begin later, by milliseconds.
fn later(name: &str, by_ms: u64) -> Document {
    host(name, |d| {
        let window = d.measured.evidence.window.as_mut().expect("has one");
        window.start_unix_ns += by_ms * 1_000_000;
        window.end_unix_ns += by_ms * 1_000_000;
    })
}

#[test]
fn hosts_that_measured_at_other_times_are_told() {
    let together = |by_ms| see([later("a", 0), later("b", by_ms)]);
    silent(&together(0), "hosts-not-together");
    silent(&together(1_190), "hosts-not-together");
    says(
        &fires(&together(1_300), "hosts-not-together"),
        FindingGrade::Remark,
        &["together for 58.7 s", "b began 1.30 s after a."],
    );
    says(
        &fires(&together(3_100), "hosts-not-together"),
        FindingGrade::Suspect,
        &["together for 56.9 s", "5.2 % of its time"],
    );
    // Without a window nobody knows.
    let verdict = see([later("a", 0), host("b", |d| d.measured.evidence.window = None)]);
    assert!(verdict.unchecked.iter().any(|one| one.rule == "hosts-not-together"), "{verdict:#?}");
}

#[test]
fn windows_are_those_of_rank_0s_clock_and_doubt_counts() {
    // A clock that is 10 s ahead, and a window that says so.
    let ahead = |uncertainty_ns: u64| {
        let mut document = rank(1, 2, |start| {
            start.clock_before =
                ClockOffset { ahead_ns: 10 * NS_PER_S as i64, uncertainty_ns, ..start.clock_before };
            start.clock_after =
                Some(ClockOffset { at_unix_ns: START_NS + 60 * NS_PER_S, ..start.clock_before });
        });
        let TimeSpanResult::Measured(measured) = &mut document.time_spans[0] else { panic!("measured") };
        let window = measured.evidence.window.as_mut().expect("has one");
        window.start_unix_ns += 10 * NS_PER_S;
        window.end_unix_ns += 10 * NS_PER_S;
        document
    };
    assert_eq!(see([rank(0, 2, |_| {}), ahead(50_000)]).findings, []);
    let verdict = see([rank(0, 2, |_| {}), ahead(4 * NS_PER_S)]);
    says(
        &fires(&verdict, "hosts-not-together"),
        FindingGrade::Suspect,
        &["6.7 % of its time", "known to 4 s."],
    );
}

#[test]
fn clocks_that_moved_are_told() {
    let moved = |by_ns: i64| {
        let set =
            |start: &mut CommonStart| start.clock_after.as_mut().expect("compared twice").ahead_ns += by_ns;
        see([rank(0, 2, |_| {}), rank(1, 2, set)])
    };
    // 60 s at 100 and at 1,000 parts per million, and what the comparison leaves open.
    silent(&moved(6_050_000), "host-clock");
    says(
        &fires(&moved(6_150_000), "host-clock"),
        FindingGrade::Remark,
        &["The clock of host node-1 moved by 6.15 ms"],
    );
    says(
        &fires(&moved(-61_000_000), "host-clock"),
        FindingGrade::Suspect,
        &["moved by 61 ms", "parts per million"],
    );
    let verdict = see([rank(0, 2, |_| {}), rank(1, 2, |start| start.clock_after = None)]);
    assert!(verdict.unchecked.iter().any(|one| one.rule == "host-clock" && one.why.contains("node-1")));
}

#[test]
fn hosts_far_off_the_others_are_told() {
    let rates = |rates: &[u64]| {
        let hosts = rates.iter().enumerate().map(|(place, &per_s)| {
            host(&format!("h{place}"), |d| {
                d.reads_per_s = per_s;
                d.refresh();
            })
        });
        see(hosts)
    };
    silent(&rates(&[20_000, 20_100, 19_900, 18_200]), "host-apart");
    let finding = fires(&rates(&[20_000, 20_100, 19_900, 15_000]), "host-apart");
    says(
        &finding,
        FindingGrade::Remark,
        &["1 of 4 hosts is far from the others: h3 (15,000 IOPS, 75.2 % of the median)."],
    );
    let finding = fires(&rates(&[20_000, 20_100, 19_900, 9_000]), "host-apart");
    says(&finding, FindingGrade::Suspect, &["h3 (9,000 IOPS, 45.1 % of the median)"]);
    // Two hosts: which is the usual one?
    assert_eq!(rates(&[20_000, 2_000]).findings, []);
    let few = rates(&[1, 1, 9]);
    assert!(
        few.unchecked.iter().any(|one| one.rule == "host-apart" && one.why.contains("too few")),
        "{few:#?}"
    );
}
