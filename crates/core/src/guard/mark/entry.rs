//! What a file's entry says besides its times: what `chmod`, `chown`, `ln` and `mv` change, and a write does not.

use std::fs::{File, read_link};

use super::digest::hash;
use crate::sys::file::Stat;
use crate::sys::identity::names;
use crate::sys::open::own_path;

/// Owner, group, permissions, number of names and path, as one number; `None` where the system does not tell them.
pub(super) fn entry_of(file: &File) -> Option<u64> {
    let about = file.metadata().ok()?;
    let (stat, path) = (Stat::of(&about), read_link(own_path(file)).ok()?);
    let numbers = format!("{} {} {:o} {} ", stat.owner, stat.group, stat.mode, names(&about));
    Some(hash(0, &[numbers.as_bytes(), path.as_os_str().as_encoded_bytes()].concat()))
}
