//! What the mark is asked to do: CrystalDiskMark's tests by their names (`SEQ1M Q8T1`), its presets and profiles.

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

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
    /// A write counts when it is durable (`-Sh`), not when the drive's cache has it.
    #[serde(default)]
    pub is_durable: bool,
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
    pub test: Test,
    pub part: Operation,
}

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
/// As CrystalDiskMark offers them, and somewhat more.
const BLOCK_BYTES: RangeInclusive<u64> = KIB..=64 * MIB;
const QUEUES: RangeInclusive<u64> = 1..=512;
const THREADS: RangeInclusive<u64> = 1..=64;

/// Where the next I/O goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    /// One block after the other.
    Sequential,
    /// Anywhere.
    Random,
}

/// A test, without whether it reads or writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Test {
    /// Where the next I/O goes.
    pub pattern: Pattern,
    /// I/O size in bytes, whole KiB.
    pub block_bytes: u64,
    /// I/Os outstanding per thread.
    pub queues: u32,
    /// Threads.
    pub threads: u32,
}

impl Test {
    pub const fn seq(block_kib: u64, queues: u32, threads: u32) -> Self {
        Test { pattern: Pattern::Sequential, block_bytes: block_kib * KIB, queues, threads }
    }

    pub const fn rnd(block_kib: u64, queues: u32, threads: u32) -> Self {
        Test { pattern: Pattern::Random, block_bytes: block_kib * KIB, queues, threads }
    }

    pub fn kind(&self) -> &'static str {
        match self.pattern {
            Pattern::Sequential => "SEQ",
            Pattern::Random => "RND",
        }
    }

    /// The I/O size as a number and `K` or `M`, whole MiB from 1 MiB on where it is.
    pub fn block(&self) -> (u64, char) {
        if self.block_bytes.is_multiple_of(MIB) {
            (self.block_bytes / MIB, 'M')
        } else {
            (self.block_bytes / KIB, 'K')
        }
    }

    pub fn access(&self) -> String {
        let (number, unit) = self.block();
        format!("{}{number}{unit}", self.kind())
    }

    pub fn load(&self) -> String {
        format!("Q{}T{}", self.queues, self.threads)
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.access(), self.load())
    }
}

/// Words for a name that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0}; legal: SEQ or RND, block size with K or M, queue depth, threads, e.g. RND4K-Q32T1 or SEQ128K-Q32T4"
)]
pub struct NoTest(String);

impl FromStr for Test {
    type Err = NoTest;

    /// Capital or small letters, with `-`, `_`, a blank or nothing before `Q`; `KiB` and `KB` are taken for
    /// `K`; a missing depth or number of threads is 1.
    fn from_str(typed: &str) -> Result<Self, NoTest> {
        let name = typed.to_ascii_uppercase();
        let (pattern, mut rest) = if let Some(rest) = name.strip_prefix("SEQ") {
            (Pattern::Sequential, rest)
        } else if let Some(rest) = name.strip_prefix("RND") {
            (Pattern::Random, rest)
        } else {
            return Err(NoTest("it begins with neither SEQ nor RND".into()));
        };
        let block = number(&mut rest)
            .ok_or_else(|| NoTest(format!("the block size is missing after {}", &name[..3])))?;
        let unit = match rest.chars().next() {
            Some('K') => KIB,
            Some('M') => MIB,
            _ => return Err(NoTest(format!("K or M is missing after the block size {block}"))),
        };
        rest = &rest[1..];
        rest = rest.strip_prefix("IB").or_else(|| rest.strip_prefix('B')).unwrap_or(rest);
        rest = rest.trim_start_matches(['-', '_', ' ']);
        let queues = counted(&mut rest, 'Q', "the queue depth", QUEUES)?;
        rest = rest.trim_start_matches(['-', '_', ' ']);
        let threads = counted(&mut rest, 'T', "the number of threads", THREADS)?;
        if !rest.is_empty() {
            return Err(NoTest(format!("unexpected '{rest}' at its end")));
        }
        let block_bytes = block.saturating_mul(unit);
        if !BLOCK_BYTES.contains(&block_bytes) {
            return Err(NoTest("its block size is not between 1K and 64M".into()));
        }
        Ok(Test { pattern, block_bytes, queues, threads })
    }
}

/// The number at the beginning; one that is too large becomes the largest.
fn number(rest: &mut &str) -> Option<u64> {
    let count = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, after) = rest.split_at(count);
    *rest = after;
    (count > 0).then(|| digits.parse().unwrap_or(u64::MAX))
}

/// The number behind a letter; 1 without the letter.
fn counted(rest: &mut &str, letter: char, what: &str, range: RangeInclusive<u64>) -> Result<u32, NoTest> {
    let Some(after) = rest.strip_prefix(letter) else { return Ok(1) };
    *rest = after;
    let count = number(rest).ok_or_else(|| NoTest(format!("the number is missing after {letter}")))?;
    if range.contains(&count) {
        return Ok(count as u32);
    }
    Err(NoTest(format!("{what} is not between {} and {}", range.start(), range.end())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_as_people_write_them() {
        for (typed, test) in [
            ("SEQ1M-Q8T1", Test::seq(1024, 8, 1)),
            ("seq1mq8t1", Test::seq(1024, 8, 1)),
            ("SEQ1MiB Q8 T1", Test::seq(1024, 8, 1)),
            ("RND4K_Q32T16", Test::rnd(4, 32, 16)),
            ("rnd4kib-q32", Test::rnd(4, 32, 1)),
            ("SEQ128KB", Test::seq(128, 1, 1)),
            ("RND1024K-T2", Test::rnd(1024, 1, 2)),
        ] {
            assert_eq!(typed.parse(), Ok(test), "{typed}");
        }
        assert_eq!(Test::rnd(4, 32, 16).to_string(), "RND4K-Q32T16");
        assert_eq!(Test::seq(1536, 1, 1).to_string(), "SEQ1536K-Q1T1");
    }

    #[test]
    fn what_is_no_name_is_told_where() {
        for (typed, words) in [
            ("4K", "begins with neither SEQ nor RND"),
            ("RND", "the block size is missing after RND"),
            ("RND4", "K or M is missing after the block size 4"),
            ("RND4G-Q1T1", "K or M is missing"),
            ("RND4K-Q", "the number is missing after Q"),
            ("RND4K-Q0T1", "the queue depth is not between 1 and 512"),
            ("RND4K-Q1T65", "the number of threads is not between 1 and 64"),
            ("RND4K-Q1T1x", "unexpected 'X' at its end"),
            ("RND4K-Q1T1-", "unexpected '-' at its end"),
            ("SEQ0K-Q1T1", "block size is not between"),
            ("SEQ99999999999999999999M", "block size is not between"),
        ] {
            let refused = typed.parse::<Test>().expect_err(typed).to_string();
            assert!(refused.contains(words) && refused.contains("RND4K-Q32T1"), "{typed}: {refused}");
        }
    }
}
