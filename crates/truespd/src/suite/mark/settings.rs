//! What the mark is asked to do.

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::test::Test;

/// Sets of tests by the kind of disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Preset {
    /// For any disk.
    #[default]
    #[value(help = "SEQ1M Q8T1, SEQ1M Q1T1, RND4K Q32T1, RND4K Q1T1")]
    Default,
    /// For NVMe: more in flight, from more threads.
    #[value(help = "SEQ1M Q8T1, SEQ128K Q32T1, RND4K Q32T16, RND4K Q1T1")]
    Nvme,
    /// For memory sticks and cards: short tests and long pauses.
    #[value(help = "The default tests, measured for 1 s each, with pauses of 30 s")]
    Flash,
}

/// Which of the tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// Four tests.
    #[default]
    #[value(help = "All four tests")]
    Default,
    /// The most a disk can do: much in flight.
    #[value(help = "SEQ1M Q8T1 and the preset's random test with the highest queue depth")]
    Peak,
    /// What one program gets that waits for each I/O.
    #[value(help = "SEQ1M Q1T1 and RND4K Q1T1", aliases = ["real-world", "realworld"])]
    Real,
    /// One test.
    #[value(help = "SEQ1M Q8T1")]
    Demo,
}

impl Preset {
    /// The tests of a profile.
    pub fn tests(self, profile: Profile) -> Vec<Test> {
        let is_nvme = self == Preset::Nvme;
        let (first, last) = (Test::seq(1024, 8, 1), Test::rnd(4, 1, 1));
        let deep = Test::rnd(4, 32, if is_nvme { 16 } else { 1 });
        match profile {
            Profile::Default => {
                let second = if is_nvme { Test::seq(128, 32, 1) } else { Test::seq(1024, 1, 1) };
                vec![first, second, deep, last]
            }
            Profile::Peak => vec![first, deep],
            Profile::Real => vec![Test::seq(1024, 1, 1), last],
            Profile::Demo => vec![first],
        }
    }

    /// Measured seconds of a run.
    pub fn measure_s(self) -> u32 {
        if self == Preset::Flash { 1 } else { 5 }
    }

    /// Seconds between two tests.
    pub fn interval_s(self) -> u32 {
        if self == Preset::Flash { 30 } else { 5 }
    }
}

/// What a test does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Part")]
pub enum Operation {
    /// Reads.
    #[value(help = "Reads", alias = "reads")]
    Read,
    /// Writes.
    #[value(help = "Writes", alias = "writes")]
    Write,
    /// Reads and writes by chance.
    #[value(help = "Reads and writes at random; implies --mix", alias = "mixed")]
    Mix,
}

impl Operation {
    /// `read`, `write` or `mix`.
    pub fn word(self) -> &'static str {
        match self {
            Operation::Read => "read",
            Operation::Write => "write",
            Operation::Mix => "mix",
        }
    }
}

/// What is measured, and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Settings {
    /// Where the tests are from.
    pub preset: Preset,
    /// Which of them.
    pub profile: Profile,
    /// The tests.
    pub tests: Vec<Test>,
    /// What each of them does, in order.
    pub parts: Vec<Operation>,
    /// Share of reads of mixed tests, in percent.
    pub mix_read_percent: u32,
    /// Runs of a test that count.
    pub loops: u32,
    /// Size of the file, or of the part of a device from its beginning that is used, in bytes.
    pub size_bytes: u64,
    /// Measured seconds of a run.
    pub measure_s: u32,
    /// Seconds between two tests.
    pub interval_s: u32,
    /// Zeros instead of random data.
    pub zero_data: bool,
}

/// What the tests go to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A file that the first run makes, by its path.
    File(String),
    /// A device that is there, by its path.
    Device(String),
}

/// One test with what it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Planned {
    /// The test.
    pub test: Test,
    /// What it does.
    pub part: Operation,
}
