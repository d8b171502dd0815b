//! What a person at a terminal sees and sets, and the drop-in program: messages, progress, the verdict as text,
//! configuration, what other programs are told.

pub mod config;
pub mod console;
pub mod keeping;
#[cfg(test)]
#[path = "../../../tests/all/support/place.rs"]
mod place;
pub mod program;
pub mod show;
pub mod telemetry;
pub mod viewer;
