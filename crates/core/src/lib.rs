//! A run of a storage load, from a profile to its document.
//!
//! The rooms and who may use whom are in ARCHITECTURE.md; `tests/all/house.rs` keeps them.
//!
//! A whole run, of a file that the `sim` engine only pretends to read, so that its clock is virtual:
//!
//! ```
//! use truespd_core::result::{Summary, TimeSpanResult};
//! use truespd_core::{engine, load, profile};
//! use truespd_platform::sys::events::Latch;
//!
//! let folder = std::env::temp_dir().join(format!("truespd-example-{}", std::process::id()));
//! std::fs::create_dir(&folder)?;
//! let file = folder.join("data");
//! std::fs::write(&file, vec![7; 1 << 20])?;
//!
//! let profile = profile::xml::read(&format!(
//!     "<Profile><TimeSpans><TimeSpan>
//!        <Duration>1</Duration><Warmup>0</Warmup><MeasureLatency>true</MeasureLatency>
//!        <Targets><Target>
//!          <Path>{}</Path><BlockSize>4096</BlockSize><Random>4096</Random>
//!          <RequestCount>8</RequestCount><ThreadsPerFile>1</ThreadsPerFile>
//!        </Target></Targets>
//!      </TimeSpan></TimeSpans></Profile>",
//!     file.display()
//! ))?;
//! let engine = engine::find("sim").expect("it is in the table");
//! let options = load::Options { engine: Some((engine, "latency=100us".to_string())), ..load::Options::default() };
//! let run = load::run(&profile, &options, &|_event| (), &Latch::new()?);
//! std::fs::remove_dir_all(&folder)?;
//!
//! let run = run.expect("nothing is refused");
//! assert!(run.failures.is_empty());
//! // Little's law: 8 outstanding I/Os of 100 us are 80,000 IOPS.
//! let TimeSpanResult::Measured(measured) = &run.document.time_spans[0] else { panic!("nothing was measured") };
//! assert!((Summary::of(measured).total.iops / 80_000.0 - 1.0).abs() < 0.001);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_docs)]

pub mod access;
pub mod engine;
pub mod guard;
pub mod load;
#[cfg(test)]
#[path = "../../platform/src/sys/linux/made.rs"]
#[allow(dead_code, reason = "each crate needs some of it")]
mod made;
pub mod measure;
#[cfg(test)]
#[path = "../../../tests/all/support/needs.rs"]
#[allow(dead_code, missing_docs)]
mod needs;
#[cfg(test)]
#[path = "../../../tests/all/support/place.rs"]
mod place;
pub mod plan;
pub mod profile;
pub mod result;
#[cfg(test)]
#[path = "../../../tests/all/support/sysfs.rs"]
mod sysfs;
pub mod verify;
