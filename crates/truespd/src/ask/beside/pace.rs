//! The rate of the background at a share of its maximum, as DiskSpd's `-g` says it.

use truespd_core::profile::Throughput;

/// A rate of each stream, and what all of them ask for together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Paced {
    pub throughput: Throughput,
    /// I/Os per second of all streams.
    pub iops: f64,
}

/// The rate nearest to `iops` I/Os per second of all `streams` together, of I/Os of `mean_bytes`.
///
/// `-g` counts for each stream (a thread on a target), in whole I/Os per second or whole bytes per millisecond. The one
/// that comes nearer is taken: few large I/Os need bytes, small ones need I/Os. Neither is ever 0, which would be no
/// limit at all.
pub fn paced(iops: f64, streams: u32, mean_bytes: f64) -> Paced {
    let streams = f64::from(streams.max(1));
    let each = iops / streams;
    let ios = each.round().max(1.0);
    let bytes_per_ms = (each * mean_bytes / 1000.0).round().max(1.0);
    let by_bytes = bytes_per_ms * 1000.0 / mean_bytes;
    if (ios - each).abs() <= (by_bytes - each).abs() {
        return Paced { throughput: Throughput::Iops(ios as u64), iops: ios * streams };
    }
    Paced { throughput: Throughput::BytesPerMs(bytes_per_ms as u64), iops: by_bytes * streams }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn is_near(iops: f64, streams: u32, mean_bytes: f64, throughput: Throughput) {
        let found = paced(iops, streams, mean_bytes);
        assert_eq!(found.throughput, throughput, "{iops} by {streams} of {mean_bytes}");
        let again = match throughput {
            Throughput::Iops(each) => each as f64 * f64::from(streams),
            Throughput::BytesPerMs(each) => each as f64 * 1000.0 / mean_bytes * f64::from(streams),
        };
        assert!((found.iops - again).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn the_rate_is_that_of_each_stream() {
        is_near(8000.0, 4, 4096.0, Throughput::Iops(2000));
        is_near(8000.0, 1, 4096.0, Throughput::Iops(8000));
    }

    #[test]
    fn the_finer_unit_is_taken() {
        // 2.5 I/Os of 1 MiB per second: 2 or 3 would be 20 % off.
        is_near(2.5, 1, 1_048_576.0, Throughput::BytesPerMs(2621));
        // 10.2 I/Os of 512 bytes: 5 bytes per millisecond would be 9.8.
        is_near(10.2, 1, 512.0, Throughput::Iops(10));
        let share = paced(2.5, 1, 1_048_576.0);
        assert!((share.iops / 2.5 - 1.0).abs() < 0.001, "{share:?}");
    }

    #[test]
    fn no_rate_is_0() {
        is_near(0.001, 8, 512.0, Throughput::Iops(1));
        is_near(0.0, 1, 1_048_576.0, Throughput::BytesPerMs(1));
    }
}
