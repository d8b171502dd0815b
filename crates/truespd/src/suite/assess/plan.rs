//! What an assessment is asked to do: its tests, and on what.

use crate::suite::Draft;

/// Block size of random tests unless told otherwise.
pub const RANDOM_BYTES: u64 = 16 << 10;

/// Block size of sequential tests unless told otherwise.
pub const SEQUENTIAL_BYTES: u64 = 64 << 10;

/// How often the drive's cache is flushed while reads are timed.
pub const FLUSHES_PER_S: u64 = 10;

/// Bytes of a write that ends with a flush.
pub(super) const FLUSHED_WRITE_BYTES: u64 = 4096;

/// A test of winsat's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Test {
    /// `-ran -read`
    RandomRead,
    /// `-seq -read`
    SequentialRead,
    /// `-ran -write`
    RandomWrite,
    /// `-seq -write`
    SequentialWrite,
    /// `-flush -seq`
    FlushSequential,
    /// `-flush -ran`
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

    /// Whether it writes.
    pub fn writes(self) -> bool {
        !matches!(self, Test::RandomRead | Test::SequentialRead)
    }

    pub(super) fn is_random(self) -> bool {
        matches!(self, Test::RandomRead | Test::RandomWrite | Test::FlushRandom)
    }

    pub(super) fn is_flush(self) -> bool {
        matches!(self, Test::FlushSequential | Test::FlushRandom)
    }

    /// winsat's words for it.
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
    /// Tests in their order.
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
    /// Which test.
    pub test: Test,
    /// The line.
    pub step: Draft,
    /// Text of the XML profile that the line names, when it does.
    pub profile: Option<String>,
}
