//! `truespd mark`: CrystalDiskMark's tests, in its order, by its rule for the result, and what that rule hides.
//!
//! What is CrystalDiskMark's: tests, presets and profiles; all reads, then all writes, then all mixed tests;
//! a pause between tests; of each test one run that is discarded and some that count; the largest rate and,
//! apart from it, the smallest mean latency of those. What is better here: random data are random over the
//! whole file, every loop of a random test goes to other places (a sequential one has one way only), threads
//! that go through the file together share one position, median and spread stand beside the best, and every
//! run has its verdict.

mod report;
mod settings;
mod test;
pub mod text;

use std::time::Duration;

pub use report::{Host, Loop, MarkReport, Row, Storage};
pub use settings::{Operation, Planned, Preset, Profile, Settings, Target};
pub use test::{NoTest, Pattern, Test};

use super::{Ahead, Draft, Ended, Kind, Known, Runner};

/// Name of the suite in folders and messages.
pub const NAME: &str = "mark";
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
        let of = |&part: &Operation| self.tests.iter().map(move |&test| Planned { test, part });
        self.parts.iter().flat_map(of).collect()
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
        let data = if self.zero_data { "-Z" } else { SOURCE_WORD };
        let mut words: Vec<String> = Vec::new();
        match target {
            // In every line: a resumed series may skip the first run, which would otherwise create the file.
            Target::File(_) => words.extend([format!("-c{}M", self.size_bytes >> 20), data.into()]),
            Target::Device(_) if part == Operation::Read => {
                words.push(format!("-f{}M", self.size_bytes >> 20))
            }
            Target::Device(_) => words.extend([format!("-f{}M", self.size_bytes >> 20), data.into()]),
        }
        words.extend([
            format!("-b{block}{unit}"),
            format!("-o{}", test.queues),
            format!("-t{}", test.threads),
            format!("-w{write_percent}"),
        ]);
        match (test.pattern, test.threads) {
            (Pattern::Random, _) => words.push("-r".into()),
            // Threads that each go through the file from its beginning would mostly meet what another has just read.
            (Pattern::Sequential, 2..) => words.push("-si".into()),
            (Pattern::Sequential, _) => words.push("-s".into()),
        }
        // Without another seed, every loop would repeat the same I/Os, which a cache below may still hold.
        words.push(format!("-z{}", number + 1));
        // The kernel places the threads, as it does those of other programs.
        words.extend(["-n", "-Su", "-L", "-W0"].map(String::from));
        words.push(format!("-d{}", self.measure_s));
        let (Target::File(path) | Target::Device(path)) = target;
        words.push(path.clone());
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
        }
    }

    /// Runs everything, in order. What was measured comes back however it ends.
    pub fn run(&self, target: &Target, runner: &mut dyn Runner) -> (Vec<Row>, Result<(), Ended>) {
        let planned = self.planned();
        let mut rows: Vec<Row> = planned.iter().map(|&planned| Row::new(planned, self, target)).collect();
        let ended = self.run_rows(target, runner, &mut rows);
        (rows, ended)
    }

    fn run_rows(&self, target: &Target, runner: &mut dyn Runner, rows: &mut [Row]) -> Result<(), Ended> {
        let pause = Duration::from_secs(self.interval_s.into());
        let tests = rows.len();
        let run_s = f64::from(self.measure_s) + AROUND_A_RUN_S;
        for (at, row) in rows.iter_mut().enumerate() {
            if at > 0 {
                runner.ahead(self.ahead(tests - at, 0, run_s));
                runner.pause(pause)?;
            }
            for number in Self::DISCARDED..=self.loops {
                runner.ahead(self.ahead(tests - at, number + 1, run_s));
                let step = self.step(row.planned(), number, target).read(runner)?;
                let document = runner.run(&step)?;
                row.put(number, &document);
            }
            if let Some(best) = &row.outcome {
                let (mb, us) = (best.best_bytes_per_s / 1e6, best.best_latency_mean_ns / 1e3);
                let (label, loops) = (row.label(), row.loops.len());
                runner.tell(&format!("{label}: {mb:.3} MB/s, {us:.2} us, the best of {loops}"));
            }
        }
        Ok(())
    }

    /// What comes when `tests` are not done, and of the first of them `runs` are done or under way.
    fn ahead(&self, tests: usize, runs: u32, run_s: f64) -> Ahead {
        let steps = tests * (self.loops as usize + 1) - runs as usize;
        let pauses = (tests - 1) as f64 * f64::from(self.interval_s);
        Ahead { steps, seconds: steps as f64 * run_s + pauses, known: Known::Exactly }
    }
}

#[cfg(test)]
mod tests;
