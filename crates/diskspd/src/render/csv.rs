//! The result as comma-separated values: a table of its threads and targets, and a table of its course.
//!
//! Units are in the header. Numbers have a point and no separators; text is quoted as RFC 4180 says, and text that
//! a spreadsheet would run as a formula begins with an apostrophe.
//! Latencies are empty where none was measured.

use std::fmt::Write;

use super::figures::{measured, rate};
use truespd_core::measure::intervals::Interval;
use truespd_core::profile::TimeSpan;
use truespd_core::result::{
    Direction, DirectionSummary, Document, Measured, Operations, TimeSpanResult, Timeline,
};
use truespd_platform::text::printable;

const HEADER: &str = "time_span,thread,target,direction,test_time_s,bytes,ios,bytes_per_s,iops,\
latency_mean_ns,latency_std_dev_ns,latency_min_ns,latency_p50_ns,latency_p90_ns,latency_p95_ns,\
latency_p99_ns,latency_p99_9_ns,latency_p99_99_ns,latency_p99_999_ns,latency_max_ns\n";

/// One row per time span, thread, target and direction, no totals. Time spans without measurement have no rows.
pub fn csv(document: &Document) -> String {
    let mut out = HEADER.to_string();
    for (i, span) in document.time_spans.iter().enumerate() {
        let TimeSpanResult::Measured(measured) = span else { continue };
        for thread in &measured.threads {
            for target in &thread.targets {
                for (name, direction) in [("read", &target.read), ("write", &target.write)] {
                    let path = quoted(&target.path);
                    let _ = write!(out, "{},{},{path},{name},", i + 1, thread.id);
                    numbers(&mut out, direction, measured.test_time_s);
                }
            }
        }
    }
    out
}

fn numbers(out: &mut String, direction: &Direction, test_time_s: f64) {
    let sum = DirectionSummary::of(direction, test_time_s);
    // Writing to a string cannot fail.
    let _ = write!(out, "{test_time_s:.6},{},{},{:.3},{:.3}", sum.bytes, sum.ios, sum.bytes_per_s, sum.iops);
    match sum.latency {
        Some(l) => {
            let _ = write!(out, ",{:.1},{:.1}", l.mean_ns, l.std_dev_ns);
            let percentiles = [l.p50_ns, l.p90_ns, l.p95_ns, l.p99_ns, l.p99_9_ns, l.p99_99_ns, l.p99_999_ns];
            for ns in [l.min_ns].into_iter().chain(percentiles).chain([l.max_ns]) {
                let _ = write!(out, ",{ns}");
            }
        }
        None => out.push_str(&",".repeat(11)),
    }
    out.push('\n');
}

const INTERVALS_HEADER: &str = "time_span,interval,start_s,end_s,target,\
read_ios,read_iops,read_latency_mean_ns,read_latency_min_ns,read_latency_max_ns,\
write_ios,write_iops,write_latency_mean_ns,write_latency_min_ns,write_latency_max_ns\n";

/// The course of a run: one row per time span, interval and target.
///
/// The series of `-D` where they were gathered. Otherwise those that every document has, which count the I/Os
/// of all targets together: then the target is named only where there is one.
pub fn intervals(document: &Document) -> String {
    let mut out = INTERVALS_HEADER.to_string();
    for (index, (span, result)) in document.profile.time_spans.iter().zip(&document.time_spans).enumerate() {
        let Some(measured) = measured(result) else { continue };
        if span.calculate_iops_std_dev {
            intervals_of_targets(&mut out, index + 1, span, measured)
        } else {
            intervals_of_run(&mut out, index + 1, measured)
        }
    }
    out
}

/// One interval of a series, and how long it really was.
struct Part {
    index: usize,
    start_s: f64,
    end_s: f64,
}

impl Part {
    fn new(index: usize, interval_ns: u64, test_time_s: f64) -> Self {
        let [start_s, end_s] =
            [index, index + 1].map(|count: usize| (count as f64 * interval_ns as f64 / 1e9).min(test_time_s));
        Part { index, start_s, end_s }
    }

    fn begin_row(&self, out: &mut String, time_span: usize, target: &str) {
        let Part { index, start_s, end_s } = self;
        let target = quoted(target);
        let _ = write!(out, "{time_span},{},{start_s:.3},{end_s:.3},{target}", index + 1);
    }

    /// Reads or writes of the interval; latencies only `with_latency`.
    fn push(&self, out: &mut String, interval: &Interval, with_latency: bool) {
        let iops = rate(interval.count as f64, self.end_s - self.start_s);
        let _ = write!(out, ",{},{iops:.3}", interval.count);
        if with_latency && interval.count > 0 {
            let mean_ns = interval.latency_mean_ns();
            let _ = write!(out, ",{mean_ns:.1},{},{}", interval.min_ns, interval.max_ns);
        } else {
            out.push_str(",,,")
        }
    }
}

/// The series of `-D`, summed over the threads of each target.
fn intervals_of_targets(out: &mut String, time_span: usize, span: &TimeSpan, measured: &Measured) {
    let mut sums = Vec::new();
    let (mut interval_ns, mut count) = (None, 0);
    for path in measured.paths() {
        let directions = [Operations::Reads, Operations::Writes]
            .map(|operations| measured.sum(operations, |target| target.path == path));
        for series in directions.iter().filter_map(|direction| direction.intervals.as_ref()) {
            interval_ns.get_or_insert(series.interval_ns());
            count = series.valid().max(count);
        }
        sums.push((path, directions));
    }
    let Some(interval_ns) = interval_ns else { return };
    for index in 0..count {
        let part = Part::new(index, interval_ns, measured.test_time_s);
        for (path, directions) in &sums {
            part.begin_row(out, time_span, path);
            for direction in directions {
                let series = direction.intervals.as_ref();
                let interval = series.and_then(|series| series.series().get(index)).copied();
                part.push(out, &interval.unwrap_or_default(), span.measure_latency);
            }
            out.push('\n');
        }
    }
}

/// The counts that every run has.
fn intervals_of_run(out: &mut String, time_span: usize, measured: &Measured) {
    let Some(Timeline { interval_ns, reads, writes }) = &measured.evidence.series else { return };
    let paths = measured.paths();
    let target = if let [only] = paths.as_slice() { only } else { "" };
    for index in 0..reads.len().max(writes.len()) {
        let part = Part::new(index, *interval_ns, measured.test_time_s);
        part.begin_row(out, time_span, target);
        for counts in [reads, writes] {
            let count = counts.get(index).copied().unwrap_or(0);
            part.push(out, &Interval { count, ..Interval::default() }, false);
        }
        out.push('\n');
    }
}

/// A text as a cell. Spreadsheets run what begins like a formula, so that gets an apostrophe in front, which
/// they take for "this is text"; control characters are escaped.
fn quoted(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = format!("{}{}", if is_formula { "'" } else { "" }, printable(text));
    if text.contains([',', '"', ';']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_quoted_where_it_must_be() {
        assert_eq!(quoted("/mnt/a b"), "/mnt/a b");
        assert_eq!(quoted("a,\"b\""), "\"a,\"\"b\"\"\"");
        // Where a comma is the decimal point, spreadsheets cut at semicolons.
        assert_eq!(quoted("a;b"), "\"a;b\"");
    }

    #[test]
    fn no_text_is_a_formula_or_acts_on_a_terminal() {
        for text in ["=1+1", "+1", "-1", "@SUM(A1)", "=HYPERLINK(\"x\",\"y\")"] {
            assert!(quoted(text).trim_start_matches('"').starts_with('\''), "{}", quoted(text));
        }
        assert_eq!(quoted("\t=1"), "'\\t=1");
        assert_eq!(quoted("a\u{1b}[2J\n\u{202e}b"), "a\\u{1b}[2J\\n\\u{202e}b");
    }
}
