//! What several tests share.

use std::time::Duration;

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

/// A step that takes longer hangs, however busy the machine is. What a test limits by it lasts much longer by itself.
pub const HANG: Duration = Duration::from_secs(120);

/// The folder of the workspace.
pub const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
