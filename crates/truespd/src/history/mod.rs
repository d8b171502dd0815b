//! Documents that last: one SQLite file with every result and every suite, found again by id, label, host, device, time
//! or verdict.
//!
//! The file holds each document as it was written, byte for byte and compressed, beside a row of facts about it
//! ([`Facts`]) that lists and statistics read. A run must never be lost for the history: whatever goes wrong is a
//! [`HistoryError`], and what becomes of it is for the callers.

mod entry;
mod error;
mod open;
mod statistics;
mod store;

pub use entry::{Added, Device, Entry, ExportedLine, FORMAT, Facts, Given, LineError, NewEntry};
pub use error::{HistoryError, Problem};
pub use open::{DEFAULT_NAME, Journal, Store};
pub use statistics::{Environment, Group, Rank, Spread};
pub use store::Filter;
