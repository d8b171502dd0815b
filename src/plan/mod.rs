//! Profile + machine facts -> exact work per thread, or a refusal in words.
//!
//! Nothing here writes, creates or changes anything. `load` asks before the first side effect, and again
//! when the targets are open and their sizes known ([`ranges_of`]).

mod affinity;
mod guard;
mod opened;
mod precreate;
mod requirements;
mod threads;

pub use affinity::processor_order;
pub use guard::{Guard, Identity};
pub use opened::{TargetRanges, ranges_of};
pub use precreate::precreate_sizes;
pub use requirements::{
    BUFFER_BYTES_SHARE_MAX, buffer_bytes, check_alignment, check_block_size, check_memory,
};
pub use threads::{Duty, ThreadWork, assign};

/// What kind of refusal it is; decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// The options do not fit this machine or target (exit code 3).
    Machine,
    /// The target may hold data that TrueSpd did not make (exit code 4).
    Guard,
}

/// A reason not to run, found before anything was touched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// Decides the exit code.
    pub kind: RefusalKind,
    /// The switches involved, for pointing at the typed words.
    pub switches: Vec<&'static str>,
    /// Path of the target concerned, as typed.
    pub target: Option<String>,
    /// What is wrong, what would be legal, what to do next.
    pub message: String,
}

impl Refusal {
    /// A refusal because options and machine do not fit.
    pub fn machine(switches: &[&'static str], target: Option<&str>, message: String) -> Self {
        Refusal {
            kind: RefusalKind::Machine,
            switches: switches.to_vec(),
            target: target.map(str::to_string),
            message,
        }
    }

    /// A refusal to write.
    pub fn guard(target: &str, message: String) -> Self {
        Refusal { kind: RefusalKind::Guard, switches: vec!["-w"], target: Some(target.to_string()), message }
    }
}
