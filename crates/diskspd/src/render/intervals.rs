//! The course of a run as comma-separated values: one row per time span, interval and target.
//!
//! The series of `-D` where they were gathered. Otherwise those that every document has, which count the I/Os
//! of all targets together: then the target is named only where there is one. Units are in the header;
//! latencies are empty where none was measured.

use std::fmt::Write;

use super::csv::quoted;
use super::tally::{Kind, Tally, measured};
use truespd_core::measure::Intervals;
use truespd_core::measure::intervals::Interval;
use truespd_core::profile::TimeSpan;
use truespd_core::result::{Document, Measured, Timeline};

const HEADER: &str = "time_span,interval,start_s,end_s,target,\
read_ios,read_iops,read_latency_mean_ns,read_latency_min_ns,read_latency_max_ns,\
write_ios,write_iops,write_latency_mean_ns,write_latency_min_ns,write_latency_max_ns\n";

/// The whole document; time spans without measurement have no rows.
pub fn intervals(document: &Document) -> String {
    let mut out = HEADER.to_string();
    for (index, (span, result)) in document.profile.time_spans.iter().zip(&document.time_spans).enumerate() {
        let Some(measured) = measured(result) else { continue };
        if span.calculate_iops_std_dev {
            of_targets(&mut out, index + 1, span, measured)
        } else {
            of_all(&mut out, index + 1, measured)
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
    fn of(index: usize, interval_ns: u64, test_time_s: f64) -> Self {
        let at = |count: usize| (count as f64 * interval_ns as f64 / 1e9).min(test_time_s);
        Part { index, start_s: at(index), end_s: at(index + 1) }
    }

    fn rate(&self, ios: u64) -> f64 {
        let length_s = self.end_s - self.start_s;
        if length_s > 0.0 { ios as f64 / length_s } else { 0.0 }
    }

    fn begin_row(&self, out: &mut String, time_span: usize, target: &str) {
        let Part { index, start_s, end_s } = self;
        let target = quoted(target);
        // Writing to a string cannot fail.
        let _ = write!(out, "{time_span},{},{start_s:.3},{end_s:.3},{target}", index + 1);
    }

    /// Reads or writes of the interval; latencies only `with_latency`.
    fn push(&self, out: &mut String, interval: &Interval, with_latency: bool) {
        let _ = write!(out, ",{},{:.3}", interval.count, self.rate(interval.count));
        if with_latency && interval.count > 0 {
            let mean_ns = interval.latency_mean_ns();
            let _ = write!(out, ",{mean_ns:.1},{},{}", interval.min_ns, interval.max_ns);
        } else {
            out.push_str(",,,")
        }
    }
}

/// The series of `-D`, summed over the threads of each target.
fn of_targets(out: &mut String, time_span: usize, span: &TimeSpan, measured: &Measured) {
    let mut paths: Vec<&str> = Vec::new();
    for target in measured.threads.iter().flat_map(|thread| &thread.targets) {
        if !paths.contains(&target.path.as_str()) {
            paths.push(&target.path);
        }
    }
    let series = |path: &str, kind| Tally::of_targets(measured, kind, |target| target.path == path);
    let of_paths: Vec<_> =
        paths.iter().map(|path| (*path, series(path, Kind::Read), series(path, Kind::Write))).collect();
    let all = || of_paths.iter().flat_map(|(_, read, write)| [read, write]).filter_map(Tally::intervals);
    let Some(interval_ns) = all().map(Intervals::interval_ns).next() else { return };
    for index in 0..all().map(Intervals::valid).max().unwrap_or(0) {
        let part = Part::of(index, interval_ns, measured.test_time_s);
        for (path, read, write) in &of_paths {
            part.begin_row(out, time_span, path);
            for tally in [read, write] {
                let interval = tally.intervals().and_then(|series| series.series().get(index).copied());
                part.push(out, &interval.unwrap_or_default(), span.measure_latency);
            }
            out.push('\n');
        }
    }
}

/// The counts that every run has.
fn of_all(out: &mut String, time_span: usize, measured: &Measured) {
    let Some(Timeline { interval_ns, reads, writes }) = &measured.evidence.series else { return };
    let mut paths = measured.threads.iter().flat_map(|thread| &thread.targets).map(|target| &target.path);
    let first = paths.next().map_or("", String::as_str);
    let target = if paths.all(|path| path == first) { first } else { "" };
    for index in 0..reads.len().max(writes.len()) {
        let part = Part::of(index, *interval_ns, measured.test_time_s);
        part.begin_row(out, time_span, target);
        for counts in [reads, writes] {
            let count = counts.get(index).copied().unwrap_or(0);
            part.push(out, &Interval { count, ..Interval::default() }, false);
        }
        out.push('\n');
    }
}
