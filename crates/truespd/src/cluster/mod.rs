//! One run on many hosts: the ranks of a cluster run find each other, agree, start together, and hand in their results.
//!
//! A rank is one process, rank 0 is the hub: every message goes to it or comes from it. [`Cluster`] is what a
//! rank's own threads use; a thread of its own, the `post`, has the [`transport`] alone, answers what needs
//! no thought (whether this rank is alive, what its clock says) and notices who has fallen silent. So no wait
//! on another host is without end, whatever the transport does.
//!
//! Nothing here prints, parses a line of DiskSpd or knows a suite.

mod agreement;
mod clocks;
mod gather;
mod hub;
mod link;
mod member;
mod message;
mod post;
pub mod shard;
mod spoke;
pub mod transport;
pub mod words;

#[cfg(test)]
mod tests;

pub use member::{Cluster, Finished, JoinError, Joining, Me};
