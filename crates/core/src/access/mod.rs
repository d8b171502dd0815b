//! Where the next I/O goes and whether it reads or writes; what a write holds and when it may be
//! issued: pure, seeded, no system calls.
//!
//! | file | answers |
//! |---|---|
//! | `range` | which bytes of the target may be used, and whether a thread can start |
//! | `distribution` | which parts of them a non-uniform distribution really uses |
//! | `sequence` | where the next I/O goes, and whether it reads or writes |
//! | `pool` | which target the next I/O goes to (`-F` with `-O`) |
//! | `data` | what write buffers hold |
//! | `pace` | when the next I/O may be issued |
//! | `random` | DiskSpd's random numbers |
//! | `noise` | random bytes at the speed of memory |
//!
//! A worker takes its random state from [`Rng::for_thread`], builds one [`Pattern`] per target in
//! target order, and asks it before every I/O. Data of writes comes from a [`DataRng`] of its own.
//!
//! Source: `io-semantics.md` §3 to §11.

pub mod data;
pub mod distribution;
pub mod noise;
pub mod pace;
pub mod pool;
pub mod random;
pub mod range;
pub mod sequence;
mod types;

pub use data::{DataRng, SourceError, SourceWindow, WriteData};
pub use distribution::{DistributionError, EffectiveDistribution};
pub use noise::Noise;
pub use pace::{Meter, Pace, PaceError};
pub use pool::{PoolChoice, PoolError};
pub use random::Rng;
pub use range::{RangeError, RangeSpec, ThreadStart, UsableRange};
pub use sequence::{Pattern, PatternSpec};
pub use types::{Access, EffectiveRange, SharedOffset};
