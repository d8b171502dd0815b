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

mod document;
pub mod envelope;
mod evidence;
mod figures;
pub mod hosts;
pub mod json;
pub(crate) mod legacy;
pub mod merge;
pub mod metrics;
mod proof;
mod rank;
mod summary;
mod verdict;

pub use document::{
    CpuUse, Direction, DistributionPart, Document, EngineTraits, Measured, Operations, Source, SourceSpan,
    SourceTotals, System, TargetResult, ThreadResult, TimeSpanResult, WaitStatistics,
};
pub use envelope::Part;
pub use evidence::{
    BoundThread, ClockFacts, ContentSample, CpuSet, DevicePath, DiskActivity, DiskCounts, Evidence,
    ExtentMap, FileProtocol, FineSeries, HardwareQueue, HostActivity, LateTick, Layer, LayerDetails,
    LayerKind, LayerRole, Limit, LimitChange, LimitKind, LoadCost, LoopCache, Loss, MachineNow, NvmeCommands,
    OpenedKind, OtherRun, Outstanding, OwnCost, PathAccess, PathActivity, Pressure, ProcessorWaits,
    Processors, QueueDepth, Replica, ReplicaPeer, RequestCounts, Residency, SelfCost, ServedMount,
    ServerCounts, ServingProgram, Stalled, TargetFacts, ThreadCost, ThreadProcessors, Ticks, Timeline,
    WayChange, Window, WriteCache, is_path_of_another, served_disks,
};
pub use figures::{CoarseSeries, LatencySummary};
pub use proof::{FileServer, Proof, Served, disks_in_words};
pub use rank::{ClockOffset, CommonStart, LostHow, LostRank, MissingRank, RANKS_MAX, Rank};
pub use summary::{DirectionSummary, NodeSummary, Summary};
pub use verdict::{
    Figure, Finding, FindingGrade, Grade, Meaning, SourceVerdict, Standing, Theme, Unchecked, Verdict,
    standing,
};
