//! What became of a thing to undo.

/// What became of one thing to undo, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
    /// What it was: `removed '/mnt/truespd-mark-x1'`.
    pub words: String,
    /// Whether it is undone. If not, the words say why, and `is_settled` says whether it will be tried again.
    pub is_done: bool,
    /// Nothing is left to do: undone, or not this program's any more.
    pub is_settled: bool,
}

/// Why something was not undone.
#[derive(Debug)]
pub(super) enum Left {
    /// It is somebody else's now.
    Foreign(String),
    /// The system refused; it may take it later.
    Refused(String),
}
