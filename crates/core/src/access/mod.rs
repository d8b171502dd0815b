//! Where the next I/O goes and whether it reads or writes; what a write holds and when it may be
//! issued: pure, seeded, no system calls.
//!
//! | file | answers |
//! |---|---|
//! | `range` | which bytes of the target may be used, and whether a thread can start |
//! | `distribution` | which parts of them a non-uniform distribution really uses |
//! | `places` | what a pattern is made from, and how random offsets are distributed |
//! | `sequence` | where the next I/O goes (which target, which offset), and whether it reads or writes |
//! | `varied` | the same where I/Os differ in size, or flushes or trims are among them |
//! | `sizes` | how large I/Os of several sizes are, and where they go |
//! | `zipf` | places by Zipf's law |
//! | `data` | what write buffers hold |
//! | `pace` | when the next I/O may be issued |
//! | `random` | DiskSpd's random numbers |
//! | `noise` | random bytes at the speed of memory |
//!
//! A worker takes its random state from [`Rng::for_thread`], builds one [`Pattern`] per target in
//! target order, and asks it before every I/O. Data of writes comes from a [`DataRng`] of its own.
//!
//! Source: `io-semantics.md` §3 to §11.
//!
//! The offsets of a thread that reads 64 KiB at random places, and one I/O each 10 ms:
//!
//! ```
//! use truespd_core::access::{Meter, Pace, Pattern, PatternSpec, Places};
//! use truespd_core::access::{RangeSpec, Rng, SharedOffset, UsableRange};
//! use truespd_core::profile::{Target, Throughput};
//!
//! let target = Target {
//!     block_bytes: 65_536,
//!     random_percent: 100,
//!     throughput: Some(Throughput::Iops(100)),
//!     ..Target::default()
//! };
//! let range = UsableRange::new(RangeSpec::of(&target, 1 << 30))?;
//! let mut rng = Rng::for_thread(0, 0);
//! let mut pattern = Pattern::new(PatternSpec::of(&target, range.start_of(0)?, 1, Places::Uniform), &mut rng);
//! for _ in 0..100 {
//!     let access = pattern.next(0, &mut rng, &SharedOffset::new(0));
//!     assert!(access.offset % 65_536 == 0 && access.offset < 1 << 30 && !access.write);
//! }
//!
//! let mut meter = Meter::new(Pace::of(&target, 1)?, 0, 0..u64::MAX, 1);
//! assert_eq!(meter.wait_ns(4_000_000), 6_000_000);
//! meter.issued(10_000_000);
//! assert_eq!(meter.due_ns(), 20_000_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod data;
pub mod distribution;
pub mod noise;
pub mod pace;
pub mod places;
pub mod random;
pub mod range;
pub mod sequence;
mod sizes;
mod varied;
pub mod zipf;

pub use data::{DataRng, SourceError, SourceWindow, WriteData};
pub use distribution::{DistributionError, EffectiveDistribution};
pub use noise::Noise;
pub use pace::{Meter, Pace, PaceError};
pub use places::{PatternSpec, Places, Skew};
pub use random::Rng;
pub use range::{RangeError, RangeSpec, ThreadStart, UsableRange};
pub use sequence::{Pattern, PoolChoice, PoolError};
pub use varied::{Act, Varied, VariedAccess};
pub use zipf::Zipf;

use std::sync::atomic::AtomicU64;

/// The next I/O of a thread on a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// Byte offset within the target (base included).
    pub offset: u64,
    /// Write, or read.
    pub write: bool,
}

/// An effective range of a non-uniform distribution, as really used (`io-semantics.md` §7.3, §7.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct EffectiveRange {
    /// Sum of the shares before this range, in percent.
    pub io_start: u32,
    /// Share of I/O in percent.
    pub io_percent: u32,
    /// First byte relative to the base.
    pub offset_bytes: u64,
    /// Length in bytes.
    pub length_bytes: u64,
}

/// The one counter that threads of an interlocked target share (`-si`): I/Os issued so far, from 0.
///
/// One per target and time span. It counts I/Os and not bytes, so that laps stay exact for ever: a
/// byte count passes 2^64 within hours when the stride is large.
pub type SharedOffset = AtomicU64;
