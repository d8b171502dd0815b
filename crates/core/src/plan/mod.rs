//! Profile + machine facts -> exact work per thread, or a refusal in words.
//!
//! Nothing here writes, creates or changes anything. `load` asks before the first side effect, and again when the
//! targets are open and their sizes known: [`lanes()`] is then all that a worker needs.

mod affinity;
mod commands;
mod lanes;
mod precreate;
mod requirements;

pub use affinity::processor_order;
pub use commands::{check_commands, check_commands_of_file, check_one_kind};
pub use lanes::{
    Dispatch, Duty, Lane, LaneEngine, LaneInputs, LaneTarget, LaneWrites, PlannedTarget, ThreadWork, assign,
    lanes, ranges_of,
};
pub use precreate::precreate_sizes;
pub use requirements::{
    MEMORY_SHARE_MAX, MemoryNeed, check_alignment, check_block_size, check_depth, check_memory, check_space,
    check_threads, huge_pages_needed, memory_need,
};
