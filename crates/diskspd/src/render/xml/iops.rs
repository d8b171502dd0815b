//! I/Os per second and interval (`xml.md` §2.6).

use super::{Fixed, milliseconds};
use crate::render::tally::{Kind, Tally};
use truespd_core::measure::Intervals;
use truespd_core::measure::intervals::Interval;
use truespd_core::profile::xml::Writer;
use truespd_core::result::{Measured, TargetResult};

/// Over all threads and targets.
pub(super) fn of_time_span(out: &mut Writer, measured: &Measured) {
    let [read, write, total] =
        [Kind::Read, Kind::Write, Kind::Total].map(|kind| Tally::of_targets(measured, kind, |_| true));
    iops(out, read.intervals(), write.intervals(), total.intervals());
}

/// Of one thread on one target.
pub(super) fn of_target(out: &mut Writer, target: &TargetResult) {
    let total = Tally::of_target(target, Kind::Total);
    iops(out, target.read.intervals.as_ref(), target.write.intervals.as_ref(), total.intervals());
}

fn iops(out: &mut Writer, read: Option<&Intervals>, write: Option<&Intervals>, total: Option<&Intervals>) {
    out.open("Iops", &[]);
    for (name, series) in [("ReadIopsStdDev", read), ("WriteIopsStdDev", write), ("IopsStdDev", total)] {
        if let Some(series) = series.filter(|series| series.valid() > 0) {
            out.leaf(name, Fixed(series.iops_std_dev(), 3));
        }
    }
    if let Some(total) = total {
        for index in 0..total.valid() {
            bucket(out, total.interval_ns(), index, at(read, index), at(write, index));
        }
    }
    out.close("Iops");
}

/// An interval of a series; empty past its end.
fn at(series: Option<&Intervals>, index: usize) -> Interval {
    let valid = series.map_or(&[][..], |series| series.series().get(..series.valid()).unwrap_or(&[]));
    valid.get(index).copied().unwrap_or_default()
}

fn bucket(out: &mut Writer, interval_ns: u64, index: usize, read: Interval, write: Interval) {
    let interval_s = interval_ns as f64 / 1e9;
    let rate = |count: u64| Fixed(count as f64 / interval_s, 0);
    let end_ms = (index as u64 + 1).saturating_mul(interval_ns) / 1_000_000;
    let [read_latency, write_latency] = [read, write].map(|interval| {
        [
            interval.min_ns as f64,
            interval.max_ns as f64,
            interval.latency_mean_ns(),
            interval.latency_std_dev_ns(),
        ]
        .map(milliseconds)
    });
    out.empty(
        "Bucket",
        &[
            ("SampleMillisecond", &end_ms),
            ("Read", &rate(read.count)),
            ("Write", &rate(write.count)),
            ("Total", &rate(read.count + write.count)),
            ("ReadMinLatencyMilliseconds", &read_latency[0]),
            ("ReadMaxLatencyMilliseconds", &read_latency[1]),
            ("ReadAvgLatencyMilliseconds", &read_latency[2]),
            ("ReadLatencyStdDev", &read_latency[3]),
            ("WriteMinLatencyMilliseconds", &write_latency[0]),
            ("WriteMaxLatencyMilliseconds", &write_latency[1]),
            ("WriteAvgLatencyMilliseconds", &write_latency[2]),
            ("WriteLatencyStdDev", &write_latency[3]),
        ],
    );
}
