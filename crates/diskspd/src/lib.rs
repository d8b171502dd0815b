//! DiskSpd's words and forms: its command line, its results as text and XML, and the drop-in program.

pub mod config;
pub mod console;
pub mod grammar;
pub mod keeping;
#[cfg(test)]
#[path = "../../../tests/all/support/place.rs"]
mod place;
pub mod program;
pub mod render;
pub mod request;
pub mod run;
pub mod show;
pub mod telemetry;
pub mod viewer;
