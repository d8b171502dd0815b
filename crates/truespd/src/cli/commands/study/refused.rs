//! Why a study does not run.

use crate::suite::Ended;
use truespd_core::fault::{Failure, FailureKind, Refusal, RefusalKind};

/// Why a study does not begin.
pub(super) fn refusal(message: impl Into<String>) -> Refusal {
    Refusal::new(RefusalKind::Target, message)
}

/// The same as the end of its series.
pub(super) fn refused(message: impl Into<String>) -> Ended {
    refusal(message).into()
}

/// The end of a study after something was done.
pub(super) fn failed(message: impl Into<String>) -> Ended {
    Failure::new(FailureKind::Open, message).into()
}
