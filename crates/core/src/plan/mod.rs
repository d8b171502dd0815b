//! Profile + machine facts -> exact work per thread, or a refusal in words.
//!
//! Nothing here writes, creates or changes anything. `load` asks before the first side effect, and again when the
//! targets are open and their sizes known: [`ranges_of`] says where threads may go, [`lanes()`] all that they need.

mod affinity;
mod allowance;
mod commands;
mod lanes;
mod opened;
mod precreate;
mod requirements;
mod threads;

pub use affinity::processor_order;
pub use allowance::{check_depth, check_space, check_threads};
pub use commands::{check_commands, check_commands_of_file, check_one_kind};
pub use lanes::{Dispatch, Lane, LaneInputs, LaneTarget, LaneWrites, PlannedTarget, lanes};
pub use opened::{TargetRanges, ranges_of};
pub use precreate::precreate_sizes;
pub use requirements::{
    MEMORY_SHARE_MAX, MemoryNeed, check_alignment, check_block_size, check_memory, huge_pages_needed,
    memory_need,
};
pub use threads::{Duty, ThreadWork, assign};
