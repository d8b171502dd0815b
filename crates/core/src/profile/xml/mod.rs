//! Profiles as XML: read, written, overridden, templates filled in.
//!
//! One set of tables (`elements`, `target`) describes the format: name, type and count of every element, how it
//! sets the profile and how it is written back. Their order is the order of writing; reading takes the
//! elements in any order.
//!
//! Source: `xml.md` §1 and §3 to §5, `command-line.md` §8.

mod elements;
mod error;
mod overrides;
mod read;
mod rows;
mod target;
mod write;

pub use elements::{hash, write};
pub use error::XmlError;
pub use overrides::{Overrides, apply_overrides, substitute_templates};
pub use read::{FILE_BYTES_MAX, read, read_bytes, read_from};
pub use target::PATH_BYTES_MAX;
pub use write::Writer;
