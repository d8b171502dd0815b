//! Marks on files that TrueSpd made, so that a write test knows them from other people's data.
//!
//! The mark is an extended attribute, `user.truespd.made`. It stays with the file through renames and is lost
//! on a plain copy. Where the file system has no such attributes, a small file in the user's state directory
//! stands in for it (`registry`), tied to this very file by its device, inode, birth time (or, without one,
//! its last change) and size.
//!
//! The mark says when the file was last written by us, when the mark was put, and what the file held then
//! (`text`, `digest`). Another time of last modification means that something else wrote to the file, for
//! example a copy in place. Where times do not tell (`text`), the content decides: on file systems whose
//! times a server sets, that keep whole seconds or do not show writes through memory maps, and where
//! something changed the file's entry after the mark (`chmod`, `mv`, but also a write whose time was set
//! back). While runs of ours write, the mark says so, until when at most, which parts they write, and what
//! the rest held; a killed run leaves that behind. Such a file counts as ours only as long as samples of it
//! show nothing but what tests write.
//!
//! A file that provably holds nothing is nobody's (`content`), whatever its mark says.

mod content;
mod digest;
mod marks;
mod registry;
mod text;

pub use content::Whose;
pub use digest::Digest;

pub use marks::{Ended, MarkPlace, Marks, Writing};
pub use text::{MarkState, Provenance};

#[cfg(test)]
mod tests;
