//! `truespd mark`: CrystalDiskMark's tests, in its order, by its rule for the result, and what that rule hides.
//!
//! What is CrystalDiskMark's: tests, presets and profiles; all reads, then all writes, then all mixed tests;
//! a pause between tests; of each test one run that is discarded and some that count; the largest rate and,
//! apart from it, the smallest mean latency of those. What is better here: random data are random over the
//! whole file, every loop of a random test goes to other places (a sequential one has one way only), threads
//! that go through the file together share one position, median and spread stand beside the best, and every
//! run has its verdict.

mod report;
mod test;
#[cfg(test)]
mod tests;

use crate::suite::{Ahead, Draft, Ended, Kind, Runner, run_steps};
pub use report::{Host, Loop, MarkReport, Reader, Row, Storage, text};
use std::time::Duration;
pub use test::{NoTest, Operation, Pattern, Planned, Preset, Profile, Settings, Target, Test};

/// Name of the test file in the suite's folder.
pub const FILE: &str = "data";

/// Read shares that CrystalDiskMark offers for mixed tests, in percent.
pub const MIX_READ_PERCENT: [u32; 9] = [10, 20, 30, 40, 50, 60, 70, 80, 90];
/// What it mixes when nothing is said.
pub const MIX_READ_PERCENT_DEFAULT: u32 = 70;

/// Random data for writes, each from another place in it. CrystalDiskMark's data is only as large as a block,
/// so that it writes one block everywhere. Fresh data for each write (`-Zr`) would take time between the I/Os
/// of depth 1.
const SOURCE_WORD: &str = "-Z64M";
/// Starting, looking at the file and ending a run, in seconds.
const AROUND_A_RUN_S: f64 = 0.5;

impl Settings {
    /// All tests in CrystalDiskMark's order: all of a part before the next part.
    pub fn planned(&self) -> Vec<Planned> {
        let mut all = Vec::new();
        for &part in &self.parts {
            all.extend(self.tests.iter().map(|&test| Planned { test, part }));
        }
        all
    }

    /// Number of the run that does not count, as [`Settings::words`] wants it.
    pub const DISCARDED: u32 = 0;

    /// The words of DiskSpd's command line for one run of a test.
    pub fn words(&self, planned: Planned, number: u32, target: &Target) -> Vec<String> {
        let Planned { test, part } = planned;
        let (block, unit) = test.block();
        let write_percent = match part {
            Operation::Read => 0,
            Operation::Write => 100,
            Operation::Mix => 100 - self.mix_read_percent,
        };
        let (Target::File(path) | Target::Device(path)) = target;
        let is_device = matches!(target, Target::Device(_));
        // In every line: a resumed series may skip the first run, which would otherwise create the file.
        let mut words = vec![format!("-{}{}M", if is_device { 'f' } else { 'c' }, self.size_bytes >> 20)];
        if !is_device || part != Operation::Read {
            words.push(if self.zero_data { "-Z" } else { SOURCE_WORD }.into());
        }
        words.extend([
            format!("-b{block}{unit}"),
            format!("-o{}", test.queues),
            format!("-t{}", test.threads),
            format!("-w{write_percent}"),
        ]);
        let pattern = match (test.pattern, test.threads) {
            (Pattern::Random, _) => "-r",
            // Threads that each go through the file from its beginning would mostly meet what another has just read.
            (Pattern::Sequential, 2..) => "-si",
            (Pattern::Sequential, _) => "-s",
        };
        words.push(pattern.into());
        // Without another seed, every loop would repeat the same I/Os, which a cache below may still hold.
        words.push(format!("-z{}", number + 1));
        // The kernel places the threads, as it does those of other programs.
        words.extend(["-n", "-Su", "-L", "-W0"].map(String::from));
        words.extend([format!("-d{}", self.measure_s), path.clone()]);
        words
    }

    fn step(&self, planned: Planned, number: u32, target: &Target) -> Draft {
        let (kind, which) = match number {
            Self::DISCARDED => (Kind::Discarded, Kind::Discarded.name().to_string()),
            number => (Kind::Counts, format!("{number} of {}", self.loops)),
        };
        Draft {
            name: format!("{} {}, {which}", planned.test, planned.part.word()),
            words: self.words(planned, number, target),
            seconds: f64::from(self.measure_s) + AROUND_A_RUN_S,
            kind,
            pause: None,
        }
    }

    /// Runs everything, in order. What was measured comes back however it ends.
    pub fn run(&self, target: &Target, runner: &mut dyn Runner) -> (Vec<Row>, Result<(), Ended>) {
        let (mut rows, mut steps) = (Vec::new(), Vec::new());
        for planned in self.planned() {
            for number in Self::DISCARDED..=self.loops {
                steps.push(self.step(planned, number, target));
            }
            rows.push(Row::new(planned, self, target));
        }
        let runs = self.loops as usize + 1;
        for first in steps.iter_mut().step_by(runs).skip(1) {
            first.pause = Some(Duration::from_secs(self.interval_s.into()));
        }
        let ended = run_steps(&steps, runner, Ahead::exactly, |place, document| {
            let (row, number) = (&mut rows[place / runs], place % runs);
            row.put(number as u32, document);
            let best = row.outcome.as_ref()?;
            let (mb, us) = (best.best_bytes_per_s / 1e6, best.best_latency_mean_ns / 1e3);
            let (label, loops) = (row.label(), row.loops.len());
            let words = format!("{label}: {mb:.3} MB/s, {us:.2} us, the best of {loops}");
            (number + 1 == runs).then_some(words)
        });
        (rows, ended)
    }
}
