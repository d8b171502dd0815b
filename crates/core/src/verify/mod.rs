//! Proof that what was written is there: what a sector says of itself, and what must be in each block.
//!
//! | file | answers |
//! |---|---|
//! | `sector` | what a sector of a verified write holds, and what one that was read says |
//! | `map` | which generation each block must have: the file of a run that `truespd verify` reads back |
//! | `log` | what is durable, told line by line to another machine or disk while the run goes on |
//! | `checker` | what one thread wrote and read: claims, stamps and checks blocks while it runs |
//! | `place` | whether a file of a run may be put somewhere |
//! | `judge` | whether a block that was read is what it must be, and what else it is |
//!
//! What fio, vdbench and elbencho find and miss is in `docs/design/verify.md`.

pub mod checker;
pub mod judge;
pub mod log;
pub mod map;
mod place;
pub mod sector;

pub use checker::{Checker, Counts};
pub use judge::{Expected, Fault, Found, Seen, judge};
pub use map::{BlockMap, Fits, MapError, MapHeader};
pub use place::{PlaceError, check_place, make};
pub use sector::{SECTOR_BYTES, Stamp};
