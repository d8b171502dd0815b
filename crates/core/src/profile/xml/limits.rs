//! Limits of the form.

/// Longest path in a profile, in bytes of UTF-8.
pub const PATH_BYTES_MAX: usize = 259;
