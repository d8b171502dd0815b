//! Totals over several time spans (`text-output.md` §12).

use super::shown;
use crate::render::tally::{Kind, Tally, measured};
use truespd_core::result::TimeSpanResult;

/// Sums over the time spans that were measured; 0 everywhere when none was.
pub(super) fn totals(out: &mut String, time_spans: &[TimeSpanResult]) {
    let time_s: f64 = time_spans.iter().filter_map(measured).map(|measured| measured.test_time_s).sum();
    let row = |label: &str, kind: Kind| {
        let tally = sum(time_spans, kind);
        let (mib_per_s, ios_per_s) = (shown(tally.mib_per_s(time_s)), shown(tally.ios_per_s(time_s)));
        format!("{label:<7}| {:15} | {:12} | {mib_per_s:10.2} | {ios_per_s:10.2}", tally.bytes, tally.ios)
    };
    line!(out);
    line!(out);
    line!(out, "Totals:");
    line!(out, "{:*<79}", "");
    line!(out);
    line!(out, "type   |       bytes     |     I/Os     |    MiB/s   |  I/O per s");
    line!(out, "{:-<79}", "");
    line!(out, "{}", row("write", Kind::Write));
    line!(out, "{}", row("read", Kind::Read));
    line!(out, "{:-<79}", "");
    line!(out, "{}", row("total", Kind::Total));
    line!(out);
    line!(out, "total test time:\t{:.2}s", shown(time_s));
}

/// Bytes and I/Os of a kind over all time spans.
fn sum(time_spans: &[TimeSpanResult], kind: Kind) -> Tally {
    let mut tally = Tally::default();
    let threads = time_spans.iter().filter_map(measured).flat_map(|measured| &measured.threads);
    threads.flat_map(|thread| &thread.targets).for_each(|target| tally.count(target, kind));
    tally
}
