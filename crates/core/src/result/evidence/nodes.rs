//! Where threads and their buffers lie on a machine with several memory nodes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A thread that was bound to one processor, and the memory node of that processor. What it read and wrote is in the
/// thread's row of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BoundThread {
    /// Thread number, as in the result.
    pub id: u32,
    /// Number of the processor, the kernel's.
    pub processor: u32,
    /// Number of its memory node, the kernel's.
    pub node: u32,
    /// Pages of the thread's own buffers that were looked at, a sample of each buffer; none where the kernel
    /// does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer_pages_seen: Option<u64>,
    /// Pages among them that lie on another node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer_pages_elsewhere: Option<u64>,
}
