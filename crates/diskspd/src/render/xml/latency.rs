//! Latency over all threads and targets of a time span (`xml.md` §2.5), and the pairs of one target (`xml.md` §2.7).

use std::sync::LazyLock;

use super::milliseconds;
use crate::render::tally::{Kind, Tally};
use truespd_core::measure::Histogram;
use truespd_core::profile::xml::Writer;
use truespd_core::result::{Measured, TargetResult};

/// Percentiles as written, and as shares. Consumers find them by name and by position: number p of the
/// list is percentile p up to 99.
static PERCENTILES: LazyLock<Vec<(String, f64)>> = LazyLock::new(|| {
    let whole = (0..=99).map(|percent| (percent.to_string(), f64::from(percent) / 100.0));
    let nines = [
        ("99.9", 0.999),
        ("99.99", 0.9999),
        ("99.999", 0.99999),
        ("99.9999", 0.999999),
        ("99.99999", 0.9999999),
        ("99.999999", 0.99999999),
        ("99.9999999", 0.999999999),
        ("100", 1.0),
    ];
    whole.chain(nines.map(|(name, share)| (name.to_string(), share))).collect()
});

/// Reads, writes and both, with the names of their elements.
struct Column {
    tally: Tally,
    mean: &'static str,
    std_dev: &'static str,
    bucket: &'static str,
}

pub(super) fn summary(out: &mut Writer, measured: &Measured) {
    let column = |kind, mean, std_dev, bucket| Column {
        tally: Tally::of_targets(measured, kind, |_| true),
        mean,
        std_dev,
        bucket,
    };
    let columns = [
        column(Kind::Read, "AverageReadMilliseconds", "ReadLatencyStdev", "ReadMilliseconds"),
        column(Kind::Write, "AverageWriteMilliseconds", "WriteLatencyStdev", "WriteMilliseconds"),
        column(Kind::Total, "AverageTotalMilliseconds", "LatencyStdev", "TotalMilliseconds"),
    ];
    let [read, write, total] =
        [0, 1, 2].map(|i: usize| columns[i].tally.latency().map_or(0, Histogram::buckets_used));
    out.open(
        "Latency",
        &[("ReadHistoBuckets", &read), ("WriteHistoBuckets", &write), ("TotalHistoBuckets", &total)],
    );
    for column in &columns {
        pair(out, column.tally.latency(), column.mean, column.std_dev);
    }
    for (name, share) in PERCENTILES.iter() {
        out.open("Bucket", &[]);
        out.leaf("Percentile", name);
        for column in &columns {
            if let Some(latency) = column.tally.latency() {
                out.leaf(column.bucket, milliseconds(percentile_ns(latency, *share) as f64));
            }
        }
        out.close("Bucket");
    }
    out.close("Latency");
}

fn percentile_ns(latency: &Histogram, share: f64) -> u64 {
    match share {
        0.0 => latency.min_ns(),
        1.0 => latency.max_ns(),
        _ => latency.percentile_ns(share),
    }
}

/// Mean and deviation of the reads and of the writes of one thread on one target. 2.2 has none over both.
pub(super) fn of_target(out: &mut Writer, target: &TargetResult) {
    let (read, write) = (target.read.latency.as_deref(), target.write.latency.as_deref());
    pair(out, read, "AverageReadLatencyMilliseconds", "ReadLatencyStdev");
    pair(out, write, "AverageWriteLatencyMilliseconds", "WriteLatencyStdev");
}

/// Mean and deviation, when there was an I/O.
fn pair(out: &mut Writer, latency: Option<&Histogram>, mean: &str, std_dev: &str) {
    if let Some(latency) = latency.filter(|latency| latency.count() > 0) {
        out.leaf(mean, milliseconds(latency.mean_ns()));
        out.leaf(std_dev, milliseconds(latency.std_dev_ns()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_found_by_position_and_by_name() {
        assert_eq!(PERCENTILES.len(), 108);
        for (position, (name, share)) in PERCENTILES.iter().enumerate() {
            if position < 100 {
                assert_eq!(*name, position.to_string());
            }
            let percent: f64 = name.parse().expect("is a number");
            assert!((percent / 100.0 - share).abs() < 1e-12, "{name}");
        }
        assert!(PERCENTILES.is_sorted_by(|a, b| a.1 < b.1));
    }
}
