//! The one versioned document of a run: everything that later commands and formats read.
//!
//! Numbers with their units, no judgement and no formatting. Renderers see only this.
//!
//! ```
//! use truespd_core::result::{Document, json};
//!
//! let document = Document { command_line: vec!["diskspd".into(), "data".into()], ..Document::default() };
//! let text = json::write(&document);
//! assert_eq!(json::read(text.as_bytes())?.command_line, document.command_line);
//! // Documents of a later format, and other files, are refused with the reason.
//! assert!(json::read(b"{}").is_err());
//! # Ok::<(), json::ReadError>(())
//! ```

mod activity;
mod chain;
mod document;
mod drives;
pub mod envelope;
mod evidence;
pub mod hosts;
pub mod json;
pub mod legacy;
pub mod merge;
pub mod metrics;
mod part;
mod preconditioned;
mod rank;
mod readback;
pub mod rounds;
#[cfg(feature = "schema")]
pub mod schema;
mod skew;
mod summary;
mod usual;
mod verdict;
mod verified;

pub use activity::{
    CacheActivity, CacheCounts, CacheKind, Completed, DiskActivity, DiskCounts, FileProtocol, FineSeries,
    Held, HostActivity, KernelWork, LateTick, Limit, LimitChange, LimitKind, OtherProgram, OtherPrograms,
    Outstanding, Pressure, ProcessorWaits, Processors, QueueDepth, RequestCounts, ServedMount, ServerCounts,
    ServingProgram, ThreadCost, ThreadProcessors, Ticks, Timeline,
};
pub use chain::{
    CpuSet, DevicePath, HardwareQueue, Layer, LayerDetails, LayerKind, LayerRole, PathAccess, PathActivity,
    Replica, ReplicaPeer, WayChange, WriteCache, is_path as is_path_of_another, served as served_disks,
};
pub use document::{
    CoarseSeries, CpuUse, Direction, DispatchInEffect, DistributionPart, Document, EngineTraits, InEffect,
    LatencySummary, Measured, OfSize, Operations, Source, SourceSpan, SourceTotals, System, TargetResult,
    ThreadResult, TimeSpanResult, WaitStatistics,
};
pub use drives::{Drive, DriveChange, DriveState, DriveUntold, DriveWarning};
pub use evidence::{
    AllocatedBy, Allocation, BoundThread, ClockFacts, ContentSample, Evidence, ExtentMap, KernelDevice,
    LoadCost, LoopCache, Loss, MachineNow, NvmeCommands, OpenedKind, OtherRun, OwnCost, RangePart, Residency,
    SelfCost, Stalled, TargetFacts, Window,
};
pub use part::{Found, OverRuns, Part};
pub use preconditioned::Preconditioned;
pub use rank::{ClockOffset, CommonStart, LostHow, LostRank, MissingRank, RANKS_MAX, Rank};
pub use readback::{FaultCount, ReadBack};
pub use rounds::{Round, Rounds};
pub use skew::SkewResult;
pub use summary::{DirectionSummary, NodeSummary, SizeSummary, Summary};
pub use usual::Usual;
pub use verdict::{
    Figure, FileServer, Finding, FindingGrade, Grade, Meaning, Proof, Served, SourceVerdict, Standing, Theme,
    Unchecked, Verdict, disks_in_words, standing,
};
pub use verified::{Verified, WrongRange};
