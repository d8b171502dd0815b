//! Profile + machine facts -> exact work per thread, or a refusal in words.
//!
//! Nothing here writes, creates or changes anything. `load` asks before the first side effect, and again when the
//! targets are open and their sizes known: [`lanes()`] is then all that a worker needs.
//!
//! ```
//! use truespd_core::plan::{assign, check_block_size};
//! use truespd_core::profile::{Target, TimeSpan};
//!
//! // Two threads for each of two files, on two processors.
//! let target = |path: &str| Target { path: path.to_string(), threads_per_file: 2, ..Target::default() };
//! let span = TimeSpan { targets: vec![target("a"), target("b")], ..TimeSpan::default() };
//! let threads = assign(&span, &[0, 1]);
//! assert_eq!(threads.len(), 4);
//! assert_eq!(threads[3].cpu, Some(1));
//! assert!(check_block_size(&span.targets[0]).is_ok());
//! ```

mod affinity;
mod commands;
mod lanes;
mod precreate;
mod requirements;
mod trims;

pub use affinity::processor_order;
pub use commands::{check_commands, check_commands_of_file, check_one_kind};
pub use lanes::{
    Dispatch, Duty, Lane, LaneEngine, LaneInputs, LaneTarget, LaneWrites, PlannedTarget, ThreadWork, assign,
    lanes, ranges_of,
};
pub use precreate::precreate_sizes;
pub use requirements::{
    MEMORY_SHARE_MAX, MemoryNeed, check_alignment, check_block_size, check_depth, check_flushes,
    check_memory, check_space, check_threads, huge_pages_needed, memory_need,
};
pub use trims::{check_trim_engine, check_trims};
