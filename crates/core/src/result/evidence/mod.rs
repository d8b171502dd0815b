//! What the numbers of a time span rest on: when, on what, by which clock, at what cost.
//!
//! Everything is optional: documents of earlier versions, simulated runs and machines that tell less
//! lack some of it.

mod activity;
mod chain;
mod content;
mod course;
mod facts;
mod loss;
mod nodes;
mod now;
mod self_cost;
mod served;
mod ways;

pub use activity::{
    DiskActivity, DiskCounts, HostActivity, Limit, LimitKind, Outstanding, Pressure, QueueDepth, ThreadCost,
    Timeline,
};
pub use chain::{
    CpuSet, DevicePath, HardwareQueue, Layer, LayerDetails, LayerKind, LayerRole, PathAccess, Replica,
    ReplicaPeer, WriteCache,
};
pub use content::{ContentSample, ExtentMap, LoopCache, Residency};
pub use course::{FineSeries, LateTick, LimitChange, ProcessorWaits, Processors, ThreadProcessors, Ticks};
pub use facts::{ClockFacts, Evidence, NvmeCommands, OpenedKind, OtherRun, OwnCost, TargetFacts, Window};
pub use loss::Loss;
pub use nodes::BoundThread;
pub use now::{MachineNow, Stalled};
pub use self_cost::{LoadCost, SelfCost};
pub use served::{FileProtocol, RequestCounts, ServedMount, ServerCounts, ServingProgram};
pub use ways::{PathActivity, WayChange, is_path as is_path_of_another, served as served_disks};
