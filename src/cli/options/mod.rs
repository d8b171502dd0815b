//! What each option does with its value; one function per row of the table.

pub(super) mod affinity;
pub(super) mod caching;
pub(super) mod extent;
pub(super) mod load;
pub(super) mod long;
pub(super) mod pattern;
pub(super) mod report;
pub(super) mod windows;

use super::value::{Slip, Value, length};

/// Refuses anything behind an option that takes no value (Strict; DiskSpd ignores it).
fn nothing(value: &Value) -> Result<(), Slip> {
    match value.text {
        "" => Ok(()),
        text => Err(Slip::new(format!("'{text}' stands behind an option that takes no value"))
            .at(0..length(text))
            .legal("the option alone")),
    }
}
