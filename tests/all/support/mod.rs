//! What several tests share.

pub mod devices;
pub mod documents;
pub mod faulty;
pub mod forbidden;
pub mod gate;
pub mod killed;
pub mod memory;
pub mod needs;
pub mod place;
pub mod planted;
pub mod program;
pub mod pty;
pub mod runner;
pub mod strict_text;
pub mod strict_xml;
pub mod trees;
pub mod words;

/// The folder of the workspace.
pub const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
