use super::*;
use truespd_core::result::{FineSeries, LateTick};

const MS: u64 = 1_000_000;

/// 10 s at 20,000 reads/s, in tenths of a second, and nothing in those that `stopped` covers (in milliseconds).
fn run(late: &[(u64, u64)]) -> Doc {
    doc(|d| {
        d.seconds = 10;
        d.refresh();
        d.late_ticks(late);
        let is_stopped =
            |tenth: u64| late.iter().any(|&(due, ms)| tenth * 100 >= due && (tenth + 1) * 100 <= due + ms);
        let completed = (0..100).map(|tenth| if is_stopped(tenth) { 0 } else { 2000 }).collect();
        d.measured.evidence.fine_series = Some(FineSeries { interval_ns: 100 * MS, completed });
    })
}

#[test]
fn a_program_that_was_stopped_while_it_measured() {
    let finding = run(&[(4225, 300)]).fires("standstill");
    says(
        &finding,
        FindingGrade::Suspect,
        &[
            "The whole program stood still for 0.30 s, 3 % of the measured 10 s (from 4.22 s on): \
             something stopped it, or the machine.",
            "over the time that ran the rate was 20,619 IOPS, not 20,000.",
        ],
    );
    let figures: Vec<_> = finding.figures.iter().map(|f| (f.name.as_str(), f.value)).collect();
    assert_eq!(figures[..3], [("standstill_s", 0.3), ("standstills", 1.0), ("longest_s", 0.3)]);
    // At the start, and at the end.
    says(&run(&[(25, 300)]).fires("standstill"), FindingGrade::Suspect, &["(from 0.03 s on)"]);
    says(&run(&[(9750, 250)]).fires("standstill"), FindingGrade::Suspect, &["(from 9.75 s on)"]);
    let finding = run(&[(1000, 120), (3000, 240), (5000, 110)]).fires("standstill");
    says(&finding, FindingGrade::Suspect, &["for 0.47 s, ", "(3 times, the longest 0.24 s from 3 s on)"]);
    let verdict = judge(&run(&[(4225, 300)]).build());
    assert_eq!(verdict.findings[0].rule, "standstill", "it leads");
}

#[test]
fn a_short_gap_is_a_remark_and_less_is_nothing() {
    let mut long = run(&[(4225, 120)]);
    long.seconds = 60;
    says(&long.fires("standstill"), FindingGrade::Remark, &["for 0.12 s"]);
    run(&[(4225, 95)]).silent("standstill");
    run(&[]).silent("standstill");
    doc(|d| d.measured.evidence.ticks = None).missing("standstill", "whether the program ran all the time");
}

#[test]
fn a_late_look_alone_is_no_standstill() {
    // It was ready to run, and had no processor.
    let mut busy = run(&[(4225, 300)]);
    let ticks = busy.measured.evidence.ticks.as_mut().expect("ticks");
    ticks.late[0].waiting_for_cpu_ns = Some(200 * MS);
    busy.silent("standstill");
    // The threads of the test went on.
    let mut alone = run(&[(4225, 300)]);
    let fine = alone.measured.evidence.fine_series.as_mut().expect("a series");
    fine.completed = vec![2000; 100];
    alone.silent("standstill");
    // A disk so slow that nothing can be missed.
    let mut slow = run(&[(4225, 300)]);
    let fine = slow.measured.evidence.fine_series.as_mut().expect("a series");
    fine.completed = vec![1; 100];
    slow.fires("standstill");
    let late = LateTick { due_ns: u64::MAX, late_ns: u64::MAX, waiting_for_cpu_ns: Some(u64::MAX) };
    doc(|d| d.measured.evidence.ticks.as_mut().expect("ticks").late = vec![late]).silent("standstill");
}

#[test]
fn a_program_that_stood_still() {
    let stopped = |late_ms: u64, elapsed_ms: u64| {
        doc(|d| {
            let end_ns = SECONDS * NS_PER_S;
            d.measured.evidence.disks[0].window_ns = end_ns + late_ms * 1_000_000;
            // Behind a warm-up of 5 s.
            let elapsed_ns = 5 * NS_PER_S + end_ns + elapsed_ms * 1_000_000;
            d.measured.evidence.threads.iter_mut().for_each(|thread| thread.elapsed_ns = elapsed_ns);
        })
    };
    let finding = stopped(9_000, 9_000).fires("standstill");
    says(
        &finding,
        FindingGrade::Suspect,
        &["The whole program was stopped at the end of the measured 60 s and noticed the end 9 s late: "],
    );
    stopped(9_000, 5_000).fires("standstill");
    stopped(5_000, 5_000).silent("standstill");
    // Threads that ended in time did not stand still, nor those whose cool-down held them.
    stopped(9_000, 0).silent("standstill");
    let cooling = |elapsed_ms| Doc { cooldown_s: 6, ..stopped(9_000, elapsed_ms) };
    cooling(6_000).silent("standstill");
    cooling(9_000).fires("standstill");
}
