//! What the numbers of a time span rest on: when, on what, by which clock, at what cost.
//!
//! Everything is optional: documents of earlier versions, simulated runs and machines that tell less
//! lack some of it.

mod activity;
mod chain;
mod facts;

pub use activity::{
    DiskActivity, DiskCounts, FileProtocol, FineSeries, HostActivity, LateTick, Limit, LimitChange,
    LimitKind, Outstanding, Pressure, ProcessorWaits, Processors, QueueDepth, RequestCounts, ServedMount,
    ServerCounts, ServingProgram, ThreadCost, ThreadProcessors, Ticks, Timeline,
};
pub use chain::{
    CpuSet, DevicePath, HardwareQueue, Layer, LayerDetails, LayerKind, LayerRole, PathAccess, PathActivity,
    Replica, ReplicaPeer, WayChange, WriteCache, is_path as is_path_of_another, served as served_disks,
};
pub use facts::{
    BoundThread, ClockFacts, ContentSample, Evidence, ExtentMap, LoadCost, LoopCache, Loss, MachineNow,
    NvmeCommands, OpenedKind, OtherRun, OwnCost, Residency, SelfCost, Stalled, TargetFacts, Window,
};
