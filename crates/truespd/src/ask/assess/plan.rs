//! What is tested: winsat's tests, and the lines and profiles that stand for them.

use crate::runner::rounds::AROUND_S;
use crate::runner::{Draft, Length};
use truespd_core::profile::{CacheMode, Profile, Target, Throughput, TimeSpan, xml};

/// Size of the file unless told otherwise: at the 20 MB/s that Microsoft asked for, writing it takes 54 of the 120 s.
pub const FILE_BYTES: u64 = 1 << 30;
/// The smallest file or device.
pub const SIZE_MIN_BYTES: u64 = 16 << 20;
const FLUSH_REGION_BYTES: u64 = 1 << 20;
/// Before every measurement, in seconds.
const WARMUP_S: u32 = 1;

/// Block size of random tests unless told otherwise.
pub const RANDOM_BYTES: u64 = 16 << 10;

/// Block size of sequential tests unless told otherwise.
pub const SEQUENTIAL_BYTES: u64 = 64 << 10;

/// How often the drive's cache is flushed while reads are timed.
pub const FLUSHES_PER_S: u64 = 10;

/// Bytes of a write that ends with a flush.
pub const FLUSHED_WRITE_BYTES: u64 = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Test {
    RandomRead,
    SequentialRead,
    RandomWrite,
    SequentialWrite,
    FlushSequential,
    FlushRandom,
}

impl Test {
    /// The formal set in winsat's order.
    pub const FORMAL: [Test; 5] = [
        Test::RandomRead,
        Test::SequentialRead,
        Test::SequentialWrite,
        Test::FlushSequential,
        Test::FlushRandom,
    ];

    pub fn writes(self) -> bool {
        !matches!(self, Test::RandomRead | Test::SequentialRead)
    }

    pub(super) fn is_random(self) -> bool {
        matches!(self, Test::RandomRead | Test::RandomWrite | Test::FlushRandom)
    }

    pub(super) fn is_flush(self) -> bool {
        matches!(self, Test::FlushSequential | Test::FlushRandom)
    }

    pub fn words(self) -> &'static str {
        match self {
            Test::RandomRead => "-ran -read",
            Test::SequentialRead => "-seq -read",
            Test::RandomWrite => "-ran -write",
            Test::SequentialWrite => "-seq -write",
            Test::FlushSequential => "-flush -seq",
            Test::FlushRandom => "-flush -ran",
        }
    }

    /// Its name for people and documents: `ran read`.
    pub(super) fn name(self) -> String {
        self.words().trim_start_matches('-').replace(" -", " ")
    }
}

/// What is tested and how.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The file or device, as a word of the command line.
    pub target: String,
    /// Bytes of it that are used.
    pub size_bytes: u64,
    /// It is a file to be made.
    pub is_made: bool,
    pub tests: Vec<Test>,
    /// Block size of random tests.
    pub random_bytes: u64,
    /// Block size of sequential tests.
    pub sequential_bytes: u64,
    /// Measured time of a throughput test, in seconds; tests with flushes take twice as long.
    pub seconds: u32,
}

/// A run of the plan.
#[derive(Debug, Clone, PartialEq)]
pub struct TestRun {
    pub test: Test,
    pub step: Draft,
    /// Text of the XML profile that the line names, when it does.
    pub profile: Option<String>,
}

impl Plan {
    /// The runs. `profile_path` tells where the profile for a test is going to be.
    pub fn parts(&self, profile_path: impl Fn(Test) -> String) -> Vec<TestRun> {
        let mut parts = Vec::new();
        for &test in &self.tests {
            let (words, profile) = if test.is_flush() {
                let words = vec![format!("-X{}", profile_path(test)), self.target.clone()];
                (words, Some(xml::write(&self.flush_profile(test), 0)))
            } else {
                (self.throughput_words(test), None)
            };
            let length = Length::measured(f64::from(self.seconds_of(test)), f64::from(WARMUP_S) + AROUND_S);
            let step = Draft { name: test.name(), words, length, ..Draft::default() };
            parts.push(TestRun { test, step, profile });
        }
        parts
    }

    fn seconds_of(&self, test: Test) -> u32 {
        if test.is_flush() { self.seconds.saturating_mul(2) } else { self.seconds }
    }

    pub(super) fn block_bytes(&self, test: Test) -> u64 {
        if test.is_random() { self.random_bytes } else { self.sequential_bytes }
    }

    fn throughput_words(&self, test: Test) -> Vec<String> {
        let size = if self.is_made { "-c" } else { "-f" };
        let pattern = if test.is_random() { "-r" } else { "-s" };
        let write = if test.writes() { "-w100" } else { "-w0" };
        // Not pinned: at one I/O at a time the processor that takes the interrupt is the best one.
        let line = format!(
            "{size}{} -b{} {pattern} {write} -o1 -t1 -n -Su -Zr -L -W{WARMUP_S} -d{}",
            self.size_bytes,
            self.block_bytes(test),
            self.seconds_of(test)
        );
        line.split(' ').map(str::to_string).chain([self.target.clone()]).collect()
    }

    /// A reader in the first half, whose reads are timed; a writer in the rest, as fast as the drive takes
    /// it; and small writes at the end, each of which the page cache takes, writes out and follows with a
    /// flush of the drive's cache (`O_DSYNC` without `O_DIRECT`: what `fdatasync` does, and unlike a direct
    /// write never FUA alone).
    fn flush_profile(&self, test: Test) -> Profile {
        let half = self.size_bytes / 2 / FLUSH_REGION_BYTES * FLUSH_REGION_BYTES;
        let flushed = (self.size_bytes - FLUSH_REGION_BYTES) / FLUSH_REGION_BYTES * FLUSH_REGION_BYTES;
        let common = Target {
            path: "*1".into(),
            request_count: 1,
            create_bytes: self.is_made.then_some(self.size_bytes),
            ..Target::default()
        };
        let reader = Target {
            block_bytes: self.random_bytes,
            random_percent: 100,
            cache: CacheMode::DisableOsCache,
            max_bytes: half,
            ..common.clone()
        };
        let writer = Target {
            block_bytes: self.block_bytes(test),
            random_percent: if test.is_random() { 100 } else { 0 },
            cache: CacheMode::DisableOsCache,
            base_bytes: half,
            max_bytes: flushed,
            write_percent: 100,
            ..common.clone()
        };
        let flusher = Target {
            block_bytes: FLUSHED_WRITE_BYTES,
            cache: CacheMode::Cached,
            write_through: true,
            base_bytes: flushed,
            max_bytes: flushed + FLUSH_REGION_BYTES,
            write_percent: 100,
            throughput: Some(Throughput::Iops(FLUSHES_PER_S)),
            ..common
        };
        let span = TimeSpan {
            measure_latency: true,
            disable_affinity: true,
            random_write_data: true,
            warmup_s: WARMUP_S,
            duration_s: self.seconds_of(test),
            targets: vec![reader, writer, flusher],
            ..TimeSpan::default()
        };
        Profile { time_spans: vec![span], ..Profile::default() }
    }
}
