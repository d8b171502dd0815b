//! Profiles as XML: read, written, overridden, templates filled in.
//!
//! One set of tables (`tables`) describes the format: name, type and count of every element, how it
//! sets the profile and how it is written back. Their order is the order of writing; reading takes the
//! elements in any order. Nothing reaches the recursive parser before its size, depth and shape were
//! checked, so that no file can make reading slow or large.
//!
//! Source: `xml.md` §1 and §3 to §5, `command-line.md` §8.

mod decode;
mod distribution;
mod error;
mod guard;
mod limits;
mod overrides;
mod read;
mod schema;
mod tables;
mod target;
mod time_span;
mod value;
mod write;

pub use error::XmlError;
pub use guard::FILE_BYTES_MAX;
pub use limits::PATH_BYTES_MAX;
pub use overrides::{Overrides, TemplateError, apply_overrides, substitute_templates};
pub use read::{read, read_bytes, read_from};
pub use tables::write;
pub use write::Writer;
