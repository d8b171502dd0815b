//! Why a fact for the guard is not known.

/// Why a fact for the guard could not be had. A write test must then not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GuardError {
    /// The device could not be opened for the check.
    #[error("{path}: could not be opened to check that it is not in use: {text}")]
    Open {
        /// Path as given.
        path: String,
        /// The system's text.
        text: String,
    },
    /// The path means another device than the one opened for the test.
    #[error("{path}: another device took this path while it was being checked; try again")]
    Changed {
        /// Path as given.
        path: String,
    },
    /// The device could not be read.
    #[error("{path}: could not be read to check that it holds no data: {text}")]
    Read {
        /// Path as given.
        path: String,
        /// The system's text.
        text: String,
    },
}
