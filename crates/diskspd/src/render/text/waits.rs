//! How the threads waited, with `-vs` (`text-output.md` §11.2).

use truespd_core::result::{ThreadResult, WaitStatistics};

/// One row per thread, or one for all of them.
pub(super) fn table(out: &mut String, threads: &[ThreadResult], is_folded: bool) {
    line!(out);
    line!(out, "Wait Statistics");
    line!(
        out,
        "thread | completion wait | throttle wait  -  sleep | lookaside | 0 - 7+ complete per lookaside"
    );
    line!(out, "{:-<95}", "");
    if is_folded {
        let mut all = WaitStatistics::default();
        threads.iter().for_each(|thread| all.add(&thread.waits));
        return row(out, "all", &all);
    }
    threads.iter().for_each(|thread| row(out, &thread.id.to_string(), &thread.waits));
}

fn row(out: &mut String, thread: &str, waits: &WaitStatistics) {
    let found = waits.lookaside_completions.map(|count| count.to_string()).join(" ");
    line!(
        out,
        "{thread:>6} | {:15} | {:13}  - {:6} | {:9} | {found}",
        waits.completion_waits,
        waits.throttle_waits,
        waits.throttle_sleeps,
        waits.lookasides
    );
}
