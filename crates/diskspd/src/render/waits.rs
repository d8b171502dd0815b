//! How threads handed I/Os over and waited: the ring of 2.3, and the tables of `-vs` (`text-output.md` §11.2,
//! `release-2.3.md` §5.4).

use super::figures::{line, rate, shown};
use truespd_core::profile::{Release, TimeSpan};
use truespd_core::result::{Measured, ThreadResult, WaitStatistics};

/// A row for each thread, or one for all of them.
fn rows(threads: &[ThreadResult], is_folded: bool) -> Vec<(String, WaitStatistics)> {
    if !is_folded {
        return threads.iter().map(|thread| (thread.id.to_string(), thread.waits)).collect();
    }
    let mut all = WaitStatistics::default();
    threads.iter().for_each(|thread| all.add(&thread.waits));
    vec![("all".to_string(), all)]
}

fn counts(completions: [u64; 8]) -> String {
    completions.map(|count| count.to_string()).join(" ")
}

/// How often the threads called the ring; nothing where no document tells.
pub(super) fn ring(out: &mut String, measured: &Measured, is_folded: bool) {
    let rows = rows(&measured.threads, is_folded);
    if rows.iter().all(|(_, waits)| waits.submits.is_none()) {
        return;
    }
    line!(out);
    line!(out);
    line!(out, "IoRing Statistics");
    line!(out, "thread |  Submits/s ");
    line!(out, "{:-<20}", "");
    let mut total = 0;
    for (thread, waits) in rows {
        let submits = waits.submits.unwrap_or(0);
        total += submits;
        line!(out, "{thread:>6} | {:11.2}", shown(rate(submits as f64, measured.test_time_s)));
    }
    line!(out, "{:-<20}", "");
    line!(out, "total: | {:11.2}", shown(rate(total as f64, measured.test_time_s)));
}

/// How the threads waited, with `-vs`.
pub(super) fn waits(
    out: &mut String,
    release: Release,
    span: &TimeSpan,
    threads: &[ThreadResult],
    is_folded: bool,
) {
    let rows = rows(threads, is_folded);
    match release {
        Release::V2_2 => waits_of_2_2(out, &rows),
        Release::V2_3 => {
            completion_waits(out, &rows);
            if span.measure_latency || span.calculate_iops_std_dev {
                lookasides(out, &rows);
            }
        }
    }
}

fn waits_of_2_2(out: &mut String, rows: &[(String, WaitStatistics)]) {
    line!(out);
    line!(out, "Wait Statistics");
    line!(
        out,
        "thread | completion wait | throttle wait  -  sleep | lookaside | 0 - 7+ complete per lookaside"
    );
    line!(out, "{:-<95}", "");
    for (thread, waits) in rows {
        line!(
            out,
            "{thread:>6} | {:15} | {:13}  - {:6} | {:9} | {}",
            waits.completion_waits,
            waits.throttle_waits,
            waits.throttle_sleeps,
            waits.lookasides,
            counts(waits.lookaside_completions)
        );
    }
}

fn is_throttled(waits: &WaitStatistics) -> bool {
    waits.throttle_waits > 0 || waits.throttle_sleeps > 0
}

/// Throttling has a column where a thread was throttled.
fn completion_waits(out: &mut String, rows: &[(String, WaitStatistics)]) {
    let has_throttled = rows.iter().any(|(_, waits)| is_throttled(waits));
    let (column, dashes) = if has_throttled { (" throttle wait  -  sleep |", 74) } else { ("", 48) };
    line!(out);
    line!(out, "Wait Statistics - Completion Wait");
    line!(out, "thread |         wait |{column} 0 - 7+ complete per wait");
    line!(out, "{:-<dashes$}", "");
    for (thread, waits) in rows {
        let throttled = if !has_throttled {
            String::new()
        } else if is_throttled(waits) {
            format!(" {:13}  - {:6} |", waits.throttle_waits, waits.throttle_sleeps)
        } else {
            "               ---       |".to_string()
        };
        let found = counts(waits.wait_completions.unwrap_or_default());
        line!(out, "{thread:>6} | {:12} |{throttled} {found}", waits.completion_waits);
    }
}

fn lookasides(out: &mut String, rows: &[(String, WaitStatistics)]) {
    line!(out);
    line!(out, "Wait Statistics - Lookaside");
    line!(out, "thread |    lookaside | 0 - 7+ complete per lookaside");
    line!(out, "{:-<53}", "");
    for (thread, waits) in rows {
        line!(out, "{thread:>6} | {:12} | {}", waits.lookasides, counts(waits.lookaside_completions));
    }
}
