//! Total IO, Read IO, Write IO (`text-output.md` §9).

use super::{OneLine, shown};
use crate::profile::{Size, TimeSpan};
use crate::render::tally::{Kind, Tally};
use crate::result::Measured;

/// The three tables, always all three.
pub(super) fn tables(out: &mut String, span: &TimeSpan, measured: &Measured) {
    for (title, kind) in [("Total IO", Kind::Total), ("Read IO", Kind::Read), ("Write IO", Kind::Write)] {
        line!(out);
        line!(out, "{title}");
        table(out, kind, span, measured);
    }
}

/// Header, a row per thread and target, and the sum.
fn table(out: &mut String, kind: Kind, span: &TimeSpan, measured: &Measured) {
    let header = header(span);
    let border = "-".repeat(header.border);
    line!(out, "{}", header.text);
    line!(out, "{border}");
    let mut total = Tally::default();
    for thread in &measured.threads {
        for target in &thread.targets {
            let row = Tally::of_target(target, kind);
            let cells = cells(&row, span, measured.test_time_s);
            line!(out, "{:6} | {cells} | {} ({})", thread.id, OneLine(&target.path), Size(target.size_bytes));
            total.add(target, kind);
        }
    }
    line!(out, "{border}");
    line!(out, "total:   {}", cells(&total, span, measured.test_time_s));
}

struct Header {
    text: String,
    /// Number of dashes; not the length of the text.
    border: usize,
}

fn header(span: &TimeSpan) -> Header {
    let pieces = [
        ("thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s ", 66, true),
        ("|  AvgLat  ", 11, span.measure_latency),
        ("| IopsStdDev ", 13, span.calculate_iops_std_dev),
        ("| LatStdDev ", 12, span.measure_latency),
        ("|  file", 12, true),
    ];
    let shown = pieces.into_iter().filter(|&(_, _, shown)| shown);
    let mut header = Header { text: String::new(), border: 0 };
    for (text, dashes, _) in shown {
        header.text.push_str(text);
        header.border += dashes;
    }
    header
}

/// The figures of a row, without what stands before and after them. Cells grow; nothing is cut.
fn cells(tally: &Tally, span: &TimeSpan, time_s: f64) -> String {
    let (mib_per_s, ios_per_s) = (shown(tally.mib_per_s(time_s)), shown(tally.ios_per_s(time_s)));
    let mut cells = format!("{:15} | {:12} | {mib_per_s:10.2} | {ios_per_s:10.2}", tally.bytes, tally.ios);
    if span.measure_latency {
        cells += &format!(" | {:8.3}", shown(tally.latency_mean_ms()));
    }
    if span.calculate_iops_std_dev {
        cells += &format!(" | {:10.2}", shown(tally.iops_std_dev()));
    }
    if span.measure_latency {
        cells += &match tally.latency() {
            Some(latency) => format!(" |  {:8.3}", shown(latency.std_dev_ns() / 1e6)),
            None => " |       N/A".to_string(),
        };
    }
    cells
}
