//! A target of a run.

/// A target with its options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lane {
    /// The file or device.
    pub path: String,
    /// First byte of the tested part.
    pub(super) base: u64,
    /// Its end.
    pub(super) end: Option<u64>,
    /// Size of the file that is made.
    pub(super) create: Option<u64>,
    /// Options of the target.
    pub options: Vec<String>,
}
