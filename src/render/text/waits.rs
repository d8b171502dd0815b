//! How the threads waited, with `-vs` (`text-output.md` §11.2).

use crate::result::ThreadResult;

/// One row per thread.
pub(super) fn table(out: &mut String, threads: &[ThreadResult]) {
    line!(out);
    line!(out, "Wait Statistics");
    line!(
        out,
        "thread | completion wait | throttle wait  -  sleep | lookaside | 0 - 7+ complete per lookaside"
    );
    line!(out, "{:-<95}", "");
    for thread in threads {
        let waits = &thread.waits;
        let found = waits.lookaside_completions.map(|count| count.to_string()).join(" ");
        line!(
            out,
            "{:6} | {:15} | {:13}  - {:6} | {:9} | {found}",
            thread.id,
            waits.completion_waits,
            waits.throttle_waits,
            waits.throttle_sleeps,
            waits.lookasides
        );
    }
}
