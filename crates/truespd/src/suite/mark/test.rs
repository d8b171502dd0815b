//! CrystalDiskMark's tests by their names: `SEQ1M Q8T1`.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
/// As CrystalDiskMark offers them, and somewhat more.
const BLOCK_BYTES: std::ops::RangeInclusive<u64> = KIB..=64 * MIB;
const QUEUES: std::ops::RangeInclusive<u64> = 1..=512;
const THREADS: std::ops::RangeInclusive<u64> = 1..=64;

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
    /// Sequential I/O.
    pub const fn seq(block_kib: u64, queues: u32, threads: u32) -> Self {
        Test { pattern: Pattern::Sequential, block_bytes: block_kib * KIB, queues, threads }
    }

    /// Random I/O.
    pub const fn rnd(block_kib: u64, queues: u32, threads: u32) -> Self {
        Test { pattern: Pattern::Random, block_bytes: block_kib * KIB, queues, threads }
    }

    /// `SEQ` or `RND`.
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

    /// `SEQ1M`.
    pub fn access(&self) -> String {
        let (number, unit) = self.block();
        format!("{}{number}{unit}", self.kind())
    }

    /// `Q8T1`.
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
        let mut rest = name.as_str();
        let mut take = |word: &str| rest.strip_prefix(word).map(|after| rest = after).is_some();
        let pattern = match (take("SEQ"), take("RND")) {
            (true, _) => Pattern::Sequential,
            (_, true) => Pattern::Random,
            _ => return Err(NoTest("it begins with neither SEQ nor RND".into())),
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
fn counted(
    rest: &mut &str,
    letter: char,
    what: &str,
    range: std::ops::RangeInclusive<u64>,
) -> Result<u32, NoTest> {
    let Some(after) = rest.strip_prefix(letter) else { return Ok(1) };
    *rest = after;
    let count = number(rest).ok_or_else(|| NoTest(format!("the number is missing after {letter}")))?;
    let legal = u32::try_from(count).ok().filter(|_| range.contains(&count));
    legal.ok_or_else(|| NoTest(format!("{what} is not between {} and {}", range.start(), range.end())))
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
