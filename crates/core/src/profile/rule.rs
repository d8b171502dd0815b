//! The rules of a profile by their numbers.
//!
//! Numbers 1 to 36 are DiskSpd's own table; 2 to 4 ask the machine and live in `plan`. Numbers from 37 on refuse what
//! DiskSpd 2.2 silently accepts although it cannot mean anything.

/// A rule of `command-line.md` §9 by its number in the table; rules beyond 36 are TrueSpd's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule(#[allow(missing_docs)] pub u8);

/// What each forbids, and what it only warns of.
#[allow(missing_docs)]
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
    pub const LIMIT_WITH_ROUTINES: Rule = Rule(7); // `-g` excludes `-x`
    /// `-i` and `-j` go together.
    pub const BURST_AND_PAUSE: Rule = Rule(8);
    pub const POOL_WITH_LIMIT: Rule = Rule(9); // `-g` excludes `-O`
    pub const POOL_WITH_PAUSE: Rule = Rule(10); // `-j` excludes `-O`
    pub const POOL_WITH_PARALLEL: Rule = Rule(11); // `-p` excludes `-O`
    /// A weight of 0 in pool mode.
    pub const POOL_WEIGHT: Rule = Rule(12);
    /// A `ThreadTarget` of a thread that does not exist.
    pub const POOL_THREAD: Rule = Rule(13);
    pub const THREAD_TARGETS_WITHOUT_POOL: Rule = Rule(14); // `ThreadTargets` outside pool mode
    pub const RANDOM_WITH_THREAD_STRIDE: Rule = Rule(15); // `-T` excludes `-r`
    pub const RANDOM_WITH_INTERLOCKED: Rule = Rule(16); // `-si` excludes `-r`
    pub const RANDOM_WITH_PARALLEL: Rule = Rule(17); // `-p` excludes `-r`
    /// `-rd` needs `-r` or `-rs`.
    pub const DISTRIBUTION_WITHOUT_RANDOM: Rule = Rule(18);
    /// Warning: `-p` needs more than one request.
    pub const PARALLEL_WITH_ONE_REQUEST: Rule = Rule(19);
    pub const INTERLOCKED_WITH_THREAD_STRIDE: Rule = Rule(20); // `-si` excludes `-T`
    pub const INTERLOCKED_WITH_PARALLEL: Rule = Rule(21); // `-si` excludes `-p`
    /// Warning: `-si` with one thread.
    pub const INTERLOCKED_WITH_ONE_THREAD: Rule = Rule(22);
    pub const OVERLAPPING_THREADS: Rule = Rule(23); // Warning: sequential threads overlap
    pub const THREAD_STRIDE_WITH_ONE_THREAD: Rule = Rule(24); // `-T` needs several threads
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
    pub const MAPPED_WITH_ROUTINES: Rule = Rule(32); // `-x` excludes `-Sm`
    /// `-Su` and `-Sh` exclude `-Sm`.
    pub const MAPPED_UNBUFFERED: Rule = Rule(33);
    pub const FLUSH_WITHOUT_MAPPED: Rule = Rule(34); // `-N` needs `-Sm`
    /// A template that no target replaces.
    pub const TEMPLATE_LEFT: Rule = Rule(35);
    /// `-f` must be above `-B`.
    pub const MAXIMUM_NOT_ABOVE_BASE: Rule = Rule(36);

    /// Block size 0, or above what DiskSpd can express.
    pub const BLOCK_SIZE: Rule = Rule(37);
    pub const POOL_REQUESTS_WITHOUT_TOTAL: Rule = Rule(38); // Warning: `-O` without `-F`
    /// Warning: `-g` switches `-i` and `-j` off.
    pub const LIMIT_WITH_PACING: Rule = Rule(39);
    pub const PAUSE_WITH_ROUTINES: Rule = Rule(40); // `-j` excludes `-x`
    /// Warning: a burst smaller than the number of threads that share it.
    pub const BURST_BELOW_THREADS: Rule = Rule(41);
    /// `-c` smaller than what one I/O per thread needs.
    pub const FILE_TOO_SMALL: Rule = Rule(42);
    /// An interval of 0 with `-D`.
    pub const INTERVAL_ZERO: Rule = Rule(43);
    pub const NO_THREAD: Rule = Rule(44); // No thread
    pub const NO_REQUEST: Rule = Rule(45); // No request
    pub const CREATE_DEVICE: Rule = Rule(46); // `-c` with a device
    /// A path that cannot be meant: empty, `X:`, `#1junk`.
    pub const PATH: Rule = Rule(47);
    /// A template whose number is not one.
    pub const TEMPLATE_NUMBER: Rule = Rule(48);
    pub const PERCENTAGE: Rule = Rule(49); // A percentage above 100
    /// A batch of 0, or out of range (2.3).
    pub const BATCH: Rule = Rule(50);
    /// A time span without target.
    pub const NO_TARGET: Rule = Rule(51);
    /// A placement together with `-n`, which places nothing.
    pub const PLACEMENT_WITHOUT_EFFECT: Rule = Rule(52);
    /// `-oc` out of range, or with `-x` or mapped targets alone (2.3).
    pub const COMPLETION_DEPTH: Rule = Rule(53);
    /// `-u` with `-x` or `-Sm` (2.3).
    pub const RING_ALONE: Rule = Rule(54);
    pub const REQUESTS_MAX: Rule = Rule(55); // `-o` or `-O` above the most (2.3)
    /// BypassIO without `-Su`, with writes or mapped, or of two kinds on one file (2.3).
    pub const BYPASS_IO: Rule = Rule(56);
    /// Arrivals at random without a rate (`--arrivals`, `-g`).
    pub const ARRIVALS_WITHOUT_LIMIT: Rule = Rule(57);
    /// Sizes that are no mix, or a pattern that a mix cannot have (`--mix`).
    pub const MIX: Rule = Rule(58);
    /// Zipf's law without random I/O, beside a distribution, or with an exponent out of range (`--zipf`).
    pub const ZIPF: Rule = Rule(59);
    /// Flushes of a test that does not write, or writes to a mapped file (`--flush-every`).
    pub const FLUSH_EVERY: Rule = Rule(60);
    /// Rounds that cannot become steady, or without measured time (`--until-steady`).
    pub const UNTIL_STEADY: Rule = Rule(61);
    /// A share of trims that is none, trims of mapped files or beside `-x`, or writes without an I/O left (`--trim`).
    pub const TRIM: Rule = Rule(62);
    /// A verified test that writes nothing, or whose I/Os are not whole sectors or cannot be checked (`--verify`).
    pub const VERIFY: Rule = Rule(63);
}
