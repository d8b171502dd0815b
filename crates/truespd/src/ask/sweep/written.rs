//! How many bytes a sweep writes: what is known before it begins, what it has written, and what is still to come.

use crate::runner::until_known::lasted_s;
use truespd_core::profile::{Target, Throughput, TimeSpan};
use truespd_core::result::{Document, Summary};

/// Bytes per second that a line writes, at most: 0 where it only reads, none where nothing limits its rate.
pub fn bytes_per_s_max(span: &TimeSpan) -> Option<f64> {
    let mut sum = 0.0;
    for target in span.targets.iter().filter(|target| target.writes_data()) {
        let of_thread = match target.throughput {
            Some(Throughput::BytesPerMs(bytes)) if bytes > 0 => bytes as f64 * 1000.0,
            Some(Throughput::Iops(ios)) if ios > 0 => ios as f64 * target.mean_bytes(),
            _ => return None,
        };
        sum += of_thread * f64::from(span.threads_on(target)) * write_share(target);
    }
    Some(sum)
}

fn write_share(target: &Target) -> f64 {
    let [writes, trims] = [target.write_percent, target.trim_percent].map(|share| f64::from(share) / 100.0);
    writes * (1.0 - trims)
}

/// Bytes that a run wrote. Warm-up and cool-down are not counted: their rate is taken to be that of the measured time.
fn bytes_of(document: &Document) -> f64 {
    let (mut bytes, mut measured_s) = (0.0, 0.0);
    for measured in document.measured() {
        bytes += Summary::of(measured).write.bytes as f64;
        measured_s += measured.test_time_s;
    }
    if measured_s > 0.0 { bytes * (lasted_s(document) / measured_s).max(1.0) } else { bytes }
}

/// What the runs of each point wrote.
#[derive(Debug, Default)]
pub struct Written {
    points: Vec<OfPoint>,
}

#[derive(Debug, Clone, Copy, Default)]
struct OfPoint {
    runs: usize,
    bytes: f64,
}

impl Written {
    /// Of so many points, none of which has run.
    pub fn begin(points: usize) -> Self {
        Written { points: vec![OfPoint::default(); points] }
    }

    /// Takes a run of a point.
    pub fn take(&mut self, point: usize, document: &Document) {
        self.add(point, bytes_of(document));
    }

    fn add(&mut self, point: usize, bytes: f64) {
        if let Some(of) = self.points.get_mut(point) {
            of.runs += 1;
            of.bytes += bytes;
        }
    }

    pub fn so_far(&self) -> f64 {
        self.points.iter().map(|of| of.bytes).sum()
    }

    /// Bytes when every point has so many `runs` or more; none until a point has run. Points that have not run are
    /// taken to write as much as the others on average.
    pub fn after(&self, runs: usize) -> Option<f64> {
        let known: Vec<&OfPoint> = self.points.iter().filter(|of| of.runs > 0).collect();
        if known.is_empty() {
            return None;
        }
        let mut sum = 0.0;
        for of in &known {
            sum += of.bytes / of.runs as f64 * of.runs.max(runs) as f64;
        }
        Some(sum / known.len() as f64 * self.points.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_says_how_much_is_written_at_most() {
        let target = Target { block_bytes: 4096, threads_per_file: 2, ..Target::default() };
        let of = |targets: &[&Target]| {
            let targets = targets.iter().copied().cloned().collect();
            bytes_per_s_max(&TimeSpan { targets, ..TimeSpan::default() })
        };
        assert_eq!(of(&[&target]), Some(0.0), "it reads");
        let writes = Target { write_percent: 50, ..target.clone() };
        assert_eq!(of(&[&writes]), None);
        let paced = Target { throughput: Some(Throughput::Iops(1000)), ..writes.clone() };
        assert_eq!(of(&[&paced, &target]), Some(4_096_000.0));
        let slower =
            Target { throughput: Some(Throughput::BytesPerMs(10)), trim_percent: 50, ..writes.clone() };
        assert_eq!(of(&[&paced, &slower]), Some(4_096_000.0 + 5_000.0));
        assert_eq!(of(&[&paced, &writes]), None, "one has no limit");
        // -F: all threads work on every target.
        let span = TimeSpan { targets: vec![paced], thread_count: 4, ..TimeSpan::default() };
        assert_eq!(bytes_per_s_max(&span), Some(8_192_000.0));
    }

    #[test]
    fn what_is_still_to_come_follows_from_the_points_that_have_run() {
        let mut written = Written::begin(4);
        assert_eq!((written.so_far(), written.after(3)), (0.0, None));
        written.add(2, 10.0);
        assert_eq!((written.so_far(), written.after(3)), (10.0, Some(120.0)));
        written.add(0, 30.0);
        assert_eq!(written.after(3), Some(240.0));
        for _ in 0..4 {
            written.add(0, 30.0);
        }
        assert_eq!((written.so_far(), written.after(3)), (160.0, Some(360.0)));
        written.add(9, 1.0);
        assert_eq!(written.so_far(), 160.0, "no such point");
    }
}
