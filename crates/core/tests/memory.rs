//! Memory that histograms take. Alone in its file, and so in its process: other tests' memory would
//! disturb the reading.

use std::fs;

use truespd_core::measure::Histogram;

/// Resident memory of this process in bytes.
fn resident_bytes() -> u64 {
    let statm = fs::read_to_string("/proc/self/statm").expect("Linux has statm");
    let pages: u64 = statm.split(' ').nth(1).expect("second field").parse().expect("a number");
    pages * rustix::param::page_size() as u64
}

#[test]
fn histograms_take_memory_for_what_they_hold() {
    const MIB: u64 = 1 << 20;
    let before = resident_bytes();
    let mut histograms: Vec<Histogram> = (0..1000).map(|_| Histogram::new()).collect();
    let empty = resident_bytes().saturating_sub(before);
    assert!(empty < 4 * MIB, "1,000 empty histograms take {empty} bytes");

    // 64 to 128 microseconds: one power of two, two blocks of 8 KiB at most.
    for histogram in &mut histograms {
        (64_000..128_000).step_by(100).for_each(|ns| histogram.record(ns));
    }
    let used = resident_bytes().saturating_sub(before);
    assert!(used > MIB, "the reading sees memory in use: {used} bytes");
    assert!(used < 32 * MIB, "1,000 histograms with narrow content take {used} bytes");
    assert_eq!(histograms.iter().map(Histogram::count).sum::<u64>(), 640_000);
}
