//! Engines: issue a batch of I/Os, return completions.
//!
//! An engine knows files, buffers and offsets; it knows no profile, no percentages and takes no
//! time stamps. One engine instance belongs to one worker thread. [`TABLE`] lists them all;
//! [`open_ladder`] chooses the best one that the machine offers, [`open`] a named one.
//!
//! ```
//! use truespd_core::engine;
//!
//! let psync = engine::find("psync").expect("it is in the table");
//! assert!(!psync.asynchronous && (psync.probe)().is_ok());
//! assert!(engine::find("iouring").is_none());
//! // Parameters are checked before anything is opened.
//! assert!(engine::check_parameters(engine::find("sim").expect("sim"), "latency=soon").is_err());
//! ```

mod aio;
mod api;
mod ftl;
mod mmap;
mod nvme;
mod ring;
mod sim;
mod table;
mod threads;
mod transfer;
mod uring;

use api::Result;
pub use api::{Completion, Engine, EngineError, EngineFile, Handle, Io, MapFlush, MapMode, Op, Setup};
pub use sim::KEYS as SIM_PARAMETERS;
pub use table::{
    AnyEngine, EngineRow, LADDER, Opened, TABLE, check_parameters, find, likely, of_commands, open,
    open_ladder, ring_trims_devices, step_down,
};
pub use truespd_platform::sys::error::Code as IoError;
