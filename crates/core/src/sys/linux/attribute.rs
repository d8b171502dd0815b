//! Extended attributes of files (`xattr(7)`).

use std::fs::File;
use std::io;

use rustix::fs::XattrFlags;

/// Sets an attribute, whether it is there already or not.
///
/// # Errors
/// What `fsetxattr(2)` says: many file systems have none.
pub fn set(file: &File, name: &str, value: &[u8]) -> io::Result<()> {
    Ok(rustix::fs::fsetxattr(file, name, value, XattrFlags::empty())?)
}

/// An attribute of at most `longest` bytes; `None` when there is none or it is longer.
pub fn get(file: &File, name: &str, longest: usize) -> Option<Vec<u8>> {
    let mut value = vec![0; longest];
    let length = rustix::fs::fgetxattr(file, name, &mut value).ok()?;
    value.truncate(length);
    Some(value)
}

/// Removes an attribute.
///
/// # Errors
/// What `fremovexattr(2)` says, also when there is none.
pub fn remove(file: &File, name: &str) -> io::Result<()> {
    Ok(rustix::fs::fremovexattr(file, name)?)
}

/// What file systems without attributes say.
pub fn unsupported() -> io::Error {
    rustix::io::Errno::OPNOTSUPP.into()
}
