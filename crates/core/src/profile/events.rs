//! Named events.

/// Names of the events between processes around a run (`-y`, `command-line.md` §5.9).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EventNames {
    /// `-ys`: signalled when the measurement starts.
    pub start: Option<String>,
    /// `-yf`: signalled when the measurement ends.
    pub finish: Option<String>,
    /// `-yr`: waited for before the warm-up.
    pub wait: Option<String>,
    /// `-yp`: stops the run when set; Ctrl+C sets it.
    pub stop: Option<String>,
}
