//! What a rule finds, and how findings are collected.

use std::fmt;

use crate::profile::Profile;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The run goes on.
    Warning,
    /// The profile is refused.
    Error,
}

/// A rule of `command-line.md` §9 by its number; rules beyond 36 are TrueSpd's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule(
    /// Number in the table.
    pub u8,
);

impl Rule {
    /// DiskSpd 2.2 has the same rule, and says the same words where it warns.
    pub fn is_of_diskspd(self) -> bool {
        self.0 <= Rule::MAXIMUM_NOT_ABOVE_BASE.0
    }

    /// Not a rule of the profile: the options do not fit this machine or target (`plan`).
    pub const MACHINE: Rule = Rule(0);
    /// At least one time span.
    pub const NO_TIME_SPAN: Rule = Rule(1);
    /// `-n` excludes a list of `-a`.
    pub const AFFINITY_OFF_WITH_LIST: Rule = Rule(5);
    /// `-F` excludes `-t` above 1.
    pub const TOTAL_WITH_PER_TARGET: Rule = Rule(6);
    /// `-g` excludes `-x`.
    pub const LIMIT_WITH_ROUTINES: Rule = Rule(7);
    /// `-i` and `-j` go together.
    pub const BURST_AND_PAUSE: Rule = Rule(8);
    /// `-g` excludes `-O`.
    pub const POOL_WITH_LIMIT: Rule = Rule(9);
    /// `-j` excludes `-O`.
    pub const POOL_WITH_PAUSE: Rule = Rule(10);
    /// `-p` excludes `-O`.
    pub const POOL_WITH_PARALLEL: Rule = Rule(11);
    /// A weight of 0 in pool mode.
    pub const POOL_WEIGHT: Rule = Rule(12);
    /// A `ThreadTarget` of a thread that does not exist.
    pub const POOL_THREAD: Rule = Rule(13);
    /// `ThreadTargets` outside pool mode.
    pub const THREAD_TARGETS_WITHOUT_POOL: Rule = Rule(14);
    /// `-T` excludes `-r`.
    pub const RANDOM_WITH_THREAD_STRIDE: Rule = Rule(15);
    /// `-si` excludes `-r`.
    pub const RANDOM_WITH_INTERLOCKED: Rule = Rule(16);
    /// `-p` excludes `-r`.
    pub const RANDOM_WITH_PARALLEL: Rule = Rule(17);
    /// `-rd` needs `-r` or `-rs`.
    pub const DISTRIBUTION_WITHOUT_RANDOM: Rule = Rule(18);
    /// Warning: `-p` needs more than one request.
    pub const PARALLEL_WITH_ONE_REQUEST: Rule = Rule(19);
    /// `-si` excludes `-T`.
    pub const INTERLOCKED_WITH_THREAD_STRIDE: Rule = Rule(20);
    /// `-si` excludes `-p`.
    pub const INTERLOCKED_WITH_PARALLEL: Rule = Rule(21);
    /// Warning: `-si` with one thread.
    pub const INTERLOCKED_WITH_ONE_THREAD: Rule = Rule(22);
    /// Warning: sequential threads overlap.
    pub const OVERLAPPING_THREADS: Rule = Rule(23);
    /// `-T` needs several threads.
    pub const THREAD_STRIDE_WITH_ONE_THREAD: Rule = Rule(24);
    /// A range shorter than a block.
    pub const RANGE_BELOW_BLOCK: Rule = Rule(25);
    /// Shares of I/O exceed 100.
    pub const IO_SHARES_EXCEED: Rule = Rule(26);
    /// Shares of the target exceed 100.
    pub const TARGET_SHARES_EXCEED: Rule = Rule(27);
    /// The target is used up before the I/O is.
    pub const IO_LEFT_OVER: Rule = Rule(28);
    /// Shares of the target do not reach 100.
    pub const TARGET_LEFT_OVER: Rule = Rule(29);
    /// An open range that is not the last.
    pub const OPEN_RANGE_INSIDE: Rule = Rule(30);
    /// The source buffer is smaller than a block.
    pub const SOURCE_BELOW_BLOCK: Rule = Rule(31);
    /// `-x` excludes `-Sm`.
    pub const MAPPED_WITH_ROUTINES: Rule = Rule(32);
    /// `-Su` and `-Sh` exclude `-Sm`.
    pub const MAPPED_UNBUFFERED: Rule = Rule(33);
    /// `-N` needs `-Sm`.
    pub const FLUSH_WITHOUT_MAPPED: Rule = Rule(34);
    /// A template that no target replaces.
    pub const TEMPLATE_LEFT: Rule = Rule(35);
    /// `-f` must be above `-B`.
    pub const MAXIMUM_NOT_ABOVE_BASE: Rule = Rule(36);

    /// Block size 0, or above what DiskSpd can express.
    pub const BLOCK_SIZE: Rule = Rule(37);
    /// Warning: `-O` without `-F`.
    pub const POOL_REQUESTS_WITHOUT_TOTAL: Rule = Rule(38);
    /// Warning: `-g` switches `-i` and `-j` off.
    pub const LIMIT_WITH_PACING: Rule = Rule(39);
    /// `-j` excludes `-x`.
    pub const PAUSE_WITH_ROUTINES: Rule = Rule(40);
    /// Warning: a burst smaller than the number of threads that share it.
    pub const BURST_BELOW_THREADS: Rule = Rule(41);
    /// `-c` smaller than what one I/O per thread needs.
    pub const FILE_TOO_SMALL: Rule = Rule(42);
    /// An interval of 0 with `-D`.
    pub const INTERVAL_ZERO: Rule = Rule(43);
    /// No thread.
    pub const NO_THREAD: Rule = Rule(44);
    /// No request.
    pub const NO_REQUEST: Rule = Rule(45);
    /// `-c` with a device.
    pub const CREATE_DEVICE: Rule = Rule(46);
    /// A path that cannot be meant: empty, `X:`, `#1junk`.
    pub const PATH: Rule = Rule(47);
    /// A template whose number is not one.
    pub const TEMPLATE_NUMBER: Rule = Rule(48);
    /// A percentage above 100.
    pub const PERCENTAGE: Rule = Rule(49);
    /// A batch of 0, or out of range.
    pub const BATCH: Rule = Rule(50);
    /// A time span without target.
    pub const NO_TARGET: Rule = Rule(51);
    /// Placement together with a list of processors, or with `-n`.
    pub const PLACEMENT_WITHOUT_EFFECT: Rule = Rule(52);
}

/// One broken rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Which rule.
    pub rule: Rule,
    /// Warning or refusal.
    pub severity: Severity,
    /// Index of the time span, from 0.
    pub time_span: Option<usize>,
    /// Index of the target within the time span, from 0.
    pub target: Option<usize>,
    /// The switches involved, e.g. `["-r", "-T"]`, for pointing at the typed words. Empty when the
    /// path itself is at fault.
    pub switches: Vec<&'static str>,
    /// What is wrong and what would be legal, in words. A warning that DiskSpd has in its words, to the letter.
    pub message: String,
    /// What TrueSpd adds to DiskSpd's words.
    pub more: Option<&'static str>,
}

impl Finding {
    /// The place within `profile` in words, e.g. `time span 2, target 1 'a.dat'`, for profiles in
    /// which it is not obvious. `None` for findings about the whole profile.
    pub fn place(&self, profile: &Profile) -> Option<String> {
        let span = self.time_span?;
        let mut place = format!("time span {}", span + 1);
        if let Some(target) = self.target {
            place.push_str(&format!(", target {}", target + 1));
            if let Some(target) = profile.time_spans.get(span).and_then(|s| s.targets.get(target)) {
                place.push_str(&format!(" '{}'", target.path));
            }
        }
        Some(place)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Collects findings and knows the place that is being looked at.
#[derive(Default)]
pub(super) struct Collector {
    pub(super) findings: Vec<Finding>,
    pub(super) time_span: Option<usize>,
    pub(super) target: Option<usize>,
}

impl Collector {
    pub(super) fn add(
        &mut self,
        severity: Severity,
        rule: Rule,
        switches: &[&'static str],
        message: impl Into<String>,
    ) {
        self.findings.push(Finding {
            rule,
            severity,
            time_span: self.time_span,
            target: self.target,
            switches: switches.to_vec(),
            message: message.into(),
            more: None,
        });
    }

    pub(super) fn error(&mut self, rule: Rule, switches: &[&'static str], message: impl Into<String>) {
        self.add(Severity::Error, rule, switches, message);
    }

    pub(super) fn warning(&mut self, rule: Rule, switches: &[&'static str], message: impl Into<String>) {
        self.add(Severity::Warning, rule, switches, message);
    }

    /// The last finding with what TrueSpd adds to it.
    pub(super) fn add_words(&mut self, more: &'static str) {
        if let Some(last) = self.findings.last_mut() {
            last.more = Some(more);
        }
    }
}
